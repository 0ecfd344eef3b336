//! JSONPath (RFC 9535), with bounded work: an expression of a tool's author meets whatever an upstream server sends.
//!
//! ```text
//! syntax   what an expression consists of          parse    from text to that, with the place of what is wrong
//! lexer    characters, names, numbers, strings     filter   the part of an expression behind `?`
//! pattern  I-Regexp (RFC 9485) for `match`         evaluate the nodes that an expression selects
//! compare  which values are equal or less
//! ```
//!
//! Our own, and no crate's: none of them stops when the work becomes too much, and `$..*..*..*` on a few kilobytes is more
//! than a machine can do. The invariant: reading is linear in the text, and [`JsonPath::query`] takes at most [`MAX_STEPS`]
//! steps, keeps at most [`MAX_NODES`] nodes at a time, and never recurses into a document, however deep it is.

mod compare;
mod evaluate;
mod filter;
mod lexer;
mod parse;
mod pattern;
mod syntax;

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::model::budget::Spent;
use syntax::{From, Query, Segment, Selector};

/// How many characters an expression may have.
pub const MAX_CHARACTERS: usize = 4096;

/// How many steps a query may take: a node looked at, sixteen bytes of a text compared, a byte matched against a small pattern.
pub const MAX_STEPS: u64 = 10_000_000;

/// How many nodes a query, or a part of one, may select.
pub const MAX_NODES: usize = 1_000_000;

/// A compiled expression. Cloning is cheap.
#[derive(Clone)]
pub struct JsonPath {
    text: Arc<str>,
    query: Arc<Query>,
    doubts: Arc<[PathError]>,
}

/// A step from a value to one that is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub enum JsonStep<'a> {
    Name(&'a str),
    Index(usize),
}

impl JsonStep<'_> {
    fn of(segment: &Segment) -> Option<JsonStep<'_>> {
        match (segment.from, segment.selectors.as_slice()) {
            (From::Nodes, [Selector::Name(name)]) => Some(JsonStep::Name(name)),
            (From::Nodes, [Selector::Index(index)]) => {
                usize::try_from(*index).ok().map(JsonStep::Index)
            }
            _ => None,
        }
    }
}

/// Why an expression is none, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (at character {at})")]
pub struct PathError {
    /// The problem.
    pub message: String,
    /// Which character, from 0.
    pub at: usize,
}

/// The work became too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the JSONPath expression takes too many steps on this document")]
pub struct TooMuchWork;

impl std::convert::From<Spent> for TooMuchWork {
    fn from(_: Spent) -> Self {
        TooMuchWork
    }
}

impl JsonPath {
    /// Reads an expression.
    ///
    /// ```
    /// # use toolcrib::jsonpath::JsonPath;
    /// let path = JsonPath::parse("$.items[?@.price < 10].name").unwrap();
    /// let document = serde_json::json!({"items": [{"name": "pen", "price": 2}, {"name": "desk", "price": 90}]});
    /// assert_eq!(path.query(&document).unwrap(), ["pen"]);
    /// assert_eq!(JsonPath::parse("$.items[").unwrap_err().at, 8);
    /// ```
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let (query, doubts) = parse::expression(text)?;
        Ok(JsonPath {
            text: text.into(),
            query: Arc::new(query),
            doubts: doubts.into(),
        })
    }

    /// The nodes it selects, in order; one that is selected twice is there twice. Runs on the caller's thread, for some tenths
    /// of a second at worst.
    pub fn query<'a>(&self, document: &'a Value) -> Result<Vec<&'a Value>, TooMuchWork> {
        evaluate::query(&self.query, document, MAX_STEPS)
    }

    /// The names and indexes that lead to the one value it can select; none if it can select several, or counts from an end.
    #[doc(hidden)]
    pub fn way(&self) -> Option<Vec<JsonStep<'_>>> {
        self.query.segments.iter().map(JsonStep::of).collect()
    }

    /// Things that the RFC accepts but no author wants: patterns that are not I-Regexps and so match nothing.
    pub fn doubts(&self) -> &[PathError] {
        &self.doubts
    }

    /// The expression as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JsonPath({})", self.text)
    }
}

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for JsonPath {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for JsonPath {}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Lists in lists: as many nodes at every depth as fit.
    fn bush(depth: usize, width: usize) -> Value {
        match depth {
            0 => json!(1),
            _ => Value::Array((0..width).map(|_| bush(depth - 1, width)).collect()),
        }
    }

    /// Each would take far more steps than [`MAX_STEPS`] on a larger document; here they are as many times too few.
    #[test]
    fn what_takes_too_many_steps_ends_with_them() {
        let bush = bush(7, 4);
        let chain = (0..500).fold(json!(1), |inner, _| Value::Array(vec![inner]));
        let text = json!({"text": "ab".repeat(50_000), "list": vec![1; 1000], "pattern": "(a|b|ab|ba){1,200}c"});
        for (expression, document) in [
            ("$..*..*..*..*", &bush),
            ("$..*..*..*..*", &chain),
            ("$..[?@..[?@..*]]", &bush),
            ("$.list[?$.text == $['text']]", &text),
            ("$.list[?length($.text) == 0]", &text),
            ("$.list[?search($.text, $.pattern)]", &text),
            ("$.list[?match($.text, '((ab|ba|a|b)*c){1,50}d')]", &text),
        ] {
            let path = JsonPath::parse(expression).unwrap();
            let found = evaluate::query(&path.query, document, MAX_STEPS / 100);
            assert_eq!(found.err(), Some(TooMuchWork), "{expression}");
        }
    }
}
