//! Calls that only one rule refuses, and their innocent neighbours, for every rule that looks at an argument.

use libc::c_long;

/// The first three arguments of a call.
pub(super) type Args = [c_long; 3];

/// The calls refused whatever their arguments, written out so that none leaves the table unnoticed.
pub(super) const CALLS: &str = "
    ptrace process_vm_readv process_vm_writev process_madvise kcmp pidfd_getfd migrate_pages move_pages
    bpf perf_event_open userfaultfd fanotify_init
    add_key request_key keyctl
    mount umount2 pivot_root chroot open_tree open_tree_attr move_mount fsopen fsconfig fsmount fspick mount_setattr
    statmount listmount
    unshare setns clone3 openat2
    io_uring_setup io_uring_enter io_uring_register
    open_by_handle_at name_to_handle_at
    init_module finit_module delete_module kexec_load kexec_file_load reboot swapon swapoff acct quotactl quotactl_fd
    settimeofday clock_settime clock_adjtime adjtimex sethostname setdomainname syslog vhangup
    lookup_dcookie nfsservctl
    shmget shmat shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl mq_open mq_unlink
";

/// The rules about numbers, and the calls, that only one architecture has.
#[cfg(target_arch = "x86_64")]
pub(super) const ONLY_HERE: &[&str] = &[
    "uselib",
    "_sysctl",
    "create_module",
    "get_kernel_syms",
    "query_module",
    "iopl",
    "ioperm",
    "modify_ldt",
    "x32",
    "unassigned numbers from 337",
    "negative numbers",
];
#[cfg(target_arch = "aarch64")]
pub(super) const ONLY_HERE: &[&str] =
    &["unassigned numbers from 244", "unassigned numbers from 295"];

/// Arguments that only the named rule refuses, and arguments next to them that nothing refuses.
pub(super) struct Sample {
    pub(super) rule: &'static str,
    pub(super) refused: &'static [Args],
    pub(super) allowed: &'static [Args],
}

const fn sample(rule: &'static str, refused: &'static [Args], allowed: &'static [Args]) -> Sample {
    Sample {
        rule,
        refused,
        allowed,
    }
}

/// A bit the kernel never sees in a 32-bit argument: no rule may be dodged, and no call refused, by setting it.
const HIGH: c_long = 1 << 40;

/// Written out by hand, in numbers from the manual pages and not from the table.
pub(super) const SAMPLES: &[Sample] = &[
    sample(
        "clone into a namespace",
        &[
            [0x0002_0011, 0, 0],
            [0x0200_0011, 0, 0],
            [0x0400_0011, 0, 0],
            [0x0800_0011, 0, 0],
            [0x1000_0011, 0, 0],
            [0x2000_0011, 0, 0],
            [0x4000_0011, 0, 0],
            [0x7e02_0011 | HIGH, 0, 0],
        ],
        // fork; vfork; a glibc thread; the bit that is CLONE_NEWTIME elsewhere.
        &[
            [0x11, 0, 0],
            [0x4111, 0, 0],
            [0x003d_0f00, 0, 0],
            [0x80, 0, 0],
        ],
    ),
    sample(
        "socket",
        &[
            [1, 1, 0],
            [2, 1, 0],
            [2, 2, 0],
            [10, 1, 0],
            [16, 3, 0],
            [17, 3, 0],
            [38, 5, 0],
            [40, 1, 0],
        ],
        &[],
    ),
    sample(
        "socket family",
        &[
            [0, 1, 0],
            [1, 1, 0],
            [1, 0x8_0801, 0],
            [1 | HIGH, 1, 0],
            [15, 2, 0],
            [16, 2, 0],
            [17, 2, 0],
            [31, 1, 0],
            [38, 2, 0],
            [40, 1, 0],
            [42, 2, 0],
            [44, 2, 0],
        ],
        &[[2, 1, 0], [10, 1, 6], [2 | HIGH, 1, 0], [2, 0x8_0802, 17]],
    ),
    sample(
        "socket type",
        // Raw, with flags, RDM, seqpacket, SOCK_PACKET.
        &[
            [2, 3, 1],
            [10, 0x8_0803, 0],
            [2, 4, 0],
            [2, 5, 0],
            [2, 10, 0],
            [2, 3 | HIGH, 0],
        ],
        &[[2, 1 | HIGH, 0]],
    ),
    sample(
        "socket protocol",
        // MPTCP, SCTP, SMC, L2TP.
        &[
            [2, 1, 262],
            [2, 1, 132],
            [2, 1, 256],
            [2, 2, 115],
            [10, 1, 132 | HIGH],
        ],
        &[[2, 2, 1], [10, 2, 58]],
    ),
    sample(
        "socketpair family",
        &[[30, 1, 0], [2, 1, 0], [0, 1, 0], [30 | HIGH, 5, 0]],
        &[[1, 1, 0], [1, 0x8_0805, 0]],
    ),
    sample(
        "socketpair type",
        &[[1, 2, 0], [1, 0x8_0002, 0], [1, 3, 0], [1, 2 | HIGH, 0]],
        &[[1 | HIGH, 1, 0]],
    ),
    sample(
        "ioctl TIOCSTI",
        &[
            [0, 0x5412, 0],
            [0, 0x5412 | HIGH, 0],
            [-1, 0x5412 | (-1 << 32), 0],
        ],
        &[[0, 0x5413, 0], [0x5412, 0x5401, 0x5412]],
    ),
    sample(
        "ioctl TIOCLINUX",
        &[[0, 0x541c, 0], [0, 0x541c | HIGH, 0]],
        &[[0, 0x541b, 0]],
    ),
    sample(
        "ioctl TIOCSETD",
        &[[0, 0x5423, 0], [0, 0x5423 | HIGH, 0]],
        &[[0, 0x5424, 0], [0, 0x5422, 0]],
    ),
    sample(
        "ioctl USERFAULTFD_IOC_NEW",
        &[[0, 0xaa00, 0], [0, 0xaa00 | HIGH, 1]],
        &[[0, 0xaa01, 0]],
    ),
    sample(
        "personality",
        &[
            [0x40_0000, 0, 0],
            [8, 0, 0],
            [0x44_0000, 0, 0],
            [0x2_0000 | HIGH, 0, 0],
        ],
        &[[0, 0, 0], [0xffff_ffff, 0, 0], [-1, 0, 0], [0x4_0000, 0, 0]],
    ),
    #[cfg(target_arch = "x86_64")]
    sample(
        "mknod device",
        &[
            [0, 0o020_666, 0],
            [0, 0o060_666, 0],
            [0, 0o060_666 | HIGH | 1 << 16, 0],
        ],
        &[
            [0, 0o644, 0],
            [0, 0o100_644, 0],
            [0, 0o010_644, 0],
            [0, 0o140_644, 0],
        ],
    ),
    sample(
        "mknodat device",
        &[
            [0, 0, 0o020_666],
            [0, 0, 0o060_666],
            [0, 0, 0o020_666 | HIGH | 1 << 16],
        ],
        &[
            [0, 0o060_666, 0o644],
            [0, 0, 0o100_644],
            [0, 0, 0o010_644],
            [0, 0, 0o140_644],
        ],
    ),
    #[cfg(target_arch = "x86_64")]
    sample(
        "chmod set-id",
        &[[0, 0o4755, 0], [0, 0o2755, 0], [0, 0o6000 | HIGH, 0]],
        &[[0, 0o1777, 0], [0, 0o755, 0], [0o4755, 0, 0o4755]],
    ),
    sample(
        "fchmod set-id",
        &[[0, 0o4755, 0], [0, 0o2755, 0], [0, 0o6000 | HIGH, 0]],
        &[[0, 0o1777, 0], [0, 0o755, 0]],
    ),
    sample(
        "fchmodat set-id",
        &[[0, 0, 0o4755], [0, 0, 0o2755], [0, 0, 0o6000 | HIGH]],
        &[[0, 0, 0o1777], [0, 0o4755, 0o755]],
    ),
    sample(
        "fchmodat2 set-id",
        &[[0, 0, 0o4755], [0, 0, 0o2755], [0, 0, 0o6000 | HIGH]],
        &[[0, 0, 0o1777], [0, 0o4755, 0o755]],
    ),
    #[cfg(target_arch = "x86_64")]
    sample(
        "open set-id",
        &[[0, 0o102, 0o4755], [0, 0o102, 0o2755 | HIGH]],
        &[[0, 0o6102, 0o755], [0, 0, 0]],
    ),
    #[cfg(target_arch = "x86_64")]
    sample(
        "creat set-id",
        &[[0, 0o4755, 0], [0, 0o2755 | HIGH, 0]],
        &[[0, 0o755, 0]],
    ),
    sample(
        "openat set-id",
        &[[0, 0, 0o4755], [0, 0, 0o2755 | HIGH]],
        &[[0, 0, 0o755], [0, 0o4755, 0o1777]],
    ),
    #[cfg(target_arch = "x86_64")]
    sample(
        "mknod set-id",
        &[[0, 0o104_755, 0], [0, 0o2755 | HIGH, 0]],
        &[[0, 0o100_755, 0]],
    ),
    sample(
        "mknodat set-id",
        &[[0, 0, 0o104_755], [0, 0, 0o2755 | HIGH]],
        &[[0, 0o104_755, 0o100_755]],
    ),
    sample(
        "prctl PR_SET_MM",
        &[[35, 1, 0], [35 | HIGH, 1, 0]],
        &[[34, 0, 0], [36, 0, 0], [38, 1, 0]],
    ),
    sample(
        "prlimit64 by pid",
        &[[1, 7, 0], [-1, 7, 0]],
        &[[0, 7, 0], [HIGH, 7, 0]],
    ),
];
