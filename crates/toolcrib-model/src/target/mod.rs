//! A URL, read once and in one spelling: what is judged is what is dialled.
//!
//! Attacks on guards live on two readings of one text. So there is one parser, the WHATWG one, and on top of it everything is
//! refused that another parser is known to read otherwise: user info, backslashes, missing slashes, white space.

mod address;
mod error;
mod headers;
#[cfg(feature = "urls")]
mod read;

use std::fmt;
use std::net::IpAddr;

pub use address::{Kind, Range, canonical, refused};
pub use error::{AddressEntry, EgressError, Refusal};
pub use headers::HOP_BY_HOP;
pub use headers::is_framing;

/// The longest URL, as it is given and as it is sent. Most servers take 8 KB and few more than 32.
#[doc(hidden)]
pub const MAX_URL: usize = 32 * 1024;

/// The longest name and the longest part of one that there can be.
const MAX_NAME: usize = 253;
const MAX_LABEL: usize = 63;

/// Whom a request is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Host {
    /// A name: lower case, punycode, without the final dot.
    Name(String),
    /// An address; an IPv4 address that is mapped into IPv6 is that IPv4 address.
    Address(IpAddr),
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Name(name) => f.write_str(name),
            Host::Address(IpAddr::V4(address)) => address.fmt(f),
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
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

/// As `host:port`, with brackets around an IPv6 address.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl Target {
    /// Whether it is an address of the local link or a cloud's metadata service, which no one means by the address of a server.
    #[doc(hidden)]
    pub fn is_never_meant(&self) -> bool {
        let Host::Address(address) = self.host else {
            return false;
        };
        let range = refused(address);
        range.is_some_and(|range| !matches!(range.kind, Kind::Private | Kind::Loopback))
    }

    /// Whether a host is the same one, for someone who agreed to it: on the same port, or both on the usual ones of the two schemes.
    #[doc(hidden)]
    pub fn is_same_host(&self, other: &Target) -> bool {
        let usual = |target: &Target| matches!(target.port, 80 | 443);
        self.host == other.host && (self.port == other.port || (usual(self) && usual(other)))
    }

    /// The entry of `allowedHosts` that names it. One without a port means both of the usual ones, which holds for names only.
    pub fn entry(&self) -> String {
        match (&self.host, self.port) {
            (Host::Name(name), 80 | 443) if !is_local(name) => name.clone(),
            _ => self.to_string(),
        }
    }

    /// What the header `Host` says: the port only if it is not the scheme's own.
    #[doc(hidden)]
    pub fn authority(&self) -> String {
        match (self.https, self.port) {
            (false, 80) | (true, 443) => self.host.to_string(),
            _ => self.to_string(),
        }
    }

    /// Whether a name is one of this machine by definition (RFC 6761), or by the habit of `/etc/hosts`.
    #[doc(hidden)]
    pub fn is_local_name(&self) -> bool {
        matches!(&self.host, Host::Name(name) if is_local(name))
    }
}

/// Whether a name is this machine's by definition or habit.
#[doc(hidden)]
pub fn is_local(name: &str) -> bool {
    let last = name.rsplit('.').next();
    last == Some("localhost")
        || matches!(
            name,
            "localhost.localdomain"
                | "localhost6"
                | "localhost6.localdomain6"
                | "ip6-localhost"
                | "ip6-loopback"
        )
}

/// Reads a name as it is in a setting or a URL: lower case, punycode, without the final dot.
#[doc(hidden)]
pub fn name_of(name: &str) -> Result<String, EgressError> {
    let name = name.strip_suffix('.').unwrap_or(name);
    let label = |label: &str| {
        !label.is_empty()
            && label.len() <= MAX_LABEL
            && label
                .bytes()
                .all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'))
    };
    if name.len() > MAX_NAME || !name.split('.').all(label) {
        return refuse(format!(
            "`{}` is not the name of a host",
            crate::text::shorten(name, 80)
        ));
    }
    Ok(name.to_owned())
}

/// What readers of URLs disagree about, and what no one sees.
#[doc(hidden)]
pub fn is_ambiguous(c: char) -> bool {
    c == '\\'
        || c.is_control()
        || c.is_whitespace()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{ad}')
}

fn refuse<T>(message: String) -> Result<T, EgressError> {
    Err(EgressError::Refused(message.into()))
}
