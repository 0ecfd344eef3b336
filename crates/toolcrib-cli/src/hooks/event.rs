//! Reading what a program's hook sends: [`Event`].
//!
//! Everything but the expected JSON is an error, and an error blocks: a call that was not understood was not judged.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};
use toolcrib::model::text::shorten;

use super::HookClient;

/// The largest event that is read. A program sends the content of a file that it writes.
pub(crate) const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// What a program says about a call that it makes itself.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    pub(crate) phase: Phase,
    /// What the program calls the event; the answer repeats it.
    pub(crate) name: String,
    /// The session it belongs to.
    pub(crate) session: String,
    /// The program's id of the call, if it has one.
    pub(crate) id: Option<String>,
    /// Where the program works.
    pub(crate) cwd: Option<PathBuf>,
    /// The directory that the program has open.
    pub(crate) root: Option<PathBuf>,
    /// The program's tool.
    pub(crate) tool: String,
    /// What the program hands to it.
    pub(crate) input: Map<String, Value>,
    /// The program's mode of permissions.
    pub(crate) mode: Option<String>,
    /// Whether a program without its own dialect can ask its person.
    pub(crate) can_ask: bool,
    /// Whether the answer has the field names of Copilot CLI (`toolName`) rather than those of VS Code (`tool_name`).
    pub(crate) is_camel: bool,
}

/// Which moment of a call an event is about.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Phase {
    /// It is about to be made.
    Before,
    /// It has ended.
    After {
        /// What went wrong, in the program's words.
        error: Option<String>,
        /// How long it ran.
        took: Option<Duration>,
    },
    /// Something else, which needs no answer.
    Other,
}

/// Why an event cannot be read.
#[derive(Debug)]
pub(crate) enum EventProblem {
    /// It is not JSON.
    NotJson(serde_json::Error),
    /// It is too long.
    TooLong,
    /// It is JSON of another shape.
    Missing(&'static str, &'static str),
}

impl fmt::Display for EventProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EventProblem::NotJson(error) => write!(f, "the event is not JSON: {error}"),
            EventProblem::TooLong => write!(f, "the event is longer than {MAX_BYTES} bytes"),
            EventProblem::Missing(key, what) => {
                write!(f, "the event has no `{key}`, or it is not {what}")
            }
        }
    }
}

impl Event {
    /// Reads the text of an event.
    pub(crate) fn read(client: HookClient, text: &[u8]) -> Result<Self, EventProblem> {
        if text.len() as u64 > MAX_BYTES {
            return Err(EventProblem::TooLong);
        }
        let value: Value = serde_json::from_slice(text).map_err(EventProblem::NotJson)?;
        let Value::Object(fields) = value else {
            return Err(EventProblem::Missing("hook_event_name", "text"));
        };
        let fields = Fields(&fields);
        match client {
            HookClient::ClaudeCode | HookClient::Codex => fields.claude(),
            HookClient::Gemini => fields.gemini(),
            HookClient::Cursor => fields.cursor(),
            HookClient::Copilot => fields.copilot(),
            HookClient::Generic => fields.generic(),
        }
    }
}

/// The fields of an event.
struct Fields<'a>(&'a Map<String, Value>);

impl Fields<'_> {
    fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(Value::as_str)
    }

    fn needed(&self, key: &'static str) -> Result<String, EventProblem> {
        let text = self.text(key).map(str::to_owned);
        text.ok_or(EventProblem::Missing(key, "text"))
    }

    fn path(&self, key: &str) -> Option<PathBuf> {
        let path = self.text(key).filter(|path| !path.is_empty())?;
        Some(PathBuf::from(path))
    }

    /// An object, or the text of one.
    fn object(&self, key: &'static str) -> Result<Map<String, Value>, EventProblem> {
        let wrong = EventProblem::Missing(key, "an object");
        match self.0.get(key) {
            Some(Value::Object(fields)) => Ok(fields.clone()),
            Some(Value::String(text)) => match serde_json::from_str(text) {
                Ok(Value::Object(fields)) => Ok(fields),
                // A tool that takes nothing but a text.
                _ => Ok(Map::from_iter([("input".to_owned(), text.as_str().into())])),
            },
            _ => Err(wrong),
        }
    }

    fn took(&self, key: &str) -> Option<Duration> {
        let milliseconds = self.0.get(key)?.as_f64()?;
        Duration::try_from_secs_f64(milliseconds / 1000.0).ok()
    }

    fn event(&self, phase: Phase, name: String, session: String) -> Event {
        Event {
            phase,
            name,
            session,
            id: None,
            cwd: self.path("cwd"),
            root: None,
            tool: String::new(),
            input: Map::new(),
            mode: None,
            can_ask: false,
            is_camel: false,
        }
    }

    /// Claude Code, and Codex, which has taken over its format.
    fn claude(&self) -> Result<Event, EventProblem> {
        let name = self.needed("hook_event_name")?;
        let phase = match name.as_str() {
            "PreToolUse" => Phase::Before,
            "PostToolUse" => Phase::After {
                error: None,
                took: self.took("duration_ms"),
            },
            "PostToolUseFailure" => Phase::After {
                error: Some(self.error("error")),
                took: self.took("duration_ms"),
            },
            _ => Phase::Other,
        };
        let session = self.needed("session_id")?;
        let event = self.event(phase, name, session);
        if event.phase == Phase::Other {
            return Ok(event);
        }
        Ok(Event {
            id: self.text("tool_use_id").map(str::to_owned),
            tool: self.needed("tool_name")?,
            input: self.object("tool_input")?,
            mode: self.text("permission_mode").map(str::to_owned),
            ..event
        })
    }

    fn gemini(&self) -> Result<Event, EventProblem> {
        let name = self.needed("hook_event_name")?;
        let phase = match name.as_str() {
            "BeforeTool" => Phase::Before,
            "AfterTool" => Phase::After {
                error: self
                    .0
                    .get("tool_response")
                    .and_then(|response| response.get("error"))
                    .filter(|error| !error.is_null())
                    .map(in_words),
                took: None,
            },
            _ => Phase::Other,
        };
        let session = self.needed("session_id")?;
        let event = self.event(phase, name, session);
        if event.phase == Phase::Other {
            return Ok(event);
        }
        Ok(Event {
            tool: self.needed("tool_name")?,
            input: self.object("tool_input")?,
            ..event
        })
    }

    /// Cursor has a hook for every tool, and others for some; both are understood.
    fn cursor(&self) -> Result<Event, EventProblem> {
        let name = self.needed("hook_event_name")?;
        let over = |error: Option<String>| Phase::After {
            error,
            took: self.took("duration"),
        };
        let phase = match name.as_str() {
            "preToolUse" | "beforeShellExecution" | "beforeReadFile" => Phase::Before,
            "postToolUse" | "afterShellExecution" | "afterFileEdit" => over(None),
            "postToolUseFailure" => over(Some(self.error("error_message"))),
            _ => Phase::Other,
        };
        let session = self.needed("conversation_id")?;
        let roots = self.0.get("workspace_roots").and_then(Value::as_array);
        let root = roots.and_then(|roots| roots.first()?.as_str());
        let event = Event {
            root: root.map(PathBuf::from),
            ..self.event(phase, name, session)
        };
        let own = |tool: &str, key: &'static str| {
            let value = self.needed(key)?;
            Ok((
                tool.to_owned(),
                Map::from_iter([(key.to_owned(), value.into())]),
            ))
        };
        let (tool, input) = match event.name.as_str() {
            _ if event.phase == Phase::Other => return Ok(event),
            "beforeShellExecution" | "afterShellExecution" => own("Shell", "command")?,
            "beforeReadFile" => own("Read", "file_path")?,
            "afterFileEdit" => own("Write", "file_path")?,
            _ => (self.needed("tool_name")?, self.object("tool_input")?),
        };
        Ok(Event {
            id: self.text("tool_use_id").map(str::to_owned),
            tool,
            input,
            ..event
        })
    }

    /// Copilot CLI sends its own names (`toolName`), or those of VS Code (`tool_name`) where the hooks file has VS Code's names of events.
    fn copilot(&self) -> Result<Event, EventProblem> {
        if self.0.contains_key("hook_event_name") {
            return self.claude();
        }
        let session = self.text("sessionId").unwrap_or_default().to_owned();
        if !self.0.contains_key("toolName") {
            return Ok(self.event(Phase::Other, String::new(), session));
        }
        let result = self.0.get("toolResult");
        let kind = result.and_then(|result| result.get("resultType")?.as_str());
        let phase = match (kind, self.0.contains_key("error")) {
            (None, false) => Phase::Before,
            (_, true) => Phase::After {
                error: Some(self.error("error")),
                took: None,
            },
            (Some("success"), false) => Phase::After {
                error: None,
                took: None,
            },
            (Some(other), false) => Phase::After {
                error: Some(other.to_owned()),
                took: None,
            },
        };
        Ok(Event {
            tool: self.needed("toolName")?,
            input: self.object("toolArgs")?,
            is_camel: true,
            ..self.event(phase, "preToolUse".to_owned(), session)
        })
    }

    /// The format of programs without their own dialect; see docs/hooks.md.
    fn generic(&self) -> Result<Event, EventProblem> {
        let name = self.needed("event")?;
        let phase = match name.as_str() {
            "before" => Phase::Before,
            "after" => Phase::After {
                error: self.text("error").map(|error| shorten(error, 1000)),
                took: self.took("durationMs"),
            },
            _ => return Err(EventProblem::Missing("event", "`before` or `after`")),
        };
        let session = self.needed("session")?;
        Ok(Event {
            id: self.text("id").map(str::to_owned),
            tool: self.needed("tool")?,
            input: self.object("args")?,
            can_ask: self.0.get("canAsk").and_then(Value::as_bool) == Some(true),
            ..self.event(phase, name, session)
        })
    }

    fn error(&self, key: &str) -> String {
        self.0.get(key).map_or_else(
            || "the program's tool failed".to_owned(),
            |error| shorten(&in_words(error), 1000),
        )
    }
}

/// An error as a text.
fn in_words(error: &Value) -> String {
    let message = error.as_str().or_else(|| error.get("message")?.as_str());
    let words = message.map_or_else(|| error.to_string(), str::to_owned);
    shorten(&words, 1000)
}
