//! Results over MCP that fit: what a client gets of a long one, and how it reads the rest.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use toolcrib::FnTool;
use toolcrib_mcp::protocol::{Era, LEGACY};
use toolcrib_mcp::server::{Ask, Context, Host as _, Reply};
use toolcrib_server::mcp::{CribHost, HostOptions};

use crate::harness::Scene;

fn scene() -> Scene {
    Scene::prepared(
        tempfile::tempdir().unwrap(),
        |home, work| {
            std::fs::write(home.join("config.toml"), "[results]\nmaxTokens = 1000\n").unwrap();
            let lines: String = (1..=3000).map(|n| format!("line {n}\n")).collect();
            std::fs::write(work.join("long.txt"), lines).unwrap();
        },
        |options| options,
    )
}

/// Any number of rows.
#[derive(Serialize, JsonSchema)]
struct SomeRows {
    rows: Vec<i64>,
}

/// No fewer than there are.
#[derive(Serialize, JsonSchema)]
struct AllRows {
    #[schemars(length(min = 3000))]
    rows: Vec<i64>,
}

struct Client {
    host: Arc<CribHost>,
    era: Era,
    principal: &'static str,
}

impl Client {
    fn of(scene: &Scene, era: Era, principal: &'static str) -> Self {
        Client {
            host: CribHost::new(Arc::clone(&scene.crib), HostOptions::default()),
            era,
            principal,
        }
    }

    async fn call(&self, name: &str, arguments: Value) -> Value {
        let arguments = serde_json::value::to_raw_value(&arguments).unwrap();
        let ask = Ask::CallTool {
            name: name.to_owned(),
            arguments: Some(arguments),
            input: None,
        };
        let context = Context::detached(self.era, self.principal);
        match Arc::clone(&self.host).answer(ask, context).await.unwrap() {
            Reply::Complete { body, .. } => serde_json::from_slice(&body).unwrap(),
            Reply::InputRequired { .. } => panic!("nothing is asked"),
        }
    }
}

fn text(result: &Value, block: usize) -> &str {
    result["content"][block]["text"].as_str().unwrap()
}

/// The arguments of `read_result` that a note suggests.
fn suggested(note: &str) -> Value {
    let from = note.find('{').unwrap();
    let to = note.find('}').unwrap();
    serde_json::from_str(&note[from..=to]).unwrap()
}

#[tokio::test]
async fn a_long_result_is_shortened_and_the_rest_is_read_by_its_lines() {
    let scene = scene();
    for era in [Era::Modern, Era::Legacy(LEGACY)] {
        let client = Client::of(&scene, era, "mcp");
        let result = client.call("read_file", json!({"path": "long.txt"})).await;
        assert_eq!(result["isError"], false);
        assert_eq!(result["_meta"]["toolcrib/call"]["truncated"], true);
        let shown = text(&result, 0);
        assert!(shown.starts_with("line 1\n") && shown.ends_with("line 3000\n"));
        assert!(shown.len() < 4000);
        let structured = &result["structuredContent"];
        assert!(
            structured["content"].as_str().unwrap().len() < 4000,
            "{structured}"
        );
        // A test reads on as the note says until it has seen the line that is in the middle.
        let mut wanted = suggested(text(&result, 1));
        let mut read = String::new();
        for _ in 0..100 {
            let part = client.call("read_result", wanted.clone()).await;
            assert_eq!(part["isError"], false, "{part}");
            read.push_str(part["structuredContent"]["text"].as_str().unwrap());
            if read.contains("line 1500\n") {
                break;
            }
            wanted = part["structuredContent"]["next"].clone();
        }
        assert!(read.contains("line 1499\nline 1500\n"));
    }
}

#[tokio::test]
async fn only_the_caller_and_the_operator_read_a_result() {
    let scene = scene();
    let owner = Client::of(&scene, Era::Modern, "client:alpha");
    let result = owner.call("read_file", json!({"path": "long.txt"})).await;
    let mut wanted = suggested(text(&result, 1));
    wanted["lines"] = json!([1500, 1500]);
    for (principal, may) in [
        ("client:alpha", true),
        ("operator", true),
        ("client:beta", false),
        ("mcp", false),
    ] {
        let reader = Client::of(&scene, Era::Modern, principal);
        let part = reader.call("read_result", wanted.clone()).await;
        assert_eq!(part["isError"], !may, "{principal}: {part}");
        assert_eq!(part.to_string().contains("line 1500"), may, "{principal}");
    }
    let unknown = json!({"call": "0197f9a0-7c1e-7000-8000-000000000000"});
    let reader = Client::of(&scene, Era::Modern, "client:beta");
    let (theirs, none) = (
        reader.call("read_result", wanted.clone()).await,
        reader.call("read_result", unknown).await,
    );
    // Not even that there is one is said.
    let said = |result: &Value| text(result, 0).split(" for you").last().unwrap().to_owned();
    assert_eq!(said(&theirs), said(&none));
}

#[tokio::test]
async fn a_value_that_cannot_be_shortened_is_an_error_with_its_handle() {
    let scene = scene();
    let rows = || (0..3000).map(|n| n + 1_000_000).collect();
    let some = FnTool::new("some_rows", "Gives rows", move |(): (), _| async move {
        Ok(SomeRows { rows: rows() })
    });
    let all = FnTool::new("all_rows", "Gives rows", move |(): (), _| async move {
        Ok(AllRows { rows: rows() })
    });
    let registry = scene.crib.registry();
    registry
        .register(some.unwrap().returns::<SomeRows>().unwrap())
        .unwrap();
    registry
        .register(all.unwrap().returns::<AllRows>().unwrap())
        .unwrap();
    let client = Client::of(&scene, Era::Modern, "mcp");
    let some = client.call("some_rows", json!({})).await;
    assert_eq!(some["isError"], false);
    let rows = some["structuredContent"]["rows"].as_array().unwrap();
    assert!((100..1000).contains(&rows.len()), "{}", rows.len());
    assert!(text(&some, 1).contains(&format!("`/rows` has {} of 3000 items", rows.len())));
    let all = client.call("all_rows", json!({})).await;
    assert_eq!(
        (&all["isError"], all.get("structuredContent")),
        (&json!(true), None)
    );
    let mut wanted = suggested(text(&all, 1));
    let call = wanted["call"].take();
    let part = client
        .call(
            "read_result",
            json!({"call": call, "jsonpath": "$.rows[2999]"}),
        )
        .await;
    assert_eq!(text(&part, 0), "1002999");
}

#[tokio::test]
async fn where_the_tool_is_off_no_rest_is_promised() {
    let scene = scene();
    scene.crib.set_enabled(&["read_result"], false).unwrap();
    let client = Client::of(&scene, Era::Modern, "mcp");
    let result = client.call("read_file", json!({"path": "long.txt"})).await;
    let note = text(&result, 1);
    assert!(
        note.contains("The rest cannot be read: `read_result` is switched off"),
        "{note}"
    );
    assert!(!scene.home().join("results").exists());
}

#[tokio::test]
async fn a_short_result_is_passed_on_as_it_is_and_not_kept() {
    let scene = scene();
    std::fs::write(scene.work().join("short.txt"), "short\n").unwrap();
    let client = Client::of(&scene, Era::Modern, "mcp");
    let result = client.call("read_file", json!({"path": "short.txt"})).await;
    assert_eq!(text(&result, 0), "short\n");
    assert_eq!(result["content"].as_array().unwrap().len(), 1);
    assert!(!scene.home().join("results").exists());
}
