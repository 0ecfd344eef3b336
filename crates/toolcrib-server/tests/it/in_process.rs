//! A client of the API in its own process, and what the command line asks for beyond S4's routes.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_server::Api;
use toolcrib_server::client::{Ask, Client};

use crate::bundles::made;
use crate::harness::Scene;
use crate::tools::weather;

#[tokio::test]
async fn a_process_asks_itself_as_the_operator_and_makes_no_token() {
    let scene = Scene::new();
    let client = Client::of_process(Api::of_process(Arc::clone(&scene.crib)));
    let listed = client.get("/api/approvals").await.unwrap();
    assert_eq!(listed["approvals"], json!([]));
    let refused = client.get("/api/grants/nobody").await.unwrap_err();
    assert_eq!(refused.status(), Some(404));
    assert!(!scene.home().join("token").exists());
    // Its API has no operator's token that someone else could send.
    let outside = Api::of_process(Arc::clone(&scene.crib));
    let request = http::Request::get("/api/approvals")
        .header("host", "localhost")
        .header("authorization", "Bearer operator-token-of-the-tests")
        .body(http_body_util::Full::<bytes::Bytes>::default())
        .unwrap();
    let answer = outside
        .answer(request, toolcrib_server::api::Peer::Local)
        .await;
    assert_eq!(answer.status(), 401);
}

fn states(list: &Value) -> Vec<(String, String)> {
    let tools = list["tools"].as_array().unwrap().iter();
    let text = |tool: &Value, key: &str| tool[key].as_str().unwrap().to_owned();
    tools
        .map(|tool| (text(tool, "version"), text(tool, "state")))
        .collect()
}

#[tokio::test]
async fn tools_are_listed_for_people_in_the_order_in_which_they_have_their_names() {
    let scene = Scene::new();
    let bundle = made(&scene, "acme").await;
    let operator = scene.as_operator();
    for version in ["v1", "v2"] {
        let path = format!("{bundle}/tools/weather/version/{version}");
        assert_eq!(operator.put(&path, weather()).await.0, 201);
    }
    let pairs = |all: &[(&str, &str)]| -> Vec<(String, String)> {
        let pair = |(one, other): &(&str, &str)| ((*one).to_owned(), (*other).to_owned());
        all.iter().map(pair).collect()
    };
    let (_, list) = operator.get("/api/tools?bundle=acme&tokens=true").await;
    assert_eq!(states(&list), pairs(&[("v2", "ready"), ("v1", "behind")]));
    assert!(list["tools"][0]["tokens"].as_u64().unwrap() > 0, "{list}");
    let behind = list["tools"][1]["behind"].as_str().unwrap();
    assert!(behind.contains("is its version `v2`"), "{behind}");
    let (_, named) = operator.get("/api/tools?names=weather,nobody").await;
    assert_eq!(states(&named), pairs(&[("v2", "ready")]));
    let (status, _) = operator
        .get("/api/tools?tools=acme/weather@v1,nobody")
        .await;
    assert_eq!(status, 404);
}

#[tokio::test]
async fn an_import_that_would_be_refused_is_shown_with_the_reason() {
    let scene = Scene::new();
    made(&scene, "acme").await;
    let client = Client::of_process(Api::of_process(Arc::clone(&scene.crib)));
    let export = Ask::get("/api/bundles/acme/export");
    let archive = client.bytes(export).await.unwrap();
    let import = |query: &str| {
        let path = format!("/api/bundles/import?{query}");
        client.json(Ask::post_zip(path, archive.clone()))
    };
    let refused = import("dryRun=true").await.unwrap_err();
    assert_eq!(
        (refused.status(), refused.reason()),
        (Some(409), Some("bundle-taken"))
    );
    let shown = import("dryRun=true&refusal=true").await.unwrap();
    assert_eq!(shown["refusal"]["details"]["reason"], "bundle-taken");
    assert!(
        !shown["refusal"]["message"].as_str().unwrap().contains('?'),
        "{shown}"
    );
    // Only the compared state is replaced.
    let shown = import("dryRun=true&update=true").await.unwrap();
    let seen = shown["digest"].as_str().unwrap();
    let described = json!({"slug": "acme", "description": "Something else"});
    client.put("/tools/bundles/acme", &described).await.unwrap();
    let ask = Ask::post_zip("/api/bundles/import?update=true", archive.clone());
    let changed = client.json(ask.if_match(seen).unwrap()).await.unwrap_err();
    assert_eq!(changed.status(), Some(409), "{changed}");
}
