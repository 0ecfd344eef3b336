//! What tools do: built-ins, commands, HTTP requests, programs behind the wall, the one way out, secrets, durable files.

pub mod builtin;
pub mod egress;
pub mod exec;
pub mod held;
#[doc(hidden)]
pub mod mail;
#[doc(hidden)]
pub mod oauth;
pub mod process;
pub mod sandbox;
pub mod secret;
pub mod storage;
#[cfg(feature = "testing")]
pub mod testing;

use toolcrib_core::{approval, call, registry, tool, workspace};
use toolcrib_lang::{definition, jsonpath, manifest, shell, template};
use toolcrib_model as model;
use toolcrib_model::{schema, spec, target};
