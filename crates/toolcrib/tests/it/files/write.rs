//! `write_file`.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::time::{Duration, Instant};

use serde_json::json;
use toolcrib::{CallRequest, ErrorCode};

use super::{assert_error, code, grounds, names_in};

#[tokio::test]
async fn a_new_file_is_written_without_asking_and_the_text_says_how_much() {
    for ground in grounds() {
        let request = CallRequest::new("write_file")
            .arg("path", "output.txt")
            .arg("content", "Hello, world!");
        let output = ground
            .registry
            .execute(request)
            .await
            .into_result()
            .unwrap();
        assert_eq!(output.value, json!({"path": "output.txt", "size": 13}));
        assert_eq!(output.text(), "wrote 13 bytes to `output.txt`\n");
        assert_eq!(ground.content("output.txt"), "Hello, world!");
        assert_eq!(ground.asked().len(), 0);
        let mode = fs::metadata(ground.path("output.txt")).unwrap().mode();
        fs::write(ground.path("other"), "").unwrap();
        assert_eq!(mode, fs::metadata(ground.path("other")).unwrap().mode());
    }
}

#[tokio::test]
async fn bytes_are_given_as_base64() {
    for ground in grounds() {
        let mut arguments = json!({"path": "x", "content": "AP8=", "encoding": "base64"});
        let value = ground.call("write_file", arguments.clone()).await.unwrap();
        assert_eq!(value["size"], 2);
        assert_eq!(fs::read(ground.path("x")).unwrap(), [0, 255]);
        arguments["content"] = "no base64".into();
        let error = ground.call("write_file", arguments).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidArguments);
        assert_eq!(error.details().unwrap()["faults"][0]["pointer"], "/content");
        assert_eq!(ground.asked().len(), 0, "about what cannot work");
    }
}

#[tokio::test]
async fn overwriting_asks_with_a_diff_and_then_replaces() {
    for ground in grounds() {
        ground.file("notes.md", "one\ntwo\nthree\n");
        ground.write("notes.md", "one\n2\nthree\n").await.unwrap();
        assert_eq!(ground.content("notes.md"), "one\n2\nthree\n");
        let [asked] = &ground.asked()[..] else {
            panic!("one question")
        };
        assert_eq!(asked.reason, "it overwrites a file");
        assert_eq!(
            asked.effect,
            "overwrite the file `notes.md`: text, 14 bytes, becomes text, 12 bytes"
        );
        assert_eq!(
            asked.diff.as_deref(),
            Some("--- notes.md\n+++ notes.md\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n")
        );
    }
}

#[tokio::test]
async fn what_has_no_diff_is_reported_in_words() {
    for ground in grounds() {
        ground.file("binary", vec![0; 12 * 1024]);
        ground.write("binary", "text\n").await.unwrap();
        ground.file("long", "x\n".repeat(1 << 20));
        ground.write("long", "short").await.unwrap();
        ground.file("same", "same");
        ground.write("same", "same").await.unwrap();
        let asked = ground.asked();
        let effects: Vec<&str> = asked.iter().map(|asked| asked.effect.as_str()).collect();
        let expected = [
            "overwrite the file `binary`: binary, 12 KB, becomes text, 5 bytes",
            "overwrite the file `long`: 2 MB, becomes text, 5 bytes",
            "overwrite the file `same` with the same content, text, 4 bytes",
        ];
        assert_eq!(effects, expected);
        assert!(asked.iter().all(|asked| asked.diff.is_none()));
    }
}

#[tokio::test]
async fn a_huge_sparse_file_is_overwritten_without_reading_it() {
    for ground in grounds() {
        let file = File::create(ground.path("sparse")).unwrap();
        file.set_len(10 << 30).unwrap();
        let start = Instant::now();
        ground.write("sparse", "small").await.unwrap();
        assert!(start.elapsed() < Duration::from_secs(10));
        assert_eq!(ground.content("sparse"), "small");
        assert!(ground.asked()[0].effect.contains(": 10 GB, becomes"));
    }
}

/// Whatever happens to the file between the question and the answer, the answer was not about it.
#[tokio::test]
async fn a_file_that_changed_since_it_was_approved_is_left_alone() {
    type Change = fn(&std::path::Path);
    let changes: [(&str, Change); 5] = [
        ("rewritten", |path| fs::write(path, "mine!").unwrap()),
        ("replaced", |path| {
            fs::write(path.with_extension("x"), "old").unwrap();
            fs::rename(path.with_extension("x"), path).unwrap();
        }),
        ("rewritten with its old times", |path| {
            let modified = fs::metadata(path).unwrap().modified().unwrap();
            fs::write(path, "odd").unwrap();
            let file = File::options().write(true).open(path).unwrap();
            file.set_modified(modified).unwrap();
        }),
        ("removed", |path| fs::remove_file(path).unwrap()),
        ("exchanged for a link", |path| {
            fs::write(path.with_extension("x"), "old").unwrap();
            fs::remove_file(path).unwrap();
            std::os::unix::fs::symlink("f.x", path).unwrap();
        }),
    ];
    for (how, change) in changes {
        for ground in grounds() {
            ground.file("f", "old");
            let path = ground.path("f");
            ground.meanwhile(move || change(&path));
            let before = ground.path("f");
            let result = ground.write("f", "new").await;
            assert_error(
                result,
                ErrorCode::Conflict,
                "changed since it was approved; call again",
            );
            let content = fs::read_to_string(before).ok();
            assert_ne!(content.as_deref(), Some("new"), "{how}");
        }
    }
}

#[tokio::test]
async fn apr_010_a_file_that_appears_meanwhile_is_left_alone() {
    for ground in grounds() {
        let path = ground.path("ASK");
        ground.meanwhile(move || fs::write(path, "theirs").unwrap());
        assert_error(
            ground.write("ASK", "mine").await,
            ErrorCode::FileExists,
            "something of that name already",
        );
        assert_eq!(ground.content("ASK"), "theirs");
    }
}

#[tokio::test]
async fn missing_directories_are_made_when_asked_for() {
    for ground in grounds() {
        assert_error(
            ground.write("a/b/c.txt", "c").await,
            ErrorCode::FileNotFound,
            "its directory does not exist; set createDirs to make it",
        );
        let arguments = json!({"path": "a/./b//c.txt", "content": "c", "create_dirs": true});
        ground.call("write_file", arguments).await.unwrap();
        assert_eq!(ground.content("a/b/c.txt"), "c");
        // Beneath a link that stays inside, too.
        ground.link("a", "inside");
        let arguments = json!({"path": "inside/n/../m/d", "content": "d", "createDirs": true});
        ground.call("write_file", arguments).await.unwrap();
        assert_eq!(names_in(&ground.path("a")), ["b", "m", "n"]);
        ground.link("missing", "dangling");
        let arguments = json!({"path": "dangling/x", "content": "d", "createDirs": true});
        assert_eq!(
            code(ground.call("write_file", arguments).await),
            ErrorCode::FileNotFound
        );
        assert_eq!(ground.asked().len(), 0);
    }
}

#[tokio::test]
async fn a_link_is_followed_while_it_stays_inside_and_stays_a_link() {
    for ground in grounds() {
        ground.file("sub/f", "old");
        ground.dir("sub/deep");
        ground.link("../f", "sub/deep/up");
        ground.link("sub/deep/up", "link");
        ground.write("link", "new").await.unwrap();
        assert_eq!(ground.content("sub/f"), "new");
        assert!(ground.path("link").is_symlink());
        // A link to what is not there makes it.
        ground.link("sub/new", "dangling");
        ground.write("dangling", "made").await.unwrap();
        assert_eq!(ground.content("sub/new"), "made");
        ground.link("sub/none/x", "further");
        assert_eq!(
            code(ground.write("further", "x").await),
            ErrorCode::FileNotFound
        );
        ground.link("b", "a");
        ground.link("a", "b");
        assert_error(
            ground.write("a", "x").await,
            ErrorCode::InvalidPath,
            "circle",
        );
        ground.link("sub", "to-dir");
        ground.link("sub/", "to-dir-slash");
        for path in ["to-dir", "to-dir-slash", "to-dir/.", "sub/deep/.."] {
            assert_error(
                ground.write(path, "x").await,
                ErrorCode::InvalidPath,
                "directory",
            );
        }
    }
}

#[tokio::test]
async fn a_chain_of_forty_links_is_followed_and_one_more_is_not() {
    for ground in grounds() {
        ground.file("f", "old");
        ground.link("f", "hop01");
        for hop in 2..=42 {
            ground.link(format!("hop{:02}", hop - 1), &format!("hop{hop:02}"));
        }
        ground.write("hop40", "new").await.unwrap();
        assert_eq!(ground.content("f"), "new");
        assert_error(
            ground.write("hop41", "x").await,
            ErrorCode::InvalidPath,
            "circle",
        );
    }
}

#[tokio::test]
async fn input_that_is_not_a_file_is_refused() {
    for ground in grounds() {
        ground.dir("dir");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, ground.path("fifo"), mode).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(ground.path("socket")).unwrap();
        for path in ["dir", "dir/", ".", "new/"] {
            assert_error(
                ground.write(path, "x").await,
                ErrorCode::InvalidPath,
                "directory",
            );
        }
        for path in ["fifo", "socket"] {
            assert_error(
                ground.write(path, "x").await,
                ErrorCode::InvalidPath,
                "not a file",
            );
        }
        ground.file("f", "");
        for (path, expected) in [
            ("a\0b", ErrorCode::InvalidPath),
            (&"x".repeat(256), ErrorCode::InvalidPath),
            ("f/x", ErrorCode::FileNotFound),
        ] {
            assert_eq!(code(ground.write(path, "x").await), expected, "{path:?}");
        }
        assert_eq!(ground.asked().len(), 0, "about what cannot work");
    }
}

#[tokio::test]
async fn an_overwritten_file_keeps_its_mode_but_not_the_rights_of_its_owner() {
    for ground in grounds() {
        ground.file("script", "old");
        fs::set_permissions(ground.path("script"), fs::Permissions::from_mode(0o6751)).unwrap();
        ground.write("script", "new").await.unwrap();
        let mode = fs::metadata(ground.path("script")).unwrap().mode();
        assert_eq!(mode & 0o7777, 0o751);
    }
}

#[tokio::test]
async fn root_keeps_the_owner_of_an_overwritten_file() {
    if !rustix::process::geteuid().is_root() {
        crate::skipped(format_args!("only root can give files away"));
        return;
    }
    for ground in grounds() {
        ground.file("theirs", "old");
        chown(ground.path("theirs"), Some(1234), Some(4321)).unwrap();
        ground.write("theirs", "new").await.unwrap();
        let metadata = fs::metadata(ground.path("theirs")).unwrap();
        assert_eq!((metadata.uid(), metadata.gid()), (1234, 4321));
    }
}

#[tokio::test]
async fn an_overwritten_file_keeps_its_attributes() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    for ground in grounds() {
        ground.file("f", "old");
        let set = setxattr(ground.path("f"), "user.note", b"kept", XattrFlags::empty());
        if let Err(error) = set {
            crate::skipped(format_args!(
                "this file system has no extended attributes ({error})"
            ));
            return;
        }
        ground.write("f", "new").await.unwrap();
        let mut value = [0; 16];
        let length = getxattr(ground.path("f"), "user.note", &mut value[..]).unwrap();
        assert_eq!(&value[..length], b"kept");
    }
}

#[tokio::test]
async fn what_a_dead_writer_left_is_swept_up_and_nothing_else() {
    for ground in grounds() {
        // The first of January 2020, and now.
        let stale = ".toolcrib-016f5e66e80070008000000000000000.tmp";
        let fresh = format!(".toolcrib-{}.tmp", uuid_now());
        ground.dir("sub");
        for name in [stale, &fresh, ".toolcrib-notes.tmp"] {
            ground.file(&format!("sub/{name}"), "");
        }
        ground.write("sub/new", "x").await.unwrap();
        let mut expected = vec![fresh, ".toolcrib-notes.tmp".to_owned(), "new".to_owned()];
        expected.sort();
        assert_eq!(names_in(&ground.path("sub")), expected);
    }
}

fn uuid_now() -> String {
    let millis = std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .unwrap()
        .as_millis();
    format!("{millis:012x}70008000000000000000")
}

#[tokio::test]
async fn a_dry_run_says_what_would_be_written() {
    for ground in grounds() {
        let request = CallRequest::new("write_file")
            .arg("path", "new")
            .arg("content", "x");
        let plan = ground.registry.plan(request).unwrap();
        assert_eq!(plan.effect, "create the file `new`, 1 byte");
        assert!(!ground.path("new").exists());
    }
}

#[tokio::test]
async fn content_over_the_input_limit_is_refused() {
    for ground in grounds() {
        let request = CallRequest::new("write_file")
            .arg("path", "new")
            .arg("content", "x".repeat(17 << 20));
        let outcome = ground.registry.execute(request).await;
        assert_eq!(outcome.error().unwrap().code(), ErrorCode::InvalidArguments);
        assert!(!ground.path("new").exists());
    }
}
