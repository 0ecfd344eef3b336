//! Conditions on commands: `command = "git push --force"`, or a table of name, arguments, options, words and variables.

use super::invocation::{Flag, Invocation, Words};
use super::name_glob::NameGlob;
use crate::shell::{Part, Word};

/// A condition on one command of a shell text; all parts that are given must hold.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct CommandCondition {
    /// One of these is the program's name; empty means any.
    pub(super) names: Vec<Words>,
    /// The operands, from the first on.
    pub(super) args: Option<Vec<Operand>>,
    /// Options that are all given.
    pub(super) flags: Vec<Flag>,
    /// Options of which none is given.
    pub(super) without: Vec<Flag>,
    /// One of these fits one of the arguments, options included.
    pub(super) words: Vec<NameGlob>,
    /// One of these is a variable that is set for the command.
    pub(super) sets: Vec<Words>,
    /// One of these runs it.
    pub(super) via: Vec<Words>,
    /// It is given code in one of these languages.
    pub(super) languages: Vec<String>,
    /// One of these fits the code that it is given. Code that cannot be read fits.
    pub(super) code: Vec<NameGlob>,
    /// Whether one of its operands must mean all there is where it works.
    pub(super) everything: bool,
}

/// A pattern for operands.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Operand {
    /// One operand.
    One(Words),
    /// `**`: any number of them.
    Any,
}

impl Operand {
    pub(super) fn parse(text: &str) -> Self {
        match text {
            "**" => Operand::Any,
            text => Operand::One(Words::parse(text)),
        }
    }
}

impl CommandCondition {
    /// Reads the short form: a name, then operands from the first on and options in any place; more may follow.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let Some(name) = words.next() else {
            return Err("it is empty; write a program's name".to_owned());
        };
        // Such a condition would never hold, and its author would believe it does.
        let operator = |word: &&str| {
            matches!(
                *word,
                "|" | "|&" | "||" | "&&" | "&" | ";" | ">" | ">>" | "<"
            ) || word.ends_with(';')
        };
        if let Some(operator) = text.split_whitespace().find(operator) {
            return Err(format!(
                "`{operator}` is no word of a command: a condition is about one program and its arguments, each command of a text is judged by itself"
            ));
        }
        let mut condition = CommandCondition {
            names: vec![Words::parse(name)],
            ..CommandCondition::default()
        };
        let mut args = Vec::new();
        for word in words {
            if word.starts_with('-') && word.len() > 1 {
                condition.flags.push(Flag::parse(word));
            } else {
                args.push(Operand::parse(word));
            }
        }
        if !args.is_empty() {
            args.push(Operand::Any);
            condition.args = Some(args);
        }
        Ok(condition)
    }

    pub(super) fn matches(&self, command: &Invocation<'_>) -> bool {
        (self.names.is_empty()
            || (!command.name.is_empty()
                && self.names.iter().any(|name| name.matches(command.name))))
            && self.flags.iter().all(|flag| command.has_flag(flag))
            && !self.without.iter().any(|flag| command.has_certainly(flag))
            && self.args.as_ref().is_none_or(|args| {
                let operands: Vec<&str> = command
                    .operands()
                    .map(|operand| operand.text.as_ref())
                    .collect();
                operands_match(args, &operands)
            })
            && (self.words.is_empty()
                || command
                    .args
                    .iter()
                    .any(|arg| self.words.iter().any(|word| word.matches(&arg.text))))
            && (self.sets.is_empty()
                || variables(command).any(|name| self.sets.iter().any(|set| set.matches(name))))
            && (self.via.is_empty()
                || command
                    .command
                    .via
                    .iter()
                    .any(|wrapper| self.via.iter().any(|via| via.matches(wrapper))))
            && (self.languages.is_empty() && self.code.is_empty() || self.fits_code(command))
            && (!self.everything
                || command
                    .operands()
                    .any(|operand| command.is_everything(operand)))
    }

    fn fits_code(&self, command: &Invocation<'_>) -> bool {
        let Some(code) = &command.command.code else {
            return false;
        };
        let fits = |word: &Word| match word.as_static() {
            Some(text) => self.code.iter().any(|pattern| pattern.matches(text)),
            None => true,
        };
        (self.languages.is_empty()
            || self
                .languages
                .iter()
                .any(|language| language == code.language))
            && (self.code.is_empty() || code.texts.iter().any(fits))
    }
}

fn operands_match(patterns: &[Operand], operands: &[&str]) -> bool {
    match (patterns, operands) {
        ([], []) => true,
        ([Operand::Any], _) => true,
        ([Operand::Any, rest @ ..], _) => {
            (0..=operands.len()).any(|skipped| operands_match(rest, &operands[skipped..]))
        }
        ([Operand::One(word), rest @ ..], [operand, others @ ..]) => {
            word.matches(operand) && operands_match(rest, others)
        }
        ([], _) | (_, []) => false,
    }
}

/// The variables that a command sets, for itself or for what comes after.
fn variables<'i>(command: &'i Invocation<'_>) -> impl Iterator<Item = &'i str> {
    let before = command
        .command
        .assignments
        .iter()
        .map(|(name, _)| name.as_str());
    let declares = matches!(
        command.name,
        "export" | "declare" | "typeset" | "readonly" | "local" | "env"
    );
    let declared = command
        .args
        .iter()
        .filter(move |_| declares)
        .filter_map(|arg| match arg.word.parts.first() {
            Some(Part::Text(text)) => text.split_once('=').map(|(name, _)| name),
            _ => None,
        });
    before.chain(declared)
}
