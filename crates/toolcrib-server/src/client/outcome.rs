//! An [`Outcome`] out of its form on the wire.

use std::time::Duration;

use serde_json::Value;
use toolcrib::model::JsonObject;
use toolcrib::model::outcome::{Origin, Timing};
use toolcrib::{CallId, Outcome, Slug, ToolOutput, Version};

use super::error::error_of;

/// Reads an outcome in the shape `tagged`, with the `text` for people that a server adds for the command line. Fields that this version
/// does not know are passed over. The error names the field that cannot be read.
pub fn outcome_of(value: &Value) -> Result<Outcome, String> {
    let metadata = value.get("metadata").ok_or("`metadata` is missing")?;
    let result = match value.get("ok").and_then(Value::as_bool) {
        Some(true) => Ok(ToolOutput {
            value: value.get("value").cloned().unwrap_or_default(),
            text: value.get("text").and_then(Value::as_str).map(str::to_owned),
            failure: metadata
                .get("failure")
                .and_then(|failure| error_of(failure, 500))
                .map(Box::new),
            content: Vec::new(),
        }),
        Some(false) => Err(value
            .get("error")
            .and_then(|error| error_of(error, 500))
            .ok_or("`error` cannot be read")?),
        None => return Err("`ok` is missing".to_owned()),
    };
    let text = |name: &str| metadata.get(name).and_then(Value::as_str);
    let wanted = |name: &str| text(name).ok_or_else(|| format!("`metadata.{name}` is missing"));
    let time = |name: &str| {
        let time = wanted(name)?.parse();
        time.map_err(|_| format!("`metadata.{name}` is not a time"))
    };
    let span = |name: &str| milliseconds(metadata.get(name));
    let origin = match (text("bundle"), text("version")) {
        (Some(bundle), Some(version)) => Some(Origin {
            bundle: Slug::parse(bundle).map_err(|error| error.to_string())?,
            version: Version::parse(version).map_err(|error| error.to_string())?,
        }),
        _ => None,
    };
    let read = |name: &str| metadata.get(name).cloned();
    let unreadable = |error: serde_json::Error| error.to_string();
    Ok(Outcome {
        call_id: CallId::parse(wanted("callId")?).map_err(|error| error.to_string())?,
        called: None,
        tool: wanted("tool")?.to_owned(),
        origin,
        parameters: match metadata.get("parameters") {
            Some(Value::Object(parameters)) => parameters.clone(),
            _ => JsonObject::new(),
        },
        result,
        timing: Timing {
            started_at: time("startTime")?,
            ended_at: time("endTime")?,
            queue: span("queueTimeMs"),
            execution: span("executionTimeMs"),
            total: span("durationMs"),
        },
        approval: read("approval")
            .map(serde_json::from_value)
            .transpose()
            .map_err(unreadable)?,
        sandbox: read("sandbox")
            .map(serde_json::from_value)
            .transpose()
            .map_err(unreadable)?,
        truncated: metadata.get("truncated") == Some(&Value::Bool(true)),
        held: read("held")
            .map(serde_json::from_value)
            .transpose()
            .map_err(unreadable)?
            .unwrap_or_default(),
        warnings: read("warnings")
            .map(serde_json::from_value)
            .transpose()
            .map_err(unreadable)?
            .unwrap_or_default(),
    })
}

fn milliseconds(value: Option<&Value>) -> Duration {
    let milliseconds = value.and_then(Value::as_f64).unwrap_or_default();
    Duration::try_from_secs_f64(milliseconds / 1000.0).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolcrib::wire::{ResultShape, render};

    use super::*;

    fn tagged() -> Value {
        json!({"ok": true, "value": {"content": "hi"}, "text": "hi", "metadata": {
            "callId": "c-1", "tool": "read_file", "bundle": "core", "version": "v1", "parameters": {"path": "a"},
            "startTime": "2026-11-16T10:00:00Z", "endTime": "2026-11-16T10:00:01Z",
            "queueTimeMs": 0.25, "executionTimeMs": 12.346, "durationMs": 13.0,
            "approval": {"approved": true, "by": "--yes", "reason": "why"}, "truncated": true,
            "sandbox": {"requested": "process", "level": "process", "layers": ["landlock"]},
            "failure": {"code": "NETWORK_ERROR", "message": "gone"}, "ofTomorrow": 1}})
    }

    #[test]
    fn an_outcome_survives_the_way() {
        let mut expected = tagged();
        let outcome = outcome_of(&expected).unwrap();
        assert_eq!(outcome.result.as_ref().unwrap().text.as_deref(), Some("hi"));
        expected.as_object_mut().unwrap().remove("text");
        expected["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("ofTomorrow");
        assert_eq!(render(&outcome, ResultShape::Tagged), expected);
    }

    #[test]
    fn a_failure_survives_the_way_too() {
        let mut sent = tagged();
        sent["ok"] = false.into();
        sent["error"] = json!({
            "code": "TIMEOUT", "message": "too long", "tool": "read_file", "details": {"stdout": "a"},
        });
        sent["metadata"].as_object_mut().unwrap().remove("failure");
        let outcome = outcome_of(&sent).unwrap();
        assert_eq!(
            render(&outcome, ResultShape::Tagged)["error"],
            sent["error"]
        );
    }

    #[test]
    fn input_that_is_not_an_outcome_is_refused_with_the_field() {
        for (value, expected) in [
            (json!({}), "metadata"),
            (json!({"metadata": {}}), "ok"),
            (json!({"ok": true, "metadata": {}}), "startTime"),
            (json!({"ok": false, "metadata": {}}), "error"),
        ] {
            let error = outcome_of(&value).unwrap_err();
            assert!(
                error.contains(expected) || error.contains("callId"),
                "{value}: {error}"
            );
        }
    }
}
