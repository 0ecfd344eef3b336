//! Random files: never a panic, never a wrong place, and fixing never makes one worse.

use proptest::prelude::*;
use toolcrib::definition::{MAX_FILE_BYTES, Severity, fix, read, render};

/// Pieces of files, right and wrong.
const PIECES: &[&str] = &[
    "description: x\n",
    "bash: echo {A}\n",
    "bash: {A} b\n",
    "  ",
    "\n",
    "- ",
    "name: ",
    "steps:\n",
    "commands:\n",
    "platforms:\n",
    "  - name: a\n",
    "    bash: ls\n",
    "parameters:\n",
    "  A:\n",
    "    type: number\n",
    "    default: [1",
    "]",
    "}",
    "{",
    "&a ",
    "*a",
    "!!str ",
    "<<: ",
    "---\n",
    "\t",
    "\"",
    "'",
    "|\n",
    "> \n",
    "# c\n",
    "timeout: ",
    "1e999",
    "-1",
    "wait-for: [a, b]\n",
    "secuirty:\n",
    "\u{feff}",
    "\u{2028}",
    "ü",
    "天",
    "\r\n",
    ": ",
    "? ",
    "tags: [read]\n",
    "run-condition: \"{a.exit-code} == 0\"\n",
    "type: alias\n",
    "base-tool: x\n",
    "tests:\n",
    "%YAML 1.2\n",
    "...\n",
    "\\",
    "\u{0}",
];

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => proptest::collection::vec(proptest::sample::select(PIECES), 0..40).prop_map(|pieces| pieces.concat()),
        1 => ".{0,200}".prop_map(|text| text),
    ]
}

fn errors(bytes: &[u8]) -> usize {
    let reading = read(bytes, "tool");
    reading
        .problems
        .iter()
        .filter(|problem| problem.severity == Severity::Error)
        .count()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_text_is_read_or_refused_at_a_place_of_it(text in texts()) {
        let bytes = text.as_bytes();
        let reading = read(bytes, "tool");
        let has_error = reading.problems.iter().any(|problem| problem.severity == Severity::Error);
        prop_assert_eq!(reading.definition.is_none(), has_error, "{:?}", reading.problems);
        let mut last = 0;
        for problem in &reading.problems {
            prop_assert!(problem.span.start <= problem.span.end && problem.span.end <= bytes.len() + 1, "{:?}", problem);
            prop_assert!(problem.span.start >= last, "out of order: {:?}", reading.problems);
            last = problem.span.start;
            prop_assert!(problem.line >= 1 && problem.column >= 1);
            let shown = render(problem, "tool.yaml", bytes, &|_, words| words.to_owned());
            prop_assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{:?}", shown);
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let reading = read(&bytes, "tool");
        prop_assert!(reading.definition.is_some() || !reading.problems.is_empty());
    }

    #[test]
    fn fixing_never_makes_a_file_worse(text in texts()) {
        let before = errors(text.as_bytes());
        let fixed = fix(text.as_bytes(), "tool");
        prop_assert!(fixed.bytes.len() <= MAX_FILE_BYTES * 2);
        if fixed.done.is_empty() {
            prop_assert_eq!(fixed.bytes, text.as_bytes());
        } else if before == 0 {
            prop_assert_eq!(errors(&fixed.bytes), 0);
        }
    }
}
