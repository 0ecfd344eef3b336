//! Names that other programs run later can be neither written nor planted, whether they are there or not.

use crate::stage::{Ran, Stage, WALLS, as_root_and_nobody, bash, eventually, names, snapshot};
use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::PathBuf,
    time::Duration,
};
use toolcrib_sandbox::{Cancel, Level, PROTECTED_NAMES, Stream};

/// Every way to put something at `$1`, to change it or to take it away. Prints the ones that worked.
const ATTACKS: &str = r#"
attack() { # name, commands
    ( eval "$2" ) >/dev/null 2>&1 && echo "$1 of $target worked"
}
assault() {
    target=$1
    attack write 'echo evil > "$target"'
    attack append 'echo evil >> "$target"'
    attack 'write inside' 'echo evil > "$target/evil"'
    attack truncate 'truncate -s 0 "$target"'
    attack mkdir 'mkdir "$target"'
    attack 'mkdir inside' 'mkdir "$target/evil"'
    attack symlink 'ln -s /bin/true "$target"'
    attack 'forced symlink' 'ln -sfT /bin/true "$target"'
    attack 'hard link onto' 'echo evil > a; ln a "$target"'
    attack 'forced hard link onto' 'echo evil > a; ln -fT a "$target"'
    attack 'rename onto' 'echo evil > a; mv -fT a "$target"'
    attack 'directory rename onto' 'rm -rf d; mkdir d; echo evil > d/evil; mv -fT d "$target"'
    attack exchange 'echo evil > a; python3 -c "import ctypes,os,sys; l=ctypes.CDLL(None,use_errno=True); sys.exit(l.syscall(316,-100,b\"a\",-100,os.fsencode(sys.argv[1]),2)!=0)" "$target"'
    attack 'rename away' 'mv -fT "$target" away'
    attack unlink 'rm -f "$target"; test ! -e "$target" -a ! -L "$target"'
    attack rmdir 'rmdir "$target"'
    attack 'remove all' 'rm -rf "$target"; test ! -e "$target" -a ! -L "$target"'
    attack 'chmod' 'chmod 777 "$target"'
    attack 'touch' 'touch -d 2001-01-01 "$target"'
    attack 'hard link to' 'rm -f b; ln "$target" b && echo evil > b'
    attack unmount 'umount "$target"'
    attack 'through proc' 'echo evil > "/proc/self/cwd/$target"'
    attack 'through another spelling' 'echo evil > "./x/../$target"'
    rm -rf a b d away
}
mkdir -p x
"#;

/// Attacks names, expecting that nothing works and that the host's files are as before.
fn withstands(stage: &Stage, level: Level, targets: &[&str]) -> Ran {
    let before = snapshot(&stage.workspace);
    let mut script = ATTACKS.to_owned();
    for target in targets {
        script.push_str(&format!("assault '{target}'\n"));
    }
    script.push_str("rmdir x; echo done\n");
    let mut policy = stage.policy(level);
    policy.limits.time = Some(Duration::from_secs(18));
    let ran = stage.bash(&policy, &script);
    assert_eq!(ran.stdout, "done\n", "{level}: {}", ran.stderr);
    assert_eq!(snapshot(&stage.workspace), before, "{level}");
    assert_eq!(ran.report.planted_paths(), Vec::<PathBuf>::new(), "{level}");
    ran
}

/// One in four of the names that stand for themselves: an assault takes its time.
fn sample() -> Vec<&'static str> {
    let names = PROTECTED_NAMES.iter().map(|row| row.name);
    let names = names.filter(|name| !name.contains(['*', '/']));
    names.step_by(4).chain([".git", ".envrc"]).collect()
}

#[test]
fn absent_names_cannot_be_planted() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let ran = withstands(&Stage::new(), level, &sample());
            let layers = ran.report.layers.iter();
            assert!(
                layers
                    .map(|layer| layer.name())
                    .any(|name| name == "protected-names")
            );
        }
    });
}

#[test]
fn existing_files_cannot_be_changed() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            for name in sample() {
                stage.file(name, "mine\n");
            }
            withstands(&stage, level, &sample());
        }
    });
}

#[test]
fn existing_directories_cannot_be_changed() {
    as_root_and_nobody(|| {
        // Of an editor's directory some files are protected; of these the whole.
        let whole = [".toolcrib", ".idea", ".envrc", ".nvimrc"];
        for level in WALLS {
            let stage = Stage::new();
            for name in whole {
                stage.file(&format!("{name}/file"), "mine\n");
            }
            let inside = whole.map(|name| format!("{name}/file"));
            let mut targets: Vec<&str> = inside.iter().map(String::as_str).collect();
            targets.extend(whole);
            withstands(&stage, level, &targets);
        }
    });
}

#[test]
fn files_of_editors_cannot_be_changed_or_planted() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.file(".vscode/tasks.json", "{}");
            stage.file(".zed/settings.json", "{}");
            let targets = [
                ".vscode/tasks.json",
                ".vscode/settings.json",
                ".vscode/launch.json",
                ".zed/settings.json",
                ".zed/tasks.json",
            ];
            withstands(&stage, level, &targets);
            // The directory cannot be moved with all that is in it, either.
            let ran = stage.bash(
                &stage.policy(level),
                "mv .vscode old || echo refused; echo [] > .vscode/other.json && echo fine",
            );
            assert_eq!(ran.stdout, "refused\nfine\n", "{level}: {ran:?}");
            assert_eq!(
                names(&stage.workspace.join(".vscode")),
                ["other.json", "tasks.json"]
            );
        }
    });
}

#[test]
fn links_cannot_be_replaced() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.file("real/envrc", "mine\n");
            stage.file("gitdir/config", "[core]\n");
            symlink("real/envrc", stage.workspace.join(".envrc")).unwrap();
            symlink("gitdir", stage.workspace.join(".git")).unwrap();
            symlink("nowhere", stage.workspace.join(".bashrc")).unwrap();
            let script = r#"
                for name in .envrc .git .bashrc; do
                    echo evil > evil
                    mv -fT evil $name && echo renamed onto $name
                    ln -sfnT evil $name && echo linked over $name
                    rm -f $name && echo removed $name
                    mv -T $name away && echo moved $name
                    rm -f evil
                done 2>/dev/null; echo done"#;
            let ran = stage.bash(&stage.policy(level), script);
            assert_eq!(ran.stdout, "done\n", "{level}: {}", ran.stderr);
            assert!(stage.workspace.join(".envrc").is_symlink());
            assert!(stage.workspace.join(".bashrc").is_symlink());
        }
    });
}

#[test]
fn a_link_on_the_way_to_what_is_protected_cannot_be_replaced() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.file("real/deep/envrc", "mine\n");
            stage.file("real/deep/hooks/pre-commit", "mine\n");
            stage.file(".git/HEAD", "ref: refs/heads/main\n");
            stage.file(".git/config", "[core]\n\thooksPath = way/hooks\n");
            symlink("../real", stage.workspace.join("real/again")).unwrap();
            symlink("real/again/deep", stage.workspace.join("way")).unwrap();
            symlink("way/envrc", stage.workspace.join(".envrc")).unwrap();
            let script = "
                for name in way real/again; do
                    mv $name $name.old && mkdir -p $name/deep/hooks $name/hooks
                    for file in envrc hooks/pre-commit; do echo evil | tee $name/$file $name/deep/$file; done
                done";
            let ran = stage.bash(&stage.policy(level), script);
            for file in [".envrc", "way/hooks/pre-commit"] {
                let text = fs::read_to_string(stage.workspace.join(file)).unwrap_or_default();
                assert!(
                    text != "evil\n" || !ran.report.planted.is_empty(),
                    "{level}: {file} was replaced and the report says nothing"
                );
            }
        }
    });
}

#[test]
fn what_a_protected_link_leads_to_is_protected_or_reported() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.file("real/envrc", "mine\n");
            stage.file("gitdir/config", "[core]\n");
            stage.file("gitdir/hooks/pre-commit", "mine\n");
            symlink("real/envrc", stage.workspace.join(".envrc")).unwrap();
            symlink("gitdir", stage.workspace.join(".git")).unwrap();
            symlink("nowhere", stage.workspace.join(".bashrc")).unwrap();
            for (write, seen) in [
                ("echo evil > .envrc", "real/envrc"),
                (
                    "echo evil > .git/hooks/pre-commit",
                    "gitdir/hooks/pre-commit",
                ),
                ("echo evil > .bashrc", "nowhere"),
            ] {
                let ran = stage.bash(&stage.policy(level), write);
                let text = fs::read_to_string(stage.workspace.join(seen)).unwrap_or_default();
                assert!(
                    text != "evil\n" || !ran.report.planted.is_empty(),
                    "{level}: `{write}` worked and was not reported"
                );
            }
        }
    });
}

#[test]
fn names_that_differ_in_case_are_reported() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            let script = "mkdir -p .GIT/hooks sub; echo evil > .GIT/hooks/pre-commit; echo evil > .Envrc; echo evil > sub/.ENVRC; echo fine > other";
            let ran = stage.bash(&stage.policy(level), script);
            let expected = [".Envrc", ".GIT", ".GIT/hooks/pre-commit", "sub/.ENVRC"]
                .map(|name| stage.workspace.join(name));
            assert_eq!(ran.report.planted_paths(), expected, "{level}");
        }
    });
}

#[test]
fn names_below_the_root_are_reported() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            fs::create_dir(stage.workspace.join("old")).unwrap();
            let script = "mkdir -p new/deep; echo evil > new/deep/.envrc; echo evil > old/.bashrc; echo fine > old/file";
            let ran = stage.bash(&stage.policy(level), script);
            let expected =
                ["new/deep/.envrc", "old/.bashrc"].map(|name| stage.workspace.join(name));
            assert_eq!(ran.report.planted_paths(), expected, "{level}");
        }
    });
}

#[test]
fn runs_at_once_share_placeholders_and_the_last_removes_them() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.file("mine", "mine");
            let policy = stage.policy(level);
            let first = stage.sandbox.prepare(&policy).unwrap();
            let placed = names(&stage.workspace);
            assert!(placed.contains(&".envrc".to_owned()), "{level}: {placed:?}");
            // A second run comes and goes; the first is still protected.
            let second = stage.bash(&policy, "echo evil > .envrc/x || echo refused");
            assert_eq!(second.stdout, "refused\n", "{level}");
            assert_eq!(names(&stage.workspace), placed, "{level}");
            let mut output = Vec::new();
            first
                .run(
                    &bash("rmdir .envrc; echo evil > .envrc || echo refused"),
                    &mut |stream, bytes| {
                        if stream == Stream::Stdout {
                            output.extend_from_slice(bytes);
                        }
                    },
                    &Cancel::new().unwrap(),
                )
                .unwrap();
            assert!(
                output.ends_with(b"refused\n"),
                "{level}: {}",
                String::from_utf8_lossy(&output)
            );
            drop(first);
            let clean = eventually(Duration::from_secs(1), || {
                names(&stage.workspace) == ["mine"]
            });
            assert!(clean, "{level}: {:?}", names(&stage.workspace));
        }
    });
}

#[test]
fn what_the_user_puts_at_a_placeholder_is_kept() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            let prepared = stage.sandbox.prepare(&stage.policy(level)).unwrap();
            // The user replaces one placeholder by a file, and puts a file into another.
            let envrc = stage.workspace.join(".envrc");
            fs::remove_dir(&envrc).unwrap();
            fs::write(&envrc, "mine").unwrap();
            let idea = stage.workspace.join(".idea");
            fs::set_permissions(&idea, fs::Permissions::from_mode(0o755)).unwrap();
            fs::write(idea.join("workspace.xml"), "mine").unwrap();
            drop(prepared);
            assert_eq!(names(&stage.workspace), [".envrc", ".idea"], "{level}");
            assert_eq!(fs::read_to_string(&envrc).unwrap(), "mine", "{level}");
            assert_eq!(names(&idea), ["workspace.xml"], "{level}");
        }
    });
}

#[test]
fn a_file_that_the_user_makes_between_runs_of_one_policy_is_protected() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            let prepared = stage.sandbox.prepare(&stage.policy(level)).unwrap();
            prepared.keep_ready().unwrap();
            let envrc = stage.workspace.join(".envrc");
            fs::remove_dir(&envrc).unwrap();
            fs::write(&envrc, "mine").unwrap();
            let ran = prepared.run(
                &bash("echo evil > .envrc; rm -f .envrc; true"),
                &mut |_, _| {},
                &Cancel::new().unwrap(),
            );
            assert_eq!(
                fs::read_to_string(&envrc).unwrap_or_default(),
                "mine",
                "{level}: {ran:?}"
            );
        }
    });
}

#[test]
fn unprotected_when_the_policy_says_so() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            let mut policy = stage.policy(level);
            policy.protect = false;
            let ran = stage.bash(&policy, "echo mine > .envrc");
            let owner = fs::metadata(stage.workspace.join(".envrc")).unwrap().uid();
            assert_eq!(
                owner,
                fs::metadata(&stage.workspace).unwrap().uid(),
                "{level}"
            );
            let layers = ran.report.layers.iter();
            assert!(
                !layers
                    .map(|layer| layer.name())
                    .any(|name| name == "protected-names"),
                "{level}"
            );
        }
    });
}

#[test]
fn many_runs_coming_and_going_in_one_workspace_are_all_protected() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.repository();
            fs::remove_dir_all(stage.workspace.join(".git/hooks")).unwrap();
            let before = snapshot(&stage.workspace);
            let policy = stage.policy(level);
            let script = "for f in .envrc .bashrc .git/hooks .git/commondir .git/config; do rmdir $f; rm -f $f; echo evil > $f && echo wrote $f; done 2>/dev/null; echo done";
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        for _ in 0..10 {
                            let ran = stage.bash(&policy, script);
                            assert_eq!(ran.stdout, "done\n", "{level}: {}", ran.stderr);
                        }
                    });
                }
            });
            assert_eq!(snapshot(&stage.workspace), before, "{level}");
        }
    });
}

#[test]
fn what_is_made_to_look_like_a_placeholder_is_reported() {
    as_root_and_nobody(|| {
        let grounds = [
            (Stage::new(), Level::Process),
            (Stage::new(), Level::Container),
            (Stage::without_namespaces(), Level::Process),
        ];
        for (stage, level) in grounds {
            let script = "for d in sub/.git .GIT sub/.vscode; do mkdir -p $d/hooks; echo evil > $d/hooks/pre-commit; chmod 1555 $d; done";
            let ran = stage.bash(&stage.policy(level), script);
            let expected = [
                ".GIT",
                ".GIT/hooks/pre-commit",
                "sub/.git",
                "sub/.git/hooks/pre-commit",
                "sub/.vscode",
            ]
            .map(|name| stage.workspace.join(name));
            assert_eq!(ran.report.planted_paths(), expected, "{level}");
        }
    });
}
