//! Graphs of steps with doubles: tools that do what a script says, and a record of what happened when.

mod attempts;
mod order;
mod published;
mod real;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{Attempt, Ended, OnFailure, Programs, Ran, run};
use crate::call::context::{Around, CallContext, Inner};
use crate::call::event::{EventKind, EventLog};
use crate::call::request::CallRequest;
use crate::definition::{Action, OutputMode, Program, Retry, Step};
use crate::model::JsonObject;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::ids::CallId;
use crate::model::limits::Limits;
use crate::model::names::WireName;
use crate::model::outcome::{Outcome, Timing, ToolOutput};
use crate::schema::ObjectBuilder;
use crate::spec::ToolSpec;
use crate::template::Values;
use crate::workspace::Workspace;

/// What a double does when it is called.
#[derive(Clone)]
enum Does {
    /// Prints this.
    Prints(&'static str),
    /// Prints this many bytes.
    PrintsMuch(usize),
    /// Complains, and ends with this exit code.
    Exits(i64),
    /// Fails with this code.
    Fails(ErrorCode),
    /// Waits until the call is over.
    Waits,
    /// Waits until this many doubles that meet are there.
    Meets(usize),
    /// Does these one after the other, once each; the last for ever.
    InTurn(Vec<Does>),
}

/// A call with doubles for all tools that its steps use.
struct Bench {
    cx: CallContext,
    cancel: CancellationToken,
    events: Arc<EventLog>,
    stage: Arc<Stage>,
    workspace: tempfile::TempDir,
}

#[derive(Default)]
struct Stage {
    script: HashMap<String, Does>,
    /// `+name` when a double starts, `-name` when it ends.
    record: Mutex<Vec<String>>,
    /// The arguments of each call.
    asked: Mutex<Vec<JsonObject>>,
    met: AtomicUsize,
    calls: Mutex<HashMap<String, usize>>,
}

/// The doubles, as what is around a call.
struct Played(Arc<Stage>);

impl Around for Played {
    fn call(&self, request: CallRequest) -> BoxFuture<'static, Outcome> {
        let stage = Arc::clone(&self.0);
        async move { stage.play(request).await }.boxed()
    }

    fn objections(&self, _spec: &ToolSpec, _args: &JsonObject) -> Vec<String> {
        Vec::new()
    }
}

impl Stage {
    async fn play(self: &Arc<Self>, request: CallRequest) -> Outcome {
        let name = request.tool.clone();
        self.record.lock().unwrap().push(format!("+{name}"));
        self.asked.lock().unwrap().push(request.args.clone());
        let call = {
            let mut calls = self.calls.lock().unwrap();
            let call = calls.entry(name.clone()).or_default();
            *call += 1;
            *call - 1
        };
        let does = match self.script.get(&name).cloned() {
            Some(Does::InTurn(all)) => all[call.min(all.len() - 1)].clone(),
            does => does.unwrap_or(Does::Prints("done")),
        };
        let result = self.act(does, &request).await;
        self.record.lock().unwrap().push(format!("-{name}"));
        let now = Timestamp::now();
        Outcome {
            call_id: CallId::generate(),
            tool: name,
            origin: None,
            parameters: JsonObject::new(),
            result,
            timing: Timing {
                started_at: now,
                ended_at: now,
                queue: Duration::ZERO,
                execution: Duration::ZERO,
                total: Duration::ZERO,
            },
            approval: None,
            sandbox: None,
            truncated: false,
            held: Vec::new(),
            warnings: Vec::new(),
            called: None,
        }
    }

    async fn act(&self, does: Does, request: &CallRequest) -> Result<ToolOutput, ToolError> {
        match does {
            Does::Prints(text) => Ok(ToolOutput::value(text)),
            Does::PrintsMuch(bytes) => Ok(ToolOutput::value("x".repeat(bytes))),
            Does::Exits(code) => Ok(ToolOutput::value(json!({
                "stdout": "out\n", "stderr": "one\ntwo\n", "exitCode": code, "duration": 1,
            }))),
            Does::Fails(code) => Err(ToolError::new(code, "it does not work")),
            Does::Waits => {
                request.cancel.as_ref().unwrap().cancelled().await;
                let error = ToolError::new(ErrorCode::Cancelled, "it was cancelled");
                Err(error.with_detail("stdout", "so far\n"))
            }
            Does::Meets(others) => {
                self.met.fetch_add(1, Ordering::SeqCst);
                while self.met.load(Ordering::SeqCst) < others {
                    tokio::task::yield_now().await;
                }
                Ok(ToolOutput::value("met"))
            }
            Does::InTurn(_) => unreachable!("a turn has no turns"),
        }
    }
}

/// Steps of these tests use tools; a program would be a mistake.
struct NoPrograms;

impl Programs for NoPrograms {
    fn run<'a>(
        &'a self,
        _program: &'a Program,
        _values: &'a Values,
        _attempt: Attempt,
    ) -> BoxFuture<'a, Result<Ran, ToolError>> {
        async { Err(ToolError::failed("no programs here")) }.boxed()
    }
}

impl Bench {
    fn new<const N: usize>(script: [(&str, Does); N]) -> Self {
        Bench::within(Duration::from_secs(60), script)
    }

    fn within<const N: usize>(timeout: Duration, script: [(&str, Does); N]) -> Self {
        let script = script.map(|(name, does)| (name.to_owned(), does));
        Bench::scripted(timeout, script.into())
    }

    fn scripted(timeout: Duration, script: HashMap<String, Does>) -> Self {
        let stage = Arc::new(Stage {
            script,
            ..Stage::default()
        });
        let id = CallId::generate();
        let events = Arc::new(EventLog::new(id.clone()));
        let cancel = CancellationToken::new();
        let workspace = tempfile::tempdir().unwrap();
        let schema = ObjectBuilder::default().build().unwrap();
        let cx = CallContext::new(Inner {
            call_id: id.clone(),
            caller: crate::model::caller::Caller::Cli,
            root: id,
            path: None,
            spec: Arc::new(ToolSpec::new(
                WireName::parse("many").unwrap(),
                "Does many things",
                schema,
            )),
            workspace: Some(Arc::new(Workspace::open(workspace.path()).unwrap())),
            limits: Limits {
                timeout,
                ..Limits::default()
            },
            deadline: Instant::now() + timeout,
            cancel: cancel.clone(),
            events: Arc::clone(&events),
            around: Arc::new(Played(Arc::clone(&stage))),
            depth: 0,
            basis: None,
            pinned: None,
            partial: Mutex::default(),
            notes: Mutex::default(),
            exchanges: OnceLock::new(),
            endings: OnceLock::new(),
            typed: None,
            elicitor: None,
            after: Mutex::default(),
            cleanups: OnceLock::new(),
            waits: OnceLock::new(),
            waited_before: Duration::ZERO,
        });
        Bench {
            cx,
            cancel,
            events,
            stage,
            workspace,
        }
    }

    async fn run(&self, steps: Vec<Step>) -> Ended {
        self.run_with(steps, OnFailure::Stop).await
    }

    async fn run_with(&self, steps: Vec<Step>, on_failure: OnFailure) -> Ended {
        let values = Values::default();
        run(
            &self.cx,
            steps.into(),
            values,
            on_failure,
            Arc::new(NoPrograms),
        )
        .await
    }

    fn record(&self) -> Vec<String> {
        self.stage.record.lock().unwrap().clone()
    }

    /// All events until now.
    async fn events(&self) -> Vec<EventKind> {
        self.events.push(EventKind::Finished {
            ok: true,
            code: None,
        });
        let mut reader = self.events.read_after(0);
        let mut all = Vec::new();
        while let Some(event) = reader.next().await {
            all.push(event.kind.clone());
        }
        all.pop();
        all
    }
}

/// A step that uses the tool of the same name, and waits for these.
fn step(name: &str, wait_for: &[usize]) -> Step {
    Step {
        name: name.to_owned(),
        action: Action::UseTool {
            tool: name.to_owned(),
            with: Vec::new(),
        },
        continue_on_error: false,
        run_condition: None,
        parallel: false,
        wait_for: wait_for.to_vec(),
        retry: None,
        fallback: None,
        output: OutputMode::default(),
        timeout: None,
    }
}

fn lenient(step: Step) -> Step {
    Step {
        continue_on_error: true,
        ..step
    }
}

fn tried(step: Step, attempts: u32, delay: Duration) -> Step {
    Step {
        retry: Some(Retry {
            attempts,
            delay,
            backoff: 1.0,
        }),
        ..step
    }
}

/// `name=status` of all steps, in the order of the file.
fn statuses(ended: &Ended) -> String {
    let steps = ended.fields["steps"].as_object().unwrap();
    let words = steps
        .iter()
        .map(|(name, step)| format!("{name}={}", step["status"].as_str().unwrap()));
    words.collect::<Vec<String>>().join(" ")
}

/// One field of a step.
fn of<'a>(ended: &'a Ended, step: &str, field: &str) -> &'a Value {
    &ended.fields["steps"][step][field]
}
