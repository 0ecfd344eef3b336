//! Every field of S0's schema block (`tests/seeds/s0/schema.yaml`) has its own test, in which it takes effect: with the field the
//! tool does something that it does not do without. The tests are the entries of the tables below; the last test makes sure that
//! no field of the block is missing.

mod definition;
mod parameters;
mod steps;
mod surroundings;
mod trials;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::harness::{Ran, Test};

/// Tests by the path of the field they are about.
macro_rules! fields {
    ($($path:literal $name:ident $body:block)*) => {
        /// The fields that are shown here.
        pub(super) const SHOWN: &[&str] = &[$($path),*];
        $(#[test] fn $name() $body)*
    };
}
use fields;

/// A test with tools of the user's, which need no trust.
fn with(tools: &[(&str, &str)]) -> Test {
    let test = Test::new().variable("PATH", "/usr/local/bin:/usr/bin:/bin");
    let directory = test.home().parent().unwrap().join(".toolcrib/tools");
    std::fs::create_dir_all(&directory).unwrap();
    for (name, yaml) in tools {
        std::fs::write(directory.join(format!("{name}.yaml")), yaml).unwrap();
    }
    test
}

/// A tool `t` that is like this, and says what it does to files.
fn tool(yaml: &str) -> Test {
    with(&[("t", &format!("description: A tool\ntags: [run]\n{yaml}"))])
}

fn call(test: &Test, words: &[&str]) -> Ran {
    let words: Vec<&str> = ["run", "t"]
        .into_iter()
        .chain(words.iter().copied())
        .chain(["--json"])
        .collect();
    test.run(&words)
}

/// The whole outcome of a call of `t` that goes well.
fn outcome(test: &Test, words: &[&str]) -> Value {
    let outcome = call(test, words).json();
    assert_eq!(outcome["ok"], true, "{outcome}");
    outcome
}

/// The value of a call of `t` that goes well.
fn value(test: &Test, words: &[&str]) -> Value {
    outcome(test, words)["value"].clone()
}

/// What `t`, which is like this, prints.
fn output(yaml: &str, words: &[&str]) -> String {
    let value = value(&tool(yaml), words);
    value["output"].as_str().unwrap().to_owned()
}

/// The code and the message of a call of `t` that goes wrong.
fn failure(test: &Test, words: &[&str]) -> (String, String) {
    let outcome = call(test, words).json();
    assert_eq!(outcome["ok"], false, "{outcome}");
    let text = |field: &str| outcome["error"][field].as_str().unwrap().to_owned();
    (text("code"), text("message"))
}

/// The code of a failure whose message says this.
#[track_caller]
fn fails(test: &Test, words: &[&str], code: &str, says: &str) {
    let (actual, message) = failure(test, words);
    assert_eq!(actual, code, "{message}");
    assert!(message.contains(says), "{says:?} is not in {message:?}");
}

/// What models get of `t`.
fn published(test: &Test) -> Value {
    let shown = test.run(&["show", "t", "--json"]).exits(0).json();
    assert_eq!(shown["availability"]["state"], "ready", "{shown}");
    shown
}

/// The paths of fields that have a value in a block of YAML as simple as S0's.
fn paths(block: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut above: Vec<(usize, String)> = Vec::new();
    let mut text_below: Option<usize> = None;
    for line in block.lines() {
        let code = line.split(" #").next().unwrap().trim_end();
        let indent = code.len() - code.trim_start().len();
        if code.trim().is_empty() || code.starts_with('#') {
            continue;
        }
        if text_below.is_some_and(|column| indent > column) {
            continue;
        }
        text_below = None;
        let entry = code.trim_start();
        let (indent, field) = match entry.strip_prefix("- ") {
            Some(field) => {
                // An entry of the list that is open.
                while above.last().is_some_and(|(column, _)| *column >= indent) {
                    above.pop();
                }
                let (_, list) = above.last_mut().unwrap();
                if !list.ends_with("[]") {
                    list.push_str("[]");
                }
                (indent + 2, field)
            }
            None => (indent, entry),
        };
        while above.last().is_some_and(|(column, _)| *column >= indent) {
            above.pop();
        }
        let parent = above.last().map_or("", |(_, path)| path.as_str());
        let split = field
            .split_once(':')
            .filter(|(name, _)| !name.contains('"'));
        let Some((name, value)) = split else {
            // A text of a list of texts: the list is the field.
            found.insert(parent.trim_end_matches("[]").to_owned());
            continue;
        };
        let free = ["parameters", "with", "variables", "default-parameters"];
        let last = parent.rsplit('.').next().unwrap();
        let name = if free.contains(&last) { "*" } else { name };
        let path = match parent {
            "" => name.to_owned(),
            parent => format!("{parent}.{name}"),
        };
        match value.trim() {
            "" => above.push((indent, path)),
            "|" => {
                text_below = Some(indent);
                found.insert(path);
            }
            _ => {
                found.insert(path);
            }
        }
    }
    found
}

#[test]
fn every_field_of_the_schema_block_has_its_own_test() {
    let block = include_str!("../../seeds/s0/schema.yaml");
    let fields = paths(block);
    for field in &fields {
        let known = toolcrib::definition::fields::FIELDS
            .iter()
            .any(|known| known.path == field);
        assert!(known, "{field} is not a field: the block was misread");
    }
    let shown: Vec<&str> = [
        definition::SHOWN,
        parameters::SHOWN,
        steps::SHOWN,
        surroundings::SHOWN,
        trials::SHOWN,
    ]
    .concat();
    let missing: Vec<&String> = fields
        .iter()
        .filter(|field| !shown.contains(&field.as_str()))
        .collect();
    assert!(missing.is_empty(), "without a test: {missing:?}");
    assert!(fields.len() > 85, "{}: {fields:?}", fields.len());
    let once: BTreeSet<&str> = shown.iter().copied().collect();
    assert_eq!(once.len(), shown.len(), "a field is there twice");
}
