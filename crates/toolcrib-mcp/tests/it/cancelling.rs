//! Requests that are taken back.

use std::sync::atomic::Ordering;

use serde_json::json;

use crate::stage::{Client, EVERYTHING, call, modern, until};

#[tokio::test]
async fn a_request_taken_back_is_cancelled_and_not_answered() {
    let mut client = Client::legacy(json!({})).await;
    for id in [json!(1), json!("one")] {
        client.send(call(id.clone(), "wait", json!({}))).await;
        client
            .send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id, "reason": "bored"}}))
            .await;
        let answer = client
            .request(call(2, "echo", json!({"text": "next"})))
            .await;
        assert_eq!(answer["result"]["content"][0]["text"], "next");
    }
    client
        .send(modern(3, "tools/call", json!({"name": "wait"})))
        .await;
    client
        .send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}}))
        .await;
    let stage = client.stage.clone();
    until(|| stage.cancelled.load(Ordering::SeqCst) == 3).await;
    assert_eq!(client.finish().await, Vec::<serde_json::Value>::new());
}

#[tokio::test]
async fn an_id_can_be_used_again_after_it_was_taken_back_but_not_while_it_runs() {
    let mut client = Client::new(EVERYTHING);
    client.initialize(json!({})).await;
    client.send(call(1, "gate", json!({}))).await;
    let answer = client.request(call(1, "echo", json!({}))).await;
    assert_eq!(answer["error"]["code"], -32600);
    client.stage.gate.add_permits(1);
    assert_eq!(
        client.next().await["result"]["content"][0]["text"],
        "through"
    );
    let answer = client
        .request(call(1, "echo", json!({"text": "again"})))
        .await;
    assert_eq!(answer["result"]["content"][0]["text"], "again");
}

#[tokio::test]
async fn a_number_and_a_text_are_different_ids() {
    let mut client = Client::legacy(json!({})).await;
    client.send(call(1, "gate", json!({}))).await;
    client
        .send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "1"}}))
        .await;
    client.request(call("1", "echo", json!({}))).await;
    client.stage.gate.add_permits(1);
    assert_eq!(client.next().await["id"], 1);
}
