//! Stage 9, around all others: what is known about a call so far, and its record at the end.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::Begun;
use super::masking::{mask_held, mask_result, mask_sandbox, mask_trail};
use crate::call::context::{CallContext, Notes};
use crate::call::event::{EventKind, EventLog};
use crate::call::request::CallRequest;
use crate::catalogue::{Entry, Inner};
use crate::model::JsonObject;
use crate::model::caller::Caller;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::exchange::{Exchange, ExchangeLog};
use crate::model::ids::{CallId, ToolId};
use crate::model::mask::Masker;
use crate::model::outcome::{
    ApprovalTrail, HeldNote, Origin, Outcome, SandboxUse, Timing, ToolOutput, milliseconds,
};
use crate::record::{CallRecord, HookNote};
use crate::spec::ToolSpec;

/// Collects what the stages learn. Whatever happens to the call, [`finish`](Trace::finish) or, when
/// the caller drops the future, `drop` makes exactly one record.
pub(super) struct Trace<'a> {
    inner: &'a Arc<Inner>,
    id: CallId,
    /// Whether the call is among those that run.
    listed: bool,
    events: Arc<EventLog>,
    /// What ends a listed call.
    cancel: Option<CancellationToken>,
    caller: Caller,
    parent: Option<CallId>,
    asked_for: Arc<str>,
    /// The tool, when it was found.
    spec: Option<Arc<ToolSpec>>,
    tool_id: Option<ToolId>,
    parameters: JsonObject,
    approval: Option<ApprovalTrail>,
    sandbox: Option<SandboxUse>,
    held: Vec<HeldNote>,
    truncated: bool,
    warnings: Vec<String>,
    hook: Option<HookNote>,
    /// What the tool uses, from when it runs.
    context: Option<CallContext>,
    started_at: Timestamp,
    started: Instant,
    execution: Option<(Instant, Option<Instant>)>,
    finished: bool,
}

impl<'a> Trace<'a> {
    /// Of a call that can be watched and cancelled by its id.
    pub(super) fn listed(
        inner: &'a Arc<Inner>,
        request: &CallRequest,
        begun: &Begun,
        cancel: CancellationToken,
    ) -> Self {
        inner.running.enter(&begun.id, &cancel, &begun.events);
        if let Some(live) = begun.events.outermost() {
            live.begin();
        }
        Trace::new(inner, request, begun, Some(cancel))
    }

    /// Of something that is not its own call: a refused repetition, a plan.
    pub(super) fn unlisted(inner: &'a Arc<Inner>, request: &CallRequest, begun: &Begun) -> Self {
        Trace::new(inner, request, begun, None)
    }

    fn new(
        inner: &'a Arc<Inner>,
        request: &CallRequest,
        begun: &Begun,
        cancel: Option<CancellationToken>,
    ) -> Self {
        Trace {
            inner,
            id: begun.id.clone(),
            listed: cancel.is_some(),
            events: Arc::clone(&begun.events),
            cancel,
            caller: request.caller.clone(),
            parent: request
                .nested_in
                .as_ref()
                .map(|nested| nested.parent.clone()),
            asked_for: Arc::clone(&begun.asked_for),
            spec: None,
            tool_id: None,
            parameters: JsonObject::new(),
            approval: None,
            sandbox: None,
            held: Vec::new(),
            truncated: false,
            warnings: Vec::new(),
            hook: None,
            context: None,
            started_at: begun.at,
            started: begun.started,
            execution: None,
            finished: false,
        }
    }

    pub(super) fn found(&mut self, entry: &Entry) {
        let spec = entry.spec();
        if let Some(live) = self.events.outermost() {
            live.found(spec);
        }
        self.spec = Some(Arc::clone(spec));
        self.tool_id = entry.stored_id();
    }

    pub(super) fn parameters(&mut self, masked: JsonObject) {
        self.parameters = masked;
    }

    pub(super) fn approval(&mut self, trail: ApprovalTrail) {
        self.approval = Some(trail);
    }

    /// What the program was answered that makes the call itself.
    pub(super) fn hook(&mut self, note: HookNote) {
        self.hook = Some(note);
    }

    /// What the caller should know of the arguments.
    pub(super) fn warnings(&mut self, warnings: Vec<String>) {
        self.warnings = warnings;
    }

    pub(super) fn truncated(&mut self) {
        self.truncated = true;
    }

    /// What the tool said about its own run.
    pub(super) fn notes(&mut self, notes: Notes) {
        self.truncated |= notes.truncated;
        self.warnings.extend(notes.warnings);
        self.sandbox = notes.sandbox;
        self.held = notes.held;
    }

    /// Where the tool notes what leaves for other machines. Read when the record is made, so that it is complete also when the caller
    /// goes away.
    pub(super) fn runs_in(&mut self, context: CallContext) {
        self.context = Some(context);
    }

    pub(super) fn execution_starts(&mut self) {
        self.execution = Some((Instant::now(), None));
    }

    /// Whether the tool itself was reached.
    pub(super) fn ran(&self) -> bool {
        self.execution.is_some()
    }

    pub(super) fn execution_ends(&mut self) {
        if let Some((_, end)) = &mut self.execution {
            *end = Some(Instant::now());
        }
    }

    pub(super) fn finish(mut self, mut result: Result<ToolOutput, ToolError>) -> Outcome {
        // As of now: the call itself may have learned a secret.
        let masker = self.inner.policy.masker_of_late();
        if !masker.is_empty() {
            mask_result(&masker, &mut result);
            self.mask(&masker);
        }
        let timing = self.timing();
        let record = self.record(&timing, result.as_ref().err(), &masker);
        let result = result.map_err(|error| error.of_tool(&record.tool));
        Outcome {
            called: self.called(&record.tool, &masker),
            call_id: self.id.clone(),
            tool: record.tool,
            origin: self.spec.as_ref().map(|spec| Origin {
                bundle: spec.bundle.clone(),
                version: spec.version.clone(),
            }),
            parameters: record.parameters,
            result,
            timing,
            approval: record.approval,
            sandbox: self.sandbox.take(),
            truncated: self.truncated,
            held: std::mem::take(&mut self.held),
            warnings: std::mem::take(&mut self.warnings),
        }
    }

    /// The name that the caller used, if it is not the tool's own.
    fn called(&self, tool: &str, masker: &Masker) -> Option<String> {
        let mut called = (*self.asked_for).to_owned();
        if !masker.is_empty() {
            masker.mask_text(&mut called);
        }
        (called != tool).then_some(called)
    }

    /// Takes secrets out of what is known about the call.
    fn mask(&mut self, masker: &Masker) {
        masker.mask_object(&mut self.parameters);
        if let Some(trail) = &mut self.approval {
            mask_trail(masker, trail);
        }
        if let Some(sandbox) = &mut self.sandbox {
            mask_sandbox(masker, sandbox);
        }
        mask_held(masker, &mut self.held);
        for warning in &mut self.warnings {
            masker.mask_text(warning);
        }
    }

    /// What left for other machines. An upstream chooses where it redirects to, and may put a secret into the name.
    fn network(&self, masker: &Masker) -> Vec<Exchange> {
        let log = self.context.as_ref().and_then(|cx| cx.exchanges_if_any());
        let mut network = log.map_or_else(Vec::new, ExchangeLog::exchanges);
        for exchange in &mut network {
            masker.mask_text(&mut exchange.host);
        }
        network
    }

    /// Makes no record: this is not a call.
    pub(super) fn forget(&mut self) {
        self.finished = true;
    }

    fn timing(&self) -> Timing {
        let now = Instant::now();
        let total = now - self.started;
        let (queue, execution) = match self.execution {
            Some((start, end)) => (start - self.started, end.unwrap_or(now) - start),
            None => (total, Duration::ZERO),
        };
        let ended_at = self.started_at + jiff::SignedDuration::try_from(total).unwrap_or_default();
        Timing {
            started_at: self.started_at,
            ended_at,
            queue,
            execution,
            total,
        }
    }

    /// Records the call; the record takes what is known of it along, and is given back.
    fn record(
        &mut self,
        timing: &Timing,
        error: Option<&ToolError>,
        masker: &Masker,
    ) -> CallRecord {
        self.finished = true;
        let call_id = if self.listed {
            self.id.clone()
        } else {
            CallId::generate()
        };
        let spec = self.spec.as_ref();
        let name = spec.map_or(&*self.asked_for, |spec| spec.name.as_str());
        let mut tool = name.to_owned();
        if !masker.is_empty() {
            masker.mask_text(&mut tool);
        }
        let record = CallRecord {
            call_id,
            tool,
            bundle: spec.map(|spec| spec.bundle.clone()),
            slug: spec.map(|spec| spec.slug.clone()),
            version: spec.map(|spec| spec.version.clone()),
            tool_id: self.tool_id,
            reached: self.ran(),
            caller: self.caller.clone(),
            parent: self.parent.clone(),
            start_time: timing.started_at,
            end_time: timing.ended_at,
            queue_time_ms: milliseconds(timing.queue),
            execution_time_ms: milliseconds(timing.execution),
            duration_ms: milliseconds(timing.total),
            ok: error.is_none(),
            code: error.map(ToolError::code),
            message: error.map(|error| error.message().to_owned()),
            approval: self.approval.take(),
            truncated: self.truncated,
            network: self.network(masker),
            steps: self.events.steps(
                timing.started_at,
                timing.ended_at,
                match error.map(ToolError::code) {
                    Some(ErrorCode::Timeout) => "timeout",
                    _ => "cancelled",
                },
            ),
            hook: self.hook.take(),
            parameters: std::mem::take(&mut self.parameters),
        };
        // Recorders and hooks are someone's code; a call never panics, and a broken hook costs no record.
        let policy = &self.inner.policy;
        let hooks = &policy.record_hooks;
        let _ = std::panic::catch_unwind(AssertUnwindSafe(|| hooks.tell(&record)));
        let recorder = &policy.recorder;
        let _ = std::panic::catch_unwind(AssertUnwindSafe(|| recorder.note(&record)));
        // After that: who sees the last event finds the call on record.
        if self.listed {
            self.inner.running.leave(&self.id);
        }
        self.events.push(finished(error));
        record
    }
}

/// The last event of a call.
pub(super) fn finished(error: Option<&ToolError>) -> EventKind {
    let code = error.map(|error| error.code().as_str().to_owned());
    EventKind::Finished {
        ok: error.is_none(),
        code,
    }
}

impl Drop for Trace<'_> {
    fn drop(&mut self) {
        if !self.finished {
            // The caller went away. What the tool left running learns of it.
            if let Some(cancel) = &self.cancel {
                cancel.cancel();
            }
            let error = ToolError::new(ErrorCode::Cancelled, "the caller went away");
            let masker = self.inner.policy.masker();
            self.mask(&masker);
            let timing = self.timing();
            self.record(&timing, Some(&error), &masker);
        }
    }
}
