//! [`CallLog`]: accepts records at the cost of formatting a line; its own thread writes the lines, or a caller that waits for them.
//!
//! Lines are made where the call ran: memory that one thread takes and another gives back costs more than the line, and who makes
//! a line of a record at once needs no copy of it.
//!
//! A caller that waits for a record to be written ([`Recorder::written`]) writes it in its own thread, with all others that wait by then,
//! if no one else is writing: being woken by a thread costs more than the write. The thread is called where someone is at it already and
//! where the disk was slow last time, so that a disk that stalls holds up one task of an executor once, and then none.

use std::cell::RefCell;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use tokio::sync::oneshot;

use super::file::LogFiles;
use super::line::push_line;
use crate::format::FormatWatch;
use crate::model::error::ToolError;
use crate::record::usage::{Calls, UsageLog};
use toolcrib_core::record::{CallRecord, Recorder};

/// How many records, and how many bytes of their lines, wait at most before senders do.
const QUEUE_RECORDS: usize = 4096;
const QUEUE_BYTES: usize = 32 * 1024 * 1024;

/// How long the writer collects records after it has written some. While it does, a record costs
/// its sender no system call; only the first one after a pause has to wake the writer.
const LINGER: Duration = Duration::from_millis(5);

/// How long a write may take before the next ones are the thread's.
const SLOW: Duration = Duration::from_millis(2);

/// The most that goes into one write, give or take a line.
const WRITE_BYTES: usize = 1024 * 1024;

/// How many of the tools called last a call is compared with, to be counted with others of the same tool.
const TOOLS_AT_HAND: usize = 8;

thread_local! {
    /// The line being made, kept for its memory.
    static LINE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

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
/// Nothing is created before the first record. [`note`](Recorder::note) only hands over; it
/// waits when some thousand records are queued because the disk does not keep up. Dropping the log
/// flushes it; a program that ends without that calls [`flush`](Recorder::flush) first.
#[derive(Debug)]
pub struct CallLog {
    shared: Arc<Shared>,
    is_counting: bool,
    format: Option<Arc<FormatWatch>>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// The holder of this writes; lines are in the order of holding it. Taken before `state`.
    desk: Mutex<Desk>,
    /// The writer waits here for something to do.
    work: Condvar,
    /// Senders wait here for room, and flushes for their records.
    progress: Condvar,
}

#[derive(Debug, Default)]
struct State {
    queue: Queue,
    /// Records taken so far; up to which of them someone waits for; which of them are settled.
    accepted: u64,
    flush_goal: u64,
    settled: u64,
    /// How many of them are written, or known not to be.
    written: u64,
    /// Callers that wait for accepted records to be written. One batch wakes all who came before it was begun.
    /// Each with how many records must be written before it is woken.
    waiters: Vec<(u64, oneshot::Sender<()>)>,
    /// How many records the writer has taken; those beyond `written` it is writing now.
    taken: u64,
    thread: Option<JoinHandle<()>>,
    is_asleep: bool,
    /// Someone has called the writer, so no one else needs to.
    is_called: bool,
    is_closing: bool,
    /// The writer has ended; records have nowhere to go.
    is_over: bool,
    health: CallLogHealth,
}

/// The lines that wait for the writer.
#[derive(Debug, Default)]
struct Queue {
    /// Whole lines after a line feed, as [`LogFiles::append`] wants them; empty without any.
    lines: Vec<u8>,
    records: usize,
    /// Their calls, for the counts.
    calls: Vec<Calls>,
}

impl Queue {
    fn push(&mut self, line: &[u8]) {
        if self.lines.is_empty() {
            self.lines.push(b'\n');
        }
        self.lines.extend_from_slice(line);
        self.records += 1;
    }

    fn count(&mut self, record: &CallRecord) {
        let mut latest = self.calls.iter_mut().rev().take(TOOLS_AT_HAND);
        if !latest.any(|calls| calls.add(record)) {
            self.calls.extend(Calls::of(record));
        }
    }

    /// Empties it; what it usually needs of memory stays.
    fn clear(&mut self) {
        self.lines.clear();
        self.lines.shrink_to(WRITE_BYTES);
        self.records = 0;
        self.calls.clear();
    }
}

impl State {
    fn is_full(&self) -> bool {
        self.queue.records >= QUEUE_RECORDS || self.queue.lines.len() >= QUEUE_BYTES
    }

    /// Whether the writer should not wait for more records. From half full on, so that it is there before
    /// senders have to wait.
    fn is_urgent(&self) -> bool {
        let half_full =
            self.queue.records >= QUEUE_RECORDS / 2 || self.queue.lines.len() >= QUEUE_BYTES / 2;
        half_full || self.is_closing || self.is_flush_wanted()
    }

    fn is_flush_wanted(&self) -> bool {
        self.flush_goal > self.settled
    }

    /// Whether the writer has to be called for who waits for these records; it is as good as called if so.
    fn must_call(&mut self, goal: u64) -> bool {
        // The writer reports when the present batch is written.
        goal > self.taken && !std::mem::replace(&mut self.is_called, true)
    }
}

impl Shared {
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

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
            .wait_timeout_while(state, LINGER, |state| {
                !state.is_urgent() && !state.is_called && state.waiters.is_empty()
            })
            .unwrap_or_else(PoisonError::into_inner);
        let is_idle = |state: &mut State| {
            state.queue.records == 0 && !state.is_urgent() && state.waiters.is_empty()
        };
        if is_idle(&mut state) {
            state.is_asleep = true;
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

    /// Writes what is queued, and wakes who waited for it. Returns how many records are written by then, and whether someone wants
    /// them to be safe, which is the thread's business.
    fn write_batch(&self, desk: &mut Desk) -> (u64, bool) {
        let mut state = self.lock();
        let was_full = state.is_full();
        std::mem::swap(&mut state.queue, &mut desk.queue);
        state.is_called = false;
        let taken = state.accepted;
        state.taken = taken;
        let is_flush = state.is_flush_wanted() || state.is_closing;
        drop(state);
        if was_full {
            self.progress.notify_all();
        }
        let begun = Instant::now();
        let tally = desk.write_queue();
        desk.is_slow = begun.elapsed() > SLOW;
        let mut state = self.lock();
        state.health.add(tally);
        state.written = taken;
        // Those too that came while their record was being written.
        let waiters = std::mem::take(&mut state.waiters);
        let (served, others): (Vec<_>, Vec<_>) =
            waiters.into_iter().partition(|(goal, _)| *goal <= taken);
        state.waiters = others;
        drop(state);
        for (_, waiter) in served {
            let _ = waiter.send(());
        }
        (taken, is_flush)
    }

    /// Writes what is queued where we are; false if that is the thread's business.
    fn write_here(&self, goal: u64) -> bool {
        if self.lock().written >= goal {
            return true;
        }
        let Ok(mut desk) = self.desk.try_lock() else {
            return false;
        };
        if desk.is_slow {
            return false;
        }
        self.write_batch(&mut desk);
        true
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

    /// A log with custom limits.
    pub fn with_options(path: impl Into<PathBuf>, options: CallLogOptions) -> Self {
        let desk = Desk {
            files: LogFiles::new(path.into(), options),
            format: None,
            usage: None,
            queue: Queue::default(),
            is_slow: false,
        };
        CallLog {
            shared: Arc::new(Shared {
                state: Mutex::default(),
                desk: Mutex::new(desk),
                work: Condvar::new(),
                progress: Condvar::new(),
            }),
            is_counting: false,
            format: None,
        }
    }

    /// Writes nothing, and refuses calls, once a newer version has changed the home: lines are appended without its lock, which
    /// would refuse.
    #[must_use]
    pub fn in_home(mut self, format: Arc<FormatWatch>) -> Self {
        self.shared.desk().format = Some(Arc::clone(&format));
        self.format = Some(format);
        self
    }

    /// Has the writer count the calls of each tool, too: it has every record at hand.
    #[must_use]
    pub fn counting(mut self, usage: Arc<UsageLog>) -> Self {
        self.shared.desk().usage = Some(usage);
        self.is_counting = true;
        self
    }

    /// How the log has fared so far. Records on their way are not counted yet.
    pub fn health(&self) -> CallLogHealth {
        self.shared.lock().health.clone()
    }

    fn start_writer(&self, state: &mut State) {
        let shared = Arc::clone(&self.shared);
        match std::thread::Builder::new()
            .name(String::from("toolcrib-call-log"))
            .spawn(move || write_for_ever(&shared))
        {
            Ok(thread) => state.thread = Some(thread),
            Err(error) => state.health.lose(
                0,
                format!("cannot start the writer of the call log: {error}"),
            ),
        }
    }

    /// Hands a line over to the writer.
    fn hand_over(&self, line: io::Result<&[u8]>, record: &CallRecord) {
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
        if self.is_counting {
            state.queue.count(record);
        }
        match line {
            Ok(line) => state.queue.push(line),
            Err(error) => return state.health.lose(1, error),
        }
        state.accepted += 1;
        if (state.is_asleep || state.is_urgent()) && !state.is_called {
            state.is_called = true;
            drop(state);
            self.shared.work.notify_one();
        }
    }
}

impl Recorder for CallLog {
    fn record(&self, record: CallRecord) {
        self.note(&record);
    }

    fn note(&self, record: &CallRecord) {
        // A thread that ends has no such memory any more, but may still end calls.
        let mut line = LINE.try_with(RefCell::take).unwrap_or_default();
        line.clear();
        let made = push_line(&mut line, record);
        self.hand_over(made.map(|()| line.as_slice()), record);
        let _ = LINE.try_with(|kept| kept.replace(line));
    }

    fn ready(&self) -> Result<(), ToolError> {
        match &self.format {
            Some(format) => Ok(format.check()?),
            None => Ok(()),
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
        drop(state);
        Box::pin(async move {
            // Other callers that are about to wait get their turn first: one write serves all of them.
            tokio::task::yield_now().await;
            if !self.shared.write_here(goal) && self.shared.lock().must_call(goal) {
                self.shared.work.notify_one();
            }
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
            // It has counted what it could not write; there is no one left to tell.
            let _ = thread.join();
        }
    }
}

/// What writing needs.
#[derive(Debug)]
struct Desk {
    files: LogFiles,
    /// The format of the home it is in.
    format: Option<Arc<FormatWatch>>,
    usage: Option<Arc<UsageLog>>,
    /// The batch being written; kept from batch to batch to reuse its memory.
    queue: Queue,
    /// Whether the last write took long.
    is_slow: bool,
}

/// The thread behind a [`CallLog`].
fn write_for_ever(shared: &Arc<Shared>) {
    let _over = Over(Arc::clone(shared));
    loop {
        let mut desk = shared.desk();
        let (taken, is_flush) = shared.write_batch(&mut desk);
        let mut tally = CallLogHealth::default();
        if is_flush && let Err(error) = desk.files.sync() {
            tally.lose(0, error);
        }
        let usage = desk.usage.clone();
        drop(desk);
        let due = usage.and_then(|usage| usage.settle(is_flush));

        let mut state = shared.lock();
        state.health.add(tally);
        if is_flush {
            state.settled = taken;
            shared.progress.notify_all();
        }
        if state.is_closing && state.queue.records == 0 {
            return;
        }
        drop(shared.wait_for_work(state, due));
    }
}

impl Desk {
    fn write_queue(&mut self) -> CallLogHealth {
        let mut tally = CallLogHealth::default();
        if let Some(usage) = &self.usage {
            self.queue.calls.iter().for_each(|calls| usage.add(calls));
        }
        if self.queue.records > 0
            && let Some(format) = &self.format
            && let Err(error) = format.check()
        {
            tally.lose(self.queue.records as u64, error);
            self.queue.clear();
            return tally;
        }
        let lines = &self.queue.lines;
        // The line feed before the lines of a write is that at the end of the line before them.
        let mut start = 1;
        while start < lines.len() {
            let rest = &lines[start..];
            let least = rest.len().min(WRITE_BYTES) - 1;
            let end = rest[least..].iter().position(|byte| *byte == b'\n');
            let end = end.map_or(lines.len(), |end| start + least + end + 1);
            write_lines(&mut self.files, &lines[start - 1..end], &mut tally);
            start = end;
        }
        self.queue.clear();
        tally
    }
}

fn write_lines(files: &mut LogFiles, lines: &[u8], tally: &mut CallLogHealth) {
    let count = lines[1..].iter().filter(|byte| **byte == b'\n').count() as u64;
    match files.append(lines, Timestamp::now()) {
        Ok(()) => tally.written += count,
        Err(lost) => {
            tally.written += count.saturating_sub(lost.count);
            tally.lose(lost.count, lost.error);
        }
    }
    if let Some(error) = files.take_complaint() {
        tally.lose(0, error);
    }
}

/// Says that the writer has ended, however it ended: no one must wait for it.
struct Over(Arc<Shared>);

impl Drop for Over {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_over = true;
        state.health.dropped += state.queue.records as u64;
        state.queue.clear();
        state.waiters.clear();
        self.0.progress.notify_all();
    }
}
