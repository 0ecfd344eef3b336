//! What `shell` costs beside a plain `bash -c`, and twenty commands at once beside `xargs -P`:
//! `cargo bench -p toolcrib --bench programs`.
//!
//! Rounds are interleaved and ratios are within one run, because machines differ and are noisy.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use toolcrib::RegisterBuiltins as _;

use toolcrib::builtin::{BuiltinOptions, SandboxSettings};
use toolcrib::sandbox::Level;
use toolcrib::workspace::Workspace;
use toolcrib::{CallRequest, Registry};

fn main() {
    // `cargo test --benches` runs this too: once through is enough to see that it works.
    let quick = !std::env::args().any(|word| word == "--bench");
    let rounds = if quick { 3 } else { 400 };
    let directory = tempfile::tempdir().expect("a directory");
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
            let output = Command::new("bash")
                .args(["-c", "echo hi"])
                .stdin(Stdio::null())
                .output()
                .expect("bash is there");
            assert_eq!(output.stdout, b"hi\n");
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
    println!("shell echo hi, through the whole pipeline, {rounds} interleaved rounds\n");
    report(&mut [
        ("bash -c 'echo hi'", plain),
        ("shell, warm", warm),
        ("shell, first call", cold),
    ]);
    together(&runtime, directory.path(), quick);
}

/// Commands at once, each with 50 ms of work or more.
const AT_ONCE: usize = 20;

fn together(runtime: &tokio::runtime::Runtime, directory: &Path, quick: bool) {
    // Calibrated, since machines differ: so many steps of a loop take bash 60 ms.
    let mut steps = 1000_u64;
    let work = |steps: u64| format!("for ((i = 0; i < {steps}; i++)); do :; done; echo done");
    loop {
        let took = timed(|| {
            let done = Command::new("bash").args(["-c", &work(steps)]).output();
            assert_eq!(done.expect("bash is there").stdout, b"done\n");
        });
        if quick || took >= Duration::from_millis(60) {
            break;
        }
        steps = steps * 5 / 4;
    }
    let script = work(steps);
    let mut named = vec![("xargs -P", Vec::new())];
    let levels = [
        ("shell, process", None),
        ("shell, container", Some(Level::Container)),
    ];
    let registries: Vec<Registry> = levels
        .iter()
        .map(|(name, level)| {
            named.push((name, Vec::new()));
            let registry = Registry::builder()
                .workspace(Workspace::open(directory).expect("a directory"))
                .max_concurrent(AT_ONCE)
                .build();
            let sandbox = SandboxSettings {
                shell: *level,
                ..SandboxSettings::default()
            };
            let options = BuiltinOptions {
                sandbox,
                ..BuiltinOptions::default()
            };
            registry
                .register_builtins_with(options)
                .expect("an empty registry");
            registry
        })
        .collect();
    for _ in 0..if quick { 1 } else { 15 } {
        named[0].1.push(timed(|| xargs(&script)));
        for (index, registry) in registries.iter().enumerate() {
            let took = timed(|| {
                runtime.block_on(async {
                    let request = || CallRequest::new("shell").arg("command", script.as_str());
                    let calls = (0..AT_ONCE).map(|_| registry.execute(request()));
                    for outcome in futures_util::future::join_all(calls).await {
                        let value = outcome.value().unwrap_or_else(|| panic!("{outcome:?}"));
                        assert_eq!(value["stdout"], "done\n");
                    }
                });
            });
            named[index + 1].1.push(took);
        }
    }
    println!("\n{AT_ONCE} commands at once, 50 ms of work or more each\n");
    report(&mut named);
}

/// Each in its own session, as in the sandbox: on a busy machine the kernel shares time between sessions, and twenty of
/// them would win over one.
fn xargs(script: &str) {
    let numbers: String = (0..AT_ONCE).map(|number| format!("{number}\n")).collect();
    let mut child = Command::new("xargs")
        .args(["-P", &AT_ONCE.to_string(), "-n", "1"])
        .args(["setsid", "bash", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("xargs is there");
    let mut stdin = child.stdin.take().expect("it was piped");
    stdin.write_all(numbers.as_bytes()).expect("xargs reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.stdout, "done\n".repeat(AT_ONCE).as_bytes());
}

/// Prints times beside those of the first.
fn report(named: &mut [(&str, Vec<Duration>)]) {
    for (_, times) in named.iter_mut() {
        times.sort();
    }
    let of = |times: &[Duration]| (times[0], times[times.len() / 2]);
    let (plain_least, plain_middle) = of(&named[0].1);
    for (name, times) in named {
        let (least, middle) = of(times);
        println!(
            "{name:20} least {least:>9.1?} ({:.2}x)   median {middle:>9.1?} ({:.2}x)",
            least.as_secs_f64() / plain_least.as_secs_f64(),
            middle.as_secs_f64() / plain_middle.as_secs_f64(),
        );
    }
}

async fn call(registry: &Registry) {
    let outcome = registry
        .execute(CallRequest::new("shell").arg("command", "echo hi"))
        .await;
    let value = outcome.value().unwrap_or_else(|| panic!("{outcome:?}"));
    assert_eq!(value["stdout"], "hi\n");
}

fn timed(work: impl FnOnce()) -> Duration {
    let started = Instant::now();
    work();
    started.elapsed()
}
