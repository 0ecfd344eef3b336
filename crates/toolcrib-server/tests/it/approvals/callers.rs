//! A caller with a client's token can never approve, in any way (APR-006).

use http::{Method, StatusCode};
use serde_json::{Value, json};
use toolcrib::{CallRequest, FnTool};
use toolcrib_server::api::Who;

use super::{answer, answer_with, at, file, one_pending, pending};
use crate::harness::Scene;

fn is_forbidden((status, body): &(StatusCode, Value)) -> bool {
    *status == 403 && body["error"]["code"] == "FORBIDDEN"
}

/// The routes that hold power over others are the operator's, and refuse before they look at anything else.
#[tokio::test]
async fn a_caller_is_forbidden_everything_that_is_the_operators() {
    let scene = Scene::new();
    let caller = scene.as_client("agent");
    let mut checked = Vec::new();
    for route in scene.api.routes().iter() {
        let is_safe_topic = |path: &str| {
            [
                "/approvals",
                "/grants",
                "/rules",
                "/secrets",
                "/clients",
                "/stats",
                "/metrics",
                "/check",
                "/import",
                "/export",
                "/restore",
            ]
            .iter()
            .any(|part| path.contains(part))
        };
        let is_write = [Method::PUT, Method::PATCH, Method::DELETE].contains(&route.method);
        // A caller's own session is all that `DELETE /mcp` ends.
        if is_safe_topic(route.path) || (is_write && route.path != "/mcp") {
            assert_eq!(route.who, Who::Operator, "{} {}", route.method, route.path);
        }
        if route.who != Who::Operator {
            continue;
        }
        let path = route.path.replace(['{', '}'], "");
        for body in [None, Some("{}"), Some("{"), Some("null")] {
            let body = body.map(Into::into);
            let answer = caller.send(route.method.clone(), &path, body).await;
            assert!(is_forbidden(&answer), "{} {path}: {answer:?}", route.method);
        }
        checked.push(route.path);
    }
    assert!(checked.contains(&"/api/approvals/{id}") && checked.contains(&"/api/grants"));
    assert!(checked.len() > 20, "{checked:?}");
}

#[tokio::test]
async fn a_caller_cannot_approve_its_own_call_in_any_way() {
    let scene = Scene::new();
    file(&scene, "a.txt");
    let caller = scene.as_client("agent");
    let delete = json!({"tool": "delete_file", "args": {"path": "a.txt"}, "callId": "mine"});
    let with = |more: Value| {
        let mut body = delete.clone();
        let fields = more.as_object().unwrap().clone();
        body.as_object_mut().unwrap().extend(fields);
        body
    };
    // What only the operator may say.
    for more in [json!({"approvals": "yes"}), json!({"session": "s"})] {
        let answer = caller.post("/api/calls", with(more)).await;
        assert!(is_forbidden(&answer), "{answer:?}");
    }
    for word in ["cli", "operator", "library", ""] {
        let asking = scene
            .with_token(caller.token())
            .header("toolcrib-caller", word);
        let answer = asking.post("/api/calls", delete.clone()).await;
        assert!(is_forbidden(&answer), "{word}: {answer:?}");
    }
    // What no one may say.
    for more in [
        json!({"approved": true}),
        json!({"caller": "operator"}),
        json!({"yes": true}),
        json!({"approval": {"approved": true}}),
        json!({"grant": {}}),
    ] {
        let (status, refused) = caller.post("/api/calls", with(more)).await;
        assert_eq!(status, 400, "{refused}");
    }
    let arguments = json!({"path": "a.txt", "approved": true});
    let (status, _) = caller
        .post("/api/calls", with(json!({"args": arguments})))
        .await;
    assert_eq!(status, 400);
    // Headers that mean nothing here.
    for (name, value) in [
        ("x-approved", "true"),
        ("x-toolcrib-operator", "1"),
        ("x-forwarded-user", "operator"),
        ("x-http-method-override", "POST"),
    ] {
        let asking = scene.with_token(caller.token()).header(name, value);
        let body = with(json!({"approvals": "given", "callId": format!("by-{name}")}));
        let (status, refused) = asking.post("/api/calls", body).await;
        assert_eq!(
            (status.as_u16(), &refused["error"]["code"]),
            (403, &json!("APPROVAL_UNAVAILABLE")),
            "{refused}"
        );
    }
    // The question itself: not seen, not answered, whatever it knows of it.
    let asking = scene
        .with_token(caller.token())
        .header("prefer", "respond-async");
    let (status, accepted) = asking.post("/api/calls", delete).await;
    assert_eq!(status, 202, "{accepted}");
    let question = one_pending(&scene).await;
    assert_eq!(question["caller"], "client:agent");
    for path in [at(&question), format!("{}/", at(&question))] {
        let answer = caller.post(&path, answer(&question, true)).await;
        assert!(answer.0 == 403 || answer.0 == 404, "{answer:?}");
    }
    assert!(is_forbidden(&caller.get(&at(&question)).await));
    assert!(is_forbidden(&caller.get("/api/approvals").await));
    assert!(is_forbidden(
        &scene.as_client("other").get("/api/approvals").await
    ));
    assert_eq!(scene.as_nobody().get("/api/approvals").await.0, 401);
    assert!(scene.work().join("a.txt").exists());
    assert_eq!(pending(&scene, 1).await[0]["id"], question["id"]);
}

/// The tools that models are offered have none that approves.
#[tokio::test]
async fn no_tool_approves() {
    let scene = Scene::new();
    let (status, page) = scene
        .as_client("agent")
        .get("/tools?recommendedPageSize=500")
        .await;
    assert_eq!(status, 200, "{page}");
    for tool in page["tools"].as_array().unwrap() {
        let name = tool.to_string().to_lowercase();
        assert!(!name.contains("\"approve"), "{tool}");
    }
}

/// Two clients and the operator call a tool that calls another, alike: each is asked about, approved and granted by itself.
#[tokio::test]
async fn what_a_tool_calls_for_one_caller_is_never_approved_for_another() {
    let scene = Scene::new();
    file(&scene, "n.txt");
    let around = FnTool::new("around", "Writes", |(): (), cx| async move {
        let write = CallRequest::new("write_file").arg("path", "n.txt");
        let outcome = cx.call(write.arg("content", "new")).await;
        Ok(outcome.result.map(|output| output.value)?)
    });
    scene.crib.registry().register(around.unwrap()).unwrap();
    let (alice, bob) = (scene.as_client("alice"), scene.as_client("bob"));
    let callers = [alice.token(), bob.token(), crate::harness::OPERATOR];
    let call = |id: &str| json!({"tool": "around", "args": {}, "callId": id});
    for (token, id) in callers.iter().zip(["by-alice", "by-bob", "by-operator"]) {
        let asking = scene.with_token(token).header("prefer", "respond-async");
        let (status, accepted) = asking.post("/api/calls", call(id)).await;
        assert_eq!(status, 202, "{accepted}");
    }
    let questions = pending(&scene, 3).await;
    let of = |caller: &str| {
        questions
            .iter()
            .find(|asked| asked["caller"] == caller)
            .unwrap()
    };
    let (alices, bobs) = (of("tool:client:alice"), of("tool:client:bob"));

    // The operator gives up its own call, and allows it for ever by the question that was bob's.
    let operator = scene.as_operator();
    let (status, _) = operator.post_nothing("/api/calls/by-operator/cancel").await;
    assert!(status.is_success());
    let grant = json!({"grant": {"shape": bobs["offers"][0]["shape"], "scope": "project"}});
    let (status, answered) = operator.post(&at(bobs), answer_with(bobs, grant)).await;
    assert_eq!(status, 200, "{answered}");
    let (_, done) = bob.get("/api/calls/by-bob?waitMs=20000").await;
    assert_eq!(done["status"], "done", "{done}");
    let (_, waits) = alice.get("/api/calls/by-alice").await;
    assert_eq!(waits["status"], "waiting", "{waits}");
    let (_, grants) = operator.get("/api/grants").await;
    assert_eq!(grants["grants"][0]["caller"], "tool:client:bob", "{grants}");

    // Alice is not helped by it, nor is the operator.
    assert_eq!(pending(&scene, 1).await[0]["id"], alices["id"]);
    for (token, id) in callers.iter().zip(["alice-2", "bob-2", "operator-2"]) {
        // What would change nothing is not asked about.
        file(&scene, "n.txt");
        let mut body = call(id);
        body["approvals"] = json!("given");
        let (_, outcome) = scene.with_token(token).post("/api/calls", body).await;
        assert_eq!(outcome["error"].is_null(), id == "bob-2", "{id}: {outcome}");
    }
    // The record shows every call that tools made, and for which caller.
    let (_, page) = operator.get("/api/calls?caller=tool&status=ok").await;
    let found = page["calls"].as_array().unwrap().iter();
    let found: Vec<_> = found.map(|call| call["caller"].as_str().unwrap()).collect();
    assert_eq!(found, ["tool:client:bob", "tool:client:bob"], "{page}");
}
