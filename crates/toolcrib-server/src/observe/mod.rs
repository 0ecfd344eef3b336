//! Reports about requests and calls: the access log, metrics, traces.
//!
//! ```text
//! watch     one request, from its head to the end of its answer     figures   counters and histograms, kept by atomics
//! access    the access log: a line for each request                 scrape    the figures as Prometheus reads them
//! traces    spans of requests and calls, sent to a collector        process   what the system says about this process
//! ```
//!
//! The invariant: an observer delays no one. A request or a call adds to atomics and puts a line into a bounded queue; what does
//! not fit is dropped and counted. No token, no value of a query, no body and no argument gets here.
//!
//! Calls are seen by their records (`Registry::on_record`), so each is counted once, nested ones too. The id of a call's span
//! follows from the call's id: nested calls end first, and still know their parent. A handler notes the call that it makes before
//! the call begins, so that the access log has its id and its span is below the request's.

mod access;
mod figures;
mod process;
mod scrape;
mod traces;
mod watch;

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use toolcrib::Crib;
use toolcrib::record::RecordSubscription;

pub use access::{Clock, Sink};
pub use figures::{ConnectionOpen, Timeout};
pub use toolcrib::config::AccessLog;
pub use traces::Telemetry;
pub use watch::{CallNote, Watch};

use crate::api::{Peer, RequestId};
use crate::routes::Routes;
use access::AccessWriter;
use figures::Figures;
use traces::Tracer;

pub(crate) use scrape::{GateNow, StoreNow};

/// What an [`Observer`] does besides counting, which it always does.
#[derive(Debug, Default)]
pub struct ObserverOptions {
    /// How requests are logged.
    pub access_log: AccessLog,
    /// How lines for people write times; in UTC with milliseconds if it is not set.
    pub time: Option<Clock>,
    /// Where the access log goes.
    pub sink: Sink,
    /// Where traces go, if anywhere.
    pub telemetry: Option<Telemetry>,
}

/// Sees every request and every call. Cloning is cheap and shares everything. The default one counts and says nothing.
#[derive(Clone)]
pub struct Observer(Arc<Shared>);

pub(crate) struct Shared {
    figures: Arc<Figures>,
    access: Option<AccessWriter>,
    telemetry: Option<Telemetry>,
    /// Set when there is a crib, whose way out the traces take.
    tracer: Arc<OnceLock<Tracer>>,
    records: OnceLock<RecordSubscription>,
    started: Instant,
    started_at: Timestamp,
}

impl std::fmt::Debug for Observer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Observer")
    }
}

impl Default for Observer {
    fn default() -> Self {
        Observer::new(ObserverOptions {
            access_log: AccessLog::Off,
            ..ObserverOptions::default()
        })
    }
}

impl Observer {
    /// An observer that logs and traces as configured.
    pub fn new(options: ObserverOptions) -> Self {
        let figures = Arc::new(Figures::default());
        Observer(Arc::new(Shared {
            access: AccessWriter::start(options.access_log, options.time, options.sink, &figures),
            figures,
            telemetry: options.telemetry,
            tracer: Arc::default(),
            records: OnceLock::new(),
            started: Instant::now(),
            started_at: Timestamp::now(),
        }))
    }

    /// Learns the routes, whose requests are counted apart, and begins to see the calls of a crib. An API does this; once is enough.
    pub(crate) fn attach(&self, crib: &Arc<Crib>, routes: &Routes) {
        self.0.figures.learn(routes);
        if let Some(access) = &self.0.access {
            access.mask(crib.secrets());
        }
        if let Some(telemetry) = &self.0.telemetry {
            let tracer = || Tracer::start(telemetry, crib.egress().clone(), &self.0.figures);
            self.0.tracer.get_or_init(tracer);
        }
        self.0.records.get_or_init(|| {
            let (figures, tracer) = (Arc::clone(&self.0.figures), Arc::clone(&self.0.tracer));
            crib.registry().on_record(move |record| {
                figures.call(record);
                if let Some(tracer) = tracer.get() {
                    tracer.call(record);
                }
            })
        });
    }

    /// A request begins.
    pub fn begin(&self, parts: &http::request::Parts, peer: &Peer, id: &RequestId) -> Watch {
        Watch::begin(&self.0, parts, peer, id)
    }

    /// A connection was accepted; it is open for as long as what this returns is kept.
    pub fn connection(&self) -> ConnectionOpen {
        ConnectionOpen::new(&self.0.figures)
    }

    /// A connection was closed to make room for another, or refused because there is none.
    pub fn evicted(&self) {
        self.0.figures.evicted();
    }

    /// A connection was closed because something took too long.
    pub fn timed_out(&self, what: Timeout) {
        self.0.figures.timed_out(what);
    }

    /// A stream of events ended because its reader was too slow.
    pub fn stream_dropped(&self) {
        self.0.figures.stream_dropped();
    }

    /// How many connections are open.
    pub fn connections_open(&self) -> u64 {
        self.0.figures.connections_open()
    }

    /// How many streams of events are open.
    pub fn streams_open(&self) -> u64 {
        self.0.figures.streams_open()
    }

    /// How many requests are being answered.
    pub fn in_flight(&self) -> u64 {
        self.0.figures.in_flight()
    }

    /// How long there has been this observer.
    pub fn uptime(&self) -> Duration {
        self.0.started.elapsed()
    }

    /// Since when there has been this observer.
    pub fn started_at(&self) -> Timestamp {
        self.0.started_at
    }

    /// Every figure in the text format of Prometheus.
    pub(crate) fn scrape(&self, gate: &GateNow, store: &StoreNow) -> String {
        scrape::write(&self.0, gate, store)
    }

    /// Writes and sends what is held, for at most this long. What comes afterwards is taken too, so that this may be called twice. It
    /// blocks: from async code by `spawn_blocking`.
    pub fn flush(&self, within: Duration) {
        let deadline = Instant::now() + within;
        if let Some(access) = &self.0.access {
            access.flush(deadline);
        }
        if let Some(tracer) = self.0.tracer.get() {
            tracer.flush(deadline);
        }
    }
}
