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

/// The words of a line, with those that differ from run to run replaced by what they are.
fn words(line: &str) -> Vec<&str> {
    let kind = |word| match word {
        word if toolcrib::ToolId::parse(word).is_ok() => "ID",
        word if word.parse::<f64>().is_ok() => "NUMBER",
        word if word.starts_with("20") && word.len() == 10 => "DATE",
        word if word.len() == 8 && word.matches(':').count() == 2 => "TIME",
        word => word,
    };
    line.split_whitespace().map(kind).collect()
}

/// Whether a line is as expected: the same, or the same but for times, ids and figures.
fn fits(expected: &str, actual: &str) -> bool {
    expected == actual
        || (expected.contains("20") && words(expected) == words(actual))
        || is_heading(expected, actual)
}

/// The columns under a heading may be wider or narrower by a figure.
fn is_heading(expected: &str, actual: &str) -> bool {
    expected.starts_with("TIME (UTC)") && words(expected) == words(actual)
}

#[test]
fn the_tour_prints_what_it_shows() {
    let home = tempfile::tempdir().unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_toolcrib"));
    let path = format!("{}:/usr/bin:/bin", binary.parent().unwrap().display());
    let mut commands = 0;
    for (page, (line, block)) in ["README.md", "docs/rules.md"].into_iter().flat_map(|page| {
        let text = std::fs::read_to_string(root().join(page)).unwrap();
        blocks(&text, "console")
            .into_iter()
            .map(move |block| (page, block))
    }) {
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
                "{page}:{line}: $ {command}\n--- it says\n{expected}--- it prints\n{actual}"
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
