//! Killed at any system call, or refused by the disk at any, a file has its old content or its new
//! one, and the next writer finds the way free.
//!
//! A kill stops the program, not the machine: what was written before it stays in the page cache.
//! That the right things are on the disk in the right order when the power fails is what
//! `content_reaches_the_disk_before_its_name_does` looks at.

use toolcrib::ErrorCode;
use toolcrib::storage::DurableDir;

use super::disk::Disk;
use super::{NEW, OLD, Operation, Place, modes_below, names_in};
use crate::syscalls::{Followed, Stand};

/// Kills a child at its first system call, another at its second, and so on, and hands every place
/// to `check`. The last child gets through.
///
/// Returns whether that can be done here.
fn kill_at_every_call(
    operation: Operation,
    prepare: fn() -> Place,
    mut check: impl FnMut(usize, &Place),
) -> bool {
    for call in 1.. {
        let place = prepare();
        let Some(mut child) = Followed::start(&mut operation.in_child(&place)) else {
            return false;
        };
        let is_done = !child.gets_to(call);
        if is_done {
            assert_eq!(child.finish(), 0);
            place.result_of_child().unwrap();
        } else {
            child.kill();
        }
        check(call, &place);
        if is_done {
            assert!(call > 5, "followed only {call} calls: that cannot be all");
            break;
        }
    }
    true
}

/// A new writer finds the lock free, sweeps up, and writes.
fn assert_next_writer_works(place: &Place, context: &str) {
    let dir = place.dir();
    let lock = dir
        .try_lock()
        .unwrap()
        .unwrap_or_else(|| panic!("{context}: the lock is stuck"));
    let temps = place.temps();
    assert_eq!(dir.sweep(&lock).unwrap(), temps, "{context}");
    dir.write(&lock, "x.json", b"later").unwrap();
    assert_eq!(
        place.content().as_deref(),
        Some(b"later".as_slice()),
        "{context}"
    );
    assert_eq!(names_in(&place.path), [".lock", "x.json"], "{context}");
}

/// Checks that the content changes from `before` to `after` at one call, and is nothing else ever.
/// Returns how many temporary files there were to be swept, if that can be done here.
fn assert_changes_once(
    operation: Operation,
    prepare: fn() -> Place,
    before: Option<&[u8]>,
    after: Option<&[u8]>,
) -> Option<usize> {
    let mut changed_at = None;
    let mut temps = 0;
    let is_followed = kill_at_every_call(operation, prepare, |call, place| {
        let context = format!("{operation:?} killed at call {call}");
        let content = place.content();
        if changed_at.is_none() && content.as_deref() == after {
            changed_at = Some(call);
        }
        let expected = if changed_at.is_some() { after } else { before };
        assert_eq!(content.as_deref(), expected, "{context}");
        assert!(place.temps() <= 1, "{context}");
        temps += place.temps();
        assert_next_writer_works(place, &context);
    });
    is_followed.then(|| {
        assert!(changed_at.is_some());
        temps
    })
}

#[test]
fn a_write_killed_at_any_call_leaves_old_or_new() {
    let swept = assert_changes_once(
        Operation::Write,
        Place::with_old_content,
        Some(OLD),
        Some(NEW),
    );
    assert!(
        swept.is_none_or(|swept| swept > 3),
        "a child was killed between opening, writing, syncing and renaming"
    );
}

#[test]
fn a_creation_killed_at_any_call_leaves_nothing_or_all() {
    let swept = assert_changes_once(Operation::CreateNew, Place::new, None, Some(NEW));
    assert!(
        swept.is_none_or(|swept| swept > 3),
        "a child was killed between opening, writing, syncing and renaming"
    );
}

#[test]
fn a_removal_killed_at_any_call_leaves_all_or_nothing() {
    let swept = assert_changes_once(Operation::Remove, Place::with_old_content, Some(OLD), None);
    assert!(swept.is_none_or(|swept| swept == 0));
}

#[test]
fn making_directories_can_be_killed_at_any_call_and_done_again() {
    kill_at_every_call(Operation::CreateDirs, Place::new, |call, place| {
        let dir = DurableDir::create(place.path.join("a/b")).unwrap();
        let lock = dir
            .try_lock()
            .unwrap()
            .unwrap_or_else(|| panic!("call {call}: the lock is stuck"));
        dir.create_subdir(&lock, "c")
            .unwrap()
            .write(&lock, "x.json", NEW)
            .unwrap();
        for (name, mode) in modes_below(&place.path) {
            assert_eq!(mode & 0o077, 0, "call {call}: {name} has mode {mode:o}");
        }
    });
}

#[test]
fn a_full_disk_keeps_the_old_content() {
    let place = Place::new();
    let Some(mut command) =
        Disk::Tiny.under(&place.path, &Operation::WriteTooMuch.in_child(&place))
    else {
        return;
    };
    assert!(command.output().unwrap().status.success());
    let error = place.result_of_child().unwrap_err();
    assert_eq!(error.code(), ErrorCode::StorageError);
    assert_eq!(
        error.message(),
        "cannot write `x.json`: the disk is full; free some space and try again"
    );
}

#[test]
fn a_read_only_disk_can_be_read_and_says_why_it_is_not_written() {
    let place = Place::with_old_content();
    let Some(mut command) =
        Disk::ReadOnly.under(&place.path, &Operation::WriteTooMuch.in_child(&place))
    else {
        return;
    };
    assert!(command.output().unwrap().status.success());
    let error = place.result_of_child().unwrap_err();
    assert!(
        error
            .message()
            .starts_with("cannot lock `dir`: the file system is read-only; "),
        "{error}"
    );
}

/// Which call fails, and how, can be chosen only where we know the registers.
#[cfg(target_arch = "x86_64")]
mod failing_calls {
    use nix::errno::Errno;
    use nix::libc;

    use super::*;
    use crate::syscalls::is_rename;

    /// The calls of an operation, in order.
    fn calls_of(operation: Operation, place: &Place) -> Option<Vec<i64>> {
        let mut child = Followed::start(&mut operation.in_child(place))?;
        let mut calls = Vec::new();
        while let Stand::BeforeCall(Some(number)) = child.next() {
            calls.push(number);
        }
        assert_eq!(child.finish(), 0);
        Some(calls)
    }

    /// Runs an operation up to a call, by index and number, and makes that fail.
    fn fail(
        operation: Operation,
        place: &Place,
        (index, call): (usize, i64),
        error: Errno,
    ) -> Followed {
        let mut child = Followed::start(&mut operation.in_child(place)).unwrap();
        for _ in 0..index {
            assert_ne!(child.next(), Stand::Done);
        }
        assert_eq!(
            child.next(),
            Stand::BeforeCall(Some(call)),
            "the child went another way this time"
        );
        child.fail_call(error);
        child
    }

    fn finish(mut child: Followed) {
        while child.next() != Stand::Done {}
        assert_eq!(child.finish(), 0);
    }

    /// Calls whose failure an operation has to report.
    fn is_on_files(call: i64) -> bool {
        let others = [
            libc::SYS_openat,
            libc::SYS_fchmod,
            libc::SYS_write,
            libc::SYS_fsync,
            libc::SYS_flock,
            libc::SYS_fstat,
            libc::SYS_newfstatat,
            libc::SYS_statx,
            libc::SYS_unlink,
            libc::SYS_unlinkat,
        ];
        is_rename(call) || others.contains(&call)
    }

    #[test]
    fn content_reaches_the_disk_before_its_name_does() {
        let place = Place::with_old_content();
        let Some(calls) = calls_of(Operation::Write, &place) else {
            return;
        };
        let order: Vec<i64> = calls
            .into_iter()
            .filter(|call| is_rename(*call) || [libc::SYS_write, libc::SYS_fsync].contains(call))
            .collect();
        let [libc::SYS_write, libc::SYS_fsync, rename, libc::SYS_fsync] = order[..] else {
            panic!("write, fsync, rename, fsync of the directory; not {order:?}");
        };
        assert!(is_rename(rename));
    }

    /// Lets every call fail in every way. Until the name has changed the old content stays; the
    /// one call after that is the directory's `fsync`.
    fn assert_failures_are_reported(
        operation: Operation,
        prepare: fn() -> Place,
        after_undo: Option<&[u8]>,
    ) {
        let place = prepare();
        let before = place.content();
        let Some(calls) = calls_of(operation, &place) else {
            return;
        };
        let is_change =
            |call: &i64| is_rename(*call) || [libc::SYS_unlink, libc::SYS_unlinkat].contains(call);
        let changed_at = calls.iter().position(is_change).unwrap();
        let last_sync = calls
            .iter()
            .rposition(|call| *call == libc::SYS_fsync)
            .unwrap();
        assert!(changed_at < last_sync);
        for error in [
            Errno::ENOSPC,
            Errno::EIO,
            Errno::EROFS,
            Errno::EDQUOT,
            Errno::EMFILE,
        ] {
            let numbered = calls.iter().copied().enumerate();
            for (index, call) in numbered
                .take(last_sync + 1)
                .filter(|(_, call)| is_on_files(*call))
            {
                let context = format!(
                    "{operation:?}: {error} at call {} (number {call})",
                    index + 1
                );
                let place = prepare();
                finish(fail(operation, &place, (index, call), error));
                let reported = place.result_of_child().expect_err(&context);
                assert_eq!(reported.code(), ErrorCode::StorageError, "{context}");
                assert!(
                    reported.message().starts_with("cannot "),
                    "{context}: {reported}"
                );
                let expected = if index <= changed_at {
                    before.as_deref()
                } else {
                    after_undo
                };
                assert_eq!(place.content().as_deref(), expected, "{context}");
                assert_eq!(place.temps(), 0, "{context}");
                assert_next_writer_works(&place, &context);
            }
        }
    }

    #[test]
    fn a_write_reports_every_failure_and_keeps_the_old_content() {
        assert_failures_are_reported(Operation::Write, Place::with_old_content, Some(NEW));
    }

    #[test]
    fn a_creation_reports_every_failure_and_leaves_nothing() {
        assert_failures_are_reported(Operation::CreateNew, Place::new, None);
    }

    #[test]
    fn a_removal_reports_every_failure() {
        assert_failures_are_reported(Operation::Remove, Place::with_old_content, None);
    }

    #[test]
    fn a_temporary_file_that_cannot_be_removed_is_swept_later() {
        let place = Place::with_old_content();
        let Some(calls) = calls_of(Operation::Write, &Place::with_old_content()) else {
            return;
        };
        let sync = calls
            .iter()
            .position(|call| *call == libc::SYS_fsync)
            .unwrap();
        let mut child = fail(
            Operation::Write,
            &place,
            (sync, libc::SYS_fsync),
            Errno::EIO,
        );
        let is_removal = |stand| {
            matches!(
                stand,
                Stand::BeforeCall(Some(libc::SYS_unlink | libc::SYS_unlinkat))
            )
        };
        while !is_removal(child.next()) {}
        child.fail_call(Errno::EIO);
        finish(child);
        let error = place.result_of_child().unwrap_err();
        assert!(
            error
                .message()
                .starts_with("cannot write `x.json`: the disk reports"),
            "{error}"
        );
        assert_eq!(place.content().as_deref(), Some(OLD));
        assert_eq!(place.temps(), 1);
        assert_next_writer_works(&place, "after both calls failed");
    }

    #[test]
    fn an_interrupted_call_is_made_again() {
        let Some(calls) = calls_of(Operation::Write, &Place::with_old_content()) else {
            return;
        };
        let can_be_interrupted = [libc::SYS_write, libc::SYS_fsync, libc::SYS_flock];
        for (index, call) in calls
            .into_iter()
            .enumerate()
            .filter(|(_, call)| can_be_interrupted.contains(call))
        {
            let place = Place::with_old_content();
            finish(fail(Operation::Write, &place, (index, call), Errno::EINTR));
            assert_eq!(place.result_of_child(), Ok(()), "call number {call}");
            assert_eq!(place.content().as_deref(), Some(NEW), "call number {call}");
        }
    }

    /// As on file systems that cannot rename without replacing.
    #[test]
    fn a_creation_falls_back_on_links() {
        let Some(calls) = calls_of(Operation::CreateNew, &Place::new()) else {
            return;
        };
        let rename = calls
            .into_iter()
            .enumerate()
            .find(|(_, call)| is_rename(*call))
            .unwrap();
        let place = Place::new();
        finish(fail(Operation::CreateNew, &place, rename, Errno::EINVAL));
        assert_eq!(place.result_of_child(), Ok(()));
        assert_eq!(place.content().as_deref(), Some(NEW));
        assert_eq!(names_in(&place.path), [".lock", "x.json"]);

        let place = Place::with_old_content();
        finish(fail(Operation::CreateNew, &place, rename, Errno::EINVAL));
        let error = place.result_of_child().unwrap_err();
        assert!(error.message().contains("it exists already"), "{error}");
        assert_eq!(place.content().as_deref(), Some(OLD));
        assert_eq!(names_in(&place.path), [".lock", "x.json"]);
    }
}
