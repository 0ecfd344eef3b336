//! How a program reads its words: which are text, and which files it writes, by the table of programs.
//!
//! Without this, every word may be a path, and `echo` of a sentence about `/etc/passwd` would look like reading it.

use super::invocation::Invocation;
use crate::shell::programs::{self, Fact};

/// How a program reads its words.
#[derive(Default)]
pub(super) struct Habits {
    /// What its operands are.
    pub(super) operands: Operands,
    /// How many operands at the front are text: a pattern, a script, a mode.
    pub(super) text_first: usize,
    /// Options that take the place of the text at the front.
    pub(super) unless: Vec<&'static str>,
    /// Options whose value is text.
    pub(super) text: Vec<&'static str>,
    /// Options whose value is a file that is written.
    pub(super) writes: Vec<&'static str>,
}

/// What the operands of a program are.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) enum Operands {
    /// Text.
    Text,
    /// Files that are read.
    #[default]
    Read,
    /// Files that are written.
    Write,
    /// The last is written, the others are read.
    LastWritten,
}

/// Options that take text wherever they exist.
pub(super) const TEXT_OPTIONS: &[&str] = &[
    "--message",
    "--title",
    "--body",
    "--comment",
    "--description",
    "--grep",
    "--pattern",
    "--regex",
    "--regexp",
    "--query",
    "--format",
    "--header",
    "--author",
    "--subject",
    "--label",
];

/// How this command's program reads its words.
pub(super) fn habits(command: &Invocation<'_>) -> Habits {
    let Some(program) = programs::find(command.name) else {
        return Habits::default();
    };
    let in_place = program.get(Fact::InPlace).replace(' ', "|");
    let mut habits = Habits {
        operands: match program.get(Fact::Operands) {
            "text" => Operands::Text,
            "write" => Operands::Write,
            "last" => Operands::LastWritten,
            _ if !in_place.is_empty() && command.has(&in_place) => Operands::Write,
            _ => Operands::Read,
        },
        text_first: program.get(Fact::First).parse().unwrap_or(0),
        unless: program.words(Fact::Unless).collect(),
        text: program.words(Fact::Text).collect(),
        writes: program.words(Fact::Writes).collect(),
    };
    let first = || command.operands().next().map(|operand| &operand.text);
    if command.name == "git" && first().is_some_and(|verb| verb == "grep") {
        habits.text_first += 1;
    }
    if program.name() == "tar" && makes_an_archive(command) {
        habits.writes = vec!["-f", "--file"];
    }
    habits
}

fn makes_an_archive(command: &Invocation<'_>) -> bool {
    let first = command
        .args
        .first()
        .map(|arg| arg.text.as_ref())
        .unwrap_or_default();
    command.has("--create|--append|--update")
        || (!first.starts_with("--") && first.trim_start_matches('-').contains(['c', 'r', 'u']))
}
