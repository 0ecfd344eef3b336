//! Locks: one writer at a time, and none that outlives its process.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use toolcrib::storage::{DurableDir, StorageError};

use super::{NEW, Operation, Place};
use crate::syscalls::{Followed, Stand};

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

/// Someone who tidies up must not let in two writers.
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
pub(super) fn race(dir: &DurableDir) -> usize {
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
