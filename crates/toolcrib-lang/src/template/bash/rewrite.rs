//! From a template to the text that bash reads.
//!
//! The template is parsed with a mark in the place of every placeholder, and the parser says how each mark is quoted. A
//! here-document with a quoted delimiter that has a placeholder in it becomes one without quotes, the rest of it escaped.

use std::ops::Range;

use super::{Chunk, Demands, MAX_TEXT, Made, Slot, SlotForm, Trust, trust};
use crate::shell::quoting::{Places, Quote, Region, places};
use crate::shell::{Dialect, VALUE_PREFIX};
use crate::template::bash::preamble;
use crate::template::scan::{Piece, Scanned};
use crate::template::{Names, Reference, TemplateProblem};

/// Stands for a placeholder while the text is parsed: a letter to no shell, a sign to none.
const MARK: &str = "\u{e000}";

struct Marked<'s> {
    text: String,
    marks: Vec<(Range<usize>, &'s Reference, &'s Range<usize>)>,
}

fn mark(scanned: &Scanned) -> Marked<'_> {
    let mut marked = Marked {
        text: String::new(),
        marks: Vec::new(),
    };
    for piece in &scanned.pieces {
        match piece {
            Piece::Literal(literal) => marked.text.push_str(literal),
            Piece::Placeholder { reference, span } => {
                let start = marked.text.len();
                marked.text.push_str(MARK);
                marked
                    .marks
                    .push((start..marked.text.len(), reference, span));
            }
        }
    }
    marked
}

/// Takes a template apart into text and slots, quotes found out.
pub(super) fn rewrite(
    scanned: &Scanned,
    names: &Names,
    dialect: Dialect,
) -> Result<(Vec<Chunk>, Vec<Slot>), Vec<TemplateProblem>> {
    let marked = mark(scanned);
    let text = &marked.text;
    let whole = |code, message: &str, fix: &str| {
        Err(vec![TemplateProblem {
            span: 0..text.len(),
            code,
            message: message.to_owned(),
            fix: Some(fix.to_owned()),
        }])
    };
    if text.len() > MAX_TEXT {
        return whole(
            "template-too-long",
            "the text is longer than 100 KB, which no program can be given",
            "put it in a file and run that",
        );
    }
    if text.contains('\0') {
        return whole(
            "template-not-understood",
            "the text contains a null byte",
            "take it out",
        );
    }
    if text.contains(VALUE_PREFIX) {
        return whole(
            "template-reserved-name",
            "variables that begin with `__toolcrib_` carry the values",
            "choose another name",
        );
    }
    let places = places(text, dialect);
    let mut problems = Vec::new();
    let mut slots = Vec::new();
    let mut edits: Vec<(Range<usize>, Edit)> = Vec::new();
    for (range, reference, span) in &marked.marks {
        match slot(&places, text, range, reference, span, names) {
            Ok(Some(slot)) => {
                if let Quote::QuotedDocument(index) = slot.quote
                    && slot.trust != Trust::Raw
                {
                    unquote(&places, text, index, &slot, &mut edits).unwrap_or_else(|problem| {
                        problems.push(problem);
                    });
                }
                edits.push((range.clone(), Edit::Slot(slots.len())));
                slots.push(slot);
            }
            // In a comment nothing is put in its place.
            Ok(None) => edits.push((range.clone(), Edit::Text(format!("{{{reference}}}")))),
            Err(problem) => problems.push(problem),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    edits.dedup_by(|one, other| one.0 == other.0);
    let mut chunks = Vec::new();
    let mut done = 0;
    let mut pending = String::new();
    for (range, edit) in edits {
        pending.push_str(&text[done..range.start]);
        done = range.end;
        match edit {
            Edit::Text(text) => pending.push_str(&text),
            Edit::Slot(index) => {
                chunks.push(Chunk::Text(std::mem::take(&mut pending)));
                chunks.push(Chunk::Slot(index));
            }
        }
    }
    pending.push_str(&text[done..]);
    chunks.push(Chunk::Text(pending));
    Ok((chunks, slots))
}

enum Edit {
    Text(String),
    Slot(usize),
}

/// Known facts about a placeholder from its position; `None` in a comment.
fn slot(
    places: &Places,
    text: &str,
    range: &Range<usize>,
    reference: &Reference,
    span: &Range<usize>,
    names: &Names,
) -> Result<Option<Slot>, TemplateProblem> {
    let parameter = match reference {
        Reference::Parameter(name) => names.parameter(name).cloned(),
        Reference::Step { .. } | Reference::Variable(_) => None,
    };
    let trust = trust(reference, parameter.as_ref());
    let refuse = |code, message: String, fix: &str| {
        Err(TemplateProblem {
            span: span.clone(),
            code,
            message,
            fix: Some(fix.replace("{X}", &format!("{{{reference}}}"))),
        })
    };
    let quote = match places.quote(range) {
        Some(Quote::Comment) => return Ok(None),
        Some(quote) => quote,
        None if trust == Trust::Raw => Quote::Bare,
        None => {
            return refuse(
                "template-not-understood",
                format!(
                    "the text around `{{{reference}}}` is not understood, so no value can be put there safely"
                ),
                "put the value in a variable on its own line first: `x={X}`, then use \"$x\"",
            );
        }
    };
    let delimiter = places.documents.iter().any(|document| {
        document.delimiter.start < range.end && range.start < document.delimiter.end
    });
    if delimiter {
        return refuse(
            "template-not-understood",
            format!("`{{{reference}}}` is in the delimiter of a here-document"),
            "write a fixed delimiter",
        );
    }
    if quote == Quote::Bare && trust != Trust::Raw && is_in_sequence(text, range) {
        return refuse(
            "template-braces",
            format!(
                "`{{{reference}}}` is in `{{1..9}}`, which bash expands before it looks at values"
            ),
            "use `$(seq 1 {X})`",
        );
    }
    let mut demands = Demands::default();
    for region in places.regions(range) {
        match (region, trust) {
            (Region::Default | Region::Backticks, _) | (_, Trust::Raw) => {}
            (Region::Arithmetic | Region::Subscript, Trust::Number) => {
                demands.number = true;
                demands.integer |= matches!(quote, Quote::Arithmetic | Quote::Subscript);
            }
            (Region::Edit, Trust::Number) => demands.number = true,
            (Region::Arithmetic | Region::Subscript, Trust::Text | Trust::Own) => {
                return refuse(
                    "template-arithmetic",
                    format!(
                        "bash evaluates the arithmetic around `{{{reference}}}`, and a value that is not a number could run commands there"
                    ),
                    "make it a parameter of type number",
                );
            }
            (Region::Edit, Trust::Text | Trust::Own) => {
                return refuse(
                    "template-expansion",
                    format!("`{{{reference}}}` is in a pattern, slice or name inside `${{…}}`"),
                    "put the value in a variable first: `x={X}`, then use \"$x\"",
                );
            }
        }
    }
    let form = if quote == Quote::Bare && is_whole_word(text, range) {
        SlotForm::Words
    } else {
        SlotForm::Text
    };
    Ok(Some(Slot {
        reference: reference.clone(),
        span: span.clone(),
        parameter,
        trust,
        quote,
        form,
        demands,
    }))
}

/// Whether nothing belongs to the word but the placeholder.
fn is_whole_word(text: &str, range: &Range<usize>) -> bool {
    let boundary = |byte: u8| b" \t\n;&|()<>".contains(&byte);
    let bytes = text.as_bytes();
    let starts = range.start == 0 || boundary(bytes[range.start - 1]);
    let ends = bytes.get(range.end).is_none_or(|byte| boundary(*byte));
    starts && ends
}

/// Whether a placeholder is an end of `{1..9}`.
fn is_in_sequence(text: &str, range: &Range<usize>) -> bool {
    let before = &text[..range.start];
    let word = before.rfind([' ', '\t', '\n']).map_or(0, |at| at + 1);
    let after = &text[range.end..];
    let end = after.find([' ', '\t', '\n']).unwrap_or(after.len());
    before[word..].contains('{')
        && after[..end].contains('}')
        && (before.ends_with("..") || after.starts_with(".."))
}

/// Makes a here-document one in which values are expanded, and nothing else is.
fn unquote(
    places: &Places,
    text: &str,
    index: usize,
    slot: &Slot,
    edits: &mut Vec<(Range<usize>, Edit)>,
) -> Result<(), TemplateProblem> {
    let Some(document) = places.documents.get(index) else {
        return Ok(());
    };
    let word: String = text[document.delimiter.clone()]
        .chars()
        .filter(|c| !matches!(c, '\'' | '"' | '\\'))
        .collect();
    let plain = !word.is_empty()
        && word
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !plain {
        return Err(TemplateProblem {
            span: slot.span.clone(),
            code: "template-document",
            message: format!(
                "`{{{}}}` is in a here-document whose quoted delimiter has unusual characters",
                slot.reference
            ),
            fix: Some("use a plain delimiter, as `<<'EOF'`".to_owned()),
        });
    }
    edits.push((document.delimiter.clone(), Edit::Text(word)));
    for (at, c) in text[document.body.clone()].char_indices() {
        if matches!(c, '\\' | '$' | '`') {
            let at = document.body.start + at;
            edits.push((at..at + 1, Edit::Text(format!("\\{c}"))));
        }
    }
    Ok(())
}

/// The text for a value, given the name of the variable that holds it.
pub(super) fn expansion(dialect: Dialect, slot: &Slot, name: &str, words: usize) -> String {
    match (slot.form, dialect) {
        (SlotForm::Words, Dialect::Bash) => format!("\"${{{name}[@]}}\""),
        (SlotForm::Words, Dialect::Sh) => {
            let names: Vec<String> = (0..words)
                .map(|number| format!("\"${{{}}}\"", preamble::word_name(name, number)))
                .collect();
            names.join(" ")
        }
        (SlotForm::Text, _) => expanded(slot.quote, name),
    }
}

/// One variable, in the quotes around it.
pub(super) fn expanded(quote: Quote, name: &str) -> String {
    match quote {
        Quote::Bare | Quote::Braces => format!("\"${{{name}}}\""),
        Quote::Double
        | Quote::QuotedBraces
        | Quote::Document
        | Quote::QuotedDocument(_)
        | Quote::Subscript
        | Quote::Comment => format!("${{{name}}}"),
        Quote::Single => format!("'\"${{{name}}}\"'"),
        Quote::Ansi => format!("'\"${{{name}}}\"$'"),
        // A minus sign next to another would be one operator.
        Quote::Arithmetic => format!("(${{{name}}})"),
    }
}

/// How much of a value is judged that no program is given as an argument.
const MAX_JUDGED: usize = 16 * 1024;

/// The value itself, quoted, for those who judge what would run.
pub(super) fn literal(slot: &Slot, made: &Made) -> String {
    if slot.trust == Trust::Raw {
        return made.text();
    }
    let text = made.text();
    if text.len() > MAX_JUDGED && slot.demands.most_bytes.is_none() {
        let start = &text[..text.floor_char_boundary(MAX_JUDGED)];
        return quoted(slot, start);
    }
    if slot.form == SlotForm::Words {
        let words: Vec<String> = made.words.iter().map(|word| single(&word.text)).collect();
        return words.join(" ");
    }
    quoted(slot, &text)
}

fn quoted(slot: &Slot, text: &str) -> String {
    match slot.quote {
        Quote::Bare => single(text),
        Quote::Single => format!("'{}'", single(text)),
        Quote::Ansi => format!("'{}$'", single(text)),
        Quote::Double => escaped(text, "\\\"$`"),
        Quote::QuotedBraces => escaped(text, "\\\"$`}"),
        Quote::Braces => format!("\"{}\"", escaped(text, "\\\"$`}")),
        // A line of the value must not be taken for the end of the document.
        Quote::Document | Quote::QuotedDocument(_) => escaped(&text.replace('\n', " "), "\\$`"),
        Quote::Subscript | Quote::Arithmetic | Quote::Comment => text.to_owned(),
    }
}

/// A word in single quotes; a plain one as it is.
pub(in crate::template) fn single(text: &str) -> String {
    let plain = !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_./:@%+-".contains(&byte));
    if plain {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

pub(super) fn escaped(text: &str, signs: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if signs.contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}
