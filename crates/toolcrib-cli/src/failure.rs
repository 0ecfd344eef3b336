//! Errors of the command line: one envelope, one exit code, words that say what to type next.

use std::any::Any;
use std::io::Write as _;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use serde_json::{Value, json};
use toolcrib::crib::OpenError;
use toolcrib::model::text;
use toolcrib::{ErrorCode, ToolError};

use crate::output::Output;

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct CliError {
    error: ToolError,
    hint: Option<String>,
    /// Instead of the code's own: commands that pass a program's exit code through keep clear of it.
    exit: Option<u8>,
}

impl CliError {
    /// The command line makes no sense.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        ToolError::new(ErrorCode::Usage, message).into()
    }

    /// What to type next, instead of the code's own remedy.
    #[must_use]
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Exits with this instead of the code's own.
    #[must_use]
    pub(crate) fn exiting(mut self, code: u8) -> Self {
        self.exit = Some(code);
        self
    }

    /// What went wrong.
    pub(crate) fn message(&self) -> &str {
        self.error.message()
    }

    /// A panic that reached the top.
    pub(crate) fn bug(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no message");
        ToolError::new(ErrorCode::Internal, format!("a bug in Toolcrib: {text}")).into()
    }

    /// Prints the error where it belongs and says how to exit.
    pub(crate) fn report(&self, output: &Output) -> ExitCode {
        // It may quote what was typed.
        let error = self.error.clone().masked(&output.masker());
        if output.json() {
            output.document(&envelope(&error));
        } else {
            print_error(output, &error, self.hint.as_deref());
        }
        ExitCode::from(self.exit.unwrap_or_else(|| self.error.code().exit_code()))
    }
}

impl From<ToolError> for CliError {
    fn from(error: ToolError) -> Self {
        CliError {
            error,
            hint: None,
            exit: None,
        }
    }
}

impl From<OpenError> for CliError {
    fn from(error: OpenError) -> Self {
        let hint = match &error {
            OpenError::Config(_) => "`toolcrib config path` says where the settings are read from",
            OpenError::Workspace(_) => {
                "it is named by --workspace, TOOLCRIB_WORKSPACE or the setting `workspace` (`toolcrib config path` prints its file)"
            }
            OpenError::Home(_) | OpenError::Register(_) | OpenError::Format(_) => {
                "`toolcrib --help` shows the options"
            }
        };
        if let OpenError::Format(error) = error {
            return ToolError::from(error).into();
        }
        CliError::usage(error.to_string()).with_hint(hint)
    }
}

/// The REST envelope, without metadata: there was no call.
fn envelope(error: &ToolError) -> Value {
    json!({"ok": false, "error": error})
}

/// How many lines are shown of what the program of a server printed.
const MAX_PRINTED: usize = 5;

/// Prints an error for a person: what, each fault, what to do.
pub(crate) fn print_error(output: &Output, error: &ToolError, hint: Option<&str>) {
    let faults = error
        .details()
        .and_then(|details| details.get("faults"))
        .and_then(Value::as_array);
    let message = match faults {
        // One line each reads better than the joined message.
        Some(faults) if faults.len() > 1 => error.message().split(": ").next().unwrap_or_default(),
        _ => error.message(),
    };
    output.error_line(&format!(
        "{} {}",
        output.red("error:"),
        text::visible(&output.with_paths(message))
    ));
    if let Some(faults) = faults.filter(|faults| faults.len() > 1) {
        for fault in faults {
            let part = |key: &str| fault.get(key).and_then(Value::as_str).unwrap_or_default();
            output.error_line(&format!(
                "  {} {}",
                output.bold(&text::visible(part("pointer"))),
                text::visible(part("message"))
            ));
        }
    }
    // What the program of a server printed last often says why.
    let printed = error
        .details()
        .filter(|_| error.code() == ErrorCode::UpstreamError)
        .and_then(|details| details.get("stderr")?.as_str());
    let printed: Vec<&str> = printed.unwrap_or_default().lines().collect();
    for line in &printed[printed.len().saturating_sub(MAX_PRINTED)..] {
        output.error_line(&format!("  | {}", text::visible(line)));
    }
    // A damaged record has the right name: the message says what to do.
    let says = |_: &&str| {
        let commands = ["`toolcrib doctor", "`toolcrib upstream "];
        !commands
            .iter()
            .any(|command| error.message().contains(command))
    };
    let line = match hint.or_else(|| remedy(error.code()).filter(says)) {
        Some(hint) => format!("{}: {}", error.code(), output.with_paths(hint)),
        None => error.code().to_string(),
    };
    output.error_line(&format!("  {}", output.dim(&line)));
}

/// The code's own advice, where the message does not carry better: file tools say what to try, and who asks says how to
/// answer.
fn remedy(code: ErrorCode) -> Option<&'static str> {
    use ErrorCode as C;
    match code {
        C::InvalidPath
        | C::PermissionDenied
        | C::FileNotFound
        | C::FileTooLarge
        | C::NotText
        | C::FileExists
        | C::Conflict
        | C::ApprovalUnavailable => None,
        // A caller that knows which tool it was gives a hint that names it.
        other => Some(other.remedy()).filter(|remedy| !remedy.contains("<tool>")),
    }
}

/// Whether a curl command follows `--from-curl` without quotes.
fn is_unquoted_curl() -> bool {
    let mut words = std::env::args().skip_while(|word| word != "--from-curl");
    words.next().is_some() && words.next().is_some_and(|word| word == "curl")
}

/// What people who know other command lines type first.
fn newcomer_hint(error: &clap::Error) -> Option<String> {
    let word = |kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.clone()),
        _ => None,
    };
    match error.kind() {
        // The shell has cut the command into words.
        ErrorKind::UnknownArgument if is_unquoted_curl() => Some(
            "quote the whole command: --from-curl 'curl …'; or @FILE, or - and send it by stdin"
                .to_owned(),
        ),
        ErrorKind::UnknownArgument if std::env::args().any(|word| word == "run") => {
            let flag = word(ContextKind::InvalidArg)?;
            let name = flag
                .trim_start_matches('-')
                .split('=')
                .next()
                .unwrap_or_default()
                .replace('-', "_");
            // A near flag is a better guess.
            let near = error.get(ContextKind::SuggestedArg).is_some();
            (!near).then(|| format!("arguments of tools are written name=value: `{name}=…`"))
        }
        ErrorKind::InvalidSubcommand => {
            let tool = word(ContextKind::InvalidSubcommand)?;
            let found = toolcrib::Crib::open().ok()?.registry().find(&tool).ok()?;
            Some(format!(
                "did you mean `toolcrib run {}`?",
                found.spec().name
            ))
        }
        _ => None,
    }
}

/// Reports what clap found wrong (or the help it was asked for).
pub(crate) fn report_usage(mut error: clap::Error) -> ExitCode {
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    ) {
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    // The flags were not parsed, so look for the word itself, before any `--`.
    let wants_json = std::env::args_os()
        .take_while(|word| word != "--")
        .any(|word| word == "--json");
    if wants_json {
        let rendered = error.render().to_string();
        let message: Vec<&str> = rendered
            .lines()
            .map(str::trim)
            .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
            .filter(|line| !line.is_empty())
            .collect();
        let message = message.join(" ");
        let error = ToolError::new(ErrorCode::Usage, message.trim_start_matches("error: "));
        // The caller may be gone; that is not a bug.
        let _ = writeln!(std::io::stdout(), "{}", envelope(&error));
    } else {
        let hint = newcomer_hint(&error);
        if hint.is_some() {
            // Of two pieces of advice, ours knows the tools.
            error.remove(ContextKind::Suggested);
            error.remove(ContextKind::SuggestedSubcommand);
        }
        let _ = error.print();
        if let Some(hint) = hint {
            eprintln!("\n  {hint}");
        }
    }
    ExitCode::from(ErrorCode::Usage.exit_code())
}
