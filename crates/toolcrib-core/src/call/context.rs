//! What a running tool may use: [`CallContext`].

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::poll::BoxFuture;
use serde_json::Value;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::elicit::{Asks, Elicitor};
use super::event::{EventKind, EventLog, OutputStream};
use super::request::{CallRequest, NestedIn, Typed};
use super::waiting_time::{Wait, Waits};
use crate::model::JsonObject;
use crate::model::caller::Caller;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::exchange::ExchangeLog;
use crate::model::ids::CallId;
use crate::model::limits::Limits;
use crate::model::outcome::{HeldNote, Outcome, SandboxUse};
use crate::spec::ToolSpec;
use crate::workspace::{Runnable, Workspace};

/// The surroundings of a call; passed in by the pipeline, so that this layer need not know the registry and the rules.
#[doc(hidden)]
pub trait Around: Send + Sync {
    /// Runs a nested call.
    fn call(&self, request: CallRequest) -> BoxFuture<'static, Outcome>;

    /// The rules that would not simply let a call with these arguments pass.
    fn objections(&self, spec: &ToolSpec, args: &JsonObject) -> Vec<String>;
}

/// What a running tool may use: its workspace, its limits, its events, its deadline, and calls to
/// other tools. Cloning is cheap.
#[derive(Clone)]
pub struct CallContext(Arc<Inner>);

#[doc(hidden)]
pub struct Inner {
    #[doc(hidden)]
    pub call_id: CallId,
    /// The caller of this call and of the calls that it makes.
    #[doc(hidden)]
    pub caller: Caller,
    /// The outermost call.
    #[doc(hidden)]
    pub root: CallId,
    #[doc(hidden)]
    pub spec: Arc<ToolSpec>,
    #[doc(hidden)]
    pub workspace: Option<Arc<Workspace>>,
    #[doc(hidden)]
    pub limits: Limits,
    #[doc(hidden)]
    pub deadline: Instant,
    #[doc(hidden)]
    pub cancel: CancellationToken,
    #[doc(hidden)]
    pub events: Arc<EventLog>,
    #[doc(hidden)]
    pub around: Arc<dyn Around>,
    #[doc(hidden)]
    pub depth: u8,
    /// The steps that lead to it, joined by `/`, if a tool makes it.
    #[doc(hidden)]
    pub path: Option<String>,
    #[doc(hidden)]
    pub basis: Option<Value>,
    /// The files that its approval counts for, as they are to run.
    #[doc(hidden)]
    pub pinned: Option<Arc<[Runnable]>>,
    #[doc(hidden)]
    pub partial: Mutex<JsonObject>,
    #[doc(hidden)]
    pub notes: Mutex<Notes>,
    /// What this call started and has yet to end. Made when there is something, like all that most calls never need.
    #[doc(hidden)]
    pub endings: OnceLock<Arc<Endings>>,
    #[doc(hidden)]
    pub typed: Option<Typed>,
    #[doc(hidden)]
    pub elicitor: Option<Asks>,
    #[doc(hidden)]
    pub after: Mutex<Vec<BoxFuture<'static, ()>>>,
    /// What this call, the calls around it and those in it have yet to clean up.
    #[doc(hidden)]
    pub cleanups: OnceLock<Arc<Endings>>,
    /// How long people were waited for by this call, the calls around it and those in it; and how long that was when it began.
    #[doc(hidden)]
    pub waits: OnceLock<Arc<Waits>>,
    #[doc(hidden)]
    pub waited_before: Duration,
    /// What left for other machines. The record of the call reads it, also when the caller went away.
    #[doc(hidden)]
    pub exchanges: OnceLock<ExchangeLog>,
}

/// What a tool says about its own run, for the outcome's metadata.
#[derive(Debug, Default)]
#[doc(hidden)]
pub struct Notes {
    pub(crate) sandbox: Option<SandboxUse>,
    #[doc(hidden)]
    pub truncated: bool,
    /// What was planted and is held.
    pub(crate) held: Vec<HeldNote>,
    /// What went wrong while cleaning up.
    pub(crate) cleanup: Vec<String>,
    /// What the caller should know.
    pub(crate) warnings: Vec<String>,
}

/// How much of what a call started has yet to end.
#[derive(Debug, Default)]
#[doc(hidden)]
pub struct Endings {
    left: AtomicUsize,
    changed: Notify,
}

/// Something that ends by itself when its call does; held until it has. An outcome waits for it, for a while.
#[derive(Debug)]
#[doc(hidden)]
pub struct Ending(Arc<Endings>);

impl Endings {
    fn announce(self: &Arc<Self>) -> Ending {
        self.left.fetch_add(1, Ordering::Relaxed);
        Ending(Arc::clone(self))
    }

    fn is_over(&self) -> bool {
        self.left.load(Ordering::Acquire) == 0
    }

    /// Resolves when everything announced has ended.
    async fn all(&self) {
        loop {
            let changed = self.changed.notified();
            if self.is_over() {
                return;
            }
            changed.await;
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.left.fetch_sub(1, Ordering::Release);
        self.0.changed.notify_waiters();
    }
}

impl CallContext {
    #[doc(hidden)]
    pub fn new(inner: Inner) -> Self {
        CallContext(Arc::new(inner))
    }

    /// The id of this call.
    pub fn call_id(&self) -> &CallId {
        &self.0.call_id
    }

    /// The caller.
    #[doc(hidden)]
    pub fn caller(&self) -> &Caller {
        &self.0.caller
    }

    /// The spec of the tool being called.
    pub fn spec(&self) -> &ToolSpec {
        &self.0.spec
    }

    /// The workspace: the only directory tree file tools may touch.
    pub fn workspace(&self) -> Result<&Arc<Workspace>, ToolError> {
        self.0.workspace.as_ref().ok_or_else(|| {
            ToolError::new(
                ErrorCode::ToolUnavailable,
                "this tool works on files and no workspace is configured",
            )
        })
    }

    /// The limits in force.
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// How much time is left. Time in which a person is asked something does not count.
    pub fn remaining(&self) -> Duration {
        self.deadline().saturating_duration_since(Instant::now())
    }

    /// When its time is up, as things are now.
    pub(crate) fn deadline(&self) -> Instant {
        let waited = self
            .0
            .waits
            .get()
            .map_or(Duration::ZERO, |waits| waits.total());
        self.0.deadline + waited.saturating_sub(self.0.waited_before)
    }

    /// Waits for a person until the returned guard is dropped: the call's clock is stopped. The asker bounds the time.
    #[doc(hidden)]
    pub fn wait_for_person(&self) -> Wait {
        self.waits().begin()
    }

    fn waits(&self) -> &Arc<Waits> {
        self.0.waits.get_or_init(Arc::default)
    }

    /// Whether the call was cancelled or timed out.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancel.is_cancelled()
    }

    /// Resolves when the call is cancelled or times out.
    pub async fn cancelled(&self) {
        self.0.cancel.cancelled().await;
    }

    /// What the approval of this call rested on, as the tool's own `Approval` put it.
    pub fn basis(&self) -> Option<&Value> {
        self.0.basis.as_ref()
    }

    /// The files that the approval of this call counts for, as they are to run.
    #[doc(hidden)]
    pub fn pinned(&self) -> &[Runnable] {
        self.0.pinned.as_deref().unwrap_or_default()
    }

    /// Streams a piece of output to watchers of the call.
    pub fn emit_output(&self, stream: OutputStream, chunk: impl Into<String>) {
        self.0.events.push(EventKind::Output {
            stream,
            chunk: chunk.into(),
            step: None,
            console: false,
        });
    }

    /// Streams a piece of a step's output; `console`: for the terminal of the user who runs the tool, while it runs.
    #[doc(hidden)]
    pub fn emit_step_output(&self, step: &str, stream: OutputStream, chunk: &str, console: bool) {
        self.0.events.push(EventKind::Output {
            stream,
            chunk: chunk.to_owned(),
            step: Some(step.to_owned()),
            console,
        });
    }

    /// Reports the result of a step to watchers of the call.
    #[doc(hidden)]
    pub fn emit_step(&self, name: &str, status: &str) {
        self.0.events.push(EventKind::Step {
            name: name.to_owned(),
            status: status.to_owned(),
        });
    }

    /// Reports progress to watchers of the call.
    pub fn emit_progress(&self, progress: f64, total: Option<f64>, message: Option<String>) {
        self.0.events.push(EventKind::Progress {
            progress,
            total,
            message,
        });
    }

    /// Keeps something for the error's details, should the call time out or be cancelled.
    pub fn keep_partial(&self, key: impl Into<String>, value: impl Into<Value>) {
        self.0
            .partial
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(key.into(), value.into());
    }

    /// Says what wall stood around the tool's program.
    #[doc(hidden)]
    pub fn note_sandbox(&self, sandbox: SandboxUse) {
        self.notes().sandbox = Some(sandbox);
    }

    /// Says what the tool's program planted and is held.
    #[doc(hidden)]
    pub fn note_held(&self, held: Vec<HeldNote>) {
        if !held.is_empty() {
            self.notes().held.extend(held);
        }
    }

    /// Says that the output is not all there was.
    pub fn note_truncated(&self) {
        self.notes().truncated = true;
    }

    /// Says what the caller should know about a call that goes well; each text once.
    #[doc(hidden)]
    pub fn note_warning(&self, warning: String) {
        let warnings = &mut self.notes().warnings;
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }

    /// Says that something was left behind, or may have been.
    #[doc(hidden)]
    pub fn note_cleanup(&self, problem: impl Into<String>) {
        self.notes().cleanup.push(problem.into());
    }

    /// Where it is noted what leaves for other machines, for the record of the call: the `log` of every request a tool makes.
    pub fn exchanges(&self) -> ExchangeLog {
        self.0.exchanges.get_or_init(ExchangeLog::default).clone()
    }

    /// Like [`exchanges`](Self::exchanges), but `None` if no log was requested yet.
    pub(crate) fn exchanges_if_any(&self) -> Option<&ExchangeLog> {
        self.0.exchanges.get()
    }

    /// What a person types, if one is there.
    #[doc(hidden)]
    pub fn typed(&self) -> Option<Typed> {
        self.0.typed.clone()
    }

    /// Asks the person behind this call a tool's questions, if that is possible.
    pub fn elicitor(&self) -> Option<&Arc<dyn Elicitor>> {
        self.0.elicitor.as_ref().map(|asks| &asks.0)
    }

    /// Leaves work to be done when the call is over and everything it started has ended, however that comes about: success, failure,
    /// timeout, cancellation, a panic, a caller that went away. The outcome waits for it. It has no other bound than its own.
    #[doc(hidden)]
    pub fn afterwards(&self, work: impl Future<Output = ()> + Send + 'static) {
        let cleanup = self.cleanups().announce();
        self.after().push(Box::pin(async move {
            work.await;
            drop(cleanup);
        }));
    }

    fn cleanups(&self) -> &Arc<Endings> {
        self.0.cleanups.get_or_init(Arc::default)
    }

    /// The work that was left to be done later.
    pub(crate) fn take_afterwards(&self) -> Vec<BoxFuture<'static, ()>> {
        std::mem::take(&mut *self.after())
    }

    fn after(&self) -> MutexGuard<'_, Vec<BoxFuture<'static, ()>>> {
        self.0.after.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.0.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[doc(hidden)]
    pub fn take_notes(&self) -> Notes {
        std::mem::take(&mut *self.notes())
    }

    /// Announces something that has to end before the outcome of a cancelled call is known.
    #[doc(hidden)]
    pub fn ending(&self) -> Ending {
        self.0.endings.get_or_init(Arc::default).announce()
    }

    /// Resolves when everything announced has ended.
    #[doc(hidden)]
    pub async fn all_ended(&self) {
        if let Some(endings) = self.0.endings.get() {
            endings.all().await;
        }
    }

    /// Whether nothing is left to be done afterwards.
    pub(crate) fn is_cleaned_up(&self) -> bool {
        self.0.cleanups.get().is_none_or(|left| left.is_over())
    }

    /// Resolves when everything left to be done afterwards is done, by this call and those around it and in it.
    pub(crate) async fn all_cleaned_up(&self) {
        if let Some(cleanups) = self.0.cleanups.get() {
            cleanups.all().await;
        }
    }

    #[doc(hidden)]
    pub fn take_partial(&self) -> JsonObject {
        std::mem::take(
            &mut *self
                .0
                .partial
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    /// Calls another tool. The call enters the pipeline at the top: it is validated, ruled on and
    /// approved by itself, ends with this call, and counts one level of depth. It is made for the caller of the outermost call,
    /// whatever the request says: questions and grants of one caller's calls are not another's.
    pub async fn call(&self, mut request: CallRequest) -> Outcome {
        request.caller = self.0.caller.nested();
        request.nested_in = Some(NestedIn {
            parent: self.0.call_id.clone(),
            root: self.0.root.clone(),
            tool: self.0.spec.name.to_string(),
            path: self.0.path.clone(),
            depth: self.0.depth + 1,
            cleanups: Arc::clone(self.cleanups()),
            waits: Arc::clone(self.waits()),
            live: self.0.events.live().cloned(),
        });
        request.cancel = Some(self.0.cancel.child_token());
        request.typed = request.typed.or_else(|| self.typed());
        request.elicitor.clone_from(&self.0.elicitor);
        let remaining = u64::try_from(self.remaining().as_millis())
            .unwrap_or(u64::MAX)
            .max(1);
        request.limits.timeout_ms = Some(
            request
                .limits
                .timeout_ms
                .map_or(remaining, |own| own.min(remaining)),
        );
        let outcome = self.0.around.call(request).await;
        self.note_held(outcome.held.clone());
        outcome
    }

    /// The names of the rules that would not simply let this call pass if its arguments were these: for a tool that comes upon
    /// files which none of its arguments names.
    #[doc(hidden)]
    pub fn objections(&self, args: &JsonObject) -> Vec<String> {
        self.0.around.objections(&self.0.spec, args)
    }

    /// Runs blocking work (file system, hashing) off the async threads, so that deadlines and
    /// cancellation of this and other calls hold.
    ///
    /// The work itself cannot be interrupted: when the call ends early its result is discarded.
    /// Long work should look at [`is_cancelled`](Self::is_cancelled) now and then.
    pub async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        match tokio::task::spawn_blocking(work).await {
            Ok(result) => result,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(error) => Err(
                ToolError::new(ErrorCode::Cancelled, "the runtime is shutting down")
                    .caused_by(error),
            ),
        }
    }

    /// Like [`blocking`](Self::blocking), for work that makes something of so many bytes that came from elsewhere: long ones
    /// wait until it is their caller's turn, so that those of one caller cannot keep the processors from others.
    pub async fn blocking_in_turn<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        if bytes <= crate::limits::SMALL {
            return work();
        }
        let place = crate::limits::turn(self.caller()).await;
        self.blocking(move || {
            let result = work();
            drop(place);
            result
        })
        .await
    }

    /// Like [`blocking`](Self::blocking), for work that stops soon after the call is cancelled: the outcome waits for that,
    /// and has what the work's error says in its details.
    pub async fn blocking_until_stopped<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let (cx, ending) = (self.clone(), self.ending());
        self.blocking(move || {
            let result = work();
            if let Err(error) = &result {
                for (key, value) in error.details().into_iter().flatten() {
                    cx.keep_partial(key.clone(), value.clone());
                }
            }
            drop(ending);
            result
        })
        .await
    }
}

impl std::fmt::Debug for CallContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallContext")
            .field("call_id", &self.0.call_id)
            .field("tool", &self.0.spec.name)
            .field("limits", &self.0.limits)
            .finish_non_exhaustive()
    }
}
