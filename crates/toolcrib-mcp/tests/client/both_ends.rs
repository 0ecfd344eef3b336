//! The client and the server of this crate, talking to each other: both eras, both transports.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream;
use http::Request;
use serde_json::{Value, json};
use tokio::io::{duplex, split};
use tokio::sync::mpsc;
use toolcrib_mcp::client::{
    Called, Client, ClientError, ClientOptions, Exchange, ExchangeError, ExchangeResponse,
    ServerNotice, ServerRequests, ToolCall,
};
use toolcrib_mcp::protocol::{Elicitation, Era, Implementation, Input, InputRequest, LEGACY};
use toolcrib_mcp::rpc::{RpcError, code};
use toolcrib_mcp::server::{
    Ask, Capabilities, ChangeNotice, Context, Description, Host, HttpBody, HttpRequest, Reply,
    Server, StdioOptions,
};

use crate::fake::{call, calling, options, patient, text};

#[derive(Default)]
struct Stage {
    started: AtomicUsize,
    ended: AtomicUsize,
}

/// A tool that runs, and ends by being told to or by being dropped.
struct Running(Arc<Stage>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::SeqCst);
    }
}

impl Host for Stage {
    fn description(&self) -> Description {
        Description {
            info: Implementation {
                name: "stage".to_owned(),
                version: "1".to_owned(),
                ..Implementation::default()
            },
            capabilities: Capabilities {
                tools: true,
                tools_changed: true,
                ..Capabilities::default()
            },
            instructions: Some("be kind".to_owned()),
        }
    }

    fn answer(
        self: Arc<Self>,
        ask: Ask,
        context: Context,
    ) -> BoxFuture<'static, Result<Reply, RpcError>> {
        Box::pin(async move {
            match ask {
                Ask::ListTools { cursor: None } => Reply::of(&json!({
                    "tools": [{ "name": "echo", "inputSchema": { "type": "object" } }], "nextCursor": "2",
                })),
                Ask::ListTools { cursor: Some(_) } => Reply::of(&json!({
                    "tools": [{ "name": "wait", "inputSchema": { "type": "object" } }],
                })),
                Ask::CallTool {
                    name,
                    arguments,
                    input,
                } => match name.as_str() {
                    "echo" => {
                        let arguments = arguments.map(|it| it.get().to_owned());
                        Reply::of(&text(&arguments.unwrap_or_default()))
                    }
                    "steps" => {
                        context.progress(1.0, Some(2.0), Some("half"));
                        Reply::of(&text("done"))
                    }
                    "wait" => {
                        self.started.fetch_add(1, Ordering::SeqCst);
                        let _running = Running(self.clone());
                        context.cancelled.cancelled().await;
                        Reply::of(&text("cancelled"))
                    }
                    "ask" if context.era.is_modern() => match input {
                        None => Ok(Reply::input_required(
                            [(
                                "sure".to_owned(),
                                InputRequest {
                                    method: "elicitation/create".to_owned(),
                                    params: Some(form()),
                                },
                            )],
                            Some("sealed".to_owned()),
                        )),
                        Some(input) => Reply::of(&text(&format!(
                            "{:?} {}",
                            input.state, input.responses["sure"]
                        ))),
                    },
                    "ask" => {
                        let answer = context
                            .ask("elicitation/create", form(), Duration::from_secs(5))
                            .await;
                        Reply::of(&text(&format!("{answer:?}")))
                    }
                    _ => Err(RpcError::invalid_params("unknown tool")),
                },
                _ => Err(RpcError::new(code::METHOD_NOT_FOUND, "no")),
            }
        })
    }
}

fn form() -> Value {
    let size = json!({ "type": "string", "default": "large" });
    json!({ "mode": "form", "message": "sure?", "requestedSchema": { "type": "object", "properties": { "size": size } } })
}

/// The server's endpoint, without a socket.
struct Endpoint(Server);

impl Exchange for Endpoint {
    fn send(
        &self,
        request: Request<Bytes>,
    ) -> BoxFuture<'_, Result<ExchangeResponse, ExchangeError>> {
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let request = HttpRequest {
                method: head.method,
                headers: head.headers,
                body,
                principal: "operator".into(),
            };
            let answer = self.0.answer_http(request).await;
            Ok(ExchangeResponse {
                status: answer.status,
                headers: answer.headers,
                body: match answer.body {
                    HttpBody::Whole(body) => Box::pin(stream::iter([Ok(body)])),
                    HttpBody::Stream(pieces) => Box::pin(pieces.map(Ok)),
                },
            })
        })
    }
}

struct Yes;

impl ServerRequests for Yes {
    fn asked(&self, _: String, _: Value, _: Option<u64>) -> BoxFuture<'_, Result<Value, RpcError>> {
        Box::pin(async { Ok(json!({ "action": "accept" })) })
    }
}

struct Pair {
    client: Client,
    server: Server,
    stage: Arc<Stage>,
    told: mpsc::Receiver<ServerNotice>,
    what: String,
}

/// Every era on every transport; found out and given.
async fn pairs() -> Vec<Pair> {
    let mut pairs = Vec::new();
    for era in [
        None,
        Some(Era::Modern),
        Some(Era::Legacy(LEGACY)),
        Some(Era::Legacy("2024-11-05")),
    ] {
        for over_http in [false, true] {
            let stage = Arc::new(Stage::default());
            let server = Server::new(stage.clone());
            let (tell, told) = mpsc::channel(16);
            let mut how = ClientOptions {
                era,
                form_defaults: true,
                ..options()
            };
            how.capabilities.elicitation = Some(Elicitation::default());
            how.asked = Some(Arc::new(Yes));
            let client = if over_http {
                let endpoint = Arc::new(Endpoint(server.clone()));
                Client::over_http("http://localhost/mcp".to_owned(), endpoint, how, tell).await
            } else {
                let (ours, theirs) = duplex(1 << 16);
                let (reader, writer) = split(theirs);
                let serving = server.clone();
                tokio::spawn(async move {
                    serving
                        .serve_stdio(reader, writer, StdioOptions::new("mcp"))
                        .await
                });
                let (reader, writer) = split(ours);
                Client::over_pipes(reader, writer, how, tell).await
            };
            let what = format!("{era:?} {}", if over_http { "HTTP" } else { "pipes" });
            let client = client.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(client.era(), era.unwrap_or(Era::Modern), "{what}");
            pairs.push(Pair {
                client,
                server,
                stage,
                told,
                what,
            });
        }
    }
    pairs
}

fn said(called: Result<Called, ClientError>) -> String {
    match called {
        Ok(Called::Complete(result)) => result["content"][0]["text"].as_str().unwrap().to_owned(),
        other => format!("{other:?}"),
    }
}

#[tokio::test]
async fn tools_are_listed_and_called() {
    for pair in pairs().await {
        let (client, what) = (&pair.client, &pair.what);
        let server = client.server();
        assert_eq!(server.info.unwrap().name, "stage", "{what}");
        assert_eq!(server.instructions.as_deref(), Some("be kind"), "{what}");
        let listing = client.list_tools().await.unwrap();
        let names: Vec<_> = listing
            .tools
            .iter()
            .map(|tool| tool.name.as_str())
            .collect();
        assert_eq!(names, ["echo", "wait"], "{what}");
        let mut echo = call("echo");
        echo.arguments.insert("text".to_owned(), json!("ü"));
        assert_eq!(
            said(client.call_tool(echo, patient()).await),
            r#"{"text":"ü"}"#,
            "{what}"
        );
        let unknown = client.call_tool(call("none"), patient()).await;
        assert!(
            matches!(unknown, Err(ClientError::Rpc(error)) if error.code == code::INVALID_PARAMS),
            "{what}"
        );
        let (tell, mut told) = mpsc::channel(4);
        let mut how = patient();
        how.progress = Some(tell);
        assert_eq!(
            said(client.call_tool(call("steps"), how).await),
            "done",
            "{what}"
        );
        assert_eq!(
            told.recv().await.unwrap().message.as_deref(),
            Some("half"),
            "{what}"
        );
        client.close().await;
    }
}

#[tokio::test]
async fn questions_are_answered_in_the_way_of_each_era() {
    for pair in pairs().await {
        let (client, what) = (&pair.client, &pair.what);
        let first = client.call_tool(call("ask"), patient()).await.unwrap();
        match first {
            Called::Complete(result) => {
                assert!(!client.era().is_modern());
                let said = result["content"][0]["text"].as_str().unwrap();
                assert!(
                    said.contains("accept") && said.contains("large"),
                    "{what}: {said}"
                );
            }
            Called::InputRequired { requests, state } => {
                assert!(client.era().is_modern());
                assert_eq!(requests[0].0, "sure");
                let responses = json!({ "sure": { "action": "decline" } });
                let input = Input {
                    responses: responses.as_object().cloned().unwrap(),
                    state,
                };
                let again = ToolCall {
                    input: Some(input),
                    ..call("ask")
                };
                let said = said(client.call_tool(again, patient()).await);
                assert_eq!(said, r#"Some("sealed") {"action":"decline"}"#, "{what}");
            }
        }
    }
}

#[tokio::test]
async fn cancelling_reaches_the_tool() {
    for pair in pairs().await {
        let how = patient();
        let cancel = how.cancel.clone();
        let called = calling(&pair.client, call("wait"), how);
        until(&pair, |stage| stage.started.load(Ordering::SeqCst) == 1).await;
        cancel.cancel();
        let cancelled = called.await.unwrap();
        assert!(
            matches!(cancelled, Err(ClientError::Cancelled)),
            "{}",
            pair.what
        );
        until(&pair, |stage| stage.ended.load(Ordering::SeqCst) == 1).await;
    }
}

async fn until(pair: &Pair, is_so: impl Fn(&Stage) -> bool) {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(5);
    while !is_so(&pair.stage) {
        assert!(tokio::time::Instant::now() < deadline, "{}", pair.what);
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn changes_are_reported() {
    for mut pair in pairs().await {
        // Listening begins beside the connection; a change is announced until it is heard.
        let deadline = tokio::time::Instant::now() + Duration::from_secs(5);
        loop {
            pair.server.changed(ChangeNotice::Tools);
            let soon = tokio::time::timeout(Duration::from_millis(10), pair.told.recv());
            if let Ok(told) = soon.await {
                assert_eq!(told, Some(ServerNotice::ToolsChanged), "{}", pair.what);
                break;
            }
            assert!(tokio::time::Instant::now() < deadline, "{}", pair.what);
        }
    }
}
