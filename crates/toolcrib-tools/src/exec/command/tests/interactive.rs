//! `interactive`: a terminal, and who answers on it.

use std::time::Duration;

use serde_json::json;
use tokio::sync::mpsc;

use super::{Scene, error, value};
use crate::call::event::EventKind;
use crate::call::request::CallRequest;
use crate::model::error::ErrorCode;

const CONFIRM: &str = "
name: confirm
description: d
tags: [run]
bash: |
  [ -t 0 ] && [ -t 1 ] && echo on a terminal
  read -r -p 'Sure? ' answer
  echo \"said $answer\"
interactive: true
interactive-options: {timeout: 300, default-response: y}
";

#[tokio::test]
async fn without_anybody_the_default_answer_is_typed() {
    let scene = Scene::new().tool(CONFIRM);
    let outcome = scene.call("confirm", json!({})).await;
    let output = value(&outcome)["output"].as_str().unwrap();
    assert!(output.contains("on a terminal"), "{output}");
    assert!(
        output.contains("Sure?") && output.ends_with("said y"),
        "{output}"
    );
}

#[tokio::test]
async fn what_a_person_types_reaches_the_program() {
    let scene = Scene::new()
        .tool(&CONFIRM.replace("timeout: 300", "timeout: 20000"))
        .tool("{name: alias, description: d, type: alias, base-tool: confirm}");
    for tool in ["confirm", "alias"] {
        let (keys, typed) = mpsc::channel(4);
        keys.send(b"no way\n".to_vec()).await.unwrap();
        let request = CallRequest::new(tool).typed(typed);
        let outcome = scene.registry().execute(request).await;
        let output = value(&outcome)["output"].as_str().unwrap();
        assert!(output.ends_with("said no way"), "{output}");
        assert!(scene.registry().find(tool).unwrap().spec().interactive);
    }
}

#[tokio::test]
async fn silence_without_a_default_answer_ends_the_tool() {
    let scene = Scene::new().tool(&CONFIRM.replace(", default-response: y", ""));
    let request = CallRequest::new("confirm").timeout(Duration::from_secs(20));
    let outcome = scene.registry().execute(request).await;
    let error = error(&outcome);
    assert_eq!(error.code(), ErrorCode::Timeout, "{error}");
}

#[tokio::test]
async fn keys_go_to_whichever_step_runs() {
    let scene = Scene::new().tool(
        "
name: two
description: d
tags: [run]
steps:
  - name: first
    bash: read -r a; echo \"first $a\"
  - name: second
    bash: read -r a; echo \"second $a\"
interactive: true
interactive-options: {timeout: 20000, default-response: nobody}
",
    );
    let (keys, typed) = mpsc::channel(4);
    keys.send(b"one\n".to_vec()).await.unwrap();
    let request = CallRequest::new("two").typed(typed);
    let call = scene.registry().execute_async(request);
    let mut events = call.events();
    while let Some(event) = events.next().await {
        if matches!(&event.kind, EventKind::Step { name, status } if name == "first" && status == "ok")
        {
            keys.send(b"two\n".to_vec()).await.unwrap();
        }
    }
    let outcome = call.outcome().await;
    let steps = &value(&outcome)["steps"];
    assert!(
        steps["first"]["stdout"]
            .as_str()
            .unwrap()
            .contains("first one"),
        "{steps}"
    );
    assert!(
        steps["second"]["stdout"]
            .as_str()
            .unwrap()
            .contains("second two"),
        "{steps}"
    );
}
