//! What a connection is doing, seen at its socket: [`Watch`], [`Watched`].
//!
//! No connection has a timer. Each notes in one word what it is in the middle of and since when, which costs a few nanoseconds per
//! request; [`Connections`](super::connections::Connections) looks at all of them now and then and orders away what took too long.
//! A timer per read, the usual way, would be set and taken back a hundred thousand times a second.
//!
//! Invariant: the word of a connection is written by its own task alone; others only read it, and leave their order.

use std::io;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_util::task::AtomicWaker;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What the kernel may hold for a reader of a stream: one that does not read holds up no more than this. Linux doubles it.
const STREAM_BUFFER: usize = 32 * 1024;

/// What a connection is in the middle of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// It was accepted and has not sent a byte.
    Fresh,
    /// It has sent something, but no whole head of a request.
    Head,
    /// A request is being answered.
    Busy,
    /// Its last request is answered.
    Idle,
}

/// What a connection is told to do. What stands later wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Order {
    /// Go on.
    Serve,
    /// End when the request that is being answered is answered.
    Finish,
    /// End now.
    Drop,
}

/// What is known of a connection.
#[derive(Debug)]
pub(super) struct Watch {
    /// When time began.
    epoch: Instant,
    /// The phase, and since when: milliseconds, and two bits for the phase.
    state: AtomicU64,
    /// Since when the other end takes nothing, in milliseconds; zero if it takes everything.
    stalled: AtomicU64,
    /// Whether an answer is a stream, whose reader may stop reading.
    streams: AtomicBool,
    /// Whether keys are being agreed on.
    agrees: AtomicBool,
    order: AtomicU8,
    task: AtomicWaker,
}

impl Watch {
    pub(super) fn new(epoch: Instant) -> Self {
        let watch = Watch {
            epoch,
            state: AtomicU64::new(0),
            stalled: AtomicU64::new(0),
            streams: AtomicBool::new(false),
            agrees: AtomicBool::new(false),
            order: AtomicU8::new(0),
            task: AtomicWaker::new(),
        };
        watch.enter(Phase::Fresh);
        watch
    }

    fn now(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_millis()).unwrap_or(u64::MAX >> 2)
    }

    /// Begins a phase.
    pub(super) fn enter(&self, phase: Phase) {
        let bits = match phase {
            Phase::Fresh => 0,
            Phase::Head => 1,
            Phase::Busy => 2,
            Phase::Idle => 3,
        };
        self.state.store(self.now() << 2 | bits, Ordering::Relaxed);
    }

    /// What it is in the middle of, and since when.
    pub(super) fn state(&self) -> (Phase, Duration) {
        let state = self.state.load(Ordering::Relaxed);
        let phase = match state & 3 {
            0 => Phase::Fresh,
            1 => Phase::Head,
            2 => Phase::Busy,
            _ => Phase::Idle,
        };
        (phase, Duration::from_millis(state >> 2))
    }

    /// Since when the other end takes nothing of what is written.
    pub(super) fn stalled(&self) -> Option<Duration> {
        match self.stalled.load(Ordering::Relaxed) {
            0 => None,
            since => Some(Duration::from_millis(since)),
        }
    }

    /// Notes that the answer is a stream.
    pub(super) fn streams(&self) {
        self.streams.store(true, Ordering::Relaxed);
    }

    /// Notes that keys are being agreed on, or no longer.
    pub(super) fn agrees(&self, agrees: bool) {
        self.agrees.store(agrees, Ordering::Relaxed);
    }

    /// Whether keys are being agreed on.
    pub(super) fn is_agreeing(&self) -> bool {
        self.agrees.load(Ordering::Relaxed)
    }

    /// Whether an answer is, or was, a stream.
    pub(super) fn has_stream(&self) -> bool {
        self.streams.load(Ordering::Relaxed)
    }

    /// Tells the connection what to do, and says whether that is news; an order is never taken back.
    pub(super) fn order(&self, order: Order) -> bool {
        let bits = match order {
            Order::Serve => 0,
            Order::Finish => 1,
            Order::Drop => 2,
        };
        let before = self.order.fetch_max(bits, Ordering::AcqRel);
        self.task.wake();
        before < bits
    }

    /// What the connection is told; `cx` is woken when that changes.
    pub(super) fn ordered(&self, cx: &Context<'_>) -> Order {
        self.task.register(cx.waker());
        match self.order.load(Ordering::Acquire) {
            0 => Order::Serve,
            1 => Order::Finish,
            _ => Order::Drop,
        }
    }

    /// Bytes came.
    fn has_read(&self) {
        if matches!(self.state().0, Phase::Fresh | Phase::Idle) {
            self.enter(Phase::Head);
        }
    }

    /// The socket took something, or would not.
    fn has_written<T>(&self, result: &Poll<io::Result<T>>) {
        let stalled = self.stalled.load(Ordering::Relaxed);
        match (result.is_pending(), stalled) {
            (true, 0) => self.stalled.store(self.now().max(1), Ordering::Relaxed),
            (false, since) if since != 0 => self.stalled.store(0, Ordering::Relaxed),
            _ => {}
        }
    }
}

/// A socket that tells its [`Watch`] what passes.
#[derive(Debug)]
pub(super) struct Watched<S: AsFd> {
    socket: S,
    watch: Arc<Watch>,
    is_small: bool,
}

impl<S: AsFd> Watched<S> {
    pub(super) fn new(socket: S, watch: Arc<Watch>) -> Self {
        Watched {
            socket,
            watch,
            is_small: false,
        }
    }

    /// Keeps the kernel from holding megabytes for whoever reads a stream slowly.
    fn shrink(&mut self) {
        if !self.is_small && self.watch.streams.load(Ordering::Relaxed) {
            self.is_small = true;
            // Without it the buffer is larger, that is all.
            let _ = rustix::net::sockopt::set_socket_send_buffer_size(&self.socket, STREAM_BUFFER);
        }
    }
}

impl<S: AsFd> Drop for Watched<S> {
    fn drop(&mut self) {
        if self.watch.stalled().is_some() {
            // What the other end does not take is not kept for it: the kernel would go on offering it for minutes.
            let now = Some(Duration::ZERO);
            let _ = rustix::net::sockopt::set_socket_linger(&self.socket, now);
        }
    }
}

impl<S: AsyncRead + AsFd + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let result = Pin::new(&mut self.socket).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.watch.has_read();
        }
        result
    }
}

impl<S: AsyncWrite + AsFd + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.shrink();
        let result = Pin::new(&mut self.socket).poll_write(cx, bytes);
        self.watch.has_written(&result);
        result
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.shrink();
        let result = Pin::new(&mut self.socket).poll_write_vectored(cx, parts);
        self.watch.has_written(&result);
        result
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_order_wins_and_is_not_taken_back() {
        let watch = Watch::new(Instant::now());
        let cx = Context::from_waker(std::task::Waker::noop());
        assert_eq!(watch.ordered(&cx), Order::Serve);
        watch.order(Order::Drop);
        watch.order(Order::Finish);
        assert_eq!(watch.ordered(&cx), Order::Drop);
    }

    #[test]
    fn bytes_begin_a_head_only_between_requests() {
        let watch = Watch::new(Instant::now());
        watch.has_read();
        assert_eq!(watch.state().0, Phase::Head);
        watch.enter(Phase::Busy);
        watch.has_read();
        assert_eq!(watch.state().0, Phase::Busy);
        watch.enter(Phase::Idle);
        watch.has_read();
        assert_eq!(watch.state().0, Phase::Head);
    }

    #[test]
    fn a_socket_that_takes_a_byte_is_not_stalled() {
        let watch = Watch::new(Instant::now());
        watch.has_written::<()>(&Poll::Pending);
        let since = watch.stalled();
        assert!(since.is_some());
        watch.has_written::<()>(&Poll::Pending);
        assert_eq!(watch.stalled(), since);
        watch.has_written(&Poll::Ready(Ok(())));
        assert_eq!(watch.stalled(), None);
    }
}
