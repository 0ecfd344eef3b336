//! Up to 2025-11-25: the handshake, and what a session may ask.

use serde_json::{Value, json};
use toolcrib_mcp::server::Capabilities;

use crate::stage::{Client, EVERYTHING, call};

fn initialize(version: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": {
        "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}})
}

#[tokio::test]
async fn a_version_that_is_spoken_is_agreed_on_and_another_gets_the_newest() {
    for (wanted, agreed) in [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2024-11-05"),
        ("2024-11-05", "2024-11-05"),
        ("2026-07-28", "2025-11-25"),
        ("1.0", "2025-11-25"),
    ] {
        let mut client = Client::new(EVERYTHING);
        let answer = client.request(initialize(wanted)).await;
        assert_eq!(answer["result"]["protocolVersion"], agreed);
        assert_eq!(answer["result"]["serverInfo"]["name"], "stage");
        assert_eq!(answer["result"]["instructions"], "Break a leg.");
        assert_eq!(answer["result"].get("resultType"), None);
    }
}

#[tokio::test]
async fn nothing_but_ping_is_answered_before_initialize() {
    let mut client = Client::new(EVERYTHING);
    let pong = client
        .request(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}))
        .await;
    assert_eq!(pong["result"], json!({}));
    for method in [
        "tools/list",
        "server/discover",
        "resources/list",
        "nonsense",
    ] {
        let answer = client
            .request(json!({"jsonrpc": "2.0", "id": 2, "method": method}))
            .await;
        assert_eq!(answer["error"]["code"], -32602, "{method}: {answer}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains("initialize"), "{message}");
    }
    client.initialize(json!({})).await;
    let answer = client.request(call(3, "echo", json!({"text": "hi"}))).await;
    assert_eq!(answer["result"]["content"][0]["text"], "hi");
}

#[tokio::test]
async fn a_session_begins_once() {
    let mut client = Client::legacy(json!({})).await;
    let again = client.request(initialize("2025-06-18")).await;
    assert_eq!(again["error"]["code"], -32600);
    let answer = client.request(call(1, "who", json!({}))).await;
    assert_eq!(
        answer["result"]["content"][0]["text"],
        "mcp 2025-11-25 audience"
    );
}

#[tokio::test]
async fn what_initialize_leaves_out_is_an_error() {
    for params in [
        json!({}),
        json!({"protocolVersion": 1, "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}),
        json!({"protocolVersion": "2025-11-25", "clientInfo": {"name": "a", "version": "1"}}),
        json!({"protocolVersion": "2025-11-25", "capabilities": [], "clientInfo": {"name": "a", "version": "1"}}),
        json!({"protocolVersion": "2025-11-25", "capabilities": {}}),
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": 5}}),
        // It would be kept as long as the session.
        json!({"protocolVersion": "2025-11-25", "capabilities": {"experimental": vec![0; 20_000]}, "clientInfo": {"name": "a", "version": "1"}}),
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a".repeat(20_000), "version": "1"}}),
    ] {
        let mut client = Client::new(EVERYTHING);
        let answer = client
            .request(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}))
            .await;
        assert_eq!(answer["error"]["code"], -32602, "{params}");
        client.initialize(json!({})).await;
    }
}

#[tokio::test]
async fn what_the_host_does_not_declare_is_not_a_method() {
    let mut client = Client::new(Capabilities {
        tools: true,
        ..Capabilities::default()
    });
    client.initialize(json!({})).await;
    for method in [
        "prompts/list",
        "prompts/get",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "resources/subscribe",
        "resources/unsubscribe",
        "completion/complete",
        "logging/setLevel",
        "server/discover",
        "subscriptions/listen",
        "tasks/list",
        "tools",
        "",
    ] {
        let answer = client
            .request(json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"uri": "a:b", "name": "n", "level": "info"}}))
            .await;
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
    }
}

#[tokio::test]
async fn results_of_old_versions_have_nothing_of_the_new_one() {
    let mut client = Client::legacy(json!({})).await;
    for (method, params) in [
        ("tools/list", json!({})),
        ("tools/call", json!({"name": "echo"})),
        ("prompts/list", json!({})),
        ("prompts/get", json!({"name": "p", "arguments": {"a": "b"}})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "stage://a"})),
        ("resources/subscribe", json!({"uri": "stage://a"})),
        ("resources/unsubscribe", json!({"uri": "stage://a"})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": ""}}),
        ),
        ("logging/setLevel", json!({"level": "error"})),
        ("ping", json!({})),
    ] {
        let answer = client
            .request(json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
            .await;
        let result = answer["result"]
            .as_object()
            .unwrap_or_else(|| panic!("{answer}"));
        for member in ["resultType", "ttlMs", "cacheScope", "_meta"] {
            assert!(!result.contains_key(member), "{method}: {answer}");
        }
    }
    let none = client
        .request(json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "stage://none"}}))
        .await;
    assert_eq!(none["error"]["code"], -32002);
}

#[tokio::test]
async fn progress_rises_and_ends_with_the_answer() {
    let mut client = Client::legacy(json!({})).await;
    for token in [json!(7), json!("seven")] {
        let mut request = call("c", "steps", json!({}));
        request["params"]["_meta"] = json!({"progressToken": token});
        client.send(request).await;
        for expected in [1.0, 2.5, 3.0] {
            let news = client.next().await;
            assert_eq!(news["method"], "notifications/progress");
            assert_eq!(news["params"]["progressToken"], token);
            assert_eq!(news["params"]["progress"].as_f64(), Some(expected));
            assert_eq!(news["params"]["total"].as_f64(), Some(3.0));
            assert_eq!(news["params"]["message"], "step");
        }
        // `debug` is below what a session gets unless it asks.
        let news = client.next().await;
        assert_eq!(news["method"], "notifications/message");
        assert_eq!(
            news["params"],
            json!({"level": "warning", "logger": "stage", "data": {"odd": true}})
        );
        assert_eq!(client.next().await["id"], "c");
    }
    let mut request = call(2, "steps", json!({}));
    request["params"]["_meta"] = json!({"progressToken": 1.5});
    assert_eq!(client.request(request).await["error"]["code"], -32602);
}

#[tokio::test]
async fn the_level_of_the_log_is_the_sessions() {
    let mut client = Client::legacy(json!({})).await;
    let set = |level: &str| json!({"jsonrpc": "2.0", "id": 1, "method": "logging/setLevel", "params": {"level": level}});
    assert_eq!(client.request(set("debug")).await["result"], json!({}));
    client.send(call(2, "steps", json!({}))).await;
    assert_eq!(client.next().await["params"]["level"], "debug");
    assert_eq!(client.next().await["params"]["level"], "warning");
    assert_eq!(client.next().await["id"], 2);
    assert_eq!(client.request(set("error")).await["result"], json!({}));
    client.request(call(3, "steps", json!({}))).await;
    assert_eq!(client.request(set("loud")).await["error"]["code"], -32602);
}

#[tokio::test]
async fn a_flood_of_news_is_bounded_and_keeps_the_newest() {
    let mut client = Client::legacy(json!({})).await;
    let mut request = call(9, "flood", json!({}));
    request["params"]["_meta"] = json!({"progressToken": 1});
    client.send(request).await;
    let mut last = Value::Null;
    let mut count = 0;
    loop {
        let message = client.next().await;
        if message["id"] == 9 {
            break;
        }
        count += 1;
        last = message["params"]["progress"].clone();
    }
    assert_eq!(last, 99_999);
    assert!(count <= 256, "{count}");
}
