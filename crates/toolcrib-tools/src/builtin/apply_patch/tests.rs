//! Patches against a model, and hostile ones.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::parse::{Patch, parse};
use super::plan::Plan;
use crate::model::diff::unified;
use crate::workspace::Workspace;

#[track_caller]
fn refused(patch: &str, expected: &str) {
    let error = parse(patch).expect_err(patch).into_error();
    assert!(error.message().contains(expected), "{error}");
}

#[test]
fn input_that_is_not_a_unified_diff_is_refused_with_its_line() {
    refused("", "line 1 of the patch: there is no file in it");
    refused("hello\n", "line 1 of the patch: expected `--- a/PATH`");
    refused("*** Begin Patch\n", "not a unified diff");
    refused("```diff\n--- a/x\n", "Markdown fence");
    refused(
        "--- a/x\n@@ -1 +1 @@\n",
        "line 2 of the patch: a line that begins with `+++ `",
    );
    refused("+++ b/x\n", "`--- a/PATH` must come before");
    refused("@@ -1 +1 @@\n", "belongs to no file");
    refused("--- a/x\n+++ b/x\n", "expected a hunk");
    refused(
        "--- a/x\n+++ b/x\n@@ -1,a +1 @@\n",
        "not the header of a hunk",
    );
    refused(
        "--- a/x\n+++ b/x\n@@ -0,1 +1 @@\n-a\n+b\n",
        "counted from 1",
    );
    refused(
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\nrubbish\n",
        "line 6 of the patch: expected `--- a/PATH` or `diff --git`, found `rubbish`",
    );
}

#[test]
fn a_header_that_counts_wrong_is_answered_with_the_right_numbers() {
    let fix = "write `@@ -1,2 +1,3 @@`";
    for counts in ["-1,3 +1,3", "-1,2 +1,2", "-1 +1", "-1,2 +1,9"] {
        let patch = format!("--- a/x\n+++ b/x\n@@ {counts} @@\n a\n-b\n+c\n+d\n");
        refused(&patch, fix);
        refused(
            &format!("{patch}--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n"),
            fix,
        );
    }
}

#[test]
fn paths_that_lead_elsewhere_are_refused() {
    for path in ["../x", "/etc/passwd", "a/../../x", ".", "a//b", "a/./b", ""] {
        refused(
            &format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n"),
            "cannot be used",
        );
        refused(
            &format!("diff --git a/x b/x\nrename from x\nrename to {path}\n"),
            "cannot be used",
        );
    }
    refused(
        "--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n",
        "to rename a file write `rename from`",
    );
    refused(
        "--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n",
        "both names are",
    );
    refused(
        "diff --git a/x b/x\nnew file mode 120000\n",
        "links cannot be made",
    );
    refused("diff --git a/x b/x\nGIT binary patch\n", "binary files");
    refused(
        "diff --git a/x b/y\ncopy from x\ncopy to y\n",
        "cannot copy",
    );
}

fn apply(root: &std::path::Path, patch: &str) -> Result<(), String> {
    let workspace = Workspace::open(root).unwrap();
    let patch: Patch = parse(patch).map_err(|fault| fault.into_error().to_string())?;
    let plan = Plan::new(&patch, &workspace, &[]).map_err(|error| error.to_string())?;
    let done = plan.carry_out(&workspace, &|| false);
    done.map(drop).map_err(|error| error.to_string())
}

type Tree = BTreeMap<String, String>;

fn write(tree: &Tree) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (name, content) in tree {
        let path = root.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    root
}

fn read(root: &std::path::Path) -> Tree {
    fn below(at: &std::path::Path, root: &std::path::Path, tree: &mut Tree) {
        for entry in std::fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => below(&path, root, tree),
                false => {
                    let name = path.strip_prefix(root).unwrap().to_str().unwrap();
                    tree.insert(name.to_owned(), std::fs::read_to_string(&path).unwrap());
                }
            }
        }
    }
    let mut tree = Tree::new();
    below(root, root, &mut tree);
    tree
}

/// The difference of two trees, as `git diff` would print it.
fn diff(before: &Tree, after: &Tree) -> String {
    let mut patch = String::new();
    let names: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for name in names {
        let (old, new) = (before.get(name), after.get(name));
        if old == new {
            continue;
        }
        patch.push_str(&format!("diff --git a/{name} b/{name}\n"));
        match (old, new) {
            (None, _) => patch.push_str("new file mode 100644\n"),
            (_, None) => patch.push_str("deleted file mode 100644\n"),
            _ => {}
        }
        let shown = unified("NAME", old.map_or("", |old| old), new.map_or("", |new| new));
        let (from, to) = (
            old.map_or("/dev/null".to_owned(), |_| format!("a/{name}")),
            new.map_or("/dev/null".to_owned(), |_| format!("b/{name}")),
        );
        patch.push_str(
            &shown
                .replacen("--- NAME", &format!("--- {from}"), 1)
                .replacen("+++ NAME", &format!("+++ {to}"), 1),
        );
    }
    patch
}

fn content() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "a\n",
        "b\n",
        "\n",
        "-- x\n",
        "++ y\n",
        "@@ -1 +1 @@\n",
        "é\r\n",
        " indented\n",
        "diff --git\n",
        "- a/z\n",
    ]);
    (prop::collection::vec(line, 0..25), any::<bool>()).prop_map(|(lines, is_cut)| {
        let mut text = lines.concat();
        if is_cut {
            text.pop();
        }
        text
    })
}

fn tree() -> impl Strategy<Value = Tree> {
    let name = prop::sample::select(vec!["a", "b c", "d/e", "d/f/g", "h"]);
    prop::collection::btree_map(name.prop_map(str::to_owned), content(), 0..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_difference_of_two_trees_makes_the_second_of_the_first(before in tree(), after in tree()) {
        let patch = diff(&before, &after);
        prop_assume!(!patch.is_empty());
        let root = write(&before);
        let applied = apply(root.path(), &patch);
        prop_assert_eq!(&applied, &Ok(()), "{}", patch);
        prop_assert_eq!(read(root.path()), after);
    }

    #[test]
    fn a_patch_with_one_line_that_does_not_match_changes_nothing(
        before in tree(), after in tree(), extra in content(),
    ) {
        let mut patch = diff(&before, &after);
        prop_assume!(!patch.is_empty());
        patch.push_str("--- a/zz\n+++ b/zz\n@@ -1 +1 @@\n-is not there\n+new\n");
        let mut before = before;
        before.insert("zz".to_owned(), extra);
        let root = write(&before);
        prop_assert!(apply(root.path(), &patch).is_err());
        prop_assert_eq!(read(root.path()), before);
    }

    /// Pieces of patches in any order: whatever comes of them stays inside, and nothing panics.
    #[test]
    fn hostile_patches_never_leave_the_workspace(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "--- a/in\n", "+++ b/in\n", "--- a/../out\n", "+++ b/../out\n", "--- /dev/null\n", "+++ /dev/null\n",
            "+++ b/link/new\n", "--- a/link/old\n", "+++ b/link/old\n", "--- \"a/\\056\\056/out\"\n", "+++ \"b/\\056\\056/out\"\n",
            "diff --git a/in b/in\n", "diff --git a/in b/../out\n", "rename from in\n", "rename to ../out\n",
            "rename to link/x\n", "rename from link/old\n", "rename to new\n", "new file mode 100755\n",
            "deleted file mode 100644\n", "new file mode 120000\n", "old mode 100644\n", "new mode 100755\n",
            "@@ -1 +1 @@\n", "@@ -0,0 +1 @@\n", "@@ -1 +0,0 @@\n", "@@ -999999999,999999999 +999999999,999999999 @@\n",
            "-old\n", "+new\n", " old\n", "\\ No newline at end of file\n", "\n", "--- in\n", "+++ in\n", "+++ .git/hooks/x\n", "\0\n", "é\n",
        ]), 0..9),
    ) {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("ws");
        std::fs::create_dir(&root).unwrap();
        std::fs::create_dir(outer.path().join("elsewhere")).unwrap();
        std::fs::write(outer.path().join("elsewhere/old"), "old\n").unwrap();
        std::fs::write(root.join("in"), "old\n").unwrap();
        std::os::unix::fs::symlink("../elsewhere", root.join("link")).unwrap();
        let patch: String = pieces.concat();
        let _ = apply(&root, &patch);
        let names = |at: &std::path::Path| {
            let mut names: Vec<_> = std::fs::read_dir(at).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        prop_assert_eq!(names(outer.path()), ["elsewhere", "ws"]);
        prop_assert_eq!(names(&outer.path().join("elsewhere")), ["old"]);
        prop_assert_eq!(std::fs::read_to_string(outer.path().join("elsewhere/old")).unwrap(), "old\n");
        prop_assert!(!root.join(".git").exists());
    }
}

#[test]
fn hunks_are_found_where_they_say_or_in_the_only_place() {
    let text: String = (1..=30).map(|n| format!("{n}\n")).collect();
    let tree = |text: &str| Tree::from([("f".to_owned(), text.to_owned())]);
    let root = write(&tree(&text));
    let patch = "--- f\n+++ f\n@@ -3,3 +3,3 @@\n 20\n-21\n+x\n 22\n";
    apply(root.path(), patch).unwrap();
    assert_eq!(read(root.path()), tree(&text.replace("21\n", "x\n")));
    let error = apply(root.path(), patch).unwrap_err();
    assert!(
        error.contains("line 5 of the patch: line 21 of `f` is `x`, and the patch has `21`"),
        "{error}"
    );
    let root = write(&tree("a\nb\na\nb\n"));
    let error = apply(root.path(), "--- f\n+++ f\n@@ -9 +9 @@\n-b\n+c\n").unwrap_err();
    assert!(error.contains("2 other places: lines 2, 4"), "{error}");
    let error = apply(root.path(), "--- f\n+++ f\n@@ -9,0 +10 @@\n+c\n").unwrap_err();
    assert!(
        error.contains("after line 9 of `f`, which has 4"),
        "{error}"
    );
    let root = write(&tree("a\r\nb\r\n"));
    let error = apply(root.path(), "--- f\n+++ f\n@@ -1 +1 @@\n-a\n+c\n").unwrap_err();
    assert!(
        error.contains("ends in `\\r\\n`, and that of the patch in `\\n`"),
        "{error}"
    );
}

#[test]
fn renames_modes_and_empty_files() {
    let root = write(&Tree::from([
        ("a".to_owned(), "1\n2\n".to_owned()),
        ("b".to_owned(), "same\n".to_owned()),
        ("e".to_owned(), String::new()),
    ]));
    let patch = "diff --git a/a b/new/a\nsimilarity index 50%\nrename from a\nrename to new/a\n--- a/a\n+++ b/new/a\n@@ -1,2 +1,2 @@\n 1\n-2\n+3\n\
                 diff --git a/b b/c\nsimilarity index 100%\nrename from b\nrename to c\n\
                 diff --git a/d b/d\nnew file mode 100755\nindex 0..1\n--- /dev/null\n+++ b/d\n@@ -0,0 +1 @@\n+#!/bin/sh\n\
                 diff --git a/e b/e\ndeleted file mode 100644\nindex e69de29..0000000\n";
    apply(root.path(), patch).unwrap();
    let expected = Tree::from([
        ("new/a".to_owned(), "1\n3\n".to_owned()),
        ("c".to_owned(), "same\n".to_owned()),
        ("d".to_owned(), "#!/bin/sh\n".to_owned()),
    ]);
    assert_eq!(read(root.path()), expected);
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |name: &str| {
        std::fs::metadata(root.path().join(name))
            .unwrap()
            .permissions()
            .mode()
    };
    assert_eq!(mode("d") & 0o100, 0o100);
    apply(
        root.path(),
        "diff --git a/d b/d\nold mode 100755\nnew mode 100644\n",
    )
    .unwrap();
    assert_eq!(mode("d") & 0o111, 0);
}
