//! What it costs to start, run a built-in and end: `cargo bench -p toolcrib-cli --bench startup`.
//!
//! `toolcrib run read_file` beside `/bin/cat` of the same file, interleaved in one run. The target
//! is twice the time of `cat` plus 8 ms.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn main() {
    let quick = !std::env::args().any(|word| word == "--bench");
    let rounds = if quick { 3 } else { 301 };
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("file.txt"), "x".repeat(10_000)).expect("a file");
    let (mut cat, mut run) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        cat.push(timed(
            Command::new("/bin/cat").arg("file.txt").current_dir(&dir),
        ));
        run.push(timed(
            Command::new(env!("CARGO_BIN_EXE_toolcrib"))
                .args(["run", "read_file", "path=file.txt", "--workspace", "."])
                .env("TOOLCRIB_HOME", dir.path().join("home"))
                .current_dir(&dir),
        ));
    }
    let (cat, run) = (median(cat), median(run));
    let target = cat * 2 + Duration::from_millis(8);
    println!("/bin/cat                 {cat:>10.2?}");
    println!(
        "toolcrib run read_file   {run:>10.2?}  {:.2}x cat",
        run.as_secs_f64() / cat.as_secs_f64()
    );
    println!(
        "target: 2x cat + 8 ms    {target:>10.2?}  {:.2}x of it used",
        run.as_secs_f64() / target.as_secs_f64()
    );
}

fn timed(command: &mut Command) -> Duration {
    let start = Instant::now();
    let status = command.stdout(Stdio::null()).status().expect("it starts");
    assert!(status.success());
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
