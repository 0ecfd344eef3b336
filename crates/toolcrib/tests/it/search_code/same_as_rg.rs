//! The same matches as the real `rg`, on a tree that has everything ignore files, encodings and links can do, and on this project.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use toolcrib::Registry;

use super::{registry, search, write};

/// A line as both tell it: path, number, column if it matches, and text.
type Line = (String, u64, Option<u64>, String);

/// Whether this `rg` knows what anchored rules above the searched directory are about: before version 15 it took `a/b` in the root for
/// another path when `a` was searched.
fn reads_rules_above() -> bool {
    let output = Command::new("rg").arg("--version").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let major = text.split([' ', '.']).nth(1).unwrap();
    major.parse::<u32>().unwrap() >= 15
}

/// Whether `rg` is here. A test without it says so.
fn has_rg() -> bool {
    let is_there = Command::new("rg").arg("--version").output().is_ok();
    if !is_there {
        crate::skipped(format_args!("`rg` is not installed"));
    }
    is_there
}

/// What `rg` finds.
fn rg(root: &Path, words: &[&str], query: &str, path: &str) -> BTreeSet<Line> {
    let output = Command::new("rg")
        .args(["--json", "--no-config"])
        .args(words)
        .args(["-e", query, "--", path])
        .current_dir(root)
        .output()
        .unwrap();
    assert!(
        !output.stdout.is_empty(),
        "{words:?} {query}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = |value: &Value| match value["text"].as_str() {
        Some(text) => text.to_owned(),
        None => {
            use base64::Engine as _;
            let bytes = value["bytes"].as_str().unwrap();
            let bytes = base64::engine::general_purpose::STANDARD.decode(bytes);
            String::from_utf8_lossy(&bytes.unwrap()).into_owned()
        }
    };
    let mut lines = BTreeSet::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let message: Value = serde_json::from_str(line).unwrap();
        let data = &message["data"];
        let matches = match message["type"].as_str() {
            Some("match") => true,
            Some("context") => false,
            _ => continue,
        };
        let path = text(&data["path"]);
        let path = path.strip_prefix("./").unwrap_or(&path);
        let shown = text(&data["lines"]);
        let shown = shown.strip_suffix('\n').unwrap_or(&shown);
        let column = data["submatches"][0]["start"]
            .as_u64()
            .map(|start| start + 1);
        let number = data["line_number"].as_u64().unwrap();
        for (index, shown) in shown.split('\n').enumerate() {
            let shown = shown.strip_suffix('\r').unwrap_or(shown).to_owned();
            let column = column.filter(|_| matches && index == 0);
            lines.insert((path.to_owned(), number + index as u64, column, shown));
        }
    }
    lines
}

/// What the tool finds, and whether that is all there is. If it is not, lines around matches are left out.
async fn ours(registry: &Registry, mut arguments: Value) -> (BTreeSet<Line>, Option<u64>) {
    arguments["maxResults"] = json!(1000);
    let outcome = search(registry, arguments.clone()).await;
    let value = outcome
        .value()
        .unwrap_or_else(|| panic!("{arguments}: {outcome:?}"));
    let found = value["matches"].as_array().unwrap();
    let is_all = value["total"] == found.len();
    assert_eq!(value["truncated"], !is_all, "{arguments}");
    let mut lines = BTreeSet::new();
    let mut around = BTreeSet::new();
    for found in found {
        let path = found["path"].as_str().unwrap();
        let number = found["line"].as_u64().unwrap();
        let text = found["text"].as_str().unwrap();
        for (index, text) in text.split('\n').enumerate() {
            let text = text.strip_suffix('\r').unwrap_or(text).to_owned();
            let column = found["column"].as_u64().filter(|_| index == 0);
            lines.insert((path.to_owned(), number + index as u64, column, text));
        }
        let last = found["lastLine"].as_u64().unwrap_or(number);
        let texts = |key: &str| {
            let texts = found[key].as_array().cloned().unwrap_or_default();
            texts
                .into_iter()
                .map(|text| text.as_str().unwrap().to_owned())
        };
        let before = texts("before").len() as u64;
        around.extend(
            (number - before..)
                .zip(texts("before"))
                .map(|(number, text)| (path.to_owned(), number, text)),
        );
        around.extend(
            (last + 1..)
                .zip(texts("after"))
                .map(|(number, text)| (path.to_owned(), number, text)),
        );
    }
    let matching: BTreeSet<(String, u64)> =
        lines.iter().map(|line| (line.0.clone(), line.1)).collect();
    let around = around
        .into_iter()
        .filter(|(path, number, _)| !matching.contains(&(path.clone(), *number)));
    lines.extend(around.map(|(path, number, text)| (path, number, None, text)));
    if is_all {
        return (lines, None);
    }
    lines.retain(|line| line.2.is_some());
    (lines, value["total"].as_u64())
}

/// What differs, if something does. Of more than is shown, the first must be the same, and the count.
fn difference(
    (ours, total): &(BTreeSet<Line>, Option<u64>),
    theirs: &BTreeSet<Line>,
    what: &str,
) -> Option<String> {
    let mut theirs = theirs.clone();
    if let Some(total) = *total {
        theirs.retain(|line| line.2.is_some());
        if theirs.len() as u64 != total {
            return Some(format!("{what}: rg has {}, we have {total}", theirs.len()));
        }
        theirs = theirs.into_iter().take(ours.len()).collect();
    }
    // Long lines are cut, on purpose.
    let is_whole = |line: &&Line| line.3.len() <= 500 && !line.3.contains('…');
    let missing: Vec<_> = theirs.difference(ours).filter(is_whole).take(5).collect();
    let surplus: Vec<_> = ours.difference(&theirs).filter(is_whole).take(5).collect();
    let is_same = missing.is_empty() && surplus.is_empty();
    (!is_same).then(|| format!("{what}:\n    rg has {missing:?}\n    we have {surplus:?}"))
}

#[track_caller]
fn assert_same(ours: &(BTreeSet<Line>, Option<u64>), theirs: &BTreeSet<Line>, what: &str) {
    if let Some(difference) = difference(ours, theirs, what) {
        panic!("{difference}");
    }
}

/// A repository beneath a directory with its own rules, with everything in it.
fn hostile_tree(outer: &Path) -> std::path::PathBuf {
    let root = outer.join("project/work");
    write(outer, ".ignore", "above-ignored\n");
    write(outer, ".rgignore", "above-rgignored\n");
    write(outer, ".gitignore", "outside-of-the-repository\n");
    fs::create_dir_all(outer.join("project/.git/info")).unwrap();
    write(
        outer,
        "project/.gitignore",
        "*.tmp\n/work/anchored\nparent-ignored/\n",
    );
    write(outer, "project/.git/info/exclude", "excluded-by-parent\n");
    let names = [
        "a.rs",
        "b.py",
        "c.md",
        "d.txt",
        "Makefile",
        "above-ignored",
        "above-rgignored",
        "outside-of-the-repository",
        "x.tmp",
        "keep.tmp",
        "anchored",
        "sub/anchored",
        "parent-ignored/f",
        "excluded-by-parent",
        ".hidden",
        ".hidden-dir/f",
        "kept/.hidden",
        "sub/.gitignored",
        "sub/one.log",
        "sub/two.log",
        "sub/deep/one.log",
        "sub/deep/three.log",
        "build/out.o",
        "build/keep/out.o",
        "sub/build/out.o",
        "nested/repo/x.tmp",
        "nested/repo/own",
        "nested/repo/excluded",
        "nested/plain/x.tmp",
        "rg/a",
        "rg/b",
        "rg/c",
        "glob[1]",
        "glob1",
        "star*",
        "sp ace ",
        "-dash",
        "dir/sub/leaf.rs",
        "dir/leaf.rs",
        "dir/leaf.RS",
        "é/ü.rs",
    ];
    for (number, name) in names.iter().enumerate() {
        let text = format!(
            "first {name}\nneedle {number} Needle NEEDLE\nconcat needles\n\ttab needle\nlast line {number}"
        );
        write(&root, name, text);
    }
    write(
        &root,
        ".gitignore",
        "build/*\n!build/keep\n# comment\n\\#literal\n!keep.tmp\nsp ace\\ \n[unclosed\n**/deep/*.log\n",
    );
    write(&root, "sub/.gitignore", "*.log\n!two.log\n.gitignored\n");
    write(&root, "kept/.ignore", "!.hidden\n");
    write(&root, "rg/.gitignore", "a\nb\nc\n");
    write(&root, "rg/.ignore", "!b\n!c\n");
    write(&root, "rg/.rgignore", "c\n");
    fs::create_dir_all(root.join("nested/repo/.git/info")).unwrap();
    write(&root, "nested/repo/.git/info/exclude", "excluded\n");
    write(&root, "nested/repo/.git/HEAD", "needle\n");
    let utf16 = |text: &str, big: bool| {
        let mut bytes = if big {
            vec![0xfe, 0xff]
        } else {
            vec![0xff, 0xfe]
        };
        for unit in text.encode_utf16() {
            bytes.extend(if big {
                unit.to_be_bytes()
            } else {
                unit.to_le_bytes()
            });
        }
        bytes
    };
    write(
        &root,
        "enc/utf16le.txt",
        utf16("first\nneedle in UTF-16 é\nlast\n", false),
    );
    write(
        &root,
        "enc/utf16be.txt",
        utf16("first\r\nneedle in UTF-16 ü\r\nlast\r\n", true),
    );
    write(
        &root,
        "enc/utf8bom.txt",
        "\u{feff}needle after a mark\nlast\n",
    );
    write(
        &root,
        "enc/latin1.txt",
        b"caf\xe9 needle\n\xff\xfe needle \xff\nlast\n",
    );
    write(&root, "enc/crlf.txt", "one\r\nneedle\r\nend needle\r\n\r\n");
    write(&root, "enc/cr.txt", "one\rneedle\rlast");
    write(&root, "enc/empty.txt", "");
    write(&root, "enc/newlines.txt", "\n\n\nneedle\n\n\n");
    write(&root, "enc/nul_early.bin", b"needle\n\0needle\n");
    write(
        &root,
        "enc/nul_late.bin",
        [
            b"needle\n".as_slice(),
            &b"filler line\n".repeat(7_000),
            b"needle\0\nneedle\n",
        ]
        .concat(),
    );
    write(
        &root,
        "enc/large.txt",
        [
            b"needle\n".as_slice(),
            &b"filler line\n".repeat(7_000),
            b"needle at the end",
        ]
        .concat(),
    );
    let exact = [&b"needle\n"[..], &vec![b'y'; 64 * 1024 - 14], b"\nneedle"].concat();
    write(&root, "enc/exactly_64k.txt", &exact[..64 * 1024]);
    write(&root, "enc/dos_eof.txt", "needle\r\n\x1a");
    symlink("a.rs", root.join("link-to-file")).unwrap();
    symlink("dir", root.join("link-to-dir")).unwrap();
    symlink("..", root.join("dir/loop")).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    symlink("/etc", root.join("outside")).unwrap();
    let name = std::ffi::OsStr::from_bytes(b"not-\xff-text");
    fs::write(root.join(name), "needle\n").unwrap();
    root
}

/// Words for `rg`, arguments for us, query, path.
fn questions() -> Vec<(Vec<&'static str>, Value, &'static str, &'static str)> {
    let mut questions = vec![
        (vec!["-F"], json!({}), "needle", "."),
        (vec!["-F"], json!({}), "needle", "sub"),
        (vec!["-F"], json!({}), "needle", "build"),
        (vec!["-F"], json!({}), "needle", "build/out.o"),
        (vec!["-F"], json!({}), "needle", "nested/repo"),
        (vec!["-F"], json!({}), "needle", ".hidden-dir"),
        (vec!["-F"], json!({}), "needle", ".hidden"),
        (vec!["-F"], json!({}), "needle", "parent-ignored"),
        (vec!["-F"], json!({}), "needle", "enc/crlf.txt"),
        (vec!["-F"], json!({}), "no such text anywhere", "."),
        (vec!["-F"], json!({}), "e", "enc"),
        (vec!["-F"], json!({}), "-d", "."),
        (
            vec!["-F", "-i"],
            json!({"caseSensitive": false}),
            "NEEDLE",
            ".",
        ),
        (vec!["-F", "-w"], json!({"wholeWord": true}), "needle", "."),
        (
            vec!["-F", "-w", "-i"],
            json!({"wholeWord": true, "caseSensitive": false}),
            "Needle",
            ".",
        ),
        (
            vec!["-F", "--hidden"],
            json!({"includeHidden": true}),
            "needle",
            ".",
        ),
        (
            vec!["-F", "--no-ignore"],
            json!({"includeIgnored": true}),
            "needle",
            ".",
        ),
        (
            vec!["-F", "--no-ignore", "--hidden"],
            json!({"includeIgnored": true, "includeHidden": true}),
            "needle",
            ".",
        ),
        (
            vec!["-F", "-g", "*.rs"],
            json!({"glob": "*.rs"}),
            "needle",
            ".",
        ),
        (
            vec!["-F", "-g", "*.rs"],
            json!({"glob": "*.rs"}),
            "needle",
            "dir",
        ),
        (
            vec!["-F", "-g", "!*.rs"],
            json!({"glob": ["!*.rs"]}),
            "needle",
            ".",
        ),
        (
            vec!["-F", "-g", "*.{rs,py}", "-g", "!dir/**"],
            json!({"glob": ["*.{rs,py}", "!dir/**"]}),
            "needle",
            ".",
        ),
        (
            vec!["-F", "-g", "/dir/*.rs"],
            json!({"glob": "/dir/*.rs"}),
            "needle",
            ".",
        ),
        (
            vec!["-F", "-g", "dir/**"],
            json!({"glob": "dir/**"}),
            "needle",
            ".",
        ),
        (
            vec!["-F", "-g", "*.tmp"],
            json!({"glob": "*.tmp"}),
            "needle",
            ".",
        ),
        (
            vec!["-F", "-g", ".hidden"],
            json!({"glob": ".hidden"}),
            "needle",
            ".",
        ),
        (
            vec!["-F", "-g", "build/"],
            json!({"glob": "build/"}),
            "needle",
            ".",
        ),
        (
            vec!["-F", "-t", "rust"],
            json!({"type": "rust"}),
            "needle",
            ".",
        ),
        (
            vec!["-F", "-t", "rust", "-t", "py"],
            json!({"type": ["rust", "py"]}),
            "needle",
            ".",
        ),
        (
            vec!["-F", "-T", "rust"],
            json!({"type": "!rust"}),
            "needle",
            ".",
        ),
        (
            vec!["-F", "-t", "make"],
            json!({"type": "make"}),
            "needle",
            ".",
        ),
        (
            vec!["-F", "-t", "rust", "-g", "!dir"],
            json!({"type": "rust", "glob": "!dir"}),
            "needle",
            ".",
        ),
    ];
    for pattern in [
        "needle",
        r"^needle",
        r"needle$",
        r"needle\r?$",
        r"^$",
        r"^\s*$",
        r"\bneedles?\b",
        r"(?i)needle \d+ needle",
        "n..dle",
        r"\p{Lu}eedle",
        r"[^\x00-\x7f]",
        r"needle|last",
        r"^(first|last)",
        r"\t",
        r"a*",
        r"é|ü",
        r"\d{1,2}",
        r"(?-u:\xff)",
        r"needle\z",
        "first|concat n",
    ] {
        questions.push((vec![], json!({"regex": true}), pattern, "."));
    }
    for (context, words) in [(1, "1"), (2, "2"), (7, "7"), (20, "20")] {
        questions.push((
            vec!["-F", "-C", words],
            json!({"context": context}),
            "needle",
            ".",
        ));
        questions.push((
            vec!["-C", words],
            json!({"context": context, "regex": true}),
            r"^(last|concat)",
            ".",
        ));
    }
    questions.push((
        vec!["-U"],
        json!({"regex": true, "multiline": true}),
        r"needle\nlast",
        ".",
    ));
    questions.push((
        vec!["-U"],
        json!({"regex": true, "multiline": true}),
        r"first .*\nneedle \d+",
        ".",
    ));
    questions.push((
        vec!["-U", "-C", "1"],
        json!({"regex": true, "multiline": true, "context": 1}),
        r"NEEDLE\nconcat",
        ".",
    ));
    questions
}

#[tokio::test]
async fn the_same_lines_are_found_as_by_rg() {
    if !has_rg() {
        return;
    }
    let outer = tempfile::tempdir().unwrap();
    let root = hostile_tree(outer.path());
    let registry = registry(&root);
    let (mut found, mut differences) = (0, Vec::new());
    for (words, mut arguments, query, path) in questions() {
        if path == "build" && !reads_rules_above() {
            continue;
        }
        arguments["query"] = json!(query);
        arguments["path"] = json!(path);
        let theirs = rg(&root, &words, query, path);
        let ours = ours(&registry, arguments.clone()).await;
        differences.extend(difference(&ours, &theirs, &arguments.to_string()));
        found += ours.0.len();
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(found > 3000, "{found}");
}

/// Outside of a repository `.gitignore` says nothing.
#[tokio::test]
async fn git_rules_count_in_repositories_only_as_for_rg() {
    if !has_rg() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    for path in [
        "a",
        "b",
        "c",
        "sub/a",
        "sub/b",
        "sub/c",
        "repo/a",
        "repo/b",
        "repo/c",
        "repo/in/a",
    ] {
        write(root.path(), path, "needle\n");
    }
    write(root.path(), ".gitignore", "a\n");
    write(root.path(), ".ignore", "b\n");
    write(root.path(), "repo/.gitignore", "c\n");
    write(root.path(), "repo/.git", "gitdir: /nowhere\n");
    let registry = registry(root.path());
    for path in [".", "sub", "repo", "repo/in"] {
        let theirs = rg(root.path(), &["-F"], "needle", path);
        let ours = ours(&registry, json!({"query": "needle", "path": path})).await;
        assert_same(&ours, &theirs, path);
        assert!(!ours.0.is_empty());
    }
}

/// Random rules on random names: whatever they mean, they mean the same.
#[tokio::test]
async fn random_ignore_files_mean_what_they_mean_to_rg() {
    if !has_rg() {
        return;
    }
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut below = |count: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % count as u64).unwrap()
    };
    let names = ["a", "b", "ab", "a.x", "b.x", ".a", "c"];
    let patterns = [
        "a", "b/", "/a", "*.x", "!a", "!*.x", "**/b", "a/b", "a/**", "!a/b", "/a/", "?b", "[ab]",
        "!.a", ".*", "*", "!*/", "!/b", "a*", "**/a/c", "\\!a",
    ];
    for round in 0..60 {
        let root = tempfile::tempdir().unwrap();
        for _ in 0..25 {
            let depth = 1 + below(3);
            let path: Vec<&str> = (0..depth).map(|_| names[below(names.len())]).collect();
            let path = root.path().join(path.join("/"));
            if fs::create_dir_all(path.parent().unwrap()).is_ok() && !path.exists() {
                let _ = fs::write(path, "needle\n");
            }
        }
        let mut dirs = vec![root.path().to_owned()];
        let mut next = 0;
        while next < dirs.len() {
            let dir = dirs[next].clone();
            next += 1;
            dirs.extend(
                fs::read_dir(&dir)
                    .unwrap()
                    .map(|entry| entry.unwrap().path())
                    .filter(|path| path.is_dir()),
            );
        }
        for dir in &dirs {
            for file in [".gitignore", ".ignore", ".rgignore"] {
                if below(3) == 0 {
                    let rules: Vec<&str> = (0..1 + below(3))
                        .map(|_| patterns[below(patterns.len())])
                        .collect();
                    fs::write(dir.join(file), rules.join("\n")).unwrap();
                }
            }
            if below(4) == 0 {
                fs::create_dir_all(dir.join(".git/info")).unwrap();
                fs::write(
                    dir.join(".git/info/exclude"),
                    patterns[below(patterns.len())],
                )
                .unwrap();
            }
        }
        let registry = registry(root.path());
        for path in [".", "a", "b", "a/b"] {
            if !root.path().join(path).is_dir() || (path != "." && !reads_rules_above()) {
                continue;
            }
            for (words, arguments) in [
                (vec!["-F"], json!({})),
                (vec!["-F", "--hidden"], json!({"includeHidden": true})),
            ] {
                let mut arguments = arguments;
                arguments["query"] = json!("needle");
                arguments["path"] = json!(path);
                let theirs = rg(root.path(), &words, "needle", path);
                let ours = ours(&registry, arguments.clone()).await;
                let what = format!("round {round} {arguments}");
                assert_same(&ours, &theirs, &what);
            }
        }
    }
}

/// This project: thousands of files, real rules.
#[tokio::test]
async fn the_same_lines_are_found_in_this_project_as_by_rg() {
    if !has_rg() {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap();
    let registry = registry(&root);
    for (words, arguments, query) in [
        (vec!["-F"], json!({}), "blocking_until_stopped"),
        (vec!["-F", "-i"], json!({"caseSensitive": false}), "openat2"),
        (
            vec!["-w"],
            json!({"regex": true, "wholeWord": true}),
            r"unsafe \w+",
        ),
        (
            vec!["-t", "toml"],
            json!({"regex": true, "type": "toml"}),
            r"^\[[a-z.]+\]$",
        ),
        (
            vec!["-F", "-g", "*.rs", "-C", "3"],
            json!({"glob": "*.rs", "context": 3}),
            "RESOLVE_BENEATH",
        ),
        (
            vec!["--hidden", "-g", "!.git"],
            json!({"regex": true, "includeHidden": true, "glob": "!.git"}),
            r"fn \w*link",
        ),
    ] {
        let mut arguments = arguments;
        arguments["query"] = json!(query);
        arguments["path"] = json!("crates");
        let theirs = rg(&root, &words, query, "crates");
        let ours = ours(&registry, arguments.clone()).await;
        assert!(ours.0.len() > 3, "{arguments}");
        assert_same(&ours, &theirs, &arguments.to_string());
    }
}
