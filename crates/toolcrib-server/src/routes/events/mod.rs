//! What happens, as streams that can be resumed: `/api/events`, and the events of one call.

mod follow;
mod hub;
mod recent;
pub(crate) mod sse;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::stream;
use http::Method;

pub(crate) use hub::Hub;
pub(crate) use recent::call_as_it_comes;

use crate::api::{Answer, Api, ApiRequest, Refusal, Route, Who, param};
use crate::auth::Principal;
use crate::routes::calls::{CallSlot, doc, too_many};
use hub::HubReader;
use sse::Next;

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    let all = Route::new(Method::GET, "/api/events", Who::Caller, |api, asked| {
        events(api, asked).boxed()
    });
    let all = all
        .named("events", "events", "Streams events.")
        .about(
            "Events of calls (`started`, `step`, `approval`, `finished`, each with `tool` and `caller`), of questions to people \
             (`question`, with `id`, `status` and `tool`, also of other processes) and of tools (`tools`, with the names that came, \
             changed or went). A client receives events of its own calls and of tools. The stream begins now, or behind `Last-Event-ID`; where \
             events were lost there is a `gap`. Every 15 seconds of silence there is a comment. When the server stops, the last event is \
             `shutdown`, without an id.",
        )
        .param(last_event_id_param())
        .answers_with(200, "The events.", "text/event-stream")
        .refuses(429, "There are too many streams; `Retry-After` says when to come back.");
    let call = Route::new(
        Method::GET,
        "/api/calls/{id}/events",
        Who::Caller,
        |api, asked| follow::follow(api, asked).boxed(),
    );
    let call = call
        .named("callEvents", "calls", "Streams the events of a call.")
        .about(
            "From the start, or behind `Last-Event-ID`, to the event `finished`, and then `outcome` if what the call came to is known: if \
             it failed, or its outcome was kept (see `GET /api/calls/{id}`). Where events were lost there is a `gap`; an id that the call \
             never had begins with one, and at the start. Of a call that is over there may be nothing left but its end. When the server \
             stops, the last event is `shutdown`, without an id. Every 15 seconds of silence there is a comment. A client receives events \
             of its own calls.",
        )
        .param(doc::shape())
        .param(last_event_id_param())
        .answers_with(200, "The events.", "text/event-stream")
        .refuses(404, "There is no such call, or it belongs to another caller.")
        .refuses(429, "There are too many streams; `Retry-After` says when to come back.")
        .refuses(500, "The call log could not be read.");
    vec![all, call]
}

fn last_event_id_param() -> crate::api::ParamDoc {
    param::header(
        "Last-Event-ID",
        "The id of the last event that was seen: the stream begins behind it.",
    )
}

/// The id of the last event that a reader has seen.
fn last_event_id(asked: &ApiRequest) -> Result<Option<&str>, Refusal> {
    let Some(value) = asked.headers.get("last-event-id") else {
        return Ok(None);
    };
    match value.to_str() {
        Ok("") => Ok(None),
        Ok(text) => Ok(Some(text)),
        Err(_) => Err(Refusal::usage("`Last-Event-ID` is not text")),
    }
}

/// A place for a stream.
pub(crate) async fn enter(api: &Api, who: &Principal) -> Result<CallSlot, Refusal> {
    let entered = api.0.hub.streams.enter(who).await;
    entered.map_err(|_| {
        too_many("there are too many streams, of all or of yours alone (`server.maxStreams`); close some")
    })
}

/// `GET /api/events`
async fn events(api: Api, asked: ApiRequest) -> Answer {
    let after = last_event_id(&asked)?;
    let place = enter(&api, &asked.principal).await?;
    let reader = api.0.hub.read(&asked.principal, after);
    let reading = Reading {
        api,
        who: asked.principal,
        reader,
        greeted: false,
        is_over: false,
        _place: place,
    };
    Ok(sse::response(stream::unfold(reading, Reading::next)))
}

struct Reading {
    api: Api,
    who: Principal,
    reader: HubReader,
    greeted: bool,
    is_over: bool,
    _place: CallSlot,
}

impl Reading {
    async fn next(mut self) -> Option<(Bytes, Self)> {
        if !std::mem::replace(&mut self.greeted, true) {
            // At once, so that the listener knows that it is connected.
            return Some((sse::heartbeat(), self));
        }
        if self.is_over {
            return None;
        }
        let stopping = self.api.stopping().clone();
        let next = Next::of(self.reader.next(), Some(&stopping)).await;
        if !self.api.tokens().stands(&self.who) {
            // The token was taken back; later events are not sent.
            return None;
        }
        match next {
            Next::Event(frame) => Some((frame, self)),
            Next::Silence => Some((sse::heartbeat(), self)),
            Next::Stop => {
                self.is_over = true;
                Some((sse::shutdown(), self))
            }
        }
    }
}
