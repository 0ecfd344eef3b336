//! Up to 2025-11-25 over HTTP: sessions, streams that a client comes back to, questions to the client.

use std::sync::atomic::Ordering;

use http::Method;
use serde_json::{Value, json};
use toolcrib_mcp::server::ChangeNotice;

use crate::http::{Events, INITIALIZE, Stage};

/// Begins a session and says that the client is ready.
async fn begin(stage: &Stage) -> String {
    let got = stage.send(Method::POST, &[], INITIALIZE).await;
    assert_eq!(got.status(), 200);
    let id = got.header("mcp-session-id").unwrap().to_owned();
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let got = stage.post(&[("mcp-session-id", &id)], ready).await;
    assert_eq!(got.status(), 202);
    id
}

fn call(id: i64, tool: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "_meta": {"progressToken": 1}}})
}

fn said(message: &Value) -> &str {
    message["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{message}"))
}

async fn listen(stage: &Stage, session: &str, last: &str) -> Events {
    let headers = [("mcp-session-id", session), ("last-event-id", last)];
    let got = stage.send(Method::GET, &headers, "").await;
    assert_eq!(got.status(), 200);
    got.events()
}

#[tokio::test]
async fn news_come_before_the_answer_on_a_stream_that_begins_with_a_place_to_come_back_to() {
    let stage = Stage::new();
    let id = begin(&stage).await;
    let mut events = stage
        .post(&[("mcp-session-id", &id)], call(1, "tell"))
        .await
        .events();
    assert_eq!(
        events.raw().await.unwrap(),
        "id: 1-0\nretry: 1000\ndata:\n\n"
    );
    let (at, first) = events.message().await.unwrap();
    assert_eq!(at.as_deref(), Some("1-1"));
    assert_eq!(
        first,
        json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1, "total": 2, "message": "half"}})
    );
    assert_eq!(events.message().await.unwrap().1["params"]["progress"], 2);
    assert_eq!(said(&events.message().await.unwrap().1), "told");
    assert_eq!(events.message().await, None);
}

#[tokio::test]
async fn older_clients_are_not_sent_events_without_data() {
    let stage = Stage::new();
    let initialize = INITIALIZE.replace("2025-11-25", "2025-06-18");
    let got = stage.send(Method::POST, &[], initialize).await;
    let id = got.header("mcp-session-id").unwrap().to_owned();
    let mut events = stage
        .post(&[("mcp-session-id", &id)], call(1, "tell"))
        .await
        .events();
    assert_eq!(events.raw().await.unwrap(), ": \n\n");
}

#[tokio::test(start_paused = true)]
async fn a_broken_connection_takes_nothing_back_and_the_answer_waits_for_the_client_to_come_back() {
    let stage = Stage::new();
    let id = begin(&stage).await;
    let mut events = stage
        .post(&[("mcp-session-id", &id)], call(1, "wait"))
        .await
        .events();
    let primed = events.raw().await.unwrap();
    assert!(primed.starts_with("id: 1-0\n"), "{primed}");
    drop(events);
    stage.tools.go.notify_one();
    let mut events = listen(&stage, &id, "1-0").await;
    let (at, answer) = events.message().await.unwrap();
    assert_eq!((at.as_deref(), said(&answer)), (Some("1-1"), "waited"));
    assert_eq!(events.message().await, None);
    assert_eq!(
        listen(&stage, &id, "1-1").await.message().await,
        None,
        "not twice"
    );
    assert_eq!(
        said(&listen(&stage, &id, "1-0").await.message().await.unwrap().1),
        "waited"
    );
    let got = stage
        .send(
            Method::GET,
            &[("mcp-session-id", &id), ("last-event-id", "9-1")],
            "",
        )
        .await;
    assert_eq!(got.status(), 400);
    assert_eq!(stage.tools.given_up.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_client_is_asked_on_the_stream_of_its_request_and_answers_with_a_post() {
    let stage = Stage::new();
    let id = begin(&stage).await;
    let mut events = stage
        .post(&[("mcp-session-id", &id)], call(1, "ask"))
        .await
        .events();
    let question = events.message().await.unwrap().1;
    assert_eq!(question["method"], "elicitation/create");
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {}}});
    // Someone else's answer is no one's.
    let message = answer.to_string();
    let got = stage
        .send_as(
            "client:other",
            Method::POST,
            &[("mcp-session-id", &id)],
            message,
        )
        .await;
    assert_eq!(got.status(), 404);
    assert_eq!(
        stage
            .post(&[("mcp-session-id", &id)], answer)
            .await
            .status(),
        202
    );
    let answer = events.message().await.unwrap().1;
    assert!(said(&answer).contains("accept"), "{answer}");
}

#[tokio::test]
async fn a_client_that_takes_no_streams_is_asked_on_that_of_its_session_or_not_at_all() {
    let stage = Stage::new();
    let id = begin(&stage).await;
    let headers = [
        ("mcp-session-id", id.as_str()),
        ("accept", "application/json"),
    ];
    let answer = stage.post(&headers, call(1, "ask")).await.json();
    assert_eq!(said(&answer), "Err(Gone)");
    assert_eq!(
        said(&stage.post(&headers, call(2, "tell")).await.json()),
        "told"
    );
    let mut events = listen(&stage, &id, "").await;
    let asked = stage.post(&headers, call(3, "ask"));
    let answered = async {
        let question = events.message().await.unwrap().1;
        let answer =
            json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}});
        assert_eq!(stage.post(&headers, answer).await.status(), 202);
    };
    let (got, ()) = futures_util::future::join(asked, answered).await;
    assert!(said(&got.json()).contains("decline"));
}

#[tokio::test]
async fn changes_are_reported_on_the_stream_of_the_session_once_and_who_opens_it_again_takes_it_over()
 {
    let stage = Stage::new();
    let id = begin(&stage).await;
    stage.server.changed(ChangeNotice::Tools);
    let mut first = listen(&stage, &id, "").await;
    let (at, change) = first.message().await.unwrap();
    assert_eq!(change["method"], "notifications/tools/list_changed");
    assert_eq!(at.as_deref(), Some("0-1"));
    let mut second = listen(&stage, &id, "").await;
    assert_eq!(first.message().await, None);
    stage.server.changed(ChangeNotice::Tools);
    assert_eq!(second.message().await.unwrap().0.as_deref(), Some("0-2"));
    drop(second);
    let mut again = listen(&stage, &id, "0-1").await;
    assert_eq!(again.message().await.unwrap().0.as_deref(), Some("0-2"));
}

#[tokio::test(start_paused = true)]
async fn a_session_that_ends_takes_what_runs_in_it_with_it() {
    let stage = Stage::new();
    let id = begin(&stage).await;
    let mut standalone = listen(&stage, &id, "").await;
    let mut events = stage
        .post(&[("mcp-session-id", &id)], call(1, "wait"))
        .await
        .events();
    let other = stage
        .send_as(
            "client:other",
            Method::DELETE,
            &[("mcp-session-id", &id)],
            "",
        )
        .await;
    assert_eq!(other.status(), 404);
    let got = stage
        .send(Method::DELETE, &[("mcp-session-id", &id)], "")
        .await;
    assert_eq!(got.status(), 204);
    assert_eq!(standalone.message().await, None);
    while events.message().await.is_some() {}
    assert_eq!(
        stage
            .post(&[("mcp-session-id", &id)], call(2, "echo"))
            .await
            .status(),
        404
    );
    while stage.tools.given_up.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn sessions_of_those_who_are_gone_end() {
    let stage = Stage::new();
    let got = stage
        .send_as("client:a", Method::POST, &[], INITIALIZE)
        .await;
    let id = got.header("mcp-session-id").unwrap().to_owned();
    stage
        .server
        .end_sessions(|principal| principal == "client:b");
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let headers = [("mcp-session-id", id.as_str())];
    assert_eq!(
        stage
            .send_as("client:a", Method::POST, &headers, ping)
            .await
            .status(),
        200
    );
    stage
        .server
        .end_sessions(|principal| principal == "client:a");
    assert_eq!(
        stage
            .send_as("client:a", Method::POST, &headers, ping)
            .await
            .status(),
        404
    );
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_taken_back_is_cancelled_and_its_stream_ends() {
    let stage = Stage::new();
    let id = begin(&stage).await;
    let mut events = stage
        .post(&[("mcp-session-id", &id)], call(1, "wait"))
        .await
        .events();
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    assert_eq!(
        stage
            .post(&[("mcp-session-id", &id)], cancel)
            .await
            .status(),
        202
    );
    assert_eq!(events.message().await, None);
    assert_eq!(stage.tools.given_up.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn headers_cannot_hide_that_a_request_is_of_the_newer_era() {
    let stage = Stage::new();
    let id = begin(&stage).await;
    let message = crate::http::modern(
        "tools/call",
        json!({"name": "echo", "arguments": {"text": "x"}}),
    );
    for version in ["", "2025-11-25", "2025-03-26"] {
        for session in ["", id.as_str()] {
            let headers = [
                ("mcp-protocol-version", version),
                ("mcp-session-id", session),
            ];
            let got = stage.post(&headers, message.clone()).await;
            assert_eq!(got.error(), (400, -32020), "{headers:?}");
        }
    }
    let got = stage
        .post(
            &[
                ("mcp-protocol-version", "nonsense"),
                ("mcp-session-id", &id),
            ],
            call(1, "echo"),
        )
        .await;
    assert_eq!(got.error(), (400, -32022));
    let got = stage
        .send(
            Method::GET,
            &[
                ("mcp-protocol-version", "nonsense"),
                ("mcp-session-id", &id),
            ],
            "",
        )
        .await;
    assert_eq!(got.error(), (400, -32022));
}
