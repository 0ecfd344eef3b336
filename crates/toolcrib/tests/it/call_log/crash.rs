//! Whole lines from any number of processes; nothing acknowledged is lost by a death; and a disk
//! that refuses costs records but never a call.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;
use toolcrib::record::call_log::{CallLog, CallLogReader};
use toolcrib::record::{CallRecord, Recorder as _};

use super::{MANY_FILES, Place, record};
use crate::storage::disk::Disk;
use crate::storage::modes_below;
use crate::syscalls::test_in_child;

impl Place {
    /// A command that runs [`child`] here.
    fn child(&self, operation: &str, name: &str) -> Command {
        let mut command = test_in_child("call_log::crash::child");
        command
            .env("TOOLCRIB_TEST_LOG", operation)
            .env("TOOLCRIB_TEST_NAME", name);
        command.env("TOOLCRIB_TEST_DIR", &self.path);
        command
    }
}

/// A record whose line has some 60 KB.
fn large_record(id: &str) -> CallRecord {
    let mut record = record(id);
    record
        .parameters
        .insert(String::from("texts"), json!(vec!["x".repeat(2000); 30]));
    record
}

/// How many processes append at once, and how many records each of them hands over before it waits for the disk.
const PROCESSES: usize = 4;
const BATCH: usize = 16;

/// The other side of the tests below: does what the environment says. On its own it does nothing.
#[test]
fn child() {
    let variable = |name| std::env::var(name).ok();
    let (Some(operation), Some(name), Some(dir)) = (
        variable("TOOLCRIB_TEST_LOG"),
        variable("TOOLCRIB_TEST_NAME"),
        variable("TOOLCRIB_TEST_DIR"),
    ) else {
        return;
    };
    let dir = Path::new(&dir);
    match operation.as_str() {
        "append" => {
            let log = CallLog::with_options(dir, MANY_FILES);
            for i in 0..1000 {
                log.record(record(&format!("{name}-{i}")));
                if i % BATCH == BATCH - 1 {
                    log.flush();
                }
            }
        }
        "append until killed" => {
            let log = CallLog::new(dir);
            for i in 0.. {
                log.record(large_record(&format!("{name}-{i}")));
                if i % 16 == 15 {
                    log.flush();
                    println!("safe {i}");
                }
            }
        }
        "with umask 000" => {
            rustix::process::umask(rustix::fs::Mode::empty());
            CallLog::new(dir.join("below")).record(record("a"));
        }
        "on a tiny disk" => on_a_tiny_disk(dir),
        "on a read-only disk" => on_a_read_only_disk(dir),
        other => panic!("{other}"),
    }
}

#[test]
fn several_processes_append_at_once() {
    let place = Place::new();
    let children: Vec<_> = (0..PROCESSES)
        .map(|i| {
            place
                .child("append", &format!("process{i}"))
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let (ids, unreadable) = place.ids();
    let distinct: BTreeSet<_> = ids.iter().collect();
    assert_eq!((distinct.len(), ids.len(), unreadable), (4000, 4000, 0));
    // Each of them may have found room in the file, and then add all it has at hand.
    let texts = place
        .files()
        .into_iter()
        .map(|file| fs::read_to_string(file).unwrap());
    let texts: Vec<String> = texts.collect();
    let lines = texts.iter().flat_map(|text| text.lines());
    let longest = lines.map(|line| line.len() + 1).max().unwrap();
    let most = MANY_FILES.max_file_bytes as usize + PROCESSES * BATCH * longest;
    for text in &texts {
        assert!(
            text.len() < most,
            "{} bytes in a file, {most} at most",
            text.len()
        );
    }
}

#[test]
fn what_was_flushed_survives_a_kill() {
    let place = Place::new();
    let mut safe = BTreeSet::new();
    let kills: usize = 8;
    for round in 0..kills {
        let name = format!("round{round}");
        let mut child = place
            .child("append until killed", &name)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut reports = lines
            .map_while(Result::ok)
            .filter_map(|line| line.split("safe ").nth(1)?.parse::<u32>().ok());
        let last = reports.nth(round % 3).unwrap();
        // In the middle of the next write, if we are lucky: the first record goes alone, the other
        // fifteen, some 900 KB, together.
        let before = place.bytes();
        while place.bytes() < before + 100_000 && child.try_wait().unwrap().is_none() {}
        child.kill().unwrap();
        child.wait().unwrap();
        safe.extend((0..=last).map(|i| format!("{name}-{i}")));
    }
    let log = place.log();
    log.record(record("after-all"));
    log.flush();
    let (ids, unreadable) = place.ids();
    assert_eq!(ids[0], "after-all");
    let found: BTreeSet<String> = ids.into_iter().collect();
    assert_eq!(
        safe.difference(&found).collect::<Vec<_>>(),
        Vec::<&String>::new()
    );
    assert!(
        unreadable <= kills as u64,
        "{unreadable} damaged lines after {kills} kills"
    );
}

#[test]
fn the_log_is_private_whatever_the_umask() {
    let place = Place::new();
    assert!(
        place
            .child("with umask 000", "")
            .status()
            .unwrap()
            .success()
    );
    let modes = modes_below(&place.path);
    let [(dir, 0o700), (file, 0o600)] = &modes[..] else {
        panic!("{modes:?}");
    };
    assert!(dir == "below" && file.ends_with(".jsonl"), "{modes:?}");
}

#[test]
fn a_full_disk_costs_records_and_nothing_else() {
    let place = Place::new();
    fs::create_dir(&place.path).unwrap();
    if let Some(mut command) = Disk::Tiny.under(&place.path, &place.child("on a tiny disk", "")) {
        assert!(command.stdout(Stdio::null()).status().unwrap().success());
    }
}

fn on_a_tiny_disk(dir: &Path) {
    let filler = dir.join("filler");
    fs::write(&filler, vec![0; 40_000]).unwrap();
    let log = CallLog::new(dir);
    for i in 0..200 {
        log.record(record(&i.to_string()));
    }
    log.flush();
    let health = log.health();
    assert!(health.written > 0 && health.dropped > 0, "{health:?}");
    assert_eq!(health.written + health.dropped, 200);
    let error = health.last_error.unwrap();
    assert!(error.starts_with("cannot append to `2"), "{error}");
    assert!(
        error.ends_with(".jsonl`: the disk is full; free some space and try again"),
        "{error}"
    );

    fs::remove_file(&filler).unwrap();
    log.record(record("later"));
    log.flush();
    assert_eq!(log.health().written, health.written + 1);
    let found = CallLogReader::new(dir)
        .latest(usize::MAX, |_| true)
        .unwrap();
    assert_eq!(found.records.len() as u64, health.written + 1);
    assert_eq!(found.records[0].call_id.to_string(), "later");
    assert!(found.unreadable <= 1);
}

#[test]
fn a_read_only_disk_costs_records_and_nothing_else() {
    let place = Place::new();
    place.log().record(record("a"));
    if let Some(mut command) =
        Disk::ReadOnly.under(&place.path, &place.child("on a read-only disk", ""))
    {
        assert!(command.stdout(Stdio::null()).status().unwrap().success());
    }
}

fn on_a_read_only_disk(dir: &Path) {
    let log = CallLog::new(dir);
    for i in 0..10_000 {
        log.record(record(&i.to_string()));
    }
    log.flush();
    let health = log.health();
    assert_eq!((health.written, health.dropped), (0, 10_000));
    assert!(
        health
            .last_error
            .unwrap()
            .contains("the file system is read-only")
    );
    assert!(CallLogReader::new(dir).find("a").unwrap().is_some());
}
