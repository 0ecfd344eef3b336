//! Compares the compiled programs with a plain walk through the table, in an interpreter for the BPF we emit.

use libc::sock_filter;

use super::super::compile::{Answer, Policy, Refuse, Span, Verdict};
use super::super::rules::Rule;
use super::super::{program, rules};
use super::KINDS;
use super::samples::{CALLS, ONLY_HERE, SAMPLES};

/// What the kernel shows a filter.
#[derive(Clone, Copy, Debug)]
struct Call {
    number: u32,
    arch: u32,
    args: [u64; 6],
}

/// What a program did with a call.
#[derive(Debug)]
struct Run {
    verdict: u32,
    /// Instructions executed.
    steps: usize,
    /// Whether it looked at an argument.
    read_arguments: bool,
}

fn run(program: &[sock_filter], call: &Call) -> Run {
    let mut accumulator = 0;
    let mut read_arguments = false;
    let mut at = 0;
    for steps in 1.. {
        let it = program[at];
        at += 1;
        let jump = |taken| usize::from(if taken { it.jt } else { it.jf });
        match u32::from(it.code) {
            0x20 => {
                read_arguments |= it.k >= 16;
                accumulator = match it.k {
                    0 => call.number,
                    4 => call.arch,
                    offset => {
                        let half = (offset - 16) / 4;
                        (call.args[half as usize / 2] >> (32 * (half % 2))) as u32
                    }
                }
            }
            0x54 => accumulator &= it.k,
            0x05 => at += it.k as usize,
            0x15 => at += jump(accumulator == it.k),
            0x35 => at += jump(accumulator >= it.k),
            0x06 => {
                return Run {
                    verdict: it.k,
                    steps,
                    read_arguments,
                };
            }
            other => panic!("instruction {other:#x} is not one of ours"),
        }
    }
    unreachable!("the program ends or the index runs out of it")
}

/// Walks the table from the top, as a reader does.
fn expected(table: &[Rule], call: &Call) -> u32 {
    if call.arch != rules::NATIVE_ARCH {
        return Verdict::Kill.code();
    }
    for rule in table {
        let refuses = rule.test.is_none_or(|test| {
            let bits = call.args[test.arg as usize] as u32 & test.mask;
            match test.refuse {
                Refuse::In(values) => values.contains(&bits),
                Refuse::NotIn(values) => !values.contains(&bits),
            }
        });
        if call.number >= rule.first && call.number <= rule.last && refuses {
            return rule.verdict.code();
        }
    }
    Verdict::Allow.code()
}

fn native(number: u32, args: [u64; 6]) -> Call {
    Call {
        number,
        arch: rules::NATIVE_ARCH,
        args,
    }
}

/// Every number of a call, the places where a range begins or ends, and their neighbours.
fn numbers() -> impl Iterator<Item = u32> {
    let edges = [
        0x3fff_ffff,
        0x4000_0000,
        0x4000_0027,
        0x7fff_ffff,
        0x8000_0000,
        u32::MAX,
    ];
    (0..=600).chain(edges)
}

/// Values that some rule treats apart, and some that none does.
const VALUES: [u32; 27] = [
    0,
    1,
    2,
    3,
    5,
    10,
    6,
    17,
    58,
    132,
    262,
    16,
    38,
    40,
    0x8_0001,
    0x8_0802,
    35,
    0x5412,
    0x541c,
    0xaa00,
    0x4_0000,
    u32::MAX,
    0x1200_0011,
    0x0002_0000,
    0x2180,
    0x61ff,
    0x81a4,
];

#[test]
fn programs_agree_with_the_table_on_every_number() {
    for (sockets, ipc) in KINDS {
        let program = program(sockets, ipc);
        let table: Vec<Rule> = rules::table(sockets, ipc).collect();
        let check = |call: Call| {
            let run = run(&program, &call);
            assert_eq!(
                run.verdict,
                expected(&table, &call),
                "{sockets:?} {ipc:?} {call:x?}"
            );
        };
        for number in numbers() {
            for value in VALUES {
                check(native(number, [u64::from(value); 6]));
                check(native(number, [u64::from(value) | 0xdead_beef << 32; 6]));
            }
        }
    }
}

#[test]
fn programs_agree_with_the_table_on_every_mix_of_arguments() {
    let mut with_tests: Vec<u32> = rules::all()
        .filter(|it| it.test.is_some())
        .map(|it| it.first)
        .collect();
    with_tests.dedup();
    for (sockets, ipc) in KINDS {
        let program = program(sockets, ipc);
        let table: Vec<Rule> = rules::table(sockets, ipc).collect();
        for &number in &with_tests {
            for a in VALUES {
                for b in VALUES {
                    for c in VALUES {
                        // The upper halves are garbage, in some calls only.
                        let high = u64::from(a ^ b ^ c) << 32;
                        let args = [a, b, c, c, 0, 0].map(|low| u64::from(low) | high);
                        let call = native(number, args);
                        let verdict = run(&program, &call).verdict;
                        assert_eq!(
                            verdict,
                            expected(&table, &call),
                            "{sockets:?} {ipc:?} {call:x?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn another_architecture_is_killed_whatever_it_asks() {
    let i386 = 0x4000_0003;
    let arm = 0x4000_0028;
    for (sockets, ipc) in KINDS {
        let program = program(sockets, ipc);
        for number in numbers() {
            for arch in [i386, arm, 0, !rules::NATIVE_ARCH] {
                let call = Call {
                    arch,
                    ..native(number, [0; 6])
                };
                assert_eq!(
                    run(&program, &call).verdict,
                    Verdict::Kill.code(),
                    "{call:x?}"
                );
            }
        }
    }
}

#[test]
fn what_linux_added_after_6_18_does_not_exist() {
    let file_setattr = 469;
    for (sockets, ipc) in KINDS {
        let program = program(sockets, ipc);
        let verdict = |number| run(&program, &native(number, [0; 6])).verdict;
        assert_eq!(verdict(file_setattr), Verdict::Allow.code());
        assert_eq!(
            verdict(file_setattr + 1),
            Verdict::Errno(libc::ENOSYS).code()
        );
    }
}

#[test]
fn an_ordinary_call_is_decided_by_few_instructions_and_its_number_alone() {
    for (sockets, ipc) in KINDS {
        let program = program(sockets, ipc);
        let mut longest = (0, 0);
        let mut longest_with_arguments = (0, 0);
        for number in numbers() {
            let has_test =
                rules::table(sockets, ipc).any(|rule| rule.first == number && rule.test.is_some());
            for value in VALUES {
                let run = run(&program, &native(number, [u64::from(value); 6]));
                // The kernel caches an allowed number only then.
                assert!(has_test || !run.read_arguments, "{number} reads arguments");
                let longest = if has_test {
                    &mut longest_with_arguments
                } else {
                    &mut longest
                };
                *longest = (*longest).max((run.steps, number));
            }
        }
        println!(
            "{sockets:?} {ipc:?}: {} instructions, longest path {} (call {}), with argument checks {} (call {})",
            program.len(),
            longest.0,
            longest.1,
            longest_with_arguments.0,
            longest_with_arguments.1,
        );
        assert!(longest.0 <= 12, "{longest:?}");
        assert!(longest_with_arguments.0 <= 24, "{longest_with_arguments:?}");
    }
}

#[test]
fn jumps_longer_than_a_byte_reach_their_target() {
    // Three answers in turn, so that neighbours never merge, and too many for 8-bit offsets.
    let answers = [
        Verdict::Allow,
        Verdict::Errno(libc::EPERM),
        Verdict::Errno(libc::ENOSYS),
    ];
    let verdict = |number: u32| answers[number as usize % 3];
    for count in [1, 2, 3, 255, 256, 257, 300, 511, 513, 1500] {
        let spans = (0..count).map(|first| Span {
            first,
            answer: Answer {
                checks: Vec::new(),
                otherwise: verdict(first),
            },
        });
        let program = Policy {
            arch: rules::NATIVE_ARCH,
            foreign: Verdict::Kill,
            spans: spans.collect(),
        }
        .assemble();
        assert!(
            program.len() < 4096,
            "the kernel takes no more, and this has {}",
            program.len()
        );
        for number in 0..count {
            let run = run(&program, &native(number, [0; 6]));
            assert_eq!(run.verdict, verdict(number).code(), "{number} of {count}");
        }
    }
}

#[test]
fn the_table_holds_the_rules_written_out_here_and_each_once() {
    let mut found: Vec<&str> = rules().collect();
    let mut wanted: Vec<&str> = CALLS.split_whitespace().collect();
    wanted.extend(SAMPLES.iter().map(|sample| sample.rule));
    wanted.extend(ONLY_HERE);
    wanted.extend([rules::FOREIGN_ARCHITECTURE, "unknown numbers"]);
    found.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(found, wanted);
}

#[test]
fn no_rule_hides_behind_an_earlier_one() {
    for (sockets, ipc) in KINDS {
        let table: Vec<Rule> = rules::table(sockets, ipc).collect();
        for (at, rule) in table.iter().enumerate() {
            let hidden_by = table[..at].iter().find(|earlier| {
                earlier.test.is_none() && earlier.first <= rule.last && rule.first <= earlier.last
            });
            assert!(
                hidden_by.is_none(),
                "{} is hidden by {hidden_by:?}",
                rule.name
            );
        }
    }
}
