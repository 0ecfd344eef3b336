//! The events of a call without secrets: [`EventMask`].

use std::sync::Arc;

use super::event::{EventKind, OutputStream};
use crate::model::mask::{MaskStream, Masker, Secrets};

/// Takes secrets out of the events of one call. Output is looked at stream by stream and step by step, so that a secret that comes
/// in two pieces is found; held-back output is reported before the step, or the call, is over.
#[derive(Debug)]
#[doc(hidden)]
pub struct EventMask {
    secrets: Arc<dyn Secrets>,
    open: Vec<Open>,
    /// Whether there was an event before.
    begun: bool,
}

/// A stream of output that is not over.
#[derive(Debug)]
struct Open {
    stream: OutputStream,
    step: Option<String>,
    console: bool,
    text: MaskStream,
}

impl EventMask {
    #[doc(hidden)]
    pub fn new(secrets: Arc<dyn Secrets>) -> Self {
        EventMask {
            secrets,
            open: Vec::new(),
            begun: false,
        }
    }

    /// Reports a replacement for an event: nothing, if all of it is held back; more, if something was.
    #[doc(hidden)]
    pub fn filter(&mut self, kind: EventKind, mut tell: impl FnMut(EventKind)) {
        let masker = match kind {
            // Nothing in it can be a secret; it only ends what is open, which has its own maskers.
            EventKind::Finished { .. } => Masker::default(),
            // The tool has just been looked for, and the secrets with it.
            EventKind::Started { .. } => self.secrets.recent_masker(),
            // Output begins with what is known at that moment; then files are not looked at for every chunk.
            _ => match std::mem::replace(&mut self.begun, true) {
                true => self.secrets.output_masker(),
                false => self.secrets.masker(),
            },
        };
        match masker.is_empty() && self.open.is_empty() {
            true => tell(kind),
            false => self.masked(kind, &masker).into_iter().for_each(tell),
        }
    }

    fn masked(&mut self, kind: EventKind, masker: &Masker) -> Vec<EventKind> {
        let mask = |text: &mut String| masker.mask_text(text);
        match kind {
            EventKind::Output {
                stream,
                chunk,
                step,
                console,
            } => {
                let index = self.stream(stream, step.as_deref(), console, masker);
                let shown = self.open[index].text.push(&chunk);
                self.said(index, shown).into_iter().collect()
            }
            EventKind::Step { mut name, status } => {
                let over = status != "running";
                let mut told = if over {
                    self.close(|open| open.step.as_deref() == Some(&name), &status)
                } else {
                    Vec::new()
                };
                mask(&mut name);
                told.push(EventKind::Step { name, status });
                told
            }
            EventKind::Finished { ok, code } => {
                let ending = code.clone().unwrap_or_default();
                let mut told = self.close(|_| true, &ending);
                told.push(EventKind::Finished { ok, code });
                told
            }
            EventKind::Started { mut tool } => {
                mask(&mut tool);
                vec![EventKind::Started { tool }]
            }
            EventKind::Progress {
                progress,
                total,
                mut message,
            } => {
                message.as_mut().map(mask);
                vec![EventKind::Progress {
                    progress,
                    total,
                    message,
                }]
            }
            EventKind::Approval {
                status,
                mut reason,
                id,
            } => {
                reason.as_mut().map(mask);
                vec![EventKind::Approval { status, reason, id }]
            }
        }
    }

    /// The place of a stream among those that are open.
    fn stream(
        &mut self,
        stream: OutputStream,
        step: Option<&str>,
        console: bool,
        masker: &Masker,
    ) -> usize {
        let is_it = |open: &Open| {
            open.stream == stream && open.step.as_deref() == step && open.console == console
        };
        if let Some(index) = self.open.iter().position(is_it) {
            self.open[index].text.look_for(masker);
            return index;
        }
        self.open.push(Open {
            stream,
            step: step.map(str::to_owned),
            console,
            text: MaskStream::new(masker.clone()),
        });
        self.open.len() - 1
    }

    fn said(&self, index: usize, chunk: String) -> Option<EventKind> {
        let open = &self.open[index];
        output(
            open.stream,
            open.step.as_deref(),
            open.console,
            chunk,
            open.text.masker(),
        )
    }

    /// Reports the held-back output of streams that are over. Output that was cut short does not end with half a secret.
    fn close(&mut self, is_over: impl Fn(&Open) -> bool, ending: &str) -> Vec<EventKind> {
        let broken_off = matches!(ending, "timeout" | "cancelled" | "TIMEOUT" | "CANCELLED");
        let (over, open) = std::mem::take(&mut self.open)
            .into_iter()
            .partition(|one| is_over(one));
        self.open = open;
        let rest = |open: Open| {
            let masker = open.text.masker().clone();
            let chunk = if broken_off {
                open.text.break_off()
            } else {
                open.text.finish()
            };
            output(
                open.stream,
                open.step.as_deref(),
                open.console,
                chunk,
                &masker,
            )
        };
        let over: Vec<Open> = over;
        over.into_iter().filter_map(rest).collect()
    }
}

fn output(
    stream: OutputStream,
    step: Option<&str>,
    console: bool,
    chunk: String,
    masker: &Masker,
) -> Option<EventKind> {
    (!chunk.is_empty()).then(|| EventKind::Output {
        stream,
        chunk,
        step: step.map(|step| masker.mask(step).into_owned()),
        console,
    })
}
