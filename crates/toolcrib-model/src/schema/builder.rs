//! Writing a schema in Rust: [`ObjectBuilder`] and [`Property`].

use serde_json::{Value, json};

use super::{Schema, SchemaError, SchemaProblem};
use crate::JsonObject;

/// Builds the schema of a tool's parameters by S1's rules: an object whose every property has a
/// type and a description.
///
/// ```
/// use toolcrib::schema::{Property, Schema};
///
/// let schema = Schema::object()
///     .required("path", Property::string("Path relative to the workspace"))
///     .optional("encoding", Property::string("How to return the content").one_of(["utf-8", "base64"]))
///     .build()?;
/// assert_eq!(schema.as_value()["required"][0], "path");
/// # Ok::<(), toolcrib::schema::SchemaError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct ObjectBuilder {
    properties: JsonObject,
    required: Vec<String>,
    closed: bool,
    problems: Vec<SchemaProblem>,
}

impl ObjectBuilder {
    /// Adds a parameter that must be given.
    #[must_use]
    pub fn required(mut self, name: impl Into<String>, property: Property) -> Self {
        let name = name.into();
        self.required.push(name.clone());
        self.add(name, property)
    }

    /// Adds a parameter that may be left out.
    #[must_use]
    pub fn optional(self, name: impl Into<String>, property: Property) -> Self {
        self.add(name.into(), property)
    }

    /// Refuses parameters that are not named here.
    #[must_use]
    pub fn closed(mut self) -> Self {
        self.closed = true;
        self
    }

    /// Finishes the schema; the error names every property that breaks a rule.
    pub fn build(self) -> Result<Schema, SchemaError> {
        if !self.problems.is_empty() {
            return Err(SchemaError {
                problems: self.problems,
            });
        }
        let mut root = json!({"type": "object", "properties": self.properties});
        if !self.required.is_empty() {
            root["required"] = self.required.into();
        }
        if self.closed {
            root["additionalProperties"] = false.into();
        }
        Schema::authored(root)
    }

    fn add(mut self, name: String, property: Property) -> Self {
        if self.properties.contains_key(&name) {
            let pointer = super::faults::pointer_to("/properties", &name);
            self.problems.push(SchemaProblem {
                pointer,
                message: "the property is added twice".to_owned(),
            });
        }
        self.properties.insert(name, Value::Object(property.0));
        self
    }
}

/// One parameter: a type, a description, and what else narrows it.
#[derive(Debug, Clone)]
pub struct Property(JsonObject);

impl Property {
    fn of(kind: &str, description: impl Into<String>) -> Self {
        let mut fields = JsonObject::new();
        fields.insert("type".into(), kind.into());
        fields.insert("description".into(), description.into().into());
        Property(fields)
    }

    /// Text.
    pub fn string(description: impl Into<String>) -> Self {
        Property::of("string", description)
    }

    /// A number.
    pub fn number(description: impl Into<String>) -> Self {
        Property::of("number", description)
    }

    /// A whole number.
    pub fn integer(description: impl Into<String>) -> Self {
        Property::of("integer", description)
    }

    /// True or false.
    pub fn boolean(description: impl Into<String>) -> Self {
        Property::of("boolean", description)
    }

    /// A list of items of one kind.
    pub fn array(description: impl Into<String>, items: Property) -> Self {
        Property::of("array", description).with("items", items.0)
    }

    /// A nested object.
    pub fn object(description: impl Into<String>) -> Self {
        Property::of("object", description)
    }

    /// Only these values.
    #[must_use]
    pub fn one_of<V: Into<Value>>(self, values: impl IntoIterator<Item = V>) -> Self {
        let values: Vec<Value> = values.into_iter().map(Into::into).collect();
        self.with("enum", values)
    }

    /// The value when none is given.
    #[must_use]
    pub fn default(self, value: impl Into<Value>) -> Self {
        self.with("default", value)
    }

    /// Any other keyword of JSON Schema.
    #[must_use]
    pub fn with(mut self, keyword: impl Into<String>, value: impl Into<Value>) -> Self {
        self.0.insert(keyword.into(), value.into());
        self
    }
}

/// S1: every property has a type and a description.
pub(super) fn check_properties(root: &Value, problems: &mut Vec<SchemaProblem>) {
    let Some(properties) = root.get("properties") else {
        return;
    };
    let Some(properties) = properties.as_object() else {
        problems.push(SchemaProblem {
            pointer: "/properties".to_owned(),
            message: "`properties` is an object of parameters by name".to_owned(),
        });
        return;
    };
    for (name, property) in properties {
        let mut problem = |message: &str| {
            let pointer = super::faults::pointer_to("/properties", name);
            problems.push(SchemaProblem {
                pointer,
                message: message.to_owned(),
            });
        };
        let Some(property) = property.as_object() else {
            problem("a property is an object with `type` and `description`");
            continue;
        };
        if !["type", "$ref"]
            .iter()
            .any(|key| property.contains_key(*key))
        {
            problem(
                "the property needs a `type`: string, number, integer, boolean, array or object",
            );
        }
        match property.get("description") {
            Some(Value::String(text)) if !text.trim().is_empty() => {}
            _ => problem("the property needs a `description`; models choose arguments by it"),
        }
    }
    for entry in root
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        if !entry
            .as_str()
            .is_some_and(|name| properties.contains_key(name))
        {
            problems.push(SchemaProblem {
                pointer: "/required".to_owned(),
                message: format!("{entry} is required but is not among the properties"),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_must_be_an_object() {
        for root in [
            json!({"type": "string"}),
            json!({"type": ["object", "null"]}),
            json!({"properties": {}}),
            json!([]),
        ] {
            let error = Schema::authored(root.clone()).unwrap_err();
            assert!(error.to_string().contains("object"), "{root}: {error}");
        }
    }

    #[test]
    fn every_property_that_breaks_a_rule_is_named() {
        let error = Schema::create(
            json!({"a": {"type": "string"}, "b": {"description": "B"}, "c": {"type": "string", "description": " "}, "d": 1}),
            &["e"],
        )
        .unwrap_err();
        let pointers: Vec<&str> = error
            .problems
            .iter()
            .map(|problem| problem.pointer.as_str())
            .collect();
        assert_eq!(
            pointers,
            [
                "/properties/a",
                "/properties/b",
                "/properties/c",
                "/properties/d",
                "/required"
            ]
        );
    }

    #[test]
    fn adding_a_property_twice_is_an_error() {
        let twice = Schema::object()
            .optional("a", Property::string("A"))
            .optional("a", Property::number("A"));
        assert!(twice.build().unwrap_err().to_string().contains("twice"));
    }
}
