//! A model's reply in, the messages that answer it out: every provider, and hostile replies.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib::answer::{AnswerOptions, Answered, answer};
use toolcrib::wire::{ReplyError, ReplyFormat};
use toolcrib::{FnTool, Registry, ToolError};

use crate::golden;

#[derive(Deserialize, JsonSchema)]
struct Echo {
    /// What to say.
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Count {
    /// The number.
    n: u64,
}

/// `echo` says its `text`, `add` gives an object, `fail` fails, `huge` says much.
fn registry() -> Registry {
    let registry = Registry::new();
    let echo = FnTool::new("echo", "Says its text", |args: Echo, _cx| async move {
        Ok(args.text)
    });
    registry.register(echo.unwrap()).unwrap();
    let sum = FnTool::new("sum", "Gives an object", |(), _cx| async {
        Ok(json!({"sum": 3}))
    });
    registry.register(sum.unwrap()).unwrap();
    let fail = FnTool::new("fail", "Fails", |(), _cx| async {
        Err::<Value, _>(ToolError::failed("no luck").into())
    });
    registry.register(fail.unwrap()).unwrap();
    let huge = FnTool::new("huge", "Says much", |(), _cx| async {
        Ok("x".repeat(300_000))
    });
    registry.register(huge.unwrap()).unwrap();
    registry
}

async fn answered(reply: &Value, format: Option<ReplyFormat>) -> Answered {
    let options = AnswerOptions::default();
    answer(&registry(), reply, format, &options).await.unwrap()
}

/// The same three calls, as each provider's whole answer: two that succeed, and one in the middle that fails.
fn replies() -> [(ReplyFormat, Value); 5] {
    let calls = [
        ("echo", json!({"text": "hello"})),
        ("fail", json!({})),
        ("sum", json!({})),
    ];
    let with = |make: &dyn Fn(usize, &str, &Value) -> Value| -> Vec<Value> {
        let calls = calls.iter().enumerate();
        calls
            .map(|(at, (name, args))| make(at, name, args))
            .collect()
    };
    let openai = with(&|at, name, args| {
        json!({"id": format!("call_{at}"), "type": "function",
            "function": {"name": name, "arguments": args.to_string()}})
    });
    let responses = with(&|at, name, args| {
        json!({"type": "function_call", "id": format!("fc_{at}"), "call_id": format!("call_{at}"),
            "name": name, "arguments": args.to_string(), "status": "completed"})
    });
    let anthropic = with(
        &|at, name, args| json!({"type": "tool_use", "id": format!("toolu_{at}"), "name": name, "input": args}),
    );
    let ollama = with(&|_, name, args| json!({"function": {"name": name, "arguments": args}}));
    let gemini = with(
        &|at, name, args| json!({"functionCall": {"id": format!("g{at}"), "name": name, "args": args}}),
    );
    let mut content = vec![json!({"type": "text", "text": "Let me see."})];
    content.extend(anthropic);
    let mut output = vec![json!({"type": "reasoning", "id": "rs_1", "summary": []})];
    output.extend(responses);
    [
        (
            ReplyFormat::OpenAi,
            json!({"id": "chatcmpl-1", "object": "chat.completion", "model": "m", "choices": [
                {"index": 0, "finish_reason": "tool_calls",
                 "message": {"role": "assistant", "content": null, "tool_calls": openai}}]}),
        ),
        (
            ReplyFormat::OpenAiResponses,
            json!({"id": "resp_1", "object": "response", "status": "completed", "error": null, "output": output}),
        ),
        (
            ReplyFormat::Anthropic,
            json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content,
                "stop_reason": "tool_use"}),
        ),
        (
            ReplyFormat::Ollama,
            json!({"model": "m", "created_at": "2026-11-16T00:00:00Z", "done": true,
                "message": {"role": "assistant", "content": "", "tool_calls": ollama}}),
        ),
        (
            ReplyFormat::Gemini,
            json!({"candidates": [{"content": {"role": "model", "parts": gemini}, "finishReason": "STOP"}]}),
        ),
    ]
}

#[tokio::test]
async fn every_provider_is_answered_in_its_own_messages_and_recognised() {
    for (format, reply) in replies() {
        let named = answered(&reply, Some(format)).await;
        golden::assert_json(
            &format!("wire/answer_{format}.json"),
            &json!(named.messages),
        );
        let ok: Vec<bool> = named.calls.iter().map(|call| call.ok).collect();
        assert_eq!(ok, [true, false, true], "{format}");
        let found = answered(&reply, None).await;
        assert_eq!(
            (found.provider, found.messages),
            (named.provider, named.messages)
        );
    }
}

/// The message in an answer, a conversation that ends with it, and the bare list of calls.
#[tokio::test]
async fn replies_come_in_several_wrappings() {
    let [
        (_, openai),
        (_, responses),
        (_, anthropic),
        (_, ollama),
        (_, gemini),
    ] = replies();
    let message = &openai["choices"][0]["message"];
    let user = json!({"role": "user", "content": "hi"});
    for (format, whole, forms) in [
        (
            ReplyFormat::OpenAi,
            &openai,
            vec![
                openai["choices"][0].clone(),
                message.clone(),
                json!([user, message]),
                message["tool_calls"].clone(),
            ],
        ),
        (
            ReplyFormat::OpenAiResponses,
            &responses,
            vec![responses["output"].clone()],
        ),
        (
            ReplyFormat::Anthropic,
            &anthropic,
            vec![json!([user, anthropic]), anthropic["content"].clone()],
        ),
        (
            ReplyFormat::Ollama,
            &ollama,
            vec![
                ollama["message"].clone(),
                json!([user, ollama["message"]]),
                ollama["message"]["tool_calls"].clone(),
            ],
        ),
        (
            ReplyFormat::Gemini,
            &gemini,
            vec![
                gemini["candidates"][0]["content"].clone(),
                json!([{"role": "user", "parts": [{"text": "hi"}]}, gemini["candidates"][0]["content"]]),
                gemini["candidates"][0]["content"]["parts"].clone(),
            ],
        ),
    ] {
        let expected = answered(whole, Some(format)).await.messages;
        for form in forms {
            assert_eq!(
                answered(&form, Some(format)).await.messages,
                expected,
                "{form}"
            );
            assert_eq!(answered(&form, None).await.messages, expected, "{form}");
        }
    }
}

#[tokio::test]
async fn calls_that_a_conversation_answers_already_are_not_made_again() {
    for (format, reply) in replies() {
        let first = answered(&reply, Some(format)).await.messages;
        let said = match format {
            ReplyFormat::OpenAi => vec![reply["choices"][0]["message"].clone()],
            ReplyFormat::OpenAiResponses => reply["output"].as_array().unwrap().clone(),
            ReplyFormat::Anthropic => vec![reply],
            ReplyFormat::Ollama => vec![reply["message"].clone()],
            ReplyFormat::Gemini => vec![reply["candidates"][0]["content"].clone()],
        };
        let conversation: Vec<Value> = said.into_iter().chain(first).collect();
        let again = answered(&json!(conversation), Some(format)).await;
        assert_eq!(again.messages, [] as [Value; 0], "{format}");
    }
}

#[tokio::test]
async fn hostile_calls_are_all_answered_with_what_to_do() {
    let call = |id: Value, name: Value, arguments: Value| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let deep = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
    let calls = [
        (
            call(json!("a"), json!("echo"), json!("{\"text\": \"x")),
            "not valid JSON",
        ),
        (
            call(json!("a"), json!("echo"), json!("[1, 2]")),
            "JSON object",
        ),
        (call(json!(null), json!("echo"), json!(7)), "JSON object"),
        (
            call(json!(5), json!("ecco"), json!("{}")),
            "did you mean `echo`?",
        ),
        (call(json!({}), json!(null), json!("{}")), "names no tool"),
        (call(json!(""), json!("echo"), json!("{}")), "text"),
        (
            call(json!("b"), json!("echo"), json!(deep)),
            "not valid JSON",
        ),
        (
            call(
                json!("b"),
                json!("echo"),
                json!("{\"text\": 1, \"text\": \"x\"}"),
            ),
            "twice",
        ),
        (json!(3), "names no tool"),
        (json!(null), "names no tool"),
        (
            json!({"id": "c", "type": "custom", "custom": {"name": "echo", "input": "hi"}}),
            "not text",
        ),
        (
            call(json!("ok"), json!("echo"), json!("{\"text\": \"fine\"}")),
            "fine",
        ),
    ];
    let reply: Vec<&Value> = calls.iter().map(|(call, _)| call).collect();
    let made = answered(&json!(reply), Some(ReplyFormat::OpenAi)).await;
    assert_eq!(made.messages.len(), calls.len());
    for (message, (call, says)) in made.messages.iter().zip(&calls) {
        assert_eq!(message["role"], "tool");
        let id = message["tool_call_id"].as_str().unwrap();
        assert!(!id.is_empty());
        if let Some(given) = call["id"].as_str().filter(|id| !id.is_empty()) {
            assert_eq!(id, given);
        }
        let content = message["content"].as_str().unwrap();
        assert!(content.contains(says), "{content} of {call}");
    }
    let failed = made.calls.iter().filter(|call| !call.ok).count();
    assert_eq!(failed, calls.len() - 1);
}

#[tokio::test]
async fn a_thousand_calls_run_together_in_order_and_not_all_at_once() {
    let registry = Registry::new();
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (inside, peak) = (Arc::clone(&now), Arc::clone(&most));
    let count = FnTool::new("count", "Counts", move |args: Count, _cx| {
        let (inside, peak) = (Arc::clone(&inside), Arc::clone(&peak));
        async move {
            let running = inside.fetch_add(1, Ordering::SeqCst) + 1;
            peak.fetch_max(running, Ordering::SeqCst);
            tokio::task::yield_now().await;
            inside.fetch_sub(1, Ordering::SeqCst);
            Ok(args.n)
        }
    });
    registry.register(count.unwrap()).unwrap();
    let blocks: Vec<Value> = (0..1000)
        .map(|n| json!({"type": "tool_use", "id": format!("t{n}"), "name": "count", "input": {"n": n}}))
        .collect();
    let options = AnswerOptions::default();
    let reply = json!({"role": "assistant", "content": blocks});
    let made = answer(&registry, &reply, None, &options);
    let made = made.await.unwrap();
    assert_eq!(made.messages.len(), 1);
    let results = made.messages[0]["content"].as_array().unwrap();
    assert_eq!(results.len(), 1000);
    for (n, result) in results.iter().enumerate() {
        assert_eq!(result["tool_use_id"], format!("t{n}"));
        assert_eq!(result["content"], n.to_string());
    }
    let most = most.load(Ordering::SeqCst);
    assert!((2..=options.parallel).contains(&most), "{most} at once");
}

#[tokio::test]
async fn results_are_bounded_with_a_mark() {
    let reply = json!([{"function": {"name": "huge", "arguments": {}}}]);
    let made = answered(&reply, Some(ReplyFormat::Ollama)).await;
    let content = made.messages[0]["content"].as_str().unwrap();
    assert!(content.len() < 101_000, "{}", content.len());
    assert!(
        content.contains("characters left out"),
        "{}",
        &content[75_000..75_200]
    );
}

#[tokio::test]
async fn a_tool_that_was_not_offered_is_not_called() {
    let options = AnswerOptions {
        offered: Some(Arc::from(["echo".to_owned()])),
        ..AnswerOptions::default()
    };
    let reply = json!([{"function": {"name": "sum", "arguments": {}}}]);
    let made = answer(&registry(), &reply, Some(ReplyFormat::Ollama), &options).await;
    assert_eq!(
        made.unwrap().calls[0].code.as_deref(),
        Some("TOOL_NOT_FOUND")
    );
}

#[tokio::test]
async fn a_reply_without_calls_has_no_answer() {
    for reply in [
        json!({"role": "assistant", "content": "hello"}),
        json!({"choices": [{"message": {"role": "assistant", "content": "hello"}}]}),
        json!({"type": "message", "role": "assistant", "content": [{"type": "text", "text": "hi"}]}),
        json!({"object": "response", "output": []}),
        json!({"candidates": []}),
        json!([]),
        json!([{"role": "user", "content": "hi"}]),
    ] {
        let made = answered(&reply, None).await;
        assert_eq!((made.messages.len(), made.calls.len()), (0, 0), "{reply}");
    }
}

#[tokio::test]
async fn input_that_is_not_a_reply_or_could_be_two_is_said() {
    let registry = registry();
    let fail = async |reply: Value, format| {
        let options = AnswerOptions::default();
        answer(&registry, &reply, format, &options)
            .await
            .unwrap_err()
    };
    let both = json!([{"id": "x", "function": {"name": "echo", "arguments": {"text": "a"}}}]);
    let ambiguous = fail(both, None).await;
    assert_eq!(
        ambiguous,
        ReplyError::Ambiguous(vec![ReplyFormat::OpenAi, ReplyFormat::Ollama])
    );
    assert_eq!(
        ambiguous.to_string(),
        "this could be a reply of `openai` or `ollama`; say whose it is"
    );
    for odd in [
        json!(3),
        json!("text"),
        json!(null),
        json!({}),
        json!({"a": 1}),
        json!([1]),
    ] {
        let error = fail(odd.clone(), None).await;
        assert!(
            matches!(error, ReplyError::Unknown { .. }),
            "{odd}: {error}"
        );
        assert!(error.to_string().contains("`gemini`"), "{error}");
    }
    let [(_, openai), ..] = replies();
    let error = fail(openai, Some(ReplyFormat::Anthropic)).await;
    assert_eq!(
        error.to_string(),
        "this is not a reply from anthropic: it has no `content`; it looks like one of `openai`"
    );
    let refused =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let error = fail(refused, None).await;
    assert!(
        error.to_string().ends_with("not with a reply: Overloaded"),
        "{error}"
    );
    let piece = json!({"choices": [{"delta": {"content": "a"}}]});
    let error = fail(piece, None).await;
    assert!(
        error.to_string().contains("merge the pieces first"),
        "{error}"
    );
}

#[tokio::test]
async fn calls_are_not_lost_by_naming_the_wrong_provider() {
    use ReplyFormat::{Anthropic, Gemini, Ollama, OpenAi, OpenAiResponses};
    let block = json!({"type": "tool_use", "id": "a", "name": "echo", "input": {"text": "x"}});
    let message = json!({"role": "assistant", "content": [block]});
    let item = json!({"type": "function_call", "call_id": "a", "name": "echo", "arguments": "{}"});
    let part = json!({"functionCall": {"name": "echo", "args": {}}});
    let call =
        json!({"id": "a", "type": "function", "function": {"name": "echo", "arguments": "{}"}});
    for (reply, named, is) in [
        (message.clone(), OpenAi, Anthropic),
        (message.clone(), Ollama, Anthropic),
        (json!([message]), OpenAi, Anthropic),
        // As calls of OpenAI's they would run without their arguments.
        (json!([block]), OpenAi, Anthropic),
        (json!([item]), Ollama, OpenAiResponses),
        (json!([item]), Anthropic, OpenAiResponses),
        (json!([part]), OpenAiResponses, Gemini),
        (json!([call]), Anthropic, OpenAi),
        (json!([call]), Gemini, OpenAi),
    ] {
        let options = AnswerOptions::default();
        let error = answer(&registry(), &reply, Some(named), &options).await;
        let error = error.unwrap_err().to_string();
        let says = format!("it looks like one of `{is}`");
        assert!(error.ends_with(&says), "{reply} as {named}: {error}");
    }
    // What calls nothing is no one's in particular, and Ollama's calls are read as OpenAI's.
    let text = json!({"role": "assistant", "content": [{"type": "text", "text": "hello"}]});
    for named in [OpenAi, Ollama, Anthropic] {
        assert!(answered(&text, Some(named)).await.calls.is_empty());
    }
    let bare = json!([{"function": {"name": "echo", "arguments": {"text": "x"}}}]);
    assert!(answered(&bare, Some(OpenAi)).await.calls[0].ok);
}

/// Each entry of a list would get an answer: millions of them are millions of answers.
#[tokio::test]
async fn a_reply_longer_than_any_models_is_refused_and_long_arguments_are_not() {
    for reply in [
        json!(vec![json!([]); 10_001]),
        json!({"role": "assistant", "content": vec![json!({}); 10_001]}),
        json!({"choices": [{"message": {"role": "assistant", "tool_calls": vec![json!({}); 10_001]}}]}),
    ] {
        for format in [None, Some(ReplyFormat::OpenAi)] {
            let refused = answer(&registry(), &reply, format, &AnswerOptions::default()).await;
            let said = refused.unwrap_err().to_string();
            assert!(said.contains("a list in it has 10001 entries"), "{said}");
        }
    }
    let input = json!({"numbers": vec![1; 20_000]});
    let reply = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "sum", "input": input}]});
    let answered = answer(&registry(), &reply, None, &AnswerOptions::default()).await;
    assert_eq!(answered.unwrap().calls.len(), 1);
}

#[tokio::test]
async fn more_calls_than_anybody_makes_are_answered_and_not_made() {
    let calls: Vec<Value> = (0..5)
        .map(|n| json!({"type": "tool_use", "id": format!("t{n}"), "name": "sum", "input": {}}))
        .collect();
    let reply = json!({"role": "assistant", "content": calls});
    let options = AnswerOptions {
        max_calls: 3,
        ..AnswerOptions::default()
    };
    let answered = answer(&registry(), &reply, None, &options).await.unwrap();
    let ok: Vec<bool> = answered.calls.iter().map(|call| call.ok).collect();
    assert_eq!(ok, [true, true, true, false, false]);
    let last = answered.messages[0]["content"][4]["content"].to_string();
    assert!(last.contains("3 calls are made at most"), "{last}");
}
