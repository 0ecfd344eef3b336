//! `search_code`: finds lines by text or by a regular expression in the files of the workspace (S2).
//!
//! It is made of ripgrep's libraries and finds what `rg` finds, with the same defaults: case counts, hidden and ignored files are left out,
//! binary files are skipped, links are not followed. It differs where a workspace may be hostile: every file is opened through `Workspace`
//! (`walk`), ignore files are bounded (`tree`), and so are lines, files and answers. The answer is the start of everything there is to
//! find, in order of path and line, whatever the threads do (`found`); the rest is counted.

mod answer;
mod lines;
mod matches;
mod meaning;
mod query;
mod queue;
mod stop;
mod walk;

pub(super) use meaning::Embedder;
pub use meaning::{EmbeddingKind, EmbeddingSettings};
#[cfg(feature = "testing")]
pub(crate) use query::takes as searches_for;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use super::read_file::{ReadOptions, check_extension};
use super::tree::{Ignores, Permission, Scope, Skipped};
use super::{Family, core_spec};
use crate::call::context::CallContext;
use crate::model::JsonObject;
use crate::model::effects::Effects;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::limits::{LimitsPatch, MB};
use crate::model::outcome::ToolOutput;
use crate::spec::{Role, ToolSpec, Traits};
use crate::tool::Tool;
use crate::workspace::{EntryKind, Workspace, as_written};
use answer::Answer;
use matches::Collector;
use query::Query;
use stop::Stop;
use walk::Search;

const NAME: &str = "search_code";

/// How long a search may take.
const TIMEOUT_MS: u64 = 30_000;

/// How many matches are shown if no one says.
const RESULTS: usize = 100;

/// The most matches that are shown.
const MAX_RESULTS: usize = 1000;

/// The most lines around a match.
const MAX_CONTEXT: usize = 20;

/// The longest query, in characters.
const MAX_QUERY: usize = 4096;

/// The most globs or types.
const MAX_FILTERS: usize = 100;

/// The tool.
pub(super) fn tools(read: &ReadOptions, embedder: Option<Embedder>) -> Family {
    vec![(Arc::new(SearchCode::new(read, embedder)), None)]
}

struct SearchCode {
    spec: Arc<ToolSpec>,
    extensions: Arc<[String]>,
    known: Arc<meaning::Known>,
    embedder: Option<Arc<Embedder>>,
}

impl SearchCode {
    fn new(read: &ReadOptions, embedder: Option<Embedder>) -> Self {
        SearchCode {
            spec: Arc::new(spec()),
            extensions: read.plain_extensions(),
            known: Arc::default(),
            embedder: embedder.map(Arc::new),
        }
    }
}

fn spec() -> ToolSpec {
    let mut spec = core_spec(
        NAME,
        "Search code",
        "Search the files of the workspace for a text or a regular expression and return the matching lines with path, line number and, if asked for, the lines around them. \
         The quickest way to find where something is defined, used or said: search first, then read the place with `read_file`. The query is taken literally unless `regex` is true. \
         With `mode` `meaning` it is a question in plain words, and the best places that answer it come first: definitions with their comments, whatever words they use exactly. \
         Files that .gitignore and the like exclude, hidden files and binary files are left out, and so is what the rules would not let you read. Results are in order of path and line; `total` counts those beyond `maxResults`, too: \
         if there are more, narrow the search with `path`, `glob` or `type` rather than raising the limit.",
        Effects::READ,
        input(),
        output(),
    );
    spec.keywords = crate::builtin::keywords(&[
        "grep",
        "ripgrep",
        "rg",
        "find in files",
        "regex",
        "find text",
        "definition",
        "usages",
        "references",
        "source",
        "occurrences",
        "look for",
        "where",
    ]);
    spec.traits = Traits {
        destroys: None,
        idempotent: None,
        open_world: Some(false),
    };
    spec.synonyms = vec![("pattern".to_owned(), "query".to_owned())];
    spec.examples = vec![
        json!({"query": "TODO"}),
        json!({"query": r"fn \w+_test\(", "regex": true, "type": "rust", "context": 2}),
        json!({"query": "where is a request retried after a timeout", "mode": "meaning"}),
        json!({"query": "timeout", "caseSensitive": false, "glob": ["*.toml", "!target/**"]}),
    ];
    spec.roles = vec![("path".to_owned(), Role::ReadPath)];
    spec.limits = LimitsPatch {
        timeout_ms: Some(TIMEOUT_MS),
        // A search has a thread for each processor: more of them at once would only be slower.
        max_concurrent: Some(4),
        max_output_bytes: Some(MB),
        ..LimitsPatch::default()
    };
    spec
}

fn input() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["query"],
        "properties": {
            "query": {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_QUERY,
                "description": "What to search for: a text, or with `regex` a regular expression in Rust's syntax (no look-around, no back-references)"
            },
            "mode": {
                "type": "string",
                "enum": ["text", "meaning"],
                "default": "text",
                "description": "`text` finds lines that have the query; `meaning` takes it as a question in words, such as `where are retries counted`, and returns the places that fit best"
            },
            "path": {
                "type": "string",
                "default": ".",
                "description": "File or directory to search, relative to the workspace; a file named here is searched even if it is hidden or ignored"
            },
            "regex": {"type": "boolean", "default": false, "description": "Take the query as a regular expression"},
            "caseSensitive": {"type": "boolean", "default": true, "description": "Whether upper and lower case differ"},
            "wholeWord": {"type": "boolean", "default": false, "description": "Find only whole words"},
            "glob": {
                "anyOf": [
                    {"type": "string", "minLength": 1, "maxLength": 1000},
                    {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 1000}, "maxItems": MAX_FILTERS}
                ],
                "description": "Only files whose path matches one of these globs, `*.rs` or `src/**/*.ts`; one that begins with `!` leaves files out. The last that matches counts, before ignore files"
            },
            "type": {
                "anyOf": [
                    {"type": "string", "minLength": 1, "maxLength": 100},
                    {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 100}, "maxItems": MAX_FILTERS}
                ],
                "description": "Only files of these types, as `rg --type` knows them: `rust`, `py`, `js`, `md`; one that begins with `!` leaves files out"
            },
            "context": {
                "type": "integer",
                "minimum": 0,
                "maximum": MAX_CONTEXT,
                "default": 0,
                "description": "How many lines before and after each match to return"
            },
            "multiline": {
                "type": "boolean",
                "default": false,
                "description": "Find what spans lines; in a regular expression `\\n` and `(?s:.)` then match line breaks. Files over 16 MB are skipped"
            },
            "includeHidden": {"type": "boolean", "default": false, "description": "Search names that start with a dot, and what is beneath them"},
            "includeIgnored": {
                "type": "boolean",
                "default": false,
                "description": "Search what .gitignore, .ignore, .rgignore and git's excludes leave out"
            },
            "maxResults": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_RESULTS,
                "description": "How many matches to return at most; 100 if not given, 10 with `mode` `meaning`"
            }
        }
    })
}

fn output() -> Value {
    let place = |name: &str, description: &str| json!({name: {"type": "string", "description": description}});
    let mut matched = place("path", "File, relative to the workspace");
    let mut skipped = matched.clone();
    let more = json!({
        "pathBase64": {"type": "string", "description": "The exact bytes of a path that is not UTF-8"},
        "line": {"type": "integer", "description": "Line number, counted from 1"},
        "lastLine": {"type": "integer", "description": "The last line of a match that spans lines, or of a definition"},
        "column": {"type": "integer", "description": "Where the first match of the line begins: its byte, counted from 1"},
        "text": {"type": "string", "description": "The line; a long one is cut around its first match, with `…` where something is missing"},
        "cut": {"type": "boolean", "description": "True if the line was cut"},
        "submatches": {
            "type": "array",
            "description": "Where the matches are in `text`, in bytes: the first of each, and the one after its last",
            "items": {
                "type": "object",
                "required": ["start", "end"],
                "properties": {"start": {"type": "integer"}, "end": {"type": "integer"}}
            }
        },
        "name": {"type": "string", "description": "With `mode` `meaning`: what is defined there"},
        "score": {"type": "number", "description": "With `mode` `meaning`: how well it fits, for comparison within one answer"},
        "before": {"type": "array", "items": {"type": "string"}, "description": "The lines before it, if `context` was given"},
        "after": {"type": "array", "items": {"type": "string"}, "description": "The lines after it, if `context` was given"}
    });
    if let (Value::Object(matched), Value::Object(more)) = (&mut matched, more) {
        matched.extend(more);
    }
    if let Value::Object(skipped) = &mut skipped {
        skipped.insert("pathBase64".to_owned(), json!({"type": "string"}));
        skipped.insert(
            "reason".to_owned(),
            json!({"type": "string", "description": "Why not"}),
        );
    }
    json!({
        "type": "object",
        "required": ["matches", "total", "files", "searched", "truncated", "timedOut"],
        "properties": {
            "matches": {
                "type": "array",
                "description": "The first matching lines, in order of path and line; with `mode` `meaning` the best places first",
                "items": {"type": "object", "required": ["path", "line", "column", "text", "submatches"], "properties": matched}
            },
            "total": {"type": "integer", "description": "How many matching lines there are, also beyond those returned"},
            "files": {"type": "integer", "description": "How many files have a match"},
            "searched": {"type": "integer", "description": "How many files were looked into"},
            "truncated": {"type": "boolean", "description": "True if there are more matches than were returned"},
            "timedOut": {"type": "boolean", "description": "True if the time was up before everything was searched"},
            "skipped": {
                "type": "array",
                "description": "What could not be searched, or not to its end; the first 20",
                "items": {"type": "object", "required": ["path", "reason"], "properties": skipped}
            }
        }
    })
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Args {
    query: String,
    #[serde(default)]
    mode: Mode,
    path: Option<String>,
    #[serde(default)]
    regex: bool,
    case_sensitive: Option<bool>,
    #[serde(default)]
    whole_word: bool,
    glob: Option<OneOrMany>,
    #[serde(rename = "type")]
    types: Option<OneOrMany>,
    #[serde(default)]
    context: usize,
    #[serde(default)]
    multiline: bool,
    #[serde(default)]
    include_hidden: bool,
    #[serde(default)]
    include_ignored: bool,
    max_results: Option<usize>,
}

/// What the query is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Mode {
    #[default]
    Text,
    Meaning,
}

/// A parameter that is a text or a list of texts.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

fn many(given: Option<&OneOrMany>) -> &[String] {
    match given {
        None => &[],
        Some(OneOrMany::One(one)) => std::slice::from_ref(one),
        Some(OneOrMany::Many(many)) => many,
    }
}

impl Tool for SearchCode {
    fn spec(&self) -> Arc<ToolSpec> {
        self.spec.clone()
    }

    fn call(
        &self,
        args: JsonObject,
        cx: CallContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let permission = Permission::of(&cx, args.clone());
            let args: Args = super::arguments(args)?;
            let workspace = cx.workspace()?.clone();
            let may = May {
                extensions: Arc::clone(&self.extensions),
                permission,
            };
            let own = cx.clone();
            if args.mode == Mode::Meaning {
                let (known, embedder) = (Arc::clone(&self.known), self.embedder.clone());
                let question = args.query.clone();
                let finding = cx.blocking_until_stopped(move || {
                    let stop = Stop::for_call(own);
                    let embedder = embedder.as_deref();
                    meaning::find(&known, &workspace, &args, &may, &stop, embedder)
                });
                let mut found = finding.await?;
                if let Some(embedder) = &self.embedder {
                    let ordering = found.in_order_of(embedder, &question, &self.spec, &cx);
                    found = ordering.await;
                }
                if found.is_truncated() {
                    cx.note_truncated();
                }
                return Ok(found.into_output());
            }
            cx.blocking_until_stopped(move || {
                let stop = Stop::for_call(own.clone());
                let answer = search(&workspace, &args, &may, &stop)?;
                if answer.is_truncated() {
                    own.note_truncated();
                }
                Ok(answer.into_output())
            })
            .await
        })
    }
}

/// What of the workspace may be searched.
#[derive(Default)]
struct May {
    /// Files that end like this; all if there is none.
    extensions: Arc<[String]>,
    permission: Permission,
}

fn search(workspace: &Workspace, args: &Args, may: &May, stop: &Stop) -> Result<Answer, ToolError> {
    let query = Query {
        text: &args.query,
        regex: args.regex,
        case_sensitive: args.case_sensitive.unwrap_or(true),
        whole_word: args.whole_word,
        multiline: args.multiline,
    };
    let matcher = query.matcher()?;
    let (globs, types) = (many(args.glob.as_ref()), many(args.types.as_ref()));
    let (root, hidden) = (workspace.root(), args.include_hidden);
    let scope = Scope::new(
        NAME,
        root,
        globs,
        types,
        hidden,
        Arc::clone(&may.extensions),
    )?;
    let path = workspace.path(args.path.as_deref().unwrap_or("."))?;
    let max = args.max_results.unwrap_or(RESULTS).clamp(1, MAX_RESULTS);
    let (found, skipped) = (Collector::new(max), Skipped::default());
    let mut search = Search {
        workspace,
        matcher: &matcher,
        multiline: args.multiline,
        context: args.context.min(MAX_CONTEXT),
        scope: &scope,
        permission: &may.permission,
        ignores: None,
        found: &found,
        skipped: &skipped,
        stop,
    };
    let tally = match workspace.metadata(&path)?.kind {
        EntryKind::Directory => {
            let (top, place) = workspace.open_tree(&path)?;
            if !args.include_ignored {
                search.ignores = Some(Ignores::new(workspace, &skipped));
            }
            search.tree(&top, &place)
        }
        EntryKind::File | EntryKind::Symlink | EntryKind::Other => {
            check_extension(&path, &may.extensions)?;
            let (file, _) = workspace.open_file(&path)?;
            search.file(&file, Path::new(&as_written(&path)))
        }
    };
    if stop.is_cancelled() {
        return Err(ToolError::new(
            ErrorCode::Cancelled,
            "the search was stopped",
        ));
    }
    let (context, timed_out) = (search.context, stop.is_timed_out());
    drop(search);
    Ok(Answer {
        found: found.into_first(),
        tally,
        skipped: skipped.take(),
        timed_out,
        with_context: context > 0,
    })
}
