//! Verbs through a server that was named: what REST can do, printed as on this machine.
//!
//! Where a row or a document is the same JSON in both places, the same function prints it. What works on files, settings or
//! programs of a machine is refused with a reason.

pub(super) mod bundles;
pub(super) mod check;
mod compared;
pub(super) mod tools;

use serde_json::Value;

/// A text of a row; empty if it has none.
fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn flag(row: &Value, key: &str) -> bool {
    row.get(key) == Some(&Value::Bool(true))
}

/// The texts of a list in a row.
fn texts<'a>(row: &'a Value, key: &str) -> Vec<&'a str> {
    let list = row.get(key).and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// Whether something is on offer, in one word and, if not, why.
fn standing(row: &Value) -> (&str, Option<String>) {
    let Some(availability) = row.get("availability") else {
        return ("ready", None);
    };
    let reason = text(availability, "reason");
    let help = match text(availability, "help") {
        "" => String::new(),
        help => format!("; {help}"),
    };
    match text(availability, "state") {
        "" | "ready" => ("ready", None),
        state => (state, Some(format!("{reason}{help}"))),
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
