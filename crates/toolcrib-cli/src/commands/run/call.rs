//! A call while it runs: in this process or in a server. Both are shown alike.

use std::collections::HashSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use toolcrib::approval::ApprovalRequest;
use toolcrib::registry::CallHandle;
use toolcrib::{Event, EventKind, EventReader, Outcome};
use toolcrib_server::client::{Ask, CallBody, CallStream, Client, ClientError, StreamItem};

use crate::prompt::Questions;

/// A call that runs.
pub(super) enum Call {
    Here(CallHandle),
    There(There),
}

/// A call that a server runs. A task follows it, so that questions are heard of while something else is waited for.
pub(super) struct There {
    events: Option<UnboundedReceiver<Arc<Event>>>,
    cancel: CancellationToken,
    task: JoinHandle<Result<Outcome, ClientError>>,
}

/// The events of a call.
pub(super) enum Events {
    Here(EventReader),
    There(UnboundedReceiver<Arc<Event>>),
}

impl Events {
    /// The next event; `None` when there are no more.
    pub(super) async fn next(&mut self) -> Option<Arc<Event>> {
        match self {
            Events::Here(reader) => reader.next().await,
            Events::There(events) => events.recv().await,
        }
    }
}

/// Whom the questions of a server's call are handed to.
pub(super) struct Hearing {
    pub(super) questions: Arc<dyn Questions>,
    pub(super) told: UnboundedSender<ApprovalRequest>,
}

impl Call {
    /// Calls through a server. An error means that nothing was called, unless it is that the answer was lost.
    pub(super) async fn through(
        client: &Client,
        body: &CallBody,
        hearing: Option<Hearing>,
        cancel: &CancellationToken,
    ) -> Result<Self, ClientError> {
        let stream = client.call(body).await?;
        let (sender, events) = unbounded_channel();
        let cancel = cancel.child_token();
        let following = Following {
            client: client.clone(),
            stream,
            events: sender,
            hearing,
            heard: HashSet::new(),
        };
        let task = tokio::spawn(following.follow(cancel.clone()));
        Ok(Call::There(There {
            events: Some(events),
            cancel,
            task,
        }))
    }

    /// The events from the start. Once.
    pub(super) fn events(&mut self) -> Events {
        match self {
            Call::Here(call) => Events::Here(call.events()),
            Call::There(there) => Events::There(there.events.take().unwrap_or_else(|| {
                let (_, none) = unbounded_channel();
                none
            })),
        }
    }

    pub(super) fn cancel(&self) {
        match self {
            Call::Here(call) => call.cancel(),
            Call::There(there) => there.cancel.cancel(),
        }
    }

    pub(super) async fn outcome(self) -> Result<Outcome, ClientError> {
        match self {
            Call::Here(call) => Ok(call.outcome().await),
            Call::There(there) => match there.task.await {
                Ok(outcome) => outcome,
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            },
        }
    }
}

struct Following {
    client: Client,
    stream: CallStream,
    events: UnboundedSender<Arc<Event>>,
    hearing: Option<Hearing>,
    heard: HashSet<String>,
}

impl Following {
    async fn follow(mut self, cancel: CancellationToken) -> Result<Outcome, ClientError> {
        let mut is_cancelled = false;
        loop {
            let asks = self.hearing.is_some();
            let next = {
                let followed = pin!(self.stream.next());
                let else_ = pin!(something_else(&cancel, is_cancelled, asks));
                match select(followed, else_).await {
                    Either::Left((followed, _)) => Next::StreamItem(followed?),
                    Either::Right((next, _)) => next,
                }
            };
            match next {
                Next::Cancel => {
                    is_cancelled = true;
                    self.cancel().await?;
                }
                Next::Look => self.look().await,
                Next::StreamItem(Some(StreamItem::Outcome(outcome))) => return Ok(*outcome),
                Next::StreamItem(Some(StreamItem::Event(event))) => {
                    self.hear(&event);
                    // No one may look at events.
                    let _ = self.events.send(Arc::new(*event));
                }
                Next::StreamItem(None) => {
                    return Err(ClientError::Strange {
                        server: self.client.address().to_string(),
                        why: "the call has no outcome".to_owned(),
                    });
                }
            }
        }
    }

    /// Looks for a question of a call inside this one, which has no event here.
    async fn look(&mut self) {
        let Some(id) = self.stream.id() else { return };
        let path = format!("/api/calls/{}", Ask::encoded(id.as_str()));
        let Ok(view) = self.client.get(&path).await else {
            return;
        };
        if let Some(id) = view.pointer("/approval/id").and_then(|id| id.as_str()) {
            self.put(id.to_owned());
        }
    }

    /// Asks the server to cancel. The outcome of a call that ended in the meantime is on its way.
    async fn cancel(&mut self) -> Result<(), ClientError> {
        let Some(id) = self.stream.id() else {
            return Err(ClientError::Lost {
                server: self.client.address().to_string(),
                why: "cancelled before the server said which call it is".to_owned(),
            });
        };
        match self.client.cancel(id.as_str()).await {
            Err(ClientError::Refused { .. }) | Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Takes notice of a question of the call itself.
    fn hear(&mut self, event: &Event) {
        let EventKind::Approval {
            status,
            id: Some(id),
            ..
        } = &event.kind
        else {
            return;
        };
        if status == "pending" {
            self.put(id.clone());
        }
    }

    /// Hands a question over, once.
    fn put(&mut self, id: String) {
        let Some(hearing) = &self.hearing else { return };
        if !self.heard.insert(id.clone()) {
            return;
        }
        let (questions, told) = (Arc::clone(&hearing.questions), hearing.told.clone());
        tokio::task::spawn_blocking(move || {
            if let Ok(queued) = questions.show(&id) {
                let _ = told.send(queued.request);
            }
        });
    }
}

/// How often a server is asked for questions of calls inside a call.
const EVERY: Duration = Duration::from_millis(300);

/// What happens next to a call that a server runs.
enum Next {
    StreamItem(Option<StreamItem>),
    /// It is to be cancelled.
    Cancel,
    /// It is time to look for questions.
    Look,
}

async fn something_else(cancel: &CancellationToken, is_cancelled: bool, asks: bool) -> Next {
    let cancelled = async {
        match is_cancelled {
            true => std::future::pending().await,
            false => cancel.cancelled().await,
        }
    };
    match asks && !is_cancelled {
        false => {
            cancelled.await;
            Next::Cancel
        }
        true => match tokio::time::timeout(EVERY, cancelled).await {
            Ok(()) => Next::Cancel,
            Err(_) => Next::Look,
        },
    }
}
