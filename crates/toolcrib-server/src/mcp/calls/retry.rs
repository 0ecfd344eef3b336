//! Questions as answers, since 2026-07-28: [`ask`] gives them to a client, [`answer`] takes what it brings back.
//!
//! What a client brings back is an attacker's until its seal is good: a state that is forged, too old, of another principal, tool or
//! arguments is an error, and so is one whose questions were answered before. None of them runs anything, and no state begins a call,
//! but for one: where the process that had the call is gone, so that its approval has to be asked for again.

use std::collections::HashMap;

use jiff::Timestamp;
use serde_json::{Value, json};
use toolcrib::approval::{AnswerError, Queued};
use toolcrib_mcp::protocol::{Era, Input, InputRequest};
use toolcrib_mcp::rpc::{RpcError, code};
use toolcrib_mcp::server::Reply;

use super::client_approver::Question;
use super::follow;
use super::form::{self, Said};
use super::pending::Detached;
use super::seal::{BadState, Sealed, State};
use crate::mcp::CribHost;

/// How long a state counts whose question does not say how long it does, in seconds.
const EXPIRES: i64 = 300;

/// What a client has answered.
#[derive(Debug, Default)]
pub(super) struct Answered {
    /// The call that it was asked about, if it was.
    pub(super) call: Option<String>,
    /// The questions that are decided, by its answers or by someone else's.
    pub(super) ids: Vec<String>,
    /// The questions that it dismissed.
    pub(super) dismissed: Vec<String>,
    /// Problems of the answers to others, by question.
    pub(super) problems: HashMap<String, String>,
    /// A call that another process has, which now goes on there.
    pub(super) elsewhere: Option<String>,
    /// If the call that it was asked about is not there any more, it has been: another one is not made for this.
    pub(super) is_spent: bool,
}

/// Puts questions about a call to a client, as the answer to its request.
pub(super) async fn ask(
    host: &CribHost,
    call: &Detached,
    questions: &[Question],
    before: &Answered,
    era: Era,
) -> Result<Reply, RpcError> {
    let now = Timestamp::now().as_second();
    let mut sealed = Vec::with_capacity(questions.len());
    let mut requests = Vec::with_capacity(questions.len());
    for (at, question) in questions.iter().enumerate() {
        let word = match question {
            Question::Approval(_) => "approval",
            Question::Tool(_) => "question",
        };
        let key = match at {
            0 => word.to_owned(),
            at => format!("{word}-{}", at + 1),
        };
        let problem = before.problems.get(question.id()).map(String::as_str);
        let params = match question {
            Question::Approval(question) => form::params(question, problem, era),
            Question::Tool(question) => form::passed_on(&question.asked),
        };
        let request = InputRequest {
            method: "elicitation/create".to_owned(),
            params: Some(params),
        };
        requests.push((key.clone(), request));
        let approval = question.approval();
        sealed.push(Sealed {
            key,
            id: question.id().to_owned(),
            digest: approval.map(|question| question.args_digest.clone()),
        });
    }
    let ends = questions.iter().filter_map(Question::approval);
    let ends = ends.filter_map(|question| question.expires_at);
    let state = State {
        request: call.request().to_owned(),
        call: call.id().to_string(),
        questions: sealed,
        expires: ends.min().map_or(now + EXPIRES, Timestamp::as_second),
    };
    let seal = host.calls.seal(&host.crib).await?;
    host.calls.given_out.add(&state.call, state.expires, now);
    let state = seal.close(&state).ok_or_else(|| {
        RpcError::new(
            code::INTERNAL_ERROR,
            "the question cannot be sealed: a bug in Toolcrib",
        )
    })?;
    Ok(Reply::input_required(requests, Some(state)))
}

/// Puts a client's answers into the queue.
pub(super) async fn answer(
    host: &CribHost,
    request: &str,
    input: Input,
    principal: &str,
) -> Result<Answered, RpcError> {
    // The state may be from elsewhere: from pipes, or from a time with other settings.
    if !input.responses.is_empty() && !host.takes_answers_of(principal) {
        return Err(RpcError::invalid_params(
            "answers of this client count for nothing here: approvals are given with `toolcrib approvals`, or through a client that was made with `toolcrib clients add NAME --elicitation`. Call again without `inputResponses` and `requestState`",
        ));
    }
    let Some(text) = input.state else {
        return match input.responses.is_empty() {
            true => Ok(Answered::default()),
            false => Err(RpcError::invalid_params(
                "`inputResponses` without the `requestState` that came with the questions answer nothing; call again without both to be asked",
            )),
        };
    };
    let seal = host.calls.seal(&host.crib).await?;
    let state = seal
        .open(&text, request, Timestamp::now().as_second())
        .map_err(refused)?;
    // What a tool wants to know dies with its call; an approval may be asked for again, if it was no call of ours.
    let is_of_tool = state.questions.iter().any(|one| one.digest.is_none());
    let mut answered = Answered {
        is_spent: is_of_tool || host.calls.given_out.has(&state.call),
        call: Some(state.call.clone()),
        ..Answered::default()
    };
    for question in &state.questions {
        let Some(result) = input.responses.get(&question.key) else {
            continue;
        };
        let Some(digest) = &question.digest else {
            tell_tool(host, &state.call, &question.id, result)?;
            answered.ids.push(question.id.clone());
            continue;
        };
        let queued = show(host, &question.id).await?;
        let response = match form::answer(result, &queued.request) {
            Ok(Said::Answer(response)) => response,
            Ok(Said::Nothing) => {
                answered.dismissed.push(question.id.clone());
                continue;
            }
            Err(why) => {
                answered.problems.insert(question.id.clone(), why);
                continue;
            }
        };
        match follow::answer(host, &question.id, digest, response).await {
            Ok(()) => {
                answered.ids.push(question.id.clone());
                if queued.waiting && host.calls.pending.running(&state.call).is_none() {
                    answered.elsewhere = Some(state.call.clone());
                }
            }
            Err(AnswerError::BadEdit(error)) => {
                let why = error.message().to_owned();
                answered.problems.insert(question.id.clone(), why);
            }
            Err(AnswerError::Decided { by, .. }) if by == form::BY => {
                return Err(used());
            }
            // Someone else was faster: what came of it is the answer, also if the call has not heard of it yet.
            Err(AnswerError::Decided { .. }) => {
                answered.is_spent = true;
                answered.ids.push(question.id.clone());
            }
            // The call is asked about again.
            Err(AnswerError::Withdrawn | AnswerError::Changed { .. }) => {}
            Err(AnswerError::Expired | AnswerError::NotFound { .. }) => {
                return Err(refused(BadState::Expired));
            }
            Err(
                error @ (AnswerError::WrongDigest
                | AnswerError::Ambiguous { .. }
                | AnswerError::Damaged(_)
                | AnswerError::Storage(_)),
            ) => return Err(RpcError::new(code::INTERNAL_ERROR, error.to_string())),
        }
    }
    Ok(answered)
}

/// Gives a tool the answer to its question. A call that is over has no use for it: what came of it is the answer, if it is there still.
fn tell_tool(host: &CribHost, call: &str, id: &str, result: &Value) -> Result<(), RpcError> {
    if !result.get("action").is_some_and(Value::is_string) {
        return Err(RpcError::invalid_params(
            "an answer has an `action`: `accept`, `decline` or `cancel`",
        ));
    }
    let Some(call) = host.calls.pending.running(call) else {
        return Ok(());
    };
    let open = call.asking.open();
    let question = open.into_iter().find(|question| question.id() == id);
    match question {
        Some(Question::Tool(question)) if question.answer(Some(result.clone())) => Ok(()),
        _ => Err(used()),
    }
}

pub(super) fn used() -> RpcError {
    RpcError::invalid_params(
        "`requestState` was used before, and counts once; call again without it to pick the call up, or to make another one",
    )
}

async fn show(host: &CribHost, id: &str) -> Result<Queued, RpcError> {
    let (queue, id) = (host.crib.approvals().clone(), id.to_owned());
    let shown = tokio::task::spawn_blocking(move || queue.show(&id)).await;
    match shown {
        Ok(Ok(queued)) => Ok(queued),
        Ok(Err(AnswerError::NotFound { .. })) => Err(refused(BadState::Expired)),
        Ok(Err(error)) => Err(RpcError::new(code::INTERNAL_ERROR, error.to_string())),
        Err(error) => Err(RpcError::new(code::INTERNAL_ERROR, error.to_string())),
    }
}

fn refused(why: BadState) -> RpcError {
    let reason = match why {
        BadState::Forged => "forged",
        BadState::Expired => "expired",
        BadState::OfAnother => "other-request",
    };
    let data: Value = json!({"requestState": reason});
    RpcError::invalid_params(why.to_string()).with_data(data)
}
