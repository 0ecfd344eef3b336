//! Admission: how many calls may run at once, and how many may start per minute.
//!
//! Waiting is bounded twice: by how many may wait, and by the call's own time. What cannot be
//! admitted is told when to come back, so that a flood costs memory for nobody.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::model::error::{ErrorCode, ToolError};
use crate::model::limits::Limits;

/// How many calls run at once over all tools, unless configured.
pub const DEFAULT_MAX_CONCURRENT: usize = 256;
/// How many calls of one tool may wait for a place.
const MAX_WAITING: u32 = 1024;

/// The gate in front of all tools of a registry.
#[derive(Debug)]
pub(crate) struct Gate {
    places: Arc<Semaphore>,
}

/// The gate in front of one tool.
#[derive(Debug)]
pub(crate) struct Meter {
    places: Arc<Semaphore>,
    waiting: AtomicU32,
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
            places: Arc::new(Semaphore::new(places.clamp(1, Semaphore::MAX_PERMITS))),
        }
    }
}

impl Meter {
    pub(crate) fn new(limits: &Limits) -> Self {
        let places = usize::try_from(limits.max_concurrent)
            .unwrap_or(usize::MAX)
            .clamp(1, Semaphore::MAX_PERMITS);
        Meter {
            places: Arc::new(Semaphore::new(places)),
            waiting: AtomicU32::new(0),
            rate: limits
                .max_calls_per_minute
                .map(|per_minute| Mutex::new(Bucket::new(per_minute))),
        }
    }

    /// Waits for a place. A nested call (without gate) takes one of the tool's if there is one, and
    /// never waits: its parent holds places, and parents that wait for children that wait for parents
    /// would wait for ever. How many there can be is bounded by their parents and by their depth.
    pub(crate) async fn admit(
        &self,
        gate: Option<&Gate>,
        patience: Duration,
    ) -> Result<Permit, ToolError> {
        if let Some(rate) = &self.rate {
            rate.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(Instant::now())
                .map_err(|wait| rate_limited("this tool may not be called so often", wait))?;
        }
        // The common case: there is room.
        if let Ok(tool) = Arc::clone(&self.places).try_acquire_owned() {
            match gate.map(|gate| Arc::clone(&gate.places).try_acquire_owned()) {
                None => {
                    return Ok(Permit {
                        _tool: Some(tool),
                        _all: None,
                    });
                }
                Some(Ok(all)) => {
                    return Ok(Permit {
                        _tool: Some(tool),
                        _all: Some(all),
                    });
                }
                Some(Err(_)) => {}
            }
        }
        let Some(gate) = gate else {
            return Ok(Permit {
                _tool: None,
                _all: None,
            });
        };
        let _waiting = Waiting::join(&self.waiting)?;
        match tokio::time::timeout(patience, self.wait(gate)).await {
            Ok(permit) => Ok(permit),
            Err(_) => Err(ToolError::new(
                ErrorCode::Timeout,
                format!(
                    "no place to run became free within {} ms",
                    patience.as_millis()
                ),
            )),
        }
    }

    async fn wait(&self, gate: &Gate) -> Permit {
        let closed = "semaphores are never closed";
        let tool = Arc::clone(&self.places)
            .acquire_owned()
            .await
            .expect(closed);
        let all = Arc::clone(&gate.places)
            .acquire_owned()
            .await
            .expect(closed);
        Permit {
            _tool: Some(tool),
            _all: Some(all),
        }
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

/// One of those who wait; leaves when dropped, also when its call is cancelled.
struct Waiting<'a>(&'a AtomicU32);

impl<'a> Waiting<'a> {
    fn join(count: &'a AtomicU32) -> Result<Self, ToolError> {
        let waiting = Waiting(count);
        if count.fetch_add(1, Ordering::Relaxed) >= MAX_WAITING {
            return Err(rate_limited(
                "too many calls of this tool are waiting",
                Duration::from_secs(1),
            ));
        }
        Ok(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
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

    #[tokio::test(start_paused = true)]
    async fn a_call_without_a_place_waits_and_then_gives_up() {
        let meter = Meter::new(&Limits {
            max_concurrent: 1,
            ..Limits::default()
        });
        let gate = Gate::new(8);
        let first = meter
            .admit(Some(&gate), Duration::from_secs(1))
            .await
            .unwrap();
        let refused = meter
            .admit(Some(&gate), Duration::from_secs(1))
            .await
            .unwrap_err();
        assert_eq!(refused.code(), ErrorCode::Timeout);
        drop(first);
        assert!(
            meter
                .admit(Some(&gate), Duration::from_secs(1))
                .await
                .is_ok()
        );
        assert_eq!(meter.waiting.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn too_many_waiting_are_told_to_come_back() {
        let meter = Meter::new(&Limits::default());
        let gate = Gate::new(1);
        let _held = meter.admit(Some(&gate), Duration::ZERO).await.unwrap();
        meter.waiting.store(MAX_WAITING, Ordering::Relaxed);
        let refused = meter
            .admit(Some(&gate), Duration::from_secs(1))
            .await
            .unwrap_err();
        assert_eq!(refused.code(), ErrorCode::RateLimited);
        assert!(refused.details().unwrap()["retryAfterMs"].as_u64().unwrap() > 0);
        assert_eq!(meter.waiting.load(Ordering::Relaxed), MAX_WAITING);
    }

    #[tokio::test]
    async fn nested_calls_need_no_place_at_the_gate() {
        let meter = Meter::new(&Limits::default());
        let gate = Gate::new(1);
        let _parent = meter.admit(Some(&gate), Duration::ZERO).await.unwrap();
        assert!(meter.admit(None, Duration::ZERO).await.is_ok());
    }
}
