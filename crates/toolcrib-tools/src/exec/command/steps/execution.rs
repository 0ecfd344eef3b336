//! One run of all steps: [`Execution`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;

use super::super::doubts::over_limit;
use super::arguments::{arguments, references};
use super::graph::Graph;
use super::outlet::{Logs, Outlet};
use super::result::{Printed, Status, StepResult, Why};
use super::retry::{is_worth_another, pause};
use super::{AT_ONCE, Attempt, OnFailure, Programs, use_tool};
use crate::call::context::CallContext;
use crate::definition::{Action, Program, Step};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::limits::as_millis;
use crate::model::text;
use crate::template::{Reference, StepField, Values};

/// One run of all steps of a tool.
pub(super) struct Execution {
    pub(super) cx: CallContext,
    pub(super) steps: Arc<[Step]>,
    /// Arguments and variables.
    pub(super) values: Values,
    pub(super) on_failure: OnFailure,
    pub(super) programs: Arc<dyn Programs>,
    pub(super) logs: Arc<Logs>,
    /// What came of the steps that are over; a lock held for moments.
    pub(super) results: Mutex<Vec<Option<StepResult>>>,
}

/// What came of trying once.
#[derive(Debug)]
pub(super) struct Tried {
    pub(super) printed: Printed,
    /// Why it failed, if it did.
    pub(super) why: Option<Why>,
}

impl Tried {
    fn failed(error: &ToolError) -> Self {
        let (printed, details) = Printed::of_error(error);
        let why = Why {
            code: error.code(),
            message: error.message().to_owned(),
            details,
        };
        Tried {
            printed,
            why: Some(why),
        }
    }
}

impl Execution {
    /// Runs the graph to its end: what came of every step, and the first in time that failed and may not.
    pub(super) async fn drive(&self) -> (Vec<StepResult>, Option<usize>) {
        let waits = self.steps.iter().map(|step| step.wait_for.as_slice());
        let mut graph = Graph::new(waits, AT_ONCE);
        // Polled by this one task: a step that waits for its program costs a few hundred bytes, not a thread.
        let mut running = FuturesUnordered::new();
        let mut failed = None;
        loop {
            if self.cx.is_cancelled() {
                graph.stop();
            }
            while let Some(index) = graph.start() {
                running.push(async move { (index, self.step(&self.steps[index]).await) });
            }
            let Some((index, result)) = running.next().await else {
                break;
            };
            let step = &self.steps[index];
            self.cx.emit_step(&step.name, result.status.as_str());
            let counts = !matches!(result.status, Status::Ok | Status::Skipped);
            if counts && !step.continue_on_error && !self.cx.is_cancelled() {
                failed = failed.or(Some(index));
                if self.on_failure == OnFailure::Stop {
                    graph.stop();
                }
            }
            self.results()[index] = Some(result);
            graph.over(index);
        }
        let failed_name = failed.map(|index| self.steps[index].name.as_str());
        let results = std::mem::take(&mut *self.results());
        let results = results.into_iter().zip(self.steps.iter());
        let results = results.map(|(result, step)| {
            result.unwrap_or_else(|| {
                let rest = self.not_started(failed_name);
                self.cx.emit_step(&step.name, rest.status.as_str());
                rest
            })
        });
        let results: Vec<StepResult> = results.collect();
        if failed.is_some() || !self.cx.is_cancelled() {
            return (results, failed);
        }
        // Of what ended with the call, the first in the file that ran.
        let ended =
            |result: &&StepResult| matches!(result.status, Status::Cancelled | Status::Timeout);
        let ran = results
            .iter()
            .position(|result| ended(&result) && result.attempts > 0);
        let failed = ran.or_else(|| results.iter().position(|result| ended(&result)));
        (results, failed)
    }

    fn results(&self) -> MutexGuard<'_, Vec<Option<StepResult>>> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What came of a step that did not get its turn.
    fn not_started(&self, failed: Option<&str>) -> StepResult {
        let why = |message: String| Why::new(ErrorCode::Cancelled, message);
        match failed {
            Some(name) if self.on_failure == OnFailure::Stop => {
                StepResult::not_started(Status::Skipped, why(format!("step `{name}` failed")))
            }
            _ if self.cx.is_cancelled() => StepResult::not_started(
                Status::Cancelled,
                why("the call was over before it started".to_owned()),
            ),
            // No definition that was checked has one.
            _ => StepResult::not_started(
                Status::Skipped,
                why("it waits for a step that waits for it".to_owned()),
            ),
        }
    }

    /// Runs one step, from its condition to its fallback.
    async fn step(&self, step: &Step) -> StepResult {
        match self.condition(step).await {
            Ok(true) => {}
            Ok(false) => {
                let why = Why::new(ErrorCode::Cancelled, "its run-condition does not hold");
                return StepResult::not_started(Status::Skipped, why);
            }
            Err(_) if self.cx.is_cancelled() => return self.not_started(None),
            Err(why) => return StepResult::not_started(Status::Failed, why),
        }
        self.cx.emit_step(&step.name, "running");
        let started = Instant::now();
        let outlet = match Outlet::open(&self.cx, step, &self.logs).await {
            Ok(outlet) => outlet,
            Err(error) => {
                let Tried { why, .. } = Tried::failed(&error);
                let why = why.unwrap_or_else(|| Why::new(error.code(), error.message()));
                return StepResult::not_started(Status::Failed, why);
            }
        };
        let (tried, attempts) = self.attempts(step, &outlet).await;
        let (mut tried, replaced) = match (tried, &step.fallback) {
            (
                Tried {
                    printed,
                    why: Some(why),
                },
                Some(fallback),
            ) if !self.cx.is_cancelled() => {
                let tried = self.program(step, fallback, &outlet).await;
                (tried, Some((why, printed)))
            }
            (tried, _) => (tried, None),
        };
        let (file, written) = outlet.close(&tried.printed);
        if let (Err(error), None) = (written, &tried.why) {
            tried.why = Tried::failed(&error).why;
        }
        StepResult {
            status: self.status(tried.why.as_ref()),
            printed: Some(tried.printed),
            attempts,
            duration: started.elapsed(),
            file,
            replaced,
            why: tried.why,
        }
    }

    fn status(&self, why: Option<&Why>) -> Status {
        match why {
            None => Status::Ok,
            // Whatever it says itself: it was ended with the call.
            Some(_) if self.cx.is_cancelled() && self.cx.remaining().is_zero() => Status::Timeout,
            Some(_) if self.cx.is_cancelled() => Status::Cancelled,
            Some(why) if why.code == ErrorCode::Timeout => Status::Timeout,
            Some(why) if why.code == ErrorCode::Cancelled => Status::Cancelled,
            Some(_) => Status::Failed,
        }
    }

    /// Whether a step is to run.
    async fn condition(&self, step: &Step) -> Result<bool, Why> {
        let Some(condition) = &step.run_condition else {
            return Ok(true);
        };
        let values = self.values_for(condition.references());
        let text = text::shorten(condition.text(), 200);
        let condition = condition.clone();
        // An expression can take its time, which must not delay other calls.
        let judged = self.cx.blocking(move || Ok(condition.holds(&values))).await;
        match judged {
            Ok(Ok(holds)) => Ok(holds),
            Ok(Err(error)) => Err(Why::new(
                ErrorCode::ExecutionError,
                format!("its run-condition `{text}` has no value: {error}"),
            )),
            Err(error) => Err(Why::new(error.code(), error.message())),
        }
    }

    /// Tries a step as often as it may; what came of the last time, and how often it was tried.
    async fn attempts(&self, step: &Step, outlet: &Outlet) -> (Tried, u32) {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let tried = self.attempt(step, outlet).await;
            let (Some(why), Some(retry)) = (&tried.why, &step.retry) else {
                return (tried, attempts);
            };
            let pause = pause(retry, attempts);
            let may = attempts < retry.attempts
                && is_worth_another(why.code)
                && !self.cx.is_cancelled()
                // Or the call would be over before; what is left of its time is the fallback's.
                && pause < self.cx.remaining();
            if !may {
                return (tried, attempts);
            }
            self.say_again(step, why, attempts, retry.attempts, pause);
            let over = tokio::time::timeout(pause, self.cx.cancelled()).await;
            if over.is_ok() {
                return (tried, attempts);
            }
        }
    }

    fn say_again(&self, step: &Step, why: &Why, made: u32, all: u32, pause: Duration) {
        let over = self.results().iter().flatten().count();
        let message = format!(
            "step `{}`, attempt {made} of {all}: {}; again in {} ms",
            step.name,
            why.message,
            as_millis(pause)
        );
        // Exact for every number of steps a file can have.
        let (over, all) = (over as f64, self.steps.len() as f64);
        self.cx.emit_progress(over, Some(all), Some(message));
    }

    /// Tries a step once.
    async fn attempt(&self, step: &Step, outlet: &Outlet) -> Tried {
        match &step.action {
            Action::Run(program) => self.program(step, program, outlet).await,
            Action::UseTool { tool, with } => {
                let values = self.values_for(references(with));
                let args = arguments(with, &values);
                use_tool::call(&self.cx, step, tool, args, outlet).await
            }
        }
    }

    /// Runs a program of a step once.
    async fn program(&self, step: &Step, program: &Program, outlet: &Outlet) -> Tried {
        let values = self.values_for(program.code.references());
        if let Some(skipped) = missing_number(program, &values) {
            let message = format!(
                "it counts with `{{{skipped}.exit-code}}`, and step `{skipped}` did not run, so that it has none; give this step a `run-condition`"
            );
            return Tried {
                printed: Printed::default(),
                why: Some(Why::new(ErrorCode::InvalidArguments, message)),
            };
        }
        self.warn_of_limit(step);
        let attempt = Attempt {
            timeout: step.timeout,
            keep: step.output.buffer_limit,
            sink: outlet.sink(),
        };
        match self.programs.run(program, &values, attempt).await {
            Ok(ran) => {
                let printed = Printed::from(ran);
                let why = match printed.exit_code {
                    Some(0) | None => None,
                    Some(code) => Some(Why::new(
                        ErrorCode::ExecutionError,
                        format!("exit code {code}"),
                    )),
                };
                Tried { printed, why }
            }
            Err(error) => {
                let mut tried = Tried::failed(&error);
                if let (Some(why), Some(timeout)) = (&mut tried.why, step.timeout)
                    && why.code == ErrorCode::Timeout
                {
                    why.message = format!("it did not finish within {} ms", as_millis(timeout));
                }
                tried
            }
        }
    }

    /// Says that less of the output is kept than the file asks for.
    fn warn_of_limit(&self, step: &Step) {
        let most = self.cx.limits().max_output_bytes;
        if let Some(asked) = step.output.buffer_limit.filter(|asked| *asked > most) {
            self.cx
                .note_warning(format!("step `{}`: {}", step.name, over_limit(asked, most)));
        }
    }

    /// The values for a text: all arguments and variables, and of the steps only those that it names, which can be long.
    fn values_for<'a>(&self, references: impl IntoIterator<Item = &'a Reference>) -> Values {
        let mut values = self.values.clone();
        let results = self.results();
        for reference in references {
            let Reference::Step { step: name, .. } = reference else {
                continue;
            };
            let place = self.steps.iter().position(|step| step.name == *name);
            let result = place.and_then(|place| results[place].as_ref());
            if let Some(of_step) = result.and_then(StepResult::values) {
                values.steps.insert(name.clone(), of_step);
            }
        }
        values
    }
}

/// The step whose exit code a program counts with, in `((…))`, though there is none: the shell would only see an empty place.
fn missing_number<'p>(program: &'p Program, values: &Values) -> Option<&'p str> {
    let references = program.code.references().iter();
    let mut steps = references.filter_map(|reference| match reference {
        Reference::Step {
            step,
            field: StepField::ExitCode,
        } if values.get(reference).is_none() => Some(step.as_str()),
        _ => None,
    });
    steps.find(|step| {
        let placeholder = format!("{{{step}.exit-code}}");
        let mut counted = program.source.split("((").skip(1);
        counted.any(|rest| {
            let inside = rest.split("))").next().unwrap_or_default();
            inside.contains(&placeholder)
        })
    })
}
