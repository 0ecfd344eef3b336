//! What a person changes is judged like what the caller sent.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};
use toolcrib::approval::{AnswerError, ApprovalQueue, ApprovalResponse};
use toolcrib::rules::{Rule, RuleSet};
use toolcrib::{Approval, CallRequest, Effects, ErrorCode, FnTool, Registry};

use super::calls::{launch, pending, queue, registry};
use super::{Place, no_check};

fn edited(args: Value) -> ApprovalResponse {
    ApprovalResponse::approve_with("Ada", args.as_object().unwrap().clone())
}

/// Approves a call with other arguments, unchecked, and returns the code of its outcome.
async fn code_after(registry: &Registry, queue: &ApprovalQueue, args: Value) -> Option<ErrorCode> {
    let call = registry.execute_async(CallRequest::new("launch").arg("what", "a.txt"));
    let asked = pending(queue, 1).await.remove(0);
    queue
        .answer(&asked.request.id, None, edited(args), no_check)
        .unwrap();
    call.outcome().await.error().map(|error| error.code())
}

#[tokio::test]
async fn edited_arguments_are_validated_and_judged_again() {
    let place = Place::new();
    let queue = queue(&place);
    let rules = RuleSet::default().with(Rule::forbid("no_escape", ["../"]));
    let registry = Registry::builder()
        .approver(queue.clone())
        .rules(rules)
        .build();
    let (tool, runs) = launch();
    registry
        .register(tool.approve_by(|args, _| match args["what"].as_str() {
            Some("bomb") => Approval::deny("never"),
            _ => Approval::ask("it is loud"),
        }))
        .unwrap();
    for (args, code) in [
        (json!({"what": "../out/canary"}), ErrorCode::BlockedByRule),
        (json!({"what": 1}), ErrorCode::InvalidArguments),
        (json!({}), ErrorCode::InvalidArguments),
        (json!({"what": "bomb"}), ErrorCode::BlockedByRule),
    ] {
        assert_eq!(
            code_after(&registry, &queue, args.clone()).await,
            Some(code),
            "{args}"
        );
        assert_eq!(runs.load(Ordering::SeqCst), 0, "{args}");
    }
    assert_eq!(
        code_after(&registry, &queue, json!({"what": "b.txt"})).await,
        None
    );
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn bad_edits_are_refused_before_they_count() {
    let place = Place::new();
    let queue = queue(&place);
    let rules = RuleSet::default().with(Rule::forbid("no_escape", ["../"]));
    let registry = Registry::builder()
        .approver(queue.clone())
        .rules(rules)
        .build();
    let (tool, runs) = launch();
    registry.register(tool).unwrap();
    let call = registry.execute_async(CallRequest::new("launch").arg("what", "a.txt"));
    let asked = pending(&queue, 1).await.remove(0);
    let answer = |args: Value| {
        queue.answer(&asked.request.id, None, edited(args), |asked, answer| {
            registry.check_answer(asked, answer)
        })
    };
    for (args, expected) in [
        (json!({"what": "../out"}), ErrorCode::BlockedByRule),
        (json!({"who": "me"}), ErrorCode::InvalidArguments),
    ] {
        let Err(AnswerError::BadEdit(error)) = answer(args.clone()) else {
            panic!("{args}");
        };
        assert_eq!(error.code(), expected);
    }
    answer(json!({"what": "b.txt"})).unwrap();
    let outcome = call.outcome().await;
    assert_eq!(outcome.value().unwrap(), "b.txt");
    assert!(outcome.approval.unwrap().modified);
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn an_edit_is_not_judged_by_another_tool() {
    let place = Place::new();
    let queue = queue(&place);
    let (registry, _) = registry(&queue);
    let call = registry.execute_async(CallRequest::new("launch").arg("what", "a.txt"));
    let asked = pending(&queue, 1).await.remove(0);
    let changed = Registry::new();
    let tool = FnTool::new("launch", "Launches something else", |(), _cx| async {
        Ok(())
    });
    changed
        .register(tool.unwrap().effects(Effects::WRITE))
        .unwrap();
    let error = changed
        .check_answer(&asked.request, &edited(json!({})))
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::Conflict, "{error}");
    // Where nobody knows the tool, the call itself judges.
    Registry::new()
        .check_answer(&asked.request, &edited(json!({})))
        .unwrap();
    drop(call);
}
