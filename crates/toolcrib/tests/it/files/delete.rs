//! `delete_file`.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use serde_json::json;
use toolcrib::workspace::{Watch, Workspace};
use toolcrib::{CallRequest, ErrorCode};

use super::{assert_error, code, grounds, grounds_in_memory, names_in};

#[tokio::test]
async fn a_file_is_deleted_after_asking() {
    for ground in grounds() {
        ground.file("sub/f", "1234");
        let value = ground
            .call("delete_file", json!({"path": "sub/f"}))
            .await
            .unwrap();
        assert_eq!(value, json!({"deleted": ["sub/f"]}));
        assert_eq!(names_in(&ground.path("sub")), Vec::<String>::new());
        let asked = ground.asked();
        assert_eq!(asked[0].effect, "delete the file `sub/f`, 4 bytes");
        assert_eq!(asked[0].reason, "it deletes what cannot be brought back");
    }
}

#[tokio::test]
async fn a_directory_is_deleted_with_all_in_it_only_when_asked_for() {
    for ground in grounds() {
        for file in ["x/a", "x/b/c", "x/b/d/e", "x.txt"] {
            ground.file(file, "1234");
        }
        ground.link("../../out", "x/out");
        ground.link("/", "x/b/root");
        let error = ground
            .call("delete_file", json!({"path": "x"}))
            .await
            .unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidArguments);
        assert_eq!(
            error.message(),
            "invalid arguments for `delete_file`: `/recursive` must be true to delete `x`, which is a directory"
        );
        assert_eq!(ground.asked().len(), 0);
        let value = ground.delete("./x/").await.unwrap();
        let expected = [
            "./x",
            "./x/a",
            "./x/b",
            "./x/b/c",
            "./x/b/d",
            "./x/b/d/e",
            "./x/b/root",
            "./x/out",
        ];
        assert_eq!(value, json!({"deleted": expected}));
        assert_eq!(names_in(&ground.path("")), ["x.txt"]);
        let words = "delete the directory `./x/` with 5 files and 2 directories, ";
        assert!(ground.asked()[0].effect.starts_with(words));
    }
}

#[tokio::test]
async fn a_link_is_deleted_and_never_what_it_leads_to() {
    for ground in grounds() {
        ground.file("dir/f", "f");
        ground.link("dir", "inside");
        ground.link("../out", "outside");
        ground.link("nowhere", "dangling");
        for link in ["inside", "outside", "dangling"] {
            assert_eq!(
                ground.delete(link).await.unwrap(),
                json!({"deleted": [link]})
            );
            let effect = format!("delete the link `{link}`; what it leads to stays");
            assert_eq!(ground.asked()[0].effect, effect);
        }
        assert_eq!(names_in(&ground.path("")), ["dir"]);
        assert_eq!(ground.content("dir/f"), "f");
    }
}

#[tokio::test]
async fn the_workspace_itself_and_what_is_outside_are_never_deleted() {
    for ground in grounds() {
        ground.dir("sub");
        ground.link("..", "up");
        let absolute = ground.path("").canonicalize().unwrap();
        for path in [
            ".",
            "./",
            "sub/..",
            "..",
            "up/out",
            "up/ws",
            "../out/canary",
            absolute.to_str().unwrap(),
        ] {
            assert_eq!(
                code(ground.delete(path).await),
                ErrorCode::InvalidPath,
                "{path}"
            );
        }
        assert_eq!(code(ground.delete("gone").await), ErrorCode::FileNotFound);
        ground.file("f", "");
        assert_eq!(code(ground.delete("f/").await), ErrorCode::FileNotFound);
        assert_eq!(ground.asked().len(), 0, "about what cannot work");
    }
}

#[tokio::test]
async fn what_changed_since_it_was_approved_stays() {
    for ground in grounds() {
        ground.file("dir/a", "a");
        ground.file("dir/sub/b", "b");
        ground.file("f", "f");
        let path = ground.path("dir/sub/new");
        ground.meanwhile(move || fs::write(path, "theirs").unwrap());
        assert_error(
            ground.delete("dir").await,
            ErrorCode::Conflict,
            "`dir` changed since it was approved; call again",
        );
        let path = ground.path("f");
        ground.meanwhile(move || fs::write(path, "other").unwrap());
        assert_eq!(code(ground.delete("f").await), ErrorCode::Conflict);
        let path = ground.path("");
        ground.meanwhile(move || {
            fs::rename(path.join("dir"), path.join("was")).unwrap();
            fs::write(path.join("dir"), "").unwrap();
        });
        assert_eq!(code(ground.delete("dir").await), ErrorCode::Conflict);
        assert_eq!(names_in(&ground.path("was")), ["a", "sub"]);
        assert_eq!(names_in(&ground.path("was/sub")), ["b", "new"]);
        assert_eq!(names_in(&ground.path("")), ["dir", "f", "was"]);
    }
}

#[tokio::test]
async fn names_that_are_not_text_are_listed_with_their_exact_bytes() {
    for ground in grounds() {
        ground.dir("d");
        fs::write(ground.path("d").join(OsStr::from_bytes(b"caf\xe9")), "x").unwrap();
        let value = ground.delete("d").await.unwrap();
        let exact = json!([{"path": "d/caf\u{fffd}", "pathBase64": "ZC9jYWbp"}]);
        assert_eq!(
            value,
            json!({"deleted": ["d", "d/caf\u{fffd}"], "exact": exact})
        );
    }
}

#[tokio::test]
async fn a_tree_five_thousand_levels_deep_is_deleted() {
    use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
    const DEPTH: usize = 5000;
    // Walking a tree resolves no paths, so that once is enough.
    for ground in grounds_in_memory().into_iter().take(1) {
        ground.dir("deep");
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let mut dir = openat(CWD, ground.path("deep"), flags, Mode::empty()).unwrap();
        for _ in 0..DEPTH {
            mkdirat(&dir, "d", Mode::RWXU).unwrap();
            dir = openat(&dir, "d", flags, Mode::empty()).unwrap();
        }
        let value = ground.delete("deep").await.unwrap();
        assert_eq!(value["truncated"], true);
        assert_eq!(names_in(&ground.path("")), Vec::<String>::new());
        let effect = &ground.asked()[0].effect;
        assert_eq!(
            effect,
            "delete the directory `deep` with 5000 directories, 0 bytes"
        );
    }
}

#[tokio::test]
async fn a_long_list_is_cut_and_says_so() {
    for ground in grounds() {
        ground.names("many", 10_500);
        let value = ground.delete("many").await.unwrap();
        assert_eq!(value["deleted"].as_array().unwrap().len(), 10_000);
        assert_eq!(value["deleted"][0], "many/00000");
        assert_eq!(value["truncated"], true);
        assert!(!ground.path("many").exists());
    }
}

#[tokio::test]
async fn a_tree_of_more_than_can_be_counted_is_said_to_be_and_deleted() {
    let [ground, _] = grounds();
    for dir in 0..21 {
        ground.names(&format!("many/{dir:02}"), 1000);
    }
    ground.delete("many").await.unwrap();
    assert_eq!(
        ground.asked()[0].effect,
        "delete the directory `many` with more than 20000 files and directories in it"
    );
    assert!(!ground.path("many").exists());
}

/// A mount in the tree belongs to someone else.
#[tokio::test]
async fn mount_points_are_refused_before_anything_is_deleted() {
    const NAME: &str = "files::delete::mount_points_are_refused_before_anything_is_deleted";
    if std::env::var_os("TOOLCRIB_TEST_MOUNTS").is_none() {
        let mut again = std::process::Command::new("unshare");
        again
            .args(["--user", "--map-root-user", "--mount"])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", NAME])
            .env("TOOLCRIB_TEST_MOUNTS", "1");
        match again.output() {
            Ok(output) if output.status.success() => {}
            Ok(output) => {
                let told = String::from_utf8_lossy(&output.stdout).into_owned()
                    + &String::from_utf8_lossy(&output.stderr);
                assert!(
                    told.contains("unshare: "),
                    "in its own mount namespace: {told}"
                );
                crate::skipped(format_args!(
                    "this machine does not let a test mount ({told})"
                ));
            }
            Err(error) => crate::skipped(format_args!(
                "mounting needs the program `unshare` ({error})"
            )),
        }
        return;
    }
    let mount = |arguments: &[&OsStr]| {
        let status = std::process::Command::new("mount")
            .args(arguments)
            .status()
            .unwrap();
        assert!(status.success());
    };
    for ground in grounds() {
        ground.file("x/a", "a");
        ground.file("x/file", "f");
        ground.dir("x/same");
        ground.dir("x/other");
        ground.file("elsewhere/precious", "p");
        // A part of the same file system, another one, a file.
        for (from, to) in [("elsewhere", "x/same"), ("elsewhere/precious", "x/file")] {
            mount(&[
                OsStr::new("--bind"),
                ground.path(from).as_os_str(),
                ground.path(to).as_os_str(),
            ]);
            assert_error(
                ground.delete("x").await,
                ErrorCode::PermissionDenied,
                "something is mounted at",
            );
            let status = std::process::Command::new("umount")
                .arg(ground.path(to))
                .status()
                .unwrap();
            assert!(status.success());
        }
        let other = ground.path("x/other");
        mount(
            &["-t", "tmpfs", "none"]
                .map(OsStr::new)
                .iter()
                .copied()
                .chain([other.as_os_str()])
                .collect::<Vec<_>>(),
        );
        assert_error(
            ground.delete("x").await,
            ErrorCode::PermissionDenied,
            "something is mounted at `x/other`; unmount it first",
        );
        // The mount point itself, and moving to another file system.
        assert_error(
            ground.delete("x/other").await,
            ErrorCode::PermissionDenied,
            "mounted",
        );
        assert_error(
            ground.rename("x/a", "x/other/a").await,
            ErrorCode::ExecutionError,
            "they are on different file systems",
        );
        assert_eq!(names_in(&ground.path("x")), ["a", "file", "other", "same"]);
        assert_eq!(ground.content("elsewhere/precious"), "p");
        let status = std::process::Command::new("umount").arg(other).status();
        assert!(status.unwrap().success());
        assert_eq!(ground.asked().len(), 0);
    }
}

/// Stops after so many.
struct StopAfter(usize, Vec<String>);

impl Watch for StopAfter {
    fn removed(&mut self, path: &[u8]) {
        self.1.push(String::from_utf8(path.to_vec()).unwrap());
    }

    fn is_stopped(&self) -> bool {
        self.1.len() == self.0
    }
}

#[test]
fn a_deletion_that_is_not_wanted_any_more_stops_at_once() {
    for ground in grounds() {
        for name in ["a", "b", "c/d", "e"] {
            ground.file(&format!("dir/{name}"), "");
        }
        let workspace = Workspace::open(&ground.path("")).unwrap();
        let path = workspace.path("dir").unwrap();
        let found = workspace.to_remove(&path).unwrap();
        let mut watch = StopAfter(3, Vec::new());
        let error = workspace
            .remove(&path, &found.identity, &mut watch)
            .unwrap_err();
        assert_eq!(error.code(), ErrorCode::Cancelled);
        assert_eq!(watch.1, ["dir/a", "dir/b", "dir/c/d"]);
        assert_eq!(names_in(&ground.path("dir")), ["c", "e"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_deletion_says_what_is_gone() {
    let [ground, _] = grounds();
    // On a busy machine a deletion may be over before anybody can cancel it.
    for _ in 0..20 {
        ground.names("many", 5000);
        let cancel = tokio_util::sync::CancellationToken::new();
        let mut request = CallRequest::new("delete_file")
            .arg("path", "many")
            .arg("recursive", true);
        request.cancel = Some(cancel.clone());
        let first = ground.path("many/00000");
        let canceller = std::thread::spawn(move || {
            while first.exists() {
                std::thread::yield_now();
            }
            cancel.cancel();
        });
        let outcome = ground.registry.execute(request).await;
        canceller.join().unwrap();
        let Some(error) = outcome.error() else {
            continue;
        };
        assert_eq!(error.code(), ErrorCode::Cancelled, "{error}");
        let deleted = error.details().unwrap()["deleted"].as_array().unwrap();
        assert!(!deleted.is_empty());
        for path in deleted {
            assert!(!ground.path(path.as_str().unwrap()).exists());
        }
        return;
    }
    panic!("no deletion was cancelled");
}
