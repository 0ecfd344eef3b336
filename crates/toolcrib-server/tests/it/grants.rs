//! Grants over HTTP: made, simulated, shown, taken back, by the operator.

use std::path::Path;

use serde_json::{Value, json};

use crate::approvals::{asks, file, one_pending, pending};
use crate::harness::Scene;

fn docs_grant() -> Value {
    json!({
        "tool": "write_file",
        "shape": {"path": {"path": "docs/*"}, "content": "any"},
        "scope": "project",
    })
}

fn with(mut grant: Value, more: Value) -> Value {
    let fields = more.as_object().unwrap().clone();
    grant.as_object_mut().unwrap().extend(fields);
    grant
}

#[tokio::test]
async fn a_grant_is_made_shown_used_and_taken_back() {
    let scene = Scene::new();
    std::fs::create_dir(scene.work().join("docs")).unwrap();
    file(&scene, "docs/a.md");
    let operator = scene.as_operator();
    let body = with(
        docs_grant(),
        json!({"reason": "docs are mine", "by": "ada", "maxUses": 5}),
    );
    let (status, grant) = operator.post("/api/grants", body).await;
    assert_eq!(status, 201, "{grant}");
    assert_eq!(
        (&grant["by"], &grant["caller"]),
        (&json!("ada"), &json!("operator"))
    );
    assert_eq!(grant["tool"], "core/write-file@v1");
    let path = format!("/api/grants/{}", grant["id"].as_str().unwrap());
    let (status, shown) = operator.get(&path).await;
    assert_eq!((status.as_u16(), &shown), (200, &grant));
    let write = json!({"path": "docs/a.md", "content": "new"});
    let outcome = asks(&scene, "write_file", write.clone()).outcome().await;
    assert!(outcome.result.is_ok(), "{outcome:?}");
    let (_, page) = operator.get("/api/grants").await;
    assert_eq!(page["grants"][0]["uses"], 1, "{page}");
    let (status, body) = operator.delete(&path).await;
    assert_eq!((status.as_u16(), body), (204, Value::Null));
    let (status, refused) = operator.delete(&path).await;
    assert_eq!(
        (status.as_u16(), &refused["error"]["code"]),
        (404, &json!("NOT_FOUND"))
    );
    assert_eq!(operator.get("/api/grants").await.1, json!({"grants": []}));
    let call = asks(&scene, "write_file", write);
    one_pending(&scene).await;
    call.cancel();
}

#[tokio::test]
async fn a_grant_says_first_what_it_would_have_allowed() {
    let scene = Scene::new();
    std::fs::create_dir(scene.work().join("docs")).unwrap();
    for name in ["docs/a.md", "docs/b.md", "c.md"] {
        let write = json!({"path": name, "content": "new"});
        let outcome = asks(&scene, "write_file", write).outcome().await;
        assert!(outcome.result.is_ok());
    }
    scene.crib.registry().flush();
    let operator = scene.as_operator();
    let (status, simulated) = operator
        .post("/api/grants?simulate=true", docs_grant())
        .await;
    assert_eq!(status, 200, "{simulated}");
    assert_eq!(
        (&simulated["lookedAt"], &simulated["allowed"]),
        (&json!(3), &json!(2))
    );
    assert!(
        simulated["words"]
            .as_str()
            .unwrap()
            .starts_with("would have allowed 2 past calls")
    );
    assert_eq!(simulated["tool"], "core/write-file@v1");
    assert_eq!(operator.get("/api/grants").await.1, json!({"grants": []}));
}

#[tokio::test]
async fn what_cannot_be_granted_is_refused_with_a_reason() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    let cases = [
        (
            json!({"tool": "delete_file", "shape": {"path": {"path": "a"}}, "scope": "user"}),
            400,
            "takes something away",
        ),
        (
            with(docs_grant(), json!({"scope": "call"})),
            400,
            "one call",
        ),
        (
            with(docs_grant(), json!({"tool": "no-such-tool"})),
            404,
            "tool not found",
        ),
        (with(docs_grant(), json!({"maxUses": 0})), 400, "one use"),
        (
            with(docs_grant(), json!({"expiresInMs": 0})),
            400,
            "one millisecond",
        ),
        (
            with(docs_grant(), json!({"shape": {"path": {"path": "docs/*"}}})),
            400,
            "would cover no call",
        ),
        (
            with(
                docs_grant(),
                json!({"shape": {"path": "any", "content": "any"}}),
            ),
            400,
            "pattern of paths",
        ),
        (
            with(
                docs_grant(),
                json!({"shape": {"paht": "any", "path": {"path": "a"}, "content": "any"}}),
            ),
            400,
            "did you mean",
        ),
        (
            with(
                docs_grant(),
                json!({"shape": {"path": {"path": "../x"}, "content": "any"}}),
            ),
            400,
            "",
        ),
        (
            with(docs_grant(), json!({"caller": "tool"})),
            400,
            "along with",
        ),
        (
            with(docs_grant(), json!({"caller": "root"})),
            400,
            "not a caller",
        ),
        (
            with(docs_grant(), json!({"caller": "client:nobody"})),
            400,
            "client",
        ),
        (
            with(docs_grant(), json!({"session": "s"})),
            400,
            "scope `session`",
        ),
        (with(docs_grant(), json!({"uses": 3})), 400, "uses"),
        (
            json!({"tool": "shell", "shape": {"command": {"argv": ["sudo", "ls"]}}, "scope": "user"}),
            400,
            "runs others",
        ),
        (
            json!({"tool": "shell", "shape": {"command": "any"}, "scope": "user"}),
            400,
            "argv",
        ),
        (json!({}), 400, "tool"),
    ];
    for (body, wanted, words) in cases {
        for path in ["/api/grants", "/api/grants?simulate=true"] {
            // Conditions about time and reach do not concern past calls.
            let is_about_making = ["one call", "one use", "one millisecond"].contains(&words);
            if is_about_making && path.contains("simulate") {
                continue;
            }
            let (status, refused) = operator.post(path, body.clone()).await;
            assert_eq!(status, wanted, "{body}: {refused}");
            let message = refused["error"]["message"].as_str().unwrap();
            assert!(message.contains(words), "{body}: {message}");
        }
    }
    assert_eq!(
        operator.get("/api/grants?all=true").await.1,
        json!({"grants": []})
    );
}

/// APR-011.
#[tokio::test]
async fn a_grant_for_one_command_covers_no_other() {
    let rule = r#"[[rules]]
name = "ask-git"
tools = ["shell"]
command = "git"
verdict = "ask"
reason = "git is asked about"
"#;
    let prepare = |home: &Path, work: &Path| {
        std::fs::create_dir(home.join("rules")).unwrap();
        std::fs::write(home.join("rules/git.toml"), rule).unwrap();
        std::fs::create_dir(work.join("sub")).unwrap();
    };
    let scene = Scene::prepared(tempfile::tempdir().unwrap(), prepare, |options| options);
    let operator = scene.as_operator();
    let body = json!({"tool": "shell", "shape": {"command": {"argv": ["git", "status"]}}, "scope": "project"});
    let (status, grant) = operator.post("/api/grants", body).await;
    assert_eq!(status, 201, "{grant}");
    let others = [
        json!({"command": "git status; echo x > y"}),
        json!({"command": "git -c core.pager=id status"}),
        json!({"command": "git status --short"}),
        json!({"command": "GIT_DIR=x git status"}),
        json!({"command": "git status", "cwd": "sub"}),
    ];
    for args in others {
        let call = asks(&scene, "shell", args.clone());
        assert_eq!(
            one_pending(&scene).await["args"]["command"],
            args["command"]
        );
        call.cancel();
        call.outcome().await;
        pending(&scene, 0).await;
    }
    // What a rule denies, no grant allows.
    let denied = asks(&scene, "shell", json!({"command": "git status; rm -rf /"}));
    let outcome = denied.outcome().await;
    let error = outcome.result.unwrap_err();
    assert_eq!(error.code(), toolcrib::ErrorCode::BlockedByRule);
    let (_, page) = operator.get("/api/grants").await;
    assert_eq!(page["grants"][0]["uses"], 0, "{page}");
}

#[tokio::test]
async fn a_grant_is_for_one_caller() {
    let scene = Scene::new();
    std::fs::create_dir(scene.work().join("docs")).unwrap();
    file(&scene, "docs/a.md");
    let operator = scene.as_operator();
    let body = with(docs_grant(), json!({"caller": "cli"}));
    let (status, grant) = operator.post("/api/grants", body).await;
    assert_eq!(
        (status.as_u16(), &grant["caller"]),
        (201, &json!("cli")),
        "{grant}"
    );
    let call = asks(
        &scene,
        "write_file",
        json!({"path": "docs/a.md", "content": "new"}),
    );
    one_pending(&scene).await;
    call.cancel();
    scene.as_client("agent");
    let body = with(docs_grant(), json!({"caller": "client:agent"}));
    let (status, grant) = operator.post("/api/grants", body).await;
    assert_eq!(
        (status.as_u16(), &grant["caller"]),
        (201, &json!("client:agent")),
        "{grant}"
    );
    let by_header = operator.header("toolcrib-caller", "cli");
    let (status, grant) = by_header.post("/api/grants", docs_grant()).await;
    assert_eq!(
        (status.as_u16(), &grant["caller"]),
        (201, &json!("cli")),
        "{grant}"
    );
}

#[tokio::test]
async fn a_part_of_an_id_is_enough_when_no_other_has_it() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    let (_, one) = operator.post("/api/grants", docs_grant()).await;
    let (_, other) = operator.post("/api/grants", docs_grant()).await;
    let id = one["id"].as_str().unwrap();
    let (status, shown) = operator.get(&format!("/api/grants/{}", &id[24..])).await;
    assert_eq!((status.as_u16(), &shown["id"]), (200, &one["id"]));
    // Made in one minute, they begin alike.
    let (status, refused) = operator.delete(&format!("/api/grants/{}", &id[..6])).await;
    assert_eq!(status, 400, "{refused}");
    let (_, page) = operator.get("/api/grants?pageSize=1").await;
    assert_eq!(page["grants"][0]["id"], one["id"]);
    let next = page["nextPageToken"].as_str().unwrap();
    let (_, page) = operator
        .get(&format!("/api/grants?pageSize=1&pageToken={next}"))
        .await;
    assert_eq!(page["grants"][0]["id"], other["id"]);
    assert_eq!(page["nextPageToken"], Value::Null);
    // A token of another list is none here.
    let (status, _) = operator
        .get(&format!("/api/approvals?pageToken={next}"))
        .await;
    assert_eq!(status, 400);
}
