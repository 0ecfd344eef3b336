//! Fixes that no other test would miss: each test here goes red when its one fix is taken out.

use crate::stage::{Stage, WALLS, as_root_and_nobody, bash, eventually, marked, token};
use std::time::{Duration, Instant};
use toolcrib_sandbox::{Cancel, EndedBy, Level};

/// How long the end of a run may take.
const SOON: Duration = Duration::from_secs(2);

/// Every place where a run can be, and where init has to do the killing itself.
fn everywhere() -> [(Stage, Level); 4] {
    [
        (Stage::new(), Level::None),
        (Stage::new(), Level::Process),
        (Stage::new(), Level::Container),
        (Stage::without_namespaces(), Level::Process),
    ]
}

/// Runs a command whose output no one takes until it is gone. Says whether it went in time, and why.
fn while_nobody_reads(stage: &Stage, level: Level, cancels: bool) -> (bool, Option<EndedBy>) {
    let (token, cancel) = (token(), Cancel::new().unwrap());
    let mut policy = stage.policy(level);
    if !cancels {
        policy.limits.time = Some(Duration::from_millis(500));
    }
    let prepared = stage.sandbox.prepare(&policy).unwrap();
    let mut gone = false;
    // Blocks as a stopped terminal does.
    let mut still = |_, _: &[u8]| {
        if cancels {
            cancel.cancel();
        }
        gone = eventually(SOON, || marked(&token).is_empty());
    };
    let script = format!("echo ready; exec -a {token} sleep 100");
    let report = prepared.run(&bash(&script), &mut still, &cancel).unwrap();
    (gone, report.ended_by)
}

#[test]
fn a_caller_that_takes_no_output_does_not_hold_off_the_time_limit() {
    as_root_and_nobody(|| {
        for (stage, level) in everywhere() {
            let ended = while_nobody_reads(&stage, level, false);
            assert_eq!(ended, (true, Some(EndedBy::Time)), "{level}");
        }
    });
}

#[test]
fn a_caller_that_takes_no_output_can_cancel() {
    as_root_and_nobody(|| {
        for (stage, level) in everywhere() {
            let ended = while_nobody_reads(&stage, level, true);
            assert_eq!(ended, (true, Some(EndedBy::Cancelled)), "{level}");
        }
    });
}

#[test]
fn what_outlives_init_and_holds_the_output_does_not_delay_the_end() {
    as_root_and_nobody(|| {
        let places = [
            (Stage::new(), Level::None),
            (Stage::without_namespaces(), Level::Process),
        ];
        for (stage, level) in places {
            let token = token();
            // Without cgroups no one finds this process any more; it ends by itself.
            let script = format!("echo ready; kill -9 $PPID; exec -a {token} sleep 5");
            let began = Instant::now();
            let ran = stage.bash(&stage.policy(level), &script);
            let took = began.elapsed();
            assert!(eventually(Duration::from_secs(8), || marked(&token).is_empty()));
            assert_eq!(ran.stdout, "ready\n", "{level}");
            assert!(took < SOON, "{level}: {took:?}");
        }
    });
}

#[test]
fn nothing_of_proc_can_be_opened_for_writing() {
    as_root_and_nobody(|| {
        // Opens and writes nothing: harmless also where it works.
        let script = r#"
import os
for path in ("self/oom_score_adj", "self/comm", "self/coredump_filter", "self/clear_refs", "sys/kernel/core_pattern", "sysrq-trigger", "irq/default_smp_affinity"):
    try:
        os.close(os.open("/proc/" + path, os.O_WRONLY)); print("opened", path)
    except OSError: pass
for line in open("/proc/self/mountinfo"):
    fields = line.split()
    if fields[4] == "/proc": mounted = fields[5].split(",")[0]
print(mounted)
"#;
        for level in WALLS {
            let stage = Stage::new();
            let ran = stage.python(&stage.policy(level), script);
            assert_eq!(ran.stdout, "ro\n", "{level}: {}", ran.stderr);
        }
    });
}

#[test]
fn temporary_places_hold_a_bounded_number_of_files() {
    as_root_and_nobody(|| {
        let script = r#"
import errno
for place in ("/tmp", "/dev/shm"):
    try:
        for number in range(2000): open(f"{place}/{number}", "w").close()
        print(place, "takes any number")
    except OSError as error: print(errno.errorcode[error.errno])
"#;
        for level in WALLS {
            let stage = Stage::new();
            let mut policy = stage.policy(level);
            policy.limits.temporary = 1 << 20;
            let ran = stage.python(&policy, script);
            assert_eq!(ran.stdout, "ENOSPC\nENOSPC\n", "{level}: {}", ran.stderr);
        }
    });
}

#[test]
fn without_namespaces_processes_outside_cannot_be_signalled() {
    as_root_and_nobody(|| {
        let stage = Stage::without_namespaces();
        // Signal 0 asks whether another could be sent: harmless also where it could.
        let us = std::process::id();
        let script =
            format!("kill -0 {us} && echo reached; sleep 9 & kill -0 $! && echo its own; kill $!");
        let ran = stage.bash(&stage.policy(Level::Process), &script);
        assert_eq!(ran.stdout, "its own\n", "{}", ran.stderr);
    });
}

#[test]
fn without_namespaces_an_init_that_was_stopped_does_not_hold_off_the_end() {
    as_root_and_nobody(|| {
        let places = [
            (Stage::new(), Level::None),
            (Stage::without_namespaces(), Level::Process),
        ];
        for (stage, level) in places {
            let token = token();
            let mut policy = stage.policy(level);
            policy.limits.time = Some(Duration::from_millis(500));
            let script = format!("kill -STOP $PPID; exec -a {token} sleep 100");
            let ran = stage.bash(&policy, &script);
            assert_eq!(ran.report.ended_by, Some(EndedBy::Time), "{level}");
            assert!(ran.took < SOON, "{level}: {:?}", ran.took);
            assert!(eventually(SOON, || marked(&token).is_empty()), "{level}");
        }
    });
}
