//! `toolcrib sandbox`: what comes out, what goes in, and how it ends. What the wall holds is in `attacks.rs`.

mod exits;
mod lifetime;
mod reach;
mod report;
mod streams;
mod workspace;

use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

const LEVELS: [&str; 3] = ["none", "process", "container"];

/// Words of a command line that runs bash.
fn bash<'a>(flags: &[&'a str], code: &'a str) -> Vec<&'a str> {
    [&["sandbox"], flags, &["--", "bash", "-c", code]].concat()
}

fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

/// The exit code of a process that must not take long.
fn ends(child: &mut Child) -> Option<i32> {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(10) {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    panic!("it hangs");
}

fn names(path: &Path) -> Vec<std::ffi::OsString> {
    let entries = std::fs::read_dir(path).unwrap();
    entries.map(|entry| entry.unwrap().file_name()).collect()
}
