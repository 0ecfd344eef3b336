//! One version of a tool over HTTP: added, shown, switched, removed; and what is refused.

use http::Method;
use serde_json::{Value, json};
use toolcrib::Secret;
use toolcrib::secret::{Binding, SecretName};

use crate::bundles::made;
use crate::harness::Scene;

/// A tool that sends a request.
pub(crate) fn weather() -> Value {
    json!({
        "displayName": "Weather report", "description": "Fetch current weather for a city", "type": "http", "tags": ["read"],
        "argSchema": {"type": "object", "properties": {"city": {"type": "string", "description": "City"}}, "required": ["city"]},
        "impl": {"method": "GET", "urlTemplate": "https://api.example.com/v1?q=${city}", "headers": {"X-Key": "${WEATHER_KEY}"}},
    })
}

fn code(body: &Value) -> &str {
    assert_eq!(body["ok"], false, "{body}");
    body["error"]["code"].as_str().unwrap()
}

#[tokio::test]
async fn a_version_is_added_once_and_stays_as_it_is() {
    let scene = Scene::new();
    let bundle = made(&scene, "acme").await;
    let path = format!("{bundle}/tools/weather/version/v2");
    let operator = scene.as_operator();
    let (status, put) = operator.put(&path, weather()).await;
    assert_eq!(status, 201, "{put}");
    assert_eq!(
        json!([
            put["slug"],
            put["version"],
            put["name"],
            put["bundle"],
            put["type"],
            put["callCount"]
        ]),
        json!(["weather", "v2", "weather", "acme", "http", 0])
    );
    assert_eq!(put["impl"], weather()["impl"]);
    assert_eq!(put["isEnabled"], true);
    assert!(put["availability"]["state"].is_string());
    let (status, got) = operator.get(&path).await;
    assert_eq!((status.as_u16(), &got), (200, &put));
    // By the bundle's slug, too.
    assert_eq!(
        operator
            .get("/tools/bundles/acme/tools/weather/version/v2")
            .await
            .1,
        put
    );
    let mut other = weather();
    other["description"] = json!("Something else");
    for body in [weather(), other] {
        let (status, body) = operator.put(&path, body).await;
        assert_eq!((status.as_u16(), code(&body)), (409, "CONFLICT"));
    }
    assert_eq!(operator.get(&path).await.1, put);
    // What was answered is taken as another version.
    let mut copy = put.clone();
    for field in ["version", "toolID"] {
        copy.as_object_mut().unwrap().remove(field);
    }
    let (status, copied) = operator.put(&path.replace("v2", "v3"), copy).await;
    assert_eq!(status, 201, "{copied}");
    assert_eq!(copied["impl"], put["impl"]);
}

#[tokio::test]
async fn what_the_path_and_the_body_say_must_be_the_same() {
    let scene = Scene::new();
    let bundle = made(&scene, "acme").await;
    let path = format!("{bundle}/tools/weather/version/v2");
    let operator = scene.as_operator();
    for (field, value) in [
        ("slug", json!("other")),
        ("slug", json!("Weather")),
        ("slug", json!(1)),
        ("slug", json!("a_b")),
        ("version", json!("v3")),
        ("version", json!(2)),
        ("bundleID", json!("018faf50-b7b6-7a01-9a05-a22a6e0af1ff")),
        ("bundleID", json!("acme")),
    ] {
        let mut body = weather();
        body[field] = value;
        let (status, answer) = operator.put(&path, body.clone()).await;
        assert_eq!((status.as_u16(), code(&answer)), (400, "USAGE"), "{body}");
    }
    assert_eq!(operator.get(&path).await.0, 404);
    let mut same = weather();
    same["slug"] = json!("weather");
    same["version"] = json!("v2");
    same["bundleID"] = json!(bundle.rsplit('/').next().unwrap().to_uppercase());
    assert_eq!(operator.put(&path, same).await.0, 201);
}

#[tokio::test]
async fn a_definition_with_errors_is_refused_with_all_of_them() {
    let scene = Scene::new();
    let bundle = made(&scene, "acme").await;
    let operator = scene.as_operator();
    let path = format!("{bundle}/tools/weather/version/v2");
    let mut ftp = weather();
    ftp["impl"]["urlTemplate"] = json!("ftp://example.com");
    ftp["impl"]["methdo"] = json!("GET");
    let (status, body) = operator.put(&path, ftp).await;
    assert_eq!((status.as_u16(), code(&body)), (400, "INVALID_ARGUMENTS"));
    let problems = body["error"]["details"]["problems"].as_array().unwrap();
    assert!(problems.len() >= 2, "{body}");
    let has_place = |problem: &Value| problem["code"].is_string() && problem["line"].is_number();
    assert!(problems.iter().all(has_place), "{body}");
    let wide: Vec<Value> = (0..10_000).map(|_| json!({"type": "object"})).collect();
    let mut deep = json!({"type": "object"});
    for _ in 0..50 {
        deep = json!({"allOf": [deep]});
    }
    for schema in [
        json!({"type": "object", "properties": {"a": {"allOf": wide}}}),
        json!({"type": "object", "properties": {"a": {"oneOf": [deep]}}}),
        json!({"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}}),
        json!({"type": "object", "properties": {"a": {"$ref": "https://example.com/schema"}}}),
        json!({"type": "object", "properties": 5}),
        json!("object"),
    ] {
        let mut body = weather();
        body["argSchema"] = schema;
        let (status, answer) = operator.put(&path, body).await;
        assert_eq!(
            (status.as_u16(), code(&answer)),
            (400, "INVALID_ARGUMENTS"),
            "{answer}"
        );
    }
    for body in [
        json!({}),
        json!({"type": "cobol", "impl": {}}),
        json!({"type": 5}),
    ] {
        assert_eq!(operator.put(&path, body).await.0, 400);
    }
    let mut built_in = weather();
    built_in["isBuiltIn"] = json!(true);
    assert_eq!(operator.put(&path, built_in).await.0, 400);
    for body in [
        "",
        "null",
        "[]",
        "5",
        "{",
        "{}{}",
        r#"{"slug": "weather", "slug": "weather"}"#,
        "\u{feff}{}",
    ] {
        let sent = operator
            .send(Method::PUT, &path, Some(body.to_owned().into()))
            .await;
        assert_eq!(sent.0, 400, "{body}");
    }
    let deep = "[".repeat(100_000);
    assert_eq!(
        operator.send(Method::PUT, &path, Some(deep.into())).await.0,
        400
    );
    assert_eq!(operator.get(&path).await.0, 404);
}

#[tokio::test]
async fn nothing_is_put_or_switched_in_a_bundle_that_is_off_or_in_the_bin() {
    let scene = Scene::new();
    let bundle = made(&scene, "acme").await;
    let operator = scene.as_operator();
    let (first, second) = (
        format!("{bundle}/tools/weather/version/v1"),
        format!("{bundle}/tools/weather/version/v2"),
    );
    assert_eq!(operator.put(&first, weather()).await.0, 201);
    operator.patch(&bundle, json!({"isEnabled": false})).await;
    for in_bin in [false, true] {
        if in_bin {
            operator.delete(&bundle).await;
        }
        for refused in [
            operator.put(&second, weather()).await,
            // Before the body is looked at.
            operator.put(&second, json!({})).await,
            operator.patch(&first, json!({"isEnabled": false})).await,
        ] {
            assert_eq!((refused.0.as_u16(), code(&refused.1)), (409, "CONFLICT"));
        }
        assert_eq!(
            operator.get(&first).await.1["availability"]["state"],
            "disabled"
        );
    }
    assert_eq!(operator.delete(&first).await.0, 204);
    operator
        .patch("/tools/bundles/core", json!({"isEnabled": false}))
        .await;
    let path = "/tools/bundles/core/tools/read-file/version/v1";
    let (status, body) = operator.patch(path, json!({"isEnabled": false})).await;
    assert_eq!((status.as_u16(), code(&body)), (409, "CONFLICT"));
}

#[tokio::test]
async fn a_switch_is_turned_and_a_version_removed() {
    let scene = Scene::new();
    let bundle = made(&scene, "acme").await;
    let operator = scene.as_operator();
    let path = format!("{bundle}/tools/weather/version/v1");
    operator.put(&path, weather()).await;
    let (status, off) = operator.patch(&path, json!({"isEnabled": false})).await;
    assert_eq!((status.as_u16(), &off["isEnabled"]), (200, &json!(false)));
    assert_eq!(off["availability"]["state"], "disabled");
    for body in [
        json!({}),
        json!({"isEnabled": 0}),
        json!({"isEnabled": true, "slug": "x"}),
        json!([false]),
    ] {
        assert_eq!(operator.patch(&path, body).await.0, 400);
    }
    assert_eq!(
        operator.delete(&path).await,
        (http::StatusCode::NO_CONTENT, Value::Null)
    );
    let gone = operator.delete(&path).await;
    assert_eq!((gone.0.as_u16(), code(&gone.1)), (404, "TOOL_NOT_FOUND"));
    assert_eq!(
        operator.patch(&path, json!({"isEnabled": true})).await.0,
        404
    );
}

#[tokio::test]
async fn built_in_tools_are_shown_and_switched_and_nothing_else() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    let path = "/tools/bundles/core/tools/read-file/version/v1";
    let (status, tool) = operator.get(path).await;
    assert_eq!(status, 200);
    assert_eq!(
        json!([
            tool["name"],
            tool["isBuiltIn"],
            tool["type"],
            tool["version"]
        ]),
        json!(["read_file", true, "rust", "v1"])
    );
    assert_eq!(tool["argSchema"], tool["inputSchema"]);
    for refused in [
        operator.put(path, weather()).await,
        operator
            .send(Method::PUT, path, Some("no json".into()))
            .await,
        operator
            .put("/tools/bundles/core/tools/a_b/version/v1", json!({}))
            .await,
        operator.delete(path).await,
        operator.patch(path, json!({"description": "Mine"})).await,
    ] {
        assert_eq!(
            (refused.0.as_u16(), code(&refused.1)),
            (403, "READ_ONLY"),
            "{}",
            refused.1
        );
    }
    let (status, off) = operator.patch(path, json!({"isEnabled": false})).await;
    assert_eq!((status.as_u16(), &off["isEnabled"]), (200, &json!(false)));
    let (_, list) = operator.get("/tools?bundleIDs=core").await;
    assert!(!list.to_string().contains("\"read_file\""), "{list}");
    let (_, on) = operator.patch(path, json!({"isEnabled": true})).await;
    assert_eq!(on, tool);
    assert_eq!(
        operator
            .get("/tools/bundles/core/tools/read-file/version/v2")
            .await
            .0,
        404
    );
    assert_eq!(
        operator
            .get("/tools/bundles/core/tools/Read-file/version/v1")
            .await
            .0,
        404
    );
}

#[tokio::test]
async fn tools_of_files_are_listed_and_switched_like_others() {
    let scene = Scene::new();
    let tools = scene.work().parent().unwrap().join(".toolcrib/tools");
    std::fs::create_dir_all(&tools).unwrap();
    std::fs::write(
        tools.join("say_hello.yaml"),
        "description: Says hello\ntags: [read]\nbash: echo hello\n",
    )
    .unwrap();
    let operator = scene.as_operator();
    let path = "/tools/bundles/user/tools/say-hello/version/v1";
    let (status, tool) = operator.get(path).await;
    assert_eq!(status, 200, "{tool}");
    assert_eq!(
        json!([tool["bundle"], tool["type"], tool["source"]]),
        json!(["user", "command", "user"])
    );
    let (_, page) = operator
        .get("/tools?bundleIDs=user&includeDisabled=true")
        .await;
    assert_eq!(page["tools"][0]["slug"], "say-hello");
    let (_, off) = operator.patch(path, json!({"isEnabled": false})).await;
    assert_eq!(off["availability"]["state"], "disabled");
    let deleted = operator.delete(path).await;
    assert_eq!((deleted.0.as_u16(), code(&deleted.1)), (403, "READ_ONLY"));
}

#[tokio::test]
async fn a_callers_token_reads_and_changes_nothing() {
    let scene = Scene::new();
    let bundle = made(&scene, "acme").await;
    let path = format!("{bundle}/tools/weather/version/v1");
    scene.as_operator().put(&path, weather()).await;
    let token = toolcrib_server::auth::Clients::of_home(&scene.home())
        .add("agent")
        .unwrap()
        .token;
    let caller = scene.with_token(&token);
    for path in [
        bundle.as_str(),
        &path,
        "/tools",
        "/tools/tools",
        "/tools/bundles",
        "/tools/search?q=weather",
        "/tools/tools/search",
        "/api/definitions/openai",
    ] {
        assert_eq!(caller.get(path).await.0, 200, "{path}");
    }
    let export = bundle.replace("/tools/", "/api/") + "/export";
    for refused in [
        caller.put(&path.replace("v1", "v2"), weather()).await,
        caller.patch(&path, json!({"isEnabled": false})).await,
        caller.delete(&path).await,
        caller.put(&bundle, json!({"slug": "mine"})).await,
        caller.patch(&bundle, json!({"isEnabled": false})).await,
        caller.delete(&bundle).await,
        caller.get(&export).await,
        caller.get("/api/rules").await,
        caller.get("/api/secrets").await,
        caller.post("/api/check", json!({"content": "x"})).await,
        caller
            .post("/api/rules/test", json!({"command": "ls"}))
            .await,
    ] {
        assert_eq!((refused.0.as_u16(), code(&refused.1)), (403, "FORBIDDEN"));
    }
    assert_eq!(scene.as_nobody().get("/tools").await.0, 401);
}

#[tokio::test]
async fn the_value_of_a_secret_is_never_answered() {
    let scene = Scene::new();
    let bundle = made(&scene, "acme").await;
    let path = format!("{bundle}/tools/weather/version/v1");
    let operator = scene.as_operator();
    let mut tool = weather();
    tool["description"] = json!("Asks with s3cr3t-v4lue-0815");
    assert_eq!(operator.put(&path, tool.clone()).await.0, 201);
    let name = SecretName::parse("WEATHER_KEY").unwrap();
    let any = Binding::new([], []).unwrap();
    scene
        .crib
        .secrets()
        .set(&name, &Secret::new("s3cr3t-v4lue-0815"), &any)
        .unwrap();
    for path in [
        path.as_str(),
        "/tools?includeDisabled=true",
        "/tools/search?q=weather&includeDisabled=true",
        "/api/definitions/openai?tools=weather",
        "/api/secrets",
    ] {
        let (status, body) = operator.get(path).await;
        assert_eq!(status, 200, "{body}");
        let text = body.to_string();
        assert!(!text.contains("s3cr3t"), "{path}: {text}");
        assert!(
            path.contains("secrets") || text.contains("eather"),
            "{path}: {text}"
        );
    }
    let (_, secrets) = operator.get("/api/secrets").await;
    assert_eq!(secrets["secrets"][0]["name"], "WEATHER_KEY");
    let refused = operator.put(&path.replace("v1", "v2"), tool).await;
    assert_eq!(
        (refused.0.as_u16(), code(&refused.1)),
        (400, "INVALID_ARGUMENTS")
    );
    assert!(!refused.1.to_string().contains("s3cr3t"), "{}", refused.1);
    let export = bundle.replace("/tools/", "/api/") + "/export";
    let refused = operator.get(&export).await;
    assert_eq!((refused.0.as_u16(), code(&refused.1)), (409, "CONFLICT"));
    assert!(!refused.1.to_string().contains("s3cr3t"), "{}", refused.1);
}
