//! Thousands of tools for few tokens: `find_tools` finds them, and three tools call what was found.
//!
//! ```text
//! find   find_tools                                    words in, tools with their schemas out
//! call   call_read_tool, call_write_tool, call_tool    one call of another tool
//! words  what find_tools says there is to be found
//! offer  which tools a model is given: all, or few and these
//! ```
//!
//! A program that gives a model a list of all tools does not need them, so they are not in lists and searches; they are found, shown and called
//! by name as any. A call of another tool goes through the pipeline from the top, so its own rules, approvals and records are what
//! counts; of the three, each takes only tools that its hints fit, so that a client may let the first go ahead and ask about the last.

mod call;
mod find;
mod offer;
mod words;

use std::path::PathBuf;
use std::sync::Arc;

pub use offer::{Offer, OfferBounds};
pub use words::Discovery;

use super::finder::Finder;
use crate::builtin::{self, RegisterBuiltins as _};
use crate::config::Config;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::limits::LimitsPatch;
use crate::registry::{Entry, RegisterError, Registration, Registry, Source, WeakRegistry};
use crate::results::{self, Results};
use crate::secret::SecretStore;
use crate::spec::ToolSpec;
use crate::tool::Tool;
use crate::wire::{Care, Hints};

/// The tool that finds others.
pub(super) const FIND: &str = "find_tools";
/// The tools that call others, by how careful one has to be with those.
const CALL: [(Care, &str); 3] = [
    (Care::Reads, "call_read_tool"),
    (Care::Adds, "call_write_tool"),
    (Care::MayDestroy, "call_tool"),
];

/// Adds the tools that find and call others.
pub(super) fn register(registry: &Registry, finder: &Arc<Finder>) -> Result<(), RegisterError> {
    let tools = Others(registry.downgrade());
    let mut all: Vec<Arc<dyn Tool>> = vec![Arc::new(find::FindTools::new(
        tools.clone(),
        Arc::clone(finder),
    ))];
    for (care, name) in CALL {
        all.push(Arc::new(call::CallOther::new(tools.clone(), care, name)));
    }
    let unlisted = |tool| {
        let registration = Registration {
            unlisted: true,
            ..Registration::default()
        };
        (tool, registration)
    };
    registry.insert_all(Source::BuiltIn, all.into_iter().map(unlisted))
}

/// docs/tools.md: the reference of all built-in tools.
pub fn tools_reference() -> String {
    let registry = Registry::new();
    registry
        .register_builtins()
        .and_then(|()| register(&registry, &Arc::default()))
        .and_then(|()| {
            let secrets = SecretStore::at(PathBuf::new());
            let settings = Config::defaults().results();
            results::register(&registry, &Results::at(PathBuf::new(), settings, secrets))
        })
        .expect("an empty registry takes the built-ins");
    let names: Vec<&str> = std::iter::once(FIND)
        .chain(CALL.map(|(_, name)| name))
        .collect();
    builtin::reference(&registry, &names)
}

/// The registry that a tool is in itself, which it must not keep alive.
#[derive(Clone)]
struct Others(WeakRegistry);

impl Others {
    fn registry(&self) -> Result<Registry, ToolError> {
        let gone = || ToolError::new(ErrorCode::ToolUnavailable, "the tools are being closed");
        self.0.upgrade().ok_or_else(gone)
    }
}

/// The tool that calls another one.
fn called_with(spec: &ToolSpec) -> &'static str {
    let care = Hints::of(spec).care();
    let found = CALL.iter().find(|(takes, _)| *takes == care);
    found.map_or(CALL[2].1, |(_, name)| name)
}

/// Whether a tool is one of these.
fn is_one(entry: &Entry) -> bool {
    let name = entry.head().name.as_str();
    let is_named = name == FIND || CALL.iter().any(|(_, call)| *call == name);
    is_named && entry.source() == Source::BuiltIn
}

/// No tighter than the tools that they stand for; what the operator sets is the widest there is.
fn wide() -> LimitsPatch {
    LimitsPatch {
        timeout_ms: Some(24 * 3600 * 1000),
        max_output_bytes: Some(64 * 1024 * 1024),
        max_concurrent: Some(1000),
        ..LimitsPatch::default()
    }
}
