//! Order, conditions, values from step to step, attempts and fallbacks.

use super::*;
use crate::model::error::ErrorCode;

#[tokio::test]
async fn steps_that_are_parallel_run_at_the_same_time() {
    // Each waits for what the other says: one after the other they would wait for ever.
    let test = Real::new().steps(
        "both",
        r#"
  - name: ask
    bash: echo question > to; read answer < from; echo "$answer"
  - name: answer
    bash: read question < to; echo answer > from; echo "$question"
    parallel: true
  - name: after
    bash: echo {ask.output} {answer.output}
"#,
    );
    make_fifo(&test.path("to"));
    make_fifo(&test.path("from"));
    let outcome = test.call("both").await;
    assert_eq!(statuses(&outcome), "ask=ok answer=ok after=ok");
    assert_eq!(fields(&outcome)["output"], "answer question");
}

#[tokio::test]
async fn twenty_steps_meet() {
    let mut steps = String::new();
    for number in 0..20 {
        steps.push_str(&format!(
            "  - name: s{number}\n    parallel: true\n    bash: 'touch here/{number}; until [ $(ls here | wc -l) -ge 20 ]; do sleep 0.02; done'\n"
        ));
    }
    let test = Real::new().steps("meet", &steps);
    std::fs::create_dir(test.path("here")).unwrap();
    let outcome = test.call("meet").await;
    assert!(outcome.is_ok(), "{outcome:?}");
    let all = fields(&outcome)["steps"].as_object().unwrap().len();
    assert_eq!(all, 20);
}

#[tokio::test]
async fn results_reach_later_steps_byte_by_byte() {
    let test = Real::new().steps(
        "pass",
        r#"
  - name: one
    continue-on-error: true
    bash: |
      printf '%s\n' '$(touch pwned) `touch pwned` "; touch pwned #'\''' '' ''
      echo oops >&2
      exit 3
  - name: two
    bash: |
      printf '[%s]' "{one.stdout}" {one.stderr} {one.exit-code} '{one.output}'
"#,
    );
    let outcome = test.call("pass").await;
    let hostile = "$(touch pwned) `touch pwned` \"; touch pwned #'\n\n\n";
    let expected = format!("[{hostile}][oops\n][3][{hostile}oops]");
    assert_eq!(fields(&outcome)["stdout"], expected);
    assert!(!test.path("pwned").exists());
}

#[tokio::test]
async fn a_condition_skips_its_step_alone() {
    let test = Real::new().steps(
        "maybe",
        r#"
  - name: try
    bash: exit 4
    continue-on-error: true
  - name: mend
    bash: echo mended
    run-condition: "{try.exit-code} == 4"
  - name: cheer
    bash: echo hooray
    run-condition: "{try.exit-code} == 0"
  - name: last
    bash: echo '{mend.output}+{cheer.output}'
    wait-for: [mend, cheer]
  - name: odd
    bash: echo ran
    run-condition: "{cheer.exit-code} == 0"
"#,
    );
    let outcome = test.call("maybe").await;
    assert_eq!(
        statuses(&outcome),
        "try=failed mend=ok cheer=skipped last=ok odd=skipped"
    );
    assert_eq!(fields(&outcome)["output"], "mended+");
    let cheer = &fields(&outcome)["steps"]["cheer"];
    assert_eq!(cheer["reason"], "its run-condition does not hold");
    assert_eq!(cheer["attempts"], 0);
}

#[tokio::test]
async fn a_condition_that_throws_fails_its_step_and_is_named() {
    let test = Real::new().steps(
        "throws",
        r#"
  - name: one
    bash: echo 1
  - name: two
    bash: touch ran
    run-condition: "{one.stdout}.nothing.more"
  - name: three
    bash: touch ran
"#,
    );
    let outcome = test.call("throws").await;
    assert_eq!(statuses(&outcome), "one=ok two=failed three=skipped");
    let error = outcome.error().unwrap();
    assert_eq!(error.code(), ErrorCode::ExecutionError);
    assert!(
        error.message().starts_with("step `two` failed: "),
        "{error}"
    );
    assert!(
        error.message().contains("`{one.stdout}.nothing.more`"),
        "{error}"
    );
    assert!(!test.path("ran").exists());
}

#[tokio::test]
async fn a_step_is_tried_again_until_it_goes_well() {
    let test = Real::new().steps(
        "again",
        r#"
  - name: third
    bash: echo x >> count; [ "$(wc -l < count)" -ge 3 ] && echo now
    error-handling:
      retry: {attempts: 5, delay: 1, backoff: 2}
"#,
    );
    let outcome = test.call("again").await;
    let fields = fields(&outcome);
    assert_eq!(fields["steps"]["third"]["attempts"], 3, "{outcome:?}");
    assert_eq!(fields["output"], "now");
    assert_eq!(test.read("count"), "x\nx\nx\n");
}

#[tokio::test]
async fn a_fallback_takes_the_place_of_a_step_once() {
    let test = Real::new().steps(
        "instead",
        r#"
  - name: build
    bash: echo x >> count; echo no >&2; exit 4
    error-handling:
      retry: {attempts: 2, delay: 1}
      fallback: echo x >> fallback; echo instead
  - name: after
    bash: echo {build.output}, {build.exit-code}
"#,
    );
    let outcome = test.call("instead").await;
    assert_eq!(statuses(&outcome), "build=ok after=ok");
    let fields = fields(&outcome);
    assert_eq!(fields["output"], "instead, 0");
    let build = &fields["steps"]["build"];
    assert_eq!(build["attempts"], 2);
    assert_eq!(build["stdout"], "instead\n");
    assert_eq!(build["fallback"]["exitCode"], 4);
    assert_eq!(build["fallback"]["stderr"], "no\n");
    assert_eq!(build["fallback"]["message"], "exit code 4");
    assert_eq!(test.read("count"), "x\nx\n");
    assert_eq!(test.read("fallback"), "x\n");
}

#[tokio::test]
async fn a_fallback_that_fails_is_a_failure_that_reports_both() {
    let test = Real::new().steps(
        "neither",
        r#"
  - name: build
    bash: exit 4
    error-handling:
      fallback: echo still no >&2; exit 5
"#,
    );
    let outcome = test.call("neither").await;
    assert_eq!(
        outcome.error().unwrap().message(),
        "step `build` failed: exit code 5, in its fallback (after: exit code 4)\n  still no"
    );
    assert_eq!(fields(&outcome)["exitCode"], 5);
}

#[tokio::test]
async fn errors_that_are_ignored_keep_nothing_from_running() {
    let test = Real::new().steps(
        "ignoring",
        r#"
  - name: bad
    bash: exit 2
  - name: good
    bash: echo fine
ignore-errors: true
"#,
    );
    let outcome = test.call("ignoring").await;
    assert!(outcome.is_ok(), "{outcome:?}");
    assert_eq!(statuses(&outcome), "bad=failed good=ok");
    assert_eq!(fields(&outcome)["output"], "fine");
}
