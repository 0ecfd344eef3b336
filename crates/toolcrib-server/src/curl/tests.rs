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

/// Within a quarter of a megabyte there is room for thousands of each.
#[test]
fn more_names_than_a_tool_can_have_are_refused_soon() {
    let many =
        |count: usize, unit: &dyn Fn(usize) -> String| (0..count).map(unit).collect::<String>();
    let headers = many(20_000, &|n| format!(" -H a{n}:1"));
    let fields = many(10_000, &|n| format!("{{\"token\":\"v{n}\"}},"));
    let marks = many(10_000, &|n| format!("\"a{n}\":\"${{b{n}}}\","));
    let query = many(10_000, &|n| format!("a{n}={{{{b{n}}}}}&"));
    let long = format!("{{\"{}\":[1{}]}}", "k".repeat(100_000), ",1".repeat(50_000));
    for command in [
        format!("curl https://a.example/{headers}"),
        format!("curl https://a.example/ --json '[{fields}1]'"),
        format!("curl https://a.example/ --json '{{{marks}\"z\":1}}'"),
        format!("curl 'https://a.example/?{query}'"),
        format!("curl https://a.example/ --json '{long}'"),
    ] {
        let begun = std::time::Instant::now();
        let reasons = import(&command, "x", None, &[]).unwrap_err();
        let shown = &command[..60];
        assert!(
            reasons[0].0.contains("more headers"),
            "{shown}: {:?}",
            &reasons[0]
        );
        println!("{shown}: {:?}", begun.elapsed());
    }
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

#[test]
fn every_file_that_is_made_checks() {
    let mut made = 0;
    for (name, params, command) in cases() {
        let Ok(import) = import(command, name, None, &params) else {
            continue;
        };
        made += 1;
        let reading = toolcrib::manifest::read(import.text.as_bytes(), name);
        let wrong: Vec<&str> = reading
            .problems
            .iter()
            .filter(|problem| problem.severity == toolcrib::definition::Severity::Error)
            .map(|problem| problem.message.as_str())
            .collect();
        assert!(wrong.is_empty(), "{name}: {wrong:?}\n{}", import.text);
        let definition = reading.definition.unwrap();
        // What the file takes for a secret is what was said to be one.
        let mut said: Vec<&str> = import
            .secrets
            .iter()
            .map(|used| used.name.as_str())
            .collect();
        said.sort_unstable();
        let mut used: Vec<&str> = definition
            .secrets()
            .iter()
            .map(|name| name.as_str())
            .collect();
        used.sort_unstable();
        assert_eq!(used, said, "{name}");
    }
    assert!(made > 40, "{made}");
}

/// Commands cut short, with bytes left out or doubled: always an answer, in bounded time.
#[test]
fn no_text_makes_it_panic() {
    for (name, params, command) in cases() {
        let ends = command.char_indices().map(|(at, _)| at);
        for at in ends.step_by(11) {
            let _ = import(&command[..at], name, None, &params);
            let without = format!(
                "{}{}",
                &command[..at],
                &command[at..].get(1..).unwrap_or("")
            );
            let _ = import(&without, name, None, &params);
        }
    }
    for text in [
        "curl -",
        "curl --",
        "curl -H",
        "curl ''",
        "",
        "curl -u '' ''",
        "curl :// -b =",
        "curl 'http://a/%' --param",
    ] {
        let _ = import(
            text,
            "x",
            None,
            &["body.".to_owned(), "=".to_owned(), String::new()],
        );
    }
    let deep = format!("curl http://a -d '{}'", "[".repeat(100_000));
    let _ = import(&deep, "x", None, &[]);
    let many = format!("curl http://a/{}", "{".repeat(100_000));
    let _ = import(&many, "x", None, &[]);
}
