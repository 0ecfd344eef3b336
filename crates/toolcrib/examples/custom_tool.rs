//! Your own tool, twice: as a typed function, and by implementing [`Tool`].
//!
//! `cargo run -p toolcrib --example custom_tool --features testing`

use std::sync::Arc;

use futures_util::future::BoxFuture;
use toolcrib::approval::ApprovalResponse;
use toolcrib::model::JsonObject;
use toolcrib::schema::{Property, Schema};
use toolcrib::schemars::JsonSchema;
use toolcrib::serde::Deserialize;
use toolcrib::testing::TestCrib;
use toolcrib::{
    CallContext, CallRequest, Effects, FnTool, Tool, ToolError, ToolOutput, ToolSpec, WireName,
};

/// The arguments of a typed tool. The doc comments are what models read.
#[derive(Deserialize, JsonSchema)]
#[serde(crate = "toolcrib::serde")]
#[schemars(crate = "toolcrib::schemars")]
struct Transfer {
    /// Its recipient.
    to: String,
    /// How much, in cents.
    cents: u32,
}

/// S1's `MyTool`, in Rust: the trait by hand, for tools that are more than a function.
struct MyTool(Arc<ToolSpec>);

impl MyTool {
    fn new() -> Result<Self, Box<dyn std::error::Error>> {
        let schema = Schema::object()
            .required("arg1", Property::string("First argument"))
            .build()?;
        let mut spec = ToolSpec::new(WireName::parse("my_tool")?, "What my tool does", schema);
        spec.effects = Effects::READ;
        Ok(MyTool(Arc::new(spec)))
    }
}

impl Tool for MyTool {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.0)
    }

    fn call(
        &self,
        args: JsonObject,
        _cx: CallContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            // The pipeline has validated the arguments: `arg1` is there and is text.
            let text = args["arg1"].as_str().unwrap_or_default();
            Ok(ToolOutput::value(text.to_uppercase()))
        })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A typed function. Large transfers ask a person first (S2's dynamic approval).
    let transfer = FnTool::new(
        "transfer",
        "Transfers money",
        |args: Transfer, cx| async move {
            cx.emit_progress(1.0, Some(1.0), None);
            Ok(format!("{} cents to {}", args.cents, args.to))
        },
    )?
    .effects(Effects::WRITE)
    .ask_when(|args| args["cents"].as_u64().is_none_or(|cents| cents > 1000));

    // A test crib answers from a script and keeps records in memory.
    let test = TestCrib::new().answers([ApprovalResponse::deny("ada", "too much")]);
    let registry = test.registry();
    registry.register(transfer)?;
    registry.register(MyTool::new()?)?;

    let small = registry
        .execute(
            CallRequest::new("transfer")
                .arg("to", "Bob")
                .arg("cents", 500),
        )
        .await;
    println!("{}", small.into_result()?.text());
    let large = registry
        .execute(
            CallRequest::new("transfer")
                .arg("to", "Bob")
                .arg("cents", 5000),
        )
        .await;
    println!("{}", large.error().ok_or("it should have been denied")?);
    let mine = registry
        .execute(CallRequest::new("my_tool").arg("arg1", "value"))
        .await;
    println!("{}", mine.into_result()?.text());
    println!(
        "{} calls on record, {} questions asked",
        test.records().len(),
        test.asked().len()
    );
    Ok(())
}
