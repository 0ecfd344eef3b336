//! One step of a tool with several: [`Step`].

use std::time::Duration;

use super::{JsonTemplate, Program};
use crate::template::Condition;

/// A step.
#[derive(Debug, Clone)]
pub struct Step {
    /// Its name, by which others refer to it.
    pub name: String,
    /// What it does.
    pub action: Action,
    /// Whether the rest goes on when it fails.
    pub continue_on_error: bool,
    /// When it runs; a false condition is a skip, not a failure.
    pub run_condition: Option<Condition>,
    /// Whether it starts with the previous step rather than after it.
    pub parallel: bool,
    /// The steps it waits for, as places in the list. Checked: no cycle, nothing unknown. The order of the file, `parallel` and
    /// `wait-for` are all in here.
    pub wait_for: Vec<usize>,
    /// How often it is tried.
    pub retry: Option<Retry>,
    /// The bash command that takes its place when it fails.
    pub fallback: Option<Program>,
    /// What becomes of its output.
    pub output: OutputMode,
    /// How long one attempt may take.
    pub timeout: Option<Duration>,
}

/// What a step does.
#[derive(Debug, Clone)]
pub enum Action {
    /// Runs a program.
    Run(Program),
    /// Calls a tool.
    UseTool {
        /// The tool.
        tool: String,
        /// Its arguments.
        with: Vec<(String, JsonTemplate)>,
    },
}

/// `error-handling.retry`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Retry {
    /// How often it is tried in all; at least 1.
    pub attempts: u32,
    /// How long to wait before the second attempt.
    pub delay: Duration,
    /// What the wait is multiplied by after each attempt; 1 unless said otherwise.
    pub backoff: f64,
}

/// `output`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OutputMode {
    /// Where it goes while the step runs; `None`: nowhere, it is kept until the end (`mode: buffer`).
    pub stream_to: Option<StreamTo>,
    /// How many bytes of each stream are kept, head and tail.
    pub buffer_limit: Option<u64>,
}

/// `output.stream-callback`.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamTo {
    /// The terminal of the user who runs the tool.
    Console,
    /// A file of the workspace: `output.file`, or `<tool>-<step>.log` in the working directory.
    File(Option<String>),
    /// The events of the call.
    Function,
}
