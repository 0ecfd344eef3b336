//! Eras, calls, questions and endings on pipes.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;
use toolcrib_mcp::client::{
    CallOptions, Called, ClientError, ClientOptions, Progress, ServerNotice, ServerRequests,
    ToolCall,
};
use toolcrib_mcp::protocol::{Elicitation, Era, Input, LEGACY, MODERN, meta};
use toolcrib_mcp::rpc::{RpcError, code};

use crate::fake::{
    begin, call, calling, discovery, legacy, legacy_with, modern_with, options, patient, text,
};

#[tokio::test]
async fn a_modern_server_is_found_and_every_request_says_who_asks() {
    let (client, mut server, _told) = modern_with(json!({ "tools": {} })).await;
    assert_eq!(client.era(), Era::Modern);
    assert_eq!(
        client.server().info.map(|info| info.name).as_deref(),
        Some("fake")
    );
    assert_eq!(client.server().instructions.as_deref(), Some("be kind"));
    let called = calling(&client, call("echo"), patient());
    let asked = server.expect("tools/call").await;
    let sent = &asked["params"]["_meta"];
    assert_eq!(sent[meta::PROTOCOL_VERSION], MODERN);
    assert_eq!(sent[meta::CLIENT_INFO]["name"], "test");
    assert_eq!(sent[meta::CLIENT_CAPABILITIES], json!({}));
    assert_eq!(sent["progressToken"], asked["id"]);
    server.answer(&asked, text("hi")).await;
    let Called::Complete(result) = called.await.unwrap().unwrap() else {
        panic!("complete");
    };
    assert_eq!(Value::Object(result), text("hi"));
}

#[tokio::test]
async fn a_legacy_server_that_refuses_discovery_is_initialized() {
    for refused in [code::METHOD_NOT_FOUND, code::INVALID_PARAMS, -32000, -1] {
        let mut begun = begin(options());
        let probe = begun.server.expect("server/discover").await;
        begun
            .server
            .refuse(&probe, refused, "what?", Value::Null)
            .await;
        begun.server.initialized(json!({ "tools": {} })).await;
        let client = begun.client.await.unwrap().unwrap();
        assert_eq!(client.era(), Era::Legacy(LEGACY));
    }
}

#[tokio::test]
async fn a_legacy_server_that_answers_discovery_with_nothing_is_initialized() {
    let mut begun = begin(options());
    let probe = begun.server.expect("server/discover").await;
    begun.server.answer(&probe, json!({})).await;
    begun.server.initialized(json!({})).await;
    assert!(begun.client.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_legacy_server_that_ignores_discovery_is_initialized() {
    let mut begun = begin(options());
    begun.server.expect("server/discover").await;
    begun.server.initialized(json!({})).await;
    let client = begun.client.await.unwrap().unwrap();
    assert_eq!(client.era(), Era::Legacy(LEGACY));
}

#[tokio::test(start_paused = true)]
async fn a_slow_modern_server_is_still_modern() {
    let mut begun = begin(options());
    let probe = begun.server.expect("server/discover").await;
    begun.server.expect("initialize").await;
    begun.server.answer(&probe, discovery(json!({}))).await;
    let client = begun.client.await.unwrap().unwrap();
    assert_eq!(client.era(), Era::Modern);
}

#[tokio::test(start_paused = true)]
async fn a_slow_modern_server_that_refuses_to_be_initialized_is_still_modern() {
    let mut begun = begin(options());
    let probe = begun.server.expect("server/discover").await;
    let initialize = begun.server.expect("initialize").await;
    begun
        .server
        .refuse(&initialize, code::METHOD_NOT_FOUND, "no", Value::Null)
        .await;
    begun.server.answer(&probe, discovery(json!({}))).await;
    assert_eq!(begun.client.await.unwrap().unwrap().era(), Era::Modern);
}

#[tokio::test(start_paused = true)]
async fn deadlines_may_be_as_long_as_there_is() {
    let (client, mut server, _told) = modern_with(json!({})).await;
    let mut how = patient();
    how.idle_timeout = Duration::MAX;
    how.timeout = Duration::MAX;
    let called = calling(&client, call("echo"), how);
    let asked = server.expect("tools/call").await;
    server.answer(&asked, text("hi")).await;
    assert!(called.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_costs_the_time_to_connect() {
    let begun = begin(options());
    let result = begun.client.await.unwrap();
    assert!(
        matches!(result, Err(ClientError::TimedOut(limit)) if limit == Duration::from_secs(20))
    );
}

#[tokio::test]
async fn a_server_that_dies_of_discovery_is_recognised() {
    let mut begun = begin(options());
    begun.server.expect("server/discover").await;
    drop(begun.server);
    let result = begun.client.await.unwrap();
    assert!(
        matches!(result, Err(ClientError::GoneAtProbe(_))),
        "{:?}",
        result.err()
    );
    assert!(matches!(
        begun.told.recv().await,
        Some(ServerNotice::Closed(_))
    ));
}

#[tokio::test]
async fn an_unsupported_version_leads_to_one_that_both_speak() {
    let mut begun = begin(options());
    let probe = begun.server.expect("server/discover").await;
    let supported = json!({ "supported": [MODERN, "2031-01-01"] });
    begun
        .server
        .refuse(&probe, code::UNSUPPORTED_VERSION, "no", supported)
        .await;
    begun.server.discovered(json!({})).await;
    assert_eq!(begun.client.await.unwrap().unwrap().era(), Era::Modern);

    let mut begun = begin(options());
    let probe = begun.server.expect("server/discover").await;
    let supported = json!({ "supported": ["2025-06-18"] });
    begun
        .server
        .refuse(&probe, code::UNSUPPORTED_VERSION, "no", supported)
        .await;
    begun.server.initialized(json!({})).await;
    assert_eq!(
        begun.client.await.unwrap().unwrap().era(),
        Era::Legacy("2025-06-18")
    );

    let mut begun = begin(options());
    let probe = begun.server.expect("server/discover").await;
    let supported = json!({ "supported": ["2031-01-01"] });
    begun
        .server
        .refuse(&probe, code::UNSUPPORTED_VERSION, "no", supported)
        .await;
    let error = begun.client.await.unwrap().err().unwrap();
    assert!(error.to_string().contains("2031-01-01"), "{error}");
}

#[tokio::test]
async fn an_initialize_that_answers_with_an_unknown_version_fails() {
    let mut begun = begin(legacy());
    let asked = begun.server.expect("initialize").await;
    begun
        .server
        .answer(
            &asked,
            json!({ "protocolVersion": "1999-01-01", "capabilities": {} }),
        )
        .await;
    assert!(matches!(
        begun.client.await.unwrap(),
        Err(ClientError::Protocol(_))
    ));
}

#[tokio::test]
async fn answers_find_their_calls_in_any_order() {
    let (client, mut server, _told) = modern_with(json!({})).await;
    let first = calling(&client, call("first"), patient());
    let one = server.expect("tools/call").await;
    let second = calling(&client, call("second"), patient());
    let two = server.expect("tools/call").await;
    server.answer(&json!({ "id": 99 }), text("nobody's")).await;
    server.answer(&json!({ "id": "1" }), text("nobody's")).await;
    server.answer(&two, text("two")).await;
    server.answer(&one, text("one")).await;
    server.answer(&one, text("again")).await;
    for (task, said) in [(first, "one"), (second, "two")] {
        let Called::Complete(result) = task.await.unwrap().unwrap() else {
            panic!("complete");
        };
        assert_eq!(result["content"][0]["text"], said);
    }
}

#[tokio::test(start_paused = true)]
async fn progress_is_reported_and_keeps_a_call_alive_until_its_time_is_up() {
    let (client, mut server, _told) = modern_with(json!({})).await;
    let (tell, mut told) = mpsc::channel(1);
    let how = CallOptions {
        progress: Some(tell),
        ..patient()
    };
    let called = calling(&client, call("slow"), how);
    let asked = server.expect("tools/call").await;
    for step in 1..=4 {
        tokio::time::sleep(Duration::from_secs(4)).await;
        server
            .say(json!({
                "jsonrpc": "2.0", "method": "notifications/progress",
                "params": { "progressToken": asked["id"], "progress": step, "total": 9, "message": "on it" },
            }))
            .await;
        let progress = told.recv().await.unwrap();
        let message = Some("on it".to_owned());
        assert_eq!(
            progress,
            Progress {
                progress: f64::from(step),
                total: Some(9.0),
                message
            }
        );
    }
    let error = called.await.unwrap().unwrap_err();
    assert!(matches!(error, ClientError::TimedOut(time) if time == Duration::from_secs(20)));
    let told = server.expect("notifications/cancelled").await;
    assert_eq!(told["params"]["requestId"], asked["id"]);
}

#[tokio::test(start_paused = true)]
async fn a_silent_call_ends_at_its_idle_time_and_a_chatty_one_at_its_whole_time() {
    let (client, mut server, _told) = modern_with(json!({})).await;
    let error = client
        .call_tool(call("silent"), patient())
        .await
        .unwrap_err();
    assert!(matches!(error, ClientError::TimedOut(time) if time == Duration::from_secs(5)));
    let asked = server.expect("tools/call").await;
    server.expect("notifications/cancelled").await;
    // The late answer is no one's.
    server.answer(&asked, text("late")).await;

    let called = calling(&client, call("chatty"), patient());
    let asked = server.expect("tools/call").await;
    let chatter = tokio::spawn(async move {
        loop {
            let progress = json!({ "progressToken": asked["id"], "progress": 1 });
            server.say(json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": progress })).await;
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    });
    let error = called.await.unwrap().unwrap_err();
    assert!(matches!(error, ClientError::TimedOut(time) if time == Duration::from_secs(20)));
    chatter.abort();
}

#[tokio::test]
async fn a_call_that_is_cancelled_or_dropped_informs_the_server() {
    let (client, mut server, _told) = modern_with(json!({})).await;
    let how = patient();
    let cancel = how.cancel.clone();
    let called = calling(&client, call("long"), how);
    let asked = server.expect("tools/call").await;
    cancel.cancel();
    assert!(matches!(called.await.unwrap(), Err(ClientError::Cancelled)));
    let told = server.expect("notifications/cancelled").await;
    assert_eq!(told["params"]["requestId"], asked["id"]);

    let called = calling(&client, call("long"), patient());
    let asked = server.expect("tools/call").await;
    called.abort();
    let told = server.expect("notifications/cancelled").await;
    assert_eq!(told["params"]["requestId"], asked["id"]);
}

#[tokio::test]
async fn a_call_that_wants_input_is_passed_through_and_made_again_with_it() {
    let (client, mut server, _told) = modern_with(json!({})).await;
    let called = calling(&client, call("ask"), patient());
    let asked = server.expect("tools/call").await;
    assert!(asked["params"].get("requestState").is_none());
    let question = json!({ "method": "elicitation/create", "params": { "message": "sure?" } });
    server
        .answer(&asked, json!({ "resultType": "input_required", "inputRequests": { "q": question }, "requestState": "s\u{0}ealed" }))
        .await;
    let Called::InputRequired { requests, state } = called.await.unwrap().unwrap() else {
        panic!("input required");
    };
    assert_eq!(requests.len(), 1);
    assert_eq!(
        (requests[0].0.as_str(), requests[0].1.method.as_str()),
        ("q", "elicitation/create")
    );
    let responses = json!({ "q": { "action": "accept", "content": {} } });
    let input = Input {
        responses: responses.as_object().cloned().unwrap(),
        state,
    };
    let again = ToolCall {
        input: Some(input),
        ..call("ask")
    };
    let called = calling(&client, again, patient());
    let retried = server.expect("tools/call").await;
    assert_ne!(retried["id"], asked["id"]);
    assert_eq!(retried["params"]["requestState"], "s\u{0}ealed");
    assert_eq!(retried["params"]["inputResponses"], responses);
    server.answer(&retried, text("done")).await;
    assert!(called.await.unwrap().is_ok());
}

#[tokio::test]
async fn results_of_the_wrong_shape_are_errors_of_the_protocol() {
    let (client, mut server, _told) = modern_with(json!({})).await;
    for odd in [
        json!(null),
        json!([]),
        json!("text"),
        json!({}),
        json!({ "content": {} }),
        json!({ "content": ["text"] }),
        json!({ "content": [], "isError": "yes" }),
        json!({ "content": [], "resultType": "task" }),
        json!({ "content": [], "resultType": 5 }),
        json!({ "resultType": "input_required" }),
        json!({ "resultType": "input_required", "inputRequests": [] }),
        json!({ "resultType": "input_required", "inputRequests": { "a": 1 } }),
        json!({ "resultType": "input_required", "requestState": {} }),
    ] {
        let called = calling(&client, call("odd"), patient());
        let asked = server.expect("tools/call").await;
        server.answer(&asked, odd.clone()).await;
        let error = called.await.unwrap().unwrap_err();
        assert!(matches!(error, ClientError::Protocol(_)), "{odd}: {error}");
    }
    // And the connection is as good as before.
    let called = calling(&client, call("fine"), patient());
    let asked = server.expect("tools/call").await;
    server
        .refuse(&asked, code::INVALID_PARAMS, "no such tool", Value::Null)
        .await;
    let error = called.await.unwrap().unwrap_err();
    assert!(matches!(error, ClientError::Rpc(error) if error.code == code::INVALID_PARAMS));
}

/// Says yes to everything and keeps what it was asked.
struct Yes(mpsc::UnboundedSender<(String, Value, Option<u64>)>);

impl ServerRequests for Yes {
    fn asked(
        &self,
        method: String,
        params: Value,
        call: Option<u64>,
    ) -> BoxFuture<'_, Result<Value, RpcError>> {
        let _ = self.0.send((method, params, call));
        Box::pin(async { Ok(json!({ "action": "accept", "content": { "given": 1 } })) })
    }
}

fn with_forms() -> (
    ClientOptions,
    mpsc::UnboundedReceiver<(String, Value, Option<u64>)>,
) {
    let (tell, told) = mpsc::unbounded_channel();
    let mut how = legacy();
    how.capabilities.elicitation = Some(Elicitation::default());
    how.asked = Some(Arc::new(Yes(tell)));
    how.form_defaults = true;
    (how, told)
}

#[tokio::test]
async fn a_legacy_server_may_ask_what_is_declared_and_gets_defaults_filled_in() {
    let (how, mut told) = with_forms();
    let (_client, mut server, _told) = legacy_with(how).await;
    let schema = json!({ "type": "object", "properties": {
        "given": { "type": "integer", "default": 5 },
        "size": { "type": "string", "default": "large" },
        "none": { "type": "string" },
    } });
    let params = json!({ "message": "which?", "requestedSchema": schema });
    server.say(json!({ "jsonrpc": "2.0", "id": "q-1", "method": "elicitation/create", "params": params })).await;
    let answer = server.expect("").await;
    assert_eq!(answer["id"], "q-1");
    assert_eq!(
        answer["result"],
        json!({ "action": "accept", "content": { "given": 1, "size": "large" } })
    );
    assert_eq!(
        told.recv().await.unwrap(),
        ("elicitation/create".to_owned(), params, None)
    );
}

#[tokio::test]
async fn pings_are_answered_and_what_is_not_declared_is_refused() {
    let (how, mut told) = with_forms();
    let (_client, mut server, _told) = legacy_with(how).await;
    for (method, params, expected) in [
        ("ping", json!({}), None),
        (
            "sampling/createMessage",
            json!({}),
            Some(code::METHOD_NOT_FOUND),
        ),
        ("roots/list", json!({}), Some(code::METHOD_NOT_FOUND)),
        ("tools/call", json!({}), Some(code::METHOD_NOT_FOUND)),
        (
            "elicitation/create",
            json!({ "mode": "url", "url": "https://evil.example" }),
            Some(code::INVALID_PARAMS),
        ),
    ] {
        server
            .say(json!({ "jsonrpc": "2.0", "id": 5, "method": method, "params": params }))
            .await;
        let answer = server.expect("").await;
        assert_eq!(
            answer["error"]["code"].as_i64(),
            expected,
            "{method}: {answer}"
        );
        assert_eq!(answer["id"], 5);
    }
    assert!(told.try_recv().is_err());
}

#[tokio::test]
async fn a_modern_server_that_asks_is_not_answered() {
    let (client, mut server, _told) = modern_with(json!({})).await;
    server
        .say(json!({ "jsonrpc": "2.0", "id": 5, "method": "ping" }))
        .await;
    let called = calling(&client, call("echo"), patient());
    let asked = server.expect("tools/call").await;
    server.answer(&asked, text("hi")).await;
    assert!(called.await.unwrap().is_ok());
}

#[tokio::test]
async fn changes_are_reported_in_both_eras() {
    let changed = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
    let (_client, mut server, mut told) = legacy_with(legacy()).await;
    server.say(changed.clone()).await;
    assert_eq!(told.recv().await, Some(ServerNotice::ToolsChanged));
    server.say(json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": "info", "data": { "a": 1 } } })).await;
    let log = ServerNotice::Log {
        level: "info".to_owned(),
        data: json!({ "a": 1 }),
    };
    assert_eq!(told.recv().await, Some(log));

    let (_client, mut server, mut told) =
        modern_with(json!({ "tools": { "listChanged": true } })).await;
    let asked = server.expect("subscriptions/listen").await;
    assert_eq!(
        asked["params"]["notifications"],
        json!({ "toolsListChanged": true })
    );
    assert_eq!(asked["params"]["_meta"][meta::PROTOCOL_VERSION], MODERN);
    server.say(changed).await;
    assert_eq!(told.recv().await, Some(ServerNotice::ToolsChanged));
}

#[tokio::test]
async fn a_change_that_found_no_room_is_reported_later() {
    let (client, mut server, mut told) = legacy_with(legacy()).await;
    for _ in 0..50 {
        server.say(json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": "info", "data": 1 } })).await;
    }
    server
        .say(json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }))
        .await;
    let called = calling(&client, call("echo"), patient());
    let asked = server.expect("tools/call").await;
    server.answer(&asked, text("hi")).await;
    called.await.unwrap().unwrap();
    let mut seen = 0;
    while let Ok(ServerNotice::Log { .. }) = told.try_recv() {
        seen += 1;
    }
    assert_eq!(seen, 16);
    server
        .say(json!({ "jsonrpc": "2.0", "method": "notifications/nothing" }))
        .await;
    assert_eq!(told.recv().await, Some(ServerNotice::ToolsChanged));
}

#[tokio::test]
async fn closing_ends_the_servers_input_and_everything_that_waits() {
    let (client, mut server, mut told) = legacy_with(legacy()).await;
    let called = calling(&client, call("long"), patient());
    server.expect("tools/call").await;
    client.close().await;
    assert!(matches!(called.await.unwrap(), Err(ClientError::Gone(_))));
    assert!(server.next().await.is_none());
    assert!(matches!(
        client.call_tool(call("more"), patient()).await,
        Err(ClientError::Gone(_))
    ));
    client.close().await;
    drop(client);
    assert_eq!(told.recv().await, None);
}

#[tokio::test]
async fn dropping_the_last_client_ends_the_servers_input() {
    let (client, mut server, mut told) = legacy_with(legacy()).await;
    drop(client);
    assert!(server.next().await.is_none());
    assert_eq!(told.recv().await, None);
}

#[tokio::test]
async fn a_server_that_dies_ends_its_calls_and_is_reported() {
    let (client, mut server, mut told) = legacy_with(legacy()).await;
    let called = calling(&client, call("long"), patient());
    server.expect("tools/call").await;
    server.writer.shutdown().await.unwrap();
    assert!(matches!(called.await.unwrap(), Err(ClientError::Gone(_))));
    assert!(matches!(told.recv().await, Some(ServerNotice::Closed(_))));
    assert!(matches!(
        client.list_tools().await,
        Err(ClientError::Gone(_))
    ));
}
