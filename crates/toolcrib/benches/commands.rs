//! What a YAML tool of one bash command costs beside a plain `bash -c`: `cargo bench -p toolcrib --bench commands`.
//!
//! The goal is 1.4 times plain bash, through the whole pipeline, at process isolation. Rounds are interleaved and ratios are
//! within one run, because machines differ and are noisy.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use toolcrib::config::Surroundings;
use toolcrib::{CallRequest, Crib, CribOptions};

const TOOL: &str = "
name: greet
description: Greets a person
bash: echo hi {WHO}
tags: [read]
parameters:
  WHO: {type: string, description: Who is greeted}
";

fn main() {
    // `cargo test --benches` runs this too: once through is enough to see that it works.
    let quick = !std::env::args().any(|word| word == "--bench");
    let rounds = if quick { 3 } else { 400 };
    let directory = tempfile::tempdir().expect("a directory");
    let crib = crib(directory.path());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let (mut plain, mut warm, mut judged) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        plain.push(timed(|| {
            let output = Command::new("bash")
                .args(["-c", "echo hi Ada"])
                .stdin(Stdio::null())
                .output()
                .expect("bash is there");
            assert_eq!(output.stdout, b"hi Ada\n");
        }));
        // Time for the next sandbox to be set up, as a model's thinking would give.
        std::thread::sleep(Duration::from_millis(4));
        warm.push(timed(|| runtime.block_on(call(&crib))));
        judged.push(timed(|| {
            let request = CallRequest::new("greet").arg("WHO", "Ada");
            let plan = crib.registry().plan(request).expect("a tool that is there");
            assert_eq!(plan.tool, "greet");
        }));
        std::thread::sleep(Duration::from_millis(4));
    }
    println!(
        "a YAML tool `echo hi {{WHO}}`, through the whole pipeline, {rounds} interleaved rounds\n"
    );
    plain.sort();
    warm.sort();
    judged.sort();
    for (name, times) in [
        ("bash -c", &plain),
        ("YAML tool, warm", &warm),
        ("  of that, judging", &judged),
    ] {
        let (least, middle) = (times[0], times[times.len() / 2]);
        println!(
            "{name:20} least {least:>9.1?} ({:.2}x)   median {middle:>9.1?} ({:.2}x)",
            least.as_secs_f64() / plain[0].as_secs_f64(),
            middle.as_secs_f64() / plain[plain.len() / 2].as_secs_f64(),
        );
    }
}

/// A crib with one tool in the user's scope, which needs no trust.
fn crib(directory: &std::path::Path) -> Crib {
    let tools = directory.join(".toolcrib/tools");
    std::fs::create_dir_all(&tools).expect("directories");
    std::fs::write(tools.join("greet.yaml"), TOOL).expect("a file");
    let workspace = directory.join("work");
    std::fs::create_dir(&workspace).expect("a directory");
    let home = directory.to_str().expect("a plain path");
    let surroundings = Surroundings::new(&workspace, [("HOME", home)]);
    CribOptions::default()
        .surroundings(surroundings)
        .home(directory.join("home"))
        .workspace(&workspace)
        .open()
        .expect("a crib")
}

async fn call(crib: &Crib) {
    let request = CallRequest::new("greet").arg("WHO", "Ada");
    let outcome = crib.registry().execute(request).await;
    let value = outcome.value().unwrap_or_else(|| panic!("{outcome:?}"));
    assert_eq!(value["stdout"], "hi Ada\n");
}

fn timed(work: impl FnOnce()) -> Duration {
    let started = Instant::now();
    work();
    started.elapsed()
}
