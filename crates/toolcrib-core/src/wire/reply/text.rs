//! What a model reads of an outcome: the output's text, or an error it can act on, bounded.

use serde_json::{Value, json};

use crate::model::error::{ErrorCode, ToolError};
use crate::model::outcome::Outcome;
use crate::model::text;

/// The most characters of one result; a model's context is what more would cost.
pub const MAX_RESULT_CHARS: usize = 100_000;

/// The text of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultText {
    /// What the model reads.
    pub text: String,
    /// Whether the call failed.
    pub failed: bool,
}

/// What a model reads of an outcome: what the tool printed or the content of a file, else compact
/// JSON. Escape sequences are made visible, since programs print what models repeat.
pub fn result_text(outcome: &Outcome, max_chars: usize) -> ResultText {
    let output = match &outcome.result {
        Ok(output) => output,
        Err(error) => return error_text(error, max_chars),
    };
    let text = match (&output.text, &output.value) {
        (Some(text), _) | (None, Value::String(text)) => bounded(text, max_chars),
        (None, value) => bounded(&value.to_string(), max_chars),
    };
    ResultText {
        text,
        failed: false,
    }
}

/// What a model reads of an error: code, message, details and what to do.
pub fn error_text(error: &ToolError, max_chars: usize) -> ResultText {
    let advice = advice(error.code());
    let mut text = format!("{}: {}", error.code(), error.message());
    if let Some(details) = error.details() {
        text.push('\n');
        text.push_str(&json!(details).to_string());
    }
    let mut text = bounded(&text, max_chars.saturating_sub(advice.len() + 1).max(200));
    text.push('\n');
    text.push_str(advice);
    ResultText { text, failed: true }
}

/// The text with its middle left out where it is too long, and a mark that says so.
fn bounded(whole: &str, max_chars: usize) -> String {
    let visible = text::visible(whole);
    // Bytes are never fewer than characters.
    if visible.len() <= max_chars {
        return visible.into_owned();
    }
    let count = visible.chars().count();
    if count <= max_chars {
        return visible.into_owned();
    }
    let (head, tail) = (max_chars * 3 / 4, max_chars / 4);
    let left_out = count - head - tail;
    let at = |chars: usize| {
        let found = visible.char_indices().nth(chars);
        found.map_or(visible.len(), |(index, _)| index)
    };
    format!(
        "{}\n[… {left_out} characters left out; ask for less to see them …]\n{}",
        &visible[..at(head)],
        &visible[at(count - tail)..]
    )
}

/// What a model, which has no command line, does about a code.
fn advice(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::ToolNotFound
        | ErrorCode::BundleNotFound
        | ErrorCode::CallNotFound
        | ErrorCode::NotFound => "Use a name from the list of tools, spelled exactly as there.",
        ErrorCode::InvalidArguments
        | ErrorCode::Usage
        | ErrorCode::Unprocessable
        | ErrorCode::PayloadTooLarge
        | ErrorCode::UnsupportedMediaType => {
            "Mend the arguments by the tool's schema and call it again."
        }
        ErrorCode::BlockedByRule
        | ErrorCode::ApprovalDenied
        | ErrorCode::Forbidden
        | ErrorCode::Unauthenticated
        | ErrorCode::HostNotAllowed
        | ErrorCode::ReadOnly => "Do not repeat this call; do something else, or ask the user.",
        ErrorCode::ApprovalUnavailable | ErrorCode::ApprovalExpired => {
            "A person has to approve this call and did not; tell the user, and go on without it."
        }
        ErrorCode::ToolDisabled
        | ErrorCode::ToolUnavailable
        | ErrorCode::SandboxUnavailable
        | ErrorCode::StorageError
        | ErrorCode::Internal
        | ErrorCode::InvalidOutput => {
            "This tool cannot be used now; use another one, or tell the user."
        }
        ErrorCode::InvalidPath
        | ErrorCode::PermissionDenied
        | ErrorCode::FileNotFound
        | ErrorCode::FileTooLarge
        | ErrorCode::NotText
        | ErrorCode::FileExists => code.remedy(),
        ErrorCode::Timeout | ErrorCode::RequestTimeout => {
            "Ask for less, or do it in smaller steps."
        }
        ErrorCode::Cancelled | ErrorCode::Gone => {
            "It was stopped on purpose; do not repeat it unasked."
        }
        ErrorCode::RateLimited | ErrorCode::Unavailable => "Wait a little, then call again.",
        ErrorCode::ExecutionError
        | ErrorCode::UpstreamError
        | ErrorCode::NetworkError
        | ErrorCode::Conflict
        | ErrorCode::MethodNotAllowed => {
            "Read the message, change the call accordingly, or do something else."
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_keeps_its_ends_and_says_what_is_missing() {
        let long = format!("{}{}", "ä".repeat(500), "z".repeat(500));
        let short = bounded(&long, 100);
        assert!(short.starts_with(&"ä".repeat(75)) && short.ends_with(&"z".repeat(25)));
        assert!(short.contains("[… 900 characters left out; ask for less to see them …]"));
        assert_eq!(bounded(&long, 1000), long);
    }

    #[test]
    fn an_error_says_code_message_details_and_what_to_do() {
        let error = ToolError::new(ErrorCode::InvalidArguments, "`path` is missing")
            .with_detail("pointer", "/path");
        let made = error_text(&error, MAX_RESULT_CHARS);
        assert!(made.failed);
        assert_eq!(
            made.text,
            "INVALID_ARGUMENTS: `path` is missing\n{\"pointer\":\"/path\"}\n\
             Mend the arguments by the tool's schema and call it again."
        );
    }
}
