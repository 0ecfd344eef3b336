//! What a broken file probably means: errors of the parser in our words, with what to write instead.

use std::ops::Range;

use granit_parser::ErrorKind;

use super::parse::too_deep;
use super::tree::Key;
use crate::definition::problem::SpannedProblem;
use crate::model::text::shorten;

/// The error as a problem. `open` is the key before it, if there is one.
pub(super) fn explain(
    text: &str,
    at: usize,
    kind: &ErrorKind,
    open: Option<&Key<'_>>,
) -> SpannedProblem {
    let at = text.floor_char_boundary(at.min(text.len()));
    let here = at..at + text[at..].chars().next().map_or(0, char::len_utf8);
    match kind {
        ErrorKind::RecursionLimitExceeded => return too_deep(at),
        ErrorKind::DirectiveDisallowed => {
            return SpannedProblem::error(
                "directive",
                here,
                "directives (`%YAML`, `%TAG`) are refused: a tool's file needs none",
            )
            .help("remove the line; a text that begins with `%` is put in quotes");
        }
        _ => {}
    }
    // A tab where the line begins is what is wrong, whatever the parser tripped over.
    let line = line_around(text, at);
    let indent = text[line.clone()].len() - text[line.clone()].trim_start().len();
    if let Some(tab) = text[line.start..line.start + indent].find('\t') {
        let tab = line.start + tab;
        return SpannedProblem::error(
            "tab-indentation",
            tab..tab + 1,
            "this line is indented with a tab; YAML counts spaces only",
        )
        .help("indent with spaces, two a level");
    }
    if let Some(found) = unclosed(text, at) {
        return found;
    }
    if let Some(found) = unquoted(text, at, open) {
        return found;
    }
    let message = match kind {
        ErrorKind::UnclosedQuotedScalar | ErrorKind::InvalidQuotedScalarIndent => {
            let value = open.and_then(|key| line_value(text, key.span.end));
            let value = value.filter(|value| text[value.clone()].starts_with(['"', '\'']));
            let message = "the quoted text that begins here does not end";
            return SpannedProblem::error("yaml-syntax", value.unwrap_or(here), message)
                .help("close the quote; a quote within it is written twice ('') or as \\\"");
        }
        ErrorKind::UnclosedFlowCollection { open } => {
            format!("`{open}` is never closed")
        }
        ErrorKind::ExpectedBlockMappingKey
        | ErrorKind::InvalidIndentation
        | ErrorKind::SimpleKeyExpected
        | ErrorKind::MappingValueNotAllowed
        | ErrorKind::ExpectedBlockSequenceEntry
        | ErrorKind::BlockSequenceEntryNotAllowed
        | ErrorKind::ExpectedDocumentStart => {
            return misplaced(text, at, open);
        }
        other => format!("this is not YAML: {other}"),
    };
    SpannedProblem::error("yaml-syntax", here, message)
}

/// A list or mapping in brackets before `at` that is never closed, where it begins: `tags: [read`.
fn unclosed(text: &str, at: usize) -> Option<SpannedProblem> {
    let here = line_around(text, at).start;
    let mut line = here;
    for _ in 0..MAX_LINES_ABOVE {
        if let Some(found) = unclosed_in(text, line, here) {
            return Some(found);
        }
        line = line_around(text, line.checked_sub(1)?).start;
    }
    None
}

/// How far above the place where the parser stumbled a bracket may have been opened.
const MAX_LINES_ABOVE: usize = 100;

/// The bracket that the value of a line begins with, if what belongs to the line does not close it and reaches `here`.
fn unclosed_in(text: &str, line: usize, here: usize) -> Option<SpannedProblem> {
    let value = line_value(text, line)?;
    let bracket = text[value.clone()].chars().next();
    let bracket = bracket.filter(|c| matches!(c, '[' | '{'))?;
    let indent = |line: &str| line.len() - line.trim_start().len();
    let own = indent(&text[line_around(text, line)]);
    // What continues it is indented by more than its key; a bracket that closes may be in the same column.
    let continues = |line: &&str| {
        line.trim().is_empty() || indent(line) > own || line.trim_start().starts_with([']', '}'])
    };
    let below = line_around(text, line).end;
    let below = text[below..]
        .find('\n')
        .map_or(text.len(), |end| below + end + 1);
    let more = text[below..].split_inclusive('\n').take_while(continues);
    let end = below + more.map(str::len).sum::<usize>();
    if end < here || depth(&text[value.start..end]) <= 0 {
        return None;
    }
    let close = if bracket == '[' { ']' } else { '}' };
    let message = format!("the `{bracket}` that begins here is never closed");
    let found = SpannedProblem::error("yaml-syntax", value, message);
    Some(found.help(format!(
        "close it with `{close}`; a command that begins with `{bracket}` is put in quotes"
    )))
}

/// How many brackets of a text are open at its end, quotes and comments aside.
fn depth(text: &str) -> i32 {
    let (mut depth, mut quote, mut before) = (0, None, ' ');
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some('"'), '\\') => drop(chars.next()),
            (Some(open), c) if open == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') if matches!(before, ' ' | '\n' | '[' | '{' | ',') => quote = Some(c),
            (None, '#') if before.is_whitespace() => drop(chars.by_ref().find(|c| *c == '\n')),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth -= 1,
            (None, _) => {}
        }
        before = c;
    }
    depth
}

/// A line that the parser could not fit in.
fn misplaced(text: &str, at: usize, open: Option<&Key<'_>>) -> SpannedProblem {
    let line = line_around(text, at);
    let start = line.start + (text[line.clone()].len() - text[line.clone()].trim_start().len());
    let content = text[line.clone()].trim_end();
    let span = start..(line.start + content.len()).max(start);
    let words = text[span.clone()].trim();
    let block = open.and_then(|key| line_value(text, key.span.end));
    if let (Some(key), Some("|" | ">" | "|-" | ">-")) = (open, block.map(|block| &text[block])) {
        let message = format!(
            "the text of `{}` is not indented, so it does not belong to it",
            shorten(&key.text, 60)
        );
        return SpannedProblem::error("indentation", span, message)
            .help("indent every line of the text by two spaces more than its key");
    }
    let key = words
        .trim_start_matches("- ")
        .split_once(':')
        .map(|(key, _)| key)
        .filter(|key| !key.is_empty() && !key.contains(' '));
    let column = |at: usize| text[line_around(text, at).start..at].chars().count();
    match (key, open) {
        (Some(key), Some(before)) if line_around(text, before.span.start) != line => {
            let message = format!(
                "`{}` is indented by {} spaces, which fits neither the fields around it nor `{}` before it",
                shorten(key, 60),
                column(start),
                shorten(&before.text, 60)
            );
            let help = format!(
                "fields that belong together begin in the same column; `{}` begins in column {}",
                shorten(&before.text, 60),
                column(before.span.start) + 1
            );
            SpannedProblem::error("indentation", span, message).help(help)
        }
        _ => {
            let message = "this line is neither `key: value` nor `- item`, nor does it continue the one before";
            SpannedProblem::error("yaml-syntax", span, message).help(
                "a text of several lines begins with `|` after the colon, or is put in quotes",
            )
        }
    }
}

/// A value that needs quotes: `bash: {X} foo`, `bash: "a" b`, `bash: echo a: b`, `bash: @x`.
fn unquoted(text: &str, at: usize, open: Option<&Key<'_>>) -> Option<SpannedProblem> {
    let line = line_around(text, at.min(text.len()));
    let value = line_value(text, at).or_else(|| {
        // The parser may be on the next line already.
        open.and_then(|key| line_value(text, key.span.end))
    })?;
    let key_line = line_around(text, value.start);
    if key_line != line && line.start.saturating_sub(key_line.end) > 1 {
        return None;
    }
    let written = &text[value.clone()];
    let first = written.chars().next()?;
    let name = text[key_line.start..value.start]
        .trim()
        .trim_start_matches("- ")
        .trim_end()
        .trim_end_matches(':')
        .to_owned();
    let reason = match first {
        '{' if !closes_at_end(written) => {
            "a value that begins with `{` is a mapping to YAML, and more follows it"
        }
        '[' if !closes_at_end(written) => {
            "a value that begins with `[` is a list to YAML, and more follows it"
        }
        '"' | '\'' if written.len() > 1 && !ends_with_its_quote(written, first) => {
            "a value that begins with a quote ends with it to YAML, and more follows it"
        }
        '@' | '`' | '%' => "no value can begin with this character to YAML",
        '&' | '*' | '!' => "a value that begins with this character means something else to YAML",
        '|' | '>' if written.len() > 1 => "after `|` or `>` the text begins on the next line",
        c if !matches!(c, '{' | '[' | '"' | '\'' | '|' | '>' | '#') && written.contains(": ") => {
            "`: ` within a value makes it a key to YAML"
        }
        _ => return None,
    };
    let message = format!(
        "the value of `{}` needs quotes: {reason}",
        shorten(&name, 60)
    );
    let help = match first {
        '|' | '>' => "begin the text on the next line, indented by two spaces",
        _ => "put the command in quotes, or begin it on the next line after `|`",
    };
    let found = SpannedProblem::error("needs-quotes", value.clone(), message).help(help);
    Some(match first {
        '|' | '>' => found,
        _ => found.fix(value, quoted(written)),
    })
}

fn closes_at_end(written: &str) -> bool {
    let mut depth = 0_usize;
    for (at, c) in written.char_indices() {
        match c {
            '{' | '[' => depth += 1,
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return written[at + 1..].trim().is_empty();
                }
            }
            _ => {}
        }
    }
    // It may close on a later line.
    true
}

fn ends_with_its_quote(written: &str, quote: char) -> bool {
    let rest = &written[1..];
    match rest.find(quote) {
        None => true,
        Some(end) => rest[end + 1..].trim().is_empty(),
    }
}

/// The line that a place is on, without its end.
fn line_around(text: &str, at: usize) -> Range<usize> {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
    let end = start + text[start..end].trim_end_matches('\r').len();
    start..end.max(start)
}

/// The text after `key: ` or `- ` on a place's line, up to a comment.
fn line_value(text: &str, at: usize) -> Option<Range<usize>> {
    let line = line_around(text, at);
    let content = &text[line.clone()];
    let mut start = content.len() - content.trim_start().len();
    while content[start..].starts_with("- ") {
        start += 2;
        start += content[start..].len() - content[start..].trim_start().len();
    }
    let rest = &content[start..];
    // A key is a word; what has blanks in it is a command with a colon.
    if let Some((key, _)) = rest.split_once(": ")
        && !key.is_empty()
        && key
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
    {
        start += key.len() + 2;
        start += content[start..].len() - content[start..].trim_start().len();
    } else if start == content.len() - content.trim_start().len() {
        return None;
    }
    let value = &content[start..];
    let value = value.split(" #").next().unwrap_or_default().trim_end();
    (!value.is_empty()).then(|| line.start + start..line.start + start + value.len())
}

/// A text as YAML with single quotes, in which nothing means anything else.
pub(in crate::definition) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
