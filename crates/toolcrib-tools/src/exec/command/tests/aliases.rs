//! `type: alias`.

use serde_json::json;

use super::{Scene, error, value};
use crate::model::error::ErrorCode;
use crate::tool::Tool as _;

const CLONE: &str = "
name: git-clone
description: Clones a repository
bash: printf '%s|' {URL} {DIRECTORY} {BRANCH_NAME}
tags: [write]
timeout: 9000
parameters:
  URL: {type: string, description: From, examples: [u]}
  DIRECTORY: {type: string, description: To, examples: [d]}
  BRANCH_NAME: {type: string, description: Which, required: false, examples: [b]}
";

const ALIAS: &str = "
name: clone-my-repo
type: alias
base-tool: git-clone
fixed-parameters:
  URL: 'https://github.com/my-org/my-repo.git'
  DIRECTORY: './repos/{BRANCH}'
";

#[test]
fn an_alias_is_published_as_its_base_without_what_is_preset() {
    let scene = Scene::new().tool(CLONE);
    let spec = scene.make(ALIAS).unwrap().spec();
    assert_eq!(spec.description, "Clones a repository");
    assert_eq!(
        *spec.input_schema.as_value(),
        json!({
            "type": "object",
            "properties": {
                "BRANCH_NAME": {"type": "string", "description": "Which", "examples": ["b"]},
                "BRANCH": {"type": "string", "description": "Part of the preset `DIRECTORY`"}
            },
            "additionalProperties": false,
            "required": []
        })
    );
    assert_eq!(spec.effects.tags(), ["write"]);
    assert_eq!(spec.limits.timeout_ms, Some(9000));
    assert_eq!(spec.examples, [json!({"BRANCH_NAME": "b"})]);
}

#[tokio::test]
async fn presets_use_the_arguments_of_the_alias() {
    let scene = Scene::new().tool(CLONE).tool(ALIAS);
    let outcome = scene
        .call(
            "clone-my-repo",
            json!({"BRANCH": "a b", "BRANCH_NAME": "main"}),
        )
        .await;
    assert_eq!(
        value(&outcome)["output"],
        "https://github.com/my-org/my-repo.git|./repos/a b|main|"
    );
    assert_eq!(outcome.sandbox.as_ref().unwrap().level, "process");
    let outcome = scene.call("clone-my-repo", json!({})).await;
    assert_eq!(
        value(&outcome)["output"],
        "https://github.com/my-org/my-repo.git|./repos/|"
    );
    let outcome = scene.call("clone-my-repo", json!({"URL": "x"})).await;
    assert_eq!(error(&outcome).code(), ErrorCode::InvalidArguments);
}

#[tokio::test]
async fn a_caller_overrides_defaults_and_sees_them() {
    let alias = ALIAS.replace("fixed-parameters", "default-parameters");
    let scene = Scene::new().tool(CLONE).tool(&alias);
    let spec = std::sync::Arc::clone(scene.registry().find("clone-my-repo").unwrap().spec());
    let properties = &spec.input_schema.as_value()["properties"];
    assert_eq!(
        properties["URL"],
        json!({"type": "string", "description": "From", "examples": ["u"], "default": "https://github.com/my-org/my-repo.git"})
    );
    assert_eq!(
        properties["DIRECTORY"]["description"],
        "To (default: `./repos/{BRANCH}`)"
    );
    assert_eq!(spec.input_schema.as_value()["required"], json!([]));
    for (args, output) in [
        (json!({}), "https://github.com/my-org/my-repo.git|./repos/|"),
        (json!({"URL": "mine"}), "mine|./repos/|"),
        (
            json!({"DIRECTORY": "here", "BRANCH": "x"}),
            "https://github.com/my-org/my-repo.git|here|",
        ),
    ] {
        let outcome = scene.call("clone-my-repo", args).await;
        assert_eq!(value(&outcome)["output"], output);
    }
}

#[tokio::test]
async fn fixed_and_default_parameters_stand_side_by_side() {
    let alias = "{name: c, type: alias, base-tool: git-clone, fixed-parameters: {URL: u}, default-parameters: {DIRECTORY: d}}";
    let scene = Scene::new().tool(CLONE).tool(alias);
    let outcome = scene.call("c", json!({"DIRECTORY": "e"})).await;
    assert_eq!(value(&outcome)["output"], "u|e|");
    let outcome = scene.call("c", json!({"URL": "v"})).await;
    assert_eq!(error(&outcome).code(), ErrorCode::InvalidArguments);
}

#[tokio::test]
async fn the_base_is_asked_about_and_not_the_alias() {
    let untagged = CLONE.replace("tags: [write]\n", "");
    let scene = Scene::new().approved().tool(&untagged).tool(ALIAS);
    value(&scene.call("clone-my-repo", json!({"BRANCH": "x"})).await);
    let asked = scene.crib.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].tool, "git-clone");
    let scene = Scene::new().tool(&untagged).tool(ALIAS);
    let outcome = scene.call("clone-my-repo", json!({})).await;
    assert_eq!(error(&outcome).code(), ErrorCode::ApprovalUnavailable);
}

#[tokio::test]
async fn any_tool_can_be_a_base() {
    let scene = Scene::new().file("notes.md", "hello").builtins().tool(
        "{name: notes, description: Reads the notes, type: alias, base-tool: read_file, default-parameters: {path: notes.md}}",
    );
    let outcome = scene.call("notes", json!({})).await;
    assert_eq!(outcome.result.unwrap().text(), "hello");
}

#[test]
fn an_alias_that_cannot_be_is_refused_with_the_reason() {
    let scene = Scene::new().tool(CLONE);
    for (presets, base, words) in [
        (
            "{URL: x}",
            "no-such-tool",
            "its base tool `no-such-tool` is not there",
        ),
        (
            "{NOPE: x}",
            "git-clone",
            "has no parameter `NOPE` to preset",
        ),
        ("{URL: '{TEMP}/x'}", "git-clone", "no temporary directory"),
        (
            "{URL: x, DIRECTORY: '{URL}/y'}",
            "git-clone",
            "which is preset itself",
        ),
    ] {
        let yaml =
            format!("{{name: a, type: alias, base-tool: {base}, default-parameters: {presets}}}");
        let error = scene.make(&yaml).err().unwrap();
        assert!(error.message().contains(words), "{error}");
    }
}
