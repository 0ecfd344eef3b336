//! Calls by MCP, as a scripted client sees them over a pair of pipes: both eras, with people who answer here, elsewhere, or not at all.

mod elicitation;
mod input_required;
mod killed;
mod queue;
mod results;
mod running;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use toolcrib::approval::{ApprovalResponse, Queued, Status};
use toolcrib::call::elicit::Elicitation;
use toolcrib::schemars::JsonSchema;
use toolcrib::serde::Deserialize;
use toolcrib::{Crib, ErrorCode, FnTool, ToolError};
use toolcrib_mcp::protocol::Implementation;
use toolcrib_mcp::rpc::RpcError;
use toolcrib_mcp::server::{
    Ask, Capabilities, Context, Description, Host, Reply, Server, StdioOptions,
};
use toolcrib_server::mcp::{CribHost, HostOptions};

use crate::harness::Scene;

/// How long a client waits for a message that must come.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a client waits to see that nothing comes.
const MOMENT: Duration = Duration::from_millis(150);

/// A crib, what serves it, and a tool that counts how often it ran.
struct Stage {
    scene: Scene,
    host: Arc<CribHost>,
    launched: Arc<AtomicUsize>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "toolcrib::serde")]
#[schemars(crate = "toolcrib::schemars", deny_unknown_fields)]
struct Launch {
    /// What to launch.
    #[schemars(length(max = 20))]
    name: String,
}

impl Stage {
    /// With people who have less than a second before a client learns that the call waits for them.
    fn new() -> Self {
        Stage::with("mcp.approvalWaitMs = 300\n")
    }

    /// With people who have all the time.
    fn patient() -> Self {
        Stage::with("")
    }

    fn with(settings: &str) -> Self {
        Stage::serving(settings, HostOptions::default())
    }

    fn serving(settings: &str, options: HostOptions) -> Self {
        let scene = Scene::prepared(
            tempfile::tempdir().unwrap(),
            |home, _| std::fs::write(home.join("config.toml"), settings).unwrap(),
            |options| options,
        );
        let launched = Arc::new(AtomicUsize::new(0));
        register(&scene.crib, &launched);
        let host = CribHost::new(Arc::clone(&scene.crib), options);
        Stage {
            scene,
            host,
            launched,
        }
    }

    /// Another process that serves the same home, as far as a test can have one.
    fn restarted(&self) -> Arc<CribHost> {
        CribHost::new(Arc::clone(&self.scene.crib), HostOptions::default())
    }

    fn launched(&self) -> usize {
        self.launched.load(Ordering::SeqCst)
    }

    /// A client of the last version that begins with `initialize`.
    async fn legacy(&self, capabilities: Value) -> Client {
        let mut client = Client::of(Arc::clone(&self.host), None);
        client.initialize("2025-11-25", capabilities).await;
        client
    }

    /// A client whose every request stands for itself.
    fn modern(&self, capabilities: Value) -> Client {
        Client::of(Arc::clone(&self.host), Some(capabilities))
    }

    /// The questions that wait.
    fn questions(&self) -> Vec<Queued> {
        let listing = self.scene.crib.approvals().list(Some(Status::Pending));
        listing.unwrap().requests
    }

    /// The question that waits, as soon as there is one.
    async fn question(&self) -> Queued {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            if let Some(question) = self.questions().pop() {
                return question;
            }
            assert!(tokio::time::Instant::now() < deadline, "no one is asked");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Someone elsewhere answers.
    async fn answer(&self, response: ApprovalResponse) {
        let question = self.question().await.request;
        let digest = Some(question.args_digest.as_str());
        let crib = &self.scene.crib;
        crib.answer(&question.id, digest, response).unwrap();
    }

    /// Waits until something is so.
    async fn until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        while !is_so() {
            assert!(tokio::time::Instant::now() < deadline, "never: {what}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

fn register(crib: &Crib, launched: &Arc<AtomicUsize>) {
    let registry = crib.registry();
    let count = Arc::clone(launched);
    let launch = FnTool::new("launch", "Launches something", move |args: Launch, _cx| {
        let count = Arc::clone(&count);
        async move {
            count.fetch_add(1, Ordering::SeqCst);
            Ok(format!("{} is gone", args.name))
        }
    });
    registry.register(launch.unwrap().always_ask()).unwrap();
    let echo = FnTool::new("echo", "Says it again", |args: Launch, _cx| async move {
        Ok(args.name)
    });
    registry.register(echo.unwrap()).unwrap();
    let outer = FnTool::new(
        "outer",
        "Launches by another",
        |args: Launch, cx| async move {
            let inner = toolcrib::CallRequest::new("launch").arg("name", args.name);
            let outcome = cx.call(inner).await;
            Ok(outcome.into_result()?.value)
        },
    );
    registry.register(outer.unwrap()).unwrap();
    let count = Arc::clone(launched);
    let paint = FnTool::new("paint", "Wants a colour", move |_: Launch, cx| {
        let count = Arc::clone(&count);
        async move {
            let asked = Elicitation {
                from: "painter".to_owned(),
                params: json!({"message": "Which colour?", "requestedSchema": {"type": "object", "properties": {"colour": {"type": "string"}}}}),
            };
            let elicitor = cx.elicitor().cloned();
            let elicitor = elicitor
                .ok_or_else(|| ToolError::new(ErrorCode::UpstreamError, "no one can be asked"))?;
            let answer = elicitor.elicit(asked).await;
            let answer = answer
                .map_err(|error| ToolError::new(ErrorCode::UpstreamError, error.to_string()))?;
            count.fetch_add(1, Ordering::SeqCst);
            Ok(format!("painted {}", answer["content"]["colour"]))
        }
    });
    registry.register(paint.unwrap()).unwrap();
}

/// The tools of a crib, described here: what lists them is tested elsewhere.
struct Described(Arc<CribHost>);

impl Host for Described {
    fn description(&self) -> Description {
        Description {
            info: Implementation {
                name: "test".to_owned(),
                version: "1".to_owned(),
                ..Implementation::default()
            },
            capabilities: Capabilities {
                tools: true,
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
        Arc::clone(&self.0).answer(ask, context)
    }
}

/// The other end.
struct Client {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: Option<WriteHalf<DuplexStream>>,
    next: i64,
    /// What came while something else was waited for.
    aside: VecDeque<Value>,
    /// What every request says of the client, since 2026-07-28.
    capabilities: Option<Value>,
    served: tokio::task::JoinHandle<std::io::Result<()>>,
}

impl Client {
    fn of(host: Arc<CribHost>, capabilities: Option<Value>) -> Self {
        Client::named("mcp", host, capabilities)
    }

    fn named(principal: &'static str, host: Arc<CribHost>, capabilities: Option<Value>) -> Self {
        let (here, there) = tokio::io::duplex(1024 * 1024);
        let server = Server::new(Arc::new(Described(host)));
        let served = tokio::spawn(async move {
            let (reader, writer) = tokio::io::split(there);
            let options = StdioOptions::new(principal);
            server.serve_stdio(reader, writer, options).await
        });
        let (reader, writer) = tokio::io::split(here);
        Client {
            lines: BufReader::new(reader).lines(),
            writer: Some(writer),
            next: 1,
            aside: VecDeque::new(),
            capabilities,
            served,
        }
    }

    async fn initialize(&mut self, version: &str, capabilities: Value) {
        self.initialize_as("test", version, capabilities).await;
    }

    async fn initialize_as(&mut self, name: &str, version: &str, capabilities: Value) {
        let params = json!({
            "protocolVersion": version,
            "capabilities": capabilities,
            "clientInfo": {"name": name, "version": "1"},
        });
        let id = self.request("initialize", params).await;
        let answer = self.answer_to(id).await;
        assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
        self.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
    }

    async fn send(&mut self, message: Value) {
        self.send_text(&message.to_string()).await;
    }

    async fn send_text(&mut self, message: &str) {
        let writer = self.writer.as_mut().unwrap();
        let line = format!("{message}\n");
        writer.write_all(line.as_bytes()).await.unwrap();
        writer.flush().await.unwrap();
    }

    async fn request(&mut self, method: &str, mut params: Value) -> i64 {
        let id = self.next;
        self.next += 1;
        if let Some(capabilities) = &self.capabilities {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities.clone();
            params["_meta"]["io.modelcontextprotocol/clientInfo"] =
                json!({"name": "test", "version": "1"});
        }
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        id
    }

    /// Begins a call.
    async fn begin(&mut self, tool: &str, arguments: Value) -> i64 {
        let params = json!({"name": tool, "arguments": arguments});
        self.request("tools/call", params).await
    }

    /// The next message that was not looked at yet.
    async fn next(&mut self) -> Value {
        match self.aside.pop_front() {
            Some(message) => message,
            None => self.read().await,
        }
    }

    async fn read(&mut self) -> Value {
        let line = tokio::time::timeout(PATIENCE, self.lines.next_line()).await;
        let line = line.expect("a message in time").unwrap();
        serde_json::from_str(&line.expect("the server goes on")).unwrap()
    }

    /// The answer to a request; what comes before it is kept.
    async fn answer_to(&mut self, id: i64) -> Value {
        loop {
            let message = self.read().await;
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.aside.push_back(message);
        }
    }

    /// The next request of the server.
    async fn asked(&mut self) -> Value {
        loop {
            let message = self.next().await;
            if message.get("method").is_some() && message.get("id").is_some() {
                return message;
            }
        }
    }

    /// Whether nothing more comes.
    async fn is_quiet(&mut self) -> bool {
        self.aside.is_empty()
            && tokio::time::timeout(MOMENT, self.lines.next_line())
                .await
                .is_err()
    }

    /// Answers a request of the server.
    async fn reply(&mut self, request: &Value, result: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": request["id"], "result": result}))
            .await;
    }

    /// Calls a tool; the result, or the error.
    async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.begin(tool, arguments).await;
        self.result_of(id).await
    }

    async fn result_of(&mut self, id: i64) -> Value {
        let mut answer = self.answer_to(id).await;
        match answer.get_mut("result") {
            Some(result) => result.take(),
            None => answer["error"].take(),
        }
    }

    /// Ends the input and waits until the server has answered everything.
    async fn end(mut self) {
        self.writer.as_mut().unwrap().shutdown().await.unwrap();
        let served = tokio::time::timeout(PATIENCE, self.served).await;
        served.expect("it ends").unwrap().unwrap();
    }
}

/// The text of a result.
fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

/// That a person at the client approves.
fn approves() -> Value {
    json!({"action": "accept", "content": {"decision": "approve"}})
}
