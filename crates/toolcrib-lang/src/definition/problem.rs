//! Problems of a file: [`Problem`].

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::fields::{Dialect, YAML};

/// Something wrong or doubtful in a tool's file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Problem {
    /// A short stable name for `toolcrib explain`, as `unknown-key`.
    pub code: &'static str,
    /// Whether the tool cannot be loaded.
    pub severity: Severity,
    /// Where, in bytes of the file.
    pub span: Range<usize>,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The problem, where it is (the field's path) and why.
    pub message: String,
    /// What to do about it, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// What `check --fix` would do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<Fix>,
}

/// How bad a problem is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The tool loads; `check --strict` fails.
    Warning,
    /// The tool cannot be loaded.
    Error,
}

impl Severity {
    /// `warning` or `error`.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// A change of a file's text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Fix {
    /// The replaced range, in bytes of the file.
    pub span: Range<usize>,
    /// By what.
    pub text: String,
}

/// A problem whose line and column no one has counted yet.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(hidden)]
pub struct SpannedProblem {
    #[doc(hidden)]
    pub code: &'static str,
    #[doc(hidden)]
    pub severity: Severity,
    #[doc(hidden)]
    pub span: Range<usize>,
    #[doc(hidden)]
    pub message: String,
    #[doc(hidden)]
    pub help: Option<String>,
    #[doc(hidden)]
    pub fix: Option<Fix>,
}

impl SpannedProblem {
    #[doc(hidden)]
    pub fn error(code: &'static str, span: Range<usize>, message: impl Into<String>) -> Self {
        SpannedProblem {
            code,
            severity: Severity::Error,
            span,
            message: message.into(),
            help: None,
            fix: None,
        }
    }

    #[doc(hidden)]
    pub fn warning(code: &'static str, span: Range<usize>, message: impl Into<String>) -> Self {
        SpannedProblem {
            severity: Severity::Warning,
            ..SpannedProblem::error(code, span, message)
        }
    }

    #[must_use]
    #[doc(hidden)]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    #[must_use]
    pub(crate) fn fix(mut self, span: Range<usize>, text: impl Into<String>) -> Self {
        self.fix = Some(Fix {
            span,
            text: text.into(),
        });
        self
    }
}

impl Fix {
    /// A text with this change.
    pub(crate) fn applied(&self, text: &str) -> String {
        let (before, after) = (&text[..self.span.start], &text[self.span.end..]);
        format!("{before}{}{after}", self.text)
    }
}

impl SpannedProblem {
    /// The same problem in the text that a fix was applied to, in places of the text before. A problem in the same bytes has no separate
    /// fix.
    pub(crate) fn before(mut self, fix: &Fix) -> Self {
        let new_end = fix.span.start + fix.text.len();
        let place = |at: usize| match at {
            at if at <= fix.span.start => at,
            at if at >= new_end => at - new_end + fix.span.end,
            // One quote is before what it was.
            at => (at - 1).clamp(fix.span.start, fix.span.end),
        };
        self.fix = self
            .fix
            .filter(|own| own.span.end <= fix.span.start || own.span.start >= new_end)
            .map(|own| Fix {
                span: place(own.span.start)..place(own.span.end),
                text: own.text,
            });
        self.span = place(self.span.start)..place(self.span.end);
        self
    }
}

/// The most errors that are kept of a file, and the most warnings: no one reads more, and a hostile file must not cost more. They are
/// counted apart, so that warnings take the place of no error.
const MAX_PROBLEMS: usize = 200;

/// What has been found in a file so far.
#[derive(Debug)]
pub(crate) struct Findings<'a> {
    /// The file's text.
    pub(crate) text: &'a str,
    /// What kind of file it is.
    pub(crate) dialect: &'static Dialect,
    /// Whether it is a record of the store, not a file that its author has at hand.
    pub(crate) is_record: bool,
    list: Vec<SpannedProblem>,
    errors: usize,
}

impl<'a> Findings<'a> {
    /// For a YAML tool.
    pub(crate) fn new(text: &'a str) -> Self {
        Findings::of(text, &YAML)
    }

    pub(crate) fn of(text: &'a str, dialect: &'static Dialect) -> Self {
        Findings {
            text,
            dialect,
            is_record: false,
            list: Vec::new(),
            errors: 0,
        }
    }

    /// Whether no more problems of this severity are kept, so that there is no use in looking for more.
    pub(crate) fn is_full(&self, severity: Severity) -> bool {
        let errors = self.errors.min(MAX_PROBLEMS);
        let kept = match severity {
            Severity::Error => errors,
            Severity::Warning => self.list.len() - errors,
        };
        kept >= MAX_PROBLEMS
    }

    pub(crate) fn push(&mut self, found: SpannedProblem) {
        let severity = found.severity;
        if !self.is_full(severity) {
            self.list.push(found);
        }
        self.errors += usize::from(severity == Severity::Error);
    }

    /// Takes warnings back that something else was said about.
    pub(crate) fn forget(&mut self, code: &str, span: &Range<usize>) {
        self.list
            .retain(|one| one.code != code || !span.contains(&one.span.start));
    }

    /// Whether a misspelt field was found that probably means this one.
    pub(crate) fn suggests(&self, field: &str) -> bool {
        self.list.iter().any(|found| {
            found.code == "unknown-key" && found.fix.as_ref().is_some_and(|fix| fix.text == field)
        })
    }

    /// What would make the file readable: quotes around the value that the parser stumbled over.
    pub(crate) fn repair(&self) -> Option<Fix> {
        let last = self.list.last()?;
        let fix = last.fix.as_ref().filter(|_| last.code == "needs-quotes")?;
        Some(fix.clone())
    }

    /// How many of them are errors.
    pub(crate) fn errors(&self) -> usize {
        self.errors
    }

    /// How many of them are errors of another code.
    pub(crate) fn errors_but(&self, code: &str) -> usize {
        let of_code = self
            .list
            .iter()
            .filter(|found| found.code == code && found.severity == Severity::Error);
        self.errors.saturating_sub(of_code.count())
    }

    pub(crate) fn into_list(self) -> Vec<SpannedProblem> {
        self.list
    }
}

/// The problems in the order of the file, with lines and columns, each said once.
#[doc(hidden)]
pub fn placed(mut found: Vec<SpannedProblem>, text: &str, skipped: usize) -> Vec<Problem> {
    // Of what is at one place, the errors first.
    found.sort_by_key(|one| (one.span.start, std::cmp::Reverse(one.severity)));
    found.dedup();
    let mut problems = Vec::with_capacity(found.len());
    let (mut line, mut line_start) = (1, 0);
    let mut at = 0;
    for one in found {
        let start = text.floor_char_boundary(one.span.start.min(text.len()));
        while let Some(newline) = text[at..start].find('\n') {
            at += newline + 1;
            line += 1;
            line_start = at;
        }
        let shift = |span: Range<usize>| span.start + skipped..span.end + skipped;
        problems.push(Problem {
            code: one.code,
            severity: one.severity,
            line,
            column: text[line_start..start].chars().count() + 1,
            span: shift(one.span),
            message: one.message,
            help: one.help,
            fix: one.fix.map(|fix| Fix {
                span: shift(fix.span),
                text: fix.text,
            }),
        });
    }
    problems
}
