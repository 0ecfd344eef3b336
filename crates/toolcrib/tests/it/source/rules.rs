//! What the rules make of the shell text of tools.

use super::*;

fn tool(bash: &str) -> String {
    format!(
        "description: Runs\nbash: |\n  {}\nparameters:\n  WHAT:\n    type: string\n    description: What\n    default: build\ntags: [run]\n",
        bash.replace('\n', "\n  ")
    )
}

async fn code(bash: &str, what: &str) -> Option<ErrorCode> {
    let scene = Scene::new();
    scene.write(&format!("{USER}/try.yaml"), &tool(bash));
    let crib = scene.open();
    let request = CallRequest::new("try").arg("WHAT", what);
    match crib.registry().plan(request) {
        Ok(plan) if plan.verdict == toolcrib::Verdict::Ask => Some(ErrorCode::ApprovalUnavailable),
        Ok(_) => None,
        Err(error) => Some(error.code()),
    }
}

#[tokio::test]
async fn the_text_of_a_tool_with_its_values_is_judged_like_any_shell_text() {
    use ErrorCode::BlockedByRule;
    for (bash, what, expected) in [
        ("sudo rm -rf /", "x", Some(BlockedByRule)),
        ("rm -rf {WHAT}", "build", None),
        ("rm -rf {WHAT}", "/", Some(BlockedByRule)),
        ("rm -rf ./{WHAT}", "../..", Some(BlockedByRule)),
        ("cat {WHAT}", "notes.md", None),
        ("cat {WHAT}", "/etc/shadow", Some(BlockedByRule)),
        ("rm -rf \"{TEMP_DIR}\"", "x", None),
        ("rm -rf {TEMP}/{WHAT}", "x", None),
        ("rm -rf {TEMP}/../{WHAT}", "x", Some(BlockedByRule)),
        ("echo {WHAT}", "sudo rm -rf /", None),
        ("git push", "x", Some(ErrorCode::ApprovalUnavailable)),
    ] {
        assert_eq!(code(bash, what).await, expected, "{bash} with {what}");
    }
}

#[tokio::test]
async fn that_parts_of_a_trusted_text_cannot_be_known_before_it_runs_does_not_ask() {
    for bash in [
        "for f in *; do \"$(command -v cat)\" \"$f\"; done",
        "eval \"$(dircolors)\"; $PAGER x",
        "x=$(cat list); rm $x",
        "python3 -c 'import os; os.remove(\"x\")'",
    ] {
        assert_eq!(code(bash, "x").await, None, "{bash}");
    }
}
