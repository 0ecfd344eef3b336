//! An outermost call as others see it while it runs, and the hooks that hear of its events.
//!
//! The events of a call carry a `Live` along, calls inside it the same one. It costs a call one small allocation; its report is put
//! together only when a watcher asks or has subscribed.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arc_swap::ArcSwap;
use jiff::Timestamp;
use serde::Serialize;

use super::event::{Event, EventKind};
use crate::model::caller::Caller;
use crate::model::ids::CallId;
use crate::model::outcome::Origin;
use crate::spec::ToolSpec;

/// An outermost call that runs or waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunningCall {
    /// Its id.
    pub call_id: CallId,
    /// The tool's wire name, or what was asked for until it is found.
    pub tool: String,
    /// Which exact tool it is, once it is found.
    #[serde(skip)]
    pub origin: Option<Origin>,
    /// The caller.
    pub caller: Caller,
    /// When it arrived.
    pub since: Timestamp,
    /// The question it waits for, if it or a call inside it waits for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
}

/// Data of an outermost call.
#[doc(hidden)]
pub struct Live {
    call_id: CallId,
    asked_for: Arc<str>,
    found: OnceLock<Arc<ToolSpec>>,
    caller: Caller,
    since: Timestamp,
    /// The questions that are open, of the call and of those inside it: with the call that asked.
    questions: Mutex<Vec<(CallId, String)>>,
    /// Whether it has begun: a call that is answered from the store, or refused, never does, and no one hears of it.
    has_begun: AtomicBool,
    hooks: Arc<Hooks>,
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Live").field(&self.call_id).finish()
    }
}

impl Live {
    pub(crate) fn new(
        call_id: CallId,
        asked_for: Arc<str>,
        caller: Caller,
        since: Timestamp,
        hooks: Arc<Hooks>,
    ) -> Self {
        Live {
            call_id,
            asked_for,
            found: OnceLock::new(),
            caller,
            since,
            questions: Mutex::default(),
            has_begun: AtomicBool::new(false),
            hooks,
        }
    }

    pub(crate) fn call_id(&self) -> &CallId {
        &self.call_id
    }

    pub(crate) fn begin(&self) {
        self.has_begun.store(true, Ordering::Release);
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.has_begun.load(Ordering::Acquire)
    }

    pub(crate) fn found(&self, spec: &Arc<ToolSpec>) {
        let _ = self.found.set(Arc::clone(spec));
    }

    /// The call as of now.
    pub(crate) fn look(&self) -> RunningCall {
        let found = self.found.get();
        let questions = self
            .questions
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        RunningCall {
            call_id: self.call_id.clone(),
            tool: found.map_or_else(|| self.asked_for.to_string(), |spec| spec.name.to_string()),
            origin: found.map(|spec| Origin {
                bundle: spec.bundle.clone(),
                version: spec.version.clone(),
            }),
            caller: self.caller.clone(),
            since: self.since,
            approval: questions.first().map(|(_, id)| id.clone()),
        }
    }

    /// Takes notice of an event of the call or of one inside it, and passes it on.
    pub(crate) fn tell(&self, event: &Event) {
        match &event.kind {
            EventKind::Output { .. } | EventKind::Progress { .. } => return,
            EventKind::Approval { status, id, .. } => self.keep_question(event, status, id),
            EventKind::Finished { .. } => self.forget_questions(&event.call_id),
            EventKind::Started { .. } | EventKind::Step { .. } => {}
        }
        let is_told =
            event.call_id == self.call_id || matches!(event.kind, EventKind::Approval { .. });
        if is_told && self.hooks.any() && self.has_begun() {
            self.hooks.call(&self.look(), event);
        }
    }

    fn keep_question(&self, event: &Event, status: &str, id: &Option<String>) {
        self.forget_questions(&event.call_id);
        if let ("pending", Some(id)) = (status, id) {
            self.questions
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((event.call_id.clone(), id.clone()));
        }
    }

    fn forget_questions(&self, of: &CallId) {
        self.questions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|(call, _)| call != of);
    }
}

type Hook = dyn Fn(&RunningCall, &Event) + Send + Sync;

/// Those who want to hear of events.
#[derive(Default)]
pub(crate) struct Hooks {
    any: AtomicBool,
    next: AtomicU64,
    all: ArcSwap<Vec<(u64, Arc<Hook>)>>,
}

impl Hooks {
    fn any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    fn call(&self, running: &RunningCall, event: &Event) {
        for (_, hook) in self.all.load().iter() {
            // A hook is someone's code; a call never panics.
            let _ = std::panic::catch_unwind(AssertUnwindSafe(|| hook(running, event)));
        }
    }

    pub(crate) fn add(self: &Arc<Self>, hook: Arc<Hook>) -> EventSubscription {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.all.rcu(|all| {
            let mut all = Vec::clone(all);
            all.push((number, Arc::clone(&hook)));
            all
        });
        self.any.store(true, Ordering::Release);
        EventSubscription(Arc::new(Subscribed {
            hooks: Arc::clone(self),
            number,
        }))
    }
}

/// A listener for events, for as long as this or a clone of it is kept.
#[derive(Clone)]
#[must_use = "the subscription ends when it is dropped"]
pub struct EventSubscription(#[expect(dead_code, reason = "kept, not read")] Arc<Subscribed>);

impl fmt::Debug for EventSubscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EventSubscription")
    }
}

struct Subscribed {
    hooks: Arc<Hooks>,
    number: u64,
}

impl Drop for Subscribed {
    fn drop(&mut self) {
        // That there may be someone stays said: a look at an empty list costs little, and is never wrong.
        self.hooks.all.rcu(|all| {
            let others = all.iter().filter(|(number, _)| *number != self.number);
            others.cloned().collect::<Vec<_>>()
        });
    }
}
