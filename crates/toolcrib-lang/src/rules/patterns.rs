//! `forbidden_patterns`: S1's rule. In shell text a pattern is a command or a path, elsewhere it is a piece of text.

use serde_json::Value;

use super::facts::Facts;
use super::invocation::{Flag, Invocation};
use crate::model::JsonObject;
use crate::spec::ToolSpec;

/// A pattern that must not occur.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pattern {
    text: String,
    in_shell: InShell,
}

/// What a pattern means in shell text.
#[derive(Debug, Clone, PartialEq)]
enum InShell {
    /// A program's name, with words that follow in this order and options in any place.
    Command {
        name: String,
        flags: Vec<Flag>,
        words: Vec<String>,
    },
    /// A piece of a path.
    Path,
    /// A piece of the text: it looks like neither.
    Text,
}

impl Pattern {
    /// Reads a pattern; an empty one is in every text, which no one means.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text.trim().is_empty() {
            return None;
        }
        let mut words = text.split_whitespace();
        let name = words.next().unwrap_or_default();
        let plain = |c: char| c.is_alphanumeric() || "._+-/~".contains(c);
        let lone = words.clone().next().is_none();
        let in_shell = if !name.chars().all(plain) {
            InShell::Text
        } else if lone && (name.starts_with('.') || name.contains('/') || name.starts_with('~')) {
            InShell::Path
        } else {
            let (flags, words): (Vec<&str>, Vec<&str>) =
                words.partition(|word| word.len() > 1 && word.starts_with('-'));
            InShell::Command {
                name: name.rsplit('/').next().unwrap_or_default().to_owned(),
                flags: flags.into_iter().map(Flag::parse).collect(),
                words: words.into_iter().map(str::to_owned).collect(),
            }
        };
        Some(Pattern {
            text: text.to_owned(),
            in_shell,
        })
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// What of the call the pattern occurs in.
    pub(super) fn find(&self, facts: &Facts<'_>) -> Option<String> {
        self.in_shell(facts)
            .or_else(|| self.in_text(facts.tool, facts.args, facts))
    }

    fn in_shell(&self, facts: &Facts<'_>) -> Option<String> {
        match &self.in_shell {
            InShell::Command { name, flags, words } => facts
                .commands()
                .find(|command| {
                    command.name == name
                        && flags.iter().all(|flag| command.has_flag(flag))
                        && in_order(words, command)
                })
                .map(Invocation::text),
            InShell::Path => facts
                .commands()
                .flat_map(Invocation::paths)
                .find(|path| contains_path(&path.text, &self.text))
                .map(|path| path.text.clone()),
            InShell::Text => facts
                .shells()
                .find(|shell| shell.text.contains(&self.text))
                .map(|_| self.text.clone()),
        }
    }

    /// Looks into everything that is not shell text. Names of parameters are the tool's own words; other keys are the caller's.
    fn in_text(&self, tool: &ToolSpec, args: &JsonObject, facts: &Facts<'_>) -> Option<String> {
        let pattern = self.text.as_str();
        let own = |key: &str| tool.input_schema.properties().any(|(name, _)| name == key);
        args.iter()
            .filter(|(key, _)| !facts.is_shell(key))
            .find(|(key, value)| contains(value, pattern) || (key.contains(pattern) && !own(key)))
            .map(|(key, _)| key.clone())
    }
}

fn in_order(words: &[String], command: &Invocation<'_>) -> bool {
    let mut operands = command.args.iter().filter(|arg| !arg.is_option());
    words
        .iter()
        .all(|word| operands.any(|operand| operand.text == word.as_str()))
}

/// Whether a piece of a path is in a path, from the start of a name on.
fn contains_path(path: &str, piece: &str) -> bool {
    path.match_indices(piece)
        .any(|(at, _)| at == 0 || piece.starts_with('/') || path[..at].ends_with('/'))
}

fn contains(value: &Value, pattern: &str) -> bool {
    match value {
        Value::String(text) => text.contains(pattern),
        Value::Array(items) => items.iter().any(|item| contains(item, pattern)),
        Value::Object(fields) => fields
            .iter()
            .any(|(key, field)| key.contains(pattern) || contains(field, pattern)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
