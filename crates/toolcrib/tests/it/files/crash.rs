//! Killed at any system call, or refused by the disk at any, a file has its old content or its new one, and
//! what is left behind is in no one's way.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use toolcrib::ToolError;
use toolcrib::workspace::{FileChange, MissingDirs, Replaces, Workspace, WorkspacePath};

use super::names_in;
use crate::storage::disk::Disk;
use crate::syscalls::{Followed, Stand, between_stops, test_in_child};

const OLD: &str = "old";
const NEW: &str = "new, and somewhat longer";

/// An instruction to a child process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Overwrite,
    Create,
    CreateInNewDirs,
    ChangeSeveral,
    FillTheDisk,
    WriteReadOnly,
}

impl Operation {
    const VARIABLE: &str = "TOOLCRIB_TEST_FILES";
    const DIR_VARIABLE: &str = "TOOLCRIB_TEST_DIR";
    const ALL: [Operation; 6] = [
        Operation::Overwrite,
        Operation::Create,
        Operation::CreateInNewDirs,
        Operation::ChangeSeveral,
        Operation::FillTheDisk,
        Operation::WriteReadOnly,
    ];

    fn file(self) -> &'static str {
        match self {
            Operation::CreateInNewDirs => "a/b/x",
            _ => "x",
        }
    }

    fn command(self, dir: &Path) -> Command {
        let mut command = test_in_child("files::crash::child");
        command
            .env(Self::VARIABLE, format!("{self:?}"))
            .env(Self::DIR_VARIABLE, dir);
        command
    }

    /// A workspace as it is before.
    fn place(self) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        if self == Operation::Overwrite || self == Operation::ChangeSeveral {
            fs::write(dir.path().join("x"), OLD).unwrap();
        }
        if self == Operation::ChangeSeveral {
            fs::write(dir.path().join("gone"), OLD).unwrap();
            fs::write(dir.path().join("from"), OLD).unwrap();
        }
        dir
    }

    fn before(self) -> Option<String> {
        (self == Operation::Overwrite).then(|| OLD.to_owned())
    }

    fn content(self, dir: &Path) -> Option<String> {
        fs::read_to_string(dir.join(self.file())).ok()
    }

    fn write(self, workspace: &Workspace, content: &str) -> Result<(), ToolError> {
        if self == Operation::ChangeSeveral && content == NEW {
            return change_several(workspace);
        }
        let path = workspace.path(self.file())?;
        let old = workspace.file_to_replace(&path, MissingDirs::Make)?;
        let replaces = old.map_or(Replaces::Nothing, |old| Replaces::Just(old.identity));
        workspace.write_file(&path, content.as_bytes(), MissingDirs::Make, &replaces)
    }
}

/// Overwrites `x`, removes `gone`, makes `d/new`, and renames `from` to `to`: all or none.
fn change_several(workspace: &Workspace) -> Result<(), ToolError> {
    let [x, gone, new, from, to] =
        ["x", "gone", "d/new", "from", "to"].map(|path| workspace.path(path).unwrap());
    let identity = |path: &WorkspacePath| workspace.file_to_move(path).map(|old| old.identity);
    let changes = [
        FileChange::Write {
            bytes: NEW.into(),
            replaces: Replaces::Just(identity(&x)?),
            path: x,
            executable: None,
        },
        FileChange::Remove {
            was: identity(&gone)?,
            path: gone,
        },
        FileChange::Write {
            bytes: NEW.into(),
            replaces: Replaces::Nothing,
            path: new,
            executable: None,
        },
        FileChange::Move {
            was: identity(&from)?,
            from,
            to,
            bytes: None,
            executable: None,
        },
    ];
    workspace.change_all(&changes, &|| false)
}

/// Temporary files anywhere beneath.
fn temps(dir: &Path) -> usize {
    let here = names_in(dir);
    let below = here.iter().filter(|name| dir.join(name).is_dir());
    let below: usize = below.map(|name| temps(&dir.join(name))).sum();
    below + here.iter().filter(|name| name.ends_with(".tmp")).count()
}

/// The other side of these tests: does what the environment says. On its own it does nothing.
#[test]
fn child() {
    let Ok(name) = std::env::var(Operation::VARIABLE) else {
        return;
    };
    let dir = PathBuf::from(std::env::var_os(Operation::DIR_VARIABLE).unwrap());
    let operation = Operation::ALL
        .into_iter()
        .find(|operation| format!("{operation:?}") == name)
        .unwrap();
    let workspace = Workspace::open(&dir).unwrap();
    match operation {
        Operation::Overwrite
        | Operation::Create
        | Operation::CreateInNewDirs
        | Operation::ChangeSeveral => {
            // Reported, not asserted: some parents let calls fail.
            let result = between_stops(|| operation.write(&workspace, NEW));
            std::process::exit(if result.is_ok() { 0 } else { 3 });
        }
        Operation::FillTheDisk => {
            fs::write(dir.join("x"), OLD).unwrap();
            let much = "x".repeat(1 << 20);
            let error = operation.write(&workspace, &much).unwrap_err();
            assert_eq!(error.code(), toolcrib::ErrorCode::ExecutionError);
            let words = "cannot write `x`: the disk is full; free some space and try again";
            assert_eq!(error.message(), words);
            assert_eq!(operation.content(&dir).as_deref(), Some(OLD));
            assert_eq!(names_in(&dir), ["x"]);
            operation.write(&workspace, NEW).unwrap();
        }
        Operation::WriteReadOnly => {
            let error = operation.write(&workspace, NEW).unwrap_err();
            assert_eq!(error.code(), toolcrib::ErrorCode::PermissionDenied);
            let words = "cannot write `x`: the file system is read-only";
            assert_eq!(error.message(), words);
        }
    }
}

/// Kills a child at its first system call on files, another at its second, and so on. The last one gets through.
fn assert_old_or_new_at_every_call(operation: Operation) {
    let mut has_changed = false;
    let mut left_behind = 0;
    for call in 1.. {
        let place = operation.place();
        let dir = place.path();
        let Some(mut child) = Followed::start(&mut operation.command(dir)) else {
            return;
        };
        let is_done = !child.gets_to(call);
        if is_done {
            assert_eq!(child.finish(), 0);
        } else {
            child.kill();
        }
        let context = format!("{operation:?} killed at call {call}");
        let content = operation.content(dir);
        has_changed |= content.as_deref() == Some(NEW);
        let expected = if has_changed {
            Some(NEW.to_owned())
        } else {
            operation.before()
        };
        assert_eq!(content, expected, "{context}");
        assert!(temps(dir) <= 1, "{context}");
        left_behind += temps(dir);
        // The next writer is not disturbed.
        let workspace = Workspace::open(dir).unwrap();
        operation.write(&workspace, "later").unwrap();
        assert_eq!(
            operation.content(dir).as_deref(),
            Some("later"),
            "{context}"
        );
        if is_done {
            assert!(call > 10, "followed only {call} calls: that cannot be all");
            assert_eq!(temps(dir), 0);
            break;
        }
    }
    assert!(
        left_behind > 2,
        "no child was killed between opening and renaming"
    );
}

#[test]
fn overwriting_killed_at_any_call_leaves_old_or_new() {
    assert_old_or_new_at_every_call(Operation::Overwrite);
}

#[test]
fn creating_killed_at_any_call_leaves_nothing_or_all() {
    assert_old_or_new_at_every_call(Operation::Create);
}

#[test]
fn creating_with_directories_killed_at_any_call_leaves_nothing_or_all() {
    assert_old_or_new_at_every_call(Operation::CreateInNewDirs);
}

/// A process that dies between two renames leaves some files new and others old, each of them whole, and what is not in its place yet is beside it.
#[test]
fn several_changes_killed_at_any_call_leave_every_file_whole() {
    for call in 1.. {
        let place = Operation::ChangeSeveral.place();
        let dir = place.path();
        let Some(mut child) = Followed::start(&mut Operation::ChangeSeveral.command(dir)) else {
            return;
        };
        let is_done = !child.gets_to(call);
        if is_done {
            assert_eq!(child.finish(), 0);
            assert_eq!(names_in(dir), ["d", "to", "x"]);
            return;
        }
        child.kill();
        let content = |name: &str| fs::read_to_string(dir.join(name)).ok();
        let x = content("x").unwrap();
        assert!(x == OLD || x == NEW, "killed at call {call}: {x}");
        assert!(content("gone").is_none_or(|content| content == OLD));
        assert!(content("d/new").is_none_or(|content| content == NEW));
        let moved: Vec<String> = ["from", "to"].into_iter().filter_map(content).collect();
        assert_eq!(moved, [OLD], "killed at call {call}");
    }
}

#[test]
fn a_full_disk_keeps_the_old_content_and_no_temporary_file() {
    let place = tempfile::tempdir().unwrap();
    let command = Operation::FillTheDisk.command(place.path());
    if let Some(mut command) = Disk::Tiny.under(place.path(), &command) {
        let output = command.output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{told}");
    }
}

#[test]
fn a_read_only_disk_says_so() {
    let place = Operation::Overwrite.place();
    let command = Operation::WriteReadOnly.command(place.path());
    if let Some(mut command) = Disk::ReadOnly.under(place.path(), &command) {
        let output = command.output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{told}");
    }
}

/// Which call fails, and how, can be chosen only where we know the registers.
#[cfg(target_arch = "x86_64")]
mod failing_calls {
    use nix::errno::Errno;
    use nix::libc;

    use super::*;

    fn calls_of(operation: Operation) -> Option<Vec<i64>> {
        let place = operation.place();
        let mut child = Followed::start(&mut operation.command(place.path()))?;
        let mut calls = Vec::new();
        while let Stand::BeforeCall(Some(number)) = child.next() {
            calls.push(number);
        }
        assert_eq!(child.finish(), 0);
        Some(calls)
    }

    fn is_rename(call: i64) -> bool {
        [libc::SYS_rename, libc::SYS_renameat, libc::SYS_renameat2].contains(&call)
    }

    #[test]
    fn content_reaches_the_disk_before_its_name_does() {
        for operation in [Operation::Overwrite, Operation::Create] {
            let Some(calls) = calls_of(operation) else {
                return;
            };
            let order: Vec<i64> = calls
                .into_iter()
                .filter(|call| {
                    is_rename(*call) || [libc::SYS_write, libc::SYS_fsync].contains(call)
                })
                .collect();
            let [libc::SYS_write, libc::SYS_fsync, rename, libc::SYS_fsync] = order[..] else {
                panic!("write, fsync, rename, fsync of the directory; not {order:?}");
            };
            assert!(is_rename(rename));
        }
    }

    /// Lets each call from the first on a file fail. Until the name has changed the old content stays, and a temporary
    /// file never does.
    #[test]
    fn every_failure_is_reported_and_keeps_the_old_content() {
        for operation in [Operation::Overwrite, Operation::Create] {
            let Some(calls) = calls_of(operation) else {
                return;
            };
            let write = calls
                .iter()
                .position(|call| *call == libc::SYS_write)
                .unwrap();
            let renamed = calls.iter().position(|call| is_rename(*call)).unwrap();
            let last_sync = calls
                .iter()
                .rposition(|call| *call == libc::SYS_fsync)
                .unwrap();
            let on_files = [
                libc::SYS_openat,
                libc::SYS_write,
                libc::SYS_fsync,
                libc::SYS_fchmod,
                libc::SYS_fchown,
                libc::SYS_newfstatat,
            ];
            for error in [Errno::ENOSPC, Errno::EIO, Errno::EDQUOT] {
                for (index, call) in calls.iter().copied().enumerate().take(last_sync + 1) {
                    // The temporary file is opened right before it is written.
                    if index + 1 < write || !(is_rename(call) || on_files.contains(&call)) {
                        continue;
                    }
                    let context = format!("{operation:?}: {error} at call {index} (number {call})");
                    let place = operation.place();
                    let mut child = Followed::start(&mut operation.command(place.path())).unwrap();
                    for _ in 0..index {
                        assert_ne!(child.next(), Stand::Done, "{context}");
                    }
                    assert_eq!(child.next(), Stand::BeforeCall(Some(call)), "{context}");
                    child.fail_call(error);
                    while child.next() != Stand::Done {}
                    assert_eq!(child.finish(), 3, "{context}: an error");
                    let expected = if index <= renamed || operation == Operation::Create {
                        operation.before()
                    } else {
                        Some(NEW.to_owned())
                    };
                    assert_eq!(operation.content(place.path()), expected, "{context}");
                    assert_eq!(temps(place.path()), 0, "{context}");
                }
            }
        }
    }

    /// Lets each rename and sync of several changes fail: everything is as before, and no temporary file is left.
    #[test]
    fn several_changes_are_taken_back_when_any_of_them_fails() {
        let Some(calls) = calls_of(Operation::ChangeSeveral) else {
            return;
        };
        let counts = [libc::SYS_fsync, libc::SYS_mkdirat, libc::SYS_write];
        let is_wanted = |call: i64| is_rename(call) || counts.contains(&call);
        let mut failed = 0;
        // Only calls of these kinds are counted: how often a file is opened differs, as the kernel has an `openat2` repeated while others rename.
        let wanted = calls.iter().copied().filter(|call| is_wanted(*call));
        for (index, call) in wanted.enumerate() {
            let place = Operation::ChangeSeveral.place();
            let command = &mut Operation::ChangeSeveral.command(place.path());
            let mut child = Followed::start(command).unwrap();
            let context = format!("EIO at call {index} (number {call})");
            for _ in 0..index {
                assert_ne!(child.next_of(is_wanted), Stand::Done, "{context}");
            }
            let stand = child.next_of(is_wanted);
            assert_eq!(stand, Stand::BeforeCall(Some(call)), "{context}");
            child.fail_call(Errno::EIO);
            while child.next() != Stand::Done {}
            assert_eq!(child.finish(), 3, "{context}");
            assert_eq!(names_in(place.path()), ["from", "gone", "x"], "{context}");
            for name in ["from", "gone", "x"] {
                let content = fs::read_to_string(place.path().join(name)).unwrap();
                assert_eq!(content, OLD, "{context}");
            }
            failed += 1;
        }
        assert!(failed > 8, "only {failed} calls were let fail");
    }

    /// As on file systems that cannot rename without replacing.
    #[test]
    fn creating_falls_back_on_links() {
        let Some(calls) = calls_of(Operation::Create) else {
            return;
        };
        let rename = calls.iter().position(|call| is_rename(*call)).unwrap();
        for is_taken in [false, true] {
            let place = Operation::Create.place();
            let command = &mut Operation::Create.command(place.path());
            let mut child = Followed::start(command).unwrap();
            for _ in 0..=rename {
                assert_ne!(child.next(), Stand::Done);
            }
            if is_taken {
                fs::write(place.path().join("x"), "theirs").unwrap();
            }
            child.fail_call(Errno::EINVAL);
            while child.next() != Stand::Done {}
            let (status, content) = if is_taken { (3, "theirs") } else { (0, NEW) };
            assert_eq!(child.finish(), status);
            assert_eq!(
                Operation::Create.content(place.path()).as_deref(),
                Some(content)
            );
            assert_eq!(names_in(place.path()), ["x"]);
        }
    }
}
