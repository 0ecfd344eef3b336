//! Where programs have their hooks, and what is written there: [`HooksFile`].
//!
//! Sources, autumn 2026: Claude Code, the schema of its settings (`onFailure`, version 2.1.325); Codex, `codex-rs/config/src/hook_config.rs`;
//! Cursor, cursor.com/docs/hooks (`failClosed`); Gemini CLI, docs/hooks/reference.md; Copilot CLI and VS Code,
//! docs.github.com/copilot/reference/hooks-reference.

use serde_json::{Map, Value, json};

use super::HookClient;
use super::meaning::quoted;
use crate::clients_of_others::{Document, Format};

/// How much longer than a person a program waits for the answer.
const MARGIN_SECS: u64 = 15;

/// The tools that are judged, for programs that start a hook only for what it names.
const CLAUDE: &str =
    "Bash|Monitor|Edit|MultiEdit|Write|NotebookEdit|Read|NotebookRead|WebFetch|Grep|Glob|LS";
const CODEX: &str = "Bash|apply_patch|view_image";
const CURSOR: &str = "Shell|Read|Write|Edit|StrReplace|Delete|WebFetch|Grep|Glob|LS";
const GEMINI: &str = "run_shell_command|read_file|read_many_files|write_file|replace|web_fetch|glob|grep_search|search_file_content|list_directory";

/// The entry for one event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HookEntry {
    pub(crate) event: &'static str,
    pub(crate) group: Value,
}

/// The text of a program's file of hooks.
#[derive(Debug, Clone)]
pub(crate) struct HooksFile<'a> {
    pub(crate) client: HookClient,
    pub(crate) text: &'a str,
}

impl HooksFile<'_> {
    /// The entries, for a command that waits so long for a person.
    pub(crate) fn entries(
        client: HookClient,
        words: &[String],
        wait: std::time::Duration,
    ) -> Vec<HookEntry> {
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let command = words.join(" ");
        let seconds = wait.as_secs() + MARGIN_SECS;
        let command_of = |more: Value| {
            let mut hook = json!({"type": "command", "command": command, "timeout": seconds});
            if let (Some(hook), Value::Object(more)) = (hook.as_object_mut(), more) {
                hook.extend(more);
            }
            hook
        };
        let entry = |event, group| HookEntry { event, group };
        match client {
            HookClient::ClaudeCode => {
                let group = |hook: Value| json!({"matcher": CLAUDE, "hooks": [hook]});
                let closed = command_of(json!({"onFailure": "block"}));
                vec![
                    entry("PreToolUse", group(closed)),
                    entry("PostToolUse", group(command_of(Value::Null))),
                    entry("PostToolUseFailure", group(command_of(Value::Null))),
                ]
            }
            HookClient::Codex => {
                let group = json!({"matcher": CODEX, "hooks": [command_of(Value::Null)]});
                vec![
                    entry("PreToolUse", group.clone()),
                    entry("PostToolUse", group),
                ]
            }
            HookClient::Gemini => {
                let hook = command_of(json!({"name": "toolcrib", "timeout": seconds * 1000}));
                let group = json!({"matcher": GEMINI, "hooks": [hook]});
                vec![
                    entry("BeforeTool", group.clone()),
                    entry("AfterTool", group),
                ]
            }
            HookClient::Cursor => {
                let hook = json!({"command": command, "timeout": seconds, "matcher": CURSOR});
                let mut closed = hook.clone();
                closed["failClosed"] = true.into();
                vec![
                    entry("preToolUse", closed),
                    entry("postToolUse", hook.clone()),
                    entry("postToolUseFailure", hook),
                ]
            }
            HookClient::Copilot => {
                let hook = json!({"type": "command", "bash": command, "timeoutSec": seconds});
                vec![
                    entry("preToolUse", hook.clone()),
                    entry("postToolUse", hook.clone()),
                    entry("postToolUseFailure", hook),
                ]
            }
            HookClient::Generic => Vec::new(),
        }
    }

    fn document<'t>(&self, text: &'t str) -> Document<'t> {
        Document {
            text,
            format: Format::Json,
            key: "hooks",
        }
    }

    /// The hooks in it that start Toolcrib, each with its event. The error says what is wrong with the text.
    pub(crate) fn ours(&self) -> Result<Vec<(String, Value)>, String> {
        let mut ours = Vec::new();
        for (event, groups) in self.document(self.text).servers()? {
            for group in groups_of(&event, &groups)? {
                if is_ours(group, self.client) {
                    ours.push((event.clone(), group.clone()));
                }
            }
        }
        Ok(ours)
    }

    /// Whether exactly these are in it.
    pub(crate) fn has(&self, entries: &[HookEntry]) -> Result<bool, String> {
        let ours = self.ours()?;
        let same = |((event, group), entry): (&(String, Value), &HookEntry)| {
            *event == entry.event && *group == entry.group
        };
        Ok(ours.len() == entries.len() && ours.iter().zip(entries).all(same))
    }

    /// The text with these in the place of what Toolcrib had there.
    pub(crate) fn with(&self, entries: &[HookEntry]) -> Result<String, String> {
        let mut text = match self.text.trim().is_empty() && self.has_version() {
            true => "{\n  \"version\": 1\n}\n".to_owned(),
            false => self.text.to_owned(),
        };
        for entry in entries {
            let known = self.document(&text).servers()?;
            let mut groups = match known.get(entry.event) {
                Some(groups) => groups_of(entry.event, groups)?.to_vec(),
                None => Vec::new(),
            };
            groups.retain(|group| !is_ours(group, self.client));
            groups.push(entry.group.clone());
            let groups = Value::Array(groups);
            text = self.document(&text).with_value(entry.event, &groups)?;
        }
        Ok(text)
    }

    /// The text without what Toolcrib has there; the table of events goes too if nothing else is in it.
    pub(crate) fn without(&self) -> Result<String, String> {
        let mut text = self.text.to_owned();
        for (event, groups) in self.document(self.text).servers()? {
            let mut rest = groups_of(&event, &groups)?.to_vec();
            let all = rest.len();
            rest.retain(|group| !is_ours(group, self.client));
            if rest.len() == all {
                continue;
            }
            let document = self.document(&text);
            text = match rest.is_empty() {
                true => document.without(&event, true)?,
                false => document.with_value(&event, &Value::Array(rest))?,
            };
        }
        Ok(text)
    }

    /// Whether its format has a version.
    fn has_version(&self) -> bool {
        matches!(self.client, HookClient::Cursor | HookClient::Copilot)
    }

    /// What to paste.
    pub(crate) fn snippet(&self, entries: &[HookEntry]) -> String {
        let hooks: Map<String, Value> = entries
            .iter()
            .map(|entry| (entry.event.to_owned(), json!([entry.group])))
            .collect();
        let document = match self.has_version() {
            true => json!({"version": 1, "hooks": hooks}),
            false => json!({"hooks": hooks}),
        };
        serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
    }
}

fn groups_of<'v>(event: &str, groups: &'v Value) -> Result<&'v [Value], String> {
    let list = groups.as_array().map(Vec::as_slice);
    list.ok_or_else(|| format!("`hooks.{event}` in it is not a list"))
}

/// The command of a hook, where it is one of Toolcrib's for this program.
fn is_ours(group: &Value, client: HookClient) -> bool {
    command_of(group).is_some_and(|command| {
        let end = format!(" hook {}", client.word());
        let program = command.strip_suffix(&end).or_else(|| {
            let at = command.find(&format!("{end} "))?;
            Some(&command[..at])
        });
        program.is_some_and(|program| program.contains("toolcrib"))
    })
}

/// The command that a hook starts.
fn command_of(group: &Value) -> Option<&str> {
    let inner = group.get("hooks").and_then(|hooks| hooks.get(0));
    let hook = inner.unwrap_or(group);
    let command = hook.get("command").or_else(|| hook.get("bash"));
    command.and_then(Value::as_str)
}

/// The command of a hook, and how many seconds its program waits for it.
pub(crate) fn timeout_of(group: &Value, client: HookClient) -> Option<(&str, u64)> {
    let inner = group.get("hooks").and_then(|hooks| hooks.get(0));
    let hook = inner.unwrap_or(group);
    let timeout = hook.get("timeout").or_else(|| hook.get("timeoutSec"));
    let timeout = timeout.and_then(Value::as_u64).unwrap_or(30);
    let seconds = match client {
        HookClient::Gemini => timeout / 1000,
        _ => timeout,
    };
    Some((command_of(group)?, seconds))
}
