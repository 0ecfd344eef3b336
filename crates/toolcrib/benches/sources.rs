//! What tools as files cost: `cargo bench -p toolcrib --bench sources`.
//!
//! Opens a crib with 1,000 files of the kind people write (the target is 300 ms, checking included), next to the floor of only
//! reading the files; then what looking for changes adds to finding a tool, and what one changed file costs.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use toolcrib::config::Surroundings;
use toolcrib::{Crib, CribOptions};

fn main() {
    // `cargo test --benches` runs this too: once through is enough to see that it works.
    let quick = !std::env::args().any(|word| word == "--bench");
    let (files, rounds) = if quick { (20, 1) } else { (1000, 10) };
    let scene = tempfile::tempdir().expect("a directory");
    let tools = scene.path().join("user/.toolcrib/tools");
    std::fs::create_dir_all(&tools).expect("a directory");
    std::fs::create_dir_all(scene.path().join("work/.git")).expect("a directory");
    for number in 0..files {
        write(&tools, number, "first");
    }
    let reading = median(rounds, || {
        for number in 0..files {
            black_box(std::fs::read(tools.join(name(number))).ok());
        }
    });
    let before = cpu();
    let opening = median(rounds, || {
        black_box(open(scene.path()));
    });
    let cpu = (cpu() - before) / u32::try_from(rounds).unwrap_or(1);
    println!("{files} files\n");
    println!("reading them (floor)         {reading:>12?}");
    println!("opening a crib with them     {opening:>12?}   (target 300 ms for 1,000)");
    println!("  of all processors          {cpu:>12?}");
    let crib = open(scene.path());
    let ready = crib.registry().list().len();
    assert!(ready >= files, "{ready}: {:?}", crib.warnings());
    let finding = median(rounds * 20, || {
        black_box(crib.registry().find("tool-1").ok());
    });
    println!("finding a tool               {finding:>12?}");
    let mut number = 0;
    let changing = median(rounds, || {
        number += 1;
        write(&tools, 1, &format!("changed {number}"));
        black_box(crib.registry().find("tool-1").ok());
    });
    println!("changing one, finding it     {changing:>12?}");
}

fn name(number: usize) -> String {
    format!("tool-{number}.yaml")
}

fn write(tools: &Path, number: usize, word: &str) {
    let text = format!(
        "name: tool-{number}\ndescription: Finds files, {word}\nversion: 1.0.0\n\
         bash: find {{DIRECTORY}} -type f -name {{PATTERN}} | head -n {{LIMIT}}\n\
         parameters:\n  DIRECTORY:\n    type: string\n    description: Where to look\n    default: .\n  \
         PATTERN:\n    type: string\n    description: A pattern of names\n    validation:\n      pattern: '^[^/]+$'\n  \
         LIMIT:\n    type: number\n    description: How many at most\n    default: 100\n    validation:\n      minimum: 1\n      maximum: 1000\n\
         timeout: 5000\ntags: [read, search]\nmetadata:\n  category: files\n  search-keywords: [find, locate]\n\
         tests:\n  - name: finds\n    parameters:\n      PATTERN: '*.txt'\n    expected:\n      exit-code: 0\n"
    );
    std::fs::write(tools.join(name(number)), text).expect("a file");
}

fn open(scene: &Path) -> Crib {
    let text = |path: &str| scene.join(path).to_string_lossy().into_owned();
    let (home, user, etc) = (text("home"), text("user"), text("etc"));
    let variables = [
        ("TOOLCRIB_HOME", home.as_str()),
        ("HOME", user.as_str()),
        ("TOOLCRIB_TOOLS_GLOBAL_DIRECTORY", etc.as_str()),
    ];
    let surroundings = Surroundings::new(&scene.join("work"), variables);
    let options = CribOptions::default().surroundings(surroundings);
    options.open().expect("a crib")
}

/// The time that this process has had of all processors: what counts on a machine that is busy.
fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.try_into().unwrap_or_default()
}

fn median(rounds: usize, mut work: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}
