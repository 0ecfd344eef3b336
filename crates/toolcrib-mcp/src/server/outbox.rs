//! Messages to a client that wait to be sent, except answers: [`Outbox`].
//!
//! Filled by any thread that has news (never blocking), emptied by the one transport that owns the stream. The invariant: a client that does not
//! read costs a bounded amount of memory. Progress and log messages beyond [`MAX_NEWS`] push out the oldest of them; a change that still
//! waits is not sent twice; questions are bounded by how many may be open in a session.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::task::AtomicWaker;

/// How many progress and log messages wait at most.
const MAX_NEWS: usize = 256;
/// How many bytes of progress and log messages wait at most.
const MAX_NEWS_BYTES: usize = 1024 * 1024;

/// Messages on their way to one stream of one client. One consumer.
#[derive(Default)]
pub(crate) struct Outbox {
    queue: Mutex<Queue>,
    /// So that an empty outbox is passed by without taking the lock.
    waiting: AtomicUsize,
    reader: AtomicWaker,
}

#[derive(Default)]
struct Queue {
    messages: VecDeque<Waiting>,
    news: usize,
    news_bytes: usize,
    closed: bool,
}

struct Waiting {
    text: Bytes,
    kind: Kind,
}

/// What may become of a message while it waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The oldest makes room for the newest.
    News,
    /// Not told twice: one of each key waits.
    ChangeNotice(Box<[u8]>),
    /// Always sent.
    Needed,
}

impl Outbox {
    /// Puts a message in. After [`close`](Self::close) it is dropped, and the answer is false.
    pub(crate) fn push(&self, kind: Kind, text: impl Into<Bytes>) -> bool {
        let text = text.into();
        let mut queue = lock(&self.queue);
        if queue.closed {
            return false;
        }
        match &kind {
            Kind::News => {
                queue.news += 1;
                queue.news_bytes += text.len();
                while queue.news > MAX_NEWS || (queue.news > 1 && queue.news_bytes > MAX_NEWS_BYTES)
                {
                    let Some(oldest) = queue.messages.iter().position(|it| it.kind == Kind::News)
                    else {
                        break;
                    };
                    if let Some(dropped) = queue.messages.remove(oldest) {
                        queue.forget(&dropped);
                    }
                }
            }
            Kind::ChangeNotice(_) => {
                if queue.messages.iter().any(|it| it.kind == kind) {
                    return true;
                }
            }
            Kind::Needed => {}
        }
        queue.messages.push_back(Waiting { text, kind });
        self.waiting.store(queue.messages.len(), Ordering::Release);
        drop(queue);
        self.reader.wake();
        true
    }

    /// Takes the next message, if one waits.
    pub(crate) fn take(&self) -> Option<Bytes> {
        if self.waiting.load(Ordering::Acquire) == 0 {
            return None;
        }
        let mut queue = lock(&self.queue);
        let next = queue.messages.pop_front();
        if let Some(next) = &next {
            queue.forget(next);
        }
        self.waiting.store(queue.messages.len(), Ordering::Release);
        next.map(|it| it.text)
    }

    /// The next message; `None` when it is closed and empty.
    pub(crate) fn poll_next(&self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(next) = self.take() {
            return Poll::Ready(Some(next));
        }
        self.reader.register(context.waker());
        // Between looking and registering a message may have come.
        match self.take() {
            Some(next) => Poll::Ready(Some(next)),
            None if lock(&self.queue).closed => Poll::Ready(None),
            None => Poll::Pending,
        }
    }

    /// Woken when a message comes.
    pub(crate) fn register(&self, context: &Context<'_>) {
        self.reader.register(context.waker());
    }

    /// Accepts no more messages; those that wait can still be taken.
    pub(crate) fn close(&self) {
        lock(&self.queue).closed = true;
        self.reader.wake();
    }
}

impl Queue {
    fn forget(&mut self, message: &Waiting) {
        if message.kind == Kind::News {
            self.news -= 1;
            self.news_bytes -= message.text.len();
        }
    }
}

/// A panic of another thread leaves these structures whole: every change is a single step.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
