//! `list_directory`: what is in a directory, or in the whole tree beneath it (S2; S1 `list_files`).
//!
//! The walk itself, its order and its bounds are in `walk.rs`; the tree that people and models read is drawn in `drawing.rs`.

mod drawing;
mod walk;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures_util::future::BoxFuture;
use rustix::io::Errno;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::call::context::CallContext;
use crate::model::JsonObject;
use crate::model::effects::Effects;
use crate::model::error::ToolError;
use crate::model::limits::{LimitsPatch, MB};
use crate::model::names::WireName;
use crate::model::outcome::ToolOutput;
use crate::spec::{Role, ToolSpec, Traits};
use crate::tool::Tool;
use walk::{ListDepth, Listing, list};

/// What the operator sets.
#[derive(Debug, Clone, Copy)]
pub struct ListOptions {
    /// The most entries in one listing.
    pub max_entries: usize,
}

impl Default for ListOptions {
    fn default() -> Self {
        ListOptions {
            max_entries: 10_000,
        }
    }
}

/// The tool.
pub(crate) struct ListDirectory {
    spec: Arc<ToolSpec>,
    options: ListOptions,
}

impl ListDirectory {
    pub(crate) fn new(options: ListOptions) -> Self {
        ListDirectory {
            spec: Arc::new(spec(&options)),
            options,
        }
    }
}

fn spec(options: &ListOptions) -> ToolSpec {
    let input = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["path"],
        "properties": {
            "path": {"type": "string", "description": "Directory to list, relative to the workspace; `.` is the workspace"},
            "recursive": {"type": "boolean", "default": false, "description": "List everything beneath it too"},
            "depth": {
                "type": "integer",
                "minimum": 1,
                "maximum": 256,
                "description": "How many levels to list: 1 is the directory itself, 2 also what is in its directories; `recursive` is not needed then"
            },
            "includeHidden": {
                "type": "boolean",
                "default": false,
                "description": "Include names that start with a dot, and what is beneath them"
            }
        }
    });
    let output = json!({
        "type": "object",
        "required": ["entries"],
        "properties": {
            "entries": {
                "type": "array",
                "description": "The entries, sorted by name",
                "items": {
                    "type": "object",
                    "required": ["name", "type", "size", "modified"],
                    "properties": {
                        "name": {"type": "string", "description": "Path relative to the listed directory"},
                        "type": {
                            "type": "string",
                            "enum": ["file", "directory", "symlink", "other"],
                            "description": "What it is; links are not followed"
                        },
                        "size": {"type": "integer", "description": "Size in bytes"},
                        "modified": {"type": "string", "description": "When it last changed, RFC 3339"},
                        "nameBase64": {"type": "string", "description": "The exact bytes of a name that is not UTF-8"}
                    }
                }
            },
            "truncated": {"type": "boolean", "description": "True if there are more entries than fit"},
            "skipped": {
                "type": "array",
                "description": "What could not be looked into",
                "items": {
                    "type": "object",
                    "required": ["name", "reason"],
                    "properties": {
                        "name": {"type": "string", "description": "Path relative to the listed directory"},
                        "reason": {"type": "string", "description": "Why not"},
                        "nameBase64": {"type": "string", "description": "The exact bytes of a name that is not UTF-8"}
                    }
                }
            }
        }
    });
    let mut spec = super::core_spec(
        "list_directory",
        "List directory",
        "List the files and directories in a workspace directory, with type, size and time of last change.",
        Effects::READ,
        input,
        output,
    );
    spec.keywords = crate::builtin::keywords(&[
        "ls",
        "dir",
        "folder",
        "tree",
        "show files",
        "what is here",
        "contents of a directory",
        "structure",
    ]);
    spec.traits = Traits {
        destroys: None,
        idempotent: None,
        open_world: Some(false),
    };
    spec.aliases = vec![WireName::parse("list_files").expect("a valid name")];
    spec.examples = vec![
        json!({"path": "."}),
        json!({"path": "src", "recursive": true}),
        json!({"path": ".", "depth": 2}),
    ];
    spec.roles = vec![("path".to_owned(), Role::ReadPath)];
    spec.limits = LimitsPatch {
        timeout_ms: Some(30_000),
        // Room for every entry, long paths too: a listing is cut here and nowhere else.
        max_output_bytes: Some((options.max_entries as u64).saturating_mul(1024).max(MB)),
        ..LimitsPatch::default()
    };
    spec
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Args {
    path: String,
    #[serde(default)]
    recursive: bool,
    depth: Option<usize>,
    #[serde(default)]
    include_hidden: bool,
}

impl Tool for ListDirectory {
    fn spec(&self) -> Arc<ToolSpec> {
        self.spec.clone()
    }

    fn call(
        &self,
        args: JsonObject,
        cx: CallContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let args: Args = super::arguments(args)?;
            let workspace = cx.workspace()?.clone();
            let reach = ListDepth {
                depth: args
                    .depth
                    .unwrap_or(if args.recursive { usize::MAX } else { 1 }),
                hidden: args.include_hidden,
                max_entries: self.options.max_entries,
            };
            let watch = cx.clone();
            cx.blocking(move || {
                let path = workspace.path(&args.path)?;
                let listing = list(&workspace, &path, reach, &|| watch.is_cancelled())?;
                let text = drawing::draw(&args.path, &listing);
                Ok(ToolOutput::value(into_value(listing)).with_text(text))
            })
            .await
        })
    }
}

fn into_value(listing: Listing) -> JsonObject {
    let entries = listing.entries.into_iter().map(|(name, metadata)| {
        let mut entry = named(name);
        entry.insert("type".to_owned(), metadata.kind.as_str().into());
        entry.insert("size".to_owned(), metadata.size.into());
        entry.insert("modified".to_owned(), metadata.modified.to_string().into());
        Value::Object(entry)
    });
    let mut value = JsonObject::new();
    value.insert("entries".to_owned(), entries.collect());
    if listing.truncated {
        value.insert("truncated".to_owned(), true.into());
    }
    if !listing.skipped.is_empty() {
        let skipped = listing.skipped.into_iter().map(|(name, errno)| {
            let mut entry = named(name);
            entry.insert("reason".to_owned(), reason(errno).into());
            Value::Object(entry)
        });
        value.insert("skipped".to_owned(), skipped.collect());
    }
    value
}

/// An object with a name, which must be text in JSON, and its exact bytes where they are none.
fn named(name: Vec<u8>) -> JsonObject {
    let mut entry = JsonObject::with_capacity(4);
    match String::from_utf8(name) {
        Ok(name) => {
            entry.insert("name".to_owned(), name.into());
        }
        Err(error) => {
            let name = String::from_utf8_lossy(error.as_bytes());
            entry.insert("name".to_owned(), name.into());
            let exact = BASE64.encode(error.as_bytes());
            entry.insert("nameBase64".to_owned(), exact.into());
        }
    }
    entry
}

fn reason(errno: Errno) -> String {
    match errno {
        Errno::ACCESS | Errno::PERM => "permission denied".to_owned(),
        Errno::NAMETOOLONG => "it is too deep; list it by itself".to_owned(),
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP => "it changed meanwhile".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Schema;
    use crate::workspace::Workspace;

    #[test]
    fn a_name_that_is_not_text_comes_with_its_exact_bytes() {
        use std::os::unix::ffi::OsStrExt as _;
        let root = tempfile::tempdir().unwrap();
        std::fs::write(
            root.path().join(std::ffi::OsStr::from_bytes(b"caf\xe9")),
            "x",
        )
        .unwrap();
        let workspace = Workspace::open(root.path()).unwrap();
        let reach = ListDepth {
            depth: usize::MAX,
            hidden: false,
            max_entries: 10,
        };
        let listing = list(&workspace, &workspace.path(".").unwrap(), reach, &|| false).unwrap();
        let value = into_value(listing);
        assert_eq!(value["entries"][0]["name"], "caf\u{fffd}");
        assert_eq!(value["entries"][0]["nameBase64"], "Y2Fm6Q==");
    }

    #[test]
    fn the_published_schema_follows_the_rules_for_authors() {
        let spec = ListDirectory::new(ListOptions::default()).spec();
        Schema::authored(spec.input_schema.as_value().clone()).unwrap();
        assert_eq!(spec.reference(), "core/list-directory@v1");
        assert!(spec.effects.is_read_only());
    }
}
