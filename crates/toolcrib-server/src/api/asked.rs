//! A request as handlers see it: routed, authenticated, its body read.

use std::net::SocketAddr;

use bytes::Bytes;
use http::HeaderMap;

use super::refusal::Refusal;
use crate::auth::Principal;

/// Who is at the other end of the connection.
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
pub struct Asked {
    /// Who asks.
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
        match text.parse::<u64>() {
            Ok(number) if (min..=max).contains(&number) => Ok(Some(number)),
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
