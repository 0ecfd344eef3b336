//! `edit_file`: replaces exact texts in a file of the workspace, all of them or none.
//!
//! It asks like an overwrite, with the diff, and then replaces the file that the answer was about and no other. How texts are replaced is
//! in `edit_file/edits.rs`; what is said about a text that is not there is in `edit_file/near_lines.rs`.

mod edits;
mod near_lines;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use rustix::io::Errno;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::read_file::{ReadOptions, check_extension};
use crate::call::context::CallContext;
use crate::model::JsonObject;
use crate::model::diff::unified;
use crate::model::effects::{Approval, Effects};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::limits::LimitsPatch;
use crate::model::outcome::ToolOutput;
use crate::model::text;
use crate::spec::{Role, ToolSpec, Traits};
use crate::tool::{Look, Tool};
use crate::workspace::{Identity, MissingDirs, Old, Replaces, Workspace, WorkspacePath};

const NAME: &str = "edit_file";

/// The arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Args {
    /// File to edit, relative to the workspace
    path: String,
    /// The edits, in order; each works on the result of those before it
    #[schemars(length(min = 1, max = 200))]
    edits: Vec<Edit>,
}

/// One replacement.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Edit {
    /// The exact text to replace, white space and line breaks included; it must be in the file once, unless `all` is true
    #[schemars(length(min = 1))]
    old: String,
    /// The text that takes its place; empty to remove it
    new: String,
    /// Replace it wherever it is
    #[serde(default)]
    all: bool,
}

/// The result.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Edited {
    /// The file, relative to the workspace
    path: String,
    /// How many texts were replaced
    replaced: usize,
    /// The size of the file now, in bytes
    size: usize,
    /// What changed, as a unified diff; a long one is cut
    diff: String,
}

/// The tool.
pub(super) struct EditFile {
    spec: Arc<ToolSpec>,
    extensions: Arc<[String]>,
}

impl EditFile {
    pub(super) fn new(read: &ReadOptions) -> Self {
        EditFile {
            spec: Arc::new(spec()),
            extensions: read.plain_extensions(),
        }
    }
}

fn spec() -> ToolSpec {
    let mut spec = super::typed_spec::<Args, Edited>(
        NAME,
        "Edit file",
        "Change parts of a text file in the workspace by replacing exact texts, after approval. All edits are made or none. \
         Each `old` must be in the file exactly once, so give enough of the lines around it, or set `all`. \
         If it is not there, the error shows the nearest lines with their numbers. Use `write_file` for a new file and `apply_patch` for several files.",
        Effects::WRITE,
    );
    spec.keywords = crate::builtin::keywords(&[
        "change",
        "modify",
        "replace",
        "search and replace",
        "substitute",
        "sed",
        "insert",
        "update",
        "rewrite",
        "fix",
        "str_replace",
        "config",
        "line",
        "lines",
    ]);
    spec.traits = Traits {
        destroys: Some(true),
        idempotent: Some(false),
        open_world: Some(false),
    };
    spec.roles = vec![("path".to_owned(), Role::WritePath)];
    spec.asks = Some("always".to_owned());
    spec.examples = vec![
        json!({"path": "config.toml", "edits": [{"old": "port = 80\n", "new": "port = 8080\n"}]}),
        json!({"path": "src/main.py", "edits": [
            {"old": "import os\n", "new": "import os\nimport sys\n"},
            {"old": "colour", "new": "color", "all": true}
        ]}),
    ];
    spec.limits = LimitsPatch {
        timeout_ms: Some(30_000),
        ..LimitsPatch::default()
    };
    spec
}

impl Tool for EditFile {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn look(&self, _args: &JsonObject, _workspace: Option<&Workspace>) -> Look {
        let extensions = Arc::clone(&self.extensions);
        // An edit that cannot work needs no approval: the call fails and says why. Without a basis it changes nothing.
        Look::later(move |args, workspace| {
            approval(args, workspace, &extensions).unwrap_or_else(Approval::allow)
        })
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
            let basis = cx.basis().cloned();
            cx.blocking(move || {
                let plan = Plan::new(&args, &workspace, &extensions)?;
                let approved = basis.and_then(|basis| Identity::deserialize(basis).ok());
                if approved.as_ref() != Some(&plan.old.identity) {
                    let path = &plan.path;
                    let message = format!("`{path}` changed since it was approved; call again");
                    return Err(ToolError::new(ErrorCode::Conflict, message));
                }
                plan.carry_out(&workspace)
            })
            .await
        })
    }
}

/// What a call would change.
struct Plan {
    path: WorkspacePath,
    old: Old,
    replaced: usize,
    new: String,
    diff: String,
}

impl Plan {
    /// Reads the file and makes the edits, in memory. Blocks.
    fn new(args: &Args, workspace: &Workspace, extensions: &[String]) -> Result<Self, ToolError> {
        let path = workspace.path(&args.path)?;
        check_extension(&path, extensions)?;
        let old = workspace
            .file_to_replace(&path, MissingDirs::Refuse)?
            .ok_or_else(|| path.fault("edit", Errno::NOENT))?;
        let text = content(&path, &old)?;
        let (new, replaced) = edits::apply(text, &args.edits).map_err(|fault| {
            let message = format!("{} (in `{path}`)", fault.message);
            super::invalid(NAME, &format!("/edits/{}/old", fault.index), &message)
        })?;
        if new == text {
            return Err(super::invalid(
                NAME,
                "/edits",
                "change nothing: the file would stay as it is",
            ));
        }
        let diff = unified(&path.to_string(), text, &new);
        Ok(Plan {
            path,
            replaced,
            new,
            diff,
            old,
        })
    }

    fn carry_out(self, workspace: &Workspace) -> Result<ToolOutput, ToolError> {
        let Plan {
            path,
            old,
            replaced,
            new,
            diff,
        } = self;
        let replaces = Replaces::Just(old.identity);
        workspace.write_file(&path, new.as_bytes(), MissingDirs::Refuse, &replaces)?;
        let places = if replaced == 1 { "place" } else { "places" };
        let text = format!("edited `{path}` in {replaced} {places}\n{diff}");
        let edited = Edited {
            path: path.as_str().to_owned(),
            replaced,
            size: new.len(),
            diff,
        };
        super::typed_output(&edited, text)
    }
}

/// The text of a file that is to be changed in part.
pub(super) fn content<'o>(path: &WorkspacePath, old: &'o Old) -> Result<&'o str, ToolError> {
    let Some(bytes) = &old.content else {
        let message = format!(
            "cannot edit `{path}`: {} is over the {} limit, or it may not be read; write it whole with write_file, or use a command",
            text::size(old.size),
            text::size(Old::MAX_READ)
        );
        return Err(ToolError::new(ErrorCode::FileTooLarge, message));
    };
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text),
        _ => {
            let message = format!(
                "cannot edit `{path}`: it is not text in UTF-8; write it whole with write_file and base64"
            );
            Err(ToolError::new(ErrorCode::ExecutionError, message))
        }
    }
}

/// The question; `None` if the edit cannot work. Blocks.
fn approval(
    args: &JsonObject,
    workspace: Option<&Workspace>,
    extensions: &[String],
) -> Option<Approval> {
    let args: Args = super::arguments(args.clone()).ok()?;
    let plan = Plan::new(&args, workspace?, extensions).ok()?;
    let places = if plan.replaced == 1 {
        "place"
    } else {
        "places"
    };
    let effect = format!(
        "edit the file `{}` in {} {places}: {}, becomes {}",
        plan.path,
        plan.replaced,
        text::size(plan.old.size),
        text::size(plan.new.len() as u64)
    );
    let approval = Approval::ask("it overwrites a file")
        .with_effect(effect)
        .with_basis(serde_json::to_value(&plan.old.identity).unwrap_or_default())
        .with_diff(plan.diff);
    Some(approval)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_derived_schema_names_every_field_and_closes_objects() {
        let spec = EditFile::new(&ReadOptions::default()).spec();
        assert_eq!(spec.reference(), "core/edit-file@v1");
        let input = spec.input_schema.as_value();
        assert_eq!(input["additionalProperties"], false);
        assert_eq!(input["required"], json!(["path", "edits"]));
        let edit = &input["properties"]["edits"]["items"];
        assert_eq!(edit["additionalProperties"], false);
        assert_eq!(edit["required"], json!(["old", "new"]));
        assert_eq!(edit["properties"]["all"]["default"], false);
        assert_eq!(edit["properties"]["old"]["minLength"], 1);
    }
}
