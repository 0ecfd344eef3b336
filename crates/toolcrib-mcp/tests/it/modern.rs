//! Since 2026-07-28: every request stands for itself.

use serde_json::{Value, json};
use toolcrib_mcp::server::Capabilities;

use crate::stage::{Client, EVERYTHING, call, meta, modern};

#[tokio::test]
async fn a_request_needs_no_beginning() {
    let mut client = Client::new(EVERYTHING);
    let answer = client
        .request(modern(1, "tools/call", json!({"name": "who"})))
        .await;
    assert_eq!(
        answer["result"],
        json!({
            "resultType": "complete",
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "stage", "version": "1.0"}},
            "content": [{"type": "text", "text": "mcp 2026-07-28 audience"}],
        })
    );
}

#[tokio::test]
async fn lists_and_resources_say_how_long_they_are_true() {
    let mut client = Client::new(EVERYTHING);
    for (method, params, ttl, scope) in [
        ("tools/list", json!({}), 60_000, "public"),
        ("prompts/list", json!({}), 0, "private"),
        ("resources/list", json!({}), 0, "private"),
        ("resources/templates/list", json!({}), 0, "private"),
        ("resources/read", json!({"uri": "stage://a"}), 0, "private"),
    ] {
        let answer = client.request(modern(1, method, params)).await;
        let result = &answer["result"];
        assert_eq!(result["ttlMs"], ttl, "{answer}");
        assert_eq!(result["cacheScope"], scope);
        assert_eq!(result["resultType"], "complete");
    }
    for (method, params) in [
        ("tools/call", json!({"name": "echo"})),
        ("prompts/get", json!({"name": "p"})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": ""}}),
        ),
    ] {
        let answer = client.request(modern(1, method, params)).await;
        let result = answer["result"].as_object().unwrap();
        assert!(!result.contains_key("ttlMs") && !result.contains_key("cacheScope"));
        assert_eq!(result["resultType"], "complete");
    }
}

#[tokio::test]
async fn discovery_says_versions_and_only_what_is_declared() {
    let mut client = Client::new(Capabilities {
        tools: true,
        tools_changed: true,
        ..Capabilities::default()
    });
    let answer = client
        .request(modern("d", "server/discover", json!({})))
        .await;
    let result = &answer["result"];
    assert_eq!(
        result["capabilities"],
        json!({"tools": {"listChanged": true}})
    );
    assert_eq!(
        result["supportedVersions"],
        json!(["2026-07-28", "2025-11-25", "2025-06-18", "2024-11-05"])
    );
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["instructions"], "Break a leg.");
    assert!(result["ttlMs"].is_u64());
    assert_eq!(result["cacheScope"], "public");
    assert_eq!(
        result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "stage"
    );
}

#[tokio::test]
async fn another_version_is_refused_with_those_that_are_spoken() {
    let mut client = Client::new(EVERYTHING);
    for version in ["v999", "2025-11-25", ""] {
        let mut meta = meta();
        meta["io.modelcontextprotocol/protocolVersion"] = json!(version);
        let answer = client
            .request(modern(1, "tools/list", json!({"_meta": meta})))
            .await;
        assert_eq!(answer["error"]["code"], -32022);
        assert_eq!(answer["error"]["data"]["requested"], version);
        let supported = answer["error"]["data"]["supported"].as_array().unwrap();
        assert_eq!(supported[0], "2026-07-28");
        // Its servers must take batches, which this one does not.
        assert!(!supported.contains(&json!("2025-03-26")), "{supported:?}");
    }
}

#[tokio::test]
async fn what_meta_leaves_out_is_an_error() {
    let mut client = Client::new(EVERYTHING);
    let broken: [(&str, Value); 8] = [
        ("io.modelcontextprotocol/protocolVersion", Value::Null),
        ("io.modelcontextprotocol/protocolVersion", json!(7)),
        ("io.modelcontextprotocol/clientCapabilities", json!([])),
        (
            "io.modelcontextprotocol/clientCapabilities",
            json!({"elicitation": 5}),
        ),
        ("io.modelcontextprotocol/clientInfo", json!("me")),
        (
            "io.modelcontextprotocol/clientCapabilities",
            json!({"experimental": vec![0; 20_000]}),
        ),
        ("io.modelcontextprotocol/logLevel", json!("loud")),
        ("progressToken", json!({})),
    ];
    for (key, value) in broken {
        let mut meta = meta();
        meta[key] = value;
        let answer = client
            .request(modern(
                1,
                "tools/call",
                json!({"name": "echo", "_meta": meta}),
            ))
            .await;
        assert_eq!(answer["error"]["code"], -32602, "{key}: {answer}");
    }
    for key in [
        "io.modelcontextprotocol/protocolVersion",
        "io.modelcontextprotocol/clientCapabilities",
    ] {
        let mut meta = meta();
        meta.as_object_mut().unwrap().remove(key);
        let answer = client
            .request(modern(1, "tools/list", json!({"_meta": meta})))
            .await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(key));
    }
    let mut nameless = meta();
    nameless
        .as_object_mut()
        .unwrap()
        .remove("io.modelcontextprotocol/clientInfo");
    let answer = client
        .request(modern(1, "tools/list", json!({"_meta": nameless})))
        .await;
    assert!(answer.get("result").is_some(), "{answer}");
}

#[tokio::test]
async fn methods_of_the_old_era_are_none_of_the_new_one() {
    let mut client = Client::new(EVERYTHING);
    for method in [
        "initialize",
        "ping",
        "resources/subscribe",
        "resources/unsubscribe",
        "logging/setLevel",
    ] {
        let answer = client
            .request(modern(1, method, json!({"uri": "a:b", "level": "info"})))
            .await;
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
    }
}

#[tokio::test]
async fn both_eras_share_one_pair_of_pipes() {
    let mut client = Client::legacy(json!({})).await;
    let old = client.request(call(1, "who", json!({}))).await;
    assert_eq!(
        old["result"]["content"][0]["text"],
        "mcp 2025-11-25 audience"
    );
    let new = client
        .request(modern(2, "tools/call", json!({"name": "who"})))
        .await;
    assert_eq!(
        new["result"]["content"][0]["text"],
        "mcp 2026-07-28 audience"
    );
    // The version of the session, said once more.
    let mut again = call(3, "who", json!({}));
    again["params"]["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2025-11-25"});
    let again = client.request(again).await;
    assert_eq!(
        again["result"]["content"][0]["text"],
        "mcp 2025-11-25 audience"
    );
}

#[tokio::test]
async fn input_is_asked_for_and_given_with_the_request_made_again() {
    let mut client = Client::new(EVERYTHING);
    let asked = client
        .request(modern(1, "tools/call", json!({"name": "confirm"})))
        .await;
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required");
    assert_eq!(
        result["inputRequests"]["sure"]["method"],
        "elicitation/create"
    );
    assert_eq!(result["requestState"], "sealed");
    let given = client
        .request(modern(2, "tools/call", json!({
            "name": "confirm", "inputResponses": {"sure": {"action": "accept"}}, "requestState": "sealed"})))
        .await;
    assert_eq!(
        given["result"]["content"][0]["text"],
        r#"{"sure":{"action":"accept"}} Some("sealed")"#
    );
}

#[tokio::test]
async fn a_client_that_cannot_be_asked_is_informed_what_it_lacks() {
    let mut client = Client::new(EVERYTHING);
    let mut meta = meta();
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {"url": {}}});
    let answer = client
        .request(modern(
            1,
            "tools/call",
            json!({"name": "confirm", "_meta": meta}),
        ))
        .await;
    assert_eq!(answer["error"]["code"], -32021);
    assert_eq!(
        answer["error"]["data"]["requiredCapabilities"],
        json!({"elicitation": {"form": {}}})
    );
    // Before, a host has other means; one that confuses them has a bug.
    client.initialize(json!({"elicitation": {}})).await;
    let answer = client.request(call(2, "confirm", json!({}))).await;
    assert_eq!(answer["error"]["code"], -32603);
}

#[tokio::test]
async fn the_hosts_meta_and_the_servers_are_one() {
    let mut client = Client::new(EVERYTHING);
    let answer = client
        .request(modern(1, "tools/call", json!({"name": "meta"})))
        .await;
    assert_eq!(
        answer["result"]["_meta"],
        json!({"io.modelcontextprotocol/serverInfo": {"name": "stage", "version": "1.0"}, "own": 1})
    );
}

#[tokio::test]
async fn messages_of_the_log_come_only_with_a_level() {
    let mut client = Client::new(EVERYTHING);
    client
        .request(modern(1, "tools/call", json!({"name": "steps"})))
        .await;
    let mut meta = meta();
    meta["io.modelcontextprotocol/logLevel"] = json!("debug");
    client
        .send(modern(
            2,
            "tools/call",
            json!({"name": "steps", "_meta": meta}),
        ))
        .await;
    assert_eq!(client.next().await["params"]["level"], "debug");
    assert_eq!(client.next().await["params"]["level"], "warning");
    assert_eq!(client.next().await["id"], 2);
}

#[tokio::test]
async fn a_resource_no_one_knows_has_the_new_code() {
    let mut client = Client::new(EVERYTHING);
    let answer = client
        .request(modern(1, "resources/read", json!({"uri": "stage://none"})))
        .await;
    assert_eq!(answer["error"]["code"], -32602);
}
