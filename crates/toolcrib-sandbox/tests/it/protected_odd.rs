//! Repositories laid out in odd ways, or made odd by an earlier run.

use crate::stage::{Stage, WALLS, as_root_and_nobody, git};
use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
};
use toolcrib_sandbox::{Policy, Sandbox};

fn refused(policy: &Policy) -> String {
    let prepared = Sandbox::new().unwrap().prepare(policy);
    prepared.expect_err("it is refused").to_string()
}

#[test]
fn a_worktrees_way_to_its_repository_cannot_be_changed() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.repository();
            let tree = stage.outside.join("tree");
            git(
                &stage.workspace,
                &["worktree", "add", "--quiet", tree.to_str().unwrap()],
            );
            let common = stage.workspace.join(".git/worktrees/tree/commondir");
            let before = fs::read(&common).unwrap();
            stage.bash(
                &stage.policy(level),
                "echo ../../x > .git/worktrees/tree/commondir; mv .git/worktrees w",
            );
            assert_eq!(fs::read(&common).unwrap(), before, "{level}");
        }
    });
}

#[test]
fn a_repository_behind_a_link_is_protected() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.file("store/s.git/config", "[core]\n");
            stage.file("store/s.git/HEAD", "ref: refs/heads/main\n");
            fs::create_dir(stage.workspace.join("sub")).unwrap();
            symlink("../store/s.git", stage.workspace.join("sub/.git")).unwrap();
            stage.bash(&stage.policy(level), "echo evil >> store/s.git/config");
            let config = fs::read_to_string(stage.workspace.join("store/s.git/config"));
            assert_eq!(config.unwrap(), "[core]\n", "{level}");
        }
    });
}

#[test]
fn hooks_named_by_an_included_file_are_protected() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.repository();
            stage.file(".gitconfig", "[core]\n\thooksPath = h2 # ours\n");
            git(
                &stage.workspace,
                &["config", "include.path", "../.gitconfig"],
            );
            let ran = stage.bash(
                &stage.policy(level),
                "mkdir h2; echo evil > h2/pre-commit && echo PWNED; echo evil >> .gitconfig && echo PWNED",
            );
            assert_eq!(ran.stdout, "", "{level}: {}", ran.stderr);
        }
    });
}

#[test]
fn what_a_run_hides_by_a_mode_is_refused_or_reported() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.repository();
            stage.file(".git/modules/sub/HEAD", "ref: refs/heads/main\n");
            stage.bash(&stage.policy(level), "chmod 000 .git/modules");
            let hidden = fs::read_dir(stage.workspace.join(".git/modules")).is_err();
            // Root sees through it.
            if hidden {
                assert!(
                    refused(&stage.policy(level)).contains("chmod u+rwx"),
                    "{level}"
                );
            }
            let open = fs::Permissions::from_mode(0o755);
            fs::set_permissions(stage.workspace.join(".git/modules"), open).unwrap();
        }
    });
}

#[test]
fn more_repositories_than_anybody_has_are_refused_at_once_and_leave_nothing() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.repository();
            for number in 0..1100 {
                stage.file(&format!(".git/modules/m{number}/HEAD"), "");
            }
            let why = refused(&stage.policy(level));
            assert!(
                why.contains("too many") || why.contains("more than"),
                "{level}: {why}"
            );
            let module = stage.workspace.join(".git/modules/m1");
            assert_eq!(fs::read_dir(module).unwrap().count(), 1, "{level}");
        }
    });
}

#[test]
fn a_bare_repository_by_way_of_commondir_is_reported() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            let script =
                "mkdir -p src; echo 'ref: refs/heads/m' > src/HEAD; echo ../x > src/commondir";
            let ran = stage.bash(&stage.policy(level), script);
            let made = stage.workspace.canonicalize().unwrap().join("src");
            assert_eq!(ran.report.made, [made], "{level}");
        }
    });
}
