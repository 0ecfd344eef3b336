//! `d=$(mktemp -d)`: a directory that the text itself made, under a name that nobody else has.

use crate::rules::facts::{Facts, ShellText};
use crate::shell::{Part, Word};

/// Whether a word is, or is in, a directory that the same text has made.
pub(super) fn was_made(word: &Word, facts: &Facts<'_>) -> bool {
    let [Part::Dynamic(first), rest @ ..] = word.parts.as_slice() else {
        return false;
    };
    let inside = match rest {
        [] => true,
        [Part::Text(path)] => path.starts_with('/') && !path.split('/').any(|name| name == ".."),
        _ => false,
    };
    let variable = first
        .strip_prefix("${")
        .and_then(|name| name.strip_suffix('}'))
        .or_else(|| first.strip_prefix('$'));
    let Some(variable) = variable.filter(|name| is_name(name)) else {
        return false;
    };
    // Wherever else the variable may get a value, nothing is known of it.
    inside
        && facts
            .shells()
            .all(|shell| only_from_mktemp(variable, shell))
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn only_from_mktemp(variable: &str, shell: &ShellText<'_>) -> bool {
    let commands = &shell.script.commands;
    let mut values = commands
        .iter()
        .flat_map(|command| &command.assignments)
        .filter(|(name, _)| name == variable)
        .map(|(_, value)| value)
        .peekable();
    let made = values.peek().is_some()
        && values.all(
            |value| matches!(value.parts.as_slice(), [Part::Dynamic(text)] if is_mktemp(text)),
        );
    let set_otherwise = commands.iter().any(|command| {
        matches!(
            command.name(),
            None | Some(
                "read"
                    | "mapfile"
                    | "readarray"
                    | "getopts"
                    | "printf"
                    | "eval"
                    | "source"
                    | "."
                    | "declare"
                    | "local"
                    | "typeset"
                    | "export"
                    | "readonly"
                    | "unset"
                    | "let"
            )
        ) && !command.words.is_empty()
    });
    let looped = ["for", "select"]
        .iter()
        .any(|word| shell.text.contains(&format!("{word} {variable}")));
    made && !set_otherwise && !looped && shell.script.doubts.is_empty()
}

fn is_mktemp(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || " -_./".contains(c);
    text.trim_matches('"')
        .strip_prefix("$(mktemp -d")
        .and_then(|rest| rest.strip_suffix(')'))
        .is_some_and(|rest| rest.chars().all(plain))
}
