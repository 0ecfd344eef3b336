//! A tool in the making: what the command asks for, with credentials as secrets and placeholders as arguments.

use serde_json::Value;
use toolcrib::model::budget::Budget;
use toolcrib::secret::SecretName;

use super::arguments::{Argument, Finds, Param};
use super::body::{self, Body};
use super::credential;
use super::headers::{Auth, Headers};
use super::options::Command;
use super::placeholder::{self, Spellings};
use super::refusal::Why;
use super::secrets::{SecretUse, Secrets};
use super::url::{Pair, Url, decoded};

const FORM: &str = "application/x-www-form-urlencoded";
const JSON: &str = "application/json";

/// What the file is made from.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) method: String,
    pub(super) url: Url,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Option<Body>,
    pub(super) auth: Option<Auth>,
    pub(super) timeout_ms: Option<u64>,
    pub(super) retries: Option<u32>,
    pub(super) max_received: Option<u64>,
    pub(super) is_json: bool,
    pub(super) arguments: Vec<Argument>,
    pub(super) secrets: Vec<SecretUse>,
    pub(super) has_typed_credentials: bool,
    pub(super) left_out: Vec<(String, String)>,
    pub(super) notes: Vec<String>,
}

/// Where a placeholder is: upper case means a secret in some places and nothing in others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RequestPart {
    Path,
    Query,
    Header,
    Body,
}

/// What one command may cost: looks at parameters, arguments and secrets.
const MAX_STEPS: u64 = 4_000_000;
/// The bytes of the names that are said of fields, all together.
const MAX_COPIED: u64 = 16 << 20;

/// Makes a draft.
pub(super) fn draft(command: Command, tool: &str, params: &[Param]) -> Result<Draft, Vec<Why>> {
    let (url, notes) = Url::read(&command.url, command.globoff).map_err(|why| vec![why])?;
    let mut making = Making {
        secrets: Secrets::of(&url.host, tool),
        url,
        notes,
        arguments: Vec::new(),
        found: vec![false; params.len()],
        params,
        why: Vec::new(),
        budget: Budget::new(MAX_STEPS, MAX_COPIED),
    };
    let headers = command.headers.len();
    if making
        .budget
        .step(headers.saturating_mul(headers) / 16)
        .is_err()
    {
        return Err(vec![too_much()]);
    }
    let draft = making.all(command);
    if making.budget.is_spent() {
        return Err(vec![too_much()]);
    }
    match making.why.is_empty() {
        true => Ok(draft),
        false => Err(making.why),
    }
}

struct Making<'p> {
    url: Url,
    secrets: Secrets,
    arguments: Vec<Argument>,
    params: &'p [Param],
    /// Which of `params` named something.
    found: Vec<bool>,
    notes: Vec<String>,
    why: Vec<Why>,
    /// What looking for names among all the others may still cost.
    budget: Budget,
}

fn too_much() -> Why {
    Why::new(
        "the request has more headers, parameters or fields than can be made arguments",
        "make a tool of a shorter one and fill in the rest by hand",
    )
}

impl Making<'_> {
    fn all(&mut self, command: Command) -> Draft {
        let mut headers = Headers::read(&command.headers, &self.url.host, &mut self.secrets);
        self.why.append(&mut headers.why);
        let method = self.method(&command);
        // In the order in which a person reads a request.
        self.path();
        let body = self.body(&command, &mut headers);
        if body.is_some() && ["GET", "HEAD"].contains(&method.as_str()) {
            self.why.push(Why::new(
                format!("a {method} request has no body"),
                "write -X POST, which servers with such requests take, too; or -G, if the data is for the query",
            ));
        }
        self.small_headers(&command, &mut headers);
        let auth = self.auth(&command, &mut headers);
        let mut query = std::mem::take(&mut self.url.query);
        self.pairs(&mut query, RequestPart::Query);
        self.url.query = query;
        for (name, value) in &headers.kept {
            self.claim(
                value,
                RequestPart::Header,
                &format!("Part of the header `{name}`"),
            );
        }
        self.finish_params();
        let is_json = is_json(&method, &self.url.path, &headers);
        if is_json && headers.get("Accept").is_none() && !self.url.path.ends_with(".json") {
            self.notes.push(
                "the answer is read as JSON; `\"responseEncoding\": \"text\"` if it is none"
                    .to_owned(),
            );
        }
        let mut left_out: Vec<(String, String)> = Vec::new();
        let options = command.ignored.into_iter();
        let header = |(name, why): (String, &str)| match name.starts_with("the ") {
            true => (name, why.to_owned()),
            false => (format!("header {name}"), why.to_owned()),
        };
        left_out.extend(options.map(|(name, why)| (name, why.to_owned())));
        left_out.extend(headers.left_out.into_iter().map(header));
        self.settle_names();
        Draft {
            method,
            url: self.url.clone(),
            headers: headers.kept,
            body,
            auth,
            timeout_ms: command.timeout_ms,
            retries: command.retries,
            max_received: command.max_received,
            is_json,
            has_typed_credentials: self.secrets.has_typed(),
            arguments: std::mem::take(&mut self.arguments),
            secrets: std::mem::replace(&mut self.secrets, Secrets::of("", "")).into_uses(),
            left_out,
            notes: std::mem::take(&mut self.notes),
        }
    }

    fn method(&mut self, command: &Command) -> String {
        let implied = match (command.head, command.get, command.data.is_empty()) {
            (true, _, _) => "HEAD",
            (false, true, _) | (false, false, true) => "GET",
            (false, false, false) => "POST",
        };
        let Some(method) = &command.method else {
            return implied.to_owned();
        };
        let is_plain = !method.is_empty()
            && method
                .bytes()
                .all(|byte| byte.is_ascii_alphabetic() || byte == b'-');
        if !is_plain || method.len() > 20 {
            self.why.push(Why::new(
                "the method is not a word of letters",
                "write -X POST",
            ));
        }
        method.to_ascii_uppercase()
    }

    fn body(&mut self, command: &Command, headers: &mut Headers) -> Option<Body> {
        for piece in &command.url_query {
            let pairs = Pair::all(&body::encoded(piece));
            self.url.query.extend(pairs);
        }
        if command.data.is_empty() {
            return None;
        }
        let text = body::text_of(&command.data);
        if command.get || command.head {
            let marked = placeholder::find(&text, Spellings::All);
            self.url.query.extend(Pair::all(&marked));
            return None;
        }
        if command.json && headers.get("Accept").is_none() {
            headers.push("Accept", JSON.to_owned());
        }
        let said = headers.get("Content-Type").map(str::to_owned);
        let as_json = Body::json(&text)
            .filter(|body| matches!(body, Body::Json(Value::Object(_) | Value::Array(_))));
        let content_type = match (said, command.json, as_json.is_some()) {
            (Some(said), _, _) => said,
            (None, true, _) => JSON.to_owned(),
            (None, false, true) => {
                self.notes.push(
                    "the body is JSON and is sent as such; curl would have called it a form"
                        .to_owned(),
                );
                JSON.to_owned()
            }
            (None, false, false) => FORM.to_owned(),
        };
        if content_type.to_ascii_lowercase().starts_with("multipart/") {
            self.why.push(Why::new(
                "bodies of several parts (multipart) are not supported",
                "use JSON or a form if the server takes one",
            ));
        }
        if headers.get("Content-Type").is_none() && !text.is_empty() {
            headers.push("Content-Type", content_type.clone());
        }
        if text.is_empty() {
            return None;
        }
        let mut body = Body::read(&text, &content_type);
        match &mut body {
            Body::Json(value) => self.fields(value, &mut Vec::new()),
            Body::Form(pairs) => self.pairs(pairs, RequestPart::Body),
            Body::Text(text) => {
                if text.len() > 40 && !placeholder::is_in(text) {
                    self.notes.push(
                        "the body is neither JSON nor a form, and is kept as it is: make sure that it contains no credential"
                            .to_owned(),
                    );
                }
                self.claim(text, RequestPart::Body, "Part of the body");
            }
        }
        Some(body)
    }

    /// `-A`, `-e`, `-b`, `-r`.
    fn small_headers(&mut self, command: &Command, headers: &mut Headers) {
        if let Some(agent) = command.agent.as_deref().filter(|agent| !agent.is_empty()) {
            let agent = placeholder::find(agent, Spellings::Doubled);
            headers.push_checked("User-Agent", &agent, &mut self.secrets);
        }
        if let Some(referer) = &command.referer {
            headers.referer(referer);
        }
        if let Some(range) = &command.range {
            headers.push("Range", range.clone());
        }
        if !command.cookies.is_empty() {
            let cookies = placeholder::find(&command.cookies.join("; "), Spellings::Doubled);
            let cookies = self
                .secrets
                .conceal(&cookies, "COOKIE", "the header `Cookie`");
            headers.push("Cookie", cookies);
        }
    }

    /// The last of the ways to say who one is, as for curl: header, token, user, user in the URL.
    fn auth(&mut self, command: &Command, headers: &mut Headers) -> Option<Auth> {
        let user = command.user.clone().or_else(|| self.url.user.take());
        let auth = headers.auth.take();
        if auth.is_some() || headers.get("Authorization").is_some() {
            if user.is_some() || command.bearer.is_some() {
                headers.left_out.push((
                    "the user, or the second token".to_owned(),
                    "the header `Authorization` says who it is",
                ));
            }
            return auth;
        }
        if let Some(token) = &command.bearer {
            let token = placeholder::find(token, Spellings::Doubled);
            let token = self.secrets.conceal(&token, "TOKEN", "the bearer token");
            return Some(Auth::Bearer { token });
        }
        let user = placeholder::find(&user?, Spellings::Doubled);
        let (name, password) = match user.split_once(':') {
            Some((name, password)) => (name, Some(password)),
            None => (user.as_str(), None),
        };
        let username = self.secrets.conceal(name, "USER", "the user's name");
        let password = match password {
            Some(password) => self.secrets.conceal(password, "PASSWORD", "the password"),
            // curl would have asked for it.
            None => self.secrets.missing("PASSWORD", "the password"),
        };
        Some(Auth::Basic { username, password })
    }

    fn path(&mut self) {
        let segments: Vec<String> = self.url.path.split('/').map(str::to_owned).collect();
        let mut made = Vec::new();
        for segment in segments {
            made.push(self.segment(segment));
        }
        self.url.path = made.join("/");
        let path = self.url.path.clone();
        self.claim(&path, RequestPart::Path, "Part of the path");
    }

    fn segment(&mut self, segment: String) -> String {
        let params = self.params;
        if self.budget.step(1 + params.len()).is_err() {
            return segment;
        }
        for (at, param) in params.iter().enumerate() {
            let is_it = matches!(&param.finds, Finds::Text(text)
                if !text.is_empty() && (segment == *text || decoded(&segment).as_deref() == Some(text)));
            if is_it {
                self.found[at] = true;
                let text = decoded(&segment).unwrap_or_default();
                self.argue(Argument::of_text(&param.name, "Part of the path", &text));
                return placeholder::of(&param.name);
            }
        }
        let place = "the path";
        if let Some(token) = segment
            .strip_prefix("bot")
            .filter(|_| credential::is_value(&segment))
        {
            let token = self.secrets.conceal(token, "TOKEN", place);
            return format!("bot{token}");
        }
        match credential::is_value(&segment) {
            true => self.secrets.conceal(&segment, "PATH_TOKEN", place),
            false => segment,
        }
    }

    /// A query, or a form.
    fn pairs(&mut self, pairs: &mut [Pair], place: RequestPart) {
        let params = self.params;
        for pair in pairs {
            // A secret gets a number that no other of its name has.
            let known = params.len() + self.secrets.names().count().pow(2);
            if self.budget.step(1 + known).is_err() {
                return;
            }
            let name = decoded(&pair.name).unwrap_or_default();
            let Some(value) = &mut pair.value else {
                self.claim(&pair.name, place, "Part of the query");
                continue;
            };
            let (words, is_credential) = match place {
                RequestPart::Body => (format!("Field `{name}` of the body"), is_field_name(&name)),
                RequestPart::Path | RequestPart::Query | RequestPart::Header => (
                    format!("Query parameter `{name}`"),
                    credential::is_name(&name),
                ),
            };
            let text = decoded(value).unwrap_or_default();
            if let Some(at) = params
                .iter()
                .position(|param| param.is_pair(&pair.name, value))
            {
                self.found[at] = true;
                if is_credential {
                    self.no_argument(&params[at]);
                } else {
                    self.argue(Argument::of_text(&params[at].name, &words, &text));
                    *value = placeholder::of(&params[at].name);
                }
            } else if is_credential || credential::is_value(&text) {
                *value = self.secrets.conceal(value, &name, &lower_first(&words));
            }
            let value = value.clone();
            self.claim(&pair.name, place, "Part of the query");
            self.claim(&value, place, &words);
        }
    }

    /// A JSON body.
    fn fields(&mut self, value: &mut Value, path: &mut Vec<String>) {
        let params = self.params;
        // A secret gets a number that no other of its name has.
        let known = params.len() + self.secrets.names().count().pow(2);
        let paid = self.budget.step(1 + known);
        let path_bytes = path.iter().map(|name| name.len() + 1).sum();
        if paid.and_then(|()| self.budget.copy(path_bytes)).is_err() {
            return;
        }
        let words = format!("Field `{}` of the body", path.join("."));
        let name = path.last().cloned().unwrap_or_default();
        let is_credential =
            is_field_name(&name) && value.as_str().is_some_and(|text| !text.is_empty());
        if let Some(at) = params.iter().position(|param| param.is_field(path, value)) {
            self.found[at] = true;
            if is_credential {
                return self.no_argument(&params[at]);
            }
            let name = &params[at].name;
            self.argue(Argument::of_value(name, &words, value));
            *value = match value {
                Value::String(_) => Value::String(placeholder::of(name)),
                _ => Value::String(placeholder::whole(name)),
            };
            return;
        }
        match value {
            Value::String(text) => {
                if is_credential || credential::is_value(text) {
                    *text = self.secrets.conceal(text, &name, &lower_first(&words));
                }
                let text = text.clone();
                self.claim(&text, RequestPart::Body, &words);
            }
            Value::Array(values) => {
                for (index, value) in values.iter_mut().enumerate() {
                    path.push(index.to_string());
                    self.fields(value, path);
                    path.pop();
                }
            }
            Value::Object(fields) => {
                for (key, value) in fields.iter_mut() {
                    path.push(key.clone());
                    self.fields(value, path);
                    path.pop();
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The names in a text that is here: secrets by their case, or arguments.
    fn claim(&mut self, text: &str, place: RequestPart, words: &str) {
        if placeholder::is_behind_dollar(text) {
            self.why.push(Why::new(
                "a `$` is right before a placeholder, which templates cannot express",
                "let the argument hold the `$`, too",
            ));
        }
        for name in placeholder::names(text) {
            let known = self.arguments.len() + self.secrets.names().count();
            if self.budget.step(1 + known).is_err() {
                return;
            }
            let is_upper = name.bytes().all(|byte| !byte.is_ascii_lowercase());
            let tells = matches!(place, RequestPart::Header | RequestPart::Query)
                || credential::is_name(name);
            let is_known = self.secrets.has(name)
                || self.arguments.iter().any(|argument| argument.name == name);
            if is_known {
                continue;
            }
            if is_upper && tells {
                self.secrets.claim(name, &lower_first(words));
            } else {
                let is_whole = text == placeholder::whole(name);
                self.argue(Argument {
                    name: name.to_owned(),
                    // Outside of quotes is what is not text.
                    kind: if is_whole { "number" } else { "string" },
                    place: words.to_owned(),
                    example: None,
                });
            }
        }
    }

    fn argue(&mut self, argument: Argument) {
        if !self
            .arguments
            .iter()
            .any(|other| other.name == argument.name)
        {
            self.arguments.push(argument);
        }
    }

    fn no_argument(&mut self, param: &Param) {
        self.why.push(Why::new(
            format!("`--param {}` names a credential", param.name),
            "it becomes a secret by itself: leave the option out",
        ));
    }

    fn finish_params(&mut self) {
        for (param, found) in self.params.iter().zip(&self.found) {
            if *found {
                continue;
            }
            // A text that was not found may be a slip in a credential: it is not quoted.
            let what = match &param.finds {
                Finds::Named(_) | Finds::Field(_) => {
                    format!("`--param {}` names nothing in the request", param.typed)
                }
                Finds::Text(_) => format!(
                    "the text of `--param {}=…` is nowhere in the request",
                    param.name
                ),
            };
            let names: Vec<&str> = self
                .url
                .query
                .iter()
                .map(|pair| pair.name.as_str())
                .collect();
            let names: Vec<&str> = names
                .into_iter()
                .filter(|name| !placeholder::is_in(name))
                .collect();
            let instead = match names.is_empty() {
                true => "name a query parameter, `body.FIELD`, or NAME=TEXT for a text of the path"
                    .to_owned(),
                false => format!("its query has {}", names.join(", ")),
            };
            self.why.push(Why::new(what, instead));
        }
    }

    fn settle_names(&mut self) {
        self.arguments
            .retain(|argument| !self.secrets.has(&argument.name));
        let arguments = self.arguments.iter().map(|argument| argument.name.as_str());
        let names = arguments.chain(self.secrets.names());
        // A name that is not a secret's is a built-in variable.
        for name in names.filter(|name| SecretName::parse(name).is_err()) {
            self.why.push(Why::new(
                format!(
                    "`{name}` cannot be an argument or a secret: `${{{name}}}` is the tool's own"
                ),
                "give it another name in the command",
            ));
        }
    }
}

/// Fields of bodies are called `key` and `pass` for many reasons.
fn is_field_name(name: &str) -> bool {
    let is_common =
        ["key", "pass", "pin", "auth", "session"].contains(&name.to_ascii_lowercase().as_str());
    credential::is_name(name) && !is_common
}

fn lower_first(words: &str) -> String {
    let mut chars = words.chars();
    let first = chars.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(chars).collect()
}

/// Whether the answer will be JSON, by what the command lets on: most are.
fn is_json(method: &str, path: &str, headers: &Headers) -> bool {
    if method == "HEAD" {
        return false;
    }
    if let Some(accept) = headers.get("Accept") {
        let first = accept.split(',').next().unwrap_or_default();
        if accept.contains("json") {
            return true;
        }
        if first.starts_with("text/") || first.contains("xml") {
            return false;
        }
    }
    const TEXTS: [&str; 8] = [
        ".txt", ".csv", ".html", ".htm", ".xml", ".md", ".rss", ".yaml",
    ];
    !TEXTS.iter().any(|end| path.ends_with(end))
}
