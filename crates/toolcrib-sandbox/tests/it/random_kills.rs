//! A thousand kills at random moments leave no process behind.

use crate::{
    runner::{self, Namespaces},
    stage::{Stage, WALLS, bash, eventually, is_root, marked, token, within},
};
use std::{
    process::Child,
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};
use toolcrib_sandbox::{Cancel, EndedBy, Level};

/// Processes in their own sessions, one forked twice; all bear the mark.
fn script(token: &str) -> String {
    format!(
        "setsid bash -c 'trap \"\" TERM; exec -a {token} sleep 100' & \
         (setsid bash -c 'exec -a {token} sleep 100' &); exec -a {token} sleep 100"
    )
}

/// A small generator of numbers: what moments are tried differs from run to run, and the seed is printed.
struct Moments(u64);

impl Moments {
    fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    /// Up to this long.
    fn next(&mut self, most: Duration) -> Duration {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        most.mul_f64((self.0 % 10_000) as f64 / 10_000.0)
    }
}

/// Waits for a moment as precisely as a random kill needs; what is awaited is the passing of time itself.
fn pass(time: Duration) {
    thread::sleep(time);
}

/// Cancels so many runs, half of them on each of two threads; says how many had not yet ended by themselves.
fn cancels(level: Level, count: u32, token: &str, seed: u64) -> u32 {
    let stage = Stage::new();
    let prepared = stage.sandbox.prepare(&stage.policy(level)).unwrap();
    let cancelled = AtomicU32::new(0);
    let script = script(token);
    thread::scope(|scope| {
        for half in 0..2 {
            let (prepared, cancelled, script) = (&prepared, &cancelled, &script);
            scope.spawn(move || {
                let mut moments = Moments::new(seed + 1 + half);
                for _ in 0..count / 2 {
                    let cancel = Cancel::new().unwrap();
                    let report = thread::scope(|scope| {
                        let run =
                            scope.spawn(|| prepared.run(&bash(script), &mut |_, _| {}, &cancel));
                        pass(moments.next(Duration::from_millis(3)));
                        cancel.cancel();
                        run.join().unwrap().unwrap()
                    });
                    assert_eq!(report.ended_by, Some(EndedBy::Cancelled));
                    cancelled.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    cancelled.into_inner()
}

/// Kills so many callers, each its own process, a random time after its command has begun or even before.
fn sigkills(level: Level, count: u32, token: &str, seed: u64) -> u32 {
    let stage = Stage::new();
    let script = format!("echo ready; {}", script(token));
    let mut moments = Moments::new(seed);
    let mut killed = 0;
    let kill = |mut runner: Child| {
        runner.kill().unwrap();
        runner.wait().unwrap();
    };
    while killed < count {
        let mut runner = runner::start(level, &stage.workspace, Namespaces::Yes, &script);
        if killed.is_multiple_of(4) {
            // While the runner starts, probes, makes its sandbox.
            pass(moments.next(Duration::from_millis(30)));
        } else {
            runner::wait_for_line(&mut runner, "ready");
            pass(moments.next(Duration::from_millis(3)));
        }
        kill(runner);
        killed += 1;
    }
    killed
}

#[test]
fn a_thousand_random_kills_leave_no_survivor() {
    within(Duration::from_secs(60), || {
        let seed = u64::from(std::process::id()) << 20;
        // The thousand are root's; an ordinary user, whose walls are built differently, gets a quarter.
        let (cancelled, killed) = if is_root() { (350, 150) } else { (88, 38) };
        let (token, began) = (token(), Instant::now());
        let mut counts = (0, 0);
        for level in WALLS {
            counts.0 += cancels(level, cancelled, &token, seed);
            let left = marked(&token);
            assert_eq!(left, [0; 0], "{level}: left after cancels");
            counts.1 += sigkills(level, killed, &token, seed);
            let gone = eventually(Duration::from_secs(1), || marked(&token).is_empty());
            assert!(gone, "{level}: left after SIGKILL: {:?}", marked(&token));
        }
        eprintln!(
            "{} cancelled runs and {} killed callers in {:?} (seed {seed}): 0 survivors",
            counts.0,
            counts.1,
            began.elapsed()
        );
    });
}
