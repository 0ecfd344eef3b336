//! Toolcrib: define a tool once; run it safely from a shell, a program, or any model that can
//! call tools.
//!
//! # A tool
//!
//! A tool is a function with a name, a description and typed arguments. The doc comments of the
//! arguments are what a model reads:
//!
//! ```
//! use toolcrib::schemars::JsonSchema;
//! use toolcrib::serde::Deserialize;
//! use toolcrib::{Effects, FnTool};
//!
//! #[derive(Deserialize, JsonSchema)]
//! #[serde(crate = "toolcrib::serde")]
//! #[schemars(crate = "toolcrib::schemars")]
//! struct Add {
//!     /// The first number.
//!     a: i64,
//!     /// The second number; 1 if left out.
//!     b: Option<i64>,
//! }
//!
//! let add = FnTool::new("add", "Adds two numbers", |args: Add, _cx| async move {
//!     // `?` turns any error into a failed call.
//!     let sum = args.a.checked_add(args.b.unwrap_or(1)).ok_or(std::fmt::Error)?;
//!     Ok(sum)
//! })?
//! .effects(Effects::READ);
//! # Ok::<(), toolcrib::DefineError>(())
//! ```
//!
//! (The two `crate` attributes are needed only where `serde` and `schemars` are not dependencies of
//! your own.) A tool that is more than a function implements [`Tool`]; [`schema::ObjectBuilder`]
//! writes its schema.
//!
//! # A call
//!
//! A [`Registry`] holds tools and is the one way to call them. A call always has an [`Outcome`]:
//! bad arguments, refusals, panics and timeouts are outcomes with an [`ErrorCode`], never a
//! `panic!` or an `Err` in the caller's face.
//!
//! ```
//! # use toolcrib::{CallRequest, ErrorCode, FnTool, Registry};
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! # let shout = FnTool::new("shout", "Shouts", |(), _cx| async { Ok("HEY") })?;
//! let registry = Registry::new();
//! registry.register(shout)?;
//!
//! let outcome = registry.execute(CallRequest::new("shout")).await;
//! assert_eq!(outcome.into_result()?.value, "HEY");
//!
//! let outcome = registry.execute(CallRequest::new("shuot")).await;
//! assert_eq!(outcome.error().unwrap().code(), ErrorCode::ToolNotFound);
//! assert!(outcome.error().unwrap().message().ends_with("did you mean `shout`?"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! [`Registry::execute_async`] runs a call in the background and returns a handle with its events;
//! [`Registry::plan`] says what a call would do. `CallRequest` takes a deadline, a cancellation
//! token and a call id: repeating an id returns the stored outcome instead of running again.
//!
//! # Safety
//!
//! What may run is decided in one [pipeline]: the tool's own [`Approval`], the [`rules`], and an
//! [`approval::Approver`] for what needs a person. The default approver reaches no one, so that
//! what needs approval is refused until a program chooses otherwise:
//!
//! ```
//! use toolcrib::approval::AllowAll;
//! use toolcrib::rules::{Rule, RuleSet};
//! use toolcrib::{LimitsPatch, Registry};
//!
//! let registry = Registry::builder()
//!     .rules(RuleSet::default().with(Rule::forbid("no_network_access", ["curl", "wget", "nc"])))
//!     .approver(AllowAll::by("the nightly job"))
//!     .limits(&LimitsPatch { timeout_ms: Some(10_000), ..LimitsPatch::default() })
//!     .build();
//! # let _ = registry;
//! ```
//!
//! Your own approver is one method; it may wait as long as it likes:
//!
//! ```
//! use toolcrib::BoxFuture;
//! use toolcrib::approval::{ApprovalRequest, ApprovalResponse, Approver, NoAnswer};
//!
//! struct OfficeHours;
//!
//! impl Approver for OfficeHours {
//!     fn decide(&self, request: ApprovalRequest) -> BoxFuture<'_, Result<ApprovalResponse, NoAnswer>> {
//!         Box::pin(async move {
//!             println!("{} wants to {}", request.tool, request.effect);
//!             Ok(ApprovalResponse::deny("the office", "come back tomorrow"))
//!         })
//!     }
//! }
//! ```
//!
//! File tools work on a [`workspace::Workspace`], the only directory tree they can open:
//!
//! ```no_run
//! # use toolcrib::{RegisterBuiltins as _, Registry, workspace::Workspace};
//! let registry = Registry::builder().workspace(Workspace::open("project".as_ref())?).build();
//! registry.register_builtins()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Models
//!
//! [`Registry::definitions`] gives the tools in a provider's format, with a report of what the
//! provider cannot express; [`answer::answer`] takes a model's reply and gives the messages that
//! answer its calls. For calls by hand, [`CallRequest::from_json`] reads one in any of the usual
//! spellings, and [`wire::render`] shapes its outcome.
//!
//! ```
//! # use toolcrib::{CallRequest, FnTool, Registry, wire::*};
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! # let registry = Registry::new();
//! # registry.register(FnTool::new("shout", "Shouts", |(), _cx| async { Ok("HEY") })?)?;
//! let tools = registry.definitions(Provider::Anthropic, &DefinitionOptions::default()).tools;
//! assert_eq!(tools[0]["name"], "shout");
//!
//! let request = CallRequest::from_json(serde_json::json!({"name": "shout", "arguments": {}}))?;
//! let result = render(&registry.execute(request).await, ResultShape::Mcp);
//! assert_eq!(result["content"][0]["text"], "HEY");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # The rest
//!
//! [`Crib`] is a registry with everything around it that the command line has: settings, a
//! workspace found from the current directory, the built-in tools, a call log on disk. The feature
//! `testing` has doubles for testing your own tools. Everything runs on a Tokio runtime with time
//! enabled.

pub use toolcrib_core::{
    answer, call, function, limits, pipeline, registry, tool, wire, workspace,
};
#[cfg(feature = "home")]
pub use toolcrib_home::crib;
pub use toolcrib_lang::rules;
pub use toolcrib_model as model;
pub use toolcrib_model::{schema, spec, target};
#[cfg(feature = "tools")]
pub use toolcrib_tools::{builtin, egress, secret};

// Public for the server and the command line only.
#[cfg(feature = "home")]
#[doc(hidden)]
pub use toolcrib_home::{
    chat, config, format, notify, results, search, source, store, trial, upstream,
};
#[cfg(feature = "tools")]
#[doc(hidden)]
pub use toolcrib_lang::{definition, explain, jsonpath, manifest, template};
#[doc(hidden)]
pub use toolcrib_lang::{expr, shell};
#[cfg(feature = "tools")]
#[doc(hidden)]
pub use toolcrib_tools::{exec, held, process, sandbox, storage};

/// The Cargo features of this library that are in this build, but for `testing`.
pub const FEATURES: &[&str] = &[
    #[cfg(feature = "expr")]
    "expr",
    #[cfg(feature = "home")]
    "home",
    #[cfg(feature = "tools")]
    "tools",
    #[cfg(feature = "urls")]
    "urls",
];

/// Asking a person: who is asked, what they are asked, and what they may answer.
pub mod approval {
    pub use toolcrib_core::approval::*;
    #[cfg(feature = "home")]
    pub use toolcrib_home::approval::*;

    /// Answers given ahead ("don't ask again").
    pub mod grants {
        pub use toolcrib_core::approval::grants::*;
        #[cfg(feature = "home")]
        pub use toolcrib_home::approval::{GrantError, GrantList, Grants};
    }
}

/// The account of calls.
pub mod record {
    pub use toolcrib_core::record::*;
    #[cfg(feature = "home")]
    pub use toolcrib_home::record::{call_log, usage};

    /// Calls with an id of the caller's own: run once, answered as often as asked.
    pub mod replay {
        pub use toolcrib_core::record::replay::*;
        #[cfg(feature = "home")]
        pub use toolcrib_home::record::replay::in_directory;
    }
}

/// Doubles for testing tools and programs that embed Toolcrib.
#[cfg(feature = "testing")]
pub mod testing {
    pub use toolcrib_core::testing::*;
    #[cfg(feature = "tools")]
    pub use toolcrib_tools::testing::*;
}

/// What calls are cancelled with.
pub use tokio_util::sync::CancellationToken;

/// The futures that [`Tool`] and [`approval::Approver`] return.
pub use toolcrib_core::poll::BoxFuture;

/// The crate behind values and arguments, so that embedders need no extra dependency.
pub use serde_json;

/// The crate behind derived schemas, so that embedders need no extra dependency.
pub use schemars;
/// The crate behind typed arguments, so that embedders need no extra dependency.
pub use serde;

#[cfg(feature = "tools")]
pub use builtin::{BuiltinOptions, RegisterBuiltins};
#[cfg(feature = "home")]
pub use crib::{Approvals, Crib, CribOptions};
pub use function::{DefineError, FnTool};
pub use pipeline::Plan;
pub use registry::{CallHandle, Registry, RegistryBuilder};

pub use call::context::CallContext;
pub use call::elicit::{Elicitation, Elicitor, NotAnswered};
pub use call::event::{Event, EventKind, EventReader, OutputStream};
pub use call::request::CallRequest;
pub use model::caller::Caller;
pub use model::effects::{Approval, Effects, Verdict};
pub use model::error::{ErrorCode, Failure, McpForm, ToolError};
pub use model::ids::{BundleId, CallId, ToolId};
pub use model::limits::{Limits, LimitsPatch, RequestLimits};
pub use model::names::{NameError, Slug, Version, WireName};
pub use model::outcome::{Outcome, SandboxUse, ToolOutput};
pub use model::reference::{BundleRef, ToolRef};
pub use model::sandbox_plan::{PlanLine, SandboxPlan};
pub use model::secret::Secret;
pub use schema::Schema;
pub use spec::manifest::{Bundle, ToolKind, ToolManifest};
pub use spec::{Role, ToolSpec, Traits};
pub use tool::{Look, Tool};
