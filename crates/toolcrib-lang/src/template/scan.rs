//! Finds placeholders in a text: [`scan`].
//!
//! A brace that belongs to no placeholder stays as written, so bash groups, JSON, awk programs and `{{.Names}}` need no escapes. A
//! value is never scanned: what looks like a placeholder in one is text.

use std::ops::Range;

use super::{Names, Reference, StepField, TemplateProblem};
use crate::model::text::{nearest, or_list};

/// The longest name that is looked up.
const MAX_NAME: usize = 256;
/// The most unknown names that are compared with the known ones.
const MAX_UNKNOWN: usize = 64;

/// A piece of a template.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Piece {
    Literal(String),
    Placeholder {
        reference: Reference,
        /// Where it is, braces included.
        span: Range<usize>,
    },
}

/// A template, taken apart.
#[derive(Debug, Clone, Default)]
pub(super) struct Scanned {
    /// As it was written.
    pub(super) source: String,
    pub(super) pieces: Vec<Piece>,
    /// What may be meant otherwise.
    pub(super) warnings: Vec<TemplateProblem>,
}

impl Scanned {
    /// How many placeholders there are.
    pub(super) fn placeholders(&self) -> usize {
        let placeholder = |piece: &&Piece| matches!(piece, Piece::Placeholder { .. });
        self.pieces.iter().filter(placeholder).count()
    }

    /// What it names, each once, in the order of the text.
    pub(super) fn references(&self) -> Vec<Reference> {
        let mut found: Vec<Reference> = Vec::new();
        for piece in &self.pieces {
            if let Piece::Placeholder { reference, .. } = piece
                && !found.contains(reference)
            {
                found.push(reference.clone());
            }
        }
        found
    }

    fn push(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if let Some(Piece::Literal(last)) = self.pieces.last_mut() {
            last.push_str(text);
        } else {
            self.pieces.push(Piece::Literal(text.to_owned()));
        }
    }
}

/// Takes a template apart.
pub(super) fn scan(text: &str, names: &Names) -> Result<Scanned, Vec<TemplateProblem>> {
    let mut scanned = Scanned {
        source: text.to_owned(),
        ..Scanned::default()
    };
    let mut problems = Vec::new();
    let mut done = 0;
    let mut at = 0;
    let mut unknown_names = 0;
    while let Some(found) = text[at..].find('{') {
        let open = at + found;
        at = open + 1;
        // `${NAME}` is a variable of the language that the text is in.
        if text[..open].ends_with('$') {
            at += text[at..].bytes().take_while(|byte| *byte == b'{').count();
            continue;
        }
        let depth = text[open..]
            .bytes()
            .take_while(|byte| *byte == b'{')
            .count();
        let name_start = open + depth;
        let Some(name) = name_at(text, name_start) else {
            at = name_start;
            continue;
        };
        let after = name_start + name.len();
        let closing = text[after..]
            .bytes()
            .take_while(|byte| *byte == b'}')
            .count();
        let reference = names.find(name);
        // The innermost braces count: `{{{X}}}` is a value in braces, `{"n":{X}}` has one literal brace after it.
        let inner = match (depth, closing) {
            (_, 0) => 0,
            (1, _) | (_, 1) => 1,
            (2, _) | (_, 2) => 2,
            _ if reference.is_some() => 3,
            _ => 2,
        };
        match inner {
            1 => {
                if let Some(reference) = reference {
                    scanned.push(&text[done..name_start - 1]);
                    scanned.pieces.push(Piece::Placeholder {
                        reference,
                        span: name_start - 1..after + 1,
                    });
                    done = after + 1;
                    at = done;
                    continue;
                }
                unknown_names += 1;
                if unknown_names > MAX_UNKNOWN {
                    at = after;
                    continue;
                }
                match unknown(name, name_start - 1..after + 1, names) {
                    Unknown::Problem(problem) => problems.push(problem),
                    Unknown::Warning(warning) => scanned.warnings.push(warning),
                    Unknown::Nothing => {}
                }
            }
            2 if reference.is_some() || is_plain(name) => {
                scanned.push(&text[done..name_start - 2]);
                scanned.push(&text[name_start - 1..after + 1]);
                done = after + 2;
                at = done;
                continue;
            }
            3 => {
                if let Some(reference) = reference {
                    scanned.push(&text[done..name_start - 3]);
                    scanned.push("{");
                    scanned.pieces.push(Piece::Placeholder {
                        reference,
                        span: name_start - 1..after + 1,
                    });
                    scanned.push("}");
                    done = after + 3;
                    at = done;
                    continue;
                }
            }
            _ => {}
        }
        at = after;
    }
    scanned.push(&text[done..]);
    if problems.is_empty() {
        Ok(scanned)
    } else {
        Err(problems)
    }
}

/// The text before the next closing brace, if it could be a name.
fn name_at(text: &str, from: usize) -> Option<&str> {
    let rest = &text[from..];
    let end = rest
        .char_indices()
        .take_while(|(at, _)| *at < MAX_NAME)
        .find(|(_, c)| matches!(c, '{' | '}' | '\n'))?;
    (end.1 == '}' && end.0 > 0).then(|| &rest[..end.0])
}

/// Whether a name looks like one of a parameter or step.
fn is_plain(name: &str) -> bool {
    name.starts_with(|c: char| c == '_' || c.is_alphabetic())
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

enum Unknown {
    Problem(TemplateProblem),
    Warning(TemplateProblem),
    Nothing,
}

/// What to say of a name that is not known: a step's field is meant as one, a near miss may be.
fn unknown(name: &str, span: Range<usize>, names: &Names) -> Unknown {
    if !is_plain(name) {
        return Unknown::Nothing;
    }
    let all = names.all();
    let near = nearest(name, all.iter().map(String::as_str));
    let suggestion = match near.as_slice() {
        [] => None,
        near => Some(format!("did you mean {}?", or_list(near))),
    };
    if let Some((step, field)) = name.rsplit_once('.') {
        let known_step = names.steps.iter().any(|known| known == step);
        let message = match (known_step, StepField::find(field)) {
            (true, None) => {
                format!("a step has no `{field}`: there are output, stdout, stderr and exit-code")
            }
            (false, Some(_)) => format!("no step `{step}` runs before this"),
            _ => return Unknown::Nothing,
        };
        return Unknown::Problem(TemplateProblem {
            span,
            code: "template-unknown-step",
            message,
            fix: suggestion,
        });
    }
    match near.first() {
        Some(first) => Unknown::Warning(TemplateProblem {
            span,
            code: "template-unknown-name",
            message: format!("`{{{name}}}` names nothing, so it stays as it is"),
            fix: Some(format!("write `{{{first}}}` if you mean that")),
        }),
        None => Unknown::Nothing,
    }
}
