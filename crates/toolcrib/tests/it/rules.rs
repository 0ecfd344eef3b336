//! Rules as a user of the library meets them: verdicts on shell text, the language, where rules come from.

mod docs;
mod language;
mod loading;
mod touched;
mod verdicts;

use serde_json::{Value, json};
use toolcrib::model::JsonObject;
use toolcrib::rules::{Judgement, Rule, RuleContext, RuleSet, Rules as _, Whose};
use toolcrib::schema::Property;
use toolcrib::spec::Role;
use toolcrib::{Schema, ToolSpec, WireName};

/// Where the workspace of these tests is said to be.
const WORKSPACE: &str = "/home/ada/project";

/// A tool with every role.
pub(crate) fn tool(name: &str) -> ToolSpec {
    let schema = [
        "command", "cwd", "language", "code", "path", "to", "url", "text",
    ]
    .into_iter()
    .fold(Schema::object(), |schema, name| {
        schema.optional(name, Property::string(name))
    })
    .build()
    .unwrap();
    let mut spec = ToolSpec::new(WireName::parse(name).unwrap(), "x", schema);
    spec.aliases = vec![WireName::parse("other_name").unwrap()];
    let code = Role::Code {
        language: "language".to_owned(),
    };
    spec.roles = [
        ("command", Role::Shell),
        ("cwd", Role::Directory),
        ("code", code),
        ("path", Role::ReadPath),
        ("to", Role::WritePath),
        ("url", Role::Url),
    ]
    .map(|(name, role)| (name.to_owned(), role))
    .into();
    spec
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        other => panic!("{other} is not an object"),
    }
}

fn judge(rules: &RuleSet, args: Value) -> Judgement {
    let cx = RuleContext {
        workspace: Some(WORKSPACE.as_ref()),
        ..RuleContext::default()
    };
    rules.judge(&tool("shell"), &object(args), &cx)
}

/// The rules of a TOML text and no others.
fn rules(toml: &str) -> RuleSet {
    let rules = Rule::from_toml(toml, "test.toml", Whose::Operator)
        .unwrap_or_else(|error| panic!("{error}"));
    rules.into_iter().fold(RuleSet::empty(), RuleSet::with)
}

/// Problems of the rules of a TOML text.
fn problems(toml: &str, whose: Whose) -> Vec<String> {
    match Rule::from_toml(toml, "test.toml", whose) {
        Ok(_) => Vec::new(),
        Err(error) => error.problems.iter().map(ToString::to_string).collect(),
    }
}

fn command(text: &str) -> Value {
    json!({"command": text})
}

/// A tool that takes shell text and does nothing with it.
struct Shell(std::sync::Arc<ToolSpec>);

fn tests_shell() -> Shell {
    let mut spec = tool("shell");
    spec.effects = toolcrib::Effects::READ;
    Shell(spec.into())
}

impl toolcrib::Tool for Shell {
    fn spec(&self) -> std::sync::Arc<ToolSpec> {
        std::sync::Arc::clone(&self.0)
    }

    fn call(
        &self,
        _: JsonObject,
        _: toolcrib::CallContext,
    ) -> toolcrib::BoxFuture<'_, Result<toolcrib::ToolOutput, toolcrib::ToolError>> {
        Box::pin(async { Ok(toolcrib::ToolOutput::value(true)) })
    }
}
