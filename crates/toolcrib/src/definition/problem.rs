//! What is wrong with a file: [`Problem`].

use std::ops::Range;

/// Something wrong or doubtful in a tool's file.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// What is wrong, where (the field's path) and why.
    pub message: String,
    /// What to do about it, in words.
    pub help: Option<String>,
    /// What `check --fix` would do.
    pub fix: Option<Fix>,
}

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The tool loads; `check --strict` fails.
    Warning,
    /// The tool cannot be loaded.
    Error,
}

/// A change of a file's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// What is replaced, in bytes of the file.
    pub span: Range<usize>,
    /// By what.
    pub text: String,
}
