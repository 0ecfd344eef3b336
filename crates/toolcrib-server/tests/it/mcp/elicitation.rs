//! Up to 2025-11-25: the person at the client is asked by a request of the server's.

use super::*;

fn asks() -> Value {
    json!({"elicitation": {}})
}

#[tokio::test]
async fn a_person_at_the_client_approves_and_that_is_recorded() {
    let stage = Stage::patient();
    let mut client = stage.legacy(asks()).await;
    let id = client.begin("launch", json!({"name": "x"})).await;
    let question = client.asked().await;
    assert_eq!(question["method"], "elicitation/create");
    let message = question["params"]["message"].as_str().unwrap();
    assert!(
        message.contains("launch") && message.contains("\"x\""),
        "{message}"
    );
    assert_eq!(stage.launched(), 0);
    client.reply(&question, approves()).await;
    let result = client.result_of(id).await;
    assert_eq!(text(&result), "x is gone");
    assert_eq!(result["isError"], false);
    let approval = &result["_meta"]["toolcrib/call"]["approval"];
    assert_eq!(approval["by"], "mcp:elicitation", "{result}");
    assert_eq!(stage.launched(), 1);
}

#[tokio::test]
async fn declining_and_denying_are_a_no() {
    for answer in [
        json!({"action": "decline"}),
        json!({"action": "accept", "content": {"decision": "deny", "reason": "not today"}}),
    ] {
        let stage = Stage::patient();
        let mut client = stage.legacy(asks()).await;
        let id = client.begin("launch", json!({"name": "x"})).await;
        let question = client.asked().await;
        client.reply(&question, answer.clone()).await;
        let result = client.result_of(id).await;
        assert_eq!(result["isError"], true);
        assert!(text(&result).starts_with("APPROVAL_DENIED"), "{result}");
        if answer["content"]["reason"].is_string() {
            assert!(text(&result).contains("not today"), "{result}");
        }
        assert_eq!(stage.launched(), 0);
    }
}

/// Programs without a person dismiss every question at once.
#[tokio::test]
async fn a_question_that_is_dismissed_waits_for_others_and_the_same_call_joins_it() {
    let stage = Stage::patient();
    let mut client = stage.legacy(asks()).await;
    let id = client.begin("launch", json!({"name": "x"})).await;
    let question = client.asked().await;
    client.reply(&question, json!({"action": "cancel"})).await;
    let waiting = client.result_of(id).await;
    assert!(text(&waiting).contains("waits for a person"), "{waiting}");
    let call = &waiting["_meta"]["toolcrib/call"];
    assert_eq!(call["status"], "pending", "{waiting}");
    // The same client with the same arguments is not asked again, and gets what a person elsewhere decides.
    let again = client.begin("launch", json!({"name": "x"})).await;
    stage.answer(ApprovalResponse::approve("Ada")).await;
    let result = client.result_of(again).await;
    assert_eq!(text(&result), "x is gone");
    assert_eq!(result["_meta"]["toolcrib/call"]["callId"], call["callId"]);
    assert!(client.is_quiet().await, "asked again: {:?}", client.aside);
    assert_eq!(stage.launched(), 1);
}

/// `codex exec` declines every question at once.
#[tokio::test]
async fn a_no_of_codex_that_comes_at_once_decides_nothing() {
    for (name, hasty, is_answer) in [
        ("codex-mcp-client", Duration::MAX, false),
        ("codex-mcp-client", Duration::ZERO, true),
        ("test", Duration::MAX, true),
    ] {
        let options = HostOptions {
            hasty: Some(hasty),
            ..HostOptions::default()
        };
        let stage = Stage::serving("", options);
        let mut client = Client::of(Arc::clone(&stage.host), None);
        client.initialize_as(name, "2025-06-18", asks()).await;
        let id = client.begin("launch", json!({"name": "x"})).await;
        let question = client.asked().await;
        client.reply(&question, json!({"action": "decline"})).await;
        let result = client.result_of(id).await;
        let is_denied = text(&result).starts_with("APPROVAL_DENIED");
        assert_eq!(is_denied, is_answer, "{result}");
        if !is_answer {
            assert!(text(&result).contains("waits for a person"), "{result}");
            let again = client.begin("launch", json!({"name": "x"})).await;
            stage.answer(ApprovalResponse::approve("Ada")).await;
            assert_eq!(text(&client.result_of(again).await), "x is gone");
        }
    }
}

#[tokio::test]
async fn a_client_that_ends_its_input_while_it_is_asked_learns_at_once_what_waits() {
    let stage = Stage::patient();
    let mut client = stage.legacy(asks()).await;
    let id = client.begin("launch", json!({"name": "x"})).await;
    client.asked().await;
    let mut writer = client.writer.take().unwrap();
    writer.shutdown().await.unwrap();
    let result = client.result_of(id).await;
    assert_eq!(result["isError"], true);
    assert!(text(&result).contains("toolcrib approvals"), "{result}");
    let served = tokio::time::timeout(PATIENCE, client.served).await;
    served.expect("it ends").unwrap().unwrap();
    assert_eq!(stage.launched(), 0);
}

/// Case APR-008: the same in other words is another call to the memory of denials, and not to a person.
#[tokio::test]
async fn calls_that_are_denied_one_after_the_other_are_not_asked_about_for_ever() {
    let stage = Stage::patient();
    let mut client = stage.legacy(asks()).await;
    let mut asked = 0;
    for spelling in 0..30 {
        let name = format!("./{spelling}/../x");
        let id = client.begin("launch", json!({"name": name})).await;
        let message = client.next().await;
        if message["method"] == "elicitation/create" {
            asked += 1;
            client.reply(&message, json!({"action": "decline"})).await;
            client.result_of(id).await;
        } else {
            let refused = &message["result"];
            assert!(text(refused).starts_with("RATE_LIMITED"), "{message}");
        }
    }
    assert_eq!(asked, 10);
    assert_eq!(stage.launched(), 0);
}

/// Case APR-008.
#[tokio::test]
async fn a_call_that_was_denied_is_not_asked_about_again_a_hundred_times() {
    let stage = Stage::patient();
    let mut client = stage.legacy(asks()).await;
    let id = client.begin("launch", json!({"name": "x"})).await;
    let question = client.asked().await;
    client.reply(&question, json!({"action": "decline"})).await;
    client.result_of(id).await;
    for _ in 0..100 {
        let result = client.call("launch", json!({"name": "x"})).await;
        assert!(text(&result).starts_with("APPROVAL_DENIED"), "{result}");
    }
    assert!(client.is_quiet().await, "asked again: {:?}", client.aside);
    assert_eq!(stage.launched(), 0);
}

#[tokio::test]
async fn another_process_may_be_faster_and_the_client_is_informed_that_its_question_is_off() {
    let stage = Stage::patient();
    let mut client = stage.legacy(asks()).await;
    let id = client.begin("launch", json!({"name": "x"})).await;
    let question = client.asked().await;
    stage.answer(ApprovalResponse::approve("Ada")).await;
    let result = client.result_of(id).await;
    assert_eq!(text(&result), "x is gone");
    assert_eq!(result["_meta"]["toolcrib/call"]["approval"]["by"], "Ada");
    let off = client.next().await;
    assert_eq!(off["method"], "notifications/cancelled", "{off}");
    assert_eq!(off["params"]["requestId"], question["id"]);
    // Too late, and harmless.
    client.reply(&question, approves()).await;
    client.call("echo", json!({"name": "still there"})).await;
    assert_eq!(stage.launched(), 1);
}

#[tokio::test]
async fn a_client_that_never_answers_does_not_hang_a_call() {
    let stage = Stage::new();
    let mut client = stage.legacy(asks()).await;
    let result = client.call("launch", json!({"name": "x"})).await;
    assert_eq!(result["isError"], true);
    assert!(text(&result).contains("waits for a person"), "{result}");
    let (_, until) = text(&result).split_once(", until ").unwrap();
    let until = until.lines().next().unwrap();
    assert!(until.ends_with('Z') && !until.contains('.'), "{until}");
    // It still can be answered elsewhere, and the same call picks it up.
    stage.answer(ApprovalResponse::approve("Ada")).await;
    let result = client.call("launch", json!({"name": "x"})).await;
    assert_eq!(text(&result), "x is gone");
    assert_eq!(stage.launched(), 1);
}

#[tokio::test]
async fn a_client_that_refuses_to_ask_leaves_the_question_to_others() {
    let stage = Stage::patient();
    let mut client = stage.legacy(asks()).await;
    let id = client.begin("launch", json!({"name": "x"})).await;
    let question = client.asked().await;
    let refusal = json!({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -32601, "message": "what?"}});
    client.send(refusal).await;
    stage.answer(ApprovalResponse::approve("Ada")).await;
    assert_eq!(text(&client.result_of(id).await), "x is gone");
}

/// Case APR-001.
#[tokio::test]
async fn edited_arguments_are_checked_like_those_of_a_new_call_and_may_be_mended() {
    let stage = Stage::patient();
    let mut client = stage.legacy(asks()).await;
    let edit = |arguments: Value| json!({"action": "accept", "content": {"decision": "approve", "arguments": arguments.to_string()}});
    let id = client.begin("launch", json!({"name": "x"})).await;
    let question = client.asked().await;
    client
        .reply(
            &question,
            edit(json!({"name": "far too long for the schema"})),
        )
        .await;
    let again = client.asked().await;
    let message = again["params"]["message"].as_str().unwrap();
    assert!(
        message.starts_with("The last answer cannot be used"),
        "{message}"
    );
    client.reply(&again, edit(json!({"name": "y"}))).await;
    let result = client.result_of(id).await;
    assert_eq!(text(&result), "y is gone");
    assert_eq!(
        result["_meta"]["toolcrib/call"]["approval"]["modified"],
        true
    );
    // The model called something else: a note after the result says so.
    assert_eq!(
        result["content"][1]["text"],
        "A person changed arguments of this call before approving it: `name`. The result is that of the changed call."
    );
}

/// Case APR-001: an approved path outside the workspace stays outside.
#[tokio::test]
async fn an_edit_that_leads_out_of_the_workspace_never_runs() {
    let stage = Stage::patient();
    let canary = stage.scene.work().parent().unwrap().join("canary");
    std::fs::write(&canary, "alive").unwrap();
    std::fs::write(stage.scene.work().join("a.txt"), "a").unwrap();
    let mut client = stage.legacy(asks()).await;
    let id = client.begin("delete_file", json!({"path": "a.txt"})).await;
    for _ in 0..3 {
        let question = client.asked().await;
        let answer = json!({"action": "accept", "content": {"decision": "approve", "arguments": "{\"path\":\"../canary\"}"}});
        client.reply(&question, answer).await;
    }
    let result = client.result_of(id).await;
    assert!(text(&result).starts_with("APPROVAL_DENIED"), "{result}");
    assert!(canary.exists() && stage.scene.work().join("a.txt").exists());
}

/// Case APR-013.
#[tokio::test]
async fn a_call_inside_a_call_is_asked_about_the_same_way() {
    let stage = Stage::patient();
    let mut client = stage.legacy(asks()).await;
    let id = client.begin("outer", json!({"name": "x"})).await;
    let question = client.asked().await;
    assert!(
        question["params"]["message"]
            .as_str()
            .unwrap()
            .contains("`launch`")
    );
    client.reply(&question, approves()).await;
    assert_eq!(text(&client.result_of(id).await), "x is gone");
}

#[tokio::test]
async fn a_setting_keeps_clients_from_being_asked() {
    let stage = Stage::with("mcp.elicitation = false\nmcp.approvalWaitMs = 100\n");
    let mut client = stage.legacy(asks()).await;
    let result = client.call("launch", json!({"name": "x"})).await;
    assert!(text(&result).contains("waits for a person"), "{result}");
    assert!(client.is_quiet().await);
}

#[tokio::test]
async fn taking_the_request_back_withdraws_the_question() {
    let stage = Stage::patient();
    let mut client = stage.legacy(asks()).await;
    let id = client.begin("launch", json!({"name": "x"})).await;
    client.asked().await;
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    client.send(cancelled).await;
    stage
        .until("withdrawn", || stage.questions().is_empty())
        .await;
    assert_eq!(stage.launched(), 0);
}

#[tokio::test]
async fn what_a_tool_wants_to_know_is_passed_on_and_its_answer_back() {
    let stage = Stage::patient();
    let mut client = stage.legacy(json!({"elicitation": {"form": {}}})).await;
    let id = client.begin("paint", json!({"name": "x"})).await;
    let asked = client.asked().await;
    assert_eq!(asked["method"], "elicitation/create");
    assert_eq!(
        asked["params"]["message"],
        "The MCP server `painter` asks: Which colour?"
    );
    let blue = json!({"action": "accept", "content": {"colour": "blue"}});
    client.reply(&asked, blue).await;
    assert_eq!(text(&client.result_of(id).await), "painted \"blue\"");
    // A client that cannot be asked gets an error that says so.
    let mut other = stage.legacy(json!({})).await;
    let failed = other.call("paint", json!({"name": "x"})).await;
    assert!(text(&failed).contains("no one can be asked"), "{failed}");
    assert_eq!(stage.launched(), 1);
}
