//! What a command prints: passed on as text piece by piece, and kept up to a limit, head and tail.

use std::collections::VecDeque;

use super::{ByteSink, Sink};
use crate::call::context::CallContext;
use crate::call::event::OutputStream;
use crate::model::text::left_out;
use crate::sandbox::Stream;

/// Both streams of a command, and both together.
pub(super) struct Capture<'a> {
    cx: &'a CallContext,
    sink: Option<Sink>,
    bytes: Option<ByteSink>,
    kept: [HeadAndTail; 2],
    /// Both, in the order in which they came.
    together: HeadAndTail,
    /// The beginning of a character whose rest has not come yet.
    pending: [Vec<u8>; 2],
}

/// What was kept of a command's output.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Captured {
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// Both in the order in which they came, without the newline at the end.
    pub(super) output: String,
    /// Whether `output` is not all there was, be it that `stdout` and `stderr` are.
    pub(super) is_output_cut: bool,
}

impl<'a> Capture<'a> {
    /// Keeps so many bytes of each stream, and no more than the call's limit; passes pieces on to the sink, or else to the
    /// call's events. Bytes of stdout go to their receiver, and nowhere else.
    pub(super) fn new(
        cx: &'a CallContext,
        keep: Option<u64>,
        sink: Option<Sink>,
        bytes: Option<ByteSink>,
    ) -> Self {
        let most = cx.limits().max_output_bytes;
        let limit = usize::try_from(keep.map_or(most, |keep| keep.min(most))).unwrap_or(usize::MAX);
        Capture {
            cx,
            sink,
            bytes,
            kept: [HeadAndTail::new(limit), HeadAndTail::new(limit)],
            together: HeadAndTail::new(limit),
            pending: [Vec::new(), Vec::new()],
        }
    }

    pub(super) fn take(&mut self, stream: Stream, bytes: &[u8]) {
        if let (Stream::Stdout, Some(sink)) = (stream, &mut self.bytes) {
            sink(bytes);
            return;
        }
        let index = stream as usize;
        self.kept[index].push(bytes);
        let pending = &mut self.pending[index];
        let text = if pending.is_empty() {
            let whole = whole_characters(bytes);
            pending.extend_from_slice(&bytes[whole..]);
            String::from_utf8_lossy(&bytes[..whole])
        } else {
            pending.extend_from_slice(bytes);
            let rest = pending.split_off(whole_characters(pending));
            String::from_utf8_lossy(&std::mem::replace(pending, rest))
                .into_owned()
                .into()
        };
        self.pass_on(stream, &text);
    }

    /// What was kept. Says to the call whether something of stdout or stderr was left out.
    pub(super) fn finish(mut self) -> Captured {
        for (stream, index) in [(Stream::Stdout, 0), (Stream::Stderr, 1)] {
            let rest = std::mem::take(&mut self.pending[index]);
            self.pass_on(stream, &String::from_utf8_lossy(&rest));
        }
        let [stdout, stderr] = self.kept.map(|kept| {
            let (text, cut) = kept.into_text();
            if cut {
                self.cx.note_truncated();
            }
            text
        });
        let (mut output, is_output_cut) = self.together.into_text();
        if output.ends_with('\n') {
            output.pop();
        }
        Captured {
            stdout,
            stderr,
            output,
            is_output_cut,
        }
    }

    fn pass_on(&mut self, stream: Stream, text: &str) {
        if text.is_empty() {
            return;
        }
        // As text: bytes of one stream must not come between those of a character of the other.
        self.together.push(text.as_bytes());
        let stream = match stream {
            Stream::Stdout => OutputStream::Stdout,
            Stream::Stderr => OutputStream::Stderr,
        };
        match &mut self.sink {
            Some(sink) => sink(stream, text),
            None => self.cx.emit_output(stream, text),
        }
    }
}

/// How many bytes can be shown now: all but the beginning of a character at the end.
fn whole_characters(bytes: &[u8]) -> usize {
    let start = bytes.len().saturating_sub(3);
    let last = bytes[start..]
        .iter()
        .rposition(|byte| byte & 0b1100_0000 != 0b1000_0000)
        .map(|at| start + at);
    match last {
        Some(at) if bytes.len() - at < width(bytes[at]) => at,
        _ => bytes.len(),
    }
}

fn width(first: u8) -> usize {
    match first {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    }
}

/// The head and the tail of a stream.
struct HeadAndTail {
    limit: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

/// Room for the mark between head and tail.
const MARK: usize = 80;

impl HeadAndTail {
    fn new(limit: usize) -> Self {
        HeadAndTail {
            limit,
            head: Vec::new(),
            tail: VecDeque::new(),
            total: 0,
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = (self.limit / 2).saturating_sub(self.head.len());
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        let most = self.limit - self.limit / 2;
        let rest = &rest[rest.len().saturating_sub(most)..];
        let excess = (self.tail.len() + rest.len()).saturating_sub(most);
        self.tail.drain(..excess);
        self.tail.extend(rest);
    }

    /// The text, and whether something is missing from it.
    fn into_text(self) -> (String, bool) {
        let (head, tail) = (self.head, Vec::from(self.tail));
        let dropped = self.total - (head.len() + tail.len()) as u64;
        let mut text = String::from_utf8_lossy(&head).into_owned();
        if dropped == 0 {
            // Looked at together: a character may lie across the two.
            if !tail.is_empty() {
                let whole = [head.as_slice(), &tail].concat();
                text = String::from_utf8_lossy(&whole).into_owned();
            }
            if text.len() <= self.limit {
                return (text, false);
            }
        }
        // Bytes that are not text take more room as text, so what is kept is measured again.
        let tail = if dropped == 0 {
            text.clone()
        } else {
            String::from_utf8_lossy(&tail).into_owned()
        };
        let room = self.limit.saturating_sub(MARK) / 2;
        text.truncate(text.floor_char_boundary(room));
        let from = tail.ceil_char_boundary(tail.len().saturating_sub(room));
        let shown = (text.len() + tail.len() - from) as u64;
        let mark = left_out(self.total.saturating_sub(shown));
        (format!("{text}{mark}{}", &tail[from..]), true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(limit: usize, chunks: &[&[u8]]) -> (String, bool) {
        let mut kept = HeadAndTail::new(limit);
        for chunk in chunks {
            kept.push(chunk);
        }
        kept.into_text()
    }

    #[test]
    fn what_fits_is_kept_as_it_is() {
        assert_eq!(
            kept(10, &[b"01234", b"56789"]),
            ("0123456789".to_owned(), false)
        );
        assert_eq!(
            kept(4, &["é".as_bytes(), "é".as_bytes()]),
            ("éé".to_owned(), false)
        );
        assert_eq!(kept(4, &[b"a\xc3", b"\xa9b"]), ("aéb".to_owned(), false));
        assert_eq!(kept(4, &[]), (String::new(), false));
    }

    #[test]
    fn of_more_the_head_and_the_tail_are_kept_within_the_limit() {
        let long = "x".repeat(5000);
        let chunks: Vec<&[u8]> = vec![b"HEAD", long.as_bytes(), b"TAIL"];
        let (text, cut) = kept(1000, &chunks);
        assert!(cut && text.len() <= 1000, "{}", text.len());
        assert!(text.starts_with("HEAD") && text.ends_with("TAIL"), "{text}");
        assert!(text.contains("bytes left out]"), "{text}");
    }

    #[test]
    fn bytes_that_are_not_text_stay_within_the_limit_as_text() {
        let noise = vec![0xff; 900];
        let (text, cut) = kept(1000, &[&noise]);
        assert!(cut && text.len() <= 1000, "{}", text.len());
    }

    #[test]
    fn a_flood_keeps_memory_bounded() {
        let mut kept = HeadAndTail::new(1000);
        for _ in 0..10_000 {
            kept.push(&[b'y'; 4096]);
        }
        assert!(kept.head.len() + kept.tail.len() <= 1000);
        assert!(kept.tail.capacity() < 10_000);
    }

    #[test]
    fn a_character_is_not_shown_before_it_is_whole() {
        assert_eq!(whole_characters("aé".as_bytes()), 3);
        assert_eq!(whole_characters(b"a\xc3"), 1);
        assert_eq!(whole_characters(b"a\xe2\x82"), 1);
        assert_eq!(whole_characters(b"\xf0\x9f\x98"), 0);
        // No beginning of anything: shown as what it is.
        assert_eq!(whole_characters(b"a\xff"), 2);
        assert_eq!(whole_characters(b"\x80\x80\x80\x80"), 4);
        assert_eq!(whole_characters(b""), 0);
    }
}
