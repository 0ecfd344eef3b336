//! Tests of the filter: against a naive oracle in an interpreter, and rule by rule against the real kernel.

mod kernel;
#[cfg(target_arch = "x86_64")]
mod kill;
mod oracle;
mod ordinary;
mod samples;

use libc::{c_long, sock_filter};

use super::{Ipc, Sockets};
use samples::Args;

/// Every kind of program there is.
const KINDS: [(Sockets, Ipc); 4] = [
    (Sockets::None, Ipc::Shared),
    (Sockets::None, Ipc::Own),
    (Sockets::Internet, Ipc::Shared),
    (Sockets::Internet, Ipc::Own),
];

/// Promises what the kernel asks of an unprivileged thread before it may install a filter.
fn give_up_new_privileges() {
    // SAFETY: takes no pointer, and setting it once more is not a change.
    let set = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
}

/// Puts this thread, and what it starts from now on, behind a filter.
///
/// Other threads of the test binary are not touched.
fn install(program: &[sock_filter]) {
    let filter = libc::sock_fprog {
        len: u16::try_from(program.len()).unwrap(),
        filter: program.as_ptr().cast_mut(),
    };
    let none: c_long = 0;
    // SAFETY: `filter` points at `program`, which outlives the call; the kernel copies it.
    let set = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            none,
            &filter,
        )
    };
    assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
}

/// Runs `work` on its own thread behind a filter.
fn behind<T: Send>(program: &[sock_filter], work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            give_up_new_privileges();
            install(program);
            work()
        });
        thread.join().expect("the work behind the filter panicked")
    })
}

/// Makes a call and returns its errno, or 0.
fn errno_of(number: c_long, [a, b, c]: Args) -> i32 {
    errno_of_four(number, [a, b, c, 0])
}

/// Like [`errno_of`], with a fourth argument.
fn errno_of_four(number: c_long, [a, b, c, d]: [c_long; 4]) -> i32 {
    let none: c_long = 0;
    // SAFETY: callers pass scalars, null, or pointers that outlive the call; most calls never get past the filter.
    let answer = unsafe { libc::syscall(number, a, b, c, d, none, none) };
    match answer {
        -1 => std::io::Error::last_os_error().raw_os_error().unwrap_or(0),
        _ => 0,
    }
}
