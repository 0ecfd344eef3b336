//! Reading bash without running it: which commands a text would run, with which words, and what cannot be told.
//!
//! [`read`] never fails. What it does not understand becomes a [`Doubt`], and whoever judges the text asks a person. It may
//! list a command that would not run; it must never leave one out without a doubt. A program that runs others by its own
//! files (`make`, `npm run x`, `sh ./script.sh`) is one command here: what those do is the sandbox's business.
//!
//! The way of a text: `grammar` (with `compound`, `redirect`, `lex` and `dollar`) turns it into `syntax`; `walk` (with
//! `branches` and `simple`) goes through that in the order of running and keeps track of variables and directories; `expand`
//! makes words; `runners` finds who knows a program that runs others: `builtins`, `wrappers`, `shells`, `code`, `tools`, `build_tools`, `git`.
//!
//! Written by hand rather than on a C grammar: the input is hostile, and where bash's grammar is murky we want doubt, not a guess.

mod arithmetic;
mod awk;
mod braces;
mod branches;
mod build_tools;
mod builtins;
mod calls;
mod code;
mod compound;
mod conditions;
pub(crate) mod cuts;
mod declarations;
mod dollar;
mod escapes;
mod expand;
mod facts;
mod git;
mod grammar;
mod lex;
mod options;
pub(crate) mod places;
mod python;
mod rare_tools;
mod redirect;
mod runners;
mod script;
mod sed;
pub(crate) mod shape;
mod shells;
mod simple;
mod syntax;
mod text_wrappers;
mod tools;
mod variables;
mod walk;
mod wrapper_table;
mod wrappers;

pub(crate) use variables::is_acted_on;

pub(crate) use lex::Dialect;
pub use script::{Directory, Doubt, Part, Redirect, RedirectKind, Script, SimpleCommand, Word};
pub(crate) use shells::is_shell;

/// The longest text that is read. A longer one is a doubt as a whole.
pub const MAX_TEXT: usize = 256 * 1024;

/// How the names of variables begin that hold values of a template (`template`). Such a value never begins with a dash where
/// that would make it an option: whoever sets the variable sees to that.
pub(crate) const VALUE_PREFIX: &str = "__toolcrib_";

/// Reads a text.
///
/// ```
/// let script = toolcrib::shell::read("cd build && sudo rm -rf \"$TMPDIR/x\"");
/// assert!(script.doubts.is_empty());
/// let names: Vec<_> = script.commands.iter().filter_map(|command| command.name()).collect();
/// assert_eq!(names, ["cd", "sudo", "rm"]);
/// ```
pub fn read(text: &str) -> Script {
    walk::read(text)
}

/// The most doubts that [`read_with`] counts.
pub(crate) const MAX_DOUBTS: usize = 500;

/// Reads a text in which some variables hold texts from outside that nobody knows; every doubt is in the second list as often as
/// it came up.
pub(crate) fn read_with(text: &str, dialect: Dialect, unknown: &[&str]) -> (Script, Vec<Doubt>) {
    walk::read_with(text, dialect, unknown)
}
