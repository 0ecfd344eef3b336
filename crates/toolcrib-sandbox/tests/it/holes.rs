//! The holes found in other sandboxes (SANDBOX.md), those that no other file here is about.

use crate::stage::{Stage, WALLS, as_root_and_nobody, bash};
use std::{fs, process};
use toolcrib_sandbox::{Level, Status};

#[test]
fn the_kernels_settings_can_be_read_and_not_written() {
    as_root_and_nobody(|| {
        const CORE: &str = "/proc/sys/kernel/core_pattern";
        let before = fs::read(CORE).unwrap();
        let script = r#"
            try() { eval "$1" 2>/dev/null && echo "$1"; }
            core=/proc/sys/kernel/core_pattern
            try 'echo evil > $core'; try 'echo evil >> $core'; try 'echo evil 1<> $core'
            try 'chmod 777 $core'
            for file in /proc/sysrq-trigger /proc/sys/kernel/modprobe /proc/sys/kernel/hotplug /proc/sys/vm/drop_caches \
                /proc/sys/kernel/hostname /proc/sys/net/ipv4/ip_forward /proc/sys/fs/binfmt_misc/register /proc/irq/default_smp_affinity \
                /sys/kernel/uevent_helper /sys/kernel/mm/transparent_hugepage/enabled /proc/self/oom_score_adj /proc/self/uid_map \
                /proc/self/attr/current /proc/1/oom_score_adj; do
                try "exec 3<> $file"; try "exec 3>> $file"
            done
            echo done"#;
        for level in WALLS {
            let stage = Stage::new();
            let ran = stage.bash(&stage.policy(level), script);
            assert_eq!(ran.stdout, "done\n", "{level}: {}", ran.stderr);
            assert_eq!(fs::read(CORE).unwrap(), before, "{level}");
        }
    });
}

#[test]
fn secrets_of_the_host_cannot_be_read() {
    as_root_and_nobody(|| {
        let script = r#"
            for file in /etc/shadow /etc/gshadow /etc/ssh/ssh_host_ed25519_key /etc/sudoers /root/.bashrc /root/.ssh /root /proc/kcore /proc/kallsyms \
                /dev/mem /dev/kmsg /dev/sda /dev/vda /var/log /run /boot /home /srv /mnt; do
                if test -d $file; then ls $file/ 2>/dev/null | grep -q . && echo listed $file; else head -c 1 $file 2>/dev/null | grep -qa . && test $file != /proc/kallsyms && echo read $file; fi
            done
            head -n 1 /etc/passwd | grep -q root && echo fine"#;
        for level in WALLS {
            let stage = Stage::new();
            let ran = stage.bash(&stage.policy(level), script);
            assert_eq!(ran.stdout, "fine\n", "{level}: {ran:?}");
        }
    });
}

#[test]
fn other_processes_are_neither_seen_nor_signalled() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            let mut victim = process::Command::new("sleep")
                .arg("60")
                .env("WALL_TEST_SECRET", "TOPSECRET")
                .spawn()
                .unwrap();
            let script = format!(
                r#"
                for p in /proc/[0-9]*; do tr '\0' '\n' < $p/environ 2>/dev/null | grep -a TOPSECRET; cat $p/root/etc/shadow 2>/dev/null; ls $p/fd 2>/dev/null >&2; done
                tr '\0' '\n' < /proc/1/environ 2>/dev/null
                kill -9 {victim} 2>/dev/null && echo killed; kill -9 {us} 2>/dev/null && echo killed us
                kill -9 1 2>/dev/null; kill -STOP 1 2>/dev/null; ls /proc | grep -c '^[0-9]'
                /usr/bin/python3 -c 'import os; os.pidfd_open({victim}); print("pidfd")' 2>/dev/null
                echo done"#,
                victim = victim.id(),
                us = process::id()
            );
            let ran = stage.bash(&stage.policy(level), &script);
            let lines: Vec<&str> = ran.stdout.lines().collect();
            assert_eq!(lines.len(), 2, "{level}: {ran:?}");
            assert!(lines[0].parse::<u32>().unwrap() <= 8, "{level}: {ran:?}");
            assert_eq!(lines[1], "done", "{level}: {ran:?}");
            assert_eq!(
                victim.try_wait().unwrap(),
                None,
                "{level}: the victim is dead"
            );
            victim.kill().unwrap();
            victim.wait().unwrap();
        }
    });
}

#[test]
fn open_files_of_the_caller_do_not_reach_the_command() {
    as_root_and_nobody(|| {
        let file = fs::File::open("/").unwrap();
        // SAFETY: numbers only. Without FD_CLOEXEC, as a careless caller has it.
        let numbers = [9, 10, 77, 500].map(|number| {
            // SAFETY: as above.
            unsafe { libc::dup2(std::os::fd::AsRawFd::as_raw_fd(&file), number) }
        });
        assert_eq!(numbers, [9, 10, 77, 500]);
        for level in [Level::None, Level::Process, Level::Container] {
            let stage = Stage::new();
            let ran = stage.bash(
                &stage.policy(level),
                "exec ls -l /proc/self/fd | grep -c -- '->'; for n in 9 10 77 500; do test -e /dev/fd/$n && echo open $n; done; echo done",
            );
            // ls has the directory itself open, besides the three.
            assert_eq!(ran.stdout, "4\ndone\n", "{level}: {ran:?}");
        }
        for number in numbers {
            // SAFETY: ours, made above.
            unsafe { libc::close(number) };
        }
    });
}

#[test]
fn the_callers_environment_does_not_reach_the_command() {
    as_root_and_nobody(|| {
        const SECRET: &str = "AWS_SECRET_ACCESS_KEY";
        if std::env::var_os(SECRET).is_none() {
            // Again, with a secret to keep: setting it here would race with other threads.
            let status = process::Command::new(std::env::current_exe().unwrap())
                .args([
                    "--exact",
                    "holes::the_callers_environment_does_not_reach_the_command",
                    "--nocapture",
                ])
                .env(SECRET, "TOPSECRET")
                .env("LD_PRELOAD_HINT", "TOPSECRET")
                .status()
                .unwrap();
            return assert!(status.success());
        }
        for level in [Level::None, Level::Process, Level::Container] {
            let stage = Stage::new();
            let command = bash("env; cat /proc/self/environ | tr '\\0' '\\n'").env("WANTED", "yes");
            let ran = stage.run(&stage.policy(level), &command).unwrap();
            assert!(!ran.stdout.contains("TOPSECRET"), "{level}: {ran:?}");
            assert!(ran.stdout.contains("WANTED=yes\n"), "{level}");
        }
    });
}

#[test]
fn devices_and_redirections_work() {
    as_root_and_nobody(|| {
        let script = "set -e; echo x > /dev/null; echo x >> /dev/null; : < /dev/null; head -c 8 /dev/zero | wc -c; head -c 8 /dev/urandom | wc -c; \
            echo to-stdout > /dev/stdout; echo to-stderr > /dev/stderr; cat < <(echo substituted); echo here | cat /dev/stdin; \
            echo x 2>&1 > file; cat <<< string; t=$(mktemp); echo temporary > $t; cat $t; ! echo x > /dev/full; ls /dev/fd/ > /dev/null";
        for level in WALLS {
            let stage = Stage::new();
            let ran = stage.bash(&stage.policy(level), script);
            assert_eq!(
                ran.stdout, "8\n8\nto-stdout\nsubstituted\nhere\nstring\ntemporary\n",
                "{level}: {ran:?}"
            );
            assert!(ran.stderr.starts_with("to-stderr\n"), "{level}: {ran:?}");
            assert_eq!(ran.report.status, Status::Exited(0), "{level}: {ran:?}");
        }
    });
}

#[test]
fn calls_that_break_sandboxes_are_refused() {
    as_root_and_nobody(|| {
        let script = r#"
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def attempt(name, number, *arguments):
    if libc.syscall(number, *arguments) >= 0: print(name)
if os.fork() == 0:  # as others: a call that works may change who we are
    attempt("unshare user", 272, 0x10000000); os._exit(0)
os.wait()
attempt("mount", 165, b"none", b"/tmp", b"tmpfs", 0, None)
attempt("umount", 166, b"/proc", 2)
attempt("fsopen", 430, b"tmpfs", 0)
attempt("open_tree", 428, -100, b"/", 1)
attempt("pivot_root", 155, b".", b".")
attempt("chroot", 161, b"/")
attempt("setns", 308, 0, 0)
attempt("ptrace traceme", 101, 0, 0, 0, 0)
attempt("process_vm_readv", 310, 1, None, 0, None, 0, 0)
attempt("bpf", 321, 0, ctypes.create_string_buffer(128), 128)
attempt("perf_event_open", 298, ctypes.create_string_buffer(b"\0\0\0\0\x78", 128), 0, -1, -1, 0)
attempt("userfaultfd", 323, 1)
attempt("keyctl", 250, 0, -3, 0)
attempt("add_key", 248, b"user", b"x", b"y", 1, -3)
attempt("io_uring_setup", 425, 4, ctypes.create_string_buffer(120))
attempt("kexec_load", 246, 0, 0, None, 0)
attempt("init_module", 175, None, 0, b"")
attempt("syslog", 103, 3, ctypes.create_string_buffer(64), 64)
attempt("swapon", 167, b"/x", 0)
attempt("reboot", 169, 0xfee1dead, 672274793, 0x89abcdef, None)
attempt("settimeofday", 164, ctypes.create_string_buffer(16), None)
attempt("sethostname", 170, b"evil", 4)
attempt("open_by_handle_at", 304, -100, ctypes.create_string_buffer(64), 0)
attempt("name_to_handle_at", 303, -100, b"/", ctypes.create_string_buffer(b"\x80", 256), ctypes.create_string_buffer(8), 0)
attempt("personality", 135, 0x0400000)
attempt("mknod device", 133, b"dev", 0o060666, os.makedev(254, 0))
import fcntl, errno
for request in (0x5412, 0x541C):
    try: fcntl.ioctl(0, request, b"x")
    except OSError as e:
        if e.errno == errno.ENOTTY: print("ioctl", hex(request), "reached the file")
print("done")
"#;
        for level in WALLS {
            let stage = Stage::new();
            let ran = stage.python(&stage.policy(level), script);
            assert_eq!(ran.stdout, "done\n", "{level}: {ran:?}");
        }
    });
}

#[test]
fn the_wall_surrounds_programs_that_the_command_starts() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            fs::write(stage.outside.join("secret"), "TOPSECRET").unwrap();
            let outside = stage.outside.display();
            let script = format!(
                "setsid bash -c 'cat {outside}/secret; echo x > {outside}/made' & wait; ln -s {outside}/secret link; cat link; ln {outside}/secret hard; cat ../outside/secret; \
                 cd ..; echo x > made; ls; mkdir sibling; rmdir workspace; mv workspace moved; true"
            );
            let ran = stage.bash(&stage.policy(level), &script);
            // A file made above the workspace may land in the run's own /tmp, never on the host.
            assert!(!ran.stdout.contains("TOPSECRET"), "{level}: {ran:?}");
            assert_eq!(crate::stage::names(&stage.outside), ["secret"], "{level}");
            assert_eq!(
                crate::stage::names(stage.workspace.parent().unwrap()),
                ["outside", "workspace"],
                "{level}"
            );
        }
    });
}
