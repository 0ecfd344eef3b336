//! A model's reply in, the messages that answer it out: every call of the reply run through the
//! registry, in parallel, and answered in the model's order.
//!
//! Shapes are [`wire`](crate::wire)'s business; here is only the running. Every call of a reply
//! has an answer: arguments no one can read, unknown tools, refusals and failures are results that
//! say what to do about them. The ids that providers give to calls are kept for the messages; they are not our call ids, since models
//! invent and repeat them.
//!
//! ```
//! # use toolcrib::{FnTool, Registry, answer::{AnswerOptions, answer}};
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! # let registry = Registry::new();
//! # registry.register(FnTool::new("shout", "Shouts", |(), _cx| async { Ok("HEY") })?)?;
//! let reply = serde_json::json!({"role": "assistant", "content": [
//!     {"type": "tool_use", "id": "toolu_1", "name": "shout", "input": {}},
//! ]});
//! let answered = answer(&registry, &reply, None, &AnswerOptions::default()).await?;
//! assert_eq!(answered.messages, [serde_json::json!({"role": "user", "content": [
//!     {"type": "tool_result", "tool_use_id": "toolu_1", "content": "HEY"},
//! ]})]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::approval::Approver;
use crate::call::elicit::Elicitor;
use crate::call::request::CallRequest;
use crate::model::caller::Caller;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::outcome::Outcome;
use crate::model::text;
use crate::poll::all;
use crate::registry::Registry;
use crate::wire::{
    KeepResults, MAX_RESULT_CHARS, ModelCall, ModelReply, ReaderOf, ReplyError, ReplyFormat,
    ResultText, error_text, fit, fits, read_reply, result_text, write_results,
};

/// How many calls of a reply run at once, unless said otherwise.
pub const PARALLEL: usize = 16;

/// How many calls of a reply are made, unless said otherwise.
pub const MAX_CALLS: usize = 1000;

/// How the calls of a reply are made.
#[derive(Clone)]
pub struct AnswerOptions {
    /// The caller.
    pub caller: Caller,
    /// Approves calls that need approval, instead of the registry's approver.
    pub approver: Option<Arc<dyn Approver>>,
    /// Answers questions of upstream servers' tools, if set.
    pub elicitor: Option<Arc<dyn Elicitor>>,
    /// How many calls run at once.
    pub parallel: usize,
    /// How many calls of one reply are made; those behind are answered as not made.
    pub max_calls: usize,
    /// The session they belong to, for grants that last as long, if not the registry's.
    pub session: Option<String>,
    /// Cancels them all; each is answered all the same.
    pub cancel: Option<CancellationToken>,
    /// The names of the tools that the model was given: another is not found, whatever there is.
    /// `None` for every tool.
    pub offered: Option<Arc<[String]>>,
    /// The most characters of one result, where nothing keeps what is left out.
    pub max_chars: usize,
    /// Keeps the whole of results that are too long for a model, and says how long that is.
    pub results: Option<Arc<dyn KeepResults>>,
}

impl Default for AnswerOptions {
    fn default() -> Self {
        AnswerOptions {
            caller: Caller::Library,
            approver: None,
            elicitor: None,
            parallel: PARALLEL,
            max_calls: MAX_CALLS,
            session: None,
            cancel: None,
            offered: None,
            max_chars: MAX_RESULT_CHARS,
            results: None,
        }
    }
}

impl fmt::Debug for AnswerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerOptions")
            .field("caller", &self.caller)
            .field("parallel", &self.parallel)
            .field("offered", &self.offered)
            .finish_non_exhaustive()
    }
}

/// The answer to a reply.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Answered {
    /// Whose reply it was.
    pub provider: String,
    /// The messages to append to the conversation, in order; none if the reply has no calls.
    pub messages: Vec<Value>,
    /// What became of each call, in the model's order.
    pub calls: Vec<AnsweredCall>,
}

/// What became of one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnsweredCall {
    /// The provider's id of it, if it gave one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The tool, as the model named it.
    pub tool: String,
    /// The id of the call here, if it came to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// Whether it succeeded.
    pub ok: bool,
    /// The code of its error, if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// What happens to a call while a reply is answered.
#[derive(Debug)]
pub enum Progress<'a> {
    /// It is about to be made.
    Begun(&'a ModelCall),
    /// It is over.
    Ended(&'a ModelCall, &'a ResultText),
}

/// Answers a reply; without a format, whose it is is found out from it. The text of a reply is read by
/// [`read_strict`](crate::model::json::read_strict), as the command and the server do it: of two values of one name no one knows
/// which was meant.
pub async fn answer(
    registry: &Registry,
    reply: &Value,
    format: Option<ReplyFormat>,
    options: &AnswerOptions,
) -> Result<Answered, ReplyError> {
    let reply = read_reply(reply, format)?;
    let approver = options.approver.as_ref();
    let run = |request: CallRequest| async move {
        let request = match approver {
            Some(approver) => request.approver(Arc::clone(approver)),
            None => request,
        };
        Ok(registry.execute(request).await)
    };
    Ok(answer_with(reply, options, run, |_| ()).await)
}

/// Answers a reply by calls that `run` makes; `watch` hears of each. For callers that do not call the registry directly;
/// the error of a call that was not made is its result.
pub async fn answer_with<R, F>(
    reply: ModelReply,
    options: &AnswerOptions,
    run: R,
    watch: impl Fn(Progress<'_>),
) -> Answered
where
    R: Fn(CallRequest) -> F,
    F: Future<Output = Result<Outcome, ToolError>>,
{
    let (run, watch) = (&run, &watch);
    let calls = reply.calls.into_iter().enumerate();
    let running = calls.map(|(place, call)| async move {
        watch(Progress::Begun(&call));
        let (result, call_id, code) = match request(place, &call, options) {
            Ok(request) => match run(request).await {
                Ok(outcome) => {
                    let id = Some(outcome.call_id.to_string());
                    let code = outcome.error().map(ToolError::code);
                    (fitted(outcome, options).await, id, code)
                }
                Err(error) => failed(&error, options),
            },
            Err(error) => failed(&error, options),
        };
        watch(Progress::Ended(&call, &result));
        let answered = AnsweredCall {
            id: call.id.clone(),
            tool: call.name.clone(),
            call_id,
            ok: !result.failed,
            code: code.map(|code| code.as_str().to_owned()),
        };
        (place, answered, (call, result))
    });
    // As each ends, so that one that waits for a person holds up no more than itself.
    let mut done = all(running, options.parallel).await;
    done.sort_unstable_by_key(|(place, ..)| *place);
    let (mut calls, mut answers) = (Vec::new(), Vec::new());
    for (_, answered, answer) in done {
        calls.push(answered);
        answers.push(answer);
    }
    Answered {
        provider: reply.format.as_str().to_owned(),
        messages: write_results(reply.format, &answers),
        calls,
    }
}

/// What a model reads of an outcome: all of it, or as much as fits and how to read the rest.
async fn fitted(outcome: Outcome, options: &AnswerOptions) -> ResultText {
    let Some(results) = &options.results else {
        return result_text(&outcome, options.max_chars);
    };
    if fits(&outcome, results.max_tokens(), ReaderOf::Text) {
        return result_text(&outcome, usize::MAX);
    }
    let (results, caller) = (Arc::clone(results), options.caller.clone());
    let most = options.max_chars;
    let fitting = tokio::task::spawn_blocking(move || {
        let read_on = results.keep(&outcome, &caller);
        let fitted = fit(
            outcome,
            results.max_tokens(),
            ReaderOf::Text,
            None,
            &read_on,
        );
        let mut result = result_text(&fitted.outcome, usize::MAX);
        result.text.push('\n');
        result.text.push_str(&fitted.note);
        result
    });
    fitting.await.unwrap_or_else(|error| {
        let message = format!("the result cannot be shown: {error}");
        error_text(&ToolError::new(ErrorCode::Internal, message), most)
    })
}

fn failed(
    error: &ToolError,
    options: &AnswerOptions,
) -> (ResultText, Option<String>, Option<ErrorCode>) {
    (
        error_text(error, options.max_chars),
        None,
        Some(error.code()),
    )
}

fn request(
    place: usize,
    call: &ModelCall,
    options: &AnswerOptions,
) -> Result<CallRequest, ToolError> {
    let most = options.max_calls;
    if place >= most {
        let message = format!("not run: of one reply, {most} calls are made at most");
        return Err(ToolError::new(ErrorCode::RateLimited, message));
    }
    if let Some(offered) = &options.offered
        && !call.name.is_empty()
        && !offered.contains(&call.name)
    {
        return Err(not_offered(&call.name, offered));
    }
    let mut request = CallRequest::new(&call.name)
        .args(call.arguments.clone()?)
        .caller(options.caller.clone());
    request.session.clone_from(&options.session);
    request.cancel.clone_from(&options.cancel);
    Ok(match &options.elicitor {
        Some(elicitor) => request.elicitor(Arc::clone(elicitor)),
        None => request,
    })
}

fn not_offered(name: &str, offered: &[String]) -> ToolError {
    let shown = text::visible(&text::shorten(name, 64)).into_owned();
    let near = text::nearest(name, offered.iter().map(String::as_str));
    let message = match near.as_slice() {
        [] => format!("tool not found: `{shown}` is none of the tools on offer here"),
        near => format!(
            "tool not found: `{shown}`; did you mean {}?",
            text::or_list(near)
        ),
    };
    ToolError::new(ErrorCode::ToolNotFound, message)
}
