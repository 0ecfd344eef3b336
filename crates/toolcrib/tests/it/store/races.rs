//! Sixteen processes of eight threads each write at once, and some are killed, most of them within a write: nothing acknowledged is lost,
//! nothing is there twice, nothing is damaged, and of those who replace the same text one wins.
//!
//! Each thread keeps a journal of what it tries and the results (`books`).

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use toolcrib::store::{Install, Look, Put, Store, StoreError};
use toolcrib::{BundleId, ToolId};

use super::bin::SetWhenDropped;
use super::books::{Answer, Attempt, Books, Line, journals, text_of};
use super::ground::Home;
use super::operation::bundle_to_install;
use super::view::View;
use super::{Dice, bundle_id, draft, key, manifest, open, scale, seed, tool_id};
use crate::syscalls::test_in_child;

const SLOTS: usize = 16;
const THREADS: usize = 8;

/// How many of the first processes go on until they are killed, and how many of those are killed while they have the lock.
const DOOMED: usize = 8;
const DIE_WRITING: usize = 6;

/// Tools that all replace and no one else touches, and what they say at first.
pub(super) const CONTESTED: [&str; 2] = ["r0", "r1"];
pub(super) const AT_FIRST: &str = "as it was";

/// The bundle that all install again as a whole, and its tools.
pub(super) fn reinstalled() -> BundleId {
    bundle_id(2)
}
const TOGETHER: [&str; 3] = ["a", "b", "c"];

/// One thread of one process.
struct Racer {
    store: Store,
    journal: File,
    dice: Dice,
    name: String,
    /// Its own bundles, and whether they are in the bin.
    bundles: Vec<(BundleId, bool)>,
    /// Its own tools.
    tools: Vec<String>,
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
        let text = format!("{} {number}", self.name);
        match self.dice.roll(24) {
            0..6 => Attempt::Put {
                slug: format!("own-{}-{number}", self.name),
                version: String::from("v1"),
                id: ToolId::generate(),
            },
            6..9 => Attempt::Put {
                slug,
                version,
                id: ToolId::generate(),
            },
            9..11 => Attempt::Delete { slug, version },
            11..13 => match self.tools.len() {
                0 => Attempt::Reap,
                count => Attempt::Switch {
                    slug: self.tools[self.dice.roll(count)].clone(),
                    on: self.dice.roll(2) == 0,
                },
            },
            13..17 => {
                let slug = self.dice.pick(&CONTESTED).to_owned();
                let tool = self.store.tool(&key(bundle_id(1), &slug, "v1")).unwrap();
                let seen = tool.manifest().unwrap().description;
                let digest = tool.digest();
                Attempt::Replace {
                    slug,
                    seen,
                    digest,
                    text,
                }
            }
            17..19 => Attempt::Install { text },
            19..21 => Attempt::PutBundle {
                id: BundleId::generate(),
                slug: format!("b{}", self.dice.roll(3)),
            },
            21..23 => match self.bundles.len() {
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
        let result = self.attempt(&attempt);
        if result.is_ok() {
            self.remember(&attempt);
        }
        let line = match result {
            Ok(()) => Line::Told(Answer::Done),
            Err(
                StoreError::VersionTaken { .. }
                | StoreError::ToolNotFound { .. }
                | StoreError::Changed { .. }
                | StoreError::SlugTaken { .. },
            ) => Line::Told(Answer::Refused),
            Err(error) => Line::Fault(format!("{attempt:?}: {error}")),
        };
        self.note(&line);
    }

    fn attempt(&self, attempt: &Attempt) -> Result<(), StoreError> {
        let (store, shared) = (&self.store, bundle_id(1));
        match attempt {
            Attempt::Put { slug, version, id } => store
                .put_tool(manifest(&key(shared, slug, version), *id, &self.name))
                .map(drop),
            Attempt::Delete { slug, version } => store.delete_tool(&key(shared, slug, version)),
            Attempt::Switch { slug, on } => store
                .set_tool_enabled(&key(shared, slug, "v1"), *on)
                .map(drop),
            Attempt::Replace {
                slug, digest, text, ..
            } => {
                let new = manifest(&key(shared, slug, "v1"), ToolId::generate(), text);
                store.replace_tool(new, digest).map(drop)
            }
            Attempt::Install { text } => install(store, text, Install::Update),
            Attempt::PutBundle { id, slug } => store.put_bundle(*id, draft(slug)).map(|put| {
                assert!(matches!(put, Put::Created(_)));
            }),
            Attempt::DeleteBundle { id } => store.delete_bundle(*id).map(drop),
            Attempt::RestoreBundle { id } => store.restore_bundle(*id).map(drop),
            Attempt::Reap => store.reap().map(|reaped| assert_eq!(reaped, [])),
        }
    }

    /// Its own part now.
    fn remember(&mut self, done: &Attempt) {
        match done {
            Attempt::Put { slug, .. } if slug.starts_with("own-") => self.tools.push(slug.clone()),
            Attempt::PutBundle { id, .. } => self.bundles.push((*id, false)),
            Attempt::DeleteBundle { id } | Attempt::RestoreBundle { id } => {
                let own = self.bundles.iter_mut().filter(|(own, _)| own == id);
                own.for_each(|(_, is_binned)| *is_binned = !*is_binned);
            }
            _ => {}
        }
    }
}

/// All tools of the bundle say the same.
fn install(store: &Store, text: &str, how: Install) -> Result<(), StoreError> {
    let tools = TOGETHER.iter().zip(20..);
    let tools =
        tools.map(|(tool, id)| manifest(&key(reinstalled(), tool, "v1"), tool_id(id), text));
    let bundle = bundle_to_install(2, "together");
    store.install(bundle, tools.collect(), how).map(drop)
}

/// A process of the race. On its own it does nothing.
#[test]
fn racer() {
    let Some(home) = std::env::var_os("TOOLCRIB_TEST_RACE").map(PathBuf::from) else {
        return;
    };
    let number = |name: &str| std::env::var(name).unwrap().parse::<u64>().unwrap();
    let (process, seed) = (number("TOOLCRIB_TEST_RACER"), number("TOOLCRIB_TEST_SEED"));
    let attempts = match (process as usize) < DOOMED {
        true => usize::MAX,
        false => 3 * scale(),
    };
    let store = open(&home);
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
                    _ => open(&home),
                },
                journal: journal.unwrap(),
                dice: Dice(seed ^ (process * 1000 + thread as u64)),
                name,
                bundles: Vec::new(),
                tools: Vec::new(),
            };
            scope.spawn(move || (0..attempts).for_each(|number| racer.run(number)));
        }
    });
}

fn start(home: &Path, process: usize, seed: u64) -> Child {
    let mut command = test_in_child("store::races::racer");
    command.env("TOOLCRIB_TEST_RACE", home);
    command.env("TOOLCRIB_TEST_RACER", process.to_string());
    command.env("TOOLCRIB_TEST_SEED", seed.to_string());
    command.spawn().unwrap()
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(child.id().try_into().unwrap())
}

/// The lock of all writers, as the kernel and the file itself tell of it.
struct Lock {
    file: PathBuf,
    inode: String,
}

impl Lock {
    fn of(home: &Path) -> Self {
        let file = home.join("bundles/.lock");
        let inode = format!(":{}", std::fs::metadata(&file).unwrap().ino());
        Lock { file, inode }
    }

    /// Which process has it.
    fn holder(&self) -> Option<Pid> {
        let locks = std::fs::read_to_string("/proc/locks").unwrap();
        // `1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF`; a waiting process has `->` before `FLOCK`.
        let held = locks.lines().filter(|line| !line.contains("->"));
        let mut fields = held.map(|line| line.split_whitespace().collect::<Vec<_>>());
        let found = fields.find(|fields| fields.get(5).is_some_and(|it| it.ends_with(&self.inode)));
        found.map(|fields| Pid::from_raw(fields[4].parse().unwrap()))
    }

    /// Whether someone has said that he writes, and not that he is done.
    fn is_odd(&self) -> bool {
        let text = std::fs::read_to_string(&self.file).unwrap();
        text.trim()
            .parse::<u64>()
            .is_ok_and(|number| number % 2 == 1)
    }
}

/// Kills one of these processes while it has the lock and writes: stopped first, so that it has it when it dies.
fn kill_a_writer(lock: &Lock, doomed: &mut Vec<Child>) {
    let begun = Instant::now();
    loop {
        let is_late = begun.elapsed() > Duration::from_secs(60);
        assert!(!is_late, "none of {} was seen to write", doomed.len());
        let holder = lock.holder();
        let found = doomed.iter().position(|child| Some(pid(child)) == holder);
        let Some(at) = found else {
            std::thread::yield_now();
            continue;
        };
        let victim = pid(&doomed[at]);
        kill(victim, Signal::SIGSTOP).unwrap();
        let status = waitpid(victim, Some(WaitPidFlag::WUNTRACED)).unwrap();
        assert_eq!(status, WaitStatus::Stopped(victim, Signal::SIGSTOP));
        if lock.holder() == Some(victim) && lock.is_odd() {
            let mut child = doomed.swap_remove(at);
            child.kill().unwrap();
            assert!(!child.wait().unwrap().success());
            return;
        }
        kill(victim, Signal::SIGCONT).unwrap();
    }
}

/// Runs all processes, sixteen at a time. Another one comes for each that is killed.
fn run_all(home: &Path, seed: u64) {
    let lock = Lock::of(home);
    let mut dice = Dice(seed);
    let mut processes: Vec<Child> = (0..SLOTS)
        .map(|process| start(home, process, seed))
        .collect();
    let mut others = processes.split_off(DOOMED);
    let mut doomed = processes;
    for (killed, next) in (0..DOOMED).zip(SLOTS..) {
        if killed < DIE_WRITING {
            kill_a_writer(&lock, &mut doomed);
        } else {
            let mut child = doomed.swap_remove(dice.roll(doomed.len()));
            child.kill().unwrap();
            assert!(!child.wait().unwrap().success());
        }
        others.push(start(home, next, seed));
    }
    for mut child in others {
        let status = child.wait().unwrap();
        assert!(status.success(), "a process ended with {status}");
    }
}

/// STO-006. Someone follows at a glance the whole time, and no one sees what must never be.
#[test]
fn what_was_acknowledged_is_there_once_regardless_of_who_was_killed() {
    let seed = seed();
    let home = Home::empty();
    std::fs::create_dir(home.path.with_extension("journals")).unwrap();
    let store = open(&home.path);
    let shared = bundle_id(1);
    store.put_bundle(shared, draft("shared")).unwrap();
    for (slug, id) in CONTESTED.into_iter().zip(10..) {
        let tool = manifest(&key(shared, slug, "v1"), tool_id(id), AT_FIRST);
        store.put_tool(tool).unwrap();
    }
    install(&store, AT_FIRST, Install::New).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let follower = scope.spawn(|| {
            let mut looks = 0_usize;
            while !is_over.load(Ordering::Relaxed) {
                if store.is_current() {
                    std::thread::yield_now();
                    continue;
                }
                let seen = View::at_a_glance(&store);
                assert_eq!(seen.damage, BTreeSet::new());
                text_of(&seen, reinstalled());
                looks += 1;
            }
            looks
        });
        let over = SetWhenDropped(&is_over);
        run_all(&home.path, seed);
        drop(over);
        assert!(follower.join().unwrap() > 0);
    });
    let view = View::fresh(&home.path);
    assert_eq!(view.damage, BTreeSet::new());
    let books = Books::of(&journals(&home.path));
    books.assert_agree_with(&view);
    // Each process that died writing had tried something and got no result.
    assert!(
        books.unanswered >= DIE_WRITING,
        "{} attempts unanswered",
        books.unanswered
    );
    assert_eq!(View::at_a_glance(&store), view, "to one who followed");
    assert!(store.changes(Look::Thorough).unwrap().is_empty());
    store.reap().unwrap();
    assert_eq!(home.temps(), [] as [&str; 0]);
}
