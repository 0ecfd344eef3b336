//! The commands shown in the README run, and print what it shows.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// The blocks of one language, each with the line it starts on.
fn blocks(text: &str, language: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (number, line) in text.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (Some(_), Some(_)) => found.extend(open.take()),
            (Some((_, block)), None) => {
                block.push_str(line);
                block.push('\n');
            }
            (None, Some(fence)) if fence == language => open = Some((number + 2, String::new())),
            (None, Some(_)) => open = Some((0, String::new())),
            (None, None) => {}
        }
    }
    found.into_iter().filter(|(line, _)| *line > 0).collect()
}

/// Whether a line is as expected; `[..]` stands for anything.
fn fits(expected: &str, actual: &str) -> bool {
    let mut parts = expected.split("[..]");
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = actual.strip_prefix(first) else {
        return false;
    };
    let mut last = None;
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
        last = Some(part);
    }
    last.is_some_and(str::is_empty) || rest.is_empty()
}

#[test]
fn the_tour_prints_what_it_shows() {
    let home = tempfile::tempdir().unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_toolcrib"));
    let path = format!("{}:/usr/bin:/bin", binary.parent().unwrap().display());
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let mut commands = 0;
    for (line, block) in blocks(&readme, "console") {
        for part in block.split("$ ").skip(1) {
            let (command, expected) = part.split_once('\n').unwrap();
            let ran = Command::new("bash")
                .args(["-c", &format!("{{ {command}\n}} 2>&1")])
                .current_dir(root())
                .env_clear()
                .env("PATH", &path)
                .env("HOME", home.path())
                .env("TOOLCRIB_HOME", home.path().join("home"))
                .output()
                .unwrap();
            let actual = String::from_utf8(ran.stdout).unwrap();
            let same = expected.lines().count() == actual.lines().count()
                && expected
                    .lines()
                    .zip(actual.lines())
                    .all(|(expected, actual)| fits(expected, actual.trim_end()));
            assert!(
                same,
                "README.md:{line}: $ {command}\n--- it says\n{expected}--- it prints\n{actual}"
            );
            commands += 1;
        }
    }
    assert!(commands >= 8, "the tour was not found");
}

#[test]
fn the_two_commands_are_what_ci_and_people_run() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let shell: Vec<String> = blocks(&readme, "sh")
        .into_iter()
        .map(|(_, block)| block.trim().to_owned())
        .collect();
    let [run, test] = shell.as_slice() else {
        panic!("the README has two commands: {shell:?}")
    };
    // The first, with the binary that is built already.
    let words: Vec<&str> = run
        .strip_prefix("cargo run --release -- ")
        .unwrap()
        .split_whitespace()
        .collect();
    let home = tempfile::tempdir().unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_toolcrib"))
        .args(words)
        .current_dir(root())
        .env("TOOLCRIB_HOME", home.path())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(ran.stdout).unwrap(), readme);
    // The second is this very run: CI calls it and nothing else.
    let ci = std::fs::read_to_string(root().join(".ci/run")).unwrap();
    assert!(
        ci.lines().any(|line| line == format!("exec {test}")),
        "{ci}"
    );
}
