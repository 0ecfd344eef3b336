//! Toolcrib: define a tool once; run it safely from a shell, a program, or any model that can
//! call tools.

pub mod builtin;
pub mod exec;
pub mod model;
pub mod record;
pub mod schema;
pub mod storage;
pub mod tool;
pub mod wire;
pub mod workspace;

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
