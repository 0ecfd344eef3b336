//! Provider definitions and result shapes, against golden files and the seeds' own examples.

mod definitions;
mod gemini;
mod ollama;
mod random;
mod readers;
mod results;
mod strict;
mod strict_rules;

use serde_json::{Value, json};
use toolcrib::wire::{DefinitionOptions, Provider, definition, definitions};
use toolcrib::{Schema, ToolSpec, WireName};

const LOOSE: DefinitionOptions = DefinitionOptions { strict: false };
const STRICT: DefinitionOptions = DefinitionOptions { strict: true };

/// The reason a lone tool is dropped for.
fn dropped(schema: Value, provider: Provider, options: &DefinitionOptions) -> String {
    let spec = tool("t", schema);
    let made = definitions([&spec], provider, options);
    assert_eq!((made.tools.len(), made.dropped.len()), (0, 1), "{made:?}");
    made.dropped[0].reason.clone()
}

/// The schema and losses (pointer, reason) of a lone tool.
fn lowered(
    schema: Value,
    provider: Provider,
    options: &DefinitionOptions,
) -> (Value, Vec<(String, String)>) {
    let made = definition(&tool("t", schema), provider, options).unwrap();
    let losses = made
        .losses
        .into_iter()
        .map(|loss| (loss.pointer, loss.reason))
        .collect();
    let schema = match provider {
        Provider::OpenAi | Provider::Ollama => made.tool["function"]["parameters"].clone(),
        Provider::OpenAiFunctions | Provider::OpenAiResponses | Provider::Gemini => {
            made.tool["parameters"].clone()
        }
        Provider::Anthropic => made.tool["input_schema"].clone(),
        Provider::Mcp => made.tool["inputSchema"].clone(),
    };
    (schema, losses)
}

/// The pointers of what a lone tool loses.
fn losses(schema: Value, provider: Provider, options: &DefinitionOptions) -> Vec<String> {
    lowered(schema, provider, options)
        .1
        .into_iter()
        .map(|(pointer, _)| pointer)
        .collect()
}

/// A tool with nothing but a name, a description and a schema.
fn tool(name: &str, schema: Value) -> ToolSpec {
    let schema = Schema::stored(schema).unwrap();
    ToolSpec::new(
        WireName::parse(name).unwrap(),
        format!("Describes {name}"),
        schema,
    )
}

/// S3's example tool.
fn execute_bash() -> ToolSpec {
    let schema = json!({
        "type": "object",
        "properties": {"command": {"type": "string", "description": "The bash command to execute"}},
        "required": ["command"],
    });
    ToolSpec {
        description: "Execute a bash command...".to_owned(),
        ..tool("execute_bash", schema)
    }
}

/// One schema with everything providers dislike: alternatives at the top, references, recursion,
/// lists of types, defaults, patterns, `allOf`, open objects, a boolean schema.
fn search() -> ToolSpec {
    tool(
        "search",
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": "https://example.test/search.json",
            "$comment": "internal",
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What to look for", "minLength": 1, "pattern": "^\\S"},
                "limit": {"type": ["integer", "null"], "description": "How many", "minimum": 1, "default": 20},
                "filter": {"$ref": "#/$defs/Filter", "description": "Which ones"},
                "sort": {"allOf": [{"$ref": "#/$defs/Sort"}], "default": "name"},
                "range": {"allOf": [
                    {"type": "object", "properties": {"from": {"type": "string"}}, "required": ["from"]},
                    {"properties": {"from": {"format": "date"}, "to": {"type": "string", "format": "date"}}},
                ]},
                "labels": {"type": "object", "description": "Labels to match", "additionalProperties": {"type": "string"}},
                "since": {"oneOf": [{"type": "string", "format": "date"}, {"type": "integer"}], "description": "Not older than this"},
                "context": true,
            },
            "required": ["query"],
            "oneOf": [
                {
                    "properties": {"mode": {"const": "text"}, "fuzzy": {"type": "boolean"}},
                    "required": ["mode"],
                },
                {
                    "properties": {
                        "mode": {"const": "regex"},
                        "flags": {"type": "array", "items": {"enum": ["i", "m", "s"]}, "uniqueItems": true},
                        "fuzzy": {"type": "integer", "minimum": 0},
                    },
                    "required": ["mode", "flags"],
                },
            ],
            "$defs": {
                "Filter": {
                    "type": "object",
                    "properties": {
                        "field": {"type": "string"},
                        "value": {"type": ["string", "number"]},
                        "and": {"type": "array", "items": {"$ref": "#/$defs/Filter"}},
                    },
                    "required": ["field"],
                },
                "Sort": {"type": "string", "enum": ["name", "date"]},
                "Unused": {"type": "string"},
            },
        }),
    )
}
