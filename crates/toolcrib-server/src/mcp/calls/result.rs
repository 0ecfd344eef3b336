//! The results of calls for clients.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib::approval::ApprovalRequest;
use toolcrib::model::text;
use toolcrib::wire::{KeepResults as _, McpOutcome, ReaderOf, fit, fits};
use toolcrib::{Caller, Crib, ErrorCode, McpForm, Outcome, ToolError};
use toolcrib_mcp::protocol::Era;
use toolcrib_mcp::rpc::{RpcError, code};
use toolcrib_mcp::server::{Context, Reply};

use super::form::in_one_line;
use super::pending::Detached;
use crate::api::short_id;
use crate::mcp::CribHost;

/// What most results fit into.
const USUAL: usize = 512;

/// The result that an outcome is, shortened if it is too long; an error of the protocol if there is no such tool.
pub(super) async fn reply(
    host: &CribHost,
    outcome: Arc<Outcome>,
    context: &Context,
) -> Result<Reply, RpcError> {
    // A tool that was found may fail for the lack of another one: that is for the model.
    if let Some(error) = outcome.error()
        && outcome.origin.is_none()
        && is_of_protocol(error)
    {
        return Err(protocol(error));
    }
    let era = context.era;
    let reader = match era.is_modern() {
        true => ReaderOf::Values,
        false => ReaderOf::Objects,
    };
    if fits(&outcome, host.crib.results().max_tokens(), reader) {
        return written(&shaped(&outcome, era));
    }
    let caller: Caller = context.principal.parse().map_err(internal)?;
    let crib = Arc::clone(&host.crib);
    let fitting = tokio::task::spawn_blocking(move || fitted(&crib, outcome, &caller, reader, era));
    fitting.await.map_err(internal)?
}

/// As much of a result as a model takes in, and how to read the rest.
fn fitted(
    crib: &Crib,
    outcome: Arc<Outcome>,
    caller: &Caller,
    reader: ReaderOf,
    era: Era,
) -> Result<Reply, RpcError> {
    let results = crib.results();
    let read_on = results.keep(&outcome, caller);
    let entry = crib.registry().find(&outcome.tool).ok();
    let schema = entry
        .as_ref()
        .and_then(|entry| entry.spec().output_schema.as_deref());
    let outcome = Arc::unwrap_or_clone(outcome);
    let fitted = fit(outcome, results.max_tokens(), reader, schema, &read_on);
    let made = shaped(&fitted.outcome, era).with_note(&fitted.note);
    match fitted.is_broken {
        true => written(&made.without_structure()),
        false => written(&made),
    }
}

fn shaped(outcome: &Outcome, era: Era) -> McpOutcome<'_> {
    match era.is_modern() {
        true => McpOutcome::of(outcome).with_any_structure(),
        false => McpOutcome::of(outcome),
    }
}

fn internal(error: impl std::fmt::Display) -> RpcError {
    RpcError::new(
        code::INTERNAL_ERROR,
        format!("the result cannot be written: {error}"),
    )
}

/// How a call is answered that was not begun: as errors of their code always are.
pub(in crate::mcp) fn refusal(error: &ToolError) -> Result<Reply, RpcError> {
    match is_of_protocol(error) {
        true => Err(protocol(error)),
        false => written(&McpOutcome::of_error(error)),
    }
}

/// The answer to a request that was taken back. Most clients never see it.
pub(in crate::mcp) fn taken_back() -> Result<Reply, RpcError> {
    let message = "the client took the request back";
    refusal(&ToolError::new(ErrorCode::Cancelled, message))
}

fn is_of_protocol(error: &ToolError) -> bool {
    error.code().mcp_form() == McpForm::Protocol
}

fn protocol(error: &ToolError) -> RpcError {
    let message = text::visible(error.message()).into_owned();
    RpcError::invalid_params(message)
        .with_data(json!({"code": error.code(), "details": error.details()}))
}

fn written(outcome: &McpOutcome<'_>) -> Result<Reply, RpcError> {
    let mut body = Vec::with_capacity(USUAL);
    serde_json::to_writer(&mut body, outcome).map_err(internal)?;
    Ok(Reply::complete(body))
}

/// Informs the model that a call waits for a person, and what happens next.
pub(super) fn waiting(call: &Detached, questions: &[Arc<ApprovalRequest>]) -> Reply {
    let mut text = format!(
        "The call {} has not run yet: it waits for a person to approve it.\n",
        short_id(call.id().as_str())
    );
    for question in questions {
        text.push_str(&format!(
            "- `{}` would {}. Asked because: {}. To answer: `toolcrib approvals approve {id}` or `toolcrib approvals deny {id}`{}\n",
            in_one_line(&question.tool),
            text::shorten(&in_one_line(&question.effect), 1000),
            text::shorten(&in_one_line(&question.reason), 1000),
            question.expires_at.map_or(String::new(), |at| format!(", until {at:.0}")),
            id = short_id(&question.id),
        ));
    }
    text.push_str(
        "Tell the person what is waited for. Calling the same tool again with the same arguments joins this call and returns its result once it is decided; no one is asked twice.",
    );
    let approvals: Vec<Value> = questions
        .iter()
        .map(|question| {
            json!({"id": question.id, "tool": question.tool, "reason": question.reason, "expiresAt": question.expires_at})
        })
        .collect();
    told(
        &text,
        json!({"callId": call.id(), "status": "pending", "approvals": approvals}),
    )
}

/// Informs the model that its call runs where its outcome is not available.
pub(super) fn elsewhere(call: &str) -> Reply {
    let text = format!(
        "The answer was taken, and the call {call} goes on in another process of the same home, which has its result: `toolcrib calls show {call}` shows it."
    );
    told(&text, json!({"callId": call, "status": "elsewhere"}))
}

fn told(text: &str, call: Value) -> Reply {
    // `_meta` comes first: the server puts its own beside it.
    let body = format!(
        r#"{{"_meta":{},"content":{},"isError":true}}"#,
        json!({"toolcrib/call": call}),
        json!([{"type": "text", "text": text}]),
    );
    Reply::complete(body)
}
