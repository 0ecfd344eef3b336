//! What can be done to arguments before validation, worked out once per schema.
//!
//! Models and people spell parameters in every casing, send `null` for "not given" and `1.0` for
//! `1`. [`Shape::normalise`] folds all that into what the schema says, fills defaults, and leaves
//! everything it is not sure of to the validator.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde_json::Value;

use super::Fault;
use crate::secret::MASK;
use crate::{JsonObject, text};

/// How far below the root defaults and the like are looked for.
const MAX_DEPTH: usize = 8;

/// How many schemas are looked at: a recursive one unrolls without end, and k properties that refer
/// to the root are kⁿ schemas in n levels. What lies beyond is left to the validator.
const MAX_SCHEMAS: usize = 10_000;

/// The part of a schema that normalising and masking need.
#[derive(Debug, Default)]
pub(super) struct Shape {
    properties: HashMap<Box<str>, PropertyShape>,
    /// Properties with a default, in the author's order.
    defaults: Vec<Box<str>>,
    /// The published spelling by its fold; ambiguous folds are left out.
    folded: HashMap<Box<str>, Box<str>>,
    items: Option<Box<Shape>>,
    /// What fields have that are not among the properties.
    others: Option<Box<Shape>>,
    /// The value itself is a secret.
    secret: bool,
    /// The schema goes on where this does not look: no one knows what is secret below.
    unknown: bool,
}

#[derive(Debug, Default)]
struct PropertyShape {
    default: Option<Value>,
    integer: bool,
    drop_null: bool,
    inner: Shape,
}

impl Shape {
    pub(super) fn of(schema: &Value) -> Shape {
        let mut left = MAX_SCHEMAS;
        Shape::at(schema, schema, 0, &mut left)
    }

    fn at(root: &Value, schema: &Value, depth: usize, left: &mut usize) -> Shape {
        let mut shape = Shape {
            secret: is_secret_on_the_way(root, schema),
            ..Shape::default()
        };
        let schema = resolve(root, schema);
        if depth > MAX_DEPTH || *left == 0 {
            shape.unknown = true;
            return shape;
        }
        *left -= 1;
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
            if *left == 0 {
                shape.unknown = true;
                break;
            }
            *left -= 1;
            let resolved = resolve(root, property);
            let default = property.get("default").or_else(|| resolved.get("default"));
            // `"default": null` is how generators say that there is none.
            let default = default.filter(|value| !value.is_null()).cloned();
            if default.is_some() {
                shape.defaults.push(name.as_str().into());
            }
            let one = PropertyShape {
                integer: is_type(resolved, "integer") && !is_type(resolved, "number"),
                drop_null: !required.contains(&name.as_str())
                    && !allows_null(root, resolved, depth),
                inner: Shape::at(root, property, depth + 1, left),
                default,
            };
            shape.properties.insert(name.as_str().into(), one);
        }
        for items in items_of(schema) {
            let items = Shape::at(root, items, depth + 1, left);
            shape.items.get_or_insert_default().join(items);
        }
        for others in other_fields(schema) {
            let others = Shape::at(root, others, depth + 1, left);
            shape.others.get_or_insert_default().join(others);
        }
        for branch in branches(schema) {
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
        shape
    }

    /// Takes in one of several forms the value may have. A property is treated as every form that has it agrees on; only masking needs no
    /// agreement. Defaults of a form are not
    /// filled in: the value may have another form.
    fn join(&mut self, branch: Shape) {
        self.secret |= branch.secret;
        self.unknown |= branch.unknown;
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
                    own.inner.join(property.inner);
                }
            }
        }
        for (own, other) in [
            (&mut self.items, branch.items),
            (&mut self.others, branch.others),
        ] {
            if let Some(other) = other {
                own.get_or_insert_default().join(*other);
            }
        }
    }

    /// Normalises top-level arguments. Faults are only what the validator cannot see: one
    /// parameter given in two spellings.
    pub(super) fn normalise(
        &self,
        mut args: JsonObject,
        synonyms: &[(String, String)],
        faults: &mut Vec<Fault>,
    ) -> JsonObject {
        if args
            .keys()
            .any(|name| !self.properties.contains_key(name.as_str()))
        {
            args = self.fold_in(args, synonyms, faults);
        }
        self.normalise_object(&mut args);
        args
    }

    /// Moves values under the published spellings of their names, in one pass: there may be many.
    fn fold_in(
        &self,
        args: JsonObject,
        synonyms: &[(String, String)],
        faults: &mut Vec<Fault>,
    ) -> JsonObject {
        let mut kept = JsonObject::with_capacity(args.len());
        let mut strangers = Vec::new();
        for (name, value) in args {
            let is_known = self.properties.contains_key(name.as_str());
            match self.published(&name, synonyms).filter(|_| !is_known) {
                Some(published) => strangers.push((name, published.to_owned(), value)),
                None => {
                    kept.insert(name, value);
                }
            }
        }
        for (name, published, value) in strangers {
            if !kept.contains_key(&published) {
                kept.insert(published, value);
            } else if faults.len() < super::faults::MAX_FAULTS {
                faults.push(Fault {
                    pointer: super::faults::pointer_to("", &name),
                    message: format!("is another spelling of `{published}`, which is given too"),
                });
            }
        }
        kept
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
            let drops = |name: &String| {
                self.properties
                    .get(name.as_str())
                    .is_some_and(|p| p.drop_null)
            };
            object.retain(|name, value| !(value.is_null() && drops(name)));
        }
        for name in &self.defaults {
            if let Some(default) = self
                .properties
                .get(name)
                .and_then(|property| property.default.as_ref())
                && !object.contains_key(&**name)
            {
                object.insert(name.to_string(), default.clone());
            }
        }
    }

    /// Takes back defaults that do not fit their own schema: those at the places of faults, and those that such a place is in. Returns their
    /// pointers.
    pub(super) fn take_back<'a>(
        &self,
        object: &mut JsonObject,
        faults: impl Iterator<Item = &'a str>,
    ) -> Vec<String> {
        let mut taken: Vec<String> = Vec::new();
        for pointer in faults {
            let tokens: Vec<String> = pointer
                .split('/')
                .skip(1)
                .map(|token| token.replace("~1", "/").replace("~0", "~"))
                .collect();
            taken.extend(self.take_back_one(object, &tokens, ""));
        }
        taken
    }

    fn take_back_one(
        &self,
        object: &mut JsonObject,
        tokens: &[String],
        at: &str,
    ) -> Option<String> {
        let (name, rest) = tokens.split_first()?;
        let property = self.properties.get(name.as_str())?;
        let value = object.get_mut(name.as_str())?;
        let place = super::faults::pointer_to(at, name);
        if property.default.as_ref() == Some(value) {
            object.shift_remove(name.as_str());
            return Some(place);
        }
        let Value::Object(inner) = value else {
            return None;
        };
        property.inner.take_back_one(inner, rest, &place)
    }

    fn normalise_value(&self, value: &mut Value) {
        match (value, &self.items) {
            (Value::Object(object), _) => self.normalise_object(object),
            (Value::Array(items), Some(shape)) => {
                items
                    .iter_mut()
                    .for_each(|item| shape.normalise_value(item));
            }
            _ => {}
        }
    }

    /// Replaces the values of secret parameters, also under other spellings of their names: what is
    /// recorded may not have been valid.
    pub(super) fn mask(&self, object: &mut JsonObject, synonyms: &[(String, String)]) {
        for (name, value) in object.iter_mut() {
            let published = || self.properties.get(self.published(name, synonyms)?);
            match self.properties.get(name.as_str()).or_else(published) {
                Some(property) => property.inner.mask_value(value),
                None => match &self.others {
                    Some(others) => others.mask_value(value),
                    // A name no one knows may be a secret's, misspelt.
                    None => *value = Value::from(MASK),
                },
            }
        }
    }

    fn mask_value(&self, value: &mut Value) {
        if self.secret {
            *value = Value::from(MASK);
            return;
        }
        match (&mut *value, &self.items) {
            (Value::Object(object), _) => self.mask(object, &[]),
            (Value::Array(items), Some(shape)) => {
                items.iter_mut().for_each(|item| shape.mask_value(item));
            }
            (Value::Array(_), None) if self.unknown => *value = Value::from(MASK),
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
        self.inner.normalise_value(value);
    }
}

/// Whether anything in a schema is marked as secret; most have nothing to mask.
pub(super) fn mentions_secrets(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => is_secret(schema) || fields.values().any(mentions_secrets),
        Value::Array(items) => items.iter().any(mentions_secrets),
        _ => false,
    }
}

/// The forms a value may have besides the schema's own.
fn branches(schema: &Value) -> impl Iterator<Item = &Value> {
    let lists = ["allOf", "anyOf", "oneOf"]
        .into_iter()
        .filter_map(|key| schema.get(key)?.as_array())
        .flatten();
    lists.chain(
        ["then", "else"]
            .into_iter()
            .filter_map(|key| schema.get(key)),
    )
}

/// The schemas of the items of a list, wherever they stand in it.
fn items_of(schema: &Value) -> impl Iterator<Item = &Value> {
    let one = ["items", "contains", "additionalItems"]
        .into_iter()
        .filter_map(|key| schema.get(key));
    let listed = ["items", "prefixItems"]
        .into_iter()
        .filter_map(|key| schema.get(key)?.as_array())
        .flatten();
    one.filter(|schema| schema.is_object()).chain(listed)
}

/// The schemas of fields that are not named.
fn other_fields(schema: &Value) -> impl Iterator<Item = &Value> {
    let maps = schema
        .get("patternProperties")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(|map| map.values());
    maps.chain(
        ["additionalProperties", "unevaluatedProperties"]
            .into_iter()
            .filter_map(|key| schema.get(key)),
    )
    .filter(|schema| schema.is_object())
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

/// A schema and what it refers to, link by link; `limits::check` has bounded the chain.
fn links<'a>(root: &'a Value, schema: &'a Value) -> impl Iterator<Item = &'a Value> {
    let next = |schema: &&'a Value| super::reference::target(root, schema.get("$ref")?.as_str()?);
    std::iter::successors(Some(schema), next).take(super::limits::MAX_CHAIN)
}

/// Follows a `$ref` to its end.
fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    links(root, schema).last().unwrap_or(schema)
}

fn is_secret_on_the_way(root: &Value, schema: &Value) -> bool {
    links(root, schema).any(is_secret)
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
    fn secrets_are_masked_under_every_form_and_spelling() {
        let schema = json!({"type": "object", "properties": {
            "token": {"anyOf": [{"type": "string", "format": "password"}, {"type": "null"}]},
            "keys": {"type": "array", "items": {"format": "password"}},
            "plain": {"type": "string"},
            "env": {"type": "object", "additionalProperties": {"type": "string", "writeOnly": true}}}});
        let Value::Object(mut args) = json!({
            "token": "S", "Token": "S", "pass": "S", "keys": ["S", "S"], "env": {"A": "S"}, "plain": "P", "tokne": "S"
        }) else {
            panic!("an object")
        };
        Shape::of(&schema).mask(&mut args, &[("pass".to_owned(), "token".to_owned())]);
        let shown = Value::Object(args).to_string();
        assert!(!shown.contains('S') && shown.contains('P'), "{shown}");
    }

    #[test]
    fn what_lies_too_deep_to_know_is_masked() {
        let mut deep = json!({"type": "string", "format": "password"});
        let mut value = json!("S");
        for _ in 0..20 {
            deep = json!({"type": "object", "properties": {"a": deep}});
            value = json!({"a": value});
        }
        let Value::Object(mut args) = value else {
            panic!("an object")
        };
        Shape::of(&deep).mask(&mut args, &[]);
        assert!(!Value::Object(args).to_string().contains('S'));
    }

    #[test]
    fn defaults_come_in_the_order_of_the_schema() {
        let schema = json!({"type": "object", "properties": {
            "c": {"default": 1}, "a": {"default": 2}, "b": {"default": 3}}});
        let filled = Shape::of(&schema).normalise(JsonObject::new(), &[], &mut Vec::new());
        assert_eq!(filled.keys().collect::<Vec<_>>(), ["c", "a", "b"]);
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
        Shape::of(&schema()).mask(&mut args, &[]);
        assert_eq!(
            Value::Object(args),
            json!({"path": ".", "token": "***", "options": {"pin": "***", "depth": 1}})
        );
    }
}
