//! The table of refused system calls, and why each is there.
//!
//! Three errnos, each with a meaning. `EPERM`: what an unprivileged process would hear, so programs know the answer.
//! `ENOSYS`: the program has an older way and takes it. `EACCES`: a network refusal, which most programs print as
//! "permission denied" and do not mistake for a missing feature.
//!
//! Left alone on purpose: `kill` and friends (pid namespace, Landlock), everything that takes a path (Landlock,
//! mounts), `seccomp` and `landlock_*` (they only take away; of two filters' errors the stricter action wins).

use libc::{EACCES, ENOSYS, EPERM, c_long};

use super::compile::Refuse::{In, NotIn};
use super::compile::{ArgTest, Refuse, Verdict};
use super::{Ipc, Sockets};

/// One refusal. Earlier rules are asked first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    /// Unique in the table.
    pub(super) name: &'static str,
    /// The first number it covers.
    pub(super) first: u32,
    /// The last number it covers.
    pub(super) last: u32,
    /// What must hold of the arguments, if anything.
    pub(super) test: Option<ArgTest>,
    pub(super) verdict: Verdict,
}

impl Rule {
    /// Says whether the rule has an opinion on a number.
    pub(super) fn covers(&self, number: u32) -> bool {
        (self.first..=self.last).contains(&number)
    }
}

/// Calls from another architecture's entry (`int 0x80` on x86-64) use other numbers: no rule below would hold.
pub(super) const FOREIGN_ARCHITECTURE: &str = "foreign architecture";
pub(super) const FOREIGN_VERDICT: Verdict = Verdict::Kill;

/// `AUDIT_ARCH_*`, which `libc` lacks.
#[cfg(target_arch = "x86_64")]
pub(super) const NATIVE_ARCH: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
pub(super) const NATIVE_ARCH: u32 = 0xc000_00b7;
#[cfg(not(all(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_pointer_width = "64",
    target_endian = "little",
)))]
compile_error!(
    "the seccomp rules know the system calls of 64-bit x86-64 and little-endian aarch64 only"
);

/// The highest number of Linux 6.18, which `libc` does not list yet (`file_setattr`).
const LAST_KNOWN: u32 = 469;

/// `_IO(0xaa, 0)` on `/dev/userfaultfd`: the same descriptor as from `userfaultfd(2)`.
const USERFAULTFD_IOC_NEW: u32 = 0xaa00;
/// `SOCK_TYPE_MASK`: the rest of the argument is SOCK_CLOEXEC and SOCK_NONBLOCK.
const SOCKET_TYPE: u32 = 0xf;
const WHOLE: u32 = u32::MAX;
/// `S_ISUID` and `S_ISGID`.
const SET_ID: u32 = 0o6000;

/// Every flag of `clone` that makes a namespace. CLONE_NEWTIME is not among them: `clone` reads that bit as a part
/// of the exit signal; only `unshare` and `clone3`, both refused, know it.
const CLONE_NEW: u32 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u32;

/// The sandboxes a group of rules is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Only {
    Always,
    With(Sockets),
    Sharing(Ipc),
}

/// Calls that are refused for one reason.
struct Group {
    calls: &'static [Call],
    test: Option<ArgTest>,
    verdict: Verdict,
    only: Only,
}

/// A name and the numbers it stands for, first and last.
struct Call(&'static str, u32, u32);

/// Names a refusal of one call; numbers are spelled out where `libc` has none.
const fn one(name: &'static str, number: c_long) -> Call {
    Call(name, number as u32, number as u32)
}

impl Group {
    const fn errno(errno: i32, calls: &'static [Call]) -> Group {
        Group {
            calls,
            test: None,
            verdict: Verdict::Errno(errno),
            only: Only::Always,
        }
    }

    /// Narrows the refusal to some values of `mask`'s bits in argument `arg`.
    const fn when(self, arg: u32, mask: u32, refuse: Refuse) -> Group {
        Group {
            test: Some(ArgTest { arg, mask, refuse }),
            ..self
        }
    }

    const fn only(self, only: Only) -> Group {
        Group { only, ..self }
    }
}

/// Lists calls under their own names.
macro_rules! calls {
    ($($number:ident),* $(,)?) => {
        &[$(Call(stringify!($number), libc::$number as u32, libc::$number as u32)),*]
    };
}

/// Lists argument values; `libc` has them in several widths.
macro_rules! values {
    ($($value:expr),* $(,)?) => {
        &[$($value as u32),*]
    };
}

static GROUPS: &[Group] = &[
    // Reading or steering another process, or taking its descriptors.
    Group::errno(
        EPERM,
        calls![
            SYS_ptrace,
            SYS_process_vm_readv,
            SYS_process_vm_writev,
            SYS_process_madvise,
            SYS_kcmp,
            SYS_pidfd_getfd,
            SYS_migrate_pages,
            SYS_move_pages,
        ],
    ),
    // Kernel machinery with a long record of holes and no use in a build or a script.
    Group::errno(
        EPERM,
        calls![
            SYS_bpf,
            SYS_perf_event_open,
            SYS_userfaultfd,
            SYS_fanotify_init
        ],
    ),
    // Keyrings are not namespaced: a child of the caller shares the caller's session keys.
    Group::errno(EPERM, calls![SYS_add_key, SYS_request_key, SYS_keyctl]),
    // Rebuilding the file tree would undo the read-only mounts and Landlock's idea of a path.
    Group::errno(
        EPERM,
        calls![
            SYS_mount,
            SYS_umount2,
            SYS_pivot_root,
            SYS_chroot,
            SYS_open_tree,
            SYS_move_mount,
            SYS_fsopen,
            SYS_fsconfig,
            SYS_fsmount,
            SYS_fspick,
            SYS_mount_setattr,
        ],
    ),
    Group::errno(EPERM, &[one("open_tree_attr", 467)]),
    // They can list other namespaces' mounts; libmount falls back to /proc/self/mountinfo.
    Group::errno(ENOSYS, &[one("statmount", 457), one("listmount", 458)]),
    // A new user namespace hands out capabilities, and with them most of the kernel's attack surface.
    Group::errno(EPERM, calls![SYS_unshare, SYS_setns]),
    Group::errno(EPERM, &[one("clone into a namespace", libc::SYS_clone)]).when(
        0,
        CLONE_NEW,
        NotIn(&[0]),
    ),
    // Its flags are behind a pointer; every libc falls back to `clone`.
    Group::errno(ENOSYS, calls![SYS_clone3]),
    // Requests in shared memory never pass a filter: a socket opened through the ring would be any socket.
    Group::errno(
        ENOSYS,
        calls![
            SYS_io_uring_setup,
            SYS_io_uring_enter,
            SYS_io_uring_register
        ],
    ),
    // File handles reach any inode of a mounted file system, whatever the path rules say.
    Group::errno(EPERM, calls![SYS_open_by_handle_at, SYS_name_to_handle_at]),
    // The machine: modules, kernels, swap, quotas, accounting, clocks, names, the log, the console.
    Group::errno(
        EPERM,
        calls![
            SYS_init_module,
            SYS_finit_module,
            SYS_delete_module,
            SYS_kexec_load,
            SYS_kexec_file_load,
            SYS_reboot,
            SYS_swapon,
            SYS_swapoff,
            SYS_acct,
            SYS_quotactl,
            SYS_quotactl_fd,
            SYS_settimeofday,
            SYS_clock_settime,
            SYS_clock_adjtime,
            SYS_adjtimex,
            SYS_sethostname,
            SYS_setdomainname,
            SYS_syslog,
            SYS_vhangup,
        ],
    ),
    // Retired, but still there on old kernels.
    Group::errno(EPERM, calls![SYS_lookup_dcookie, SYS_nfsservctl]),
    #[cfg(target_arch = "x86_64")]
    Group::errno(EPERM, calls![SYS_uselib, SYS__sysctl]),
    #[cfg(target_arch = "x86_64")]
    Group::errno(
        EPERM,
        &[
            one("create_module", 174),
            one("get_kernel_syms", 177),
            one("query_module", 178),
        ],
    ),
    // Ports, and segments for 16-bit code.
    #[cfg(target_arch = "x86_64")]
    Group::errno(EPERM, calls![SYS_iopl, SYS_ioperm, SYS_modify_ldt]),
    // Landlock (ABI 7) fences neither UDP nor unix sockets, a network namespace no vsock.
    Group::errno(EACCES, &[one("socket", libc::SYS_socket)]).only(Only::With(Sockets::None)),
    Group::errno(EACCES, &[one("socket family", libc::SYS_socket)])
        .when(0, WHOLE, NotIn(values![libc::AF_INET, libc::AF_INET6]))
        .only(Only::With(Sockets::Internet)),
    // Not by exclusion of SOCK_RAW: AF_INET with SOCK_PACKET is a packet socket.
    Group::errno(EACCES, &[one("socket type", libc::SYS_socket)])
        .when(
            1,
            SOCKET_TYPE,
            NotIn(values![libc::SOCK_STREAM, libc::SOCK_DGRAM]),
        )
        .only(Only::With(Sockets::Internet)),
    // The others (SCTP, MPTCP, SMC, L2TP, …) load kernel modules on demand, and Landlock's TCP rules miss them.
    Group::errno(EACCES, &[one("socket protocol", libc::SYS_socket)])
        .when(
            2,
            WHOLE,
            NotIn(values![
                0,
                libc::IPPROTO_TCP,
                libc::IPPROTO_UDP,
                libc::IPPROTO_ICMP,
                libc::IPPROTO_ICMPV6,
            ]),
        )
        .only(Only::With(Sockets::Internet)),
    // A pair is a pipe, and many runtimes want one; only unix sockets, no TIPC.
    Group::errno(EACCES, &[one("socketpair family", libc::SYS_socketpair)]).when(
        0,
        WHOLE,
        NotIn(values![libc::AF_UNIX]),
    ),
    // One end of a datagram pair can `sendto` or `connect` to any socket's path outside; a stream or seqpacket end
    // stays connected for life. SOCK_RAW here is another name for a datagram.
    Group::errno(EACCES, &[one("socketpair type", libc::SYS_socketpair)]).when(
        1,
        SOCKET_TYPE,
        NotIn(values![libc::SOCK_STREAM, libc::SOCK_SEQPACKET]),
    ),
    // Typing into the terminal the sandbox was started from: the shell runs it afterwards.
    Group::errno(EPERM, &[one("ioctl TIOCSTI", libc::SYS_ioctl)]).when(
        1,
        WHOLE,
        In(values![libc::TIOCSTI]),
    ),
    // The same by pasting the console's selection.
    Group::errno(EPERM, &[one("ioctl TIOCLINUX", libc::SYS_ioctl)]).when(
        1,
        WHOLE,
        In(values![libc::TIOCLINUX]),
    ),
    // Another line discipline for a terminal loads code of the kernel's that no command has a use for.
    Group::errno(EPERM, &[one("ioctl TIOCSETD", libc::SYS_ioctl)]).when(
        1,
        WHOLE,
        In(values![libc::TIOCSETD]),
    ),
    Group::errno(EPERM, &[one("ioctl USERFAULTFD_IOC_NEW", libc::SYS_ioctl)]).when(
        1,
        WHOLE,
        In(&[USERFAULTFD_IOC_NEW]),
    ),
    // Reading it, the default, and what debuggers set; other personalities weaken mappings (READ_IMPLIES_EXEC).
    Group::errno(EPERM, &[one("personality", libc::SYS_personality)]).when(
        0,
        WHOLE,
        NotIn(values![0, u32::MAX, libc::ADDR_NO_RANDOMIZE]),
    ),
    // Root may make a node for any disk in the workspace, and no one else may make one at all.
    #[cfg(target_arch = "x86_64")]
    Group::errno(EPERM, &[one("mknod device", libc::SYS_mknod)]).when(1, libc::S_IFMT, DEVICES),
    Group::errno(EPERM, &[one("mknodat device", libc::SYS_mknodat)]).when(2, libc::S_IFMT, DEVICES),
    // A set-uid file left in the workspace would give the caller's uid to any user who runs it on the host. Ways to say a mode:
    #[cfg(target_arch = "x86_64")]
    Group::errno(EPERM, &[one("chmod set-id", libc::SYS_chmod)]).when(1, SET_ID, NotIn(&[0])),
    Group::errno(EPERM, &[one("fchmod set-id", libc::SYS_fchmod)]).when(1, SET_ID, NotIn(&[0])),
    Group::errno(EPERM, &[one("fchmodat set-id", libc::SYS_fchmodat)]).when(2, SET_ID, NotIn(&[0])),
    Group::errno(EPERM, &[one("fchmodat2 set-id", 452)]).when(2, SET_ID, NotIn(&[0])),
    #[cfg(target_arch = "x86_64")]
    Group::errno(EPERM, &[one("open set-id", libc::SYS_open)]).when(2, SET_ID, NotIn(&[0])),
    #[cfg(target_arch = "x86_64")]
    Group::errno(EPERM, &[one("creat set-id", libc::SYS_creat)]).when(1, SET_ID, NotIn(&[0])),
    Group::errno(EPERM, &[one("openat set-id", libc::SYS_openat)]).when(3, SET_ID, NotIn(&[0])),
    #[cfg(target_arch = "x86_64")]
    Group::errno(EPERM, &[one("mknod set-id", libc::SYS_mknod)]).when(1, SET_ID, NotIn(&[0])),
    Group::errno(EPERM, &[one("mknodat set-id", libc::SYS_mknodat)]).when(2, SET_ID, NotIn(&[0])),
    // Its mode is behind a pointer; programs that use it fall back to `openat`.
    Group::errno(ENOSYS, calls![SYS_openat2]),
    // Moves a process's own memory map, and what /proc says of its program, about.
    Group::errno(EPERM, &[one("prctl PR_SET_MM", libc::SYS_prctl)]).when(
        0,
        WHOLE,
        In(values![libc::PR_SET_MM]),
    ),
    // Another process's limits, by pid. libc and every runtime we know pass 0 for their own.
    Group::errno(EPERM, &[one("prlimit64 by pid", libc::SYS_prlimit64)]).when(
        0,
        WHOLE,
        NotIn(&[0]),
    ),
    // Calls that take an id are refused like those that make one: ids are small numbers, easily guessed.
    Group::errno(
        EPERM,
        calls![
            SYS_shmget,
            SYS_shmat,
            SYS_shmctl,
            SYS_semget,
            SYS_semop,
            SYS_semtimedop,
            SYS_semctl,
            SYS_msgget,
            SYS_msgsnd,
            SYS_msgrcv,
            SYS_msgctl,
            SYS_mq_open,
            SYS_mq_unlink,
        ],
    )
    .only(Only::Sharing(Ipc::Shared)),
    // x32: the same kernel entry and architecture as x86-64, other numbers. Kill as for a foreign architecture.
    #[cfg(target_arch = "x86_64")]
    Group {
        calls: &[Call("x32", 0x4000_0000, 0x7fff_ffff)],
        test: None,
        verdict: Verdict::Kill,
        only: Only::Always,
    },
    // What a newer kernel adds is not allowed until someone here has read about it. Some gaps lie lower.
    #[cfg(target_arch = "x86_64")]
    Group::errno(
        ENOSYS,
        &[
            Call("unassigned numbers from 337", 337, 423),
            Call("unknown numbers", LAST_KNOWN + 1, 0x3fff_ffff),
            Call("negative numbers", 0x8000_0000, u32::MAX),
        ],
    ),
    #[cfg(target_arch = "aarch64")]
    Group::errno(
        ENOSYS,
        &[
            Call("unassigned numbers from 244", 244, 259),
            Call("unassigned numbers from 295", 295, 423),
            Call("unknown numbers", LAST_KNOWN + 1, u32::MAX),
        ],
    ),
];

/// Block devices and character devices.
const DEVICES: Refuse = In(values![libc::S_IFCHR, libc::S_IFBLK]);

/// Lists the rules for one kind of sandbox.
pub(super) fn table(sockets: Sockets, ipc: Ipc) -> impl Iterator<Item = Rule> {
    GROUPS
        .iter()
        .filter(move |group| match group.only {
            Only::Always => true,
            Only::With(wanted) => wanted == sockets,
            Only::Sharing(wanted) => wanted == ipc,
        })
        .flat_map(Group::rules)
}

/// Lists the rules of every kind of sandbox.
pub(super) fn all() -> impl Iterator<Item = Rule> {
    GROUPS.iter().flat_map(Group::rules)
}

impl Group {
    fn rules(&self) -> impl Iterator<Item = Rule> {
        self.calls.iter().map(|&Call(name, first, last)| Rule {
            name: name.trim_start_matches("SYS_"),
            first,
            last,
            test: self.test,
            verdict: self.verdict,
        })
    }
}
