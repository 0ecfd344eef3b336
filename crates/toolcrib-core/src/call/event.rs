//! The one event stream of a call, which the CLI, SSE and MCP progress all read.
//!
//! [`EventLog`] is a bounded ring: writers never wait, and a reader that falls behind sees a gap
//! in the sequence numbers instead of holding the call (or the server's memory) up. Readers may
//! join late and start at any sequence number that is still held.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use super::live::Live;
use super::mask::EventMask;
use crate::model::ids::CallId;
use crate::model::mask::Secrets;

/// How many steps a record has at most, and how long a name of one is.
pub const MAX_STEPS: usize = 32;
const MAX_STEP_NAME: usize = 64;

/// One step of the tool of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepRecord {
    /// Its name, which may be shortened.
    pub name: String,
    /// How it ended: `ok`, `failed`, `skipped`, `timeout`, `cancelled`.
    pub status: String,
    /// When it began, in milliseconds after the call arrived.
    pub start_ms: f64,
    /// How long it took, in milliseconds.
    pub duration_ms: f64,
}

/// Something that happened during a call.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Counts from 1 within a call; a jump means the reader was too slow.
    pub seq: u64,
    /// The call.
    pub call_id: CallId,
    /// When it happened.
    pub time: Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What can happen during a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "event",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum EventKind {
    /// Execution began.
    Started {
        /// The tool's wire name.
        tool: String,
    },
    /// The tool produced output.
    Output {
        /// Where it came from.
        stream: OutputStream,
        /// The text.
        chunk: String,
        /// The step of the tool that printed it.
        #[serde(skip_serializing_if = "Option::is_none")]
        step: Option<String>,
        /// Whether it is for the terminal of the user who runs the tool, while it runs (S0: `stream-callback: console`).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        console: bool,
    },
    /// A step of the tool changed its state.
    Step {
        /// The step's name.
        name: String,
        /// `running`, `ok`, `failed`, `skipped`, `timeout`, `cancelled`.
        status: String,
    },
    /// The tool got further.
    Progress {
        /// How far it got.
        progress: f64,
        /// How far it will go, if known.
        #[serde(skip_serializing_if = "Option::is_none")]
        total: Option<f64>,
        /// In words.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// A person is asked, or has answered.
    Approval {
        /// `pending`, `approved`, `denied`, `changed` (a file that the call runs; it is asked about again), `expired`, `unavailable`.
        status: String,
        /// Why, in words.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The question, where others can find and answer it.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<String>,
    },
    /// The call is over; no event follows.
    Finished {
        /// Whether it went well.
        ok: bool,
        /// The error code, if not.
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<String>,
    },
}

/// The streams a tool can write to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// How many bytes of text and how many events a log holds before the oldest go.
const MAX_BYTES: usize = 1024 * 1024;
const MAX_EVENTS: usize = 4096;

/// The events of one call.
#[derive(Debug)]
pub struct EventLog {
    call_id: CallId,
    ring: Mutex<Ring>,
    changed: Notify,
    watch: Option<OutputWatch>,
    /// Others hear of it: the outermost call, which is this one or one around it.
    live: Option<Arc<Live>>,
    /// Held while an event is written, so that pieces of output stay in their order.
    mask: Option<Mutex<EventMask>>,
}

/// Sees the output of a call as it comes, for the call around it.
#[derive(Clone)]
#[doc(hidden)]
pub struct OutputWatch(Arc<See>);

type See = dyn Fn(OutputStream, &str) + Send + Sync;

impl OutputWatch {
    #[doc(hidden)]
    pub fn new(see: impl Fn(OutputStream, &str) + Send + Sync + 'static) -> Self {
        OutputWatch(Arc::new(see))
    }
}

impl std::fmt::Debug for OutputWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OutputWatch")
    }
}

#[derive(Debug, Default)]
struct Ring {
    events: VecDeque<Held>,
    bytes: usize,
    /// How many events there have been.
    written: u64,
    closed: bool,
    /// For the record of the call, which outlives events.
    steps: Vec<SeenStep>,
}

/// A step from when it was first heard of.
#[derive(Debug)]
struct SeenStep {
    name: String,
    status: String,
    began: Timestamp,
    /// Not before it is over.
    ended: Option<Timestamp>,
}

impl Ring {
    fn note_step(&mut self, name: &str, status: &str, time: Timestamp) {
        let name = &name[..name.floor_char_boundary(MAX_STEP_NAME)];
        let is_over = status != "running";
        let mut open = self.steps.iter_mut().filter(|step| step.ended.is_none());
        if let Some(step) = open.find(|step| step.name == name) {
            step.ended = is_over.then_some(time);
            status.clone_into(&mut step.status);
        } else if self.steps.len() < MAX_STEPS {
            self.steps.push(SeenStep {
                name: name.to_owned(),
                status: status.to_owned(),
                began: time,
                ended: is_over.then_some(time),
            });
        }
    }
}

/// An event in the ring: shared from when someone first reads it, since of most calls no one reads any.
#[derive(Debug)]
enum Held {
    Unread(Event),
    Shared(Arc<Event>),
}

impl Held {
    fn event(&self) -> &Event {
        match self {
            Held::Unread(event) => event,
            Held::Shared(event) => event,
        }
    }

    fn share(&mut self) -> Arc<Event> {
        let shared = match self {
            Held::Shared(event) => return Arc::clone(event),
            Held::Unread(event) => {
                // Its text is not copied; what stays behind goes at once.
                let nothing = EventKind::Finished {
                    ok: true,
                    code: None,
                };
                Arc::new(Event {
                    kind: std::mem::replace(&mut event.kind, nothing),
                    ..event.clone()
                })
            }
        };
        *self = Held::Shared(Arc::clone(&shared));
        shared
    }
}

impl EventLog {
    /// An empty log.
    #[doc(hidden)]
    pub fn new(call_id: CallId) -> Self {
        EventLog {
            call_id,
            ring: Mutex::default(),
            changed: Notify::new(),
            watch: None,
            live: None,
            mask: None,
        }
    }

    /// Lets someone see the output as it comes.
    pub(crate) fn watched_by(mut self, watch: Option<OutputWatch>) -> Self {
        self.watch = watch;
        self
    }

    /// Reports events to watchers of the outermost call.
    pub(crate) fn live_in(mut self, live: Arc<Live>) -> Self {
        self.live = Some(live);
        self
    }

    /// The outermost call, which is this one or one around it.
    pub(crate) fn live(&self) -> Option<&Arc<Live>> {
        self.live.as_ref()
    }

    /// What others see of the call, if it is an outermost one.
    pub(crate) fn outermost(&self) -> Option<&Arc<Live>> {
        self.live().filter(|live| *live.call_id() == self.call_id)
    }

    /// Takes these secrets out of every event. Watchers see the output as it is: it is for another call, which has its own events.
    pub(crate) fn without_secrets(mut self, secrets: Option<Arc<dyn Secrets>>) -> Self {
        self.mask = secrets.map(|secrets| Mutex::new(EventMask::new(secrets)));
        self
    }

    /// Adds an event. After `Finished` nothing more is taken.
    #[doc(hidden)]
    pub fn push(&self, kind: EventKind) {
        if let (Some(OutputWatch(see)), EventKind::Output { stream, chunk, .. }) =
            (&self.watch, &kind)
        {
            see(*stream, chunk);
        }
        let Some(mask) = &self.mask else {
            return self.write(kind);
        };
        let mut mask = mask.lock().unwrap_or_else(PoisonError::into_inner);
        mask.filter(kind, |told| self.write(told));
    }

    fn write(&self, kind: EventKind) {
        let time = Timestamp::now();
        let last = matches!(kind, EventKind::Finished { .. });
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        if ring.closed {
            return;
        }
        if let EventKind::Step { name, status } = &kind {
            ring.note_step(name, status, time);
        }
        ring.written += 1;
        ring.closed = last;
        ring.bytes += weight(&kind);
        let seq = ring.written;
        let event = Event {
            seq,
            call_id: self.call_id.clone(),
            time,
            kind,
        };
        if let Some(live) = &self.live {
            // In the lock, so that listeners receive events in sequence.
            live.tell(&event);
        }
        ring.events.push_back(Held::Unread(event));
        while ring.events.len() > 1 && (ring.bytes > MAX_BYTES || ring.events.len() > MAX_EVENTS) {
            if let Some(oldest) = ring.events.pop_front() {
                ring.bytes -= weight(&oldest.event().kind);
            }
        }
        drop(ring);
        self.changed.notify_waiters();
    }

    /// The steps of a call that began and ended at these times. One that still ran ended with the call, as `unfinished`.
    pub(crate) fn steps(
        &self,
        begun: Timestamp,
        ended: Timestamp,
        unfinished: &str,
    ) -> Vec<StepRecord> {
        let ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        // A clock that is set meanwhile makes no time negative.
        let ms = |from: Timestamp, to: Timestamp| {
            (to.duration_since(from).as_secs_f64() * 1000.0).max(0.0)
        };
        let steps = ring.steps.iter().map(|step| StepRecord {
            name: step.name.clone(),
            status: match step.ended {
                Some(_) => step.status.clone(),
                None => unfinished.to_owned(),
            },
            start_ms: ms(begun, step.began),
            duration_ms: ms(step.began, step.ended.unwrap_or(ended)),
        });
        steps.collect()
    }

    /// Reads from the first event after `seq` that is still held; 0 reads from the start.
    pub fn read_after(self: &Arc<Self>, seq: u64) -> EventReader {
        EventReader {
            log: Arc::clone(self),
            seen: seq,
        }
    }
}

fn weight(kind: &EventKind) -> usize {
    match kind {
        EventKind::Output { chunk, .. } => chunk.len(),
        EventKind::Progress { message, .. } => message.as_ref().map_or(0, String::len),
        EventKind::Approval { reason, .. } => reason.as_ref().map_or(0, String::len),
        EventKind::Started { .. } | EventKind::Step { .. } | EventKind::Finished { .. } => 0,
    }
}

/// There is no further event yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there is no further event yet")]
pub struct NotYet;

/// One reader of a call's events.
#[derive(Debug, Clone)]
pub struct EventReader {
    log: Arc<EventLog>,
    seen: u64,
}

impl EventReader {
    /// The call that it reads of.
    pub fn call_id(&self) -> &CallId {
        &self.log.call_id
    }

    /// The number of the last event that there has been; 0 before the first.
    pub fn last(&self) -> u64 {
        let ring = self.log.ring.lock().unwrap_or_else(PoisonError::into_inner);
        ring.written
    }

    /// The next event; `None` after `Finished`.
    pub async fn next(&mut self) -> Option<Arc<Event>> {
        loop {
            let log = Arc::clone(&self.log);
            let changed = log.changed.notified();
            match self.next_now() {
                Ok(event) => return event,
                Err(NotYet) => changed.await,
            }
        }
    }

    /// The next event if there is one already; `None` after `Finished`.
    pub fn next_now(&mut self) -> Result<Option<Arc<Event>>, NotYet> {
        let mut ring = self.log.ring.lock().unwrap_or_else(PoisonError::into_inner);
        let first = ring.written + 1 - ring.events.len() as u64;
        let index = self.seen.saturating_add(1).saturating_sub(first);
        let index = usize::try_from(index).ok();
        let held = index.and_then(|index| ring.events.get_mut(index));
        match held.map(Held::share) {
            Some(event) => {
                self.seen = event.seq;
                Ok(Some(event))
            }
            None if ring.closed => Ok(None),
            None => Err(NotYet),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(chunk: &str) -> EventKind {
        EventKind::Output {
            stream: OutputStream::Stdout,
            chunk: chunk.to_owned(),
            step: None,
            console: false,
        }
    }

    fn finished() -> EventKind {
        EventKind::Finished {
            ok: true,
            code: None,
        }
    }

    #[tokio::test]
    async fn every_reader_sees_every_event_in_order_and_then_the_end() {
        let log = Arc::new(EventLog::new(CallId::generate()));
        let mut early = log.read_after(0);
        log.push(output("a"));
        log.push(output("b"));
        log.push(finished());
        log.push(output("too late"));
        let mut late = log.read_after(1);
        let mut seen = Vec::new();
        while let Some(event) = early.next().await {
            seen.push(event.seq);
        }
        assert_eq!(seen, [1, 2, 3]);
        assert_eq!(late.next().await.unwrap().kind, output("b"));
        assert_eq!(late.next().await.unwrap().kind, finished());
        assert!(late.next().await.is_none());
    }

    #[tokio::test]
    async fn a_slow_reader_sees_a_gap_and_memory_stays_bounded() {
        let log = Arc::new(EventLog::new(CallId::generate()));
        let mut reader = log.read_after(0);
        let chunk = "x".repeat(64 * 1024);
        for _ in 0..100 {
            log.push(output(&chunk));
        }
        log.push(finished());
        assert!(log.ring.lock().unwrap().bytes <= MAX_BYTES);
        assert!(
            reader.next().await.unwrap().seq > 1,
            "the oldest events are gone"
        );
    }

    #[tokio::test]
    async fn a_waiting_reader_wakes_for_an_event() {
        let log = Arc::new(EventLog::new(CallId::generate()));
        let mut reader = log.read_after(0);
        let waiting = tokio::spawn(async move { reader.next().await.unwrap().seq });
        tokio::task::yield_now().await;
        log.push(finished());
        assert_eq!(waiting.await.unwrap(), 1);
    }

    #[test]
    fn the_steps_of_a_call_outlive_its_events_in_their_order_and_end_with_it() {
        let log = EventLog::new(CallId::generate());
        let begun = Timestamp::now();
        let step = |name: &str, status: &str| {
            log.push(EventKind::Step {
                name: name.to_owned(),
                status: status.to_owned(),
            });
        };
        step("first", "running");
        step("second", "running");
        for _ in 0..2 * MAX_EVENTS {
            log.push(output("x"));
        }
        step("first", "ok");
        step("third", "skipped");
        step(&"é".repeat(MAX_STEP_NAME), "running");
        let ended = Timestamp::now();
        let steps = log.steps(begun, ended, "timeout");
        let shown: Vec<_> = steps
            .iter()
            .map(|s| (s.name.as_str(), s.status.as_str()))
            .collect();
        let long = "é".repeat(MAX_STEP_NAME / 2);
        assert_eq!(
            shown,
            [
                ("first", "ok"),
                ("second", "timeout"),
                ("third", "skipped"),
                (&*long, "timeout")
            ]
        );
        assert!(steps[0].start_ms <= steps[1].start_ms && steps[1].start_ms < steps[2].start_ms);
        assert_eq!(steps[2].duration_ms, 0.0);
        let whole = ended.duration_since(begun).as_secs_f64() * 1000.0;
        assert!(
            steps
                .iter()
                .all(|s| s.start_ms + s.duration_ms <= whole + 0.001)
        );
        for n in 0..2 * MAX_STEPS {
            step(&format!("more-{n}"), "ok");
        }
        assert_eq!(log.steps(begun, ended, "timeout").len(), MAX_STEPS);
    }

    #[test]
    fn events_on_the_wire_are_flat() {
        let event = Event {
            seq: 1,
            call_id: CallId::parse("c").unwrap(),
            time: Timestamp::UNIX_EPOCH,
            kind: output("hi"),
        };
        assert_eq!(
            serde_json::to_value(event).unwrap(),
            serde_json::json!({"seq": 1, "callId": "c", "time": "1970-01-01T00:00:00Z",
                               "event": "output", "stream": "stdout", "chunk": "hi"})
        );
    }
}
