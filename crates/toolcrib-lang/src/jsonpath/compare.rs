//! Which values are equal, and which are less (RFC 9535, 2.3.5.2.2).

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::TooMuchWork;
use super::syntax::Relation;
use crate::model::budget::Budget;

/// Whether a relation holds between two values, either of which may be nothing.
pub(super) fn holds(
    left: Option<&Value>,
    relation: Relation,
    right: Option<&Value>,
    budget: &mut Budget,
) -> Result<bool, TooMuchWork> {
    match relation {
        Relation::Equal => equal(left, right, budget),
        Relation::NotEqual => Ok(!equal(left, right, budget)?),
        Relation::Less => less(left, right, budget),
        Relation::Greater => less(right, left, budget),
        Relation::LessOrEqual => Ok(less(left, right, budget)? || equal(left, right, budget)?),
        Relation::GreaterOrEqual => Ok(less(right, left, budget)? || equal(left, right, budget)?),
    }
}

fn less(
    left: Option<&Value>,
    right: Option<&Value>,
    budget: &mut Budget,
) -> Result<bool, TooMuchWork> {
    match (left, right) {
        (Some(Value::Number(left)), Some(Value::Number(right))) => {
            Ok(compare_numbers(left, right) == Some(Ordering::Less))
        }
        (Some(Value::String(left)), Some(Value::String(right))) => {
            budget.look(left.len().min(right.len()))?;
            // UTF-8 sorts like the scalar values that it encodes.
            Ok(left < right)
        }
        _ => Ok(false),
    }
}

fn equal(
    left: Option<&Value>,
    right: Option<&Value>,
    budget: &mut Budget,
) -> Result<bool, TooMuchWork> {
    match (left, right) {
        (None, None) => Ok(true),
        (Some(left), Some(right)) => same(left, right, budget),
        (Some(_), None) | (None, Some(_)) => Ok(false),
    }
}

/// Whether two values are the same all the way down; without recursion, as documents may be deep.
fn same(left: &Value, right: &Value, budget: &mut Budget) -> Result<bool, TooMuchWork> {
    let mut open = vec![(left, right)];
    while let Some((left, right)) = open.pop() {
        budget.step(1)?;
        let equal = match (left, right) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(left), Value::Bool(right)) => left == right,
            (Value::Number(left), Value::Number(right)) => {
                compare_numbers(left, right) == Some(Ordering::Equal)
            }
            (Value::String(left), Value::String(right)) => {
                budget.look(left.len().min(right.len()))?;
                left == right
            }
            (Value::Array(left), Value::Array(right)) => {
                let equal = left.len() == right.len();
                if equal {
                    budget.step(left.len())?;
                    open.extend(left.iter().zip(right));
                }
                equal
            }
            (Value::Object(left), Value::Object(right)) => {
                left.len() == right.len() && {
                    let mut all = true;
                    for (name, value) in left {
                        budget.look(name.len())?;
                        match right.get(name) {
                            Some(other) => open.push((value, other)),
                            None => {
                                all = false;
                                break;
                            }
                        }
                    }
                    all
                }
            }
            _ => false,
        };
        if !equal {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Compares by what the numbers are, not by how they are kept: no whole number loses digits on the way to a float.
fn compare_numbers(left: &Number, right: &Number) -> Option<Ordering> {
    match (whole(left), whole(right)) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        (Some(left), None) => compare_mixed(left, right.as_f64()?),
        (None, Some(right)) => compare_mixed(right, left.as_f64()?).map(Ordering::reverse),
        (None, None) => left.as_f64()?.partial_cmp(&right.as_f64()?),
    }
}

fn whole(number: &Number) -> Option<i128> {
    number
        .as_i64()
        .map(i128::from)
        .or_else(|| number.as_u64().map(i128::from))
}

fn compare_mixed(left: i128, right: f64) -> Option<Ordering> {
    // A cast to i128 stops at its bounds, which are far beyond every whole number here.
    let truncated = right.trunc() as i128;
    match left.cmp(&truncated) {
        Ordering::Equal => 0.0.partial_cmp(&right.fract()),
        decided => Some(decided),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn relates(left: Value, relation: Relation, right: Value) -> bool {
        holds(
            Some(&left),
            relation,
            Some(&right),
            &mut Budget::new(1000, 0),
        )
        .unwrap()
    }

    #[test]
    fn numbers_compare_by_what_they_are() {
        use Relation::{Equal, Greater, Less, NotEqual};
        for (left, relation, right) in [
            (json!(1), Equal, json!(1.0)),
            (json!(-0.0), Equal, json!(0)),
            (json!(1), Less, json!(1.5)),
            (json!(-1), Greater, json!(-1.5)),
            (json!(2), Greater, json!(1.5)),
            (
                json!(9007199254740993_i64),
                NotEqual,
                json!(9007199254740992.0),
            ),
            (
                json!(9007199254740993_i64),
                Greater,
                json!(9007199254740992.0),
            ),
            (json!(u64::MAX), Less, json!(1e300)),
            (json!(i64::MIN), Greater, json!(-1e300)),
            (json!(u64::MAX), Greater, json!(i64::MIN)),
            (json!(0.1), Less, json!(0.2)),
        ] {
            assert!(
                relates(left.clone(), relation, right.clone()),
                "{left} {relation:?} {right}"
            );
        }
    }

    #[test]
    fn nothing_equals_nothing_and_no_value() {
        let mut budget = Budget::new(1000, 0);
        assert!(holds(None, Relation::Equal, None, &mut budget).unwrap());
        assert!(holds(None, Relation::LessOrEqual, None, &mut budget).unwrap());
        assert!(!holds(None, Relation::Less, None, &mut budget).unwrap());
        assert!(holds(None, Relation::NotEqual, Some(&json!(null)), &mut budget).unwrap());
    }

    #[test]
    fn equality_goes_all_the_way_down_and_takes_members_in_any_order() {
        assert!(relates(
            json!({"a": [1, {"b": 2.0}], "c": null}),
            Relation::Equal,
            json!({"c": null, "a": [1.0, {"b": 2}]})
        ));
        assert!(relates(json!([1, 2]), Relation::NotEqual, json!([2, 1])));
        assert!(relates(
            json!({"a": 1}),
            Relation::NotEqual,
            json!({"b": 1})
        ));
        assert!(!relates(json!([1]), Relation::Less, json!([2])));
        assert!(relates(json!([1]), Relation::LessOrEqual, json!([1])));
    }

    #[test]
    fn long_texts_are_charged_for() {
        let text = json!("x".repeat(100_000));
        let judged = holds(
            Some(&text),
            Relation::Equal,
            Some(&text.clone()),
            &mut Budget::new(1000, 0),
        );
        assert_eq!(judged, Err(TooMuchWork));
    }
}
