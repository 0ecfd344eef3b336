//! How calls stand, who sees them, and ending them.

use std::time::Duration;

use http::{Method, StatusCode};
use serde_json::{Value, json};
use toolcrib::approval::ApprovalResponse;
use toolcrib::storage::DurableDir;

use super::{Stage, call, post_raw, soon};

/// Begins a call in the background and returns its id.
async fn begin(asking: &crate::harness::Asking<'_>, body: Value) -> String {
    let answer = post_raw(asking, "/api/calls", body).await;
    assert_eq!(answer.status(), 202);
    assert_eq!(answer.headers()["preference-applied"], "respond-async");
    let location = answer.headers()["location"].to_str().unwrap();
    location.strip_prefix("/api/calls/").unwrap().to_owned()
}

#[tokio::test]
async fn a_call_in_the_background_is_asked_for_later() {
    let stage = Stage::new();
    let operator = stage.operator().header("prefer", "respond-async");
    let id = begin(&operator, call("hold", json!({}))).await;
    let path = format!("/api/calls/{id}");
    let (status, state) = operator.get(&path).await;
    assert_eq!(status, 200);
    assert_eq!(
        (&state["status"], &state["tool"]),
        (&json!("running"), &json!("hold"))
    );
    assert_eq!(state["callId"], json!(id));
    stage.release.add_permits(1);
    let (_, state) = operator.get(&format!("{path}?waitMs=20000")).await;
    assert_eq!(state["status"], "done", "{state}");
    assert_eq!(state["ok"], true);
    assert_eq!(state["outcome"]["value"], "let go");
    let (_, simple) = operator.get(&format!("{path}?shape=simple")).await;
    assert_eq!(simple["outcome"]["output"], "let go");
}

#[tokio::test]
async fn a_call_in_the_background_waits_for_a_person() {
    let stage = Stage::new();
    let operator = stage.operator().header("prefer", "wait=5, Respond-Async");
    let id = begin(&operator, json!({"tool": "ask", "callId": "asks"})).await;
    assert_eq!(id, "asks");
    let question = stage.question().await;
    // The question is there a moment before the call says that it waits.
    soon(|| {
        let running = stage.scene.crib.registry().running();
        running.iter().find_map(|call| call.approval.clone())
    })
    .await;
    let (_, state) = operator.get("/api/calls/asks").await;
    assert_eq!(state["status"], "waiting", "{state}");
    assert_eq!(state["approval"]["id"], json!(question));
    let (_, waiting) = operator.get("/api/calls?status=waiting").await;
    assert_eq!(waiting["calls"][0]["callId"], "asks");
    stage.answer(ApprovalResponse::approve("Ada")).await;
    let (_, state) = operator.get("/api/calls/asks?waitMs=20000").await;
    assert_eq!(state["outcome"]["value"], "done", "{state}");
}

#[tokio::test]
async fn what_is_refused_before_it_begins_is_refused_at_once() {
    let stage = Stage::new();
    let operator = stage.operator().header("prefer", "respond-async");
    for (body, expected) in [
        (call("echo", json!({})), 400),
        (call("nothing", json!({})), 404),
        (call("shell", json!({"command": "sudo rm -rf /"})), 403),
    ] {
        let (status, answer) = operator.post("/api/calls", body).await;
        assert_eq!(status, expected, "{answer}");
    }
}

#[tokio::test]
async fn a_call_without_an_id_of_the_callers_own_is_found_in_the_log() {
    let stage = Stage::new();
    let (_, outcome) = stage
        .operator()
        .post("/api/calls", call("fail", json!({})))
        .await;
    let id = outcome["metadata"]["callId"].as_str().unwrap();
    let (status, state) = stage.operator().get(&format!("/api/calls/{id}")).await;
    assert_eq!(status, 200);
    assert_eq!(
        (&state["status"], &state["ok"], &state["code"]),
        (&json!("done"), &json!(false), &json!("EXECUTION_ERROR"))
    );
    // A client that reads `outcome` finds it, even if nothing was kept but the record.
    assert_eq!(state["fromRecord"], true);
    assert_eq!(state["outcome"]["ok"], false);
    assert_eq!(state["outcome"]["error"]["code"], "EXECUTION_ERROR");
    assert_eq!(state["outcome"]["metadata"], {
        let mut metadata = outcome["metadata"].clone();
        metadata.as_object_mut().unwrap().remove("sandbox");
        metadata
    });
    let (_, state) = stage
        .operator()
        .get(&format!("/api/calls/{id}?shape=simple"))
        .await;
    assert_eq!(state["outcome"]["success"], false, "{state}");
    let (_, outcome) = stage
        .operator()
        .post("/api/calls", call("echo", json!({"text": "a"})))
        .await;
    let id = outcome["metadata"]["callId"].as_str().unwrap();
    let (_, state) = stage.operator().get(&format!("/api/calls/{id}")).await;
    assert_eq!(
        (&state["fromRecord"], &state["outcome"]["ok"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(
        state["outcome"].get("value"),
        None,
        "it is not `null`, it is not known"
    );
}

#[tokio::test]
async fn a_call_in_the_background_that_no_one_answers_has_an_outcome_too() {
    let stage = Stage::new();
    let operator = stage.operator().header("prefer", "respond-async");
    let body = json!({"tool": "ask", "callId": "late", "approvalWaitMs": 50});
    begin(&operator, body).await;
    let (_, state) = operator
        .get("/api/calls/late?waitMs=20000&shape=tagged")
        .await;
    assert_eq!(
        state["outcome"]["error"]["code"], "APPROVAL_EXPIRED",
        "{state}"
    );
}

#[tokio::test]
async fn a_call_in_the_background_reports_its_status_and_has_no_connection() {
    let stage = Stage::new();
    let operator = stage.operator().header("prefer", "respond-async");
    let (_, accepted) = operator.post("/api/calls", json!({"tool": "ask"})).await;
    assert_eq!(accepted["status"], "waiting", "{accepted}");
    let body = json!({"tool": "echo", "args": {"text": "a"}, "cancelOnDisconnect": true});
    let (status, answer) = operator.post("/api/calls", body).await;
    assert_eq!(status, 400, "{answer}");
}

#[tokio::test]
async fn a_call_is_accepted_when_it_is_on_disk_and_looked_at_without_waiting_for_others() {
    let stage = Stage::new();
    let operator = stage.operator().header("prefer", "respond-async");
    begin(&operator, json!({"tool": "hold", "callId": "first"})).await;
    // Another process records its own calls, and takes its time.
    let kept = DurableDir::create(stage.scene.home().join("calls/ids")).unwrap();
    let lock = kept.lock().unwrap();
    let body = json!({"tool": "hold", "callId": "second"});
    let mut accepted = std::pin::pin!(operator.post("/api/calls", body));
    let early = tokio::time::timeout(Duration::from_millis(800), &mut accepted).await;
    assert!(early.is_err(), "accepted before it was on disk: {early:?}");
    for (id, expected) in [("first", 200), ("no-such-call", 404)] {
        let path = format!("/api/calls/{id}");
        let look = tokio::time::timeout(Duration::from_secs(10), operator.get(&path));
        let (status, state) = look.await.expect("a look waits for no one");
        assert_eq!(status, expected, "{state}");
    }
    drop(lock);
    let (status, answer) = accepted.await;
    assert_eq!(
        (status.as_u16(), &answer["status"]),
        (202, &json!("running"))
    );
    stage.release.add_permits(2);
}

#[tokio::test]
async fn pages_hold_calls_that_run_and_none_comes_twice_or_gets_lost() {
    let stage = Stage::new();
    let operator = stage.operator();
    for number in 0..3 {
        let body =
            json!({"tool": "echo", "args": {"text": "a"}, "callId": format!("done-{number}")});
        operator.post("/api/calls", body).await;
    }
    let background = stage.operator().header("prefer", "respond-async");
    for number in 0..5 {
        let body = json!({"tool": "hold", "callId": format!("run-{number}")});
        begin(&background, body).await;
    }
    let ids = |page: &Value| -> Vec<String> {
        let calls = page["calls"].as_array().unwrap().iter();
        calls
            .map(|call| call["callId"].as_str().unwrap().to_owned())
            .collect()
    };
    let (_, first) = operator.get("/api/calls?pageSize=2").await;
    let mut seen = ids(&first);
    assert_eq!(seen, ["run-0", "run-1"]);
    // All of them end before the next page: those that were listed, and those that were not.
    stage.release.add_permits(5);
    for number in 0..5 {
        operator
            .get(&format!("/api/calls/run-{number}?waitMs=20000"))
            .await;
    }
    let mut token = first["nextPageToken"].as_str().unwrap().to_owned();
    loop {
        let path = format!("/api/calls?pageSize=2&pageToken={token}");
        let (status, page) = operator.get(&path).await;
        assert_eq!(status, 200, "{page}");
        assert!(ids(&page).len() <= 2, "{page}");
        seen.extend(ids(&page));
        match page["nextPageToken"].as_str() {
            Some(next) => token = next.to_owned(),
            None => break,
        }
    }
    seen.sort();
    let all = [
        "done-0", "done-1", "done-2", "run-0", "run-1", "run-2", "run-3", "run-4",
    ];
    assert_eq!(seen, all);
    let (_, page) = operator.get("/api/calls?pageSize=8").await;
    assert_eq!(page.get("nextPageToken"), None, "{page}");
}

#[tokio::test]
async fn a_client_sees_its_own_calls_and_no_others() {
    let stage = Stage::new();
    let (mine, yours) = (stage.client("mine"), stage.client("yours"));
    let body = json!({"tool": "echo", "args": {"text": "a"}, "callId": "mine-1"});
    mine.post("/api/calls", body).await;
    let (_, outcome) = yours
        .post("/api/calls", call("echo", json!({"text": "b"})))
        .await;
    let other = outcome["metadata"]["callId"].as_str().unwrap().to_owned();
    let mine_async = stage.client("third").header("prefer", "respond-async");
    begin(&mine_async, json!({"tool": "hold", "callId": "third-1"})).await;
    for id in [other.as_str(), "third-1", "no-such-call"] {
        for (method, path) in [
            (Method::GET, format!("/api/calls/{id}")),
            (Method::GET, format!("/api/calls/{id}/events")),
            (Method::POST, format!("/api/calls/{id}/cancel")),
        ] {
            let (status, answer) = mine.send(method, &path, None).await;
            assert_eq!(status, 404, "{path}: {answer}");
            assert_eq!(answer["error"]["code"], "CALL_NOT_FOUND");
        }
    }
    let (status, _) = mine.get("/api/calls/mine-1").await;
    assert_eq!(status, 200);
    let (_, list) = mine.get("/api/calls").await;
    let ids: Vec<&Value> = list["calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| &call["callId"])
        .collect();
    assert_eq!(ids, [&json!("mine-1")]);
    let (_, none) = mine.get("/api/calls?caller=client:yours").await;
    assert_eq!(none, json!({"calls": []}));
    let (_, all) = stage.operator().get("/api/calls").await;
    assert_eq!(all["calls"].as_array().unwrap().len(), 3, "{all}");
    assert_eq!(
        all["calls"][0]["status"], "running",
        "those that run come first"
    );
    stage.release.add_permits(1);
}

#[tokio::test]
async fn calls_are_listed_page_by_page_and_by_filters() {
    let stage = Stage::new();
    let operator = stage.operator();
    for number in 0..5 {
        operator
            .post(
                "/api/calls",
                json!({"tool": "echo", "args": {"text": "a"}, "callId": format!("c-{number}")}),
            )
            .await;
    }
    operator
        .post("/api/calls", json!({"tool": "fail", "callId": "f-1"}))
        .await;
    let mut ids = Vec::new();
    let mut path = "/api/calls?pageSize=2&tool=echo".to_owned();
    loop {
        let (status, page) = operator.get(&path).await;
        assert_eq!(status, 200, "{page}");
        let calls = page["calls"].as_array().unwrap();
        assert!(calls.len() <= 2);
        ids.extend(
            calls
                .iter()
                .map(|call| call["callId"].as_str().unwrap().to_owned()),
        );
        match page["nextPageToken"].as_str() {
            Some(token) => path = format!("/api/calls?pageSize=2&tool=echo&pageToken={token}"),
            None => break,
        }
    }
    assert_eq!(ids, ["c-4", "c-3", "c-2", "c-1", "c-0"]);
    let only = async |query: &str| {
        let (status, page) = operator.get(&format!("/api/calls?{query}")).await;
        assert_eq!(status, 200, "{query}: {page}");
        page["calls"].as_array().unwrap().len()
    };
    assert_eq!(only("status=failed").await, 1);
    assert_eq!(only("status=ok").await, 5);
    assert_eq!(only("status=done").await, 6);
    assert_eq!(only("status=running").await, 0);
    assert_eq!(only("caller=operator").await, 6);
    assert_eq!(only("caller=cli").await, 0);
    assert_eq!(only("since=2001-01-01T00:00:00Z").await, 6);
    assert_eq!(only("since=9001-01-01T00:00:00Z").await, 0);
    for query in [
        "pageSize=0",
        "pageSize=501",
        "pageToken=x",
        "status=odd",
        "caller=odd",
        "since=now",
        "other=1",
    ] {
        let (status, answer) = operator.get(&format!("/api/calls?{query}")).await;
        assert_eq!(status, 400, "{query}: {answer}");
    }
}

#[tokio::test]
async fn calls_are_listed_by_bundle_and_version_while_they_run_and_after() {
    let stage = Stage::new();
    let (status, tools) = stage.operator().get("/api/tools?tools=hold").await;
    assert_eq!(status, 200, "{tools}");
    let (bundle, version) = (
        tools["tools"][0]["bundle"].as_str().unwrap().to_owned(),
        tools["tools"][0]["version"].as_str().unwrap().to_owned(),
    );
    let operator = stage.operator().header("prefer", "respond-async");
    let id = begin(&operator, call("hold", json!({}))).await;
    let only = async |query: String| {
        let path = format!("/api/calls?tool=hold&{query}");
        let (status, page) = stage.operator().get(&path).await;
        assert_eq!(status, 200, "{query}: {page}");
        page["calls"].as_array().unwrap().len()
    };
    let listed = async || {
        [
            only(format!("bundle={bundle}&version={version}")).await,
            only(format!("version={version}")).await,
            only("bundle=other".to_owned()).await,
            only("version=v77".to_owned()).await,
        ]
    };
    assert_eq!(listed().await, [1, 1, 0, 0], "while it runs");
    stage.release.add_permits(1);
    let path = format!("/api/calls/{id}?waitMs=20000");
    let (_, state) = stage.operator().get(&path).await;
    assert_eq!(state["status"], "done", "{state}");
    assert_eq!(listed().await, [1, 1, 0, 0], "after it ended");
}

#[tokio::test]
async fn cancelling_ends_a_call_and_reports_its_status() {
    let stage = Stage::new();
    let operator = stage.operator().header("prefer", "respond-async");
    begin(&operator, json!({"tool": "hold", "callId": "ends"})).await;
    let (status, state) = operator
        .send(Method::POST, "/api/calls/ends/cancel", None)
        .await;
    assert_eq!(status, 200, "{state}");
    assert_eq!(
        (&state["status"], &state["code"]),
        (&json!("done"), &json!("CANCELLED"))
    );
    let (status, answer) = operator
        .send(Method::POST, "/api/calls/ends/cancel", None)
        .await;
    assert_eq!(
        (status.as_u16(), &answer["error"]["code"]),
        (409, &json!("CONFLICT"))
    );
    // One that waits for a person, too.
    begin(&operator, json!({"tool": "ask", "callId": "asks"})).await;
    stage.question().await;
    let (status, state) = operator
        .send(Method::POST, "/api/calls/asks/cancel", None)
        .await;
    assert_eq!(
        (status, &state["code"]),
        (StatusCode::OK, &json!("CANCELLED")),
        "{state}"
    );
}

#[tokio::test]
async fn cancelling_ends_the_whole_tree_of_processes() {
    let stage = Stage::new();
    let mark = format!(
        "{}.{}",
        4000 + std::process::id(),
        std::process::id() % 1000
    );
    let operator = stage.operator().header("prefer", "respond-async");
    let command = format!("setsid sleep {mark} & sleep {mark}");
    begin(
        &operator,
        json!({"tool": "shell", "args": {"command": command}, "callId": "tree"}),
    )
    .await;
    soon(|| (running(&mark) >= 2).then_some(())).await;
    let (status, state) = operator
        .send(Method::POST, "/api/calls/tree/cancel", None)
        .await;
    assert_eq!(
        (status, &state["code"]),
        (StatusCode::OK, &json!("CANCELLED")),
        "{state}"
    );
    assert_eq!(running(&mark), 0);
}

/// How many processes have this word among their arguments.
fn running(word: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap();
    let lines =
        processes.filter_map(|entry| std::fs::read(entry.ok()?.path().join("cmdline")).ok());
    lines
        .filter(|line| {
            let mut words = line.split(|byte| *byte == 0);
            words
                .next()
                .is_some_and(|program| program.ends_with(b"sleep"))
                && words.any(|argument| argument == word.as_bytes())
        })
        .count()
}

#[tokio::test]
async fn a_client_that_goes_cancels_its_call_if_it_asked_for_that() {
    let stage = Stage::new();
    let operator = stage.operator();
    for (cancel, id) in [(true, "goes"), (false, "stays")] {
        let body = json!({"tool": "hold", "callId": id, "cancelOnDisconnect": cancel});
        let calling = operator.post("/api/calls", body);
        let leave = soon(|| {
            let running = stage.scene.crib.registry().running();
            running
                .iter()
                .any(|call| call.call_id.as_str() == id)
                .then_some(())
        });
        tokio::select! {
            _ = calling => panic!("it ended"),
            () = leave => {}
        }
    }
    let (_, gone) = operator.get("/api/calls/goes?waitMs=20000").await;
    assert_eq!(
        (&gone["status"], &gone["code"]),
        (&json!("done"), &json!("CANCELLED")),
        "{gone}"
    );
    let (_, stays) = operator.get("/api/calls/stays").await;
    assert_eq!(stays["status"], "running");
    stage.release.add_permits(1);
    let (_, done) = operator.get("/api/calls/stays?waitMs=20000").await;
    assert_eq!(done["outcome"]["value"], "let go", "{done}");
}
