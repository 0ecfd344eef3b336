//! Reachable hosts: [`AllowedHosts`], the setting, and [`Reach`], what one request may do.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use crate::target::Refusal;
use crate::target::{Host, Target, is_local, name_of};
use crate::target::{Kind, refused};

/// The setting `allowedHosts`: `host`, `*.host`, `host:port`, a literal address or `localhost` with a port.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedHosts(Vec<Entry>);

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    whom: Whom,
    /// `None`: 80 and 443.
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Whom {
    /// This name.
    Name(String),
    /// Every name beneath this one, which is not meant itself.
    Beneath(String),
    /// This address.
    Address(IpAddr),
}

impl AllowedHosts {
    /// Reads entries; the error says which one is wrong and what to write.
    pub fn parse<'a>(entries: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let read = |entry: &'a str| {
            Entry::parse(entry).map_err(|problem| {
                format!("`{}` {problem}", crate::model::text::shorten(entry, 80))
            })
        };
        entries
            .into_iter()
            .map(read)
            .collect::<Result<_, _>>()
            .map(AllowedHosts)
    }

    /// Reads entries that are names only: those of the setting `network.privateHosts`.
    pub fn parse_names<'a>(entries: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let hosts = AllowedHosts::parse(entries)?;
        for entry in &hosts.0 {
            if let Entry {
                whom: Whom::Address(_),
                ..
            } = entry
            {
                return Err(format!(
                    "`{entry}` is an address; an address with its port belongs into `allowedHosts`"
                ));
            }
            if entry.is_permission() || entry.permits_nothing().is_some() {
                return Err(format!(
                    "`{entry}` is this machine, and belongs into `allowedHosts`"
                ));
            }
        }
        Ok(hosts)
    }

    /// Warnings about entries that can be read: those that permit nothing.
    pub fn warnings(&self) -> Vec<String> {
        self.0.iter().filter_map(Entry::permits_nothing).collect()
    }

    /// Whether an entry names this target.
    pub fn contains(&self, target: &Target) -> bool {
        self.0.iter().any(|entry| {
            let port = match entry.port {
                Some(port) => port == target.port,
                None => matches!(target.port, 80 | 443),
            };
            port && entry.whom.is(&target.host)
        })
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entries, each in its one spelling.
    pub fn entries(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(ToString::to_string)
    }

    /// What both lists have: of two entries of which one covers the other, the narrower.
    #[must_use]
    pub fn narrowed_by(&self, other: &AllowedHosts) -> AllowedHosts {
        let mut both: Vec<Entry> = Vec::new();
        for (of, by) in [(self, other), (other, self)] {
            for entry in &of.0 {
                if by.0.iter().any(|cover| cover.covers(entry)) && !both.contains(entry) {
                    both.push(entry.clone());
                }
            }
        }
        AllowedHosts(both)
    }

    /// Whether an entry has this host and this very port in it.
    pub(super) fn names_port(&self, target: &Target) -> bool {
        self.0
            .iter()
            .any(|entry| entry.port == Some(target.port) && entry.whom.is(&target.host))
    }

    /// Whether an entry names the host; the port counts only where the entry has one.
    pub(super) fn names_host(&self, target: &Target) -> bool {
        self.0.iter().any(|entry| {
            entry.port.is_none_or(|port| port == target.port) && entry.whom.is(&target.host)
        })
    }
}

impl Entry {
    fn parse(text: &str) -> Result<Entry, String> {
        if text.contains("://") || text.contains('/') {
            return Err(
                "is not a host; write `api.example.com`, without scheme and path".to_owned(),
            );
        }
        if text.contains('@')
            || text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\')
        {
            return Err(
                "is not a host; write `api.example.com` or `api.example.com:8443`".to_owned(),
            );
        }
        // An IPv6 address may stand without brackets where it has no port.
        if let Ok(address) = text.parse::<Ipv6Addr>() {
            return Entry::of_address(address.into(), None);
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => match port.parse::<u16>() {
                Ok(number) if number > 0 && port.bytes().all(|b| b.is_ascii_digit()) => {
                    (host, Some(number))
                }
                _ => return Err(format!("has `{port}` where a port belongs")),
            },
            None => (text, None),
        };
        if host == "*" {
            return Err("names every host there is; name those that are meant".to_owned());
        }
        let (beneath, name) = match host.strip_prefix("*.") {
            Some(name) => (true, name),
            None => (false, host),
        };
        if name.contains('*') {
            return Err("may have `*` only as its first part: `*.example.com`".to_owned());
        }
        // The same reading as that of a URL: what is listed is what is looked for.
        let whom = match url::Host::parse(name) {
            Ok(url::Host::Domain(name)) => {
                let name = name_of(&name).map_err(|error| error.to_string())?;
                if beneath {
                    Whom::Beneath(name)
                } else {
                    Whom::Name(name)
                }
            }
            Ok(_) if beneath => {
                return Err("has `*` before an address; write the address alone".to_owned());
            }
            Ok(url::Host::Ipv4(address)) => return Entry::of_address(address.into(), port),
            Ok(url::Host::Ipv6(address)) => return Entry::of_address(address.into(), port),
            Err(_) => {
                return Err("is not a host; write `api.example.com`, `*.example.com` or `api.example.com:8443`".to_owned());
            }
        };
        match &whom {
            Whom::Beneath(name) if is_local(name) => {
                Err("names this machine; write `localhost` with a port".to_owned())
            }
            _ => Ok(Entry { whom, port }),
        }
    }

    fn of_address(address: IpAddr, port: Option<u16>) -> Result<Entry, String> {
        let address = crate::target::canonical(address);
        let entry = Entry {
            whom: Whom::Address(address),
            port,
        };
        match refused(address) {
            Some(range) if range.kind == Kind::Special => Err(format!(
                "is an address for {}, where no server is",
                range.name
            )),
            Some(_) | None => Ok(entry),
        }
    }

    /// Why the entry permits nothing, if it does not: without a port it names an address that only an entry with one opens.
    fn permits_nothing(&self) -> Option<String> {
        let is_closed = match &self.whom {
            Whom::Name(name) => is_local(name),
            Whom::Address(address) => refused(*address).is_some(),
            Whom::Beneath(_) => false,
        };
        (is_closed && self.port.is_none()).then(|| {
            format!("`{self}` opens nothing: an address that is not public needs its port, as in `{self}:8080`")
        })
    }

    /// Whether the entry itself permits an address that is refused otherwise.
    fn is_permission(&self) -> bool {
        match &self.whom {
            Whom::Name(name) => is_local(name) && self.port.is_some(),
            Whom::Address(_) => self.port.is_some(),
            Whom::Beneath(_) => false,
        }
    }

    /// Whether everything the other entry names is named by this one.
    fn covers(&self, other: &Entry) -> bool {
        let port = match (self.port, other.port) {
            (None, Some(port)) => matches!(port, 80 | 443),
            (mine, other) => mine == other,
        };
        let whom = match (&self.whom, &other.whom) {
            (Whom::Beneath(mine), Whom::Beneath(other)) => mine == other || is_beneath(other, mine),
            (Whom::Beneath(mine), Whom::Name(other)) => is_beneath(other, mine),
            (mine, other) => mine == other,
        };
        port && whom
    }
}

impl Whom {
    fn is(&self, host: &Host) -> bool {
        match (self, host) {
            (Whom::Name(mine), Host::Name(name)) => mine == name,
            // `*.example.com` may be this machine only by its own name.
            (Whom::Beneath(mine), Host::Name(name)) => is_beneath(name, mine),
            (Whom::Address(mine), Host::Address(address)) => mine == address,
            (Whom::Name(_) | Whom::Beneath(_), Host::Address(_))
            | (Whom::Address(_), Host::Name(_)) => false,
        }
    }
}

/// Whether a name is beneath another: by whole parts, so that `evilexample.com` is not beneath `example.com`.
fn is_beneath(name: &str, top: &str) -> bool {
    name.strip_suffix(top)
        .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.whom {
            Whom::Name(name) => f.write_str(name)?,
            Whom::Beneath(name) => write!(f, "*.{name}")?,
            Whom::Address(address) => Host::Address(*address).fmt(f)?,
        }
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

/// Which targets one request, and every hop of it, may go to. Addresses are judged besides, always.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// Those of the setting `allowedHosts`.
    Listed,
    /// Those, and the host that a person approved.
    ListedOr(Target),
    /// These only, whatever the setting says: what a tool in the sandbox was permitted. An address that is refused otherwise is still
    /// reached only if the setting `allowedHosts` has it, with its port.
    Only(AllowedHosts),
    /// This one only, which the operator's own settings name, such as a search server: its address, literal or `localhost`, needs no
    /// other permission. A name needs `network.privateHosts` for private addresses like any other.
    Configured(Target),
}

impl Reach {
    /// Whether a target is within reach, given the setting `allowedHosts`.
    pub(super) fn includes(&self, target: &Target, listed: &AllowedHosts) -> bool {
        match self {
            Reach::Listed => listed.contains(target),
            Reach::ListedOr(approved) => listed.contains(target) || approved.is_same_host(target),
            Reach::Only(hosts) => hosts.contains(target),
            Reach::Configured(configured) => configured == target,
        }
    }

    /// Whether the settings name this very address and port, so that it is reached whatever it belongs to. A name permits nothing:
    /// its DNS could make it any address.
    pub(super) fn permits_address(&self, target: &Target, listed: &AllowedHosts) -> bool {
        let is_itself_an_address =
            matches!(target.host, Host::Address(_)) || target.is_local_name();
        let is_configured = matches!(self, Reach::Configured(configured) if configured == target);
        is_itself_an_address && (is_configured || listed.names_port(target))
    }
}

/// What there is to say about a target before anything is sent or anybody asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostVerdict {
    /// The setting names it.
    Listed,
    /// It is not named, and nothing speaks against asking a person.
    Unlisted,
    /// It is never reached: a refused scheme or address.
    Refused(Refusal),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[&str]) -> AllowedHosts {
        AllowedHosts::parse(entries.iter().copied()).unwrap()
    }

    fn contains(entries: &[&str], url: &str) -> bool {
        list(entries).contains(&Target::parse(url).unwrap().1)
    }

    #[test]
    fn an_entry_names_whole_names_and_usual_ports() {
        let example = &["*.example.test", "example.test"];
        for (entries, url, expected) in [
            (&["api.example.test"][..], "http://api.example.test/", true),
            (&["api.example.test"], "https://api.example.test/", true),
            (&["api.example.test"], "http://api.example.test:443/", true),
            (&["api.example.test"], "http://api.example.test:22/", false),
            (
                &["api.example.test"],
                "http://api.example.test:8080/",
                false,
            ),
            (
                &["api.example.test:8080"],
                "http://api.example.test:8080/",
                true,
            ),
            (
                &["api.example.test:8080"],
                "http://api.example.test/",
                false,
            ),
            (&["api.example.test"], "http://x.api.example.test/", false),
            (
                &["api.example.test"],
                "http://api.example.test.evil.test/",
                false,
            ),
            (example, "http://evilexample.test/", false),
            (example, "http://EXAMPLE.test./", true),
            (example, "http://a.b.example.test/", true),
            (&["*.example.test"], "http://example.test/", false),
            (&["API.Example.TEST."], "http://api.example.test/", true),
            (&["b\u{fc}cher.test"], "http://xn--bcher-kva.test/", true),
            (&["93.184.216.34"], "http://93.184.216.34/", true),
            (&["127.0.0.1:9999"], "http://0x7f.1:9999/", true),
            (&["127.0.0.1:9999"], "http://127.0.0.1:9998/", false),
            (&["127.0.0.1:9999"], "http://localhost:9999/", false),
            (&["[::1]:9999"], "http://[::1]:9999/", true),
            (&["localhost:9999"], "http://LOCALHOST:9999/", true),
            (&["localhost:9999"], "http://127.0.0.1:9999/", false),
            (&[], "http://example.test/", false),
        ] {
            assert_eq!(contains(entries, url), expected, "{entries:?} {url}");
        }
    }

    #[test]
    fn an_entry_that_means_nothing_or_too_much_is_refused_with_what_to_write() {
        for (entry, expected) in [
            ("", "is not a host"),
            ("*", "names every host"),
            ("*:443", "names every host"),
            ("*.", "is not a host"),
            ("a.*.test", "only as its first part"),
            ("https://example.test", "without scheme"),
            ("example.test/x", "without scheme"),
            ("user@example.test", "is not a host"),
            ("a b", "is not a host"),
            ("example.test:0", "where a port belongs"),
            ("example.test:99999", "where a port belongs"),
            ("example.test:+80", "where a port belongs"),
            ("*.localhost:80", "names this machine"),
            ("0.0.0.0:80", "where no server is"),
            ("224.0.0.1:80", "where no server is"),
            ("*.10.0.0.1", "before an address"),
            ("a..b", "not the name of a host"),
        ] {
            let error = AllowedHosts::parse([entry]).unwrap_err();
            assert!(error.contains(expected), "{entry}: {error}");
        }
        assert!(AllowedHosts::parse_names(["intranet.corp", "*.corp:8080"]).is_ok());
        assert!(AllowedHosts::parse_names(["10.0.0.1:80"]).is_err());
        assert!(AllowedHosts::parse_names(["localhost:80"]).is_err());
    }

    #[test]
    fn an_entry_without_the_port_it_needs_is_read_permits_nothing_and_is_named() {
        for entry in [
            "localhost",
            "x.localhost",
            "127.0.0.1",
            "::1",
            "10.0.0.1",
            "169.254.169.254",
        ] {
            let hosts = list(&[entry, "example.test", "93.184.216.34", "localhost:8080"]);
            let warnings = hosts.warnings();
            assert_eq!(warnings.len(), 1, "{entry}: {warnings:?}");
            assert!(warnings[0].contains(":8080"), "{warnings:?}");
        }
        let target = Target::parse("http://localhost/").unwrap().1;
        let localhost = list(&["localhost"]);
        assert!(!Reach::Listed.permits_address(&target, &localhost));
    }

    #[test]
    fn two_lists_have_in_common_what_both_name() {
        for (one, other, both) in [
            (
                &["a.test", "b.test"][..],
                &["b.test", "c.test"][..],
                &["b.test"][..],
            ),
            (&["a.test"], &[], &[]),
            (&[], &["a.test"], &[]),
            (&["*.a.test"], &["x.a.test", "a.test"], &["x.a.test"]),
            (&["x.a.test"], &["*.a.test"], &["x.a.test"]),
            (
                &["*.a.test"],
                &["*.b.a.test", "*.test"],
                &["*.a.test", "*.b.a.test"],
            ),
            (&["a.test"], &["a.test:443", "a.test:22"], &["a.test:443"]),
            (&["a.test:443"], &["a.test"], &["a.test:443"]),
            (&["a.test"], &["127.0.0.1:80"], &[]),
            (
                &["127.0.0.1:80"],
                &["127.0.0.1:80", "127.0.0.1:81"],
                &["127.0.0.1:80"],
            ),
        ] {
            assert_eq!(
                list(one).narrowed_by(&list(other)),
                list(both),
                "{one:?} {other:?}"
            );
        }
    }

    #[test]
    fn an_entry_permits_the_target_that_it_names() {
        for (url, entry) in [
            ("https://a.test/", "a.test"),
            ("http://a.test/", "a.test"),
            ("http://a.test:8080/", "a.test:8080"),
            ("http://localhost/", "localhost:80"),
            ("http://127.0.0.1/", "127.0.0.1:80"),
            ("https://[::1]/", "[::1]:443"),
        ] {
            let (_, target) = Target::parse(url).unwrap();
            assert_eq!(target.entry(), entry);
            let allowed = AllowedHosts::parse([entry]).unwrap();
            assert!(allowed.contains(&target), "{entry}");
        }
    }
}
