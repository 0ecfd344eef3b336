//! Hooks of clients that start Toolcrib: started as the client would, with an event that nothing is judged for.
//!
//! A project's file may have come with the project: of those only what `toolcrib connect` wrote is started.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib::Crib;
use toolcrib::model::text::{shorten, visible};

use super::super::connect::{HookedClient, hooked};
use super::super::hook::DOCTOR;
use super::Finding;
use crate::clients_of_others::Scope;
use crate::hooks::{HookClient, timeout_of};

/// How long a hook may take for nothing.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn look(crib: &Crib, findings: &mut Vec<Finding>) {
    let (all, problems) = hooked(crib);
    for (client, why) in problems {
        let fix = "fix the file: the program cannot read it either";
        findings.push(Finding::warning(client.word(), why, fix));
    }
    findings.extend(all.iter().map(|one| tried(one, crib)));
}

fn tried(one: &HookedClient, crib: &Crib) -> Finding {
    let word = one.other.word();
    let at = format!("the hook in {}", one.file.display());
    let project = match one.scope {
        Scope::Project => " --project",
        Scope::User => "",
    };
    let again =
        format!("`toolcrib connect {word} --hooks{project}` writes it again; `--undo` removes it");
    if one.scope == Scope::Project && !one.is_recorded {
        let message = format!("{at} was not started: it came with the project");
        let fix =
            format!("look at it; `toolcrib connect {word} --hooks --project` writes your own");
        return Finding::warning(word, message, fix);
    }
    let wait = crib.config().hooks().wait.as_secs();
    let mut commands = Vec::new();
    for (event, group) in &one.ours {
        let Some((command, seconds)) = timeout_of(group, one.client) else {
            return Finding::broken(word, format!("{at}: `{event}` starts nothing"), again);
        };
        let is_before = matches!(event.as_str(), "PreToolUse" | "BeforeTool" | "preToolUse");
        if is_before && seconds <= wait {
            let message = format!(
                "{at} is given {seconds} s, and a person in the approvals queue {wait} s (`hooks.waitMs`): a question that takes longer may let the call through"
            );
            return Finding::warning(word, message, again);
        }
        if is_before && !closes(group, one.client) {
            let message =
                format!("{at} lets calls through when it fails: its setting for that is gone");
            return Finding::warning(word, message, again);
        }
        if !commands.contains(&command) {
            commands.push(command);
        }
    }
    let begun = Instant::now();
    for command in &commands {
        if let Err(why) = try_command(command, one.client, crib) {
            return Finding::broken(word, format!("{at}: {why}"), again);
        }
    }
    let took = begun.elapsed().as_millis();
    Finding::ok(word, format!("{at} works: answered in {took} ms"))
}

/// Whether a hook that fails keeps the call from being made, where its client has a setting for that.
fn closes(group: &Value, client: HookClient) -> bool {
    match client {
        HookClient::ClaudeCode => group["hooks"][0]["onFailure"] == "block",
        HookClient::Cursor => group["failClosed"] == true,
        HookClient::Codex | HookClient::Gemini | HookClient::Copilot | HookClient::Generic => true,
    }
}

/// Starts a hook's command as its client does, with an event that needs no answer.
fn try_command(command: &str, client: HookClient, crib: &Crib) -> Result<(), String> {
    let directory = crib.workspace_path().unwrap_or(crib.home());
    let event = match client {
        HookClient::Cursor => json!({"hook_event_name": "doctor", "conversation_id": DOCTOR}),
        HookClient::Copilot => json!({"sessionId": DOCTOR}),
        HookClient::ClaudeCode | HookClient::Codex | HookClient::Gemini | HookClient::Generic => {
            json!({"hook_event_name": "doctor", "session_id": DOCTOR, "cwd": directory})
        }
    };
    let mut child = Command::new("sh")
        .args(["-c", command])
        .current_dir(if directory.is_dir() {
            directory
        } else {
            "/".as_ref()
        })
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("`{}` cannot be started: {error}", visible(command)))?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that reads nothing says so by its answer.
        let _ = stdin.write_all(event.to_string().as_bytes());
    }
    let ends = Instant::now() + PATIENCE;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < ends => std::thread::sleep(Duration::from_millis(5)),
            Ok(None) | Err(_) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("`{}` did not answer in time", visible(command)));
            }
        }
    };
    let read = |stream: Option<&mut dyn std::io::Read>| {
        let mut text = Vec::new();
        if let Some(stream) = stream {
            let _ = stream.take(64 * 1024).read_to_end(&mut text);
        }
        String::from_utf8_lossy(&text).trim().to_owned()
    };
    let answer = read(
        child
            .stdout
            .as_mut()
            .map(|out| out as &mut dyn std::io::Read),
    );
    let said = read(
        child
            .stderr
            .as_mut()
            .map(|err| err as &mut dyn std::io::Read),
    );
    let is_answer = serde_json::from_str::<Value>(&answer).is_ok_and(|answer| answer.is_object());
    match (status.success(), is_answer) {
        (true, true) => Ok(()),
        (true, false) => Err(format!("`{}` printed no answer", visible(command))),
        (false, _) => Err(format!(
            "`{}` failed ({status}); it said: {}",
            visible(command),
            shorten(&visible(&said), 400)
        )),
    }
}
