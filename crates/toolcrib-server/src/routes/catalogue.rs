//! Definitions of tools: for providers (`/api/definitions`), and checked before they are stored (`/api/check`).

use std::sync::Arc;

use http::{Method, StatusCode};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use toolcrib::crib::CheckedText;
use toolcrib::definition::Severity;
use toolcrib::registry::Availability;
use toolcrib::wire::{DefinitionOptions, Definitions, Provider, definitions, tokens_sent};
use toolcrib::{Crib, ErrorCode, ToolSpec};

use super::work::{blocking, shown};
use crate::api::{Answer, ApiRequest, Refusal, Route, Who, param};

/// What came of checking.
#[derive(Debug, Serialize, JsonSchema)]
struct Checked {
    /// What was checked: the one definition that was sent.
    files: Vec<CheckedText>,
    /// How many of its problems are errors: with one it cannot be stored or loaded.
    errors: usize,
    /// How many of its problems are warnings.
    warnings: usize,
}

/// A definition as text.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Text {
    /// What it is called; the end says whether it is YAML (`.yaml`) or JSON (`.json`).
    file: Option<String>,
    /// Its text.
    content: String,
}

/// Either a text or S4's `tool.json` itself.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "the shape of a body that is read by hand")]
enum CheckBody {
    /// A text.
    Text(Text),
    /// S4's `tool.json`.
    Definition(Map<String, Value>),
}

/// Definitions as they are sent.
#[derive(Debug, Serialize, JsonSchema)]
struct Sent {
    #[serde(flatten)]
    definitions: Definitions,
    /// Of each tool, if `texts` was asked for: the bytes that a model's provider is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    texts: Option<Vec<SentText>>,
}

/// One definition as it is sent.
#[derive(Debug, Serialize, JsonSchema)]
struct SentText {
    /// The text.
    text: String,
    /// How many tokens it costs, by an estimate.
    tokens: u64,
}

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/definitions/{provider}",
            Who::Caller,
            |api, asked| blocking(api, asked, definitions_for),
        )
        .named(
            "getDefinitions",
            "catalogue",
            "Gives the definitions of the tools on offer in a provider's format.",
        )
        .about(
            "What a format cannot say of a tool is in `losses`; calls are checked against the tool's own schema anyway. A tool that \
             cannot be expressed at all is in `dropped`.",
        )
        .param(param::path_of(
            "provider",
            "Whose format; `plain`: names, descriptions and schemas as they are.",
            provider_schema,
        ))
        .param(param::query_text("bundle", "Only tools of this bundle, by id or slug."))
        .param(param::query_list(
            "tools",
            "Only these tools, by name or any other reference, separated by commas; also those that are off.",
        ))
        .param(param::query_flag("strict", "The provider's strict mode; for `openai`, `openai-responses` and `anthropic` only."))
        .param(param::query_flag("texts", "Whether to add each definition as the text that is sent, with its tokens."))
        .answers::<Sent>(200, "The definitions, ready to send, by name.")
        .refuses(404, "There is no such provider, bundle or tool."),
        Route::new(Method::POST, "/api/check", Who::Operator, |api, asked| {
            blocking(api, asked, check)
        })
        .named(
            "check",
            "catalogue",
            "Says everything that is wrong with a definition, and stores nothing.",
        )
        .about(
            "Send S4's `tool.json` itself, or the text of a file as `{file?, content}`. Places are those of the text; those of a \
             `tool.json` are of its text as `toolcrib show --json` would print it, indented by two spaces.",
        )
        .takes::<CheckBody>("The definition.", || {
            json!({"file": "hello.yaml", "content": "description: Says hello\ntags: [read]\nbash: echo hello\n"})
        })
        .answers::<Checked>(200, "Its problem, if there is one."),
    ]
}

fn provider_schema(_: &mut SchemaGenerator) -> Schema {
    let mut names: Vec<&str> = Provider::ALL.into_iter().map(Provider::as_str).collect();
    names.push(PLAIN);
    json_schema!({"type": "string", "enum": names})
}

fn definitions_for(crib: &Crib, asked: &ApiRequest) -> Answer {
    if asked.path.get("provider") == PLAIN {
        let made = Definitions {
            tools: specs(crib, asked)?.iter().map(|spec| plain(spec)).collect(),
            ..Definitions::default()
        };
        return Ok(shown(crib, StatusCode::OK, &made));
    }
    let provider: Provider = asked.path.get("provider").parse().map_err(|error| {
        Refusal::new(
            ErrorCode::NotFound,
            toolcrib::wire::UnknownChoice::to_string(&error),
        )
    })?;
    let strict = asked.query.flag("strict")?;
    if strict && !provider.has_strict_mode() {
        return Err(Refusal::usage(
            "`strict` works with `openai`, `openai-responses` and `anthropic`",
        ));
    }
    let specs = specs(crib, asked)?;
    let options = DefinitionOptions { strict };
    let made = definitions(specs.iter().map(AsRef::as_ref), provider, &options);
    let texts = match asked.query.flag("texts")? {
        true => Some(made.tools.iter().map(sent_text).collect()),
        false => None,
    };
    let sent = Sent {
        definitions: made,
        texts,
    };
    Ok(shown(crib, StatusCode::OK, &sent))
}

fn sent_text(definition: &Value) -> SentText {
    SentText {
        text: definition.to_string(),
        tokens: tokens_sent(definition),
    }
}

/// The format of no provider: names and schemas as they are.
const PLAIN: &str = "plain";

fn plain(spec: &ToolSpec) -> Value {
    let mut tool = json!({"name": spec.name, "description": spec.description, "inputSchema": spec.input_schema.as_value()});
    if let Some(schema) = &spec.output_schema {
        tool["outputSchema"] = schema.as_value().clone();
    }
    tool
}

/// The tools that were asked for.
fn specs(crib: &Crib, asked: &ApiRequest) -> Result<Vec<Arc<ToolSpec>>, Refusal> {
    let registry = crib.registry();
    let tools = asked.query.list("tools");
    match (asked.query.text("bundle"), tools.as_slice()) {
        (Some(_), [_, ..]) => Err(Refusal::usage("give `bundle` or `tools`, not both")),
        (Some(bundle), []) => {
            let id = crib.bundle(bundle)?.bundle.bundle_id;
            let entries = registry.entries().into_iter();
            let ready = entries
                .filter(|entry| entry.bundle_id() == Some(id))
                .filter(|entry| entry.availability() == Availability::Ready);
            Ok(ready.map(|entry| Arc::clone(entry.spec())).collect())
        }
        (None, []) => Ok(registry.list()),
        (None, tools) => tools
            .iter()
            .map(|tool| Ok(Arc::clone(registry.find(tool)?.spec())))
            .collect(),
    }
}

fn check(crib: &Crib, asked: &ApiRequest) -> Answer {
    let fields = asked.object()?;
    let (file, text) = match fields.contains_key("content") {
        true => {
            let Text { file, content } = asked.json()?;
            (file.unwrap_or_else(|| "definition".to_owned()), content)
        }
        false => (
            "definition.json".to_owned(),
            serde_json::to_string_pretty(&fields).unwrap_or_default() + "\n",
        ),
    };
    if file.len() > 1024 {
        return Err(Refusal::usage("`file` is longer than 1024 bytes"));
    }
    let checked = crib.check_text(&file, text.as_bytes());
    let answer = Checked {
        errors: checked.count(Severity::Error),
        warnings: checked.count(Severity::Warning),
        files: vec![checked],
    };
    Ok(shown(crib, StatusCode::OK, &answer))
}
