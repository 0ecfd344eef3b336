//! What a client gets for an outcome.

use super::*;

#[tokio::test]
async fn a_file_is_its_content_and_data_beside_it() {
    let stage = Stage::new();
    std::fs::write(stage.scene.work().join("a.txt"), "one\ntwo\n").unwrap();
    let mut client = stage.legacy(json!({})).await;
    let result = client.call("read_file", json!({"path": "a.txt"})).await;
    assert_eq!(text(&result), "one\ntwo\n");
    assert_eq!(result["structuredContent"]["size"], 8);
    assert_eq!(result["isError"], false);
    assert!(result["_meta"]["toolcrib/call"]["callId"].is_string());
}

#[tokio::test]
async fn a_picture_is_a_picture_and_other_bytes_are_a_resource() {
    let stage = Stage::new();
    let work = stage.scene.work();
    std::fs::write(work.join("a.png"), b"\x89PNG\r\n\x1a\n....").unwrap();
    std::fs::write(work.join("a b.bin"), [0, 255, 27]).unwrap();
    let mut client = stage.modern(json!({}));
    let read = |path: &str| json!({"path": path, "encoding": "base64"});
    let picture = client.call("read_file", read("a.png")).await;
    assert_eq!(
        picture["content"],
        json!([{"type": "image", "data": "iVBORw0KGgouLi4u", "mimeType": "image/png"}])
    );
    let bytes = client.call("read_file", read("a b.bin")).await;
    assert_eq!(
        bytes["content"],
        json!([{"type": "resource", "resource": {"uri": "workspace:///a%20b.bin", "mimeType": "application/octet-stream", "blob": "AP8b"}}])
    );
}

/// Structured content of any type came with 2026-07-28; before, it is an object.
#[tokio::test]
async fn a_result_that_is_not_an_object_reaches_a_client_of_2026_07_28_as_it_is() {
    for value in [json!([1, 2]), json!([]), json!(7), json!(false)] {
        let stage = Stage::new();
        let made = value.clone();
        let tool = FnTool::new("pair", "Gives a value", move |(), _cx| {
            let made = made.clone();
            async move { Ok(made) }
        });
        let tool = tool.unwrap().effects(toolcrib::Effects::READ);
        stage.scene.crib.registry().register(tool).unwrap();
        let result = stage.modern(json!({})).call("pair", json!({})).await;
        assert_eq!(result["structuredContent"], value, "{result}");
        assert_eq!(text(&result), value.to_string(), "{result}");
        let mut legacy = stage.legacy(json!({})).await;
        let result = legacy.call("pair", json!({})).await;
        assert!(result.get("structuredContent").is_none(), "{result}");
    }
}

/// Case MCP-012.
#[tokio::test]
async fn what_a_program_prints_cannot_reach_the_terminal_of_a_client() {
    let stage = Stage::new();
    let mut client = stage.legacy(json!({})).await;
    let command = r"printf '\033]52;c;ZXZpbA==\a\033[2Jdone\r\n'; exit 3";
    let result = client.call("shell", json!({"command": command})).await;
    assert_eq!(result["isError"], false, "{result}");
    let text = text(&result);
    assert!(!text.contains(['\u{1b}', '\u{7}']), "{text:?}");
    assert!(
        text.contains("done\r\n") && text.contains("[exit code 3]"),
        "{text:?}"
    );
    assert_eq!(result["structuredContent"]["exitCode"], 3);
}

#[tokio::test]
async fn a_failure_says_its_code_to_the_model_and_to_programs() {
    let stage = Stage::new();
    let mut client = stage.modern(json!({}));
    let result = client.call("read_file", json!({"path": "nowhere"})).await;
    assert_eq!(result["isError"], true);
    assert!(text(&result).starts_with("FILE_NOT_FOUND: "), "{result}");
    assert_eq!(
        result["_meta"]["toolcrib/call"]["error"]["code"],
        "FILE_NOT_FOUND"
    );
    assert!(result.get("structuredContent").is_none(), "{result}");
    let invalid = client.call("echo", json!({"nam": "x"})).await;
    assert!(
        text(&invalid).starts_with("INVALID_ARGUMENTS: "),
        "{invalid}"
    );
}

/// Case MCP-009.
#[tokio::test]
async fn input_that_is_not_a_call_is_an_error_of_the_protocol_and_harms_no_one() {
    let stage = Stage::new();
    let mut client = stage.legacy(json!({})).await;
    let unknown = client.call("ehco", json!({})).await;
    assert_eq!(unknown["code"], -32602);
    let message = unknown["message"].as_str().unwrap();
    assert!(
        message.contains("tool not found") && message.contains("`echo`"),
        "{message}"
    );
    for arguments in [json!("x"), json!([1]), json!(7)] {
        let error = client.call("echo", arguments.clone()).await;
        assert_eq!(error["code"], -32602, "{arguments}: {error}");
    }
    client.send_text(r#"{"jsonrpc":"2.0","id":900,"method":"tools/call","params":{"name":"echo","arguments":{"name":"a","name":"b"}}}"#).await;
    assert_eq!(client.result_of(900).await["code"], -32602);
    assert_eq!(
        text(&client.call("echo", json!({"name": "still there"})).await),
        "still there"
    );
}

#[tokio::test]
async fn tools_of_other_bundles_are_unknown() {
    let options = HostOptions {
        bundles: vec!["core".to_owned()],
        ..HostOptions::default()
    };
    let stage = Stage::serving("", options);
    std::fs::write(stage.scene.work().join("a.txt"), "a").unwrap();
    let mut client = stage.legacy(json!({})).await;
    assert_eq!(
        text(&client.call("read_file", json!({"path": "a.txt"})).await),
        "a"
    );
    let bundle = stage
        .scene
        .crib
        .registry()
        .find("echo")
        .unwrap()
        .spec()
        .bundle
        .to_string();
    if bundle != "core" {
        let error = client.call("echo", json!({"name": "x"})).await;
        assert_eq!(error["code"], -32602, "{error}");
        assert!(
            !error["message"]
                .as_str()
                .unwrap()
                .contains("did you mean `echo`"),
            "{error}"
        );
    }
}
