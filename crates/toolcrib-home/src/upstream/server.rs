//! One configured server: [`Upstream`], with the connection that all calls of its tools share.
//!
//! Nothing is connected until a call needs it; a caller that comes during a connection attempt waits for the same attempt, which goes on
//! when its first caller gives up. Before the first call on a connection the server's tools are compared with the pins, and again when it says that
//! they changed. A connection that breaks takes the calls on it along: they fail and are not made again, since they may have run.
//!
//! A server that lets a call run into its deadline is asked for its tools. If it does not answer that either, no new call gets
//! this connection. Cancelling a call is reported to the server; whether it stops is its own decision, and its process lives on
//! for others.
//!
//! The invariant: nothing here waits for another server, and no one but a call of this server's tools waits for this one.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::time::Instant;
use toolcrib_mcp::client::{
    CallOptions, Called, ClientError, Listing, Progress, ServerNotice, ToolCall,
};
use toolcrib_mcp::protocol::Input;
use url::Url;

use super::auth::{Consent, OAuth};
use super::breaker::{Breaker, Turn};
use super::child::Child;
use super::connection::{self, Connection, Parts};
use super::definition::Definition;
use super::http;
use super::material::{self, Material};
use super::server_request::{Asking, MAX_QUESTIONS};
use super::settings::{Auth, Transport, UpstreamSettings};
use super::wall::Fetch;
use crate::call::context::CallContext;
use crate::egress::Target;
use crate::model::JsonObject;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::names::Slug;
use crate::model::text;

/// How long a connection has to have lasted for its end to count as the first failure and not as one more.
const LASTED: Duration = Duration::from_secs(30);
/// How long a server that did not answer a call in time may take to answer anything.
const HEARING: Duration = Duration::from_secs(10);
/// How long a prompt or a resource may take, unless configured.
const ANSWERING: Duration = Duration::from_secs(60);
/// How long starting a program may take besides: it is the client that gives up, which knows what it heard.
const STARTING: Duration = Duration::from_secs(1);
/// When a request gives up at the latest. It is the pipeline that ends a call in time, and knows how long a person was waited for.
const AT_LAST: Duration = Duration::from_secs(24 * 3600);

/// A configured server.
pub struct Upstream {
    name: Slug,
    settings: UpstreamSettings,
    parts: Arc<Parts>,
    state: Mutex<State>,
    breaker: Mutex<Breaker>,
    calls: AtomicU64,
}

#[derive(Default)]
struct State {
    open: Option<Arc<Connection>>,
    attempt: Option<Attempt>,
}

/// Someone's attempt to connect, that all wait for who come meanwhile.
type Attempt = Shared<BoxFuture<'static, Result<Arc<Connection>, ToolError>>>;

/// What a server turned out to be when it was asked just for that.
#[derive(Debug, Clone)]
pub struct Probe {
    /// What it calls itself, as JSON.
    pub server: Value,
    /// The version of MCP it speaks.
    pub protocol: String,
    /// Whether every request stands for itself (since 2026-07-28), or there is a session.
    pub is_modern: bool,
    /// What it wants models to know.
    pub instructions: Option<String>,
    /// Its tools.
    pub tools: Vec<Definition>,
    /// Its prompts and resources.
    pub material: Material,
    /// Tools that were left out, and why.
    pub rejected: Vec<(String, String)>,
    /// How long it took to connect.
    pub connected: Duration,
    /// How long it took to list its tools.
    pub listed: Duration,
    /// The last of what its program printed on stderr.
    pub stderr: String,
    /// The hosts that its program wanted to reach, if it is behind a wall.
    pub network: Vec<Reached>,
}

/// A host that a server's program wanted to reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    /// The host, with its port.
    pub host: String,
    /// Whether it was let.
    pub allowed: bool,
}

/// The present status of a server, in this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerState {
    /// No one has needed it, or it was let go.
    Idle,
    /// Someone connects.
    Connecting,
    /// It is connected.
    Connected,
    /// It failed.
    Failing {
        /// How often in a row.
        failures: u32,
        /// How the last time.
        last: String,
    },
}

impl Upstream {
    pub(crate) fn new(name: Slug, settings: UpstreamSettings, parts: Arc<Parts>) -> Arc<Self> {
        Arc::new(Upstream {
            name,
            settings,
            parts,
            state: Mutex::default(),
            breaker: Mutex::default(),
            calls: AtomicU64::new(0),
        })
    }

    /// Its name.
    pub fn name(&self) -> &Slug {
        &self.name
    }

    /// The configuration.
    pub fn settings(&self) -> &UpstreamSettings {
        &self.settings
    }

    /// Its status.
    pub fn standing(&self) -> ServerState {
        let state = lock(&self.state);
        match (&state.open, &state.attempt) {
            (Some(open), _) if !open.is_closed() => return ServerState::Connected,
            (_, Some(_)) => return ServerState::Connecting,
            _ => {}
        }
        drop(state);
        match lock(&self.breaker).state() {
            (0, _) => ServerState::Idle,
            (failures, last) => ServerState::Failing {
                failures,
                last: last.to_owned(),
            },
        }
    }

    /// Logs in with the person who can be asked; returns the issuer. Where no one logs in, that is an error.
    pub(crate) async fn log_in(&self, consent: Arc<dyn Consent>) -> Result<String, ToolError> {
        connection::log_in(&self.name, &self.settings, &self.parts, consent).await
    }

    /// The store of logins, and the address that they are for; an error where there is no login.
    pub(crate) fn logins(&self) -> Result<(OAuth, Url), ToolError> {
        let refused = |why: &str| {
            let message = format!("the MCP server `{}` {why}", self.name);
            ToolError::new(ErrorCode::InvalidArguments, message)
        };
        let Transport::Http { url, auth, .. } = &self.settings.transport else {
            return Err(refused("is a program and needs no login"));
        };
        if *auth != Auth::OAuth {
            return Err(refused(
                "is not configured with `auth = \"oauth\"`, so it has no login",
            ));
        }
        let (url, _) = Target::parse(url)?;
        let oauth = OAuth::new(&self.parts.home, self.parts.secrets.clone());
        Ok((oauth, url))
    }

    /// The hosts that its program wanted to reach and may not, as far as it runs now.
    pub fn refused_hosts(&self) -> Vec<String> {
        let state = lock(&self.state);
        let child = state.open.as_ref().and_then(|open| open.child.as_ref());
        child.map(Child::refused).unwrap_or_default()
    }

    /// Connects just to see what the server is, on its own connection that is ended again; says what it found. Nothing is written, but
    /// what the program keeps for itself.
    pub(crate) async fn probe(&self, fetch: Fetch) -> Result<Probe, ToolError> {
        let began = Instant::now();
        let patience = connection::patience(&self.settings, fetch);
        let opened = tokio::time::timeout(
            patience + STARTING,
            connection::open(&self.name, &self.settings, &self.parts, fetch),
        );
        let (connection, _told) = opened
            .await
            .unwrap_or_else(|_| Err(self.too_slow("connect")))?;
        let connected = began.elapsed();
        let began = Instant::now();
        let listed = tokio::time::timeout(patience, connection.list(&self.name)).await;
        let listing = match listed.unwrap_or_else(|_| Err(self.too_slow("list its tools"))) {
            Ok(listing) => listing,
            Err(error) => {
                connection.finish().await;
                return Err(error);
            }
        };
        let listed = began.elapsed();
        let material = self.material(&connection).await;
        let (side, era) = (connection.client.server(), connection.client.era());
        let masker = self.parts.secrets.masker();
        let mut server = side.info.map_or(Value::Null, |info| {
            serde_json::to_value(info).unwrap_or_default()
        });
        masker.mask_value(&mut server);
        let probe = Probe {
            server,
            protocol: era.version().to_owned(),
            is_modern: era.is_modern(),
            instructions: side
                .instructions
                .map(|text| masker.mask(&text).into_owned()),
            tools: connection::definitions(&listing, &masker),
            material: material.unwrap_or_default(),
            rejected: connection::rejected(&listing, &masker),
            connected,
            listed,
            stderr: connection.stderr(),
            network: network(&connection),
        };
        connection.finish().await;
        Ok(probe)
    }

    /// Lets the connection go, if there is one.
    pub async fn close(&self) {
        let open = lock(&self.state).open.take();
        if let Some(open) = open {
            open.finish().await;
        }
    }

    fn too_slow(&self, what: &str) -> ToolError {
        connection::too_slow(&self.name, &self.settings, what)
    }

    /// The connection, made now if there is none.
    async fn connection(self: &Arc<Self>) -> Result<Arc<Connection>, ToolError> {
        let attempt = {
            let mut state = lock(&self.state);
            let turn = lock(&self.breaker).turn(Instant::now());
            let pause = match (turn, &state.attempt) {
                // Connected or not: what is there refuses everything.
                (
                    Turn::Open {
                        pause,
                        failures,
                        last,
                    },
                    None,
                ) => return Err(self.refused(pause, failures, &last)),
                (Turn::Wait(pause), _) => pause,
                (Turn::Go | Turn::Open { .. }, _) => Duration::ZERO,
            };
            if let Some(open) = state.open.as_ref().filter(|open| !open.is_closed()) {
                open.touch();
                return Ok(Arc::clone(open));
            }
            state.open = None;
            match &state.attempt {
                Some(attempt) => attempt.clone(),
                None => {
                    let attempt = attempt(self, pause);
                    state.attempt = Some(attempt.clone());
                    attempt
                }
            }
        };
        attempt.await
    }

    fn refused(&self, pause: Duration, failures: u32, last: &str) -> ToolError {
        let message = format!(
            "the MCP server `{}` failed {failures} times in a row and is left alone for another {:.1} s; the last time: {last}",
            self.name,
            pause.as_secs_f64()
        );
        let wait = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        ToolError::new(ErrorCode::UpstreamError, message).with_detail("retryAfterMs", wait)
    }

    /// Connects, sees what tools there are, and keeps the connection.
    async fn connect(self: Arc<Self>, pause: Duration) -> Result<Arc<Connection>, ToolError> {
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        let opening = async {
            let (connection, told) =
                connection::open(&self.name, &self.settings, &self.parts, Fetch::Never).await?;
            let listing = connection.list(&self.name).await?;
            self.take(&connection, &listing).await;
            Ok((Arc::new(connection), told))
        };
        let patience = self.settings.connect_timeout + STARTING;
        let opened = tokio::time::timeout(patience, opening).await;
        let opened = opened.unwrap_or_else(|_| Err(self.too_slow("connect")));
        let mut state = lock(&self.state);
        state.attempt = None;
        match opened {
            Ok((connection, told)) => {
                state.open = Some(Arc::clone(&connection));
                drop(state);
                let (own, fresh) = (Arc::clone(&self), Arc::clone(&connection));
                tokio::spawn(async move { own.take_material(&fresh).await });
                let watched = watch(
                    Arc::downgrade(&self),
                    Arc::downgrade(&connection),
                    told,
                    self.settings.idle,
                );
                tokio::spawn(watched);
                Ok(connection)
            }
            Err(error) => {
                drop(state);
                // A login that is missing is nothing that passes by waiting.
                if error.code() != ErrorCode::ToolUnavailable {
                    self.note_failure(error.message().to_owned(), Instant::now());
                }
                Err(error)
            }
        }
    }

    /// Compares what the server says now with what is pinned, and keeps it.
    async fn take(&self, connection: &Connection, listing: &Listing) {
        let definitions = connection::definitions(listing, &self.parts.secrets.masker());
        connection.take(&definitions);
        let (pins, name) = (self.parts.pins.clone(), self.name.clone());
        // Where it cannot be written, calls are compared with the pins all the same.
        let noted = tokio::task::spawn_blocking(move || pins.note(&name, &definitions)).await;
        if matches!(noted, Ok(Ok(_))) {
            self.parts.changed.store(true, Ordering::Release);
        }
    }

    /// What it has besides tools; none if it does not say so in time.
    async fn material(&self, connection: &Connection) -> Option<Material> {
        let patience = self.settings.connect_timeout;
        let listed = tokio::time::timeout(patience, connection.client.list_material()).await;
        let listed = listed.ok()?.ok()?;
        Some(Material::of(listed, &self.parts.secrets.masker()))
    }

    /// Keeps what it has besides tools now.
    async fn take_material(&self, connection: &Connection) {
        let Some(material) = self.material(connection).await else {
            return;
        };
        let (pins, name) = (self.parts.pins.clone(), self.name.clone());
        let noted = tokio::task::spawn_blocking(move || pins.note_material(&name, material)).await;
        if matches!(noted, Ok(Ok(true))) {
            self.parts.changed.store(true, Ordering::Release);
        }
    }

    /// Gets a prompt, without secrets.
    pub(crate) async fn get_prompt(
        self: &Arc<Self>,
        prompt: &str,
        arguments: JsonObject,
    ) -> Result<JsonObject, ToolError> {
        let connection = self.connection().await?;
        let _in_flight = InFlight::of(&connection);
        let got = connection
            .client
            .get_prompt(prompt, arguments, self.patience());
        self.answered(&connection, got.await).await
    }

    /// Reads a resource, without secrets, and with URIs as they are here.
    pub(crate) async fn read_resource(
        self: &Arc<Self>,
        uri: &str,
    ) -> Result<JsonObject, ToolError> {
        let connection = self.connection().await?;
        let _in_flight = InFlight::of(&connection);
        let read = connection.client.read_resource(uri, self.patience());
        let mut read = self.answered(&connection, read.await).await?;
        material::rename_contents(&self.name, &mut read);
        Ok(read)
    }

    /// How long it may take to answer what is not a call.
    fn patience(&self) -> Duration {
        self.settings.timeout.unwrap_or(ANSWERING)
    }

    async fn answered(
        &self,
        connection: &Arc<Connection>,
        answer: Result<JsonObject, ClientError>,
    ) -> Result<JsonObject, ToolError> {
        let masker = self.parts.secrets.masker();
        match answer {
            Ok(mut answer) => {
                lock(&self.breaker).worked();
                masker.mask_object(&mut answer);
                Ok(answer)
            }
            Err(error) => {
                let failed = connection.failed(&self.name, &error).await;
                if matches!(error, ClientError::Gone(_)) {
                    self.broke(connection, failed.message().to_owned());
                }
                Err(failed.masked(&masker))
            }
        }
    }

    fn note_failure(&self, why: String, began: Instant) {
        let mut breaker = lock(&self.breaker);
        if began.elapsed() > LASTED {
            breaker.worked();
        }
        // As random as it has to be.
        let random = RandomState::new().build_hasher().finish();
        breaker.failed(
            Instant::now(),
            why,
            (random >> 11) as f64 / (1_u64 << 53) as f64,
        );
    }

    /// Notes that a connection broke; only the first who sees it counts.
    fn broke(&self, connection: &Arc<Connection>, why: String) {
        if self.retire(connection) {
            self.note_failure(why, connection.began);
        }
    }

    /// Gives a connection to no one any more; says whether it was the one in use. Calls on it go on, and the last of them ends it.
    fn retire(&self, connection: &Arc<Connection>) -> bool {
        let mut state = lock(&self.state);
        let is_ours = state
            .open
            .as_ref()
            .is_some_and(|open| Arc::ptr_eq(open, connection));
        if is_ours {
            state.open = None;
        }
        is_ours
    }

    /// Sees whether a server still answers anything, after a call that it did not answer in time. A tool that is slow is no one's fault; a server
    /// that is deaf is started again by the next call, and counts as having failed.
    async fn see_whether_deaf(&self, connection: &Arc<Connection>) {
        let patience = self.settings.connect_timeout.min(HEARING);
        let answered = tokio::time::timeout(patience, connection.client.list_tools()).await;
        let is_deaf = match answered {
            Ok(Ok(_) | Err(ClientError::Rpc(_) | ClientError::Refused { .. })) => false,
            Ok(Err(_)) | Err(_) => true,
        };
        if is_deaf && self.retire(connection) {
            let heard = match connection.client.odd_line() {
                Some(line) => format!("; it wrote what is not MCP: `{}`", text::visible(line)),
                None => String::new(),
            };
            let why = format!("it was connected and answered nothing any more{heard}");
            // However long it lasted: waiting time is not working time.
            self.note_failure(why, Instant::now());
        }
    }

    /// Closes a connection that was unused for so long; a caller that gets one touches it under the same lock.
    fn lets_go(&self, connection: &Arc<Connection>, idle: Duration) -> bool {
        let mut state = lock(&self.state);
        let is_ours = state
            .open
            .as_ref()
            .is_some_and(|open| Arc::ptr_eq(open, connection));
        let is_idle = is_ours && connection.idle() >= idle;
        if is_idle {
            state.open = None;
        }
        is_idle
    }

    /// Calls a tool whose definition has to be the one with this digest.
    pub(super) async fn call(
        self: &Arc<Self>,
        tool: &str,
        digest: &str,
        args: JsonObject,
        cx: &CallContext,
    ) -> Result<Map<String, Value>, ToolError> {
        let began = Instant::now();
        let mut connection = self.connected_within(cx.remaining()).await?;
        if let Err(error) = self.check(&connection, tool, digest) {
            // What was accepted may be newer than the program that runs here since long.
            if connection.began >= began {
                return Err(error);
            }
            self.retire(&connection);
            connection = self.connected_within(cx.remaining()).await?;
            self.check(&connection, tool, digest)?;
        }
        // On its own task: when the call is given up the server is notified, which takes a moment that the call does not have.
        let cancel = tokio_util::sync::CancellationToken::new();
        let given_up = cancel.clone().drop_guard();
        let asking = Arc::new(Asking::new(
            self.name.to_string(),
            cx.clone(),
            self.parts.secrets.clone(),
            cancel.clone(),
        ));
        let (progress, reports) = mpsc::channel(64);
        let making = Making {
            upstream: Arc::clone(self),
            connection,
            options: CallOptions {
                key: self.calls.fetch_add(1, Ordering::Relaxed),
                idle_timeout: AT_LAST,
                timeout: AT_LAST,
                cancel,
                progress: Some(progress),
            },
            asking,
            cx: cx.clone(),
        };
        let call = ToolCall {
            name: tool.to_owned(),
            arguments: args,
            input: None,
        };
        let (ending, log) = (cx.ending(), cx.exchanges());
        let made = tokio::spawn(async move {
            let made = http::noted(log, making.make(call)).await;
            drop(ending);
            made
        });
        let report = pass_on(reports, cx.clone());
        let (made, ()) = futures_util::future::join(made, report).await;
        drop(given_up);
        made.unwrap_or_else(|_| {
            Err(ToolError::new(
                ErrorCode::Cancelled,
                "the runtime is shutting down",
            ))
        })
    }

    /// The connection, if there is one within a call's time; the call has a little left then to say why not.
    async fn connected_within(
        self: &Arc<Self>,
        time: Duration,
    ) -> Result<Arc<Connection>, ToolError> {
        let patience = time.saturating_sub((time / 10).min(Duration::from_millis(100)));
        let connected = tokio::time::timeout(patience, self.connection()).await;
        connected.unwrap_or_else(|_| {
            let message = format!(
                "the MCP server `{}` did not connect within the {} ms of this call (`timeoutMs`)",
                self.name,
                time.as_millis()
            );
            Err(ToolError::new(ErrorCode::UpstreamError, message))
        })
    }

    /// Refuses a tool that is something else by now than what was accepted.
    fn check(&self, connection: &Connection, tool: &str, digest: &str) -> Result<(), ToolError> {
        let name = &self.name;
        let message = match connection.digest_of(tool) {
            Some(found) if found == digest => return Ok(()),
            Some(_) => format!(
                "the definition of this tool has changed since it was accepted: `toolcrib upstream test {name}` shows the difference, `toolcrib upstream accept {name}` accepts it"
            ),
            None => format!("the MCP server `{name}` no longer has this tool"),
        };
        Err(ToolError::new(ErrorCode::ToolUnavailable, message))
    }
}

/// The hosts that a program wanted to reach so far.
fn network(connection: &Connection) -> Vec<Reached> {
    let Some(child) = &connection.child else {
        return Vec::new();
    };
    let of =
        |hosts: Vec<String>, allowed| hosts.into_iter().map(move |host| Reached { host, allowed });
    of(child.reached(), true)
        .chain(of(child.refused(), false))
        .collect()
}

/// Begins to connect, for everybody who waits.
fn attempt(upstream: &Arc<Upstream>, pause: Duration) -> Attempt {
    let task = tokio::spawn(Arc::clone(upstream).connect(pause));
    let weak = Arc::downgrade(upstream);
    let attempt = async move {
        match task.await {
            Ok(connected) => connected,
            // The runtime that began it is gone, or there is a bug: the next one begins again.
            Err(_) => {
                if let Some(upstream) = weak.upgrade() {
                    lock(&upstream.state).attempt = None;
                }
                Err(ToolError::new(
                    ErrorCode::UpstreamError,
                    "connecting was given up; try again",
                ))
            }
        }
    };
    attempt.boxed().shared()
}

/// Passes progress on to the call's events until no one reports any more.
async fn pass_on(mut reports: mpsc::Receiver<Progress>, cx: CallContext) {
    while let Some(report) = reports.recv().await {
        cx.emit_progress(report.progress, report.total, report.message);
    }
}

/// One call under way.
struct Making {
    upstream: Arc<Upstream>,
    connection: Arc<Connection>,
    options: CallOptions,
    asking: Arc<Asking>,
    cx: CallContext,
}

/// Counts a call as under way.
struct InFlight(Arc<Connection>);

impl InFlight {
    fn of(connection: &Arc<Connection>) -> Self {
        connection.in_flight.fetch_add(1, Ordering::AcqRel);
        InFlight(Arc::clone(connection))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.touch();
        self.0.in_flight.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Making {
    /// Whether its time is over: it was not taken back by someone.
    fn is_late(&self) -> bool {
        self.cx.remaining() <= Duration::from_millis(20)
    }

    async fn make(self, mut call: ToolCall) -> Result<Map<String, Value>, ToolError> {
        let (upstream, connection) = (&self.upstream, &self.connection);
        let _in_flight = InFlight::of(connection);
        let _open = connection
            .questions
            .begin(self.options.key, Arc::clone(&self.asking));
        for _ in 0..=MAX_QUESTIONS {
            let called = connection
                .client
                .call_tool(call.clone(), self.options.clone())
                .await;
            match called {
                Ok(Called::Complete(result)) => {
                    lock(&upstream.breaker).worked();
                    return match self.asking.unanswered() {
                        Some(error) => Err(error),
                        None => Ok(result),
                    };
                }
                Ok(Called::InputRequired { requests, state }) => {
                    let mut responses = Map::new();
                    for (key, request) in requests {
                        let params = request.params.unwrap_or_default();
                        let answer = self.asking.ask(&request.method, params);
                        // A caller that gives up the call takes the question back.
                        let answer = self.options.cancel.run_until_cancelled(answer).await;
                        let answer = answer.ok_or_else(|| {
                            ToolError::new(ErrorCode::Cancelled, "the call was cancelled")
                        })?;
                        responses.insert(key, answer?);
                    }
                    call.input = Some(Input { responses, state });
                }
                Err(error) => {
                    if let Some(unanswered) = self.asking.unanswered() {
                        return Err(unanswered);
                    }
                    let failed = connection.failed(&upstream.name, &error).await;
                    match &error {
                        ClientError::TimedOut(_) | ClientError::Cancelled => {
                            if self.is_late() {
                                let (upstream, connection) =
                                    (Arc::clone(upstream), Arc::clone(connection));
                                tokio::spawn(async move {
                                    upstream.see_whether_deaf(&connection).await;
                                });
                            }
                        }
                        // A proxy in front of the server says that it is not there.
                        ClientError::Refused {
                            status: 502..=504, ..
                        } => upstream.note_failure(failed.message().to_owned(), Instant::now()),
                        ClientError::Refused { .. } => lock(&upstream.breaker).worked(),
                        ClientError::Gone(_) => {
                            upstream.broke(connection, failed.message().to_owned());
                            let message = format!(
                                "the MCP server `{}` went away during the call, which may have taken effect or not: {}",
                                upstream.name,
                                failed.message()
                            );
                            let details = failed.details().cloned().unwrap_or_default();
                            let error = ToolError::new(ErrorCode::UpstreamError, message);
                            return Err(details
                                .into_iter()
                                .fold(error, |error, (key, value)| error.with_detail(key, value)));
                        }
                        // It is there, and answers.
                        ClientError::Rpc(_) => lock(&upstream.breaker).worked(),
                        ClientError::GoneAtProbe(_)
                        | ClientError::Protocol(_)
                        | ClientError::Unauthorized(_) => {}
                    }
                    return Err(failed);
                }
            }
        }
        let message = format!(
            "the MCP server `{}` asked back {MAX_QUESTIONS} times in one call",
            upstream.name
        );
        Err(ToolError::new(ErrorCode::UpstreamError, message))
    }
}

/// Receives a server's notifications, and closes an unused connection.
async fn watch(
    upstream: Weak<Upstream>,
    connection: Weak<Connection>,
    mut told: mpsc::Receiver<ServerNotice>,
    idle: Option<Duration>,
) {
    loop {
        // Also without an idle time it is seen now and then whether anybody is left.
        let patience = idle.unwrap_or(Duration::from_secs(600));
        let patience = match connection.upgrade() {
            Some(connection) => patience.saturating_sub(connection.idle()),
            None => return,
        };
        let heard =
            tokio::time::timeout(patience.max(Duration::from_millis(10)), told.recv()).await;
        let (Some(upstream), Some(connection)) = (upstream.upgrade(), connection.upgrade()) else {
            return;
        };
        match heard {
            Ok(None) => return,
            Ok(Some(ServerNotice::Closed(why))) => {
                if connection.close_for(why.clone()) {
                    let error = connection
                        .failed(&upstream.name, &ClientError::Gone(why))
                        .await;
                    upstream.broke(&connection, error.message().to_owned());
                }
                return;
            }
            Ok(Some(ServerNotice::MaterialChanged)) => upstream.take_material(&connection).await,
            Ok(Some(ServerNotice::ToolsChanged)) => {
                let patience = upstream.settings.connect_timeout;
                let listed = tokio::time::timeout(patience, connection.list(&upstream.name)).await;
                if let Ok(Ok(listing)) = listed {
                    upstream.take(&connection, &listing).await;
                }
            }
            // What a server writes into its log is no one's concern here.
            Ok(Some(ServerNotice::Log { .. })) => {}
            Err(_) => {
                if idle.is_some_and(|idle| upstream.lets_go(&connection, idle)) {
                    connection.finish().await;
                    return;
                }
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
