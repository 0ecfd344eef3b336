//! Shows, in forked children, that calls by another architecture's numbers end the process.

use libc::{c_int, sock_filter};

use super::super::{program, program_without, rules};
use super::{KINDS, errno_of, give_up_new_privileges, install};

/// Runs `attempt` in a forked child behind a filter and returns the signal that ended it, or 0.
fn signal_of(program: &[sock_filter], attempt: fn()) -> c_int {
    let no_core = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the child makes only system calls (`install` allocates nothing unless it fails) and ends in `_exit`.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: reads `no_core`, which lives here.
        unsafe { libc::setrlimit(libc::RLIMIT_CORE, &no_core) };
        give_up_new_privileges();
        install(program);
        attempt();
        // SAFETY: ends the child without running anything of the parent's.
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    // SAFETY: `status` is ours and `child` is a child no one else waits for.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    if libc::WIFSIGNALED(status) {
        libc::WTERMSIG(status)
    } else {
        0
    }
}

#[test]
fn a_call_by_an_x32_number_kills() {
    let getpid = || {
        errno_of(0x4000_0000 | libc::SYS_getpid, [0; 3]);
    };
    for (sockets, ipc) in KINDS {
        assert_eq!(signal_of(&program(sockets, ipc), getpid), libc::SIGSYS);
        assert_eq!(signal_of(&program_without("x32", sockets, ipc), getpid), 0);
    }
}

#[test]
fn a_call_through_the_32_bit_entry_kills() {
    let getpid = || {
        // SAFETY: i386 `getpid` touches no memory; older kernels clobber r8 to r11.
        unsafe {
            std::arch::asm!("int 0x80", inlateout("rax") 20 => _, out("r8") _, out("r9") _, out("r10") _, out("r11") _);
        }
    };
    for (sockets, ipc) in KINDS {
        let without = program_without(rules::FOREIGN_ARCHITECTURE, sockets, ipc);
        if signal_of(&without, getpid) == libc::SIGSEGV {
            eprintln!("NOT SHOWN: this kernel has no 32-bit entry");
            return;
        }
        assert_eq!(signal_of(&without, getpid), 0);
        assert_eq!(signal_of(&program(sockets, ipc), getpid), libc::SIGSYS);
    }
}
