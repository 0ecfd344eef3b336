//! `/api/files`, `/api/formats`, `/api/tests`, `/api/curl`: tools written, checked and tested over HTTP.

use serde_json::{Value, json};

use crate::harness::Scene;

const GREET: &str = "# mine\ndescription: Greets a person\ntags: [read]\nbash: echo \"Hello, {WHO}!\"\nparameters:\n  WHO: {description: Whom}\ntests:\n  - name: greets\n    parameters: {WHO: Ada}\n";

fn is(answer: &(http::StatusCode, Value), status: u16, code: &str) {
    assert_eq!(
        (answer.0.as_u16(), answer.1["error"]["code"].as_str()),
        (status, Some(code)),
        "{answer:?}"
    );
}

#[tokio::test]
async fn a_saved_text_is_a_trusted_tool_with_its_comments() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    let (status, saved) = operator
        .put("/api/files/local/greet.yaml", json!({"content": GREET}))
        .await;
    assert_eq!(status, 201, "{saved}");
    assert_eq!(saved["reference"], "local/greet@v1");
    assert_eq!(saved["isTrusted"], true);
    let file = scene.work().join(".toolcrib/tools/greet.yaml");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), GREET);
    let (_, outcome) = operator
        .post(
            "/api/calls",
            json!({"tool": "greet", "args": {"WHO": "Ada"}, "approvals": "yes"}),
        )
        .await;
    assert_eq!(outcome["value"]["output"], "Hello, Ada!", "{outcome}");
    // The text that was seen, and no other, is replaced.
    let next = GREET.replace("Hello", "Good morning");
    let change = |digest: &Value| json!({"content": next, "digest": digest});
    let path = "/api/files/local/greet.yaml";
    is(
        &operator.put(path, json!({"content": next})).await,
        409,
        "CONFLICT",
    );
    is(
        &operator.put(path, change(&json!("0"))).await,
        409,
        "CONFLICT",
    );
    let (status, saved) = operator.put(path, change(&saved["digest"])).await;
    assert_eq!((status.as_u16(), &saved["created"]), (200, &json!(false)));
    let (_, list) = operator.get("/api/files").await;
    assert_eq!(list["files"][0]["content"], next);
    let gone = format!("{path}?digest={}", saved["digest"].as_str().unwrap());
    assert_eq!(operator.delete(&gone).await.0, 204);
    assert!(!file.exists());
    is(&operator.get(path).await, 404, "NOT_FOUND");
}

#[tokio::test]
async fn what_cannot_be_a_tool_is_not_written() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    let broken = json!({"content": "description: x\nbahs: echo\n"});
    let refused = operator.put("/api/files/local/x.yaml", broken).await;
    is(&refused, 400, "INVALID_ARGUMENTS");
    let problem = &refused.1["error"]["details"]["problems"][0];
    assert_eq!(
        (&problem["code"], &problem["line"]),
        (&json!("unknown-key"), &json!(2)),
        "{refused:?}"
    );
    for name in ["a%20b.yaml", "x.yml.txt", "..%2Fx.yaml", "x"] {
        let answer = operator
            .put(
                &format!("/api/files/local/{name}"),
                json!({"content": GREET}),
            )
            .await;
        assert!(answer.0.is_client_error(), "{name}: {answer:?}");
    }
    let built_in = operator
        .put("/api/files/local/read_file.yaml", json!({"content": GREET}))
        .await;
    is(&built_in, 409, "CONFLICT");
    is(
        &operator.get("/api/files/global/x.yaml").await,
        404,
        "NOT_FOUND",
    );
    assert!(!scene.work().join(".toolcrib").exists());
    // A repository does not choose where its user writes.
    let outside = scene.home().join("elsewhere");
    std::fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, scene.work().join(".toolcrib")).unwrap();
    let answer = operator
        .put("/api/files/local/greet.yaml", json!({"content": GREET}))
        .await;
    is(&answer, 400, "INVALID_PATH");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    let client = scene.as_client("app");
    let answer = client
        .put("/api/files/user/greet.yaml", json!({"content": GREET}))
        .await;
    assert_eq!(answer.0, 403);
}

#[tokio::test]
async fn tests_run_and_are_recorded_before_anything_is_saved() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    let body = json!({"file": "greet.yaml", "content": GREET, "record": true});
    let (status, tested) = operator.post("/api/tests", body).await;
    assert_eq!(status, 200, "{tested}");
    assert_eq!(
        (&tested["passed"], &tested["failed"]),
        (&json!(1), &json!(0)),
        "{tested}"
    );
    let text = tested["content"].as_str().unwrap();
    assert!(
        text.starts_with("# mine\n") && text.contains("Hello, Ada!"),
        "{text}"
    );
    let wrong = text
        .replace("Hello, Ada!", "Hello, Bob!")
        .replace("echo \"Hello, Bob!", "echo \"Hello, Ada!");
    let (_, tested) = operator
        .post(
            "/api/tests",
            json!({"file": "greet.yaml", "content": wrong, "tests": ["greets"]}),
        )
        .await;
    assert_eq!(
        (&tested["failed"], &tested["tests"][0]["status"]),
        (&json!(1), &json!("failed"))
    );
    assert_eq!(
        tested["tests"][0]["mismatches"][0]["field"], "output-contains",
        "{tested}"
    );
    assert!(!scene.work().join(".toolcrib").exists());
    let body = json!({"content": GREET, "tests": ["other"]});
    is(&operator.post("/api/tests", body).await, 404, "NOT_FOUND");
    is(
        &operator
            .post("/api/tests", json!({"tool": "read_file"}))
            .await,
        400,
        "INVALID_ARGUMENTS",
    );
}

#[tokio::test]
async fn a_curl_command_becomes_a_definition_without_its_credential() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    let command = "curl -H 'X-Api-Key: hunter2hunter2' 'https://api.example.com/v1/now?city=Bern'";
    let body = json!({"command": command, "name": "weather", "params": ["city"]});
    let (status, made) = operator.post("/api/curl", body).await;
    assert_eq!(status, 200, "{made}");
    assert!(!made.to_string().contains("hunter2"), "{made}");
    assert_eq!(made["arguments"][0]["name"], "city");
    assert_eq!(
        (&made["host"], &made["hostAllowed"]),
        (&json!("api.example.com"), &json!(false))
    );
    let (_, checked) = operator
        .post(
            "/api/check",
            json!({"file": "weather.json", "content": made["content"]}),
        )
        .await;
    assert_eq!(checked["errors"], 0, "{checked}");
    let body = json!({"command": "curl --upload-file x https://a.test/", "name": "weather"});
    is(
        &operator.post("/api/curl", body).await,
        400,
        "INVALID_ARGUMENTS",
    );
}

#[tokio::test]
async fn formats_describe_their_fields() {
    let scene = Scene::new();
    let client = scene.as_client("app");
    let (_, yaml) = client.get("/api/formats/yaml").await;
    assert!(
        yaml["properties"]["bash"]["description"].is_string(),
        "{yaml}"
    );
    let (_, http) = client.get("/api/formats/http").await;
    assert!(http["properties"]["impl"].is_object(), "{http}");
    is(&client.get("/api/formats/toml").await, 404, "NOT_FOUND");
}
