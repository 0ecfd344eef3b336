//! Reading what callers sent, or had sent to them, off the async threads: [`aside`], [`turn`].
//!
//! Reading is bounded, but a long text may still take a tenth of a second, and a server must not wait for that. So long texts are read on
//! separate threads, on half of the processors at most, and callers take turns. Answers of other servers, of which a page may take
//! seconds, have separate places: no one's arguments wait behind them.

use std::sync::LazyLock;
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;

use super::fair::Fair;
use super::rate_limited;
use crate::model::caller::Caller;
use crate::model::error::ToolError;

/// Texts up to this long are read where they are: that takes less than a millisecond.
pub const SMALL: usize = 512;

/// For what callers send.
static SENT: LazyLock<Fair> = LazyLock::new(|| Fair::new(half_of_processors()));

/// For what other servers answered. Its lines have no end: the calls in them have places already, and what was sent cannot be taken back.
static ANSWERS: LazyLock<Fair> = LazyLock::new(|| Fair::with_long_lines(half_of_processors()));

fn half_of_processors() -> usize {
    let processors = std::thread::available_parallelism();
    processors.map_or(1, |processors| processors.get() / 2)
}

/// A place for reading an answer, if one is free, or else when it is the caller's turn.
pub(crate) async fn turn(caller: &Caller) -> OwnedSemaphorePermit {
    match ANSWERS.take() {
        Some(place) => place,
        None => {
            let place = ANSWERS.wait(caller).await;
            place.expect("lines for answers have no end")
        }
    }
}

/// Does work that reads so many bytes for a caller. The error is that too much of the same caller's waits already. Work that has begun
/// is finished, whether or not the caller still waits for it.
pub async fn aside<T: Send + 'static>(
    caller: &Caller,
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ToolError> {
    if bytes <= SMALL {
        return Ok(work());
    }
    let place = match SENT.take() {
        Some(place) => place,
        None => SENT.wait(caller).await.map_err(|_| {
            let message = "too many of your long texts wait to be read";
            rate_limited(message, Duration::from_secs(1))
        })?,
    };
    let working = tokio::task::spawn_blocking(move || {
        let done = work();
        drop(place);
        done
    });
    match working.await {
        Ok(done) => Ok(done),
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        // The runtime shuts down, and this task with it.
        Err(_) => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::JoinSet;

    use super::*;

    /// More than the lines of other places hold.
    const MANY: usize = super::super::MAX_WAITING + 100;

    #[tokio::test]
    async fn what_callers_send_is_read_while_answers_fill_their_places() {
        let (attacker, other) = (Caller::Client("a".to_owned()), Caller::Cli);
        let mut held = Vec::new();
        while let Some(place) = ANSWERS.take() {
            held.push(place);
        }
        let mut waiting = JoinSet::new();
        for _ in 0..MANY {
            let attacker = attacker.clone();
            waiting.spawn(async move { drop(turn(&attacker).await) });
        }
        while ANSWERS.waiting() < MANY {
            tokio::task::yield_now().await;
        }
        // All of them wait, and arguments do not.
        let read = aside(&other, SMALL + 1, || 7);
        let read = tokio::time::timeout(Duration::from_secs(60), read).await;
        assert_eq!(read.expect("it has a place").unwrap(), 7);
        drop(held);
        // None of them was refused.
        assert_eq!(waiting.join_all().await.len(), MANY);
    }
}
