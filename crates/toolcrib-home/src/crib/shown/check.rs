//! Problems of a definition that a client sends: [`CheckedText`], as `toolcrib check` says it of files.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::crib::Crib;
use crate::definition::{Problem, Severity};
use crate::model::ids::BundleId;
use crate::source::{FileKind, draft, without_computed};
use crate::spec::manifest::ToolManifest;

/// A problem in a row of others, without its fix.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ProblemRow {
    /// A short stable name, for `toolcrib explain`.
    pub code: Cow<'static, str>,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The problem, its place and its reason.
    pub message: String,
    /// What to do about it, in words.
    pub help: Option<String>,
}

impl From<&Problem> for ProblemRow {
    fn from(problem: &Problem) -> Self {
        ProblemRow {
            code: problem.code.into(),
            line: problem.line,
            column: problem.column,
            message: problem.message.clone(),
            help: problem.help.clone(),
        }
    }
}

/// A definition and everything that is wrong or doubtful about it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CheckedText {
    /// What it was called.
    pub file: String,
    /// The name for models, if there is a tool in it.
    pub tool: Option<String>,
    /// Everything that is wrong or doubtful; with an error it cannot be stored or loaded.
    pub problems: Vec<Problem>,
}

impl CheckedText {
    /// How many of its problems are of a severity.
    pub fn count(&self, severity: Severity) -> usize {
        let problems = self.problems.iter();
        problems
            .filter(|problem| problem.severity == severity)
            .count()
    }
}

impl Crib {
    /// Checks a definition as if it were to be put into a bundle, and stores nothing. The end of the name decides between YAML and JSON,
    /// or else the beginning of the text. Places are those of the text; what concerns it as a whole is at its beginning.
    pub fn check_text(&self, file: &str, text: &[u8]) -> CheckedText {
        let named = FileKind::of(file).or_else(|| FileKind::misnamed(file));
        let (kind, stem) = named.unwrap_or((looks_like(text), file));
        let text = without_computed(text).map_or(Cow::Borrowed(text), Into::into);
        let drafted = draft(kind, &text, stem, BundleId::generate());
        let mut problems = drafted.problems;
        let name = drafted.manifest.as_ref().map(|manifest| {
            let name = manifest.name.clone();
            name.unwrap_or_else(|| crate::model::names::WireName::derive(&manifest.slug))
                .to_string()
        });
        if let Some(manifest) = &drafted.manifest {
            let text = String::from_utf8_lossy(&text);
            let more = self.further_problems(manifest, &problems);
            let record = serde_json::to_string_pretty(manifest).unwrap_or_default() + "\n";
            problems.extend(more.into_iter().map(|problem| {
                moved(&problem, &record, &text).unwrap_or(Problem {
                    span: 0..0,
                    line: 1,
                    column: 1,
                    fix: None,
                    ..problem
                })
            }));
        }
        CheckedText {
            file: file.to_owned(),
            tool: name,
            problems,
        }
    }

    /// Problems of a manifest with respect to the tools, secrets and functions that exist, without those that were reported for its file already.
    pub fn further_problems(&self, manifest: &ToolManifest, known: &[Problem]) -> Vec<Problem> {
        let mut problems = self.check_manifest(manifest);
        let is_known = |problem: &Problem| {
            let mut known = known.iter();
            known.any(|one| one.code == problem.code && one.message == problem.message)
        };
        problems.retain(|problem| !is_known(problem));
        problems
    }
}

/// What a text without a name is: JSON begins with a brace or a comment.
fn looks_like(bytes: &[u8]) -> FileKind {
    match bytes.trim_ascii_start().first() {
        Some(b'{' | b'/') => FileKind::Json,
        _ => FileKind::Yaml,
    }
}

/// A problem of one text where its line is in another; none unless it is there once and alike.
pub fn moved(problem: &Problem, from: &str, to: &str) -> Option<Problem> {
    let line = from.lines().nth(problem.line.checked_sub(1)?)?;
    let content = line.trim_start();
    let mut found = None;
    let mut start = 0;
    for (index, candidate) in to.split_inclusive('\n').enumerate() {
        // A comma at the end depends on what follows.
        let bare = |text: &str| text.trim().trim_end_matches(',').to_owned();
        if bare(candidate) == bare(content) {
            if found.is_some() {
                return None;
            }
            found = Some((index, start, candidate.len() - candidate.trim_start().len()));
        }
        start += candidate.len();
    }
    let (index, start, indent) = found?;
    let line_start: usize = from
        .split_inclusive('\n')
        .take(problem.line - 1)
        .map(str::len)
        .sum();
    let old = line_start + (line.len() - content.len());
    let place = |at: usize| Some(start + indent + at.checked_sub(old)?);
    let length = problem.span.end.saturating_sub(problem.span.start);
    let begin = place(problem.span.start)?;
    Some(Problem {
        span: begin..(begin + length).min(to.len()),
        line: index + 1,
        column: (problem.column + indent).checked_sub(line.len() - content.len())?,
        ..problem.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, what: &str) -> Problem {
        let start = text.find(what).unwrap();
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        Problem {
            code: "unknown-key",
            severity: Severity::Error,
            span: start..start + what.len(),
            line: text[..start].matches('\n').count() + 1,
            column: start - line_start + 1,
            message: String::new(),
            help: None,
            fix: None,
        }
    }

    #[test]
    fn a_problem_is_shown_where_its_line_is_in_what_was_written() {
        let record = "{\n  \"id\": 1,\n  \"impl\": {\n    \"bahs\": \"x\"\n  },\n  \"at\": 2\n}\n";
        let written = "{\n\"impl\": {\n   \"bahs\": \"x\",\n   \"é\": 1 } }";
        let problem = at(record, "\"bahs\"");
        let moved = moved(&problem, record, written).unwrap();
        let expected = at(written, "\"bahs\"");
        assert_eq!(
            (moved.span, moved.line, moved.column),
            (expected.span, expected.line, expected.column)
        );
    }

    #[test]
    fn a_line_that_appears_twice_or_nowhere_is_not_guessed() {
        let record = "{\n  \"a\": 1\n}\n";
        let problem = at(record, "\"a\"");
        assert!(moved(&problem, record, "{\n\"a\": 1,\n\"b\": {\n\"a\": 1 }}").is_some());
        assert!(moved(&problem, record, "\"a\": 1\n\"a\": 1\n").is_none());
        assert!(moved(&problem, record, "{\"a\": 1}").is_none());
    }
}
