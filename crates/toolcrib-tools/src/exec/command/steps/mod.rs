//! The steps of a tool, as a graph.
//!
//! A step starts as soon as everything it waits for is over, several at once, at most [`AT_ONCE`]. What the graph leaves to
//! others: how one attempt of a program runs ([`Programs`]).
//!
//! A failure without `continue-on-error` skips every step that has not started; those that run come to their end. A condition
//! that does not hold skips its step alone: who waits for that step goes on. When the call is over, the steps that run are ended,
//! and none starts. The steps run on their own task that the call's outcome waits for, so that nothing is left running and
//! what came of each step is known even when no one polls the tool any more.

mod arguments;
mod execution;
mod graph;
mod outcome;
mod outlet;
mod result;
mod retry;
mod risk;
#[cfg(test)]
mod tests;
mod use_tool;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::call::context::CallContext;
use crate::definition::{Program, Step};
use crate::model::error::{ErrorCode, ToolError};
use crate::process::Sink;
use crate::template::Values;
pub(crate) use arguments::arguments;
use execution::{Execution, Tried};
pub(crate) use outcome::Ended;
pub(crate) use risk::effective_effects;

/// How many steps run at once. More are ready sooner than the machine gets through them, and each holds processes, pipes and up
/// to three times the call's output limit.
pub(crate) const AT_ONCE: usize = 32;

/// Runs programs for steps: one attempt, no more.
pub(crate) trait Programs: Send + Sync {
    /// Runs a program once, behind the tool's wall. Resolves when its last process is gone, also when the call is over.
    ///
    /// `Ok` is any exit by itself, of whatever code; an error has what was printed (`stdout`, `stderr`, `output`, `exitCode`,
    /// `truncated`) in its details, and the code `TIMEOUT` if it took longer than `attempt` allows.
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
    /// Both streams in the order of arrival, without the newline at the end.
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
    /// Never, and the call goes well all the same: `ignore-errors` (S0: "whether to continue if a step fails").
    GoOn,
}

/// Runs all steps. `values` has the arguments and variables; the results of steps are added on the way.
///
/// A call that is over before its steps has what came of them in its error's details all the same.
pub(crate) async fn run(
    cx: &CallContext,
    steps: Arc<[Step]>,
    values: Values,
    on_failure: OnFailure,
    programs: Arc<dyn Programs>,
) -> Ended {
    let execution = Execution {
        cx: cx.clone(),
        results: Mutex::new(vec![None; steps.len()]),
        steps,
        values,
        on_failure,
        programs,
        logs: Arc::default(),
    };
    let ending = cx.ending();
    let task = tokio::spawn(async move {
        let (results, failed) = execution.drive().await;
        let Execution { cx, steps, .. } = execution;
        let ended = Ended::of(&cx, &steps, &results, failed, on_failure);
        if cx.is_cancelled() {
            for (key, value) in &ended.fields {
                cx.keep_partial(key.clone(), value.clone());
            }
        }
        drop(ending);
        ended
    });
    match task.await {
        Ok(ended) => ended,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(error) => Ended::failed(
            ToolError::new(ErrorCode::Cancelled, "the runtime is shutting down").caused_by(error),
        ),
    }
}
