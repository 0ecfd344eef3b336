//! The sizes OpenAI's strict mode takes.

use serde_json::Value;

use super::Trouble;
use super::node::{Node, Word};

/// The deepest nesting of objects and arrays.
const MAX_LEVELS: usize = 10;
/// The most properties of all objects together.
const MAX_PROPERTIES: usize = 5_000;
/// The most values in all `enum`s together.
const MAX_ENUM_VALUES: usize = 1_000;
/// The most characters in names of properties and definitions and in `enum` and `const` values.
const MAX_CHARACTERS: usize = 120_000;
/// The most characters in one `enum` of more than [`LONG_ENUM`] values.
const MAX_ENUM_CHARACTERS: usize = 15_000;
const LONG_ENUM: usize = 250;

/// Refuses what OpenAI would refuse for its size.
pub(super) fn check_limits(root: &Node) -> Result<(), Trouble> {
    let (mut properties, mut values, mut characters) = (0, 0, 0);
    let mut long_enum = None;
    let length = |value: &Value| value.as_str().map_or(0, |text| text.chars().count());
    root.each(&mut |node| {
        for keyword in ["properties", "$defs", "definitions"] {
            if let Some(Word::Named(nodes)) = node.get(keyword) {
                properties += if keyword == "properties" {
                    nodes.len()
                } else {
                    0
                };
                characters += nodes
                    .iter()
                    .map(|(name, _)| name.chars().count())
                    .sum::<usize>();
            }
        }
        if let Some(Value::Array(own)) = node.data("enum") {
            values += own.len();
            let own_characters = own.iter().map(length).sum::<usize>();
            characters += own_characters;
            if own.len() > LONG_ENUM && own_characters > MAX_ENUM_CHARACTERS {
                long_enum = Some(node.at.clone());
            }
        }
        characters += node.data("const").map_or(0, length);
    });
    if let Some(at) = long_enum {
        let reason = format!(
            "its values have more than the {MAX_ENUM_CHARACTERS} characters of strict mode"
        );
        return Err(Trouble::whole(&at, reason));
    }
    let levels = levels(root);
    let definitions =
        ["$defs", "definitions"]
            .into_iter()
            .filter_map(|keyword| match root.get(keyword) {
                Some(Word::Named(nodes)) => nodes.iter().map(|(_, node)| self::levels(node)).max(),
                _ => None,
            });
    let levels = definitions
        .max()
        .map_or(levels, |deepest| deepest.max(levels));
    for (count, limit, what) in [
        (levels, MAX_LEVELS, "levels of nesting"),
        (properties, MAX_PROPERTIES, "properties"),
        (values, MAX_ENUM_VALUES, "`enum` values"),
        (characters, MAX_CHARACTERS, "characters in names and values"),
    ] {
        if count > limit {
            return Err(Trouble::whole(
                "",
                format!("it has {count} {what}; strict mode takes {limit}"),
            ));
        }
    }
    Ok(())
}

/// How deep objects and arrays are nested, this schema included. A reference counts as nothing, as
/// recursion shows it must.
fn levels(node: &Node) -> usize {
    let inner = |keyword: &str| match node.get(keyword) {
        Some(Word::One(node)) => levels(node),
        Some(Word::Many(nodes)) => nodes.iter().map(levels).max().unwrap_or(0),
        Some(Word::Named(nodes)) => nodes
            .iter()
            .map(|(_, node)| levels(node))
            .max()
            .unwrap_or(0),
        Some(Word::Data(_)) | None => 0,
    };
    let own = usize::from(node.has("properties") || node.has("items"));
    own + inner("properties").max(inner("items")).max(inner("anyOf"))
}
