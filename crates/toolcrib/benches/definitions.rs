//! What loading tools' files costs: `cargo bench -p toolcrib --bench definitions`.
//!
//! Writes a thousand realistic files, reads and checks them all from disk on one thread, and prints the time next to the floor:
//! the same files read and only parsed. The target is 300 ms for the thousand.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use granit_parser::Parser;
use toolcrib::definition::read;

/// Files as people write them; `@` is the number of the file.
const KINDS: &[&str] = &[
    "name: list-@\ndescription: Lists the files of a directory, newest first   # for models\nbash: ls -lt -- {DIRECTORY}\nparameters:\n  DIRECTORY:\n    type: string\n    description: The directory\n    default: .\ntags: [files, read]\ntests:\n  - name: here\n    parameters:\n      DIRECTORY: .\n    expected:\n      exit-code: 0\n",
    "name: find-@\ndescription: Finds files by name\nversion: 1.2.0\ncommands:\n  default: find {DIRECTORY} -name \"{PATTERN}\"\n  platforms:\n    unix: find {DIRECTORY} -name \"{PATTERN}\" -not -path '*/.git/*'\nparameters:\n  DIRECTORY:\n    type: string\n    description: Directory to search in\n  PATTERN:\n    type: string\n    description: File pattern to match\n    validation:\n      pattern: \"^[^/]+$\"\n      maxLength: 200\n    examples: [\"*.rs\", \"*.md\"]\nmetadata:\n  category: files\n  tags: [search]\n  search-keywords: [find, locate, glob]\ntags: [read]\nchangelog:\n  - version: 1.2.0\n    changes: Leaves .git out\n",
    "name: release-@\ndescription: Builds, tests and packs a release\nsteps:\n  - name: build\n    bash: ./build.sh {TARGET}\n    timeout: 10m\n    error-handling:\n      retry:\n        attempts: 3\n        delay: 1000\n        backoff: 2\n  - name: lint\n    bash: make lint\n    parallel: true\n    continue-on-error: true\n  - name: test\n    bash: make test\n    wait-for: [build]\n    output:\n      mode: stream\n      buffer-limit: 10MB\n      stream-callback: console\n  - name: pack\n    bash: |\n      set -eu\n      mkdir -p dist\n      tar -czf \"dist/{TARGET}.tar.gz\" build\n      echo \"built: {build.output}\"\n    run-condition: \"{test.exit-code} == 0\"\nparameters:\n  TARGET:\n    type: string\n    description: What to build\n    validation:\n      enum: [debug, release]\n    default: release\nenvironment:\n  variables:\n    CI: \"1\"\n  inherit: true\nresources:\n  timeout: 20m\n  max-memory: 2GB\n  cleanup:\n    - delete-temp-files: true\ntags: [build, run]\n",
    "name: todo-@\ntype: alias\nbase-tool: search_code\ndefault-parameters:\n  query: \"TODO({WHO})\"\n  path: src\n",
    "name: fetch-@\ndescription: Fetches a page and keeps its title\nscript: |\n  cat > page.html\n  head {COUNT} page.html\nshell: bash\ninput: \"{URL}\"\nparameters:\n  URL:\n    type: string\n    description: The address\n    transform: \"value.trim()\"\n  COUNT:\n    type: number\n    description: How many lines\n    default: 10\n    validation:\n      minimum: 1\n      maximum: 1000\n    format: \"--lines={value}\"\n    detailed-help: |\n      More about the number of lines,\n      on two lines.\nsecurity:\n  isolation: container\n  required-permissions:\n    - \"network:external:example.com\"\n    - \"filesystem:read:/usr/share/dict\"\n  justification: The page is somewhere else\nfile-paths:\n  working-directory: \"{WORKSPACE}\"\n  temp-directory: \"{TEMP}/pages\"\nfunction-calling:\n  schema-generation:\n    include-defaults: true\nplatforms: [linux, macos]\ntimeout: 30s\ntags: [web, run]\n",
];

fn main() {
    // `cargo test --benches` runs this too: a few files are enough to see that it works.
    let quick = !std::env::args().any(|word| word == "--bench");
    let (count, rounds) = if quick { (20, 1) } else { (1000, 15) };
    let directory = tempfile::tempdir().expect("a directory");
    let files = write(directory.path(), count);
    let bytes: usize = files
        .iter()
        .map(|file| std::fs::read(file).map_or(0, |b| b.len()))
        .sum();
    for file in &files {
        assert!(load(file), "{} does not load", file.display());
    }
    println!("{count} files, {} KB", bytes / 1024);
    let floor = best(rounds, || {
        for file in &files {
            let bytes = std::fs::read(file).expect("readable");
            let text = std::str::from_utf8(&bytes).expect("UTF-8");
            let events = Parser::new_from_str(text).filter(Result::is_ok).count();
            black_box(events);
        }
    });
    let loading = best(rounds, || {
        for file in &files {
            black_box(load(file));
        }
    });
    println!("{:<36} {:>8}     {:>8}", "", "time", "CPU");
    row("reading and parsing only (floor)", floor, floor);
    row("loading and checking", loading, floor);
    let target = Duration::from_millis(300);
    if !quick {
        let word = if loading.wall <= target {
            "within"
        } else {
            "OVER"
        };
        println!("\n{word} the target of {target:?}");
    }
}

fn load(file: &Path) -> bool {
    let bytes = std::fs::read(file).expect("readable");
    let stem = file
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    read(&bytes, &stem.unwrap_or_default()).definition.is_some()
}

fn write(directory: &Path, count: usize) -> Vec<PathBuf> {
    (0..count)
        .map(|number| {
            let kind = KINDS[number % KINDS.len()];
            let path = directory.join(format!("tool-{number}.yaml"));
            std::fs::write(&path, kind.replace('@', &number.to_string())).expect("writable");
            path
        })
        .collect()
}

/// What a round took.
#[derive(Clone, Copy)]
struct Took {
    wall: Duration,
    /// What a busy machine does not change.
    cpu: Duration,
}

fn best(rounds: usize, mut work: impl FnMut()) -> Took {
    let mut took: Vec<Took> = (0..rounds)
        .map(|_| {
            let (begun, cpu) = (Instant::now(), cpu());
            work();
            Took {
                wall: begun.elapsed(),
                cpu: self::cpu().saturating_sub(cpu),
            }
        })
        .collect();
    took.sort_unstable_by_key(|took| took.wall);
    took[took.len() / 2]
}

fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

fn row(name: &str, took: Took, floor: Took) {
    let millis = |time: Duration| time.as_secs_f64() * 1000.0;
    println!(
        "{name:<36} {:>8.1} ms  {:>8.1} ms  {:>5.1}×",
        millis(took.wall),
        millis(took.cpu),
        took.cpu.as_secs_f64() / floor.cpu.as_secs_f64()
    );
}
