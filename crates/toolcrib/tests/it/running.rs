//! Calls as others see them while they run: listed, heard of, asked about by whom the caller chose, ended all at once.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::sync::Notify;
use toolcrib::approval::{AllowAll, ApprovalQueue, ApprovalResponse, DenyAll, QueueOptions};
use toolcrib::record::NoRecord;
use toolcrib::registry::RunningCall;
use toolcrib::testing::ScriptedApprover;
use toolcrib::{
    CallHandle, CallId, CallRequest, Caller, ErrorCode, Event, EventKind, FnTool, Registry,
};

use crate::tools::{code, echo, simple};

/// A tool that runs until it is told to end, or its call is cancelled.
fn waiting(end: &Arc<Notify>) -> FnTool {
    let end = Arc::clone(end);
    simple("wait", move |_cx| {
        let end = Arc::clone(&end);
        async move {
            end.notified().await;
            Ok(json!("done"))
        }
    })
}

/// A tool that asks before it runs.
fn asking() -> FnTool {
    let tool = simple("ask", |_cx| async { Ok(json!("ran")) });
    tool.always_ask()
}

/// A tool that calls the one that asks.
fn around() -> FnTool {
    simple("around", |cx| async move {
        let outcome = cx
            .call(CallRequest::new("ask").session("a tool's own"))
            .await;
        Ok(outcome.result.map(|output| output.value)?)
    })
}

/// What a hook heard.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<(RunningCall, Event)>>>);

impl Heard {
    fn hook(&self) -> impl Fn(&RunningCall, &Event) + Send + Sync + 'static {
        let heard = self.clone();
        move |call, event| heard.0.lock().unwrap().push((call.clone(), event.clone()))
    }

    /// The calls and what happened, in a word.
    fn words(&self) -> Vec<(String, String)> {
        let heard = self.0.lock().unwrap();
        let word = |(call, event): &(RunningCall, Event)| {
            let kind = match &event.kind {
                EventKind::Started { .. } => "started".to_owned(),
                EventKind::Step { name, .. } => format!("step {name}"),
                EventKind::Approval { status, .. } => status.clone(),
                EventKind::Finished { ok, .. } => format!("finished {ok}"),
                other => format!("{other:?}"),
            };
            (call.tool.clone(), kind)
        };
        heard.iter().map(word).collect()
    }
}

async fn until(mut is_so: impl FnMut() -> bool) {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(tokio::time::Instant::now() < deadline, "it never came");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

async fn started(handle: &CallHandle) {
    let mut events = handle.events();
    while let Some(event) = events.next().await {
        if matches!(event.kind, EventKind::Started { .. }) {
            return;
        }
    }
    panic!("it never started");
}

#[tokio::test]
async fn what_runs_is_listed_by_age_with_tool_caller_and_since_and_nested_calls_are_not() {
    let end = Arc::new(Notify::new());
    let registry = Registry::new();
    registry.register(waiting(&end)).unwrap();
    let outer = simple("outer", |cx| async move {
        let outcome = cx.call(CallRequest::new("wait")).await;
        Ok(outcome.result.map(|output| output.value)?)
    });
    registry.register(outer).unwrap();
    assert_eq!(registry.running(), []);

    let before = jiff::Timestamp::now();
    let ada = Caller::Client("ada".to_owned());
    let first = registry.execute_async(CallRequest::new("+wait").caller(ada.clone()));
    started(&first).await;
    let second = registry.execute_async(CallRequest::new("outer"));
    started(&second).await;
    let running = registry.running();
    let seen: Vec<_> = running
        .iter()
        .map(|call| (&call.call_id, call.tool.as_str(), &call.caller))
        .collect();
    assert_eq!(
        seen,
        [
            (first.id(), "wait", &ada),
            (second.id(), "outer", &Caller::Library)
        ]
    );
    assert!(running[0].since >= before && running[0].since <= running[1].since);
    assert_eq!(running[0].approval, None);

    // Both wait for the same word.
    until(|| {
        end.notify_waiters();
        registry.running().is_empty()
    })
    .await;
    assert!(first.outcome().await.is_ok());
    assert!(second.outcome().await.is_ok());
}

#[tokio::test]
async fn a_hook_hears_of_outermost_calls_in_order_for_as_long_as_it_is_kept() {
    let registry = Registry::new();
    registry.register(echo()).unwrap();
    let steps = simple("steps", |cx| async move {
        cx.call(CallRequest::new("echo").arg("text", "x")).await;
        cx.emit_output(toolcrib::OutputStream::Stdout, "not for hooks");
        cx.emit_progress(1.0, None, None);
        Ok(json!(null))
    });
    registry.register(steps).unwrap();
    let heard = Heard::default();
    let subscription = registry.on_event(heard.hook());
    let panics = registry.on_event(|_, _| panic!("a hook's own mistake"));
    let outcome = registry.execute(CallRequest::new("steps")).await;
    assert!(outcome.is_ok(), "{outcome:?}");
    let steps = |word: &str| ("steps".to_owned(), word.to_owned());
    assert_eq!(heard.words(), [steps("started"), steps("finished true")]);
    let ids = heard.0.lock().unwrap().clone();
    assert!(ids.iter().all(|(call, event)| {
        call.call_id == outcome.call_id && event.call_id == outcome.call_id
    }));

    drop(panics);
    let again = subscription.clone();
    drop(subscription);
    registry.execute(CallRequest::new("nothing_like_it")).await;
    assert_eq!(
        heard.words()[2..],
        [("nothing_like_it".to_owned(), "finished false".to_owned())]
    );
    drop(again);
    registry
        .execute(CallRequest::new("echo").arg("text", "x"))
        .await;
    assert_eq!(heard.words().len(), 3);
}

#[tokio::test]
async fn no_one_hears_of_a_repeated_call_that_is_answered_or_refused() {
    let registry = Registry::new();
    registry.register(echo()).unwrap();
    let given = |text: &str| {
        let id = CallId::parse("mine").unwrap();
        CallRequest::new("echo").arg("text", text).call_id(id)
    };
    assert!(registry.execute(given("a")).await.is_ok());
    let heard = Heard::default();
    let _subscription = registry.on_event(heard.hook());
    assert!(registry.execute(given("a")).await.is_ok());
    assert_eq!(
        code(&registry.execute(given("b")).await),
        ErrorCode::Conflict
    );
    assert_eq!(heard.words(), []);
}

#[tokio::test]
async fn the_question_a_call_or_one_inside_it_waits_for_is_shown() {
    let home = tempfile::tempdir().unwrap();
    let queue = ApprovalQueue::at(home.path().join("approvals"), QueueOptions::default());
    let registry = Registry::builder().approver(queue.clone()).build();
    registry.register(asking()).unwrap();
    registry.register(around()).unwrap();
    for tool in ["ask", "around"] {
        let heard = Heard::default();
        let _subscription = registry.on_event(heard.hook());
        let handle = registry.execute_async(CallRequest::new(tool));
        until(|| {
            registry
                .running()
                .iter()
                .any(|call| call.approval.is_some())
        })
        .await;
        let [call] = &registry.running()[..] else {
            panic!("one call runs")
        };
        let id = call.approval.clone().unwrap();
        let question = queue.show(&id).unwrap();
        assert_eq!(
            (call.tool.as_str(), question.request.tool.as_str()),
            (tool, "ask")
        );
        let answer = ApprovalResponse::approve("Ada");
        let digest = question.request.args_digest.clone();
        queue
            .answer(&id, Some(&digest), answer, |_, _| Ok(()))
            .unwrap();
        assert!(handle.outcome().await.is_ok());
        assert_eq!(registry.running(), []);
        let heard = heard.0.lock().unwrap().clone();
        let asked: Vec<_> = heard
            .iter()
            .filter_map(|(call, event)| match &event.kind {
                EventKind::Approval { status, .. } => {
                    Some((call.tool.as_str(), status.as_str(), call.approval.clone()))
                }
                _ => None,
            })
            .collect();
        assert_eq!(
            asked,
            [(tool, "pending", Some(id)), (tool, "approved", None)]
        );
    }
}

#[tokio::test]
async fn another_approver_is_asked_about_the_call_and_the_calls_inside_it() {
    let registry = Registry::builder()
        .approver(DenyAll::because("the registry's own"))
        .build();
    registry.register(asking()).unwrap();
    registry.register(around()).unwrap();
    for tool in ["ask", "around"] {
        let refused = registry.execute(CallRequest::new(tool)).await;
        assert!(
            refused
                .error()
                .unwrap()
                .message()
                .contains("the registry's own")
        );
        let given = registry
            .execute_async(CallRequest::new(tool).approver(Arc::new(AllowAll::by("--yes"))));
        assert_eq!(given.outcome().await.value(), Some(&json!("ran")), "{tool}");
    }
    let person = ScriptedApprover::default();
    person.then(Ok(ApprovalResponse::approve("Ada")));
    let handle = registry.execute_async(CallRequest::new("ask").approver(Arc::new(person.clone())));
    let outcome = handle.outcome().await;
    assert_eq!(outcome.approval.unwrap().by, "Ada");
    assert_eq!(person.asked().len(), 1);
    // The registry's own is as it was.
    assert!(!registry.execute(CallRequest::new("ask")).await.is_ok());
}

#[tokio::test]
async fn a_tool_cannot_choose_who_is_asked_about_the_calls_that_it_makes() {
    let registry = Registry::builder()
        .approver(DenyAll::because("the registry's own"))
        .build();
    registry.register(asking()).unwrap();
    let sly = simple("sly", |cx| async move {
        let request = CallRequest::new("ask").approver(Arc::new(AllowAll::by("the tool")));
        let outcome = cx.call(request).await;
        Ok(outcome.result.map(|output| output.value)?)
    });
    registry.register(sly).unwrap();
    let outcome = registry.execute(CallRequest::new("sly")).await;
    assert!(
        outcome
            .error()
            .unwrap()
            .message()
            .contains("the registry's own"),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn all_calls_are_cancelled_at_once_and_then_there_is_none() {
    let end = Arc::new(Notify::new());
    let registry = Registry::new();
    registry.register(waiting(&end)).unwrap();
    registry.idle().await;
    let given = || CallRequest::new("wait").call_id(CallId::parse("mine").unwrap());
    let running: Vec<CallHandle> = (0..3)
        .map(|_| registry.execute_async(CallRequest::new("wait")))
        .chain([registry.execute_async(given())])
        .collect();
    for handle in &running {
        started(handle).await;
    }
    // Waits for the one before, and is not listed.
    let joined = registry.execute_async(given());
    until(|| registry.running().len() == 4).await;
    assert!(
        tokio::time::timeout(Duration::from_millis(20), registry.idle())
            .await
            .is_err()
    );
    let idle = tokio::spawn({
        let registry = registry.clone();
        async move { registry.idle().await }
    });
    tokio::task::yield_now().await;
    assert_eq!(registry.cancel_all(), 5);
    idle.await.unwrap();
    assert_eq!(registry.running(), []);
    for handle in running.into_iter().chain([joined]) {
        assert_eq!(code(&handle.outcome().await), ErrorCode::Cancelled);
    }
    // One that no one has got round to is cancelled as well, and waited for.
    let unborn = registry.execute_async(CallRequest::new("wait"));
    let unborn_given = registry.execute_async(given());
    assert_eq!(registry.cancel_all(), 2);
    registry.idle().await;
    assert_eq!(code(&unborn.outcome().await), ErrorCode::Cancelled);
    assert_eq!(code(&unborn_given.outcome().await), ErrorCode::Cancelled);
    // Those who come later are not touched.
    let later = registry.execute_async(CallRequest::new("wait"));
    started(&later).await;
    end.notify_waiters();
    assert!(later.outcome().await.is_ok());
    registry.idle().await;
}

#[tokio::test]
async fn without_a_record_there_is_nothing_to_wait_for() {
    let registry = Registry::builder().recorder(Arc::new(NoRecord)).build();
    registry.register(echo()).unwrap();
    registry
        .execute(CallRequest::new("echo").arg("text", "x"))
        .await;
    registry.recorded().await;
}
