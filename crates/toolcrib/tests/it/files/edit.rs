//! `edit_file` and `apply_patch` through the pipeline: what is asked, what is bound, what is refused.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};
use toolcrib::ErrorCode;

use super::{assert_error, code, grounds, names_in};

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "edits": [{"old": old, "new": new}]})
}

fn patch(text: &str) -> Value {
    json!({"patch": text})
}

#[tokio::test]
async fn an_edit_asks_with_the_difference_and_then_replaces() {
    for ground in grounds() {
        ground.file("notes.md", "one\ntwo\nthree\n");
        fs::set_permissions(ground.path("notes.md"), fs::Permissions::from_mode(0o640)).unwrap();
        let value = ground
            .call("edit_file", edit("notes.md", "two", "2"))
            .await
            .unwrap();
        assert_eq!(value["replaced"], 1);
        assert_eq!(value["size"], 12);
        assert_eq!(ground.content("notes.md"), "one\n2\nthree\n");
        let mode = fs::metadata(ground.path("notes.md")).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o640);
        let [asked] = &ground.asked()[..] else {
            panic!("one question")
        };
        assert_eq!(asked.reason, "it overwrites a file");
        let effect = "edit the file `notes.md` in 1 place: 14 bytes, becomes 12 bytes";
        assert_eq!(asked.effect, effect);
        assert!(asked.diff.as_ref().unwrap().contains("-two\n+2\n"));
    }
}

#[tokio::test]
async fn an_edit_that_cannot_work_asks_no_one_and_changes_nothing() {
    for ground in grounds() {
        ground.file("f", "a\na\n");
        ground.file("binary", [0, 159]);
        ground.file("long", "x\n".repeat(1 << 20));
        let two = json!({"path": "f", "edits": [{"old": "a\na", "new": "b"}, {"old": "zzz", "new": "y"}]});
        let error = ground.call("edit_file", two).await.unwrap_err();
        let pointer = &error.details().unwrap()["faults"][0]["pointer"];
        assert_eq!(pointer, "/edits/1/old", "{error}");
        for (path, expected) in [
            ("f", ErrorCode::InvalidArguments),
            ("missing", ErrorCode::FileNotFound),
            ("binary", ErrorCode::ExecutionError),
            ("long", ErrorCode::FileTooLarge),
            (".", ErrorCode::InvalidPath),
            ("../out/canary", ErrorCode::InvalidPath),
        ] {
            let result = ground.call("edit_file", edit(path, "a", "b")).await;
            assert_eq!(code(result), expected, "{path}");
        }
        assert_eq!(ground.content("f"), "a\na\n");
        assert_eq!(ground.asked().len(), 0);
    }
}

#[tokio::test]
async fn a_file_that_changed_since_the_edit_was_approved_is_left_alone() {
    for ground in grounds() {
        ground.file("f", "old\n");
        let path = ground.path("f");
        // The edit would still fit.
        ground.meanwhile(move || fs::write(path, "old\nand more\n").unwrap());
        let result = ground.call("edit_file", edit("f", "old", "new")).await;
        assert_error(
            result,
            ErrorCode::Conflict,
            "changed since it was approved; call again",
        );
        assert_eq!(ground.content("f"), "old\nand more\n");
    }
}

const SEVERAL: &str = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-old\n+new\n\
    diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n\
    --- /dev/null\n+++ b/dir/sub/made\n@@ -0,0 +1 @@\n+made\n\
    diff --git a/from b/to\nsimilarity index 100%\nrename from from\nrename to to\n";

#[tokio::test]
async fn a_patch_of_several_files_is_one_question_about_all_of_them() {
    for ground in grounds() {
        for name in ["f", "gone", "from"] {
            let content = if name == "f" { "old" } else { name };
            ground.file(name, format!("{content}\n"));
        }
        let value = ground.call("apply_patch", patch(SEVERAL)).await.unwrap();
        assert_eq!(
            value,
            json!({"files": [
                {"path": "f", "change": "changed"}, {"path": "gone", "change": "deleted"},
                {"path": "dir/sub/made", "change": "created"}, {"path": "to", "change": "renamed", "from": "from"},
            ], "added": 2, "removed": 2})
        );
        assert_eq!(names_in(&ground.path("")), ["dir", "f", "to"]);
        assert_eq!(ground.content("dir/sub/made"), "made\n");
        let [asked] = &ground.asked()[..] else {
            panic!("one question")
        };
        assert_eq!(asked.reason, "it deletes what cannot be brought back");
        assert_eq!(
            asked.effect,
            "change `f`; create `dir/sub/made`; delete `gone`; rename `from` to `to`"
        );
        let diff = asked.diff.as_ref().unwrap();
        assert!(
            diff.contains("-old\n+new\n") && diff.contains("+made\n"),
            "{diff}"
        );
    }
}

#[tokio::test]
async fn a_patch_that_only_creates_asks_no_one_and_overwrites_nothing() {
    let create = "--- /dev/null\n+++ b/d/f\n@@ -0,0 +1 @@\n+new\n";
    for ground in grounds() {
        ground.call("apply_patch", patch(create)).await.unwrap();
        assert_eq!(ground.asked().len(), 0);
        let again = ground.call("apply_patch", patch(create)).await;
        assert_eq!(code(again), ErrorCode::FileExists);
        let program = "diff --git a/x b/x\nnew file mode 100755\n";
        ground.call("apply_patch", patch(program)).await.unwrap();
        assert_eq!(ground.asked().len(), 1, "a new program is asked about");
    }
}

/// Whatever fails, and however late, the workspace is as it was, directories too.
#[tokio::test]
async fn a_patch_that_fails_at_its_last_file_changes_nothing() {
    for ground in grounds() {
        for name in ["f", "gone", "from"] {
            let content = if name == "f" { "old" } else { name };
            ground.file(name, format!("{content}\n"));
        }
        let to = ground.path("to");
        ground.meanwhile(move || fs::write(to, "theirs").unwrap());
        let result = ground.call("apply_patch", patch(SEVERAL)).await;
        assert_eq!(code(result), ErrorCode::FileExists);
        assert_eq!(names_in(&ground.path("")), ["f", "from", "gone", "to"]);
        assert_eq!(ground.content("f"), "old\n");
        fs::remove_file(ground.path("to")).unwrap();
        let from = ground.path("from");
        ground.meanwhile(move || fs::write(from, "other").unwrap());
        let result = ground.call("apply_patch", patch(SEVERAL)).await;
        assert_eq!(code(result), ErrorCode::Conflict);
        assert_eq!(names_in(&ground.path("")), ["f", "from", "gone"]);
    }
}

#[tokio::test]
async fn protected_names_and_links_out_are_refused_in_a_patch() {
    for ground in grounds() {
        ground.file(".git/HEAD", "ref: refs/heads/main\n");
        ground.file("f", "old\n");
        ground.link("../out", "link");
        ground.link(".git", "g");
        let before = names_in(&ground.path(".git"));
        for path in [
            ".git/hooks/pre-commit",
            "g/hooks/x",
            ".GIT/config",
            "link/new",
        ] {
            let text = format!(
                "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-old\n+new\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n"
            );
            let result = ground.call("apply_patch", patch(&text)).await;
            let code = code(result);
            assert!(
                [
                    ErrorCode::PermissionDenied,
                    ErrorCode::InvalidPath,
                    ErrorCode::BlockedByRule
                ]
                .contains(&code),
                "{path}: {code:?}"
            );
            let rename = format!("diff --git a/f b/f\nrename from f\nrename to {path}\n");
            assert!(ground.call("apply_patch", patch(&rename)).await.is_err());
            assert_eq!(ground.content("f"), "old\n");
        }
        assert_eq!(names_in(&ground.path(".git")), before);
    }
}

#[tokio::test]
async fn two_names_of_one_file_in_a_patch_are_refused() {
    for ground in grounds() {
        ground.file("d/f", "old\n");
        ground.link("d", "l");
        let text = "--- a/d/f\n+++ b/d/f\n@@ -1 +1 @@\n-old\n+new\n--- a/l/f\n+++ b/l/f\n@@ -1 +1 @@\n-old\n+newer\n";
        let result = ground.call("apply_patch", patch(text)).await;
        assert_error(result, ErrorCode::InvalidPath, "is changed twice");
        assert_eq!(ground.content("d/f"), "old\n");
    }
}

#[tokio::test]
async fn rules_judge_every_path_of_a_patch() {
    for ground in grounds() {
        let text = "--- /dev/null\n+++ b/ASK\n@@ -0,0 +1 @@\n+x\n";
        ground.call("apply_patch", patch(text)).await.unwrap();
        assert_eq!(ground.asked().len(), 1, "the rule asks about `ASK`");
        let text = "--- /dev/null\n+++ b/.ssh/id_rsa\n@@ -0,0 +1 @@\n+x\n";
        let result = ground.call("apply_patch", patch(text)).await;
        assert!(result.is_err() || ground.asked().len() == 1);
    }
}
