//! One connection to a server: [`Connection`], opened by [`open`].

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::HeaderName;
use tokio::sync::mpsc;
use tokio::time::Instant;
use toolcrib_mcp::client::{Client, ClientError, ClientOptions, Exchange, Listing, ServerNotice};
use toolcrib_mcp::protocol::{ClientCapabilities, Elicitation, Era, Implementation, LEGACY};
use url::Url;

use super::auth::{Authorizer, Consent, OAuth};
use super::child::{self, Child, Program};
use super::definition::Definition;
use super::http::Way;
use super::pins::PinStore;
use super::server_request::Questions;
use super::settings::{Auth, Transport, UpstreamSettings};
use super::wall::{self, Fetch, WallParts, own_variable};
use crate::egress::{Egress, Target};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::names::Slug;
use crate::model::secret::Secret;
use crate::model::text;
use crate::secret::{Masker, SecretStore};

/// The longest message of a server, and the most tools of one.
const MAX_MESSAGE: usize = 16 * 1024 * 1024;
const MAX_TOOLS: usize = 10_000;
/// How long a program that stopped talking may take to end, so that it can be said how it did.
const LAST_WORDS: Duration = Duration::from_millis(300);
/// How long the beginning of a connection may take at least, where a program may be fetched.
const FETCHING: Duration = Duration::from_secs(120);
/// How much of a program's stderr an error has.
const MAX_STDERR: usize = 2000;

/// What connections are made with.
pub(crate) struct Parts {
    pub(crate) egress: Egress,
    pub(crate) secrets: SecretStore,
    pub(crate) pins: PinStore,
    /// The default working directory of programs.
    pub(crate) directory: PathBuf,
    /// Logs in.
    pub(crate) authorizer: Arc<dyn Authorizer>,
    /// The home, where logins are kept.
    pub(crate) home: PathBuf,
    /// What the walls around programs are made with.
    pub(crate) walls: Arc<WallParts>,
    /// Set when pins, or what was found beside them, changed from here.
    pub(crate) changed: AtomicBool,
}

/// A connection to a server.
pub(super) struct Connection {
    pub(super) client: Client,
    pub(super) child: Option<Child>,
    pub(super) questions: Arc<Questions>,
    /// The digest of each tool, as the server has it now.
    found: Mutex<HashMap<String, String>>,
    closed: Mutex<Option<String>>,
    pub(super) in_flight: AtomicUsize,
    used: Mutex<Instant>,
    pub(super) began: Instant,
}

/// Connects to a server; its notifications come through the channel.
pub(super) async fn open(
    name: &Slug,
    settings: &UpstreamSettings,
    parts: &Parts,
    fetch: Fetch,
) -> Result<(Connection, mpsc::Receiver<ServerNotice>), ToolError> {
    let (told, hears) = mpsc::channel(64);
    let questions = Arc::<Questions>::default();
    let options = ClientOptions {
        info: Implementation {
            name: "toolcrib".to_owned(),
            title: Some("Toolcrib".to_owned()),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..Implementation::default()
        },
        capabilities: ClientCapabilities {
            elicitation: Some(Elicitation {
                form: Some(serde_json::json!({})),
                url: None,
            }),
            ..ClientCapabilities::default()
        },
        era: None,
        connect_timeout: patience(settings, fetch),
        max_message: MAX_MESSAGE,
        max_tools: MAX_TOOLS,
        asked: Some(Arc::clone(&questions) as _),
        form_defaults: false,
    };
    let (client, child) = match &settings.transport {
        Transport::Program { .. } => {
            let program = Arc::new(program(name, settings, parts, fetch).await?);
            let began = talk_to(name, settings, &program, options.clone(), told.clone()).await?;
            match began {
                Began::Talks(client, child) => (client, Some(child)),
                // Some older servers end at a question that they do not know.
                Began::Left(_) => {
                    let era = Some(Era::Legacy(LEGACY));
                    let options = ClientOptions { era, ..options };
                    match talk_to(name, settings, &program, options, told).await? {
                        Began::Talks(client, child) => (client, Some(child)),
                        Began::Left(error) => return Err(error),
                    }
                }
            }
        }
        Transport::Http { url, .. } => {
            let exchange = exchange(name, settings, parts)?;
            let client = Client::over_http(url.clone(), exchange, options, told).await;
            let client = client.map_err(|error| begun_badly(name, settings, &error, None))?;
            (client, None)
        }
    };
    let connection = Connection {
        client,
        child,
        questions,
        found: Mutex::default(),
        closed: Mutex::default(),
        in_flight: AtomicUsize::new(0),
        used: Mutex::new(Instant::now()),
        began: Instant::now(),
    };
    Ok((connection, hears))
}

/// What came of starting a program.
enum Began {
    /// It is talked to.
    Talks(Client, Child),
    /// It ended at the first question.
    Left(ToolError),
}

async fn talk_to(
    name: &Slug,
    settings: &UpstreamSettings,
    program: &Arc<Program>,
    options: ClientOptions,
    told: mpsc::Sender<ServerNotice>,
) -> Result<Began, ToolError> {
    let program = Arc::clone(program);
    // Setting up a supervisor blocks; the stream belongs to the runtime, which such a thread knows.
    let started = tokio::task::spawn_blocking(move || child::start(&program)).await;
    let started = started.map_err(|_| gone(name, "the runtime is shutting down"))?;
    let (stream, child) = started.map_err(|error| error.preceded_by(&format!("`{name}`: ")))?;
    let (reader, writer) = stream.into_split();
    match Client::over_pipes(reader, writer, options, told).await {
        Ok(client) => Ok(Began::Talks(client, child)),
        Err(error) => {
            child.ending(LAST_WORDS).await;
            let failure = begun_badly(name, settings, &error, Some(&child));
            match error {
                ClientError::GoneAtProbe(_) => Ok(Began::Left(failure)),
                _ => Err(failure),
            }
        }
    }
}

/// How long the beginning of a connection may take: a package that is fetched first takes its time.
pub(super) fn patience(settings: &UpstreamSettings, fetch: Fetch) -> Duration {
    match fetch {
        Fetch::Never => settings.connect_timeout,
        Fetch::Allowed => settings.connect_timeout.max(FETCHING),
    }
}

async fn program(
    name: &Slug,
    settings: &UpstreamSettings,
    parts: &Parts,
    fetch: Fetch,
) -> Result<Program, ToolError> {
    let Transport::Program {
        command,
        args,
        env,
        cwd,
    } = &settings.transport
    else {
        return Err(gone(name, "it is not a program"));
    };
    let wall = {
        let (name, settings) = (name.clone(), settings.clone());
        let walls = Arc::clone(&parts.walls);
        tokio::task::spawn_blocking(move || wall::walled(&name, &settings, &walls, fetch)).await
    };
    let wall = wall.map_err(|_| gone(name, "the runtime is shutting down"))?;
    let wall = wall.map_err(|error| error.preceded_by(&format!("`{name}`: ")))?;
    let mut variables = Vec::with_capacity(env.len());
    let passed = settings
        .sandbox
        .iter()
        .flat_map(|sandbox| &sandbox.environment);
    for (variable, value) in passed.filter_map(|variable| own_variable(variable)) {
        variables.push((variable, Secret::new(value)));
    }
    for (variable, given) in env {
        let value = given.resolve(|secret| parts.secrets.reveal_to_program(secret, name))?;
        variables.push((variable.clone(), value));
    }
    Ok(Program {
        command: command.clone(),
        args: args.clone(),
        env: variables,
        directory: match (cwd, &wall) {
            (Some(cwd), _) => cwd.clone(),
            (None, Some(wall)) => wall.state.clone(),
            (None, None) => parts.directory.clone(),
        },
        wall,
    })
}

fn exchange(
    name: &Slug,
    settings: &UpstreamSettings,
    parts: &Parts,
) -> Result<Arc<dyn Exchange>, ToolError> {
    let (url, way) = plain(name, settings, parts)?;
    match &settings.transport {
        Transport::Http { auth, .. } if *auth == Auth::OAuth => {
            parts
                .authorizer
                .authorize(name, &url, &settings.oauth, &parts.egress, way)
        }
        _ => Ok(way),
    }
}

/// The way to a server without a login, and its address.
fn plain(
    name: &Slug,
    settings: &UpstreamSettings,
    parts: &Parts,
) -> Result<(Url, Arc<dyn Exchange>), ToolError> {
    let Transport::Http { url, headers, .. } = &settings.transport else {
        return Err(gone(name, "it has no address"));
    };
    let (parsed, target) = Target::parse(url)?;
    let headers = headers.iter().filter_map(|(header, value)| {
        Some((HeaderName::try_from(header.as_str()).ok()?, value.clone()))
    });
    let way = Way {
        egress: parts.egress.clone(),
        secrets: parts.secrets.clone(),
        upstream: name.clone(),
        target,
        headers: headers.collect(),
    };
    Ok((parsed, Arc::new(way)))
}

/// Logs in at a server with the person who can be asked; returns the issuer.
pub(super) async fn log_in(
    name: &Slug,
    settings: &UpstreamSettings,
    parts: &Parts,
    consent: Arc<dyn Consent>,
) -> Result<String, ToolError> {
    let (url, way) = plain(name, settings, parts)?;
    let oauth = OAuth::new(&parts.home, parts.secrets.clone()).with_consent(consent);
    oauth
        .log_in(name, &url, &settings.oauth, &parts.egress, way)
        .await
        .map_err(|error| error.preceded_by(&format!("no one was logged in at `{name}`: ")))
}

fn gone(name: &Slug, why: &str) -> ToolError {
    ToolError::new(
        ErrorCode::UpstreamError,
        format!("the MCP server `{name}` cannot be reached: {why}"),
    )
}

/// Says that a server did not do something within the time that a connection may take.
pub(super) fn too_slow(name: &Slug, settings: &UpstreamSettings, what: &str) -> ToolError {
    let message = format!(
        "the MCP server `{name}` did not {what} within {} ms (`connectTimeoutMs`)",
        settings.connect_timeout.as_millis()
    );
    ToolError::new(ErrorCode::UpstreamError, message)
}

/// A failure to connect in our words.
fn begun_badly(
    name: &Slug,
    settings: &UpstreamSettings,
    error: &ClientError,
    child: Option<&Child>,
) -> ToolError {
    let begun = match error {
        ClientError::TimedOut(_) => with_stderr(too_slow(name, settings, "connect"), child),
        error => failed(name, error, child),
    };
    behind_a_wall(begun, name, child)
}

/// Says of a program that did not begin well what its wall may have to do with it.
fn behind_a_wall(error: ToolError, name: &Slug, child: Option<&Child>) -> ToolError {
    let Some((level, refused)) = child.and_then(|child| Some((child.level()?, child.refused())))
    else {
        return error;
    };
    let reached = match refused.as_slice() {
        [] => String::new(),
        hosts => format!(" and tried to reach {}", text::and_list(hosts)),
    };
    let message = format!(
        "{}; it runs behind the wall `{level}`{reached}: `upstreams.{name}.sandbox` says what it may read, write and reach",
        error.message()
    );
    let details = error.details().cloned().unwrap_or_default();
    let walled = ToolError::new(error.code(), message);
    let walled = details
        .into_iter()
        .fold(walled, |error, (key, value)| error.with_detail(key, value));
    match refused.is_empty() {
        true => walled,
        false => walled.with_detail("refusedHosts", refused),
    }
}

/// A failure of a server in our words, with how its program ended and what it printed last.
pub(super) fn failed(name: &Slug, error: &ClientError, child: Option<&Child>) -> ToolError {
    let said = |text: &str| text::shorten(&text::visible(text), 2000);
    let error = match error {
        ClientError::Rpc(rpc) => {
            let message = format!(
                "the MCP server `{name}` answered with an error: {}",
                said(&rpc.message)
            );
            let error =
                ToolError::new(ErrorCode::UpstreamError, message).with_detail("rpcCode", rpc.code);
            match &rpc.data {
                Some(data) => error.with_detail("rpcData", data.clone()),
                None => error,
            }
        }
        ClientError::TimedOut(time) => {
            let message = format!(
                "the MCP server `{name}` did not answer within {} ms",
                time.as_millis()
            );
            ToolError::new(ErrorCode::Timeout, message)
        }
        ClientError::Cancelled => ToolError::new(ErrorCode::Cancelled, "the call was cancelled"),
        ClientError::Gone(why) | ClientError::GoneAtProbe(why) => {
            let ended = child.and_then(Child::ended);
            gone(name, &ended.unwrap_or_else(|| said(why)))
        }
        ClientError::Refused {
            status,
            said: words,
        } => {
            let message = format!(
                "the MCP server `{name}` did not take the request: {}",
                said(words)
            );
            ToolError::new(ErrorCode::UpstreamError, message).with_detail("status", *status)
        }
        ClientError::Protocol(why) => {
            let message = format!(
                "the MCP server `{name}` does not speak MCP as it should: {}",
                said(why)
            );
            ToolError::new(ErrorCode::UpstreamError, message)
        }
        // An authorizer that needs a person says what to type.
        ClientError::Unauthorized(why) if why.contains("`toolcrib upstream login ") => {
            let message = format!("the MCP server `{name}` wants a login: {}", said(why));
            ToolError::new(ErrorCode::ToolUnavailable, message)
        }
        ClientError::Unauthorized(why) if !why.starts_with("it answered ") => {
            let message = format!("the MCP server `{name}` refused access: {}", said(why));
            ToolError::new(ErrorCode::UpstreamError, message)
        }
        ClientError::Unauthorized(why) => {
            let message = format!(
                "the MCP server `{name}` wants to know who asks: {}; give it a header, or `auth = \"oauth\"`",
                said(why)
            );
            ToolError::new(ErrorCode::UpstreamError, message).with_detail("status", 401)
        }
    };
    with_stderr(error, child)
}

/// An error with the last of what a program printed.
fn with_stderr(error: ToolError, child: Option<&Child>) -> ToolError {
    let printed = child
        .map(Child::stderr)
        .filter(|printed| !printed.is_empty());
    match printed {
        Some(printed) => {
            let from = printed.ceil_char_boundary(printed.len().saturating_sub(MAX_STDERR));
            error.with_detail("stderr", &printed[from..])
        }
        None => error,
    }
}

impl Connection {
    /// All tools of the server.
    pub(super) async fn list(&self, name: &Slug) -> Result<Listing, ToolError> {
        let listed = self.client.list_tools().await;
        match listed {
            Ok(listing) => Ok(listing),
            Err(error) => Err(self.failed(name, &error).await),
        }
    }

    /// Takes what the server says now as what it has.
    pub(super) fn take(&self, definitions: &[Definition]) {
        let digests = definitions
            .iter()
            .map(|found| (found.name.clone(), found.digest()));
        *lock(&self.found) = digests.collect();
    }

    /// The digest of a tool as the server has it now.
    pub(super) fn digest_of(&self, tool: &str) -> Option<String> {
        lock(&self.found).get(tool).cloned()
    }

    /// A failure in our words.
    pub(super) async fn failed(&self, name: &Slug, error: &ClientError) -> ToolError {
        if let (ClientError::Gone(why), child) = (error, &self.child) {
            if let Some(child) = child {
                child.ending(LAST_WORDS).await;
            }
            self.close_for(why.clone());
        }
        failed(name, error, self.child.as_ref())
    }

    /// The last of what its program printed on stderr.
    pub(super) fn stderr(&self) -> String {
        self.child.as_ref().map(Child::stderr).unwrap_or_default()
    }

    /// Notes that it is of no use any more; whether that is news.
    pub(super) fn close_for(&self, why: String) -> bool {
        let mut closed = lock(&self.closed);
        let is_news = closed.is_none();
        closed.get_or_insert(why);
        is_news
    }

    /// Whether it is of no use any more.
    pub(super) fn is_closed(&self) -> bool {
        lock(&self.closed).is_some()
            || self
                .child
                .as_ref()
                .is_some_and(|child| child.ended().is_some())
    }

    /// Notes that someone uses it.
    pub(super) fn touch(&self) {
        *lock(&self.used) = Instant::now();
    }

    /// For how long no one has used it.
    pub(super) fn idle(&self) -> Duration {
        match self.in_flight.load(Ordering::Acquire) {
            0 => lock(&self.used).elapsed(),
            _ => Duration::ZERO,
        }
    }

    /// Ends it in good order.
    pub(super) async fn finish(&self) {
        self.close_for("it is not needed any more".to_owned());
        // A server that does not let go is not waited for.
        let _ = tokio::time::timeout(Duration::from_secs(2), self.client.close()).await;
        if let Some(child) = &self.child {
            child.finish().await;
        }
    }
}

impl Drop for Connection {
    /// A program is ended by its own drop. A session elsewhere is ended if there still is a runtime to do it on.
    fn drop(&mut self) {
        if self.child.is_none()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let client = self.client.clone();
            runtime.spawn(async move {
                let _ = tokio::time::timeout(Duration::from_secs(2), client.close()).await;
            });
        }
    }
}

/// The definitions of a listing, as they are pinned; of two with one name the first counts. What a server repeats of a secret is masked before
/// anybody sees or keeps it; a tool that has one in its name is left out, since it could not be called by another.
pub(super) fn definitions(listing: &Listing, masker: &Masker) -> Vec<Definition> {
    let mut seen = std::collections::HashSet::new();
    let tools = listing
        .tools
        .iter()
        .filter(|tool| seen.insert(tool.name.as_str()) && !masker.finds(&tool.name));
    tools
        .map(|tool| {
            let mut definition = Definition::of(&tool.name, &tool.definition);
            masker.mask_object(&mut definition.fields);
            definition
        })
        .collect()
}

/// The tools of a listing that were left out, and why, without secrets.
pub(super) fn rejected(listing: &Listing, masker: &Masker) -> Vec<(String, String)> {
    let telling = listing.tools.iter().filter(|tool| masker.finds(&tool.name));
    let telling = telling.map(|tool| {
        (
            tool.name.clone(),
            "there is a secret in its name".to_owned(),
        )
    });
    let all = listing.rejected.iter().cloned().chain(telling);
    let masked = |text: String| masker.mask(&text).into_owned();
    all.map(|(tool, why)| (masked(tool), masked(why))).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
