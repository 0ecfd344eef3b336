//! Headers of a command: which a tool keeps, which its client sets itself, which are credentials.

use super::credential;
use super::placeholder::{self, Spellings};
use super::refusal::Why;
use super::secrets::Secrets;
use toolcrib::egress::is_framing;

/// What the headers of a command come to.
#[derive(Debug, Default)]
pub(super) struct Headers {
    /// Those that are sent, as templates with marks.
    pub(super) kept: Vec<(String, String)>,
    /// `Authorization`, as far as the tool's `auth` says it.
    pub(super) auth: Option<Auth>,
    /// Headers that are not sent, and why.
    pub(super) left_out: Vec<(String, &'static str)>,
    pub(super) why: Vec<Why>,
}

/// `auth` of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Auth {
    Bearer { token: String },
    Basic { username: String, password: String },
}

const BROWSER: &str = "browsers say it of themselves";
const CLIENT: &str = "the client sets it by itself";
const CONDITIONAL: &str = "it asks for nothing but news since an earlier request";

/// Headers that are not sent, besides those that frame a message: their names, or how they begin (`…*`).
const LEFT_OUT: &[(&str, &str)] = &[
    ("sec-*", BROWSER),
    ("dnt", BROWSER),
    ("upgrade-insecure-requests", BROWSER),
    ("priority", BROWSER),
    ("x-client-data", BROWSER),
    ("cache-control", BROWSER),
    ("pragma", BROWSER),
    // Older browsers copied these without their colons.
    ("authority", CLIENT),
    (":*", CLIENT),
    ("accept-encoding", CLIENT),
    ("if-modified-since", CONDITIONAL),
    ("if-none-match", CONDITIONAL),
    (
        "idempotency-key",
        "it would be the same for every call, and the server would take them for one",
    ),
    (
        "proxy-authorization",
        "the setting `network.proxy` names a proxy",
    ),
];

impl Headers {
    /// Reads `Name: value`, `Name;` (empty) and `Name:` (which takes curl's own header away, and is nothing here).
    pub(super) fn read(lines: &[String], host: &str, secrets: &mut Secrets) -> Self {
        let mut headers = Headers::default();
        for line in lines {
            headers.line(line, host, secrets);
        }
        headers
    }

    fn line(&mut self, line: &str, host: &str, secrets: &mut Secrets) {
        // Browsers of old wrote `:authority: host`.
        let start = usize::from(line.starts_with(':'));
        let at = line[start..].find(':').map(|at| at + start);
        let (name, value) = match at {
            Some(at) => (line[..at].trim(), line[at + 1..].trim()),
            None => match line.trim().strip_suffix(';') {
                Some(name) => return self.kept.push((name.trim().to_owned(), String::new())),
                None => {
                    return self.why.push(Why::new(
                        "a header has no colon",
                        "write -H 'Name: value', or -H 'Name;' for an empty one",
                    ));
                }
            },
        };
        if placeholder::is_in(name) {
            return self.why.push(Why::new(
                "the name of a header is a variable",
                "a header's name is fixed: write it out",
            ));
        }
        if value.is_empty() {
            return;
        }
        let lower = name.to_ascii_lowercase();
        let is_left_out = |(pattern, _): &&(&str, &str)| match pattern.strip_suffix('*') {
            Some(start) => lower.starts_with(start),
            None => lower == *pattern,
        };
        if let Some((_, why)) = LEFT_OUT.iter().find(is_left_out) {
            return self.left_out.push((name.to_owned(), why));
        }
        if is_framing(&lower) && lower != "host" {
            return self.left_out.push((name.to_owned(), CLIENT));
        }
        let value = placeholder::find(value, Spellings::Doubled);
        match lower.as_str() {
            "host" if value.eq_ignore_ascii_case(host) => {
                self.left_out.push((name.to_owned(), CLIENT));
            }
            "host" => self.why.push(Why::new(
                "`Host` is another host than the URL's",
                "put the host that is meant into the URL",
            )),
            "authorization" => self.authorization(&value, secrets),
            "cookie" => {
                let value = secrets.conceal(&value, "COOKIE", "the header `Cookie`");
                self.push("Cookie", value);
            }
            "referer" => self.referer(&value),
            _ => self.push_checked(name, &value, secrets),
        }
    }

    /// Sends a header, a second one of a name together with the first.
    pub(super) fn push(&mut self, name: &str, value: String) {
        let separator = match name.eq_ignore_ascii_case("cookie") {
            true => "; ",
            false => ", ",
        };
        let same = |(other, _): &&mut (String, String)| other.eq_ignore_ascii_case(name);
        match self.kept.iter_mut().find(same) {
            Some((_, kept)) => {
                kept.push_str(separator);
                kept.push_str(&value);
            }
            None => self.kept.push((name.to_owned(), value)),
        }
    }

    /// Sends a header whose value may be a credential.
    pub(super) fn push_checked(&mut self, name: &str, value: &str, secrets: &mut Secrets) {
        let mut words = value.split([' ', ',', ';', '=', '"']);
        if credential::is_name(name) || words.any(credential::is_value) {
            let place = format!("the header `{name}`");
            let suffix = name.strip_prefix("X-").or(name.strip_prefix("x-"));
            let value = secrets.conceal(value, suffix.unwrap_or(name), &place);
            self.push(name, value);
        } else {
            self.push(name, value.to_owned());
        }
    }

    /// The page only: its query may hold anything, and no one needs it.
    pub(super) fn referer(&mut self, value: &str) {
        let page = value.split(['?', '#']).next().unwrap_or_default();
        let page = page.strip_suffix(";auto").unwrap_or(page);
        if page != value {
            let why = "it may hold credentials, and no server needs it";
            self.left_out
                .push(("the query of `Referer`".to_owned(), why));
        }
        if !page.is_empty() && !page.contains('@') {
            self.push("Referer", page.to_owned());
        }
    }

    fn authorization(&mut self, value: &str, secrets: &mut Secrets) {
        let place = "the header `Authorization`";
        let (scheme, rest) = match value.split_once(' ') {
            Some((scheme, rest)) if !placeholder::is_in(scheme) => (scheme, rest.trim()),
            _ => {
                let value = secrets.conceal(value, "AUTHORIZATION", place);
                return self.push("Authorization", value);
            }
        };
        match scheme.to_ascii_lowercase().as_str() {
            "bearer" => {
                let token = secrets.conceal(rest, "TOKEN", place);
                self.auth = Some(Auth::Bearer { token });
            }
            "digest" | "ntlm" | "negotiate" | "hawk" | "aws4-hmac-sha256" | "signature" => {
                self.why.push(Why::new(
                    "`Authorization` holds a signature, which is good for one request only",
                    "tools have bearer, basic, HMAC and OAuth2: see docs/http-tools.md",
                ));
            }
            "basic" => {
                let rest =
                    secrets.conceal(rest, "BASIC", "the header `Authorization`, behind `Basic`");
                self.push("Authorization", format!("{scheme} {rest}"));
            }
            // A scheme is a word of letters: anything else may be the credential itself.
            known
                if known
                    .bytes()
                    .all(|byte| byte.is_ascii_alphabetic() || byte == b'-')
                    && known.len() <= 16 =>
            {
                let place = format!("the header `Authorization`, behind `{scheme}`");
                let rest = secrets.conceal(rest, "TOKEN", &place);
                self.push("Authorization", format!("{scheme} {rest}"));
            }
            _ => {
                let value = secrets.conceal(value, "AUTHORIZATION", place);
                self.push("Authorization", value);
            }
        }
    }

    /// The value of a header that is sent.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let same = |(other, _): &&(String, String)| other.eq_ignore_ascii_case(name);
        self.kept.iter().find(same).map(|(_, value)| value.as_str())
    }
}
