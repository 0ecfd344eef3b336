//! A call that goes on when its client goes: [`GoesOn`].
//!
//! It is polled where its request is. Only when the request is dropped does it move to a task, where it ends as it should: its processes
//! end, its record is written. A call that panicked is not polled again, on that task or elsewhere.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use toolcrib::Outcome;

/// What to do about a call when its client goes before it ends.
pub(crate) trait Leave: Unpin {
    /// Cancels the call if that is wanted. The call is dropped, not run on, if this returns `false`.
    fn leave(&self) -> bool;
}

/// Cancels the call if there is a token; either way the call ends on its own task.
impl Leave for Option<CancellationToken> {
    fn leave(&self) -> bool {
        if let Some(cancel) = self {
            cancel.cancel();
        }
        true
    }
}

/// The future of a call that moves to its own task when it is dropped before it ends.
pub(crate) struct GoesOn<L: Leave> {
    call: Option<BoxFuture<'static, Outcome>>,
    /// What happens if the client goes.
    pub(crate) on_leave: L,
}

impl<L: Leave> GoesOn<L> {
    pub(crate) fn new(call: BoxFuture<'static, Outcome>, on_leave: L) -> Self {
        GoesOn {
            call: Some(call),
            on_leave,
        }
    }

    /// Takes the call out, for a caller that runs it elsewhere. `None` if it has ended or panicked.
    pub(crate) fn take(&mut self) -> Option<BoxFuture<'static, Outcome>> {
        self.call.take()
    }
}

impl<L: Leave> Future for GoesOn<L> {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        // Taken out meanwhile, so that a call that panics is not run on.
        let Some(mut call) = self.call.take() else {
            return Poll::Pending;
        };
        let polled = call.as_mut().poll(cx);
        if polled.is_pending() {
            self.call = Some(call);
        }
        polled
    }
}

impl<L: Leave> Drop for GoesOn<L> {
    fn drop(&mut self) {
        let Some(call) = self.call.take() else {
            return;
        };
        // A cancelled call runs on as well: it ends its processes and records what they printed. Without a runtime nothing of it runs.
        if self.on_leave.leave()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(call);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;
    use std::panic::AssertUnwindSafe;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[tokio::test]
    async fn a_call_that_panicked_is_not_run_on() {
        struct Panics(Arc<AtomicUsize>);
        impl Future for Panics {
            type Output = Outcome;
            fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Outcome> {
                self.0.fetch_add(1, Ordering::SeqCst);
                panic!("a bug");
            }
        }
        let polls = Arc::new(AtomicUsize::new(0));
        let call = GoesOn::new(Panics(Arc::clone(&polls)).boxed(), None);
        let caught = AssertUnwindSafe(call).catch_unwind().await;
        assert!(caught.is_err());
        tokio::task::yield_now().await;
        assert_eq!(polls.load(Ordering::SeqCst), 1);
    }
}
