//! JSON as a bounded tree in which every key and value knows its place in the file, as YAML tools have one.
//!
//! S4's examples have comments, so `//`, `/* */` and a comma at the end are read. Everything else is RFC 8259, and a key that
//! is twice is an error: two readers would take different ones. A slip (a key without quotes, single quotes, a missing comma) is
//! reported with its fix, and reading goes on, so that the rest is said too.
//!
//! A key's place is what is between its quotes, so that a fix can replace the name alone.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use crate::definition::problem::{Findings, SpannedProblem};
use crate::definition::yaml::{Content, Entry, Key, MAX_NODES, Node, Scalar, Style};
use crate::model::budget::Budget;
use crate::model::text::shorten;

/// The deepest nesting: schemas need more than YAML tools do.
const MAX_DEPTH: usize = 64;
/// The longest text of one value.
const MAX_TEXT_BYTES: usize = 64 * 1024;

/// What a reader lets pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rigour {
    /// Comments and commas at the end.
    File,
    /// RFC 8259 and nothing else.
    Strict,
}

/// What came of parsing.
pub(super) struct Parsed<'a> {
    /// What the text says, as far as it could be read; `None` for one that says nothing.
    pub(super) root: Option<Node<'a>>,
    /// Whether all of it could be read.
    pub(super) whole: bool,
}

/// Parses a text; everything that is wrong goes to `found`.
pub(super) fn parse<'a>(found: &mut Findings<'a>, rigour: Rigour) -> Parsed<'a> {
    let mut reader = Reader {
        text: found.text,
        at: 0,
        rigour,
        budget: Budget::new(MAX_NODES as u64, 0),
        stopped: false,
        found,
    };
    reader.blank();
    if reader.stopped || reader.peek().is_none() {
        let whole = !reader.stopped;
        return Parsed { root: None, whole };
    }
    let root = reader.value(0);
    reader.blank();
    if !reader.stopped && reader.peek().is_some() {
        reader.stop(
            reader.word(),
            "there is text after the end",
            "a file holds one tool: an object from `{` to `}`",
        );
    }
    Parsed {
        root: Some(root),
        whole: !reader.stopped,
    }
}

struct Reader<'a, 'f> {
    text: &'a str,
    at: usize,
    rigour: Rigour,
    /// Each value is a step.
    budget: Budget,
    /// Whether there is no use in going on.
    stopped: bool,
    found: &'f mut Findings<'a>,
}

impl<'a> Reader<'a, '_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// A description of the text here.
    fn word(&self) -> Range<usize> {
        let rest = self.rest();
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | '$');
        let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        let first = rest.chars().next().map_or(0, char::len_utf8);
        self.at..self.at + end.max(first)
    }

    fn stop(&mut self, span: Range<usize>, message: impl Into<String>, help: &str) {
        if !self.stopped {
            let problem = SpannedProblem::error("json-syntax", span, message);
            self.found.push(problem.help(help));
        }
        self.stopped = true;
    }

    fn too_much(&mut self, span: Range<usize>, message: String) {
        if !self.stopped {
            self.found
                .push(SpannedProblem::error("too-much", span, message));
        }
        self.stopped = true;
    }

    /// Passes over blanks and comments.
    fn blank(&mut self) {
        loop {
            let rest = self.rest();
            let blanks = rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
            self.at += blanks;
            let rest = self.rest();
            let length = if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if let Some(inside) = rest.strip_prefix("/*") {
                match inside.find("*/") {
                    Some(end) => end + 4,
                    None => {
                        self.stop(
                            self.at..self.at + 2,
                            "the comment that begins here does not end",
                            "close it with `*/`",
                        );
                        self.at = self.text.len();
                        return;
                    }
                }
            } else {
                return;
            };
            if self.rigour == Rigour::Strict {
                self.stop(self.at..self.at + 2, "JSON has no comments", "remove it");
                return;
            }
            self.at += length;
        }
    }

    fn node(&mut self, span: Range<usize>, content: Content<'a>) -> Node<'a> {
        if self.budget.step(1).is_err() {
            let message = format!("the file holds more than {MAX_NODES} values");
            self.too_much(span.clone(), message);
        }
        Node { span, content }
    }

    fn refused(&self, start: usize) -> Node<'a> {
        Node {
            span: start..self.at.max(start),
            content: Content::Refused,
        }
    }

    fn value(&mut self, depth: usize) -> Node<'a> {
        let start = self.at;
        if depth > MAX_DEPTH {
            let message = format!("the file is nested more than {MAX_DEPTH} levels deep");
            self.too_much(start..start + 1, message);
            return self.refused(start);
        }
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.list(depth),
            Some(b'"' | b'\'') => {
                let Some((text, _)) = self.string() else {
                    return self.refused(start);
                };
                let span = start..self.at;
                if text.len() > MAX_TEXT_BYTES {
                    let message = format!(
                        "this text has {} bytes; a value may have {MAX_TEXT_BYTES}",
                        text.len()
                    );
                    self.too_much(span.clone(), message);
                }
                let style = Style::Quoted;
                self.node(span, Content::Scalar(Scalar { text, style }))
            }
            Some(_) => self.bare(),
            None => {
                self.stop(
                    start..start,
                    "a value is missing at the end of the file",
                    "the file ends in the middle; close what is open",
                );
                self.refused(start)
            }
        }
    }

    /// `true`, `false`, `null` or a number.
    fn bare(&mut self) -> Node<'a> {
        let span = self.word();
        let word = &self.text[span.clone()];
        let is_value = matches!(word, "true" | "false" | "null") || is_number(word);
        if is_value {
            self.at = span.end;
            let scalar = Scalar {
                text: Cow::Borrowed(word),
                style: Style::Plain,
            };
            return self.node(span, Content::Scalar(scalar));
        }
        let meant = match word {
            "True" | "TRUE" => Some("true"),
            "False" | "FALSE" => Some("false"),
            "None" | "nil" | "undefined" | "NULL" | "Null" => Some("null"),
            _ => None,
        };
        let is_text = word.starts_with(|c: char| c.is_alphabetic() || c == '_');
        if let Some(meant) = meant {
            let message = format!("`{word}` is not a JSON value");
            let problem = SpannedProblem::error("json-syntax", span.clone(), message);
            self.found.push(
                problem
                    .help(format!("write `{meant}`"))
                    .fix(span.clone(), meant),
            );
            self.at = span.end;
        } else if is_text {
            let message = format!("the text `{}` has no quotes", shorten(word, 40));
            let problem = SpannedProblem::error("json-syntax", span.clone(), message);
            self.found.push(problem.help("put texts in double quotes"));
            self.at = span.end;
        } else if self.peek() == Some(b'}')
            || self.peek() == Some(b']')
            || self.peek() == Some(b',')
        {
            let message = "a value is missing here";
            let problem = SpannedProblem::error("json-syntax", span.clone(), message);
            self.found
                .push(problem.help("write one, or remove the key"));
        } else {
            let message = format!("`{}` begins no value", shorten(word, 40));
            self.stop(span.clone(), message, "a value is a text in double quotes, a number, true, false, null, an object or a list");
        }
        self.refused(span.start)
    }

    fn list(&mut self, depth: usize) -> Node<'a> {
        let start = self.at;
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.blank();
            match self.peek() {
                _ if self.stopped => break,
                Some(b']') => {
                    self.at += 1;
                    break;
                }
                None => {
                    self.stop(
                        start..start + 1,
                        "this `[` is never closed",
                        "close the list with `]`",
                    );
                    break;
                }
                Some(_) if self.left_out() => {}
                Some(_) => {
                    items.push(self.value(depth + 1));
                    self.comma(b']');
                }
            }
        }
        self.node(start..self.at, Content::List(items))
    }

    fn object(&mut self, depth: usize) -> Node<'a> {
        let start = self.at;
        self.at += 1;
        let mut entries: Vec<Entry<'a>> = Vec::new();
        let mut keys: HashSet<String> = HashSet::new();
        loop {
            self.blank();
            match self.peek() {
                _ if self.stopped => break,
                Some(b'}') => {
                    self.at += 1;
                    break;
                }
                None => {
                    self.stop(
                        start..start + 1,
                        "this `{` is never closed",
                        "close the object with `}`",
                    );
                    break;
                }
                Some(_) if self.left_out() => {}
                Some(_) => {
                    let Some(key) = self.key() else { break };
                    self.blank();
                    if self.stopped {
                        break;
                    }
                    if self.peek() != Some(b':') {
                        let message = format!(
                            "`{}` has no value: a colon is missing",
                            shorten(&key.text, 40)
                        );
                        self.stop(key.span, message, "write `\"key\": value`");
                        break;
                    }
                    self.at += 1;
                    self.blank();
                    let value = self.value(depth + 1);
                    match keys.insert(key.text.clone().into_owned()) {
                        true => entries.push(Entry { key, value }),
                        false => self.duplicate(&key, &entries),
                    }
                    self.comma(b'}');
                }
            }
        }
        self.node(start..self.at, Content::Map(entries))
    }

    /// `...`, as documents write what they leave out.
    fn left_out(&mut self) -> bool {
        let dots = ["...", "…"]
            .into_iter()
            .find(|dots| self.rest().starts_with(dots));
        let Some(dots) = dots else { return false };
        let span = self.at..self.at + dots.len();
        let message = format!("`{dots}` stands for something that was left out");
        let problem = SpannedProblem::error("json-syntax", span, message);
        self.found
            .push(problem.help("write out what belongs here, or remove it"));
        self.at += dots.len();
        self.blank();
        if self.peek() == Some(b',') {
            self.at += 1;
        }
        true
    }

    fn duplicate(&mut self, key: &Key<'a>, entries: &[Entry<'a>]) {
        let first = entries.iter().find(|entry| entry.key.text == key.text);
        let line = first.map_or(0, |entry| {
            self.text[..entry.key.span.start].matches('\n').count() + 1
        });
        let message = format!(
            "`{}` is given twice; the first is on line {line}",
            shorten(&key.text, 60)
        );
        let problem = SpannedProblem::error("duplicate-key", key.span.clone(), message);
        self.found.push(problem.help("remove one of them"));
    }

    /// A key; one without quotes is taken for what it means.
    fn key(&mut self) -> Option<Key<'a>> {
        let start = self.at;
        if let Some(b'"' | b'\'') = self.peek() {
            let (text, inside) = self.string()?;
            return Some(Key { text, span: inside });
        }
        let span = self.word();
        let word = &self.text[span.clone()];
        if !word.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '$')) {
            let message = format!("`{}` begins no key", shorten(word, 40));
            let help = "an object is `{\"key\": value, …}`; keys stand in double quotes";
            self.stop(start..span.end, message, help);
            return None;
        }
        self.at = span.end;
        let message = format!("the key `{}` has no quotes", shorten(word, 40));
        self.found.push(
            SpannedProblem::error("json-syntax", span.clone(), message)
                .help(format!("write `\"{}\"`", shorten(word, 40)))
                .fix(span.clone(), format!("\"{word}\"")),
        );
        Some(Key {
            text: Cow::Borrowed(word),
            span,
        })
    }

    /// The text between two entries.
    fn comma(&mut self, close: u8) {
        self.blank();
        if self.stopped {
            return;
        }
        match self.peek() {
            Some(b',') => {
                let comma = self.at;
                self.at += 1;
                self.blank();
                if self.rigour == Rigour::Strict && self.peek() == Some(close) {
                    self.stop(comma..comma + 1, "nothing follows this comma", "remove it");
                }
            }
            Some(byte) if byte == close => {}
            // Reported where the end is looked for.
            None => {}
            Some(b'"' | b'{' | b'[') => {
                let before = self.text[..self.at].trim_end().len();
                let problem = SpannedProblem::error(
                    "json-syntax",
                    self.word(),
                    "a comma is missing before this",
                );
                // A comment may stand between, so the fix is only certain without one.
                let is_plain = self.text[before..self.at].trim().is_empty()
                    && !self.text[..before].ends_with("*/")
                    && !self.text[..before]
                        .lines()
                        .next_back()
                        .is_some_and(|line| line.contains("//"));
                self.found.push(match is_plain {
                    true => problem
                        .help("add one after the previous value")
                        .fix(before..before, ","),
                    false => problem.help("add one after the previous value"),
                });
            }
            Some(_) => {
                let message = format!(
                    "`{}` was not expected here",
                    shorten(&self.text[self.word()], 40)
                );
                let help = match close {
                    b'}' => "entries of an object are separated by commas and end with `}`",
                    _ => "entries of a list are separated by commas and end with `]`",
                };
                self.stop(self.word(), message, help);
            }
        }
    }

    /// A text in quotes, and where what is between them is.
    fn string(&mut self) -> Option<(Cow<'a, str>, Range<usize>)> {
        let start = self.at;
        let quote = self.peek()?;
        if quote == b'\'' {
            let message = "a JSON string needs double quotes";
            let problem = SpannedProblem::error("json-syntax", start..start + 1, message);
            self.found.push(problem.help("write `\"…\"`"));
        }
        self.at += 1;
        let inside = self.at;
        let mut owned: Option<String> = None;
        let mut run = inside;
        loop {
            let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
            let stop = |byte: &u8| *byte == quote || *byte == b'\\' || *byte < 0x20;
            let Some(length) = rest.iter().position(stop) else {
                self.unclosed(start);
                return None;
            };
            self.at += length;
            match self.peek() {
                Some(byte) if byte == quote => {
                    let text = match owned {
                        None => Cow::Borrowed(&self.text[inside..self.at]),
                        Some(mut text) => {
                            text.push_str(&self.text[run..self.at]);
                            Cow::Owned(text)
                        }
                    };
                    let span = inside..self.at;
                    self.at += 1;
                    return Some((text, span));
                }
                Some(b'\\') => {
                    let text = owned.get_or_insert_default();
                    text.push_str(&self.text[run..self.at]);
                    match escape(self.rest(), quote) {
                        Ok((c, length)) => {
                            text.push(c);
                            self.at += length;
                        }
                        Err((why, length)) => {
                            let span = self.at..self.text.floor_char_boundary(self.at + length);
                            let problem = SpannedProblem::error("json-syntax", span, why);
                            self.found.push(problem.help("a backslash is written `\\\\`, a quote `\\\"`, any character `\\u` and four digits"));
                            // What comes after the backslash may be a character of several bytes.
                            self.at += 1;
                            let next = self.rest().chars().next().map_or(0, char::len_utf8);
                            self.at += next;
                        }
                    }
                    run = self.at;
                }
                Some(b'\n' | b'\r') => {
                    self.unclosed(start);
                    return None;
                }
                Some(byte) => {
                    let message = format!("U+{byte:04X} cannot stand in a text of JSON as it is");
                    let problem =
                        SpannedProblem::error("json-syntax", self.at..self.at + 1, message);
                    self.found.push(
                        problem
                            .help(format!("write `\\u{byte:04x}`"))
                            .fix(self.at..self.at + 1, format!("\\u{byte:04x}")),
                    );
                    self.at += 1;
                }
                None => {
                    self.unclosed(start);
                    return None;
                }
            }
        }
    }

    fn unclosed(&mut self, start: usize) {
        let line = self.text[start..].lines().next().unwrap_or_default();
        let span = start..start + line.trim_end().len();
        self.stop(
            span,
            "the text that begins here does not end on its line",
            "close it with `\"`; a line end within it is written `\\n`",
        );
    }
}

/// Whether a word is a number as JSON writes one.
fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c == '-' || c.is_ascii_digit())
        && word.len() <= 400
        && serde_json::from_str::<serde_json::Number>(word).is_ok()
}

/// The character that an escape stands for and how long it is; or why it is none, and how long that is.
fn escape(text: &str, quote: u8) -> Result<(char, usize), (String, usize)> {
    let plain = match text.as_bytes().get(1) {
        Some(b'"') => '"',
        Some(b'\\') => '\\',
        Some(b'/') => '/',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'\'') if quote == b'\'' => '\'',
        Some(b'u') => return unicode(text),
        _ => {
            let shown: String = text.chars().take(2).collect();
            return Err((
                format!("`{}` is not an escape in JSON", shorten(&shown, 8)),
                2,
            ));
        }
    };
    Ok((plain, 2))
}

fn unicode(text: &str) -> Result<(char, usize), (String, usize)> {
    let digits = |at: usize| {
        let digits = text.get(at..at + 4)?;
        let all = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        all.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
    };
    let Some(first) = digits(2) else {
        return Err(("`\\u` needs four hexadecimal digits".to_owned(), 2));
    };
    let alone = || (format!("`\\u{first:04x}` is half of a character"), 6);
    match first {
        0xd800..0xdc00 => {
            let second = match text.get(6..8) {
                Some("\\u") => digits(8),
                _ => None,
            };
            let second = second
                .filter(|second| (0xdc00..0xe000).contains(second))
                .ok_or_else(alone)?;
            let whole = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            char::from_u32(whole).map(|c| (c, 12)).ok_or_else(alone)
        }
        first => char::from_u32(first).map(|c| (c, 6)).ok_or_else(alone),
    }
}

/// How far a text was followed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Followed {
    /// Where the text begins in the file.
    begin: usize,
    /// A byte of the text, and where that is in the file.
    read: usize,
    at: usize,
}

/// Where a byte of a text is in the file: `span` is that of the value in its quotes. Goes on from where the last look at the same text
/// ended, so that many places in order cost no more than one.
pub(super) fn place(
    file: &str,
    span: &Range<usize>,
    offset: usize,
    followed: &mut Followed,
) -> usize {
    let begin = span.start + 1;
    let end = span.end.saturating_sub(1).max(begin);
    let (mut read, mut at) = match followed.begin == begin && followed.read <= offset {
        true => (followed.read, followed.at),
        false => (0, begin),
    };
    while read < offset && at < end {
        let rest = &file[at..end];
        if rest.starts_with('\\') {
            match escape(rest, b'"') {
                Ok((c, length)) => {
                    read += c.len_utf8();
                    at += length;
                }
                Err(_) => at += 1,
            }
        } else {
            let next = rest.chars().next().map_or(1, char::len_utf8);
            read += next;
            at += next;
        }
    }
    *followed = Followed { begin, read, at };
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::values;
    use crate::manifest::fields::DIALECT;

    fn read(text: &str) -> (serde_json::Value, Vec<SpannedProblem>) {
        let mut found = Findings::of(text, &DIALECT);
        let parsed = parse(&mut found, Rigour::File);
        let value = parsed
            .root
            .map_or(serde_json::Value::Null, |root| values::json(&root));
        (value, found.into_list())
    }

    #[test]
    fn comments_and_a_comma_at_the_end_are_read() {
        let text =
            "// first\n{ /* a */ \"a\": [1, 2,], // b\n \"b\" /* c */ : \"x // y\", }\n// last";
        let (value, found) = read(text);
        assert_eq!(found, []);
        assert_eq!(value, serde_json::json!({"a": [1, 2], "b": "x // y"}));
    }

    #[test]
    fn what_json_is_reads_as_serde_reads_it() {
        for text in [
            r#"{"a": "\u00e9\ud83d\ude00\n\"\\\/", "b": [-1.5e3, 0, true, false, null], "": {}}"#,
            "[]",
            "\"x\"",
            " 12 ",
        ] {
            let (value, found) = read(text);
            assert_eq!(found, []);
            assert_eq!(
                value,
                serde_json::from_str::<serde_json::Value>(text).unwrap()
            );
        }
    }

    #[test]
    fn what_is_wrong_is_said_at_its_place_and_reading_goes_on() {
        for (text, pointed, count) in [
            (r#"{a: 1, "b": True}"#, "a", 2),
            (r#"{"a": 'x'}"#, "'", 1),
            ("{\"a\": 1\n \"b\": 2}", "\"", 1),
            (r#"{"a": 1, "a": 2}"#, "a", 1),
            (r#"{"a": { ... }, "b": 01}"#, "...", 2),
            (r#"{"a": "\q", "b": "\ud800"}"#, "\\q", 2),
            ("{\"a\": \"x\ty\"}", "\t", 1),
            (r#"{"a": 1"#, "{", 1),
            (r#"{"a" 1}"#, "a", 1),
            ("{} {}", "{", 1),
            ("/* never", "/*", 1),
            ("/*/ {}", "/*", 1),
            (r#"{"a": "x"#, "\"x", 1),
            (r#"{"a": }"#, "}", 1),
            (r#"{"a": 1e999}"#, "1e999", 1),
        ] {
            let (_, found) = read(text);
            assert_eq!(found.len(), count, "{text}: {found:?}");
            assert_eq!(&text[found[0].span.clone()], pointed, "{text}: {found:?}");
        }
    }

    #[test]
    fn depth_and_number_of_values_are_bounded() {
        for text in [
            "[".repeat(100_000),
            "{\"a\":".repeat(50_000),
            format!("[{}0]", "0,".repeat(MAX_NODES)),
        ] {
            let (_, found) = read(&text);
            assert_eq!(found[0].code, "too-much");
        }
    }

    #[test]
    fn strict_json_has_no_comments_and_no_comma_at_the_end() {
        for text in ["[1,]", "{\"a\": 1,}", "[1] // x", "[/**/]"] {
            let mut found = Findings::of(text, &DIALECT);
            let parsed = parse(&mut found, Rigour::Strict);
            assert!(!parsed.whole, "{text}");
        }
    }

    #[test]
    fn a_byte_of_a_text_has_a_place_in_the_file() {
        let file = r#"  "a\n\u00e9b""#;
        let span = 2..file.len();
        let text = "a\né".len();
        let mut followed = Followed::default();
        assert_eq!(&file[place(file, &span, text, &mut followed)..], "b\"");
        assert_eq!(place(file, &span, text, &mut followed), file.len() - 2);
        assert_eq!(place(file, &span, 0, &mut followed), 3);
    }
}
