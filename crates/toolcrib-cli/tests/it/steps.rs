//! `toolcrib run` of tools with steps: what is shown while they run, and what is left at the end.

use crate::harness::Test;
use crate::terminal::until;

/// A workspace with a trusted tool `many`.
fn many(steps: &str) -> Test {
    let yaml = format!("description: Does several things\ntags: [run]\nsteps:\n{steps}");
    let test = Test::new().file(".toolcrib/tools/many.yaml", yaml);
    test.run(&["trust", "--yes"]).exits(0);
    test
}

const CONSOLE: &str = r#"
  - name: first
    bash: echo one; echo complaint >&2
    output: {stream-callback: console}
  - name: last
    bash: echo two; until [ -e go ]; do sleep 0.02; done
    output: {stream-callback: console}
"#;

#[test]
fn a_person_sees_output_for_the_terminal_while_it_comes_and_once() {
    let test = many(CONSOLE);
    let mut terminal = test.on_terminal(&["run", "many"]);
    terminal.sees("one");
    terminal.sees("two");
    std::fs::write(test.workspace().join("go"), "").unwrap();
    let (code, shown) = terminal.ends();
    assert_eq!(code, 0, "{shown}");
    for word in ["one", "complaint", "two"] {
        assert_eq!(shown.matches(word).count(), 1, "{word}: {shown}");
    }
}

#[test]
fn a_pipe_gets_the_result_alone_and_what_is_for_the_terminal_goes_to_stderr() {
    let test = many(CONSOLE);
    std::fs::write(test.workspace().join("go"), "").unwrap();
    let ran = test.run(&["run", "many"]).exits(0).prints("two\n");
    assert_eq!(ran.stderr, "one\ncomplaint\ntwo\n");
    let ran = test.run(&["-q", "run", "many"]).exits(0).prints("two\n");
    assert_eq!(ran.stderr, "");
    let outcome = test.run(&["--json", "run", "many"]).exits(0).json();
    assert_eq!(outcome["value"]["steps"]["first"]["stdout"], "one\n");
}

#[test]
fn a_failure_names_its_step_and_shows_what_it_printed() {
    let test = many(
        r#"
  - name: fine
    bash: echo fine
  - name: build
    bash: echo working; echo broken >&2; exit 2
  - name: rest
    bash: touch rest
"#,
    );
    let ran = test.run(&["run", "many"]).exits(1).prints("working\n");
    assert!(
        ran.stderr
            .contains("step `build` failed: exit code 2\n  broken"),
        "{}",
        ran.stderr
    );
    assert!(!test.workspace().join("rest").exists());
}

#[test]
fn followed_steps_are_reported_one_by_one() {
    let test = many("  - {name: a, bash: echo one}\n  - {name: b, bash: 'false'}\n");
    let ran = test.run(&["run", "many", "--stream"]).exits(1);
    assert_eq!(ran.stdout, "one\n");
    for line in [
        "step a: running",
        "step a: ok",
        "step b: running",
        "step b: failed",
    ] {
        assert!(ran.stderr.contains(line), "{line}: {}", ran.stderr);
    }
}

#[test]
fn an_interrupt_ends_every_step() {
    let test = many(
        r#"
  - name: a
    bash: touch a; sleep 100
  - name: b
    bash: touch b; sleep 100
    parallel: true
"#,
    );
    let mut terminal = test.on_terminal(&["run", "many"]);
    let there = |name: &str| test.workspace().join(name).exists().then_some(());
    until("both steps", || there("a").and(there("b")));
    terminal.types("\u{3}");
    let (code, shown) = terminal.ends();
    assert_eq!(code, 130, "{shown}");
}

#[test]
fn counting_with_the_exit_code_of_a_step_that_did_not_run_is_refused_with_the_reason() {
    let test = many(
        "  - {name: b, bash: ls, run-condition: 'false'}\n  - {name: c, bash: 'echo $(({b.exit-code}+1))'}\n",
    );
    test.run(&["run", "many"])
        .exits(4)
        .says("step `b` did not run");
}

#[test]
fn a_question_of_a_nested_call_that_no_one_answers_keeps_its_code() {
    let test = many("  - {name: s, use-tool: asks}\n").file(
        ".toolcrib/tools/asks.yaml",
        "description: Asks\ntags: [run]\nbash: ls\nsecurity: {isolation: none}\n",
    );
    test.run(&["trust", "--yes"]).exits(0);
    let ran = test.run(&["run", "many", "--json"]).exits(6);
    assert_eq!(ran.json()["error"]["code"], "APPROVAL_UNAVAILABLE");
}
