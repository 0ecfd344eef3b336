//! Bounds on schemas from outside: size, depth, and references that could run away.
//!
//! Validating recurses along the instance, which is bounded, except through keywords that apply in
//! place (`$ref`, `allOf`, `anyOf` …). Those must not form a cycle (endless recursion) nor fan out
//! without bound (`a = allOf[b,b]`, `b = allOf[c,c]` … is 2ⁿ checks in n lines). Both are refused here.

use std::collections::HashMap;

use serde_json::Value;

use super::SchemaError;
use crate::budget::Budget;

/// The deepest nesting of a schema.
const MAX_DEPTH: usize = 64;
/// The most JSON values in a schema.
const MAX_NODES: usize = 20_000;
/// The most patterns: each may take a megabyte once compiled.
const MAX_PATTERNS: usize = 200;
/// The most schemas that may apply to one place of an instance.
const MAX_IN_PLACE: u64 = 10_000;

/// The longest chain of references and forms that apply in place.
pub(super) const MAX_CHAIN: usize = 200;

/// Keywords whose subschemas apply to the same instance.
const IN_PLACE_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const IN_PLACE: [&str; 4] = ["not", "if", "then", "else"];
const IN_PLACE_MAPS: [&str; 2] = ["dependentSchemas", "dependencies"];

pub(super) fn check(schema: &Value) -> Result<(), SchemaError> {
    if !schema.is_object() && !schema.is_boolean() {
        return Err(SchemaError::one("", "a schema is a JSON object"));
    }
    measure(schema)?;
    let mut costs = HashMap::new();
    let mut references = Vec::new();
    collect_references(schema, &mut references, true)?;
    cost_in_place(schema, schema, "", 0, &mut costs)?;
    for pointer in references {
        let Some(target) = schema.pointer(&pointer) else {
            return Err(SchemaError::one(
                "",
                format!("`$ref` to `#{pointer}`, which is not in the schema"),
            ));
        };
        cost_in_place(schema, target, &pointer, 0, &mut costs)?;
    }
    Ok(())
}

fn measure(schema: &Value) -> Result<(), SchemaError> {
    let mut budget = Budget::new(MAX_NODES as u64, 0);
    let mut patterns = 0;
    let mut open = vec![(schema, 0)];
    while let Some((value, depth)) = open.pop() {
        if budget.step(1).is_err() {
            return Err(SchemaError::one(
                "",
                format!("the schema has more than {MAX_NODES} values"),
            ));
        }
        if depth > MAX_DEPTH {
            return Err(SchemaError::one(
                "",
                format!("the schema is nested more than {MAX_DEPTH} levels deep"),
            ));
        }
        if patterns > MAX_PATTERNS {
            return Err(SchemaError::one(
                "",
                format!("the schema has more than {MAX_PATTERNS} patterns"),
            ));
        }
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(fields) => {
                patterns += usize::from(fields.get("pattern").is_some_and(Value::is_string));
                patterns += fields
                    .get("patternProperties")
                    .and_then(Value::as_object)
                    .map_or(0, |map| map.len());
                open.extend(fields.values().map(|field| (field, depth + 1)));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Keywords whose value maps names to schemas: what is there under `default` is a schema.
const NAMED: [&str; 6] = [
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
    "dependencies",
];

/// Finds every `$ref` and refuses the kinds that leave the document or whose target cannot be determined.
/// The depth of the schema was measured before, so recursion is bounded.
fn collect_references(
    schema: &Value,
    found: &mut Vec<String>,
    is_root: bool,
) -> Result<(), SchemaError> {
    let Some(fields) = schema.as_object() else {
        if let Value::Array(items) = schema {
            for item in items {
                collect_references(item, found, false)?;
            }
        }
        return Ok(());
    };
    for (key, value) in fields {
        match (key.as_str(), value) {
            ("$ref", Value::String(target)) => found.push(local_pointer(target)?),
            // Re-basing makes `#/…` point elsewhere; dynamic scopes cannot be bounded here.
            ("$id" | "id", Value::String(_)) if !is_root => {
                return Err(SchemaError::one(
                    "",
                    format!("`{key}` inside a schema is not supported; use `#/$defs/…`"),
                ));
            }
            ("$dynamicRef" | "$recursiveRef", _) => {
                return Err(SchemaError::one(
                    "",
                    format!("`{key}` is not supported; use `$ref` to `#/$defs/…`"),
                ));
            }
            // Data, not schemas: a `$ref` in an example is not a reference.
            ("const" | "enum" | "default" | "examples", _) => {}
            (key, Value::Object(named)) if NAMED.contains(&key) => {
                for schema in named.values() {
                    collect_references(schema, found, false)?;
                }
            }
            _ => collect_references(value, found, false)?,
        }
    }
    Ok(())
}

/// Whether a schema refers to parts of itself.
pub(super) fn refers(schema: &Value) -> bool {
    let mut found = Vec::new();
    collect_references(schema, &mut found, true).is_err() || !found.is_empty()
}

fn local_pointer(reference: &str) -> Result<String, SchemaError> {
    let pointer = super::reference::pointer(reference).map(std::borrow::Cow::into_owned);
    pointer.ok_or_else(|| {
        SchemaError::one(
            "",
            format!(
                "`$ref` to `{}`: a tool's schema may only refer to its own parts, as `#/$defs/…`",
                crate::text::shorten(reference, 80)
            ),
        )
    })
}

/// How many schemas apply at one place of the instance, following references; errors on cycles.
fn cost_in_place(
    root: &Value,
    schema: &Value,
    pointer: &str,
    links: usize,
    costs: &mut HashMap<String, Option<u64>>,
) -> Result<u64, SchemaError> {
    if links > MAX_CHAIN {
        let message = format!("references are chained more than {MAX_CHAIN} times");
        return Err(SchemaError::one("", message));
    }
    match costs.get(pointer) {
        Some(Some(cost)) => return Ok(*cost),
        Some(None) => {
            return Err(SchemaError::one(
                pointer,
                "the schema refers to itself without descending into the value, which never ends",
            ));
        }
        None => {}
    }
    costs.insert(pointer.to_owned(), None);
    let mut cost: u64 = 1;
    if let Some(fields) = schema.as_object() {
        let mut add = |child: &Value, pointer: String, costs: &mut HashMap<String, Option<u64>>| {
            cost = cost.saturating_add(cost_in_place(root, child, &pointer, links + 1, costs)?);
            if cost > MAX_IN_PLACE {
                return Err(SchemaError::one(
                    pointer,
                    format!(
                        "more than {MAX_IN_PLACE} schemas apply to one value; simplify the schema"
                    ),
                ));
            }
            Ok(())
        };
        if let Some(Value::String(target)) = fields.get("$ref") {
            let target = local_pointer(target)?;
            if let Some(schema) = root.pointer(&target) {
                add(schema, target, costs)?;
            }
        }
        for key in IN_PLACE_LISTS {
            for (index, child) in fields
                .get(key)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .enumerate()
            {
                add(child, format!("{pointer}/{key}/{index}"), costs)?;
            }
        }
        for key in IN_PLACE {
            if let Some(child) = fields.get(key) {
                add(child, format!("{pointer}/{key}"), costs)?;
            }
        }
        for key in IN_PLACE_MAPS {
            for (name, child) in fields
                .get(key)
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
            {
                let name = name.replace('~', "~0").replace('/', "~1");
                add(child, format!("{pointer}/{key}/{name}"), costs)?;
            }
        }
    }
    costs.insert(pointer.to_owned(), Some(cost));
    Ok(cost)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn problem(schema: Value) -> String {
        check(&schema).unwrap_err().to_string()
    }

    #[test]
    fn deep_and_large_schemas_are_refused() {
        let mut deep = json!({"type": "string"});
        for _ in 0..100 {
            deep = json!({"allOf": [deep]});
        }
        assert!(problem(deep).contains("levels deep"));
        let large: Vec<Value> = (0..MAX_NODES).map(|n| json!({"const": n})).collect();
        assert!(problem(json!({"anyOf": large})).contains("more than"));
        let patterns: Vec<Value> = (0..=MAX_PATTERNS + 1)
            .map(|_| json!({"pattern": "a"}))
            .collect();
        assert!(problem(json!({"anyOf": patterns})).contains("patterns"));
    }

    #[test]
    fn references_that_never_descend_are_refused() {
        assert!(problem(json!({"$ref": "#"})).contains("never ends"));
        assert!(problem(json!({"allOf": [{"$ref": "#"}]})).contains("never ends"));
        let hidden = json!({"properties": {"a": {"$ref": "#/$defs/x"}},
            "$defs": {"x": {"anyOf": [{"$ref": "#/$defs/y"}]}, "y": {"not": {"$ref": "#/$defs/x"}}}});
        assert!(problem(hidden).contains("never ends"));
    }

    #[test]
    fn a_tree_that_descends_may_refer_to_itself() {
        check(&json!({"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}})).unwrap();
    }

    #[test]
    fn parameters_may_have_the_names_of_keywords_and_hide_nothing() {
        assert!(
            problem(json!({"properties": {"default": {"$ref": "#/properties/default"}}}))
                .contains("never ends")
        );
        assert!(
            problem(json!({"properties": {"enum": {"$dynamicRef": "#x"}}}))
                .contains("not supported")
        );
        assert!(
            problem(json!({"properties": {"a": {"$id": "http://x/"}}})).contains("not supported")
        );
        check(&json!({"properties": {"id": {"type": "string"}, "$id": {"type": "string"}}}))
            .unwrap();
    }

    #[test]
    fn long_chains_are_refused_before_they_fill_the_stack() {
        let mut defs = serde_json::Map::new();
        for n in 0..6000 {
            defs.insert(
                format!("c{n}"),
                json!({"$ref": format!("#/$defs/c{}", n + 1)}),
            );
        }
        defs.insert("c6000".into(), json!({}));
        assert!(problem(json!({"$ref": "#/$defs/c0", "$defs": defs})).contains("chained"));
    }

    #[test]
    fn references_that_fan_out_are_refused() {
        let mut defs = serde_json::Map::new();
        for n in 0..40 {
            let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
            defs.insert(format!("d{n}"), json!({"allOf": [next, next]}));
        }
        defs.insert("d40".into(), json!({"type": "object"}));
        assert!(
            problem(json!({"$ref": "#/$defs/d0", "$defs": defs})).contains("apply to one value")
        );
    }

    #[test]
    fn references_out_of_the_document_are_refused() {
        for target in [
            "http://127.0.0.1/x.json",
            "file:///etc/passwd",
            "other.json",
            "#anchor",
        ] {
            assert!(
                problem(json!({"$ref": target})).contains("only refer to its own parts"),
                "{target}"
            );
        }
        assert!(problem(json!({"$ref": "#/$defs/none"})).contains("not in the schema"));
        assert!(problem(json!({"$dynamicRef": "#x"})).contains("not supported"));
        check(&json!({"properties": {"a": {"const": {"$ref": "http://x"}}}})).unwrap();
    }

    #[test]
    fn references_may_be_percent_encoded() {
        let list = json!({"properties": {"a": {"$ref": "#/$defs/List%3Cint%3E"}}, "$defs": {"List<int>": {"type": "array"}}});
        check(&list).unwrap();
        let schema = super::super::Schema::output(list).unwrap();
        assert_eq!(schema.check_output(&json!({"a": [1]})).unwrap(), []);
        assert_eq!(schema.check_output(&json!({"a": 1})).unwrap().len(), 1);
    }
}
