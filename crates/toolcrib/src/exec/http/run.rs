//! The requests of a call, in order: sent within the call's limits, repeated where that is harmless, read.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use serde_json::Value;

use super::auth::{self, AuthContext};
use super::build::{Draft, size_of};
use super::retry::{Failure, Repeat, Retries};
use super::values::Values;
use super::{HttpTool, answer, question};
use crate::egress::{EgressError, Request, Response};
use crate::manifest::ErrorMode;
use crate::model::JsonObject;
use crate::model::context::CallContext;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::limits::{MB, as_millis};
use crate::model::outcome::ToolOutput;
use crate::secret::SecretError;

/// How many bytes the answers of a call may have together, if its file does not say.
const MAX_RECEIVED: u64 = 5 * MB;

/// From how many bytes on an answer is read aside.
const LARGE: usize = 64 * 1024;

/// A call that is under way.
pub(super) struct Run<'a> {
    tool: &'a HttpTool,
    args: &'a JsonObject,
    cx: &'a CallContext,
    /// Bytes so far.
    sent: u64,
    received: u64,
}

impl<'a> Run<'a> {
    pub(super) fn new(tool: &'a HttpTool, args: &'a JsonObject, cx: &'a CallContext) -> Self {
        Run {
            tool,
            args,
            cx,
            sent: 0,
            received: 0,
        }
    }

    /// Sends every request; the last one gives the value.
    pub(super) async fn all(mut self) -> Result<ToolOutput, ToolError> {
        let requests = &self.tool.definition.requests;
        let several = requests.len() > 1;
        if several && let Some(missing) = question::missing_secrets(self.tool).first() {
            // Nothing is half done for the want of what a later request needs.
            let targets = self.tool.definition.targets();
            let target = (targets.len() == 1).then(|| targets[0]);
            return Err(SecretError::missing(missing, target).into());
        }
        let mut previous = ToolOutput::value(Value::Null);
        for (index, template) in requests.iter().enumerate() {
            let name = format!("request {}", index + 1);
            if several {
                self.cx.keep_partial("request", index + 1);
                self.cx.emit_step(&name, "running");
            }
            let result = self.one(index, &previous.value).await;
            if several {
                self.cx.emit_step(&name, status_of(&result));
                let done = (index + 1) as f64;
                self.cx
                    .emit_progress(done, Some(requests.len() as f64), Some(name));
            }
            let result = result.map_err(|error| match several {
                true => error.with_detail("request", index + 1),
                false => error,
            });
            previous = match result {
                Ok(value) => ToolOutput::value(value),
                Err(error) if template.error_mode == ErrorMode::Empty && is_hidden(&error) => {
                    ToolOutput::in_place_of(error)
                }
                Err(error) => return Err(error),
            };
        }
        Ok(previous)
    }

    /// One request, as often as it takes.
    async fn one(&mut self, index: usize, previous: &Value) -> Result<Value, ToolError> {
        let settings = &self.tool.settings;
        let template = &self.tool.definition.requests[index];
        let mut values = Values {
            definition: &self.tool.definition,
            bundle: &self.tool.spec.bundle,
            args: self.args,
            secrets: settings.secrets.as_ref(),
            target: &template.url.target,
            previous,
        };
        let draft = Draft::of(template, &mut values)?;
        let complete = draft.into_request(template)?;
        let mut retries = Retries::new(template.retry, &template.method, settings.jitter);
        let mut may_sign_in_again = true;
        let mut last: Option<ToolError> = None;
        loop {
            let mut request = complete.clone();
            if let Some(auth) = &template.auth {
                let cx = self.auth_context(&values);
                auth::apply(auth, &mut request, &cx).await?;
            }
            self.count(&request)
                .map_err(|error| last.take().unwrap_or(error))?;
            let signed = template.auth.as_ref().map(|auth| (auth, request.clone()));
            let failure = match self.attempt(index, request).await {
                Ok(value) => return Ok(value),
                Err(failure) => failure,
            };
            if may_sign_in_again && is_unauthorised(&failure) {
                may_sign_in_again = false;
                let cx = self.auth_context(&values);
                if signed.is_some_and(|(auth, signed)| auth::refused(auth, &signed, &cx)) {
                    last = Some(failure.error);
                    continue;
                }
            }
            let message = failure.error.message().to_owned();
            last = Some(failure.error.clone());
            let pause = retries.pause(failure, self.cx.remaining())?;
            self.tell(index, &message, pause);
            tokio::time::sleep(pause).await;
        }
    }

    fn auth_context<'b>(&'b self, values: &'b Values<'b>) -> AuthContext<'b> {
        AuthContext {
            values,
            egress: &self.tool.settings.egress,
            tokens: &self.tool.settings.tokens,
            call: self.cx,
        }
    }

    /// Counts what is about to be sent against `limits.maxSentBytes`.
    fn count(&mut self, request: &Request) -> Result<(), ToolError> {
        let size = size_of(request);
        match self.tool.definition.max_sent {
            Some(max) if self.sent + size > max => Err(ToolError::new(
                ErrorCode::InvalidArguments,
                over_max_sent(self.sent + size, max),
            )),
            _ => {
                self.sent += size;
                Ok(())
            }
        }
    }

    async fn attempt(&mut self, index: usize, mut request: Request) -> Result<Value, Failure> {
        let max = self.tool.definition.max_received.unwrap_or(MAX_RECEIVED);
        request.max_received = max.saturating_sub(self.received);
        request.log = self.cx.exchanges();
        let response = match self.tool.settings.egress.send(request).await {
            Ok(response) => response,
            Err(error) => return Err(unanswered(error)),
        };
        self.received += response.body.len() as u64;
        self.read(index, response).await
    }

    /// Reads an answer; a large one aside, so that others go on meanwhile.
    async fn read(&self, index: usize, response: Response) -> Result<Value, Failure> {
        let secrets = self.tool.settings.secrets.clone();
        let definition = Arc::clone(&self.tool.definition);
        let is_large = response.body.len() > LARGE;
        let read = move || answer::value(&definition.requests[index], &response, secrets.as_ref());
        match is_large {
            false => read(),
            true => {
                let aside = self.cx.blocking(move || Ok(read())).await;
                aside.unwrap_or_else(|error| Err(Failure::lasting(error)))
            }
        }
    }

    /// Says why there is a pause; `done`: how many requests are.
    fn tell(&self, done: usize, why: &str, pause: Duration) {
        let message = format!("{why}; trying again in {} ms", as_millis(pause));
        self.cx.emit_progress(done as f64, None, Some(message));
    }
}

/// What is said of a call that would send too much.
pub(super) fn over_max_sent(bytes: u64, max: u64) -> String {
    format!("the call would send {bytes} bytes, and `limits.maxSentBytes` of the tool is {max}")
}

/// What came of a request that got no answer.
fn unanswered(error: EgressError) -> Failure {
    let repeat = match &error {
        EgressError::Network { unsent: true, .. } => Repeat::Always,
        EgressError::Network { unsent: false, .. } => Repeat::IfIdempotent,
        EgressError::BadUrl(_)
        | EgressError::Refused(_)
        | EgressError::BadRequest(_)
        | EgressError::Upstream(_)
        | EgressError::Timeout(_) => Repeat::Never,
    };
    Failure {
        error: error.into(),
        repeat,
        retry_after: None,
    }
}

fn is_unauthorised(failure: &Failure) -> bool {
    let status = failure
        .error
        .details()
        .and_then(|details| details.get("status"));
    status.and_then(Value::as_u64) == Some(StatusCode::UNAUTHORIZED.as_u16().into())
}

/// Whether `errorMode: empty` may hide an error: what a server did, never what was refused here.
fn is_hidden(error: &ToolError) -> bool {
    matches!(
        error.code(),
        ErrorCode::UpstreamError | ErrorCode::NetworkError | ErrorCode::Timeout
    )
}

fn status_of(result: &Result<Value, ToolError>) -> &'static str {
    match result {
        Ok(_) => "ok",
        Err(error) if error.code() == ErrorCode::Timeout => "timeout",
        Err(_) => "failed",
    }
}
