//! The parts of a schema: which of them apply to the same place of a value, and which to what is in it.

use std::collections::HashMap;

use serde_json::Value;

/// A part of a schema.
#[derive(Default)]
pub(super) struct Part<'a> {
    pub(super) in_place: Vec<usize>,
    pub(super) fields: HashMap<&'a str, Vec<usize>>,
    /// Apply to any field.
    pub(super) any_field: Vec<usize>,
    pub(super) items: Vec<usize>,
    /// How many checks it is by itself. What it compares a value with counts, too: it is looked at, and copied into an error.
    pub(super) weight: u64,
    /// Whether it asks of what is in the place if another part has looked at it: each of those is gone through once more.
    pub(super) asks_others: bool,
}

pub(super) struct Parts<'a> {
    root: &'a Value,
    pub(super) parts: Vec<Part<'a>>,
    /// By address: a part that is referred to twice is one part.
    known: HashMap<*const Value, usize>,
    /// Those that were not gone through yet.
    open: Vec<&'a Value>,
}

impl<'a> Parts<'a> {
    /// All parts, the schema itself first; not all of them where there are more than so many.
    pub(super) fn of(schema: &'a Value, most: usize) -> Self {
        let mut parts = Parts {
            root: schema,
            parts: Vec::new(),
            known: HashMap::new(),
            open: Vec::new(),
        };
        parts.add(schema);
        while let Some(schema) = parts.open.pop() {
            if parts.parts.len() > most {
                break;
            }
            let part = parts.read(schema);
            let index = parts.add(schema);
            parts.parts[index] = part;
        }
        parts
    }

    fn add(&mut self, schema: &'a Value) -> usize {
        if let Some(known) = self.known.get(&std::ptr::from_ref(schema)) {
            return *known;
        }
        let index = self.parts.len();
        self.known.insert(schema, index);
        self.parts.push(Part {
            weight: 1,
            ..Part::default()
        });
        self.open.push(schema);
        index
    }

    fn read(&mut self, schema: &'a Value) -> Part<'a> {
        let mut part = Part {
            weight: 1,
            ..Part::default()
        };
        let Value::Object(keywords) = schema else {
            return part;
        };
        for (keyword, value) in keywords {
            part.asks_others |= keyword.starts_with("unevaluated");
            match (keyword.as_str(), value) {
                ("$ref", Value::String(target)) => {
                    let target = super::reference::target(self.root, target);
                    part.in_place.extend(target.map(|target| self.add(target)));
                }
                ("allOf" | "anyOf" | "oneOf", Value::Array(list)) => {
                    part.in_place.extend(list.iter().map(|form| self.add(form)));
                }
                ("not" | "if" | "then" | "else", form) => part.in_place.push(self.add(form)),
                ("dependentSchemas" | "dependencies", Value::Object(forms)) => {
                    part.in_place
                        .extend(forms.values().map(|form| self.add(form)));
                }
                ("properties", Value::Object(fields)) => {
                    for (name, field) in fields {
                        let field = self.add(field);
                        part.fields.entry(name).or_default().push(field);
                    }
                }
                ("patternProperties", Value::Object(fields)) => {
                    part.any_field
                        .extend(fields.values().map(|field| self.add(field)));
                }
                ("additionalProperties" | "unevaluatedProperties" | "propertyNames", field) => {
                    part.any_field.push(self.add(field));
                }
                ("items" | "prefixItems", Value::Array(list)) => {
                    part.items.extend(list.iter().map(|item| self.add(item)));
                }
                ("items" | "contains" | "additionalItems" | "unevaluatedItems", item) => {
                    part.items.push(self.add(item));
                }
                ("enum" | "const" | "required" | "pattern" | "format", compared) => {
                    part.weight = part.weight.saturating_add(weigh(compared));
                }
                _ => {}
            }
        }
        part
    }
}

/// How much a value is that others are compared with: one for each of its parts, and for each 256 bytes of its texts.
fn weigh(value: &Value) -> u64 {
    match value {
        Value::String(text) => 1 + text.len() as u64 / 256,
        Value::Array(items) => 1 + items.iter().map(weigh).sum::<u64>(),
        Value::Object(fields) => {
            let field = |(name, field): (&String, &Value)| name.len() as u64 / 256 + weigh(field);
            1 + fields.iter().map(field).sum::<u64>()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}
