//! Figures: `/api/stats` for people and programs, `/api/metrics` for Prometheus.

use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::{HeaderValue, Method, Response, StatusCode, header};
use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use toolcrib::approval::queue::Status;
use toolcrib::crib::{Hours, Stats};
use toolcrib::{Crib, ToolError};

use super::blocking;
use crate::api::{Answer, Api, ApiRequest, Body, Refusal, Route, Who, json_response, param};
use crate::observe::{GateNow, StoreNow};

/// The type of Prometheus's text format.
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(Method::GET, "/api/stats", Who::Operator, stats)
            .named("stats", "server", "What the record of calls adds up to, and how the server is.")
            .about("Calls of every process of this home are in it, as far back as the record goes.")
            .param(param::query(
                "since",
                "Only calls that arrived at this time or later: `2026-01-31T12:00:00Z`.",
                time,
            ))
            .param(param::query_text(
                "tool",
                "Only the figures of this tool, by any of its names; the totals are its own, then.",
            ))
            .answers::<Figures>(200, "The figures."),
        Route::new(Method::GET, "/api/stats/hours", Who::Operator, hours)
            .named("hours", "server", "What the record of calls adds up to, hour by hour.")
            .about("For charts: a week back at most. An hour in which nothing happened is left out.")
            .param(param::query(
                "since",
                "Only calls that arrived at this time or later: `2026-01-31T12:00:00Z`; a day back if it is left out.",
                time,
            ))
            .answers::<Hours>(200, "The hours, oldest first."),
        Route::new(Method::GET, "/api/metrics", Who::Operator, metrics)
            .named(
                "metrics",
                "server",
                "Figures of this server in the text format of Prometheus.",
            )
            .about(
                "Counters and histograms count since the server started. At most 200 tools are counted apart, the others together as \
                 `other`.",
            )
            .answers_with(200, "The figures.", PROMETHEUS),
    ]
}

/// What the record adds up to, and how the server is.
#[derive(Debug, Serialize, JsonSchema)]
struct Figures {
    #[serde(flatten)]
    stats: Stats,
    /// The server that answers.
    server: ServerNow,
}

/// How a server is.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ServerNow {
    /// The version of Toolcrib.
    version: &'static str,
    /// When it started.
    #[schemars(with = "String")]
    started_at: Timestamp,
    /// How long it has been there, in milliseconds.
    uptime_ms: u64,
    /// Calls that run or wait, of all callers.
    running_calls: u64,
    /// Calls over HTTP that wait for a free place.
    waiting_calls: u64,
    /// Requests that are being answered.
    requests: u64,
    /// Connections that are open.
    connections: u64,
    /// Streams of events that are open.
    streams: u64,
}

fn time(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "format": "date-time"})
}

fn stats(api: Api, asked: ApiRequest) -> BoxFuture<'static, Answer> {
    async move {
        let since = asked.query.text("since").map(str::parse::<Timestamp>);
        let since = since
            .transpose()
            .map_err(|_| Refusal::usage("`since` is a time like `2026-01-31T12:00:00Z`"))?;
        let tool = asked.query.text("tool").map(str::to_owned);
        let server = server_now(&api);
        let stats = blocking(move || {
            let stats = api.crib().stats(since)?;
            Ok(match tool {
                Some(tool) => stats.only(&name_of(api.crib(), &tool)),
                None => stats,
            })
        })
        .await;
        let stats = stats.map_err(|error: ToolError| Refusal::from(error))?;
        Ok(json_response(StatusCode::OK, &Figures { stats, server }))
    }
    .boxed()
}

fn hours(api: Api, asked: ApiRequest) -> BoxFuture<'static, Answer> {
    async move {
        let since = asked.query.text("since").map(str::parse::<Timestamp>);
        let since = since
            .transpose()
            .map_err(|_| Refusal::usage("`since` is a time like `2026-01-31T12:00:00Z`"))?;
        let since = since.unwrap_or_else(|| Timestamp::now() - Duration::from_secs(24 * 3600));
        let hours = blocking(move || api.crib().hours(since)).await;
        let hours = hours.map_err(|error: ToolError| Refusal::from(error))?;
        Ok(json_response(StatusCode::OK, &hours))
    }
    .boxed()
}

/// Any spelling of a tool that is there; else the name as typed, for tools that are gone.
fn name_of(crib: &Crib, name: &str) -> String {
    let found = crib.registry().find(name);
    found.map_or_else(|_| name.to_owned(), |entry| entry.spec().name.to_string())
}

fn server_now(api: &Api) -> ServerNow {
    let observer = api.observer();
    ServerNow {
        version: env!("CARGO_PKG_VERSION"),
        started_at: observer.started_at(),
        uptime_ms: u64::try_from(observer.uptime().as_millis()).unwrap_or(u64::MAX),
        running_calls: api.crib().registry().running().len() as u64,
        waiting_calls: api.0.gate.fullness().waiting as u64,
        requests: observer.in_flight(),
        connections: observer.connections_open(),
        streams: observer.streams_open(),
    }
}

fn metrics(api: Api, _: ApiRequest) -> BoxFuture<'static, Answer> {
    async move {
        let text = blocking(move || {
            let fullness = api.0.gate.fullness();
            let gate = GateNow {
                running: fullness.taken as u64,
                waiting: fullness.waiting as u64,
            };
            api.0.observer.scrape(&gate, &store_now(&api))
        })
        .await;
        let mut response = Response::new(Body::from(text.into_bytes()));
        let content = HeaderValue::from_static(PROMETHEUS);
        response.headers_mut().insert(header::CONTENT_TYPE, content);
        Ok(response)
    }
    .boxed()
}

fn store_now(api: &Api) -> StoreNow {
    let crib = api.crib();
    // First, so that the store is looked at before it is asked.
    let tools = crib.registry().entries().len() as u64;
    let log = crib.call_log_health();
    let pending = crib.approvals().list(Some(Status::Pending));
    let bundles = crib.store().bundles();
    let there = bundles
        .iter()
        .filter(|bundle| bundle.bundle.soft_deleted_at.is_none());
    StoreNow {
        bundles: there.count() as u64,
        tools,
        damaged: crib.store().damage().len() as u64,
        approvals_pending: pending.ok().map(|listing| listing.requests.len() as u64),
        records_written: log.written,
        records_dropped: log.dropped,
    }
}
