//! Since 2026-07-28: a request stands for itself, and its stream is its life. Closing the stream takes the request back.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::{HeaderMap, StatusCode};

use super::super::answer::{Answer, Exchange, Sent};
use super::super::dispatch::{Expect, Taken};
use super::super::outbox::Outbox;
use super::super::params::Params;
use super::super::refusals::unsupported;
use super::super::session::Session;
use super::super::{Host, Server};
use super::accept::Takes;
use super::{First, HttpAnswer, HttpBody, HttpRequest, Refused, empty, events, mirrored};
use crate::protocol::MODERN;
use crate::rpc::{Message, RpcError, code};

impl Server {
    /// Answers one message.
    pub(super) async fn modern(
        &self,
        request: &HttpRequest,
        message: Message<'_>,
    ) -> Result<HttpAnswer, Refused> {
        let id = match &message {
            Message::Request { id, .. } => id.clone(),
            Message::Notification { .. } => return Ok(empty(StatusCode::ACCEPTED)),
            Message::Response { .. } => {
                return Err(Refused::bad(super::invalid(
                    "since 2026-07-28 a client is not asked anything and has nothing to answer",
                )));
            }
        };
        let takes = super::takes(&request.headers).map_err(|it| it.of(Some(id.clone())))?;
        let outbox: Arc<Outbox> = Arc::default();
        let session = Session::new(Arc::clone(&request.principal), Arc::clone(&outbox));
        let check = |method: &str, params: &Params<'_>| {
            check_headers(&*self.0.host, &request.headers, method, params)
        };
        let answering = match self.dispatch(&session, &outbox, message, Expect::Modern(&check)) {
            Taken::Nothing => return Ok(empty(StatusCode::ACCEPTED)),
            Taken::Answer(answer) => {
                let status = status_of(&answer, StatusCode::BAD_REQUEST);
                return Ok(self.whole(status, &answer, takes));
            }
            Taken::Answering(answering) => answering,
        };
        if takes == Takes::Json {
            if answering.is_listening() {
                let refused = super::not_acceptable(
                    "a subscription is a stream; send `Accept: text/event-stream`",
                );
                return Err(refused.of(Some(id)));
            }
            return Ok(match answering.await {
                Some(answer) => self.whole(status_of(&answer, StatusCode::OK), &answer, takes),
                None => empty(StatusCode::ACCEPTED),
            });
        }
        let is_listening = answering.is_listening();
        let mut exchange = answering.with_outbox(Arc::clone(&self.0), outbox);
        let first = match is_listening {
            true => None,
            false => match First::of(&mut exchange).await {
                First::Answer(answer) => {
                    let status = status_of(&answer, StatusCode::OK);
                    return Ok(self.whole(status, &answer, takes));
                }
                First::Nothing => return Ok(empty(StatusCode::ACCEPTED)),
                First::More(first) => Some(first),
            },
        };
        let begun = first.map(|text| text.map_or(events::SILENCE, |text| events::event(&text)));
        let frames = stream::unfold(Some(exchange), frame);
        Ok(super::stream_answer(HttpBody::Stream(
            stream::iter(begun).chain(frames).boxed(),
        )))
    }
}

/// The next event of a request. With the stream goes the exchange, and with that the request.
async fn frame(exchange: Option<Exchange>) -> Option<(Bytes, Option<Exchange>)> {
    let mut exchange = exchange?;
    let next = tokio::select! {
        biased;
        next = exchange.next() => next?,
        () = tokio::time::sleep(events::HEARTBEAT) => {
            return Some((events::SILENCE, Some(exchange)));
        }
    };
    match next {
        Sent::Message(text) => Some((events::event(&text), Some(exchange))),
        Sent::Answer(answer) => {
            let text = answer.to_bytes(&exchange.server);
            Some((events::event(&text), None))
        }
    }
}

/// The status of an answer; `otherwise` is that of errors which are the protocol's everyday.
fn status_of(answer: &Answer, otherwise: StatusCode) -> StatusCode {
    match &answer.result {
        Ok(_) => StatusCode::OK,
        Err(error) => match error.code {
            code::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
            code::HEADER_MISMATCH | code::MISSING_CAPABILITY | code::UNSUPPORTED_VERSION => {
                StatusCode::BAD_REQUEST
            }
            _ => otherwise,
        },
    }
}

/// Refuses a request whose headers say something else than it does.
fn check_headers(
    host: &dyn Host,
    headers: &HeaderMap,
    method: &str,
    params: &Params<'_>,
) -> Result<(), RpcError> {
    let version = mirrored::required(headers, &mirrored::VERSION)?;
    match params.meta.as_ref().and_then(|meta| meta.version().ok()) {
        Some(said) if said != version => {
            return Err(RpcError::new(
                code::HEADER_MISMATCH,
                "the header `mcp-protocol-version` and the body do not say the same",
            ));
        }
        // That the body says nothing is another mistake, and told as such; unless nothing could be said in this version.
        None if version != MODERN => return Err(unsupported(version)),
        Some(_) | None => {}
    }
    mirrored::check_method(headers, method)?;
    match method {
        "tools/call" => {
            let name = params.name()?;
            mirrored::check_name(headers, &name)?;
            let header_params = host.header_params(&name);
            if header_params.is_empty() {
                return Ok(());
            }
            let arguments = match params.arguments()? {
                Some(arguments) => {
                    serde_json::from_str(arguments.get()).map_err(super::super::params::unfit)?
                }
                None => serde_json::Value::Null,
            };
            mirrored::check_params(headers, &header_params, &arguments)
        }
        "prompts/get" => mirrored::check_name(headers, &params.name()?),
        "resources/read" => mirrored::check_name(headers, &params.uri()?),
        _ => Ok(()),
    }
}
