//! Follows a run of tests while it goes on: its output goes line by line to a reader and to watchers, and its end into the result.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use super::lines::{Lines, Tail};
use super::results::{Results, without_colours};
use crate::call::context::CallContext;
use crate::call::event::OutputStream;
use crate::model::error::ToolError;

/// How much of the end of the output is in the result.
const MAX_TAIL: usize = 8 * 1024;
/// How often progress is reported.
const PROGRESS_EVERY: Duration = Duration::from_millis(200);

/// Finds out from a run's output, or from the report it leaves, what its tests came to.
pub(super) trait Reader: Send {
    /// Takes a line, and says what of it is shown to people.
    fn line<'a>(&mut self, stream: OutputStream, line: &'a str) -> Option<Cow<'a, str>>;

    /// How many tests are done and, if that is known, of how many.
    fn progress(&self) -> Option<(u64, Option<u64>)>;

    /// What the tests came to.
    fn results(self: Box<Self>, ended: Ended) -> Results;
}

/// The state when a run is over.
#[derive(Debug, Default)]
pub(super) struct Ended {
    pub(super) exit_code: i32,
    /// The text of the report, if one was left that can be read.
    pub(super) report: Option<String>,
}

/// A run that goes on.
pub(super) struct Watch {
    cx: CallContext,
    reader: Box<dyn Reader>,
    lines: Lines,
    tail: Tail,
    told: Option<(u64, Instant)>,
}

impl Watch {
    pub(super) fn new(cx: CallContext, reader: Box<dyn Reader>) -> Self {
        Watch {
            cx,
            reader,
            lines: Lines::default(),
            tail: Tail::new(MAX_TAIL),
            told: None,
        }
    }

    /// Takes a piece of output.
    pub(super) fn take(&mut self, stream: OutputStream, piece: &str) {
        let Watch {
            cx,
            reader,
            lines,
            tail,
            ..
        } = self;
        lines.push(stream, piece, |stream, line| {
            one_line(cx, reader.as_mut(), tail, stream, line);
        });
        self.tell_progress();
    }

    fn tell_progress(&mut self) {
        let Some((done, total)) = self.reader.progress() else {
            return;
        };
        let is_due = self
            .told
            .is_none_or(|(told, at)| told != done && at.elapsed() >= PROGRESS_EVERY);
        if is_due {
            self.told = Some((done, Instant::now()));
            let of = total.map_or(String::new(), |total| format!(" of {total}"));
            let message = format!("{done}{of} tests done");
            // Exact for every number of tests there is.
            self.cx
                .emit_progress(done as f64, total.map(|total| total as f64), Some(message));
        }
    }

    /// Adds to an error how far the run had got.
    pub(super) fn so_far(&self, error: ToolError) -> ToolError {
        match self.reader.progress() {
            Some((done, _)) => error.with_detail("testsDone", done),
            None => error,
        }
    }

    /// The run is over: what its tests came to, and the end of its output.
    pub(super) fn end(mut self, ended: Ended) -> (Results, String) {
        let Watch {
            cx,
            reader,
            lines,
            tail,
            ..
        } = &mut self;
        lines.end(|stream, line| one_line(cx, reader.as_mut(), tail, stream, line));
        let mut results = self.reader.results(ended);
        let (text, is_cut) = self.tail.into_text();
        results.is_cut |= is_cut || self.lines.is_cut;
        (results, text)
    }
}

fn one_line(
    cx: &CallContext,
    reader: &mut dyn Reader,
    tail: &mut Tail,
    stream: OutputStream,
    line: &str,
) {
    let Some(shown) = reader.line(stream, line) else {
        return;
    };
    let shown = match shown.contains('\u{1b}') {
        true => without_colours(&shown).into(),
        false => shown,
    };
    tail.push(&shown);
    let end = if shown.ends_with('\n') { "" } else { "\n" };
    cx.emit_output(stream, format!("{shown}{end}"));
}

/// A run that leaves a report: its output is for people.
pub(super) struct ReportReader(pub(super) fn(&str) -> Results);

impl Reader for ReportReader {
    fn line<'a>(&mut self, _stream: OutputStream, line: &'a str) -> Option<Cow<'a, str>> {
        Some(line.into())
    }

    fn progress(&self) -> Option<(u64, Option<u64>)> {
        None
    }

    fn results(self: Box<Self>, ended: Ended) -> Results {
        match ended.report {
            Some(report) => (self.0)(&report),
            None => {
                let mut results = Results::default();
                let why = "the runner left no report that says what the tests came to";
                match ended.exit_code {
                    0 => results.problem(&format!("{why}; its version may be too old"), None),
                    _ => results.note(why),
                }
                results
            }
        }
    }
}
