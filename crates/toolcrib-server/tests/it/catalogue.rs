//! Definitions for providers, checks of definitions, and rules over HTTP.

use serde_json::{Value, json};

use crate::bundles::made;
use crate::harness::Scene;
use crate::tools::weather;

#[tokio::test]
async fn definitions_are_in_the_form_of_the_provider_with_what_they_lose() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    let (status, body) = operator
        .get("/api/definitions/openai?tools=read_file")
        .await;
    assert_eq!(status, 200);
    assert_eq!(
        json!([
            body["tools"][0]["type"],
            body["tools"][0]["function"]["name"]
        ]),
        json!(["function", "read_file"])
    );
    let (_, body) = operator.get("/api/definitions/anthropic?bundle=core").await;
    assert!(body["tools"].as_array().unwrap().len() > 3);
    assert!(body["tools"][0]["input_schema"].is_object());
    assert!(body["losses"].is_array() && body["dropped"].is_array());
    for provider in [
        "openai",
        "openai-responses",
        "anthropic",
        "gemini",
        "ollama",
        "mcp",
    ] {
        let path = format!("/api/definitions/{provider}?tools=read_file&texts=true");
        let (_, body) = operator.get(&path).await;
        let sent = &body["texts"][0];
        assert_eq!(sent["text"], body["tools"][0].to_string(), "{provider}");
        let tokens = sent["tokens"].as_u64().unwrap();
        let bytes = sent["text"].as_str().unwrap().len() as u64;
        assert!(
            (bytes / 10..bytes / 3).contains(&tokens),
            "{provider}: {tokens} tokens, {bytes} bytes"
        );
    }
    let all = operator.get("/api/definitions/mcp").await;
    assert_eq!(all.0, 200);
    let (_, strict) = operator
        .get("/api/definitions/openai?strict=true&tools=core/read-file@v1")
        .await;
    assert_eq!(strict["tools"][0]["function"]["strict"], true, "{strict}");
    let (_, none) = operator.get("/api/definitions/openai?bundle=user").await;
    assert_eq!(none, json!({"tools": [], "losses": [], "dropped": []}));
    for (path, status) in [
        ("/api/definitions/cobol", 404),
        ("/api/definitions/OpenAI", 404),
        ("/api/definitions/openai?tools=nobody", 404),
        ("/api/definitions/openai?bundle=nobody", 404),
        ("/api/definitions/openai?bundle=core&tools=read_file", 400),
        ("/api/definitions/anthropic?strict=true", 200),
        ("/api/definitions/gemini?strict=true", 400),
        ("/api/definitions/openai?strict=2", 400),
    ] {
        let (found, body) = operator.get(path).await;
        assert_eq!(found, status, "{path}: {body}");
    }
    let (_, unknown) = operator.get("/api/definitions/cobol").await;
    assert!(
        unknown["error"]["message"]
            .as_str()
            .unwrap()
            .contains("anthropic"),
        "{unknown}"
    );
}

#[tokio::test]
async fn a_definition_is_checked_and_nothing_is_stored() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    let (status, fine) = operator.post("/api/check", weather()).await;
    assert_eq!(status, 200, "{fine}");
    assert_eq!(
        json!([fine["errors"], fine["files"][0]["file"]]),
        json!([0, "definition.json"]),
        "{fine}"
    );
    let mut wrong = weather();
    wrong["impl"]["urlTemplate"] = json!("ftp://example.com");
    wrong["impl"]["methdo"] = json!("GET");
    let (status, checked) = operator.post("/api/check", wrong).await;
    assert_eq!(status, 200);
    assert!(checked["errors"].as_u64().unwrap() >= 2, "{checked}");
    let place = |problem: &Value| problem["line"].as_u64().unwrap() > 1;
    assert!(
        checked["files"][0]["problems"]
            .as_array()
            .unwrap()
            .iter()
            .any(place),
        "{checked}"
    );
    let text = "description: Says hello\ntags: [read]\nbahs: echo hello\n";
    let (_, yaml) = operator
        .post("/api/check", json!({"file": "hello.yaml", "content": text}))
        .await;
    let problems = yaml["files"][0]["problems"].as_array().unwrap();
    assert!(
        problems
            .iter()
            .any(|problem| problem["line"] == 3 && problem["fix"].is_object()),
        "{yaml}"
    );
    let text = "description: Says hello\ntags: [read]\nbash: echo hello\n";
    let (_, yaml) = operator
        .post(
            "/api/check",
            json!({"file": "say_hello.yaml", "content": text}),
        )
        .await;
    assert_eq!(
        json!([yaml["errors"], yaml["files"][0]["tool"]]),
        json!([0, "say_hello"]),
        "{yaml}"
    );
    // Without a name it is known by how it begins.
    let (_, json) = operator
        .post("/api/check", json!({"content": weather().to_string()}))
        .await;
    assert_eq!(json["errors"], 0, "{json}");
    let steps = "description: d\nsteps:\n  - name: a\n    use-tool: nobody_has_this\n";
    let (_, linked) = operator
        .post("/api/check", json!({"file": "a.yaml", "content": steps}))
        .await;
    assert!(linked["errors"].as_u64().unwrap() > 0, "{linked}");
    for body in [
        json!({"content": 5}),
        json!({"content": "x", "more": 1}),
        json!([]),
        json!({"content": "x", "file": "a".repeat(2000)}),
    ] {
        assert_eq!(operator.post("/api/check", body).await.0, 400);
    }
    for odd in [
        "",
        "\0",
        "{",
        "&a [*a, *a]",
        "- - - -",
        "a: !!binary x",
        &"[".repeat(50_000),
        &"a: &a [x]\n".repeat(1000),
    ] {
        let (status, body) = operator.post("/api/check", json!({"content": odd})).await;
        assert_eq!(status, 200);
        assert!(body["errors"].as_u64().unwrap() > 0, "{odd}: {body}");
    }
    assert!(!scene.home().join("bundles").exists());
}

#[tokio::test]
async fn rules_about_a_tool_are_those_in_force_that_can_match_it() {
    let prepare = |home: &std::path::Path, _: &std::path::Path| {
        let rules = "disabledRules = [\"mounts\"]\n\
            [[rules]]\nname = \"by-alias\"\ntools = [\"execute_bash\"]\nforbidden_patterns = [\"x\"]\n\
            [[rules]]\nname = \"other-tool\"\ntools = [\"web_search\"]\nforbidden_patterns = [\"x\"]\n";
        std::fs::write(home.join("config.toml"), rules).unwrap();
    };
    let scene = Scene::prepared(tempfile::tempdir().unwrap(), prepare, |options| options);
    let operator = scene.as_operator();
    // A command, a path, one that is off, one for the tool under its other name, one for another tool.
    let asked = ["privileges", "ssh-keys", "mounts", "by-alias", "other-tool"];
    for (tool, touching) in [
        ("shell", vec!["privileges", "ssh-keys", "by-alias"]),
        ("execute_bash", vec!["privileges", "ssh-keys", "by-alias"]),
        ("core/read-file@v1", vec!["ssh-keys"]),
        ("web_search", vec!["other-tool"]),
    ] {
        let (status, rules) = operator.get(&format!("/api/rules?tool={tool}")).await;
        assert_eq!(status, 200, "{rules}");
        let rows = rules["rules"].as_array().unwrap();
        let names: Vec<&str> = rows.iter().filter_map(|row| row["name"].as_str()).collect();
        let found: Vec<&str> = asked
            .into_iter()
            .filter(|name| names.contains(name))
            .collect();
        assert_eq!(found, touching, "{tool}: {names:?}");
        assert!(rows.iter().all(|row| row["enabled"] == true));
    }
    assert_eq!(operator.get("/api/rules?tool=nothing").await.0, 404);
}

#[tokio::test]
async fn rules_are_listed_and_tried() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    let (status, rules) = operator.get("/api/rules").await;
    assert_eq!(status, 200);
    let first = &rules["rules"][0];
    assert!(
        first["name"].is_string() && first["origin"].is_string() && first["enabled"] == true,
        "{first}"
    );
    let body = json!({"tool": "shell", "args": {"command": "rm -rf /"}});
    let (status, denied) = operator.post("/api/rules/test", body).await;
    assert_eq!(
        (status.as_u16(), &denied["verdict"]),
        (200, &json!("deny")),
        "{denied}"
    );
    assert_eq!(denied["commands"][0]["words"], json!(["rm", "-rf", "/"]));
    let (_, allowed) = operator
        .post("/api/rules/test", json!({"command": "ls"}))
        .await;
    assert_eq!(
        json!([allowed["verdict"], allowed["tool"]]),
        json!(["allow", "shell"])
    );
    for (body, status) in [
        (json!({}), 400),
        (json!({"tool": "shell", "command": "ls"}), 400),
        (json!({"args": {}}), 400),
        (json!({"tool": "shell", "args": []}), 400),
        (json!({"tool": "shell", "args": {"command": 5}}), 400),
        (json!({"tool": "shell"}), 400),
        (json!({"tool": "nobody", "args": {}}), 404),
    ] {
        assert_eq!(
            operator.post("/api/rules/test", body.clone()).await.0,
            status,
            "{body}"
        );
    }
    let bundle = made(&scene, "acme").await;
    assert_eq!(
        operator
            .put(&format!("{bundle}/tools/weather/version/v1"), weather())
            .await
            .0,
        201
    );
    let body = json!({"tool": "weather", "args": {"city": "Rome"}});
    assert_eq!(operator.post("/api/rules/test", body).await.0, 200);
}
