//! What a route is: one row of the table that the router, the check of tokens and the documentation read.

use futures_util::future::BoxFuture;
use http::{Method, Response};
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::Api;
use super::body::Body;
use super::param::schema;
use super::refusal::Refusal;
use super::request::ApiRequest;

/// What a handler returns.
pub type Answer = Result<Response<Body>, Refusal>;

/// Carries out a request.
pub type Handler = fn(Api, ApiRequest) -> BoxFuture<'static, Answer>;

/// The principals that may use a route. A caller's token opens what `Caller` says, the operator's opens everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// Anybody who reaches the server, without a token.
    Anybody,
    /// Every holder of a token.
    Caller,
    /// The operator alone.
    Operator,
}

/// What kind of body a route takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// None: a body is refused.
    None,
    /// JSON (`application/json`).
    Json,
    /// JSON, which may be left out.
    OptionalJson,
    /// A ZIP archive (`application/zip`), up to this many bytes.
    Zip(u64),
    /// The form of a page (`application/x-www-form-urlencoded`), up to this many bytes.
    Form(u64),
}

/// One route.
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path, with `{name}` for values: `/tools/bundles/{bundleID}`.
    pub path: &'static str,
    /// The principals that may use it.
    pub who: Who,
    /// What body it takes.
    pub payload: Payload,
    /// Whether it is a page whose query its own script reads: any query is taken, and none is read here.
    pub is_page: bool,
    /// What it is, for people and `openapi.json`.
    pub doc: Doc,
    /// What it does.
    pub handler: Handler,
}

/// Rows are written as sentences:
///
/// ```ignore
/// Route::new(Method::POST, "/api/clients", Who::Operator, add)
///     .named("addClient", "clients", "Makes a client and its token.")
///     .takes::<AddClient>("The client's name.", || json!({"name": "assistant"}))
///     .answers::<NewClient>(201, "The client, and its token for the only time.")
///     .refuses(409, "There is one of this name.")
/// ```
impl Route {
    /// A route without a body and without a documentation yet.
    pub fn new(method: Method, path: &'static str, who: Who, handler: Handler) -> Self {
        Route {
            method,
            path,
            who,
            payload: Payload::None,
            is_page: false,
            doc: Doc {
                id: "",
                topic: "",
                summary: "",
                description: "",
                params: Vec::new(),
                body: None,
                answers: Vec::new(),
            },
            handler,
        }
    }

    /// Its name for generated clients, its part of the documentation, and one line.
    #[must_use]
    pub fn named(mut self, id: &'static str, topic: &'static str, summary: &'static str) -> Self {
        (self.doc.id, self.doc.topic, self.doc.summary) = (id, topic, summary);
        self
    }

    /// What else to know.
    #[must_use]
    pub fn about(mut self, description: &'static str) -> Self {
        self.doc.description = description;
        self
    }

    /// A parameter more; see [`param`](super::param) for the usual ones.
    #[must_use]
    pub fn param(mut self, param: ParamDoc) -> Self {
        self.doc.params.push(param);
        self
    }

    /// Has parameters.
    #[must_use]
    pub fn params(mut self, params: impl IntoIterator<Item = ParamDoc>) -> Self {
        self.doc.params.extend(params);
        self
    }

    /// Is a page; see [`is_page`](Self::is_page).
    #[must_use]
    pub fn page(mut self) -> Self {
        self.is_page = true;
        self
    }

    /// Takes JSON.
    #[must_use]
    pub fn takes<T: JsonSchema>(
        mut self,
        about: &'static str,
        example: fn() -> serde_json::Value,
    ) -> Self {
        self.payload = Payload::Json;
        self.doc.body = Some(BodyDoc {
            about,
            schema: schema::<T>,
            example,
        });
        self
    }

    /// Takes JSON, which may be left out.
    #[must_use]
    pub fn may_take<T: JsonSchema>(
        self,
        about: &'static str,
        example: fn() -> serde_json::Value,
    ) -> Self {
        let mut route = self.takes::<T>(about, example);
        route.payload = Payload::OptionalJson;
        route
    }

    /// Takes a ZIP archive.
    #[must_use]
    pub fn takes_zip(mut self, max_bytes: u64) -> Self {
        self.payload = Payload::Zip(max_bytes);
        self
    }

    /// Takes the form of a page.
    #[must_use]
    pub fn takes_form(mut self, max_bytes: u64) -> Self {
        self.payload = Payload::Form(max_bytes);
        self
    }

    /// Answers with JSON.
    #[must_use]
    pub fn answers<T: JsonSchema>(mut self, status: u16, about: &'static str) -> Self {
        self.doc.answers.push(AnswerDoc::json::<T>(status, about));
        self
    }

    /// Answers with something else than JSON; an empty `content` means no body.
    #[must_use]
    pub fn answers_with(mut self, status: u16, about: &'static str, content: &'static str) -> Self {
        self.doc.answers.push(AnswerDoc {
            status,
            about,
            content,
            schema: None,
        });
        self
    }

    /// May refuse with this status, for its own reason. Those of the kernel go without saying.
    #[must_use]
    pub fn refuses(mut self, status: u16, about: &'static str) -> Self {
        self.doc.answers.push(AnswerDoc::refusal(status, about));
        self
    }
}

/// What `openapi.json` and the page of documentation say about a route. Values of paths come from the path.
pub struct Doc {
    /// Its name for generated clients, unique: `putBundle`.
    pub id: &'static str,
    /// The part of the documentation it belongs to: `bundles`.
    pub topic: &'static str,
    /// One line.
    pub summary: &'static str,
    /// What else to know; may be empty.
    pub description: &'static str,
    /// Values of the path, parameters of the query and headers it looks at. A parameter that is not here is refused.
    pub params: Vec<ParamDoc>,
    /// The JSON it takes.
    pub body: Option<BodyDoc>,
    /// What it answers when all is well, and with which other statuses it may refuse (those of the kernel are added by themselves).
    pub answers: Vec<AnswerDoc>,
}

/// Makes a schema.
pub type SchemaFn = fn(&mut SchemaGenerator) -> Schema;

/// A parameter of a route.
pub struct ParamDoc {
    /// Its name.
    pub name: &'static str,
    /// Where it is.
    pub place: ParamIn,
    /// Whether it must be there.
    pub required: bool,
    /// What it is.
    pub about: &'static str,
    /// What values it takes.
    pub schema: SchemaFn,
}

/// Where a parameter is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParamIn {
    /// In the path.
    Path,
    /// In the query.
    Query,
    /// In a header.
    Header,
}

/// The JSON that a route takes.
pub struct BodyDoc {
    /// What it is.
    pub about: &'static str,
    /// Its schema.
    pub schema: SchemaFn,
    /// An example that works.
    pub example: fn() -> serde_json::Value,
}

/// One answer of a route.
pub struct AnswerDoc {
    /// The status.
    pub status: u16,
    /// When.
    pub about: &'static str,
    /// The type of its body: `application/json`, `text/event-stream`, …; empty for none.
    pub content: &'static str,
    /// The schema of its body, if that is JSON. Errors have their own and leave this out.
    pub schema: Option<SchemaFn>,
}

impl AnswerDoc {
    /// An answer in JSON.
    pub fn json<T: JsonSchema>(status: u16, about: &'static str) -> Self {
        AnswerDoc {
            status,
            about,
            content: "application/json",
            schema: Some(schema::<T>),
        }
    }

    /// An answer without a body.
    pub fn empty(status: u16, about: &'static str) -> Self {
        AnswerDoc {
            status,
            about,
            content: "",
            schema: None,
        }
    }

    /// A refusal, whose body is the one of every error.
    pub fn refusal(status: u16, about: &'static str) -> Self {
        AnswerDoc {
            status,
            about,
            content: "application/json",
            schema: None,
        }
    }
}
