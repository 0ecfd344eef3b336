//! Answers in the place of the network, for the tests of HTTP tools: [`Answerer`].

use http::{HeaderName, HeaderValue, StatusCode};

use super::request::{Redirected, Request, Response};
use crate::target::EgressError;

/// Answers requests that would otherwise be sent. What it answers to leaves the process in no other way; redirections are not followed.
pub trait Answerer: Send + Sync + 'static {
    /// The answer to a request; `None` when there is none left.
    fn answer(&self, request: &Request) -> Option<ScriptedAnswer>;
}

/// An answer as it is written in a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptedAnswer {
    /// The status code.
    pub status: u16,
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

impl ScriptedAnswer {
    /// The answer as the client would give it, within the limits of the request.
    pub(super) fn into_response(self, request: &Request) -> Result<Response, EgressError> {
        let max = request.max_received;
        if self.body.len() as u64 > max {
            return Err(EgressError::TooLong { max });
        }
        let bad = |what: &str| EgressError::BadRequest(format!("the scripted answer has {what}"));
        let mut headers = http::HeaderMap::new();
        for (name, value) in &self.headers {
            let name = HeaderName::try_from(name).map_err(|_| bad("a header without a name"))?;
            let value =
                HeaderValue::try_from(value).map_err(|_| bad("a header that cannot be sent"))?;
            headers.append(name, value);
        }
        Ok(Response {
            status: StatusCode::from_u16(self.status).map_err(|_| bad("no status"))?,
            headers,
            url: request.url.clone(),
            body: self.body.into(),
            redirected: Redirected::No,
        })
    }
}
