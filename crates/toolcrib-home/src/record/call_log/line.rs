//! One record as one line of bounded length.

use std::io;

use serde_json::{Value, json};

use crate::model::JsonObject;
use toolcrib_core::record::CallRecord;

/// The longest line, without its line feed.
pub(super) const MAX_LINE_BYTES: usize = 64 * 1024;

/// The longest text in the parameters that is kept whole.
const MAX_PARAMETER_BYTES: usize = 2 * 1024;

/// The longest of all other texts. Small enough that a record without its parameters fits in a
/// line even if every byte of it has to be escaped.
const MAX_FIELD_BYTES: usize = 1024;

/// How deep parameters are kept; deeper values would cost stack in the serializer.
const MAX_DEPTH: usize = 64;

/// Adds a record to `lines`, with a line feed at its end. Long texts are shortened, and parameters
/// that are still too long are left out, both with a note that says so.
///
/// On error `lines` is as it was.
pub(super) fn push_line(lines: &mut Vec<u8>, record: &CallRecord) -> io::Result<()> {
    if !has_long_texts(record) && push(lines, record).is_ok() {
        return Ok(());
    }
    let mut room = MAX_LINE_BYTES;
    let kept = shortened_object(&record.parameters, MAX_DEPTH, &mut room).unwrap_or_else(left_out);
    let mut record = record.with_parameters(kept);
    shorten_fields(&mut record);
    push(lines, &record).or_else(|_| {
        record.parameters = left_out();
        push(lines, &record)
    })
}

/// Adds a record as it is. On error `lines` is as it was.
fn push(lines: &mut Vec<u8>, record: &CallRecord) -> io::Result<()> {
    let start = lines.len();
    let line = Capped {
        lines,
        end: start + MAX_LINE_BYTES,
    };
    let result = serde_json::to_writer(line, record);
    match result {
        Ok(()) => lines.push(b'\n'),
        Err(_) => lines.truncate(start),
    }
    result.map_err(io::Error::from)
}

fn left_out() -> JsonObject {
    let note = format!("the parameters have more than {MAX_LINE_BYTES} bytes");
    JsonObject::from_iter([(String::from("(left out)"), json!(note))])
}

/// Whether a text has to be shortened, a value is too deep, or there are more values than fit in a line. Nearly always not, and then no
/// copy has to be made to do it.
fn has_long_texts(record: &CallRecord) -> bool {
    let is_long = |text: &String| text.len() > MAX_FIELD_BYTES;
    let mut room = MAX_LINE_BYTES;
    let has_long_trail = || {
        record.approval.as_ref().is_some_and(|approval| {
            is_long(&approval.by)
                || is_long(&approval.reason)
                || approval.answer.as_ref().is_some_and(is_long)
        })
    };
    is_long(&record.tool)
        || record.message.as_ref().is_some_and(is_long)
        || has_long_trail()
        || record
            .parameters
            .values()
            .any(|value| is_long_value(value, MAX_DEPTH, &mut room))
}

/// `room` is for as many values, each of which takes a byte at least.
fn is_long_value(value: &Value, depth: usize, room: &mut usize) -> bool {
    if *room == 0 {
        return true;
    }
    *room -= 1;
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => text.len() > MAX_PARAMETER_BYTES,
        Value::Array(_) | Value::Object(_) if depth == 0 => true,
        Value::Array(items) => items
            .iter()
            .any(|item| is_long_value(item, depth - 1, room)),
        Value::Object(fields) => fields
            .values()
            .any(|field| is_long_value(field, depth - 1, room)),
    }
}

fn shorten_fields(record: &mut CallRecord) {
    let CallRecord {
        tool,
        message,
        approval,
        ..
    } = record;
    shorten(tool, MAX_FIELD_BYTES);
    if let Some(message) = message {
        shorten(message, MAX_FIELD_BYTES);
    }
    if let Some(approval) = approval {
        shorten(&mut approval.by, MAX_FIELD_BYTES);
        shorten(&mut approval.reason, MAX_FIELD_BYTES);
        if let Some(answer) = &mut approval.answer {
            shorten(answer, MAX_FIELD_BYTES);
        }
    }
}

/// A copy with shortened texts; none if it has more bytes than there is room.
fn shortened_object(fields: &JsonObject, depth: usize, room: &mut usize) -> Option<JsonObject> {
    let fields = fields.iter().map(|(name, value)| {
        *room = room.checked_sub(name.len())?;
        Some((name.clone(), shortened(value, depth, room)?))
    });
    fields.collect()
}

fn shortened(value: &Value, depth: usize, room: &mut usize) -> Option<Value> {
    let bytes = match value {
        Value::String(text) => text.len().min(MAX_PARAMETER_BYTES),
        _ => 1,
    };
    *room = room.checked_sub(bytes)?;
    Some(match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        Value::String(text) => Value::String(shortened_text(text, MAX_PARAMETER_BYTES)),
        Value::Array(_) | Value::Object(_) if depth == 0 => json!("… (too deep, left out)"),
        Value::Array(items) => {
            let items = items.iter().map(|item| shortened(item, depth - 1, room));
            Value::Array(items.collect::<Option<_>>()?)
        }
        Value::Object(fields) => Value::Object(shortened_object(fields, depth - 1, room)?),
    })
}

/// Whether the log kept less of a parameter than the call had, by the notes it leaves.
pub fn is_cut(name: &str, value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => {
            name == "(left out)" || (text.contains("… (") && text.ends_with("left out)"))
        }
        Value::Array(items) => items.iter().any(|item| is_cut("", item)),
        Value::Object(fields) => fields.values().any(|field| is_cut("", field)),
    }
}

fn shorten(text: &mut String, max: usize) {
    if text.len() > max {
        *text = shortened_text(text, max);
    }
}

fn shortened_text(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let kept = text.floor_char_boundary(max);
    format!("{}… ({} bytes left out)", &text[..kept], text.len() - kept)
}

/// Stops the serializer at the end of the longest line instead of letting it fill the memory.
struct Capped<'a> {
    lines: &'a mut Vec<u8>,
    end: usize,
}

impl io::Write for Capped<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.lines.len() + bytes.len() > self.end {
            return Err(io::Error::other("the line is too long"));
        }
        self.lines.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::caller::Caller;
    use crate::model::ids::CallId;
    use crate::model::outcome::ApprovalTrail;
    use jiff::Timestamp;
    use toolcrib_core::record::{MAX_STEPS, StepRecord};

    fn record(parameters: Value) -> CallRecord {
        let Value::Object(parameters) = parameters else {
            panic!("not an object")
        };
        CallRecord {
            call_id: CallId::parse("c-1").unwrap(),
            tool: String::from("read_file"),
            bundle: None,
            slug: None,
            version: None,
            tool_id: None,
            reached: true,
            caller: Caller::Library,
            parent: None,
            start_time: Timestamp::UNIX_EPOCH,
            end_time: Timestamp::UNIX_EPOCH,
            queue_time_ms: 0.5,
            execution_time_ms: 1.25,
            duration_ms: 2.0,
            ok: true,
            code: None,
            message: None,
            approval: None,
            truncated: false,
            network: Vec::new(),
            steps: Vec::new(),
            hook: None,
            parameters,
        }
    }

    fn line(record: CallRecord) -> CallRecord {
        let mut lines = b"before\n".to_vec();
        push_line(&mut lines, &record).unwrap();
        let line = lines
            .strip_prefix(b"before\n")
            .unwrap()
            .strip_suffix(b"\n")
            .unwrap();
        assert!(line.len() <= MAX_LINE_BYTES, "{} bytes", line.len());
        serde_json::from_slice(line).unwrap()
    }

    #[test]
    fn a_line_reads_back_as_the_record() {
        let record = record(json!({"path": "a\nb", "deep": {"list": [1, null, "x"]}}));
        assert_eq!(line(record.clone()), record);
    }

    #[test]
    fn long_texts_keep_their_start_and_say_what_is_missing() {
        let kept = line(record(
            json!({"text": "天".repeat(1000), "in": {"list": ["x".repeat(2049)]}}),
        ));
        assert_eq!(
            kept.parameters["text"],
            format!("{}… (954 bytes left out)", "天".repeat(682))
        );
        assert_eq!(
            kept.parameters["in"]["list"][0],
            format!("{}… (1 bytes left out)", "x".repeat(2048))
        );
    }

    #[test]
    fn parameters_over_the_line_limit_are_left_out() {
        let kept = line(record(json!({"numbers": vec![123_456; 20_000]})));
        assert_eq!(kept.parameters, left_out());
        assert_eq!(kept.tool, "read_file");
    }

    #[test]
    fn even_the_worst_record_fits_in_a_line() {
        let worst = || "\u{1}".repeat(100_000);
        let mut record = record(json!({}));
        record.parameters.insert(worst(), json!(worst()));
        record.tool = worst();
        record.message = Some(worst());
        record.call_id = CallId::parse(&"\\".repeat(CallId::MAX_BYTES)).unwrap();
        record.parent = Some(record.call_id.clone());
        let (by, reason, answer) = (worst(), worst(), Some(worst()));
        record.approval = Some(ApprovalTrail {
            changed: Vec::new(),
            grant: None,
            approved: true,
            by,
            reason,
            answer,
            modified: true,
        });
        let step = StepRecord {
            name: "\u{1}".repeat(64),
            status: "cancelled".to_owned(),
            start_ms: 1e9 / 3.0,
            duration_ms: 1e9 / 3.0,
        };
        record.steps = vec![step; MAX_STEPS];
        assert_eq!(line(record).parameters, left_out());
    }

    #[test]
    fn a_line_of_an_older_version_reads_as_a_record_without_steps() {
        let mut old = serde_json::to_value(record(json!({"path": "a"}))).unwrap();
        assert!(old.get("steps").is_none());
        old["steps"] = json!([{"name": "a", "status": "ok", "startMs": 1.0, "durationMs": 2.5}]);
        let new: CallRecord = serde_json::from_value(old).unwrap();
        assert_eq!(line(new.clone()), new);
    }

    #[test]
    fn what_was_cut_can_be_identified() {
        let long = "x".repeat(MAX_PARAMETER_BYTES + 1);
        let cut = line(record(json!({"a": long, "b": [long], "c": "x", "d": 1})));
        let names: Vec<&str> = cut
            .parameters
            .iter()
            .filter(|(name, value)| is_cut(name, value))
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(names, ["a", "b"]);
        assert!(left_out().iter().all(|(name, value)| is_cut(name, value)));
    }

    #[test]
    fn depth_is_cut_before_it_costs_the_stack() {
        let deep = (0..1000).fold(json!(1), |inner, _| Value::Array(vec![inner]));
        let text = line(record(json!({"deep": deep}))).parameters["deep"].to_string();
        assert_eq!(text.matches('[').count(), MAX_DEPTH);
    }
}
