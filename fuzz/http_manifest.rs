//! Any bytes as an HTTP tool's file: read or refused, every problem at a place of the file, and fixing never makes it worse.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolcrib::definition::{Problem, Severity, render};
use toolcrib::manifest::{fix, read};

fuzz_target!(|data: &[u8]| {
    let reading = read(data, "fuzz");
    let errors = |problems: &[Problem]| {
        problems.iter().filter(|problem| problem.severity == Severity::Error).count()
    };
    assert_eq!(reading.definition.is_none(), errors(&reading.problems) > 0);
    for problem in &reading.problems {
        assert!(problem.span.start <= problem.span.end && problem.span.end <= data.len() + 1);
        let _ = render(problem, "fuzz.json", data, &|_, words| words.to_owned());
    }
    let fixed = fix(data, "fuzz");
    if fixed.done.is_empty() {
        assert_eq!(fixed.bytes, data);
    } else if errors(&reading.problems) == 0 {
        assert_eq!(errors(&fixed.reading.problems), 0);
    }
});
