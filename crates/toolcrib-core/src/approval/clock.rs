//! The time approvals go by: [`Clock`], which no one can set back or forward.
//!
//! A moment is the boot it is in and the time since that boot, suspended time included (`CLOCK_BOOTTIME`). Moments of
//! different boots cannot be compared, so whatever was to end in an earlier boot has ended. The wall clock is for people
//! only: it jumps.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::boot::{boot_id, since_boot};
use super::millis;

/// A moment of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Moment {
    /// Which boot.
    pub boot: String,
    /// Milliseconds since the boot.
    pub ms: u64,
}

impl Moment {
    /// A moment later by this much.
    #[must_use]
    pub fn after(&self, duration: Duration) -> Moment {
        Moment {
            boot: self.boot.clone(),
            ms: self.ms.saturating_add(millis(duration)),
        }
    }

    /// How long from `now` until this moment; `None` when it has come, or was in another boot.
    pub fn remaining(&self, now: &Moment) -> Option<Duration> {
        let left = self.ms.checked_sub(now.ms).filter(|left| *left > 0)?;
        (self.boot == now.boot).then(|| Duration::from_millis(left))
    }

    /// How long ago this moment was; `None` when it was in another boot, or is still to come.
    pub fn elapsed(&self, now: &Moment) -> Option<Duration> {
        let since = now.ms.checked_sub(self.ms)?;
        (self.boot == now.boot).then(|| Duration::from_millis(since))
    }
}

/// Returns the time.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Moment + Send + Sync>);

impl Clock {
    /// One's own clock, for tests.
    pub fn by(tell: impl Fn() -> Moment + Send + Sync + 'static) -> Self {
        Clock(Arc::new(tell))
    }

    /// Now.
    pub fn now(&self) -> Moment {
        (self.0)()
    }
}

impl Default for Clock {
    /// This machine's clock.
    fn default() -> Self {
        Clock::by(|| Moment {
            boot: boot_id().to_owned(),
            ms: since_boot(),
        })
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Clock({:?})", self.now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(boot: &str, ms: u64) -> Moment {
        Moment {
            boot: boot.to_owned(),
            ms,
        }
    }

    #[test]
    fn what_was_to_end_in_another_boot_has_ended() {
        let end = moment("a", 1000);
        assert_eq!(
            end.remaining(&moment("a", 400)),
            Some(Duration::from_millis(600))
        );
        assert_eq!(end.remaining(&moment("a", 1000)), None);
        assert_eq!(end.remaining(&moment("b", 400)), None);
        assert_eq!(end.elapsed(&moment("b", 4000)), None);
    }

    #[test]
    fn the_machines_clock_goes_forward_within_one_boot() {
        let clock = Clock::default();
        let (first, second) = (clock.now(), clock.now());
        assert_eq!(first.boot, second.boot);
        assert!(second.ms >= first.ms && first.ms > 0);
        assert_eq!(first.boot.len(), 36, "{}", first.boot);
    }
}
