//! Hosts: which a call names, and patterns for them.
//!
//! A host is compared in one spelling: lower case, no final dot, numbers as dotted numbers. `0x7f000001` and `127.1` are
//! `127.0.0.1`, as they are for the C library.

use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::invocation::Invocation;
use crate::shell::programs::{self, Fact};

/// A pattern for hosts.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum HostPattern {
    /// This host.
    Exactly(String),
    /// `*.example.com`: every host beneath it.
    Beneath(String),
    /// An address, or all that share its first bits.
    Network(IpAddr, u8),
    /// `*`: every host.
    Any,
}

impl HostPattern {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text == "*" {
            return Ok(HostPattern::Any);
        }
        let network = text.split_once('/').filter(|_| !text.contains("://"));
        if let Some((address, bits)) = network {
            let address = address.parse::<IpAddr>().map_err(|_| {
                format!("`{text}` is not a network; write an address and a number of bits, as in 10.0.0.0/8")
            })?;
            let longest = if address.is_ipv4() { 32 } else { 128 };
            return match bits.parse::<u8>() {
                Ok(bits) if bits <= longest => Ok(HostPattern::Network(address, bits)),
                _ => Err(format!(
                    "`{text}` has no number of bits from 0 to {longest}"
                )),
            };
        }
        let bare = text.strip_prefix("*.").unwrap_or(text);
        if bare.is_empty() || bare.contains(['*', '/', '@', ' ', '?']) || bare.contains("://") {
            return Err(format!(
                "`{text}` is not a host; write a name, `*.name`, an address or a network, without scheme, port or path"
            ));
        }
        let host = normal(bare);
        Ok(match (text.starts_with("*."), host.parse::<IpAddr>()) {
            (true, _) => HostPattern::Beneath(format!(".{host}")),
            (false, Ok(address)) => {
                HostPattern::Network(address, if address.is_ipv4() { 32 } else { 128 })
            }
            (false, Err(_)) => HostPattern::Exactly(host),
        })
    }

    /// Whether a host, in its one spelling, fits.
    pub(super) fn matches(&self, host: &str) -> bool {
        match self {
            HostPattern::Any => true,
            HostPattern::Exactly(name) => host == name,
            HostPattern::Beneath(suffix) => host.ends_with(suffix.as_str()),
            HostPattern::Network(network, bits) => match (host.parse::<IpAddr>(), network) {
                (Ok(IpAddr::V4(host)), IpAddr::V4(network)) => {
                    same_bits(host.to_bits().into(), network.to_bits().into(), 32 - bits)
                }
                (Ok(IpAddr::V6(host)), IpAddr::V6(network)) => {
                    same_bits(host.to_bits(), network.to_bits(), 128 - bits)
                }
                _ => false,
            },
        }
    }
}

fn same_bits(a: u128, b: u128, ignored: u8) -> bool {
    ignored >= 128 || (a >> ignored) == (b >> ignored)
}

/// The host of a URL.
pub(super) fn of_url(text: &str) -> Option<String> {
    let text: String = text.chars().filter(|c| !c.is_ascii_control()).collect();
    let (scheme, rest) = text.trim().split_once(':')?;
    let known = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    if !scheme.starts_with(|c: char| c.is_ascii_alphabetic()) || !scheme.chars().all(known) {
        return None;
    }
    // As browsers read it: any number of slashes of either kind.
    host_in(rest.trim_start_matches(['/', '\\']))
}

/// The hosts of a URL as different readers see it: ours, and that of the client that would ask it, which maps letters that look alike
/// or vanish. A rule holds if it holds for one of them.
pub(super) fn of_url_to_anybody(text: &str) -> Vec<String> {
    let mut hosts = Vec::from_iter(of_url(text));
    let client = of_url_to_a_client(text).filter(|host| !hosts.contains(host));
    hosts.extend(client);
    hosts
}

#[cfg(feature = "urls")]
fn of_url_to_a_client(text: &str) -> Option<String> {
    url::Url::parse(text).ok()?.host_str().map(normal)
}

/// Nobody: without this reader the kernel offers no tool that takes URLs.
#[cfg(not(feature = "urls"))]
fn of_url_to_a_client(_: &str) -> Option<String> {
    None
}

/// How many URLs of tools' authors are remembered.
const MAX_REMEMBERED: usize = 64;

thread_local! {
    /// URLs of authors that were read lately, with their hosts.
    static REMEMBERED: RefCell<Vec<(String, Vec<String>)>> = const { RefCell::new(Vec::new()) };
}

/// As [`of_url_to_anybody`], for a URL that every call of its tool has: read once.
pub(super) fn of_authored_url(text: &str) -> Vec<String> {
    REMEMBERED.with_borrow_mut(|remembered| {
        if let Some((_, hosts)) = remembered.iter().find(|(url, _)| url == text) {
            return hosts.clone();
        }
        let hosts = of_url_to_anybody(text);
        if remembered.len() >= MAX_REMEMBERED {
            remembered.clear();
        }
        remembered.push((text.to_owned(), hosts.clone()));
        hosts
    })
}

/// The host in front of a port, a path or both, after a user.
fn host_in(text: &str) -> Option<String> {
    let authority = text.split(['/', '\\', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next()?,
        None => host.split(':').next()?,
    };
    (!host.is_empty()).then(|| normal(host))
}

/// A host in its one spelling.
fn normal(host: &str) -> String {
    let decoded = percent_decoded(host.trim_matches(['[', ']']));
    let host = decoded.trim_end_matches('.').to_lowercase();
    let zoneless = host.split('%').next().unwrap_or_default();
    if let Ok(address) = zoneless.parse::<Ipv6Addr>() {
        return match address.to_ipv4_mapped() {
            Some(v4) => v4.to_string(),
            None => address.to_string(),
        };
    }
    match ipv4(&host) {
        Some(address) => address.to_string(),
        None => host,
    }
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = match (first, tail) {
            (b'%', [a, b, ..]) => std::str::from_utf8(&[*a, *b])
                .ok()
                .and_then(|hex| u8::from_str_radix(hex, 16).ok()),
            _ => None,
        };
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// An IPv4 address in any spelling the C library takes: one to four numbers, decimal, octal or hexadecimal.
fn ipv4(host: &str) -> Option<Ipv4Addr> {
    let numbers: Vec<u64> = host.split('.').map(number).collect::<Option<_>>()?;
    let (last, first) = numbers.split_last()?;
    if first.len() > 3 || first.iter().any(|number| *number > 255) {
        return None;
    }
    let room = 8 * (4 - u32::try_from(first.len()).ok()?);
    if *last >= 1 << room {
        return None;
    }
    let mut bits = *last;
    for (index, number) in first.iter().enumerate() {
        bits |= number << (24 - 8 * index);
    }
    u32::try_from(bits).ok().map(Ipv4Addr::from_bits)
}

fn number(text: &str) -> Option<u64> {
    if let Some(hex) = text.strip_prefix("0x") {
        return u64::from_str_radix(if hex.is_empty() { "0" } else { hex }, 16).ok();
    }
    if text.len() > 1 && text.starts_with('0') {
        return u64::from_str_radix(&text[1..], 8).ok();
    }
    text.parse().ok()
}

/// The hosts that a command's words name: URLs anywhere, and the words that are hosts for the programs that take them.
pub(super) fn of(command: &Invocation<'_>) -> Vec<String> {
    let named = programs::find(command.name).map_or("", |program| program.get(Fact::Hosts));
    if named == "none" {
        return Vec::new();
    }
    let mut hosts = Vec::new();
    for arg in &command.args {
        let text = arg.text.as_ref();
        let url = text
            .rsplit_once('=')
            .filter(|(key, _)| key.starts_with('-'))
            .map_or(text, |(_, value)| value);
        if url.contains("://") && !url.contains(char::is_whitespace) {
            hosts.extend(of_url(url));
        }
    }
    let operands = || {
        command
            .args
            .iter()
            .filter(|arg| !arg.is_option())
            .map(|arg| arg.text.as_ref())
    };
    let plain = |text: &&str| !text.contains("://") && !text.contains(char::is_whitespace);
    match named {
        "operands" => {
            hosts.extend(operands().filter(plain).filter_map(host_in));
        }
        "remote" => hosts.extend(
            operands()
                .filter(plain)
                .filter(|text| {
                    text.split_once(':')
                        .is_some_and(|(host, _)| !host.contains('/'))
                })
                .filter_map(host_in),
        ),
        _ => {}
    }
    hosts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_host_has_one_spelling() {
        for (url, expected) in [
            ("https://Example.COM./x", "example.com"),
            ("http://user:pass@example.com:8080/x@y", "example.com"),
            ("http://0x7f000001:9999/", "127.0.0.1"),
            ("http://0x7f.1/", "127.0.0.1"),
            ("http://0177.0.0.1", "127.0.0.1"),
            ("http://2130706433", "127.0.0.1"),
            ("http://[::ffff:7f00:1]:99/", "127.0.0.1"),
            ("http://[FD00:ec2::254]/", "fd00:ec2::254"),
            ("http://%31%32%37.0.0.1/", "127.0.0.1"),
            ("http:127.0.0.1/", "127.0.0.1"),
            ("http://127.0.0.1\\.example.com/", "127.0.0.1"),
            ("http://api.example.com@127.0.0.1/", "127.0.0.1"),
        ] {
            assert_eq!(of_url(url).as_deref(), Some(expected), "{url}");
        }
        assert_eq!(of_url("no url"), None);
    }

    #[cfg(feature = "urls")]
    #[test]
    fn a_spelling_that_only_the_client_understands_is_its_host_too() {
        for (url, expected) in [
            ("http://①②⑦.0.0.1/", "127.0.0.1"),
            ("http://exam\u{ad}ple.com/", "example.com"),
            ("http://ｅｘａｍｐｌｅ.com/", "example.com"),
            ("http://bücher.de/", "xn--bcher-kva.de"),
            ("http://example。com/", "example.com"),
            ("http://[::ffff:127.0.0.1]/", "127.0.0.1"),
        ] {
            let hosts = of_url_to_anybody(url);
            assert!(
                hosts.iter().any(|host| host == expected),
                "{url}: {hosts:?}"
            );
        }
        assert_eq!(of_url_to_anybody("https://example.com/x"), ["example.com"]);
        assert_eq!(of_url_to_anybody("no url"), [""; 0]);
    }

    #[test]
    fn patterns_are_names_beneath_or_networks() {
        for (pattern, host, expected) in [
            ("*.internal", "a.b.internal", true),
            ("*.internal", "internal", false),
            ("Example.com", "example.com", true),
            ("example.com", "www.example.com", false),
            ("169.254.169.254", "169.254.169.254", true),
            ("10.0.0.0/8", "10.200.3.4", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("0.0.0.0/0", "9.9.9.9", true),
            ("fd00::/8", "fd12::1", true),
            ("*", "anything", true),
        ] {
            assert_eq!(
                HostPattern::parse(pattern).unwrap().matches(host),
                expected,
                "{pattern} {host}"
            );
        }
        for pattern in [
            "",
            "*.",
            "https://x.y",
            "a b",
            "10.0.0.0/40",
            "x/8",
            "a.*.b",
        ] {
            assert!(HostPattern::parse(pattern).is_err(), "{pattern}");
        }
    }
}
