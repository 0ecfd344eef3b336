//! Compound commands: groups, branches, loops, functions, `[[ … ]]`.

use std::borrow::Cow;

use super::conditions;
use super::grammar::is_boundary;
use super::lex::{Parser, Stop, WordPosition};
use super::syntax::{Command, Kind, List, Piece, Raw};

impl<'a> Parser<'a> {
    /// A compound command, if one begins here.
    pub(super) fn compound(&mut self) -> Result<Option<Kind<'a>>, Stop> {
        let start = self.at;
        if self.peek() == Some(b'(') {
            if self.peek_at(1) == Some(b'(') {
                self.only_bash("`((…))`", start);
                self.at += 2;
                return Ok(Some(Kind::Arithmetic(self.arithmetic(b')')?)));
            }
            self.at += 1;
            self.broken_operator();
            let moves = self.moves;
            let list = self.body(start)?;
            // Where it goes to is its own business.
            self.moves = moves;
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
                let name = self.word(WordPosition::Command)?;
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
                if matches!(body.kind, Kind::Function { .. }) {
                    return self.fail("a function defined by a coprocess", start);
                }
                if matches!(body.kind, Kind::Simple { .. }) {
                    // In a substitution, bash 5.2 takes the first word for the coprocess's name.
                    self.doubt("a coprocess without braces", start);
                }
                Kind::Coprocess(Box::new(body))
            }
            _ => return Ok(None),
        };
        Ok(Some(kind))
    }

    /// A list that must not be empty.
    pub(super) fn body(&mut self, start: usize) -> Result<List<'a>, Stop> {
        let list = self.deeper(|parser| parser.list())?;
        if list.is_empty() {
            return self.fail("a command is missing here", start);
        }
        Ok(list)
    }

    pub(super) fn expect(&mut self, word: &str, start: usize) -> Result<(), Stop> {
        if self.reserved() == Some(word) {
            self.at += word.len();
            return Ok(());
        }
        self.fail(&format!("`{word}` is missing"), start)
    }

    pub(super) fn expect_byte(&mut self, byte: u8, start: usize) -> Result<(), Stop> {
        if self.peek() == Some(byte) {
            self.at += 1;
            return Ok(());
        }
        self.fail(&format!("`{}` is missing", char::from(byte)), start)
    }

    pub(super) fn conditional(&mut self, start: usize) -> Result<Kind<'a>, Stop> {
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

    pub(super) fn for_loop(&mut self, start: usize, keyword: usize) -> Result<Kind<'a>, Stop> {
        self.at += keyword;
        self.blanks();
        let moves = self.moves;
        if self.starts("((") {
            self.only_bash("`for ((`", start);
            self.at += 2;
            let expression = self.arithmetic(b')')?;
            let parts = expression.iter().map(|piece| match piece {
                Piece::Plain(text) => text.matches(';').count(),
                _ => 0,
            });
            if parts.sum::<usize>() != 2 {
                return self.fail("a loop without its three expressions", start);
            }
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
                let word = self.word(WordPosition::Command)?;
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
            name,
            words,
            body,
            moves: self.moves > moves,
        })
    }

    pub(super) fn loop_body(&mut self, start: usize) -> Result<List<'a>, Stop> {
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

    pub(super) fn case(&mut self, start: usize) -> Result<Kind<'a>, Stop> {
        self.at += 4;
        self.blanks();
        let word = self.word(WordPosition::Command)?;
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
                let pattern = self.word(WordPosition::Command)?;
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

    pub(super) fn function(&mut self, start: usize, name: Raw<'a>) -> Result<Kind<'a>, Stop> {
        let Some(name) = name.plain().map(str::to_owned) else {
            return self.fail("a function whose name is not plain", start);
        };
        self.newlines()?;
        let moves = self.moves;
        let from = self.at;
        let called = self.called.len();
        self.open_functions += 1;
        let kind = self.deeper(|parser| parser.compound());
        self.open_functions -= 1;
        let kind = kind?;
        let calls = self.called[called..].to_vec();
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
        Ok(Kind::Function {
            name,
            body,
            moves,
            calls,
        })
    }

    pub(super) fn test(&mut self, start: usize) -> Result<Kind<'a>, Stop> {
        self.only_bash("`[[…]]`", start);
        self.at += 2;
        let mut words: Vec<Raw<'a>> = Vec::new();
        let mut open = 0usize;
        loop {
            self.newlines()?;
            if self.reserved() == Some("]]") && open == 0 {
                self.at += 2;
                if !conditions::is_sound(&words) {
                    return self.fail("a test that is not understood", start);
                }
                return Ok(Kind::Test(words));
            }
            let place = match words.last().and_then(Raw::plain) {
                Some("=~") => WordPosition::Regex,
                Some("==" | "=" | "!=") => WordPosition::Pattern,
                _ => WordPosition::Command,
            };
            let operand = place != WordPosition::Command;
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
}
