//! Many calls at once, of one and of several clients.

use futures_util::future::join_all;
use serde_json::json;

use super::{Stage, call, soon};

#[tokio::test]
async fn a_flood_is_bounded_and_asked_to_come_back() {
    let stage = Stage::with_settings("[server]\nmaxCalls = 8\nmaxWaiting = 100\n");
    let operator = stage.operator();
    let flood = join_all((0..1000).map(|_| operator.post("/api/calls", call("hold", json!({})))));
    let watch = async {
        soon(|| (stage.scene.crib.registry().running().len() == 6).then_some(())).await;
        // After all others are reported, it is still so.
        let observer = stage.scene.api.observer();
        soon(|| (observer.in_flight() == 106).then_some(())).await;
        assert_eq!(stage.scene.crib.registry().running().len(), 6);
        stage.release.add_permits(1000);
    };
    let (answers, ()) = futures_util::future::join(flood, watch).await;
    let count = |wanted: u16| {
        answers
            .iter()
            .filter(|(status, _)| *status == wanted)
            .count()
    };
    assert_eq!((count(200), count(429)), (106, 894));
    let refused = answers.iter().find(|(status, _)| *status == 429).unwrap();
    assert_eq!(refused.1["error"]["code"], "RATE_LIMITED");
    assert_eq!(refused.1["error"]["details"]["retryAfterMs"], 1000);
}

#[tokio::test]
async fn a_flood_of_one_client_does_not_keep_another_out() {
    let stage = Stage::with_settings("[server]\nmaxCalls = 8\n");
    let (flooder, other) = (stage.client("flooder"), stage.client("other"));
    let flood = join_all((0..200).map(|_| flooder.post("/api/calls", call("hold", json!({})))));
    let visit = async {
        soon(|| (stage.scene.crib.registry().running().len() == 6).then_some(())).await;
        let (status, _) = other
            .post("/api/calls", call("echo", json!({"text": "a"})))
            .await;
        assert_eq!(status, 200);
        stage.release.add_permits(200);
    };
    let (answers, ()) = futures_util::future::join(flood, visit).await;
    assert!(answers.iter().all(|(status, _)| *status == 200));
}

#[tokio::test]
async fn calls_that_wait_for_people_do_not_take_the_places_of_others() {
    let stage = Stage::with_settings("[server]\nmaxCalls = 2\n");
    let operator = stage.operator();
    let asking = join_all((0..5).map(|number| {
        let body =
            json!({"tool": "ask", "callId": format!("a-{number}"), "approvalWaitMs": 15_000});
        operator.post("/api/calls", body)
    }));
    let visit = async {
        soon(|| {
            let running = stage.scene.crib.registry().running();
            let waiting = running.iter().filter(|call| call.approval.is_some());
            (waiting.count() == 5).then_some(())
        })
        .await;
        let (status, _) = operator
            .post("/api/calls", call("echo", json!({"text": "a"})))
            .await;
        assert_eq!(status, 200);
        for number in 0..5 {
            let path = format!("/api/calls/a-{number}/cancel");
            operator.send(http::Method::POST, &path, None).await;
        }
    };
    let (answers, ()) = futures_util::future::join(asking, visit).await;
    assert!(
        answers
            .iter()
            .all(|(_, outcome)| outcome["error"]["code"] == "CANCELLED")
    );
}

#[tokio::test]
async fn a_call_that_waits_too_long_for_a_place_is_informed() {
    let stage = Stage::with_settings("[server]\nmaxCalls = 1\n");
    let operator = stage.operator();
    let holding = operator.post("/api/calls", call("hold", json!({})));
    let late = async {
        soon(|| (!stage.scene.crib.registry().running().is_empty()).then_some(())).await;
        let body = json!({"tool": "echo", "args": {"text": "a"}, "timeoutMs": 30});
        let (status, refused) = operator.post("/api/calls", body).await;
        assert_eq!(status, 429, "{refused}");
        stage.release.add_permits(1);
    };
    futures_util::future::join(holding, late).await;
}

#[tokio::test]
async fn calls_inside_calls_take_no_place() {
    let stage = Stage::with_settings("[server]\nmaxCalls = 1\n");
    let outer = toolcrib::FnTool::new("outer", "Calls another", |(), cx| async move {
        let inner = cx
            .call(toolcrib::CallRequest::new("echo").arg("text", "inside"))
            .await;
        Ok(inner.into_result()?.value)
    });
    stage
        .scene
        .crib
        .registry()
        .register(outer.unwrap())
        .unwrap();
    let (status, outcome) = stage
        .operator()
        .post("/api/calls", call("outer", json!({})))
        .await;
    assert_eq!(
        (status.as_u16(), &outcome["value"]),
        (200, &json!("inside"))
    );
}
