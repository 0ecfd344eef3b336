//! Defaults of forms that a server shows to a person (`elicitation/create`).

use serde_json::{Map, Value};

/// Fills in what an accepted form leaves out and the form has a default for. Nested forms do not exist: every field is a primitive or a
/// list of choices.
pub fn fill_in_defaults(requested_schema: &Value, content: &mut Map<String, Value>) {
    let Some(fields) = requested_schema["properties"].as_object() else {
        return;
    };
    for (name, field) in fields {
        if let Some(default) = field.get("default")
            && !content.contains_key(name)
        {
            content.insert(name.clone(), default.clone());
        }
    }
}
