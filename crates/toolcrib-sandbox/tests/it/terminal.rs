//! Commands on their own terminal: it is one, it is theirs, someone answers on it, and nothing is left of it.

use crate::stage::{Ran, Stage, as_root_and_nobody, bash, marked, python, token};
use std::time::{Duration, Instant};
use toolcrib_sandbox::{
    Cancel, Command, Dialogue, EndedBy, Keyboard, Level, Policy, SandboxError, Status, Stdin,
};

const LEVELS: [Level; 3] = [Level::None, Level::Process, Level::Container];

/// Every level, and the one without namespaces.
fn stages() -> Vec<(Stage, Level)> {
    let mut stages: Vec<_> = LEVELS
        .into_iter()
        .map(|level| (Stage::new(), level))
        .collect();
    stages.push((Stage::without_namespaces(), Level::Process));
    stages
}

fn on_terminal(stage: &Stage, level: Level) -> Policy {
    let mut policy = stage.policy(level);
    policy.terminal = true;
    policy
}

fn answering(answer: &str) -> Dialogue {
    Dialogue {
        silence: Duration::from_millis(50),
        answer: Some(answer.to_owned()),
        keyboard: None,
    }
}

fn run(stage: &Stage, level: Level, command: &Command) -> Ran {
    stage.run(&on_terminal(stage, level), command).unwrap()
}

#[test]
fn a_command_is_on_its_own_terminal() {
    as_root_and_nobody(|| {
        for (stage, level) in stages() {
            let script = "for fd in 0 1 2; do [ -t $fd ] || echo $fd is none; done; stty size; \
                echo to-stderr >&2; echo again > /dev/stderr; echo tty > /dev/tty; printf 'a\\nb\\n'; exit 3";
            let ran = run(&stage, level, &bash(script));
            assert_eq!(
                ran.stdout, "24 80\nto-stderr\nagain\ntty\na\nb\n",
                "{level}: {ran:?}"
            );
            assert_eq!(
                (ran.report.status, &*ran.stderr),
                (Status::Exited(3), ""),
                "{level}"
            );
            // It controls the command's session, and only that.
            let ran = run(
                &stage,
                level,
                &python(
                    "import os; print(os.tcgetpgrp(0) == os.getpgrp(), os.getsid(0) == os.getpid())",
                ),
            );
            assert_eq!(ran.stdout, "True True\n", "{level}: {ran:?}");
        }
    });
}

#[test]
fn a_question_is_answered_each_time_it_is_asked() {
    as_root_and_nobody(|| {
        for (stage, level) in stages() {
            let script =
                "for i in 1 2 3; do read -p \"sure $i? \" answer; echo \"<$answer>\"; done";
            let ran = run(&stage, level, &bash(script).dialogue(answering("yes")));
            // On a slow day it is answered before it asks, so where the echo is is not looked at.
            let asked = ran.stdout.replace("<yes>\n", "").replace("yes\n", "");
            assert_eq!(asked, "sure 1? sure 2? sure 3? ", "{level}: {ran:?}");
            assert_eq!(ran.stdout.matches("<yes>\n").count(), 3, "{level}: {ran:?}");
            assert_eq!(ran.report.status, Status::Exited(0), "{level}");
            let script = "name = input('name: '); print('hello', name); import getpass; print(getpass.getpass('secret: '))";
            let ran = run(&stage, level, &python(script).dialogue(answering("ada")));
            assert!(
                ran.stdout.contains("name: ")
                    && ran.stdout.contains("hello ada\n")
                    && ran.stdout.contains("secret: ")
                    && ran.stdout.ends_with("\nada\n"),
                "{level}: {ran:?}"
            );
        }
    });
}

#[test]
fn what_is_given_as_input_is_typed_first() {
    as_root_and_nobody(|| {
        for (stage, level) in stages() {
            let script = "read a; read b; read c; echo \"$a|$b|$c\"";
            let command = bash(script)
                .stdin(Stdin::Bytes(b"one\ntwo".to_vec()))
                .dialogue(answering("default"));
            let ran = run(&stage, level, &command);
            assert!(
                ran.stdout.ends_with("one|two|default\n"),
                "{level}: {ran:?}"
            );
        }
    });
}

#[test]
fn what_a_person_types_is_read_as_it_comes() {
    as_root_and_nobody(|| {
        for (stage, level) in stages() {
            let keyboard = Keyboard::new().unwrap();
            let dialogue = Dialogue {
                silence: Duration::from_secs(10),
                answer: Some("default".to_owned()),
                keyboard: Some(keyboard.clone()),
            };
            let prepared = stage.sandbox.prepare(&on_terminal(&stage, level)).unwrap();
            let script = "stty -echo; read -p first: a; read -p second: b; echo \"$a-$b\"; trap 'echo interrupted; exit 7' INT; echo waiting; read c";
            let mut said = String::new();
            let report = prepared
                .run(
                    &bash(script).dialogue(dialogue),
                    &mut |_, bytes| {
                        said.push_str(&String::from_utf8_lossy(bytes));
                        if said.ends_with("first:") {
                            keyboard.press(b"on");
                            keyboard.press(b"e\n");
                        } else if said.ends_with("second:") {
                            keyboard.press("zwö\n".as_bytes());
                        } else if said.ends_with("waiting\n") {
                            keyboard.press(b"\x03");
                        }
                    },
                    &Cancel::new().unwrap(),
                )
                .unwrap();
            assert_eq!(
                said, "first:second:one-zwö\nwaiting\ninterrupted\n",
                "{level}"
            );
            assert_eq!(report.status, Status::Exited(7), "{level}");
        }
    });
}

#[test]
fn a_command_that_waits_in_vain_is_ended() {
    as_root_and_nobody(|| {
        for (stage, level) in stages() {
            let token = token();
            let silent = Dialogue {
                silence: Duration::from_millis(50),
                answer: None,
                keyboard: None,
            };
            let script =
                format!("echo before; (exec -a {token} sleep 100) & read -p 'who? ' x; echo after");
            let ran = run(&stage, level, &bash(&script).dialogue(silent));
            assert_eq!(
                ran.report.ended_by,
                Some(EndedBy::Silence),
                "{level}: {ran:?}"
            );
            assert_eq!(ran.stdout, "before\nwho? ", "{level}");
            assert_eq!(ran.report.exit_code(), 124);
            assert!(ran.took < Duration::from_secs(5), "{level}: {:?}", ran.took);
            assert_eq!(marked(&token), Vec::<u32>::new(), "{level}");
        }
    });
}

#[test]
fn a_command_that_is_never_satisfied_is_answered_a_hundred_times() {
    as_root_and_nobody(|| {
        let stage = Stage::new();
        let mut eager = answering("y");
        eager.silence = Duration::from_millis(2);
        let script = "stty -echo; while read x; do echo again; done";
        let ran = run(&stage, Level::Process, &bash(script).dialogue(eager));
        assert_eq!(ran.report.ended_by, Some(EndedBy::Silence), "{ran:?}");
        assert_eq!(ran.stdout.matches("again").count(), 100, "{ran:?}");
    });
}

#[test]
fn a_command_that_works_in_silence_is_not_answered_ahead() {
    as_root_and_nobody(|| {
        let stage = Stage::new();
        // Silent for ten times as long as patience lasts, with one answer unread: the second question finds that one, and
        // nothing else.
        let script = "stty -echo; sleep 0.6; read a; read -t 0 && b=more; echo \"$a|$b\"";
        let mut eager = answering("y");
        eager.silence = Duration::from_millis(60);
        let ran = run(&stage, Level::Process, &bash(script).dialogue(eager));
        // With the echo of the answer before it, should that have been given before the echo was off.
        let said = ran.stdout.strip_prefix("y\n").unwrap_or(&ran.stdout);
        assert_eq!(said, "y|\n", "{ran:?}");
    });
}

#[test]
fn closing_the_terminal_is_neither_the_end_nor_a_hang() {
    as_root_and_nobody(|| {
        for (stage, level) in stages() {
            let script = "echo before; exec 3> /dev/tty; exec 0<&- 1>&- 2>&-; sleep 0.1; echo between >&3; exec 3>&-; sleep 0.1; \
                [ -e /dev/tty ] && echo after > /dev/tty; exit 4";
            let began = Instant::now();
            let ran = run(&stage, level, &bash(script).dialogue(answering("y")));
            assert_eq!(ran.report.status, Status::Exited(4), "{level}: {ran:?}");
            assert!(
                ran.stdout.starts_with("before\n") && ran.stdout.ends_with("between\nafter\n"),
                "{level}: {ran:?}"
            );
            assert!(began.elapsed() < Duration::from_secs(5), "{level}");
        }
    });
}

#[test]
fn all_output_arrives_also_the_last_of_a_flood() {
    as_root_and_nobody(|| {
        for (stage, level) in stages() {
            for _ in 0..5 {
                let ran = run(
                    &stage,
                    level,
                    &bash("seq 1 20000; head -c 3000 /dev/zero | tr '\\0' x; echo END"),
                );
                assert!(ran.stdout.ends_with("xxxEND\n"), "{level}");
                assert_eq!(ran.stdout.lines().count(), 20_001, "{level}");
            }
        }
    });
}

#[test]
fn nothing_can_be_typed_or_changed_from_inside_and_no_other_terminal_be_had() {
    as_root_and_nobody(|| {
        for (stage, level) in stages() {
            if level == Level::None {
                continue;
            }
            let script = "import fcntl, os, termios, struct\n\
                def tried(what):\n\
                \x20   try: what(); print('PWNED')\n\
                \x20   except OSError as e: print(e.errno)\n\
                tried(lambda: fcntl.ioctl(0, termios.TIOCSTI, b'x'))\n\
                tried(lambda: fcntl.ioctl(0, termios.TIOCSETD, struct.pack('i', 1)))\n\
                tried(lambda: os.open('/dev/ptmx', os.O_RDWR))\n\
                tried(lambda: os.open('/dev/pts/ptmx', os.O_RDWR))\n\
                tried(lambda: fcntl.ioctl(0, termios.TIOCCONS))\n";
            let ran = run(&stage, level, &python(script));
            assert_eq!(ran.stdout.lines().count(), 5, "{level}: {ran:?}");
            assert!(
                ran.stdout.starts_with("1\n1\n") && !ran.stdout.contains("PWNED"),
                "{level}: {ran:?}"
            );
            // Without a terminal none can be opened by its name.
            let policy = stage.policy(level);
            let ran = stage.bash(&policy, "echo x > /dev/tty || echo none");
            assert_eq!(ran.stdout, "none\n", "{level}: {ran:?}");
        }
    });
}

#[test]
fn a_cancelled_or_late_command_on_a_terminal_leaves_no_process() {
    as_root_and_nobody(|| {
        for (stage, level) in stages() {
            let token = token();
            let mut policy = on_terminal(&stage, level);
            policy.limits.time = Some(Duration::from_millis(300));
            let script = format!(
                "trap '' HUP INT TERM; (trap '' HUP; exec -a {token} sleep 100) & (setsid bash -c 'exec -a {token} sleep 100') & read x"
            );
            let ran = stage.run(&policy, &bash(&script)).unwrap();
            assert_eq!(ran.report.ended_by, Some(EndedBy::Time), "{level}: {ran:?}");
            assert_eq!(marked(&token), Vec::<u32>::new(), "{level}");
        }
    });
}

#[test]
fn a_sandbox_with_a_terminal_can_stand_ready() {
    as_root_and_nobody(|| {
        for level in LEVELS {
            let stage = Stage::new();
            let prepared = stage.sandbox.prepare(&on_terminal(&stage, level)).unwrap();
            prepared.keep_ready().unwrap();
            for _ in 0..3 {
                let mut said = Vec::new();
                prepared
                    .run(
                        &bash("[ -t 0 ] && read x; echo $x").dialogue(answering("y")),
                        &mut |_, bytes| said.extend_from_slice(bytes),
                        &Cancel::new().unwrap(),
                    )
                    .unwrap();
                assert_eq!(said, b"y\ny\n", "{level}");
            }
        }
    });
}

#[test]
fn a_command_without_a_terminal_cannot_be_answered() {
    let stage = Stage::new();
    let refused = stage.run(
        &stage.policy(Level::Process),
        &bash("true").dialogue(answering("y")),
    );
    assert!(
        matches!(refused, Err(SandboxError::Invalid(_))),
        "{refused:?}"
    );
}
