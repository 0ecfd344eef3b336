//! `toolcrib mcp`: the tools for one MCP client, on stdin and stdout.
//!
//! The host is in `toolcrib-server`, the protocol in `toolcrib-mcp`; this module opens a crib, takes the pipes and listens to signals.
//! One thread does it all: a message is read, judged, answered and written without changing hands.

mod pipes;

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use toolcrib::crib::Approvals;
use toolcrib::model::text;
use toolcrib::{Caller, Crib, CribOptions, ErrorCode, ToolError};
use toolcrib_mcp::server::{Server, StdioOptions};
use toolcrib_server::auth::{Clients, ClientsError};
use toolcrib_server::mcp::{CribHost, HostOptions};

use super::{Done, notifying, opened};
use crate::args::{Global, McpArgs};
use crate::failure::CliError;
use crate::output::Output;
use crate::signals::Stops;

/// How often it is looked whether the client is still one.
const LOOK_AT_CLIENT: Duration = Duration::from_secs(2);

pub(super) fn mcp(args: &McpArgs, global: &Global, output: &Output) -> Done {
    if output.json() {
        let message = "stdout carries the protocol here, which is JSON anyway";
        return Err(CliError::usage(message).with_hint("leave --json out"));
    }
    let crib = Arc::new(opened(options(global), output)?);
    let bundles = bundles(&args.bundles, &crib)?;
    let clients = Clients::of_home(crib.home());
    let caller = caller(args.client.as_deref(), &clients)?;
    if std::io::stdin().is_terminal() {
        output.error_line(
            "this speaks MCP with a program on stdin and stdout; MCP clients start it themselves (`toolcrib mcp --help`). Ctrl-D ends it",
        );
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(cannot_start)?;
    // The program that starts this belongs to the person: it is asked, whatever name it has.
    let options = HostOptions {
        bundles,
        ..HostOptions::default()
    };
    let host = CribHost::new(Arc::clone(&crib), options);
    let _notifier = notifying::start(&crib, None)?;
    let served = runtime.block_on(run(host, &caller, &clients, output));
    // Whatever blocks a thread now is no one's answer any more.
    runtime.shutdown_background();
    served
}

fn cannot_start(error: std::io::Error) -> ToolError {
    ToolError::new(ErrorCode::Internal, format!("cannot start: {error}"))
}

/// Like those of a server: no one's terminal is the session of its calls.
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

/// The bundles to serve. One that no one has is an error before anything is served.
pub(super) fn bundles(named: &[String], crib: &Crib) -> Result<Vec<String>, CliError> {
    let has_tools = |name: &str| {
        let entries = crib.registry().all_entries();
        entries
            .iter()
            .any(|entry| entry.spec().bundle.as_str() == name)
    };
    for name in named {
        match crib.bundle(name) {
            Err(error) if !has_tools(name) => {
                let hint = "`toolcrib bundle list --all` lists them";
                return Err(CliError::from(error).with_hint(hint));
            }
            _ => {}
        }
    }
    Ok(named.to_vec())
}

/// The caller.
pub(super) fn caller(client: Option<&str>, clients: &Clients) -> Result<Caller, CliError> {
    let Some(name) = client else {
        return Ok(Caller::Mcp);
    };
    match clients.caller(name)? {
        Some(caller) => Ok(Caller::Client(caller)),
        None => {
            let shown = text::visible(name);
            let hint = format!("`toolcrib clients add {shown}` makes it");
            Err(CliError::from(ClientsError::Unknown(name.to_owned())).with_hint(hint))
        }
    }
}

async fn run(host: Arc<CribHost>, caller: &Caller, clients: &Clients, output: &Output) -> Done {
    let mut stops = Stops::listen();
    // From here on nothing else of this process reaches stdout.
    let (input, answers, reader) = pipes::take().map_err(cannot_start)?;
    let server = Server::new(Arc::clone(&host) as _);
    for dropped in host.left_out() {
        let (tool, why) = (text::visible(&dropped.tool), text::visible(&dropped.reason));
        output.say(&format!("`{tool}` is not offered: {why}"));
    }
    let mut options = StdioOptions::new(caller.to_string());
    options.stopping = CancellationToken::new();
    let stopping = options.stopping.clone();
    let asked = async {
        stops.next().await;
        stopping.cancel();
        stops.next().await;
    };
    let removed = async {
        until_removed(caller, clients).await;
        output.say("the client was removed: it is served no longer");
        stopping.cancel();
        std::future::pending::<()>().await;
    };
    // A client that died may have left its end of stdin to its own child.
    let left = async {
        reader.gone().await;
        stopping.cancel();
        std::future::pending::<()>().await;
    };
    let served = tokio::select! {
        served = server.serve_stdio(input, answers, options) => served,
        () = Arc::clone(&host).follow(server.clone()) => Ok(()),
        () = removed => Ok(()),
        () = left => Ok(()),
        // Asked twice: who waits for nothing gets nothing.
        () = asked => Ok(()),
    };
    // A client that went away left its calls.
    host.finish().await;
    match served {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            let message = format!("cannot talk to the client: {error}");
            Err(ToolError::new(ErrorCode::Internal, message).into())
        }
    }
}

/// Resolves when the client that calls has disconnected.
async fn until_removed(caller: &Caller, clients: &Clients) {
    let Caller::Client(name) = caller else {
        return std::future::pending().await;
    };
    loop {
        tokio::time::sleep(LOOK_AT_CLIENT).await;
        if let Ok(None) = clients.caller(name) {
            return;
        }
    }
}
