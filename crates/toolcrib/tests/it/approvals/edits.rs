//! What a person changes is judged like what the caller sent.

use std::sync::atomic::Ordering;
use toolcrib::testing::WithBuiltins as _;

use serde_json::{Value, json};
use toolcrib::approval::{AnswerError, ApprovalQueue, ApprovalResponse};
use toolcrib::rules::{Rule, RuleSet};
use toolcrib::testing::TestCrib;
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
    // Where no one knows the tool, the call itself judges.
    Registry::new()
        .check_answer(&asked.request, &edited(json!({})))
        .unwrap();
    drop(call);
}

#[tokio::test]
async fn a_question_about_much_text_shows_its_ends_and_runs_with_all_of_it() {
    let test = TestCrib::new().file("a.txt", "old\n").builtins();
    let content = "x y\n".repeat(1_000_000);
    let request = || {
        CallRequest::new("write_file")
            .arg("path", "a.txt")
            .arg("content", content.clone())
    };
    let test = test.answers([ApprovalResponse::approve("Ada")]);
    let outcome = test.registry().execute(request()).await;
    assert!(outcome.is_ok(), "{:?}", outcome.result);
    let asked = test.asked().remove(0);
    let shown = asked.args["content"].as_str().unwrap();
    assert!(shown.len() < 70_000 && shown.contains("bytes left out]"));
    assert!(serde_json::to_string(&asked).unwrap().len() < 400_000);
    // What comes back as it was shown is what was meant.
    let mut edited = asked.args.clone();
    edited.insert("path".to_owned(), "b.txt".into());
    let test = test.answers([ApprovalResponse::approve_with("Ada", edited)]);
    assert!(test.registry().execute(request()).await.is_ok());
    let written = std::fs::read_to_string(test.path().join("b.txt")).unwrap();
    assert_eq!(written.len(), content.len());
    // An edit of a part cannot be meant.
    let mut edited = asked.args.clone();
    edited.insert("content".to_owned(), format!("{shown}more").into());
    let test = test.answers([ApprovalResponse::approve_with("Ada", edited)]);
    let outcome = test.registry().execute(request()).await;
    assert_eq!(outcome.error().unwrap().code(), ErrorCode::InvalidArguments);
}
