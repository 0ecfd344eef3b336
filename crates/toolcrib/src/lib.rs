//! Toolcrib: define a tool once; run it safely from a shell, a program, or any model that can
//! call tools.

pub mod approval;
pub mod builtin;
pub mod config;
pub mod crib;
pub mod exec;
pub mod limits;
pub mod model;
pub mod pipeline;
pub mod record;
pub mod registry;
pub mod rules;
pub mod schema;
pub mod storage;
#[cfg(feature = "testing")]
pub mod testing;
pub mod tool;
pub mod wire;
pub mod workspace;

/// The crate behind derived schemas, so that embedders need no dependency of their own.
pub use schemars;
/// The crate behind typed arguments, so that embedders need no dependency of their own.
pub use serde;

pub use crib::{Crib, CribOptions};
pub use exec::{DefineError, FnTool};
pub use pipeline::Plan;
pub use registry::{CallHandle, Registry, RegistryBuilder};

pub use model::call::{CallRequest, Caller};
pub use model::context::CallContext;
pub use model::effects::{Approval, Effects, Verdict};
pub use model::error::{ErrorCode, Failure, McpForm, ToolError};
pub use model::event::{Event, EventKind, EventReader, OutputStream};
pub use model::limits::{Limits, LimitsPatch};
pub use model::manifest::{Bundle, ToolKind, ToolManifest};
pub use model::names::{BundleId, CallId, NameError, Slug, ToolId, Version, WireName};
pub use model::outcome::{Outcome, ToolOutput};
pub use model::reference::{BundleRef, ToolRef};
pub use model::secret::Secret;
pub use model::spec::ToolSpec;
pub use schema::Schema;
pub use tool::Tool;
