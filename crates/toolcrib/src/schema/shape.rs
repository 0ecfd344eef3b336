//! What can be done to arguments before validation, worked out once per schema.
//!
//! Models and people spell parameters in every casing, send `null` for "not given" and `1.0` for
//! `1`. [`Shape::normalise`] folds all that into what the schema says, fills defaults, and leaves
//! everything it is not sure of to the validator.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde_json::Value;

use super::Fault;
use crate::model::secret::MASK;
use crate::model::{JsonObject, text};

/// How far below the root defaults and the like are looked for.
const MAX_DEPTH: usize = 8;

/// How many schemas are looked at: a recursive one unrolls without end, and k properties that refer
/// to the root are kⁿ schemas in n levels. What lies beyond is left to the validator.
const MAX_SCHEMAS: usize = 10_000;

/// The part of a schema that normalising needs.
#[derive(Debug, Default)]
pub(super) struct Shape {
    properties: HashMap<Box<str>, PropertyShape>,
    /// The published spelling by its fold; ambiguous folds are left out.
    folded: HashMap<Box<str>, Box<str>>,
    items: Option<Box<Shape>>,
    has_defaults: bool,
    has_secrets: bool,
}

#[derive(Debug, Default)]
struct PropertyShape {
    default: Option<Value>,
    integer: bool,
    drop_null: bool,
    secret: bool,
    inner: Option<Box<Shape>>,
}

impl Shape {
    pub(super) fn of(schema: &Value) -> Shape {
        let mut left = MAX_SCHEMAS;
        Shape::at(schema, schema, 0, &mut left)
    }

    fn at(root: &Value, schema: &Value, depth: usize, left: &mut usize) -> Shape {
        let mut shape = Shape::default();
        if depth > MAX_DEPTH || *left == 0 {
            return shape;
        }
        *left -= 1;
        let schema = resolve(root, schema);
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        for (name, property) in schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let resolved = resolve(root, property);
            let inner = Shape::at(root, property, depth + 1, left);
            let default = property
                .get("default")
                .or_else(|| resolved.get("default"))
                .cloned();
            let one = PropertyShape {
                integer: is_type(resolved, "integer") && !is_type(resolved, "number"),
                drop_null: !required.contains(&name.as_str())
                    && !allows_null(root, resolved, depth),
                secret: is_secret(property) || is_secret(resolved),
                inner: (!inner.is_trivial()).then(|| Box::new(inner)),
                default,
            };
            shape.has_defaults |= one.default.is_some();
            shape.has_secrets |=
                one.secret || one.inner.as_ref().is_some_and(|inner| inner.has_secrets);
            shape.properties.insert(name.as_str().into(), one);
        }
        for branch in ["allOf", "anyOf", "oneOf"]
            .into_iter()
            .filter_map(|key| schema.get(key)?.as_array())
            .flatten()
        {
            shape.join(Shape::at(root, branch, depth + 1, left));
        }
        let mut clashes = Vec::new();
        for name in shape.properties.keys() {
            if let Some(_other) = shape.folded.insert(text::fold(name).into(), name.clone()) {
                clashes.push(text::fold(name));
            }
        }
        for clash in clashes {
            shape.folded.remove(clash.as_str());
        }
        if let Some(items @ Value::Object(_)) = schema.get("items") {
            let items = Shape::at(root, items, depth + 1, left);
            shape.has_secrets |= items.has_secrets;
            shape.items = (!items.is_trivial()).then(|| Box::new(items));
        }
        shape
    }

    /// Takes in one of several forms the value may have. What is done to a property is what every
    /// form that has it agrees on; only masking needs no agreement. Defaults of a form are not
    /// filled in: the value may have another form.
    fn join(&mut self, branch: Shape) {
        self.has_secrets |= branch.has_secrets;
        for (name, mut property) in branch.properties {
            property.default = None;
            match self.properties.entry(name) {
                Entry::Vacant(free) => {
                    free.insert(property);
                }
                Entry::Occupied(mut taken) => {
                    let own = taken.get_mut();
                    own.integer &= property.integer;
                    own.drop_null &= property.drop_null;
                    own.secret |= property.secret;
                    match (&mut own.inner, property.inner) {
                        (Some(own), Some(other)) => own.join(*other),
                        (own @ None, other) => *own = other,
                        (Some(_), None) => {}
                    }
                }
            }
        }
        match (&mut self.items, branch.items) {
            (Some(own), Some(other)) => own.join(*other),
            (own @ None, other) => *own = other,
            (Some(_), None) => {}
        }
    }

    fn is_trivial(&self) -> bool {
        self.properties.is_empty() && self.items.is_none()
    }

    /// Normalises top-level arguments. Faults are only what the validator cannot see: one
    /// parameter given in two spellings.
    pub(super) fn normalise(
        &self,
        mut args: JsonObject,
        synonyms: &[(String, String)],
        faults: &mut Vec<Fault>,
    ) -> JsonObject {
        let strangers: Vec<String> = args
            .keys()
            .filter(|name| !self.properties.contains_key(name.as_str()))
            .cloned()
            .collect();
        for name in strangers {
            let Some(published) = self.published(&name, synonyms) else {
                continue;
            };
            if args.contains_key(published) {
                faults.push(Fault {
                    pointer: super::faults::pointer_to("", &name),
                    message: format!("is another spelling of `{published}`, which is given too"),
                });
            } else if let Some(value) = args.shift_remove(&name) {
                args.insert(published.to_owned(), value);
            }
        }
        self.normalise_object(&mut args);
        args
    }

    /// The published spelling of a parameter that is not one of the schema's names.
    fn published<'a>(&'a self, name: &str, synonyms: &'a [(String, String)]) -> Option<&'a str> {
        let folded = text::fold(name);
        let synonym = synonyms
            .iter()
            .find(|(accepted, _)| text::fold(accepted) == folded)
            .map(|(_, to)| to.as_str());
        synonym.or_else(|| self.folded.get(folded.as_str()).map(|to| &**to))
    }

    fn normalise_object(&self, object: &mut JsonObject) {
        let mut nulls = false;
        for (name, value) in object.iter_mut() {
            let Some(property) = self.properties.get(name.as_str()) else {
                continue;
            };
            nulls |= property.drop_null && value.is_null();
            property.normalise(value);
        }
        if nulls {
            object.retain(|name, value| {
                !(value.is_null()
                    && self
                        .properties
                        .get(name.as_str())
                        .is_some_and(|p| p.drop_null))
            });
        }
        if self.has_defaults {
            for (name, property) in &self.properties {
                if let Some(default) = &property.default
                    && !object.contains_key(&**name)
                {
                    object.insert(name.to_string(), default.clone());
                }
            }
        }
    }

    fn normalise_value(&self, value: &mut Value) {
        match value {
            Value::Object(object) => self.normalise_object(object),
            Value::Array(items) => {
                if let Some(shape) = &self.items {
                    items
                        .iter_mut()
                        .for_each(|item| shape.normalise_value(item));
                }
            }
            _ => {}
        }
    }

    /// Replaces the values of secret parameters.
    pub(super) fn mask(&self, object: &mut JsonObject) {
        if !self.has_secrets {
            return;
        }
        for (name, value) in object.iter_mut() {
            let Some(property) = self.properties.get(name.as_str()) else {
                continue;
            };
            if property.secret {
                *value = Value::from(MASK);
            } else if let Some(inner) = &property.inner {
                inner.mask_value(value);
            }
        }
    }

    fn mask_value(&self, value: &mut Value) {
        match value {
            Value::Object(object) => self.mask(object),
            Value::Array(items) => {
                if let Some(shape) = &self.items {
                    items.iter_mut().for_each(|item| shape.mask_value(item));
                }
            }
            _ => {}
        }
    }
}

impl PropertyShape {
    fn normalise(&self, value: &mut Value) {
        if self.integer
            && let Value::Number(number) = &*value
            && let Some(whole) = as_whole(number)
        {
            *value = Value::from(whole);
        }
        if let Some(inner) = &self.inner {
            inner.normalise_value(value);
        }
    }
}

/// `1.0` as `1` (S3's examples send `float64(1)`); up to 2⁵³, beyond which floats skip integers.
fn as_whole(number: &serde_json::Number) -> Option<i64> {
    if number.is_i64() || number.is_u64() {
        return None;
    }
    let float = number.as_f64()?;
    #[expect(clippy::cast_possible_truncation, reason = "whole and within 2^53")]
    (float.fract() == 0.0 && float.abs() <= 9_007_199_254_740_992.0).then_some(float as i64)
}

/// Follows a `$ref`; `limits::check` has made sure the chain ends.
fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let mut current = schema;
    while let Some(target) = current.get("$ref").and_then(Value::as_str) {
        match target
            .strip_prefix('#')
            .and_then(|pointer| root.pointer(pointer))
        {
            Some(next) => current = next,
            None => break,
        }
    }
    current
}

fn is_type(schema: &Value, wanted: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind == wanted,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == wanted),
        _ => false,
    }
}

/// Whether `null` may be a meaningful value here: when in doubt, it is.
fn allows_null(root: &Value, schema: &Value, depth: usize) -> bool {
    if depth > MAX_DEPTH {
        return true;
    }
    let schema = resolve(root, schema);
    if schema.get("type").is_some() && !is_type(schema, "null") {
        return false;
    }
    if let Some(Value::Array(values)) = schema.get("enum")
        && !values.contains(&Value::Null)
    {
        return false;
    }
    let forms = |key: &str| {
        schema
            .get(key)
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default()
    };
    let allowed = |form: &Value| allows_null(root, form, depth + 1);
    ["anyOf", "oneOf"]
        .iter()
        .all(|key| forms(key).is_empty() || forms(key).iter().any(allowed))
        && forms("allOf").iter().all(allowed)
}

fn is_secret(schema: &Value) -> bool {
    schema.get("writeOnly") == Some(&Value::Bool(true))
        || schema.get("format").is_some_and(|f| f == "password")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Value {
        json!({"type": "object", "required": ["path"], "properties": {
            "path": {"type": "string"},
            "includeHidden": {"type": "boolean", "default": false},
            "start_line": {"type": "integer"},
            "token": {"type": "string", "writeOnly": true},
            "maybe": {"type": ["string", "null"]},
            "options": {"type": "object", "properties": {
                "depth": {"type": "integer", "default": 3}, "pin": {"type": "string", "format": "password"}}},
            "points": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "integer"}}}},
        }})
    }

    fn normalise(args: Value) -> (Value, Vec<Fault>) {
        let Value::Object(args) = args else {
            panic!("an object")
        };
        let mut faults = Vec::new();
        let synonyms = [("working_directory".to_owned(), "path".to_owned())];
        let out = Shape::of(&schema()).normalise(args, &synonyms, &mut faults);
        (Value::Object(out), faults)
    }

    #[test]
    fn other_casings_and_synonyms_become_the_published_spelling() {
        for spelling in [
            "include_hidden",
            "INCLUDE-HIDDEN",
            "includehidden",
            "IncludeHidden",
        ] {
            let (out, faults) = normalise(json!({ "path": ".", spelling: true }));
            assert_eq!(
                (out["includeHidden"].clone(), faults),
                (json!(true), vec![]),
                "{spelling}"
            );
        }
        assert_eq!(normalise(json!({"workingDirectory": "."})).0["path"], ".");
    }

    #[test]
    fn one_parameter_in_two_spellings_is_a_fault() {
        let (_, faults) = normalise(json!({"path": ".", "start_line": 1, "startLine": 2}));
        assert_eq!(faults[0].pointer, "/startLine");
    }

    #[test]
    fn whole_floats_become_integers_and_others_stay() {
        let (out, _) =
            normalise(json!({"path": ".", "start_line": 1.0, "points": [{"x": 2.0}, {"x": 2.5}]}));
        assert_eq!(out["start_line"].to_string(), "1");
        assert_eq!(out["points"].to_string(), r#"[{"x":2},{"x":2.5}]"#);
    }

    #[test]
    fn null_means_not_given_where_it_can_mean_nothing_else() {
        let (out, _) = normalise(
            json!({"path": null, "start_line": null, "maybe": null, "includeHidden": null}),
        );
        assert_eq!(
            out,
            json!({"path": null, "maybe": null, "includeHidden": false})
        );
    }

    #[test]
    fn defaults_are_filled_inside_objects_that_are_there() {
        assert_eq!(
            normalise(json!({"path": ".", "options": {}})).0["options"],
            json!({"depth": 3})
        );
        assert!(normalise(json!({"path": "."})).0.get("options").is_none());
    }

    #[test]
    fn null_is_dropped_in_one_of_several_forms_when_all_of_them_agree() {
        let schema = json!({"type": "object", "properties": {
            "sort": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "filter": {"oneOf": [
                {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}},
                {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": ["string", "null"]}}}]}}});
        let Value::Object(args) =
            json!({"sort": null, "maybe": null, "filter": {"a": null, "b": null}})
        else {
            panic!("an object")
        };
        let out = Shape::of(&schema).normalise(args, &[], &mut Vec::new());
        assert_eq!(
            Value::Object(out),
            json!({"maybe": null, "filter": {"b": null}})
        );
    }

    #[test]
    fn a_schema_that_refers_to_itself_many_times_is_not_unrolled() {
        let mut properties = JsonObject::new();
        for n in 0..50 {
            properties.insert(
                format!("p{n}"),
                json!({"$ref": "#", "anyOf": [{"$ref": "#/properties/p0"}]}),
            );
        }
        properties.insert("p0".to_owned(), json!({"type": "integer", "default": 1}));
        let shape = Shape::of(&json!({"type": "object", "properties": properties}));
        assert_eq!(
            shape.normalise(JsonObject::new(), &[], &mut Vec::new())["p0"],
            1
        );
    }

    #[test]
    fn secrets_are_masked_wherever_they_are() {
        let Value::Object(mut args) =
            json!({"path": ".", "token": "T", "options": {"pin": "P", "depth": 1}})
        else {
            panic!("an object")
        };
        Shape::of(&schema()).mask(&mut args);
        assert_eq!(
            Value::Object(args),
            json!({"path": ".", "token": "***", "options": {"pin": "***", "depth": 1}})
        );
    }
}
