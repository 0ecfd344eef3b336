//! A provider round trip: definitions out, a model's reply in, the messages that answer it back.
//!
//! `cargo run -p toolcrib --example providers`

use serde_json::json;
use toolcrib::RegisterBuiltins as _;
use toolcrib::Registry;
use toolcrib::answer::{AnswerOptions, answer};
use toolcrib::wire::{DefinitionOptions, Provider};
use toolcrib::workspace::Workspace;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let workspace = Workspace::open(env!("CARGO_MANIFEST_DIR").as_ref())?;
    let registry = Registry::builder().workspace(workspace).build();
    registry.register_builtins()?;

    // 1. What goes into the request's `tools`.
    for provider in Provider::ALL {
        let made = registry.definitions(provider, &DefinitionOptions::default());
        println!(
            "{provider}: {} tools, {} losses",
            made.tools.len(),
            made.losses.len()
        );
    }

    // 2. What comes back: a reply with calls, here as OpenAI's chat API sends it, and as Anthropic does.
    let openai = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "call_abc", "type": "function", "function": {"name": "read_file",
            "arguments": "{\"path\": \"Cargo.toml\", \"start_line\": 1, \"end_line\": 2}"}},
        {"id": "call_def", "type": "function", "function": {"name": "raed_file", "arguments": "{}"}}]});
    let anthropic = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1",
        "name": "list_directory", "input": {"path": "examples"}}]});

    // 3. The messages to append: every call is answered, in order; whose reply it is is found out.
    for reply in [openai, anthropic] {
        let answered = answer(&registry, &reply, None, &AnswerOptions::default()).await?;
        println!("{}: {:#}", answered.provider, json!(answered.messages));
    }
    Ok(())
}
