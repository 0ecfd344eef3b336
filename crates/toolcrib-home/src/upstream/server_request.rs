//! Questions of servers while they run a tool, passed on to the caller.
//!
//! A server of the earlier protocol asks while its call is under way ([`Questions`] finds the call that is meant); one of the newer answers a call
//! with its questions and is called again with the answers. Either way the call's [`Elicitor`] is asked; where there is none, the call fails and
//! says what was asked. The call's time does not run meanwhile. Other questions (for a model's words, for directories) are
//! refused: nothing of the sort was offered.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use toolcrib_mcp::client::ServerRequests;
use toolcrib_mcp::rpc::{RpcError, code};

use crate::call::context::CallContext;
use crate::call::elicit::Elicitation;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::text;
use crate::secret::SecretStore;

/// The one question that can be passed on.
const ELICIT: &str = "elicitation/create";

/// How long a person has to answer. The call's clock is stopped meanwhile.
const TO_ANSWER: Duration = Duration::from_secs(300);

/// How often a server may ask back in one call, and how often it may be refused: it must not wear people down.
pub(super) const MAX_QUESTIONS: usize = 16;
const MAX_REFUSALS: usize = 2;

/// How a call's questions went so far.
#[derive(Default)]
struct SoFar {
    asked: usize,
    refused: usize,
}

/// The person who is asked about one call.
pub(super) struct Asking {
    pub(super) from: String,
    cx: CallContext,
    /// What no one is shown, though the server may know it.
    secrets: SecretStore,
    /// Ends the call when a question finds no answer.
    pub(super) give_up: CancellationToken,
    unanswered: Mutex<Option<ToolError>>,
    /// Held while a person is asked: one question at a time.
    so_far: tokio::sync::Mutex<SoFar>,
}

impl Asking {
    pub(super) fn new(
        from: String,
        cx: CallContext,
        secrets: SecretStore,
        give_up: CancellationToken,
    ) -> Self {
        Asking {
            from,
            cx,
            secrets,
            give_up,
            unanswered: Mutex::default(),
            so_far: tokio::sync::Mutex::default(),
        }
    }

    /// Asks; the error is what the call ends with.
    pub(super) async fn ask(&self, method: &str, mut params: Value) -> Result<Value, ToolError> {
        self.secrets.masker().mask_value(&mut params);
        if method != ELICIT {
            let message = format!(
                "`{}` asks for `{}`, which was not offered to it",
                self.from,
                text::shorten(&text::visible(method), 80)
            );
            return Err(ToolError::new(ErrorCode::UpstreamError, message));
        }
        let mut so_far = self.so_far.lock().await;
        let too_much = |what: String| {
            let message = format!("the MCP server `{}` {what} in one call", self.from);
            Err(ToolError::new(ErrorCode::UpstreamError, message))
        };
        if so_far.refused >= MAX_REFUSALS {
            return too_much(format!("went on asking after {MAX_REFUSALS} refusals"));
        }
        if so_far.asked >= MAX_QUESTIONS {
            return too_much(format!("asked back {MAX_QUESTIONS} times"));
        }
        so_far.asked += 1;
        // Its capabilities announced forms, and nothing else.
        if params["mode"] == "url" {
            return too_much("asks by an address, which was not offered to it,".to_owned());
        }
        let question = Elicitation {
            from: self.from.clone(),
            params,
        };
        let asked = text::shorten(&text::visible(question.message()), 500);
        let failed = |why: &str| {
            let message = format!(
                "`{}` wants to know something first, and {why}; it asks: {asked}",
                self.from
            );
            ToolError::new(ErrorCode::UpstreamError, message)
                .with_detail("question", question.params.clone())
        };
        let Some(elicitor) = self.cx.elicitor() else {
            // In fields, too: a front end may know who can be.
            let why = "no one can be asked here";
            return Err(failed(why)
                .with_detail("reason", "nobody-to-ask")
                .with_detail("why", why));
        };
        let _wait = self.cx.wait_for_person();
        let asking = tokio::time::timeout(TO_ANSWER, elicitor.elicit(question.clone()));
        // A caller that gives up the call takes the question back: an earlier server's runs on the connection, which goes on.
        match self.give_up.run_until_cancelled(asking).await {
            Some(Ok(Ok(answer))) => {
                so_far.refused += usize::from(answer["action"] != "accept");
                Ok(answer)
            }
            Some(Ok(Err(error))) => Err(failed(&format!("there was no answer ({error})"))),
            None => Err(ToolError::new(
                ErrorCode::Cancelled,
                "the call was cancelled",
            )),
            Some(Err(_)) => {
                let seconds = TO_ANSWER.as_secs();
                Err(failed(&format!("there was no answer within {seconds} s")))
            }
        }
    }

    /// Why the call has to end, if a question found no answer.
    pub(super) fn unanswered(&self) -> Option<ToolError> {
        lock(&self.unanswered).take()
    }
}

/// The calls of a connection that questions may come with.
#[derive(Default)]
pub(super) struct Questions(Mutex<HashMap<u64, Arc<Asking>>>);

impl Questions {
    /// Lets a call be asked about until what is returned is dropped.
    pub(super) fn begin(self: &Arc<Self>, key: u64, asking: Arc<Asking>) -> Open {
        lock(&self.0).insert(key, asking);
        Open(Arc::clone(self), key)
    }

    /// The call that is meant: the one that is named, else the only one there is.
    fn meant(&self, call: Option<u64>) -> Option<Arc<Asking>> {
        let calls = lock(&self.0);
        match call {
            Some(key) => calls.get(&key).cloned(),
            None if calls.len() == 1 => calls.values().next().cloned(),
            None => None,
        }
    }
}

/// A call that can be asked about.
pub(super) struct Open(Arc<Questions>, u64);

impl Drop for Open {
    fn drop(&mut self) {
        lock(&self.0.0).remove(&self.1);
    }
}

impl ServerRequests for Questions {
    fn asked(
        &self,
        method: String,
        params: Value,
        call: Option<u64>,
    ) -> BoxFuture<'_, Result<Value, RpcError>> {
        Box::pin(async move {
            if method != ELICIT {
                return Err(RpcError::new(
                    code::METHOD_NOT_FOUND,
                    "nothing of the sort was offered",
                ));
            }
            let Some(asking) = self.meant(call) else {
                return Err(RpcError::new(
                    code::INVALID_REQUEST,
                    "it is not known for which call that is asked",
                ));
            };
            match asking.ask(&method, params).await {
                Ok(answer) => Ok(answer),
                Err(error) => {
                    let refused = RpcError::new(code::INTERNAL_ERROR, "no one can be asked");
                    *lock(&asking.unanswered) = Some(error);
                    asking.give_up.cancel();
                    Err(refused)
                }
            }
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
