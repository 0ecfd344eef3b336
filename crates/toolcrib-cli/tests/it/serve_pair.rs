//! Two servers on one home: each sees what the other writes, and a call id means one call.

use serde_json::{Value, json};

use crate::harness::Test;
use crate::serving::{Serving, eventually};

const BUNDLE: &str = "01930000-0000-7000-8000-0000000000bb";

fn names(server: &Serving) -> Vec<String> {
    let (status, body) = server.get("/tools?bundleIDs=acme");
    assert_eq!(status, 200, "{body}");
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    let slug = |tool: &Value| tool["slug"].as_str().map(str::to_owned);
    tools.iter().filter_map(slug).collect()
}

#[test]
fn what_is_put_on_one_server_is_listed_by_the_other_and_what_the_command_line_writes_by_both() {
    let test = Test::new();
    let (first, second) = (Serving::start(&test), Serving::start(&test));
    assert_ne!(first.address, second.address);
    let bundle =
        json!({"slug": "acme", "displayName": "Acme", "description": "", "isEnabled": true});
    let (status, body) = first.put(&format!("/tools/bundles/{BUNDLE}"), &bundle);
    assert_eq!(status, 201, "{body}");
    let tool = json!({
        "displayName": "Echo", "description": "Echoes", "type": "http", "tags": ["read"],
        "argSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
        "impl": {"method": "GET", "urlTemplate": "https://example.com/${text}", "responseEncoding": "text"},
    });
    for (server, slug) in [(&first, "one"), (&second, "two")] {
        let path = format!("/tools/bundles/{BUNDLE}/tools/{slug}/version/v1");
        let (status, body) = server.put(&path, &tool);
        assert_eq!(status, 201, "{body}");
    }
    for server in [&first, &second] {
        let mut found = names(server);
        found.sort();
        assert_eq!(found, ["one", "two"]);
    }
    test.run(&["rm", "acme/one", "--yes"]).exits(0);
    for server in [&first, &second] {
        eventually("both follow", || names(server) == ["two"]);
    }
}

#[test]
fn a_question_asked_on_one_server_is_answered_on_the_other() {
    let test = Test::new().file("f", "");
    let (first, second) = (Serving::start(&test), Serving::start(&test));
    let client = first.client();
    let body = json!({"name": "delete_file", "arguments": {"path": "f"}});
    let call = std::thread::spawn(move || client.ask("POST", "/api/calls", &body));
    let mut asked = Value::Null;
    eventually("the other server lists it", || {
        let (_, body) = second.get("/api/approvals");
        asked = body["approvals"][0].clone();
        asked.is_object()
    });
    let path = format!("/api/approvals/{}", asked["id"].as_str().unwrap());
    let answer = json!({"approved": false, "reason": "not now", "argsDigest": asked["argsDigest"]});
    let (status, body) = second.post(&path, &answer);
    assert_eq!(status, 200, "{body}");
    let (status, body) = call.join().unwrap().expect("an answer");
    assert_eq!(status, 403, "{body}");
    assert!(
        body["error"]["message"]
            .as_str()
            .unwrap()
            .contains("not now"),
        "{body}"
    );
}

#[test]
fn one_call_id_on_both_servers_at_once_runs_once() {
    let test = Test::new();
    let servers = [Serving::start(&test), Serving::start(&test)];
    let body = json!({
        "name": "shell", "arguments": {"command": "echo ran >> log; sleep 0.2"},
        "approvals": "yes", "callId": "once",
    });
    let calls: Vec<_> = (0..6)
        .map(|number| {
            let (client, body) = (servers[number % 2].client(), body.clone());
            std::thread::spawn(move || client.ask("POST", "/api/calls", &body))
        })
        .collect();
    for call in calls {
        let (status, body) = call.join().unwrap().expect("an answer");
        assert!(matches!(status, 200 | 409), "{status} {body}");
    }
    let log = std::fs::read_to_string(test.workspace().join("log")).unwrap();
    assert_eq!(log, "ran\n");
}
