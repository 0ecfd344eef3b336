//! What goes wrong between us and a model.

use std::sync::Mutex;
use std::time::Duration;

use serde_json::json;
use tokio_util::sync::CancellationToken;
use toolcrib::ErrorCode;
use toolcrib::chat::{ChatEvent, Ending};
use toolcrib::testing::Reply;
use toolcrib::wire::ReplyFormat;

use super::{chat, model, options, sse, turn};

fn calls_echo() -> Reply {
    let call = json!({"index": 0, "id": "a", "function": {"name": "echo", "arguments": "{\"text\":\"x\"}"}});
    sse(
        &[json!({"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]})],
        true,
    )
}

fn says(text: &str) -> Reply {
    let delta = json!({"choices": [{"delta": {"content": text}, "finish_reason": "stop"}]});
    sse(&[delta], true)
}

#[tokio::test]
async fn the_steps_are_counted_and_the_last_calls_are_answered_but_not_made() {
    let again = || -> super::Step { Box::new(|_, _| calls_echo()) };
    let (server, asked) = model(vec![again(), again(), again()]);
    let mut options = options();
    options.max_steps = 2;
    let mut chat = chat(ReplyFormat::OpenAi, &server, options);
    let report = turn(&mut chat, "go").await.report.unwrap();
    assert_eq!((report.ending, report.steps), (Ending::StepsUsedUp, 2));
    assert_eq!(asked.lock().unwrap().len(), 2);
    let ok: Vec<bool> = report.calls.iter().map(|call| call.ok).collect();
    assert_eq!(ok, [true, false]);
    let last = chat.history().last().unwrap();
    assert_eq!(last["tool_call_id"], "a");
    assert!(
        last["content"]
            .as_str()
            .unwrap()
            .contains("the limit of 2 steps is reached")
    );
}

#[tokio::test]
async fn a_busy_server_is_asked_again_when_it_says() {
    let (server, asked) = model(vec![
        Box::new(|_, _| Reply::status(429).header("Retry-After", "0")),
        Box::new(|_, _| Reply::status(503)),
        Box::new(|_, _| says("Hello")),
    ]);
    let mut chat = chat(ReplyFormat::OpenAi, &server, options());
    let turned = turn(&mut chat, "go").await;
    assert_eq!(turned.report.unwrap().steps, 1);
    assert_eq!((turned.retries, turned.text.as_str()), (2, "Hello"));
    assert_eq!(asked.lock().unwrap().len(), 3);
}

#[tokio::test]
async fn a_server_that_wants_an_hour_is_not_waited_for() {
    let (server, _) = model(vec![Box::new(|_, _| {
        Reply::status(429)
            .header("Retry-After", "3600")
            .body("{\"error\": {\"message\": \"quota of sk-sentinel-123456 used up\"}}")
    })]);
    let mut chat = chat(ReplyFormat::OpenAi, &server, options());
    let error = turn(&mut chat, "go").await.report.unwrap_err().to_string();
    assert!(
        error.starts_with("the server answered 429: quota of [REDACTED] used up"),
        "{error}"
    );
}

#[tokio::test]
async fn refusals_say_what_to_do() {
    for (status, body, advice) in [
        (
            401,
            "{\"error\": {\"message\": \"bad key\"}}",
            "check the key",
        ),
        (404, "not found", "`--model`"),
        (
            400,
            "{\"error\": {\"message\": \"maximum context length is 10\"}}",
            "begin a new one",
        ),
        (302, "", "redirects"),
    ] {
        let (server, asked) = model(vec![Box::new(move |_, _| Reply::status(status).body(body))]);
        let mut chat = chat(ReplyFormat::OpenAi, &server, options());
        let error = turn(&mut chat, "go").await.report.unwrap_err();
        assert_eq!(error.code(), ErrorCode::UpstreamError);
        assert!(error.to_string().contains(advice), "{error}");
        assert_eq!(asked.lock().unwrap().len(), 1, "{status}");
    }
}

#[tokio::test]
async fn a_stream_that_breaks_off_or_makes_no_sense_leaves_a_conversation_that_goes_on() {
    let cut = |body: &'static str| Reply::ok(body).header("Content-Type", "text/event-stream");
    for (first, says_why) in [
        (
            cut("data: {\"choices\": [{\"delta\": {\"content\": \"Hal\"}}]}\n\n"),
            "before the reply was whole",
        ),
        (
            cut("data: {\"choices\": [{\"delta\": {\"content\": \"Hal\"}}]}\n\ndata: {broken\n\n"),
            "not what this provider sends",
        ),
        (
            cut(
                "data: {\"choices\": [{\"delta\": {\"content\": \"Hal\"}}]}\n\ndata: {\"error\": {\"message\": \"melted\"}}\n\n",
            ),
            "melted",
        ),
    ] {
        let (server, asked) = model(vec![
            Box::new(move |_, _| first.clone()),
            Box::new(|_, _| says("Hello")),
        ]);
        let mut chat = chat(ReplyFormat::OpenAi, &server, options());
        let turned = turn(&mut chat, "go").await;
        let error = turned.report.unwrap_err().to_string();
        assert!(error.contains(says_why), "{error}");
        let partial = json!({"role": "assistant", "content": "Hal"});
        assert_eq!(chat.history()[1], partial);
        assert_eq!(turn(&mut chat, "again").await.text, "Hello");
        assert_eq!(asked.lock().unwrap()[1]["messages"][1], partial);
    }
}

#[tokio::test]
async fn a_server_that_hangs_is_given_up_in_time() {
    let (server, _) = model(vec![Box::new(|_, _| {
        Reply::ok("data: {}\n\n")
            .header("Content-Type", "text/event-stream")
            .after(Duration::from_secs(3))
    })]);
    let mut options = options();
    options.patience = Duration::from_millis(100);
    let mut chat = chat(ReplyFormat::OpenAi, &server, options);
    let error = turn(&mut chat, "go").await.report.unwrap_err();
    assert_eq!(error.code(), ErrorCode::Timeout, "{error}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_said_with_what_to_look_at() {
    let (server, _) = model(Vec::new());
    let mut chat = chat(ReplyFormat::Ollama, &server, options());
    drop(server);
    let error = turn(&mut chat, "go").await.report.unwrap_err();
    assert_eq!(error.code(), ErrorCode::NetworkError);
    assert!(
        error.to_string().contains("is the server running"),
        "{error}"
    );
}

#[tokio::test]
async fn cancelling_while_the_model_speaks_ends_the_turn_and_keeps_what_it_said() {
    let endless = "data: {\"choices\": [{\"delta\": {\"content\": \"and \"}}]}\n\n";
    let (server, _) = model(vec![Box::new(move |_, _| {
        Reply::ok(endless)
            .header("Content-Type", "text/event-stream")
            .endless()
    })]);
    let mut chat = chat(ReplyFormat::OpenAi, &server, options());
    let cancel = CancellationToken::new();
    let pieces = Mutex::new(0);
    let on = |event: ChatEvent<'_>| {
        if let ChatEvent::Text(_) = event {
            let mut pieces = pieces.lock().unwrap();
            *pieces += 1;
            if *pieces == 3 {
                cancel.cancel();
            }
        }
    };
    let report = chat.turn("go", &cancel, &on).await.unwrap();
    assert_eq!(report.ending, Ending::Cancelled);
    let said = chat.history()[1]["content"].as_str().unwrap();
    assert!(said.starts_with("and and and"), "{said}");
}

#[tokio::test]
async fn a_reply_that_was_cut_short_says_so() {
    let (server, _) = model(vec![Box::new(|_, _| {
        sse(
            &[json!({"choices": [{"delta": {"content": "Hal"}, "finish_reason": "length"}]})],
            true,
        )
    })]);
    let mut chat = chat(ReplyFormat::OpenAi, &server, options());
    let report = turn(&mut chat, "go").await.report.unwrap();
    assert_eq!(report.ending, Ending::CutShort("length".to_owned()));
}

#[tokio::test]
async fn an_answer_that_is_not_a_stream_is_named_as_what_it_is() {
    for (kind, body, says) in [
        (
            "text/html; charset=utf-8",
            "<html>\n<title>sk-sentinel-123456</title>",
            "it is text/html and no stream, and begins with `<html> <title>[REDACTED]</title>`; check `--provider` and `--base-url`",
        ),
        (
            "text/plain",
            "It works!",
            "it is text/plain and no stream, and begins with `It works!`",
        ),
    ] {
        let (server, _) = model(vec![Box::new(move |_, _| {
            Reply::ok(body).header("Content-Type", kind)
        })]);
        let mut chat = chat(ReplyFormat::OpenAi, &server, options());
        let error = turn(&mut chat, "go").await.report.unwrap_err();
        assert_eq!(error.code(), ErrorCode::UpstreamError);
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[tokio::test]
async fn arguments_of_which_no_one_knows_what_is_meant_are_not_run() {
    // In the document itself: nothing of it is taken.
    let twice = "{\"message\": {\"role\": \"assistant\", \"content\": \"\", \"tool_calls\": [{\"function\": \
        {\"name\": \"echo\", \"arguments\": {\"text\": \"a\", \"text\": \"b\"}}}]}, \"done\": true}\n";
    let (server, _) = model(vec![Box::new(move |_, _| {
        Reply::ok(twice).header("Content-Type", "application/x-ndjson")
    })]);
    let mut ollama = chat(ReplyFormat::Ollama, &server, options());
    let error = turn(&mut ollama, "go").await.report.unwrap_err();
    assert!(error.to_string().contains("a key twice"), "{error}");
    // In its own text: the model is informed.
    let (server, _) = model(vec![
        Box::new(|_, _| {
            sse(
                &[
                    json!({"type": "content_block_start", "index": 0,
                        "content_block": {"type": "tool_use", "id": "t", "name": "echo", "input": {}}}),
                    json!({"type": "content_block_delta", "index": 0,
                        "delta": {"partial_json": "{\"text\": \"a\", \"text\": \"b\"}"}}),
                    json!({"type": "message_stop"}),
                ],
                false,
            )
        }),
        Box::new(|_, _| sse(&[json!({"type": "message_stop"})], false)),
    ]);
    let mut anthropic = chat(ReplyFormat::Anthropic, &server, options());
    let report = turn(&mut anthropic, "go").await.report.unwrap();
    assert_eq!(report.calls[0].code.as_deref(), Some("INVALID_ARGUMENTS"));
}

#[tokio::test]
async fn a_model_that_never_ends_is_given_up_and_the_key_it_repeats_is_not_shown() {
    let endless = "data: {\"choices\": [{\"delta\": {\"content\": \"sk-sentinel-\"}}]}\n\n\
        data: {\"choices\": [{\"delta\": {\"content\": \"123456 \"}}]}\n\n";
    let (server, _) = model(vec![Box::new(move |_, _| {
        Reply::ok(endless)
            .header("Content-Type", "text/event-stream")
            .slowly(50, Duration::from_millis(1))
            .endless()
    })]);
    let mut options = options();
    options.longest_reply = Duration::from_millis(300);
    let mut chat = chat(ReplyFormat::OpenAi, &server, options);
    let turned = turn(&mut chat, "go").await;
    let error = turned.report.unwrap_err();
    assert_eq!(error.code(), ErrorCode::Timeout, "{error}");
    assert!(turned.text.starts_with("[REDACTED] "), "{}", turned.text);
    assert!(!turned.text.contains("123456"), "{}", turned.text);
}

#[tokio::test]
async fn a_long_text_in_very_many_pieces_costs_its_length() {
    let piece = json!({"type": "content_block_delta", "index": 0, "delta": {"text": "0123456789"}});
    let count = 50_000;
    let events = format!("data: {piece}\n\n").repeat(count);
    let (server, _) = model(vec![Box::new(move |_, _| {
        Reply::ok(format!("{events}data: {{\"type\": \"message_stop\"}}\n\n"))
            .header("Content-Type", "text/event-stream")
    })]);
    let mut chat = chat(ReplyFormat::Anthropic, &server, options());
    assert_eq!(turn(&mut chat, "go").await.text.len(), 10 * count);
}

#[tokio::test]
async fn what_may_be_found_may_be_called() {
    let (server, _) = model(vec![
        Box::new(|body, _| match body["tools"].as_array() {
            None => calls_echo(),
            Some(_) => super::refused("no tool is given"),
        }),
        Box::new(|_, _| says("Done.")),
    ]);
    let registry = super::registry();
    let egress = toolcrib::egress::Egress::new(toolcrib::egress::EgressOptions::default()).unwrap();
    let endpoint =
        toolcrib::chat::Endpoint::new(ReplyFormat::OpenAi, Some(&server.url("/")), "m", None);
    let chat = toolcrib::chat::Chat::new(&registry, &egress, endpoint.unwrap(), [], options());
    let mut chat = chat.callable(["echo".to_owned()]);
    let report = turn(&mut chat, "go").await.report.unwrap();
    assert!(report.calls[0].ok, "{report:?}");
}
