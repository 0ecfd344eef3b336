//! What a request for a call says: [`CallWish`], read from the body, the path and the headers.

use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value};
use toolcrib::{CallId, CallRequest, ErrorCode, ToolError};

use crate::api::{ApiRequest, Refusal};
use crate::observe::CallNote;

/// The longest text for a session.
const MAX_SESSION: usize = 128;

/// A call as someone wants it.
#[derive(Debug)]
pub(crate) struct CallWish {
    /// The call itself.
    pub(crate) request: CallRequest,
    /// Its approver.
    pub(crate) approvals: Approvals,
    /// Whether it ends with its connection.
    pub(crate) cancel_on_disconnect: bool,
    /// Where its id is noted, for the access log and traces.
    pub(crate) note: CallNote,
}

/// The approver of a call that needs approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Approvals {
    /// People, by the queue of questions; the call waits for them.
    Wait,
    /// Nobody: it runs if it was approved before.
    Given,
    /// Nobody: the operator, who calls, agrees to everything.
    Yes,
}

/// Reads what a request wants. `tool` is the one that the path names; without it the body does.
pub(super) fn read(asked: &ApiRequest, tool: Option<String>) -> Result<CallWish, Refusal> {
    let fields = match asked.body.is_empty() {
        // S4's `{args}` of a tool without arguments.
        true => Map::new(),
        false => asked.object()?,
    };
    let by_path = tool.is_some();
    let (mut has_tool, mut has_args) = (by_path, false);
    let mut request = CallRequest::new(tool.unwrap_or_default()).caller(asked.caller()?);
    let mut approvals = Approvals::Wait;
    let mut cancel_on_disconnect = false;
    for (key, value) in fields {
        match key.as_str() {
            "tool" | "name" if !by_path => {
                if std::mem::replace(&mut has_tool, true) {
                    return Err(wrong(
                        &key,
                        "the tool is named once, by `tool` or by `name`",
                    ));
                }
                let Value::String(name) = value else {
                    return Err(wrong(&key, "the tool's name is a string"));
                };
                request.tool = name;
            }
            "args" | "arguments" | "parameters" if !by_path || key == "args" => {
                if std::mem::replace(&mut has_args, true) {
                    let problem =
                        "the arguments are given once, as `args`, `arguments` or `parameters`";
                    return Err(wrong(&key, problem));
                }
                let Value::Object(args) = value else {
                    return Err(not_arguments(&key, &value));
                };
                request.args = args;
            }
            "callId" | "id" if key == "callId" || !by_path => {
                if request.call_id.is_some() {
                    return Err(wrong(
                        &key,
                        "the call's id is given once, as `id` or `callId`",
                    ));
                }
                let Value::String(id) = value else {
                    return Err(wrong(&key, "a call id is a string"));
                };
                // The call would have an address that no path can name.
                if id.contains(['/', '\\']) || id == "." || id == ".." {
                    let problem = "a call id over HTTP has no slashes, and is not `.` or `..`";
                    return Err(wrong(&key, problem));
                }
                let id = CallId::parse(&id).map_err(|error| wrong(&key, &error.to_string()))?;
                request.call_id = Some(id);
            }
            "timeoutMs" => request = request.timeout(milliseconds(&key, &value)?),
            "approvalWaitMs" => request = request.approval_wait(milliseconds(&key, &value)?),
            "approvals" => {
                approvals = match value.as_str() {
                    Some("wait") => Approvals::Wait,
                    Some("given") => Approvals::Given,
                    Some("yes") => {
                        asked.needs_operator("`approvals: \"yes\"`")?;
                        Approvals::Yes
                    }
                    _ => return Err(wrong(&key, "it is \"wait\", \"given\" or \"yes\"")),
                };
            }
            "cancelOnDisconnect" => match value {
                Value::Bool(cancel) => cancel_on_disconnect = cancel,
                _ => return Err(wrong(&key, "it is `true` or `false`")),
            },
            "session" => {
                asked.needs_operator("`session`")?;
                let is_sound = |text: &&str| {
                    (1..=MAX_SESSION).contains(&text.len())
                        && text.bytes().all(|byte| byte.is_ascii_graphic())
                };
                match value.as_str().filter(is_sound) {
                    Some(session) => request.session = Some(session.to_owned()),
                    None => {
                        return Err(wrong(
                            &key,
                            "a session is 1 to 128 visible ASCII characters",
                        ));
                    }
                }
            }
            _ => return Err(unknown(&key, by_path)),
        }
    }
    match has_tool {
        true => Ok(CallWish {
            request,
            approvals,
            cancel_on_disconnect,
            note: asked.note.clone(),
        }),
        false => Err(Refusal::usage(
            "a call names its tool: {\"tool\": …, \"args\": {…}}",
        )),
    }
}

fn milliseconds(key: &str, value: &Value) -> Result<Duration, Refusal> {
    match value.as_u64() {
        Some(milliseconds) if milliseconds > 0 => Ok(Duration::from_millis(milliseconds)),
        _ => Err(wrong(
            key,
            "it is a whole number of milliseconds, 1 or more",
        )),
    }
}

fn wrong(key: &str, problem: &str) -> Refusal {
    ToolError::new(ErrorCode::Usage, format!("`/{key}`: {problem}"))
        .with_detail("pointer", format!("/{key}"))
        .into()
}

/// A fault of the arguments, if of all of them at once.
fn not_arguments(key: &str, value: &Value) -> Refusal {
    // As some providers' messages have them.
    let hint = match value.as_str().map(str::trim_start) {
        Some(text) if text.starts_with('{') => {
            ", and this is a text that holds one: parse it first"
        }
        _ => "",
    };
    let message = format!("`/{key}`: the arguments are a JSON object{hint}");
    ToolError::new(ErrorCode::InvalidArguments, message)
        .with_detail("pointer", format!("/{key}"))
        .into()
}

fn unknown(key: &str, by_path: bool) -> Refusal {
    let shown: String = key.chars().take(64).collect();
    let known = match by_path {
        true => "`args`",
        false => {
            "`tool` (or `name`), `args` (or `arguments`, `parameters`), `id` (the same as `callId`)"
        }
    };
    Refusal::usage(format!(
        "unknown field `{shown}` in a call; it has {known}, `callId`, `timeoutMs`, `approvals`, `approvalWaitMs`, `cancelOnDisconnect` and `session`"
    ))
}

/// The body of an invocation, for the documentation.
pub(crate) struct InvokeBody;

impl JsonSchema for InvokeBody {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Invoke".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut properties = common_properties();
        properties.insert("args".to_owned(), args_property());
        json_schema!({
            "type": "object",
            "properties": properties,
            "additionalProperties": false,
        })
    }
}

/// The body of a call, for the documentation.
pub(crate) struct CallBody;

impl JsonSchema for CallBody {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Call".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut properties = common_properties();
        for name in ["tool", "name"] {
            let tool = serde_json::json!({
                "type": "string",
                "description": "the tool: its name, `+slug`, `bundle/slug`, `bundle/slug@version` or its id",
            });
            properties.insert(name.to_owned(), tool);
        }
        if let Some(id) = properties.get("callId").cloned() {
            properties.insert("id".to_owned(), id);
        }
        for name in ["args", "arguments", "parameters"] {
            properties.insert(name.to_owned(), args_property());
        }
        // Linters want the properties beside `required`.
        let all = |names: &[&str]| {
            let properties: Map<String, Value> = names
                .iter()
                .map(|name| ((*name).to_owned(), serde_json::json!({})))
                .collect();
            serde_json::json!({"properties": properties, "required": names})
        };
        let refused = [
            serde_json::json!({"not": {"anyOf": [all(&["tool"]), all(&["name"])]}}),
            all(&["tool", "name"]),
            all(&["args", "arguments"]),
            all(&["args", "parameters"]),
            all(&["arguments", "parameters"]),
            all(&["id", "callId"]),
        ];
        json_schema!({
            "type": "object",
            "properties": properties,
            "additionalProperties": false,
            // In `not`, and not as `oneOf` of the whole: generators would make a union of types without properties.
            "not": {"anyOf": refused},
        })
    }
}

fn args_property() -> Value {
    serde_json::json!({"type": "object", "description": "the arguments, by the tool's schema"})
}

fn common_properties() -> Map<String, Value> {
    let properties = serde_json::json!({
        "callId": {
            "type": "string",
            "pattern": "^(?!\\.\\.?$)[!-.0-\\[\\]-~]{1,128}$",
            "description": "an id of the caller's own: the same call made again with it returns the kept outcome, or joins the call that runs",
        },
        "timeoutMs": {
            "type": "integer",
            "minimum": 1,
            "maximum": u64::MAX,
            "description": "less time than the tool would have, in milliseconds",
        },
        "approvals": {
            "enum": ["wait", "given", "yes"],
            "default": "wait",
            "description": "who is asked if the call needs approval: people, for whom it waits; no one, so that only calls approved before run; or no one, because the operator, who calls, agrees",
        },
        "approvalWaitMs": {
            "type": "integer",
            "minimum": 1,
            "maximum": u64::MAX,
            "description": "how long to wait for a person, if less than is set, in milliseconds",
        },
        "cancelOnDisconnect": {
            "type": "boolean",
            "default": false,
            "description": "whether the call is cancelled when its connection goes; otherwise it goes on",
        },
        "session": {
            "type": "string",
            "pattern": "^[!-~]{1,128}$",
            "description": "the session it belongs to, for grants that last as long; for the operator",
        },
    });
    match properties {
        Value::Object(properties) => properties,
        _ => Map::new(),
    }
}
