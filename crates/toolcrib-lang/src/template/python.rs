//! Where in a Python text something is: in code, in a string, in a comment.

use std::ops::Range;

/// A stretch of a text that is not code.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Stretch {
    Comment,
    Text(Literal),
    /// It never ends.
    Unclear,
}

/// A string literal.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Literal {
    /// The prefix before the quotes: `r`, `f`, `b` …
    pub(super) prefix: String,
    /// The quotes: one or three.
    pub(super) quotes: String,
}

/// A text's stretches that are not code, in order, prefixes and quotes included.
pub(super) fn read(text: &str) -> Vec<(Range<usize>, Stretch)> {
    let bytes = text.as_bytes();
    let mut stretches = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        match bytes[at] {
            b'#' => {
                while at < bytes.len() && bytes[at] != b'\n' {
                    at += 1;
                }
                stretches.push((start..at, Stretch::Comment));
            }
            b'\'' | b'"' => {
                let end = string(bytes, at);
                at = push(text, start, start, end, &mut stretches);
            }
            byte if byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80 => {
                while at < bytes.len()
                    && (bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_' || bytes[at] >= 0x80)
                {
                    at += 1;
                }
                let word = &text[start..at];
                let prefix = word.len() <= 2
                    && word.bytes().all(|byte| b"rRbBuUfF".contains(&byte))
                    && matches!(bytes.get(at), Some(b'\'' | b'"'));
                if prefix {
                    let end = string(bytes, at);
                    at = push(text, start, at, end, &mut stretches);
                }
            }
            _ => at += 1,
        }
    }
    stretches
}

/// Notes a literal and says where it ends.
fn push(
    text: &str,
    start: usize,
    open: usize,
    end: Option<(usize, usize)>,
    stretches: &mut Vec<(Range<usize>, Stretch)>,
) -> usize {
    match end {
        Some((end, quotes)) => {
            stretches.push((
                start..end,
                Stretch::Text(Literal {
                    prefix: text[start..open].to_owned(),
                    quotes: text[open..open + quotes].to_owned(),
                }),
            ));
            end
        }
        None => {
            stretches.push((start..text.len(), Stretch::Unclear));
            text.len()
        }
    }
}

/// Where a literal ends that opens here, and how many quotes it has; `None` when it never does.
fn string(bytes: &[u8], open: usize) -> Option<(usize, usize)> {
    let quote = bytes[open];
    let triple = bytes[open..].starts_with(&[quote; 3]);
    let quotes = if triple { 3 } else { 1 };
    let mut at = open + quotes;
    while at < bytes.len() {
        match bytes[at] {
            // In raw strings a backslash keeps the quote after it, too.
            b'\\' => at += 2,
            b'\n' if !triple => return None,
            byte if byte == quote && (!triple || bytes[at..].starts_with(&[quote; 3])) => {
                return Some((at + quotes, quotes));
            }
            _ => at += 1,
        }
    }
    None
}
