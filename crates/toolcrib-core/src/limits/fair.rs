//! [`Fair`]: places that callers take turns at.
//!
//! Where there is room, no call waits. Otherwise the calls of each caller wait in a line, and one of all the waiting calls is in front,
//! waiting for the next place; after it comes the first call of the next caller.
//!
//! Invariants: there is a first in line as long as any call waits; a call that stops waiting makes room for the next.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::{MAX_WAITING, rate_limited};
use crate::model::caller::Caller;
use crate::model::error::ToolError;

/// Places that callers take turns at.
#[derive(Debug)]
pub(super) struct Fair {
    places: Arc<Semaphore>,
    /// How many wait, including the first in line.
    waiting: AtomicUsize,
    lines: Mutex<Lines>,
    /// How many calls of one caller may wait.
    longest: usize,
}

/// Those of one caller that wait, each with its number.
type Line = VecDeque<(u64, oneshot::Sender<()>)>;

#[derive(Debug, Default)]
struct Lines {
    /// Whether someone is in front.
    is_led: bool,
    /// The waiting calls by caller; the next caller comes first. No line is empty.
    turns: VecDeque<(Caller, Line)>,
    next: u64,
}

/// One of those who wait: in a line, or in front.
struct Turn<'a> {
    fair: &'a Fair,
    number: u64,
}

impl Fair {
    pub(super) fn new(places: usize) -> Self {
        Fair {
            places: Arc::new(Semaphore::new(places.clamp(1, Semaphore::MAX_PERMITS))),
            waiting: AtomicUsize::new(0),
            lines: Mutex::default(),
            longest: MAX_WAITING,
        }
    }

    /// Places at which no caller is refused.
    pub(super) fn with_long_lines(places: usize) -> Self {
        Fair {
            longest: usize::MAX,
            ..Fair::new(places)
        }
    }

    /// Takes a place if there is one and no one waits for it.
    pub(super) fn take(&self) -> Option<OwnedSemaphorePermit> {
        if self.waiting() > 0 {
            return None;
        }
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// Waits for a place. Dropping the future gives up the wait, and nothing else.
    pub(super) async fn wait(&self, caller: &Caller) -> Result<OwnedSemaphorePermit, ToolError> {
        let (turn, behind) = self.join(caller)?;
        if let Some(behind) = behind {
            // The sender goes only by being used, as long as the turn is kept.
            let _ = behind.await;
        }
        let place = Arc::clone(&self.places).acquire_owned().await;
        drop(turn);
        Ok(place.expect("semaphores are never closed"))
    }

    /// How many wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place in front, or in the caller's line.
    fn join(
        &self,
        caller: &Caller,
    ) -> Result<(Turn<'_>, Option<oneshot::Receiver<()>>), ToolError> {
        let mut lines = self.lines();
        let number = lines.next;
        lines.next += 1;
        let behind = if lines.is_led {
            let (sender, receiver) = oneshot::channel();
            match lines.turns.iter_mut().find(|(known, _)| known == caller) {
                Some((_, line)) if line.len() + 1 >= self.longest => {
                    return Err(rate_limited(
                        "too many calls of this tool are waiting",
                        Duration::from_secs(1),
                    ));
                }
                Some((_, line)) => line.push_back((number, sender)),
                None => {
                    let line = VecDeque::from([(number, sender)]);
                    lines.turns.push_back((caller.clone(), line));
                }
            }
            Some(receiver)
        } else {
            lines.is_led = true;
            None
        };
        self.waiting.fetch_add(1, Ordering::Relaxed);
        Ok((Turn { fair: self, number }, behind))
    }
}

impl Lines {
    /// Leaves a line; false for a call that is in none.
    fn leave(&mut self, number: u64) -> bool {
        for (at, (_, line)) in self.turns.iter_mut().enumerate() {
            // In the order of their numbers.
            let Ok(place) = line.binary_search_by_key(&number, |(number, _)| *number) else {
                continue;
            };
            line.remove(place);
            if line.is_empty() {
                self.turns.remove(at);
            }
            return true;
        }
        false
    }

    /// Sends the next one to the front.
    fn advance(&mut self) {
        self.is_led = false;
        let Some((caller, mut line)) = self.turns.pop_front() else {
            return;
        };
        let first = line.pop_front();
        if !line.is_empty() {
            self.turns.push_back((caller, line));
        }
        if let Some((_, sender)) = first {
            self.is_led = true;
            // A call in a line listens: it leaves the line, in the lock, before it goes.
            let _ = sender.send(());
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut lines = self.fair.lines();
        self.fair.waiting.fetch_sub(1, Ordering::Relaxed);
        if !lines.leave(self.number) {
            lines.advance();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use proptest::prelude::*;

    use super::*;

    type Entering = Pin<Box<dyn Future<Output = OwnedSemaphorePermit>>>;

    fn caller(number: usize) -> Caller {
        match number {
            0 => Caller::Operator,
            number => Caller::Client(format!("client{number}")),
        }
    }

    fn entering(fair: &Arc<Fair>, who: usize) -> Entering {
        let fair = Arc::clone(fair);
        Box::pin(async move { fair.wait(&caller(who)).await.unwrap() })
    }

    fn poll(entering: &mut Entering) -> Option<OwnedSemaphorePermit> {
        match entering
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            Poll::Ready(place) => Some(place),
            Poll::Pending => None,
        }
    }

    #[test]
    fn a_late_caller_waits_for_a_turn_and_not_for_the_flood() {
        let fair = Arc::new(Fair::new(2));
        let mut held = vec![fair.take().unwrap(), fair.take().unwrap()];
        let mut flood: Vec<Entering> = (0..100).map(|_| entering(&fair, 1)).collect();
        assert!(flood.iter_mut().all(|call| poll(call).is_none()));
        let mut late = entering(&fair, 2);
        assert!(poll(&mut late).is_none());
        // One of the flood is in front already, and one more may have its turn before.
        held.clear();
        let _first = poll(&mut flood[0]).unwrap();
        let second = poll(&mut flood[1]);
        let third = poll(&mut late).or_else(|| {
            drop(second);
            poll(&mut late)
        });
        assert!(third.is_some());
        assert!(fair.take().is_none(), "no one passes those who wait");
        drop((flood, late));
        assert_eq!(fair.waiting(), 0);
    }

    proptest! {
        /// With one place, waiting calls are served in the order of a list of lines, whichever of them give up.
        #[test]
        fn turns_go_as_a_plain_model_says(steps in proptest::collection::vec((0..4_usize, 0..8_usize), 1..60)) {
            let fair = Arc::new(Fair::new(1));
            let mut held = fair.take();
            let mut waiting: Vec<(usize, Entering)> = Vec::new();
            // The first in line, and the lines behind it, by number of the call.
            let mut front: Option<usize> = None;
            let mut lines: Vec<(usize, Vec<usize>)> = Vec::new();
            let mut gone = Vec::new();
            let advance = |front: &mut Option<usize>, lines: &mut Vec<(usize, Vec<usize>)>| {
                *front = None;
                if !lines.is_empty() {
                    let (who, mut line) = lines.remove(0);
                    *front = Some(line.remove(0));
                    if !line.is_empty() {
                        lines.push((who, line));
                    }
                }
            };
            for (who, what) in steps {
                if what < 5 {
                    let mut call = entering(&fair, who);
                    prop_assert!(poll(&mut call).is_none());
                    let number = waiting.len();
                    waiting.push((who, call));
                    if front.is_none() {
                        front = Some(number);
                    } else if let Some((_, line)) = lines.iter_mut().find(|(known, _)| *known == who) {
                        line.push(number);
                    } else {
                        lines.push((who, vec![number]));
                    }
                } else if what == 5 {
                    // Someone gives up.
                    let Some(number) = (0..waiting.len()).rev().find(|number| !gone.contains(number)) else { continue };
                    gone.push(number);
                    waiting[number].1 = Box::pin(std::future::pending());
                    if front == Some(number) {
                        advance(&mut front, &mut lines);
                    } else {
                        lines.iter_mut().for_each(|(_, line)| line.retain(|other| *other != number));
                        lines.retain(|(_, line)| !line.is_empty());
                    }
                } else {
                    // The place becomes free. Everybody looks twice: being sent to the front is not yet being in.
                    held = None;
                    for _ in 0..2 {
                        for (number, (_, call)) in waiting.iter_mut().enumerate() {
                            if gone.contains(&number) || held.is_some() {
                                continue;
                            }
                            if let Some(place) = poll(call) {
                                prop_assert_eq!(front, Some(number));
                                held = Some(place);
                                gone.push(number);
                            }
                        }
                    }
                    prop_assert_eq!(held.is_some(), front.is_some());
                    if front.is_some() {
                        advance(&mut front, &mut lines);
                    } else {
                        held = fair.take();
                        prop_assert!(held.is_some());
                    }
                }
                prop_assert_eq!(fair.waiting(), waiting.len() - gone.len());
            }
            drop(waiting);
            drop(held);
            prop_assert_eq!(fair.waiting(), 0);
            prop_assert!(fair.take().is_some());
        }
    }
}
