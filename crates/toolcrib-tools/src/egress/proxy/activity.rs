//! [`Activity`]: whether anything still happens on a connection.

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

/// When something last went over a connection, in either direction. Clones share it.
#[derive(Clone)]
pub(super) struct Activity {
    began: Instant,
    /// Milliseconds after the beginning.
    last: Arc<AtomicU64>,
}

impl Default for Activity {
    fn default() -> Self {
        Activity {
            began: Instant::now(),
            last: Arc::default(),
        }
    }
}

impl Activity {
    fn note(&self) {
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(now, Ordering::Relaxed);
    }

    /// Works until the work is done, or nothing has happened for so long.
    pub(super) async fn until_still(&self, patience: Duration, work: impl Future<Output = ()>) {
        let mut work = pin!(work);
        loop {
            let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
            let deadline = self.began + last + patience;
            if tokio::time::timeout_at(deadline, poll_fn(|cx| work.as_mut().poll(cx)))
                .await
                .is_ok()
            {
                return;
            }
            let newest = Duration::from_millis(self.last.load(Ordering::Relaxed));
            if newest == last {
                return;
            }
        }
    }
}

/// A connection that notes when bytes go over it.
pub(super) struct Watched<T> {
    inner: T,
    activity: Activity,
}

impl<T> Watched<T> {
    pub(super) fn new(inner: T, activity: &Activity) -> Self {
        Watched {
            inner,
            activity: activity.clone(),
        }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Watched<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.activity.note();
        }
        read
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Watched<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, bytes);
        if written.is_ready() {
            self.activity.note();
        }
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(cx, bytes);
        if written.is_ready() {
            self.activity.note();
        }
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test(start_paused = true)]
    async fn what_makes_no_progress_is_given_up_and_what_moves_is_not() {
        let patience = Duration::from_secs(10);
        let activity = Activity::default();
        let (near, mut far) = tokio::io::duplex(64);
        let mut near = Watched::new(near, &activity);
        let began = Instant::now();
        let moving = async {
            for _ in 0..5 {
                tokio::time::sleep(Duration::from_secs(8)).await;
                near.write_all(b"x").await.unwrap();
                far.read_u8().await.unwrap();
            }
            std::future::pending::<()>().await;
        };
        activity.until_still(patience, moving).await;
        assert_eq!(began.elapsed().as_secs(), 50);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_done_is_not_waited_for() {
        let activity = Activity::default();
        let began = Instant::now();
        let work = tokio::time::sleep(Duration::from_secs(3));
        activity.until_still(Duration::from_secs(10), work).await;
        assert_eq!(began.elapsed().as_secs(), 3);
    }
}
