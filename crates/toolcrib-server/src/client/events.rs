//! Reads a stream of events (SSE) as it comes: [`Events`].

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Response};
use http_body_util::BodyExt as _;

use super::Client;
use super::connect::Connection;
use super::error::ClientError;
use super::request::{Coming, in_words};

/// The largest event that is taken: an outcome with all of its output.
const MAX_EVENT: usize = 64 * 1024 * 1024;
/// A stream has a heartbeat every 15 seconds; one that says nothing for so long is dead.
const SILENCE: Duration = Duration::from_secs(60);

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerEvent {
    /// The id to go on from, where the stream has one.
    pub id: Option<String>,
    /// What it is; `message` where the server does not say.
    pub event: String,
    /// The data.
    pub data: String,
}

/// A stream of events.
pub struct Events {
    client: Client,
    headers: HeaderMap,
    body: Coming,
    /// Kept for the next request once the stream has ended.
    connection: Option<Connection>,
    parser: Parser,
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").finish_non_exhaustive()
    }
}

impl Events {
    pub(super) fn of(
        client: Client,
        response: Response<Coming>,
        connection: Option<Connection>,
    ) -> Self {
        let (parts, body) = response.into_parts();
        Events {
            client,
            headers: parts.headers,
            body,
            connection,
            parser: Parser::default(),
        }
    }

    /// The headers of the answer.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The next event; `None` once the server has ended the stream in order. Stopped while it waits, it loses nothing.
    pub async fn next(&mut self) -> Result<Option<ServerEvent>, ClientError> {
        loop {
            if let Some(event) = self.parser.event() {
                return Ok(Some(event));
            }
            if self.parser.is_too_large() {
                return Err(self
                    .client
                    .strange(format!("an event is over {MAX_EVENT} bytes")));
            }
            match tokio::time::timeout(SILENCE, self.body.frame()).await {
                Err(_) => return Err(self.client.lost(format!("silent for {SILENCE:?}"))),
                Ok(None) => {
                    self.client.keep(self.connection.take());
                    return Ok(None);
                }
                Ok(Some(Err(error))) => {
                    let why = match error.downcast_ref::<hyper::Error>() {
                        Some(error) => in_words(error),
                        None => error.to_string(),
                    };
                    return Err(self.client.lost(why));
                }
                Ok(Some(Ok(frame))) => {
                    if let Ok(data) = frame.into_data() {
                        self.parser.take(&data);
                    }
                }
            }
        }
    }
}

/// Bytes to events, as the HTML standard says.
#[derive(Default)]
struct Parser {
    /// The received part of an incomplete line, from `read` on.
    buffer: Vec<u8>,
    read: usize,
    /// How far `buffer` has been searched for the end of a line.
    searched: usize,
    after_return: bool,
    begun: bool,
    id: Option<String>,
    event: String,
    data: Option<String>,
}

impl Parser {
    fn take(&mut self, bytes: &Bytes) {
        if self.read > 0 {
            self.buffer.drain(..self.read);
            self.searched -= self.read;
            self.read = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    fn is_too_large(&self) -> bool {
        let data = self.data.as_ref().map_or(0, String::len);
        self.buffer.len() - self.read + data > MAX_EVENT
    }

    /// The next whole event of what has come.
    fn event(&mut self) -> Option<ServerEvent> {
        while let Some(line) = self.line() {
            if line.is_empty() {
                let event = std::mem::take(&mut self.event);
                let Some(data) = self.data.take() else {
                    continue;
                };
                return Some(ServerEvent {
                    id: self.id.clone(),
                    event: match event.is_empty() {
                        true => "message".to_owned(),
                        false => event,
                    },
                    data,
                });
            }
            let (field, value) = line.split_once(':').unwrap_or((&line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "data" => match &mut self.data {
                    None => self.data = Some(value.to_owned()),
                    Some(data) => {
                        data.push('\n');
                        data.push_str(value);
                    }
                },
                "event" => self.event = value.to_owned(),
                "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
                // A comment, or what this version does not know.
                _ => {}
            }
        }
        None
    }

    /// The next whole line: it ends with `\n`, `\r` or both.
    fn line(&mut self) -> Option<String> {
        if self.after_return && self.buffer.get(self.read) == Some(&b'\n') {
            self.read += 1;
            self.after_return = false;
        }
        let from = self.searched.max(self.read);
        let found = self.buffer[from..]
            .iter()
            .position(|byte| matches!(byte, b'\n' | b'\r'));
        let Some(end) = found.map(|offset| from + offset) else {
            self.searched = self.buffer.len();
            return None;
        };
        let mut line = &self.buffer[self.read..end];
        if !self.begun {
            self.begun = true;
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        let line = String::from_utf8_lossy(line).into_owned();
        self.after_return = self.buffer[end] == b'\r';
        self.read = end + 1;
        self.searched = self.read;
        if self.after_return && self.buffer.get(self.read) == Some(&b'\n') {
            self.read += 1;
            self.searched = self.read;
            self.after_return = false;
        }
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(pieces: &[&[u8]]) -> Vec<(Option<String>, String, String)> {
        let mut parser = Parser::default();
        let mut all = Vec::new();
        for piece in pieces {
            parser.take(&Bytes::copy_from_slice(piece));
            while let Some(event) = parser.event() {
                all.push((event.id, event.event, event.data));
            }
        }
        all
    }

    fn event(id: Option<&str>, event: &str, data: &str) -> (Option<String>, String, String) {
        (id.map(str::to_owned), event.to_owned(), data.to_owned())
    }

    #[test]
    fn events_are_the_same_however_the_bytes_are_cut() {
        let text = ": hello\n\nid: 1\nevent: output\ndata: {\"a\":\ndata:1}\n\nretry: 9\r\nid:2\r\ndata: zw\u{f6}lf\r\n\r\nevent: lost\n\ndata\n\ndata: unfinished";
        let expected = vec![
            event(Some("1"), "output", "{\"a\":\n1}"),
            event(Some("2"), "message", "zw\u{f6}lf"),
            event(Some("2"), "message", ""),
        ];
        assert_eq!(parsed(&[text.as_bytes()]), expected);
        let single: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(parsed(&single), expected);
        let triple: Vec<&[u8]> = text.as_bytes().chunks(3).collect();
        assert_eq!(parsed(&triple), expected);
    }

    #[test]
    fn a_mark_of_byte_order_and_a_lone_return_are_taken() {
        assert_eq!(
            parsed(&[b"\xef\xbb\xbfdata: a\r\rdata: b\r", b"\n\r\n"]),
            vec![event(None, "message", "a"), event(None, "message", "b")]
        );
    }
}
