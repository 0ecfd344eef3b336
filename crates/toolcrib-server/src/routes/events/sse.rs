//! Server-sent events: how a stream is written, and the stream of one call.
//!
//! A frame is made when the connection can take it, from events that are held elsewhere within bounds: a reader costs its place in
//! the sequence and the frame on its way, however slow it is. A client that falls behind sees a `gap` where events were lost.

use std::fmt::Display;
use std::future::Future;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use http::{HeaderName, HeaderValue, Response, header};
use serde::Serialize;
use tokio_util::sync::CancellationToken;
use toolcrib::{Event, EventKind, EventReader};

use crate::api::Body;

/// How long a stream is silent before it says that it is still there.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// The longest text of output in one frame, in bytes; longer ones come in parts.
const PART: usize = 16 * 1024;

/// The largest number that is read in an id: no call has as many events, and what is counted on from it stays a number that every
/// reader of JSON can hold.
const MAX_NUMBER: u64 = (1 << 53) - 16;

/// One event as it is sent. JSON has no raw line feeds, so that `data` is always one line.
pub(crate) fn frame(id: impl Display, event: &str, data: &impl Serialize) -> Bytes {
    let mut frame = Vec::with_capacity(256);
    // Writing to memory does not fail, and what is written here are our own types.
    let _ = write!(frame, "id: {id}\nevent: {event}\ndata: ");
    let _ = serde_json::to_writer(&mut frame, data);
    frame.extend_from_slice(b"\n\n");
    frame.into()
}

/// The answer that a stream is.
pub(crate) fn response(frames: impl Stream<Item = Bytes> + Send + 'static) -> Response<Body> {
    let mut response = Response::new(Body::stream(frames));
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/event-stream"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Proxies that collect answers would hold events back.
    headers.insert(
        HeaderName::from_static("x-accel-buffering"),
        HeaderValue::from_static("no"),
    );
    response
}

/// What comes next on a stream.
pub(crate) enum Next<T> {
    /// This.
    Event(T),
    /// Nothing for a while.
    Silence,
    /// Nothing any more: the server stops.
    Stop,
}

impl<T> Next<T> {
    /// Waits for what comes next; `stopping` ends the stream if there is one.
    pub(crate) async fn of(
        next: impl Future<Output = T>,
        stopping: Option<&CancellationToken>,
    ) -> Self {
        let stopped = async {
            match stopping {
                Some(stopping) => stopping.cancelled().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            next = next => Next::Event(next),
            () = stopped => Next::Stop,
            () = tokio::time::sleep(HEARTBEAT) => Next::Silence,
        }
    }
}

/// The comment that is sent when there is nothing else to send.
pub(crate) fn heartbeat() -> Bytes {
    Bytes::from_static(b": \n\n")
}

/// The last event of a stream that ends because the server stops. It has no id: the next request goes on where this one was.
pub(crate) fn shutdown() -> Bytes {
    Bytes::from_static(b"event: shutdown\ndata: {\"event\":\"shutdown\"}\n\n")
}

/// Where a reader of a call's events is: behind the event of this number, and behind this many parts of the next one.
///
/// As an id of an event `12`, or `12.3` within an event that comes in parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Position {
    seq: u64,
    parts: usize,
}

impl Position {
    /// Behind this event.
    pub(crate) fn after(seq: u64) -> Self {
        Position { seq, parts: 0 }
    }

    /// The number of the last event that was seen whole.
    pub(crate) fn seq(self) -> u64 {
        self.seq
    }
}

impl Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.parts {
            0 => self.seq.fmt(f),
            parts => write!(f, "{}.{parts}", self.seq),
        }
    }
}

impl std::str::FromStr for Position {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let number = |text: &str| match text.bytes().all(|byte| byte.is_ascii_digit()) {
            true => text.parse::<u64>().map_err(|_| ()),
            false => Err(()),
        };
        let (seq, parts) = text.split_once('.').unwrap_or((text, "0"));
        let (seq, parts) = (number(seq)?, number(parts)?);
        match seq <= MAX_NUMBER && parts <= MAX_NUMBER {
            true => Ok(Position {
                seq,
                parts: usize::try_from(parts).map_err(|_| ())?,
            }),
            false => Err(()),
        }
    }
}

/// The events of one call as frames.
pub(crate) struct CallFrames {
    reader: EventReader,
    position: Position,
    /// Whether to say first that the position is none of this call.
    is_foreign: bool,
    /// An event of which a gap or some parts were sent, and not yet all of it.
    begun: Option<Arc<Event>>,
}

impl CallFrames {
    /// What comes after a position, of a reader that begins at the start or behind it. A position that the call has not reached is not
    /// believed: the stream begins with a gap, at the start.
    pub(crate) fn new(reader: EventReader, position: Position) -> Self {
        // Parts are of an event that is there.
        let reached = position.seq + u64::from(position.parts > 0);
        let is_foreign = reached > reader.last();
        CallFrames {
            reader,
            position: match is_foreign {
                true => Position::default(),
                false => position,
            },
            is_foreign,
            begun: None,
        }
    }

    /// Where it is.
    pub(crate) fn position(&self) -> Position {
        self.position
    }

    /// The next frame; `None` when the call is over and everything was sent. May be given up while it waits.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        if std::mem::take(&mut self.is_foreign) {
            let data = serde_json::json!({"event": "gap", "callId": self.reader.call_id()});
            return Some(frame(self.position, "gap", &data));
        }
        if self.begun.is_none() {
            let event = loop {
                let event = self.reader.next().await?;
                // The stream may begin earlier than the client wants.
                if event.seq > self.position.seq {
                    break event;
                }
            };
            let missed = event.seq.saturating_sub(self.position.seq + 1);
            self.begun = Some(event);
            if missed > 0 {
                return Some(self.gap(missed));
            }
        }
        let event = self.begun.take()?;
        let EventKind::Output { chunk, .. } = &event.kind else {
            self.position = Position::after(event.seq);
            return Some(frame(self.position, name(&event.kind), &*event));
        };
        let (part, is_last) = part_of(chunk, self.position.parts).unwrap_or_else(|| {
            // As many parts it does not have: all of them, rather than none.
            self.position.parts = 0;
            first_part(chunk)
        });
        self.position = match is_last {
            true => Position::after(event.seq),
            false => Position {
                seq: event.seq - 1,
                parts: self.position.parts + 1,
            },
        };
        if is_last && part.len() == chunk.len() {
            return Some(frame(self.position, "output", &*event));
        }
        let piece = Piece {
            event: &event,
            chunk: part,
        };
        let frame = frame(self.position, "output", &piece.to_event());
        if !is_last {
            self.begun = Some(event);
        }
        Some(frame)
    }

    /// Says that events were lost before the one that comes next.
    fn gap(&mut self, missed: u64) -> Bytes {
        self.position = Position::after(self.position.seq + missed);
        let call_id = self.begun.as_ref().map(|event| &event.call_id);
        let data = serde_json::json!({"event": "gap", "callId": call_id, "missed": missed});
        frame(self.position, "gap", &data)
    }
}

/// A part of an event of output.
struct Piece<'a> {
    event: &'a Event,
    chunk: &'a str,
}

impl Piece<'_> {
    fn to_event(&self) -> Event {
        let mut kind = self.event.kind.clone();
        if let EventKind::Output { chunk, .. } = &mut kind {
            *chunk = self.chunk.to_owned();
        }
        Event {
            seq: self.event.seq,
            call_id: self.event.call_id.clone(),
            time: self.event.time,
            kind,
        }
    }
}

/// The part of a text behind so many others, and whether it is the last; `None` if it does not have as many. The same text always has
/// the same parts.
fn part_of(text: &str, skip: usize) -> Option<(&str, bool)> {
    let mut rest = text;
    for _ in 0..skip {
        // However many are to be passed over, it is no longer than the text.
        if rest.len() <= PART {
            return None;
        }
        rest = &rest[rest.floor_char_boundary(PART)..];
    }
    Some(first_part(rest))
}

/// The first part of a text, and whether it is all of it.
fn first_part(text: &str) -> (&str, bool) {
    match text.len() > PART {
        true => (&text[..text.floor_char_boundary(PART)], false),
        false => (text, true),
    }
}

/// The name of an event's kind, as in its JSON.
pub(crate) fn name(kind: &EventKind) -> &'static str {
    match kind {
        EventKind::Started { .. } => "started",
        EventKind::Output { .. } => "output",
        EventKind::Step { .. } => "step",
        EventKind::Progress { .. } => "progress",
        EventKind::Approval { .. } => "approval",
        EventKind::Finished { .. } => "finished",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_whole_characters_and_make_the_text_again() {
        for text in ["", "short", &"é".repeat(PART), &"𝕏".repeat(PART + 1)] {
            let (mut whole, mut skip) = (String::new(), 0);
            loop {
                let (part, is_last) = part_of(text, skip).unwrap();
                assert!(part.len() <= PART);
                whole.push_str(part);
                skip += 1;
                if is_last {
                    break;
                }
            }
            assert_eq!(whole, text);
            assert_eq!(part_of(text, skip), None);
            // At once: a reader may say any number.
            assert_eq!(part_of(text, usize::MAX), None);
        }
    }

    #[test]
    fn positions_are_read_as_they_are_written() {
        for text in ["0", "12", "12.3", "9007199254740976"] {
            let position: Position = text.parse().unwrap();
            assert_eq!(position.to_string(), text);
        }
        for text in [
            "",
            "-1",
            "+1",
            "1.",
            ".1",
            "1.x",
            "x",
            "9007199254740977",
            "18446744073709551615",
            "18446744073709551616",
            "1.18446744073709551615",
        ] {
            assert!(text.parse::<Position>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_frame_is_three_lines_whatever_is_in_it() {
        let text = frame(
            7,
            "output",
            &serde_json::json!({"chunk": "a\n\r\n\u{2028}: b\0"}),
        );
        let text = std::str::from_utf8(&text).unwrap();
        assert_eq!(text.matches('\n').count(), 4, "{text}");
        assert!(!text.contains('\r'), "{text}");
        assert!(text.starts_with("id: 7\nevent: output\ndata: {"), "{text}");
    }
}
