//! The access log and the metrics of a server.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::Method;
use http_body_util::BodyExt as _;
use serde_json::Value;
use toolcrib::secret::{Binding, SecretName};
use toolcrib::{CallRequest, FnTool, Secret};
use toolcrib_server::observe::{AccessLog, Observer, ObserverOptions, Sink};

use crate::harness::{OPERATOR, Scene};

/// What `greet` takes.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Whom {
    /// Whom to greet.
    #[expect(dead_code, reason = "no one is named in the answer")]
    name: Option<String>,
}

/// A tool that does next to nothing.
pub(crate) fn greet() -> FnTool {
    let greet = |_: Whom, _cx| async { Ok("hello") };
    FnTool::new("greet", "Greets a person", greet).unwrap()
}

/// Keeps what is written.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A scene with an access log, and what it says once everything is written.
fn logged(kind: AccessLog) -> (Scene, impl Fn() -> String) {
    let kept = Kept::default();
    let observer = Observer::new(ObserverOptions {
        access_log: kind,
        sink: Sink(Box::new(kept.clone())),
        telemetry: None,
        time: None,
    });
    let scene = Scene::observed(|options| options, observer.clone());
    let text = move || {
        observer.flush(Duration::from_secs(10));
        String::from_utf8(kept.0.lock().unwrap().clone()).unwrap()
    };
    (scene, text)
}

#[tokio::test]
async fn who_asks_for_what_is_not_there_is_named() {
    let (scene, log) = logged(AccessLog::Text);
    let client = scene.as_client("app");
    client.get("/nothing/here").await;
    client.delete("/tools").await;
    client.get("/tools//x").await;
    scene
        .with_token("not-a-token-of-this-server")
        .get("/nothing")
        .await;
    let text = log();
    let lines: Vec<&str> = text.lines().collect();
    for (line, (status, who)) in lines.iter().zip([
        ("404", "client:app@"),
        ("405", "client:app@"),
        ("400", "client:app@"),
        ("401", "nobody@"),
    ]) {
        assert!(line.contains(status) && line.contains(who), "{line}");
    }
    assert_eq!(lines.len(), 4);
}

#[tokio::test]
async fn every_request_is_a_line_without_its_query_and_without_its_token() {
    for kind in [AccessLog::Text, AccessLog::Json] {
        let (scene, log) = logged(kind);
        scene.as_operator().get("/api/metrics?q=hush").await;
        scene.as_nobody().get("/api/health").await;
        scene
            .with_token("hush-hush-hush")
            .get("/nothing/here")
            .await;
        let log = log();
        assert_eq!(log.lines().count(), 3, "{log}");
        assert!(!log.contains("hush") && !log.contains(OPERATOR), "{log}");
        for part in [
            "/api/metrics",
            "/api/health",
            "/nothing/here",
            "operator",
            "401",
        ] {
            assert!(log.contains(part), "{part} in {log}");
        }
    }
}

#[tokio::test]
async fn the_id_of_a_request_is_in_its_line_and_in_its_answer() {
    let (scene, log) = logged(AccessLog::Json);
    let asking = scene.as_nobody().header("x-request-id", "mine-1");
    let response = asking.raw(Method::GET, "/api/health", "", None).await;
    assert_eq!(response.headers()["x-request-id"], "mine-1");
    let size = response
        .into_body()
        .collect()
        .await
        .unwrap()
        .to_bytes()
        .len();
    let line: Value = serde_json::from_str(&log()).unwrap();
    assert_eq!(line["requestId"], "mine-1");
    assert_eq!(
        (line["status"].as_u64(), line["bytes"].as_u64()),
        (Some(200), Some(size as u64))
    );
    assert_eq!(
        (&line["route"], &line["peer"]),
        (&"health".into(), &"local".into())
    );
    assert_eq!(
        (&line["aborted"], &line["callId"]),
        (&false.into(), &Value::Null)
    );
}

#[tokio::test]
async fn the_id_of_a_call_is_in_the_lines_of_the_requests_that_make_it_and_ask_about_it() {
    let ways = [
        None,
        Some(("prefer", "respond-async")),
        Some(("accept", "text/event-stream")),
    ];
    for way in ways {
        let (scene, log) = logged(AccessLog::Json);
        scene.crib.registry().register(greet()).unwrap();
        let mut asking = scene.as_operator();
        if let Some((name, value)) = way {
            asking = asking.header(name, value);
        }
        let body = serde_json::json!({"tool": "greet", "args": {}});
        let (status, answer) = asking.post("/api/calls", body).await;
        assert!(status.is_success(), "{answer}");
        let log = log();
        let line: Value = serde_json::from_str(&log).unwrap();
        let id = line["callId"].as_str().unwrap_or_else(|| panic!("{log}"));
        assert!(answer.to_string().contains(id), "{id} in {answer}");
    }
    let (scene, log) = logged(AccessLog::Text);
    scene.as_operator().get("/api/calls/no-such").await;
    assert!(log().ends_with(" call no-such\n"), "{}", log());
}

#[tokio::test]
async fn a_secret_in_a_path_is_masked() {
    let (scene, log) = logged(AccessLog::Text);
    let name = SecretName::parse("KEY").unwrap();
    let value = Secret::new("correct-horse-battery");
    let binding = Binding::new(["api.example.com"], []).unwrap();
    scene.crib.secrets().set(&name, &value, &binding).unwrap();
    scene
        .as_operator()
        .get("/tools/correct-horse-battery")
        .await;
    let log = log();
    assert!(!log.contains("correct-horse"), "{log}");
}

#[tokio::test]
async fn calls_are_counted_by_tool_and_code_each_once() {
    let scene = Scene::new();
    let registry = scene.crib.registry();
    registry.register(greet()).unwrap();
    for tool in ["greet", "greet", "nobody \"knows\""] {
        registry.execute(CallRequest::new(tool)).await;
    }
    let (status, text) = scene.as_operator().get("/api/metrics").await;
    assert_eq!(status, 200);
    let text = text.as_str().unwrap();
    for line in [
        "toolcrib_calls_total{tool=\"greet\",code=\"OK\"} 2",
        "toolcrib_calls_total{tool=\"unknown\",code=\"TOOL_NOT_FOUND\"} 1",
        "toolcrib_call_duration_seconds_count 3",
    ] {
        assert!(text.lines().any(|other| other == line), "{line} in {text}");
    }
}

#[tokio::test]
async fn metrics_are_for_the_operator() {
    let scene = Scene::new();
    assert_eq!(scene.as_nobody().get("/api/metrics").await.0, 401);
    let response = scene
        .as_operator()
        .raw(Method::GET, "/api/metrics", "", None)
        .await;
    assert_eq!(
        response.headers()["content-type"],
        "text/plain; version=0.0.4; charset=utf-8"
    );
}

#[tokio::test]
async fn stats_add_up_the_record_and_say_how_the_server_is() {
    let scene = Scene::new();
    let registry = scene.crib.registry();
    registry.register(greet()).unwrap();
    for tool in ["greet", "greet", "nobody"] {
        registry.execute(CallRequest::new(tool)).await;
    }
    registry.flush();
    let operator = scene.as_operator();
    let (status, stats) = operator.get("/api/stats").await;
    assert_eq!(status, 200, "{stats}");
    assert_eq!(
        (&stats["total"]["calls"], &stats["total"]["ok"]),
        (&3.into(), &2.into())
    );
    assert_eq!(stats["other"]["codes"]["TOOL_NOT_FOUND"], 1);
    assert_eq!(stats["server"]["requests"], 1, "this one");
    let (_, one) = operator.get("/api/stats?tool=%2Bgreet").await;
    assert_eq!(
        (&one["total"]["calls"], &one["other"]),
        (&2.into(), &Value::Null)
    );
    let (_, none) = operator.get("/api/stats?since=2999-01-01T00:00:00Z").await;
    assert_eq!(
        (
            &none["total"]["calls"],
            none["tools"].as_array().unwrap().len()
        ),
        (&0.into(), 0)
    );
    for bad in ["since=24h", "since=", "until=2026-01-01T00:00:00Z"] {
        let (status, refusal) = operator.get(&format!("/api/stats?{bad}")).await;
        assert_eq!(
            (status.as_u16(), &refusal["error"]["code"]),
            (400, &"USAGE".into()),
            "{bad}"
        );
    }
    assert_eq!(scene.as_nobody().get("/api/stats").await.0, 401);
}
