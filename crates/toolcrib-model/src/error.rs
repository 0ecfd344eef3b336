//! What went wrong with a call, and the one table that says what each front end makes of it.
//!
//! [`ErrorCode`] is the table: wire name, HTTP status, CLI exit code, MCP form, meaning and remedy
//! stand in one place. [`ToolError`] is what a call returns. Administration failures (a broken
//! config, a full disk) use their module's own error type and convert at the edge.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::JsonObject;
use super::mask::Masker;

/// How an error reaches an MCP client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpForm {
    /// A JSON-RPC error: the request itself made no sense.
    Protocol,
    /// A tool result with `isError: true`, which the model reads and can act on.
    ToolResult,
}

macro_rules! error_codes {
    ($($variant:ident $wire:literal $http:literal $exit:literal $mcp:ident $meaning:literal $remedy:literal;)*) => {
        /// The closed list of error codes.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $(#[doc = $meaning] $variant,)*
        }

        impl ErrorCode {
            /// Every code, in the order of the table.
            pub const ALL: &'static [ErrorCode] = &[$(ErrorCode::$variant),*];

            /// The name on the wire.
            pub fn as_str(self) -> &'static str {
                match self { $(ErrorCode::$variant => $wire),* }
            }

            /// The HTTP status of an invocation that ends with this code.
            pub fn http_status(self) -> u16 {
                match self { $(ErrorCode::$variant => $http),* }
            }

            /// The exit status of the command line.
            pub fn exit_code(self) -> u8 {
                match self { $(ErrorCode::$variant => $exit),* }
            }

            /// How the error reaches an MCP client.
            pub fn mcp_form(self) -> McpForm {
                match self { $(ErrorCode::$variant => McpForm::$mcp),* }
            }

            /// One sentence: what the code means.
            pub fn meaning(self) -> &'static str {
                match self { $(ErrorCode::$variant => $meaning),* }
            }

            /// One sentence: what to do about it.
            pub fn remedy(self) -> &'static str {
                match self { $(ErrorCode::$variant => $remedy),* }
            }
        }
    };
}

error_codes! {
    ToolNotFound "TOOL_NOT_FOUND" 404 3 Protocol
        "No tool answers to this name." "Look for the right name with `toolcrib list`.";
    BundleNotFound "BUNDLE_NOT_FOUND" 404 3 Protocol
        "No bundle answers to this name." "Look for the right bundle with `toolcrib bundle list --all`, for an MCP server with `toolcrib upstream list`.";
    CallNotFound "CALL_NOT_FOUND" 404 3 Protocol
        "No call with this id is on record." "Look for the right id with `toolcrib calls list`.";
    ToolDisabled "TOOL_DISABLED" 409 3 ToolResult
        "The tool or its bundle is switched off." "`toolcrib explain <tool>` says who switched it off.";
    ToolUnavailable "TOOL_UNAVAILABLE" 409 3 ToolResult
        "The tool needs a function, program, platform or server that is not here."
        "The message names what is missing; `toolcrib explain <tool>` says more.";
    InvalidArguments "INVALID_ARGUMENTS" 400 4 ToolResult
        "The arguments do not fit the tool's schema." "`toolcrib show <tool>` lists the parameters.";
    BlockedByRule "BLOCKED_BY_RULE" 403 5 ToolResult
        "A rule refuses this call." "The message names the rule; change the call, or the rule in the configuration.";
    ApprovalDenied "APPROVAL_DENIED" 403 5 ToolResult
        "A person was asked and said no." "Read the reason given; do something else.";
    ApprovalUnavailable "APPROVAL_UNAVAILABLE" 403 6 ToolResult
        "The call needs a person's approval and no one could be asked."
        "Answer it at a terminal, approve it yourself with `--yes`, or let it wait for an answer with `--wait-approval 5m`.";
    ApprovalExpired "APPROVAL_EXPIRED" 403 6 ToolResult
        "The call needs a person's approval and no one answered in time." "Call again when a person can answer.";
    InvalidPath "INVALID_PATH" 200 1 ToolResult
        "The path is malformed or leads outside the workspace." "Give a path relative to the workspace.";
    PermissionDenied "PERMISSION_DENIED" 200 1 ToolResult
        "The file or directory may not be read or written." "Check the file's mode and the configuration.";
    FileNotFound "FILE_NOT_FOUND" 200 1 ToolResult
        "There is no file or directory at this path." "List the parent directory to see what is there.";
    FileTooLarge "FILE_TOO_LARGE" 200 1 ToolResult
        "The file or the range asked for is over the limit." "Ask for a smaller range of lines.";
    NotText "NOT_TEXT" 200 1 ToolResult
        "The file is not UTF-8 text." "Ask for `encoding: base64`.";
    FileExists "FILE_EXISTS" 200 1 ToolResult
        "A file with this name exists already." "Choose another name, or overwrite it explicitly.";
    Timeout "TIMEOUT" 200 7 ToolResult
        "The call ran past its deadline and was stopped." "Ask for less, or allow more time.";
    Cancelled "CANCELLED" 200 130 ToolResult
        "The call was cancelled." "Call again if the result is still needed.";
    ExecutionError "EXECUTION_ERROR" 200 1 ToolResult
        "The tool ran and failed." "The message and details say why.";
    InvalidOutput "INVALID_OUTPUT" 200 1 ToolResult
        "The tool returned something that does not fit its output schema or limits." "Fix the tool or its output schema.";
    SandboxUnavailable "SANDBOX_UNAVAILABLE" 200 1 ToolResult
        "The isolation this call needs is not available on this machine." "`toolcrib doctor` names the missing layer.";
    RateLimited "RATE_LIMITED" 429 1 ToolResult
        "Too many calls at once or per minute." "Wait for `retryAfterMs` and call again.";
    NetworkError "NETWORK_ERROR" 200 8 ToolResult
        "A request could not be sent, or its response could not be read." "Check the address and the network, then try again.";
    HostNotAllowed "HOST_NOT_ALLOWED" 200 8 ToolResult
        "This tool may not reach this host." "The setting `allowedHosts` names the hosts that may be reached.";
    UpstreamError "UPSTREAM_ERROR" 200 8 ToolResult
        "The server behind the tool failed, or answered with an error."
        "The message says how; `--json` shows more. `toolcrib upstream test` checks an MCP server.";
    Conflict "CONFLICT" 409 9 ToolResult
        "The request conflicts with something that exists already." "Choose another id or name, or read the existing one.";
    ReadOnly "READ_ONLY" 403 9 ToolResult
        "Built-in tools and bundles cannot be changed, only switched on and off." "Copy it under another name and change the copy.";
    StorageError "STORAGE_ERROR" 500 9 ToolResult
        "Toolcrib's own files could not be read or written." "`toolcrib doctor` checks Toolcrib's home directory.";
    Usage "USAGE" 400 2 Protocol
        "The command or request is not valid." "`toolcrib --help` shows the commands.";
    Unauthenticated "UNAUTHENTICATED" 401 5 Protocol
        "The request has no valid token." "Send `Authorization: Bearer TOKEN`; `toolcrib serve` prints where the operator's token is, `toolcrib clients add NAME` makes another.";
    Forbidden "FORBIDDEN" 403 5 Protocol
        "The caller may not do this." "Use the operator's token, or change the setting that the message names.";
    NotFound "NOT_FOUND" 404 3 Protocol
        "There is nothing at this address." "`/api/openapi.json` lists every route.";
    MethodNotAllowed "METHOD_NOT_ALLOWED" 405 2 Protocol
        "The address does not support this method." "The header `Allow` lists the methods.";
    Gone "GONE" 410 6 Protocol
        "The request for approval, or the link, has expired or was used." "Make the call again, or get a new link.";
    PayloadTooLarge "PAYLOAD_TOO_LARGE" 413 2 Protocol
        "The request is larger than the server accepts." "Send less, or raise the setting that the message names.";
    UnsupportedMediaType "UNSUPPORTED_MEDIA_TYPE" 415 2 Protocol
        "This route does not accept a body of this type." "Send the `Content-Type` that the message names.";
    Unprocessable "UNPROCESSABLE" 422 4 Protocol
        "The request is well-formed, but cannot be carried out." "The details say what is wrong with it.";
    RequestTimeout "REQUEST_TIMEOUT" 408 1 Protocol
        "The request did not arrive in time." "Send it faster, or raise the setting that the message names.";
    Unavailable "UNAVAILABLE" 503 1 Protocol
        "The server is starting or stopping." "Try again in a moment.";
    Internal "INTERNAL" 500 70 ToolResult
        "A bug in Toolcrib." "Please report it with the message and what led to it.";
}

impl ErrorCode {
    /// Finds a code by its wire name.
    pub fn from_wire(name: &str) -> Option<ErrorCode> {
        ErrorCode::ALL
            .iter()
            .copied()
            .find(|code| code.as_str() == name)
    }

    /// Whether a person or a rule said no: the tool was not tried.
    pub fn is_refusal(self) -> bool {
        matches!(
            self,
            ErrorCode::ApprovalDenied
                | ErrorCode::ApprovalExpired
                | ErrorCode::ApprovalUnavailable
                | ErrorCode::BlockedByRule
        )
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ErrorCode {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        ErrorCode::from_wire(&name)
            .ok_or_else(|| serde::de::Error::custom(format!("unknown error code `{name}`")))
    }
}

/// Why a call failed: a code for programs, a message for people, details for both.
///
/// The cause, when there is one, is for logs and debuggers; it never goes over the wire.
#[derive(Clone, Serialize, Deserialize)]
pub struct ToolError {
    code: ErrorCode,
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    details: Option<Box<JsonObject>>,
    #[serde(skip)]
    cause: Option<Arc<dyn StdError + Send + Sync>>,
}

impl ToolError {
    /// Makes an error with a code and a message (lower case, no final period).
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        ToolError {
            code,
            message: message.into(),
            tool: None,
            details: None,
            cause: None,
        }
    }

    /// Makes an `EXECUTION_ERROR`, the usual way for a tool to say it failed.
    pub fn failed(message: impl Into<String>) -> Self {
        ToolError::new(ErrorCode::ExecutionError, message)
    }

    /// Adds one field to the details.
    #[must_use]
    pub fn with_detail(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.details
            .get_or_insert_default()
            .insert(key.into(), value.into());
        self
    }

    /// Says something before the message: where in a larger thing it happened.
    #[must_use]
    #[doc(hidden)]
    pub fn preceded_by(mut self, words: &str) -> Self {
        self.message = format!("{words}{}", self.message);
        self
    }

    /// Attaches the error behind this one.
    #[must_use]
    pub fn caused_by(mut self, cause: impl StdError + Send + Sync + 'static) -> Self {
        self.cause = Some(Arc::new(cause));
        self
    }

    /// Leaves the details out if they are too much; whether they were.
    #[doc(hidden)]
    pub fn without_huge_details(
        mut self,
        is_huge: impl FnOnce(&JsonObject) -> bool,
    ) -> (Self, bool) {
        let huge = self.details.take_if(|details| is_huge(details)).is_some();
        if huge {
            self = self.with_detail("leftOut", "the details were too long or nested too deep");
        }
        (self, huge)
    }

    /// Applies `shorten` to every text of the error; whether one was shortened.
    #[doc(hidden)]
    pub fn shortened(mut self, mut shorten: impl FnMut(&mut String) -> bool) -> (Self, bool) {
        let mut cut = shorten(&mut self.message);
        for value in self
            .details
            .iter_mut()
            .flat_map(|details| details.values_mut())
        {
            cut |= shorten_value(value, &mut shorten);
        }
        (self, cut)
    }

    /// Takes secrets out of everything the error says. A cause that has one in it goes.
    #[doc(hidden)]
    pub fn mask(&mut self, masker: &Masker) {
        if masker.is_empty() {
            return;
        }
        masker.mask_text(&mut self.message);
        if let Some(details) = &mut self.details {
            match self.code {
                // What a tool printed so far was broken off anywhere.
                ErrorCode::Timeout | ErrorCode::Cancelled => masker.mask_unended_object(details),
                _ => masker.mask_object(details),
            }
        }
        if let Some(cause) = &self.cause
            && masker.finds(&format!("{cause} {cause:?}"))
        {
            self.cause = None;
        }
    }

    /// The error without secrets. What a call returns has none; this is for errors that no call made.
    #[must_use]
    pub fn masked(mut self, masker: &Masker) -> Self {
        self.mask(masker);
        self
    }

    /// The code.
    pub fn code(&self) -> ErrorCode {
        self.code
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The tool that was called, by its name; `None` where no call led to the error.
    pub fn tool(&self) -> Option<&str> {
        self.tool.as_deref()
    }

    /// Says which tool was called.
    #[must_use]
    pub fn of_tool(mut self, name: &str) -> Self {
        self.tool = Some(name.into());
        self
    }

    /// The details, if any.
    pub fn details(&self) -> Option<&JsonObject> {
        self.details.as_deref()
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("ToolError");
        out.field("code", &self.code)
            .field("message", &self.message);
        if let Some(details) = &self.details {
            out.field("details", details);
        }
        if let Some(cause) = &self.cause {
            out.field("cause", cause);
        }
        out.finish()
    }
}

impl StdError for ToolError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.cause
            .as_deref()
            .map(|cause| cause as &(dyn StdError + 'static))
    }
}

/// Applies `shorten` to every text in a value; whether one was shortened.
#[doc(hidden)]
pub fn shorten_value(value: &mut Value, shorten: &mut impl FnMut(&mut String) -> bool) -> bool {
    match value {
        Value::String(text) => shorten(text),
        Value::Array(items) => items
            .iter_mut()
            .fold(false, |cut, item| shorten_value(item, shorten) | cut),
        Value::Object(fields) => fields
            .values_mut()
            .fold(false, |cut, field| shorten_value(field, shorten) | cut),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Two errors are equal when the caller would see the same thing; causes do not count.
impl PartialEq for ToolError {
    fn eq(&self, other: &Self) -> bool {
        self.code == other.code && self.message == other.message && self.details == other.details
    }
}

/// The error type of typed tool closures: any error converts into it with `?`.
///
/// A [`ToolError`] passes through unchanged; every other error becomes `EXECUTION_ERROR` with its
/// text as the message and itself as the cause. (A separate type, because a type that converts
/// from every error cannot be an error itself.)
#[derive(Debug)]
pub struct Failure(ToolError);

impl<E: StdError + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        let boxed: Box<dyn StdError + Send + Sync> = Box::new(error);
        match boxed.downcast::<ToolError>() {
            Ok(error) => Failure(*error),
            Err(other) => {
                let mut error = ToolError::failed(other.to_string());
                error.cause = Some(Arc::from(other));
                Failure(error)
            }
        }
    }
}

impl From<Failure> for ToolError {
    fn from(failure: Failure) -> Self {
        failure.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_found_by_its_wire_name() {
        for code in ErrorCode::ALL {
            assert_eq!(ErrorCode::from_wire(code.as_str()), Some(*code));
        }
        assert_eq!(ErrorCode::from_wire("NO_SUCH"), None);
    }

    #[test]
    fn a_tool_error_keeps_its_code_through_the_question_mark() {
        fn inner() -> Result<(), Failure> {
            Err(ToolError::new(ErrorCode::FileNotFound, "no such file"))?
        }
        let error = ToolError::from(inner().unwrap_err());
        assert_eq!(error.code(), ErrorCode::FileNotFound);
    }

    #[test]
    fn another_error_becomes_an_execution_error_with_a_cause() {
        fn inner() -> Result<(), Failure> {
            "x".parse::<u32>()?;
            Ok(())
        }
        let error = ToolError::from(inner().unwrap_err());
        assert_eq!(error.code(), ErrorCode::ExecutionError);
        assert!(error.source().is_some());
    }

    #[test]
    fn the_wire_form_has_no_cause_and_survives_a_round_trip() {
        let error = ToolError::failed("it broke")
            .with_detail("exitCode", 3)
            .caused_by(fmt::Error);
        let json = serde_json::to_value(&error).unwrap();
        assert_eq!(
            json,
            serde_json::json!({"code": "EXECUTION_ERROR", "message": "it broke", "details": {"exitCode": 3}})
        );
        assert_eq!(serde_json::from_value::<ToolError>(json).unwrap(), error);
    }
}
