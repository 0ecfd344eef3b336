//! What the wall costs, as ratios within one run, since machines are noisy.
//!
//! `cargo bench -p toolcrib-sandbox --bench spawn`. Without `--bench` (as `cargo test --benches` runs it) everything is
//! done a few times only, to see that it works. Bubblewrap is measured beside us where it is installed.

use std::{
    io::Read,
    path::Path,
    process,
    time::{Duration, Instant},
};
use toolcrib_sandbox::{Cancel, Command, Level, Policy, Prepared, Sandbox, Status};

/// Median and least of interleaved rounds, so that a noisy neighbour hits all alike.
fn interleaved(
    rounds: usize,
    contestants: &mut [(&str, Box<dyn FnMut() + '_>)],
) -> Vec<(Duration, Duration)> {
    let mut times = vec![Vec::with_capacity(rounds); contestants.len()];
    for _ in 0..rounds {
        for ((_, run), times) in contestants.iter_mut().zip(&mut times) {
            let began = Instant::now();
            run();
            times.push(began.elapsed());
        }
    }
    let summary = |mut times: Vec<Duration>| {
        times.sort();
        (times[0], times[times.len() / 2])
    };
    times.into_iter().map(summary).collect()
}

fn spawn_plain() {
    // The standard library uses posix_spawn for a command without hooks.
    let status = process::Command::new("/bin/true")
        .env_clear()
        .status()
        .expect("/bin/true runs");
    assert!(status.success());
}

fn spawn_walled(prepared: &Prepared, command: &Command, cancel: &Cancel) {
    let report = prepared.run(command, &mut |_, _| {}, cancel).expect("runs");
    assert_eq!(report.status, Status::Exited(0));
}

/// Bubblewrap with an allow-listed root and all namespaces: what `container` level gives.
fn bubblewrap(workspace: &Path) -> process::Command {
    let mut command = process::Command::new("bwrap");
    command.args([
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        "--cap-drop",
        "ALL",
        "--clearenv",
    ]);
    for path in toolcrib_sandbox::system_paths() {
        match path.read_link() {
            Ok(to) => command.arg("--symlink").arg(to).arg(&path),
            Err(_) => command.arg("--ro-bind").arg(&path).arg(&path),
        };
    }
    command.args([
        "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--bind",
    ]);
    command
        .arg(workspace)
        .arg(workspace)
        .arg("--chdir")
        .arg(workspace)
        .arg("/bin/true");
    command
}

fn spawning(title: &str, rounds: usize, workspace: &Path) {
    let sandbox = Sandbox::new().expect("a sandbox");
    let cancel = Cancel::new().expect("an event");
    let command = Command::new("/bin/true").env_clear();
    let prepare = |level| {
        sandbox
            .prepare(&Policy::new(level, workspace))
            .expect("prepared")
    };
    let ready = prepare(Level::Process);
    ready.keep_ready().expect("a sandbox ahead");
    let (fresh, container, contained) = (
        prepare(Level::Process),
        prepare(Level::Container),
        prepare(Level::Container),
    );
    contained.keep_ready().expect("a sandbox ahead");
    let mut contestants: Vec<(&str, Box<dyn FnMut() + '_>)> = vec![
        ("posix_spawn", Box::new(spawn_plain)),
        (
            "process, ready",
            Box::new(|| spawn_walled(&ready, &command, &cancel)),
        ),
        (
            "process, fresh",
            Box::new(|| spawn_walled(&fresh, &command, &cancel)),
        ),
        (
            "container, ready",
            Box::new(|| spawn_walled(&contained, &command, &cancel)),
        ),
        (
            "container, fresh",
            Box::new(|| spawn_walled(&container, &command, &cancel)),
        ),
    ];
    let has_bubblewrap = bubblewrap(workspace)
        .status()
        .is_ok_and(|status| status.success());
    if has_bubblewrap {
        contestants.push((
            "bubblewrap",
            Box::new(|| assert!(bubblewrap(workspace).status().expect("runs").success())),
        ));
    } else {
        println!("SKIPPED bubblewrap: not installed, or it cannot run here");
    }
    let times = interleaved(rounds, &mut contestants);
    println!("\n{title}");
    for ((name, _), (least, median)) in contestants.iter().zip(&times) {
        let ratio = |time: &Duration, base: &Duration| time.as_secs_f64() / base.as_secs_f64();
        let beside = if has_bubblewrap && name.starts_with("container") {
            let bubblewrap = times[times.len() - 1];
            format!(
                "   {:.2}x / {:.2}x bubblewrap",
                ratio(least, &bubblewrap.0),
                ratio(median, &bubblewrap.1)
            )
        } else {
            String::new()
        };
        println!(
            "  {name:18} least {:7.0} us  median {:7.0} us   {:5.2}x / {:5.2}x posix_spawn{beside}",
            least.as_secs_f64() * 1e6,
            median.as_secs_f64() * 1e6,
            ratio(least, &times[0].0),
            ratio(median, &times[0].1),
        );
    }
}

/// Output through the sandbox beside a bare read loop on a pipe from the same program.
fn streaming(rounds: usize, bytes: usize, workspace: &Path) {
    let sandbox = Sandbox::new().expect("a sandbox");
    let cancel = Cancel::new().expect("an event");
    let mut policy = Policy::new(Level::Process, workspace);
    policy.limits.output = u64::MAX;
    let prepared = sandbox.prepare(&policy).expect("prepared");
    let count = bytes.to_string();
    let command = Command::new("/usr/bin/head").args(["-c", &count, "/dev/zero"]);
    let bare = || {
        let mut child = process::Command::new("/usr/bin/head")
            .args(["-c", &count, "/dev/zero"])
            .stdout(process::Stdio::piped())
            .spawn()
            .expect("runs");
        let mut pipe = child.stdout.take().expect("piped");
        let mut buffer = vec![0; 256 << 10];
        let mut total = 0;
        while let Ok(length) = pipe.read(&mut buffer)
            && length > 0
        {
            total += length;
        }
        child.wait().expect("waited");
        assert_eq!(total, bytes);
    };
    let walled = || {
        let mut total = 0;
        prepared
            .run(&command, &mut |_, bytes| total += bytes.len(), &cancel)
            .expect("runs");
        assert_eq!(total, bytes);
    };
    let times = interleaved(
        rounds,
        &mut [("bare", Box::new(bare)), ("walled", Box::new(walled))],
    );
    let speed = |time: Duration| bytes as f64 / time.as_secs_f64() / 1e6;
    println!("\nstreaming {} MB of output", bytes >> 20);
    println!(
        "  bare read loop     {:6.0} MB/s (median)",
        speed(times[0].1)
    );
    println!(
        "  through the wall   {:6.0} MB/s (median)   {:.2}x",
        speed(times[1].1),
        times[0].1.as_secs_f64() / times[1].1.as_secs_f64()
    );
    println!("  resident afterwards: {} MB", resident() >> 20);
}

fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split_whitespace()
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok())
        .unwrap_or(0)
        * 4096
}

fn main() {
    let measuring = std::env::args().any(|argument| argument == "--bench");
    let (rounds, bytes) = if measuring {
        (400, 256 << 20)
    } else {
        (3, 1 << 20)
    };
    let workspace = tempfile::tempdir().expect("a workspace");
    spawning("from a small process", rounds, workspace.path());
    let mut ballast = vec![1u8; if measuring { 500 << 20 } else { 1 << 20 }];
    ballast.iter_mut().step_by(4096).for_each(|byte| *byte = 2);
    spawning(
        &format!("from a process of {} MB resident", resident() >> 20),
        rounds,
        workspace.path(),
    );
    drop(ballast);
    streaming(if measuring { 9 } else { 1 }, bytes, workspace.path());
}
