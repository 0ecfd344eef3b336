//! What is behind `?`: a logical expression, read together with its types (RFC 9535, 2.4.3), so that what is read is
//! well-typed.

use serde_json::Value;

use super::PathError;
use super::parse::Parser;
use super::pattern::{Fault, Pattern};
use super::syntax::{Comparable, Expression, Extent, PatternSource, Query, Relation, Root};

/// What was read before it is known what it is for.
enum Operand {
    Literal(Value),
    Query(Query),
    /// A function that gives a value.
    Value(&'static str, Comparable),
    /// A function that says yes or no.
    Logical(&'static str, Expression),
}

impl Parser {
    /// `a || b`
    pub(super) fn expression(&mut self) -> Result<Expression, PathError> {
        let mut any = vec![self.conjunction()?];
        while self.operator("||") {
            any.push(self.conjunction()?);
        }
        Ok(one_or(any, Expression::Any))
    }

    /// `a && b`
    fn conjunction(&mut self) -> Result<Expression, PathError> {
        let mut all = vec![self.term()?];
        while self.operator("&&") {
            all.push(self.term()?);
        }
        Ok(one_or(all, Expression::All))
    }

    /// Goes past an operator and the white space around it, if it is next.
    fn operator(&mut self, operator: &str) -> bool {
        let before = self.lexer.at;
        self.lexer.skip_space();
        if self.lexer.take(operator) {
            self.lexer.skip_space();
            return true;
        }
        self.lexer.at = before;
        false
    }

    /// A comparison, a test, or either in parentheses, and its opposite.
    fn term(&mut self) -> Result<Expression, PathError> {
        if self.lexer.peek() == Some('!') && self.lexer.peek_second() != Some('=') {
            self.lexer.at += 1;
            self.lexer.skip_space();
            let term = if self.lexer.peek() == Some('(') {
                self.parentheses()?
            } else {
                let start = self.lexer.at;
                let operand = self.operand()?;
                if self.relation().is_some() {
                    return self.lexer.fault_at(
                        start,
                        "`!` in front of a comparison needs parentheses: `!(…)`",
                    );
                }
                self.test(start, operand)?
            };
            return Ok(Expression::Not(Box::new(term)));
        }
        if self.lexer.peek() == Some('(') {
            return self.parentheses();
        }
        let start = self.lexer.at;
        let left = self.operand()?;
        let Some(relation) = self.relation() else {
            return self.test(start, left);
        };
        let left = self.comparable(start, left)?;
        let start = self.lexer.at;
        let right = self.operand()?;
        let right = self.comparable(start, right)?;
        Ok(Expression::Compare {
            left,
            relation,
            right,
        })
    }

    fn parentheses(&mut self) -> Result<Expression, PathError> {
        self.lexer.take("(");
        self.lexer.skip_space();
        let inner = self.nested(Parser::expression)?;
        self.lexer.skip_space();
        if !self.lexer.take(")") {
            return self.lexer.expected("`)`");
        }
        Ok(inner)
    }

    /// A relation and the white space around it, if one is next.
    fn relation(&mut self) -> Option<Relation> {
        [
            ("==", Relation::Equal),
            ("!=", Relation::NotEqual),
            ("<=", Relation::LessOrEqual),
            (">=", Relation::GreaterOrEqual),
            ("<", Relation::Less),
            (">", Relation::Greater),
        ]
        .into_iter()
        .find_map(|(text, relation)| self.operator(text).then_some(relation))
    }

    /// A literal, a query or a function.
    fn operand(&mut self) -> Result<Operand, PathError> {
        let start = self.lexer.at;
        match self.lexer.peek() {
            Some('\'' | '"') => Ok(Operand::Literal(Value::String(self.lexer.string()?))),
            Some('-' | '0'..='9') => self.lexer.number().map(Operand::Literal),
            Some('@') => {
                self.lexer.at += 1;
                self.query(Root::Current).map(Operand::Query)
            }
            Some('$') => {
                self.lexer.at += 1;
                self.query(Root::Document).map(Operand::Query)
            }
            Some('=') => self
                .lexer
                .fault("a comparison needs a left side; equality is `==`"),
            Some(_) | None => {
                let Some(word) = self.lexer.name() else {
                    return self.lexer.expected(
                        "`@`, `$`, a string, a number, `true`, `false`, `null` or a function",
                    );
                };
                if self.lexer.peek() == Some('(') {
                    return self.nested(|parser| parser.function(start, &word));
                }
                match word.as_str() {
                    "true" => Ok(Operand::Literal(Value::Bool(true))),
                    "false" => Ok(Operand::Literal(Value::Bool(false))),
                    "null" => Ok(Operand::Literal(Value::Null)),
                    _ => self.lexer.fault_at(
                        start,
                        format!("`{word}` means nothing here; write `@.{word}` for a member, `'{word}'` for a text"),
                    ),
                }
            }
        }
    }

    /// The arguments of a function, behind its name.
    fn function(&mut self, start: usize, name: &str) -> Result<Operand, PathError> {
        self.lexer.take("(");
        self.lexer.skip_space();
        let mut arguments = Vec::new();
        while self.lexer.peek() != Some(')') || !arguments.is_empty() {
            let at = self.lexer.at;
            if matches!(self.lexer.peek(), Some('!' | '(')) {
                return self.lexer.fault(format!(
                    "an argument of `{name}` is a value or a query, not a condition"
                ));
            }
            arguments.push((at, self.operand()?));
            self.lexer.skip_space();
            if !self.lexer.take(",") {
                break;
            }
            self.lexer.skip_space();
        }
        if !self.lexer.take(")") {
            return self.lexer.expected("`,` or `)`");
        }
        let mut arguments = arguments.into_iter();
        let mut wanted = |parser: &Self, what: &str| match arguments.next() {
            Some(argument) => Ok(argument),
            None => parser.lexer.fault_at(
                start,
                format!("`{name}` has an argument too few: {what} is missing"),
            ),
        };
        let operand = match name {
            "length" => {
                let (at, text) = wanted(self, "the value")?;
                let value = self.comparable(at, text)?;
                Operand::Value("length", Comparable::Length(Box::new(value)))
            }
            "count" => {
                let (at, nodes) = wanted(self, "the query")?;
                Operand::Value("count", Comparable::Count(self.nodes(name, at, nodes)?))
            }
            "value" => {
                let (at, nodes) = wanted(self, "the query")?;
                Operand::Value("value", Comparable::Only(self.nodes(name, at, nodes)?))
            }
            "match" | "search" => {
                let (name, extent) = if name == "match" {
                    ("match", Extent::Whole)
                } else {
                    ("search", Extent::Part)
                };
                let (at, text) = wanted(self, "the text")?;
                let text = self.comparable(at, text)?;
                let (at, pattern) = wanted(self, "the pattern")?;
                let pattern = self.comparable(at, pattern)?;
                Operand::Logical(
                    name,
                    Expression::Matches {
                        text,
                        pattern: self.pattern(at, pattern, extent)?,
                        extent,
                    },
                )
            }
            _ => {
                return self.lexer.fault_at(
                    start,
                    format!("there is no function `{name}`; there are length, count, match, search and value"),
                );
            }
        };
        match arguments.next() {
            None => Ok(operand),
            Some((at, _)) => self
                .lexer
                .fault_at(at, format!("`{name}` has an argument too many")),
        }
    }

    /// A pattern, compiled now if the expression itself says it.
    fn pattern(
        &mut self,
        at: usize,
        pattern: Comparable,
        extent: Extent,
    ) -> Result<PatternSource, PathError> {
        let Comparable::Literal(literal) = pattern else {
            return Ok(PatternSource::Computed(pattern));
        };
        let Value::String(text) = literal else {
            self.doubt(at, "a pattern is a text; this one never matches".to_owned());
            return Ok(PatternSource::Fixed(None));
        };
        match Pattern::compile(&text, extent) {
            Ok(pattern) => Ok(PatternSource::Fixed(Some(pattern))),
            Err(Fault::TooLarge) => self.lexer.fault_at(at, "this pattern is too large"),
            Err(Fault::Malformed(reason)) => {
                self.doubt(at, format!("this pattern never matches: {reason}"));
                Ok(PatternSource::Fixed(None))
            }
        }
    }

    fn doubt(&mut self, at: usize, message: String) {
        self.doubts.push(PathError { message, at });
    }

    /// What was read, as a separate condition.
    fn test(&self, at: usize, operand: Operand) -> Result<Expression, PathError> {
        match operand {
            Operand::Query(query) => Ok(Expression::Exists(query)),
            Operand::Logical(_, test) => Ok(test),
            Operand::Value(name, _) => self.lexer.fault_at(
                at,
                format!("`{name}` gives a value; compare it with something"),
            ),
            Operand::Literal(_) => self.lexer.fault_at(
                at,
                "a literal is not a condition; compare it with something",
            ),
        }
    }

    /// What was read, as one value or none.
    fn comparable(&self, at: usize, operand: Operand) -> Result<Comparable, PathError> {
        match operand {
            Operand::Literal(value) => Ok(Comparable::Literal(value)),
            Operand::Query(query) if query.is_singular() => Ok(Comparable::Singular(query)),
            Operand::Query(_) => self.lexer.fault_at(
                at,
                "this query may select several nodes; only names and indexes can be used as a value (or `value(…)`, `count(…)`)",
            ),
            Operand::Value(_, value) => Ok(value),
            Operand::Logical(name, _) => self.lexer.fault_at(
                at,
                format!("`{name}` returns true or false, which is not a value; use it as a condition by itself"),
            ),
        }
    }

    /// What was read, as nodes.
    fn nodes(&self, name: &str, at: usize, operand: Operand) -> Result<Query, PathError> {
        match operand {
            Operand::Query(query) => Ok(query),
            Operand::Literal(_) | Operand::Value(..) | Operand::Logical(..) => self
                .lexer
                .fault_at(at, format!("`{name}` takes a query, such as `@.*`")),
        }
    }
}

fn one_or(
    mut expressions: Vec<Expression>,
    several: fn(Vec<Expression>) -> Expression,
) -> Expression {
    match expressions.len() {
        1 => expressions.remove(0),
        _ => several(expressions),
    }
}
