//! One message in, what becomes of it out: [`Server::dispatch`].
//!
//! # How a transport uses it
//!
//! 1. It has a [`Session`]: [`Session::new`] for a pair of pipes or for a single modern request over HTTP, [`Server::begin_session`] /
//!    [`Server::session`] / [`Server::end_session`] for a legacy client over HTTP. Its own session making that may hear of changes
//!    is given to `server.0.sessions.add`.
//! 2. It has an [`Outbox`] for what goes to the client besides answers: on pipes and on a legacy `GET` stream the session's own, for
//!    an HTTP `POST` a new one per request.
//! 3. It reads a message with [`rpc::read`](crate::rpc::read); [`Answer::error`] is what a malformed one gets.
//! 4. It gives the message to [`Server::dispatch`] and does what the [`Taken`] says. An [`Answering`] is polled until it resolves;
//!    [`Answering::with_outbox`] makes one stream of its messages and its answer. Dropping it cancels the request, which is what a
//!    modern HTTP client wants when it goes; a legacy one does not, so there it is polled by a separate task.
//! 5. Answers to questions ([`Message::Response`]) and `notifications/cancelled` go the same way: through `dispatch` with the same session.
//! 6. At the end: [`Session::end`].

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::answer::{Answer, Answering, Keeps, Work, panicked};
use super::context::{ClientLink, Context};
use super::listen::Listening;
use super::methods::Task;
use super::outbox::Outbox;
use super::params::{Meta, Params, SoundRequest, unfit};
use super::refusals::not_begun;
use super::requester::{legacy_asker, modern_asker, object, refuse_modern};
use super::session::{Agreed, Session};
use super::{Ask, Reply, Server};
use crate::protocol::{ClientCapabilities, Implementation, LEGACY, MODERN, VERSIONS, WITH_BATCHES};
use crate::rpc::{Id, Message, RpcError, code, read_id};

/// What becomes of a message.
pub(crate) enum Taken {
    /// Nothing is to be sent.
    Nothing,
    /// The answer is known already.
    Answer(Answer),
    /// The answer takes polling.
    Answering(Answering),
}

/// Which era a request must be of.
#[derive(Clone, Copy)]
pub(crate) enum Expect<'a> {
    /// As it says itself.
    Either,
    /// A header said so; what else headers say is held against the request.
    Modern(HeaderCheck<'a>),
    /// A header or a session said so; a request that says otherwise is refused.
    Legacy,
}

/// Refuses a request (its method, its parameters) whose headers say something else.
pub(crate) type HeaderCheck<'a> = &'a dyn Fn(&str, &Params<'_>) -> Result<(), RpcError>;

impl Server {
    /// Takes one message. Never blocks; the host is not polled yet.
    pub(crate) fn dispatch(
        &self,
        session: &Arc<Session>,
        outbox: &Arc<Outbox>,
        message: Message<'_>,
        expect: Expect<'_>,
    ) -> Taken {
        match message {
            Message::Request { id, method, params } => match Params::read(params) {
                Ok(params) => self.dispatch_request(session, outbox, id, &method, &params, expect),
                Err(error) => Taken::Answer(Answer::error(Some(id), error)),
            },
            Message::Notification { method, params } => {
                notification(session, &method, params);
                Taken::Nothing
            }
            Message::Response { id, result } => {
                if let Some(id) = id {
                    let result = result.and_then(|raw| {
                        serde_json::from_str::<Value>(raw.get()).map_err(|error| {
                            RpcError::new(
                                code::PARSE_ERROR,
                                format!("the client's answer cannot be read: {error}"),
                            )
                        })
                    });
                    session.answered(&id, result);
                }
                Taken::Nothing
            }
        }
    }

    /// Takes a message as it is on a line, a malformed one too.
    pub(crate) fn dispatch_text(
        &self,
        session: &Arc<Session>,
        outbox: &Arc<Outbox>,
        text: &[u8],
    ) -> Taken {
        if let Some(request) = SoundRequest::read(text) {
            let params = request.params.unwrap_or_default();
            let (id, method) = (request.id, request.method);
            return self.dispatch_request(session, outbox, id, method, &params, Expect::Either);
        }
        match crate::rpc::read(text) {
            Ok(message) => self.dispatch(session, outbox, message, Expect::Either),
            Err(malformed) => Taken::Answer(Answer::error(malformed.id, malformed.error)),
        }
    }

    fn dispatch_request(
        &self,
        session: &Arc<Session>,
        outbox: &Arc<Outbox>,
        id: Id,
        method: &str,
        params: &Params<'_>,
        expect: Expect<'_>,
    ) -> Taken {
        match self.request(session, outbox, &id, method, params, expect) {
            Ok(taken) => taken,
            Err(error) => Taken::Answer(Answer::error(Some(id), error)),
        }
    }

    fn request(
        &self,
        session: &Arc<Session>,
        outbox: &Arc<Outbox>,
        id: &Id,
        method: &str,
        params: &Params<'_>,
        expect: Expect<'_>,
    ) -> Result<Taken, RpcError> {
        if session.is_running(id) {
            return Err(RpcError::new(
                code::INVALID_REQUEST,
                "a request of this id is not answered yet",
            ));
        }
        let says_modern = params.meta.as_ref().is_some_and(Meta::is_modern);
        let modern = match expect {
            Expect::Either => says_modern,
            Expect::Modern(check) => {
                check(method, params)?;
                true
            }
            Expect::Legacy => {
                refuse_modern(params)?;
                false
            }
        };
        let asker = if modern {
            match modern_asker(session, params)? {
                Some(asker) => asker,
                // The version of its session, as was just seen.
                None => legacy_asker(session).ok_or_else(not_begun)?,
            }
        } else {
            match method {
                "initialize" => return self.initialize(session, id, params),
                // Asked by clients that want to know whether anybody is there, before anything else.
                "ping" => return Ok(Taken::Answer(Answer::text(id.clone(), &b"{}"[..]))),
                _ => legacy_asker(session).ok_or_else(not_begun)?,
            }
        };
        if method == "server/discover" && asker.era.is_modern() {
            let text = self.0.texts.discovered.clone();
            return Ok(Taken::Answer(Answer::text(id.clone(), text)));
        }
        let task = self.task(session, &asker, method, params)?;
        let progress = match &params.meta {
            Some(meta) => meta.progress()?.map(Box::from),
            None => None,
        };
        let way = ClientLink::new(
            Arc::clone(outbox),
            Arc::clone(session),
            progress,
            asker.level,
        );
        let (work, keeps, cancelled) = match task {
            Task::Host(ask, keeps) => {
                let cancelled = CancellationToken::new();
                let context = Context {
                    era: asker.era,
                    principal: Arc::clone(&session.principal),
                    client: asker.client,
                    capabilities: Arc::clone(&asker.capabilities),
                    cancelled: cancelled.clone(),
                    traceparent: params.meta.as_ref().and_then(Meta::traceparent),
                    way: Arc::clone(&way),
                };
                let host = Arc::clone(&self.0.host);
                let subscribed = match &ask {
                    Ask::Subscribe { uri } => Some(uri.clone()),
                    _ => None,
                };
                let mut work =
                    std::panic::catch_unwind(AssertUnwindSafe(move || host.answer(ask, context)))
                        .map_err(|_| panicked())?;
                if let Some(uri) = subscribed {
                    work = Box::pin(subscribing(Arc::clone(session), uri, work));
                }
                (Work::Host(work), keeps, cancelled)
            }
            Task::Listen => {
                let ends = session.listening.child_token();
                let place = session.place_to_listen()?;
                let listening = Listening::open(self, id, params, outbox, &ends, place)?;
                (Work::Listening(listening), Keeps::Never, ends)
            }
        };
        Ok(Taken::Answering(Answering {
            id: id.clone(),
            era: asker.era,
            keeps,
            work,
            session: Arc::clone(session),
            way,
            capabilities: asker.capabilities,
            cancelled,
            tracked: None,
        }))
    }

    fn initialize(
        &self,
        session: &Session,
        id: &Id,
        params: &Params<'_>,
    ) -> Result<Taken, RpcError> {
        let wanted = params.protocol_version()?;
        let capabilities = object("capabilities", params.capabilities)?;
        let client: Implementation =
            serde_json::from_str(object("clientInfo", params.client_info)?).map_err(unfit)?;
        let capabilities: ClientCapabilities = serde_json::from_str(capabilities).map_err(unfit)?;
        let version = VERSIONS
            .into_iter()
            .find(|it| *it == wanted && *it != MODERN)
            .map_or(LEGACY, |it| match it == WITH_BATCHES {
                true => "2024-11-05",
                false => it,
            });
        let agreed = Agreed {
            version,
            client: Some(Arc::new(client)),
            capabilities: Arc::new(capabilities),
        };
        if !session.agree(agreed) {
            return Err(RpcError::new(
                code::INVALID_REQUEST,
                "`initialize` came before: it begins a session once",
            ));
        }
        Ok(Taken::Answer(Answer::text(
            id.clone(),
            self.0.texts.initialized(version),
        )))
    }
}

/// Follows a resource once the host has said that it may be followed.
async fn subscribing(
    session: Arc<Session>,
    uri: String,
    work: BoxFuture<'static, Result<Reply, RpcError>>,
) -> Result<Reply, RpcError> {
    let reply = work.await?;
    if session.follow(&uri) {
        Ok(reply)
    } else {
        Err(RpcError::invalid_params(
            "too many resources are followed; end some with `resources/unsubscribe`",
        ))
    }
}

fn notification(session: &Session, method: &str, params: Option<&RawValue>) {
    match method {
        "notifications/initialized" => session.set_ready(),
        "notifications/cancelled" => {
            // What cannot be read is no one's request: the protocol wants it ignored.
            let Ok(params) = Params::read(params) else {
                return;
            };
            if let Some(id) = params.request_id.and_then(read_id) {
                session.withdraw(&id);
            }
        }
        _ => {}
    }
}
