//! Every way to say what runs, and where.

use serde_json::json;

use super::{Scene, error, value};
use crate::model::error::ErrorCode;

const ECHO: &str = "
name: say
description: Says something
bash: printf '%s|' {TEXT}
tags: [read]
parameters:
  TEXT: {type: string, description: What}
";

#[tokio::test]
async fn bash_gets_the_exact_bytes_of_a_value() {
    let scene = Scene::new().tool(ECHO);
    let hostile = "$(touch p) `touch p` \"; touch p; ' \\ {TEXT} !! *";
    let outcome = scene.call("say", json!({"TEXT": hostile})).await;
    assert_eq!(
        *value(&outcome),
        json!({"output": format!("{hostile}|"), "stdout": format!("{hostile}|"), "stderr": "", "exitCode": 0})
    );
    assert!(!scene.path().join("p").exists());
    let sandbox = outcome.sandbox.unwrap();
    assert_eq!(sandbox.level, "process");
}

#[tokio::test]
async fn the_output_is_both_streams_in_turn_without_the_last_newline() {
    let scene = Scene::new().tool(
        "{name: both, description: d, tags: [read], bash: 'echo one; sleep 0.05; echo two >&2; sleep 0.05; echo three'}",
    );
    let outcome = scene.call("both", json!({})).await;
    let value = value(&outcome);
    assert_eq!(value["output"], "one\ntwo\nthree");
    assert_eq!(value["stdout"], "one\nthree\n");
    assert_eq!(value["stderr"], "two\n");
    assert_eq!(outcome.result.unwrap().text(), "one\ntwo\nthree");
}

#[tokio::test]
async fn a_failure_has_its_fields_in_the_details() {
    let scene = Scene::new().tool(
        "{name: fails, description: d, tags: [read], bash: 'echo out; echo why it failed >&2; exit 3'}",
    );
    let outcome = scene.call("fails", json!({})).await;
    let error = error(&outcome);
    assert_eq!(error.code(), ErrorCode::ExecutionError);
    assert_eq!(
        error.message(),
        "`fails` ended with exit code 3: why it failed"
    );
    let details = error.details().unwrap();
    assert_eq!(details["exitCode"], 3);
    assert_eq!(details["output"], "out\nwhy it failed");
    assert_eq!(details["stdout"], "out\n");
    assert_eq!(details["stderr"], "why it failed\n");
}

#[tokio::test]
async fn with_ignore_errors_a_failure_is_a_success_with_its_exit_code() {
    let scene = Scene::new()
        .tool("{name: a, description: d, tags: [read], ignore-errors: true, bash: 'echo x; exit 7'}")
        .tool("{name: b, description: d, tags: [read], ignore-errors: true, bash: 'echo x; kill -9 $$'}");
    let outcome = scene.call("a", json!({})).await;
    assert_eq!(
        *value(&outcome),
        json!({"output": "x", "stdout": "x\n", "stderr": "", "exitCode": 7})
    );
    let outcome = scene.call("b", json!({})).await;
    assert_eq!(value(&outcome)["exitCode"], 137);
}

#[tokio::test]
async fn run_starts_a_program_without_a_shell() {
    let scene = Scene::new().tool(
        "
name: r
description: d
run: printf '%s|%s' {A} '$HOME *'
tags: [run]
parameters:
  A: {type: string, description: a}
",
    );
    let outcome = scene.call("r", json!({"A": "$(id) ;"})).await;
    assert_eq!(value(&outcome)["output"], "$(id) ;|$HOME *");
}

#[tokio::test]
async fn scripts_run_by_the_shell_they_name() {
    let scene = Scene::new()
        .tool(
            "
name: py
description: d
script: |
  import sys
  print(len({TEXT}), {TEXT})
shell: python
tags: [run]
parameters:
  TEXT: {type: string, description: t}
",
        )
        .tool(
            "
name: js
description: d
script: |
  console.log({TEXT}.length, {TEXT})
shell: node
tags: [run]
parameters:
  TEXT: {type: string, description: t}
",
        )
        .tool(
            "
name: plain
description: d
script: |
  x={TEXT}
  echo \"$x, $BASH_VERSION\"
tags: [run]
parameters:
  TEXT: {type: string, description: t}
",
        );
    let hostile = "'\"\"\"); import os # ${x}";
    for tool in ["py", "js"] {
        let outcome = scene.call(tool, json!({"TEXT": hostile})).await;
        assert_eq!(
            value(&outcome)["output"],
            format!("{} {hostile}", hostile.len()),
            "{tool}"
        );
    }
    let outcome = scene.call("plain", json!({"TEXT": "a b"})).await;
    let output = value(&outcome)["output"].as_str().unwrap();
    assert!(output.starts_with("a b, 5"), "{output}");
}

#[tokio::test]
async fn the_command_of_this_system_is_taken() {
    let scene = Scene::new()
        .tool(
            "
name: exact
description: d
tags: [read]
commands:
  default: echo default
  platforms: {linux: echo linux, unix: echo unix, windows: echo windows, macos: echo macos}
",
        )
        .tool(
            "
name: family
description: d
tags: [read]
commands:
  default: echo default
  platforms: {unix: echo unix, windows: echo windows}
",
        )
        .tool(
            "
name: any
description: d
tags: [read]
commands:
  default: echo default
  platforms: {windows: echo windows}
",
        );
    for (tool, output) in [("exact", "linux"), ("family", "unix"), ("any", "default")] {
        let outcome = scene.call(tool, json!({})).await;
        assert_eq!(value(&outcome)["output"], output);
    }
}

#[test]
fn what_is_missing_is_said_with_what_to_do() {
    use super::{CommandTool, read};
    for (yaml, words) in [
        (
            "{name: a, description: d, bash: 'true', platforms: [windows]}",
            "it is for Windows, and this is Linux",
        ),
        (
            "{name: a, description: d, bash: 'true', platforms: [windows, macos]}",
            "it is for Windows and macOS, and this is Linux",
        ),
        (
            "{name: a, description: d, cmd: 'dir'}",
            "the shell of Windows",
        ),
        (
            "{name: a, description: d, pwsh: 'Get-Date'}",
            "install PowerShell",
        ),
        (
            "{name: a, description: d, script: 'x', shell: guile3.99}",
            "`guile3.99` is not in PATH",
        ),
        (
            "{name: a, description: d, run: 'no-such-program x'}",
            "`no-such-program` is not in PATH",
        ),
        (
            "{name: a, description: d, commands: {platforms: {windows: dir}}}",
            "no command for Linux",
        ),
    ] {
        let missing = CommandTool::missing(&read(yaml));
        let missing = missing.unwrap_or_else(|| panic!("{yaml}"));
        assert!(missing.contains(words), "{missing}");
    }
    for yaml in [
        "{name: a, description: d, bash: 'true', platforms: [linux]}",
        "{name: a, description: d, bash: 'true', platforms: [windows, unix]}",
        "{name: a, description: d, script: 'print(1)', shell: python}",
        "{name: a, description: d, run: './mine {X}', parameters: {X: {type: string, description: x}}}",
        "{name: a, description: d, steps: [{name: s, pwsh: x, run-condition: 'false'}]}",
    ] {
        assert_eq!(CommandTool::missing(&read(yaml)), None, "{yaml}");
    }
}

#[tokio::test]
async fn the_environment_is_what_the_file_says() {
    let scene = Scene::new()
        .tool(
            "
name: few
description: d
tags: [read]
bash: env | cut -d= -f1 | sort | tr '\\n' ' '
environment:
  variables: {DEBUG: '1', GREETING: 'hello {WHO}', NOBODY: '{ABSENT}'}
parameters:
  WHO: {type: string, description: w}
  ABSENT: {type: string, description: a, required: false}
",
        )
        .tool(
            "
name: greeting
description: d
tags: [read]
bash: echo \"$GREETING/$NOBODY/${CARGO_MANIFEST_DIR:-none}\"
environment:
  variables: {GREETING: 'hello {WHO}', NOBODY: '{ABSENT}'}
  inherit: true
parameters:
  WHO: {type: string, description: w}
  ABSENT: {type: string, description: a, required: false}
",
        );
    let outcome = scene.call("few", json!({"WHO": "w"})).await;
    let names: Vec<&str> = value(&outcome)["output"]
        .as_str()
        .unwrap()
        .split_whitespace()
        .collect();
    assert!(
        names.contains(&"DEBUG") && names.contains(&"GREETING"),
        "{names:?}"
    );
    assert!(
        !names.iter().any(|name| name.starts_with("CARGO")),
        "{names:?}"
    );
    let outcome = scene.call("greeting", json!({"WHO": "$(id) '"})).await;
    let output = value(&outcome)["output"].as_str().unwrap();
    let inherited = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    assert_eq!(output, format!("hello $(id) '//{inherited}"));
}

#[tokio::test]
async fn input_is_what_the_command_reads() {
    let scene = Scene::new().tool(
        "
name: count
description: d
tags: [read]
bash: wc -c
input: \"{TEXT}\\n\"
parameters:
  TEXT: {type: string, description: t}
",
    );
    for length in [3, 300_000] {
        let outcome = scene
            .call("count", json!({"TEXT": "x".repeat(length)}))
            .await;
        assert_eq!(
            value(&outcome)["output"].as_str().unwrap().trim(),
            (length + 1).to_string()
        );
    }
}

#[tokio::test]
async fn a_value_too_large_for_a_variable_reaches_a_builtin() {
    let scene = Scene::new().tool(
        "
name: large
description: d
tags: [write]
bash: printf '%s' {TEXT} > out
parameters:
  TEXT: {type: string, description: t}
",
    );
    let text = "é'\"$x\n".repeat(40_000);
    let outcome = scene.call("large", json!({"TEXT": text})).await;
    value(&outcome);
    let written = std::fs::read_to_string(scene.path().join("out")).unwrap();
    assert!(written == text, "{} of {}", written.len(), text.len());
}

#[tokio::test]
async fn the_working_directory_is_in_the_workspace_or_permitted() {
    let outside = tempfile::tempdir().unwrap();
    let place = outside.path().canonicalize().unwrap();
    let scene = Scene::new()
        .file("src/deep/x", "")
        .approved()
        .tool("{name: a, description: d, tags: [read], bash: pwd, working-directory: src/deep}")
        .tool("{name: b, description: d, tags: [read], bash: pwd, file-paths: {working-directory: '{WORKSPACE}'}}")
        .tool("{name: c, description: d, tags: [read], bash: pwd, working-directory: '{DIR}', parameters: {DIR: {type: string, description: d}}}")
        .tool(&format!("{{name: d, description: d, tags: [read], bash: pwd, working-directory: '{}', security: {{required-permissions: ['filesystem:read:{}']}}}}", place.display(), place.display()));
    let root = scene.path().canonicalize().unwrap();
    let deep = root.join("src/deep").display().to_string();
    assert_eq!(value(&scene.call("a", json!({})).await)["output"], deep);
    assert_eq!(
        value(&scene.call("b", json!({})).await)["output"],
        root.display().to_string()
    );
    assert_eq!(
        value(&scene.call("c", json!({"DIR": "src/deep"})).await)["output"],
        deep
    );
    for (place, code) in [
        ("/etc", ErrorCode::PermissionDenied),
        ("../..", ErrorCode::InvalidPath),
        ("~", ErrorCode::PermissionDenied),
        ("missing", ErrorCode::FileNotFound),
    ] {
        let outcome = scene.call("c", json!({"DIR": place})).await;
        assert_eq!(error(&outcome).code(), code, "{place}: {outcome:?}");
    }
    let outcome = scene.call("c", json!({"DIR": "/etc"})).await;
    let message = error(&outcome).message();
    assert!(message.contains("`filesystem:read:/etc`"), "{message}");
    assert_eq!(
        value(&scene.call("d", json!({})).await)["output"],
        place.display().to_string()
    );
}

#[tokio::test]
async fn paths_are_put_in_this_systems_form_where_the_file_asks_for_it() {
    let scene = Scene::new().tool(
        "
name: p
description: d
tags: [read]
bash: printf '%s|' {FILE_PATH} {TEXT} {FILES}
parameters:
  FILE_PATH: {type: string, description: p}
  TEXT: {type: string, description: t}
  FILES: {type: array, description: f}
file-paths:
  normalize: true
  cross-platform: {windows-separator: \"\\\\\", unix-separator: '/', auto-convert: true}
",
    );
    let args =
        json!({"FILE_PATH": "src\\\\lib\\.\\a.rs", "TEXT": "a\\b//c", "FILES": [".\\x", "./-y"]});
    let outcome = scene.call("p", args).await;
    assert_eq!(value(&outcome)["output"], "src/lib/a.rs|a\\b//c|x|./-y|");
    // The judged and recorded command is the one that ran.
    assert_eq!(outcome.parameters["FILE_PATH"], "src/lib/a.rs");
}
