//! The answer of a search: a value for programs, and lines for models and people, as `rg` prints them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

use super::matches::{InFile, MatchedLine};
use super::walk::Tally;
use crate::model::JsonObject;
use crate::model::outcome::ToolOutput;
use crate::model::text;

/// What a search came to.
pub(super) struct Answer {
    pub(super) found: Vec<InFile>,
    pub(super) tally: Tally,
    pub(super) skipped: BTreeMap<Vec<u8>, String>,
    pub(super) timed_out: bool,
    /// Whether lines around matches were asked for.
    pub(super) with_context: bool,
}

impl Answer {
    fn shown(&self) -> u64 {
        self.found.iter().map(|(_, found)| found.len() as u64).sum()
    }

    /// Whether there are, or may be, more matches than are shown.
    pub(super) fn is_truncated(&self) -> bool {
        self.timed_out || self.shown() < self.tally.total
    }

    pub(super) fn into_output(self) -> ToolOutput {
        let text = self.text();
        let mut value = JsonObject::new();
        let (is_truncated, tally) = (self.is_truncated(), self.tally);
        let matches = self.found.into_iter().flat_map(|(path, found)| {
            let path = named(&path);
            found
                .into_iter()
                .map(move |found| match_value(path.clone(), found, self.with_context))
        });
        value.insert("matches".to_owned(), matches.collect());
        value.insert("total".to_owned(), tally.total.into());
        value.insert("files".to_owned(), tally.files.into());
        value.insert("searched".to_owned(), tally.searched.into());
        value.insert("truncated".to_owned(), is_truncated.into());
        value.insert("timedOut".to_owned(), self.timed_out.into());
        if !self.skipped.is_empty() {
            let skipped = self.skipped.into_iter().map(|(path, reason)| {
                let mut entry = named(&path);
                entry.insert("reason".to_owned(), reason.into());
                Value::Object(entry)
            });
            value.insert("skipped".to_owned(), skipped.collect());
        }
        ToolOutput::value(value).with_text(text)
    }

    /// Lines as `path:12: text`, those around them as `path-11- text`, and a last one that says what there is.
    fn text(&self) -> String {
        let mut text = String::new();
        for (path, found) in &self.found {
            if !text.is_empty() {
                text.push('\n');
            }
            self.file_text(&mut text, path, found);
        }
        if !text.is_empty() {
            text.push('\n');
        }
        let Tally {
            searched,
            files,
            total,
        } = self.tally;
        let shown = self.shown();
        let _ = match (total, shown < total) {
            (0, _) => write!(text, "no matches in {}", counted(searched, "file")),
            (_, false) => write!(
                text,
                "{} in {}",
                counted(total, "match"),
                counted(files, "file")
            ),
            (_, true) => write!(
                text,
                "the first {shown} of {} in {}; narrow the search with `path`, `glob` or `type`, or raise `maxResults`",
                counted(total, "match"),
                counted(files, "file")
            ),
        };
        if self.timed_out {
            text.push_str("; the time was up before everything was searched, so that there may be more: narrow the search");
        }
        if total == 0 && searched == 0 {
            text.push_str(": is `path`, `glob` or `type` too narrow? Hidden and ignored files are searched with `includeHidden` and `includeIgnored`");
        }
        text.push('\n');
        for (path, reason) in &self.skipped {
            let path = String::from_utf8_lossy(path);
            let _ = writeln!(
                text,
                "[not searched: {}: {reason}]",
                text::shorten(&path, 256)
            );
        }
        text
    }

    fn file_text(&self, text: &mut String, path: &[u8], found: &[MatchedLine]) {
        let path = String::from_utf8_lossy(path);
        let path = text::visible_line(&path);
        // A line around one match may be around another, or match itself.
        let mut lines: BTreeMap<u64, (char, &str)> = BTreeMap::new();
        for found in found {
            for (number, line) in
                (found.line.saturating_sub(found.before.len() as u64)..).zip(&found.before)
            {
                lines.entry(number).or_insert(('-', line));
            }
            for (number, line) in (found.last_line + 1..).zip(&found.after) {
                lines.entry(number).or_insert(('-', line));
            }
            for (number, line) in (found.line..).zip(found.text.split('\n')) {
                lines.insert(number, (':', line));
            }
        }
        let mut last = None;
        for (number, (mark, line)) in lines {
            if self.with_context && last.is_some_and(|last| last + 1 < number) {
                text.push_str("--\n");
            }
            let _ = writeln!(text, "{path}{mark}{number}{mark} {line}");
            last = Some(number);
        }
    }
}

fn counted(count: u64, what: &str) -> String {
    let plural = if what == "match" { "matches" } else { "files" };
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {plural}"),
    }
}

fn match_value(mut value: JsonObject, found: MatchedLine, with_context: bool) -> Value {
    value.insert("line".to_owned(), found.line.into());
    if found.last_line > found.line {
        value.insert("lastLine".to_owned(), found.last_line.into());
    }
    value.insert("column".to_owned(), found.column.into());
    value.insert("text".to_owned(), found.text.into());
    if found.is_cut {
        value.insert("cut".to_owned(), true.into());
    }
    let spans = found.spans.into_iter();
    let spans = spans.map(|(start, end)| json!({"start": start, "end": end}));
    value.insert("submatches".to_owned(), spans.collect());
    if with_context {
        value.insert("before".to_owned(), found.before.into());
        value.insert("after".to_owned(), found.after.into());
    }
    Value::Object(value)
}

/// An object with a path, which must be text in JSON, and its exact bytes where they are none.
pub(super) fn named(path: &[u8]) -> JsonObject {
    let mut entry = JsonObject::with_capacity(8);
    let lossy = String::from_utf8_lossy(path);
    let is_text = matches!(lossy, std::borrow::Cow::Borrowed(_));
    entry.insert("path".to_owned(), lossy.into());
    if !is_text {
        entry.insert("pathBase64".to_owned(), BASE64.encode(path).into());
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: u64, text: &str, before: &[&str], after: &[&str]) -> MatchedLine {
        let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        MatchedLine {
            line,
            last_line: line + text.matches('\n').count() as u64,
            column: 1,
            text: text.to_owned(),
            before: owned(before),
            after: owned(after),
            ..MatchedLine::default()
        }
    }

    fn answer(found: Vec<InFile>, total: u64) -> Answer {
        let tally = Tally {
            searched: 9,
            files: found.len() as u64,
            total,
        };
        Answer {
            with_context: found
                .iter()
                .any(|(_, found)| found.iter().any(|found| !found.after.is_empty())),
            found,
            tally,
            skipped: BTreeMap::new(),
            timed_out: false,
        }
    }

    #[test]
    fn lines_are_grouped_by_file_and_say_what_there_is() {
        let files = vec![
            (
                b"a.rs".to_vec(),
                vec![found(3, "fn a()", &[], &[]), found(9, "fn b()", &[], &[])],
            ),
            (b"d/e\n.rs".to_vec(), vec![found(1, "fn c(\n)", &[], &[])]),
        ];
        let expected = "a.rs:3: fn a()\na.rs:9: fn b()\n\nd/e\\n.rs:1: fn c(\nd/e\\n.rs:2: )\n\n3 matches in 2 files\n";
        assert_eq!(
            answer(files.clone(), 3).into_output().text.unwrap(),
            expected
        );
        let more = answer(files, 1000).into_output();
        assert!(
            more.text
                .unwrap()
                .contains("the first 3 of 1000 matches in 2 files; narrow")
        );
        assert_eq!(more.value["truncated"], true);
        assert_eq!(
            answer(vec![], 0).into_output().text.unwrap(),
            "no matches in 9 files\n"
        );
    }

    #[test]
    fn lines_around_matches_come_once_and_gaps_are_marked() {
        let file = vec![
            found(2, "x1", &["a"], &["b"]),
            found(4, "x2", &["b"], &["x3"]),
            found(5, "x3", &["x2"], &["c"]),
            found(9, "x4", &["d"], &[]),
        ];
        let text = answer(vec![(b"f".to_vec(), file)], 4)
            .into_output()
            .text
            .unwrap();
        let expected = "f-1- a\nf:2: x1\nf-3- b\nf:4: x2\nf:5: x3\nf-6- c\n--\nf-8- d\nf:9: x4\n\n4 matches in 1 file\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_path_that_is_not_text_comes_with_its_exact_bytes() {
        let output = answer(
            vec![(b"caf\xe9".to_vec(), vec![found(1, "x", &[], &[])])],
            1,
        )
        .into_output();
        assert_eq!(output.value["matches"][0]["path"], "caf\u{fffd}");
        assert_eq!(output.value["matches"][0]["pathBase64"], "Y2Fm6Q==");
    }
}
