//! All connections of a server: how many there may be, which one makes room for another, and which took too long.
//!
//! One task looks at all of them, some times a second, and deadlines are kept to an eighth of the shortest. The alternative, a timer
//! each, costs every request and is no more exact where it matters.
//!
//! When there is no place left, those that need theirs least make room ([`Spare`]); a connection that is receiving its answer keeps its
//! place. That no one fills the server with such requests is seen to by [`Shares`].

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::Limits;
use super::shares::Shares;
use super::watch::{Order, Phase, Watch};
use crate::observe::{ConnectionOpen, Observer, Timeout};

/// How long a head or a body may be on its way, or an answer not be taken, before the connection has to make room for others; and
/// how long a new connection has for its first byte.
const SLOW: Duration = Duration::from_secs(1);

/// For how long those that were chosen to make room are the right ones.
const CHOSEN_FOR: Duration = Duration::from_millis(50);

/// How many connections have to have closed for their memory to be given back to the system, and how long that is apart.
const GIVE_BACK: usize = 100;
const GIVE_BACK_EVERY: Duration = Duration::from_secs(2);
/// Memory is given back once more after this time: a closed connection frees its last buffers after it is counted out, and fewer than
/// [`GIVE_BACK`] may close after the others.
const GIVE_BACK_AGAIN: Duration = Duration::from_secs(4);

/// How many connections are chosen at a time to make room.
const CHOSEN: usize = 64;

/// The connections of a server.
#[derive(Debug)]
pub(super) struct Connections {
    limits: Limits,
    /// Counts them.
    observer: Observer,
    epoch: Instant,
    next: AtomicU64,
    open: Mutex<Open>,
    shares: Arc<Shares>,
    /// Told when the first connection comes and when the last one goes.
    changed: Notify,
}

#[derive(Debug, Default)]
struct Open {
    all: HashMap<u64, Arc<Watch>>,
    /// The most there were since memory was given back last.
    peak: usize,
    /// Those that make room next, as they were when they were chosen.
    chosen: VecDeque<(u64, Spare)>,
    chosen_at: Duration,
}

/// Why a connection can be spared; the least is spared first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Spare {
    why: Why,
    /// Whether it ever showed a good token.
    is_known: bool,
    since: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Why {
    /// It has nothing to do.
    Idle,
    /// Its head or its body does not come, or it does not take its answer.
    Slow,
    /// It has just come and said nothing yet.
    New,
}

impl Spare {
    /// Whether a connection can be spared, and how well.
    fn of(watch: &Watch, now: Duration) -> Option<Self> {
        let is_slow = |since: Duration| now.saturating_sub(since) > SLOW;
        let (phase, since) = watch.state();
        let (why, since) = match (watch.behind(), phase) {
            (Some(behind), _) if is_slow(behind) => (Why::Slow, behind),
            (Some(_), _) => return None,
            (None, Phase::Idle) => (Why::Idle, since),
            (None, Phase::Fresh) if is_slow(since) => (Why::Idle, since),
            (None, Phase::Fresh) => (Why::New, since),
            (None, Phase::Head) if is_slow(since) => (Why::Slow, since),
            (None, Phase::Busy) if watch.is_arriving() && is_slow(since) => (Why::Slow, since),
            (None, Phase::Head | Phase::Busy) => return None,
        };
        Some(Spare {
            why,
            // Of the idle ones the longest idle goes first, regardless of its owner.
            is_known: why == Why::Slow && watch.is_known(),
            since,
        })
    }
}

/// A connection's place. Gives it back.
pub(super) struct ConnectionSlot {
    connections: Arc<Connections>,
    id: u64,
    watch: Arc<Watch>,
    _counted: ConnectionOpen,
}

impl ConnectionSlot {
    pub(super) fn watch(&self) -> &Arc<Watch> {
        &self.watch
    }

    /// How many requests each client may have at once.
    pub(super) fn shares(&self) -> &Arc<Shares> {
        &self.connections.shares
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut open = self.connections.open();
        open.all.remove(&self.id);
        if open.all.is_empty() {
            self.connections.changed.notify_waiters();
        }
    }
}

impl Connections {
    pub(super) fn new(limits: Limits, observer: Observer) -> Arc<Self> {
        Arc::new(Connections {
            shares: Arc::new(Shares::of(limits.max_connections)),
            limits,
            observer,
            epoch: Instant::now(),
            next: AtomicU64::new(0),
            open: Mutex::default(),
            changed: Notify::new(),
        })
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.open().all.len()
    }

    /// A place for a new connection: if there is none, that of the connection that can best be spared. `None` if all are busy.
    pub(super) fn place(self: &Arc<Self>) -> Option<ConnectionSlot> {
        let mut open = self.open();
        if open.all.len() >= self.limits.max_connections {
            // Either it or another one.
            self.observer.evicted();
            open.make_room(self.epoch.elapsed())?;
        }
        let watch = Arc::new(Watch::new(self.epoch));
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        open.all.insert(id, Arc::clone(&watch));
        open.peak = open.peak.max(open.all.len());
        if open.all.len() == 1 {
            self.changed.notify_waiters();
        }
        Some(ConnectionSlot {
            connections: Arc::clone(self),
            id,
            watch,
            _counted: self.observer.connection(),
        })
    }

    /// Closes the connection that can best be spared; says whether there is one.
    pub(super) fn make_room(&self) -> bool {
        let is_made = self.open().make_room(self.epoch.elapsed()).is_some();
        if is_made {
            self.observer.evicted();
        }
        is_made
    }

    /// Orders every connection to end when its answer is sent. Those that have not asked for anything yet end at once.
    pub(super) fn finish(&self) {
        for watch in self.open().all.values() {
            let order = match watch.state().0 {
                Phase::Fresh | Phase::Idle if watch.stalled().is_none() => Order::Drop,
                Phase::Fresh | Phase::Idle | Phase::Head | Phase::Busy => Order::Finish,
            };
            watch.order(order);
        }
    }

    /// Ends every connection.
    pub(super) fn close(&self) {
        for watch in self.open().all.values() {
            watch.order(Order::Drop);
        }
    }

    /// Waits until there is no connection.
    pub(super) async fn closed(&self) {
        loop {
            let changed = self.changed.notified();
            if self.count() == 0 {
                return;
            }
            changed.await;
        }
    }

    /// Ends the connections that take too long, for as long as it is polled.
    pub(super) async fn keep_deadlines(&self) {
        let limits = &self.limits;
        let shortest = [limits.head, limits.idle, limits.write].into_iter().min();
        let every = shortest.unwrap_or_default() / 8;
        let every = every.clamp(Duration::from_millis(5), Duration::from_millis(250));
        let mut given_back = Instant::now();
        let mut again = None;
        loop {
            let changed = self.changed.notified();
            if self.count() == 0 && again.is_none() && !self.open().has_shrunk() {
                changed.await;
            }
            tokio::time::sleep(every).await;
            self.look();
            let now = Instant::now();
            let is_time = now.duration_since(given_back) >= GIVE_BACK_EVERY;
            let shrinks = is_time && self.open().shrinks();
            if shrinks || again.is_some_and(|at| at <= now) {
                given_back = now;
                again = shrinks.then(|| now + GIVE_BACK_AGAIN);
                // Aside: it takes as long as much was in use.
                tokio::task::spawn_blocking(toolcrib::sandbox::give_back_memory);
            }
        }
    }

    fn look(&self) {
        let now = self.epoch.elapsed();
        for watch in self.open().all.values() {
            if let Some(what) = self.limits.overrun(watch, now)
                && watch.order(Order::Drop)
            {
                self.observer.timed_out(what);
                if what == Timeout::Write && watch.has_stream() {
                    self.observer.stream_dropped();
                }
            }
        }
    }
}

impl Limits {
    /// What takes a connection too long.
    fn overrun(&self, watch: &Watch, now: Duration) -> Option<Timeout> {
        let is_over = |since, limit| now.saturating_sub(since) > limit;
        if let Some(since) = watch.stalled() {
            return is_over(since, self.write).then_some(Timeout::Write);
        }
        let (phase, since) = watch.state();
        let (limit, what) = match phase {
            Phase::Fresh | Phase::Head if watch.is_agreeing() => (self.head, Timeout::Handshake),
            Phase::Fresh | Phase::Head => (self.head, Timeout::Header),
            Phase::Idle => (self.idle, Timeout::Idle),
            // A call takes its time; it has its own limits, and so has the body of a request.
            Phase::Busy => return None,
        };
        is_over(since, limit).then_some(what)
    }
}

impl Open {
    /// Whether many connections closed since memory was given back.
    fn has_shrunk(&self) -> bool {
        self.peak - self.all.len() >= GIVE_BACK
    }

    /// Whether it is time to give memory back; what is kept here is small from now on.
    fn shrinks(&mut self) -> bool {
        let is_time = self.has_shrunk();
        if is_time {
            self.peak = self.all.len();
            self.all.shrink_to(2 * self.peak);
        }
        is_time
    }

    /// Ends the connection that can best be spared and gives its place back at once.
    fn make_room(&mut self, now: Duration) -> Option<()> {
        if now.saturating_sub(self.chosen_at) > CHOSEN_FOR {
            self.chosen.clear();
        }
        loop {
            if self.chosen.is_empty() {
                self.choose(now);
            }
            let (id, spare) = self.chosen.pop_front()?;
            let Some(watch) = self.all.get(&id) else {
                continue;
            };
            // It may have been used since it was chosen.
            if Spare::of(watch, now) == Some(spare) {
                watch.order(Order::Drop);
                self.all.remove(&id);
                return Some(());
            }
        }
    }

    /// Chooses those that can be spared, the best first.
    fn choose(&mut self, now: Duration) {
        let spare = |(id, watch): (&u64, &Arc<Watch>)| Some((*id, Spare::of(watch, now)?));
        let mut chosen: Vec<_> = self.all.iter().filter_map(spare).collect();
        chosen.sort_unstable_by_key(|(id, spare)| (*spare, *id));
        chosen.truncate(CHOSEN);
        self.chosen = chosen.into();
        self.chosen_at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_given_back_once_many_have_closed() {
        let mut open = Open {
            peak: 5_000,
            ..Open::default()
        };
        assert!(open.shrinks());
        assert!(!open.shrinks(), "there is nothing more to give back");
        open.peak = GIVE_BACK - 1;
        assert!(!open.shrinks());
    }

    #[test]
    fn those_who_keep_us_waiting_make_room_in_order() {
        let watch = |phase| {
            let watch = Watch::new(Instant::now());
            watch.enter(phase);
            watch
        };
        let later = Duration::from_secs(5);
        let spare = |watch: &Watch, now| Spare::of(watch, now).map(|spare| spare.why);
        for (phase, now, after) in [
            (Phase::Fresh, Some(Why::New), Some(Why::Idle)),
            (Phase::Idle, Some(Why::Idle), Some(Why::Idle)),
            (Phase::Head, None, Some(Why::Slow)),
            (Phase::Busy, None, None),
        ] {
            let watch = watch(phase);
            assert_eq!(spare(&watch, Duration::ZERO), now, "{phase:?}");
            assert_eq!(spare(&watch, later), after, "{phase:?}");
        }
        let body = watch(Phase::Busy);
        body.arrives(true);
        assert_eq!(spare(&body, Duration::ZERO), None);
        let stranger = Spare::of(&body, later);
        assert_eq!(stranger.map(|spare| spare.why), Some(Why::Slow));
        body.knows();
        assert!(stranger < Spare::of(&body, later));
        body.arrives(false);
        assert_eq!(spare(&body, later), None);
    }
}
