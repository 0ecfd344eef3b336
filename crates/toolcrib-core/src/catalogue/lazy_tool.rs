//! The tool behind an entry: there from the start, or made when it is first needed.
//!
//! A store can hold a hundred thousand tools of which a process calls three. Such a tool is registered by its *head*: its names, schemas and
//! texts, enough for lists and search. The rest, which rules and approvals go by (roles, URLs, questions), comes with the made tool.
//! Finding a tool by reference, or asking for its digest, limits, availability or the tool itself, makes it; so no call is ever
//! judged by a head.

use std::cell::RefCell;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};

use crate::poll::BoxFuture;

use crate::call::context::CallContext;
use crate::limits::Meter;
use crate::model::JsonObject;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::limits::{Limits, LimitsPatch};
use crate::model::outcome::ToolOutput;
use crate::spec::{Role, ToolSpec};
use crate::tool::Tool;

/// How many tools may be built on one another in a row. Calls do not nest nearly as deep.
const MAX_HEIGHT: usize = 32;

/// What becomes of a head.
#[doc(hidden)]
pub struct MadeTool {
    /// The tool, with the same name, bundle, slug and version as its head.
    #[doc(hidden)]
    pub tool: Arc<dyn Tool>,
    /// Anything that is missing for it to run, although the tool is valid.
    #[doc(hidden)]
    pub unavailable: Option<String>,
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
    /// What stands for it while others are made that are made again anyway.
    stand_in: OnceLock<Whole>,
}

/// A tool that has been made.
pub(super) struct Whole {
    pub(super) tool: Arc<dyn Tool>,
    pub(super) spec: Arc<ToolSpec>,
    pub(super) limits: Limits,
    pub(super) meter: Meter,
    pub(super) unavailable: Option<String>,
    pub(super) digest: OnceLock<String>,
    /// How many tools in a row it is the last of, itself counted.
    height: usize,
}

/// The tools that a thread is making, each for the sake of the one before it.
///
/// The result for a tool must not depend on which other tool it was made for, since it is kept. A tool that comes too deep in
/// this row may be fine by itself: then the whole row is given up, that tool is made first, and then the row from its beginning.
#[derive(Default)]
struct Making {
    row: Vec<Step>,
    /// Why the row is given up: the tool that has to be made first.
    first: Option<Arc<Body>>,
}

struct Step {
    /// The address of the body.
    body: *const Body,
    /// How it is called.
    name: String,
    /// The height of what it is built on.
    below: usize,
    /// How it comes back to itself, if it does.
    circle: Option<String>,
}

thread_local! {
    static MAKING: RefCell<Making> = RefCell::default();
}

impl Body {
    pub(super) fn of(tool: Arc<dyn Tool>, operator: &LimitsPatch) -> Self {
        let whole = Whole::new(tool.into(), operator, 1);
        Body {
            head: Arc::clone(&whole.spec),
            make: None,
            operator: *operator,
            whole: OnceLock::from(whole),
            stand_in: OnceLock::new(),
        }
    }

    pub(super) fn to_make(head: Arc<ToolSpec>, make: Make, operator: &LimitsPatch) -> Self {
        Body {
            head,
            make: Some(make),
            operator: *operator,
            whole: OnceLock::new(),
            stand_in: OnceLock::new(),
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
    pub(super) fn whole(self: &Arc<Self>) -> &Whole {
        if self.whole.get().is_none() {
            match MAKING.with_borrow(|making| making.row.is_empty()) {
                true => self.make_first(),
                false => self.make_within(),
            }
        }
        let Some(whole) = self.whole.get() else {
            // Only for those that are made just now, and made again after this one.
            let reason = "the tools that it is part of are not made yet".to_owned();
            return self.stand_in.get_or_init(|| self.faulty(reason, 1));
        };
        MAKING.with_borrow_mut(|making| {
            if let Some(step) = making.row.last_mut() {
                step.below = step.below.max(whole.height);
            }
        });
        whole
    }

    /// Makes a tool for its own sake, and before it those that come too deep in its row.
    fn make_first(self: &Arc<Self>) {
        let mut todo = vec![Arc::clone(self)];
        while let Some(next) = todo.last().cloned() {
            next.make_now();
            let first = MAKING.with_borrow_mut(|making| making.first.take());
            match first {
                None => {
                    todo.pop();
                }
                // It leads to one that leads to it, in a circle that is longer than a row may be.
                Some(first) if todo.iter().any(|one| Arc::ptr_eq(one, &first)) => {
                    first.keep(first.in_long_circle());
                }
                Some(first) => todo.push(first),
            }
        }
    }

    /// Makes a tool for the sake of another, unless the row is given up.
    fn make_within(self: &Arc<Self>) {
        let own: *const Body = Arc::as_ptr(self);
        let is_to_make = MAKING.with_borrow_mut(|making| {
            if making.first.is_some() {
                return false;
            }
            if let Some(at) = making.row.iter().position(|step| step.body == own) {
                let names: Vec<String> = making.row[at..]
                    .iter()
                    .map(|step| step.name.clone())
                    .collect();
                for (start, step) in making.row[at..].iter_mut().enumerate() {
                    step.circle.get_or_insert_with(|| round(&names, start));
                }
                return false;
            }
            if making.row.len() >= MAX_HEIGHT {
                making.first = Some(Arc::clone(self));
                return false;
            }
            true
        });
        if is_to_make {
            self.make_now();
        }
    }

    fn make_now(self: &Arc<Self>) {
        if self.whole.get().is_some() {
            return;
        }
        let Some(make) = &self.make else {
            // A body without this has its tool from the start.
            return self.keep(self.faulty("a bug in Toolcrib: nothing makes it".to_owned(), 1));
        };
        MAKING.with_borrow_mut(|making| {
            making.row.push(Step {
                body: Arc::as_ptr(self),
                name: self.head.reference(),
                below: 0,
                circle: None,
            });
        });
        let made = std::panic::catch_unwind(AssertUnwindSafe(make));
        let (step, is_given_up) =
            MAKING.with_borrow_mut(|making| (making.row.pop(), making.first.is_some()));
        if is_given_up {
            return;
        }
        let (below, circle) = step.map_or((0, None), |step| (step.below, step.circle));
        let height = below.saturating_add(1).min(MAX_HEIGHT + 1);
        if let Some(circle) = circle {
            return self.keep(self.faulty(circle, 1));
        }
        self.keep(match made {
            _ if height > MAX_HEIGHT => {
                let reason =
                    format!("the tools it is built on are more than {MAX_HEIGHT} in a row");
                self.faulty(reason, height)
            }
            Ok(Ok(made)) => {
                let whole = Whole::new(made, &self.operator, height);
                match is_same(&whole.spec, &self.head) {
                    true => whole,
                    false => {
                        let reason = format!(
                            "a bug in Toolcrib: it is made as `{}` (`{}`)",
                            whole.spec.name,
                            whole.spec.reference()
                        );
                        self.faulty(reason, height)
                    }
                }
            }
            Ok(Err(fault)) => self.faulty(fault, height),
            Err(_) => self.faulty("a bug in Toolcrib: making it failed".to_owned(), height),
        });
    }

    /// Not made inside of a lock: two tools that need one another, made by two threads, would wait for each other. The first one has made
    /// it.
    fn keep(&self, whole: Whole) {
        let _ = self.whole.set(whole);
    }

    fn in_long_circle(&self) -> Whole {
        let reason =
            format!("it would call itself without end, by way of more than {MAX_HEIGHT} tools");
        self.faulty(reason, MAX_HEIGHT + 1)
    }

    fn faulty(&self, reason: String, height: usize) -> Whole {
        let stand_in = MadeTool {
            tool: Arc::new(Unmakeable(Arc::clone(&self.head), reason.clone())),
            unavailable: Some(reason),
        };
        Whole::new(stand_in, &self.operator, height)
    }
}

impl Whole {
    fn new(made: MadeTool, operator: &LimitsPatch, height: usize) -> Self {
        let spec = made.tool.spec();
        // The operator's limits widen the default, and are the widest a tool can have.
        let limits = Limits::default()
            .overlaid(operator)
            .overlaid(&spec.limits)
            .tightened(operator);
        let unavailable = made.unavailable.or_else(|| unreadable(&spec));
        Whole {
            meter: Meter::new(&limits),
            limits,
            spec,
            tool: made.tool,
            unavailable,
            digest: OnceLock::new(),
            height,
        }
    }
}

/// Why rules could not judge a tool's calls: it takes URLs, and nothing here reads their hosts as its client would.
fn unreadable(spec: &ToolSpec) -> Option<String> {
    let takes_urls = || spec.roles.iter().any(|(_, role)| *role == Role::Url);
    let is_judged = cfg!(feature = "urls") || (spec.urls.is_empty() && !takes_urls());
    (!is_judged).then(|| {
        "it takes URLs, and this program was built without their reader (the feature `urls`)"
            .to_owned()
    })
}

/// How a tool of a circle comes back to itself, from the one at this place on.
fn round(names: &[String], start: usize) -> String {
    let round = names[start..].iter().chain(&names[..=start]);
    let round: Vec<&str> = round.map(String::as_str).collect();
    format!("it would call itself without end: {}", round.join(" → "))
}

/// Whether a made tool is found as its head is.
fn is_same(made: &ToolSpec, head: &ToolSpec) -> bool {
    (&made.name, &made.bundle, &made.slug, &made.version)
        == (&head.name, &head.bundle, &head.slug, &head.version)
}

/// The replacement for a tool that cannot be made. It is unavailable and never called.
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
