//! The steps of a tool, as a graph.
//!
//! A step starts as soon as everything it waits for is over, several at once, at most [`AT_ONCE`]. What the graph leaves to
//! others: how one attempt of a program runs ([`Programs`]), and what `ignore-errors` makes of a failure ([`Ended`]).
//!
//! A failure without `continue-on-error` skips every step that has not started; those that run come to their end. A condition
//! that does not hold skips its step alone: who waits for that step goes on. When the call is over, the steps that run are ended,
//! and none starts; the future resolves when they are gone, so that nothing is left running.

mod risk;

use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::definition::{Program, Step};
use crate::model::JsonObject;
use crate::model::context::CallContext;
use crate::model::error::ToolError;
use crate::model::outcome::ToolOutput;
use crate::process::Sink;
use crate::template::Values;

pub(crate) use risk::effective_effects;

/// How many steps run at once. More are ready sooner than the machine gets through them, and each holds processes, pipes and up
/// to three times the call's output limit.
pub(crate) const AT_ONCE: usize = 32;

/// Runs programs for steps: one attempt, no more.
pub(crate) trait Programs: Sync {
    /// Runs a program once, behind the tool's wall. Resolves when its last process is gone, also when the call is over.
    ///
    /// `Ok` is any exit by itself, of whatever code; an error has what was printed (`stdout`, `stderr`, `output`, `exitCode`)
    /// in its details, and the code `TIMEOUT` if it took longer than `attempt` allows.
    fn run<'a>(
        &'a self,
        program: &'a Program,
        values: &'a Values,
        attempt: Attempt,
    ) -> BoxFuture<'a, Result<Ran, ToolError>>;
}

/// How one attempt is made.
pub(crate) struct Attempt {
    /// How long it may take, if less than the call has.
    pub(crate) timeout: Option<Duration>,
    /// How many bytes of each stream are kept, if less than the call's limit.
    pub(crate) keep: Option<u64>,
    /// Takes all output as it comes; nothing of it goes to the call's events by itself.
    pub(crate) sink: Sink,
}

/// A program that ended by itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ran {
    /// Both streams in the order of arrival, as they came.
    pub(crate) output: String,
    /// What it printed.
    pub(crate) stdout: String,
    /// What it complained.
    pub(crate) stderr: String,
    /// Its exit code.
    pub(crate) exit_code: i64,
    /// Whether something was left out of one of these.
    pub(crate) truncated: bool,
}

/// Whether a failed step keeps others from starting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnFailure {
    /// Unless the step has `continue-on-error`.
    Stop,
    /// Never: `ignore-errors` (S0: "whether to continue if a step fails").
    GoOn,
}

/// What came of all steps.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Which step failed and why, without details; `None` when all went well, or what failed may.
    pub(crate) failure: Option<ToolError>,
    /// `{output, stdout, stderr, exitCode, steps}`: those of the step that failed, or of the last in the file that ran.
    pub(crate) fields: JsonObject,
}

impl Ended {
    /// The value, or the failure with everything in its details.
    pub(crate) fn into_result(self) -> Result<ToolOutput, ToolError> {
        unimplemented!()
    }
}

/// Runs all steps. `values` has the arguments and variables; the results of steps are added on the way.
pub(crate) async fn run(
    _cx: &CallContext,
    _steps: &[Step],
    _values: &Values,
    _on_failure: OnFailure,
    _programs: &dyn Programs,
) -> Ended {
    unimplemented!()
}
