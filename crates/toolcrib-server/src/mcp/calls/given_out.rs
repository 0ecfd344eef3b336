//! Which states were given out: [`GivenOut`], so that none begins a call.
//!
//! A state belongs to the call it was made for. As long as that call is known it is found by its id; when it is over and its outcome was
//! handed over, a state that comes again must not look like one of another process, whose call would be made again. The memory is bounded:
//! a state that was forgotten is judged by the approval queue alone, where no question is answered twice.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// How many calls are remembered.
const MAX_CALLS: usize = 4096;

/// The calls that states were made for, with when the last state of each ends, in Unix seconds.
#[derive(Default)]
pub(super) struct GivenOut(Mutex<HashMap<String, i64>>);

impl GivenOut {
    /// A state was made for a call.
    pub(super) fn add(&self, call: &str, expires: i64, now: i64) {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if calls.len() >= MAX_CALLS {
            calls.retain(|_, expires| *expires >= now);
        }
        // All of them count still: the one that ends first goes.
        if calls.len() >= MAX_CALLS
            && let Some(first) = calls.iter().min_by_key(|(_, expires)| **expires)
        {
            let first = first.0.clone();
            calls.remove(&first);
        }
        let ends = calls.entry(call.to_owned()).or_insert(expires);
        *ends = expires.max(*ends);
    }

    /// Whether one was.
    pub(super) fn has(&self, call: &str) -> bool {
        let calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls.contains_key(call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_bounded_and_the_first_to_end_goes_first() {
        let given = GivenOut::default();
        for number in 0..=MAX_CALLS {
            let number = i64::try_from(number).unwrap();
            given.add(&number.to_string(), 100 + number, 0);
        }
        assert!(!given.has("0"));
        assert!(given.has("1"));
        given.add("new", 1_000_000, 999_999);
        assert!(!given.has("1") && given.has("new"));
    }
}
