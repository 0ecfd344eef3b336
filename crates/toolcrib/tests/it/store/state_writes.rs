//! The files of a home that are not records: killed or refused by the disk at any call that changes files, the writer leaves the old file
//! or the new one, and the next writer goes on.

use std::path::{Path, PathBuf};
use std::process::Command;

use toolcrib::{ErrorCode, ToolError};

use super::files_below;
use super::ground::{Ground, Home, ripe};
use super::state_files::{call, open_at, workspace_of};
use super::view::View;
use crate::syscalls::{Followed, Stand, between_stops, is_change_of_files, test_in_child};

/// One write of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StateWrite {
    /// A built-in tool is switched off.
    Flags,
    /// Flags that cannot be read are set aside.
    FlagsAside,
    /// Counts are folded, a damaged line left out.
    Fold,
    /// The reaper has been here.
    Reaped,
}

const ALL: [StateWrite; 4] = [
    StateWrite::Flags,
    StateWrite::FlagsAside,
    StateWrite::Fold,
    StateWrite::Reaped,
];
const CALLS: u64 = 3;
const BROKEN: &str = "{\"broken";

impl StateWrite {
    /// A home as it is before.
    fn prepare(self) -> Home {
        let home = match self {
            StateWrite::Reaped => Ground::new().copy(),
            _ => Home::empty(),
        };
        // Not what is killed or refused.
        workspace_of(&home.path);
        let state = home.path.join("state");
        std::fs::create_dir_all(&state).unwrap();
        match self {
            StateWrite::Flags | StateWrite::Reaped => {}
            StateWrite::FlagsAside => std::fs::write(state.join("flags.json"), BROKEN).unwrap(),
            StateWrite::Fold => {
                let crib = open_at(&home.path);
                (0..CALLS).for_each(|_| call(&crib).unwrap());
                drop(crib);
                let lines = state.join("usage.jsonl");
                let text = std::fs::read_to_string(&lines).unwrap();
                std::fs::write(&lines, format!("{text}{BROKEN}\n")).unwrap();
            }
        }
        home
    }

    fn run(self, home: &Path) -> Result<(), ToolError> {
        let crib = open_at(home);
        match self {
            StateWrite::Flags => crib.set_enabled(&["list_directory"], false),
            StateWrite::FlagsAside => {
                let mut problems = crib.home_problems();
                problems.retain(|problem| problem.file == "state/flags.json");
                problems
                    .iter()
                    .try_for_each(|problem| crib.put_right(problem).map(drop))
            }
            StateWrite::Fold => Ok(crib.usage_log().mend().map(drop)?),
            // Opening a home does it.
            StateWrite::Reaped => Ok(()),
        }
    }

    /// The visible state of it. Fails where it shows what must not be.
    fn shown(self, home: &Path) -> String {
        match self {
            StateWrite::Flags | StateWrite::FlagsAside => {
                if self == StateWrite::FlagsAside {
                    let kept = files_below(home).into_iter().filter(|name| {
                        std::fs::read(home.join(name)).is_ok_and(|text| text == BROKEN.as_bytes())
                    });
                    assert_eq!(kept.count(), 1, "what was damaged is kept");
                }
                match call(&open_at(home)) {
                    Ok(()) => String::from("on"),
                    Err(ErrorCode::ToolDisabled) => String::from("off"),
                    Err(other) => panic!("{other:?}"),
                }
            }
            StateWrite::Fold => {
                let crib = open_at(home);
                let entry = crib.registry().find("list_directory").unwrap();
                assert_eq!(crib.usage(&entry).call_count, CALLS);
                format!("{:?}", crib.usage_log().problems())
            }
            StateWrite::Reaped => {
                if let Ok(text) = std::fs::read(home.join("state/reaped.json")) {
                    serde_json::from_slice::<serde_json::Value>(&text).unwrap();
                }
                let view = View::fresh(home);
                assert_eq!(view.damage.len(), 0);
                format!("{}", view.bundles.contains_key(&ripe().to_string()))
            }
        }
    }

    /// The visible state when it is done.
    fn done(self) -> String {
        let home = self.prepare();
        self.run(&home.path).unwrap();
        self.shown(&home.path)
    }

    fn in_child(self, home: &Path) -> Command {
        let mut command = test_in_child("store::state_writes::child");
        command.env("TOOLCRIB_TEST_STATE_WRITE", format!("{self:?}"));
        command.env("TOOLCRIB_TEST_HOME", home);
        command
    }
}

/// The side that is killed or refused. On its own it does nothing.
#[test]
fn child() {
    let (Ok(name), Some(home)) = (
        std::env::var("TOOLCRIB_TEST_STATE_WRITE"),
        std::env::var_os("TOOLCRIB_TEST_HOME").map(PathBuf::from),
    ) else {
        return;
    };
    let named = |write: &StateWrite| format!("{write:?}") == name;
    let write = ALL.into_iter().find(named).unwrap();
    if let Err(error) = between_stops(|| write.run(&home)) {
        assert_eq!(error.code(), ErrorCode::StorageError, "{error}");
        assert!(!error.message().contains(home.to_str().unwrap()), "{error}");
    }
}

/// Does something to a child at its first call that changes files, to another at its second, and so on, until one has no more.
fn at_every_call(write: StateWrite, does: impl Fn(Followed)) {
    let old = write.shown(&write.prepare().path);
    let new = write.done();
    assert_ne!(old, new, "{write:?}");
    for nth in 1.. {
        let home = write.prepare();
        let Some(mut child) = Followed::start(&mut write.in_child(&home.path)) else {
            return;
        };
        let is_over = (0..nth).any(|_| child.next_of(is_change_of_files) == Stand::Done);
        if is_over {
            assert_eq!(child.finish(), 0, "{write:?}");
            assert_eq!(write.shown(&home.path), new, "{write:?}");
            assert!(nth > 4, "{write:?}: {nth} calls cannot be all");
            return;
        }
        does(child);
        let found = write.shown(&home.path);
        let context = format!("{write:?} at call {nth}");
        assert!(found == old || found == new, "{context}: {found}");
        // The next one finds no lock that no one holds, and nothing that is half done; the next reaper comes a day later.
        let _ = std::fs::remove_file(home.path.join("state/reaped.json"));
        write.run(&home.path).unwrap();
        assert_eq!(write.shown(&home.path), new, "{context}, again");
    }
}

#[test]
fn a_state_file_is_old_or_new_wherever_its_writer_is_killed() {
    for write in ALL {
        at_every_call(write, Followed::kill);
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_state_file_is_old_or_new_whatever_the_disk_refuses() {
    for write in ALL {
        for error in [nix::errno::Errno::EIO, nix::errno::Errno::ENOSPC] {
            at_every_call(write, |mut child| {
                child.fail_call(error);
                while child.next() != Stand::Done {}
                assert_eq!(child.finish(), 0, "{write:?}: {error}");
            });
        }
    }
}
