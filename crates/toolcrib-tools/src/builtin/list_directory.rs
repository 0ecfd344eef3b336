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
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

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
    let mut spec = super::typed_spec::<Args, DirectoryListing>(
        "list_directory",
        "List directory",
        "List the files and directories in a workspace directory, with type, size and time of last change.",
        Effects::READ,
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

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Args {
    /// Directory to list, relative to the workspace; `.` is the workspace
    path: String,
    /// List everything beneath it too
    #[serde(default)]
    recursive: bool,
    /// How many levels to list: 1 is the directory itself, 2 also what is in its directories; `recursive` is not needed then
    #[schemars(range(min = 1, max = 256))]
    depth: Option<usize>,
    /// Include names that start with a dot, and what is beneath them
    #[serde(default)]
    include_hidden: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct DirectoryListing {
    /// The entries, sorted by name
    entries: Vec<Entry>,
    /// True if there are more entries than fit
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    /// What could not be looked into
    #[serde(skip_serializing_if = "Vec::is_empty")]
    skipped: Vec<Skipped>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Entry {
    #[serde(flatten)]
    name: Name,
    /// What it is; links are not followed
    #[serde(rename = "type")]
    #[schemars(extend("enum" = ["file", "directory", "symlink", "other"]))]
    kind: &'static str,
    /// Size in bytes
    #[schemars(with = "i64")]
    size: u64,
    /// When it last changed, RFC 3339
    modified: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Skipped {
    #[serde(flatten)]
    name: Name,
    /// Why not
    reason: String,
}

// A name must be text in JSON; its bytes are beside it where they are not.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Name {
    /// Path relative to the listed directory
    name: String,
    /// The exact bytes of a name that is not UTF-8
    #[serde(skip_serializing_if = "Option::is_none")]
    name_base64: Option<String>,
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
                super::typed_output(&DirectoryListing::from(listing), text)
            })
            .await
        })
    }
}

impl From<Listing> for DirectoryListing {
    fn from(listing: Listing) -> Self {
        let entries = listing.entries.into_iter().map(|(name, metadata)| Entry {
            name: name.into(),
            kind: metadata.kind.as_str(),
            size: metadata.size,
            modified: metadata.modified.to_string(),
        });
        let skipped = listing.skipped.into_iter().map(|(name, errno)| Skipped {
            name: name.into(),
            reason: reason(errno),
        });
        DirectoryListing {
            entries: entries.collect(),
            truncated: listing.truncated,
            skipped: skipped.collect(),
        }
    }
}

impl From<Vec<u8>> for Name {
    fn from(name: Vec<u8>) -> Self {
        match String::from_utf8(name) {
            Ok(name) => Name {
                name,
                name_base64: None,
            },
            Err(error) => Name {
                name: String::from_utf8_lossy(error.as_bytes()).into_owned(),
                name_base64: Some(BASE64.encode(error.as_bytes())),
            },
        }
    }
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
        let value = serde_json::to_value(DirectoryListing::from(listing)).unwrap();
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
