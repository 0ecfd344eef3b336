//! What the kernel does without default features, and what it refuses. `./test.sh kernel` runs it.

use toolcrib::rules::{Rule, Whose};
use toolcrib::schemars::JsonSchema;
use toolcrib::serde::Deserialize;
use toolcrib::serde_json::json;
use toolcrib::spec::Role;
use toolcrib::wire::{DefinitionOptions, Provider};
use toolcrib::{CallRequest, Effects, ErrorCode, FnTool, Registry};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "toolcrib::serde")]
#[schemars(crate = "toolcrib::schemars")]
struct Page {
    /// Which page.
    url: String,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let registry = Registry::new();
    let read = |page: Page, _cx| async move { Ok(page.url) };
    let plain = FnTool::new("plain", "Says what it is given", read)?;
    registry.register(plain.effects(Effects::READ))?;
    let fetch = FnTool::new("fetch", "Fetches a page", read)?.role("url", Role::Url);
    registry.register(fetch.effects(Effects::READ))?;

    let call = |tool: &str| {
        let request = CallRequest::new(tool).arg("url", "http://１６９.254.169.254/");
        runtime.block_on(registry.execute(request))
    };
    assert_eq!(call("plain").into_result()?.value, "http://１６９.254.169.254/");
    // No rule could judge where it goes.
    let refused = call("fetch");
    let error = refused.error().ok_or("a URL was judged without a reader of URLs")?;
    assert_eq!(error.code(), ErrorCode::ToolUnavailable);
    assert!(error.message().contains("the feature `urls`"), "{error}");

    for provider in Provider::ALL {
        let made = registry.definitions(provider, &DefinitionOptions::default());
        assert_eq!(made.tools.len(), 1, "{provider}: {}", json!(made.tools));
    }

    let rule = "[[rules]]\nname = 'x'\ntool = 'plain'\nexpr = 'true'\naction = 'ask'\n";
    let problem = Rule::from_toml(rule, "rules.toml", Whose::Operator)
        .err()
        .ok_or("an expression was taken that nothing evaluates")?;
    assert!(problem.to_string().contains("the feature `expr`"), "{problem}");
    Ok(())
}
