//! Server-sent events, read as they come: [`Events`].
//!
//! The invariant: how the bytes are split says nothing. Lines may end in CR, LF or both; what is held is bounded by the longest message,
//! and an event that its stream did not finish does not exist.

use std::time::Duration;

/// What a line may have besides the message: the name of its field, an id.
const ROOM: usize = 1024;
/// The longest id that is kept: it goes back as a header.
const MAX_ID: usize = 1024;

/// A line or an event was longer than the longest message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

/// Reads events from bytes.
#[derive(Debug)]
pub(super) struct Events {
    max: usize,
    line: Vec<u8>,
    is_first_line: bool,
    /// The last byte was a CR, so that an LF now belongs to it.
    after_cr: bool,
    data: Vec<u8>,
    has_data: bool,
    is_message: bool,
    id: Option<String>,
    last_id: Option<String>,
    retry: Option<Duration>,
}

impl Events {
    /// For messages of at most so many bytes.
    pub(super) fn new(max: usize) -> Self {
        Events {
            max,
            line: Vec::new(),
            is_first_line: true,
            after_cr: false,
            data: Vec::new(),
            has_data: false,
            is_message: true,
            id: None,
            last_id: None,
            retry: None,
        }
    }

    /// The id of the last event that was finished.
    pub(super) fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// How long the server wants to be left alone before its stream is opened again.
    pub(super) fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Takes bytes in and returns the messages that they finish. Events without data, and of kinds that are not messages, are left out.
    pub(super) fn feed(&mut self, mut bytes: &[u8]) -> Result<Vec<Vec<u8>>, TooLong> {
        let mut messages = Vec::new();
        while let Some(&first) = bytes.first() {
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
            let taken = end.unwrap_or(bytes.len());
            if self.line.len() + taken > self.max + ROOM {
                return Err(TooLong);
            }
            self.line.extend_from_slice(&bytes[..taken]);
            let Some(end) = end else {
                return Ok(messages);
            };
            self.after_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            let line = std::mem::take(&mut self.line);
            messages.extend(self.end_of_line(&line)?);
        }
        Ok(messages)
    }

    fn end_of_line(&mut self, mut line: &[u8]) -> Result<Option<Vec<u8>>, TooLong> {
        if std::mem::take(&mut self.is_first_line) {
            line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        }
        if line.is_empty() {
            return Ok(self.end_of_event());
        }
        let (field, value) = match line.iter().position(|&byte| byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if self.data.len() + value.len() > self.max {
                    return Err(TooLong);
                }
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
            }
            b"event" => self.is_message = matches!(value, b"" | b"message"),
            b"id" => {
                if value.len() <= MAX_ID
                    && !value.contains(&0)
                    && let Ok(id) = std::str::from_utf8(value)
                {
                    self.id = Some(id.to_owned());
                }
            }
            b"retry" => {
                if !value.is_empty()
                    && value.iter().all(u8::is_ascii_digit)
                    && let Ok(text) = std::str::from_utf8(value)
                    && let Ok(milliseconds) = text.parse()
                {
                    self.retry = Some(Duration::from_millis(milliseconds));
                }
            }
            // A comment, or a field that no one knows.
            _ => {}
        }
        Ok(None)
    }

    fn end_of_event(&mut self) -> Option<Vec<u8>> {
        if let Some(id) = self.id.take() {
            // An empty id takes the last one back.
            self.last_id = Some(id).filter(|id| !id.is_empty());
        }
        self.has_data = false;
        let data = std::mem::take(&mut self.data);
        let is_message = std::mem::replace(&mut self.is_message, true);
        (is_message && !data.is_empty()).then_some(data)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8]) -> (Vec<String>, Events) {
        let mut events = Events::new(100);
        let messages = events.feed(bytes).unwrap();
        let messages = messages
            .into_iter()
            .map(|data| String::from_utf8(data).unwrap());
        (messages.collect(), events)
    }

    #[test]
    fn an_event_is_its_data_whatever_ends_its_lines() {
        for end in ["\n", "\r", "\r\n"] {
            let text = "data: one\n\ndata:two\ndata: more\n\n: comment\nevent: message\nid: 7\ndata: three\n\ndata: unfinished\n";
            let (messages, events) = read(text.replace('\n', end).as_bytes());
            assert_eq!(messages, ["one", "two\nmore", "three"], "{end:?}");
            assert_eq!(events.last_id(), Some("7"));
        }
    }

    #[test]
    fn ids_and_times_count_without_data_and_other_kinds_do_not() {
        let (messages, events) = read(b"\xEF\xBB\xBFid: a\nretry: 500\ndata: \n\nevent: endpoint\ndata: /x\n\nretry: 5x\nid: b\x00\n\n");
        assert!(messages.is_empty());
        assert_eq!(events.last_id(), Some("a"));
        assert_eq!(events.retry(), Some(Duration::from_millis(500)));
        let (_, events) = read(b"id: a\n\nid\n\nid: unfinished\n");
        assert_eq!(events.last_id(), None);
    }

    #[test]
    fn what_never_ends_is_not_held() {
        let mut events = Events::new(100);
        assert_eq!(events.feed(&[b'x'; 2000]), Err(TooLong));
        let mut events = Events::new(100);
        let mut fed = Ok(Vec::new());
        for _ in 0..30 {
            fed = fed.and_then(|_| events.feed(b"data: 0123456789\n"));
        }
        assert_eq!(fed, Err(TooLong));
    }

    proptest! {
        #[test]
        fn how_bytes_are_split_says_nothing(
            text in "((data|id|event|retry|)(:| :|: )?[a-z0-9\u{e9}]{0,5}(\n|\r|\r\n)){0,12}",
            cuts in prop::collection::vec(0usize..200, 0..12),
        ) {
            let bytes = text.as_bytes();
            let (whole, once) = read(bytes);
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut % (bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let mut events = Events::new(100);
            let mut pieces = Vec::new();
            for pair in cuts.windows(2) {
                let fed = events.feed(&bytes[pair[0]..pair[1]]).unwrap();
                pieces.extend(fed.into_iter().map(|data| String::from_utf8(data).unwrap()));
            }
            prop_assert_eq!(whole, pieces);
            prop_assert_eq!(once.last_id(), events.last_id());
            prop_assert_eq!(once.retry(), events.retry());
        }

        #[test]
        fn any_bytes_are_borne_within_bounds(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..20)) {
            let mut events = Events::new(64);
            for piece in &pieces {
                let Ok(messages) = events.feed(piece) else { break };
                prop_assert!(messages.iter().all(|data| data.len() <= 64 + 1));
                prop_assert!(events.line.len() <= 64 + ROOM);
            }
        }
    }
}
