//! What clients hear of changes.

use serde_json::{Value, json};
use toolcrib_mcp::server::{Capabilities, ChangeNotice};

use crate::stage::{Client, EVERYTHING, call, modern};

const ID: &str = "io.modelcontextprotocol/subscriptionId";

#[tokio::test]
async fn a_legacy_session_hears_of_changes_once_it_is_ready() {
    let mut client = Client::new(EVERYTHING);
    client.server.changed(ChangeNotice::Tools);
    client
        .request(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}}))
        .await;
    client.server.changed(ChangeNotice::Tools);
    client
        .send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        .await;
    client.request(call(1, "echo", json!({}))).await;
    for (change, method) in [
        (ChangeNotice::Tools, "notifications/tools/list_changed"),
        (ChangeNotice::Prompts, "notifications/prompts/list_changed"),
        (
            ChangeNotice::Resources,
            "notifications/resources/list_changed",
        ),
    ] {
        client.server.changed(change);
        assert_eq!(
            client.next().await,
            json!({"jsonrpc": "2.0", "method": method})
        );
    }
}

#[tokio::test]
async fn followed_resources_only() {
    let mut client = Client::legacy(json!({})).await;
    let about = |method: &str, uri: &str| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"uri": uri}});
    client
        .request(about("resources/subscribe", "stage://a"))
        .await;
    client
        .server
        .changed(ChangeNotice::Resource("stage://b".to_owned()));
    client
        .server
        .changed(ChangeNotice::Resource("stage://a".to_owned()));
    assert_eq!(
        client.next().await,
        json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "stage://a"}})
    );
    client
        .request(about("resources/unsubscribe", "stage://a"))
        .await;
    client
        .server
        .changed(ChangeNotice::Resource("stage://a".to_owned()));
    assert_eq!(client.finish().await, Vec::<Value>::new());
}

#[tokio::test]
async fn what_the_host_refuses_is_not_followed() {
    let mut client = Client::legacy(json!({})).await;
    let subscribe = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": "stage://none"}});
    let refused = client.request(subscribe).await;
    assert!(refused["error"].is_object(), "{refused}");
    client
        .server
        .changed(ChangeNotice::Resource("stage://none".to_owned()));
    assert_eq!(client.finish().await, Vec::<Value>::new());
}

#[tokio::test]
async fn what_is_not_declared_is_not_reported() {
    let mut client = Client::new(Capabilities {
        tools: true,
        ..Capabilities::default()
    });
    client.initialize(json!({})).await;
    client.request(call(1, "echo", json!({}))).await;
    client
        .send(modern(
            2,
            "subscriptions/listen",
            json!({"notifications": {"toolsListChanged": true, "resourceSubscriptions": ["a:b"]}}),
        ))
        .await;
    assert_eq!(client.next().await["params"]["notifications"], json!({}));
    client.server.changed(ChangeNotice::Tools);
    client
        .server
        .changed(ChangeNotice::Resource("a:b".to_owned()));
    client.request(call(3, "echo", json!({}))).await;
}

#[tokio::test]
async fn a_subscription_is_acknowledged_then_informed_then_ended() {
    let mut client = Client::new(EVERYTHING);
    client
        .send(modern("s", "subscriptions/listen", json!({"notifications": {
            "toolsListChanged": true, "promptsListChanged": false, "resourceSubscriptions": ["stage://a"]}})))
        .await;
    assert_eq!(
        client.next().await,
        json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": {
            "_meta": {ID: "s"},
            "notifications": {"toolsListChanged": true, "resourceSubscriptions": ["stage://a"]}}})
    );
    client.server.changed(ChangeNotice::Prompts);
    client.server.changed(ChangeNotice::Resources);
    client.server.changed(ChangeNotice::Tools);
    assert_eq!(
        client.next().await,
        json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {"_meta": {ID: "s"}}})
    );
    client
        .server
        .changed(ChangeNotice::Resource("stage://a".to_owned()));
    assert_eq!(
        client.next().await,
        json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"_meta": {ID: "s"}, "uri": "stage://a"}})
    );
    client.server.close();
    let end = client.next().await;
    assert_eq!(end["id"], "s");
    assert_eq!(end["result"]["resultType"], "complete");
    assert_eq!(end["result"]["_meta"][ID], "s");
    assert_eq!(
        client.next().await,
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "s"}})
    );
}

#[tokio::test]
async fn a_subscription_taken_back_is_silent_and_others_go_on() {
    let mut client = Client::new(EVERYTHING);
    for id in [1, 2] {
        client
            .send(modern(
                id,
                "subscriptions/listen",
                json!({"notifications": {"toolsListChanged": true}}),
            ))
            .await;
        assert_eq!(client.next().await["params"]["_meta"][ID], id);
    }
    client
        .send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}))
        .await;
    client.request(modern(3, "tools/list", json!({}))).await;
    client.server.changed(ChangeNotice::Tools);
    assert_eq!(client.next().await["params"]["_meta"][ID], 2);
    // At the end of the input it ends as well.
    let rest = client.finish().await;
    assert_eq!(rest.len(), 2, "{rest:?}");
    assert_eq!(rest[0]["id"], 2);
    assert_eq!(rest[1]["method"], "notifications/cancelled");
}

#[tokio::test]
async fn a_bad_filter_is_an_error() {
    let mut client = Client::new(EVERYTHING);
    for params in [
        json!({}),
        json!({"notifications": []}),
        json!({"notifications": {"toolsListChanged": "yes"}}),
        json!({"notifications": {"resourceSubscriptions": "a:b"}}),
    ] {
        let answer = client
            .request(modern(1, "subscriptions/listen", params))
            .await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
}

#[tokio::test]
async fn changes_that_no_one_reads_are_reported_once() {
    let mut client = Client::new(EVERYTHING);
    client.initialize(json!({})).await;
    client.request(call(1, "echo", json!({}))).await;
    // Not one of these lets the server's task run.
    for _ in 0..10_000 {
        client.server.changed(ChangeNotice::Tools);
        client.server.changed(ChangeNotice::Prompts);
    }
    let rest = client.finish().await;
    let methods: Vec<_> = rest
        .iter()
        .map(|it| it["method"].as_str().unwrap())
        .collect();
    assert_eq!(
        methods,
        [
            "notifications/tools/list_changed",
            "notifications/prompts/list_changed"
        ]
    );
}
