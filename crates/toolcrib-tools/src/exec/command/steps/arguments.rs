//! JSON templates with their values in place: what `with` and presets hand to another tool.

use serde_json::Value;

use crate::definition::JsonTemplate;
use crate::model::JsonObject;
use crate::template::{Reference, Values};

/// The arguments that templates stand for. Absent values are left out.
pub(crate) fn arguments(templates: &[(String, JsonTemplate)], values: &Values) -> JsonObject {
    templates
        .iter()
        .filter_map(|(name, template)| Some((name.clone(), rendered(template, values)?)))
        .collect()
}

/// The value a template stands for; `None` if it is one placeholder and its value is absent.
fn rendered(template: &JsonTemplate, values: &Values) -> Option<Value> {
    Some(match template {
        JsonTemplate::Plain(value) => value.clone(),
        JsonTemplate::Text(text) => match text.whole() {
            Some(reference) => return values.get(reference),
            None => text.render(values).into(),
        },
        JsonTemplate::Array(items) => {
            let items = items.iter().filter_map(|item| rendered(item, values));
            Value::Array(items.collect())
        }
        JsonTemplate::Object(fields) => arguments(fields, values).into(),
    })
}

/// What templates name.
pub(super) fn references(templates: &[(String, JsonTemplate)]) -> Vec<&Reference> {
    fn all<'a>(template: &'a JsonTemplate, into: &mut Vec<&'a Reference>) {
        match template {
            JsonTemplate::Plain(_) => {}
            JsonTemplate::Text(text) => into.extend(text.references()),
            JsonTemplate::Array(items) => items.iter().for_each(|item| all(item, into)),
            JsonTemplate::Object(fields) => fields.iter().for_each(|(_, field)| all(field, into)),
        }
    }
    let mut found = Vec::new();
    for (_, template) in templates {
        all(template, &mut found);
    }
    found
}
