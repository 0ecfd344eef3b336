//! What it costs to start, run a built-in and end: `cargo bench -p toolcrib-cli --bench startup`.
//!
//! `toolcrib run read_file` beside `/bin/cat` of the same file, interleaved in one run. The target
//! is twice the time of `cat` plus 8 ms. `toolcrib hook` judges a command of another program: 12 ms at most.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn main() {
    let quick = !std::env::args().any(|word| word == "--bench");
    let rounds = if quick { 3 } else { 301 };
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("file.txt"), "x".repeat(10_000)).expect("a file");
    let event = dir.path().join("event.json");
    std::fs::write(&event, EVENT).expect("an event");
    let (mut cat, mut run, mut hook) = (Vec::new(), Vec::new(), Vec::new());
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
        hook.push(timed(
            Command::new(env!("CARGO_BIN_EXE_toolcrib"))
                .args(["hook", "claude-code"])
                .env("TOOLCRIB_HOME", dir.path().join("home"))
                .stdin(std::fs::File::open(&event).expect("the event"))
                .current_dir(&dir),
        ));
    }
    let (cat, run, hook) = (median(cat), median(run), median(hook));
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
    println!(
        "toolcrib hook            {hook:>10.2?}  {:.2}x of 12 ms used",
        hook.as_secs_f64() / 0.012
    );
}

/// A compound command, about which no rule of the standard set says anything.
const EVENT: &str = r#"{"session_id": "s", "hook_event_name": "PreToolUse", "permission_mode": "default", "tool_name": "Bash",
    "tool_input": {"command": "cd src && git status --short | head -20; npm run build 2>&1 | tail -5"}, "tool_use_id": "toolu_1"}"#;

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
