//! The server over HTTP, from the client's side: what both eras have in common, and the stage for both.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{BoxStream, StreamExt as _};
use http::{HeaderMap, HeaderName, Method};
use serde_json::{Value, json};
use tokio::sync::Notify;
use toolcrib_mcp::protocol::Implementation;
use toolcrib_mcp::rpc::{RpcError, code};
use toolcrib_mcp::server::{
    Ask, Capabilities, Context, Description, Host, HttpAnswer, HttpBody, HttpRequest, Reply, Server,
};

/// Tools that answer at once, tell how far they are, wait, or ask.
#[derive(Default)]
pub(crate) struct Tools {
    /// Lets `wait` go on.
    pub(crate) go: Notify,
    /// How many calls of `wait` were given up.
    pub(crate) given_up: AtomicUsize,
}

struct GivenUp(Arc<Tools>, bool);

impl Drop for GivenUp {
    fn drop(&mut self) {
        if self.1 {
            self.0.given_up.fetch_add(1, Ordering::SeqCst);
        }
    }
}

fn text(text: impl Into<String>) -> Result<Reply, RpcError> {
    Reply::of(&json!({"content": [{"type": "text", "text": text.into()}]}))
}

impl Tools {
    async fn call(
        self: Arc<Self>,
        name: &str,
        arguments: Value,
        context: Context,
    ) -> Result<Reply, RpcError> {
        match name {
            "echo" => text(arguments["text"].as_str().unwrap_or_default()),
            "tell" => {
                context.progress(1.0, Some(2.0), Some("half"));
                context.progress(2.0, Some(2.0), None);
                text("told")
            }
            "wait" => {
                let mut guard = GivenUp(Arc::clone(&self), true);
                tokio::select! {
                    () = self.go.notified() => {}
                    () = context.cancelled.cancelled() => return text("cancelled"),
                }
                guard.1 = false;
                text("waited")
            }
            "ask" => {
                let params = json!({"message": "Well?", "requestedSchema": {"type": "object", "properties": {}}});
                let answer = context
                    .ask("elicitation/create", params, Duration::from_secs(5))
                    .await;
                text(format!("{answer:?}"))
            }
            "needs" => Err(RpcError::new(code::MISSING_CAPABILITY, "needs a model")),
            _ => Err(RpcError::invalid_params(format!(
                "there is no tool `{name}`"
            ))),
        }
    }
}

impl Host for Tools {
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
                resources: true,
                ..Capabilities::default()
            },
            instructions: None,
        }
    }

    fn answer(
        self: Arc<Self>,
        ask: Ask,
        context: Context,
    ) -> BoxFuture<'static, Result<Reply, RpcError>> {
        Box::pin(async move {
            match ask {
                Ask::ListTools { .. } => Reply::of(
                    &json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
                ),
                Ask::CallTool {
                    name, arguments, ..
                } => {
                    let arguments =
                        arguments.map_or(Value::Null, |it| serde_json::from_str(it.get()).unwrap());
                    self.call(&name, arguments, context).await
                }
                Ask::ReadResource { uri, .. } => {
                    Reply::of(&json!({"contents": [{"uri": uri, "text": "x"}]}))
                }
                other => panic!("{other:?}"),
            }
        })
    }

    fn header_params(&self, tool: &str) -> Vec<(String, Vec<String>)> {
        match tool {
            "echo" => vec![("Text".to_owned(), vec!["text".to_owned()])],
            _ => Vec::new(),
        }
    }
}

/// A server, and requests to it.
pub(crate) struct Stage {
    pub(crate) tools: Arc<Tools>,
    pub(crate) server: Server,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let tools = Arc::new(Tools::default());
        let server = Server::new(Arc::clone(&tools) as Arc<_>);
        Stage { tools, server }
    }

    /// Sends a request with these headers; `content-type` and `accept` are the usual ones unless they are among them.
    pub(crate) async fn send(
        &self,
        method: Method,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Got {
        self.send_as("operator", method, headers, body).await
    }

    pub(crate) async fn send_as(
        &self,
        principal: &str,
        method: Method,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Got {
        let usual = [
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        let mut all = HeaderMap::new();
        for (name, value) in usual.iter().chain(headers) {
            let name: HeaderName = name.parse().unwrap();
            match *value {
                "" => all.remove(name),
                value => all.insert(name, value.parse().unwrap()),
            };
        }
        let request = HttpRequest {
            method,
            headers: all,
            body: body.into(),
            principal: principal.into(),
        };
        Got(self.server.answer_http(request).await)
    }

    /// Posts a message.
    pub(crate) async fn post(&self, headers: &[(&str, &str)], message: Value) -> Got {
        self.send(Method::POST, headers, message.to_string()).await
    }
}

/// An answer.
pub(crate) struct Got(pub(crate) HttpAnswer);

impl Got {
    pub(crate) fn status(&self) -> u16 {
        self.0.status.as_u16()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.0.headers.get(name).map(|it| it.to_str().unwrap())
    }

    /// A body that is one JSON object.
    pub(crate) fn json(self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/json"));
        match self.0.body {
            HttpBody::Whole(bytes) => serde_json::from_slice(&bytes).unwrap(),
            HttpBody::Stream(_) => panic!("a stream"),
        }
    }

    /// The status and the code of an error.
    pub(crate) fn error(self) -> (u16, i64) {
        let status = self.status();
        let body = self.json();
        (
            status,
            body["error"]["code"]
                .as_i64()
                .unwrap_or_else(|| panic!("{body}")),
        )
    }

    /// A body that is a stream.
    pub(crate) fn events(self) -> Events {
        assert_eq!(self.header("content-type"), Some("text/event-stream"));
        assert_eq!(self.header("x-accel-buffering"), Some("no"));
        match self.0.body {
            HttpBody::Whole(bytes) => Events(futures_util::stream::iter([bytes]).boxed()),
            HttpBody::Stream(frames) => Events(frames),
        }
    }

    /// As it is written down.
    fn shown(self) -> String {
        let mut shown = format!("{}\n", self.0.status);
        for (name, value) in &self.0.headers {
            let value = match name.as_str() {
                "mcp-session-id" => "(a random UUID)",
                _ => value.to_str().unwrap(),
            };
            shown.push_str(&format!("{name}: {value}\n"));
        }
        if let HttpBody::Whole(body) = self.0.body {
            shown.push_str(&format!(
                "\n{}\n",
                String::from_utf8(body.to_vec()).unwrap()
            ));
        }
        shown
    }
}

/// Server-sent events as they come.
pub(crate) struct Events(pub(crate) BoxStream<'static, Bytes>);

impl Events {
    /// The next one as it is written.
    pub(crate) async fn raw(&mut self) -> Option<String> {
        let frame = tokio::time::timeout(Duration::from_secs(10), self.0.next());
        let frame = frame.await.expect("the stream says nothing");
        frame.map(|frame| String::from_utf8(frame.to_vec()).unwrap())
    }

    /// The id and the message of the next one that has one.
    pub(crate) async fn message(&mut self) -> Option<(Option<String>, Value)> {
        loop {
            let event = self.raw().await?;
            let field = |name: &str| {
                let mut lines = event.lines();
                lines.find_map(|line| line.strip_prefix(name).map(|it| it.trim().to_owned()))
            };
            if let Some(data) = field("data:").filter(|data| !data.is_empty()) {
                return Some((field("id:"), serde_json::from_str(&data).unwrap()));
            }
        }
    }
}

pub(crate) const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"test","version":"1"}}}"#;

/// A request of the newer era, and the headers that go with it.
pub(crate) fn modern(method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": "p",
    });
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
}

/// What it is, and how it is sent: method, headers (`session` is the one that began), body.
type Exchange<'a> = (&'a str, Method, Vec<(&'a str, &'a str)>, String);

#[tokio::test]
async fn exchanges_are_as_written_down() {
    let stage = Stage::new();
    let mut all = String::new();
    let mut session = String::new();
    let call = json!({"name": "echo", "arguments": {"text": "hello"}});
    let exchanges: Vec<Exchange<'_>> = vec![
        (
            "the older era begins",
            Method::POST,
            vec![],
            INITIALIZE.to_owned(),
        ),
        (
            "a notification",
            Method::POST,
            vec![("session", "")],
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
        ),
        (
            "a call",
            Method::POST,
            vec![("session", "")],
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).to_string(),
        ),
        (
            "a call of a tool that is not there",
            Method::POST,
            vec![("session", "")],
            r#"{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"no"}}"#.to_owned(),
        ),
        (
            "a method that is not there",
            Method::POST,
            vec![("session", "")],
            r#"{"jsonrpc":"2.0","id":2,"method":"prompts/list"}"#.to_owned(),
        ),
        (
            "a client that takes streams only",
            Method::POST,
            vec![("session", ""), ("accept", "text/event-stream")],
            r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#.to_owned(),
        ),
        (
            "no session",
            Method::POST,
            vec![],
            r#"{"jsonrpc":"2.0","id":4,"method":"tools/list"}"#.to_owned(),
        ),
        (
            "the session ends",
            Method::DELETE,
            vec![("session", "")],
            String::new(),
        ),
        (
            "the session is gone",
            Method::POST,
            vec![("session", "")],
            r#"{"jsonrpc":"2.0","id":5,"method":"tools/list"}"#.to_owned(),
        ),
        (
            "the newer era",
            Method::POST,
            vec![
                ("mcp-protocol-version", "2026-07-28"),
                ("mcp-method", "server/discover"),
            ],
            modern("server/discover", json!({})).to_string(),
        ),
        (
            "a call of the newer era",
            Method::POST,
            vec![
                ("mcp-protocol-version", "2026-07-28"),
                ("mcp-method", "tools/call"),
                ("mcp-name", "echo"),
                ("mcp-param-text", "hello"),
            ],
            modern("tools/call", call.clone()).to_string(),
        ),
        (
            "another name by the header",
            Method::POST,
            vec![
                ("mcp-protocol-version", "2026-07-28"),
                ("mcp-method", "tools/call"),
                ("mcp-name", "ping"),
            ],
            modern("tools/call", call.clone()).to_string(),
        ),
        (
            "a method that is not there, in the newer era",
            Method::POST,
            vec![
                ("mcp-protocol-version", "2026-07-28"),
                ("mcp-method", "initialize"),
            ],
            modern("initialize", json!({})).to_string(),
        ),
        (
            "a version that no one speaks",
            Method::POST,
            vec![("mcp-protocol-version", "1999-12-31")],
            r#"{"jsonrpc":"2.0","id":6,"method":"tools/list"}"#.to_owned(),
        ),
        ("a batch", Method::POST, vec![], "[]".to_owned()),
        ("no JSON", Method::POST, vec![], "{".to_owned()),
        (
            "not said to be JSON",
            Method::POST,
            vec![("content-type", "text/plain")],
            INITIALIZE.to_owned(),
        ),
        (
            "nothing that the client takes",
            Method::POST,
            vec![("accept", "text/html")],
            INITIALIZE.to_owned(),
        ),
        (
            "a stream in the newer era",
            Method::GET,
            vec![("mcp-protocol-version", "2026-07-28")],
            String::new(),
        ),
        ("another method", Method::PUT, vec![], String::new()),
    ];
    for (what, method, headers, body) in exchanges {
        let headers: Vec<(&str, &str)> = headers
            .into_iter()
            .map(|(name, value)| match name {
                "session" => ("mcp-session-id", session.as_str()),
                name => (name, value),
            })
            .collect();
        let got = stage.send(method, &headers, body).await;
        let begun = got.header("mcp-session-id").map(str::to_owned);
        all.push_str(&format!("# {what}\n{}\n", got.shown()));
        if let Some(begun) = begun {
            session = begun;
        }
    }
    golden("http.txt", &all);
}

/// Compares with a file beside the tests; `UPDATE_GOLDEN=1` accepts what is there now.
fn golden(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == text,
        "{} is not what is answered now:\n{text}",
        path.display()
    );
}
