//! Time in which calls wait for a person: it is not theirs, so deadlines move by it.
//!
//! One count serves a call and all that are nested in it, since the outer ones wait along. The asker bounds the time that a person has.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long people have been waited for.
#[derive(Debug, Default)]
#[doc(hidden)]
pub struct Waits(Mutex<Count>);

#[derive(Debug, Default)]
struct Count {
    /// How many are being waited for.
    open: usize,
    /// Since when.
    since: Option<Instant>,
    /// Time of waits that are over; overlapping times count once.
    over: Duration,
}

/// A person is waited for until this is dropped.
#[derive(Debug)]
#[doc(hidden)]
pub struct Wait(Arc<Waits>);

impl Waits {
    pub(crate) fn begin(self: &Arc<Self>) -> Wait {
        let mut count = self.count();
        count.open += 1;
        count.since.get_or_insert_with(Instant::now);
        drop(count);
        Wait(Arc::clone(self))
    }

    /// All of it up to now.
    pub(crate) fn total(&self) -> Duration {
        let count = self.count();
        count.over + count.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn count(&self) -> MutexGuard<'_, Count> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        let mut count = self.0.count();
        count.open -= 1;
        if count.open == 0
            && let Some(since) = count.since.take()
        {
            count.over += since.elapsed();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_that_overlap_count_once_and_what_is_over_stays() {
        let waits = Arc::new(Waits::default());
        assert_eq!(waits.total(), Duration::ZERO);
        let began = Instant::now();
        let (one, two) = (waits.begin(), waits.begin());
        drop(one);
        let while_open = waits.total();
        drop(two);
        let after = waits.total();
        assert!(while_open <= after && after <= began.elapsed());
        assert_eq!(waits.total(), after, "no one is waited for any more");
        let _third = waits.begin();
        assert!(waits.total() >= after);
    }
}
