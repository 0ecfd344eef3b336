//! What checking one value by one schema costs: how many checks, and how much the errors take if each of them fails.
//!
//! A schema of 4,000 forms and a list of a thousand items are four million checks, from a few kilobytes each. So the value is gone
//! through beforehand, as the validator would: each place with the parts of the schema that apply to it. Items of a list share their
//! parts, so that a list is a sum, and only what is within bounds is gone through at all.

use std::collections::HashMap;

use serde_json::Value;

use super::parts::Parts;
use crate::budget::{Budget, Spent};

/// The most checks for one value: some tenths of a second.
pub(super) const MAX_CHECKS: u64 = 20_000_000;

/// How much the errors of one value may take together. The validator makes an error with its pointer for every check that fails, before it
/// hands out the first.
pub(super) const MAX_ERRORS: u64 = 32 << 20;

/// What an error takes beside its pointer.
const ERROR: usize = 450;

/// How many checks it is to ask another part whether it has looked at a field.
pub(super) const ASKED_OTHERS: u64 = 4;

/// What checking a value costs, or that it is above a bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cost {
    /// What the errors take in bytes if everything fails; `None` above [`MAX_ERRORS`].
    pub(super) errors: Option<u64>,
}

/// The parts that apply to one place.
struct State<'a> {
    /// How many checks they are.
    weight: u64,
    /// How many more there are for each thing in the place.
    inner: u64,
    fields: HashMap<&'a str, Vec<usize>>,
    any_field: Vec<usize>,
    items: Vec<usize>,
    /// The states of what is in the place, once they are known. Fields without parts share one.
    of_fields: HashMap<Option<&'a str>, usize>,
    of_items: Option<usize>,
}

struct Walk<'a> {
    parts: Parts<'a>,
    states: Vec<State<'a>>,
    known: HashMap<Vec<usize>, usize>,
    errors: u64,
    budget: Budget,
}

/// What checking a value by a schema costs; an error if it is more than [`MAX_CHECKS`].
pub(super) fn of(schema: &Value, value: &Value) -> Result<Cost, Spent> {
    let mut walk = Walk {
        parts: Parts::of(schema, usize::MAX),
        states: Vec::new(),
        known: HashMap::new(),
        errors: 0,
        budget: Budget::new(MAX_CHECKS, MAX_ERRORS),
    };
    walk.budget.step(walk.parts.parts.len())?;
    let root = walk.state(vec![0])?;
    walk.place(root, value, 0)?;
    Ok(Cost {
        errors: (walk.errors <= MAX_ERRORS).then_some(walk.errors),
    })
}

impl<'a> Walk<'a> {
    /// Goes through a place whose pointer has so many bytes.
    fn place(&mut self, state: usize, value: &Value, pointer: usize) -> Result<(), Spent> {
        let State {
            weight,
            inner: more,
            ..
        } = self.states[state];
        self.pay(weight.max(1), pointer)?;
        match value {
            Value::Array(items) if !items.is_empty() => {
                let inner = self.items(state)?;
                for item in items {
                    self.pay(more, pointer)?;
                    self.place(inner, item, pointer + 8)?;
                }
            }
            Value::Object(fields) => {
                for (name, field) in fields {
                    let inner = self.field(state, name)?;
                    self.pay(more, pointer)?;
                    self.place(inner, field, pointer + 1 + name.len())?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn pay(&mut self, checks: u64, pointer: usize) -> Result<(), Spent> {
        let error = (ERROR + pointer) as u64;
        self.errors = self.errors.saturating_add(checks.saturating_mul(error));
        let checks = usize::try_from(checks).unwrap_or(usize::MAX);
        self.budget.step(checks)
    }

    fn items(&mut self, state: usize) -> Result<usize, Spent> {
        if let Some(known) = self.states[state].of_items {
            return Ok(known);
        }
        let items = self.state(self.states[state].items.clone())?;
        self.states[state].of_items = Some(items);
        Ok(items)
    }

    fn field(&mut self, state: usize, name: &str) -> Result<usize, Spent> {
        let own = self.states[state].fields.get_key_value(name);
        let key = own.map(|(name, _)| *name);
        if let Some(known) = self.states[state].of_fields.get(&key) {
            return Ok(*known);
        }
        let mut parts = self.states[state].any_field.clone();
        parts.extend(own.into_iter().flat_map(|(_, parts)| parts));
        let field = self.state(parts)?;
        self.states[state].of_fields.insert(key, field);
        Ok(field)
    }

    /// The state of these parts and of all that applies in place with them.
    fn state(&mut self, parts: Vec<usize>) -> Result<usize, Spent> {
        self.budget.copy(8 * parts.len())?;
        if let Some(known) = self.known.get(&parts) {
            return Ok(*known);
        }
        let mut state = State {
            weight: 0,
            inner: 0,
            fields: HashMap::new(),
            any_field: Vec::new(),
            items: Vec::new(),
            of_fields: HashMap::new(),
            of_items: None,
        };
        let mut open = parts.clone();
        let (mut in_place, mut asks_others) = (0, false);
        // What applies in place, as often as it applies; cycles were refused before.
        while let Some(index) = open.pop() {
            let part = &self.parts.parts[index];
            let inner = part.fields.len() + part.any_field.len() + part.items.len();
            self.budget.step(1)?;
            self.budget.copy(8 * inner)?;
            state.weight = state.weight.saturating_add(part.weight);
            in_place += 1;
            asks_others |= part.asks_others;
            for (name, fields) in &part.fields {
                state.fields.entry(name).or_default().extend(fields);
            }
            state.any_field.extend(&part.any_field);
            state.items.extend(&part.items);
            open.extend(&part.in_place);
        }
        if asks_others {
            state.inner = ASKED_OTHERS * in_place;
        }
        let index = self.states.len();
        self.known.insert(parts, index);
        self.states.push(state);
        Ok(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn forms(count: usize) -> Value {
        let forms: Vec<Value> = (0..count).map(|n| json!({"const": n})).collect();
        json!({"type": "object", "properties": {"a": {"type": "array", "items": {"anyOf": forms}}}})
    }

    #[test]
    fn forms_count_for_each_item_and_nothing_else() {
        let schema = forms(100);
        let many = vec![json!(-1); 1000];
        let few = of(&schema, &json!({"a": [1]})).unwrap().errors.unwrap();
        assert!((200 * 450..300 * 500).contains(&few), "{few}");
        assert_eq!(of(&schema, &json!({"a": many})).unwrap().errors, None);
        assert!(of(&schema, &json!({"b": many})).unwrap().errors.is_some());
    }

    #[test]
    fn more_checks_than_one_value_may_take_are_an_error() {
        assert!(of(&forms(4000), &json!({"a": vec![1; 2000]})).is_ok());
        assert!(of(&forms(4000), &json!({"a": vec![1; 3000]})).is_err());
    }

    #[test]
    fn forms_that_are_asked_for_each_field_count() {
        let forms = vec![json!({"properties": {"a": {}}}); 200];
        let fields: serde_json::Map<String, Value> =
            (0..50_000).map(|n| (format!("p{n}"), json!(1))).collect();
        let fields = Value::Object(fields);
        assert!(of(&json!({"anyOf": forms}), &fields).is_ok());
        let asking = json!({"anyOf": forms, "unevaluatedProperties": false});
        assert!(of(&asking, &fields).is_err());
    }

    #[test]
    fn values_to_compare_with_count() {
        let named = json!({"$defs": {"e": {"enum": (0..5000).collect::<Vec<_>>()}},
            "properties": {"a": {"anyOf": vec![json!({"$ref": "#/$defs/e"}); 5000]}}});
        assert!(of(&named, &json!({"a": 1})).is_err());
    }
}
