//! The text of a record and where things stand in it: [`RecordText`].
//!
//! Places are those of the record as the store writes it: pretty-printed, one field of the manifest to a line that starts with two
//! spaces. The reader of commands gets `impl` line by line as it is there, with one line before it for what the manifest says
//! (name, description, …), so that every place of its is a place of the record a fixed number of lines and bytes further down.

use std::ops::Range;

use serde_json::Value;

use crate::definition::problem::{self, SpannedProblem};
use crate::definition::{Places, Problem, UseAt};
use crate::spec::manifest::ToolManifest;

/// A record as the store writes it, without what this version does not know.
pub(super) struct RecordText(pub(super) String);

/// The text that the reader of commands gets, and how its places are those of the record.
pub(super) struct CommandText {
    /// The text: JSON, which is YAML.
    pub(super) text: String,
    /// How long the line before `impl` is, with its end.
    head: usize,
    /// The fields in that line: which of the manifest's, and where.
    head_fields: Vec<(&'static str, Range<usize>)>,
    /// Where the lines of `impl` begin in the record, and end.
    body: Range<usize>,
}

impl RecordText {
    /// The text of a manifest. Fields that `is_known` does not know are left out; they stand at the end of a record, so that nothing moves.
    pub(super) fn of(manifest: &ToolManifest, is_known: impl Fn(&str) -> bool) -> Self {
        let is_all_known = manifest.extra.keys().all(|field| is_known(field));
        let text = match is_all_known {
            true => serde_json::to_string_pretty(manifest),
            false => {
                let mut known = manifest.clone();
                known.extra.retain(|field, _| is_known(field));
                serde_json::to_string_pretty(&known)
            }
        };
        let text = text.unwrap_or_default();
        RecordText(escaped(text) + "\n")
    }

    /// Where a field of the manifest is, by its key; the start of the record if it does not.
    pub(super) fn field(&self, key: &str) -> Range<usize> {
        // No value has a line end in it, so that a line with this indentation is the manifest's own.
        let line = format!("\n  \"{key}\":");
        match self.0.find(&line) {
            Some(at) => at + 3..at + line.len() - 1,
            None => 0..0,
        }
    }

    /// Problems with their lines and columns.
    pub(super) fn placed(&self, found: Vec<SpannedProblem>) -> Vec<Problem> {
        problem::placed(found, &self.0, 0)
    }

    /// `impl` as the reader of commands takes it, after a line with these fields.
    pub(super) fn command(&self, head: &[(&'static str, &'static str, Value)]) -> CommandText {
        let mut text = "{".to_owned();
        let mut head_fields = Vec::new();
        for (key, field, value) in head {
            let start = text.len();
            text.push_str(&escaped(format!("\"{key}\": {value}, ")));
            head_fields.push((*field, start..text.len()));
        }
        text.push('\n');
        let head = text.len();
        let body = self.implementation();
        text.push_str(&self.0[body.clone()]);
        text.push_str("\n}\n");
        CommandText {
            text,
            head,
            head_fields,
            body,
        }
    }

    /// The lines between the braces of `impl`; nothing where it is empty.
    fn implementation(&self) -> Range<usize> {
        let start = match self.0.find("\n  \"impl\": {\n") {
            Some(at) => at + "\n  \"impl\": {\n".len(),
            None => return 0..0,
        };
        // Nested lines have more indentation.
        let length = self.0[start..].find("\n  }").unwrap_or(0);
        start..start + length
    }
}

/// The text with escapes for what is plain in JSON and ends a line, or is refused, in YAML.
fn escaped(text: String) -> String {
    let is_odd = |c: char| {
        matches!(
            c,
            '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}'
        )
    };
    if !text.contains(is_odd) {
        return text;
    }
    let mut whole = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_odd(c) {
            true => whole.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => whole.push(c),
        }
    }
    whole
}

impl CommandText {
    /// Problems of the text as problems of the record.
    pub(super) fn problems(&self, problems: Vec<Problem>, record: &RecordText) -> Vec<Problem> {
        let found = problems.into_iter().map(|problem| SpannedProblem {
            code: problem.code,
            severity: problem.severity,
            span: self.span(&problem.span, record),
            message: problem.message,
            help: problem.help,
            // It would be a change of another text.
            fix: None,
        });
        record.placed(found.collect())
    }

    /// Where other tools are named, in the record.
    pub(super) fn uses(&self, uses: &mut [UseAt], record: &RecordText) {
        for at in uses {
            at.tool = self.span(&at.tool, record);
            at.arguments = self.span(&at.arguments, record);
        }
    }

    /// Where the machine matters, in the record.
    pub(super) fn places(&self, places: &mut Places, record: &RecordText) {
        places.map(|span| self.span(span, record));
    }

    fn span(&self, span: &Range<usize>, record: &RecordText) -> Range<usize> {
        if span.start < self.head {
            let mut fields = self.head_fields.iter();
            let field = fields.find(|(_, place)| place.contains(&span.start));
            return record.field(field.map_or("impl", |(field, _)| field));
        }
        let place = |at: usize| (at - self.head + self.body.start).min(self.body.end);
        let start = place(span.start);
        match start == self.body.end {
            // Behind all that `impl` says.
            true => record.field("impl"),
            false => start..place(span.end),
        }
    }
}
