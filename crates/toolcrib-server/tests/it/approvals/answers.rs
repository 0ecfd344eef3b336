//! One answer per question, bound to what was shown, edited arguments judged like fresh ones.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use toolcrib::crib::Approvals;
use toolcrib::record::call_log::CallLogReader;
use toolcrib::{ErrorCode, Outcome};

use super::{answer, answer_with, asks, at, file, one_pending, pending};
use crate::harness::Scene;

fn code(outcome: &Outcome) -> Option<ErrorCode> {
    outcome.result.as_ref().err().map(|error| error.code())
}

/// How often the tool was called and got through, by the record.
fn executions(scene: &Scene, tool: &str) -> usize {
    scene.crib.registry().flush();
    let mut count = 0;
    CallLogReader::new(scene.crib.call_log_path())
        .latest(usize::MAX, |record| {
            count += usize::from(record.tool == tool && record.code.is_none());
            false
        })
        .unwrap();
    count
}

#[tokio::test]
async fn a_call_runs_when_the_operator_approves_it() {
    let scene = Scene::new();
    file(&scene, "a.txt");
    let call = asks(&scene, "delete_file", json!({"path": "a.txt"}));
    let question = one_pending(&scene).await;
    assert_eq!(question["tool"], "delete_file");
    assert_eq!(question["args"]["path"], "a.txt");
    assert_eq!(question["waiting"], true);
    let body = answer_with(&question, json!({"reason": "old", "by": "ada"}));
    let (status, answered) = scene.as_operator().post(&at(&question), body).await;
    assert_eq!(status, 200, "{answered}");
    assert_eq!(answered["answer"]["by"], "ada");
    assert_eq!(answered["answer"]["reason"], "old");
    let outcome = call.outcome().await;
    assert_eq!(code(&outcome), None);
    assert!(!scene.work().join("a.txt").exists());
    let (status, seen) = scene.as_operator().get(&at(&question)).await;
    assert_eq!((status.as_u16(), &seen["status"]), (200, &json!("used")));
}

#[tokio::test]
async fn a_grant_along_with_an_answer_need_not_repeat_what_is_usual() {
    let scene = Scene::new();
    file(&scene, "g.txt");
    let args = json!({"path": "g.txt", "content": "new"});
    let call = asks(&scene, "write_file", args);
    let question = one_pending(&scene).await;
    let shape = json!({"path": {"path": "g.txt"}, "content": "any"});
    let grant = json!({"grant": {"shape": shape, "scope": "user"}});
    let body = answer_with(&question, grant);
    let (status, answered) = scene.as_operator().post(&at(&question), body).await;
    assert_eq!(status, 200, "{answered}");
    assert_eq!(code(&call.outcome().await), None);
    let (_, grants) = scene.as_operator().get("/api/grants").await;
    assert!(
        grants["grants"][0]["shape"].get("encoding").is_some(),
        "{grants}"
    );
}

#[tokio::test]
async fn who_answers_is_the_operator_when_no_one_says() {
    let scene = Scene::new();
    file(&scene, "a.txt");
    let call = asks(&scene, "delete_file", json!({"path": "a.txt"}));
    let question = one_pending(&scene).await;
    let body = answer(&question, false);
    let (status, answered) = scene.as_operator().post(&at(&question), body).await;
    assert_eq!(
        (status.as_u16(), &answered["status"]),
        (200, &json!("denied"))
    );
    assert_eq!(answered["answer"]["by"], "operator");
    assert_eq!(code(&call.outcome().await), Some(ErrorCode::ApprovalDenied));
    assert!(scene.work().join("a.txt").exists());
}

/// APR-001.
#[tokio::test]
async fn an_edit_that_leaves_the_workspace_is_refused_and_the_question_stays_open() {
    let scene = Scene::new();
    file(&scene, "a.txt");
    file(&scene, "b.txt");
    std::fs::create_dir(scene.work().join(".git")).unwrap();
    file(&scene, ".git/config");
    std::fs::create_dir(scene.work().join("../out")).unwrap();
    let canary = scene.work().join("../out/canary");
    std::fs::write(&canary, "alive").unwrap();
    let call = asks(&scene, "delete_file", json!({"path": "a.txt"}));
    let question = one_pending(&scene).await;
    let bad = [
        (json!({"path": "../out/canary"}), "INVALID_PATH"),
        (json!({"path": canary.to_str().unwrap()}), "INVALID_PATH"),
        (json!({"path": "/etc/passwd"}), ""),
        (json!({"path": ".git/config"}), ""),
        (json!({"path": 7}), "INVALID_ARGUMENTS"),
        (json!({}), "INVALID_ARGUMENTS"),
        (json!({"path": "b.txt", "force": true}), "INVALID_ARGUMENTS"),
    ];
    for (edit, cause) in bad {
        let body = answer_with(&question, json!({"modifiedArgs": edit}));
        let (status, refused) = scene.as_operator().post(&at(&question), body).await;
        assert_eq!(status, 422, "{edit}: {refused}");
        assert_eq!(refused["error"]["code"], "UNPROCESSABLE", "{refused}");
        let said = &refused["error"]["details"]["cause"]["code"];
        assert!(cause.is_empty() || said == cause, "{edit}: {refused}");
    }
    let (_, still) = scene.as_operator().get(&at(&question)).await;
    assert_eq!(still["status"], "pending");
    // A sound edit is what runs, and what the outcome says.
    let body = answer_with(&question, json!({"modifiedArgs": {"path": "b.txt"}}));
    let (status, answered) = scene.as_operator().post(&at(&question), body).await;
    assert_eq!(status, 200, "{answered}");
    assert_eq!(answered["answer"]["modifiedArgs"], json!({"path": "b.txt"}));
    let outcome = call.outcome().await;
    assert_eq!(code(&outcome), None);
    assert_eq!(outcome.parameters["path"], "b.txt");
    assert!(canary.exists() && scene.work().join("a.txt").exists());
    assert!(!scene.work().join("b.txt").exists());
}

#[tokio::test]
async fn a_bad_edit_says_where_it_is_bad() {
    let scene = Scene::new();
    file(&scene, "a.txt");
    let _call = asks(&scene, "delete_file", json!({"path": "a.txt"}));
    let question = one_pending(&scene).await;
    let body = answer_with(&question, json!({"modifiedArgs": {"path": 7}}));
    let (_, refused) = scene.as_operator().post(&at(&question), body).await;
    let cause = &refused["error"]["details"]["cause"];
    assert!(cause.to_string().contains("/path"), "{refused}");
}

/// APR-002.
#[tokio::test]
async fn a_second_answer_learns_who_decided_what() {
    let scene = Scene::new();
    file(&scene, "a.txt");
    let call = asks(&scene, "delete_file", json!({"path": "a.txt"}));
    let question = one_pending(&scene).await;
    let body = answer_with(&question, json!({"by": "ada"}));
    let (status, _) = scene.as_operator().post(&at(&question), body.clone()).await;
    assert_eq!(status, 200);
    call.outcome().await;
    file(&scene, "a.txt");
    for body in [body, answer(&question, false)] {
        let (status, refused) = scene.as_operator().post(&at(&question), body).await;
        assert_eq!(status, 409, "{refused}");
        assert_eq!(refused["error"]["code"], "CONFLICT");
        assert_eq!(refused["error"]["details"]["by"], "ada");
        assert_eq!(refused["error"]["details"]["approved"], true);
    }
    assert!(scene.work().join("a.txt").exists());
    assert_eq!(executions(&scene, "delete_file"), 1);
}

/// APR-003.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_a_hundred_approvals_at_once_one_counts_and_the_call_runs_once() {
    let scene = Scene::new();
    file(&scene, "a.txt");
    let call = asks(&scene, "delete_file", json!({"path": "a.txt"}));
    let question = one_pending(&scene).await;
    let operator = scene.as_operator();
    let path = at(&question);
    let answers = (0..100).map(|number| {
        let body = answer_with(&question, json!({"by": format!("person {number}")}));
        operator.post(&path, body)
    });
    let answers = futures_util::future::join_all(answers).await;
    let count = |wanted: u16| {
        answers
            .iter()
            .filter(|(status, _)| *status == wanted)
            .count()
    };
    assert_eq!((count(200), count(409)), (1, 99), "{answers:?}");
    let winner = answers.iter().find(|(status, _)| *status == 200).unwrap();
    let outcome = call.outcome().await;
    assert_eq!(code(&outcome), None);
    for (_, refused) in answers.iter().filter(|(status, _)| *status == 409) {
        assert_eq!(refused["error"]["details"]["by"], winner.1["answer"]["by"]);
    }
    assert_eq!(executions(&scene, "delete_file"), 1);
}

#[tokio::test]
async fn an_answer_needs_the_digest_of_what_was_shown() {
    let scene = Scene::new();
    file(&scene, "a.txt");
    let _call = asks(&scene, "delete_file", json!({"path": "a.txt"}));
    let question = one_pending(&scene).await;
    let operator = scene.as_operator();
    let (status, refused) = operator
        .post(&at(&question), json!({"approved": true}))
        .await;
    assert_eq!(
        (status.as_u16(), &refused["error"]["code"]),
        (400, &json!("USAGE")),
        "{refused}"
    );
    assert!(
        refused["error"]["message"]
            .as_str()
            .unwrap()
            .contains("argsDigest"),
        "{refused}"
    );
    for other in [
        "",
        "x",
        "0000",
        &question["argsDigest"].as_str().unwrap().to_uppercase(),
    ] {
        let body = json!({"approved": true, "argsDigest": other});
        let (status, refused) = operator.post(&at(&question), body).await;
        assert_eq!(
            (status.as_u16(), &refused["error"]["code"]),
            (409, &json!("CONFLICT")),
            "{refused}"
        );
    }
    assert_eq!(pending(&scene, 1).await.len(), 1);
}

#[tokio::test]
async fn an_answer_that_is_none_changes_nothing() {
    let scene = Scene::new();
    file(&scene, "a.txt");
    let _call = asks(&scene, "delete_file", json!({"path": "a.txt"}));
    let question = one_pending(&scene).await;
    let digest = question["argsDigest"].clone();
    let bad: Vec<Value> = vec![
        json!({}),
        json!(null),
        json!([]),
        json!(true),
        json!({"argsDigest": digest}),
        json!({"approved": "true", "argsDigest": digest}),
        json!({"approved": 1, "argsDigest": digest}),
        json!({"approved": null, "argsDigest": digest}),
        json!({"approved": true, "argsDigest": null}),
        json!({"approved": true, "argsDigest": digest, "force": true}),
        json!({"approved": true, "argsDigest": digest, "modifiedArgs": []}),
        json!({"approved": true, "argsDigest": digest, "modifiedArgs": "x"}),
        json!({"approved": true, "argsDigest": digest, "grant": {}}),
        json!({"approved": true, "argsDigest": digest, "grant": {"shape": {}, "scope": "world"}}),
        json!({"approved": true, "argsDigest": digest, "grant": {"shape": {"path": "all"}, "scope": "user"}}),
        // Nothing would run by them.
        json!({"approved": false, "argsDigest": digest, "modifiedArgs": {}}),
        json!({"approved": false, "argsDigest": digest, "grant": {"shape": {}, "scope": "user"}}),
    ];
    for body in bad {
        let (status, refused) = scene.as_operator().post(&at(&question), body.clone()).await;
        assert_eq!(status, 400, "{body}: {refused}");
    }
    let twice = format!(r#"{{"approved":false,"approved":true,"argsDigest":{digest}}}"#);
    let (status, _) = scene
        .as_operator()
        .send(Method::POST, &at(&question), Some(twice.into()))
        .await;
    assert_eq!(status, 400);
    assert_eq!(pending(&scene, 1).await[0]["id"], question["id"]);
}

#[tokio::test]
async fn an_expired_question_is_gone() {
    let wait = Some(Duration::from_millis(30));
    let scene = Scene::with(|options| options.approvals(Approvals::Queue { wait }));
    file(&scene, "a.txt");
    let call = asks(&scene, "delete_file", json!({"path": "a.txt"}));
    assert_eq!(
        code(&call.outcome().await),
        Some(ErrorCode::ApprovalExpired)
    );
    let (_, page) = scene.as_operator().get("/api/approvals").await;
    let question = page["approvals"][0].clone();
    assert_eq!(question["status"], "expired", "{page}");
    for approved in [true, false] {
        let body = answer(&question, approved);
        let (status, refused) = scene.as_operator().post(&at(&question), body).await;
        assert_eq!(
            (status.as_u16(), &refused["error"]["code"]),
            (410, &json!("GONE")),
            "{refused}"
        );
    }
    assert!(scene.work().join("a.txt").exists());
}

#[tokio::test]
async fn a_question_whose_call_was_cancelled_cannot_be_answered() {
    let scene = Scene::new();
    file(&scene, "a.txt");
    let call = asks(&scene, "delete_file", json!({"path": "a.txt"}));
    let question = one_pending(&scene).await;
    call.cancel();
    assert_eq!(code(&call.outcome().await), Some(ErrorCode::Cancelled));
    let body = answer(&question, true);
    let (status, refused) = scene.as_operator().post(&at(&question), body).await;
    assert_eq!(
        (status.as_u16(), &refused["error"]["code"]),
        (409, &json!("CONFLICT")),
        "{refused}"
    );
}

#[tokio::test]
async fn an_unknown_question_is_not_found() {
    let scene = Scene::new();
    let body = json!({"approved": true, "argsDigest": "x"});
    for id in [
        "01940000-0000-7000-8000-000000000000",
        "x",
        "%2e%2e%2e",
        "approve",
        "天気",
    ] {
        let path = format!("/api/approvals/{id}");
        let path = path.replace('天', "%E5%A4%A9").replace('気', "%E6%B0%97");
        let (status, refused) = scene.as_operator().get(&path).await;
        assert_eq!(
            (status.as_u16(), &refused["error"]["code"]),
            (404, &json!("NOT_FOUND")),
            "{id}"
        );
        let (status, _) = scene.as_operator().post(&path, body.clone()).await;
        assert_eq!(status, 404, "{id}");
    }
}

#[tokio::test]
async fn an_approval_may_bring_a_grant() {
    let scene = Scene::new();
    file(&scene, "notes.md");
    let args = json!({"path": "notes.md", "content": "new"});
    let call = asks(&scene, "write_file", args.clone());
    let question = one_pending(&scene).await;
    let offer = question["offers"][0]["shape"].clone();
    assert!(offer.is_object(), "{question}");
    let grant = json!({"shape": offer, "scope": "project", "maxUses": 1, "reason": "notes"});
    let body = answer_with(&question, json!({"grant": grant}));
    let (status, answered) = scene.as_operator().post(&at(&question), body).await;
    assert_eq!(status, 200, "{answered}");
    assert_eq!(code(&call.outcome().await), None);
    let (_, page) = scene.as_operator().get("/api/grants").await;
    assert_eq!(page["grants"][0]["id"], question["id"], "{page}");
    assert_eq!(page["grants"][0]["caller"], "operator");
    // The same again asks no one, once.
    assert_eq!(
        code(&asks(&scene, "write_file", args.clone()).outcome().await),
        None
    );
    let again = asks(&scene, "write_file", args);
    one_pending(&scene).await;
    again.cancel();
}

#[tokio::test]
async fn a_delete_is_granted_by_no_one() {
    let scene = Scene::new();
    file(&scene, "a.txt");
    let _call = asks(&scene, "delete_file", json!({"path": "a.txt"}));
    let question = one_pending(&scene).await;
    assert_eq!(question["offers"], Value::Null);
    assert!(question["noGrant"].is_string(), "{question}");
    let grant = json!({"shape": {"path": {"path": "a.txt"}, "recursive": "any"}, "scope": "user"});
    let body = answer_with(&question, json!({"grant": grant}));
    let (status, refused) = scene.as_operator().post(&at(&question), body).await;
    assert_eq!(status, 422, "{refused}");
    assert_eq!(pending(&scene, 1).await[0]["id"], question["id"]);
}

#[tokio::test]
async fn a_grant_that_does_not_cover_the_call_is_refused() {
    let scene = Scene::new();
    file(&scene, "notes.md");
    let _call = asks(
        &scene,
        "write_file",
        json!({"path": "notes.md", "content": "new"}),
    );
    let question = one_pending(&scene).await;
    let shape = json!({"path": {"path": "other.md"}, "content": "any", "encoding": "any", "createDirs": "any"});
    for shape in [shape, json!({"path": "any", "content": "any"})] {
        let body = answer_with(
            &question,
            json!({"grant": {"shape": shape, "scope": "user"}}),
        );
        let (status, refused) = scene.as_operator().post(&at(&question), body).await;
        assert_eq!(status, 422, "{refused}");
    }
    assert_eq!(pending(&scene, 1).await.len(), 1);
}
