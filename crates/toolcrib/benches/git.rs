//! What `git_status` costs beside `git status --porcelain` on the same tree: `cargo bench -p toolcrib --bench git`; with `-- --check` it
//! ends with 1 where the target is missed.
//!
//! Rounds are interleaved and ratios are within one run, because machines differ and are noisy. One call is the whole pipeline.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use toolcrib::RegisterBuiltins as _;

use toolcrib::workspace::Workspace;
use toolcrib::{CallRequest, Registry};

/// How many times what git itself takes a call may take.
const TARGET: f64 = 1.5;

fn main() -> ExitCode {
    let is_given = |wanted: &str| std::env::args().any(|word| word == wanted);
    // `cargo test --benches` runs this too: once through is enough to see that it works.
    let quick = !is_given("--bench");
    let (files, rounds) = if quick { (200, 3) } else { (10_000, 100) };
    if Command::new("git").arg("--version").output().is_err() {
        println!("SKIPPED: there is no program `git`");
        return ExitCode::SUCCESS;
    }
    let directory = tempfile::tempdir().expect("a directory");
    repository(directory.path(), files);
    let workspace = Workspace::open(directory.path()).expect("a directory just made");
    let registry = Registry::builder().workspace(workspace).build();
    registry.register_builtins().expect("an empty registry");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let (mut plain, mut warm, mut cold) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        plain.push(timed(|| {
            let output = git(directory.path(), &["status", "--porcelain"]);
            assert_eq!(output.iter().filter(|byte| **byte == b'\n').count(), 3);
        }));
        // Time for the next sandbox to be set up, as a model's thinking would give.
        std::thread::sleep(Duration::from_millis(4));
        warm.push(timed(|| runtime.block_on(call(&registry))));
        std::thread::sleep(Duration::from_millis(4));
        if round % 10 == 0 {
            let fresh = Registry::builder()
                .workspace(Workspace::open(directory.path()).expect("a directory"))
                .build();
            fresh.register_builtins().expect("an empty registry");
            cold.push(timed(|| runtime.block_on(call(&fresh))));
        }
    }
    println!(
        "git_status of {files} files, through the whole pipeline, {rounds} interleaved rounds\n"
    );
    let ratio = report(&mut [
        ("git status --porcelain", plain),
        ("git_status, warm", warm),
        ("git_status, first call", cold),
    ]);
    if ratio > TARGET && !quick {
        eprintln!(
            "\nmissed: git_status takes {ratio:.2} times what git takes; the target is {TARGET}"
        );
        if is_given("--check") {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// A repository of so many files, with one changed, one staged and one that is new.
fn repository(directory: &Path, files: usize) {
    git(
        directory,
        &["init", "--quiet", "--initial-branch=main", "."],
    );
    for number in 0..files {
        let place = directory.join(format!("src/part{}/module{}", number % 50, number % 7));
        std::fs::create_dir_all(&place).expect("a directory");
        let text = format!("file {number}\n").repeat(20);
        std::fs::write(place.join(format!("file{number}.txt")), text).expect("a file");
    }
    git(directory, &["add", "--all"]);
    git(directory, &["commit", "--quiet", "-m", "all"]);
    let change = |number: usize| {
        let place = format!(
            "src/part{}/module{}/file{number}.txt",
            number % 50,
            number % 7
        );
        std::fs::write(directory.join(place), "changed\n").expect("a file");
    };
    change(1);
    git(directory, &["add", "--all"]);
    change(2);
    std::fs::write(directory.join("new.txt"), "new\n").expect("a file");
    // So that the index knows the files' times, and both read no content.
    std::thread::sleep(Duration::from_millis(1100));
    git(directory, &["status"]);
}

fn git(directory: &Path, words: &[&str]) -> Vec<u8> {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=Bench",
            "-c",
            "user.email=bench@example.com",
        ])
        .args(["-c", "gc.auto=0"])
        .args(words)
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .expect("git is there");
    assert!(output.status.success(), "git {words:?}");
    output.stdout
}

async fn call(registry: &Registry) {
    let outcome = registry.execute(CallRequest::new("git_status")).await;
    let value = outcome.value().unwrap_or_else(|| panic!("{outcome:?}"));
    assert_eq!(value["entries"].as_array().map(Vec::len), Some(3));
}

/// Prints times beside those of the first; the ratio of the second's median to the first's.
fn report(named: &mut [(&str, Vec<Duration>)]) -> f64 {
    for (_, times) in named.iter_mut() {
        times.sort();
    }
    let of = |times: &[Duration]| (times[0], times[times.len() / 2]);
    let (plain_least, plain_middle) = of(&named[0].1);
    for (name, times) in named.iter() {
        let (least, middle) = of(times);
        println!(
            "{name:24} least {least:>9.1?} ({:.2}x)   median {middle:>9.1?} ({:.2}x)",
            least.as_secs_f64() / plain_least.as_secs_f64(),
            middle.as_secs_f64() / plain_middle.as_secs_f64(),
        );
    }
    of(&named[1].1).1.as_secs_f64() / plain_middle.as_secs_f64()
}

fn timed(work: impl FnOnce()) -> Duration {
    let started = Instant::now();
    work();
    started.elapsed()
}
