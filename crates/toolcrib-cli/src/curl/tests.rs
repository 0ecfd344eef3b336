//! Commands as people copy them, and what comes of each, as a golden file.

use std::fmt::Write as _;
use std::path::Path;

use super::import;

const CASES: &str = include_str!("../../tests/cases/curl.txt");
const GOLDEN: &str = "tests/golden/curl.txt";

/// A command, the words of `--param`, and the name of the tool.
fn cases() -> impl Iterator<Item = (&'static str, Vec<String>, &'static str)> {
    CASES.split("\n### ").skip(1).filter_map(|case| {
        let (head, command) = case.split_once('\n')?;
        let (name, params) = head.split_once(' ').unwrap_or((head, ""));
        let params = params.split_whitespace().map(str::to_owned).collect();
        Some((name, params, command))
    })
}

fn outcome(name: &str, params: &[String], command: &str) -> String {
    let mut text = String::new();
    match import(command, name, None, params) {
        Ok(import) => {
            text.push_str(&import.text);
            writeln!(text, "host: {} of {}", import.host, import.origin).unwrap();
            for argument in &import.arguments {
                writeln!(text, "argument: {argument:?}").unwrap();
            }
            for secret in &import.secrets {
                writeln!(text, "secret: {}: {}", secret.name, secret.place).unwrap();
            }
            for (what, why) in &import.left_out {
                writeln!(text, "left out: {what}: {why}").unwrap();
            }
            for note in &import.notes {
                writeln!(text, "note: {note}").unwrap();
            }
        }
        Err(reasons) => {
            for (what, instead) in reasons {
                writeln!(text, "refused: {what}; {instead}").unwrap();
            }
        }
    }
    text
}

#[test]
fn commands_become_the_tools_that_are_shown() {
    let mut actual = String::new();
    for (name, params, command) in cases() {
        let outcome = outcome(name, &params, command);
        writeln!(actual, "### {name}\n{outcome}").unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(GOLDEN);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, actual).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    for (expected, actual) in expected.split("\n### ").zip(actual.split("\n### ")) {
        assert_eq!(actual, expected, "UPDATE_GOLDEN=1 accepts it");
    }
    assert_eq!(actual.len(), expected.len(), "UPDATE_GOLDEN=1 accepts it");
}

#[test]
fn no_credential_is_in_what_comes_out() {
    let mut seen = 0;
    for (name, params, command) in cases() {
        seen += command.matches("SENTINEL").count();
        let outcome = outcome(name, &params, command);
        assert!(!outcome.contains("SENTINEL"), "{name}: {outcome}");
        assert!(!outcome.contains("U0VOVElORUw"), "{name}: {outcome}");
    }
    assert!(seen >= 30, "the cases were not read: {seen}");
}
