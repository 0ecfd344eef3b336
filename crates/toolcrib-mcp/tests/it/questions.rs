//! Questions to a legacy client.

use serde_json::json;

use crate::stage::{Client, call, modern};

#[tokio::test]
async fn a_client_that_offers_it_is_asked_and_its_answer_counts() {
    let mut client = Client::legacy(json!({"elicitation": {}})).await;
    client.send(call("c", "ask", json!({}))).await;
    let question = client.next().await;
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["message"], "sure?");
    // Answers to nothing, and with another type of id, are ignored.
    client
        .send(json!({"jsonrpc": "2.0", "id": 9999, "result": {"action": "accept"}}))
        .await;
    client
        .send(json!({"jsonrpc": "2.0", "id": question["id"].to_string(), "result": {"action": "accept"}}))
        .await;
    client
        .send(json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}))
        .await;
    let answer = client.next().await;
    assert_eq!(answer["id"], "c");
    assert_eq!(
        answer["result"]["content"][0]["text"],
        r#"{"action":"decline"}"#
    );
    // Said twice, it is ignored.
    client
        .send(json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}}))
        .await;
    client.request(call(2, "echo", json!({}))).await;
}

#[tokio::test]
async fn a_client_that_does_not_offer_it_is_not_asked() {
    for capabilities in [
        json!({}),
        json!({"elicitation": {"url": {}}}),
        json!({"sampling": {}}),
    ] {
        let mut client = Client::legacy(capabilities).await;
        let answer = client.request(call(1, "ask", json!({}))).await;
        assert_eq!(answer["result"]["content"][0]["text"], "NotOffered");
    }
    let mut client = Client::legacy(json!({"elicitation": {}})).await;
    let answer = client
        .request(modern(1, "tools/call", json!({"name": "ask"})))
        .await;
    assert_eq!(answer["result"]["content"][0]["text"], "NotOffered");
}

#[tokio::test]
async fn a_client_that_never_answers_is_informed_that_the_question_is_off() {
    let mut client = Client::legacy(json!({"elicitation": {}})).await;
    client.send(call(1, "ask", json!({}))).await;
    let question = client.next().await;
    let off = client.next().await;
    assert_eq!(off["method"], "notifications/cancelled");
    assert_eq!(off["params"]["requestId"], question["id"]);
    let answer = client.next().await;
    assert_eq!(answer["id"], 1);
    assert_eq!(answer["result"]["content"][0]["text"], "TimedOut");
}

#[tokio::test]
async fn an_error_is_an_answer_too() {
    let mut client = Client::legacy(json!({"elicitation": {"form": {}}})).await;
    client.send(call(1, "ask", json!({}))).await;
    let question = client.next().await;
    client
        .send(json!({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -32601, "message": "no"}}))
        .await;
    let answer = client.next().await;
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("Refused"), "{text}");
}

#[tokio::test]
async fn no_one_waits_for_a_client_whose_input_has_ended() {
    let mut client = Client::legacy(json!({"elicitation": {}})).await;
    client.send(call(1, "ask", json!({}))).await;
    client.next().await;
    let rest = client.finish().await;
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert_eq!(rest[0]["result"]["content"][0]["text"], "Gone");
}

#[tokio::test]
async fn a_call_that_is_taken_back_takes_its_question_back() {
    let mut client = Client::legacy(json!({"elicitation": {}})).await;
    client.send(call(1, "ask", json!({}))).await;
    let question = client.next().await;
    client
        .send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}))
        .await;
    let off = client.next().await;
    assert_eq!(off["method"], "notifications/cancelled");
    assert_eq!(off["params"]["requestId"], question["id"]);
    client.request(call(2, "echo", json!({}))).await;
}
