//! A request as handlers see it: routed, authenticated, its body read.

use std::net::SocketAddr;

use bytes::Bytes;
use http::HeaderMap;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use toolcrib::{Caller, ErrorCode};

use super::json::{read_strict, read_typed};
use super::path::{Plus, decode_percent};
use super::refusal::Refusal;
use super::route::{ParamDoc, ParamIn};
use crate::auth::Principal;
use crate::observe::CallNote;

/// The other end of the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Peer {
    /// An address.
    Address(SocketAddr),
    /// A process on this machine, by the socket in the file system.
    Local,
}

/// The id of a request: the client's own if it sent a sound one (`X-Request-Id`), else a new one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(pub String);

/// A request that may be carried out.
#[derive(Debug)]
pub struct ApiRequest {
    /// The principal.
    pub principal: Principal,
    /// Its id, for logs.
    pub id: RequestId,
    /// The values of the path's placeholders.
    pub path: PathValues,
    /// The query.
    pub query: Query,
    /// The headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
    /// Where to note the call that the request makes or asks about, for the access log and traces.
    pub note: CallNote,
}

/// The header by which the operator says that a call comes from the command line.
const CALLER: &str = "toolcrib-caller";

impl ApiRequest {
    /// The body, an object, as a type; what does not fit is a 400 that says where.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        // A list of values would be taken for a struct's fields in their order.
        Ok(read_typed(Value::Object(self.object()?))?)
    }

    /// The body as a type, if there is one.
    pub fn optional_json<T: DeserializeOwned>(&self) -> Result<Option<T>, Refusal> {
        match self.body.is_empty() {
            true => Ok(None),
            false => self.json().map(Some),
        }
    }

    /// The body as any JSON.
    pub fn value(&self) -> Result<Value, Refusal> {
        if self.body.is_empty() {
            return Err(Refusal::usage("a body in JSON is missing"));
        }
        Ok(read_strict(&self.body)?)
    }

    /// The body as a JSON object.
    pub fn object(&self) -> Result<Map<String, Value>, Refusal> {
        match self.value()? {
            Value::Object(object) => Ok(object),
            _ => Err(Refusal::usage("the body is not a JSON object")),
        }
    }

    /// Whether the operator asks.
    pub fn is_operator(&self) -> bool {
        self.principal == Principal::Operator
    }

    /// Refuses everybody but the operator a part of what the route does: `what` completes "… is for the operator".
    pub fn needs_operator(&self, what: &str) -> Result<(), Refusal> {
        match self.is_operator() {
            true => Ok(()),
            false => Err(Refusal::new(
                ErrorCode::Forbidden,
                format!("{what} is for the operator; use the operator's token"),
            )),
        }
    }

    /// The caller: the principal; the operator may say `Toolcrib-Caller: cli`.
    pub fn caller(&self) -> Result<Caller, Refusal> {
        let said = self.headers.get(CALLER);
        match (&self.principal, said.map(|said| said.as_bytes())) {
            (Principal::Operator, None) => Ok(Caller::Operator),
            (Principal::Operator, Some(b"cli")) => Ok(Caller::Cli),
            (Principal::Operator, Some(_)) => {
                Err(Refusal::usage("`Toolcrib-Caller` can only be `cli`"))
            }
            (Principal::Client(_) | Principal::Nobody, Some(_)) => Err(Refusal::new(
                ErrorCode::Forbidden,
                "`Toolcrib-Caller` is for the operator",
            )),
            (Principal::Client(name), None) => Ok(Caller::Client(name.clone())),
            (Principal::Nobody, None) => Err(Refusal::new(
                ErrorCode::Unauthenticated,
                "a call needs a token",
            )),
        }
    }
}

/// The values of a path's placeholders, decoded once and in the order of the template.
#[derive(Debug, Clone, Default)]
pub struct PathValues(pub Vec<(&'static str, String)>);

impl PathValues {
    /// The value of a placeholder of the route's path; empty if it has none of this name, which a test of the table rules out.
    pub fn get(&self, name: &str) -> &str {
        self.0
            .iter()
            .find(|(key, _)| *key == name)
            .map_or("", |(_, value)| value)
    }
}

/// The parameters of a query: each at most once, and only those that the route knows.
#[derive(Debug, Clone, Default)]
pub struct Query(pub Vec<(String, String)>);

impl Query {
    /// Reads a query strictly: a parameter that `params` does not list, that is there twice or that is missing is refused.
    pub(crate) fn read(text: Option<&str>, params: &[ParamDoc]) -> Result<Self, Refusal> {
        let mut read = Query::default();
        let known = || params.iter().filter(|param| param.place == ParamIn::Query);
        for piece in text.unwrap_or_default().split('&') {
            if piece.is_empty() {
                continue;
            }
            let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
            let (name, value) = (decode_query(name)?, decode_query(value)?);
            if !known().any(|param| param.name == name) {
                return Err(unknown_parameter(&name, known()));
            }
            if read.text(&name).is_some() {
                return Err(Refusal::usage(format!(
                    "the query has `{name}` twice; give it once"
                )));
            }
            read.0.push((name, value));
        }
        let missing = known().find(|param| param.required && read.text(param.name).is_none());
        match missing {
            Some(param) => Err(Refusal::usage(format!(
                "the query parameter `{}` is missing",
                param.name
            ))),
            None => Ok(read),
        }
    }

    /// A parameter's text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// A parameter that is `true` or `false`; false if it is not there.
    pub fn flag(&self, name: &str) -> Result<bool, Refusal> {
        match self.text(name) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(Refusal::usage(format!("`{name}` is `true` or `false`"))),
        }
    }

    /// A parameter that is a whole number within bounds.
    pub fn number(&self, name: &str, min: u64, max: u64) -> Result<Option<u64>, Refusal> {
        let Some(text) = self.text(name) else {
            return Ok(None);
        };
        // `parse` takes a sign.
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse::<u64>() {
            Ok(number) if is_plain && (min..=max).contains(&number) => Ok(Some(number)),
            _ => Err(Refusal::usage(format!(
                "`{name}` is a whole number from {min} to {max}"
            ))),
        }
    }

    /// A parameter that is a list, separated by commas; empty if it is not there.
    pub fn list(&self, name: &str) -> Vec<&str> {
        self.text(name).map_or(Vec::new(), |text| {
            text.split(',').filter(|part| !part.is_empty()).collect()
        })
    }
}

fn decode_query(text: &str) -> Result<String, Refusal> {
    let bytes = decode_percent(text.as_bytes(), Plus::IsSpace)
        .map_err(|problem| Refusal::usage(format!("the query has {problem}")))?;
    String::from_utf8(bytes).map_err(|_| Refusal::usage("the query is not UTF-8"))
}

fn unknown_parameter<'a>(name: &str, known: impl Iterator<Item = &'a ParamDoc>) -> Refusal {
    let known: Vec<String> = known.map(|param| format!("`{}`", param.name)).collect();
    let shown = toolcrib::model::text::shorten(name, 64);
    Refusal::usage(match known.is_empty() {
        true => format!("this route has no query parameter `{shown}`, nor any other"),
        false => format!(
            "this route has no query parameter `{shown}`; it has {}",
            known.join(", ")
        ),
    })
}
