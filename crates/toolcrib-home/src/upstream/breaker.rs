//! When a server that failed is tried again: [`Breaker`], pure, told what time it is.
//!
//! A failure is a connection that did not come about, or that broke. After the first few the next try waits a little, and calls wait with it;
//! after [`TRIPS`] in a row the breaker is open: calls fail at once until a pause is over, then one of them tries (half open). Connecting alone
//! proves little, since a server may die at every call; the count begins again when a call was answered.

use std::time::Duration;

use tokio::time::Instant;

/// From how many failures in a row on calls fail at once.
pub(super) const TRIPS: u32 = 3;
/// The pause after the first failure; it doubles with each further one.
const FIRST: Duration = Duration::from_millis(250);
/// The longest pause.
const LONGEST: Duration = Duration::from_secs(60);

/// Counts failures in a row.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    failures: u32,
    /// When it may be tried again.
    until: Option<Instant>,
    /// What the last failure was.
    last: String,
}

/// The next step of a caller that wants to connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Turn {
    /// Connects now.
    Go,
    /// Connects after this pause.
    Wait(Duration),
    /// Does not: it is too often that it failed.
    Open {
        /// When someone may try again.
        pause: Duration,
        /// How often it failed in a row.
        failures: u32,
        /// What the last failure was.
        last: String,
    },
}

impl Breaker {
    /// The next step of a caller that wants to connect now.
    pub(super) fn turn(&self, now: Instant) -> Turn {
        let pause = self
            .until
            .map_or(Duration::ZERO, |until| until.saturating_duration_since(now));
        match (pause.is_zero(), self.failures >= TRIPS) {
            (true, _) => Turn::Go,
            (false, false) => Turn::Wait(pause),
            (false, true) => Turn::Open {
                pause,
                failures: self.failures,
                last: self.last.clone(),
            },
        }
    }

    /// Notes a failure. `jitter` is from 0 to 1: not all who wait come back at once.
    pub(super) fn failed(&mut self, now: Instant, why: String, jitter: f64) {
        self.failures = self.failures.saturating_add(1);
        let doubled = FIRST.saturating_mul(1 << (self.failures - 1).min(16));
        let pause = doubled.min(LONGEST);
        // From 80 to 120 of a hundred.
        let pause = pause.mul_f64(0.8 + 0.4 * jitter.clamp(0.0, 1.0));
        self.until = Some(now + pause);
        self.last = why;
    }

    /// Notes that a call was answered: all is well.
    pub(super) fn worked(&mut self) {
        *self = Breaker::default();
    }

    /// How often it failed in a row, and how the last time.
    pub(super) fn state(&self) -> (u32, &str) {
        (self.failures, &self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_waits_longer_each_time_then_opens_and_one_tries_when_the_pause_is_over() {
        let mut breaker = Breaker::default();
        let mut now = Instant::now();
        assert_eq!(breaker.turn(now), Turn::Go);
        breaker.failed(now, "a".into(), 0.5);
        assert_eq!(breaker.turn(now), Turn::Wait(FIRST));
        now += FIRST;
        assert_eq!(breaker.turn(now), Turn::Go);
        breaker.failed(now, "b".into(), 0.5);
        assert_eq!(breaker.turn(now), Turn::Wait(FIRST * 2));
        breaker.failed(now, "c".into(), 0.5);
        let Turn::Open {
            pause,
            failures,
            last,
        } = breaker.turn(now)
        else {
            panic!("it is closed");
        };
        assert_eq!((pause, failures, last.as_str()), (FIRST * 4, 3, "c"));
        now += FIRST * 4;
        assert_eq!(breaker.turn(now), Turn::Go);
        for _ in 0..100 {
            breaker.failed(now, "d".into(), 1.0);
        }
        assert!(
            matches!(breaker.turn(now), Turn::Open { pause, .. } if pause <= LONGEST.mul_f64(1.2))
        );
        breaker.worked();
        assert_eq!(breaker.turn(now), Turn::Go);
        assert_eq!(breaker.state(), (0, ""));
    }
}
