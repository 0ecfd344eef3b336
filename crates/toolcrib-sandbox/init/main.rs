//! The first process of every sandbox: starts the command, reaps, reports how it ended, and dies with its parent.
//!
//! It runs behind the same wall as the command and knows nothing but what its arguments say, so there is nothing in it
//! worth attacking. As process 1 of a pid namespace its end is the end of every process in it, whatever they ignore;
//! without a namespace (`mode` is `t`) it is a subreaper and kills what is left, generation by generation.
//!
//! Arguments: mode (`n` namespace, `t` tree), the path to run, then the command's own arguments. Descriptor 3 takes the report:
//! `E` and an errno when the command could not be started, else `X`, the wait status and the command's own CPU time.
#![no_std]
#![no_main]

use core::{
    arch::{asm, global_asm},
    mem::MaybeUninit,
};

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    exit(125)
}

#[cfg(target_arch = "x86_64")]
global_asm!(".globl _start", "_start:", "xor ebp, ebp", "mov rdi, rsp", "and rsp, -16", "call {main}", "ud2", main = sym main);
#[cfg(target_arch = "aarch64")]
global_asm!(".globl _start", "_start:", "mov x29, #0", "mov x0, sp", "bl {main}", "brk #0", main = sym main);

#[cfg(target_arch = "x86_64")]
mod nr {
    pub const READ: usize = 0;
    pub const WRITE: usize = 1;
    pub const CLOSE: usize = 3;
    pub const RT_SIGPROCMASK: usize = 14;
    pub const CLONE: usize = 56;
    pub const EXECVE: usize = 59;
    pub const EXIT_GROUP: usize = 231;
    pub const WAIT4: usize = 61;
    pub const KILL: usize = 62;
    pub const PRCTL: usize = 157;
    pub const RT_SIGTIMEDWAIT: usize = 128;
    pub const OPENAT: usize = 257;
    pub const SETSID: usize = 112;
}
#[cfg(target_arch = "aarch64")]
mod nr {
    pub const READ: usize = 63;
    pub const WRITE: usize = 64;
    pub const CLOSE: usize = 57;
    pub const RT_SIGPROCMASK: usize = 135;
    pub const CLONE: usize = 220;
    pub const EXECVE: usize = 221;
    pub const EXIT_GROUP: usize = 94;
    pub const WAIT4: usize = 260;
    pub const KILL: usize = 129;
    pub const PRCTL: usize = 167;
    pub const RT_SIGTIMEDWAIT: usize = 137;
    pub const OPENAT: usize = 56;
    pub const SETSID: usize = 157;
}

/// One system call.
///
/// # Safety
/// The arguments must be what that call expects; pointers must be valid for it.
#[inline(always)]
unsafe fn call(nr: usize, a: usize, b: usize, c: usize, d: usize) -> isize {
    let answer: isize;
    // SAFETY: the kernel keeps every register but those named; the caller answers for the arguments.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!("syscall", inlateout("rax") nr as isize => answer, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d,
             in("r8") 0, out("rcx") _, out("r11") _, options(nostack));
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        asm!("svc 0", in("x8") nr, inlateout("x0") a as isize => answer, in("x1") b, in("x2") c, in("x3") d, in("x4") 0, options(nostack));
    }
    answer
}

fn exit(code: usize) -> ! {
    loop {
        // SAFETY: takes a number.
        unsafe { call(nr::EXIT_GROUP, code, 0, 0, 0) };
    }
}

const REPORT: usize = 3;
const SIGCHLD: usize = 17;
const SIGKILL: usize = 9;
const ECHILD: isize = -10;
const PR_SET_DUMPABLE: usize = 4;
const SIG_SETMASK: usize = 2;
const AT_FDCWD: usize = -100isize as usize;
const O_CLOEXEC: usize = 0o2000000;
const WNOHANG: usize = 1;

/// The kernel's `struct rusage`: seconds and microseconds of user time, of system time, and fourteen numbers more.
type Usage = [i64; 18];

/// Starts with the kernel's stack: argc, argv…, 0, environment…, 0.
unsafe extern "C" fn main(stack: *const usize) -> ! {
    // SAFETY: the kernel lays the stack out so; `Prepared` in the library always passes at least three arguments.
    let (argv, argc) = unsafe { (stack.add(1).cast::<*const u8>(), *stack) };
    if argc < 3 {
        exit(125);
    }
    // SAFETY: within argv, whose terminating null `argc` counts to.
    let (namespace, path, arguments, environment) =
        unsafe { (**argv == b'n', *argv.add(1), argv.add(2), argv.add(argc + 1)) };
    let mut all_signals = !0u64;
    // SAFETY: a mask of eight bytes; `PR_SET_DUMPABLE` takes a number. Not dumpable: the command, which has our uid, cannot
    // reach our descriptors or memory through /proc.
    unsafe {
        call(nr::RT_SIGPROCMASK, 0, &raw const all_signals as usize, 0, 8);
        call(nr::PRCTL, PR_SET_DUMPABLE, 0, 0, 0);
    }
    let command = start(path, arguments, environment);
    // Output pipes belong to the command alone: end of file must not wait for us.
    for fd in 0..3 {
        // SAFETY: takes a number.
        unsafe { call(nr::CLOSE, fd, 0, 0, 0) };
    }
    // Left unset, here and below: clearing it would call for a memset, which a program without a library has not.
    let mut usage = MaybeUninit::<Usage>::uninit();
    loop {
        let mut status = 0i32;
        // SAFETY: both places are ours and large enough.
        let ended = unsafe {
            call(nr::WAIT4, usize::MAX, &raw mut status as usize, if namespace { 0 } else { WNOHANG }, usage.as_mut_ptr() as usize)
        };
        if ended == command {
            // SAFETY: wait4 filled it, since it returned a process.
            let usage = unsafe { usage.assume_init_ref() };
            report(b'X', status, usage[0] * 1_000_000 + usage[1], usage[2] * 1_000_000 + usage[3]);
            break;
        }
        if ended == ECHILD {
            break;
        }
        if ended == 0 {
            all_signals = !0u64;
            // SAFETY: waits for any signal: SIGCHLD, or the SIGTERM that says that our parent is gone or wants the end.
            let signal = unsafe { call(nr::RT_SIGTIMEDWAIT, &raw const all_signals as usize, 0, 0, 8) };
            if signal > 0 && signal as usize != SIGCHLD {
                break;
            }
        }
    }
    if !namespace {
        kill_children();
    }
    exit(0)
}

/// Starts the command in a session of its own and returns its pid; an errno is reported and ends us.
fn start(path: *const u8, arguments: *const *const u8, environment: *const *const u8) -> isize {
    // A plain fork: of a process this small it costs no more than sharing memory would, and needs no care.
    // SAFETY: numbers only; the child goes on with a copy of our memory.
    let pid = unsafe { call(nr::CLONE, SIGCHLD, 0, 0, 0) };
    if pid != 0 {
        if pid < 0 {
            refused(-pid as i32);
        }
        return pid;
    }
    let none = 0u64;
    // SAFETY: the three lists come from the kernel and end with null.
    let errno = unsafe {
        call(nr::SETSID, 0, 0, 0, 0);
        call(nr::RT_SIGPROCMASK, SIG_SETMASK, &raw const none as usize, 0, 8);
        -call(nr::EXECVE, path as usize, arguments as usize, environment as usize, 0)
    };
    refused(errno as i32)
}

/// Reports that the command could not be started.
fn refused(errno: i32) -> ! {
    report(b'E', errno, 0, 0);
    exit(125)
}

/// Writes the one report: a letter, a number, and microseconds of user and system time. Short enough for a pipe to take whole.
fn report(kind: u8, number: i32, user: i64, system: i64) {
    let mut line = [0u8; 24];
    line[0] = kind;
    line[4..8].copy_from_slice(&number.to_ne_bytes());
    line[8..16].copy_from_slice(&user.to_ne_bytes());
    line[16..24].copy_from_slice(&system.to_ne_bytes());
    // SAFETY: the bytes are ours.
    unsafe { call(nr::WRITE, REPORT, line.as_ptr() as usize, line.len(), 0) };
}

/// Kills our children until there are none; orphans of the killed become our children, so this reaches every generation.
fn kill_children() {
    let mut text = MaybeUninit::<[u8; 4096]>::uninit();
    loop {
        // SAFETY: a path that ends with null; a buffer with its length.
        let length = unsafe {
            let file = call(nr::OPENAT, AT_FDCWD, c"/proc/thread-self/children".as_ptr() as usize, O_CLOEXEC, 0);
            let length = call(nr::READ, file as usize, text.as_mut_ptr() as usize, size_of_val(&text), 0);
            call(nr::CLOSE, file as usize, 0, 0, 0);
            length
        };
        let mut pid = 0usize;
        for index in 0..if length > 0 { length as usize } else { 0 } {
            // SAFETY: the read filled this much.
            let byte = unsafe { *text.as_ptr().cast::<u8>().add(index) };
            if byte.is_ascii_digit() {
                pid = pid * 10 + (byte - b'0') as usize;
            } else if pid > 0 {
                // SAFETY: takes numbers.
                unsafe { call(nr::KILL, pid, SIGKILL, 0, 0) };
                pid = 0;
            }
        }
        // SAFETY: no place to write to is given.
        if unsafe { call(nr::WAIT4, usize::MAX, 0, 0, 0) } == ECHILD {
            return;
        }
    }
}
