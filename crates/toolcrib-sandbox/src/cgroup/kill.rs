//! Ends the processes of a cgroup: at once through `cgroup.kill`, or one by one on kernels and hierarchies without it.

use std::{
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    path::Path,
};

use super::files;

/// Ends every process in `dir` and below. They may still be dying when this returns.
pub(super) fn subtree(dir: &Path) {
    if at_once(dir).is_ok() {
        return;
    }
    members_once(dir);
    for child in files::children(dir) {
        subtree(&dir.join(child));
    }
}

/// Has the kernel kill the whole cgroup with those below it; a process forking meanwhile is caught too.
pub(super) fn at_once(dir: &Path) -> io::Result<()> {
    files::write(dir, "cgroup.kill", "1")
}

/// Sends SIGKILL to each process now in `dir`; says how many there were.
pub(super) fn members_once(dir: &Path) -> usize {
    let own = std::process::id().cast_signed();
    let targets: Vec<_> = members(dir)
        .into_iter()
        .filter(|pid| *pid != own)
        .filter_map(|pid| Some((pid, pidfd_open(pid).ok()?)))
        .collect();
    // A pid may have been given to a stranger between the listing and the open; one still listed now is ours.
    let listed = members(dir);
    for (_, pidfd) in targets.iter().filter(|(pid, _)| listed.contains(pid)) {
        kill(pidfd);
    }
    listed.len()
}

/// The processes in `dir` itself, as this pid namespace numbers them; none when it cannot be read.
pub(super) fn members(dir: &Path) -> Vec<i32> {
    let text = files::read(dir, "cgroup.procs").unwrap_or_default();
    // Processes outside our pid namespace are listed as 0, which kill(2) would take for our own group.
    text.lines()
        .filter_map(|line| line.parse().ok())
        .filter(|pid| *pid > 0)
        .collect()
}

fn pidfd_open(pid: i32) -> io::Result<OwnedFd> {
    // SAFETY: takes two integers; the kernel checks both.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just returned this descriptor and no one else knows it; descriptors fit an int.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

fn kill(pidfd: &OwnedFd) {
    let no_info = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: the descriptor is open for the length of the borrow, and a null siginfo is allowed. That the process may
    // be dead already is not an error to us.
    unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            pidfd.as_raw_fd(),
            libc::SIGKILL,
            no_info,
            0,
        )
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    #[test]
    fn members_leaves_out_what_it_cannot_name() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(members(dir.path()), Vec::<i32>::new());
        fs::write(dir.path().join("cgroup.procs"), "12\n0\n345\n").unwrap();
        assert_eq!(members(dir.path()), [12, 345]);
    }

    #[test]
    fn without_cgroup_kill_each_listed_process_gets_the_signal() {
        let dir = tempfile::tempdir().unwrap();
        let nested = dir.path().join("slot-1");
        fs::create_dir(&nested).unwrap();
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        // Our own pid in the list must not end the test.
        fs::write(
            nested.join("cgroup.procs"),
            format!("{}\n{}\n", std::process::id(), child.id()),
        )
        .unwrap();
        subtree(dir.path());
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
    }

    #[test]
    fn cgroup_kill_is_preferred() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("cgroup.kill"), "").unwrap();
        subtree(dir.path());
        assert_eq!(
            fs::read_to_string(dir.path().join("cgroup.kill")).unwrap(),
            "1"
        );
    }
}
