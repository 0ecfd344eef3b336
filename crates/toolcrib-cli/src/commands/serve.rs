//! `toolcrib serve`: the server, until it is asked to stop.
//!
//! Everything it answers is in `toolcrib-server`; here it is set up, announced to other processes of the home, and stopped.

use std::collections::HashSet;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::{self, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;
use toolcrib::approval::Queued;
use toolcrib::config::{AccessLog, ConfigError, ServerSettings};
use toolcrib::crib::{Approvals, OpenError};
use toolcrib::model::text;
use toolcrib::registry::EventSubscription;
use toolcrib::{Caller, Crib, CribOptions, ErrorCode, EventKind, ToolError};
use toolcrib_server::auth::{Clients, Hosts, Tokens};
use toolcrib_server::listen::{self, Limits, ListenError, ListenOptions, Server, Stopping, Tls};
use toolcrib_server::observe::{Observer, ObserverOptions, Sink, Telemetry};
use toolcrib_server::running::{RunningServer, Servers, settings_digest};
use toolcrib_server::web::Web;
use toolcrib_server::{Api, ApiOptions};

use super::{Done, notify, notifying, opened, warn_of_files, warn_of_store};
use crate::args::{Global, ServeArgs};
use crate::failure::CliError;
use crate::local_time;
use crate::output::Output;
use crate::signals::Stops;

/// How many lines about questions wait for a slow terminal.
const MAX_QUESTIONS: usize = 100;

/// How many questions are remembered to have a line: more than can wait at once.
const MAX_ANNOUNCED: usize = 20_000;

/// How long the access log and the collector of traces may take for what is left at the end.
const FLUSH: Duration = Duration::from_secs(2);

pub(super) fn serve(args: &ServeArgs, global: &Global, output: &Output) -> Done {
    listen::raise_open_files();
    let crib = Arc::new(opened(options(global), output)?);
    warn_of_store(&crib, output);
    warn_of_files(&crib, output);
    let settings = settings(args, &crib)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| ToolError::new(ErrorCode::Internal, format!("cannot start: {error}")))?;
    let served = runtime.block_on(run(args, &settings, crib, output));
    // Whatever blocks a thread now is no one's answer any more.
    runtime.shutdown_background();
    served
}

/// Like those of every command, but that no one's terminal is the session of its calls.
fn options(global: &Global) -> CribOptions {
    let mut options = CribOptions::default()
        .approvals(Approvals::Queue { wait: None })
        .look_every(toolcrib_server::LOOK_EVERY);
    if let Some(home) = &global.home {
        options = options.home(home);
    }
    if let Some(workspace) = &global.workspace {
        options = options.workspace(workspace);
    }
    options
}

/// The settings, with the flags over them.
fn settings(args: &ServeArgs, crib: &Crib) -> Result<ServerSettings, CliError> {
    let mut config = crib.config().clone();
    let mut settings = (|| {
        if let Some(addr) = &args.addr {
            config.set_flag("server.addr", addr)?;
        }
        config.server()
    })()
    .map_err(|error| match (error, &args.addr) {
        (ConfigError::Value { place, problem }, Some(addr)) if place == "server.addr" => {
            let message = format!("--addr `{}`: {problem}", text::visible(addr));
            CliError::usage(message)
                .with_hint("`--addr 127.0.0.1:8080`, for example; port 0 picks a free port")
        }
        (error, _) => OpenError::Config(error).into(),
    })?;
    if let Some(socket) = &args.socket {
        let plain = plain(socket).map_err(|error| CliError::usage(format!("--socket: {error}")))?;
        settings.socket = Some(plain);
    }
    Ok(settings)
}

/// A path without `..` and links on the way, for others who look for it from elsewhere. One that leads nowhere is refused later.
fn plain(path: &Path) -> std::io::Result<PathBuf> {
    let absolute = std::path::absolute(path)?;
    let plain = absolute.parent().and_then(|parent| {
        let parent = parent.canonicalize().ok()?;
        Some(parent.join(absolute.file_name()?))
    });
    Ok(plain.unwrap_or(absolute))
}

async fn run(
    args: &ServeArgs,
    settings: &ServerSettings,
    crib: Arc<Crib>,
    output: &Output,
) -> Done {
    let mut stops = Stops::listen();
    let server = bind(args, settings, output)?;
    let given = std::env::var("TOOLCRIB_TOKEN").ok();
    let has_file = given.is_none();
    let tokens = Tokens::open(crib.home(), given, Clients::of_home(crib.home()));
    let tokens = tokens.map_err(|error| {
        let file = crib.home().join("token");
        CliError::usage(error.to_string()).with_hint(format!("the file is {}", file.display()))
    })?;
    let (mut hosts, origins) = (settings.hosts.clone(), settings.origins.clone());
    // By the address in its links it is reached, too.
    hosts.extend(crib.config().server_host());
    let hosts = Hosts::new(hosts, origins, server.address())
        .map_err(|error| CliError::usage(error.to_string()))?;
    let observer = observer(settings, &crib, output)?;
    let web = web(args)?;
    let options = ApiOptions {
        tokens,
        web,
        hosts,
        observer: observer.clone(),
        max_body_bytes: settings.max_body_bytes,
        body_timeout: settings.body_timeout,
    };
    let api = Api::new(Arc::clone(&crib), options);
    let announced = Servers::of_home(crib.home()).announce(&RunningServer {
        pid: std::process::id(),
        url: server.url(),
        socket: server.socket().map(Into::into),
        workspace: crib.workspace_path().map(Into::into),
        started_at: Timestamp::now(),
        settings_digest: settings_digest(crib.config(), crib.rules()),
        certificate: settings
            .certificate
            .as_ref()
            .map(|files| files.certificate.clone()),
    });
    if let Err(error) = &announced {
        let warning = "other commands will not find this server by its home";
        output.say(&format!("{} {warning}: {error}", output.bold("warning:")));
    }
    let link = link(&api, server.url().as_deref());
    tell(&server, settings, &crib, has_file, link.as_deref(), output);
    warn(&crib, output);
    let announced_here = Arc::new(Mutex::new(HashSet::new()));
    let lines = lines(output);
    let _questions = announce_questions(&crib, lines.as_ref(), &announced_here);
    let of_others = lines.map(|lines| announce_others(&crib, lines, announced_here));
    let _notifier = notifying::start(&crib, of_others)?;
    let shown = async {
        if args.open {
            match &link {
                Some(link) => open(link, output).await,
                None => output.say("there is no address to open in a browser: leave --socket out"),
            }
        }
        std::future::pending::<()>().await;
    };
    let stopping = Stopping {
        grace: settings.shutdown,
        ..Stopping::default()
    };
    let asked = async {
        stops.next().await;
        let running = crib.registry().running();
        let running = running.iter().filter(|call| call.approval.is_none());
        let waits_for = match running.count() {
            0 => String::new(),
            1 => format!(": one call has {} s to end", settings.shutdown.as_secs()),
            many => format!(
                ": {many} calls have {} s to end",
                settings.shutdown.as_secs()
            ),
        };
        output.say(&output.dim(&format!("stopping{waits_for}; once more to stop at once")));
        notify::say("STOPPING=1", output);
        stopping.finish.cancel();
        stops.next().await;
        stopping.cancel.cancel();
        std::future::pending::<()>().await;
    };
    let clients = api.clone();
    // Connections wait in the sockets from now on, even if they are not accepted yet.
    notify::say("READY=1", output);
    tokio::select! {
        () = server.serve(api, stopping.clone()) => {}
        () = clients.follow_clients() => {}
        () = asked => {}
        () = shown => {}
    }
    drop(announced);
    // Pending events are sent to the end, but slow readers do not delay it for long.
    let _ = tokio::task::spawn_blocking(move || observer.flush(FLUSH)).await;
    Ok(ExitCode::SUCCESS)
}

/// The files of the web admin.
fn web(args: &ServeArgs) -> Result<Web, CliError> {
    let Some(directory) = &args.web else {
        return Ok(Web::BuiltIn);
    };
    let web = Web::Directory(directory.clone());
    match web.is_there() {
        true => Ok(web),
        false => Err(CliError::usage(format!(
            "--web: `{}` has no index.html",
            text::visible(&directory.display().to_string())
        ))
        .with_hint("`npm run build` in `web` writes `web/dist`")),
    }
}

/// A link that signs one browser in; the plain address if no one can sign in.
fn link(api: &Api, url: Option<&str>) -> Option<String> {
    let url = url?;
    let code = api
        .tokens()
        .browsers()
        .and_then(|browsers| browsers.issue_code().ok());
    Some(match code {
        Some(code) => format!("{url}/ui/#code={code}"),
        None => format!("{url}/ui/"),
    })
}

/// Prints a line for every call that begins to wait for a person, for as long as the subscription is kept. The lines go through a
/// thread, because a call must not wait for the reader of stderr.
fn announce_questions(
    crib: &Crib,
    lines: Option<&SyncSender<String>>,
    announced: &Announced,
) -> Option<EventSubscription> {
    let sender = lines?.clone();
    let url = crib.config().server_url();
    let announced = Arc::clone(announced);
    Some(crib.registry().on_event(move |call, event| {
        if let EventKind::Approval {
            status,
            id: Some(id),
            reason,
        } = &event.kind
            && status == "pending"
        {
            let why = reason.as_deref().unwrap_or_default();
            let line = waits(&call.tool, &call.caller, why, id, url.as_deref());
            announce(&sender, &announced, id, line);
        }
    }))
}

/// The questions that have a line already.
type Announced = Arc<Mutex<HashSet<String>>>;

/// The thread that prints lines about questions, if they are to be printed.
fn lines(output: &Output) -> Option<SyncSender<String>> {
    if output.quiet() {
        return None;
    }
    let (sender, lines) = mpsc::sync_channel::<String>(MAX_QUESTIONS);
    std::thread::spawn(move || {
        for line in lines {
            let _ = writeln!(std::io::stderr().lock(), "{line}");
        }
    });
    Some(sender)
}

/// Prints a line for every question of another process of the home, too.
fn announce_others(
    crib: &Crib,
    lines: SyncSender<String>,
    announced: Announced,
) -> Box<dyn FnMut(&Queued) + Send> {
    let url = crib.config().server_url();
    Box::new(move |queued| {
        let request = &queued.request;
        let (tool, id) = (&request.tool, &request.id);
        let line = waits(tool, &request.caller, &request.reason, id, url.as_deref());
        announce(&lines, &announced, id, line);
    })
}

fn announce(lines: &SyncSender<String>, announced: &Announced, id: &str, line: String) {
    let mut announced = announced.lock().unwrap_or_else(PoisonError::into_inner);
    if announced.len() > MAX_ANNOUNCED {
        announced.clear();
    }
    if announced.insert(id.to_owned()) {
        // Of more questions than anybody reads, `toolcrib approvals` knows.
        let _ = lines.try_send(line);
    }
}

/// The line about a question.
fn waits(tool: &str, caller: &Caller, why: &str, id: &str, url: Option<&str>) -> String {
    let short = &id[id.len().saturating_sub(8)..];
    let link = url.map_or_else(String::new, |url| format!(", or {url}/ui/approvals/{id}"));
    format!(
        "`{}` of {caller} waits for approval ({}): toolcrib approvals approve {short}{link}",
        text::visible(tool),
        text::visible(&text::shorten(why, 200)),
    )
}

/// The access log and traces, as the settings want them.
fn observer(settings: &ServerSettings, crib: &Crib, output: &Output) -> Result<Observer, CliError> {
    let telemetry = crib.config().telemetry();
    let telemetry = telemetry
        .endpoint
        .map(|endpoint| Telemetry::new(&endpoint, &telemetry.service))
        .transpose()
        .map_err(CliError::usage)?;
    Ok(Observer::new(ObserverOptions {
        access_log: match output.quiet() {
            true => AccessLog::Off,
            false => settings.access_log,
        },
        time: Some(local_time::second),
        sink: Sink::default(),
        telemetry,
    }))
}

fn bind(args: &ServeArgs, settings: &ServerSettings, output: &Output) -> Result<Server, CliError> {
    let certificate = settings.certificate.as_ref();
    let tls = certificate
        .map(|files| Tls::open(&files.certificate, &files.key))
        .transpose();
    if let Ok(Some(key)) = tls
        .as_ref()
        .map(|tls| tls.as_ref().and_then(Tls::exposed_key))
    {
        let key = quoted(key);
        let warning = format!(
            "every user of this machine can use the private key {key}: `chmod o= {key}`, or get another one if it was seen"
        );
        output.say(&format!("{} {warning}", output.bold("warning:")));
    }
    // A socket without an address means: no access from the network.
    let only_socket = args.socket.is_some() && args.addr.is_none();
    let inherited = toolcrib::sandbox::inherited_sockets().map_err(ListenError::Inherited);
    if inherited.as_ref().is_ok_and(|passed| !passed.is_empty())
        && (args.addr.is_some() || args.socket.is_some())
    {
        let message = "the service manager passed sockets on (LISTEN_FDS), so `--addr` and `--socket` cannot be followed";
        return Err(CliError::usage(message).with_hint("leave them out, or the `.socket` unit"));
    }
    tls.and_then(|tls| {
        Server::bind(ListenOptions {
            inherited: inherited?,
            addr: (!only_socket).then_some(settings.addr),
            socket: settings.socket.clone(),
            tls,
            plaintext: settings.plaintext,
            limits: Limits {
                max_connections: settings.max_connections,
                head: settings.header_timeout,
                idle: settings.idle_timeout,
                write: settings.write_timeout,
            },
        })
    })
    .map_err(|error| match hint(&error) {
        Some(hint) => CliError::usage(error.to_string()).with_hint(hint),
        None => CliError::usage(error.to_string()),
    })
}

/// What helps a server that cannot listen.
fn hint(error: &ListenError) -> Option<String> {
    let hint = match error {
        ListenError::Address { source, .. } => match source.kind() {
            ErrorKind::AddrInUse => "`toolcrib serve --addr 127.0.0.1:0` picks a free port",
            ErrorKind::AddrNotAvailable => "the address must be one of this machine",
            ErrorKind::PermissionDenied => "ports below 1024 are for root; choose a higher one",
            _ => return None,
        },
        ListenError::Plaintext(address) => {
            let port = address.port();
            return Some(format!(
                "`toolcrib serve --addr 127.0.0.1:{port}` is for this machine only"
            ));
        }
        ListenError::Socket { path, source } => match (source.kind(), path.parent()) {
            (ErrorKind::NotFound, Some(directory)) => {
                let directory = quoted(directory);
                return Some(format!("make its directory first: `mkdir -p {directory}`"));
            }
            _ => return None,
        },
        ListenError::Certificate { .. } => {
            "`toolcrib config show` says where the setting comes from; it wants a PEM file"
        }
        ListenError::Inherited(_) => "the `.socket` unit says what is passed on",
        ListenError::Nowhere => return None,
    };
    Some(hint.to_owned())
}

/// A path as one word of a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

/// Says what is odd, and what to do about it.
fn warn(crib: &Crib, output: &Output) {
    let warn = |warning: &str| output.say(&format!("{} {warning}", output.bold("warning:")));
    if crib.workspace_path().is_none() {
        warn(
            "there is no workspace, so tools for files and programs cannot run; start it in the directory of a project or with --workspace DIR",
        );
    }
}

/// Says where it listens and what to do next.
fn tell(
    server: &Server,
    settings: &ServerSettings,
    crib: &Crib,
    has_file: bool,
    link: Option<&str>,
    output: &Output,
) {
    let token = crib.home().join("token");
    if output.json() {
        output.ndjson(&json!({
            "url": server.url(),
            "socket": server.socket(),
            "ui": link,
            "tokenFile": has_file.then_some(&token),
            "pid": std::process::id(),
        }));
    }
    let url = server.url();
    if let Some(url) = &url {
        output.error_line(&format!("listening on {url}"));
    }
    if let Some(socket) = server.socket() {
        output.error_line(&format!("listening on unix:{}", socket.display()));
    }
    let shown = match has_file {
        true => format!("$(cat {})", quoted(&token)),
        false => "$TOOLCRIB_TOKEN".to_owned(),
    };
    let reach = match (&url, server.socket()) {
        (Some(url), _) => match &settings.certificate {
            // A certificate made for this server alone is in no list.
            Some(files) => format!("--cacert {} {url}", quoted(&files.certificate)),
            None => url.clone(),
        },
        (None, Some(socket)) => format!("--unix-socket {} http://localhost", quoted(socket)),
        (None, None) => return,
    };
    output.say("");
    if let Some(workspace) = crib.workspace_path() {
        output.say(&format!("works in         {}", workspace.display()));
    }
    if let Some(link) = link {
        output.say(&format!("in a browser     {link}"));
        output.say("                 signs one browser in, within ten minutes; `toolcrib ui` opens another");
    }
    output.say(&format!(
        "tools            curl -H \"Authorization: Bearer {shown}\" {reach}/tools"
    ));
    if let Some(url) = &url {
        output.say(&format!("API docs         {url}/api/docs"));
        output.say(&format!("MCP clients      {url}/mcp"));
    }
    output.say("tokens           toolcrib clients add NAME makes a token for a program");
    output.say("approvals        toolcrib approvals list");
    output.say("Ctrl-C stops it");
}

/// Opens a link in a browser; where there is none, prints it.
pub(super) async fn open(url: &str, output: &Output) {
    let opener = match cfg!(target_os = "macos") {
        true => "open",
        false => "xdg-open",
    };
    let mut command = Command::new(opener);
    command
        .arg(url)
        // A browser has no use for it.
        .env_remove("TOOLCRIB_TOKEN")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // Its own thread, as some openers last as long as the browser; it waits, so that none is left as a zombie.
    let (send, ended) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let _ = send.send(command.status());
    });
    let why = match ended.await {
        Ok(Ok(status)) if status.success() => return,
        Ok(Ok(status)) => status.to_string(),
        Ok(Err(error)) => error.to_string(),
        Err(_) => return,
    };
    output.say(&format!(
        "cannot open a browser (`{opener}`: {why}); open {url} yourself"
    ));
}
