//! What a graph of steps costs beside the same commands by `xargs -P`: `cargo bench -p toolcrib --bench steps`.
//!
//! 20 parallel steps that each compute for 50 ms of CPU time and more; the promise is at most 10 % on top. Rounds are interleaved
//! and ratios are within one run, because machines differ and are noisy.
//!
//! Read the wall-clock ratio to plain `xargs` only on a machine that is idle otherwise. Each step is a separate session, the children
//! of `xargs` are one together, and where the kernel shares the CPU out by session (`sched_autogroup_enabled`), steps get more of a
//! busy machine than `xargs` does. Hence the second baseline, with a session for each command, and the CPU time of all of it, which
//! does not depend on what else runs.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use toolcrib::{CallRequest, Crib, CribOptions};

const STEPS: usize = 20;

/// How much CPU time each step takes at least, in seconds.
const WORK: f64 = 0.05;

/// Clock ticks in a second, as `/proc` counts them.
const TICKS: f64 = 100.0;

fn main() {
    // `cargo test --benches` runs this too: once through is enough to see that it works.
    let quick = !std::env::args().any(|word| word == "--bench");
    let rounds = if quick { 1 } else { 15 };
    let number = if quick { 1000 } else { calibrated() };
    let script = counting_to(number);
    let (workspace, home) = (directory(), directory());
    write_tool(workspace.path(), &script);
    let crib = CribOptions::default()
        .home(home.path())
        .workspace(workspace.path())
        .open()
        .expect("a crib");
    crib.trust(&crib.review()).expect("trust");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let mut plain = Taken::new("xargs -P 20");
    let mut sessions = Taken::new("xargs, sessions");
    let mut steps = Taken::new("steps");
    for _ in 0..rounds {
        plain.add(|| xargs(workspace.path(), &["bash", "-c", &script], number));
        steps.add(|| runtime.block_on(call(&crib, number)));
        let command = ["setsid", "-w", "bash", "-c", &script];
        sessions.add(|| xargs(workspace.path(), &command, number));
    }
    println!("{STEPS} parallel steps, through the whole pipeline, {rounds} interleaved rounds");
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("counting to {number} each; load {}\n", load.trim());
    for taken in [&plain, &sessions, &steps] {
        taken.print(&plain);
    }
    println!("\nbeside one session for each command:");
    steps.print(&sessions);
}

/// How long something took, round by round.
struct Taken {
    name: &'static str,
    wall: Vec<Duration>,
    /// CPU time of this process and all that it waited for, in seconds.
    cpu: f64,
}

impl Taken {
    fn new(name: &'static str) -> Self {
        Taken {
            name,
            wall: Vec::new(),
            cpu: 0.0,
        }
    }

    fn add(&mut self, work: impl FnOnce()) {
        let before = cpu_time();
        let started = Instant::now();
        work();
        self.wall.push(started.elapsed());
        self.wall.sort();
        self.cpu += cpu_time() - before;
    }

    fn print(&self, beside: &Taken) {
        let (least, middle) = (self.wall[0], self.wall[self.wall.len() / 2]);
        println!(
            "{:16} least {least:>8.1?} ({:.3}x)   median {middle:>8.1?} ({:.3}x)   CPU {:>6.2} s ({:.3}x)",
            self.name,
            least.as_secs_f64() / beside.wall[0].as_secs_f64(),
            middle.as_secs_f64() / beside.wall[beside.wall.len() / 2].as_secs_f64(),
            self.cpu,
            self.cpu / beside.cpu,
        );
    }
}

/// CPU time of this process and of its children that are gone, in seconds.
fn cpu_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("/proc is mounted");
    let (_, fields) = stat.rsplit_once(')').expect("the name is in brackets");
    // `utime`, `stime`, `cutime` and `cstime`.
    let ticks = fields.split_whitespace().skip(11).take(4);
    ticks
        .filter_map(|ticks| ticks.parse::<f64>().ok())
        .sum::<f64>()
        / TICKS
}

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory")
}

/// Something to compute that is the shell's own work; it says how far it got.
fn counting_to(number: u64) -> String {
    format!("i=0; while [ $i -lt {number} ]; do i=$((i+1)); done; echo $i")
}

/// How far a shell counts in [`WORK`] of CPU time, however little of the machine it gets.
fn calibrated() -> u64 {
    let mut number = 4000;
    loop {
        let script = format!("TIMEFORMAT=%U; time {{ {}; }}", counting_to(number));
        let output = Command::new("bash").args(["-c", &script]).output();
        let output = output.expect("bash is there");
        let took = String::from_utf8_lossy(&output.stderr);
        let took: f64 = took.trim().parse().expect("a number of seconds");
        if took >= WORK * 1.2 {
            return number;
        }
        number = number * 5 / 4;
    }
}

fn write_tool(workspace: &Path, script: &str) {
    let tools = workspace.join(".toolcrib/tools");
    std::fs::create_dir_all(&tools).expect("a directory of tools");
    let mut yaml = "description: Computes\ntags: [run]\nsteps:\n".to_owned();
    for step in 0..STEPS {
        yaml.push_str(&format!(
            "  - name: s{step}\n    parallel: true\n    bash: '{script}'\n"
        ));
    }
    std::fs::write(tools.join("compute.yaml"), yaml).expect("a tool");
}

async fn call(crib: &Crib, number: u64) {
    let outcome = crib.registry().execute(CallRequest::new("compute")).await;
    let value = outcome.value().unwrap_or_else(|| panic!("{outcome:?}"));
    let steps = value["steps"].as_object().expect("steps");
    let number = number.to_string();
    let done = steps
        .values()
        .filter(|step| step["output"].as_str() == Some(&number));
    assert_eq!(done.count(), STEPS, "{outcome:?}");
}

fn xargs(workspace: &Path, command: &[&str], number: u64) {
    let places = STEPS.to_string();
    let mut xargs = Command::new("xargs")
        .args(["-P", &places, "-n", "1"])
        .args(command)
        .current_dir(workspace)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("xargs is there");
    let mut stdin = xargs.stdin.take().expect("a pipe");
    for step in 0..STEPS {
        writeln!(stdin, "{step}").expect("xargs reads");
    }
    drop(stdin);
    let output = xargs.wait_with_output().expect("xargs ends");
    assert!(output.status.success());
    let printed = String::from_utf8_lossy(&output.stdout);
    let done = printed.lines().filter(|line| *line == number.to_string());
    assert_eq!(done.count(), STEPS);
}
