//! All connections of a server: how many there may be, which one makes room for another, and which took too long.
//!
//! One task looks at all of them, some times a second: a look at ten thousand takes a tenth of a millisecond, and deadlines are
//! kept to an eighth of the shortest. The alternative, a timer each, costs every request and is no more exact where it matters.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::Limits;
use super::watch::{Order, Phase, Watch};
use crate::observe::{ConnectionOpen, Observer, Timeout};

/// How long a head may be in the making before its connection has to make room for others.
const SLOW_HEAD: Duration = Duration::from_secs(1);

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
    /// Told when the first connection comes and when the last one goes.
    changed: Notify,
}

#[derive(Debug, Default)]
struct Open {
    all: HashMap<u64, Arc<Watch>>,
    /// Those that make room next, as they were when they were chosen.
    chosen: VecDeque<(u64, Phase, Duration)>,
}

/// A connection's place. Gives it back.
pub(super) struct Place {
    connections: Arc<Connections>,
    id: u64,
    watch: Arc<Watch>,
    _counted: ConnectionOpen,
}

impl Place {
    pub(super) fn watch(&self) -> &Arc<Watch> {
        &self.watch
    }
}

impl Drop for Place {
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

    /// A place for a new connection: if there is none, that of the connection that has had nothing to do for longest. `None` if
    /// all are busy.
    pub(super) fn place(self: &Arc<Self>) -> Option<Place> {
        let mut open = self.open();
        if open.all.len() >= self.limits.max_connections {
            // Either it or another one.
            self.observer.evicted();
            open.make_room(self.epoch.elapsed())?;
        }
        let watch = Arc::new(Watch::new(self.epoch));
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        open.all.insert(id, Arc::clone(&watch));
        if open.all.len() == 1 {
            self.changed.notify_waiters();
        }
        Some(Place {
            connections: Arc::clone(self),
            id,
            watch,
            _counted: self.observer.connection(),
        })
    }

    /// Closes the connection that has had nothing to do for longest; says whether there is one.
    pub(super) fn make_room(&self) -> bool {
        let is_made = self.open().make_room(self.epoch.elapsed()).is_some();
        if is_made {
            self.observer.evicted();
        }
        is_made
    }

    /// Tells every connection to end when its answer is sent. Those that have not asked for anything yet end at once.
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
        loop {
            let changed = self.changed.notified();
            if self.count() == 0 {
                changed.await;
            }
            tokio::time::sleep(every).await;
            self.look();
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
            // A call takes its time; it has limits of its own, and so has the body of a request.
            Phase::Busy => return None,
        };
        is_over(since, limit).then_some(what)
    }
}

impl Open {
    /// Ends the connection that can best be spared and gives its place back at once.
    fn make_room(&mut self, now: Duration) -> Option<()> {
        loop {
            if self.chosen.is_empty() {
                self.choose(now);
            }
            let (id, phase, since) = self.chosen.pop_front()?;
            let Some(watch) = self.all.get(&id) else {
                continue;
            };
            // It may have been used since it was chosen.
            if watch.state() == (phase, since) && watch.stalled().is_none() {
                watch.order(Order::Drop);
                self.all.remove(&id);
                return Some(());
            }
        }
    }

    /// Chooses those that can be spared: without a request, the longest first; then those whose request does not come.
    fn choose(&mut self, now: Duration) {
        let spare = |(id, watch): (&u64, &Arc<Watch>)| {
            let (phase, since) = watch.state();
            let is_spare = match phase {
                Phase::Fresh | Phase::Idle => true,
                Phase::Head => now.saturating_sub(since) > SLOW_HEAD,
                Phase::Busy => false,
            };
            (is_spare && watch.stalled().is_none()).then_some((*id, phase, since))
        };
        let mut chosen: Vec<_> = self.all.iter().filter_map(spare).collect();
        chosen.sort_by_key(|(_, phase, since)| (*phase == Phase::Head, *since));
        chosen.truncate(CHOSEN);
        self.chosen = chosen.into();
    }
}
