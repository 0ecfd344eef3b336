//! What `shell` costs beside a plain `bash -c`: `cargo bench -p toolcrib --bench programs`.
//!
//! Rounds are interleaved and ratios are within one run, because machines differ and are noisy.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

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
    for (name, times) in [
        ("bash -c 'echo hi'", &mut plain.clone()),
        ("shell, warm", &mut warm),
        ("shell, first call", &mut cold),
    ] {
        times.sort();
        let (least, middle) = (times[0], times[times.len() / 2]);
        plain.sort();
        println!(
            "{name:20} least {least:>9.1?} ({:.2}x)   median {middle:>9.1?} ({:.2}x)",
            least.as_secs_f64() / plain[0].as_secs_f64(),
            middle.as_secs_f64() / plain[plain.len() / 2].as_secs_f64(),
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
