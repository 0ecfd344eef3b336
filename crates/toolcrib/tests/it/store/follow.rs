//! Following: what other processes did is seen at the next look, however fast they were and whether or not they still live.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use toolcrib::store::{Look, Store};

use super::ground::{Ground, acme, beta};
use super::view::View;
use super::{NOW, draft, key, manifest, open, options, tool_id};
use crate::syscalls::test_in_child;

/// Another process, which writes on command. On its own it does nothing.
#[test]
fn writer() {
    let Some(home) = std::env::var_os("TOOLCRIB_TEST_WRITER").map(PathBuf::from) else {
        return;
    };
    let store = open(&home);
    println!("\nready");
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        let (what, text) = line.split_once(' ').unwrap();
        let x = key(acme(), "x", "v1");
        match what {
            "replace" => {
                let digest = store.tool(&x).unwrap().digest();
                store
                    .replace_tool(manifest(&x, tool_id(1), text), &digest)
                    .map(drop)
            }
            "put" => store
                .put_tool(manifest(
                    &key(beta(), text, "v1"),
                    tool_id(500 + text.len() as u64),
                    "x",
                ))
                .map(drop),
            "delete" => store.delete_tool(&key(beta(), text, "v1")),
            "switch" => store.set_bundle_enabled(beta(), text == "on").map(drop),
            "describe" => {
                let mut draft = draft("acme");
                draft.description = text.to_owned();
                store.put_bundle(acme(), draft).map(drop)
            }
            "lock" => {
                let dir = toolcrib::storage::DurableDir::open(home.join("bundles"))
                    .unwrap()
                    .unwrap();
                std::mem::forget(dir.lock().unwrap());
                Ok(())
            }
            other => panic!("{other}"),
        }
        .unwrap();
        println!("\ndid {line}");
    }
}

struct Writer {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Writer {
    fn start(home: &Path) -> Self {
        let mut command = test_in_child("store::follow::writer");
        command.env("TOOLCRIB_TEST_WRITER", home);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut writer = Writer {
            child,
            stdin,
            lines,
        };
        writer.wait_for("ready");
        writer
    }

    fn wait_for(&mut self, wanted: &str) {
        let mut lines = self.lines.by_ref().map_while(Result::ok);
        assert!(
            lines.any(|line| line == wanted),
            "the writer did not get to: {wanted}"
        );
    }

    /// Has it done before this returns.
    fn does(&mut self, what: &str) {
        writeln!(self.stdin, "{what}").unwrap();
        self.wait_for(&format!("did {what}"));
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Files of one size, written within one tick of the file system's clock.
#[test]
fn every_change_of_another_process_is_seen_at_the_next_glance() {
    let home = Ground::new().copy();
    let store = open(&home.path);
    let mut writer = Writer::start(&home.path);
    let x = key(acme(), "x", "v1");
    for number in 0..60 {
        assert!(store.is_current());
        let text = format!("number {number:04}");
        writer.does(&format!("replace {text}"));
        assert!(!store.is_current(), "{text}");
        let changes = store.changes(Look::Glance).unwrap();
        assert_eq!(store.tool(&x).unwrap().head.description, text);
        let changed: Vec<_> = changes
            .tools
            .iter()
            .map(|(key, tool)| (key, tool.is_some()))
            .collect();
        assert_eq!(changed, [(&x, true)], "{text}");
    }
    for number in 0..10 {
        for what in [
            "put t",
            "switch off",
            "describe a",
            "switch on",
            "delete t",
            "describe b",
        ] {
            writer.does(what);
            assert_eq!(
                View::at_a_glance(&store),
                View::fresh(&home.path),
                "{what} {number}"
            );
        }
    }
    assert!(store.changes(Look::Glance).unwrap().is_empty());
}

/// STO-007: it is the kernel's lock, so it ends with its holder.
#[test]
fn when_the_holder_of_the_lock_is_killed_the_next_writer_goes_on_at_once() {
    let home = Ground::new().copy();
    let store = open(&home.path);
    let mut writer = Writer::start(&home.path);
    writer.does("lock now");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            store.set_bundle_enabled(beta(), false).unwrap();
            Instant::now()
        });
        // Reading needs no lock.
        assert_eq!(View::fresh(&home.path).tools.len(), 5);
        writer.child.kill().unwrap();
        let killed = Instant::now();
        let went_on = waiting.join().unwrap();
        assert!(went_on.saturating_duration_since(killed) < Duration::from_secs(1));
    });
    assert!(!store.bundle(beta()).unwrap().bundle.is_enabled);
}

/// A look says what came since the last one, one's own writes too, and nothing else.
#[test]
fn a_look_shows_what_has_changed_since_the_last_one_and_no_more() {
    let home = Ground::new().copy();
    let (one, other) = (open(&home.path), open(&home.path));
    for store in [&one, &other] {
        assert!(store.changes(Look::Glance).unwrap().is_empty());
    }
    one.put_tool(manifest(&key(beta(), "mine", "v1"), tool_id(300), "x"))
        .unwrap();
    for store in [&one, &other] {
        let changes = store.changes(Look::Glance).unwrap();
        let tools: Vec<_> = changes
            .tools
            .iter()
            .map(|(key, tool)| (key.slug.as_str(), tool.is_some()))
            .collect();
        assert_eq!(tools, [("mine", true)]);
        assert!(store.changes(Look::Glance).unwrap().is_empty());
    }
}

#[test]
fn an_edit_by_hand_is_seen_by_a_thorough_look_even_if_size_and_tick_are_the_same() {
    let home = Ground::new().copy();
    let file = home.tool_file(acme(), "y", "v1");
    let store = open(&home.path);
    for number in 0..30 {
        let text = std::fs::read_to_string(&file).unwrap();
        let old = store
            .tool(&key(acme(), "y", "v1"))
            .unwrap()
            .head
            .description
            .clone();
        let new = format!("edited {number:04}");
        // In place: the same inode.
        std::fs::write(&file, text.replace(&old, &new)).unwrap();
        store.changes(Look::Thorough).unwrap();
        assert_eq!(
            store
                .tool(&key(acme(), "y", "v1"))
                .unwrap()
                .head
                .description,
            new
        );
    }
    std::fs::remove_file(&file).unwrap();
    let changes = store.changes(Look::Thorough).unwrap();
    assert!(matches!(&changes.tools[..], [(_, None)]));
    assert_eq!(View::of(&store), View::fresh(&home.path));
}

#[test]
fn a_bundle_that_is_moved_away_and_back_by_hand_goes_and_comes() {
    let home = Ground::new().copy();
    let store = open(&home.path);
    let before = View::of(&store);
    let dir = home.path.join("bundles").join(acme().to_string());
    std::fs::rename(&dir, home.path.join("elsewhere")).unwrap();
    let changes = store.changes(Look::Thorough).unwrap();
    assert_eq!((changes.bundles.len(), changes.tools.len()), (1, 3));
    assert_eq!(View::of(&store), View::fresh(&home.path));
    std::fs::rename(home.path.join("elsewhere"), &dir).unwrap();
    store.changes(Look::Thorough).unwrap();
    assert_eq!(View::of(&store), before);
    // The whole home, too.
    std::fs::rename(&home.path, home.path.with_extension("gone")).unwrap();
    store.changes(Look::Thorough).unwrap();
    assert_eq!(View::of(&store), View::default());
    std::fs::rename(home.path.with_extension("gone"), &home.path).unwrap();
    store.changes(Look::Thorough).unwrap();
    assert_eq!(View::of(&store), before);
}

/// A store that starts later than the last writer ended starts with a number it has never seen, and misses nothing.
#[test]
fn a_store_on_an_empty_home_sees_the_first_write_of_another() {
    let home = super::ground::Home::empty();
    let store = Store::at(&home.path, options(NOW));
    assert!(store.changes(Look::Glance).unwrap().is_empty());
    assert!(store.is_current());
    open(&home.path).put_bundle(acme(), draft("acme")).unwrap();
    assert!(!store.is_current());
    assert_eq!(store.changes(Look::Glance).unwrap().bundles.len(), 1);
}

/// Someone who tidies up removes the lock file with its counter: everything is looked at again.
#[test]
fn without_the_lock_file_changes_are_seen_all_the_same() {
    let home = Ground::new().copy();
    let (one, other) = (open(&home.path), open(&home.path));
    for content in [None, Some("")] {
        for number in 0..4 {
            let lock = home.path.join("bundles/.lock");
            match content {
                None => std::fs::remove_file(lock).unwrap(),
                Some(text) => std::fs::write(lock, text).unwrap(),
            }
            other.set_bundle_enabled(beta(), number % 2 == 1).unwrap();
            one.changes(Look::Glance).unwrap();
            let seen = one.bundle(beta()).unwrap().bundle.is_enabled;
            assert_eq!(seen, number % 2 == 1, "{content:?} {number}");
        }
    }
}
