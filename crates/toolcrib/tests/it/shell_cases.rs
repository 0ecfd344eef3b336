//! The given attacks on `shell`, run for real: whatever the rules say of a command, what lies outside the workspace stays as
//! it is; and commands that only look dangerous run.

use std::path::Path;
use std::process::Command;
use toolcrib::testing::WithBuiltins as _;

use serde_json::Value;
use toolcrib::testing::TestCrib;
use toolcrib::{CallRequest, ErrorCode};

/// The given cases of the table that `rules::verdicts` judges: id, command, whether it is allowed. Only the sandbox stops attacks that the
/// rules allow (a script, a Makefile, git's settings).
fn cases() -> Vec<(String, String, bool)> {
    let lines = include_str!("../cases/shell-rules.jsonl").lines();
    let cases = lines.map(|line| {
        let case: Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| case[key].as_str().unwrap().to_owned();
        (text("id"), text("command"), case["verdict"] == "allow")
    });
    let given = |id: &str| id.starts_with("SH-") || id.starts_with("SHOK-");
    let cases: Vec<_> = cases.filter(|(id, ..)| given(id)).collect();
    assert!(cases.len() >= 53, "the given cases were not found");
    cases
}

/// A workspace with what the cases speak of; the scripts in it delete the canary.
fn workspace(canary: &Path) -> TestCrib {
    let script = format!("#!/bin/sh\nrm -rf {}\n", canary.display());
    let test = TestCrib::new()
        .builtins()
        .file("evil.sh", &script)
        .file("pre.sh", &script)
        .file("build.sh", "echo built\n")
        .file("Makefile", format!("all:\n\trm -rf {}\n", canary.display()))
        .file(
            "package.json",
            "{\"scripts\": {\"format\": \"echo formatted\"}}",
        )
        .file("a.txt", "hello\n")
        .file("big.txt", "line\n".repeat(100_000))
        .file("build/tmp.o", "")
        .file("docs/notes.md", "never rm -rf anything\n")
        .file("src/main.rs", "fn main() {}\n");
    for name in ["evil.sh", "pre.sh"] {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(test.path().join(name), mode).unwrap();
    }
    let git = |words: &[&str]| {
        let done = Command::new("git")
            .args(words)
            .current_dir(test.path())
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "-q"]);
    git(&["config", "core.fsmonitor", "./evil.sh"]);
    test
}

#[tokio::test]
async fn no_attack_reaches_what_is_outside_and_look_alikes_run() {
    let outside = tempfile::tempdir().unwrap();
    let canary = outside.path().join("canary");
    std::fs::write(&canary, "SECRET-CANARY").unwrap();
    let mut wrong = Vec::new();
    for (id, command, is_allowed) in cases() {
        let test = workspace(&canary);
        let command = command.replace("/srv/out", &outside.path().display().to_string());
        let request = CallRequest::new("shell").arg("command", command.clone());
        let outcome = test.registry().execute(request).await;
        assert_eq!(
            std::fs::read_to_string(&canary).unwrap_or_default(),
            "SECRET-CANARY",
            "{id}: {command}"
        );
        let code = outcome.error().map(|error| error.code());
        let held_back = matches!(
            code,
            Some(ErrorCode::BlockedByRule | ErrorCode::ApprovalUnavailable)
        );
        let ran = code.is_none() && outcome.sandbox.is_some();
        let is_right = if is_allowed { ran } else { held_back };
        if !is_right {
            wrong.push(format!("{id}: {command}: {:?}", outcome.result));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
