//! Since 2026-07-28: the question is the answer, and the answer a request.

use super::*;

fn asks() -> Value {
    json!({"elicitation": {"form": {}}})
}

/// The request made again, with answers and state.
async fn again(client: &mut Client, arguments: &Value, responses: Value, state: &Value) -> Value {
    again_of(client, "launch", arguments, responses, state).await
}

async fn again_of(
    client: &mut Client,
    tool: &str,
    arguments: &Value,
    responses: Value,
    state: &Value,
) -> Value {
    let params = json!({"name": tool, "arguments": arguments, "inputResponses": responses, "requestState": state});
    let id = client.request("tools/call", params).await;
    client.result_of(id).await
}

#[tokio::test]
async fn the_question_comes_as_an_answer_and_the_answer_runs_the_call_once() {
    let stage = Stage::patient();
    let mut client = stage.modern(asks());
    let arguments = json!({"name": "x"});
    let asked = client.call("launch", arguments.clone()).await;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let form = &asked["inputRequests"]["approval"];
    assert_eq!(form["method"], "elicitation/create");
    assert_eq!(form["params"]["mode"], "form");
    assert_eq!(stage.launched(), 0);
    let state = &asked["requestState"];
    let done = again(
        &mut client,
        &arguments,
        json!({"approval": approves()}),
        state,
    )
    .await;
    assert_eq!(text(&done), "x is gone", "{done}");
    assert_eq!(done["resultType"], "complete");
    assert_eq!(
        done["_meta"]["toolcrib/call"]["approval"]["by"],
        "mcp:elicitation"
    );
    // Once.
    let replayed = again(
        &mut client,
        &arguments,
        json!({"approval": approves()}),
        state,
    )
    .await;
    assert_eq!(replayed["code"], -32602, "{replayed}");
    assert!(
        replayed["message"]
            .as_str()
            .unwrap()
            .contains("used before"),
        "{replayed}"
    );
    assert_eq!(stage.launched(), 1);
}

#[tokio::test]
async fn a_no_is_a_no_and_a_retry_without_answers_is_asked_the_same_again() {
    let stage = Stage::patient();
    let mut client = stage.modern(asks());
    let arguments = json!({"name": "x"});
    let asked = client.call("launch", arguments.clone()).await;
    let same = again(&mut client, &arguments, json!({}), &asked["requestState"]).await;
    assert_eq!(same["inputRequests"], asked["inputRequests"], "{same}");
    let empty = json!({"approval": {"action": "accept", "content": {}}});
    let same = again(&mut client, &arguments, empty, &same["requestState"]).await;
    assert_eq!(same["resultType"], "input_required", "{same}");
    assert_eq!(stage.questions().len(), 1);
    let no = json!({"approval": {"action": "decline"}});
    let denied = again(&mut client, &arguments, no, &same["requestState"]).await;
    assert!(text(&denied).starts_with("APPROVAL_DENIED"), "{denied}");
    assert_eq!(stage.launched(), 0);
}

/// As in the era before: programs without a person dismiss every question at once.
#[tokio::test]
async fn a_question_that_is_dismissed_waits_for_others_and_the_same_call_joins_it() {
    let stage = Stage::patient();
    let mut client = stage.modern(asks());
    let arguments = json!({"name": "x"});
    let asked = client.call("launch", arguments.clone()).await;
    let cancel = json!({"approval": {"action": "cancel"}});
    let waiting = again(&mut client, &arguments, cancel, &asked["requestState"]).await;
    assert!(text(&waiting).contains("waits for a person"), "{waiting}");
    let call = &waiting["_meta"]["toolcrib/call"];
    assert_eq!(call["status"], "pending", "{waiting}");
    assert_eq!(stage.questions().len(), 1);
    stage.answer(ApprovalResponse::approve("Ada")).await;
    let done = client.call("launch", arguments).await;
    assert_eq!(text(&done), "x is gone", "{done}");
    assert_eq!(stage.launched(), 1);
}

#[tokio::test]
async fn a_state_is_good_for_one_principal_one_tool_and_one_set_of_arguments() {
    let stage = Stage::patient();
    let mut client = stage.modern(asks());
    let arguments = json!({"name": "x"});
    let asked = client.call("launch", arguments.clone()).await;
    let state = &asked["requestState"];
    let yes = || json!({"approval": approves()});
    let mut other = Client::named("client:ada", Arc::clone(&stage.host), Some(asks()));
    for refused in [
        again(
            &mut client,
            &arguments,
            yes(),
            &json!(format!("{}-TAMPERED", state.as_str().unwrap())),
        )
        .await,
        again(
            &mut client,
            &arguments,
            yes(),
            &json!(format!("A{}", state.as_str().unwrap())),
        )
        .await,
        again(&mut client, &arguments, yes(), &json!("")).await,
        again(&mut client, &json!({"name": "y"}), yes(), state).await,
        again_of(&mut client, "echo", &arguments, yes(), state).await,
        again(&mut other, &arguments, yes(), state).await,
    ] {
        assert_eq!(refused["code"], -32602, "{refused}");
    }
    let id = client
        .request(
            "tools/call",
            json!({"name": "launch", "arguments": arguments, "inputResponses": yes()}),
        )
        .await;
    assert_eq!(
        client.result_of(id).await["code"],
        -32602,
        "answers without a state"
    );
    assert_eq!(stage.launched(), 0);
    assert_eq!(
        stage.questions().len(),
        1,
        "the question is as open as before"
    );
    assert_eq!(
        text(&again(&mut client, &arguments, yes(), state).await),
        "x is gone"
    );
}

#[tokio::test]
async fn a_state_that_is_too_old_runs_nothing() {
    let stage = Stage::with("approvals.expiresMs = 300\n");
    let mut client = stage.modern(asks());
    let arguments = json!({"name": "x"});
    let asked = client.call("launch", arguments.clone()).await;
    stage.until("lapsed", || stage.questions().is_empty()).await;
    let late = again(
        &mut client,
        &arguments,
        json!({"approval": approves()}),
        &asked["requestState"],
    )
    .await;
    assert_eq!(late["code"], -32602, "{late}");
    assert!(
        late["message"].as_str().unwrap().contains("expired"),
        "{late}"
    );
    assert_eq!(stage.launched(), 0);
}

/// Case APR-003, by this way: many at once, one run.
#[tokio::test]
async fn of_many_answers_at_once_one_counts() {
    let stage = Stage::patient();
    let mut client = stage.modern(asks());
    let arguments = json!({"name": "x"});
    let asked = client.call("launch", arguments.clone()).await;
    let params = json!({"name": "launch", "arguments": arguments, "inputResponses": {"approval": approves()}, "requestState": asked["requestState"]});
    for _ in 0..20 {
        client.request("tools/call", params.clone()).await;
    }
    let mut ran = 0;
    for _ in 0..20 {
        let answer = client.next().await;
        match answer.get("error") {
            Some(error) => assert_eq!(error["code"], -32602, "{error}"),
            None => {
                assert_eq!(
                    answer["result"]["content"][0]["text"], "x is gone",
                    "{answer}"
                );
                ran += 1;
            }
        }
    }
    assert_eq!((ran, stage.launched()), (1, 1));
}

#[tokio::test]
async fn an_edit_that_does_not_fit_is_asked_about_again() {
    let stage = Stage::patient();
    let mut client = stage.modern(asks());
    let arguments = json!({"name": "x"});
    let edit = |arguments: &str| json!({"approval": {"action": "accept", "content": {"decision": "approve", "arguments": arguments}}});
    let asked = client.call("launch", arguments.clone()).await;
    let bad = edit("{\"nam\": 1}");
    let asked = again(&mut client, &arguments, bad, &asked["requestState"]).await;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let message = asked["inputRequests"]["approval"]["params"]["message"]
        .as_str()
        .unwrap();
    assert!(
        message.starts_with("The last answer cannot be used"),
        "{message}"
    );
    let done = again(
        &mut client,
        &arguments,
        edit("{\"name\": \"y\"}"),
        &asked["requestState"],
    )
    .await;
    assert_eq!(text(&done), "y is gone", "{done}");
}

#[tokio::test]
async fn another_process_may_answer_first() {
    let stage = Stage::patient();
    let mut client = stage.modern(asks());
    let arguments = json!({"name": "x"});
    let asked = client.call("launch", arguments.clone()).await;
    stage.answer(ApprovalResponse::deny("Ada", "no way")).await;
    let done = again(
        &mut client,
        &arguments,
        json!({"approval": approves()}),
        &asked["requestState"],
    )
    .await;
    assert!(text(&done).contains("no way"), "{done}");
    assert_eq!(stage.launched(), 0);
}

/// Case APR-013.
#[tokio::test]
async fn a_call_inside_a_call_is_asked_about_the_same_way() {
    let stage = Stage::patient();
    let mut client = stage.modern(asks());
    let arguments = json!({"name": "x"});
    let asked = client.call("outer", arguments.clone()).await;
    let message = asked["inputRequests"]["approval"]["params"]["message"]
        .as_str()
        .unwrap();
    assert!(message.contains("`launch`"), "{message}");
    let done = again_of(
        &mut client,
        "outer",
        &arguments,
        json!({"approval": approves()}),
        &asked["requestState"],
    )
    .await;
    assert_eq!(text(&done), "x is gone", "{done}");
}

/// Case APR-015.
#[tokio::test]
async fn after_a_restart_an_old_state_asks_again_and_runs_nothing_by_itself() {
    let stage = Stage::patient();
    let mut client = stage.modern(asks());
    let arguments = json!({"name": "x"});
    let asked = client.call("launch", arguments.clone()).await;
    stage.host.finish().await;
    let mut client = Client::of(stage.restarted(), Some(asks()));
    let again_asked = again(
        &mut client,
        &arguments,
        json!({"approval": approves()}),
        &asked["requestState"],
    )
    .await;
    assert_eq!(again_asked["resultType"], "input_required", "{again_asked}");
    assert_eq!(stage.launched(), 0);
    let done = again(
        &mut client,
        &arguments,
        json!({"approval": approves()}),
        &again_asked["requestState"],
    )
    .await;
    assert_eq!(text(&done), "x is gone", "{done}");
    assert_eq!(stage.launched(), 1);
}

#[tokio::test]
async fn what_a_tool_wants_to_know_is_answered_once_and_runs_it_once() {
    let stage = Stage::patient();
    let mut client = stage.modern(asks());
    let arguments = json!({"name": "x"});
    let asked = client.call("paint", arguments.clone()).await;
    let form = &asked["inputRequests"]["question"];
    assert_eq!(
        form["params"]["message"],
        "The MCP server `painter` asks: Which colour?"
    );
    let state = &asked["requestState"];
    let blue = || json!({"question": {"action": "accept", "content": {"colour": "blue"}}});
    let done = again_of(&mut client, "paint", &arguments, blue(), state).await;
    assert_eq!(text(&done), "painted \"blue\"", "{done}");
    for responses in [blue(), json!({})] {
        let replayed = again_of(&mut client, "paint", &arguments, responses, state).await;
        assert_eq!(replayed["code"], -32602, "{replayed}");
    }
    // Nor does it begin anything in a process that knows nothing of it.
    let mut other = Client::of(stage.restarted(), Some(asks()));
    let replayed = again_of(&mut other, "paint", &arguments, blue(), state).await;
    assert_eq!(replayed["code"], -32602, "{replayed}");
    assert_eq!(stage.launched(), 1);
}

#[tokio::test]
async fn a_state_whose_call_is_over_asks_no_one_again() {
    let stage = Stage::patient();
    let mut client = stage.modern(asks());
    let arguments = json!({"name": "x"});
    let yes = || json!({"approval": approves()});
    let asked = client.call("launch", arguments.clone()).await;
    stage.answer(ApprovalResponse::approve("Ada")).await;
    let state = &asked["requestState"];
    let done = again(&mut client, &arguments, yes(), state).await;
    assert_eq!(text(&done), "x is gone", "{done}");
    for responses in [yes(), json!({})] {
        let replayed = again(&mut client, &arguments, responses, state).await;
        assert_eq!(replayed["code"], -32602, "{replayed}");
    }
    assert_eq!((stage.launched(), stage.questions().len()), (1, 0));
}

/// What a person cannot see whole is not theirs to approve there.
#[tokio::test]
async fn what_is_too_long_for_a_form_goes_to_the_queue() {
    let stage = Stage::new();
    let mut client = stage.modern(asks());
    let command = format!("true {}; echo TAIL", "x".repeat(20_000));
    let file = json!({"path": "a.txt", "content": command});
    std::fs::write(stage.scene.work().join("a.txt"), "before").unwrap();
    let waits = client.call("write_file", file).await;
    assert_eq!(
        waits["_meta"]["toolcrib/call"]["status"], "pending",
        "{waits}"
    );
    assert_eq!(stage.questions().len(), 1);
}
