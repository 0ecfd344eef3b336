//! Admission: how many calls may run at once, and how many may start per minute.
//!
//! Waiting is bounded twice: by how many of a caller may wait, and by the call's own time. A call that cannot be admitted learns when to
//! come back, so that a flood costs memory for no one. Callers take turns: a late caller waits for one place to become free,
//! not for the flood of someone else.

mod aside;
mod fair;

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::OwnedSemaphorePermit;

use crate::model::caller::Caller;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::limits::Limits;
use fair::Fair;

pub use aside::{SMALL, aside};

/// How many calls run at once over all tools, unless configured.
pub const DEFAULT_MAX_CONCURRENT: usize = 256;
/// How many calls of one caller may wait for a place of a tool.
const MAX_WAITING: usize = 1024;

/// The gate in front of all tools of a registry.
#[derive(Debug)]
pub(crate) struct Gate {
    places: Fair,
}

/// The gate in front of one tool.
#[derive(Debug)]
pub(crate) struct Meter {
    places: Fair,
    rate: Option<Mutex<Bucket>>,
}

/// The right to run; given back when dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    _tool: Option<OwnedSemaphorePermit>,
    _all: Option<OwnedSemaphorePermit>,
}

impl Gate {
    pub(crate) fn new(places: usize) -> Self {
        Gate {
            places: Fair::new(places),
        }
    }
}

impl Meter {
    pub(crate) fn new(limits: &Limits) -> Self {
        let places = usize::try_from(limits.max_concurrent).unwrap_or(usize::MAX);
        Meter {
            places: Fair::new(places),
            rate: limits
                .max_calls_per_minute
                .map(|per_minute| Mutex::new(Bucket::new(per_minute))),
        }
    }

    /// Counts the call, and takes a place for it if there is one. A nested call (without gate) takes one of the tool's if there is one, and
    /// never waits: its parent holds places, and parents that wait for children that wait for parents
    /// would wait for ever. How many there can be is bounded by their parents and by their depth.
    pub(crate) fn admit_now(&self, gate: Option<&Gate>) -> Result<Option<Permit>, ToolError> {
        if let Some(rate) = &self.rate {
            rate.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(Instant::now())
                .map_err(|wait| rate_limited("this tool may not be called so often", wait))?;
        }
        let tool = self.places.take();
        let Some(gate) = gate else {
            return Ok(Some(Permit {
                _tool: tool,
                _all: None,
            }));
        };
        let Some(tool) = tool else { return Ok(None) };
        let all = gate.places.take();
        Ok(all.map(|all| Permit {
            _tool: Some(tool),
            _all: Some(all),
        }))
    }

    /// Waits for a place, for a call that has been counted.
    pub(crate) async fn wait(
        &self,
        gate: &Gate,
        caller: &Caller,
        patience: Duration,
    ) -> Result<Permit, ToolError> {
        let wait = async {
            let tool = self.places.wait(caller).await?;
            let all = gate.places.wait(caller).await?;
            Ok(Permit {
                _tool: Some(tool),
                _all: Some(all),
            })
        };
        tokio::time::timeout(patience, wait)
            .await
            .unwrap_or_else(|_| {
                Err(ToolError::new(
                    ErrorCode::Timeout,
                    format!(
                        "no place to run became free within {} ms",
                        patience.as_millis()
                    ),
                ))
            })
    }
}

fn rate_limited(why: &str, wait: Duration) -> ToolError {
    let millis = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1);
    ToolError::new(
        ErrorCode::RateLimited,
        format!("{why}; try again in {millis} ms"),
    )
    .with_detail("retryAfterMs", millis)
}

/// A token bucket: `per_minute` calls may come at once, then one every 60/`per_minute` seconds.
#[derive(Debug)]
struct Bucket {
    per_minute: f64,
    tokens: f64,
    filled: Instant,
}

impl Bucket {
    fn new(per_minute: u32) -> Self {
        Bucket {
            per_minute: f64::from(per_minute),
            tokens: f64::from(per_minute),
            filled: Instant::now(),
        }
    }

    /// Takes a token, or says how long until there is one.
    fn take(&mut self, now: Instant) -> Result<(), Duration> {
        let minutes = now.saturating_duration_since(self.filled).as_secs_f64() / 60.0;
        self.tokens = (self.tokens + minutes * self.per_minute).min(self.per_minute);
        self.filled = now;
        if self.tokens >= 1.0 {
            self.tokens -= 1.0;
            return Ok(());
        }
        if self.per_minute == 0.0 {
            return Err(Duration::from_secs(60));
        }
        Err(Duration::from_secs_f64(
            (1.0 - self.tokens) * 60.0 / self.per_minute,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_lets_a_burst_through_and_then_one_at_a_time() {
        let mut bucket = Bucket::new(3);
        let start = bucket.filled;
        for _ in 0..3 {
            assert_eq!(bucket.take(start), Ok(()));
        }
        let wait = bucket.take(start).unwrap_err();
        assert_eq!(wait, Duration::from_secs(20));
        assert!(bucket.take(start + Duration::from_secs(19)).is_err());
        assert_eq!(bucket.take(start + Duration::from_secs(21)), Ok(()));
        assert!(Bucket::new(0).take(start).is_err());
    }

    impl Meter {
        async fn admit(
            &self,
            gate: Option<&Gate>,
            caller: &Caller,
            patience: Duration,
        ) -> Result<Permit, ToolError> {
            match self.admit_now(gate)? {
                Some(permit) => Ok(permit),
                None => self.wait(gate.unwrap(), caller, patience).await,
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_without_a_place_waits_and_then_gives_up() {
        let meter = Meter::new(&Limits {
            max_concurrent: 1,
            ..Limits::default()
        });
        let gate = Gate::new(8);
        let first = meter
            .admit(Some(&gate), &Caller::Cli, Duration::from_secs(1))
            .await
            .unwrap();
        let refused = meter
            .admit(Some(&gate), &Caller::Cli, Duration::from_secs(1))
            .await
            .unwrap_err();
        assert_eq!(refused.code(), ErrorCode::Timeout);
        drop(first);
        assert!(
            meter
                .admit(Some(&gate), &Caller::Cli, Duration::from_secs(1))
                .await
                .is_ok()
        );
        assert_eq!(meter.places.waiting(), 0);
    }

    #[tokio::test]
    async fn too_many_waiting_of_one_caller_are_asked_to_come_back() {
        let meter = Meter::new(&Limits {
            max_concurrent: 1,
            ..Limits::default()
        });
        let gate = Gate::new(1);
        let _held = meter
            .admit(Some(&gate), &Caller::Cli, Duration::ZERO)
            .await
            .unwrap();
        let wait = |caller| Box::pin(meter.admit(Some(&gate), caller, Duration::from_secs(60)));
        let mut waiting: Vec<_> = (0..MAX_WAITING).map(|_| wait(&Caller::Cli)).collect();
        for call in &mut waiting {
            assert!(futures_util::poll!(call).is_pending());
        }
        let refused = wait(&Caller::Cli).await.unwrap_err();
        assert_eq!(refused.code(), ErrorCode::RateLimited);
        assert!(refused.details().unwrap()["retryAfterMs"].as_u64().unwrap() > 0);
        let mut other = wait(&Caller::Operator);
        assert!(futures_util::poll!(&mut other).is_pending(), "not refused");
    }

    #[tokio::test]
    async fn nested_calls_need_no_place_at_the_gate() {
        let meter = Meter::new(&Limits::default());
        let gate = Gate::new(1);
        let _parent = meter
            .admit(Some(&gate), &Caller::Cli, Duration::ZERO)
            .await
            .unwrap();
        assert!(
            meter
                .admit(None, &Caller::Tool, Duration::ZERO)
                .await
                .is_ok()
        );
    }
}
