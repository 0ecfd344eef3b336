//! Two schemas as one: both at once ([`conjoin`], for `allOf`) or either ([`unite`], for `anyOf`
//! and `oneOf` of objects).
//!
//! Merging is shallow. Where both sides describe the same property differently the result says
//! `allOf` or `anyOf` there, and the lowering of that property deals with it; so nothing here
//! recurses or blows up.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::Context;
use super::node::{ANNOTATIONS, Entry, Node, Word};

/// Nothing fits both schemas.
#[derive(Debug, PartialEq)]
pub(super) struct Contradiction;

/// Adds to `base` what `other` says, so that it asks for both. In annotations `base` has the word.
pub(super) fn conjoin(
    cx: &mut Context,
    base: &mut Node,
    mut other: Node,
) -> Result<(), Contradiction> {
    if base.is_never() || other.is_never() {
        return Err(Contradiction);
    }
    for entry in other.take_words() {
        let Some(own) = base.get_mut(&entry.keyword) else {
            base.adopt(entry);
            continue;
        };
        let (place, Entry { keyword, word, .. }) = (entry.place(), entry);
        if *own == word || ANNOTATIONS.contains(&keyword.as_str()) {
            continue;
        }
        match (keyword.as_str(), own, word) {
            ("type", Word::Data(own), Word::Data(word)) => *own = both_types(own, &word)?,
            ("enum", Word::Data(Value::Array(own)), Word::Data(Value::Array(word))) => {
                own.retain(|value| word.contains(value));
                if own.is_empty() {
                    return Err(Contradiction);
                }
            }
            ("const", _, _) => return Err(Contradiction),
            ("required", Word::Data(Value::Array(own)), Word::Data(Value::Array(word))) => {
                let known: HashSet<String> = own
                    .iter()
                    .filter_map(Value::as_str)
                    .map(str::to_owned)
                    .collect();
                own.extend(
                    word.into_iter()
                        .filter(|name| name.as_str().is_some_and(|name| !known.contains(name))),
                );
            }
            (
                "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties",
                Word::Data(own),
                Word::Data(word),
            ) if word.as_f64() > own.as_f64() => *own = word,
            (
                "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties",
                Word::Data(own),
                Word::Data(word),
            ) if word.as_f64() < own.as_f64() => *own = word,
            (
                "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties"
                | "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties",
                _,
                _,
            ) => {}
            ("additionalProperties" | "unevaluatedProperties", own, word) => {
                *own = match (std::mem::replace(own, Word::Data(Value::Bool(false))), word) {
                    (Word::Data(Value::Bool(true)), other)
                    | (other, Word::Data(Value::Bool(true))) => other,
                    (Word::One(a), Word::One(b)) => Word::One(Box::new(all_of(*a, *b))),
                    _ => Word::Data(Value::Bool(false)),
                };
            }
            (
                "properties" | "patternProperties" | "dependentSchemas" | "dependencies",
                Word::Named(own),
                Word::Named(word),
            ) => {
                let places: HashMap<String, usize> = own
                    .iter()
                    .enumerate()
                    .map(|(index, (name, _))| (name.clone(), index))
                    .collect();
                for (name, node) in word {
                    match places.get(&name) {
                        None => own.push((name, node)),
                        Some(&index) if own[index].1 == node => {}
                        Some(&index) => {
                            let placeholder = Node::empty(&node.at);
                            let first = std::mem::replace(&mut own[index].1, placeholder);
                            own[index].1 = all_of(first, node);
                        }
                    }
                }
            }
            ("allOf", Word::Many(own), Word::Many(word)) => own.extend(word),
            ("items" | "propertyNames", Word::One(own), Word::One(word)) => {
                let first = std::mem::replace(&mut **own, Node::empty(&word.at));
                **own = all_of(first, *word);
            }
            _ => cx.lose_constraint(&place, &keyword, "only one of several can be shown here"),
        }
    }
    Ok(())
}

fn all_of(first: Node, second: Node) -> Node {
    let at = first.at.clone();
    Node::with(&at, "allOf", Word::Many(vec![first, second]))
}

fn both_types(a: &Value, b: &Value) -> Result<Value, Contradiction> {
    let list = |value: &Value| -> Vec<String> {
        match value {
            Value::String(kind) => vec![kind.clone()],
            Value::Array(kinds) => kinds
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
        }
    };
    let (a, b) = (list(a), list(b));
    let has = |kinds: &[String], kind: &str| kinds.iter().any(|own| own == kind);
    // Every integer is a number.
    let fits = |kinds: &[String], kind: &str| {
        has(kinds, kind) || (kind == "integer" && has(kinds, "number"))
    };
    let mut both: Vec<String> = a.iter().filter(|kind| fits(&b, kind)).cloned().collect();
    both.extend(
        b.iter()
            .filter(|kind| !has(&a, kind) && fits(&a, kind))
            .cloned(),
    );
    match both.as_slice() {
        [] => Err(Contradiction),
        [one] => Ok(one.as_str().into()),
        _ => Ok(both.into()),
    }
}

/// The object that fits `base` and at least one of the variants, as nearly as one object can say
/// it: all their properties, and as required only what every variant requires.
pub(super) fn unite(mut base: Node, variants: Vec<Node>) -> Node {
    let mut required = base.required();
    let common = variants.iter().map(Node::required).reduce(|common, own| {
        common
            .into_iter()
            .filter(|name| own.contains(name))
            .collect()
    });
    for name in common.unwrap_or_default() {
        if !required.contains(&name) {
            required.push(name);
        }
    }
    let is_closed = |node: &Node| node.data("additionalProperties") == Some(&Value::Bool(false));
    if !base.has("additionalProperties")
        && variants.iter().all(is_closed)
        && let Some(entry) = variants
            .first()
            .and_then(|node| node.entry("additionalProperties"))
    {
        base.adopt(entry.clone());
    }
    // Reports about what every variant requires point at the first that says so.
    if !base.has("required")
        && let Some(entry) = variants.first().and_then(|node| node.entry("required"))
    {
        base.adopt(entry.clone());
    }
    let mut properties = base.empty_named("properties").unwrap_or_default();
    let own: HashSet<String> = properties.iter().map(|(name, _)| name.clone()).collect();
    let mut order: Vec<String> = Vec::new();
    let mut readings: HashMap<String, Vec<Node>> = HashMap::new();
    for mut variant in variants {
        for (name, node) in variant.take_named("properties") {
            // What holds for every variant says it better; `false` says a variant has it not.
            if own.contains(&name) || node.is_never() {
                continue;
            }
            let known = readings.entry(name.clone()).or_default();
            if known.is_empty() {
                order.push(name);
            }
            if !known.contains(&node) {
                known.push(node);
            }
        }
    }
    for name in order {
        if let Some(readings) = readings.remove(&name) {
            properties.push((name, either(readings)));
        }
    }
    base.set("properties", Word::Named(properties));
    if required.is_empty() {
        base.remove("required");
    } else {
        base.set_data("required", required);
    }
    base
}

/// A schema for what fits at least one of several, of which there is one at least.
fn either(mut readings: Vec<Node>) -> Node {
    match readings.len() {
        1 => readings.remove(0),
        _ => match one_enum(&readings) {
            Some(node) => node,
            None => {
                let at = readings[0].at.clone();
                Node::with(&at, "anyOf", Word::Many(readings))
            }
        },
    }
}

/// `{"const": "a"}` or `{"const": "b"}`, the usual way to tell variants apart, as one `enum`.
fn one_enum(readings: &[Node]) -> Option<Node> {
    let first = readings.first()?;
    let mut values: Vec<Value> = Vec::new();
    for node in readings {
        let plain = ["type", "const", "enum", "title", "description"];
        if node.data("type") != first.data("type")
            || !node.keywords().all(|word| plain.contains(&word))
        {
            return None;
        }
        let own = match (node.data("const"), node.data("enum")) {
            (Some(value), None) => std::slice::from_ref(value),
            (None, Some(Value::Array(own))) => own.as_slice(),
            _ => return None,
        };
        for value in own {
            if !values.contains(value) {
                values.push(value.clone());
            }
        }
    }
    let mut node = Node::empty(&first.at);
    for keyword in ["type", "description"] {
        if let Some(value) = first.data(keyword) {
            node.set_data(keyword, value.clone());
        }
    }
    node.set_data("enum", values);
    Some(node)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::lower::read::read;
    use crate::wire::lower::{Dialect, refs::Definitions};
    use serde_json::json;

    fn cx() -> Context {
        Context::new(Definitions::default(), Dialect::Ollama)
    }

    fn node(schema: Value) -> Node {
        read(&schema).unwrap()
    }

    #[test]
    fn both_at_once_takes_the_narrower_of_each() {
        let mut base = node(
            json!({"type": ["number", "string"], "minimum": 1, "maximum": 9, "enum": [1, 2, 3],
            "description": "mine", "required": ["a"], "properties": {"p": {"type": "string"}, "q": {}}}),
        );
        let other = node(
            json!({"type": "integer", "minimum": 2, "maximum": 10, "enum": [2, 3, 4],
            "description": "theirs", "required": ["b", "a"], "properties": {"p": {"maxLength": 2}, "q": {}, "r": {}},
            "additionalProperties": false}),
        );
        conjoin(&mut cx(), &mut base, other).unwrap();
        assert_eq!(
            base.write(),
            json!({"type": "integer", "minimum": 2, "maximum": 9, "enum": [2, 3], "description": "mine",
                "required": ["a", "b"], "properties": {
                    "p": {"allOf": [{"type": "string"}, {"maxLength": 2}]}, "q": {}, "r": {}},
                "additionalProperties": false})
        );
    }

    #[test]
    fn what_contradicts_itself_is_reported() {
        for (a, b) in [
            (
                json!({"type": "string"}),
                json!({"type": ["object", "null"]}),
            ),
            (json!({"const": 1}), json!({"const": 2})),
            (json!({"enum": [1]}), json!({"enum": [2]})),
            (json!({"not": {"type": "null"}}), json!(false)),
        ] {
            assert_eq!(
                conjoin(&mut cx(), &mut node(a), node(b)),
                Err(Contradiction)
            );
        }
    }

    #[test]
    fn what_cannot_be_merged_is_reported() {
        let mut cx = cx();
        let mut base = node(json!({"pattern": "^a"}));
        conjoin(&mut cx, &mut base, node(json!({"pattern": "b$"}))).unwrap();
        assert_eq!(base.write(), json!({"pattern": "^a"}));
        assert_eq!(cx.losses()[0].0, "/pattern");
    }

    #[test]
    fn variants_share_their_properties_and_require_what_all_require() {
        let base = node(
            json!({"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}),
        );
        let variants = vec![
            node(
                json!({"properties": {"kind": {"const": "a"}, "x": {"type": "string"}, "id": {}}, "required": ["kind", "x"]}),
            ),
            node(
                json!({"properties": {"kind": {"const": "b"}, "x": {"type": "integer"}, "y": false}, "required": ["kind"]}),
            ),
        ];
        assert_eq!(
            unite(base, variants).write(),
            json!({"type": "object", "required": ["id", "kind"], "properties": {
                "id": {"type": "string"}, "kind": {"enum": ["a", "b"]},
                "x": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}})
        );
    }
}
