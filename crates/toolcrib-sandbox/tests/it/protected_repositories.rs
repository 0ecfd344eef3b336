//! Hooks and configuration of git repositories are protected; git itself works.

use crate::stage::{
    Stage, WALLS, as_root, as_root_and_nobody, bash, git, names, skipped, snapshot,
};
use std::{fs, path::Path, process::Command};
use toolcrib_sandbox::{Cancel, Level};

const GIT: &str = "git -c user.name=t -c user.email=t@localhost";

/// Runs a script that must not change anything on the host: it prints what worked.
fn changes_nothing(stage: &Stage, level: Level, script: &str) {
    let before = snapshot(&stage.workspace);
    let ran = stage.bash(&stage.policy(level), script);
    assert_eq!(ran.stdout, "", "{level}: {}", ran.stderr);
    assert_eq!(snapshot(&stage.workspace), before, "{level}");
}

/// Everything that would make git run something, for a repository at `$r`.
const ASSAULT: &str = r#"
g=$r/.git
try() { eval "$1" >/dev/null 2>&1 && echo "in '$r': $1"; }
try 'echo evil > $g/hooks/pre-commit'
try 'mkdir $g/hooks'
try 'echo evil >> $g/config'
try 'git -C $r config core.fsmonitor evil'
try 'git -C $r config core.hooksPath evil'
try 'echo evil > $g/commondir'
try 'rm -f $g/commondir && echo ../evil > $g/commondir'
try 'mv -T $g/hooks $g/old'
try 'mv -T $g/config $g/old'
try 'rm -rf $g/hooks; test ! -e $g/hooks'
try 'rm -f $g/config; test ! -e $g/config'
try 'mkdir h; echo evil > h/pre-commit; mv -T h $g/hooks'
try 'echo evil > c; mv -fT c $g/config'
try 'ln -sfT /bin $g/hooks'
try 'ln -sfT /bin/true $g/config'
try 'ln $g/config hard && echo evil > hard'
try 'chmod +x $g/hooks/pre-commit.sample'
try 'touch -d 2001-01-01 $g/config'
try 'mv -T $g $r/moved'
try 'mv -T $g moved && mkdir $g'
rm -rf h c hard
"#;

#[test]
fn hooks_and_configuration_cannot_be_changed() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.repository();
            stage.file(".git/hooks/pre-commit.sample", "mine");
            changes_nothing(&stage, level, &format!("r=.\n{ASSAULT}"));
        }
    });
}

#[test]
fn absent_hooks_and_configuration_cannot_be_planted() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.repository();
            fs::remove_dir_all(stage.workspace.join(".git/hooks")).unwrap();
            fs::remove_file(stage.workspace.join(".git/config")).unwrap();
            changes_nothing(&stage, level, &format!("r=.\n{ASSAULT}"));
        }
    });
}

#[test]
fn repositories_below_the_root_are_protected() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.repository();
            let nested = stage.workspace.join("vendor/one");
            fs::create_dir_all(&nested).unwrap();
            git(&nested, &["init", "--quiet"]);
            changes_nothing(&stage, level, &format!("r=vendor/one\n{ASSAULT}"));
        }
    });
}

#[test]
fn a_repository_swapped_by_moving_its_parent_is_refused_or_reported() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            let nested = stage.workspace.join("vendor/one");
            fs::create_dir_all(&nested).unwrap();
            git(&nested, &["init", "--quiet"]);
            let script = "mv vendor old; mkdir -p vendor; cp -r old/one vendor/one; mkdir -p vendor/one/.git/hooks; echo evil > vendor/one/.git/hooks/pre-commit";
            let ran = stage.bash(&stage.policy(level), script);
            assert!(
                !nested.join(".git/hooks/pre-commit").exists() || !ran.report.planted.is_empty(),
                "{level}: the hook is there and the report says nothing"
            );
        }
    });
}

#[test]
fn the_file_that_says_where_a_submodules_repository_is_cannot_be_redirected_unreported() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.repository();
            stage.file("sub/.git", "gitdir: ../.git/modules/sub\n");
            stage.file(".git/modules/sub/config", "[core]\n");
            let ran = stage.bash(
                &stage.policy(level),
                "echo 'gitdir: ../evil' > sub/.git; echo evil >> .git/modules/sub/config",
            );
            let text = |name: &str| fs::read_to_string(stage.workspace.join(name)).unwrap();
            assert_eq!(text(".git/modules/sub/config"), "[core]\n", "{level}");
            assert!(
                !text("sub/.git").contains("evil") || !ran.report.planted.is_empty(),
                "{level}: `sub/.git` was redirected and the report says nothing"
            );
        }
    });
}

#[test]
fn the_hooks_directory_that_the_configuration_names_is_protected() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.repository();
            stage.file("tools/hooks/pre-commit", "mine");
            git(
                &stage.workspace,
                &["config", "core.hooksPath", "tools/hooks"],
            );
            let script = "try() { eval \"$1\" >/dev/null 2>&1 && echo \"$1\"; }\n\
                try 'echo evil > tools/hooks/pre-commit'\ntry 'echo evil > tools/hooks/post-commit'\n\
                try 'chmod 777 tools/hooks/pre-commit'\ntry 'mv tools/hooks tools/old'\ntry 'rm -rf tools/hooks; test ! -e tools/hooks/pre-commit'\n";
            changes_nothing(&stage, level, script);
        }
    });
}

#[test]
fn a_hooks_directory_swapped_by_moving_its_parent_is_refused_or_reported() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.repository();
            stage.file("tools/hooks/pre-commit", "mine");
            git(
                &stage.workspace,
                &["config", "core.hooksPath", "tools/hooks"],
            );
            let script = "mv tools old; mkdir -p tools/hooks; echo evil > tools/hooks/pre-commit";
            let ran = stage.bash(&stage.policy(level), script);
            let hook = fs::read_to_string(stage.workspace.join("tools/hooks/pre-commit"));
            assert!(
                hook.unwrap() == "mine" || !ran.report.planted.is_empty(),
                "{level}: the hook was replaced and the report says nothing"
            );
        }
    });
}

#[test]
fn an_absent_hooks_directory_that_the_configuration_names_is_refused_or_reported() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.repository();
            git(&stage.workspace, &["config", "core.hooksPath", ".githooks"]);
            let script = "mkdir -p .githooks; echo evil > .githooks/pre-commit";
            let ran = stage.bash(&stage.policy(level), script);
            assert!(
                !stage.workspace.join(".githooks/pre-commit").exists()
                    || !ran.report.planted.is_empty(),
                "{level}: the hook is there and the report says nothing"
            );
        }
    });
}

#[test]
fn git_works_and_sees_no_placeholder() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.repository();
            let policy = stage.policy(level);
            let prepared = stage.sandbox.prepare(&policy).unwrap();
            let outside = git(&stage.workspace, &["status", "--porcelain"]);
            assert_eq!(
                outside, "",
                "{level}: placeholders as git sees them outside"
            );
            let script = format!(
                "export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null; set -e; git status --porcelain; echo two > two.txt; git add two.txt; {GIT} commit -q -m two; \
                 {GIT} tag -a v1 -m v1; git branch topic; git checkout -q topic; echo three >> tracked.txt; {GIT} commit -q -a -m three; \
                 {GIT} merge -q main; git stash list; git gc -q; git fsck; git log --oneline | wc -l; git status --porcelain"
            );
            let mut output = Vec::new();
            let report = prepared
                .run(
                    &bash(&script),
                    &mut |_, bytes| output.extend_from_slice(bytes),
                    &Cancel::new().unwrap(),
                )
                .unwrap();
            let said = String::from_utf8_lossy(&output);
            assert_eq!(report.exit_code(), 0, "{level}: {said}");
            assert_eq!(said.trim(), "3", "{level}");
            drop(prepared);
            assert_eq!(
                git(&stage.workspace, &["status", "--porcelain"]),
                "",
                "{level}"
            );
            assert_eq!(
                git(&stage.workspace, &["log", "--oneline", "topic"])
                    .lines()
                    .count(),
                3,
                "{level}"
            );
            assert_eq!(
                names(&stage.workspace),
                [".git", "tracked.txt", "two.txt"],
                "{level}"
            );
            assert_eq!(
                report.planted_paths(),
                Vec::<std::path::PathBuf>::new(),
                "{level}"
            );
        }
    });
}

#[test]
fn git_reads_the_settings_of_its_user() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.repository();
            fs::write(stage.outside.join(".gitconfig"), "[user]\nname = me\n").unwrap();
            let command = bash("git status --porcelain && git log --oneline | wc -l")
                .env("HOME", &stage.outside);
            let mut policy = stage.policy(level);
            policy
                .read
                .extend(toolcrib_sandbox::toolchains(&stage.outside));
            let ran = stage.run(&policy, &command).unwrap();
            assert_eq!(ran.stdout, "1\n", "{level}: {ran:?}");
        }
    });
}

#[test]
fn a_new_repository_in_a_subdirectory_is_allowed_and_reported() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.repository();
            let script = "export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null; git clone -q . sub/clone && git init -q fresh && echo fine";
            let ran = stage.bash(&stage.policy(level), script);
            assert_eq!(ran.stdout, "fine\n", "{level}: {}", ran.stderr);
            let expected = ["fresh/.git", "sub/clone/.git"].map(|name| stage.workspace.join(name));
            assert_eq!(ran.report.made, expected, "{level}");
            assert_eq!(ran.report.planted_paths(), expected, "{level}");
        }
    });
}

#[test]
fn two_runs_at_once_both_protect_a_repository() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.repository();
            fs::remove_dir_all(stage.workspace.join(".git/hooks")).unwrap();
            let before = snapshot(&stage.workspace);
            let policy = stage.policy(level);
            let first = stage.sandbox.prepare(&policy).unwrap();
            let script = "for f in commondir hooks; do rm -rf .git/$f; echo ../evil > .git/$f; done 2>/dev/null; \
                          for f in commondir hooks; do grep -s evil .git/$f; done; true";
            let second = stage.bash(&policy, script);
            assert_eq!(
                second.stdout, "",
                "{level}: the second run wrote what the first has placed"
            );
            drop(first);
            assert_eq!(snapshot(&stage.workspace), before, "{level}");
        }
    });
}

#[test]
fn a_file_system_that_folds_case_is_no_way_around() {
    as_root(|| {
        let test = "a_file_system_that_folds_case_is_no_way_around";
        let made = |program: &str, arguments: &[&str]| {
            let path = crate::stage::PATH;
            let output = Command::new(program)
                .args(arguments)
                .env("PATH", path)
                .output();
            output.is_ok_and(|output| output.status.success())
        };
        let stage = Stage::new();
        let image = stage.outside.join("image");
        fs::File::create(&image)
            .unwrap()
            .set_len(320 << 20)
            .unwrap();
        let image = image.to_str().unwrap();
        if !made("mkfs.xfs", &["-q", "-n", "version=ci", image]) {
            return skipped(test, "no `mkfs.xfs` (package xfsprogs) that can fold case");
        }
        if !made(
            "mount",
            &["-o", "loop", image, stage.workspace.to_str().unwrap()],
        ) {
            return skipped(test, "the kernel cannot mount an image of XFS");
        }
        let _mounted = Mounted(&stage.workspace);
        stage.repository();
        for level in WALLS {
            let script = "try() { eval \"$1\" 2>/dev/null && echo \"$1\"; }\n\
                try 'echo evil > .GIT/hooks/pre-commit'\ntry 'echo evil >> .Git/CONFIG'\ntry 'echo evil > .ENVRC'\n\
                try 'mkdir .VSCode/x'\ntry 'echo evil > a; mv -T a .BashRC'\ntry 'mv .GIT away'\nrm -f a\n";
            changes_nothing(&stage, level, script);
        }
    });
}

/// A file system that is taken away in the end.
struct Mounted<'a>(&'a Path);

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}
