//! The kernel of Toolcrib: what tools there are, and the one way to call them.
//!
//! A call enters at [`registry::Registry::execute`] and goes through [`pipeline`], whose order is fixed by types. What the kernel does
//! not do itself it asks for through traits: a [`tool::Tool`] acts, an [`approval::Approver`] decides, a [`record::Recorder`] and an
//! [`approval::grants::GrantStore`] remember. An [`approval::ApprovalMemory`] knows which scripts were approved before, a
//! [`record::replay::ClaimStore`] shares ids that callers chose between processes, and a [`call::elicit::Elicitor`] passes a
//! tool's own questions to the caller. The kernel opens no file but those of the [`workspace`], and no socket.
//!
//! `catalogue` knows the tools, [`pipeline`] runs a call, [`registry`] is the way in. So that a tool can call others without
//! knowing the registry, the pipeline puts that ability into the [`call::context::CallContext`] as a function.

pub mod answer;
pub mod approval;
pub mod call;
mod catalogue;
pub mod function;
pub mod limits;
pub mod pipeline;
mod policy;
pub mod poll;
pub mod record;
pub mod registry;
#[cfg(feature = "testing")]
pub mod testing;
pub mod tool;
pub mod wire;
#[cfg(unix)]
pub mod workspace;
#[cfg(not(unix))]
#[path = "workspace/elsewhere.rs"]
pub mod workspace;

use toolcrib_lang::{rules, shell};
use toolcrib_model as model;
use toolcrib_model::{schema, spec, target};
