//! Why a request is not carried out: [`Refusal`], a [`ToolError`] with a status.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use serde_json::json;
use toolcrib::{ErrorCode, ToolError};

use super::body::Body;

/// A request that is not carried out. On the wire `{"ok": false, "error": {code, message, details?}}`, as for calls.
#[derive(Debug)]
pub struct Refusal {
    status: StatusCode,
    error: ToolError,
    headers: Vec<(header::HeaderName, HeaderValue)>,
}

impl From<ToolError> for Refusal {
    /// With the status of its code.
    fn from(error: ToolError) -> Self {
        // Codes of tools that ran and failed are 200 where a call answers; anywhere else such a code is a fault of the request.
        let status = match error.code().http_status() {
            200 => StatusCode::BAD_REQUEST,
            status => StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
        };
        Refusal {
            status,
            error,
            headers: Vec::new(),
        }
    }
}

impl Refusal {
    /// Refuses with a code.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        ToolError::new(code, message).into()
    }

    /// The request itself is wrong: 400.
    pub fn usage(message: impl Into<String>) -> Self {
        Refusal::new(ErrorCode::Usage, message)
    }

    /// Replaces the status.
    #[must_use]
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn with_header(mut self, name: header::HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// The error, without its status.
    pub fn into_error(self) -> ToolError {
        self.error
    }

    /// The status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The error.
    pub fn error(&self) -> &ToolError {
        &self.error
    }

    /// The answer.
    pub fn into_response(self) -> Response<Body> {
        let mut response = json_response(self.status, &json!({"ok": false, "error": self.error}));
        response.headers_mut().extend(self.headers);
        response
    }
}

/// The same answer, saying where what was made can be found.
pub(crate) fn located(mut response: Response<Body>, path: &str) -> Response<Body> {
    if let Ok(path) = HeaderValue::from_str(path) {
        response.headers_mut().insert(header::LOCATION, path);
    }
    response
}

/// An answer without a body: 204.
pub(crate) fn no_content() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

/// A page of a list: `{"<name>": [...], "nextPageToken"?}`.
pub(crate) fn list_response(
    name: &str,
    items: &impl serde::Serialize,
    next: Option<String>,
) -> Response<Body> {
    let mut page = serde_json::Map::new();
    page.insert(name.to_owned(), json!(items));
    if let Some(next) = next {
        page.insert("nextPageToken".to_owned(), next.into());
    }
    json_response(StatusCode::OK, &page)
}

/// The end of an id, as the command line shows and takes it.
pub(crate) fn short_id(id: &str) -> &str {
    id.get(id.len().saturating_sub(8)..).unwrap_or(id)
}

/// Sends a browser elsewhere: 302.
pub(crate) fn redirect(to: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::FOUND;
    let to = HeaderValue::from_static(to);
    response.headers_mut().insert(header::LOCATION, to);
    response
}

/// An answer in JSON.
pub(crate) fn json_response(status: StatusCode, value: &impl serde::Serialize) -> Response<Body> {
    let bytes = serde_json::to_vec(value).unwrap_or_else(|_| b"null".to_vec());
    let mut response = Response::new(Body::Whole(Some(Bytes::from(bytes))));
    *response.status_mut() = status;
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    response
}
