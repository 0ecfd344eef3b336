//! Exclusions from a directory that a command may read or write.

use crate::stage::{Stage, WALLS, as_root_and_nobody};
use std::{fs, path::Path};
use toolcrib_sandbox::{Layer, Level, Policy, SandboxError, User};

/// Tries to read, change, replace and move what is excluded; prints a word for each that went well.
const ATTACK: &str = r#"
cd "$0" || exit 1
for at in deep/er/kept . /proc/self/root"$0"/deep/er/kept; do cat "$at/secret" && echo READ; done
ls deep/er/kept && echo LISTED
echo evil > deep/er/kept/secret && echo WROTE
echo evil > deep/er/kept/new && echo MADE
for what in deep/er/kept deep/er deep; do mv "$what" "$what.old" && echo "MOVED $what"; done
rm -rf deep && echo REMOVED
mkdir -p deep/er/kept && umount deep/er/kept && echo UNMOUNTED
chmod 777 deep/er/kept && echo MODE
ln deep/er/kept/secret linked && echo LINKED
ls deep/er/other && echo fine
"#;

fn kept(stage: &Stage) -> std::path::PathBuf {
    let kept = stage.outside.join("deep/er/kept");
    fs::create_dir_all(&kept).unwrap();
    fs::write(kept.join("secret"), "SENTINEL").unwrap();
    fs::create_dir_all(stage.outside.join("deep/er/other")).unwrap();
    kept
}

fn attack(stage: &Stage, policy: &Policy, kept: &Path, what: &str) {
    let command = toolcrib_sandbox::Command::new("bash")
        .env("PATH", "/usr/bin:/bin")
        .args(["-c", ATTACK, stage.outside.to_str().unwrap()]);
    let ran = stage.run(policy, &command).unwrap();
    assert!(!ran.stdout.contains("SENTINEL"), "{what}: {ran:?}");
    for word in ["READ", "LISTED", "WROTE", "MADE", "LINKED"] {
        assert!(!ran.stdout.contains(word), "{what}: {ran:?}");
    }
    let entries: Vec<_> = fs::read_dir(kept)
        .unwrap_or_else(|error| panic!("{what}: {error}"))
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(entries, ["secret"], "{what}");
    assert_eq!(
        fs::read(kept.join("secret")).unwrap(),
        b"SENTINEL",
        "{what}"
    );
}

#[test]
fn what_is_excluded_is_left_out_of_whatever_may_be_read_or_written_above_it() {
    as_root_and_nobody(|| {
        for level in WALLS {
            for above in ["deep/er", "deep", ".", ".."] {
                for writes in [false, true] {
                    let stage = Stage::new();
                    let kept = kept(&stage);
                    let mut policy = stage.policy(level);
                    policy.excluded.push(kept.clone());
                    let granted = stage.outside.join(above).canonicalize().unwrap();
                    match writes {
                        true => policy.write.push(granted),
                        false => policy.read.push(granted),
                    }
                    attack(&stage, &policy, &kept, &format!("{level} {above} {writes}"));
                }
            }
        }
    });
}

#[test]
fn the_rest_of_the_directory_above_can_still_be_used() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            let kept = kept(&stage);
            let mut policy = stage.policy(level);
            policy.excluded.push(kept);
            policy.write.push(stage.outside.clone());
            let script = format!(
                "cd '{}' && echo x > deep/er/other/new && mv deep/er/other deep/er/elsewhere && cat deep/er/elsewhere/new",
                stage.outside.display()
            );
            let ran = stage.bash(&policy, &script);
            assert_eq!(ran.stdout, "x\n", "{level}: {ran:?}");
        }
    });
}

#[test]
fn a_run_with_other_rights_is_kept_out_too() {
    let stage = Stage::new();
    for level in WALLS {
        let kept = kept(&stage);
        let mut policy = stage.policy(level);
        policy.user = User::REDUCED;
        policy.excluded.push(kept.clone());
        policy.write.push(stage.outside.clone());
        if stage.sandbox.support().check(Layer::OwnUser).is_ok() {
            attack(&stage, &policy, &kept, level.name());
        }
    }
}

#[test]
fn the_whole_root_may_be_read_but_for_what_is_excluded() {
    as_root_and_nobody(|| {
        let stage = Stage::new();
        let kept = kept(&stage);
        let mut policy = stage.policy(Level::Process);
        policy.excluded.push(kept.clone());
        policy.read.push("/".into());
        attack(&stage, &policy, &kept, "/");
    });
}

#[test]
fn without_mounts_what_cannot_be_left_out_is_refused() {
    let stage = Stage::without_namespaces();
    let kept = kept(&stage);
    let mut policy = stage.policy(Level::Process);
    policy.excluded.push(kept);
    // Nothing above it is open: Landlock is enough.
    assert_eq!(stage.bash(&policy, "echo fine").stdout, "fine\n");
    policy.read.push(stage.outside.clone());
    let error = stage.sandbox.prepare(&policy).unwrap_err();
    assert!(matches!(error, SandboxError::Unavailable { .. }), "{error}");
    assert!(
        error.to_string().contains("leaving it out needs mounts"),
        "{error}"
    );
}

#[test]
fn a_workspace_in_what_is_to_be_left_out_is_refused() {
    let stage = Stage::new();
    let mut policy = stage.policy(Level::Process);
    let above = stage.workspace.parent().unwrap().to_owned();
    policy.excluded.push(above.clone());
    assert_eq!(stage.bash(&policy, "echo fine").stdout, "fine\n");
    policy.read.push(above);
    let error = stage.sandbox.prepare(&policy).unwrap_err().to_string();
    assert!(error.contains("the workspace lies in"), "{error}");
}
