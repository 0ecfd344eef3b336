//! Searches of real trees: what is found, and what is never read.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

/// A time that no test needs.
fn ample() -> Stop {
    Stop::at(Instant::now() + Duration::from_secs(300))
}

fn args(value: Value) -> Args {
    serde_json::from_value(value).unwrap()
}

#[track_caller]
fn find_in(workspace: &Workspace, value: Value) -> Answer {
    search(workspace, &args(value), &May::default(), &ample()).unwrap()
}

#[track_caller]
fn find(root: &Path, value: Value) -> Answer {
    find_in(&Workspace::open(root).unwrap(), value)
}

fn places(answer: &Answer) -> Vec<(String, u64)> {
    let places = answer.found.iter().flat_map(|(path, found)| {
        let path = String::from_utf8_lossy(path).into_owned();
        found.iter().map(move |found| (path.clone(), found.line))
    });
    places.collect()
}

fn paths(answer: &Answer) -> Vec<String> {
    places(answer).into_iter().map(|(path, _)| path).collect()
}

fn write(root: &Path, path: &str, content: impl AsRef<[u8]>) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, content) in files {
        write(root.path(), path, content);
    }
    root
}

#[test]
fn the_first_matches_are_those_of_the_whole_result_however_many_are_wanted() {
    let root = tempfile::tempdir().unwrap();
    for number in 0..120 {
        let path = format!("d{}/e{}/f{number}", number % 7, number % 3);
        write(root.path(), &path, "x\n".repeat(1 + number % 4));
    }
    let whole = find(root.path(), json!({"query": "x", "maxResults": 1000}));
    let all = places(&whole);
    assert!(
        all.is_sorted()
            || all
                .windows(2)
                .all(|pair| (pair[0].0.as_bytes(), pair[0].1) < (pair[1].0.as_bytes(), pair[1].1))
    );
    assert_eq!(
        (whole.tally.total, whole.tally.files, whole.is_truncated()),
        (300, 120, false)
    );
    for max in [1, 2, 17, 100, 299] {
        for _ in 0..5 {
            let cut = find(root.path(), json!({"query": "x", "maxResults": max}));
            assert_eq!(places(&cut), all[..max]);
            assert_eq!((cut.tally, cut.is_truncated()), (whole.tally, true));
        }
    }
}

#[test]
fn a_link_is_not_followed_and_a_loop_does_no_harm() {
    let outside = tree(&[("secret", "needle")]);
    let root = tree(&[("dir/file", "needle")]);
    symlink(outside.path(), root.path().join("out")).unwrap();
    symlink(outside.path().join("secret"), root.path().join("file")).unwrap();
    symlink("..", root.path().join("dir/loop")).unwrap();
    let answer = find(
        root.path(),
        json!({"query": "needle", "includeHidden": true, "includeIgnored": true}),
    );
    assert_eq!(paths(&answer), ["dir/file"]);
}

#[test]
fn a_path_that_leads_outside_is_refused() {
    let outside = tree(&[("secret", "needle")]);
    let root = tree(&[("file", "needle")]);
    symlink(outside.path(), root.path().join("out")).unwrap();
    let workspace = Workspace::open(root.path()).unwrap();
    for (path, code) in [
        ("out", ErrorCode::InvalidPath),
        ("out/secret", ErrorCode::InvalidPath),
        ("..", ErrorCode::InvalidPath),
        ("/etc", ErrorCode::InvalidPath),
        ("missing", ErrorCode::FileNotFound),
    ] {
        let error = search(
            &workspace,
            &args(json!({"query": "x", "path": path})),
            &May::default(),
            &ample(),
        );
        assert_eq!(error.err().unwrap().code(), code, "{path}");
    }
}

/// A thread exchanges a directory for a link to one outside, and a file for a link to one outside, as fast as it can.
#[test]
fn nothing_outside_is_read_while_directories_are_exchanged_for_links() {
    let outer = tempfile::tempdir().unwrap();
    let (root, outside) = (outer.path().join("ws"), outer.path().join("out"));
    for number in 0..40 {
        write(&outside, &format!("sub/{number}"), "SECRET\n");
        write(&root, &format!("dir/sub/{number}"), "needle\n");
    }
    symlink(&outside, root.join("link")).unwrap();
    symlink(outside.join("sub/1"), root.join("file-link")).unwrap();
    write(&root, "file", "needle\n");
    let is_over = AtomicBool::new(false);
    for open in [Workspace::open, Workspace::open_without_openat2] {
        is_over.store(false, Ordering::Relaxed);
        std::thread::scope(|scope| {
            let swapping = scope.spawn(|| {
                let mut swaps = 0_u64;
                let swap = |a: &str, b: &str| {
                    let flags = rustix::fs::RenameFlags::EXCHANGE;
                    rustix::fs::renameat_with(
                        rustix::fs::CWD,
                        root.join(a),
                        rustix::fs::CWD,
                        root.join(b),
                        flags,
                    )
                    .unwrap();
                };
                while !is_over.load(Ordering::Relaxed) {
                    swap("dir", "link");
                    swap("file", "file-link");
                    swaps += 1;
                }
                if swaps % 2 == 1 {
                    swap("dir", "link");
                    swap("file", "file-link");
                }
                swaps
            });
            let workspace = open(&root).unwrap();
            let mut seen = 0;
            for _ in 0..400 {
                let answer = find_in(
                    &workspace,
                    json!({"query": "SECRET|needle", "regex": true, "includeIgnored": true}),
                );
                for (path, found) in &answer.found {
                    assert!(
                        found.iter().all(|found| found.text == "needle"),
                        "{}",
                        String::from_utf8_lossy(path)
                    );
                }
                seen += answer.tally.total;
                // Named, it may be refused, or found; what is outside it is not.
                for path in ["dir", "dir/sub/1", "file", "link"] {
                    if let Ok(answer) = search(
                        &workspace,
                        &args(json!({"query": "SECRET", "path": path})),
                        &May::default(),
                        &ample(),
                    ) {
                        assert_eq!(answer.tally.total, 0, "{path}");
                    }
                }
            }
            is_over.store(true, Ordering::Relaxed);
            let swaps = swapping.join().unwrap();
            assert!(seen > 0 && swaps > 0, "{seen} {swaps}");
        });
    }
}

#[test]
fn a_fifo_is_neither_searched_nor_waited_for_wherever_it_is() {
    let root = tree(&[("sub/file", "needle"), ("target", "needle")]);
    for path in ["pipe", ".gitignore", "sub/.ignore", "sub/.rgignore"] {
        let path = root.path().join(path);
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    }
    fs::create_dir(root.path().join(".git")).unwrap();
    symlink("/dev/zero", root.path().join("sub/.gitignore")).unwrap();
    let answer = find(root.path(), json!({"query": "needle"}));
    assert_eq!(paths(&answer), ["sub/file", "target"]);
    let workspace = Workspace::open(root.path()).unwrap();
    let error = search(
        &workspace,
        &args(json!({"query": "x", "path": "pipe"})),
        &May::default(),
        &ample(),
    );
    assert!(error.err().unwrap().message().contains("FIFO"));
}

#[test]
fn an_ignore_file_that_is_a_link_counts_if_it_stays_in_the_workspace() {
    let outside = tree(&[("rules", "b\n")]);
    let root = tree(&[
        ("rules", "a\n"),
        ("one/a", "x"),
        ("one/b", "x"),
        ("two/a", "x"),
        ("two/b", "x"),
    ]);
    symlink("../rules", root.path().join("one/.ignore")).unwrap();
    symlink(
        outside.path().join("rules"),
        root.path().join("two/.ignore"),
    )
    .unwrap();
    let answer = find(root.path(), json!({"query": "x"}));
    assert_eq!(paths(&answer), ["one/b", "two/a", "two/b"]);
}

/// As git does: a mark at the start, ends of lines as on Windows, and nothing after a line that is not text.
#[test]
fn ignore_files_are_read_as_git_reads_them() {
    let root = tree(&[("a", "x"), ("b", "x"), ("c", "x"), ("d", "x")]);
    write(
        root.path(),
        ".ignore",
        b"\xef\xbb\xbfa\r\nb\r\n\xff\xff\nc\n",
    );
    let answer = find(root.path(), json!({"query": "x"}));
    assert_eq!(paths(&answer), ["c", "d"]);
}

#[test]
fn a_huge_ignore_file_counts_to_its_limit_and_says_so() {
    let root = tree(&[("kept", "x"), ("dropped", "x")]);
    let rules = format!("dropped\n{}kept\n", "no-such-name\n".repeat(100_000));
    write(root.path(), ".ignore", rules);
    let answer = find(root.path(), json!({"query": "x"}));
    assert_eq!(paths(&answer), ["kept"]);
    assert!(answer.skipped[&b".ignore"[..]].contains("do not count"));
}

#[test]
fn toolcribs_own_data_is_never_searched() {
    let root = tree(&[
        ("home/token", "needle"),
        ("home/calls/x", "needle"),
        ("file", "needle"),
    ]);
    let home = root.path().join("home");
    let workspace = Workspace::open(root.path()).unwrap().without(&home);
    let answer = find_in(
        &workspace,
        json!({"query": "needle", "includeHidden": true, "includeIgnored": true}),
    );
    assert_eq!(paths(&answer), ["file"]);
    symlink("home", root.path().join("link")).unwrap();
    for path in ["home", "home/token", "home/calls", "link", "link/calls/x"] {
        let error = search(
            &workspace,
            &args(json!({"query": "needle", "path": path})),
            &May::default(),
            &ample(),
        );
        assert_eq!(
            error.err().unwrap().code(),
            ErrorCode::PermissionDenied,
            "{path}"
        );
    }
}

#[test]
fn what_the_operator_does_not_let_be_read_is_not_searched() {
    let root = tree(&[("key.pem", "needle"), ("a.rs", "needle")]);
    let workspace = Workspace::open(root.path()).unwrap();
    let find = |value: Value| {
        search(
            &workspace,
            &args(value),
            &May {
                extensions: Arc::new(["rs".to_owned()]),
                permission: Permission::default(),
            },
            &ample(),
        )
    };
    assert_eq!(paths(&find(json!({"query": "needle"})).unwrap()), ["a.rs"]);
    assert_eq!(
        paths(&find(json!({"query": "needle", "glob": "*.pem"})).unwrap()),
        [""; 0]
    );
    let error = find(json!({"query": "needle", "path": "key.pem"}))
        .err()
        .unwrap();
    assert_eq!(error.code(), ErrorCode::PermissionDenied);
}

#[test]
fn a_deep_tree_is_searched_to_its_limit_and_says_where_it_ends() {
    let root = tempfile::tempdir().unwrap();
    let path = vec!["d"; 300].join("/");
    fs::create_dir_all(root.path().join(&path)).unwrap();
    write(
        root.path(),
        &format!("{}/near", vec!["d"; 200].join("/")),
        "x",
    );
    for open in [Workspace::open, Workspace::open_without_openat2] {
        let answer = find_in(&open(root.path()).unwrap(), json!({"query": "x"}));
        assert_eq!(answer.tally.total, 1);
        assert_eq!(answer.skipped.len(), 1);
        assert!(
            answer.skipped.values().next().unwrap().contains("too deep"),
            "{:?}",
            answer.skipped
        );
    }
}

#[test]
fn a_search_whose_time_is_up_gives_what_it_found() {
    let root = tempfile::tempdir().unwrap();
    for number in 0..200 {
        write(root.path(), &format!("{number:03}"), "x\n".repeat(10_000));
    }
    let workspace = Workspace::open(root.path()).unwrap();
    let stop = Stop::at(Instant::now() + Duration::from_millis(3));
    let answer = search(
        &workspace,
        &args(json!({"query": "x"})),
        &May::default(),
        &stop,
    )
    .unwrap();
    assert!(answer.timed_out && answer.is_truncated());
    assert!(answer.tally.searched < 200, "{:?}", answer.tally);
    let output = answer.into_output();
    assert_eq!(
        (&output.value["timedOut"], &output.value["truncated"]),
        (&json!(true), &json!(true))
    );
    assert!(output.text.unwrap().contains("the time was up"));
}

#[test]
fn a_line_too_long_to_hold_is_reported_and_memory_is_not_its_size() {
    let root = tempfile::tempdir().unwrap();
    // 64 MB of zeros would be binary; of spaces they are one line.
    write(
        root.path(),
        "long",
        [b"needle\n".as_slice(), &vec![b' '; 40 << 20], b"\nneedle\n"].concat(),
    );
    write(root.path(), "other", "needle\n");
    let answer = find(root.path(), json!({"query": "needle"}));
    assert_eq!(
        places(&answer),
        [("long".to_owned(), 1), ("other".to_owned(), 1)]
    );
    assert!(answer.skipped[&b"long"[..]].contains("longer than 16 MB"));
    let answer = find(root.path(), json!({"query": "needle\n", "multiline": true}));
    assert_eq!(paths(&answer), ["other"]);
    assert!(answer.skipped[&b"long"[..]].contains("larger than 16 MB"));
}

#[test]
fn a_match_that_spans_lines_has_all_of_them() {
    let root = tree(&[("f", "zero\nfn a(\n  b: u8,\n)\nlast\n")]);
    let answer = find(
        root.path(),
        json!({"query": r"fn a\([^)]*\)", "regex": true, "multiline": true, "context": 1}),
    );
    let found = &answer.found[0].1[0];
    assert_eq!((found.line, found.last_line, found.column), (2, 4, 1));
    assert_eq!(found.text, "fn a(\n  b: u8,\n)");
    assert_eq!(
        (&found.before[..], &found.after[..]),
        (&["zero".to_owned()][..], &["last".to_owned()][..])
    );
    assert_eq!(found.spans, [(0, found.text.len())]);
}

#[test]
fn unreadable_files_are_reported() {
    use std::os::unix::fs::PermissionsExt as _;
    let root = tree(&[("closed/file", "x"), ("secret", "x"), ("open", "x")]);
    for path in ["closed", "secret"] {
        fs::set_permissions(root.path().join(path), fs::Permissions::from_mode(0o000)).unwrap();
    }
    if fs::read(root.path().join("secret")).is_ok() {
        eprintln!("SKIPPED unreadable_files_are_reported: this user reads everything");
        return;
    }
    let answer = find(root.path(), json!({"query": "x"}));
    assert_eq!(paths(&answer), ["open"]);
    let told: Vec<_> = answer.skipped.into_iter().collect();
    let denied = "permission denied".to_owned();
    assert_eq!(
        told,
        [
            (b"closed".to_vec(), denied.clone()),
            (b"secret".to_vec(), denied)
        ]
    );
    fs::set_permissions(
        root.path().join("closed"),
        fs::Permissions::from_mode(0o700),
    )
    .unwrap();
}

/// Files of random lines in random places.
fn trees() -> impl Strategy<Value = Vec<(String, Vec<String>)>> {
    let name = "[ab.]{0,2}[a-c]";
    let path = proptest::collection::vec(name, 1..4).prop_map(|names| names.join("/"));
    let lines = proptest::collection::vec("[abAB éx]{0,6}", 0..8);
    proptest::collection::vec((path, lines), 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    /// Without ignore rules, what a plain loop over all lines finds.
    #[test]
    fn literals_are_found_as_a_plain_loop_finds_them(
        files in trees(),
        query in "[abAB éx]{1,3}",
        folds in any::<bool>(),
        hidden in any::<bool>(),
        max in 1_usize..20,
        context in 0_usize..3,
        ends_with_newline in any::<bool>(),
    ) {
        let root = tempfile::tempdir().unwrap();
        let mut expected = Vec::new();
        let mut written = std::collections::BTreeMap::new();
        for (path, lines) in &files {
            let target = root.path().join(path);
            let made = fs::create_dir_all(target.parent().unwrap()).is_ok();
            // A name may be taken by a directory, or a directory's by a file.
            if !made || target.exists() {
                continue;
            }
            let mut text = lines.join("\n");
            if ends_with_newline && !lines.is_empty() {
                text.push('\n');
            }
            fs::write(&target, text).unwrap();
            written.insert(path.as_bytes().to_vec(), lines);
        }
        let fold = |text: &str| if folds { text.to_lowercase() } else { text.to_owned() };
        for (path, lines) in &written {
            let path = String::from_utf8(path.clone()).unwrap();
            if !hidden && path.split('/').any(|name| name.starts_with('.')) {
                continue;
            }
            for (number, line) in lines.iter().enumerate() {
                if fold(line).contains(&fold(&query)) {
                    let before = lines[number.saturating_sub(context)..number].to_vec();
                    // What comes after the last line break of a file is not a line if it is empty.
                    let count = lines.len() - usize::from(!ends_with_newline && lines.last().is_some_and(String::is_empty));
                    let end = (number + 1 + context).min(count);
                    let after = lines[(number + 1).min(end)..end].to_vec();
                    expected.push((path.clone(), number as u64 + 1, line.clone(), before, after));
                }
            }
        }
        let answer = find(root.path(), json!({
            "query": query, "caseSensitive": !folds, "includeHidden": hidden, "includeIgnored": true,
            "maxResults": max, "context": context,
        }));
        prop_assert_eq!(answer.tally.total, expected.len() as u64);
        let found: Vec<_> = answer.found.into_iter().flat_map(|(path, found)| {
            let path = String::from_utf8(path).unwrap();
            found.into_iter().map(move |found| (path.clone(), found.line, found.text, found.before, found.after))
        }).collect();
        expected.truncate(max);
        prop_assert_eq!(found, expected);
    }
}
