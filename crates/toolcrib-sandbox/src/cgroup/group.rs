//! The cgroups behind one slot, one directory per hierarchy, with every file a run needs kept open.
//!
//! Opening a cgroup file costs three times as much as reading it, hence the open files: about ten per slot.

use std::{
    fs::{File, OpenOptions},
    io,
    os::{
        fd::{AsRawFd, RawFd},
        unix::fs::FileExt,
    },
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use super::{CgroupLimits, Version, files, kill, limits, parse, tree::Tree};

/// How long to wait for killed processes to be gone.
const PATIENCE: Duration = Duration::from_millis(100);

/// Memory of earlier runs (page cache, files left on a tmpfs) a slot may still be charged with, at most.
const RESIDUE_MAX: u64 = 32 << 20;

/// The directories and open files of one slot.
#[derive(Debug)]
pub(super) struct Group {
    dirs: Vec<PathBuf>,
    /// One per directory, v2 first.
    entry_fds: Vec<RawFd>,
    /// Keeps `entry_fds` open.
    _entries: Vec<File>,
    /// The v2 directory, open for clone3(2).
    birthplace: Option<File>,
    memory: Option<Memory>,
    pids: Option<Pids>,
    cpu: Option<Cpu>,
    /// Where `cgroup.kill` is.
    kill_dir: Option<PathBuf>,
    limits: CgroupLimits,
    /// A kill without `cgroup.kill` set the process limit to 0, whatever `limits` says.
    forks_stopped: AtomicBool,
    was_killed: AtomicBool,
    /// A run had this slot, so the counters need not be at 0.
    is_used: bool,
}

#[derive(Debug)]
struct Memory {
    dir: PathBuf,
    version: Version,
    events: Option<File>,
    usage: Option<File>,
    /// Only where the kernel lets us reset it.
    peak: Option<File>,
}

#[derive(Debug)]
struct Pids {
    dir: PathBuf,
    events: Option<File>,
    current: Option<File>,
}

#[derive(Debug)]
struct Cpu {
    version: Version,
    usage: File,
}

/// Counters that only grow; a run's share is the difference to those at its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Readings {
    pub(super) cpu: Duration,
    pub(super) oom_kills: u64,
    pub(super) pids_refused: u64,
}

impl Group {
    /// Opens the directories of a slot just made, one per tree and in their order.
    pub(super) fn open(dirs: Vec<PathBuf>, trees: &[Tree]) -> io::Result<Self> {
        let places = || dirs.iter().zip(trees);
        let entries = places()
            .map(|(dir, tree)| files::open_write(dir, tree.version.entry()))
            .collect::<io::Result<Vec<_>>>()?;
        let unified = places().find(|(_, tree)| tree.version == Version::V2);
        let birthplace = unified.map(|(dir, _)| files::open_read(dir, "."));
        let mut group = Self {
            entry_fds: entries.iter().map(AsRawFd::as_raw_fd).collect(),
            _entries: entries,
            birthplace: birthplace.transpose()?,
            memory: None,
            pids: None,
            cpu: None,
            kill_dir: None,
            limits: CgroupLimits::default(),
            forks_stopped: AtomicBool::new(false),
            was_killed: AtomicBool::new(false),
            is_used: false,
            dirs,
        };
        for (dir, tree) in group.dirs.iter().zip(trees) {
            if tree.serves.memory {
                group.memory = Some(Memory::open(dir, tree.version));
            }
            if tree.serves.pids {
                let open = |name| files::open_read(dir, name).ok();
                group.pids = Some(Pids {
                    dir: dir.clone(),
                    events: open("pids.events"),
                    current: open("pids.current"),
                });
            }
            // v2 comes first and is preferred; see `discover`.
            if tree.serves.cpu && group.cpu.is_none() {
                group.cpu = Some(Cpu::open(dir, tree.version)?);
            }
            if tree.serves.kill {
                group.kill_dir = Some(dir.clone());
            }
        }
        Ok(group)
    }

    pub(super) fn dirs(&self) -> &[PathBuf] {
        &self.dirs
    }

    pub(super) fn entry_fds(&self) -> &[RawFd] {
        &self.entry_fds
    }

    pub(super) fn birthplace(&self) -> Option<RawFd> {
        self.birthplace.as_ref().map(AsRawFd::as_raw_fd)
    }

    pub(super) fn limits(&self) -> &CgroupLimits {
        &self.limits
    }

    /// Whether earlier runs left so little in here that a run under `limits` will not feel it.
    ///
    /// What stays charged may be irreclaimable (tmpfs) and would count against the next run's limit and peak.
    pub(super) fn is_roomy_for(&self, limits: &CgroupLimits) -> bool {
        let bearable = limits
            .memory
            .map_or(RESIDUE_MAX, |limit| RESIDUE_MAX.min(limit / 8));
        let usage = self
            .memory
            .as_ref()
            .and_then(|memory| memory.usage.as_ref());
        !self.is_used
            || usage.is_none_or(|usage| {
                files::reread(usage, parse::number).is_some_and(|used| used <= bearable)
            })
    }

    /// Sets the limits, writing only what differs. After an error discard the group.
    pub(super) fn limit(&mut self, limits: &CgroupLimits) -> io::Result<()> {
        if let Some(memory) = &self.memory {
            limits::set_memory(
                &memory.dir,
                memory.version,
                self.limits.memory,
                limits.memory,
            )?;
        }
        if let Some(pids) = &self.pids {
            let old = if *self.forks_stopped.get_mut() {
                Some(0)
            } else {
                self.limits.pids
            };
            limits::set_pids(&pids.dir, old, limits.pids)?;
            *self.forks_stopped.get_mut() = false;
        }
        self.limits = *limits;
        Ok(())
    }

    /// Starts the account of a run: resets the peak and returns where the counters stand.
    pub(super) fn begin(&mut self) -> Readings {
        // Nothing has run in a new cgroup: its counters are at 0.
        if !std::mem::replace(&mut self.is_used, true) {
            return Readings::default();
        }
        if let Some(peak) = self.memory.as_ref().and_then(|memory| memory.peak.as_ref()) {
            let _ = peak.write_at(b"0", 0);
        }
        self.readings()
    }

    /// Where the counters stand now.
    pub(super) fn readings(&self) -> Readings {
        Readings {
            cpu: self.cpu_time().unwrap_or_default(),
            oom_kills: self.oom_kills(),
            pids_refused: self.pids_refused(),
        }
    }

    pub(super) fn cpu_time(&self) -> Option<Duration> {
        let cpu = self.cpu.as_ref()?;
        files::reread(&cpu.usage, |text| match cpu.version {
            Version::V1 => parse::number(text).map(Duration::from_nanos),
            Version::V2 => parse::counter(text, "usage_usec").map(Duration::from_micros),
        })
    }

    pub(super) fn oom_kills(&self) -> u64 {
        let events = self
            .memory
            .as_ref()
            .and_then(|memory| memory.events.as_ref());
        events
            .and_then(|events| files::reread(events, |text| parse::counter(text, "oom_kill")))
            .unwrap_or(0)
    }

    pub(super) fn pids_refused(&self) -> u64 {
        let events = self.pids.as_ref().and_then(|pids| pids.events.as_ref());
        events
            .and_then(|events| files::reread(events, |text| parse::counter(text, "max")))
            .unwrap_or(0)
    }

    pub(super) fn peak_memory(&self) -> Option<u64> {
        files::reread(self.memory.as_ref()?.peak.as_ref()?, parse::number)
    }

    pub(super) fn members(&self) -> Vec<i32> {
        self.dirs
            .first()
            .map(|dir| kill::members(dir))
            .unwrap_or_default()
    }

    /// Whether no process is left, not even one dead and unreaped (which still counts against the limit).
    pub(super) fn is_empty(&self) -> bool {
        match self.pids.as_ref().and_then(|pids| pids.current.as_ref()) {
            Some(current) => files::reread(current, parse::number) == Some(0),
            None => self.dirs.iter().all(|dir| kill::members(dir).is_empty()),
        }
    }

    /// Ends every process in the group; with `cgroup.kill` they may still be dying when this returns.
    pub(super) fn kill(&self) {
        if self
            .kill_dir
            .as_ref()
            .is_some_and(|dir| kill::at_once(dir).is_ok())
        {
            self.was_killed.store(true, Ordering::Relaxed);
            return;
        }
        let Some(dir) = self.dirs.first() else { return };
        // Killing one by one never catches up with a fork bomb unless forking stops first.
        if let Some(pids) = &self.pids {
            self.forks_stopped.store(true, Ordering::Relaxed);
            let _ = files::write(&pids.dir, "pids.max", "0");
        }
        let deadline = Instant::now() + PATIENCE;
        while kill::members_once(dir) > 0 && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Whether `cgroup.kill` was used. The kernel (seen on 6.18) then kills at birth any process cloned into the group later,
    /// so it must not be used again.
    pub(super) fn was_killed(&self) -> bool {
        self.was_killed.load(Ordering::Relaxed)
    }

    /// Ends every process and waits until none lives; says whether that came about. Unreaped ones may be left.
    pub(super) fn empty_out(&self) -> bool {
        if self.is_empty() {
            return true;
        }
        self.kill();
        let deadline = Instant::now() + PATIENCE;
        // A killed tree is mostly gone within tens of microseconds.
        let mut pause = Duration::from_micros(20);
        // The member lists leave out the dead, reaped or not.
        while self.dirs.iter().any(|dir| !kill::members(dir).is_empty()) {
            if Instant::now() >= deadline {
                return false;
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(5));
        }
        true
    }
}

impl Version {
    /// The file through which a single-threaded process enters by writing `0`.
    fn entry(self) -> &'static str {
        match self {
            // For a whole process (`cgroup.procs`) the kernel takes a lock against every fork on the machine, which costs
            // an RCU grace period: 5 to 20 ms when nothing moved just before. A thread moving itself needs no lock.
            Self::V1 => "tasks",
            // The same trick (`cgroup.threads`) is refused between ordinary v2 cgroups; see `birthplace`.
            Self::V2 => "cgroup.procs",
        }
    }
}

impl Memory {
    fn open(dir: &Path, version: Version) -> Self {
        limits::prepare_memory(dir, version);
        // v2: not `memory.events.local`, which misses kills in cgroups a run may have made below its own.
        let (events, usage, peak) = match version {
            Version::V1 => (
                "memory.oom_control",
                "memory.usage_in_bytes",
                "memory.max_usage_in_bytes",
            ),
            Version::V2 => ("memory.events", "memory.current", "memory.peak"),
        };
        // v2 resets the peak per open file, and only since Linux 6.12: before, the file is read-only.
        let peak = OpenOptions::new()
            .read(true)
            .write(true)
            .open(dir.join(peak))
            .ok();
        Self {
            dir: dir.to_owned(),
            version,
            events: files::open_read(dir, events).ok(),
            usage: files::open_read(dir, usage).ok(),
            peak: peak.filter(|peak| peak.write_at(b"0", 0).is_ok()),
        }
    }
}

impl Cpu {
    fn open(dir: &Path, version: Version) -> io::Result<Self> {
        let name = match version {
            Version::V1 => "cpuacct.usage",
            Version::V2 => "cpu.stat",
        };
        Ok(Self {
            version,
            usage: files::open_read(dir, name)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{owner::Owner, tree::Serves};
    use super::*;
    use std::fs;

    /// A v2 cgroup made of ordinary files.
    struct Fake {
        dir: tempfile::TempDir,
        group: Group,
    }

    const V2: &[(&str, &str)] = &[
        ("cgroup.procs", ""),
        ("memory.max", "max\n"),
        ("memory.current", "4096\n"),
        (
            "memory.events",
            "max 1\noom 1\noom_kill 2\noom_group_kill 1\n",
        ),
        ("memory.peak", "7000\n"),
        ("pids.max", "max\n"),
        ("pids.current", "0\n"),
        ("pids.events", "max 5\n"),
        ("cpu.stat", "usage_usec 1500\nuser_usec 1000\n"),
    ];

    impl Fake {
        fn new(files: &[(&str, &str)]) -> Self {
            let dir = tempfile::tempdir().unwrap();
            for (name, text) in files {
                fs::write(dir.path().join(name), text).unwrap();
            }
            let mut tree = Tree::probe(
                dir.path().to_owned(),
                Version::V2,
                &Owner::current().unwrap(),
            )
            .unwrap();
            let has = |name: &str| files.iter().any(|(file, _)| *file == name);
            tree.serves = Serves {
                memory: has("memory.max"),
                pids: has("pids.max"),
                cpu: has("cpu.stat"),
                kill: false,
            };
            let group = Group::open(vec![dir.path().to_owned()], &[tree]).unwrap();
            Self { dir, group }
        }

        fn set(&self, name: &str, text: &str) {
            fs::write(self.dir.path().join(name), text).unwrap();
        }

        fn content(&self, name: &str) -> String {
            fs::read_to_string(self.dir.path().join(name)).unwrap()
        }
    }

    #[test]
    fn a_used_v2_group_starts_from_where_its_counters_stand() {
        let mut fake = Fake::new(V2);
        assert_eq!(fake.group.begin(), Readings::default());
        let readings = Readings {
            cpu: Duration::from_micros(1500),
            oom_kills: 2,
            pids_refused: 5,
        };
        assert_eq!(fake.group.begin(), readings);
        assert_eq!(fake.group.peak_memory(), Some(0));
    }

    #[test]
    fn a_peak_that_cannot_be_reset_is_not_reported() {
        let files: Vec<_> = V2
            .iter()
            .copied()
            .filter(|(name, _)| *name != "memory.peak")
            .collect();
        assert_eq!(Fake::new(&files).group.peak_memory(), None);
    }

    #[test]
    fn a_group_holding_an_eighth_of_the_limit_is_too_full() {
        let mut fake = Fake::new(V2);
        let limits = CgroupLimits {
            memory: Some(64 << 20),
            pids: None,
        };
        fake.set("memory.current", "8388609\n");
        assert!(
            fake.group.is_roomy_for(&limits),
            "a new group is charged with nothing of others"
        );
        fake.group.begin();
        assert!(!fake.group.is_roomy_for(&limits));
        assert!(fake.group.is_roomy_for(&CgroupLimits::default()));
        fake.set("memory.current", "8388608\n");
        assert!(fake.group.is_roomy_for(&limits));
    }

    #[test]
    fn without_a_pids_controller_the_member_list_says_whether_it_is_empty() {
        let fake = Fake::new(&[("cgroup.procs", "")]);
        assert!(fake.group.is_empty());
        fake.set("cgroup.procs", "12\n");
        assert!(!fake.group.is_empty());
        assert_eq!(fake.group.members(), [12]);
        assert_eq!(
            (
                fake.group.cpu_time(),
                fake.group.oom_kills(),
                fake.group.pids_refused()
            ),
            (None, 0, 0)
        );
    }

    #[test]
    fn after_a_kill_that_stopped_forks_the_limit_is_written_again() {
        let mut fake = Fake::new(V2);
        let limits = CgroupLimits {
            memory: Some(1 << 20),
            pids: Some(9),
        };
        fake.group.limit(&limits).unwrap();
        assert_eq!(
            (fake.content("memory.max"), fake.content("pids.max")),
            ("1048576".into(), "9".into())
        );
        fake.group.kill();
        assert_eq!(fake.content("pids.max"), "0");
        fake.group.limit(&limits).unwrap();
        assert_eq!(fake.content("pids.max"), "9");
    }
}
