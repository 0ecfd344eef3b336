//! Whether a schema is certainly one that can be compiled, at a glance: thousands of tools are listed and few are called.

use serde_json::Value;

/// The types there are.
pub(super) const TYPES: [&str; 7] = [
    "object", "array", "string", "number", "integer", "boolean", "null",
];

/// Whether a schema is made of everyday words alone, each with a value that JSON Schema allows. False proves nothing.
pub(super) fn is_everyday(schema: &Value) -> bool {
    // Its depth was bounded when it was accepted.
    let Value::Object(fields) = schema else {
        return schema.is_boolean();
    };
    let is_type = |kind: &Value| kind.as_str().is_some_and(|kind| TYPES.contains(&kind));
    fields.iter().all(|(word, value)| match word.as_str() {
        "type" => is_type(value),
        "title" | "description" | "$comment" => value.is_string(),
        "const" | "default" => true,
        "enum" | "examples" => value.is_array(),
        "minimum" | "maximum" => value.is_number(),
        "minLength" | "maxLength" | "minItems" | "maxItems" => value.is_u64(),
        "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => value.is_boolean(),
        "required" => value.as_array().is_some_and(|names| {
            names.len() < 50
                && names.iter().all(Value::is_string)
                && (1..names.len()).all(|n| !names[n..].contains(&names[n - 1]))
        }),
        "properties" => value
            .as_object()
            .is_some_and(|properties| properties.values().all(is_everyday)),
        "items" | "additionalProperties" | "not" => is_everyday(value),
        "anyOf" | "oneOf" | "allOf" => value
            .as_array()
            .is_some_and(|forms| !forms.is_empty() && forms.iter().all(is_everyday)),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::super::Schema;
    use super::*;
    use serde_json::json;

    #[test]
    fn everyday_patterns_compile() {
        for (property, is_plain) in [
            (
                json!({"type": "string", "minLength": 1, "enum": ["a"]}),
                true,
            ),
            (
                json!({"anyOf": [{"type": "array"}, {"type": "null"}], "default": null}),
                true,
            ),
            (
                json!({"type": "object", "required": ["a"], "additionalProperties": false}),
                true,
            ),
            (json!({"type": "any"}), false),
            (json!({"type": "string", "required": true}), false),
            (json!({"type": "string", "maxLength": "1"}), false),
            (json!({"required": ["a", "a"]}), false),
            (json!({"pattern": "a"}), false),
        ] {
            let schema = json!({"type": "object", "properties": {"p": property}});
            assert_eq!(is_everyday(&schema), is_plain, "{schema}");
            let usable = Schema::stored(schema.clone()).unwrap().usable();
            assert!(usable.is_ok() || !is_plain, "{schema}: {usable:?}");
        }
    }
}
