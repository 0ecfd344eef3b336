//! The lines of one file: what of them is kept, with the lines around them.
//!
//! A searcher hands lines over in order, each once: matching ones, and those around them. A match's own context may hold other matches, so
//! lines are remembered while they can still be before a match, and added to every match that still waits for lines after it.

use std::collections::VecDeque;
use std::io;

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};

use super::matches::{MAX_BYTES, MatchedLine};

/// The most bytes of a line that are shown.
pub(super) const MAX_LINE: usize = 500;

/// The most bytes of a match that spans lines.
const MAX_LINES: usize = 8 * MAX_LINE;

/// How much of a long line is shown before its first match.
const LEAD: usize = 100;

/// The most matches of a line whose places are reported.
const MAX_SPANS: usize = 50;

/// How far beyond its own lines a match that spans lines may look.
const LOOK_AHEAD: usize = 128;

/// Takes the lines of one file and keeps the first matches of it.
pub(super) struct Lines<'a> {
    matcher: &'a RegexMatcher,
    /// How many matches are kept.
    max: usize,
    /// How many lines before and after each.
    context: u64,
    /// All matches, also those that are not kept.
    pub(super) total: u64,
    pub(super) found: Vec<MatchedLine>,
    bytes: usize,
    /// The last lines, with their numbers.
    recent: VecDeque<(u64, String)>,
    /// The first match that still waits for lines after it.
    waiting: usize,
    /// Where the file turned out to be binary.
    pub(super) binary: Option<u64>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(matcher: &'a RegexMatcher, max: usize, context: u64) -> Self {
        Lines {
            matcher,
            max,
            context,
            total: 0,
            found: Vec::new(),
            bytes: 0,
            recent: VecDeque::new(),
            waiting: 0,
            binary: None,
        }
    }

    fn is_keeping(&self) -> bool {
        self.found.len() < self.max && self.bytes <= MAX_BYTES
    }

    /// Takes notice of a line that may be around a match.
    fn pass(&mut self, number: u64, line: &[u8]) {
        if self.context == 0 || (self.waiting == self.found.len() && !self.is_keeping()) {
            return;
        }
        let text = head(line);
        for found in &mut self.found[self.waiting..] {
            match number.checked_sub(found.last_line) {
                Some(distance) if (1..=self.context).contains(&distance) => {
                    found.after.push(text.clone());
                    self.bytes += text.len() + 1;
                }
                _ => {}
            }
        }
        let context = self.context;
        let is_over = |found: &&MatchedLine| found.last_line + context <= number;
        self.waiting += self.found[self.waiting..]
            .iter()
            .take_while(is_over)
            .count();
        if self.recent.len() as u64 == self.context {
            self.recent.pop_front();
        }
        self.recent.push_back((number, text));
    }

    /// The lines right before one.
    fn before(&self, number: u64) -> Vec<String> {
        let first = number.saturating_sub(self.context);
        let near = self
            .recent
            .iter()
            .filter(|(own, _)| (first..number).contains(own));
        near.map(|(_, text)| text.clone()).collect()
    }
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, searcher: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.total += 1;
        let number = found.line_number().unwrap_or(0);
        if self.is_keeping() {
            let range = found.bytes_range_in_buffer();
            let own = without_end(found.bytes());
            // A match that spans lines may depend on what comes after them; one in a line ends with it.
            let end = match searcher.multi_line_with_matcher(self.matcher) {
                true => (range.end + LOOK_AHEAD).min(found.buffer().len()),
                false => range.start + own.len(),
            };
            let mut spans = Vec::new();
            let last = range.start + own.len();
            let _ = self
                .matcher
                .find_iter_at(&found.buffer()[..end], range.start, |span| {
                    if span.start() > last {
                        return false;
                    }
                    spans.push((
                        span.start() - range.start,
                        span.end().min(last) - range.start,
                    ));
                    spans.len() < MAX_SPANS
                });
            let column = spans.first().map_or(0, |(start, _)| *start) as u64 + 1;
            let lines = found.lines().count().max(1) as u64;
            let max = if lines > 1 { MAX_LINES } else { MAX_LINE };
            let (text, spans, is_cut) = excerpt(own, &spans, max);
            let kept = MatchedLine {
                line: number,
                last_line: number + lines - 1,
                column,
                text,
                is_cut,
                spans,
                before: self.before(number),
                after: Vec::new(),
            };
            self.bytes += kept.size();
            self.found.push(kept);
            if self.context == 0 {
                self.waiting = self.found.len();
            }
        }
        if self.context > 0 {
            for (index, line) in found.lines().enumerate() {
                self.pass(number + index as u64, line);
            }
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> Result<bool, io::Error> {
        self.pass(line.line_number().unwrap_or(0), line.bytes());
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, offset: u64) -> Result<bool, io::Error> {
        self.binary = Some(offset);
        Ok(true)
    }
}

/// Only counts.
#[derive(Debug, Default)]
pub(super) struct Count {
    pub(super) total: u64,
    pub(super) binary: Option<u64>,
}

impl Sink for Count {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, _: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.total += 1;
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, offset: u64) -> Result<bool, io::Error> {
        self.binary = Some(offset);
        Ok(true)
    }
}

/// A line without its end.
fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The start of a line of context.
fn head(line: &[u8]) -> String {
    let line = without_end(line);
    match line.len() <= MAX_LINE {
        true => String::from_utf8_lossy(line).into_owned(),
        false => format!(
            "{}…",
            String::from_utf8_lossy(&line[..boundary(line, MAX_LINE)])
        ),
    }
}

/// What of a line is shown, where the matches are in it, and whether something was cut.
fn excerpt(
    line: &[u8],
    spans: &[(usize, usize)],
    max: usize,
) -> (String, Vec<(usize, usize)>, bool) {
    let first = spans.first().map_or(0, |(start, _)| *start);
    let from = match line.len() <= max || first < max / 2 {
        true => 0,
        false => boundary(line, first - LEAD),
    };
    let to = boundary(line, (from + max).min(line.len()));
    let mut text = String::with_capacity(to - from + 8);
    if from > 0 {
        text.push('…');
    }
    let mut places = Vec::with_capacity(spans.len());
    let mut at = from;
    for (start, end) in spans {
        let (start, end) = ((*start).clamp(at, to), (*end).clamp(at, to));
        text.push_str(&String::from_utf8_lossy(&line[at..start]));
        let begins = text.len();
        text.push_str(&String::from_utf8_lossy(&line[start..end]));
        places.push((begins, text.len()));
        at = end;
        if at == to {
            break;
        }
    }
    text.push_str(&String::from_utf8_lossy(&line[at..to]));
    if to < line.len() {
        text.push('…');
    }
    (text, places, from > 0 || to < line.len())
}

/// The last place at or before `at` that is not within a character.
fn boundary(line: &[u8], at: usize) -> usize {
    let is_within = |at: usize| line.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
    (at.saturating_sub(3)..=at)
        .rev()
        .find(|at| !is_within(*at))
        .unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use grep_regex::RegexMatcherBuilder;
    use grep_searcher::{BinaryDetection, SearcherBuilder};

    fn lines<'a>(matcher: &'a RegexMatcher, text: &[u8], max: usize, context: usize) -> Lines<'a> {
        let mut lines = Lines::new(matcher, max, context as u64);
        SearcherBuilder::new()
            .before_context(context)
            .after_context(context)
            .binary_detection(BinaryDetection::quit(0))
            .build()
            .search_slice(matcher, text, &mut lines)
            .unwrap();
        lines
    }

    fn matcher(pattern: &str) -> RegexMatcher {
        RegexMatcherBuilder::new()
            .multi_line(true)
            .line_terminator(Some(b'\n'))
            .build(pattern)
            .unwrap()
    }

    /// Every match has the lines around it, also those that are matches or context of others.
    #[test]
    fn context_is_what_is_around_each_match() {
        let matcher = matcher("x");
        let text: Vec<String> = ["a", "x1", "b", "x2", "x3", "c", "d", "e", "f", "g", "x4"]
            .map(str::to_owned)
            .into();
        for context in 0..4_usize {
            for max in [1, 2, 4, 10] {
                let lines = lines(&matcher, text.join("\n").as_bytes(), max, context);
                assert_eq!(lines.total, 4);
                let expected: Vec<MatchedLine> = text
                    .iter()
                    .enumerate()
                    .filter(|(_, line)| line.starts_with('x'))
                    .take(max)
                    .map(|(at, line)| MatchedLine {
                        line: at as u64 + 1,
                        last_line: at as u64 + 1,
                        column: 1,
                        text: line.clone(),
                        is_cut: false,
                        spans: vec![(0, 1)],
                        before: text[at.saturating_sub(context)..at].to_vec(),
                        after: text[at + 1..(at + 1 + context).min(text.len())].to_vec(),
                    })
                    .collect();
                assert_eq!(lines.found, expected, "{context} {max}");
            }
        }
    }

    #[test]
    fn a_long_line_is_cut_around_its_first_match() {
        let matcher = matcher("needle");
        for (before, after) in [(0, 0), (10, 5000), (5000, 5000), (5000, 0), (1_000_000, 10)] {
            let line = format!(
                "{}needle{} needle",
                "é".repeat(before / 2),
                "ü".repeat(after / 2)
            );
            let lines = lines(&matcher, line.as_bytes(), 5, 0);
            let found = &lines.found[0];
            assert_eq!(found.column, before as u64 + 1);
            assert!(found.text.len() <= MAX_LINE + 8, "{}", found.text.len());
            assert_eq!(found.is_cut, line.len() > MAX_LINE);
            assert!(!found.text.contains('\u{fffd}'), "{}", found.text);
            let (from, to) = found.spans[0];
            assert_eq!(&found.text[from..to], "needle");
        }
    }

    #[test]
    fn places_are_those_in_the_text_as_shown() {
        let matcher = matcher("b+");
        let lines = lines(&matcher, b"\xfe\xfaabb\xe9b\r\nnext", 5, 1);
        let found = &lines.found[0];
        assert_eq!(found.text, "\u{fffd}\u{fffd}abb\u{fffd}b");
        let shown: Vec<&str> = found
            .spans
            .iter()
            .map(|(from, to)| &found.text[*from..*to])
            .collect();
        assert_eq!((shown, found.column), (vec!["bb", "b"], 4));
        assert_eq!(found.after, ["next"]);
    }

    #[test]
    fn a_line_full_of_matches_lists_some_places() {
        let matcher = matcher("a");
        let lines = lines(&matcher, "a".repeat(100_000).as_bytes(), 5, 0);
        assert_eq!(lines.found[0].spans.len(), MAX_SPANS);
        assert_eq!(lines.total, 1);
    }

    #[test]
    fn what_one_file_may_keep_is_bounded() {
        let matcher = matcher("x");
        let text = format!("{}\n", "x".repeat(400)).repeat(10_000);
        let lines = lines(&matcher, text.as_bytes(), 1000, 10);
        let kept: usize = lines.found.iter().map(MatchedLine::size).sum();
        assert!(kept < 2 * MAX_BYTES, "{kept}");
        assert_eq!(lines.total, 10_000);
    }
}
