//! One call through a server: [`CallStream`].

use std::collections::VecDeque;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use serde::Serialize;
use serde_json::Value;
use toolcrib::model::JsonObject;
use toolcrib::{CallId, Event, Outcome};

use super::Client;
use super::error::ClientError;
use super::events::{Events, ServerEvent};
use super::outcome::outcome_of;
use super::request::{Answered, Ask};

/// How often a lost connection is looked for again, and how long between: 0.1, 0.2, 0.4 … seconds.
const ATTEMPTS: u32 = 7;
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// Says that the command line calls, which has its own grants and ids, and wants the text that people read.
const CALLER: HeaderName = HeaderName::from_static("toolcrib-caller");

/// The request: the body of `POST /api/calls`.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallBody {
    /// The tool, in any spelling.
    pub tool: String,
    /// The arguments.
    pub args: JsonObject,
    /// The caller's own id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    /// Less time than the tool would have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// How long to wait for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_wait_ms: Option<u64>,
    /// The approver: `wait`, `given` or `yes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approvals: Option<&'static str>,
    /// Whether the call ends with this connection.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cancel_on_disconnect: bool,
    /// The session for grants that last as long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// What a stream of a call gives.
#[derive(Debug, Clone)]
pub enum StreamItem {
    /// Something happened.
    Event(Box<Event>),
    /// It is over; nothing follows.
    Outcome(Box<Outcome>),
}

/// A call that is followed from its start to its outcome. A lost connection is made again, from the last event that came, unless
/// the call ended with it.
#[derive(Debug)]
pub struct CallStream {
    client: Client,
    id: Option<CallId>,
    /// The last event that came.
    seen: u64,
    from: Coming,
    ready: VecDeque<StreamItem>,
    /// Whether a lost connection can be made again.
    may_resume: bool,
}

#[derive(Debug)]
enum Coming {
    /// Events come.
    Stream(Box<Events>),
    /// The connection is gone, or was never made.
    Nowhere,
    /// There are no more events; the outcome has to be asked for.
    Finished,
    /// The outcome was reported.
    Over,
}

impl Client {
    /// Calls a tool as the command line does. Returns once the server has taken the call.
    pub async fn call(&self, body: &CallBody) -> Result<CallStream, ClientError> {
        // A call may wait for its place.
        let ask = |body: &CallBody| {
            let json = serde_json::to_value(body).map_err(|error| {
                ClientError::Usage(format!("no such call can be made: {error}"))
            })?;
            Ok::<_, ClientError>(Ask::post("/api/calls", &json).patience(None))
        };
        let as_cli = ask(body)?.header(CALLER, HeaderValue::from_static("cli"));
        let mut stream = CallStream {
            client: self.clone(),
            id: body.call_id.clone(),
            seen: 0,
            from: Coming::Nowhere,
            ready: VecDeque::new(),
            may_resume: !body.cancel_on_disconnect,
        };
        let mut answer = self.stream(as_cli).await?;
        if let Err(refused) = &answer
            && is_for_the_operator(refused)
        {
            // The token is a client's, which calls as itself and has no session.
            let body = CallBody {
                session: None,
                ..body.clone()
            };
            answer = self.stream(ask(&body)?).await?;
        }
        match answer {
            Ok(events) => {
                let location = events.headers().get(http::header::LOCATION);
                let id = location
                    .and_then(|location| location.to_str().ok()?.strip_prefix("/api/calls/"))
                    // Ids that servers make need no decoding; others are known here.
                    .and_then(|id| CallId::parse(id).ok());
                stream.id = stream.id.or(id);
                stream.from = Coming::Stream(Box::new(events));
            }
            // Refused by the pipeline, or by the server.
            Err(answered) => {
                let outcome = serde_json::from_slice::<Value>(&answered.body)
                    .ok()
                    .and_then(|value| outcome_of(&value).ok());
                match outcome {
                    Some(outcome) => {
                        stream.from = Coming::Over;
                        stream
                            .ready
                            .push_back(StreamItem::Outcome(Box::new(outcome)));
                    }
                    None => {
                        self.read_json(answered)?;
                        return Err(
                            self.strange("it answers a call with neither events nor an outcome")
                        );
                    }
                }
            }
        }
        Ok(stream)
    }

    /// Follows a call that someone began, from behind an event: 0 is from the start.
    pub fn follow(&self, id: CallId, after: u64) -> CallStream {
        CallStream {
            client: self.clone(),
            id: Some(id),
            seen: after,
            from: Coming::Nowhere,
            ready: VecDeque::new(),
            may_resume: true,
        }
    }

    /// Cancels a call.
    pub async fn cancel(&self, id: &str) -> Result<Value, ClientError> {
        let path = format!("/api/calls/{}/cancel", Ask::encoded(id));
        self.json(Ask::post_nothing(path)).await
    }
}

/// Whether a call is refused because it says that it comes from the command line.
fn is_for_the_operator(answered: &Answered) -> bool {
    answered.status == http::StatusCode::FORBIDDEN
        && serde_json::from_slice::<Value>(&answered.body).is_ok_and(|body| {
            let message = body.pointer("/error/message").and_then(Value::as_str);
            message.is_some_and(|message| message.contains("Toolcrib-Caller"))
        })
}

impl CallStream {
    /// The id of the call, as soon as it is known.
    pub fn id(&self) -> Option<&CallId> {
        self.id.as_ref()
    }

    /// The next event, or the outcome; `None` behind that.
    pub async fn next(&mut self) -> Result<Option<StreamItem>, ClientError> {
        loop {
            if let Some(followed) = self.ready.pop_front() {
                return Ok(Some(followed));
            }
            match &mut self.from {
                Coming::Over => return Ok(None),
                Coming::Nowhere => self.reconnect().await?,
                Coming::Finished => return self.outcome().await.map(Some),
                Coming::Stream(events) => match events.next().await {
                    Ok(Some(event)) => self.take(&event)?,
                    Ok(None) => self.from = Coming::Finished,
                    Err(ClientError::Lost { .. }) if self.may_resume && self.id.is_some() => {
                        self.from = Coming::Nowhere;
                    }
                    Err(error) => return Err(error),
                },
            }
        }
    }

    fn take(&mut self, event: &ServerEvent) -> Result<(), ClientError> {
        if event.event == "outcome" {
            let value = serde_json::from_str::<Value>(&event.data).unwrap_or_default();
            if value.get("metadata").is_none()
                && let Some(refused) = ClientError::refused(500, &value)
            {
                return Err(refused);
            }
            let outcome = outcome_of(&value).map_err(|why| {
                self.client
                    .strange(format!("its outcome cannot be read: {why}"))
            })?;
            self.from = Coming::Over;
            self.ready.push_back(StreamItem::Outcome(Box::new(outcome)));
            return Ok(());
        }
        if event.event == "shutdown" {
            let id = self.id.as_ref().map_or("ID", CallId::as_str);
            let why = format!(
                "the server stops; `toolcrib calls show {id}` says what became of the call"
            );
            return Err(self.client.lost(why));
        }
        // What this version does not know is passed over.
        if let Ok(read) = serde_json::from_str::<Event>(&event.data)
            && read.seq > self.seen
        {
            self.seen = read.seq;
            self.id.get_or_insert_with(|| read.call_id.clone());
            self.ready.push_back(StreamItem::Event(Box::new(read)));
        }
        Ok(())
    }

    /// Goes on behind the last event that came.
    async fn reconnect(&mut self) -> Result<(), ClientError> {
        let Some(id) = &self.id else {
            return Err(self.client.lost("before the server said which call it is"));
        };
        let path = format!("/api/calls/{}/events", Ask::encoded(id.as_str()));
        let mut pause = FIRST_PAUSE;
        for attempt in 1.. {
            let mut ask = Ask::get(path.clone()).header(CALLER, HeaderValue::from_static("cli"));
            if self.seen > 0 {
                ask = ask.header(
                    HeaderName::from_static("last-event-id"),
                    HeaderValue::from(self.seen),
                );
            }
            match self.client.stream(ask).await {
                Ok(Ok(events)) => {
                    self.from = Coming::Stream(Box::new(events));
                    return Ok(());
                }
                Ok(Err(answered)) => {
                    // It is over, and its events are gone with it; its outcome may have been kept.
                    let refused = self.client.read_json(answered);
                    if refused
                        .as_ref()
                        .is_err_and(|error| error.status() != Some(404))
                    {
                        refused?;
                    }
                    self.from = Coming::Finished;
                    return Ok(());
                }
                Err(error) if attempt >= ATTEMPTS => return Err(error),
                Err(ClientError::Unreachable { .. } | ClientError::Lost { .. }) => {
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn outcome(&mut self) -> Result<StreamItem, ClientError> {
        let Some(id) = self.id.clone() else {
            return Err(self.client.lost("before the server said which call it is"));
        };
        let path = format!("/api/calls/{}", Ask::encoded(id.as_str()));
        let ask = Ask::get(path).header(CALLER, HeaderValue::from_static("cli"));
        let value = self.client.json(ask).await?;
        let is_kept = value.get("fromRecord").and_then(Value::as_bool) != Some(true);
        if !is_kept && value.get("ok").and_then(Value::as_bool) == Some(true) {
            let why = "the connection was lost; the call went well, but its value was not kept";
            return Err(self.client.strange(why));
        }
        // Where it is, and its outcome.
        let outcome = value.get("outcome").unwrap_or(&value);
        let outcome = outcome_of(outcome).map_err(|why| {
            self.client
                .strange(format!("its outcome cannot be read: {why}"))
        })?;
        self.from = Coming::Over;
        Ok(StreamItem::Outcome(Box::new(outcome)))
    }
}
