//! Where absent names are held: nothing is put into the workspace, and what a run plants is noticed with what to do about it.

use crate::stage::{Stage, WALLS, as_root_and_nobody, bash, git, names};
use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    sync::{Arc, Mutex},
};
use toolcrib_sandbox::{
    AbsentNames, Cancel, GIT_KEYS, Keeper, Level, Moment, PROTECTED_NAMES, Planted, Policy, Remedy,
    Report, recover,
};

/// Records what is planted, and takes away what is to be taken.
#[derive(Default)]
struct Notes {
    baseline: Mutex<Vec<u8>>,
    planted: Mutex<Vec<(Planted, Moment)>>,
    /// Made when something is planted.
    signal: Option<std::path::PathBuf>,
}

impl Keeper for Notes {
    fn begin(&self, baseline: &[u8]) -> std::io::Result<()> {
        *self.baseline.lock().unwrap() = baseline.to_vec();
        Ok(())
    }

    fn planted(&self, planted: &[Planted], moment: Moment) {
        let mut all = self.planted.lock().unwrap();
        all.extend(planted.iter().map(|planted| (planted.clone(), moment)));
        if let Some(signal) = self.signal.as_ref().filter(|_| !planted.is_empty()) {
            fs::write(signal, "").unwrap();
        }
    }
}

pub(crate) fn holding(stage: &Stage, level: Level) -> Policy {
    let mut policy = stage.policy(level);
    policy.absent = AbsentNames::Hold;
    policy
}

/// What was planted, from the workspace, and what is to be done about it.
pub(crate) fn found(stage: &Stage, report: &Report) -> Vec<(String, Remedy)> {
    let root = stage.workspace.canonicalize().unwrap();
    let row = |planted: &Planted| {
        let path = planted.path.strip_prefix(&root).unwrap();
        (path.to_string_lossy().into_owned(), planted.remedy.clone())
    };
    report.planted.iter().map(row).collect()
}

pub(crate) fn paths(stage: &Stage, report: &Report) -> Vec<String> {
    found(stage, report)
        .into_iter()
        .map(|(path, _)| path)
        .collect()
}

pub(crate) const NO_SETTINGS: &str = "export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b;";

#[test]
fn nothing_is_put_into_the_workspace() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.file("a", "");
            let prepared = stage.sandbox.prepare(&holding(&stage, level)).unwrap();
            prepared.keep_ready().unwrap();
            assert_eq!(names(&stage.workspace), ["a"], "{level}");
            let ran = stage.bash(&holding(&stage, level), "ls -A");
            assert_eq!(ran.stdout, "a\n", "{level}");
            assert!(
                ran.report.planted.is_empty(),
                "{level}: {:?}",
                ran.report.planted
            );
        }
    });
}

#[test]
fn every_protected_name_that_a_run_makes_is_to_be_taken() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            let mut expected: Vec<String> = PROTECTED_NAMES
                .iter()
                .filter(|row| row.name != ".git")
                .flat_map(|row| match row.within {
                    [] => vec![row.name.replace('*', "my")],
                    within => within
                        .iter()
                        .map(|file| format!("{}/{file}", row.name))
                        .collect(),
                })
                .collect();
            let mut script = String::new();
            for path in &expected {
                script.push_str(&format!(
                    "mkdir -p \"$(dirname '{path}')\"; echo evil > '{path}'\n"
                ));
            }
            let ran = stage.bash(&holding(&stage, level), &script);
            assert_eq!(ran.stderr, "", "{level}");
            expected.sort();
            let mut planted = found(&stage, &ran.report);
            planted.sort_by(|one, other| one.0.cmp(&other.0));
            assert!(
                planted.iter().all(|(_, remedy)| *remedy == Remedy::Take),
                "{planted:?}"
            );
            let planted: Vec<String> = planted.into_iter().map(|(path, _)| path).collect();
            assert_eq!(planted, expected, "{level}");
            assert!(
                ran.report
                    .planted
                    .iter()
                    .all(|planted| !planted.why.is_empty())
            );
        }
    });
}

#[test]
fn names_in_the_users_repositories_below_the_root_are_to_be_taken() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            for directory in ["mine", "plain"] {
                fs::create_dir(stage.workspace.join(directory)).unwrap();
            }
            git(&stage.workspace.join("mine"), &["init", "-q"]);
            let script = format!(
                "{NO_SETTINGS} mkdir -p mine/.vscode mine/deep; git init -q its; \
                 for place in mine mine/deep plain its; do echo x > $place/.envrc; done; echo x > mine/.vscode/tasks.json"
            );
            let ran = stage.bash(&holding(&stage, level), &script);
            let mut found = found(&stage, &ran.report);
            found.retain(|(path, _)| !path.contains(".git"));
            let of = |path: &str, remedy| (path.to_owned(), remedy);
            let expected = [
                of("its/.envrc", Remedy::Report),
                of("mine/.envrc", Remedy::Take),
                of("mine/.vscode/tasks.json", Remedy::Take),
                of("mine/deep/.envrc", Remedy::Report),
                of("plain/.envrc", Remedy::Report),
            ];
            assert_eq!(found, expected, "{level}: {}", ran.stderr);
        }
    });
}

/// Work trees of the user below the root are judged as the root is: directories by what counts in them, names of two parts, and new files in
/// directories that were there.
#[test]
fn a_repository_of_the_user_below_the_root_is_judged_as_the_root() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            let mine = stage.workspace.join("mine");
            fs::create_dir(&mine).unwrap();
            git(&mine, &["init", "-q"]);
            for directory in [".husky", ".claude/hooks", ".github"] {
                fs::create_dir_all(mine.join(directory)).unwrap();
            }
            fs::write(mine.join(".husky/pre-push"), "old").unwrap();
            fs::create_dir_all(stage.workspace.join("plain/.husky")).unwrap();
            let script = format!(
                "{NO_SETTINGS} cd mine; mkdir -p .vscode .cursor .config sub/.husky link/hooks .jj/repo .JJ .kiro; \
                 for name in .claude/notes.md .vscode/x.txt .config/other.toml .github/x.yml .cursor/notes ../plain/.husky/pre-commit \
                 .husky/pre-commit .claude/hooks/h .claude/settings.json .config/lefthook.yml .vscode/tasks.json .VSCODE.md \
                 .cursor/mcp.json sub/.husky/x link/hooks/h .jj/repo/config.toml; do echo x > $name; done; \
                 mkdir .github/hooks; echo x > .github/hooks/h; ln -s link mise; ln -s link .gemini; echo x > .Envrc"
            );
            let ran = stage.bash(&holding(&stage, level), &script);
            let mut found = found(&stage, &ran.report);
            found.retain(|(path, _)| !path.contains(".git/"));
            let taken = [
                "mine/.Envrc",
                "mine/.claude/hooks/h",
                "mine/.claude/settings.json",
                "mine/.config/lefthook.yml",
                "mine/.cursor/mcp.json",
                "mine/.gemini",
                "mine/.github/hooks",
                "mine/.husky/pre-commit",
                "mine/.jj/repo/config.toml",
                "mine/.kiro",
                "mine/.vscode/tasks.json",
                "mine/mise",
            ];
            let of = |path: &str| (path.to_owned(), Remedy::Take);
            let mut expected: Vec<_> = taken.into_iter().map(of).collect();
            expected.push(("mine/sub/.husky".to_owned(), Remedy::Report));
            assert_eq!(found, expected, "{level}: {}", ran.stderr);
        }
    });
}

#[test]
fn what_exists_cannot_be_written_and_a_missing_directory_of_hooks_is_made() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.repository();
            fs::remove_dir_all(stage.workspace.join(".git/hooks")).unwrap();
            stage.file(".envrc", "mine\n");
            let script =
                "echo evil > .envrc; echo evil > .git/hooks/pre-commit; echo evil >> .git/config";
            let ran = stage.bash(&holding(&stage, level), script);
            assert_eq!(
                ran.stderr.matches("Read-only file system").count(),
                3,
                "{level}: {}",
                ran.stderr
            );
            assert!(
                ran.report.planted.is_empty(),
                "{level}: {:?}",
                ran.report.planted
            );
            assert_eq!(
                names(&stage.workspace.join(".git/hooks")),
                [""; 0],
                "{level}"
            );
        }
    });
}

#[test]
fn a_repository_that_a_run_makes_stays_without_what_would_run() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            let script = format!(
                "{NO_SETTINGS} git init -q . && echo x > a && git add a && git commit -qm a && git clone -q . sub/clone && git init -q --bare store.git && echo fine"
            );
            let ran = stage.bash(&holding(&stage, level), &script);
            assert_eq!(ran.stdout, "fine\n", "{level}: {}", ran.stderr);
            assert_eq!(ran.report.planted, [], "{level}");
            assert_eq!(ran.report.made.len(), 3, "{level}: {:?}", ran.report.made);

            let stage = Stage::new();
            let script = format!(
                "{NO_SETTINGS} git init -q . && git config core.fsmonitor ./evil && git config user.name me && echo evil > .git/hooks/post-checkout \
                 && git init -q --bare store.git && git -C store.git config alias.x '!evil' && echo ../up > .git/rebase-apply"
            );
            let ran = stage.bash(&holding(&stage, level), &script);
            let planted = found(&stage, &ran.report);
            let config = |path: &str| match planted.iter().find(|(found, _)| found == path) {
                Some((_, Remedy::Replace(text))) => String::from_utf8(text.clone()).unwrap(),
                _ => panic!("{path} in {planted:?}"),
            };
            assert!(
                !config(".git/config").contains("evil")
                    && config(".git/config").contains("name = me")
            );
            assert!(!config("store.git/config").contains("evil"));
            assert!(
                planted.contains(&(".git/hooks/post-checkout".to_owned(), Remedy::Take)),
                "{planted:?}"
            );
            assert_eq!(planted.len(), 3, "{planted:?}");
        }
    });
}

#[test]
fn a_repository_of_a_run_can_be_changed_and_removed_by_the_next_one() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            let policy = holding(&stage, level);
            let made = stage
                .bash(&policy, &format!("{NO_SETTINGS} git init -q sub"))
                .report
                .made;
            assert_eq!(made.len(), 1);
            let mut later = policy.clone();
            later.made = made;
            let ran = stage.bash(&later, &format!("{NO_SETTINGS} git -C sub config user.name me && git -C sub config core.pager evil"));
            assert_eq!(ran.stderr, "", "{level}");
            assert_eq!(paths(&stage, &ran.report), ["sub/.git/config"], "{level}");
            let ran = stage.bash(&later, "rm -rf sub && echo gone");
            assert_eq!(ran.stdout, "gone\n", "{level}: {}", ran.stderr);
            assert_eq!(ran.report.planted, [], "{level}");
        }
    });
}

#[test]
fn a_repository_that_an_index_names_is_looked_at_wherever_it_is() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.repository();
            // In one that is not looked into by itself, and in another one's index.
            let script = format!(
                "{NO_SETTINGS} for at in node_modules/x node_modules/x/target/y; do git init -q $at && git -C $at commit -q --allow-empty -m x \
                 && git -C $at config core.fsmonitor ./evil || exit; done; git add -f node_modules/x 2>/dev/null && git -C node_modules/x add -f target/y 2>/dev/null && echo fine"
            );
            let ran = stage.bash(&holding(&stage, level), &script);
            assert_eq!(ran.stdout, "fine\n", "{level}: {}", ran.stderr);
            let planted = paths(&stage, &ran.report);
            let expected = [
                "node_modules/x/.git/config",
                "node_modules/x/target/y/.git/config",
            ];
            assert_eq!(planted, expected, "{level}");
        }
    });
}

#[test]
fn a_submodule_in_a_directory_that_is_not_looked_into_is_covered() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.repository();
            for name in ["node_modules/there", "node_modules/empty"] {
                let path = stage.workspace.join(name);
                git(&stage.workspace, &["init", "-q", name]);
                git(&path, &["commit", "-q", "--allow-empty", "-m", "x"]);
                git(&stage.workspace, &["add", "-f", name]);
            }
            fs::remove_dir_all(stage.workspace.join("node_modules/empty/.git")).unwrap();
            let script = format!(
                "{NO_SETTINGS} echo evil > node_modules/there/.git/hooks/pre-commit; git -C node_modules/there config core.pager evil;
                 git init -q node_modules/empty; echo evil > node_modules/empty/.git/hooks/pre-commit"
            );
            let ran = stage.bash(&holding(&stage, level), &script);
            let planted = paths(&stage, &ran.report);
            assert_eq!(
                planted,
                ["node_modules/empty/.git/hooks/pre-commit"],
                "{level}"
            );
            assert!(
                !stage
                    .workspace
                    .join("node_modules/there/.git/hooks/pre-commit")
                    .exists()
            );
        }
    });
}

#[test]
fn a_file_or_link_that_leads_git_out_of_the_workspace_is_taken() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            let script = "mkdir a b c d; echo 'gitdir: /var/x/.git' > a/.git; ln -s /var b/.git; ln -s nowhere c/.git; echo nonsense > d/.git";
            let ran = stage.bash(&holding(&stage, level), script);
            let expected = ["a/.git", "b/.git", "c/.git", "d/.git"];
            assert_eq!(
                found(&stage, &ran.report),
                expected.map(|path| (path.to_owned(), Remedy::Take)),
                "{level}"
            );
        }
    });
}

#[test]
fn a_protected_name_behind_a_link_is_taken_with_the_link_or_where_it_is() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.file("other/mise.toml", "mine");
            symlink("other", stage.workspace.join("unrelated")).unwrap();
            let policy = holding(&stage, level);
            let ran = stage.bash(&policy, "ln -s other .config");
            let planted = found(&stage, &ran.report);
            assert_eq!(planted, [(".config".to_owned(), Remedy::Take)], "{level}");

            let stage = Stage::new();
            stage.file("other/x", "mine");
            symlink("other", stage.workspace.join(".config")).unwrap();
            let ran = stage.bash(&holding(&stage, level), "echo evil > other/mise.toml");
            let planted = found(&stage, &ran.report);
            assert_eq!(
                planted,
                [("other/mise.toml".to_owned(), Remedy::Take)],
                "{level}"
            );
        }
    });
}

#[test]
fn a_work_tree_of_a_run_can_be_removed_by_the_next_one() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            let policy = holding(&stage, level);
            let script = format!(
                "{NO_SETTINGS} git init -q main && git -C main commit -q --allow-empty -m x && git -C main worktree add -q ../tree && git init -q --separate-git-dir apart other"
            );
            let ran = stage.bash(&policy, &script);
            assert_eq!(
                (ran.stderr.as_str(), &*ran.report.planted),
                ("", &[][..]),
                "{level}"
            );
            let mut later = policy.clone();
            later.made = ran.report.made;
            let ran = stage.bash(&later, "rm -rf tree other apart && rm -r main && echo gone");
            assert_eq!(ran.stdout, "gone\n", "{level}: {}", ran.stderr);
            assert_eq!(ran.report.planted, [], "{level}");
        }
    });
}

#[test]
fn a_broken_repository_is_restored_and_the_one_put_in_its_place_dissolved() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.repository();
            stage.file("config", "mine = yes\n");
            let head = fs::read(stage.workspace.join(".git/HEAD")).unwrap();
            let script = "echo nonsense > .git/HEAD; mkdir objects refs; echo 'ref: refs/heads/m' > HEAD; printf '[core]\\n fsmonitor = evil\\n' >> config";
            let ran = stage.bash(&holding(&stage, level), script);
            let planted = found(&stage, &ran.report);
            let expected = [
                (".git/HEAD".to_owned(), Remedy::Replace(head.clone())),
                ("HEAD".to_owned(), Remedy::Take),
                ("objects".to_owned(), Remedy::Take),
                ("refs".to_owned(), Remedy::Take),
            ];
            assert_eq!(planted, expected, "{level}");

            let stage = Stage::new();
            stage.repository();
            let script = "rm .git/HEAD; mv .git/objects elsewhere; chmod 0 .git/refs; mkdir .git/rebase-merge; printf 'pick 1\\n x evil\\n' > .git/rebase-merge/git-rebase-todo";
            let ran = stage.bash(&holding(&stage, level), script);
            let expected = [
                (".git/HEAD".to_owned(), Remedy::Replace(head)),
                (".git/objects".to_owned(), Remedy::MakeDirectory),
                (
                    ".git/rebase-merge/git-rebase-todo".to_owned(),
                    Remedy::Replace(b"pick 1\n".to_vec()),
                ),
                (".git/refs".to_owned(), Remedy::MakeDirectory),
            ];
            assert_eq!(found(&stage, &ran.report), expected, "{level}");
        }
    });
}

#[test]
fn other_ways_to_have_git_run_something_are_noticed() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.repository();
            let script = r#"
                mkdir .git/remotes; echo 'URL: ext::sh -c evil' > .git/remotes/origin
                echo ../evil > .git/commondir
                printf '[core]\n fsmonitor = evil\n' > .git/config.worktree
                mkdir -p .git/modules/m/hooks; echo 'ref: refs/heads/m' > .git/modules/m/HEAD; printf '[core]\n pager = evil\n' > .git/modules/m/config
                mkdir -p deep/er/and/deeper/still/.git/hooks; echo evil > deep/er/and/deeper/still/.git/hooks/pre-commit
                mkdir gitdir; printf '[alias]\n st = !evil\n' > gitdir/config; mkdir linked; echo 'gitdir: ../gitdir' > linked/.git
                ln -s nowhere other.git; mkdir sub; ln -s ../nowhere sub/.git
            "#;
            let ran = stage.bash(&holding(&stage, level), script);
            assert_eq!(ran.stderr, "", "{level}");
            let expected = [
                ".git/commondir",
                ".git/config.worktree",
                ".git/modules/m/config",
                ".git/remotes/origin",
                "deep/er/and/deeper/still/.git/hooks/pre-commit",
                "gitdir/config",
                "sub/.git",
            ];
            assert_eq!(paths(&stage, &ran.report), expected, "{level}");
        }
    });
}

#[test]
fn what_the_user_makes_between_runs_is_not_the_next_runs() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            let prepared = stage.sandbox.prepare(&holding(&stage, level)).unwrap();
            let cancel = Cancel::new().unwrap();
            let run = |script: &str| {
                prepared
                    .run(&bash(script), &mut |_, _| {}, &cancel)
                    .unwrap()
            };
            assert_eq!(run("true").planted, [], "{level}");
            stage.file(".envrc", "mine\n");
            git(&stage.workspace, &["init", "-q", "."]);
            stage.file(".git/hooks/pre-commit", "mine\n");
            let report = run("echo evil > .envrc; echo evil > .git/hooks/pre-commit");
            assert_eq!(report.planted, [], "{level}");
            for name in [".envrc", ".git/hooks/pre-commit"] {
                assert_eq!(
                    fs::read_to_string(stage.workspace.join(name)).unwrap(),
                    "mine\n",
                    "{level}"
                );
            }
        }
    });
}

#[test]
fn a_name_is_noticed_while_the_command_runs() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            let notes = Arc::new(Notes {
                signal: Some(stage.workspace.join("seen")),
                ..Notes::default()
            });
            let command =
                bash("echo evil > .envrc; until [ -e seen ]; do sleep 0.01; done; echo over")
                    .keeper(Arc::clone(&notes) as _);
            let ran = stage.run(&holding(&stage, level), &command).unwrap();
            assert_eq!(ran.stdout, "over\n", "{level}: {ran:?}");
            let (planted, moment) = notes.planted.lock().unwrap()[0].clone();
            assert!(
                planted.path.ends_with(".envrc") && moment == Moment::Running,
                "{level}"
            );
        }
    });
}

/// A run that was killed planted something, and left this too.
fn is_found_beside(obstacle: &str) {
    as_root_and_nobody(|| {
        let stage = Stage::new();
        stage.repository();
        let notes = Arc::new(Notes::default());
        let policy = holding(&stage, Level::Process);
        let command = bash("true").keeper(Arc::clone(&notes) as _);
        stage.run(&policy, &command).unwrap();
        let baseline = notes.baseline.lock().unwrap().clone();
        let mut shell = std::process::Command::new("bash");
        shell.args(["-c", obstacle]).current_dir(&stage.workspace);
        assert!(shell.status().unwrap().success());
        stage.file(".envrc", "evil");
        let planted = recover(&policy, &baseline).unwrap();
        let mut planted = planted.iter();
        assert!(planted.any(|planted| planted.path.ends_with(".envrc")));
    });
}

#[test]
fn what_a_killed_run_planted_is_found_beside_many_modules() {
    is_found_beside("mkdir -p .git/modules/{1..2100}");
}

#[test]
fn what_a_killed_run_planted_is_found_beside_many_repositories() {
    is_found_beside(
        "mkdir -p r{1..1100}/.git/{objects,refs}; for i in {1..1100}; do echo 'ref: refs/heads/main' > r$i/.git/HEAD; done",
    );
}

#[test]
fn what_a_killed_run_planted_is_found_beside_an_index_that_is_not_a_file() {
    is_found_beside("rm -f .git/index; mkfifo .git/index");
    is_found_beside("rm -f .git/index; mkdir .git/index");
}

#[test]
fn what_a_killed_run_planted_is_found_beside_what_it_closed() {
    is_found_beside("mkdir .vscode; chmod 000 .vscode");
}

#[test]
fn what_was_written_down_before_a_run_shows_what_it_planted() {
    as_root_and_nobody(|| {
        let stage = Stage::new();
        stage.repository();
        stage.file(".vscode/tasks.json", "{}");
        stage.file(".bashrc", "mine");
        let notes = Arc::new(Notes::default());
        let policy = holding(&stage, Level::Process);
        stage
            .run(&policy, &bash("true").keeper(Arc::clone(&notes) as _))
            .unwrap();
        let baseline = notes.baseline.lock().unwrap().clone();
        let recovered = || {
            let planted = recover(&policy, &baseline).unwrap();
            let root = stage.workspace.canonicalize().unwrap();
            let path = |planted: Planted| {
                planted
                    .path
                    .strip_prefix(&root)
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned()
            };
            planted.into_iter().map(path).collect::<Vec<_>>()
        };
        assert_eq!(recovered(), [""; 0]);
        stage.file(".envrc", "evil");
        stage.file(".vscode/settings.json", "evil");
        stage.file(".git/HEAD", "evil");
        git(&stage.workspace, &["init", "-q", "sub"]);
        stage.file("sub/.git/hooks/pre-commit", "evil");
        symlink("x", stage.workspace.join(".husky")).unwrap();
        let expected = [
            ".envrc",
            ".git/HEAD",
            ".husky",
            ".vscode/settings.json",
            "sub/.git/hooks/pre-commit",
        ];
        assert_eq!(recovered(), expected);
        assert!(recover(&policy, b"nonsense").is_err());
    });
}

#[test]
fn names_are_noticed_where_there_are_no_mounts() {
    as_root_and_nobody(|| {
        let stage = Stage::without_namespaces();
        stage.repository();
        let script = "echo evil > .envrc; mkdir -p sub/.git/hooks; echo evil > sub/.git/hooks/pre-commit; echo evil > .git/HEAD";
        let ran = stage.bash(&holding(&stage, Level::Process), script);
        assert_eq!(
            paths(&stage, &ran.report),
            [".envrc", ".git/HEAD", "sub/.git/hooks/pre-commit"]
        );
    });
}

#[test]
fn a_repository_that_is_moved_keeps_its_hooks() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            fs::create_dir(stage.workspace.join("lib")).unwrap();
            git(&stage.workspace.join("lib"), &["init", "-q", "."]);
            stage.file("lib/.git/hooks/pre-commit", "mine\n");
            let ran = stage.bash(&holding(&stage, level), "mv lib moved && echo fine");
            assert_eq!(ran.stdout, "fine\n", "{level}: {}", ran.stderr);
            assert_eq!(ran.report.planted, [], "{level}");
            assert!(Path::new(&stage.workspace.join("moved/.git/hooks/pre-commit")).exists());
        }
    });
}

#[test]
fn what_leads_to_a_repository_is_followed_wherever_it_leads() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.repository();
            let script = format!(
                r#"{NO_SETTINGS}
                evil() {{ printf '[core]\n\tfsmonitor = evil\n' >> "$1"; }}
                mkdir d1 d2 sub; echo 'ref: refs/heads/main' > d1/HEAD; echo ../d2 > d1/commondir; evil d2/config; echo 'gitdir: ../d1' > sub/.git
                git worktree add -q wt; mkdir d3; evil d3/config; echo ../../../d3 > .git/worktrees/wt/commondir
                mkdir -p .vscode/x; git init -q .vscode/x; evil .vscode/x/.git/config
                git init -q good; mv good/.git .git/g1; cp -r .git/g1 '.git/g1 '; evil '.git/g1 /config'; echo 'gitdir: ../.git/g1 ' > good/.git
                git init -q late; mv late/.git g2; ln -s g2 lnk; echo 'gitdir: ../lnk' > late/.git; sleep 0.2; cp -r g2 .git/evil; evil .git/evil/config; ln -sfn .git/evil lnk
                "#
            );
            let ran = stage.bash(&holding(&stage, level), &script);
            let expected = [
                ".git/evil/config",
                ".git/g1 /config",
                ".vscode/x/.git/config",
                "d2/config",
                "d3/config",
            ];
            assert_eq!(
                paths(&stage, &ran.report),
                expected,
                "{level}: {}",
                ran.stderr
            );
        }
    });
}

#[test]
fn links_that_git_would_write_through_and_strategies_are_noticed() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.repository();
            let script = "ln -s /elsewhere .git/COMMIT_EDITMSG.x; ln -sf /elsewhere .git/COMMIT_EDITMSG; rm -f .git/logs/HEAD; ln -s /elsewhere .git/logs/HEAD; \
                mkdir .git/rebase-merge .git/sequencer; echo ../evil > .git/rebase-merge/strategy; printf '[options]\n strategy = ../evil\n' > .git/sequencer/opts; \
                ln -s ../../todo .git/rebase-merge/git-rebase-todo";
            let ran = stage.bash(&holding(&stage, level), script);
            let expected = [
                ".git/COMMIT_EDITMSG",
                ".git/COMMIT_EDITMSG.x",
                ".git/logs/HEAD",
                ".git/rebase-merge/git-rebase-todo",
                ".git/rebase-merge/strategy",
                ".git/sequencer/opts",
            ];
            assert_eq!(
                paths(&stage, &ran.report),
                expected,
                "{level}: {}",
                ran.stderr
            );
        }
    });
}

#[test]
fn a_directory_that_takes_the_place_of_another_with_the_same_times_is_looked_into() {
    as_root_and_nobody(|| {
        let stage = Stage::new();
        let script = "import os,subprocess,time\n\
            os.makedirs('sub/x'); os.makedirs('node_modules/B/x')\n\
            subprocess.run(['git','init','-q','node_modules/B/x'],check=True)\n\
            open('node_modules/B/x/.git/hooks/pre-commit','w').write('evil')\n\
            os.utime('sub'); os.utime('node_modules/B'); time.sleep(0.2)\n\
            os.rename('sub','node_modules/A'); os.rename('node_modules/B','sub')\n";
        let ran = stage.python(&holding(&stage, Level::Process), script);
        assert_eq!(
            paths(&stage, &ran.report),
            ["sub/x/.git/hooks/pre-commit"],
            "{}",
            ran.stderr
        );
    });
}

#[test]
fn submodules_are_found_however_an_index_hides_them() {
    let repository = "git init -q node_modules/e; git -C node_modules/e commit -q --allow-empty -m x; git -C node_modules/e config core.fsmonitor ./evil; h=$(git -C node_modules/e rev-parse HEAD)";
    let scripts = [
        // The larger part of a split index comes after the smaller one.
        "export GIT_INDEX_FILE=$PWD/.git/idx2; cp .git/index .git/idx2; git update-index --add --cacheinfo 160000,$h,node_modules/e; git update-index --split-index; \
         mv .git/sharedindex.* /tmp/; mv .git/idx2 .git/index; sleep 0.3; mv /tmp/sharedindex.* .git/",
        // Among many files.
        "for i in $(seq 600); do : > .git/f$i; done; git update-index --add --cacheinfo 160000,$h,node_modules/e; git update-index --split-index",
        // After a name that no file can have.
        "{ printf \"100644 $(git hash-object -w HEAD 2>/dev/null || git hash-object -w --stdin </dev/null) 0\\t\"; printf 'a/%.0s' $(seq 3000); echo b; printf \"160000 $h 0\\tnode_modules/e\\n\"; } | git update-index --index-info",
    ];
    as_root_and_nobody(|| {
        for script in scripts {
            let stage = Stage::new();
            stage.repository();
            let script = format!("{NO_SETTINGS} {repository}; {script}");
            let ran = stage.bash(&holding(&stage, Level::Process), &script);
            let planted = paths(&stage, &ran.report);
            assert_eq!(
                planted,
                ["node_modules/e/.git/config"],
                "{script}: {}",
                ran.stderr
            );
        }
        // More than can be followed.
        let stage = Stage::new();
        stage.repository();
        let script = format!(
            "{NO_SETTINGS} h=$(git rev-parse HEAD); seq -f \"160000 $h 0\tb/%06.0f\" 1 20100 | git update-index --index-info"
        );
        let ran = stage.bash(&holding(&stage, Level::Process), &script);
        assert_eq!(
            found(&stage, &ran.report),
            [(".git/index".to_owned(), Remedy::Take)],
            "{}",
            ran.stderr
        );
    });
}

#[test]
fn what_a_repositorys_settings_have_git_run_cannot_be_written_in_any_work_tree() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.repository();
            let set = |words: &[&str]| git(&stage.workspace, words);
            set(&["config", "core.fsmonitor", "./tools/fsm.sh"]);
            set(&["config", "core.hooksPath", "hk"]);
            set(&["worktree", "add", "-q", "wt"]);
            git(
                &stage.workspace,
                &["init", "-q", "--separate-git-dir", "apart", "other"],
            );
            git(
                &stage.workspace.join("other"),
                &["config", "core.hooksPath", "hk"],
            );
            let places = [
                "tools/fsm.sh",
                "hk/pre-commit",
                "wt/hk/pre-commit",
                "wt/tools/fsm.sh",
                "other/hk/pre-commit",
            ];
            for place in places {
                stage.file(place, "mine");
            }
            let script = format!(
                "for f in {}; do echo evil > $f; done; true",
                places.join(" ")
            );
            stage.bash(&holding(&stage, level), &script);
            for place in places {
                let text = fs::read_to_string(stage.workspace.join(place)).unwrap();
                assert_eq!(text, "mine", "{level}: {place}");
            }
        }
    });
}

#[test]
fn the_settings_of_a_repository_outside_count_in_a_work_tree_that_is_the_workspace() {
    as_root_and_nobody(|| {
        let stage = Stage::new();
        fs::remove_dir(&stage.workspace).unwrap();
        let main = stage.workspace.with_file_name("main");
        fs::create_dir(&main).unwrap();
        git(&main, &["init", "-q"]);
        git(&main, &["commit", "-q", "--allow-empty", "-m", "x"]);
        git(&main, &["config", "core.hooksPath", "hk"]);
        git(
            &main,
            &["worktree", "add", "-q", stage.workspace.to_str().unwrap()],
        );
        stage.file("hk/pre-commit", "mine");
        stage.bash(
            &holding(&stage, Level::Process),
            "echo evil > hk/pre-commit",
        );
        assert_eq!(
            fs::read_to_string(stage.workspace.join("hk/pre-commit")).unwrap(),
            "mine"
        );
    });
}

#[test]
fn a_second_name_of_a_protected_file_is_another_file() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.repository();
            stage.file(".git/hooks/pre-commit", "mine");
            let config = fs::read_to_string(stage.workspace.join(".git/config")).unwrap();
            for (name, other) in [(".git/config", "data"), (".git/hooks/pre-commit", "more")] {
                fs::hard_link(stage.workspace.join(name), stage.workspace.join(other)).unwrap();
            }
            let ran = stage.bash(
                &holding(&stage, level),
                "echo evil >> data && echo evil >> more",
            );
            assert_eq!(ran.stderr, "", "{level}");
            let text = |name: &str| fs::read_to_string(stage.workspace.join(name)).unwrap();
            assert_eq!(
                (text(".git/config"), text(".git/hooks/pre-commit")),
                (config, "mine".to_owned()),
                "{level}"
            );
            assert!(text("data").contains("evil"));
        }
    });
}

#[test]
fn a_link_is_found_among_many_directories_and_a_strategy_in_a_long_file() {
    as_root_and_nobody(|| {
        let stage = Stage::new();
        stage.repository();
        let script = "mkdir -p .git/refs/tags .git/logs/x .git/sequencer; (cd .git/refs/tags && seq -f d%04.0f 1500 | xargs mkdir); ln -s /elsewhere .git/logs/x/y; \
            { echo '[options]'; head -c 1100000 /dev/zero | tr '\\0' '#'; echo; echo 'strategy = x/evil'; } > .git/sequencer/opts; echo a > .git/lazygit.yml; \
            printf 'ref:%300s refs/heads/main\\n' '' > .git/HEAD";
        let ran = stage.bash(&holding(&stage, Level::Process), script);
        let expected = [
            ".git/HEAD",
            ".git/lazygit.yml",
            ".git/logs/x/y",
            ".git/sequencer/opts",
        ];
        assert_eq!(paths(&stage, &ran.report), expected, "{}", ran.stderr);
    });
}

#[test]
fn links_and_remotes_of_a_killed_run_are_found_later() {
    as_root_and_nobody(|| {
        let stage = Stage::new();
        stage.repository();
        symlink("x", stage.workspace.join(".git/mine")).unwrap();
        let notes = Arc::new(Notes::default());
        let policy = holding(&stage, Level::Process);
        stage
            .run(&policy, &bash("true").keeper(Arc::clone(&notes) as _))
            .unwrap();
        let baseline = notes.baseline.lock().unwrap().clone();
        symlink("/elsewhere", stage.workspace.join(".git/ORIG_HEAD")).unwrap();
        stage.file(".git/remotes/o", "URL: ext::sh -c id\n");
        let root = stage.workspace.canonicalize().unwrap();
        let planted = recover(&policy, &baseline).unwrap();
        let planted: Vec<_> = planted
            .iter()
            .map(|planted| planted.path.strip_prefix(&root).unwrap().to_str().unwrap())
            .collect();
        assert_eq!(planted, [".git/ORIG_HEAD", ".git/remotes/o"]);
    });
}

#[test]
fn what_the_user_changes_in_a_protected_file_during_a_run_stays() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.file(".envrc", "mine");
            stage.file("mise.toml", "mine");
            let workspace = stage.workspace.clone();
            let user = std::thread::spawn(move || {
                while !workspace.join("begun").exists() {
                    std::thread::yield_now();
                }
                fs::write(workspace.join(".envrc"), "changed").unwrap();
                fs::write(workspace.join("new"), "saved").unwrap();
                fs::rename(workspace.join("new"), workspace.join("mise.toml")).unwrap();
                fs::write(workspace.join("go"), "").unwrap();
            });
            let script = "echo > begun; until [ -e go ]; do sleep 0.01; done; touch more";
            let ran = stage.bash(&holding(&stage, level), script);
            user.join().unwrap();
            assert_eq!(
                paths(&stage, &ran.report),
                [""; 0],
                "{level}: {}",
                ran.stderr
            );
        }
    });
}

#[test]
fn settings_that_are_written_just_before_a_repository_appears_are_judged() {
    as_root_and_nobody(|| {
        for script in [
            "git init -q node_modules/e; git -C node_modules/e config core.fsmonitor ./evil; sleep 0.3; chmod 600 node_modules/e/.git/config; mv node_modules/e sub; sleep 0.6",
            "git init -q node_modules/e; git -C node_modules/e config core.fsmonitor ./evil; mkdir d; sleep 0.5; chmod 311 d; mv node_modules/e d/sub; sleep 0.4",
        ] {
            let stage = Stage::new();
            let command = format!("{NO_SETTINGS} {script}");
            let command = bash(&command).keeper(Arc::new(Notes::default()) as _);
            let ran = stage
                .run(&holding(&stage, Level::Process), &command)
                .unwrap();
            let planted = found(&stage, &ran.report);
            assert!(
                matches!(&planted[..], [(path, Remedy::Replace(_)), ..] if path.ends_with("sub/.git/config")),
                "{script}: {planted:?}"
            );
            let closed = stage.workspace.join("d");
            if closed.exists() {
                let mode = std::os::unix::fs::PermissionsExt::mode(
                    &fs::metadata(closed).unwrap().permissions(),
                );
                assert_eq!(mode & 0o777, 0o311);
            }
        }
    });
}

#[test]
fn programs_of_settings_are_found_behind_wrappers() {
    as_root_and_nobody(|| {
        for value in [
            "env A=b ./tools/x",
            "A=b ./tools/x",
            "sh -e ./tools/x",
            "exec ./tools/x",
            "timeout 5 ./tools/x",
            "true && ./tools/x",
            "f() { ./tools/x; }; f",
            "$PWD/tools/x",
            "./tools/\"x\"",
            "python3 -u tools/x",
        ] {
            let stage = Stage::new();
            stage.repository();
            stage.file("tools/x", "mine");
            stage.file("src/lib.rs", "mine");
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            fs::set_permissions(stage.workspace.join("tools/x"), mode).unwrap();
            git(&stage.workspace, &["config", "filter.f.clean", value]);
            git(
                &stage.workspace,
                &["config", "alias.see", "!cat src/lib.rs"],
            );
            let script = "echo evil > tools/x; echo more > src/lib.rs";
            stage.bash(&holding(&stage, Level::Process), script);
            let text = |name: &str| fs::read_to_string(stage.workspace.join(name)).unwrap();
            assert_eq!(
                (text("tools/x").as_str(), text("src/lib.rs").as_str()),
                ("mine", "more\n"),
                "{value}"
            );
        }
    });
}

#[test]
fn settings_of_submodules_and_of_the_repository_around_count_in_the_workspace() {
    as_root_and_nobody(|| {
        let stage = Stage::new();
        git(&stage.workspace, &["init", "-q", "sub"]);
        git(
            &stage.workspace.join("sub"),
            &["config", "core.hooksPath", "../gh"],
        );
        let around = stage.workspace.parent().unwrap();
        git(around, &["init", "-q"]);
        let name = stage.workspace.file_name().unwrap().to_str().unwrap();
        git(
            around,
            &["config", "core.fsmonitor", &format!("{name}/q/x")],
        );
        stage.file("gh/pre-commit", "mine");
        stage.file("q/x", "mine");
        stage.bash(
            &holding(&stage, Level::Process),
            "echo evil > gh/pre-commit; echo evil > q/x",
        );
        for path in ["gh/pre-commit", "q/x"] {
            assert_eq!(
                fs::read_to_string(stage.workspace.join(path)).unwrap(),
                "mine",
                "{path}"
            );
        }
    });
}

#[test]
fn a_head_that_git_does_not_take_is_replaced_and_a_linked_one_too() {
    as_root_and_nobody(|| {
        for script in [
            "printf 'ref:\\vrefs/heads/main\\n' > .git/HEAD",
            "mv .git/HEAD h; ln -s ../h .git/HEAD",
        ] {
            let stage = Stage::new();
            stage.repository();
            let ran = stage.bash(&holding(&stage, Level::Process), script);
            let planted = found(&stage, &ran.report);
            assert!(
                matches!(&planted[..], [(path, Remedy::Replace(_))] if path == ".git/HEAD"),
                "{script}: {planted:?}"
            );
        }
    });
}

#[test]
fn a_submodule_of_a_repository_with_a_strange_spelling_of_its_format_is_found() {
    as_root_and_nobody(|| {
        let stage = Stage::new();
        let script = format!(
            "{NO_SETTINGS} git init -q --object-format=sha256 .; git init -q --object-format=sha256 node_modules/e; git -C node_modules/e commit -q --allow-empty -m x; \
             git -C node_modules/e config core.fsmonitor ./evil; git add -f node_modules/e 2>/dev/null; sed -i 's/objectformat = sha256/objectformat = \"sha\"256/' .git/config; git status >/dev/null && echo fine"
        );
        let ran = stage.bash(&holding(&stage, Level::Process), &script);
        assert_eq!(ran.stdout, "fine\n", "{}", ran.stderr);
        assert_eq!(paths(&stage, &ran.report), ["node_modules/e/.git/config"]);
    });
}

/// Only root learns who made a file; for others what is uncertain is to be taken.
#[test]
fn a_file_that_another_program_makes_while_a_command_runs_stays_where_that_is_certain() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            let fifo = stage.workspace.join("go");
            let workspace = stage.workspace.clone();
            let others = std::thread::spawn(move || {
                // The command has begun when it makes this; after a while it is listened to who makes what.
                while !workspace.join("begun").exists() || is_root() && !listens() {
                    std::thread::yield_now();
                }
                fs::write(workspace.join(".envrc"), "mine\n").unwrap();
                fs::write(workspace.join(".vimrc"), "mine\n").unwrap();
                fs::write(workspace.join(".exrc"), "mine\n").unwrap();
                fs::write(fifo, "").unwrap();
            });
            let script = "echo > begun; until [ -e go ]; do sleep 0.01; done; sleep 0.3; echo evil > .zshrc; echo evil >> .vimrc; mkdir s; ln .exrc s/x && echo evil >> s/x && rm s/x; true";
            let command = bash(script).keeper(Arc::new(Notes::default()) as _);
            let ran = stage.run(&holding(&stage, level), &command).unwrap();
            others.join().unwrap();
            let mut planted = paths(&stage, &ran.report);
            planted.sort();
            planted.dedup();
            let expected: &[&str] = match is_root() {
                true => &[".exrc", ".vimrc", ".zshrc"],
                false => &[".envrc", ".exrc", ".vimrc", ".zshrc"],
            };
            assert_eq!(planted, expected, "{level}");
        }
    });
}

/// Whether this process hears of what is made in a directory.
fn listens() -> bool {
    let descriptors = fs::read_dir("/proc/self/fdinfo").unwrap().flatten();
    let mut texts = descriptors.filter_map(|entry| fs::read_to_string(entry.path()).ok());
    texts.any(|text| text.contains("fanotify ino:"))
}

fn is_root() -> bool {
    std::os::unix::fs::MetadataExt::uid(&fs::metadata("/proc/self").unwrap()) == 0
}

#[test]
fn the_names_in_docs_are_the_names_there_are() {
    let mut page = "# Protected names\n\n\
        Names in the root of a workspace that other programs run or take commands from, without you asking for that file. Commands of tools cannot\n\
        change those that exist; those that a command makes are held ([security.md](security.md#names-other-programs-run-later)). Generated from the table in\n\
        `crates/toolcrib-sandbox/src/protect/names.toml`. Each source was looked at.\n\n\
        | name | what counts in it | why | source |\n|---|---|---|---|\n"
        .to_owned();
    for row in PROTECTED_NAMES.iter() {
        let within: Vec<String> = row.within.iter().map(|name| format!("`{name}`")).collect();
        let within = if within.is_empty() {
            "all".to_owned()
        } else {
            within.join(", ")
        };
        let source = match row.source.strip_prefix("docs/") {
            Some(page) => format!("[{page}]({page})"),
            None => format!("<{}>", row.source),
        };
        page.push_str(&format!(
            "| `{}` | {within} | {} | {source} |\n",
            row.name, row.effect
        ));
    }
    page.push_str(
        "\n## Keys of git's configuration\n\n\
        A repository that a command makes stays in the workspace, without the settings by which git runs a program or reads more settings. `*` stands for the rest\n\
        of a key; sections may have a subsection. Generated from `crates/toolcrib-sandbox/src/protect/git_keys.toml`.\n\n\
        | key | when | source |\n|---|---|---|\n",
    );
    for row in GIT_KEYS.iter() {
        let when = match row.when {
            "" => "always",
            "address" => "the address has `::`, or begins with `ext:`",
            "command" => "the value begins with `!`",
            "not-a-switch" => "the value is neither true nor false",
            other => panic!("{other}"),
        };
        page.push_str(&format!("| `{}` | {when} | <{}> |\n", row.name, row.source));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/protected-names.md");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let written = fs::read_to_string(path).unwrap_or_default();
    assert!(
        written == page,
        "UPDATE_GOLDEN=1 writes docs/protected-names.md"
    );
}
