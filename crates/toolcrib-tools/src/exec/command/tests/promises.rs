//! What a file says about reading and about approval holds.

use serde_json::{Value, json};

use super::{CommandTool, Scene, error, read, value};
use crate::definition::Severity;
use crate::model::effects::{Approval, Effects, Verdict};
use crate::sandbox::{Layer, Sandbox};
use crate::tool::Tool as _;

/// A tool that writes into the workspace and into its temporary directory.
fn writing(tags: &str, level: &str) -> String {
    format!(
        "{{name: a, description: d, tags: {tags}, security: {{isolation: {level}}}, \
         bash: 'cat in.txt; echo temporary > {{TEMP_DIR}}/x; cat {{TEMP_DIR}}/x; echo hi > out.txt'}}"
    )
}

#[tokio::test]
async fn a_tool_that_only_reads_cannot_write_the_workspace() {
    for level in ["process", "container"] {
        let scene = Scene::new()
            .file("in.txt", "in\n")
            .tool(&writing("[read]", level));
        let outcome = scene.call("a", json!({})).await;
        let error = error(&outcome);
        assert!(
            error.message().contains("it is tagged only `read`"),
            "{error}"
        );
        assert_eq!(error.details().unwrap()["stdout"], "in\ntemporary\n");
        assert!(!scene.path().join("out.txt").exists(), "{level}");
        let scene = Scene::new()
            .file("in.txt", "in\n")
            .tool(&writing("[read, write]", level));
        value(&scene.call("a", json!({})).await);
        assert!(scene.path().join("out.txt").exists(), "{level}");
    }
}

#[tokio::test]
async fn a_tool_that_only_reads_is_held_by_landlock_where_there_are_no_mounts() {
    let support = Sandbox::new().unwrap().support().clone();
    let mut scene = Scene::new().file("in.txt", "in\n");
    let without = support.without(Layer::MountNamespace);
    scene.options.sandbox = Some(Sandbox::with_support(without).unwrap());
    let scene = scene.tool(&writing("[read]", "process"));
    error(&scene.call("a", json!({})).await);
    assert!(!scene.path().join("out.txt").exists());
}

#[tokio::test]
async fn a_tool_that_only_reads_asks_without_a_wall_and_is_not_published_as_one_that_reads() {
    let scene = Scene::new()
        .file("in.txt", "in\n")
        .approved()
        .tool(&writing("[read]", "none"));
    let spec = std::sync::Arc::clone(scene.registry().find("a").unwrap().spec());
    assert_eq!(spec.effects, Effects::READ.and(Effects::RUN));
    value(&scene.call("a", json!({})).await);
    assert_eq!(scene.crib.asked().len(), 1);
}

#[tokio::test]
async fn every_program_of_a_tool_that_only_reads_is_read_only() {
    let scene = Scene::new().tool(
        "
name: a
description: d
tags: [read]
steps:
  - {name: one, bash: 'echo 1 > one', continue-on-error: true}
  - {name: two, bash: 'false', error-handling: {fallback: 'echo 2 > two'}, continue-on-error: true}
resources: {cleanup: [{final-command: 'echo 3 > three'}]}
",
    );
    scene.call("a", json!({})).await;
    for name in ["one", "two", "three"] {
        assert!(!scene.path().join(name).exists(), "{name}");
    }
}

/// What a tool with these lines says about a call with these arguments.
fn asked(lines: &str, args: Value) -> Approval {
    let scene = Scene::new();
    let yaml = format!("name: a\ndescription: d\nbash: echo hi\n{lines}");
    let tool = scene
        .make(&yaml)
        .unwrap_or_else(|why| panic!("{yaml}: {why}"));
    let args = args.as_object().unwrap().clone();
    let args = tool.refine(args, false).unwrap();
    let workspace = scene.registry().workspace().map(AsRef::as_ref);
    tool.look(&args, workspace).into_approval(&args, workspace)
}

const AMOUNT: &str =
    "parameters: {AMOUNT: {type: number, description: How much, transform: value * 2}}\n";

#[test]
fn requires_approval_asks_always_or_by_the_arguments() {
    let always = asked("tags: [read]\nrequires-approval: true\n", json!({}));
    assert_eq!(always.verdict, Verdict::Ask);
    assert!(!always.every_time, "a grant may cover it");
    let lines = format!(
        "{AMOUNT}tags: [run]\nrequires-approval: '{{AMOUNT}} > 100'\nenvironment: {{variables: {{A: '{{AMOUNT}}'}}}}\n"
    );
    // After the transformation, which doubles it.
    assert_eq!(asked(&lines, json!({"AMOUNT": 50})).verdict, Verdict::Allow);
    let over = asked(&lines, json!({"AMOUNT": 51}));
    assert_eq!(over.verdict, Verdict::Ask);
    assert_eq!(
        over.reason.unwrap(),
        "the tool requires approval if `{AMOUNT} > 100`"
    );
}

#[test]
fn an_expression_without_a_boolean_value_asks() {
    for (expression, why) in [
        ("{AMOUNT}.a.b > 1", "cannot read property"),
        ("{AMOUNT} + 1", "its value is a number"),
        (
            "(() => { while (true) {} })() || {AMOUNT} > 1",
            "ran for more than",
        ),
    ] {
        let lines = format!(
            "{AMOUNT}tags: [run]\nrequires-approval: '{expression}'\nenvironment: {{variables: {{A: '{{AMOUNT}}'}}}}\n"
        );
        let asked = asked(&lines, json!({"AMOUNT": 1}));
        assert_eq!(asked.verdict, Verdict::Ask, "{expression}");
        let reason = asked.reason.unwrap();
        assert!(reason.contains(why), "{expression}: {reason}");
    }
}

#[test]
fn requires_approval_false_lifts_the_ask_for_missing_tags_and_nothing_else() {
    assert_eq!(
        asked("requires-approval: false\n", json!({})).verdict,
        Verdict::Allow
    );
    assert_eq!(
        asked("requires-approval: 1 > 2\n", json!({})).verdict,
        Verdict::Allow
    );
    for (lines, reason) in [
        ("security: {isolation: none}\n", "nothing holds"),
        (
            "security: {execution-privilege: elevated}\n",
            "root's rights",
        ),
        (
            "environment: {variables: {A: '{X}'}}\nparameters: {X: {description: x, security: {escape-shell: false}}}\n",
            "is read as part of the command",
        ),
        (
            "security: {required-permissions: ['filesystem:read:/etc/ssl']}\n",
            "beyond the workspace",
        ),
    ] {
        let asked = asked(
            &format!("{lines}requires-approval: false\n"),
            json!({"X": "x"}),
        );
        assert_eq!(asked.verdict, Verdict::Ask, "{lines}");
        assert!(asked.every_time, "{lines}");
        let said = asked.reason.unwrap();
        assert!(said.contains(reason) && !said.contains("no tag"), "{said}");
    }
}

#[test]
fn permissions_are_shown_with_their_placeholders_or_values() {
    let scene = Scene::new();
    let tool = scene
        .make(
            "
name: a
description: d
tags: [write]
bash: touch {DIRECTORY}
parameters: {DIRECTORY: {type: string, description: d}}
security: {required-permissions: ['filesystem:write:{DIRECTORY}']}
",
        )
        .unwrap();
    let workspace = scene.registry().workspace().map(AsRef::as_ref);
    let shown = |args: Value| -> String {
        let plan = tool
            .sandbox_plan(args.as_object().unwrap(), workspace)
            .unwrap();
        let lines = plan.lines.into_iter().filter(|line| line.about == "files");
        lines.map(|line| line.promise + "\n").collect()
    };
    let open = shown(json!({}));
    assert!(open.contains("may write `{DIRECTORY}`"), "{open}");
    let inside = shown(json!({"DIRECTORY": "sub"}));
    assert!(
        inside.contains("may write `sub`, which needs no approval"),
        "{inside}"
    );
    let outside = shown(json!({"DIRECTORY": "/srv"}));
    assert!(
        outside.contains("may write `/srv`; a person is asked every time"),
        "{outside}"
    );
}

/// What `check` says of a file on this machine: codes, errors with an exclamation mark.
fn doubts(lines: &str) -> Vec<String> {
    let scene = Scene::new();
    std::fs::create_dir(scene.path().join("sub")).unwrap();
    let yaml = format!("name: a\ndescription: d\ntags: [read, write]\n{lines}");
    let workspace = scene.registry().workspace().map(AsRef::as_ref);
    let found = CommandTool::doubts(&read(&yaml), &scene.settings(), workspace, 1024 * 1024);
    let words = found.into_iter().map(|(severity, fault)| {
        let mark = match severity {
            Severity::Error => "!",
            Severity::Warning => "",
        };
        format!("{}{mark} {}", fault.code, &yaml[fault.span])
    });
    words.collect()
}

#[test]
fn a_place_that_every_call_would_be_refused_is_an_error_and_one_that_is_missing_a_warning() {
    let in_directory = |path: &str| doubts(&format!("bash: ls\nworking-directory: {path}\n"));
    assert_eq!(in_directory("sub"), [""; 0]);
    assert_eq!(in_directory("'{TEMP}'"), [""; 0]);
    assert_eq!(in_directory("not-yet"), ["missing-place not-yet"]);
    assert_eq!(in_directory("/usr"), ["always-refused! /usr"]);
    assert_eq!(in_directory("../other"), ["always-refused! ../other"]);
    let permitted = "security: {required-permissions: ['filesystem:read:/usr']}\n";
    let lines = format!("bash: ls\nworking-directory: /usr\n{permitted}");
    assert_eq!(doubts(&lines), [""; 0]);
    let with = |permission: &str| {
        doubts(&format!(
            "bash: ls {{D}}\nparameters: {{D: {{description: d}}}}\nsecurity:\n  required-permissions:\n    - '{permission}'\n"
        ))
    };
    assert_eq!(with("filesystem:read:/usr"), [""; 0]);
    assert_eq!(with("filesystem:read:{D}"), [""; 0]);
    assert_eq!(
        with("filesystem:write:/no/such/place"),
        ["missing-place 'filesystem:write:/no/such/place'"]
    );
}

#[test]
fn a_place_that_no_wall_makes_writable_and_one_that_no_call_has_are_errors() {
    let with = |permission: &str, more: &str| {
        doubts(&format!(
            "bash: ls\nsecurity:\n  {more}required-permissions:\n    - 'filesystem:write:{permission}'\n"
        ))
    };
    for place in ["/", "/proc", "/dev", "/sys", "/proc/../dev/"] {
        let refused = format!("always-refused! 'filesystem:write:{place}'");
        assert_eq!(with(place, ""), [refused]);
        assert_eq!(with(place, "isolation: none\n  "), [""; 0]);
    }
    assert_eq!(with("/dev/shm", ""), [""; 0]);
    assert_eq!(with("/usr", ""), [""; 0]);
    let starting_in = |lines: &str| doubts(&format!("bash: ls\n{lines}\n"));
    for (place, is_refused) in [
        ("{TEMP_DIR}", false),
        ("{TEMP_DIR}/x", true),
        ("{TEMP}/x/y", true),
        ("{TEMP}/x/", true),
    ] {
        let expected = is_refused.then(|| format!("always-refused! '{place}'"));
        let found = starting_in(&format!("working-directory: '{place}'"));
        assert_eq!(found, Vec::from_iter(expected));
    }
    // A directory that `temp-directory` names is made for each call.
    let inner = |place: &str| {
        starting_in(&format!(
            "file-paths: {{temp-directory: '{{TEMP}}/in/it', working-directory: '{place}'}}"
        ))
    };
    assert_eq!(inner("{TEMP_DIR}"), [""; 0]);
    assert_eq!(inner("{TEMP}/in"), [""; 0]);
    assert_eq!(inner("{TEMP}/x"), ["always-refused! '{TEMP}/x'"]);
}

#[tokio::test]
async fn a_call_whose_tool_would_write_a_place_of_the_system_names_that_place() {
    let scene = Scene::new().approved().tool(
        "{name: a, description: d, tags: [write], bash: 'true', security: {required-permissions: ['filesystem:write:/proc']}}",
    );
    let outcome = scene.call("a", json!({})).await;
    let error = error(&outcome);
    assert!(
        error
            .message()
            .contains("`/proc` of its `required-permissions` cannot be writable behind a wall"),
        "{error}"
    );
}

#[tokio::test]
async fn a_buffer_limit_above_the_operators_is_reported_by_check_and_by_the_call() {
    let steps = |limit: &str| {
        format!("steps: [{{name: one, bash: echo hi, output: {{buffer-limit: {limit}}}}}]\n")
    };
    assert_eq!(doubts(&steps("2MB")), ["buffer-limit 2MB"]);
    assert_eq!(doubts(&steps("1MB")), [""; 0]);
    for (limit, warns) in [("2MB", true), ("1MB", false)] {
        let yaml = format!("name: a\ndescription: d\ntags: [read]\n{}", steps(limit));
        let outcome = Scene::new().tool(&yaml).call("a", json!({})).await;
        assert!(outcome.is_ok(), "{outcome:?}");
        let warned = outcome
            .warnings
            .iter()
            .any(|one| one.contains("`one`: `buffer-limit`"));
        assert_eq!(warned, warns, "{:?}", outcome.warnings);
    }
}
