//! Traces, as a collector gets them.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib::CallRequest;
use toolcrib_server::observe::{AccessLog, Observer, ObserverOptions, Telemetry};

use crate::collector::{Collector, Mood, attribute};
use crate::harness::Scene;
use crate::observe::greet;

fn observer(endpoint: &str) -> Observer {
    Observer::new(ObserverOptions {
        access_log: AccessLog::Off,
        telemetry: Some(Telemetry::new(endpoint, "the crib").unwrap()),
        ..ObserverOptions::default()
    })
}

fn scene(endpoint: &str) -> (Scene, Observer) {
    let observer = observer(endpoint);
    let scene = Scene::observed(|options| options, observer.clone());
    scene.crib.registry().register(greet()).unwrap();
    (scene, observer)
}

async fn flush(observer: &Observer, within: Duration) {
    let observer = observer.clone();
    tokio::task::spawn_blocking(move || observer.flush(within))
        .await
        .unwrap();
}

/// A request that makes one call.
async fn request_with_call(scene: &Scene, headers: &[(&'static str, &str)]) {
    let mut asking = scene.as_operator().header("x-request-id", "r-1");
    for (name, value) in headers {
        asking = asking.header(name, value);
    }
    let body = json!({"tool": "greet", "args": {"name": "hush"}});
    let (status, answer) = asking.post("/api/calls", body).await;
    assert!(status.is_success(), "{answer}");
}

fn span<'a>(spans: &'a [Value], name: &str) -> &'a Value {
    spans.iter().find(|span| span["name"] == name).unwrap()
}

#[tokio::test]
async fn a_call_is_a_span_within_its_request_which_is_within_the_clients() {
    let collector = Collector::start([]);
    let (scene, observer) = scene(&collector.endpoint());
    let given = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    request_with_call(&scene, &[("traceparent", given)]).await;
    flush(&observer, Duration::from_secs(10)).await;
    let spans = collector.spans(2);
    let (request, call) = (span(&spans, "POST /api/calls"), span(&spans, "call greet"));
    assert_eq!(request["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(request["parentSpanId"], "00f067aa0ba902b7");
    assert_eq!((&request["kind"], &call["kind"]), (&json!(2), &json!(1)));
    assert_eq!(call["traceId"], request["traceId"]);
    assert_eq!(call["parentSpanId"], request["spanId"]);
    for (key, value) in [
        ("http.request.method", "POST"),
        ("http.response.status_code", "200"),
        ("toolcrib.request.id", "r-1"),
        ("toolcrib.principal", "operator"),
    ] {
        assert_eq!(attribute(request, key).as_deref(), Some(value), "{key}");
    }
    for (key, value) in [("toolcrib.tool", "greet"), ("toolcrib.code", "OK")] {
        assert_eq!(attribute(call, key).as_deref(), Some(value), "{key}");
    }
    for key in [
        "toolcrib.call.id",
        "toolcrib.queue_ms",
        "toolcrib.execution_ms",
        "toolcrib.bundle",
    ] {
        assert!(attribute(call, key).is_some(), "{key}");
    }
    let service = &collector.requests(1)[0]["resourceSpans"][0]["resource"]["attributes"][0];
    assert_eq!(service["value"]["stringValue"], "the crib");
    let all = Value::from(collector.requests(1)).to_string();
    assert!(
        !all.contains("hush"),
        "neither a query nor an argument: {all}"
    );
}

/// A call by MCP, with the trace that the client names.
async fn call_by_mcp(scene: &Scene, header: Option<&str>, meta: Option<&str>) {
    let mut params = json!({"name": "greet", "arguments": {"name": "hush"}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }});
    if let Some(meta) = meta {
        params["_meta"]["traceparent"] = meta.into();
    }
    let mut asking = scene
        .as_client("app")
        .header("mcp-protocol-version", "2026-07-28");
    asking = asking
        .header("mcp-method", "tools/call")
        .header("mcp-name", "greet");
    asking = asking.header("accept", "application/json, text/event-stream");
    if let Some(header) = header {
        asking = asking.header("traceparent", header);
    }
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let (status, answer) = asking.post("/mcp", message).await;
    assert_eq!(status, 200, "{answer}");
}

#[tokio::test]
async fn a_call_by_mcp_is_a_span_within_its_request_and_both_are_within_the_clients() {
    let given = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for (header, meta) in [
        (None, None),
        (Some(given), None),
        (None, Some(given)),
        (Some(given), Some(given)),
    ] {
        let collector = Collector::start([]);
        let (scene, observer) = scene(&collector.endpoint());
        call_by_mcp(&scene, header, meta).await;
        flush(&observer, Duration::from_secs(10)).await;
        let spans = collector.spans(2);
        let (request, call) = (span(&spans, "POST /mcp"), span(&spans, "call greet"));
        assert_eq!(call["traceId"], request["traceId"], "{header:?} {meta:?}");
        assert_eq!(
            call["parentSpanId"], request["spanId"],
            "{header:?} {meta:?}"
        );
        if header.or(meta).is_some() {
            assert_eq!(request["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
            assert_eq!(request["parentSpanId"], "00f067aa0ba902b7");
        }
    }
}

#[tokio::test]
async fn a_call_whose_client_names_another_trace_than_its_request_is_part_of_that() {
    let header = "00-11111111111111111111111111111111-2222222222222222-01";
    let meta = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let collector = Collector::start([]);
    let (scene, observer) = scene(&collector.endpoint());
    call_by_mcp(&scene, Some(header), Some(meta)).await;
    flush(&observer, Duration::from_secs(10)).await;
    let spans = collector.spans(2);
    let (request, call) = (span(&spans, "POST /mcp"), span(&spans, "call greet"));
    assert_eq!(request["traceId"], "11111111111111111111111111111111");
    assert_eq!(call["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(call["parentSpanId"], "00f067aa0ba902b7");
}

#[tokio::test]
async fn a_call_in_the_background_and_one_that_is_watched_are_spans_within_their_requests() {
    let (later, stream) = (("prefer", "respond-async"), ("accept", "text/event-stream"));
    for way in [later, stream] {
        let collector = Collector::start([]);
        let (scene, observer) = scene(&collector.endpoint());
        request_with_call(&scene, &[way]).await;
        scene.crib.registry().idle().await;
        flush(&observer, Duration::from_secs(10)).await;
        let spans = collector.spans(2);
        let (request, call) = (span(&spans, "POST /api/calls"), span(&spans, "call greet"));
        assert_eq!(call["traceId"], request["traceId"], "{way:?}");
        assert_eq!(call["parentSpanId"], request["spanId"], "{way:?}");
    }
}

#[tokio::test]
async fn who_asks_about_a_call_that_is_to_come_does_not_get_it_into_its_trace() {
    let collector = Collector::start([]);
    let (scene, observer) = scene(&collector.endpoint());
    let asking = scene.as_operator();
    assert_eq!(asking.get("/api/calls/mine").await.0, 404);
    let body = json!({"tool": "greet", "args": {}, "callId": "mine"});
    assert_eq!(asking.post("/api/calls", body).await.0, 200);
    flush(&observer, Duration::from_secs(10)).await;
    let spans = collector.spans(3);
    let (request, call) = (span(&spans, "POST /api/calls"), span(&spans, "call greet"));
    assert_eq!(call["parentSpanId"], request["spanId"]);
}

#[tokio::test]
async fn who_began_the_trace_decides_whether_it_is_sent() {
    let collector = Collector::start([]);
    let (scene, observer) = scene(&collector.endpoint());
    let not_sampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
    request_with_call(&scene, &[("traceparent", not_sampled)]).await;
    request_with_call(&scene, &[("traceparent", "nonsense")]).await;
    flush(&observer, Duration::from_secs(10)).await;
    let spans = collector.spans(2);
    assert_eq!(spans.len(), 2, "{spans:?}");
    assert_ne!(spans[0]["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
}

#[tokio::test]
async fn a_refused_call_is_a_failed_span_with_its_code() {
    let collector = Collector::start([]);
    let (scene, observer) = scene(&collector.endpoint());
    scene
        .crib
        .registry()
        .execute(CallRequest::new("hush"))
        .await;
    flush(&observer, Duration::from_secs(10)).await;
    let spans = collector.spans(1);
    assert_eq!(spans[0]["status"]["code"], 2);
    assert_eq!(
        attribute(&spans[0], "toolcrib.code").unwrap(),
        "TOOL_NOT_FOUND"
    );
    assert_eq!(
        spans[0]["name"], "call unknown",
        "what was asked for is the caller's text"
    );
}

#[tokio::test]
async fn an_answer_says_which_trace_it_is_part_of() {
    let collector = Collector::start([]);
    let (scene, observer) = scene(&collector.endpoint());
    let response = scene
        .as_nobody()
        .raw(http::Method::GET, "/api/health", "", None)
        .await;
    let trace = response.headers()["traceresponse"]
        .to_str()
        .unwrap()
        .to_owned();
    flush(&observer, Duration::from_secs(10)).await;
    let span = &collector.spans(1)[0];
    let (trace_id, span_id) = (
        span["traceId"].as_str().unwrap(),
        span["spanId"].as_str().unwrap(),
    );
    assert_eq!(trace, format!("00-{trace_id}-{span_id}-01"));
}

#[tokio::test]
async fn a_collector_that_is_busy_is_asked_again() {
    let busy = Mood::Says("503 Service Unavailable\r\nretry-after: 0");
    let collector = Collector::start([busy, Mood::Says("429 Too Many Requests\r\nretry-after: 0")]);
    let (scene, observer) = scene(&collector.endpoint());
    request_with_call(&scene, &[]).await;
    let tries = collector.requests(3);
    assert!(tries.iter().all(|body| body == &tries[0]), "the same again");
    flush(&observer, Duration::from_secs(10)).await;
    let (_, metrics) = scene.as_operator().get("/api/metrics").await;
    let metrics = metrics.as_str().unwrap();
    assert!(
        metrics.contains("\ntoolcrib_spans_sent_total 2\n"),
        "{metrics}"
    );
    assert!(
        metrics.contains("\ntoolcrib_spans_dropped_total 0\n"),
        "{metrics}"
    );
    assert!(
        metrics.contains("\ntoolcrib_span_exports_failed_total 2\n"),
        "{metrics}"
    );
}

#[tokio::test]
async fn what_a_collector_refuses_is_dropped_and_counted() {
    let collector = Collector::start([Mood::Says("400 Bad Request")]);
    let (scene, observer) = scene(&collector.endpoint());
    request_with_call(&scene, &[]).await;
    flush(&observer, Duration::from_secs(10)).await;
    let (_, metrics) = scene.as_operator().get("/api/metrics").await;
    assert!(
        metrics
            .as_str()
            .unwrap()
            .contains("\ntoolcrib_spans_dropped_total 2\n")
    );
}

#[tokio::test]
async fn a_silent_or_dead_collector_holds_up_no_one_and_the_end_is_in_time() {
    let dead = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = format!("http://{}", dead.local_addr().unwrap());
    drop(dead);
    let silent = Collector::start([Mood::Silent; 100]);
    for endpoint in [nobody, silent.endpoint()] {
        let (scene, observer) = scene(&endpoint);
        let began = Instant::now();
        for _ in 0..50 {
            request_with_call(&scene, &[]).await;
        }
        assert!(began.elapsed() < Duration::from_secs(5));
        let began = Instant::now();
        flush(&observer, Duration::from_millis(300)).await;
        assert!(
            began.elapsed() < Duration::from_secs(2),
            "{:?}",
            began.elapsed()
        );
    }
}

#[test]
fn an_endpoint_is_the_address_of_a_collector() {
    for bad in [
        "",
        "localhost:4318",
        "ftp://collector.test",
        "http://u:p@collector.test",
        "http://collector.test?key=1",
    ] {
        assert!(Telemetry::new(bad, "crib").is_err(), "{bad}");
    }
    assert!(Telemetry::new("https://collector.test/otlp/", "crib").is_ok());
}
