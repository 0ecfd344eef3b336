//! The server that the examples of the documentation talk to: a weather service, a shop, a token server, and an echo.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use toolcrib::testing::{Received, Reply, ScriptedServer};

/// Starts one, with its own memory.
pub(crate) fn start() -> ScriptedServer {
    let asked = AtomicUsize::new(0);
    ScriptedServer::start(move |request| answer(request, &asked))
}

fn answer(request: &Received, asked: &AtomicUsize) -> Reply {
    let (path, query) = request
        .target
        .split_once('?')
        .unwrap_or((&request.target, ""));
    let authorization = request.header("authorization").unwrap_or_default();
    match path {
        "/v1/current.json" => weather(query),
        "/status.txt" => {
            Reply::ok("build 1234 passed in 56 s\n").header("content-type", "text/plain")
        }
        // Every second time: what retries are for.
        "/flaky" if asked.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) => Reply::status(503)
            .header("retry-after", "0")
            .body("not now"),
        "/flaky" => Reply::json(&json!({"tries": 2})),
        "/search" => Reply::json(
            &json!({"items": [{"id": 7, "name": "lamp"}, {"id": 9, "name": "lampshade"}]}),
        ),
        "/items/7" => Reply::json(&json!({"id": 7, "name": "lamp", "price": 30})),
        "/oauth/token" if authorization.is_empty() && !request.text().contains("client_secret") => {
            Reply::status(401).body("who are you?")
        }
        "/oauth/token" => Reply::json(
            &json!({"access_token": "t0k3n-of-an-hour", "token_type": "Bearer", "expires_in": 3600}),
        ),
        "/me"
            if [
                "Bearer t0k3n-of-an-hour",
                "Bearer s3cr3t-t0k3n",
                "Basic YWRhOnMzY3IzdA==",
            ]
            .contains(&authorization) =>
        {
            Reply::json(&json!({"name": "Ada"}))
        }
        "/me" => Reply::status(401).body("who are you?"),
        "/signed" => Reply::json(&json!({
            "signature": request.header("x-signature").map(str::len),
            "key": request.header("x-key-id"),
        })),
        "/moved" => Reply::redirect(302, "http://elsewhere.example/"),
        _ => Reply::json(&echo(request)),
    }
}

fn weather(query: &str) -> Reply {
    let value = |name: &str| {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs
            .into_iter()
            .find_map(|(key, value)| (key == name).then_some(value))
    };
    if value("key") != Some("s3cr3t-k3y") {
        return Reply::status(403).body("API key is invalid.");
    }
    match value("q").unwrap_or_default() {
        "Atlantis" => Reply::status(404).body("No matching location found."),
        city => Reply::json(&json!({
            "location": {"name": city},
            "current": {"temp_c": 7.5, "condition": {"text": "Light rain"}},
        })),
    }
}

/// What came, but for what every request has.
fn echo(request: &Received) -> Value {
    let headers = request.headers.iter();
    let own = headers.filter(|(name, _)| name.to_ascii_lowercase().starts_with("x-"));
    let headers: serde_json::Map<String, Value> = own
        .map(|(name, value)| (name.clone(), json!(value)))
        .collect();
    let text = request.text();
    json!({"method": request.method, "target": request.target, "headers": headers, "body": text})
}
