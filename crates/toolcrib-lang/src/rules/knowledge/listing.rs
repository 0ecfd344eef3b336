//! Commands that print the names of every file of the workspace, and what counts as the whole of it.

use super::selection::{FindRemoval, Selection};
use crate::rules::destination::{Name, Root};
use crate::rules::invocation::{Arg, Invocation};
use crate::shell::Word;

/// Whether a command prints the names of all changed files: `git diff --name-only`, `git status -s`.
pub(super) fn lists_changes(command: &Invocation<'_>) -> bool {
    let mut operands = command.operands().map(|operand| operand.text.as_ref());
    let has_paths = || {
        let mut words = command.command.words.iter();
        words.any(|word| word.as_static() == Some("--"))
    };
    command.name == "git"
        && match operands.next() {
            Some("diff" | "diff-files" | "diff-index") => {
                command.has("--name-only|--name-status") && !has_paths()
            }
            Some("status") => operands.next().is_none(),
            _ => false,
        }
}

/// Whether a command prints the names of all files beneath the root of the workspace, or of a `.git`.
pub(super) fn lists_everything(command: &Invocation<'_>) -> bool {
    let operands = || command.operands();
    match command.name {
        "find" | "gfind" => {
            let removal = FindRemoval::of(command, |_| true);
            removal.listed != Selection::Names && starts_at_root(command, removal.starts)
        }
        "fd" | "fdfind" => {
            let narrowing =
                "-e|--extension|-g|--glob|--search-path|--base-directory|-p|--full-path";
            let before_command = command.args.iter().take_while(|arg| {
                !matches!(arg.text.as_ref(), "-x" | "-X" | "--exec" | "--exec-batch")
            });
            let mut words = before_command.filter(|arg| !arg.is_option() && !is_a_type(&arg.text));
            let pattern = words.next();
            let path = words.next();
            !command.has(narrowing)
                && pattern.is_none_or(|pattern| command.is_everything(pattern))
                && path.is_none_or(|path| is_root(command, path.word))
        }
        "ls" | "dir" => {
            operands().next().is_none() && is_root(command, &Word::text("."))
                || operands().any(|operand| is_root(command, operand.word))
        }
        "git" => {
            let mut operands = operands().map(|operand| operand.text.as_ref());
            let most = match operands.next() {
                // Files that are gone already.
                Some("ls-files") if command.has("-d|--deleted") && !command.has("-c|-m|-o") => {
                    return false;
                }
                Some("ls-files") => 0,
                Some("ls-tree") => 1,
                // `git grep -l .`
                Some("grep") if command.has("-l|--files-with-matches|--name-only") => {
                    let pattern = command.operands().nth(1);
                    if !pattern.is_some_and(|pattern| fits_every_line(&pattern.text)) {
                        return false;
                    }
                    1
                }
                _ => return false,
            };
            is_root(command, &Word::text("."))
                && (operands.count() <= most
                    || command
                        .operands()
                        .skip(1 + most)
                        .any(|operand| command.is_everything(operand)))
        }
        "rg" if command.has("--files") => {
            operands().next().is_none() && !command.has("-g|--glob|-t|--type")
        }
        "grep" | "egrep" | "rg" => {
            // `grep -rl ''`
            let mut operands = operands();
            command.has("-l|--files-with-matches")
                && (command.name == "rg" || command.has("-r|-R|--recursive"))
                && !command.has("-g|--glob|-t|--type|--include")
                && operands
                    .next()
                    .is_some_and(|pattern| fits_every_line(&pattern.text))
                && match operands.next() {
                    None => is_root(command, &Word::text(".")),
                    Some(first) => {
                        let mut all = std::iter::once(first).chain(operands);
                        all.any(|operand| is_root(command, operand.word))
                    }
                }
        }
        "echo" | "printf" => {
            operands().any(|operand| !operand.word.is_static() && is_root(command, operand.word))
        }
        _ => false,
    }
}

/// Whether a pattern of `grep` fits every line, or every one that has something in it: nothing in it is a letter of a name.
pub(super) fn fits_every_line(pattern: &str) -> bool {
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '.' | '*' | '^' | '$' | '+' | '?' | '/' => {}
            // `[a-z]`, but not `[x]`.
            '[' => match rest.split_once(']') {
                Some((class, after)) if class.len() > 2 => rest = after,
                _ => return false,
            },
            '\\' => match rest.chars().next() {
                Some('w' | 'S' | 's' | 'b' | '+' | '?') => rest = &rest[1..],
                _ => return false,
            },
            _ => return false,
        }
    }
    true
}

/// The value of `fd -t`.
fn is_a_type(text: &str) -> bool {
    matches!(
        text,
        "f" | "d" | "l" | "x" | "e" | "file" | "directory" | "symlink" | "executable" | "empty"
    )
}

pub(super) fn starts_at_root(command: &Invocation<'_>, starts: &[Arg<'_>]) -> bool {
    starts.is_empty() && is_root(command, &Word::text("."))
        || starts
            .iter()
            .any(|start| is_root(command, start.word) || is_in_history(command, start.word))
}

/// Whether a path is a `.git`, or lies in one.
fn is_in_history(command: &Invocation<'_>, word: &Word) -> bool {
    let names = command.locate(word).names;
    names
        .iter()
        .any(|name| name.glob.is_none() && name.text == ".git")
}

/// Whether a word is a pattern for all that is in the root of the workspace: `*`, `./*`.
pub(super) fn names_whole_root(command: &Invocation<'_>, word: &Word) -> bool {
    let located = command.guess(word);
    located.root == Root::Workspace && !located.names.is_empty() && located.names.iter().all(is_any)
}

fn is_any(name: &Name) -> bool {
    name.glob.as_ref().is_some_and(|glob| glob.fixed() == 0)
}

/// Whether a path is the workspace, all that is in it, something around it, or unknown.
fn is_root(command: &Invocation<'_>, word: &Word) -> bool {
    let located = command.locate(word);
    match located.root {
        Root::Workspace => located.names.iter().all(is_any),
        Root::FileSystem | Root::Home | Root::Unknown => true,
        Root::Temporary => false,
    }
}
