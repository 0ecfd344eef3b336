//! Commands: lists, pipelines, compound commands, redirections, here-documents.

use std::borrow::Cow;

use super::lex::{Parser, Pending, Place, Stop};
use super::syntax::{
    Assignment, Command, Document, Item, Kind, Link, List, Parsed, Piece, Pipeline, Raw, RawKind,
    RawRedirect, Value,
};

/// Words that end the list they stand in.
const CLOSERS: &[&str] = &["then", "else", "elif", "fi", "do", "done", "esac", "}"];

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
    fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\\') if self.peek_at(1) == Some(b'\n') => self.at += 2,
                Some(b'#') if self.at == 0 || is_boundary(self.bytes[self.at - 1]) => {
                    while self.peek().is_some_and(|byte| byte != b'\n') {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    /// Skips blanks, comments and line ends.
    fn newlines(&mut self) -> Result<(), Stop> {
        loop {
            self.blanks();
            if self.peek() != Some(b'\n') {
                return Ok(());
            }
            self.newline()?;
        }
    }

    /// Goes over a line end; here-documents begin after it.
    fn newline(&mut self) -> Result<(), Stop> {
        self.at += 1;
        for pending in std::mem::take(&mut self.pending) {
            self.document(pending);
        }
        Ok(())
    }

    fn document(&mut self, pending: Pending) {
        let start = self.at;
        let mut body: Cow<'a, str> = Cow::Borrowed("");
        let mut whole = start;
        loop {
            if self.at >= self.bytes.len() {
                self.doubt("a here-document that never ends", start);
                break;
            }
            let (line, copied) = self.document_line(&pending);
            if line == pending.delimiter {
                break;
            }
            if !copied && !pending.strips_tabs && matches!(body, Cow::Borrowed(_)) {
                whole = self.at;
                body = Cow::Borrowed(&self.text[start..whole]);
            } else {
                let body = body.to_mut();
                body.push_str(&line);
                body.push('\n');
            }
        }
        let _ = whole;
        if let Some(document) = self.documents.get_mut(pending.index) {
            document.body = body;
        }
    }

    /// A line of a here-document, and whether it differs from the text.
    fn document_line(&mut self, pending: &Pending) -> (String, bool) {
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

    pub(super) fn list(&mut self) -> Result<List<'a>, Stop> {
        let mut list = Vec::new();
        self.items(&mut list)?;
        Ok(list)
    }

    /// Items up to the end or to what closes the list, which stays.
    fn items(&mut self, list: &mut List<'a>) -> Result<(), Stop> {
        loop {
            self.newlines()?;
            if self.at_closer() {
                return Ok(());
            }
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
                _ if self.at_closer() => {}
                _ => return self.fail("a word or sign that bash does not expect here", self.at),
            }
            list.push(Item { chain, background });
        }
    }

    fn at_closer(&self) -> bool {
        match self.peek() {
            None | Some(b')') => true,
            Some(b';') => matches!(self.peek_at(1), Some(b';' | b'&')),
            _ => self.reserved().is_some_and(|word| CLOSERS.contains(&word)),
        }
    }

    /// The plain word that begins here, for comparing with reserved words.
    fn reserved(&self) -> Option<&'a str> {
        let rest = &self.bytes[self.at..];
        let length = rest
            .iter()
            .take(16)
            .position(|byte| is_boundary(*byte))
            .unwrap_or(rest.len().min(16));
        self.text.get(self.at..self.at + length)
    }

    fn chain(&mut self) -> Result<Vec<(Link, Pipeline<'a>)>, Stop> {
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

    fn pipeline(&mut self) -> Result<Pipeline<'a>, Stop> {
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
        let nothing = matches!(self.peek(), None | Some(b'\n' | b';' | b'&' | b')'));
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
        }
    }

    /// Doubts an operator that a continued line may be hiding the rest of.
    fn broken_operator(&mut self) {
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

    fn command(&mut self) -> Result<Command<'a>, Stop> {
        let start = self.at;
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

    /// A compound command, if one begins here.
    fn compound(&mut self) -> Result<Option<Kind<'a>>, Stop> {
        let start = self.at;
        if self.peek() == Some(b'(') {
            if self.peek_at(1) == Some(b'(') {
                self.only_bash("`((…))`", start);
                self.at += 2;
                return Ok(Some(Kind::Arithmetic(self.arithmetic(b')')?)));
            }
            self.at += 1;
            self.broken_operator();
            let list = self.body(start)?;
            self.expect_byte(b')', start)?;
            return Ok(Some(Kind::Subshell(list)));
        }
        let Some(word) = self.reserved() else {
            return Ok(None);
        };
        let kind = match word {
            "{" => {
                self.at += 1;
                let list = self.body(start)?;
                self.expect("}", start)?;
                Kind::Group(list)
            }
            "if" => self.conditional(start)?,
            "while" | "until" => {
                self.at += 5;
                let moves = self.moves;
                let condition = self.body(start)?;
                self.expect("do", start)?;
                let body = self.body(start)?;
                self.expect("done", start)?;
                Kind::Loop {
                    condition,
                    body,
                    moves: self.moves > moves,
                }
            }
            "for" | "select" => self.for_loop(start, word.len())?,
            "case" => self.case(start)?,
            "function" => {
                self.only_bash("`function` definitions", start);
                self.at += 8;
                self.blanks();
                let name = self.word(Place::Command)?;
                self.blanks();
                if self.peek() == Some(b'(') {
                    self.at += 1;
                    self.blanks();
                    self.expect_byte(b')', start)?;
                }
                self.function(start, name)?
            }
            "[[" => self.test(start)?,
            "coproc" => {
                self.at += 6;
                self.blanks();
                let from = self.at;
                let name = self.identifier();
                if !name.is_empty() && matches!(self.peek(), Some(b' ' | b'\t')) {
                    self.blanks();
                    let compound = self.peek() == Some(b'(')
                        || self.reserved().is_some_and(|word| {
                            matches!(
                                word,
                                "{" | "if" | "while" | "until" | "for" | "case" | "select" | "[["
                            )
                        });
                    let keyword =
                        matches!(name, "if" | "while" | "until" | "for" | "case" | "select");
                    if !compound || keyword {
                        self.at = from;
                    } else {
                        self.facts.assign(name, false);
                    }
                } else {
                    self.at = from;
                }
                self.facts.assign("COPROC", false);
                let body = self.command()?;
                Kind::Coprocess(Box::new(body))
            }
            _ => return Ok(None),
        };
        Ok(Some(kind))
    }

    /// A list that must not be empty.
    fn body(&mut self, start: usize) -> Result<List<'a>, Stop> {
        let list = self.deeper(|parser| parser.list())?;
        if list.is_empty() {
            return self.fail("a command is missing here", start);
        }
        Ok(list)
    }

    fn expect(&mut self, word: &str, start: usize) -> Result<(), Stop> {
        if self.reserved() == Some(word) {
            self.at += word.len();
            return Ok(());
        }
        self.fail(&format!("`{word}` is missing"), start)
    }

    fn expect_byte(&mut self, byte: u8, start: usize) -> Result<(), Stop> {
        if self.peek() == Some(byte) {
            self.at += 1;
            return Ok(());
        }
        self.fail(&format!("`{}` is missing", char::from(byte)), start)
    }

    fn conditional(&mut self, start: usize) -> Result<Kind<'a>, Stop> {
        let mut arms = Vec::new();
        let mut otherwise = None;
        self.at += 2;
        loop {
            let condition = self.body(start)?;
            self.expect("then", start)?;
            let body = self.body(start)?;
            arms.push((condition, body));
            match self.reserved() {
                Some("elif") => self.at += 4,
                Some("else") => {
                    self.at += 4;
                    otherwise = Some(self.body(start)?);
                    break;
                }
                _ => break,
            }
        }
        self.expect("fi", start)?;
        Ok(Kind::If { arms, otherwise })
    }

    fn for_loop(&mut self, start: usize, keyword: usize) -> Result<Kind<'a>, Stop> {
        self.at += keyword;
        self.blanks();
        let moves = self.moves;
        if self.starts("((") {
            self.only_bash("`for ((`", start);
            self.at += 2;
            let expression = self.arithmetic(b')')?;
            self.blanks();
            if self.peek() == Some(b';') {
                self.at += 1;
            }
            let body = self.loop_body(start)?;
            return Ok(Kind::ForArithmetic {
                expression,
                body,
                moves: self.moves > moves,
            });
        }
        let name = self.identifier();
        if name.is_empty() || !self.peek().is_none_or(is_boundary) {
            return self.fail("a loop over something that is not a name", start);
        }
        let mut words = Vec::new();
        self.newlines()?;
        if self.reserved() == Some("in") {
            self.at += 2;
            loop {
                self.blanks();
                match self.peek() {
                    Some(b';') => {
                        self.at += 1;
                        break;
                    }
                    Some(b'\n') => break,
                    _ => {}
                }
                let word = self.word(Place::Command)?;
                if word.source.is_empty() {
                    return self.fail("a word or sign that bash does not expect here", start);
                }
                words.push(word);
            }
            let numeric = words.iter().all(super::facts::is_number);
            self.facts.assign(name, numeric);
        } else {
            self.facts.assign(name, false);
            if self.peek() == Some(b';') {
                self.at += 1;
            }
        }
        if keyword == "select".len() {
            self.facts.assign(name, false);
            self.facts.assign("REPLY", false);
        }
        let body = self.loop_body(start)?;
        Ok(Kind::For {
            words,
            body,
            moves: self.moves > moves,
        })
    }

    fn loop_body(&mut self, start: usize) -> Result<List<'a>, Stop> {
        self.newlines()?;
        if self.reserved() == Some("{") {
            self.at += 1;
            let body = self.body(start)?;
            self.expect("}", start)?;
            return Ok(body);
        }
        self.expect("do", start)?;
        let body = self.body(start)?;
        self.expect("done", start)?;
        Ok(body)
    }

    fn case(&mut self, start: usize) -> Result<Kind<'a>, Stop> {
        self.at += 4;
        self.blanks();
        let word = self.word(Place::Command)?;
        if word.source.is_empty() {
            return self.fail("a word is missing after `case`", start);
        }
        self.newlines()?;
        self.expect("in", start)?;
        let mut arms = Vec::new();
        loop {
            self.newlines()?;
            if self.reserved() == Some("esac") {
                self.at += 4;
                return Ok(Kind::Case { word, arms });
            }
            if self.peek() == Some(b'(') {
                self.at += 1;
                self.blanks();
            }
            let mut patterns = Vec::new();
            loop {
                self.blanks();
                let pattern = self.word(Place::Command)?;
                if pattern.source.is_empty() {
                    return self.fail("a pattern of `case` that is not understood", start);
                }
                patterns.push(pattern);
                self.blanks();
                match self.peek() {
                    Some(b'|') if self.peek_at(1) != Some(b'|') => self.at += 1,
                    Some(b')') => break,
                    _ => return self.fail("a pattern of `case` that is not understood", start),
                }
            }
            self.at += 1;
            let body = self.deeper(|parser| parser.list())?;
            arms.push((patterns, body));
            if self.starts(";;&") {
                self.at += 3;
            } else if self.starts(";;") || self.starts(";&") {
                self.at += 2;
            } else {
                self.newlines()?;
                self.expect("esac", start)?;
                return Ok(Kind::Case { word, arms });
            }
        }
    }

    fn function(&mut self, start: usize, name: Raw<'a>) -> Result<Kind<'a>, Stop> {
        let Some(name) = name.plain().map(str::to_owned) else {
            return self.fail("a function whose name is not plain", start);
        };
        self.newlines()?;
        let moves = self.moves;
        let from = self.at;
        let kind = self.deeper(|parser| parser.compound())?;
        let kind = match kind {
            Some(kind) if !matches!(kind, Kind::Function { .. } | Kind::Coprocess(_)) => kind,
            _ => return self.fail("a function without a body in braces", start),
        };
        let mut redirects = Vec::new();
        loop {
            self.blanks();
            if !self.redirect(&mut redirects)? {
                break;
            }
        }
        let body = Box::new(Command {
            kind,
            redirects,
            span: from..self.at,
        });
        let moves = self.moves > moves;
        if moves {
            self.facts.moving.insert(name.clone());
        }
        Ok(Kind::Function { name, body, moves })
    }

    fn test(&mut self, start: usize) -> Result<Kind<'a>, Stop> {
        self.only_bash("`[[…]]`", start);
        self.at += 2;
        let mut words: Vec<Raw<'a>> = Vec::new();
        let mut open = 0usize;
        loop {
            self.newlines()?;
            if self.reserved() == Some("]]") && open == 0 {
                self.at += 2;
                if words.is_empty() {
                    return self.fail("a test without a condition", start);
                }
                return Ok(Kind::Test(words));
            }
            let place = match words.last().and_then(Raw::plain) {
                Some("=~") => Place::Regex,
                Some("==" | "=" | "!=") => Place::Pattern,
                _ => Place::Command,
            };
            let operand = place != Place::Command;
            let length = match (self.peek(), self.peek_at(1)) {
                (None, _) => return self.fail("`]]` is missing", start),
                (Some(b'&'), Some(b'&')) | (Some(b'|'), Some(b'|')) => 2,
                (Some(b'<' | b'>'), next) if next != Some(b'(') => 1,
                (Some(b'('), _) if !operand => {
                    open += 1;
                    1
                }
                (Some(b')'), _) if open > 0 => {
                    open -= 1;
                    1
                }
                (Some(b'&' | b';' | b'|' | b')'), _) => {
                    return self.fail("a test that is not understood", start);
                }
                _ => 0,
            };
            if length > 0 {
                words.push(Raw {
                    pieces: vec![Piece::Plain(Cow::Borrowed(
                        &self.text[self.at..self.at + length],
                    ))],
                    source: &self.text[self.at..self.at + length],
                });
                self.at += length;
                continue;
            }
            let word = self.word(place)?;
            if word.source.is_empty() {
                return self.fail("a test that is not understood", start);
            }
            words.push(word);
        }
    }

    fn simple(&mut self) -> Result<Command<'a>, Stop> {
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
                        self.word_pieces(Place::Command, from, &mut begun)?;
                        words.push(Raw {
                            pieces: begun,
                            source: &self.text[from..self.at],
                        });
                    }
                }
            } else {
                let word = self.word(Place::Command)?;
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
        for assignment in &assignments {
            self.facts.assignment(assignment);
        }
        self.facts.builtin(&words);
        let moves = match words.first().map(Raw::literal) {
            None => false,
            Some(None) => true,
            Some(Some(name)) => {
                matches!(
                    name.as_ref(),
                    "cd" | "pushd" | "popd" | "eval" | "." | "source" | "command" | "builtin"
                ) || !self.facts.moving.is_empty() && self.facts.moving.contains(name.as_ref())
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
    fn assignment(
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
            self.deeper(|parser| parser.array(start))?
        } else {
            Value::Word(self.word(Place::Command)?)
        };
        Ok(Some(Assignment {
            name,
            subscript,
            appends,
            value,
        }))
    }

    fn array(&mut self, start: usize) -> Result<Value<'a>, Stop> {
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
            self.word_pieces(Place::Command, from, &mut pieces)?;
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

    /// A redirection, if one begins here.
    fn redirect(&mut self, redirects: &mut Vec<RawRedirect<'a>>) -> Result<bool, Stop> {
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
        if operator == "<<<" {
            self.only_bash("here-strings", start);
        }
        self.blanks_before_target();
        let target = self.word(Place::Command)?;
        if target.source.is_empty() {
            return self.fail("a redirection without a target", start);
        }
        if let RawKind::Document(strips) = kind {
            kind = RawKind::Document(self.documents.len());
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
    fn blanks_before_target(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        self.blanks();
    }

    fn open_document(&mut self, target: &Raw<'a>, strips_tabs: bool, start: usize) {
        let mut delimiter = String::new();
        for piece in &target.pieces {
            match piece {
                Piece::Plain(text) | Piece::Text(text) => delimiter.push_str(text),
                _ => self.doubt("a here-document whose end cannot be told", start),
            }
        }
        if target.source.contains(['$', '`', '\n']) {
            self.doubt("a here-document whose end cannot be told", start);
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

fn is_boundary(byte: u8) -> bool {
    matches!(
        byte,
        b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>'
    )
}
