//! OpenAI's strict mode, checked without the code that makes it: what its documentation asks of a
//! schema, as a list of violations.

use std::collections::BTreeSet;

use serde_json::Value;

const KEYWORDS: [&str; 19] = [
    "type",
    "title",
    "description",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "anyOf",
    "pattern",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
];

/// Fails with every violation.
#[track_caller]
pub(crate) fn assert_strict(schema: &Value) {
    let found = violations(schema);
    assert!(found.is_empty(), "{found:#?}\nin {schema:#}");
}

/// Everything OpenAI would refuse about a schema.
pub(crate) fn violations(root: &Value) -> Vec<String> {
    let mut check = Check {
        root,
        found: Vec::new(),
        properties: 0,
        values: 0,
    };
    if root["type"] != "object" || root.get("anyOf").is_some() {
        check.fault("", "the root is not a plain object");
    }
    check.schema(root, "", 0);
    for container in ["$defs", "definitions"] {
        for (name, schema) in root
            .get(container)
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            check.schema(schema, &format!("/{container}/{name}"), 0);
        }
    }
    if check.properties > 5_000 || check.values > 1_000 {
        check.fault("", "too many properties or values");
    }
    check.found
}

struct Check<'a> {
    root: &'a Value,
    found: Vec<String>,
    properties: usize,
    values: usize,
}

impl Check<'_> {
    fn fault(&mut self, at: &str, fault: impl std::fmt::Display) {
        self.found.push(format!("{at}: {fault}"));
    }

    fn schema(&mut self, schema: &Value, at: &str, level: usize) {
        let Some(fields) = schema.as_object() else {
            return self.fault(at, "not an object");
        };
        if let Some(reference) = fields.get("$ref") {
            let target = reference
                .as_str()
                .and_then(|text| text.strip_prefix('#'))
                .and_then(|pointer| self.root.pointer(pointer));
            if fields.len() > 1 || !target.is_some_and(Value::is_object) {
                self.fault(at, format!("bad reference {schema}"));
            }
            return;
        }
        for keyword in fields.keys() {
            let is_definitions =
                at.is_empty() && ["$defs", "definitions"].contains(&keyword.as_str());
            if !KEYWORDS.contains(&keyword.as_str()) && !is_definitions {
                self.fault(at, format!("`{keyword}` is not permitted"));
            }
        }
        let types: Vec<&str> = match &schema["type"] {
            Value::String(kind) => vec![kind],
            Value::Array(kinds) => kinds
                .iter()
                .map(|kind| kind.as_str().unwrap_or("?"))
                .collect(),
            _ => Vec::new(),
        };
        if types.is_empty() && fields.get("anyOf").is_none() {
            self.fault(at, "neither a type nor alternatives");
        }
        if types.iter().any(|kind| {
            ![
                "object", "array", "string", "number", "integer", "boolean", "null",
            ]
            .contains(kind)
        }) || types.iter().collect::<BTreeSet<_>>().len() != types.len()
            || (schema["type"].is_array() && types.len() < 2)
            || (types.len() > 1 && (types.contains(&"object") || types.contains(&"array")))
        {
            self.fault(at, format!("bad type {}", schema["type"]));
        }
        if types == ["object"] {
            self.object(schema, at, level + 1);
        } else if ["properties", "required", "additionalProperties"]
            .iter()
            .any(|word| fields.contains_key(*word))
        {
            self.fault(at, "keywords of an object without its type");
        }
        match (types == ["array"], fields.get("items")) {
            (true, Some(items)) => self.schema(items, &format!("{at}/items"), level + 1),
            (false, None) => {}
            _ => self.fault(at, "an array without items, or items without an array"),
        }
        if level + usize::from(types == ["object"] || types == ["array"]) > 10 {
            self.fault(at, "nested too deep");
        }
        if let Some(values) = fields.get("enum") {
            let values = values.as_array().cloned().unwrap_or_default();
            self.values += values.len();
            if values.is_empty()
                || values
                    .iter()
                    .any(|value| value.is_object() || value.is_array())
            {
                self.fault(at, "bad enum");
            }
        }
        if let Some(variants) = fields.get("anyOf") {
            let variants = variants.as_array().cloned().unwrap_or_default();
            if variants.is_empty() || !types.is_empty() {
                self.fault(at, "bad anyOf");
            }
            for (index, variant) in variants.iter().enumerate() {
                self.schema(variant, &format!("{at}/anyOf/{index}"), level);
            }
        }
        if let Some(pattern) = fields.get("pattern").and_then(Value::as_str)
            && (pattern.contains("(?=") || pattern.contains("(?!") || pattern.contains("(?<"))
        {
            self.fault(at, "a pattern that looks around");
        }
    }

    fn object(&mut self, schema: &Value, at: &str, level: usize) {
        let Some(properties) = schema["properties"].as_object() else {
            return self.fault(at, "an object without properties");
        };
        self.properties += properties.len();
        if schema["additionalProperties"] != false {
            self.fault(at, "an open object");
        }
        let names: BTreeSet<&str> = properties.keys().map(String::as_str).collect();
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let required: BTreeSet<&str> = required.iter().filter_map(Value::as_str).collect();
        if !schema["required"].is_array() || names != required {
            self.fault(at, format!("requires {required:?} of {names:?}"));
        }
        for (name, property) in properties {
            self.schema(property, &format!("{at}/properties/{name}"), level);
        }
    }
}

#[test]
fn the_checker_sees_what_is_wrong() {
    use serde_json::json;
    for (schema, fault) in [
        (json!({"type": "object"}), "without properties"),
        (
            json!({"type": "object", "properties": {}, "required": []}),
            "open object",
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": [], "additionalProperties": false}),
            "requires",
        ),
        (
            json!({"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": false}),
            "neither a type",
        ),
        (
            json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}, "required": ["a"], "additionalProperties": false}),
            "bad reference",
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string", "default": 1}}, "required": ["a"], "additionalProperties": false}),
            "not permitted",
        ),
    ] {
        let found = violations(&schema).join("\n");
        assert!(found.contains(fault), "{schema}: {found}");
    }
}
