//! The approver of a call: [`Asking`], the crib's own approver, with an observer that may put its questions to a client.
//!
//! It decides nothing. The observer answers a question about an approval like any other front end, in the queue, where the first answer wins.
//! A tool of another MCP server may ask its own questions; those go to the client alone, and their answers to the tool.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::futures::Notified;
use tokio::sync::{Notify, mpsc, oneshot};
use toolcrib::approval::{
    Announce, ApprovalQueue, ApprovalRequest, ApprovalResponse, Approver, NoAnswer, Status,
};
use toolcrib::call::elicit::{Elicitation, Elicitor, NotAnswered};
use toolcrib::{CallId, EventReader};

/// A question that waits.
#[derive(Clone)]
pub(super) enum Question {
    /// Whether a call may run, as the queue has it, by whose id it goes.
    Approval(Arc<ApprovalRequest>),
    /// What a tool wants to know while it runs.
    Tool(Arc<ToolQuestion>),
}

impl Question {
    /// By which it is known.
    pub(super) fn id(&self) -> &str {
        match self {
            Question::Approval(question) => &question.id,
            Question::Tool(question) => &question.id,
        }
    }

    /// The approval that is asked for, if it is about one.
    pub(super) fn approval(&self) -> Option<&Arc<ApprovalRequest>> {
        match self {
            Question::Approval(question) => Some(question),
            Question::Tool(_) => None,
        }
    }
}

/// A question of a tool's, which takes one answer.
pub(super) struct ToolQuestion {
    id: String,
    /// The question and its caller.
    pub(super) asked: Elicitation,
    answer: Mutex<Option<oneshot::Sender<Value>>>,
}

impl ToolQuestion {
    /// Gives an answer; whether it was the first one. None means that there will be none.
    pub(super) fn answer(&self, answer: Option<Value>) -> bool {
        let mut taken = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        match (taken.take(), answer) {
            (Some(sender), Some(answer)) => sender.send(answer).is_ok(),
            (_, _) => false,
        }
    }
}

/// What one call asks, and who follows it.
pub(super) struct Asking {
    asked: Arc<dyn Approver>,
    queue: ApprovalQueue,
    open: Mutex<Vec<Question>>,
    /// The questions that the client dismissed: it is not asked them again.
    dismissed: Mutex<Vec<String>>,
    changed: Notify,
    /// The events of the call, from when it has begun.
    events: OnceLock<EventReader>,
}

impl Asking {
    pub(super) fn new(asked: Arc<dyn Approver>, queue: ApprovalQueue) -> Self {
        Asking {
            asked,
            queue,
            open: Mutex::default(),
            dismissed: Mutex::default(),
            changed: Notify::new(),
            events: OnceLock::new(),
        }
    }

    /// The call has begun.
    pub(super) fn begun(&self, events: EventReader) {
        let _ = self.events.set(events);
    }

    /// The events of the call from the start, if it has begun.
    pub(super) fn events(&self) -> Option<EventReader> {
        self.events.get().cloned()
    }

    /// The call, if it has begun.
    pub(super) fn call_id(&self) -> Option<&CallId> {
        self.events.get().map(EventReader::call_id)
    }

    /// The questions that wait now, oldest first; of the calls inside the call, too.
    pub(super) fn open(&self) -> Vec<Question> {
        self.lock().clone()
    }

    /// The client dismissed this question, which decides nothing.
    pub(super) fn dismiss(&self, id: &str) {
        let mut dismissed = self
            .dismissed
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        dismissed.push(id.to_owned());
    }

    /// Whether the client dismissed this question.
    pub(super) fn is_dismissed(&self, id: &str) -> bool {
        let dismissed = self
            .dismissed
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        dismissed.iter().any(|one| one == id)
    }

    /// Resolves when there is another question, or one less, from now on.
    pub(super) fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Question>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A question that waits for as long as this is kept.
    fn waits(&self, question: Question) -> Waits<'_> {
        self.lock().push(question.clone());
        self.changed.notify_waiters();
        Waits {
            asking: self,
            question,
        }
    }

    /// The question with this id, if a person can still answer it: what was decided just now is not asked again.
    async fn pending(&self, id: String) -> Option<Question> {
        let queue = self.queue.clone();
        let shown = tokio::task::spawn_blocking(move || queue.show(&id)).await;
        let queued = shown.ok()?.ok()?;
        let is_pending = queued.status == Status::Pending;
        is_pending.then(|| Question::Approval(Arc::new(queued.request)))
    }
}

struct Waits<'a> {
    asking: &'a Asking,
    question: Question,
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        let mut open = self.asking.lock();
        if let Some(at) = open.iter().position(|one| one.id() == self.question.id()) {
            open.remove(at);
        }
        drop(open);
        self.asking.changed.notify_waiters();
    }
}

impl Approver for Asking {
    fn decide(
        &self,
        mut request: ApprovalRequest,
    ) -> BoxFuture<'_, Result<ApprovalResponse, NoAnswer>> {
        if !self.asked.announces() {
            return self.asked.decide(request);
        }
        let (sender, mut ids) = mpsc::unbounded_channel::<String>();
        let telling = request.clone();
        request.announce = Announce::to(move |id| {
            telling.announce(id);
            let _ = sender.send(id.to_owned());
        });
        Box::pin(async move {
            let shown = async {
                let mut _waits: Option<Waits<'_>> = None;
                while let Some(id) = ids.recv().await {
                    drop(_waits.take());
                    _waits = self.pending(id).await.map(|question| self.waits(question));
                }
                std::future::pending::<()>().await;
            };
            tokio::select! {
                biased;
                answer = self.asked.decide(request) => answer,
                () = shown => Err(NoAnswer::Expired),
            }
        })
    }

    fn claim(&self, id: &str) -> BoxFuture<'_, Result<(), NoAnswer>> {
        self.asked.claim(id)
    }

    fn announces(&self) -> bool {
        self.asked.announces()
    }
}

impl Elicitor for Asking {
    fn elicit(&self, asked: Elicitation) -> BoxFuture<'_, Result<Value, NotAnswered>> {
        let (sender, answer) = oneshot::channel();
        let question = ToolQuestion {
            id: CallId::generate().to_string(),
            asked,
            answer: Mutex::new(Some(sender)),
        };
        let question = Question::Tool(Arc::new(question));
        Box::pin(async move {
            let _waits = self.waits(question);
            let none = |_| NotAnswered("the client did not answer".to_owned());
            answer.await.map_err(none)
        })
    }
}
