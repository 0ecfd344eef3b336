//! `toolcrib hook`: events of other programs, judged by the rules and grants of the home; and `connect CLIENT --hooks`.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Ran, Test, golden};

const CLIENTS: [&str; 6] = [
    "claude-code",
    "codex",
    "cursor",
    "gemini",
    "copilot",
    "generic",
];

/// Rules that allow, and some that deny what the standard set does not.
const RULES: &str = r#"
[hooks]
waitMs = 30

[[rules]]
name = "look-at-git"
command = ["git status", "git log", "head"]
verdict = "allow"
reason = "looking changes nothing"

[[rules]]
name = "no-env-files"
path = ".env"
reason = "they hold keys"

[[rules]]
name = "no-pastes"
host = "paste.example.com"
reason = "nothing is pasted"
"#;

fn ready() -> Test {
    Test::new().config(RULES)
}

fn hook(test: &Test, words: &[&str], event: &Value) -> Ran {
    let words: Vec<&str> = ["hook"].iter().chain(words).copied().collect();
    test.run_with_input(&words, &event.to_string())
}

fn bash(command: &str, id: &str) -> Value {
    json!({
        "session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": {"command": command}, "tool_use_id": id, "permission_mode": "default",
    })
}

fn decision(ran: &Ran) -> Value {
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.json()["hookSpecificOutput"]["permissionDecision"].clone()
}

#[test]
fn every_program_is_answered_in_its_own_dialect() {
    let golden_dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/hooks");
    for client in CLIENTS {
        let test = ready();
        let workspace = test.workspace().display().to_string();
        let file = fs::read_to_string(golden_dir.join(format!("{client}.json"))).unwrap();
        let document: Value = serde_json::from_str(&file.replace("{ws}", &workspace)).unwrap();
        assert!(document["source"].is_string());
        let mut answers = String::new();
        for one in document["events"].as_array().unwrap() {
            let ran = hook(&test, &[client], &one["event"]);
            let what = one["what"].as_str().unwrap();
            answers += &format!("# {what}\n{} {}", ran.code, ran.stdout);
            if ran.stdout.is_empty() {
                answers += "\n";
            }
            if !ran.stderr.is_empty() {
                answers += &format!("  {}", ran.stderr);
            }
        }
        let answers = answers.replace(&workspace, "{ws}");
        golden(&format!("hooks/{client}.answers"), &answers);
    }
}

#[test]
fn a_call_is_recorded_when_it_is_judged_and_once_when_it_has_ended() {
    let test = ready();
    hook(&test, &["claude-code"], &bash("npm test", "toolu_1")).prints("{}\n");
    let listed = || test.run(&["calls", "list", "--json"]).json();
    let judged = listed();
    let rows = judged.as_array().unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["tool"], "shell");
    assert_eq!(rows[0]["parameters"]["command"], "npm test");
    let note = json!({"client": "claude-code", "tool": "Bash", "answer": "none"});
    assert_eq!(rows[0]["hook"], note);
    let mut event = bash("npm test", "toolu_1");
    event["hook_event_name"] = "PostToolUseFailure".into();
    event["error"] = "Exit code 1".into();
    event["duration_ms"] = 5.into();
    hook(&test, &["claude-code"], &event).prints("{}\n");
    let over = listed();
    let rows = over.as_array().unwrap();
    assert_eq!(rows.len(), 1, "{over}");
    assert_eq!(rows[0]["hook"]["over"], true);
    assert_eq!(rows[0]["ok"], false);
    assert_eq!(rows[0]["message"], "Exit code 1");
    // A second report of the same end changes nothing.
    hook(&test, &["claude-code"], &event).prints("{}\n");
    assert_eq!(listed().as_array().unwrap().len(), 1);
}

#[test]
fn what_is_wrong_here_blocks_the_call() {
    let test = ready();
    let said = |words: &[&str], input: &str| {
        let words: Vec<&str> = ["hook"].iter().chain(words).copied().collect();
        test.run_with_input(&words, input).exits(2)
    };
    said(&["claude-code"], "not json").says("not JSON");
    said(&["claude-code"], "{}").says("hook_event_name");
    said(&["claude-code"], "[]").says("hook_event_name");
    said(&["claude-code"], "").says("not JSON");
    said(&["nobody"], "{}").says("nobody");
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    said(&["gemini"], &deep).says("not JSON");
    let event = bash("ls", "1").to_string();
    said(&["claude-code", "--client", "stranger"], &event).says("stranger");
    // Copilot reads the answer, too.
    said(&["copilot"], "not json").shows("\"permissionDecision\":\"deny\"");
    for broken in ["hooks = 1", "[[rules]]\nname = 1", "not toml ["] {
        let test = Test::new().config(broken);
        let ran = test.run_with_input(&["hook", "claude-code"], &event);
        ran.exits(2).says("toolcrib: ");
    }
    // After a call there is nothing to block.
    let test = Test::new().config("hooks = 1");
    let after = event.replace("PreToolUse", "PostToolUse");
    test.run_with_input(&["hook", "claude-code"], &after)
        .exits(1);
}

#[test]
fn every_command_of_a_compound_has_to_be_allowed() {
    let test = ready();
    for (command, expected) in [
        ("git status", json!("allow")),
        (
            "git status && git log | head -3; git status",
            json!("allow"),
        ),
        ("git status & git log", json!("allow")),
        ("git status && make", Value::Null),
        ("make | git status", Value::Null),
        ("git status $(make)", Value::Null),
        ("git status `make`", Value::Null),
        ("git status > out", Value::Null),
        ("GIT_DIR=x git status", Value::Null),
        ("cd sub && git status", Value::Null),
        ("if git status; then git log; fi", Value::Null),
        ("git status # make", Value::Null),
        ("git status\nmake", Value::Null),
        ("env git status", Value::Null),
        ("git status <<E\nmake\nE", Value::Null),
        ("(git status)", Value::Null),
        ("! git status", Value::Null),
        ("git status && sudo ls", json!("deny")),
        ("git status && git push", json!("ask")),
    ] {
        let found = decision(&hook(&test, &["claude-code"], &bash(command, command)));
        match expected {
            // A text that is not understood may be asked about; it is not allowed.
            Value::Null => assert_ne!(found, "allow", "{command}"),
            expected => assert_eq!(found, expected, "{command}"),
        }
    }
}

/// Waits for the one question in the queue, and returns its id.
fn question(test: &Test) -> String {
    let ends = Instant::now() + Duration::from_secs(30);
    loop {
        let listed = test.run(&["approvals", "list", "--json"]).json();
        let requests = listed.as_array().cloned().unwrap_or_default();
        if let Some(request) = requests.first() {
            return request["id"].as_str().unwrap().to_owned();
        }
        assert!(Instant::now() < ends, "no question: {listed}");
        std::thread::yield_now();
    }
}

/// Answers the question of a hook that waits for it.
fn answered(test: &Test, client: &str, event: &Value, answer: &[&str]) -> Ran {
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| hook(test, &[client], event));
        let id = question(test);
        let words: Vec<&str> = ["approvals", answer[0], &id]
            .into_iter()
            .chain(answer[1..].iter().copied())
            .collect();
        test.run(&words).exits(0);
        asking.join().unwrap()
    })
}

#[test]
fn where_a_program_cannot_ask_the_queue_is_asked() {
    let test = Test::new().config("[hooks]\nwaitMs = 30000\n");
    let event = bash("git push", "call_1");
    let approved = answered(&test, "codex", &event, &["approve"]);
    // Codex takes nothing else for *go on*.
    approved.exits(0).prints("{}\n");
    let denied = answered(
        &test,
        "codex",
        &bash("git push -f", "call_2"),
        &["deny", "--reason", "not on a Friday"],
    );
    assert_eq!(decision(&denied), "deny");
    assert!(denied.stdout.contains("not on a Friday"), "{denied:?}");
    assert!(denied.stdout.contains("call hook-"), "{denied:?}");
    // With another command, which Codex takes along with *allow*.
    let edited = answered(
        &test,
        "codex",
        &bash("git push origin main", "call_3"),
        &["approve", "--set", "command=git push --dry-run"],
    );
    let output = edited.json()["hookSpecificOutput"].clone();
    assert_eq!(output["updatedInput"]["command"], "git push --dry-run");
    // `--queue` is for programs that could ask, and have no one to ask.
    let queued = Test::new().config("[hooks]\nwaitMs = 30\n");
    let ran = hook(&queued, &["claude-code", "--queue"], &event);
    assert_eq!(decision(&ran), "deny");
    assert!(ran.stdout.contains("no one answered in time"), "{ran:?}");
}

#[test]
fn a_grant_answers_what_a_rule_asks() {
    let test = Test::new();
    let grant = [
        "grants",
        "add",
        "shell",
        "command=git push origin main",
        "--yes",
    ];
    test.run(&grant).exits(0);
    let ran = hook(&test, &["claude-code"], &bash("git push origin main", "t1"));
    assert_eq!(decision(&ran), "allow", "{ran:?}");
    assert!(ran.stdout.contains("allowed by grant "), "{ran:?}");
    // It covers that command, not the command beside it.
    let ran = hook(
        &test,
        &["claude-code"],
        &bash("git push origin main && make", "t2"),
    );
    assert_eq!(decision(&ran), "ask");
}

#[test]
fn commands_are_put_behind_the_sandbox_where_the_program_takes_that() {
    let test = Test::new().config("[hooks]\nsandbox = true\n");
    let ran = hook(&test, &["claude-code"], &bash("echo 'a b'", "t1")).exits(0);
    let output = ran.json()["hookSpecificOutput"].clone();
    assert_eq!(output["permissionDecision"], Value::Null);
    let command = output["updatedInput"]["command"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        command.ends_with(r"sandbox -- bash -c 'echo '\''a b'\'''"),
        "{command}"
    );
    // What was put behind it is judged as it was.
    let sudo = command.replace("echo", "sudo");
    let ran = hook(&test, &["claude-code"], &bash(&sudo, "t2"));
    assert_eq!(decision(&ran), "deny");
    let ran = hook(&test, &["codex"], &bash("ls", "t3"));
    assert_eq!(decision(&ran), "allow");
    // Cursor takes no other command here.
    let event =
        json!({"hook_event_name": "beforeShellExecution", "conversation_id": "c", "command": "ls"});
    hook(&test, &["cursor"], &event).prints("{}\n");
    let event = json!({
        "hook_event_name": "preToolUse", "conversation_id": "c", "tool_name": "Shell", "tool_input": {"command": "ls"},
    });
    let ran = hook(&test, &["cursor"], &event);
    assert!(
        ran.json()["updated_input"]["command"].is_string(),
        "{ran:?}"
    );
}

fn user(test: &Test) -> PathBuf {
    test.home().parent().unwrap().to_owned()
}

/// The clients of `connect`, and where their hooks are below the user's home directory.
const FILES: [(&str, &str); 5] = [
    ("claude-code", ".claude/settings.json"),
    ("codex", ".codex/hooks.json"),
    ("cursor", ".cursor/hooks.json"),
    ("gemini", ".gemini/settings.json"),
    ("copilot-cli", ".copilot/hooks/toolcrib.json"),
];

#[test]
fn connect_writes_hooks_beside_others_and_undo_takes_them_out() {
    let mut written = String::new();
    for (client, path) in FILES {
        let test = Test::new();
        let file = user(&test).join(path);
        let connect = |more: &[&str]| {
            let words: Vec<&str> = ["connect", client, "--hooks", "--yes"]
                .iter()
                .chain(more)
                .copied()
                .collect();
            test.run(&words)
        };
        // Where there was nothing.
        connect(&[]).exits(0);
        let text = fs::read_to_string(&file).unwrap();
        let text = text
            .replace(env!("CARGO_BIN_EXE_toolcrib"), "/usr/bin/toolcrib")
            .replace(&test.home().display().to_string(), "/path/to/toolcrib-home");
        written += &format!("# {client}: ~/{path}\n{text}");
        connect(&[]).exits(0).says("already");
        test.run(&["connect", client, "--hooks", "--undo", "--yes"])
            .exits(0)
            .says("was not there before");
        assert!(!file.exists());
        // Beside what others have there.
        let event = match client {
            "gemini" => "BeforeTool",
            "claude-code" | "codex" => "PreToolUse",
            _ => "preToolUse",
        };
        let theirs = format!(
            "{{\n  // mine\n  \"hooks\": {{ \"{event}\": [{{ \"command\": \"x\" }}] }},\n  \"z\": 1\n}}\n"
        );
        fs::write(&file, &theirs).unwrap();
        connect(&[]).exits(0).says("the file as it was is");
        let now = fs::read_to_string(&file).unwrap();
        assert!(
            now.contains("// mine") && now.contains("\"command\": \"x\""),
            "{now}"
        );
        // Changed since: only ours goes.
        fs::write(&file, now.replace("\"z\": 1", "\"z\": 2")).unwrap();
        test.run(&["connect", client, "--hooks", "--undo", "--yes"])
            .exits(0);
        let now = fs::read_to_string(&file).unwrap();
        assert!(
            now.contains("\"z\": 2") && !now.contains("toolcrib"),
            "{now}"
        );
        // Unchanged: every byte is what it was.
        fs::write(&file, &theirs).unwrap();
        connect(&[]).exits(0);
        test.run(&["connect", client, "--hooks", "--undo", "--yes"])
            .exits(0)
            .says("is what it was before");
        assert_eq!(fs::read_to_string(&file).unwrap(), theirs);
    }
    golden("connect_hooks.txt", &written);
    let test = Test::new();
    test.run(&["connect", "zed", "--hooks"])
        .exits(2)
        .says("no hooks");
    fs::create_dir_all(user(&test).join(".codex")).unwrap();
    fs::write(
        user(&test).join(".codex/hooks.json"),
        "{\"hooks\": {\"PreToolUse\": 1}}",
    )
    .unwrap();
    test.run(&["connect", "codex", "--hooks", "--yes"])
        .says("is not a list");
}

#[test]
fn doctor_tries_the_hooks_and_sees_what_is_wrong_with_them() {
    let test = Test::new().variable("PATH", "/usr/bin:/bin");
    for (client, _) in FILES {
        test.run(&["connect", client, "--hooks", "--yes"]).exits(0);
    }
    let found = |client: &str| {
        let findings = test.run(&["doctor", "--json"]).json();
        let findings = findings.as_array().unwrap().clone();
        let found = findings.into_iter().filter(|finding| {
            finding["check"] == client && finding["message"].to_string().contains("the hook in")
        });
        let found: Vec<Value> = found.collect();
        assert_eq!(found.len(), 1, "{client}: {found:?}");
        found[0].clone()
    };
    for (client, _) in FILES {
        assert_eq!(found(client)["status"], "ok", "{:?}", found(client));
    }
    // It was tried, and nothing was judged.
    assert_eq!(test.run(&["calls", "list", "--json"]).json(), json!([]));
    let change = |path: &str, from: &str, to: &str| {
        let path = user(&test).join(path);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(&path, text.replace(from, to)).unwrap();
    };
    change(".claude/settings.json", "\"block\"", "\"continue\"");
    assert!(
        found("claude-code")["message"]
            .to_string()
            .contains("lets calls through")
    );
    change(
        ".codex/hooks.json",
        env!("CARGO_BIN_EXE_toolcrib"),
        "/gone/toolcrib",
    );
    assert_eq!(found("codex")["status"], "broken");
    test.run(&["config", "set", "hooks.waitMs", "600000"])
        .exits(0);
    assert!(
        found("gemini")["message"]
            .to_string()
            .contains("hooks.waitMs")
    );
}
