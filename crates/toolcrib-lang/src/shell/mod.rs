//! Reading bash without running it: which commands a text would run, with which words, and what cannot be determined.
//!
//! [`read`] never fails. What it does not understand becomes a [`Doubt`], and the judge of the text asks a person. It may
//! list a command that would not run; it must never leave one out without a doubt. A program that runs others by its own
//! files (`make`, `npm run x`, `sh ./script.sh`) is one command here: what those do is the sandbox's business.
//!
//! The way of a text: `grammar` (with `compound`, `redirect`, `lex` and `dollar`) turns it into `syntax`; `walk` (with
//! `branches` and `simple`) goes through that in the order of running and keeps track of variables and directories; `expand`
//! makes words; `runners` finds the reader of a program that runs others. Which programs those are, and which of their options and words
//! count, is in the table `programs.toml`.
//!
//! Written by hand, because the input is hostile: depth, size and time must be bounded, and where bash's grammar is murky we want
//! doubt, not a guess. tree-sitter's grammar is C, and brush-parser has no bounds. The test of the invariant lets the real bash
//! run random scripts and compares what it started with what was listed. Rules and grants rest on this reader; the sandbox is the
//! wall.

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
mod files;
mod git;
mod grammar;
mod lex;
mod options;
#[doc(hidden)]
pub mod programs;
mod python;
pub(crate) mod quoting;
mod redirect;
mod runners;
mod running_options;
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
mod wrappers;

pub(crate) use code::LANGUAGES;
pub use variables::is_acted_on;

pub use files::{may_change, read_files};
pub(crate) use lex::Dialect;
pub use script::{
    Code, Directory, Doubt, Part, Redirect, RedirectKind, RunFile, RunFiles, Script, SimpleCommand,
    Word, WordList,
};
pub(crate) use shells::is_shell;

use crate::model::budget::Budget;

/// The longest text that is read. A longer one is a doubt as a whole.
pub const MAX_TEXT: usize = 256 * 1024;

/// The doubt about a text that costs more to read than its [`budget_for`] allows.
pub(crate) const TOO_MUCH: &str = "the text is too much to be read whole";

/// What reading a text of this length may cost, with everything that is read because of it: values of variables, words that braces become,
/// texts for other shells, the list of its commands. Three times the text, and enough for a short one that does much: a text of 64 KB
/// is given up after some 20 ms.
pub(crate) fn budget_for(length: usize) -> Budget {
    budget_after(length, 0)
}

/// The rest of [`budget_for`] after so many steps.
pub(crate) fn budget_after(length: usize, steps: usize) -> Budget {
    const AT_LEAST: u64 = 48 * 1024;
    const MAX_BYTES: u64 = 8 * 1024 * 1024;
    let whole = AT_LEAST + 3 * length.min(MAX_TEXT) as u64;
    Budget::new(whole.saturating_sub(steps as u64), MAX_BYTES)
}

/// How the names of variables begin that hold values of a template (`template`). Such a value never begins with a dash where
/// that would make it an option: the code that sets the variable makes sure of that.
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
    walk::read_given(text, None)
}

/// Reads a text whose commands find this on their standard input, unless it gives them something else. What a shell reads there is
/// read like the text; what another interpreter reads there is a doubt.
#[doc(hidden)]
pub fn read_given(text: &str, input: &str) -> Script {
    walk::read_given(text, Some(input))
}

/// The most doubts that [`read_with`] counts.
pub(crate) const MAX_DOUBTS: usize = 500;

/// Reads a text in which some variables hold texts from outside that no one knows; every doubt is in the second list as often as
/// it came up.
///
/// The budget is the caller's, who may have to read several texts because of one.
pub(crate) fn read_with(
    text: &str,
    dialect: Dialect,
    unknown: &[&str],
    budget: &mut Budget,
) -> (Script, Vec<Doubt>) {
    walk::read_with(text, dialect, unknown, budget)
}

#[cfg(test)]
mod tests {
    use super::{read, read_given};

    #[test]
    fn what_a_shell_is_given_as_its_input_is_read_like_a_text() {
        for text in [
            "bash",
            "sh -s",
            "bash -s -- x",
            "env A=b bash",
            "sh -c 'bash -s'",
            "exec bash",
            "{ bash; }",
            "true && dash",
            "bash /dev/stdin",
            "bash -",
            "timeout 5 sh",
            "busybox sh",
        ] {
            let script = read_given(text, "echo fine; rm -rf /etc");
            let names: Vec<_> = script.commands.iter().filter_map(|c| c.name()).collect();
            assert!(names.contains(&"rm"), "{text}: {script:?}");
        }
    }

    #[test]
    fn what_another_program_makes_of_its_input_is_a_doubt() {
        for text in [
            "python3 -",
            "python3",
            "python3 /dev/stdin",
            "node",
            "node -",
            "perl",
            "ruby -",
            "php",
            "lua -",
            "cat | bash",
            "tee x | sh",
            ". /dev/stdin",
            "source /dev/stdin",
            "eval \"$(cat)\"",
            "while read -r line; do $line; done",
            "f() { bash; }; f",
            "deno run -",
            "bun run -",
            "uv run -",
            "make -f -",
            "tclsh",
            "expect -",
            "awk -f -",
            "awk -f /dev/stdin",
            "sed -f - x",
            "xargs rm -rf",
            "xargs -I{} sh -c {}",
            "parallel",
            "julia",
            "guile",
            "osascript -",
            "pwsh -Command -",
            "Rscript -",
            "Rscript /dev/stdin",
            "crontab -",
            "at now",
            "batch",
            "python3 -i",
            "fish",
            "ssh host",
            "docker run -i x sh",
        ] {
            let doubts = read_given(text, "import os; x = {1: [2]}").doubts;
            assert!(!doubts.is_empty(), "{text}");
        }
    }

    #[test]
    fn a_comment_begins_right_after_a_closed_descriptor() {
        for text in [
            "zap <&-#",
            "zap <&-# '\npow # '",
            "zap 2>&-#\"\npow #\"",
            "zap >&-#$(pow)\npow",
        ] {
            let script = read(text);
            let commands: Vec<_> = script.commands.iter().map(|c| c.argv()).collect();
            let expected = match text.contains('\n') {
                true => vec![Some(vec!["zap"]), Some(vec!["pow"])],
                false => vec![Some(vec!["zap"])],
            };
            assert_eq!(commands, expected, "{text}");
            assert!(script.doubts.is_empty(), "{text}: {:?}", script.doubts);
        }
        assert!(!read("sh -c 'zap <&-#'").doubts.is_empty());
    }

    #[test]
    fn an_input_that_is_only_data_is_not_a_doubt() {
        for text in [
            "cat",
            "jq .x",
            "sort | uniq -c",
            "grep x > found",
            "exec 2> errors; cat",
        ] {
            let script = read_given(text, "rm -rf /etc; $(x)");
            assert_eq!(script, read(text), "{text}");
        }
    }
}
