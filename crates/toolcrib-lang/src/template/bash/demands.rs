//! What values must be like in the places where they stand: found out once, when the template is compiled.

use std::collections::BTreeSet;

use super::check::{is_substitution, mentioned};
use super::limits::MAX_ARGUMENT;
use super::{Bash, languages};
use crate::shell::cuts::Cut;
use crate::shell::shape::Shape;
use crate::shell::{Part, Script, SimpleCommand, Word, is_shell};

/// Programs to which `--` does not mean the end of options.
const WITHOUT_DASHES: &[&str] = &["find", "gfind", "echo", "test", "[", "expr", "dd", "ps"];

/// What values must be like: no options by accident, not too long for programs.
pub(super) fn demands(bash: &mut Bash, script: &Script, shape: &Shape) {
    for name in &shape.words_of_xargs {
        for holder in shape.sources(name) {
            demand_inside(bash, &holder, Cut::Blank);
        }
    }
    for command in &script.commands {
        let external = is_external(command, shape);
        let exporting = command.name().is_some_and(exports);
        if external || exporting {
            for (_, value) in &command.assignments {
                limit(bash, value, shape);
            }
        }
        let mut ended = false;
        for (index, word) in command.words.iter().enumerate() {
            if external || exporting {
                limit(bash, word, shape);
            }
            if index > 0 && !ended {
                dashes(bash, word, shape);
                if !takes_no_options(command, index) {
                    inner_dashes(bash, word, shape);
                }
            }
            if index > 0 {
                signs(bash, command, word, shape);
            }
            ended |= index > 0
                && word.as_static() == Some("--")
                && !command
                    .name()
                    .is_some_and(|name| WITHOUT_DASHES.contains(&name));
        }
    }
}

/// Whether a word of a command cannot do harm as an option.
fn takes_no_options(command: &SimpleCommand, index: usize) -> bool {
    let static_word = |at: usize| command.words.get(at).and_then(Word::as_static);
    match command.name() {
        Some("echo" | "cd" | ":" | "true" | "exit" | "return") => true,
        Some("printf") => index > 1 && static_word(1).is_some_and(|text| !text.starts_with('-')),
        // With three operands the one in the middle decides.
        Some("[") => command.words.len() == 5 && static_word(2).is_some(),
        Some("test") => command.words.len() == 4 && static_word(2).is_some(),
        _ => false,
    }
}

fn demand_inside(bash: &mut Bash, holder: &str, cut: Cut) {
    for index in mentioned(holder).collect::<Vec<_>>() {
        if let Some(slot) = bash.slots.get_mut(index) {
            let demand = &mut slot.demands.no_inner_dash;
            *demand = Some(demand.map_or(cut, |other| other.max(cut)));
        }
    }
}

/// Demands that no piece of a value that may become the beginning of a word begins with a dash: `"${x##*/}"`, `"$(basename {X})"`.
fn inner_dashes(bash: &mut Bash, word: &Word, shape: &Shape) {
    for part in &word.parts {
        match part {
            Part::Text(text) if text.is_empty() => {}
            Part::Text(_) | Part::Glob(_) => return,
            Part::Variable(name) => {
                let source = format!("${{{name}}}");
                for (holder, cut) in shape.insides(&source, bash.dialect) {
                    demand_inside(bash, &holder, cut);
                }
            }
            Part::Dynamic(source) => {
                for (holder, cut) in shape.insides(source, bash.dialect) {
                    demand_inside(bash, &holder, cut);
                }
            }
        }
    }
}

fn exports(name: &str) -> bool {
    matches!(name, "export" | "declare" | "typeset")
}

/// Builtins of bash whose words are not copied into a new program.
const BUILTINS: &[&str] = &[
    ":",
    "[",
    "alias",
    "break",
    "builtin",
    "cd",
    "command",
    "continue",
    "declare",
    "dirs",
    "echo",
    "exit",
    "export",
    "false",
    "getopts",
    "hash",
    "let",
    "local",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "set",
    "shift",
    "test",
    "true",
    "type",
    "typeset",
    "unset",
    "wait",
];

fn is_external(command: &SimpleCommand, shape: &Shape) -> bool {
    let Some(first) = command.words.first() else {
        return false;
    };
    let builtin = first
        .as_static()
        .is_some_and(|name| BUILTINS.contains(&name) && !shape.functions.contains(name));
    let inside = command
        .via
        .iter()
        .any(|wrapper| !matches!(wrapper.as_str(), "command" | "builtin"));
    !builtin || inside
}

/// The slots whose values may be in a word, through variables, too.
fn values_in(bash: &Bash, source: &str, shape: &Shape) -> Vec<usize> {
    let mut found: BTreeSet<usize> = mentioned(source).collect();
    for name in names_in(source) {
        for holder in shape.copies(name) {
            found.extend(mentioned(&holder));
        }
    }
    found
        .into_iter()
        .filter(|index| *index < bash.slots.len())
        .collect()
}

/// The slots whose values a word may begin with, through variables, too.
pub(super) fn beginnings_in(bash: &Bash, source: &str, shape: &Shape) -> Vec<usize> {
    let mut found: BTreeSet<usize> = mentioned(source).collect();
    for name in names_in(source) {
        for holder in shape.beginnings(name) {
            found.extend(mentioned(&holder));
        }
    }
    found
        .into_iter()
        .filter(|index| *index < bash.slots.len())
        .collect()
}

/// The variables in `$x`, `${x:-$y}`.
pub(super) fn names_in(source: &str) -> impl Iterator<Item = &str> {
    let is_name = |c: char| c == '_' || c.is_ascii_alphanumeric();
    source.match_indices('$').filter_map(move |(at, _)| {
        let rest = source[at + 1..].trim_start_matches(['{', '#', '!']);
        let end = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
        match end {
            0 => rest.get(..1).filter(|sign| matches!(*sign, "@" | "*")),
            end => rest.get(..end),
        }
    })
}

fn limit(bash: &mut Bash, word: &Word, shape: &Shape) {
    let literal: usize = word
        .parts
        .iter()
        .map(|part| match part {
            Part::Text(text) => text.len(),
            _ => 0,
        })
        .sum();
    for part in &word.parts {
        let Part::Dynamic(source) = part else {
            continue;
        };
        if is_substitution(source) {
            continue;
        }
        for index in values_in(bash, source, shape) {
            let most = &mut bash.slots[index].demands.most_bytes;
            let room = MAX_ARGUMENT.saturating_sub(literal);
            *most = Some(most.map_or(room, |most| most.min(room)));
        }
    }
}

/// Demands what the rules of single programs make necessary.
fn signs(bash: &mut Bash, command: &SimpleCommand, word: &Word, shape: &Shape) {
    // After the text of `sh -c` come the text's own arguments.
    let has_text = command.name().is_some_and(is_shell)
        && command.words.iter().any(|word| {
            word.as_static()
                .is_some_and(|option| option.starts_with('-') && option.contains('c'))
        });
    let forbidden = languages::forbidden(command).filter(|_| !has_text);
    let Some(forbidden) = forbidden else { return };
    for (position, part) in word.parts.iter().enumerate() {
        let Part::Dynamic(source) = part else {
            continue;
        };
        if is_substitution(source) || position > 0 && !forbidden.is_everywhere() {
            continue;
        }
        for index in values_in(bash, source, shape) {
            let known = &mut bash.slots[index].demands.forbidden;
            if !known.contains(&forbidden) {
                known.push(forbidden);
            }
        }
    }
}

/// Demands that values at the beginning of a word do not begin with a dash.
fn dashes(bash: &mut Bash, word: &Word, shape: &Shape) {
    let mut before: Vec<usize> = Vec::new();
    for part in &word.parts {
        match part {
            Part::Text(text) if text.is_empty() => {}
            Part::Text(_) | Part::Glob(_) => return,
            Part::Variable(_) => {}
            Part::Dynamic(source) => {
                if is_substitution(source) {
                    continue;
                }
                let direct: Vec<usize> = mentioned(source).collect();
                for index in beginnings_in(bash, source, shape) {
                    let demand = &mut bash.slots[index].demands.no_dash;
                    *demand = match (demand.take(), direct.contains(&index)) {
                        // Elsewhere it is alone.
                        (Some(other), true) if other.len() < before.len() => Some(other),
                        (_, true) => Some(before.clone()),
                        (_, false) => Some(Vec::new()),
                    };
                }
                before.extend(direct);
            }
        }
    }
}
