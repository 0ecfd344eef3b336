//! Lowering: a tool's schema in the part of JSON Schema that a provider takes, and what that costs.
//!
//! Providers refuse a whole request for one keyword they dislike in one tool, so what they cannot
//! take is worked out here, tool by tool. A constraint that gets lost on the way is reported;
//! Toolcrib still enforces it when the tool is called. A schema that has no useful lowered form is
//! [`Trouble`], and its tool is left out of the list.
//!
//! What each provider takes, as of November 2026:
//!
//! | | root | references | keywords |
//! |---|---|---|---|
//! | OpenAI, Anthropic | one object, no `anyOf`, `oneOf`, `allOf`, `enum`, `not` | kept | all |
//! | OpenAI strict | as above | kept, alone in their schema | a short list; objects closed, all properties required |
//! | Ollama | as above | written out | what its server's own types hold; one type per schema |
//! | Gemini | as above | written out | the fields of its `Schema` message; one type per schema, `nullable`, texts in `enum` |
//! | MCP | an object | kept | all: MCP publishes JSON Schema itself |
//!
//! Lists of types (`["string", "null"]`) stay for OpenAI, Anthropic and MCP, which take them: null
//! may mean something other than leaving the argument out.
//!
//! The alternative, a filter over raw JSON per provider, is what most clients do. It mistakes
//! properties for keywords and breaks references as soon as something moves, hence the tree.

mod context;
mod flatten;
mod gemini;
mod limits;
mod loose;
mod merge;
mod node;
mod ollama;
mod read;
mod refs;
mod strict;
mod types;

use serde_json::{Value, json};

use context::Context;
use node::Node;
use read::read;
use refs::Definitions;

/// The part of JSON Schema to lower to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    OpenAi,
    OpenAiStrict,
    Anthropic,
    Ollama,
    Gemini,
    Mcp,
}

impl Dialect {
    fn label(self) -> &'static str {
        match self {
            Dialect::OpenAi => "OpenAI",
            Dialect::OpenAiStrict => "OpenAI's strict mode",
            Dialect::Anthropic => "Anthropic",
            Dialect::Ollama => "Ollama",
            Dialect::Gemini => "Gemini",
            Dialect::Mcp => "MCP",
        }
    }
}

/// A lowered schema.
#[derive(Debug)]
pub(super) struct Lowered {
    /// The schema, an object with `type` and (for Gemini only if there are any) `properties`.
    pub(super) schema: Value,
    /// Where something was lost (a JSON pointer in the tool's schema), and what.
    pub(super) losses: Vec<(String, String)>,
}

/// Why a schema, or a part of it, cannot be lowered.
#[derive(Debug)]
pub(super) struct Trouble {
    /// The JSON pointer in the tool's schema.
    pub(super) at: String,
    /// What is in the way.
    pub(super) reason: String,
    reach: Reach,
}

/// How far a trouble reaches.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Reach {
    /// This part: an optional parameter or one alternative of several can do without it.
    Part,
    /// The tool.
    Whole,
}

impl Trouble {
    fn part(at: &str, reason: impl Into<String>) -> Self {
        Trouble {
            at: at.to_owned(),
            reason: reason.into(),
            reach: Reach::Part,
        }
    }

    fn whole(at: &str, reason: impl Into<String>) -> Self {
        Trouble {
            at: at.to_owned(),
            reason: reason.into(),
            reach: Reach::Whole,
        }
    }
}

/// Lowers a schema.
pub(super) fn lower(schema: &Value, dialect: Dialect) -> Result<Lowered, Trouble> {
    let mut root = read(schema)?;
    if dialect == Dialect::Mcp {
        return publish(schema, &root);
    }
    let mut cx = Context::new(Definitions::detach(&mut root)?, dialect);
    let root = flatten::root(&mut cx, root)?;
    let root = match dialect {
        Dialect::OpenAi | Dialect::Anthropic | Dialect::Mcp => loose::lower(&mut cx, root)?,
        Dialect::OpenAiStrict => strict::lower(&mut cx, root)?,
        Dialect::Ollama => ollama::lower(&mut cx, root)?,
        Dialect::Gemini => gemini::lower(&mut cx, root)?,
    };
    Ok(Lowered {
        schema: root.write(),
        losses: cx.losses(),
    })
}

/// Whether a schema is one for MCP just as it is, as far as that shows at a glance: an object with properties, made of the everyday words
/// alone, nothing in it that refers to something else. False proves nothing.
pub(super) fn is_publishable(schema: &Value) -> bool {
    /// What is deeper is not judged here.
    const DEPTH: usize = 16;
    fn is_shallow(value: &Value, depth: usize) -> bool {
        match value {
            Value::Object(fields) => {
                depth > 0 && fields.values().all(|value| is_shallow(value, depth - 1))
            }
            Value::Array(items) => {
                depth > 0 && items.iter().all(|item| is_shallow(item, depth - 1))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        }
    }
    fn is_plain(schema: &Value, depth: usize) -> bool {
        let Value::Object(fields) = schema else {
            return schema.is_boolean();
        };
        depth > 0
            && fields
                .iter()
                .all(|(keyword, value)| match keyword.as_str() {
                    "properties" => value.as_object().is_some_and(|properties| {
                        properties.values().all(|value| is_plain(value, depth - 1))
                    }),
                    "items" | "additionalProperties" => is_plain(value, depth - 1),
                    "type" | "title" | "description" | "format" | "pattern" => {
                        value.is_string() || (keyword == "type" && value.is_array())
                    }
                    "required" => value.is_array(),
                    "enum" | "const" | "default" | "examples" => is_shallow(value, depth),
                    "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum"
                    | "multipleOf" | "minLength" | "maxLength" | "minItems" | "maxItems"
                    | "minProperties" | "maxProperties" => value.is_number(),
                    "uniqueItems" | "deprecated" => value.is_boolean(),
                    _ => false,
                })
    }
    schema.get("type").and_then(Value::as_str) == Some("object")
        && schema.get("properties").is_some()
        && is_plain(schema, DEPTH)
}

/// Takes `x-mcp-header` out of a schema: it would have clients send arguments as headers, too, and this server reads the body alone. A
/// property of this name stays, and so does what is data.
fn without_headers(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.shift_remove("x-mcp-header");
            for (keyword, value) in fields {
                match (keyword.as_str(), value) {
                    ("const" | "enum" | "default" | "examples", _) => {}
                    (
                        "properties" | "patternProperties" | "dependentSchemas" | "$defs"
                        | "definitions" | "dependencies",
                        Value::Object(named),
                    ) => named.values_mut().for_each(without_headers),
                    (_, value) => without_headers(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(without_headers),
        _ => {}
    }
}

/// The schema for MCP: as it is, once its references are known to lead somewhere.
fn publish(schema: &Value, root: &Node) -> Result<Lowered, Trouble> {
    refs::check(root)?;
    if root.data("type") != Some(&json!("object")) {
        return Err(Trouble::whole(
            "/type",
            "its root is not `\"type\": \"object\"`",
        ));
    }
    let mut schema = schema.clone();
    without_headers(&mut schema);
    if let Value::Object(fields) = &mut schema {
        // 2020-12 is what MCP assumes; another draft gives keywords another meaning and must be said.
        if fields
            .get("$schema")
            .and_then(Value::as_str)
            .is_some_and(|draft| draft.contains("2020-12"))
        {
            fields.shift_remove("$schema");
        }
        fields.shift_remove("$id");
        fields.shift_remove("$comment");
        fields.entry("properties").or_insert_with(|| json!({}));
    }
    Ok(Lowered {
        schema,
        losses: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Dialect; 6] = [
        Dialect::OpenAi,
        Dialect::OpenAiStrict,
        Dialect::Anthropic,
        Dialect::Ollama,
        Dialect::Gemini,
        Dialect::Mcp,
    ];

    #[test]
    fn what_would_make_clients_send_headers_is_not_published() {
        let schema = json!({"type": "object",
            "properties": {
                "region": {"type": "string", "x-mcp-header": "Region"},
                "x-mcp-header": {"type": "string", "default": {"x-mcp-header": "data"}},
                "list": {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/a"}]}}},
            "$defs": {"a": {"type": "object", "properties": {"b": {"type": "string", "x-mcp-header": "B\r\nC"}}}}});
        assert!(!is_publishable(&schema));
        let published = lower(&schema, Dialect::Mcp).unwrap().schema;
        assert_eq!(
            published,
            json!({"type": "object",
                "properties": {
                    "region": {"type": "string"},
                    "x-mcp-header": {"type": "string", "default": {"x-mcp-header": "data"}},
                    "list": {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/a"}]}}},
                "$defs": {"a": {"type": "object", "properties": {"b": {"type": "string"}}}}})
        );
    }

    /// [`Schema`](crate::Schema) refuses most of these; lowering does not rely on that.
    #[test]
    fn schemas_that_run_in_circles_come_to_an_end() {
        let circles = [
            json!({"type": "object", "$ref": "#"}),
            json!({"type": "object", "anyOf": [{"$ref": "#"}, {"allOf": [{"$ref": "#"}]}]}),
            json!({"type": "object", "$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
            json!({"type": "object", "properties": {"p": {"$ref": "#/$defs/a"}},
                "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}]}, "b": {"anyOf": [{"$ref": "#/$defs/a"}, {}]}}}),
            json!({"type": "object", "properties": {"p": {"$ref": "#/properties/p"}}}),
            json!({"type": "object", "properties": {"p": {"$ref": "#/$defs/a", "minProperties": 1}},
                "$defs": {"a": {"type": "object", "properties": {"q": {"$ref": "#/$defs/a", "minProperties": 2}}}}}),
            json!({"type": "object", "properties": {"p": {"type": "object", "anyOf": [{"$ref": "#/$defs/d"}, {}]}},
                "$defs": {"d": {"properties": {"q": {"type": "object", "properties": {}, "anyOf": [{"$ref": "#/$defs/d"}, {}]}}}}}),
            json!({"type": "object", "properties": {"p": {"items": {"$ref": "#/properties/p"}, "allOf": [{"$ref": "#"}, {"$ref": "#"}]}}}),
        ];
        for schema in circles {
            for dialect in ALL {
                let _ = lower(&schema, dialect);
            }
        }
    }

    #[test]
    fn all_of_all_of_all_is_stopped_by_the_budget() {
        let mut definitions = serde_json::Map::new();
        for level in 0..60 {
            let next = json!({"$ref": format!("#/$defs/d{}", level + 1), "minProperties": level});
            definitions.insert(
                format!("d{level}"),
                json!({"allOf": [next.clone(), {"not": {"type": "null"}, "allOf": [next]}]}),
            );
        }
        definitions.insert(
            "d60".to_owned(),
            json!({"type": "object", "properties": {"a": {"type": "string"}}}),
        );
        let schema = json!({"type": "object", "properties": {"p": {"$ref": "#/$defs/d0"}}, "$defs": definitions});
        for dialect in ALL {
            let _ = lower(&schema, dialect);
        }
    }

    #[test]
    fn a_root_that_is_no_object_is_trouble() {
        for schema in [json!({"type": "string"}), json!(false), json!(3)] {
            for dialect in ALL {
                assert!(lower(&schema, dialect).is_err(), "{dialect:?} {schema}");
            }
        }
        let nothing_fits = json!({"type": "object", "allOf": [false]});
        assert!(lower(&nothing_fits, Dialect::Anthropic).is_err());
    }

    #[test]
    fn what_is_publishable_at_a_glance_is_published_just_as_it_is() {
        let plain = json!({"type": "object", "required": ["a"], "additionalProperties": false, "properties": {
            "a": {"type": ["string", "null"], "enum": ["$ref", null], "default": {"$ref": "#/x"}},
            "$ref": {"type": "array", "items": {"type": "integer", "minimum": 1}}}});
        assert!(is_publishable(&plain));
        assert_eq!(lower(&plain, Dialect::Mcp).unwrap().schema, plain);
        for schema in [
            json!({"type": "object"}),
            json!({"type": "string", "properties": {}}),
            json!({"type": "object", "properties": [], "$comment": "x"}),
            json!({"type": "object", "properties": {"a": 3}}),
            json!({"type": "object", "properties": {"a": {"items": [3]}}}),
            json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/b"}}}),
            json!({"type": "object", "properties": {}, "$schema": "https://json-schema.org/draft/2020-12/schema"}),
            json!({"type": "object", "properties": {"a": {"anyOf": [{}]}}}),
        ] {
            assert!(!is_publishable(&schema), "{schema}");
        }
    }

    #[test]
    fn references_out_of_the_schema_are_trouble_for_all() {
        let schema =
            json!({"type": "object", "properties": {"a": {"$ref": "https://example.test/a.json"}}});
        for dialect in ALL {
            let trouble = lower(&schema, dialect).unwrap_err();
            assert_eq!(trouble.at, "/properties/a/$ref", "{dialect:?}");
        }
    }

    #[test]
    fn definitions_nobody_uses_are_left_out_and_others_kept() {
        let schema = json!({"type": "object", "properties": {"a": {"$ref": "#/definitions/used"}},
            "definitions": {"used": {"items": {"$ref": "#/$defs/inner"}}, "unused": {}}, "$defs": {"inner": {}}});
        let lowered = lower(&schema, Dialect::Anthropic).unwrap().schema;
        assert_eq!(
            lowered["definitions"],
            json!({"used": {"items": {"$ref": "#/$defs/inner"}}})
        );
        assert_eq!(lowered["$defs"], json!({"inner": {}}));
    }

    #[test]
    fn what_a_definition_loses_is_reported_once() {
        let schema = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d"}, "b": {"$ref": "#/$defs/d"}},
            "$defs": {"d": {"type": "string", "minLength": 1}}});
        for dialect in [Dialect::OpenAiStrict, Dialect::Ollama] {
            let lowered = lower(&schema, dialect).unwrap();
            let pointers: Vec<&str> = lowered
                .losses
                .iter()
                .map(|(pointer, _)| pointer.as_str())
                .collect();
            assert_eq!(pointers, ["/$defs/d/minLength"], "{dialect:?}");
        }
    }
}
