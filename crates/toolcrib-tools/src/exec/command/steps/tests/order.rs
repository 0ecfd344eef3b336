//! What starts when, and what a failure or the end of the call does to the rest.

use proptest::prelude::*;

use super::*;

#[tokio::test]
async fn steps_start_and_end_in_the_order_of_the_graph() {
    type Case = (&'static str, Vec<Step>, &'static [&'static str]);
    let cases: Vec<Case> = vec![
        ("nothing", vec![], &[]),
        (
            "one after the other",
            vec![step("a", &[]), step("b", &[0]), step("c", &[1])],
            &["+a", "-a", "+b", "-b", "+c", "-c"],
        ),
        (
            "a step that waits for later ones",
            vec![step("a", &[1, 2]), step("b", &[]), step("c", &[1])],
            &["+b", "-b", "+c", "-c", "+a", "-a"],
        ),
    ];
    for (what, steps, expected) in cases {
        let bench = Bench::new([]);
        let ended = bench.run(steps).await;
        assert!(ended.failure.is_none(), "{what}: {:?}", ended.failure);
        assert_eq!(bench.record(), expected, "{what}");
    }
}

#[tokio::test]
async fn steps_that_wait_for_nothing_run_at_the_same_time() {
    // Each waits for the other two: were one started after another, this would not end.
    let meets = Does::Meets(3);
    let bench = Bench::new([("a", meets.clone()), ("b", meets.clone()), ("c", meets)]);
    let ended = bench
        .run(vec![
            step("a", &[]),
            step("b", &[]),
            step("c", &[]),
            step("d", &[0, 1, 2]),
        ])
        .await;
    assert_eq!(statuses(&ended), "a=ok b=ok c=ok d=ok");
    assert_eq!(bench.record()[..3], ["+a", "+b", "+c"]);
    assert_eq!(bench.record()[6..], ["+d", "-d"]);
}

#[tokio::test]
async fn what_became_of_each_step_follows_from_what_failed() {
    type Case = (Vec<Step>, OnFailure, &'static str, Option<ErrorCode>);
    let (stop, go_on) = (OnFailure::Stop, OnFailure::GoOn);
    let failed = Some(ErrorCode::ExecutionError);
    let cases: Vec<Case> = vec![
        (
            vec![step("a", &[]), step("bad", &[0]), step("c", &[1])],
            stop,
            "a=ok bad=failed c=skipped",
            failed,
        ),
        (
            vec![step("a", &[]), lenient(step("bad", &[0])), step("c", &[1])],
            stop,
            "a=ok bad=failed c=ok",
            None,
        ),
        // `ignore-errors`
        (
            vec![step("bad", &[]), step("b", &[0])],
            go_on,
            "bad=failed b=ok",
            None,
        ),
        // Another branch does not start either.
        (
            vec![step("bad", &[]), step("b", &[]), step("c", &[1])],
            stop,
            "bad=failed b=ok c=skipped",
            failed,
        ),
    ];
    for (steps, on_failure, expected, code) in cases {
        let bench = Bench::new([("bad", Does::Exits(2))]);
        let ended = bench.run_with(steps, on_failure).await;
        assert_eq!(statuses(&ended), expected);
        assert_eq!(
            ended.failure.as_ref().map(ToolError::code),
            code,
            "{expected}"
        );
    }
}

#[tokio::test]
async fn a_step_that_runs_comes_to_its_end_when_another_fails() {
    let meets = Does::Meets(2);
    // `late` is started before `bad` has failed, and is over after it.
    let bench = Bench::new([
        ("late", Does::InTurn(vec![meets.clone()])),
        ("bad", Does::Exits(1)),
        ("second", meets),
    ]);
    let ended = bench
        .run(vec![
            step("late", &[]),
            step("second", &[]),
            step("bad", &[]),
            step("rest", &[0]),
        ])
        .await;
    assert_eq!(
        statuses(&ended),
        "late=ok second=ok bad=failed rest=skipped"
    );
    assert_eq!(of(&ended, "rest", "reason"), "step `bad` failed");
    assert_eq!(of(&ended, "rest", "attempts"), 0);
}

#[tokio::test]
async fn a_cancelled_call_ends_what_runs_and_starts_nothing() {
    let bench = Arc::new(Bench::new([("a", Does::Waits), ("b", Does::Waits)]));
    let running = tokio::spawn({
        let bench = Arc::clone(&bench);
        async move {
            let steps = vec![step("a", &[]), lenient(step("b", &[])), step("c", &[0])];
            bench.run(steps).await
        }
    });
    while bench.record().len() < 2 {
        tokio::task::yield_now().await;
    }
    bench.cancel.cancel();
    let ended = running.await.unwrap();
    assert_eq!(statuses(&ended), "a=cancelled b=cancelled c=cancelled");
    assert_eq!(of(&ended, "a", "stdout"), "so far\n");
    let error = ended.into_result().unwrap_err();
    assert_eq!(error.code(), ErrorCode::Cancelled);
    assert!(error.message().contains("step `a`"), "{error}");
}

#[tokio::test]
async fn a_call_whose_tool_no_one_polls_any_more_still_says_what_became_of_its_steps() {
    let bench = Bench::new([("a", Does::Waits)]);
    let cancel = bench.cancel.clone();
    let steps = vec![step("quick", &[]), step("a", &[0]), step("b", &[1])];
    let watch = async {
        while bench.record().len() < 3 {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    // As the pipeline does: the tool's future is dropped with the call.
    let _ = cancel
        .run_until_cancelled(futures_util::future::join(bench.run(steps), watch))
        .await;
    bench.cx.all_ended().await;
    let partial = bench.cx.take_partial();
    assert_eq!(partial["steps"]["quick"]["status"], "ok");
    assert_eq!(partial["steps"]["a"]["status"], "cancelled");
    assert_eq!(partial["steps"]["b"]["status"], "cancelled");
    assert_eq!(partial["stdout"], "so far\n");
}

#[tokio::test]
async fn what_is_ended_by_the_deadline_of_the_call_is_a_timeout() {
    let bench = Arc::new(Bench::within(
        Duration::from_millis(1),
        [("a", Does::Waits)],
    ));
    let cancel = bench.cancel.clone();
    let late = async {
        while !bench.cx.remaining().is_zero() || bench.record().is_empty() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let steps = vec![step("a", &[]), step("b", &[0])];
    let (ended, ()) = futures_util::future::join(bench.run(steps), late).await;
    assert_eq!(statuses(&ended), "a=timeout b=cancelled");
    assert_eq!(ended.failure.unwrap().code(), ErrorCode::Timeout);
}

#[tokio::test]
async fn no_more_steps_run_at_once_than_may() {
    let script: HashMap<String, Does> = (0..100)
        .map(|number| (format!("s{number}"), Does::Waits))
        .collect();
    let steps = script.keys().map(|name| step(name, &[])).collect();
    let bench = Bench::scripted(Duration::from_secs(60), script);
    let look = async {
        while bench.record().is_empty() {
            tokio::task::yield_now().await;
        }
        // All on one thread: whatever else could start by now has had its turn many times over.
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        let started = bench.record().len();
        bench.cancel.cancel();
        started
    };
    let (_, started) = futures_util::future::join(bench.run(steps), look).await;
    assert_eq!(started, super::super::AT_ONCE);
}

/// Random graphs without circles, with what each step does and whether its failure counts.
fn graphs() -> impl Strategy<Value = Vec<(Vec<usize>, bool, bool)>> {
    (1_usize..25).prop_flat_map(|count| {
        (0..count)
            .map(|step| {
                let waits = prop::collection::vec(0..step.max(1), 0..4.min(step + 1));
                (waits, prop::bool::weighted(0.2), any::<bool>())
            })
            .collect::<Vec<_>>()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn every_graph_ends_and_every_status_has_its_reason(graph in graphs()) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let steps: Vec<Step> = graph
            .iter()
            .enumerate()
            .map(|(index, (waits, fails, lenient))| {
                let name = format!("{}{index}", if *fails { "bad" } else { "good" });
                let waits: Vec<usize> = waits.iter().copied().filter(|wait| *wait < index).collect();
                Step { continue_on_error: *lenient, ..step(&name, &waits) }
            })
            .collect();
        let script = steps.iter().filter(|step| step.name.starts_with("bad"));
        let script = script.map(|step| (step.name.clone(), Does::Exits(1))).collect();
        let bench = Bench::scripted(Duration::from_secs(60), script);
        let ended = runtime.block_on(bench.run(steps.clone()));
        let record = bench.record();
        let at = |entry: String| record.iter().position(|one| *one == entry);
        let fatal = |step: &&Step| step.name.starts_with("bad") && !step.continue_on_error;
        let ran_fatal = steps.iter().filter(fatal).any(|step| at(format!("+{}", step.name)).is_some());
        prop_assert_eq!(ended.failure.is_some(), ran_fatal);
        for step in &steps {
            let (start, end) = (at(format!("+{}", step.name)), at(format!("-{}", step.name)));
            let expected = match (start, step.name.starts_with("bad")) {
                (None, _) => "skipped",
                (Some(_), true) => "failed",
                (Some(_), false) => "ok",
            };
            prop_assert_eq!(of(&ended, &step.name, "status"), expected);
            prop_assert_eq!(start.is_some(), end.is_some());
            prop_assert!(start.is_some() || ran_fatal, "{} was left out", step.name);
            for wait in &step.wait_for {
                let before = at(format!("-{}", steps[*wait].name));
                prop_assert!(start.is_none() || before.is_some_and(|before| Some(before) < start));
            }
        }
    }
}
