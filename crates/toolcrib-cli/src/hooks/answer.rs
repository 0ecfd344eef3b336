//! Writing the answer to a hook, in the dialect of its program.
//!
//! Where nothing is decided the answer is `{}`: every program takes that for no answer, and Cursor takes an empty one for a failure.

use serde_json::{Map, Value, json};
use toolcrib::record::HookAnswer;

use super::{Event, HookClient};

/// What a program is answered.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) decision: HookAnswer,
    /// Why, for the person or the model.
    pub(crate) reason: String,
    /// What its tool is to be given instead.
    pub(crate) input: Option<Map<String, Value>>,
    /// Our id of the call.
    pub(crate) call: Option<String>,
}

impl Answer {
    /// No decision.
    pub(crate) fn nothing() -> Self {
        Answer {
            decision: HookAnswer::None,
            reason: String::new(),
            input: None,
            call: None,
        }
    }

    /// The call must not be made.
    pub(crate) fn deny(reason: impl Into<String>) -> Self {
        Answer {
            decision: HookAnswer::Deny,
            reason: reason.into(),
            ..Answer::nothing()
        }
    }
}

/// The answer as the program reads it.
pub(crate) fn answer(client: HookClient, event: &Event, answer: &Answer) -> Value {
    let Answer {
        decision,
        reason,
        input,
        call,
    } = answer;
    // A program that takes *allow* for a mistake is left to its own permissions.
    let decision = match decision {
        HookAnswer::Allow if !client.takes_allow() => HookAnswer::None,
        decision => *decision,
    };
    let word = match decision {
        HookAnswer::None => None,
        decision => Some(decision.as_str()),
    };
    let mut fields = Map::new();
    match client {
        HookClient::ClaudeCode => nested(&mut fields, event, word, reason, input),
        HookClient::Codex => {
            // A changed input is taken with *allow* only, which decides nothing else there.
            let word = match input {
                Some(_) => Some("allow"),
                None => word,
            };
            nested(&mut fields, event, word, reason, input);
        }
        HookClient::Cursor => {
            if let Some(word) = word {
                fields.insert("permission".to_owned(), word.into());
            }
            if matches!(decision, HookAnswer::Deny | HookAnswer::Ask) {
                fields.insert("user_message".to_owned(), reason.as_str().into());
                fields.insert("agent_message".to_owned(), reason.as_str().into());
            }
            if let Some(input) = input {
                fields.insert("updated_input".to_owned(), Value::Object(input.clone()));
            }
        }
        HookClient::Gemini => {
            if let Some(word) = word {
                fields.insert("decision".to_owned(), word.into());
                fields.insert("reason".to_owned(), reason.as_str().into());
            }
            if decision == HookAnswer::Ask {
                fields.insert("systemMessage".to_owned(), reason.as_str().into());
            }
            if let Some(input) = input {
                fields.insert(
                    "hookSpecificOutput".to_owned(),
                    json!({"tool_input": input}),
                );
            }
        }
        HookClient::Copilot => {
            if let Some(word) = word {
                fields.insert("permissionDecision".to_owned(), word.into());
                let reason = reason.as_str().into();
                fields.insert("permissionDecisionReason".to_owned(), reason);
            }
            if let Some(input) = input {
                fields.insert("modifiedArgs".to_owned(), Value::Object(input.clone()));
            }
            // VS Code reads it as Claude Code does.
            if !event.is_camel {
                nested(&mut fields, event, word, reason, input);
            }
        }
        HookClient::Generic => {
            fields.insert("decision".to_owned(), decision.as_str().into());
            if !reason.is_empty() {
                fields.insert("reason".to_owned(), reason.as_str().into());
            }
            if let Some(input) = input {
                fields.insert("args".to_owned(), Value::Object(input.clone()));
            }
            if let Some(call) = call {
                fields.insert("callId".to_owned(), call.as_str().into());
            }
        }
    }
    Value::Object(fields)
}

/// The answer of Claude Code, and of programs that have taken over its format.
fn nested(
    fields: &mut Map<String, Value>,
    event: &Event,
    word: Option<&str>,
    reason: &str,
    input: &Option<Map<String, Value>>,
) {
    if word.is_none() && input.is_none() {
        return;
    }
    let mut output = Map::new();
    output.insert("hookEventName".to_owned(), event.name.as_str().into());
    if let Some(word) = word {
        output.insert("permissionDecision".to_owned(), word.into());
        if !reason.is_empty() {
            let reason = reason.into();
            output.insert("permissionDecisionReason".to_owned(), reason);
        }
    }
    if let Some(input) = input {
        output.insert("updatedInput".to_owned(), Value::Object(input.clone()));
    }
    fields.insert("hookSpecificOutput".to_owned(), Value::Object(output));
}
