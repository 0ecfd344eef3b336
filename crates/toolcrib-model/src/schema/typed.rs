//! Schemas derived from Rust types, tidied for models.
//!
//! schemars describes Rust types exactly; models and providers want less: no `$schema` or `title`,
//! no `uint32` formats, no `["string", "null"]` for an optional field (leaving it out is how it is
//! absent), and an enum with documented variants as `enum`, not `oneOf`.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::{Schema, SchemaError};
use crate::JsonObject;

/// The schema of a struct of arguments, by S1's rules: doc comments become descriptions.
#[doc(hidden)]
pub fn input_schema_of<A: JsonSchema>() -> Result<Schema, SchemaError> {
    let mut value = raw::<A>(SchemaSettings::draft2020_12(), Nulls::LeftOut);
    // A tool without parameters: `()` or a unit struct.
    if value.get("type").is_some_and(|kind| kind == "null") {
        value = serde_json::json!({"type": "object"});
    }
    if let Value::Object(root) = &mut value {
        root.remove("description");
        root.entry("properties")
            .or_insert_with(|| JsonObject::new().into());
    }
    Schema::authored(value)
}

/// The schema of a returned type.
#[doc(hidden)]
pub fn output_schema_of<R: JsonSchema>() -> Result<Schema, SchemaError> {
    Schema::output(raw::<R>(
        SchemaSettings::draft2020_12().for_serialize(),
        Nulls::Kept,
    ))
}

/// What becomes of the null of an `Option`.
#[derive(Clone, Copy, PartialEq)]
enum Nulls {
    /// An argument that is absent is left out.
    LeftOut,
    /// A result that is absent is null, unless the type says otherwise.
    Kept,
}

fn raw<T: JsonSchema>(settings: SchemaSettings, nulls: Nulls) -> Value {
    let settings = settings.with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut value = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    tidy(&mut value, nulls, 0);
    value
}

fn tidy(value: &mut Value, nulls: Nulls, depth: usize) {
    // Derived schemas are shallow; the bound only keeps recursion provable.
    if depth > 64 {
        return;
    }
    match value {
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| tidy(item, nulls, depth + 1)),
        Value::Object(schema) => {
            if schema.get("title").is_some_and(Value::is_string) {
                schema.remove("title");
            }
            if schema
                .get("format")
                .and_then(Value::as_str)
                .is_some_and(is_rust_number)
            {
                schema.remove("format");
            }
            if nulls == Nulls::LeftOut {
                drop_null(schema);
            }
            collapse_variants(schema);
            for (key, inner) in schema.iter_mut() {
                if !matches!(key.as_str(), "default" | "const" | "enum" | "examples") {
                    tidy_keyword(key, inner, nulls, depth);
                }
            }
        }
        _ => {}
    }
}

/// `properties` maps names to schemas; a parameter may well be called `title`.
fn tidy_keyword(key: &str, value: &mut Value, nulls: Nulls, depth: usize) {
    match (key, value) {
        ("properties" | "$defs", Value::Object(schemas)) => {
            schemas
                .values_mut()
                .for_each(|schema| tidy(schema, nulls, depth + 1));
        }
        (_, value) => tidy(value, nulls, depth + 1),
    }
}

fn is_rust_number(format: &str) -> bool {
    matches!(
        format,
        "int8"
            | "int16"
            | "int32"
            | "int64"
            | "int128"
            | "int"
            | "uint8"
            | "uint16"
            | "uint32"
            | "uint64"
            | "uint128"
            | "uint"
            | "float"
            | "double"
    )
}

/// `Option<T>`: the property is not required, so `null` need not be published.
fn drop_null(schema: &mut JsonObject) {
    if let Some(Value::Array(kinds)) = schema.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [only] = kinds.as_slice() {
            let only = only.clone();
            schema.insert("type".into(), only);
        }
    }
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
    let Some(Value::Array(forms)) = schema.get_mut("anyOf") else {
        return;
    };
    forms.retain(|form| form.get("type").is_none_or(|kind| kind != "null"));
    if let [Value::Object(only)] = forms.as_slice() {
        let only = only.clone();
        schema.remove("anyOf");
        for (key, value) in only {
            schema.entry(key).or_insert(value);
        }
    }
}

/// `oneOf: [{const: "a", description: …}, …]` as `enum: ["a", …]`, the descriptions kept as text.
fn collapse_variants(schema: &mut JsonObject) {
    let Some(Value::Array(forms)) = schema.get("oneOf") else {
        return;
    };
    let mut values = Vec::new();
    let mut notes = Vec::new();
    for form in forms {
        match (
            form.get("const"),
            form.get("enum").and_then(Value::as_array),
        ) {
            (Some(value @ Value::String(_)), _) => {
                if let (Some(name), Some(note)) = (
                    value.as_str(),
                    form.get("description").and_then(Value::as_str),
                ) {
                    notes.push(format!("{name}: {note}"));
                }
                values.push(value.clone());
            }
            (None, Some(several)) if several.iter().all(Value::is_string) => {
                values.extend(several.iter().cloned());
            }
            _ => return,
        }
    }
    schema.remove("oneOf");
    schema.insert("type".into(), "string".into());
    schema.insert("enum".into(), values.into());
    if !notes.is_empty() {
        let notes = notes.join("; ");
        let description = match schema.get("description").and_then(Value::as_str) {
            Some(own) => format!("{own} ({notes})"),
            None => notes,
        };
        schema.insert("description".into(), description.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Args {
        /// City to look up.
        city: String,
        /// Days ahead.
        days: Option<u32>,
        /// Unit of the answer.
        unit: Option<Unit>,
        /// A title, to be sure parameters may be called so.
        title: String,
        /// Where to.
        to: Option<Town>,
    }

    #[derive(JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[expect(dead_code, reason = "only its schema is used")]
    enum Unit {
        /// Degrees Celsius.
        Celsius,
        Fahrenheit,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Town {
        /// Name of it.
        name: String,
    }

    #[test]
    fn a_struct_becomes_what_a_model_should_see() {
        let schema = input_schema_of::<Args>().unwrap();
        assert_eq!(
            *schema.as_value(),
            json!({
                "type": "object",
                "properties": {
                    "city": {"description": "City to look up.", "type": "string"},
                    "days": {"description": "Days ahead.", "type": "integer", "minimum": 0},
                    "unit": {"description": "Unit of the answer. (celsius: Degrees Celsius.)", "type": "string",
                             "enum": ["fahrenheit", "celsius"]},
                    "title": {"description": "A title, to be sure parameters may be called so.", "type": "string"},
                    "to": {"description": "Where to.", "type": "object",
                           "properties": {"name": {"description": "Name of it.", "type": "string"}},
                           "required": ["name"]},
                },
                "required": ["city", "title"]
            })
        );
    }

    #[test]
    fn an_absent_field_of_a_result_is_null_and_fits_its_schema() {
        #[derive(JsonSchema, serde::Serialize)]
        struct Report {
            n: Option<u32>,
            #[serde(skip_serializing_if = "Option::is_none")]
            note: Option<String>,
        }
        let schema = output_schema_of::<Report>().unwrap();
        let absent = serde_json::to_value(Report {
            n: None,
            note: None,
        })
        .unwrap();
        assert_eq!(schema.check_output(&absent).unwrap(), []);
    }

    #[test]
    fn no_arguments_is_an_empty_object() {
        let schema = input_schema_of::<()>().unwrap();
        assert_eq!(
            *schema.as_value(),
            json!({"type": "object", "properties": {}})
        );
    }

    #[test]
    fn a_field_without_doc_comment_is_refused_by_name() {
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "only its schema is used")]
        struct Undocumented {
            city: String,
        }
        let error = input_schema_of::<Undocumented>().unwrap_err();
        assert!(error.to_string().contains("/properties/city"), "{error}");
    }
}
