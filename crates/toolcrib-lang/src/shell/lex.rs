//! Words: quotes, escapes, `$…`, backticks, process substitution. Everything between two blanks.
//!
//! Whatever is lexed is lexed once: nothing is tried and taken back, or nested input would cost exponential time.

use std::borrow::Cow;

use super::facts::Facts;
use super::quoting::{Places, Quote, Region};
use super::script::Doubt;
use super::syntax::{Document, Piece, Raw};

/// How deep things may stand in each other; every level costs several stack frames.
pub(super) const MAX_DEPTH: usize = 40;

/// Which shell's words these are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Dialect {
    Bash,
    /// `sh`, which may be dash: what only bash knows is a doubt.
    Sh,
}

/// The rest of the text is not understood; the doubt is on record.
#[derive(Debug)]
pub(super) struct Stop;

/// A here-document whose body comes after the end of the line.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) delimiter: String,
    pub(super) strips_tabs: bool,
    pub(super) quoted: bool,
    pub(super) index: usize,
}

pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    pub(super) depth: usize,
    pub(super) dialect: Dialect,
    pub(super) pending: Vec<Pending>,
    pub(super) documents: Vec<Document<'a>>,
    pub(super) facts: Facts,
    pub(super) doubts: Vec<Doubt>,
    /// How many commands so far may have changed the directory.
    pub(super) moves: usize,
    /// How many arithmetic expressions there were so far.
    pub(super) calculations: usize,
    /// How many functions are being read.
    pub(super) open_functions: usize,
    /// The names of the commands in those.
    pub(super) called: Vec<String>,
    /// Where which text is, when someone wants to know.
    pub(super) places: Option<Places>,
}

/// Where a word is, which decides what ends it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum WordPosition {
    Command,
    /// After `=~`: parentheses and bars belong to the word.
    Regex,
    /// After `==` in `[[ ]]`: `@(…)` belongs to the word.
    Pattern,
    /// A subscript: up to `]`.
    Subscript,
    /// The rest of `${…`: up to `}`.
    Braces,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str, dialect: Dialect, depth: usize) -> Parser<'a> {
        Parser {
            text,
            bytes: text.as_bytes(),
            at: 0,
            depth,
            dialect,
            pending: Vec::new(),
            documents: Vec::new(),
            facts: Facts::default(),
            doubts: Vec::new(),
            moves: 0,
            calculations: 0,
            open_functions: 0,
            called: Vec::new(),
            places: None,
        }
    }

    /// Notes how the text since `from` is quoted.
    pub(super) fn note(&mut self, from: usize, quote: Quote) {
        let to = self.at;
        if let Some(places) = &mut self.places {
            places.quotes.push((from..to, quote));
        }
    }

    /// Notes what the text since `from` is part of.
    pub(super) fn note_region(&mut self, from: usize, region: Region) {
        let to = self.at;
        if let Some(places) = &mut self.places {
            places.regions.push((from..to, region));
        }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(super) fn peek_at(&self, offset: usize) -> Option<u8> {
        self.bytes.get(self.at + offset).copied()
    }

    pub(super) fn starts(&self, text: &str) -> bool {
        self.bytes[self.at..].starts_with(text.as_bytes())
    }

    pub(super) fn doubt(&mut self, reason: &str, from: usize) {
        if self.doubts.len() < 64 {
            let end = self.floor(from.saturating_add(120));
            self.doubts
                .push(Doubt::new(reason, &self.text[self.floor(from)..end]));
        }
    }

    pub(super) fn fail<T>(&mut self, reason: &str, from: usize) -> Result<T, Stop> {
        self.doubt(reason, from);
        Err(Stop)
    }

    pub(super) fn floor(&self, mut at: usize) -> usize {
        if at >= self.text.len() {
            return self.text.len();
        }
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }

    /// Doubts what only bash understands, in a text for another shell.
    pub(super) fn only_bash(&mut self, what: &str, from: usize) {
        if self.dialect == Dialect::Sh {
            self.doubt(
                &format!("{what} mean something else to other shells than bash"),
                from,
            );
        }
    }

    pub(super) fn deeper<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        if self.depth >= MAX_DEPTH {
            return self.fail("nested too deeply to be read", self.at);
        }
        self.depth += 1;
        let result = work(self);
        self.depth -= 1;
        result
    }

    pub(super) fn is_continuation(&self) -> bool {
        self.peek() == Some(b'\\') && self.peek_at(1) == Some(b'\n')
    }

    /// A word up to whatever ends it at this place. Empty when nothing is there.
    pub(super) fn word(&mut self, place: WordPosition) -> Result<Raw<'a>, Stop> {
        let start = self.at;
        let mut pieces = Vec::new();
        self.word_pieces(place, start, &mut pieces)?;
        Ok(Raw {
            pieces,
            source: &self.text[start..self.at],
        })
    }

    /// Goes on with a word that began at `start`.
    pub(super) fn word_pieces(
        &mut self,
        place: WordPosition,
        start: usize,
        pieces: &mut Vec<Piece<'a>>,
    ) -> Result<(), Stop> {
        while let Some(byte) = self.peek() {
            match byte {
                b']' if place == WordPosition::Subscript => break,
                b'}' if place == WordPosition::Braces => break,
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>' => {
                    match (place, byte) {
                        (WordPosition::Subscript | WordPosition::Braces, _) => {
                            let process =
                                matches!(byte, b'<' | b'>') && self.peek_at(1) == Some(b'(');
                            if process {
                                self.doubt(
                                    "a process substitution inside another expansion",
                                    self.at,
                                );
                            }
                            self.at += 1;
                            self.push_plain(pieces, self.at - 1);
                        }
                        (WordPosition::Regex, b'(') | (WordPosition::Pattern, b'(') => {
                            let extended = place == WordPosition::Regex
                                || self.at > start
                                    && matches!(
                                        self.bytes[self.at - 1],
                                        b'@' | b'?' | b'*' | b'+' | b'!'
                                    );
                            if !extended {
                                break;
                            }
                            self.parenthesised(pieces)?;
                        }
                        (WordPosition::Regex, b'|' | b'<' | b'>' | b';' | b'&')
                            if !matches!(self.peek_at(1), Some(b'|' | b'&' | b'(')) =>
                        {
                            if byte != b'|' {
                                self.doubt("an operator inside a regular expression", self.at);
                            }
                            self.at += 1;
                            self.push_plain(pieces, self.at - 1);
                        }
                        (_, b'<' | b'>') if self.peek_at(1) == Some(b'(') => {
                            let piece = self.process()?;
                            pieces.push(piece);
                        }
                        _ => break,
                    }
                }
                b'\\' => self.backslash(start, pieces),
                b'\'' => {
                    if place == WordPosition::Braces && self.plain_quotes().is_none() {
                        // Whether they quote depends on what is around and on the operator.
                        self.doubt("single quotes inside `${…}`", self.at);
                    }
                    let text = self.single_quotes()?;
                    pieces.push(Piece::Text(Cow::Borrowed(text)));
                }
                b'"' => self.double_quotes(pieces)?,
                b'$' => self.dollar(false, pieces)?,
                b'`' => {
                    let piece = self.backticks(false)?;
                    pieces.push(piece);
                }
                b'\r' => {
                    self.doubt("a carriage return is part of the word around it", start);
                    self.at += 1;
                    self.push_plain(pieces, self.at - 1);
                }
                _ => {
                    let from = self.at;
                    self.at += 1;
                    while self.peek().is_some_and(|byte| !is_special(byte))
                        && !(place == WordPosition::Subscript && self.peek() == Some(b']'))
                        && !(place == WordPosition::Braces && self.peek() == Some(b'}'))
                    {
                        self.at += 1;
                    }
                    self.note(
                        from,
                        match place {
                            WordPosition::Subscript => Quote::Subscript,
                            WordPosition::Braces => Quote::Braces,
                            WordPosition::Command | WordPosition::Regex | WordPosition::Pattern => {
                                Quote::Bare
                            }
                        },
                    );
                    self.push_plain(pieces, from);
                }
            }
        }
        Ok(())
    }

    /// Adds the text since `from`, to the piece before if that is plain, too.
    pub(super) fn push_plain(&mut self, pieces: &mut Vec<Piece<'a>>, from: usize) {
        let text = &self.text[from..self.at];
        if let Some(Piece::Plain(last)) = pieces.last_mut() {
            last.to_mut().push_str(text);
        } else {
            pieces.push(Piece::Plain(Cow::Borrowed(text)));
        }
    }

    pub(super) fn backslash(&mut self, start: usize, pieces: &mut Vec<Piece<'a>>) {
        if self.is_continuation() {
            self.at += 2;
            // A number or a name in braces may belong to a redirection, a name to a function.
            let goes_on = self
                .peek()
                .is_some_and(|byte| !is_end(byte) || matches!(byte, b'<' | b'>' | b'('));
            if goes_on || self.is_continuation() {
                self.doubt("a word that goes on after the end of its line", start);
            }
            return;
        }
        self.at += 1;
        match self.text[self.at..].chars().next() {
            None => pieces.push(Piece::Text(Cow::Borrowed("\\"))),
            Some(escaped) => {
                if escaped == '\r' {
                    self.doubt("a carriage return is part of the word around it", start);
                }
                let from = self.at;
                self.at += escaped.len_utf8();
                pieces.push(Piece::Text(Cow::Borrowed(&self.text[from..self.at])));
            }
        }
    }

    pub(super) fn single_quotes(&mut self) -> Result<&'a str, Stop> {
        let from = self.at + 1;
        match self.bytes[from..].iter().position(|byte| *byte == b'\'') {
            None => self.fail("a quote that is never closed", self.at),
            Some(length) => {
                self.at = from + length + 1;
                self.note(from, Quote::Single);
                Ok(&self.text[from..from + length])
            }
        }
    }

    pub(super) fn double_quotes(&mut self, pieces: &mut Vec<Piece<'a>>) -> Result<(), Stop> {
        let open = self.at;
        self.at += 1;
        let before = pieces.len();
        self.deeper(|parser| parser.quoted_text(Some(b'"'), pieces))?;
        if self.peek() != Some(b'"') {
            return self.fail("a quote that is never closed", open);
        }
        self.at += 1;
        if pieces.len() == before {
            pieces.push(Piece::Text(Cow::Borrowed("")));
        }
        Ok(())
    }

    /// Text in which `$`, backticks and backslashes count: double quotes, here-documents.
    pub(super) fn quoted_text(
        &mut self,
        close: Option<u8>,
        pieces: &mut Vec<Piece<'a>>,
    ) -> Result<(), Stop> {
        while let Some(byte) = self.peek() {
            match byte {
                _ if Some(byte) == close => break,
                b'\\' => {
                    let next = self.peek_at(1);
                    match next {
                        Some(b'\n') => self.at += 2,
                        Some(b'$' | b'`' | b'\\') => {
                            pieces.push(Piece::Text(Cow::Borrowed(
                                &self.text[self.at + 1..self.at + 2],
                            )));
                            self.at += 2;
                        }
                        Some(b'"') if close == Some(b'"') => {
                            pieces.push(Piece::Text(Cow::Borrowed("\"")));
                            self.at += 2;
                        }
                        _ => {
                            pieces.push(Piece::Text(Cow::Borrowed("\\")));
                            self.at += 1;
                        }
                    }
                }
                b'$' => self.dollar(true, pieces)?,
                b'`' => {
                    let piece = self.backticks(true)?;
                    pieces.push(piece);
                }
                _ => {
                    let from = self.at;
                    self.at += 1;
                    while self.peek().is_some_and(|byte| {
                        Some(byte) != close && !matches!(byte, b'\\' | b'$' | b'`')
                    }) {
                        self.at += 1;
                    }
                    self.note(
                        from,
                        if close.is_some() {
                            Quote::Double
                        } else {
                            Quote::Document
                        },
                    );
                    pieces.push(Piece::Text(Cow::Borrowed(&self.text[from..self.at])));
                }
            }
        }
        Ok(())
    }

    /// A name from here on; empty when none is there.
    pub(super) fn identifier(&mut self) -> &'a str {
        let from = self.at;
        if self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return "";
        }
        while self
            .peek()
            .is_some_and(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
        {
            self.at += 1;
        }
        &self.text[from..self.at]
    }

    /// `(…)` inside a regular expression or an extended pattern.
    pub(super) fn parenthesised(&mut self, pieces: &mut Vec<Piece<'a>>) -> Result<(), Stop> {
        let start = self.at;
        let mut open = 0usize;
        self.deeper(|parser| {
            loop {
                match parser.peek() {
                    None => return parser.fail("a parenthesis that is never closed", start),
                    Some(b'(') => {
                        open += 1;
                        parser.at += 1;
                        parser.push_plain(pieces, parser.at - 1);
                    }
                    Some(b')') => {
                        open -= 1;
                        parser.at += 1;
                        parser.push_plain(pieces, parser.at - 1);
                        if open == 0 {
                            return Ok(());
                        }
                    }
                    Some(b' ' | b'\t' | b'|' | b'&' | b';') => {
                        parser.at += 1;
                        parser.push_plain(pieces, parser.at - 1);
                    }
                    Some(b'\n' | b'<' | b'>') => {
                        return parser.fail("an operator inside a regular expression", start);
                    }
                    Some(_) => parser.word_pieces(WordPosition::Command, parser.at, pieces)?,
                }
            }
        })
    }
}

/// Whether a byte ends a run of plain text.
fn is_special(byte: u8) -> bool {
    matches!(
        byte,
        b' ' | b'\t'
            | b'\n'
            | b';'
            | b'&'
            | b'|'
            | b'('
            | b')'
            | b'<'
            | b'>'
            | b'\\'
            | b'\''
            | b'"'
            | b'$'
            | b'`'
            | b'\r'
    )
}

/// Whether a byte ends a word.
fn is_end(byte: u8) -> bool {
    matches!(
        byte,
        b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>'
    )
}
