//! A URL, read once and in one spelling: what is judged is what is dialled.
//!
//! Attacks on guards live on two readings of one text. So there is one parser, the WHATWG one, and on top of it everything is
//! refused that another parser is known to read otherwise: user info, backslashes, missing slashes, white space.

mod address;
mod error;
mod headers;

use std::fmt;
use std::net::IpAddr;

use url::Url;

pub use address::{Kind, Range, canonical, refused};
pub use error::{EgressError, Refusal};
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
    /// Reads a URL: `http` or `https`, a host, no credentials, nothing that is read one way here and another way elsewhere.
    pub fn parse(url: &str) -> Result<(Url, Target), EgressError> {
        Target::read(url, || Url::parse(url))
    }

    /// As [`parse`](Self::parse), of a URL that the parser has read already: its text would be read as what it is.
    #[doc(hidden)]
    pub fn of(url: &Url) -> Result<(Url, Target), EgressError> {
        Target::read(url.as_str(), || Ok(url.clone()))
    }

    fn read(
        url: &str,
        parsed: impl FnOnce() -> Result<Url, url::ParseError>,
    ) -> Result<(Url, Target), EgressError> {
        let bad = |message: &str| Err(EgressError::BadUrl(message.to_owned()));
        if url.len() > MAX_URL {
            return bad(&format!("a URL may have {MAX_URL} bytes at most"));
        }
        let Some((scheme, rest)) = url.split_once(':').filter(|(scheme, _)| is_scheme(scheme))
        else {
            return bad("a URL starts with `http://` or `https://`");
        };
        let https = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            _ => {
                return refuse(format!(
                    "`{scheme}:` is not a way out; only `http` and `https` are"
                ));
            }
        };
        let Some(rest) = rest
            .strip_prefix("//")
            .filter(|rest| !rest.starts_with(['/', '\\']))
        else {
            return refuse("a URL has exactly two slashes after `http:` or `https:`".to_owned());
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if authority.contains(is_ambiguous) {
            return refuse(
                "the host in the URL has a character that programs read differently: a backslash, white space or a control character".to_owned(),
            );
        }
        if authority.contains('@') {
            return refuse("a URL with a user name or password in it is refused".to_owned());
        }
        if path.contains(is_ambiguous) {
            return bad(
                "the URL has a backslash, white space or a control character in it; percent-encode it",
            );
        }
        if authority.starts_with('[') && authority.contains('%') {
            return refuse(
                "an address with a zone is one of the local link, which is never reached"
                    .to_owned(),
            );
        }
        let read =
            parsed().map_err(|error| EgressError::BadUrl(format!("this is no URL: {error}")))?;
        // The parser unpacks the host, so that what it hides must be looked for again: `http://a%40b/`.
        if !read.username().is_empty() || read.password().is_some() {
            return refuse("a URL with a user name or password in it is refused".to_owned());
        }
        let host = match read.host() {
            Some(url::Host::Domain(name)) => Host::Name(name_of(name)?),
            Some(url::Host::Ipv4(address)) => Host::Address(address.into()),
            Some(url::Host::Ipv6(address)) => Host::Address(canonical(address.into())),
            None => return bad("the URL has no host"),
        };
        let target = Target {
            https,
            host,
            port: read.port_or_known_default().unwrap_or(0),
        };
        if target.port == 0 {
            return refuse("no server has port 0".to_owned());
        }
        let url = in_one_spelling(read, &target)?;
        // What is not ASCII is three times as long once it is encoded.
        if url.as_str().len() > MAX_URL {
            return bad(&format!(
                "a URL may have {MAX_URL} bytes at most, percent-encoded"
            ));
        }
        Ok((url, target))
    }

    /// Whether it is an address of the local link or a cloud's metadata service, which nobody means by the address of a server.
    #[doc(hidden)]
    pub fn is_never_meant(&self) -> bool {
        let Host::Address(address) = self.host else {
            return false;
        };
        let range = refused(address);
        range.is_some_and(|range| !matches!(range.kind, Kind::Private | Kind::Loopback))
    }

    /// Whether a host is the same one, for somebody who agreed to it: on the same port, or both on the usual ones of the two schemes.
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

/// Reads a name as it stands in a setting or a URL: lower case, punycode, without the final dot.
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

/// The URL with its host as it was judged, so that whoever reads the URL next reads the same.
fn in_one_spelling(mut url: Url, target: &Target) -> Result<Url, EgressError> {
    url.set_fragment(None);
    let host = target.host.to_string();
    if url.host_str() != Some(&host) {
        url.set_host(Some(&host))
            .map_err(|error| EgressError::BadUrl(format!("this is no URL: {error}")))?;
    }
    Ok(url)
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

/// What readers of URLs disagree about, and what nobody sees.
#[doc(hidden)]
pub fn is_ambiguous(c: char) -> bool {
    c == '\\'
        || c.is_control()
        || c.is_whitespace()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{ad}')
}

fn refuse<T>(message: String) -> Result<T, EgressError> {
    Err(EgressError::Refused(Refusal { message }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(url: &str) -> String {
        match Target::parse(url) {
            Ok((_, target)) => format!("{}{target}", if target.https { "s " } else { "" }),
            Err(EgressError::Refused(_)) => "refused".to_owned(),
            Err(EgressError::BadUrl(_)) => "bad".to_owned(),
            Err(other) => panic!("{url}: {other}"),
        }
    }

    #[test]
    fn every_spelling_of_a_host_is_one_target() {
        for (url, expected) in [
            ("http://Example.TEST./x", "example.test:80"),
            ("HTTPS://EXAMPLE.test", "s example.test:443"),
            ("http://example.test:80/", "example.test:80"),
            ("http://example.test:/", "example.test:80"),
            ("http://b\u{fc}cher.test/", "xn--bcher-kva.test:80"),
            ("http://ｅｘａｍｐｌｅ.test/", "example.test:80"),
            ("http://ex%61mple.test/", "example.test:80"),
            ("http://example。test/", "example.test:80"),
            ("http://0x7f000001:9999/", "127.0.0.1:9999"),
            ("http://0x7f.1:9999/", "127.0.0.1:9999"),
            ("http://0177.0.0.1:9999/", "127.0.0.1:9999"),
            ("http://0177.0.0.01/", "127.0.0.1:80"),
            ("http://2130706433/", "127.0.0.1:80"),
            ("http://017700000001/", "127.0.0.1:80"),
            ("http://127.1:9999/", "127.0.0.1:9999"),
            ("http://127.0.1/", "127.0.0.1:80"),
            ("http://127.0.0.1.:9999/", "127.0.0.1:9999"),
            ("http://①②⑦.0.0.1:9999/", "127.0.0.1:9999"),
            ("http://１２７.0.0.1/", "127.0.0.1:80"),
            ("http://127。0。0。1/", "127.0.0.1:80"),
            ("http://%31%32%37.0.0.1:9999/", "127.0.0.1:9999"),
            ("http://0/", "0.0.0.0:80"),
            ("http://[::1]:9999/", "[::1]:9999"),
            ("http://[0:0:0:0:0:0:0:1]/", "[::1]:80"),
            ("http://[::ffff:7f00:1]:9999/", "127.0.0.1:9999"),
            ("http://[::FFFF:127.0.0.1]/", "127.0.0.1:80"),
            ("http://127.0.0.1.nip.io:9999/", "127.0.0.1.nip.io:9999"),
            ("http://evil.test/?x=api.example.test", "evil.test:80"),
            ("http://evil.test#@api.example.test", "evil.test:80"),
            ("http://evil.test/@api.example.test", "evil.test:80"),
            ("http://LOCALHOST.:9999/", "localhost:9999"),
            ("http://ⓛocalhost/", "localhost:80"),
        ] {
            assert_eq!(shown(url), expected, "{url}");
        }
    }

    #[test]
    fn what_another_parser_reads_otherwise_is_refused() {
        for url in [
            "http:127.0.0.1:9999/",
            "http:/127.0.0.1/",
            "http:///127.0.0.1/",
            "http:\\\\127.0.0.1/",
            "http://api.example.test@127.0.0.1:9999/",
            "http://user:pass@api.example.test/",
            "http://@api.example.test/",
            "http://:@api.example.test/",
            "http://a@b@c.test/",
            "http://127.0.0.1:9999\\.api.example.test/",
            "http://127.0.0.1\\@api.example.test/",
            "http://example.test\0.evil.test/",
            "http://example.test\t.evil.test/",
            "http://example.test\r\n.evil.test/",
            "http://example.test .evil.test/",
            "http://example.test\u{a0}.evil.test/",
            "http://exam\u{ad}ple.test/",
            "http://exam\u{200b}ple.test/",
            "http://[fe80::1%25lo]:9999/",
            "http://[fe80::1%lo]/",
            "http://example.test../",
            "http://a..b/",
            "http://a!b.test/",
            "http://a'b.test/",
            "http://*.test/",
            "http://example.test:0/",
            "gopher://127.0.0.1:9999/_x",
            "ftp://127.0.0.1/",
            "file:///etc/passwd",
            "file://localhost/etc/passwd",
            "data:text/plain,x",
            "javascript:alert(1)",
            "ws://example.test/",
            "unix:///run/x",
            "view-source:http://example.test/",
            "blob:http://example.test/x",
        ] {
            assert_eq!(shown(url), "refused", "{url:?}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_told_apart() {
        for url in [
            "",
            "example.test",
            "/path",
            "//example.test/",
            " http://example.test/",
            "http://",
            "http://?x",
            "http://example.test:99999/",
            "http://example.test:x/",
            "http://example.test/a b",
            "http://example.test/a\r\nHost: evil",
            "http://example.test/\\x",
            "http://1.2.3.4.5/",
            "http://256.1.1.1/",
            "http://0x100000000/",
            "http://[::1/",
            "http://[::1]x/",
            "http://[1::2::3]/",
            "http://example%00.test/",
            "http://exa%20mple.test/",
            "http://exa%2fmple.test/",
            "http://a%40b.test/",
            "http://xn--/",
        ] {
            assert_eq!(shown(url), "bad", "{url:?}");
        }
        assert_eq!(
            shown(&format!("http://x.test/{}", "a".repeat(MAX_URL))),
            "bad"
        );
    }

    #[test]
    fn the_url_carries_the_host_that_was_judged() {
        for (url, expected) in [
            ("http://Example.TEST./a?b#c", "http://example.test/a?b"),
            ("http://[::ffff:7f00:1]:9999/", "http://127.0.0.1:9999/"),
            ("http://0x7f.1/", "http://127.0.0.1/"),
        ] {
            assert_eq!(Target::parse(url).unwrap().0.as_str(), expected);
        }
    }
}
