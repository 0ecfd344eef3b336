//! Admission: how many calls may run at once, and how many may start per minute.
//!
//! Waiting is bounded twice: by how many of a caller may wait, and by the call's own time. A call that cannot be admitted learns when to
//! come back, so that a flood costs memory for no one. Callers take turns: a late caller waits for one place to become free,
//! not for the flood of someone else. Calls per minute are counted by a [`RateStore`] for all processes that share one.

mod aside;
mod fair;
mod rate;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;

use crate::model::caller::Caller;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::limits::Limits;
use crate::spec::ToolSpec;
use fair::Fair;
use rate::Own;

pub(crate) use aside::turn;
pub use aside::{SMALL, aside};
pub use rate::{Bucket, RateStore};

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
    rate: Option<Rate>,
}

#[derive(Debug)]
struct Rate {
    per_minute: u32,
    /// What this process counts, where it shares with none.
    own: Mutex<Own>,
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
            rate: limits.max_calls_per_minute.map(|per_minute| Rate {
                per_minute,
                own: Mutex::new(Own::new(per_minute)),
            }),
        }
    }

    /// Counts a call of a tool that may be called so often per minute.
    pub(crate) async fn count(
        &self,
        tool: &Arc<ToolSpec>,
        shared: Option<&Arc<dyn RateStore>>,
    ) -> Result<(), ToolError> {
        let Some(rate) = &self.rate else {
            return Ok(());
        };
        let per_minute = rate.per_minute;
        let shared = match shared.map(Arc::clone) {
            Some(shared) => {
                let tool = Arc::clone(tool);
                // It waits for other processes.
                let counting = tokio::task::spawn_blocking(move || shared.count(&tool, per_minute));
                counting.await.ok().and_then(Result::ok)
            }
            None => None,
        };
        let counted = shared.unwrap_or_else(|| {
            let mut own = rate.own.lock().unwrap_or_else(PoisonError::into_inner);
            own.take(per_minute)
        });
        counted.map_err(|wait| rate_limited("this tool may not be called so often", wait))
    }

    /// Takes a place for a call if there is one. A nested call (without gate) takes one of the tool's if there is one, and
    /// never waits: its parent holds places, and parents that wait for children that wait for parents
    /// would wait for ever. How many there can be is bounded by their parents and by their depth.
    pub(crate) fn admit_now(&self, gate: Option<&Gate>) -> Option<Permit> {
        let tool = self.places.take();
        let Some(gate) = gate else {
            return Some(Permit {
                _tool: tool,
                _all: None,
            });
        };
        let tool = tool?;
        let all = gate.places.take()?;
        Some(Permit {
            _tool: Some(tool),
            _all: Some(all),
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    impl Meter {
        async fn admit(
            &self,
            gate: Option<&Gate>,
            caller: &Caller,
            patience: Duration,
        ) -> Result<Permit, ToolError> {
            match self.admit_now(gate) {
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
