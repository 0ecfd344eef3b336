//! Tools that use tools.

use super::*;

fn alias(base: &str) -> String {
    format!("description: Another name\ntype: alias\nbase-tool: {base}\ntags: [read]\n")
}

fn uses(tool: &str) -> String {
    format!("description: Uses {tool}\nsteps:\n  - name: one\n    use-tool: {tool}\ntags: [read]\n")
}

#[tokio::test]
async fn circles_and_unknown_tools_make_unavailable_what_is_part_of_them() {
    let scene = Scene::new();
    for (name, text) in [
        ("a", alias("b")),
        ("b", alias("a")),
        ("self_use", uses("self_use")),
        ("x", uses("y")),
        ("y", alias("x")),
        ("typo", uses("greeet")),
        ("greet", says("hello")),
        ("welcome", alias("greet")),
        ("hello_again", alias("welcome")),
        ("on_circle", uses("a")),
    ] {
        scene.write(&format!("{USER}/{name}.yaml"), &text);
    }
    let crib = scene.open();
    for (name, why) in [
        ("a", "without end: a → b → a"),
        ("b", "without end: b → a → b"),
        ("self_use", "the tool uses itself"),
        ("x", "without end: x → y → x"),
        ("y", "without end: y → x → y"),
        (
            "typo",
            "uses `greeet`, and there is no tool of that name; did you mean `greet`?",
        ),
    ] {
        let (code, reason) = refused(&crib, name).await;
        assert_eq!(code, ErrorCode::ToolUnavailable, "{name}");
        assert!(reason.contains(why), "{name}: {reason}");
    }
    assert_eq!(said(&crib, "greet").await, "hello");
    assert_eq!(said(&crib, "welcome").await, "hello");
    assert_eq!(said(&crib, "hello_again").await, "hello");
}

#[tokio::test]
async fn what_a_tool_uses_may_come_later_and_be_of_any_kind() {
    let scene = Scene::new();
    scene.write(&format!("{USER}/both.yaml"), &uses("late"));
    let crib = scene.open();
    assert_eq!(refused(&crib, "both").await.0, ErrorCode::ToolUnavailable);
    let late = toolcrib::FnTool::new("late", "Late", |(), _cx| async { Ok("late") }).unwrap();
    crib.registry()
        .register(late.effects(toolcrib::Effects::READ))
        .unwrap();
    let outcome = call(&crib, "both").await;
    assert!(outcome.value().is_some(), "{:?}", outcome.error());
}

#[tokio::test]
async fn a_tool_that_uses_a_broken_one_says_that_its_file_has_errors() {
    let scene = Scene::new();
    scene.write(
        &format!("{USER}/deploy.yaml"),
        "description: Deploys\nbahs: make deploy\n",
    );
    scene.write(&format!("{USER}/deploy-staging.yaml"), &alias("deploy"));
    scene.write(&format!("{USER}/alone.yaml"), &alias("alon"));
    let crib = scene.open();
    let (code, reason) = refused(&crib, "deploy-staging").await;
    assert_eq!(code, ErrorCode::ToolUnavailable);
    assert!(
        reason.contains("it uses `deploy`, whose file `~/.toolcrib/tools/deploy.yaml` has errors"),
        "{reason}"
    );
    let (_, reason) = refused(&crib, "alone").await;
    assert!(!reason.contains("did you mean"), "its own name: {reason}");
}
