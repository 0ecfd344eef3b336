//! The three ways in which the kernel waits for futures; a crate of combinators would bring more packages than these have lines.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::Poll;

/// A future that is owned behind a pointer.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a future comes to, or with what it panicked. It is not polled again after that.
#[doc(hidden)]
pub async fn caught<F: Future>(future: F) -> std::thread::Result<F::Output> {
    let mut future = pin!(future);
    poll_fn(
        |task| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(task))) {
            Ok(polled) => polled.map(Ok),
            Err(panic) => Poll::Ready(Err(panic)),
        },
    )
    .await
}

/// What a future comes to, or `None` if the other one ends first.
pub(crate) async fn unless<F: Future>(
    ended: impl Future<Output = ()>,
    future: F,
) -> Option<F::Output> {
    let (mut ended, mut future) = (pin!(ended), pin!(future));
    poll_fn(|task| match ended.as_mut().poll(task) {
        Poll::Ready(()) => Poll::Ready(None),
        Poll::Pending => future.as_mut().poll(task).map(Some),
    })
    .await
}

/// What all futures come to, in the order in which they end; at most so many are under way at once.
///
/// Each wake-up polls all that are under way: meant for a handful.
pub(crate) async fn all<F: Future>(
    futures: impl IntoIterator<Item = F>,
    at_once: usize,
) -> Vec<F::Output> {
    let mut waiting = futures.into_iter();
    let mut running: Vec<Pin<Box<F>>> = Vec::new();
    let mut ended = Vec::new();
    poll_fn(|task| {
        loop {
            running.retain_mut(|future| match future.as_mut().poll(task) {
                Poll::Ready(output) => {
                    ended.push(output);
                    false
                }
                Poll::Pending => true,
            });
            let room = at_once.max(1) - running.len();
            let before = running.len();
            running.extend(waiting.by_ref().take(room).map(Box::pin));
            if running.is_empty() {
                return Poll::Ready(std::mem::take(&mut ended));
            }
            if running.len() == before {
                return Poll::Pending;
            }
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn so_many_futures_are_under_way_at_once_and_each_takes_the_place_of_one_that_ended() {
        let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let one = |number: u64| {
            let (running, most) = (&running, &most);
            async move {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_secs([9, 1, 1, 1, 0][number as usize])).await;
                running.fetch_sub(1, Ordering::SeqCst);
                number
            }
        };
        let begun = tokio::time::Instant::now();
        assert_eq!(all((0..5).map(one), 2).await, [1, 2, 3, 4, 0]);
        assert_eq!(most.load(Ordering::SeqCst), 2);
        assert_eq!(begun.elapsed().as_secs(), 9);
        assert_eq!(all((0..5).map(one), 0).await, [0, 1, 2, 3, 4]);
        assert_eq!(all((0..0).map(one), 3).await, [0; 0]);
    }

    #[tokio::test]
    async fn a_panic_is_caught_and_a_future_gives_way_to_the_one_that_ends_first() {
        assert_eq!(caught(async { 1 }).await.ok(), Some(1));
        assert!(caught(async { panic!("a bug") }).await.is_err());
        assert_eq!(unless(std::future::pending(), async { 1 }).await, Some(1));
        assert_eq!(unless(async {}, std::future::pending::<u8>()).await, None);
    }
}
