//! The first process of every sandbox: starts the command, reaps, reports how it ended, and dies with its parent.
//!
//! It runs behind the same wall as the command and holds nothing the command may not know, so there is nothing in it worth
//! attacking. As process 1 of a pid namespace its end is the end of every process in it, whatever they ignore; without a
//! namespace it is a subreaper and kills what is left, generation by generation.
//!
//! It starts before its command is known: a child waits on descriptor 4 for the command (see `command.rs` in the library),
//! so that all setting up can be done ahead of a call. Descriptor 3 takes one report of 16 bytes: `E` and an errno when
//! the command could not be started (`D`: when its directory could not be entered), else `X`, its wait status and the most memory one process had.
//!
//! The only argument after its name is the mode: `n` with a pid namespace, `t` (tree) without; then descriptor 5 lists our children; that
//! file could not be opened inside the sandbox.
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
    pub const PREAD64: usize = 17;
    pub const SETSID: usize = 112;
    pub const FCNTL: usize = 72;
    pub const MMAP: usize = 9;
    pub const CHDIR: usize = 80;
    pub const IOCTL: usize = 16;
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
    pub const PREAD64: usize = 67;
    pub const SETSID: usize = 157;
    pub const FCNTL: usize = 25;
    pub const MMAP: usize = 222;
    pub const CHDIR: usize = 49;
    pub const IOCTL: usize = 29;
}

/// One system call.
///
/// # Safety
/// The arguments must be what that call expects; pointers must be valid for it.
#[inline(always)]
unsafe fn call(nr: usize, a: usize, b: usize, c: usize, d: usize) -> isize {
    // SAFETY: the caller answers for the arguments.
    unsafe { call6(nr, a, b, c, d, 0, 0) }
}

/// As `call`, with all six arguments.
///
/// # Safety
/// As for `call`.
#[inline(always)]
unsafe fn call6(nr: usize, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize {
    let answer: isize;
    // SAFETY: the kernel keeps every register but those named; the caller answers for the arguments.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!("syscall", inlateout("rax") nr as isize => answer, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d,
             in("r8") e, in("r9") f, out("rcx") _, out("r11") _, options(nostack));
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        asm!("svc 0", in("x8") nr, inlateout("x0") a as isize => answer, in("x1") b, in("x2") c, in("x3") d, in("x4") e, in("x5") f, options(nostack));
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
const COMMAND: usize = 4;
const CHILDREN: usize = 5;
const F_SETFD: usize = 2;
const FD_CLOEXEC: usize = 1;
const PROT_READ: usize = 1;
const PROT_WRITE: usize = 2;
const MAP_PRIVATE: usize = 2;
const MAP_ANONYMOUS: usize = 0x20;
const SIGCHLD: usize = 17;
const SIGKILL: usize = 9;
const ECHILD: isize = -10;
const PR_SET_DUMPABLE: usize = 4;
const SIG_SETMASK: usize = 2;
const WNOHANG: usize = 1;
const TIOCSCTTY: usize = 0x540e;

/// The kernel's `struct rusage`: seconds and microseconds of user time, of system time, kilobytes, and thirteen numbers more.
type Usage = [i64; 18];

/// Starts with the kernel's stack: argc, argv…, 0, environment…, 0.
unsafe extern "C" fn main(stack: *const usize) -> ! {
    // SAFETY: the kernel lays the stack out so, and the library always passes a name and the mode.
    let namespace = unsafe { **stack.add(2).cast::<*const u8>() == b'n' };
    let all_signals = !0u64;
    // SAFETY: a mask of eight bytes; numbers. Not dumpable: the command, which has our uid, cannot reach our descriptors
    // or memory through /proc.
    unsafe {
        call(nr::RT_SIGPROCMASK, SIG_SETMASK, &raw const all_signals as usize, 0, 8);
        call(nr::PRCTL, PR_SET_DUMPABLE, 0, 0, 0);
        call(nr::FCNTL, REPORT, F_SETFD, FD_CLOEXEC, 0);
        call(nr::FCNTL, COMMAND, F_SETFD, FD_CLOEXEC, 0);
        call(nr::FCNTL, CHILDREN, F_SETFD, FD_CLOEXEC, 0);
    }
    // A plain fork: of a process this small it costs no more than sharing memory would, and needs no care.
    // SAFETY: numbers only; the child goes on with a copy of our memory.
    let command = unsafe { call(nr::CLONE, SIGCHLD, 0, 0, 0) };
    if command == 0 {
        start();
    }
    if command < 0 {
        refused(b'E', command);
    }
    // Output pipes belong to the command alone: end of file must not wait for us.
    for fd in [0, 1, 2, COMMAND] {
        // SAFETY: takes a number.
        unsafe { call(nr::CLOSE, fd, 0, 0, 0) };
    }
    // Left unset, here and below: clearing it would call for a memset, which a program without a library has not.
    let mut usage = MaybeUninit::<Usage>::uninit();
    loop {
        let mut status = 0i32;
        let flags = if namespace { 0 } else { WNOHANG };
        // SAFETY: both places are ours and large enough.
        let ended =
            unsafe { call(nr::WAIT4, usize::MAX, &raw mut status as usize, flags, usage.as_mut_ptr() as usize) };
        if ended == command {
            // SAFETY: wait4 filled it, since it returned a process.
            let usage = unsafe { usage.assume_init_ref() };
            report(b'X', status, usage[4]);
            break;
        }
        if ended == ECHILD {
            break;
        }
        if ended == 0 {
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

/// Waits for the command and becomes it: four numbers of a header, then strings, each ended by a null. The fourth number says
/// whether descriptor 0 is a terminal, which then controls the command's session.
fn start() -> ! {
    let mut header = MaybeUninit::<[u32; 4]>::uninit();
    if !read_whole(header.as_mut_ptr() as usize, 16) {
        // No one came with a command: this sandbox was not needed.
        exit(0);
    }
    // SAFETY: filled by the read.
    let [text, arguments, variables, terminal] = unsafe { header.assume_init() };
    let (text, arguments, variables) = (text as usize, arguments as usize, variables as usize);
    let lists = (arguments + variables + 2) * 8;
    // SAFETY: a new private mapping; the answer is checked.
    let memory = unsafe { call6(nr::MMAP, 0, lists + text, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, usize::MAX, 0) };
    if memory < 0 && memory > -4096 {
        refused(b'E', memory);
    }
    let (list, strings) = (memory as usize as *mut usize, memory as usize + lists);
    if !read_whole(strings, text) {
        exit(125);
    }
    // The strings in order: directory, program, arguments, environment.
    let mut next = strings;
    let mut take = || {
        let this = next;
        // SAFETY: stays within the text, every string of which ends with a null (`Wire::new` writes them).
        unsafe {
            while *(next as *const u8) != 0 {
                next += 1;
            }
        }
        next += 1;
        this
    };
    let (directory, program) = (take(), take());
    for index in 0..arguments {
        // SAFETY: the lists have room for both counts and their two nulls, which the mapping has already.
        unsafe { *list.add(index) = take() };
    }
    for index in 0..variables {
        // SAFETY: as above.
        unsafe { *list.add(arguments + 1 + index) = take() };
    }
    let none = 0u64;
    // SAFETY: strings and lists as built above.
    unsafe {
        let entered = call(nr::CHDIR, directory, 0, 0, 0);
        if entered < 0 {
            refused(b'D', entered);
        }
        call(nr::SETSID, 0, 0, 0, 0);
        if terminal != 0 {
            let controlling = call(nr::IOCTL, 0, TIOCSCTTY, 0, 0);
            if controlling < 0 {
                refused(b'E', controlling);
            }
        }
        call(nr::RT_SIGPROCMASK, SIG_SETMASK, &raw const none as usize, 0, 8);
        refused(b'E', call(nr::EXECVE, program, list as usize, list.add(arguments + 1) as usize, 0))
    }
}

/// Reads exactly so many bytes of the command; false when it ends before.
fn read_whole(mut to: usize, mut length: usize) -> bool {
    while length > 0 {
        // SAFETY: the caller gives a place of that length.
        let read = unsafe { call(nr::READ, COMMAND, to, length, 0) };
        if read <= 0 {
            return false;
        }
        to += read as usize;
        length -= read as usize;
    }
    true
}

/// Reports that the command could not be started.
fn refused(kind: u8, answer: isize) -> ! {
    report(kind, -answer as i32, 0);
    exit(125)
}

/// Writes the one report: a letter, a number, and kilobytes. Short enough for a pipe to take whole.
fn report(kind: u8, number: i32, memory: i64) {
    let mut line = [0u8; 16];
    line[0] = kind;
    line[4..8].copy_from_slice(&number.to_ne_bytes());
    line[8..16].copy_from_slice(&memory.to_ne_bytes());
    // SAFETY: the bytes are ours.
    unsafe { call(nr::WRITE, REPORT, line.as_ptr() as usize, line.len(), 0) };
}

/// Kills our children until there are none; orphans of the killed become our children, so this reaches every generation.
fn kill_children() {
    let mut text = MaybeUninit::<[u8; 4096]>::uninit();
    loop {
        // SAFETY: a buffer with its length.
        let length = unsafe { call(nr::PREAD64, CHILDREN, text.as_mut_ptr() as usize, size_of_val(&text), 0) };
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
