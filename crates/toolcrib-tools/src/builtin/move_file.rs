//! `move_file`: gives a file, a link or a directory another name or place (S2).
//!
//! An existing file is not replaced. With `overwrite` a file or link may be replaced, after approval, and then
//! that one as it was; a directory never. How a name moves is `workspace/rename.rs`.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use rustix::io::Errno;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::call::context::CallContext;
use crate::model::JsonObject;
use crate::model::effects::{Approval, Effects};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::limits::LimitsPatch;
use crate::model::outcome::ToolOutput;
use crate::model::text;
use crate::spec::{Role, ToolSpec, Traits};
use crate::tool::{Look, Tool};
use crate::workspace::{EntryKind, Movable, Move, Workspace, WorkspacePath};

/// The tool.
pub(crate) struct MoveFile {
    spec: Arc<ToolSpec>,
}

impl MoveFile {
    pub(crate) fn new() -> Self {
        MoveFile {
            spec: Arc::new(spec()),
        }
    }
}

fn spec() -> ToolSpec {
    let mut spec = super::typed_spec::<Args, Moved>(
        "move_file",
        "Move file",
        "Move or rename a file or directory within the workspace. Replacing another file needs overwrite and approval.",
        Effects::WRITE,
    );
    spec.keywords = crate::builtin::keywords(&["rename", "mv", "relocate", "change the name of"]);
    spec.traits = Traits {
        destroys: Some(true),
        idempotent: Some(false),
        open_world: Some(false),
    };
    spec.roles = vec![
        ("from".to_owned(), Role::WritePath),
        ("to".to_owned(), Role::WritePath),
    ];
    spec.asks = Some("when something would be overwritten".to_owned());
    spec.examples = vec![
        json!({"from": "draft.md", "to": "final.md"}),
        json!({"from": "new.json", "to": "settings.json", "overwrite": true}),
    ];
    spec.limits = LimitsPatch {
        timeout_ms: Some(30_000),
        ..LimitsPatch::default()
    };
    spec
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// File, link or directory to move, relative to the workspace
    from: String,
    /// Its new path, name included, relative to the workspace
    to: String,
    /// Replace a file or link that has this name already; a directory is never replaced
    #[serde(default)]
    overwrite: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Moved<'a> {
    /// Where it was
    from: &'a str,
    /// Where it is
    to: &'a str,
}

impl Tool for MoveFile {
    fn spec(&self) -> Arc<ToolSpec> {
        self.spec.clone()
    }

    fn look(&self, _args: &JsonObject, _workspace: Option<&Workspace>) -> Look {
        // What cannot work needs no one's approval: the call will fail and say why. Without a basis
        // it moves nothing, should it work by then.
        Look::later(|args, workspace| approval(args, workspace).unwrap_or_else(Approval::allow))
    }

    fn call(
        &self,
        args: JsonObject,
        cx: CallContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let args: Args = super::arguments(args)?;
            let workspace = cx.workspace()?.clone();
            let (basis, call) = (cx.basis().cloned(), cx.clone());
            cx.blocking(move || {
                let (from, to) = (workspace.path(&args.from)?, workspace.path(&args.to)?);
                let approved = basis.and_then(|basis| Move::deserialize(basis).ok());
                let Some(approved) = approved else {
                    look(&workspace, &from, &to, args.overwrite)?;
                    let message = format!("moving `{from}` was not approved; call again");
                    return Err(ToolError::new(ErrorCode::Conflict, message));
                };
                workspace.rename(&from, &to, &approved, &|| call.is_cancelled())?;
                let text = format!("moved `{from}` to `{to}`");
                let (from, to) = (from.as_str(), to.as_str());
                super::typed_output(&Moved { from, to }, text)
            })
            .await
        })
    }
}

/// The question; none about what cannot work. Blocks.
fn approval(args: &JsonObject, workspace: Option<&Workspace>) -> Option<Approval> {
    let args: Args = super::arguments(args.clone()).ok()?;
    let workspace = workspace?;
    let from = workspace.path(&args.from).ok()?;
    let to = workspace.path(&args.to).ok()?;
    let found = look(workspace, &from, &to, args.overwrite).ok()?;
    let approval = match found.over {
        None => Approval::allow(),
        Some(_) => Approval::ask("it overwrites a file"),
    };
    let approval = approval
        .with_effect(effect(&from, &to, &found))
        .with_basis(serde_json::to_value(&found.is).unwrap_or_default());
    Some(approval)
}

fn look(
    workspace: &Workspace,
    from: &WorkspacePath,
    to: &WorkspacePath,
    overwrite: bool,
) -> Result<Movable, ToolError> {
    let found = workspace.to_rename(from, to)?;
    if found.over.is_some() && !overwrite {
        return Err(to.fault("move to", Errno::EXIST));
    }
    Ok(found)
}

fn effect(from: &WorkspacePath, to: &WorkspacePath, found: &Movable) -> String {
    let what = match found.kind {
        EntryKind::File => "the file ",
        EntryKind::Directory => "the directory ",
        EntryKind::Symlink => "the link ",
        EntryKind::Other => "",
    };
    let over = match found.over {
        None => String::new(),
        Some((EntryKind::Symlink, _)) => {
            ", in place of the link of that name; what it leads to stays".to_owned()
        }
        Some((_, size)) => format!(", in place of the file of that name, {}", text::size(size)),
    };
    format!("move {what}`{from}` to `{to}`{over}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Schema;

    #[test]
    fn the_published_schema_follows_the_rules_for_authors() {
        let spec = MoveFile::new().spec();
        Schema::authored(spec.input_schema.as_value().clone()).unwrap();
        assert_eq!(spec.reference(), "core/move-file@v1");
        assert_eq!(spec.effects, Effects::WRITE);
    }
}
