//! Counting as the thread of the call log does it, on real files.

use std::sync::Arc;

use super::*;
use crate::model::JsonObject;
use crate::model::caller::Caller;
use crate::model::ids::CallId;
use crate::model::names::{Slug, Version};
use crate::record::call_log::CallLog;
use toolcrib_core::record::Recorder as _;

fn call(bundle: &str, slug: &str) -> CallRecord {
    CallRecord {
        call_id: CallId::generate(),
        tool: slug.to_owned(),
        bundle: Some(Slug::parse(bundle).unwrap()),
        slug: Some(Slug::parse(slug).unwrap()),
        version: Some(Version::v1()),
        tool_id: None,
        reached: true,
        caller: Caller::Library,
        parent: None,
        start_time: Timestamp::from_second(1_000).unwrap(),
        end_time: Timestamp::from_second(1_001).unwrap(),
        queue_time_ms: 0.0,
        execution_time_ms: 0.0,
        duration_ms: 0.0,
        ok: false,
        code: None,
        message: None,
        approval: None,
        truncated: false,
        network: Vec::new(),
        steps: Vec::new(),
        hook: None,
        parameters: JsonObject::new(),
    }
}

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Home(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path().join("state").join(name)
    }

    fn log(&self) -> UsageLog {
        UsageLog::at(self.path(), Some(Path::new("/work")))
    }

    /// What a process that starts now would say.
    fn count(&self, bundle: &str, slug: &str) -> u64 {
        count_of(&self.log(), bundle, slug)
    }

    fn problems(&self) -> Vec<UsageProblem> {
        self.log().problems()
    }
}

impl UsageLog {
    fn count(&self, record: &CallRecord) {
        if let Some(call) = Calls::of(record) {
            self.add(&call);
        }
    }
}

fn count_of(log: &UsageLog, bundle: &str, slug: &str) -> u64 {
    usage_of(log, bundle, slug).call_count
}

fn usage_of(log: &UsageLog, bundle: &str, slug: &str) -> Usage {
    let mut spec = ToolSpec::new(
        crate::model::names::WireName::parse("x").unwrap(),
        "x",
        crate::schema::Schema::object().build().unwrap(),
    );
    spec.bundle = Slug::parse(bundle).unwrap();
    spec.slug = Slug::parse(slug).unwrap();
    log.of(&spec, None)
}

#[test]
fn calls_are_counted_with_the_time_of_the_last() {
    let home = Home::new();
    let log = home.log();
    let mut later = call("core", "a");
    later.start_time = Timestamp::from_second(2_000).unwrap();
    for record in [
        call("core", "a"),
        later,
        call("core", "a"),
        call("core", "b"),
    ] {
        log.count(&record);
    }
    let usage = Usage {
        call_count: 3,
        last_called_at: Some(Timestamp::from_second(2_000).unwrap()),
    };
    assert_eq!(usage_of(&log, "core", "a"), usage, "before it is written");
    assert_eq!(log.settle(true), None);
    assert_eq!(usage_of(&log, "core", "a"), usage, "after");
    assert_eq!(usage_of(&home.log(), "core", "a"), usage, "for others");
    assert_eq!(home.count("core", "b"), 1);
    assert_eq!(usage_of(&home.log(), "core", "c"), Usage::default());
}

#[test]
fn what_did_not_reach_its_tool_is_not_counted() {
    let home = Home::new();
    let log = home.log();
    let mut refused = call("core", "a");
    refused.reached = false;
    let mut unknown = call("core", "a");
    unknown.bundle = None;
    log.count(&refused);
    log.count(&unknown);
    assert_eq!(log.settle(true), None);
    assert_eq!(count_of(&log, "core", "a"), 0);
    assert!(!home.path().join("state").exists(), "nothing to write");
}

#[test]
fn tools_of_a_workspace_are_counted_by_workspace() {
    let home = Home::new();
    let here = home.log();
    here.count(&call("local", "a"));
    here.count(&call("user", "a"));
    here.settle(true);
    let elsewhere = UsageLog::at(home.path(), Some(Path::new("/elsewhere")));
    assert_eq!(count_of(&here, "local", "a"), 1);
    assert_eq!(count_of(&elsewhere, "local", "a"), 0);
    assert_eq!(count_of(&elsewhere, "user", "a"), 1);
}

#[test]
fn counts_wait_a_second_for_more() {
    let home = Home::new();
    let log = home.log();
    log.count(&call("core", "a"));
    assert_eq!(log.settle(false), None, "the first is written at once");
    log.count(&call("core", "a"));
    let left = log.settle(false).unwrap();
    assert!(left <= PACE);
    assert_eq!(home.count("core", "a"), 1);
    log.settle(true);
    assert_eq!(home.count("core", "a"), 2);
}

#[test]
fn folding_changes_no_count_and_leaves_one_file() {
    let home = Home::new();
    let log = home.log();
    for round in 1..=3 {
        log.count(&call("core", "a"));
        log.count(&call("local", "b"));
        log.settle(true);
        assert_eq!(log.mend().unwrap(), []);
        assert_eq!(home.count("core", "a"), round);
        assert_eq!(home.count("local", "b"), round);
        let names: Vec<String> = std::fs::read_dir(home.path().join("state"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != ".lock")
            .collect();
        assert_eq!(names, ["usage.json"]);
    }
}

#[test]
fn lines_that_grow_long_are_folded_by_themselves() {
    let home = Home::new();
    let log = home.log();
    let rounds = 1_000;
    for _ in 0..rounds {
        log.count(&call("core", "a"));
        log.count(&call("core", "b"));
        log.settle(true);
    }
    assert!(home.file("usage.json").exists());
    assert!(std::fs::metadata(home.file("usage.jsonl")).map_or(0, |file| file.len()) < 80_000);
    assert_eq!(
        (home.count("core", "a"), home.count("core", "b")),
        (rounds, rounds)
    );
}

/// A folder that was killed has left a file with a number: before `usage.json` was written its lines count, afterwards they do not.
#[test]
fn a_killed_folding_loses_nothing_and_counts_nothing_twice() {
    let home = Home::new();
    let log = home.log();
    log.count(&call("core", "a"));
    log.settle(true);
    let lines = std::fs::read(home.file("usage.jsonl")).unwrap();
    std::fs::rename(home.file("usage.jsonl"), home.file("usage.1.jsonl")).unwrap();
    assert_eq!(home.count("core", "a"), 1, "killed before the writing");
    log.mend().unwrap();
    assert_eq!(home.count("core", "a"), 1);
    std::fs::write(home.file("usage.1.jsonl"), lines).unwrap();
    assert_eq!(home.count("core", "a"), 1, "killed after the writing");
    log.count(&call("core", "a"));
    log.settle(true);
    log.mend().unwrap();
    assert_eq!(home.count("core", "a"), 2);
    assert!(!home.file("usage.1.jsonl").exists());
}

#[test]
fn nothing_that_was_appended_is_lost_while_others_fold() {
    let home = Home::new();
    let (threads, rounds) = (8, 60);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let log = home.log();
                for round in 0..rounds {
                    log.count(&call("core", "a"));
                    log.settle(true);
                    if round % 7 == 0 {
                        log.mend().unwrap();
                    }
                }
                // What met a folding waits for the next call; here is none.
                while !log.lock().waiting.is_empty() {
                    log.settle(true);
                }
            });
        }
    });
    assert_eq!(home.count("core", "a"), threads * rounds);
}

#[test]
fn a_torn_line_costs_itself_only_and_mending_drops_it() {
    let home = Home::new();
    let log = home.log();
    log.count(&call("core", "a"));
    log.settle(true);
    let mut bytes = std::fs::read(home.file("usage.jsonl")).unwrap();
    bytes.extend_from_slice(b"\n{\"tool\":\"core/a@v1\",\"ca");
    std::fs::write(home.file("usage.jsonl"), bytes).unwrap();
    log.count(&call("core", "a"));
    log.settle(true);
    assert_eq!(home.count("core", "a"), 2);
    let problems = home.problems();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0].reason, "a damaged line is passed over");
    log.mend().unwrap();
    assert_eq!(home.problems(), []);
    assert_eq!(home.count("core", "a"), 2);
}

#[test]
fn damaged_files_stop_no_counting_and_are_set_aside_when_mended() {
    let damages: [(&str, &[u8]); 5] = [
        ("usage.json", b""),
        ("usage.json", b"{}"),
        ("usage.json", b"\0\0\0\0"),
        (
            "usage.json",
            b"{\"folded\":18446744073709551615,\"counts\":{}}",
        ),
        (
            "usage.json",
            b"{\"folded\":1,\"counts\":{\"tools\":{\"core/a@v1\":[]}}}",
        ),
    ];
    for (name, bytes) in damages {
        let home = Home::new();
        std::fs::create_dir(home.path().join("state")).unwrap();
        std::fs::write(home.file(name), bytes).unwrap();
        let log = home.log();
        log.count(&call("core", "a"));
        log.settle(true);
        assert_eq!(home.count("core", "a"), 1, "{bytes:?}");
        assert_eq!(home.problems().len(), 1, "{bytes:?}");
        let moved = log.mend().unwrap();
        assert_eq!(moved.len(), 1);
        assert_eq!(std::fs::read(&moved[0].1).unwrap(), bytes);
        assert_eq!(home.problems(), []);
        assert_eq!(home.count("core", "a"), 1);
        assert_eq!(log.mend().unwrap(), [], "once is enough");
    }
}

#[test]
fn a_directory_or_link_in_the_place_of_the_lines_costs_counts_and_is_set_aside() {
    for is_link in [true, false] {
        let home = Home::new();
        std::fs::create_dir(home.path().join("state")).unwrap();
        let victim = home.path().join("victim");
        std::fs::write(&victim, "untouched").unwrap();
        match is_link {
            true => std::os::unix::fs::symlink(&victim, home.file("usage.jsonl")).unwrap(),
            false => std::fs::create_dir(home.file("usage.jsonl")).unwrap(),
        }
        let log = home.log();
        log.count(&call("core", "a"));
        assert_eq!(log.settle(true), None);
        assert!(log.trouble().is_some());
        assert_eq!(home.problems().len(), 1);
        assert_eq!(log.mend().unwrap().len(), 1);
        log.settle(true);
        assert_eq!(home.count("core", "a"), 1, "it waited");
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "untouched");
        assert_eq!(log.trouble(), None);
    }
}

#[test]
fn a_home_that_cannot_be_written_costs_counts_only() {
    let home = Home::new();
    std::fs::write(home.path().join("state"), "a file").unwrap();
    let log = home.log();
    log.count(&call("core", "a"));
    assert_eq!(log.settle(true), None);
    assert!(log.trouble().is_some());
    assert_eq!(count_of(&log, "core", "a"), 1, "this process knows");
    assert_eq!(home.count("core", "a"), 0);
}

#[test]
fn the_call_log_counts_what_it_writes_and_a_flush_brings_it_to_others() {
    let home = Home::new();
    let usage = Arc::new(home.log());
    let log = CallLog::new(home.path().join("calls")).counting(Arc::clone(&usage));
    for _ in 0..5 {
        log.record(call("core", "a"));
    }
    log.flush();
    assert_eq!(home.count("core", "a"), 5);
    log.record(call("core", "a"));
    drop(log);
    assert_eq!(home.count("core", "a"), 6, "dropping flushes");
}

#[test]
fn a_process_sees_what_another_counts() {
    let home = Home::new();
    let (one, other) = (home.log(), home.log());
    assert_eq!(count_of(&other, "core", "a"), 0);
    for expected in 1..=3 {
        one.count(&call("core", "a"));
        one.settle(true);
        let deadline = Instant::now() + Duration::from_secs(5);
        while count_of(&other, "core", "a") != expected {
            assert!(Instant::now() < deadline, "never seen");
            std::thread::yield_now();
        }
    }
}

#[test]
fn lines_are_not_folded_while_another_process_appends_to_them() {
    let home = Home::new();
    let log = home.log();
    log.count(&call("core", "a"));
    log.settle(true);
    let lines = std::fs::read(home.file("usage.jsonl")).unwrap();
    let mut appending = std::fs::File::options()
        .append(true)
        .open(home.file("usage.jsonl"))
        .unwrap();
    appending.lock_shared().unwrap();
    log.mend().unwrap();
    std::io::Write::write_all(&mut appending, &lines).unwrap();
    drop(appending);
    log.mend().unwrap();
    assert_eq!(home.count("core", "a"), 2);
}

#[test]
fn counts_wait_while_a_stopped_process_is_folding() {
    let home = Home::new();
    let log = home.log();
    log.count(&call("core", "a"));
    log.settle(true);
    let folding = std::fs::File::open(home.file("usage.jsonl")).unwrap();
    folding.lock().unwrap();
    log.count(&call("core", "a"));
    assert_eq!(log.settle(true), None, "it does not wait");
    assert!(log.trouble().is_some());
    drop(folding);
    log.settle(true);
    assert_eq!(home.count("core", "a"), 2);
}

#[test]
fn a_damaged_file_is_put_away_only_by_the_process_that_mends_it() {
    let home = Home::new();
    std::fs::create_dir(home.path().join("state")).unwrap();
    std::fs::write(home.file("usage.json"), "{").unwrap();
    let log = home.log();
    log.count(&call("core", "a"));
    log.settle(true);
    assert!(log.files.fold(Timestamp::now()).is_err());
    assert_eq!(std::fs::read(home.file("usage.json")).unwrap(), b"{");
    assert!(!home.path().join("damaged").exists());
    assert_eq!(home.count("core", "a"), 1);
    assert_eq!(log.mend().unwrap().len(), 1);
    assert_eq!(home.count("core", "a"), 1);
}

#[test]
fn what_the_system_refuses_for_a_while_is_not_damage() {
    use rustix::io::Errno;
    for errno in [Errno::MFILE, Errno::IO, Errno::ACCESS, Errno::NOMEM] {
        let error = StorageError::io("read", "usage.json", errno);
        assert!(!files::is_damage(&error), "{error}");
    }
    let name = || "usage.json".to_owned();
    let limit = 1;
    assert!(files::is_damage(&StorageError::NotAFile { name: name() }));
    assert!(files::is_damage(&StorageError::TooLarge {
        name: name(),
        limit
    }));
}

/// The file that held those counts is gone with them, so what is left of its lines is counted once.
#[test]
fn lines_that_were_folded_into_a_file_that_is_set_aside_are_not_counted_twice() {
    let home = Home::new();
    let log = home.log();
    log.count(&call("core", "a"));
    log.settle(true);
    let lines = std::fs::read(home.file("usage.jsonl")).unwrap();
    log.mend().unwrap();
    // The folding process died before it could remove them; then the file was damaged.
    std::fs::write(home.file("usage.1.jsonl"), lines).unwrap();
    assert_eq!(home.count("core", "a"), 1);
    std::fs::write(home.file("usage.json"), "{").unwrap();
    assert_eq!(log.mend().unwrap().len(), 1);
    assert_eq!(home.count("core", "a"), 1);
}

#[test]
fn a_stored_tool_is_counted_by_its_id_whatever_it_is_called() {
    let home = Home::new();
    let log = home.log();
    let id = ToolId::generate();
    for bundle in ["old", "new"] {
        let record = CallRecord {
            tool_id: Some(id),
            ..call(bundle, "a")
        };
        log.count(&record);
    }
    log.settle(true);
    let mut spec = ToolSpec::new(
        crate::model::names::WireName::parse("x").unwrap(),
        "x",
        crate::schema::Schema::object().build().unwrap(),
    );
    spec.bundle = Slug::parse("newest").unwrap();
    assert_eq!(home.log().of(&spec, Some(id)).call_count, 2);
    assert_eq!(home.log().of(&spec, Some(ToolId::generate())).call_count, 0);
    for bundle in ["old", "new"] {
        assert_eq!(home.count(bundle, "a"), 0);
    }
}
