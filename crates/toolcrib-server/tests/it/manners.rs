//! What answers say to people and programs that get something nearly right.

use http::Method;
use http_body_util::BodyExt as _;
use serde_json::json;

use crate::harness::Scene;

#[tokio::test]
async fn a_wrong_token_is_not_called_a_missing_one() {
    let scene = Scene::new();
    for wrong in ["Bearer wrong", "Basic b3A6cHc=", "Bearer", "x"] {
        let asking = scene.as_nobody().header("authorization", wrong);
        let (status, body) = asking.get("/api/clients").await;
        assert_eq!(status, 401);
        let message = body["error"]["message"].as_str().unwrap();
        assert!(
            message.contains("not one of this server"),
            "{wrong}: {message}"
        );
    }
    let (_, body) = scene.as_nobody().get("/api/clients").await;
    let message = body["error"]["message"].as_str().unwrap();
    assert!(message.contains("has no token"), "{message}");
}

#[tokio::test]
async fn a_slash_too_many_is_pointed_out() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    for (path, is_hinted) in [
        ("/tools/", true),
        ("/api/clients/", true),
        ("/api/calls/x/cancel/", true),
        ("/nothing/", false),
        ("/nothing", false),
    ] {
        let (status, body) = operator.get(path).await;
        assert_eq!(status, 404, "{path}");
        let message = body["error"]["message"].as_str().unwrap();
        assert_eq!(
            message.contains("without the slash"),
            is_hinted,
            "{path}: {message}"
        );
    }
}

#[tokio::test]
async fn every_list_takes_either_size_and_an_empty_token() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    for path in [
        "/tools",
        "/tools/tools",
        "/tools/search",
        "/tools/tools/search",
        "/tools/bundles",
        "/api/clients",
        "/api/calls",
        "/api/approvals",
        "/api/grants",
        "/api/secrets",
    ] {
        for query in [
            "pageSize=1",
            "recommendedPageSize=1",
            "pageToken=",
            "pageSize=500&pageToken=",
        ] {
            let (status, body) = operator.get(&format!("{path}?{query}")).await;
            assert_eq!(status, 200, "{path}?{query}: {body}");
        }
        for query in [
            "pageSize=1&recommendedPageSize=0",
            "recommendedPageSize=0",
            "recommendedPageSize=501",
            "pageSize=0",
            "pageSize=501",
            "pageToken=x",
        ] {
            let (status, body) = operator.get(&format!("{path}?{query}")).await;
            assert_eq!(status, 400, "{path}?{query}: {body}");
        }
    }
    for query in ["pageSize=2", "pageSize=2&recommendedPageSize=3"] {
        let (_, page) = operator.get(&format!("/tools?{query}")).await;
        assert_eq!(page["tools"].as_array().unwrap().len(), 2, "{query}");
    }
}

#[tokio::test]
async fn arguments_as_text_are_to_be_parsed_first() {
    let scene = Scene::new();
    let body = json!({"name": "read_file", "arguments": "{\"path\":\"a.txt\"}"});
    let (status, body) = scene.as_operator().post("/api/calls", body).await;
    assert_eq!(status, 400);
    let message = body["error"]["message"].as_str().unwrap();
    assert!(message.contains("parse it first"), "{message}");
    let body = json!({"name": "read_file", "arguments": [1]});
    let (_, body) = scene.as_operator().post("/api/calls", body).await;
    assert!(!body["error"]["message"].as_str().unwrap().contains("parse"));
}

#[tokio::test]
async fn what_was_made_is_where_the_answer_says() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    let made = async |method: Method, path: &str, body: serde_json::Value| {
        let body = Some(body.to_string().into());
        let response = operator.raw(method, path, "application/json", body).await;
        assert_eq!(response.status(), 201, "{path}");
        response.headers()["location"].to_str().unwrap().to_owned()
    };
    let bundle = "/tools/bundles/01906a4e-3e1f-7000-8000-0000000000a1";
    let at = made(Method::PUT, bundle, json!({"slug": "acme"})).await;
    assert_eq!(at, bundle);
    let tool = format!("{bundle}/tools/weather/version/v1");
    assert_eq!(
        made(Method::PUT, &tool, crate::tools::weather()).await,
        tool
    );
    let grant = json!({"tool": "write_file", "shape": {"path": {"path": "x"}, "content": "any"}, "scope": "user"});
    let grant = made(Method::POST, "/api/grants", grant).await;
    for path in [bundle, &tool, &grant] {
        assert_eq!(operator.get(path).await.0, 200, "{path}");
    }
    let client = made(Method::POST, "/api/clients", json!({"name": "app"})).await;
    assert_eq!(client, "/api/clients/app");
    assert_eq!(operator.delete(&client).await.0, 204);
}

#[tokio::test]
async fn the_page_asks_the_server_that_was_asked_and_says_what_is_usual() {
    let scene = Scene::new();
    let page = async |host: &str| {
        let asking = scene.as_nobody().header("host", host);
        let response = asking.raw(Method::GET, "/api/docs", "", None).await;
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        String::from_utf8(bytes.to_vec()).unwrap()
    };
    let first = page("Localhost:18410").await;
    assert!(first.contains(" http://localhost:18410/tools</pre>"));
    assert!(
        first.contains("whole number 1–500, 50 by default"),
        "the usual size of a page"
    );
    // However many names it is asked by, over a socket any: what is kept is bounded, and nothing of them is markup.
    for n in 0..20 {
        page(&format!("n{n}.test")).await;
    }
    assert!(
        page("localhost:18410")
            .await
            .contains("localhost:18410/tools")
    );
    assert!(!page("<b>x</b>").await.contains("<b>x"));
}

#[tokio::test]
async fn built_in_tools_have_every_field_that_others_have() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    let path = "/tools/bundles/core/tools/read-file/version/v1";
    let (status, tool) = operator.get(path).await;
    assert_eq!(status, 200);
    let (_, rows) = operator.get("/tools?bundleIDs=core&pageSize=500").await;
    let rows = rows["tools"].as_array().unwrap();
    let row = rows.iter().find(|row| row["slug"] == "read-file").unwrap();
    for shown in [&tool, row] {
        assert!(shown["tags"].is_array(), "{shown}");
        // Published: a program that stores it finds the tool by it in every release.
        assert_eq!(shown["toolID"], READ_FILE);
        assert_eq!(shown["schemaVersion"], "1");
        assert_eq!(shown["createdAt"], "1970-01-01T00:00:00Z");
        assert_eq!(shown["modifiedAt"], shown["createdAt"]);
    }
    let ids: std::collections::BTreeSet<&str> = rows
        .iter()
        .map(|row| row["toolID"].as_str().unwrap())
        .collect();
    assert_eq!(ids.len(), rows.len());
    let (status, found) = operator.get(&format!("/api/lookup?tool={READ_FILE}")).await;
    assert_eq!(
        (status.as_u16(), &found["slug"]),
        (200, &json!("read-file"))
    );

    // No one else can have it.
    let bundle = crate::bundles::made(&scene, "acme").await;
    let mut other = crate::tools::weather();
    other["toolID"] = json!(READ_FILE);
    let other_path = format!("{bundle}/tools/weather/version/v1");
    let (status, made) = operator.put(&other_path, other).await;
    assert_eq!(status, 201, "{made}");
    assert_ne!(made["toolID"], READ_FILE);
    let (_, found) = operator.get(&format!("/api/lookup?tool={READ_FILE}")).await;
    assert_eq!(found["slug"], "read-file");
}

const READ_FILE: &str = "01930000-0000-7c2f-838a-2be16d52d847";

#[tokio::test]
async fn a_tool_has_one_name_for_lists_and_its_faults_have_pointers() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    let bundle = crate::bundles::made(&scene, "acme").await;
    let mut tool = crate::tools::weather();
    tool.as_object_mut().unwrap().remove("displayName");
    tool.as_object_mut().unwrap().remove("tags");
    let path = format!("{bundle}/tools/weather/version/v1");
    let (status, made) = operator.put(&path, tool.clone()).await;
    assert_eq!(status, 201, "{made}");
    let (_, shown) = operator.get(&path).await;
    let (_, rows) = operator.get("/tools?bundleIDs=acme").await;
    for shown in [&made, &shown, &rows["tools"][0]] {
        assert_eq!(shown["displayName"], "weather", "{shown}");
        assert_eq!(shown["tags"], json!([]), "{shown}");
    }

    tool["impl"]["urlTemplate"] = json!("ftp://files.example/${city}");
    let (status, refused) = operator
        .put(&format!("{bundle}/tools/weather/version/v2"), tool)
        .await;
    assert_eq!(status, 400);
    let problem = &refused["error"]["details"]["problems"][0];
    assert_eq!(problem["pointer"], "/impl/urlTemplate", "{refused}");
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("cannot be saved: `/impl/urlTemplate`: "),
        "{message}"
    );
}

#[tokio::test]
async fn a_bundle_that_is_put_without_its_switch_stays_switched() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    let bundle = crate::bundles::made(&scene, "acme").await;
    for on in [false, true] {
        operator.patch(&bundle, json!({"isEnabled": on})).await;
        let (status, put) = operator
            .put(&bundle, json!({"slug": "acme", "description": "again"}))
            .await;
        assert_eq!((status.as_u16(), &put["isEnabled"]), (200, &json!(on)));
    }
}
