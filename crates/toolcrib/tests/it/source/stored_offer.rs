//! What models get of stored tools: what calls are judged by, and nothing that cannot run.

use std::sync::Arc;

use toolcrib::crib::SearchRequest;
use toolcrib::model::ids::BundleId;
use toolcrib::registry::Availability;
use toolcrib::serde_json::{self, json};
use toolcrib::wire::{DefinitionOptions, Provider};
use toolcrib::{FnTool, ToolManifest};

use super::stored::{bundle, file_of, manifest, put, saying};
use super::*;

fn function() -> Arc<dyn toolcrib::Tool> {
    let tool = FnTool::new(
        "whatever",
        "Does nothing",
        |_: serde_json::Map<String, Value>, _cx| async move { Ok("done") },
    );
    Arc::new(tool.unwrap())
}

/// A crib in its own process that has the function `Here`.
fn fresh(scene: &Scene) -> Crib {
    scene.options().function("Here", function()).open().unwrap()
}

/// The stored tools that models get, by name, each with what it takes.
fn offered(crib: &Crib) -> Vec<(String, Value)> {
    let options = DefinitionOptions::default();
    let definitions = crib.registry().definitions(Provider::Anthropic, &options);
    let tools = definitions.tools.into_iter().map(|tool| {
        let name = tool["name"].as_str().unwrap().to_owned();
        (name, tool["input_schema"].clone())
    });
    let is_stored = |name: &str| {
        let entry = crib.registry().find(name).unwrap();
        entry.source() == toolcrib::registry::Source::Store
    };
    tools.filter(|(name, _)| is_stored(name)).collect()
}

fn taking(name: &str) -> Value {
    json!({"type": "object", "properties": {name: {"type": "string", "description": "A word"}}, "required": [name]})
}

fn of_every_kind(acme: BundleId) -> Vec<ToolManifest> {
    let parameters = json!({"WHO": {"type": "string", "description": "Who"}});
    let kinds = json!([
        {"slug": "a-command", "type": "command", "impl": {"bash": "echo {WHO}", "parameters": parameters}},
        {"slug": "an-alias", "type": "alias", "description": "", "tags": [], "impl": {"base-tool": "read_file"}},
        {"slug": "an-http", "type": "http", "argSchema": taking("q"), "impl": {"urlTemplate": "https://x.test/?q=${q}", "responseEncoding": "text"}},
        {"slug": "go-here", "type": "go", "argSchema": taking("q"), "impl": {"goFunc": "Here"}},
        {"slug": "rust-here", "type": "rust", "argSchema": taking("q"), "impl": {"function": "Here"}},
        {"slug": "go-missing", "type": "go", "argSchema": taking("q"), "impl": {"goFunc": "Nowhere"}},
        {"slug": "upstream", "type": "mcp", "argSchema": taking("q"), "impl": {"server": "files", "tool": "read"}},
        {"slug": "no-program", "type": "command", "impl": {"bash": "echo", "platforms": ["windows"]}},
    ]);
    let kinds = kinds.as_array().unwrap().iter();
    kinds.map(|kind| manifest(acme, kind.clone())).collect()
}

#[test]
fn models_get_the_arguments_that_are_enforced_of_each_kind_that_can_run() {
    let scene = Scene::new();
    let crib = fresh(&scene);
    let acme = bundle(&crib, "acme");
    for one in of_every_kind(acme) {
        put(&crib, one);
    }
    let crib = fresh(&scene);
    let first = offered(&crib);
    let names: Vec<&str> = first.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        ["a-command", "an-alias", "an-http", "go-here", "rust-here"]
    );
    for (name, published) in &first {
        let enforced = crib.registry().find(name).unwrap();
        assert_eq!(
            enforced.spec().input_schema.as_value()["properties"],
            published["properties"]
        );
    }
    assert_eq!(offered(&crib), first, "nothing changes by looking");
}

#[test]
fn what_cannot_run_is_known_from_the_start_where_the_record_says_it() {
    let scene = Scene::new();
    let crib = fresh(&scene);
    let acme = bundle(&crib, "acme");
    for one in of_every_kind(acme) {
        put(&crib, one);
    }
    let crib = fresh(&scene);
    let known: Vec<String> = crib
        .bundle_tools(acme)
        .iter()
        .filter(|entry| entry.availability_at_a_glance() != Availability::Ready)
        .map(|entry| entry.spec().slug.to_string())
        .collect();
    assert_eq!(known, ["go-missing", "upstream"]);
    let found = crib.search(&SearchRequest::default()).unwrap().results;
    let found = found
        .iter()
        .filter(|one| one.entry.bundle_id() == Some(acme));
    let mut found: Vec<String> = found.map(|one| one.entry.spec().slug.to_string()).collect();
    found.sort();
    assert_eq!(
        found,
        ["a-command", "an-alias", "an-http", "go-here", "rust-here"]
    );
}

#[tokio::test]
async fn a_record_that_says_other_arguments_than_it_takes_is_not_offered() {
    let scene = Scene::new();
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    let kinds = of_every_kind(acme).into_iter().take(2);
    let files: Vec<PathBuf> = kinds
        .map(|one| put(&crib, one))
        .map(|stored| file_of(&scene, &stored))
        .collect();
    put(&crib, saying(acme, "fine", "v1", "fine"));
    for file in &files {
        let mut record: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        record["argSchema"] = taking("shown");
        std::fs::write(file, record.to_string()).unwrap();
    }
    let crib = scene.open();
    let names: Vec<String> = offered(&crib).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["fine"]);
    for tool in ["a-command", "an-alias"] {
        let (code, why) = refused(&crib, tool).await;
        assert_eq!(code, ErrorCode::ToolUnavailable);
        assert!(why.contains("`argSchema` is not what"), "{why}");
        assert!(why.contains("`toolcrib edit acme/"), "{why}");
    }
    // A tool without a statement is taken at its word.
    for file in &files {
        let mut record: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        record.as_object_mut().unwrap().remove("argSchema");
        std::fs::write(file, record.to_string()).unwrap();
    }
    let crib = scene.open();
    let offered = offered(&crib);
    assert_eq!(offered.len(), 3);
    assert_eq!(offered[0].1["properties"]["WHO"]["type"], "string");
    assert_eq!(offered[1].1["properties"]["path"]["type"], "string");
}

#[tokio::test]
async fn an_alias_of_a_tool_that_cannot_run_is_not_offered_until_it_can() {
    let scene = Scene::new();
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    let base = |function: &str| {
        let fields = json!({"slug": "base", "type": "go", "impl": {"goFunc": function}});
        manifest(acme, fields)
    };
    put(&crib, base("Nowhere"));
    let fields = json!({"slug": "other", "type": "alias", "description": "", "tags": [], "impl": {"base-tool": "acme/base"}});
    put(&crib, manifest(acme, fields));
    let crib = fresh(&scene);
    assert!(offered(&crib).is_empty());
    let (code, why) = refused(&crib, "other").await;
    assert_eq!(code, ErrorCode::ToolUnavailable);
    assert!(why.contains("`Nowhere`"), "{why}");
    let digest = crib.record_of(&crib.registry().find("acme/base").unwrap());
    let digest = digest.unwrap().digest();
    crib.replace_tool(base("Here"), &digest).unwrap();
    assert_eq!(offered(&crib).len(), 2);
}

#[test]
fn a_search_makes_no_more_tools_than_it_has_to() {
    let scene = Scene::new();
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    for number in 0..5 {
        let fields =
            json!({"slug": format!("late-{number}"), "type": "go", "impl": {"goFunc": "Nowhere"}});
        put(&crib, manifest(acme, fields));
    }
    put(&crib, saying(acme, "late-fine", "v1", "fine"));
    let request = SearchRequest {
        query: "late".to_owned(),
        bundles: vec!["acme".to_owned()],
        ..SearchRequest::default()
    };
    let found = crib.search(&request).unwrap().results;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].entry.spec().slug.as_str(), "late-fine");
}
