//! While a call runs: progress, taking it back, and the end.

use super::*;

/// How many processes were started with a command line that has this in it.
fn alive(mark: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap();
    processes
        .filter_map(|entry| std::fs::read(entry.ok()?.path().join("cmdline")).ok())
        .filter(|line| String::from_utf8_lossy(line).contains(mark))
        .count()
}

#[tokio::test]
async fn taking_a_request_back_ends_its_whole_tree_of_processes() {
    let stage = Stage::new();
    let mut client = stage.legacy(json!({})).await;
    let mark = format!("60.{}1", std::process::id());
    let command = format!("sleep {mark} & (sleep {mark} & wait) & wait");
    let id = client.begin("shell", json!({"command": command})).await;
    stage.until("sleeping", || alive(&mark) >= 3).await;
    let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id, "reason": "enough"}});
    client.send(cancelled).await;
    stage.until("ended", || alive(&mark) == 0).await;
    assert_eq!(
        text(&client.call("echo", json!({"name": "on"})).await),
        "on"
    );
}

#[tokio::test]
async fn a_future_that_is_dropped_ends_its_whole_tree_of_processes() {
    let stage = Stage::new();
    let mark = format!("60.{}2", std::process::id());
    let command = format!("sleep {mark} & sleep {mark} & wait");
    let arguments = serde_json::value::to_raw_value(&json!({"command": command})).unwrap();
    let ask = Ask::CallTool {
        name: "shell".to_owned(),
        arguments: Some(arguments),
        input: None,
    };
    let context = Context::detached(toolcrib_mcp::protocol::Era::Modern, "mcp");
    let call = tokio::spawn(Arc::clone(&stage.host).answer(ask, context));
    stage.until("sleeping", || alive(&mark) >= 2).await;
    call.abort();
    stage.until("ended", || alive(&mark) == 0).await;
}

#[tokio::test]
async fn progress_is_reported_to_the_client_that_wants_it_and_to_no_one_else() {
    let stage = Stage::new();
    let mut client = stage.legacy(json!({})).await;
    let lines = "for n in 1 2 3; do echo line $n; sleep 0.15; done";
    let params =
        json!({"name": "shell", "arguments": {"command": lines}, "_meta": {"progressToken": "p"}});
    let id = client.request("tools/call", params).await;
    client.answer_to(id).await;
    let told: Vec<Value> = client
        .aside
        .drain(..)
        .map(|note| note["params"].clone())
        .collect();
    assert!(told.len() >= 2, "{told:?}");
    assert!(told.iter().all(|note| note["progressToken"] == "p"));
    let numbers: Vec<f64> = told
        .iter()
        .filter_map(|note| note["progress"].as_f64())
        .collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    assert_eq!(told.last().unwrap()["message"], "line 3");
    client.call("shell", json!({"command": "echo quiet"})).await;
    assert!(client.is_quiet().await);
}

#[tokio::test]
async fn a_tool_that_chatters_does_not_flood_its_client() {
    let stage = Stage::new();
    let mut client = stage.modern(json!({}));
    let lines = "for n in $(seq 1 3000); do echo line $n; done";
    let params =
        json!({"name": "shell", "arguments": {"command": lines}, "_meta": {"progressToken": 7}});
    let id = client.request("tools/call", params).await;
    let since = std::time::Instant::now();
    client.answer_to(id).await;
    let most = 3 + since.elapsed().as_millis() / 100;
    let told = client.aside.len();
    assert!((told as u128) <= most, "{told} notes, {most} at most");
    assert_eq!(
        client.aside.back().unwrap()["params"]["message"],
        "line 3000"
    );
}

#[tokio::test]
async fn a_call_that_waits_for_a_person_says_so() {
    let stage = Stage::patient();
    let mut client = stage.legacy(json!({})).await;
    let params =
        json!({"name": "launch", "arguments": {"name": "x"}, "_meta": {"progressToken": 1}});
    let id = client.request("tools/call", params).await;
    let note = client.next().await;
    assert!(
        note["params"]["message"]
            .as_str()
            .unwrap()
            .contains("waits for approval"),
        "{note}"
    );
    stage.answer(ApprovalResponse::approve("Ada")).await;
    client.result_of(id).await;
}

/// Replies are not lost at the end of the input, nor are records.
#[tokio::test]
async fn everything_is_answered_and_on_record_when_the_client_goes() {
    let stage = Stage::new();
    let mut client = stage.legacy(json!({})).await;
    let ids = {
        let mut ids = Vec::new();
        for _ in 0..50 {
            ids.push(client.begin("echo", json!({"name": "x"})).await);
        }
        ids
    };
    // Only the end of what it writes: half of a pair of pipes that is dropped ends nothing.
    client.writer.as_mut().unwrap().shutdown().await.unwrap();
    let mut answered = 0;
    while let Ok(Ok(Some(_))) = tokio::time::timeout(PATIENCE, client.lines.next_line()).await {
        answered += 1;
    }
    assert_eq!(answered, ids.len());
    client.end().await;
    stage.host.finish().await;
    let log = stage.scene.home().join("calls");
    let mut records = 0;
    for file in std::fs::read_dir(log).unwrap() {
        let path = file.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "jsonl")
        {
            let text = std::fs::read_to_string(path).unwrap();
            records += text
                .lines()
                .filter(|line| line.contains("\"echo\""))
                .count();
        }
    }
    assert_eq!(records, 50);
}
