//! Recorded outputs of real runners, of older ones, odd ones, and hostile ones.

use proptest::prelude::*;

use super::cargo::Cargo;
use super::go::Go;
use super::results::{Failure, MAX_FAILURES, MAX_MESSAGE, Results, Spot};
use super::unknown_runner::Loose;
use super::watch::{Ended, Reader};
use super::{json_report, junit, tap};
use crate::call::event::OutputStream;

const CARGO_OUT: &str = include_str!("golden/cargo-1.95.stdout");
const CARGO_ERR: &str = include_str!("golden/cargo-1.95.stderr");
const GO: &str = include_str!("golden/go-1.19.jsonl");
const VITEST: &str = include_str!("golden/vitest.json");
const JEST: &str = include_str!("golden/jest.json");
const MOCHA: &str = include_str!("golden/mocha.json");
const NODE: &str = include_str!("golden/node-20.tap");
const PYTEST_XML: &str = include_str!("golden/pytest-9.xml");
const PYTEST_TEXT: &str = include_str!("golden/pytest-9.txt");

const BUILT: &str = "{\"reason\":\"build-finished\",\"success\":true}";

fn counts(results: &Results) -> (u64, u64, u64) {
    (results.passed, results.failed, results.skipped)
}

/// Name, place and message of each failure.
fn told(failures: &[Failure]) -> Vec<(String, String, String)> {
    let place = |at: &Spot| match at.line {
        Some(line) => format!("{}:{line}", at.file),
        None => at.file.clone(),
    };
    failures
        .iter()
        .map(|failure| {
            let at = failure.at.as_ref().map(place).unwrap_or_default();
            (failure.name.clone(), at, failure.message.clone())
        })
        .collect()
}

fn row(name: &str, at: &str, message: &str) -> (String, String, String) {
    (name.to_owned(), at.to_owned(), message.to_owned())
}

/// Lines of both streams, `!` in front of those of stderr.
fn read(mut reader: Box<dyn Reader>, lines: &str, exit_code: i32) -> Results {
    for line in lines.lines() {
        match line.strip_prefix('!') {
            Some(line) => reader.line(OutputStream::Stderr, line),
            None => reader.line(OutputStream::Stdout, line),
        };
    }
    reader.results(Ended {
        exit_code,
        report: None,
    })
}

fn cargo(lines: &str) -> Results {
    read(Box::<Cargo>::default(), lines, 101)
}

/// Both streams of cargo in the order in which they came: what runs is said before it runs.
fn recorded_cargo() -> String {
    let mut said = CARGO_ERR.lines();
    let mut all = String::new();
    for line in CARGO_OUT.lines() {
        if line.starts_with("running ") {
            for said in said.by_ref() {
                all.push_str(&format!("!{said}\n"));
                let words = said.trim_start();
                if words.starts_with("Running ") || words.starts_with("Doc-tests ") {
                    break;
                }
            }
        }
        all.push_str(line);
        all.push('\n');
    }
    all.extend(said.map(|line| format!("!{line}\n")));
    all
}

#[test]
fn cargo_with_unit_integration_and_doc_tests_a_crash_and_a_forger_is_read() {
    let results = cargo(&recorded_cargo());
    assert_eq!(counts(&results), (2, 5, 1));
    assert_eq!(results.skipped_tests, ["tests::ignored"]);
    assert_eq!(
        told(&results.failures),
        [
            row(
                "tests::does_not_panic",
                "src/lib.rs:21",
                "note: test did not panic as expected at src/lib.rs:21:8"
            ),
            row("tests::errs", "", "Error: \"boom\""),
            row(
                "tests::fails",
                "src/lib.rs:14",
                "assertion `left == right` failed: wrong sum\n  left: 3\n right: 4"
            ),
            row(
                "crash (tests/crash.rs)",
                "",
                "the test program ended before it was done: 0 of 2 tests have a result, and it did not say its own (signal: 6, SIGABRT: process abort signal)"
            ),
            row(
                "src/lib.rs - add (line 3)",
                "src/lib.rs:3",
                "assertion `left == right` failed\n  left: 3\n right: 4"
            ),
        ]
    );
    let suites: Vec<&str> = results
        .failures
        .iter()
        .filter_map(|failure| failure.suite.as_deref())
        .collect();
    assert_eq!(suites[0], "app (unittests src/lib.rs)");
    assert_eq!(suites[4], "app (doc tests)");
}

#[test]
fn panics_are_read_in_their_old_form_too() {
    let results = cargo(&format!(
        "{BUILT}\n\
         !     Running target/debug/deps/old-0123456789abcdef\n\
         running 2 tests\n\
         test a ... FAILED\n\
         test b ... FAILED\n\
         \n\
         failures:\n\
         \n\
         ---- a stdout ----\n\
         thread 'a' panicked at 'assertion failed: `(left == right)`\n\
         \x20 left: `1`,\n\
         \x20right: `2`: it''s wrong', src/lib.rs:7:9\n\
         note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n\
         ---- b stdout ----\n\
         thread 'b' panicked at src/x y.rs:8:1:\n\
         first\n\
         second\n\
         stack backtrace:\n\
         \x20  0: std::panicking\n\
         \n\
         failures:\n\
         \x20   a\n\
         \x20   b\n\
         \n\
         test result: FAILED. 0 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n"
    ));
    assert_eq!(counts(&results), (0, 2, 0));
    let message = "assertion failed: `(left == right)`\n  left: `1`,\n right: `2`: it''s wrong";
    assert_eq!(
        told(&results.failures),
        [
            row("a", "src/lib.rs:7", message),
            row("b", "src/x y.rs:8", "first\nsecond"),
        ]
    );
    assert_eq!(results.failures[0].suite.as_deref(), Some("old"));
}

#[test]
fn what_a_test_prints_is_not_believed_when_the_counts_contradict_it() {
    // Past libtest, straight to the program's output.
    let results = cargo(&format!(
        "{BUILT}\n\
         !     Running unittests src/lib.rs (target/debug/deps/x-0123456789abcdef)\n\
         running 2 tests\n\
         test forged::one ... ok\n\
         test forged::two ... ok\n\
         test result: ok. 100 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n\
         test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n\
         {{\"reason\":\"compiler-message\",\"message\":{{\"message\":\"forged\",\"level\":\"error\",\"spans\":[]}}}}\n\
         test a ... ok\n\
         test b ... FAILED\n\
         failures:\n\
         \n\
         ---- b stdout ----\n\
         \n\
         failures:\n\
         \x20   b\n\
         \n\
         test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n"
    ));
    assert_eq!(counts(&results), (1, 1, 0));
    assert_eq!(results.failures[0].name, "b");
    assert_eq!(results.problems, []);
    assert_eq!(results.notes.len(), 1);
}

#[test]
fn an_imitated_program_does_not_hide_the_failure_of_the_real_one() {
    let results = cargo(&format!(
        "{BUILT}\n\
         !     Running unittests src/lib.rs (target/debug/deps/x-0123456789abcdef)\n\
         running 2 tests\n\
         test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n\
         \n\
         running 1 test\n\
         test forged ... ok\n\
         test b ... FAILED\n\
         failures:\n\
         \x20   b\n\
         \n\
         test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n"
    ));
    assert!(results.failed > 0);
    assert_eq!(results.notes.len(), 1);
}

#[test]
fn a_program_that_ends_itself_before_it_is_done_has_failed() {
    let results = read(
        Box::<Cargo>::default(),
        &format!(
            "{BUILT}\n\
             !     Running unittests src/lib.rs (target/debug/deps/x-0123456789abcdef)\n\
             running 3 tests\n\
             test a ... ok\n\
             !   Doc-tests x\n\
             running 0 tests\n\
             test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n"
        ),
        0,
    );
    assert_eq!(counts(&results), (1, 1, 0));
    assert_eq!(results.failures[0].name, "x (unittests src/lib.rs)");
    assert!(results.failures[0].message.contains("1 of 3 tests"));
}

#[test]
fn programs_that_crash_or_have_their_own_harness_are_reported_by_cargo() {
    let results = cargo(&format!(
        "{BUILT}\n\
         !     Running unittests src/lib.rs (target/debug/deps/a-0000000000000001)\n\
         running 1 test\n\
         test x ... ok\n\
         test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n\
         !     Running tests/own.rs (target/debug/deps/own-0000000000000002)\n\
         my harness: all is lost\n\
         !error: test failed, to rerun pass `--test own`\n\
         !\n\
         !Caused by:\n\
         !  process didn't exit successfully: `/w/target/debug/deps/own-0000000000000002` (exit status: 1)\n\
         !     Running tests/seg.rs (target/debug/deps/seg-0000000000000003)\n\
         !error: test failed, to rerun pass `--test seg`\n\
         !\n\
         !Caused by:\n\
         !  process didn't exit successfully: `/w/target/debug/deps/seg-0000000000000003` (signal: 11, SIGSEGV: invalid memory reference)\n"
    ));
    assert_eq!(counts(&results), (1, 2, 0));
    assert_eq!(
        told(&results.failures),
        [
            row(
                "own (tests/own.rs)",
                "",
                "the test program failed: exit status: 1"
            ),
            row(
                "seg (tests/seg.rs)",
                "",
                "the test program failed: signal: 11, SIGSEGV: invalid memory reference"
            ),
        ]
    );
}

#[test]
fn what_the_compiler_and_cargo_complain_about_is_reported_with_its_place() {
    let span = |file: &str, line: u64, primary: bool| serde_json::json!({"file_name": file, "line_start": line, "is_primary": primary});
    let message = |text: &str, level: &str, spans: Vec<serde_json::Value>| {
        let message =
            serde_json::json!({"message": text, "level": level, "rendered": text, "spans": spans});
        serde_json::json!({"reason": "compiler-message", "message": message}).to_string()
    };
    let lines = [
        message(
            "unused variable",
            "warning",
            vec![span("src/a.rs", 1, true)],
        ),
        message(
            "mismatched types",
            "error",
            vec![span("src/a.rs", 9, false), span("src/b.rs", 7, true)],
        ),
        message("aborting due to 1 previous error", "error", vec![]),
        "!error: could not compile `x`".to_owned(),
        "{\"reason\":\"build-finished\",\"success\":false}".to_owned(),
    ];
    let results = cargo(&lines.join("\n"));
    assert_eq!(
        told(&results.problems),
        [row("", "src/b.rs:7", "mismatched types")]
    );
    let results =
        cargo("!error: no matching package named `x` found\n!location searched: crates.io index\n");
    assert_eq!(
        told(&results.problems),
        [row(
            "",
            "",
            "error: no matching package named `x` found\nlocation searched: crates.io index"
        )]
    );
}

#[test]
fn the_report_of_pytest_is_read() {
    let results = junit::read(PYTEST_XML);
    assert_eq!(counts(&results), (2, 2, 1));
    assert_eq!(
        told(&results.failures),
        [
            row(
                "tests/test_sum.py::TestSum::test_wrong[2]",
                "tests/test_sum.py:10",
                "assert 1 == 2"
            ),
            row(
                "tests/test_sum.py::test_fixture",
                "tests/test_sum.py:18",
                "failed on setup with \"RuntimeError: no fixture\""
            ),
        ]
    );
    assert_eq!(results.skipped_tests, ["tests/test_sum.py::test_waits"]);
    assert_eq!(
        told(&results.problems),
        [row(
            "",
            "tests/test_bad.py:1",
            "ModuleNotFoundError: No module named 'nope'"
        )]
    );
    assert!(!results.is_cut && results.notes.is_empty());
}

#[test]
fn an_older_report_without_files_and_a_broken_one_are_read_as_far_as_they_go() {
    let old = r#"<testsuite errors="0" failures="1" tests="2"><testcase classname="test_a" name="test_x" time="0.1"><failure message="assert 0">def test_x():
&gt;   assert 0

test_a.py:2: AssertionError</failure></testcase><testcase classname="test_a" name="test_y"/></testsuite>"#;
    let results = junit::read(old);
    assert_eq!(counts(&results), (1, 1, 0));
    assert_eq!(
        told(&results.failures),
        [row("test_a::test_x", "test_a.py:2", "assert 0")]
    );
    let far = r#"<testcase name="x" file="a.py" line="18446744073709551615"><failure/></testcase>"#;
    assert_eq!(
        junit::read(far).failures[0].at,
        Some(Spot::new("a.py", u64::MAX))
    );
    let broken = junit::read(&old[..old.len() - 3]);
    assert_eq!(counts(&broken), (1, 1, 0));
    assert!(broken.is_cut && !broken.notes.is_empty());
    for odd in [
        "",
        "<a/>",
        "<!DOCTYPE x><a/>",
        "not XML",
        "<testcase line='99999999999999999999'/>",
    ] {
        assert!(counts(&junit::read(odd)).1 == 0, "{odd}");
    }
}

#[test]
fn the_reports_of_vitest_jest_and_mocha_are_read() {
    let results = json_report::read_jest(VITEST);
    assert_eq!(counts(&results), (1, 1, 2));
    assert_eq!(
        told(&results.failures),
        [row(
            "sum is wrong",
            "/w/sum.test.js:5",
            "AssertionError: expected 2 to be 3 // Object.is equality"
        )]
    );
    assert_eq!(results.skipped_tests, ["sum waits", "sum later"]);
    let [problem] = told(&results.problems).try_into().unwrap();
    assert_eq!(problem.1, "/w/broken.test.js");
    assert!(problem.2.starts_with("Cannot find module './nope.js'"));

    let results = json_report::read_jest(JEST);
    assert_eq!(counts(&results), (1, 1, 1));
    assert_eq!(
        told(&results.failures),
        [row(
            "sum is wrong",
            "/w/sum.test.js:4",
            "Error: expect(received).toBe(expected) // Object.is equality\n\nExpected: 3\nReceived: 2"
        )]
    );

    let results = json_report::read_mocha(MOCHA);
    assert_eq!(counts(&results), (1, 1, 1));
    assert_eq!(
        told(&results.failures),
        [row("sum is wrong", "/w/test/sum.js:5", "2 == 3")]
    );
    assert_eq!(results.skipped_tests, ["sum waits"]);
}

#[test]
fn a_report_that_is_something_else_counts_nothing_and_says_so() {
    for odd in [
        "",
        "[]",
        "{",
        "{\"testResults\": 3}",
        "{\"testResults\": [{}, 4]}",
        "null",
        "{} x",
    ] {
        let results = json_report::read_jest(odd);
        assert_eq!(results.total(), 0, "{odd}");
        assert!(results.is_cut && !results.notes.is_empty(), "{odd}");
    }
    assert_eq!(json_report::read_jest("{}").notes, Vec::<String>::new());
    // Before vitest and jest had told it: no messages, no place.
    let old = r#"{"testResults": [{"assertionResults": [{"status": "failed", "fullName": "x", "failureMessages": null}], "name": "/w/a.js"}]}"#;
    let results = json_report::read_jest(old);
    assert_eq!(told(&results.failures), [row("x", "/w/a.js", "")]);
}

#[test]
fn the_tap_of_node_is_read_by_its_innermost_tests() {
    let results = tap::read(NODE);
    assert_eq!(counts(&results), (2, 1, 1));
    assert_eq!(
        told(&results.failures),
        [row("is wrong", "/w/sum.test.js:6", "2 == 3")]
    );
    assert_eq!(results.skipped_tests, ["waits"]);
}

#[test]
fn tap_of_other_makes_is_read() {
    let results = tap::read(
        "1..6\nok 1\nnot ok 2 - two \\# three\n  ---\n  message: \"it broke\"\n  at: t/a.t:12\n  ...\nok 3 # skip no network\n\
         not ok 4 - later # TODO not written\nok 5 - after all\nokay 7\nok\nBail out! disk full\n",
    );
    assert_eq!(counts(&results), (2, 1, 2));
    assert_eq!(
        told(&results.failures),
        [row("two # three", "t/a.t:12", "it broke")]
    );
    assert_eq!(
        results.problems[0].message,
        "the run was given up: disk full"
    );
    // Node 18 puts each file around its tests; one that crashes has none that failed.
    let results = tap::read(
        "TAP version 13\n# Subtest: /w/a.js\n    # Subtest: x\n    ok 1 - x\n    1..1\nok 1 - /w/a.js\n# Subtest: /w/b.js\n\
         not ok 2 - /w/b.js\n  ---\n  failureType: 'testCodeFailure'\n  error: 'test failed'\n  exitCode: 1\n  ...\n1..2\n",
    );
    assert_eq!(counts(&results), (1, 1, 0));
    assert_eq!(results.failures[0].name, "/w/b.js");
}

#[test]
fn a_text_in_a_block_of_tap_is_not_a_result() {
    let results = tap::read(
        "not ok 1 - a\n  ---\n  error: |-\n    first\n    ...\n    ok 2 - forged\n    ---\n  stack: 'x'\n  ...\nok 2 - b\n",
    );
    assert_eq!(counts(&results), (1, 1, 0));
    assert_eq!(
        results.failures[0].message,
        "first\n...\nok 2 - forged\n---"
    );
}

#[test]
fn the_events_of_go_are_read_with_subtests_panics_and_what_does_not_build() {
    let results = read(Box::new(Go::new("example.com/adder")), GO, 1);
    assert_eq!(counts(&results), (2, 2, 1));
    let failures = told(&results.failures);
    assert_eq!(
        failures[0],
        row(
            "TestWrong/two",
            "adder_test.go:10",
            "adder_test.go:10: got 3"
        )
    );
    assert_eq!(
        (failures[1].0.as_str(), failures[1].1.as_str()),
        ("TestX", "/w/sub/sub_test.go:5")
    );
    assert!(failures[1].2.starts_with("panic: boom"));
    assert_eq!(results.skipped_tests, ["TestSkipped"]);
    assert_eq!(
        told(&results.problems),
        [row("", "bad/bad_test.go:5", "undefined: undefined")]
    );
}

#[test]
fn go_reports_what_does_not_build_as_events_since_1_24() {
    let results = read(
        Box::new(Go::new("m")),
        r##"{"ImportPath":"m/a [m/a.test]","Action":"build-output","Output":"# m/a [m/a.test]\n"}
{"ImportPath":"m/a [m/a.test]","Action":"build-output","Output":"a/a_test.go:3:1: syntax error: unexpected x\n"}
{"ImportPath":"m/a [m/a.test]","Action":"build-fail"}
{"Action":"start","Package":"m/a"}
{"Action":"output","Package":"m/a","Output":"FAIL\tm/a [build failed]\n"}
{"Action":"fail","Package":"m/a","Elapsed":0,"FailedBuild":"m/a [m/a.test]"}
{"Action":"start","Package":"m/b"}
{"Action":"run","Package":"m/b","Test":"TestForged"}
{"Action":"output","Package":"m/b","Test":"TestForged","Output":"{\"Action\":\"pass\",\"Package\":\"m/b\",\"Test\":\"TestOther\"}\n"}
{"Action":"output","Package":"m/b","Test":"TestForged","Output":"    b_test.go:9: no\n"}
{"Action":"fail","Package":"m/b","Test":"TestForged"}
{"Action":"fail","Package":"m/b"}
{"Action":"start","Package":"m/c"}
{"Action":"output","Package":"m/c","Output":"exit status 3\n"}
{"Action":"fail","Package":"m/c"}"##,
        1,
    );
    assert_eq!(counts(&results), (0, 2, 0));
    assert_eq!(
        told(&results.problems),
        [row("", "a/a_test.go:3", "syntax error: unexpected x")]
    );
    let failures = told(&results.failures);
    assert_eq!(
        (failures[0].0.as_str(), failures[0].1.as_str()),
        ("TestForged", "b/b_test.go:9")
    );
    assert_eq!(failures[1], row("m/c", "", "exit status 3"));
}

#[test]
fn output_that_no_one_described_is_recognised() {
    let loose = |lines: &str| read(Box::<Loose>::default(), lines, 1);
    let results = loose(PYTEST_TEXT);
    assert_eq!(counts(&results), (2, 3, 1));
    assert_eq!(
        told(&results.failures),
        [row(
            "tests/test_sum.py::TestSum::test_wrong[2]",
            "tests/test_sum.py",
            "assert 1 == 2"
        )]
    );
    assert_eq!(counts(&loose("1 passed in 0.01s")), (1, 0, 0));
    assert_eq!(counts(&loose("5 passed in the end")), (0, 0, 0));
    assert_eq!(counts(&loose("ok 1 - a\nnot ok 2 - b\n")), (1, 1, 0));
    let (_, libtest) = CARGO_OUT
        .split_once("\"build-finished\",\"success\":true}")
        .unwrap();
    // Without cargo's word a program that crashed takes the next one with it.
    assert!(loose(libtest).failed >= 3);
    assert_eq!(loose("all is well\n"), Results::default());
}

const FRAGMENTS: &[&str] = &[
    "\n",
    "<",
    ">",
    "/>",
    "&",
    "&#x0;",
    "]]>",
    "<![CDATA[",
    "<!--",
    "\"",
    "'",
    "{",
    "}",
    "[",
    "\\",
    "\u{0}",
    "é",
    "\u{202e}",
    "\u{1b}[",
    "running 18446744073709551615 tests\n",
    "test result: FAILED. 18446744073709551615 passed; 1 failed; 1 ignored; 0 measured\n",
    "failures:\n",
    "---- x stdout ----\n",
    "thread 'x' panicked at '",
    "thread 'é' panicked at é:1:1:",
    "    ---\n",
    "...\n",
    "not ok 99999999999999999999",
    "ok 1 # ",
    "E  ",
    "line=\"18446744073709551615\"",
    ":18446744073709551615: ",
    "\"line\": -1",
    "99999999999999999999 failed, 1 passed in 1s\n",
    "!process didn't exit successfully: (",
    "!     Running (",
    "!   Doc-tests \n",
];

/// A document with some bytes taken out, moved, or put in.
fn mutated(document: &str, edits: &[(usize, usize, usize)]) -> String {
    let mut text = document.to_owned();
    for (from, length, what) in edits {
        let from = text.floor_char_boundary(from % (text.len() + 1));
        let to = text.ceil_char_boundary((from + length % 80).min(text.len()));
        match what % 3 {
            0 => text.replace_range(from..to, ""),
            1 => {
                let piece = text[from..to].to_owned();
                let at = text.floor_char_boundary(what % (text.len() + 1));
                text.insert_str(at, &piece);
            }
            _ => text.insert_str(from, FRAGMENTS[what % FRAGMENTS.len()]),
        }
    }
    text
}

fn assert_bounded(results: &Results) {
    assert!(results.failures.len() <= MAX_FAILURES);
    for failure in results.failures.iter().chain(&results.problems) {
        // Characters that hide something take more room when they are shown.
        assert!(failure.message.len() <= 10 * MAX_MESSAGE);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_report_makes_a_reader_panic(edits in prop::collection::vec((any::<usize>(), any::<usize>(), any::<usize>()), 1..12)) {
        assert_bounded(&junit::read(&mutated(PYTEST_XML, &edits)));
        assert_bounded(&json_report::read_jest(&mutated(VITEST, &edits)));
        assert_bounded(&json_report::read_jest(&mutated(JEST, &edits)));
        assert_bounded(&json_report::read_mocha(&mutated(MOCHA, &edits)));
        assert_bounded(&tap::read(&mutated(NODE, &edits)));
    }

    #[test]
    fn no_output_makes_a_reader_panic(edits in prop::collection::vec((any::<usize>(), any::<usize>(), any::<usize>()), 1..12)) {
        assert_bounded(&cargo(&mutated(&recorded_cargo(), &edits)));
        assert_bounded(&read(Box::new(Go::new("example.com/adder")), &mutated(GO, &edits), 1));
        assert_bounded(&read(Box::<Loose>::default(), &mutated(PYTEST_TEXT, &edits), 1));
        assert_bounded(&read(Box::<Loose>::default(), &mutated(CARGO_OUT, &edits), 1));
    }

    #[test]
    fn arbitrary_text_makes_no_reader_panic(text in any::<String>()) {
        assert_bounded(&junit::read(&text));
        assert_bounded(&junit::read(&format!("<testcase>{text}</testcase>")));
        assert_bounded(&json_report::read_mocha(&text));
        assert_bounded(&tap::read(&text));
        assert_bounded(&cargo(&format!("{BUILT}\nrunning 3 tests\n{text}")));
        assert_bounded(&read(Box::<Loose>::default(), &text, 1));
    }
}
