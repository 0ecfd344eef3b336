//! The schemas of bodies and answers, in the form that generators of clients understand.
//!
//! What a schema accepts stays the same. `true` becomes `{}`, which says the same and is an object; a choice of texts becomes one `enum`; an object without any word about its
//! properties says that they may be anything, because generators otherwise make a type without properties.

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::api::SchemaFn;

/// Makes the schemas of a description, and collects those that have a name.
pub(super) struct Shapes {
    sent: SchemaGenerator,
    answered: SchemaGenerator,
}

impl Shapes {
    pub(super) fn new() -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        });
        let settings = settings.with_transform(Explicit);
        Shapes {
            sent: settings.clone().with_transform(Optional).into_generator(),
            answered: settings.into_generator(),
        }
    }

    /// The schema of a body.
    pub(super) fn sent(&mut self, schema: SchemaFn) -> Value {
        let mut schema = schema(&mut self.sent);
        Explicit.transform(&mut schema);
        Optional.transform(&mut schema);
        schema.to_value()
    }

    /// The schema of an answer or a parameter.
    pub(super) fn answered(&mut self, schema: SchemaFn) -> Value {
        let mut schema = schema(&mut self.answered);
        Explicit.transform(&mut schema);
        schema.to_value()
    }

    /// The schemas with a name, and the alternatives of each that have a title. One that is both sent and answered has one form.
    pub(super) fn into_definitions(mut self) -> Map<String, Value> {
        let mut definitions = self.answered.take_definitions(true);
        for (name, schema) in self.sent.take_definitions(true) {
            definitions.entry(name).or_insert(schema);
        }
        let mut alternatives = Map::new();
        for schema in definitions.values_mut() {
            name_alternatives(schema, &mut alternatives);
        }
        definitions.append(&mut alternatives);
        definitions
    }
}

/// Makes the alternatives of a schema that have a title schemas of that name: generators otherwise invent names for what is in them, and
/// invent some twice.
fn name_alternatives(schema: &mut Value, named: &mut Map<String, Value>) {
    let alternatives = schema.get_mut("anyOf").and_then(Value::as_array_mut);
    for alternative in alternatives.into_iter().flatten() {
        let Some(Value::String(title)) = alternative.get("title").cloned() else {
            continue;
        };
        let reference = json!({"$ref": format!("#/components/schemas/{title}")});
        named.insert(title, std::mem::replace(alternative, reference));
    }
}

/// Writes what `true` and a bare `{"type": "object"}` mean.
#[derive(Debug, Clone)]
struct Explicit;

impl Transform for Explicit {
    fn transform(&mut self, schema: &mut Schema) {
        if schema.as_bool() == Some(true) {
            schema.ensure_object();
        }
        transform_subschemas(self, schema);
        let Some(words) = schema.as_object_mut() else {
            return;
        };
        if let Some(choice) = choice(words) {
            *words = choice;
            return;
        }
        let says_nothing = [
            "properties",
            "additionalProperties",
            "patternProperties",
            "$ref",
        ];
        let is_open = words.get("additionalProperties").is_some_and(is_empty)
            || words.get("type").is_some_and(|kind| kind == "object")
                && !says_nothing.iter().any(|word| words.contains_key(*word));
        if is_open {
            words.insert("additionalProperties".to_owned(), true.into());
        }
    }
}

/// One of several texts, each an alternative with its description, as one `enum`: some generators read only the first alternative.
fn choice(words: &Map<String, Value>) -> Option<Map<String, Value>> {
    let alternatives = words.get("oneOf")?.as_array()?;
    let texts = alternatives.iter().map(|one| one.get("const")?.as_str());
    let texts: Vec<&str> = texts.collect::<Option<_>>()?;
    let own = words.get("description").and_then(Value::as_str);
    let each = alternatives.iter().zip(&texts).filter_map(|(one, text)| {
        let about = one.get("description")?.as_str()?;
        Some(format!("- `{text}`: {about}"))
    });
    let about: Vec<String> = own.map(str::to_owned).into_iter().chain(each).collect();
    let others = words
        .iter()
        .filter(|(word, _)| !matches!(word.as_str(), "oneOf" | "description"));
    let mut choice: Map<String, Value> = others
        .map(|(word, value)| (word.clone(), value.clone()))
        .collect();
    choice.insert("type".to_owned(), "string".into());
    choice.insert("enum".to_owned(), texts.into());
    if !about.is_empty() {
        choice.insert("description".to_owned(), about.join("\n").into());
    }
    Some(choice)
}

fn is_empty(schema: &Value) -> bool {
    schema.as_object().is_some_and(Map::is_empty)
}

/// Moves the default of a property that may be left out into its description: generators make a property with a `default` one that must be
/// sent.
#[derive(Debug, Clone)]
struct Optional;

impl Transform for Optional {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else {
            return;
        };
        for property in properties.values_mut().filter_map(Value::as_object_mut) {
            let default = property.remove("default");
            let Some(default) = default.filter(|value| !is_nothing(value)) else {
                continue;
            };
            let about = property.get("description").and_then(Value::as_str);
            let about = match about {
                Some(about) => {
                    let about = about.trim_end_matches('.');
                    format!("{about}. Default: `{}`.", shown(&default))
                }
                None => format!("Default: `{}`.", shown(&default)),
            };
            property.insert("description".to_owned(), about.into());
        }
    }
}

fn is_nothing(default: &Value) -> bool {
    match default {
        Value::Null | Value::Bool(false) => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
        Value::String(text) => text.is_empty(),
    }
}

fn shown(default: &Value) -> String {
    match default {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transformed(mut by: impl Transform, schema: Value) -> Value {
        let mut schema = Schema::try_from(schema).unwrap();
        by.transform(&mut schema);
        schema.to_value()
    }

    #[test]
    fn a_schema_that_takes_anything_is_an_empty_object() {
        let schema = json!({"type": "array", "items": true});
        let made = transformed(Explicit, schema);
        assert_eq!(made, json!({"type": "array", "items": {}}));
        let schema =
            json!({"type": "object", "properties": {"a": true}, "additionalProperties": false});
        let made = transformed(Explicit, schema);
        assert_eq!(
            made,
            json!({"type": "object", "properties": {"a": {}}, "additionalProperties": false})
        );
    }

    #[test]
    fn an_object_of_which_nothing_is_said_takes_any_property() {
        let open = json!({"type": "object", "additionalProperties": true});
        assert_eq!(transformed(Explicit, json!({"type": "object"})), open);
        assert_eq!(transformed(Explicit, open.clone()), open);
        let closed = json!({"type": "object", "properties": {}});
        assert_eq!(transformed(Explicit, closed.clone()), closed);
    }

    #[test]
    fn a_choice_of_texts_is_one_enum() {
        let schema = json!({"description": "A kind.", "oneOf": [
            {"type": "string", "const": "a", "description": "The first."},
            {"type": "string", "const": "b"},
        ]});
        assert_eq!(
            transformed(Explicit, schema),
            json!({"type": "string", "enum": ["a", "b"], "description": "A kind.\n- `a`: The first."})
        );
        let mixed = json!({"oneOf": [{"const": "a"}, {"type": "integer"}]});
        assert_eq!(transformed(Explicit, mixed.clone()), mixed);
    }

    #[test]
    fn alternatives_with_a_title_are_schemas_of_that_name() {
        let one = json!({"title": "One", "type": "object"});
        let mut schema = json!({"anyOf": [one, {"type": "string"}]});
        let mut named = Map::new();
        name_alternatives(&mut schema, &mut named);
        assert_eq!(named["One"], one);
        let reference = json!({"$ref": "#/components/schemas/One"});
        assert_eq!(schema, json!({"anyOf": [reference, {"type": "string"}]}));
    }

    #[test]
    fn a_default_of_a_body_is_in_the_description() {
        let schema = json!({"properties": {
            "a": {"enum": ["wait", "yes"], "default": "wait", "description": "The approver."},
            "b": {"type": "boolean", "default": false},
        }});
        let made = transformed(Optional, schema);
        assert_eq!(
            made,
            json!({"properties": {
                "a": {"enum": ["wait", "yes"], "description": "The approver. Default: `wait`."},
                "b": {"type": "boolean"},
            }})
        );
    }
}
