//! The server under load and attack: `cargo bench -p toolcrib-server --bench load [-- --check]`.
//!
//! Servers, clients and attackers are separate processes (this program again, in a role), on loopback and for a bounded time.
//! Three figures: requests a second of a call that does nothing beside a bare axum echo of JSON with the same caps, taken in turns
//! on the same connections; the latency of others while thousands of connections idle or dribble; and what clients that never
//! read cost while a tool prints a gigabyte. Ratios count: machines differ.

mod client;
mod crowd;
mod servers;

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use client::Load;

/// Which part this process plays.
const ROLE: &str = "TOOLCRIB_LOAD_ROLE";
/// The instructions of a part.
const TOLD: &str = "TOOLCRIB_LOAD_TOLD";

/// The operator's token.
const TOKEN: &str = "the-token-of-the-benchmark";

/// Connections that ask without a pause.
const CONNECTIONS: usize = 32;

fn main() -> ExitCode {
    toolcrib_server::listen::raise_open_files();
    if let Ok(role) = std::env::var(ROLE) {
        play(&role);
        return ExitCode::SUCCESS;
    }
    let is_given = |flag: &str| std::env::args().any(|word| word == flag);
    // `cargo test --benches` runs this too: once through is enough to see that it works.
    let scale = match is_given("--bench") {
        true => Scale::whole(),
        false => Scale::quick(),
    };
    let only = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    let wants = |figure: &str| only.as_deref().is_none_or(|only| only == figure);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("load {}", load.trim());
    let mut targets = Targets::default();
    if wants("throughput") {
        throughput(&scale, &mut targets);
    }
    if wants("crowd") {
        in_a_crowd(&scale, &mut targets);
    }
    if wants("deaf") {
        deaf(&scale, &mut targets);
    }
    if !targets.0.is_empty() {
        eprintln!("\ntargets that were missed:\n  {}", targets.0.join("\n  "));
        if is_given("--check") {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// How much is done.
struct Scale {
    rounds: usize,
    round: Duration,
    idle: usize,
    slow: usize,
    latency: Duration,
    deaf: usize,
    megabytes: usize,
}

impl Scale {
    fn whole() -> Self {
        Scale {
            rounds: 7,
            round: Duration::from_secs(2),
            idle: 5_000,
            slow: 2_000,
            latency: Duration::from_secs(12),
            deaf: 500,
            megabytes: 1024,
        }
    }

    fn quick() -> Self {
        Scale {
            rounds: 1,
            round: Duration::from_millis(100),
            idle: 50,
            slow: 20,
            latency: Duration::from_millis(200),
            deaf: 5,
            megabytes: 4,
        }
    }
}

/// Targets that were missed.
#[derive(Default)]
struct Targets(Vec<String>);

impl Targets {
    fn at_least(&mut self, what: &str, value: f64, target: f64) {
        if value < target {
            self.0
                .push(format!("{what}: {value:.2}, at least {target}"));
        }
    }

    fn at_most(&mut self, what: &str, value: f64, target: f64) {
        if value > target {
            self.0.push(format!("{what}: {value:.2}, at most {target}"));
        }
    }
}

fn throughput(scale: &Scale, targets: &mut Targets) {
    let (axum, toolcrib) = (Part::start("axum", ""), Part::start("toolcrib", ""));
    let (echo, call) = (client::echo(), client::call());
    let once = |part: &Part, request: &[u8]| {
        client::load(part.address(), request, CONNECTIONS, scale.round)
    };
    once(&axum, &echo);
    once(&toolcrib, &call);
    let (mut bare, mut ours, mut ratios) = (vec![], vec![], vec![]);
    for round in 0..scale.rounds {
        // In turns, and each first as often: whatever the machine does meanwhile, it does to both.
        let (echoed, called) = match round % 2 {
            0 => {
                let echoed = once(&axum, &echo);
                (echoed, once(&toolcrib, &call))
            }
            _ => {
                let called = once(&toolcrib, &call);
                (once(&axum, &echo), called)
            }
        };
        ratios.push(called.per_second() / echoed.per_second());
        bare.push(echoed);
        ours.push(called);
    }
    println!("\n{CONNECTIONS} connections without a pause");
    for (name, loads) in [("axum, echo of JSON", &bare), ("toolcrib, a call", &ours)] {
        let rate = median(loads.iter().map(Load::per_second).collect());
        let p50 = median(loads.iter().map(|load| load.quantile(0.5)).collect());
        let p99 = median(loads.iter().map(|load| load.quantile(0.99)).collect());
        println!("  {name:<20} {rate:>9.0}/s   p50 {p50:.2} ms   p99 {p99:.2} ms");
    }
    let ratio = median(ratios);
    println!("  ratio {ratio:.2} (target 0.7)");
    targets.at_least("calls a second beside axum", ratio, 0.7);
}

fn in_a_crowd(scale: &Scale, targets: &mut Targets) {
    let server = Part::start("toolcrib", "");
    let call = client::call();
    // Few enough that the machine is not busy: what is measured is the crowd, not the queue.
    let measure = || client::paced(server.address(), &call, 8, scale.latency);
    measure();
    let alone = measure();
    let before = server.resident();
    let told = format!("{} {} {}", server.address(), scale.idle, scale.slow);
    let crowd = Part::start("crowd", &told);
    let among = measure();
    let grown = server.resident().saturating_sub(before);
    let seen = crowd.end();
    println!(
        "\n{} connections idle, {} send a byte now and then",
        scale.idle, scale.slow
    );
    for (name, load) in [("alone", &alone), ("in the crowd", &among)] {
        println!(
            "  {name:<20} p50 {:.2} ms   p99 {:.2} ms   ({} calls)",
            load.quantile(0.5),
            load.quantile(0.99),
            load.took.len()
        );
    }
    let ratio = among.quantile(0.99) / alone.quantile(0.99);
    println!("  ratio of p99 {ratio:.2} (target 2); the server grew by {grown} MB; {seen}");
    targets.at_most("p99 in a crowd", ratio, 2.0);
}

fn deaf(scale: &Scale, targets: &mut Targets) {
    let server = Part::start("toolcrib", "");
    let before = server.resident();
    let call = client::flood(server.address(), scale.megabytes);
    let told = format!("{} {} {call}", server.address(), scale.deaf);
    let crowd = Part::start("deaf", &told);
    let (mut most, began) = (before, Instant::now());
    // The call ends by itself; those who never read are dropped a deadline later.
    let longest = Duration::from_secs(60);
    while began.elapsed() < longest && client::is_running(server.address(), &call) {
        most = most.max(server.resident());
        std::thread::sleep(Duration::from_millis(50));
    }
    let lasted = began.elapsed();
    std::thread::sleep(servers::WRITE_DEADLINE + Duration::from_secs(1));
    most = most.max(server.resident());
    let seen = crowd.end();
    println!(
        "\n{} clients that never read, while a tool prints {} MB in {:.1} s",
        scale.deaf,
        scale.megabytes,
        lasted.as_secs_f64()
    );
    let grown = most.saturating_sub(before);
    println!("  {seen}; the server grew by {grown} MB at most (target 128)");
    #[expect(clippy::cast_precision_loss, reason = "megabytes")]
    targets.at_most("growth by clients that never read, MB", grown as f64, 128.0);
    let dropped = seen.split(' ').next().and_then(|word| word.parse().ok());
    let dropped: u32 = dropped.unwrap_or_default();
    let expected = u32::try_from(scale.deaf).unwrap_or_default();
    targets.at_least("clients dropped", dropped.into(), expected.into());
}

/// A process in a role: says one line when it is ready and one when it is told to end.
struct Part {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
    first: String,
}

impl Part {
    fn start(role: &str, told: &str) -> Self {
        let program = std::env::current_exe().expect("this program");
        let mut child = Command::new(program)
            .env(ROLE, role)
            .env(TOLD, told)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a process");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let first = lines.next().expect("a line").expect("text");
        Part {
            stdin: child.stdin.take(),
            child,
            lines,
            first,
        }
    }

    fn address(&self) -> SocketAddr {
        self.first.parse().expect("an address")
    }

    /// Resident memory in megabytes.
    fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        kilobytes.unwrap_or_default() / 1024
    }

    /// Ends it and hears its last line.
    fn end(mut self) -> String {
        drop(self.stdin.take());
        let last = self.lines.next();
        last.and_then(Result::ok).unwrap_or_default()
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn play(role: &str) {
    let told = std::env::var(TOLD).unwrap_or_default();
    let threads = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let ended = tokio::sync::oneshot::channel();
    // The parent process is gone when our standard input ends.
    std::thread::spawn(move || {
        let _ = std::io::stdin().lines().count();
        let _ = ended.0.send(());
    });
    let ended = async { drop(ended.1.await) };
    threads.block_on(async {
        match role {
            "axum" => servers::axum(ended).await,
            "toolcrib" => servers::toolcrib(ended).await,
            "crowd" => crowd::idle_and_slow(&told, ended).await,
            "deaf" => crowd::deaf(&told, ended).await,
            other => panic!("no role `{other}`"),
        }
    });
    threads.shutdown_background();
}

/// Notifies the parent process.
fn say(line: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
