//! Tools in S4's JSON as files: read with places, everything that is wrong said at once, and typed for `exec::http`.
//!
//! `.toolcrib/tools/weather.json` is S4's `tool.json`; comments are allowed. Fields that only a store needs (`bundleID`, `createdAt`, …)
//! may be left out. [`read`] makes an [`HttpDefinition`] of a file's bytes; what it takes to send its requests is in
//! `exec::http`, where files come from is in `source`.
//!
//! The invariant: where a request goes, and which secrets it sends, is fixed by the file. Arguments fill in values and nothing
//! else. A compiled placeholder knows what it is filled with, and filled-in text is never searched for placeholders again, so an
//! argument cannot name a secret.

mod effects;
pub mod fields;
mod json;
mod read;
mod sends;
mod template;
mod tests;

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, Method};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

pub use effects::{effects_of, reads};
pub use sends::requests;
pub use template::{BodyTemplate, BuiltIn, JsonPart, Part, Placeholder, Template, UrlTemplate};
pub use tests::{ExpectedRequest, HttpTest, Respond};

use crate::definition::fields::Syntax;
use crate::definition::problem::{self, Findings, SpannedProblem};
use crate::definition::{
    Fixed, Meaning, Problem, RequiresApproval, fix_by, hidden, schema, shape, values, yaml,
};
use crate::jsonpath::JsonPath;
use crate::model::limits::LimitsPatch;
use crate::model::names::{Slug, Version, WireName};
use crate::model::secret::SecretName;
use crate::schema::Schema;
use crate::target::Target;

/// An HTTP tool: what its file says, with every template compiled.
#[derive(Debug, Clone)]
pub struct HttpDefinition {
    /// The wire name: `name`, or derived from the slug.
    pub name: WireName,
    /// `slug`, or the file's stem.
    pub slug: Slug,
    /// `version`; `v1` when the file does not say.
    pub version: Version,
    /// `displayName`.
    pub display_name: String,
    /// `description`.
    pub description: String,
    /// `isEnabled`; a tool that is not is switched off by its file.
    pub is_enabled: bool,
    /// `argSchema`, bounded and without references to elsewhere.
    pub arg_schema: Arc<Schema>,
    /// `outputSchema`.
    pub output_schema: Option<Arc<Schema>>,
    /// `tags`.
    pub tags: Vec<String>,
    /// `requiresApproval`.
    pub requires_approval: RequiresApproval,
    /// `keywords`.
    pub keywords: Vec<String>,
    /// `impl`: one request, or several in order.
    pub requests: Vec<RequestTemplate>,
    /// `limits`, as far as the pipeline keeps them (`maxCallsPerMinute`, `timeoutMs`, …).
    pub limits: LimitsPatch,
    /// `limits.maxSentBytes`: of all requests of a call together.
    pub max_sent: Option<u64>,
    /// `limits.maxReceivedBytes`: of all answers of a call together, unpacked.
    pub max_received: Option<u64>,
    /// Its own tests.
    pub tests: Vec<HttpTest>,
    /// SHA-256 of the file's bytes, in hex.
    pub digest: String,
    /// What the file says, without comments, layout, quotes and order: what trust is pinned to.
    pub meaning: Meaning,
    /// Where each argument is declared, in bytes of the file.
    pub arguments_at: Vec<(String, Range<usize>)>,
}

/// One request of `impl`.
#[derive(Debug, Clone)]
pub struct RequestTemplate {
    /// `method`; GET if not said.
    pub method: Method,
    /// `urlTemplate`.
    pub url: UrlTemplate,
    /// `headers`, in the order of the file.
    pub headers: Vec<(HeaderName, Template)>,
    /// `bodyTemplate`; none if empty. Its `Content-Type` is among the headers only if the file says one.
    pub body: Option<BodyTemplate>,
    /// `successCodes`; empty: 200 to 299.
    pub success_codes: Vec<u16>,
    /// `timeoutMs`: of one attempt.
    pub timeout: Duration,
    /// `responseEncoding`.
    pub encoding: ResponseEncoding,
    /// `extractExpr`.
    pub extract: Option<Extract>,
    /// `errorMode`.
    pub error_mode: ErrorMode,
    /// `auth`.
    pub auth: Option<Auth>,
    /// `retry`.
    pub retry: Retry,
}

/// `responseEncoding`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseEncoding {
    /// The body is JSON.
    Json,
    /// The body is text.
    Text,
}

/// `extractExpr`.
#[derive(Debug, Clone)]
pub enum Extract {
    /// JSONPath: starts with `$`.
    Path(JsonPath),
    /// `/regex/`: group 1, else the match.
    Pattern(regex::Regex),
}

/// `errorMode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorMode {
    /// A failure is an error of the call.
    Fail,
    /// A failure is the value `null`.
    Empty,
}

/// `retry`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// How many times a request is sent again; 2 if not said.
    pub max: u32,
    /// Whether methods that are not idempotent are repeated too.
    pub non_idempotent: bool,
}

impl Default for Retry {
    fn default() -> Self {
        Retry {
            max: 2,
            non_idempotent: false,
        }
    }
}

/// `auth`: how a request says who it is from. Every text is a template of secrets and literals: an argument never becomes a
/// credential.
#[derive(Debug, Clone)]
pub enum Auth {
    /// `Authorization: Bearer TOKEN`.
    Bearer {
        /// `token`.
        token: Template,
    },
    /// `Authorization: Basic …`.
    Basic {
        /// `username`.
        username: Template,
        /// `password`.
        password: Template,
    },
    /// A signature over `METHOD\nPATH?QUERY\nTIMESTAMP\nSHA256(BODY)`.
    Hmac {
        /// `key`.
        key: Template,
        /// `keyId`, sent in `keyIdHeader` if given.
        key_id: Option<(HeaderName, Template)>,
        /// `signatureHeader`; `X-Signature` if not said.
        signature_header: HeaderName,
        /// `timestampHeader`; `X-Timestamp` if not said.
        timestamp_header: HeaderName,
    },
    /// A token from a token server, kept until it expires.
    Oauth2 {
        /// `grant`: client credentials, or a refresh token.
        grant: OauthGrant,
        /// `tokenUrl`; without placeholders, and checked like every target.
        token_url: url::Url,
        /// Where that is.
        token_target: Target,
        /// `clientId`.
        client_id: Template,
        /// `clientSecret`; none for public clients.
        client_secret: Option<Template>,
        /// `scope`.
        scope: Option<String>,
    },
}

/// How an OAuth2 token is got.
#[derive(Debug, Clone)]
pub enum OauthGrant {
    /// `client_credentials`.
    ClientCredentials,
    /// `refresh_token`, with this token.
    Refresh(Template),
}

/// What came of reading a file.
#[derive(Debug)]
pub struct Reading {
    /// The tool, unless a problem is an error.
    pub definition: Option<HttpDefinition>,
    /// Everything that is wrong or doubtful, in the order of the file.
    pub problems: Vec<Problem>,
}

impl HttpDefinition {
    /// The names of the secrets that it uses, each once.
    pub fn secrets(&self) -> Vec<&SecretName> {
        let mut names: Vec<&SecretName> = Vec::new();
        for placeholder in self.requests.iter().flat_map(RequestTemplate::placeholders) {
            if let Placeholder::Secret(name) = placeholder
                && !names.contains(&name)
            {
                names.push(name);
            }
        }
        names
    }

    /// The recipients of its secrets, each pair once: the server of the request, and for OAuth2 the token server.
    pub fn told(&self) -> Vec<(&SecretName, &Target)> {
        let mut told: Vec<(&SecretName, &Target)> = Vec::new();
        for request in &self.requests {
            let own = &request.url.target;
            let credentials = match &request.auth {
                Some(Auth::Oauth2 { token_target, .. }) => token_target,
                _ => own,
            };
            let message = request.placeholders_without_auth().into_iter();
            let auth = request.auth_placeholders();
            let all = message.map(|placeholder| (placeholder, own));
            for (placeholder, target) in all.chain(auth.map(|text| (text, credentials))) {
                if let Placeholder::Secret(name) = placeholder
                    && !told.contains(&(name, target))
                {
                    told.push((name, target));
                }
            }
        }
        told
    }

    /// The names of its arguments: the properties of `argSchema`.
    pub fn arguments(&self) -> impl Iterator<Item = &str> {
        self.arg_schema.properties().map(|(name, _)| name)
    }

    /// The value of a built-in variable.
    pub fn built_in(&self, variable: BuiltIn) -> &str {
        match variable {
            BuiltIn::Version => self.version.as_str(),
            BuiltIn::Slug => self.slug.as_str(),
            BuiltIn::DisplayName => &self.display_name,
        }
    }

    /// Where its requests go, each once: those of `impl`, then those of token servers.
    pub fn targets(&self) -> Vec<&Target> {
        let tokens = self
            .requests
            .iter()
            .filter_map(|request| match &request.auth {
                Some(Auth::Oauth2 { token_target, .. }) => Some(token_target),
                _ => None,
            });
        let mut targets: Vec<&Target> = Vec::new();
        for target in self
            .requests
            .iter()
            .map(|request| &request.url.target)
            .chain(tokens)
        {
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
        targets
    }
}

impl RequestTemplate {
    /// Every placeholder, in the order of URL, headers, body, `auth`.
    pub fn placeholders(&self) -> Vec<&Placeholder> {
        let mut all = self.placeholders_without_auth();
        all.extend(self.auth_placeholders());
        all
    }

    /// Those of URL, headers and body.
    pub fn placeholders_without_auth(&self) -> Vec<&Placeholder> {
        let mut all: Vec<&Placeholder> = self.url.path.placeholders().collect();
        all.extend(self.url.query.iter().flat_map(Template::placeholders));
        let headers = self.headers.iter();
        all.extend(headers.flat_map(|(_, value)| value.placeholders()));
        all.extend(self.body.iter().flat_map(BodyTemplate::placeholders));
        all
    }

    /// Those of `auth`.
    fn auth_placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        let texts = self.auth.iter().flat_map(Auth::texts);
        texts.flat_map(Template::placeholders)
    }
}

impl Auth {
    /// Its texts.
    pub fn texts(&self) -> Vec<&Template> {
        match self {
            Auth::Bearer { token } => vec![token],
            Auth::Basic { username, password } => vec![username, password],
            Auth::Hmac { key, key_id, .. } => {
                let id = key_id.iter().map(|(_, id)| id);
                std::iter::once(key).chain(id).collect()
            }
            Auth::Oauth2 {
                grant,
                client_id,
                client_secret,
                ..
            } => {
                let refresh = match grant {
                    OauthGrant::ClientCredentials => None,
                    OauthGrant::Refresh(token) => Some(token),
                };
                let rest = client_secret.iter().chain(refresh);
                std::iter::once(client_id).chain(rest).collect()
            }
        }
    }
}

/// How closely a file is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    /// As far as it takes to load it: schemas are bounded, and compiled at the first call.
    Load,
    /// Schemas are compiled, too.
    Thorough,
}

/// Reads a file's bytes; `stem` is its name without `.json`, the tool's name when the file does not say one.
///
/// ```
/// use toolcrib::manifest::read;
/// let file = br#"{"description": "Says hello", "impl": {"urlTempalte": "https://example.com/"}}"#;
/// let reading = read(file, "hello");
/// assert!(reading.definition.is_none());
/// assert!(reading.problems.iter().any(|one| one.help.as_deref() == Some("did you mean `urlTemplate`?")));
/// ```
pub fn read(bytes: &[u8], stem: &str) -> Reading {
    look(bytes, stem, Look::Thorough, false)
}

/// Reads a file that is to be loaded: like [`read`], but schemas are compiled when they are first needed.
#[doc(hidden)]
pub fn load(bytes: &[u8], stem: &str) -> Reading {
    look(bytes, stem, Look::Load, false)
}

/// Reads a record of the store like [`read`]: its texts may have hidden characters, which no one gets to read.
#[doc(hidden)]
pub fn read_record(bytes: &[u8], stem: &str) -> Reading {
    look(bytes, stem, Look::Thorough, true)
}

/// Reads a record of the store like [`load`].
#[doc(hidden)]
pub fn load_record(bytes: &[u8], stem: &str) -> Reading {
    look(bytes, stem, Look::Load, true)
}

/// What a file of JSON with comments says, as plain JSON; everything that is wrong with its writing otherwise.
pub fn as_json(bytes: &[u8]) -> Result<Value, Vec<Problem>> {
    let decoded = match yaml::decode(bytes) {
        Ok(decoded) => decoded,
        Err(found) => {
            let readable = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
            return Err(problem::placed(vec![*found], readable, 0));
        }
    };
    let mut found = Findings::of(decoded.text, &fields::DIALECT);
    let parsed = json::parse(&mut found, json::Rigour::File);
    let list = found.into_list();
    match parsed.root {
        Some(root) if parsed.whole && list.is_empty() => Ok(values::json(&root)),
        _ => Err(problem::placed(list, decoded.text, decoded.skipped)),
    }
}

/// Applies every safe fix, as often as one leads to another. Without any the bytes are those given.
pub fn fix(bytes: &[u8], stem: &str) -> Fixed<Reading> {
    fix_by(bytes, &|bytes| read(bytes, stem), &|reading| {
        &reading.problems
    })
}

fn look(bytes: &[u8], stem: &str, how: Look, is_record: bool) -> Reading {
    let decoded = match yaml::decode(bytes) {
        Ok(decoded) => decoded,
        Err(found) => {
            let readable = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
            return Reading {
                definition: None,
                problems: problem::placed(vec![*found], readable, 0),
            };
        }
    };
    let mut found = Findings::of(decoded.text, &fields::DIALECT);
    found.is_record = is_record;
    let mut definition = read_text(bytes, stem, how, &mut found);
    for (_, span) in definition
        .iter_mut()
        .flat_map(|read| &mut read.arguments_at)
    {
        *span = span.start + decoded.skipped..span.end + decoded.skipped;
    }
    Reading {
        definition,
        problems: problem::placed(found.into_list(), decoded.text, decoded.skipped),
    }
}

fn read_text(
    bytes: &[u8],
    stem: &str,
    how: Look,
    found: &mut Findings<'_>,
) -> Option<HttpDefinition> {
    yaml::odd_characters(found);
    let parsed = json::parse(found, json::Rigour::File);
    // `null` is as empty as nothing.
    let Some(root) = parsed.root.filter(|root| !root.is_empty()) else {
        if parsed.whole {
            found.push(SpannedProblem::error("empty-file", 0..0, "the file is empty").help(
                "an HTTP tool needs a `description` and an `impl` with a `urlTemplate`: `toolcrib new NAME --http --url URL` makes one",
            ));
        }
        return None;
    };
    shape::check(&root, &fields::FORMAT, "", found);
    hidden::check(&root, found);
    if !parsed.whole || root.map().is_none() {
        return None;
    }
    let digest = crate::model::names::hex(&Sha256::digest(bytes));
    let mut definition = read::definition(&root, stem, digest, how == Look::Thorough, found)?;
    definition.meaning = Meaning::of(&root, &fields::FORMAT);
    Some(definition)
}

/// The JSON Schema (draft 2020-12) of an HTTP tool's file, for editors.
pub fn json_schema() -> Value {
    let mut root = Map::new();
    for (key, value) in [
        ("$schema", "https://json-schema.org/draft/2020-12/schema"),
        ("$id", "toolcrib-http-tool.schema.json"),
        ("title", "A Toolcrib HTTP tool"),
        (
            "description",
            "A tool that sends requests: where they go, what they are made of, and what is taken of the answers.",
        ),
    ] {
        root.insert(key.to_owned(), value.into());
    }
    if let Value::Object(mut fields) = schema::of(&fields::FORMAT, Syntax::Json) {
        root.append(&mut fields);
    }
    Value::Object(root)
}
