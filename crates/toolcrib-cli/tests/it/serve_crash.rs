//! A server that dies under load: what it acknowledged is there afterwards.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::Test;
use crate::serving::{Client, Serving};

const BUNDLE: &str = "01930000-0000-7000-8000-0000000000aa";

/// What was acknowledged.
#[derive(Debug, Default)]
struct Acknowledged {
    tools: Vec<String>,
    /// Call ids, and whether the caller chose them.
    calls: Vec<(String, bool)>,
}

fn put_bundle(server: &Serving) {
    let bundle =
        json!({"slug": "acme", "displayName": "Acme", "description": "", "isEnabled": true});
    let (status, body) = server.put(&format!("/tools/bundles/{BUNDLE}"), &bundle);
    assert_eq!(status, 201, "{body}");
}

fn tool() -> Value {
    json!({
        "displayName": "Echo", "description": "Echoes", "type": "http", "tags": ["read"],
        "argSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
        "impl": {"method": "GET", "urlTemplate": "https://example.com/${text}", "responseEncoding": "text"},
    })
}

/// Puts tools and calls others until the server is gone.
fn work(client: &Client, number: usize, is_over: &AtomicBool, done: &Mutex<Acknowledged>) {
    for round in 0.. {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        let slug = format!("t{number}-{round}");
        let path = format!("/tools/bundles/{BUNDLE}/tools/{slug}/version/v1");
        match client.ask("PUT", &path, &tool()) {
            Some((201, _)) => done.lock().unwrap().tools.push(slug.clone()),
            Some(other) => panic!("{other:?}"),
            None => {}
        }
        for id in [None, Some(format!("call-{slug}"))] {
            let mut body = json!({"name": "list_directory", "arguments": {"path": "."}});
            if let Some(id) = &id {
                body["callId"] = json!(id);
            }
            match client.ask("POST", "/api/calls", &body) {
                Some((200, answer)) => {
                    let given = answer["metadata"]["callId"].as_str().unwrap().to_owned();
                    done.lock().unwrap().calls.push((given, id.is_some()));
                }
                Some(other) => panic!("{other:?}"),
                None => {}
            }
        }
    }
}

#[test]
fn nothing_acknowledged_is_lost_when_the_server_is_killed_under_load() {
    let test = Test::new();
    let mut server = Serving::start(&test);
    put_bundle(&server);
    let done = Arc::new(Mutex::new(Acknowledged::default()));
    for round in 0..3u64 {
        let is_over = Arc::new(AtomicBool::new(false));
        let working: Vec<_> = (0..4)
            .map(|number| {
                let number = number + 10 * usize::try_from(round).unwrap();
                let (client, done) = (server.client(), Arc::clone(&done));
                let is_over = Arc::clone(&is_over);
                std::thread::spawn(move || work(&client, number, &is_over, &done))
            })
            .collect();
        // Some moment, another one each time.
        let moment = Duration::from_millis(200 + 97 * round + u64::from(server.pid() % 100));
        std::thread::sleep(moment);
        server.kill();
        is_over.store(true, Ordering::Relaxed);
        for worker in working {
            worker.join().unwrap();
        }
        server = Serving::start(&test);
    }
    let done = done.lock().unwrap();
    assert!(!done.tools.is_empty() && !done.calls.is_empty(), "{done:?}");
    for slug in &done.tools {
        let path = format!("/tools/bundles/{BUNDLE}/tools/{slug}/version/v1");
        let (status, body) = server.get(&path);
        assert_eq!(status, 200, "{slug} was acknowledged: {body}");
    }
    for (id, is_chosen) in &done.calls {
        let (status, body) = server.get(&format!("/api/calls/{id}"));
        assert_eq!(status, 200, "{id} was acknowledged: {body}");
        assert_eq!(body["status"], "done", "{body}");
        if *is_chosen {
            // Asked for again, it is not carried out again.
            let body = json!({"name": "list_directory", "arguments": {"path": "."}, "callId": id});
            let (status, again) = server.post("/api/calls", &body);
            assert_eq!((status, &again["ok"]), (200, &json!(true)), "{again}");
        }
    }
}
