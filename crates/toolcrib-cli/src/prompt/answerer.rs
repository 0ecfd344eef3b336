//! The user who answers, and the terminal session.

use std::io;
use std::os::fd::AsFd;

use rustix::termios::ttyname;

/// The user at this terminal, for the record and for a second user who answers too late: `ada at pts/3`.
pub(crate) fn whoami() -> String {
    let name = ["USER", "LOGNAME"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|name| !name.is_empty()))
        .unwrap_or_else(|| {
            let uid = rustix::process::getuid().as_raw();
            let accounts = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
            name_of(uid, &accounts).map_or_else(|| format!("uid {uid}"), str::to_owned)
        });
    match terminal_name() {
        Some(terminal) => format!("{name} at {terminal}"),
        None => name,
    }
}

/// The name of an account. Where accounts are kept elsewhere, `USER` is set.
fn name_of(uid: u32, accounts: &str) -> Option<&str> {
    accounts.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        (fields.nth(1)?.parse() == Ok(uid)).then_some(name)
    })
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
/// window, as the kernel sees it. `None` when that is unknown; every command is a separate session then.
///
/// The number of a session is used again after its end, so the start of its first process and the boot are part of it.
/// It is read from `/proc`, since it is 0 when that first process is outside of this PID namespace, as in a container
/// entered from outside, and `rustix::process::getsid` counts on a number above 0.
pub(crate) fn session() -> Option<String> {
    let own = std::fs::read_to_string("/proc/self/stat").ok()?;
    let leader = leader(&own)?;
    let stat = std::fs::read_to_string(format!("/proc/{leader}/stat")).ok()?;
    let started = started(&stat)?;
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(format!("{}-{leader}-{started}", boot.trim()))
}

/// The first process of a process's session, by its line in `/proc`: the 6th field.
fn leader(stat: &str) -> Option<u32> {
    let leader = field(stat, 6)?.parse().ok()?;
    (leader != 0).then_some(leader)
}

/// When a process started, by its line in `/proc`: the 22nd field.
fn started(stat: &str) -> Option<u64> {
    field(stat, 22)?.parse().ok()
}

/// A field, counted from 1, behind the second one, which is a name that may contain anything.
fn field(stat: &str, number: usize) -> Option<&str> {
    let (_, after) = stat.rsplit_once(')')?;
    after.split_whitespace().nth(number - 3)
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
    fn a_session_begun_outside_of_the_namespace_has_no_number() {
        assert_eq!(leader("7 (a) b (c) S 1 7 5 0"), Some(5));
        assert_eq!(leader("7 (x) S 0 0 0 0"), None);
        assert_eq!(leader("7 (x) S 1"), None);
    }

    #[test]
    fn an_account_has_a_name() {
        let accounts =
            "root:x:0:0:root:/root:/bin/bash\nbroken\nada:x:1000:1000::/home/ada:/bin/sh\n";
        assert_eq!(name_of(1000, accounts), Some("ada"));
        assert_eq!(name_of(0, accounts), Some("root"));
        assert_eq!(name_of(7, accounts), None);
    }

    #[test]
    fn processes_of_one_session_agree_on_it() {
        assert_eq!(session(), session());
    }
}
