//! Whose a directory is: its name carries the owner's pid, start time and pid namespace.
//!
//! A process that dies by SIGKILL cannot clean up, so the next one sweeps: it kills what still runs in a dead owner's
//! directory and removes it. A living owner's directory is never touched; when in doubt, the owner lives.

use std::{
    fmt, fs, io,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use super::{files, kill, parse};

/// How long the sweep waits for the processes of one dead owner to be gone; the next sweep tries again.
const SWEEP_PATIENCE: Duration = Duration::from_millis(250);

/// A process, told apart from later ones with the same pid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pid: i32,
    /// Clock ticks since boot.
    start: u64,
    /// Inode of the pid namespace in which `pid` counts. Two containers may share a cgroup but not their pids: without
    /// this, each would take the other's living processes for dead.
    namespace: u64,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "toolcrib-{}-{}-{}", self.pid, self.start, self.namespace)
    }
}

impl Owner {
    /// This process.
    pub(crate) fn current() -> io::Result<Self> {
        let life = fs::read_to_string("/proc/self/stat")?;
        let life = parse::life(&life).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidData,
                "`/proc/self/stat` has no start time",
            )
        })?;
        let pid = std::process::id().cast_signed();
        Ok(Self {
            pid,
            start: life.start,
            namespace: own_namespace()?,
        })
    }

    /// Reads a directory's name; `None` when it is not one of ours.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let mut fields = name.strip_prefix("toolcrib-")?.split('-');
        let owner = Self {
            pid: fields.next()?.parse().ok().filter(|pid| *pid > 0)?,
            start: fields.next()?.parse().ok()?,
            namespace: fields.next()?.parse().ok()?,
        };
        fields.next().is_none().then_some(owner)
    }

    /// Whether this process is certainly gone, seen from pid namespace `here`.
    pub(crate) fn is_dead(&self, here: u64) -> bool {
        if self.namespace != here {
            return false;
        }
        // SAFETY: signal 0 only asks whether the process exists; no memory is involved.
        if unsafe { libc::kill(self.pid, 0) } != 0 {
            return io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH);
        }
        // A /proc mounted with hidepid shows nothing of others' processes: then only the signal's answer counts.
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid));
        stat.ok()
            .as_deref()
            .and_then(parse::life)
            .is_some_and(|life| {
                // A zombie with other threads is a process whose main thread ended first.
                life.start != self.start || (matches!(life.state, 'Z' | 'X') && life.threads <= 1)
            })
    }
}

/// Removes the directories below `base` whose owners are dead, ending processes left in them.
pub(super) fn sweep(base: &Path) {
    let Ok(here) = own_namespace() else { return };
    for name in files::children(base) {
        if name
            .to_str()
            .and_then(Owner::parse)
            .is_some_and(|owner| owner.is_dead(here))
        {
            clear(&base.join(name));
        }
    }
}

/// Ends all processes in and below `dir`, and removes it.
fn clear(dir: &Path) {
    let deadline = Instant::now() + SWEEP_PATIENCE;
    while files::remove(dir).is_err() && Instant::now() < deadline {
        kill::subtree(dir);
        thread::sleep(Duration::from_millis(1));
    }
}

pub(crate) fn own_namespace() -> io::Result<u64> {
    let link = fs::read_link("/proc/self/ns/pid")?;
    // "pid:[4026531836]"
    let inode = link
        .to_str()
        .and_then(|link| link.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok());
    inode.ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidData,
            "`/proc/self/ns/pid` has no inode number",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn made_up(pid: i32, start: u64) -> Owner {
        Owner {
            pid,
            start,
            namespace: own_namespace().unwrap(),
        }
    }

    #[test]
    fn a_name_says_who_owns_the_directory() {
        let owner = Owner {
            pid: 17,
            start: 1_105_731,
            namespace: 4_026_531_836,
        };
        assert_eq!(owner.to_string(), "toolcrib-17-1105731-4026531836");
        assert_eq!(Owner::parse(&owner.to_string()), Some(owner));
        for foreign in [
            "toolcrib-17",
            "toolcrib--1-2-3",
            "toolcrib-0-1-2",
            "toolcrib-1-2-3-4",
            "docker-1-2-3",
            "slot-1",
        ] {
            assert_eq!(Owner::parse(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn the_living_and_the_unknowable_are_not_dead() {
        let me = Owner::current().unwrap();
        assert!(!me.is_dead(me.namespace));
        assert!(
            Owner {
                start: me.start + 1,
                ..me.clone()
            }
            .is_dead(me.namespace)
        );
        assert!(
            !Owner {
                start: me.start + 1,
                ..me.clone()
            }
            .is_dead(me.namespace + 1)
        );
    }

    #[test]
    fn an_unreaped_owner_is_dead() {
        let mut child = Command::new("sleep")
            .arg("60")
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let pid = child.id().cast_signed();
        let life = parse::life(&fs::read_to_string(format!("/proc/{pid}/stat")).unwrap()).unwrap();
        let owner = made_up(pid, life.start);
        assert!(!owner.is_dead(owner.namespace));
        child.kill().unwrap();
        while !owner.is_dead(owner.namespace) {
            thread::yield_now();
        }
        child.wait().unwrap();
        assert!(owner.is_dead(owner.namespace));
    }

    #[test]
    fn the_sweep_takes_only_dead_owners_directories() {
        let base = tempfile::tempdir().unwrap();
        let me = Owner::current().unwrap();
        let dead = base.path().join(made_up(me.pid, me.start + 1).to_string());
        let living = base.path().join(me.to_string());
        let foreign = base.path().join("toolcrib-notes");
        for dir in [&dead, &living, &foreign] {
            fs::create_dir_all(dir.join("slot-1")).unwrap();
        }
        sweep(base.path());
        assert_eq!(
            (dead.exists(), living.exists(), foreign.exists()),
            (false, true, true)
        );
    }
}
