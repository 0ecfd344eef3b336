//! From text to [`Query`]: segments and selectors. What is behind `?` is read by `filter`.

use super::lexer::Lexer;
use super::syntax::{From, Query, Root, Segment, Selector, Slice};
use super::{MAX_CHARACTERS, PathError};

/// How deep filters, parentheses and functions may be nested. Reading and evaluating recurse only so far.
const MAX_DEPTH: usize = 32;

/// Reads a whole expression.
pub(super) fn expression(text: &str) -> Result<(Query, Vec<PathError>), PathError> {
    let mut parser = Parser {
        lexer: Lexer::new(text),
        depth: 0,
        doubts: Vec::new(),
    };
    if parser.lexer.len() > MAX_CHARACTERS {
        return parser.lexer.fault_at(
            MAX_CHARACTERS,
            format!("an expression has at most {MAX_CHARACTERS} characters"),
        );
    }
    if !parser.lexer.take("$") {
        return parser
            .lexer
            .expected("`$`, with which every JSONPath expression starts");
    }
    let query = parser.query(Root::Document)?;
    if parser.lexer.at < parser.lexer.len() {
        return match parser.lexer.peek() {
            Some(' ' | '\t' | '\n' | '\r') => parser
                .lexer
                .fault("there is white space behind the expression"),
            Some(_) | None => parser.lexer.expected("`.`, `..`, `[` or the end"),
        };
    }
    Ok((query, parser.doubts))
}

/// Reads an expression from left to right; never goes back.
pub(super) struct Parser {
    pub(super) lexer: Lexer,
    depth: usize,
    /// Things that are allowed but surely not meant.
    pub(super) doubts: Vec<PathError>,
}

impl Parser {
    /// Reads something that may contain itself.
    pub(super) fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, PathError>,
    ) -> Result<T, PathError> {
        if self.depth == MAX_DEPTH {
            return self
                .lexer
                .fault(format!("nested more than {MAX_DEPTH} deep"));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// The segments behind `$` or `@`.
    pub(super) fn query(&mut self, root: Root) -> Result<Query, PathError> {
        let mut segments = Vec::new();
        loop {
            // White space belongs to the query only if a segment follows.
            let before = self.lexer.at;
            self.lexer.skip_space();
            match self.lexer.peek() {
                Some('.' | '[') => segments.push(self.segment()?),
                Some(_) | None => {
                    self.lexer.at = before;
                    return Ok(Query { root, segments });
                }
            }
        }
    }

    fn segment(&mut self) -> Result<Segment, PathError> {
        if self.lexer.take("..") {
            let selectors = match self.lexer.peek() {
                Some('[') => self.brackets()?,
                Some(_) | None => vec![self.behind_dots("`..`")?],
            };
            return Ok(Segment {
                from: From::Descendants,
                selectors,
            });
        }
        let selectors = if self.lexer.take(".") {
            vec![self.behind_dots("`.`")?]
        } else {
            self.brackets()?
        };
        Ok(Segment {
            from: From::Nodes,
            selectors,
        })
    }

    fn behind_dots(&mut self, dots: &str) -> Result<Selector, PathError> {
        if self.lexer.take("*") {
            return Ok(Selector::Wildcard);
        }
        match self.lexer.name() {
            Some(name) => Ok(Selector::Name(name)),
            None => self.lexer.expected(&format!(
                "a name or `*` behind {dots} (other names are written `['…']`)"
            )),
        }
    }

    fn brackets(&mut self) -> Result<Vec<Selector>, PathError> {
        self.lexer.take("[");
        let mut selectors = Vec::new();
        loop {
            self.lexer.skip_space();
            selectors.push(self.selector()?);
            self.lexer.skip_space();
            if self.lexer.take("]") {
                return Ok(selectors);
            }
            if !self.lexer.take(",") {
                return self.lexer.expected("`,` or `]`");
            }
        }
    }

    fn selector(&mut self) -> Result<Selector, PathError> {
        match self.lexer.peek() {
            Some('\'' | '"') => self.lexer.string().map(Selector::Name),
            Some('*') => {
                self.lexer.at += 1;
                Ok(Selector::Wildcard)
            }
            Some('?') => {
                self.lexer.at += 1;
                self.lexer.skip_space();
                self.nested(Parser::expression).map(Selector::Filter)
            }
            Some(':') => self.slice(None),
            Some('-' | '0'..='9') => {
                let number = self.lexer.integer()?;
                let behind = self.lexer.at;
                self.lexer.skip_space();
                if self.lexer.peek() == Some(':') {
                    return self.slice(Some(number));
                }
                self.lexer.at = behind;
                Ok(Selector::Index(number))
            }
            Some(_) | None => self
                .lexer
                .expected("a name in quotes, an index, a slice, `*` or a filter `?…`"),
        }
    }

    /// `:end:step`, behind the start.
    fn slice(&mut self, start: Option<i64>) -> Result<Selector, PathError> {
        self.lexer.take(":");
        self.lexer.skip_space();
        let end = self.bound()?;
        self.lexer.skip_space();
        let mut step = None;
        if self.lexer.take(":") {
            let behind = self.lexer.at;
            self.lexer.skip_space();
            step = self.bound()?;
            if step.is_none() {
                self.lexer.at = behind;
            }
        }
        Ok(Selector::Slice(Slice {
            start,
            end,
            step: step.unwrap_or(1),
        }))
    }

    fn bound(&mut self) -> Result<Option<i64>, PathError> {
        match self.lexer.peek() {
            Some('-' | '0'..='9') => self.lexer.integer().map(Some),
            Some(_) | None => Ok(None),
        }
    }
}
