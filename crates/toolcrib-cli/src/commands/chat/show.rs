//! What a chat shows while it goes on: the model's words on stdout, what its tools do on stderr.
//!
//! Events are printed by their own task, which waits while a question is on the screen. Where nothing comes for a while, a moving
//! line says what is waited for.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use toolcrib::chat::ChatEvent;
use toolcrib::model::text;

use crate::output::Output;
use crate::progress;
use crate::prompt::Screen;

enum Line {
    /// Words of the model.
    Words(String),
    /// The model's words end here.
    End,
    /// A tool begins; its name, and what is said of it.
    Begun(String, String),
    /// A tool is done.
    Ended(String),
    /// Something else about what happens.
    Aside(String),
}

/// Where events go.
pub(super) struct Show(Mutex<Option<UnboundedSender<Line>>>);

impl Show {
    /// Begins to show; the future prints until [`end`](Self::end), and gives the model's last words.
    pub(super) fn start<'a>(
        screen: &Arc<Screen>,
        model: &str,
        output: &'a Output,
    ) -> (Self, impl Future<Output = String> + use<'a>) {
        let (sender, mut lines) = unbounded_channel();
        let screen = Arc::clone(screen);
        let model = shown(model);
        let printer = async move {
            let (mut last, mut is_open, mut is_new) = (String::new(), false, true);
            let (mut running, mut tool) = (0_usize, String::new());
            loop {
                let what = if running == 0 { &model } else { &tool };
                let line = match is_open {
                    // A moving line would stand in the model's.
                    true => lines.recv().await,
                    false => progress::show(output, &screen, what, lines.recv()).await,
                };
                let Some(line) = line else { break };
                screen.free().await;
                match line {
                    Line::Words(words) => {
                        if std::mem::take(&mut is_new) {
                            last.clear();
                        }
                        last.push_str(&words);
                        if !output.json() {
                            output.chunk(&words);
                        }
                        is_open = !words.ends_with('\n');
                    }
                    Line::End => {
                        is_new = true;
                        if std::mem::take(&mut is_open) && !output.json() {
                            output.chunk("\n");
                        }
                    }
                    Line::Begun(name, aside) => {
                        (running, tool) = (running + 1, name);
                        output.say(&output.dim(&aside));
                    }
                    Line::Ended(aside) => {
                        running = running.saturating_sub(1);
                        output.say(&output.dim(&aside));
                    }
                    Line::Aside(aside) => output.say(&output.dim(&aside)),
                }
            }
            if is_open && !output.json() {
                output.chunk("\n");
            }
            last
        };
        (Show(Mutex::new(Some(sender))), printer)
    }

    /// Nothing more comes.
    pub(super) fn end(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    pub(super) fn event(&self, event: &ChatEvent<'_>) {
        let line = match event {
            ChatEvent::Text(words) => Line::Words((*words).to_owned()),
            ChatEvent::Replied => Line::End,
            ChatEvent::CallBegun { tool, arguments } => {
                let arguments = arguments.as_ref().map_or("?".to_owned(), Value::to_string);
                let call = format!("{tool} {arguments}");
                Line::Begun(
                    text::shorten(&shown(tool), 40),
                    format!("→ {}", shown(&call)),
                )
            }
            ChatEvent::CallEnded { tool, failed, text } => {
                let first = text.lines().next().unwrap_or_default();
                let mark = if *failed { "✗" } else { "✓" };
                Line::Ended(format!("{mark} {}", shown(&format!("{tool}: {first}"))))
            }
            ChatEvent::Retrying { why, after } => {
                let seconds = after.as_secs_f64();
                Line::Aside(format!("{}; asking again in {seconds} s", shown(why)))
            }
            ChatEvent::Message(_) => return,
        };
        if let Some(sender) = &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = sender.send(line);
        }
    }
}

fn shown(line: &str) -> String {
    text::visible(&text::shorten(line, 160)).into_owned()
}
