//! What the operator says about an upstream server: [`UpstreamSettings`], a table `[upstreams.NAME]` of the home's config.toml.
//!
//! Read with places and did-you-mean like all settings; a project's file may not have any, since it would run programs.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::egress::{Target, is_framing};
use crate::model::digest::Digester;
use crate::model::effects::Verdict;
use crate::model::names::Slug;
use crate::model::secret::Secret;
use crate::model::text;
use crate::sandbox::Level;
use crate::secret::SecretName;

use super::sandbox::UpstreamSandbox;

/// How long the beginning of a connection may take, unless configured.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a connection that no one uses is kept, unless configured.
const IDLE: Duration = Duration::from_secs(600);
/// The most servers, arguments, variables or headers, and tools with their own policy.
const MAX_UPSTREAMS: usize = 200;
const MAX_PARTS: usize = 200;
/// The longest text of one setting.
const MAX_TEXT: usize = 32 * 1024;
/// The longest time.
const MAX_MS: u64 = 24 * 3600 * 1000;

/// Names no upstream can have: bundles that are there already.
const TAKEN: &[&str] = &["core", "local", "user", "global", "app"];

/// A value that is written down, or the name of the secret that it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfiguredValue {
    /// As it is.
    Plain(String),
    /// `secret:NAME`, or a word and a blank before it as in `Bearer secret:NAME`.
    Secret {
        /// The text before it.
        before: String,
        /// The secret.
        name: SecretName,
    },
}

impl ConfiguredValue {
    /// Reads a value: `secret:NAME` names a secret.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_TEXT || text.contains('\0') {
            return Err("must be a text of 32 KB at most without a null byte".to_owned());
        }
        let (before, rest) = match text.split_once(' ') {
            Some((word, rest)) if word.chars().all(|c| c.is_ascii_alphanumeric()) => {
                (format!("{word} "), rest)
            }
            _ => (String::new(), text),
        };
        match rest.strip_prefix("secret:") {
            Some(name) => {
                SecretName::parse(name).map(|name| ConfiguredValue::Secret { before, name })
            }
            None => Ok(ConfiguredValue::Plain(text.to_owned())),
        }
    }

    /// The value, with the secret that it names as `reveal` has it.
    pub(super) fn resolve<E>(
        &self,
        reveal: impl FnOnce(&SecretName) -> Result<Secret, E>,
    ) -> Result<Secret, E> {
        match self {
            ConfiguredValue::Plain(text) => Ok(Secret::new(text.clone())),
            ConfiguredValue::Secret { before, name } => {
                let value = reveal(name)?;
                Ok(Secret::new(format!("{before}{}", value.expose())))
            }
        }
    }

    /// As it is in the file.
    pub fn written(&self) -> String {
        match self {
            ConfiguredValue::Plain(text) => text.clone(),
            ConfiguredValue::Secret { before, name } => format!("{before}secret:{name}"),
        }
    }
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    /// A program of this machine, talked to by its standard input and output.
    Program {
        /// The program: a name in `PATH`, or an absolute path.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables besides the few that every program gets.
        env: BTreeMap<String, ConfiguredValue>,
        /// The directory it starts in; the user's home directory if not said.
        cwd: Option<PathBuf>,
    },
    /// A server somewhere, by streamable HTTP.
    Http {
        /// Its address. Being configured is its permission: it need not be in `allowedHosts`.
        url: String,
        /// Headers that go with every request.
        headers: BTreeMap<String, ConfiguredValue>,
        /// The login, if one is required.
        auth: Auth,
    },
}

/// How one shows at an HTTP server who one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Auth {
    /// By nothing but the headers that are configured.
    #[default]
    None,
    /// By OAuth, with tokens that `toolcrib upstream login` gets.
    OAuth,
}

impl Auth {
    fn parse(word: &str) -> Result<Self, String> {
        match word {
            "none" => Ok(Auth::None),
            "oauth" => Ok(Auth::OAuth),
            _ => Err("must be `none` or `oauth`".to_owned()),
        }
    }

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Auth::None => "none",
            Auth::OAuth => "oauth",
        }
    }
}

/// How a token is got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Grant {
    /// A person logs in with a browser.
    #[default]
    Code,
    /// The configured client has the right by itself.
    ClientCredentials,
}

/// What the operator says about logging in: the table `oauth` of a server with `auth = "oauth"`. All of it can be left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OAuthSettings {
    /// The id of a client that was registered by hand.
    pub client_id: Option<String>,
    /// Its secret, `secret:NAME`.
    pub client_secret: Option<ConfiguredValue>,
    /// The authorization server: no other server gets the secret, whatever the server says.
    pub issuer: Option<String>,
    /// The address of a document that says who we are, for those who take it as an id.
    pub client_metadata_url: Option<String>,
    /// What to ask for, rather than what the server says.
    pub scopes: Vec<String>,
    /// The port that browsers are sent back to; any if not said.
    pub redirect_port: Option<u16>,
    /// How a token is got.
    pub grant: Grant,
}

const OAUTH_KEYS: &[&str] = &[
    "clientId",
    "clientSecret",
    "issuer",
    "clientMetadataUrl",
    "scopes",
    "redirectPort",
    "grant",
];

impl OAuthSettings {
    fn read(value: &Value) -> Result<Self, SettingProblem> {
        let Some(table) = value.as_object() else {
            return Err(fault("", "must be a table"));
        };
        if let Some(key) = table.keys().find(|key| !OAUTH_KEYS.contains(&key.as_str())) {
            return Err(unknown(key, OAUTH_KEYS));
        }
        let fields = Fields(table);
        let client_secret = match fields.text("clientSecret")? {
            None => None,
            Some(text) => {
                match ConfiguredValue::parse(&text).map_err(|why| fault("clientSecret", why))? {
                    given @ ConfiguredValue::Secret { .. } => Some(given),
                    ConfiguredValue::Plain(_) => {
                        return Err(fault(
                            "clientSecret",
                            "must be `secret:NAME`; `toolcrib secret set NAME` keeps it",
                        ));
                    }
                }
            }
        };
        let client_metadata_url = fields.text("clientMetadataUrl")?;
        if let Some(url) = &client_metadata_url {
            let parsed = Target::parse(url)
                .map_err(|error| fault("clientMetadataUrl", error.to_string()))?;
            if !parsed.1.https || parsed.0.path() == "/" {
                return Err(fault(
                    "clientMetadataUrl",
                    "must begin with `https://` and have a path",
                ));
            }
        }
        let scopes = match table.get("scopes") {
            None => Vec::new(),
            Some(value) => {
                let texts = value.as_array().filter(|all| all.len() <= MAX_PARTS);
                let texts = texts.and_then(|all| {
                    let fits = |text: &&str| {
                        !text.is_empty()
                            && text.bytes().all(|byte| {
                                (0x21..0x7f).contains(&byte) && byte != b'"' && byte != b'\\'
                            })
                    };
                    let text = |value: &Value| value.as_str().filter(fits).map(str::to_owned);
                    all.iter().map(text).collect::<Option<Vec<String>>>()
                });
                texts.ok_or_else(|| fault("scopes", "must be a list of words"))?
            }
        };
        let redirect_port = match table.get("redirectPort") {
            None => None,
            Some(value) => {
                let port = value.as_u64().and_then(|port| u16::try_from(port).ok());
                let port = port.filter(|port| *port >= 1024);
                Some(
                    port.ok_or_else(|| fault("redirectPort", "must be a port from 1024 to 65535"))?,
                )
            }
        };
        let grant = match fields.text("grant")?.as_deref() {
            None | Some("authorization_code") => Grant::Code,
            Some("client_credentials") => Grant::ClientCredentials,
            Some(_) => {
                return Err(fault(
                    "grant",
                    "must be `authorization_code` or `client_credentials`",
                ));
            }
        };
        let client_id = fields.text("clientId")?;
        if client_id.is_none() && client_secret.is_some() {
            return Err(fault("clientSecret", "needs a `clientId`"));
        }
        if grant == Grant::ClientCredentials && client_secret.is_none() {
            return Err(fault(
                "grant",
                "`client_credentials` needs a `clientId` and a `clientSecret`",
            ));
        }
        Ok(OAuthSettings {
            client_id,
            client_secret,
            issuer: fields.text("issuer")?,
            client_metadata_url,
            scopes,
            redirect_port,
            grant,
        })
    }

    fn written(&self) -> Value {
        let mut fields = Map::new();
        if let Some(id) = &self.client_id {
            fields.insert("clientId".to_owned(), id.as_str().into());
        }
        if let Some(secret) = &self.client_secret {
            fields.insert("clientSecret".to_owned(), secret.written().into());
        }
        if let Some(issuer) = &self.issuer {
            fields.insert("issuer".to_owned(), issuer.as_str().into());
        }
        if let Some(url) = &self.client_metadata_url {
            fields.insert("clientMetadataUrl".to_owned(), url.as_str().into());
        }
        if !self.scopes.is_empty() {
            fields.insert("scopes".to_owned(), json!(self.scopes));
        }
        if let Some(port) = self.redirect_port {
            fields.insert("redirectPort".to_owned(), port.into());
        }
        if self.grant == Grant::ClientCredentials {
            fields.insert("grant".to_owned(), "client_credentials".into());
        }
        Value::Object(fields)
    }
}

/// What the operator says about an upstream server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamSettings {
    /// How it is reached.
    pub transport: Transport,
    /// How to log in there, where `auth` is `oauth`.
    pub oauth: OAuthSettings,
    /// The wall around a program; none if not said.
    pub sandbox: Option<UpstreamSandbox>,
    /// Whether its tools are on offer.
    pub enabled: bool,
    /// How long a call may take; the limit of all tools if not said.
    pub timeout: Option<Duration>,
    /// How long the beginning of a connection may take.
    pub connect_timeout: Duration,
    /// How long a connection that no one uses is kept; none: for good.
    pub idle: Option<Duration>,
    /// Whether calls of its tools run, ask or are refused, unless a tool has its own policy.
    pub approval: Verdict,
    /// The policy of single tools, by the names that the server gives them.
    pub tools: BTreeMap<String, Verdict>,
}

/// The problem of a setting: its key below `upstreams`, and what to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingProblem {
    /// The key, with dots.
    pub key: String,
    /// The problem.
    pub problem: String,
}

impl SettingProblem {
    /// The same below another key.
    fn below(self, key: &str) -> Self {
        SettingProblem {
            key: match self.key.is_empty() {
                true => key.to_owned(),
                false => format!("{key}.{}", self.key),
            },
            problem: self.problem,
        }
    }
}

impl fmt::Display for SettingProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.key, self.problem)
    }
}

/// The settings of every upstream server by its name.
pub type UpstreamTable = BTreeMap<Slug, UpstreamSettings>;

const KEYS: &[&str] = &[
    "command",
    "args",
    "env",
    "cwd",
    "sandbox",
    "url",
    "headers",
    "auth",
    "oauth",
    "enabled",
    "timeoutMs",
    "connectTimeoutMs",
    "idleMs",
    "approval",
    "tools",
];

/// Checks the name of an upstream server.
pub fn name(text: &str) -> Result<Slug, String> {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if !text.chars().all(is_fine) {
        let words = text.split(|c| !is_fine(c)).filter(|word| !word.is_empty());
        let near = words.collect::<Vec<_>>().join("-");
        let hint = match Slug::parse(&near) {
            Ok(near) => format!("; `{near}` would do"),
            Err(_) => String::new(),
        };
        return Err(format!(
            "the name of an upstream server has letters of ASCII, digits and `-`, and nothing else{hint}"
        ));
    }
    let slug = Slug::parse(text).map_err(|error| error.to_string())?;
    if TAKEN.contains(&text) {
        return Err(format!(
            "`{text}` is a bundle of Toolcrib's own; choose another name"
        ));
    }
    Ok(slug)
}

/// Reads the table `upstreams`.
pub fn read_all(table: &Value) -> Result<UpstreamTable, SettingProblem> {
    let problem = |key: &str, problem: &str| SettingProblem {
        key: key.to_owned(),
        problem: problem.to_owned(),
    };
    let Some(table) = table.as_object() else {
        return Err(problem(
            "upstreams",
            "must be tables like `[upstreams.files]`",
        ));
    };
    if table.len() > MAX_UPSTREAMS {
        return Err(problem("upstreams", "there are more than 200 servers"));
    }
    let mut all = UpstreamTable::new();
    for (key, value) in table {
        let place = format!("upstreams.{}", text::shorten(key, 80));
        let name = name(key).map_err(|why| problem(&place, &why))?;
        let Some(fields) = value.as_object() else {
            return Err(problem(&place, "must be a table"));
        };
        let settings = UpstreamSettings::read(fields).map_err(|fault| fault.below(&place))?;
        all.insert(name, settings);
    }
    Ok(all)
}

impl UpstreamSettings {
    /// Settings with nothing but the way to a server.
    pub fn new(transport: Transport) -> Self {
        UpstreamSettings {
            transport,
            oauth: OAuthSettings::default(),
            sandbox: None,
            enabled: true,
            timeout: None,
            connect_timeout: CONNECT_TIMEOUT,
            idle: Some(IDLE),
            approval: Verdict::Ask,
            tools: BTreeMap::new(),
        }
    }

    /// Reads the fields of one table.
    pub fn read(fields: &Map<String, Value>) -> Result<Self, SettingProblem> {
        let fields = Fields(fields);
        fields.known()?;
        let transport = match (fields.text("command")?, fields.text("url")?) {
            (Some(command), None) => {
                fields.none_of(&["headers", "auth", "oauth"], "is for servers with a `url`")?;
                fields.program(command)?
            }
            (None, Some(url)) => {
                fields.none_of(
                    &["args", "env", "cwd", "sandbox"],
                    "is for servers with a `command`",
                )?;
                fields.http(url)?
            }
            (Some(_), Some(_)) => {
                return Err(fault(
                    "url",
                    "beside `command`: a server is a program or has an address",
                ));
            }
            (None, None) => {
                return Err(fault("", "needs a `command` (with `args`) or a `url`"));
            }
        };
        let wants_login = matches!(
            &transport,
            Transport::Http {
                auth: Auth::OAuth,
                ..
            }
        );
        let mut settings = UpstreamSettings::new(transport);
        if let Some(oauth) = fields.0.get("oauth") {
            if !wants_login {
                return Err(fault("oauth", "is for servers with `auth = \"oauth\"`"));
            }
            settings.oauth = OAuthSettings::read(oauth).map_err(|odd| odd.below("oauth"))?;
        }
        if let Some(sandbox) = fields.0.get("sandbox") {
            let read = UpstreamSandbox::read(sandbox).map_err(|odd| odd.below("sandbox"))?;
            settings.sandbox = Some(read);
        }
        settings.enabled = fields.switch("enabled")?.unwrap_or(true);
        settings.timeout = fields.millis("timeoutMs", 1)?;
        settings.connect_timeout = fields
            .millis("connectTimeoutMs", 1)?
            .unwrap_or(CONNECT_TIMEOUT);
        settings.idle = match fields.millis("idleMs", 0)? {
            Some(Duration::ZERO) => None,
            Some(idle) => Some(idle),
            None => Some(IDLE),
        };
        if let Some(word) = fields.text("approval")? {
            settings.approval = verdict(&word).map_err(|why| fault("approval", why))?;
        }
        settings.tools = fields.tools()?;
        Ok(settings)
    }

    /// As it is in the file, for [`read`](Self::read); what is as usual is left out.
    pub fn written(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        let givens = |of: &BTreeMap<String, ConfiguredValue>| {
            let pairs = of
                .iter()
                .map(|(key, value)| (key.clone(), value.written().into()));
            Value::Object(pairs.collect())
        };
        match &self.transport {
            Transport::Program {
                command,
                args,
                env,
                cwd,
            } => {
                fields.insert("command".to_owned(), command.as_str().into());
                if !args.is_empty() {
                    fields.insert("args".to_owned(), json!(args));
                }
                if !env.is_empty() {
                    fields.insert("env".to_owned(), givens(env));
                }
                if let Some(cwd) = cwd {
                    fields.insert("cwd".to_owned(), cwd.to_string_lossy().into());
                }
            }
            Transport::Http { url, headers, auth } => {
                fields.insert("url".to_owned(), url.as_str().into());
                if !headers.is_empty() {
                    fields.insert("headers".to_owned(), givens(headers));
                }
                if *auth != Auth::None {
                    fields.insert("auth".to_owned(), auth.as_str().into());
                }
                if self.oauth != OAuthSettings::default() {
                    fields.insert("oauth".to_owned(), self.oauth.written());
                }
            }
        }
        if let Some(sandbox) = &self.sandbox {
            fields.insert("sandbox".to_owned(), sandbox.written());
        }
        let millis =
            |time: Duration| Value::from(u64::try_from(time.as_millis()).unwrap_or(MAX_MS));
        if !self.enabled {
            fields.insert("enabled".to_owned(), false.into());
        }
        if let Some(timeout) = self.timeout {
            fields.insert("timeoutMs".to_owned(), millis(timeout));
        }
        if self.connect_timeout != CONNECT_TIMEOUT {
            fields.insert("connectTimeoutMs".to_owned(), millis(self.connect_timeout));
        }
        if self.idle != Some(IDLE) {
            let idle = self.idle.map_or_else(|| 0.into(), millis);
            fields.insert("idleMs".to_owned(), idle);
        }
        if self.approval != Verdict::Ask {
            fields.insert("approval".to_owned(), self.approval.as_str().into());
        }
        if !self.tools.is_empty() {
            let tools = self
                .tools
                .iter()
                .map(|(tool, verdict)| (tool.clone(), json!({"approval": verdict.as_str()})));
            fields.insert("tools".to_owned(), Value::Object(tools.collect()));
        }
        fields
    }

    /// Puts the wall around a program that a server gets when it is added, unless something else is said.
    #[must_use]
    pub fn with_usual_sandbox(mut self) -> Self {
        if matches!(self.transport, Transport::Program { .. }) {
            let usual = || UpstreamSandbox::of(Level::Process);
            self.sandbox.get_or_insert_with(usual);
        }
        self
    }

    /// How strong the wall is, in one word; none for a server that is not a program.
    pub fn sandbox_level(&self) -> Option<&'static str> {
        let level = self
            .sandbox
            .as_ref()
            .map_or(Level::None, |sandbox| sandbox.level);
        matches!(self.transport, Transport::Program { .. }).then(|| level.name())
    }

    /// What a call of a tool needs.
    pub fn approval_of(&self, tool: &str) -> Verdict {
        self.tools.get(tool).copied().unwrap_or(self.approval)
    }

    /// How the server is reached, on one line for people: no values of variables or headers.
    pub fn line(&self) -> String {
        match &self.transport {
            Transport::Program { command, args, .. } => {
                let words = std::iter::once(command)
                    .chain(args)
                    .map(|word| quoted(word));
                words.collect::<Vec<_>>().join(" ")
            }
            Transport::Http { url, .. } => shown_url(url),
        }
    }

    /// A digest of how the server is reached: another program or address is another server.
    pub fn identity(&self) -> String {
        match &self.transport {
            Transport::Program { command, args, .. } => args
                .iter()
                .fold(Digester::default().text(command), |digest, arg| {
                    digest.text(arg)
                })
                .finish(),
            Transport::Http { url, .. } => Digester::default().text("url").text(url).finish(),
        }
    }
}

/// A URL without what may be a secret in it.
fn shown_url(url: &str) -> String {
    match url::Url::parse(url) {
        Ok(mut url) => {
            if url.query().is_some() {
                url.set_query(Some("…"));
            }
            url.to_string()
        }
        Err(_) => "an address that cannot be read".to_owned(),
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:,@=+%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

fn verdict(word: &str) -> Result<Verdict, &'static str> {
    match word {
        "allow" => Ok(Verdict::Allow),
        "ask" => Ok(Verdict::Ask),
        "deny" => Ok(Verdict::Deny),
        _ => Err("must be `allow`, `ask` or `deny`"),
    }
}

pub(super) fn fault(key: impl Into<String>, problem: impl Into<String>) -> SettingProblem {
    SettingProblem {
        key: key.into(),
        problem: problem.into(),
    }
}

/// The fields of one table.
pub(super) struct Fields<'a>(pub(super) &'a Map<String, Value>);

impl Fields<'_> {
    fn known(&self) -> Result<(), SettingProblem> {
        match self.0.keys().find(|key| !KEYS.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => Err(unknown(key, KEYS)),
        }
    }

    fn none_of(&self, keys: &[&str], why: &str) -> Result<(), SettingProblem> {
        match keys.iter().find(|key| self.0.contains_key(**key)) {
            Some(key) => Err(fault(*key, why)),
            None => Ok(()),
        }
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<String>, SettingProblem> {
        match self.0.get(key) {
            None => Ok(None),
            Some(Value::String(text))
                if !text.is_empty() && text.len() <= MAX_TEXT && !text.contains('\0') =>
            {
                Ok(Some(text.clone()))
            }
            Some(_) => Err(fault(key, "must be a text")),
        }
    }

    fn switch(&self, key: &str) -> Result<Option<bool>, SettingProblem> {
        match self.0.get(key) {
            None => Ok(None),
            Some(Value::Bool(on)) => Ok(Some(*on)),
            Some(_) => Err(fault(key, "must be `true` or `false`")),
        }
    }

    fn millis(&self, key: &str, min: u64) -> Result<Option<Duration>, SettingProblem> {
        let Some(value) = self.0.get(key) else {
            return Ok(None);
        };
        match value.as_u64() {
            Some(millis) if (min..=MAX_MS).contains(&millis) => {
                Ok(Some(Duration::from_millis(millis)))
            }
            _ => Err(fault(
                key,
                format!("must be a whole number from {min} to {MAX_MS}"),
            )),
        }
    }

    fn givens(&self, key: &str) -> Result<BTreeMap<String, ConfiguredValue>, SettingProblem> {
        let mut all = BTreeMap::new();
        let Some(value) = self.0.get(key) else {
            return Ok(all);
        };
        let Some(fields) = value.as_object().filter(|fields| fields.len() <= MAX_PARTS) else {
            return Err(fault(key, "must be a table of texts, 200 at most"));
        };
        for (name, value) in fields {
            let place = format!("{key}.{}", text::shorten(name, 80));
            let Some(text) = value.as_str() else {
                return Err(fault(place, "must be a text, or `secret:NAME`"));
            };
            let given = ConfiguredValue::parse(text).map_err(|why| fault(place, why))?;
            all.insert(name.clone(), given);
        }
        Ok(all)
    }

    fn program(&self, command: String) -> Result<Transport, SettingProblem> {
        let args = match self.0.get("args") {
            None => Vec::new(),
            Some(Value::Array(args)) if args.len() <= MAX_PARTS => {
                let texts = args.iter().map(|arg| {
                    let arg = arg
                        .as_str()
                        .filter(|arg| arg.len() <= MAX_TEXT && !arg.contains('\0'));
                    arg.map(str::to_owned)
                });
                let texts: Option<Vec<String>> = texts.collect();
                texts.ok_or_else(|| fault("args", "must be a list of texts"))?
            }
            Some(_) => return Err(fault("args", "must be a list of texts, 200 at most")),
        };
        let cwd = self.text("cwd")?.map(PathBuf::from);
        if cwd.as_ref().is_some_and(|cwd| !cwd.is_absolute()) {
            return Err(fault("cwd", "must be an absolute path"));
        }
        if command.contains('/') && !command.starts_with('/') && cwd.is_none() {
            return Err(fault(
                "command",
                "must be a name in PATH or an absolute path; a relative one needs a `cwd`",
            ));
        }
        let env = self.givens("env")?;
        let odd = |name: &&String| name.is_empty() || name.contains(['=', '\0']);
        if let Some(name) = env.keys().find(odd) {
            return Err(fault(
                "env",
                format!(
                    "`{}` cannot be the name of a variable",
                    text::shorten(name, 80)
                ),
            ));
        }
        Ok(Transport::Program {
            command,
            args,
            env,
            cwd,
        })
    }

    fn http(&self, url: String) -> Result<Transport, SettingProblem> {
        let (parsed, _) = Target::parse(&url).map_err(|error| fault("url", error.to_string()))?;
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return Err(fault(
                "url",
                "has a user in it; give it as a header: `headers.Authorization = \"secret:NAME\"`",
            ));
        }
        let headers = self.givens("headers")?;
        for name in headers.keys() {
            let is_name = http::HeaderName::try_from(name.as_str()).is_ok();
            if !is_name || is_framing(&name.to_ascii_lowercase()) {
                let place = format!("headers.{}", text::shorten(name, 80));
                return Err(fault(
                    place,
                    "cannot be set: it is not a header, or one that follows from the request",
                ));
            }
        }
        let auth = match self.text("auth")? {
            None => Auth::None,
            Some(word) => Auth::parse(&word).map_err(|why| fault("auth", why))?,
        };
        let is_authorization = |name: &&String| name.eq_ignore_ascii_case("authorization");
        if auth == Auth::OAuth && headers.keys().any(|name| is_authorization(&name)) {
            return Err(fault(
                "headers.Authorization",
                "beside `auth = \"oauth\"`: the token goes into this header",
            ));
        }
        Ok(Transport::Http { url, headers, auth })
    }

    fn tools(&self) -> Result<BTreeMap<String, Verdict>, SettingProblem> {
        let mut all = BTreeMap::new();
        let Some(value) = self.0.get("tools") else {
            return Ok(all);
        };
        let Some(tools) = value.as_object().filter(|tools| tools.len() <= 10_000) else {
            return Err(fault(
                "tools",
                "must be tables like `[upstreams.files.tools.read]`",
            ));
        };
        for (tool, policy) in tools {
            let place = format!("tools.{}", text::shorten(tool, 80));
            let Some(policy) = policy.as_object() else {
                return Err(fault(place, "must be a table with `approval`"));
            };
            if let Some(key) = policy.keys().find(|key| *key != "approval") {
                let mut odd = unknown(key, &["approval"]);
                odd.key = format!("{place}.{}", odd.key);
                return Err(odd);
            }
            let word = policy
                .get("approval")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let verdict = verdict(word).map_err(|why| fault(format!("{place}.approval"), why))?;
            all.insert(tool.clone(), verdict);
        }
        Ok(all)
    }
}

pub(super) fn unknown(key: &str, keys: &[&str]) -> SettingProblem {
    let hint = match text::nearest(key, keys.iter().copied()).as_slice() {
        [] => format!("there are {}", text::or_list(keys)),
        near => format!("did you mean {}?", text::or_list(near)),
    };
    fault(text::shorten(key, 80), format!("is unknown; {hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: Value) -> Result<UpstreamSettings, String> {
        UpstreamSettings::read(value.as_object().unwrap()).map_err(|fault| fault.to_string())
    }

    #[test]
    fn what_is_read_is_written_the_same() {
        for value in [
            json!({"command": "npx", "args": ["-y", "x"], "env": {"A": "b", "T": "secret:TOKEN"}, "cwd": "/srv", "idleMs": 0, "sandbox": {"level": "process"}}),
            json!({"url": "https://mcp.example.com/mcp", "headers": {"X-Key": "Key secret:KEY"}, "auth": "oauth", "enabled": false,
                "timeoutMs": 5, "connectTimeoutMs": 7, "approval": "deny", "tools": {"get": {"approval": "allow"}}}),
        ] {
            let settings = read(value.clone()).unwrap();
            assert_eq!(Value::Object(settings.written()), value);
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_a_fix() {
        for (value, expected) in [
            (json!({}), "needs a `command`"),
            (json!({"comand": "x"}), "did you mean `command`?"),
            (
                json!({"command": "x", "url": "http://a"}),
                "a server is a program or has an address",
            ),
            (json!({"command": "./x"}), "a relative one needs a `cwd`"),
            (
                json!({"command": "x", "cwd": "here"}),
                "must be an absolute path",
            ),
            (
                json!({"command": "x", "headers": {}}),
                "`headers`: is for servers with a `url`",
            ),
            (
                json!({"command": "x", "env": {"A=B": "c"}}),
                "cannot be the name of a variable",
            ),
            (
                json!({"command": "x", "env": {"A": "secret:no-name"}}),
                "cannot be the name of a secret",
            ),
            (
                json!({"command": "x", "args": "a b"}),
                "must be a list of texts",
            ),
            (
                json!({"command": "x", "sandbox": {"level": "high"}}),
                "`sandbox.level`: must be `none`, `process` or `container`",
            ),
            (json!({"url": "ftp://x"}), "`url`"),
            (json!({"url": "https://u:p@x.example/"}), "`url`"),
            (
                json!({"url": "https://x.example/", "headers": {"Host": "y"}}),
                "`headers.Host`: cannot be set",
            ),
            (
                json!({"url": "https://x.example/", "auth": "basic"}),
                "must be `none` or `oauth`",
            ),
            (
                json!({"command": "x", "approval": "yes"}),
                "must be `allow`, `ask` or `deny`",
            ),
            (
                json!({"command": "x", "tools": {"t": {"aproval": "ask"}}}),
                "did you mean `approval`?",
            ),
            (
                json!({"command": "x", "timeoutMs": 0}),
                "must be a whole number from 1",
            ),
        ] {
            let error = read(value.clone()).unwrap_err();
            assert!(error.contains(expected), "{value}: {error}");
        }
        for name_of in ["core", "a_b", "", "а"] {
            assert!(name(name_of).is_err(), "{name_of}");
        }
    }

    #[test]
    fn a_line_for_people_has_no_values_that_may_be_secrets() {
        let settings =
            read(json!({"command": "run", "args": ["a b"], "env": {"K": "SENTINEL"}})).unwrap();
        assert_eq!(settings.line(), "run 'a b'");
        let settings = read(json!({"url": "https://x.example/m?key=SENTINEL"})).unwrap();
        assert!(!settings.line().contains("SENTINEL"), "{}", settings.line());
    }
}
