//! Refused by the disk at any system call of any kind of write, a store says so, shows what is on the disk, and goes on.
//!
//! One child does an operation over and over, in a new home each time, and this side lets another call fail in each round:
//! starting a process for each would take minutes.
#![cfg(target_arch = "x86_64")]

use std::path::Path;

use nix::errno::Errno;
use nix::libc;
use serde::{Deserialize, Serialize};
use toolcrib::store::Look;
use toolcrib::{ErrorCode, ToolError};

use super::ground::Ground;
use super::operation::Operation;
use super::scale;
use super::view::View;
use crate::syscalls::{Followed, Stand, between_stops, is_change_of_files, is_on_files, is_rename};

/// A child's report of a round.
#[derive(Debug, Serialize, Deserialize)]
struct Report {
    /// What the store said when a call failed.
    said: Result<(), ToolError>,
    /// What the same store showed then, by itself.
    shown: View,
    /// What it showed after a thorough look.
    seen: View,
    /// What another one found on the disk.
    on_disk: View,
    /// What was left lying about.
    temps: Vec<String>,
    /// What the same store said to a second attempt, with nothing in its way.
    said_again: Result<(), ToolError>,
    /// What it showed then.
    shown_again: View,
    /// What another one found then.
    on_disk_again: View,
    /// What was left lying about when the reaper had been there.
    temps_after_reaping: Vec<String>,
}

/// The side that meets failures. On its own it does nothing.
#[test]
fn child() {
    let Some((operation, dir)) = Operation::from_environment() else {
        return;
    };
    let ground = Ground::new();
    let told = |result: Result<(), toolcrib::store::StoreError>| result.map_err(ToolError::from);
    for round in 0.. {
        let home = operation.prepare(&ground);
        let store = Operation::store(&home.path);
        let said = told(between_stops(|| operation.run(&store)));
        let shown = View::of(&store);
        let on_disk = View::fresh(&home.path);
        let temps = home.temps();
        store.changes(Look::Thorough).unwrap();
        let seen = View::of(&store);
        let said_again = told(between_stops(|| operation.run(&store)));
        let (shown_again, on_disk_again) = (View::of(&store), View::fresh(&home.path));
        store.reap().unwrap();
        let report = Report {
            said,
            shown,
            seen,
            on_disk,
            temps,
            said_again,
            shown_again,
            on_disk_again,
            temps_after_reaping: home.temps(),
        };
        std::fs::write(
            dir.join(round.to_string()),
            serde_json::to_vec(&report).unwrap(),
        )
        .unwrap();
    }
}

const MEMORY: &str = "/dev/shm";

/// A child that does an operation in rounds.
struct Rounds {
    child: Followed,
    dir: tempfile::TempDir,
    round: usize,
}

impl Rounds {
    fn of(operation: Operation) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let mut command = operation.in_child("store::refused::child", dir.path());
        // In memory, where there is such a place: what is refused here is refused by us, and homes are made by the thousand.
        if std::fs::metadata(MEMORY).is_ok_and(|found| found.is_dir()) {
            command.env("TMPDIR", MEMORY);
        }
        let child = Followed::start(&mut command)?;
        Some(Rounds {
            child,
            dir,
            round: 0,
        })
    }

    /// Lets the calls of the next attempt happen, but for the nth of those that count, which fails. Returns all of them, and which
    /// failed.
    fn attempt(&mut self, failing: Option<Failing>) -> (Vec<i64>, Option<i64>) {
        let (mut calls, mut failed) = (Vec::new(), None);
        let mut left = failing.map_or(0, |failing| failing.nth);
        while let Stand::BeforeCall(Some(call)) = self.child.next() {
            calls.push(call);
            let Some(failing) = failing.filter(|failing| (failing.counts)(call)) else {
                continue;
            };
            if left == 1 {
                failed = Some(call);
                self.child.fail_call(failing.error);
            }
            left = left.saturating_sub(1);
        }
        (calls, failed)
    }

    /// One round: which call failed, and what came of it.
    fn round(&mut self, failing: Option<Failing>) -> Round {
        let (first, failed) = self.attempt(failing);
        self.child.go_on();
        // The second attempt, followed by no one.
        self.child.go_on();
        self.child.go_on();
        self.report(first, Vec::new(), failed)
    }

    /// Includes the calls of the second attempt.
    fn round_of_both(&mut self, failing: Failing) -> Round {
        let (first, failed) = self.attempt(Some(failing));
        self.child.go_on();
        let (second, _) = self.attempt(None);
        self.child.go_on();
        self.report(first, second, failed)
    }

    fn report(&mut self, first: Vec<i64>, second: Vec<i64>, failed: Option<i64>) -> Round {
        let report = self.dir.path().join(self.round.to_string());
        self.round += 1;
        let report = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
        Round {
            first,
            second,
            failed,
            report,
        }
    }
}

/// Which call fails: the nth of a kind, from 1. Not the nth of all: what was written a moment ago is read again, or not.
#[derive(Clone, Copy)]
struct Failing {
    nth: usize,
    counts: fn(i64) -> bool,
    error: Errno,
}

struct Round {
    first: Vec<i64>,
    second: Vec<i64>,
    failed: Option<i64>,
    report: Report,
}

/// What every call meets.
const ALWAYS: [Errno; 2] = [Errno::EIO, Errno::ENOSPC];

/// What every third call meets, in turn; at a larger scale every one of them meets all.
const IN_TURN: [Errno; 3] = [Errno::EROFS, Errno::EDQUOT, Errno::EMFILE];

/// What the nth call meets, one after the other.
fn errors_at(nth: usize) -> Vec<Errno> {
    let others = match (scale(), nth % 3) {
        (1, 0) => &IN_TURN[nth / 3 % IN_TURN.len()..][..1],
        (1, _) => &[],
        _ => &IN_TURN,
    };
    [&ALWAYS, others].concat()
}

/// Whether a message gives a person the problem and nothing they need not know.
fn assert_is_clear(error: &ToolError, home: &Path, context: &str) {
    assert_eq!(error.code(), ErrorCode::StorageError, "{context}: {error}");
    let text = error.message();
    assert!(
        text.starts_with("cannot ") || text.contains("is damaged ("),
        "{context}: {text}"
    );
    assert!(
        ![home.to_str().unwrap(), "/tmp/", MEMORY]
            .iter()
            .any(|path| text.contains(path)),
        "{context}: {text}"
    );
}

fn assert_failures_are_reported(operation: Operation) {
    let ground = Ground::new();
    let old = View::fresh(&operation.prepare(&ground).path);
    let new = operation.done(&ground);
    let Some(mut rounds) = Rounds::of(operation) else {
        return;
    };
    let report = rounds.round(None).report;
    assert_eq!(report.said, Ok(()));
    assert_eq!((&report.shown, &report.on_disk), (&new, &new));
    let (mut failures, mut survived) = (0, 0);
    'calls: for nth in 1.. {
        for error in errors_at(nth) {
            let failing = Failing {
                nth,
                counts: is_on_files,
                error,
            };
            let round = rounds.round(Some(failing));
            let Some(call) = round.failed else {
                break 'calls;
            };
            let report = round.report;
            let context = format!("{operation:?}: {error} at call {nth} of files (number {call})");
            match &report.said {
                Ok(()) => {
                    survived += 1;
                    // The reaper leaves what it cannot read, and comes again.
                    let did_it = report.on_disk == new
                        || operation == Operation::Reap && report.on_disk == old;
                    assert!(did_it, "{context}: it says that it did it");
                }
                Err(said) => {
                    failures += 1;
                    assert_is_clear(said, ground.path(), &context);
                    let is_old_or_new = report.on_disk == old || report.on_disk == new;
                    assert!(is_old_or_new, "{context}: {:#?}", report.on_disk);
                }
            }
            assert_eq!(report.seen, report.on_disk, "{context}: after a look");
            if is_change_of_files(call) {
                assert_eq!(report.shown, report.on_disk, "{context}: by itself");
            }
            // Unless it was the tidying up that failed.
            let is_removal =
                [libc::SYS_unlink, libc::SYS_unlinkat, libc::SYS_rmdir].contains(&call);
            let may_be_left = is_removal || report.said.is_ok();
            assert!(
                may_be_left || report.temps.is_empty(),
                "{context}: {:?} was left",
                report.temps
            );
            assert_eq!(report.temps_after_reaping, [] as [&str; 0], "{context}");
            // A second attempt of what was done already may find nothing to do.
            if report.on_disk == old {
                assert_eq!(report.said_again, Ok(()), "{context}: again");
            }
            assert_eq!(report.on_disk_again, new, "{context}: again");
            assert_eq!(report.shown_again, new, "{context}: again");
        }
    }
    // The reaper leaves what it cannot read; and what is wrong with a directory, all others are looked at to find out.
    let reads_all = matches!(operation, Operation::Reap | Operation::SetAsideBundle);
    assert!(
        failures > survived || reads_all && failures > 10,
        "{operation:?}: {failures} reported, {survived} without consequence"
    );
}

macro_rules! refused {
    ($($name:ident $operation:ident;)*) => {
        $(#[test]
        fn $name() {
            assert_failures_are_reported(Operation::$operation);
        })*

        #[test]
        fn every_kind_of_write_is_refused() {
            assert_eq!([$(Operation::$operation),*], Operation::ALL);
        }
    };
}

refused! {
    the_first_bundle_of_a_home_reports_every_failure FirstBundle;
    a_new_bundle_reports_every_failure PutBundle;
    a_replaced_bundle_reports_every_failure ReplaceBundle;
    a_switched_bundle_reports_every_failure SwitchBundle;
    a_bundle_that_was_shown_reports_every_failure EnableShown;
    a_deleted_bundle_reports_every_failure DeleteBundle;
    a_restored_bundle_reports_every_failure RestoreBundle;
    a_new_tool_reports_every_failure PutTool;
    a_replaced_tool_reports_every_failure ReplaceTool;
    a_switched_tool_reports_every_failure SwitchTool;
    a_deleted_tool_reports_every_failure DeleteTool;
    an_installation_reports_every_failure InstallNew;
    an_update_reports_every_failure InstallUpdate;
    reaping_reports_every_failure Reap;
    setting_aside_reports_every_failure SetAside;
    setting_a_directory_aside_reports_every_failure SetAsideFull;
    setting_a_whole_bundle_aside_reports_every_failure SetAsideBundle;
    a_bundle_made_anew_reports_every_failure PutHeadless;
    a_recovered_bundle_reports_every_failure RecoverBundle;
}

fn is_sync(call: i64) -> bool {
    [libc::SYS_fsync, libc::SYS_fdatasync].contains(&call)
}

/// What brings content and names to the disk, in order.
fn durable_steps(calls: &[i64]) -> String {
    let step = |call: &i64| match *call {
        libc::SYS_write | libc::SYS_writev => Some('w'),
        libc::SYS_fsync | libc::SYS_fdatasync => Some('s'),
        libc::SYS_unlink | libc::SYS_unlinkat => Some('u'),
        call if is_rename(call) => Some('r'),
        _ => None,
    };
    calls.iter().filter_map(step).collect()
}

/// Whether an operation takes something away and writes nothing.
fn is_removal(operation: Operation) -> bool {
    matches!(operation, Operation::DeleteTool | Operation::Reap) || operation.is_setting_aside()
}

/// STO-004: the kernel reports a failed write-back once; a second `fsync` says 0 of data that never got to the disk.
#[test]
fn every_kind_of_write_is_on_the_disk_before_it_says_so_and_written_again_after_a_failed_fsync() {
    for operation in Operation::ALL {
        let Some(mut rounds) = Rounds::of(operation) else {
            return;
        };
        let calls = rounds.round(None).first;
        let expected = durable_steps(&calls);
        assert_is_on_the_disk(operation, &expected);
        for nth in 1.. {
            let failing = Failing {
                nth,
                counts: is_sync,
                error: Errno::EIO,
            };
            let round = rounds.round_of_both(failing);
            if round.failed.is_none() {
                break;
            }
            let (report, again) = (round.report, round.second);
            let context = format!("{operation:?}: fsync {nth} failed");
            assert!(report.said.is_err(), "{context}, and no one said so");
            let steps = durable_steps(&again);
            match operation {
                // Gone is gone; what counts is that the directory is synced before that is said.
                _ if is_removal(operation) => {
                    let said_durable = report.said_again.is_ok();
                    let is_synced = steps.contains("rs") || steps.contains("us");
                    assert!(!said_durable || is_synced, "{context}: {steps}");
                }
                _ => {
                    assert_eq!(report.said_again, Ok(()), "{context}");
                    assert!(
                        steps.contains("ws")
                            && steps.trim_start_matches(['w', 's', 'u']).contains("rs"),
                        "{context}: again it did {steps} and not {expected}"
                    );
                }
            }
        }
    }
}

/// Content gets to the disk before its name does, and the name before the store says so.
fn assert_is_on_the_disk(operation: Operation, steps: &str) {
    if is_removal(operation) {
        let is_synced = steps.contains("rs") || steps.contains("us");
        assert!(is_synced, "{operation:?}: {steps}");
        return;
    }
    assert!(
        steps.contains("wsr") || steps.contains("wssr"),
        "{operation:?}: {steps}"
    );
    let behind = steps.rsplit('r').next().unwrap();
    assert!(behind.starts_with('s'), "{operation:?}: {steps}");
}
