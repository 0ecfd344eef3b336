//! Asks the real kernel about every rule, with the rule and without.
//!
//! Some of these calls would reboot the machine or set its clock if a rule were missing, and tests run as root. So a
//! second filter lies underneath that answers the probed number with [`BACKSTOP`]: of two filters' errors the newer
//! one's is reported, hence a rule that works answers with its own errno and a missing one shows as the backstop.
//! That also makes the answer the same for root and for anyone else, and on every kernel. The calls that are safe to
//! let through are made again without a backstop, in [`harmless_calls_that_work_bare_are_refused`].

use libc::{c_long, sock_filter};

use super::super::compile::{Answer, Policy, Span, Verdict};
use super::super::{Ipc, Sockets, program, program_without, rules};
use super::samples::{Args, SAMPLES};
use super::{KINDS, behind, errno_of, errno_of_four, install};

/// No rule uses it, and no probed call returns it.
const BACKSTOP: i32 = libc::EDOM;

/// A filter that answers one number with [`BACKSTOP`] and allows all others.
fn backstop(number: u32) -> Vec<sock_filter> {
    let span = |first, otherwise| Span {
        first,
        answer: Answer {
            checks: Vec::new(),
            otherwise,
        },
    };
    let mut spans = vec![
        span(0, Verdict::Allow),
        span(number, Verdict::Errno(BACKSTOP)),
    ];
    spans.extend(
        number
            .checked_add(1)
            .map(|after| span(after, Verdict::Allow)),
    );
    Policy {
        arch: rules::NATIVE_ARCH,
        foreign: Verdict::Allow,
        spans,
    }
    .assemble()
}

/// Asks the kernel with `program` above the backstop. The fourth argument, which only `openat` is judged by, is the third.
fn ask(program: &[sock_filter], number: u32, [a, b, c]: Args) -> i32 {
    behind(&backstop(number), || {
        install(program);
        errno_of_four(c_long::from(number), [a, b, c, c])
    })
}

/// Returns the samples of a rule without argument checks: any arguments, at both ends of its numbers.
fn probes(rule: &rules::Rule) -> Vec<(u32, Args)> {
    if rule.test.is_none() && !SAMPLES.iter().any(|it| it.rule == rule.name) {
        return vec![
            (rule.first, [0, 0, 0]),
            (rule.first, [-1, -1, -1]),
            (rule.last, [0, 0, 0]),
        ];
    }
    let sample = SAMPLES.iter().find(|it| it.rule == rule.name);
    let sample = sample.unwrap_or_else(|| panic!("no sample for the rule `{}`", rule.name));
    sample
        .refused
        .iter()
        .map(|args| (rule.first, *args))
        .collect()
}

#[test]
fn every_refusal_comes_from_its_own_rule() {
    let mut seen: Vec<&str> = Vec::new();
    for (sockets, ipc) in KINDS {
        let full = program(sockets, ipc);
        for rule in rules::table(sockets, ipc) {
            let errno = match rule.verdict {
                Verdict::Errno(errno) => errno,
                // They have separate tests, in `kill.rs`.
                Verdict::Kill | Verdict::Allow => continue,
            };
            let without = program_without(rule.name, sockets, ipc);
            for (number, args) in probes(&rule) {
                let name = rule.name;
                assert_eq!(ask(&full, number, args), errno, "`{name}` with {args:x?}");
                assert_eq!(
                    ask(&without, number, args),
                    BACKSTOP,
                    "`{name}` dropped, {args:x?}"
                );
            }
            seen.push(rule.name);
        }
    }
    for name in rules() {
        let killing = [rules::FOREIGN_ARCHITECTURE, "x32"].contains(&name);
        assert!(
            killing || seen.contains(&name),
            "the rule `{name}` is in no program"
        );
    }
}

#[test]
fn what_lies_next_to_a_refused_argument_is_allowed() {
    for sample in SAMPLES {
        for (sockets, ipc) in KINDS {
            let Some(rule) = rules::table(sockets, ipc).find(|rule| rule.name == sample.rule)
            else {
                continue;
            };
            let full = program(sockets, ipc);
            for args in sample.allowed {
                assert_eq!(
                    ask(&full, rule.first, *args),
                    BACKSTOP,
                    "`{}` {args:x?}",
                    rule.name
                );
            }
        }
    }
}

#[test]
fn shared_memory_and_queues_are_allowed_in_a_separate_ipc_namespace() {
    for number in [
        libc::SYS_shmget,
        libc::SYS_shmat,
        libc::SYS_semop,
        libc::SYS_msgsnd,
        libc::SYS_mq_open,
    ] {
        let number = number as u32;
        assert_eq!(
            ask(&program(Sockets::None, Ipc::Own), number, [0; 3]),
            BACKSTOP
        );
        assert_eq!(
            ask(&program(Sockets::None, Ipc::Shared), number, [0; 3]),
            libc::EPERM
        );
    }
}

/// Calls that, with no filter at all, answer something else than the filter does: as root and as anyone else.
#[test]
fn harmless_calls_that_work_bare_are_refused() {
    let mut buffer = [0u64; 16];
    let pointer = buffer.as_mut_ptr() as c_long;
    let root = c"/".as_ptr() as c_long;
    let calls: &[(&str, c_long, Args, i32)] = &[
        ("vsock", libc::SYS_socket, [40, 1, 0], libc::EACCES),
        ("unix", libc::SYS_socket, [1, 1, 0], libc::EACCES),
        ("netlink", libc::SYS_socket, [16, 3, 0], libc::EACCES),
        ("tcp", libc::SYS_socket, [2, 1, 0], libc::EACCES),
        ("udp over IPv6", libc::SYS_socket, [10, 2, 0], libc::EACCES),
        (
            "datagram pair",
            libc::SYS_socketpair,
            [1, 2, 0],
            libc::EACCES,
        ),
        ("trace me", libc::SYS_ptrace, [-1, 0, 0], libc::EPERM),
        (
            "bpf with a bad command",
            libc::SYS_bpf,
            [9999, pointer, 128],
            libc::EPERM,
        ),
        (
            "perf with a bad size",
            libc::SYS_perf_event_open,
            [0, 0, -1],
            libc::EPERM,
        ),
        (
            "userfaultfd for user mode, bad flag",
            libc::SYS_userfaultfd,
            [0x10_0001, 0, 0],
            libc::EPERM,
        ),
        (
            "my session keyring",
            libc::SYS_keyctl,
            [0, -3, 0],
            libc::EPERM,
        ),
        (
            "mount at a bad address",
            libc::SYS_mount,
            [0, 1, 0],
            libc::EPERM,
        ),
        (
            "unmount with bad flags",
            libc::SYS_umount2,
            [root, 0x40, 0],
            libc::EPERM,
        ),
        (
            "chroot to a bad address",
            libc::SYS_chroot,
            [1, 0, 0],
            libc::EPERM,
        ),
        (
            "open a tree at a bad address",
            libc::SYS_open_tree,
            [-1, 1, 0],
            libc::EPERM,
        ),
        ("unshare nothing", libc::SYS_unshare, [0, 0, 0], libc::EPERM),
        (
            "join no namespace",
            libc::SYS_setns,
            [-1, 0, 0],
            libc::EPERM,
        ),
        (
            "clone with contradicting flags",
            libc::SYS_clone,
            [0x1002_0200, 0, 0],
            libc::EPERM,
        ),
        (
            "clone3 with no size",
            libc::SYS_clone3,
            [0, 0, 0],
            libc::ENOSYS,
        ),
        (
            "a ring of no size",
            libc::SYS_io_uring_setup,
            [0, pointer, 0],
            libc::ENOSYS,
        ),
        (
            "a file handle at a bad address",
            libc::SYS_name_to_handle_at,
            [-1, 1, 0],
            libc::EPERM,
        ),
        (
            "the size of the kernel log",
            libc::SYS_syslog,
            [9999, 0, 0],
            libc::EPERM,
        ),
        (
            "compare with itself",
            libc::SYS_kcmp,
            [0, 0, 0],
            libc::EPERM,
        ),
        (
            "terminal input",
            libc::SYS_ioctl,
            [-1, 0x5412, pointer],
            libc::EPERM,
        ),
        (
            "a device at a bad address",
            libc::SYS_mknodat,
            [-1, 1, 0o020_666],
            libc::EPERM,
        ),
        (
            "the size PR_SET_MM_MAP takes",
            libc::SYS_prctl,
            [35, 15, pointer],
            libc::EPERM,
        ),
        (
            "a segment of no size",
            libc::SYS_shmget,
            [0, 0, 0o1000],
            libc::EPERM,
        ),
        (
            "a queue at a bad address",
            libc::SYS_mq_open,
            [1, 0, 0],
            libc::EPERM,
        ),
    ];
    let filter = program(Sockets::None, Ipc::Shared);
    for (what, number, args, refusal) in calls {
        let bare =
            std::thread::scope(|scope| scope.spawn(|| errno_of(*number, *args)).join().unwrap());
        let filtered = behind(&filter, || errno_of(*number, *args));
        assert_eq!(filtered, *refusal, "{what}");
        // A kernel, or a container around this test, may lack the call or forbid it by itself: nothing to compare.
        if bare == *refusal {
            eprintln!("NOT SHOWN: {what}: this kernel answers errno {bare} without our filter too");
        }
    }
}
