//! What a run prints, line by line as it comes, and the end of it.

use crate::call::event::OutputStream;

/// The longest line that is kept whole; the rest of a longer one is let go. (Compilers write whole messages into one line of JSON.)
const MAX_LINE: usize = 1024 * 1024;

/// Puts the pieces of both streams together to lines.
#[derive(Debug, Default)]
pub(super) struct Lines {
    begun: [String; 2],
    /// Whether a line was too long.
    pub(super) is_cut: bool,
}

impl Lines {
    /// Takes a piece and hands on every line that it completes.
    pub(super) fn push(
        &mut self,
        stream: OutputStream,
        piece: &str,
        mut each: impl FnMut(OutputStream, &str),
    ) {
        let begun = &mut self.begun[index(stream)];
        let mut rest = piece;
        while let Some((line, after)) = rest.split_once('\n') {
            self.is_cut |= keep(begun, line);
            each(stream, begun.strip_suffix('\r').unwrap_or(begun));
            begun.clear();
            rest = after;
        }
        self.is_cut |= keep(begun, rest);
    }

    /// Hands on what has no end of line.
    pub(super) fn end(&mut self, mut each: impl FnMut(OutputStream, &str)) {
        for stream in [OutputStream::Stdout, OutputStream::Stderr] {
            let line = std::mem::take(&mut self.begun[index(stream)]);
            if !line.is_empty() {
                each(stream, &line);
            }
        }
    }
}

fn index(stream: OutputStream) -> usize {
    match stream {
        OutputStream::Stdout => 0,
        OutputStream::Stderr => 1,
    }
}

/// Adds to a line what it has room for; whether something had to go.
fn keep(line: &mut String, more: &str) -> bool {
    let room = MAX_LINE - line.len().min(MAX_LINE);
    line.push_str(&more[..more.floor_char_boundary(room)]);
    more.len() > room
}

/// The last lines of an output, up to so many bytes.
#[derive(Debug)]
pub(super) struct Tail {
    most: usize,
    text: String,
    pub(super) is_cut: bool,
}

impl Tail {
    pub(super) fn new(most: usize) -> Self {
        Tail {
            most,
            text: String::new(),
            is_cut: false,
        }
    }

    pub(super) fn push(&mut self, line: &str) {
        let from = line.ceil_char_boundary(line.len().saturating_sub(self.most));
        self.text.push_str(&line[from..]);
        if !line.ends_with('\n') {
            self.text.push('\n');
        }
        self.is_cut |= from > 0;
        // Not at every line, since the rest is moved.
        if self.text.len() > 2 * self.most {
            self.shorten();
        }
    }

    pub(super) fn into_text(mut self) -> (String, bool) {
        self.shorten();
        (self.text, self.is_cut)
    }

    fn shorten(&mut self) {
        let Some(excess) = self
            .text
            .len()
            .checked_sub(self.most)
            .filter(|excess| *excess > 0)
        else {
            return;
        };
        // From the beginning of a line, if one is near.
        let from = self.text.ceil_char_boundary(excess);
        let from = match self.text[from..].find('\n') {
            Some(end) if end + 1 < self.text.len() - from => from + end + 1,
            _ => from,
        };
        self.text.drain(..from);
        self.is_cut = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_put_together_for_each_stream_by_itself() {
        let mut lines = Lines::default();
        let mut seen = Vec::new();
        let pieces = [
            (OutputStream::Stdout, "a"),
            (OutputStream::Stderr, "x\ny"),
            (OutputStream::Stdout, "b\r\n\nc"),
        ];
        for (stream, piece) in pieces {
            lines.push(stream, piece, |stream, line| {
                seen.push((stream, line.to_owned()));
            });
        }
        lines.end(|stream, line| seen.push((stream, line.to_owned())));
        let expected = [
            (OutputStream::Stderr, "x"),
            (OutputStream::Stdout, "ab"),
            (OutputStream::Stdout, ""),
            (OutputStream::Stdout, "c"),
            (OutputStream::Stderr, "y"),
        ];
        assert_eq!(
            seen,
            expected.map(|(stream, line)| (stream, line.to_owned()))
        );
    }

    #[test]
    fn an_endless_line_is_bounded() {
        let mut lines = Lines::default();
        for _ in 0..100 {
            lines.push(OutputStream::Stdout, &"é".repeat(100_000), |_, _| {
                panic!("no line")
            });
        }
        let mut length = 0;
        lines.push(OutputStream::Stdout, "\nnext\n", |_, line| {
            length = length.max(line.len());
        });
        assert!(lines.is_cut && length <= MAX_LINE, "{length}");
    }

    #[test]
    fn the_tail_has_the_last_whole_lines() {
        let mut tail = Tail::new(20);
        for number in 0..1000 {
            tail.push(&format!("line {number}"));
        }
        assert_eq!(tail.into_text(), ("line 998\nline 999\n".to_owned(), true));
        let mut tail = Tail::new(20);
        tail.push("short");
        assert_eq!(tail.into_text(), ("short\n".to_owned(), false));
        let mut tail = Tail::new(10);
        tail.push(&"é".repeat(100));
        let (text, cut) = tail.into_text();
        assert!(cut && text.len() <= 10 && !text.is_empty(), "{text}");
    }
}
