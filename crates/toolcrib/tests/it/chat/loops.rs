//! The whole loop for each provider: two calls at once, one of which fails, then an answer.

use serde_json::{Value, json};
use toolcrib::chat::Ending;
use toolcrib::testing::Reply;
use toolcrib::wire::ReplyFormat;

use super::{chat, model, options, refused, sse, turn};

/// Refuses a request unless everything in it is so.
macro_rules! insist {
    ($($is:expr),* $(,)?) => { $(if !$is { return refused(stringify!($is)); })* };
}

fn delta(delta: Value, finish: Value) -> Value {
    json!({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
}

#[tokio::test]
async fn openai_streams_text_and_pieces_of_parallel_calls() {
    let piece = |index: u64, id: Option<&str>, name: Option<&str>, arguments: &str| {
        let mut call = json!({"index": index, "function": {"arguments": arguments}});
        if let (Some(id), Some(name)) = (id, name) {
            call["id"] = id.into();
            call["type"] = "function".into();
            call["function"]["name"] = name.into();
        }
        delta(json!({"tool_calls": [call]}), Value::Null)
    };
    let (server, asked) = model(vec![
        Box::new(move |body, request| {
            insist!(
                request.method == "POST",
                request.target == "/v1/chat/completions",
                request.header("authorization") == Some("Bearer sk-sentinel-123456"),
                request.header("content-type") == Some("application/json"),
                body["model"] == "m",
                body["stream"] == true,
                body["messages"]
                    == json!([
                    {"role": "system", "content": "be brief"}, {"role": "user", "content": "go"}]),
                body["tools"][0]["type"] == "function",
                body["tools"].as_array().map(Vec::len) == Some(2),
            );
            sse(
                &[
                    delta(json!({"role": "assistant", "content": ""}), Value::Null),
                    delta(json!({"content": "Let me söe"}), Value::Null),
                    piece(0, Some("call_a"), Some("echo"), ""),
                    piece(0, None, None, "{\"text\": \"o"),
                    piece(1, Some("call_b"), Some("fail"), "{}"),
                    piece(0, None, None, "ne\"}"),
                    delta(json!({}), json!("tool_calls")),
                    json!({"choices": [], "usage": {"total_tokens": 3}}),
                ],
                true,
            )
        }),
        Box::new(|body, _| {
            let messages = &body["messages"];
            insist!(
                messages.as_array().map(Vec::len) == Some(5),
                messages[2]["role"] == "assistant",
                messages[2]["tool_calls"][0]["id"] == "call_a",
                messages[2]["tool_calls"][0]["type"] == "function",
                messages[2]["tool_calls"][0]["function"]["arguments"] == "{\"text\": \"one\"}",
                messages[3] == json!({"role": "tool", "tool_call_id": "call_a", "content": "one"}),
                messages[4]["tool_call_id"] == "call_b",
                messages[4]["content"]
                    .as_str()
                    .is_some_and(|text| text.contains("no luck")),
            );
            sse(&[delta(json!({"content": "Done."}), json!("stop"))], true)
        }),
    ]);
    let mut options = options();
    options.system = Some("be brief".to_owned());
    let mut chat = chat(ReplyFormat::OpenAi, &server, options);
    let turned = turn(&mut chat, "go").await;
    let report = turned.report.unwrap();
    assert_eq!((report.ending, report.steps), (Ending::Done, 2));
    assert_eq!(turned.text, "Let me söeDone.");
    assert_eq!(asked.lock().unwrap().len(), 2);
    assert_eq!(turned.messages, chat.history());
    let ok: Vec<bool> = report.calls.iter().map(|call| call.ok).collect();
    assert_eq!(ok, [true, false]);
}

#[tokio::test]
async fn anthropic_streams_blocks_and_gets_one_message_of_results() {
    let (server, _) = model(vec![
        Box::new(|body, request| {
            insist!(
                request.target == "/v1/messages",
                request.header("x-api-key") == Some("sk-sentinel-123456"),
                request.header("anthropic-version").is_some(),
                request.header("authorization").is_none(),
                body["max_tokens"].as_u64().is_some_and(|most| most > 0),
                body["system"] == "be brief",
                body["messages"] == json!([{"role": "user", "content": "go"}]),
                body["tools"][0]["input_schema"]["type"] == "object",
            );
            sse(
                &[
                    json!({"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}}),
                    json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
                    json!({"type": "ping"}),
                    json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Let me "}}),
                    json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "see"}}),
                    json!({"type": "content_block_stop", "index": 0}),
                    json!({"type": "content_block_start", "index": 1,
                        "content_block": {"type": "tool_use", "id": "toolu_a", "name": "echo", "input": {}}}),
                    json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{\"te"}}),
                    json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "xt\": \"one\"}"}}),
                    json!({"type": "content_block_stop", "index": 1}),
                    json!({"type": "content_block_start", "index": 2,
                        "content_block": {"type": "tool_use", "id": "toolu_b", "name": "echo", "input": {}}}),
                    json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "{\"broken"}}),
                    json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
                    json!({"type": "message_stop"}),
                ],
                false,
            )
        }),
        Box::new(|body, _| {
            let messages = &body["messages"];
            let results = &messages[2]["content"];
            insist!(
                messages.as_array().map(Vec::len) == Some(3),
                messages[1]["content"][0] == json!({"type": "text", "text": "Let me see"}),
                messages[1]["content"][1]["input"] == json!({"text": "one"}),
                // What could not be read goes back as something that can be.
                messages[1]["content"][2]["input"] == json!({}),
                messages[2]["role"] == "user",
                results[0]
                    == json!({"type": "tool_result", "tool_use_id": "toolu_a", "content": "one"}),
                results[1]["tool_use_id"] == "toolu_b",
                results[1]["is_error"] == true,
                results[1]["content"]
                    .as_str()
                    .is_some_and(|text| text.contains("not valid JSON")),
            );
            sse(
                &[
                    json!({"type": "message_start", "message": {}}),
                    json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Done."}}),
                    json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
                    json!({"type": "message_stop"}),
                ],
                false,
            )
        }),
    ]);
    let mut options = options();
    options.system = Some("be brief".to_owned());
    let mut chat = chat(ReplyFormat::Anthropic, &server, options);
    let turned = turn(&mut chat, "go").await;
    assert_eq!(turned.report.unwrap().ending, Ending::Done);
    assert_eq!(turned.text, "Let me seeDone.");
}

#[tokio::test]
async fn ollama_streams_lines_and_gets_the_names_of_tools() {
    let lines = |lines: &[Value]| {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        Reply::ok(text)
            .header("Content-Type", "application/x-ndjson")
            .slowly(23, std::time::Duration::from_micros(50))
    };
    let (server, _) = model(vec![
        Box::new(move |body, request| {
            insist!(
                request.target == "/api/chat",
                body["stream"] == true,
                body["messages"] == json!([{"role": "user", "content": "go"}]),
                body["tools"][0]["function"]["parameters"]["type"] == "object",
            );
            lines(&[
                json!({"model": "m", "message": {"role": "assistant", "content": "Let "}, "done": false}),
                json!({"model": "m", "message": {"role": "assistant", "content": "me see", "thinking": "hm"}, "done": false}),
                json!({"model": "m", "message": {"role": "assistant", "content": "", "tool_calls": [
                    {"function": {"name": "echo", "arguments": {"text": "one"}}},
                    {"function": {"name": "nothing", "arguments": {}}}]}, "done": false}),
                json!({"model": "m", "message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop"}),
            ])
        }),
        Box::new(move |body, _| {
            let messages = &body["messages"];
            insist!(
                messages[1]["content"] == "Let me see",
                messages[1]["tool_calls"][0]["function"]["arguments"] == json!({"text": "one"}),
                messages[2] == json!({"role": "tool", "tool_name": "echo", "content": "one"}),
                messages[3]["tool_name"] == "nothing",
                messages[3]["content"]
                    .as_str()
                    .is_some_and(|text| text.starts_with("TOOL_NOT_FOUND")),
            );
            lines(&[json!({"message": {"role": "assistant", "content": "Done."}, "done": true})])
        }),
    ]);
    let mut chat = chat(ReplyFormat::Ollama, &server, options());
    let turned = turn(&mut chat, "go").await;
    assert_eq!(turned.report.unwrap().ending, Ending::Done);
    assert_eq!(turned.text, "Let me seeDone.");
}

#[tokio::test]
async fn the_responses_api_gets_items_back_without_ids() {
    let (server, _) = model(vec![
        Box::new(|body, request| {
            insist!(
                request.target == "/v1/responses",
                body["store"] == false,
                body["input"] == json!([{"role": "user", "content": "go"}]),
                body["tools"][0]["name"].is_string(),
                body["tools"][0]["strict"] == false,
            );
            let call = json!({"type": "function_call", "id": "fc_1", "call_id": "call_a", "name": "echo",
                "arguments": "{\"text\":\"one\"}", "status": "completed"});
            let thought = json!({"type": "reasoning", "id": "rs_1", "summary": []});
            sse(
                &[
                    json!({"type": "response.created", "response": {"status": "in_progress"}}),
                    json!({"type": "response.output_item.done", "output_index": 0, "item": thought}),
                    json!({"type": "response.function_call_arguments.delta", "delta": "{\"te"}),
                    json!({"type": "response.output_item.done", "output_index": 1, "item": call}),
                    json!({"type": "response.completed", "response": {"status": "completed", "output": [thought, call]}}),
                ],
                false,
            )
        }),
        Box::new(|body, _| {
            insist!(
                body["input"][1]
                    == json!({"type": "function_call", "call_id": "call_a", "name": "echo",
                    "arguments": "{\"text\":\"one\"}"}),
                body["input"][2]
                    == json!({"type": "function_call_output", "call_id": "call_a", "output": "one"}),
            );
            sse(
                &[
                    json!({"type": "response.output_text.delta", "delta": "Done."}),
                    json!({"type": "response.completed", "response": {"status": "completed", "output": [
                        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                         "content": [{"type": "output_text", "text": "Done.", "annotations": []}]}]}}),
                ],
                false,
            )
        }),
    ]);
    let mut chat = chat(ReplyFormat::OpenAiResponses, &server, options());
    let turned = turn(&mut chat, "go").await;
    assert_eq!(turned.report.unwrap().ending, Ending::Done);
    assert_eq!(turned.text, "Done.");
}

#[tokio::test]
async fn gemini_gets_functions_and_their_responses() {
    let (server, _) = model(vec![
        Box::new(|body, request| {
            insist!(
                request.target == "/v1beta/models/m:streamGenerateContent?alt=sse",
                request.header("x-goog-api-key") == Some("sk-sentinel-123456"),
                body["contents"] == json!([{"role": "user", "parts": [{"text": "go"}]}]),
                body["tools"][0]["functionDeclarations"][0]["name"].is_string(),
            );
            sse(
                &[
                    json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "Let "}]}}]}),
                    json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "me"},
                        {"functionCall": {"name": "echo", "args": {"text": "one"}}, "thoughtSignature": "c2ln"}]}, "finishReason": "STOP"}]}),
                ],
                false,
            )
        }),
        Box::new(|body, _| {
            insist!(
                body["contents"][1]["parts"][0] == json!({"text": "Let me"}),
                body["contents"][1]["parts"][1]["thoughtSignature"] == "c2ln",
                body["contents"][2]
                    == json!({"role": "user", "parts": [
                    {"functionResponse": {"name": "echo", "response": {"output": "one"}}}]}),
            );
            // Not streamed, although it was asked to be.
            Reply::json(
                &json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "Done."}]}, "finishReason": "STOP"}]}),
            )
        }),
    ]);
    let mut chat = chat(ReplyFormat::Gemini, &server, options());
    let turned = turn(&mut chat, "go").await;
    assert_eq!(turned.report.unwrap().ending, Ending::Done);
    assert_eq!(turned.text, "Let meDone.");
}
