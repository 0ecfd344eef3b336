//! The promises of `DurableDir`: how files behave, who may write, and what a death or a failing disk
//! leaves behind. Here is what these tests share: a place, and a child process that works in it.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

mod crash;
pub(crate) mod disk;
mod files;
mod locks;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use toolcrib::ToolError;
use toolcrib::storage::{DurableDir, StorageError};

use super::syscalls::{between_stops, test_in_child};

const OLD: &[u8] = b"{\"content\": \"old\"}\n";

const NEW: &[u8] = b"{\"content\": \"new, and somewhat longer\"}\n";

/// An instruction to a child process.
#[derive(Debug, Clone, Copy)]
enum Operation {
    Write,
    WriteTooMuch,
    CreateNew,
    Remove,
    CreateDirs,
    Lock,
    HoldLock,
    Race,
    AllWithUmask000,
    AllWithUmask777,
}

impl Operation {
    const VARIABLE: &str = "TOOLCRIB_TEST_OPERATION";
    const DIR_VARIABLE: &str = "TOOLCRIB_TEST_DIR";

    fn from_environment() -> Option<(Self, PathBuf)> {
        use Operation::*;
        let name = std::env::var(Self::VARIABLE).ok()?;
        let dir = std::env::var_os(Self::DIR_VARIABLE)?.into();
        let all = [
            Write,
            WriteTooMuch,
            CreateNew,
            Remove,
            CreateDirs,
            Lock,
            HoldLock,
            Race,
            AllWithUmask000,
            AllWithUmask777,
        ];
        Some((
            all.into_iter()
                .find(|operation| format!("{operation:?}") == name)
                .unwrap(),
            dir,
        ))
    }

    /// A command that does this in a place.
    fn in_child(self, place: &Place) -> Command {
        let mut command = test_in_child("storage::child");
        command
            .env(Self::VARIABLE, format!("{self:?}"))
            .env(Self::DIR_VARIABLE, &place.path);
        command
    }

    fn run(self, path: &Path) -> Result<(), StorageError> {
        match self {
            Operation::Write => between_stops(|| {
                let dir = DurableDir::create(path)?;
                dir.write(&dir.lock()?, "x.json", NEW)
            }),
            Operation::WriteTooMuch => {
                let dir = DurableDir::create(path)?;
                let lock = dir.lock()?;
                dir.write(&lock, "x.json", OLD)?;
                let result = dir.write(&lock, "x.json", &vec![b'x'; 1024 * 1024]);
                assert_eq!(dir.read("x.json", 1024)?.as_deref(), Some(OLD));
                assert_eq!(names_in(path), [".lock", "x.json"]);
                dir.write(&lock, "x.json", NEW).unwrap();
                result
            }
            Operation::CreateNew => between_stops(|| {
                let dir = DurableDir::create(path)?;
                dir.create_new(&dir.lock()?, "x.json", NEW)
            }),
            Operation::Remove => between_stops(|| {
                let dir = DurableDir::create(path)?;
                dir.remove(&dir.lock()?, "x.json")
                    .map(|was_there| assert!(was_there))
            }),
            Operation::CreateDirs => between_stops(|| {
                let dir = DurableDir::create(path.join("a/b"))?;
                dir.create_subdir(&dir.lock()?, "c").map(drop)
            }),
            Operation::Lock => {
                let dir = DurableDir::create(path)?;
                // Held until the parent has looked, behind the second stop.
                between_stops(|| dir.lock()).map(drop)
            }
            Operation::HoldLock => {
                let _lock = DurableDir::create(path)?.lock()?;
                println!("locked");
                io::stdin().lines().for_each(drop);
                Ok(())
            }
            Operation::Race => {
                println!("won {}", locks::race(&DurableDir::create(path)?));
                Ok(())
            }
            Operation::AllWithUmask000 => files::all_with_umask(0o000, path),
            Operation::AllWithUmask777 => files::all_with_umask(0o777, path),
        }
    }
}

/// The other side of these tests: does what the environment says. On its own it does nothing.
#[test]
fn child() {
    if let Some((operation, path)) = Operation::from_environment() {
        let result = operation.run(&path).map_err(ToolError::from);
        fs::write(
            path.with_extension("result"),
            serde_json::to_vec(&result).unwrap(),
        )
        .unwrap();
    }
}

/// A directory, with room beside it for the report of a child.
struct Place {
    _temp: tempfile::TempDir,
    path: PathBuf,
}

impl Place {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("dir");
        fs::create_dir(&path).unwrap();
        Place { _temp: temp, path }
    }

    fn with_old_content() -> Self {
        let place = Place::new();
        let dir = place.dir();
        dir.write(&dir.lock().unwrap(), "x.json", OLD).unwrap();
        place
    }

    fn dir(&self) -> DurableDir {
        DurableDir::open(&self.path).unwrap().unwrap()
    }

    fn content(&self) -> Option<Vec<u8>> {
        self.dir().read("x.json", 1024).unwrap()
    }

    fn temps(&self) -> usize {
        names_in(&self.path)
            .iter()
            .filter(|name| name.ends_with(".toolcrib-tmp"))
            .count()
    }

    fn result_of_child(&self) -> Result<(), ToolError> {
        serde_json::from_slice(&fs::read(self.path.with_extension("result")).unwrap()).unwrap()
    }
}

/// Everything in a directory, sorted.
fn names_in(path: &Path) -> Vec<String> {
    let names = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The mode of everything below a directory, by its path from there. Directories we may not look
/// into, as those just made under a strict umask, are counted themselves.
pub(crate) fn modes_below(path: &Path) -> Vec<(String, u32)> {
    let mut modes = Vec::new();
    let mut pending = vec![path.to_owned()];
    while let Some(dir) = pending.pop() {
        let entries = match fs::read_dir(dir) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => continue,
            entries => entries.unwrap(),
        };
        for entry in entries {
            let entry = entry.unwrap();
            let metadata = entry.metadata().unwrap();
            let name = entry
                .path()
                .strip_prefix(path)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            modes.push((name, metadata.permissions().mode() & 0o7777));
            if metadata.is_dir() {
                pending.push(entry.path());
            }
        }
    }
    modes.sort();
    modes
}
