//! Calls that are answered with their outcome.

use http::Method;
use serde_json::{Value, json};
use toolcrib::approval::ApprovalResponse;

use super::{Stage, call, post_raw, soon};

const READ: &str = "/tools/bundles/core/tools/read-file/version/v1/invoke";

#[tokio::test]
async fn a_tool_of_a_bundle_is_called_by_its_path() {
    let stage = Stage::new();
    std::fs::write(stage.scene.work().join("note.txt"), "hello").unwrap();
    let body = json!({"args": {"path": "note.txt"}, "callId": "c-1", "timeoutMs": 5000});
    let (status, outcome) = stage.operator().post(READ, body).await;
    assert_eq!(status, 200, "{outcome}");
    assert_eq!(outcome["ok"], true);
    assert_eq!(outcome["metadata"]["callId"], "c-1");
    assert_eq!(outcome["metadata"]["bundle"], "core");
    // The bundle by its published id, too.
    let by_id = READ.replace("core", "01930000-0000-7000-8000-000000000001");
    let (status, again) = stage
        .operator()
        .post(&by_id, json!({"args": {"path": "note.txt"}}))
        .await;
    assert_eq!(status, 200, "{again}");
    assert_eq!(again["value"], outcome["value"]);
}

#[tokio::test]
async fn every_spelling_of_a_call_is_taken() {
    let stage = Stage::new();
    for body in [
        json!({"name": "echo", "arguments": {"text": "a"}}),
        json!({"name": "echo", "parameters": {"text": "a"}}),
        json!({"tool": "echo", "args": {"text": "a"}, "approvals": "wait", "approvalWaitMs": 5, "cancelOnDisconnect": true, "session": "s"}),
    ] {
        let (status, outcome) = stage.operator().post("/api/calls", body).await;
        assert_eq!(status, 200, "{outcome}");
        assert_eq!(outcome["value"], "a");
    }
}

#[tokio::test]
async fn a_tool_that_fails_is_a_200_and_a_refusal_has_its_status() {
    let stage = Stage::new();
    let cases = [
        (call("fail", json!({})), 200, "EXECUTION_ERROR"),
        (call("no_such_tool", json!({})), 404, "TOOL_NOT_FOUND"),
        (call("echo", json!({})), 400, "INVALID_ARGUMENTS"),
        (
            call("shell", json!({"command": "sudo rm -rf /"})),
            403,
            "BLOCKED_BY_RULE",
        ),
        (
            json!({"tool": "ask", "approvals": "given"}),
            403,
            "APPROVAL_UNAVAILABLE",
        ),
        (
            json!({"tool": "ask", "approvalWaitMs": 20}),
            403,
            "APPROVAL_EXPIRED",
        ),
        (json!({"tool": "hold", "timeoutMs": 20}), 200, "TIMEOUT"),
    ];
    for (body, expected, code) in cases {
        let (status, outcome) = stage.operator().post("/api/calls", body.clone()).await;
        assert_eq!(status, expected, "{body}: {outcome}");
        assert_eq!(outcome["ok"], false);
        assert_eq!(outcome["error"]["code"], code, "{body}");
        assert!(outcome["metadata"]["callId"].is_string(), "{outcome}");
    }
    stage
        .scene
        .crib
        .registry()
        .set_enabled("echo", false)
        .unwrap();
    let (status, outcome) = stage
        .operator()
        .post("/api/calls", call("echo", json!({"text": ""})))
        .await;
    assert_eq!(
        (status.as_u16(), &outcome["error"]["code"]),
        (409, &json!("TOOL_DISABLED"))
    );
}

#[tokio::test]
async fn arguments_against_the_schema_are_a_400_that_says_where() {
    let stage = Stage::new();
    for (text, pointer) in [
        (r#"{"tool": "echo", "args": {}}"#, "/text"),
        (r#"{"tool": "echo", "args": {"text": 5}}"#, "/text"),
        (
            r#"{"tool": "echo", "args": {"text": "", "extra": 1}}"#,
            "/extra",
        ),
        (
            r#"{"tool": "echo", "args": {"text": "", "number": 1e400}}"#,
            "/args/number",
        ),
        (
            r#"{"tool": "echo", "args": {"text": "", "number": 9223372036854775808}}"#,
            "/number",
        ),
        (
            r#"{"tool": "echo", "args": {"text": "", "number": 0.5}}"#,
            "/number",
        ),
        (r#"{"tool": "echo", "args": {"text": "\ud800"}}"#, "/args"),
        (
            r#"{"tool": "echo", "args": {"text": "", "number": NaN}}"#,
            "",
        ),
        (
            r#"{"tool": "echo", "args": {"text": "a", "text": "b"}}"#,
            "/args/text",
        ),
        (r#"{"tool": "echo", "args": null}"#, "/args"),
        (r#"{"tool": "echo", "args": []}"#, "/args"),
        (r#"{"tool": "echo", "args": "{}"}"#, "/args"),
    ] {
        let (status, answer) = stage
            .operator()
            .send(Method::POST, "/api/calls", Some(text.into()))
            .await;
        assert_eq!(status, 400, "{text}: {answer}");
        assert_eq!(answer["ok"], false);
        assert!(
            answer["error"].to_string().contains(pointer),
            "{text}: {answer}"
        );
    }
    let minus_zero = r#"{"tool": "echo", "args": {"text": "", "number": -0}}"#;
    let (status, answer) = stage
        .operator()
        .send(Method::POST, "/api/calls", Some(minus_zero.into()))
        .await;
    assert!(status == 200 || status == 400, "{answer}");
}

#[tokio::test]
async fn input_that_is_not_a_call_is_a_400() {
    let stage = Stage::new();
    for (path, body) in [
        ("/api/calls", json!({})),
        ("/api/calls", json!([])),
        ("/api/calls", json!(null)),
        ("/api/calls", json!({"args": {}})),
        ("/api/calls", json!({"tool": 5})),
        ("/api/calls", json!({"tool": "echo", "name": "echo"})),
        (
            "/api/calls",
            json!({"tool": "echo", "args": {}, "arguments": {}}),
        ),
        ("/api/calls", json!({"tool": "echo", "callId": ""})),
        ("/api/calls", json!({"tool": "echo", "callId": "a b"})),
        ("/api/calls", json!({"tool": "echo", "callId": "a/b"})),
        ("/api/calls", json!({"tool": "echo", "callId": ".."})),
        ("/api/calls", json!({"tool": "echo", "callId": 1})),
        ("/api/calls", json!({"tool": "echo", "timeoutMs": 0})),
        ("/api/calls", json!({"tool": "echo", "timeoutMs": -1})),
        ("/api/calls", json!({"tool": "echo", "timeoutMs": "5s"})),
        ("/api/calls", json!({"tool": "echo", "approvals": "no"})),
        ("/api/calls", json!({"tool": "echo", "approvalWaitMs": 1.5})),
        (
            "/api/calls",
            json!({"tool": "echo", "cancelOnDisconnect": 1}),
        ),
        ("/api/calls", json!({"tool": "echo", "session": ""})),
        ("/api/calls", json!({"tool": "echo", "other": 1})),
        ("/api/calls?shape=other", json!({"tool": "echo"})),
        ("/api/calls?shapes=simple", json!({"tool": "echo"})),
        (READ, json!({"tool": "echo"})),
        (READ, json!({"arguments": {}})),
        (
            "/tools/bundles/a_b/tools/read-file/version/v1/invoke",
            json!({}),
        ),
        (
            "/tools/bundles/core/tools/read_file/version/v1/invoke",
            json!({}),
        ),
        (
            "/tools/bundles/core/tools/read-file/version/%2e%2e/invoke",
            json!({}),
        ),
        (
            "/tools/bundles/core/tools/read-file/version/..%2f/invoke",
            json!({}),
        ),
    ] {
        let (status, answer) = stage.operator().post(path, body.clone()).await;
        assert_eq!(status, 400, "{path} {body}: {answer}");
        assert_eq!(answer["ok"], false);
    }
    for path in [
        "/tools/bundles/core/tools/read-file/version/v2/invoke",
        "/tools/bundles/nowhere/tools/read-file/version/v1/invoke",
        "/tools/bundles/core/tools/nothing/version/v1/invoke",
    ] {
        let (status, answer) = stage.operator().post(path, json!({"args": {}})).await;
        assert_eq!(status, 404, "{path}: {answer}");
    }
}

#[tokio::test]
async fn outcomes_come_in_every_shape() {
    let stage = Stage::new();
    for (shape, key, value) in [
        ("tagged", "ok", json!(true)),
        ("simple", "output", json!("a")),
        ("detailed", "content", json!("a")),
        ("mcp", "isError", json!(false)),
    ] {
        let path = format!("/api/calls?shape={shape}");
        let (status, outcome) = stage
            .operator()
            .post(&path, call("echo", json!({"text": "a"})))
            .await;
        assert_eq!(status, 200);
        assert_eq!(outcome[key], value, "{outcome}");
    }
    let (status, refused) = stage
        .operator()
        .post("/api/calls?shape=simple", call("echo", json!({})))
        .await;
    assert_eq!((status.as_u16(), &refused["success"]), (400, &json!(false)));
}

#[tokio::test]
async fn a_call_id_returns_the_kept_outcome_and_means_one_call() {
    let stage = Stage::new();
    let body = json!({"tool": "echo", "args": {"text": "a"}, "callId": "same"});
    let (_, first) = stage.operator().post("/api/calls", body.clone()).await;
    let (status, second) = stage.operator().post("/api/calls", body).await;
    assert_eq!((status.as_u16(), &second), (200, &first));
    let other = json!({"tool": "echo", "args": {"text": "b"}, "callId": "same"});
    let (status, refused) = stage.operator().post("/api/calls", other).await;
    assert_eq!(
        (status.as_u16(), &refused["error"]["code"]),
        (409, &json!("CONFLICT"))
    );
    // An id is its caller's own.
    let body = json!({"tool": "echo", "args": {"text": "a"}, "callId": "same"});
    let (status, refused) = stage.client("bot").post("/api/calls", body).await;
    assert_eq!(
        (status.as_u16(), &refused["error"]["code"]),
        (409, &json!("CONFLICT"))
    );
}

#[tokio::test]
async fn a_call_joins_the_one_that_runs_with_its_id() {
    let stage = Stage::new();
    let body = json!({"tool": "hold", "callId": "joined"});
    let operator = stage.operator();
    let calls = futures_util::future::join(
        operator.post("/api/calls", body.clone()),
        operator.post("/api/calls", body.clone()),
    );
    let release = async {
        soon(|| (!stage.scene.crib.registry().running().is_empty()).then_some(())).await;
        stage.release.add_permits(1);
    };
    let ((first, second), ()) = futures_util::future::join(calls, release).await;
    assert_eq!(first, second);
    assert_eq!(first.1["value"], "let go");
}

#[tokio::test]
async fn a_call_waits_for_its_approval() {
    let stage = Stage::new();
    let operator = stage.operator();
    let calling = operator.post("/api/calls", call("ask", json!({})));
    let answering = stage.answer(ApprovalResponse::approve("Ada"));
    let ((status, outcome), ()) = futures_util::future::join(calling, answering).await;
    assert_eq!(status, 200, "{outcome}");
    assert_eq!(outcome["metadata"]["approval"]["by"], "Ada");

    let calling = operator.post("/api/calls", call("ask", json!({})));
    let answering = stage.answer(ApprovalResponse::deny("Ada", "not today"));
    let ((status, outcome), ()) = futures_util::future::join(calling, answering).await;
    assert_eq!(status, 403);
    assert_eq!(outcome["error"]["code"], "APPROVAL_DENIED");
}

#[tokio::test]
async fn only_the_operator_says_yes_to_everything() {
    let stage = Stage::new();
    let body = json!({"tool": "ask", "approvals": "yes"});
    let (status, outcome) = stage.operator().post("/api/calls", body.clone()).await;
    assert_eq!(
        (status.as_u16(), &outcome["metadata"]["approval"]["by"]),
        (200, &json!("--yes"))
    );
    let bot = stage.client("bot");
    for body in [body, json!({"tool": "ask", "session": "s"})] {
        let (status, refused) = bot.post("/api/calls", body).await;
        assert_eq!(
            (status.as_u16(), &refused["error"]["code"]),
            (403, &json!("FORBIDDEN"))
        );
    }
    let bot = bot.header("toolcrib-caller", "cli");
    let (status, _) = bot
        .post("/api/calls", call("echo", json!({"text": ""})))
        .await;
    assert_eq!(status, 403);
    let cli = stage.operator().header("toolcrib-caller", "cli");
    let (status, outcome) = cli
        .post("/api/calls", json!({"tool": "echo", "args": {"text": ""}}))
        .await;
    assert_eq!(status, 200);
    let id = outcome["metadata"]["callId"].as_str().unwrap().to_owned();
    let (_, state) = stage.operator().get(&format!("/api/calls/{id}")).await;
    assert_eq!(state["caller"], "cli");
}

#[tokio::test]
async fn a_tool_that_may_not_be_called_so_often_says_when_to_come_back() {
    let stage = Stage::new();
    let limits = toolcrib::LimitsPatch {
        max_calls_per_minute: Some(1),
        ..toolcrib::LimitsPatch::default()
    };
    let rare = toolcrib::FnTool::new("rare", "Is rare", |(), _cx| async { Ok("there") });
    stage
        .scene
        .crib
        .registry()
        .register(rare.unwrap().limits(limits))
        .unwrap();
    let operator = stage.operator();
    let mut last = None;
    for _ in 0..3 {
        last = Some(post_raw(&operator, "/api/calls", call("rare", json!({}))).await);
    }
    let last = last.unwrap();
    assert_eq!(last.status(), 429);
    let seconds: u64 = last.headers()["retry-after"]
        .to_str()
        .unwrap()
        .parse()
        .unwrap();
    assert!((1..=60).contains(&seconds));
}

#[tokio::test]
async fn an_answered_call_is_on_record() {
    let stage = Stage::new();
    let (_, outcome) = stage
        .operator()
        .post("/api/calls", call("echo", json!({"text": "kept"})))
        .await;
    let id: &Value = &outcome["metadata"]["callId"];
    let calls = std::fs::read_dir(stage.scene.home().join("calls")).unwrap();
    let written: String = calls
        .filter_map(|entry| std::fs::read_to_string(entry.unwrap().path()).ok())
        .collect();
    assert!(
        written.contains(id.as_str().unwrap()),
        "not in the log: {written}"
    );
}
