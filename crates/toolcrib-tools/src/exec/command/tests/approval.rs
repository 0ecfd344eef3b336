//! When a person is asked, and what they read.

use serde_json::json;

use super::{Scene, error, value};
use crate::model::effects::Verdict;
use crate::model::error::ErrorCode;
use crate::tool::Tool as _;

#[tokio::test]
async fn a_tagged_tool_runs_without_asking() {
    for tag in ["read", "write", "run"] {
        let scene = Scene::new().tool(&format!(
            "{{name: a, description: d, tags: [{tag}], bash: 'echo hi'}}"
        ));
        assert_eq!(value(&scene.call("a", json!({})).await)["output"], "hi");
        assert!(scene.crib.asked().is_empty());
    }
}

#[tokio::test]
async fn a_tool_without_a_security_tag_asks_every_time() {
    let scene = Scene::new().file("my src/a.rs", "").approved().tool(
        "{name: a, description: d, tags: [git], bash: \"find {D} -name '*.rs'\", parameters: {D: {type: string, description: d}}}",
    );
    for _ in 0..2 {
        value(&scene.call("a", json!({"D": "my src"})).await);
    }
    let asked = scene.crib.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!(
        asked[0].effect,
        "run `find 'my src' -name '*.rs'` in the sandbox, without network"
    );
    assert!(
        asked[0].reason.contains("does not say whether it reads"),
        "{}",
        asked[0].reason
    );
    assert!(asked[0].offers.is_empty());
}

#[test]
fn whatever_is_dangerous_asks_every_time_and_says_why() {
    let scene = Scene::new();
    for (more, reason) in [
        (
            "security: {isolation: none}",
            "nothing holds its programs back",
        ),
        (
            "security: {execution-privilege: elevated}",
            "runs with root's rights",
        ),
        (
            "parameters: {X: {type: string, description: x, security: {escape-shell: false}}}",
            "`X` is read as part of the command",
        ),
        (
            "security: {required-permissions: ['filesystem:read:/etc/ssl']}",
            "it may read `/etc/ssl`, which is beyond the workspace",
        ),
        (
            "security: {required-permissions: ['filesystem:read:{WORKSPACE}/../x']}",
            "beyond the workspace",
        ),
        (
            "security: {required-permissions: ['network:external:api.github.com'], justification: For cloning}",
            "reach `api.github.com`",
        ),
    ] {
        let yaml = format!("name: a\ndescription: d\ntags: [read]\nbash: echo {{X}}\n{more}\n");
        let yaml = match more.contains("parameters") {
            true => yaml,
            false => yaml.replace(" {X}", ""),
        };
        let tool = scene.make(&yaml).unwrap();
        let args = json!({"X": "x"}).as_object().unwrap().clone();
        let workspace = scene.registry().workspace().map(AsRef::as_ref);
        let approval = tool.look(&args, workspace).into_approval(&args, workspace);
        assert_eq!(approval.verdict, Verdict::Ask, "{more}");
        assert!(approval.every_time, "{more}");
        let said = approval.reason.unwrap();
        assert!(said.contains(reason), "{said}");
        if more.contains("justification") {
            assert!(said.contains("the tool says why: For cloning"), "{said}");
        }
    }
}

#[test]
fn permissions_in_the_workspace_need_no_one() {
    let scene = Scene::new().file("sub/x", "");
    let tool = scene
        .make(
            "
name: a
description: d
tags: [write]
bash: touch {DIRECTORY}
parameters: {DIRECTORY: {type: string, description: d}}
security: {required-permissions: ['filesystem:write:{DIRECTORY}', 'filesystem:read:{WORKSPACE}', 'filesystem:write:{TEMP}/x']}
",
        )
        .unwrap();
    let workspace = scene.registry().workspace().map(AsRef::as_ref);
    let verdict = |directory: &str| {
        let args = json!({"DIRECTORY": directory}).as_object().unwrap().clone();
        tool.look(&args, workspace)
            .into_approval(&args, workspace)
            .verdict
    };
    let inside = scene.path().canonicalize().unwrap().join("new/deep");
    let effect = |directory: &str| {
        let args = json!({"DIRECTORY": directory}).as_object().unwrap().clone();
        let approval = tool.look(&args, workspace).into_approval(&args, workspace);
        approval.effect.unwrap_or_default()
    };
    assert!(
        effect("sub").ends_with(", and may write `sub`"),
        "{}",
        effect("sub")
    );
    assert!(!effect("/srv").contains("may write"), "{}", effect("/srv"));
    assert_eq!(verdict("sub"), Verdict::Allow);
    assert_eq!(verdict("not/yet/there"), Verdict::Allow);
    assert_eq!(verdict(&inside.display().to_string()), Verdict::Allow);
    for outside in ["/srv", "..", "sub/../..", "not/there/../../..", "~", "~/x"] {
        assert_eq!(verdict(outside), Verdict::Ask, "{outside}");
    }
    std::os::unix::fs::symlink("/etc", scene.path().join("link")).unwrap();
    assert_eq!(verdict("link/x"), Verdict::Ask);
}

#[tokio::test]
async fn a_link_that_changes_after_the_approval_stops_the_call() {
    let outside = tempfile::tempdir().unwrap();
    let scene = Scene::new();
    let link = scene.path().join("link");
    std::os::unix::fs::symlink(outside.path(), &link).unwrap();
    let yaml = "{name: a, description: d, tags: [write], bash: 'touch link/x', security: {required-permissions: ['filesystem:write:link']}}";
    let tool = scene.make(yaml).unwrap();
    // The answer comes after the link was turned elsewhere.
    let other = tempfile::tempdir().unwrap();
    let turn = {
        let (link, other) = (link.clone(), other.path().to_owned());
        move || {
            std::fs::remove_file(&link).unwrap();
            std::os::unix::fs::symlink(&other, &link).unwrap();
        }
    };
    let workspace = crate::workspace::Workspace::open(scene.path()).unwrap();
    let registry = crate::registry::Registry::builder()
        .workspace(workspace)
        .approver(Turning(std::sync::Mutex::new(Some(Box::new(turn)))))
        .build();
    registry.register(tool).unwrap();
    let outcome = registry
        .execute(crate::call::request::CallRequest::new("a"))
        .await;
    let error = error(&outcome);
    assert_eq!(error.code(), ErrorCode::ExecutionError);
    assert!(error.message().contains("changed while"), "{error}");
    assert!(!other.path().join("x").exists());
}

struct Turning(std::sync::Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl crate::approval::Approver for Turning {
    fn decide(
        &self,
        _request: crate::approval::ApprovalRequest,
    ) -> futures_util::future::BoxFuture<
        '_,
        Result<crate::approval::ApprovalResponse, crate::approval::NoAnswer>,
    > {
        if let Some(turn) = self.0.lock().unwrap().take() {
            turn();
        }
        Box::pin(std::future::ready(Ok(
            crate::approval::ApprovalResponse::approve("test"),
        )))
    }
}

#[tokio::test]
async fn rules_judge_every_command_the_call_may_run() {
    let scene = Scene::new()
        .tool("{name: a, description: d, tags: [run], bash: 'sudo ls {X}', parameters: {X: {type: string, description: x}}}")
        .tool("{name: b, description: d, tags: [run], bash: 'rm -rf {X}', parameters: {X: {type: string, description: x}}}")
        .tool("{name: c, description: d, tags: [run], steps: [{name: s, bash: 'true', error-handling: {fallback: 'sudo ls'}}]}")
        .tool("{name: d, description: d, tags: [run], bash: 'true', resources: {cleanup: [{final-command: 'sudo ls'}]}}")
        .tool("{name: e, description: d, tags: [run], run: 'sudo ls'}");
    for (tool, args) in [
        ("a", json!({"X": "ls"})),
        ("b", json!({"X": "/"})),
        ("b", json!({"X": "../x"})),
        ("c", json!({})),
        ("d", json!({})),
        ("e", json!({})),
    ] {
        let outcome = scene.call(tool, args.clone()).await;
        assert_eq!(
            error(&outcome).code(),
            ErrorCode::BlockedByRule,
            "{tool} {args}: {outcome:?}"
        );
    }
    let outcome = scene.call("b", json!({"X": "build; sudo ls"})).await;
    value(&outcome);
}

#[tokio::test]
async fn what_a_step_will_print_is_unknown_to_the_rules() {
    let scene = Scene::new().tool(
        "{name: a, description: d, tags: [run], steps: [{name: one, bash: 'echo x'}, {name: two, bash: 'rm -rf {one.output}'}]}",
    );
    let outcome = scene.call("a", json!({})).await;
    let code = error(&outcome).code();
    assert!(
        matches!(
            code,
            ErrorCode::BlockedByRule | ErrorCode::ApprovalUnavailable
        ),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn the_calls_own_temporary_directory_may_be_removed() {
    let scene = Scene::new().tool(
        "{name: a, description: d, tags: [run], bash: 'touch {TEMP_DIR}/x; rm -rf {TEMP_DIR}/x; ls -A {TEMP_DIR} | wc -l', file-paths: {temp-directory: '{TEMP}/cycod-tools/{TOOL_NAME}'}}",
    );
    let outcome = scene.call("a", json!({})).await;
    assert_eq!(value(&outcome)["output"], "0");
}

#[tokio::test]
async fn what_a_shell_reads_from_its_input_is_judged_like_the_command() {
    for body in [
        "bash: bash -s",
        "run: bash",
        "bash: 'env sh'",
        "run: bash /dev/stdin",
    ] {
        let scene = Scene::new().approved().tool(&format!(
            "{{name: a, description: d, tags: [read], {body}, input: 'echo fine; rm -rf /etc'}}"
        ));
        let outcome = scene.call("a", json!({})).await;
        assert_eq!(error(&outcome).code(), ErrorCode::BlockedByRule, "{body}");
    }
}

#[tokio::test]
async fn a_program_for_another_interpreter_in_the_input_asks_and_is_shown() {
    let scene = Scene::new().tool(
        "{name: a, description: d, tags: [read], run: python3 -, input: 'print(\"from the input\")'}",
    );
    let outcome = scene.call("a", json!({})).await;
    assert_eq!(error(&outcome).code(), ErrorCode::ApprovalUnavailable);
    let asked = scene.crib.asked();
    assert!(
        asked[0].effect.contains("print(\"from the input\")"),
        "{}",
        asked[0].effect
    );
    assert!(
        asked[0].reason.contains("runs its input"),
        "{}",
        asked[0].reason
    );
}

#[tokio::test]
async fn an_input_that_is_data_asks_no_one() {
    let scene = Scene::new()
        .tool("{name: a, description: d, tags: [read], bash: 'sort | head -n 1', input: \"b\\nrm -rf /etc\\na\\n\"}");
    assert_eq!(value(&scene.call("a", json!({})).await)["output"], "a");
    assert!(scene.crib.asked().is_empty());
}

#[derive(Default, Clone)]
struct SwitchesOffFirst(std::sync::Arc<std::sync::OnceLock<crate::registry::Registry>>);

impl crate::approval::Approver for SwitchesOffFirst {
    fn decide(
        &self,
        _request: crate::approval::ApprovalRequest,
    ) -> futures_util::future::BoxFuture<
        '_,
        Result<crate::approval::ApprovalResponse, crate::approval::NoAnswer>,
    > {
        self.0.get().unwrap().set_enabled("a", false).unwrap();
        Box::pin(async { Ok(crate::approval::ApprovalResponse::approve("test")) })
    }
}

#[tokio::test]
async fn a_tool_that_was_switched_off_while_its_call_waited_does_not_run() {
    let directory = tempfile::tempdir().unwrap();
    let approver = SwitchesOffFirst::default();
    let registry = crate::registry::Registry::builder()
        .workspace(crate::workspace::Workspace::open(directory.path()).unwrap())
        .approver(approver.clone())
        .build();
    let scene = Scene::new();
    let tool = scene.make("{name: a, description: d, tags: [git], bash: 'touch ran'}");
    registry.register(tool.unwrap()).unwrap();
    let _ = approver.0.set(registry.clone());
    let call = crate::call::request::CallRequest::new("a");
    let outcome = registry.execute(call).await;
    assert_eq!(error(&outcome).code(), ErrorCode::ToolDisabled);
    assert!(!directory.path().join("ran").exists());
}
