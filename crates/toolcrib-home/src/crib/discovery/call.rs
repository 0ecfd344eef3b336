//! `call_read_tool`, `call_write_tool`, `call_tool`: one call of another tool, its outcome passed on as it is.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{Others, called_with, is_one, wide};
use crate::builtin;
use crate::call::context::CallContext;
use crate::call::request::CallRequest;
use crate::model::JsonObject;
use crate::model::effects::Effects;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::outcome::ToolOutput;
use crate::model::text;
use crate::spec::{ToolSpec, Traits};
use crate::tool::{Look, Tool};
use crate::wire::{Care, Hints};
use crate::workspace::Workspace;

/// One of the three tools.
pub(super) struct CallOther {
    spec: Arc<ToolSpec>,
    tools: Others,
    /// What it takes at most.
    care: Care,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// The name of the tool, as find_tools says
    name: String,
    /// What it takes, by its inputSchema
    #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
    arguments: JsonObject,
}

impl CallOther {
    pub(super) fn new(tools: Others, care: Care, name: &str) -> Self {
        CallOther {
            spec: Arc::new(spec(care, name)),
            tools,
            care,
        }
    }
}

fn spec(care: Care, name: &str) -> ToolSpec {
    let (title, whom, effects, destroys) = match care {
        Care::Reads => (
            "Call a tool that reads",
            "that only reads",
            Effects::READ,
            None,
        ),
        Care::Adds => (
            "Call a tool that writes",
            "that writes and takes nothing away",
            Effects::READ.and(Effects::WRITE),
            Some(false),
        ),
        Care::MayDestroy => (
            "Call any tool",
            "of any kind",
            Effects::READ.and(Effects::WRITE).and(Effects::RUN),
            Some(true),
        ),
    };
    let description = format!(
        "Call a tool {whom}, found by find_tools. Whether a person is asked first is that tool's matter, and what it returns is returned."
    );
    // The other tool decides what is returned: nothing is promised.
    let mut spec = builtin::typed_spec::<Args, JsonObject>(name, title, &description, effects);
    spec.output_schema = None;
    spec.traits = Traits {
        destroys,
        idempotent: None,
        open_world: None,
    };
    spec.limits = wide();
    spec.examples = vec![match care {
        Care::Reads => json!({"name": "read_file", "arguments": {"path": "README.md"}}),
        Care::Adds => json!({"name": "add_note", "arguments": {"text": "hello"}}),
        Care::MayDestroy => json!({"name": "shell", "arguments": {"command": "ls"}}),
    }];
    spec.asks = Some("as the tool that is called has it".to_owned());
    spec
}

impl CallOther {
    /// The reference of the tool that is meant, if this one may call it.
    fn other(&self, name: &str) -> Result<String, ToolError> {
        let own = self.spec.name.as_str();
        let refused = |why: &str| builtin::invalid(own, "/name", why);
        let entry = self.tools.registry()?.find(name).map_err(|error| {
            match error.code() {
                // It is an argument that is wrong here: a model can do better, a client cannot.
                ErrorCode::ToolNotFound => refused(&format!("is not a tool: {}", error.message()))
                    .with_detail("code", ErrorCode::ToolNotFound.as_str()),
                _ => error,
            }
        })?;
        if is_one(&entry) {
            return Err(refused(&format!(
                "`{}` is called by itself",
                entry.head().name
            )));
        }
        let spec = entry.spec();
        if Hints::of(spec).care() > self.care {
            let shown = text::shorten(name, 80);
            let other = called_with(spec);
            return Err(refused(&format!("`{shown}` is called with `{other}`")));
        }
        Ok(spec.reference())
    }
}

impl Tool for CallOther {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    /// The other tool is asked about, not this one.
    fn look(&self, _: &JsonObject, _: Option<&Workspace>) -> Look {
        Look::allow().with_effect(|args| {
            let name = args.get("name").and_then(|name| name.as_str());
            format!(
                "call the tool `{}`",
                text::shorten(name.unwrap_or_default(), 80)
            )
        })
    }

    fn call(
        &self,
        args: JsonObject,
        cx: CallContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let args: Args = builtin::arguments(args)?;
            let other = self.other(&args.name)?;
            let request = CallRequest::new(other).args(args.arguments);
            cx.call(request).await.into_result()
        })
    }
}
