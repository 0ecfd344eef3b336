//! `toolcrib approvals`: what waits for a person, and the answers.

mod watch;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use jiff::Timestamp;
use toolcrib::approval::{ApprovalRequest, ApprovalResponse, Queued, Status};
use toolcrib::model::{JsonObject, text};
use toolcrib::{Crib, ToolError};

use super::run::read_json;
use super::{Done, caller_word, open, opened, options};
use crate::args::{ApprovalsCommand, ApproveArgs, Global};
use crate::coerce;
use crate::duration;
use crate::failure::CliError;
use crate::output::Output;
use crate::prompt::{Extent, Paint, describe_under, settled_in_words, short, whoami};

pub(super) fn approvals(command: &ApprovalsCommand, global: &Global, output: &Output) -> Done {
    let crib = open(global, output)?;
    match command {
        ApprovalsCommand::List { all, status } => list(*all, status.as_deref(), &crib, output),
        ApprovalsCommand::Show { id } => {
            let queued = crib.approvals().show(id).map_err(ToolError::from)?;
            show(&queued, output);
            Ok(ExitCode::SUCCESS)
        }
        ApprovalsCommand::Approve(args) => approve(args, crib, global, output),
        ApprovalsCommand::Deny { id, reason } => {
            let mut response = ApprovalResponse::deny(whoami(), "");
            response.reason = reason.clone().filter(|reason| !reason.is_empty());
            let queued = crib.answer(id, None, response).map_err(ToolError::from)?;
            answered(&queued, output);
            Ok(ExitCode::SUCCESS)
        }
        ApprovalsCommand::Watch => watch::watch(crib, global, output),
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
    if output.json() {
        output.document(&listing.requests);
        return Ok(ExitCode::SUCCESS);
    }
    if listing.requests.is_empty() && !output.plain() {
        output.say(match only {
            Some(Status::Pending) => "nothing waits for an answer",
            Some(_) | None => "there are no such requests",
        });
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<Vec<String>> = listing
        .requests
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
    Ok(ExitCode::SUCCESS)
}

/// Where a request stands, in a word or two.
fn standing(queued: &Queued) -> String {
    match (queued.status, queued.waiting) {
        (Status::Pending | Status::Approved, false) => {
            format!("{}, caller gone", queued.status.as_str())
        }
        (status, _) => status.as_str().to_owned(),
    }
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
            Status::Denied | Status::Expired | Status::Withdrawn =>
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
    let paint = Paint(output.colours_stdout());
    for line in describe_under(&facts, request, Extent::Whole, paint).lines {
        output.line(&line);
    }
    let edited = queued
        .answer
        .as_ref()
        .and_then(|answer| answer.modified_args.as_ref());
    if let Some(edited) = edited {
        let edited = serde_json::to_string_pretty(edited).unwrap_or_default();
        output.line("");
        output.line(&format!("  approved with  {}", text::visible(&edited)));
    }
}

fn approve(args: &ApproveArgs, crib: Crib, global: &Global, output: &Output) -> Done {
    let mut response = ApprovalResponse::approve(whoami());
    response.reason = args.reason.clone().filter(|reason| !reason.is_empty());
    let mut digest = None;
    let mut crib = crib;
    if args.args.is_some() || !args.pairs.is_empty() {
        let queued = crib.approvals().show(&args.id).map_err(ToolError::from)?;
        if let Some(other) = crib_of(&queued.request, &crib, global, output)? {
            crib = other;
        }
        response.modified_args = Some(edited(args, &queued.request, &crib, global, output)?);
        // Only `--set` builds on what the request says.
        digest = Some(queued.request.args_digest);
    }
    let queued = crib
        .answer(&args.id, digest.as_deref(), response)
        .map_err(ToolError::from)?;
    answered(&queued, output);
    Ok(ExitCode::SUCCESS)
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

fn answered(queued: &Queued, output: &Output) {
    if output.json() {
        output.document(queued);
        return;
    }
    let request = &queued.request;
    let word = match queued.status {
        Status::Denied => output.bad("denied"),
        // The call may have run already.
        Status::Pending | Status::Approved | Status::Used | Status::Expired | Status::Withdrawn => {
            output.good("approved")
        }
    };
    output.line(&format!(
        "{word} {}: {}",
        short(&request.id),
        text::shorten(&request.effect, 400).replace('\n', " ")
    ));
    let edited = queued
        .answer
        .as_ref()
        .and_then(|answer| answer.modified_args.as_ref());
    if let Some(edited) = edited {
        let edited = serde_json::to_string(edited).unwrap_or_default();
        output.line(&format!("  with {}", text::visible(&edited)));
    }
    if queued.status == Status::Approved && !queued.waiting {
        let left = remaining(queued);
        output.say(&output.dim(&format!(
            "its caller is gone; the same call made within {left} runs without asking"
        )));
    }
}
