//! The promises of the call log. Here: what is recorded can be read, and files come and go. In
//! `crash.rs`: other processes, deaths, and disks that refuse.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

mod crash;
mod written;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use jiff::Timestamp;
use serde_json::json;
use toolcrib::record::call_log::{CallLog, CallLogHealth, CallLogOptions, CallLogReader};
use toolcrib::record::{CallRecord, Recorder as _};
use toolcrib::{CallId, Caller, ErrorCode, Slug, Version};

fn record(id: &str) -> CallRecord {
    let now = Timestamp::now();
    CallRecord {
        call_id: CallId::parse(id).unwrap(),
        tool: String::from("read_file"),
        bundle: Some(Slug::parse("core").unwrap()),
        slug: Some(Slug::parse("read-file").unwrap()),
        version: Some(Version::v1()),
        tool_id: None,
        reached: true,
        caller: Caller::Library,
        parent: None,
        start_time: now,
        end_time: now,
        queue_time_ms: 0.25,
        execution_time_ms: 1.5,
        duration_ms: 1.75,
        ok: true,
        code: None,
        message: None,
        approval: None,
        truncated: false,
        network: Vec::new(),
        steps: Vec::new(),
        hook: None,
        parameters: json!({"path": "notes.md"}).as_object().unwrap().clone(),
    }
}

/// The directory of a log.
struct Place {
    _temp: tempfile::TempDir,
    path: PathBuf,
}

impl Place {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("calls");
        Place { _temp: temp, path }
    }

    fn log(&self) -> CallLog {
        CallLog::new(&self.path)
    }

    fn small_log(&self) -> CallLog {
        CallLog::with_options(&self.path, SMALL)
    }

    /// Every id in the log, newest first, and the number of damaged lines.
    fn ids(&self) -> (Vec<String>, u64) {
        let found = CallLogReader::new(&self.path)
            .latest(usize::MAX, |_| true)
            .unwrap();
        (
            found
                .records
                .iter()
                .map(|record| record.call_id.to_string())
                .collect(),
            found.unreadable,
        )
    }

    fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.path)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = entries
            .filter(|path| path.extension().is_some_and(|ext| ext == "jsonl"))
            .collect();
        files.sort();
        files
    }

    fn bytes(&self) -> u64 {
        self.files()
            .iter()
            .map(|path| fs::metadata(path).unwrap().len())
            .sum()
    }

    fn only_file(&self) -> PathBuf {
        let files = self.files();
        assert_eq!(files.len(), 1, "{files:?}");
        files.into_iter().next().unwrap()
    }
}

/// Some ten records a file, some four files.
const SMALL: CallLogOptions = CallLogOptions {
    max_file_bytes: 3000,
    max_total_bytes: 12_000,
};

/// Some forty records a file, and room for all files.
const MANY_FILES: CallLogOptions = CallLogOptions {
    max_file_bytes: 12_000,
    max_total_bytes: u64::MAX,
};

fn written(count: u64) -> CallLogHealth {
    CallLogHealth {
        written: count,
        dropped: 0,
        last_error: None,
    }
}

#[test]
fn records_are_read_back_newest_first() {
    let place = Place::new();
    let mut records: Vec<CallRecord> = ["a", "b\"\\", "c"].map(record).into();
    records[1].ok = false;
    records[1].code = Some(ErrorCode::FileNotFound);
    records[1].message = Some(String::from("no such file"));
    records[2].parent = Some(records[0].call_id.clone());
    let log = place.log();
    for record in &records {
        log.record(record.clone());
    }
    log.flush();
    assert_eq!(log.health(), written(3));

    let reader = CallLogReader::new(&place.path);
    let newest_first: Vec<CallRecord> = records.iter().rev().cloned().collect();
    let found = reader.latest(10, |_| true).unwrap();
    assert_eq!((found.records, found.unreadable), (newest_first.clone(), 0));
    assert_eq!(
        reader.latest(2, |_| true).unwrap().records,
        newest_first[..2]
    );
    assert_eq!(reader.latest(0, |_| true).unwrap().records, []);
    assert_eq!(
        reader.latest(10, |record| !record.ok).unwrap().records,
        newest_first[1..2]
    );
    assert_eq!(reader.find("a").unwrap().as_ref(), Some(&records[0]));
    assert_eq!(reader.find("b\"\\").unwrap().as_ref(), Some(&records[1]));
    assert_eq!(reader.find("d").unwrap(), None);
    // It is in a line, but it is not a call's id.
    assert_eq!(reader.find("core").unwrap(), None);
}

#[test]
fn neither_reading_nor_an_unused_log_creates_anything() {
    let place = Place::new();
    let log = place.log();
    log.flush();
    drop(log);
    assert_eq!(CallLogReader::new(&place.path).find("a").unwrap(), None);
    assert_eq!(place.ids(), (vec![], 0));
    assert!(!place.path.exists());
}

#[test]
fn dropping_the_log_writes_what_is_left_and_the_next_goes_on_behind_it() {
    let place = Place::new();
    place.log().record(record("a"));
    place.log().record(record("b"));
    assert_eq!(place.ids(), (vec![String::from("b"), String::from("a")], 0));
    place.only_file();
}

#[test]
fn senders_wait_when_the_queue_is_full_and_lose_nothing() {
    let place = Place::new();
    let log = place.log();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let log = &log;
            scope.spawn(move || {
                for i in 0..5000 {
                    log.record(record(&format!("{thread}-{i}")));
                }
                log.flush();
            });
        }
    });
    assert_eq!(log.health(), written(20_000));
    let (ids, unreadable) = place.ids();
    assert_eq!(
        (
            ids.iter().collect::<BTreeSet<_>>().len(),
            ids.len(),
            unreadable
        ),
        (20_000, 20_000, 0)
    );
}

#[test]
fn a_full_file_is_continued_in_the_next_part() {
    let place = Place::new();
    let log = CallLog::with_options(&place.path, MANY_FILES);
    for i in 0..500 {
        log.record(record(&i.to_string()));
        if i % 5 == 0 {
            log.flush();
        }
    }
    log.flush();
    let (ids, unreadable) = place.ids();
    assert_eq!(unreadable, 0);
    assert_eq!(
        ids,
        (0..500).rev().map(|i| i.to_string()).collect::<Vec<_>>()
    );
    let files = place.files();
    assert!(files.len() > 10, "{files:?}");
    for file in files {
        assert!(fs::metadata(&file).unwrap().len() < 14_000, "{file:?}");
    }
}

#[test]
fn the_oldest_files_go_when_all_are_too_large() {
    let place = Place::new();
    fs::create_dir(&place.path).unwrap();
    let foreign = [
        "notes.txt",
        "2020-01-01.json",
        "2020-13-01.jsonl",
        "2020-01-01.01.jsonl",
    ];
    for name in foreign {
        fs::write(place.path.join(name), "x".repeat(10_000)).unwrap();
    }
    fs::write(place.path.join("2020-01-01.jsonl"), "x\n").unwrap();
    let log = place.small_log();
    for i in 0..200 {
        log.record(record(&i.to_string()));
        log.flush();
        let (ids, _) = place.ids();
        assert_eq!(
            ids.first(),
            Some(&i.to_string()),
            "the current file is never removed"
        );
    }
    assert_eq!(log.health(), written(200));
    let (ids, unreadable) = place.ids();
    assert_eq!(unreadable, 0, "the file of 2020 is the oldest");
    assert_eq!(
        ids,
        (200 - ids.len()..200)
            .rev()
            .map(|i| i.to_string())
            .collect::<Vec<_>>()
    );
    assert!((20..60).contains(&ids.len()), "{}", ids.len());
    for name in foreign {
        assert!(place.path.join(name).exists(), "{name}");
    }
}

#[test]
fn a_torn_line_costs_nothing_but_itself() {
    let place = Place::new();
    place.log().record(record("a"));
    let append = |text: &str| {
        fs::OpenOptions::new()
            .append(true)
            .open(place.only_file())
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
    };
    append("{\"callId\":\"torn");
    // Someone may be writing it at this moment: not damage yet.
    assert_eq!(place.ids(), (vec![String::from("a")], 0));

    let log = place.log();
    log.record(record("b"));
    log.flush();
    assert_eq!(place.ids(), (["b", "a"].map(String::from).into(), 1));

    let text = fs::read_to_string(place.only_file()).unwrap();
    assert!(
        text.contains("\n{\"callId\":\"torn\n{\"callId\":\"b\""),
        "{text}"
    );

    // Another process dies while we have the file open.
    append("{\"callId\":\"torn, too");
    log.record(record("c"));
    log.record(record("d"));
    log.flush();
    log.record(record("e"));
    log.flush();
    let (ids, unreadable) = place.ids();
    assert_eq!(
        ids.into_iter().collect::<BTreeSet<_>>(),
        ["a", "b", "c", "d", "e"].map(String::from).into()
    );
    assert_eq!(unreadable, 2);
    assert_eq!(log.health(), written(4));
}

#[test]
fn a_log_removed_under_our_hands_is_begun_again() {
    let place = Place::new();
    let log = place.log();
    log.record(record("a"));
    log.flush();
    fs::remove_file(place.only_file()).unwrap();
    log.record(record("b"));
    log.flush();
    assert_eq!(place.ids(), (vec![String::from("b")], 0));
    fs::remove_dir_all(&place.path).unwrap();
    log.record(record("c"));
    log.flush();
    assert_eq!(place.ids(), (vec![String::from("c")], 0));
}

#[test]
fn damaged_and_overlong_lines_are_passed_over_and_counted() {
    let place = Place::new();
    place.log().record(record("first"));
    let file = place.only_file();
    let line = |id: &str| serde_json::to_string(&record(id)).unwrap() + "\n";
    let mut text = fs::read(&file).unwrap();
    text.extend_from_slice(b"not json\n{}\n\n\xff\xfe\n");
    text.extend_from_slice(line("second").as_bytes());
    text.extend(std::iter::repeat_n(b'x', 3_000_000));
    text.extend_from_slice(b"\n");
    for i in 0..5000 {
        text.extend_from_slice(line(&format!("many-{i}")).as_bytes());
    }
    fs::write(&file, text).unwrap();
    let (ids, unreadable) = place.ids();
    assert_eq!(unreadable, 4);
    let expected = (0..5000)
        .rev()
        .map(|i| format!("many-{i}"))
        .chain(["second", "first"].map(String::from));
    assert_eq!(ids, expected.collect::<Vec<_>>());
    let reader = CallLogReader::new(&place.path);
    assert_eq!(
        reader.find("first").unwrap().unwrap().call_id,
        CallId::parse("first").unwrap()
    );
}
