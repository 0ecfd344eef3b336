//! A server on the other end of a pair of pipes in memory, played by the test.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, duplex,
    split,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use toolcrib_mcp::client::{
    CallOptions, Client, ClientError, ClientOptions, ServerNotice, ToolCall,
};
use toolcrib_mcp::protocol::{Era, Implementation, LEGACY};

/// What the test plays.
pub(crate) struct Server {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    pub(crate) writer: WriteHalf<DuplexStream>,
}

impl Server {
    /// The next message, which must be of this method (or an answer, for an empty text).
    pub(crate) async fn expect(&mut self, method: &str) -> Value {
        let message = self.next().await.expect("a message");
        assert_eq!(
            message["method"].as_str().unwrap_or(""),
            method,
            "{message}"
        );
        assert_eq!(message["jsonrpc"], "2.0");
        message
    }

    /// The next message, `None` when the client closed its pipe.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let line = self.lines.next_line().await.expect("a line")?;
        Some(serde_json::from_str(&line).expect("JSON"))
    }

    pub(crate) async fn say(&mut self, message: Value) {
        self.say_text(&message.to_string()).await;
    }

    pub(crate) async fn say_text(&mut self, line: &str) {
        // The client may have gone, which is the point of some tests.
        let _ = self.writer.write_all(format!("{line}\n").as_bytes()).await;
    }

    pub(crate) async fn answer(&mut self, request: &Value, result: Value) {
        self.say(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }))
            .await;
    }

    pub(crate) async fn refuse(&mut self, request: &Value, code: i64, message: &str, data: Value) {
        let error = json!({ "code": code, "message": message, "data": data });
        self.say(json!({ "jsonrpc": "2.0", "id": request["id"], "error": error }))
            .await;
    }

    /// The legacy beginning, from `initialize` on.
    pub(crate) async fn initialized(&mut self, capabilities: Value) {
        let asked = self.expect("initialize").await;
        self.answer(
            &asked,
            json!({
                "protocolVersion": asked["params"]["protocolVersion"],
                "capabilities": capabilities,
                "serverInfo": { "name": "fake", "version": "1" },
            }),
        )
        .await;
        self.expect("notifications/initialized").await;
    }

    /// The modern beginning.
    pub(crate) async fn discovered(&mut self, capabilities: Value) {
        let asked = self.expect("server/discover").await;
        self.answer(&asked, discovery(capabilities)).await;
    }
}

/// What a modern server says of itself.
pub(crate) fn discovery(capabilities: Value) -> Value {
    json!({
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": capabilities,
        "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "fake", "version": "1" } },
        "instructions": "be kind",
    })
}

pub(crate) fn options() -> ClientOptions {
    ClientOptions {
        connect_timeout: Duration::from_secs(20),
        ..ClientOptions::new(Implementation {
            name: "test".to_owned(),
            version: "1".to_owned(),
            ..Implementation::default()
        })
    }
}

pub(crate) fn legacy() -> ClientOptions {
    ClientOptions {
        era: Some(Era::Legacy(LEGACY)),
        ..options()
    }
}

/// A client that is beginning, and its server.
pub(crate) struct Begun {
    pub(crate) server: Server,
    pub(crate) told: mpsc::Receiver<ServerNotice>,
    pub(crate) client: tokio::task::JoinHandle<Result<Client, ClientError>>,
}

pub(crate) fn begin(options: ClientOptions) -> Begun {
    let (ours, theirs) = duplex(1 << 16);
    let (reader, writer) = split(ours);
    let (tell, told) = mpsc::channel(16);
    let client = tokio::spawn(Client::over_pipes(reader, writer, options, tell));
    let (reader, writer) = split(theirs);
    Begun {
        server: Server {
            lines: BufReader::new(reader).lines(),
            writer,
        },
        told,
        client,
    }
}

/// A client that talks to a modern server with these capabilities.
pub(crate) async fn modern_with(
    capabilities: Value,
) -> (Client, Server, mpsc::Receiver<ServerNotice>) {
    let mut begun = begin(options());
    begun.server.discovered(capabilities).await;
    let client = begun.client.await.expect("no panic").expect("a client");
    (client, begun.server, begun.told)
}

/// A client that talks to a legacy server.
pub(crate) async fn legacy_with(
    options: ClientOptions,
) -> (Client, Server, mpsc::Receiver<ServerNotice>) {
    let mut begun = begin(options);
    begun.server.initialized(json!({ "tools": {} })).await;
    let client = begun.client.await.expect("no panic").expect("a client");
    (client, begun.server, begun.told)
}

pub(crate) fn call(name: &str) -> ToolCall {
    ToolCall {
        name: name.to_owned(),
        arguments: Map::new(),
        input: None,
    }
}

pub(crate) fn patient() -> CallOptions {
    CallOptions {
        key: 7,
        idle_timeout: Duration::from_secs(5),
        timeout: Duration::from_secs(20),
        cancel: CancellationToken::new(),
        progress: None,
    }
}

pub(crate) fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

/// A call that is under way.
pub(crate) fn calling(
    client: &Client,
    call: ToolCall,
    options: CallOptions,
) -> tokio::task::JoinHandle<Result<toolcrib_mcp::client::Called, ClientError>> {
    let client = client.clone();
    tokio::spawn(async move { client.call_tool(call, options).await })
}
