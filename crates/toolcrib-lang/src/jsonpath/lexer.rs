//! The characters of an expression, and what is read of them without looking left or right: names, numbers, strings.

use serde_json::{Number, Value};

use super::PathError;

/// The largest number of an index or slice: what every JSON library can say exactly.
const MAX_INTEGER: i64 = (1 << 53) - 1;

/// Walks over an expression.
pub(super) struct Lexer {
    characters: Vec<char>,
    pub(super) at: usize,
}

impl Lexer {
    pub(super) fn new(text: &str) -> Self {
        Lexer {
            characters: text.chars().collect(),
            at: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.characters.len()
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.characters.get(self.at).copied()
    }

    pub(super) fn peek_second(&self) -> Option<char> {
        self.characters.get(self.at + 1).copied()
    }

    /// Goes past this text if it is next.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let mut at = self.at;
        for wanted in text.chars() {
            if self.characters.get(at) != Some(&wanted) {
                return false;
            }
            at += 1;
        }
        self.at = at;
        true
    }

    pub(super) fn skip_space(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t' | '\n' | '\r')) {
            self.at += 1;
        }
    }

    /// An error here.
    pub(super) fn fault<T>(&self, message: impl Into<String>) -> Result<T, PathError> {
        self.fault_at(self.at, message)
    }

    pub(super) fn fault_at<T>(
        &self,
        at: usize,
        message: impl Into<String>,
    ) -> Result<T, PathError> {
        Err(PathError {
            message: message.into(),
            at,
        })
    }

    /// An error that says what should be here, and what is.
    pub(super) fn expected<T>(&self, what: &str) -> Result<T, PathError> {
        match self.peek() {
            Some(found) => self.fault(format!("expected {what}, found `{}`", found.escape_debug())),
            None => self.fault(format!("expected {what}, but the expression ends")),
        }
    }

    /// A name behind a dot, if one is here.
    pub(super) fn name(&mut self) -> Option<String> {
        let first = self.peek().filter(|c| starts_a_name(*c))?;
        let mut name = String::from(first);
        self.at += 1;
        while let Some(next) = self
            .peek()
            .filter(|c| starts_a_name(*c) || c.is_ascii_digit())
        {
            name.push(next);
            self.at += 1;
        }
        Some(name)
    }

    /// A whole number, as indexes and slices take it.
    pub(super) fn integer(&mut self) -> Result<i64, PathError> {
        let start = self.at;
        let negative = self.take("-");
        let digits_at = self.at;
        let mut value: i64 = 0;
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(10)) {
            value = value * 10 + i64::from(digit);
            if value > MAX_INTEGER {
                return self.fault_at(
                    start,
                    format!("this number is out of range; at most {MAX_INTEGER} is"),
                );
            }
            self.at += 1;
        }
        match self.at - digits_at {
            0 => return self.expected("a digit"),
            1 if value == 0 && negative => {
                return self.fault_at(start, "`-0` is not an index; write `0`");
            }
            1 => {}
            _ if self.characters[digits_at] == '0' => {
                return self.fault_at(start, "a number has no leading zeros here");
            }
            _ => {}
        }
        Ok(if negative { -value } else { value })
    }

    /// A number to compare with.
    pub(super) fn number(&mut self) -> Result<Value, PathError> {
        let start = self.at;
        self.take("-");
        let digits_at = self.at;
        if self.digits() == 0 {
            return self.expected("a digit");
        }
        if self.at - digits_at > 1 && self.characters[digits_at] == '0' {
            return self.fault_at(start, "a number has no leading zeros");
        }
        if self.take(".") && self.digits() == 0 {
            return self.expected("a digit behind the point");
        }
        if matches!(self.peek(), Some('e' | 'E')) {
            self.at += 1;
            if !self.take("-") {
                self.take("+");
            }
            if self.digits() == 0 {
                return self.expected("a digit of the exponent");
            }
        }
        let text: String = self.characters[start..self.at].iter().collect();
        match text.parse::<Number>() {
            Ok(number) => Ok(Value::Number(number)),
            Err(_) => self.fault_at(start, format!("`{text}` is too large a number")),
        }
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }

    /// A string in the quotes that are next.
    pub(super) fn string(&mut self) -> Result<String, PathError> {
        let start = self.at;
        let Some(quote @ ('\'' | '"')) = self.peek() else {
            return self.expected("a string in quotes");
        };
        self.at += 1;
        let mut text = String::new();
        loop {
            let Some(next) = self.peek() else {
                return self.fault_at(
                    start,
                    "this string has no end; its closing quote is missing",
                );
            };
            match next {
                _ if next == quote => {
                    self.at += 1;
                    return Ok(text);
                }
                '\\' => text.push(self.escape(quote)?),
                '\0'..='\x1f' => {
                    return self.fault(format!(
                        "a control character must be escaped: write `\\u{:04x}`",
                        u32::from(next)
                    ));
                }
                _ => {
                    text.push(next);
                    self.at += 1;
                }
            }
        }
    }

    fn escape(&mut self, quote: char) -> Result<char, PathError> {
        let start = self.at;
        self.at += 1;
        let escaped = match self.peek() {
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('/') => '/',
            Some('\\') => '\\',
            Some('u') => {
                self.at += 1;
                return self.code_point(start);
            }
            Some(same) if same == quote => quote,
            Some(other) => {
                return self.fault_at(
                    start,
                    format!(
                        "`\\{}` is not an escape here; in a pattern, write the backslash twice",
                        other.escape_debug()
                    ),
                );
            }
            None => return self.expected("what is escaped"),
        };
        self.at += 1;
        Ok(escaped)
    }

    /// What `\u` stands for: four digits, or twice four for what is outside the first plane.
    fn code_point(&mut self, start: usize) -> Result<char, PathError> {
        let first = self.four_digits()?;
        let code = match first {
            0xd800..=0xdbff => {
                if !self.take("\\u") {
                    return self
                        .fault_at(start, "half a surrogate pair; the second half is missing");
                }
                let second = self.four_digits()?;
                if !(0xdc00..=0xdfff).contains(&second) {
                    return self
                        .fault_at(start, "half a surrogate pair; the second half is missing");
                }
                0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
            }
            _ => first,
        };
        match char::from_u32(code) {
            Some(character) => Ok(character),
            None => self.fault_at(start, "half a surrogate pair; the first half is missing"),
        }
    }

    fn four_digits(&mut self) -> Result<u32, PathError> {
        let mut code = 0;
        for _ in 0..4 {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(16)) else {
                return self.expected("four hexadecimal digits behind `\\u`");
            };
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }
}

fn starts_a_name(character: char) -> bool {
    character.is_ascii_alphabetic() || character == '_' || !character.is_ascii()
}
