//! Tool definitions in the format each [`Provider`] expects (S1, S2, S3).
//!
//! One tool that cannot be expressed never spoils the list: it is [`Dropped`], with a reason, and
//! the others stay. Wire names need no work here: `[A-Za-z0-9_-]{1,64}` suits every provider, but
//! for Gemini, which is particular about the first character.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::UnknownChoice;
use super::hints::Hints;
use super::lower::{self, Dialect, Lowered};
use crate::spec::ToolSpec;

/// The most characters OpenAI takes as the description of a function.
const MAX_DESCRIPTION: usize = 1024;

/// The provider that the definitions are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Provider {
    /// OpenAI and what is compatible with it (LM Studio, vLLM …): `{"type": "function", …}`.
    OpenAi,
    /// S2's `toOpenAIFunctions`: the function alone, without the wrapper.
    OpenAiFunctions,
    /// OpenAI's Responses API: the function and its `type` in one object.
    OpenAiResponses,
    /// Anthropic's tool use.
    Anthropic,
    /// Gemini: one of the `functionDeclarations` of a tool in the request.
    Gemini,
    /// Ollama, in OpenAI's format with simpler schemas.
    Ollama,
    /// S3's MCP form. (On the MCP wire itself a tool has no `type`.)
    Mcp,
}

impl Provider {
    /// Every provider.
    pub const ALL: [Provider; 7] = [
        Provider::OpenAi,
        Provider::OpenAiFunctions,
        Provider::OpenAiResponses,
        Provider::Anthropic,
        Provider::Gemini,
        Provider::Ollama,
        Provider::Mcp,
    ];

    /// The name on the command line and in URLs.
    pub fn as_str(self) -> &'static str {
        match self {
            Provider::OpenAi => "openai",
            Provider::OpenAiFunctions => "openai-functions",
            Provider::OpenAiResponses => "openai-responses",
            Provider::Anthropic => "anthropic",
            Provider::Gemini => "gemini",
            Provider::Ollama => "ollama",
            Provider::Mcp => "mcp",
        }
    }

    /// Whether it has a strict mode.
    pub fn has_strict_mode(self) -> bool {
        matches!(
            self,
            Provider::OpenAi | Provider::OpenAiResponses | Provider::Anthropic
        )
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Provider {
    type Err = UnknownChoice;

    fn from_str(text: &str) -> Result<Self, UnknownChoice> {
        let found = Provider::ALL
            .into_iter()
            .find(|provider| provider.as_str() == text);
        found.ok_or_else(|| UnknownChoice {
            what: "provider",
            given: text.to_owned(),
            known: Provider::ALL.map(Provider::as_str).to_vec(),
        })
    }
}

/// How definitions are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DefinitionOptions {
    /// Strict mode: the model's arguments always fit the published schema. Schemas lose
    /// more of what they say, and fewer tools can be expressed. For [`Provider::OpenAi`],
    /// [`Provider::OpenAiResponses`] and [`Provider::Anthropic`] only; the others have no such flag to set.
    pub strict: bool,
}

/// The definition of one tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Definition {
    /// The definition, ready to send.
    pub tool: Value,
    /// What it does not say that the tool's spec does.
    pub losses: Vec<Loss>,
}

/// The definitions of several tools.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Definitions {
    /// The definitions, in the order of the specs.
    pub tools: Vec<Value>,
    /// What they do not say that the specs do.
    pub losses: Vec<Loss>,
    /// The tools that are not among them.
    pub dropped: Vec<Dropped>,
}

/// Something a definition could not say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Loss {
    /// The tool's wire name.
    pub tool: String,
    /// Where in the tool's input schema, as a JSON pointer; empty for the tool as a whole.
    pub pointer: String,
    /// The part that is lost, and its consequence.
    pub reason: String,
}

/// A tool that is not in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Dropped {
    /// The tool's wire name.
    pub tool: String,
    /// Why.
    pub reason: String,
}

/// A tool has no definition for a provider.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot express tool `{tool}` for {provider}: {reason}{}", place(.pointer))]
pub struct NotExpressible {
    /// The tool's wire name.
    pub tool: String,
    /// The provider.
    pub provider: Provider,
    /// Where in the tool's input schema, as a JSON pointer.
    pub pointer: String,
    /// The reason.
    pub reason: String,
}

fn place(pointer: &str) -> String {
    match pointer {
        "" => String::new(),
        pointer => format!(" (at `{}`)", crate::model::text::shorten(pointer, 200)),
    }
}

impl From<NotExpressible> for Dropped {
    fn from(error: NotExpressible) -> Self {
        let reason = format!("{}{}", error.reason, place(&error.pointer));
        Dropped {
            tool: error.tool,
            reason,
        }
    }
}

/// Makes the definition of one tool.
pub fn definition(
    spec: &ToolSpec,
    provider: Provider,
    options: &DefinitionOptions,
) -> Result<Definition, NotExpressible> {
    let spec = &*spec.for_models();
    let strict = options.strict && provider.has_strict_mode();
    let dialect = match provider {
        Provider::OpenAi | Provider::OpenAiResponses if strict => Dialect::OpenAiStrict,
        Provider::OpenAi | Provider::OpenAiFunctions | Provider::OpenAiResponses => Dialect::OpenAi,
        Provider::Gemini => gemini_name(spec)?,
        Provider::Anthropic if strict => Dialect::AnthropicStrict,
        Provider::Anthropic => Dialect::Anthropic,
        Provider::Ollama => Dialect::Ollama,
        Provider::Mcp => Dialect::Mcp,
    };
    let Lowered { schema, losses } =
        lower::lower(spec.input_schema.as_value(), dialect).map_err(|trouble| NotExpressible {
            tool: spec.name.to_string(),
            provider,
            pointer: trouble.at,
            reason: trouble.reason,
        })?;
    let mut losses: Vec<Loss> = losses
        .into_iter()
        .map(|(pointer, reason)| Loss {
            tool: spec.name.to_string(),
            pointer,
            reason,
        })
        .collect();
    let name = spec.name.as_str();
    let tool = match provider {
        Provider::OpenAi | Provider::OpenAiFunctions => {
            let description = described(spec, &mut losses);
            let mut function =
                json!({"name": name, "description": description, "parameters": schema});
            if strict {
                function["strict"] = true.into();
            }
            match provider {
                Provider::OpenAi => json!({"type": "function", "function": function}),
                _ => function,
            }
        }
        // Left out, `strict` would mean true there.
        Provider::OpenAiResponses => json!({"type": "function", "name": name,
            "description": described(spec, &mut losses), "parameters": schema, "strict": strict}),
        Provider::Anthropic => {
            let mut tool =
                json!({"name": name, "description": spec.description, "input_schema": schema});
            if strict {
                tool["strict"] = true.into();
            }
            tool
        }
        Provider::Gemini => {
            let mut function = json!({"name": name, "description": spec.description});
            // An object without properties is refused at the root; no parameters are said by silence.
            if schema.get("properties").is_some() {
                function["parameters"] = schema;
            }
            function
        }
        Provider::Ollama => json!({"type": "function", "function":
            {"name": name, "description": spec.description, "parameters": schema}}),
        Provider::Mcp => mcp(spec, schema, &mut losses),
    };
    Ok(Definition { tool, losses })
}

/// Makes the definitions of several tools. Of two with one name the first stays.
pub fn definitions<'a>(
    specs: impl IntoIterator<Item = &'a ToolSpec>,
    provider: Provider,
    options: &DefinitionOptions,
) -> Definitions {
    let mut made = Definitions::default();
    let mut names = HashSet::new();
    for spec in specs {
        if !names.insert(&spec.name) {
            let reason = format!(
                "another tool in the list has this name already; `{}` can be given another name",
                spec.reference()
            );
            made.dropped.push(Dropped {
                tool: spec.name.to_string(),
                reason,
            });
            continue;
        }
        match definition(spec, provider, options) {
            Ok(definition) => {
                made.tools.push(definition.tool);
                made.losses.extend(definition.losses);
            }
            Err(error) => made.dropped.push(error.into()),
        }
    }
    made
}

/// Gemini's dialect, for a tool whose name it takes: it must not begin with a digit or a dash.
fn gemini_name(spec: &ToolSpec) -> Result<Dialect, NotExpressible> {
    let first = spec.name.as_str().chars().next();
    if first.is_some_and(|first| first.is_ascii_alphabetic() || first == '_') {
        return Ok(Dialect::Gemini);
    }
    Err(NotExpressible {
        tool: spec.name.to_string(),
        provider: Provider::Gemini,
        pointer: String::new(),
        reason: "Gemini wants names that begin with a letter or `_`; rename the tool".to_owned(),
    })
}

/// The description as OpenAI takes it.
fn described(spec: &ToolSpec, losses: &mut Vec<Loss>) -> String {
    let characters = spec.description.chars().count();
    if characters <= MAX_DESCRIPTION {
        return spec.description.clone();
    }
    losses.push(Loss {
        tool: spec.name.to_string(),
        pointer: String::new(),
        reason: format!(
            "the description has {characters} characters and is cut: OpenAI takes {MAX_DESCRIPTION}"
        ),
    });
    cut_at_word(&spec.description, MAX_DESCRIPTION)
}

/// The start of a text with `…`, at most `max` characters, cut between words when there are any
/// in its second half.
fn cut_at_word(text: &str, max: usize) -> String {
    let end = text
        .char_indices()
        .nth(max - 1)
        .map_or(text.len(), |(index, _)| index);
    let head = &text[..end];
    let word = match head.rfind(char::is_whitespace) {
        // The cut may fall just behind a word.
        _ if text[end..].starts_with(char::is_whitespace) => head,
        Some(space) if space > end / 2 => &head[..space],
        _ => head,
    };
    format!("{}…", word.trim_end())
}

/// S3's MCP form, plus what MCP has a place for: title, output schema, hints.
fn mcp(spec: &ToolSpec, schema: Value, losses: &mut Vec<Loss>) -> Value {
    let mut tool = json!({"name": spec.name.as_str(), "description": spec.description,
        "inputSchema": schema, "type": "tool"});
    if let Some(title) = &spec.title {
        tool["title"] = title.as_str().into();
    }
    if let Some(output) = &spec.output_schema {
        match lower::lower_output(output.as_value()) {
            Ok(schema) => tool["outputSchema"] = schema,
            // Structured content is always an object; a result of another kind travels as text.
            Err(trouble) => losses.push(Loss {
                tool: spec.name.to_string(),
                pointer: String::new(),
                reason: format!("the output schema is left out: {}", trouble.reason),
            }),
        }
    }
    if let Some(annotations) = Hints::of(spec).annotations(spec.title.as_deref()) {
        tool["annotations"] = annotations;
    }
    tool
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn providers_go_by_their_names() {
        for provider in Provider::ALL {
            assert_eq!(provider.to_string().parse(), Ok(provider));
        }
        let error = "opneai".parse::<Provider>().unwrap_err().to_string();
        assert_eq!(
            error,
            "unknown provider `opneai`; did you mean `openai`? \
             use `openai`, `openai-functions`, `openai-responses`, `anthropic`, `gemini`, `ollama` or `mcp`"
        );
        let error = "bedrock".parse::<Provider>().unwrap_err().to_string();
        assert!(!error.contains("did you mean"), "{error}");
    }

    #[test]
    fn descriptions_are_cut_between_words() {
        assert_eq!(cut_at_word("one two three four", 15), "one two three…");
        assert_eq!(cut_at_word("one two three four", 14), "one two three…");
        assert_eq!(cut_at_word("one two three four", 13), "one two…");
        assert_eq!(cut_at_word("onetwothreefour", 6), "onetw…");
        assert_eq!(cut_at_word("天気天気天気", 4), "天気天…");
    }
}
