//! How deep a value may be nested before checking it takes too long.
//!
//! Where several forms of a value (`oneOf`, `allOf` …) look into the same field, that field is checked
//! once for each, and what is in it once for each of each: two forms that recurse through one field
//! are 2ⁿ checks for n levels of value, in a schema of three lines. Such schemas are legitimate (an
//! expression tree is one), so they are not refused; instead this works out how many checks a place
//! at each depth can get, and the values that would get too many are refused by their depth.

use std::collections::HashMap;

use serde_json::Value;

use super::parts::Parts;
use crate::budget::Budget;

/// The most schemas that may be applied to one place of a value.
const MAX_CHECKS: u64 = 10_000;
/// Deeper values are refused whatever the schema says.
const MAX_DEPTH: usize = 128;
/// Working this out is itself bounded: schemas with more parts than this count as the worst.
const MAX_PARTS: usize = 5_000;
/// … and so do those that take more steps.
const MAX_STEPS: u64 = 2_000_000;
/// What such a schema gets.
const DEPTH_OF_THE_WORST: usize = 6;

/// How much checking a value by a schema may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bounds {
    /// How deep a value may be nested; `None` for no special limit.
    pub(super) depth: Option<usize>,
    /// No place of a value takes more than this many checks.
    pub(super) checks: u64,
}

impl Bounds {
    const WORST: Bounds = Bounds {
        depth: Some(DEPTH_OF_THE_WORST),
        checks: u64::MAX,
    };

    pub(super) fn of(schema: &Value) -> Bounds {
        let parts = Parts::of(schema, MAX_PARTS);
        if parts.parts.len() > MAX_PARTS {
            return Bounds::WORST;
        }
        // With one check for each place and part at most, there is nothing to multiply.
        if parts.parts.iter().all(|part| part.in_place.is_empty()) {
            let weights = parts.parts.iter().map(|part| part.weight);
            return Bounds {
                depth: None,
                checks: weights.fold(0, u64::saturating_add),
            };
        }
        let mut budget = Budget::new(MAX_STEPS, 0);
        let Some(mut heaviest) = parts.heaviest_in_place(&mut budget) else {
            return Bounds::WORST;
        };
        if parts.parts.iter().any(|part| part.asks_others) {
            heaviest = heaviest.saturating_mul(1 + super::cost::ASKED_OTHERS);
        }
        let mut checks: Vec<u64> = vec![1; parts.parts.len()];
        let mut most = 1;
        let bounds = |depth, most: u64| Bounds {
            depth,
            checks: most.saturating_mul(heaviest),
        };
        for depth in 0..MAX_DEPTH {
            let Some(next) = parts.one_level_deeper(&checks, &mut budget) else {
                return Bounds::WORST;
            };
            let first = next.first().copied().unwrap_or_default();
            if first > MAX_CHECKS {
                return bounds(Some(depth), most);
            }
            most = most.max(first);
            if next == checks {
                return bounds(None, most);
            }
            checks = next;
        }
        bounds(None, most)
    }
}

impl Parts<'_> {
    /// The most that one part weighs with all that applies in place with it.
    fn heaviest_in_place(&self, budget: &mut Budget) -> Option<u64> {
        let mut heaviest = 0;
        for start in 0..self.parts.len() {
            let mut weight = 0_u64;
            let mut open = vec![start];
            while let Some(index) = open.pop() {
                let part = &self.parts[index];
                budget.step(1).ok()?;
                weight = weight.saturating_add(part.weight);
                open.extend(&part.in_place);
            }
            heaviest = heaviest.max(weight);
        }
        Some(heaviest)
    }

    /// For each part: how many checks a place `n + 1` levels into its value can get, from how many
    /// one `n` levels in can get. `None` when that takes too many steps.
    fn one_level_deeper(&self, checks: &[u64], budget: &mut Budget) -> Option<Vec<u64>> {
        let sum = |parts: &[usize]| {
            parts
                .iter()
                .fold(0, |sum: u64, part| sum.saturating_add(checks[*part]))
        };
        let mut next = Vec::with_capacity(self.parts.len());
        for start in 0..self.parts.len() {
            let mut fields: HashMap<&str, u64> = HashMap::new();
            let (mut any_field, mut items) = (0_u64, 0_u64);
            let mut open = vec![start];
            // What applies in place, as often as it applies; cycles were refused before.
            while let Some(index) = open.pop() {
                let part = &self.parts[index];
                let looks = part.fields.len() + part.any_field.len() + part.items.len();
                budget.step(1 + looks).ok()?;
                for (name, field) in &part.fields {
                    let count = fields.entry(name).or_default();
                    *count = count.saturating_add(sum(field));
                }
                any_field = any_field.saturating_add(sum(&part.any_field));
                items = items.saturating_add(sum(&part.items));
                open.extend(&part.in_place);
            }
            let widest = fields.into_values().max().unwrap_or_default();
            next.push(widest.saturating_add(any_field).max(items));
        }
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn limit(schema: &Value) -> Option<usize> {
        Bounds::of(schema).depth
    }

    #[test]
    fn ordinary_schemas_have_no_separate_limit() {
        for schema in [
            json!({"type": "object", "properties": {"a": {"type": "string"}}}),
            json!({"properties": {"children": {"type": "array", "items": {"$ref": "#"}}}}),
            json!({"oneOf": [{"properties": {"and": {"items": {"$ref": "#"}}}},
                             {"properties": {"or": {"items": {"$ref": "#"}}}}]}),
            json!({"anyOf": (0..100).map(|n| json!({"properties": {"type": {"const": n}}})).collect::<Vec<_>>()}),
        ] {
            assert_eq!(limit(&schema), None, "{schema}");
        }
    }

    #[test]
    fn the_worst_schemas_are_given_up_on_soon() {
        let fields: serde_json::Map<String, Value> = (0..900)
            .map(|n| (format!("p{n}"), json!({"$ref": "#"})))
            .collect();
        let forms: Vec<Value> = (0..10).map(|_| json!({"properties": fields})).collect();
        assert!(limit(&json!({"anyOf": forms})).unwrap() <= DEPTH_OF_THE_WORST);
    }

    #[test]
    fn forms_that_recurse_through_one_field_are_limited_in_depth() {
        let tree = json!({"oneOf": [
            {"required": ["a"], "properties": {"next": {"$ref": "#"}}},
            {"required": ["b"], "properties": {"next": {"$ref": "#"}}}]});
        let depth = limit(&tree).unwrap();
        assert!((10..=14).contains(&depth), "2^{depth} checks");
        // Without recursion too: each definition doubles the next.
        let mut defs = serde_json::Map::new();
        for n in 0..30 {
            let next = json!({"properties": {"x": {"$ref": format!("#/$defs/d{}", n + 1)}}});
            defs.insert(format!("d{n}"), json!({"allOf": [next, next]}));
        }
        defs.insert("d30".into(), json!({}));
        let doubling = json!({"type": "object", "$ref": "#/$defs/d0", "$defs": defs});
        assert!(limit(&doubling).unwrap() < 20);
        crate::schema::Schema::stored(doubling)
            .unwrap()
            .compile()
            .unwrap();
    }
}
