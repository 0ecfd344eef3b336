//! Random scripts, read and really run: whatever bash starts must have been listed, unless there was a doubt.
//!
//! Programs are stubs that write down where they run and their words. `TOOLCRIB_SHELL_CASES=100000` tries more scripts than the
//! usual few hundred; `TOOLCRIB_SHELL_TEXTS=file` tries the texts of a file, with `---` lines between them.

use std::cell::Cell;
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use toolcrib::shell::{self, Directory, Part, Script, SimpleCommand, Word};

use super::scripts;

/// Programs that run as they are; they find only stubs.
const REAL: &[&str] = &[
    "sh", "bash", "env", "timeout", "nice", "nohup", "xargs", "find", "setsid", "stdbuf", "cat",
    "true", "false", "awk", "mawk", "gawk", "sed", "make", "git", "tar", "script", "flock", "perl",
    "python3", "sort", "split", "chrt", "taskset", "ionice", "m4", "node", "tee", "mkdir", "touch",
    "mktemp", "ln", "kill", "sleep",
];
const STUBS: &[&str] = &["zap", "burn", "wipe", "pow"];

/// A program that was started: where, and with which words.
#[derive(Debug, Clone, PartialEq)]
struct Run {
    directory: String,
    words: Vec<String>,
}

/// A directory with stubs, a place to run in, and what the stubs wrote down.
struct Yard {
    _directory: tempfile::TempDir,
    base: PathBuf,
    runs: Cell<usize>,
}

impl Yard {
    fn new() -> Yard {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().to_path_buf();
        let bin = base.join("bin");
        std::fs::create_dir(&bin).unwrap();
        for name in REAL {
            let real = ["/usr/bin", "/bin"]
                .iter()
                .map(|place| Path::new(place).join(name))
                .find(|path| path.exists());
            if let Some(real) = real {
                symlink(real, bin.join(name)).unwrap();
            }
        }
        for name in STUBS {
            let text = "#!/bin/sh\nprintf '%s\\0' \"$(/bin/pwd -P)\" \"${0##*/}\" \"$@\" '<end>' >> \"$YARD_LOG\"\n";
            let path = bin.join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let handler = "command_not_found_handle() { printf '%s\\0' \"$(/bin/pwd -P)\" \"$@\" '<end>' >> \"$YARD_LOG\"; return 127; }\n";
        std::fs::write(base.join("rc"), handler).unwrap();
        Yard {
            _directory: directory,
            base,
            runs: Cell::new(0),
        }
    }

    /// Runs a script by bash; what it started, or `None` when it took too long.
    fn run(&self, script: &str) -> Option<Vec<Run>> {
        // A separate one, since processes that a script leaves behind may still be writing.
        self.runs.set(self.runs.get() + 1);
        let log = self.base.join(format!("log{}", self.runs.get()));
        let _ = std::fs::remove_dir_all(self.base.join("w"));
        let place = self.place();
        std::fs::create_dir_all(place.join("sub")).unwrap();
        std::fs::write(place.join("in"), "one\ntwo\n").unwrap();
        let mut child = self
            .bash(&place)
            .env("BASH_ENV", self.base.join("rc"))
            .env("YARD_LOG", &log)
            .args(["-c", "--", script])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The pipe is closed when the last of its processes has ended.
        let mut errors = child.stderr.take().unwrap();
        let (sender, ended) = mpsc::channel();
        std::thread::spawn(move || {
            let _ = errors.read_to_end(&mut Vec::new());
            let _ = sender.send(());
        });
        let in_time = ended.recv_timeout(Duration::from_secs(5)).is_ok();
        if !in_time {
            child.kill().unwrap();
        }
        child.wait().unwrap();
        if !in_time {
            return None;
        }
        let log = std::fs::read(&log).unwrap_or_default();
        let _ = std::fs::remove_file(self.base.join(format!("log{}", self.runs.get())));
        let mut runs = Vec::new();
        let mut words = Vec::new();
        for word in log.split(|byte| *byte == 0) {
            let word = String::from_utf8_lossy(word).into_owned();
            if word == "<end>" {
                let mut run: Vec<String> = std::mem::take(&mut words);
                let directory = run.remove(0);
                // The lines of a file run as a script, which no text could tell; and what a shell that reads its
                // commands from its input finds there when a function is called too often, which only happens here.
                if !matches!(
                    run.first().map(String::as_str),
                    Some("one" | "two" | "here")
                ) {
                    runs.push(Run {
                        directory,
                        words: run,
                    });
                }
            } else {
                words.push(word);
            }
        }
        Some(runs)
    }

    /// Where scripts start: deep enough for a few `cd ..`.
    fn place(&self) -> PathBuf {
        self.base.join("w/w/w/w/w")
    }

    /// Whether a command ran where it was said to.
    fn is_at(&self, listed: &Directory, ran: &str) -> bool {
        let expected = match listed {
            Directory::Unknown => return true,
            Directory::Start => self.place(),
            Directory::Known(path) => match path.strip_prefix('~') {
                Some(rest) => self.base.join(rest.trim_start_matches('/')),
                None => self.place().join(path),
            },
        };
        expected
            .canonicalize()
            .is_ok_and(|path| path == Path::new(ran))
    }

    fn accepts(&self, script: &str) -> bool {
        let status = self
            .bash(&self.base)
            .args(["-n", "-c", "--", script])
            .status();
        status.unwrap().success()
    }

    fn bash(&self, place: &Path) -> Command {
        let mut command = Command::new("/bin/bash");
        command
            .env_clear()
            .env("PATH", self.base.join("bin"))
            .env("HOME", &self.base)
            .env("FUNCNEST", "4")
            .env("LC_ALL", "C.UTF-8")
            .current_dir(place)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }
}

/// Whether the words that ran fit the words that were listed.
fn fits(listed: &SimpleCommand, ran: &[String]) -> bool {
    let Some(name) = listed.name() else {
        return false;
    };
    let program = ran[0].rsplit('/').next().unwrap_or_default();
    // `bash zap` runs a file of that name, which shells look for among the programs, too.
    let runs_file = matches!(name, "sh" | "bash")
        && listed
            .words
            .iter()
            .any(|word| word.as_static() == Some(program));
    if runs_file {
        return true;
    }
    name == program && words_fit(&listed.words[1..], &ran[1..])
}

fn words_fit(listed: &[Word], ran: &[String]) -> bool {
    let Some((word, rest)) = listed.split_first() else {
        return ran.is_empty();
    };
    if let Some(text) = word.as_static() {
        return ran.first().is_some_and(|first| first == text) && words_fit(rest, &ran[1..]);
    }
    let many = word.splits || word.parts.iter().any(|part| matches!(part, Part::Glob(_)));
    if many {
        return (0..=ran.len()).any(|count| words_fit(rest, &ran[count..]));
    }
    ran.first()
        .is_some_and(|first| first.starts_with(word.literal_prefix()))
        && words_fit(rest, &ran[1..])
}

#[derive(Default, Debug)]
struct Counts {
    scripts: usize,
    doubted: usize,
    refused: usize,
    runs: usize,
    runs_without_doubt: usize,
    slow: usize,
    /// Scripts that bash parses and we call an error.
    misparsed: usize,
}

/// Problems with how a script was read.
fn complaint(yard: &Yard, text: &str, script: &Script, counts: &mut Counts) -> Option<String> {
    counts.scripts += 1;
    let doubted = !script.doubts.is_empty();
    counts.doubted += usize::from(doubted);
    if !yard.accepts(text) {
        counts.refused += 1;
        if !doubted {
            return Some("bash refuses it, and it was read without a doubt".to_owned());
        }
    } else if script.doubts.iter().any(|doubt| {
        doubt.reason.contains("missing")
            || doubt.reason.contains("does not expect")
            || doubt.reason.contains("never closed")
    }) {
        counts.misparsed += 1;
        if std::env::var_os("TOOLCRIB_SHELL_SHOW").is_some() {
            println!("misparsed: {text:?} {:?}", script.doubts);
        }
    }
    let Some(runs) = yard.run(text) else {
        counts.slow += 1;
        return None;
    };
    counts.runs += runs.len();
    if doubted {
        return None;
    }
    counts.runs_without_doubt += runs.len();
    let missing = runs.iter().find(|ran| {
        !script
            .commands
            .iter()
            .any(|listed| yard.is_at(&listed.directory, &ran.directory) && fits(listed, &ran.words))
    })?;
    Some(format!("bash ran {missing:?}, which was not listed"))
}

fn cases() -> usize {
    let wanted = std::env::var("TOOLCRIB_SHELL_CASES").ok();
    wanted.and_then(|text| text.parse().ok()).unwrap_or(200)
}

fn seed() -> [u8; 32] {
    let mut seed = [7; 32];
    if let Ok(text) = std::env::var("TOOLCRIB_SHELL_SEED") {
        let mut at = &mut seed[..];
        let _ = at.write_all(text.as_bytes());
    }
    seed
}

fn compare(strategy: impl Strategy<Value = String>, count: usize) -> Counts {
    let yard = Yard::new();
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed());
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut counts = Counts::default();
    let mut failures: Vec<String> = Vec::new();
    for _ in 0..count {
        let mut tree = strategy.new_tree(&mut runner).unwrap();
        let text = tree.current();
        let Some(mut reason) = complaint(&yard, &text, &shell::read(&text), &mut counts) else {
            continue;
        };
        // The smallest script that shows it.
        let mut smallest = text;
        let mut steps = 0;
        let mut moved = tree.simplify();
        while moved && steps < 300 {
            steps += 1;
            let text = tree.current();
            match complaint(&yard, &text, &shell::read(&text), &mut Counts::default()) {
                Some(again) => {
                    reason = again;
                    smallest = text;
                    moved = tree.simplify();
                }
                None => moved = tree.complicate(),
            }
        }
        failures.push(format!(
            "{smallest:?}: {reason}\n    {:?}",
            shell::read(&smallest)
                .commands
                .iter()
                .map(|command| command.words.clone())
                .collect::<Vec<_>>()
        ));
        if failures.len() >= 12 {
            break;
        }
    }
    println!("{counts:?}");
    assert!(failures.is_empty(), "{counts:?}\n{}", failures.join("\n"));
    counts
}

#[test]
fn what_bash_runs_was_listed_or_doubted() {
    let counts = compare(scripts::script(), cases());
    assert!(
        counts.runs_without_doubt * 5 > counts.scripts,
        "too little was tried: {counts:?}"
    );
}

#[test]
fn what_bash_runs_of_a_heap_of_signs_was_listed_or_doubted() {
    compare(scripts::soup(), cases());
}

#[test]
fn what_bash_runs_of_damaged_scripts_was_listed_or_doubted() {
    compare(scripts::damaged(), cases());
}

/// Texts by hand, of the case file and of a file that is named.
fn texts() -> Vec<String> {
    let mut texts: Vec<String> = include_str!("../../cases/shell-rules.jsonl")
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .filter(|case| case["id"].as_str().unwrap().starts_with("ODD-"))
        .map(|case| case["command"].as_str().unwrap().to_owned())
        .collect();
    if let Some(file) = std::env::var_os("TOOLCRIB_SHELL_TEXTS") {
        let file = std::fs::read_to_string(file).unwrap();
        texts.extend(file.split("\n---\n").map(str::to_owned));
    }
    texts
}

/// Problems with how some texts were read.
fn complaints(texts: &[String]) -> Vec<String> {
    let yard = Yard::new();
    let mut counts = Counts::default();
    let mut wrong = Vec::new();
    for text in texts {
        let script = shell::read(text);
        if let Some(reason) = complaint(&yard, text, &script, &mut counts) {
            let listed: Vec<_> = script
                .commands
                .iter()
                .map(|command| (&command.words, &command.directory))
                .collect();
            wrong.push(format!("{text:?}: {reason}\n    {listed:?}"));
        }
    }
    println!("{counts:?}");
    wrong
}

#[test]
fn what_bash_runs_of_odd_texts_was_listed_or_doubted() {
    let texts = texts();
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let parts = texts.chunks(texts.len().div_ceil(4).max(1));
        let running: Vec<_> = parts
            .map(|part| scope.spawn(move || complaints(part)))
            .collect();
        running
            .into_iter()
            .flat_map(|part| part.join().unwrap())
            .collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
