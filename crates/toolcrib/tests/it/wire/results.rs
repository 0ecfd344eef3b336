//! Result shapes.

use std::time::Duration;

use serde_json::{Value, json};
use toolcrib::model::outcome::{ApprovalTrail, Origin, Timing};
use toolcrib::wire::{ResultShape, render};
use toolcrib::{CallId, ErrorCode, Outcome, Slug, ToolError, ToolOutput, Version};

use crate::golden;

fn outcome(result: Result<ToolOutput, ToolError>) -> Outcome {
    let Value::Object(parameters) = json!({"command": "ls", "token": "***"}) else {
        unreachable!("an object")
    };
    Outcome {
        call_id: CallId::parse("call-123").unwrap(),
        tool: "shell".to_owned(),
        called: None,
        origin: Some(Origin {
            bundle: Slug::parse("core").unwrap(),
            version: Version::v1(),
        }),
        parameters,
        result,
        timing: Timing {
            started_at: "2026-11-15T20:23:00Z".parse().unwrap(),
            ended_at: "2026-11-15T20:23:01.501234567Z".parse().unwrap(),
            queue: Duration::from_nanos(1_234_567),
            execution: Duration::from_nanos(1_500_000_001),
            total: Duration::from_nanos(1_501_234_568),
        },
        approval: None,
        sandbox: None,
        warnings: Vec::new(),
        truncated: false,
        held: Vec::new(),
    }
}

fn ran() -> ToolOutput {
    let value = json!({"stdout": "a\nb\n", "stderr": "", "exitCode": 0, "duration": 1500});
    ToolOutput::value(value).with_text("a\nb\n")
}

/// Every shape of an outcome, in one golden file.
#[track_caller]
fn assert_shapes(name: &str, outcome: &Outcome) {
    let shapes: serde_json::Map<String, Value> = ResultShape::ALL
        .into_iter()
        .map(|shape| (shape.to_string(), render(outcome, shape)))
        .collect();
    golden::assert_json(&format!("wire/result_{name}.json"), &Value::Object(shapes));
}

#[test]
fn a_success_in_every_shape() {
    assert_shapes("success", &outcome(Ok(ran())));
}

#[test]
fn a_failure_with_details_in_every_shape() {
    let error = ToolError::new(
        ErrorCode::Timeout,
        "`sleep 60` ran past its 30 s and was stopped",
    )
    .with_detail("stdout", "half\n")
    .with_detail("timeoutMs", 30_000);
    assert_shapes("failure", &outcome(Err(error)));
}

#[test]
fn an_approval_that_changed_the_arguments_in_every_shape() {
    let approval = ApprovalTrail {
        changed: Vec::new(),
        grant: None,
        approved: true,
        by: "terminal".to_owned(),
        reason: "`notes.md` exists and would be overwritten".to_owned(),
        answer: Some("not in the root, please".to_owned()),
        modified: true,
    };
    assert_shapes(
        "approved",
        &Outcome {
            approval: Some(approval),
            ..outcome(Ok(ran()))
        },
    );
}

#[test]
fn a_truncated_text_in_every_shape() {
    let output = ToolOutput::value("head … tail");
    assert_shapes(
        "truncated",
        &Outcome {
            truncated: true,
            ..outcome(Ok(output))
        },
    );
}

#[test]
fn a_tool_that_was_not_found_has_no_origin_in_every_shape() {
    let error = ToolError::new(
        ErrorCode::ToolNotFound,
        "tool not found: `shel`; did you mean `shell`?",
    );
    let not_found = Outcome {
        origin: None,
        tool: "shel".to_owned(),
        ..outcome(Err(error))
    };
    assert_shapes("not_found", &not_found);
}

#[test]
fn detailed_data_is_always_an_object() {
    let data = |output: ToolOutput| {
        render(&outcome(Ok(output)), ResultShape::Detailed)
            .get("data")
            .cloned()
    };
    assert_eq!(data(ToolOutput::value("text")), None);
    assert_eq!(
        data(ToolOutput::value(json!({"a": 1}))),
        Some(json!({"a": 1}))
    );
    assert_eq!(
        data(ToolOutput::value(json!([1, 2]))),
        Some(json!({"value": [1, 2]}))
    );
    assert_eq!(
        data(ToolOutput::value(Value::Null)),
        Some(json!({"value": null}))
    );
    // The text says something else than the string: both are worth having.
    assert_eq!(
        data(ToolOutput::value("raw").with_text("shown")),
        Some(json!({"value": "raw"}))
    );
}

/// Case MCP-012: a tool result that would write to the clipboard and clear the screen.
#[test]
fn escape_sequences_do_not_reach_an_mcp_clients_terminal() {
    let attack = "\u{1b}]52;c;ZXZpbA==\u{7}\u{1b}[2Jdone";
    let results = [
        Ok(ToolOutput::value(attack)),
        Ok(ToolOutput::value(json!({"stdout": attack})).with_text(attack)),
        Err(ToolError::failed(attack).with_detail("stderr", format!("{attack}\u{202e}"))),
    ];
    for result in results {
        let rendered = render(&outcome(result), ResultShape::Mcp);
        let text = rendered["content"][0]["text"].as_str().unwrap();
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text:?}");
        assert!(text.contains("]52;c;ZXZpbA=="), "{text:?}");
    }
}

#[test]
fn structured_content_is_an_object_or_absent() {
    let content = |value: Value| {
        render(&outcome(Ok(ToolOutput::value(value))), ResultShape::Mcp)
            .get("structuredContent")
            .cloned()
    };
    assert_eq!(
        content(json!({"a": "\u{1b}"})),
        Some(json!({"a": "\u{1b}"}))
    );
    assert_eq!(content(json!([1])), None);
    assert_eq!(content(json!("text")), None);
}
