//! Traces: a span for each request and each call, sent to a collector of the operator's (OTLP over HTTP, as JSON).
//!
//! The setting `telemetry.endpoint` is the permission to reach that one server, through the way out that everything takes. Nothing waits
//! for the collector: spans go into a bounded queue, a thread sends them in batches, and what a slow or dead collector does not take is
//! dropped and counted. A span names tools, routes and codes, never an argument, a path as it was sent, or a message.

mod context;
mod export;
mod families;
mod otlp;

use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::Method;
use jiff::Timestamp;
use toolcrib::egress::{Egress, Target};
use toolcrib::record::CallRecord;
use toolcrib::{CallId, ErrorCode};
use url::Url;

pub(super) use context::SpanContext;

use super::figures::Figures;
use super::watch::Ended;
use crate::auth::Principal;
use export::{Exporter, Hurry};
use families::Families;

/// How many spans wait at most.
const QUEUE: usize = 4096;

/// Where traces go: the settings `telemetry.endpoint` and `telemetry.service`.
#[derive(Debug, Clone)]
pub struct Telemetry {
    url: Url,
    target: Target,
    service: String,
}

impl Telemetry {
    /// Reads the address of a collector, `http://127.0.0.1:4318`, to which `/v1/traces` is added, and the name of this service.
    pub fn new(endpoint: &str, service: &str) -> Result<Self, String> {
        let (mut url, target) =
            Target::parse(endpoint).map_err(|error| format!("`telemetry.endpoint`: {error}"))?;
        if url.query().is_some() || url.fragment().is_some() {
            return Err(
                "`telemetry.endpoint` is the address of a collector, like `http://127.0.0.1:4318`, without a query"
                    .to_owned(),
            );
        }
        let path = format!("{}/v1/traces", url.path().trim_end_matches('/'));
        url.set_path(&path);
        Ok(Telemetry {
            url,
            target,
            service: service.to_owned(),
        })
    }
}

/// A request that is over.
pub(super) struct RequestSpan {
    pub(super) context: SpanContext,
    pub(super) began_at: Timestamp,
    pub(super) duration: Duration,
    pub(super) method: Method,
    /// The path of its route.
    pub(super) route: Option<&'static str>,
    pub(super) status: Option<u16>,
    pub(super) ended: Ended,
    pub(super) request_id: String,
    pub(super) principal: Principal,
}

/// A call that is over.
pub(super) struct CallSpan {
    id: CallId,
    parent: Option<CallId>,
    /// `None` if it was not found: what was asked for is the caller's text.
    tool: Option<String>,
    bundle: Option<String>,
    version: Option<String>,
    caller: &'static str,
    began_at: Timestamp,
    ended_at: Timestamp,
    queue_ms: f64,
    execution_ms: f64,
    code: Option<ErrorCode>,
    /// Whether it was approved, and by what kind of channel.
    approval: Option<bool>,
}

impl CallSpan {
    fn of(record: &CallRecord) -> Self {
        use toolcrib::Caller;
        let found = record.bundle.as_ref().map(ToString::to_string);
        CallSpan {
            id: record.call_id.clone(),
            parent: record.parent.clone(),
            tool: found.as_ref().map(|_| record.tool.clone()),
            bundle: found,
            version: record.version.as_ref().map(ToString::to_string),
            caller: match record.caller {
                Caller::Library => "library",
                Caller::Cli => "cli",
                Caller::Operator => "operator",
                Caller::Mcp => "mcp",
                Caller::Client(_) => "client",
                Caller::ToolFor(_) | Caller::Tool => "tool",
            },
            began_at: record.start_time,
            ended_at: record.end_time,
            queue_ms: record.queue_time_ms,
            execution_ms: record.execution_time_ms,
            code: record.code,
            approval: record.approval.as_ref().map(|trail| trail.approved),
        }
    }
}

enum Message {
    Request(Box<RequestSpan>),
    Call(Box<CallSpan>),
    /// Send everything before this, and say so.
    Flush(SyncSender<()>),
}

/// Hands spans to the thread that sends them, which ends with this.
pub(super) struct Tracer {
    spans: SyncSender<Message>,
    families: Arc<Mutex<Families>>,
    hurry: Arc<Hurry>,
    figures: Arc<Figures>,
}

impl Tracer {
    /// Starts the thread. Without one every span is dropped, and counted.
    pub(super) fn start(telemetry: &Telemetry, egress: Egress, figures: &Arc<Figures>) -> Self {
        let (spans, queue) = sync_channel(QUEUE);
        let (families, hurry) = (Arc::default(), Arc::default());
        let exporter = Exporter {
            telemetry: telemetry.clone(),
            egress,
            families: Arc::clone(&families),
            hurry: Arc::clone(&hurry),
            figures: Arc::clone(figures),
        };
        let _ = std::thread::Builder::new()
            .name("traces".to_owned())
            .spawn(move || exporter.run(&queue));
        Tracer {
            spans,
            families,
            hurry,
            figures: Arc::clone(figures),
        }
    }

    /// A request makes this call: their spans belong together.
    pub(super) fn belongs(&self, call: &CallId, request: SpanContext) {
        let mut families = self.families.lock().unwrap_or_else(PoisonError::into_inner);
        families.put(call, request.child_for(call));
    }

    pub(super) fn request(&self, span: RequestSpan) {
        if span.context.sampled {
            self.put(Message::Request(Box::new(span)));
        }
    }

    pub(super) fn call(&self, record: &CallRecord) {
        self.put(Message::Call(Box::new(CallSpan::of(record))));
    }

    fn put(&self, message: Message) {
        if self.spans.try_send(message).is_err() {
            self.figures.span_dropped(1);
        }
    }

    /// Waits until everything so far is sent or given up.
    pub(super) fn flush(&self, deadline: Instant) {
        self.hurry.until(Some(deadline));
        let (done, sent) = sync_channel(1);
        let mut message = Message::Flush(done);
        loop {
            match self.spans.try_send(message) {
                Ok(()) => break,
                Err(TrySendError::Disconnected(_)) => return,
                Err(TrySendError::Full(back)) => message = back,
            }
            if Instant::now() >= deadline {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = sent.recv_timeout(deadline.saturating_duration_since(Instant::now()));
        self.hurry.until(None);
    }
}

impl Drop for Tracer {
    /// Drops the rest: a caller that wants it sent flushes.
    fn drop(&mut self) {
        self.hurry.until(Some(Instant::now()));
    }
}
