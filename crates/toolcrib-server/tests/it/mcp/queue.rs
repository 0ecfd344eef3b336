//! Clients that cannot be asked: the queue, for a while, and then the model learns what it waits for.

use super::*;

#[tokio::test]
async fn the_model_is_informed_what_is_waited_for_and_the_same_call_picks_it_up_once() {
    let stage = Stage::new();
    for modern in [false, true] {
        let before = stage.launched();
        let mut client = match modern {
            true => stage.modern(json!({})),
            false => stage.legacy(json!({})).await,
        };
        let arguments = json!({"name": if modern { "m" } else { "l" }});
        let result = client.call("launch", arguments.clone()).await;
        assert_eq!(result["isError"], true);
        let told = &result["_meta"]["toolcrib/call"];
        assert_eq!(told["status"], "pending", "{result}");
        let question = stage.question().await.request;
        assert_eq!(told["callId"], question.call_id.as_str());
        let short = |id: &str| id[id.len() - 8..].to_owned();
        for part in [
            format!("The call {} ", short(question.call_id.as_str())),
            format!("`toolcrib approvals approve {}`", short(&question.id)),
            format!("`toolcrib approvals deny {}`", short(&question.id)),
            "again with the same arguments".to_owned(),
        ] {
            assert!(text(&result).contains(&part), "{part}: {result}");
        }
        // Again, while no one has answered: no second question.
        let again = client.call("launch", arguments.clone()).await;
        assert_eq!(again["_meta"]["toolcrib/call"]["callId"], told["callId"]);
        assert_eq!(stage.questions().len(), 1);
        stage.answer(ApprovalResponse::approve("Ada")).await;
        stage
            .until("launched", || stage.launched() == before + 1)
            .await;
        let done = client.call("launch", arguments.clone()).await;
        assert_eq!(
            done["content"][0]["text"],
            format!("{} is gone", arguments["name"].as_str().unwrap())
        );
        assert_eq!(done["_meta"]["toolcrib/call"]["callId"], told["callId"]);
        // Handed over: the next one is a new call.
        let new = client.call("launch", arguments.clone()).await;
        assert_eq!(new["_meta"]["toolcrib/call"]["status"], "pending", "{new}");
        assert_ne!(new["_meta"]["toolcrib/call"]["callId"], told["callId"]);
        assert_eq!(stage.launched(), before + 1);
        stage.answer(ApprovalResponse::deny("Ada", "enough")).await;
        let denied = client.call("launch", arguments).await;
        assert!(text(&denied).contains("enough"), "{denied}");
    }
}

#[tokio::test]
async fn an_answer_in_time_needs_no_second_call() {
    let stage = Stage::patient();
    let mut client = stage.legacy(json!({})).await;
    let id = client.begin("launch", json!({"name": "x"})).await;
    stage.answer(ApprovalResponse::approve("Ada")).await;
    assert_eq!(text(&client.result_of(id).await), "x is gone");
}

#[tokio::test]
async fn another_principal_another_tool_and_other_arguments_are_other_calls() {
    let stage = Stage::new();
    let mut client = stage.legacy(json!({})).await;
    client.call("launch", json!({"name": "x"})).await;
    client.call("launch", json!({"name": "y"})).await;
    let mut other = Client::named("client:ada", Arc::clone(&stage.host), Some(json!({})));
    other.call("launch", json!({"name": "x"})).await;
    assert_eq!(stage.questions().len(), 3);
    // What one is allowed, the others are not.
    for question in stage.questions() {
        if question.request.caller.to_string() == "client:ada" {
            let digest = Some(question.request.args_digest.as_str());
            let crib = &stage.scene.crib;
            crib.answer(
                &question.request.id,
                digest,
                ApprovalResponse::approve("Ada"),
            )
            .unwrap();
        }
    }
    assert_eq!(
        text(&other.call("launch", json!({"name": "x"})).await),
        "x is gone"
    );
    let still = client.call("launch", json!({"name": "x"})).await;
    assert_eq!(still["_meta"]["toolcrib/call"]["status"], "pending");
    assert_eq!(stage.launched(), 1);
}

/// A question that lapsed is put again: no one has said anything yet.
#[tokio::test]
async fn after_a_question_has_lapsed_the_same_call_asks_again() {
    let stage = Stage::with("mcp.approvalWaitMs = 50\napprovals.expiresMs = 400\n");
    let mut client = stage.legacy(json!({})).await;
    let first = client.call("launch", json!({"name": "x"})).await;
    stage.until("lapsed", || stage.questions().is_empty()).await;
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        let next = client.call("launch", json!({"name": "x"})).await;
        let told = &next["_meta"]["toolcrib/call"];
        if told["status"] == "pending"
            && told["callId"] != first["_meta"]["toolcrib/call"]["callId"]
        {
            break;
        }
        assert!(tokio::time::Instant::now() < deadline, "{next}");
    }
    assert_eq!(stage.launched(), 0);
}

/// Case APR-006: what answers questions is not a tool.
#[tokio::test]
async fn no_tool_answers_questions() {
    let stage = Stage::new();
    for entry in stage.scene.crib.registry().entries() {
        let name = entry.spec().name.to_string();
        assert!(
            !name.contains("approv") && !name.contains("grant"),
            "{name}"
        );
    }
    let mut client = stage.legacy(json!({})).await;
    for name in ["approve", "approvals", "toolcrib_approvals_approve"] {
        let error = client.call(name, json!({"id": "x"})).await;
        assert_eq!(error["code"], -32602, "{error}");
    }
}

/// Case APR-015: who died left a question; an answer to it counts for the same call made again, once.
#[tokio::test]
async fn an_approval_for_a_server_that_died_runs_the_same_call_once() {
    let stage = Stage::new();
    let mut client = stage.legacy(json!({})).await;
    let died = client.call("launch", json!({"name": "x"})).await;
    assert_eq!(died["_meta"]["toolcrib/call"]["status"], "pending");
    stage.host.finish().await;
    assert!(stage.questions().is_empty(), "withdrawn at an orderly end");
    let restarted = stage.restarted();
    let mut client = Client::of(restarted, Some(json!({})));
    client.call("launch", json!({"name": "x"})).await;
    stage.answer(ApprovalResponse::approve("Ada")).await;
    assert_eq!(
        text(&client.call("launch", json!({"name": "x"})).await),
        "x is gone"
    );
    assert_eq!(stage.launched(), 1);
}

#[tokio::test]
async fn of_two_who_wait_for_a_call_one_goes_and_the_other_has_its_result() {
    let stage = Stage::patient();
    let arguments = json!({"name": "x"});
    let mut asking = stage.modern(json!({"elicitation": {"form": {}}}));
    let asked = asking.call("launch", arguments.clone()).await;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let params = json!({"name": "launch", "arguments": arguments, "_meta": {"progressToken": 1}});
    let (mut goes, mut stays) = (stage.legacy(json!({})).await, stage.legacy(json!({})).await);
    let mut ids = Vec::new();
    for client in [&mut goes, &mut stays] {
        ids.push(client.request("tools/call", params.clone()).await);
        let note = client.next().await;
        assert_eq!(note["method"], "notifications/progress", "{note}");
    }
    let back = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": ids[0]}});
    goes.send(back).await;
    // Read, and what came of it: what follows is answered after it.
    goes.call("echo", json!({"name": "x"})).await;
    stage.answer(ApprovalResponse::approve("Ada")).await;
    assert_eq!(text(&stays.result_of(ids[1]).await), "x is gone");
    assert_eq!(stage.launched(), 1);
}

/// Clients count from when they asked, not from the last question.
#[tokio::test]
async fn a_call_with_several_questions_is_waited_for_once() {
    let wait = Duration::from_millis(1200);
    let stage = Stage::with("mcp.approvalWaitMs = 1200\n");
    let twice = FnTool::new("twice", "Launches two", |args: Launch, cx| async move {
        for name in ["one", "two"] {
            let inner = toolcrib::CallRequest::new("launch").arg("name", name);
            cx.call(inner).await.into_result()?;
        }
        Ok(args.name)
    });
    let registry = stage.scene.crib.registry();
    registry.register(twice.unwrap()).unwrap();
    let mut client = stage.legacy(json!({})).await;
    let since = std::time::Instant::now();
    let id = client.begin("twice", json!({"name": "x"})).await;
    stage.until("late", || since.elapsed() > wait * 3 / 4).await;
    stage.answer(ApprovalResponse::approve("Ada")).await;
    let waits = client.result_of(id).await;
    let told = &waits["_meta"]["toolcrib/call"];
    assert_eq!(told["status"], "pending", "{waits}");
    assert!(since.elapsed() < wait * 3 / 2, "{:?}", since.elapsed());
    assert_eq!(stage.launched(), 1);
}
