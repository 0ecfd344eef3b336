//! The answering end: a [`Host`] says what is served, a [`Server`] speaks the protocol.
//!
//! The invariant: whatever a client sends, every request gets exactly one answer unless it was cancelled, nothing is sent that the
//! client's era does not know, and nothing that the host did not declare is answered as if it were there.

mod answer;
mod context;
mod dispatch;
mod http;
mod level;
mod lines;
mod listen;
mod methods;
mod outbox;
mod output;
mod params;
mod parked;
mod refusals;
mod requester;
mod session;
mod stdio;
mod texts;

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

pub use context::{AskError, Context};
pub use http::{HttpAnswer, HttpBody, HttpRequest};
pub use stdio::StdioOptions;

use crate::protocol::{ClientCapabilities, Implementation, Input, InputRequest};
use crate::rpc::RpcError;
use listen::Listeners;
use session::Sessions;
use texts::Texts;

/// What a server is.
#[derive(Debug, Clone, Default)]
pub struct Description {
    /// Its name and version.
    pub info: Implementation,
    /// What it can do. Only what is here is answered.
    pub capabilities: Capabilities,
    /// How a model best uses it.
    pub instructions: Option<String>,
}

/// What a host can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capabilities {
    /// `tools/*`.
    pub tools: bool,
    /// The list of tools changes.
    pub tools_changed: bool,
    /// `prompts/*`.
    pub prompts: bool,
    /// The list of prompts changes.
    pub prompts_changed: bool,
    /// `resources/*`.
    pub resources: bool,
    /// The list of resources changes.
    pub resources_changed: bool,
    /// Single resources can be followed.
    pub resources_subscribe: bool,
    /// `completion/complete`.
    pub completions: bool,
    /// Messages of a log.
    pub logging: bool,
}

/// A request to a host, its parameters read and found sound.
#[derive(Debug)]
pub enum Ask {
    /// `tools/list`.
    ListTools {
        /// Where to go on.
        cursor: Option<String>,
    },
    /// `tools/call`.
    CallTool {
        /// The tool.
        name: String,
        /// An object, as it came; none is the empty one.
        arguments: Option<Box<RawValue>>,
        /// What was asked for by an earlier answer.
        input: Option<Input>,
    },
    /// `prompts/list`.
    ListPrompts {
        /// Where to go on.
        cursor: Option<String>,
    },
    /// `prompts/get`.
    GetPrompt {
        /// The prompt.
        name: String,
        /// Its arguments.
        arguments: Map<String, Value>,
        /// What was asked for by an earlier answer.
        input: Option<Input>,
    },
    /// `resources/list`.
    ListResources {
        /// Where to go on.
        cursor: Option<String>,
    },
    /// `resources/templates/list`.
    ListResourceTemplates {
        /// Where to go on.
        cursor: Option<String>,
    },
    /// `resources/read`.
    ReadResource {
        /// The resource.
        uri: String,
        /// What was asked for by an earlier answer.
        input: Option<Input>,
    },
    /// `resources/subscribe`, up to 2025-11-25.
    Subscribe {
        /// The resource.
        uri: String,
    },
    /// `resources/unsubscribe`, up to 2025-11-25.
    Unsubscribe {
        /// The resource.
        uri: String,
    },
    /// `completion/complete`.
    Complete {
        /// The whole parameters.
        params: Value,
    },
    /// `logging/setLevel`, up to 2025-11-25. The server keeps the level itself; a host may want to know.
    SetLevel {
        /// The least severe level that is wanted.
        level: String,
    },
}

/// What a host answers.
#[derive(Debug, Clone)]
pub enum Reply {
    /// The request is done.
    Complete {
        /// The result, a JSON object, written already: no whitespace before it, and none before `_meta`. It has no `resultType`, `ttlMs`, `cacheScope` and no
        /// `serverInfo`: those are added for the eras that have them. Its own `_meta` is its first member, written `{"_meta":{…`.
        body: Bytes,
        /// How long a list or a resource stays true; only for requests that have that.
        caching: Option<Caching>,
    },
    /// Something must be known first. Since 2026-07-28 only; before, a host asks with [`Context::ask`].
    InputRequired {
        /// The questions, by keys of the host's choice.
        requests: Map<String, Value>,
        /// Given back with the answers, sealed by the host.
        state: Option<String>,
    },
}

impl Reply {
    /// A finished result.
    pub fn complete(body: impl Into<Bytes>) -> Self {
        Reply::Complete {
            body: body.into(),
            caching: None,
        }
    }

    /// A finished result that is not written yet, an object.
    pub fn of(result: &impl Serialize) -> Result<Self, RpcError> {
        texts::result_body(result)
            .map(Reply::complete)
            .map_err(|error| {
                RpcError::new(
                    crate::rpc::code::INTERNAL_ERROR,
                    format!("the result cannot be written: {error}"),
                )
            })
    }

    /// Marks the reply as valid for a while.
    #[must_use]
    pub fn cached(self, caching: Caching) -> Self {
        match self {
            Reply::Complete { body, .. } => Reply::Complete {
                body,
                caching: Some(caching),
            },
            required @ Reply::InputRequired { .. } => required,
        }
    }

    /// A question before the result.
    pub fn input_required(
        requests: impl IntoIterator<Item = (String, InputRequest)>,
        state: Option<String>,
    ) -> Self {
        let requests = requests
            .into_iter()
            .map(|(key, request)| {
                let mut value = Map::new();
                value.insert("method".to_owned(), request.method.into());
                if let Some(params) = request.params {
                    value.insert("params".to_owned(), params);
                }
                (key, Value::Object(value))
            })
            .collect();
        Reply::InputRequired { requests, state }
    }
}

/// How long an answer stays true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caching {
    /// In milliseconds.
    pub ttl_ms: u64,
    /// For whom.
    pub scope: CacheScope,
}

impl Caching {
    /// Not true for long, and for no one else.
    pub(crate) const NONE: Caching = Caching {
        ttl_ms: 0,
        scope: CacheScope::Private,
    };
}

/// For whom an answer may be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheScope {
    /// For everybody.
    Public,
    /// For who asked.
    Private,
}

/// The host that is served.
pub trait Host: Send + Sync + 'static {
    /// What it is and can do. Read once.
    fn description(&self) -> Description;

    /// Answers a request that its [`Description`] allows. Dropped when the request is cancelled on a transport that says so by going away;
    /// otherwise `context.cancelled()` reports it.
    fn answer(
        self: Arc<Self>,
        ask: Ask,
        context: Context,
    ) -> BoxFuture<'static, Result<Reply, RpcError>>;

    /// The parameters of a tool that travel as headers too (`x-mcp-header`), as (header name without `Mcp-Param-`, path of property names).
    fn header_params(&self, _tool: &str) -> Vec<(String, Vec<String>)> {
        Vec::new()
    }
}

/// Something changed that clients may want to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeNotice {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources.
    Resources,
    /// One resource.
    Resource(String),
}

/// Speaks the protocol for a host. Cloning is cheap and shares everything.
#[derive(Clone)]
pub struct Server(Arc<Inner>);

/// What all clones of a server share.
pub(crate) struct Inner {
    host: Arc<dyn Host>,
    description: Description,
    texts: Texts,
    sessions: Sessions,
    http: http::HttpSessions,
    listeners: Listeners,
    closing: CancellationToken,
}

impl Server {
    /// A server of this host.
    pub fn new(host: Arc<dyn Host>) -> Self {
        let description = host.description();
        Server(Arc::new(Inner {
            host,
            texts: Texts::of(&description),
            description,
            sessions: Sessions::default(),
            http: http::HttpSessions::default(),
            listeners: Listeners::default(),
            closing: CancellationToken::new(),
        }))
    }

    /// Ends every subscription with an answer that says so. Requests go on.
    pub fn close(&self) {
        self.0.closing.cancel();
    }
}

/// What a client may be asked, by what it says it can do.
trait Capable {
    /// Whether it can be asked this.
    fn allow(&self, method: &str, params: Option<&Value>) -> bool;
    /// Like [`allow`](Self::allow), but for a request as [`Reply::InputRequired`] has it; the error names what is missing.
    fn must_allow(&self, request: &Value) -> Result<(), RpcError>;
}

impl Capable for ClientCapabilities {
    fn allow(&self, method: &str, params: Option<&Value>) -> bool {
        match method {
            "elicitation/create" => {
                let by_address = params
                    .and_then(|it| it.get("mode"))
                    .is_some_and(|it| it == "url");
                if by_address {
                    self.elicitation.as_ref().is_some_and(|it| it.url.is_some())
                } else {
                    self.asks_with_forms()
                }
            }
            "sampling/createMessage" => self.sampling.is_some(),
            "roots/list" => self.roots.is_some(),
            _ => false,
        }
    }

    fn must_allow(&self, request: &Value) -> Result<(), RpcError> {
        let method = request
            .get("method")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let params = request.get("params");
        if self.allow(method, params) {
            return Ok(());
        }
        let missing = match method {
            "elicitation/create" => {
                match params.and_then(|it| it.get("mode")).and_then(Value::as_str) {
                    Some("url") => json!({"elicitation": {"url": {}}}),
                    _ => json!({"elicitation": {"form": {}}}),
                }
            }
            "sampling/createMessage" => json!({"sampling": {}}),
            "roots/list" => json!({"roots": {}}),
            _ => {
                return Err(RpcError::new(
                    crate::rpc::code::INTERNAL_ERROR,
                    "the server asked for something that no client can give",
                ));
            }
        };
        Err(RpcError::new(
            crate::rpc::code::MISSING_CAPABILITY,
            format!("the request needs a client that offers `{method}`"),
        )
        .with_data(json!({"requiredCapabilities": missing})))
    }
}
