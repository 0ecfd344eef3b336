//! `/api/upstreams`: MCP servers looked at, added, tested, accepted and removed, by the operator.

use std::path::Path;

use serde_json::{Value, json};

use crate::harness::Scene;

/// The server of the tests, without `..`: behind the wall the directories on the way may not be there.
pub(crate) fn server() -> String {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../toolcrib/tests/fixtures");
    let place = std::fs::canonicalize(fixtures).unwrap();
    place
        .join("upstream_server.py")
        .to_str()
        .unwrap()
        .to_owned()
}

/// The body that adds the server of the tests.
fn fake(name: &str, mode: &str, file: Option<&Path>) -> Value {
    let mut args = vec![server(), mode.to_owned()];
    args.extend(file.map(|file| file.display().to_string()));
    let mut settings = json!({"command": "python3", "args": args});
    if file.is_some() {
        // It lies in the home, which no server behind a wall reads.
        settings["sandbox"] = json!({"level": "none"});
    }
    json!({"name": name, "settings": settings})
}

/// What was seen of the tools in an answer.
fn digests(probe: &Value) -> Value {
    let tools = probe["tools"].as_array().unwrap().iter();
    let digests = tools.map(|tool| {
        let name = tool["name"].as_str().unwrap().to_owned();
        (name, tool["digest"].clone())
    });
    Value::Object(digests.collect())
}

#[tokio::test]
async fn a_server_is_looked_at_added_shown_tested_and_removed() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    let mut body = fake("fake", "plain", None);
    let (status, probe) = operator
        .post("/api/upstreams?dryRun=true", body.clone())
        .await;
    assert_eq!(status, 200, "{probe}");
    assert_eq!(probe["tools"].as_array().unwrap().len(), 9, "{probe}");
    assert_eq!(
        operator.get("/api/upstreams").await.1,
        json!({"upstreams": []})
    );
    body["digests"] = digests(&probe);
    let (status, added) = operator.post("/api/upstreams", body.clone()).await;
    assert_eq!(
        (status.as_u16(), &added["server"]["name"]),
        (201, &json!("fake"))
    );
    let (status, refused) = operator.post("/api/upstreams", body).await;
    assert_eq!(
        (status.as_u16(), &refused["error"]["code"]),
        (409, &json!("CONFLICT"))
    );
    let (_, page) = operator.get("/api/upstreams").await;
    assert_eq!(page["upstreams"][0]["tools"], 9, "{page}");
    let (status, shown) = operator.get("/api/upstreams/fake").await;
    assert_eq!(status, 200);
    assert_eq!(shown["accepted"][0]["approval"], "ask", "{shown}");
    assert_eq!(shown["sandbox"], "process", "{shown}");
    let tool = shown["accepted"][0]["name"].clone();
    let allow = |tool: &Value| json!({"tools": [tool], "approval": "allow"});
    let (status, set) = operator.patch("/api/upstreams/fake", allow(&tool)).await;
    assert_eq!((status.as_u16(), &set["approval"]), (200, &json!("allow")));
    let config = std::fs::read_to_string(scene.home().join("config.toml")).unwrap();
    assert!(config.contains("allow"), "{config}");
    let (status, _) = operator
        .patch("/api/upstreams/fake", allow(&json!("gone")))
        .await;
    assert_eq!(status, 404);
    let (status, tested) = operator.post_nothing("/api/upstreams/fake/test").await;
    assert_eq!((status.as_u16(), &tested["changes"]), (200, &json!([])));
    let (status, updated) = operator
        .post_nothing("/api/upstreams/fake/test?update=true")
        .await;
    assert_eq!((status.as_u16(), &updated["network"]), (200, &json!([])));
    assert!(scene.crib.registry().find("fake/echo").is_ok());
    let (status, _) = operator.delete("/api/upstreams/fake").await;
    assert_eq!(status, 204);
    assert!(scene.crib.registry().find("fake/echo").is_err());
    for (status, _) in [
        operator.get("/api/upstreams/fake").await,
        operator.delete("/api/upstreams/fake").await,
        operator.post_nothing("/api/upstreams/fake/test").await,
    ] {
        assert_eq!(status, 404);
    }
}

#[tokio::test]
async fn the_tools_of_a_server_are_a_bundle_that_only_the_settings_switch() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    let mut body = fake("fake", "plain", None);
    let (_, probe) = operator
        .post("/api/upstreams?dryRun=true", body.clone())
        .await;
    body["digests"] = digests(&probe);
    operator.post("/api/upstreams", body).await;
    let (_, page) = operator.get("/tools/bundles").await;
    let row = page["bundles"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&row["slug"], &row["kind"], &row["tools"]),
        (&json!("fake"), &json!("upstream"), &json!(9))
    );
    let (status, shown) = operator.get("/tools/bundles/fake").await;
    assert_eq!((status.as_u16(), &shown), (200, row));
    let by_id = format!("/tools/bundles/{}", row["bundleID"].as_str().unwrap());
    assert_eq!(operator.get(&by_id).await.1, *row);
    let (status, refused) = operator
        .patch("/tools/bundles/fake", json!({"isEnabled": false}))
        .await;
    assert_eq!(
        (status.as_u16(), &refused["error"]["code"]),
        (403, &json!("READ_ONLY")),
        "{refused}"
    );
    assert_eq!(operator.delete("/tools/bundles/fake").await.0, 403);
    assert!(scene.crib.registry().find("fake/echo").is_ok());
}

#[tokio::test]
async fn nothing_is_added_or_accepted_that_no_one_has_seen() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    let more = scene.home().join("more.json");
    std::fs::write(&more, "[]").unwrap();
    let mut body = fake("fake", "plain", Some(&more));
    let (_, probe) = operator
        .post("/api/upstreams?dryRun=true", body.clone())
        .await;
    let other =
        json!([{"name": "echo", "description": "Other", "inputSchema": {"type": "object"}}]);
    std::fs::write(&more, other.to_string()).unwrap();
    body["digests"] = digests(&probe);
    let (status, refused) = operator.post("/api/upstreams", body.clone()).await;
    assert_eq!(status, 409, "{refused}");
    assert!(!scene.home().join("config.toml").exists());
    std::fs::write(&more, "[]").unwrap();
    assert_eq!(operator.post("/api/upstreams", body).await.0, 201);
    std::fs::write(&more, other.to_string()).unwrap();
    let seen = json!({"digests": digests(&probe)});
    let (status, refused) = operator.post("/api/upstreams/fake/accept", seen).await;
    assert_eq!(status, 409, "{refused}");
    let (_, tested) = operator.post_nothing("/api/upstreams/fake/test").await;
    assert_eq!(tested["changes"][0]["change"], "changed", "{tested}");
    let seen = json!({"tools": ["echo"], "digests": digests(&tested)});
    let (status, accepted) = operator.post("/api/upstreams/fake/accept", seen).await;
    assert_eq!((status.as_u16(), &accepted["changes"]), (200, &json!([])));
}

#[tokio::test]
async fn what_cannot_be_is_refused_and_a_client_may_nothing_of_it() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    let mut policy = fake("fake", "plain", None);
    policy["settings"]["tools"] = json!({"ecko": {"approval": "allow"}});
    let (status, refused) = operator.post("/api/upstreams", policy).await;
    assert_eq!(status, 404, "{refused}");
    let said = refused["error"]["message"].as_str().unwrap();
    assert!(said.contains("did you mean `echo`?"), "{said}");
    for wrong in [
        json!({"name": "fake", "settings": {"comand": "x"}}),
        json!({"name": "core", "settings": {"command": "true"}}),
        json!({"name": "fake"}),
    ] {
        let (status, refused) = operator.post("/api/upstreams", wrong).await;
        assert_eq!(status, 400, "{refused}");
    }
    let (_, dead) = operator
        .post("/api/upstreams", fake("fake", "die", None))
        .await;
    assert_eq!(dead["error"]["code"], "UPSTREAM_ERROR", "{dead}");
    assert!(!scene.home().join("config.toml").exists());
    let client = scene.as_client("tiny");
    for (status, _) in [
        client.get("/api/upstreams").await,
        client
            .post("/api/upstreams", fake("fake", "plain", None))
            .await,
        client.post_nothing("/api/upstreams/fake/test").await,
        client.post("/api/upstreams/fake/accept", json!({})).await,
        client.delete("/api/upstreams/fake").await,
    ] {
        assert_eq!(status, 403);
    }
}
