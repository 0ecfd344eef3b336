//! Files: private, within the directory, and nothing but what was asked for.

use std::fs;
use std::path::Path;

use toolcrib::storage::{DurableDir, StorageError};
use toolcrib::{ErrorCode, ToolError};

use super::{NEW, OLD, Operation, Place, modes_below, names_in};
use crate::syscalls::{Followed, Stand, between_stops};

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
        "cannot write `x.json`: it is gone; it was removed or moved in the meantime"
    );
}

#[test]
fn sweeping_removes_what_dead_writers_left_and_nothing_else() {
    let place = Place::with_old_content();
    let temp = |digit: &str| format!(".{}.toolcrib-tmp", digit.repeat(32));
    let foreign = [
        "notes.toolcrib-tmp",
        ".toolcrib-tmp",
        ".x.json.toolcrib-tmp",
        ".0abc.toolcrib-tmp",
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

pub(super) fn all_with_umask(umask: u32, path: &Path) -> Result<(), StorageError> {
    let before = rustix::process::umask(rustix::fs::Mode::from_raw_mode(umask));
    let result = between_stops(|| {
        let dir = DurableDir::create(path.join("a/b"))?;
        let lock = dir.lock()?;
        dir.write(&lock, "written", OLD)?;
        dir.create_new(&lock, "created", NEW)?;
        dir.create_subdir(&lock, "c")?.write(&lock, "below", OLD)
    });
    // The parent has to be able to read our report.
    rustix::process::umask(before);
    result
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
