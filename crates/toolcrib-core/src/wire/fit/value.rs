//! A value cut to a budget: strings and arrays are shortened, fields and everything else stay, and an output schema still holds: [`cut`].
//!
//! Fields share what there is: small ones stay whole, and the large ones get equal parts of the rest. What the schema complains about after
//! that is kept whole in the next try, so that an array with `minItems` or a string with a `pattern` is not what is shortened.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{cost, text};
use crate::schema::{Schema, pointer_to};

/// How often a schema is asked.
const MAX_TRIES: usize = 8;
/// Arrays up to this length have their items shortened; longer ones lose the last of them.
const FEW: usize = 8;
/// The least that makes a shortened string worth having.
const LEAST: u64 = 24;
/// What a mark inside a string costs.
const MARK: u64 = 120;

/// A value that was cut.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CutValue {
    pub(super) value: Value,
    /// What was shortened.
    pub(super) places: Vec<Place>,
}

/// One shortened string or array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// Where, as a JSON pointer.
    pub(super) pointer: String,
    pub(super) kept: usize,
    pub(super) of: usize,
    /// `characters` or `items`.
    pub(super) unit: &'static str,
}

/// Cuts a value to a budget; `None` if that cannot be done, or not without breaking the schema.
pub(super) fn cut(value: &Value, budget: u64, schema: Option<&Schema>) -> Option<CutValue> {
    let mut whole = HashSet::new();
    for _ in 0..MAX_TRIES {
        let mut cutter = Cutter {
            whole: &whole,
            places: Vec::new(),
        };
        let made = cutter.cut("", value, budget)?;
        let places = cutter.places;
        let faults = match schema.map(|schema| schema.check_output(&made)) {
            None => Vec::new(),
            Some(Ok(faults)) => faults,
            // The pipeline has used it before; without it nothing is known to hold.
            Some(Err(_)) => return None,
        };
        if faults.is_empty() {
            return Some(CutValue {
                value: made,
                places,
            });
        }
        let known = whole.len();
        whole.extend(faults.into_iter().map(|fault| fault.pointer));
        if whole.len() == known {
            return None;
        }
    }
    None
}

struct Cutter<'a> {
    /// Pointers of what must stay as it is.
    whole: &'a HashSet<String>,
    places: Vec<Place>,
}

impl Cutter<'_> {
    fn cut(&mut self, at: &str, value: &Value, budget: u64) -> Option<Value> {
        if cost::of_value(value, budget) <= budget {
            return Some(value.clone());
        }
        if self.whole.contains(at) {
            return None;
        }
        match value {
            Value::String(text) => self.cut_string(at, text, budget),
            Value::Array(items) => self.cut_array(at, items, budget),
            Value::Object(fields) => self.cut_object(at, fields, budget),
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
        }
    }

    fn cut_string(&mut self, at: &str, whole: &str, budget: u64) -> Option<Value> {
        if budget < LEAST {
            return None;
        }
        let all = whole.chars().count();
        let (made, kept) = if budget < MARK * 2 {
            // One character of ours, and the quotes.
            let (head, _) = text::ends(whole, (budget - 8) * 4 / 3, cost::of_json_char);
            let kept = whole[..head].chars().count();
            (format!("{}…", &whole[..head]), kept)
        } else {
            let (head, tail) = text::ends(whole, budget - MARK, cost::of_json_char);
            let left_out = whole[head..tail].chars().count();
            let made = format!(
                "{}[… {left_out} characters left out …]{}",
                &whole[..head],
                &whole[tail..]
            );
            (made, all - left_out)
        };
        self.places.push(Place {
            pointer: at.to_owned(),
            kept,
            of: all,
            unit: "characters",
        });
        Some(Value::String(made))
    }

    fn cut_array(&mut self, at: &str, items: &[Value], budget: u64) -> Option<Value> {
        if items.len() <= FEW {
            let before = self.places.len();
            let all = items.iter().enumerate();
            let all = all.map(|(number, item)| (format!("{at}/{number}"), 1, item));
            if let Some(shared) = self.share(all.collect(), budget.checked_sub(2)?) {
                return Some(Value::Array(shared));
            }
            self.places.truncate(before);
        }
        let mut left = budget.checked_sub(2)?;
        let mut kept = Vec::new();
        for (number, item) in items.iter().enumerate() {
            let cost = 1 + cost::of_value(item, left);
            if cost <= left {
                left -= cost;
                kept.push(item.clone());
                continue;
            }
            // A long one after a few short ones: better a part of it than nothing.
            if left > budget / 4 {
                let before = self.places.len();
                match self.cut(&format!("{at}/{number}"), item, left - 1) {
                    Some(part) => kept.push(part),
                    None => self.places.truncate(before),
                }
            }
            break;
        }
        if kept.len() < items.len() {
            self.places.push(Place {
                pointer: at.to_owned(),
                kept: kept.len(),
                of: items.len(),
                unit: "items",
            });
        }
        Some(Value::Array(kept))
    }

    fn cut_object(&mut self, at: &str, fields: &Map<String, Value>, budget: u64) -> Option<Value> {
        let parts = fields.iter().map(|(key, field)| {
            let own = cost::of_key(key, budget);
            (pointer_to(at, key), own, field)
        });
        let shared = self.share(parts.collect(), budget.checked_sub(2)?)?;
        let fields = fields.keys().cloned().zip(shared);
        Some(Value::Object(fields.collect()))
    }

    /// Cuts values that share a budget, each with a place and what it costs besides: the small ones first, so that they stay whole.
    fn share(&mut self, parts: Vec<(String, u64, &Value)>, budget: u64) -> Option<Vec<Value>> {
        let besides = parts.iter().map(|(_, own, _)| own).sum();
        let mut left = budget.checked_sub(besides)?;
        let costs: Vec<u64> = parts
            .iter()
            .map(|(_, _, value)| cost::of_value(value, budget))
            .collect();
        let mut order: Vec<usize> = (0..parts.len()).collect();
        order.sort_by_key(|number| {
            let must_stay = self.whole.contains(&parts[*number].0);
            (!must_stay, costs[*number])
        });
        let mut made = vec![Value::Null; parts.len()];
        for (done, number) in order.into_iter().enumerate() {
            let (at, _, value) = &parts[number];
            let share = left / (parts.len() - done) as u64;
            let part = match self.cut(at, value, share) {
                Some(part) => part,
                // It cannot be shortened: at the cost of the others.
                None if costs[number] <= left => Value::clone(value),
                None => return None,
            };
            left = left.checked_sub(cost::of_value(&part, left))?;
            made[number] = part;
        }
        Some(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn size(value: &Value) -> u64 {
        cost::of_value(value, u64::MAX)
    }

    fn schema(value: Value) -> Schema {
        Schema::stored(value).unwrap()
    }

    #[test]
    fn small_fields_stay_and_large_ones_share_the_rest() {
        let value = json!({"exitCode": 0, "stdout": "a".repeat(9000), "stderr": "b".repeat(9000), "name": "make"});
        let made = cut(&value, 4000, None).unwrap();
        assert!(size(&made.value) <= 4000);
        assert!(size(&made.value) > 3500);
        assert_eq!(made.value["exitCode"], 0);
        assert_eq!(made.value["name"], "make");
        let places: Vec<&str> = made.places.iter().map(|place| &*place.pointer).collect();
        assert_eq!(places, ["/stdout", "/stderr"]);
        let stdout = made.value["stdout"].as_str().unwrap();
        assert!(stdout.contains(" characters left out …]") && stdout.ends_with('a'));
    }

    #[test]
    fn a_long_array_keeps_its_first_items_whole() {
        let items: Vec<Value> = (0..5000).map(|n| json!({"id": n, "text": "x"})).collect();
        let made = cut(&json!({"items": items, "total": 5000}), 2000, None).unwrap();
        let kept = made.value["items"].as_array().unwrap();
        assert_eq!(kept[..], items[..kept.len()]);
        assert!(kept.len() > 50 && size(&made.value) <= 2000);
        assert_eq!(
            made.places,
            [Place {
                pointer: "/items".to_owned(),
                kept: kept.len(),
                of: 5000,
                unit: "items"
            }]
        );
    }

    #[test]
    fn what_the_schema_wants_whole_is_not_what_is_shortened() {
        let checksum = "c".repeat(1500);
        let value = json!({"checksum": checksum, "log": "l".repeat(9000)});
        let schema = schema(json!({"type": "object", "properties": {
            "checksum": {"type": "string", "minLength": 1500, "pattern": "^c+$"}, "log": {"type": "string"}}}));
        let made = cut(&value, 2400, Some(&schema)).unwrap();
        assert_eq!(made.value["checksum"], *checksum);
        assert!(size(&made.value) <= 2400);
        // Without a schema both share.
        let made = cut(&value, 2400, None).unwrap();
        assert_ne!(made.value["checksum"], *checksum);
    }

    #[test]
    fn where_the_schema_does_not_hold_there_is_nothing() {
        let rows = json!({"rows": vec![json!(123_456); 1000]});
        let schema = schema(json!({"type": "object", "properties": {
            "rows": {"type": "array", "minItems": 1000, "items": {"type": "integer"}}}}));
        assert_eq!(cut(&rows, 800, Some(&schema)), None);
        // Nor where there is nothing to shorten.
        let names: Map<String, Value> = (0..1000).map(|n| (format!("k{n}"), json!(n))).collect();
        assert_eq!(cut(&Value::Object(names), 800, None), None);
    }

    #[test]
    fn every_budget_is_kept() {
        let value = json!({"a": ["x".repeat(500), {"b": "é".repeat(300), "c": [1, 2, 3]}], "d": "y\n".repeat(200), "e": [[["z".repeat(900)]]]});
        for budget in (40..2500).step_by(37) {
            if let Some(made) = cut(&value, budget, None) {
                assert!(size(&made.value) <= budget, "{budget}: {}", made.value);
            }
        }
    }
}
