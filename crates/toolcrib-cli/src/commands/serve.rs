//! `toolcrib serve`: the server, until it is asked to stop.
//!
//! Everything it answers is in `toolcrib-server`; here it is set up, announced to other processes of the home, and stopped.

use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;
use toolcrib::config::ServerSettings;
use toolcrib::crib::{Approvals, OpenError};
use toolcrib::{Crib, CribOptions, ErrorCode, ToolError};
use toolcrib_server::auth::{Clients, Hosts, Tokens};
use toolcrib_server::listen::{self, Limits, ListenOptions, Server, Stopping, Tls};
use toolcrib_server::observe::{Observer, ObserverOptions, Sink, Telemetry};
use toolcrib_server::running::{RunningServer, Servers, settings_digest};
use toolcrib_server::{Api, ApiOptions};

use super::{Done, opened, warn_of_files, warn_of_store};
use crate::args::{Global, ServeArgs};
use crate::failure::CliError;
use crate::output::Output;
use crate::signals::Stops;

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
    // Whatever blocks a thread now is nobody's answer any more.
    runtime.shutdown_background();
    served
}

/// Like those of every command, but that nobody's terminal is the session of its calls.
fn options(global: &Global) -> CribOptions {
    let mut options = CribOptions::default().approvals(Approvals::Queue { wait: None });
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
    .map_err(OpenError::Config)?;
    if let Some(socket) = &args.socket {
        let absolute = std::path::absolute(socket)
            .map_err(|error| CliError::usage(format!("--socket: {error}")))?;
        settings.socket = Some(absolute);
    }
    Ok(settings)
}

async fn run(
    args: &ServeArgs,
    settings: &ServerSettings,
    crib: Arc<Crib>,
    output: &Output,
) -> Done {
    let mut stops = Stops::listen();
    let server = bind(args, settings)?;
    let given = std::env::var("TOOLCRIB_TOKEN").ok();
    let has_file = given.is_none();
    let tokens = Tokens::open(crib.home(), given, Clients::of_home(crib.home()))
        .map_err(|error| CliError::usage(error.to_string()))?;
    let (hosts, origins) = (settings.hosts.clone(), settings.origins.clone());
    let hosts = Hosts::new(hosts, origins, server.address())
        .map_err(|error| CliError::usage(error.to_string()))?;
    let observer = observer(settings, &crib)?;
    let options = ApiOptions {
        tokens,
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
    });
    if let Err(error) = &announced {
        let warning = "other commands will not find this server by its home";
        output.say(&format!("{} {warning}: {error}", output.bold("warning:")));
    }
    tell(&server, &crib, has_file, output);
    if args.open {
        open(&server, output);
    }
    let stopping = Stopping {
        grace: settings.shutdown,
        ..Stopping::default()
    };
    let asked = async {
        stops.next().await;
        output.say(&output.dim("stopping; once more to stop at once"));
        stopping.finish.cancel();
        stops.next().await;
        stopping.cancel.cancel();
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = server.serve(api, stopping.clone()) => {}
        () = asked => {}
    }
    drop(announced);
    // What happened is told to the end, by whoever is slow to listen not for long.
    let _ = tokio::task::spawn_blocking(move || observer.flush(FLUSH)).await;
    Ok(ExitCode::SUCCESS)
}

/// The access log and traces, as the settings want them.
fn observer(settings: &ServerSettings, crib: &Crib) -> Result<Observer, CliError> {
    let telemetry = crib.config().telemetry();
    let telemetry = telemetry
        .endpoint
        .map(|endpoint| Telemetry::new(&endpoint, &telemetry.service))
        .transpose()
        .map_err(CliError::usage)?;
    Ok(Observer::new(ObserverOptions {
        access_log: settings.access_log,
        sink: Sink::default(),
        telemetry,
    }))
}

fn bind(args: &ServeArgs, settings: &ServerSettings) -> Result<Server, CliError> {
    let certificate = settings.certificate.as_ref();
    let tls = certificate
        .map(|files| Tls::open(&files.certificate, &files.key))
        .transpose();
    if let Ok(Some(key)) = tls
        .as_ref()
        .map(|tls| tls.as_ref().and_then(Tls::exposed_key))
    {
        eprintln!(
            "warning: every user of this machine may use the key `{}` and pass for this server: `chmod 600` it, or get another one if it was seen",
            key.display()
        );
    }
    // Whoever names a socket and no address wants nobody on the network.
    let only_socket = args.socket.is_some() && args.addr.is_none();
    tls.and_then(|tls| {
        Server::bind(ListenOptions {
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
    .map_err(|error| {
        CliError::usage(error.to_string())
            .with_hint("`toolcrib serve --addr 127.0.0.1:0` takes a port that is free")
    })
}

/// Says where it listens and what to do next.
fn tell(server: &Server, crib: &Crib, has_file: bool, output: &Output) {
    let token = crib.home().join("token");
    if output.json() {
        output.ndjson(&json!({
            "url": server.url(),
            "socket": server.socket(),
            "tokenFile": has_file.then_some(&token),
            "pid": std::process::id(),
        }));
    }
    let url = server.url();
    if let Some(url) = &url {
        output.say(&format!("listening on {url}"));
    }
    if let Some(socket) = server.socket() {
        output.say(&format!("listening on unix:{}", socket.display()));
    }
    let shown = match has_file {
        true => format!("$(cat '{}')", token.display()),
        false => "$TOOLCRIB_TOKEN".to_owned(),
    };
    let reach = match (&url, server.socket()) {
        (Some(url), _) => url.clone(),
        (None, Some(socket)) => format!("--unix-socket '{}' http://localhost", socket.display()),
        (None, None) => return,
    };
    output.say("");
    output.say(&format!(
        "what there is    curl -H \"Authorization: Bearer {shown}\" {reach}/tools"
    ));
    if let Some(url) = &url {
        output.say(&format!("how it is used   {url}/api/docs"));
    }
    output.say("who may call     toolcrib clients add NAME makes a token for a program");
    output.say("what waits       toolcrib approvals list");
    output.say("Ctrl-C stops it");
}

/// Shows the server in a browser; whoever has none reads the address.
fn open(server: &Server, output: &Output) {
    let Some(url) = server.url() else {
        output.say("there is no address to open in a browser: leave --socket out");
        return;
    };
    let opener = match cfg!(target_os = "macos") {
        true => "open",
        false => "xdg-open",
    };
    let started = Command::new(opener)
        .arg(&url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if let Err(error) = started {
        output.say(&format!(
            "cannot open a browser with `{opener}`: {error}; open {url} yourself"
        ));
    }
}
