//! Counters: [`Figures`], atomics that requests, connections and calls add to.
//!
//! Adding costs some tens of nanoseconds and takes no lock that a writer holds for longer than that. The number of series is bounded
//! whatever clients send: routes are those of the table, tools at most [`MAX_TOOLS`], codes and classes are fixed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use toolcrib::ErrorCode;
use toolcrib::record::CallRecord;

use super::watch::Ended;
use crate::routes::Routes;

/// How many tools are counted apart; calls of others are counted together.
pub(super) const MAX_TOOLS: usize = 200;

/// The name under which calls of all further tools are counted, and of those that were not found.
pub(super) const OTHER_TOOLS: &str = "other";
pub(super) const NO_TOOL: &str = "unknown";

/// The bounds of the histograms, in seconds: from a cached read to a call that waits for a person.
pub(super) const BOUNDS: [f64; 16] = [
    0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0,
    60.0, 300.0,
];

/// How often something took how long.
#[derive(Debug, Default)]
pub(super) struct Histogram {
    /// For each bound what is at most that and more than the one before; the last one is the rest.
    buckets: [AtomicU64; BOUNDS.len() + 1],
    nanos: AtomicU64,
}

impl Histogram {
    pub(super) fn add(&self, duration: Duration) {
        let seconds = duration.as_secs_f64();
        let at = BOUNDS.partition_point(|bound| *bound < seconds);
        self.buckets[at].fetch_add(1, Relaxed);
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.nanos.fetch_add(nanos, Relaxed);
    }

    /// How many there were up to each bound and in all, and their sum in seconds.
    pub(super) fn read(&self) -> ([u64; BOUNDS.len() + 1], f64) {
        let mut sum = 0;
        let cumulative = std::array::from_fn(|at| {
            sum += self.buckets[at].load(Relaxed);
            sum
        });
        (cumulative, self.nanos.load(Relaxed) as f64 / 1e9)
    }
}

/// The classes of statuses, and what is in for one when the client went away before there was any.
pub(super) const CLASSES: [&str; 6] = ["1xx", "2xx", "3xx", "4xx", "5xx", "aborted"];

/// The requests of one route.
#[derive(Debug)]
pub(super) struct RouteFigures {
    pub(super) method: String,
    pub(super) path: &'static str,
    pub(super) by_class: [AtomicU64; CLASSES.len()],
    pub(super) took: Histogram,
}

/// The routes that are known, and requests for none of them at the end.
#[derive(Debug)]
pub(super) struct RoutesFigures {
    places: HashMap<&'static str, usize>,
    pub(super) all: Vec<RouteFigures>,
}

/// The calls of one tool, by code; `OK` is the last.
#[derive(Debug)]
pub(super) struct ToolFigures {
    by_code: Vec<AtomicU64>,
}

impl ToolFigures {
    fn new() -> Self {
        let codes = ErrorCode::ALL.len() + 1;
        ToolFigures {
            by_code: (0..codes).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// The codes that came up, and how often.
    pub(super) fn codes(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let names = ErrorCode::ALL.iter().map(|code| code.as_str());
        names
            .chain(["OK"])
            .zip(&self.by_code)
            .map(|(name, count)| (name, count.load(Relaxed)))
            .filter(|(_, count)| *count > 0)
    }
}

/// What took too long for a connection to be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timeout {
    /// Agreeing on keys.
    Handshake,
    /// The head of a request.
    Header,
    /// Nothing was asked for.
    Idle,
    /// An answer was not taken.
    Write,
}

pub(super) const TIMEOUTS: [(Timeout, &str); 4] = [
    (Timeout::Handshake, "handshake"),
    (Timeout::Header, "header"),
    (Timeout::Idle, "idle"),
    (Timeout::Write, "write"),
];

/// How questions to people were answered.
pub(super) const DECISIONS: [&str; 4] = ["approved", "denied", "expired", "unavailable"];

/// A number that goes up and down.
#[derive(Debug, Default)]
pub(super) struct Gauge(AtomicU64);

impl Gauge {
    fn up(&self) {
        self.0.fetch_add(1, Relaxed);
    }
    fn down(&self) {
        self.0.fetch_sub(1, Relaxed);
    }
    pub(super) fn read(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Everything that is counted.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub(super) routes: OnceLock<RoutesFigures>,
    pub(super) in_flight: Gauge,
    pub(super) connections: Gauge,
    pub(super) accepted: AtomicU64,
    pub(super) evicted: AtomicU64,
    pub(super) timed_out: [AtomicU64; TIMEOUTS.len()],
    pub(super) streams: Gauge,
    pub(super) streams_opened: AtomicU64,
    pub(super) streams_dropped: AtomicU64,
    tools: RwLock<HashMap<String, Arc<ToolFigures>>>,
    pub(super) call_took: Histogram,
    pub(super) call_waited: Histogram,
    pub(super) decisions: [AtomicU64; DECISIONS.len()],
    access_dropped: AtomicU64,
    pub(super) spans_sent: AtomicU64,
    pub(super) spans_dropped: AtomicU64,
    pub(super) exports_failed: AtomicU64,
}

impl Figures {
    /// Counts the requests of these routes apart from now on.
    pub(super) fn learn(&self, routes: &Routes) {
        self.routes.get_or_init(|| {
            let figures = |method: String, path| RouteFigures {
                method,
                path,
                by_class: Default::default(),
                took: Histogram::default(),
            };
            let known = routes.iter().map(|route| (route.doc.id, route));
            let mut all: Vec<RouteFigures> = Vec::new();
            let mut places = HashMap::new();
            for (id, route) in known {
                places.insert(id, all.len());
                all.push(figures(route.method.to_string(), route.path));
            }
            all.push(figures("any".to_owned(), "none"));
            RoutesFigures { places, all }
        });
    }

    /// The place of a route.
    pub(super) fn route(&self, id: &str) -> Option<usize> {
        self.routes.get()?.places.get(id).copied()
    }

    /// The path of a route.
    pub(super) fn path_of(&self, place: usize) -> Option<&'static str> {
        Some(self.routes.get()?.all.get(place)?.path)
    }

    pub(super) fn began(&self) {
        self.in_flight.up();
    }

    pub(super) fn ended(
        &self,
        route: Option<usize>,
        status: Option<u16>,
        ended: Ended,
        took: Duration,
    ) {
        self.in_flight.down();
        let Some(routes) = self.routes.get() else {
            return;
        };
        let place = route.unwrap_or(routes.all.len() - 1);
        let Some(figures) = routes.all.get(place) else {
            return;
        };
        let class = match (status, ended) {
            (Some(status @ 100..=599), Ended::Whole) => usize::from(status / 100) - 1,
            _ => CLASSES.len() - 1,
        };
        figures.by_class[class].fetch_add(1, Relaxed);
        figures.took.add(took);
    }

    /// Counts a call that is over.
    pub(super) fn call(&self, record: &CallRecord) {
        let code = match record.code {
            None => ErrorCode::ALL.len(),
            Some(code) => ErrorCode::ALL
                .iter()
                .position(|known| *known == code)
                .unwrap_or(ErrorCode::ALL.len()),
        };
        // What was asked for and is not a tool is text of the caller's, and no label.
        let tool = match &record.bundle {
            Some(_) => record.tool.as_str(),
            None => NO_TOOL,
        };
        self.tool(tool).by_code[code].fetch_add(1, Relaxed);
        self.call_took.add(milliseconds(record.duration_ms));
        self.call_waited.add(milliseconds(record.queue_time_ms));
        let decision = match (&record.approval, record.code) {
            (_, Some(ErrorCode::ApprovalDenied)) => Some(1),
            (_, Some(ErrorCode::ApprovalExpired)) => Some(2),
            (_, Some(ErrorCode::ApprovalUnavailable)) => Some(3),
            (Some(trail), _) if trail.approved => Some(0),
            _ => None,
        };
        if let Some(decision) = decision {
            self.decisions[decision].fetch_add(1, Relaxed);
        }
    }

    fn tool(&self, name: &str) -> Arc<ToolFigures> {
        let known = self.tools.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(figures) = known.get(name) {
            return Arc::clone(figures);
        }
        drop(known);
        let mut known = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        let name = match known.len() < MAX_TOOLS || known.contains_key(name) {
            true => name,
            false => OTHER_TOOLS,
        };
        let figures = known
            .entry(name.to_owned())
            .or_insert_with(|| Arc::new(ToolFigures::new()));
        Arc::clone(figures)
    }

    /// The tools that were called, by name.
    pub(super) fn tools(&self) -> Vec<(String, Arc<ToolFigures>)> {
        let known = self.tools.read().unwrap_or_else(PoisonError::into_inner);
        let mut tools: Vec<_> = known
            .iter()
            .map(|(name, figures)| (name.clone(), Arc::clone(figures)))
            .collect();
        tools.sort_by(|(one, _), (other, _)| one.cmp(other));
        tools
    }

    pub(super) fn evicted(&self) {
        self.evicted.fetch_add(1, Relaxed);
    }

    pub(super) fn timed_out(&self, what: Timeout) {
        let place = TIMEOUTS.iter().position(|(known, _)| *known == what);
        if let Some(place) = place {
            self.timed_out[place].fetch_add(1, Relaxed);
        }
    }

    pub(super) fn stream_dropped(&self) {
        self.streams_dropped.fetch_add(1, Relaxed);
    }

    pub(super) fn connections_open(&self) -> u64 {
        self.connections.read()
    }

    pub(super) fn streams_open(&self) -> u64 {
        self.streams.read()
    }

    pub(super) fn in_flight(&self) -> u64 {
        self.in_flight.read()
    }

    pub(super) fn access_dropped(&self, lines: u64) {
        self.access_dropped.fetch_add(lines, Relaxed);
    }

    pub(super) fn spans_sent(&self, spans: u64) {
        self.spans_sent.fetch_add(spans, Relaxed);
    }

    pub(super) fn span_dropped(&self, spans: u64) {
        self.spans_dropped.fetch_add(spans, Relaxed);
    }

    pub(super) fn export_failed(&self) {
        self.exports_failed.fetch_add(1, Relaxed);
    }

    pub(super) fn access_lines_dropped(&self) -> u64 {
        self.access_dropped.load(Relaxed)
    }
}

fn milliseconds(ms: f64) -> Duration {
    Duration::try_from_secs_f64(ms / 1000.0).unwrap_or_default()
}

/// A connection that is open for as long as this is kept.
#[derive(Debug)]
pub struct ConnectionOpen(Arc<Figures>);

impl ConnectionOpen {
    pub(super) fn new(figures: &Arc<Figures>) -> Self {
        figures.accepted.fetch_add(1, Relaxed);
        figures.connections.up();
        ConnectionOpen(Arc::clone(figures))
    }
}

impl Drop for ConnectionOpen {
    fn drop(&mut self) {
        self.0.connections.down();
    }
}

/// A stream of events that is open for as long as this is kept.
#[derive(Debug)]
pub(super) struct StreamOpen(Arc<Figures>);

impl StreamOpen {
    pub(super) fn new(figures: &Arc<Figures>) -> Self {
        figures.streams_opened.fetch_add(1, Relaxed);
        figures.streams.up();
        StreamOpen(Arc::clone(figures))
    }
}

impl Drop for StreamOpen {
    fn drop(&mut self) {
        self.0.streams.down();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_counts_what_is_at_most_a_bound_beneath_it() {
        let histogram = Histogram::default();
        for micros in [250, 251, 1_000, 400_000_000] {
            histogram.add(Duration::from_micros(micros));
        }
        let (cumulative, sum) = histogram.read();
        assert_eq!(cumulative[..3], [1, 2, 3]);
        assert_eq!(cumulative[BOUNDS.len() - 1..], [3, 4]);
        assert!((sum - 400.001_501).abs() < 1e-9);
    }

    #[test]
    fn tools_beyond_the_bound_are_counted_together() {
        let figures = Figures::default();
        for number in 0..MAX_TOOLS + 50 {
            figures.tool(&format!("tool_{number}")).by_code[0].fetch_add(1, Relaxed);
        }
        figures.tool("tool_0").by_code[0].fetch_add(1, Relaxed);
        let tools = figures.tools();
        assert_eq!(tools.len(), MAX_TOOLS + 1);
        let count = |name: &str| {
            let found = tools.iter().find(|(tool, _)| tool == name).unwrap();
            found.1.codes().map(|(_, count)| count).sum::<u64>()
        };
        assert_eq!((count("tool_0"), count(OTHER_TOOLS)), (2, 50));
    }
}
