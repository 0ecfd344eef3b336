//! From a request to its answer: host, route, token, body, handler. The order is the invariant: nothing of a request is looked up or
//! read for somebody who may not ask.

use std::panic::AssertUnwindSafe;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::{Request, Response, header};
use http_body_util::{BodyExt as _, Limited};
use toolcrib::ErrorCode;

use super::Api;
use super::asked::{Asked, Peer, Query, RequestId};
use super::body::Body;
use super::refusal::Refusal;
use super::route::{Answer, Payload, Who};
use crate::auth::Principal;

impl Api {
    /// Answers a request. There is always an answer; a bug of ours is a 500 that says so, and nothing more.
    pub async fn answer<B>(&self, request: Request<B>, peer: Peer) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let answered = AssertUnwindSafe(self.try_answer(request, &peer))
            .catch_unwind()
            .await;
        match answered {
            Ok(Ok(response)) => response,
            Ok(Err(refusal)) => refusal.into_response(),
            Err(_) => Refusal::new(ErrorCode::Internal, "a bug in the server; it is in its log")
                .into_response(),
        }
    }

    async fn try_answer<B>(&self, request: Request<B>, _peer: &Peer) -> Answer
    where
        B: http_body::Body<Data = Bytes> + Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (parts, body) = request.into_parts();
        self.0.hosts.check(&parts)?;
        let (route, path) = self.0.routes.find(&parts.method, parts.uri.path())?;
        let principal = match route.who {
            Who::Anybody => Principal::Nobody,
            Who::Caller => self.0.tokens.principal(&parts.headers)?,
            Who::Operator => match self.0.tokens.principal(&parts.headers)? {
                Principal::Operator => Principal::Operator,
                _ => {
                    return Err(Refusal::new(
                        ErrorCode::Forbidden,
                        "this needs the operator's token",
                    ));
                }
            },
        };
        let cap = match route.payload {
            Payload::None => 0,
            Payload::Json | Payload::OptionalJson => self.0.max_body_bytes,
            Payload::Zip(cap) => cap,
        };
        let body = Limited::new(body, usize::try_from(cap).unwrap_or(usize::MAX));
        let body = body
            .collect()
            .await
            .map_err(|error| Refusal::usage(error.to_string()))?
            .to_bytes();
        let query = url::form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes());
        let asked = Asked {
            principal,
            id: RequestId(request_id(&parts.headers)),
            path,
            query: Query(query.into_owned().collect()),
            headers: parts.headers,
            body,
        };
        (route.handler)(self.clone(), asked).await
    }
}

fn request_id(headers: &http::HeaderMap) -> String {
    let given = headers.get("x-request-id").and_then(|id| id.to_str().ok());
    given.map_or_else(|| uuid::Uuid::now_v7().to_string(), str::to_owned)
}

#[expect(dead_code, reason = "the kernel's owner uses it")]
const ALLOW: header::HeaderName = header::ALLOW;
