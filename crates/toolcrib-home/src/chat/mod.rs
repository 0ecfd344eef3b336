//! The whole loop with a model (S1): ask it, run the calls it wants, tell it what they came to,
//! until it is done or the steps are used up.
//!
//! ```text
//! endpoint    where the model is, with which key; what a request of each provider looks like
//! frames      bytes into events: SSE and NDJSON
//! merge       events of a stream into one message of the model, per provider
//! ask         one request: retries, streaming, errors in words
//! said        the model's words on their way out, without the key
//! transcript  the conversation as a file, one line for each message
//! ```
//!
//! The conversation is kept in the provider's own messages, so that what the model is sent is what
//! is on record. It is valid at every moment: a reply's calls are answered before anything else is
//! added, also when a turn is cancelled or the steps are used up. Tools run by
//! [`answer_with`]; the network is [`Egress`], and the URL that the
//! user names is itself the permission for its host, and for nothing else.

mod endpoint;
mod frames;
mod key_mask;
mod merge;
mod model_request;
mod transcript;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::answer::{AnswerOptions, AnsweredCall, Progress, answer_with};
use crate::call::request::CallRequest;
use crate::egress::Egress;
use crate::model::error::{ErrorCode, ToolError};
use crate::registry::Registry;
use crate::spec::ToolSpec;
use crate::wire::{
    DefinitionOptions, Definitions, ReplyFormat, definitions, error_text, read_reply, write_results,
};

pub use endpoint::{Endpoint, EndpointError};
pub use model_request::ChatError;
pub use transcript::{Transcript, TranscriptError, Turns};

/// How many times the model is asked for one prompt, unless said otherwise.
pub const MAX_STEPS: usize = 20;

/// How a chat goes.
#[derive(Debug, Clone)]
pub struct ChatOptions {
    /// The system prompt.
    pub system: Option<String>,
    /// How many times the model is asked for one prompt, at most.
    pub max_steps: usize,
    /// The longest reply, in tokens, where the provider wants to know (Anthropic) or it is set.
    pub max_tokens: Option<u32>,
    /// How long the model may say nothing.
    pub patience: Duration,
    /// How long one reply may take, however much is said.
    pub longest_reply: Duration,
    /// How often a request is repeated that the server was too busy for, or failed at.
    pub retries: u32,
    /// The wait before the first repetition, if the server names none; each next one is twice as long.
    pub pause: Duration,
    /// How calls are made. `offered` and `cancel` are set for each turn.
    pub calls: AnswerOptions,
}

impl Default for ChatOptions {
    fn default() -> Self {
        ChatOptions {
            system: None,
            max_steps: MAX_STEPS,
            max_tokens: None,
            patience: Duration::from_secs(120),
            longest_reply: Duration::from_secs(30 * 60),
            retries: 4,
            pause: Duration::from_secs(1),
            calls: AnswerOptions::default(),
        }
    }
}

/// What happens in a turn, as it happens.
#[derive(Debug)]
pub enum ChatEvent<'a> {
    /// The model says something more.
    Text(&'a str),
    /// The model's reply is whole.
    Replied,
    /// A call is about to be made: the tool and its arguments.
    CallBegun {
        /// The tool, as the model named it.
        tool: &'a str,
        /// The arguments, as JSON; nothing where they could not be read.
        arguments: Option<Value>,
    },
    /// A call is over.
    CallEnded {
        /// The tool, as the model named it.
        tool: &'a str,
        /// Whether it failed.
        failed: bool,
        /// What the model reads of it.
        text: &'a str,
    },
    /// The server was too busy, and is asked again after a while.
    Retrying {
        /// Why.
        why: &'a str,
        /// After how long.
        after: Duration,
    },
    /// A message was added to the conversation: what a transcript keeps.
    Message(&'a Value),
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// The model is done.
    Done,
    /// The model still wanted to call tools; those calls were not made.
    StepsUsedUp,
    /// The model stopped before its end, for this reason of the provider's (`length`, `max_tokens` …).
    CutShort(String),
    /// It was cancelled.
    Cancelled,
}

/// What a turn came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnReport {
    /// How it ended.
    pub ending: Ending,
    /// How many times the model was asked.
    pub steps: usize,
    /// What became of the calls, in order.
    pub calls: Vec<AnsweredCall>,
}

/// A conversation with a model that calls tools.
pub struct Chat {
    registry: Registry,
    egress: Egress,
    endpoint: Endpoint,
    options: ChatOptions,
    definitions: Definitions,
    offered: Arc<[String]>,
    history: Vec<Value>,
}

impl std::fmt::Debug for Chat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Chat")
            .field("endpoint", &self.endpoint)
            .field("messages", &self.history.len())
            .finish_non_exhaustive()
    }
}

impl Chat {
    /// Begins a conversation in which these tools are on offer.
    pub fn new<'a>(
        registry: &Registry,
        egress: &Egress,
        endpoint: Endpoint,
        tools: impl IntoIterator<Item = &'a ToolSpec>,
        options: ChatOptions,
    ) -> Self {
        let provider = endpoint.format().provider();
        let definitions = definitions(tools, provider, &DefinitionOptions::default());
        let name = |tool: &Value| {
            let function = tool.get("function").unwrap_or(tool);
            function["name"].as_str().map(str::to_owned)
        };
        let offered = definitions.tools.iter().filter_map(name).collect();
        Chat {
            registry: registry.clone(),
            egress: egress.clone(),
            endpoint,
            options,
            definitions,
            offered,
            history: Vec::new(),
        }
    }

    /// Names the tools that may be called although the model is not given them: it may find them by one that it has.
    #[must_use]
    pub fn callable(mut self, names: impl IntoIterator<Item = String>) -> Self {
        self.offered = self.offered.iter().cloned().chain(names).collect();
        self
    }

    /// Goes on with the messages of an earlier conversation with the same provider. Calls that no one answered, because that
    /// conversation broke off, are answered as not made.
    #[must_use]
    pub fn resume(mut self, messages: Vec<Value>) -> Self {
        self.history = messages;
        let reply = Value::Array(self.history.clone());
        if let Ok(reply) = read_reply(&reply, Some(self.format()))
            && !reply.calls.is_empty()
        {
            let error = ToolError::new(
                ErrorCode::Cancelled,
                "the conversation broke off before this call was answered; it may have run",
            );
            let answers = reply
                .calls
                .into_iter()
                .map(|call| (call, error_text(&error, 1000)))
                .collect::<Vec<_>>();
            self.history.extend(write_results(reply.format, &answers));
        }
        self
    }

    /// Whose messages they are.
    pub fn format(&self) -> ReplyFormat {
        self.endpoint.format()
    }

    /// The tools on offer as the model sees them, with what they lost on the way.
    pub fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    /// The conversation so far, in the provider's messages.
    pub fn history(&self) -> &[Value] {
        &self.history
    }

    /// Says something to the model, and runs the loop until the model is done. `on` hears of everything while it happens; it is
    /// in the way of the loop, so it must be quick.
    ///
    /// After an error the conversation holds what was said before it, and can go on.
    pub async fn turn(
        &mut self,
        prompt: &str,
        cancel: &CancellationToken,
        on: &(dyn Fn(ChatEvent<'_>) + Send + Sync),
    ) -> Result<TurnReport, ChatError> {
        self.add(endpoint::user_message(self.format(), prompt), on);
        let mut report = TurnReport {
            ending: Ending::Done,
            steps: 0,
            calls: Vec::new(),
        };
        loop {
            report.steps += 1;
            let asked = self.ask(cancel, on).await;
            let reply = match asked {
                Ok(reply) => reply,
                Err((error, partial)) => {
                    if let Some(message) = partial {
                        self.add(message, on);
                    }
                    if cancel.is_cancelled() {
                        report.ending = Ending::Cancelled;
                        return Ok(report);
                    }
                    return Err(error);
                }
            };
            on(ChatEvent::Replied);
            let messages = Value::Array(reply.messages);
            let read = read_reply(&messages, Some(self.format()))
                .map_err(|error| ChatError::Strange(error.to_string()))?;
            if let Value::Array(messages) = messages {
                for message in merge::sendable(self.format(), messages) {
                    self.add(message, on);
                }
            }
            if read.calls.is_empty() {
                report.ending = reply.cut_short.map_or(Ending::Done, Ending::CutShort);
                return Ok(report);
            }
            let is_last = report.steps >= self.options.max_steps.max(1);
            let mut options = self.options.calls.clone();
            options.offered = Some(Arc::clone(&self.offered));
            options.cancel = Some(cancel.clone());
            let (registry, steps) = (&self.registry, self.options.max_steps.max(1));
            let approver = options.approver.clone();
            let run = |request: CallRequest| {
                let approver = approver.clone();
                async move {
                    if is_last {
                        return Err(ToolError::new(
                            ErrorCode::Cancelled,
                            format!("not run: the limit of {steps} steps is reached"),
                        ));
                    }
                    let request = match approver {
                        Some(approver) => request.approver(approver),
                        None => request,
                    };
                    Ok(registry.execute(request).await)
                }
            };
            let watch = |progress: Progress<'_>| match progress {
                Progress::Begun(call) => on(ChatEvent::CallBegun {
                    tool: &call.name,
                    arguments: call.arguments.as_ref().ok().map(|args| json!(args)),
                }),
                Progress::Ended(call, result) => on(ChatEvent::CallEnded {
                    tool: &call.name,
                    failed: result.failed,
                    text: &result.text,
                }),
            };
            let answered = answer_with(read, &options, run, watch).await;
            report.calls.extend(answered.calls);
            for message in answered.messages {
                self.add(message, on);
            }
            if cancel.is_cancelled() {
                report.ending = Ending::Cancelled;
                return Ok(report);
            }
            if is_last {
                report.ending = Ending::StepsUsedUp;
                return Ok(report);
            }
        }
    }

    fn add(&mut self, message: Value, on: &(dyn Fn(ChatEvent<'_>) + Send + Sync)) {
        on(ChatEvent::Message(&message));
        self.history.push(message);
    }
}
