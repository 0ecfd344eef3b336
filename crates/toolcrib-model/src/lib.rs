//! The words of Toolcrib as types: names, specs, schemas, targets, outcomes, errors.
//!
//! Plain data and parsing only. Nothing here opens a file, runs a tool or decides anything;
//! whatever comes in from outside becomes one of these types at the edge and is trusted after.

pub mod budget;
pub mod caller;
#[doc(hidden)]
pub mod diff;
pub mod digest;
pub mod effects;
pub mod error;
pub mod exchange;
pub mod hidden;
pub mod ids;
pub mod json;
pub mod judgement;
pub mod limits;
pub mod mask;
pub mod names;
pub mod outcome;
pub mod reference;
pub mod sandbox_plan;
pub mod schema;
pub mod secret;
pub mod spec;
#[doc(hidden)]
pub mod stem;
pub mod target;
pub mod text;

/// A JSON object: arguments, details and metadata are always one of these.
pub type JsonObject = serde_json::Map<String, serde_json::Value>;
