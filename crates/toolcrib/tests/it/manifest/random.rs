//! Random files: never a panic, never a wrong place, and fixing never makes one worse.

use proptest::prelude::*;
use toolcrib::definition::{Problem, Severity, render};
use toolcrib::manifest::{fix, read};

/// Pieces of files, right and wrong.
const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "'",
    "\\",
    "\\u00e9",
    "\\ud800",
    "// c\n",
    "/*",
    "*/",
    "\n",
    " ",
    "...",
    "\"description\": \"x\",",
    "\"tags\": [\"read\"],",
    "\"impl\": {",
    "\"urlTemplate\": \"https://a.example/${a}\",",
    "\"urlTempalte\": ",
    "\"https://${a}.b/\"",
    "\"bodyTemplate\": \"{\\\"a\\\": ${b}}\",",
    "\"method\": \"POST\",",
    "\"argSchema\": {\"type\": \"object\", \"properties\": {\"a\": {}}},",
    "\"headers\": {\"X-A\": \"${\"},",
    "true",
    "null",
    "1e999",
    "-1",
    "\"auth\": {\"type\": \"hmac\", \"key\": \"${K}\"},",
    "\"extractExpr\": \"/a/i\",",
    "\"$.a[\"",
    "ü",
    "天",
    "\u{feff}",
    "\u{2028}",
    "\u{0}",
    "$${",
    "${prev.value}",
    "\"limits\": {\"maxSentBytes\": 1},",
    "\t",
    "\r\n",
];

fn texts() -> impl Strategy<Value = String> {
    let pieces = || proptest::collection::vec(proptest::sample::select(PIECES), 0..40);
    prop_oneof![
        pieces().prop_map(|pieces| pieces.concat()),
        pieces().prop_map(|pieces| format!(
            "{{\"description\": \"d\", \"impl\": {{\"urlTemplate\": \"https://a.example/\"}}, {}}}",
            pieces.concat()
        )),
        // A template of anything.
        "\\PC{0,40}".prop_map(|text| {
            let template = toolcrib::serde_json::json!({
                "description": "d",
                "impl": {"method": "POST", "urlTemplate": format!("https://a.example/{text}"), "bodyTemplate": text},
            });
            template.to_string()
        }),
    ]
}

fn errors(problems: &[Problem]) -> usize {
    problems
        .iter()
        .filter(|problem| problem.severity == Severity::Error)
        .count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn any_text_is_read_or_refused(text in texts()) {
        let reading = read(text.as_bytes(), "tool");
        prop_assert_eq!(reading.definition.is_none(), errors(&reading.problems) > 0);
        for problem in &reading.problems {
            prop_assert!(problem.span.start <= problem.span.end && problem.span.end <= text.len());
            prop_assert!(text.is_char_boundary(problem.span.start));
            render(problem, "tool.json", text.as_bytes(), &|_, words| words.to_owned());
        }
        let fixed = fix(text.as_bytes(), "tool");
        if fixed.done.is_empty() {
            prop_assert_eq!(&fixed.bytes, text.as_bytes());
        } else if errors(&reading.problems) == 0 {
            prop_assert_eq!(errors(&fixed.reading.problems), 0);
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let reading = read(&bytes, "tool");
        prop_assert_eq!(reading.definition.is_none(), errors(&reading.problems) > 0);
    }
}
