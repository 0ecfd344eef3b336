//! Server-sent events: how a message is written as one, and [`EventLog`], a stream that a client can come back to.
//!
//! Up to 2025-11-25 the connection of a stream may break without an end to what it carries: the client comes back with the id of the
//! last event that it saw. So events are kept for a while, within bounds; a reader holds nothing but a position among them. The
//! invariant: an event is on one connection at a time. A client that comes back takes over the stream, and the connection before it ends.

use std::collections::VecDeque;
use std::io::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;

use super::super::outbox::lock;

/// How long a stream is silent before it says that it is still there.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(15);
/// After how long a client should come back, in milliseconds.
const RETRY_MS: u64 = 1000;
/// How many events of a stream are kept, and how many bytes of them; the newest always is.
const MAX_EVENTS: usize = 512;
const MAX_BYTES: usize = 1024 * 1024;

/// A comment that is sent when there is nothing else to send.
pub(super) const SILENCE: Bytes = Bytes::from_static(b": \n\n");

/// One message as an event without an id.
pub(super) fn event(message: &[u8]) -> Bytes {
    let mut text = Vec::with_capacity(message.len() + 32);
    write_event(&mut text, message);
    text.into()
}

/// Writes a message as an event to the end of a text.
pub(super) fn write_event(text: &mut Vec<u8>, message: &[u8]) {
    text.extend_from_slice(b"event: message\n");
    // A host may write its results with line feeds in them, which JSON allows between its words and nowhere else.
    for line in message.split(|byte| matches!(byte, b'\n' | b'\r')) {
        if !line.is_empty() {
            text.extend_from_slice(b"data: ");
            text.extend_from_slice(line);
            text.push(b'\n');
        }
    }
    text.push(b'\n');
}

/// A stream within a session. It outlives its connections.
pub(super) struct EventLog {
    /// Which of the session's streams.
    number: u64,
    state: Mutex<State>,
    news: Notify,
}

#[derive(Default)]
struct State {
    /// Written already; the number of the first one is `first`.
    events: VecDeque<Bytes>,
    first: u64,
    bytes: usize,
    /// Behind the last event that some connection had.
    delivered: u64,
    is_over: bool,
    /// Which connection has the stream.
    connection: u64,
    is_read: bool,
}

impl EventLog {
    /// A stream of this number.
    pub(super) fn new(number: u64) -> Arc<Self> {
        Arc::new(EventLog {
            number,
            state: Mutex::new(State {
                // The event of number 0 is the one that begins a connection, which says nothing.
                first: 1,
                delivered: 0,
                ..State::default()
            }),
            news: Notify::new(),
        })
    }

    /// Adds a message.
    pub(super) fn push(&self, message: &[u8]) {
        let mut state = lock(&self.state);
        let seq = state.first + state.events.len() as u64;
        let mut text = Vec::with_capacity(message.len() + 48);
        let _ = writeln!(text, "id: {}-{seq}", self.number);
        write_event(&mut text, message);
        state.bytes += text.len();
        state.events.push_back(text.into());
        while state.events.len() > MAX_EVENTS || (state.events.len() > 1 && state.bytes > MAX_BYTES)
        {
            if let Some(oldest) = state.events.pop_front() {
                state.bytes -= oldest.len();
                state.first += 1;
            }
        }
        drop(state);
        self.news.notify_waiters();
    }

    /// Nothing more will come.
    pub(super) fn finish(&self) {
        lock(&self.state).is_over = true;
        self.news.notify_waiters();
    }

    /// Whether nothing more will come.
    pub(super) fn is_over(&self) -> bool {
        lock(&self.state).is_over
    }

    /// Whether a connection has the stream.
    pub(super) fn is_read(&self) -> bool {
        lock(&self.state).is_read
    }

    /// How many bytes it keeps.
    pub(super) fn bytes(&self) -> usize {
        lock(&self.state).bytes
    }

    /// Takes the stream over: from behind the event that a client saw last, or from behind the last that any connection had. `primes`
    /// says whether the client knows events without data, which tell it where to come back to (since 2025-11-25).
    pub(super) fn read(self: &Arc<Self>, after: Option<u64>, primes: bool) -> LogReader {
        let mut state = lock(&self.state);
        state.connection += 1;
        state.is_read = true;
        let end = state.first + state.events.len() as u64;
        // A number that it never had is not believed.
        let after = after.unwrap_or(state.delivered).min(end - 1);
        let reader = LogReader {
            log: Arc::clone(self),
            connection: state.connection,
            next: after + 1,
            greeting: Some(match primes {
                true => {
                    let number = self.number;
                    format!("id: {number}-{after}\nretry: {RETRY_MS}\ndata:\n\n").into()
                }
                false => SILENCE,
            }),
        };
        drop(state);
        self.news.notify_waiters();
        reader
    }
}

/// One connection that reads a stream.
pub(super) struct LogReader {
    log: Arc<EventLog>,
    connection: u64,
    next: u64,
    greeting: Option<Bytes>,
}

/// What there is for a connection.
pub(super) enum Ready {
    /// This.
    Event(Bytes),
    /// Nothing any more: the stream is over, or another connection has it.
    End,
    /// Nothing yet.
    Nothing,
}

impl LogReader {
    /// What there is now.
    pub(super) fn now(&mut self) -> Ready {
        if let Some(greeting) = self.greeting.take() {
            return Ready::Event(greeting);
        }
        let mut state = lock(&self.log.state);
        if state.connection != self.connection {
            return Ready::End;
        }
        self.next = self.next.max(state.first);
        let at = usize::try_from(self.next - state.first).unwrap_or(usize::MAX);
        match state.events.get(at) {
            Some(event) => {
                let event = event.clone();
                state.delivered = state.delivered.max(self.next);
                self.next += 1;
                Ready::Event(event)
            }
            None if state.is_over => Ready::End,
            None => Ready::Nothing,
        }
    }

    /// What comes next; `None` at the end. May be given up while it waits.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        let log = Arc::clone(&self.log);
        let quiet = tokio::time::sleep(HEARTBEAT);
        let mut quiet = std::pin::pin!(quiet);
        loop {
            let mut news = std::pin::pin!(log.news.notified());
            news.as_mut().enable();
            match self.now() {
                Ready::Event(event) => return Some(event),
                Ready::End => return None,
                Ready::Nothing => {}
            }
            tokio::select! {
                () = news => {}
                () = &mut quiet => return Some(SILENCE),
            }
        }
    }
}

impl Drop for LogReader {
    fn drop(&mut self) {
        let mut state = lock(&self.log.state);
        if state.connection == self.connection {
            state.is_read = false;
        }
    }
}

/// The stream and the number in an event's id.
pub(super) fn parse_id(id: &str) -> Option<(u64, u64)> {
    let (stream, seq) = id.split_once('-')?;
    let number = |text: &str| {
        let is_plain = (1..=18).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        is_plain.then(|| text.parse().ok()).flatten()
    };
    Some((number(stream)?, number(seq)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(reader: &mut LogReader) -> Vec<String> {
        let mut events = Vec::new();
        while let Ready::Event(event) = reader.now() {
            events.push(String::from_utf8(event.to_vec()).unwrap());
        }
        events
    }

    #[test]
    fn who_comes_back_gets_what_was_missed_and_nothing_twice() {
        let log = EventLog::new(7);
        log.push(b"{\"a\":1}");
        let mut first = log.read(None, true);
        assert_eq!(
            all(&mut first),
            [
                "id: 7-0\nretry: 1000\ndata:\n\n",
                "id: 7-1\nevent: message\ndata: {\"a\":1}\n\n"
            ]
        );
        log.push(b"{\n\"b\":\r\n2}");
        let mut second = log.read(Some(1), false);
        assert!(matches!(first.now(), Ready::End), "it was taken over");
        drop(first);
        assert!(log.is_read());
        let b = "id: 7-2\nevent: message\ndata: {\ndata: \"b\":\ndata: 2}\n\n";
        assert_eq!(all(&mut second), [": \n\n", b]);
        log.finish();
        assert!(matches!(second.now(), Ready::End));
        drop(second);
        assert!(!log.is_read());
        assert_eq!(all(&mut log.read(None, false)), [": \n\n"]);
        assert_eq!(all(&mut log.read(Some(1), false)), [": \n\n", b]);
        assert_eq!(all(&mut log.read(Some(99), false)), [": \n\n"]);
    }

    #[test]
    fn a_stream_that_no_one_reads_stays_small_and_keeps_the_newest() {
        let log = EventLog::new(0);
        for _ in 0..2000 {
            log.push(b"{}");
        }
        assert_eq!(lock(&log.state).events.len(), MAX_EVENTS);
        log.push(&vec![b' '; 2 * MAX_BYTES]);
        let mut reader = log.read(Some(0), false);
        assert_eq!(all(&mut reader).len(), 2);
    }

    #[test]
    fn ids_of_events_are_read_strictly() {
        assert_eq!(parse_id("3-17"), Some((3, 17)));
        for id in [
            "",
            "3",
            "3-",
            "-1",
            "3-+1",
            "3-1-1",
            "99999999999999999999-1",
        ] {
            assert_eq!(parse_id(id), None, "{id}");
        }
    }
}
