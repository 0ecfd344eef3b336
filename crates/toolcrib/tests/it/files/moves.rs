//! `move_file`.

use std::fs;

use serde_json::json;
use toolcrib::ErrorCode;

use super::{assert_error, code, grounds, names_in};

#[tokio::test]
async fn files_links_and_directories_move_without_asking() {
    for ground in grounds() {
        ground.file("a", "a");
        ground.file("dir/f", "f");
        ground.link("a", "link");
        ground.dir("to");
        let value = ground.rename("a", "to/b").await.unwrap();
        assert_eq!(value, json!({"from": "a", "to": "to/b"}));
        ground.rename("dir", "to/dir").await.unwrap();
        ground.rename("link", "to/link").await.unwrap();
        assert_eq!(names_in(&ground.path("")), ["to"]);
        assert_eq!(names_in(&ground.path("to")), ["b", "dir", "link"]);
        assert_eq!(ground.content("to/dir/f"), "f");
        assert!(ground.path("to/link").is_symlink());
        assert_eq!(ground.asked().len(), 0);
    }
}

#[tokio::test]
async fn what_is_there_stays_unless_overwriting_was_asked_for_and_approved() {
    for ground in grounds() {
        ground.file("a", "a");
        ground.file("b", "bb");
        assert_error(
            ground.rename("a", "b").await,
            ErrorCode::FileExists,
            "cannot move to `b`: there is something of that name already",
        );
        assert_eq!(ground.asked().len(), 0);
        let over = json!({"from": "a", "to": "b", "overwrite": true});
        ground.call("move_file", over).await.unwrap();
        assert_eq!(names_in(&ground.path("")), ["b"]);
        assert_eq!(ground.content("b"), "a");
        let effect = "move the file `a` to `b`, in place of the file of that name, 2 bytes";
        assert_eq!(ground.asked()[0].effect, effect);
        // With nothing there, nothing is overwritten.
        let over = json!({"from": "b", "to": "c", "overwrite": true});
        ground.call("move_file", over).await.unwrap();
        assert_eq!(ground.asked().len(), 0);
        // A link is replaced, what it leads to stays.
        ground.file("target", "t");
        ground.link("target", "link");
        let over = json!({"from": "c", "to": "link", "overwrite": true});
        ground.call("move_file", over).await.unwrap();
        assert_eq!(
            (ground.content("link"), ground.content("target")),
            ("a".into(), "t".into())
        );
    }
}

#[tokio::test]
async fn a_directory_is_never_replaced_and_replaces_nothing() {
    for ground in grounds() {
        ground.file("f", "f");
        ground.dir("empty");
        ground.file("dir/x", "x");
        for (from, to) in [("f", "empty"), ("dir", "empty"), ("dir", "f")] {
            let over = json!({"from": from, "to": to, "overwrite": true});
            assert_eq!(
                code(ground.call("move_file", over).await),
                ErrorCode::FileExists,
                "{from} to {to}"
            );
        }
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, ground.path("fifo"), mode).unwrap();
        let over = json!({"from": "f", "to": "fifo", "overwrite": true});
        assert_error(
            ground.call("move_file", over).await,
            ErrorCode::InvalidPath,
            "not a file",
        );
        assert_eq!(names_in(&ground.path("")), ["dir", "empty", "f", "fifo"]);
        assert_eq!(ground.asked().len(), 0);
    }
}

#[tokio::test]
async fn moves_that_make_no_sense_say_why() {
    for ground in grounds() {
        ground.file("dir/f", "f");
        ground.link("dir", "same");
        for (from, to, expected, words) in [
            ("dir", "dir/sub", ErrorCode::InvalidPath, "into itself"),
            ("dir", "same/sub", ErrorCode::InvalidPath, "into itself"),
            (
                "dir/f",
                "same/f",
                ErrorCode::InvalidPath,
                "both are the same",
            ),
            ("gone", "x", ErrorCode::FileNotFound, "no such file"),
            (
                "dir/f",
                "no/x",
                ErrorCode::FileNotFound,
                "its directory does not exist",
            ),
            ("dir/f", "x/", ErrorCode::FileNotFound, "not a directory"),
            ("dir/f", "../out/f", ErrorCode::InvalidPath, "outside"),
            ("../out/canary", "f", ErrorCode::InvalidPath, "outside"),
            (".", "x", ErrorCode::InvalidPath, "does not end in a name"),
            (
                "dir",
                "..",
                ErrorCode::InvalidPath,
                "does not end in a name",
            ),
            (
                "dir/f",
                &"x".repeat(256),
                ErrorCode::InvalidPath,
                "too long",
            ),
        ] {
            assert_error(ground.rename(from, to).await, expected, words);
        }
        assert_eq!(names_in(&ground.path("dir")), ["f"]);
        assert_eq!(ground.asked().len(), 0);
    }
}

#[tokio::test]
async fn what_changed_since_it_was_approved_stays_where_it_is() {
    for ground in grounds() {
        ground.file("a", "a");
        ground.file("b", "b");
        let over = json!({"from": "a", "to": "b", "overwrite": true});
        let path = ground.path("b");
        ground.meanwhile(move || fs::write(path, "B").unwrap());
        assert_error(
            ground.call("move_file", over.clone()).await,
            ErrorCode::Conflict,
            "`b` changed since it was approved; call again",
        );
        let path = ground.path("a");
        ground.meanwhile(move || {
            fs::remove_file(&path).unwrap();
            fs::write(&path, "another").unwrap();
        });
        assert_error(
            ground.call("move_file", over).await,
            ErrorCode::Conflict,
            "`a` changed since",
        );
        let path = ground.path("ASK");
        ground.meanwhile(move || fs::write(path, "theirs").unwrap());
        assert_eq!(code(ground.rename("a", "ASK").await), ErrorCode::FileExists);
        assert_eq!(ground.content("b"), "B");
        assert_eq!(ground.content("ASK"), "theirs");
        assert_eq!(ground.content("a"), "another");
    }
}

#[tokio::test]
async fn two_names_of_one_file_become_one() {
    for ground in grounds() {
        ground.file("a", "a");
        fs::hard_link(ground.path("a"), ground.path("b")).unwrap();
        let over = json!({"from": "a", "to": "b", "overwrite": true});
        ground.call("move_file", over).await.unwrap();
        assert_eq!(names_in(&ground.path("")), ["b"]);
        assert_eq!(ground.content("b"), "a");
    }
}
