//! The cases of the security list about writing (PATH-*).

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use toolcrib::{CallRequest, ErrorCode};

use super::{CANARY, code, grounds, names_in};

#[tokio::test]
async fn path_005_no_link_leads_a_write_out() {
    for ground in grounds() {
        ground.link("..", "up");
        ground.link("../out/canary", "canary");
        ground.link("../out/new", "new");
        ground.link(ground.outer.path().join("out/new"), "absolute");
        ground.link("/proc/self/root", "magic");
        ground.link("canary", "hop");
        for path in [
            "up/out/x",
            "up/out/canary",
            "up/x/y/z",
            "canary",
            "new",
            "absolute",
            "hop",
            "magic/tmp/x",
            "../out/canary",
            "../x/y",
        ] {
            let arguments = json!({"path": path, "content": "PWN", "createDirs": true});
            assert_eq!(
                code(ground.call("write_file", arguments).await),
                ErrorCode::InvalidPath,
                "{path}"
            );
        }
        assert_eq!(ground.asked().len(), 0);
    }
}

/// A link that leads out, put in place of a directory or a file between resolution and use, leads nowhere.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn path_008_a_directory_swapped_for_a_link_never_leads_a_write_out() {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    for ground in grounds() {
        ground.file("d/canary", "mine");
        symlink(ground.outer.path().join("out"), ground.path("e")).unwrap();
        let (d, e) = (ground.path("d"), ground.path("e"));
        let done = Arc::new(AtomicBool::new(false));
        let swapper = std::thread::spawn({
            let done = done.clone();
            move || {
                while !done.load(Ordering::Relaxed) {
                    renameat_with(CWD, &d, CWD, &e, RenameFlags::EXCHANGE).unwrap();
                }
            }
        });
        let start = Instant::now();
        let (mut written, mut refused, mut calls) = (0, 0, 0);
        while start.elapsed() < Duration::from_secs(3) || (written == 0 && calls < 50_000) {
            calls += 1;
            let over = json!({"path": "d/canary", "content": "PWN"});
            let new =
                json!({"path": format!("d/new{calls}/x"), "content": "PWN", "createDirs": true});
            let delete = json!({"path": "d/canary", "recursive": true});
            let back = json!({"from": "d/canary", "to": "d/moved"});
            let (tool, arguments) = match calls % 4 {
                0 => ("delete_file", delete),
                1 => ("write_file", new),
                2 => ("move_file", back),
                _ => ("write_file", over),
            };
            let request = CallRequest::from_json(json!({"name": tool, "arguments": arguments}));
            match ground.registry.execute(request.unwrap()).await.error() {
                None => written += 1,
                Some(error) => {
                    refused += 1;
                    let expected = [
                        ErrorCode::InvalidPath,
                        ErrorCode::FileNotFound,
                        ErrorCode::FileExists,
                        ErrorCode::Conflict,
                        // It changed under every attempt to open it.
                        ErrorCode::ExecutionError,
                    ];
                    assert!(expected.contains(&error.code()), "{error:?}");
                }
            }
        }
        done.store(true, Ordering::Relaxed);
        swapper.join().unwrap();
        ground.assert_outside_is_untouched();
        assert!(written > 0 && refused > 0, "{written} {refused}");
    }
}

#[tokio::test]
async fn path_009_a_hard_link_is_replaced_and_not_written_through() {
    for ground in grounds() {
        fs::hard_link(ground.outer.path().join("out/canary"), ground.path("hard")).unwrap();
        ground.write("hard", "x").await.unwrap();
        assert_eq!(ground.content("hard"), "x");
        assert_eq!(ground.asked().len(), 1);
        // Deleting one takes the name and leaves the file.
        fs::remove_file(ground.path("hard")).unwrap();
        fs::hard_link(ground.outer.path().join("out/canary"), ground.path("hard")).unwrap();
        ground.delete("hard").await.unwrap();
        assert_eq!(names_in(&ground.path("")), Vec::<String>::new());
        let canary = ground.outer.path().join("out/canary");
        assert_eq!(fs::read_to_string(canary).unwrap(), CANARY);
    }
}
