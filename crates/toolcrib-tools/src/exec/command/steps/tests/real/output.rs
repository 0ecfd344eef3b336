//! Where output goes while a step runs.

use super::*;
use crate::call::event::EventKind;

#[tokio::test]
async fn a_file_has_the_output_while_the_step_runs() {
    let test = Real::new().steps(
        "logs",
        r#"
  - name: build
    bash: echo one; echo two >&2; until [ -e go ]; do sleep 0.02; done; echo three
    output: {mode: stream, stream-callback: file, file: logs/build.log}
  - name: own
    bash: echo own
    output: {stream-callback: file}
"#,
    );
    let call = test.registry.execute_async(CallRequest::new("logs"));
    let log = test.path("logs/build.log");
    until("first lines", || {
        std::fs::read_to_string(&log).is_ok_and(|text| text.lines().count() == 2)
    })
    .await;
    std::fs::write(test.path("go"), "").unwrap();
    let outcome = call.outcome().await;
    let fields = fields(&outcome);
    assert_eq!(
        fields["steps"]["build"]["file"], "logs/build.log",
        "{outcome:?}"
    );
    assert_eq!(fields["steps"]["own"]["file"], "logs-own.log");
    assert_eq!(
        fields["steps"]["build"]["output"],
        test.read("logs/build.log").trim_end()
    );
    assert_eq!(test.read("logs-own.log"), "own\n");
}

#[tokio::test]
async fn a_protected_file_is_refused_and_nothing_runs() {
    let test = Real::new().steps(
        "hooks",
        r#"
  - name: plant
    bash: touch ran
    output: {stream-callback: file, file: .git/hooks/pre-commit}
"#,
    );
    let outcome = test.call("hooks").await;
    let error = outcome.error().unwrap();
    assert!(error.message().contains("is protected"), "{error}");
    assert!(!test.path("ran").exists());
    assert!(!test.path(".git/hooks/pre-commit").exists());
}

#[tokio::test]
async fn streamed_output_comes_while_the_step_runs_and_is_marked() {
    for (callback, expected) in [("console", true), ("function", false)] {
        let test = Real::new().steps(
            "streams",
            &format!(
                r#"
  - name: build
    bash: echo one; until [ -e go ]; do sleep 0.02; done
    output: {{stream-callback: {callback}}}
"#
            ),
        );
        let call = test.registry.execute_async(CallRequest::new("streams"));
        let mut events = call.events();
        let first = loop {
            let event = events.next().await.expect("output before the end");
            if let EventKind::Output {
                chunk,
                step,
                console,
                ..
            } = &event.kind
            {
                break (chunk.clone(), step.clone(), *console);
            }
        };
        assert_eq!(
            first,
            ("one\n".to_owned(), Some("build".to_owned()), expected)
        );
        std::fs::write(test.path("go"), "").unwrap();
        assert!(call.outcome().await.is_ok());
    }
}

#[tokio::test]
async fn buffered_output_comes_in_one_piece_when_the_step_is_over() {
    let test = Real::new().steps(
        "buffers",
        r#"
  - name: build
    bash: echo one; sleep 0.05; echo two; echo three >&2
"#,
    );
    let call = test.registry.execute_async(CallRequest::new("buffers"));
    let mut events = call.events();
    let mut seen = Vec::new();
    while let Some(event) = events.next().await {
        match &event.kind {
            EventKind::Output { chunk, .. } => seen.push(chunk.clone()),
            EventKind::Step { status, .. } => seen.push(status.clone()),
            _ => {}
        }
    }
    assert_eq!(seen, ["running", "one\ntwo\n", "three\n", "ok"]);
}

#[tokio::test]
async fn a_limit_keeps_head_and_tail_of_a_step() {
    let test = Real::new().steps(
        "much",
        r#"
  - name: much
    bash: echo HEAD; head -c 100000 /dev/zero | tr '\0' x; echo TAIL
    output: {buffer-limit: 2048}
  - name: after
    bash: echo {much.output} | wc -c
"#,
    );
    let outcome = test.call("much").await;
    let fields = fields(&outcome);
    let text = fields["steps"]["much"]["stdout"].as_str().unwrap();
    assert!(text.len() <= 2048 && text.starts_with("HEAD"), "{text}");
    assert!(
        text.ends_with("TAIL\n") && text.contains("left out"),
        "{text}"
    );
    assert_eq!(fields["steps"]["much"]["truncated"], true);
    assert!(outcome.truncated);
    let passed_on: usize = fields["output"].as_str().unwrap().trim().parse().unwrap();
    assert!(passed_on <= 2049, "{passed_on}");
}
