//! Sockets that the program which started this one passed on, as systemd does (`sd_listen_fds(3)`).

use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// The first of them; 0 to 2 are the standard streams.
const FIRST: RawFd = 3;
/// More would be a mistake.
const MAX: RawFd = 64;

/// Whether they have been taken.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The sockets that `LISTEN_FDS` counts, if `LISTEN_PID` names this process; none the second time. Programs that this process starts do not
/// get them.
pub fn inherited_sockets() -> io::Result<Vec<OwnedFd>> {
    let number = |name: &str| std::env::var(name).ok();
    let Some(count) = number("LISTEN_FDS") else {
        return Ok(Vec::new());
    };
    // They may be those of a process above, which passed its variables on and not its sockets.
    if number("LISTEN_PID") != Some(std::process::id().to_string()) {
        return Ok(Vec::new());
    }
    let wrong = |why: String| io::Error::new(io::ErrorKind::InvalidInput, why);
    let count: RawFd = count
        .parse()
        .ok()
        .filter(|count| (0..=MAX).contains(count))
        .ok_or_else(|| wrong(format!("LISTEN_FDS is `{count}`, not a number up to {MAX}")))?;
    if TAKEN.swap(true, Ordering::SeqCst) {
        return Ok(Vec::new());
    }
    (FIRST..FIRST + count)
        .map(|number| {
            // SAFETY: it takes no pointers; a number that is not open is an error.
            if unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
                let why = io::Error::last_os_error();
                return Err(wrong(format!(
                    "LISTEN_FDS is {count}, but descriptor {number} is not there: {why}"
                )));
            }
            // SAFETY: it is open. The program that set LISTEN_PID to this process gave it to this process to own; nothing in it has
            // the number from elsewhere, because it was open when the process began; and `TAKEN` gives it out once.
            Ok(unsafe { OwnedFd::from_raw_fd(number) })
        })
        .collect()
}
