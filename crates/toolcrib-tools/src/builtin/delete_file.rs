//! `delete_file`: removes a file, a link, or a directory with all that is in it (S2).
//!
//! Always asks, and then removes what the answer was about or nothing: the file as it was, the directory with
//! what was in it. How a tree is removed is `workspace/remove.rs`.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::call::context::CallContext;
use crate::model::JsonObject;
use crate::model::effects::{Approval, Effects};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::limits::{LimitsPatch, MB};
use crate::model::outcome::ToolOutput;
use crate::model::text;
use crate::spec::{Role, ToolSpec, Traits};
use crate::tool::{Look, Tool};
use crate::workspace::{
    EntryKind, Identity, MAX_COUNTED, Removable, Tally, Watch, Workspace, WorkspacePath,
};

/// How many paths are listed of what was deleted, and how long they may be together.
const MAX_LISTED: usize = 10_000;
const MAX_LISTED_BYTES: usize = MB as usize;

/// The tool.
pub(crate) struct DeleteFile {
    spec: Arc<ToolSpec>,
}

impl DeleteFile {
    pub(crate) fn new() -> Self {
        DeleteFile {
            spec: Arc::new(spec()),
        }
    }
}

fn spec() -> ToolSpec {
    let mut spec = super::typed_spec::<Args, DeletedPaths>(
        "delete_file",
        "Delete file",
        "Delete a file, a link, or (with recursive) a directory in the workspace, after approval.",
        Effects::WRITE,
    );
    spec.keywords = crate::builtin::keywords(&[
        "remove",
        "erase",
        "unlink",
        "rm",
        "rmdir",
        "trash",
        "clean up",
        "get rid of",
    ]);
    spec.traits = Traits {
        destroys: Some(true),
        idempotent: Some(true),
        open_world: Some(false),
    };
    spec.roles = vec![("path".to_owned(), Role::WritePath)];
    spec.asks = Some("always".to_owned());
    spec.examples = vec![
        json!({"path": "output.txt"}),
        json!({"path": "build", "recursive": true}),
    ];
    spec.limits = LimitsPatch {
        timeout_ms: Some(60_000),
        // Room for everything that is listed.
        max_output_bytes: Some(4 * MB),
        ..LimitsPatch::default()
    };
    spec
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// File, link or directory to delete, relative to the workspace; of a link never what it leads to
    path: String,
    /// Delete a directory, with everything in it
    #[serde(default)]
    recursive: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct DeletedPaths {
    /// What was deleted, relative to the workspace, sorted
    deleted: Vec<String>,
    /// True if more was deleted than is listed
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    /// The exact bytes of paths that are not UTF-8
    #[serde(skip_serializing_if = "Vec::is_empty")]
    exact: Vec<ExactPath>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ExactPath {
    /// As it is listed
    path: String,
    /// As it was
    path_base64: String,
}

impl Tool for DeleteFile {
    fn spec(&self) -> Arc<ToolSpec> {
        self.spec.clone()
    }

    fn look(&self, _args: &JsonObject, _workspace: Option<&Workspace>) -> Look {
        // What cannot work needs no one's approval: the call will fail and say why. Without a basis
        // it deletes nothing, should it work by then.
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
            let basis = cx.basis().cloned();
            let mut deleted = Deleted::new(cx.clone());
            let call = cx.clone();
            cx.blocking_until_stopped(move || {
                let path = workspace.path(&args.path)?;
                let approved = basis.and_then(|basis| Identity::deserialize(basis).ok());
                let Some(approved) = approved else {
                    look(&workspace, &path, args.recursive)?;
                    let message = format!("deleting `{path}` was not approved; call again");
                    return Err(ToolError::new(ErrorCode::Conflict, message));
                };
                let removed = workspace.remove(&path, &approved, &mut deleted);
                let output = super::typed_value(&listed(deleted.paths, deleted.is_truncated))?;
                let fields = output.value.as_object().into_iter().flatten();
                match removed {
                    Ok(()) => {
                        // Cancelled at the last moment, the call still says what is gone.
                        fields
                            .for_each(|(key, value)| call.keep_partial(key.clone(), value.clone()));
                        Ok(output)
                    }
                    Err(error) => Err(fields
                        .filter(|(_, value)| **value != json!([]))
                        .fold(error, |error, (key, value)| {
                            error.with_detail(key, value.clone())
                        })),
                }
            })
            .await
        })
    }
}

/// The question; none about what cannot work. Blocks.
fn approval(args: &JsonObject, workspace: Option<&Workspace>) -> Option<Approval> {
    let args: Args = super::arguments(args.clone()).ok()?;
    let workspace = workspace?;
    let path = workspace.path(&args.path).ok()?;
    let found = look(workspace, &path, args.recursive).ok()?;
    let approval = Approval::ask("it deletes what cannot be brought back")
        .with_effect(effect(&path, &found))
        .with_basis(serde_json::to_value(&found.identity).unwrap_or_default());
    Some(approval)
}

fn look(
    workspace: &Workspace,
    path: &WorkspacePath,
    recursive: bool,
) -> Result<Removable, ToolError> {
    let found = workspace.to_remove(path)?;
    if found.kind == EntryKind::Directory && !recursive {
        let message = format!("must be true to delete `{path}`, which is a directory");
        return Err(super::invalid("delete_file", "/recursive", &message));
    }
    Ok(found)
}

fn effect(path: &WorkspacePath, found: &Removable) -> String {
    match (found.kind, found.tally) {
        (EntryKind::Directory, Some(tally)) => {
            format!("delete the directory `{path}` with {}", in_words(&tally))
        }
        (EntryKind::Symlink, _) => {
            format!("delete the link `{path}`; what it leads to stays")
        }
        (EntryKind::File, _) => {
            format!("delete the file `{path}`, {}", text::size(found.size))
        }
        (EntryKind::Other | EntryKind::Directory, _) => format!("delete `{path}`"),
    }
}

fn in_words(tally: &Tally) -> String {
    if !tally.is_complete {
        return format!("more than {MAX_COUNTED} files and directories in it");
    }
    let count = |count: u64, one: &str, many: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        count => Some(format!("{count} {many}")),
    };
    let files = count(tally.files, "file", "files");
    let directories = count(tally.directories, "directory", "directories");
    let both: Vec<String> = files.into_iter().chain(directories).collect();
    match both.as_slice() {
        [] => "nothing in it".to_owned(),
        both => {
            let repositories = match tally.repositories {
                0 => "",
                1 => "; a git repository with its history is among them",
                _ => "; git repositories with their history are among them",
            };
            let size = text::size(tally.bytes);
            format!("{}, {size}{repositories}", both.join(" and "))
        }
    }
}

/// What was deleted so far.
struct Deleted {
    cx: CallContext,
    paths: Vec<Vec<u8>>,
    bytes: usize,
    is_truncated: bool,
}

impl Deleted {
    fn new(cx: CallContext) -> Self {
        Deleted {
            cx,
            paths: Vec::new(),
            bytes: 0,
            is_truncated: false,
        }
    }
}

impl Watch for Deleted {
    fn removed(&mut self, path: &[u8]) {
        if self.paths.len() == MAX_LISTED || self.bytes + path.len() > MAX_LISTED_BYTES {
            self.is_truncated = true;
            return;
        }
        self.bytes += path.len();
        self.paths.push(path.to_vec());
    }

    fn is_stopped(&self) -> bool {
        self.cx.is_cancelled()
    }
}

fn listed(mut paths: Vec<Vec<u8>>, truncated: bool) -> DeletedPaths {
    paths.sort_unstable();
    let mut exact = Vec::new();
    let deleted = paths.into_iter().map(|path| {
        String::from_utf8(path).unwrap_or_else(|error| {
            let path = String::from_utf8_lossy(error.as_bytes()).into_owned();
            exact.push(ExactPath {
                path: path.clone(),
                path_base64: BASE64.encode(error.as_bytes()),
            });
            path
        })
    });
    DeletedPaths {
        deleted: deleted.collect(),
        truncated,
        exact,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Schema;

    #[test]
    fn what_a_directory_holds_is_said_in_words() {
        let tally = |files, directories, bytes| Tally {
            files,
            directories,
            bytes,
            repositories: 0,
            is_complete: true,
        };
        assert_eq!(
            in_words(&tally(12, 3, 49_300)),
            "12 files and 3 directories, 48 KB"
        );
        assert_eq!(in_words(&tally(1, 0, 1)), "1 file, 1 byte");
        assert_eq!(in_words(&tally(0, 1, 0)), "1 directory, 0 bytes");
        assert_eq!(in_words(&tally(0, 0, 0)), "nothing in it");
        assert_eq!(
            in_words(&Tally::default()),
            "more than 20000 files and directories in it"
        );
    }

    #[test]
    fn the_published_schema_follows_the_rules_for_authors() {
        let spec = DeleteFile::new().spec();
        Schema::authored(spec.input_schema.as_value().clone()).unwrap();
        assert_eq!(spec.reference(), "core/delete-file@v1");
        assert_eq!(spec.effects, Effects::WRITE);
    }
}
