//! How often tools were called, as a crib reports it.

use toolcrib::record::usage::Usage;
use toolcrib::{CallRequest, Crib, ErrorCode};

use super::stored::{bundle, draft, put, saying};
use super::{LOCAL, Scene, call, says};

fn usage(crib: &Crib, tool: &str) -> Usage {
    crib.registry().flush();
    crib.usage(&crib.registry().find(tool).unwrap())
}

#[tokio::test]
async fn calls_that_reach_their_tool_are_counted_whatever_comes_of_them() {
    let scene = Scene::new();
    scene.write("work/notes.md", "hello\n");
    let crib = scene.open();
    assert_eq!(usage(&crib, "read_file"), Usage::default());
    let read = |path: &str| CallRequest::new("read_file").arg("path", path);
    let before = jiff::Timestamp::now();
    assert!(
        crib.registry()
            .execute(read("notes.md"))
            .await
            .result
            .is_ok()
    );
    let failed = crib.registry().execute(read("missing.md")).await;
    assert!(failed.result.is_err());
    let counted = usage(&crib, "read_file");
    assert_eq!(counted.call_count, 2);
    assert!(counted.last_called_at.unwrap() >= before);
    assert_eq!(usage(&crib, "list_directory"), Usage::default());
}

#[tokio::test]
async fn refused_calls_are_not_counted() {
    let scene = Scene::new();
    scene.write("work/notes.md", "kept");
    let nobody = toolcrib::approval::DenyAll::default();
    let crib = scene.options().approver(nobody).open().unwrap();
    let refused = [
        (call(&crib, "read_file").await, ErrorCode::InvalidArguments),
        (call(&crib, "no_such_tool").await, ErrorCode::ToolNotFound),
    ];
    for (outcome, code) in refused {
        assert_eq!(outcome.result.unwrap_err().code(), code);
    }
    let delete = CallRequest::new("delete_file").arg("path", "notes.md");
    assert!(crib.registry().execute(delete).await.result.is_err());
    crib.set_enabled(&["list_directory"], false).unwrap();
    let off = call(&crib, "list_directory").await;
    assert_eq!(off.result.unwrap_err().code(), ErrorCode::ToolDisabled);
    for tool in ["read_file", "delete_file", "list_directory"] {
        assert_eq!(usage(&crib, tool), Usage::default(), "{tool}");
    }
}

#[tokio::test]
async fn an_outcome_that_is_given_again_is_not_a_second_call() {
    let scene = Scene::new();
    let crib = scene.open();
    for _ in 0..2 {
        let request = CallRequest::new("list_directory")
            .arg("path", ".")
            .call_id(toolcrib::CallId::parse("c-1").unwrap());
        assert!(crib.registry().execute(request).await.result.is_ok());
    }
    assert_eq!(usage(&crib, "list_directory").call_count, 1);
}

#[tokio::test]
async fn a_call_changes_no_definition_and_other_processes_see_it() {
    let scene = Scene::new();
    let file = scene.write(&format!("{LOCAL}/hello.yaml"), &says("hello"));
    let crib = scene.trusted();
    let before = (
        std::fs::read(&file).unwrap(),
        std::fs::metadata(&file).unwrap().modified().unwrap(),
    );
    assert!(call(&crib, "hello").await.result.is_ok());
    assert_eq!(usage(&crib, "hello").call_count, 1);
    let after = (
        std::fs::read(&file).unwrap(),
        std::fs::metadata(&file).unwrap().modified().unwrap(),
    );
    assert_eq!(before, after);
    // Another crib of the same home is as good as another process: they share nothing but files.
    let other = scene.open();
    assert_eq!(usage(&other, "hello"), usage(&crib, "hello"));
    assert!(call(&other, "hello").await.result.is_ok());
    assert_eq!(usage(&other, "hello").call_count, 2);
    drop(crib);
    assert_eq!(usage(&scene.open(), "hello").call_count, 2);
}

#[tokio::test]
async fn a_home_whose_counts_are_damaged_calls_as_ever() {
    let scene = Scene::new();
    scene.write("home/state/usage.json", "not JSON");
    scene.write("home/state/usage.jsonl", "{\"tool\":\"core/read");
    let crib = scene.open();
    let listed = CallRequest::new("list_directory").arg("path", ".");
    assert!(crib.registry().execute(listed).await.result.is_ok());
    assert_eq!(usage(&crib, "list_directory").call_count, 1);
    let files: Vec<String> = crib
        .usage_log()
        .problems()
        .into_iter()
        .map(|problem| problem.file)
        .collect();
    assert_eq!(files, ["state/usage.json", "state/usage.jsonl"]);
}

#[tokio::test]
async fn counts_stay_with_a_stored_tool_and_go_to_no_other_of_its_name() {
    let scene = Scene::new();
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    put(&crib, saying(acme, "hello", "v1", "one"));
    assert!(call(&crib, "acme/hello").await.result.is_ok());
    assert_eq!(usage(&crib, "acme/hello").call_count, 1);
    crib.put_bundle(acme, draft("renamed")).unwrap();
    assert_eq!(usage(&crib, "renamed/hello@v1").call_count, 1);
    assert_eq!(usage(&scene.open(), "renamed/hello@v1").call_count, 1);
    // Another bundle takes the name.
    let other = bundle(&crib, "acme");
    put(&crib, saying(other, "hello", "v1", "two"));
    assert_eq!(usage(&crib, "acme/hello@v1"), Usage::default());
    // And so does another tool.
    crib.delete_tool("renamed/hello@v1").unwrap();
    put(&crib, saying(acme, "hello", "v1", "three"));
    assert_eq!(usage(&crib, "renamed/hello@v1"), Usage::default());
}
