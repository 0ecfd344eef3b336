//! How often a step is tried, and what of.

use super::*;

const SECOND: Duration = Duration::from_secs(1);

/// How often a tool was called.
fn calls(bench: &Bench, tool: &str) -> usize {
    let record = bench.record();
    record
        .iter()
        .filter(|entry| **entry == format!("+{tool}"))
        .count()
}

#[tokio::test(start_paused = true)]
async fn a_step_is_tried_until_it_goes_well() {
    let fails = Does::Fails(ErrorCode::ExecutionError);
    let bench = Bench::new([(
        "a",
        Does::InTurn(vec![Does::Exits(1), fails, Does::Prints("at last")]),
    )]);
    let ended = bench.run(vec![tried(step("a", &[]), 5, SECOND)]).await;
    assert_eq!(statuses(&ended), "a=ok");
    assert_eq!(of(&ended, "a", "attempts"), 3);
    assert_eq!(ended.into_result().unwrap().value["output"], "at last");
    let events = bench.events().await;
    let said: Vec<&str> = events
        .iter()
        .filter_map(|event| match event {
            EventKind::Progress { message, .. } => message.as_deref(),
            _ => None,
        })
        .collect();
    assert_eq!(
        said,
        [
            "step `a`, attempt 1 of 5: `a` ended with exit code 1; again in 1000 ms",
            "step `a`, attempt 2 of 5: `a`: it does not work (EXECUTION_ERROR); again in 1000 ms",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn attempts_are_all_there_are() {
    let bench = Bench::new([("a", Does::Exits(3))]);
    let ended = bench.run(vec![tried(step("a", &[]), 4, SECOND)]).await;
    assert_eq!(calls(&bench, "a"), 4);
    assert_eq!(of(&ended, "a", "attempts"), 4);
    let error = ended.into_result().unwrap_err();
    assert!(
        error.message().contains("the last of 4 attempts"),
        "{error}"
    );
}

#[tokio::test]
async fn a_refusal_is_not_tried_again() {
    let refusals = [
        ErrorCode::InvalidArguments,
        ErrorCode::ApprovalDenied,
        ErrorCode::BlockedByRule,
        ErrorCode::ToolNotFound,
        ErrorCode::ToolDisabled,
        ErrorCode::SandboxUnavailable,
    ];
    for code in refusals {
        let bench = Bench::new([("a", Does::Fails(code))]);
        let ended = bench
            .run(vec![tried(step("a", &[]), 3, Duration::ZERO)])
            .await;
        assert_eq!(calls(&bench, "a"), 1, "{code}");
        let error = ended.into_result().unwrap_err();
        // The tool itself ran; what refused is in the message and the details.
        assert_eq!(error.code(), ErrorCode::ExecutionError);
        assert!(
            error.message().starts_with("step `a` failed: `a`: "),
            "{error}"
        );
        assert!(error.message().contains(code.as_str()), "{error}");
        assert_eq!(error.details().unwrap()["code"], code.as_str());
    }
}

#[tokio::test]
async fn a_timeout_is_tried_again_and_is_a_timeout_in_the_end() {
    let bench = Bench::new([("a", Does::Fails(ErrorCode::Timeout))]);
    let ended = bench
        .run(vec![tried(step("a", &[]), 2, Duration::ZERO)])
        .await;
    assert_eq!(calls(&bench, "a"), 2);
    assert_eq!(statuses(&ended), "a=timeout");
    assert_eq!(ended.failure.unwrap().code(), ErrorCode::Timeout);
}

#[tokio::test]
async fn a_pause_that_outlasts_the_call_is_not_waited_for() {
    let bench = Bench::within(SECOND * 60, [("a", Does::Exits(1))]);
    let ended = bench.run(vec![tried(step("a", &[]), 2, SECOND * 61)]).await;
    assert_eq!(statuses(&ended), "a=failed");
    assert_eq!(calls(&bench, "a"), 1);
}

#[tokio::test]
async fn a_pause_ends_with_the_call() {
    let bench = Bench::new([("a", Does::Exits(1))]);
    let cancel = async {
        while calls(&bench, "a") < 1 || bench.record().len() < 2 {
            tokio::task::yield_now().await;
        }
        bench.cancel.cancel();
    };
    let steps = vec![tried(step("a", &[]), 2, SECOND * 30)];
    let (ended, ()) = futures_util::future::join(bench.run(steps), cancel).await;
    assert_eq!(statuses(&ended), "a=cancelled");
    assert_eq!(calls(&bench, "a"), 1);
}
