//! Whose rights a command has: never a capability, never host root in a container, never more than its caller.

use crate::stage::{Stage, WALLS, as_nobody, as_root, as_root_and_nobody, bash, is_root};
use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, chown},
};
use toolcrib_sandbox::{Layer, Level, SandboxError, Status, User};

/// A line of `/proc/self/status`.
fn status_of<'a>(text: &'a str, name: &str) -> &'a str {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap().trim()
}

#[test]
fn a_command_has_no_capability_and_can_gain_none() {
    as_root_and_nobody(|| {
        let mut stages = vec![
            (Stage::new(), Level::Process),
            (Stage::new(), Level::Container),
        ];
        stages.push((Stage::without_namespaces(), Level::Process));
        for (stage, level) in stages {
            let ran = stage.bash(
                &stage.policy(level),
                "cat /proc/self/status 2>/dev/null || exec cat /proc/thread-self/status",
            );
            if ran.stdout.is_empty() {
                // Without its own mounts a run cannot have its own /proc, and the host's is closed to it; and only
                // with a user namespace could an ordinary user empty the bounding set, which gives nothing anyway.
                let ask = "import ctypes; l=ctypes.CDLL(None); h=(ctypes.c_uint32*2)(0x20080522,0); d=(ctypes.c_uint32*6)(); \
                    print(l.prctl(39,0,0,0,0), l.syscall(125,h,d), list(d))";
                let ran = stage.python(&stage.policy(level), ask);
                assert_eq!(ran.stdout, "1 0 [0, 0, 0, 0, 0, 0]\n", "{level}: {ran:?}");
                continue;
            }
            for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
                assert_eq!(
                    status_of(&ran.stdout, set),
                    "0000000000000000",
                    "{level}: {set}"
                );
            }
            assert_eq!(status_of(&ran.stdout, "NoNewPrivs"), "1", "{level}");
            assert_eq!(status_of(&ran.stdout, "Seccomp"), "2", "{level}");
        }
    });
}

#[test]
fn host_root_is_not_kept_in_a_container() {
    as_root(|| {
        let stage = Stage::new();
        stage.file("mine", "mine");
        let script = "id -u; stat -c %u mine made-not-yet 2>/dev/null; mkdir made; echo x > made/file; ln -s x made/link; \
            exec python3 -c 'import os; print(os.getuid(), os.stat(\".\").st_uid == os.getuid())'; sleep 0";
        let ran = stage.bash(&stage.policy(Level::Container), script);
        let uid = ran.stdout.lines().next().unwrap();
        assert_ne!(uid, "0", "{ran:?}");
        assert!(ran.report.layers.contains(&Layer::OwnUser), "{ran:?}");
        for name in ["made", "made/file", "made/link"] {
            let metadata = fs::symlink_metadata(stage.workspace.join(name)).unwrap();
            assert_eq!((metadata.uid(), metadata.gid()), (0, 0), "{name}");
        }
        // A file of another user's stays another user's.
        chown(stage.workspace.join("mine"), Some(1234), Some(1234)).unwrap();
        fs::set_permissions(
            stage.workspace.join("mine"),
            fs::Permissions::from_mode(0o600),
        )
        .unwrap();
        let ran = stage.bash(
            &stage.policy(Level::Container),
            "cat mine; echo evil > mine; chown 0 mine; true",
        );
        assert_eq!(ran.stdout, "", "{ran:?}");
    });
}

#[test]
fn the_host_sees_another_uid_while_a_container_runs() {
    as_root(|| {
        let stage = Stage::new();
        let token = crate::stage::token();
        let word = token.clone();
        let seen = std::thread::spawn(move || {
            let mut uids = Vec::new();
            crate::stage::eventually(std::time::Duration::from_secs(5), || {
                for pid in crate::stage::marked(&word) {
                    uids.extend(
                        fs::metadata(format!("/proc/{pid}")).map(|metadata| metadata.uid()),
                    );
                }
                !uids.is_empty()
            });
            uids
        });
        stage.bash(
            &stage.policy(Level::Container),
            &format!("exec -a {token} sleep 1"),
        );
        let uids = seen.join().unwrap();
        let User::Reduced { uid, .. } = User::REDUCED else {
            panic!()
        };
        assert!(
            !uids.is_empty() && uids.iter().all(|seen| *seen == uid),
            "{uids:?}"
        );
    });
}

#[test]
fn files_made_inside_belong_to_the_owner_of_the_workspace() {
    as_root(|| {
        let stage = Stage::new();
        chown(&stage.workspace, Some(4321), Some(4321)).unwrap();
        let ran = stage.bash(
            &stage.policy(Level::Container),
            "echo x > made && mkdir dir && echo x > dir/deep",
        );
        assert_eq!(ran.report.status, Status::Exited(0), "{ran:?}");
        for name in ["made", "dir", "dir/deep"] {
            let metadata = fs::metadata(stage.workspace.join(name)).unwrap();
            assert_eq!((metadata.uid(), metadata.gid()), (4321, 4321), "{name}");
        }
    });
}

#[test]
fn set_uid_programs_give_nothing() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            // The run itself makes one; and, where we are root, we put one there.
            let script = "id -u; cp /usr/bin/id own; chmod u+s own; ./own -u; test -e given && ./given -u; \
                test -u /usr/bin/su && grep -q NoNewPrivs:.1 /proc/self/status; true";
            if is_root() {
                let given = stage.workspace.join("given");
                fs::copy("/usr/bin/id", &given).unwrap();
                fs::set_permissions(&given, fs::Permissions::from_mode(0o4755)).unwrap();
            }
            let ran = stage.bash(&stage.policy(level), script);
            let said: Vec<&str> = ran.stdout.lines().collect();
            assert!(
                said.len() >= 2 && said.iter().all(|uid| *uid == said[0]),
                "{level}: {ran:?}"
            );
        }
    });
}

#[test]
fn a_reduced_user_works_at_process_level() {
    as_root(|| {
        let stage = Stage::new();
        // The way to the workspace must be open to others at this level.
        for path in stage.workspace.ancestors().skip(1).take(1) {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        fs::set_permissions(&stage.outside, fs::Permissions::from_mode(0o777)).unwrap();
        let mut policy = stage.policy(Level::Process);
        policy.user = User::Reduced {
            uid: 61_234,
            gid: 61_235,
        };
        let script = format!(
            "id -u; id -g; id -G; echo x > made; cat /etc/shadow; echo x > {}/made; echo evil > .envrc; echo evil > /proc/sys/kernel/core_pattern; stat -c %u made",
            stage.outside.display()
        );
        let ran = stage.bash(&policy, &script);
        assert_eq!(ran.stdout, "61234\n61235\n61235\n61234\n", "{ran:?}");
        assert!(ran.report.layers.contains(&Layer::OwnUser));
        assert_eq!(fs::metadata(stage.workspace.join("made")).unwrap().uid(), 0);
        assert!(!stage.outside.join("made").exists() && !stage.workspace.join(".envrc").exists());
    });
}

#[test]
fn an_ordinary_user_cannot_give_another_uid() {
    as_nobody(|| {
        let stage = Stage::new();
        for level in WALLS {
            let mut policy = stage.policy(level);
            policy.user = User::REDUCED;
            match stage.run(&policy, &bash("true")).unwrap_err() {
                SandboxError::Unavailable {
                    missing,
                    level: named,
                } => {
                    assert_eq!(
                        (missing.layer, missing.layer.name(), named),
                        (Layer::OwnUser, "own-user", level)
                    );
                    assert!(missing.fix.contains("root"), "{missing}");
                }
                other => panic!("{level}: {other}"),
            }
        }
    });
}

#[test]
fn groups_of_the_caller_are_given_up() {
    as_root(|| {
        let stage = Stage::new();
        let ran = stage.bash(&stage.policy(Level::Container), "id -G");
        assert_eq!(ran.stdout, "60999\n", "{ran:?}");
    });
}

#[test]
fn without_isolation_nothing_keeps_a_program_from_gaining_rights() {
    as_root_and_nobody(|| {
        let stage = Stage::new();
        let ran = stage.bash(&stage.policy(Level::None), "cat /proc/self/status");
        // What `sudo` needs: no such promise, no filter, the caller's own bounding set.
        assert_eq!(status_of(&ran.stdout, "NoNewPrivs"), "0");
        assert_eq!(status_of(&ran.stdout, "Seccomp"), "0");
        assert_ne!(status_of(&ran.stdout, "CapBnd"), "0000000000000000");
        if !is_root() {
            return;
        }
        // A set-uid program has its owner's rights; this one says whose.
        let given = stage.workspace.join("given");
        fs::copy("/usr/bin/id", &given).unwrap();
        chown(&given, Some(4321), None).unwrap();
        fs::set_permissions(&given, fs::Permissions::from_mode(0o4755)).unwrap();
        let ran = stage.bash(&stage.policy(Level::None), "./given -u");
        assert_eq!(ran.stdout, "4321\n", "{ran:?}");
    });
}
