//! Answering a model's reply: every call in it made, and the messages that say what they came to.

use std::sync::Arc;

use futures_util::FutureExt as _;
use http::{Method, StatusCode};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::json;
use toolcrib::answer::{AnswerOptions, Answered, answer_with};
use toolcrib::wire::{ReplyFormat, UnknownChoice, read_reply};
use toolcrib::{CallRequest, ErrorCode, ToolError};

use super::calls::{Approvals, CallWish, make_one};
use super::read_aside;
use crate::api::{Answer, Api, ApiRequest, Refusal, Route, Who, json_response, param};

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    let route = Route::new(
        Method::POST,
        "/api/answer/{provider}",
        Who::Caller,
        |api, asked| answer(api, asked).boxed(),
    );
    let route = route
        .named(
            "answer",
            "calls",
            "Makes the calls that a model's reply asks for, and gives the messages that answer it.",
        )
        .about(
            "Send the provider's answer as it came, the message in it, the conversation that it ends, or just the list of calls; \
             pieces of a stream are merged first. All calls run at once, up to 16 of them, and are answered in the model's order. \
             Every call is answered: what cannot be read, is refused or fails is a result that says what to do. So the answer is 200 \
             whatever the calls returned; `calls` reports each of them. A call that needs a person's approval waits until it is \
             answered or expires. A reply without calls has no messages. The calls end when the connection goes.",
        )
        .param(param::path(
            "provider",
            "Whose reply it is: `auto`, `openai`, `openai-responses`, `anthropic`, `ollama` or `gemini`.",
        ))
        .param(param::query(
            "approvals",
            "The approver of calls that need approval: people (`wait`), or no one, because only calls approved before run (`given`), or \
             because the operator, who sends the request, agrees (`yes`).",
            approvals,
        ))
        .takes::<ReplyBody>("The reply.", || {
            json!({"role": "assistant", "content": [
                {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "README.md"}}]})
        })
        .answers::<Answered>(200, "The messages to append to the conversation, and what became of each call.")
        .refuses(400, "The body is not a reply of this provider, or could be from several.")
        .refuses(403, "`approvals=yes` is for the operator.")
        .refuses(404, "There is no such provider.");
    vec![route]
}

fn approvals(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"enum": ["wait", "given", "yes"], "default": "wait"})
}

/// A model's reply, for the documentation.
struct ReplyBody;

impl JsonSchema for ReplyBody {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ModelReply".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "a reply as the provider sends it, the message in it, a conversation, or a list of calls",
            "anyOf": [
                {"type": "object", "description": "a reply, or the message in it"},
                {"type": "array", "items": {}, "description": "a conversation, or a list of calls"},
            ],
        })
    }
}

async fn answer(api: Api, asked: ApiRequest) -> Answer {
    let format = ReplyFormat::parse_or_auto(asked.path.get("provider"))
        .map_err(|error| Refusal::new(ErrorCode::NotFound, UnknownChoice::to_string(&error)))?;
    let approvals = match asked.query.text("approvals") {
        None | Some("wait") => Approvals::Wait,
        Some("given") => Approvals::Given,
        Some("yes") => {
            asked.needs_operator("`approvals=yes`")?;
            Approvals::Yes
        }
        Some(_) => {
            let message = "`approvals` is `wait`, `given` or `yes`";
            return Err(Refusal::usage(message));
        }
    };
    let (asked, reply) = read_aside(asked, move |asked| {
        Ok(read_reply(&asked.value()?, format).map_err(ToolError::from)?)
    })
    .await?;
    let options = AnswerOptions {
        caller: asked.caller()?,
        results: Some(Arc::new(api.crib().results().clone())),
        ..AnswerOptions::default()
    };
    let run = |request: CallRequest| {
        let wanted = CallWish {
            request,
            approvals,
            cancel_on_disconnect: true,
            note: asked.note.clone(),
        };
        make_one(&api, &asked.principal, wanted)
    };
    let answered = answer_with(reply, &options, run, |_| ()).await;
    Ok(json_response(StatusCode::OK, &answered))
}
