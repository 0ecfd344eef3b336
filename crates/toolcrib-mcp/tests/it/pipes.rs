//! The loop itself: ends, pressure, stopping.

use std::sync::atomic::Ordering;

use serde_json::json;

use crate::stage::{Client, EVERYTHING, Stage, call, modern, options, until};

#[tokio::test]
async fn no_answer_is_lost_at_the_end_of_the_input() {
    let mut client = Client::legacy(json!({})).await;
    for id in 1..=100 {
        client.send(call(id, "gate", json!({}))).await;
    }
    let last = call(101, "echo", json!({"text": "no end of the line"})).to_string();
    client.send_raw(last.as_bytes()).await;
    let stage = client.stage.clone();
    let opener = tokio::spawn(async move {
        until(|| stage.started.load(Ordering::SeqCst) == 101).await;
        stage.gate.add_permits(100);
    });
    let rest = client.finish().await;
    opener.await.unwrap();
    let mut ids: Vec<_> = rest.iter().map(|it| it["id"].as_i64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (1..=101).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_client_that_goes_ends_everything() {
    let mut client = Client::legacy(json!({})).await;
    client.send(call(1, "wait", json!({}))).await;
    client.send(call(2, "gate", json!({}))).await;
    let stage = client.stage.clone();
    until(|| stage.started.load(Ordering::SeqCst) == 2).await;
    stage.gate.add_permits(1);
    client.vanish().await.unwrap();
    // It could still put its things in order.
    assert_eq!(stage.cancelled.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn stopping_cancels_what_runs_and_answers_it() {
    let options = options();
    let stopping = options.stopping.clone();
    let mut client = Client::with(Stage::new(EVERYTHING), options, 1024);
    client.initialize(json!({})).await;
    client.send(call(1, "wait", json!({}))).await;
    let stage = client.stage.clone();
    until(|| stage.started.load(Ordering::SeqCst) == 1).await;
    stopping.cancel();
    let answer = client.next().await;
    assert_eq!(answer["result"]["content"][0]["text"], "cancelled");
    assert_eq!(client.next_line().await, None);
}

/// Sends until the server does not read any more; how often.
async fn sent_until_it_stands(line: impl Fn(usize) -> String, most: usize) -> usize {
    let mut client = Client::with(Stage::new(EVERYTHING), options(), 4096);
    client.initialize(json!({})).await;
    for sent in 0..most {
        let line = line(sent);
        let write = client.send_raw(line.as_bytes());
        let patience = std::time::Duration::from_millis(200);
        if tokio::time::timeout(patience, write).await.is_err() {
            return sent;
        }
    }
    most
}

#[tokio::test]
async fn a_client_that_does_not_read_is_not_read_from() {
    let text = "x".repeat(100_000);
    // A server that reads on and keeps the answers takes all of these.
    let echo = |id| format!("{}\n", call(id, "echo", json!({"text": text})));
    let sent = sent_until_it_stands(echo, 200).await;
    assert!((5..100).contains(&sent), "{sent} of 100 kB each");
    // A request that is answered at once is not parked.
    let long = "x".repeat(300_000);
    let ping = |_| {
        format!(
            "{}\n",
            json!({"jsonrpc": "2.0", "id": long, "method": "ping"})
        )
    };
    let sent = sent_until_it_stands(ping, 100).await;
    assert!((5..50).contains(&sent), "{sent} of 300 kB each");
}

#[tokio::test]
async fn a_result_of_many_lines_is_sent_on_one() {
    let mut client = Client::legacy(json!({})).await;
    let result = json!({"content": [], "structuredContent": {}});
    let answer = client.request(call(1, "lines", json!({}))).await;
    assert_eq!(answer["result"], result);
    let answer = client
        .request(modern(2, "tools/call", json!({"name": "lines"})))
        .await;
    assert_eq!(answer["result"]["structuredContent"], json!({}));
    client.request(call(3, "echo", json!({}))).await;
}

#[tokio::test]
async fn lines_in_pieces_and_many_in_one_piece_are_the_same() {
    let mut client = Client::legacy(json!({})).await;
    let lines: String = (1..=50)
        .map(|id| format!("{}\r\n", call(id, "echo", json!({"text": "é".repeat(id)}))))
        .collect();
    client.send_raw(lines.as_bytes()).await;
    for id in 1..=50 {
        assert_eq!(client.next().await["id"], id);
    }
    for piece in lines.as_bytes().chunks(7) {
        client.send_raw(piece).await;
        tokio::task::yield_now().await;
    }
    for id in 1..=50_usize {
        let answer = client.next().await;
        assert_eq!(answer["id"], id);
        assert_eq!(answer["result"]["content"][0]["text"], "é".repeat(id));
    }
}
