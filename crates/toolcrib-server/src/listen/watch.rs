//! What a connection is doing, seen at its socket: [`Watch`], [`Watched`].
//!
//! No connection has a timer. Each notes in one word what it is in the middle of and since when, which costs a request some looks at
//! the clock; [`Connections`](super::connections::Connections) looks at all of them now and then and orders away what took too long.
//! A timer per read, the usual way, would be set and taken back several times for each request.
//!
//! Invariant: the word of a connection is written by its task alone; others only read it, and leave their order.

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

/// How much a peer has to take in a millisecond that it kept us waiting: a byte that is taken now and then does not renew the
/// whole deadline.
const RATE: u64 = 1;

/// How long a peer has to take everything before it counts as one that keeps up.
const KEPT_UP: u64 = 1000;

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

/// An order to a connection. The later one wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Order {
    /// Go on.
    Serve,
    /// End when the request that is being answered is answered.
    Finish,
    /// End now.
    Drop,
}

/// The state of a connection.
#[derive(Debug)]
pub(super) struct Watch {
    /// When time began.
    epoch: Instant,
    /// The phase, and since when: milliseconds, and two bits for the phase.
    state: AtomicU64,
    /// Since when the other end takes nothing, in milliseconds, less what it took since ([`RATE`]); zero if it takes everything.
    stalled: AtomicU64,
    /// Since when it has taken less than is there, with breaks shorter than [`KEPT_UP`]; zero if it never did.
    behind: AtomicU64,
    /// When it last took something after it would not, and how long it had kept us waiting then.
    taken: AtomicU64,
    owes: AtomicU64,
    /// Whether the body of a request is on its way.
    arrives: AtomicBool,
    /// Whether a request came with a good token.
    is_known: AtomicBool,
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
            behind: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            owes: AtomicU64::new(0),
            arrives: AtomicBool::new(false),
            is_known: AtomicBool::new(false),
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

    /// Gives the connection an order, and says whether that is news; an order is never taken back.
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

    /// The order to the connection; `cx` is woken when that changes.
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

    /// The socket took so many bytes, or would not.
    fn has_written(&self, result: &Poll<io::Result<usize>>) {
        let stalled = self.stalled.load(Ordering::Relaxed);
        match (result, stalled) {
            (Poll::Pending, 0) => self.stalls(self.now()),
            (Poll::Ready(result), since) if since != 0 => {
                let bytes = result.as_ref().map_or(0, |bytes| *bytes as u64);
                self.takes(self.now(), bytes);
            }
            _ => {}
        }
    }

    fn stalls(&self, now: u64) {
        let pause = now.saturating_sub(self.taken.load(Ordering::Relaxed));
        let owes = self.owes.load(Ordering::Relaxed).saturating_sub(pause);
        let since = now.saturating_sub(owes).max(1);
        self.stalled.store(since, Ordering::Relaxed);
        if self.behind.load(Ordering::Relaxed) == 0 || pause > KEPT_UP {
            self.behind.store(now.max(1), Ordering::Relaxed);
        }
    }

    fn takes(&self, now: u64, bytes: u64) {
        let since = self.stalled.swap(0, Ordering::Relaxed);
        let owes = now.saturating_sub(since).saturating_sub(bytes / RATE);
        self.owes.store(owes, Ordering::Relaxed);
        self.taken.store(now, Ordering::Relaxed);
    }

    /// Since when the other end has not kept up with what is written to it; `None` if it takes everything now.
    pub(super) fn behind(&self) -> Option<Duration> {
        self.stalled()?;
        let since = self.behind.load(Ordering::Relaxed);
        Some(Duration::from_millis(since))
    }

    /// Says whether the body of a request is on its way.
    pub(super) fn arrives(&self, arrives: bool) {
        self.arrives.store(arrives, Ordering::Relaxed);
    }

    /// Whether the body of a request is on its way.
    pub(super) fn is_arriving(&self) -> bool {
        self.arrives.load(Ordering::Relaxed)
    }

    /// A request came with a good token.
    pub(super) fn knows(&self) {
        self.is_known.store(true, Ordering::Relaxed);
    }

    /// Whether any request came with a good token.
    pub(super) fn is_known(&self) -> bool {
        self.is_known.load(Ordering::Relaxed)
    }
}

/// A socket that reports its traffic to its [`Watch`].
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

    /// Keeps the kernel from holding megabytes for a slow reader of a stream.
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
    fn what_a_peer_takes_is_credited_by_the_byte() {
        let watch = Watch::new(Instant::now());
        watch.stalls(1000);
        assert_eq!(watch.stalled(), Some(Duration::from_secs(1)));
        // One byte in ten seconds, and it stalls again.
        watch.takes(11_000, 1);
        assert_eq!(watch.stalled(), None);
        watch.stalls(11_000);
        assert_eq!(watch.stalled(), Some(Duration::from_millis(1001)));
        // As much as it should have taken.
        watch.takes(21_000, 20_000);
        watch.stalls(21_000);
        assert_eq!(watch.stalled(), Some(Duration::from_secs(21)));
        // It has not kept up since it first stalled, until it does for a while.
        assert_eq!(watch.behind(), Some(Duration::from_secs(1)));
        watch.takes(22_000, 1);
        watch.stalls(24_000);
        assert_eq!(watch.behind(), Some(Duration::from_secs(24)));
        assert_eq!(watch.stalled(), Some(Duration::from_secs(24)));
    }

    #[test]
    fn only_the_first_refusal_of_a_socket_counts() {
        let watch = Watch::new(Instant::now());
        watch.has_written(&Poll::Pending);
        let since = watch.stalled();
        assert!(since.is_some());
        watch.has_written(&Poll::Pending);
        assert_eq!(watch.stalled(), since);
        watch.has_written(&Poll::Ready(Ok(1)));
        assert_eq!(watch.stalled(), None);
    }
}
