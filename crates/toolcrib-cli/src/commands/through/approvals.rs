//! `toolcrib approvals` through a server.

use std::collections::{HashMap, HashSet};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use toolcrib::ErrorCode;
use toolcrib::approval::{ApprovalResponse, Queued, Status};
use toolcrib_server::client::{Ask, ClientError};

use super::super::Done;
use super::super::approvals as here;
use super::super::run::read_json;
use crate::args::{ApprovalsCommand, ApproveArgs, Global};
use crate::coerce;
use crate::failure::CliError;
use crate::output::Output;
use crate::prompt::{Desk, Ended, Questions, Screen, Terminal, Whose, whoami};
use crate::remote::{self, Server, ServersQuestions, answer_body, cause, spec_named};

/// How often the questions are looked at.
const EVERY: Duration = Duration::from_millis(500);

pub(super) fn approvals(
    command: &ApprovalsCommand,
    server: Server,
    global: &Global,
    output: &Output,
) -> Done {
    match command {
        ApprovalsCommand::List { all, status } => {
            let only = match status {
                Some(word) => Some(word.as_str()),
                None if *all => None,
                None => Some("pending"),
            };
            here::print_list(&list(&server, only)?, only == Some("pending"), output);
        }
        ApprovalsCommand::Show { id } => here::show(&find(id, &server)?, output),
        ApprovalsCommand::Approve(args) => approve(args, &server, global, output)?,
        ApprovalsCommand::Deny { id, reason } => {
            let mut response = ApprovalResponse::deny(whoami(), "");
            response.reason = reason.clone().filter(|reason| !reason.is_empty());
            let queued = find_waiting(id, &server)?;
            here::answered(&answer(&queued, &response, &server)?, None, output);
        }
        ApprovalsCommand::Watch => return watch(server, global, output),
    }
    Ok(ExitCode::SUCCESS)
}

fn list(server: &Server, only: Option<&str>) -> Result<Vec<Queued>, CliError> {
    let path = match only {
        Some(status) => format!("/api/approvals?pageSize=500&status={status}"),
        None => "/api/approvals?pageSize=500".to_owned(),
    };
    let rows = server.rows(&path, "approvals")?;
    // What a newer server says in other words cannot be shown.
    Ok(rows
        .into_iter()
        .filter_map(|row| serde_json::from_value(row).ok())
        .collect())
}

fn find(id: &str, server: &Server) -> Result<Queued, CliError> {
    let path = format!("/api/approvals/{}", Ask::encoded(id));
    let found = server.runtime.block_on(server.client.get_as(&path));
    found.map_err(|error| unanswered(error, id, server))
}

/// The request that is answered: of those with this part in their ids, the one that waits.
fn find_waiting(id: &str, server: &Server) -> Result<Queued, CliError> {
    find(&here::meant(id, &list(server, Some("pending"))?), server)
}

fn answer(
    queued: &Queued,
    response: &ApprovalResponse,
    server: &Server,
) -> Result<Queued, CliError> {
    let id = &queued.request.id;
    let path = format!("/api/approvals/{}", Ask::encoded(id));
    let body = answer_body(&queued.request.args_digest, response);
    let answered = server.wait_raw(async {
        let value = server.client.post(&path, &body).await?;
        serde_json::from_value(value).map_err(|error| ClientError::Strange {
            server: server.client.address().to_string(),
            why: error.to_string(),
        })
    });
    answered.map_err(|error| unanswered(error, id, server))
}

/// Why a request cannot be shown or answered, and what to type next.
fn unanswered(error: ClientError, id: &str, server: &Server) -> CliError {
    let id = toolcrib::model::text::shorten(id, 64);
    let hint = match error.status() {
        Some(404) => {
            "`toolcrib approvals list --all` shows all of them, also what is decided".to_owned()
        }
        Some(409 | 410) => format!("`toolcrib approvals show {id}` shows what became of it"),
        Some(422) => {
            format!("the request stays open; `toolcrib approvals show {id}` shows its arguments")
        }
        _ => return remote::failed(&error, server.client.address()),
    };
    match error {
        // As on this machine: a wrong word.
        ClientError::Refused { status: 404, .. } => CliError::usage(format!(
            "there is no approval request `{id}`; `toolcrib approvals list` shows them"
        ))
        .with_hint(hint),
        ClientError::Refused { error, .. } => CliError::from(cause(*error)).with_hint(hint),
        other => remote::failed(&other, server.client.address()),
    }
}

fn approve(
    args: &ApproveArgs,
    server: &Server,
    global: &Global,
    output: &Output,
) -> Result<(), CliError> {
    let queued = find_waiting(&args.id, server)?;
    let mut response = ApprovalResponse::approve(whoami());
    response.reason = args.reason.clone().filter(|reason| !reason.is_empty());
    if args.args.is_some() || !args.pairs.is_empty() {
        let request = &queued.request;
        let base = match &args.args {
            Some(word) => read_json(word, global, output)?,
            None => request.args.clone(),
        };
        let spec = spec_named(&request.tool, server)?;
        let edited = coerce::arguments(base, &args.pairs, spec.as_ref()).map_err(|error| {
            let hint = format!("`toolcrib show {}` lists the parameters", request.tool);
            CliError::usage(error.message).with_hint(hint)
        })?;
        response.modified_args = Some(edited);
    }
    here::answered(&answer(&queued, &response, server)?, None, output);
    Ok(())
}

/// Puts the requests to whoever is at the terminal as they come, or prints them.
fn watch(server: Server, global: &Global, output: &Output) -> Done {
    let asks = !output.json() && !output.plain() && !global.no_input;
    let terminal = asks
        .then(|| Terminal::find(output.colours_terminal()))
        .flatten()
        .map(Arc::new);
    let questions: Arc<dyn Questions> = Arc::new(ServersQuestions::of(
        &server.client,
        server.runtime.handle(),
    ));
    let words = match terminal {
        Some(_) => "requests are put to you as they come; Ctrl-C ends the watch",
        None => "watching; Ctrl-C ends it",
    };
    output.say(&output.dim(words));
    let ending = CancellationToken::new();
    let screen = Arc::new(Screen::new());
    let mut seen: HashMap<String, (Status, bool)> = HashMap::new();
    let mut skipped: HashSet<String> = HashSet::new();
    let interrupted = {
        let (ending, screen) = (ending.clone(), Arc::clone(&screen));
        server.runtime.spawn(here::end_on_interrupt(ending, screen))
    };
    let mut is_first = true;
    let code = loop {
        let requests = list(&server, None)?;
        for queued in &requests {
            let now = (queued.status, queued.waiting);
            let before = seen.insert(queued.request.id.clone(), now);
            let is_news = match before {
                None => !is_first || queued.status == Status::Pending,
                Some(before) => before != now,
            };
            if is_news && output.json() {
                output.ndjson(queued);
            } else if is_news && terminal.is_none() {
                here::print_change(queued, output);
            }
        }
        is_first = false;
        let open = requests.iter().find(|queued| {
            queued.status == Status::Pending && !skipped.contains(&queued.request.id)
        });
        if let (Some(terminal), Some(queued)) = (&terminal, open) {
            let desk = Desk {
                questions: Arc::clone(&questions),
                screen: Arc::clone(&screen),
                terminal: Arc::clone(terminal),
                whose: Whose::Another,
            };
            let put = desk.put(queued.request.clone(), &ending);
            match server.runtime.block_on(put) {
                Ended::Quit => break ExitCode::SUCCESS,
                Ended::Skipped => {
                    skipped.insert(queued.request.id.clone());
                }
                Ended::Answered | Ended::Elsewhere => {}
            }
        }
        if ending.is_cancelled() {
            break ExitCode::from(ErrorCode::Cancelled.exit_code());
        }
        if output.has_failed() {
            break ExitCode::SUCCESS;
        }
        let _ = server
            .runtime
            .block_on(async { tokio::time::timeout(EVERY, ending.cancelled()).await });
    };
    interrupted.abort();
    server.runtime.shutdown_background();
    Ok(code)
}
