//! Embedding: a registry with the built-in tools over a directory, called from Rust.
//!
//! `cargo run -p toolcrib --example embed`

use toolcrib::RegisterBuiltins as _;
use toolcrib::workspace::Workspace;
use toolcrib::{CallRequest, Registry};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let workspace = Workspace::open(env!("CARGO_MANIFEST_DIR").as_ref())?;
    let registry = Registry::builder().workspace(workspace).build();
    registry.register_builtins()?;

    // A call always has an outcome; `into_result` makes it a `Result`.
    let request = CallRequest::new("read_file")
        .arg("path", "Cargo.toml")
        .arg("end_line", 2);
    let output = registry.execute(request).await.into_result()?;
    print!("{}", output.text());

    // What went wrong is an outcome too, with a code for programs and a message for people.
    let outcome = registry
        .execute(CallRequest::new("read_file").arg("path", "../secret"))
        .await;
    let error = outcome
        .error()
        .ok_or("a path outside the workspace was read")?;
    println!("{}: {error}", error.code());

    // In the background, with events and cancellation.
    let handle = registry.execute_async(CallRequest::new("list_directory").arg("path", "src"));
    let mut events = handle.events();
    while let Some(event) = events.next().await {
        println!("event {} of call {}", event.seq, event.call_id);
    }
    let entries = handle.outcome().await.into_result()?.value["entries"]
        .as_array()
        .map_or(0, Vec::len);
    println!("{entries} entries");
    Ok(())
}
