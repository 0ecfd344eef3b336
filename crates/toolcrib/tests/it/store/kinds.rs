//! That every kind of write is among those that are killed and refused: read from the sources, so that a new one without a proof is noticed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::operation::Operation;

/// The sources of the crates that write files of a home, below a directory of `src`, by their path from there, without their tests.
fn sources(below: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for name in ["toolcrib-home", "toolcrib-tools"] {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("..")
            .join(name)
            .join("src");
        add_sources(&root, below, &mut found);
    }
    found.sort();
    assert!(!found.is_empty());
    found
}

fn add_sources(root: &Path, below: &str, found: &mut Vec<(String, String)>) {
    let mut pending: Vec<PathBuf> = vec![root.join(below)];
    pending.retain(|directory| directory.is_dir());
    while let Some(dir) = pending.pop() {
        for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                pending.extend((path.file_name().unwrap() != "tests").then_some(path));
                continue;
            }
            let name = path.strip_prefix(root).unwrap().to_str().unwrap();
            if !name.ends_with(".rs") || name.ends_with("tests.rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            found.push((name.to_owned(), code.to_owned()));
        }
    }
}

/// The public functions of `impl` blocks in a source, with their bodies.
fn public_functions(source: &str) -> Vec<(&str, &str)> {
    let parts = source.split("\n    pub fn ").skip(1);
    parts
        .map(|part| {
            let name = part.split(['(', '<']).next().unwrap();
            (name, part.split("\n    }\n").next().unwrap())
        })
        .collect()
}

#[test]
fn every_function_of_a_store_that_writes_is_killed_and_refused() {
    let mut writers = BTreeSet::new();
    for (_, source) in &sources("store") {
        let functions = public_functions(source).into_iter();
        let writing = functions
            .filter(|(_, body)| body.contains("self.write(") || body.contains("self.put("))
            // The write of `put_bundle`, which is proven.
            .filter(|(name, _)| *name != "put_bundle_as_switched");
        writers.extend(writing.map(|(name, _)| name.to_owned()));
    }
    let proven: BTreeSet<String> = Operation::ALL.map(|kind| kind.function().to_owned()).into();
    assert!(writers.len() > 10, "{writers:?}");
    assert_eq!(writers, proven);
}

/// Where a source is shown to survive kills and refusals: a file of these tests, and a name in it.
const PROOFS: [(&str, &str, &str); 24] = [
    ("approval/grants.rs", ONE, ""),
    ("approval/queue/answer.rs", "approvals/crash.rs", "fn child"),
    ("approval/queue/ticket.rs", "approvals/crash.rs", "fn child"),
    (
        "approval/queue/wait.rs",
        "approvals/crash.rs",
        "\"withdraw\"",
    ),
    ("config/edit.rs", ONE, ""),
    (
        "crib/reaping.rs",
        "store/state_writes.rs",
        "StateWrite::Reaped",
    ),
    (
        "crib/upkeep.rs",
        "store/state_writes.rs",
        "StateWrite::FlagsAside",
    ),
    (
        "record/call_log/file.rs",
        "call_log/crash.rs",
        "what_was_flushed_survives_a_kill",
    ),
    ("approval/approved.rs", ONE, ""),
    ("held/own_repositories.rs", ONE, ""),
    // Directories with one record in them, placed and removed as the store does; the thing itself is moved after its record is there.
    (
        "held/mod.rs",
        "store/crash.rs",
        "every_kind_of_write_is_killed",
    ),
    ("format.rs", ONE, ""),
    ("notify/link.rs", ONE, ""),
    ("notify/notifier.rs", ONE, ""),
    ("record/replay.rs", ONE, ""),
    (
        "record/usage/files.rs",
        "store/state_writes.rs",
        "StateWrite::Fold",
    ),
    // Older results are removed before; each removal is one, too.
    ("results/kept.rs", ONE, ""),
    ("secret/store.rs", ONE, ""),
    (
        "source/flags.rs",
        "store/state_writes.rs",
        "StateWrite::Flags",
    ),
    ("source/pins.rs", ONE, ""),
    // Looks, and corrects the number in the lock file.
    (
        "store/follow.rs",
        "store/follow.rs",
        "without_the_lock_file",
    ),
    (
        "store/writing.rs",
        "store/crash.rs",
        "every_kind_of_write_is_killed",
    ),
    ("upstream/auth/login.rs", ONE, ""),
    ("upstream/pins.rs", ONE, ""),
];

/// One file is written, by the function of `storage` that is killed at every call itself.
const ONE: &str = "storage/crash.rs";

#[test]
fn every_source_that_locks_a_directory_to_write_in_it_has_a_proof() {
    let locks = [
        "dir.lock()",
        "dir.try_lock()",
        "lock_counted",
        "open_to_append(",
    ];
    let all = sources("");
    let writing = all.iter().filter(|(name, source)| {
        !name.starts_with("storage/") && locks.iter().any(|lock| source.contains(lock))
    });
    let writing: BTreeSet<&str> = writing.map(|(name, _)| name.as_str()).collect();
    let proven = PROOFS.iter().map(|(name, _, _)| *name);
    assert_eq!(writing, proven.collect());
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    for (name, file, what) in PROOFS {
        let text = std::fs::read_to_string(tests.join(file)).unwrap();
        assert!(text.contains(what), "{name}: {file} says nothing of {what}");
    }
}
