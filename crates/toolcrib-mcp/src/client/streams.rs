//! Streams of events: the answer to one request, a legacy server's notifications, and those that a modern one was asked for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::json;
use tokio::sync::oneshot;

use super::error::ClientError;
use super::exchange::ExchangeResponse;
use super::http::{Http, content_type, refused};
use super::request_table::{Ask, FOR_EVER, GivingUp, Hearing, Sent, Signs, Talk, Wait, Wire};
use super::sse::Events;

/// How long a server is left alone that does not say how long it wants to be: twice as long each time, up to the most.
const RETRY: Duration = Duration::from_secs(1);
const MAX_RETRY: Duration = Duration::from_secs(60);
/// Whatever it says, not less: a loop is no one's wish.
const MIN_RETRY: Duration = Duration::from_millis(10);
/// How often a stream is taken up again in vain.
const MAX_VAIN: u32 = 5;
/// How long the beginning waits for a stream to be open.
const OPEN_TIME: Duration = Duration::from_millis(300);
/// How many events in a row may be no messages.
const MAX_MALFORMED: usize = 1000;

/// How a stream ended.
enum Ended {
    /// The request it belongs to is answered.
    Answered,
    /// It is over, or broke.
    Over,
}

/// The state of a stream that is kept from one connection to the next.
#[derive(Default)]
struct Mark {
    last_event: Option<String>,
    retry: Option<Duration>,
    /// Whether anything came since it was opened.
    has_events: bool,
}

impl Mark {
    fn pause(&self, vain: u32) -> Duration {
        let pause = self.retry.unwrap_or(RETRY).max(MIN_RETRY);
        pause.saturating_mul(1 << vain.min(6)).min(MAX_RETRY)
    }
}

impl Http {
    /// Hears the events that answer a request. A legacy stream that ends too early is taken up where it ended.
    pub(super) async fn events(
        &self,
        talk: &Arc<Talk>,
        sent: &Sent,
        response: ExchangeResponse,
    ) -> Result<(), ClientError> {
        let mut mark = Mark::default();
        let mut response = response;
        let mut vain = 0;
        loop {
            mark.has_events = false;
            match hear(talk, Some(sent), response, &mut mark).await? {
                Ended::Answered => return Ok(()),
                Ended::Over => {}
            }
            vain = if mark.has_events { 0 } else { vain + 1 };
            let can_resume = !talk.era().is_modern() && sent.method != "initialize";
            if !can_resume || mark.last_event.is_none() || vain > MAX_VAIN {
                return Err(ClientError::Gone(format!(
                    "the stream of the answer to `{}` ended before the answer",
                    sent.method
                )));
            }
            response = loop {
                tokio::time::sleep(mark.pause(vain)).await;
                match self.get(talk, mark.last_event.as_deref()).await {
                    Ok(again) if again.status.is_success() => break again,
                    Ok(again) if !again.status.is_server_error() => {
                        return Err(refused(again).await);
                    }
                    Ok(_) | Err(ClientError::Gone(_)) if vain < MAX_VAIN => vain += 1,
                    Ok(again) => return Err(refused(again).await),
                    Err(error) => return Err(error),
                }
            };
        }
    }

    /// Begins to receive a legacy server's notifications. The returned future ends when the server has answered or refused.
    pub(super) fn hear_besides(&self, talk: &Arc<Talk>) -> oneshot::Receiver<()> {
        let (opened, is_open) = oneshot::channel();
        let session = self.session_token();
        let talk = talk.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = told(&talk, opened) => {}
                () = session.cancelled() => {}
                () = talk.stop.cancelled() => {}
            }
        });
        is_open
    }
}

/// Begins to receive a server's notifications.
pub(super) async fn begin(talk: &Arc<Talk>) {
    match &talk.wire {
        Wire::Http(http) if !talk.era().is_modern() => {
            let is_open = http.hear_besides(talk);
            // No news from now on should be missed; but some servers answer only once they have news.
            let _ = tokio::time::timeout(OPEN_TIME, is_open).await;
        }
        Wire::Http(_) | Wire::Pipes(_) => listen(talk),
    }
}

/// Receives a legacy server's notifications on their own stream, for as long as it has one.
async fn told(talk: &Arc<Talk>, opened: oneshot::Sender<()>) {
    let Wire::Http(http) = &talk.wire else {
        return;
    };
    let mut mark = Mark::default();
    let mut vain = 0;
    let mut opened = Some(opened);
    loop {
        mark.has_events = false;
        let stream = http.get(talk, mark.last_event.as_deref()).await;
        drop(opened.take());
        match stream {
            Ok(response) if response.status.is_success() => {
                if hear(talk, None, response, &mut mark).await.is_err() {
                    return;
                }
            }
            // It has no such stream (405), or does not want us.
            Ok(response) if !response.status.is_server_error() => return,
            Err(ClientError::Unauthorized(_)) => return,
            Ok(_) | Err(_) => {}
        }
        vain = if mark.has_events { 0 } else { vain + 1 };
        tokio::time::sleep(mark.pause(vain)).await;
    }
}

/// Hears one stream to its end.
async fn hear(
    talk: &Arc<Talk>,
    sent: Option<&Sent>,
    mut response: ExchangeResponse,
    mark: &mut Mark,
) -> Result<Ended, ClientError> {
    if content_type(&response.headers) != "text/event-stream" {
        return Err(ClientError::protocol(
            "it answered with no stream of events",
        ));
    }
    let most = talk.options.max_message;
    let signs: Option<&Signs> = sent.map(|sent| &*sent.signs);
    let mut events = Events::new(most);
    let mut malformed = 0;
    while let Some(bytes) = response.body.next().await {
        // A stream that breaks is as over as one that ends.
        let Ok(bytes) = bytes else { break };
        let messages = events.feed(&bytes).map_err(|_| {
            ClientError::protocol(format!("it sent an event of more than {most} bytes"))
        })?;
        if events.last_id().is_some() && events.last_id() != mark.last_event.as_deref() {
            mark.last_event = events.last_id().map(str::to_owned);
            mark.has_events = true;
        }
        mark.retry = events.retry().or(mark.retry);
        for message in messages {
            match talk.hear(&message, signs) {
                Hearing::Understood => {
                    malformed = 0;
                    mark.has_events = true;
                }
                Hearing::Malformed => malformed += 1,
            }
            if malformed > MAX_MALFORMED {
                return Err(ClientError::protocol(format!(
                    "it sent {malformed} events in a row that are not messages"
                )));
            }
            if sent.is_some_and(|sent| !talk.is_waiting(sent.id)) {
                return Ok(Ended::Answered);
            }
        }
    }
    Ok(Ended::Over)
}

/// Has a modern server report changes of its lists, if it says that it does. Over HTTP a stream that ends is opened again; what may have
/// been missed meanwhile counts as a change. On pipes an end is the server's wish.
fn listen(talk: &Arc<Talk>) {
    if !talk.era().is_modern() || talk.server().reported().is_empty() {
        return;
    }
    let talk = talk.clone();
    tokio::spawn(async move {
        tokio::select! {
            () = listening(&talk) => {}
            () = talk.stop.cancelled() => {}
        }
    });
}

async fn listening(talk: &Arc<Talk>) {
    let mut vain = 0;
    loop {
        let params = json!({ "notifications": talk.server().reported() });
        let params = talk.with_modern_meta(params.as_object().cloned().unwrap_or_default());
        // There is no deadline for having nothing to tell.
        let wait = Wait::within(FOR_EVER, GivingUp::Silent);
        let ended = talk
            .ask(Ask::new("subscriptions/listen", params, wait))
            .await;
        let is_over = match (&talk.wire, ended) {
            (Wire::Pipes(_), _) => true,
            (Wire::Http(_), Ok(_) | Err(ClientError::Gone(_) | ClientError::Refused { .. })) => {
                false
            }
            (Wire::Http(_), Err(_)) => true,
        };
        if is_over {
            return;
        }
        let was_acknowledged = talk.listening.swap_to_missed();
        vain = if was_acknowledged { 1 } else { vain + 1 };
        tokio::time::sleep(Mark::default().pause(vain)).await;
    }
}

/// The state of the one subscription.
#[derive(Default)]
pub(super) struct Listening {
    is_acknowledged: AtomicBool,
    /// A stream broke, so that a change may have been missed.
    has_missed: AtomicBool,
}

impl Listening {
    /// The server listens to us listening. Returns whether something may have been missed before.
    pub(super) fn acknowledged(&self) -> bool {
        self.is_acknowledged.store(true, Ordering::Relaxed);
        self.has_missed.swap(false, Ordering::Relaxed)
    }

    fn swap_to_missed(&self) -> bool {
        let was = self.is_acknowledged.swap(false, Ordering::Relaxed);
        if was {
            self.has_missed.store(true, Ordering::Relaxed);
        }
        was
    }
}
