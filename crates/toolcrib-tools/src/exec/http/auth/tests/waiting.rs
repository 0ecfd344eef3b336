//! One fetch for everybody who waits, whatever becomes of them.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;

use super::*;

/// A token server that answers when the test says so.
fn held_back(reply: Reply) -> (Issuer, mpsc::Sender<()>) {
    let (release, released) = mpsc::channel();
    let released = Mutex::new(released);
    let issuer = Issuer::answering(move |_, _| {
        let _ = released
            .lock()
            .unwrap()
            .recv_timeout(Duration::from_secs(10));
        reply.clone()
    });
    (issuer, release)
}

fn token() -> Reply {
    Reply::json(&json!({"access_token": "token-1", "token_type": "bearer", "expires_in": 600}))
}

async fn until(what: impl Fn() -> bool) {
    let start = Instant::now();
    while !what() {
        assert!(start.elapsed() < Duration::from_secs(10), "waited in vain");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn a_hundred_calls_make_one_request_for_a_token() {
    let (issuer, release) = held_back(token());
    let scene = issuer.scene(issuer.client_credentials());
    let calls = join_all((0..100).map(|_| scene.call()));
    let release = async {
        until(|| !issuer.asked().is_empty()).await;
        release.send(()).unwrap();
    };
    let (outcomes, ()) = tokio::join!(calls, release);
    for outcome in outcomes {
        assert!(outcome.error().is_none(), "{outcome:?}");
    }
    assert_eq!((issuer.asked().len(), issuer.seen().len()), (1, 100));
}

#[tokio::test]
async fn the_first_who_waits_may_go_away() {
    let (issuer, release) = held_back(token());
    let scene = issuer.scene(issuer.client_credentials());
    let registry = scene.registry().clone();
    let first = tokio::spawn(async move { registry.execute(CallRequest::new("t")).await });
    until(|| !issuer.asked().is_empty()).await;
    first.abort();
    assert!(first.await.is_err());
    let second = scene.call();
    let release = async { release.send(()).unwrap() };
    let (outcome, ()) = tokio::join!(second, release);
    assert!(outcome.error().is_none(), "{outcome:?}");
    assert_eq!(issuer.asked().len(), 1);
    assert_eq!(issuer.seen().last().unwrap(), "Bearer token-1");
}

#[tokio::test]
async fn a_hundred_refused_tokens_make_one_request_for_another() {
    let issuer = Issuer::giving(json!({"expires_in": 3600}));
    let scene = issuer.scene(issuer.client_credentials());
    scene.value().await;
    issuer.revoke_all();
    let outcomes = join_all((0..100).map(|_| scene.call())).await;
    for outcome in outcomes {
        assert!(outcome.error().is_none(), "{outcome:?}");
    }
    assert_eq!(issuer.asked().len(), 2);
}
