//! The end of a run is the end of every process in it, and no one waits for it.

use crate::{
    runner::{self, Namespaces},
    stage::{Stage, as_root_and_nobody, bash, eventually, marked, token},
};
use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};
use toolcrib_sandbox::{Cancel, Command, EndedBy, Level, Policy, Status, Stdin};

/// How long the end of a run may take.
const SOON: Duration = Duration::from_secs(1);

type Scene = fn(&Stage, Level);

/// Everywhere that a run can take place.
fn everywhere(scene: Scene) {
    for level in [Level::None, Level::Process, Level::Container] {
        eprintln!("at level {level}");
        scene(&Stage::new(), level);
    }
}

/// At `process` level on a machine without pid and mount namespaces: init has to find and kill the tree itself.
fn without_namespaces(scene: Scene) {
    scene(&Stage::without_namespaces(), Level::Process);
}

/// Processes that do what they can to outlive: their own sessions, double forks, ignored signals. Each holds the output.
fn stubborn(token: &str) -> String {
    format!(
        r#"
        trap '' TERM INT HUP
        setsid bash -c 'trap "" TERM INT HUP; exec -a {token} sleep 100' &
        (setsid bash -c '(exec -a {token} sleep 100) & (exec -a {token} sleep 100) & disown -a' &)
        nohup bash -c 'exec -a {token} sleep 100' &
        setsid setsid bash -c 'trap "" TERM; while :; do bash -c "exec -a {token} sleep 0.01"; done' &
        echo ready
        exec -a {token} sleep 100
        "#
    )
}

fn none_left(token: &str) {
    let left = marked(token);
    clear_away(token);
    assert_eq!(left, [0; 0], "still there after the run");
}

/// Kills what a failing test would leave to the machine.
fn clear_away(token: &str) {
    eventually(Duration::from_secs(2), || {
        let left = marked(token);
        for signal in [libc::SIGSTOP, libc::SIGKILL] {
            for pid in &left {
                // SAFETY: numbers only; processes that bear our mark.
                unsafe { libc::kill(*pid as i32, signal) };
            }
        }
        left.is_empty()
    });
}

fn timed(stage: &Stage, level: Level, time: Duration) -> Policy {
    let mut policy = stage.policy(level);
    policy.limits.time = Some(time);
    policy
}

fn time_out(stage: &Stage, level: Level) {
    let (token, time) = (token(), Duration::from_millis(700));
    let ran = stage.bash(&timed(stage, level, time), &stubborn(&token));
    none_left(&token);
    assert_eq!(ran.report.ended_by, Some(EndedBy::Time), "{level}");
    assert_eq!(ran.report.status, Status::Signalled(9), "{level}");
    assert_eq!(ran.report.exit_code(), 124, "{level}");
    assert_eq!(ran.stdout, "ready\n", "{level}: {ran:?}");
    assert!(
        ran.took >= time && ran.took < time + SOON,
        "{level}: {ran:?}"
    );
}

#[test]
fn time_out_ends_the_whole_tree_and_keeps_its_output() {
    as_root_and_nobody(|| everywhere(time_out));
}

#[test]
fn without_namespaces_time_out_ends_the_whole_tree_and_keeps_its_output() {
    as_root_and_nobody(|| without_namespaces(time_out));
}

fn cancel(stage: &Stage, level: Level) {
    let token = token();
    let cancel = Cancel::new().unwrap();
    let wish = cancel.clone();
    let word = token.clone();
    let spoke = Arc::new(AtomicBool::new(false));
    let heard = Arc::clone(&spoke);
    let canceller = thread::spawn(move || {
        let grown = eventually(Duration::from_secs(10), || {
            heard.load(Ordering::Relaxed) && marked(&word).len() >= 6
        });
        let at = Instant::now();
        wish.cancel();
        (grown, at)
    });
    let prepared = stage.sandbox.prepare(&stage.policy(level)).unwrap();
    let mut output = Vec::new();
    let report = prepared
        .run(
            &bash(&stubborn(&token)),
            &mut |_, bytes| {
                output.extend_from_slice(bytes);
                spoke.store(true, Ordering::Relaxed);
            },
            &cancel,
        )
        .unwrap();
    let (grown, at) = canceller.join().unwrap();
    assert!(grown, "{level}: the tree did not come to be");
    assert!(at.elapsed() < SOON, "{level}: {:?}", at.elapsed());
    none_left(&token);
    assert_eq!(report.ended_by, Some(EndedBy::Cancelled), "{level}");
    assert!(output.starts_with(b"ready\n"), "{level}");
}

#[test]
fn cancel_ends_the_whole_tree_within_a_second() {
    as_root_and_nobody(|| everywhere(cancel));
}

#[test]
fn without_namespaces_cancel_ends_the_whole_tree_within_a_second() {
    as_root_and_nobody(|| without_namespaces(cancel));
}

fn cancel_before(stage: &Stage, level: Level) {
    let token = token();
    let cancel = Cancel::new().unwrap();
    cancel.cancel();
    let prepared = stage.sandbox.prepare(&stage.policy(level)).unwrap();
    let began = Instant::now();
    let report = prepared
        .run(&bash(&stubborn(&token)), &mut |_, _| {}, &cancel)
        .unwrap();
    assert!(began.elapsed() < SOON, "{level}");
    assert_eq!(report.ended_by, Some(EndedBy::Cancelled), "{level}");
    none_left(&token);
}

#[test]
fn a_cancel_before_the_start_ends_the_run_at_once() {
    as_root_and_nobody(|| everywhere(cancel_before));
}

#[test]
fn without_namespaces_a_cancel_before_the_start_ends_the_run_at_once() {
    as_root_and_nobody(|| without_namespaces(cancel_before));
}

fn too_much_output(stage: &Stage, level: Level) {
    let token = token();
    let mut policy = stage.policy(level);
    policy.limits.output = 100_000;
    let script = format!(
        "trap '' PIPE TERM; setsid bash -c 'trap \"\" PIPE TERM; while :; do echo {token} 2>/dev/null; done' & \
         setsid bash -c 'exec -a {token} sleep 100' & wait"
    );
    let ran = stage.bash(&policy, &script);
    none_left(&token);
    assert_eq!(ran.report.ended_by, Some(EndedBy::Output), "{level}");
    assert_eq!(ran.stdout.len(), 100_000, "{level}");
    assert!(
        ran.took < Duration::from_secs(10),
        "{level}: {:?}",
        ran.took
    );
}

#[test]
fn too_much_output_ends_the_whole_tree() {
    as_root_and_nobody(|| everywhere(too_much_output));
}

#[test]
fn without_namespaces_too_much_output_ends_the_whole_tree() {
    as_root_and_nobody(|| without_namespaces(too_much_output));
}

fn fork_bomb(stage: &Stage, level: Level) {
    let prepared = stage.sandbox.prepare(&stage.policy(level)).unwrap();
    let bounded = prepared
        .layers()
        .iter()
        .any(|layer| layer.name() == "pids-limit");
    if !bounded {
        // Nothing would stop it from taking the machine down.
        eprintln!("SKIPPED {level}: no limit of processes can be had");
        return;
    }
    let (token, time) = (token(), Duration::from_millis(700));
    let mut policy = timed(stage, level, time);
    policy.limits.pids = Some(40);
    let script = format!(": {token}; bomb() {{ bomb | bomb & }}; bomb; wait; sleep 100");
    let ran = stage.bash(&policy, &script);
    none_left(&token);
    assert!(ran.took < time + SOON, "{level}: {:?}", ran.took);
}

#[test]
fn a_fork_bomb_within_its_limit_ends_with_the_run() {
    as_root_and_nobody(|| everywhere(fork_bomb));
}

#[test]
fn without_namespaces_a_fork_bomb_within_its_limit_ends_with_the_run() {
    as_root_and_nobody(|| without_namespaces(fork_bomb));
}

fn daemon(stage: &Stage, level: Level) {
    let token = token();
    // Each daemon holds stdout and stderr open.
    let script = format!(
        "setsid bash -c 'trap \"\" TERM HUP; exec -a {token} sleep 100' & \
         (setsid bash -c 'exec -a {token} sleep 100' &) ; echo out; echo err >&2; exit 7"
    );
    let ran = stage.bash(&stage.policy(level), &script);
    none_left(&token);
    assert_eq!(ran.report.status, Status::Exited(7), "{level}");
    assert_eq!(ran.report.ended_by, None, "{level}");
    assert_eq!((&*ran.stdout, &*ran.stderr), ("out\n", "err\n"), "{level}");
    assert!(ran.took < SOON, "{level}: {:?}", ran.took);
}

#[test]
fn a_daemon_left_behind_is_gone_and_delays_nothing() {
    as_root_and_nobody(|| everywhere(daemon));
}

#[test]
fn without_namespaces_a_daemon_left_behind_is_gone_and_delays_nothing() {
    as_root_and_nobody(|| without_namespaces(daemon));
}

fn last_words(stage: &Stage, level: Level) {
    let script = "head -c 200000 /dev/zero | tr '\\0' x; printf end; printf 'last words' >&2";
    let ran = stage.bash(&stage.policy(level), script);
    assert_eq!(ran.stdout.len(), 200_003, "{level}");
    assert!(ran.stdout.ends_with("xend"), "{level}");
    assert_eq!(ran.stderr, "last words", "{level}");
}

#[test]
fn output_written_just_before_the_end_arrives_whole() {
    as_root_and_nobody(|| everywhere(last_words));
}

fn flood(stage: &Stage, level: Level) {
    let time = Duration::from_millis(500);
    let mut policy = timed(stage, level, time);
    policy.limits.output = 1 << 40;
    let prepared = stage.sandbox.prepare(&policy).unwrap();
    // A sink a little slower than the command, so that the pipe is always full; it gives up in the end.
    let began = Instant::now();
    let cancel = Cancel::new().unwrap();
    let mut slow = |_, _: &[u8]| {
        if began.elapsed() > Duration::from_secs(5) {
            panic!("the run goes on after its time");
        }
        let until = Instant::now() + Duration::from_millis(2);
        while Instant::now() < until {
            thread::yield_now();
        }
    };
    let report = prepared
        .run(&bash("exec cat /dev/zero"), &mut slow, &cancel)
        .unwrap();
    assert_eq!(report.ended_by, Some(EndedBy::Time), "{level}");
    assert!(
        began.elapsed() < time + SOON,
        "{level}: {:?}",
        began.elapsed()
    );
}

#[test]
fn a_flood_of_output_does_not_hold_off_the_time_limit() {
    as_root_and_nobody(|| everywhere(flood));
}

#[test]
fn sigkill_of_the_caller_leaves_nothing_within_a_second() {
    as_root_and_nobody(|| {
        for level in [Level::None, Level::Process, Level::Container] {
            killed_caller(level, Namespaces::Yes);
        }
    });
}

#[test]
fn without_namespaces_sigkill_of_the_caller_leaves_nothing_within_a_second() {
    as_root_and_nobody(|| killed_caller(Level::Process, Namespaces::No));
}

fn killed_caller(level: Level, namespaces: Namespaces) {
    let stage = Stage::new();
    let token = token();
    let script = stubborn(&token);
    let mut runner = runner::start(level, &stage.workspace, namespaces, &script);
    runner::wait_for_line(&mut runner, "ready");
    assert!(eventually(Duration::from_secs(10), || marked(&token).len() >= 6));
    runner.kill().unwrap();
    let gone = eventually(SOON, || marked(&token).is_empty());
    runner.wait().unwrap();
    let left = marked(&token);
    clear_away(&token);
    assert!(gone, "{level}: {left:?}");
}

#[test]
fn placeholders_of_a_killed_caller_are_removed_by_the_next_run() {
    as_root_and_nobody(|| {
        let stage = Stage::new();
        stage.repository();
        stage.file("notes.txt", "mine");
        stage.file(".bashrc", "mine too");
        // An empty directory of the user's, under a protected name: not a placeholder.
        fs::create_dir(stage.workspace.join(".idea")).unwrap();
        fs::remove_dir_all(stage.workspace.join(".git/hooks")).unwrap();
        let before = crate::stage::snapshot(&stage.workspace);
        for level in crate::stage::WALLS {
            let mut runner = runner::start(
                level,
                &stage.workspace,
                Namespaces::Yes,
                "echo ready; sleep 100",
            );
            runner::wait_for_line(&mut runner, "ready");
            runner.kill().unwrap();
            runner.wait().unwrap();
            assert!(
                stage.workspace.join(".envrc").is_dir(),
                "{level}: nothing was left behind to remove"
            );
            let ran = stage.bash(&stage.policy(level), "true");
            assert_eq!(
                ran.report.planted_paths(),
                Vec::<std::path::PathBuf>::new(),
                "{level}"
            );
            assert_eq!(crate::stage::snapshot(&stage.workspace), before, "{level}");
        }
    });
}

fn own_end(stage: &Stage, level: Level) {
    for (script, status) in [
        ("exit 0", Status::Exited(0)),
        ("exit 7", Status::Exited(7)),
        ("exit 300", Status::Exited(44)),
        ("kill -TERM $$", Status::Signalled(15)),
        ("kill -KILL $$", Status::Signalled(9)),
        ("kill -SEGV $$", Status::Signalled(11)),
        ("bash -c 'kill -TERM $$'; exit $?", Status::Exited(143)),
    ] {
        let ran = stage.bash(&stage.policy(level), script);
        assert_eq!(ran.report.status, status, "{level}: {script}");
        assert_eq!(ran.report.ended_by, None, "{level}: {script}");
        assert_eq!(ran.report.level, level, "{level}: {script}");
    }
}

#[test]
fn the_commands_own_end_is_reported() {
    as_root_and_nobody(|| everywhere(own_end));
}

#[test]
fn without_namespaces_the_commands_own_end_is_reported() {
    as_root_and_nobody(|| without_namespaces(own_end));
}

fn input(stage: &Stage, level: Level) {
    let policy = stage.policy(level);
    let given = vec![b'x'; 1_000_000];
    let command = |stdin| Command::new("/usr/bin/wc").args(["-c"]).stdin(stdin);
    let ran = stage.run(&policy, &command(Stdin::Bytes(given))).unwrap();
    assert_eq!(ran.stdout.trim(), "1000000", "{level}");
    let ran = stage.run(&policy, &command(Stdin::Empty)).unwrap();
    assert_eq!(ran.stdout.trim(), "0", "{level}");
    // Input that no one reads holds nothing up.
    let unread = bash("exit 3").stdin(Stdin::Bytes(vec![b'x'; 1_000_000]));
    let ran = stage.run(&policy, &unread).unwrap();
    assert_eq!(ran.report.status, Status::Exited(3), "{level}");
}

#[test]
fn a_command_reads_what_it_is_given_and_nothing_else() {
    as_root_and_nobody(|| everywhere(input));
}
