//! `search_code` with `mode: "meaning"`: what is found, that the index follows files, and what is left out.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use toolcrib::rules::{Rule, RuleSet};
use toolcrib::workspace::Workspace;
use toolcrib::{CallRequest, ErrorCode, Outcome, RegisterBuiltins as _, Registry};

const RETRY: &str = "/// Sends a request again after it failed, with a pause that doubles.\npub fn send_with_backoff(request: &Request) -> Answer {\n    todo!()\n}\n";
const USER: &str =
    "fn main() {\n    let answer = send_with_backoff(&request);\n    print(answer);\n}\n";

fn registry(root: &Path, rules: RuleSet) -> Registry {
    let workspace = Workspace::open(root).unwrap();
    let registry = Registry::builder()
        .workspace(workspace)
        .rules(rules)
        .build();
    registry.register_builtins().unwrap();
    registry
}

async fn ask(registry: &Registry, arguments: Value) -> Outcome {
    let mut arguments = arguments;
    arguments["mode"] = "meaning".into();
    let call = json!({"name": "search_code", "arguments": arguments});
    registry
        .execute(CallRequest::from_json(call).unwrap())
        .await
}

async fn places(registry: &Registry, question: &str) -> Vec<String> {
    let outcome = ask(registry, json!({"query": question})).await;
    let value = outcome.value().unwrap_or_else(|| panic!("{outcome:?}"));
    let matches = value["matches"].as_array().unwrap();
    matches
        .iter()
        .map(|found| format!("{}:{}", found["path"].as_str().unwrap(), found["line"]))
        .collect()
}

#[tokio::test]
async fn a_question_finds_the_definition_before_its_uses() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("a.rs"), USER).unwrap();
    fs::write(root.path().join("z.rs"), RETRY).unwrap();
    let registry = registry(root.path(), RuleSet::default());
    let found = places(&registry, "where are failed requests sent again?").await;
    assert_eq!(found[0], "z.rs:2");
    let found = places(&registry, "sendWithBackoff").await;
    assert_eq!(found[..2], ["z.rs:2", "a.rs:1"]);
    let outcome = ask(&registry, json!({"query": "backoff", "maxResults": 1})).await;
    let value = outcome.value().unwrap();
    assert_eq!(value["matches"][0]["name"], "send_with_backoff");
    assert_eq!(value["truncated"], true);
    let text = outcome.result.as_ref().unwrap().text().into_owned();
    assert!(
        text.starts_with("z.rs:2-4: pub fn send_with_backoff"),
        "{text}"
    );
}

#[tokio::test]
async fn the_index_follows_the_files() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("a.rs");
    fs::write(&file, USER).unwrap();
    let registry = registry(root.path(), RuleSet::default());
    assert_eq!(places(&registry, "pause that doubles").await, [""; 0]);
    fs::write(&file, RETRY).unwrap();
    assert_eq!(places(&registry, "pause that doubles").await, ["a.rs:2"]);
    fs::rename(&file, root.path().join("b.rs")).unwrap();
    assert_eq!(places(&registry, "pause that doubles").await, ["b.rs:2"]);
    fs::remove_file(root.path().join("b.rs")).unwrap();
    assert_eq!(places(&registry, "pause that doubles").await, [""; 0]);
    assert_eq!(
        fs::read_dir(root.path()).unwrap().count(),
        0,
        "nothing is written into the workspace"
    );
}

#[tokio::test]
async fn ignored_files_links_out_and_what_rules_refuse_are_left_out() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("o.rs"), RETRY).unwrap();
    let root = tempfile::tempdir().unwrap();
    for name in ["secret.rs", "ignored.rs", ".hidden.rs", "shown.rs"] {
        fs::write(root.path().join(name), RETRY).unwrap();
    }
    fs::create_dir(root.path().join(".git")).unwrap();
    fs::write(root.path().join(".gitignore"), "ignored.rs\n").unwrap();
    fs::write(root.path().join("binary.rs"), b"fn send_again\0").unwrap();
    std::os::unix::fs::symlink(outside.path().join("o.rs"), root.path().join("link.rs")).unwrap();
    std::os::unix::fs::symlink(outside.path(), root.path().join("out")).unwrap();
    let rules = RuleSet::default().with(Rule::forbid("secrets", ["secret.rs"]));
    let registry = registry(root.path(), rules);
    assert_eq!(
        places(&registry, "send the request again").await,
        ["shown.rs:2"]
    );
}

#[tokio::test]
async fn options_of_a_search_for_text_are_refused() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("a.rs"), RETRY).unwrap();
    let registry = registry(root.path(), RuleSet::default());
    for (name, value) in [
        ("regex", json!(true)),
        ("caseSensitive", json!(false)),
        ("wholeWord", json!(true)),
        ("multiline", json!(true)),
        ("context", json!(2)),
    ] {
        let mut arguments = json!({"query": "send"});
        arguments[name] = value;
        let outcome = ask(&registry, arguments).await;
        let error = outcome.error().unwrap();
        assert_eq!(error.code(), ErrorCode::InvalidArguments);
        assert!(
            error.message().contains("only for `mode` `text`"),
            "{error}"
        );
    }
    let file = ask(&registry, json!({"query": "send", "path": "a.rs"})).await;
    assert_eq!(file.error().unwrap().code(), ErrorCode::InvalidArguments);
    let signs = ask(&registry, json!({"query": "?!"})).await;
    assert_eq!(signs.error().unwrap().code(), ErrorCode::InvalidArguments);
}
