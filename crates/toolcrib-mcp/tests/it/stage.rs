//! A host with tools for every kind of behaviour, and a client that is a pair of pipes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::task::JoinHandle;
use toolcrib_mcp::protocol::Implementation;
use toolcrib_mcp::rpc::{RpcError, code};
use toolcrib_mcp::server::{
    Ask, CacheScope, Caching, Capabilities, Context, Description, Host, Reply, Server, StdioOptions,
};

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(10);

/// Tools: `echo`, `wait` (until cancelled), `gate` (until the test opens it), `steps` (progress), `ask` (a question), `panic`, `panic_later`,
/// `confirm` (input required).
pub(crate) struct Stage {
    pub(crate) capabilities: Capabilities,
    pub(crate) cancelled: AtomicUsize,
    pub(crate) started: AtomicUsize,
    pub(crate) gate: tokio::sync::Semaphore,
}

pub(crate) const EVERYTHING: Capabilities = Capabilities {
    tools: true,
    tools_changed: true,
    prompts: true,
    prompts_changed: true,
    resources: true,
    resources_changed: true,
    resources_subscribe: true,
    completions: true,
    logging: true,
};

pub(crate) fn text(text: impl Into<Value>) -> Value {
    json!({"content": [{"type": "text", "text": text.into()}]})
}

impl Stage {
    pub(crate) fn new(capabilities: Capabilities) -> Arc<Self> {
        Arc::new(Stage {
            capabilities,
            cancelled: AtomicUsize::new(0),
            started: AtomicUsize::new(0),
            gate: tokio::sync::Semaphore::new(0),
        })
    }

    async fn call(
        self: Arc<Self>,
        name: String,
        arguments: Value,
        input: Option<toolcrib_mcp::protocol::Input>,
        context: Context,
    ) -> Result<Reply, RpcError> {
        self.started.fetch_add(1, Ordering::SeqCst);
        match name.as_str() {
            "echo" => Reply::of(&text(arguments["text"].clone())),
            "who" => Reply::of(&text(format!(
                "{} {} {}",
                context.principal,
                context.era.version(),
                context.client.map(|it| it.name.clone()).unwrap_or_default(),
            ))),
            "wait" => {
                context.cancelled.cancelled().await;
                self.cancelled.fetch_add(1, Ordering::SeqCst);
                Reply::of(&text("cancelled"))
            }
            "gate" => {
                self.gate.acquire().await.unwrap().forget();
                Reply::of(&text("through"))
            }
            "steps" => {
                for step in [1.0, 1.0, 0.5, 2.5, f64::NAN, 3.0] {
                    context.progress(step, Some(3.0), Some("step"));
                }
                context.log("debug", None, json!("fine"));
                context.log("warning", Some("stage"), json!({"odd": true}));
                Reply::of(&text("done"))
            }
            "flood" => {
                for step in 0..100_000 {
                    context.progress(f64::from(step), None, None);
                }
                Reply::of(&text("done"))
            }
            "ask" => {
                let params = json!({"message": "sure?", "requestedSchema": {"type": "object", "properties": {}}});
                let answer = context
                    .ask("elicitation/create", params, Duration::from_millis(200))
                    .await;
                Reply::of(&text(match answer {
                    Ok(value) => value.to_string(),
                    Err(error) => format!("{error:?}"),
                }))
            }
            "confirm" => match input {
                None => Ok(Reply::input_required(
                    [(
                        "sure".to_owned(),
                        toolcrib_mcp::protocol::InputRequest {
                            method: "elicitation/create".to_owned(),
                            params: Some(
                                json!({"mode": "form", "message": "sure?", "requestedSchema": {"type": "object", "properties": {}}}),
                            ),
                        },
                    )],
                    Some("sealed".to_owned()),
                )),
                Some(input) => Reply::of(&text(format!(
                    "{} {:?}",
                    Value::Object(input.responses),
                    input.state
                ))),
            },
            "lines" => Ok(Reply::complete(
                &b"{\n  \"content\": [],\r\n  \"structuredContent\": {\n}\n}\n"[..],
            )),
            "meta" => Reply::of(&json!({"content": [], "_meta": {"own": 1}})),
            "panic" => panic!("on stage"),
            _ => Err(RpcError::invalid_params(format!("unknown tool `{name}`"))),
        }
    }
}

impl Host for Stage {
    fn description(&self) -> Description {
        Description {
            info: Implementation {
                name: "stage".to_owned(),
                version: "1.0".to_owned(),
                ..Implementation::default()
            },
            capabilities: self.capabilities,
            instructions: Some("Break a leg.".to_owned()),
        }
    }

    fn answer(
        self: Arc<Self>,
        ask: Ask,
        context: Context,
    ) -> BoxFuture<'static, Result<Reply, RpcError>> {
        Box::pin(async move {
            match ask {
                Ask::CallTool { name, .. } if name == "panic_at_once" => panic!("at once"),
                Ask::CallTool {
                    name,
                    arguments,
                    input,
                } => {
                    let arguments = arguments
                        .map(|it| serde_json::from_str(it.get()).unwrap_or_default())
                        .unwrap_or_default();
                    self.call(name, arguments, input, context).await
                }
                Ask::ListTools { cursor } => Reply::of(&json!({
                    "tools": [{"name": "echo", "inputSchema": {"type": "object"}}],
                    "nextCursor": cursor.map_or("2".to_owned(), |it| it + "+"),
                }))
                .map(|it| {
                    it.cached(Caching {
                        ttl_ms: 60_000,
                        scope: CacheScope::Public,
                    })
                }),
                Ask::ListPrompts { .. } => Reply::of(&json!({"prompts": []})),
                Ask::GetPrompt {
                    name, arguments, ..
                } => Reply::of(&json!({"description": name, "messages": [], "got": arguments})),
                Ask::ListResources { .. } => Reply::of(&json!({"resources": []})),
                Ask::ListResourceTemplates { .. } => Reply::of(&json!({"resourceTemplates": []})),
                Ask::ReadResource { uri, .. } if uri == "stage://none" => {
                    Err(RpcError::new(code::RESOURCE_NOT_FOUND, "no such resource"))
                }
                Ask::ReadResource { uri, .. } => {
                    Reply::of(&json!({"contents": [{"uri": uri, "text": "hm"}]}))
                }
                Ask::Subscribe { uri } if uri == "stage://none" => {
                    Err(RpcError::new(code::RESOURCE_NOT_FOUND, "no such resource"))
                }
                Ask::Subscribe { .. } | Ask::Unsubscribe { .. } | Ask::SetLevel { .. } => {
                    Ok(Reply::complete(&b"{}"[..]))
                }
                Ask::Complete { params } => {
                    Reply::of(&json!({"completion": {"values": [params["ref"]["name"]]}}))
                }
            }
        })
    }
}

/// A client at the other end of the pipes.
pub(crate) struct Client {
    pub(crate) server: Server,
    pub(crate) stage: Arc<Stage>,
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: Option<WriteHalf<DuplexStream>>,
    served: JoinHandle<std::io::Result<()>>,
}

pub(crate) fn options() -> StdioOptions {
    StdioOptions::new("mcp")
}

impl Client {
    pub(crate) fn new(capabilities: Capabilities) -> Self {
        Self::with(Stage::new(capabilities), options(), 64 * 1024)
    }

    pub(crate) fn with(stage: Arc<Stage>, options: StdioOptions, pipe: usize) -> Self {
        let server = Server::new(Arc::clone(&stage) as Arc<dyn Host>);
        let (ours, theirs) = tokio::io::duplex(pipe);
        let (reader, writer) = tokio::io::split(theirs);
        let served = tokio::spawn({
            let server = server.clone();
            async move { server.serve_stdio(reader, writer, options).await }
        });
        let (reader, writer) = tokio::io::split(ours);
        Client {
            server,
            stage,
            lines: BufReader::new(reader).lines(),
            writer: Some(writer),
            served,
        }
    }

    /// A client that has said `initialize`.
    pub(crate) async fn legacy(capabilities: Value) -> Self {
        let mut client = Self::new(EVERYTHING);
        client.initialize(capabilities).await;
        client
    }

    pub(crate) async fn initialize(&mut self, capabilities: Value) {
        let answer = self
            .request(
                json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                    "protocolVersion": "2025-11-25", "capabilities": capabilities,
                    "clientInfo": {"name": "audience", "version": "1"},
                }}),
            )
            .await;
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
        self.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.send_raw(format!("{message}\n").as_bytes()).await;
    }

    pub(crate) async fn send_raw(&mut self, bytes: &[u8]) {
        let writer = self.writer.as_mut().expect("the input is open");
        tokio::time::timeout(PATIENCE, writer.write_all(bytes))
            .await
            .expect("the server reads")
            .unwrap();
    }

    /// The next message.
    pub(crate) async fn next(&mut self) -> Value {
        let line = self.next_line().await.expect("a message");
        serde_json::from_str(&line).expect("messages are JSON")
    }

    pub(crate) async fn next_line(&mut self) -> Option<String> {
        tokio::time::timeout(PATIENCE, self.lines.next_line())
            .await
            .expect("a message comes in time")
            .unwrap()
    }

    /// Sends a request and reads the next message, which must be its answer.
    pub(crate) async fn request(&mut self, message: Value) -> Value {
        let id = message["id"].clone();
        self.send(message).await;
        let answer = self.next().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Closes the input and reads all that comes until the server is done.
    pub(crate) async fn finish(mut self) -> Vec<Value> {
        if let Some(mut writer) = self.writer.take() {
            writer.shutdown().await.unwrap();
        }
        let mut rest = Vec::new();
        while let Some(line) = self.next_line().await {
            rest.push(serde_json::from_str(&line).unwrap());
        }
        tokio::time::timeout(PATIENCE, self.served)
            .await
            .expect("the server ends")
            .unwrap()
            .unwrap();
        rest
    }

    /// Goes away without a word.
    pub(crate) async fn vanish(self) -> std::io::Result<()> {
        drop((self.lines, self.writer));
        tokio::time::timeout(PATIENCE, self.served)
            .await
            .expect("the server ends")
            .unwrap()
    }
}

/// A legacy call of a tool.
pub(crate) fn call(id: impl Into<Value>, name: &str, arguments: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": "tools/call",
        "params": {"name": name, "arguments": arguments}})
}

/// What every modern request says.
pub(crate) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        "io.modelcontextprotocol/clientInfo": {"name": "audience", "version": "2"},
    })
}

/// A modern request.
pub(crate) fn modern(id: impl Into<Value>, method: &str, mut params: Value) -> Value {
    if params.get("_meta").is_none() {
        params["_meta"] = meta();
    }
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})
}

/// Waits until something holds.
pub(crate) async fn until(holds: impl Fn() -> bool) {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while !holds() {
        assert!(tokio::time::Instant::now() < deadline, "it never held");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
