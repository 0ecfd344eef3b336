//! The two system calls that make a child, and the stack it begins on.

use super::{Order, Process};
use crate::{
    child::{self, Birth},
    sys,
};
use std::{io, os::fd::RawFd};

/// A child's stack. Its steps use little; Landlock and the parsing of `/proc` need a few kilobytes.
const STACK: usize = 64 << 10;

/// The kernel's `clone_args`, as far as version 2.
#[repr(C)]
#[derive(Default)]
struct CloneArguments {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
    set_tid: u64,
    set_tid_size: u64,
    cgroup: u64,
}

/// The child starts with no handlers: the parent's must never run in it.
const CLONE_CLEAR_SIGHAND: u64 = 0x1_0000_0000;
/// The child is born in a cgroup. (The constant of the `libc` crate is an `i32`, in which this does not fit.)
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// What every birth has: memory shared until the exec, this thread stopped until then, a descriptor to know it by. No exit
/// signal: no one's SIGCHLD handler or `wait` is disturbed by our children.
const ALWAYS: i32 = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD;

pub(super) fn clone3(order: &Order<'_>, birth: &mut Birth<'_>) -> io::Result<Process> {
    let stack = Stack::new()?;
    let mut pidfd: RawFd = -1;
    let arguments = CloneArguments {
        flags: (order.flags | ALWAYS) as u32 as u64
            | CLONE_CLEAR_SIGHAND
            | order.birthplace.map_or(0, |_| CLONE_INTO_CGROUP),
        pidfd: &raw mut pidfd as u64,
        stack: stack.bottom as u64,
        stack_size: STACK as u64,
        cgroup: order.birthplace.unwrap_or(0) as u64,
        ..CloneArguments::default()
    };
    // SAFETY: `birth`, `arguments` and `stack` outlive the child's use of them, since `CLONE_VFORK` stops this thread until
    // the child execs or ends.
    let answer = without_signals(|| unsafe { call_clone3(&arguments, (&raw mut *birth).cast()) });
    if answer < 0 {
        return Err(io::Error::from_raw_os_error(-answer as i32));
    }
    Ok(Process {
        pid: answer as i32,
        pidfd: sys::own(pidfd.into())?,
    })
}

/// The older call, which cannot put the child into a cgroup or forget handlers; the child does both itself.
pub(super) fn clone2(order: &Order<'_>, birth: &mut Birth<'_>) -> io::Result<Process> {
    let stack = Stack::new()?;
    let mut pidfd: RawFd = -1;
    let flags = order.flags | ALWAYS;
    let birth: *mut libc::c_void = (&raw mut *birth).cast();
    // SAFETY: as in `clone3`; the stack grows down from its end, which is aligned.
    let pid = without_signals(|| unsafe {
        libc::clone(
            child::born,
            stack.bottom.add(STACK).cast(),
            flags,
            birth,
            &raw mut pidfd,
        )
    });
    sys::check(pid.into())?;
    Ok(Process {
        pid,
        pidfd: sys::own(pidfd.into())?,
    })
}

/// Blocks signals meanwhile, so that none reaches a child before it is ready for it.
fn without_signals<T>(work: impl FnOnce() -> T) -> T {
    let all = !0u64;
    let mut before = 0u64;
    let size = size_of_val(&all);
    // SAFETY: the kernel's set of signals is eight bytes.
    unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const all,
            &raw mut before,
            size,
        );
    }
    let answer = work();
    let errno = io::Error::last_os_error().raw_os_error().unwrap_or(0);
    // SAFETY: as above; errno is kept for the next reader.
    unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const before,
            std::ptr::null::<u8>(),
            size,
        );
        *libc::__errno_location() = errno;
    }
    answer
}

/// A child's stack, with a page below it that nothing can be written to: an overflow must not reach our heap.
struct Stack {
    bottom: *mut u8,
}

const GUARD_PAGE: usize = 4096;

impl Stack {
    fn new() -> io::Result<Self> {
        let length = STACK + GUARD_PAGE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK;
        // SAFETY: a new mapping, checked before use, of which the first page is made inaccessible.
        unsafe {
            let memory = libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                flags,
                -1,
                0,
            );
            if memory == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            libc::mprotect(memory, GUARD_PAGE, libc::PROT_NONE);
            Ok(Self {
                bottom: memory.cast::<u8>().add(GUARD_PAGE),
            })
        }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `new`, no longer used by a child.
        unsafe { libc::munmap(self.bottom.sub(GUARD_PAGE).cast(), STACK + GUARD_PAGE) };
    }
}

/// `clone3`, with [`child::born`] as what the child does: no library offers it, since the child returns on another stack.
///
/// # Safety
/// The arguments must name a stack of the child's own and `birth` what `born` expects, both until it execs or ends.
unsafe fn call_clone3(arguments: &CloneArguments, birth: *mut libc::c_void) -> isize {
    let answer: isize;
    // SAFETY: in the parent a plain system call. In the child, which has the parent's registers and an empty stack, `born` is
    // called with its argument and never returns; the stack is aligned as the call expects, being a whole number of pages.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r12",
            "call r13",
            "ud2",
            "2:",
            inlateout("rax") libc::SYS_clone3 as isize => answer,
            in("rdi") arguments,
            in("rsi") size_of::<CloneArguments>(),
            in("r12") birth,
            in("r13") child::born as extern "C" fn(*mut libc::c_void) -> i32,
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        std::arch::asm!(
            "svc 0",
            "cbnz x0, 2f",
            "mov x29, #0",
            "mov x0, x20",
            "blr x21",
            "brk #0",
            "2:",
            in("x8") libc::SYS_clone3,
            inlateout("x0") arguments as *const CloneArguments as isize => answer,
            in("x1") size_of::<CloneArguments>(),
            in("x20") birth,
            in("x21") child::born as extern "C" fn(*mut libc::c_void) -> i32,
        );
    }
    answer
}
