//! `apply_patch`: a unified diff of several files, all of it or nothing.
//!
//! The patch is read by `apply_patch/parse.rs` and applied in memory by `apply_patch/hunks.rs`: lines must match exactly, there is no
//! fuzz. `apply_patch/plan.rs` compares it with the workspace; what a person approves is the difference that the files would
//! really get, never the text of the patch. The workspace makes all changes together (`workspace/changes.rs`).

mod hunks;
mod parse;
mod paths;
mod plan;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::read_file::ReadOptions;
use crate::call::context::CallContext;
use crate::model::JsonObject;
use crate::model::effects::{Approval, Effects};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::limits::LimitsPatch;
use crate::model::outcome::ToolOutput;
use crate::spec::{ToolSpec, Traits};
use crate::tool::{Look, Tool};
use crate::workspace::Workspace;
use plan::Plan;

const NAME: &str = "apply_patch";

/// The longest patch.
const MAX_PATCH: u32 = 1 << 20;

/// The arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Args {
    /// A unified diff, as `git diff` or `diff -u` print it: `--- a/PATH`, `+++ b/PATH`, and hunks that begin with `@@ -LINE,COUNT +LINE,COUNT @@`. `/dev/null` in place of a path creates or deletes a file
    #[schemars(length(min = 1, max = MAX_PATCH))]
    patch: String,
}

/// The result.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Applied {
    /// What became of each file, in the order of the patch
    files: Vec<File>,
    /// How many lines were added
    added: usize,
    /// How many lines were removed
    removed: usize,
}

/// What became of a file.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct File {
    /// The file, relative to the workspace; its new name if it was renamed
    path: String,
    /// What was done
    change: Kind,
    /// Its name before, if it was renamed
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    from: Option<String>,
    /// Hunks that were found at other lines than they say
    #[serde(skip_serializing_if = "Vec::is_empty")]
    moved: Vec<Moved>,
}

/// What was done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Kind {
    Changed,
    Created,
    Deleted,
    Renamed,
}

/// A hunk that was found elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Moved {
    /// The line that the hunk names
    line: usize,
    /// The line where its text is, the only place in the file
    found: usize,
}

/// The tool.
pub(super) struct ApplyPatch {
    spec: Arc<ToolSpec>,
    extensions: Arc<[String]>,
}

impl ApplyPatch {
    pub(super) fn new(read: &ReadOptions) -> Self {
        ApplyPatch {
            spec: Arc::new(spec()),
            extensions: read.plain_extensions(),
        }
    }
}

fn spec() -> ToolSpec {
    let mut spec = super::typed_spec::<Args, Applied>(
        NAME,
        "Apply patch",
        "Apply a unified diff to files of the workspace: change, create, delete and rename several files, after approval. All of the patch is applied or nothing. \
         Lines must match exactly; a hunk whose line number is wrong is applied if its text is in one place only. \
         For small changes in one file `edit_file` is easier: it needs no line numbers.",
        Effects::WRITE,
    );
    spec.keywords = crate::builtin::keywords(&[
        "diff",
        "patch",
        "unified diff",
        "change several files",
        "multi-file edit",
        "git apply",
        "hunk",
    ]);
    spec.traits = Traits {
        destroys: Some(true),
        idempotent: Some(false),
        open_world: Some(false),
    };
    spec.asks = Some("unless it only creates files, or renames them".to_owned());
    spec.looks_first = true;
    spec.synonyms = vec![("diff".to_owned(), "patch".to_owned())];
    spec.examples = vec![
        json!({"patch": "--- a/notes.md\n+++ b/notes.md\n@@ -1,2 +1,2 @@\n # Notes\n-old\n+new\n"}),
        json!({"patch": "--- /dev/null\n+++ b/docs/new.md\n@@ -0,0 +1 @@\n+# New\n"}),
    ];
    spec.limits = LimitsPatch {
        timeout_ms: Some(60_000),
        ..LimitsPatch::default()
    };
    spec
}

impl Tool for ApplyPatch {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn look(&self, args: &JsonObject, _workspace: Option<&Workspace>) -> Look {
        let parsed = super::arguments::<Args>(args.clone())
            .and_then(|args| parse::parse(&args.patch).map_err(|fault| fault.into_error()));
        let patch = match parsed {
            Ok(patch) => patch,
            // No approval makes a patch of it.
            Err(error) => return Look::allow().with_refusal(error),
        };
        let writes = patch.paths().map(str::to_owned).collect();
        let extensions = Arc::clone(&self.extensions);
        // A patch that cannot be applied needs no approval: the call fails and says why. Without a basis it changes nothing.
        let mut look = Look::later(move |_, workspace| {
            let plan =
                workspace.and_then(|workspace| Plan::new(&patch, workspace, &extensions).ok());
            plan.map_or_else(Approval::allow, |plan| plan.approval())
        });
        look.writes = writes;
        look
    }

    fn call(
        &self,
        args: JsonObject,
        cx: CallContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let args: Args = super::arguments(args)?;
            let workspace = cx.workspace()?.clone();
            let extensions = Arc::clone(&self.extensions);
            let (basis, call) = (cx.basis().cloned(), cx.clone());
            cx.blocking(move || {
                let patch = parse::parse(&args.patch).map_err(|fault| fault.into_error())?;
                let plan = Plan::new(&patch, &workspace, &extensions)?;
                if basis != Some(plan.basis()) {
                    let message = "a file of the patch changed since the patch was approved; nothing was changed, call again";
                    return Err(ToolError::new(ErrorCode::Conflict, message));
                }
                plan.carry_out(&workspace, &|| call.is_cancelled())
            })
            .await
        })
    }
}
