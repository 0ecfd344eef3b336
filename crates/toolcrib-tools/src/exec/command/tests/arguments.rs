//! Type → default → transform → validation.

use serde_json::{Value, json};

use super::{Scene, error, value};
use crate::approval::ApprovalResponse;
use crate::model::error::ErrorCode;
use crate::tool::Tool as _;

const LOWER: &str = r#"
name: lower
description: d
bash: printf %s {A}
tags: [read]
parameters:
  A:
    type: string
    description: a
    default: DEF
    transform: "value.toLowerCase() + '!'"
    validation: {pattern: "^[a-z]+!$", maxLength: 6}
"#;

#[tokio::test]
async fn a_value_is_transformed_then_checked() {
    let scene = Scene::new().tool(LOWER);
    let outcome = scene.call("lower", json!({"A": "ABC"})).await;
    assert_eq!(value(&outcome)["output"], "abc!");
    assert_eq!(outcome.parameters["A"], "abc!");
    let outcome = scene.call("lower", json!({})).await;
    assert_eq!(value(&outcome)["output"], "def!");
    let outcome = scene.call("lower", json!({"A": "A1"})).await;
    let error = error(&outcome);
    assert_eq!(error.code(), ErrorCode::InvalidArguments);
    let faults = error.details().unwrap()["faults"].as_array().unwrap();
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert_eq!(faults[0]["pointer"], "/A");
}

#[tokio::test]
async fn what_a_person_edits_is_checked_and_not_transformed_again() {
    let untagged = LOWER.replace("tags: [read]\n", "");
    let args = |text: &str| json!({"A": text}).as_object().unwrap().clone();
    let mut scene = Scene::new();
    scene.crib = scene.crib.answers([
        ApprovalResponse::approve_with("test", args("edit!")),
        ApprovalResponse::approve_with("test", args("edit")),
    ]);
    let scene = scene.tool(&untagged);
    let outcome = scene.call("lower", json!({"A": "ABC"})).await;
    assert_eq!(value(&outcome)["output"], "edit!");
    assert_eq!(scene.crib.asked()[0].args["A"], "abc!");
    let outcome = scene.call("lower", json!({"A": "ABC"})).await;
    assert_eq!(error(&outcome).code(), ErrorCode::InvalidArguments);
}

#[test]
fn every_fault_of_a_transform_has_its_place() {
    let yaml = r#"
name: many
description: d
bash: echo {A} {B} {C} {D}
parameters:
  A: {type: string, description: a, transform: "value.nope.nope"}
  B: {type: number, description: b, transform: "String(value)"}
  C: {type: string, description: c, transform: "(() => { for (;;) {} })()"}
  D: {type: array, description: d, transform: "value.map(x => x * 2)"}
"#;
    let tool = Scene::new().make(yaml).unwrap();
    let args = json!({"A": "a", "B": 1, "C": "c", "D": [1, 2]});
    let faults = tool
        .refine(args.as_object().unwrap().clone(), false)
        .unwrap_err();
    let pointers: Vec<&str> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
    assert_eq!(pointers, ["/A", "/B", "/C"]);
    assert!(
        faults[1].message.contains("makes a string of it"),
        "{faults:?}"
    );
    assert!(faults[2].message.contains("100 ms"), "{faults:?}");
}

#[test]
fn a_number_of_a_transform_becomes_a_text() {
    let yaml = r#"{name: n, description: d, bash: "echo {A}", parameters: {A: {type: string, description: a, transform: "value.length"}}}"#;
    let tool = Scene::new().make(yaml).unwrap();
    let args = json!({"A": "abc"}).as_object().unwrap().clone();
    assert_eq!(tool.refine(args, false).unwrap()["A"], "3");
}

#[tokio::test]
async fn a_default_that_is_not_published_is_filled_in_all_the_same() {
    let scene = Scene::new().tool(
        "{name: a, description: d, tags: [read], bash: 'echo {N}', parameters: {N: {type: number, description: n, default: 7}}, function-calling: {schema-generation: {include-defaults: false}}}",
    );
    assert_eq!(value(&scene.call("a", json!({})).await)["output"], "7");
}

#[tokio::test]
async fn a_parameter_published_as_text_is_read_as_what_it_is() {
    let scene = Scene::new().tool(
        "
name: mapped
description: d
tags: [read]
bash: printf '%s|' {N} {L} {O}
parameters:
  N: {type: number, description: n, validation: {minimum: 2}}
  L: {type: array, description: l}
  O: {type: object, description: o, required: false}
function-calling:
  schema-generation:
    parameter-mapping: {number: string, array: string, object: string}
",
    );
    let outcome = scene
        .call(
            "mapped",
            json!({"N": "5", "L": "[\"a b\", 1]", "O": "{\"k\": 1}"}),
        )
        .await;
    assert_eq!(value(&outcome)["output"], "5|a b|1|{\"k\":1}|");
    for (args, pointer) in [
        (json!({"N": "five", "L": "[]"}), "/N"),
        (json!({"N": "1", "L": "[]"}), "/N"),
        (json!({"N": "5", "L": "a b"}), "/L"),
    ] {
        let outcome = scene.call("mapped", args.clone()).await;
        let faults = error(&outcome).details().unwrap()["faults"].clone();
        assert_eq!(faults[0]["pointer"], pointer, "{args}: {faults}");
    }
}

#[tokio::test]
async fn a_value_that_would_be_an_option_is_refused_before_anything_runs() {
    let scene = Scene::new().tool(
        "{name: f, description: d, bash: 'ls {DIR}', parameters: {DIR: {type: string, description: d}}}",
    );
    let outcome = scene.call("f", json!({"DIR": "-la"})).await;
    let error = error(&outcome);
    assert_eq!(error.code(), ErrorCode::InvalidArguments);
    assert_eq!(
        error.details().unwrap()["faults"][0]["pointer"],
        Value::from("/DIR")
    );
    assert!(scene.crib.asked().is_empty());
}

#[tokio::test]
async fn a_value_that_no_variable_can_hold_is_refused() {
    let scene = Scene::new().tool(
        "{name: e, description: d, tags: [read], bash: 'echo ${#V}', environment: {variables: {V: 'x{A}'}}, parameters: {A: {type: string, description: a}}}",
    );
    let long = "x".repeat(131_068);
    let outcome = scene.call("e", json!({"A": long})).await;
    assert_eq!(value(&outcome)["output"], "131069");
    for bad in ["a\0b".to_owned(), format!("{long}x")] {
        let outcome = scene.call("e", json!({"A": bad})).await;
        let error = error(&outcome);
        assert_eq!(error.code(), ErrorCode::InvalidArguments);
        assert_eq!(error.details().unwrap()["faults"][0]["pointer"], "/A");
    }
}

#[tokio::test]
async fn an_integer_is_whole_before_and_after_its_transform_and_as_a_text() {
    let mapped = "function-calling: {schema-generation: {parameter-mapping: {integer: string}}}\n";
    let mut scene = Scene::new();
    for (name, field, more) in [
        ("plain", "minimum: 1", ""),
        ("halved", "transform: value / 2", ""),
        ("text", "minimum: 1", mapped),
    ] {
        scene = scene.tool(&format!(
            "name: {name}\ndescription: x\ntags: [read]\nbash: printf %s {{N}}\nparameters: {{N: {{type: integer, description: n, {field}}}}}\n{more}"
        ));
    }
    for (tool, given, printed) in [
        ("plain", json!(2), Some("2")),
        ("plain", json!(2.0), Some("2")),
        ("plain", json!(2.5), None),
        ("plain", json!(0), None),
        ("halved", json!(4), Some("2")),
        ("halved", json!(5), None),
        ("text", json!("7"), Some("7")),
        ("text", json!("7.5"), None),
    ] {
        let outcome = scene.call(tool, json!({"N": given})).await;
        match printed {
            Some(printed) => assert_eq!(value(&outcome)["output"], printed, "{tool}: {given}"),
            None => assert_eq!(
                error(&outcome).code(),
                ErrorCode::InvalidArguments,
                "{tool}: {given}"
            ),
        }
    }
}

#[tokio::test]
async fn every_item_of_a_list_is_checked() {
    let scene = Scene::new().tool(
        "name: list\ndescription: x\ntags: [read]\nbash: printf %s, {N}\nparameters: {N: {type: array, description: n, items: {type: integer}}}\n",
    );
    let outcome = scene.call("list", json!({"N": [1, 2]})).await;
    assert_eq!(value(&outcome)["output"], "1,2,");
    let outcome = scene.call("list", json!({"N": [1, "x"]})).await;
    assert_eq!(error(&outcome).code(), ErrorCode::InvalidArguments);
}
