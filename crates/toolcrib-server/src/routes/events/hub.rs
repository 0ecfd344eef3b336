//! [`Hub`]: what happens in this server, in order, as far back as memory allows.
//!
//! A ring of events, each written once as JSON and shared by all readers, who pull from it at their own pace. Nothing is collected before
//! someone has read here for the first time: until then no one can have an id to come back with, and calls pay nothing for it.
//!
//! Events of calls come from the registry as they happen. Changes by other processes are polled once a second while a client reads:
//! questions and answers in the queue of approvals, and tools, which the registry reports when it follows its files.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use serde::Serialize;
use tokio::sync::Notify;
use toolcrib::approval::{Queued, Status};
use toolcrib::registry::{Entry, EventSubscription, RunningCall};
use toolcrib::storage::{Followed, Stamp, Stamps};
use toolcrib::{Caller, Crib, Event, EventKind};
use uuid::Uuid;

use super::recent::Recent;
use super::sse;
use crate::auth::Principal;
use crate::routes::calls::Gate;

/// How many events, and how many bytes of them, are held before the oldest go.
const MAX_EVENTS: usize = 4096;
const MAX_BYTES: usize = 1024 * 1024;

/// How often others' doings are looked for.
const LOOK: Duration = Duration::from_secs(1);

/// How many tools a change names at most.
const MAX_NAMED: usize = 50;

/// What happens in this server.
pub(crate) struct Hub {
    shared: Arc<Shared>,
    /// Places for streams of any kind.
    pub(crate) streams: Gate,
    /// Calls whose events may still be asked for.
    pub(crate) recent: Recent,
}

struct Shared {
    crib: Arc<Crib>,
    /// What the ids of this server begin with: a number alone would be taken for one of another's.
    start: String,
    ring: Mutex<Ring>,
    changed: Notify,
    readers: AtomicUsize,
    /// Whether someone looks for others' doings.
    looking: AtomicBool,
    /// Wakes the task that polls for changes of other processes.
    look: Notify,
    collecting: OnceLock<EventSubscription>,
    questions: Mutex<Questions>,
    /// The switches of tools that are not of the store, as far as was looked.
    switches: Mutex<Followed<()>>,
}

#[derive(Default)]
struct Ring {
    events: VecDeque<Arc<Happened>>,
    bytes: usize,
    /// How many there have been.
    written: u64,
}

/// Something that happened.
struct Happened {
    number: u64,
    event: &'static str,
    audience: Audience,
    /// As JSON.
    data: Bytes,
}

/// The principals that may receive it, beside the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Audience {
    Everybody,
    Nobody,
    Caller(Caller),
}

/// The known questions.
#[derive(Default)]
struct Questions {
    /// The reported ones, and their reported state.
    told: HashMap<String, Status>,
    /// The queue's directory, as far as was looked.
    queue: Followed<()>,
}

impl Hub {
    /// Of a crib.
    pub(crate) fn of(crib: &Arc<Crib>) -> Self {
        // Settings that do not hold are refused where the server starts; an API without a server goes by what is usual.
        let max_streams = crib
            .config()
            .server()
            .map_or(1000, |server| server.max_streams);
        Hub {
            shared: Arc::new(Shared {
                crib: Arc::clone(crib),
                start: Uuid::now_v7().simple().to_string()[20..].to_owned(),
                ring: Mutex::default(),
                changed: Notify::new(),
                readers: AtomicUsize::new(0),
                looking: AtomicBool::new(false),
                look: Notify::new(),
                collecting: OnceLock::new(),
                questions: Mutex::default(),
                switches: Mutex::default(),
            }),
            streams: Gate::new(max_streams, 0),
            recent: Recent::default(),
        }
    }

    /// Looks at once for what others did, rather than within a second: for those who know that something changed.
    pub(crate) fn look(&self) {
        self.shared.look.notify_one();
    }

    /// Reads from behind an event, or from now on. An id that is not of this server, or too old, begins with a gap.
    pub(crate) fn read(&self, who: &Principal, after: Option<&str>) -> HubReader {
        self.shared.collect();
        let now = self.shared.ring().written;
        let given = after.map(|id| {
            let own = id.strip_prefix(&self.shared.start)?.strip_prefix('-')?;
            own.parse::<u64>().ok().filter(|number| *number <= now)
        });
        let (seen, is_foreign) = match given {
            None => (now, false),
            Some(Some(number)) => (number, false),
            Some(None) => (now, true),
        };
        self.shared.readers.fetch_add(1, Ordering::SeqCst);
        if !self.shared.looking.swap(true, Ordering::SeqCst) {
            tokio::spawn(look_now_and_then(Arc::downgrade(&self.shared)));
        }
        HubReader {
            shared: Arc::clone(&self.shared),
            who: who.clone(),
            seen,
            is_foreign,
        }
    }
}

impl Shared {
    fn ring(&self) -> std::sync::MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to collect, if no one did so far.
    fn collect(self: &Arc<Self>) {
        self.collecting.get_or_init(|| {
            let hub = Arc::downgrade(self);
            let is_first = AtomicBool::new(true);
            self.crib.registry().watch(move |gone, come| {
                // At first it reports all existing ones, which is not a change.
                if is_first.swap(false, Ordering::Relaxed) {
                    return;
                }
                if let Some(hub) = hub.upgrade() {
                    hub.tools_changed(gone, come);
                }
            });
            let hub = Arc::downgrade(self);
            self.crib.registry().on_event(move |call, event| {
                if let Some(hub) = hub.upgrade() {
                    hub.call_event(call, event);
                }
            })
        });
    }

    fn push(&self, event: &'static str, audience: Audience, data: &impl Serialize) {
        let Ok(data) = serde_json::to_vec(data) else {
            return;
        };
        let mut ring = self.ring();
        ring.written += 1;
        ring.bytes += data.len();
        let number = ring.written;
        ring.events.push_back(Arc::new(Happened {
            number,
            event,
            audience,
            data: data.into(),
        }));
        while ring.events.len() > 1 && (ring.bytes > MAX_BYTES || ring.events.len() > MAX_EVENTS) {
            if let Some(oldest) = ring.events.pop_front() {
                ring.bytes -= oldest.data.len();
            }
        }
        drop(ring);
        self.changed.notify_waiters();
    }

    fn call_event(&self, call: &RunningCall, event: &Event) {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct CallBody<'a> {
            #[serde(flatten)]
            event: &'a Event,
            /// `started` names the tool itself.
            #[serde(skip_serializing_if = "Option::is_none")]
            tool: Option<&'a str>,
            caller: &'a Caller,
        }
        let told = CallBody {
            event,
            tool: match &event.kind {
                EventKind::Started { .. } => None,
                _ => Some(&call.tool),
            },
            caller: &call.caller,
        };
        let audience = Audience::Caller(call.caller.clone());
        self.push(sse::name(&event.kind), audience, &told);
        if let EventKind::Approval { .. } = &event.kind {
            self.look.notify_one();
        }
    }

    fn tools_changed(&self, gone: &[Arc<Entry>], come: &[Arc<Entry>]) {
        let named = |entries: &[Arc<Entry>], but: &[Arc<Entry>]| -> Vec<String> {
            let stays = |name: &str| but.iter().any(|other| other.spec().name.as_str() == name);
            let names = entries.iter().map(|entry| entry.spec().name.as_str());
            let names = names.filter(|name| but.is_empty() || !stays(name));
            names.take(MAX_NAMED).map(str::to_owned).collect()
        };
        // No one reads the names of thousands of changes; comparing them all would delay the thread that changes tools.
        let (gone_named, come_named) = match gone.len() > MAX_NAMED || come.len() > MAX_NAMED {
            true => (Vec::new(), Vec::new()),
            false => (named(gone, come), named(come, &[])),
        };
        self.tell_of_tools(come_named, gone_named);
    }

    fn tell_of_tools(&self, come: Vec<String>, gone: Vec<String>) {
        #[derive(Serialize)]
        struct ToolsBody {
            event: &'static str,
            time: Timestamp,
            /// Tools that came or changed, and tools that went; none where they are too many to name, or not known.
            come: Vec<String>,
            gone: Vec<String>,
        }
        let told = ToolsBody {
            event: "tools",
            time: Timestamp::now(),
            come,
            gone,
        };
        self.push("tools", Audience::Everybody, &told);
    }

    /// Tools of the program and of files are switched by their own file.
    fn look_at_switches(&self) {
        let stamps = Stamps::new([Stamp::at(&self.crib.home().join("state/flags.json"))]);
        let mut known = self.switches.lock().unwrap_or_else(PoisonError::into_inner);
        if known.last().is_some() && known.is_other(&stamps) {
            self.tell_of_tools(Vec::new(), Vec::new());
        }
        known.set(stamps, ());
    }

    /// Finds what others did. Reads files.
    fn look_around(&self) {
        // Following the files reports tools that changed.
        let _ = self.crib.registry().get("");
        self.look_at_switches();
        self.look_at_questions();
    }

    fn look_at_questions(&self) {
        let mut questions = self
            .questions
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let stamps = Stamps::new([Stamp::at(&self.crib.home().join("approvals"))]);
        // Open questions expire without a change.
        let is_open = |status: &Status| matches!(status, Status::Pending | Status::Approved);
        let is_known = questions.queue.current(&stamps).is_some();
        if is_known && !questions.told.values().any(is_open) {
            return;
        }
        let is_first = questions.queue.last().is_none();
        let Ok(listing) = self.crib.approvals().list(None) else {
            return;
        };
        questions.queue.set(stamps, ());
        let mut there = HashMap::with_capacity(listing.requests.len());
        for question in &listing.requests {
            let id = question.request.id.clone();
            let before = questions.told.get(&id).copied();
            // What was over before anybody read here is not news.
            let is_news =
                before != Some(question.status) && (!is_first || is_open(&question.status));
            if is_news {
                self.question(question);
            }
            there.insert(id, question.status);
        }
        questions.told = there;
    }

    fn question(&self, question: &Queued) {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct ApprovalBody<'a> {
            event: &'static str,
            time: Timestamp,
            id: &'a str,
            status: Status,
            tool: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            by: Option<&'a str>,
        }
        let told = ApprovalBody {
            event: "question",
            time: Timestamp::now(),
            id: &question.request.id,
            status: question.status,
            tool: &question.request.tool,
            by: question.answer.as_ref().map(|answer| answer.by.as_str()),
        };
        self.push("question", Audience::Nobody, &told);
    }
}

/// Looks for others' doings for as long as someone reads.
async fn look_now_and_then(hub: Weak<Shared>) {
    loop {
        let Some(shared) = hub.upgrade() else { return };
        if shared.readers.load(Ordering::SeqCst) == 0 {
            shared.looking.store(false, Ordering::SeqCst);
            // A later reader may have seen that someone looks.
            let is_needed = shared.readers.load(Ordering::SeqCst) > 0;
            if !is_needed || shared.looking.swap(true, Ordering::SeqCst) {
                return;
            }
        }
        let looking = Arc::clone(&shared);
        let _ = tokio::task::spawn_blocking(move || looking.look_around()).await;
        let _ = tokio::time::timeout(LOOK, shared.look.notified()).await;
    }
}

/// Someone who reads.
pub(crate) struct HubReader {
    shared: Arc<Shared>,
    who: Principal,
    seen: u64,
    is_foreign: bool,
}

impl HubReader {
    /// The next frame for the reader. May be given up while it waits.
    pub(crate) async fn next(&mut self) -> Bytes {
        let shared = Arc::clone(&self.shared);
        loop {
            let changed = shared.changed.notified();
            if let Some(frame) = self.take() {
                return frame;
            }
            changed.await;
        }
    }

    fn take(&mut self) -> Option<Bytes> {
        if std::mem::take(&mut self.is_foreign) {
            return Some(self.gap(None));
        }
        loop {
            let happened = {
                let ring = self.shared.ring();
                let first = ring.written + 1 - ring.events.len() as u64;
                if self.seen + 1 < first && ring.written > 0 {
                    let missed = first - self.seen - 1;
                    self.seen = first - 1;
                    drop(ring);
                    return Some(self.gap(Some(missed)));
                }
                let index = usize::try_from(self.seen + 1 - first).ok()?;
                Arc::clone(ring.events.get(index)?)
            };
            self.seen = happened.number;
            if self.may_hear(&happened.audience) {
                return Some(happened.frame(&self.shared.start));
            }
        }
    }

    fn may_hear(&self, audience: &Audience) -> bool {
        match (&self.who, audience) {
            (Principal::Operator, _) | (_, Audience::Everybody) => true,
            (Principal::Client(name), Audience::Caller(Caller::Client(caller))) => {
                **name == **caller
            }
            _ => false,
        }
    }

    /// Says that events were lost; how many is not known of another server's.
    fn gap(&self, missed: Option<u64>) -> Bytes {
        #[derive(Serialize)]
        struct Gap {
            event: &'static str,
            #[serde(skip_serializing_if = "Option::is_none")]
            missed: Option<u64>,
        }
        let id = format_args!("{}-{}", self.shared.start, self.seen);
        let event = "gap";
        sse::frame(id, event, &Gap { event, missed })
    }
}

impl Happened {
    fn frame(&self, start: &str) -> Bytes {
        let (event, number) = (self.event, self.number);
        let mut frame = Vec::with_capacity(64 + self.data.len());
        frame.extend_from_slice(format!("id: {start}-{number}\nevent: {event}\ndata: ").as_bytes());
        frame.extend_from_slice(&self.data);
        frame.extend_from_slice(b"\n\n");
        frame.into()
    }
}

impl Drop for HubReader {
    fn drop(&mut self) {
        self.shared.readers.fetch_sub(1, Ordering::SeqCst);
    }
}
