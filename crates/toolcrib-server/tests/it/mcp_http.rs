//! `/mcp`: the protocol behind the server's own doors, in process and on real sockets.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Response};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use toolcrib_server::api::Body;
use toolcrib_server::listen::{ListenError, ListenOptions, Server};

use crate::harness::{Asking, OPERATOR, Scene};
use crate::listen::{Listening, ask, options};

fn initialize() -> Value {
    json!({
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
    })
}

fn call(tool: &str, arguments: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

fn modern(method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

async fn post(asking: &Asking<'_>, message: Value) -> Response<Body> {
    let body = Bytes::from(message.to_string());
    asking
        .raw(Method::POST, "/mcp", "application/json", Some(body))
        .await
}

/// Begins a session; later requests belong to it.
async fn begin(asking: Asking<'_>) -> Asking<'_> {
    let response = post(&asking, initialize()).await;
    assert_eq!(response.status(), 200);
    let session = response.headers()["mcp-session-id"]
        .to_str()
        .unwrap()
        .to_owned();
    let asking = asking.header("mcp-session-id", &session);
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(post(&asking, ready).await.status(), 202);
    asking
}

/// The next frame of a stream; `None` at its end.
async fn frame(body: &mut Body) -> Option<String> {
    let frame = tokio::time::timeout(Duration::from_secs(20), body.frame());
    let frame = frame.await.expect("the stream says nothing")?.unwrap();
    Some(String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap())
}

async fn listen(asking: &Asking<'_>) -> Body {
    let response = asking.raw(Method::GET, "/mcp", "", None).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    response.into_body()
}

#[tokio::test]
async fn a_client_calls_tools_in_both_eras_and_the_calls_are_its_own() {
    let scene = Scene::new();
    std::fs::write(scene.work().join("a.txt"), "precious").unwrap();
    let client = scene.as_client("app");
    let token = client.token().to_owned();
    let client = begin(client).await;
    let (status, answer) = client
        .post("/mcp", call("read_file", json!({"path": "a.txt"})))
        .await;
    assert_eq!(status, 200);
    assert!(answer.to_string().contains("precious"), "{answer}");
    let modern_client = scene
        .with_token(&token)
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "read_file");
    let message = modern(
        "tools/call",
        json!({"name": "read_file", "arguments": {"path": "a.txt"}}),
    );
    let (status, answer) = modern_client.post("/mcp", message).await;
    assert_eq!(status, 200);
    assert!(
        answer["result"].to_string().contains("precious"),
        "{answer}"
    );
    let (_, calls) = scene.as_operator().get("/api/calls").await;
    let callers: Vec<&Value> = calls["calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["caller"])
        .collect();
    assert_eq!(callers, ["client:app", "client:app"]);
}

#[tokio::test]
async fn a_session_is_no_one_elses() {
    let scene = Scene::new();
    let response = post(&scene.as_client("app"), initialize()).await;
    let session = response.headers()["mcp-session-id"]
        .to_str()
        .unwrap()
        .to_owned();
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    for other in [scene.as_client("other"), scene.as_operator()] {
        let other = other.header("mcp-session-id", &session);
        assert_eq!(other.post("/mcp", list.clone()).await.0, 404);
        assert_eq!(other.get("/mcp").await.0, 404);
        assert_eq!(other.delete("/mcp").await.0, 404);
    }
}

#[tokio::test]
async fn a_client_that_is_removed_loses_its_session_and_its_stream() {
    let scene = Scene::new();
    let client = begin(scene.as_client("app")).await;
    let mut stream = listen(&client).await;
    frame(&mut stream).await.unwrap();
    let (status, _) = scene.as_operator().delete("/api/clients/app").await;
    assert!(status.is_success());
    assert_eq!(
        post(&client, call("read_file", json!({}))).await.status(),
        401
    );
    let api = scene.api.clone();
    let following = tokio::spawn(async move { api.follow_clients().await });
    assert_eq!(frame(&mut stream).await, None);
    following.abort();
}

#[tokio::test]
async fn streams_hear_that_tools_changed_and_end_with_the_server() {
    let scene = Scene::new();
    let operator = begin(scene.as_operator()).await;
    let mut older = listen(&operator).await;
    assert!(frame(&mut older).await.unwrap().starts_with("id: 0-0\n"));
    let asking = scene
        .as_operator()
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "subscriptions/listen");
    let subscribe = modern(
        "subscriptions/listen",
        json!({"notifications": {"toolsListChanged": true}}),
    );
    let mut newer = post(&asking, subscribe).await.into_body();
    assert!(
        frame(&mut newer)
            .await
            .unwrap()
            .contains("subscriptions/acknowledged")
    );
    let new = toolcrib::FnTool::new("brand_new", "Is new", |(), _cx| async { Ok(1) });
    scene.crib.registry().register(new.unwrap()).unwrap();
    for stream in [&mut older, &mut newer] {
        let told = frame(stream).await.unwrap();
        assert!(told.contains("notifications/tools/list_changed"), "{told}");
    }
    scene.api.stopping().cancel();
    assert_eq!(frame(&mut older).await, None);
    assert_eq!(frame(&mut newer).await, None);
}

/// A request as it goes over the wire.
fn written(method: &str, host: &str, headers: &[(&str, &str)], body: &str) -> String {
    let mut request = format!(
        "{method} /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request + "\r\n" + body
}

/// What a server says to a request, whole.
async fn said(server: &Listening, request: &str) -> String {
    ask(&mut server.connect().await, request).await
}

/// A call that would leave a file behind.
fn write_file() -> String {
    call("write_file", json!({"path": "made.txt", "content": "x"})).to_string()
}

/// MCP-002
#[tokio::test]
async fn pages_of_other_origins_and_names_of_other_hosts_are_refused_with_the_setting_to_change() {
    let server = Listening::start(options());
    let (token, json) = (
        format!("Bearer {OPERATOR}"),
        ("Content-Type", "application/json"),
    );
    let usual = [("Authorization", token.as_str()), json];
    for origin in [
        "http://evil.test",
        "null",
        "http://127.0.0.1.evil.test",
        "https://localhost.evil.test",
        "file://",
    ] {
        for method in ["POST", "GET", "DELETE"] {
            let mut headers = usual.to_vec();
            headers.push(("Origin", origin));
            let answer = said(
                &server,
                &written(method, "localhost", &headers, &initialize().to_string()),
            )
            .await;
            assert!(answer.starts_with("HTTP/1.1 403 "), "{origin}: {answer}");
            assert!(answer.contains("server.origins"), "{answer}");
        }
    }
    for host in [
        "evil.test",
        "127.0.0.1.evil.test",
        "host.docker.internal:7410",
    ] {
        let answer = said(
            &server,
            &written("POST", host, &usual, &initialize().to_string()),
        )
        .await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{host}: {answer}");
        assert!(
            answer.contains("server.hosts") && answer.contains(host),
            "{answer}"
        );
    }
    let answer = said(
        &server,
        &written("POST", "localhost", &usual, &initialize().to_string()),
    )
    .await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

/// MCP-003
#[tokio::test]
async fn what_a_page_can_send_without_asking_runs_nothing() {
    let server = Listening::start(options());
    let token = format!("Bearer {OPERATOR}");
    for content in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain; a=application/json",
    ] {
        let headers = [("Authorization", token.as_str()), ("Content-Type", content)];
        let answer = said(
            &server,
            &written("POST", "localhost", &headers, &write_file()),
        )
        .await;
        assert!(answer.starts_with("HTTP/1.1 415 "), "{content}: {answer}");
    }
    let headers = [("Authorization", token.as_str())];
    let answer = said(
        &server,
        &written("POST", "localhost", &headers, &write_file()),
    )
    .await;
    assert!(answer.starts_with("HTTP/1.1 415 "), "{answer}");
    assert!(!server.scene.work().join("made.txt").exists());
}

/// MCP-004
#[tokio::test]
async fn without_more_said_only_this_machine_is_listened_to() {
    let scene = Scene::new();
    let usual = scene.crib.config().server().unwrap();
    assert!(usual.addr.ip().is_loopback());
    let everywhere = ListenOptions {
        addr: Some(([0, 0, 0, 0], 0).into()),
        ..ListenOptions::default()
    };
    let refused = Server::bind(everywhere).unwrap_err();
    assert!(matches!(refused, ListenError::Plaintext(_)), "{refused}");
}

/// MCP-005, MCP-015
#[tokio::test]
async fn nothing_is_answered_without_a_token_of_this_server() {
    let server = Listening::start(options());
    let json = ("Content-Type", "application/json");
    let foreign = [
        "Bearer eyJhbGciOiJub25lIn0.eyJhdWQiOiJodHRwczovL290aGVyLmV4YW1wbGUifQ.",
        "Bearer another-servers-token-0123456789",
        "Basic b3BlcmF0b3I6eA==",
        "Bearer ",
    ];
    for method in ["POST", "GET", "DELETE"] {
        let without = written(method, "localhost", &[json], &write_file());
        let with = foreign.map(|token| {
            written(
                method,
                "localhost",
                &[json, ("Authorization", token)],
                &write_file(),
            )
        });
        for request in [without].iter().chain(&with) {
            let answer = said(&server, request).await;
            assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
            assert!(
                answer
                    .to_ascii_lowercase()
                    .contains("www-authenticate: bearer"),
                "{answer}"
            );
        }
    }
    assert!(!server.scene.work().join("made.txt").exists());
}

#[tokio::test]
async fn a_long_body_is_refused_unread() {
    let scene = Scene::with_api(|mut options| {
        options.max_body_bytes = 1024;
        options
    });
    let message = call("echo", json!({"text": "x".repeat(2000)}));
    assert_eq!(post(&scene.as_operator(), message).await.status(), 413);
}
