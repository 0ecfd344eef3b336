//! Reading bash without running it: which commands a text would run, with which words, and what cannot be told.
//!
//! [`read`] never fails. What it does not understand becomes a [`Doubt`], and whoever judges the text asks a person. It may
//! list a command that would not run; it must never leave one out without a doubt.

/// What a text would do, as far as reading it can tell.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Script {
    /// Every simple command that may run, in the order of the text: in lists, pipelines, loops, functions, substitutions, and
    /// inside wrappers (`env`, `sudo`, `sh -c`, `find -exec` …), which are listed themselves, too.
    pub commands: Vec<SimpleCommand>,
    /// What cannot be told.
    pub doubts: Vec<Doubt>,
}

/// A command with its words.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SimpleCommand {
    /// The words after expansion of quotes; the first is the command's name. Empty for a lone assignment or redirect.
    pub words: Vec<Word>,
    /// Assignments before the name.
    pub assignments: Vec<(String, Word)>,
    /// Its redirections, those of the groups around it included.
    pub redirects: Vec<Redirect>,
    /// The names of the wrappers that run it, outermost first.
    pub via: Vec<String>,
    /// Where it runs, as far as `cd` before it tells.
    pub directory: Directory,
    /// Whether its input comes from another command.
    pub piped: bool,
}

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Word {
    /// What it is made of, in order.
    pub parts: Vec<Part>,
}

/// A part of a word.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// Fixed text, quotes taken off.
    Text(String),
    /// The value of a variable that the text itself does not set, as `$HOME`.
    Variable(String),
    /// A pattern that file names take the place of: `*`, `?`, `[…]`.
    Glob(String),
    /// Something known only when it runs, as written.
    Dynamic(String),
}

/// Where input comes from or output goes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Redirect {
    /// What happens to the target.
    pub kind: RedirectKind,
    /// The file.
    pub target: Word,
}

/// What a redirection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectKind {
    /// Reads the target.
    Read,
    /// Writes the target, in whichever way.
    Write,
}

/// Where a command runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Directory {
    /// Where the text started.
    #[default]
    Start,
    /// Here: absolute, or relative to where the text started.
    Known(String),
    /// Somewhere.
    Unknown,
}

/// Something that cannot be told from the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    /// In words: what cannot be told and why that matters.
    pub reason: String,
    /// The part of the text, shortened.
    pub text: String,
}

/// Reads a text.
pub fn read(text: &str) -> Script {
    let _ = text;
    Script::default()
}
