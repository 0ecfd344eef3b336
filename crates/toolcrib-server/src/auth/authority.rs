//! `host` and `host:port` as they stand in headers, settings and request targets: [`Authority`].

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A name or an address, and a port if one is said.
#[derive(Debug, Clone)]
pub(super) struct Authority<'a> {
    pub(super) host: Host<'a>,
    pub(super) port: Option<u16>,
}

/// A name or an address.
#[derive(Debug, Clone)]
pub(super) enum Host<'a> {
    /// In any case, without the dot at its end.
    Name(Cow<'a, str>),
    /// In its shortest form: an IPv4 address within IPv6 is the IPv4 address.
    Address(IpAddr),
}

impl Host<'_> {
    /// Whether both are the same: names in any case.
    pub(super) fn is(&self, other: &Host<'_>) -> bool {
        match (self, other) {
            (Host::Name(one), Host::Name(other)) => one.eq_ignore_ascii_case(other),
            (Host::Address(one), Host::Address(other)) => one == other,
            (Host::Name(_), Host::Address(_)) | (Host::Address(_), Host::Name(_)) => false,
        }
    }

    /// Whether it is this machine by one of the three spellings that no resolver can turn into another one.
    pub(super) fn is_loopback(&self) -> bool {
        match self {
            Host::Name(name) => name.eq_ignore_ascii_case("localhost"),
            Host::Address(address) => {
                *address == Ipv4Addr::LOCALHOST || *address == Ipv6Addr::LOCALHOST
            }
        }
    }
}

impl<'a> Authority<'a> {
    /// Reads `host`, `host:port`, `[address]` or `[address]:port`; the error completes "it …".
    pub(super) fn parse(text: &'a str) -> Result<Self, &'static str> {
        if text.contains('@') {
            return Err("has a user name in it");
        }
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (inside, behind) = rest.split_once(']').ok_or("has a `[` without `]`")?;
                let address: Ipv6Addr = inside
                    .parse()
                    .map_err(|_| "has no IPv6 address between its brackets")?;
                let port = match behind.strip_prefix(':') {
                    Some(port) => Some(port),
                    None if behind.is_empty() => None,
                    None => return Err("has something behind its address"),
                };
                (Host::Address(IpAddr::V6(address).to_canonical()), port)
            }
            None => {
                let (name, port) = match text.split_once(':') {
                    Some((name, port)) => (name, Some(port)),
                    None => (text, None),
                };
                (host(name)?, port)
            }
        };
        let port = match port {
            Some(port) => Some(self::port(port)?),
            None => None,
        };
        Ok(Authority { host, port })
    }

    /// A copy that owns its text.
    pub(super) fn into_owned(self) -> Authority<'static> {
        let host = match self.host {
            Host::Name(name) => Host::Name(Cow::Owned(name.into_owned())),
            Host::Address(address) => Host::Address(address),
        };
        Authority {
            host,
            port: self.port,
        }
    }
}

fn host(name: &str) -> Result<Host<'_>, &'static str> {
    if let Ok(address) = name.parse::<Ipv4Addr>() {
        return Ok(Host::Address(address.into()));
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    match name.len() <= 253 && name.split('.').all(is_label) {
        true => Ok(Host::Name(Cow::Borrowed(name))),
        false => Err("is not the name of a host"),
    }
}

fn port(text: &str) -> Result<u16, &'static str> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(port) if is_number && port != 0 => Ok(port),
        _ => Err("has a port that is not a number from 1 to 65535"),
    }
}
