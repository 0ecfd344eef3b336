//! The hooks of other programs: what they report about calls of their tools, and how they are answered.
//!
//! ```text
//! mod       which programs there are, what each of them can be answered
//! event     reading what a program sends
//! meaning   which of our tools a program's own tool means the same as
//! patch     the files of a patch in Codex's format
//! answer    writing the answer
//! files     where the programs have their hooks, what is written there
//! ```
//!
//! Formats move: what is here was looked up in autumn 2026, in the programs themselves where they can be had. The sources are named beside
//! the golden events in `tests/golden/hooks`.

mod answer;
mod event;
mod files;
mod meaning;
mod patch;

pub(crate) use answer::{Answer, answer};
pub(crate) use event::{Event, MAX_BYTES, Phase};
pub(crate) use files::{HookEntry, HooksFile, timeout_of};
pub(crate) use meaning::{Place, Use, uses, wrapped};

use crate::clients_of_others::OtherClient;

/// A program whose hooks are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum HookClient {
    /// Claude Code
    ClaudeCode,
    /// Codex
    Codex,
    /// Cursor
    Cursor,
    /// Gemini CLI
    Gemini,
    /// GitHub Copilot: its CLI, and VS Code
    Copilot,
    /// Any other program: the format is in docs/hooks.md
    Generic,
}

impl HookClient {
    /// The word for it on the command line.
    pub(crate) fn word(self) -> &'static str {
        match self {
            HookClient::ClaudeCode => "claude-code",
            HookClient::Codex => "codex",
            HookClient::Cursor => "cursor",
            HookClient::Gemini => "gemini",
            HookClient::Copilot => "copilot",
            HookClient::Generic => "generic",
        }
    }

    /// What it calls itself.
    pub(crate) fn title(self) -> &'static str {
        match self {
            HookClient::ClaudeCode => "Claude Code",
            HookClient::Codex => "Codex",
            HookClient::Cursor => "Cursor",
            HookClient::Gemini => "Gemini CLI",
            HookClient::Copilot => "Copilot",
            HookClient::Generic => "the program",
        }
    }

    /// The hooks of a program that `connect` knows.
    pub(crate) fn of(client: OtherClient) -> Option<Self> {
        match client {
            OtherClient::ClaudeCode => Some(HookClient::ClaudeCode),
            OtherClient::Codex => Some(HookClient::Codex),
            OtherClient::Cursor => Some(HookClient::Cursor),
            OtherClient::Gemini => Some(HookClient::Gemini),
            OtherClient::VsCode | OtherClient::CopilotCli => Some(HookClient::Copilot),
            OtherClient::ClaudeDesktop
            | OtherClient::LmStudio
            | OtherClient::Zed
            | OtherClient::Windsurf
            | OtherClient::Cline
            | OtherClient::Roo
            | OtherClient::Opencode
            | OtherClient::Goose
            | OtherClient::Jetbrains
            | OtherClient::Generic => None,
        }
    }

    /// Whether it asks its person when it is answered *ask*. Where it does not, the question goes to the approvals queue.
    ///
    /// Codex takes *ask* for a mistake and makes the call (`output_parser.rs`); Cursor does not enforce it (its reference says so of
    /// `preToolUse`; version 3.9 shows no question for `beforeShellExecution` either). Claude Code has no one to ask in a run without a
    /// terminal, which is a run of its SDK, and in modes that ask nothing.
    pub(crate) fn asks(self, event: &Event) -> bool {
        match self {
            HookClient::ClaudeCode => {
                let mode = event.mode.as_deref().unwrap_or_default();
                let entry = std::env::var("CLAUDE_CODE_ENTRYPOINT").unwrap_or_default();
                !matches!(mode, "dontAsk" | "bypassPermissions") && !entry.starts_with("sdk")
            }
            HookClient::Codex | HookClient::Cursor => false,
            HookClient::Gemini | HookClient::Copilot => true,
            HookClient::Generic => event.can_ask,
        }
    }

    /// Whether *allow* means something to it: Codex takes it for a mistake.
    pub(crate) fn takes_allow(self) -> bool {
        self != HookClient::Codex
    }

    /// The variable in which it names the directory of the project.
    pub(crate) fn project_variable(self) -> Option<&'static str> {
        match self {
            HookClient::ClaudeCode => Some("CLAUDE_PROJECT_DIR"),
            HookClient::Cursor => Some("CURSOR_PROJECT_DIR"),
            HookClient::Gemini => Some("GEMINI_PROJECT_DIR"),
            HookClient::Codex | HookClient::Copilot | HookClient::Generic => None,
        }
    }
}
