//! The options of programs that run the rest of their words.

use super::options::Spec;

/// A wrapper whose options are known.
pub(super) struct Wrapper {
    pub(super) name: &'static str,
    pub(super) spec: Spec,
    /// How many operands stand before the command.
    pub(super) operands: usize,
    /// Whether `NAME=value` may stand before the command.
    pub(super) sets_variables: bool,
}

const NONE: Spec = Spec {
    flags: "",
    valued: "",
    optional: "",
    long_flags: "help version",
    long_valued: "",
};

const fn wrapper(name: &'static str, spec: Spec, operands: usize) -> Wrapper {
    Wrapper {
        name,
        spec,
        operands,
        sets_variables: false,
    }
}

pub(super) const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        name: "env",
        spec: Spec {
            flags: "i0v",
            valued: "uCS",
            optional: "",
            long_flags: "ignore-environment null debug list-signal-handling block-signal default-signal ignore-signal help \
            version",
            long_valued: "unset chdir split-string argv0",
        },
        operands: 0,
        sets_variables: true,
    },
    Wrapper {
        name: "sudo",
        spec: Spec {
            flags: "AbBEHiKklNnPSsVv",
            valued: "aCcDghpRrTtuU",
            optional: "",
            long_flags: "askpass background bell preserve-env set-home help login remove-timestamp reset-timestamp list \
            non-interactive preserve-groups stdin shell version validate no-update",
            long_valued: "auth-type close-from login-class chdir group host prompt chroot role type command-timeout user \
            other-user",
        },
        operands: 0,
        sets_variables: true,
    },
    wrapper(
        "doas",
        Spec {
            flags: "Lns",
            valued: "uCa",
            ..NONE
        },
        0,
    ),
    wrapper(
        "timeout",
        Spec {
            flags: "vfp",
            valued: "ks",
            long_flags: "foreground preserve-status verbose help version",
            long_valued: "kill-after signal",
            ..NONE
        },
        1,
    ),
    wrapper(
        "gtimeout",
        Spec {
            flags: "v",
            valued: "ks",
            long_flags: "foreground preserve-status verbose help version",
            long_valued: "kill-after signal",
            ..NONE
        },
        1,
    ),
    wrapper(
        "nice",
        Spec {
            flags: "0123456789",
            valued: "n",
            long_valued: "adjustment",
            ..NONE
        },
        0,
    ),
    wrapper(
        "ionice",
        Spec {
            flags: "t",
            valued: "cnpPu",
            long_flags: "ignore help version",
            long_valued: "class classdata pid pgid uid",
            ..NONE
        },
        0,
    ),
    wrapper("nohup", NONE, 0),
    wrapper(
        "setsid",
        Spec {
            flags: "cfwVh",
            long_flags: "ctty fork wait help version",
            ..NONE
        },
        0,
    ),
    wrapper(
        "stdbuf",
        Spec {
            valued: "ioe",
            long_valued: "input output error",
            ..NONE
        },
        0,
    ),
    wrapper(
        "time",
        Spec {
            flags: "apqvV",
            valued: "fo",
            long_flags: "append portability quiet verbose help version",
            long_valued: "format output",
            ..NONE
        },
        0,
    ),
    wrapper(
        "chroot",
        Spec {
            long_flags: "skip-chdir help version",
            long_valued: "groups userspec",
            ..NONE
        },
        1,
    ),
    wrapper(
        "unshare",
        Spec {
            flags: "muinpUCTfrcVh",
            valued: "SGRwl",
            optional: "",
            long_flags: "mount uts ipc net pid user cgroup time fork map-root-user map-current-user map-auto keep-caps \
            kill-child mount-proc mount-binfmt help version",
            long_valued: "propagation setgroups map-user map-group map-users map-groups setuid setgid root wd monotonic \
            boottime load-interp",
        },
        0,
    ),
    wrapper(
        "nsenter",
        Spec {
            flags: "aFZceVh",
            valued: "tSG",
            optional: "muinpUCTrwW",
            long_flags: "all mount uts ipc net pid user cgroup time root wd no-fork preserve-credentials keep-caps \
            follow-context env join-cgroup help version",
            long_valued: "target setuid setgid wdns user-parent net-socket",
        },
        0,
    ),
    wrapper(
        "taskset",
        Spec {
            flags: "apcVh",
            long_flags: "all-tasks pid cpu-list help version",
            ..NONE
        },
        1,
    ),
    wrapper(
        "chrt",
        Spec {
            flags: "abdfiomprRveVh",
            valued: "TPD",
            long_flags: "all-tasks batch deadline fifo idle other max pid rr reset-on-fork verbose ext help version",
            long_valued: "sched-runtime sched-period sched-deadline",
            ..NONE
        },
        1,
    ),
    wrapper(
        "setpriv",
        Spec {
            flags: "dhV",
            long_flags: "dump nnp no-new-privs clear-groups keep-groups init-groups reset-env help version",
            long_valued: "ambient-caps inh-caps bounding-set ruid euid rgid egid reuid regid groups list-caps securebits \
            pdeathsig selinux-label apparmor-profile",
            ..NONE
        },
        0,
    ),
    wrapper(
        "prlimit",
        Spec {
            flags: "hV",
            valued: "po",
            optional: "cdefilmnqrstuvxy",
            long_flags: "help version noheadings raw verbose core data nice fsize sigpending memlock rss nofile msgqueue \
            rtprio stack cpu nproc as locks rttime",
            long_valued: "pid output",
        },
        0,
    ),
    wrapper(
        "fakeroot",
        Spec {
            flags: "uhv",
            valued: "lsib",
            long_flags: "help version unknown-is-real",
            long_valued: "lib faked",
            ..NONE
        },
        0,
    ),
    wrapper(
        "chronic",
        Spec {
            flags: "ve",
            ..NONE
        },
        0,
    ),
    Wrapper {
        name: "cross-env",
        spec: NONE,
        operands: 0,
        sets_variables: true,
    },
    wrapper(
        "tini",
        Spec {
            flags: "sgvw",
            valued: "pe",
            ..NONE
        },
        0,
    ),
    wrapper(
        "dumb-init",
        Spec {
            flags: "cv",
            valued: "r",
            long_flags: "single-child verbose help version",
            long_valued: "rewrite",
            ..NONE
        },
        0,
    ),
    wrapper("ifne", Spec { flags: "n", ..NONE }, 0),
    wrapper("gosu", NONE, 1),
    wrapper("su-exec", NONE, 1),
    wrapper("envdir", NONE, 1),
    wrapper("catchsegv", NONE, 0),
    wrapper("eatmydata", NONE, 0),
    wrapper("unbuffer", Spec { flags: "p", ..NONE }, 0),
    wrapper(
        "caffeinate",
        Spec {
            flags: "dimsu",
            valued: "tw",
            ..NONE
        },
        0,
    ),
    wrapper(
        "linux32",
        Spec {
            flags: "BFILRSTXZv3",
            ..NONE
        },
        0,
    ),
    wrapper(
        "linux64",
        Spec {
            flags: "BFILRSTXZv3",
            ..NONE
        },
        0,
    ),
    wrapper(
        "runcon",
        Spec {
            flags: "c",
            valued: "turl",
            long_flags: "compute help version",
            long_valued: "type user role range",
            ..NONE
        },
        1,
    ),
    wrapper(
        "pkexec",
        Spec {
            long_flags: "disable-internal-agent keep-cwd help version",
            long_valued: "user",
            ..NONE
        },
        0,
    ),
    wrapper(
        "strace",
        Spec {
            flags: "cCdfDFhiknqrtTvVwxyYzZ",
            valued: "aAbeEIoOpPsSuUX",
            ..NONE
        },
        0,
    ),
    wrapper(
        "ltrace",
        Spec {
            flags: "cCfhiLnrStTV",
            valued: "aAeDFlnopsuwx",
            ..NONE
        },
        0,
    ),
];
