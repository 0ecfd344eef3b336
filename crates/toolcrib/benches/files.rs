//! What the file tools cost: `cargo bench -p toolcrib --bench files`.
//!
//! Each is measured through a registry against the plain way to do the same, in turns, in one run: listing
//! against `find`, reading lines against `sed`, writing against the system calls that writing safely
//! takes at least. Ratios, because machines differ and are noisy.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use toolcrib::RegisterBuiltins as _;

use toolcrib::builtin::{BuiltinOptions, ListOptions};
use toolcrib::workspace::{MissingDirs, Replaces, Workspace};
use toolcrib::{CallRequest, Registry};

fn main() {
    // `cargo test --benches` runs this too: once through is enough to see that it works.
    let quick = !std::env::args().any(|word| word == "--bench");
    let dir = tempfile::tempdir().expect("a directory");
    let bench = Bench {
        runtime: tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime"),
        rounds: if quick { 1 } else { 15 },
        quick,
    };
    println!("medians of interleaved rounds\n");
    bench.listing(&dir.path().join("list"));
    bench.lines(&dir.path().join("lines"));
    bench.writing(&dir.path().join("write"));
}

struct Bench {
    runtime: tokio::runtime::Runtime,
    rounds: usize,
    quick: bool,
}

impl Bench {
    fn registry(&self, root: &Path) -> Registry {
        fs::create_dir_all(root).expect("a directory");
        let workspace = Workspace::open(root).expect("a workspace");
        let registry = Registry::builder().workspace(workspace).build();
        let options = BuiltinOptions {
            list: ListOptions {
                max_entries: 1_000_000,
            },
            ..BuiltinOptions::default()
        };
        registry
            .register_builtins_with(options)
            .expect("an empty registry");
        registry
    }

    fn call(&self, registry: &Registry, request: CallRequest) -> serde_json::Value {
        let outcome = self.runtime.block_on(registry.execute(request));
        outcome.into_result().expect("it works").value
    }

    /// A hundred thousand files in a thousand directories.
    fn listing(&self, root: &Path) {
        let registry = self.registry(root);
        let (dirs, files) = if self.quick { (10, 10) } else { (1000, 100) };
        for dir in 0..dirs {
            let dir = root.join(format!("package-{}/module-{dir:03}", dir / 50));
            fs::create_dir_all(&dir).expect("a directory");
            for file in 0..files {
                fs::write(dir.join(format!("source_file_{file:03}.rs")), "x").expect("a file");
            }
        }
        let request = || {
            CallRequest::new("list_directory")
                .arg("path", ".")
                .arg("recursive", true)
                .arg("includeHidden", true)
        };
        let mut find = Command::new("find");
        find.arg(root).args(["-printf", "%y %s %T@ %p\n"]);
        find.stdout(Stdio::null());
        let (mut plain, mut tool) = (Vec::new(), Vec::new());
        for round in 0..=self.rounds {
            let theirs = timed(|| assert!(find.status().expect("find is installed").success()));
            let mut count = 0;
            let ours = timed(|| {
                let value = self.call(&registry, request());
                count = value["entries"].as_array().map_or(0, Vec::len);
            });
            assert!(count > dirs * files);
            // The first round warms up.
            if round > 0 {
                plain.push(theirs);
                tool.push(ours);
            }
        }
        println!("listing {} files; target 1.3x", dirs * files);
        row("  find -printf (floor)", &plain, &plain);
        row("  list_directory", &tool, &plain);
    }

    /// A hundred lines near the end of a file of nine megabytes, and how much memory that takes.
    fn lines(&self, root: &Path) {
        let registry = self.registry(root);
        let line = "the quick brown fox jumps over the lazy dog and runs on\n";
        let count = if self.quick {
            2000
        } else {
            9_000_000 / line.len()
        };
        fs::write(root.join("large"), line.repeat(count)).expect("a file");
        fs::write(root.join("small"), line.repeat(1000)).expect("a file");
        let first = count - 200;
        let request = |path: &str, first: usize| {
            CallRequest::new("read_file")
                .arg("path", path)
                .arg("start_line", first)
                .arg("end_line", first + 99)
        };
        let mut sed = Command::new("sed");
        let last = first + 99;
        sed.arg("-n").arg(format!("{first},{last}p;{last}q"));
        sed.arg(root.join("large")).stdout(Stdio::null());
        let before = peak_memory(|| {
            self.call(&registry, request("small", 800));
        });
        let peak = peak_memory(|| {
            self.call(&registry, request("large", first));
        });
        let (mut plain, mut tool) = (Vec::new(), Vec::new());
        for _ in 0..self.rounds {
            plain.push(timed(|| {
                assert!(sed.status().expect("sed is installed").success());
            }));
            tool.push(timed(|| {
                let value = self.call(&registry, request("large", first));
                assert_eq!(
                    value["content"].as_str().map(str::len),
                    Some(100 * line.len())
                );
            }));
        }
        println!(
            "\nlines {first}-{last} of a file of {} bytes",
            count * line.len()
        );
        row("  sed -n (floor, a process each)", &plain, &plain);
        row("  read_file", &tool, &plain);
        match (before, peak) {
            (Some(before), Some(peak)) => println!(
                "  peak resident memory grows by {} KB, and by {} KB for a file of 1000 lines (VmHWM, reset before each)",
                peak / 1024,
                before / 1024
            ),
            _ => println!("  peak memory cannot be measured here"),
        }
    }

    /// A new file of four kilobytes, on the disk when it is done.
    fn writing(&self, root: &Path) {
        let registry = self.registry(root);
        let content = "x".repeat(4096);
        let workspace = Workspace::open(root).expect("a workspace");
        let (mut plain, mut tool, mut bare) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..self.rounds * 20 {
            bare.push(timed(|| {
                let path = workspace.path(&format!("bare-{round}")).expect("a path");
                let new = Replaces::Nothing;
                workspace
                    .write_file(&path, content.as_bytes(), MissingDirs::Refuse, &new)
                    .expect("room for it");
            }));
            plain.push(timed(|| {
                write_plainly(root, &format!("plain-{round}"), &content);
            }));
            tool.push(timed(|| {
                let request = CallRequest::new("write_file")
                    .arg("path", format!("tool-{round}"))
                    .arg("content", content.as_str());
                self.call(&registry, request);
            }));
        }
        println!("\nwriting a new file of 4096 bytes");
        row(
            "  open, write, fsync, rename, fsync (floor)",
            &plain,
            &plain,
        );
        row("  Workspace::write_file, on this thread", &bare, &plain);
        row("  write_file", &tool, &plain);
    }
}

fn write_plainly(root: &Path, name: &str, content: &str) {
    let temp = root.join(format!(".{name}.tmp"));
    let mut file = fs::File::options()
        .write(true)
        .create_new(true)
        .mode(0o666)
        .open(&temp)
        .expect("a new file");
    file.write_all(content.as_bytes()).expect("room for it");
    file.sync_all().expect("a disk");
    fs::rename(&temp, root.join(name)).expect("the same directory");
    let dir = fs::File::open(root).expect("a directory");
    dir.sync_all().expect("a disk");
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn row(what: &str, times: &[Duration], floor: &[Duration]) {
    let (time, floor) = (median(times), median(floor));
    println!(
        "{what:<44} {time:>10.2?}  {:>6.2}x",
        time.as_secs_f64() / floor.as_secs_f64()
    );
}

fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort();
    times[times.len() / 2]
}

/// How far the peak of resident memory rises above what is resident before, in bytes.
fn peak_memory(work: impl FnOnce()) -> Option<u64> {
    // Writing 5 sets the peak to what is resident now.
    fs::write("/proc/self/clear_refs", "5").ok()?;
    let before = status("VmRSS:")?;
    work();
    Some(status("VmHWM:")?.saturating_sub(before))
}

fn status(field: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
