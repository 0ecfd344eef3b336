//! Words: quotes, escapes, `$…`, backticks, process substitution. Everything between two blanks.
//!
//! Whatever is lexed is lexed once: nothing is tried and taken back, or nested input would cost exponential time.

use std::borrow::Cow;

use super::escapes;
use super::facts::Facts;
use super::script::Doubt;
use super::syntax::{Document, List, Operation, Parameter, Piece, Raw};

/// How deep things may stand in each other; every level costs several stack frames.
pub(super) const MAX_DEPTH: usize = 40;

/// Which shell's words these are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Dialect {
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
}

/// Where a word stands, which decides what ends it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Place {
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

    fn floor(&self, mut at: usize) -> usize {
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

    fn is_continuation(&self) -> bool {
        self.peek() == Some(b'\\') && self.peek_at(1) == Some(b'\n')
    }

    /// A word up to whatever ends it at this place. Empty when nothing is there.
    pub(super) fn word(&mut self, place: Place) -> Result<Raw<'a>, Stop> {
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
        place: Place,
        start: usize,
        pieces: &mut Vec<Piece<'a>>,
    ) -> Result<(), Stop> {
        while let Some(byte) = self.peek() {
            match byte {
                b']' if place == Place::Subscript => break,
                b'}' if place == Place::Braces => break,
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>' => {
                    match (place, byte) {
                        (Place::Subscript | Place::Braces, _) => {
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
                        (Place::Regex, b'(') | (Place::Pattern, b'(') => {
                            let extended = place == Place::Regex
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
                        (Place::Regex, b'|' | b'<' | b'>' | b';' | b'&')
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
                    if place == Place::Braces {
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
                    self.doubt("a carriage return is part of the word it stands in", start);
                    self.at += 1;
                    self.push_plain(pieces, self.at - 1);
                }
                _ => {
                    let from = self.at;
                    self.at += 1;
                    while self.peek().is_some_and(|byte| !is_special(byte))
                        && !(place == Place::Subscript && self.peek() == Some(b']'))
                        && !(place == Place::Braces && self.peek() == Some(b'}'))
                    {
                        self.at += 1;
                    }
                    self.push_plain(pieces, from);
                }
            }
        }
        Ok(())
    }

    /// Adds the text since `from`, to the piece before if that is plain, too.
    fn push_plain(&mut self, pieces: &mut Vec<Piece<'a>>, from: usize) {
        let text = &self.text[from..self.at];
        if let Some(Piece::Plain(last)) = pieces.last_mut() {
            last.to_mut().push_str(text);
        } else {
            pieces.push(Piece::Plain(Cow::Borrowed(text)));
        }
    }

    fn backslash(&mut self, start: usize, pieces: &mut Vec<Piece<'a>>) {
        if self.is_continuation() {
            self.at += 2;
            let goes_on = self.peek().is_some_and(|byte| !is_end(byte));
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
                    self.doubt("a carriage return is part of the word it stands in", start);
                }
                let from = self.at;
                self.at += escaped.len_utf8();
                pieces.push(Piece::Text(Cow::Borrowed(&self.text[from..self.at])));
            }
        }
    }

    fn single_quotes(&mut self) -> Result<&'a str, Stop> {
        let from = self.at + 1;
        match self.bytes[from..].iter().position(|byte| *byte == b'\'') {
            None => self.fail("a quote that is never closed", self.at),
            Some(length) => {
                self.at = from + length + 1;
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
                    pieces.push(Piece::Text(Cow::Borrowed(&self.text[from..self.at])));
                }
            }
        }
        Ok(())
    }

    fn dollar(&mut self, quoted: bool, pieces: &mut Vec<Piece<'a>>) -> Result<(), Stop> {
        let start = self.at;
        let piece = match self.peek_at(1) {
            Some(b'(') if self.peek_at(2) == Some(b'(') => {
                self.at += 3;
                let inner = self.arithmetic(b')')?;
                Piece::Arithmetic {
                    pieces: inner,
                    quoted,
                    source: &self.text[start..self.at],
                }
            }
            Some(b'(') => {
                self.at += 2;
                let list = self.substitution(start)?;
                Piece::Substitution {
                    list,
                    quoted,
                    source: &self.text[start..self.at],
                }
            }
            Some(b'[') => {
                self.only_bash("`$[…]`", start);
                self.at += 2;
                let inner = self.arithmetic(b']')?;
                Piece::Arithmetic {
                    pieces: inner,
                    quoted,
                    source: &self.text[start..self.at],
                }
            }
            Some(b'{') => {
                self.at += 2;
                self.deeper(|parser| parser.braced(start, quoted))?
            }
            Some(b'\'') if !quoted => {
                self.only_bash("`$'…'`", start);
                self.at += 2;
                let text = self.ansi_quotes(start)?;
                Piece::Text(Cow::Owned(text))
            }
            Some(b'"') if !quoted => {
                self.only_bash("`$\"…\"`", start);
                self.at += 1;
                return self.double_quotes(pieces);
            }
            Some(b'\\') if self.peek_at(2) == Some(b'\n') => {
                return self.fail("an expansion broken over two lines", start);
            }
            Some(byte) if byte == b'_' || byte.is_ascii_alphabetic() => {
                self.at += 1;
                let name = self.identifier();
                if self.is_continuation() {
                    self.doubt("an expansion broken over two lines", start);
                }
                self.parameter(start, name, quoted)
            }
            Some(b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!') => {
                self.at += 2;
                self.parameter(start, &self.text[start + 1..start + 2], quoted)
            }
            _ => {
                self.at += 1;
                Piece::Text(Cow::Borrowed("$"))
            }
        };
        pieces.push(piece);
        Ok(())
    }

    fn parameter(&self, start: usize, name: &'a str, quoted: bool) -> Piece<'a> {
        Piece::Parameter(Box::new(Parameter {
            name,
            braced: false,
            quoted,
            source: &self.text[start..self.at],
            subscript: None,
            operation: Operation::None,
            rest: Vec::new(),
        }))
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

    /// The list of `$(…)` or `<(…)`, from after the opening up to and including the closing parenthesis.
    pub(super) fn substitution(&mut self, start: usize) -> Result<List<'a>, Stop> {
        let waiting = self.pending.len();
        let list = self.deeper(|parser| {
            let outer = std::mem::take(&mut parser.pending);
            let list = parser.list()?;
            if !parser.pending.is_empty() {
                return parser.fail("a here-document that ends with its substitution", start);
            }
            parser.pending = outer;
            Ok(list)
        })?;
        if self.peek() != Some(b')') {
            return self.fail(
                "a substitution that is never closed, or an error in it",
                start,
            );
        }
        self.at += 1;
        if waiting > 0 && self.text[start..self.at].contains('\n') {
            self.doubt(
                "a substitution over several lines before a here-document",
                start,
            );
        }
        Ok(list)
    }

    fn process(&mut self) -> Result<Piece<'a>, Stop> {
        let start = self.at;
        self.only_bash("process substitutions", start);
        self.at += 2;
        let list = self.substitution(start)?;
        Ok(Piece::Process {
            list,
            source: &self.text[start..self.at],
        })
    }

    fn backticks(&mut self, quoted: bool) -> Result<Piece<'a>, Stop> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            let from = self.at;
            while self
                .peek()
                .is_some_and(|byte| !matches!(byte, b'`' | b'\\'))
            {
                self.at += 1;
            }
            text.push_str(&self.text[from..self.at]);
            match self.peek() {
                None => return self.fail("a backtick that is never closed", start),
                Some(b'`') => break,
                Some(_) => match self.peek_at(1) {
                    Some(next @ (b'`' | b'\\' | b'$')) => {
                        text.push(char::from(next));
                        self.at += 2;
                    }
                    Some(b'"') if quoted => {
                        self.doubt("escaped quotes in backticks in quotes", start);
                        text.push('"');
                        self.at += 2;
                    }
                    _ => {
                        text.push('\\');
                        self.at += 1;
                    }
                },
            }
        }
        self.at += 1;
        Ok(Piece::Backticks {
            text,
            quoted,
            source: &self.text[start..self.at],
        })
    }

    fn ansi_quotes(&mut self, start: usize) -> Result<String, Stop> {
        let from = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b'\'' => {
                    let (text, certain) = escapes::ansi(&self.text[from..self.at]);
                    if !certain {
                        self.doubt("an escape whose bytes are not text", start);
                    }
                    self.at += 1;
                    return Ok(text);
                }
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at = self.bytes.len();
        self.fail("a quote that is never closed", start)
    }

    /// `${…}` from after the opening brace.
    fn braced(&mut self, start: usize, quoted: bool) -> Result<Piece<'a>, Stop> {
        let mut operation = Operation::None;
        match self.peek() {
            Some(b'#')
                if !matches!(
                    self.peek_at(1),
                    Some(b'}' | b':' | b'#' | b'%' | b'-' | b'?' | b'=' | b'+' | b'/')
                ) =>
            {
                self.at += 1;
                operation = Operation::Length;
            }
            Some(b'!') if self.peek_at(1) != Some(b'}') => {
                self.at += 1;
                operation = Operation::Indirect;
                self.doubt("`${!…}` uses a variable whose name cannot be told", start);
            }
            _ => {}
        }
        let from = self.at;
        let mut name = self.identifier();
        if name.is_empty() {
            match self.peek() {
                Some(b'0'..=b'9') => {
                    while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                        self.at += 1;
                    }
                }
                Some(b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!') => self.at += 1,
                _ => return self.fail("an expansion that bash does not know", start),
            }
            name = &self.text[from..self.at];
        }
        let mut subscript = None;
        if self.peek() == Some(b'[') {
            self.at += 1;
            subscript = Some(self.subscript(start)?);
        }
        let mut rest = Vec::new();
        match self.peek() {
            Some(b'}') => {}
            Some(b'@') if operation != Operation::Indirect => {
                operation = match self.peek_at(1) {
                    Some(b'U' | b'u' | b'L' | b'Q' | b'A' | b'K' | b'a' | b'k') => Operation::Edit,
                    // `@E` expands escapes only, but may give any text.
                    Some(b'E') => Operation::Edit,
                    _ => {
                        self.doubt("`${…@P}` expands the value once more", start);
                        Operation::Prompt
                    }
                };
                self.at += 2;
                if self.peek() != Some(b'}') {
                    return self.fail("an expansion that bash does not know", start);
                }
            }
            Some(b':') if !matches!(self.peek_at(1), Some(b'-' | b'=' | b'?' | b'+')) => {
                self.at += 1;
                if operation == Operation::None {
                    operation = Operation::Slice;
                }
                self.brace_words(quoted, &mut rest)?;
            }
            Some(b':' | b'-' | b'=' | b'?' | b'+') => {
                if self.peek() == Some(b':') {
                    self.at += 1;
                }
                if self.peek() == Some(b'=') {
                    self.facts.assign(name, false);
                    if subscript.is_some() {
                        self.doubt("an assignment to an element inside an expansion", start);
                    }
                }
                if operation == Operation::None {
                    operation = if self.peek() == Some(b'=') {
                        Operation::Assign
                    } else {
                        Operation::Edit
                    };
                }
                self.at += 1;
                self.brace_words(quoted, &mut rest)?;
            }
            Some(b'#' | b'%' | b'/' | b'^' | b',' | b'*' | b'~')
                if operation != Operation::Length =>
            {
                if self.peek() == Some(b'~') {
                    return self.fail("an expansion that bash does not know", start);
                }
                if operation == Operation::None {
                    operation = Operation::Edit;
                }
                self.at += 1;
                self.brace_words(quoted, &mut rest)?;
            }
            _ => return self.fail("an expansion that bash does not know", start),
        }
        if self.peek() != Some(b'}') {
            return self.fail("an expansion that is never closed", start);
        }
        self.at += 1;
        Ok(Piece::Parameter(Box::new(Parameter {
            name,
            braced: true,
            quoted,
            source: &self.text[start..self.at],
            subscript,
            operation,
            rest,
        })))
    }

    /// The words after an operator, up to the closing brace, which stays.
    fn brace_words(&mut self, quoted: bool, pieces: &mut Vec<Piece<'a>>) -> Result<(), Stop> {
        if !quoted {
            return self.deeper(|parser| parser.word_pieces(Place::Braces, parser.at, pieces));
        }
        let from = self.at;
        self.deeper(|parser| {
            while let Some(byte) = parser.peek() {
                match byte {
                    b'}' => break,
                    b'"' => parser.double_quotes(pieces)?,
                    b'\'' => {
                        parser.doubt("single quotes inside `${…}`", from);
                        parser.at += 1;
                    }
                    b'\\' if parser.peek_at(1) == Some(b'}') => {
                        pieces.push(Piece::Text(Cow::Borrowed("}")));
                        parser.at += 2;
                    }
                    b'\\' if parser.peek_at(1) == Some(b'"') => {
                        pieces.push(Piece::Text(Cow::Borrowed("\"")));
                        parser.at += 2;
                    }
                    b'$' if matches!(parser.peek_at(1), Some(b'\'')) => {
                        parser.doubt("single quotes inside `${…}`", from);
                        parser.at += 1;
                    }
                    b'\\' | b'$' | b'`' => {
                        // One step of quoted text: it stops at the first byte that is not special.
                        let close = parser.at;
                        parser.quoted_step(pieces)?;
                        debug_assert!(parser.at > close);
                    }
                    _ => {
                        let from = parser.at;
                        while parser.peek().is_some_and(|byte| {
                            !matches!(byte, b'}' | b'"' | b'\'' | b'\\' | b'$' | b'`')
                        }) {
                            parser.at += 1;
                        }
                        pieces.push(Piece::Text(Cow::Borrowed(&parser.text[from..parser.at])));
                    }
                }
            }
            Ok(())
        })
    }

    fn quoted_step(&mut self, pieces: &mut Vec<Piece<'a>>) -> Result<(), Stop> {
        match self.peek() {
            Some(b'$') => self.dollar(true, pieces),
            Some(b'`') => {
                let piece = self.backticks(true)?;
                pieces.push(piece);
                Ok(())
            }
            _ => {
                let step = match self.peek_at(1) {
                    Some(b'\n' | b'$' | b'`' | b'\\') => 2,
                    _ => 1,
                };
                let text = match self.peek_at(1) {
                    Some(b'\n') => "",
                    Some(b'$' | b'`' | b'\\') => &self.text[self.at + 1..self.at + 2],
                    _ => "\\",
                };
                pieces.push(Piece::Text(Cow::Borrowed(text)));
                self.at += step;
                Ok(())
            }
        }
    }

    /// A subscript from after its `[` up to and including its `]`.
    pub(super) fn subscript(&mut self, start: usize) -> Result<Vec<Piece<'a>>, Stop> {
        let mut pieces = Vec::new();
        self.deeper(|parser| parser.word_pieces(Place::Subscript, start, &mut pieces))?;
        if self.peek() != Some(b']') {
            return self.fail("a subscript that is never closed", start);
        }
        self.at += 1;
        let nested = pieces
            .iter()
            .any(|piece| matches!(piece, Piece::Plain(text) if text.contains('[')));
        if nested {
            return self.fail("a subscript in a subscript", start);
        }
        Ok(pieces)
    }

    /// `(…)` inside a regular expression or an extended pattern.
    fn parenthesised(&mut self, pieces: &mut Vec<Piece<'a>>) -> Result<(), Stop> {
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
                    Some(_) => parser.word_pieces(Place::Command, parser.at, pieces)?,
                }
            }
        })
    }

    /// An arithmetic expression up to and including `))` or `]`.
    pub(super) fn arithmetic(&mut self, close: u8) -> Result<Vec<Piece<'a>>, Stop> {
        let start = self.at;
        let mut pieces = Vec::new();
        let mut open = 0usize;
        self.deeper(|parser| {
            loop {
                let from = parser.at;
                while parser.peek().is_some_and(|byte| {
                    !matches!(
                        byte,
                        b'(' | b')' | b'[' | b']' | b'$' | b'`' | b'"' | b'\'' | b'\\'
                    )
                }) {
                    parser.at += 1;
                }
                if parser.at > from {
                    pieces.push(Piece::Plain(Cow::Borrowed(&parser.text[from..parser.at])));
                }
                let Some(byte) = parser.peek() else {
                    return parser.fail("an arithmetic expression that is never closed", start);
                };
                match byte {
                    b')' if close == b')' && open == 0 => {
                        if parser.peek_at(1) != Some(b')') {
                            // Perhaps `((` are two subshells.
                            return parser.fail("`((` that `))` does not close", start);
                        }
                        parser.at += 2;
                        return Ok(());
                    }
                    b']' if close == b']' && open == 0 => {
                        parser.at += 1;
                        return Ok(());
                    }
                    b'(' | b'[' => {
                        open += 1;
                        parser.at += 1;
                        parser.push_plain(&mut pieces, parser.at - 1);
                    }
                    b')' | b']' => {
                        if open == 0 {
                            return parser
                                .fail("an arithmetic expression with odd brackets", start);
                        }
                        open -= 1;
                        parser.at += 1;
                        parser.push_plain(&mut pieces, parser.at - 1);
                    }
                    b'"' => parser.double_quotes(&mut pieces)?,
                    b'\'' => {
                        return parser.fail("single quotes in an arithmetic expression", start);
                    }
                    _ => parser.quoted_step(&mut pieces)?,
                }
            }
        })?;
        self.facts.arithmetic(&pieces);
        Ok(pieces)
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
