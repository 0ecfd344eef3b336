//! A URL in its parts, with marks in them: what a template may vary (path, query) apart from what is fixed.

use super::placeholder::{self, Spellings};
use super::refusal::Why;

/// A URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Url {
    /// `http` or `https`.
    pub(super) scheme: String,
    /// The part before the `@`.
    pub(super) user: Option<String>,
    /// The host, with the port if there is one.
    pub(super) host: String,
    /// The path, from its `/` on.
    pub(super) path: String,
    /// The query.
    pub(super) query: Vec<Pair>,
}

/// `name=value` of a query or a form, encoded as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) name: String,
    /// None where there is no `=`.
    pub(super) value: Option<String>,
}

impl Pair {
    /// The pairs of a query or a form.
    pub(super) fn all(text: &str) -> Vec<Pair> {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        pairs
            .map(|pair| match pair.split_once('=') {
                Some((name, value)) => Pair {
                    name: name.to_owned(),
                    value: Some(value.to_owned()),
                },
                None => Pair {
                    name: pair.to_owned(),
                    value: None,
                },
            })
            .collect()
    }

    /// The text of pairs.
    pub(super) fn join(pairs: &[Pair]) -> String {
        let pairs: Vec<String> = pairs
            .iter()
            .map(|pair| match &pair.value {
                Some(value) => format!("{}={value}", pair.name),
                None => pair.name.clone(),
            })
            .collect();
        pairs.join("&")
    }
}

impl Url {
    /// Reads a URL as curl would, which takes `example.com/x`, too. Returns what there is to say about it.
    pub(super) fn read(text: &str, globoff: bool) -> Result<(Url, Vec<String>), Why> {
        let mut notes = Vec::new();
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme, rest)) => (scheme.to_ascii_lowercase(), rest),
            None => {
                notes.push(
                    "the URL has no scheme: `http://`, as curl takes it; write `https://` if the server has it"
                        .to_owned(),
                );
                ("http".to_owned(), text)
            }
        };
        if scheme != "http" && scheme != "https" {
            return Err(Why::new(
                "the URL is neither http:// nor https://",
                "tools speak HTTP only",
            ));
        }
        let (rest, fragment) = match rest.split_once('#') {
            Some((rest, fragment)) => (rest, Some(fragment)),
            None => (rest, None),
        };
        if fragment.is_some_and(|fragment| !fragment.is_empty()) {
            notes.push("the part after the URL's `#` is never sent".to_owned());
        }
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        if !globoff && (is_glob(path) || is_glob(query)) {
            return Err(Why::new(
                "the URL has curl's `{a,b}` or `[1-3]`, which stand for several URLs",
                "give one URL, or -g if they are meant as they stand",
            ));
        }
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user.to_owned()), host),
            None => (None, authority),
        };
        let host = placeholder::find(host, Spellings::All);
        if host.is_empty() || placeholder::is_in(&host) {
            return Err(Why::new(
                "the URL's host is not written out",
                "a tool's host is fixed: write it, and let arguments stand in path and query",
            ));
        }
        let path = match path {
            "" => "/".to_owned(),
            path => placeholder::find(&encoded(path), Spellings::All),
        };
        let query = placeholder::find(&encoded(query), Spellings::All);
        let url = Url {
            scheme,
            user,
            host: host.to_ascii_lowercase(),
            path,
            query: Pair::all(&query),
        };
        Ok((url, notes))
    }

    /// Scheme, host and port.
    pub(super) fn origin(&self) -> String {
        format!("{}://{}", self.scheme, self.host)
    }

    /// The whole, as a template.
    pub(super) fn template(&self) -> String {
        let query = match self.query.is_empty() {
            true => String::new(),
            false => format!("?{}", Pair::join(&self.query)),
        };
        placeholder::template(&format!("{}{}{query}", self.origin(), self.path))
    }
}

/// Whether curl would make several URLs of it.
fn is_glob(text: &str) -> bool {
    let sets = text.split('{').skip(1);
    let ranges = text.split('[').skip(1);
    let is_set = |rest: &str| {
        rest.split_once('}')
            .is_some_and(|(set, _)| set.contains(','))
    };
    let is_range = |rest: &str| {
        rest.split_once(']').is_some_and(|(range, _)| {
            range.split_once('-').is_some_and(|(from, to)| {
                let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric());
                !from.is_empty()
                    && plain(from)
                    && !to.is_empty()
                    && plain(to.split(':').next().unwrap_or_default())
            })
        })
    };
    sets.into_iter().any(is_set) || ranges.into_iter().any(is_range)
}

/// What cannot stand in a URL as it is, encoded; what is encoded already stays.
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for char in text.chars() {
        let is_mark = placeholder::is_in(char.encode_utf8(&mut [0; 4]));
        if is_mark || (char.is_ascii_graphic() && !"\"<>\\^`|".contains(char)) {
            encoded.push(char);
        } else {
            percent(&mut encoded, char);
        }
    }
    encoded
}

/// A text as a component of a query or a form; marks stay.
pub(super) fn component(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    let mut in_mark = false;
    for char in text.chars() {
        let is_mark = placeholder::is_in(char.encode_utf8(&mut [0; 4]));
        in_mark ^= is_mark;
        if is_mark || in_mark || char.is_ascii_alphanumeric() || "-._~".contains(char) {
            encoded.push(char);
        } else {
            percent(&mut encoded, char);
        }
    }
    encoded
}

fn percent(text: &mut String, char: char) {
    for byte in char.encode_utf8(&mut [0; 4]).bytes() {
        text.push_str(&format!("%{byte:02X}"));
    }
}

/// A component, decoded; `+` is a space. None if it is not text.
pub(super) fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let code = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (byte, code) {
            (b'%', Some(code)) => {
                bytes.push(code);
                rest = &after[2..];
            }
            (b'+', _) => {
                bytes.push(b' ');
                rest = after;
            }
            (other, _) => {
                bytes.push(other);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(text: &str) -> Result<String, String> {
        let read = Url::read(text, false).map_err(|why| why.what)?;
        Ok(read.0.template())
    }

    #[test]
    fn urls_are_read_as_curl_reads_them() {
        for (text, expected) in [
            ("https://a.test", "https://a.test/"),
            ("HTTPS://A.test/b?c=d", "https://a.test/b?c=d"),
            ("a.test:8080/x", "http://a.test:8080/x"),
            ("https://a.test?q={q}", "https://a.test/?q=${q}"),
            ("https://a.test/{id}/x y", "https://a.test/${id}/x%20y"),
            ("https://a.test/é?x=%26", "https://a.test/%C3%A9?x=%26"),
            ("http://[::1]:8080/x", "http://[::1]:8080/x"),
            ("https://a.test/x#top", "https://a.test/x"),
            (
                "https://a.test/?ids[]=1&flag",
                "https://a.test/?ids[]=1&flag",
            ),
        ] {
            assert_eq!(template(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn several_urls_in_one_and_open_hosts_are_refused() {
        for (text, what) in [
            ("https://a.test/{a,b}", "several URLs"),
            ("https://a.test/[1-3]", "several URLs"),
            ("https://{host}/x", "host"),
            ("https:///x", "host"),
            ("ftp://a.test/x", "neither"),
            ("file:///etc/passwd", "neither"),
        ] {
            let refusal = template(text).unwrap_err();
            assert!(refusal.contains(what), "{text}: {refusal}");
        }
    }
}
