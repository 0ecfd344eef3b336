//! Where the output of a step goes while it runs: [`Outlet`].
//!
//! - `mode: buffer`: nowhere. What was kept of it is passed to the call's events in one piece per stream when the step is over,
//!   so that who follows a call sees the steps one after the other and not mixed.
//! - `mode: stream` passes it on as it comes: `function` to the call's events, `console` too, marked for the terminal of the user who runs
//!   the tool; `file` to a file of the workspace and not to the events.
//!
//! Whatever the mode, the result of the step has what was kept. Attempts of a step, and its fallback, share one outlet.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

use super::result::Printed;
use crate::call::context::CallContext;
use crate::call::event::OutputStream;
use crate::definition::{Step, StreamTo};
use crate::model::error::ToolError;
use crate::model::limits::MB;
use crate::process::Sink;
use crate::workspace::{Workspace, WorkspacePath};

/// The longest file a step's output goes to; what comes after that is left out. As long as a file that a program may make
/// in the sandbox.
const LONGEST_FILE: u64 = 1024 * MB;

/// Where a step's output goes.
pub(super) struct Outlet {
    cx: CallContext,
    step: String,
    to: To,
}

#[derive(Clone)]
enum To {
    /// The events, when it is over.
    EventsAtTheEnd,
    /// The events.
    Events { console: bool },
    /// A file.
    File(Arc<Mutex<Log>>),
}

/// The files of a call's steps, so that two steps can write to one.
#[derive(Default)]
pub(super) struct Logs(Mutex<HashMap<String, Arc<Mutex<Log>>>>);

/// A file that is being written.
struct Log {
    file: File,
    path: WorkspacePath,
    room: u64,
    truncated: bool,
    error: Option<ToolError>,
}

impl Log {
    fn write(&mut self, text: &str) {
        let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
        if self.error.is_some() || self.truncated {
            return;
        }
        if length > self.room {
            self.truncated = true;
            return;
        }
        self.room -= length;
        if let Err(error) = self.file.write_all(text.as_bytes()) {
            let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
            self.error = Some(self.path.fault("write", errno));
        }
    }
}

impl Logs {
    /// The file of this name, made if no step of the call has made it.
    fn open(&self, workspace: &Workspace, name: &str) -> Result<Arc<Mutex<Log>>, ToolError> {
        let mut logs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(log) = logs.get(name) {
            return Ok(Arc::clone(log));
        }
        let path = workspace.path(name)?;
        let log = Arc::new(Mutex::new(Log {
            file: workspace.new_log(&path)?,
            path,
            room: LONGEST_FILE,
            truncated: false,
            error: None,
        }));
        logs.insert(name.to_owned(), Arc::clone(&log));
        Ok(log)
    }
}

impl Outlet {
    /// Opens the outlet of a step; a file that cannot be made is an error before the step runs.
    pub(super) async fn open(
        cx: &CallContext,
        step: &Step,
        logs: &Arc<Logs>,
    ) -> Result<Self, ToolError> {
        let to = match &step.output.stream_to {
            None => To::EventsAtTheEnd,
            Some(StreamTo::Function) => To::Events { console: false },
            Some(StreamTo::Console) => To::Events { console: true },
            Some(StreamTo::File(name)) => {
                let name = name.clone().unwrap_or_else(|| default_name(cx, step));
                let (workspace, logs) = (Arc::clone(cx.workspace()?), Arc::clone(logs));
                To::File(cx.blocking(move || logs.open(&workspace, &name)).await?)
            }
        };
        Ok(Outlet {
            cx: cx.clone(),
            step: step.name.clone(),
            to,
        })
    }

    /// Takes what comes during one attempt.
    pub(super) fn sink(&self) -> Sink {
        let (cx, step) = (self.cx.clone(), self.step.clone());
        match &self.to {
            To::EventsAtTheEnd => Box::new(|_, _| {}),
            To::Events { console } => {
                let console = *console;
                Box::new(move |stream, chunk| cx.emit_step_output(&step, stream, chunk, console))
            }
            To::File(log) => {
                let log = Arc::clone(log);
                Box::new(move |_, chunk| locked(&log).write(chunk))
            }
        }
    }

    /// Whether output is passed on while the step runs.
    pub(super) fn is_live(&self) -> bool {
        !matches!(self.to, To::EventsAtTheEnd)
    }

    /// Closes the outlet of a step that is over. The error says why not everything went where it should.
    pub(super) fn close(self, printed: &Printed) -> (Option<String>, Result<(), ToolError>) {
        match self.to {
            To::EventsAtTheEnd => {
                let streams = [
                    (OutputStream::Stdout, &printed.stdout),
                    (OutputStream::Stderr, &printed.stderr),
                ];
                for (stream, text) in streams {
                    if !text.is_empty() {
                        self.cx.emit_step_output(&self.step, stream, text, false);
                    }
                }
                (None, Ok(()))
            }
            To::Events { .. } => (None, Ok(())),
            To::File(log) => {
                let log = locked(&log);
                if log.truncated {
                    self.cx.note_truncated();
                }
                let written = log.error.clone().map_or(Ok(()), Err);
                (Some(log.path.as_str().to_owned()), written)
            }
        }
    }
}

fn locked(log: &Mutex<Log>) -> MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `<tool>-<step>.log`; what could not be part of a file's name everywhere is a dash in it.
fn default_name(cx: &CallContext, step: &Step) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let step: String = step
        .name
        .chars()
        .map(|c| if plain(c) { c } else { '-' })
        .collect();
    format!("{}-{step}.log", cx.spec().name)
}
