//! Calls that wait in the queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use toolcrib::approval::{ApprovalQueue, ApprovalResponse, QueueOptions, Queued, Status};
use toolcrib::schemars::JsonSchema;
use toolcrib::serde::Deserialize;
use toolcrib::{
    Approval, CallRequest, CancellationToken, Effects, ErrorCode, EventKind, FnTool, LimitsPatch,
    Registry, Secret,
};

use super::scripts::Scene;
use super::{Place, all, no_check, statuses};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "toolcrib::serde")]
#[schemars(crate = "toolcrib::schemars")]
pub(super) struct Launch {
    /// What to launch.
    what: String,
}

/// A tool that always asks, and how often it ran.
pub(super) fn launch() -> (FnTool, Arc<AtomicUsize>) {
    let runs = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&runs);
    let tool = FnTool::new("launch", "Launches", move |args: Launch, _cx| {
        let counter = Arc::clone(&counter);
        async move {
            counter.fetch_add(1, Ordering::SeqCst);
            Ok(args.what)
        }
    });
    (tool.unwrap().effects(Effects::WRITE).always_ask(), runs)
}

/// A queue that goes by the machine's own clock, as calls do.
pub(super) fn queue(place: &Place) -> ApprovalQueue {
    ApprovalQueue::at(place.path(), QueueOptions::default())
}

pub(super) fn registry(queue: &ApprovalQueue) -> (Registry, Arc<AtomicUsize>) {
    let registry = Registry::builder().approver(queue.clone()).build();
    let (tool, runs) = launch();
    registry.register(tool).unwrap();
    (registry, runs)
}

/// Waits for questions that are pending.
pub(super) async fn pending(queue: &ApprovalQueue, count: usize) -> Vec<Queued> {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
    loop {
        let requests = queue.list(Some(Status::Pending)).unwrap().requests;
        if requests.len() == count {
            return requests;
        }
        assert!(tokio::time::Instant::now() < deadline, "{requests:?}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

fn rocket() -> CallRequest {
    CallRequest::new("launch").arg("what", "rocket")
}

/// A call made in a step of a tool that another tool calls.
#[tokio::test]
async fn a_nested_question_names_its_steps_its_call_and_the_tool_that_makes_it() {
    let scene = Scene::new();
    let tools = scene.home.path().join(".toolcrib/tools");
    std::fs::create_dir_all(&tools).unwrap();
    for (name, steps) in [
        ("ship", "  - name: rollout\n    use-tool: publish\n"),
        (
            "publish",
            "  - name: push-it\n    use-tool: delete_file\n    with: {path: old.txt}\n",
        ),
    ] {
        let text = format!("name: {name}\ndescription: Ships\ntags: [write]\nsteps:\n{steps}");
        std::fs::write(tools.join(format!("{name}.yaml")), text).unwrap();
    }
    std::fs::write(scene.path("old.txt"), "old").unwrap();
    let crib = scene.queueing();
    let call = crib.registry().execute_async(CallRequest::new("ship"));
    let asked = pending(crib.approvals(), 1).await.remove(0).request;
    assert_eq!(asked.step_id, "rollout/push-it");
    assert_eq!(asked.tool, "delete_file");
    assert_eq!(asked.called_by.as_deref(), Some("publish"));
    assert_ne!(asked.call_id, *call.id());
    let wire = serde_json::to_value(&asked).unwrap();
    assert_eq!(wire["callId"], asked.call_id.as_str());
    crib.answer(
        &asked.id,
        Some(&asked.args_digest),
        ApprovalResponse::approve("Ada"),
    )
    .unwrap();
    assert!(call.outcome().await.result.is_ok());
}

/// What version 0.1.0 wrote.
#[test]
fn a_question_of_an_earlier_version_is_read() {
    let old = json!({
        "id": "q", "stepId": "018faf50-b7b6-7a01-9a05-a22a6e0af101", "tool": "launch", "args": {}, "reason": "", "effect": "",
        "argsDigest": "d", "status": "pending", "waiting": true,
    });
    let queued: Queued = serde_json::from_value(old).unwrap();
    let request = queued.request;
    assert_eq!(
        request.call_id.as_str(),
        "018faf50-b7b6-7a01-9a05-a22a6e0af101"
    );
    assert_eq!(
        (request.step_id.as_str(), request.called_by),
        ("launch", None)
    );
}

#[tokio::test]
async fn a_call_waits_for_its_answer_and_runs_once() {
    let place = Place::new();
    let queue = queue(&place);
    let (registry, runs) = registry(&queue);
    let call = registry.execute_async(rocket());
    let mut events = call.events();
    let [asked] = &pending(&queue, 1).await[..] else {
        panic!("one question");
    };
    assert_eq!(
        asked.request.args,
        *json!({"what": "rocket"}).as_object().unwrap()
    );
    assert_eq!(asked.request.call_id, *call.id());
    assert_eq!(asked.request.step_id, "launch");
    let approve = ApprovalResponse::approve("Ada").because("go");
    queue
        .answer(
            &asked.request.id,
            Some(&asked.request.args_digest),
            approve,
            no_check,
        )
        .unwrap();
    let outcome = call.outcome().await;
    assert_eq!(outcome.value().unwrap(), "rocket");
    let trail = outcome.approval.unwrap();
    assert_eq!(
        (trail.approved, trail.by.as_str(), trail.answer.as_deref()),
        (true, "Ada", Some("go"))
    );
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    assert_eq!(statuses(&queue), [Status::Used]);

    let mut told = Vec::new();
    while let Some(event) = events.next().await {
        if let EventKind::Approval { status, id, .. } = &event.kind {
            assert_eq!(id.as_deref(), Some(asked.request.id.as_str()));
            told.push(status.clone());
        }
    }
    assert_eq!(told, ["pending", "approved"]);

    // The same call asks again: one approval, one run.
    let again = registry.execute_async(rocket());
    pending(&queue, 1).await;
    again.cancel();
    assert_eq!(
        again.outcome().await.error().unwrap().code(),
        ErrorCode::Cancelled
    );
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_call_that_is_cancelled_or_dropped_withdraws_its_question() {
    let place = Place::new();
    let queue = queue(&place);
    let (registry, runs) = registry(&queue);
    let token = CancellationToken::new();
    let call = registry.execute_async(rocket().cancel_with(token.clone()));
    pending(&queue, 1).await;
    token.cancel();
    call.outcome().await;
    pending(&queue, 0).await;

    let dropped = tokio::spawn({
        let registry = registry.clone();
        async move { registry.execute(rocket()).await }
    });
    pending(&queue, 1).await;
    dropped.abort();
    pending(&queue, 0).await;
    assert_eq!(statuses(&queue), [Status::Withdrawn, Status::Withdrawn]);
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_call_waits_no_longer_than_it_says() {
    let place = Place::new();
    let queue = queue(&place);
    let (registry, runs) = registry(&queue);
    let hurried = rocket().approval_wait(Duration::from_millis(80));
    let outcome = registry.execute(hurried).await;
    let error = outcome.error().unwrap();
    assert_eq!(error.code(), ErrorCode::ApprovalExpired);
    assert!(
        error.message().contains("no one answered in time"),
        "{error}"
    );
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    assert_eq!(statuses(&queue), [Status::Expired]);
}

#[tokio::test]
async fn who_joins_a_question_that_lapses_asks_again() {
    let place = Place::new();
    let queue = queue(&place);
    let (registry, _) = registry(&queue);
    let hurried = registry.execute_async(rocket().approval_wait(Duration::from_millis(100)));
    let first = pending(&queue, 1).await.remove(0);
    let patient = registry.execute_async(rocket());
    hurried.outcome().await;
    let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
    let second = loop {
        let asked = pending(&queue, 1).await.remove(0);
        if asked.request.id != first.request.id {
            break asked;
        }
        assert!(tokio::time::Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    let approve = ApprovalResponse::approve("Ada");
    queue
        .answer(&second.request.id, None, approve, no_check)
        .unwrap();
    assert!(patient.outcome().await.is_ok());
}

#[tokio::test]
async fn of_many_identical_calls_each_approval_runs_one() {
    let place = Place::new();
    let queue = queue(&place);
    let (registry, runs) = registry(&queue);
    let calls: Vec<_> = (0..4).map(|_| registry.execute_async(rocket())).collect();
    for round in 1..=3 {
        let asked = pending(&queue, 1).await.remove(0);
        let approve = ApprovalResponse::approve("Ada");
        queue
            .answer(&asked.request.id, None, approve, no_check)
            .unwrap();
        let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
        while runs.load(Ordering::SeqCst) < round {
            assert!(tokio::time::Instant::now() < deadline);
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
    let asked = pending(&queue, 1).await.remove(0);
    assert_eq!(runs.load(Ordering::SeqCst), 3);
    let deny = ApprovalResponse::deny("Ada", "enough");
    queue
        .answer(&asked.request.id, None, deny, no_check)
        .unwrap();
    let mut oks = 0;
    for call in calls {
        match call.outcome().await.error() {
            None => oks += 1,
            Some(error) => assert_eq!(error.code(), ErrorCode::ApprovalDenied),
        }
    }
    assert_eq!((oks, runs.load(Ordering::SeqCst)), (3, 3));
    assert_eq!(all(&queue).len(), 4, "one question at a time");

    // And what was denied stays denied for a while, at once.
    for _ in 0..100 {
        let outcome = registry.execute(rocket()).await;
        let error = outcome.error().unwrap();
        assert_eq!(error.code(), ErrorCode::ApprovalDenied);
        assert!(error.message().contains("no one is asked again"), "{error}");
    }
    assert_eq!(all(&queue).len(), 4);
}

#[tokio::test]
async fn too_many_questions_are_a_rate_limit() {
    let place = Place::new();
    let queue = ApprovalQueue::at(
        place.path(),
        QueueOptions {
            max_pending: 1,
            ..QueueOptions::default()
        },
    );
    let (registry, _) = registry(&queue);
    let _first = registry.execute_async(rocket());
    pending(&queue, 1).await;
    let outcome = registry
        .execute(CallRequest::new("launch").arg("what", "balloon"))
        .await;
    let error = outcome.error().unwrap();
    assert_eq!(error.code(), ErrorCode::RateLimited);
    assert!(
        error.details().unwrap()["retryAfterMs"].is_number(),
        "{error}"
    );
}

#[tokio::test]
async fn a_call_that_gets_no_place_does_not_use_up_its_approval() {
    let place = Place::new();
    let queue = queue(&place);
    let registry = Registry::builder().approver(queue.clone()).build();
    let (tool, runs) = launch();
    let limits = LimitsPatch {
        max_calls_per_minute: Some(1),
        ..LimitsPatch::default()
    };
    registry.register(tool.limits(limits)).unwrap();
    for (what, status) in [("a", Status::Used), ("b", Status::Approved)] {
        let call = registry.execute_async(CallRequest::new("launch").arg("what", what));
        let asked = pending(&queue, 1).await.remove(0);
        let approve = ApprovalResponse::approve("Ada");
        queue
            .answer(&asked.request.id, None, approve, no_check)
            .unwrap();
        let outcome = call.outcome().await;
        assert_eq!(outcome.is_ok(), what == "a");
        assert_eq!(queue.show(&asked.request.id).unwrap().status, status);
    }
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "toolcrib::serde")]
#[schemars(crate = "toolcrib::schemars")]
#[expect(dead_code, reason = "only its schema counts")]
struct Login {
    /// Who.
    user: String,
    /// Prove it.
    #[schemars(extend("format" = "password", "minLength" = 8))]
    password: String,
}

#[tokio::test]
async fn secrets_reach_the_tool_and_no_file() {
    let place = Place::new();
    let queue = queue(&place);
    let registry = Registry::builder().approver(queue.clone()).build();
    let seen = Arc::new(std::sync::Mutex::new(Secret::new("")));
    let keep = Arc::clone(&seen);
    let tool = FnTool::new("login", "Logs in", move |login: Login, _cx| {
        *keep.lock().unwrap() = Secret::new(login.password);
        async { Ok(()) }
    });
    registry
        .register(tool.unwrap().effects(Effects::WRITE).always_ask())
        .unwrap();
    let call = registry.execute_async(
        CallRequest::new("login")
            .arg("user", "ada")
            .arg("password", "SENTINEL-7f3a"),
    );
    let asked = pending(&queue, 1).await.remove(0);
    assert_eq!(asked.request.args["password"], "***");
    assert!(asked.request.offers.is_empty(), "a secret is never granted");
    // A secret that someone types would be in the file of the answer.
    let mut typed = asked.request.args.clone();
    typed["password"] = json!("SENTINEL-typed");
    let response = ApprovalResponse::approve_with("Ada", typed);
    let refused = queue.answer(&asked.request.id, None, response, |asked, answer| {
        registry.check_answer(asked, answer)
    });
    let refused = refused.unwrap_err();
    assert_eq!(refused.http_status(), 422);
    assert!(refused.to_string().contains("is a secret"), "{refused}");
    assert!(!refused.to_string().contains("SENTINEL"), "{refused}");
    // Edited by someone who sees the mask: it stands for the secret, too short or not.
    let mut edited = asked.request.args.clone();
    edited["user"] = json!("bob");
    let response = ApprovalResponse::approve_with("Ada", edited);
    queue
        .answer(&asked.request.id, None, response, |asked, answer| {
            registry.check_answer(asked, answer)
        })
        .unwrap();
    let outcome = call.outcome().await;
    assert!(outcome.is_ok(), "{outcome:?}");
    assert_eq!(outcome.parameters["user"], "bob");
    assert_eq!(seen.lock().unwrap().expose(), "SENTINEL-7f3a");
    for name in place.files() {
        // Some files are there for a moment only.
        let content = std::fs::read(place.path().join(&name)).unwrap_or_default();
        let content = String::from_utf8_lossy(&content);
        assert!(!content.contains("SENTINEL"), "{name}: {content}");
    }
}

#[tokio::test]
async fn an_approval_is_for_what_the_tool_found_then() {
    let place = Place::new();
    let queue = queue(&place);
    let registry = Registry::builder().approver(queue.clone()).build();
    let version = Arc::new(AtomicUsize::new(1));
    let found = Arc::clone(&version);
    let tool = FnTool::new("publish", "Publishes", |(), _cx| async { Ok(()) }).unwrap();
    registry
        .register(tool.effects(Effects::WRITE).approve_by(move |_, _| {
            let version = found.load(Ordering::SeqCst);
            Approval::ask("it is public").with_basis(json!({ "version": version }))
        }))
        .unwrap();
    let call = registry.execute_async(CallRequest::new("publish"));
    let first = pending(&queue, 1).await.remove(0);
    version.store(2, Ordering::SeqCst);
    let other = registry.execute_async(CallRequest::new("publish"));
    let both = pending(&queue, 2).await;
    assert_eq!(both[0].request.args_digest, both[1].request.args_digest);
    assert_eq!(both[0].request.id, first.request.id);
    drop((call, other));
}
