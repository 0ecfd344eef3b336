//! Reading what callers sent, or had sent to them, off the async threads: [`aside`].
//!
//! Reading is bounded, but a long text may still take a tenth of a second, and a server must not wait for that. So long texts are read on
//! separate threads, on half of the processors at most, and callers take turns.

use std::sync::LazyLock;
use std::time::Duration;

use super::fair::Fair;
use super::rate_limited;
use crate::model::caller::Caller;
use crate::model::error::ToolError;

/// Texts up to this long are read where they are: that takes less than a millisecond.
pub const SMALL: usize = 512;

static ROOM: LazyLock<Fair> = LazyLock::new(|| {
    let processors = std::thread::available_parallelism();
    Fair::new(processors.map_or(1, |processors| processors.get() / 2))
});

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
    let place = match ROOM.take() {
        Some(place) => place,
        None => ROOM.wait(caller).await.map_err(|_| {
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
