//! JSONPath against the official compliance suite, against a naive reading of the RFC, and against documents that are made to
//! be expensive.
//!
//! `tests/cases/jsonpath/cts.json` is that of <https://github.com/jsonpath-standard/jsonpath-compliance-test-suite>
//! (BSD-2, its licence lies beside it) at commit 7be7c1f, unchanged.

use std::collections::HashMap;
use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::{Value, json};
use toolcrib::jsonpath::{JsonPath, TooMuchWork};

/// The normalized path of every node, by the node's address: two nodes are never at one address.
fn paths(document: &Value) -> HashMap<*const Value, String> {
    let mut paths = HashMap::new();
    let mut open = vec![(document, "$".to_owned())];
    while let Some((node, path)) = open.pop() {
        match node {
            Value::Array(elements) => {
                open.extend(
                    (0..)
                        .zip(elements)
                        .map(|(i, e): (usize, _)| (e, format!("{path}[{i}]"))),
                );
            }
            Value::Object(members) => {
                open.extend(
                    members
                        .iter()
                        .map(|(name, value)| (value, format!("{path}['{}']", normalized(name)))),
                );
            }
            _ => {}
        }
        paths.insert(std::ptr::from_ref(node), path);
    }
    paths
}

fn normalized(name: &str) -> String {
    let mut text = String::new();
    for character in name.chars() {
        match character {
            '\'' | '\\' => write!(text, "\\{character}").unwrap(),
            '\u{8}' => text.push_str("\\b"),
            '\u{c}' => text.push_str("\\f"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\0'..='\x1f' => write!(text, "\\u{:04x}", u32::from(character)).unwrap(),
            _ => text.push(character),
        }
    }
    text
}

/// What a compliance test expects, and what came.
fn verdict(test: &Value) -> Result<(), String> {
    let parsed = JsonPath::parse(test["selector"].as_str().unwrap());
    if test.get("invalid_selector") == Some(&json!(true)) {
        return match parsed {
            Ok(_) => Err("accepted".to_owned()),
            Err(_) => Ok(()),
        };
    }
    let path = parsed.map_err(|error| error.to_string())?;
    let document = &test["document"];
    let nodes = path.query(document).map_err(|error| error.to_string())?;
    let all = paths(document);
    let places: Vec<&str> = nodes
        .iter()
        .map(|node| all[&std::ptr::from_ref(*node)].as_str())
        .collect();
    let expected = |one: &str, several: &str| match (test.get(one), test.get(several)) {
        (Some(one), None) => vec![one.clone()],
        (None, Some(several)) => several.as_array().unwrap().clone(),
        _ => panic!("the test has no {one}: {test}"),
    };
    let (values, places) = (json!(nodes), json!(places));
    let permitted = expected("result", "results")
        .into_iter()
        .zip(expected("result_paths", "results_paths"))
        .any(|permitted| permitted == (values.clone(), places.clone()));
    if permitted {
        Ok(())
    } else {
        Err(format!("gave {values} at {places}"))
    }
}

#[test]
fn the_whole_compliance_suite_passes() {
    let suite: Value = serde_json::from_str(include_str!("../cases/jsonpath/cts.json")).unwrap();
    let tests = suite["tests"].as_array().unwrap();
    // A shortened file would pass silently.
    assert_eq!(tests.len(), 703);
    let failures: Vec<String> = tests
        .iter()
        .filter_map(|test| {
            let reason = verdict(test).err()?;
            Some(format!(
                "{}: `{}` {reason}",
                test["name"],
                test["selector"].as_str().unwrap()
            ))
        })
        .collect();
    assert!(
        failures.is_empty(),
        "{} of {}:\n{}",
        failures.len(),
        tests.len(),
        failures.join("\n")
    );
}

#[test]
fn an_error_says_where_and_what_to_write_instead() {
    let cases = [
        (
            "",
            0,
            "expected `$`, with which every JSONPath expression starts, but the expression ends",
        ),
        (
            "items",
            0,
            "expected `$`, with which every JSONPath expression starts, found `i`",
        ),
        ("$.a b", 3, "there is white space behind the expression"),
        (
            "$.0",
            2,
            "expected a name or `*` behind `.` (other names are written `['…']`), found `0`",
        ),
        (
            "$['ü",
            2,
            "this string has no end; its closing quote is missing",
        ),
        ("$[01]", 2, "a number has no leading zeros here"),
        (
            "$[a]",
            2,
            "expected a name in quotes, an index, a slice, `*` or a filter `?…`, found `a`",
        ),
        ("$[?@.a = 1]", 7, "expected `,` or `]`, found `=`"),
        (
            "$[?name == 1]",
            3,
            "`name` means nothing here; write `@.name` for a member, `'name'` for a text",
        ),
        (
            "$[?length(@.a)]",
            3,
            "`length` gives a value; compare it with something",
        ),
        (
            "$[?@.* == 1]",
            3,
            "this query may select several nodes; only names and indexes can be used as a value (or `value(…)`, `count(…)`)",
        ),
        (
            "$[?size(@) > 1]",
            3,
            "there is no function `size`; there are length, count, match, search and value",
        ),
        (
            "$[?!@.a == 1]",
            4,
            "`!` in front of a comparison needs parentheses: `!(…)`",
        ),
        (
            "$[?match(@.a)]",
            3,
            "`match` has an argument too few: the pattern is missing",
        ),
        (
            r"$[?match(@.a, '\d+')]",
            15,
            r"`\d` is not an escape here; in a pattern, write the backslash twice",
        ),
    ];
    for (text, at, message) in cases {
        let error = JsonPath::parse(text).unwrap_err();
        assert_eq!((error.at, error.message.as_str()), (at, message), "{text}");
    }
}

#[test]
fn a_pattern_that_can_never_match_is_a_doubt() {
    let path = JsonPath::parse(r"$[?match(@, '\\d+') || search(@, 5)]").unwrap();
    let doubts: Vec<String> = path.doubts().iter().map(ToString::to_string).collect();
    assert_eq!(
        doubts,
        [
            r"this pattern never matches: `\d` is not an escape in I-Regexp (RFC 9485); write `[0-9]` (at character 12)",
            "a pattern is a text; this one never matches (at character 33)",
        ]
    );
    assert_eq!(path.query(&json!(["12"])).unwrap(), Vec::<&Value>::new());
}

#[test]
fn too_long_and_too_deep_expressions_are_refused() {
    for (text, message) in [
        (
            format!("$.{}", "a".repeat(5000)),
            "an expression has at most 4096 characters",
        ),
        (
            format!("$[?{}@.a{}]", "(".repeat(1000), ")".repeat(1000)),
            "nested more than 32 deep",
        ),
        (
            format!("$[?{}", "@[?".repeat(1000)),
            "nested more than 32 deep",
        ),
        (
            format!("$[?{}", "length(".repeat(500)),
            "nested more than 32 deep",
        ),
        (
            "$[?match(@, '(a{99}){99}')]".to_owned(),
            "this pattern is too large",
        ),
    ] {
        assert_eq!(JsonPath::parse(&text).unwrap_err().message, message);
    }
    let deepest = format!("$[?{}@.a{}]", "(".repeat(31), ")".repeat(31));
    assert!(JsonPath::parse(&deepest).is_ok());
}

/// A document that may be deeper than a stack: taken apart without recursion.
struct Deep(Value);

/// So many lists in lists.
fn chain(depth: usize) -> Value {
    (0..depth).fold(json!("bottom"), |inner, _| Value::Array(vec![inner]))
}

impl Drop for Deep {
    fn drop(&mut self) {
        let mut open = vec![self.0.take()];
        while let Some(next) = open.pop() {
            if let Value::Array(elements) = next {
                open.extend(elements);
            }
        }
    }
}

#[test]
fn every_pattern_of_a_document_is_charged_for() {
    let patterns: Vec<String> = (0..2000)
        .map(|i| format!("[a-z]{{{}}}{i}", i % 90))
        .collect();
    let path = JsonPath::parse("$[?match('x', @)]").unwrap();
    assert_eq!(path.query(&json!(patterns)), Err(TooMuchWork));
    assert_eq!(path.query(&json!(patterns[..100])), Ok(Vec::new()));
}

#[test]
fn deep_documents_need_no_deep_stack() {
    let deep = Deep(Value::Array(vec![chain(100_000), chain(100_000)]));
    let bottom = JsonPath::parse("$..[?@ == 'bottom']").unwrap();
    assert_eq!(bottom.query(&deep.0).unwrap().len(), 2);
    let equal = JsonPath::parse("$[?$[0] == $[1]]").unwrap();
    assert_eq!(equal.query(&deep.0).unwrap().len(), 2);
}

/// A selector of the naive evaluator.
#[derive(Debug, Clone)]
enum Naive {
    Name(String),
    Index(i64),
    Wildcard,
    Slice(Option<i64>, Option<i64>, Option<i64>),
}

impl Naive {
    fn text(&self) -> String {
        let bound = |bound: &Option<i64>| bound.map_or(String::new(), |bound| bound.to_string());
        match self {
            Naive::Name(name) => format!("'{name}'"),
            Naive::Index(index) => index.to_string(),
            Naive::Wildcard => "*".to_owned(),
            Naive::Slice(start, end, None) => format!("{}:{}", bound(start), bound(end)),
            Naive::Slice(start, end, step) => {
                format!("{}:{}:{}", bound(start), bound(end), bound(step))
            }
        }
    }

    /// As the RFC's prose and pseudo-code say it.
    fn select(&self, node: &Value) -> Vec<Value> {
        match (self, node) {
            (Naive::Name(name), Value::Object(members)) => {
                members.get(name).cloned().into_iter().collect()
            }
            (Naive::Wildcard, Value::Object(members)) => members.values().cloned().collect(),
            (Naive::Wildcard, Value::Array(elements)) => elements.clone(),
            (Naive::Index(index), Value::Array(elements)) => {
                let length = elements.len() as i64;
                let index = if *index >= 0 { *index } else { length + index };
                if (0..length).contains(&index) {
                    vec![elements[index as usize].clone()]
                } else {
                    vec![]
                }
            }
            (Naive::Slice(start, end, step), Value::Array(elements)) => {
                let (length, step) = (elements.len() as i64, step.unwrap_or(1));
                let normalize = |i: i64| if i >= 0 { i } else { length + i };
                let (default_start, default_end) = if step >= 0 {
                    (0, length)
                } else {
                    (length - 1, -length - 1)
                };
                let start = normalize(start.unwrap_or(default_start));
                let end = normalize(end.unwrap_or(default_end));
                let (lower, upper) = if step >= 0 {
                    (start.max(0).min(length), end.max(0).min(length))
                } else {
                    (end.max(-1).min(length - 1), start.max(-1).min(length - 1))
                };
                let mut selected = vec![];
                if step > 0 {
                    let mut i = lower;
                    while i < upper {
                        selected.push(elements[i as usize].clone());
                        i += step;
                    }
                } else if step < 0 {
                    let mut i = upper;
                    while lower < i {
                        selected.push(elements[i as usize].clone());
                        i += step;
                    }
                }
                selected
            }
            _ => vec![],
        }
    }
}

fn naive_descendants(node: &Value) -> Vec<Value> {
    let mut nodes = vec![node.clone()];
    for child in Naive::Wildcard.select(node) {
        nodes.extend(naive_descendants(&child));
    }
    nodes
}

fn documents() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i8>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[ab\u{e9}]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec(("[a-c]", inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn selectors() -> impl Strategy<Value = Naive> {
    let bound = || prop::option::of(-6_i64..7);
    prop_oneof![
        "[a-c]".prop_map(Naive::Name),
        (-5_i64..5).prop_map(Naive::Index),
        Just(Naive::Wildcard),
        (bound(), bound(), prop::option::of(-3_i64..4))
            .prop_map(|(start, end, step)| Naive::Slice(start, end, step)),
    ]
}

/// Texts made of the pieces of expressions, so that many of them nearly are one.
fn expressions() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "$",
        "@",
        ".",
        "..",
        "[",
        "]",
        "*",
        "?",
        "(",
        ")",
        "!",
        "==",
        "!=",
        "<",
        "<=",
        ">",
        "&&",
        "||",
        ",",
        ":",
        "-",
        "0",
        "1",
        "12",
        "1e3",
        ".5",
        "'a'",
        "\"b\"",
        "'",
        "\\u00e9",
        "a",
        "_b",
        "é",
        " ",
        "true",
        "null",
        "length(",
        "count(@.*)",
        "match(@.a, 'a.*')",
        "search(@, $.b)",
        "value(@..a)",
        "?@.a",
        "[?@",
        "$..",
        "[1:",
        "[*]",
        "[?@.a == ",
    ]);
    prop::collection::vec(piece, 0..14).prop_map(|pieces| format!("${}", pieces.concat()))
}

proptest! {
    #[test]
    fn selects_what_a_naive_reading_of_the_rfc_selects(
        document in documents(),
        segments in prop::collection::vec((any::<bool>(), prop::collection::vec(selectors(), 1..3)), 0..4),
    ) {
        let mut text = "$".to_owned();
        let mut expected = vec![document.clone()];
        for (descend, selectors) in &segments {
            let list: Vec<String> = selectors.iter().map(Naive::text).collect();
            text += &format!("{}[{}]", if *descend { ".." } else { "" }, list.join(","));
            let nodes: Vec<Value> = if *descend { expected.iter().flat_map(naive_descendants).collect() } else { expected };
            expected = nodes.iter().flat_map(|node| selectors.iter().flat_map(|s| s.select(node)).collect::<Vec<_>>()).collect();
        }
        let path = JsonPath::parse(&text).unwrap();
        prop_assert_eq!(json!(path.query(&document).unwrap()), json!(expected), "{}", text);
    }

    #[test]
    fn no_expression_and_no_document_makes_it_panic(text in expressions(), document in documents()) {
        match JsonPath::parse(&text) {
            Ok(path) => { let _ = path.query(&document); }
            Err(error) => prop_assert!(error.at <= text.chars().count()),
        }
    }

    #[test]
    fn no_text_makes_reading_panic(text in "\\PC*") {
        let _ = JsonPath::parse(&text);
        let _ = JsonPath::parse(&format!("$[?{text}]"));
        let _ = JsonPath::parse(&format!("$[?match(@, '{text}')]"));
    }
}
