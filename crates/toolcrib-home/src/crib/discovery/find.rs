//! `find_tools`: what there is for some words, with all that a model needs to call it.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Others;
use crate::builtin;
use crate::call::context::CallContext;
use crate::crib::finder::{Finder, SearchRequest};
use crate::model::JsonObject;
use crate::model::effects::Effects;
use crate::model::error::ToolError;
use crate::model::outcome::ToolOutput;
use crate::model::text;
use crate::registry::{Entry, Registry};
use crate::spec::{ToolSpec, Traits};
use crate::tool::{Look, Tool};
use crate::workspace::Workspace;

/// How many tools are shown if nobody says, and at most.
const DEFAULT_LIMIT: usize = 10;
const MAX_LIMIT: usize = 50;
/// How many words are looked for one by one where no tool fits all of them.
const MAX_WORDS: usize = 8;
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
                        "effects": {"type": "array", "items": {"type": "string"}, "description": "`read`, `write`, `run`; empty if nobody knows"},
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
        "Find tools by words. Each comes with its description, the schema of its arguments, and the name of the tool to call it with: \
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
    let is_wanted = |entry: &Entry| registry.shadower(entry).is_none();
    let search = |query: &str| -> Result<Vec<Arc<Entry>>, ToolError> {
        let page = finder.search(
            registry,
            &SearchRequest {
                query: query.to_owned(),
                limit: MAX_LOOKED_AT,
                bundles: args.bundles.clone(),
                ..SearchRequest::default()
            },
        )?;
        let found = page.results.into_iter().map(|found| found.entry);
        Ok(found.filter(|entry| is_wanted(entry)).collect())
    };
    let mut found = search(&args.query)?;
    let mut note = None;
    if found.is_empty() && !args.query.trim().is_empty() {
        found = by_single_words(&args.query, &search)?;
        note = Some(match found.is_empty() {
            true => format!(
                "no tool fits `{}`; try fewer or other words",
                text::shorten(&args.query, 80)
            ),
            false => "no tool fits all of the words; these fit some of them".to_owned(),
        });
    }
    if found.len() > limit {
        let more = match found.len() {
            // Nobody looked further.
            MAX_LOOKED_AT => format!("at least {}", MAX_LOOKED_AT - limit),
            all => (all - limit).to_string(),
        };
        found.truncate(limit);
        note.get_or_insert_with(|| {
            format!("{more} more fit; ask for more words or a higher limit")
        });
    }
    Ok(output(&found, note))
}

/// Words of a sentence that say nothing of what is wanted.
const SAY_NOTHING: [&str; 20] = [
    "and", "are", "can", "could", "for", "from", "have", "how", "into", "need", "please", "some",
    "that", "the", "this", "want", "what", "which", "with", "you",
];

/// Whether a word is one of a tool's name.
fn entry_is_called(entry: &Entry, word: &str) -> bool {
    let mut words = entry.head().slug.as_str().split(['-', '_', '.']);
    words.any(|part| part.eq_ignore_ascii_case(word))
}

/// Tools that fit some of the words: those first that fit most of them, a word counting the more the fewer tools it fits.
fn by_single_words(
    query: &str,
    search: &impl Fn(&str) -> Result<Vec<Arc<Entry>>, ToolError>,
) -> Result<Vec<Arc<Entry>>, ToolError> {
    // Words like `a` and `to` fit everything and say nothing.
    let words = query.split_whitespace().filter(|word| {
        word.chars().count() > 2 && !SAY_NOTHING.contains(&word.to_lowercase().as_str())
    });
    let mut scores: HashMap<u64, (usize, usize, Arc<Entry>)> = HashMap::new();
    for word in words.take(MAX_WORDS) {
        let hits = search(word)?;
        let weight = 1_000_000 / hits.len().max(1);
        for (place, entry) in hits.into_iter().enumerate() {
            let score = scores
                .entry(entry.number())
                .or_insert((0, usize::MAX, entry));
            // A tool that is called so counts twice: its description may only mention the word.
            let is_called_so = entry_is_called(&score.2, word);
            score.0 += if is_called_so { 2 * weight } else { weight };
            score.1 = score.1.min(place);
        }
    }
    let mut found: Vec<_> = scores.into_values().collect();
    found.sort_by(|(weight, place, entry), (others, other_place, other)| {
        others
            .cmp(weight)
            .then_with(|| place.cmp(other_place))
            .then_with(|| entry.head().name.cmp(&other.head().name))
    });
    Ok(found.into_iter().map(|(_, _, entry)| entry).collect())
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
