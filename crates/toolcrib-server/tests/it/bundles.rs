//! Bundles over HTTP: made, replaced, switched, put in the bin and listed.

use http::Method;
use serde_json::{Value, json};
use toolcrib::BundleId;

use crate::harness::Scene;

/// An id that no one has, in the spelling it is kept in.
pub(crate) const ID: &str = "018faf50-b7b6-7a01-9a05-a22a6e0af101";

pub(crate) fn path(id: &str) -> String {
    format!("/tools/bundles/{id}")
}

/// Makes a bundle with this slug and returns its path.
pub(crate) async fn made(scene: &Scene, slug: &str) -> String {
    let path = path(&BundleId::generate().to_string());
    let (status, body) = scene.as_operator().put(&path, json!({"slug": slug})).await;
    assert_eq!(status, 201, "{body}");
    path
}

fn code(body: &Value) -> &str {
    assert_eq!(body["ok"], false, "{body}");
    body["error"]["code"].as_str().unwrap()
}

#[tokio::test]
async fn a_bundle_is_made_and_then_replaced() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    let body =
        json!({"slug": "acme", "displayName": "Acme", "isEnabled": true, "description": "Tools"});
    let (status, made) = operator.put(&path(ID), body.clone()).await;
    assert_eq!(status, 201);
    assert_eq!(
        (&made["bundleID"], &made["slug"], &made["displayName"]),
        (&json!(ID), &json!("acme"), &json!("Acme"))
    );
    assert_eq!(made["availability"], json!({"state": "ready"}));
    assert_eq!(
        operator.get(&path(ID)).await,
        (http::StatusCode::OK, made.clone())
    );
    // By its slug, too; and what was answered can be sent back.
    let (status, again) = operator.put("/tools/bundles/acme", made.clone()).await;
    assert_eq!((status.as_u16(), &again), (200, &made));
    let (status, renamed) = operator.put(&path(ID), json!({"slug": "acme-2"})).await;
    assert_eq!(status, 200);
    assert_eq!(renamed["createdAt"], made["createdAt"]);
    assert_eq!(operator.get("/tools/bundles/acme").await.0, 404);
}

#[tokio::test]
async fn only_a_uuid_of_version_7_makes_a_bundle_and_it_is_kept_in_lower_case() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    let refused = [
        "not-a-uuid",
        "018faf50-b7b6-4a01-9a05-a22a6e0af101",
        "018faf50-b7b6-1a01-9a05-a22a6e0af101",
        "018faf50-b7b6-7a01-ca05-a22a6e0af101",
        "018faf50b7b67a019a05a22a6e0af101",
        "%7B018faf50-b7b6-7a01-9a05-a22a6e0af101%7D",
        "urn:uuid:018faf50-b7b6-7a01-9a05-a22a6e0af101",
        "00000000-0000-0000-0000-000000000000",
        "ffffffff-ffff-ffff-ffff-ffffffffffff",
        "018faf50-b7b6-7a01-9a05-a22a6e0af10",
        "018faf50-b7b6-7a01-9a05-a22a6e0af1011",
        "018faf50-b7b6-7a01-9a05-a22a6e0af10%20",
        "%EF%BC%9018faf50-b7b6-7a01-9a05-a22a6e0af101",
    ];
    for id in refused {
        let (status, body) = operator.put(&path(id), json!({"slug": "acme"})).await;
        assert_eq!(status, 400, "{id}: {body}");
        assert_eq!(code(&body), "USAGE");
    }
    let (status, body) = operator
        .put(&path(&ID.to_uppercase()), json!({"slug": "acme"}))
        .await;
    assert_eq!((status.as_u16(), &body["bundleID"]), (201, &json!(ID)));
    assert!(scene.home().join("bundles").join(ID).is_dir());
    assert_eq!(operator.get(&path(&ID.to_uppercase())).await.0, 200);
    // The time in it is no one's business.
    let future = "ffffffff-ffff-7fff-bfff-ffffffffffff";
    assert_eq!(
        operator.put(&path(future), json!({"slug": "late"})).await.0,
        201
    );
}

#[tokio::test]
async fn a_body_that_is_not_a_bundle_is_refused_and_nothing_is_written() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    for body in [
        json!({}),
        json!(null),
        json!([]),
        json!("acme"),
        json!({"slug": 1}),
        json!({"slug": ""}),
        json!({"slug": "a_b"}),
        json!({"slug": "acme", "isEnabled": "true"}),
        json!({"slug": "acme", "displayName": 1}),
        json!({"slug": "acme", "unknown": 1}),
        json!({"slug": "acme", "bundleID": "018faf50-b7b6-7a01-9a05-a22a6e0af102"}),
        json!({"slug": "acme", "bundleID": "x"}),
        json!({"slug": "a".repeat(65)}),
    ] {
        let (status, answer) = operator.put(&path(ID), body.clone()).await;
        assert_eq!(status, 400, "{body}: {answer}");
    }
    let twice = r#"{"slug": "acme", "slug": "other"}"#;
    let sent = operator
        .send(Method::PUT, &path(ID), Some(twice.into()))
        .await;
    assert_eq!(sent.0, 400);
    assert_eq!(operator.get(&path(ID)).await.0, 404);
    assert!(!scene.home().join("bundles").join(ID).exists());
    let (status, body) = operator.put(&path(ID), json!({"slug": "we\u{301}b"})).await;
    assert_eq!(status, 400);
    assert!(
        body["error"]["message"]
            .as_str()
            .unwrap()
            .contains("U+0301"),
        "{body}"
    );
}

#[tokio::test]
async fn a_slug_belongs_to_one_bundle() {
    let scene = Scene::new();
    made(&scene, "acme").await;
    let operator = scene.as_operator();
    let (status, body) = operator.put(&path(ID), json!({"slug": "acme"})).await;
    assert_eq!((status.as_u16(), code(&body)), (409, "CONFLICT"));
    for own in ["core", "local", "user", "global"] {
        let (status, body) = operator.put(&path(ID), json!({"slug": own})).await;
        assert_eq!((status.as_u16(), code(&body)), (403, "READ_ONLY"), "{own}");
    }
}

#[tokio::test]
async fn a_patch_is_the_switch_and_nothing_else() {
    let scene = Scene::new();
    let path = made(&scene, "acme").await;
    let operator = scene.as_operator();
    for body in [
        json!({"isEnabled": "true"}),
        json!({"isEnabled": 1}),
        json!({"isEnabled": null}),
        json!({}),
        json!({"isEnabled": true, "x": 1}),
        json!({"isenabled": true}),
        json!(null),
        json!([true]),
        json!(true),
    ] {
        let (status, answer) = operator.patch(&path, body.clone()).await;
        assert_eq!(status, 400, "{body}: {answer}");
    }
    let twice = r#"{"isEnabled": true, "isEnabled": false}"#;
    assert_eq!(
        operator
            .send(Method::PATCH, &path, Some(twice.into()))
            .await
            .0,
        400
    );
    assert_eq!(operator.send(Method::PATCH, &path, None).await.0, 400);
    let (status, off) = operator.patch(&path, json!({"isEnabled": false})).await;
    assert_eq!((status.as_u16(), &off["isEnabled"]), (200, &json!(false)));
    assert_eq!(off["availability"]["state"], "disabled");
    let (_, on) = operator.patch(&path, json!({"isEnabled": true})).await;
    assert_eq!(on["isEnabled"], true);
    assert_eq!(on["modifiedAt"], off["modifiedAt"]);
    let unknown = "/tools/bundles/018faf50-b7b6-7a01-9a05-a22a6e0af1ff";
    let (status, body) = operator.patch(unknown, json!({"isEnabled": true})).await;
    assert_eq!((status.as_u16(), code(&body)), (404, "BUNDLE_NOT_FOUND"));
}

#[tokio::test]
async fn bundles_of_toolcribs_own_have_a_switch_and_nothing_else() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    for (id, slug) in BundleId::OWN {
        for name in [id.to_string(), slug.to_owned()] {
            let path = path(&name);
            // Before the body is looked at.
            for body in ["{}", "not json", r#"{"slug": "mine"}"#] {
                let put = operator.send(Method::PUT, &path, Some(body.into())).await;
                assert_eq!(
                    (put.0.as_u16(), code(&put.1)),
                    (403, "READ_ONLY"),
                    "{name} {body}"
                );
            }
            let (status, body) = operator.delete(&path).await;
            assert_eq!((status.as_u16(), code(&body)), (403, "READ_ONLY"));
            let (status, body) = operator.patch(&path, json!({"displayName": "Mine"})).await;
            assert_eq!((status.as_u16(), code(&body)), (403, "READ_ONLY"));
            assert_eq!(operator.patch(&path, json!({})).await.0, 400);
        }
        let path = path(slug);
        let (status, off) = operator.patch(&path, json!({"isEnabled": false})).await;
        assert_eq!(
            (status.as_u16(), &off["isEnabled"]),
            (200, &json!(false)),
            "{slug}"
        );
        let (_, on) = operator.patch(&path, json!({"isEnabled": true})).await;
        assert_eq!(on["bundleID"], json!(id));
        assert_eq!(on["isEnabled"], true);
    }
}

#[tokio::test]
async fn a_bundle_goes_to_the_bin_as_often_as_one_likes_and_comes_back() {
    let scene = Scene::new();
    let path = made(&scene, "acme").await;
    let operator = scene.as_operator();
    assert_eq!(
        operator.delete(&path).await,
        (http::StatusCode::NO_CONTENT, Value::Null)
    );
    let (_, first) = operator.get(&path).await;
    assert!(first["softDeletedAt"].is_string(), "{first}");
    assert_eq!(operator.delete(&path).await.0, 204);
    assert_eq!(
        operator.get(&path).await.1["softDeletedAt"],
        first["softDeletedAt"]
    );
    for refused in [
        operator.put(&path, json!({"slug": "acme"})).await,
        operator.patch(&path, json!({"isEnabled": true})).await,
    ] {
        assert_eq!((refused.0.as_u16(), code(&refused.1)), (409, "CONFLICT"));
    }
    let (_, list) = operator.get("/tools/bundles").await;
    assert!(!list.to_string().contains("acme"), "{list}");
    let restore = path.replace("/tools/", "/api/") + "/restore";
    let (status, back) = operator.send(Method::POST, &restore, None).await;
    assert_eq!((status.as_u16(), &back["slug"]), (200, &json!("acme")));
    assert!(back.get("softDeletedAt").is_none());
    let again = operator.send(Method::POST, &restore, None).await;
    assert_eq!((again.0.as_u16(), code(&again.1)), (409, "CONFLICT"));
    assert_eq!(operator.delete("/tools/bundles/nobody").await.0, 404);
    let own = operator
        .send(Method::POST, "/api/bundles/core/restore", None)
        .await;
    assert_eq!((own.0.as_u16(), code(&own.1)), (403, "READ_ONLY"));
}

#[tokio::test]
async fn bundles_are_listed_page_by_page_and_none_is_skipped_or_doubled() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    let mut paths = Vec::new();
    for slug in ["a", "b", "c", "d", "e"] {
        paths.push(made(&scene, slug).await);
    }
    operator.patch(&paths[4], json!({"isEnabled": false})).await;
    let mut seen: Vec<String> = Vec::new();
    let mut query = "?pageSize=2".to_owned();
    loop {
        let (status, page) = operator.get(&format!("/tools/bundles{query}")).await;
        assert_eq!(status, 200, "{page}");
        let rows = page["bundles"].as_array().unwrap();
        seen.extend(
            rows.iter()
                .map(|row| row["slug"].as_str().unwrap().to_owned()),
        );
        // What has been seen goes, what is to come arrives.
        if seen.len() == 6 {
            operator.delete(&paths[0]).await;
            made(&scene, "bb").await;
        }
        match page["nextPageToken"].as_str() {
            Some(token) => query = format!("?pageToken={token}"),
            None => break,
        }
    }
    assert_eq!(
        seen,
        ["core", "local", "user", "global", "a", "b", "bb", "c", "d"]
    );
    let (_, all) = operator.get("/tools/bundles?includeDisabled=true").await;
    let slugs: Vec<&Value> = all["bundles"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["slug"])
        .collect();
    assert_eq!(
        json!(slugs),
        json!([
            "core", "local", "user", "global", "a", "b", "bb", "c", "d", "e"
        ])
    );
    let id = paths[1].rsplit('/').next().unwrap();
    let (_, some) = operator
        .get(&format!(
            "/tools/bundles?bundleIDs={},c,nobody",
            id.to_uppercase()
        ))
        .await;
    let slugs: Vec<&Value> = some["bundles"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["slug"])
        .collect();
    assert_eq!(json!(slugs), json!(["b", "c"]));
}

#[tokio::test]
async fn what_a_list_cannot_read_is_refused() {
    let scene = Scene::new();
    for n in 0..3 {
        made(&scene, &format!("b{n}")).await;
    }
    let operator = scene.as_operator();
    let (_, tools) = operator.get("/tools?recommendedPageSize=1").await;
    let (_, found) = operator.get("/tools/search?q=file&pageSize=1").await;
    let (_, bundles) = operator.get("/tools/bundles?pageSize=1").await;
    let token = |page: &Value| page["nextPageToken"].as_str().unwrap().to_owned();
    let (tools, found, bundles) = (token(&tools), token(&found), token(&bundles));
    let long = "A".repeat(20_000);
    for path in [
        "/tools/bundles?pageSize=0",
        "/tools/bundles?pageSize=501",
        "/tools/bundles?pageSize=-1",
        "/tools/bundles?pageSize=abc",
        "/tools/bundles?pageSize=",
        "/tools/bundles?pageSize=1e2",
        "/tools/bundles?includeDisabled=yes",
        "/tools/bundles?includeDisabled=1",
        "/tools/bundles?q=x",
        "/tools/bundles?pageSize=1&pageSize=2",
        "/tools/bundles?pageToken=x",
        "/tools/bundles?pageToken=%00",
        "/tools/bundles?bundleIDs=a_b",
        "/tools?recommendedPageSize=0",
        "/tools?recommendedPageSize=501",
        "/tools?pageToken=e30",
        "/tools?pageToken=bnVsbA",
        "/tools/search?q=file&pageSize=0",
        "/tools/search?q=file&pageToken=x",
        &format!("/tools/bundles?pageToken={tools}"),
        &format!("/tools/bundles?pageToken={found}"),
        &format!("/tools?pageToken={bundles}"),
        &format!("/tools?pageToken={found}"),
        &format!("/tools?pageToken={tools}&tags=read"),
        &format!("/tools?pageToken={tools}&includeDisabled=true"),
        &format!("/tools/search?q=file&pageToken={tools}"),
        &format!("/tools/search?q=other&pageToken={found}"),
        &format!("/tools?pageToken={long}"),
    ] {
        let (status, body) = operator.get(path).await;
        assert_eq!((status.as_u16(), code(&body)), (400, "USAGE"), "{path}");
    }
    // With nothing but the token, or with the same words again.
    assert_eq!(
        operator.get(&format!("/tools?pageToken={tools}")).await.0,
        200
    );
    let path = format!("/tools/tools?recommendedPageSize=1&pageToken={tools}");
    assert_eq!(operator.get(&path).await.0, 200);
}
