//! What a graph of steps costs beside the same commands by `xargs -P`: `cargo bench -p toolcrib --bench steps`.
//!
//! 20 parallel steps that each compute for 50 ms and more; the promise is at most 10 % on top. Rounds are interleaved and
//! ratios are within one run, because machines differ and are noisy.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use toolcrib::{CallRequest, Crib, CribOptions};

const STEPS: usize = 20;

/// How long each step computes at least.
const WORK: Duration = Duration::from_millis(50);

fn main() {
    // `cargo test --benches` runs this too: once through is enough to see that it works.
    let quick = !std::env::args().any(|word| word == "--bench");
    let rounds = if quick { 1 } else { 15 };
    let script = counting_to(if quick { 1000 } else { calibrated() });
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
    let (mut plain, mut steps) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        plain.push(timed(|| xargs(workspace.path(), &script)));
        steps.push(timed(|| runtime.block_on(call(&crib))));
    }
    println!("{STEPS} parallel steps, through the whole pipeline, {rounds} interleaved rounds\n");
    plain.sort();
    steps.sort();
    for (name, times) in [("xargs -P 20", &plain), ("steps", &steps)] {
        let (least, middle) = (times[0], times[times.len() / 2]);
        println!(
            "{name:12} least {least:>9.1?} ({:.3}x)   median {middle:>9.1?} ({:.3}x)",
            least.as_secs_f64() / plain[0].as_secs_f64(),
            middle.as_secs_f64() / plain[plain.len() / 2].as_secs_f64(),
        );
    }
}

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory")
}

/// Something to compute that is the shell's own work.
fn counting_to(number: u64) -> String {
    format!("i=0; while [ $i -lt {number} ]; do i=$((i+1)); done")
}

/// How far a shell counts in [`WORK`] when it is alone.
fn calibrated() -> u64 {
    let mut number = 4000;
    loop {
        let took = timed(|| {
            let status = Command::new("bash")
                .args(["-c", &counting_to(number)])
                .status();
            assert!(status.expect("bash is there").success());
        });
        if took >= WORK + WORK / 5 {
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

async fn call(crib: &Crib) {
    let outcome = crib.registry().execute(CallRequest::new("compute")).await;
    assert!(outcome.is_ok(), "{outcome:?}");
}

fn xargs(workspace: &Path, script: &str) {
    let places = STEPS.to_string();
    let mut xargs = Command::new("xargs")
        .args(["-P", &places, "-n", "1", "bash", "-c", script])
        .current_dir(workspace)
        .stdin(Stdio::piped())
        .spawn()
        .expect("xargs is there");
    let mut stdin = xargs.stdin.take().expect("a pipe");
    for step in 0..STEPS {
        writeln!(stdin, "{step}").expect("xargs reads");
    }
    drop(stdin);
    assert!(xargs.wait().expect("xargs ends").success());
}

fn timed(work: impl FnOnce()) -> Duration {
    let started = Instant::now();
    work();
    started.elapsed()
}
