//! How a value may lose its beginning on its way: [`Cut`].
//!
//! A dash at the beginning of a value can be looked for; one that comes to the beginning by `${x##*/}`, `basename` or `read` must be
//! looked for inside. By the looks of the text: programs that are not known to print what they are given print what is their own.

use std::collections::BTreeSet;

use super::lex::Parser;
use super::programs::{self, Fact};
use super::shape::{INPUT, mention_pieces};
use super::syntax::{Command, Kind, List, Parameter, Piece, Raw, RawKind};
use super::{Dialect, VALUE_PREFIX};

/// Where a piece of a value may begin that becomes the beginning of a word. Each includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cut {
    /// At the value's own beginning.
    Start,
    /// After a `/`.
    Slash,
    /// After a blank or a line's end.
    Blank,
    /// Anywhere.
    Anywhere,
}

/// What a program prints of what it is given.
fn printing(name: &str) -> Option<Cut> {
    Some(match programs::version(name)?.get(Fact::Prints) {
        "start" => Cut::Start,
        "slash" => Cut::Slash,
        "blank" => Cut::Blank,
        "anywhere" => Cut::Anywhere,
        _ => return None,
    })
}

/// Whether a program takes texts apart or makes others of them.
pub(super) fn transforms(name: &str) -> bool {
    printing(name) == Some(Cut::Anywhere) && !matches!(name, "read" | "mapfile" | "readarray")
}

/// The variables whose values commands in a pipe may print, and from where on.
pub(super) fn printed(parts: &[Command<'_>], dialect: Dialect) -> Vec<(String, Cut)> {
    let mut found: Vec<(String, Cut)> = Vec::new();
    for command in parts {
        let mut values = BTreeSet::new();
        let cut = match &command.kind {
            Kind::Simple { words, .. } => {
                let name = words.first().and_then(Raw::literal);
                let cut = name.as_deref().and_then(printing);
                if cut.is_some() {
                    for word in words.iter().skip(1) {
                        mention_pieces(&word.pieces, &mut values);
                    }
                }
                cut
            }
            Kind::Group(list) | Kind::Subshell(list) => {
                found.extend(list_printed(list, dialect));
                Some(Cut::Start)
            }
            _ => Some(Cut::Blank),
        };
        let Some(cut) = cut else {
            // It prints what is its own.
            found.clear();
            continue;
        };
        for (_, earlier) in &mut found {
            *earlier = cut.max(*earlier);
        }
        for redirect in &command.redirects {
            match redirect.kind {
                RawKind::HereString => mention_pieces(&redirect.target.pieces, &mut values),
                RawKind::Document(_) => {
                    values.insert(INPUT.to_owned());
                }
                RawKind::Read | RawKind::Write | RawKind::Duplicate => {}
            }
        }
        found.extend(values.into_iter().map(|value| (value, cut)));
    }
    found
}

pub(super) fn list_printed(list: &List<'_>, dialect: Dialect) -> Vec<(String, Cut)> {
    list.iter()
        .flat_map(|item| &item.chain)
        .flat_map(|(_, pipeline)| printed(&pipeline.parts, dialect))
        .collect()
}

/// The variables whose values pieces may begin with, and from where on, where it is not simply their beginning.
pub(super) fn starts(pieces: &[Piece<'_>], dialect: Dialect) -> Vec<(String, Cut)> {
    let mut found = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Plain(text) | Piece::Text(text) if text.is_empty() => {}
            Piece::Plain(_) | Piece::Text(_) => break,
            Piece::Parameter(parameter) => {
                if let Some(cut) = edit(parameter) {
                    found.push((parameter.name.to_owned(), cut));
                }
                found.extend(starts(&parameter.rest, dialect));
            }
            Piece::Substitution { list, .. } => found.extend(list_printed(list, dialect)),
            Piece::Backticks { text, .. } => {
                let (parsed, _) = Parser::new(text, dialect, 8).parse();
                found.extend(list_printed(&parsed.list, dialect));
            }
            Piece::Process { .. } | Piece::Arithmetic { .. } => {}
        }
    }
    found
}

/// What an expansion takes from the beginning of a value.
fn edit(parameter: &Parameter<'_>) -> Option<Cut> {
    if parameter.name.starts_with(VALUE_PREFIX) || !parameter.source.starts_with("${") {
        return None;
    }
    let mut rest = parameter.source.get(2 + parameter.name.len()..)?;
    if rest.starts_with('[') {
        rest = rest.find(']').map_or("", |at| &rest[at + 1..]);
    }
    let rest = rest.strip_suffix('}').unwrap_or(rest);
    match rest.chars().next()? {
        '#' if matches!(rest, "#*/" | "##*/") => Some(Cut::Slash),
        '#' => Some(Cut::Anywhere),
        '/' => {
            let put = rest.trim_start_matches('/').rsplit_once('/');
            let keeps = put.is_some_and(|(_, put)| put.starts_with(char::is_alphanumeric));
            (!keeps).then_some(Cut::Anywhere)
        }
        ':' => {
            let after = rest[1..].trim_start();
            let default = rest.len() > 1 && rest[1..].starts_with(['-', '+', '=', '?']);
            let from_start = after == "0" || after.starts_with("0:") || after.starts_with(':');
            (!default && !from_start).then_some(Cut::Anywhere)
        }
        _ => None,
    }
}
