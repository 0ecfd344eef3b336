//! When work on a page has to end. It cannot be stopped from outside, so it looks at the clock itself.

use std::time::{Duration, Instant};

/// When work has to end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline(Option<Instant>);

impl Deadline {
    pub(super) fn never() -> Self {
        Deadline(None)
    }

    /// That much from now; a time too far to tell is never.
    pub(super) fn after(time: Duration) -> Self {
        Deadline(Instant::now().checked_add(time))
    }

    /// One that has passed.
    #[cfg(test)]
    pub(super) fn over() -> Self {
        Deadline(Some(Instant::now()))
    }

    pub(super) fn is_over(self) -> bool {
        self.0.is_some_and(|at| Instant::now() >= at)
    }
}
