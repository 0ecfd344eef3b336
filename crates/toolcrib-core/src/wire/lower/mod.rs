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
//! | OpenAI, Anthropic, MCP | one object, no `anyOf`, `oneOf`, `allOf`, `enum`, `not` | kept | all |
//! | OpenAI strict | as above | kept, alone in their schema | a short list; objects closed, all properties required |
//! | Anthropic strict | as above | kept, no circles | a shorter list; objects closed, parameters may be left out |
//! | Ollama | as above | written out | what its server's own types hold; one type per schema |
//! | Gemini | as above | written out | the fields of its `Schema` message; one type per schema, `nullable`, texts in `enum` |
//!
//! MCP itself takes all of JSON Schema. Its clients hand schemas on to models, many just as they are, so MCP gets what all of these take.
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
mod merge;
mod node;
mod ollama;
mod ordinary_dialect;
mod read;
mod refs;
mod sound;
mod strict;
mod types;

use serde_json::{Value, json};

use crate::schema::patterns;
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
    AnthropicStrict,
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
            Dialect::AnthropicStrict => "Anthropic's strict mode",
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
    /// The reason.
    pub(super) reason: String,
    reach: LossExtent,
}

/// How far a trouble reaches.
#[derive(Debug, Clone, Copy, PartialEq)]
enum LossExtent {
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
            reach: LossExtent::Part,
        }
    }

    fn whole(at: &str, reason: impl Into<String>) -> Self {
        Trouble {
            at: at.to_owned(),
            reason: reason.into(),
            reach: LossExtent::Whole,
        }
    }
}

/// Lowers a schema.
pub(super) fn lower(schema: &Value, dialect: Dialect) -> Result<Lowered, Trouble> {
    let mut root = read(schema)?;
    let draft = match dialect {
        Dialect::Mcp => {
            check_root(&root)?;
            other_draft(schema)
        }
        _ => None,
    };
    let settled = sound::settle(&mut root)?;
    let mut cx = Context::new(Definitions::detach(&mut root)?, dialect);
    for (at, reason) in settled {
        cx.lose(&at, reason);
    }
    let root = flatten::root(&mut cx, root)?;
    let mut root = match dialect {
        Dialect::OpenAi | Dialect::Anthropic | Dialect::Mcp => {
            ordinary_dialect::lower(&mut cx, root)?
        }
        Dialect::OpenAiStrict | Dialect::AnthropicStrict => strict::lower(&mut cx, root)?,
        Dialect::Ollama => ollama::lower(&mut cx, root)?,
        Dialect::Gemini => gemini::lower(&mut cx, root)?,
    };
    if let Some(draft) = draft {
        root.set_data("$schema", draft);
    }
    Ok(Lowered {
        schema: root.write(),
        losses: cx.losses(),
    })
}

/// The schema of an MCP tool's structured content. Programs read it and models do not, so nothing is left out of it.
pub(super) fn lower_output(schema: &Value) -> Result<Value, Trouble> {
    let mut root = read(schema)?;
    check_root(&root)?;
    refs::check(&root)?;
    sound::settle(&mut root)?;
    root.each_mut(&mut sound::spell_out);
    if !root.has("properties") {
        root.set("properties", node::Word::Named(Vec::new()));
    }
    if let Some(draft) = other_draft(schema) {
        root.set_data("$schema", draft);
    }
    Ok(root.write())
}

fn check_root(root: &Node) -> Result<(), Trouble> {
    match root.data("type") == Some(&json!("object")) {
        true => Ok(()),
        false => Err(Trouble::whole(
            "/type",
            "its root is not `\"type\": \"object\"`",
        )),
    }
}

/// The draft that a schema is of, where it is not the one that MCP assumes: another one gives keywords another meaning and must be said.
fn other_draft(schema: &Value) -> Option<String> {
    let draft = schema.get("$schema")?.as_str()?;
    (!draft.contains("2020-12")).then(|| draft.to_owned())
}

/// Whether a schema is one for MCP just as it is, as far as that shows at a glance: an object with properties, made of the everyday words
/// alone, nothing in it that refers to something else. False proves nothing.
pub(super) fn is_publishable(schema: &Value) -> bool {
    /// Deeper levels are not judged here.
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
            return false;
        };
        let is_array = match fields.get("type") {
            Some(Value::String(kind)) => kind == "array",
            // A list of types is left to the slow path, which looks at each of them.
            Some(_) => return false,
            None => false,
        };
        let is_said = |name: &Value| {
            let properties = fields.get("properties").and_then(Value::as_object);
            properties
                .zip(name.as_str())
                .is_some_and(|(properties, name)| properties.contains_key(name))
        };
        depth > 0
            && (!is_array || fields.contains_key("items"))
            && fields.iter().all(|(keyword, value)| {
                sound::fault(keyword, value).is_none()
                    && match keyword.as_str() {
                        "properties" => value.as_object().is_some_and(|properties| {
                            properties.values().all(|value| is_plain(value, depth - 1))
                        }),
                        "items" => is_plain(value, depth - 1),
                        "additionalProperties" => value.is_boolean() || is_plain(value, depth - 1),
                        "required" => value.as_array().is_some_and(|names| {
                            names.iter().all(is_said)
                                && (1..names.len()).all(|n| !names[n..].contains(&names[n - 1]))
                        }),
                        "enum" => {
                            value.as_array().is_some_and(|values| !values.is_empty())
                                && is_shallow(value, depth)
                        }
                        "const" | "default" | "examples" => is_shallow(value, depth),
                        "pattern" => value.as_str().is_some_and(patterns::is_understood),
                        "type" | "title" | "description" | "format" | "minimum" | "maximum"
                        | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" | "minLength"
                        | "maxLength" | "minItems" | "maxItems" | "minProperties"
                        | "maxProperties" | "uniqueItems" | "deprecated" => true,
                        _ => false,
                    }
            })
    }
    schema.get("type").and_then(Value::as_str) == Some("object")
        && !["enum", "const"]
            .iter()
            .any(|word| schema.get(word).is_some())
        && schema
            .get("properties")
            .and_then(Value::as_object)
            .is_some_and(|properties| {
                properties
                    .keys()
                    .all(|name| ordinary_dialect::is_plain(name))
            })
        && is_plain(schema, DEPTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Dialect; 7] = [
        Dialect::OpenAi,
        Dialect::OpenAiStrict,
        Dialect::Anthropic,
        Dialect::AnthropicStrict,
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
    fn a_root_that_is_not_an_object_is_trouble() {
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
            "a": {"type": "string", "enum": ["$ref", null], "default": {"$ref": "#/x"}},
            "items": {"type": "array", "items": {"type": "integer", "minimum": 1, "pattern": "^a"}}}});
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
            json!({"type": "object", "properties": {"a": {"type": "array"}}}),
            json!({"type": "object", "properties": {"a": {"type": "any"}}}),
            json!({"type": "object", "properties": {"a": {"enum": []}}}),
            json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "[a"}}}),
            json!({"type": "object", "properties": {"a": {}}, "required": ["b"]}),
            json!({"type": "object", "properties": {"odd name": {}}}),
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
    fn definitions_no_one_uses_are_left_out_and_others_kept() {
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
