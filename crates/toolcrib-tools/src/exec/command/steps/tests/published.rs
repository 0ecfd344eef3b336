//! What a call says of its steps: value, details, message, events.

use super::*;
use crate::definition::StreamTo;

fn streamed(step: Step, to: StreamTo) -> Step {
    Step {
        output: OutputMode {
            stream_to: Some(to),
            buffer_limit: None,
        },
        ..step
    }
}

/// The fields of a step without how long it took.
fn fields(ended: &Ended, step: &str) -> Value {
    let mut fields = ended.fields["steps"][step].clone();
    let took = fields.as_object_mut().unwrap().shift_remove("durationMs");
    assert!(took.unwrap().is_u64());
    fields
}

#[tokio::test]
async fn a_value_has_the_last_output_and_every_step() {
    let bench = Bench::new([("a", Does::Prints("first")), ("b", Does::Exits(0))]);
    let ended = bench.run(vec![step("a", &[]), step("b", &[0])]).await;
    assert_eq!(
        fields(&ended, "a"),
        json!({
            "status": "ok", "output": "first", "stdout": "first", "stderr": "", "exitCode": 0, "attempts": 1,
        })
    );
    let value = ended.into_result().unwrap().value;
    assert_eq!(value["output"], "out\none\ntwo");
    assert_eq!(value["stdout"], "out\n");
    assert_eq!(value["stderr"], "one\ntwo\n");
    assert_eq!(value["exitCode"], 0);
    let names: Vec<&String> = value["steps"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["a", "b"]);
}

#[tokio::test]
async fn the_last_output_is_that_of_the_last_in_the_file_whichever_ends_last() {
    let bench = Bench::new([("a", Does::Prints("a")), ("b", Does::Prints("b"))]);
    let ended = bench.run(vec![step("a", &[1]), step("b", &[])]).await;
    assert_eq!(ended.fields["output"], "b");
}

#[tokio::test]
async fn a_failure_names_the_step_and_ends_with_what_it_complained() {
    let bench = Bench::new([("build", Does::Exits(2))]);
    let ended = bench
        .run(vec![step("build", &[]), step("rest", &[0])])
        .await;
    let error = ended.into_result().unwrap_err();
    assert_eq!(error.code(), ErrorCode::ExecutionError);
    assert_eq!(
        error.message(),
        "step `build` failed: `build` ended with exit code 2\n  one\n  two"
    );
    let details = error.details().unwrap();
    assert_eq!(details["exitCode"], 2);
    assert_eq!(details["stderr"], "one\ntwo\n");
    assert_eq!(
        details["steps"]["build"]["error"]["code"],
        "EXECUTION_ERROR"
    );
    assert_eq!(details["steps"]["rest"]["status"], "skipped");
}

#[tokio::test]
async fn a_failure_that_may_be_is_noted_for_who_reads_the_text() {
    let bench = Bench::new([("lint", Does::Exits(1)), ("test", Does::Prints("passed"))]);
    let ended = bench
        .run(vec![lenient(step("lint", &[])), step("test", &[0])])
        .await;
    let output = ended.into_result().unwrap();
    assert_eq!(output.value["exitCode"], 0);
    assert_eq!(
        output.text(),
        "passed\n[step `lint` failed: `lint` ended with exit code 1]\n"
    );
}

#[tokio::test]
async fn of_several_failures_the_first_is_reported_and_the_others_are_named() {
    let bench = Bench::new([("a", Does::Exits(1)), ("b", Does::Exits(2))]);
    let ended = bench.run(vec![step("a", &[]), step("b", &[])]).await;
    let message = ended.failure.unwrap().message().to_owned();
    assert!(message.contains("step `a` failed"), "{message}");
    assert!(message.contains("; so did `b`"), "{message}");
}

#[tokio::test]
async fn steps_without_their_own_output_pass_their_result_on_when_they_are_over() {
    let bench = Bench::new([("a", Does::Exits(0)), ("b", Does::Prints("b"))]);
    let steps = vec![step("a", &[]), streamed(step("b", &[0]), StreamTo::Console)];
    bench.run(steps).await;
    let events: Vec<Value> = bench
        .events()
        .await
        .into_iter()
        .map(|event| serde_json::to_value(event).unwrap())
        .collect();
    assert_eq!(
        Value::from(events),
        json!([
            {"event": "step", "name": "a", "status": "running"},
            {"event": "output", "stream": "stdout", "chunk": "out\n", "step": "a"},
            {"event": "output", "stream": "stderr", "chunk": "one\ntwo\n", "step": "a"},
            {"event": "step", "name": "a", "status": "ok"},
            {"event": "step", "name": "b", "status": "running"},
            {"event": "output", "stream": "stdout", "chunk": "b", "step": "b", "console": true},
            {"event": "step", "name": "b", "status": "ok"},
        ])
    );
}

#[tokio::test]
async fn a_file_takes_the_output_of_its_steps_and_the_result_names_it() {
    let bench = Bench::new([("a", Does::Prints("one ")), ("b/c", Does::Prints("two"))]);
    let shared = || StreamTo::File(Some("logs/all.log".to_owned()));
    let ended = bench
        .run(vec![
            streamed(step("a", &[]), shared()),
            streamed(step("b/c", &[0]), StreamTo::File(None)),
            streamed(step("a2", &[1]), shared()),
        ])
        .await;
    assert_eq!(of(&ended, "a", "file"), "logs/all.log");
    assert_eq!(of(&ended, "b/c", "file"), "many-b-c.log");
    let read = |name: &str| {
        let path = bench.workspace.path().join(name);
        std::fs::read_to_string(path).unwrap()
    };
    assert_eq!(read("logs/all.log"), "one done");
    assert_eq!(read("many-b-c.log"), "two");
    let events = bench.events().await;
    let output = |event: &EventKind| matches!(event, EventKind::Output { .. });
    assert!(!events.iter().any(output), "{events:?}");
}

#[tokio::test]
async fn a_file_that_may_not_be_written_fails_the_step_before_it_runs() {
    for (name, code) in [
        (".git/hooks/pre-commit", ErrorCode::PermissionDenied),
        ("../out.log", ErrorCode::InvalidPath),
        ("/etc/motd", ErrorCode::InvalidPath),
    ] {
        let bench = Bench::new([]);
        let to = StreamTo::File(Some(name.to_owned()));
        let ended = bench.run(vec![streamed(step("a", &[]), to)]).await;
        assert_eq!(of(&ended, "a", "error")["code"], code.as_str());
        assert_eq!(of(&ended, "a", "attempts"), 0);
        assert!(bench.record().is_empty());
    }
}

#[tokio::test]
async fn the_texts_of_many_steps_together_have_a_bound() {
    let script: HashMap<String, Does> = (0..30)
        .map(|number| (format!("s{number}"), Does::PrintsMuch(900_000)))
        .collect();
    let steps: Vec<Step> = script.keys().map(|name| step(name, &[])).collect();
    let bench = Bench::scripted(Duration::from_secs(60), script);
    let ended = bench.run(steps).await;
    let size = serde_json::to_string(&ended.fields["steps"]).unwrap().len();
    assert!(size < 9 * 1024 * 1024, "{size}");
    assert!(bench.cx.take_notes().truncated);
    let text = of(&ended, "s7", "stdout").as_str().unwrap();
    assert!(text.contains("bytes left out]"), "{}", text.len());
}
