//! Servers that are dead, silent, chatty or worse cost a deadline and bounded memory.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use toolcrib_mcp::client::{Client, ClientError, ClientOptions, ServerNotice};

use crate::fake::{
    self, begin, call, calling, legacy, legacy_with, modern_with, options, patient, text,
};
use crate::scripted;

fn tool(name: &str) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object" } })
}

async fn listed(
    client: &Client,
    server: &mut fake::Server,
    pages: Vec<Value>,
) -> Result<toolcrib_mcp::client::Listing, ClientError> {
    let listing = {
        let client = client.clone();
        tokio::spawn(async move { client.list_tools().await })
    };
    for page in pages {
        let asked = server.expect("tools/list").await;
        server.answer(&asked, page).await;
    }
    listing.await.unwrap()
}

#[tokio::test]
async fn all_pages_are_listed_in_order_and_definitions_stay_as_they_are() {
    let (client, mut server, _told) = legacy_with(legacy()).await;
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "$ref": "https://evil.example/s.json",
        "zebra": 1, "properties": { "b": {}, "a": { "const": 1e30 } }, "$defs": { "x": { "not": {} } },
    });
    let exact = json!({ "inputSchema": schema, "name": "exact", "unknown": [null], "annotations": { "readOnlyHint": true } });
    let first = json!({ "tools": [exact, tool("b")], "nextCursor": "2" });
    let listing = listed(
        &client,
        &mut server,
        vec![first, json!({ "tools": [tool("a")] })],
    )
    .await
    .unwrap();
    let names: Vec<_> = listing
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    assert_eq!(names, ["exact", "b", "a"]);
    assert_eq!(
        serde_json::to_string(&listing.tools[0].definition).unwrap(),
        exact.to_string()
    );
    assert!(listing.rejected.is_empty());
}

#[tokio::test]
async fn odd_tools_are_left_out_alone() {
    let (client, mut server, _told) = legacy_with(legacy()).await;
    let asked = {
        let client = client.clone();
        tokio::spawn(async move { client.list_tools().await })
    };
    let request = server.expect("tools/list").await;
    let deep = format!(
        "{}{}",
        r#"{"a":"#.repeat(500),
        "1".to_owned() + &"}".repeat(500)
    );
    let odd = [
        "5".to_owned(),
        "{}".to_owned(),
        r#"{"name":5,"inputSchema":{}}"#.to_owned(),
        r#"{"name":"","inputSchema":{}}"#.to_owned(),
        r#"{"name":"a\u001b[2J","inputSchema":{}}"#.to_owned(),
        format!(r#"{{"name":"{}","inputSchema":{{}}}}"#, "x".repeat(300)),
        format!(
            r#"{{"name":"wordy","description":"{}","inputSchema":{{}}}}"#,
            "x".repeat(100_000)
        ),
        r#"{"name":"described","description":{},"inputSchema":{}}"#.to_owned(),
        r#"{"name":"schemaless"}"#.to_owned(),
        r#"{"name":"textual","inputSchema":"object"}"#.to_owned(),
        r#"{"name":"listy","inputSchema":{},"outputSchema":[]}"#.to_owned(),
        format!(r#"{{"name":"deep","inputSchema":{deep}}}"#),
        r#"{"name":"fine","inputSchema":{}}"#.to_owned(),
    ];
    let tools = format!(r#"{{"name":"fine","inputSchema":{{}}}},{}"#, odd.join(","));
    server
        .say_text(&format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{{"tools":[{tools}]}}}}"#,
            request["id"]
        ))
        .await;
    let listing = asked.await.unwrap().unwrap();
    assert_eq!(listing.tools.len(), 1, "{:?}", listing.tools);
    let rejected: Vec<_> = listing
        .rejected
        .iter()
        .map(|(name, _)| name.chars().take(9).collect::<String>())
        .collect();
    assert_eq!(
        rejected,
        [
            "",
            "",
            "",
            "",
            "a\u{1b}[2J",
            "xxxxxxxxx",
            "wordy",
            "described",
            "schemales",
            "textual",
            "listy",
            "deep",
            "fine"
        ]
    );
    assert!(
        listing
            .rejected
            .iter()
            .all(|(name, why)| name.len() < 300 && !why.is_empty())
    );
}

#[tokio::test]
async fn a_list_that_goes_round_or_on_and_on_ends() {
    let (client, mut server, _told) = legacy_with(legacy()).await;
    let page = |cursor: &str| json!({ "tools": [], "nextCursor": cursor });
    let error = listed(&client, &mut server, vec![page("a"), page("b"), page("a")])
        .await
        .unwrap_err();
    assert!(error.to_string().contains("circles"), "{error}");
    let endless = (0..1000).map(|number| page(&number.to_string())).collect();
    let error = listed(&client, &mut server, endless).await.unwrap_err();
    assert!(error.to_string().contains("1000 pages"), "{error}");
    for odd in [
        json!({}),
        json!([]),
        json!({ "tools": {} }),
        json!({ "tools": [], "nextCursor": 5 }),
    ] {
        let error = listed(&client, &mut server, vec![odd]).await.unwrap_err();
        assert!(matches!(error, ClientError::Protocol(_)));
    }
}

#[tokio::test]
async fn more_tools_than_are_borne_are_left_out_with_a_reason() {
    let (client, mut server, _told) = legacy_with(ClientOptions {
        max_tools: 3,
        ..legacy()
    })
    .await;
    let tools: Vec<_> = (0..10).map(|number| tool(&format!("t{number}"))).collect();
    let page = json!({ "tools": tools, "nextCursor": "more" });
    let listing = listed(&client, &mut server, vec![page]).await.unwrap();
    assert_eq!(listing.tools.len(), 3);
    assert_eq!(listing.rejected.len(), 1);
    assert!(listing.rejected[0].1.contains("more than 3"));
}

#[tokio::test]
async fn a_message_that_never_ends_closes_the_connection() {
    let how = ClientOptions {
        max_message: 10_000,
        ..legacy()
    };
    let (client, mut server, mut told) = legacy_with(how).await;
    let called = calling(&client, call("long"), patient());
    server.expect("tools/call").await;
    let flood =
        tokio::spawn(async move { while server.writer.write_all(&[b'x'; 4096]).await.is_ok() {} });
    let error = called.await.unwrap().unwrap_err();
    assert!(error.to_string().contains("10000 bytes"), "{error}");
    assert!(
        matches!(told.recv().await, Some(ServerNotice::Closed(why)) if why.contains("10000 bytes"))
    );
    drop(client);
    flood.await.unwrap();
}

#[tokio::test]
async fn noise_is_ignored_until_it_is_too_much() {
    let (client, mut server, mut told) = legacy_with(legacy()).await;
    let called = calling(&client, call("echo"), patient());
    let asked = server.expect("tools/call").await;
    for noise in [
        "Listening on stdio…",
        "",
        "{",
        "[]",
        "null",
        "{\"jsonrpc\":\"1.0\"}",
        "\u{0}",
    ] {
        server.say_text(noise).await;
    }
    server.writer.write_all(b"\xff\xfe\n").await.unwrap();
    server.answer(&asked, text("hi")).await;
    assert!(called.await.unwrap().is_ok());
    let called = calling(&client, call("echo"), patient());
    server.expect("tools/call").await;
    for _ in 0..2000 {
        server.say_text("tick").await;
    }
    assert!(matches!(called.await.unwrap(), Err(ClientError::Gone(_))));
    assert!(
        matches!(told.recv().await, Some(ServerNotice::Closed(why)) if why.contains("not MCP"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_read_costs_its_callers_their_deadlines() {
    let (client, server, _told) = legacy_with(legacy()).await;
    let mut large = call("large");
    large
        .arguments
        .insert("text".to_owned(), json!("x".repeat(100_000)));
    let calls: Vec<_> = (0..100)
        .map(|_| calling(&client, large.clone(), patient()))
        .collect();
    for called in calls {
        assert!(matches!(
            called.await.unwrap(),
            Err(ClientError::TimedOut(_))
        ));
    }
    client.close().await;
    drop(server);
}

#[tokio::test]
async fn a_flood_of_questions_is_refused_and_calls_go_on() {
    let (client, mut server, _told) = legacy_with(legacy()).await;
    for number in 0..5000 {
        server
            .say(json!({ "jsonrpc": "2.0", "id": number, "method": "ping" }))
            .await;
    }
    let called = calling(&client, call("echo"), patient());
    let asked = loop {
        let message = server.next().await.unwrap();
        if message["method"] == "tools/call" {
            break message;
        }
    };
    server.answer(&asked, text("hi")).await;
    assert!(called.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_http_server_that_never_answers_costs_a_deadline() {
    let begun = scripted::begin(options());
    let mut server = begun.server;
    let held = tokio::spawn(async move {
        let mut held = Vec::new();
        loop {
            held.push(server.next().await);
        }
    });
    assert!(matches!(
        begun.client.await.unwrap(),
        Err(ClientError::TimedOut(_))
    ));
    held.abort();
}

#[tokio::test]
async fn answers_that_are_too_long_or_of_the_wrong_kind_are_refused() {
    let mut begun = scripted::begin(ClientOptions {
        max_message: 10_000,
        ..options()
    });
    begun
        .server
        .expect("server/discover")
        .await
        .result(fake::discovery(json!({})));
    let client = begun.client.await.unwrap().unwrap();
    let mut server = begun.server;
    let long = "x".repeat(20_000);
    for (kind, body) in [
        ("application/json", long.clone()),
        ("text/event-stream", format!("data: {long}")),
        (
            "text/event-stream",
            format!("data: {}\n", "x".repeat(3000)).repeat(5),
        ),
        ("text/event-stream", "data: noise\n\n".repeat(2000)),
        ("text/html", "<html>".to_owned()),
        ("application/json", "[]".to_owned()),
        (
            "application/json",
            json!({ "jsonrpc": "2.0", "id": 4000, "result": text("hi") }).to_string(),
        ),
    ] {
        let called = calling(&client, call("odd"), patient());
        server
            .expect("tools/call")
            .await
            .respond(200, &[("content-type", kind)], &body);
        let error = called.await.unwrap().unwrap_err();
        assert!(matches!(error, ClientError::Protocol(_)), "{kind}: {error}");
    }
    for status in [202, 204] {
        let called = calling(&client, call("odd"), patient());
        server.expect("tools/call").await.respond(status, &[], "");
        assert!(matches!(
            called.await.unwrap(),
            Err(ClientError::Protocol(_))
        ));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whatever_bytes_a_server_writes_its_caller_gets_an_error_or_an_answer(
        pieces in prop::collection::vec(
            prop_oneof![
                prop::collection::vec(any::<u8>(), 0..60),
                Just(b"\n".to_vec()),
                Just(br#"{"jsonrpc":"2.0","id":"#.to_vec()),
                Just(br#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1}}"#.to_vec()),
                Just(br#"{"jsonrpc":"2.0","id":2,"result":{}}"#.to_vec()),
                Just(br#"{"jsonrpc":"2.0","id":2,"error":{}}"#.to_vec()),
                Just(br#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#.to_vec()),
            ],
            0..20,
        ),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let (client, mut server, _told) = modern_with(json!({})).await;
            let mut how = patient();
            how.timeout = Duration::from_secs(1);
            let called = calling(&client, call("fuzz"), how);
            server.expect("tools/call").await;
            for piece in pieces {
                let _ = server.writer.write_all(&piece).await;
            }
            assert!(called.await.unwrap().is_err());
        });
    }
}

#[tokio::test(start_paused = true)]
async fn a_dead_server_ends_the_beginning() {
    let begun = begin(legacy());
    drop(begun.server);
    assert!(matches!(
        begun.client.await.unwrap(),
        Err(ClientError::Gone(_))
    ));
}

/// Lists of one value each: four bytes of text are 400 of memory.
fn heavy(lists: usize) -> String {
    format!("[{}]", vec!["[1]"; lists].join(","))
}

#[tokio::test]
async fn an_answer_whose_values_take_too_much_memory_is_an_error_at_once() {
    let (client, mut server, _told) = legacy_with(legacy()).await;
    for answer in [
        format!(
            r#""result":{{"content":[],"structuredContent":{{"x":{}}}}}"#,
            heavy(200_000)
        ),
        format!(
            r#""error":{{"code":1,"message":"no","data":{}}}"#,
            heavy(200_000)
        ),
    ] {
        let calling = calling(&client, call("a"), patient());
        let request = server.expect("tools/call").await;
        let id = &request["id"];
        server
            .say_text(&format!(r#"{{"jsonrpc":"2.0","id":{id},{answer}}}"#))
            .await;
        let error = calling.await.unwrap().unwrap_err();
        assert!(
            error.to_string().contains("more than 64 MB of memory"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_definition_that_takes_too_much_memory_is_left_out_alone() {
    let (client, mut server, _told) = legacy_with(legacy()).await;
    let asked = {
        let client = client.clone();
        tokio::spawn(async move { client.list_tools().await })
    };
    let request = server.expect("tools/list").await;
    let id = &request["id"];
    let heavy = heavy(50_000);
    server
        .say_text(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{{"name":"heavy","inputSchema":{{"type":"object","default":{heavy}}}}},{}]}}}}"#,
            tool("light")
        ))
        .await;
    let listing = asked.await.unwrap().unwrap();
    let names: Vec<_> = listing.tools.iter().map(|tool| &tool.name).collect();
    assert_eq!(names, ["light"]);
    let (name, why) = &listing.rejected[0];
    assert_eq!(name, "heavy");
    assert!(why.contains("8 MB of memory"), "{why}");
}

#[tokio::test]
async fn a_question_that_takes_too_much_memory_is_refused() {
    let (_client, mut server, _told) = legacy_with(legacy()).await;
    server
        .say_text(&format!(
            r#"{{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{{"message":"x","requestedSchema":{{"type":"object","x":{}}}}}}}"#,
            heavy(10_000)
        ))
        .await;
    let refused = server.next().await.unwrap();
    assert_eq!(refused["id"], "q");
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
}
