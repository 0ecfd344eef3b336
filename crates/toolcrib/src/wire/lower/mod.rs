//! Lowering: a tool's schema in the part of JSON Schema that a provider takes, and what that costs.
//!
//! Providers refuse a whole request for one keyword they dislike in one tool, so what they cannot
//! take is worked out here, tool by tool. A constraint that gets lost on the way is reported;
//! Toolcrib still enforces it when the tool is called. A schema that has no useful lowered form is
//! [`Trouble`], and its tool is left out of the list.
//!
//! What each provider takes, as of November 2026:
//!
//! | | root | references | keywords |
//! |---|---|---|---|
//! | OpenAI, Anthropic | one object, no `anyOf`, `oneOf`, `allOf`, `enum`, `not` | kept | all |
//! | OpenAI strict | as above | kept, alone in their schema | a short list; objects closed, all properties required |
//! | Ollama | as above | written out | what its server's own types hold; one type per schema |
//! | MCP | an object | kept | all: MCP publishes JSON Schema itself |
//!
//! Lists of types (`["string", "null"]`) stay for OpenAI, Anthropic and MCP, which take them: null
//! may mean something other than leaving the argument out.
//!
//! The alternative, a filter over raw JSON per provider, is what most clients do. It mistakes
//! properties for keywords and breaks references as soon as something moves, hence the tree.

mod context;
mod flatten;
mod limits;
mod loose;
mod merge;
mod node;
mod ollama;
mod read;
mod refs;
mod strict;
mod types;

use serde_json::{Value, json};

use context::Context;
use node::Node;
use read::read;
use refs::Definitions;

/// The part of JSON Schema to lower to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    OpenAi,
    OpenAiStrict,
    Anthropic,
    Ollama,
    Mcp,
}

impl Dialect {
    fn label(self) -> &'static str {
        match self {
            Dialect::OpenAi => "OpenAI",
            Dialect::OpenAiStrict => "OpenAI's strict mode",
            Dialect::Anthropic => "Anthropic",
            Dialect::Ollama => "Ollama",
            Dialect::Mcp => "MCP",
        }
    }
}

/// A lowered schema.
#[derive(Debug)]
pub(super) struct Lowered {
    /// The schema, an object with `type` and `properties`.
    pub(super) schema: Value,
    /// Where something was lost (a JSON pointer in the tool's schema), and what.
    pub(super) losses: Vec<(String, String)>,
}

/// Why a schema, or a part of it, cannot be lowered.
#[derive(Debug)]
pub(super) struct Trouble {
    /// The JSON pointer in the tool's schema.
    pub(super) at: String,
    /// What is in the way.
    pub(super) reason: String,
    reach: Reach,
}

/// How far a trouble reaches.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Reach {
    /// This part: an optional parameter or one alternative of several can do without it.
    Part,
    /// The tool.
    Whole,
}

impl Trouble {
    fn part(at: &str, reason: impl Into<String>) -> Self {
        Trouble {
            at: at.to_owned(),
            reason: reason.into(),
            reach: Reach::Part,
        }
    }

    fn whole(at: &str, reason: impl Into<String>) -> Self {
        Trouble {
            at: at.to_owned(),
            reason: reason.into(),
            reach: Reach::Whole,
        }
    }
}

/// Lowers a schema.
pub(super) fn lower(schema: &Value, dialect: Dialect) -> Result<Lowered, Trouble> {
    let mut root = read(schema)?;
    if dialect == Dialect::Mcp {
        return publish(schema, &root);
    }
    let mut cx = Context::new(Definitions::detach(&mut root)?, dialect);
    let root = flatten::root(&mut cx, root)?;
    let root = match dialect {
        Dialect::OpenAi | Dialect::Anthropic | Dialect::Mcp => loose::lower(&mut cx, root)?,
        Dialect::OpenAiStrict => strict::lower(&mut cx, root)?,
        Dialect::Ollama => ollama::lower(&mut cx, root)?,
    };
    Ok(Lowered {
        schema: root.write(),
        losses: cx.losses(),
    })
}

/// The schema for MCP: as it is, once its references are known to lead somewhere.
fn publish(schema: &Value, root: &Node) -> Result<Lowered, Trouble> {
    refs::check(root)?;
    if root.data("type") != Some(&json!("object")) {
        return Err(Trouble::whole(
            "/type",
            "its root is not `\"type\": \"object\"`",
        ));
    }
    let mut schema = schema.clone();
    if let Value::Object(fields) = &mut schema {
        // 2020-12 is what MCP assumes; another draft gives keywords another meaning and must be said.
        if fields
            .get("$schema")
            .and_then(Value::as_str)
            .is_some_and(|draft| draft.contains("2020-12"))
        {
            fields.shift_remove("$schema");
        }
        fields.shift_remove("$id");
        fields.shift_remove("$comment");
        fields.entry("properties").or_insert_with(|| json!({}));
    }
    Ok(Lowered {
        schema,
        losses: Vec::new(),
    })
}
