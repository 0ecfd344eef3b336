//! What an expression consists of. Only what is well-typed can be said here: a [`Comparable`] is always one value or none.

use serde_json::Value;

use super::pattern::Pattern;

/// A query: where it starts, and step by step where it goes.
#[derive(Debug)]
pub(super) struct Query {
    pub(super) root: Root,
    pub(super) segments: Vec<Segment>,
}

/// Where a query starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Root {
    /// `$`: the whole document.
    Document,
    /// `@`: the node that a filter looks at.
    Current,
}

/// One step of a query.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) from: From,
    pub(super) selectors: Vec<Selector>,
}

/// What the selectors of a step are applied to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum From {
    /// The nodes of the step before.
    Nodes,
    /// Those and everything beneath them (`..`).
    Descendants,
}

/// Selects parts of a node.
#[derive(Debug)]
pub(super) enum Selector {
    Name(String),
    Wildcard,
    /// From the end when negative.
    Index(i64),
    Slice(Slice),
    Filter(Expression),
}

/// `[start:end:step]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slice {
    pub(super) start: Option<i64>,
    pub(super) end: Option<i64>,
    pub(super) step: i64,
}

/// What a filter asks of a node.
#[derive(Debug)]
pub(super) enum Expression {
    Any(Vec<Expression>),
    All(Vec<Expression>),
    Not(Box<Expression>),
    /// Whether the query selects anything.
    Exists(Query),
    Compare {
        left: Comparable,
        relation: Relation,
        right: Comparable,
    },
    /// `match` and `search`.
    Matches {
        text: Comparable,
        pattern: PatternSource,
        extent: Extent,
    },
}

/// How two values relate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// How much of a text a pattern describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Extent {
    /// All of it: `match`.
    Whole,
    /// Some of it: `search`.
    Part,
}

/// What stands for one value or for none.
#[derive(Debug)]
pub(super) enum Comparable {
    Literal(Value),
    /// A query of names and indexes only.
    Singular(Query),
    Length(Box<Comparable>),
    Count(Query),
    /// `value(…)`: the node, if the query selects exactly one.
    Only(Query),
}

/// Where a pattern comes from.
#[derive(Debug)]
pub(super) enum PatternSource {
    /// The expression itself, compiled once; none if it is not a pattern, and then nothing matches.
    Fixed(Option<Pattern>),
    /// A value, compiled when it is seen.
    Computed(Comparable),
}

impl Query {
    /// Whether it can never select more than one node.
    pub(super) fn is_singular(&self) -> bool {
        self.segments.iter().all(|segment| {
            segment.from == From::Nodes
                && matches!(
                    segment.selectors.as_slice(),
                    [Selector::Name(_) | Selector::Index(_)]
                )
        })
    }
}
