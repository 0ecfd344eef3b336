//! `toolcrib answer`, the same in the library, on the command line and over HTTP; and `toolcrib chat`.

use std::io::Write as _;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib::CribOptions;
use toolcrib::answer::{AnswerOptions, answer};
use toolcrib::testing::{Reply, ScriptedServer};
use toolcrib::wire::ReplyFormat;

use crate::harness::Test;
use crate::serving::{PATIENCE, Serving};

fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

#[test]
fn a_reply_is_answered_alike_by_the_library_the_command_line_and_the_server() {
    let test = Test::new().file("notes.txt", "buy milk\n");
    let serving = Serving::start(&test);
    let crib = CribOptions::default()
        .home(test.home())
        .workspace(test.workspace())
        .open()
        .unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let read = json!({"path": "notes.txt"});
    let replies = [
        (
            "openai",
            json!({"choices": [{"message": {"role": "assistant", "content": null, "tool_calls": [
            call("a", "read_file", &read.to_string()), call("a", "raed_file", "{}"), call("b", "read_file", "{"),
            call("c", "read_file", "{\"path\": \"../x\"}")]}}]}),
        ),
        (
            "openai-responses",
            json!({"object": "response", "output": [
            {"type": "function_call", "call_id": "a", "name": "read_file", "arguments": read.to_string()}]}),
        ),
        (
            "anthropic",
            json!({"type": "message", "role": "assistant", "content": [{"type": "text", "text": "…"},
            {"type": "tool_use", "id": "t1", "name": "read_file", "input": read},
            {"type": "tool_use", "id": "t2", "name": "read_file", "input": {}}]}),
        ),
        (
            "ollama",
            json!({"model": "m", "done": true, "message": {"role": "assistant", "content": "", "tool_calls": [
            {"function": {"name": "read_file", "arguments": read}}]}}),
        ),
        (
            "gemini",
            json!({"candidates": [{"content": {"role": "model", "parts": [
            {"functionCall": {"id": "g", "name": "read_file", "args": read}}, {"functionCall": {"name": "x"}}]}}]}),
        ),
        ("openai", json!({"role": "assistant", "content": "hello"})),
    ];
    for (provider, reply) in replies {
        let format: ReplyFormat = provider.parse().unwrap();
        let options = AnswerOptions::default();
        let library = runtime
            .block_on(answer(crib.registry(), &reply, Some(format), &options))
            .unwrap();
        let library = json!(library.messages);
        let text = reply.to_string();
        for from in [provider, "auto"] {
            let ran = test
                .run_with_input(&["answer", "--from", from], &text)
                .exits(0);
            assert_eq!(ran.json(), library, "{from}");
            let ran = test
                .run_with_input(&["answer", "--from", from, "--json"], &text)
                .exits(0);
            assert_eq!(ran.json()["messages"], library, "{from}");
            let (status, body) = serving.post(&format!("/api/answer/{from}"), &reply);
            assert_eq!(
                (status, &body["messages"]),
                (200, &library),
                "{from}: {body}"
            );
            assert_eq!(body["provider"], provider);
            assert_eq!(
                body["calls"].as_array().map(Vec::len),
                ran.json()["calls"].as_array().map(Vec::len)
            );
        }
    }
    for (reply, says) in [
        (json!({"a": 1}), "not a reply from a known provider"),
        (
            json!([{"id": "x", "function": {"name": "y", "arguments": {}}}]),
            "`openai` or `ollama`",
        ),
        (json!({"error": {"message": "overloaded"}}), "overloaded"),
    ] {
        let ran = test
            .run_with_input(&["answer"], &reply.to_string())
            .exits(2);
        assert!(ran.stderr.contains(says), "{ran:?}");
        let (status, body) = serving.post("/api/answer/auto", &reply);
        assert_eq!(status, 400, "{body}");
        assert!(
            body["error"]["message"].as_str().unwrap().contains(says),
            "{body}"
        );
    }
    let anthropics = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "read_file", "input": {}}]});
    for from in ["openai", "ollama"] {
        let says = "it looks like one of `anthropic`";
        test.run_with_input(&["answer", "--from", from], &anthropics.to_string())
            .exits(2)
            .says(says);
        let (status, body) = serving.post(&format!("/api/answer/{from}"), &anthropics);
        assert_eq!(status, 400, "{body}");
        assert!(
            body["error"]["message"].to_string().contains(says),
            "{body}"
        );
    }
    assert_eq!(serving.post("/api/answer/nobody", &json!([])).0, 404);
    assert_eq!(serving.post("/api/answer/mcp", &json!([])).0, 404);
}

#[test]
fn a_reply_without_calls_says_so_beside_stdout() {
    let test = Test::new();
    let reply = json!({"role": "assistant", "content": "hello"}).to_string();
    let ran = test.run_with_input(&["answer"], &reply).exits(0);
    assert_eq!(ran.json(), json!([]));
    assert!(ran.stderr.contains("calls no tools"), "{ran:?}");
}

#[test]
fn what_needs_approval_is_a_result_unless_it_is_given() {
    let test = Test::new().file("old.txt", "old");
    let reply = json!([call(
        "a",
        "write_file",
        "{\"path\": \"old.txt\", \"content\": \"new\"}"
    )]);
    let ran = test
        .run_with_input(&["answer"], &reply.to_string())
        .exits(0);
    let content = ran.json()[0]["content"].as_str().unwrap().to_owned();
    assert!(content.starts_with("APPROVAL_UNAVAILABLE"), "{content}");
    assert!(!content.contains("--"), "{content}");
    assert!(ran.stderr.contains("pass `--yes`"), "{ran:?}");
    test.run_with_input(&["answer", "--yes"], &reply.to_string())
        .exits(0);
    let now = std::fs::read_to_string(test.workspace().join("old.txt")).unwrap();
    assert_eq!(now, "new");
}

#[test]
fn text_that_is_not_sound_json_is_a_usage_error() {
    let test = Test::new();
    let deep = "[".repeat(100_000);
    for text in ["{", "data: {}\n\n", "{\"a\": 1, \"a\": 2}", deep.as_str()] {
        let ran = test.run_with_input(&["answer"], text).exits(2);
        assert!(ran.stderr.contains("not valid JSON"), "{ran:?}");
    }
    test.run(&["answer", "nowhere.json"]).exits(2);
    for nothing in ["", " \n"] {
        test.run_with_input(&["answer"], nothing)
            .exits(2)
            .says("there is no reply: stdin is empty");
    }
}

#[test]
fn what_is_wrong_with_a_reply_is_said_in_its_own_words() {
    let test = Test::new();
    let reply = json!([{"id": "a", "type": "function", "function": {"arguments": "{}"}}]);
    test.run_with_input(&["answer"], &reply.to_string())
        .exits(0)
        .says("a call without a name failed");
    let refused = json!({"error": {"message": "no credit"}}).to_string();
    let ran = test
        .run_with_input(&["answer", "--from", "openai"], &refused)
        .exits(2)
        .says("the provider answered with an error, not with a reply: no credit");
    assert!(!ran.stderr.contains("--from"), "{ran:?}");
}

/// An OpenAI-compatible server that has a file written, then says `Done.`; and what it was asked.
fn scripted() -> (ScriptedServer, Arc<Mutex<Vec<Value>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let server = ScriptedServer::start(move |request| {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        seen.lock().unwrap().push(body.clone());
        let last = body["messages"]
            .as_array()
            .and_then(|messages| messages.last().cloned());
        let delta = match last.unwrap_or_default()["role"].as_str() {
            Some("tool") => json!({"content": "Done."}),
            _ => {
                json!({"content": "I write. ", "tool_calls": [{"index": 0, "id": "a", "function": {
                "name": "write_file", "arguments": "{\"path\": \"old.txt\", \"content\": \"new\"}"}}]})
            }
        };
        let event = json!({"choices": [{"delta": delta, "finish_reason": "stop"}]});
        Reply::ok(format!("data: {event}\n\ndata: [DONE]\n\n"))
            .header("Content-Type", "text/event-stream")
            .slowly(16, Duration::from_micros(20))
    });
    (server, asked)
}

#[test]
fn a_chat_streams_runs_tools_and_keeps_a_transcript_without_the_key() {
    let test = Test::new()
        .file("old.txt", "old")
        .variable("OPENAI_API_KEY", "sk-sentinel-123456");
    let (server, asked) = scripted();
    let url = server.url("/v1");
    let chat = [
        "chat",
        "--provider",
        "openai",
        "--model",
        "m",
        "--base-url",
        &url,
        "--key",
        "env:OPENAI_API_KEY",
    ];
    let denied = test
        .run(
            &[
                &chat[..],
                &["--no-input", "--transcript", "one.jsonl", "write"],
            ]
            .concat(),
        )
        .exits(0);
    assert_eq!(denied.stdout, "I write. \nDone.\n");
    assert!(
        denied.stderr.contains("✗ write_file: APPROVAL_UNAVAILABLE"),
        "{denied:?}"
    );
    assert!(
        denied.stderr.contains("transcript: one.jsonl"),
        "{denied:?}"
    );
    let content = asked.lock().unwrap()[1]["messages"][2]["content"].to_string();
    assert!(content.contains("APPROVAL_UNAVAILABLE"), "{content}");
    // How it could be approved is for the person.
    assert!(!content.contains("--yes"), "{content}");
    assert!(denied.stderr.contains("pass `--yes`"), "{denied:?}");
    let allowed = test
        .run(&[&chat[..], &["--no-input", "--yes", "--json", "write"]].concat())
        .exits(0)
        .json();
    assert_eq!(
        (&allowed["ending"], &allowed["text"]),
        (&json!("done"), &json!("Done."))
    );
    assert_eq!(allowed["calls"][0]["ok"], true);
    let now = std::fs::read_to_string(test.workspace().join("old.txt")).unwrap();
    assert_eq!(now, "new");
    let kept = std::fs::read_to_string(allowed["transcript"].as_str().unwrap()).unwrap();
    assert!(
        kept.contains("\"Done.\"") && !kept.contains("sentinel"),
        "{kept}"
    );
    // It goes on where it was, and only where the user says.
    let go_on = [
        "chat",
        "--no-input",
        "--continue",
        "one.jsonl",
        "--max-steps",
        "1",
    ];
    let ran = test.run(&[&go_on[..], &["more"]].concat()).exits(2);
    assert!(ran.stderr.contains("--base-url"), "{ran:?}");
    let ran = test
        .run(&[&go_on[..], &["--base-url", &url, "more"]].concat())
        .exits(1);
    assert!(ran.stderr.contains("stopped after 1 steps"), "{ran:?}");
    let goes_on = format!("chat --continue one.jsonl --base-url {url} 'Go on'` goes on");
    assert!(ran.stderr.contains(&goes_on), "{ran:?}");
    let ran = test.run(&["chat", "--continue", "none.jsonl", "more"]);
    let ran = ran.exits(2).says("the file that a chat names at its end");
    assert!(!ran.stderr.contains("doctor"), "{ran:?}");
    let messages = asked.lock().unwrap().last().unwrap()["messages"].clone();
    assert_eq!(messages.as_array().map(Vec::len), Some(5));
}

#[test]
fn a_chat_that_cannot_be_says_why() {
    let test = Test::new();
    let (server, _) = scripted();
    let url = server.url("/v1");
    let chat = ["chat", "--provider", "openai", "--model", "m", "--base-url"];
    let run = |words: &[&str]| test.run(&[&chat[..], words].concat());
    let ran = run(&[&url, "--key", "sk-plain-key", "hi"]).exits(2);
    assert!(!ran.stderr.contains("sk-plain-key"), "{ran:?}");
    run(&[&url, "--key", "env:NOWHERE", "hi"]).exits(2);
    run(&["nonsense", "hi"]).exits(2);
    run(&[&url, "--tools", "nothing", "hi"]).exits(3);
    for (status, hint) in [
        (401, "`--key secret:NAME`"),
        (404, "`--model` names the model"),
        (400, "`--base-url`"),
    ] {
        let refusing = ScriptedServer::start(move |_| {
            Reply::status(status)
                .body("<html>no</html>")
                .header("Content-Type", "text/html")
        });
        let ran = run(&[&refusing.url("/v1"), "hi"]).exits(8).says(hint);
        assert!(ran.stderr.contains("to go on: toolcrib "), "{ran:?}");
        assert!(!ran.stderr.contains("upstream test"), "{ran:?}");
    }
    drop(server);
    let ran = run(&[&url, "hi"]).exits(8);
    assert!(ran.stderr.contains("is the server running"), "{ran:?}");
}

#[test]
fn a_model_that_takes_its_time_is_waited_for_visibly() {
    let test = Test::new();
    let server = ScriptedServer::start(|_| {
        let event = json!({"choices": [{"delta": {"content": "Hi."}, "finish_reason": "stop"}]});
        Reply::ok(format!("data: {event}\n\n"))
            .header("Content-Type", "text/event-stream")
            .after(Duration::from_secs(1))
    });
    let url = server.url("/v1");
    let words = ["chat", "--provider", "openai", "--model", "slowpoke"];
    let words = [&words[..], &["--base-url", &url, "hi"]].concat();
    let mut terminal = test.on_terminal(&words);
    terminal.sees("slowpoke · ");
    terminal.sees("Hi.");
    assert_eq!(terminal.ends().0, 0);
}

#[test]
fn a_chat_that_is_killed_leaves_a_transcript_that_can_be_read() {
    let test = Test::new();
    let endless = "data: {\"choices\": [{\"delta\": {\"content\": \"and \"}}]}\n\n";
    let server = ScriptedServer::start(move |_| {
        Reply::ok(endless)
            .header("Content-Type", "text/event-stream")
            .slowly(1000, Duration::from_millis(5))
            .endless()
    });
    let url = server.url("/v1");
    let words = [
        "chat",
        "--provider",
        "openai",
        "--model",
        "m",
        "--base-url",
        &url,
    ];
    let mut child = test
        .command()
        .args(words)
        .args(["--no-input", "--transcript", "t.jsonl", "go"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut first = [0; 4];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut first).unwrap();
    assert_eq!(&first, b"and ");
    child.kill().unwrap();
    child.wait().unwrap();
    let turns = toolcrib::chat::Turns::read(&test.workspace().join("t.jsonl")).unwrap();
    assert_eq!(turns.messages, [json!({"role": "user", "content": "go"})]);
}

#[test]
fn being_interrupted_ends_the_turn_and_keeps_what_was_said() {
    let test = Test::new();
    let endless = "data: {\"choices\": [{\"delta\": {\"content\": \"and \"}}]}\n\n";
    let server = ScriptedServer::start(move |_| {
        Reply::ok(endless)
            .header("Content-Type", "text/event-stream")
            .slowly(1000, Duration::from_millis(5))
            .endless()
    });
    let url = server.url("/v1");
    let words = [
        "chat",
        "--provider",
        "openai",
        "--model",
        "m",
        "--base-url",
        &url,
    ];
    let mut child = test
        .command()
        .args(words)
        .args(["--transcript", "t.jsonl"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    let mut first = [0; 4];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut first).unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let until = Instant::now() + PATIENCE;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(Instant::now() < until, "it does not end");
        std::thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(status.code(), Some(130));
    let turns = toolcrib::chat::Turns::read(&test.workspace().join("t.jsonl")).unwrap();
    assert_eq!(turns.messages.len(), 2);
}

#[test]
fn a_providers_key_in_the_environment_is_for_the_provider_alone() {
    let test = Test::new().variable("OPENAI_API_KEY", "sk-sentinel-123456");
    let sent = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&sent);
    let server = ScriptedServer::start(move |request| {
        let key = request.header("authorization").map(str::to_owned);
        seen.lock().unwrap().push(key);
        let event = json!({"choices": [{"delta": {"content": "Hi."}, "finish_reason": "stop"}]});
        Reply::ok(format!("data: {event}\n\n")).header("Content-Type", "text/event-stream")
    });
    let url = server.url("/v1");
    let chat = ["chat", "--provider", "openai", "--model", "m", "--base-url"];
    let run = |words: &[&str]| test.run(&[&chat[..], &[&url], words].concat()).exits(0);
    let ran = run(&["hi"]);
    assert!(
        ran.stderr.contains("`--key env:OPENAI_API_KEY` sends it"),
        "{ran:?}"
    );
    run(&["--key", "env:OPENAI_API_KEY", "hi"]);
    let sent = sent.lock().unwrap();
    assert_eq!(*sent, [None, Some("Bearer sk-sentinel-123456".to_owned())]);
}

#[test]
fn too_many_tools_for_a_model_are_found_rather_than_given() {
    let test = Test::new()
        .file("old.txt", "old")
        .config("[mcp]\ntokenBudget = 100\npinned = [\"read_file\"]\n");
    let (server, asked) = scripted();
    let url = server.url("/v1");
    let chat = ["chat", "--provider", "openai", "--model", "m", "--base-url"];
    let run =
        |words: &[&str]| test.run(&[&chat[..], &[&url, "--no-input", "--yes"], words].concat());
    let given = || -> Vec<String> {
        let asked = asked.lock().unwrap();
        let tools = asked.last().unwrap()["tools"].as_array().cloned();
        let names = tools.into_iter().flatten();
        names
            .map(|tool| tool["function"]["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let ran = run(&["go"]).exits(0);
    assert!(ran.stderr.contains("mcp.tokenBudget"), "{ran:?}");
    let few = [
        "read_file",
        "find_tools",
        "call_read_tool",
        "call_write_tool",
        "call_tool",
        "read_result",
    ];
    assert_eq!(given(), few);
    // What the model found it may call by its name, too.
    let now = std::fs::read_to_string(test.workspace().join("old.txt")).unwrap();
    assert_eq!(now, "new");
    // Only the named tools are given and called.
    let ran = run(&["--tools", "read_file,shell", "go"]).exits(0);
    assert_eq!(given(), ["read_file", "shell", "read_result"]);
    assert!(ran.stderr.contains("`--tools` offers fewer"), "{ran:?}");
    assert!(ran.stderr.contains("TOOL_NOT_FOUND"), "{ran:?}");
    let ran = test.run(&["schema", "--provider", "openai"]).exits(0);
    assert!(ran.stderr.contains("mcp.tokenBudget"), "{ran:?}");
}

#[test]
fn an_empty_prompt_is_not_sent() {
    let test = Test::new();
    let words = ["chat", "--provider", "ollama", "--model", "m", " "];
    let ran = test.run(&words).exits(2);
    assert!(ran.stderr.contains("the prompt is empty"), "{ran:?}");
}

#[test]
fn a_chat_says_what_it_lacks_before_it_goes_anywhere_and_takes_it_from_the_settings() {
    let test = Test::new();
    test.run(&["chat", "hi"])
        .exits(2)
        .says("toolcrib config set chat.provider anthropic");
    test.run(&["chat", "--provider", "openai", "hi"])
        .exits(2)
        .says("toolcrib config set chat.model NAME");
    test.run(&["chat", "--provider", "openai", "--model", "m", "hi"])
        .exits(2)
        .says("the variable `OPENAI_API_KEY` is not set")
        .says("toolcrib secret set OPENAI_API_KEY --host api.openai.com");
    let (server, _) = scripted();
    let url = server.url("/v1");
    for (key, value) in [
        ("chat.provider", "openai"),
        ("chat.model", "m"),
        ("chat.baseUrl", &url),
    ] {
        test.run(&["config", "set", key, value]).exits(0);
    }
    let ran = test.run(&["chat", "--no-tools", "hi"]);
    assert!(!ran.stderr.contains("not set"), "{ran:?}");
    // The settings belong to the provider that is set.
    test.run(&["chat", "--provider", "anthropic", "hi"])
        .exits(2)
        .says("no model");
}
