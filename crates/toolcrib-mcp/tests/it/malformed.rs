//! Input that is not a message or not a request: an error each, and the connection stays usable (MCP-009, MCP-010).

use serde_json::json;

use crate::stage::{Client, EVERYTHING, Stage, call, options};

async fn still_works(client: &mut Client) {
    let answer = client
        .request(call("still", "echo", json!({"text": "here"})))
        .await;
    assert_eq!(answer["result"]["content"][0]["text"], "here");
}

#[tokio::test]
async fn odd_parameters_are_invalid() {
    let mut client = Client::legacy(json!({})).await;
    for params in [
        "[]",
        "null",
        "7",
        "\"x\"",
        "true",
        "[[]]",
        "{}",
        r#"{"name":null}"#,
        r#"{"name":5}"#,
        r#"{"name":["echo"]}"#,
        r#"{"name":"echo","arguments":"{}"}"#,
        r#"{"name":"echo","arguments":[]}"#,
        r#"{"name":"echo","arguments":1e999}"#,
        r#"{"name":"echo","name":"wait"}"#,
        r#"{"name":"echo","arguments":{},"arguments":{}}"#,
        r#"{"name":"echo","_meta":5}"#,
        r#"{"name":"echo","_meta":[]}"#,
        r#"{"name":"echo","_meta":{"progressToken":1,"progressToken":2}}"#,
        r#"{"name":"nobody"}"#,
    ] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        client.send_raw(format!("{line}\n").as_bytes()).await;
        let answer = client.next().await;
        assert_eq!(answer["error"]["code"], -32602, "{line} {answer}");
        assert_eq!(answer["id"], 1);
        still_works(&mut client).await;
    }
    // Members that need not be there may be `null`.
    let line = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":null,"_meta":null}}"#;
    client.send_raw(format!("{line}\n").as_bytes()).await;
    assert!(client.next().await.get("result").is_some());
    for (method, params) in [
        ("tools/list", r#"{"cursor":5}"#),
        ("ping", "null"),
        ("resources/read", r#"{"uri":{}}"#),
        ("resources/subscribe", "{}"),
        ("prompts/get", r#"{"name":"p","arguments":3}"#),
    ] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        client.send_raw(format!("{line}\n").as_bytes()).await;
        assert_eq!(client.next().await["error"]["code"], -32602, "{line}");
    }
}

#[tokio::test]
async fn input_that_is_not_a_request_is_an_error_without_an_id() {
    let mut client = Client::legacy(json!({})).await;
    let batch = format!(
        "[{}]",
        vec![r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#; 10_000].join(",")
    );
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for (line, code) in [
        (batch.as_str(), -32600),
        (deep.as_str(), -32600),
        ("[]", -32600),
        ("5", -32600),
        ("null", -32600),
        (r#""text""#, -32600),
        ("{}", -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600),
        (
            r#"{"jsonrpc":"2.0","id":99999999999999999999999,"method":"ping"}"#,
            -32600,
        ),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","result":{}}"#, -32600),
        ("{", -32700),
        ("hello", -32700),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} trailing",
            -32700,
        ),
        ("\0", -32700),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\0ng\"}",
            -32700,
        ),
    ] {
        client.send_raw(format!("{line}\n").as_bytes()).await;
        let answer = client.next().await;
        let shown = &line[..line.len().min(80)];
        assert_eq!(answer["error"]["code"], code, "{shown}: {answer}");
        assert!(answer.get("id").is_none(), "{shown}: {answer}");
        still_works(&mut client).await;
    }
    client
        .send_raw(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}\n")
        .await;
    assert_eq!(client.next().await["error"]["code"], -32700);
    still_works(&mut client).await;
}

#[tokio::test]
async fn what_is_wrong_with_a_known_id_says_the_id() {
    let mut client = Client::legacy(json!({})).await;
    for line in [
        r#"{"id":"x","method":"ping"}"#,
        r#"{"jsonrpc":"1.0","id":"x","method":"ping"}"#,
        r#"{"jsonrpc":2.0,"id":"x","method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":"x","method":5}"#,
        r#"{"jsonrpc":"2.0","id":"x","method":"ping","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"x","result":{},"error":{"code":1,"message":""}}"#,
    ] {
        client.send_raw(format!("{line}\n").as_bytes()).await;
        let answer = client.next().await;
        assert_eq!(answer["error"]["code"], -32600, "{line} {answer}");
        assert_eq!(answer["id"], "x");
    }
    still_works(&mut client).await;
}

#[tokio::test]
async fn deep_arguments_reach_the_host_and_deep_input_is_refused() {
    let mut client = Client::legacy(json!({})).await;
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    client
        .send_raw(format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\"echo\",\"arguments\":{{\"text\":{deep}}}}}}}\n").as_bytes())
        .await;
    assert_eq!(client.next().await["id"], 1);
    client
        .send_raw(format!("{{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"prompts/get\",\"params\":{{\"name\":\"p\",\"arguments\":{{\"text\":{deep}}}}}}}\n").as_bytes())
        .await;
    assert_eq!(client.next().await["error"]["code"], -32602);
    client
        .send_raw(format!("{{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{deep}}}\n").as_bytes())
        .await;
    still_works(&mut client).await;
}

#[tokio::test]
async fn notifications_and_answers_are_never_answered() {
    let mut client = Client::legacy(json!({})).await;
    for line in [
        r#"{"jsonrpc":"2.0","method":"nonsense"}"#,
        r#"{"jsonrpc":"2.0","method":"tools/call","params":[]}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":null}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}"#,
        r#"{"jsonrpc":"2.0","id":77,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"77","error":{"code":-1,"message":"no"}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no"}}"#,
        "",
        "   ",
    ] {
        client.send_raw(format!("{line}\r\n").as_bytes()).await;
        still_works(&mut client).await;
    }
}

#[tokio::test]
async fn a_line_over_the_limit_is_skipped_and_said_once() {
    let mut options = options();
    options.max_line = 1000;
    let mut client = Client::with(Stage::new(EVERYTHING), options, 64 * 1024);
    client.initialize(json!({})).await;
    for length in [1001, 70_000, 5_000_000] {
        client.send_raw(&vec![b'x'; length]).await;
        client.send_raw(b"\n").await;
        let answer = client.next().await;
        assert_eq!(answer["error"]["code"], -32600, "{length}: {answer}");
        still_works(&mut client).await;
    }
    // Exactly as long as allowed.
    let mut line = call(1, "echo", json!({"text": ""})).to_string();
    let fill = "x".repeat(1000 - line.len());
    line = call(1, "echo", json!({"text": fill})).to_string();
    assert_eq!(line.len(), 1000);
    client.send_raw(format!("{line}\n").as_bytes()).await;
    assert_eq!(client.next().await["result"]["content"][0]["text"], fill);
}

#[tokio::test]
async fn a_host_that_panics_loses_one_answer_and_says_so() {
    let mut client = Client::legacy(json!({})).await;
    for name in ["panic", "panic_at_once"] {
        let answer = client.request(call(1, name, json!({}))).await;
        assert_eq!(answer["error"]["code"], -32603);
        still_works(&mut client).await;
    }
}
