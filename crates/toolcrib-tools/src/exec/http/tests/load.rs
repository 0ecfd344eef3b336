//! Many calls at once.

use serde_json::json;

use super::{Scene, call, value};
use crate::testing::{Reply, ScriptedServer};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_calls_at_once_are_all_answered_over_few_connections() {
    let server = ScriptedServer::start(|received| {
        Reply::json(&json!({"target": received.target, "padding": "x".repeat(10_000)}))
    });
    let scene = Scene::with(&server).request(json!({
        "urlTemplate": server.url("/?n=${n}"), "extractExpr": "$.target",
    }));
    let calls: Vec<_> = (0..200)
        .map(|n| scene.registry().execute_async(call(json!({"n": n}))))
        .collect();
    for (n, handle) in calls.into_iter().enumerate() {
        let outcome = handle.outcome().await;
        assert_eq!(value(&outcome), &format!("/?n={n}"));
    }
    assert_eq!(server.received().len(), 200);
    // No more run at once than the tool's places, so no more connections are open at once either.
    assert!(server.connections() <= 128, "{}", server.connections());
}
