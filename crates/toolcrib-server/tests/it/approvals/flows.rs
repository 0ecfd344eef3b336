//! Calls over HTTP that need approval: those that wait, those that do not, and what their callers see.

use std::time::Duration;

use http::{Method, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use toolcrib::crib::Approvals;

use super::{answer, answer_with, at, file, one_pending, pending};
use crate::harness::Scene;

const INVOKE: &str = "/tools/bundles/core/tools/delete-file/version/v1/invoke";
const SHELL: &str = "/tools/bundles/core/tools/shell/version/v1/invoke";

fn delete(name: &str) -> Value {
    json!({"args": {"path": name}})
}

/// Answers the one question that comes.
async fn answered(scene: &Scene, more: Value) -> Value {
    let question = one_pending(scene).await;
    let body = answer_with(&question, more);
    let (status, answered) = scene.as_operator().post(&at(&question), body).await;
    assert_eq!(status, 200, "{answered}");
    question
}

/// Waits until a call is over, by its route.
async fn finished(scene: &Scene, id: &str) -> (StatusCode, Value) {
    let begun = std::time::Instant::now();
    loop {
        let (status, call) = scene.as_operator().get(&format!("/api/calls/{id}")).await;
        if call.get("ok").is_some() || call["outcome"].is_object() || call["status"] == "done" {
            return (status, call);
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{call}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn an_invocation_waits_until_it_is_approved() {
    let scene = Scene::new();
    file(&scene, "a.txt");
    let caller = scene.as_client("agent");
    let ((status, outcome), question) = tokio::join!(
        caller.post(INVOKE, delete("a.txt")),
        answered(&scene, json!({"by": "ada", "reason": "old"}))
    );
    assert_eq!(status, 200, "{outcome}");
    assert_eq!(outcome["ok"], true, "{outcome}");
    assert_eq!(question["caller"], "client:agent");
    assert_eq!(outcome["metadata"]["approval"]["by"], "ada", "{outcome}");
    assert!(!scene.work().join("a.txt").exists());
}

#[tokio::test]
async fn an_edited_call_says_what_ran() {
    let scene = Scene::new();
    file(&scene, "a.txt");
    file(&scene, "b.txt");
    let caller = scene.as_client("agent");
    let ((status, outcome), _) = tokio::join!(
        caller.post(INVOKE, delete("a.txt")),
        answered(&scene, json!({"modifiedArgs": {"path": "b.txt"}}))
    );
    assert_eq!(
        (status.as_u16(), &outcome["ok"]),
        (200, &json!(true)),
        "{outcome}"
    );
    assert_eq!(outcome["metadata"]["parameters"]["path"], "b.txt");
    assert!(scene.work().join("a.txt").exists() && !scene.work().join("b.txt").exists());
}

#[tokio::test]
async fn a_denied_invocation_is_a_403_with_the_reason() {
    let scene = Scene::new();
    file(&scene, "a.txt");
    let caller = scene.as_client("agent");
    let ((status, outcome), _) = tokio::join!(
        caller.post(INVOKE, delete("a.txt")),
        answered(&scene, json!({"approved": false, "reason": "we need it"}))
    );
    assert_eq!(status, 403);
    assert_eq!(outcome["error"]["code"], "APPROVAL_DENIED");
    assert!(
        outcome["error"]["message"]
            .as_str()
            .unwrap()
            .contains("we need it"),
        "{outcome}"
    );
    assert!(scene.work().join("a.txt").exists());
}

#[tokio::test]
async fn an_invocation_that_no_one_answers_expires() {
    let scene = Scene::new();
    file(&scene, "a.txt");
    let body = json!({"args": {"path": "a.txt"}, "approvalWaitMs": 30});
    let (status, outcome) = scene.as_client("agent").post(INVOKE, body).await;
    assert_eq!(
        (status.as_u16(), &outcome["error"]["code"]),
        (403, &json!("APPROVAL_EXPIRED")),
        "{outcome}"
    );
    let (_, page) = scene.as_operator().get("/api/approvals").await;
    let question = &page["approvals"][0];
    let (status, _) = scene
        .as_operator()
        .post(&at(question), answer(question, true))
        .await;
    assert!(status == 410 || status == 409, "{status} {page}");
    assert!(scene.work().join("a.txt").exists());
}

#[tokio::test]
async fn no_one_is_asked_when_the_caller_says_so() {
    let scene = Scene::new();
    file(&scene, "a.txt");
    let body = json!({"args": {"path": "a.txt"}, "approvals": "given"});
    let (status, outcome) = scene.as_client("agent").post(INVOKE, body).await;
    assert_eq!(
        (status.as_u16(), &outcome["error"]["code"]),
        (403, &json!("APPROVAL_UNAVAILABLE")),
        "{outcome}"
    );
    assert_eq!(pending(&scene, 0).await.len(), 0);
    // The operator may agree ahead, and that is what the record says.
    let body = json!({"args": {"path": "a.txt"}, "approvals": "yes"});
    let (status, outcome) = scene.as_operator().post(INVOKE, body).await;
    assert_eq!(
        (status.as_u16(), &outcome["metadata"]["approval"]["by"]),
        (200, &json!("--yes")),
        "{outcome}"
    );
}

#[tokio::test]
async fn a_call_in_the_background_is_approved_and_its_outcome_fetched() {
    let scene = Scene::new();
    file(&scene, "a.txt");
    let caller = scene.as_client("agent");
    let asking = scene
        .with_token(caller.token())
        .header("prefer", "respond-async");
    let response = asking
        .raw(
            Method::POST,
            INVOKE,
            "application/json",
            Some(delete("a.txt").to_string().into()),
        )
        .await;
    assert_eq!(response.status(), 202);
    let location = response.headers()["location"].to_str().unwrap().to_owned();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let accepted: Value = serde_json::from_slice(&body).unwrap();
    let id = accepted["callId"].as_str().unwrap();
    assert_eq!(location, format!("/api/calls/{id}"));
    let question = one_pending(&scene).await;
    assert_eq!(question["callId"], id);
    assert_eq!(question["stepId"], "delete_file");
    let (status, waiting) = caller.get(&location).await;
    assert_eq!(status, 200, "{waiting}");
    assert_eq!(waiting["approval"]["id"], question["id"], "{waiting}");
    answered(&scene, json!({})).await;
    let (_, done) = finished(&scene, id).await;
    assert!(done.to_string().contains("\"ok\":true"), "{done}");
    assert!(!scene.work().join("a.txt").exists());
}

#[tokio::test]
async fn a_denied_call_in_the_background_keeps_its_outcome() {
    let scene = Scene::new();
    file(&scene, "a.txt");
    let caller = scene.as_client("agent");
    let asking = scene
        .with_token(caller.token())
        .header("prefer", "respond-async");
    let (status, accepted) = asking.post(INVOKE, delete("a.txt")).await;
    assert_eq!(status, 202);
    answered(&scene, json!({"approved": false})).await;
    let (_, done) = finished(&scene, accepted["callId"].as_str().unwrap()).await;
    assert!(done.to_string().contains("APPROVAL_DENIED"), "{done}");
}

#[tokio::test]
async fn a_stream_announces_the_question_and_ends_with_the_outcome() {
    let scene = Scene::new();
    file(&scene, "a.txt");
    let asking = scene
        .as_client("agent")
        .header("accept", "text/event-stream");
    let response = asking
        .raw(
            Method::POST,
            INVOKE,
            "application/json",
            Some(delete("a.txt").to_string().into()),
        )
        .await;
    assert_eq!(response.status(), 200);
    let (body, question) = tokio::join!(
        async { response.into_body().collect().await.unwrap().to_bytes() },
        answered(&scene, json!({"by": "ada"}))
    );
    let text = String::from_utf8(body.to_vec()).unwrap();
    let asked = text
        .split("\n\n")
        .find(|event| event.contains("event: approval"))
        .unwrap();
    assert!(asked.contains(question["id"].as_str().unwrap()), "{text}");
    let last = text.trim_end().split("\n\n").last().unwrap();
    assert!(
        last.contains("event: outcome") && last.contains("\"ok\":true"),
        "{text}"
    );
    // The stream of a client reveals nothing that only the operator may know.
    assert!(
        !asked.contains("argsDigest") && !text.contains("\"offers\""),
        "{text}"
    );
}

#[tokio::test]
async fn a_caller_that_goes_while_it_waits_leaves_its_question_or_takes_it_along() {
    for goes_along in [false, true] {
        let scene = Scene::new();
        file(&scene, "a.txt");
        let caller = scene.as_client("agent");
        let body = json!({"args": {"path": "a.txt"}, "cancelOnDisconnect": goes_along});
        {
            let call = caller.post(INVOKE, body);
            tokio::pin!(call);
            tokio::select! {
                outcome = &mut call => panic!("{outcome:?}"),
                _ = one_pending(&scene) => {}
            }
        }
        if goes_along {
            pending(&scene, 0).await;
            let (_, page) = scene.as_operator().get("/api/approvals").await;
            assert_eq!(page["approvals"][0]["status"], "withdrawn");
            continue;
        }
        let question = answered(&scene, json!({})).await;
        let id = question["callId"].as_str().unwrap();
        let begun = std::time::Instant::now();
        while scene.work().join("a.txt").exists() {
            assert!(
                begun.elapsed() < Duration::from_secs(20),
                "{id} does not run"
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// APR-008.
#[tokio::test]
async fn what_was_denied_is_denied_again_without_asking() {
    let scene = Scene::new();
    file(&scene, "a.txt");
    let caller = scene.as_client("agent");
    let ((status, _), _) = tokio::join!(
        caller.post(INVOKE, delete("a.txt")),
        answered(&scene, json!({"approved": false}))
    );
    assert_eq!(status, 403);
    for _ in 0..200 {
        let (status, outcome) = caller.post(INVOKE, delete("a.txt")).await;
        let code = &outcome["error"]["code"];
        assert!(
            (status == 403 && code == "APPROVAL_DENIED")
                || (status == 429 && code == "RATE_LIMITED"),
            "{outcome}"
        );
    }
    let (_, page) = scene.as_operator().get("/api/approvals").await;
    assert_eq!(page["approvals"].as_array().unwrap().len(), 1, "{page}");
}

/// APR-008: the same call at the same time is one question.
#[tokio::test]
async fn identical_calls_share_one_question() {
    let scene = Scene::new();
    file(&scene, "a.txt");
    let caller = scene.as_client("agent");
    let calls =
        futures_util::future::join_all((0..20).map(|_| caller.post(INVOKE, delete("a.txt"))));
    let deny = async {
        let question = one_pending(&scene).await;
        // All of them have come when the last one has.
        let begun = std::time::Instant::now();
        while scene
            .crib
            .registry()
            .running()
            .iter()
            .filter(|call| call.approval.is_some())
            .count()
            < 20
        {
            assert!(begun.elapsed() < Duration::from_secs(20));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(pending(&scene, 1).await[0]["id"], question["id"]);
        scene
            .as_operator()
            .post(&at(&question), answer(&question, false))
            .await
    };
    let (outcomes, (status, _)) = tokio::join!(calls, deny);
    assert_eq!(status, 200);
    for (status, outcome) in outcomes {
        assert_eq!(
            (status.as_u16(), &outcome["error"]["code"]),
            (403, &json!("APPROVAL_DENIED")),
            "{outcome}"
        );
    }
}

/// APR-013.
#[tokio::test]
async fn a_tool_around_a_tool_asks_as_the_inner_one_does() {
    let scene = Scene::new();
    file(&scene, "a.txt");
    let operator = scene.as_operator();
    let bundle = "01990000-0000-7000-8000-0000000000aa";
    let (status, made) = operator
        .put(
            &format!("/tools/bundles/{bundle}"),
            json!({"slug": "wrapped", "displayName": "Wrapped", "description": "aliases"}),
        )
        .await;
    assert_eq!(status, 201, "{made}");
    let alias = json!({
        "slug": "tidy", "version": "v1", "displayName": "Tidy", "description": "tidies", "type": "alias", "tags": ["read"],
        "impl": {"base-tool": "delete_file", "default-parameters": {"path": "a.txt"}},
    });
    let at_tool = format!("/tools/bundles/{bundle}/tools/tidy/version/v1");
    let (status, made) = operator.put(&at_tool, alias).await;
    assert_eq!(status, 201, "{made}");
    let body = json!({"args": {}, "approvals": "given"});
    let (status, outcome) = scene
        .as_client("agent")
        .post(&format!("{at_tool}/invoke"), body)
        .await;
    assert_eq!(outcome["ok"], false, "{status} {outcome}");
    assert!(
        outcome.to_string().contains("APPROVAL_UNAVAILABLE"),
        "{outcome}"
    );
    assert!(scene.work().join("a.txt").exists());
}

/// Pending questions hold no one up: there are more of them than calls may run.
#[tokio::test]
async fn a_server_full_of_questions_still_runs_calls() {
    let wait = Some(Duration::from_secs(20));
    let scene = Scene::prepared(
        tempfile::tempdir().unwrap(),
        |home, work| {
            std::fs::write(home.join("config.toml"), "[server]\nmaxCalls = 2\n").unwrap();
            for number in 0..5 {
                std::fs::write(work.join(format!("{number}.txt")), "x").unwrap();
            }
        },
        |options| options.approvals(Approvals::Queue { wait }),
    );
    let caller = scene.as_client("agent");
    let calls = (0..5).map(|number| caller.post(INVOKE, delete(&format!("{number}.txt"))));
    let calls = futures_util::future::join_all(calls);
    let other = async {
        let questions = pending(&scene, 5).await;
        let body = json!({"tool": "list_directory", "args": {"path": "."}});
        let (status, outcome) = scene.as_client("other").post("/api/calls", body).await;
        assert_eq!(
            (status.as_u16(), &outcome["ok"]),
            (200, &json!(true)),
            "{outcome}"
        );
        for question in questions {
            let (status, _) = scene
                .as_operator()
                .post(&at(&question), answer(&question, false))
                .await;
            assert_eq!(status, 200);
        }
    };
    let (outcomes, ()) = tokio::join!(calls, other);
    assert!(
        outcomes.iter().all(|(status, _)| *status == 403),
        "{outcomes:?}"
    );
}

#[tokio::test]
async fn a_script_that_changed_since_the_question_gets_a_409_and_a_new_question() {
    let scene = Scene::new();
    let script = scene.work().join("deploy.sh");
    std::fs::write(&script, "echo first\n").unwrap();
    let caller = scene.as_client("agent");
    // The command after the script cannot be known, so a person is asked.
    let call = json!({"args": {"command": "sh ./deploy.sh; eval \"$X\""}});
    let operator = scene.as_operator();
    let answering = async {
        let first = one_pending(&scene).await;
        assert_eq!(first["bound"][0]["path"], "deploy.sh", "{first}");
        assert_eq!(first["bound"][0]["pinned"], true, "{first}");
        // The same caller rewrites it by another call.
        let rewrite = json!({"args": {"command": "echo 'echo second' > deploy.sh"}});
        let (status, outcome) = caller.post(SHELL, rewrite).await;
        assert_eq!((status.as_u16(), &outcome["ok"]), (200, &json!(true)));
        let (status, refused) = operator.post(&at(&first), answer(&first, true)).await;
        assert_eq!(status, 409, "{refused}");
        assert_eq!(refused["error"]["code"], "CONFLICT", "{refused}");
        assert_eq!(refused["error"]["details"]["changed"], json!(["deploy.sh"]));
        let second = one_pending(&scene).await;
        assert_ne!(second["id"], first["id"]);
        assert_ne!(second["argsDigest"], first["argsDigest"]);
        assert_ne!(second["bound"][0]["digest"], first["bound"][0]["digest"]);
        let diff = second["diff"].as_str().unwrap();
        assert!(diff.contains("+echo second"), "{diff}");
        let (_, old) = operator.get(&at(&first)).await;
        assert_eq!(old["status"], "replaced", "{old}");
        let stale = json!({"approved": true, "argsDigest": first["argsDigest"]});
        let (status, refused) = operator.post(&at(&second), stale).await;
        assert_eq!(status, 409, "{refused}");
        let (status, answered) = operator.post(&at(&second), answer(&second, true)).await;
        assert_eq!(status, 200, "{answered}");
    };
    let ((status, outcome), ()) = tokio::join!(caller.post(SHELL, call), answering);
    assert_eq!(status, 200, "{outcome}");
    assert_eq!(outcome["value"]["stdout"], "second\n", "{outcome}");
}

#[tokio::test]
async fn a_client_says_how_long_it_waits_for_a_person() {
    let scene = Scene::new();
    file(&scene, "a.txt");
    let caller = scene.as_client("agent").header("prefer", "wait=0");
    let (status, waiting) = caller.post(INVOKE, delete("a.txt")).await;
    assert_eq!(status, 202, "{waiting}");
    assert_eq!(waiting["status"], "waiting", "{waiting}");
    let id = waiting["callId"].as_str().unwrap().to_owned();
    let question = one_pending(&scene).await;
    assert_eq!(waiting["approval"]["id"], question["id"], "{waiting}");
    // The caller may follow it, and no other client.
    let (status, _) = scene
        .as_client("other")
        .get(&format!("/api/calls/{id}"))
        .await;
    assert_eq!(status, 404);
    answered(&scene, json!({"by": "ada"})).await;
    let (_, call) = finished(&scene, &id).await;
    assert_eq!(call["outcome"]["ok"], true, "{call}");
    assert_eq!(
        call["outcome"]["value"]["deleted"],
        json!(["a.txt"]),
        "the value is kept: {call}"
    );
}

#[tokio::test]
async fn a_call_that_ends_with_its_connection_is_waited_for() {
    let scene = Scene::new();
    file(&scene, "a.txt");
    let caller = scene.as_client("agent").header("prefer", "wait=0");
    let mut body = delete("a.txt");
    body["cancelOnDisconnect"] = json!(true);
    let ((status, outcome), _) = tokio::join!(
        caller.post(INVOKE, body),
        answered(&scene, json!({"by": "ada"}))
    );
    assert_eq!(
        (status.as_u16(), &outcome["ok"]),
        (200, &json!(true)),
        "{outcome}"
    );
}

#[tokio::test]
async fn a_call_in_the_first_documents_form_has_its_id() {
    let scene = Scene::new();
    file(&scene, "a.txt");
    let call = json!({"id": "call_1", "name": "read_file", "arguments": {"path": "a.txt"}});
    let (status, outcome) = scene.as_operator().post("/api/calls", call).await;
    assert_eq!(status, 200, "{outcome}");
    assert_eq!(outcome["metadata"]["callId"], "call_1");
    let twice = json!({"id": "a", "callId": "a", "name": "read_file", "arguments": {}});
    assert_eq!(scene.as_operator().post("/api/calls", twice).await.0, 400);
}
