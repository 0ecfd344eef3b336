//! `/api/settings`, `/api/sandbox-plan`, `/api/stats/hours`, and switches by filter.

use serde_json::{Value, json};

use crate::harness::Scene;

async fn setting(scene: &Scene, key: &str) -> Value {
    let (_, list) = scene.as_operator().get("/api/settings").await;
    let rows = list["settings"].as_array().unwrap();
    rows.iter().find(|row| row["key"] == key).unwrap().clone()
}

#[tokio::test]
async fn a_setting_is_changed_in_the_file_and_holds_from_the_next_start() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    std::fs::write(scene.home().join("config.toml"), "# mine\n").unwrap();
    let before = setting(&scene, "limits.timeoutMs").await;
    assert_eq!(
        (&before["origin"], &before["homeDecides"]),
        (&json!("default"), &json!(true))
    );
    let path = "/api/settings/limits.timeoutMs";
    let (status, row) = operator.patch(path, json!({"words": ["5000"]})).await;
    assert_eq!(status, 200, "{row}");
    assert_eq!(
        (&row["saved"], &row["restart"], &row["value"]),
        (&json!(5000), &json!(true), &before["value"])
    );
    let text = std::fs::read_to_string(scene.home().join("config.toml")).unwrap();
    assert!(
        text.contains("# mine\n") && text.contains("timeoutMs = 5000\n"),
        "{text}"
    );
    let (_, row) = operator.patch(path, json!({})).await;
    assert_eq!((row.get("saved"), &row["restart"]), (None, &json!(false)));
    let (status, wrong) = operator.patch(path, json!({"words": ["soon"]})).await;
    assert_eq!(
        (status.as_u16(), &wrong["error"]["code"]),
        (400, &json!("INVALID_ARGUMENTS"))
    );
    assert_eq!(operator.patch("/api/settings/none", json!({})).await.0, 404);
}

#[tokio::test]
async fn the_plan_of_a_tool_says_what_keeps_each_promise() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    let content = json!({"content": "description: Lists\ntags: [read]\nbash: ls\n"});
    operator.put("/api/files/local/names.yaml", content).await;
    let (status, plan) = operator.get("/api/sandbox-plan?tool=names").await;
    assert_eq!(
        (status.as_u16(), &plan["reference"]),
        (200, &json!("local/names@v1"))
    );
    let about: Vec<&str> = plan["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line["about"].as_str().unwrap())
        .collect();
    assert!(about.contains(&"network"), "{plan}");
    let (_, none) = operator.get("/api/sandbox-plan?tool=read_file").await;
    assert_eq!(none["lines"], json!([]));
    assert_eq!(operator.get("/api/sandbox-plan?tool=gone").await.0, 404);
}

#[tokio::test]
async fn a_filter_switches_every_tool_that_matches() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    let off = json!({"filter": {"effect": "run", "bundle": "core"}, "isEnabled": false});
    let (status, switched) = operator.post("/api/tools/switch", off).await;
    assert_eq!(status, 200, "{switched}");
    assert!(!switched["changed"].as_array().unwrap().is_empty());
    let (_, list) = operator.get("/api/tools?all=true").await;
    for tool in list["tools"].as_array().unwrap() {
        let runs = tool["effects"].as_array().unwrap().contains(&json!("run"));
        assert_eq!(tool["isEnabled"], !runs, "{tool}");
    }
    let on = json!({"filter": {"state": "off", "q": "shell"}, "isEnabled": true});
    let (_, switched) = operator.post("/api/tools/switch", on).await;
    assert!(
        switched["changed"]
            .as_array()
            .unwrap()
            .contains(&json!("core/shell@v1")),
        "{switched}"
    );
    let (status, _) = operator
        .post("/api/tools/switch", json!({"isEnabled": true}))
        .await;
    assert_eq!(status, 400);
}

#[tokio::test]
async fn calls_are_counted_by_the_hour_and_found_by_text() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    std::fs::write(scene.work().join("notes.md"), "x\n").unwrap();
    for path in ["notes.md", "gone.md"] {
        operator
            .post(
                "/api/calls",
                json!({"tool": "read_file", "args": {"path": path}}),
            )
            .await;
    }
    let (_, list) = operator.get("/api/calls?text=GONE.md").await;
    assert_eq!(list["calls"].as_array().unwrap().len(), 1, "{list}");
    assert_eq!(list["calls"][0]["code"], "FILE_NOT_FOUND");
    let (_, list) = operator.get("/api/calls?bundle=core&text=notes").await;
    assert_eq!(list["calls"].as_array().unwrap().len(), 1, "{list}");
    let (_, none) = operator.get("/api/calls?until=2020-01-01T00:00:00Z").await;
    assert_eq!(none["calls"], json!([]));
    let (_, none) = operator.get("/api/calls?bundle=other").await;
    assert_eq!(none["calls"], json!([]));
    let (_, hours) = operator.get("/api/stats/hours").await;
    let sum = |field: &str| -> u64 {
        hours["hours"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hour| hour[field].as_u64().unwrap())
            .sum()
    };
    assert_eq!(
        (sum("calls"), sum("failed"), sum("refused")),
        (2, 1, 0),
        "{hours}"
    );
}
