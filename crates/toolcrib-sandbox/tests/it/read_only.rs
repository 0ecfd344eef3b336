//! A workspace that can be read and not written.

use crate::stage::{Stage, WALLS, as_root, as_root_and_nobody};
use std::fs;
use toolcrib_sandbox::{Layer, Level, Policy, SandboxError, User};

/// Tries to change everything in the workspace; prints a word for each change that went well, and what it may do.
const ATTACK: &str = r#"
echo evil > file && echo WROTE
echo evil >> file && echo APPENDED
truncate -s 0 file && echo TRUNCATED
echo evil > new && echo MADE
mkdir directory && echo MADE
ln -s file link && echo LINKED
ln file hard && echo LINKED
mv file moved && echo MOVED
rm -f file sub/file; rmdir sub
echo evil > "$PWD/sub/new" && echo MADE
cat sub/file
echo mine > "$0/mine" && cat "$0/mine"
echo temporary > "${TMPDIR:-/tmp}/x" && cat "${TMPDIR:-/tmp}/x"
"#;

/// Changes that Landlock does not know, and mounts do.
const METADATA: &str = r#"
chmod 777 file && echo MODE
touch -d 2001-01-01 file && echo TIME
mount -o remount,rw "$PWD" && echo REMOUNTED
"#;

fn attack(stage: &Stage, policy: &mut Policy, script: &str, what: &str) {
    fs::write(stage.workspace.join("file"), "kept").unwrap();
    fs::create_dir_all(stage.workspace.join("sub")).unwrap();
    fs::write(stage.workspace.join("sub/file"), "read\n").unwrap();
    let scratch = stage.outside.join("scratch");
    fs::create_dir_all(&scratch).unwrap();
    policy.read_only = true;
    policy.write.push(scratch.clone());
    let command = toolcrib_sandbox::Command::new("bash")
        .env("PATH", crate::stage::PATH)
        .args(["-c", script, scratch.to_str().unwrap()]);
    let ran = stage.run(policy, &command).unwrap();
    assert_eq!(ran.stdout, "read\nmine\ntemporary\n", "{what}: {ran:?}");
    let mut entries: Vec<String> = fs::read_dir(&stage.workspace)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    entries.sort();
    assert_eq!(entries, ["file", "sub"], "{what}");
    let file = fs::read_to_string(stage.workspace.join("file")).unwrap();
    assert_eq!(file, "kept", "{what}");
}

#[test]
fn a_read_only_workspace_is_read_and_not_changed() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            let mut policy = stage.policy(level);
            let script = format!("{METADATA}{ATTACK}");
            attack(&stage, &mut policy, &script, &level.to_string());
        }
    });
}

#[test]
fn a_reduced_user_does_not_change_a_read_only_workspace() {
    as_root(|| {
        let stage = Stage::new();
        let mut policy = stage.policy(Level::Container);
        policy.user = User::REDUCED;
        let script = format!("{METADATA}{ATTACK}");
        attack(&stage, &mut policy, &script, "reduced");
    });
}

#[test]
fn without_mounts_landlock_alone_keeps_the_content_of_a_read_only_workspace() {
    as_root_and_nobody(|| {
        let stage = Stage::without(&[Layer::PidNamespace, Layer::MountNamespace]);
        let mut policy = stage.policy(Level::Process);
        attack(&stage, &mut policy, ATTACK, "without mounts");
    });
}

#[test]
fn without_a_wall_nothing_is_read_only() {
    let stage = Stage::new();
    let mut policy = stage.policy(Level::None);
    policy.read_only = true;
    let command = toolcrib_sandbox::Command::new("true");
    let refused = stage.run(&policy, &command).unwrap_err();
    assert!(matches!(refused, SandboxError::Invalid(_)), "{refused}");
}
