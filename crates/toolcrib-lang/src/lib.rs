//! The texts that Toolcrib reads: shell commands, rules, templates, definitions of tools, JSONPath, expressions.
//!
//! Everything here is pure: text and values in, typed data or an error with a place out. Nothing opens a file or a socket, and nothing
//! needs a runtime. Hostile text is bounded by [`toolcrib_model::budget::Budget`].

pub mod definition;
pub mod explain;
pub mod expr;
pub mod jsonpath;
pub mod manifest;
pub mod rules;
pub mod shell;
pub mod template;

use toolcrib_model as model;
use toolcrib_model::{judgement, schema, spec, target};
use toolcrib_sandbox as sandbox;
