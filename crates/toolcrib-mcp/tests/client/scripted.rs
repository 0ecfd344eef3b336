//! A server over HTTP without HTTP: every request comes to the test, which answers it.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use toolcrib_mcp::client::{
    Client, ClientError, ClientOptions, Exchange, ExchangeError, ExchangeResponse, ServerNotice,
};

use crate::fake::discovery;

type Answer = Result<ExchangeResponse, ExchangeError>;

struct Script(mpsc::UnboundedSender<Got>);

impl Exchange for Script {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Answer> {
        let (reply, replied) = oneshot::channel();
        let (head, body) = request.into_parts();
        let got = Got {
            method: head.method,
            headers: head.headers,
            body: serde_json::from_slice(&body).unwrap_or(Value::Null),
            reply,
        };
        let _ = self.0.send(got);
        Box::pin(async move {
            replied
                .await
                .unwrap_or_else(|_| Err(ExchangeError::Failed("no one is there".to_owned())))
        })
    }
}

/// The other end.
pub(crate) struct Server(mpsc::UnboundedReceiver<Got>);

/// A request that waits for its answer. Dropped, it finds none.
pub(crate) struct Got {
    pub(crate) method: Method,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
    reply: oneshot::Sender<Answer>,
}

/// The end of a stream of events that writes.
pub(crate) struct Writing(mpsc::UnboundedSender<Result<Bytes, ExchangeError>>);

impl Writing {
    pub(crate) fn raw(&self, text: &str) {
        let _ = self.0.send(Ok(Bytes::copy_from_slice(text.as_bytes())));
    }

    pub(crate) fn event(&self, message: &Value) {
        self.raw(&format!("data: {message}\n\n"));
    }

    pub(crate) fn breaks(self) {
        let _ = self.0.send(Err(ExchangeError::Failed("broken".to_owned())));
    }

    /// Waits until the client does not read any more.
    pub(crate) async fn closed(&self) {
        self.0.closed().await;
    }
}

impl Got {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn fail(self, error: ExchangeError) {
        let _ = self.reply.send(Err(error));
    }

    pub(crate) fn respond(self, status: u16, headers: &[(&'static str, &str)], body: &str) {
        let body = Bytes::copy_from_slice(body.as_bytes());
        let _ = self.reply.send(Ok(ExchangeResponse {
            status: StatusCode::from_u16(status).unwrap(),
            headers: header_map(headers),
            body: Box::pin(stream::iter([Ok(body)])),
        }));
    }

    pub(crate) fn accept(self) {
        self.respond(202, &[], "");
    }

    pub(crate) fn result(self, result: Value) {
        let message = json!({ "jsonrpc": "2.0", "id": self.body["id"], "result": result });
        self.respond(
            200,
            &[("content-type", "application/json; charset=utf-8")],
            &message.to_string(),
        );
    }

    pub(crate) fn error(self, status: u16, code: i64, data: Value) {
        let error = json!({ "code": code, "message": "no", "data": data });
        let message = json!({ "jsonrpc": "2.0", "id": self.body["id"], "error": error });
        self.respond(
            status,
            &[("content-type", "application/json")],
            &message.to_string(),
        );
    }

    pub(crate) fn events(self) -> Writing {
        let (write, mut read) = mpsc::unbounded_channel();
        let _ = self.reply.send(Ok(ExchangeResponse {
            status: StatusCode::OK,
            headers: header_map(&[("content-type", "text/event-stream")]),
            body: Box::pin(stream::poll_fn(move |cx| read.poll_recv(cx))),
        }));
        Writing(write)
    }
}

fn header_map(headers: &[(&'static str, &str)]) -> HeaderMap {
    let value = |text: &str| HeaderValue::from_str(text).unwrap();
    headers
        .iter()
        .map(|(name, text)| (http::HeaderName::from_static(name), value(text)))
        .collect()
}

impl Server {
    pub(crate) async fn next(&mut self) -> Got {
        self.0.recv().await.expect("a request")
    }

    /// The next request, which must be a message of this method.
    pub(crate) async fn expect(&mut self, method: &str) -> Got {
        let got = self.next().await;
        assert_eq!(got.method, Method::POST, "{}", got.body);
        assert_eq!(
            got.body["method"].as_str().unwrap_or(""),
            method,
            "{}",
            got.body
        );
        assert_eq!(
            got.header("accept"),
            Some("application/json, text/event-stream")
        );
        assert_eq!(got.header("content-type"), Some("application/json"));
        got
    }

    pub(crate) fn has_none(&mut self) -> bool {
        self.0.try_recv().is_err()
    }

    /// The legacy beginning with a session, up to the stream that it refuses.
    pub(crate) async fn initialized(&mut self, session: &str) {
        let asked = self.expect("initialize").await;
        assert_eq!(asked.header("mcp-session-id"), None);
        let result = json!({
            "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
            "serverInfo": { "name": "fake", "version": "1" },
        });
        let message = json!({ "jsonrpc": "2.0", "id": asked.body["id"], "result": result });
        let headers = [
            ("content-type", "application/json"),
            ("mcp-session-id", session),
        ];
        asked.respond(200, &headers, &message.to_string());
        let told = self.expect("notifications/initialized").await;
        assert_eq!(told.header("mcp-session-id"), Some(session));
        assert_eq!(told.header("mcp-protocol-version"), Some("2025-11-25"));
        told.accept();
    }

    /// The notification stream, which this server does not have.
    pub(crate) async fn no_stream(&mut self) {
        let got = self.next().await;
        assert_eq!(got.method, Method::GET);
        got.respond(405, &[], "");
    }
}

pub(crate) struct Begun {
    pub(crate) server: Server,
    pub(crate) told: mpsc::Receiver<ServerNotice>,
    pub(crate) client: tokio::task::JoinHandle<Result<Client, ClientError>>,
}

pub(crate) fn begin(options: ClientOptions) -> Begun {
    let (send, requests) = mpsc::unbounded_channel();
    let (tell, told) = mpsc::channel(16);
    let url = "http://127.0.0.1:9/mcp".to_owned();
    let client = Client::over_http(url, Arc::new(Script(send)), options, tell);
    Begun {
        server: Server(requests),
        told,
        client: tokio::spawn(client),
    }
}

/// A client that talks to a modern server with these capabilities.
pub(crate) async fn modern_with(
    capabilities: Value,
) -> (Client, Server, mpsc::Receiver<ServerNotice>) {
    let mut begun = begin(crate::fake::options());
    let asked = begun.server.expect("server/discover").await;
    assert_eq!(asked.header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!(asked.header("mcp-method"), Some("server/discover"));
    asked.result(discovery(capabilities));
    let client = begun.client.await.unwrap().unwrap();
    (client, begun.server, begun.told)
}

/// A client that talks to a legacy server with a session.
pub(crate) async fn legacy_with(
    options: ClientOptions,
) -> (Client, Server, mpsc::Receiver<ServerNotice>) {
    let mut begun = begin(options);
    begun.server.initialized("s-1").await;
    begun.server.no_stream().await;
    let client = begun.client.await.unwrap().unwrap();
    (client, begun.server, begun.told)
}
