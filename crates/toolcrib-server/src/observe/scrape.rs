//! The figures as Prometheus reads them: its text format 0.0.4.
//!
//! Names begin with `toolcrib_`, units are seconds and bytes, counters end in `_total`. The test of this file reads the text back with its
//! own strict parser.

use std::fmt::Write as _;
use std::sync::atomic::Ordering::Relaxed;

use super::Shared;
use super::figures::{BOUNDS, CLASSES, DECISIONS, Histogram, TIMEOUTS};
use super::process;

/// The places for calls at this moment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct GateNow {
    /// Calls that have a place.
    pub(crate) running: u64,
    /// Calls that wait for one.
    pub(crate) waiting: u64,
}

/// The contents of the home at this moment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StoreNow {
    /// Bundles of the store.
    pub(crate) bundles: u64,
    /// Tools of all sources.
    pub(crate) tools: u64,
    /// Files of the store that cannot be read.
    pub(crate) damaged: u64,
    /// Questions that wait for a person; `None` if no one can say.
    pub(crate) approvals_pending: Option<u64>,
    /// Records of calls that were written, and that were lost.
    pub(crate) records_written: u64,
    pub(crate) records_dropped: u64,
}

/// The text under construction.
struct Text(String);

impl Text {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}");
        let _ = writeln!(self.0, "# TYPE {name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        self.0.push_str(name);
        for (at, (label, text)) in labels.iter().enumerate() {
            self.0.push(if at == 0 { '{' } else { ',' });
            let _ = write!(self.0, "{label}=\"{}\"", escaped(text));
        }
        if !labels.is_empty() {
            self.0.push('}');
        }
        let _ = writeln!(self.0, " {value}");
    }

    /// One number that has no labels.
    fn single(&mut self, name: &str, kind: &str, help: &str, value: impl std::fmt::Display) {
        self.head(name, kind, help);
        self.sample(name, &[], value);
    }

    fn histogram(&mut self, name: &str, labels: &[(&str, &str)], histogram: &Histogram) {
        let (cumulative, sum) = histogram.read();
        let bucket = format!("{name}_bucket");
        let bounds = BOUNDS.iter().map(f64::to_string);
        for (bound, count) in bounds.chain(["+Inf".to_owned()]).zip(cumulative) {
            let mut labels = labels.to_vec();
            labels.push(("le", &bound));
            self.sample(&bucket, &labels, count);
        }
        self.sample(&format!("{name}_sum"), labels, sum);
        self.sample(&format!("{name}_count"), labels, cumulative[BOUNDS.len()]);
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

/// Everything, as of now.
pub(super) fn write(shared: &Shared, gate: &GateNow, store: &StoreNow) -> String {
    let mut text = Text(String::with_capacity(16 * 1024));
    requests(&mut text, shared);
    connections(&mut text, shared);
    calls(&mut text, shared, gate);
    home(&mut text, shared, store);
    this_process(&mut text, shared);
    text.0
}

fn requests(text: &mut Text, shared: &Shared) {
    let figures = &shared.figures;
    let routes = figures.routes.get().map_or(&[][..], |routes| &routes.all);
    // Routes no one asked for yet are left out: a hundred of them with seventeen buckets each are a long answer about nothing.
    let asked = || {
        routes.iter().filter(|route| {
            let counts = route.by_class.iter().map(|count| count.load(Relaxed));
            counts.sum::<u64>() > 0
        })
    };
    let name = "toolcrib_http_requests_total";
    text.head(name, "counter", "Requests that were answered, by route and class of status; `aborted` is a client that went away.");
    for route in asked() {
        for (class, count) in CLASSES.iter().zip(&route.by_class) {
            let count = count.load(Relaxed);
            if count > 0 {
                let labels = [
                    ("route", route.path),
                    ("method", &*route.method),
                    ("status", class),
                ];
                text.sample(name, &labels, count);
            }
        }
    }
    let name = "toolcrib_http_request_duration_seconds";
    text.head(
        name,
        "histogram",
        "From the head of a request to the end of its answer.",
    );
    for route in asked() {
        text.histogram(
            name,
            &[("route", route.path), ("method", &route.method)],
            &route.took,
        );
    }
    text.single(
        "toolcrib_http_requests_in_flight",
        "gauge",
        "Requests that are being answered.",
        figures.in_flight(),
    );
}

fn connections(text: &mut Text, shared: &Shared) {
    let figures = &shared.figures;
    let total = |text: &mut Text, name, help, count: &std::sync::atomic::AtomicU64| {
        text.single(name, "counter", help, count.load(Relaxed));
    };
    text.single(
        "toolcrib_connections_open",
        "gauge",
        "Connections that are open.",
        figures.connections_open(),
    );
    total(
        text,
        "toolcrib_connections_accepted_total",
        "Connections that were accepted.",
        &figures.accepted,
    );
    total(
        text,
        "toolcrib_connections_evicted_total",
        "Connections that were closed or refused for want of room.",
        &figures.evicted,
    );
    let name = "toolcrib_connections_timed_out_total";
    text.head(
        name,
        "counter",
        "Connections that were closed because something took too long.",
    );
    for ((_, what), count) in TIMEOUTS.iter().zip(&figures.timed_out) {
        text.sample(name, &[("what", what)], count.load(Relaxed));
    }
    text.single(
        "toolcrib_streams_open",
        "gauge",
        "Streams of events that are open.",
        figures.streams_open(),
    );
    total(
        text,
        "toolcrib_streams_opened_total",
        "Streams of events that were opened.",
        &figures.streams_opened,
    );
    total(
        text,
        "toolcrib_streams_dropped_total",
        "Streams of events whose reader was too slow.",
        &figures.streams_dropped,
    );
}

fn calls(text: &mut Text, shared: &Shared, gate: &GateNow) {
    let figures = &shared.figures;
    let name = "toolcrib_calls_total";
    text.head(
        name,
        "counter",
        "Calls that are over, by tool and code; `OK` for those that went well.",
    );
    for (tool, counts) in figures.tools() {
        for (code, count) in counts.codes() {
            text.sample(name, &[("tool", &tool), ("code", code)], count);
        }
    }
    for (name, help, histogram) in [
        (
            "toolcrib_call_duration_seconds",
            "Calls from end to end.",
            &figures.call_took,
        ),
        (
            "toolcrib_call_queue_seconds",
            "What calls waited, for a person or for a free place.",
            &figures.call_waited,
        ),
    ] {
        text.head(name, "histogram", help);
        text.histogram(name, &[], histogram);
    }
    text.single(
        "toolcrib_gate_running",
        "gauge",
        "Calls over HTTP that have a place.",
        gate.running,
    );
    text.single(
        "toolcrib_gate_waiting",
        "gauge",
        "Calls over HTTP that wait for a place.",
        gate.waiting,
    );
    let name = "toolcrib_approvals_total";
    text.head(
        name,
        "counter",
        "Calls that needed approval, by what was decided.",
    );
    for (decision, count) in DECISIONS.iter().zip(&figures.decisions) {
        text.sample(name, &[("decision", decision)], count.load(Relaxed));
    }
}

fn home(text: &mut Text, shared: &Shared, store: &StoreNow) {
    if let Some(pending) = store.approvals_pending {
        text.single(
            "toolcrib_approvals_pending",
            "gauge",
            "Questions that wait for a person.",
            pending,
        );
    }
    text.single(
        "toolcrib_store_bundles",
        "gauge",
        "Bundles in the store.",
        store.bundles,
    );
    text.single(
        "toolcrib_store_tools",
        "gauge",
        "Tools of all sources.",
        store.tools,
    );
    text.single(
        "toolcrib_store_damaged",
        "gauge",
        "Files of the store that cannot be read.",
        store.damaged,
    );
    text.single(
        "toolcrib_call_log_written_total",
        "counter",
        "Records of calls that were written.",
        store.records_written,
    );
    text.single(
        "toolcrib_call_log_dropped_total",
        "counter",
        "Records of calls that were lost.",
        store.records_dropped,
    );
    let figures = &shared.figures;
    text.single(
        "toolcrib_access_log_dropped_total",
        "counter",
        "Lines of the access log that were lost.",
        figures.access_lines_dropped(),
    );
    for (name, help, count) in [
        (
            "toolcrib_spans_sent_total",
            "Spans that a collector took.",
            &figures.spans_sent,
        ),
        (
            "toolcrib_spans_dropped_total",
            "Spans that were lost.",
            &figures.spans_dropped,
        ),
        (
            "toolcrib_span_exports_failed_total",
            "Batches of spans that a collector did not take at once.",
            &figures.exports_failed,
        ),
    ] {
        text.single(name, "counter", help, count.load(Relaxed));
    }
}

fn this_process(text: &mut Text, shared: &Shared) {
    if let Some(bytes) = process::resident_bytes() {
        text.single(
            "process_resident_memory_bytes",
            "gauge",
            "Memory in use.",
            bytes,
        );
    }
    if let Some(files) = process::open_files() {
        text.single(
            "process_open_fds",
            "gauge",
            "Files and sockets that are open.",
            files,
        );
    }
    text.single(
        "process_start_time_seconds",
        "gauge",
        "When the server started, in seconds since 1970.",
        shared.started_at.as_millisecond() as f64 / 1000.0,
    );
    text.head(
        "toolcrib_build_info",
        "gauge",
        "The version of the server; always 1.",
    );
    text.sample(
        "toolcrib_build_info",
        &[("version", env!("CARGO_PKG_VERSION"))],
        1,
    );
}

#[cfg(test)]
#[path = "scrape_tests.rs"]
mod tests;
