//! `toolcrib search`.

use serde_json::{Value, json};

use crate::harness::Test;

const WEATHER: &str = r#"{
  "slug": "weather-report", "description": "Says how it \u001b[31mis\u202e outside", "type": "command", "tags": ["read"],
  "impl": {"bash": "echo sunny"}
}"#;
const MIXED: &str = r#"{
  "slug": "we\u0430ther", "description": "Looks like another", "type": "command", "tags": ["read"],
  "impl": {"bash": "echo sunny"}
}"#;

fn home() -> Test {
    let test = Test::new()
        .file("weather.json", WEATHER)
        .file("mixed.json", MIXED);
    test.run(&["bundle", "new", "acme"]).exits(0);
    test.run(&["bundle", "add", "acme", "weather.json", "mixed.json"])
        .exits(0);
    test
}

fn matches(rows: &Value) -> Vec<(&str, &str)> {
    let text = |value: &'_ Value| -> String { value.as_str().unwrap().to_owned() };
    let rows = rows.as_array().unwrap().iter();
    rows.map(|row| {
        let (slug, class) = (&row["slug"], &row["match"]);
        assert!(!text(slug).is_empty() && !text(class).is_empty());
        (slug.as_str().unwrap(), class.as_str().unwrap())
    })
    .collect()
}

#[test]
fn words_find_tools_as_rows_of_a_list_and_how_well_they_match() {
    let test = home();
    let rows = test
        .run(&["search", "+weatherrep", "--json"])
        .exits(0)
        .json();
    assert_eq!(matches(&rows), [("weather-report", "prefix")]);
    assert_eq!(rows[0]["availability"], json!({"state": "ready"}));
    assert_eq!(rows[0]["bundle"], "acme");
    let rows = test.run(&["search", "outsied", "--json"]).exits(0).json();
    assert_eq!(matches(&rows), [("weather-report", "fuzzy")]);
    let rows = test.run(&["search", "report", "how", "--json"]).exits(0);
    assert_eq!(matches(&rows.json()), [("weather-report", "whole-word")]);
    let table = test.run(&["search", "weather"]).exits(0);
    assert!(table.stdout.starts_with("NAME"), "{table:?}");
    assert!(table.stdout.contains("BUNDLE"), "{table:?}");
    assert!(!table.stdout.contains("prefix"), "{table:?}");
}

#[test]
fn what_could_deceive_is_shown_and_marked() {
    let test = home();
    let table = test.run(&["search", "outside"]).exits(0);
    assert!(
        table.stdout.contains("\\u{001b}[31mis\\u{202e}"),
        "{table:?}"
    );
    let table = test.run(&["search", "looks"]).exits(0);
    assert!(table.stdout.contains("(!)"), "{table:?}");
    let rows = test.run(&["search", "looks", "--json"]).exits(0).json();
    // Tools that search are found by `looks`, too.
    let rows = rows.as_array().unwrap();
    let marked = rows.iter().find(|row| row["bundle"] == "acme").unwrap();
    assert_eq!(marked["warnings"].as_array().unwrap().len(), 1);
}

#[test]
fn nothing_found_is_not_an_error_and_says_what_to_try() {
    let test = home();
    let none = test.run(&["search", "frobnicate", "--json"]).exits(0);
    assert_eq!(none.json(), json!([]));
    let none = none.says("no tool matches `frobnicate`");
    assert!(none.stderr.contains("toolcrib list"), "{none:?}");
    test.run(&["search", "redfil"])
        .exits(0)
        .says("did you mean `read_file`?");
    test.run(&["bundle", "disable", "acme"]).exits(0);
    test.run(&["search", "weather"]).exits(0).says("add --all");
    let all = test.run(&["search", "weather", "--all"]).exits(0);
    assert!(all.stdout.contains("STATE"), "{all:?}");
    assert!(all.stdout.contains("weather-report") || all.stdout.contains("weather_report"));
}

#[test]
fn pages_go_on_where_the_last_one_ended() {
    let test = home();
    let all = test.run(&["search", "--json"]).exits(0).json();
    let all = matches(&all);
    let first = test.run(&["search", "-n", "1", "--json"]).exits(0);
    let told: Value = serde_json::from_str(first.stderr.lines().last().unwrap()).unwrap();
    let token = told["nextPageToken"].as_str().unwrap().to_owned();
    assert_eq!(matches(&first.json()), all[..1]);
    // What a program needs is there with -q as well; what a person reads is not.
    let quiet = test.run(&["search", "-n", "1", "--json", "-q"]).exits(0);
    assert_eq!(quiet.stderr, format!("{told}\n"));
    let words = test.run(&["search", "-n", "1"]).exits(0);
    let words = words.says("there is more: add --page-token");
    assert!(words.stderr.contains(&token), "{words:?}");
    let quiet = test.run(&["search", "-n", "1", "-q"]).exits(0);
    assert_eq!(quiet.stderr, "");
    let rest = test.run(&["search", "--page-token", &token, "--json"]);
    assert_eq!(matches(&rest.exits(0).json()), all[1..]);
    test.run(&["search", "--page-token", "garbage"])
        .exits(4)
        .says("page token `garbage` is not one");
}

#[test]
fn any_word_counts_and_a_tool_that_cannot_be_called_is_named() {
    let test = Test::new();
    let first = |words: &[&str]| {
        let words = [&["search", "--json"], words].concat();
        let rows = test.run(&words).exits(0).json();
        rows[0]["name"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(first(&["please", "renaming", "my", "files"]), "move_file");
    assert_eq!(first(&["unlink", "old", "logs"]), "delete_file");
    test.run(&["search", "search", "the", "internet"])
        .exits(0)
        .says("`web_search` fits but cannot be called: ");
}

/// How many queries of a file find the right tool among the first three, of how many, and which do not.
fn among_the_first_three(file: &str, set: Option<&str>) -> (usize, usize, Vec<String>) {
    let test = Test::new();
    let (mut right, mut count, mut wrong) = (0, 0, Vec::new());
    for line in file.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        if set.is_some_and(|set| case["set"] != set) {
            continue;
        }
        count += 1;
        let (query, wanted) = (&case["query"], case["tool"].as_str().unwrap());
        let query = query.as_str().unwrap();
        let ran = test
            .run(&["search", query, "--json", "--limit", "3"])
            .exits(0);
        let is_explained = ran
            .stderr
            .contains(&format!("`{wanted}` fits but cannot be called: "));
        let rows = ran.json();
        let rows = rows.as_array().unwrap();
        if is_explained || rows.iter().any(|row| row["name"] == wanted) {
            right += 1;
        } else {
            let names: Vec<&Value> = rows.iter().map(|row| &row["name"]).collect();
            wrong.push(format!("{query}: {names:?}"));
        }
    }
    (right, count, wrong)
}

#[test]
fn what_people_ask_for_is_among_the_first_three() {
    let shared = include_str!("../../../toolcrib/tests/cases/find-tools.jsonl");
    let own = include_str!("../../../toolcrib/tests/cases/find-tools-own.jsonl");
    let more = include_str!("../../../toolcrib/tests/cases/find-tools-more.jsonl");
    for (file, set, percent) in [
        (shared, None, 95),
        (own, Some("tuned"), 95),
        // These were written before the search and not looked at while it was tuned.
        (own, Some("kept"), 90),
        (more, None, 95),
    ] {
        let (right, count, wrong) = among_the_first_three(file, set);
        println!("{set:?}: {right} of {count}");
        assert!(
            right * 100 >= count * percent,
            "{set:?}: {right} of {count}: {wrong:#?}"
        );
    }
}
