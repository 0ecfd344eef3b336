//! `find_tools`: what there is for some words, with all that a model needs to call it.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Deserialize;
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

#[derive(Debug, Deserialize)]
struct Args {
    #[serde(default)]
    query: String,
    limit: Option<usize>,
    #[serde(default)]
    bundles: Vec<String>,
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
    let input = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["query"],
        "properties": {
            "query": {"type": "string", "description": "A few words about what is to be done, such as `git history` or `send mail`"},
            "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT, "description": "The most tools to return"},
            "bundles": {"type": "array", "items": {"type": "string"}, "description": "Only tools of these bundles"}
        }
    });
    let output = json!({
        "type": "object",
        "required": ["tools"],
        "properties": {
            "tools": {
                "type": "array",
                "description": "The tools that fit, the best first",
                "items": {
                    "type": "object",
                    "required": ["name", "description", "inputSchema", "effects", "callWith"],
                    "properties": {
                        "name": {"type": "string"},
                        "title": {"type": "string"},
                        "bundle": {"type": "string"},
                        "description": {"type": "string"},
                        "inputSchema": {"type": "object", "description": "What its arguments must be"},
                        "effects": {"type": "array", "items": {"type": "string"}, "description": "`read`, `write`, `run`; empty if not known"},
                        "callWith": {"type": "string", "description": "The tool to call it with"}
                    }
                }
            },
            "note": {"type": "string", "description": "What should be known about the answer, if anything"}
        }
    });
    let mut spec = builtin::core_spec(
        super::FIND,
        "Find tools",
        "Find tools by words, in any form and order; the best come first. Each comes with its description, the schema of its arguments, and the name of the tool to call it with: \
         call_read_tool, call_write_tool or call_tool.",
        Effects::READ,
        input,
        output,
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
    let limit = args.limit.unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT);
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
        return Ok(cut(found.filter(has_name).collect(), limit, Vec::new()));
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
    Ok(cut(found, limit, misses))
}

/// Why a tool that fits is not among those that were found.
fn missed(entry: &Entry, reason: &str) -> String {
    let name = &entry.head().name;
    format!("`{name}` fits but cannot be called: {reason}")
}

/// The first of what was found, and what should be known about the rest.
fn cut(mut found: Vec<Arc<Entry>>, limit: usize, mut notes: Vec<String>) -> ToolOutput {
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

fn output(found: &[Arc<Entry>], note: Option<String>) -> ToolOutput {
    let tools: Vec<Value> = found.iter().map(|entry| shown(entry)).collect();
    let mut value = json!({"tools": tools});
    // A line for each: indented JSON is twice as long, and the reader a model.
    let mut lines: Vec<String> = tools.iter().map(Value::to_string).collect();
    if let Some(note) = note {
        value["note"] = note.as_str().into();
        lines.push(note);
    }
    ToolOutput::value(value).with_text(lines.join("\n"))
}

fn shown(entry: &Entry) -> Value {
    let spec = entry.spec().for_models();
    let mut tool = json!({
        "name": spec.name,
        "description": spec.description,
        "bundle": spec.bundle,
        "inputSchema": spec.input_schema.as_value(),
        "effects": spec.effects.tags(),
        "callWith": super::called_with(&spec),
    });
    if let Some(title) = &spec.title {
        tool["title"] = title.as_str().into();
    }
    tool
}
