//! Who answers, and in which terminal session.

use std::io;
use std::os::fd::AsFd;

use rustix::termios::ttyname;

/// Who sits here, for the record and for whoever answers second: `ada at pts/3`.
pub(crate) fn whoami() -> String {
    let name = ["USER", "LOGNAME"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|name| !name.is_empty()))
        .unwrap_or_else(|| format!("uid {}", rustix::process::getuid().as_raw()));
    match terminal_name() {
        Some(terminal) => format!("{name} at {terminal}"),
        None => name,
    }
}

fn terminal_name() -> Option<String> {
    fn name(fd: impl AsFd) -> Option<String> {
        let name = ttyname(fd, Vec::new()).ok()?.into_string().ok()?;
        Some(name.strip_prefix("/dev/").unwrap_or(&name).to_owned())
    }
    name(io::stdin())
        .or_else(|| name(io::stderr()))
        .or_else(|| name(io::stdout()))
}

/// The session that "for this session" means on the command line: everything started from one login shell or terminal
/// window, as the kernel sees it. `None` when that cannot be told; every command is a session of its own then.
///
/// The number of a session is used again after its end, so the start of its first process and the boot are part of it.
pub(crate) fn session() -> Option<String> {
    let leader = rustix::process::getsid(None).ok()?;
    let leader = leader.as_raw_nonzero();
    let stat = std::fs::read_to_string(format!("/proc/{leader}/stat")).ok()?;
    let started = started(&stat)?;
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(format!("{}-{leader}-{started}", boot.trim()))
}

/// When a process started, by its line in `/proc`: the 22nd field. The second one is a name that may contain anything.
fn started(stat: &str) -> Option<u64> {
    let (_, after) = stat.rsplit_once(')')?;
    after.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_of_a_process_is_found_behind_any_name() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 9 9";
        assert_eq!(started(stat), Some(4242));
        assert_eq!(started("7 (x) S 1"), None);
        assert_eq!(started(""), None);
    }

    #[test]
    fn processes_of_one_session_agree_on_it() {
        assert_eq!(session(), session());
    }
}
