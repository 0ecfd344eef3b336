//! What an ordinary user may not do. As root everything goes, so this runs itself again as no one.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;

use serde_json::json;
use toolcrib::ErrorCode;

use super::{Ground, assert_error, code, grounds, names_in};

#[tokio::test]
async fn what_may_not_be_changed_is_permission_denied_and_stays() {
    const NAME: &str = "files::nobody::what_may_not_be_changed_is_permission_denied_and_stays";
    if ran_again_as_nobody(NAME) {
        return;
    }
    for ground in grounds() {
        in_a_read_only_directory(&ground).await;
        half_of_a_tree(&ground).await;
        what_cannot_be_read(&ground).await;
        a_closed_repository(&ground).await;
    }
}

/// As root runs a test again as no one, who may not do everything; whether that was so.
pub(crate) fn ran_again_as_nobody(name: &str) -> bool {
    const NOBODY: u32 = 65_534;
    if !rustix::process::geteuid().is_root() {
        return false;
    }
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    again
        .args(["--exact", name])
        .current_dir("/")
        .env("TMPDIR", "/tmp")
        .uid(NOBODY)
        .gid(NOBODY);
    match again.output() {
        Ok(output) => {
            let told = String::from_utf8_lossy(&output.stdout).into_owned()
                + &String::from_utf8_lossy(&output.stderr);
            let passed = output.status.success() && told.contains("1 passed");
            assert!(passed, "as nobody: {told}");
        }
        Err(error) => eprintln!("SKIPPED {name}: running as nobody fails: {error}"),
    }
    true
}

fn set_mode(ground: &Ground, path: &str, mode: u32) {
    fs::set_permissions(ground.path(path), fs::Permissions::from_mode(mode)).unwrap();
}

async fn in_a_read_only_directory(ground: &Ground) {
    ground.file("ro/f", "f");
    ground.file("f", "f");
    set_mode(ground, "ro", 0o555);
    for result in [
        ground.write("ro/f", "x").await,
        ground.write("ro/new", "x").await,
        ground
            .call(
                "write_file",
                json!({"path": "ro/a/b", "content": "x", "createDirs": true}),
            )
            .await,
        ground.delete("ro/f").await,
        ground.rename("ro/f", "g").await,
        ground.rename("f", "ro/g").await,
    ] {
        assert_eq!(code(result), ErrorCode::PermissionDenied);
    }
    assert_eq!(names_in(&ground.path("ro")), ["f"]);
    assert_eq!(ground.content("ro/f"), "f");
    set_mode(ground, "ro", 0o755);
}

async fn half_of_a_tree(ground: &Ground) {
    ground.file("tree/a", "a");
    ground.file("tree/b/c", "c");
    set_mode(ground, "tree/b", 0o555);
    let error = ground.delete("tree").await.unwrap_err();
    set_mode(ground, "tree/b", 0o755);
    assert_eq!(error.code(), ErrorCode::PermissionDenied);
    let details = error.details().unwrap();
    assert_eq!(details["deleted"], json!(["tree/a"]));
    assert_eq!(details["at"], "tree/b/c");
    assert_eq!(names_in(&ground.path("tree")), ["b"]);
}

async fn what_cannot_be_read(ground: &Ground) {
    ground.asked();
    ground.file("secret", "old");
    set_mode(ground, "secret", 0o000);
    ground.write("secret", "new").await.unwrap();
    let asked = ground.asked();
    assert_eq!(
        asked[0].effect,
        "overwrite the file `secret`: 3 bytes, becomes text, 3 bytes"
    );
    assert_eq!(asked[0].diff, None);
    assert_eq!(
        fs::metadata(ground.path("secret")).unwrap().mode() & 0o777,
        0
    );
    // A directory one may put things into without seeing what is there.
    ground.dir("box");
    set_mode(ground, "box", 0o300);
    let result = ground.write("box/letter", "x").await;
    set_mode(ground, "box", 0o700);
    result.unwrap();
    assert_eq!(names_in(&ground.path("box")), ["letter"]);
}

async fn a_closed_repository(ground: &Ground) {
    ground.file(".git/config", "");
    set_mode(ground, ".git", 0o000);
    let result = ground.write("other", "x").await;
    set_mode(ground, ".git", 0o755);
    assert_error(
        result,
        ErrorCode::PermissionDenied,
        "it is not known whether this is protected",
    );
}
