//! Redirections and here-documents.

use std::borrow::Cow;

use super::grammar::is_boundary;
use super::lex::{Parser, Pending, Stop, WordPosition};
use super::syntax::{Document, Piece, Raw, RawKind, RawRedirect};

impl<'a> Parser<'a> {
    /// A redirection, if one begins here.
    pub(super) fn redirect(&mut self, redirects: &mut Vec<RawRedirect<'a>>) -> Result<bool, Stop> {
        let start = self.at;
        let mut number: Option<&str> = None;
        match self.peek() {
            Some(b'0'..=b'9') => {
                let mut end = self.at;
                while self.bytes.get(end).is_some_and(u8::is_ascii_digit) {
                    end += 1;
                }
                if !matches!(self.bytes.get(end), Some(b'<' | b'>')) {
                    return Ok(false);
                }
                number = Some(&self.text[self.at..end]);
                self.at = end;
            }
            Some(b'{') => {
                let rest = &self.bytes[self.at + 1..];
                let length = rest
                    .iter()
                    .take(256)
                    .take_while(|byte| **byte == b'_' || byte.is_ascii_alphanumeric())
                    .count();
                let named = length > 0
                    && !rest[0].is_ascii_digit()
                    && rest.get(length) == Some(&b'}')
                    && matches!(rest.get(length + 1), Some(b'<' | b'>'));
                if !named {
                    return Ok(false);
                }
                self.only_bash("`{name}>`", start);
                self.facts
                    .assign(&self.text[self.at + 1..self.at + 1 + length], true);
                number = Some("named");
                self.at += length + 2;
            }
            Some(b'&') if self.peek_at(1) == Some(b'>') => self.only_bash("`&>`", start),
            Some(b'<' | b'>') => {}
            _ => return Ok(false),
        }
        if number.is_none()
            && matches!(self.peek(), Some(b'<' | b'>'))
            && self.peek_at(1) == Some(b'(')
        {
            return Ok(false);
        }
        let operators: &[(&str, RawKind)] = &[
            ("&>>", RawKind::Write),
            ("&>", RawKind::Write),
            ("<<<", RawKind::HereString),
            ("<<-", RawKind::Document(1)),
            ("<<", RawKind::Document(0)),
            ("<>", RawKind::Write),
            ("<&", RawKind::Duplicate),
            ("<", RawKind::Read),
            (">>", RawKind::Write),
            (">|", RawKind::Write),
            (">&", RawKind::Duplicate),
            (">", RawKind::Write),
        ];
        let found = operators.iter().find(|(operator, _)| self.starts(operator));
        let Some(&(operator, mut kind)) = found else {
            return Ok(false);
        };
        self.at += operator.len();
        if self.peek() == Some(b'\\') && self.peek_at(1) == Some(b'\n') {
            self.doubt("an operator broken over two lines", start);
        }
        if kind == RawKind::Duplicate && self.peek() == Some(b'-') {
            // `<&-` is whole: what follows at once is another word, and a `#` begins a comment.
            self.at += 1;
            redirects.push(RawRedirect {
                kind,
                target: Raw {
                    pieces: vec![Piece::Plain(Cow::Borrowed("-"))],
                    source: &self.text[self.at - 1..self.at],
                },
                is_input: operator.starts_with('<') && matches!(number, None | Some("0")),
            });
            if !self.peek().is_none_or(is_boundary) {
                self.only_bash("words right after `<&-`", start);
            }
            self.comment();
            return Ok(true);
        }
        if operator == "<<<" {
            self.only_bash("here-strings", start);
        }
        self.blanks_before_target();
        let target = self.word(WordPosition::Command)?;
        // `2>2>x`: the second number belongs to the second redirection.
        let is_descriptor = |source: &str| {
            let inner = source
                .strip_prefix('{')
                .and_then(|rest| rest.strip_suffix('}'));
            match inner {
                Some(name) => name
                    .bytes()
                    .all(|byte| byte == b'_' || byte.is_ascii_alphanumeric()),
                None => source.bytes().all(|byte| byte.is_ascii_digit()),
            }
        };
        let number_follows =
            matches!(self.peek(), Some(b'<' | b'>')) && is_descriptor(target.source);
        if target.source.is_empty() || number_follows {
            return self.fail("a redirection without a target", start);
        }
        if let RawKind::Document(strips) = kind {
            kind = RawKind::Document(self.documents.len());
            let from = self.at - target.source.len();
            if let Some(places) = &mut self.places {
                places.delimiters.push(from..self.at);
            }
            self.open_document(&target, strips == 1, start);
        }
        let is_input = operator.starts_with('<') && matches!(number, None | Some("0"));
        redirects.push(RawRedirect {
            kind,
            target,
            is_input,
        });
        Ok(true)
    }

    /// Blanks between an operator and its target; a `#` after a blank would be a comment, and then the target is missing.
    pub(super) fn blanks_before_target(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        self.blanks();
    }

    pub(super) fn open_document(&mut self, target: &Raw<'a>, strips_tabs: bool, start: usize) {
        let mut delimiter = String::new();
        for piece in &target.pieces {
            match piece {
                Piece::Plain(text) | Piece::Text(text) => delimiter.push_str(text),
                _ => self.doubt("a here-document whose end cannot be determined", start),
            }
        }
        if target.source.contains(['$', '`', '\n']) {
            self.doubt("a here-document whose end cannot be determined", start);
        }
        let quoted = target.source.contains(['\'', '"', '\\']);
        self.pending.push(Pending {
            delimiter,
            strips_tabs,
            quoted,
            index: self.documents.len(),
        });
        self.documents.push(Document {
            body: Cow::Borrowed(""),
            quoted,
        });
    }

    pub(super) fn document(&mut self, pending: Pending) {
        let start = self.at;
        let mut body: Cow<'a, str> = Cow::Borrowed("");
        loop {
            if self.at >= self.bytes.len() {
                self.doubt("a here-document that never ends", start);
                break;
            }
            let line_start = self.at;
            let (line, joined) = self.document_line(&pending);
            if line == pending.delimiter {
                self.note_document(start..line_start, &pending);
                break;
            }
            match &mut body {
                Cow::Borrowed(text) if !joined && !pending.strips_tabs => {
                    *text = &self.text[start..self.at];
                }
                body => {
                    let body = body.to_mut();
                    body.push_str(&line);
                    body.push('\n');
                }
            }
        }
        if let Some(document) = self.documents.get_mut(pending.index) {
            document.body = body;
        }
    }

    /// A line of a here-document, and whether it differs from the text.
    pub(super) fn document_line(&mut self, pending: &Pending) -> (String, bool) {
        let mut line = String::new();
        let mut joined = false;
        loop {
            let from = self.at;
            while self.peek().is_some_and(|byte| byte != b'\n') {
                self.at += 1;
            }
            let mut piece = &self.text[from..self.at];
            if self.at < self.bytes.len() {
                self.at += 1;
            }
            if pending.strips_tabs && !joined {
                piece = piece.trim_start_matches('\t');
            }
            let slashes = piece
                .bytes()
                .rev()
                .take_while(|byte| *byte == b'\\')
                .count();
            if !pending.quoted && slashes % 2 == 1 && self.at < self.bytes.len() {
                line.push_str(&piece[..piece.len() - 1]);
                joined = true;
                continue;
            }
            line.push_str(piece);
            return (line, joined);
        }
    }
}
