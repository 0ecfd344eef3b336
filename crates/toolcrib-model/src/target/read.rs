//! Reads the target of a URL.

use url::Url;

use super::{EgressError, Host, MAX_URL, Target, canonical, is_ambiguous, name_of, refuse};

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
            parsed().map_err(|error| EgressError::BadUrl(format!("this is not a URL: {error}")))?;
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
        // Non-ASCII text is three times as long once it is encoded.
        if url.as_str().len() > MAX_URL {
            return bad(&format!(
                "a URL may have {MAX_URL} bytes at most, percent-encoded"
            ));
        }
        Ok((url, target))
    }
}

/// The URL with its host as it was judged, so that the next reader of the URL reads the same.
fn in_one_spelling(mut url: Url, target: &Target) -> Result<Url, EgressError> {
    url.set_fragment(None);
    let host = target.host.to_string();
    if url.host_str() != Some(&host) {
        url.set_host(Some(&host))
            .map_err(|error| EgressError::BadUrl(format!("this is not a URL: {error}")))?;
    }
    Ok(url)
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
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
    fn what_makes_no_sense_is_recognised() {
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
