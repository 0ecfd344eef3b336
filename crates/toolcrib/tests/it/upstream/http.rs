//! Servers that are somewhere else.

use super::*;
use toolcrib::testing::{Reply, ScriptedServer};

/// A legacy server that answers with JSON.
fn server() -> ScriptedServer {
    answering_with(|| None)
}

/// A server that answers calls with a status, if one is given.
fn answering_with(status: impl Fn() -> Option<u16> + Send + Sync + 'static) -> ScriptedServer {
    ScriptedServer::start(move |request| {
        let Ok(message) = serde_json::from_slice::<Value>(&request.body) else {
            return Reply::status(405);
        };
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => {
                json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "web", "version": "2"}})
            }
            "tools/list" => {
                json!({"tools": [{"name": "whoami", "description": "Says the key", "inputSchema": {"type": "object"}}]})
            }
            "tools/call" => {
                if let Some(status) = status() {
                    return Reply::status(status);
                }
                let key = request.header("x-key").unwrap_or("none").to_owned();
                json!({"content": [{"type": "text", "text": format!("key of {} characters", key.len())}]})
            }
            _ if message.get("id").is_none() => return Reply::status(202),
            _ => {
                let error = json!({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "unknown"}});
                return Reply::ok(error.to_string()).header("content-type", "application/json");
            }
        };
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        Reply::ok(answer.to_string()).header("content-type", "application/json")
    })
}

#[tokio::test]
async fn the_configured_address_is_its_own_permission_and_secrets_go_along() {
    use toolcrib::secret::{Binding, SecretName};
    let server = server();
    let scene = Scene::new();
    let name = SecretName::parse("KEY").unwrap();
    let value = toolcrib::Secret::new("SENTINEL-0815");
    scene
        .crib
        .secrets()
        .set(&name, &value, &Binding::default())
        .unwrap();
    scene
        .add(
            "web",
            json!({"url": server.url("/mcp"), "headers": {"X-Key": "secret:KEY"}}),
        )
        .await;
    let outcome = scene.call("whoami", json!({})).await;
    assert_eq!(
        outcome.value().unwrap(),
        "key of 13 characters",
        "{outcome:#?}"
    );
    let entry = scene.crib.registry().find("whoami").unwrap();
    assert_eq!(entry.spec().urls, [format!("http://{}", server.host())]);
    let view = scene.crib.upstream("web").unwrap().shown().to_string();
    assert!(!view.contains("SENTINEL"), "{view}");
}

#[tokio::test]
async fn one_that_refuses_is_there_and_one_that_is_unavailable_is_left_alone_for_a_while() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU16, Ordering};
    let status = Arc::new(AtomicU16::new(429));
    let now = Arc::clone(&status);
    let server = answering_with(move || Some(now.load(Ordering::SeqCst)).filter(|now| *now > 0));
    let scene = Scene::new();
    scene.add("web", json!({"url": server.url("/mcp")})).await;
    let said = |outcome: &Outcome| outcome.error().unwrap().message().to_owned();
    for code in [429, 429, 429, 429, 500, 500, 500, 500] {
        status.store(code, Ordering::SeqCst);
        let refused = said(&scene.call("whoami", json!({})).await);
        assert!(refused.contains(&format!("answered {code}")), "{refused}");
        assert_eq!(scene.crib.upstreams()[0].row().state, "connected");
    }
    status.store(503, Ordering::SeqCst);
    for _ in 0..3 {
        let refused = said(&scene.call("whoami", json!({})).await);
        assert!(refused.contains("answered 503"), "{refused}");
    }
    let open = said(&scene.call("whoami", json!({})).await);
    assert!(open.contains("failed 3 times in a row"), "{open}");
    status.store(0, Ordering::SeqCst);
    let deadline = Instant::now() + Duration::from_secs(10);
    while !scene.call("whoami", json!({})).await.is_ok() {
        assert!(Instant::now() < deadline, "it is not tried again");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_redirection_is_not_followed_but_reported() {
    let scene = Scene::new();
    let server = ScriptedServer::start(|_| Reply::redirect(307, "http://169.254.169.254/mcp"));
    let error = scene
        .crib
        .probe_candidate(&candidate("web", json!({"url": server.url("/mcp")})))
        .await
        .unwrap_err();
    assert!(error.message().contains("redirects to"), "{error}");
}
