//! Commands: lists, pipelines, compound commands, redirections, here-documents.

use std::borrow::Cow;

use super::lex::{Parser, Stop, WordPosition};
use super::syntax::{
    Assignment, Command, Item, Kind, Link, List, Parsed, Piece, Pipeline, Raw, Value,
};

/// Words that end the list they stand in.
const CLOSERS: &[&str] = &[
    "in", "then", "else", "elif", "fi", "do", "done", "esac", "}", "]]",
];

impl<'a> Parser<'a> {
    /// Parses the whole text. What could be parsed before an error is kept: bash runs complete lines before it reads on.
    pub(super) fn parse(mut self) -> (Parsed<'a>, Vec<super::script::Doubt>) {
        let mut list = Vec::new();
        let done = self.items(&mut list);
        if done.is_ok() && self.at < self.bytes.len() {
            self.doubt("a word or sign that bash does not expect here", self.at);
        }
        if !self.pending.is_empty() {
            self.doubt("a here-document that never begins", self.at);
        }
        let parsed = Parsed {
            list,
            documents: self.documents,
            facts: self.facts,
        };
        (parsed, self.doubts)
    }

    /// Skips blanks, continued line ends and a comment.
    pub(super) fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\\') if self.peek_at(1) == Some(b'\n') => self.at += 2,
                Some(b'#') if self.at == 0 || is_boundary(self.bytes[self.at - 1]) => {
                    self.comment();
                }
                _ => return,
            }
        }
    }

    /// Skips a comment, if one begins here.
    pub(super) fn comment(&mut self) {
        if self.peek() != Some(b'#') {
            return;
        }
        let from = self.at;
        while self.peek().is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
        self.note(from, super::quoting::Quote::Comment);
    }

    /// Skips blanks, comments and line ends.
    pub(super) fn newlines(&mut self) -> Result<(), Stop> {
        loop {
            self.blanks();
            if self.peek() != Some(b'\n') {
                return Ok(());
            }
            self.newline()?;
        }
    }

    /// Goes over a line end; here-documents begin after it.
    pub(super) fn newline(&mut self) -> Result<(), Stop> {
        self.at += 1;
        for pending in std::mem::take(&mut self.pending) {
            self.document(pending);
        }
        Ok(())
    }

    pub(super) fn list(&mut self) -> Result<List<'a>, Stop> {
        let mut list = Vec::new();
        self.items(&mut list)?;
        Ok(list)
    }

    /// Items up to the end or to what closes the list, which stays.
    pub(super) fn items(&mut self, list: &mut List<'a>) -> Result<(), Stop> {
        loop {
            let before = self.at;
            self.newlines()?;
            if self.at_closer() {
                return Ok(());
            }
            let starts_line = list.is_empty() || self.text[before..self.at].contains('\n');
            let calculations = self.calculations;
            let chain = self.chain()?;
            self.blanks();
            let mut background = false;
            match self.peek() {
                Some(b'&') => {
                    background = true;
                    self.at += 1;
                }
                Some(b';') if !matches!(self.peek_at(1), Some(b';' | b'&')) => self.at += 1,
                Some(b'\n') | None => {}
                _ if self.at_closer() && self.may_close(&chain) => {}
                _ => return self.fail("a word or sign that bash does not expect here", self.at),
            }
            list.push(Item {
                chain,
                background,
                starts_line,
                calculates: self.calculations > calculations,
            });
        }
    }

    /// Whether a closing word may follow at once: after a compound command without redirections. A parenthesis always may.
    fn may_close(&self, chain: &[(Link, Pipeline<'a>)]) -> bool {
        if matches!(self.peek(), None | Some(b')' | b';')) {
            return true;
        }
        let last = chain.last().and_then(|(_, pipeline)| pipeline.parts.last());
        last.is_some_and(|command| match &command.kind {
            Kind::Simple { .. } | Kind::Coprocess(_) => false,
            Kind::Function { body, .. } => body.redirects.is_empty(),
            _ => command.redirects.is_empty(),
        })
    }

    pub(super) fn at_closer(&self) -> bool {
        match self.peek() {
            None | Some(b')') => true,
            Some(b';') => matches!(self.peek_at(1), Some(b';' | b'&')),
            _ => self.reserved().is_some_and(|word| CLOSERS.contains(&word)),
        }
    }

    /// The plain word that begins here, for comparing with reserved words.
    pub(super) fn reserved(&self) -> Option<&'a str> {
        let rest = &self.bytes[self.at..];
        let length = rest
            .iter()
            .take(16)
            .position(|byte| is_boundary(*byte))
            .unwrap_or(rest.len().min(16));
        self.text.get(self.at..self.at + length)
    }

    pub(super) fn chain(&mut self) -> Result<Vec<(Link, Pipeline<'a>)>, Stop> {
        let mut chain = Vec::with_capacity(1);
        let mut link = Link::First;
        loop {
            let pipeline = self.pipeline()?;
            chain.push((link, pipeline));
            self.blanks();
            link = match (self.peek(), self.peek_at(1)) {
                (Some(b'&'), Some(b'&')) => Link::And,
                (Some(b'|'), Some(b'|')) => Link::Or,
                _ => return Ok(chain),
            };
            self.at += 2;
            self.newlines()?;
        }
    }

    pub(super) fn pipeline(&mut self) -> Result<Pipeline<'a>, Stop> {
        let mut negated = false;
        let start = self.at;
        loop {
            self.blanks();
            match self.reserved() {
                Some("!") => {
                    negated = !negated;
                    self.at += 1;
                }
                Some("time") => {
                    self.at += 4;
                    self.blanks();
                    if self.reserved() == Some("-p") {
                        self.at += 2;
                        self.blanks();
                    }
                    if self.reserved() == Some("--") {
                        self.at += 2;
                        self.blanks();
                    }
                    if self.peek() == Some(b'-') {
                        self.doubt(
                            "an option of `time` that only the program of that name has",
                            start,
                        );
                    }
                }
                _ => break,
            }
        }
        let nothing = match self.peek() {
            None | Some(b'\n') => true,
            Some(b';') => !matches!(self.peek_at(1), Some(b';' | b'&')),
            _ => false,
        };
        if nothing && self.at > start {
            // `time` and `!` may stand alone.
            return Ok(Pipeline {
                negated,
                parts: Vec::new(),
            });
        }
        let mut parts = Vec::with_capacity(1);
        loop {
            let command = self.command()?;
            parts.push(command);
            self.blanks();
            if self.peek() != Some(b'|') || self.peek_at(1) == Some(b'|') {
                return Ok(Pipeline { negated, parts });
            }
            self.at += 1;
            if self.peek() == Some(b'&') {
                self.only_bash("`|&`", self.at - 1);
                self.at += 1;
            }
            self.broken_operator();
            self.newlines()?;
            if matches!(self.reserved(), Some("!" | "time")) {
                self.doubt("a word that is allowed only before a pipeline", self.at);
            }
        }
    }

    /// Doubts an operator that a continued line may be hiding the rest of.
    pub(super) fn broken_operator(&mut self) {
        if self.peek() == Some(b'\\')
            && self.peek_at(1) == Some(b'\n')
            && matches!(
                self.peek_at(2),
                Some(b'|' | b'&' | b';' | b'<' | b'>' | b'(' | b'\\')
            )
        {
            self.doubt(
                "an operator broken over two lines",
                self.at.saturating_sub(1),
            );
        }
    }

    pub(super) fn command(&mut self) -> Result<Command<'a>, Stop> {
        let start = self.at;
        if self.reserved().is_some_and(|word| CLOSERS.contains(&word)) {
            return self.fail("a word or sign that bash does not expect here", start);
        }
        let kind = self.deeper(|parser| parser.compound())?;
        let Some(kind) = kind else {
            return self.deeper(|parser| parser.simple());
        };
        let mut redirects = Vec::new();
        // A function's redirections belong to its body.
        if !matches!(kind, Kind::Function { .. } | Kind::Coprocess(_)) {
            loop {
                self.blanks();
                if !self.redirect(&mut redirects)? {
                    break;
                }
            }
        }
        Ok(Command {
            kind,
            redirects,
            span: start..self.at,
        })
    }

    pub(super) fn simple(&mut self) -> Result<Command<'a>, Stop> {
        let start = self.at;
        let mut assignments = Vec::new();
        let mut words: Vec<Raw<'a>> = Vec::new();
        let mut redirects = Vec::new();
        let mut end = start;
        loop {
            self.blanks();
            if self.redirect(&mut redirects)? {
                end = self.at;
                continue;
            }
            match self.peek() {
                None | Some(b'\n' | b';' | b'&' | b'|' | b')') => break,
                Some(b'(') => {
                    let definition =
                        words.len() == 1 && assignments.is_empty() && redirects.is_empty();
                    if !definition {
                        return self.fail("a parenthesis that bash does not expect here", start);
                    }
                    self.at += 1;
                    self.blanks();
                    self.expect_byte(b')', start)?;
                    let name = words.pop().unwrap_or_default();
                    let kind = self.function(start, name)?;
                    return Ok(Command {
                        kind,
                        redirects,
                        span: start..self.at,
                    });
                }
                _ => {}
            }
            let declares = words.first().and_then(Raw::plain).is_some_and(|name| {
                matches!(
                    name,
                    "declare"
                        | "typeset"
                        | "local"
                        | "export"
                        | "readonly"
                        | "alias"
                        | "eval"
                        | "let"
                )
            });
            if words.is_empty() || declares {
                let mut begun = Vec::new();
                let from = self.at;
                match self.assignment(&mut begun, declares)? {
                    Some(assignment) if words.is_empty() => assignments.push(assignment),
                    Some(assignment) => {
                        // `declare a=(…)`: what is in the parentheses is expanded, the name is set.
                        words.push(Raw {
                            pieces: flatten(assignment),
                            source: &self.text[from..self.at],
                        });
                    }
                    None => {
                        self.word_pieces(WordPosition::Command, from, &mut begun)?;
                        words.push(Raw {
                            pieces: begun,
                            source: &self.text[from..self.at],
                        });
                    }
                }
            } else {
                let word = self.word(WordPosition::Command)?;
                words.push(word);
            }
            if self.at == end {
                return self.fail("a word or sign that bash does not expect here", start);
            }
            end = self.at;
        }
        if end == start {
            return self.fail("a command is missing here", start);
        }
        if words
            .first()
            .is_some_and(|word| word.source.contains("\\\n"))
        {
            // Without the line end it may be a reserved word.
            self.doubt("a word that goes on after the end of its line", start);
        }
        for assignment in &assignments {
            self.facts.assignment(assignment);
        }
        self.facts.builtin(&words);
        let moves = match words.first().map(Raw::literal) {
            None => false,
            Some(None) => true,
            Some(Some(name)) => {
                // What braces make of a name is not looked at here.
                let moves = matches!(
                    name.as_ref(),
                    "cd" | "pushd" | "popd" | "eval" | "." | "source" | "command" | "builtin"
                ) || name.contains('{')
                    || !self.facts.moving.is_empty() && self.facts.moving.contains(name.as_ref());
                if self.open_functions > 0 {
                    self.called.push(name.into_owned());
                }
                moves
            }
        };
        self.moves += usize::from(moves);
        Ok(Command {
            kind: Kind::Simple { assignments, words },
            redirects,
            span: start..end,
        })
    }

    /// An assignment, if one begins here. Otherwise what was read of the word is in `begun`. Only those with parentheses count
    /// when `arrays_only`: others are words of the command.
    pub(super) fn assignment(
        &mut self,
        begun: &mut Vec<Piece<'a>>,
        arrays_only: bool,
    ) -> Result<Option<Assignment<'a>>, Stop> {
        let start = self.at;
        let name = self.identifier();
        if name.is_empty() {
            return Ok(None);
        }
        let mut subscript = None;
        if self.peek() == Some(b'[') && !arrays_only {
            self.at += 1;
            let pieces = self.subscript(start)?;
            let assigns = self.peek() == Some(b'=') || self.starts("+=");
            if !assigns {
                // A word such as `a[bc]`: the bracket is a pattern.
                if self.text[start..self.at]
                    .contains([' ', '\n', '\t', ';', '|', '&', '<', '>', '(', ')'])
                {
                    self.doubt("brackets around blanks or operators", start);
                }
                begun.push(Piece::Plain(Cow::Owned(format!("{name}["))));
                begun.extend(pieces);
                begun.push(Piece::Plain(Cow::Borrowed("]")));
                return Ok(None);
            }
            subscript = Some(pieces);
        }
        let appends = self.starts("+=");
        let length = usize::from(appends) + 1;
        let is_array = self.peek_at(length) == Some(b'(');
        if !(appends || self.peek() == Some(b'=')) || arrays_only && !is_array {
            begun.push(Piece::Plain(Cow::Borrowed(&self.text[start..self.at])));
            return Ok(None);
        }
        self.at += length;
        let value = if is_array {
            self.only_bash("arrays", start);
            self.at += 1;
            let array = self.deeper(|parser| parser.array(start))?;
            if !self.peek().is_none_or(is_boundary) {
                // The word goes on, and bash takes the whole of it for something else.
                return self.fail("an array with something attached to it", start);
            }
            array
        } else {
            Value::Word(self.word(WordPosition::Command)?)
        };
        Ok(Some(Assignment {
            name,
            subscript,
            appends,
            value,
        }))
    }

    pub(super) fn array(&mut self, start: usize) -> Result<Value<'a>, Stop> {
        let mut elements = Vec::new();
        loop {
            self.newlines()?;
            if self.peek() == Some(b')') {
                self.at += 1;
                return Ok(Value::Array(elements));
            }
            let mut subscript = None;
            let from = self.at;
            let mut pieces = Vec::new();
            if self.peek() == Some(b'[') {
                self.at += 1;
                let inner = self.subscript(from)?;
                if self.peek() == Some(b'=') || self.starts("+=") {
                    self.at += if self.peek() == Some(b'=') { 1 } else { 2 };
                    subscript = Some(inner);
                } else {
                    pieces.push(Piece::Plain(Cow::Borrowed("[")));
                    pieces.extend(inner);
                    pieces.push(Piece::Plain(Cow::Borrowed("]")));
                }
            }
            self.word_pieces(WordPosition::Command, from, &mut pieces)?;
            if self.at == from {
                return self.fail("an array that is not understood", start);
            }
            elements.push((
                subscript,
                Raw {
                    pieces,
                    source: &self.text[from..self.at],
                },
            ));
        }
    }
}

/// The pieces of an array assignment that is an argument, so that what is in them is walked.
fn flatten(assignment: Assignment<'_>) -> Vec<Piece<'_>> {
    let mut pieces = vec![Piece::Plain(Cow::Owned(format!("{}=", assignment.name)))];
    match assignment.value {
        Value::Word(word) => pieces.extend(word.pieces),
        Value::Array(elements) => {
            for (subscript, word) in elements {
                pieces.extend(subscript.into_iter().flatten());
                pieces.extend(word.pieces);
            }
        }
    }
    pieces
}

/// Whether a byte is between words.
pub(super) fn is_boundary(byte: u8) -> bool {
    matches!(
        byte,
        b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>'
    )
}
