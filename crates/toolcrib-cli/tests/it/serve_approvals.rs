//! Questions that outlive the server that asked them (APR-015).

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::Test;
use crate::serving::Serving;

/// The one question that waits.
fn pending(server: &Serving) -> Value {
    let begun = Instant::now();
    loop {
        let (status, page) = server.get("/api/approvals?status=pending");
        assert_eq!(status, 200, "{page}");
        if let [question] = page["approvals"].as_array().unwrap().as_slice() {
            return question.clone();
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{page}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_question_of_a_killed_server_is_bound_to_its_arguments_and_runs_once() {
    let test = Test::new()
        .file("a.txt", "precious")
        .file("b.txt", "precious");
    let (a, b) = (
        test.workspace().join("a.txt"),
        test.workspace().join("b.txt"),
    );
    let mut server = Serving::start(&test);
    let delete = |name: &str| json!({"tool": "delete_file", "args": {"path": name}});
    let client = server.client();
    let body = delete("a.txt");
    let waiting = std::thread::spawn(move || client.ask("POST", "/api/calls", &body));
    let question = pending(&server);
    server.kill();
    assert_eq!(waiting.join().unwrap(), None);
    assert!(a.exists());

    let server = Serving::start(&test);
    let path = format!("/api/approvals/{}", question["id"].as_str().unwrap());
    let (status, seen) = server.get(&path);
    assert_eq!(status, 200, "{seen}");
    // No one waits for it any more, and nothing runs by itself when it is approved.
    assert_eq!(seen["waiting"], false, "{seen}");
    let answer = json!({"approved": true, "argsDigest": question["argsDigest"]});
    let (status, answered) = server.post(&path, &answer);
    assert_eq!(
        (status, &answered["status"]),
        (200, &json!("approved")),
        "{answered}"
    );
    assert!(a.exists());
    // It is for these arguments and no others.
    let mut other = delete("b.txt");
    other["approvals"] = json!("given");
    let (status, refused) = server.post("/api/calls", &other);
    assert_eq!(
        (status, &refused["error"]["code"]),
        (403, &json!("APPROVAL_UNAVAILABLE")),
        "{refused}"
    );
    assert!(b.exists());
    // The same call made again takes it up, once.
    let mut again = delete("a.txt");
    again["approvals"] = json!("given");
    let (status, outcome) = server.post("/api/calls", &again);
    assert_eq!((status, &outcome["ok"]), (200, &json!(true)), "{outcome}");
    assert!(!a.exists());
    std::fs::write(&a, "new").unwrap();
    let (status, refused) = server.post("/api/calls", &again);
    assert_eq!(
        (status, &refused["error"]["code"]),
        (403, &json!("APPROVAL_UNAVAILABLE")),
        "{refused}"
    );
    let (status, refused) = server.post(&path, &answer);
    assert_eq!(status, 409, "{refused}");
    assert!(a.exists());
}
