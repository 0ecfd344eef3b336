//! The loop with a model, against servers on loopback that check what they are sent.

mod loops;
mod transcripts;
mod trouble;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolcrib::chat::{Chat, ChatError, ChatEvent, ChatOptions, Endpoint, TurnReport};
use toolcrib::egress::{Egress, EgressOptions};
use toolcrib::schemars::JsonSchema;
use toolcrib::testing::{Received, Reply, ScriptedServer};
use toolcrib::wire::ReplyFormat;
use toolcrib::{FnTool, Registry, Secret};

#[derive(Deserialize, JsonSchema)]
struct Echo {
    /// What to say.
    text: String,
}

/// A registry with `echo`, which says its text, and `fail`.
fn registry() -> Registry {
    let registry = Registry::new();
    let echo = FnTool::new("echo", "Says its text", |args: Echo, _cx| async move {
        Ok(args.text)
    });
    registry.register(echo.unwrap()).unwrap();
    let fail = FnTool::new("fail", "Fails", |(), _cx| async {
        Err::<Value, _>(toolcrib::ToolError::failed("no luck").into())
    });
    registry.register(fail.unwrap()).unwrap();
    registry
}

/// What one request is answered with.
type Step = Box<dyn Fn(&Value, &Received) -> Reply + Send>;

/// A server that answers the requests one after the other by these functions; a request that one of them finds wrong is
/// refused with 400 and the reason.
fn model(steps: Vec<Step>) -> (ScriptedServer, Arc<Mutex<Vec<Value>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let steps = Mutex::new(steps);
    let server = ScriptedServer::start(move |request| {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let number = {
            let mut seen = seen.lock().unwrap();
            seen.push(body.clone());
            seen.len()
        };
        match steps.lock().unwrap().get(number - 1) {
            Some(step) => step(&body, request),
            None => refused("more requests than the script has"),
        }
    });
    (server, asked)
}

fn refused(why: &str) -> Reply {
    let error = json!({"error": {"message": why}});
    Reply::status(400)
        .body(error.to_string())
        .header("Content-Type", "application/json")
}

/// Events as a stream, in pieces that end anywhere.
fn sse(events: &[Value], is_done_said: bool) -> Reply {
    let mut text = String::new();
    for event in events {
        let kind = event["type"].as_str();
        if let Some(kind) = kind {
            text.push_str(&format!("event: {kind}\n"));
        }
        text.push_str(&format!("data: {event}\n\n"));
    }
    if is_done_said {
        text.push_str("data: [DONE]\n\n");
    }
    Reply::ok(text)
        .header("Content-Type", "text/event-stream")
        .slowly(37, Duration::from_micros(50))
}

fn options() -> ChatOptions {
    ChatOptions {
        patience: Duration::from_secs(20),
        pause: Duration::from_millis(1),
        ..ChatOptions::default()
    }
}

fn chat(format: ReplyFormat, server: &ScriptedServer, options: ChatOptions) -> Chat {
    let key = Some(Secret::new("sk-sentinel-123456"));
    let endpoint = Endpoint::new(format, Some(&server.url("/")), "m", key).unwrap();
    let registry = registry();
    let egress = Egress::new(EgressOptions::default()).unwrap();
    let specs = registry.list();
    let tools = specs.iter().map(AsRef::as_ref);
    Chat::new(&registry, &egress, endpoint, tools, options)
}

/// What a turn showed, and what it came to.
struct Turned {
    report: Result<TurnReport, ChatError>,
    /// What to say.
    text: String,
    messages: Vec<Value>,
    retries: usize,
}

async fn turn(chat: &mut Chat, prompt: &str) -> Turned {
    let shown = Mutex::new((String::new(), Vec::new(), 0));
    let on = |event: ChatEvent<'_>| {
        let mut shown = shown.lock().unwrap();
        match event {
            ChatEvent::Text(text) => shown.0.push_str(text),
            ChatEvent::Message(message) => shown.1.push(message.clone()),
            ChatEvent::Retrying { .. } => shown.2 += 1,
            ChatEvent::Replied | ChatEvent::CallBegun { .. } | ChatEvent::CallEnded { .. } => {}
        }
    };
    let report = chat.turn(prompt, &CancellationToken::new(), &on).await;
    let (text, messages, retries) = shown.into_inner().unwrap();
    Turned {
        report,
        text,
        messages,
        retries,
    }
}
