//! Bytes of an answer into the JSON documents in it: server-sent events, or one document a line.
//!
//! Pieces may end anywhere, in the middle of a character too, so that lines are cut as bytes. Documents are read strictly: the arguments
//! of calls are in them.

use serde_json::Value;

use crate::model::json::read_strict;

/// The longest line: one event is a few words, or one call's arguments at most.
const MAX_LINE: usize = 8 * 1024 * 1024;

/// How documents are separated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// `text/event-stream`: the data of each event.
    Events,
    /// One document a line.
    Lines,
}

/// Something that came.
#[derive(Debug, PartialEq)]
pub(super) enum Frame {
    /// A document.
    Document(Value),
    /// What should have been one.
    Garbage(String),
    /// The end, as OpenAI says it.
    Done,
}

/// Reads documents from pieces.
#[derive(Debug)]
pub(super) struct Frames {
    framing: Framing,
    line: Vec<u8>,
    data: Option<Vec<u8>>,
    /// The last byte was a carriage return: a line feed after it belongs to it.
    after_return: bool,
}

/// A line, or the data of an event, is longer than any should be.
#[derive(Debug, PartialEq)]
pub(super) struct TooLong;

impl Frames {
    pub(super) fn new(framing: Framing) -> Self {
        Frames {
            framing,
            line: Vec::new(),
            data: None,
            after_return: false,
        }
    }

    /// Takes a piece, and gives what is whole by now.
    pub(super) fn push(&mut self, piece: &[u8]) -> Result<Vec<Frame>, TooLong> {
        let mut found = Vec::new();
        for &byte in piece {
            let is_second = std::mem::take(&mut self.after_return) && byte == b'\n';
            match byte {
                b'\n' if is_second => {}
                b'\n' | b'\r' => {
                    self.after_return = byte == b'\r';
                    let line = std::mem::take(&mut self.line);
                    self.end_line(&line, &mut found);
                }
                byte => self.line.push(byte),
            }
            let held = self.line.len() + self.data.as_ref().map_or(0, Vec::len);
            if held > MAX_LINE {
                return Err(TooLong);
            }
        }
        Ok(found)
    }

    /// The rest at the end. An event without its empty line counts: servers that forget it are many.
    pub(super) fn finish(mut self) -> Vec<Frame> {
        let mut found = Vec::new();
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.end_line(&line, &mut found);
        }
        self.end_event(&mut found);
        found
    }

    fn end_line(&mut self, line: &[u8], found: &mut Vec<Frame>) {
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        if self.framing == Framing::Lines {
            if !line.trim_ascii().is_empty() {
                found.push(read(line));
            }
            return;
        }
        if line.is_empty() {
            self.end_event(found);
            return;
        }
        // `event`, `id`, `retry` and comments are of no use: every document says what it is.
        if let Some(data) = line.strip_prefix(b"data") {
            let Some(data) = data.strip_prefix(b":").or(data.is_empty().then_some(data)) else {
                return;
            };
            let data = data.strip_prefix(b" ").unwrap_or(data);
            match &mut self.data {
                Some(before) => {
                    before.push(b'\n');
                    before.extend_from_slice(data);
                }
                None => self.data = Some(data.to_vec()),
            }
        }
    }

    fn end_event(&mut self, found: &mut Vec<Frame>) {
        if let Some(data) = self.data.take()
            && !data.trim_ascii().is_empty()
        {
            found.push(read(&data));
        }
    }
}

fn read(text: &[u8]) -> Frame {
    if text.trim_ascii() == b"[DONE]" {
        return Frame::Done;
    }
    match read_strict(text) {
        Ok(document) => Frame::Document(document),
        Err(error) => {
            let shown: String = String::from_utf8_lossy(text).chars().take(120).collect();
            Frame::Garbage(format!("{error}, in `{shown}`"))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_are_the_same_however_they_are_cut() {
        let text = "\u{feff}: hello\r\nevent: x\r\ndata: {\"a\":\r\ndata:  \"ä\"}\r\n\r\n\
            data: {\"b\": 1}\n\nid: 3\ndata\n\nretry: 5\rdata: [DONE]\r\rdata: nonsense\n\ndata: {\"c\": 2}"
            .as_bytes();
        let whole = |size: usize| {
            let mut frames = Frames::new(Framing::Events);
            let mut found = Vec::new();
            for piece in text.chunks(size) {
                found.extend(frames.push(piece).unwrap());
            }
            found.extend(frames.finish());
            found
        };
        let expected = whole(text.len());
        assert_eq!(expected.len(), 5, "{expected:?}");
        assert_eq!(expected[0], Frame::Document(json!({"a": "ä"})));
        assert_eq!(expected[1], Frame::Document(json!({"b": 1})));
        assert_eq!(expected[2], Frame::Done);
        assert!(matches!(&expected[3], Frame::Garbage(why) if why.contains("nonsense")));
        assert_eq!(expected[4], Frame::Document(json!({"c": 2})));
        for size in 1..20 {
            assert_eq!(whole(size), expected, "{size}");
        }
    }

    #[test]
    fn lines_are_documents_and_the_last_needs_no_end() {
        let mut frames = Frames::new(Framing::Lines);
        let mut found = frames.push(b"{\"a\":1}\n\n{\"b\"").unwrap();
        found.extend(frames.push(b":2}\r\n{\"c\":3}").unwrap());
        found.extend(frames.finish());
        let documents = [json!({"a": 1}), json!({"b": 2}), json!({"c": 3})];
        assert_eq!(found, documents.map(Frame::Document));
    }

    #[test]
    fn a_line_without_end_is_given_up() {
        let mut frames = Frames::new(Framing::Events);
        let piece = vec![b'x'; 1024 * 1024];
        assert!((0..9).any(|_| frames.push(&piece) == Err(TooLong)));
    }
}
