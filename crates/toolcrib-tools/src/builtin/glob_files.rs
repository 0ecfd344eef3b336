//! `glob_files`: finds files and directories by name, size and time.
//!
//! Globs and ignore files mean what they mean to `search_code` (`tree/scope.rs`, `tree/ignores.rs`), but no glob brings back an ignored file. The answer is the first of everything there is, in the order that was
//! asked for; memory is bounded by the answer and not by the tree. Contents are not read, so the rules on reading do not count here, as for
//! `list_directory`.

mod filter;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use rustix::fs::{AtFlags, statat};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::tree::{Bounds, Ignores, Seen, Skipped, Verdict, Walk, overrides};
use crate::call::context::CallContext;
use crate::model::JsonObject;
use crate::model::effects::Effects;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::limits::{LimitsPatch, MB};
use crate::model::outcome::ToolOutput;
use crate::model::text;
use crate::spec::{Role, ToolSpec, Traits};
use crate::tool::Tool;
use crate::workspace::{EntryKind, Metadata, Workspace};
use filter::{Filter, Want};

const NAME: &str = "glob_files";

/// How many files are returned if the call does not say.
const RESULTS: usize = 1000;

/// The most files that are returned.
const MAX_RESULTS: usize = 10_000;

/// How many directories are looked into, and how deep.
const BOUNDS: Bounds = Bounds {
    directories: 200_000,
    depth: 256,
};

/// The arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Args {
    /// A glob that paths must match, relative to `path`: `*.rs` at any depth, `src/**/*.{ts,tsx}`, `/*.md` only at the top, `**` for everything
    #[schemars(length(min = 1, max = 1000))]
    glob: String,
    /// Globs of what to leave out, written likewise
    #[serde(default)]
    #[schemars(length(max = 100))]
    exclude: Vec<String>,
    /// Directory to look in, relative to the workspace
    #[serde(default = "here")]
    path: String,
    /// What to find
    #[serde(default, rename = "type")]
    want: Want,
    /// Only files of at least so many bytes
    #[serde(default)]
    min_size: Option<u64>,
    /// Only files of at most so many bytes
    #[serde(default)]
    max_size: Option<u64>,
    /// Only what changed at this time or later: RFC 3339, a date, or how long ago, as `30m`, `24h` or `7d`
    #[serde(default)]
    modified_after: Option<String>,
    /// Only what changed before this time, written likewise
    #[serde(default)]
    modified_before: Option<String>,
    /// The order of the result: by path, the latest change first, or the largest file first
    #[serde(default)]
    sort: Sort,
    /// Find names that start with a dot, and what is beneath them; a glob that has such a name in it finds them anyway
    #[serde(default)]
    include_hidden: bool,
    /// Find what .gitignore, .ignore, .rgignore and git's excludes leave out
    #[serde(default)]
    include_ignored: bool,
    /// How many to return at most
    #[serde(default = "results")]
    #[schemars(range(min = 1, max = 10000))]
    max_results: usize,
}

fn here() -> String {
    ".".to_owned()
}

fn results() -> usize {
    RESULTS
}

/// The order of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Sort {
    #[default]
    Path,
    Modified,
    Size,
}

/// The result.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Globbed {
    /// What was found, in the order asked for
    files: Vec<FoundFile>,
    /// How many there are, also beyond those returned
    total: usize,
    /// True if there are, or may be, more than were returned
    truncated: bool,
    /// What could not be looked into; the first 20
    #[serde(skip_serializing_if = "Vec::is_empty")]
    skipped: Vec<NotSeen>,
}

/// A file or directory.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct FoundFile {
    /// Its path, relative to the workspace
    path: String,
    /// What it is
    #[serde(rename = "type")]
    kind: FileKind,
    /// Its size in bytes
    size: u64,
    /// When it last changed, RFC 3339
    modified: String,
    /// The exact bytes of a path that is not UTF-8
    #[serde(skip_serializing_if = "String::is_empty")]
    path_base64: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum FileKind {
    File,
    Directory,
}

/// A directory that could not be looked into.
#[derive(Debug, Serialize, JsonSchema)]
struct NotSeen {
    /// Its path, relative to the workspace
    path: String,
    /// Why not
    reason: String,
}

/// The tool.
pub(super) struct GlobFiles {
    spec: Arc<ToolSpec>,
}

impl GlobFiles {
    pub(super) fn new() -> Self {
        GlobFiles {
            spec: Arc::new(spec()),
        }
    }
}

fn spec() -> ToolSpec {
    let mut spec = super::typed_spec::<Args, Globbed>(
        NAME,
        "Find files by name",
        "Find files in the workspace by glob, and by type, size and time of last change. Returns paths with size and time, not contents; `search_code` finds text in files. \
         Files that .gitignore and the like exclude and hidden files are left out unless asked for; links are not followed and not listed.",
        Effects::READ,
    );
    spec.keywords = crate::builtin::keywords(&[
        "find files",
        "list files",
        "files",
        "python files",
        "find",
        "glob",
        "fd",
        "locate",
        "file name",
        "filename",
        "name",
        "pattern",
        "extension",
        "largest files",
        "recent files",
        "recently changed",
        "modified",
        "size",
    ]);
    spec.traits = Traits {
        destroys: None,
        idempotent: None,
        open_world: Some(false),
    };
    spec.synonyms = vec![("pattern".to_owned(), "glob".to_owned())];
    spec.roles = vec![("path".to_owned(), Role::ReadPath)];
    spec.examples = vec![
        json!({"glob": "*.rs"}),
        json!({"glob": "src/**/*.ts", "exclude": ["*.test.ts"], "sort": "modified", "maxResults": 20}),
        json!({"glob": "**", "minSize": 1_000_000, "sort": "size"}),
        json!({"glob": "*.log", "modifiedAfter": "24h", "includeIgnored": true}),
    ];
    spec.limits = LimitsPatch {
        timeout_ms: Some(30_000),
        max_output_bytes: Some(8 * MB),
        ..LimitsPatch::default()
    };
    spec
}

impl Tool for GlobFiles {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn call(
        &self,
        args: JsonObject,
        cx: CallContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let args: Args = super::arguments(args)?;
            let workspace = cx.workspace()?.clone();
            let own = cx.clone();
            cx.blocking_until_stopped(move || {
                // Some time is left for the answer.
                let deadline = Instant::now() + own.remaining().mul_f64(0.9);
                let is_stopped = || own.is_cancelled() || Instant::now() >= deadline;
                let found = find(&workspace, &args, &is_stopped)?;
                if own.is_cancelled() {
                    let stopped = ToolError::new(ErrorCode::Cancelled, "the search was stopped");
                    return Err(stopped);
                }
                if found.truncated {
                    own.note_truncated();
                }
                let text = in_words(&found);
                super::typed_output(&found, text)
            })
            .await
        })
    }
}

/// What sorts before the path.
type Rank = (i128, Vec<u8>);

fn find(
    workspace: &Workspace,
    args: &Args,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Globbed, ToolError> {
    let path = workspace.path(&args.path)?;
    let (top, place) = workspace.open_tree(&path)?;
    let root = workspace.root().join(&place);
    let is_hidden = |part: &str| part.starts_with('.') && !matches!(part, "." | "..");
    let hidden = args.include_hidden || args.glob.split('/').any(is_hidden);
    if let Some(glob) = args
        .exclude
        .iter()
        .chain([&args.glob])
        .find(|glob| glob.starts_with('!'))
    {
        let message = format!(
            "begins with `!`: `{}`; write what to leave out in `exclude`",
            text::shorten(glob, 60)
        );
        return Err(super::invalid(NAME, "/glob", &message));
    }
    let mut globs = vec![args.glob.clone()];
    globs.extend(args.exclude.iter().map(|glob| format!("!{glob}")));
    let matcher = overrides(NAME, &root, &globs)?;
    let filter = Filter::new(args, Timestamp::now())?;
    let skipped = Skipped::default();
    let ignores = (!args.include_ignored).then(|| Ignores::new(workspace, &skipped));
    let above = ignores.as_ref().and_then(|ignores| ignores.above(&place));
    let max = args.max_results.clamp(1, MAX_RESULTS);
    let mut kept: BTreeMap<Rank, (FileKind, Metadata)> = BTreeMap::new();
    let mut total = 0;
    let walk = Walk {
        workspace,
        ignores: ignores.as_ref(),
        skipped: &skipped,
        bounds: BOUNDS,
        is_stopped,
    };
    let mut takes = |seen: &Seen<'_>| {
        let is_visible = hidden || !seen.name.starts_with(b".");
        is_visible
            && !matcher.matched(seen.path(), seen.is_dir).is_ignore()
            && seen.verdict() != Verdict::Skip
    };
    let is_cut = walk.run(&top, &place, above, &mut takes, &mut |seen| {
        // A directory is entered for what is in it; found it is only if a glob names it.
        let is_named = matcher.matched(seen.path(), seen.is_dir).is_whitelist();
        let kind = match seen.is_dir {
            true => FileKind::Directory,
            false => FileKind::File,
        };
        if !is_named || !filter.wants(kind) {
            return;
        }
        let Ok(stat) = statat(seen.directory, seen.name, AtFlags::SYMLINK_NOFOLLOW) else {
            return;
        };
        let metadata = Metadata::of(&stat);
        let is_same = match kind {
            FileKind::File => metadata.kind == EntryKind::File,
            FileKind::Directory => metadata.kind == EntryKind::Directory,
        };
        if !is_same || !filter.covers(&metadata) {
            return;
        }
        total += 1;
        let first = match args.sort {
            Sort::Path => 0,
            Sort::Modified => -metadata.modified.as_nanosecond(),
            Sort::Size => -i128::from(metadata.size),
        };
        kept.insert((first, seen.place().to_vec()), (kind, metadata));
        if kept.len() > max {
            kept.pop_last();
        }
    });
    let files: Vec<FoundFile> = kept
        .into_iter()
        .map(|((_, path), found)| found_file(path, found))
        .collect();
    let skipped = skipped.take().into_iter().map(|(path, reason)| NotSeen {
        path: String::from_utf8_lossy(&path).into_owned(),
        reason,
    });
    Ok(Globbed {
        truncated: is_cut || total > files.len(),
        files,
        total,
        skipped: skipped.collect(),
    })
}

fn found_file(path: Vec<u8>, (kind, metadata): (FileKind, Metadata)) -> FoundFile {
    let (path, path_base64) = match String::from_utf8(path) {
        Ok(path) => (path, String::new()),
        Err(error) => {
            let bytes = error.as_bytes();
            (
                String::from_utf8_lossy(bytes).into_owned(),
                BASE64.encode(bytes),
            )
        }
    };
    FoundFile {
        path,
        kind,
        size: metadata.size,
        modified: metadata.modified.to_string(),
        path_base64,
    }
}

/// A path on each line, a directory with a slash, and a last line that says how many there are.
fn in_words(found: &Globbed) -> String {
    let mut words = String::new();
    for file in &found.files {
        let slash = if file.kind == FileKind::Directory {
            "/"
        } else {
            ""
        };
        let _ = writeln!(words, "{}{slash}", text::visible_line(&file.path));
    }
    let shown = found.files.len();
    let _ = match (found.total, found.truncated) {
        (0, false) => writeln!(
            words,
            "nothing matches; hidden and ignored files are found with `includeHidden` and `includeIgnored`"
        ),
        (1, false) => writeln!(words, "\n1 found"),
        (total, false) => writeln!(words, "\n{total} found"),
        (total, true) if total > shown => writeln!(
            words,
            "\nthe first {shown} of {total}; narrow the glob or `path`, or raise `maxResults`"
        ),
        (total, true) => writeln!(
            words,
            "\n{total} found before the search was cut short; there may be more, so narrow the glob or `path`"
        ),
    };
    for skipped in &found.skipped {
        let path = text::visible_line(&skipped.path);
        let _ = writeln!(words, "[not looked into: {path}: {}]", skipped.reason);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn tree(files: &[(&str, usize)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (file, size) in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x".repeat(*size)).unwrap();
        }
        root
    }

    fn found(root: &tempfile::TempDir, args: serde_json::Value) -> Globbed {
        let workspace = Workspace::open(root.path()).unwrap();
        let args: Args = serde_json::from_value(args).unwrap();
        find(&workspace, &args, &|| false).unwrap()
    }

    #[track_caller]
    fn finds(root: &tempfile::TempDir, args: serde_json::Value, expected: &[&str]) {
        let found = found(root, args.clone());
        let paths: Vec<&str> = found.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, expected, "{args}");
    }

    const FILES: &[(&str, usize)] = &[
        ("a.rs", 10),
        ("b.txt", 2000),
        ("src/c.rs", 300),
        ("src/deep/d.rs", 0),
        ("src/deep/e.md", 5),
        (".hidden/f.rs", 1),
        (".github/workflows/ci.yml", 1),
        ("out/g.rs", 1),
        (".gitignore", 0),
    ];

    #[test]
    fn globs_name_files_at_any_depth_or_from_the_directory() {
        let root = tree(FILES);
        finds(
            &root,
            json!({"glob": "*.rs"}),
            &["a.rs", "out/g.rs", "src/c.rs", "src/deep/d.rs"],
        );
        finds(&root, json!({"glob": "/*.rs"}), &["a.rs"]);
        finds(
            &root,
            json!({"glob": "deep/*", "path": "src"}),
            &["src/deep/d.rs", "src/deep/e.md"],
        );
        finds(&root, json!({"glob": "src/*.rs", "path": "src"}), &[]);
        finds(
            &root,
            json!({"glob": "*.rs", "exclude": ["out/**"], "path": "."}),
            &["a.rs", "src/c.rs", "src/deep/d.rs"],
        );
        finds(
            &root,
            json!({"glob": "*.{txt,md}"}),
            &["b.txt", "src/deep/e.md"],
        );
    }

    #[test]
    fn hidden_files_are_found_if_asked_for_or_named() {
        let root = tree(FILES);
        finds(
            &root,
            json!({"glob": "*.rs", "includeHidden": true, "path": ".hidden"}),
            &[".hidden/f.rs"],
        );
        finds(
            &root,
            json!({"glob": ".github/**"}),
            &[".github/workflows/ci.yml"],
        );
        finds(&root, json!({"glob": ".gitignore"}), &[".gitignore"]);
    }

    #[test]
    fn ignored_files_are_found_only_if_asked_for() {
        let root = tree(FILES);
        fs::create_dir(root.path().join(".git")).unwrap();
        fs::write(root.path().join(".gitignore"), "out/\n*.md\n").unwrap();
        let globs = json!("{**/g.rs,**/e.md,a.rs}");
        finds(&root, json!({"glob": globs}), &["a.rs"]);
        finds(
            &root,
            json!({"glob": globs, "includeIgnored": true}),
            &["a.rs", "out/g.rs", "src/deep/e.md"],
        );
    }

    #[test]
    fn size_type_and_order_select() {
        let root = tree(FILES);
        finds(
            &root,
            json!({"glob": "**", "minSize": 10, "sort": "size"}),
            &["b.txt", "src/c.rs", "a.rs"],
        );
        finds(
            &root,
            json!({"glob": "*.rs", "maxSize": 0}),
            &["src/deep/d.rs"],
        );
        finds(
            &root,
            json!({"glob": "**", "type": "directory"}),
            &["out", "src", "src/deep"],
        );
        finds(&root, json!({"glob": "deep", "type": "any"}), &["src/deep"]);
    }

    #[test]
    fn times_select_and_the_latest_comes_first() {
        let root = tree(&[("old", 1), ("new", 1)]);
        let file = fs::File::options()
            .write(true)
            .open(root.path().join("old"))
            .unwrap();
        let then =
            std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        file.set_modified(then).unwrap();
        finds(
            &root,
            json!({"glob": "*", "sort": "modified"}),
            &["new", "old"],
        );
        finds(&root, json!({"glob": "*", "modifiedAfter": "1h"}), &["new"]);
        finds(
            &root,
            json!({"glob": "*", "modifiedBefore": "2001-09-10"}),
            &["old"],
        );
        finds(
            &root,
            json!({"glob": "*", "modifiedAfter": "2001-09-09T01:46:40Z", "modifiedBefore": "2001-09-09T01:46:41Z"}),
            &["old"],
        );
    }

    #[test]
    fn the_first_are_returned_and_all_are_counted() {
        let root = tree(FILES);
        let found = found(&root, json!({"glob": "*.rs", "maxResults": 2}));
        assert_eq!(
            (found.files.len(), found.total, found.truncated),
            (2, 4, true)
        );
        assert_eq!(found.files[1].path, "out/g.rs");
        assert!(in_words(&found).contains("the first 2 of 4"));
    }

    #[test]
    fn links_are_not_followed() {
        let outside = tree(&[("secret.rs", 1)]);
        let root = tree(&[("a.rs", 1)]);
        std::os::unix::fs::symlink(outside.path(), root.path().join("out")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret.rs"), root.path().join("b.rs"))
            .unwrap();
        finds(&root, json!({"glob": "**"}), &["a.rs"]);
    }

    #[test]
    fn the_published_names_leave_the_first_documents_tool_alone() {
        let spec = GlobFiles::new().spec();
        assert_eq!(spec.reference(), "core/glob-files@v1");
        assert!(spec.aliases.is_empty(), "find_files is another tool's");
        assert!(spec.effects.is_read_only());
    }
}
