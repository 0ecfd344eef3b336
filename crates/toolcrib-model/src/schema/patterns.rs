//! What the patterns of a schema cost: memory to compile and match them, and time for each byte of a text.
//!
//! The engine takes linear time in the text, but each byte may cost as much as the pattern is large once its repetitions are written
//! out, and what it remembers while it matches is that size times the number of groups. Neither can be read off a compiled pattern, so
//! its size is found by compiling it within growing limits.
//!
//! Patterns that this engine cannot compile (look-around, back-references) come from servers whose language can. They are matched by an
//! engine that backtracks, within a number of steps; see `Odd`. Authors of tools here are refused them.

use std::collections::HashSet;

use jsonschema::PatternOptions;
use regex::RegexBuilder;
use serde_json::{Value, json};

use super::SchemaError;
use crate::budget::Budget;
use crate::text::{shorten, size};

/// The sizes that are tried, in bytes. A pattern that fits none is refused when the schema is compiled.
const SIZES: [usize; 6] = [1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, MAX_SIZE];
/// The largest compiled pattern.
pub(super) const MAX_SIZE: usize = 1 << 20;
/// The longest pattern: reading it takes a hundred times its length.
const MAX_LENGTH: usize = 16 << 10;
/// The longest pattern that is published without being checked here.
const MAX_PUBLISHED: usize = 64 << 10;
/// What all patterns of a schema may take together, once compiled and while they match.
const MAX_BYTES: u64 = 8 << 20;
/// The groups of which a pattern may have as many without costing more.
const FREE_GROUPS: usize = 8;
/// The most bytes of text times bytes of the largest pattern that are matched: some tenths of a second.
const MAX_WORK: u64 = 4 << 30;

/// How many steps the engine that backtracks may take for one text.
const MAX_STEPS: usize = 20_000;
/// The most bytes of text that are matched by it in one value.
pub(super) const MAX_ODD_TEXT: u64 = 16 << 10;

/// The options of the engine that takes linear time.
pub(super) fn linear() -> PatternOptions<jsonschema::Regex> {
    PatternOptions::regex()
        .size_limit(MAX_SIZE)
        .dfa_size_limit(MAX_SIZE)
}

/// The options of the engine that backtracks.
pub(super) fn backtracking() -> PatternOptions<jsonschema::FancyRegex> {
    PatternOptions::fancy_regex()
        .backtrack_limit(MAX_STEPS)
        .size_limit(MAX_SIZE)
        .dfa_size_limit(MAX_SIZE)
}

/// Whether a pattern is a regular expression that one of the engines understands.
#[doc(hidden)]
pub fn is_understood(pattern: &str) -> bool {
    pattern.len() <= MAX_LENGTH && kind(pattern) != Kind::Unknown
}

/// Whether a pattern is a regular expression, also one that is too large to be checked here.
#[doc(hidden)]
pub fn is_regular(pattern: &str) -> bool {
    is_understood(pattern) || pattern.len() <= MAX_PUBLISHED && is_only_too_large(pattern)
}

fn is_only_too_large(pattern: &str) -> bool {
    let built = fancy_regex::RegexBuilder::new(pattern)
        .delegate_size_limit(MAX_SIZE)
        .build();
    match built {
        Ok(_) => true,
        Err(fancy_regex::Error::CompileError(why)) => {
            matches!(*why, fancy_regex::CompileError::InnerError(ref why) if why.size_limit().is_some())
        }
        Err(_) => false,
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Linear,
    Backtracking,
    Unknown,
}

fn kind(pattern: &str) -> Kind {
    let schema = json!({ "pattern": pattern });
    let options = || jsonschema::options().offline();
    let (linear, backtracking) = (linear(), backtracking());
    if options()
        .with_pattern_options(linear)
        .build(&schema)
        .is_ok()
    {
        return Kind::Linear;
    }
    let built = options().with_pattern_options(backtracking).build(&schema);
    match built {
        Ok(_) => Kind::Backtracking,
        Err(_) => Kind::Unknown,
    }
}

/// The patterns of a schema that the engine of linear time does not take.
#[derive(Debug, Default)]
pub(super) struct Odd {
    /// The engine that backtracks takes them.
    backtracking: HashSet<String>,
    /// No engine takes them, or they are too large.
    unknown: HashSet<String>,
}

impl Odd {
    pub(super) fn of(schema: &Value) -> Odd {
        let mut odd = Odd::default();
        let all = all(schema);
        if largest(schema).is_err() {
            odd.unknown = all.into_iter().map(str::to_owned).collect();
            return odd;
        }
        for pattern in all {
            match kind(pattern) {
                Kind::Linear => {}
                Kind::Backtracking => drop(odd.backtracking.insert(pattern.to_owned())),
                Kind::Unknown => drop(odd.unknown.insert(pattern.to_owned())),
            }
        }
        odd
    }

    pub(super) fn is_empty(&self) -> bool {
        self.backtracking.is_empty() && self.unknown.is_empty()
    }

    /// The schema without what no engine can check, and the parameters that this concerns; `None` if nothing of it needs one that backtracks.
    pub(super) fn backtracked(&self, schema: &Value) -> Option<(Value, Vec<String>)> {
        (!self.backtracking.is_empty())
            .then(|| relaxed(schema, &|pattern| self.unknown.contains(pattern)))
    }

    /// The schema without any of them, and the parameters that this concerns.
    pub(super) fn linear(&self, schema: &Value) -> (Value, Vec<String>) {
        relaxed(schema, &|pattern| {
            self.unknown.contains(pattern) || self.backtracking.contains(pattern)
        })
    }
}

/// Every pattern of a schema. What looks like one in its data may be among them.
fn all(schema: &Value) -> HashSet<&str> {
    let mut found = HashSet::new();
    let mut open = vec![schema];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => {
                found.extend(patterns_of(fields));
                open.extend(fields.values());
            }
            _ => {}
        }
    }
    found
}

fn patterns_of(fields: &serde_json::Map<String, Value>) -> impl Iterator<Item = &str> {
    let named = fields.get("patternProperties").and_then(Value::as_object);
    let named = named.into_iter().flat_map(|named| named.keys());
    let own = fields.get("pattern").and_then(Value::as_str);
    named.map(String::as_str).chain(own)
}

/// A schema in which parameters with such a pattern keep nothing but their type: without the pattern alone, a `not` or `oneOf` around it would
/// mean something else. Returns the names of those parameters.
fn relaxed(schema: &Value, is_meant: &dyn Fn(&str) -> bool) -> (Value, Vec<String>) {
    let mut made = schema.clone();
    let mut names = Vec::new();
    let only_type = |schema: &Value| match schema.get("type") {
        Some(kind) => json!({ "type": kind }),
        None => json!({}),
    };
    if let Some(properties) = made.get_mut("properties").and_then(Value::as_object_mut) {
        for (name, property) in properties {
            if mentions(schema, property, is_meant) {
                *property = only_type(property);
                names.push(name.clone());
            }
        }
    }
    let is_elsewhere = made.as_object().is_some_and(|fields| {
        let own = patterns_of(fields).any(is_meant);
        let words = fields
            .iter()
            .filter(|(word, _)| !["properties", "$defs", "definitions"].contains(&word.as_str()));
        own || { words }.any(|(word, value)| match word.as_str() {
            "$ref" => mentions(schema, &json!({ "$ref": value }), is_meant),
            _ => mentions(schema, value, is_meant),
        })
    });
    if is_elsewhere {
        return (only_type(&made), vec![String::new()]);
    }
    // Nothing that is left leads to them.
    for container in ["$defs", "definitions"] {
        let named = made.get_mut(container).and_then(Value::as_object_mut);
        for definition in named.into_iter().flat_map(|named| named.values_mut()) {
            if mentions(schema, definition, is_meant) {
                *definition = only_type(definition);
            }
        }
    }
    (made, names)
}

/// Whether a part of a schema has such a pattern, or refers to a part that has one.
fn mentions(root: &Value, part: &Value, is_meant: &dyn Fn(&str) -> bool) -> bool {
    let mut open = vec![part];
    let mut followed = HashSet::new();
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => {
                if patterns_of(fields).any(is_meant) {
                    return true;
                }
                if let Some(Value::String(reference)) = fields.get("$ref")
                    && followed.insert(reference.as_str())
                {
                    open.extend(super::reference::target(root, reference));
                }
                open.extend(fields.values());
            }
            _ => {}
        }
    }
    false
}

/// The size of the largest pattern of a schema. An error when all together are too large.
pub(super) fn largest(schema: &Value) -> Result<usize, SchemaError> {
    let mut budget = Budget::new(u64::MAX, MAX_BYTES);
    let mut largest = 0;
    let mut open = vec![schema];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => {
                for pattern in patterns_of(fields) {
                    let (size, groups) = measure(pattern);
                    largest = largest.max(size);
                    let weight = size * (1 + groups / FREE_GROUPS);
                    budget.copy(weight).map_err(|_| too_much(pattern))?;
                }
                open.extend(fields.values());
            }
            _ => {}
        }
    }
    Ok(largest)
}

fn too_much(pattern: &str) -> SchemaError {
    let message = format!(
        "the patterns of the schema take more than {} once compiled, with `{}`; use smaller repetitions, and `(?:…)` for groups",
        size(MAX_BYTES),
        shorten(pattern, 80)
    );
    SchemaError::one("", message)
}

/// The size and the number of groups of a pattern. One that is not understood here counts as the largest, one that is too long as more
/// than can be paid for.
fn measure(pattern: &str) -> (usize, usize) {
    if pattern.len() > MAX_LENGTH {
        return (usize::MAX / 2, 0);
    }
    for size in SIZES {
        match RegexBuilder::new(pattern).size_limit(size).build() {
            Ok(regex) => return (size, regex.captures_len()),
            Err(regex::Error::CompiledTooBig(_)) => {}
            Err(_) => break,
        }
    }
    (MAX_SIZE, pattern.matches('(').count())
}

/// The most bytes of text that patterns up to this size are matched with.
pub(super) fn longest_text(largest: usize) -> u64 {
    match largest {
        0 => u64::MAX,
        size => MAX_WORK / size as u64,
    }
}
