//! `mode: "meaning"`: a question in words finds the places in code that answer it.
//!
//! ```text
//! words      identifiers split at their seams, and stems
//! pieces     a file as definitions with their comments, and the rest
//! index      what each piece has, and the order of pieces for a question
//! embedding  an endpoint that puts the best of them in order, if the operator has named one
//! ```
//!
//! The index is in the memory of the process, one for a tool, bounded, and follows the files: each search goes through the tree, and reads what is
//! new or changed since. Nothing is written anywhere. What the rules would not let be read is left out of the answer, as in the other mode.

mod embedding;
mod index;
mod pieces;
mod words;

use std::collections::{BTreeMap, HashSet};
use std::io::Read as _;
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{AtFlags, Stat, statat};
use serde_json::json;

use super::super::tree::{Bounds, Ignores, Scope, Seen, Skipped, Verdict, Walk};
use super::answer::named;
use super::stop::Stop;
use super::{Args, MAX_RESULTS, May, NAME, many};
use crate::builtin::invalid;
use crate::call::context::CallContext;
use crate::model::JsonObject;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::outcome::ToolOutput;
use crate::model::text::{size, visible_line};
use crate::spec::ToolSpec;
use crate::workspace::{EntryKind, Metadata, Workspace};
use embedding::{CANDIDATES, MAX_TEXT};
use index::{Hit, Index, Stamp};

pub(in crate::builtin) use embedding::Embedder;
pub use embedding::{EmbeddingKind, EmbeddingSettings};

/// How many places are returned if the call does not say.
const RESULTS: usize = 10;

/// The largest file that is read, and the most of all files together.
const MAX_FILE: u64 = 1 << 20;
const MAX_BYTES: u64 = 128 << 20;

/// How much of the tree is looked at.
const BOUNDS: Bounds = Bounds {
    directories: 100_000,
    depth: 256,
};

/// The index of one workspace at a time: a tool has one workspace, as a rule.
#[derive(Default)]
pub(super) struct Known(Mutex<(PathBuf, Index)>);

/// Options that only a search for text has.
fn check(args: &Args) -> Result<(), ToolError> {
    let given = [
        ("regex", args.regex),
        ("caseSensitive", args.case_sensitive == Some(false)),
        ("wholeWord", args.whole_word),
        ("multiline", args.multiline),
        ("context", args.context > 0),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((name, _)) => Err(invalid(
            NAME,
            &format!("/{name}"),
            "is only for `mode` `text`; a question of `mode` `meaning` is plain words",
        )),
        None => Ok(()),
    }
}

/// What the index found.
pub(super) struct Found {
    /// The best first.
    hits: Vec<Hit>,
    /// The texts of the hits, where an endpoint is to put them in order.
    texts: Vec<String>,
    /// How many hits are wanted.
    max: usize,
    searched: usize,
    /// Whether there is more than the hits.
    is_cut: bool,
    timed_out: bool,
    is_full: bool,
    skipped: Skipped,
}

/// Finds the places that have the words of a question. For an embedder there are more of them than are wanted, with their texts. Blocks.
pub(super) fn find(
    known: &Known,
    workspace: &Workspace,
    args: &Args,
    may: &May,
    stop: &Stop,
    embedder: Option<&Embedder>,
) -> Result<Found, ToolError> {
    check(args)?;
    let question = words::of_question(&args.query);
    if question.is_empty() {
        return Err(invalid(NAME, "/query", "has no words; ask in plain words"));
    }
    let path = workspace.path(args.path.as_deref().unwrap_or("."))?;
    if workspace.metadata(&path)?.kind != EntryKind::Directory {
        let message =
            "must be a directory for `mode` `meaning`; read a single file with `read_file`";
        return Err(invalid(NAME, "/path", message));
    }
    let (globs, types) = (many(args.glob.as_ref()), many(args.types.as_ref()));
    let hidden = args.include_hidden;
    let scope = Scope::new(
        NAME,
        workspace.root(),
        globs,
        types,
        hidden,
        Arc::clone(&may.extensions),
    )?;
    let (top, place) = workspace.open_tree(&path)?;
    let skipped = Skipped::default();
    let ignores = (!args.include_ignored).then(|| Ignores::new(workspace, &skipped));
    let above = ignores.as_ref().and_then(|ignores| ignores.above(&place));
    let walk = Walk {
        workspace,
        ignores: ignores.as_ref(),
        skipped: &skipped,
        bounds: BOUNDS,
        is_stopped: &|| stop.is_due(),
    };
    let mut known = known.0.lock().unwrap_or_else(PoisonError::into_inner);
    if known.0 != workspace.root() {
        *known = (workspace.root().to_owned(), Index::default());
    }
    let index = &mut known.1;
    let mut there: HashSet<Vec<u8>> = HashSet::new();
    let mut is_full = false;
    let mut takes = |seen: &Seen<'_>| {
        scope.takes(seen.path(), seen.name, seen.is_dir, || match ignores {
            Some(_) => seen.verdict(),
            None => Verdict::Silent,
        })
    };
    let is_cut = walk.run(&top, &place, above, &mut takes, &mut |seen| {
        if seen.is_dir || stop.is_due() {
            return;
        }
        let Ok(stat) = statat(seen.directory, seen.name, AtFlags::SYMLINK_NOFOLLOW) else {
            return;
        };
        let stamp = stamp(&stat);
        if !index.has(seen.place(), stamp) {
            if index.bytes() + stamp.size.min(MAX_FILE) > MAX_BYTES {
                is_full = true;
                return;
            }
            match text(workspace, seen, &stat) {
                Some(text) => index.put(seen.place(), stamp, &text),
                // A file that is not text is in the index without words, so that it is not read again.
                None => index.put(seen.place(), stamp, ""),
            }
        }
        there.insert(seen.place().to_vec());
    });
    if stop.is_cancelled() {
        return Err(ToolError::new(
            ErrorCode::Cancelled,
            "the search was stopped",
        ));
    }
    let is_whole =
        args.path.as_deref().is_none_or(|path| path == ".") && globs.is_empty() && types.is_empty();
    if is_full || (is_whole && !is_cut) {
        index.retain(|path| there.contains(path));
    }
    let max = args.max_results.unwrap_or(RESULTS).clamp(1, MAX_RESULTS);
    // Some more, because the rules may leave out some.
    let wanted = embedder.map_or(max, |_| max.max(CANDIDATES));
    let hits = index.search(&question, wanted * 2 + 20, |path| there.contains(path));
    drop(known);
    let all = hits.len();
    let mut allowed: BTreeMap<Vec<u8>, bool> = BTreeMap::new();
    let mut hits: Vec<Hit> = hits
        .into_iter()
        .filter(|hit| {
            let is_allowed = allowed
                .entry(hit.path.clone())
                .or_insert_with(|| may.permission.covers(&hit.path));
            *is_allowed
        })
        .collect();
    hits.truncate(wanted);
    let texts = match embedder {
        Some(embedder) => texts(workspace, &hits, embedder)?,
        None => Vec::new(),
    };
    let timed_out = stop.is_timed_out();
    Ok(Found {
        is_cut: is_full || is_cut || timed_out || all > hits.len(),
        hits,
        texts,
        max,
        searched: there.len(),
        timed_out,
        is_full,
        skipped,
    })
}

/// The texts of the best hits as an endpoint sees them: the path, and the lines of the piece with its comment.
fn texts(
    workspace: &Workspace,
    hits: &[Hit],
    embedder: &Embedder,
) -> Result<Vec<String>, ToolError> {
    let (root, _) = workspace.open_tree(&workspace.path(".")?)?;
    let mut files: BTreeMap<&[u8], Option<String>> = BTreeMap::new();
    let read = |path: &[u8]| {
        let file = workspace.open_file_below(root.as_fd(), path).ok()??;
        let mut bytes = Vec::new();
        file.take(MAX_FILE).read_to_end(&mut bytes).ok()?;
        String::from_utf8(bytes).ok()
    };
    let text = |hit: &'_ Hit, file: Option<&String>| {
        let mut text = String::from_utf8_lossy(&hit.path).into_owned();
        let lines = file.map_or("", String::as_str).lines();
        for line in lines.take(hit.last).skip(hit.first.saturating_sub(1)) {
            text.push('\n');
            text.push_str(line);
            if text.len() > MAX_TEXT {
                break;
            }
        }
        let mut text = embedder.masked(&text);
        text.truncate(text.floor_char_boundary(MAX_TEXT));
        text
    };
    let mut texts = Vec::new();
    for hit in hits.iter().take(CANDIDATES) {
        let file = files.entry(&hit.path).or_insert_with(|| read(&hit.path));
        texts.push(text(hit, file.as_ref()));
    }
    Ok(texts)
}

impl Found {
    /// Puts the best places in the order that an endpoint gives them; where it fails, the order stays, and the outcome says why.
    pub(super) async fn in_order_of(
        mut self,
        embedder: &Embedder,
        question: &str,
        spec: &ToolSpec,
        cx: &CallContext,
    ) -> Self {
        if self.hits.is_empty() {
            return self;
        }
        match embedder.scores(question, &self.texts, cx, &spec.bundle).await {
            Ok(scores) => {
                // Scores of the index are of another kind.
                self.is_cut |= self.hits.len() > scores.len();
                self.hits.truncate(scores.len());
                for (hit, score) in self.hits.iter_mut().zip(scores) {
                    hit.score = score;
                }
                self.hits.sort_by(|a, b| b.score.total_cmp(&a.score));
            }
            Err(error) => cx.note_warning(format!(
                "the places are in the order of their words alone, because the endpoint of `search.embeddings` could not be used: {error}"
            )),
        }
        self
    }

    /// Whether there is more than the answer has.
    pub(super) fn is_truncated(&self) -> bool {
        self.is_cut || self.hits.len() > self.max
    }

    pub(super) fn into_output(mut self) -> ToolOutput {
        let truncated = self.is_truncated();
        self.hits.truncate(self.max);
        output(
            &self.hits,
            self.searched,
            truncated,
            self.timed_out,
            self.is_full,
            self.skipped,
        )
    }
}

fn stamp(stat: &Stat) -> Stamp {
    let nanoseconds = |value| i64::try_from(value).unwrap_or(0);
    Stamp {
        inode: stat.st_ino,
        size: u64::try_from(stat.st_size).unwrap_or(0),
        modified: (stat.st_mtime, nanoseconds(stat.st_mtime_nsec)),
        changed: (stat.st_ctime, nanoseconds(stat.st_ctime_nsec)),
    }
}

/// The text of a file, if it is one that people wrote.
fn text(workspace: &Workspace, seen: &Seen<'_>, stat: &Stat) -> Option<String> {
    let metadata = Metadata::of(stat);
    if metadata.kind != EntryKind::File || metadata.size > MAX_FILE {
        return None;
    }
    let file = workspace
        .open_file_below(seen.directory, seen.name)
        .ok()??;
    let mut bytes = Vec::new();
    file.take(MAX_FILE).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8(bytes)
        .ok()
        .filter(|text| !text.contains('\0'))?;
    let lines = text.lines().count().max(1);
    // Code that was packed by a program, or data.
    (text.len() / lines < 400).then_some(text)
}

fn output(
    hits: &[Hit],
    searched: usize,
    truncated: bool,
    timed_out: bool,
    is_full: bool,
    skipped: Skipped,
) -> ToolOutput {
    let files: HashSet<&Vec<u8>> = hits.iter().map(|hit| &hit.path).collect();
    let mut words = String::new();
    let matches = hits.iter().map(|hit| {
        let mut found: JsonObject = named(&hit.path);
        words.push_str(&format!(
            "{}:{}-{}: {}\n",
            visible_line(&String::from_utf8_lossy(&hit.path)),
            hit.line,
            hit.last,
            hit.text
        ));
        found.insert("line".to_owned(), hit.line.into());
        found.insert("lastLine".to_owned(), hit.last.into());
        found.insert("column".to_owned(), 1.into());
        found.insert("text".to_owned(), hit.text.as_str().into());
        found.insert("submatches".to_owned(), json!([]));
        if !hit.name.is_empty() {
            found.insert("name".to_owned(), hit.name.as_str().into());
        }
        let score = (f64::from(hit.score) * 1000.0).round() / 1000.0;
        found.insert("score".to_owned(), score.into());
        found
    });
    let matches: Vec<JsonObject> = matches.collect();
    let skipped = skipped.take().into_iter().map(|(path, reason)| {
        let mut entry = named(&path);
        entry.insert("reason".to_owned(), reason.into());
        entry
    });
    let skipped: Vec<JsonObject> = skipped.collect();
    words.push_str(&match hits.len() {
        0 => format!("\nnothing in {searched} files is like it; try other words\n"),
        count => format!("\nthe {count} best places in {searched} files, the best first\n"),
    });
    if timed_out {
        words.push_str(
            "The time was up before every file was read; ask again, what was read is known now.\n",
        );
    }
    if is_full {
        words.push_str(&format!(
            "There is more code than {}; narrow the search with `path` or `glob`.\n",
            size(MAX_BYTES)
        ));
    }
    let mut value = json!({
        "matches": matches,
        "total": hits.len(),
        "files": files.len(),
        "searched": searched,
        "truncated": truncated,
        "timedOut": timed_out,
    });
    if !skipped.is_empty() {
        value["skipped"] = json!(skipped);
    }
    ToolOutput::value(value).with_text(words)
}
