//! Where in a JavaScript text something is: in code, in a string, in a comment.
//!
//! A regular expression and a division look alike; which it is depends on what is before. Where that is not certain, so is
//! nothing after it ([`ScriptContext::Unclear`]).

use std::ops::Range;

/// Where something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScriptContext {
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
pub(crate) struct Lexed {
    /// In the order of the text, quotes included.
    pub(crate) stretches: Vec<(Range<usize>, ScriptContext)>,
}

impl Lexed {
    /// Reads a text. Never fails: what never ends reaches to the end and is unclear.
    pub(crate) fn read(text: &str) -> Lexed {
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

    /// Where a stretch of the text is.
    pub(crate) fn place(&self, range: Range<usize>) -> ScriptContext {
        self.stretch(range)
            .map_or(ScriptContext::Code, |(_, place)| *place)
    }

    /// The first operator of the text that assigns a value, as it is written there. Where it is unclear what is code, everything
    /// counts as code.
    pub(crate) fn assignment(&self, text: &str) -> Option<&'static str> {
        // The longest first, so that `==` is not read as two signs.
        const OPERATORS: &[(&str, bool)] = &[
            (">>>=", true),
            ("===", false),
            ("!==", false),
            ("**=", true),
            ("<<=", true),
            (">>=", true),
            ("&&=", true),
            ("||=", true),
            ("??=", true),
            ("==", false),
            ("!=", false),
            ("<=", false),
            (">=", false),
            ("=>", false),
            ("+=", true),
            ("-=", true),
            ("*=", true),
            ("/=", true),
            ("%=", true),
            ("&=", true),
            ("|=", true),
            ("^=", true),
            ("++", true),
            ("--", true),
            ("=", true),
        ];
        let mut at = 0;
        while at < text.len() {
            let place = self.stretch(at..at + 1);
            if let Some((stretch, place)) = place
                && *place != ScriptContext::Unclear
            {
                at = stretch.end.max(at + 1);
                continue;
            }
            let rest = &text.as_bytes()[at..];
            let operator = OPERATORS
                .iter()
                .find(|(operator, _)| rest.starts_with(operator.as_bytes()));
            match operator {
                Some((operator, true)) => return Some(operator),
                Some((operator, false)) => at += operator.len(),
                None => at += 1,
            }
        }
        None
    }

    /// What the stretch is in, when that is not code.
    pub(crate) fn stretch(&self, range: Range<usize>) -> Option<&(Range<usize>, ScriptContext)> {
        self.stretches
            .iter()
            .find(|(stretch, _)| stretch.start < range.end && range.start < stretch.end)
    }
}

/// The token before a slash.
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
    stretches: Vec<(Range<usize>, ScriptContext)>,
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
        self.stretches.push((from..self.at, ScriptContext::Unclear));
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
                    self.stretches
                        .push((start..self.at, ScriptContext::Comment));
                }
                b'/' if self.peek(1) == Some(b'*') => match find(&self.bytes[start + 2..], b"*/") {
                    Some(end) => {
                        self.at = start + 2 + end + 2;
                        self.stretches
                            .push((start..self.at, ScriptContext::Comment));
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
                        self.stretches.push((start..self.at, ScriptContext::Quotes));
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
                    self.stretches
                        .push((from..self.at, ScriptContext::Template));
                    return;
                }
                Some(b'$') if self.peek(1) == Some(b'{') => {
                    self.at += 2;
                    self.stretches
                        .push((from..self.at, ScriptContext::Template));
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
                    self.stretches.push((start..self.at, ScriptContext::Regex));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn assignment(text: &str) -> Option<&'static str> {
        Lexed::read(text).assignment(text)
    }

    #[test]
    fn an_assignment_is_not_a_comparison() {
        for text in [
            "a == 1",
            "a === 1 && b !== 2 || c != 3",
            "a <= 1 && b >= 2",
            "a.some(x => x > 1)",
            "a == '=' && b == \"x = 1\"",
            "/a=b/.test(a)",
            "a >>> 1 == 2",
            "`x = ${a}` == b",
            "a // b = c",
            "- -a == + +b",
        ] {
            assert_eq!(assignment(text), None, "{text}");
        }
        for (text, operator) in [
            ("a = 5", "="),
            ("a=5", "="),
            ("a == 1 && (b = 2)", "="),
            ("a += 1", "+="),
            ("a >>>= 1", ">>>="),
            ("a ??= 1", "??="),
            ("a++ > 1", "++"),
            ("--a > 1", "--"),
            ("`${a = 1}` == b", "="),
            ("'a' == b && c = 'd'", "="),
        ] {
            assert_eq!(assignment(text), Some(operator), "{text}");
        }
    }
}
