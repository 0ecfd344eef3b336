//! What the patterns of a schema cost: memory to compile and match them, and time for each byte of a text.
//!
//! The engine takes linear time in the text, but each byte may cost as much as the pattern is large once its repetitions are written
//! out, and what it remembers while it matches is that size times the number of groups. Neither can be read off a compiled pattern, so
//! its size is found by compiling it within growing limits.

use regex::RegexBuilder;
use serde_json::Value;

use super::SchemaError;
use crate::budget::Budget;
use crate::text::{shorten, size};

/// The sizes that are tried, in bytes. A pattern that fits none is refused when the schema is compiled.
const SIZES: [usize; 6] = [1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, MAX_SIZE];
/// The largest compiled pattern.
pub(super) const MAX_SIZE: usize = 1 << 20;
/// The longest pattern: reading it takes a hundred times its length.
const MAX_LENGTH: usize = 16 << 10;
/// What all patterns of a schema may take together, once compiled and while they match.
const MAX_BYTES: u64 = 8 << 20;
/// The groups of which a pattern may have as many without costing more.
const FREE_GROUPS: usize = 8;
/// The most bytes of text times bytes of the largest pattern that are matched: some tenths of a second.
const MAX_WORK: u64 = 4 << 30;

/// The size of the largest pattern of a schema. An error when all together are too large.
pub(super) fn largest(schema: &Value) -> Result<usize, SchemaError> {
    let mut budget = Budget::new(u64::MAX, MAX_BYTES);
    let mut largest = 0;
    let mut open = vec![schema];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => {
                let named = fields.get("patternProperties").and_then(Value::as_object);
                let named = named.into_iter().flat_map(|named| named.keys());
                let own = fields.get("pattern").and_then(Value::as_str);
                for pattern in named.map(String::as_str).chain(own) {
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
