//! Attacks on `read_file` and `list_directory` through paths (PATH-*), their limits, and what they
//! promise besides. Everything runs twice: with the kernel's path resolution, and with the one for
//! kernels that have none.

use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use toolcrib::RegisterBuiltins as _;

use serde_json::{Value, json};
use toolcrib::builtin::{BuiltinOptions, ListOptions, ReadOptions};
use toolcrib::workspace::Workspace;
use toolcrib::{CallRequest, ErrorCode, Outcome, Registry, ToolError};

const CANARY: &str = "SECRET-CANARY";

/// A workspace `ws` beside `out/canary`, which no one may read, with a registry for each way to
/// resolve paths.
struct Ground {
    outer: tempfile::TempDir,
    registries: [Registry; 2],
}

impl Ground {
    fn new() -> Self {
        Self::with(BuiltinOptions::default)
    }

    fn with(options: impl Fn() -> BuiltinOptions) -> Self {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("ws");
        fs::create_dir(&root).unwrap();
        fs::create_dir(outer.path().join("out")).unwrap();
        fs::write(outer.path().join("out/canary"), CANARY).unwrap();
        let registries = registries(&root, options);
        Ground { outer, registries }
    }

    fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        // 2024-06-01T09:17:10Z
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_717_233_430);
        File::open(path).unwrap().set_modified(time).unwrap();
        self
    }

    fn link(self, target: impl AsRef<Path>, path: &str) -> Self {
        symlink(target, self.path(path)).unwrap();
        self
    }

    fn path(&self, path: &str) -> PathBuf {
        self.outer.path().join("ws").join(path)
    }

    async fn read(&self, path: &str) -> Result<Value, ToolError> {
        self.call(json!({"name": "read_file", "arguments": {"path": path}}))
            .await
    }

    async fn list_all(&self, path: &str) -> Result<Value, ToolError> {
        let arguments = json!({"path": path, "recursive": true, "includeHidden": true});
        self.call(json!({"name": "list_directory", "arguments": arguments}))
            .await
    }

    /// Makes the call in both registries, which must agree, and looks that nothing leaks.
    async fn call(&self, call: Value) -> Result<Value, ToolError> {
        let mut results = Vec::new();
        for registry in &self.registries {
            let outcome = execute(registry, &call).await;
            let host = self.outer.path().to_str().unwrap();
            if let Err(error) = &outcome.result {
                let told = serde_json::to_string(error).unwrap();
                assert!(!told.contains(host), "{call}: {told}");
            }
            assert!(!format!("{:?}", outcome.result).contains(CANARY), "{call}");
            assert!(!outcome.truncated, "{call}");
            results.push(outcome.into_result().map(|output| output.value));
        }
        assert_eq!(results[0], results[1], "{call}");
        results.remove(0)
    }

    async fn assert_refused(&self, path: &str) {
        assert_eq!(
            code(self.read(path).await),
            ErrorCode::InvalidPath,
            "{path:?}"
        );
    }
}

fn registries(root: &Path, options: impl Fn() -> BuiltinOptions) -> [Registry; 2] {
    [Workspace::open, Workspace::open_without_openat2].map(|open| {
        let registry = Registry::builder().workspace(open(root).unwrap()).build();
        registry.register_builtins_with(options()).unwrap();
        registry
    })
}

async fn execute(registry: &Registry, call: &Value) -> Outcome {
    registry
        .execute(CallRequest::from_json(call.clone()).unwrap())
        .await
}

#[track_caller]
fn code(result: Result<Value, ToolError>) -> ErrorCode {
    match result {
        Ok(value) => panic!("it went well: {value}"),
        Err(error) => error.code(),
    }
}

fn names(listing: &Value) -> Vec<&str> {
    listing["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["name"].as_str().unwrap())
        .collect()
}

// The cases of the security list.

#[tokio::test]
async fn path_001_dots_do_not_lead_out() {
    let ground = Ground::new().file("sub/f", "f");
    ground.assert_refused("../out/canary").await;
    ground.assert_refused("sub/../../out/canary").await;
    assert_eq!(code(ground.list_all("..").await), ErrorCode::InvalidPath);
    assert_eq!(ground.read("sub/../sub/f").await.unwrap()["content"], "f");
}

#[tokio::test]
async fn path_002_a_sibling_with_the_same_prefix_is_outside() {
    let ground = Ground::new();
    let evil = format!(
        "{}-evil",
        ground.path("").to_str().unwrap().trim_end_matches('/')
    );
    fs::create_dir(&evil).unwrap();
    fs::write(format!("{evil}/s"), CANARY).unwrap();
    ground.assert_refused(&format!("{evil}/s")).await;
    ground.assert_refused("../ws-evil/s").await;
}

#[tokio::test]
async fn path_005_a_link_to_the_parent_does_not_lead_out() {
    let ground = Ground::new().link("..", "up");
    ground.assert_refused("up/out/canary").await;
    assert_eq!(code(ground.list_all("up").await), ErrorCode::InvalidPath);
}

#[tokio::test]
async fn path_006_magic_links_are_refused() {
    let ground = Ground::new().link("/proc/self/root", "magic");
    ground.assert_refused("magic/etc/hostname").await;
    let error = ground.read("magic/etc/passwd").await.unwrap_err();
    // A rule may name this file and speak first.
    assert!(
        [ErrorCode::InvalidPath, ErrorCode::BlockedByRule].contains(&error.code()),
        "{error}"
    );
}

#[tokio::test]
async fn path_007_links_that_stay_inside_keep_working() {
    let ground = Ground::new().file("sub/f", "ok").link("sub", "inside");
    assert_eq!(ground.read("inside/f").await.unwrap()["content"], "ok");
    assert_eq!(names(&ground.list_all("inside").await.unwrap()), ["f"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn path_008_a_directory_swapped_for_a_link_never_leads_out() {
    use std::collections::HashMap;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    const READS: usize = 4_000;

    let ground = Ground::new().file("d/canary", "mine");
    symlink(ground.outer.path().join("out"), ground.path("e")).unwrap();
    let (d, e) = (ground.path("d"), ground.path("e"));
    let done = Arc::new(AtomicBool::new(false));
    let swapper = std::thread::spawn({
        let done = done.clone();
        move || {
            use rustix::fs::{CWD, RenameFlags, renameat_with};
            while !done.load(Ordering::Relaxed) {
                renameat_with(CWD, &d, CWD, &e, RenameFlags::EXCHANGE).unwrap();
            }
        }
    });
    let mut seen: HashMap<String, usize> = HashMap::new();
    for registry in &ground.registries {
        for _ in 0..READS {
            let outcome = registry
                .execute(CallRequest::new("read_file").arg("path", "d/canary"))
                .await;
            let result = match outcome.into_result() {
                Ok(output) => output.value["content"].to_string(),
                Err(error) => error.code().to_string(),
            };
            *seen.entry(result).or_default() += 1;
        }
    }
    done.store(true, Ordering::Relaxed);
    swapper.join().unwrap();
    let mut results: Vec<&str> = seen.keys().map(String::as_str).collect();
    results.sort_unstable();
    // EXECUTION_ERROR: the directory changed under every attempt to open it.
    results.retain(|result| *result != "EXECUTION_ERROR");
    assert_eq!(results, ["\"mine\"", "INVALID_PATH"], "{seen:?}");
}

#[tokio::test]
async fn path_010_a_nul_is_refused() {
    let ground = Ground::new();
    ground.assert_refused("a\0/../../out/canary").await;
    ground.assert_refused("").await;
    ground.assert_refused(&"x/".repeat(3000)).await;
}

#[tokio::test]
async fn path_012_nothing_is_decoded_or_expanded() {
    let ground = Ground::new();
    for path in [
        "..%2fout%2fcanary",
        "%252e%252e/out",
        "%2e%2e/out/canary",
        "~/x",
        "~root",
        "$HOME",
    ] {
        assert_eq!(
            code(ground.read(path).await),
            ErrorCode::FileNotFound,
            "{path}"
        );
    }
    let ground = ground.file("..%2fout%2fcanary", "a file like any other");
    assert_eq!(
        ground.read("..%2fout%2fcanary").await.unwrap()["content"],
        "a file like any other"
    );
}

#[tokio::test]
async fn path_018_loops_of_links_end() {
    let mut ground = Ground::new()
        .file("f", "f")
        .link("b", "a")
        .link("a", "b")
        .link(".", "self")
        .link("f", "hop01");
    for hop in 2..=41 {
        ground = ground.link(format!("hop{:02}", hop - 1), &format!("hop{hop:02}"));
    }
    ground.assert_refused("a").await;
    ground.assert_refused("hop41").await;
    assert_eq!(ground.read("hop40").await.unwrap()["content"], "f");
    assert_eq!(ground.read("self/self/f").await.unwrap()["content"], "f");
    let listing = ground.list_all(".").await.unwrap();
    assert_eq!(names(&listing).len(), 45);
    assert_eq!(listing["entries"][0]["type"], "symlink");
}

// Things that are not files.

#[tokio::test]
async fn input_that_is_not_a_regular_file_is_refused_at_once() {
    let ground = Ground::new().file("dir/f", "f");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, ground.path("fifo"), mode).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(ground.path("socket")).unwrap();
    for path in ["fifo", "socket", "dir", "."] {
        ground.assert_refused(path).await;
    }
    for path in ["fifo", "dir/f"] {
        assert_eq!(
            code(ground.list_all(path).await),
            ErrorCode::InvalidPath,
            "{path}"
        );
    }
    for registry in registries(Path::new("/dev"), BuiltinOptions::default) {
        for device in ["null", "zero", "tty"] {
            let outcome = registry
                .execute(CallRequest::new("read_file").arg("path", device))
                .await;
            let error = outcome.error().unwrap();
            assert_eq!(error.code(), ErrorCode::InvalidPath, "{device}: {error}");
        }
    }
}

#[tokio::test]
async fn a_huge_sparse_file_is_refused_by_its_size() {
    let ground = Ground::new().file("sparse", "");
    File::options()
        .write(true)
        .open(ground.path("sparse"))
        .unwrap()
        .set_len(10 << 30)
        .unwrap();
    assert_eq!(code(ground.read("sparse").await), ErrorCode::FileTooLarge);
    let range = json!({"name": "read_file", "arguments": {"path": "sparse", "end_line": 1}});
    let error = ground.call(range).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::FileTooLarge);
    assert_eq!(error.details().unwrap()["size"], 10_u64 << 30);
}

/// As root every file can be read, so this test runs itself again as no one.
#[tokio::test]
async fn what_cannot_be_read_is_permission_denied_and_spoils_no_listing() {
    use std::os::unix::process::CommandExt as _;
    const NAME: &str = "paths::what_cannot_be_read_is_permission_denied_and_spoils_no_listing";
    const NOBODY: u32 = 65_534;

    if rustix::process::geteuid().is_root() {
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        again
            .args(["--exact", NAME])
            .current_dir("/")
            .env("TMPDIR", "/tmp")
            .uid(NOBODY)
            .gid(NOBODY);
        match again.output() {
            Ok(output) => {
                let told = String::from_utf8_lossy(&output.stdout);
                assert!(
                    output.status.success() && told.contains("1 passed"),
                    "as nobody: {told}"
                );
            }
            Err(error) => eprintln!(
                "SKIPPED {NAME}: root reads everything, and running as nobody fails: {error}"
            ),
        }
        return;
    }
    let ground = Ground::new()
        .file("locked", "x")
        .file("dir/f", "f")
        .file("shut/f", "f")
        .file("names-only/f", "f");
    for (path, mode) in [("locked", 0o000), ("shut", 0o000), ("names-only", 0o444)] {
        fs::set_permissions(ground.path(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    let (locked, beneath) = (ground.read("locked").await, ground.read("shut/f").await);
    let (shut, all) = (ground.list_all("shut").await, ground.list_all(".").await);
    for path in ["shut", "names-only"] {
        // Or the directory cannot be removed.
        fs::set_permissions(ground.path(path), fs::Permissions::from_mode(0o700)).unwrap();
    }
    for result in [locked, beneath, shut] {
        assert_eq!(code(result), ErrorCode::PermissionDenied);
    }
    let all = all.unwrap();
    assert_eq!(
        names(&all),
        ["dir", "dir/f", "locked", "names-only", "shut"]
    );
    let denied = "permission denied";
    let expected =
        json!([{"name": "names-only/f", "reason": denied}, {"name": "shut", "reason": denied}]);
    assert_eq!(all["skipped"], expected);
}

// Listings.

#[tokio::test]
async fn a_listing_is_sorted_and_says_what_each_entry_is() {
    let ground = Ground::new()
        .file("a/b", "12")
        .file("a.txt", "1")
        .file(".hidden/x", "")
        .link("a.txt", "link");
    let modified = "2024-06-01T09:17:10Z";
    let listing = ground
        .call(json!({"name": "list_directory", "arguments": {"path": "a"}}))
        .await
        .unwrap();
    let b = json!({"name": "b", "type": "file", "size": 2, "modified": modified});
    assert_eq!(listing, json!({"entries": [b]}));

    let shallow = ground
        .call(json!({"name": "list_directory", "arguments": {"path": "."}}))
        .await
        .unwrap();
    assert_eq!(names(&shallow), ["a", "a.txt", "link"]);
    let arguments = json!({"path": ".", "recursive": true});
    let deep = ground
        .call(json!({"name": "list_directory", "arguments": arguments}))
        .await
        .unwrap();
    assert_eq!(names(&deep), ["a", "a.txt", "a/b", "link"]);
    let kinds: Vec<&Value> = deep["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| &entry["type"])
        .collect();
    assert_eq!(kinds, ["directory", "file", "file", "symlink"]);
    let all = ground.list_all(".").await.unwrap();
    assert_eq!(
        names(&all),
        [".hidden", ".hidden/x", "a", "a.txt", "a/b", "link"]
    );
    assert_eq!(names(&ground.list_all(".hidden").await.unwrap()), ["x"]);
}

#[tokio::test]
async fn a_listing_over_its_limit_is_cut_and_says_so() {
    let options = || BuiltinOptions {
        list: ListOptions { max_entries: 3 },
        ..BuiltinOptions::default()
    };
    let ground = Ground::with(options)
        .file("a/1", "")
        .file("a/2", "")
        .file("b", "");
    let cut = ground.list_all(".").await.unwrap();
    assert_eq!(
        (names(&cut), &cut["truncated"]),
        (vec!["a", "a/1", "a/2"], &json!(true))
    );
    fs::remove_file(ground.path("b")).unwrap();
    let whole = ground.list_all(".").await.unwrap();
    assert_eq!(
        (names(&whole), whole.get("truncated")),
        (vec!["a", "a/1", "a/2"], None)
    );
}

#[tokio::test]
async fn a_deep_tree_is_listed_to_its_limit() {
    let ground = Ground::new();
    fs::create_dir_all(ground.path(&"d/".repeat(400))).unwrap();
    let listing = ground.list_all(".").await.unwrap();
    assert_eq!(names(&listing).len(), 256);
    assert_eq!(listing["skipped"][0]["name"], names(&listing)[255]);
}

#[tokio::test]
async fn names_come_back_exactly() {
    // UNI-X-08: exact in JSON, whatever it does to a terminal.
    let name = "invoice\u{202e}fdp.exe";
    let ground = Ground::new().file(name, "x").file("line\nfeed", "x");
    fs::write(
        ground.path("").join(std::ffi::OsStr::from_bytes(b"\xff")),
        "",
    )
    .unwrap();
    let listing = ground.list_all(".").await.unwrap();
    assert_eq!(names(&listing), [name, "line\nfeed", "\u{fffd}"]);
    assert_eq!(listing["entries"][2]["nameBase64"], "/w==");
    assert_eq!(listing["entries"][0].get("nameBase64"), None);
    assert_eq!(ground.read(name).await.unwrap()["content"], "x");
    let error = ground.read("invoice\u{202e}gpj.exe").await.unwrap_err();
    assert!(
        error.message().contains("`invoice\\u{202e}gpj.exe`"),
        "{error}"
    );
}

// Reading.

#[tokio::test]
async fn a_file_is_its_content_size_and_time() {
    let ground = Ground::new()
        .file("notes.md", "one\r\ntwo\n")
        .file("empty", "")
        .file("binary", [0xff, 0x00]);
    let modified = "2024-06-01T09:17:10Z";
    let expected = json!({"content": "one\r\ntwo\n", "size": 9, "modified": modified});
    assert_eq!(ground.read("notes.md").await, Ok(expected));
    assert_eq!(
        ground.read("empty").await,
        Ok(json!({"content": "", "size": 0, "modified": modified}))
    );
    let arguments = json!({"path": "notes.md", "start_line": 2});
    let expected = json!({"content": "two\n", "size": 9, "modified": modified, "start_line": 2, "end_line": 2});
    assert_eq!(
        ground
            .call(json!({"name": "read_file", "arguments": arguments}))
            .await,
        Ok(expected)
    );
    let arguments = json!({"path": "binary", "encoding": "base64"});
    let expected = json!({"content": "/wA=", "size": 2, "modified": modified});
    assert_eq!(
        ground
            .call(json!({"name": "read_file", "arguments": arguments}))
            .await,
        Ok(expected)
    );

    let outcome = execute(
        &ground.registries[0],
        &json!({"name": "read_file", "arguments": {"path": "notes.md"}}),
    )
    .await;
    assert_eq!(outcome.into_result().unwrap().text(), "one\r\ntwo\n");
}

#[tokio::test]
async fn input_that_is_not_text_is_offered_as_base64() {
    let ground = Ground::new().file("latin1", b"plain\ncaf\xe9\nplain\n");
    let lines = |first: u64, last: u64| json!({"name": "read_file", "arguments": {"path": "latin1", "start_line": first, "end_line": last}});
    let error = ground.read("latin1").await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::NotText);
    assert!(error.message().contains("base64"), "{error}");
    assert_eq!(code(ground.call(lines(2, 2)).await), ErrorCode::NotText);
    assert_eq!(code(ground.call(lines(1, 3)).await), ErrorCode::NotText);
    // Only what is returned has to be text.
    assert_eq!(
        ground.call(lines(1, 1)).await.unwrap()["content"],
        "plain\n"
    );
}

#[tokio::test]
async fn size_limits_hold_to_the_byte() {
    const MB: usize = 1 << 20;
    let ground = Ground::new()
        .file("1MB", vec![b'x'; MB])
        .file("1MB+1", vec![b'x'; MB + 1])
        .file("10MB", vec![b'x'; 10 * MB])
        .file("10MB+1", vec![b'x'; 10 * MB + 1]);
    let base64 = |path: &str| json!({"name": "read_file", "arguments": {"path": path, "encoding": "base64"}});
    let lines =
        |path: &str| json!({"name": "read_file", "arguments": {"path": path, "start_line": 1}});
    let length = |value: Value| value["content"].as_str().unwrap().len();

    assert_eq!(length(ground.read("1MB").await.unwrap()), MB);
    assert_eq!(
        length(ground.call(base64("1MB")).await.unwrap()),
        MB.div_ceil(3) * 4
    );
    assert_eq!(length(ground.call(lines("1MB+1")).await.unwrap()), MB + 1);
    assert_eq!(length(ground.call(lines("10MB")).await.unwrap()), 10 * MB);

    let error = ground.read("1MB+1").await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::FileTooLarge);
    assert_eq!(
        error.message(),
        "cannot read `1MB+1`: 1048577 bytes are over the limit of 1048576 bytes; ask for a line range with \
         start_line and end_line"
    );
    assert_eq!(
        code(ground.call(base64("1MB+1")).await),
        ErrorCode::FileTooLarge
    );
    assert_eq!(
        code(ground.call(lines("10MB+1")).await),
        ErrorCode::FileTooLarge
    );
}

#[tokio::test]
async fn a_range_has_at_most_ten_thousand_lines() {
    let ground = Ground::new().file("log", "line\n".repeat(10_001));
    let lines = |arguments: Value| {
        let mut arguments = arguments;
        arguments["path"] = json!("log");
        json!({"name": "read_file", "arguments": arguments})
    };
    for arguments in [
        json!({"end_line": 10_000}),
        json!({"start_line": 2}),
        json!({"start_line": 2, "end_line": 99_999}),
    ] {
        let value = ground.call(lines(arguments.clone())).await.unwrap();
        assert_eq!(
            value["content"].as_str().unwrap().lines().count(),
            10_000,
            "{arguments}"
        );
    }
    for arguments in [json!({"end_line": 10_001}), json!({"start_line": 1})] {
        let error = ground.call(lines(arguments.clone())).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::FileTooLarge, "{arguments}");
        assert!(error.message().contains("10000 lines"), "{error}");
    }
}

#[tokio::test]
async fn a_range_that_makes_no_sense_is_an_argument_fault_with_a_pointer() {
    let ground = Ground::new().file("f", "1\n2\n3\n");
    for (arguments, pointer, words) in [
        (
            json!({"path": "f", "start_line": 4}),
            "/start_line",
            "the file has 3 lines",
        ),
        (
            json!({"path": "f", "start_line": 3, "end_line": 2}),
            "/start_line",
            "after end_line",
        ),
        (
            json!({"path": "f", "encoding": "base64", "end_line": 2}),
            "/encoding",
            "whole files",
        ),
        (
            json!({"path": "f", "start_line": 0}),
            "/start_line",
            "1 or more",
        ),
        (
            json!({"path": "f", "end_line": 1.5}),
            "/end_line",
            "integer",
        ),
        (
            json!({"path": "f", "encoding": "utf-16"}),
            "/encoding",
            "utf-8",
        ),
    ] {
        let error = ground
            .call(json!({"name": "read_file", "arguments": arguments}))
            .await
            .unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidArguments, "{arguments}");
        assert_eq!(
            error.details().unwrap()["faults"][0]["pointer"],
            pointer,
            "{arguments}"
        );
        assert!(
            error
                .message()
                .starts_with("invalid arguments for `read_file`: "),
            "{error}"
        );
        assert!(error.message().contains(words), "{error}");
    }
}

#[tokio::test]
async fn only_allowed_extensions_are_read() {
    let read = || ReadOptions {
        extensions: vec!["md".to_owned()],
    };
    let options = || BuiltinOptions {
        read: read(),
        ..BuiltinOptions::default()
    };
    let ground = Ground::with(options)
        .file("a.MD", "text")
        .file("a.key", "key");
    assert_eq!(ground.read("a.MD").await.unwrap()["content"], "text");
    assert_eq!(
        code(ground.read("a.key").await),
        ErrorCode::PermissionDenied
    );
}

// The examples of the seeds, as they stand there.

#[tokio::test]
async fn the_examples_of_s1_and_s2_run() {
    let ground = Ground::new().file("README.md", "# Hello\n");
    let listing = ground
        .call(json!({"name": "list_files", "arguments": {"path": "."}}))
        .await
        .unwrap();
    assert_eq!(names(&listing), ["README.md"]);
    let file = ground
        .call(json!({"name": "read_file", "arguments": {"path": "README.md"}}))
        .await
        .unwrap();
    assert_eq!(file["content"], "# Hello\n");
    // S2 names what comes back.
    let fields = |value: &Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(fields(&file), ["content", "size", "modified"]);
    assert_eq!(
        fields(&listing["entries"][0]),
        ["name", "type", "size", "modified"]
    );
}

#[tokio::test]
async fn the_example_of_s3_runs_with_an_absolute_path_and_float_line_numbers() {
    let ground = Ground::new().file("path/to/file.txt", "line\n".repeat(12));
    let call = |path: &str| json!({"name": "read_file", "parameters": {"path": path, "start_line": 1.0, "end_line": 10.0}});
    let value = ground
        .call(call(ground.path("path/to/file.txt").to_str().unwrap()))
        .await
        .unwrap();
    assert_eq!(value["content"], "line\n".repeat(10));
    assert_eq!(
        (&value["start_line"], &value["end_line"]),
        (&json!(1), &json!(10))
    );
    // Anywhere else the same path is outside, and not repeated.
    let error = ground.call(call("/path/to/file.txt")).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidPath);
    assert!(!error.message().contains("/path/to"), "{error}");
}
