//! Prompts and resources of servers.

use super::*;
use toolcrib::ErrorCode;

fn names(entries: &[serde_json::Map<String, Value>], key: &str) -> Vec<String> {
    let names = entries
        .iter()
        .map(|entry| entry[key].as_str().unwrap().to_owned());
    names.collect()
}

#[tokio::test]
async fn they_are_listed_by_names_of_here_without_a_connection_and_asked_of_their_server() {
    let scene = Scene::new();
    scene.add("fake", fake("material", None)).await;
    let crib = open(scene.home.path());
    let material = crib.upstream_material(&[]);
    assert_eq!(names(&material.prompts, "name"), ["fake_greet"]);
    assert_eq!(names(&material.resources, "uri"), ["mcp+fake:note://one"]);
    assert_eq!(
        names(&material.templates, "uriTemplate"),
        ["mcp+fake:note://{name}"]
    );
    assert_eq!(crib.upstreams()[0].row().state, "idle");
    let who = json!({"who": "Ada"}).as_object().unwrap().clone();
    let greeting = crib.upstream_prompt("fake_greet", who, &[]).await.unwrap();
    assert_eq!(greeting["messages"][0]["content"]["text"], "Greet Ada");
    let read = crib
        .upstream_resource("mcp+fake:note://one", &[])
        .await
        .unwrap();
    assert_eq!(
        read["contents"],
        json!([{"uri": "mcp+fake:note://one", "text": "the text of note://one"}])
    );
    for name in ["greet", "fake_other", "other_greet"] {
        let error = crib
            .upstream_prompt(name, Default::default(), &[])
            .await
            .unwrap_err();
        assert_eq!(error.code(), ErrorCode::NotFound, "{name}");
    }
    // A client of other bundles gets none of it.
    let others = ["core".to_owned()];
    assert!(crib.upstream_material(&others).is_empty());
    let error = crib
        .upstream_resource("mcp+fake:note://one", &others)
        .await
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::NotFound);
}

#[tokio::test]
async fn a_resource_that_is_not_listed_is_read_only_where_calls_run_without_asking() {
    let scene = Scene::new();
    scene.add("fake", fake("material", None)).await;
    let uri = "mcp+fake:note://other";
    let error = scene.crib.upstream_resource(uri, &[]).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::PermissionDenied, "{error}");
    let mut settings = fake("material", None);
    settings["approval"] = json!("allow");
    scene.add("open", settings).await;
    let uri = "mcp+open:note://other";
    let read = scene.crib.upstream_resource(uri, &[]).await.unwrap();
    assert_eq!(read["contents"][0]["uri"], uri);
    let mut settings = fake("material", None);
    settings["approval"] = json!("deny");
    scene.add("shut", settings).await;
    let material = scene.crib.upstream_material(&["shut".to_owned()]);
    assert!(material.is_empty(), "{material:?}");
}

#[tokio::test]
async fn a_list_that_changes_is_noticed_by_every_process_of_the_home() {
    let scene = Scene::new();
    scene.add("fake", fake("material", None)).await;
    assert!(scene.call("echo", json!({"text": "x"})).await.is_ok());
    // It reports that its lists have changed.
    assert!(scene.call("grow", json!({})).await.is_ok());
    let crib = open(scene.home.path());
    let deadline = Instant::now() + Duration::from_secs(10);
    while names(&crib.upstream_material(&[]).prompts, "name").len() < 2 {
        assert!(
            Instant::now() < deadline,
            "{:?}",
            crib.upstream_material(&[])
        );
        tokio::task::yield_now().await;
    }
}
