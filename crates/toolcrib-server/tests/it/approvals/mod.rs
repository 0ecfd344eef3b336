//! Questions over HTTP: seen and answered by the operator, never by the caller.

mod answers;
mod callers;
mod flows;
mod lists;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib::registry::CallHandle;
use toolcrib::{CallRequest, Caller};

use crate::harness::Scene;

/// A file to delete, which needs approval.
pub(crate) fn file(scene: &Scene, name: &str) {
    std::fs::write(scene.work().join(name), "precious").unwrap();
}

/// A call by the library that asks.
pub(crate) fn asks(scene: &Scene, tool: &str, args: Value) -> CallHandle {
    let request = CallRequest::new(tool).args(args.as_object().unwrap().clone());
    let registry = scene.crib.registry();
    registry.execute_async(request.caller(Caller::Operator))
}

/// Waits until so many questions are pending.
pub(crate) async fn pending(scene: &Scene, count: usize) -> Vec<Value> {
    let begun = Instant::now();
    loop {
        let (status, page) = scene
            .as_operator()
            .get("/api/approvals?status=pending")
            .await;
        assert_eq!(status, 200, "{page}");
        let found = page["approvals"].as_array().unwrap();
        if found.len() == count {
            return found.clone();
        }
        let late = begun.elapsed() > Duration::from_secs(20);
        assert!(!late, "{count} questions do not come: {page}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub(crate) async fn one_pending(scene: &Scene) -> Value {
    pending(scene, 1).await.remove(0)
}

/// Where a question is.
pub(crate) fn at(question: &Value) -> String {
    format!("/api/approvals/{}", question["id"].as_str().unwrap())
}

/// An answer to this very question.
pub(crate) fn answer(question: &Value, approved: bool) -> Value {
    json!({"approved": approved, "argsDigest": question["argsDigest"]})
}

/// An answer with something more.
pub(crate) fn answer_with(question: &Value, more: Value) -> Value {
    let mut answer = answer(question, true);
    let fields = more.as_object().unwrap().clone();
    answer.as_object_mut().unwrap().extend(fields);
    answer
}
