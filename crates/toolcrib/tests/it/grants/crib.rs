//! Approvals and grants of a whole crib.

use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use toolcrib::approval::grants::{GrantRequest, Scope};
use toolcrib::approval::{AllowAll, ApprovalResponse, Status};
use toolcrib::config::Surroundings;
use toolcrib::{Approvals, CallRequest, Caller, Crib, CribOptions, ErrorCode};

use super::{Scene, in_docs, save, saving, shell};

fn open(scene: &Scene, approvals: Approvals) -> Crib {
    let crib = CribOptions::default()
        .surroundings(Surroundings::new(scene.home.path(), []))
        .home(scene.home.path())
        .workspace(scene.workspace.path())
        .approvals(approvals)
        .open()
        .unwrap();
    crib.registry().unregister("shell");
    crib.registry().register(save(&scene.runs)).unwrap();
    crib.registry().register(shell(&scene.runs)).unwrap();
    crib
}

#[tokio::test]
async fn a_call_queues_in_one_crib_and_is_answered_in_another() {
    let scene = Scene::new();
    let waits = open(
        &scene,
        Approvals::Queue {
            wait: Some(Duration::from_secs(60)),
        },
    );
    let call = waits.registry().execute_async(saving("docs/a.md"));
    let answers = open(&scene, Approvals::default());
    let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
    let asked = loop {
        let listing = answers.approvals().list(Some(Status::Pending)).unwrap();
        if let Some(asked) = listing.requests.into_iter().next() {
            break asked;
        }
        assert!(tokio::time::Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert!(asked.remaining_ms.unwrap() <= 60_000);
    assert_eq!(asked.request.offers.len(), 4);

    let id = &asked.request.id;
    let digest = Some(asked.request.args_digest.as_str());
    for bad in [json!(1), json!("../outside"), json!("/etc/passwd")] {
        let bad = json!({"path": bad, "content": "x"});
        let bad = ApprovalResponse::approve_with("Ada", bad.as_object().unwrap().clone());
        let error = answers.answer(id, digest, bad).unwrap_err();
        assert_eq!(error.http_status(), 422, "{error}");
    }
    // A crib of another workspace judges no edits.
    let elsewhere = TempDir::new().unwrap();
    let other = CribOptions::default()
        .surroundings(Surroundings::new(scene.home.path(), []))
        .home(scene.home.path())
        .workspace(elsewhere.path())
        .open()
        .unwrap();
    other.registry().register(save(&scene.runs)).unwrap();
    let edit = ApprovalResponse::approve_with("Ada", asked.request.args.clone());
    let error = other.answer(id, digest, edit).unwrap_err();
    assert_eq!(error.http_status(), 422);
    assert!(error.to_string().contains("another workspace"), "{error}");

    let grant = GrantRequest::of(&asked.request.offers[2], Scope::Project);
    let approve = ApprovalResponse::approve("Ada").with_grant(grant);
    answers.answer(id, digest, approve).unwrap();
    assert!(call.outcome().await.is_ok());
    assert_eq!(answers.grants().list().unwrap().grants.len(), 1);
    let next = answers.registry().execute(saving("docs/b.md")).await;
    assert!(next.is_ok(), "{next:?}");
}

#[tokio::test]
async fn a_grant_is_tried_on_the_past_before_it_is_made() {
    let scene = Scene::new();
    let crib = open(
        &scene,
        Approvals::Ask(std::sync::Arc::new(AllowAll::by("test"))),
    );
    for path in ["docs/a.md", "docs/b.md", "src/a.rs"] {
        assert!(crib.registry().execute(saving(path)).await.is_ok());
    }
    let long = CallRequest::new("save")
        .arg("path", format!("docs/{}", "x".repeat(3000)))
        .arg("content", "x".repeat(100_000));
    assert!(crib.registry().execute(long).await.is_ok());
    crib.registry().flush();
    let denied = CallRequest::new("shell").arg("command", "rm -rf /");
    let denied = crib.registry().execute(denied).await;
    assert_eq!(denied.error().unwrap().code(), ErrorCode::BlockedByRule);
    crib.registry().flush();
    let shape = serde_json::from_value(json!({"command": {"argv": ["rm", "**"]}})).unwrap();
    let found = crib.simulate("shell", &shape).unwrap();
    assert_eq!(found.to_string(), "would have allowed 0 past calls");
    let shape = serde_json::from_value(in_docs()).unwrap();
    let found = crib.simulate("save", &shape).unwrap();
    assert_eq!(
        found.to_string(),
        "would have allowed 2 past calls, all of them writes; of 1 call the log keeps too little to tell"
    );
    assert_eq!(
        crib.simulate("nonsense", &shape).unwrap_err().code(),
        ErrorCode::ToolNotFound
    );
    let wanted = GrantRequest::new(shape, Scope::Project);
    let grant = crib.grant("save", &wanted, &Caller::Cli, "Ada").unwrap();
    assert_eq!(crib.grants().list().unwrap().grants, [grant]);
    let nobody = open(&scene, Approvals::default());
    let call = saving("docs/z.md").caller(Caller::Cli);
    assert!(nobody.registry().execute(call).await.is_ok());
    let error = crib
        .grant(
            "save",
            &GrantRequest::new(Default::default(), Scope::Call),
            &Caller::Cli,
            "Ada",
        )
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::Usage);
}
