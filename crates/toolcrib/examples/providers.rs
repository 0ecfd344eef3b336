//! A provider round trip: definitions out, a model's call in, its result back.
//!
//! `cargo run -p toolcrib --example providers`

use serde_json::{Value, json};
use toolcrib::wire::{DefinitionOptions, Provider, ResultShape, render};
use toolcrib::workspace::Workspace;
use toolcrib::{CallId, CallRequest, Registry};

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

    // 2. What comes back: a tool call, here as OpenAI's chat API sends it.
    let reply = json!({"id": "call_abc", "type": "function", "function": {
        "name": "read_file", "arguments": "{\"path\": \"Cargo.toml\", \"start_line\": 1, \"end_line\": 2}"}});
    let arguments: Value =
        serde_json::from_str(reply["function"]["arguments"].as_str().unwrap_or_default())?;
    let request =
        CallRequest::from_json(json!({"name": reply["function"]["name"], "arguments": arguments}))?
            .call_id(CallId::parse(reply["id"].as_str().unwrap_or_default())?);
    let outcome = registry.execute(request).await;

    // 3. The result, as a message for the model.
    let message = json!({"role": "tool", "tool_call_id": reply["id"],
        "content": render(&outcome, ResultShape::Simple)["output"]});
    println!("{message:#}");
    Ok(())
}
