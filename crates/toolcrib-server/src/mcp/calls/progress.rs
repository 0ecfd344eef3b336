//! How far a call is, told to a client that wants to know: [`Telling`], from the call's own events.
//!
//! Numbers only grow, as the protocol wants it: lines of output and steps count one each, and a tool that says how far it is goes on from
//! there by its own numbers. At most ten notes a second; the last one is always sent.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use toolcrib::model::text;
use toolcrib::{Event, EventKind, EventReader};
use toolcrib_mcp::server::Context;

/// How long there is silence after a note.
const PAUSE: Duration = Duration::from_millis(100);
/// The longest message, in bytes.
const MAX_MESSAGE: usize = 200;

/// Reads the events of a call and reports them to a client.
pub(super) struct Telling {
    events: EventReader,
    count: Count,
    /// The pending progress note, and the earliest time to send it.
    note: Option<Note>,
    quiet_until: Instant,
    is_over: bool,
}

#[derive(Debug, Clone, PartialEq)]
struct Note {
    progress: f64,
    total: Option<f64>,
    message: Option<String>,
}

impl Telling {
    /// Of a call, for its listener.
    pub(super) fn of(events: Option<EventReader>, context: &Context) -> Option<Self> {
        let events = events.filter(|_| context.wants_progress())?;
        Some(Telling {
            events,
            count: Count::default(),
            note: None,
            quiet_until: Instant::now(),
            is_over: false,
        })
    }

    /// Goes on telling for as long as it is polled; never ends. Nothing is lost when it is dropped.
    pub(super) async fn tell(&mut self, context: &Context) {
        loop {
            if self.note.is_some() && self.quiet_until <= Instant::now() {
                self.tell_now(context);
            }
            if self.is_over && self.note.is_none() {
                return std::future::pending().await;
            }
            tokio::select! {
                biased;
                event = self.events.next(), if !self.is_over => self.hear(event),
                () = tokio::time::sleep_until(self.quiet_until), if self.note.is_some() => {}
            }
        }
    }

    /// Sends the last note: the call is over.
    pub(super) fn end(mut self, context: &Context) {
        while let Ok(event) = self.events.next_now() {
            self.hear(event);
            if self.is_over {
                break;
            }
        }
        self.tell_now(context);
    }

    fn hear(&mut self, event: Option<Arc<Event>>) {
        match event {
            Some(event) => {
                if let Some(note) = self.count.note(&event.kind) {
                    self.note = Some(note);
                }
            }
            None => self.is_over = true,
        }
    }

    fn tell_now(&mut self, context: &Context) {
        if let Some(note) = self.note.take() {
            context.progress(note.progress, note.total, note.message.as_deref());
            self.quiet_until = Instant::now() + PAUSE;
        }
    }
}

/// The numbers of a call's notes.
#[derive(Debug, Default)]
struct Count {
    /// The last number; `None` before the first note, which may be 0.
    last: Option<f64>,
    /// Where the tool's own numbers begin, once it has said one.
    base: Option<f64>,
}

impl Count {
    /// The progress note of an event, if there is one.
    fn note(&mut self, kind: &EventKind) -> Option<Note> {
        let message = match kind {
            EventKind::Progress {
                progress,
                total,
                message,
            } => {
                let base = *self.base.get_or_insert(self.last.unwrap_or_default());
                let progress = base + progress;
                let is_less = self.last.is_some_and(|last| progress <= last);
                if !progress.is_finite() || is_less || progress < 0.0 {
                    return None;
                }
                self.last = Some(progress);
                return Some(Note {
                    progress,
                    total: total
                        .map(|total| base + total)
                        .filter(|total| total.is_finite()),
                    message: message
                        .as_deref()
                        .map(|message| text::shorten(message, MAX_MESSAGE)),
                });
            }
            EventKind::Output { chunk, .. } => {
                let line = chunk.lines().rfind(|line| !line.trim().is_empty())?;
                text::shorten(line.trim_end(), MAX_MESSAGE)
            }
            EventKind::Step { name, status } => format!("{}: {status}", text::shorten(name, 64)),
            EventKind::Approval { status, reason, .. } => match (status.as_str(), reason) {
                ("pending", Some(reason)) => {
                    format!("waits for approval: {}", text::shorten(reason, MAX_MESSAGE))
                }
                (status, _) => format!("approval: {status}"),
            },
            EventKind::Started { .. } | EventKind::Finished { .. } => return None,
        };
        // By the tool's own numbers, lines would be in its way.
        if self.base.is_some() {
            return None;
        }
        let progress = self.last.unwrap_or_default() + 1.0;
        self.last = Some(progress);
        Some(Note {
            progress,
            total: None,
            message: Some(message),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolcrib::OutputStream;

    fn output(chunk: &str) -> EventKind {
        EventKind::Output {
            stream: OutputStream::Stdout,
            chunk: chunk.to_owned(),
            step: None,
            console: false,
        }
    }

    fn progress(progress: f64, total: f64) -> EventKind {
        EventKind::Progress {
            progress,
            total: Some(total),
            message: None,
        }
    }

    #[test]
    fn numbers_only_grow_whatever_a_tool_says() {
        let mut count = Count::default();
        let events = [
            output("a\nb\n"),
            output("\n"),
            progress(0.0, 1.0),
            progress(0.5, 1.0),
            progress(0.25, 1.0),
            output("c"),
            progress(f64::NAN, 1.0),
            progress(1.0, 1.0),
        ];
        let notes: Vec<Note> = events
            .iter()
            .filter_map(|event| count.note(event))
            .collect();
        let told: Vec<(f64, Option<f64>)> = notes
            .iter()
            .map(|note| (note.progress, note.total))
            .collect();
        assert_eq!(told, [(1.0, None), (1.5, Some(2.0)), (2.0, Some(2.0))]);
        assert_eq!(notes[0].message.as_deref(), Some("b"));
    }

    #[test]
    fn the_first_note_of_a_tool_may_be_0_and_is_sent() {
        let mut count = Count::default();
        let told: Vec<Option<f64>> = [0.0, 0.0, 50.0, 100.0]
            .map(|done| count.note(&progress(done, 100.0)).map(|note| note.progress))
            .to_vec();
        assert_eq!(told, [Some(0.0), None, Some(50.0), Some(100.0)]);
    }

    #[test]
    fn messages_are_short_and_safe_to_print() {
        let note = Count::default().note(&output(&format!("\u{1b}[2J{}", "x".repeat(9999))));
        let message = note.unwrap().message.unwrap();
        assert!(
            message.len() < 300 && !message.contains('\u{1b}'),
            "{message}"
        );
    }
}
