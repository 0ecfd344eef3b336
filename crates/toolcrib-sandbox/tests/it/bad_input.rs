//! What cannot run is refused before anything is started, with a reason; a level is never lowered.

use crate::stage::{PATH, Stage, WALLS, as_nobody, as_root_and_nobody, bash, names};
use std::{fs, os::unix::fs::PermissionsExt, path::Path, time::Duration};
use toolcrib_sandbox::{
    Cancel, Command, Layer, Level, Network, Policy, Sandbox, SandboxError, Support, User,
};

/// Living children of this process, and dead ones that were not collected.
fn children() -> usize {
    let threads = fs::read_dir("/proc/self/task").unwrap().flatten();
    threads
        .map(|thread| fs::read_to_string(thread.path().join("children")).unwrap_or_default())
        .map(|children| children.split_whitespace().count())
        .sum()
}

/// Tries a policy and a command; nothing may have been started, and nothing left in the workspace.
fn refused(stage: &Stage, policy: &Policy, command: &Command) -> SandboxError {
    let (before, started) = (names(&stage.workspace), children());
    let mut said = 0;
    let answer = stage.sandbox.prepare(policy).and_then(|prepared| {
        prepared.run(
            command,
            &mut |_, bytes| said += bytes.len(),
            &Cancel::new().unwrap(),
        )
    });
    let error = answer.expect_err("it ran");
    assert_eq!(said, 0, "{error}");
    assert_eq!(names(&stage.workspace), before, "{error}");
    assert_eq!(children(), started, "{error}");
    assert!(!error.to_string().is_empty());
    error
}

/// A command that leaves a trace if it ever runs.
fn trace() -> Command {
    bash("touch ran; echo ran")
}

#[test]
fn a_missing_program_is_named() {
    as_root_and_nobody(|| {
        for level in [Level::None, Level::Process, Level::Container] {
            let stage = Stage::new();
            let policy = stage.policy(level);
            stage.file("plain", "not a program");
            for name in [
                "no-such-program",
                "/no/such/program",
                "./missing",
                "./plain",
                ".",
                "/usr",
            ] {
                let error = refused(&stage, &policy, &Command::new(name).env("PATH", PATH));
                assert!(
                    matches!(error, SandboxError::NoProgram { .. }),
                    "{level}: {name}: {error}"
                );
                assert!(error.to_string().contains(name), "{level}: {error}");
            }
            let error = refused(&stage, &policy, &Command::new(""));
            assert!(
                matches!(error, SandboxError::Invalid(_)),
                "{level}: {error}"
            );
        }
    });
}

#[test]
fn a_program_outside_of_what_may_be_read_is_refused_with_advice() {
    as_root_and_nobody(|| {
        let stage = Stage::new();
        let program = stage.outside.join("program");
        fs::copy("/usr/bin/true", &program).unwrap();
        std::os::unix::fs::symlink(&program, stage.workspace.join("link")).unwrap();
        for level in WALLS {
            let mut policy = stage.policy(level);
            for name in [program.to_str().unwrap(), "./link"] {
                let error = refused(&stage, &policy, &Command::new(name));
                assert!(
                    matches!(error, SandboxError::NoProgram { .. }),
                    "{level}: {error}"
                );
                assert!(error.to_string().contains("--read"), "{level}: {error}");
            }
            policy.read.push(stage.outside.clone());
            let ran = stage.run(&policy, &Command::new(&program)).unwrap();
            assert_eq!(ran.report.exit_code(), 0, "{level}: {ran:?}");
        }
    });
}

#[test]
fn a_file_that_is_not_a_program_is_an_error_and_not_an_exit_code() {
    as_root_and_nobody(|| {
        for level in [Level::None, Level::Process, Level::Container] {
            let stage = Stage::new();
            stage.file("broken", "#!/no/such/interpreter\n");
            stage.file("garbage", "\u{7f}ELF nonsense");
            for name in ["broken", "garbage"] {
                let path = stage.workspace.join(name);
                fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
                let error = stage
                    .run(&stage.policy(level), &Command::new(path))
                    .unwrap_err();
                assert!(
                    matches!(error, SandboxError::Start { .. }),
                    "{level}: {name}: {error}"
                );
            }
        }
    });
}

#[test]
fn an_unusable_workspace_is_named() {
    as_root_and_nobody(|| {
        for level in [Level::None, Level::Process, Level::Container] {
            let stage = Stage::new();
            stage.file("file", "");
            let missing = stage.workspace.join("missing");
            for path in [missing.clone(), stage.workspace.join("file")] {
                let error = refused(&stage, &Policy::new(level, &path), &trace());
                assert!(
                    matches!(
                        error,
                        SandboxError::Path {
                            role: "workspace",
                            ..
                        }
                    ),
                    "{level}: {error}"
                );
                assert!(
                    error.to_string().contains(path.to_str().unwrap()),
                    "{level}: {error}"
                );
            }
            for path in ["relative", "./also", ""] {
                let error = refused(&stage, &Policy::new(level, path), &trace());
                assert!(
                    matches!(error, SandboxError::Invalid(_)),
                    "{level}: {path}: {error}"
                );
            }
            let error = refused(&stage, &Policy::new(level, "/"), &trace());
            assert!(
                matches!(error, SandboxError::Invalid(_)),
                "{level}: {error}"
            );
        }
    });
}

#[test]
fn a_workspace_that_its_user_cannot_read_is_refused() {
    as_nobody(|| {
        let stage = Stage::new();
        let closed = stage.workspace.join("closed");
        fs::create_dir(&closed).unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
        for level in [Level::None, Level::Process, Level::Container] {
            for path in [closed.as_path(), Path::new("/root")] {
                let error = refused(&stage, &Policy::new(level, path), &trace());
                assert!(
                    matches!(error, SandboxError::Path { .. }),
                    "{level}: {error}"
                );
            }
        }
    });
}

#[test]
fn paths_of_the_policy_must_be_there_and_absolute() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            let mut relative = stage.policy(level);
            relative.read.push("some/where".into());
            let error = refused(&stage, &relative, &trace());
            assert!(
                matches!(error, SandboxError::Invalid(_)),
                "{level}: {error}"
            );
            for write in [false, true] {
                let mut policy = stage.policy(level);
                let list = if write {
                    &mut policy.write
                } else {
                    &mut policy.read
                };
                list.push("/no/such/place".into());
                let error = refused(&stage, &policy, &trace());
                assert!(
                    error.to_string().contains("/no/such/place"),
                    "{level}: {error}"
                );
            }
            let mut root = stage.policy(level);
            root.write.push("/".into());
            assert!(matches!(
                refused(&stage, &root, &trace()),
                SandboxError::Invalid(_)
            ));
        }
    });
}

#[test]
fn limits_that_leave_nothing_are_refused() {
    as_root_and_nobody(|| {
        let changes: [fn(&mut Policy); 8] = [
            |policy| policy.limits.memory = Some(0),
            |policy| policy.limits.memory = Some(1000),
            |policy| policy.limits.pids = Some(0),
            |policy| policy.limits.time = Some(Duration::ZERO),
            |policy| policy.limits.cpu = Some(Duration::ZERO),
            |policy| policy.limits.open_files = 0,
            |policy| policy.limits.temporary = 0,
            |policy| policy.user = User::Reduced { uid: 0, gid: 5 },
        ];
        for level in [Level::None, Level::Process, Level::Container] {
            for change in changes {
                let stage = Stage::new();
                let mut policy = stage.policy(level);
                change(&mut policy);
                let error = refused(&stage, &policy, &trace());
                assert!(
                    matches!(error, SandboxError::Invalid(_)),
                    "{level}: {error}"
                );
            }
        }
    });
}

#[test]
fn enormous_limits_are_not_limits() {
    as_root_and_nobody(|| {
        for level in [Level::None, Level::Process, Level::Container] {
            let stage = Stage::new();
            let mut policy = stage.policy(level);
            let limits = &mut policy.limits;
            (limits.memory, limits.file_size, limits.growth) =
                (Some(u64::MAX), Some(u64::MAX), Some(u64::MAX));
            (limits.output, limits.pids) = (u64::MAX, Some(u32::MAX));
            (limits.cpu, limits.time) = (Some(Duration::MAX), Some(Duration::MAX));
            (limits.open_files, limits.temporary) = (u64::MAX, u64::MAX);
            let ran = stage.run(&policy, &bash("echo fine > file; cat file"));
            match ran {
                Ok(ran) => assert_eq!(ran.stdout, "fine\n", "{level}: {ran:?}"),
                Err(error) => assert!(
                    matches!(error, SandboxError::Invalid(_)),
                    "{level}: {error}"
                ),
            }
        }
    });
}

#[test]
fn null_bytes_are_refused() {
    as_root_and_nobody(|| {
        for level in [Level::None, Level::Process, Level::Container] {
            let stage = Stage::new();
            let policy = stage.policy(level);
            for command in [
                bash("touch ran").args(["a\0b"]),
                bash("touch ran").env("NAME", "a\0b"),
                bash("touch ran").directory("a\0b"),
            ] {
                let error = refused(&stage, &policy, &command);
                assert!(
                    matches!(error, SandboxError::Invalid(_)),
                    "{level}: {error}"
                );
            }
        }
    });
}

#[test]
fn a_directory_that_cannot_be_entered_is_an_error() {
    as_root_and_nobody(|| {
        for level in [Level::None, Level::Process, Level::Container] {
            let stage = Stage::new();
            let command = trace().directory(stage.workspace.join("missing"));
            let error = stage.run(&stage.policy(level), &command).unwrap_err();
            assert!(
                matches!(error, SandboxError::Path { .. }),
                "{level}: {error}"
            );
            assert!(error.to_string().contains("missing"), "{level}: {error}");
        }
    });
}

#[test]
fn no_wall_refuses_what_only_a_wall_can_do() {
    as_root_and_nobody(|| {
        let stage = Stage::new();
        let mut policy = stage.policy(Level::None);
        policy.network = Network::Proxy;
        assert!(matches!(
            refused(&stage, &policy, &trace()),
            SandboxError::Invalid(_)
        ));
        let mut policy = stage.policy(Level::None);
        policy.user = User::REDUCED;
        assert!(matches!(
            refused(&stage, &policy, &trace()),
            SandboxError::Invalid(_)
        ));
    });
}

#[test]
fn a_level_without_a_layer_that_it_requires_is_refused_and_never_lowered() {
    as_root_and_nobody(|| {
        for level in WALLS {
            for layer in Support::required(level) {
                let stage = Stage::without(&[*layer]);
                match refused(&stage, &stage.policy(level), &trace()) {
                    SandboxError::Unavailable {
                        level: named,
                        missing,
                    } => {
                        assert_eq!((named, missing.layer), (level, *layer));
                        assert!(
                            !missing.fix.is_empty() && !missing.reason.is_empty(),
                            "{missing}"
                        );
                    }
                    other => panic!("{level} without {layer}: {other}"),
                }
                assert!(stage.sandbox.support().level(level).is_err());
            }
        }
    });
}

#[test]
fn every_layer_that_may_be_missing_leaves_the_rest_standing() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let full = Stage::new();
            let whole = full.bash(&full.policy(level), "true").report.layers;
            for layer in Layer::ALL
                .iter()
                .filter(|layer| !Support::required(level).contains(layer))
            {
                let stage = Stage::without(&[*layer]);
                let ran = stage.run(&stage.policy(level), &bash("echo fine")).unwrap();
                assert_eq!(
                    (&*ran.stdout, ran.report.level),
                    ("fine\n", level),
                    "without {layer}: {ran:?}"
                );
                for required in Support::required(level) {
                    assert_eq!(
                        ran.report.layers.contains(required),
                        whole.contains(required),
                        "{level} without {layer}: {required}"
                    );
                }
            }
        }
    });
}

#[test]
fn the_machine_of_the_tests_has_every_level() {
    as_root_and_nobody(|| {
        let sandbox = Sandbox::new().unwrap();
        for level in [Level::None, Level::Process, Level::Container] {
            if let Err(missing) = sandbox.support().level(level) {
                // Every other test would fail: this one says why.
                panic!("{level} is not available here: {missing}");
            }
        }
    });
}
