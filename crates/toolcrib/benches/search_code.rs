//! What `search_code` costs beside `rg`: `cargo bench -p toolcrib --bench search_code`; with `-- --check` it ends with 1 where a target is
//! missed.
//!
//! One call through the whole pipeline, in a process that runs anyway, against plain `rg -n --column` that is started and writes to a pipe,
//! which is what a model's shell would do: the same tree, the same query, the same count of matches. Rounds are interleaved and ratios are
//! within one run, because machines differ and are noisy. The tree is the source of the dependencies (`~/.cargo/registry/src`) if it is
//! there, else this project. `-- --tree DIR` takes another.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use toolcrib::RegisterBuiltins as _;

use serde_json::{Value, json};
use toolcrib::workspace::Workspace;
use toolcrib::{CallRequest, Registry};

/// How much longer than `rg` a search may take.
const TARGET: f64 = 1.2;

fn main() {
    // `cargo test --benches` runs this too: once through is enough to see that it works.
    let words: Vec<String> = std::env::args().collect();
    let is_given = |word: &str| words.iter().any(|own| own == word);
    let quick = !is_given("--bench");
    let rounds = if quick { 1 } else { 15 };
    if Command::new("rg").arg("--version").output().is_err() {
        eprintln!("SKIPPED search_code: `rg` is not installed");
        return;
    }
    let named = words.iter().position(|word| word == "--tree");
    let tree = match named.and_then(|at| words.get(at + 1)) {
        Some(tree) => PathBuf::from(tree),
        None => tree(quick),
    };
    let workspace = Workspace::open(&tree).expect("a directory");
    let registry = Registry::builder().workspace(workspace).build();
    registry.register_builtins().expect("an empty registry");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    println!(
        "{}, {rounds} interleaved rounds; medians, target {TARGET}x\n",
        tree.display()
    );
    println!("                              rg      search_code    ratio    matches");
    let mut missed = false;
    for (name, options, arguments) in questions() {
        let expected = count(&tree, &options);
        let (mut theirs, mut ours) = (Vec::new(), Vec::new());
        // The first round only warms up.
        for round in 0..=rounds {
            let begun = Instant::now();
            let printed = rg(&tree, &["-n", "--column"], &options);
            let rg_took = begun.elapsed();
            drop(printed);
            let begun = Instant::now();
            let total = runtime.block_on(search(&registry, &arguments));
            let took = begun.elapsed();
            assert_eq!(total, expected, "{name}");
            if round > 0 || quick {
                theirs.push(rg_took);
                ours.push(took);
            }
        }
        let (theirs, ours) = (median(&mut theirs), median(&mut ours));
        let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
        println!(
            "{name:24} {:>8.1?}      {:>8.1?}     {ratio:.2}x {:>10}",
            theirs, ours, expected
        );
        missed |= ratio > TARGET;
    }
    if missed && is_given("--check") {
        std::process::exit(1);
    }
}

/// Names, options of `rg`, and arguments of ours.
fn questions() -> Vec<(&'static str, Vec<&'static str>, Value)> {
    vec![
        (
            "rare literal",
            vec!["-F", "RESOLVE_BENEATH"],
            json!({"query": "RESOLVE_BENEATH"}),
        ),
        (
            "common literal",
            vec!["-F", "return"],
            json!({"query": "return"}),
        ),
        (
            "regular expression",
            vec![r"fn \w+_path\("],
            json!({"query": r"fn \w+_path\(", "regex": true}),
        ),
        (
            "without a literal",
            vec![r"\b[a-z]{3}\d{4}\b"],
            json!({"query": r"\b[a-z]{3}\d{4}\b", "regex": true}),
        ),
        (
            "any case",
            vec!["-F", "-i", "deadline"],
            json!({"query": "deadline", "caseSensitive": false}),
        ),
        (
            "with context",
            vec!["-F", "-C", "3", "deprecated"],
            json!({"query": "deprecated", "context": 3}),
        ),
        (
            "of one type",
            vec!["-F", "-t", "c", "static"],
            json!({"query": "static", "type": "c"}),
        ),
    ]
}

/// The source of the dependencies, or this project.
fn tree(quick: bool) -> PathBuf {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).to_owned();
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    match home.map(|home| home.join("registry/src")) {
        Some(sources) if sources.is_dir() && !quick => sources,
        _ => project,
    }
}

/// Runs `rg`; what it prints.
fn rg(tree: &Path, form: &[&str], options: &[&str]) -> Vec<u8> {
    let output = Command::new("rg")
        .arg("--no-config")
        .args(form)
        .args(options)
        .arg(".")
        .current_dir(tree)
        .stdin(Stdio::null())
        .output();
    output.expect("rg runs").stdout
}

/// How many lines match, as `rg` says.
fn count(tree: &Path, options: &[&str]) -> u64 {
    let output = rg(tree, &["--json"], options);
    let mut lines = output.rsplit(|byte| *byte == b'\n');
    let summary = lines.find(|line| !line.is_empty()).expect("a summary");
    let summary: Value = serde_json::from_slice(summary).expect("JSON");
    let lines = &summary["data"]["stats"]["matched_lines"];
    lines.as_u64().expect("a count")
}

async fn search(registry: &Registry, arguments: &Value) -> u64 {
    let Value::Object(arguments) = arguments.clone() else {
        panic!("{arguments}")
    };
    let request = CallRequest::new("search_code").args(arguments);
    let outcome = registry.execute(request).await;
    let value = outcome.value().unwrap_or_else(|| panic!("{outcome:?}"));
    assert_eq!(value["timedOut"], false);
    value["total"].as_u64().expect("a count")
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}
