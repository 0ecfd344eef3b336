//! One request of `impl`.

use std::time::Duration;

use http::{Method, header};

use super::Reader;
use super::names::Names;
use crate::definition::At;
use crate::definition::problem::SpannedProblem;
use crate::jsonpath::JsonPath;
use crate::manifest::fields::DEFAULT_TIMEOUT_MS;
use crate::manifest::{
    Auth, BodyTemplate, ErrorMode, Extract, Placeholder, RequestTemplate, ResponseEncoding, Retry,
};
use crate::model::text::shorten;

/// The most requests of a tool.
const MAX_REQUESTS: usize = 20;
/// The most memory that a compiled pattern may take, in bytes.
const MAX_PATTERN: usize = 1 << 20;
/// The most groups: each takes memory for the whole pattern while it matches.
const MAX_GROUPS: usize = 32;

impl Reader<'_, '_> {
    /// Reads `impl`.
    pub(super) fn requests(&mut self, root: At<'_, '_>) -> Option<Vec<RequestTemplate>> {
        let Some(at) = root.get("impl") else {
            if !self.found.suggests("impl") {
                let message = "the tool has no `impl`, which says what it sends";
                self.found.push(
                    SpannedProblem::error("missing-field", 0..0, message).help(
                        "add `\"impl\": {\"method\": \"GET\", \"urlTemplate\": \"https://…\"}`",
                    ),
                );
            }
            return None;
        };
        let retry = root.get("retry").map(retry).unwrap_or_default();
        let auth = root.get("auth").map(|auth| self.auth(auth));
        let all = match at.node.list() {
            Some(items) => {
                if items.is_empty() || items.len() > MAX_REQUESTS {
                    let message = format!(
                        "`impl` must have 1 to {MAX_REQUESTS} requests, not {}",
                        items.len()
                    );
                    self.found
                        .push(SpannedProblem::error("out-of-range", at.span(), message));
                    return None;
                }
                at.items()
            }
            None => vec![at],
        };
        let all: Vec<At<'_, '_>> = all
            .into_iter()
            .filter(|request| request.node.map().is_some())
            .collect();
        let read: Vec<Option<RequestTemplate>> = all
            .iter()
            .copied()
            .enumerate()
            .map(|(index, request)| {
                let names = Names::All {
                    is_first: index == 0,
                };
                self.request(request, names, auth.as_ref(), retry)
            })
            .collect();
        let read: Option<Vec<RequestTemplate>> = read.into_iter().collect();
        if let Some(requests) = &read {
            self.values_passed_on(&all, requests);
        }
        read
    }

    /// A value that one server gave and another one gets: servers echo what they received.
    fn values_passed_on(&mut self, all: &[At<'_, '_>], requests: &[RequestTemplate]) {
        let is_secret = |placeholder: &&Placeholder| matches!(placeholder, Placeholder::Secret(_));
        for (index, pair) in requests.windows(2).enumerate() {
            let [before, request] = pair else { continue };
            let passes_on = request.placeholders().contains(&&Placeholder::Previous);
            let told = requests[..=index]
                .iter()
                .any(|earlier| earlier.placeholders().iter().any(is_secret));
            if !passes_on || !told || before.url.target == request.url.target {
                continue;
            }
            let at = all[index + 1];
            let span = at.get("urlTemplate").unwrap_or(at).span();
            let message = format!(
                "what `{}` answers goes on to `{}`, and a request before has a secret: an answer that says it back would tell it",
                before.url.origin, request.url.origin
            );
            self.found.push(
                SpannedProblem::warning("value-crosses-hosts", span, message).help(
                    "take only what is needed with `extractExpr`, and bind the secret with `toolcrib secret set NAME --host HOST`: then a value with the secret in it is refused",
                ),
            );
        }
    }

    fn request(
        &mut self,
        at: At<'_, '_>,
        names: Names,
        shared: Option<&Option<Auth>>,
        shared_retry: Retry,
    ) -> Option<RequestTemplate> {
        let method = match at.choice("method") {
            Some(method) => Method::from_bytes(method.as_bytes()).ok()?,
            None => Method::GET,
        };
        let url = match at.get("urlTemplate") {
            Some(url) => self.url(url, names),
            None => {
                if !self.found.suggests("urlTemplate") {
                    let message = "the request has no `urlTemplate`, which says where it goes";
                    self.found.push(
                        SpannedProblem::error("missing-field", at.span(), message)
                            .help("add `\"urlTemplate\": \"https://api.example.com/…\"`"),
                    );
                }
                None
            }
        };
        let headers = self.headers(at, names);
        let body = self.body_of(at, &method, &headers, names);
        let auth = match at.get("auth") {
            Some(own) => Some(self.auth(own)),
            None => shared.cloned(),
        };
        if let Some(Some(auth)) = &auth {
            self.headers_of_auth(at, auth, &headers);
        }
        let encoding = match at.choice("responseEncoding") {
            Some("text") => ResponseEncoding::Text,
            _ => ResponseEncoding::Json,
        };
        let extract = self.extract(at, encoding);
        let request = RequestTemplate {
            method,
            url: url?,
            headers,
            body: body?,
            success_codes: success_codes(at),
            timeout: Duration::from_millis(
                at.integer("timeoutMs")
                    .and_then(|ms| u64::try_from(ms).ok())
                    .unwrap_or(DEFAULT_TIMEOUT_MS),
            ),
            encoding,
            extract: extract?,
            error_mode: match at.choice("errorMode") {
                Some("empty") => ErrorMode::Empty,
                _ => ErrorMode::Fail,
            },
            auth: match auth {
                Some(auth) => Some(auth?),
                None => None,
            },
            retry: at.get("retry").map_or(shared_retry, retry),
        };
        let tells = request.auth.is_some()
            || request
                .placeholders()
                .iter()
                .any(|one| matches!(one, Placeholder::Secret(_)));
        if tells && let Some(url) = at.get("urlTemplate") {
            self.secrets_in_the_open(url, &request.url.target, "a secret of this request");
        }
        Some(request)
    }

    /// The body; `None` if something is wrong with it.
    #[expect(
        clippy::option_option,
        reason = "no body is not the same as a wrong one"
    )]
    fn body_of(
        &mut self,
        at: At<'_, '_>,
        method: &Method,
        headers: &[(http::HeaderName, crate::manifest::Template)],
        names: Names,
    ) -> Option<Option<BodyTemplate>> {
        let given = at
            .get("bodyTemplate")
            .filter(|body| body.text().is_none_or(|text| !text.is_empty()));
        let Some(body) = given else {
            return Some(None);
        };
        if *method == Method::GET || *method == Method::HEAD {
            let message = format!("a {method} request has no body");
            self.found.push(
                SpannedProblem::error("body-not-allowed", at.key_span("bodyTemplate"), message)
                    .help("write `\"method\": \"POST\"`, or leave `bodyTemplate` empty"),
            );
            return None;
        }
        let mut types = headers
            .iter()
            .filter(|(name, _)| *name == header::CONTENT_TYPE);
        let content_type = types.next().map(|(_, value)| value);
        self.body(body, content_type, names).map(Some)
    }

    /// What `auth` sends must not be said twice.
    fn headers_of_auth(
        &mut self,
        at: At<'_, '_>,
        auth: &Auth,
        headers: &[(http::HeaderName, crate::manifest::Template)],
    ) {
        let taken = match auth {
            Auth::Bearer { .. } | Auth::Basic { .. } | Auth::Oauth2 { .. } => {
                vec![header::AUTHORIZATION]
            }
            Auth::Hmac {
                key_id,
                signature_header,
                timestamp_header,
                ..
            } => {
                let id = key_id.iter().map(|(name, _)| name.clone());
                [signature_header.clone(), timestamp_header.clone()]
                    .into_iter()
                    .chain(id)
                    .collect()
            }
        };
        let Some(given) = at.get("headers") else {
            return;
        };
        for (name, _) in headers.iter().filter(|(name, _)| taken.contains(name)) {
            let mut keys = given.entries().map(|(key, _)| key);
            let key = keys.find(|key| key.text.eq_ignore_ascii_case(name.as_str()));
            let span = key.map_or(given.span(), |key| key.span.clone());
            let message = format!("`auth` sends the header `{name}`, and `headers` sets it too");
            self.found.push(
                SpannedProblem::error("bad-header", span, message).help("remove one of them"),
            );
        }
    }

    #[expect(clippy::option_option, reason = "none is not the same as a wrong one")]
    fn extract(&mut self, at: At<'_, '_>, encoding: ResponseEncoding) -> Option<Option<Extract>> {
        let Some(at) = at.get("extractExpr") else {
            return Some(None);
        };
        let text = at.text()?;
        if text.is_empty() {
            return Some(None);
        }
        if text.starts_with('$') {
            if encoding == ResponseEncoding::Text {
                let message = "JSONPath reads JSON, and `responseEncoding` is `text`";
                self.found.push(SpannedProblem::error("bad-extract", at.span(), message).help("write `\"responseEncoding\": \"json\"`, or a regular expression as in `/temperature: (\\\\d+)/`"));
                return None;
            }
            // A pattern that can never match is allowed by the RFC, and never what its author wants.
            let read = JsonPath::parse(text).and_then(|path| match path.doubts().first() {
                None => Ok(path),
                Some(doubt) => Err(doubt.clone()),
            });
            return match read {
                Ok(path) => Some(Some(Extract::Path(path))),
                Err(why) => {
                    let start = text
                        .char_indices()
                        .nth(why.at)
                        .map_or(text.len(), |(start, _)| start);
                    let end = start + text[start..].chars().next().map_or(0, char::len_utf8);
                    let message = format!("`extractExpr` is not a valid JSONPath: {}", why.message);
                    self.error(
                        "bad-extract",
                        at,
                        &(start..end),
                        message,
                        "write it as in `$.current.condition.text`; RFC 9535 says what there is",
                    );
                    None
                }
            };
        }
        let Some((pattern, flags)) = text
            .strip_prefix('/')
            .and_then(|rest| rest.rsplit_once('/'))
        else {
            let message = format!(
                "`{}` is neither JSONPath nor a regular expression between slashes",
                shorten(text, 60)
            );
            self.found.push(
                SpannedProblem::error("bad-extract", at.span(), message)
                    .help("write `$.path.to.it`, or `/pattern/`"),
            );
            return None;
        };
        let mut builder = regex::RegexBuilder::new(pattern);
        builder.size_limit(MAX_PATTERN);
        for (offset, flag) in flags.char_indices() {
            match flag {
                'i' => builder.case_insensitive(true),
                'm' => builder.multi_line(true),
                's' => builder.dot_matches_new_line(true),
                _ => {
                    let start = text.len() - flags.len() + offset;
                    let message =
                        format!("`{flag}` is not a regular expression flag supported here");
                    self.error("bad-extract", at, &(start..start + flag.len_utf8()), message, "there are `i` (any case), `m` (`^` and `$` at lines) and `s` (`.` matches line ends)");
                    return None;
                }
            };
        }
        match builder.build() {
            Ok(pattern) if pattern.captures_len() > MAX_GROUPS => {
                let message = format!("`extractExpr` has more than {MAX_GROUPS} groups");
                self.found.push(
                    SpannedProblem::error("bad-extract", at.span(), message)
                        .help("write `(?:…)` for groups that are not extracted"),
                );
                None
            }
            Ok(pattern) => Some(Some(Extract::Pattern(pattern))),
            Err(why) => {
                let why = why.to_string();
                let why = why
                    .lines()
                    .last()
                    .unwrap_or_default()
                    .trim_start_matches("error: ");
                let message = format!(
                    "`extractExpr` is not a valid regular expression: {}",
                    shorten(why, 200)
                );
                self.found.push(
                    SpannedProblem::error("bad-extract", at.span(), message)
                        .help("the dialect is linear: no look-around, no back-references"),
                );
                None
            }
        }
    }
}

fn retry(at: At<'_, '_>) -> Retry {
    let default = Retry::default();
    Retry {
        max: at
            .integer("max")
            .and_then(|max| u32::try_from(max).ok())
            .unwrap_or(default.max),
        non_idempotent: at
            .boolean("nonIdempotent")
            .unwrap_or(default.non_idempotent),
    }
}

fn success_codes(at: At<'_, '_>) -> Vec<u16> {
    let mut codes: Vec<u16> = Vec::new();
    for code in at.integers("successCodes") {
        if let Ok(code) = u16::try_from(code)
            && !codes.contains(&code)
        {
            codes.push(code);
        }
    }
    codes
}
