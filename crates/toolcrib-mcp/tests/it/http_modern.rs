//! Since 2026-07-28 over HTTP: headers and body, streams that are the life of a request, subscriptions.

use std::sync::atomic::Ordering;

use futures_util::{FutureExt as _, StreamExt as _};
use serde_json::{Value, json};
use toolcrib_mcp::server::ChangeNotice;

use crate::http::{Stage, modern};

const VERSION: (&str, &str) = ("mcp-protocol-version", "2026-07-28");

fn call(tool: &str) -> Value {
    modern("tools/call", json!({"name": tool}))
}

fn headers(tool: &str) -> Vec<(&str, &str)> {
    vec![VERSION, ("mcp-method", "tools/call"), ("mcp-name", tool)]
}

#[tokio::test]
async fn what_headers_say_is_held_against_the_body() {
    let stage = Stage::new();
    let echo = modern(
        "tools/call",
        json!({"name": "echo", "arguments": {"text": "Hi"}}),
    );
    let method = ("mcp-method", "tools/call");
    let name = ("mcp-name", "echo");
    let text = ("mcp-param-text", "Hi");
    let taken = stage
        .post(&[VERSION, method, name, text], echo.clone())
        .await;
    assert_eq!(taken.status(), 200);
    let encoded = [
        VERSION,
        method,
        ("mcp-name", "=?base64?ZWNobw==?="),
        ("mcp-param-text", "=?base64?SGk=?="),
    ];
    assert_eq!(stage.post(&encoded, echo.clone()).await.status(), 200);
    let refused: [&[(&str, &str)]; 8] = [
        &[VERSION, name, text],
        &[VERSION, method, text],
        &[VERSION, method, name],
        &[VERSION, ("mcp-method", "tools/list"), name, text],
        &[VERSION, ("mcp-method", "TOOLS/CALL"), name, text],
        &[VERSION, method, ("mcp-name", "other"), text],
        &[VERSION, method, name, ("mcp-param-text", "Ho")],
        &[VERSION, method, name, ("mcp-param-text", "=?base64?SGk?=")],
    ];
    for headers in refused {
        let got = stage.post(headers, echo.clone()).await;
        assert_eq!(got.error(), (400, -32020), "{headers:?}");
    }
    let read = modern("resources/read", json!({"uri": "test://ä"}));
    let method = ("mcp-method", "resources/read");
    let got = stage
        .post(
            &[VERSION, method, ("mcp-name", "=?base64?dGVzdDovL8Ok?=")],
            read.clone(),
        )
        .await;
    assert_eq!(got.status(), 200);
    assert_eq!(
        stage.post(&[VERSION, method], read).await.error(),
        (400, -32020)
    );
}

#[tokio::test]
async fn versions_and_what_a_request_must_say_of_itself_are_checked() {
    let stage = Stage::new();
    let method = ("mcp-method", "tools/list");
    let mut list = modern("tools/list", json!({}));
    list["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "v999".into();
    let got = stage.post(&[VERSION, method], list.clone()).await;
    assert_eq!(got.error(), (400, -32020));
    let got = stage
        .post(&[("mcp-protocol-version", "v999"), method], list)
        .await;
    assert_eq!(got.status(), 400);
    let body = got.json();
    assert_eq!(body["error"]["code"], -32022);
    assert_eq!(body["error"]["data"]["requested"], "v999");
    assert_eq!(body["id"], 7);
    let bare = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list"});
    assert_eq!(
        stage.post(&[VERSION, method], bare).await.error(),
        (400, -32602)
    );
    assert_eq!(
        stage.post(&headers("needs"), call("needs")).await.error(),
        (400, -32021)
    );
    assert_eq!(
        stage.post(&headers("no"), call("no")).await.error(),
        (200, -32602)
    );
    let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
    assert_eq!(stage.post(&[VERSION], answer).await.error(), (400, -32600));
    let notification = json!({"jsonrpc": "2.0", "method": "notifications/whatever"});
    assert_eq!(stage.post(&[VERSION], notification).await.status(), 202);
}

#[tokio::test]
async fn a_session_means_nothing_and_none_is_given() {
    let stage = Stage::new();
    let mut headers = headers("tell");
    headers.push(("mcp-session-id", "whatever"));
    headers.push(("accept", "application/json"));
    let got = stage.post(&headers, call("tell")).await;
    assert_eq!(got.header("mcp-session-id"), None);
    assert_eq!(got.json()["result"]["content"][0]["text"], "told");
}

#[tokio::test]
async fn news_make_a_stream_without_places_to_come_back_to() {
    let stage = Stage::new();
    let mut events = stage.post(&headers("tell"), call("tell")).await.events();
    for progress in [1, 2] {
        let (at, message) = events.message().await.unwrap();
        assert_eq!(at, None);
        assert_eq!(message["params"]["progress"], progress);
    }
    let answer = events.message().await.unwrap().1;
    assert_eq!(answer["result"]["resultType"], "complete");
    assert_eq!(events.message().await, None);
}

#[tokio::test(start_paused = true)]
async fn who_closes_the_stream_takes_the_request_back() {
    let stage = Stage::new();
    let mut events = stage.post(&headers("wait"), call("wait")).await.events();
    assert_eq!(events.raw().await.unwrap(), ": \n\n", "it takes a moment");
    drop(events);
    assert_eq!(stage.tools.given_up.load(Ordering::SeqCst), 1);
    let mut events = stage.post(&headers("wait"), call("wait")).await.events();
    stage.tools.go.notify_one();
    let answer = events.message().await.unwrap().1;
    assert_eq!(answer["result"]["content"][0]["text"], "waited");
}

#[tokio::test]
async fn who_goes_before_the_answer_is_a_stream_takes_the_request_back_too() {
    let stage = Stage::new();
    let headers = headers("wait");
    let asked = stage.post(&headers, call("wait")).now_or_never();
    assert!(asked.is_none(), "it waits");
    assert_eq!(stage.tools.given_up.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_subscription_is_a_stream_that_says_it_is_there() {
    let stage = Stage::new();
    let listen = modern(
        "subscriptions/listen",
        json!({"notifications": {"toolsListChanged": true}}),
    );
    let headers = [VERSION, ("mcp-method", "subscriptions/listen")];
    let mut json_only = headers.to_vec();
    json_only.push(("accept", "application/json"));
    assert_eq!(stage.post(&json_only, listen.clone()).await.status(), 406);
    let mut events = stage.post(&headers, listen).await.events();
    let first = events.message().await.unwrap().1;
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    stage.server.changed(ChangeNotice::Tools);
    let change = events.message().await.unwrap().1;
    assert_eq!(change["method"], "notifications/tools/list_changed");
    assert_eq!(
        change["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        7
    );
    let quiet = tokio::time::Instant::now();
    assert_eq!(events.0.next().await.unwrap(), ": \n\n");
    assert_eq!(quiet.elapsed().as_secs(), 15);
    stage.server.close();
    let answer = events.message().await.unwrap().1;
    assert_eq!(
        (&answer["id"], &answer["result"]["resultType"]),
        (&json!(7), &json!("complete"))
    );
    assert_eq!(events.message().await, None);
}
