//! [`CallLog`]: takes records at the price of a push, and writes them from a thread of its own.

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use tokio::sync::oneshot;

use super::file::LogFiles;
use super::line::push_line;
use crate::record::usage::UsageLog;
use crate::record::{CallRecord, Recorder};

/// How many records, and roughly how many bytes of them, wait at most before senders do.
const QUEUE_RECORDS: usize = 4096;
const QUEUE_BYTES: usize = 32 * 1024 * 1024;

/// How long the writer collects records after it has written some. While it does, a record costs
/// its sender no system call; only the first one after a pause has to wake the writer.
const LINGER: Duration = Duration::from_millis(5);

/// The most that goes into one write, give or take a line.
const WRITE_BYTES: usize = 1024 * 1024;

/// How much a [`CallLog`] may keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLogOptions {
    /// A file over this size is continued in a next one. Default 16 MiB.
    pub max_file_bytes: u64,
    /// When all files together would pass this size, the oldest are removed; never the one being
    /// written. Default 256 MiB.
    pub max_total_bytes: u64,
}

impl Default for CallLogOptions {
    fn default() -> Self {
        CallLogOptions {
            max_file_bytes: 16 * 1024 * 1024,
            max_total_bytes: 256 * 1024 * 1024,
        }
    }
}

/// How a [`CallLog`] has fared since it was made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CallLogHealth {
    /// Records written.
    pub written: u64,
    /// Records that could not be written and are lost.
    pub dropped: u64,
    /// What last went wrong; it may be over by now.
    pub last_error: Option<String>,
}

impl CallLogHealth {
    fn lose(&mut self, records: u64, error: impl ToString) {
        self.dropped += records;
        self.last_error = Some(error.to_string());
    }

    fn add(&mut self, later: CallLogHealth) {
        self.written += later.written;
        self.dropped += later.dropped;
        if later.last_error.is_some() {
            self.last_error = later.last_error;
        }
    }
}

/// Keeps every call in a directory of JSON lines; see the [module](super).
///
/// Nothing is created before the first record. [`record`](Recorder::record) only hands over; it
/// waits when some thousand records are queued because the disk does not keep up. Dropping the log
/// flushes it; a program that ends without that calls [`flush`](Recorder::flush) first.
#[derive(Debug)]
pub struct CallLog {
    path: PathBuf,
    options: CallLogOptions,
    usage: Option<Arc<UsageLog>>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// The writer waits here for something to do.
    work: Condvar,
    /// Senders wait here for room, and flushes for their records.
    progress: Condvar,
}

#[derive(Debug, Default)]
struct State {
    queue: Vec<CallRecord>,
    queue_bytes: usize,
    /// Records taken so far; up to which of them somebody waits for; which of them are settled.
    accepted: u64,
    flush_goal: u64,
    settled: u64,
    /// How many of them are written, or known not to be.
    written: u64,
    /// Who waits for what is accepted to be written. One batch wakes all who came before it was begun.
    /// Each with how many records must be written before it is woken.
    waiters: Vec<(u64, oneshot::Sender<()>)>,
    /// How many records the writer has taken; those beyond `written` it is writing now.
    taken: u64,
    thread: Option<JoinHandle<()>>,
    is_asleep: bool,
    /// Somebody has called the writer, so nobody else needs to.
    is_called: bool,
    is_closing: bool,
    /// The writer has ended; records have nowhere to go.
    is_over: bool,
    health: CallLogHealth,
}

impl State {
    fn is_full(&self) -> bool {
        self.queue.len() >= QUEUE_RECORDS || self.queue_bytes >= QUEUE_BYTES
    }

    /// Whether the writer should not wait for more. From half full on, so that it is there before
    /// senders have to wait.
    fn is_urgent(&self) -> bool {
        let half_full =
            self.queue.len() >= QUEUE_RECORDS / 2 || self.queue_bytes >= QUEUE_BYTES / 2;
        half_full || self.is_closing || self.is_flush_wanted() || !self.waiters.is_empty()
    }

    fn is_flush_wanted(&self) -> bool {
        self.flush_goal > self.settled
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets records collect for a moment, and then waits until there are any, or something else is due.
    fn wait_for_work<'a>(
        &self,
        state: MutexGuard<'a, State>,
        due: Option<Duration>,
    ) -> MutexGuard<'a, State> {
        let (mut state, _) = self
            .work
            .wait_timeout_while(state, LINGER, |state| !state.is_urgent())
            .unwrap_or_else(PoisonError::into_inner);
        if state.queue.is_empty() && !state.is_urgent() {
            state.is_asleep = true;
            let is_idle = |state: &mut State| state.queue.is_empty() && !state.is_urgent();
            state = match due {
                Some(due) => self
                    .work
                    .wait_timeout_while(state, due, is_idle)
                    .map(|(state, _)| state)
                    .unwrap_or_else(|poisoned| poisoned.into_inner().0),
                None => self
                    .work
                    .wait_while(state, is_idle)
                    .unwrap_or_else(PoisonError::into_inner),
            };
            state.is_asleep = false;
        }
        state
    }

    fn wait_for_progress<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.progress
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallLog {
    /// A log in a directory, which is created when the first record comes.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        CallLog::with_options(path, CallLogOptions::default())
    }

    /// A log with limits of its own.
    pub fn with_options(path: impl Into<PathBuf>, options: CallLogOptions) -> Self {
        CallLog {
            path: path.into(),
            options,
            usage: None,
            shared: Arc::default(),
        }
    }

    /// Has the writer count the calls of each tool, too: it has every record at hand.
    #[must_use]
    pub fn counting(mut self, usage: Arc<UsageLog>) -> Self {
        self.usage = Some(usage);
        self
    }

    /// How the log has fared so far. Records on their way are not counted yet.
    pub fn health(&self) -> CallLogHealth {
        self.shared.lock().health.clone()
    }

    fn start_writer(&self, state: &mut State) {
        let writer = Writer {
            shared: Arc::clone(&self.shared),
            files: LogFiles::new(self.path.clone(), self.options),
            usage: self.usage.clone(),
            records: Vec::new(),
            lines: Vec::new(),
        };
        match std::thread::Builder::new()
            .name(String::from("toolcrib-call-log"))
            .spawn(|| writer.run())
        {
            Ok(thread) => state.thread = Some(thread),
            Err(error) => state.health.lose(
                0,
                format!("cannot start the writer of the call log: {error}"),
            ),
        }
    }
}

impl Recorder for CallLog {
    fn record(&self, record: CallRecord) {
        let bytes = rough_size(&record);
        let mut state = self.shared.lock();
        if state.thread.is_none() {
            self.start_writer(&mut state);
        }
        while state.is_full() && !state.is_over {
            state = self.shared.wait_for_progress(state);
        }
        if state.is_over || state.thread.is_none() {
            state.health.dropped += 1;
            return;
        }
        state.queue.push(record);
        state.queue_bytes += bytes;
        state.accepted += 1;
        if (state.is_asleep || state.is_urgent()) && !state.is_called {
            state.is_called = true;
            drop(state);
            self.shared.work.notify_one();
        }
    }

    fn written(&self) -> BoxFuture<'_, ()> {
        let mut state = self.shared.lock();
        if state.written == state.accepted || state.is_over {
            return Box::pin(std::future::ready(()));
        }
        let (waiter, woken) = oneshot::channel();
        let goal = state.accepted;
        state.waiters.push((goal, waiter));
        // What the writer is writing now, it says when it is done.
        let must_call = goal > state.taken && !std::mem::replace(&mut state.is_called, true);
        drop(state);
        if must_call {
            self.shared.work.notify_one();
        }
        Box::pin(async move {
            // A writer that ends drops its end, and wakes us so.
            let _ = woken.await;
        })
    }

    /// Waits until everything recorded so far is on the disk, or counted as lost.
    fn flush(&self) {
        let mut state = self.shared.lock();
        let goal = state.accepted;
        state.flush_goal = state.flush_goal.max(goal);
        self.shared.work.notify_one();
        while state.settled < goal && !state.is_over {
            state = self.shared.wait_for_progress(state);
        }
    }
}

impl Drop for CallLog {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.is_closing = true;
        let thread = state.thread.take();
        drop(state);
        self.shared.work.notify_one();
        if let Some(thread) = thread {
            // It has counted what it could not write; there is nobody left to tell.
            let _ = thread.join();
        }
    }
}

/// What a record holds in memory, as far as a glance can tell. Never walks into lists and objects:
/// this is on the hot path.
fn rough_size(record: &CallRecord) -> usize {
    let texts = record
        .parameters
        .values()
        .filter_map(|value| value.as_str());
    size_of::<CallRecord>() + texts.map(str::len).sum::<usize>()
}

/// The thread behind a [`CallLog`].
struct Writer {
    shared: Arc<Shared>,
    files: LogFiles,
    usage: Option<Arc<UsageLog>>,
    /// Kept from batch to batch, like `lines`, for its memory.
    records: Vec<CallRecord>,
    lines: Vec<u8>,
}

impl Writer {
    fn run(mut self) {
        let _over = Over(Arc::clone(&self.shared));
        let shared = Arc::clone(&self.shared);
        let mut state = shared.lock();
        loop {
            std::mem::swap(&mut state.queue, &mut self.records);
            state.queue_bytes = 0;
            state.is_called = false;
            let taken = state.accepted;
            state.taken = taken;
            let is_flush = state.is_flush_wanted() || state.is_closing;
            drop(state);
            shared.progress.notify_all();

            let mut tally = self.write_records();
            // Those too that came while their record was being written.
            state = shared.lock();
            state.health.add(std::mem::take(&mut tally));
            state.written = taken;
            let waiters = std::mem::take(&mut state.waiters);
            let (served, others): (Vec<_>, Vec<_>) =
                waiters.into_iter().partition(|(goal, _)| *goal <= taken);
            state.waiters = others;
            drop(state);
            for (_, waiter) in served {
                let _ = waiter.send(());
            }
            if is_flush && let Err(error) = self.files.sync() {
                tally.lose(0, error);
            }
            let due = self.usage.as_ref().and_then(|usage| usage.settle(is_flush));

            state = shared.lock();
            state.health.add(tally);
            if is_flush {
                state.settled = taken;
                shared.progress.notify_all();
            }
            if state.is_closing && state.queue.is_empty() {
                return;
            }
            state = shared.wait_for_work(state, due);
        }
    }

    fn write_records(&mut self) -> CallLogHealth {
        let mut tally = CallLogHealth::default();
        let mut records = std::mem::take(&mut self.records);
        let mut waiting = 0;
        self.lines.clear();
        self.lines.push(b'\n');
        for record in records.drain(..) {
            if let Some(usage) = &self.usage {
                usage.count(&record);
            }
            match push_line(&mut self.lines, record) {
                Ok(()) => waiting += 1,
                Err(error) => tally.lose(1, error),
            }
            if self.lines.len() > WRITE_BYTES {
                self.write_lines(std::mem::take(&mut waiting), &mut tally);
            }
        }
        self.write_lines(waiting, &mut tally);
        self.records = records;
        tally
    }

    fn write_lines(&mut self, count: u64, tally: &mut CallLogHealth) {
        match self.files.append(&self.lines, Timestamp::now()) {
            Ok(()) => tally.written += count,
            Err(lost) => {
                tally.written += count.saturating_sub(lost.count);
                tally.lose(lost.count, lost.error);
            }
        }
        if let Some(error) = self.files.take_complaint() {
            tally.lose(0, error);
        }
        self.lines.truncate(1);
    }
}

/// Says that the writer has ended, however it ended: nobody must wait for it.
struct Over(Arc<Shared>);

impl Drop for Over {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_over = true;
        state.health.dropped += state.queue.len() as u64;
        state.queue.clear();
        state.waiters.clear();
        self.0.progress.notify_all();
    }
}
