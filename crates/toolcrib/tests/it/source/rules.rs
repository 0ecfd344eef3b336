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

/// A rule's word, trust and the wall count whatever a file says of itself.
#[tokio::test]
async fn requires_approval_false_lifts_no_rule_and_no_trust() {
    let scene = Scene::new();
    let says = |bash: &str| format!("description: d\nbash: {bash}\nrequires-approval: false\n");
    scene.write(&format!("{USER}/push.yaml"), &says("git push"));
    scene.write(&format!("{USER}/root.yaml"), &says("sudo rm -rf /"));
    scene.write(&format!("{USER}/named.yaml"), &says("echo hi"));
    scene.write(&format!("{LOCAL}/mine.yaml"), &says("echo hi"));
    scene.write(
        "home/config.toml",
        "[[rules]]\nname = \"n\"\ntools = [\"named\"]\nexpr = \"true\"\nverdict = \"ask\"\nreason = \"it is named\"\n",
    );
    let crib = scene.open();
    let verdict = |tool: &str| {
        crib.registry()
            .plan(CallRequest::new(tool))
            .map(|plan| plan.verdict)
    };
    assert_eq!(verdict("push").unwrap(), toolcrib::Verdict::Ask);
    assert_eq!(verdict("named").unwrap(), toolcrib::Verdict::Ask);
    assert_eq!(
        verdict("root").unwrap_err().code(),
        ErrorCode::BlockedByRule
    );
    let (code, why) = refused(&crib, "mine").await;
    assert_eq!((code, why.as_str()), (ErrorCode::ToolDisabled, "untrusted"));
}

/// A home's rules are about many workspaces.
#[tokio::test]
async fn a_rule_for_a_tool_of_another_workspace_does_not_warn() {
    let rule = |tool: &str| {
        let scene = Scene::new();
        scene.write(
            "home/config.toml",
            &format!("[[rules]]\nname = \"r\"\ntools = [\"{tool}\"]\nexpr = \"true\"\nverdict = \"deny\"\nreason = \"no\"\n"),
        );
        let warnings = scene.open().warnings();
        warnings
            .into_iter()
            .filter(|one| one.contains("rule"))
            .count()
    };
    assert_eq!(rule("release_the_kraken"), 0);
    // A slip of the pen does.
    assert_eq!(rule("delete_fiel"), 1);
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
