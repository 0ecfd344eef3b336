//! The texts that Toolcrib reads: shell commands, rules, templates, definitions of tools, JSONPath, expressions.
//!
//! Everything here is pure: text and values in, typed data or an error with a place out. Nothing opens a file or a socket, and nothing
//! needs a runtime. Hostile text is bounded by [`toolcrib_model::budget::Budget`].

#![cfg_attr(
    not(feature = "definitions"),
    allow(
        dead_code,
        unused_imports,
        reason = "parts of the readers serve definitions alone"
    )
)]

#[cfg(feature = "definitions")]
pub mod definition;
#[cfg(feature = "definitions")]
pub mod explain;
pub mod expr;
#[cfg(feature = "definitions")]
pub mod jsonpath;
#[cfg(feature = "definitions")]
pub mod manifest;
pub mod rules;
pub mod shell;
#[doc(hidden)]
pub mod table;
#[cfg(feature = "definitions")]
pub mod template;

use toolcrib_model as model;
use toolcrib_model::{judgement, schema, spec, target};
#[cfg(feature = "definitions")]
use toolcrib_sandbox as sandbox;
