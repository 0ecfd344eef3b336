//! Where in a JavaScript text something stands: in code, in a string, in a comment.
//!
//! A regular expression and a division look alike; which it is depends on what stands before. Where that is not certain, so is
//! nothing after it ([`Place::Unclear`]).

use std::ops::Range;

/// Where something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Code,
    /// In `'…'` or `"…"`.
    Quotes,
    /// In the text of `` `…` ``.
    Template,
    Regex,
    Comment,
    Unclear,
}

/// A text's stretches that are not code.
#[derive(Debug, Default)]
pub(super) struct Lexed {
    /// In the order of the text, quotes included.
    pub(super) stretches: Vec<(Range<usize>, Place)>,
}

impl Lexed {
    /// Reads a text. Never fails: what never ends reaches to the end and is unclear.
    pub(super) fn read(text: &str) -> Lexed {
        let mut reader = Reader {
            bytes: text.as_bytes(),
            at: 0,
            stretches: Vec::new(),
            before: Before::Operator,
            word: "",
            text,
        };
        reader.code(0);
        Lexed {
            stretches: reader.stretches,
        }
    }

    /// Where a stretch of the text stands.
    pub(super) fn place(&self, range: Range<usize>) -> Place {
        self.stretch(range).map_or(Place::Code, |(_, place)| *place)
    }

    /// What the stretch stands in, when that is not code.
    pub(super) fn stretch(&self, range: Range<usize>) -> Option<&(Range<usize>, Place)> {
        self.stretches
            .iter()
            .find(|(stretch, _)| stretch.start < range.end && range.start < stretch.end)
    }
}

/// What stands before a slash.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Before {
    /// After it an expression begins, and a slash is a regular expression.
    Operator,
    /// An expression has ended, and a slash divides.
    Value,
    /// A closing bracket that may end either.
    Either,
}

const MAX_DEPTH: usize = 64;

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    stretches: Vec<(Range<usize>, Place)>,
    before: Before,
    /// The word just read, if the last thing was one.
    word: &'a str,
}

impl Reader<'_> {
    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn give_up(&mut self, from: usize) {
        self.at = self.bytes.len();
        self.stretches.push((from..self.at, Place::Unclear));
    }

    /// Code up to the end, or to the brace that closes `${`.
    fn code(&mut self, depth: usize) {
        if depth > MAX_DEPTH {
            return self.give_up(self.at);
        }
        let mut open = 0usize;
        // What a slash after the closing parenthesis is: `if (x) /re/`, `(a) / b`.
        let mut parentheses: Vec<Before> = Vec::new();
        while let Some(byte) = self.peek(0) {
            let start = self.at;
            let word = std::mem::take(&mut self.word);
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => {
                    self.at += 1;
                    self.word = word;
                }
                b'\'' | b'"' => {
                    self.quotes(byte);
                    self.before = Before::Value;
                }
                b'`' => {
                    self.template(depth);
                    self.before = Before::Value;
                }
                b'/' if self.peek(1) == Some(b'/') => {
                    while self.peek(0).is_some_and(|byte| byte != b'\n') {
                        self.at += 1;
                    }
                    self.stretches.push((start..self.at, Place::Comment));
                }
                b'/' if self.peek(1) == Some(b'*') => match find(&self.bytes[start + 2..], b"*/") {
                    Some(end) => {
                        self.at = start + 2 + end + 2;
                        self.stretches.push((start..self.at, Place::Comment));
                    }
                    None => self.give_up(start),
                },
                b'/' => match self.before {
                    Before::Operator => {
                        self.regex();
                        self.before = Before::Value;
                    }
                    Before::Value => {
                        self.at += 1;
                        self.before = Before::Operator;
                    }
                    Before::Either => self.give_up(start),
                },
                b'{' => {
                    open += 1;
                    self.at += 1;
                    self.before = Before::Operator;
                }
                b'}' => {
                    if open == 0 && depth > 0 {
                        return;
                    }
                    open = open.saturating_sub(1);
                    self.at += 1;
                    self.before = Before::Either;
                }
                b'(' => {
                    self.at += 1;
                    parentheses.push(match word {
                        "if" | "while" | "for" | "with" => Before::Operator,
                        _ => Before::Value,
                    });
                    self.before = Before::Operator;
                }
                b')' => {
                    self.at += 1;
                    self.before = parentheses.pop().unwrap_or(Before::Either);
                }
                b']' => {
                    self.at += 1;
                    self.before = Before::Value;
                }
                b'+' | b'-' if self.peek(1) == Some(byte) => {
                    // `a++ / b` or `++ /re/`
                    self.at += 2;
                    if self.before == Before::Value {
                        self.before = Before::Either;
                    }
                }
                _ if is_word(byte) => {
                    while self.peek(0).is_some_and(is_word) {
                        self.at += 1;
                    }
                    self.word = &self.text[start..self.at];
                    self.before = match self.word {
                        "return" | "typeof" | "instanceof" | "in" | "of" | "new" | "delete"
                        | "void" | "throw" | "case" | "do" | "else" | "yield" | "await" => {
                            Before::Operator
                        }
                        _ => Before::Value,
                    };
                }
                _ => {
                    self.at += 1;
                    self.before = Before::Operator;
                }
            }
        }
    }

    fn quotes(&mut self, quote: u8) {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek(0) {
                None | Some(b'\n') => return self.give_up(start),
                Some(b'\\') => self.at += 2,
                Some(byte) => {
                    self.at += 1;
                    if byte == quote {
                        self.stretches.push((start..self.at, Place::Quotes));
                        return;
                    }
                }
            }
        }
    }

    fn template(&mut self, depth: usize) {
        let start = self.at;
        let mut from = start;
        self.at += 1;
        loop {
            match self.peek(0) {
                None => return self.give_up(start),
                Some(b'\\') => self.at += 2,
                Some(b'`') => {
                    self.at += 1;
                    self.stretches.push((from..self.at, Place::Template));
                    return;
                }
                Some(b'$') if self.peek(1) == Some(b'{') => {
                    self.at += 2;
                    self.stretches.push((from..self.at, Place::Template));
                    self.before = Before::Operator;
                    self.code(depth + 1);
                    if self.peek(0) != Some(b'}') {
                        return self.give_up(start);
                    }
                    from = self.at;
                    self.at += 1;
                }
                Some(_) => self.at += 1,
            }
        }
    }

    fn regex(&mut self) {
        let start = self.at;
        self.at += 1;
        let mut in_class = false;
        loop {
            match self.peek(0) {
                None | Some(b'\n') => return self.give_up(start),
                Some(b'\\') => self.at += 2,
                Some(b'[') => {
                    in_class = true;
                    self.at += 1;
                }
                Some(b']') => {
                    in_class = false;
                    self.at += 1;
                }
                Some(b'/') if !in_class => {
                    self.at += 1;
                    while self.peek(0).is_some_and(is_word) {
                        self.at += 1;
                    }
                    self.stretches.push((start..self.at, Place::Regex));
                    return;
                }
                Some(_) => self.at += 1,
            }
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack
        .windows(needle.len())
        .position(|window| window == needle)
}
