//! The nodes that a query selects: segment by segment, each a list of nodes to the next.
//!
//! A document is never recursed into; only filters within filters are, and reading limits those. Every node that is looked at
//! is paid for from the [`Budget`], and no list grows beyond [`MAX_NODES`].

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::Value;

use super::pattern::{Fault, Pattern};
use super::syntax::{
    Comparable, Expression, Extent, From, PatternSource, Query, Root, Selector, Slice,
};
use super::{MAX_NODES, TooMuchWork, compare};
use crate::model::budget::Budget;

/// What it takes to compile a pattern of a document, in steps.
const COMPILING: usize = 20_000;
/// How many patterns of a document are kept compiled.
const MAX_PATTERNS: usize = 32;

/// Runs a whole expression.
pub(super) fn query<'a>(
    query: &Query,
    document: &'a Value,
    steps: u64,
) -> Result<Vec<&'a Value>, TooMuchWork> {
    let mut evaluation = Evaluation {
        document,
        budget: Budget::new(steps, 0),
        patterns: HashMap::new(),
    };
    evaluation.query(query, document)
}

struct Evaluation<'a> {
    document: &'a Value,
    budget: Budget,
    /// Patterns that stood in the document; none for a text that is not a pattern.
    patterns: HashMap<(String, Extent), Option<Pattern>>,
}

impl<'a> Evaluation<'a> {
    fn query(&mut self, query: &Query, current: &'a Value) -> Result<Vec<&'a Value>, TooMuchWork> {
        let mut nodes = vec![self.root(query, current)];
        for segment in &query.segments {
            let mut selected = Vec::new();
            for node in nodes {
                match segment.from {
                    From::Nodes => self.select_all(&segment.selectors, node, &mut selected)?,
                    From::Descendants => self.descend(&segment.selectors, node, &mut selected)?,
                }
            }
            nodes = selected;
        }
        Ok(nodes)
    }

    fn root(&self, query: &Query, current: &'a Value) -> &'a Value {
        match query.root {
            Root::Document => self.document,
            Root::Current => current,
        }
    }

    /// Applies selectors to a node and to everything beneath it, each node before what is in it.
    fn descend(
        &mut self,
        selectors: &[Selector],
        node: &'a Value,
        selected: &mut Vec<&'a Value>,
    ) -> Result<(), TooMuchWork> {
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            self.select_all(selectors, node, selected)?;
            match node {
                Value::Array(elements) => {
                    self.budget.step(elements.len())?;
                    open.extend(elements.iter().rev());
                }
                Value::Object(members) => {
                    self.budget.step(members.len())?;
                    open.extend(members.values().rev());
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
        Ok(())
    }

    fn select_all(
        &mut self,
        selectors: &[Selector],
        node: &'a Value,
        selected: &mut Vec<&'a Value>,
    ) -> Result<(), TooMuchWork> {
        for selector in selectors {
            self.budget.step(1)?;
            self.select(selector, node, selected)?;
            if selected.len() > MAX_NODES {
                return Err(TooMuchWork);
            }
        }
        Ok(())
    }

    fn select(
        &mut self,
        selector: &Selector,
        node: &'a Value,
        selected: &mut Vec<&'a Value>,
    ) -> Result<(), TooMuchWork> {
        match selector {
            Selector::Name(_) | Selector::Index(_) => selected.extend(step(selector, node)),
            Selector::Wildcard => {
                for child in children(node) {
                    self.budget.step(1)?;
                    selected.push(child);
                }
            }
            Selector::Slice(slice) => {
                if let Value::Array(elements) = node {
                    for index in indexes(*slice, elements.len()) {
                        self.budget.step(1)?;
                        selected.extend(elements.get(index));
                    }
                }
            }
            Selector::Filter(condition) => {
                for child in children(node) {
                    self.budget.step(1)?;
                    if self.meets(condition, child)? {
                        selected.push(child);
                    }
                }
            }
        }
        Ok(())
    }

    fn meets(&mut self, condition: &Expression, current: &'a Value) -> Result<bool, TooMuchWork> {
        self.budget.step(1)?;
        match condition {
            Expression::Any(conditions) => {
                for condition in conditions {
                    if self.meets(condition, current)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Expression::All(conditions) => {
                for condition in conditions {
                    if !self.meets(condition, current)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Expression::Not(condition) => Ok(!self.meets(condition, current)?),
            Expression::Exists(query) if query.is_singular() => {
                Ok(self.singular(query, current)?.is_some())
            }
            Expression::Exists(query) => Ok(!self.query(query, current)?.is_empty()),
            Expression::Compare {
                left,
                relation,
                right,
            } => {
                let left = self.value(left, current)?;
                let right = self.value(right, current)?;
                compare::holds(
                    left.as_deref(),
                    *relation,
                    right.as_deref(),
                    &mut self.budget,
                )
            }
            Expression::Matches {
                text,
                pattern,
                extent,
            } => {
                let text = self.value(text, current)?;
                let Some(Value::String(text)) = text.as_deref() else {
                    return Ok(false);
                };
                match pattern {
                    PatternSource::Fixed(None) => Ok(false),
                    PatternSource::Fixed(Some(pattern)) => {
                        self.budget.step(pattern.steps(text))?;
                        Ok(pattern.is_match(text))
                    }
                    PatternSource::Computed(source) => {
                        let pattern = self.value(source, current)?;
                        let Some(Value::String(pattern)) = pattern.as_deref() else {
                            return Ok(false);
                        };
                        self.matches(text, pattern, *extent)
                    }
                }
            }
        }
    }

    /// Matches against a pattern that is only known now.
    fn matches(&mut self, text: &str, pattern: &str, extent: Extent) -> Result<bool, TooMuchWork> {
        self.budget.look(pattern.len())?;
        let key = (pattern.to_owned(), extent);
        if !self.patterns.contains_key(&key) {
            self.budget.step(COMPILING)?;
            let compiled = match Pattern::compile(pattern, extent) {
                Ok(pattern) => Some(pattern),
                Err(Fault::Malformed(_)) => None,
                Err(Fault::TooLarge) => return Err(TooMuchWork),
            };
            if self.patterns.len() == MAX_PATTERNS {
                self.patterns.clear();
            }
            self.patterns.insert(key.clone(), compiled);
        }
        match self.patterns.get(&key) {
            Some(Some(pattern)) => {
                self.budget.step(pattern.steps(text))?;
                Ok(pattern.is_match(text))
            }
            Some(None) | None => Ok(false),
        }
    }

    /// One value, or nothing.
    fn value<'v>(
        &mut self,
        comparable: &'v Comparable,
        current: &'a Value,
    ) -> Result<Option<Cow<'v, Value>>, TooMuchWork>
    where
        'a: 'v,
    {
        self.budget.step(1)?;
        Ok(match comparable {
            Comparable::Literal(value) => Some(Cow::Borrowed(value)),
            Comparable::Singular(query) => self.singular(query, current)?.map(Cow::Borrowed),
            Comparable::Count(query) => {
                let count = self.query(query, current)?.len();
                Some(Cow::Owned(Value::from(count)))
            }
            Comparable::Only(query) => match self.query(query, current)?.as_slice() {
                [node] => Some(Cow::Borrowed(*node)),
                _ => None,
            },
            Comparable::Length(of) => {
                let length = match self.value(of, current)?.as_deref() {
                    Some(Value::String(text)) => {
                        self.budget.look(text.len())?;
                        Some(text.chars().count())
                    }
                    Some(Value::Array(elements)) => Some(elements.len()),
                    Some(Value::Object(members)) => Some(members.len()),
                    Some(Value::Null | Value::Bool(_) | Value::Number(_)) | None => None,
                };
                length.map(|length| Cow::Owned(Value::from(length)))
            }
        })
    }

    /// The node of a query that selects at most one.
    fn singular(
        &mut self,
        query: &Query,
        current: &'a Value,
    ) -> Result<Option<&'a Value>, TooMuchWork> {
        let mut node = self.root(query, current);
        for selector in query.segments.iter().flat_map(|segment| &segment.selectors) {
            self.budget.step(1)?;
            match step(selector, node) {
                Some(next) => node = next,
                None => return Ok(None),
            }
        }
        Ok(Some(node))
    }
}

/// The one child that a name or an index selects.
fn step<'a>(selector: &Selector, node: &'a Value) -> Option<&'a Value> {
    match (selector, node) {
        (Selector::Name(name), Value::Object(members)) => members.get(name),
        (Selector::Index(index), Value::Array(elements)) => {
            let index = usize::try_from(*index).ok().or_else(|| {
                let from_end = usize::try_from(index.unsigned_abs()).ok()?;
                elements.len().checked_sub(from_end)
            })?;
            elements.get(index)
        }
        _ => None,
    }
}

/// The direct children of a node, in sequence.
fn children(node: &Value) -> impl Iterator<Item = &Value> {
    let (elements, members) = match node {
        Value::Array(elements) => (Some(elements.iter()), None),
        Value::Object(members) => (None, Some(members.values())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => (None, None),
    };
    elements
        .into_iter()
        .flatten()
        .chain(members.into_iter().flatten())
}

/// The indexes of a slice, in its order (RFC 9535, 2.3.4.2.2).
fn indexes(slice: Slice, length: usize) -> impl Iterator<Item = usize> {
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let normal = |bound: i64| if bound < 0 { length + bound } else { bound };
    let (first, end) = if slice.step >= 0 {
        (
            normal(slice.start.unwrap_or(0)).clamp(0, length),
            normal(slice.end.unwrap_or(length)).clamp(0, length),
        )
    } else {
        // Without an end it goes down to the first element, which no negative number says.
        let end = slice.end.map_or(-1, normal);
        (
            normal(slice.start.unwrap_or(length - 1)).clamp(-1, length - 1),
            end.clamp(-1, length - 1),
        )
    };
    let step = slice.step;
    let mut next = first;
    std::iter::from_fn(move || {
        let inside = match step {
            1.. => next < end,
            0 => false,
            ..=-1 => next > end,
        };
        let index = inside.then(|| usize::try_from(next).ok()).flatten()?;
        next += step;
        Some(index)
    })
}
