//! Servers that do not behave: whatever one does costs no one but its own callers.

use super::*;
use toolcrib::ErrorCode;

fn message(outcome: &Outcome) -> String {
    let error = outcome.error().unwrap();
    assert_eq!(error.code(), ErrorCode::UpstreamError, "{outcome:#?}");
    error.message().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_hangs_delays_no_one_else() {
    let scene = Scene::new();
    let mut hangs = fake("hang", None);
    hangs["connectTimeoutMs"] = json!(4000);
    scene.add_like("hangs", hangs).await;
    scene.add("works", fake("plain", None)).await;
    let began = Instant::now();
    let registry = scene.crib.registry();
    let slow = registry.execute(CallRequest::new("hangs/echo").arg("text", "x"));
    let quick = async {
        let outcome = registry
            .execute(CallRequest::new("works/echo").arg("text", "x"))
            .await;
        (outcome, began.elapsed())
    };
    let (slow, (quick, took)) = futures_util::future::join(slow, quick).await;
    assert_eq!(quick.value().unwrap(), "x");
    assert!(took < Duration::from_millis(3900), "{took:?}");
    assert!(
        message(&slow).contains("did not connect within 4000 ms"),
        "{slow:#?}"
    );
}

#[tokio::test]
async fn what_it_printed_and_how_it_ended_is_said() {
    let scene = Scene::new();
    scene.add_like("dies", fake("die", None)).await;
    let outcome = scene.call("echo", json!({"text": "x"})).await;
    assert!(
        message(&outcome).contains("it ended with exit code 3"),
        "{outcome:#?}"
    );
    let details = outcome.error().unwrap().details().unwrap();
    assert!(
        details["stderr"]
            .as_str()
            .unwrap()
            .contains("there is no licence")
    );
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let scene = Scene::new();
    let error = scene
        .crib
        .probe_candidate(&candidate(
            "none",
            json!({"command": "no-such-program-4711"}),
        ))
        .await
        .unwrap_err();
    assert!(error.message().contains("no-such-program-4711"), "{error}");
}

#[tokio::test]
async fn after_some_failures_in_a_row_calls_fail_at_once() {
    let scene = Scene::new();
    scene.add_like("dies", fake("die", None)).await;
    let mut last = String::new();
    for _ in 0..3 {
        last = message(&scene.call("echo", json!({"text": "x"})).await);
    }
    assert!(last.contains("exit code 3"), "{last}");
    let began = Instant::now();
    let refused = message(&scene.call("echo", json!({"text": "x"})).await);
    assert!(refused.contains("failed 3 times in a row"), "{refused}");
    assert!(began.elapsed() < Duration::from_millis(200));
    assert_eq!(scene.crib.upstreams()[0].row().state, "failing");
}

#[tokio::test]
async fn a_call_during_which_it_dies_fails_and_the_next_starts_it_again() {
    let scene = Scene::new();
    scene.add("fake", fake("plain", None)).await;
    let died = scene.call("die", json!({})).await;
    let said = message(&died);
    assert!(
        said.contains("went away during the call") && said.contains("exit code 9"),
        "{said}"
    );
    assert!(
        died.error().unwrap().details().unwrap()["stderr"]
            .as_str()
            .unwrap()
            .contains("dying now")
    );
    assert_eq!(
        scene
            .call("echo", json!({"text": "again"}))
            .await
            .value()
            .unwrap(),
        "again"
    );
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_given_up_and_the_server_goes_on() {
    let scene = Scene::new();
    let mut settings = fake("plain", None);
    settings["timeoutMs"] = json!(150);
    scene.add("fake", settings).await;
    let deadline = Instant::now() + Duration::from_secs(20);
    // It may take longer than a call to start it.
    loop {
        let late = scene.call("slow", json!({})).await;
        if late.error().unwrap().code() == ErrorCode::Timeout {
            break;
        }
        assert!(Instant::now() < deadline, "{late:#?}");
    }
}

// Over two seconds: that no one answers takes as long as someone might have.
#[tokio::test]
async fn one_that_is_deaf_has_failed_and_is_started_again() {
    let scene = Scene::new();
    let mut settings = fake("deaf", None);
    settings["timeoutMs"] = json!(1000);
    settings["connectTimeoutMs"] = json!(2000);
    scene.add_like("deaf", settings).await;
    let deadline = Instant::now() + Duration::from_secs(30);
    // It may take longer than a call to start it.
    while scene
        .call("echo", json!({"text": "x"}))
        .await
        .error()
        .unwrap()
        .code()
        != ErrorCode::Timeout
    {
        assert!(Instant::now() < deadline, "it does not start");
    }
    loop {
        let row = scene.crib.upstreams()[0].row();
        if row.state == "failing" {
            assert!(
                row.notes[0].contains("answered nothing any more"),
                "{row:?}"
            );
            break;
        }
        assert!(Instant::now() < deadline, "{row:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // The next call starts another.
    let _ = scene.call("echo", json!({"text": "x"})).await;
    assert_ne!(scene.crib.upstreams()[0].row().state, "idle");
}

#[tokio::test]
async fn one_whose_tool_is_slow_is_not_deaf() {
    let scene = Scene::new();
    let pid_file = file(&scene, "pid");
    let mut settings = fake("child", Some(&pid_file));
    settings["timeoutMs"] = json!(3000);
    scene.add_like("parent", settings).await;
    assert!(scene.call("echo", json!({"text": "x"})).await.is_ok());
    let pid = pid_in(&pid_file);
    for _ in 0..2 {
        let late = scene.call("slow", json!({})).await;
        assert_eq!(late.error().unwrap().code(), ErrorCode::Timeout);
        assert!(scene.call("echo", json!({"text": "x"})).await.is_ok());
    }
    // It is the same process all the time.
    assert_eq!(pid_in(&pid_file), pid);
    assert_eq!(scene.crib.upstreams()[0].row().state, "connected");
}

#[tokio::test]
async fn one_that_does_not_connect_within_the_time_of_a_call_is_said_not_to() {
    let scene = Scene::new();
    let mut settings = fake("hang", None);
    settings["timeoutMs"] = json!(400);
    scene.add_like("hangs", settings).await;
    let outcome = scene.call("echo", json!({"text": "x"})).await;
    assert!(
        message(&outcome).contains("did not connect within"),
        "{outcome:#?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_ten_servers_one_that_hangs_costs_the_others_nothing() {
    let scene = Scene::new();
    let probe = scene
        .crib
        .probe_candidate(&candidate("probe", fake("plain", None)))
        .await
        .unwrap();
    for number in 0..10 {
        let mut settings = fake(if number == 3 { "hang" } else { "plain" }, None);
        settings["connectTimeoutMs"] = json!(20_000);
        let candidate = candidate(&format!("s{number}"), settings);
        scene
            .crib
            .add_upstream(&candidate, Some(&probe), Replace::Never)
            .unwrap();
    }
    let crib = open(scene.home.path());
    assert_eq!(crib.upstreams().len(), 10);
    let registry = crib.registry();
    let hangs = registry.execute_async(CallRequest::new("s3/echo").arg("text", "x"));
    let calls = (0..10).filter(|number| *number != 3).map(|number| {
        registry.execute(CallRequest::new(format!("s{number}/echo")).arg("text", "x"))
    });
    for outcome in futures_util::future::join_all(calls).await {
        assert_eq!(outcome.value().unwrap(), "x");
    }
    // All others were answered while it hangs.
    assert_eq!(crib.upstream("s3").unwrap().row().state, "connecting");
    drop(hangs);
}

#[tokio::test]
async fn garbage_is_said_to_be_no_mcp() {
    let scene = Scene::new();
    let mut settings = fake("garbage", None);
    settings["connectTimeoutMs"] = json!(1000);
    let error = scene
        .crib
        .probe_candidate(&candidate("odd", settings))
        .await
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::UpstreamError, "{error}");
    let said = error.message();
    assert!(said.contains("`Welcome to my server!`"), "{said}");
}

#[tokio::test]
async fn one_that_ends_at_a_question_it_does_not_know_is_started_again() {
    let scene = Scene::new();
    let error = scene
        .crib
        .probe_candidate(&candidate("leaves", fake("leave", None)))
        .await
        .unwrap_err();
    assert!(error.message().contains("exit code 4"), "{error}");
}

#[tokio::test]
async fn nothing_of_a_server_outlives_the_crib() {
    let scene = Scene::new();
    let pid_file = file(&scene, "pid");
    scene
        .add_like("parent", fake("child", Some(&pid_file)))
        .await;
    assert!(scene.call("echo", json!({"text": "x"})).await.is_ok());
    let pid = pid_in(&pid_file);
    let Scene { home, crib } = scene;
    drop(crib);
    gone(pid);
    drop(home);
}

#[tokio::test]
async fn a_connection_that_no_one_uses_is_let_go() {
    let scene = Scene::new();
    let pid_file = file(&scene, "pid");
    let mut settings = fake("child", Some(&pid_file));
    settings["idleMs"] = json!(50);
    scene.add_like("parent", settings).await;
    assert!(scene.call("echo", json!({"text": "x"})).await.is_ok());
    let pid = pid_in(&pid_file);
    let deadline = Instant::now() + Duration::from_secs(10);
    while scene.crib.upstreams()[0].row().state != "idle" {
        assert!(Instant::now() < deadline, "it is still connected");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::task::spawn_blocking(move || gone(pid))
        .await
        .unwrap();
    assert!(scene.call("echo", json!({"text": "x"})).await.is_ok());
}

#[tokio::test]
async fn a_call_that_is_taken_back_is_reported_to_the_server() {
    let scene = Scene::new();
    let pid_file = file(&scene, "pid");
    scene
        .add_like("parent", fake("child", Some(&pid_file)))
        .await;
    let cancel = toolcrib::CancellationToken::new();
    let request = CallRequest::new("slow").cancel_with(cancel.clone());
    let handle = scene.crib.registry().execute_async(request);
    let deadline = Instant::now() + Duration::from_secs(10);
    let called = file(&scene, "pid.called");
    while !called.exists() {
        assert!(Instant::now() < deadline, "the server was not called");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    cancel.cancel();
    assert_eq!(
        handle.outcome().await.error().unwrap().code(),
        ErrorCode::Cancelled
    );
    let told = file(&scene, "pid.cancelled");
    while !told.exists() {
        assert!(Instant::now() < deadline, "the server was not informed");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
