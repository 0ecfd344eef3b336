//! Names that stand for values, inside of texts: `${NAME}` once it was decided that it is one.
//!
//! A mark is a name between two characters that Unicode keeps for a program's own use, so that texts with marks can be cut and
//! joined like any other, and nothing that was typed can be taken for a mark: `words` refuses those characters.

const OPEN: char = '\u{fdd0}';
const CLOSE: char = '\u{fdd1}';
/// Ends the mark of a whole JSON value: the text around it has no quotes.
const CLOSE_WHOLE: char = '\u{fdd2}';
/// Only within [`json_template`].
const OPEN_BARE: char = '\u{fdd3}';

/// Whether a text has a mark, or something that would be taken for one.
pub(super) fn is_in(text: &str) -> bool {
    text.contains([OPEN, CLOSE, CLOSE_WHOLE, OPEN_BARE])
}

/// A mark.
pub(super) fn of(name: &str) -> String {
    format!("{OPEN}{name}{CLOSE}")
}

/// The mark of a whole JSON value, as long as it is part of a JSON document: a text that [`json_template`] takes the quotes off.
pub(super) fn whole(name: &str) -> String {
    format!("{OPEN}{name}{CLOSE_WHOLE}")
}

/// Marks outside of the quotes of JSON, as texts that can be parsed.
pub(super) fn quote_whole(json: &str) -> String {
    let mut quoted = String::with_capacity(json.len());
    let (mut in_text, mut escaped, mut is_whole) = (false, false, false);
    for char in json.chars() {
        match char {
            OPEN if !in_text => {
                is_whole = true;
                quoted.extend(['"', OPEN]);
            }
            CLOSE if is_whole => {
                is_whole = false;
                quoted.extend([CLOSE_WHOLE, '"']);
            }
            other => quoted.push(other),
        }
        match char {
            '"' if !escaped => in_text = !in_text,
            _ => {}
        }
        escaped = in_text && char == '\\' && !escaped;
    }
    quoted
}

/// JSON with marks as a template.
pub(super) fn json_template(json: &str) -> String {
    let bare = json
        .replace(&format!("\"{OPEN}"), &format!("{OPEN_BARE}{OPEN}"))
        .replace(&format!("{CLOSE_WHOLE}\""), &CLOSE_WHOLE.to_string());
    // A text that only begins with a mark keeps its quote.
    let mut text = String::with_capacity(bare.len());
    let mut pieces = bare.split(OPEN_BARE);
    text.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let end = piece.find([CLOSE, CLOSE_WHOLE]);
        if end.is_some_and(|end| piece[end..].starts_with(CLOSE)) {
            text.push('"');
        }
        text.push_str(piece);
    }
    template(&text)
}

/// Appends a mark.
pub(super) fn push(text: &mut String, name: &str) {
    text.push_str(&of(name));
}

/// The name, if a text is one mark and nothing else.
pub(super) fn only(text: &str) -> Option<&str> {
    let name = text.strip_prefix(OPEN)?.strip_suffix(CLOSE)?;
    (!is_in(name)).then_some(name)
}

/// The names in a text, in their order.
pub(super) fn names(text: &str) -> Vec<&str> {
    let starts = text.split(OPEN).skip(1);
    starts
        .filter_map(|rest| Some(rest.split_once([CLOSE, CLOSE_WHOLE])?.0))
        .collect()
}

/// The text around the marks.
pub(super) fn literals(text: &str) -> String {
    let mut pieces = text.split(OPEN);
    let mut around = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let after = piece.split_once([CLOSE, CLOSE_WHOLE]);
        around.push_str(after.map_or("", |(_, after)| after));
    }
    around
}

/// Whether a `$` is right before a mark: no template can say that, since `$${` is the escape.
pub(super) fn is_behind_dollar(text: &str) -> bool {
    text.contains(&format!("${OPEN}"))
}

/// A text as a template: marks as `${NAME}`, and what would be read as one escaped.
pub(super) fn template(text: &str) -> String {
    let escaped = text.replace("${", "$${");
    shown(&escaped)
}

/// A text with its marks as `${NAME}`.
pub(super) fn shown(text: &str) -> String {
    text.replace(OPEN, "${").replace([CLOSE, CLOSE_WHOLE], "}")
}

/// Puts marks in the place of `${name}` and, where asked, of `{{name}}` and `{name}`.
pub(super) fn find(text: &str, spellings: Spellings) -> String {
    let mut found = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['{', OPEN]) {
        if rest[at..].starts_with(OPEN) {
            // A mark stays whole.
            let end = rest[at..]
                .find([CLOSE, CLOSE_WHOLE])
                .map_or(rest.len(), |end| at + end + CLOSE.len_utf8());
            found.push_str(&rest[..end]);
            rest = &rest[end..];
            continue;
        }
        let (before, brace) = rest.split_at(at);
        if let Some(kept) = before.strip_suffix("$$") {
            // S4's escape: `$${` is `${`, as it is.
            found.push_str(kept);
            found.push_str("${");
            rest = &brace[1..];
            continue;
        }
        let dollar = before.strip_suffix('$');
        let (kept, inside, close) = match (dollar, brace.strip_prefix("{{")) {
            (Some(kept), _) => (kept, &brace[1..], "}"),
            (None, Some(inside)) if spellings != Spellings::Dollar => (before, inside, "}}"),
            (None, None) if spellings == Spellings::All => (before, &brace[1..], "}"),
            (None, _) => {
                found.push_str(&rest[..at + 1]);
                rest = &rest[at + 1..];
                continue;
            }
        };
        // No name is longer than the part that is looked at: a text of braces takes no more time than any other.
        let near = inside.floor_char_boundary(80);
        match inside[..near]
            .find(close)
            .map(|end| (&inside[..end], &inside[end + close.len()..]))
        {
            Some((name, after)) if is_name(name.trim()) => {
                found.push_str(kept);
                push(&mut found, name.trim());
                rest = after;
            }
            _ => {
                found.push_str(&rest[..at + 1]);
                rest = &rest[at + 1..];
            }
        }
    }
    found.push_str(rest);
    found
}

/// Which spellings of a placeholder count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spellings {
    /// `${name}`
    Dollar,
    /// `${name}`, `{{name}}`
    Doubled,
    /// `${name}`, `{{name}}`, `{name}`
    All,
}

/// What an argument or a secret may be called.
pub(super) fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    let first = chars.next();
    first.is_some_and(|char| char == '_' || char.is_ascii_alphabetic())
        && chars.all(|char| char == '_' || char.is_ascii_alphanumeric())
        && text.len() <= 64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_found_in_the_spellings_that_count() {
        for (spellings, text, expected) in [
            (Spellings::All, "/{id}/${q}/{{x}}", "/<id>/<q>/<x>"),
            (Spellings::Doubled, "{id}${q}{{ x }}", "{id}<q><x>"),
            (Spellings::Dollar, "{id}${q}{{x}}", "{id}<q>{{x}}"),
            (Spellings::All, "{a b} {} {1} {a", "{a b} {} {1} {a"),
            (Spellings::All, "$${q}", "${q}"),
        ] {
            let found = find(text, spellings);
            let shown = found.replace(OPEN, "<").replace(CLOSE, ">");
            assert_eq!(shown, expected, "{text}");
        }
    }

    #[test]
    fn a_mark_is_never_looked_into() {
        let text = format!("{}{{x}}", of("a"));
        assert_eq!(names(&find(&text, Spellings::All)), ["a", "x"]);
        assert_eq!(only(&of("a")), Some("a"));
        assert_eq!(only(&format!("{}{}", of("a"), of("b"))), None);
        let around = format!("x{}y{}", of("a"), whole("b"));
        assert_eq!(literals(&around), "xy");
        assert_eq!(template(&format!("${{a.b}} {}", of("q"))), "$${a.b} ${q}");
    }

    #[test]
    fn values_outside_of_quotes_are_whole_json_values() {
        let body = format!(
            r#"{{"a":{},"b":"{} x","c":"\"{}","d":"{}"}}"#,
            of("n"),
            of("s"),
            of("t"),
            of("u")
        );
        let value: serde_json::Value = serde_json::from_str(&quote_whole(&body)).unwrap();
        assert_eq!(
            json_template(&value.to_string()),
            r#"{"a":${n},"b":"${s} x","c":"\"${t}","d":"${u}"}"#
        );
    }
}
