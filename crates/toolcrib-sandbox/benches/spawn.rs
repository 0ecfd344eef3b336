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
use toolcrib_sandbox::{AbsentNames, Cancel, Command, Level, Policy, Prepared, Sandbox, Status};

/// The policy that Toolcrib's own tools run by: what is planted is looked for, nothing is put into the workspace.
fn holding(level: Level, workspace: &Path) -> Policy {
    let mut policy = Policy::new(level, workspace);
    policy.absent = AbsentNames::Hold;
    policy
}

/// A name and what to do.
type Contestant<'a> = (&'a str, Box<dyn FnMut() + 'a>);

/// Least and median of interleaved rounds, so that a noisy neighbour hits all alike.
fn interleaved(
    rounds: usize,
    rest: &dyn Fn(),
    contestants: &mut [Contestant<'_>],
) -> Vec<(Duration, Duration)> {
    let mut times = vec![Vec::with_capacity(rounds); contestants.len()];
    for _ in 0..rounds {
        for ((_, run), times) in contestants.iter_mut().zip(&mut times) {
            rest();
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

/// An agent that makes one call after another, each a small bash command: nothing lies between two runs but the run itself, so
/// that setting up the next sandbox and taking the last one apart compete with it.
fn one_after_another(rounds: usize, workspace: &Path) {
    let sandbox = Sandbox::new().expect("a sandbox");
    let cancel = Cancel::new().expect("an event");
    let command = Command::new("bash").args(["-c", "--", "echo hi"]);
    let prepared = sandbox
        .prepare(&holding(Level::Process, workspace))
        .expect("prepared");
    prepared.keep_ready().expect("a sandbox ahead");
    let median = |run: &mut dyn FnMut()| {
        let mut times: Vec<Duration> = (0..rounds)
            .map(|_| {
                let begun = Instant::now();
                run();
                begun.elapsed()
            })
            .collect();
        times.sort();
        times[times.len() / 2]
    };
    println!("\n`bash -c 'echo hi'`, one after another");
    // Twice, since the machine may have changed its pace meanwhile.
    for _ in 0..2 {
        let plain = median(&mut || {
            let output = process::Command::new("bash")
                .args(["-c", "--", "echo hi"])
                .output()
                .expect("bash runs");
            assert_eq!(output.stdout, b"hi\n");
        });
        let walled = median(&mut || spawn_walled(&prepared, &command, &cancel));
        println!(
            "  plain median {:6.0} us   process median {:6.0} us   {:5.2}x",
            plain.as_secs_f64() * 1e6,
            walled.as_secs_f64() * 1e6,
            walled.as_secs_f64() / plain.as_secs_f64()
        );
    }
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
            .prepare(&holding(level, workspace))
            .expect("prepared")
    };
    println!("\n{title}");
    for level in [Level::Process, Level::Container] {
        let (ready, hurried) = (prepare(level), prepare(level));
        ready.keep_ready().expect("a sandbox ahead");
        hurried.keep_ready().expect("a sandbox ahead");
        // As calls come: with time between them to get the next sandbox ready. That time is not counted.
        let rest = || {
            while !ready.is_ready() {
                std::thread::yield_now();
            }
        };
        let name = format!("{level}, ready");
        compare(
            rounds,
            &rest,
            vec![
                ("posix_spawn", Box::new(spawn_plain)),
                (&name, Box::new(|| spawn_walled(&ready, &command, &cancel))),
            ],
        );
        // With no time at all between them a run waits for its sandbox.
        let name = format!("{level}, back to back");
        compare(
            rounds,
            &|| {},
            vec![
                ("posix_spawn", Box::new(spawn_plain)),
                (
                    &name,
                    Box::new(|| spawn_walled(&hurried, &command, &cancel)),
                ),
            ],
        );
    }
    let (process, container) = (prepare(Level::Process), prepare(Level::Container));
    let mut contestants: Vec<Contestant<'_>> = vec![
        ("posix_spawn", Box::new(spawn_plain)),
        (
            "process, fresh",
            Box::new(|| spawn_walled(&process, &command, &cancel)),
        ),
        (
            "container, fresh",
            Box::new(|| spawn_walled(&container, &command, &cancel)),
        ),
    ];
    if bubblewrap(workspace)
        .status()
        .is_ok_and(|status| status.success())
    {
        contestants.push((
            "bubblewrap",
            Box::new(|| assert!(bubblewrap(workspace).status().expect("runs").success())),
        ));
    } else {
        println!("SKIPPED bubblewrap: not installed, or it cannot run here");
    }
    compare(rounds, &|| {}, contestants);
}

/// Measures and prints, as multiples of the first and, where it takes part, of bubblewrap.
fn compare(rounds: usize, rest: &dyn Fn(), mut contestants: Vec<Contestant<'_>>) {
    let times = interleaved(rounds, rest, &mut contestants);
    let bubblewrap = contestants
        .iter()
        .position(|(name, _)| *name == "bubblewrap");
    let ratio = |time: Duration, base: Duration| time.as_secs_f64() / base.as_secs_f64();
    for ((name, _), (least, median)) in contestants.iter().zip(&times) {
        let beside =
            bubblewrap
                .filter(|_| name.starts_with("container"))
                .map_or(String::new(), |at| {
                    format!(
                        "   {:.2}x / {:.2}x bubblewrap",
                        ratio(*least, times[at].0),
                        ratio(*median, times[at].1)
                    )
                });
        println!(
            "  {name:24} least {:6.0} us  median {:6.0} us   {:5.2}x / {:5.2}x posix_spawn{beside}",
            least.as_secs_f64() * 1e6,
            median.as_secs_f64() * 1e6,
            ratio(*least, times[0].0),
            ratio(*median, times[0].1),
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
        // The same size as ours.
        rustix::pipe::fcntl_setpipe_size(&pipe, 256 << 10).expect("a larger pipe");
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
        &|| {},
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
    one_after_another(rounds, workspace.path());
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
