//! Calls by `/mcp`: their places among those of REST, and who is asked about them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Response};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use toolcrib::FnTool;
use toolcrib::approval::{ApprovalResponse, Status};
use toolcrib_mcp::protocol::Era;
use toolcrib_mcp::server::{Ask, Context, Host as _, Reply};
use toolcrib_server::api::Body;
use toolcrib_server::mcp::{CribHost, HostOptions};

use crate::harness::{Asking, Scene};

/// A server with these settings, and tools that say when they run.
struct Stage {
    scene: Scene,
    /// What lets `hold` go.
    go: Arc<Semaphore>,
    /// How many `hold` have begun.
    held: Arc<AtomicUsize>,
    /// How often `mark` has run.
    marked: Arc<AtomicUsize>,
}

impl Stage {
    fn new(settings: &str) -> Self {
        let scene = Scene::prepared(
            tempfile::tempdir().unwrap(),
            |home, _| std::fs::write(home.join("config.toml"), settings).unwrap(),
            |options| options,
        );
        let stage = Stage {
            scene,
            go: Arc::new(Semaphore::new(0)),
            held: Arc::default(),
            marked: Arc::default(),
        };
        for (name, asks) in [("hold", false), ("hold_if_asked", true)] {
            let (go, held) = (Arc::clone(&stage.go), Arc::clone(&stage.held));
            let hold = FnTool::new(name, "Holds", move |(), _cx| {
                let (go, held) = (Arc::clone(&go), Arc::clone(&held));
                async move {
                    held.fetch_add(1, Ordering::SeqCst);
                    go.acquire().await.unwrap().forget();
                    Ok("held")
                }
            });
            let hold = hold.unwrap();
            let hold = if asks { hold.always_ask() } else { hold };
            stage.scene.crib.registry().register(hold).unwrap();
        }
        for (name, asks) in [("mark", false), ("mark_if_asked", true)] {
            let marked = Arc::clone(&stage.marked);
            let mark = FnTool::new(name, "Marks", move |(), _cx| {
                let marked = Arc::clone(&marked);
                async move { Ok(format!("marked {}", marked.fetch_add(1, Ordering::SeqCst))) }
            });
            let mark = mark.unwrap();
            let mark = if asks { mark.always_ask() } else { mark };
            stage.scene.crib.registry().register(mark).unwrap();
        }
        stage
    }

    fn marked(&self) -> usize {
        self.marked.load(Ordering::SeqCst)
    }

    async fn until_held(&self, count: usize) {
        let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
        while self.held.load(Ordering::SeqCst) < count {
            assert!(tokio::time::Instant::now() < deadline, "it never runs");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Someone answers the one question in the queue.
    fn approve(&self) {
        let waiting = self.scene.crib.approvals().list(Some(Status::Pending));
        let question = waiting.unwrap().requests.pop().unwrap().request;
        let digest = Some(question.args_digest.as_str());
        let yes = ApprovalResponse::approve("Ada");
        self.scene.crib.answer(&question.id, digest, yes).unwrap();
    }
}

async fn post(asking: &Asking<'_>, message: Value) -> Response<Body> {
    let body = Bytes::from(message.to_string());
    asking
        .raw(Method::POST, "/mcp", "application/json", Some(body))
        .await
}

/// Begins a session in which every request follows.
async fn session<'a>(asking: Asking<'a>, capabilities: Value) -> Asking<'a> {
    let message = json!({
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "test", "version": "1"}},
    });
    let response = post(&asking, message).await;
    let session = response.headers()["mcp-session-id"]
        .to_str()
        .unwrap()
        .to_owned();
    let asking = asking.header("mcp-session-id", &session);
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(post(&asking, ready).await.status(), 202);
    asking
}

fn call(id: u64, tool: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": {}}})
}

/// A call of the newer era, by a client that can be asked; with the answer to its question, if one is given.
async fn modern_call(asking: &Asking<'_>, tool: &str, answer: Option<(Value, &Value)>) -> Value {
    let mut params = json!({"name": tool, "arguments": {}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
    }});
    if let Some((responses, state)) = answer {
        params["inputResponses"] = responses;
        params["requestState"] = state.clone();
    }
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    last(post(asking, message).await.into_body()).await
}

fn modern<'a>(asking: Asking<'a>, tool: &str) -> Asking<'a> {
    asking
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", tool)
}

/// The answer of a request, whether it comes as JSON or as the last event of a stream; null if there is none.
async fn last(body: Body) -> Value {
    let bytes = tokio::time::timeout(Duration::from_secs(20), body.collect()).await;
    let text = String::from_utf8(bytes.unwrap().unwrap().to_bytes().to_vec()).unwrap();
    let mut events = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let whole = events.next_back().unwrap_or(&text);
    serde_json::from_str(whole).unwrap_or(Value::Null)
}

fn approves() -> Value {
    json!({"approval": {"action": "accept", "content": {"decision": "approve"}}})
}

fn is_stream(response: &Response<Body>) -> bool {
    response.headers()["content-type"] == "text/event-stream"
}

#[tokio::test]
async fn a_request_that_is_taken_back_while_it_waits_for_a_place_runs_nothing() {
    let stage = Stage::new("server.maxCalls = 1\n");
    let client = session(stage.scene.as_operator(), json!({})).await;
    let holds = post(&client, call(1, "hold")).await;
    stage.until_held(1).await;
    let waits = post(&client, call(2, "mark")).await;
    assert!(is_stream(&waits), "it has no place yet");
    let back =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}});
    assert_eq!(post(&client, back).await.status(), 202);
    let next = post(&client, call(3, "mark")).await;
    stage.go.add_permits(1);
    assert_eq!(
        last(next.into_body()).await["result"]["content"][0]["text"],
        "marked 0"
    );
    last(holds.into_body()).await;
    assert_eq!(last(waits.into_body()).await["result"], Value::Null);
    assert_eq!(stage.marked(), 1);
}

#[tokio::test]
async fn a_call_that_goes_on_in_the_background_has_its_place_until_it_is_over() {
    let stage = Stage::new("server.maxCalls = 1\n");
    let operator = modern(stage.scene.as_operator(), "hold_if_asked");
    let asked = modern_call(&operator, "hold_if_asked", None).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    // A call that waits for a person keeps no one out.
    let client = session(stage.scene.as_operator(), json!({})).await;
    last(post(&client, call(1, "mark")).await.into_body()).await;
    assert_eq!(stage.marked(), 1);
    stage.approve();
    stage.until_held(1).await;
    let waits = post(&client, call(2, "mark")).await;
    assert!(is_stream(&waits), "there is one place, and it is taken");
    stage.go.add_permits(1);
    last(waits.into_body()).await;
    assert_eq!(stage.marked(), 2);
}

/// APR-006, by this way.
#[tokio::test]
async fn a_clients_token_approves_nothing_unless_the_operator_vouched_for_it() {
    let stage = Stage::new("mcp.approvalWaitMs = 200\n");
    let tool = "mark_if_asked";
    let app = stage.scene.as_client("app");
    let token = app.token().to_owned();
    let app = modern(app, tool);
    let waits = modern_call(&app, tool, None).await;
    assert_eq!(
        waits["result"]["_meta"]["toolcrib/call"]["status"], "pending",
        "{waits}"
    );
    let older = stage.scene.with_token(&token);
    let older = session(older, json!({"elicitation": {"form": {}}})).await;
    let response = post(&older, call(1, tool)).await.into_body();
    let text = response.collect().await.unwrap().to_bytes();
    let text = String::from_utf8(text.to_vec()).unwrap();
    assert!(!text.contains("elicitation/create"), "{text}");
    // An answer of the same client on pipes, where its person started it, does not count here.
    let on_pipes = CribHost::new(Arc::clone(&stage.scene.crib), HostOptions::default());
    let mut context = Context::detached(Era::Modern, "client:app");
    let offered = json!({"elicitation": {"form": {}}});
    context.capabilities = Arc::new(serde_json::from_value(offered).unwrap());
    let ask = Ask::CallTool {
        name: tool.to_owned(),
        arguments: None,
        input: None,
    };
    let asked = on_pipes.answer(ask, context).await.unwrap();
    let Reply::InputRequired { state, .. } = asked else {
        panic!("not asked: {asked:?}");
    };
    let state = json!(state);
    let refused = modern_call(&app, tool, Some((approves(), &state))).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let why = refused["error"]["message"].as_str().unwrap();
    assert!(why.contains("clients add NAME --elicitation"), "{why}");
    assert_eq!(stage.marked(), 0);
}

#[tokio::test]
async fn the_operator_and_clients_that_are_vouched_for_are_asked_in_both_eras() {
    let stage = Stage::new("");
    let tool = "mark_if_asked";
    let (status, made) = stage
        .scene
        .as_operator()
        .post("/api/clients", json!({"name": "desk", "elicitation": true}))
        .await;
    assert_eq!((status.as_u16(), &made["elicitation"]), (201, &json!(true)));
    let (_, listed) = stage.scene.as_operator().get("/api/clients").await;
    assert_eq!(listed["clients"][0]["elicitation"], true, "{listed}");
    let token = made["token"].as_str().unwrap().to_owned();
    let whoever = || [stage.scene.as_operator(), stage.scene.with_token(&token)];
    for asking in whoever() {
        let before = stage.marked();
        let asking = modern(asking, tool);
        let asked = modern_call(&asking, tool, None).await;
        let state = &asked["result"]["requestState"];
        let done = modern_call(&asking, tool, Some((approves(), state))).await;
        assert_eq!(
            done["result"]["content"][0]["text"],
            format!("marked {before}"),
            "{done}"
        );
        let again = modern_call(&asking, tool, Some((approves(), state))).await;
        assert_eq!(again["error"]["code"], -32602, "{again}");
        assert_eq!(stage.marked(), before + 1);
    }
    for asking in whoever() {
        let before = stage.marked();
        let client = session(asking, json!({"elicitation": {"form": {}}})).await;
        let mut stream = post(&client, call(1, tool)).await.into_body();
        let asked = loop {
            let frame = tokio::time::timeout(Duration::from_secs(20), stream.frame()).await;
            let frame = frame.unwrap().unwrap().unwrap().into_data().unwrap();
            let text = String::from_utf8(frame.to_vec()).unwrap();
            let data = text.lines().find_map(|line| line.strip_prefix("data: "));
            if let Some(data) = data.filter(|data| data.contains("elicitation/create")) {
                break serde_json::from_str::<Value>(data).unwrap();
            }
        };
        let yes = json!({"jsonrpc": "2.0", "id": asked["id"], "result": approves()["approval"]});
        assert_eq!(post(&client, yes).await.status(), 202);
        let done = last(stream).await;
        assert_eq!(
            done["result"]["content"][0]["text"],
            format!("marked {before}"),
            "{done}"
        );
    }
}
