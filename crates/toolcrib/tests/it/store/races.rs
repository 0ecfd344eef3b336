//! Sixteen processes of eight threads each write at once, and some are killed: nothing acknowledged is lost, nothing is there
//! twice, nothing is damaged.
//!
//! Each thread keeps a journal of what it tries and what it was told, without `fsync`: a killed process's page cache stays. Of
//! an attempt without an answer nobody knows whether it happened; of all others the journals say.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toolcrib::store::{Look, Put, Store, StoreError, StoreOptions};
use toolcrib::{BundleId, ToolId};

use super::cases::SetWhenDropped;
use super::ground::Home;
use super::view::View;
use super::{Dice, bundle_id, draft, key, manifest, open, scale, seed};
use crate::syscalls::test_in_child;

const SLOTS: usize = 16;
const THREADS: usize = 8;

/// What a thread tries. Tools are in the one bundle that all share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Attempt {
    Put {
        slug: String,
        version: String,
        id: ToolId,
    },
    Delete {
        slug: String,
        version: String,
    },
    Switch {
        slug: String,
        version: String,
        on: bool,
    },
    PutBundle {
        id: BundleId,
        slug: String,
    },
    DeleteBundle {
        id: BundleId,
    },
    RestoreBundle {
        id: BundleId,
    },
    Reap,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Answer {
    Done,
    Refused,
}

/// A line of a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Line {
    Try(Attempt),
    Told(Answer),
    /// What no race may bring about.
    Fault(String),
}

/// One thread of one process.
struct Racer {
    store: Store,
    journal: File,
    dice: Dice,
    name: String,
    /// Its own bundles, and whether they are in the bin.
    bundles: Vec<(BundleId, bool)>,
}

impl Racer {
    fn note(&mut self, line: &Line) {
        let mut text = serde_json::to_vec(line).unwrap();
        text.push(b'\n');
        // One call: a kill leaves the line or not.
        self.journal.write_all(&text).unwrap();
    }

    fn choose(&mut self, number: usize) -> Attempt {
        let slug = format!("c{}", self.dice.roll(4));
        let version = format!("v{}", self.dice.roll(2));
        match self.dice.roll(20) {
            0..8 => Attempt::Put {
                slug: format!("own-{}-{number}", self.name),
                version: String::from("v1"),
                id: ToolId::generate(),
            },
            8..11 => Attempt::Put {
                slug,
                version,
                id: ToolId::generate(),
            },
            11..13 => Attempt::Delete { slug, version },
            13 => Attempt::Switch {
                slug,
                version,
                on: self.dice.roll(2) == 0,
            },
            14..16 => Attempt::PutBundle {
                id: BundleId::generate(),
                slug: format!("b{}", self.dice.roll(3)),
            },
            16..19 => match self.bundles.len() {
                0 => Attempt::Reap,
                count => match self.bundles[self.dice.roll(count)] {
                    (id, true) => Attempt::RestoreBundle { id },
                    (id, false) => Attempt::DeleteBundle { id },
                },
            },
            _ => Attempt::Reap,
        }
    }

    fn run(&mut self, number: usize) {
        let attempt = self.choose(number);
        self.note(&Line::Try(attempt.clone()));
        let shared = bundle_id(1);
        let result = match attempt.clone() {
            Attempt::Put { slug, version, id } => self
                .store
                .put_tool(manifest(&key(shared, &slug, &version), id, &self.name))
                .map(drop),
            Attempt::Delete { slug, version } => {
                self.store.delete_tool(&key(shared, &slug, &version))
            }
            Attempt::Switch { slug, version, on } => self
                .store
                .set_tool_enabled(&key(shared, &slug, &version), on)
                .map(drop),
            Attempt::PutBundle { id, slug } => self.store.put_bundle(id, draft(&slug)).map(|put| {
                assert!(matches!(put, Put::Created(_)));
                self.bundles.push((id, false));
            }),
            Attempt::DeleteBundle { id } => self.store.delete_bundle(id).map(drop),
            Attempt::RestoreBundle { id } => self.store.restore_bundle(id).map(drop),
            Attempt::Reap => self.store.reap().map(|reaped| assert_eq!(reaped, [])),
        };
        let is_done = result.is_ok();
        if let (true, Attempt::DeleteBundle { id } | Attempt::RestoreBundle { id }) =
            (is_done, &attempt)
        {
            for (own, is_binned) in &mut self.bundles {
                if own == id {
                    *is_binned = !*is_binned;
                }
            }
        }
        let line = match result {
            Ok(()) => Line::Told(Answer::Done),
            Err(
                StoreError::VersionTaken { .. }
                | StoreError::ToolNotFound { .. }
                | StoreError::SlugTaken { .. },
            ) => Line::Told(Answer::Refused),
            Err(error) => Line::Fault(format!("{attempt:?}: {error}")),
        };
        self.note(&line);
    }
}

/// A process of the race. On its own it does nothing.
#[test]
fn racer() {
    let Some(home) = std::env::var_os("TOOLCRIB_TEST_RACE").map(PathBuf::from) else {
        return;
    };
    let number = |name: &str| std::env::var(name).unwrap().parse::<u64>().unwrap();
    let (process, seed) = (number("TOOLCRIB_TEST_RACER"), number("TOOLCRIB_TEST_SEED"));
    let store = Store::at(&home, StoreOptions::default());
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let name = format!("{process}-{thread}");
            let journal = home.with_extension("journals").join(&name);
            let journal = OpenOptions::new()
                .create_new(true)
                .append(true)
                .open(journal);
            let mut racer = Racer {
                // Half of them share a store, as the threads of a server do.
                store: match thread % 2 {
                    0 => store.clone(),
                    _ => Store::at(&home, StoreOptions::default()),
                },
                journal: journal.unwrap(),
                dice: Dice(seed ^ (process * 1000 + thread as u64)),
                name,
                bundles: Vec::new(),
            };
            scope.spawn(move || (0..attempts_of_a_thread()).for_each(|number| racer.run(number)));
        }
    });
}

fn attempts_of_a_thread() -> usize {
    3 * scale()
}

fn start(home: &Path, process: usize, seed: u64) -> Child {
    let mut command = test_in_child("store::races::racer");
    command.env("TOOLCRIB_TEST_RACE", home);
    command.env("TOOLCRIB_TEST_RACER", process.to_string());
    command.env("TOOLCRIB_TEST_SEED", seed.to_string());
    command.spawn().unwrap()
}

fn journals(home: &Path) -> Vec<(String, Vec<Line>)> {
    let entries = std::fs::read_dir(home.with_extension("journals")).unwrap();
    let read = |entry: std::fs::DirEntry| {
        let text = std::fs::read_to_string(entry.path()).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        (entry.file_name().into_string().unwrap(), lines.collect())
    };
    entries.map(|entry| read(entry.unwrap())).collect()
}

/// How many lines a process has noted.
fn progress(home: &Path, process: usize) -> usize {
    let dir = home.with_extension("journals");
    let lines = |thread| {
        let text = std::fs::read_to_string(dir.join(format!("{process}-{thread}")));
        text.unwrap_or_default().lines().count()
    };
    (0..THREADS).map(lines).sum()
}

/// Runs all processes, sixteen at a time, and kills every third of them at some point. Returns how many were killed.
fn run_all(home: &Path, seed: u64) -> usize {
    let mut dice = Dice(seed);
    let all = SLOTS + SLOTS / 2;
    let lines = 2 * THREADS * attempts_of_a_thread();
    let mut waiting = (0..all).map(|process| {
        let dies_at = (process % 3 == 0).then(|| dice.roll(lines));
        (process, dies_at)
    });
    let mut running: Vec<(usize, Option<usize>, Child)> = Vec::new();
    let mut killed = 0;
    loop {
        while running.len() < SLOTS
            && let Some((process, dies_at)) = waiting.next()
        {
            running.push((process, dies_at, start(home, process, seed)));
        }
        if running.is_empty() {
            return killed;
        }
        running.retain_mut(|(process, dies_at, child)| {
            if let Some(status) = child.try_wait().unwrap() {
                assert!(status.success(), "process {process} ended with {status}");
                return false;
            }
            if dies_at.is_none_or(|line| progress(home, *process) < line) {
                return true;
            }
            child.kill().unwrap();
            killed += usize::from(!child.wait().unwrap().success());
            false
        });
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// What the journals say of one tool: how often it was put and deleted, surely and perhaps.
#[derive(Debug, Default)]
struct Account {
    put: usize,
    deleted: usize,
    perhaps_put: usize,
    perhaps_deleted: usize,
    /// The ids it may have.
    ids: BTreeSet<String>,
}

/// What the journals say of a bundle, `None` where nobody knows.
#[derive(Debug)]
struct BundleAccount {
    is_there: Option<bool>,
    is_binned: Option<bool>,
}

#[derive(Debug, Default)]
struct Books {
    tools: BTreeMap<String, Account>,
    bundles: BTreeMap<String, BundleAccount>,
    attempts: usize,
    unanswered: usize,
}

impl Books {
    fn of(journals: &[(String, Vec<Line>)]) -> Self {
        let mut books = Books::default();
        for (name, lines) in journals {
            let mut lines = lines.iter().peekable();
            while let Some(line) = lines.next() {
                let Line::Try(attempt) = line else {
                    panic!("{name}: {line:?}");
                };
                let answer = match lines.next() {
                    Some(Line::Told(answer)) => Some(*answer),
                    None => None,
                    other => panic!("{name}: {other:?}"),
                };
                books.enter(attempt, answer);
            }
        }
        books
    }

    fn enter(&mut self, attempt: &Attempt, answer: Option<Answer>) {
        self.attempts += 1;
        self.unanswered += usize::from(answer.is_none());
        if answer == Some(Answer::Refused) {
            return;
        }
        let sure = usize::from(answer.is_some());
        let tool_name = |slug, version| format!("{}/{slug}@{version}", bundle_id(1));
        match attempt {
            Attempt::Put { slug, version, id } => {
                let account = self.tools.entry(tool_name(slug, version)).or_default();
                account.put += sure;
                account.perhaps_put += 1 - sure;
                account.ids.insert(id.to_string());
            }
            Attempt::Delete { slug, version } => {
                let account = self.tools.entry(tool_name(slug, version)).or_default();
                account.deleted += sure;
                account.perhaps_deleted += 1 - sure;
            }
            Attempt::PutBundle { id, .. } => {
                let is_there = (sure == 1).then_some(true);
                let account = BundleAccount {
                    is_there,
                    is_binned: Some(false),
                };
                self.bundles.insert(id.to_string(), account);
            }
            // Only the thread that made it touches a bundle, so its journal says how it is.
            Attempt::DeleteBundle { id } => {
                self.bundles.get_mut(&id.to_string()).unwrap().is_binned =
                    (sure == 1).then_some(true);
            }
            Attempt::RestoreBundle { id } => {
                self.bundles.get_mut(&id.to_string()).unwrap().is_binned =
                    (sure == 1).then_some(false);
            }
            Attempt::Switch { .. } | Attempt::Reap => {}
        }
    }

    fn assert_agree_with(&self, view: &View) {
        for (name, account) in &self.tools {
            let is_there = usize::from(view.tools.contains_key(name));
            let least = account
                .put
                .saturating_sub(account.deleted + account.perhaps_deleted);
            let most = account.put + account.perhaps_put - account.deleted;
            assert!(
                (least..=most).contains(&is_there),
                "{name} is there {is_there} times: {account:?}"
            );
            if let Some(tool) = view.tools.get(name) {
                assert!(
                    account.ids.contains(tool["toolID"].as_str().unwrap()),
                    "{name}: nobody put {tool}"
                );
            }
        }
        for name in view.tools.keys() {
            assert!(self.tools.contains_key(name), "nobody put {name}");
        }
        for (id, account) in &self.bundles {
            let found = view.bundles.get(id);
            assert!(
                account
                    .is_there
                    .is_none_or(|is_there| found.is_some() == is_there),
                "{id}: {account:?}"
            );
            if let (Some(found), Some(is_binned)) = (found, account.is_binned) {
                assert_eq!(
                    found.get("softDeletedAt").is_some(),
                    is_binned,
                    "{id}: {account:?}"
                );
            }
        }
        let known = view
            .bundles
            .keys()
            .filter(|id| self.bundles.contains_key(*id))
            .count();
        assert_eq!(
            known + 1,
            view.bundles.len(),
            "nobody put some of the bundles"
        );
        let put: usize = self.tools.values().map(|account| account.put).sum();
        let deleted: usize = self.tools.values().map(|account| account.deleted).sum();
        let perhaps_put: usize = self.tools.values().map(|account| account.perhaps_put).sum();
        let perhaps_deleted: usize = self
            .tools
            .values()
            .map(|account| account.perhaps_deleted)
            .sum();
        eprintln!(
            "{} attempts, {} without an answer; {put} tools put, {deleted} deleted, {} there; {} bundles there",
            self.attempts,
            self.unanswered,
            view.tools.len(),
            view.bundles.len()
        );
        let counts = put - deleted.min(put) - perhaps_deleted.min(put - deleted)
            ..=put + perhaps_put - deleted;
        assert!(
            counts.contains(&view.tools.len()),
            "{} tools are there, not {counts:?}",
            view.tools.len()
        );
    }
}

/// STO-006. Somebody follows at a glance the whole time, and nobody sees what must never be.
#[test]
fn what_was_acknowledged_is_there_once_whoever_was_killed() {
    let seed = seed();
    let home = Home::empty();
    std::fs::create_dir(home.path.with_extension("journals")).unwrap();
    let store = open(&home.path);
    store.put_bundle(bundle_id(1), draft("shared")).unwrap();
    let is_over = AtomicBool::new(false);
    let killed = std::thread::scope(|scope| {
        let follower = scope.spawn(|| {
            let mut looks = 0_usize;
            while !is_over.load(Ordering::Relaxed) {
                let seen = View::at_a_glance(&store);
                assert_eq!(seen.damage, BTreeSet::new());
                looks += 1;
                std::thread::sleep(Duration::from_millis(5));
            }
            looks
        });
        let over = SetWhenDropped(&is_over);
        let killed = run_all(&home.path, seed);
        drop(over);
        assert!(follower.join().unwrap() > 0);
        killed
    });
    eprintln!("{killed} processes killed");
    let view = View::fresh(&home.path);
    assert_eq!(view.damage, BTreeSet::new());
    Books::of(&journals(&home.path)).assert_agree_with(&view);
    assert_eq!(View::at_a_glance(&store), view, "to one who followed");
    assert!(store.changes(Look::Thorough).unwrap().is_empty());
    store.reap().unwrap();
    assert_eq!(home.temps(), [] as [&str; 0]);
}
