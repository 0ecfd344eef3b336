//! A URL, read once and in one spelling: what is judged is what is dialled.

use std::net::IpAddr;

use url::Url;

use super::error::EgressError;

/// Whom a request is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Host {
    /// A name: lower case, punycode, without the final dot.
    Name(String),
    /// An address; a mapped or translated IPv4 address is that IPv4 address.
    Address(IpAddr),
}

/// Where a request goes: scheme, host and port of a URL in their one spelling.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Target {
    /// Whether the connection is encrypted.
    pub https: bool,
    /// Whom it is for.
    pub host: Host,
    /// The port, said or not.
    pub port: u16,
}

impl Target {
    /// Reads a URL: `http` or `https`, a host, no credentials, nothing that is read one way here and another way elsewhere.
    pub fn parse(_url: &str) -> Result<(Url, Target), EgressError> {
        unimplemented!()
    }
}
