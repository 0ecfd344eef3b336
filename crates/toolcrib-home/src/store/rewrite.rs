//! Writing a record again without changing what is none of our business.
//!
//! A field that this version does not know may hold a number that no `f64` can: as a value it would come out rounded. So its text is kept.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use super::StoreError;
use super::files;
use crate::spec::manifest::{Fields, any_value};

/// A record as the store writes it; the fields of which `is_unknown` says so, and which are as they were, with the text they had.
pub(super) fn render(
    record: &impl Serialize,
    old: &[u8],
    is_unknown: impl Fn(&str) -> bool,
) -> Result<Vec<u8>, StoreError> {
    let new = files::render(record)?;
    let (Some(fields), Some(before)) = (fields(&new), fields(old)) else {
        return Ok(new);
    };
    let kept = fields.0.into_iter().map(|(key, value)| {
        let mut old = before.0.iter().filter(|(old, _)| *old == key);
        let old = old.next().map(|(_, old)| *old);
        match old.filter(|old| is_unknown(&key) && is_same(old, value)) {
            Some(old) => (key, old.get()),
            None => (key, value.get()),
        }
    });
    written(kept)
}

/// A record with one field set, and everything else as it is.
pub(super) fn with_field(old: &[u8], field: &str, value: &str) -> Result<Vec<u8>, StoreError> {
    let Some(fields) = fields(old) else {
        let problem = "the record is not a JSON object";
        return Err(StoreError::Invalid(problem.to_owned()));
    };
    let mut all: Vec<(Cow<'_, str>, &str)> = fields
        .0
        .into_iter()
        .map(|(key, value)| (key, value.get()))
        .collect();
    match all.iter_mut().find(|(key, _)| key == field) {
        Some((_, old)) => *old = value,
        None => all.push((Cow::Borrowed(field), value)),
    }
    written(all.into_iter())
}

fn fields(text: &[u8]) -> Option<Fields<'_>> {
    serde_json::from_str(std::str::from_utf8(text).ok()?).ok()
}

fn is_same(one: &RawValue, other: &RawValue) -> bool {
    match (any_value(one.get()), any_value(other.get())) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

/// As `serde_json` writes an object prettily; what is nested brings its own indentation.
fn written<'a>(
    fields: impl Iterator<Item = (Cow<'a, str>, &'a str)>,
) -> Result<Vec<u8>, StoreError> {
    let mut text = String::from("{");
    for (index, (key, value)) in fields.enumerate() {
        text.push_str(if index == 0 { "\n  " } else { ",\n  " });
        text.push_str(&serde_json::Value::from(&*key).to_string());
        text.push_str(": ");
        text.push_str(value);
    }
    text.push_str("\n}\n");
    files::refuse_too_large(text.len())?;
    Ok(text.into_bytes())
}
