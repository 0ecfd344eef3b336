//! Streamable HTTP, the asking end: every message is a separate request, its answer JSON or a stream of events.
//!
//! A legacy server may have a session, which ends when it likes: one that is gone is begun again, once for each request, and what the
//! server did not take up is sent again. Streams of its answers can break and be taken up where they ended. A modern server has neither.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ::http::header::{ACCEPT, CONTENT_TYPE, WWW_AUTHENTICATE};
use ::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri};
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::error::ClientError;
use super::exchange::{Exchange, ExchangeResponse};
use super::handshake;
use super::mirror::{self, Mirrored};
use super::options::{ClientOptions, ToolCall};
use super::request_table::{Sent, Talk, Wire, cut, lock, tamed};
use super::server_message::{ListedTool, ServerNotice};
use crate::protocol::{Era, LEGACY, MODERN};
use crate::rpc::{self, Message, RpcError};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
pub(super) const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
pub(super) const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const EITHER: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// The longest id of a session.
const MAX_SESSION_ID: usize = 1024;
/// How much of a page that says why not is read.
const MAX_REFUSAL: usize = 64 * 1024;
/// How long is waited for someone to take a message that has no answer.
const TELL_TIME: Duration = Duration::from_secs(10);
const CLOSE_TIME: Duration = Duration::from_secs(3);

/// How a server is reached.
pub(super) struct Http {
    url: Uri,
    exchange: Arc<dyn Exchange>,
    session: Mutex<Session>,
    /// Held while a session is begun again.
    renewing: tokio::sync::Mutex<()>,
    /// Which parameters of which tools go into headers.
    mirrored: Mutex<HashMap<String, Vec<Mirrored>>>,
}

#[derive(Default)]
struct Session {
    id: Option<HeaderValue>,
    /// How many there were.
    number: u64,
    /// Ends the stream of notifications of this session.
    listening: CancellationToken,
}

/// Why a request has no answer.
enum Failure {
    /// The session is gone; the request was not taken up.
    SessionGone,
    Other(ClientError),
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        Failure::Other(error)
    }
}

pub(super) fn open(
    url: &str,
    exchange: Arc<dyn Exchange>,
    options: ClientOptions,
    told: mpsc::Sender<ServerNotice>,
) -> Result<Arc<Talk>, ClientError> {
    let url = url.parse::<Uri>().map_err(|error| {
        ClientError::Gone(format!(
            "cannot reach `{}`: {error}",
            cut(url.to_owned(), 200)
        ))
    })?;
    let http = Http {
        url,
        exchange,
        session: Mutex::default(),
        renewing: tokio::sync::Mutex::default(),
        mirrored: Mutex::default(),
    };
    Ok(Talk::new(options, told, Wire::Http(Box::new(http))))
}

impl Http {
    /// Sends a request and hears what comes of it, until it is answered.
    pub(super) async fn carry(&self, talk: &Arc<Talk>, sent: &Sent) -> Result<(), ClientError> {
        let mut has_renewed = false;
        loop {
            let number = lock(&self.session).number;
            match self.once(talk, sent).await {
                Ok(()) => return Ok(()),
                Err(Failure::Other(error)) => return Err(error),
                Err(Failure::SessionGone) if has_renewed => {
                    return Err(ClientError::Gone(
                        "the server ends every session".to_owned(),
                    ));
                }
                Err(Failure::SessionGone) => {
                    has_renewed = true;
                    self.renew(talk, number).await?;
                }
            }
        }
    }

    async fn once(&self, talk: &Arc<Talk>, sent: &Sent) -> Result<(), Failure> {
        let request = self.post(talk, sent);
        let has_session = request.headers().contains_key(SESSION);
        let response = self
            .exchange
            .send(request)
            .await
            .map_err(ClientError::from)?;
        match response.status {
            StatusCode::NOT_FOUND if has_session => return Err(Failure::SessionGone),
            status if !status.is_success() => {
                let error = refused(response).await;
                return Err(in_the_end(error, status, sent).into());
            }
            _ => {}
        }
        if sent.method == "initialize" {
            self.begin_session(&response.headers);
        }
        match content_type(&response.headers) {
            "application/json" => self.json(talk, sent, response).await?,
            "text/event-stream" => {
                self.events(talk, sent, response).await?;
            }
            other => {
                return Err(ClientError::protocol(match other {
                    "" => format!("it answered `{}` with nothing", sent.method),
                    other => format!(
                        "it answered `{}` with `{}`, which is neither JSON nor events",
                        sent.method,
                        cut(other.to_owned(), 100)
                    ),
                })
                .into());
            }
        }
        Ok(())
    }

    async fn json(
        &self,
        talk: &Arc<Talk>,
        sent: &Sent,
        response: ExchangeResponse,
    ) -> Result<(), ClientError> {
        let most = talk.options.max_message;
        let body = whole(response, most).await?;
        let Some(body) = body else {
            return Err(ClientError::protocol(format!(
                "it sent a message of more than {most} bytes"
            )));
        };
        talk.hear(&body, Some(&sent.signs));
        if !talk.is_waiting(sent.id) {
            return Ok(());
        }
        // An error need not say which request it is for: there is only this one.
        match error_in(&body) {
            Some(error) => Err(ClientError::Rpc(tamed(error))),
            None => Err(ClientError::protocol(format!(
                "its response to `{}` is not an answer to it",
                sent.method
            ))),
        }
    }

    fn begin_session(&self, headers: &HeaderMap) {
        let id = headers.get(SESSION).filter(|id| {
            let text = id.to_str().unwrap_or_default();
            !text.is_empty() && text.len() <= MAX_SESSION_ID && text.bytes().all(|byte| byte > b' ')
        });
        let mut session = lock(&self.session);
        session.listening.cancel();
        *session = Session {
            id: id.cloned(),
            number: session.number + 1,
            listening: CancellationToken::new(),
        };
    }

    /// Begins a session again, unless someone else just did.
    fn renew<'a>(
        &'a self,
        talk: &'a Arc<Talk>,
        number: u64,
    ) -> BoxFuture<'a, Result<(), ClientError>> {
        Box::pin(async move {
            let _renewing = self.renewing.lock().await;
            if lock(&self.session).number != number {
                return Ok(());
            }
            let version = match talk.era() {
                Era::Legacy(version) => version,
                Era::Modern => LEGACY,
            };
            handshake::initialize(talk, version).await?;
            drop(self.hear_besides(talk));
            // Another session may well have other tools.
            talk.tools_changed();
            Ok(())
        })
    }

    fn post(&self, talk: &Arc<Talk>, sent: &Sent) -> Request<Bytes> {
        let mut request = self.message(sent.text.clone());
        let headers = request.headers_mut();
        match (sent.method, talk.era()) {
            ("initialize", _) => {}
            ("server/discover", _) | (_, Era::Modern) => {
                headers.insert(VERSION, HeaderValue::from_static(MODERN));
                headers.insert(METHOD, HeaderValue::from_static(sent.method));
                if let Some(name) = sent.name.as_deref().and_then(mirror::encode) {
                    headers.insert(NAME, name);
                }
                headers.extend(sent.mirrored.iter().cloned());
            }
            (_, Era::Legacy(version)) => self.mark(headers, version),
        }
        request
    }

    fn message(&self, body: Bytes) -> Request<Bytes> {
        let mut request = Request::new(body);
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.url.clone();
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, JSON);
        headers.insert(ACCEPT, EITHER);
        request
    }

    /// Headers of everything that belongs to a session.
    fn mark(&self, headers: &mut HeaderMap, version: &'static str) {
        headers.insert(VERSION, HeaderValue::from_static(version));
        if let Some(id) = &lock(&self.session).id {
            headers.insert(SESSION, id.clone());
        }
    }

    /// A request without a body that belongs to the session, and the token of that session.
    fn of_session(&self, talk: &Talk, method: Method) -> Request<Bytes> {
        let mut request = Request::new(Bytes::new());
        *request.method_mut() = method;
        *request.uri_mut() = self.url.clone();
        self.mark(request.headers_mut(), talk.era().version());
        request
    }

    /// A stream of events, opened again.
    pub(super) async fn get(
        &self,
        talk: &Talk,
        last_event: Option<&str>,
    ) -> Result<ExchangeResponse, ClientError> {
        let mut request = self.of_session(talk, Method::GET);
        request.headers_mut().insert(ACCEPT, EVENTS);
        if let Some(id) = last_event.and_then(|id| HeaderValue::from_str(id).ok()) {
            request.headers_mut().insert(LAST_EVENT, id);
        }
        Ok(self.exchange.send(request).await?)
    }

    /// Ends with the session that is now.
    pub(super) fn session_token(&self) -> CancellationToken {
        lock(&self.session).listening.clone()
    }

    pub(super) async fn tell(&self, talk: &Arc<Talk>, text: Bytes) {
        let mut request = self.message(text);
        if let Era::Legacy(version) = talk.era() {
            self.mark(request.headers_mut(), version);
        }
        let _ = tokio::time::timeout(TELL_TIME, self.exchange.send(request)).await;
    }

    /// No one waits for a request any more. A modern server sees it: its stream is dropped.
    pub(super) fn cancelled(&self, talk: &Arc<Talk>, notice: Value) {
        if talk.era().is_modern() {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let talk = talk.clone();
        runtime.spawn(async move { talk.tell(&notice).await });
    }

    /// Ends the session.
    pub(super) async fn close(&self, talk: &Arc<Talk>) {
        if talk.era().is_modern() || lock(&self.session).id.is_none() {
            return;
        }
        let request = self.of_session(talk, Method::DELETE);
        let _ = tokio::time::timeout(CLOSE_TIME, self.exchange.send(request)).await;
    }

    /// The headers that a call wants.
    pub(super) fn mirrored(&self, call: &ToolCall) -> Vec<(HeaderName, HeaderValue)> {
        match lock(&self.mirrored).get(&call.name) {
            Some(mirrored) => mirror::headers(mirrored, &call.arguments),
            None => Vec::new(),
        }
    }

    /// Keeps which parameters of these tools go into headers, and forgets all others.
    pub(super) fn remember(&self, tools: &[ListedTool]) {
        let one = |tool: &ListedTool| {
            let mirrored = mirror::mirrored(&tool.definition).ok()?;
            (!mirrored.is_empty()).then(|| (tool.name.clone(), mirrored))
        };
        *lock(&self.mirrored) = tools.iter().filter_map(one).collect();
    }
}

/// The media type, without parameters.
pub(super) fn content_type(headers: &HeaderMap) -> &str {
    let value = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let kind = value.unwrap_or_default().split(';').next();
    match kind.unwrap_or_default().trim() {
        kind if kind.eq_ignore_ascii_case("application/json") => "application/json",
        kind if kind.eq_ignore_ascii_case("text/event-stream") => "text/event-stream",
        kind => kind,
    }
}

/// A whole body; `None` if it is too long.
async fn whole(mut response: ExchangeResponse, most: usize) -> Result<Option<Bytes>, ClientError> {
    let mut body = Vec::new();
    while let Some(bytes) = response.body.next().await {
        let bytes = bytes?;
        if body.len() + bytes.len() > most {
            return Ok(None);
        }
        body.extend_from_slice(&bytes);
    }
    Ok(Some(body.into()))
}

/// What an answer says that is not a success.
pub(super) async fn refused(response: ExchangeResponse) -> ClientError {
    let status = response.status;
    let wants_login = status == StatusCode::UNAUTHORIZED
        || status == StatusCode::FORBIDDEN && response.headers.contains_key(WWW_AUTHENTICATE);
    if wants_login {
        return ClientError::Unauthorized(format!("it answered {status}"));
    }
    let body = match whole(response, MAX_REFUSAL).await {
        Ok(Some(body)) => body,
        Ok(None) | Err(_) => Bytes::new(),
    };
    if let Some(error) = error_in(&body) {
        return ClientError::Rpc(tamed(error));
    }
    let said = String::from_utf8_lossy(&body);
    let said: String = said.chars().filter(|c| !c.is_control()).take(200).collect();
    ClientError::Refused {
        status: status.as_u16(),
        said: match said.trim() {
            "" => format!("the server answered {status}"),
            said => format!("the server answered {status}: {said}"),
        },
    }
}

/// Says what may be the matter with a server that does not even know `initialize`.
fn in_the_end(error: ClientError, status: StatusCode, sent: &Sent) -> ClientError {
    let has_no_endpoint = matches!(
        status,
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED
    );
    match error {
        ClientError::Refused { status, said } if has_no_endpoint && sent.method == "initialize" => {
            ClientError::Refused {
                status,
                said: format!(
                    "{said}; is this the address of its MCP endpoint? The transport of 2024-11-05 (HTTP+SSE) is not spoken here"
                ),
            }
        }
        error => error,
    }
}

fn error_in(body: &[u8]) -> Option<RpcError> {
    match rpc::read(body) {
        Ok(Message::Response {
            result: Err(error), ..
        }) => Some(error),
        Ok(_) => None,
        // Errors without an id, or with one that is null, are common where a request was not even read.
        Err(_) => {
            let body: Value = serde_json::from_slice(body).ok()?;
            serde_json::from_value(body.get("error")?.clone()).ok()
        }
    }
}
