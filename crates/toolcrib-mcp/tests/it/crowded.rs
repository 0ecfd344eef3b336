//! More requests than may run: some wait, some are refused, and the client is still heard.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use crate::stage::{Client, EVERYTHING, Stage, call, modern, options, until};

async fn with_places(places: usize) -> Client {
    let mut options = options();
    options.max_in_flight = places;
    let mut client = Client::with(Stage::new(EVERYTHING), options, 64 * 1024);
    client.initialize(json!({"elicitation": {}})).await;
    client
}

fn cancelled(id: impl Into<Value>) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id.into()}})
}

fn ping(id: i64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
}

#[tokio::test]
async fn more_than_may_run_at_once_waits_its_turn() {
    let mut client = with_places(4).await;
    for id in 1..=10 {
        client.send(call(id, "gate", json!({}))).await;
    }
    // Behind all of them, so that all of them were read.
    client.request(ping(11)).await;
    let stage = client.stage.clone();
    assert_eq!(stage.started.load(Ordering::SeqCst), 4);
    stage.gate.add_permits(1);
    client.next().await;
    until(|| stage.started.load(Ordering::SeqCst) == 5).await;
    stage.gate.add_permits(9);
    let mut ids = Vec::new();
    for _ in 0..9 {
        ids.push(client.next().await["id"].as_i64().unwrap());
    }
    ids.sort_unstable();
    assert_eq!(ids.last(), Some(&10));
}

#[tokio::test]
async fn what_runs_and_what_waits_can_be_taken_back_when_all_places_are_taken() {
    let mut client = with_places(2).await;
    for id in 1..=6 {
        client.send(call(id, "wait", json!({}))).await;
    }
    // Those that wait first: none of them ever begins.
    for id in (1..=6).rev() {
        client.send(cancelled(id)).await;
    }
    client.request(call(7, "echo", json!({}))).await;
    let stage = client.stage.clone();
    assert_eq!(stage.started.load(Ordering::SeqCst), 3);
    assert_eq!(stage.cancelled.load(Ordering::SeqCst), 2);
    assert_eq!(client.finish().await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_question_is_answered_when_all_places_are_taken() {
    let mut client = with_places(1).await;
    client.send(call(1, "ask", json!({}))).await;
    client.send(call(2, "echo", json!({"text": "later"}))).await;
    let question = client.next().await;
    assert_eq!(question["method"], "elicitation/create");
    client
        .send(json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}}))
        .await;
    let answer = client.next().await;
    assert_eq!(answer["id"], 1);
    assert_eq!(
        answer["result"]["content"][0]["text"],
        r#"{"action":"accept"}"#
    );
    assert_eq!(client.next().await["id"], 2);
}

#[tokio::test]
async fn an_id_that_waits_is_taken() {
    let mut client = with_places(1).await;
    client.send(call(1, "gate", json!({}))).await;
    client.send(call(2, "gate", json!({}))).await;
    let answer = client.request(call(2, "echo", json!({}))).await;
    assert_eq!(answer["error"]["code"], -32600);
    client.stage.gate.add_permits(2);
    assert_eq!(client.finish().await.len(), 2);
}

#[tokio::test]
async fn what_cannot_wait_is_refused_and_taking_back_makes_room() {
    let mut client = with_places(1).await;
    client.send(call(0, "gate", json!({}))).await;
    let text = "x".repeat(1024 * 1024);
    for id in 1..=4 {
        client.send(call(id, "echo", json!({"text": text}))).await;
    }
    let refused = client.request(call(5, "echo", json!({}))).await;
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("notifications/cancelled"), "{message}");
    for id in 1..=4 {
        client.send(cancelled(id)).await;
    }
    client.send(call(6, "echo", json!({}))).await;
    client.stage.gate.add_permits(1);
    let rest = client.finish().await;
    let ids: Vec<_> = rest.iter().map(|it| it["id"].as_i64()).collect();
    assert_eq!(ids, [Some(0), Some(6)], "{rest:?}");
}

#[tokio::test]
async fn stopping_answers_what_waits_without_beginning_it() {
    let mut options = options();
    options.max_in_flight = 1;
    let stopping = options.stopping.clone();
    let mut client = Client::with(Stage::new(EVERYTHING), options, 64 * 1024);
    client.initialize(json!({})).await;
    client.send(call(1, "wait", json!({}))).await;
    client.send(call(2, "echo", json!({}))).await;
    client.request(ping(3)).await;
    stopping.cancel();
    assert_eq!(client.next().await["id"], 1);
    let answer = client.next().await;
    assert_eq!(answer["id"], 2);
    assert!(answer["error"]["message"].is_string(), "{answer}");
    assert_eq!(client.next_line().await, None);
    assert_eq!(client.stage.started.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn subscriptions_have_their_own_bound_and_take_no_places() {
    let mut client = with_places(2).await;
    let listen = |id: i64| {
        let wanted = json!({"notifications": {"toolsListChanged": true}});
        modern(id, "subscriptions/listen", wanted)
    };
    for id in 1..=64 {
        client.send(listen(id)).await;
        let acknowledged = client.next().await;
        assert_eq!(
            acknowledged["method"],
            "notifications/subscriptions/acknowledged"
        );
    }
    let refused = client.request(listen(65)).await;
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("64 subscriptions"), "{message}");
    client.request(call(66, "echo", json!({}))).await;
    // One that is taken back makes room.
    client.send(cancelled(1)).await;
    client.request(ping(67)).await;
    client.send(listen(68)).await;
    let next = client.next().await;
    assert_eq!(next["method"], "notifications/subscriptions/acknowledged");
}

#[tokio::test]
async fn a_subscription_can_be_taken_back_by_the_very_next_line() {
    let mut client = with_places(2).await;
    let wanted = json!({"notifications": {"toolsListChanged": true}});
    let listen = modern(1, "subscriptions/listen", wanted);
    client
        .send_raw(format!("{listen}\n{}\n{}\n", cancelled(1), ping(2)).as_bytes())
        .await;
    let acknowledged = client.next().await;
    assert_eq!(
        acknowledged["method"],
        "notifications/subscriptions/acknowledged"
    );
    assert_eq!(client.next().await["id"], 2);
    assert_eq!(client.finish().await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_client_that_does_not_read_can_take_back_what_runs_and_reads_all_later() {
    let mut client = Client::with(Stage::new(EVERYTHING), options(), 4096);
    client.initialize(json!({})).await;
    client.send(call(0, "wait", json!({}))).await;
    let text = "x".repeat(1024 * 1024);
    // More than the pipe and what may stand unread: the last two wait for the client to read.
    for id in 1..=6 {
        client.send(call(id, "echo", json!({"text": text}))).await;
    }
    client.send(cancelled(0)).await;
    let stage = client.stage.clone();
    until(|| stage.cancelled.load(Ordering::SeqCst) == 1).await;
    assert!(stage.started.load(Ordering::SeqCst) < 7);
    for id in 1..=6 {
        assert_eq!(client.next().await["id"], id);
    }
    client.request(call(7, "echo", json!({}))).await;
}
