//! Secrets stay out of everything that leaves a call: its outcome, what is recorded of it, what a person is asked about it.
//!
//! What runs is never touched: masks are for what is shown and kept. Events are masked where they are written, in
//! [`EventLog`](crate::call::event::EventLog).

use serde_json::Value;

use crate::approval::{ApprovalRequest, ApprovalResponse};
use crate::model::JsonObject;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::mask::{Masker, REDACTED};
use crate::model::outcome::{ApprovalTrail, HeldNote, Outcome, SandboxUse, ToolOutput};

/// Why a call with a secret in its arguments is asked about every time.
pub(super) const NO_GRANT: &str = "the arguments have a secret in them";

pub(super) fn mask_result(masker: &Masker, result: &mut Result<ToolOutput, ToolError>) {
    match result {
        Ok(output) => {
            masker.mask_value(&mut output.value);
            mask_option(masker, &mut output.text);
            for block in &mut output.content {
                masker.mask_value(block);
            }
            if let Some(failure) = &mut output.failure {
                failure.mask(masker);
            }
        }
        Err(error) => error.mask(masker),
    }
}

pub(super) fn mask_trail(masker: &Masker, trail: &mut ApprovalTrail) {
    masker.mask_text(&mut trail.by);
    masker.mask_text(&mut trail.reason);
    mask_option(masker, &mut trail.answer);
    mask_option(masker, &mut trail.grant);
}

pub(super) fn mask_sandbox(masker: &Masker, sandbox: &mut SandboxUse) {
    for text in sandbox
        .planted
        .iter_mut()
        .chain(&mut sandbox.not_enforced)
        .chain(&mut sandbox.layers)
    {
        masker.mask_text(text);
    }
}

pub(super) fn mask_held(masker: &Masker, held: &mut [HeldNote]) {
    for note in held {
        masker.mask_text(&mut note.path);
        masker.mask_text(&mut note.why);
    }
}

/// An outcome that was stored: secrets may have been set since.
pub(super) fn mask_outcome(masker: &Masker, outcome: &mut Outcome) {
    if masker.is_empty() {
        return;
    }
    masker.mask_text(&mut outcome.tool);
    masker.mask_object(&mut outcome.parameters);
    mask_result(masker, &mut outcome.result);
    if let Some(trail) = &mut outcome.approval {
        mask_trail(masker, trail);
    }
    mask_held(masker, &mut outcome.held);
    if let Some(sandbox) = &mut outcome.sandbox {
        mask_sandbox(masker, sandbox);
    }
}

/// What a person sees of a question. The digests are of the real arguments; a call with a secret in it is granted nothing.
pub(super) fn mask_question(masker: &Masker, question: &mut ApprovalRequest) {
    if masker.is_empty() {
        return;
    }
    masker.mask_object(&mut question.args);
    masker.mask_text(&mut question.effect);
    masker.mask_text(&mut question.reason);
    mask_option(masker, &mut question.diff);
    // A masked path would name another file.
    question.bound.retain(|file| !masker.finds(&file.path));
    let offered = serde_json::to_value(&question.offers).unwrap_or_default();
    if masker.finds_in(&offered) {
        question.offers.clear();
        question.no_grant = Some(NO_GRANT.to_owned());
    }
}

/// What someone says along with an answer.
#[doc(hidden)]
pub fn mask_answer(masker: &Masker, response: &mut ApprovalResponse) {
    masker.mask_text(&mut response.by);
    mask_option(masker, &mut response.reason);
}

pub(super) fn mask_option(masker: &Masker, text: &mut Option<String>) {
    if let Some(text) = text {
        masker.mask_text(text);
    }
}

/// Refuses an edit beside a mask: no one could tell what the text behind it is to be, and a mask is not a value.
pub(super) fn check_masks(edited: &JsonObject, shown: &JsonObject) -> Result<(), ToolError> {
    if !shown.iter().any(|(key, value)| has_mask(key, value)) {
        return Ok(());
    }
    let touched = edited
        .iter()
        .find(|(key, value)| key.contains(REDACTED) || is_touched(value, shown.get(*key)));
    match touched {
        None => Ok(()),
        Some((key, _)) => Err(ToolError::new(
            ErrorCode::InvalidArguments,
            format!(
                "`/{key}` was shown with a secret masked as `{REDACTED}` and cannot be edited in part; leave it as it is, or give it whole and without the secret"
            ),
        )),
    }
}

fn has_mask(key: &str, value: &Value) -> bool {
    key.contains(REDACTED) || is_touched(value, None)
}

/// Whether a value has a mask that was not shown in its very place.
fn is_touched(edited: &Value, shown: Option<&Value>) -> bool {
    match (edited, shown) {
        (Value::Null | Value::Bool(_) | Value::Number(_), _) => false,
        (Value::String(text), shown) => {
            text.contains(REDACTED) && shown.and_then(Value::as_str) != Some(text)
        }
        // Only in a list of the same length is it clear which item is meant.
        (Value::Array(items), Some(Value::Array(shown))) if items.len() == shown.len() => items
            .iter()
            .zip(shown)
            .any(|(item, shown)| is_touched(item, Some(shown))),
        (Value::Array(items), _) => items.iter().any(|item| is_touched(item, None)),
        (Value::Object(fields), shown) => {
            let shown = shown.and_then(Value::as_object);
            fields.iter().any(|(key, field)| {
                key.contains(REDACTED) || is_touched(field, shown.and_then(|shown| shown.get(key)))
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn checked(edited: Value, shown: Value) -> bool {
        check_masks(edited.as_object().unwrap(), shown.as_object().unwrap()).is_ok()
    }

    #[test]
    fn a_mask_may_stay_where_it_was_and_nowhere_else() {
        let shown =
            json!({"a": "x [REDACTED]", "b": 1, "l": ["[REDACTED]"], "o": {"k": "[REDACTED]"}});
        assert!(checked(shown.clone(), shown.clone()));
        assert!(checked(json!({"a": "new", "b": 2}), shown.clone()));
        for edited in [
            json!({"a": "y [REDACTED]"}),
            json!({"b": "[REDACTED]"}),
            json!({"l": ["[REDACTED]", "more"]}),
            json!({"l": ["[REDACTED]", "[REDACTED]"]}),
            json!({"o": {"other": "[REDACTED]"}}),
            json!({"o": {"[REDACTED]": 1}}),
            json!({"new": {"deep": ["[REDACTED]!"]}}),
        ] {
            assert!(!checked(edited.clone(), shown.clone()), "{edited}");
        }
    }

    #[test]
    fn where_nothing_was_masked_the_word_is_a_word() {
        assert!(checked(json!({"a": "[REDACTED]"}), json!({"a": "x"})));
    }
}
