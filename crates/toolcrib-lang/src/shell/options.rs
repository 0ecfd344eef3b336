//! Options of programs, as `getopt` reads them: clusters, attached values, long options and their abbreviations.

use super::programs::{Fact, Program};
use super::script::{Part, Word};

/// The options of a program. Letters and names not listed are not known, and that is a doubt.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spec {
    /// Letters without a value.
    pub(super) flags: &'static str,
    /// Letters with a value, attached or in the next word.
    pub(super) valued: &'static str,
    /// Letters with a value only if it is attached.
    pub(super) optional: &'static str,
    /// Names without a value in the next word, separated by blanks; `--name=value` is accepted.
    pub(super) long_flags: &'static str,
    /// Names with a value, separated by blanks.
    pub(super) long_valued: &'static str,
}

impl Spec {
    /// The options that the table of programs lists.
    pub(super) fn of(program: &Program) -> Spec {
        Spec {
            flags: program.get(Fact::Flags),
            valued: program.get(Fact::Valued),
            optional: program.get(Fact::Optional),
            long_flags: program.get(Fact::Long),
            long_valued: program.get(Fact::LongValued),
        }
    }
}

/// An option that was given.
#[derive(Debug)]
pub(super) struct Given {
    /// The letter or the whole name.
    pub(super) name: String,
    pub(super) value: Option<Word>,
}

/// The options at the beginning of `words`, and how many words they take. `Err` holds what is not understood.
pub(super) fn parse(words: &[Word], spec: &Spec) -> Result<(Vec<Given>, usize), String> {
    let mut given = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let start = word.literal_prefix();
        if !start.starts_with('-') {
            // Whether it is an option depends on its value, unless that comes from outside.
            let uncertain = !word.is_static()
                && start.is_empty()
                && !is_value(word)
                && (word.splits
                    || word.is_dynamic()
                    || word.parts.iter().any(|part| matches!(part, Part::Glob(_))));
            if uncertain {
                return Err(word.shown());
            }
            break;
        }
        if word.as_static() == Some("-") {
            break;
        }
        at += 1;
        if word.as_static() == Some("--") {
            break;
        }
        if word.splits {
            return Err(word.shown());
        }
        if let Some(long) = start.strip_prefix("--") {
            let (name, attached) = match long.find('=') {
                Some(end) => (&long[..end], word.after(&start[..end + 3])),
                None if word.is_static() => (long, None),
                None => return Err(word.shown()),
            };
            let (name, valued) = long_name(name, spec).ok_or_else(|| word.shown())?;
            let value = match attached {
                Some(value) => Some(value),
                None if valued => {
                    at += 1;
                    Some(words.get(at - 1).cloned().ok_or_else(|| word.shown())?)
                }
                None => None,
            };
            given.push(Given {
                name: name.to_owned(),
                value,
            });
            continue;
        }
        for (index, letter) in start.char_indices().skip(1) {
            let end = index + letter.len_utf8();
            let rest = || {
                word.after(&start[..end])
                    .filter(|rest| !rest.parts.is_empty())
            };
            let name = letter.to_string();
            if spec.valued.contains(letter) {
                let value = match rest() {
                    Some(value) => value,
                    None => {
                        at += 1;
                        words.get(at - 1).cloned().ok_or_else(|| word.shown())?
                    }
                };
                given.push(Given {
                    name,
                    value: Some(value),
                });
                break;
            }
            if spec.optional.contains(letter) {
                given.push(Given {
                    name,
                    value: rest(),
                });
                break;
            }
            if !spec.flags.contains(letter) || end == start.len() && !word.is_static() {
                return Err(word.shown());
            }
            given.push(Given { name, value: None });
        }
    }
    Ok((given, at))
}

/// Whether a word begins with a value of a template, which no dash begins.
pub(super) fn is_value(word: &Word) -> bool {
    !word.splits
        && matches!(word.parts.first(), Some(Part::Dynamic(source))
            if source.strip_prefix("${").is_some_and(|name| name.starts_with(super::VALUE_PREFIX)))
}

/// The whole name of a long option, and whether it takes a value.
fn long_name(name: &str, spec: &Spec) -> Option<(&'static str, bool)> {
    let all = || {
        let flags = spec
            .long_flags
            .split_ascii_whitespace()
            .map(|name| (name, false));
        flags.chain(
            spec.long_valued
                .split_ascii_whitespace()
                .map(|name| (name, true)),
        )
    };
    if let Some(exact) = all().find(|(known, _)| *known == name) {
        return Some(exact);
    }
    let mut fitting = all().filter(|(known, _)| !name.is_empty() && known.starts_with(name));
    let first = fitting.next()?;
    fitting.next().is_none().then_some(first)
}

/// Whether a word is the long option `name` or an abbreviation of it with at least `least` letters, and the value attached.
pub(super) fn long_option<'w>(word: &'w Word, name: &str, least: usize) -> Option<Option<Word>> {
    let start: &'w str = word.literal_prefix().strip_prefix("--")?;
    let (given, attached) = match start.find('=') {
        Some(end) => (&start[..end], word.after(&word.literal_prefix()[..end + 3])),
        None => (start, None),
    };
    (given.len() >= least && name.starts_with(given)).then_some(attached)
}
