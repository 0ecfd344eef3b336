use std::time::Duration;

use serde_json::json;

use super::*;
use crate::model::JsonObject;
use crate::model::error::ErrorCode;
use crate::model::ids::CallId;
use crate::model::outcome::Timing;

fn outcome(result: Result<ToolOutput, ToolError>) -> Outcome {
    let now = jiff::Timestamp::UNIX_EPOCH;
    let zero = Duration::ZERO;
    Outcome {
        call_id: CallId::parse("c1").unwrap(),
        called: None,
        tool: "t".to_owned(),
        origin: None,
        parameters: JsonObject::new(),
        result,
        timing: Timing {
            started_at: now,
            ended_at: now,
            queue: zero,
            execution: zero,
            total: zero,
        },
        approval: None,
        sandbox: None,
        truncated: false,
        held: Vec::new(),
        warnings: Vec::new(),
    }
}

const KEPT: ReadOn = ReadOn::Kept { hours: 24 };

fn made(
    result: Result<ToolOutput, ToolError>,
    reader: ReaderOf,
    schema: Option<&Schema>,
) -> Fitted {
    let whole = outcome(result);
    assert!(!fits(&whole, 2000, reader));
    let made = fit(whole, 2000, reader, schema, &KEPT);
    assert!(fits(&made.outcome, 2000, reader) || made.is_broken);
    made
}

#[test]
fn a_result_within_the_bound_fits() {
    for value in [json!("x".repeat(8000)), json!({"a": 1}), json!(null)] {
        assert!(fits(
            &outcome(Ok(ToolOutput::value(value))),
            2000,
            ReaderOf::Values
        ));
    }
}

#[test]
fn a_text_keeps_its_ends_and_the_note_says_which_lines_to_read_next() {
    let text: String = (1..=3000).map(|n| format!("line {n}\n")).collect();
    let fitted = made(Ok(ToolOutput::value(text)), ReaderOf::Text, None);
    let shown = fitted.outcome.result.unwrap().text.unwrap();
    assert!(shown.starts_with("line 1\n") && shown.ends_with("line 3000\n"));
    let first = shown
        .lines()
        .position(|line| line.starts_with('['))
        .unwrap()
        + 1;
    assert_eq!(
        fitted.note,
        format!(
            "[This result is shortened; the whole has 28893 characters in 3000 lines. To read more, call `read_result` with \
             {{\"call\":\"c1\",\"lines\":[{first},{}]}}, or with `lines`, `range` (characters), `regex` or `jsonpath` instead. \
             The whole is kept for 24 hours.]",
            first + 199
        )
    );
    assert!(fitted.outcome.truncated);
}

#[test]
fn a_value_is_shortened_within_its_schema() {
    let rows: Vec<Value> = (0..2000)
        .map(|n| json!({"n": n, "name": "someone"}))
        .collect();
    let schema = Schema::stored(
        json!({"type": "object", "required": ["rows"], "properties": {
        "rows": {"type": "array", "items": {"type": "object", "required": ["n", "name"]}}}}),
    );
    let value = ToolOutput::value(json!({"rows": rows}));
    let fitted = made(Ok(value), ReaderOf::Objects, schema.as_ref().ok());
    let value = fitted.outcome.result.unwrap().value;
    let kept = value["rows"].as_array().unwrap().len();
    assert!(kept > 100 && !fitted.is_broken);
    assert!(
        fitted
            .note
            .contains(&format!("`/rows` has {kept} of 2000 items")),
        "{}",
        fitted.note
    );
}

#[test]
fn a_value_that_its_schema_wants_whole_is_text_only() {
    let schema = Schema::stored(json!({"type": "object", "properties": {
        "rows": {"type": "array", "minItems": 5000}}}));
    let value = ToolOutput::value(json!({"rows": vec![json!(7_000_000); 5000]}));
    let fitted = made(Ok(value), ReaderOf::Objects, schema.as_ref().ok());
    assert!(fitted.is_broken);
    let text = fitted.outcome.result.unwrap().text.unwrap();
    assert!(text.contains("[… left out: "), "{text}");
    assert!(fitted.note.contains("only text here"));
}

#[test]
fn an_error_keeps_its_code_and_a_part_of_its_details() {
    let error = ToolError::new(ErrorCode::ExecutionError, "exit code 2")
        .with_detail("stderr", "e".repeat(20_000))
        .with_detail("exitCode", 2);
    let fitted = made(Err(error), ReaderOf::Objects, None);
    let error = fitted.outcome.result.unwrap_err();
    assert_eq!(
        (error.code(), error.message()),
        (ErrorCode::ExecutionError, "exit code 2")
    );
    assert_eq!(error.details().unwrap()["exitCode"], 2);
    assert!(
        error.details().unwrap()["stderr"]
            .as_str()
            .unwrap()
            .contains("characters left out")
    );
}

#[test]
fn pictures_stay_and_long_blocks_are_cut() {
    let image = json!({"type": "image", "data": "A".repeat(100_000), "mimeType": "image/png"});
    let text = json!({"type": "text", "text": "t".repeat(100_000)});
    let odd = json!({"type": "resource", "resource": {"uri": "a:b", "blob": "B".repeat(100_000)}});
    let output = ToolOutput::value("t").with_content(vec![text, odd]);
    let fitted = made(Ok(output), ReaderOf::Objects, None);
    let content = fitted.outcome.result.unwrap().content;
    assert!(
        content[0]["text"]
            .as_str()
            .unwrap()
            .contains("left out: characters")
    );
    assert_eq!(content[1]["text"], "[left out: a block of type `resource`]");
    let output = ToolOutput::value("t").with_content(vec![image]);
    assert!(fits(&outcome(Ok(output)), 2000, ReaderOf::Objects));
}

#[test]
fn what_is_not_kept_is_not_promised() {
    let why = ReadOn::Lost("the disk is full".to_owned());
    let whole = outcome(Ok(ToolOutput::value("x".repeat(50_000))));
    let fitted = fit(whole, 2000, ReaderOf::Text, None, &why);
    assert!(
        fitted
            .note
            .ends_with("The rest cannot be read: the disk is full. Ask for less to see it.]")
    );
}
