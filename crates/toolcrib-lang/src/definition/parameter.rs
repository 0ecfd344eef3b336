//! What a tool takes: [`Parameter`].

use serde_json::Value;

use crate::expr::Expression;
use crate::template::{Format, ParameterKind};

/// A parameter of a tool.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// Its name: what is between braces in templates, and the argument's name in calls.
    pub name: String,
    /// Its type.
    pub kind: ParameterKind,
    /// What it means.
    pub description: String,
    /// Whether a call must have it; by default it must unless there is a default.
    pub required: bool,
    /// The value when a call does not have it.
    pub default: Option<Value>,
    /// What its value must be like, after `transform`.
    pub validation: Validation,
    /// An expression over `value` whose result takes its place.
    pub transform: Option<Expression>,
    /// How it appears in commands.
    pub format: Option<Format>,
    /// Values that show its use.
    pub examples: Vec<Value>,
    /// More about it than models need.
    pub detailed_help: Option<String>,
    /// Whether it is kept from being read as shell text (`security.escape-shell`, true unless said otherwise).
    pub escape_shell: bool,
}

/// `validation`, and the words of JSON Schema beside `type`.
#[derive(Debug, Clone, Default)]
pub struct Validation {
    /// The least number.
    pub minimum: Option<serde_json::Number>,
    /// The largest number.
    pub maximum: Option<serde_json::Number>,
    /// What a text must match, in a linear-time dialect.
    pub pattern: Option<String>,
    /// The least length of a text or list.
    pub min_length: Option<u64>,
    /// The largest length of a text or list.
    pub max_length: Option<u64>,
    /// The values it may have.
    pub allowed: Option<Vec<Value>>,
    /// What each item of a list must be like: a JSON Schema.
    pub items: Option<Value>,
}
