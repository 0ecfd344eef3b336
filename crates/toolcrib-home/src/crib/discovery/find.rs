//! `find_tools`: what there is for some words, with all that a model needs to call it.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use schemars::{JsonSchema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Others;
use crate::builtin;
use crate::call::context::CallContext;
use crate::crib::finder::{Finder, MeantRequest, SearchRequest};
use crate::model::JsonObject;
use crate::model::effects::Effects;
use crate::model::error::ToolError;
use crate::model::outcome::ToolOutput;
use crate::model::text;
use crate::registry::{Availability, Entry, Registry};
use crate::spec::{ToolSpec, Traits};
use crate::tool::{Look, Tool};
use crate::workspace::Workspace;

/// How many tools are shown if no one says, and at most.
const DEFAULT_LIMIT: usize = 10;
const MAX_LIMIT: usize = 50;
/// How many tools that fit and cannot be called are named.
const MAX_MISSES: usize = 3;
/// How many hits are looked through for some that can be shown.
const MAX_LOOKED_AT: usize = 500;

/// The tool.
pub(super) struct FindTools {
    spec: Arc<ToolSpec>,
    tools: Others,
    finder: Arc<Finder>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// A few words about what is to be done, such as `git history` or `send mail`
    query: String,
    /// The most tools to return
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = MAX_LIMIT))]
    limit: usize,
    /// Only tools of these bundles
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    bundles: Vec<String>,
}

/// The schema of any object.
fn object(_: &mut SchemaGenerator) -> schemars::Schema {
    json_schema!({"type": "object"})
}

fn default_limit() -> usize {
    DEFAULT_LIMIT
}

#[derive(Debug, Serialize, JsonSchema)]
struct OfferedTools {
    /// The tools that fit, the best first
    tools: Vec<OfferedTool>,
    /// What should be known about the answer, if anything
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct OfferedTool {
    name: String,
    description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    bundle: Option<String>,
    /// What its arguments must be
    #[schemars(schema_with = "object")]
    input_schema: Value,
    /// `read`, `write`, `run`; empty if not known
    effects: Vec<&'static str>,
    /// The tool to call it with
    call_with: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
}

impl FindTools {
    pub(super) fn new(tools: Others, finder: Arc<Finder>) -> Self {
        FindTools {
            spec: Arc::new(spec()),
            tools,
            finder,
        }
    }
}

fn spec() -> ToolSpec {
    let mut spec = builtin::typed_spec::<Args, OfferedTools>(
        super::FIND,
        "Find tools",
        "Find tools by words, in any form and order; the best come first. Each comes with its description, the schema of its arguments, and the name of the tool to call it with: \
         call_read_tool, call_write_tool or call_tool.",
        Effects::READ,
    );
    spec.traits = Traits {
        open_world: Some(false),
        ..Traits::default()
    };
    spec.examples = vec![
        json!({"query": "git history"}),
        json!({"query": "mail", "limit": 3}),
    ];
    spec
}

impl Tool for FindTools {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn look(&self, _: &JsonObject, _: Option<&Workspace>) -> Look {
        Look::allow()
    }

    fn call(
        &self,
        args: JsonObject,
        cx: CallContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let args: Args = builtin::arguments(args)?;
            let registry = self.tools.registry()?;
            let finder = Arc::clone(&self.finder);
            // The first search makes the index.
            cx.blocking(move || find(&finder, &registry, &args)).await
        })
    }
}

fn find(finder: &Finder, registry: &Registry, args: &Args) -> Result<ToolOutput, ToolError> {
    let limit = args.limit.min(MAX_LIMIT);
    // A call by its name would reach another one.
    let has_name = |entry: &Arc<Entry>| registry.shadower(entry).is_none();
    if args.query.trim().is_empty() {
        let request = SearchRequest {
            limit: MAX_LOOKED_AT,
            bundles: args.bundles.clone(),
            ..SearchRequest::default()
        };
        let page = finder.search(registry, &request)?;
        let found = page.results.into_iter().map(|found| found.entry);
        return cut(found.filter(has_name).collect(), limit, Vec::new());
    }
    let request = MeantRequest {
        query: args.query.clone(),
        bundles: args.bundles.clone(),
    };
    let (mut found, mut misses) = (Vec::new(), Vec::new());
    let meant = finder.meant(registry, &request);
    for entry in meant.into_iter().filter(has_name).take(MAX_LOOKED_AT) {
        match entry.availability() {
            Availability::Ready => found.push(entry),
            // One that would come first is worth a word.
            Availability::Disabled { reason, .. } | Availability::Unavailable { reason }
                if found.len() < MAX_MISSES =>
            {
                misses.push(missed(&entry, &reason));
            }
            Availability::Disabled { .. } | Availability::Unavailable { .. } => {}
        }
    }
    misses.truncate(MAX_MISSES);
    if found.is_empty() && misses.is_empty() {
        misses.push(format!(
            "no tool fits `{}`; try other words",
            text::shorten(&args.query, 80)
        ));
    }
    cut(found, limit, misses)
}

/// Why a tool that fits is not among those that were found.
fn missed(entry: &Entry, reason: &str) -> String {
    let name = &entry.head().name;
    format!("`{name}` fits but cannot be called: {reason}")
}

/// The first of what was found, and what should be known about the rest.
fn cut(
    mut found: Vec<Arc<Entry>>,
    limit: usize,
    mut notes: Vec<String>,
) -> Result<ToolOutput, ToolError> {
    if found.len() > limit {
        let more = match found.len() {
            // The rest was not looked at.
            MAX_LOOKED_AT => format!("at least {}", MAX_LOOKED_AT - limit),
            all => (all - limit).to_string(),
        };
        found.truncate(limit);
        notes.push(format!(
            "{more} more fit; ask for more words or a higher limit"
        ));
    }
    let note = (!notes.is_empty()).then(|| notes.join("; "));
    output(&found, note)
}

fn output(found: &[Arc<Entry>], note: Option<String>) -> Result<ToolOutput, ToolError> {
    let found = OfferedTools {
        tools: found.iter().map(|entry| shown(entry)).collect(),
        note,
    };
    let mut output = builtin::typed_output(&found, String::new())?;
    // A line for each: indented JSON is twice as long, and the reader a model.
    let tools = output.value["tools"].as_array().into_iter().flatten();
    let lines = tools.map(Value::to_string).chain(found.note);
    output.text = Some(lines.collect::<Vec<_>>().join("\n"));
    Ok(output)
}

fn shown(entry: &Entry) -> OfferedTool {
    let spec = entry.spec().for_models();
    OfferedTool {
        name: spec.name.to_string(),
        description: spec.description.clone(),
        bundle: Some(spec.bundle.to_string()),
        input_schema: spec.input_schema.as_value().clone(),
        effects: spec.effects.tags(),
        call_with: super::called_with(&spec),
        title: spec.title.clone(),
    }
}
