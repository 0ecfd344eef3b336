//! `security` and `resources`, as the kernel sees them.

use serde_json::json;

use super::{Scene, error, value};
use crate::model::error::ErrorCode;
use crate::sandbox::{Layer, Sandbox};
use crate::tool::Tool as _;

#[tokio::test]
async fn isolation_is_what_the_file_says_and_process_if_it_says_nothing() {
    for (security, level) in [
        ("{}", "process"),
        ("{isolation: process}", "process"),
        ("{isolation: container}", "container"),
        ("{isolation: none}", "none"),
    ] {
        let scene = Scene::new().approved().tool(&format!(
            "{{name: a, description: d, tags: [read], bash: 'echo hi', security: {security}}}"
        ));
        let outcome = scene.call("a", json!({})).await;
        assert_eq!(value(&outcome)["output"], "hi");
        assert_eq!(outcome.sandbox.unwrap().level, level);
    }
}

#[tokio::test]
async fn a_level_that_cannot_be_had_refuses_the_call() {
    let support = Sandbox::new().unwrap().support().clone();
    let mut scene = Scene::new();
    scene.options.sandbox =
        Some(Sandbox::with_support(support.without(Layer::NetworkNamespace)).unwrap());
    let scene = scene.tool(
        "{name: a, description: d, tags: [read], bash: 'true', security: {isolation: container}}",
    );
    let outcome = scene.call("a", json!({})).await;
    let error = error(&outcome);
    assert_eq!(error.code(), ErrorCode::SandboxUnavailable);
    assert!(error.message().contains("network-namespace"), "{error}");
}

#[tokio::test]
async fn permissions_open_what_they_name_and_nothing_else() {
    let outside = tempfile::tempdir().unwrap();
    let root = outside.path().canonicalize().unwrap();
    for name in ["read", "write", "neither"] {
        std::fs::create_dir(root.join(name)).unwrap();
        std::fs::write(root.join(name).join("file"), name).unwrap();
    }
    let scene = Scene::new().approved().tool(&format!(
        "
name: a
description: d
tags: [write]
bash: |
  for place in read write neither; do
    cat {0}/$place/file 2> /dev/null || echo -n no
    touch {0}/$place/new 2> /dev/null && echo ' wrote' || echo ' refused'
  done
security: {{required-permissions: ['filesystem:read:{0}/read', 'filesystem:write:{0}/write']}}
",
        root.display()
    ));
    let outcome = scene.call("a", json!({})).await;
    assert_eq!(
        value(&outcome)["output"],
        "read refused\nwrite wrote\nno refused"
    );
}

#[tokio::test]
async fn a_permission_for_what_does_not_exist_is_refused() {
    let scene = Scene::new().approved().tool(
        "{name: a, description: d, tags: [write], bash: 'true', security: {required-permissions: ['filesystem:write:/no/such/place']}}",
    );
    let outcome = scene.call("a", json!({})).await;
    let error = error(&outcome);
    assert_eq!(error.code(), ErrorCode::FileNotFound);
    assert!(error.message().contains("make it first"), "{error}");
}

#[tokio::test]
async fn elevated_goes_through_the_configured_sudo_or_not_at_all() {
    let yaml = "
name: a
description: d
tags: [run]
bash: echo \"$MODE {X}\"
parameters: {X: {type: string, description: x}}
environment: {variables: {MODE: 'mode of {X}'}}
security: {execution-privilege: elevated}
";
    let scene = Scene::new().approved().tool(yaml);
    let outcome = scene.call("a", json!({"X": "x"})).await;
    let refused = error(&outcome);
    assert_eq!(refused.code(), ErrorCode::ToolUnavailable);
    assert!(refused.message().contains("`sandbox.sudo`"), "{refused}");

    // A stand-in that says what it was asked and lets no variable through, as sudo does.
    let place = tempfile::tempdir().unwrap();
    let sudo = place.path().join("sudo");
    let text = "#!/bin/bash\n[ \"$1 $2\" = '-n --' ] || exit 99\nshift 2\necho elevated\nexec env -i PATH=\"$PATH\" \"$@\"\n";
    std::fs::write(&sudo, text).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&sudo, mode).unwrap();
    let mut scene = Scene::new().approved();
    scene.sudo = Some(sudo.clone());
    let scene = scene.tool(yaml);
    let outcome = scene.call("a", json!({"X": "a 'b' $(c)"})).await;
    assert_eq!(
        value(&outcome)["output"],
        "elevated\nmode of a 'b' $(c) a 'b' $(c)"
    );
    assert_eq!(outcome.sandbox.as_ref().unwrap().level, "none");
    assert!(scene.crib.asked()[0].effect.contains("as root"));

    // Behind a wall that the file names no one gains rights.
    let mut scene = Scene::new().approved();
    scene.sudo = Some(sudo);
    let scene = scene.tool(&yaml.replace("elevated}", "elevated, isolation: process}"));
    let outcome = scene.call("a", json!({"X": "x"})).await;
    assert_eq!(error(&outcome).code(), ErrorCode::SandboxUnavailable);
}

#[tokio::test]
async fn reduced_rights_are_reduced_or_the_call_is_refused() {
    let scene = Scene::new().approved().tool(
        "{name: a, description: d, tags: [read], bash: 'id -u', security: {execution-privilege: reduced, isolation: container}}",
    );
    let outcome = scene.call("a", json!({})).await;
    let own = rustix::process::getuid().as_raw().to_string();
    match outcome.error() {
        None => assert_ne!(value(&outcome)["output"], own),
        Some(error) => assert_eq!(error.code(), ErrorCode::SandboxUnavailable, "{error}"),
    }
}

#[tokio::test]
async fn more_memory_than_the_file_allows_ends_the_tool() {
    let scene = Scene::new().tool(
        "
name: a
description: d
tags: [run]
bash: 'head -c 300000000 /dev/zero | tail -c 290000000 | wc -c'
resources: {max-memory: 64MB}
",
    );
    let outcome = scene.call("a", json!({})).await;
    match outcome.error() {
        Some(error) => assert_eq!(error.code(), ErrorCode::ExecutionError, "{error}"),
        None => assert_ne!(value(&outcome)["output"], "290000000"),
    }
}

#[tokio::test]
async fn the_smallest_timeout_ends_the_tool() {
    let scene = Scene::new().tool(
        "{name: a, description: d, tags: [run], bash: 'echo begun; sleep 30', timeout: 20000, resources: {timeout: 1500}}",
    );
    let outcome = scene.call("a", json!({})).await;
    let error = error(&outcome);
    assert_eq!(error.code(), ErrorCode::Timeout);
    assert_eq!(error.details().unwrap()["stdout"], "begun\n");
}

#[test]
fn the_plan_says_what_backs_each_line() {
    let scene = Scene::new();
    let tool = scene
        .make(
            "
name: a
description: d
tags: [write]
bash: 'true'
working-directory: '{WORKSPACE}'
environment: {variables: {DEBUG: '1'}}
security:
  isolation: container
  required-permissions: ['filesystem:read:/etc/ssl', 'network:external:api.github.com']
resources:
  timeout: 5000
  max-memory: 64MB
  cleanup: [{delete-temp-files: true}, {final-command: 'rm -rf {TEMP_DIR}'}]
interactive: true
interactive-options: {timeout: 500, default-response: y}
",
        )
        .unwrap();
    let workspace = scene.registry().workspace().map(AsRef::as_ref);
    let plan = tool
        .sandbox_plan(&crate::model::JsonObject::new(), workspace)
        .unwrap();
    let about: Vec<&str> = plan.lines.iter().map(|line| line.about.as_str()).collect();
    assert_eq!(
        about,
        [
            "isolation",
            "privilege",
            "files",
            "files",
            "files",
            "network",
            "memory",
            "time",
            "environment",
            "directory",
            "temporary",
            "cleanup",
            "cleanup",
            "interactive"
        ]
    );
    let text = plan.to_string();
    for words in [
        "container (as the file says)",
        "may read `/etc/ssl`",
        "`api.github.com`",
        "64 MB of all its processes together",
        "5000 ms, then every process is ended",
        "DEBUG",
        "`rm -rf {TEMP_DIR}` is run, however the call ends",
        "`y` is typed",
    ] {
        assert!(text.contains(words), "{words}:\n{text}");
    }
    assert!(
        plan.refused.unwrap().contains("no network access"),
        "none is set up here"
    );
    assert!(!plan.lines[5].kept);
}
