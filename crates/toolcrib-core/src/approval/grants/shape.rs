//! Which arguments a grant covers: [`Shape`], a pattern for every parameter.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::argv::Argv;
use super::origin::Origin;
use super::path::PathPattern;
use crate::model::JsonObject;
use crate::model::text;
use crate::spec::{Role, ToolSpec};

/// A pattern for every parameter of a tool. A parameter without a pattern must be absent from the call.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(rename = "GrantShape")]
pub struct Shape(pub BTreeMap<String, Pattern>);

/// What a parameter may be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "GrantPattern")]
pub enum Pattern {
    /// This value.
    Exact(Value),
    /// Any value, or none.
    Any,
    /// A command like this.
    Argv(#[schemars(with = "Vec<String>")] Argv),
    /// A path like this.
    Path(#[schemars(with = "String")] PathPattern),
    /// A URL of this scheme, host and port.
    Origin(#[schemars(with = "String")] Origin),
}

/// Why a shape cannot be granted for a tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{parameter}` cannot be granted like this: {why}")]
pub struct ShapeError {
    /// The parameter.
    pub parameter: String,
    /// The problem.
    pub why: &'static str,
}

impl Shape {
    /// Whether the shape covers arguments. `root` is where the workspace is.
    pub fn covers(&self, args: &JsonObject, root: Option<&Path>) -> bool {
        self.each(args, |pattern, value| pattern.covers(value, root))
    }

    /// Whether every parameter may be anything.
    pub fn is_anything(&self) -> bool {
        self.0.values().all(|pattern| *pattern == Pattern::Any)
    }

    /// As [`covers`](Self::covers) for a call that is over: what the file system is like now does not count.
    pub(super) fn would_cover(&self, args: &JsonObject, root: Option<&Path>) -> bool {
        self.each(args, |pattern, value| match (pattern, value) {
            (Pattern::Path(path), Value::String(text)) => path.would_cover(text, root),
            _ => pattern.covers(value, root),
        })
    }

    fn each(&self, args: &JsonObject, covers: impl Fn(&Pattern, &Value) -> bool) -> bool {
        let known = args.keys().all(|name| self.0.contains_key(name));
        known
            && self
                .0
                .iter()
                .all(|(name, pattern)| match (args.get(name), pattern) {
                    (_, Pattern::Any) => true,
                    (Some(value), pattern) => covers(pattern, value),
                    (None, _) => false,
                })
    }

    /// Refuses what no person may grant for this tool: shell text must be a pattern of a command, a directory one directory, a
    /// program one program, a path one path or a pattern of paths, a URL one URL or those of one origin.
    pub fn check(&self, spec: &ToolSpec) -> Result<(), ShapeError> {
        for (name, pattern) in &self.0 {
            let role = spec
                .roles
                .iter()
                .find(|(parameter, _)| parameter == name)
                .map(|(_, role)| role);
            let why = match (role, pattern) {
                (Some(Role::Shell), Pattern::Argv(_)) => continue,
                (Some(Role::Shell), _) => "shell text is covered by a pattern of its words, `argv`",
                (_, Pattern::Argv(_)) => "it is not shell text",
                (Some(Role::ReadPath | Role::WritePath), Pattern::Path(_)) => continue,
                (Some(Role::ReadPath | Role::WritePath), _) => {
                    "a path is covered by a pattern of paths, `path`"
                }
                (_, Pattern::Path(_)) => "it is not a path",
                (Some(Role::Url), Pattern::Origin(_)) => continue,
                (_, Pattern::Origin(_)) => "it is not a URL",
                (Some(Role::Directory | Role::Code { .. } | Role::Url), Pattern::Exact(_)) => {
                    continue;
                }
                (Some(Role::Directory), Pattern::Any) => "the directory must be one directory",
                (Some(Role::Code { .. }), Pattern::Any) => "a program must be one program",
                (Some(Role::Url), Pattern::Any) => {
                    "a URL must be one URL, or those of one scheme, host and port, `origin`"
                }
                (None, Pattern::Exact(_) | Pattern::Any) => continue,
            };
            return Err(ShapeError {
                parameter: name.clone(),
                why,
            });
        }
        // A tool that takes shell text or a path must have it bound: an absent pattern means an absent argument.
        Ok(())
    }

    /// Arguments of this shape, as far as they are fixed: what a call has in the place of the rest is not known.
    pub(crate) fn example(&self) -> JsonObject {
        let fixed = self.0.iter().filter_map(|(name, pattern)| {
            let value = match pattern {
                Pattern::Exact(value) => value.clone(),
                Pattern::Argv(argv) => argv.example().into(),
                Pattern::Path(path) => path.to_string().into(),
                Pattern::Any | Pattern::Origin(_) => return None,
            };
            Some((name.clone(), value))
        });
        fixed.collect()
    }

    /// The command of the shape, if it has one.
    pub(super) fn argv(&self) -> Option<&Argv> {
        self.0.values().find_map(|pattern| match pattern {
            Pattern::Argv(argv) => Some(argv),
            Pattern::Exact(_) | Pattern::Any | Pattern::Path(_) | Pattern::Origin(_) => None,
        })
    }
}

/// For a person: `command: git status *; cwd: "."`.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("no arguments");
        }
        for (index, (name, pattern)) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{}: {pattern}", text::shorten(name, 64))?;
        }
        Ok(())
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pattern::Exact(value) => f.write_str(&text::shorten(&value.to_string(), 200)),
            Pattern::Any => f.write_str("anything"),
            Pattern::Argv(argv) => f.write_str(&argv.in_words()),
            Pattern::Path(path) => f.write_str(&text::shorten(&path.to_string(), 200)),
            Pattern::Origin(origin) => {
                write!(f, "anything at {}", text::shorten(&origin.to_string(), 300))
            }
        }
    }
}

impl Pattern {
    fn covers(&self, value: &Value, root: Option<&Path>) -> bool {
        match (self, value) {
            (Pattern::Any, _) => true,
            (Pattern::Exact(exact), value) => exact == value,
            (Pattern::Argv(argv), Value::String(text)) => argv.covers(text),
            (Pattern::Path(path), Value::String(text)) => path.covers(text, root),
            (Pattern::Origin(origin), Value::String(text)) => origin.covers(text),
            (Pattern::Argv(_) | Pattern::Path(_) | Pattern::Origin(_), _) => false,
        }
    }
}
