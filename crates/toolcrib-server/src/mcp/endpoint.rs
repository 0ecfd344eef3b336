//! `/mcp`: the endpoint of the server, behind its tokens and its checks of `Host` and `Origin`.
//!
//! The protocol crate handles messages; this module identifies the caller, limits its concurrent calls, and ends streams: with the server,
//! and with the reader's token. Calls take a place at the same gate as those of REST, so that neither way in is a way around the other; a
//! call that waits for a person lends its place, and has it until it is over, also if no one waits for it. A stream that stays open (`GET`,
//! `subscriptions/listen`) has a place among the streams; one that ends with its call has the call's.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _};
use http::{HeaderMap, Method, Response};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use toolcrib::{Crib, ErrorCode, ToolError};
use toolcrib_mcp::rpc::RpcError;
use toolcrib_mcp::server::{Ask, Context, Description, Host, HttpBody, HttpRequest, Reply, Server};

use super::calls::result::refusal;
use super::calls::{Arrival, Seat};
use super::{CribHost, HostOptions};
use crate::api::{Answer, Api, ApiRequest, Body, ParamDoc, ParamIn, Route, Who, param};
use crate::auth::{Clients, Principal};
use crate::observe::CallNote;
use crate::routes::calls::{CallSlot, Gate, lending};
use crate::routes::events;

/// How long a call waits for a place.
const PATIENCE: Duration = Duration::from_secs(45);

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    let post = Route::new(Method::POST, "/mcp", Who::Caller, |api, asked| {
        answer(api, asked, Method::POST).boxed()
    });
    let post = post
        .named("mcp", "mcp", "Takes one message of the Model Context Protocol.")
        .about(
            "Streamable HTTP, both eras on one address. Up to `2025-11-25` a client begins with `initialize`, whose answer has an \
             `Mcp-Session-Id` to send with everything that follows; a session belongs to the caller that began it. Since `2026-07-28` every request \
             stands for itself, and the headers `MCP-Protocol-Version`, `Mcp-Method` and `Mcp-Name` say what the body says.\n\n\
             A request is answered with one JSON object, or with a stream of events if something comes before its result or it takes a \
             moment. A notification, or an answer to a question of the server, is answered with 202. A stream of the older era can be \
             taken up again by `GET` with `Last-Event-ID`; closing one of the newer era cancels its request.",
        )
        .params([
            param::header(
                "Accept",
                "`application/json, text/event-stream`; a client that accepts only one of them is answered in that format.",
            ),
            version_param(),
            param::header("Mcp-Session-Id", "The session, up to `2025-11-25`."),
            param::header("Mcp-Method", "The method of the body, since `2026-07-28`."),
            param::header(
                "Mcp-Name",
                "The tool, prompt or resource of the body, since `2026-07-28`.",
            ),
        ])
        .takes::<MessageDoc>("One message, no batch.", || {
            json!({
                "jsonrpc": "2.0",
                "id": 1,
                "method": "initialize",
                "params": {
                    "protocolVersion": "2025-11-25",
                    "capabilities": {},
                    "clientInfo": {"name": "example", "version": "1"},
                },
            })
        })
        .answers::<AnswerDoc>(200, "The answer to a request.")
        .answers_with(200, "What comes before the answer, and the answer.", "text/event-stream")
        .answers_with(202, "A notification or an answer was taken.", "")
        .answers::<RefusedDoc>(400, "The message, its headers or its version are not what they should be.")
        .answers::<RefusedDoc>(404, "There is no such session, or, since `2026-07-28`, no such method.")
        .answers::<RefusedDoc>(406, "`Accept` admits neither JSON nor a stream of events.")
        .answers::<RefusedDoc>(415, "The body is not JSON by its `Content-Type`.")
        .refuses(429, "There are too many streams; `Retry-After` says when to come back.");
    let get = Route::new(Method::GET, "/mcp", Who::Caller, |api, asked| {
        answer(api, asked, Method::GET).boxed()
    });
    let get = get
        .named("mcpListen", "mcp", "Opens the stream of a session, up to `2025-11-25`.")
        .about(
            "Carries what belongs to no request: that tools changed, and questions to a client that takes no streams as answers. With \
             `Last-Event-ID` it goes on behind that event, on the stream to which it belonged. A session has one such stream: who opens it \
             again takes it over.",
        )
        .params([
            session_param(),
            version_param(),
            param::header(
                "Last-Event-ID",
                "The id of the last event that was seen: the stream begins behind it.",
            ),
        ])
        .answers_with(200, "The events.", "text/event-stream")
        .answers::<RefusedDoc>(400, "The session, the version or the place to go on at is missing or wrong.")
        .answers::<RefusedDoc>(404, "There is no such session.")
        .answers::<RefusedDoc>(405, "The version has no such stream.")
        .answers::<RefusedDoc>(406, "`Accept` does not admit a stream of events.")
        .refuses(429, "There are too many streams; `Retry-After` says when to come back.");
    let delete = Route::new(Method::DELETE, "/mcp", Who::Caller, |api, asked| {
        answer(api, asked, Method::DELETE).boxed()
    });
    let delete = delete
        .named("mcpEnd", "mcp", "Ends a session, up to `2025-11-25`.")
        .about("What still runs in it is cancelled.")
        .params([session_param(), version_param()])
        .answers_with(204, "It has ended.", "")
        .answers::<RefusedDoc>(400, "The session or the version is missing or wrong.")
        .answers::<RefusedDoc>(404, "There is no such session.")
        .answers::<RefusedDoc>(405, "The version has no sessions.");
    vec![post, get, delete]
}

fn version_param() -> ParamDoc {
    param::header(
        "MCP-Protocol-Version",
        "The version that is spoken: `2026-07-28`, or what `initialize` agreed on.",
    )
}

fn session_param() -> ParamDoc {
    let session = param::header("Mcp-Session-Id", "The session.");
    ParamDoc {
        place: ParamIn::Header,
        required: true,
        ..session
    }
}

tokio::task_local! {
    /// Where the request that is being read notes its call. The host is asked before anything is awaited, so it finds the note here.
    static NOTE: CallNote;
}

/// Answers a request to `/mcp`.
async fn answer(api: Api, asked: ApiRequest, method: Method) -> Answer {
    let caller = asked.caller()?;
    let who = asked.principal;
    // What stays open takes a place before anything is opened. A header that says so wrongly is refused further on.
    let stays_open = match method {
        Method::GET => true,
        Method::POST => asked
            .headers
            .get("mcp-method")
            .is_some_and(|method| method == "subscriptions/listen"),
        _ => false,
    };
    let place = match stays_open {
        true => Some(events::enter(&api, &who).await?),
        false => None,
    };
    let mcp = api.mcp();
    if place.is_some() {
        mcp.follow();
    }
    let principal: Arc<str> = caller.to_string().into();
    let exchanged = exchange(&mcp.server, method, asked.headers, asked.body, principal);
    let mut response = NOTE.scope(asked.note, exchanged).await;
    if let Body::Stream(frames) = response.body_mut() {
        let frames = std::mem::replace(frames, futures_util::stream::empty().boxed());
        let stopping = api.stopping().clone();
        let stands = move || api.tokens().stands(&who);
        *response.body_mut() = match place {
            // A call that runs is ended by the server's stopping in its own time, and its client learns how.
            None => Body::stream(frames.take_while(move |_| std::future::ready(stands()))),
            Some(place) => Body::stream(frames.take_until(stopping.cancelled_owned()).take_while(
                move |_| {
                    let _ = &place;
                    std::future::ready(stands())
                },
            )),
        };
    }
    Ok(response)
}

/// Hands a request to a server of the protocol, and its answer back. `principal` is who asks; whether they may is known already.
pub async fn exchange(
    server: &Server,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
    principal: Arc<str>,
) -> Response<Body> {
    let request = HttpRequest {
        method,
        headers,
        body,
        principal,
    };
    let answer = server.answer_http(request).await;
    let mut response = Response::new(match answer.body {
        HttpBody::Whole(bytes) if bytes.is_empty() => Body::empty(),
        HttpBody::Whole(bytes) => Body::Whole(Some(bytes)),
        HttpBody::Stream(frames) => Body::Stream(frames),
    });
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    response
}

/// A crib as a server of the protocol.
pub(crate) struct Mcp {
    pub(crate) server: Server,
    host: Arc<CribHost>,
    /// Ends the look at files with this.
    following: OnceLock<DropGuard>,
}

impl Mcp {
    /// A server for a crib whose calls take places at this gate.
    pub(crate) fn new(
        crib: &Arc<Crib>,
        clients: &Clients,
        gate: &Gate,
        stopping: &CancellationToken,
    ) -> Self {
        let options = HostOptions {
            tokens_of: Some(clients.clone()),
            ..HostOptions::default()
        };
        let host = CribHost::new(Arc::clone(crib), options);
        let gated = GatedHost {
            host: Arc::clone(&host),
            gate: gate.clone(),
            stopping: stopping.clone(),
        };
        Mcp {
            server: Server::new(Arc::new(gated)),
            host,
            following: OnceLock::new(),
        }
    }

    /// Looks, from now on, whether tools change: a client wants to know.
    fn follow(&self) {
        self.following.get_or_init(|| {
            let stop = CancellationToken::new();
            let mut following = Arc::clone(&self.host).follow(self.server.clone()).boxed();
            // It knows the present tools before any client is promised changes.
            let _ = (&mut following).now_or_never();
            tokio::spawn(stop.clone().run_until_cancelled_owned(following));
            stop.drop_guard()
        });
    }
}

/// A crib whose calls take places like those of REST.
struct GatedHost {
    host: Arc<CribHost>,
    gate: Gate,
    stopping: CancellationToken,
}

impl GatedHost {
    /// Waits for a place, as long as the client does; the error is the text for the model.
    async fn enter(&self, context: &Context) -> Result<CallSlot, ToolError> {
        let who = match context.principal.strip_prefix("client:") {
            Some(name) => Principal::Client(name.to_owned()),
            None => Principal::Operator,
        };
        let limited = |why: String| ToolError::new(ErrorCode::RateLimited, why);
        let stops = || limited("the server stops; call again later".to_owned());
        if self.stopping.is_cancelled() {
            return Err(stops());
        }
        tokio::select! {
            biased;
            () = context.cancelled.cancelled() => {
                Err(ToolError::new(ErrorCode::Cancelled, "the client took the request back"))
            }
            entered = self.gate.enter(&who) => entered.map_err(|full| limited(format!(
                "{} of your calls wait for a place already; wait for some of them",
                full.waiting
            ))),
            () = self.stopping.cancelled() => Err(stops()),
            () = tokio::time::sleep(PATIENCE) => Err(limited(format!(
                "no place for the call became free within {} s; call again later",
                PATIENCE.as_secs()
            ))),
        }
    }
}

impl Host for GatedHost {
    fn description(&self) -> Description {
        self.host.description()
    }

    fn answer(
        self: Arc<Self>,
        ask: Ask,
        context: Context,
    ) -> BoxFuture<'static, Result<Reply, RpcError>> {
        if !matches!(ask, Ask::CallTool { .. }) {
            return Arc::clone(&self.host).answer(ask, context);
        }
        let note = NOTE.try_with(CallNote::clone).unwrap_or_default();
        if let Some(traceparent) = &context.traceparent {
            note.is_part_of(traceparent);
        }
        async move {
            let at = Instant::now();
            let place = match self.enter(&context).await {
                Ok(place) => Arc::new(place),
                Err(refused) => return refusal(&refused),
            };
            let asked = lending(&self.host.crib, &place, &self.stopping);
            let arrival = Arrival {
                at,
                note,
                seat: Some(Seat { place, asked }),
            };
            let host = Arc::clone(&self.host);
            host.answer_arrived(ask, context, arrival).await
        }
        .boxed()
    }

    fn header_params(&self, tool: &str) -> Vec<(String, Vec<String>)> {
        self.host.header_params(tool)
    }
}

/// What `POST` takes.
struct MessageDoc;

impl JsonSchema for MessageDoc {
    fn schema_name() -> Cow<'static, str> {
        "McpMessage".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "properties": {
                "jsonrpc": {"const": "2.0"},
                "id": {"type": ["string", "integer"], "description": "of a request, or of what is answered"},
                "method": {"type": "string"},
                "params": {"type": "object"},
                "result": {"type": "object"},
                "error": {"type": "object"},
            },
            "required": ["jsonrpc"],
        })
    }
}

/// An error of JSON-RPC.
struct ErrorDoc;

impl JsonSchema for ErrorDoc {
    fn schema_name() -> Cow<'static, str> {
        "McpError".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "properties": {
                "jsonrpc": {"const": "2.0"},
                "id": {"type": ["string", "integer", "null"]},
                "error": {
                    "type": "object",
                    "properties": {"code": {"type": "integer"}, "message": {"type": "string"}, "data": {}},
                    "required": ["code", "message"],
                },
            },
            "required": ["jsonrpc", "error"],
        })
    }
}

/// A result of JSON-RPC.
struct ResultDoc;

impl JsonSchema for ResultDoc {
    fn schema_name() -> Cow<'static, str> {
        "McpResult".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "properties": {
                "jsonrpc": {"const": "2.0"},
                "id": {"type": ["string", "integer"]},
                "result": {"type": "object"},
            },
            "required": ["jsonrpc", "id", "result"],
        })
    }
}

/// What a request is answered with.
struct AnswerDoc;

impl JsonSchema for AnswerDoc {
    fn schema_name() -> Cow<'static, str> {
        "McpAnswer".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let result = generator.subschema_for::<ResultDoc>();
        let error = generator.subschema_for::<ErrorDoc>();
        json_schema!({"anyOf": [result, error]})
    }
}

/// A request that is not carried out: refused by the protocol, or by the server before it.
struct RefusedDoc;

impl JsonSchema for RefusedDoc {
    fn schema_name() -> Cow<'static, str> {
        "McpRefusal".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let error = generator.subschema_for::<ErrorDoc>();
        json_schema!({"anyOf": [error, crate::openapi::error_reference()]})
    }
}
