//! `toolcrib approvals`: calls waiting for approval, and the answers to them.

mod watch;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use jiff::Timestamp;
use toolcrib::approval::{AnswerError, ApprovalRequest, ApprovalResponse, Queued, Status};
use toolcrib::model::{JsonObject, text};
use toolcrib::{CallRequest, Crib, ErrorCode, Plan, ToolError, Verdict};
use toolcrib_server::client::{Ask, ClientError};

use super::run::read_json;
use super::{Done, caller_word, notifying, opened, options};
use crate::args::{ApprovalsCommand, ApproveArgs, Global};
use crate::coerce;
use crate::duration;
use crate::failure::CliError;
use crate::ids::short;
use crate::output::Output;
use crate::prompt::{
    Extent, Line, Page, Paint, Terminal, Wake, arguments, describe_under, item, settled_in_words,
    whoami,
};
use crate::remote::{Backend, DamagedFiles, is_segment};
use crate::remote::{answer_body, cause, look_up_at};

pub(super) fn approvals(
    command: &ApprovalsCommand,
    backend: Backend,
    global: &Global,
    output: &Output,
) -> Done {
    match command {
        ApprovalsCommand::List { all, status } => {
            let only = match status {
                Some(word) => Some(word.as_str()),
                None if *all => None,
                None => Some(Status::Pending.as_str()),
            };
            let (requests, damaged) = list(only, &backend)?;
            damaged.warn("cannot be read", output);
            print_list(&requests, only == Some(Status::Pending.as_str()), output);
        }
        ApprovalsCommand::Show { id } => show(&find(id, &backend)?, output),
        ApprovalsCommand::Approve(args) => return approve(args, &backend, global, output),
        ApprovalsCommand::Deny { id, reason } => {
            let mut response = ApprovalResponse::deny(whoami(), "");
            response.reason = reason.clone().filter(|reason| !reason.is_empty());
            let queued = waiting(id, &backend)?;
            answered(&answer(&queued, &response, &backend)?, None, output);
        }
        ApprovalsCommand::Notify { channel } => {
            return notifying::try_channels(channel.as_deref(), &backend, output);
        }
        ApprovalsCommand::Watch => return watch::watch(backend, global, output),
    }
    Ok(ExitCode::SUCCESS)
}

fn list(only: Option<&str>, backend: &Backend) -> Result<(Vec<Queued>, DamagedFiles), CliError> {
    let path = match only {
        Some(status) => format!("/api/approvals?pageSize=500&status={status}"),
        None => "/api/approvals?pageSize=500".to_owned(),
    };
    backend.pages(&path, "approvals")
}

fn find(id: &str, backend: &Backend) -> Result<Queued, CliError> {
    if !is_segment(id) {
        return Err(not_found(id));
    }
    let path = format!("/api/approvals/{}", Ask::encoded(id));
    let found = backend.wait_raw(backend.client.get_as(&path));
    found.map_err(|error| unanswered(error, id, backend))
}

/// Answers a request as it was shown.
fn answer(
    queued: &Queued,
    response: &ApprovalResponse,
    backend: &Backend,
) -> Result<Queued, CliError> {
    let id = &queued.request.id;
    let path = format!("/api/approvals/{}", Ask::encoded(id));
    let body = answer_body(&queued.request.args_digest, response);
    let answered = backend.client.json_as(Ask::post(path, &body));
    let answered = backend.wait_raw(answered);
    answered.map_err(|error| unanswered(error, id, backend))
}

/// The shortest part of an id that means one.
const MIN_PART: usize = 4;

/// The whole id of the one request that waits and has this part: the person may not have meant the request that is decided. Any other text
/// stays what it is.
fn meant(part: &str, pending: &[Queued]) -> String {
    let wanted = part.trim().to_ascii_lowercase();
    let ids = pending.iter().map(|queued| queued.request.id.as_str());
    let mut found = ids.filter(|id| id.starts_with(&wanted) || id.ends_with(&wanted));
    match (found.next(), found.next()) {
        (Some(id), None) if wanted.len() >= MIN_PART => id.to_owned(),
        (_, _) => part.to_owned(),
    }
}

/// The request that is answered: of those with this part in their ids, the one that waits.
fn waiting(part: &str, backend: &Backend) -> Result<Queued, CliError> {
    let (pending, _) = list(Some(Status::Pending.as_str()), backend)?;
    find(&meant(part, &pending), backend)
}

/// Why a request cannot be shown or answered, and what to type next.
fn unanswered(error: ClientError, id: &str, backend: &Backend) -> CliError {
    let ClientError::Refused {
        status,
        error: refused,
    } = error
    else {
        return backend.failed(&error);
    };
    let details = refused.details();
    let has = |detail: &str| details.is_some_and(|all| all.contains_key(detail));
    let reason = details.and_then(|all| all.get("reason")?.as_str());
    let shown = text::shorten(id, 64);
    let (code, hint) = match status {
        404 => return not_found(id),
        400 => (ErrorCode::Usage, ALL.to_owned()),
        409 if has("changed") => (
            ErrorCode::Conflict,
            "`toolcrib approvals list` shows the new request, with what changed".to_owned(),
        ),
        409 if reason == Some("wrong-digest") && !has("by") => (
            ErrorCode::Conflict,
            format!("`toolcrib approvals show {shown}` shows it as it is now"),
        ),
        409 => (
            ErrorCode::Conflict,
            format!("`toolcrib approvals show {shown}` shows its result"),
        ),
        410 => (
            ErrorCode::ApprovalExpired,
            format!("`toolcrib approvals show {shown}` shows its result"),
        ),
        422 => return bad_edit(cause(*refused), id),
        _ => {
            return backend.failed(&ClientError::Refused {
                status,
                error: refused,
            });
        }
    };
    CliError::from(ToolError::new(code, refused.message())).with_hint(hint)
}

/// What to type where an id is none, or not one alone.
const ALL: &str = "`toolcrib approvals list --all` shows all of them, including decided ones";

fn not_found(id: &str) -> CliError {
    let error = AnswerError::NotFound { id: id.to_owned() };
    CliError::from(ToolError::from(error)).with_hint(ALL)
}

/// Why edited arguments are not taken.
fn bad_edit(error: ToolError, id: &str) -> CliError {
    let id = text::shorten(id, 64);
    let hint = match error.code() {
        ErrorCode::Conflict => format!("the request stays open: `toolcrib approvals approve {id}`"),
        _ => format!("the request stays open; `toolcrib approvals show {id}` shows its arguments"),
    };
    // The arguments do not fit, whether the server or the crib says so; a rule's refusal is different.
    let does_not_fit = matches!(
        error.code(),
        ErrorCode::InvalidPath | ErrorCode::PermissionDenied
    );
    let failed = CliError::from(error).with_hint(hint);
    match does_not_fit {
        true => failed.exiting(ErrorCode::InvalidArguments.exit_code()),
        false => failed,
    }
}

fn page(output: &Output) -> Page {
    Page {
        extent: Extent::Whole,
        columns: output.page_columns(),
        paint: Paint(output.colours_stdout()),
    }
}

/// For what is one line, unless it would not fit on the terminal.
fn line_page(output: &Output) -> Page {
    Page {
        columns: output.columns(),
        ..page(output)
    }
}

/// Prints requests; `pending` are only those that can be answered.
fn print_list(requests: &[Queued], pending: bool, output: &Output) {
    if output.json() {
        output.document(&requests);
        return;
    }
    if requests.is_empty() && !output.plain() {
        output.say(match pending {
            true => "no calls are waiting for approval",
            false => "there are no such requests",
        });
        return;
    }
    let rows: Vec<Vec<String>> = requests
        .iter()
        .map(|queued| {
            let request = &queued.request;
            let id = if output.plain() {
                request.id.as_str()
            } else {
                short(&request.id)
            };
            vec![
                id.to_owned(),
                request.tool.clone(),
                standing(queued),
                ago(request.created_at),
                remaining(queued),
                in_one_line(&request.effect, output),
            ]
        })
        .collect();
    output.table(
        &["ID", "TOOL", "STATUS", "SINCE", "EXPIRES IN", "EFFECT"],
        &rows,
    );
}

/// Where a request is, in a word or two.
fn standing(queued: &Queued) -> String {
    let answer = queued.answer.as_ref();
    // The call shown beside it is the one that was asked about, not the one that runs.
    let edited = match answer.is_some_and(|answer| answer.modified_args.is_some()) {
        true => ", edited",
        false => "",
    };
    let gone = match (queued.status, queued.waiting) {
        (Status::Pending | Status::Approved, false) => ", caller gone",
        _ => "",
    };
    format!("{}{edited}{gone}", queued.status.as_str())
}

fn ago(then: Timestamp) -> String {
    let since = Duration::try_from(Timestamp::now().duration_since(then)).unwrap_or_default();
    duration::in_words(since)
}

fn remaining(queued: &Queued) -> String {
    let left = queued.remaining_ms.map(Duration::from_millis);
    left.map_or("-".to_owned(), duration::in_words)
}

/// An effect as a cell of a table: whole where nothing may be shortened.
fn in_one_line(effect: &str, output: &Output) -> String {
    match output.plain() {
        true => effect.to_owned(),
        false => text::shorten(effect, 200),
    }
}

fn show(queued: &Queued, output: &Output) {
    if output.json() {
        output.document(queued);
        return;
    }
    let request = &queued.request;
    let visible = |text: &str| text::visible(text).replace('\n', " ");
    output.line(&format!(
        "{}  {}",
        output.heading(&visible(&request.tool)),
        match queued.status {
            Status::Pending => output.doubtful(&settled_in_words(queued)),
            Status::Approved | Status::Used => output.good(&settled_in_words(queued)),
            Status::Denied | Status::Expired | Status::Withdrawn | Status::Replaced =>
                output.bad(&settled_in_words(queued)),
        }
    ));
    let caller = caller_word(&request.caller);
    let mut facts = vec![
        ("id", request.id.clone()),
        ("call", format!("{} by {caller}", request.call_id)),
    ];

    facts.extend(request.workspace.clone().map(|workspace| ("in", workspace)));
    facts.push(("since", ago(request.created_at)));
    if queued.remaining_ms.is_some() {
        facts.push(("left", remaining(queued)));
    }
    if queued.status == Status::Pending && !queued.waiting {
        let gone = "gone; repeating the call uses the answer";
        facts.push(("caller", gone.to_owned()));
    }
    for line in describe_under(&facts, request, page(output)).lines {
        output.line(&line);
    }
    let edited = queued
        .answer
        .as_ref()
        .and_then(|answer| answer.modified_args.as_ref());
    if let Some(edited) = edited {
        output.line("");
        output.line("approved with");
        for line in arguments(edited, None, None, page(output)).lines {
            output.line(&line);
        }
    }
}

fn approve(args: &ApproveArgs, backend: &Backend, global: &Global, output: &Output) -> Done {
    let mut response = ApprovalResponse::approve(whoami());
    response.reason = args.reason.clone().filter(|reason| !reason.is_empty());
    let queued = waiting(&args.id, backend)?;
    if args.args.is_some() || !args.pairs.is_empty() {
        let request = &queued.request;
        let other = match backend.crib() {
            Some(crib) => crib_of(request, crib, global, output)?,
            None => None,
        };
        let other = other.map(Backend::here).transpose()?;
        let judge = other.as_ref().unwrap_or(backend);
        let edited = edited(args, request, judge, global, output)?;
        response.modified_args = Some(edited.clone());
        let mut plan = None;
        if let Some(crib) = judge.crib() {
            crib.registry()
                .check_answer(request, &response)
                .map_err(|error| bad_edit(error, &request.id))?;
            let call = CallRequest::new(&request.tool)
                .args(edited)
                .caller(request.caller.clone());
            // Where a secret is masked, or the tool is another program's, only the caller can tell.
            plan = crib.registry().plan(call).ok();
        }
        if let Some(plan) = &plan
            && plan.verdict == Verdict::Ask
            && !confirmed(plan, global, output)?
        {
            output.say("the request stays open");
            return Ok(ExitCode::from(ErrorCode::ApprovalDenied.exit_code()));
        }
        let queued = answer(&queued, &response, judge)?;
        answered(&queued, plan.as_ref(), output);
        return Ok(ExitCode::SUCCESS);
    }
    answered(&answer(&queued, &response, backend)?, None, output);
    Ok(ExitCode::SUCCESS)
}

/// Shows what the edited call would do and asks whether that is meant, where there is someone to ask.
fn confirmed(plan: &Plan, global: &Global, output: &Output) -> Result<bool, CliError> {
    let asks = !global.no_input && !output.json();
    let terminal = asks
        .then(|| Terminal::find(output.colours_terminal()))
        .flatten();
    let Some(terminal) = terminal else {
        return Ok(true);
    };
    let page = Page {
        extent: Extent::Screen(terminal.rows()),
        columns: terminal.columns(),
        paint: Paint(terminal.colour()),
    };
    let (effect, diff) = (Some(plan.effect.as_str()), plan.diff.as_deref());
    for line in arguments(&plan.parameters, effect, diff, page).lines {
        terminal.say(&line);
    }
    let wake = Wake::new()
        .map_err(|error| ToolError::new(ErrorCode::Internal, format!("cannot ask: {error}")))?;
    let _attention = terminal.attend();
    loop {
        match terminal.ask("Approve it with these arguments? (y/n) ", &wake) {
            Line::Text(word) => match word.trim().to_lowercase().as_str() {
                "y" | "yes" => return Ok(true),
                "n" | "no" => return Ok(false),
                _ => terminal.say("type y or n"),
            },
            Line::End | Line::Woken => return Ok(false),
        }
    }
}

/// The crib of the workspace that a request is about, where that is another one: its paths and rules are judged there.
fn crib_of(
    request: &ApprovalRequest,
    crib: &Crib,
    global: &Global,
    output: &Output,
) -> Result<Option<Crib>, CliError> {
    let Some(workspace) = request.workspace.as_deref().map(Path::new) else {
        return Ok(None);
    };
    if crib.workspace_path() == Some(workspace) {
        return Ok(None);
    }
    opened(options(global).workspace(workspace), output).map(Some)
}

/// The arguments of a request with what was typed put over them.
fn edited(
    args: &ApproveArgs,
    request: &ApprovalRequest,
    backend: &Backend,
    global: &Global,
    output: &Output,
) -> Result<JsonObject, CliError> {
    let base = match &args.args {
        Some(word) => read_json(word, global, output)?,
        None => request.args.clone(),
    };
    let found = backend.wait_raw(look_up_at(&request.tool, &backend.client));
    let spec = found.as_ref().ok().map(|found| &found.spec);
    coerce::arguments(base, &args.pairs, spec).map_err(|error| {
        let hint = format!("`toolcrib show {}` lists the parameters", request.tool);
        CliError::usage(error.message).with_hint(hint)
    })
}

/// Says what was answered; `plan` is what an edited call does instead.
fn answered(queued: &Queued, plan: Option<&Plan>, output: &Output) {
    if output.json() {
        output.document(queued);
        return;
    }
    let request = &queued.request;
    let (word, coloured) = match queued.status {
        Status::Denied => ("denied", output.bad("denied")),
        // The call may have run already.
        Status::Pending
        | Status::Approved
        | Status::Used
        | Status::Expired
        | Status::Withdrawn
        | Status::Replaced => ("approved", output.good("approved")),
    };
    let edited = queued
        .answer
        .as_ref()
        .and_then(|answer| answer.modified_args.as_ref());
    let effect = match (plan, edited) {
        (Some(plan), _) => plan.effect.as_str(),
        (None, Some(_)) => "with other arguments",
        (None, None) => request.effect.as_str(),
    };
    let mark = format!("{word} {}: ", short(&request.id));
    for line in item(&mark, &text::shorten(effect, 400), line_page(output)) {
        match line.strip_prefix(word) {
            Some(rest) => output.line(&format!("{coloured}{rest}")),
            None => output.line(&line),
        }
    }
    if let Some(edited) = edited {
        let diff = plan.and_then(|plan| plan.diff.as_deref());
        for line in arguments(edited, None, diff, page(output)).lines {
            output.line(&line);
        }
    }
    if queued.status == Status::Approved && !queued.waiting {
        let left = remaining(queued);
        output.say(&output.dim(&format!(
            "its caller is gone; the same call made within {left} runs without asking"
        )));
    }
}
