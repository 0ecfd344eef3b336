//! Conditions on commands: `command = "git push --force"`, or a table of name, arguments, options, words and variables.

use super::invocation::{Arg, Flag, Invocation, Words};
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
    /// Whether one of its words must be one that may be any option.
    pub(super) unclear: bool,
    /// Whether one of its words must be a variable that nothing in the text sets.
    pub(super) unset: bool,
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
                "`{operator}` is not a word of a command: a condition describes one program and its arguments; each command in a text is judged separately"
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
            && (!self.unclear || command.args.iter().any(Arg::may_be_any_option))
            && (!self.unset || !command.is_authored && command.args.iter().any(Arg::is_set_outside))
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

/// Whether operands fit: a walk along both that goes back to the last `**` when it is stuck, and never to an earlier one, since
/// what came before the last one has found its place already. So a project's pattern costs at most words times operands.
fn operands_match(patterns: &[Operand], operands: &[&str]) -> bool {
    let (mut pattern, mut at) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        match (patterns.get(pattern), operands.get(at)) {
            (Some(Operand::Any), _) => {
                if pattern + 1 == patterns.len() {
                    return true;
                }
                retry = Some((pattern, at));
                pattern += 1;
                continue;
            }
            (Some(Operand::One(word)), Some(operand)) if word.matches(operand) => {
                pattern += 1;
                at += 1;
                continue;
            }
            (None, None) => return true,
            _ => {}
        }
        match retry {
            Some((any, from)) if from < operands.len() => {
                retry = Some((any, from + 1));
                pattern = any + 1;
                at = from + 1;
            }
            _ => return false,
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(patterns: &str, operands: &str) -> bool {
        let patterns: Vec<Operand> = patterns.split_whitespace().map(Operand::parse).collect();
        let operands: Vec<&str> = operands.split_whitespace().collect();
        operands_match(&patterns, &operands)
    }

    #[test]
    fn two_stars_fit_any_number_of_operands() {
        for (patterns, operands, expected) in [
            ("", "", true),
            ("", "a", false),
            ("**", "", true),
            ("**", "a b", true),
            ("a **", "a", true),
            ("a **", "b", false),
            ("** z", "z", true),
            ("** z", "a z b z", true),
            ("** z", "a z b", false),
            ("** a ** b", "x a y b", true),
            ("** a ** b", "b a", false),
            ("** a b **", "a a b", true),
            ("** ** a", "a", true),
            ("a|b *", "b c", true),
            ("a|b *", "b", false),
        ] {
            assert_eq!(
                fits(patterns, operands),
                expected,
                "{patterns} / {operands}"
            );
        }
    }

    #[test]
    fn many_stars_take_no_longer_than_one() {
        let operands = "a ".repeat(20_000);
        for stars in ["**", "** ** ** ** **", "** a ** a ** a ** a **"] {
            assert!(!fits(&format!("{stars} z"), &operands));
        }
    }
}
