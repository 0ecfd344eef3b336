//! Stage 3 and 4: do the arguments fit, and what do the tool and the rules say about them?

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use serde_json::Value;

use super::find::Located;
use super::trace::Trace;
use super::{Call, panic_text};
use crate::catalogue::{Entry, Inner};
use crate::limits::aside;
use crate::model::JsonObject;
use crate::model::effects::Verdict;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::limits::Limits;
use crate::rules::{Finding, Judgement, RuleContext};
use crate::schema::{Fault, Rejected};
use crate::spec::{Role, ToolSpec};
use crate::tool::{Look, Touched};
use crate::workspace::Workspace;

/// A call whose arguments are valid and that no rule denies, with what the tool says about it.
pub(super) struct Checked {
    judged: Judged,
    look: Look,
}

/// A [`Checked`] call without what the tool said: how it waits for an answer. The tool looks again before it is asked about again.
#[derive(Clone)]
pub(super) struct Judged {
    entry: Arc<Entry>,
    args: JsonObject,
    limits: Limits,
    judgement: Judgement,
}

impl Checked {
    pub(super) fn into_parts(self) -> (Judged, Look) {
        (self.judged, self.look)
    }
}

impl Judged {
    pub(super) fn parts(&self) -> (&Arc<Entry>, &JsonObject, &Judgement) {
        (&self.entry, &self.args, &self.judgement)
    }

    pub(super) fn into_parts(self) -> (Arc<Entry>, JsonObject, Limits, Judgement) {
        (self.entry, self.args, self.limits, self.judgement)
    }

    /// The call as it is to be asked about again.
    pub(super) fn again(self, inner: &Inner) -> Result<Checked, ToolError> {
        let look = look(&self.entry, &self.args, inner)?;
        Ok(Checked { judged: self, look })
    }
}

/// How deep arguments and outputs may be nested: less than the JSON parser allows, so that what is
/// stored around them can be read back.
const MAX_DEPTH: usize = 100;

/// Checks a call where it is.
pub(super) fn check(
    found: Located,
    call: &Call<'_>,
    trace: &mut Trace<'_>,
) -> Result<Checked, ToolError> {
    let edited = found.is_edited();
    let (entry, args, limits) = found.into_parts();
    measure(&entry, &args, &limits)?;
    let examined = examine(&entry, args, edited, call.inner);
    conclude(entry, limits, examined, trace)
}

/// Checks a call, long arguments off the async threads.
pub(super) async fn check_aside(
    found: Located,
    call: &Call<'_>,
    trace: &mut Trace<'_>,
) -> Result<Checked, ToolError> {
    let edited = found.is_edited();
    let (entry, args, limits) = found.into_parts();
    let size = measure(&entry, &args, &limits)?;
    let (own, inner) = (Arc::clone(&entry), Arc::clone(call.inner));
    let examining = aside(&call.caller, size, move || {
        examine(&own, args, edited, &inner)
    });
    let Some(examined) = call.cancel.run_until_cancelled(examining).await else {
        let message = "the call was cancelled before it ran";
        return Err(ToolError::new(ErrorCode::Cancelled, message));
    };
    conclude(entry, limits, examined?, trace)
}

/// About how many bytes the arguments have; an error when they are too many.
fn measure(entry: &Entry, args: &JsonObject, limits: &Limits) -> Result<usize, ToolError> {
    let size = args.iter().try_fold(2, |sum, (key, value)| {
        Some(sum + key.len() as u64 + size_of(value, 0)?)
    });
    let problem = match size {
        None => format!("is nested more than {MAX_DEPTH} levels deep"),
        Some(size) if size > limits.max_input_bytes => {
            let limit = limits.max_input_bytes;
            format!("is about {size} bytes long; the limit is {limit}")
        }
        Some(size) => return Ok(usize::try_from(size).unwrap_or(usize::MAX)),
    };
    Err(invalid(entry, &[fault("", problem)]))
}

/// What came of looking at arguments.
struct Examined {
    /// The part of them that is recorded, if they could be read.
    recorded: Option<JsonObject>,
    /// What the caller should know of them.
    warnings: Vec<String>,
    result: Result<(JsonObject, Judgement, Look), ToolError>,
}

/// Everything about arguments that takes time.
fn examine(entry: &Entry, args: JsonObject, edited: bool, inner: &Inner) -> Examined {
    let spec = entry.spec();
    let mut recorded = None;
    let (args, warnings) = match spec.input_schema.judge_arguments(args, &spec.synonyms) {
        Ok(accepted) => (accepted.args, accepted.warnings),
        Err(Rejected::Arguments { args, faults }) => {
            // The arguments are recorded as they were given.
            return Examined {
                recorded: Some(spec.input_schema.masked(&args, &spec.synonyms)),
                warnings: Vec::new(),
                result: Err(invalid(entry, &faults)),
            };
        }
        Err(Rejected::Schema(error)) => {
            let message = format!("`{}` has a schema that cannot be used: {error}", spec.name);
            let error = ToolError::new(ErrorCode::ToolUnavailable, message).caused_by(error);
            return Examined {
                recorded,
                warnings: Vec::new(),
                result: Err(error),
            };
        }
    };
    let given = spec.input_schema.masked(&args, &spec.synonyms);
    let recorded = recorded.insert(given);
    let judged = || {
        let args = refine(entry, args, edited)?;
        // What runs is on record, not what it was made from. Few tools make something of it, and looking is cheaper than copying.
        if !recorded.iter().eq(args.iter()) {
            *recorded = spec.input_schema.masked(&args, &spec.synonyms);
        }
        // First what can never be: an address that nothing reaches is that, whether or not a rule names it too.
        let mut look = look(entry, &args, inner)?;
        if let Some(refusal) = look.refusal.take() {
            return Err(refusal);
        }
        let judgement = judge(entry, &args, &look, inner)?;
        Ok((args, judgement, look))
    };
    let result = judged();
    Examined {
        recorded: Some(std::mem::take(recorded)),
        warnings,
        result,
    }
}

fn conclude(
    entry: Arc<Entry>,
    limits: Limits,
    examined: Examined,
    trace: &mut Trace<'_>,
) -> Result<Checked, ToolError> {
    if let Some(recorded) = examined.recorded {
        trace.parameters(recorded);
    }
    trace.warnings(examined.warnings);
    let (args, judgement, look) = examined.result?;
    let judged = Judged {
        entry,
        args,
        limits,
        judgement,
    };
    Ok(Checked { judged, look })
}

/// Has the tool finish its arguments; the error names every fault.
pub(super) fn refine(
    entry: &Entry,
    args: JsonObject,
    edited: bool,
) -> Result<JsonObject, ToolError> {
    let refined = std::panic::catch_unwind(AssertUnwindSafe(|| entry.tool().refine(args, edited)));
    refined
        .map_err(|panic| panicked(&*panic))?
        .map_err(|faults| invalid(entry, &faults))
}

/// What the tool itself says about these arguments.
pub(crate) fn look(entry: &Entry, args: &JsonObject, inner: &Inner) -> Result<Look, ToolError> {
    let workspace = inner.policy.workspace.as_deref();
    std::panic::catch_unwind(AssertUnwindSafe(|| entry.tool().look(args, workspace)))
        .map_err(|panic| panicked(&*panic))
}

/// What the rules say about valid arguments and what the tool makes of them; the error is that of a call that they deny.
pub(super) fn judge(
    entry: &Entry,
    args: &JsonObject,
    look: &Look,
    inner: &Inner,
) -> Result<Judgement, ToolError> {
    let workspace = inner.policy.workspace.as_deref();
    let cx = RuleContext {
        workspace: workspace.map(Workspace::root),
        commands: &look.commands,
        touched: &touched(entry.spec(), args, look, workspace),
        follows_links: true,
    };
    let judgement = inner.policy.rules.judge(entry.spec(), args, &cx);
    match judgement.verdict {
        Verdict::Deny => Err(blocked(entry, &judgement)),
        Verdict::Allow | Verdict::Ask => Ok(judgement),
    }
}

/// What a call touches besides the paths that its parameters name: what the tool says that it writes, and where links lead to. A link may
/// lead elsewhere by the time it is followed; the workspace, not a rule, is what cannot be left.
#[doc(hidden)]
pub fn touched(
    spec: &ToolSpec,
    args: &JsonObject,
    look: &Look,
    workspace: Option<&Workspace>,
) -> Vec<Touched> {
    let named = spec.roles.iter().flat_map(|(name, role)| {
        let is_written = *role == Role::WritePath;
        let is_path = matches!(role, Role::ReadPath | Role::WritePath | Role::Directory);
        let given = args.get(name).filter(|_| is_path);
        let texts: Vec<&str> = match given {
            Some(Value::String(text)) => vec![text],
            Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        texts.into_iter().map(move |text| (text, is_written))
    });
    let leads = |text: &str| {
        let workspace = workspace?;
        let place = workspace.led_to(&workspace.path(text).ok()?)?;
        Some(place.to_string_lossy().into_owned())
    };
    let written = look.writes.iter().flat_map(|path| {
        let paths = std::iter::once(path.clone()).chain(leads(path));
        paths.map(|path| Touched {
            path,
            is_written: true,
        })
    });
    let led_to = named.filter_map(|(text, is_written)| {
        let path = leads(text)?;
        Some(Touched { path, is_written })
    });
    written.chain(led_to).collect()
}

pub(super) fn panicked(panic: &(dyn std::any::Any + Send)) -> ToolError {
    ToolError::failed(format!("the tool panicked: {}", panic_text(panic)))
}

pub(super) fn fault(pointer: &str, message: String) -> Fault {
    Fault {
        pointer: pointer.to_owned(),
        message,
    }
}

pub(super) fn invalid(entry: &Entry, faults: &[Fault]) -> ToolError {
    let all: Vec<String> = faults
        .iter()
        .map(|fault| match fault.pointer.as_str() {
            "" => format!("the whole {}", fault.message),
            pointer => format!("`{pointer}` {}", fault.message),
        })
        .collect();
    let message = format!(
        "invalid arguments for `{}`: {}",
        entry.spec().name,
        all.join("; ")
    );
    let faults = serde_json::to_value(faults).unwrap_or_default();
    ToolError::new(ErrorCode::InvalidArguments, message).with_detail("faults", faults)
}

pub(super) fn blocked(entry: &Entry, judgement: &Judgement) -> ToolError {
    let why: Vec<String> = judgement
        .findings
        .iter()
        .filter(|finding| finding.verdict == Verdict::Deny)
        .map(Finding::in_words)
        .collect();
    ToolError::new(
        ErrorCode::BlockedByRule,
        format!("`{}` is refused: {}", entry.spec().name, why.join("; ")),
    )
    .with_detail(
        "findings",
        serde_json::to_value(&judgement.findings).unwrap_or_default(),
    )
}

/// About how long a value is as JSON; `None` when it is nested too deep.
pub(super) fn size_of(value: &Value, depth: usize) -> Option<u64> {
    if depth > MAX_DEPTH {
        return None;
    }
    Some(match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 8,
        Value::String(text) => text.len() as u64 + 2,
        Value::Array(items) => items.iter().try_fold(2, |sum: u64, item| {
            Some(sum + 1 + size_of(item, depth + 1)?)
        })?,
        Value::Object(fields) => fields.iter().try_fold(2, |sum: u64, (key, field)| {
            Some(sum + key.len() as u64 + 4 + size_of(field, depth + 1)?)
        })?,
    })
}
