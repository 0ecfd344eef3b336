//! Toolcrib with a home on disk: settings, bundles, tools as files, approvals and grants, records, search, upstream servers.

pub mod approval;
pub mod chat;
pub mod config;
pub mod crib;
pub mod record;
pub mod search;
pub mod source;
pub mod store;
pub mod trial;
pub mod upstream;

use toolcrib_core::{answer, call, limits, pipeline, registry, tool, wire, workspace};
use toolcrib_lang::{definition, manifest, rules, shell};
use toolcrib_model as model;
use toolcrib_model::{schema, spec};
use toolcrib_tools::{builtin, egress, exec, held, process, sandbox, secret, storage};
