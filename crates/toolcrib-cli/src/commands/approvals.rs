//! `toolcrib approvals`: what waits for a person, and the answers.

mod watch;

pub(super) use watch::{end_on_interrupt, print_change};

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use jiff::Timestamp;
use toolcrib::approval::{AnswerError, ApprovalRequest, ApprovalResponse, Queued, Status};
use toolcrib::model::{JsonObject, text};
use toolcrib::{CallRequest, Crib, ErrorCode, Plan, ToolError, Verdict};

use super::run::read_json;
use super::{Done, caller_word, open, opened, options};
use crate::args::{ApprovalsCommand, ApproveArgs, Global};
use crate::coerce;
use crate::duration;
use crate::failure::CliError;
use crate::output::Output;
use crate::prompt::{
    Extent, Line, Page, Paint, Terminal, Wake, arguments, describe_under, item, settled_in_words,
    short, whoami,
};

pub(super) fn approvals(command: &ApprovalsCommand, global: &Global, output: &Output) -> Done {
    let crib = open(global, output)?;
    match command {
        ApprovalsCommand::List { all, status } => list(*all, status.as_deref(), &crib, output),
        ApprovalsCommand::Show { id } => {
            show(&find(id, &crib)?, output);
            Ok(ExitCode::SUCCESS)
        }
        ApprovalsCommand::Approve(args) => approve(args, crib, global, output),
        ApprovalsCommand::Deny { id, reason } => {
            let mut response = ApprovalResponse::deny(whoami(), "");
            response.reason = reason.clone().filter(|reason| !reason.is_empty());
            let id = &waiting(id, &crib)?;
            let queued = crib.answer(id, None, response);
            let queued = queued.map_err(|error| unanswered(error, id))?;
            answered(&queued, None, output);
            Ok(ExitCode::SUCCESS)
        }
        ApprovalsCommand::Watch => watch::watch(crib, global, output),
    }
}

fn find(id: &str, crib: &Crib) -> Result<Queued, CliError> {
    crib.approvals()
        .show(id)
        .map_err(|error| unanswered(error, id))
}

/// The shortest part of an id that means one.
const MIN_PART: usize = 4;

/// The whole id of the one request that waits and has this part: what is decided cannot be meant by whoever answers. Any other text
/// stays what it is.
pub(super) fn meant(part: &str, pending: &[Queued]) -> String {
    let wanted = part.trim().to_ascii_lowercase();
    let ids = pending.iter().map(|queued| queued.request.id.as_str());
    let mut found = ids.filter(|id| id.starts_with(&wanted) || id.ends_with(&wanted));
    match (found.next(), found.next()) {
        (Some(id), None) if wanted.len() >= MIN_PART => id.to_owned(),
        (_, _) => part.to_owned(),
    }
}

fn waiting(part: &str, crib: &Crib) -> Result<String, CliError> {
    let pending = crib.approvals().list(Some(Status::Pending));
    Ok(meant(part, &pending.map_err(ToolError::from)?.requests))
}

/// Why a request cannot be shown or answered, and what to type next.
fn unanswered(error: AnswerError, id: &str) -> CliError {
    let id = text::shorten(id, 64);
    let hint = match &error {
        AnswerError::NotFound { .. } | AnswerError::Ambiguous { .. } => {
            "`toolcrib approvals list --all` shows all of them, also what is decided".to_owned()
        }
        AnswerError::Changed { .. } => {
            "`toolcrib approvals list` shows the new request, with what changed".to_owned()
        }
        AnswerError::Decided { .. } | AnswerError::Withdrawn | AnswerError::Expired => {
            format!("`toolcrib approvals show {id}` shows what became of it")
        }
        AnswerError::WrongDigest => format!("`toolcrib approvals show {id}` shows it as it is now"),
        AnswerError::BadEdit(error) if error.code() == ErrorCode::Conflict => {
            format!("the request stays open: `toolcrib approvals approve {id}`")
        }
        AnswerError::BadEdit(_) => {
            format!("the request stays open; `toolcrib approvals show {id}` shows its arguments")
        }
        AnswerError::Damaged(_) | AnswerError::Storage(_) => {
            return ToolError::from(error).into();
        }
    };
    // The arguments do not fit, whoever says so; only a rule's refusal is another thing.
    let does_not_fit = matches!(&error, AnswerError::BadEdit(error)
        if matches!(error.code(), ErrorCode::InvalidPath | ErrorCode::PermissionDenied));
    let failed = CliError::from(ToolError::from(error)).with_hint(hint);
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

fn list(all: bool, status: Option<&str>, crib: &Crib, output: &Output) -> Done {
    let only = match status {
        Some(word) => Status::ALL
            .into_iter()
            .find(|status| status.as_str() == word),
        None if all => None,
        None => Some(Status::Pending),
    };
    let listing = crib.approvals().list(only).map_err(ToolError::from)?;
    for damaged in &listing.damaged {
        output.say(&format!(
            "{} `{}` cannot be read: {}",
            output.bold("warning:"),
            text::visible(&damaged.file),
            text::visible(&damaged.problem)
        ));
    }
    print_list(&listing.requests, only == Some(Status::Pending), output);
    Ok(ExitCode::SUCCESS)
}

/// Prints requests; `pending` are only those that can be answered.
pub(super) fn print_list(requests: &[Queued], pending: bool, output: &Output) {
    if output.json() {
        output.document(&requests);
        return;
    }
    if requests.is_empty() && !output.plain() {
        output.say(match pending {
            true => "nothing waits for an answer",
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

/// Where a request stands, in a word or two.
fn standing(queued: &Queued) -> String {
    let answer = queued.answer.as_ref();
    // What is told about the call beside it is what was asked, not what runs.
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

pub(super) fn show(queued: &Queued, output: &Output) {
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
        ("call", format!("{} by {caller}", request.step_id)),
    ];
    facts.extend(request.workspace.clone().map(|workspace| ("in", workspace)));
    facts.push(("since", ago(request.created_at)));
    if queued.remaining_ms.is_some() {
        facts.push(("left", remaining(queued)));
    }
    if queued.status == Status::Pending && !queued.waiting {
        let gone = "gone; the same call made again takes the answer up";
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

fn approve(args: &ApproveArgs, crib: Crib, global: &Global, output: &Output) -> Done {
    let mut response = ApprovalResponse::approve(whoami());
    response.reason = args.reason.clone().filter(|reason| !reason.is_empty());
    let (mut digest, mut plan) = (None, None);
    let id = waiting(&args.id, &crib)?;
    let mut crib = crib;
    if args.args.is_some() || !args.pairs.is_empty() {
        let Queued { request, .. } = find(&id, &crib)?;
        if let Some(other) = crib_of(&request, &crib, global, output)? {
            crib = other;
        }
        let edited = edited(args, &request, &crib, global, output)?;
        response.modified_args = Some(edited.clone());
        crib.registry()
            .check_answer(&request, &response)
            .map_err(|error| unanswered(AnswerError::BadEdit(error), &id))?;
        let call = CallRequest::new(&request.tool)
            .args(edited)
            .caller(request.caller.clone());
        // Where a secret is masked, or the tool is another program's, only the caller can tell.
        plan = crib.registry().plan(call).ok();
        if let Some(plan) = &plan
            && plan.verdict == Verdict::Ask
            && !confirmed(plan, global, output)?
        {
            output.say("the request stays open");
            return Ok(ExitCode::from(ErrorCode::ApprovalDenied.exit_code()));
        }
        // Only `--set` builds on what the request says.
        digest = Some(request.args_digest);
    }
    let queued = crib
        .answer(&id, digest.as_deref(), response)
        .map_err(|error| unanswered(error, &id))?;
    answered(&queued, plan.as_ref(), output);
    Ok(ExitCode::SUCCESS)
}

/// Shows what the edited call would do and asks whether that is meant, where there is somebody to ask.
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
    crib: &Crib,
    global: &Global,
    output: &Output,
) -> Result<JsonObject, CliError> {
    let base = match &args.args {
        Some(word) => read_json(word, global, output)?,
        None => request.args.clone(),
    };
    let entry = crib.registry().find(&request.tool).ok();
    let spec = entry.as_ref().map(|entry| entry.spec().as_ref());
    coerce::arguments(base, &args.pairs, spec).map_err(|error| {
        let hint = format!("`toolcrib show {}` lists the parameters", request.tool);
        CliError::usage(error.message).with_hint(hint)
    })
}

/// Says what was answered; `plan` is what an edited call does instead.
pub(super) fn answered(queued: &Queued, plan: Option<&Plan>, output: &Output) {
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
