//! A file that is not a tool: [`BrokenTool`] keeps its name, so that a call reports the problem of the file.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::call::context::CallContext;
use crate::model::JsonObject;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::names::{Slug, WireName};
use crate::model::outcome::ToolOutput;
use crate::schema::Schema;
use crate::spec::ToolSpec;
use crate::tool::Tool;

/// The replacement for a tool whose file cannot be loaded. It is registered as unavailable and never called.
pub(super) struct BrokenTool(Arc<ToolSpec>);

impl BrokenTool {
    pub(super) fn new(name: WireName, bundle: Slug, digest: Option<String>) -> Self {
        let schema = Schema::object().build().expect("a valid schema");
        let mut spec = ToolSpec::new(name, "Its file cannot be loaded.", schema);
        spec.bundle = bundle;
        spec.content_digest = digest;
        BrokenTool(Arc::new(spec))
    }
}

impl Tool for BrokenTool {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.0)
    }

    fn call(&self, _: JsonObject, _: CallContext) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        let message = format!("the file of `{}` cannot be loaded", self.0.name);
        Box::pin(async move { Err(ToolError::new(ErrorCode::ToolUnavailable, message)) })
    }
}
