//! Eras, headers, sessions and streams over HTTP.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::Method;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;
use toolcrib_mcp::client::{
    ClientError, ExchangeError, ListedTool, ServerNotice, ServerRequests, ToolCall,
};
use toolcrib_mcp::protocol::{Elicitation, Era, LEGACY, MODERN};
use toolcrib_mcp::rpc::{RpcError, code};

use crate::fake::{call, calling, legacy, options, patient, text};
use crate::scripted::{begin, legacy_with, modern_with};

#[tokio::test]
async fn every_modern_request_says_in_headers_what_it_is() {
    let (client, mut server, _told) = modern_with(json!({ "tools": {} })).await;
    assert_eq!(client.era(), Era::Modern);
    let called = calling(&client, call("näme"), patient());
    let got = server.expect("tools/call").await;
    assert_eq!(got.header("mcp-protocol-version"), Some(MODERN));
    assert_eq!(got.header("mcp-method"), Some("tools/call"));
    assert_eq!(got.header("mcp-name"), Some("=?base64?bsOkbWU=?="));
    assert_eq!(got.header("mcp-session-id"), None);
    assert!(got.body["params"]["_meta"].is_object());
    got.result(text("hi"));
    assert!(called.await.unwrap().is_ok());
}

#[tokio::test]
async fn whatever_a_legacy_server_says_to_discovery_it_is_initialized() {
    for (status, body) in [
        (
            400,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no session"}}"#,
        ),
        (400, "Bad Request"),
        (404, ""),
        (405, ""),
        (500, "<html>"),
        (
            200,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"what?"}}"#,
        ),
        (200, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
        (200, "not JSON"),
    ] {
        let mut begun = begin(options());
        let probe = begun.server.expect("server/discover").await;
        probe.respond(status, &[("content-type", "application/json")], body);
        begun.server.initialized("s").await;
        begun.server.no_stream().await;
        let client = begun.client.await.unwrap().unwrap();
        assert_eq!(client.era(), Era::Legacy(LEGACY), "{status} {body}");
    }
}

#[tokio::test]
async fn errors_that_only_modern_servers_know_do_not_lead_back() {
    let mut begun = begin(options());
    let probe = begun.server.expect("server/discover").await;
    probe.error(
        400,
        code::UNSUPPORTED_VERSION,
        json!({ "supported": [MODERN] }),
    );
    let probe = begun.server.expect("server/discover").await;
    probe.error(
        400,
        code::UNSUPPORTED_VERSION,
        json!({ "supported": ["2031-01-01"] }),
    );
    assert!(matches!(
        begun.client.await.unwrap(),
        Err(ClientError::Protocol(_))
    ));

    let mut begun = begin(options());
    begun
        .server
        .expect("server/discover")
        .await
        .error(400, code::HEADER_MISMATCH, Value::Null);
    assert!(matches!(
        begun.client.await.unwrap(),
        Err(ClientError::Rpc(_))
    ));
}

#[tokio::test]
async fn a_modern_server_without_discovery_is_modern_all_the_same() {
    let mut begun = begin(options());
    for method in ["server/discover", "initialize"] {
        begun
            .server
            .expect(method)
            .await
            .error(404, code::METHOD_NOT_FOUND, Value::Null);
    }
    assert_eq!(begun.client.await.unwrap().unwrap().era(), Era::Modern);
}

#[tokio::test]
async fn a_server_that_wants_a_login_says_so_at_once() {
    let mut begun = begin(options());
    let error = ExchangeError::Unauthorized("log in with …".to_owned());
    begun.server.expect("server/discover").await.fail(error);
    assert!(matches!(
        begun.client.await.unwrap(),
        Err(ClientError::Unauthorized(_))
    ));
    for (status, headers) in [(401, vec![]), (403, vec![("www-authenticate", "Bearer")])] {
        let mut begun = begin(options());
        begun
            .server
            .expect("server/discover")
            .await
            .respond(status, &headers, "");
        assert!(matches!(
            begun.client.await.unwrap(),
            Err(ClientError::Unauthorized(_))
        ));
    }
}

#[tokio::test]
async fn parameters_go_into_the_headers_that_their_tool_wants_them_in() {
    let (client, mut server, _told) = modern_with(json!({ "tools": {} })).await;
    let listing = {
        let client = client.clone();
        tokio::spawn(async move { client.list_tools().await })
    };
    let region = json!({ "type": "string", "x-mcp-header": "Region" });
    let fine = json!({ "name": "sql", "inputSchema": { "type": "object", "properties": { "region": region } } });
    let odd = json!({ "name": "odd", "inputSchema": { "properties": { "a": { "type": "number", "x-mcp-header": "A" } } } });
    server
        .expect("tools/list")
        .await
        .result(json!({ "tools": [odd, fine] }));
    let listing = listing.await.unwrap().unwrap();
    assert_eq!(listing.tools.len(), 1);
    assert_eq!(listing.rejected[0].0, "odd");
    let arguments = json!({ "region": " west", "query": "select" });
    let sql = ToolCall {
        arguments: arguments.as_object().cloned().unwrap(),
        ..call("sql")
    };
    let called = calling(&client, sql.clone(), patient());
    let got = server.expect("tools/call").await;
    assert_eq!(got.header("mcp-param-region"), Some("=?base64?IHdlc3Q=?="));
    // The server changed its mind: the tools are listed again, and the call is made once more.
    got.error(400, code::HEADER_MISMATCH, Value::Null);
    let query = json!({ "type": "string", "x-mcp-header": "Query" });
    let other = json!({ "name": "sql", "inputSchema": { "properties": { "query": query } } });
    server
        .expect("tools/list")
        .await
        .result(json!({ "tools": [other] }));
    let got = server.expect("tools/call").await;
    assert_eq!(got.header("mcp-param-region"), None);
    assert_eq!(got.header("mcp-param-query"), Some("select"));
    got.error(400, code::HEADER_MISMATCH, Value::Null);
    assert!(matches!(called.await.unwrap(), Err(ClientError::Rpc(_))));

    let definition =
        json!({ "name": "sql", "inputSchema": { "properties": { "region": region } } });
    client.remember_tools(&[ListedTool {
        name: "sql".to_owned(),
        definition: definition.as_object().cloned().unwrap(),
    }]);
    let called = calling(&client, sql, patient());
    let got = server.expect("tools/call").await;
    assert!(got.header("mcp-param-region").is_some());
    got.result(text("hi"));
    assert!(called.await.unwrap().is_ok());
}

#[tokio::test]
async fn an_answer_may_come_as_events_and_dropping_the_stream_is_the_cancellation() {
    let (client, mut server, _told) = modern_with(json!({})).await;
    let (tell, mut told) = mpsc::channel(4);
    let mut how = patient();
    how.progress = Some(tell);
    let called = calling(&client, call("slow"), how);
    let got = server.expect("tools/call").await;
    let id = got.body["id"].clone();
    let events = got.events();
    events.raw(": hello\r\n\r\nevent: other\ndata: {}\n\n");
    events.event(&json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progressToken": id, "progress": 0.5 } }));
    assert_eq!(told.recv().await.unwrap().progress, 0.5);
    events.event(&json!({ "jsonrpc": "2.0", "id": id, "result": text("hi") }));
    assert!(called.await.unwrap().is_ok());

    let how = patient();
    let cancel = how.cancel.clone();
    let called = calling(&client, call("slow"), how);
    let events = server.expect("tools/call").await.events();
    cancel.cancel();
    assert!(matches!(called.await.unwrap(), Err(ClientError::Cancelled)));
    events.closed().await;
    assert!(server.has_none());

    let called = calling(&client, call("slow"), patient());
    server.expect("tools/call").await.events().breaks();
    assert!(matches!(called.await.unwrap(), Err(ClientError::Gone(_))));
}

#[tokio::test]
async fn a_legacy_call_is_cancelled_by_a_message() {
    let (client, mut server, _told) = legacy_with(legacy()).await;
    let how = patient();
    let cancel = how.cancel.clone();
    let called = calling(&client, call("slow"), how);
    let got = server.expect("tools/call").await;
    assert_eq!(got.header("mcp-session-id"), Some("s-1"));
    assert_eq!(got.header("mcp-protocol-version"), Some(LEGACY));
    assert_eq!(got.header("mcp-method"), None);
    let id = got.body["id"].clone();
    let _events = got.events();
    cancel.cancel();
    assert!(matches!(called.await.unwrap(), Err(ClientError::Cancelled)));
    let told = server.expect("notifications/cancelled").await;
    assert_eq!(told.body["params"]["requestId"], id);
    assert_eq!(told.header("mcp-session-id"), Some("s-1"));
}

#[tokio::test]
async fn a_session_that_is_gone_is_begun_again_once() {
    let (client, mut server, mut told) = legacy_with(legacy()).await;
    let first = calling(&client, call("a"), patient());
    let one = server.expect("tools/call").await;
    let second = calling(&client, call("b"), patient());
    let two = server.expect("tools/call").await;
    one.respond(404, &[], "");
    two.respond(404, &[], "");
    server.initialized("s-2").await;
    let mut calls = 0;
    while calls < 2 {
        let got = server.next().await;
        match got.method {
            Method::GET => got.respond(405, &[], ""),
            _ => {
                assert_eq!(got.body["method"], "tools/call");
                assert_eq!(got.header("mcp-session-id"), Some("s-2"));
                got.result(text("hi"));
                calls += 1;
            }
        }
    }
    assert!(first.await.unwrap().is_ok());
    assert!(second.await.unwrap().is_ok());
    assert_eq!(told.recv().await, Some(ServerNotice::ToolsChanged));

    let called = calling(&client, call("c"), patient());
    server.expect("tools/call").await.respond(404, &[], "");
    server.initialized("s-3").await;
    loop {
        let got = server.next().await;
        let is_call = got.method == Method::POST;
        got.respond(if is_call { 404 } else { 405 }, &[], "");
        if is_call {
            break;
        }
    }
    assert!(matches!(called.await.unwrap(), Err(ClientError::Gone(_))));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_ends_early_is_taken_up_where_it_ended() {
    let (client, mut server, _told) = legacy_with(legacy()).await;
    let called = calling(&client, call("slow"), patient());
    let got = server.expect("tools/call").await;
    let id = got.body["id"].clone();
    let events = got.events();
    events.raw("id: e-1\nretry: 500\ndata: \n\n");
    drop(events);
    let before = Instant::now();
    let got = server.next().await;
    assert_eq!(got.method, Method::GET);
    assert!(
        before.elapsed() >= Duration::from_millis(500)
            && before.elapsed() < Duration::from_millis(600)
    );
    assert_eq!(got.header("last-event-id"), Some("e-1"));
    assert_eq!(got.header("accept"), Some("text/event-stream"));
    assert_eq!(got.header("mcp-session-id"), Some("s-1"));
    got.respond(503, &[], "");
    let got = server.next().await;
    assert_eq!(got.header("last-event-id"), Some("e-1"));
    let events = got.events();
    events.raw("id: e-2\ndata: \n\n");
    events.breaks();
    let got = server.next().await;
    assert_eq!(got.header("last-event-id"), Some("e-2"));
    got.events()
        .event(&json!({ "jsonrpc": "2.0", "id": id, "result": text("hi") }));
    assert!(called.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_status_refuses_its_request_and_not_the_connection() {
    let (client, mut server, _told) = legacy_with(legacy()).await;
    for status in [429, 500, 503] {
        let called = calling(&client, call("echo"), patient());
        let got = server.expect("tools/call").await;
        got.respond(status, &[], "<html>not\nnow</html>");
        let error = called.await.unwrap().unwrap_err();
        assert!(
            matches!(&error, ClientError::Refused { status: said, .. } if *said == status),
            "{error}"
        );
        assert!(error.to_string().contains("<html>notnow"), "{error}");
    }
    let called = calling(&client, call("echo"), patient());
    server.expect("tools/call").await.result(text("hi"));
    assert!(called.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_never_answers_is_given_up() {
    let (client, mut server, _told) = legacy_with(legacy()).await;
    let mut how = patient();
    how.idle_timeout = Duration::from_secs(3600);
    how.timeout = how.idle_timeout;
    let called = calling(&client, call("slow"), how);
    server
        .expect("tools/call")
        .await
        .events()
        .raw("id: e-1\nretry: 0\n\n");
    let answering = tokio::spawn(async move {
        for count in 0.. {
            assert!(count < 20);
            drop(server.next().await.events());
        }
    });
    let error = called.await.unwrap().unwrap_err();
    assert!(matches!(error, ClientError::Gone(_)), "{error}");
    answering.abort();
}

struct WhoAsked(mpsc::UnboundedSender<Option<u64>>);

impl ServerRequests for WhoAsked {
    fn asked(
        &self,
        _: String,
        _: Value,
        call: Option<u64>,
    ) -> BoxFuture<'_, Result<Value, RpcError>> {
        let _ = self.0.send(call);
        Box::pin(async { Ok(json!({ "action": "decline" })) })
    }
}

#[tokio::test]
async fn a_question_is_known_by_the_call_whose_stream_it_came_on() {
    let (tell, mut asked) = mpsc::unbounded_channel();
    let mut how = legacy();
    how.capabilities.elicitation = Some(Elicitation::default());
    how.asked = Some(Arc::new(WhoAsked(tell)));
    let mut begun = begin(how);
    begun.server.initialized("s-1").await;
    let besides = begun.server.next().await;
    assert_eq!(besides.method, Method::GET);
    let besides = besides.events();
    let client = begun.client.await.unwrap().unwrap();
    let mut server = begun.server;
    let called = calling(&client, call("ask"), patient());
    let got = server.expect("tools/call").await;
    let id = got.body["id"].clone();
    let events = got.events();
    let question = json!({ "jsonrpc": "2.0", "id": 3, "method": "elicitation/create", "params": { "message": "?" } });
    events.event(&question);
    let answer = server.expect("").await;
    assert_eq!(
        answer.body,
        json!({ "jsonrpc": "2.0", "id": 3, "result": { "action": "decline" } })
    );
    assert_eq!(answer.header("mcp-session-id"), Some("s-1"));
    answer.accept();
    assert_eq!(asked.recv().await, Some(Some(7)));
    events.event(&json!({ "jsonrpc": "2.0", "id": id, "result": text("hi") }));
    assert!(called.await.unwrap().is_ok());
    besides.event(&question);
    server.expect("").await.accept();
    assert_eq!(asked.recv().await, Some(None));
    let mut told = begun.told;
    besides.event(&json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }));
    assert_eq!(told.recv().await, Some(ServerNotice::ToolsChanged));
    let closing = {
        let client = client.clone();
        tokio::spawn(async move { client.close().await })
    };
    let got = server.next().await;
    assert_eq!(got.method, Method::DELETE);
    assert_eq!(got.header("mcp-session-id"), Some("s-1"));
    got.respond(405, &[], "");
    closing.await.unwrap();
    besides.closed().await;
}

#[tokio::test(start_paused = true)]
async fn a_modern_server_is_listened_to_and_what_was_missed_counts_as_a_change() {
    let (_client, mut server, mut told) =
        modern_with(json!({ "tools": { "listChanged": true } })).await;
    let got = server.expect("subscriptions/listen").await;
    assert_eq!(got.header("mcp-method"), Some("subscriptions/listen"));
    let acknowledged = |id: &Value| {
        json!({
            "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
            "params": { "_meta": { "io.modelcontextprotocol/subscriptionId": id } },
        })
    };
    let id = got.body["id"].clone();
    let events = got.events();
    events.event(&acknowledged(&id));
    events.event(&json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }));
    assert_eq!(told.recv().await, Some(ServerNotice::ToolsChanged));
    events.breaks();
    let got = server.expect("subscriptions/listen").await;
    let id = got.body["id"].clone();
    let events = got.events();
    assert!(told.try_recv().is_err());
    events.event(&acknowledged(&id));
    assert_eq!(told.recv().await, Some(ServerNotice::ToolsChanged));
}
