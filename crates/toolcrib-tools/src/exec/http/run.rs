//! The requests of a call, in order: sent within the call's limits, repeated where that is harmless, read.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::auth::{self, AuthContext};
use super::build::Draft;
use super::retry::{Failure, Repeat, Retries};
use super::values::Values;
use super::{HttpTool, answer, question};
use crate::call::context::CallContext;
use crate::egress::{EgressError, Redirected, Request, Response};
use crate::manifest::{ErrorMode, RequestTemplate};
use crate::model::JsonObject;
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
        if several
            && let Some(missing) =
                question::missing_secrets(&self.tool.definition, &self.tool.settings).first()
        {
            // Nothing is half done for the want of what a later request needs.
            let targets = self.tool.definition.targets();
            let target = (targets.len() == 1).then(|| targets[0]);
            return Err(SecretError::missing(missing, target).into());
        }
        for later in requests.iter().skip(1) {
            self.rehearse(later).await?;
        }
        let mut previous = ToolOutput::value(Value::Null);
        for (index, template) in requests.iter().enumerate() {
            let name = format!("request {}", index + 1);
            if several {
                self.cx.keep_partial("request", index + 1);
                self.cx.emit_step(&name, "running");
            }
            let before = self.cx.exchanges().left();
            let result = self.one(index, &previous.value).await;
            let was_sent = self.cx.exchanges().left() > before;
            if several {
                self.cx.emit_step(&name, status_of(&result));
                let done = (index + 1) as f64;
                self.cx
                    .emit_progress(done, Some(requests.len() as f64), Some(name.clone()));
            }
            let result = result.map_err(|error| match several {
                true => error
                    .with_detail("request", index + 1)
                    .preceded_by(&format!("{name} of {}: ", requests.len())),
                false => error,
            });
            previous = match result {
                Ok(value) => ToolOutput::value(value),
                // A request that was refused before anything was sent does not miss an answer.
                Err(error)
                    if template.error_mode == ErrorMode::Empty && was_sent && is_hidden(&error) =>
                {
                    ToolOutput::in_place_of(error)
                }
                Err(error) => return Err(error),
            };
        }
        Ok(previous)
    }

    /// Makes a request without sending it, with something short for what the one before will give: a secret that is not for its
    /// server, or cannot stand where it should, is refused while nothing was sent yet.
    async fn rehearse(&self, template: &RequestTemplate) -> Result<(), ToolError> {
        let stand_in = Value::from("0");
        let mut values = self.values(template, &stand_in);
        let mut request = Draft::of(template, &mut values)?.into_request(template)?;
        match &template.auth {
            Some(auth) => auth::rehearse(auth, &mut request, &self.auth_context(&values)).await,
            None => Ok(()),
        }
    }

    /// The values of a request; not a part of `self`, which goes on counting.
    fn values<'b>(&self, template: &'b RequestTemplate, previous: &'b Value) -> Values<'b>
    where
        'a: 'b,
    {
        Values {
            definition: &self.tool.definition,
            asker: &self.tool.asker,
            args: self.args,
            secrets: self.tool.settings.secrets.as_ref(),
            target: &template.url.target,
            previous,
        }
    }

    /// One request, as often as it takes.
    async fn one(&mut self, index: usize, previous: &Value) -> Result<Value, ToolError> {
        let settings = &self.tool.settings;
        let template = &self.tool.definition.requests[index];
        let mut values = self.values(template, previous);
        let draft = Draft::of(template, &mut values)?;
        let complete = draft.into_request(template)?;
        let mut retries = Retries::new(template.retry, &template.method, settings.jitter);
        let mut may_sign_in_again = true;
        let mut last: Option<ToolError> = None;
        loop {
            let mut request = complete.clone();
            if let Some(auth) = &template.auth {
                let cx = self.auth_context(&values);
                // It may be a separate request, which others need not carry along.
                Box::pin(auth::apply(auth, &mut request, &cx)).await?;
            }
            self.check_size(&request)
                .map_err(|error| last.take().unwrap_or(error))?;
            let signed = template.auth.as_ref().map(|auth| (auth, request.clone()));
            let failure = match self.attempt(index, request).await {
                Ok(value) => return Ok(value),
                Err(failure) => failure,
            };
            if may_sign_in_again && let Some(redirected) = failure.refused_credentials {
                may_sign_in_again = false;
                let cx = self.auth_context(&values);
                let is_stale =
                    signed.is_some_and(|(auth, signed)| auth::refused(auth, &signed, &cx));
                // What led to a redirection was carried out.
                let is_harmless = redirected == Redirected::No || retries.repeats_anything();
                if is_stale && is_harmless {
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

    /// Checks what is about to be sent against `limits.maxSentBytes`.
    fn check_size(&self, request: &Request) -> Result<(), ToolError> {
        let size = request.size(&request.url);
        match self.tool.definition.max_sent {
            Some(max) if self.sent + size > max => Err(ToolError::new(
                ErrorCode::InvalidArguments,
                over_max_sent(self.sent + size, max),
            )),
            _ => Ok(()),
        }
    }

    async fn attempt(&mut self, index: usize, mut request: Request) -> Result<Value, Failure> {
        let max = self.tool.definition.max_received.unwrap_or(MAX_RECEIVED);
        request.max_received = max.saturating_sub(self.received);
        let max_sent = self.tool.definition.max_sent;
        request.max_sent = max_sent.map(|max| max.saturating_sub(self.sent));
        let log = self.cx.exchanges();
        request.log = log.clone();
        let (left, received, earlier) = (log.left(), log.received(), self.received);
        let answered = self.tool.settings.egress.send(request).await;
        // What came counts, also if it is of no use to anybody, and what redirections took.
        self.sent += log.left().saturating_sub(left);
        let came = log.received().saturating_sub(received);
        let result = match answered {
            Ok(response) => {
                // A packed body counts as what came out of it.
                self.received += came.max(response.body.len() as u64);
                self.read(index, response).await
            }
            Err(error) => {
                self.received += came;
                let template = &self.tool.definition.requests[index];
                Err(unanswered(error, template, max, earlier))
            }
        };
        result.map_err(|failure| match self.received >= max {
            true => failure.for_good(),
            false => failure,
        })
    }

    /// Reads an answer; a large one aside, so that others go on meanwhile.
    async fn read(&self, index: usize, response: Response) -> Result<Value, Failure> {
        let secrets = self.tool.settings.secrets.clone();
        let definition = Arc::clone(&self.tool.definition);
        let bytes = response.body.len();
        let read = move || answer::value(&definition.requests[index], &response, secrets.as_ref());
        if bytes <= LARGE {
            return read();
        }
        let aside = Box::pin(self.cx.blocking_in_turn(bytes, move || Ok(read()))).await;
        aside.unwrap_or_else(|error| Err(Failure::lasting(error)))
    }

    /// Says why there is a pause; `done`: how many requests are.
    fn tell(&self, done: usize, why: &str, pause: Duration) {
        let message = format!("{why}; trying again in {} ms", as_millis(pause));
        self.cx.emit_progress(done as f64, None, Some(message));
    }
}

/// The refusal of a call that would send too much.
pub(super) fn over_max_sent(bytes: u64, max: u64) -> String {
    format!("the call would send {bytes} bytes, and `limits.maxSentBytes` of the tool is {max}")
}

/// What came of a request that got no answer.
fn unanswered(error: EgressError, template: &RequestTemplate, max: u64, earlier: u64) -> Failure {
    let repeat = match &error {
        EgressError::Network { unsent: true, .. } => Repeat::Always,
        EgressError::Network { unsent: false, .. } => Repeat::IfIdempotent,
        EgressError::BadUrl(_)
        | EgressError::Refused(_)
        | EgressError::BadRequest(_)
        | EgressError::Upstream(_)
        | EgressError::TooLong { .. }
        | EgressError::Timeout(_) => Repeat::Never,
    };
    let error = match error {
        EgressError::TooLong { .. } => {
            let before = match earlier {
                0 => String::new(),
                bytes => format!(", of which {bytes} came before"),
            };
            let message = format!(
                "`{}` gave an answer over the limit of {max} bytes for a call{before}; `limits.maxReceivedBytes` of the tool changes it",
                template.url.origin
            );
            ToolError::new(ErrorCode::UpstreamError, message)
        }
        EgressError::Timeout(why) => {
            let ms = as_millis(template.timeout);
            let message = format!("{why}: it has {ms} ms (`timeoutMs` of the request)");
            ToolError::new(ErrorCode::Timeout, message)
        }
        error => error.into(),
    };
    Failure {
        error,
        repeat,
        retry_after: None,
        refused_credentials: None,
    }
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
