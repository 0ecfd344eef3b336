//! One request to the model: repeated while the server is busy, its reply shown while it comes.

use std::time::Duration;

use http::{HeaderMap, Method, header};
use jiff::Timestamp;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::frames::{Frame, Frames, Framing};
use super::key_mask::Said;
use super::merge::{self, Fault, Merge, Merged};
use super::{Chat, ChatEvent};
use crate::egress::{EgressError, Reach, Request, Streamed, retry_after};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::json::{read_bounded, read_strict};
use crate::model::text;
use crate::wire::ReplyFormat;

/// The most bytes of one reply.
const MAX_REPLY: u64 = 64 * 1024 * 1024;
/// How much of an error is read.
const MAX_ERROR: usize = 64 * 1024;
/// How much of an answer is looked at to say what it is.
const BEGINNING: usize = 256;
/// The longest wait that a server can ask for.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// Why there is no reply of the model. The texts say what to do, and hold no key.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    /// The server could not be reached, or broke off.
    #[error("{message}")]
    Network {
        /// What happened.
        message: String,
        /// The code of it.
        code: ErrorCode,
    },
    /// The server refused.
    #[error("the server answered {status}: {message}; {advice}")]
    Refused {
        /// The status.
        status: u16,
        /// What it said.
        message: String,
        /// What to do.
        advice: &'static str,
    },
    /// The model's server gave up in the middle of a reply.
    #[error("the provider broke off with an error: {0}; try again")]
    Provider(String),
    /// What came is not what the provider sends.
    #[error("the answer is not what this provider sends: {0}; check `--provider` and `--base-url`")]
    Strange(String),
    /// It was cancelled.
    #[error("cancelled")]
    Cancelled,
}

impl ChatError {
    /// The code of it.
    pub fn code(&self) -> ErrorCode {
        match self {
            ChatError::Network { code, .. } => *code,
            ChatError::Refused { .. } | ChatError::Provider(_) | ChatError::Strange(_) => {
                ErrorCode::UpstreamError
            }
            ChatError::Cancelled => ErrorCode::Cancelled,
        }
    }
}

impl From<ChatError> for ToolError {
    fn from(error: ChatError) -> Self {
        ToolError::new(error.code(), error.to_string())
    }
}

/// A failure, and what was said before it, as a message.
type Failed = (ChatError, Option<Value>);

impl Chat {
    /// Asks the model for its next reply.
    pub(super) async fn ask(
        &self,
        cancel: &CancellationToken,
        on: &(dyn Fn(ChatEvent<'_>) + Send + Sync),
    ) -> Result<Merged, Failed> {
        let mut said = Said::new(self.endpoint.key());
        let asked = cancel.run_until_cancelled(self.reply(&mut said, on)).await;
        let failed = match asked {
            Some(Ok(merged)) => return Ok(merged),
            Some(Err(error)) => error,
            None => ChatError::Cancelled,
        };
        said.end(on);
        Err((failed, merge::partial(self.format(), said.text())))
    }

    async fn reply(
        &self,
        said: &mut Said,
        on: &(dyn Fn(ChatEvent<'_>) + Send + Sync),
    ) -> Result<Merged, ChatError> {
        let body = self
            .endpoint
            .body(&self.history, &self.definitions, &self.options);
        let mut request = Request::get(self.endpoint.url());
        request.method = Method::POST;
        request.headers = self.endpoint.headers();
        request.body = body.to_string().into();
        request.reach = Reach::Configured(self.endpoint.target().clone());
        request.timeout = self.options.patience;
        request.max_received = MAX_REPLY;
        request.max_redirects = 0;
        let mut pause = self.options.pause;
        let mut attempt = 0;
        loop {
            let sent = self.egress.stream(request.clone()).await;
            let mut answer = sent.map_err(|error| self.network(&error))?;
            answer.body = answer.body.with_idle(self.options.patience);
            if answer.status.is_success() {
                let most = self.options.longest_reply;
                let read = self.read(answer, said, on);
                return match tokio::time::timeout(most, read).await {
                    Ok(read) => read,
                    Err(_) => Err(ChatError::Network {
                        message: format!(
                            "the model went on for more than {} s, and was given up",
                            most.as_secs()
                        ),
                        code: ErrorCode::Timeout,
                    }),
                };
            }
            let status = answer.status.as_u16();
            let is_busy = matches!(status, 408 | 409 | 429 | 500 | 502 | 503 | 504 | 529);
            let wait = retry_after(&answer.headers, Timestamp::now()).unwrap_or(None);
            let error = answer.body.rest(MAX_ERROR).await.unwrap_or_default();
            let message = self.endpoint.masked(&words(&error));
            let after = wait.unwrap_or(pause);
            if !is_busy || attempt >= self.options.retries || after > MAX_WAIT {
                return Err(ChatError::Refused {
                    status,
                    message,
                    advice: advice(status, &error),
                });
            }
            let why = format!("the server answered {status}: {message}");
            on(ChatEvent::Retrying { why: &why, after });
            tokio::time::sleep(after).await;
            attempt += 1;
            pause = pause.saturating_mul(2).min(MAX_WAIT);
        }
    }

    async fn read(
        &self,
        mut answer: Streamed,
        said: &mut Said,
        on: &(dyn Fn(ChatEvent<'_>) + Send + Sync),
    ) -> Result<Merged, ChatError> {
        let mut merger = merge::merger(self.format());
        let kind = media_type(&answer.headers);
        let framing = match (self.format(), kind.as_str()) {
            (_, "text/event-stream") => Framing::Events,
            (
                ReplyFormat::Ollama,
                "application/x-ndjson"
                | "application/jsonl"
                | "application/json"
                | "text/plain"
                | "",
            ) => Framing::Lines,
            // A server that does not stream.
            (_, "application/json") => {
                let most = usize::try_from(MAX_REPLY).unwrap_or(usize::MAX);
                let whole = answer
                    .body
                    .rest(most)
                    .await
                    .map_err(|error| self.network(&error))?;
                let document =
                    read_strict(&whole).map_err(|error| ChatError::Strange(error.to_string()))?;
                self.take(Frame::Document(document), &mut *merger, said, on)?;
                said.end(on);
                return Ok(merger.finish());
            }
            // Not every server says what it streams.
            (_, "text/plain" | "application/octet-stream" | "") => Framing::Events,
            // A page of a proxy or of another server.
            (_, other) => {
                let begins = answer.body.rest(MAX_ERROR).await.unwrap_or_default();
                return Err(self.no_stream(other, &begins));
            }
        };
        let mut frames = Frames::new(framing);
        let (mut begins, mut is_silent) = (Vec::new(), true);
        loop {
            let piece = answer
                .body
                .next()
                .await
                .map_err(|error| self.network(&error))?;
            let (found, is_end) = match piece {
                Some(piece) => {
                    if is_silent && begins.len() < BEGINNING {
                        begins.extend_from_slice(&piece[..piece.len().min(BEGINNING)]);
                    }
                    let found = frames
                        .push(&piece)
                        .map_err(|_| ChatError::Strange("a line of more than 8 MB".to_owned()))?;
                    (found, false)
                }
                None => {
                    let frames = std::mem::replace(&mut frames, Frames::new(framing));
                    (frames.finish(), true)
                }
            };
            for frame in found {
                is_silent = false;
                self.take(frame, &mut *merger, said, on)?;
            }
            if is_end {
                break;
            }
        }
        said.end(on);
        match merger.is_whole() {
            true => Ok(merger.finish()),
            false if is_silent && !begins.trim_ascii().is_empty() => {
                Err(self.no_stream(&kind, &begins))
            }
            false => Err(ChatError::Network {
                message: format!(
                    "`{}` ended its answer before the reply was whole; try again",
                    self.endpoint.target()
                ),
                code: ErrorCode::NetworkError,
            }),
        }
    }

    /// What came is not a stream of a model: how it begins says whose it is.
    fn no_stream(&self, kind: &str, begins: &[u8]) -> ChatError {
        let kind = match kind {
            "" => "of no type".to_owned(),
            kind => text::visible(&text::shorten(kind, 60)).into_owned(),
        };
        let begins = String::from_utf8_lossy(begins);
        let begins = self.endpoint.masked(begins.trim());
        let begins = text::shorten(&begins, 80).replace(['\n', '\r'], " ");
        ChatError::Strange(format!(
            "it is {kind} and no stream, and begins with `{}`",
            text::visible(&begins)
        ))
    }

    fn take(
        &self,
        frame: Frame,
        merger: &mut dyn Merge,
        said: &mut Said,
        on: &(dyn Fn(ChatEvent<'_>) + Send + Sync),
    ) -> Result<(), ChatError> {
        let document = match frame {
            Frame::Document(document) => document,
            Frame::Done => {
                merger.done();
                return Ok(());
            }
            Frame::Garbage(why) => return Err(ChatError::Strange(self.endpoint.masked(&why))),
        };
        let mut more = String::new();
        merger
            .take(document, &mut more)
            .map_err(|fault| match fault {
                Fault::Provider(message) => ChatError::Provider(self.endpoint.masked(&message)),
                Fault::Strange(why) => ChatError::Strange(why),
            })?;
        said.add(&more, on);
        Ok(())
    }

    fn network(&self, error: &EgressError) -> ChatError {
        let hint = match error {
            EgressError::Network { unsent: true, .. } => {
                "; is the server running, and the URL right?"
            }
            EgressError::Timeout(_) => "; `--timeout` allows more time",
            _ => "",
        };
        ChatError::Network {
            message: self.endpoint.masked(&format!("{error}{hint}")),
            code: error.code(),
        }
    }
}

/// The type of an answer without its parameters, in lower case; nothing where it has none.
fn media_type(headers: &HeaderMap) -> String {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default();
    kind.trim().to_ascii_lowercase()
}

/// What a server says about its refusal, in whatever form.
fn words(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let document = read_bounded(text.as_bytes()).ok();
    let said = document.as_ref().and_then(|document| {
        // Gemini puts it into a list.
        let document = document.get(0).unwrap_or(document);
        let error = document.get("error").unwrap_or(document);
        error
            .as_str()
            .or_else(|| error["message"].as_str())
            .or_else(|| document["detail"].as_str())
    });
    let said = said.unwrap_or(text.trim());
    match said.is_empty() {
        true => "nothing more".to_owned(),
        false => text::visible(&text::shorten(said, 500)).into_owned(),
    }
}

fn advice(status: u16, body: &[u8]) -> &'static str {
    let text = String::from_utf8_lossy(body).to_ascii_lowercase();
    let is_too_long = [
        "context length",
        "context_length",
        "too long",
        "maximum context",
        "too many tokens",
    ]
    .iter()
    .any(|words| text.contains(words));
    match status {
        400 | 413 | 422 if is_too_long => {
            "the conversation is longer than the model takes: begin a new one, or offer fewer tools with `--tools`"
        }
        400 | 422 => "check that the model can call tools, and `--provider`",
        401 | 403 => "check the key: `--key secret:NAME`, or the variable of the environment",
        404 => "check `--base-url` and `--model`",
        413 => "the request is larger than the server takes: offer fewer tools with `--tools`",
        429 => {
            "it is asked too often, or the quota is used up: wait, or look at the provider's limits"
        }
        300..=399 => "it redirects, which is not followed: name the URL that it redirects to",
        500..=599 => "the fault is at the server: try again later",
        _ => "look at what it says",
    }
}
