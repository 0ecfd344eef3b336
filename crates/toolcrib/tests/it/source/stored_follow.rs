//! The store beneath a crib that is open: other processes, edits by hand, damage, and calls that run meanwhile.

use std::time::{Duration, Instant};

use toolcrib::registry::Availability;
use toolcrib::serde_json::{self, json};

use super::stored::{bundle, draft, file_of, manifest, put, saying};
use super::*;

#[tokio::test]
async fn what_one_process_changes_another_finds_at_its_next_look() {
    let scene = Scene::new();
    let (one, other) = (scene.open(), scene.open());
    let acme = bundle(&one, "acme");
    put(&one, saying(acme, "hello", "v1", "one"));
    assert_eq!(said(&other, "hello").await, "one");
    put(&other, saying(acme, "hello", "v2", "two"));
    assert_eq!(said(&one, "hello").await, "two");
    one.set_enabled(&["acme/hello@v2"], false).unwrap();
    assert_eq!(said(&other, "hello").await, "one");
    other.set_bundle_enabled("acme", false).unwrap();
    let (code, _) = refused(&one, "hello").await;
    assert_eq!(code, ErrorCode::ToolDisabled);
    other.set_bundle_enabled("acme", true).unwrap();
    one.delete_tool("acme/hello@v1").unwrap();
    let (code, _) = refused(&other, "acme/hello@v1").await;
    assert_eq!(code, ErrorCode::ToolNotFound);
    // A bundle with another name.
    one.put_bundle(acme, draft("renamed")).unwrap();
    one.set_enabled(&["renamed/hello@v2"], true).unwrap();
    assert_eq!(said(&other, "renamed/hello").await, "two");
    let (code, _) = refused(&other, "acme/hello").await;
    assert_eq!(code, ErrorCode::ToolNotFound);
}

#[tokio::test]
async fn an_edit_by_hand_is_found() {
    let scene = Scene::new();
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    let stored = put(&crib, saying(acme, "hello", "v1", "one"));
    assert_eq!(said(&crib, "hello").await, "one");
    let file = file_of(&scene, &stored);
    let text = String::from_utf8(stored.bytes.to_vec()).unwrap();
    std::fs::write(&file, text.replace("echo one", "echo other")).unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while said(&crib, "hello").await != "other" {
        assert!(Instant::now() < deadline, "no one looked");
    }
}

#[tokio::test]
async fn a_call_that_runs_keeps_its_tool() {
    let scene = Scene::new();
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    let waits = json!({"slug": "waits", "tags": ["write"], "impl": {"bash": "touch began; while [ ! -e go ]; do sleep 0.01; done; echo done"}});
    put(&crib, manifest(acme, waits));
    let running = crib.registry().execute_async(CallRequest::new("waits"));
    let deadline = Instant::now() + Duration::from_secs(10);
    while !scene.path("work/began").exists() {
        assert!(Instant::now() < deadline, "it does not begin");
        tokio::task::yield_now().await;
    }
    crib.delete_tool("acme/waits").unwrap();
    crib.delete_bundle("acme").unwrap();
    scene.write("work/go", "");
    let outcome = running.outcome().await;
    assert_eq!(outcome.value().unwrap()["output"], "done");
    let (code, _) = refused(&crib, "waits").await;
    assert_eq!(code, ErrorCode::ToolNotFound);
}

#[tokio::test]
async fn a_damaged_record_keeps_its_name_and_nothing_else_is_affected() {
    let scene = Scene::new();
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    let stored = put(&crib, saying(acme, "hello", "v1", "one"));
    put(&crib, saying(acme, "other", "v1", "fine"));
    let file = file_of(&scene, &stored);
    let text = String::from_utf8(stored.bytes.to_vec()).unwrap();
    std::fs::write(&file, text.replace("\"command\"", "\"nonsense\"")).unwrap();
    crib.reload();
    let (code, why) = refused(&crib, "acme/hello").await;
    assert_eq!(code, ErrorCode::ToolUnavailable, "{why}");
    assert!(why.contains("doctor --fix"), "{why}");
    assert_eq!(said(&crib, "other").await, "fine");
    let problems = crib.store_problems();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(crib.bundle("acme").unwrap().problem.is_some());
    // No one writes over it.
    let error = crib
        .put_tool(saying(acme, "hello", "v1", "new"))
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::StorageError);
    std::fs::write(&file, &text).unwrap();
    crib.reload();
    assert_eq!(said(&crib, "hello").await, "one");
    assert!(crib.store_problems().is_empty());
}

#[tokio::test]
async fn a_record_by_hand_that_makes_no_sense_says_what_is_wrong() {
    let scene = Scene::new();
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    let stored = put(&crib, saying(acme, "hello", "v1", "one"));
    let text = String::from_utf8(stored.bytes.to_vec()).unwrap();
    let file = file_of(&scene, &stored);
    std::fs::write(&file, text.replace("\"bash\"", "\"bahs\"")).unwrap();
    crib.reload();
    let (code, why) = refused(&crib, "hello").await;
    assert_eq!(code, ErrorCode::ToolUnavailable);
    assert!(why.contains("bahs"), "{why}");
    std::fs::write(
        &file,
        text.replace("\"type\": \"object\"", "\"type\": \"text\""),
    )
    .unwrap();
    crib.reload();
    let (code, why) = refused(&crib, "hello").await;
    assert_eq!(code, ErrorCode::ToolUnavailable);
    assert!(why.contains("argSchema"), "{why}");
}

#[tokio::test]
async fn the_tools_of_a_damaged_bundle_are_off_and_keep_their_names() {
    let scene = Scene::new();
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    let fine = bundle(&crib, "fine");
    put(&crib, saying(acme, "hello", "v1", "one"));
    put(&crib, saying(fine, "other", "v1", "fine"));
    let path = scene.path(&format!("home/bundles/{acme}/bundle.json"));
    let text = std::fs::read(&path).unwrap();
    std::fs::write(&path, "{").unwrap();
    crib.reload();
    let error = call(&crib, "hello").await.error().unwrap().clone();
    assert_eq!(error.code(), ErrorCode::ToolDisabled, "{error}");
    assert!(error.message().contains("acme"), "{error}");
    assert_eq!(said(&crib, "other").await, "fine");
    let view = crib.bundle(&acme.to_string()).unwrap();
    assert!(view.problem.is_some());
    assert_eq!(view.tools, 1);
    let error = crib.delete_bundle(&acme.to_string()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::StorageError);
    // Without knowing its name, too.
    let fresh = scene.open();
    let (code, _) = refused(&fresh, "hello").await;
    assert_eq!(code, ErrorCode::ToolDisabled);
    assert_eq!(said(&fresh, "other").await, "fine");
    std::fs::write(&path, text).unwrap();
    crib.reload();
    fresh.reload();
    assert_eq!(said(&crib, "acme/hello").await, "one");
    assert_eq!(said(&fresh, "acme/hello").await, "one");
}

#[tokio::test]
async fn a_store_that_cannot_be_read_is_a_warning() {
    let scene = Scene::new();
    let bundles = scene.write("home/bundles", "a file in the way");
    let crib = scene.open();
    let warnings = crib.warnings();
    assert!(
        warnings.iter().any(|one| one.contains("store")),
        "{warnings:?}"
    );
    assert!(!crib.store_problems().is_empty());
    assert!(crib.registry().find("read_file").is_ok());
    std::fs::remove_file(bundles).unwrap();
    let acme = bundle(&crib, "acme");
    put(&crib, saying(acme, "hello", "v1", "one"));
    assert_eq!(said(&crib, "hello").await, "one");
    assert!(crib.warnings().is_empty());
}

#[tokio::test]
async fn flags_that_cannot_be_read_switch_stored_tools_off_as_well() {
    let scene = Scene::new();
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    put(&crib, saying(acme, "hello", "v1", "one"));
    put(&crib, saying(acme, "hello", "v2", "two"));
    scene.write("home/state/flags.json", "{");
    for tool in ["acme/hello@v1", "hello"] {
        let (code, _) = refused(&crib, tool).await;
        assert_eq!(code, ErrorCode::ToolDisabled);
    }
    put(&crib, saying(acme, "third", "v1", "x"));
    let (code, _) = refused(&crib, "third").await;
    assert_eq!(code, ErrorCode::ToolDisabled);
    std::fs::remove_file(scene.path("home/state/flags.json")).unwrap();
    assert_eq!(said(&crib, "hello").await, "two");
}

#[test]
fn opening_reaps_once_a_day_and_only_if_something_is_in_the_bin() {
    let scene = Scene::new();
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    let stamp = scene.path("home/state/reaped.json");
    drop(scene.open());
    assert!(!stamp.exists());
    crib.delete_bundle("acme").unwrap();
    // Three days ago.
    let path = scene.path(&format!("home/bundles/{acme}/bundle.json"));
    let mut text: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let then = days_ago(3);
    text["softDeletedAt"] = json!(then);
    text["modifiedAt"] = json!(then);
    text["createdAt"] = json!(then);
    std::fs::write(&path, text.to_string()).unwrap();
    let crib = scene.open();
    assert!(stamp.exists());
    assert!(!path.exists());
    assert!(crib.store_problems().is_empty());
    let before = std::fs::metadata(&stamp).unwrap().modified().unwrap();
    bundle(&crib, "acme");
    crib.delete_bundle("acme").unwrap();
    drop(scene.open());
    let after = std::fs::metadata(&stamp).unwrap().modified().unwrap();
    assert_eq!(before, after);
}

fn days_ago(days: i64) -> String {
    let now = jiff::Timestamp::now();
    let then = now - jiff::SignedDuration::from_hours(24 * days);
    then.to_string()
}

#[test]
fn a_list_of_a_bundle_makes_no_tool() {
    let scene = Scene::new();
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    let broken = json!({"slug": "late", "impl": {"bash": "echo", "platforms": ["windows"]}});
    put(&crib, manifest(acme, broken));
    let other = scene.open();
    let entries = other.bundle_tools(acme);
    assert_eq!(
        entries[0].availability_at_a_glance(),
        Availability::Ready,
        "no one has looked at its platforms yet"
    );
    assert!(matches!(
        entries[0].availability(),
        Availability::Unavailable { .. }
    ));
}
