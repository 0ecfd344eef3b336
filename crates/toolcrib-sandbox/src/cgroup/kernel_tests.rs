//! Slots on the real kernel. Each test that cannot run here says so.

use std::{
    fs,
    os::{fd::RawFd, unix::process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use super::{owner::Owner, *};

const MB: u64 = 1 << 20;

/// libc's constant of this name is an `i32`, in which this flag has no room: it is 0 there.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// The cgroups of this machine, or `None` (said aloud) when it has no memory and pids controllers for us.
fn cgroups(test: &str) -> Option<Cgroups> {
    let cgroups = Cgroups::discover();
    match cgroups.memory().and(cgroups.pids()) {
        Ok(_) => Some(cgroups),
        Err(missing) => {
            eprintln!("SKIPPED {test}: {missing}");
            None
        }
    }
}

macro_rules! cgroups_or_skip {
    ($test:literal) => {
        match cgroups($test) {
            Some(cgroups) => cgroups,
            None => return,
        }
    };
}

fn limits(memory_mb: u64, pids: u64) -> CgroupLimits {
    CgroupLimits {
        memory: Some(memory_mb * MB),
        pids: Some(pids),
    }
}

/// Makes `command` enter through these files, as the sandbox's child does.
fn entering(mut command: Command, fds: &[RawFd]) -> Command {
    let fds = fds.to_owned();
    let enter = move || {
        for fd in &fds {
            // SAFETY: one byte is read from a static; the descriptor outlives the spawn, which the caller's slot does.
            if unsafe { libc::write(*fd, b"0".as_ptr().cast(), 1) } != 1 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: the closure only calls write(2), which is async-signal-safe, and reads an errno.
    unsafe { command.pre_exec(enter) };
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

fn shell(slot: &Slot, script: &str) -> Child {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]);
    entering(command, slot.procs_fds()).spawn().unwrap()
}

#[track_caller]
fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < deadline, "never happened: {what}");
        std::thread::yield_now();
    }
}

/// The directories of a slot; their names are never used twice, unlike its file descriptors.
fn dirs(slot: &Slot) -> Vec<PathBuf> {
    let dir = |fd: &RawFd| {
        fs::read_link(format!("/proc/self/fd/{fd}"))
            .unwrap()
            .parent()
            .unwrap()
            .to_owned()
    };
    slot.procs_fds().iter().map(dir).collect()
}

#[test]
fn two_processes_together_over_the_memory_limit_are_killed() {
    let cgroups = cgroups_or_skip!("two_processes_together_over_the_memory_limit_are_killed");
    // tail(1) keeps all of a line that never ends.
    let hog = "{ head -c 41943040 /dev/zero; sleep 60; } | tail";

    let slot = cgroups.take(&limits(64, 64)).unwrap();
    let mut one = shell(&slot, hog);
    eventually("one hog of 40 MB", || {
        slot.peak_memory().is_none_or(|peak| peak > 40 * MB)
    });
    assert_eq!(slot.oom_kills(), 0);
    let mut two = shell(&slot, hog);
    eventually("an OOM kill", || slot.oom_kills() > 0);
    assert!(slot.peak_memory().is_none_or(|peak| peak <= 64 * MB));
    assert!(slot.cpu_time().is_none_or(|used| used > Duration::ZERO));
    // One by one: a slot that `cgroup.kill` emptied is not used again.
    for pid in slot.pids() {
        // SAFETY: numbers only.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }
    one.wait().unwrap();
    two.wait().unwrap();
    let first = dirs(&slot);
    eventually("all reaped by init", || {
        let counts = first.iter().map(|dir| dir.join("pids.current"));
        counts
            .filter_map(|file| fs::read_to_string(file).ok())
            .all(|count| count == "0\n")
    });
    drop(slot);

    let next = cgroups.take(&limits(64, 64)).unwrap();
    assert_eq!(dirs(&next), first);
    assert_eq!((next.oom_kills(), next.pids_refused()), (0, 0));
    assert!(
        next.peak_memory().is_none_or(|peak| peak < 8 * MB),
        "{:?}",
        next.peak_memory()
    );
    assert!(next.cpu_time().is_none_or(|used| used.is_zero()));
}

#[test]
fn files_on_a_tmpfs_count_and_do_not_burden_the_next_run() {
    let cgroups = cgroups_or_skip!("files_on_a_tmpfs_count_and_do_not_burden_the_next_run");
    let Ok(shm) = tempfile::tempdir_in("/dev/shm") else {
        eprintln!(
            "SKIPPED files_on_a_tmpfs_count_and_do_not_burden_the_next_run: cannot write /dev/shm"
        );
        return;
    };
    let fill = |megabytes: u64| {
        format!(
            "exec head -c {} /dev/zero > {}/file",
            megabytes * MB,
            shm.path().display()
        )
    };

    let slot = cgroups.take(&limits(64, 8)).unwrap();
    assert!(shell(&slot, &fill(24)).wait().unwrap().success());
    assert_eq!(slot.oom_kills(), 0);
    let burdened = dirs(&slot);
    drop(slot);

    // 24 MB stay charged to that slot: more than the next run's whole limit, and not to be reclaimed.
    let next = cgroups.take(&limits(16, 8)).unwrap();
    assert_ne!(dirs(&next), burdened);
    assert!(burdened.iter().all(|dir| !dir.exists()));
    assert!(!shell(&next, &fill(24)).wait().unwrap().success());
    assert!(next.oom_kills() > 0);
}

#[test]
fn limits_of_a_pooled_slot_go_down_and_up() {
    let cgroups = cgroups_or_skip!("limits_of_a_pooled_slot_go_down_and_up");
    let mut used = Vec::new();
    for limits in [
        limits(64, 9),
        limits(16, 3),
        limits(128, 20),
        CgroupLimits::default(),
        limits(64, 9),
    ] {
        let slot = cgroups.take(&limits).unwrap();
        let seen: Vec<_> = dirs(&slot)
            .iter()
            .flat_map(|dir| {
                [
                    "memory.limit_in_bytes",
                    "memory.memsw.limit_in_bytes",
                    "memory.max",
                ]
                .map(|name| dir.join(name))
            })
            .filter_map(|file| fs::read_to_string(file).ok())
            .collect();
        assert!(!seen.is_empty());
        for seen in seen {
            match limits.memory {
                Some(limit) => assert_eq!(seen.trim(), limit.to_string()),
                None => assert!(
                    seen.trim()
                        .parse()
                        .map_or(seen.trim() == "max", |limit: u64| limit > 1 << 60),
                    "{seen}"
                ),
            }
        }
        used.push(dirs(&slot));
    }
    used.dedup();
    assert_eq!(used.len(), 1, "one slot served all: {used:?}");
}

#[test]
fn a_fork_over_the_process_limit_is_refused_and_counted() {
    let cgroups = cgroups_or_skip!("a_fork_over_the_process_limit_is_refused_and_counted");
    let slot = cgroups.take(&limits(64, 4)).unwrap();
    let mut child = shell(&slot, "for i in 1 2 3 4 5 6 7 8; do sleep 60 & done; wait");
    eventually("a refused fork", || slot.pids_refused() > 0);
    assert!(slot.pids().len() <= 4);
    slot.kill();
    child.wait().unwrap();
}

#[test]
fn a_child_can_be_born_in_the_unified_cgroup() {
    let cgroups = cgroups_or_skip!("a_child_can_be_born_in_the_unified_cgroup");
    let slot = cgroups.take(&limits(64, 16)).unwrap();
    let Some(birthplace) = slot.birthplace() else {
        eprintln!(
            "SKIPPED a_child_can_be_born_in_the_unified_cgroup: {:?}",
            cgroups.kill()
        );
        return;
    };
    // SAFETY: all fields are integers, for which zero is a value.
    let mut args: libc::clone_args = unsafe { std::mem::zeroed() };
    args.flags = CLONE_INTO_CGROUP;
    args.exit_signal = libc::SIGCHLD as u64;
    args.cgroup = birthplace as u64;
    // SAFETY: like fork(2); the child only calls pause(2).
    let child = unsafe { libc::syscall(libc::SYS_clone3, &raw const args, size_of_val(&args)) };
    if child == 0 {
        loop {
            // SAFETY: takes nothing and returns nothing of use.
            unsafe { libc::pause() };
        }
    }
    assert!(child > 0, "{}", io::Error::last_os_error());
    let child = child as i32;
    let members = slot.pids();
    // SAFETY: our own child, not yet waited for, so the pid is still its own.
    unsafe { libc::kill(child, libc::SIGKILL) };
    // SAFETY: a null status pointer is allowed.
    let waited = unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    assert_eq!((members, waited), (vec![child], child));
    assert_eq!(slot.task_fds().len(), slot.procs_fds().len() - 1);
}

#[test]
fn a_kill_reaches_children_in_sessions_of_their_own() {
    let cgroups = cgroups_or_skip!("a_kill_reaches_children_in_sessions_of_their_own");
    kill_ends_a_tree(&cgroups.take(&limits(64, 16)).unwrap());
}

#[test]
fn without_cgroup_kill_the_tree_is_killed_one_by_one() {
    let cgroups = cgroups_or_skip!("without_cgroup_kill_the_tree_is_killed_one_by_one");
    let mut trees = discover::discover().trees;
    if cgroups.memory() == Ok(Version::V1) {
        trees.retain(|tree| tree.version == Version::V1);
    }
    trees.iter_mut().for_each(|tree| tree.serves.kill = false);
    let pool = Arc::new(Pool::new(trees));
    let slot = Pool::take(&pool, &limits(64, 16)).unwrap();
    kill_ends_a_tree(&slot);
    drop(slot);
    // The kill stopped forks; the next run forks again.
    let slot = Pool::take(&pool, &limits(64, 16)).unwrap();
    assert!(
        shell(&slot, "/bin/true && /bin/true")
            .wait()
            .unwrap()
            .success()
    );
    drop(slot);
    pool.close();
}

fn kill_ends_a_tree(slot: &Slot) {
    let mut child = shell(
        slot,
        "setsid sleep 60 & setsid sh -c 'sleep 60 & sleep 60' & sleep 60; wait",
    );
    eventually("a tree of six", || slot.pids().len() == 6);
    slot.kill();
    child.wait().unwrap();
    eventually("an empty slot", || slot.pids().is_empty());
}

#[test]
fn a_slot_dropped_with_a_process_in_it_is_emptied_and_not_used_again() {
    let cgroups =
        cgroups_or_skip!("a_slot_dropped_with_a_process_in_it_is_emptied_and_not_used_again");
    let take = || cgroups.take(&limits(64, 8)).unwrap();
    let slot = take();
    let first = dirs(&slot);
    let mut child = shell(&slot, "exec sleep 60");
    drop(slot);
    // The kernel kills at birth any process cloned into a group that was killed once.
    let other = take();
    assert_ne!(dirs(&other), first);
    assert!(!child.wait().unwrap().success());
    let again = take();
    assert_ne!(dirs(&again), first);
    drop((again, other));
    cgroups.close();
    assert!(first.iter().all(|dir| !dir.exists()));
}

#[test]
fn the_sweep_ends_a_dead_owners_processes_and_spares_the_living() {
    let cgroups = cgroups_or_skip!("the_sweep_ends_a_dead_owners_processes_and_spares_the_living");
    let me = Owner::current().unwrap().to_string();
    let mut earlier: Vec<_> = me.split('-').map(str::to_owned).collect();
    earlier[2] = "1".to_owned();
    for home in dirs(&cgroups.take(&limits(64, 8)).unwrap())
        .iter()
        .filter_map(|dir| dir.parent()?.parent())
    {
        // Its own base, or the discovery of another test might sweep first.
        let base = home.join(format!("sweep-test-{}", std::process::id()));
        fs::create_dir(&base).unwrap();
        let (dead, living) = (base.join(earlier.join("-")), base.join(&me));
        let mut survivor = sleeper_in(&dead);
        let mut friend = sleeper_in(&living);
        owner::sweep(&base);
        assert_eq!((dead.exists(), living.exists()), (false, true));
        assert!(!survivor.wait().unwrap().success());
        assert!(friend.try_wait().unwrap().is_none());
        friend.kill().unwrap();
        friend.wait().unwrap();
        files::remove(&base).unwrap();
    }
}

fn sleeper_in(home: &Path) -> Child {
    let slot = home.join("slot-1");
    fs::create_dir_all(&slot).unwrap();
    let child = Command::new("sleep").arg("60").spawn().unwrap();
    fs::write(slot.join("cgroup.procs"), child.id().to_string()).unwrap();
    child
}
