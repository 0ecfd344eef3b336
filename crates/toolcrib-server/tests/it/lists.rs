//! The list of tools and the search over HTTP.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::bundles::made;
use crate::harness::Scene;
use crate::tools::weather;

async fn put(scene: &Scene, bundle: &str, slug: &str, version: &str, tags: &[&str]) -> String {
    let path = format!("{bundle}/tools/{slug}/version/{version}");
    let mut tool = weather();
    tool["tags"] = json!(tags);
    let (status, body) = scene.as_operator().put(&path, tool).await;
    assert_eq!(status, 201, "{body}");
    path
}

/// What the pages of a list have, as `slug@version`, from the first to the last; `between` is done after each.
async fn walk(
    scene: &Scene,
    first: &str,
    rows: &str,
    mut between: impl AsyncFnMut(usize),
) -> Vec<String> {
    let (path, _) = first.split_once('?').unwrap_or((first, ""));
    let separator = if path.ends_with("search") { "&" } else { "?" };
    let base = if path.ends_with("search") {
        first.split("&pageSize").next().unwrap()
    } else {
        path
    };
    let (mut seen, mut next, mut pages) = (Vec::new(), first.to_owned(), 0);
    loop {
        let (status, page) = scene.as_operator().get(&next).await;
        assert_eq!(status, 200, "{page}");
        let row = |row: &Value| {
            format!(
                "{}@{}",
                row["slug"].as_str().unwrap(),
                row["version"].as_str().unwrap()
            )
        };
        seen.extend(page[rows].as_array().unwrap().iter().map(row));
        pages += 1;
        between(pages).await;
        let Some(token) = page["nextPageToken"].as_str() else {
            return seen;
        };
        next = format!("{base}{separator}pageToken={token}");
    }
}

#[tokio::test]
async fn pages_hold_every_tool_once_although_others_come_and_go() {
    let scene = Scene::new();
    let bundle = made(&scene, "acme").await;
    for n in 10..30 {
        put(&scene, &bundle, &format!("t{n}"), "v1", &["read"]).await;
    }
    put(&scene, &bundle, "t10", "v2", &["read"]).await;
    let path = "/tools?bundleIDs=acme&includeDisabled=true&recommendedPageSize=4";
    let seen = walk(&scene, path, "tools", async |pages| {
        let operator = scene.as_operator();
        match pages {
            // Behind, on and before where the page ended.
            1 => {
                operator
                    .delete(&format!("{bundle}/tools/t10/version/v1"))
                    .await;
                operator
                    .delete(&format!("{bundle}/tools/t12/version/v1"))
                    .await;
                put(&scene, &bundle, "t05", "v1", &["read"]).await;
                put(&scene, &bundle, "t14", "v0", &["read"]).await;
            }
            // Switching, which makes another the one that has the name, moves no one.
            2 => {
                operator
                    .patch(
                        &format!("{bundle}/tools/t20/version/v1"),
                        json!({"isEnabled": false}),
                    )
                    .await;
            }
            3 => {
                operator
                    .delete(&format!("{bundle}/tools/t29/version/v1"))
                    .await;
            }
            _ => {}
        }
    })
    .await;
    let unique: BTreeSet<&String> = seen.iter().collect();
    assert_eq!(unique.len(), seen.len(), "{seen:?}");
    let mut expected: Vec<String> = (10..29).map(|n| format!("t{n}@v1")).collect();
    expected.insert(1, "t10@v2".to_owned());
    expected.insert(5, "t14@v0".to_owned());
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn tags_bundles_and_switches_choose_what_is_listed() {
    let scene = Scene::new();
    let (one, two) = (made(&scene, "one").await, made(&scene, "two").await);
    put(&scene, &one, "a", "v1", &["read", "weather"]).await;
    put(&scene, &one, "b", "v1", &["read"]).await;
    let c = put(&scene, &two, "c", "v1", &["weather", "read"]).await;
    scene
        .as_operator()
        .patch(&c, json!({"isEnabled": false}))
        .await;
    let slugs = async |query: &str| {
        let (status, page) = scene.as_operator().get(&format!("/tools{query}")).await;
        assert_eq!(status, 200, "{page}");
        let rows = page["tools"].as_array().unwrap().clone();
        rows.iter()
            .map(|row| row["slug"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(slugs("?bundleIDs=one,two").await, ["a", "b"]);
    assert_eq!(
        slugs("?bundleIDs=one,two&includeDisabled=true").await,
        ["a", "b", "c"]
    );
    assert_eq!(
        slugs("?tags=weather&includeDisabled=true").await,
        ["a", "c"]
    );
    assert_eq!(
        slugs("?tags=weather,read&bundleIDs=two&includeDisabled=true").await,
        ["c"]
    );
    assert_eq!(slugs("?tags=nothing").await, Vec::<String>::new());
    assert_eq!(slugs("?tags=&bundleIDs=one").await, ["a", "b"]);
    assert_eq!(slugs("?tags=,,&bundleIDs=one").await, ["a", "b"]);
    assert_eq!(
        slugs("?bundleIDs=018faf50-b7b6-7a01-9a05-a22a6e0af1ff").await,
        Vec::<String>::new()
    );
    assert_eq!(slugs("?bundleIDs=nobody").await, Vec::<String>::new());
    // The tag of an effect, which built-in tools have without saying so.
    assert!(
        slugs("?tags=write&bundleIDs=core")
            .await
            .contains(&"write-file".to_owned())
    );
    scene
        .as_operator()
        .patch(&one, json!({"isEnabled": false}))
        .await;
    assert_eq!(slugs("?bundleIDs=one").await, Vec::<String>::new());
}

#[tokio::test]
async fn a_row_has_the_status_of_the_tool_and_what_cannot_run_counts_as_off() {
    let scene = Scene::new();
    let bundle = made(&scene, "acme").await;
    let path = format!("{bundle}/tools/gone/version/v1");
    let body = json!({"type": "go", "description": "d", "tags": ["read"], "impl": {"goFunc": "acme.Gone"}});
    let (status, tool) = scene.as_operator().put(&path, body).await;
    assert_eq!(
        (status.as_u16(), &tool["availability"]["state"]),
        (201, &json!("unavailable"))
    );
    assert!(
        tool["availability"]["reason"]
            .as_str()
            .unwrap()
            .contains("acme.Gone")
    );
    assert_eq!(tool["type"], "go");
    let (_, page) = scene.as_operator().get("/tools?bundleIDs=acme").await;
    assert_eq!(page, json!({"tools": []}));
    let (_, page) = scene
        .as_operator()
        .get("/tools/tools?bundleIDs=acme&includeDisabled=true")
        .await;
    let row = &page["tools"][0];
    assert_eq!(row["availability"], tool["availability"]);
    assert_eq!(
        (&row["callCount"], row.get("lastCalledAt")),
        (&json!(0), None)
    );
    assert_eq!(row["isEnabled"], true);
}

#[tokio::test]
async fn a_search_takes_every_character_for_itself() {
    let scene = Scene::new();
    let bundle = made(&scene, "acme").await;
    put(&scene, &bundle, "weather", "v1", &["read"]).await;
    let operator = scene.as_operator();
    let long = "a".repeat(10_000);
    let words = "weather%20".repeat(1000);
    let odd = "%22%27%60%3B--%28%29%5B%5D%7B%7D%5C%7C%5E%24%2A%2B%3F.".repeat(100);
    for q in [
        "*",
        "%22",
        "a%20OR%201%3D1",
        "NEAR/%28",
        "%25",
        "_",
        "%00",
        "%0A",
        "%F0%9F%94%A7",
        "AND",
        "NOT%20x",
        "weather*",
        "-weather",
        "%5B",
        "x%3Ay",
        "%E2%80%AE",
        &long,
        &words,
        &odd,
    ] {
        for path in ["/tools/search", "/tools/tools/search"] {
            let (status, body) = operator
                .get(&format!("{path}?q={q}&includeDisabled=true"))
                .await;
            assert_eq!(status, 200, "{q}: {body}");
            assert!(body["results"].is_array());
        }
    }
    let (_, found) = operator
        .get("/tools/search?q=wether&includeDisabled=true")
        .await;
    assert_eq!(
        json!([found["results"][0]["slug"], found["results"][0]["match"]]),
        json!(["weather", "fuzzy"])
    );
    let (_, all) = operator.get("/tools/search?pageSize=1").await;
    assert_eq!(all["results"].as_array().unwrap().len(), 1);
    let seen = walk(
        &scene,
        "/tools/search?q=file&pageSize=2",
        "results",
        async |_| {},
    )
    .await;
    let unique: BTreeSet<&String> = seen.iter().collect();
    assert!(seen.len() > 2 && unique.len() == seen.len(), "{seen:?}");
}
