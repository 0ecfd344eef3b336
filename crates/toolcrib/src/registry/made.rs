//! The tool behind an entry: there from the start, or made when it is first needed.
//!
//! A store can hold a hundred thousand tools of which a process calls three. Such a tool is registered by its *head*: its names, schemas and
//! texts, enough for lists and search. The rest, which rules and approvals go by (roles, URLs, questions), comes with the made tool.
//! Whoever finds a tool by reference, asks for its digest, limits or availability, or for the tool itself, has it made; so no call is ever
//! judged by a head.

use std::cell::RefCell;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;

use crate::limits::Meter;
use crate::model::JsonObject;
use crate::model::context::CallContext;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::limits::{Limits, LimitsPatch};
use crate::model::outcome::ToolOutput;
use crate::model::spec::ToolSpec;
use crate::tool::Tool;

/// How many tools may be made for the sake of one another. Calls do not nest nearly as deep.
const MAX_MAKING: usize = 32;

/// What becomes of a head.
pub(crate) struct MadeTool {
    /// The tool, with the same name, bundle, slug and version as its head.
    pub(crate) tool: Arc<dyn Tool>,
    /// What is missing for it to run, although it is in order.
    pub(crate) unavailable: Option<String>,
}

impl From<Arc<dyn Tool>> for MadeTool {
    fn from(tool: Arc<dyn Tool>) -> Self {
        MadeTool {
            tool,
            unavailable: None,
        }
    }
}

/// Makes a tool of its head, or says why there is none.
pub(crate) type Make = Box<dyn Fn() -> Result<MadeTool, String> + Send + Sync>;

/// A tool and what is counted of it, shared by all entries it is registered as.
pub(super) struct Body {
    head: Arc<ToolSpec>,
    make: Option<Make>,
    /// The limits of the registry.
    operator: LimitsPatch,
    whole: OnceLock<Whole>,
    pub(super) digest: OnceLock<String>,
}

/// A tool that has been made.
pub(super) struct Whole {
    pub(super) tool: Arc<dyn Tool>,
    pub(super) spec: Arc<ToolSpec>,
    pub(super) limits: Limits,
    pub(super) meter: Meter,
    pub(super) unavailable: Option<String>,
}

thread_local! {
    /// The bodies this thread is making, by address.
    static MAKING: RefCell<Vec<*const Body>> = const { RefCell::new(Vec::new()) };
}

impl Body {
    pub(super) fn of(tool: Arc<dyn Tool>, operator: &LimitsPatch) -> Self {
        let whole = Whole::new(tool.into(), operator);
        Body {
            head: Arc::clone(&whole.spec),
            make: None,
            operator: *operator,
            whole: OnceLock::from(whole),
            digest: OnceLock::new(),
        }
    }

    pub(super) fn to_make(head: Arc<ToolSpec>, make: Make, operator: &LimitsPatch) -> Self {
        Body {
            head,
            make: Some(make),
            operator: *operator,
            whole: OnceLock::new(),
            digest: OnceLock::new(),
        }
    }

    /// What it is found and listed by. Its names are those of the made tool.
    pub(super) fn head(&self) -> &Arc<ToolSpec> {
        &self.head
    }

    /// The made tool, if it has been made.
    pub(super) fn made(&self) -> Option<&Whole> {
        self.whole.get()
    }

    /// The made tool, which is made now if need be. Never fails: what cannot be made is a tool that says so.
    pub(super) fn whole(&self) -> &Whole {
        if let Some(whole) = self.whole.get() {
            return whole;
        }
        let whole = self.make_now();
        // Not made inside of the lock: two tools that need one another, made by two threads, would wait for each other. Who is first
        // has made it.
        self.whole.get_or_init(|| whole)
    }

    fn make_now(&self) -> Whole {
        let Some(make) = &self.make else {
            // A body without this has its tool from the start.
            return self.faulty("a bug in Toolcrib: nothing makes it".to_owned());
        };
        let own: *const Body = self;
        let fault = MAKING.with_borrow_mut(|making| {
            if making.contains(&own) {
                return Some("it is built on itself, by way of the tools it uses".to_owned());
            }
            if making.len() >= MAX_MAKING {
                return Some(format!(
                    "the tools it is part of are built on each other more than {MAX_MAKING} deep"
                ));
            }
            making.push(own);
            None
        });
        if let Some(fault) = fault {
            return self.faulty(fault);
        }
        let made = std::panic::catch_unwind(AssertUnwindSafe(make));
        MAKING.with_borrow_mut(Vec::pop);
        match made {
            Ok(Ok(made)) => {
                let whole = Whole::new(made, &self.operator);
                match is_same(&whole.spec, &self.head) {
                    true => whole,
                    false => self.faulty(format!(
                        "a bug in Toolcrib: it is made as `{}` (`{}`)",
                        whole.spec.name,
                        whole.spec.reference()
                    )),
                }
            }
            Ok(Err(fault)) => self.faulty(fault),
            Err(_) => self.faulty("a bug in Toolcrib: making it failed".to_owned()),
        }
    }

    fn faulty(&self, reason: String) -> Whole {
        let stand_in = MadeTool {
            tool: Arc::new(Unmakeable(Arc::clone(&self.head), reason.clone())),
            unavailable: Some(reason),
        };
        Whole::new(stand_in, &self.operator)
    }
}

impl Whole {
    fn new(made: MadeTool, operator: &LimitsPatch) -> Self {
        let spec = made.tool.spec();
        // The operator's limits widen the default, and are the widest a tool can have.
        let limits = Limits::default()
            .overlaid(operator)
            .overlaid(&spec.limits)
            .tightened(operator);
        Whole {
            meter: Meter::new(&limits),
            limits,
            spec,
            tool: made.tool,
            unavailable: made.unavailable,
        }
    }
}

/// Whether a made tool is found as its head is.
fn is_same(made: &ToolSpec, head: &ToolSpec) -> bool {
    (&made.name, &made.bundle, &made.slug, &made.version)
        == (&head.name, &head.bundle, &head.slug, &head.version)
}

/// What stands in the place of a tool that cannot be made. It is unavailable and never called.
struct Unmakeable(Arc<ToolSpec>, String);

impl Tool for Unmakeable {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.0)
    }

    fn call(&self, _: JsonObject, _: CallContext) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        let message = format!("`{}` cannot run here: {}", self.0.name, self.1);
        Box::pin(async move { Err(ToolError::new(ErrorCode::ToolUnavailable, message)) })
    }
}
