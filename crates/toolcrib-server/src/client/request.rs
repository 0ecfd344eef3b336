//! One request and its answer.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Either, Full, Limited};
use hyper::body::Incoming;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::Instant;

use super::connect::Connection;
use super::error::ClientError;
use super::events::Events;
use super::{Client, PATIENCE};
use crate::api::Body;

/// What an answer brings: from a connection, or from this process.
pub(super) type Coming = Either<Incoming, Body>;

/// The largest answer that is read, unless a request says otherwise.
const MAX_ANSWER: usize = 64 * 1024 * 1024;

/// A request.
#[derive(Debug, Clone)]
pub struct Ask {
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Option<Bytes>,
    patience: Option<Duration>,
    max_answer: usize,
}

impl Ask {
    /// A request without a body. The path is as it goes over the wire, with its query; [`Ask::encoded`] makes a segment of any text.
    pub fn new(method: Method, path: impl Into<String>) -> Self {
        Ask {
            method,
            path: path.into(),
            headers: HeaderMap::new(),
            body: None,
            patience: Some(PATIENCE),
            max_answer: MAX_ANSWER,
        }
    }

    /// `GET`.
    pub fn get(path: impl Into<String>) -> Self {
        Ask::new(Method::GET, path)
    }

    /// `POST` with JSON.
    pub fn post(path: impl Into<String>, body: &Value) -> Self {
        Ask::new(Method::POST, path).json(body)
    }

    /// `PATCH` with JSON.
    pub fn patch(path: impl Into<String>, body: &Value) -> Self {
        Ask::new(Method::PATCH, path).json(body)
    }

    /// `PUT` with JSON.
    pub fn put(path: impl Into<String>, body: &Value) -> Self {
        Ask::new(Method::PUT, path).json(body)
    }

    /// Only if what is there is still what this digest stands for.
    pub fn if_match(self, digest: &str) -> Result<Self, ClientError> {
        let value = HeaderValue::try_from(format!("\"{digest}\""));
        let value = value.map_err(|_| ClientError::Usage("this is not a digest".to_owned()))?;
        Ok(self.header(header::IF_MATCH, value))
    }

    /// `POST` without a body.
    pub fn post_nothing(path: impl Into<String>) -> Self {
        Ask::new(Method::POST, path)
    }

    /// `POST` with a ZIP archive.
    pub fn post_zip(path: impl Into<String>, archive: impl Into<Bytes>) -> Self {
        Ask::new(Method::POST, path).body("application/zip", archive)
    }

    /// With a body of JSON.
    #[must_use]
    pub fn json(self, body: &Value) -> Self {
        self.body("application/json", body.to_string())
    }

    /// With a body.
    #[must_use]
    pub fn body(mut self, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        self.body = Some(body.into());
        self.header(header::CONTENT_TYPE, HeaderValue::from_static(content_type))
    }

    /// With a header.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Waits so long for the whole answer; for ever if `None`.
    #[must_use]
    pub fn patience(mut self, patience: Option<Duration>) -> Self {
        self.patience = patience;
        self
    }

    /// Reads an answer of up to so many bytes.
    #[must_use]
    pub fn max_answer(mut self, bytes: usize) -> Self {
        self.max_answer = bytes;
        self
    }

    /// Any text as one segment of a path or one value of a query.
    pub fn encoded(text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for byte in text.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                    out.push(char::from(byte));
                }
                other => out.push_str(&format!("%{other:02X}")),
            }
        }
        out
    }
}

/// An answer, all of it.
#[derive(Debug, Clone)]
pub struct Answered {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl Client {
    /// `GET`s JSON.
    pub async fn get(&self, path: &str) -> Result<Value, ClientError> {
        self.json(Ask::get(path)).await
    }

    /// `GET`s JSON into a type.
    pub async fn get_as<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.json_as(Ask::get(path)).await
    }

    /// `POST`s JSON and reads JSON.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Value, ClientError> {
        self.json(Ask::post(path, body)).await
    }

    /// `PUT`s JSON and reads JSON.
    pub async fn put(&self, path: &str, body: &Value) -> Result<Value, ClientError> {
        self.json(Ask::put(path, body)).await
    }

    /// `PATCH`es with JSON and reads JSON.
    pub async fn patch(&self, path: &str, body: &Value) -> Result<Value, ClientError> {
        self.json(Ask::patch(path, body)).await
    }

    /// `DELETE`s.
    pub async fn delete(&self, path: &str) -> Result<Value, ClientError> {
        self.json(Ask::new(Method::DELETE, path)).await
    }

    /// Sends a request and reads JSON; `null` where there is no body. A status of 400 and above is an error.
    pub async fn json(&self, ask: Ask) -> Result<Value, ClientError> {
        let answered = self.send(ask).await?;
        self.read_json(answered)
    }

    /// Sends a request and reads JSON into a type. A status of 400 and above is an error.
    pub async fn json_as<T: DeserializeOwned>(&self, ask: Ask) -> Result<T, ClientError> {
        let answered = self.send(ask).await?;
        match answered.status.as_u16() < 400 {
            true => serde_json::from_slice(&answered.body)
                .map_err(|error| self.strange(error.to_string())),
            false => Err(self.refusal(answered)),
        }
    }

    /// Sends a request and reads bytes. A status of 400 and above is an error.
    pub async fn bytes(&self, ask: Ask) -> Result<Bytes, ClientError> {
        let answered = self.send(ask).await?;
        match answered.status.as_u16() < 400 {
            true => Ok(answered.body),
            false => Err(self.refusal(answered)),
        }
    }

    /// Sends a request and reads the whole answer, whatever its status.
    pub async fn send(&self, ask: Ask) -> Result<Answered, ClientError> {
        let (patience, max) = (ask.patience, ask.max_answer);
        let deadline = patience.map(|patience| Instant::now() + patience);
        let work = async {
            let (response, connection) = self.exchange(ask).await?;
            let (parts, body) = response.into_parts();
            let body = Limited::new(body, max)
                .collect()
                .await
                .map_err(|error| self.lost(error.to_string()))?
                .to_bytes();
            self.keep(connection);
            Ok(Answered {
                status: parts.status,
                headers: parts.headers,
                body,
            })
        };
        match deadline {
            None => work.await,
            Some(deadline) => match tokio::time::timeout_at(deadline, work).await {
                Ok(answered) => answered,
                Err(_) => {
                    let patience = patience.unwrap_or_default();
                    Err(self.lost(format!("no answer within {patience:?}")))
                }
            },
        }
    }

    /// Sends a request that is answered with a stream of events. What answers otherwise, is `Err` with the answer as far as it is not
    /// an error.
    pub async fn stream(&self, ask: Ask) -> Result<Result<Events, Answered>, ClientError> {
        let ask = ask.header(
            header::ACCEPT,
            HeaderValue::from_static("text/event-stream"),
        );
        let (patience, max) = (ask.patience, ask.max_answer);
        let sending = self.exchange(ask);
        let exchanged = match patience {
            None => sending.await,
            Some(patience) => match tokio::time::timeout(patience, sending).await {
                Ok(exchanged) => exchanged,
                Err(_) => Err(self.lost(format!("no answer within {patience:?}"))),
            },
        };
        let (response, connection) = exchanged?;
        let kind = response.headers().get(header::CONTENT_TYPE);
        let is_stream = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        if response.status().is_success() && is_stream {
            return Ok(Ok(Events::of(self.clone(), response, connection)));
        }
        let (parts, body) = response.into_parts();
        let body = Limited::new(body, max)
            .collect()
            .await
            .map_err(|error| self.lost(error.to_string()))?;
        Ok(Err(Answered {
            status: parts.status,
            headers: parts.headers,
            body: body.to_bytes(),
        }))
    }

    /// What an answer says, as JSON.
    pub(super) fn read_json(&self, answered: Answered) -> Result<Value, ClientError> {
        let status = answered.status.as_u16();
        match (status < 400, answered.body.is_empty()) {
            (true, true) => Ok(Value::Null),
            (true, false) => serde_json::from_slice(&answered.body)
                .map_err(|_| self.strange(format!("it answers with status {status} and no JSON"))),
            (false, _) => Err(self.refusal(answered)),
        }
    }

    /// What an answer with a status of 400 and above says.
    fn refusal(&self, answered: Answered) -> ClientError {
        let status = answered.status.as_u16();
        match serde_json::from_slice::<Value>(&answered.body) {
            Ok(value) => ClientError::refused(status, &value)
                .unwrap_or_else(|| self.strange(format!("it answers with status {status}"))),
            Err(_) => self.strange(format!("it answers with status {status} and no JSON")),
        }
    }

    /// Sends on a kept connection, or on a new one. A kept one may have been closed meanwhile: what was not sent is sent again.
    async fn exchange(
        &self,
        ask: Ask,
    ) -> Result<(Response<Coming>, Option<Connection>), ClientError> {
        let mut request = self.request(&ask)?;
        if let Some(api) = &self.0.process {
            let response = api.answer_operator(request).await;
            return Ok((response.map(Either::Right), None));
        }
        let is_harmless = matches!(ask.method, Method::GET | Method::HEAD);
        while let Some(mut connection) = self.take_idle() {
            if connection.ready().await.is_err() {
                continue;
            }
            match connection.try_send_request(request).await {
                Ok(response) => return Ok((response.map(Either::Left), Some(connection))),
                Err(mut failed) => match failed.take_message() {
                    Some(unsent) => request = unsent,
                    // The server may have closed it while this was on its way.
                    None if is_harmless => request = self.request(&ask)?,
                    None => return Err(self.lost(in_words(failed.error()))),
                },
            }
        }
        let mut connection = self.0.dialler.dial().await?;
        match connection.send_request(request).await {
            Ok(response) => Ok((response.map(Either::Left), Some(connection))),
            // What answers does not speak HTTP: whatever it is, it has carried nothing out.
            Err(error) if error.is_parse() && !self.address().is_encrypted() => {
                Err(self.0.dialler.unusable(
                    "what answers there does not speak plain HTTP; is it https:// instead of http://?",
                ))
            }
            Err(error) => Err(self.lost(in_words(&error))),
        }
    }

    fn request(&self, ask: &Ask) -> Result<Request<Full<Bytes>>, ClientError> {
        let body = Full::new(ask.body.clone().unwrap_or_default());
        let mut request = Request::builder()
            .method(ask.method.clone())
            .uri(&ask.path)
            .body(body)
            .map_err(|error| ClientError::Usage(format!("no such request can be made: {error}")))?;
        let headers = request.headers_mut();
        headers.extend(ask.headers.clone());
        if let Ok(host) = HeaderValue::try_from(self.address().host_header()) {
            headers.insert(header::HOST, host);
        }
        let agent = concat!("toolcrib/", env!("CARGO_PKG_VERSION"));
        headers.insert(header::USER_AGENT, HeaderValue::from_static(agent));
        if !headers.contains_key(header::ACCEPT) {
            headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        }
        if let Some(token) = &self.0.token {
            headers.insert(header::AUTHORIZATION, token.clone());
        }
        Ok(request)
    }

    pub(super) fn lost(&self, why: impl Into<String>) -> ClientError {
        ClientError::Lost {
            server: self.address().to_string(),
            why: why.into(),
        }
    }

    pub(super) fn strange(&self, why: impl Into<String>) -> ClientError {
        ClientError::Strange {
            server: self.address().to_string(),
            why: why.into(),
        }
    }
}

/// An error of a connection without the library's own words.
pub(super) fn in_words(error: &hyper::Error) -> String {
    if error.is_incomplete_message() || error.is_closed() || error.is_canceled() {
        return "it was closed before the answer came".to_owned();
    }
    match std::error::Error::source(error) {
        Some(cause) => cause.to_string(),
        None => error.to_string(),
    }
}
