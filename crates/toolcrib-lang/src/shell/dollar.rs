//! What a dollar sign begins, and backticks: substitutions, parameters, arithmetic.

use std::borrow::Cow;

use super::escapes;
use super::lex::{Parser, Stop, WordPosition};
use super::quoting::{Quote, Region};
use super::syntax::{List, Operation, Parameter, Piece};

impl<'a> Parser<'a> {
    pub(super) fn dollar(&mut self, quoted: bool, pieces: &mut Vec<Piece<'a>>) -> Result<(), Stop> {
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

    pub(super) fn parameter(&self, start: usize, name: &'a str, quoted: bool) -> Piece<'a> {
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

    /// The list of `$(…)` or `<(…)`, from after the opening up to and including the closing parenthesis.
    pub(super) fn substitution(&mut self, start: usize) -> Result<List<'a>, Stop> {
        let waiting = self.pending.len();
        let moves = self.moves;
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
        self.moves = moves;
        if waiting > 0 && self.text[start..self.at].contains('\n') {
            self.doubt(
                "a substitution over several lines before a here-document",
                start,
            );
        }
        Ok(list)
    }

    pub(super) fn process(&mut self) -> Result<Piece<'a>, Stop> {
        let start = self.at;
        self.only_bash("process substitutions", start);
        self.at += 2;
        let list = self.substitution(start)?;
        Ok(Piece::Process {
            list,
            source: &self.text[start..self.at],
        })
    }

    pub(super) fn backticks(&mut self, quoted: bool) -> Result<Piece<'a>, Stop> {
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
        self.note_region(start, Region::Backticks);
        self.note_backticks(start, quoted);
        Ok(Piece::Backticks {
            text,
            quoted,
            source: &self.text[start..self.at],
        })
    }

    pub(super) fn ansi_quotes(&mut self, start: usize) -> Result<String, Stop> {
        let from = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b'\'' => {
                    let (text, certain) = escapes::ansi(&self.text[from..self.at]);
                    if !certain {
                        self.doubt("an escape whose bytes are not text", start);
                    }
                    self.at += 1;
                    self.note(from, Quote::Ansi);
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
    pub(super) fn braced(&mut self, start: usize, quoted: bool) -> Result<Piece<'a>, Stop> {
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
                self.doubt(
                    "`${!…}` uses a variable whose name cannot be determined",
                    start,
                );
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
        let words = self.at;
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
                self.calculations += 1;
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
        let default = matches!(
            self.bytes[words..],
            [b'-' | b'=' | b'+' | b'?', ..] | [b':', b'-' | b'=' | b'+' | b'?', ..]
        );
        if default && operation != Operation::Indirect {
            self.note_region(words, Region::Default);
        } else {
            self.note_region(words, Region::Edit);
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
    pub(super) fn brace_words(
        &mut self,
        quoted: bool,
        pieces: &mut Vec<Piece<'a>>,
    ) -> Result<(), Stop> {
        if !quoted {
            return self
                .deeper(|parser| parser.word_pieces(WordPosition::Braces, parser.at, pieces));
        }
        let from = self.at;
        self.deeper(|parser| {
            while let Some(byte) = parser.peek() {
                match byte {
                    b'}' => break,
                    b'"' => parser.double_quotes(pieces)?,
                    b'\'' => match parser.plain_quotes() {
                        Some(length) => parser.at += length,
                        None => {
                            parser.doubt("single quotes inside `${…}`", from);
                            parser.at += 1;
                        }
                    },
                    b'\\' if parser.peek_at(1) == Some(b'}') => {
                        pieces.push(Piece::Text(Cow::Borrowed("}")));
                        parser.at += 2;
                    }
                    b'\\' if parser.peek_at(1) == Some(b'"') => {
                        pieces.push(Piece::Text(Cow::Borrowed("\"")));
                        parser.at += 2;
                    }
                    b'$' if matches!(parser.peek_at(1), Some(b'\'')) => {
                        parser.at += 1;
                    }
                    b'\\' | b'$' | b'`' => {
                        // One step of quoted text: it stops at the first byte that is not special.
                        parser.quoted_step(pieces)?;
                        if matches!(pieces.last(), Some(Piece::Backticks { text, .. }) if text.contains('"')) {
                            parser.doubt("quotes in backticks inside `${…}`", from);
                        }
                    }
                    _ => {
                        let from = parser.at;
                        while parser.peek().is_some_and(|byte| {
                            !matches!(byte, b'}' | b'"' | b'\'' | b'\\' | b'$' | b'`')
                        }) {
                            parser.at += 1;
                        }
                        parser.note(from, Quote::QuotedBraces);
                        pieces.push(Piece::Text(Cow::Borrowed(&parser.text[from..parser.at])));
                    }
                }
            }
            Ok(())
        })
    }

    /// How long a text in single quotes is that ends at the same place whether they quote or not; its meaning may differ.
    pub(super) fn plain_quotes(&self) -> Option<usize> {
        let rest = self.bytes.get(self.at + 1..)?;
        let end = rest.iter().take(64).position(|byte| *byte == b'\'')?;
        let text = &rest[..end];
        let special = |byte: &u8| matches!(byte, b'}' | b'{' | b'"' | b'$' | b'`' | b'\n');
        let escapes = text.iter().enumerate().all(|(at, byte)| {
            *byte != b'\\' || text.get(at + 1).is_some_and(u8::is_ascii_alphabetic)
        });
        (!text.iter().any(special) && escapes).then_some(end + 2)
    }

    pub(super) fn quoted_step(&mut self, pieces: &mut Vec<Piece<'a>>) -> Result<(), Stop> {
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
        self.deeper(|parser| parser.word_pieces(WordPosition::Subscript, start, &mut pieces))?;
        if self.peek() != Some(b']') {
            return self.fail("a subscript that is never closed", start);
        }
        self.note_region(start, Region::Subscript);
        self.at += 1;
        self.calculations += 1;
        let nested = pieces
            .iter()
            .any(|piece| matches!(piece, Piece::Plain(text) if text.contains('[')));
        if nested {
            return self.fail("a subscript in a subscript", start);
        }
        Ok(pieces)
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
                    parser.note(from, Quote::Arithmetic);
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
        self.note_region(start, Region::Arithmetic);
        self.calculations += 1;
        self.facts.arithmetic(&pieces);
        Ok(pieces)
    }
}
