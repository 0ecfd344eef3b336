//! Output is passed on as it comes, cut at its limit, and never kept.

use crate::stage::{Stage, WALLS, as_root_and_nobody, bash};
use std::{fs, time::Instant};
use toolcrib_sandbox::{Cancel, EndedBy, Level, Status};

const MIB: u64 = 1 << 20;

#[test]
fn output_is_cut_at_its_limit_exactly_and_for_each_stream() {
    as_root_and_nobody(|| {
        let stage = Stage::new();
        for level in WALLS {
            let mut policy = stage.policy(level);
            policy.limits.output = 123_457;
            let ran = stage.bash(&policy, "echo partial; cat /dev/zero");
            assert_eq!(ran.report.ended_by, Some(EndedBy::Output), "{level}");
            assert_eq!(ran.stdout.len(), 123_457, "{level}");
            assert!(ran.stdout.starts_with("partial\n"), "{level}");
            assert_eq!(ran.report.stdout_bytes, 123_457, "{level}");
            let ran = stage.bash(&policy, "cat /dev/zero >&2");
            assert_eq!(
                (ran.stdout.len(), ran.stderr.len()),
                (0, 123_457),
                "{level}"
            );
            assert_eq!(ran.report.stderr_bytes, 123_457, "{level}");
            // As much as the limit on each stream is not too much.
            let ran = stage.bash(
                &policy,
                "head -c 123457 /dev/zero; head -c 123457 /dev/zero >&2",
            );
            assert_eq!(ran.report.ended_by, None, "{level}: {:?}", ran.report);
            assert_eq!(
                (ran.stdout.len(), ran.stderr.len()),
                (123_457, 123_457),
                "{level}"
            );
            assert_eq!(ran.report.status, Status::Exited(0), "{level}");
            // No output at all may be wished for, too.
            policy.limits.output = 0;
            let ran = stage.bash(&policy, "true");
            assert_eq!(ran.report.ended_by, None, "{level}");
            let ran = stage.bash(&policy, "echo x; sleep 10");
            assert_eq!(
                (ran.report.ended_by, &*ran.stdout),
                (Some(EndedBy::Output), ""),
                "{level}"
            );
        }
    });
}

fn resident_pages() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").unwrap();
    text.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_gigabyte_of_output_leaves_the_caller_small() {
    as_root_and_nobody(|| {
        let stage = Stage::new();
        for level in WALLS {
            let mut policy = stage.policy(level);
            policy.limits.output = 2 << 30;
            let prepared = stage.sandbox.prepare(&policy).unwrap();
            let (mut seen, mut most) = (0u64, 0);
            let before = resident_pages();
            let began = Instant::now();
            let mut sink = |_, bytes: &[u8]| {
                if seen >> 24 != (seen + bytes.len() as u64) >> 24 {
                    most = most.max(resident_pages());
                }
                seen += bytes.len() as u64;
            };
            let report = prepared
                .run(
                    &bash("head -c 1G /dev/zero"),
                    &mut sink,
                    &Cancel::new().unwrap(),
                )
                .unwrap();
            assert_eq!((seen, report.stdout_bytes), (1 << 30, 1 << 30), "{level}");
            let grown = most.saturating_sub(before) * 4096;
            eprintln!(
                "{level}: 1 GB in {:?}, the caller grew by {grown} bytes",
                began.elapsed()
            );
            assert!(grown < 8 * MIB, "{level}: the caller grew by {grown} bytes");
        }
    });
}

#[test]
fn output_is_passed_on_in_the_order_in_which_it_was_written() {
    as_root_and_nobody(|| {
        let stage = Stage::new();
        for level in [Level::None, Level::Process, Level::Container] {
            let prepared = stage.sandbox.prepare(&stage.policy(level)).unwrap();
            // As fast as bash can, which is faster than anybody reads.
            let script =
                "for i in {1..40}; do echo o$i; echo e$i >&2; echo E$i >&2; echo O$i; done";
            let expected: String = (1..=40)
                .map(|i| format!("o{i}\ne{i}\nE{i}\nO{i}\n"))
                .collect();
            for _ in 0..8 {
                let mut said = String::new();
                let mut take = |_, bytes: &[u8]| said.push_str(&String::from_utf8_lossy(bytes));
                prepared
                    .run(&bash(script), &mut take, &Cancel::new().unwrap())
                    .unwrap();
                assert_eq!(said, expected, "{level}");
            }
        }
    });
}

#[test]
fn much_output_is_whole_on_both_streams() {
    as_root_and_nobody(|| {
        let stage = Stage::new();
        for level in WALLS {
            let script = "for i in {1..3000}; do echo $i; echo $i >&2; done; head -c 300000 /dev/zero | tr '\\0' x; seq 1 100000 >&2";
            let ran = stage.bash(&stage.policy(level), script);
            let numbers = |most: u32| (1..=most).map(|i| format!("{i}\n")).collect::<String>();
            assert_eq!(ran.stdout, numbers(3000) + &"x".repeat(300_000), "{level}");
            assert_eq!(ran.stderr, numbers(3000) + &numbers(100_000), "{level}");
        }
    });
}
