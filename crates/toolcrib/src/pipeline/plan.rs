//! What a call would do, without doing it.

use std::sync::Arc;

use serde::Serialize;

use super::trace::Trace;
use super::{Begun, Call, check, clear, find};
use crate::model::JsonObject;
use crate::model::call::CallRequest;
use crate::model::effects::{Effects, Verdict};
use crate::model::error::ToolError;
use crate::model::limits::as_millis;
use crate::registry::Inner;

/// What a call would do: the answer to a dry run. Made by the same stages that a call goes through,
/// up to the point where a person would be asked.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// The tool's wire name.
    pub tool: String,
    /// Exactly which tool: `bundle/slug@version`.
    pub reference: String,
    /// The arguments it would get: spellings folded, defaults filled, secrets masked.
    pub parameters: JsonObject,
    /// What it may do to the world.
    pub effects: Effects,
    /// What it would do, in words.
    pub effect: String,
    /// Whether it would run at once or ask first.
    pub verdict: Verdict,
    /// Why it would ask.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What would change in a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// How long it may run.
    pub timeout_ms: u64,
    /// How long each text of its output may be.
    pub max_output_bytes: u64,
}

pub(crate) fn plan(inner: &Arc<Inner>, request: CallRequest) -> Result<Plan, ToolError> {
    let begun = Begun::of(&request);
    let call = Call {
        inner,
        id: begun.id.clone(),
        events: Arc::clone(&begun.events),
        cancel: Default::default(),
        depth: 0,
    };
    let mut trace = Trace::unlisted(inner, &request, &begun);
    // Nothing runs, so there is nothing to record.
    trace.forget();
    let found = find::find(&call, request, &mut trace)?;
    let (entry, args, limits, judgement) = check::check(found, &call, &mut trace)?.into_parts();
    let own = clear::ask_tool(&entry, &args, &call)?;
    let verdict = own.verdict.max(judgement.verdict);
    let spec = entry.spec();
    Ok(Plan {
        tool: spec.name.to_string(),
        reference: spec.reference(),
        parameters: spec.input_schema.masked(&args, &spec.synonyms),
        effects: spec.effects,
        reason: (verdict == Verdict::Ask).then(|| clear::reasons(&own, &judgement)),
        effect: own
            .effect
            .unwrap_or_else(|| clear::effect_in_words(&entry, &args)),
        diff: own.diff,
        verdict,
        timeout_ms: as_millis(limits.timeout),
        max_output_bytes: limits.max_output_bytes,
    })
}
