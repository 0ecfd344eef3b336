//! Limits hold for the run as a whole, and the caller stays healthy while a run misbehaves.

use crate::stage::{Stage, WALLS, as_nobody, as_root, as_root_and_nobody, bash, is_root};
use std::{fs, time::Duration};
use toolcrib_sandbox::{EndedBy, Layer, Report, Status};

const MIB: u64 = 1 << 20;

fn names(report: &Report) -> Vec<&'static str> {
    report.layers.iter().map(|layer| layer.name()).collect()
}

/// Two processes that each take so much, and hold it until both have it.
fn two_processes_of(mib: u64) -> String {
    format!(
        r#"
import os, sys, time
r, w = os.pipe()
pid = os.fork()
held = bytearray({mib} << 20)
for at in range(0, len(held), 4096): held[at] = 1
if pid == 0:
    os.write(w, b"x"); time.sleep(5); os._exit(0)
os.close(w)
if os.read(r, 1): print("both have it", flush=True)
os.kill(pid, 9); os.wait()
"#
    )
}

#[test]
fn memory_of_two_processes_adds_up() {
    as_root(|| {
        let stage = Stage::new();
        for level in WALLS {
            let mut policy = stage.policy(level);
            policy.limits.memory = Some(128 * MIB);
            let ran = stage.python(&policy, &two_processes_of(40));
            assert_eq!(ran.stdout, "both have it\n", "{level}: {ran:?}");
            assert!(ran.report.layers.contains(&Layer::MemoryLimit), "{level}");
            assert!(
                ran.report.peak_memory.unwrap() > 80 * MIB,
                "{level}: {ran:?}"
            );
            let ran = stage.python(&policy, &two_processes_of(100));
            assert_eq!(
                ran.report.ended_by,
                Some(EndedBy::Memory),
                "{level}: {ran:?}"
            );
            assert_eq!(ran.stdout, "", "{level}");
            assert!(ran.took < Duration::from_secs(5), "{level}: {:?}", ran.took);
        }
    });
}

#[test]
fn without_cgroups_memory_is_bounded_per_process_and_reported_as_weak() {
    as_nobody(|| {
        let stage = Stage::new();
        for level in WALLS {
            let mut policy = stage.policy(level);
            policy.limits.memory = Some(256 * MIB);
            let ran = stage.python(&policy, "x = bytearray(400 << 20)");
            assert!(ran.stderr.contains("MemoryError"), "{level}: {ran:?}");
            assert!(
                names(&ran.report).contains(&"memory-limit-per-process"),
                "{level}"
            );
            assert!(!names(&ran.report).contains(&"memory-limit"), "{level}");
            let missing = ran.report.not_enforced.iter();
            let missing: Vec<&str> = missing.map(|missing| missing.layer.name()).collect();
            assert!(missing.contains(&"memory-limit"), "{level}: {missing:?}");
            let ran = stage.python(&policy, "x = bytearray(64 << 20); print(len(x))");
            assert_eq!(ran.report.status, Status::Exited(0), "{level}: {ran:?}");
        }
    });
}

#[test]
fn shared_memory_counts_as_memory() {
    as_root(|| {
        let stage = Stage::new();
        for level in WALLS {
            let mut policy = stage.policy(level);
            policy.limits.memory = Some(64 * MIB);
            policy.limits.temporary = 512 * MIB;
            let ran = stage.bash(&policy, "head -c 200M /dev/zero > /dev/shm/big; echo over");
            assert!(
                ran.report.ended_by == Some(EndedBy::Memory)
                    || ran.report.status != Status::Exited(0),
                "{level}: {ran:?}"
            );
        }
    });
}

#[test]
fn forks_over_the_limit_are_refused_while_other_runs_fork_freely() {
    as_root_and_nobody(|| {
        let stage = Stage::new();
        for level in WALLS {
            let mut policy = stage.policy(level);
            policy.limits.pids = Some(20);
            let many = r#"
import os, time
made = 0
try:
    while made < 100:
        if os.fork() == 0:
            time.sleep(30); os._exit(0)
        made += 1
except BlockingIOError:
    print("refused after", made, flush=True)
time.sleep(0.3)
"#;
            let healthy = std::thread::scope(|scope| {
                let crowded = scope.spawn(|| stage.python(&policy, many));
                let other = stage.policy(level);
                let healthy = stage.bash(
                    &other,
                    "for i in {1..30}; do sleep 0.2 & done; wait; echo fine",
                );
                let crowded = crowded.join().unwrap();
                assert!(
                    crowded.stdout.starts_with("refused after "),
                    "{level}: {crowded:?}"
                );
                let made: u32 = crowded
                    .stdout
                    .trim()
                    .rsplit(' ')
                    .next()
                    .unwrap()
                    .parse()
                    .unwrap();
                assert!((15..=20).contains(&made), "{level}: {made}");
                assert!(crowded.report.layers.contains(&Layer::PidsLimit), "{level}");
                if is_root() {
                    assert!(crowded.report.pids_refused > 0, "{level}: {crowded:?}");
                }
                healthy
            });
            assert_eq!(healthy.stdout, "fine\n", "{level}: {healthy:?}");
            // And the caller itself can still start threads and processes.
            assert!(
                std::process::Command::new("true")
                    .status()
                    .unwrap()
                    .success()
            );
        }
    });
}

#[test]
fn cpu_time_of_several_processes_adds_up() {
    as_root(|| {
        let stage = Stage::new();
        for level in WALLS {
            let mut policy = stage.policy(level);
            policy.limits.cpu = Some(Duration::from_millis(800));
            let spin = "for i in 1 2 3 4; do (while :; do :; done) & done; wait";
            let ran = stage.bash(&policy, spin);
            assert_eq!(ran.report.ended_by, Some(EndedBy::Cpu), "{level}: {ran:?}");
            assert!(ran.took < Duration::from_secs(6), "{level}: {:?}", ran.took);
            assert!(names(&ran.report).contains(&"cpu-limit"), "{level}");
        }
    });
}

/// Without cgroups no one counts processes together; the report says which limit there is.
#[test]
fn without_a_cgroup_the_cpu_limit_of_each_process_is_reported_as_such() {
    let stage = Stage::without(&[Layer::CpuLimit]);
    for level in WALLS {
        let mut policy = stage.policy(level);
        policy.limits.cpu = Some(Duration::from_secs(1));
        let ran = stage.bash(&policy, "trap '' XCPU; while :; do :; done");
        assert!(
            !matches!(ran.report.status, Status::Exited(_)),
            "{level}: {ran:?}"
        );
        let names = names(&ran.report);
        assert!(
            names.contains(&"cpu-limit-per-process"),
            "{level}: {names:?}"
        );
        assert!(!names.contains(&"cpu-limit"), "{level}: {names:?}");
    }
}

#[test]
fn cpu_time_of_one_process_is_bounded() {
    as_root_and_nobody(|| {
        let stage = Stage::new();
        for level in WALLS {
            let mut policy = stage.policy(level);
            policy.limits.cpu = Some(Duration::from_secs(1));
            let ran = stage.bash(&policy, "trap '' XCPU; while :; do :; done");
            assert_eq!(ran.report.ended_by, Some(EndedBy::Cpu), "{level}: {ran:?}");
            assert_eq!(ran.report.status, Status::Signalled(9), "{level}");
            let used = ran.report.user_time + ran.report.system_time;
            assert!(used < Duration::from_secs(3), "{level}: {used:?}");
            let idle = stage.bash(&policy, "sleep 1.2");
            assert_eq!(idle.report.status, Status::Exited(0), "{level}: {idle:?}");
        }
    });
}

#[test]
fn a_file_grows_to_its_limit_and_no_further() {
    as_root_and_nobody(|| {
        let stage = Stage::new();
        for level in WALLS {
            let mut policy = stage.policy(level);
            policy.limits.file_size = Some(MIB);
            let ran = stage.bash(
                &policy,
                "trap '' XFSZ; head -c 3M /dev/zero > big; stat -c %s big; fallocate -l 3M other; stat -c %s other; ulimit -f unlimited; truncate -s 2M third || echo refused; rm -f big other third",
            );
            let said: Vec<&str> = ran.stdout.lines().collect();
            assert_eq!(said.first(), Some(&"1048576"), "{level}: {ran:?}");
            assert_eq!(said.last(), Some(&"refused"), "{level}: {ran:?}");
            assert_ne!(said.get(1), Some(&"3145728"), "{level}: {ran:?}");
        }
    });
}

#[test]
fn the_workspace_grows_to_its_limit_and_no_further() {
    as_root_and_nobody(|| {
        let stage = Stage::new();
        let many = "for i in {1..400}; do head -c 500K /dev/zero > f$i; done; echo over; sleep 10";
        let deleted =
            "exec 5>gone; rm gone; head -c 200M /dev/zero >&5; sync -f .; echo over; sleep 10";
        let allocated = "fallocate -l 200M big; echo over; sleep 10";
        let nested =
            "mkdir -p a/b/c; head -c 100M /dev/zero > a/b/c/x; cp a/b/c/x a/y; echo over; sleep 10";
        for level in WALLS {
            for script in [many, deleted, allocated, nested] {
                let mut policy = stage.policy(level);
                policy.limits.growth = Some(32 * MIB);
                let ran = stage.bash(&policy, script);
                assert_eq!(
                    ran.report.ended_by,
                    Some(EndedBy::Growth),
                    "{level}: {script}: {ran:?}"
                );
                assert!(
                    ran.took < Duration::from_secs(8),
                    "{level}: {script}: {:?}",
                    ran.took
                );
                stage.bash(&stage.policy(level), "rm -rf -- *");
            }
            let mut policy = stage.policy(level);
            policy.limits.growth = Some(32 * MIB);
            let ran = stage.bash(
                &policy,
                "head -c 10M /dev/zero > small; for i in 1 2 3; do sleep 0.1; done; rm small",
            );
            assert_eq!(ran.report.ended_by, None, "{level}: {ran:?}");
        }
    });
}

#[test]
fn a_deleted_file_that_is_only_mapped_counts_as_growth() {
    as_root_and_nobody(|| {
        let stage = Stage::new();
        for level in WALLS {
            let mut policy = stage.policy(level);
            policy.limits.growth = Some(32 * MIB);
            let script = r#"
import mmap, os, time
fd = os.open("gone", os.O_RDWR | os.O_CREAT)
os.posix_fallocate(fd, 0, 200 << 20)
held = mmap.mmap(fd, 4096)
os.unlink("gone"); os.close(fd)
# mmap keeps its own descriptor: close every one there is.
os.closerange(3, 100)
time.sleep(3)
print("over")
"#;
            let ran = stage.python(&policy, script);
            assert_eq!(
                ran.report.ended_by,
                Some(EndedBy::Growth),
                "{level}: {ran:?}"
            );
        }
    });
}

#[test]
fn temporary_places_are_bounded_and_private() {
    as_root_and_nobody(|| {
        let stage = Stage::new();
        for level in WALLS {
            let mut policy = stage.policy(level);
            policy.limits.temporary = 4 * MIB;
            for place in ["/tmp", "/dev/shm"] {
                let script = format!(
                    "head -c 16M /dev/zero > {place}/wall-test-big; stat -c %s {place}/wall-test-big"
                );
                let ran = stage.bash(&policy, &script);
                let size: u64 = ran.stdout.trim().parse().unwrap();
                assert!(
                    (3 * MIB..=4 * MIB).contains(&size),
                    "{level} {place}: {ran:?}"
                );
                assert!(
                    ran.stderr.contains("No space left"),
                    "{level} {place}: {ran:?}"
                );
                assert!(!fs::exists(format!("{place}/wall-test-big")).unwrap());
                let next = stage.bash(&policy, &format!("ls -A {place} | grep wall-test-big"));
                assert_eq!(next.stdout, "", "{level} {place}");
            }
            assert!(names(&stage.bash(&policy, "true").report).contains(&"private-tmp"));
        }
    });
}

#[test]
fn open_files_and_core_dumps_are_bounded_for_good() {
    as_root_and_nobody(|| {
        let stage = Stage::new();
        for level in WALLS {
            let mut policy = stage.policy(level);
            policy.limits.open_files = 32;
            let ran = stage.bash(
                &policy,
                "ulimit -Sn; ulimit -Hn; ulimit -Sc; ulimit -Hc; ulimit -c unlimited 2>/dev/null || echo refused; \
                 bash -c 'kill -SEGV $$'; ls -A | grep -i core",
            );
            assert_eq!(ran.stdout, "32\n32\n0\n0\nrefused\n", "{level}: {ran:?}");
            let open = "fds = []\ntry:\n  while True: fds.append(open('/dev/null'))\nexcept OSError as e: print(len(fds) <= 32, e.errno)";
            let ran = stage.python(&policy, open);
            assert_eq!(ran.stdout, "True 24\n", "{level}: {ran:?}");
        }
    });
}

#[test]
fn a_caller_with_many_open_files_can_run_commands() {
    as_root_and_nobody(|| {
        let mut limit = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        // SAFETY: a structure of ours.
        unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
        if limit.rlim_max < 6000 {
            return crate::stage::skipped(
                "a_caller_with_many_open_files_can_run_commands",
                "too few files may be open",
            );
        }
        limit.rlim_cur = limit.rlim_max;
        // SAFETY: a structure of ours.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
        let _open: Vec<fs::File> = (0..5000)
            .map(|_| fs::File::open("/dev/null").unwrap())
            .collect();
        let stage = Stage::new();
        for level in WALLS {
            let ran = stage.run(&stage.policy(level), &bash("echo fine; ulimit -Hn"));
            assert_eq!(ran.unwrap().stdout, "fine\n4096\n", "{level}");
        }
    });
}
