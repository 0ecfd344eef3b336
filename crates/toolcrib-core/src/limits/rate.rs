//! How often a tool may be called: [`Bucket`], and [`RateStore`] where processes share it.
//!
//! As many calls as a minute allows may come at once, then one every 60/n seconds.

use std::io;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::spec::ToolSpec;

/// Counts calls per minute for all processes that share it. Only calls of tools that have such a limit come here.
pub trait RateStore: Send + Sync + 'static {
    /// Counts a call, or says how long until one may be made. May block for as long as another process counts. An error says that
    /// the store cannot be used: the call is then counted by this process alone.
    fn count(&self, tool: &ToolSpec, per_minute: u32) -> io::Result<Result<(), Duration>>;
}

/// The calls that a tool has left.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bucket {
    left: f64,
}

impl Bucket {
    /// One from which no call was taken lately.
    pub fn full(per_minute: u32) -> Self {
        Bucket {
            left: f64::from(per_minute),
        }
    }

    /// Takes a call so long after the last one, or says how long until there is one. What was refused counts for nothing, but the
    /// time that went by is then counted: the next call is after this one.
    pub fn take(&mut self, per_minute: u32, since: Duration) -> Result<(), Duration> {
        let most = f64::from(per_minute);
        self.left = (self.left + since.as_secs_f64() / 60.0 * most).clamp(0.0, most);
        if self.left >= 1.0 {
            self.left -= 1.0;
            return Ok(());
        }
        if per_minute == 0 {
            return Err(Duration::from_secs(60));
        }
        Err(Duration::from_secs_f64((1.0 - self.left) * 60.0 / most))
    }
}

/// A bucket of this process.
#[derive(Debug)]
pub(super) struct Own {
    bucket: Bucket,
    at: Instant,
}

impl Own {
    pub(super) fn new(per_minute: u32) -> Self {
        Own {
            bucket: Bucket::full(per_minute),
            at: Instant::now(),
        }
    }

    pub(super) fn take(&mut self, per_minute: u32) -> Result<(), Duration> {
        let now = Instant::now();
        let since = now.saturating_duration_since(self.at);
        self.at = now;
        self.bucket.take(per_minute, since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_lets_a_burst_through_and_then_one_at_a_time() {
        let mut bucket = Bucket::full(3);
        for _ in 0..3 {
            assert_eq!(bucket.take(3, Duration::ZERO), Ok(()));
        }
        let wait = bucket.take(3, Duration::ZERO).unwrap_err();
        assert_eq!(wait, Duration::from_secs(20));
        assert!(bucket.take(3, Duration::from_secs(19)).is_err());
        assert_eq!(bucket.take(3, Duration::from_secs(2)), Ok(()));
        assert!(Bucket::full(0).take(0, Duration::ZERO).is_err());
    }
}
