//! What a legacy server asks its client: answered by the owner's [`ServerRequests`](super::ServerRequests) where it is declared, refused where it is not.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::form::fill_in_defaults;
use super::request_table::{Talk, lock};
use crate::protocol::ClientCapabilities;
use crate::rpc::{Id, RpcError, code};
use crate::weight;

/// How many questions of a server are under way at once; more are refused.
const MAX_QUESTIONS: usize = 32;

/// The questions under way, by the server's ids.
#[derive(Default)]
pub(super) struct Questions(Mutex<HashMap<Id, CancellationToken>>);

impl Questions {
    /// The server does not want to know any more.
    pub(super) fn taken_back(&self, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            request_id: Id,
        }
        if let Some(Ok(params)) = params.map(|raw| serde_json::from_str::<Params>(raw.get()))
            && let Some(question) = lock(&self.0).remove(&params.request_id)
        {
            question.cancel();
        }
    }

    pub(super) fn end(&self) {
        for (_, question) in lock(&self.0).drain() {
            question.cancel();
        }
    }

    fn begin(&self, id: &Id) -> Result<CancellationToken, RpcError> {
        let mut questions = lock(&self.0);
        if questions.len() >= MAX_QUESTIONS {
            return Err(RpcError::new(
                code::INTERNAL_ERROR,
                format!("{MAX_QUESTIONS} questions are under way already"),
            ));
        }
        if questions.contains_key(id) {
            return Err(RpcError::new(
                code::INVALID_REQUEST,
                "a question with this id is under way already",
            ));
        }
        let token = CancellationToken::new();
        questions.insert(id.clone(), token.clone());
        Ok(token)
    }
}

impl Talk {
    /// Takes a question in and sees that it is answered.
    pub(super) fn asked(
        self: &Arc<Self>,
        id: Id,
        method: String,
        params: Option<&RawValue>,
        call: Option<u64>,
    ) {
        // A modern server must not ask, and must not be answered.
        if self.era().is_modern() {
            return;
        }
        let begun = match params {
            Some(raw) if weight::is_over(weight::MAX_QUESTION, raw.get()) => Err(
                RpcError::invalid_params("the question would take more than 2 MB of memory"),
            ),
            _ => self.questions.begin(&id),
        };
        // A flood of questions that are refused is not worth a task each.
        let token = match begun {
            Ok(token) => token,
            Err(error) => return self.refuse_at_once(&id, &error),
        };
        let params = match params.map(|raw| serde_json::from_str(raw.get())) {
            Some(Ok(params)) => params,
            Some(Err(_)) | None => Value::Null,
        };
        let talk = self.clone();
        tokio::spawn(async move {
            let answered = async {
                let answer = talk.answer(method, params, call).await;
                talk.tell(&reply(&id, answer)).await;
            };
            tokio::select! {
                () = answered => {}
                () = token.cancelled() => {}
                () = talk.stop.cancelled() => {}
            }
            lock(&talk.questions.0).remove(&id);
        });
    }

    async fn answer(
        &self,
        method: String,
        params: Value,
        call: Option<u64>,
    ) -> Result<Value, RpcError> {
        if method == "ping" {
            return Ok(json!({}));
        }
        admit(&self.options.capabilities, &method, &params)?;
        let Some(asked) = &self.options.asked else {
            return Err(not_found(&method));
        };
        let schema = match self.options.form_defaults && method == "elicitation/create" {
            true => params.get("requestedSchema").cloned(),
            false => None,
        };
        let mut answer = asked.asked(method, params, call).await?;
        if let Some(schema) = schema
            && answer["action"] == "accept"
            && let Some(answer) = answer.as_object_mut()
            && let Some(content) = answer
                .entry("content")
                .or_insert_with(|| json!({}))
                .as_object_mut()
        {
            fill_in_defaults(&schema, content);
        }
        Ok(answer)
    }

    fn refuse_at_once(self: &Arc<Self>, id: &Id, error: &RpcError) {
        if let super::request_table::Wire::Pipes(pipes) = &self.wire {
            pipes.try_carry(reply(id, Err(error.clone())).to_string().into());
        }
    }
}

fn reply(id: &Id, answer: Result<Value, RpcError>) -> Value {
    match answer {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
    }
}

/// Lets a question pass that was declared to be answered.
fn admit(declared: &ClientCapabilities, method: &str, params: &Value) -> Result<(), RpcError> {
    let is_declared = match method {
        "elicitation/create" => match (&declared.elicitation, params["mode"].as_str()) {
            (None, _) => false,
            (Some(how), Some("url")) if how.url.is_none() => {
                return Err(RpcError::invalid_params(
                    "a person is asked by an address, which was not declared",
                ));
            }
            (Some(_), Some("url")) => true,
            (Some(_), _) if !declared.asks_with_forms() => {
                return Err(RpcError::invalid_params(
                    "a person is asked with a form, which was not declared",
                ));
            }
            (Some(_), _) => true,
        },
        "sampling/createMessage" => declared.sampling.is_some(),
        "roots/list" => declared.roots.is_some(),
        _ => false,
    };
    match is_declared {
        true => Ok(()),
        false => Err(not_found(method)),
    }
}

fn not_found(method: &str) -> RpcError {
    let shown = super::request_table::cut(method.to_owned(), 100);
    RpcError::new(code::METHOD_NOT_FOUND, format!("unknown method `{shown}`"))
}
