//! Files that a command sees with other content than they have on the host.

use crate::stage::{Stage, WALLS, as_root_and_nobody};
use std::{fs, os::unix::fs::PermissionsExt as _};
use toolcrib_sandbox::{Level, Policy, Replaced, SandboxError, User};

/// A policy in which `deploy.sh` in `sub` says `approved`, whatever it is on the host.
fn policy(stage: &Stage, level: Level, text: &str) -> Policy {
    stage.file("sub/deploy.sh", "echo host\n");
    let path = stage.workspace.join("sub/deploy.sh");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let mut policy = stage.policy(level);
    policy.replaced.push(Replaced {
        path,
        content: text.as_bytes().into(),
        executable: true,
    });
    policy
}

#[test]
fn a_replaced_file_has_its_content_and_cannot_be_changed() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            let mut policy = policy(&stage, level, "#!/bin/sh\necho approved $0\n");
            for user in [User::Same, User::REDUCED] {
                if user != User::Same && !is_root() {
                    continue;
                }
                policy.user = user;
                let ran = stage.bash(
                    &policy,
                    "./sub/deploy.sh; sh sub/deploy.sh; cd sub
                     echo evil > deploy.sh && echo WROTE
                     rm -f deploy.sh && echo REMOVED
                     echo evil > new; mv -f new deploy.sh && echo REPLACED
                     mv deploy.sh old && echo MOVED
                     chmod 777 deploy.sh && echo MODE
                     umount deploy.sh && echo UNMOUNTED
                     sh ./deploy.sh; echo fine > beside && cat beside",
                );
                let said = "approved ./sub/deploy.sh\napproved sub/deploy.sh\napproved ./deploy.sh\nfine\n";
                assert_eq!(ran.stdout, said, "{level} {user:?}: {ran:?}");
                let host = fs::read_to_string(stage.workspace.join("sub/deploy.sh")).unwrap();
                assert_eq!(host, "echo host\n");
            }
        }
    });
}

#[test]
fn a_file_that_is_rewritten_while_it_runs_runs_as_it_was_replaced() {
    for level in WALLS {
        let stage = Stage::new();
        let policy = policy(&stage, level, "read line < fifo\necho approved\n");
        let fifo = stage.workspace.join("fifo");
        let made = std::process::Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap();
        assert!(made.success());
        let script = stage.workspace.join("sub/deploy.sh");
        let writer = std::thread::spawn(move || {
            // Opens when the script waits for it.
            let mut line = fs::File::options().write(true).open(fifo).unwrap();
            fs::write(&script, "#\n#\n#\n#\necho evil\necho evil\n").unwrap();
            std::io::Write::write_all(&mut line, b"go\n").unwrap();
        });
        let ran = stage.bash(&policy, "bash sub/deploy.sh; cat sub/deploy.sh");
        writer.join().unwrap();
        let said = "approved\nread line < fifo\necho approved\n";
        assert_eq!(ran.stdout, said, "{level}: {ran:?}");
    }
}

#[test]
fn what_cannot_be_replaced_is_refused() {
    let stage = Stage::new();
    let none = policy(&stage, Level::None, "");
    assert!(matches!(
        stage.sandbox.prepare(&none),
        Err(SandboxError::Invalid(_))
    ));
    let mut absent = policy(&stage, Level::Process, "");
    absent.replaced[0].path = stage.workspace.join("absent");
    assert!(matches!(
        stage.sandbox.prepare(&absent),
        Err(SandboxError::Path { .. })
    ));
    let bare = Stage::without_namespaces();
    let refused = policy(&bare, Level::Process, "");
    assert!(matches!(
        bare.sandbox.prepare(&refused),
        Err(SandboxError::Unavailable { .. })
    ));
}

fn is_root() -> bool {
    // SAFETY: asks for a number.
    unsafe { libc::geteuid() == 0 }
}
