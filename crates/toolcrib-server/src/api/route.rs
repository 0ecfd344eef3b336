//! What a route is: one row of the table that the router, the check of tokens and the documentation read.

use futures_util::future::BoxFuture;
use http::{Method, Response};
use schemars::{Schema, SchemaGenerator};

use super::Api;
use super::asked::Asked;
use super::body::Body;
use super::refusal::Refusal;

/// What a handler returns.
pub type Answer = Result<Response<Body>, Refusal>;

/// Carries out a request.
pub type Handler = fn(Api, Asked) -> BoxFuture<'static, Answer>;

/// Who may use a route. A caller's token opens what `Caller` says, the operator's opens everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// Anybody who reaches the server, without a token.
    Anybody,
    /// Whoever has a token.
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
}

/// One route.
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path, with `{name}` for values: `/tools/bundles/{bundleID}`.
    pub path: &'static str,
    /// Who may use it.
    pub who: Who,
    /// What body it takes.
    pub payload: Payload,
    /// What it is, for people and `openapi.json`.
    pub doc: Doc,
    /// What it does.
    pub handler: Handler,
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
    /// Where it stands.
    pub place: Place,
    /// Whether it must be there.
    pub required: bool,
    /// What it is.
    pub about: &'static str,
    /// What values it takes.
    pub schema: SchemaFn,
}

/// Where a parameter stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
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
    /// The schema of its body, if that is JSON. Errors have one of their own and leave this out.
    pub schema: Option<SchemaFn>,
}
