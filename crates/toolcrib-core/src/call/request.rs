//! What a caller asks for: [`CallRequest`].

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{Mutex, mpsc};
use tokio_util::sync::CancellationToken;

use super::context::Endings;
use super::elicit::{Asks, Elicitor};
use super::event::{EventReader, OutputWatch};
use super::live::Live;
use super::waiting_time::Waits;
use crate::approval::Approver;
use crate::model::caller::Caller;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::ids::CallId;
use crate::model::limits::{RequestLimits, as_millis};
use crate::model::{JsonObject, text};

/// What a person types while an interactive tool runs. Whichever program of the call runs at the time gets it, each piece once.
#[derive(Debug, Clone)]
#[doc(hidden)]
pub struct Typed(Arc<Mutex<mpsc::Receiver<Vec<u8>>>>);

impl Typed {
    /// Passes what is typed on, until no one types or no one takes it any more. Stopped at any time, it loses nothing.
    #[doc(hidden)]
    pub async fn pass_on(self, to: mpsc::Sender<Vec<u8>>) {
        while let Ok(room) = to.reserve().await {
            match self.0.lock().await.recv().await {
                Some(bytes) => room.send(bytes),
                None => return,
            }
        }
    }
}

/// A request to call a tool.
///
/// ```
/// use toolcrib::CallRequest;
/// let request = CallRequest::new("read_file").arg("path", "README.md");
/// assert_eq!(request.args["path"], "README.md");
/// ```
#[derive(Debug, Clone, Default)]
pub struct CallRequest {
    /// The tool, in any spelling of [`ToolRef`](crate::model::reference::ToolRef). Text, because a
    /// reference no one can parse is an outcome (`TOOL_NOT_FOUND`), not a failure to ask.
    pub tool: String,
    /// The arguments.
    pub args: JsonObject,
    /// The caller's own id: repeating it returns the stored outcome.
    pub call_id: Option<CallId>,
    /// The caller.
    pub caller: Caller,
    /// Limits, which can only be tighter than what is set.
    pub limits: RequestLimits,
    /// How long to wait for a person, if less than what is set.
    pub approval_wait: Option<Duration>,
    /// The session it belongs to, for grants that last as long, if not the registry's.
    pub session: Option<String>,
    /// Cancels the call from outside.
    pub cancel: Option<CancellationToken>,
    /// The approver of this call and the calls inside it, if not the registry's.
    pub(crate) approver: Option<Arc<dyn Approver>>,
    /// Receives its events from before it begins.
    pub(crate) observer: Option<Observer>,
    /// What a person types, for interactive tools.
    pub(crate) typed: Option<Typed>,
    /// Asks the person behind the call the questions of its tools.
    pub(crate) elicitor: Option<Asks>,
    /// Sees its output as it comes, for the call around it.
    #[doc(hidden)]
    pub watch: Option<OutputWatch>,
    /// The step that makes a nested call.
    #[doc(hidden)]
    pub step: Option<String>,
    /// Set by the pipeline for nested calls.
    pub(crate) nested_in: Option<NestedIn>,
}

/// Gets the events of a call before it begins.
#[derive(Clone)]
pub(crate) struct Observer(Arc<dyn Fn(EventReader) + Send + Sync>);

impl Observer {
    pub(crate) fn begun(&self, events: EventReader) {
        (self.0)(events);
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}

/// The call around a nested one.
#[derive(Debug, Clone)]
pub(crate) struct NestedIn {
    pub(crate) parent: CallId,
    /// The outermost call.
    pub(crate) root: CallId,
    /// The wire name of the tool that makes it.
    pub(crate) tool: String,
    /// The steps that lead to that tool's call, joined by `/`, if a tool makes that one.
    pub(crate) path: Option<String>,
    pub(crate) depth: u8,
    /// What the whole tree of calls has yet to clean up.
    pub(crate) cleanups: Arc<Endings>,
    /// How long people were waited for by the whole tree of calls.
    pub(crate) waits: Arc<Waits>,
    /// The outermost call as others see it.
    pub(crate) live: Option<Arc<Live>>,
}

impl CallRequest {
    /// A request without arguments.
    pub fn new(tool: impl Into<String>) -> Self {
        CallRequest {
            tool: tool.into(),
            ..CallRequest::default()
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.args.insert(name.into(), value.into());
        self
    }

    /// Sets all arguments.
    #[must_use]
    pub fn args(mut self, args: JsonObject) -> Self {
        self.args = args;
        self
    }

    /// Sets the caller's own id.
    #[must_use]
    pub fn call_id(mut self, id: CallId) -> Self {
        self.call_id = Some(id);
        self
    }

    /// Has the outcome kept like that of a call with an id of the caller's own, by making up an id if there is none: it can be
    /// asked for later, by [`Registry::call_state`](crate::registry::Registry::call_state) or by repeating the call with the id.
    #[must_use]
    pub fn keep_outcome(mut self) -> Self {
        self.call_id.get_or_insert_with(CallId::generate);
        self
    }

    /// Asks another approver than the registry's about the call; calls inside it ask the same one. Of no effect on a call that a tool
    /// makes: it asks the approver of the call around it.
    #[must_use]
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// Hands a reader of the call's events, which knows its id, to a function before the call begins. The call waits for the function:
    /// it must not block.
    #[must_use]
    pub fn observer(mut self, begun: impl Fn(EventReader) + Send + Sync + 'static) -> Self {
        self.observer = Some(Observer(Arc::new(begun)));
        self
    }

    /// Says who calls.
    #[must_use]
    pub fn caller(mut self, caller: Caller) -> Self {
        self.caller = caller;
        self
    }

    /// Allows less time than the tool would have.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.limits.timeout_ms = Some(as_millis(timeout));
        self
    }

    /// Waits less long for a person's approval than is set.
    #[must_use]
    pub fn approval_wait(mut self, wait: Duration) -> Self {
        self.approval_wait = Some(wait);
        self
    }

    /// Says which session it belongs to, for grants that last as long; calls inside it belong to the same.
    #[must_use]
    pub fn session(mut self, id: impl Into<String>) -> Self {
        self.session = Some(id.into());
        self
    }

    /// Lets the caller cancel.
    #[must_use]
    pub fn cancel_with(mut self, token: CancellationToken) -> Self {
        self.cancel = Some(token);
        self
    }

    /// Hands what a person types to the tool, should it be interactive.
    #[must_use]
    pub fn typed(mut self, keys: mpsc::Receiver<Vec<u8>>) -> Self {
        self.typed = Some(Typed(Arc::new(Mutex::new(keys))));
        self
    }

    /// Says who asks the one behind the call what tools of upstream servers want to know; without one such a tool fails when it asks.
    #[must_use]
    pub fn elicitor(mut self, elicitor: Arc<dyn Elicitor>) -> Self {
        self.elicitor = Some(Asks(elicitor));
        self
    }

    /// Reads a request in any of the seeds' spellings: `{name, arguments}` (S1),
    /// `{name, parameters}` (S3) or `{tool, args, callId?, timeoutMs?}`.
    ///
    /// The error says what is wrong with the first field that is.
    pub fn from_json(value: Value) -> Result<Self, ToolError> {
        let Value::Object(fields) = value else {
            return Err(usage(
                "a call is a JSON object: {\"tool\": …, \"args\": {…}}",
            ));
        };
        let mut request = CallRequest::default();
        let (mut has_tool, mut has_args) = (false, false);
        for (key, value) in fields {
            match (key.as_str(), value) {
                ("tool" | "name", _) if has_tool => {
                    return Err(usage("a call names its tool once, as `tool` or as `name`"));
                }
                ("tool" | "name", Value::String(tool)) => {
                    has_tool = true;
                    request.tool = tool;
                }
                ("tool" | "name", _) => {
                    return Err(usage(format!("`{key}` is the tool's name, a string")));
                }
                ("args" | "arguments" | "parameters", _) if has_args => {
                    return Err(usage(
                        "a call has its arguments once, as `args`, `arguments` or `parameters`",
                    ));
                }
                ("args" | "arguments" | "parameters", Value::Object(args)) => {
                    has_args = true;
                    request.args = args;
                }
                ("args" | "arguments" | "parameters", _) => {
                    return Err(usage(format!("`{key}` is a JSON object of arguments")));
                }
                ("callId", Value::String(id)) => {
                    request.call_id =
                        Some(CallId::parse(&id).map_err(|error| usage(error.to_string()))?);
                }
                ("callId", _) => return Err(usage("`callId` is a string")),
                ("timeoutMs", value) => match value.as_u64() {
                    Some(timeout) if timeout > 0 => request.limits.timeout_ms = Some(timeout),
                    _ => {
                        return Err(usage(
                            "`timeoutMs` is a whole number of milliseconds, 1 or more",
                        ));
                    }
                },
                (other, _) => {
                    let known = [
                        "tool",
                        "name",
                        "args",
                        "arguments",
                        "parameters",
                        "callId",
                        "timeoutMs",
                    ];
                    let near = text::nearest(other, known);
                    let hint = match near.as_slice() {
                        [] => String::from("a call has `tool`, `args`, `callId` and `timeoutMs`"),
                        near => format!("did you mean {}?", text::or_list(near)),
                    };
                    return Err(usage(format!(
                        "unknown field `{}` in a call; {hint}",
                        text::shorten(other, 64)
                    )));
                }
            }
        }
        if !has_tool {
            return Err(usage("a call names its tool: {\"tool\": …}"));
        }
        Ok(request)
    }
}

fn usage(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorCode::Usage, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_caller_is_one_word_and_a_nested_one_says_for_whom() {
        let client = Caller::Client("ada".to_owned());
        let nested = client.nested();
        assert_eq!(nested.to_string(), "tool:client:ada");
        assert_eq!(nested.nested(), nested);
        assert_eq!(nested.outermost(), &client);
        let callers = [
            Caller::Library,
            Caller::Cli,
            Caller::Operator,
            Caller::Mcp,
            client,
        ];
        for caller in callers {
            for caller in [caller.nested(), caller] {
                assert_eq!(caller.to_string().parse(), Ok(caller));
            }
        }
        assert!(nested.is_meant_by(&Caller::Tool) && !Caller::Cli.is_meant_by(&Caller::Tool));
        for word in ["tool:", "tool:tool", "tool:tool:cli", "tool:root", "Tool"] {
            assert!(word.parse::<Caller>().is_err(), "{word}");
        }
    }

    #[test]
    fn every_seed_spelling_is_read() {
        for body in [
            json!({"name": "list_files", "arguments": {"path": "."}}),
            json!({"name": "list_files", "parameters": {"path": "."}}),
            json!({"tool": "list_files", "args": {"path": "."}, "callId": "c-1", "timeoutMs": 500}),
        ] {
            let request = CallRequest::from_json(body).unwrap();
            assert_eq!(request.tool, "list_files");
            assert_eq!(request.args["path"], ".");
        }
    }

    #[test]
    fn input_that_is_not_a_call_is_refused_with_a_reason() {
        for (body, expected) in [
            (json!([]), "JSON object"),
            (json!({}), "names its tool"),
            (json!({"tool": 1}), "a string"),
            (json!({"tool": "a", "name": "b"}), "once"),
            (json!({"tool": "a", "args": "{}"}), "JSON object"),
            (json!({"tool": "a", "args": {}, "parameters": {}}), "once"),
            (json!({"tool": "a", "timeoutMs": 0}), "1 or more"),
            (json!({"tool": "a", "callId": "a b"}), "visible ASCII"),
            (json!({"tool": "a", "argz": {}}), "did you mean `args`"),
        ] {
            let error = CallRequest::from_json(body.clone()).unwrap_err();
            assert!(error.message().contains(expected), "{body}: {error}");
        }
    }
}
