//! How a command ended: as a value, or as an error that keeps what was printed.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::Wall;
use super::capture::Captured;
use super::dialogue::Talk;
use crate::call::context::CallContext;
use crate::model::JsonObject;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::limits::as_millis;
use crate::model::outcome::{SandboxUse, ToolOutput};
use crate::sandbox::{Command, EndedBy, Report, Status};

/// A command that ended by itself.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// Both in the order in which they came, without the newline at the end.
    pub(crate) output: String,
    /// Whether `output` is not all there was. (That `stdout` or `stderr` is not, the call knows already.)
    pub(crate) is_output_cut: bool,
    pub(crate) exit_code: i32,
    pub(crate) duration: Duration,
    /// It failed, complains of having no network, and the wall gives it none.
    pub(crate) no_network: Option<NoNetwork>,
}

/// What a command that has no network tried to reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NoNetwork {
    /// The host, where the complaint names it.
    pub(crate) host: Option<String>,
}

/// How programs say that a name cannot be looked up, or nothing be reached.
const COMPLAINTS: &[&str] = &[
    "could not resolve host",
    "couldn't resolve host",
    "temporary failure in name resolution",
    "temporary failure resolving",
    "name or service not known",
    "nodename nor servname provided",
    "network is unreachable",
    "getaddrinfo enotfound",
    "getaddrinfo eai_again",
    "failed to lookup address",
    "unable to resolve host address",
    "dns error",
    "no such host",
];

/// The host at the beginning of a text.
fn host_at(text: &str) -> Option<String> {
    let host: String = text
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'))
        .collect();
    let host = host.trim_end_matches('.');
    (host.contains('.') && host.len() <= 253).then(|| host.to_owned())
}

impl NoNetwork {
    /// By what a command printed.
    pub(super) fn complained_of(stderr: &str, stdout: &str) -> Option<Self> {
        let text = format!("{stderr}\n{stdout}").to_lowercase();
        let at = COMPLAINTS.iter().find_map(|complaint| {
            let start = text.find(complaint)?;
            Some(start + complaint.len())
        })?;
        let rest = text[at..].trim_start_matches([':', ' ', '\'', '"', '`']);
        Some(NoNetwork {
            host: host_at(rest),
        })
    }

    /// By the exit code of a program that prints nothing where it is used quietly (`curl -s`, `wget -q`).
    pub(super) fn ended_quietly(exit_code: i32, command: &Command) -> Option<Self> {
        let program = match exit_code {
            // No such host; no connection.
            6 | 7 => "curl",
            // A failure of the network.
            4 => "wget",
            _ => return None,
        };
        let text: Vec<_> = command.words().map(OsStr::to_string_lossy).collect();
        let text = text.join(" ");
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if !{ text.split(|c| !is_word(c)) }.any(|word| word == program) {
            return None;
        }
        let address = text.split_once("://").map(|(_, rest)| rest);
        Some(NoNetwork {
            host: address.and_then(host_at),
        })
    }

    /// For commands that reach what the settings say.
    fn by_settings(&self) -> String {
        let host = self.host.as_deref().unwrap_or("HOST");
        format!(
            "the sandbox gives this command no network, so trying another host does not help; the operator can allow hosts with `toolcrib config set sandbox.network listed` and `toolcrib config set --add allowedHosts {host}`"
        )
    }

    /// For commands that reach what the file of their tool permits.
    pub(crate) fn by_permission(&self) -> String {
        let host = self.host.as_deref().unwrap_or("HOST");
        format!(
            "the sandbox gives this command no network; `network:external:{host}` among the tool's `required-permissions` allows a host"
        )
    }
}

pub(super) fn finished(
    cx: &CallContext,
    report: &Report,
    captured: Captured,
    talk: Option<&Talk>,
) -> Result<Finished, ToolError> {
    let name = &cx.spec().name;
    let failure = match (report.ended_by, report.status) {
        (None, Status::Exited(exit_code)) => {
            let Captured {
                stdout,
                stderr,
                output,
                is_output_cut,
            } = captured;
            return Ok(Finished {
                stdout,
                stderr,
                output,
                is_output_cut,
                exit_code,
                duration: report.duration,
                no_network: None,
            });
        }
        (None, Status::Signalled(signal)) => {
            ToolError::failed(format!("the command was ended by {}", signal_name(signal)))
        }
        (Some(EndedBy::Time | EndedBy::Cancelled), _) => {
            ToolError::new(ErrorCode::Cancelled, format!("`{name}` was cancelled"))
        }
        (Some(EndedBy::Silence), _) => talk.map_or_else(
            || ToolError::new(ErrorCode::Timeout, "the program waits for input"),
            Talk::waited,
        ),
        (Some(limit), _) => ToolError::failed(match limit {
            EndedBy::Memory => "the command needed more memory than it may have, and was ended",
            EndedBy::Growth => "the command wrote more than it may, and was ended",
            EndedBy::Cpu => "the command used more CPU time than it may have (the setting `limits.cpuSeconds`), and was ended",
            _ => "the command reached a limit, and was ended",
        })
        .with_detail(
            "limit",
            match limit {
                // As the setting is called.
                EndedBy::Cpu => "cpuSeconds",
                limit => limit.name(),
            },
        ),
    };
    if captured.is_output_cut {
        cx.note_truncated();
    }
    let mut details = fields(
        captured.stdout,
        captured.stderr,
        report.exit_code(),
        report.duration,
    );
    details.insert("output".to_owned(), captured.output.into());
    if let (None, Status::Signalled(signal)) = (report.ended_by, report.status) {
        details.insert("signal".to_owned(), signal.into());
    }
    Err(with_details(failure, details))
}

pub(super) fn with_details(error: ToolError, details: JsonObject) -> ToolError {
    details
        .into_iter()
        .fold(error, |error, (key, value)| error.with_detail(key, value))
}

/// The published result of a command, whether it succeeded or not.
fn fields(stdout: String, stderr: String, exit_code: i32, duration: Duration) -> JsonObject {
    let mut fields = JsonObject::with_capacity(5);
    fields.insert("stdout".to_owned(), stdout.into());
    fields.insert("stderr".to_owned(), stderr.into());
    fields.insert("exitCode".to_owned(), exit_code.into());
    fields.insert("duration".to_owned(), as_millis(duration).into());
    fields
}

impl Finished {
    /// The value `{stdout, stderr, exitCode, duration}`, and a text that says what a model needs to know of it.
    pub(crate) fn into_output(self) -> ToolOutput {
        let mut text = self.stdout.clone();
        if !self.stderr.is_empty() {
            end_line(&mut text);
            text.push_str("[stderr]\n");
            text.push_str(&self.stderr);
        }
        if self.exit_code != 0 {
            end_line(&mut text);
            text.push_str(&format!("[exit code {}]\n", self.exit_code));
        }
        let note = self.no_network.as_ref().map(NoNetwork::by_settings);
        if let Some(note) = &note {
            text.push_str(&format!("[{note}]\n"));
        }
        let mut value = fields(self.stdout, self.stderr, self.exit_code, self.duration);
        if let Some(note) = note {
            value.insert("note".to_owned(), note.into());
        }
        ToolOutput::value(value).with_text(text)
    }
}

fn end_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

/// The schema of what [`Finished::into_output`] gives.
pub(crate) fn output_schema() -> Value {
    json!({
        "type": "object",
        "required": ["stdout", "stderr", "exitCode", "duration"],
        "properties": {
            "stdout": {"type": "string", "description": "What it printed"},
            "stderr": {"type": "string", "description": "What it printed as errors"},
            "exitCode": {"type": "integer", "description": "0 when all went well, by convention"},
            "duration": {"type": "integer", "description": "How long it ran, in milliseconds"},
            "note": {"type": "string", "description": "Why it failed, where the sandbox is the reason"}
        }
    })
}

/// What stood around a run; `planted` is what it planted and could not be held.
pub(super) fn sandbox_use(wall: &Wall, report: &Report, planted: &[PathBuf]) -> SandboxUse {
    SandboxUse {
        requested: wall.level.name().to_owned(),
        level: report.level.name().to_owned(),
        layers: report
            .layers
            .iter()
            .map(|layer| layer.name().to_owned())
            .collect(),
        not_enforced: report
            .not_enforced
            .iter()
            .map(|missing| missing.layer.name().to_owned())
            .collect(),
        planted: planted
            .iter()
            .map(|path| path.to_string_lossy().into_owned())
            .collect(),
    }
}

fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        other => return format!("signal {other}"),
    };
    format!("signal {signal} ({name})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_about_a_missing_network_are_known_with_their_host() {
        for (text, host) in [
            (
                "curl: (6) Could not resolve host: example.invalid",
                Some("example.invalid"),
            ),
            (
                "wget: unable to resolve host address 'a.example.com'",
                Some("a.example.com"),
            ),
            (
                "fatal: unable to access 'https://x/': Could not resolve host: github.com",
                Some("github.com"),
            ),
            (
                "Error: getaddrinfo ENOTFOUND registry.npmjs.org",
                Some("registry.npmjs.org"),
            ),
            (
                "socket.gaierror: [Errno -3] Temporary failure in name resolution",
                None,
            ),
            ("connect: Network is unreachable", None),
        ] {
            let known = NoNetwork::complained_of(text, "").unwrap();
            assert_eq!(known.host.as_deref(), host, "{text}");
        }
        assert_eq!(NoNetwork::complained_of("permission denied", "ok"), None);
        assert!(NoNetwork::complained_of("", "curl: (6) Could not resolve host: x.test").is_some());
    }

    #[test]
    fn quiet_downloads_without_a_network_are_known_by_their_exit_codes() {
        let ended = |code, text: &str| {
            NoNetwork::ended_quietly(code, &Command::new("bash").args(["-c", text]))
        };
        for (code, text, host) in [
            (6, "curl -s https://example.test/a", Some("example.test")),
            (7, "/usr/bin/curl -s $URL", None),
            (
                4,
                "wget -q http://a.example.com:80/x",
                Some("a.example.com"),
            ),
        ] {
            let known = ended(code, text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(known.host.as_deref(), host, "{text}");
        }
        for (code, text) in [
            (6, "mycurl -s https://example.test"),
            (4, "curl -s https://example.test"),
            (22, "curl -sf https://example.test"),
        ] {
            assert_eq!(ended(code, text), None, "{code}: {text}");
        }
    }
}
