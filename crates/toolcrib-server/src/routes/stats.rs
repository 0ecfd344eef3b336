//! Figures: `/api/stats` for people and programs, `/api/metrics` for Prometheus.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::{HeaderValue, Method, Response, header};
use toolcrib::approval::queue::Status;

use crate::api::{Answer, Api, Asked, Body, Refusal, Route, Who};
use crate::observe::{GateNow, StoreNow};

/// The type of Prometheus's text format.
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    vec![
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

fn metrics(api: Api, _: Asked) -> BoxFuture<'static, Answer> {
    async move {
        let text = blocking(move || {
            let fullness = api.0.gate.fullness();
            let gate = GateNow {
                running: fullness.taken as u64,
                waiting: fullness.waiting as u64,
            };
            api.0.observer.scrape(&gate, &store_now(&api))
        })
        .await?;
        let mut response = Response::new(Body::from(text.into_bytes()));
        let content = HeaderValue::from_static(PROMETHEUS);
        response.headers_mut().insert(header::CONTENT_TYPE, content);
        Ok(response)
    }
    .boxed()
}

/// Reads files elsewhere than where requests are answered.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refusal> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| Refusal::new(toolcrib::ErrorCode::Internal, "a bug in the server"))
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
