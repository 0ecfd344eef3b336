//! Tools for tests of the pipeline.

use serde_json::Value;
use toolcrib::schemars::JsonSchema;
use toolcrib::serde::Deserialize;
use toolcrib::testing::TestCrib;
use toolcrib::{CallContext, ErrorCode, FnTool, Outcome};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "toolcrib::serde")]
#[schemars(crate = "toolcrib::schemars")]
pub(crate) struct Echo {
    /// What to say.
    pub(crate) text: String,
}

pub(crate) fn echo() -> FnTool {
    FnTool::new("echo", "Says it again", |args: Echo, _cx| async move {
        Ok(args.text)
    })
    .unwrap()
}

/// A tool without arguments whose body is given.
pub(crate) fn simple<F, Fut>(name: &str, body: F) -> FnTool
where
    F: Fn(CallContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Value, toolcrib::Failure>> + Send + 'static,
{
    FnTool::new(name, "A tool of a test", move |(): (), cx| body(cx)).unwrap()
}

pub(crate) fn test_with(tool: FnTool) -> TestCrib {
    let test = TestCrib::new();
    test.registry().register(tool).unwrap();
    test
}

pub(crate) fn code(outcome: &Outcome) -> ErrorCode {
    outcome
        .error()
        .unwrap_or_else(|| panic!("it went well: {outcome:?}"))
        .code()
}

pub(crate) fn args(value: Value) -> toolcrib::model::JsonObject {
    value.as_object().unwrap().clone()
}
