//! `read_result`: the rest of a result that was too long for a model.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::part::{Part, Wanted, Whole, part};
use super::{READ_RESULT, Results};
use crate::builtin;
use crate::call::context::CallContext;
use crate::model::JsonObject;
use crate::model::caller::Caller;
use crate::model::effects::Effects;
use crate::model::error::ToolError;
use crate::model::limits::{LimitsPatch, MB};
use crate::model::outcome::ToolOutput;
use crate::model::text;
use crate::registry::{RegisterError, Registration, Registry, Source};
use crate::spec::{ToolSpec, Traits};
use crate::tool::{Look, Tool};
use crate::wire::whole_error_text;
use crate::workspace::Workspace;

/// The characters that are read if the arguments do not say; cut if that is too long.
const FIRST: [u64; 2] = [0, 100_000];

struct ReadResult {
    spec: Arc<ToolSpec>,
    results: Results,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// The call whose result it is, as the note behind the shortened result says
    call: String,
    /// First and last line, from 1: `[200, 400]`. With `regex`, the lines to look through
    #[serde(default)]
    lines: Option<[u64; 2]>,
    /// First character and the one behind the last, from 0: `[0, 20000]`
    #[serde(default)]
    range: Option<[u64; 2]>,
    /// Returns the lines that this regular expression matches, with their numbers
    #[serde(default)]
    regex: Option<String>,
    /// Returns what this JSONPath selects, of a result that is JSON: `$.items[10:20].name`
    #[serde(default)]
    jsonpath: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Found {
    /// The part that was asked for
    text: String,
    /// How many characters the whole result has
    characters: u64,
    /// How many lines the whole result has
    lines: u64,
    /// Which part it is: `lines`, `range`, or how many `matches` or `values` there are
    part: JsonObject,
    /// Arguments that read on, if there is more
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<JsonObject>,
}

/// Adds the tool.
pub(crate) fn register(registry: &Registry, results: &Results) -> Result<(), RegisterError> {
    let tool = ReadResult {
        spec: Arc::new(spec()),
        results: results.clone(),
    };
    registry.insert_all(
        Source::BuiltIn,
        [(Arc::new(tool) as Arc<dyn Tool>, Registration::default())],
    )?;
    results.read_from(registry);
    Ok(())
}

fn spec() -> ToolSpec {
    let mut spec = builtin::typed_spec::<Args, Found>(
        READ_RESULT,
        "Read a result",
        "Read more of a result that was shortened because it was too long. Give the call that its note names, and one of `lines`, `range`, `regex` or `jsonpath`; \
         without one, it starts at the beginning.",
        Effects::READ,
    );
    spec.traits = Traits {
        open_world: Some(false),
        ..Traits::default()
    };
    // It is bounded by the tokens it may have.
    spec.limits = LimitsPatch {
        max_output_bytes: Some(64 * MB),
        ..LimitsPatch::default()
    };
    spec.examples = vec![
        json!({"call": "0197f9a0-7c1e-7000-8000-000000000000", "lines": [200, 400]}),
        json!({"call": "0197f9a0-7c1e-7000-8000-000000000000", "regex": "error|warning"}),
        json!({"call": "0197f9a0-7c1e-7000-8000-000000000000", "jsonpath": "$.items[10:20].name"}),
    ];
    spec
}

impl Tool for ReadResult {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn look(&self, _: &JsonObject, _: Option<&Workspace>) -> Look {
        Look::allow().with_effect(|args| {
            let call = args.get("call").and_then(Value::as_str);
            let call = text::shorten(call.unwrap_or_default(), 80);
            format!("read the result of the call `{call}`")
        })
    }

    fn call(
        &self,
        args: JsonObject,
        cx: CallContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let args: Args = builtin::arguments(args)?;
            let (results, caller) = (self.results.clone(), cx.caller().clone());
            cx.blocking(move || read(&results, &args, &caller)).await
        })
    }
}

fn read(results: &Results, args: &Args, caller: &Caller) -> Result<ToolOutput, ToolError> {
    let wanted = wanted(args)?;
    let kept = results.find(&args.call, caller)?;
    let (text, value) = match kept.result {
        Ok(output) => (output.text().into_owned(), output.value),
        Err(error) => {
            let details = error.details().cloned().unwrap_or_default();
            (whole_error_text(&error), Value::Object(details))
        }
    };
    let whole = Whole {
        text: &text,
        value: &value,
        max_tokens: results.settings().max_tokens,
    };
    let Part {
        text: shown,
        found,
        next,
    } = part(&whole, wanted)?;
    let with_call = |mut next: JsonObject| {
        next.insert("call".to_owned(), args.call.as_str().into());
        next
    };
    let made = Found {
        text: shown.clone(),
        characters: text.chars().count() as u64,
        lines: text.lines().count() as u64,
        part: object(found),
        next: next.map(object).map(with_call),
    };
    let mut said = shown;
    if let Some(next) = &made.next {
        if !said.ends_with('\n') {
            said.push('\n');
        }
        said.push_str(&format!(
            "[There is more: call `{READ_RESULT}` with {}]",
            json!(next)
        ));
    }
    builtin::typed_output(&made, said)
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(fields) => fields,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            JsonObject::new()
        }
    }
}

fn wanted(args: &Args) -> Result<Wanted<'_>, ToolError> {
    let given = [
        args.range.is_some(),
        args.regex.is_some(),
        args.jsonpath.is_some(),
        args.lines.is_some() && args.regex.is_none(),
    ];
    if given.iter().filter(|given| **given).count() > 1 {
        let why = "is given with another one; give one of `lines`, `range`, `regex` or `jsonpath`";
        let pointer = match (args.jsonpath.is_some(), args.range.is_some()) {
            (true, _) => "/jsonpath",
            (false, true) => "/range",
            (false, false) => "/lines",
        };
        return Err(builtin::invalid(READ_RESULT, pointer, why));
    }
    Ok(match args {
        Args {
            regex: Some(regex), ..
        } => Wanted::Regex(regex, args.lines),
        Args {
            jsonpath: Some(path),
            ..
        } => Wanted::JsonPath(path),
        Args {
            lines: Some(lines), ..
        } => Wanted::Lines(*lines),
        Args { range, .. } => Wanted::Range(range.unwrap_or(FIRST)),
    })
}
