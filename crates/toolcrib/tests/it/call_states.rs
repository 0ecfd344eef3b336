//! Ids that callers give are their own, and the status of a call can be read, also after a restart.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use tokio::sync::Notify;
use toolcrib::record::replay::{DEFAULT_KEEP, in_directory};
use toolcrib::registry::CallState;
use toolcrib::{CallId, CallRequest, Caller, ErrorCode, EventKind, Registry};

use crate::tools::{code, echo, simple};

fn ada() -> Caller {
    Caller::Client("ada".to_owned())
}

fn bob() -> Caller {
    Caller::Client("bob".to_owned())
}

fn id(text: &str) -> CallId {
    CallId::parse(text).unwrap()
}

fn saying(text: &str, call: &str, caller: Caller) -> CallRequest {
    let request = CallRequest::new("echo").arg("text", text);
    request.call_id(id(call)).caller(caller)
}

/// A registry in its own process, with the outcomes of all in one directory.
fn process(home: &Path) -> Registry {
    let registry = Registry::builder()
        .replay(in_directory(home.join("ids"), DEFAULT_KEEP))
        .build();
    registry.register(echo()).unwrap();
    registry
}

fn in_memory() -> Registry {
    let registry = Registry::new();
    registry.register(echo()).unwrap();
    registry
}

#[tokio::test]
async fn an_id_that_one_caller_gave_is_a_conflict_for_another_and_shows_nothing() {
    let home = tempfile::tempdir().unwrap();
    let (disk, other) = (process(home.path()), process(home.path()));
    let memory = in_memory();
    for (first, then) in [(&memory, &memory), (&disk, &disk), (&disk, &other)] {
        let mine = first
            .execute(saying("a secret of ada's", "mine", ada()))
            .await;
        assert!(mine.is_ok(), "{mine:?}");
        for caller in [
            bob(),
            Caller::Operator,
            Caller::Library,
            Caller::Client(String::new()),
        ] {
            let theirs = then
                .execute(saying("a secret of ada's", "mine", caller))
                .await;
            assert_eq!(code(&theirs), ErrorCode::Conflict);
            assert_eq!(theirs.value(), None);
            let message = theirs.error().unwrap().message();
            assert!(message.contains("by another caller"), "{message}");
        }
        let again = then
            .execute(saying("a secret of ada's", "mine", ada()))
            .await;
        assert_eq!(again.value(), mine.value());
    }
}

#[tokio::test]
async fn how_a_call_ended_is_known_with_its_caller_after_a_restart() {
    let home = tempfile::tempdir().unwrap();
    let registry = process(home.path());
    assert!(registry.call_state(&id("mine")).unwrap().is_none());
    assert!(!home.path().join("ids").exists(), "asking makes nothing");
    registry.execute(saying("x", "mine", ada())).await;
    registry
        .execute(CallRequest::new("nothing_like_it").call_id(id("refused")))
        .await;
    for registry in [registry, process(home.path())] {
        let Some(CallState::Done(caller, outcome)) = registry.call_state(&id("mine")).unwrap()
        else {
            panic!("it is over")
        };
        assert_eq!((caller, outcome.value()), (ada(), Some(&json!("x"))));
        assert!(registry.call_state(&id("other")).unwrap().is_none());
        let refused = registry.call_state(&id("refused")).unwrap();
        assert!(refused.is_none(), "it did not reach its tool: {refused:?}");
    }
    let memory = in_memory();
    memory.execute(saying("x", "mine", ada())).await;
    let state = memory.call_state(&id("mine")).unwrap().unwrap();
    assert_eq!(state.caller(), &ada());
    assert!(matches!(state, CallState::Done(..)));
}

#[tokio::test]
async fn an_outcome_is_kept_for_an_id_that_was_made_up_when_a_caller_wants_it() {
    let registry = in_memory();
    let request = CallRequest::new("echo").arg("text", "x");
    let plain = registry.execute(request.clone()).await;
    assert!(registry.call_state(&plain.call_id).unwrap().is_none());
    let kept = registry.execute(request.clone().keep_outcome()).await;
    let state = registry.call_state(&kept.call_id).unwrap();
    assert!(matches!(state, Some(CallState::Done(..))), "{state:?}");
    let own = request.call_id(id("own")).keep_outcome();
    assert_eq!(own.call_id, Some(id("own")));
}

#[tokio::test]
async fn a_call_that_runs_runs_here_or_elsewhere_and_one_whose_process_died_is_lost() {
    let home = tempfile::tempdir().unwrap();
    let (here, elsewhere) = (process(home.path()), process(home.path()));
    let end = Arc::new(Notify::new());
    let ending = Arc::clone(&end);
    let waiting = simple("wait", move |_cx| {
        let end = Arc::clone(&ending);
        async move {
            end.notified().await;
            Ok(json!(null))
        }
    });
    here.register(waiting).unwrap();
    let request = |call: &str| CallRequest::new("wait").caller(ada()).call_id(id(call));
    let handle = here.execute_async(request("mine"));
    let mut events = handle.events();
    let started = events.next().await.unwrap();
    assert!(
        matches!(started.kind, EventKind::Started { .. }),
        "{started:?}"
    );
    let state = here.call_state(&id("mine")).unwrap();
    let Some(CallState::Running(call)) = state else {
        panic!("it runs: {state:?}")
    };
    assert_eq!(
        (call.tool.as_str(), &call.caller, call.call_id),
        ("wait", &ada(), id("mine"))
    );
    let state = elsewhere.call_state(&id("mine")).unwrap();
    assert!(
        matches!(&state, Some(CallState::Elsewhere(caller)) if *caller == ada()),
        "{state:?}"
    );
    end.notify_one();
    assert!(handle.outcome().await.is_ok());
    let state = elsewhere.call_state(&id("mine")).unwrap();
    assert!(matches!(state, Some(CallState::Done(..))), "{state:?}");

    // The waiting caller goes away within it.
    let mut dropped = Box::pin(here.execute(request("lost")));
    let soon = std::time::Duration::from_millis(50);
    assert!(tokio::time::timeout(soon, &mut dropped).await.is_err());
    drop(dropped);
    for registry in [&here, &elsewhere] {
        let state = registry.call_state(&id("lost")).unwrap();
        assert!(
            matches!(&state, Some(CallState::Lost(caller)) if *caller == ada()),
            "{state:?}"
        );
    }
}

#[tokio::test]
async fn the_id_of_a_call_that_runs_by_an_id_of_ours_cannot_be_taken() {
    let registry = in_memory();
    let end = Arc::new(Notify::new());
    let ending = Arc::clone(&end);
    let waiting = simple("wait", move |_cx| {
        let end = Arc::clone(&ending);
        async move {
            end.notified().await;
            Ok(json!(null))
        }
    });
    registry.register(waiting).unwrap();
    let handle = registry.execute_async(CallRequest::new("wait").caller(ada()));
    handle.events().next().await.unwrap();
    let taken = CallRequest::new("echo").arg("text", "x").caller(bob());
    let outcome = registry.execute(taken.call_id(handle.id().clone())).await;
    assert_eq!(code(&outcome), ErrorCode::Conflict);
    let [call] = &registry.running()[..] else {
        panic!("one runs")
    };
    assert_eq!(call.caller, ada());
    end.notify_one();
    assert!(handle.outcome().await.is_ok());
}
