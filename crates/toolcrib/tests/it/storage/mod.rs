//! The promises of `DurableDir`. Here: privacy, names, locks and sweeping. In `crash.rs`: what a
//! death or a failing disk leaves behind.

mod crash;
pub(crate) mod disk;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use toolcrib::storage::{DurableDir, StorageError};
use toolcrib::{ErrorCode, ToolError};

use super::syscalls::{Followed, Stand, between_stops, test_in_child};

const OLD: &[u8] = b"{\"content\": \"old\"}\n";
const NEW: &[u8] = b"{\"content\": \"new, and somewhat longer\"}\n";

/// What a child process is told to do.
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
                std::io::stdin().lines().for_each(drop);
                Ok(())
            }
            Operation::Race => {
                println!("won {}", race(&DurableDir::create(path)?));
                Ok(())
            }
            Operation::AllWithUmask000 => all_with_umask(0o000, path),
            Operation::AllWithUmask777 => all_with_umask(0o777, path),
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

#[test]
fn nothing_is_created_by_looking() {
    let place = Place::new();
    assert!(
        DurableDir::open(place.path.join("absent"))
            .unwrap()
            .is_none()
    );
    let dir = place.dir();
    assert!(dir.subdir("absent").unwrap().is_none());
    assert_eq!(dir.read("absent", 10).unwrap(), None);
    assert_eq!(dir.list().unwrap(), [""; 0]);
    assert_eq!(names_in(&place.path), [""; 0]);
}

#[test]
fn files_come_and_go() {
    let place = Place::new();
    let dir = place.dir();
    let lock = dir.lock().unwrap();
    dir.write(&lock, "b", OLD).unwrap();
    dir.write(&lock, "b", NEW).unwrap();
    dir.create_new(&lock, "a", b"").unwrap();
    dir.create_subdir(&lock, "below")
        .unwrap()
        .write(&lock, "c", OLD)
        .unwrap();
    assert_eq!(dir.read("b", 1024).unwrap().as_deref(), Some(NEW));
    assert_eq!(dir.read("a", 0).unwrap().as_deref(), Some(b"".as_slice()));
    assert_eq!(dir.list().unwrap(), ["a", "b"]);
    assert_eq!(dir.subdirs().unwrap(), ["below"]);
    assert_eq!(dir.subdir("below").unwrap().unwrap().list().unwrap(), ["c"]);
    assert!(dir.remove(&lock, "b").unwrap());
    assert!(!dir.remove(&lock, "b").unwrap());
    assert_eq!(dir.list().unwrap(), ["a"]);
}

#[test]
fn a_new_file_replaces_nothing() {
    let place = Place::with_old_content();
    let dir = place.dir();
    let lock = dir.lock().unwrap();
    let error = dir.create_new(&lock, "x.json", NEW).unwrap_err();
    assert!(matches!(error, StorageError::Exists { .. }), "{error:?}");
    std::os::unix::fs::symlink("nowhere", place.path.join("link")).unwrap();
    let error = dir.create_new(&lock, "link", NEW).unwrap_err();
    assert!(matches!(error, StorageError::Exists { .. }), "{error:?}");
    assert_eq!(place.content().as_deref(), Some(OLD));
    assert_eq!(names_in(&place.path), [".lock", "link", "x.json"]);
}

#[test]
fn only_regular_files_within_the_limit_are_read() {
    let place = Place::with_old_content();
    let dir = place.dir();
    let error = dir.read("x.json", OLD.len() as u64 - 1).unwrap_err();
    assert!(
        matches!(error, StorageError::TooLarge { limit: 18, .. }),
        "{error:?}"
    );
    assert!(dir.read("x.json", OLD.len() as u64).unwrap().is_some());

    std::os::unix::fs::symlink("x.json", place.path.join("link")).unwrap();
    let pipe = place.path.join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    fs::create_dir(place.path.join("below")).unwrap();
    std::os::unix::net::UnixListener::bind(place.path.join("socket")).unwrap();
    for name in ["link", "pipe", "below", "socket"] {
        let error = dir.read(name, 1024).unwrap_err();
        assert!(
            matches!(error, StorageError::NotAFile { .. }),
            "{name}: {error:?}"
        );
    }
    assert_eq!(dir.list().unwrap(), ["x.json"]);
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let place = Place::new();
    let dir = place.dir();
    let lock = dir.lock().unwrap();
    let long = "x".repeat(256);
    for name in [
        "",
        ".",
        "..",
        "a/b",
        "/etc/passwd",
        "../x",
        "a\0b",
        ".lock",
        "y.toolcrib-tmp",
        &long,
    ] {
        for result in [
            dir.write(&lock, name, NEW),
            dir.create_new(&lock, name, NEW),
            dir.remove(&lock, name).map(drop),
            dir.read(name, 10).map(drop),
            dir.subdir(name).map(drop),
            dir.create_subdir(&lock, name).map(drop),
        ] {
            let error = ToolError::from(result.unwrap_err());
            assert_eq!(error.code(), ErrorCode::StorageError, "{name:?}");
            assert!(
                error.message().contains("cannot be the name of a file"),
                "{name:?}: {error}"
            );
        }
    }
    assert_eq!(names_in(&place.path), [".lock"]);
    dir.write(&lock, &"x".repeat(255), NEW).unwrap();
}

#[test]
fn messages_do_not_say_where_the_home_is() {
    let place = Place::with_old_content();
    let error = ToolError::from(DurableDir::create(place.path.join("x.json/below")).unwrap_err());
    assert_eq!(
        error.message(),
        "cannot open `below`: Not a directory (os error 20)"
    );
    let dir = place.dir();
    let lock = dir.lock().unwrap();
    fs::remove_dir_all(&place.path).unwrap();
    let error = ToolError::from(dir.write(&lock, "x.json", NEW).unwrap_err());
    assert_eq!(
        error.message(),
        "cannot write `x.json`: it is gone; somebody removed or moved it meanwhile"
    );
}

#[test]
#[should_panic(expected = "written under another directory's lock")]
fn the_lock_of_another_directory_does_not_do() {
    let (here, there) = (Place::new(), Place::new());
    let _ = here
        .dir()
        .write(&there.dir().lock().unwrap(), "x.json", NEW);
}

#[test]
fn the_lock_excludes_other_threads() {
    let place = Place::new();
    let (dir, same) = (place.dir(), place.dir());
    let lock = dir.lock().unwrap();
    assert!(same.try_lock().unwrap().is_none());
    assert!(std::thread::scope(|scope| scope
        .spawn(|| dir.try_lock().unwrap().is_none())
        .join()
        .unwrap()));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| same.lock().unwrap());
        drop(lock);
        waiting.join().unwrap();
    });
    assert!(dir.try_lock().unwrap().is_some());
}

#[test]
fn the_lock_of_a_killed_process_is_free() {
    let place = Place::new();
    let mut holder = Operation::HoldLock
        .in_child(&place)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(holder.stdout.take().unwrap()).lines();
    assert!(
        lines
            .map_while(Result::ok)
            .any(|line| line.ends_with("locked"))
    );
    let dir = place.dir();
    assert!(dir.try_lock().unwrap().is_none());
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert!(dir.try_lock().unwrap().is_some());
}

/// Somebody who tidies up must not let in two writers.
#[test]
fn a_lock_file_that_was_removed_while_we_waited_does_not_count() {
    let place = Place::new();
    let Some(mut child) = Followed::start(&mut Operation::Lock.in_child(&place)) else {
        return;
    };
    let lock_file = place.path.join(".lock");
    while !lock_file.exists() {
        assert_ne!(child.next(), Stand::Done);
    }
    fs::remove_file(&lock_file).unwrap();
    while child.next() != Stand::Done {}
    assert!(
        place.dir().try_lock().unwrap().is_none(),
        "we and the child both have the lock"
    );
    assert_eq!(child.finish(), 0);
    assert!(place.dir().try_lock().unwrap().is_some());
}

/// Creates the same 20 files from 4 threads; returns how many of them we were the first to make.
fn race(dir: &DurableDir) -> usize {
    let attempt = || {
        let try_one = |i| match dir.create_new(&dir.lock().unwrap(), &format!("{i}.json"), NEW) {
            Ok(()) => true,
            Err(StorageError::Exists { .. }) => false,
            Err(error) => panic!("{error}"),
        };
        (0..20).filter(|i| try_one(*i)).count()
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(attempt)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    })
}

#[test]
fn of_many_processes_and_threads_one_creates_a_file() {
    let place = Place::new();
    let children: Vec<_> = (0..4)
        .map(|_| {
            Operation::Race
                .in_child(&place)
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let outputs = children
        .into_iter()
        .map(|child| child.wait_with_output().unwrap());
    let texts = outputs.map(|output| String::from_utf8(output.stdout).unwrap());
    let won = texts.map(|text| {
        let count = text
            .split("won ")
            .nth(1)
            .unwrap_or_else(|| panic!("{text}"))
            .lines()
            .next()
            .unwrap();
        count.parse::<usize>().unwrap()
    });
    assert_eq!(won.sum::<usize>(), 20);
    assert_eq!(place.dir().list().unwrap().len(), 20);
    assert_eq!(place.temps(), 0);
}

#[test]
fn sweeping_removes_what_dead_writers_left_and_nothing_else() {
    let place = Place::with_old_content();
    let temp = |digit: &str| format!(".{}.toolcrib-tmp", digit.repeat(32));
    let foreign = [
        "notes.toolcrib-tmp",
        ".toolcrib-tmp",
        ".x.json.toolcrib-tmp",
        "x.json~",
        ".hidden",
    ];
    for name in foreign
        .into_iter()
        .chain([temp("0").as_str(), temp("f").as_str()])
    {
        fs::write(place.path.join(name), "").unwrap();
    }
    fs::create_dir(place.path.join(temp("1"))).unwrap();
    std::os::unix::fs::symlink("x.json", place.path.join(temp("2"))).unwrap();

    let dir = place.dir();
    assert_eq!(dir.sweep(&dir.lock().unwrap()).unwrap(), 2);
    let mut left: Vec<String> = foreign.map(String::from).into();
    left.extend([
        temp("1"),
        temp("2"),
        String::from(".lock"),
        String::from("x.json"),
    ]);
    left.sort();
    assert_eq!(names_in(&place.path), left);
}

fn all_with_umask(umask: u32, path: &Path) -> Result<(), StorageError> {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(umask));
    between_stops(|| {
        let dir = DurableDir::create(path.join("a/b"))?;
        let lock = dir.lock()?;
        dir.write(&lock, "written", OLD)?;
        dir.create_new(&lock, "created", NEW)?;
        dir.create_subdir(&lock, "c")?.write(&lock, "below", OLD)
    })
}

/// The mode of everything below a directory, by its path from there.
pub(crate) fn modes_below(path: &Path) -> Vec<(String, u32)> {
    let mut modes = Vec::new();
    let mut pending = vec![path.to_owned()];
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(dir).unwrap() {
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

#[test]
fn everything_is_private_at_every_moment_whatever_the_umask() {
    for operation in [Operation::AllWithUmask000, Operation::AllWithUmask777] {
        let place = Place::new();
        let Some(mut child) = Followed::start(&mut operation.in_child(&place)) else {
            return;
        };
        let mut temps = 0;
        while child.next() != Stand::Done {
            for (name, mode) in modes_below(&place.path) {
                assert_eq!(mode & 0o077, 0, "{operation:?}: {name} has mode {mode:o}");
                temps += usize::from(name.ends_with(".toolcrib-tmp"));
            }
        }
        assert!(
            temps > 0,
            "no temporary file was seen, so its mode was not checked"
        );
        child.finish();
        place.result_of_child().unwrap();
        let expected = [
            ("a", 0o700),
            ("a/b", 0o700),
            ("a/b/.lock", 0o600),
            ("a/b/c", 0o700),
            ("a/b/c/below", 0o600),
            ("a/b/created", 0o600),
            ("a/b/written", 0o600),
        ];
        assert_eq!(
            modes_below(&place.path),
            expected.map(|(name, mode)| (name.to_owned(), mode))
        );
    }
}
