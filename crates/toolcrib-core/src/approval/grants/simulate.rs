//! What a grant would have allowed in the past: [`simulate`].

use std::fmt;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::argv::{removes, simple_words};
use super::shape::{Pattern, Shape};
use crate::model::JsonObject;
use crate::model::effects::Effects;
use crate::shell::read;

/// A call that is over.
#[derive(Debug, Clone, Copy)]
pub struct PastCall<'a> {
    /// The tool: `bundle/slug@version`.
    pub tool: &'a str,
    /// The arguments, as far as the log kept them.
    pub parameters: &'a JsonObject,
    /// What the tool does to the world.
    pub effects: Effects,
    /// Whether the tool takes something away.
    pub is_delete: bool,
    /// The parameters that the log kept less of than the call had.
    pub cut: &'a [&'a str],
}

/// What a shape would have allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Simulation {
    /// Calls of the tool that were looked at.
    pub looked_at: u64,
    /// Calls it would have allowed without asking.
    pub allowed: u64,
    /// Of these: took something away.
    pub deletes: u64,
    /// Of these: changed something.
    pub writes: u64,
    /// Of these: ran a program.
    pub runs: u64,
    /// Calls of which the log keeps too little to tell.
    pub unknown: u64,
}

/// Counts the past calls of a tool that a shape would have allowed. Where the workspace is (`root`) matters to absolute paths.
pub fn simulate<'a>(
    tool: &str,
    shape: &Shape,
    root: Option<&Path>,
    calls: impl IntoIterator<Item = PastCall<'a>>,
) -> Simulation {
    let mut found = Simulation::default();
    for call in calls.into_iter().filter(|call| call.tool == tool) {
        found.count(shape, root, &call);
    }
    found
}

impl Simulation {
    /// Counts one more call of the tool.
    pub fn count(&mut self, shape: &Shape, root: Option<&Path>, call: &PastCall<'_>) {
        self.looked_at += 1;
        // What may be anything may be cut.
        let matters = |name: &&str| shape.0.get(*name) != Some(&Pattern::Any);
        if call.cut.iter().any(matters) {
            self.unknown += 1;
            return;
        }
        if !shape.would_cover(call.parameters, root) {
            return;
        }
        self.allowed += 1;
        if call.is_delete || runs_a_remover(shape, call.parameters) {
            self.deletes += 1;
        }
        self.writes += u64::from(call.effects.contains(Effects::WRITE));
        self.runs += u64::from(call.effects.contains(Effects::RUN));
    }
}

fn runs_a_remover(shape: &Shape, parameters: &JsonObject) -> bool {
    shape.0.iter().any(|(name, pattern)| {
        let (Pattern::Argv(_), Some(Value::String(text))) = (pattern, parameters.get(name)) else {
            return false;
        };
        let script = read(text);
        simple_words(text, &script)
            .and_then(|words| words.first().map(|name| removes(name)))
            .unwrap_or_default()
    })
}

impl fmt::Display for Simulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls = |number: u64| if number == 1 { "call" } else { "calls" };
        write!(
            f,
            "would have allowed {} past {}",
            self.allowed,
            calls(self.allowed)
        )?;
        let of_them = [
            (self.deletes, "a delete", "deletes"),
            (self.writes, "a write", "writes"),
            (self.runs, "a run of a program", "runs of programs"),
        ];
        for (number, one, many) in of_them {
            match number {
                0 => {}
                1 if self.allowed == 1 => write!(f, ", {one}")?,
                1 => write!(f, ", 1 of them {one}")?,
                number if number == self.allowed => write!(f, ", all of them {many}")?,
                number => write!(f, ", {number} of them {many}")?,
            }
        }
        if self.unknown > 0 {
            let number = self.unknown;
            write!(
                f,
                "; of {number} {} the log keeps too little to tell",
                calls(number)
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn past_calls_are_counted_and_shortened_ones_are_unknown() {
        let shape: Shape = serde_json::from_value(json!({
            "path": {"path": "docs/*"}, "content": "any"
        }))
        .unwrap();
        let logged = [
            (json!({"path": "docs/a", "content": "x"}), vec![]),
            (
                json!({"path": "docs/b", "content": "… (9 bytes left out)"}),
                vec!["content"],
            ),
            (
                json!({"path": "docs/… (9 bytes left out)", "content": "x"}),
                vec!["path"],
            ),
            (json!({"(left out)": "…"}), vec!["(left out)"]),
            (json!({"path": "src/b", "content": "x"}), vec![]),
            (json!({"path": "docs/c"}), vec![]),
        ];
        let parameters: Vec<(JsonObject, Vec<&str>)> = logged
            .into_iter()
            .map(|(value, cut)| (value.as_object().unwrap().clone(), cut))
            .collect();
        let calls = parameters.iter().map(|(parameters, cut)| PastCall {
            tool: "core/write-file@v1",
            parameters,
            effects: Effects::WRITE,
            is_delete: false,
            cut,
        });
        let found = simulate("core/write-file@v1", &shape, None, calls.clone());
        assert_eq!((found.looked_at, found.allowed, found.unknown), (6, 3, 2));
        assert_eq!(
            found.to_string(),
            "would have allowed 3 past calls, all of them writes; of 2 calls the log keeps too little to tell"
        );
        assert_eq!(simulate("core/other@v1", &shape, None, calls).looked_at, 0);
    }

    #[test]
    fn one_call_is_not_counted_twice() {
        let found = Simulation {
            looked_at: 1,
            allowed: 1,
            writes: 1,
            ..Simulation::default()
        };
        assert_eq!(found.to_string(), "would have allowed 1 past call, a write");
    }

    #[test]
    fn the_words_say_how_many_were_deletes() {
        let found = Simulation {
            looked_at: 50,
            allowed: 41,
            deletes: 2,
            ..Simulation::default()
        };
        assert_eq!(
            found.to_string(),
            "would have allowed 41 past calls, 2 of them deletes"
        );
    }
}
