//! Reading JSON into [`Node`]s.
//!
//! Which keyword holds schemas and which holds data is settled once, here: a property called
//! `$ref` is never taken for a reference, and what is in `default` is never lowered.

use serde_json::{Map, Value};

use super::Trouble;
use super::node::{MAX_DEPTH, MAX_NODES, Node, Word, join};

/// Bookkeeping no provider needs. References go by JSON pointer, so `$id` and anchors say nothing.
const BOOKKEEPING: [&str; 7] = [
    "$schema",
    "$id",
    "$comment",
    "$vocabulary",
    "$anchor",
    "$dynamicAnchor",
    "$recursiveAnchor",
];

/// Reads a schema; refuses what is malformed, too deep or too large.
pub(super) fn read(schema: &Value) -> Result<Node, Trouble> {
    // Before anything is cloned: cloning and dropping recurse as deep as the JSON goes.
    if is_deeper(schema, MAX_DEPTH) {
        let reason = format!("it is nested more than {MAX_DEPTH} levels deep");
        return Err(Trouble::whole("", reason));
    }
    read_node(schema, "", Base::Root, &mut 0)
}

/// The schema that nothing fits.
pub(super) fn never(at: &str) -> Node {
    Node::with(at, "not", Word::One(Box::new(Node::empty(at))))
}

/// Where the schema's own references count from.
#[derive(Clone, Copy, PartialEq)]
enum Base {
    Root,
    Below,
    /// Under a nested `$id`, where `#/…` would no longer mean the tool's schema.
    Embedded,
}

fn is_deeper(value: &Value, limit: usize) -> bool {
    let is_deeper_below = |inner: &Value| limit == 0 || is_deeper(inner, limit - 1);
    match value {
        Value::Array(items) => items.iter().any(is_deeper_below),
        Value::Object(fields) => fields.values().any(is_deeper_below),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn read_node(schema: &Value, at: &str, base: Base, count: &mut usize) -> Result<Node, Trouble> {
    *count += 1;
    if *count > MAX_NODES {
        return Err(Trouble::whole(
            "",
            format!("it is made of more than {MAX_NODES} schemas"),
        ));
    }
    let fields = match schema {
        Value::Object(fields) => fields,
        Value::Bool(true) => return Ok(Node::empty(at)),
        Value::Bool(false) => return Ok(never(at)),
        Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Err(Trouble::whole(
                at,
                "a schema must stand here, an object or a boolean",
            ));
        }
    };
    let base = match base {
        Base::Below if fields.contains_key("$id") => Base::Embedded,
        other => other,
    };
    let mut node = Node::empty(at);
    for (keyword, value) in fields {
        if BOOKKEEPING.contains(&keyword.as_str()) {
            continue;
        }
        let place = join(at, keyword);
        let below = if base == Base::Embedded {
            Base::Embedded
        } else {
            Base::Below
        };
        let mut inner = |value: &Value, place: &str| read_node(value, place, below, count);
        let word = match (keyword.as_str(), value) {
            ("$ref", Value::String(_)) if base != Base::Embedded => Word::Data(value.clone()),
            ("$ref", Value::String(_)) => {
                let reason = "a reference inside a part with its own `$id` cannot be followed";
                return Err(Trouble::whole(&place, reason));
            }
            ("$ref", _) => return Err(Trouble::whole(&place, "a reference is a string")),
            ("$dynamicRef" | "$recursiveRef", _) => {
                let reason = format!("`{keyword}` cannot be followed; use `$ref` to `#/$defs/…`");
                return Err(Trouble::whole(&place, reason));
            }
            // Whether others are accepted; as a schema only when it is one.
            (
                "additionalProperties"
                | "additionalItems"
                | "unevaluatedProperties"
                | "unevaluatedItems",
                Value::Bool(_),
            ) => Word::Data(value.clone()),
            ("allOf" | "anyOf" | "oneOf" | "prefixItems" | "items", Value::Array(items)) => {
                let items = items.iter().enumerate();
                let nodes = items.map(|(index, item)| inner(item, &format!("{place}/{index}")));
                Word::Many(nodes.collect::<Result<_, _>>()?)
            }
            ("allOf" | "anyOf" | "oneOf" | "prefixItems", _) => {
                return Err(Trouble::whole(
                    &place,
                    format!("`{keyword}` is a list of schemas"),
                ));
            }
            (
                "not"
                | "if"
                | "then"
                | "else"
                | "contains"
                | "propertyNames"
                | "contentSchema"
                | "items"
                | "additionalProperties"
                | "additionalItems"
                | "unevaluatedProperties"
                | "unevaluatedItems",
                _,
            ) => Word::One(Box::new(inner(value, &place)?)),
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
                Value::Object(schemas),
            ) => {
                let nodes = schemas
                    .iter()
                    .map(|(name, schema)| Ok((name.clone(), inner(schema, &join(&place, name))?)));
                Word::Named(nodes.collect::<Result<_, Trouble>>()?)
            }
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
                _,
            ) => {
                return Err(Trouble::whole(
                    &place,
                    format!("`{keyword}` maps names to schemas"),
                ));
            }
            // Draft 7: lists of names, or schemas. The lists stay data; where both are mixed they
            // move to the keyword that later drafts have for them.
            ("dependencies", Value::Object(dependencies)) => {
                let (mut names, mut schemas) = (Map::new(), Vec::new());
                for (name, value) in dependencies {
                    if value.is_array() {
                        names.insert(name.clone(), value.clone());
                    } else {
                        schemas.push((name.clone(), inner(value, &join(&place, name))?));
                    }
                }
                if schemas.is_empty() {
                    Word::Data(Value::Object(names))
                } else {
                    if !names.is_empty() {
                        node.set_data("dependentRequired", names);
                    }
                    Word::Named(schemas)
                }
            }
            _ => Word::Data(value.clone()),
        };
        node.set(keyword, word);
    }
    Ok(node)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_property_called_like_a_keyword_is_not_a_keyword() {
        let schema = json!({"type": "object", "properties": {
            "$ref": {"type": "string"}, "enum": {"type": "string", "default": {"$ref": "#/nowhere"}}, "$id": {}}});
        assert_eq!(read(&schema).unwrap().write(), schema);
    }

    #[test]
    fn booleans_become_objects_and_bookkeeping_goes() {
        let schema = json!({"$schema": "x", "$id": "y", "properties": {"a": true, "b": false, "c": {"$comment": "z"}},
            "additionalProperties": false});
        let expected = json!({"properties": {"a": {}, "b": {"not": {}}, "c": {}}, "additionalProperties": false});
        assert_eq!(read(&schema).unwrap().write(), expected);
    }

    #[test]
    fn nodes_know_their_place() {
        let node = read(&json!({"properties": {"a/b": {"anyOf": [{}, {"items": {}}]}}})).unwrap();
        let mut places = Vec::new();
        node.each(&mut |node| places.push(node.at.to_string()));
        assert_eq!(
            places,
            [
                "",
                "/properties/a~1b",
                "/properties/a~1b/anyOf/0",
                "/properties/a~1b/anyOf/1",
                "/properties/a~1b/anyOf/1/items"
            ]
        );
    }

    #[test]
    fn input_that_is_not_a_schema_is_refused_with_its_place() {
        for (schema, place) in [
            (json!({"properties": {"a": 1}}), "/properties/a"),
            (json!({"properties": []}), "/properties"),
            (json!({"anyOf": {}}), "/anyOf"),
            (json!({"$ref": 1}), "/$ref"),
            (json!({"$dynamicRef": "#x"}), "/$dynamicRef"),
            (
                json!({"properties": {"a": {"$id": "https://a.test/", "$ref": "#/$defs/b"}}}),
                "/properties/a/$ref",
            ),
        ] {
            assert_eq!(read(&schema).unwrap_err().at, place, "{schema}");
        }
    }

    #[test]
    fn ten_thousand_levels_do_not_overflow_the_stack() {
        // `json!` copies what it is given, recursively; this moves.
        let wrap =
            |name: &str, inner: Value| Value::Object(Map::from_iter([(name.to_owned(), inner)]));
        let (mut schema, mut data) = (json!({}), json!(1));
        for _ in 0..10_000 {
            schema = wrap("not", schema);
            data = Value::Array(vec![data]);
        }
        assert!(read(&schema).unwrap_err().reason.contains("levels deep"));
        let data = wrap("default", data);
        assert!(read(&data).is_err());
        // Dropping JSON recurses too; that is not what is tested here.
        std::mem::forget((schema, data));
    }
}
