//! Files that are left in the workspace.

use std::process::{Child, Command};

use super::{LEVELS, bash, ends, names};
use crate::harness::Test;

#[test]
fn the_workspace_is_as_it_was_but_for_what_the_command_did() {
    for level in LEVELS {
        let test = Test::new()
            .file(".vscode/settings.json", "{}")
            .file("a", "1");
        let before = names(&test.workspace()).len();
        test.run(&bash(
            &["--isolation", level],
            "echo 2 > b; rm a; mkdir -p c/d",
        ))
        .exits(0);
        let mut left = names(&test.workspace());
        left.sort();
        assert_eq!(left, [".vscode", "b", "c"], "{level}");
        assert_eq!(before, 2);
        assert_eq!(
            names(&test.workspace().join(".vscode")),
            ["settings.json"],
            "{level}"
        );
    }
}

#[test]
fn two_runs_at_once_leave_nothing_either() {
    let test = Test::new();
    let mut children: Vec<Child> = (0..4)
        .map(|at| {
            let time = format!("0.{}", 3 + at);
            test.command()
                .args(["sandbox", "--", "sleep", &time])
                .spawn()
                .unwrap()
        })
        .collect();
    for child in &mut children {
        assert_eq!(ends(child), Some(0));
    }
    assert_eq!(names(&test.workspace()), [""; 0]);
}

#[test]
fn git_works_inside() {
    for level in ["process", "container"] {
        let test = Test::new().file("a.txt", "1\n");
        let made = Command::new("git")
            .args(["init", "-q", "-b", "main"])
            .current_dir(test.workspace())
            .status();
        assert!(made.unwrap().success());
        let code = "git add -A && git -c user.name=a -c user.email=a@b commit -q -m first && git checkout -q -b next && git status --porcelain && git log --oneline | wc -l";
        test.run(&bash(&["--isolation", level], code))
            .exits(0)
            .prints("1\n");
        let clean = Command::new("git")
            .args(["status", "--porcelain"])
            .current_dir(test.workspace())
            .output()
            .unwrap();
        assert_eq!(
            String::from_utf8_lossy(&clean.stdout),
            "",
            "{level}: {clean:?}"
        );
        assert!(clean.status.success(), "{level}: {clean:?}");
    }
}

#[test]
fn what_was_planted_is_named_and_cannot_paint_the_terminal() {
    let test = Test::new();
    let ran = test
        .run(&bash(
            &[],
            r#"d=$'a\e[31m\nsandbox: all is well/.git/hooks'; mkdir -p "$d"; echo evil > "$d/pre-push""#,
        ))
        .exits(0);
    assert!(
        ran.stderr.contains("because git runs it as a hook"),
        "{ran:?}"
    );
    assert!(
        !ran.stderr.contains('\u{1b}') && ran.stderr.lines().count() == 1,
        "{ran:?}"
    );
}
