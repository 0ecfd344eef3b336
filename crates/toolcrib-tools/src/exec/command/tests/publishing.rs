//! What models see of a file.

use serde_json::json;

use super::Scene;
use crate::model::effects::Effects;
use crate::spec::{Role, ToolSpec};
use crate::tool::Tool as _;

fn spec(yaml: &str) -> ToolSpec {
    let tool = Scene::new().make(yaml).unwrap();
    tool.spec().as_ref().clone()
}

const FULL: &str = r#"
name: full_tool
description: Does everything
version: 1.2.3
bash: echo {TEXT} {COUNT} {ALL} {LIST} {OBJ}
tags: [git, read]
parameters:
  TEXT:
    type: string
    description: A text
    examples: [abc, def]
    validation: {pattern: "^[a-z]+$", minLength: 1, maxLength: 9}
    detailed-help: Much more about the text than a model needs.
  COUNT:
    type: number
    description: How often
    default: 3
    validation: {minimum: 1, maximum: 100}
  ALL: {type: boolean, description: All of them, required: false}
  LIST:
    type: array
    description: Some
    required: false
    validation: {minLength: 1, maxLength: 3, enum: [[x1], [x1, x2]]}
  OBJ: {type: object, description: Fields, required: false}
metadata:
  category: development
  subcategory: version-control
  tags: [repository, git]
  search-keywords: [repo, checkout]
timeout: 5000
resources: {timeout: 3000}
"#;

#[test]
fn a_file_is_published_whole() {
    let spec = spec(FULL);
    assert_eq!(spec.name.as_str(), "full_tool");
    assert_eq!(spec.slug.as_str(), "full-tool");
    assert_eq!(spec.reference(), "local/full-tool@1.2.3");
    assert_eq!(spec.description, "Does everything");
    assert_eq!(
        *spec.input_schema.as_value(),
        json!({
            "type": "object",
            "properties": {
                "TEXT": {
                    "type": "string", "description": "A text", "minLength": 1, "maxLength": 9,
                    "pattern": "^[a-z]+$", "examples": ["abc", "def"]
                },
                "COUNT": {"type": "number", "description": "How often", "minimum": 1, "maximum": 100, "default": 3},
                "ALL": {"type": "boolean", "description": "All of them"},
                "LIST": {
                    "type": "array", "description": "Some", "minItems": 1, "maxItems": 3,
                    "enum": [["x1"], ["x1", "x2"]]
                },
                "OBJ": {"type": "object", "description": "Fields"}
            },
            "additionalProperties": false,
            "required": ["TEXT"]
        })
    );
    let output = spec.output_schema.unwrap();
    assert_eq!(
        output.as_value()["required"],
        json!(["output", "stdout", "stderr", "exitCode"])
    );
}

#[test]
fn only_top_level_tags_are_effects_and_all_tags_are_searched() {
    let spec = spec(FULL);
    assert_eq!(spec.effects, Effects::READ);
    assert_eq!(
        spec.tags,
        [
            "git",
            "read",
            "development",
            "version-control",
            "repository"
        ]
    );
    assert_eq!(spec.keywords, ["repo", "checkout"]);
    let untagged = super::super::tests::read(
        "{name: a, description: d, bash: 'true', metadata: {tags: [read, write]}}",
    );
    assert!(untagged.tags.is_empty());
    let spec = self::spec("{name: a, description: d, bash: 'true', metadata: {tags: [read]}}");
    assert!(spec.effects.is_unknown());
}

#[test]
fn the_smallest_timeout_is_the_limit() {
    assert_eq!(spec(FULL).limits.timeout_ms, Some(3000));
    let none = spec("{name: a, description: d, bash: 'true'}");
    assert_eq!(none.limits.timeout_ms, None);
}

#[test]
fn examples_make_up_calls() {
    assert_eq!(
        spec(FULL).examples,
        [json!({"TEXT": "abc"}), json!({"TEXT": "def"})]
    );
    // A call without something that is required would be no example.
    let without = spec(
        "{name: a, description: d, bash: 'echo {A} {B}', parameters: {A: {type: string, description: a, examples: [x]}, B: {type: string, description: b}}}",
    );
    assert!(without.examples.is_empty());
}

#[test]
fn schema_generation_decides_what_is_published() {
    let bare = FULL.to_owned()
        + "
function-calling:
  schema-generation:
    parameter-mapping: {number: integer, object: string}
    include-descriptions: false
    include-defaults: false
    example-generation: false
";
    let spec = spec(&bare);
    let properties = &spec.input_schema.as_value()["properties"];
    assert_eq!(
        properties["TEXT"],
        json!({"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^[a-z]+$"})
    );
    assert_eq!(
        properties["COUNT"],
        json!({"type": "integer", "minimum": 1, "maximum": 100})
    );
    assert_eq!(properties["OBJ"], json!({"type": "string"}));
    assert_eq!(spec.input_schema.as_value()["required"], json!(["TEXT"]));
    assert!(spec.examples.is_empty());
}

#[test]
fn what_is_checked_after_a_transform_is_not_published() {
    let spec = spec(
        r#"
name: a
description: d
bash: echo {A}
parameters:
  A: {type: string, description: a, transform: "value.toLowerCase()", validation: {pattern: "^[a-z]+$", enum: [x]}}
"#,
    );
    assert_eq!(
        spec.input_schema.as_value()["properties"]["A"],
        json!({"type": "string", "description": "a"})
    );
}

#[test]
fn parameters_that_permissions_name_are_paths_to_rules_and_grants() {
    let spec = spec(
        "
name: a
description: d
bash: echo {IN} {OUT} {OTHER}
parameters:
  IN: {type: string, description: i}
  OUT: {type: string, description: o}
  OTHER: {type: string, description: o}
security:
  required-permissions: ['filesystem:read:{IN}', 'filesystem:write:{OUT}', 'filesystem:read:{OTHER}/x']
",
    );
    assert_eq!(
        spec.roles,
        [
            ("IN".to_owned(), Role::ReadPath),
            ("OUT".to_owned(), Role::WritePath)
        ]
    );
}

#[test]
fn another_text_of_the_file_is_another_tool_to_approvals() {
    let scene = Scene::new();
    let digest = |yaml: &str, name: &str| {
        scene
            .registry()
            .register(scene.make(yaml).unwrap())
            .unwrap();
        scene.registry().find(name).unwrap().digest().to_owned()
    };
    let one = digest(
        "{name: a, description: d, tags: [read], bash: 'cat x'}",
        "a",
    );
    scene.registry().unregister("a").unwrap();
    let other = digest("{name: a, description: d, tags: [read], bash: 'rm x'}", "a");
    assert_ne!(one, other);
}

#[test]
fn a_tool_is_as_risky_as_what_it_uses() {
    let scene = Scene::new()
        .tool("{name: reads, description: d, tags: [read], bash: 'true'}")
        .tool("{name: writes, description: d, tags: [write], bash: 'true'}")
        .tool("{name: says-nothing, description: d, bash: 'true'}");
    let effects = |used: &str| {
        let yaml = format!(
            "{{name: uses, description: d, tags: [read], steps: [{{name: one, use-tool: {used}}}]}}"
        );
        scene.make(&yaml).unwrap().spec().effects
    };
    assert_eq!(effects("reads"), Effects::READ);
    assert_eq!(effects("writes"), Effects::READ.and(Effects::WRITE));
    assert!(effects("says-nothing").is_unknown());
    assert!(effects("missing").is_unknown());
}
