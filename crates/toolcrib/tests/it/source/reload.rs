//! Files are the truth: what changes on disk changes what is called, at once and as a whole.

use std::time::{Duration, Instant};

use super::*;

#[tokio::test]
async fn a_change_a_new_file_and_a_removal_are_seen_by_the_next_call() {
    let scene = Scene::new();
    let path = scene.write(&format!("{USER}/greet.yaml"), &says("one"));
    let crib = scene.open();
    assert_eq!(said(&crib, "greet").await, "one");
    // Of one length, and faster than clocks of file systems tick.
    for number in 100..400 {
        scene.write(&format!("{USER}/greet.yaml"), &says(&number.to_string()));
        let greet = crib.registry().find("greet").unwrap();
        assert_eq!(greet.spec().description, format!("Says {number}"));
    }
    assert_eq!(said(&crib, "greet").await, "399");
    scene.write(&format!("{USER}/other.yaml"), &says("other"));
    assert_eq!(said(&crib, "other").await, "other");
    std::fs::rename(scene.path(&format!("{USER}/other.yaml")), &path).unwrap();
    assert_eq!(said(&crib, "greet").await, "other");
    assert_eq!(refused(&crib, "other").await.0, ErrorCode::ToolNotFound);
    std::fs::remove_dir_all(scene.path(USER)).unwrap();
    assert_eq!(refused(&crib, "greet").await.0, ErrorCode::ToolNotFound);
    assert!(!crib.reload(), "nothing is left to do");
}

#[tokio::test]
async fn a_running_call_keeps_the_tool_it_began_with() {
    let scene = Scene::new();
    let gate = scene.path("work/gate");
    let slow = "description: Waits\nbash: |\n  touch started\n  while [ ! -e gate ]; do sleep 0.01; done\n  echo old\ntags: [run]\n";
    scene.write(&format!("{USER}/slow.yaml"), slow);
    let crib = scene.open();
    let running = crib.registry().execute_async(CallRequest::new("slow"));
    let deadline = Instant::now() + Duration::from_secs(20);
    while !scene.path("work/started").exists() {
        assert!(Instant::now() < deadline, "it does not start");
        tokio::task::yield_now().await;
    }
    scene.write(&format!("{USER}/slow.yaml"), &says("new"));
    assert_eq!(said(&crib, "slow").await, "new");
    std::fs::remove_file(scene.path(&format!("{USER}/slow.yaml"))).unwrap();
    assert_eq!(refused(&crib, "slow").await.0, ErrorCode::ToolNotFound);
    std::fs::write(gate, "").unwrap();
    let outcome = running.outcome().await;
    assert_eq!(outcome.value().unwrap()["output"], "old");
}

#[tokio::test]
async fn a_half_written_file_does_not_cost_the_tool() {
    let scene = Scene::new();
    let path = scene.write(&format!("{USER}/greet.yaml"), &says("one"));
    let crib = scene.open();
    assert_eq!(said(&crib, "greet").await, "one");
    // An editor that empties the file first: for a moment the tool stays what it was.
    let emptied = Instant::now();
    std::fs::write(&path, "").unwrap();
    let during = call(&crib, "greet").await;
    if emptied.elapsed() < Duration::from_millis(50) {
        assert_eq!(during.value().unwrap()["output"], "one");
    }
    std::fs::write(&path, says("two")).unwrap();
    assert_eq!(said(&crib, "greet").await, "two");
    // What stays broken is broken, and comes back when it is mended.
    std::fs::write(&path, "bash: [").unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while call(&crib, "greet").await.value().is_some() {
        assert!(
            Instant::now() < deadline,
            "the broken file is never noticed"
        );
    }
    assert_eq!(refused(&crib, "greet").await.0, ErrorCode::ToolUnavailable);
    std::fs::write(&path, says("three")).unwrap();
    assert_eq!(said(&crib, "greet").await, "three");
}

#[tokio::test]
async fn tools_that_did_not_change_keep_what_they_count() {
    let scene = Scene::new();
    scene.write("home/config.toml", "[limits]\nmaxCallsPerMinute = 2\n");
    scene.write(&format!("{USER}/greet.yaml"), &says("hello"));
    let crib = scene.open();
    let before = crib.registry().find("greet").unwrap();
    said(&crib, "greet").await;
    said(&crib, "greet").await;
    scene.write(&format!("{USER}/other.yaml"), &says("other"));
    assert_eq!(said(&crib, "other").await, "other");
    let outcome = call(&crib, "greet").await;
    assert_eq!(outcome.error().unwrap().code(), ErrorCode::RateLimited);
    let after = crib.registry().find("greet").unwrap();
    assert!(std::sync::Arc::ptr_eq(&before, &after));
}

/// The other process of the next test: makes one call in the home that the environment names. On its own it does nothing.
#[tokio::test]
async fn child() {
    let Some(root) = std::env::var_os("TOOLCRIB_TEST_RATES") else {
        return;
    };
    let scene = Scene::at(root.into());
    let outcome = call(&scene.open(), "greet").await;
    let code = outcome.error().map(toolcrib::ToolError::code);
    match std::env::var("TOOLCRIB_TEST_REFUSED").is_ok() {
        true => assert_eq!(code, Some(ErrorCode::RateLimited)),
        false => assert_eq!(code, None),
    }
}

#[tokio::test]
async fn calls_per_minute_are_those_of_all_processes_of_a_home() {
    let scene = Scene::new();
    scene.write("home/config.toml", "[limits]\nmaxCallsPerMinute = 2\n");
    scene.write(&format!("{USER}/greet.yaml"), &says("hello"));
    scene.write(&format!("{USER}/other.yaml"), &says("other"));
    let child = |refused: bool| {
        let mut child = crate::syscalls::test_in_child("source::reload::child");
        child.env("TOOLCRIB_TEST_RATES", scene.path(""));
        if refused {
            child.env("TOOLCRIB_TEST_REFUSED", "1");
        }
        assert!(child.status().unwrap().success(), "refused: {refused}");
    };
    child(false);
    let crib = scene.open();
    said(&crib, "greet").await;
    child(true);
    let refused = call(&crib, "greet").await;
    let error = refused.error().unwrap();
    assert_eq!(error.code(), ErrorCode::RateLimited);
    let wait = error.details().unwrap()["retryAfterMs"].as_u64().unwrap();
    assert!((1..=30_000).contains(&wait), "{wait}");
    // Each tool is counted by itself; a file that makes no sense counts as none.
    said(&crib, "other").await;
    scene.write("home/state/rates.json", "{\"torn");
    said(&crib, "greet").await;
}

#[tokio::test]
async fn an_alias_follows_its_base() {
    let scene = Scene::new();
    scene.write(&format!("{USER}/greet.yaml"), &says("one"));
    scene.write(
        &format!("{USER}/welcome.yaml"),
        "type: alias\nbase-tool: greet\ntags: [read]\n",
    );
    let crib = scene.open();
    let description = |crib: &Crib| {
        let entry = crib.registry().find("welcome").unwrap();
        entry.spec().description.clone()
    };
    assert_eq!(description(&crib), "Says one");
    scene.write(&format!("{USER}/greet.yaml"), &says("two"));
    assert_eq!(description(&crib), "Says two");
    assert_eq!(said(&crib, "welcome").await, "two");
}

#[tokio::test]
async fn many_changes_at_once_are_swapped_in_as_a_whole() {
    let scene = Scene::new();
    let crib = scene.open();
    for number in 0..100 {
        scene.write(&format!("{USER}/t{number}.yaml"), &says("x"));
    }
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let known = crib.registry().entries();
        let files = known
            .iter()
            .filter(|entry| entry.spec().bundle.as_str() == "user");
        match files.count() {
            100 => break,
            0 => assert!(Instant::now() < deadline, "they never come"),
            some => panic!("{some} of 100"),
        }
    }
}

#[test]
fn the_digest_to_which_approvals_are_bound_changes_with_the_file() {
    let scene = Scene::new();
    let text = "description: Greets\nbash: echo one\ntags: [read]\n";
    scene.write(&format!("{USER}/greet.yaml"), text);
    let crib = scene.open();
    let before = crib.registry().find("greet").unwrap();
    scene.write(&format!("{USER}/greet.yaml"), &text.replace("one", "two"));
    let after = crib.registry().find("greet").unwrap();
    assert_ne!(before.digest(), after.digest());
}
