//! The events of one call: `GET /api/calls/{id}/events`.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;
use toolcrib::registry::CallState;
use toolcrib::wire::ResultShape;
use toolcrib::{CallId, Caller};

use super::sse::{self, CallFrames, Next, Position};
use super::{enter, last_event_id};
use crate::api::{Answer, Api, ApiRequest, Refusal};
use crate::auth::Principal;
use crate::routes::calls::CallSlot;
use crate::routes::calls::shape;
use crate::routes::calls::state::{KnownCall, id_of, look, look_until, may_see};

/// How long a look at a call of another process waits for its end.
const LOOK: Duration = Duration::from_secs(10);

/// `GET /api/calls/{id}/events`
pub(super) async fn follow(api: Api, asked: ApiRequest) -> Answer {
    let id = id_of(&asked)?;
    let position = match last_event_id(&asked)? {
        None => Position::default(),
        Some(text) => text.parse().map_err(|()| {
            Refusal::usage("`Last-Event-ID` is the id of an event of this call, a number")
        })?,
    };
    let shape = shape(&asked.query)?;
    let caller = asked.caller()?;
    let who = asked.principal;
    let known = look(&api, &who, &id).await?;
    let place = enter(&api, &who).await?;
    let events = match &known {
        // Whose call it is was looked at; a call cannot change hands.
        KnownCall::State(CallState::Running(_)) => api.crib().registry().events(&id, 0),
        _ => None,
    };
    let events = events.or_else(|| {
        let recent = &api.0.hub.recent;
        recent.events(&id, |call| may_see(&who, &call.caller))
    });
    let source = match events {
        Some(events) => Source::Frames(CallFrames::new(events, position)),
        None => Source::End { known },
    };
    let following = Following {
        api,
        who,
        id,
        shape,
        caller,
        position,
        source,
        _place: place,
    };
    Ok(sse::response(stream::unfold(following, Following::next)))
}

struct Following {
    api: Api,
    who: Principal,
    id: CallId,
    shape: ResultShape,
    caller: Caller,
    position: Position,
    source: Source,
    _place: CallSlot,
}

enum Source {
    /// Its events.
    Frames(CallFrames),
    /// Its end, which is all that is known of it here or will be.
    End {
        known: KnownCall,
    },
    /// The event `finished`, after a gap.
    Finished(Value),
    /// What it came to.
    Outcome,
    Over,
}

impl Following {
    async fn next(mut self) -> Option<(Bytes, Self)> {
        match &mut self.source {
            Source::Frames(frames) => {
                let stopping = self.api.stopping().clone();
                let next = Next::of(frames.next(), Some(&stopping)).await;
                self.position = frames.position();
                match next {
                    Next::Event(Some(frame)) => Some((frame, self)),
                    Next::Silence => Some((sse::heartbeat(), self)),
                    Next::Event(None) => self.outcome().await,
                    Next::Stop => {
                        self.source = Source::Over;
                        Some((sse::shutdown(), self))
                    }
                }
            }
            Source::End { known } => {
                if known.runs() {
                    let deadline = Instant::now() + LOOK;
                    let looked = look_until(&self.api, &self.who, &self.id, deadline).await;
                    // An error while reading ends the stream; the next request reports it.
                    *known = looked.ok()?;
                    if self.api.stopping().is_cancelled() {
                        self.source = Source::Over;
                        return Some((sse::shutdown(), self));
                    }
                    if known.runs() {
                        return Some((sse::heartbeat(), self));
                    }
                }
                // The largest accepted position leaves room for this.
                let seq = self.position.seq() + 2;
                let finished = finished(known, &self.id, seq)?;
                let gap = json!({"event": "gap", "callId": self.id});
                self.position = Position::after(seq - 1);
                self.source = Source::Finished(finished);
                Some((sse::frame(self.position, "gap", &gap), self))
            }
            Source::Finished(finished) => {
                self.position = Position::after(self.position.seq() + 1);
                let frame = sse::frame(self.position, "finished", finished);
                self.source = Source::Outcome;
                Some((frame, self))
            }
            Source::Outcome => self.outcome().await,
            Source::Over => None,
        }
    }

    /// The outcome as the last event, if all of it is known.
    async fn outcome(mut self) -> Option<(Bytes, Self)> {
        self.source = Source::Over;
        // It is kept soon after the last event.
        let deadline = Instant::now() + LOOK;
        let known = look_until(&self.api, &self.who, &self.id, deadline).await;
        let outcome = known.ok()?.whole_outcome(self.shape, &self.caller)?;
        let frame = sse::frame(self.position, "outcome", &outcome);
        Some((frame, self))
    }
}

/// The last event of a call that is over, made of what is known about it; none if no one knows how it ended.
fn finished(known: &KnownCall, id: &CallId, seq: u64) -> Option<Value> {
    let (time, ok, code): (Timestamp, bool, Option<&str>) = match known {
        KnownCall::Record(record) => (
            record.end_time,
            record.ok,
            record.code.map(|code| code.as_str()),
        ),
        KnownCall::State(CallState::Done(_, outcome)) => (
            outcome.timing.ended_at,
            outcome.is_ok(),
            outcome.error().map(|error| error.code().as_str()),
        ),
        KnownCall::State(_) => return None,
    };
    let mut event = json!({"seq": seq, "callId": id, "time": time, "event": "finished", "ok": ok});
    if let Some(code) = code {
        event["code"] = code.into();
    }
    Some(event)
}
