//! A registered tool: what it is, where it comes from, whether it can be called.

use std::cmp::{Ordering, Reverse};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering as Memory};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::availability::{Availability, StoreSwitches, Switch, Switches};
use super::lazy_tool::{Body, Make};
use crate::limits::Meter;
use crate::model::digest::Digester;
use crate::model::ids::{BundleId, ToolId};
use crate::model::limits::{Limits, LimitsPatch};
use crate::spec::ToolSpec;
use crate::tool::Tool;

/// Where a tool comes from; of two with one name the one whose source is first here has it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Compiled into Toolcrib.
    BuiltIn,
    /// Registered by the program that embeds Toolcrib.
    App,
    /// A file of the workspace.
    Local,
    /// A file of the user's.
    User,
    /// A file of the machine's.
    Global,
    /// A bundle of the store.
    Store,
    /// An upstream MCP server.
    Upstream,
}

impl Source {
    /// All of them, the first first.
    pub(super) const ALL: [Source; 7] = [
        Source::BuiltIn,
        Source::App,
        Source::Local,
        Source::User,
        Source::Global,
        Source::Store,
        Source::Upstream,
    ];

    /// The word for it, as in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Source::BuiltIn => "built-in",
            Source::App => "app",
            Source::Local => "local",
            Source::User => "user",
            Source::Global => "global",
            Source::Store => "store",
            Source::Upstream => "upstream",
        }
    }

    /// The bundle of all its tools, where that is one of Toolcrib's own.
    fn bundle_id(self) -> Option<BundleId> {
        match self {
            Source::BuiltIn => Some(BundleId::CORE),
            Source::Local => Some(BundleId::LOCAL),
            Source::User => Some(BundleId::USER),
            Source::Global => Some(BundleId::GLOBAL),
            Source::App | Source::Store | Source::Upstream => None,
        }
    }

    /// Whether its tools give way to others of the same name. Those of a program do not: a clash of names is an error of it.
    pub(super) fn gives_way(self) -> bool {
        match self {
            Source::BuiltIn | Source::App => false,
            Source::Local | Source::User | Source::Global | Source::Store | Source::Upstream => {
                true
            }
        }
    }
}

/// The number of the next entry.
static NUMBERS: AtomicU64 = AtomicU64::new(0);

/// How often a tool of this process was switched.
static SWITCHES: AtomicU64 = AtomicU64::new(0);

/// How often a tool of this process was switched on or off.
pub(super) fn switches() -> u64 {
    SWITCHES.load(Memory::Acquire)
}

/// A registered tool.
pub struct Entry {
    body: Arc<Body>,
    /// Which entry of all it is.
    number: u64,
    source: Source,
    id: Option<ToolId>,
    bundle_id: Option<BundleId>,
    modified: Option<Timestamp>,
    imported: bool,
    unlisted: bool,
    /// Where it is among others of its source that are files: the number of the directory, and the file's name in it.
    order: (usize, Box<str>),
    store: StoreSwitches,
    /// The bits of those who switched it off.
    off: AtomicU8,
    untrusted: Option<String>,
    unavailable: Option<String>,
}

/// How to register a tool; [`Registry::register`](crate::registry::Registry::register) uses the defaults.
#[derive(Debug, Clone, Default)]
pub struct Registration {
    /// The id by which it can be referred to.
    pub id: Option<ToolId>,
    /// The id of its bundle; those of Toolcrib's own have theirs anyway.
    pub bundle_id: Option<BundleId>,
    /// When it was last changed: what is newer is found first.
    pub modified: Option<Timestamp>,
    /// Whether its bundle came from elsewhere: then it comes after the user's own stored tools, however new it is.
    pub imported: bool,
    /// Keeps it out of lists and searches: for tools that stand for others. It is found, shown and called as any.
    pub unlisted: bool,
    /// Registers it switched off.
    pub disabled: bool,
    /// Registers it although it cannot run, saying what is missing.
    pub unavailable: Option<String>,
    /// Registers it although no one has trusted it yet, saying what to do: calls are refused as `untrusted`.
    pub untrusted: Option<String>,
}

/// The id of a built-in tool, which is published and stays the same as long as its slug and its version do.
fn built_in_id(body: &Body, source: Source) -> Option<ToolId> {
    let head = body.head();
    (source == Source::BuiltIn).then(|| ToolId::derived(BundleId::CORE, &head.slug, &head.version))
}

impl Entry {
    pub(super) fn new(
        tool: Arc<dyn Tool>,
        source: Source,
        registration: Registration,
        operator: &LimitsPatch,
    ) -> Self {
        let body = Arc::new(Body::of(tool, operator));
        Entry::with(body, source, registration, StoreSwitches::default())
    }

    /// A tool that is made when it is first needed; until then it is known by its head.
    pub(super) fn to_make(
        head: Arc<ToolSpec>,
        make: Make,
        source: Source,
        registration: Registration,
        store: StoreSwitches,
        operator: &LimitsPatch,
    ) -> Self {
        let body = Arc::new(Body::to_make(head, make, operator));
        Entry::with(body, source, registration, store)
    }

    /// This entry's tool, registered another way. It stays made, its calls are counted on, and it stays off if the program switched it
    /// off.
    pub(super) fn again(&self, registration: Registration, store: StoreSwitches) -> Self {
        let entry = Entry::with(Arc::clone(&self.body), self.source, registration, store);
        entry
            .off
            .fetch_or(self.off.load(Memory::Relaxed), Memory::Relaxed);
        entry
    }

    /// Sets the place of a file's entry: the number of its directory, and its name there.
    pub(super) fn at(mut self, directory: usize, file: &str) -> Self {
        self.order = (directory, file.into());
        self
    }

    fn with(
        body: Arc<Body>,
        source: Source,
        registration: Registration,
        store: StoreSwitches,
    ) -> Self {
        let off = match registration.disabled {
            true => Switch::Program as u8,
            false => 0,
        };
        Entry {
            number: NUMBERS.fetch_add(1, Memory::Relaxed),
            source,
            id: registration.id.or_else(|| built_in_id(&body, source)),
            bundle_id: registration.bundle_id.or(source.bundle_id()),
            modified: registration.modified,
            imported: registration.imported,
            unlisted: registration.unlisted,
            order: (0, "".into()),
            store,
            off: AtomicU8::new(off),
            untrusted: registration.untrusted,
            unavailable: registration.unavailable,
            body,
        }
    }

    /// Where it is among others of its source that are files: the number of the directory, and the file's name in it.
    #[doc(hidden)]
    pub fn standing(&self) -> (usize, &str) {
        (self.order.0, &self.order.1)
    }

    /// The tool itself, made now if need be. The pipeline alone calls it.
    pub fn tool(&self) -> &Arc<dyn Tool> {
        &self.body.whole().tool
    }

    /// The tool's spec. Of a tool that has not been made yet it is what lists show: names, texts and schemas, but not all that
    /// rules and approvals go by. What [`Registry::find`](crate::registry::Registry::find) returns has been made.
    pub fn spec(&self) -> &Arc<ToolSpec> {
        match self.body.made() {
            Some(whole) => &whole.spec,
            None => self.body.head(),
        }
    }

    /// What the tool is found by: never changes while it is registered.
    #[doc(hidden)]
    pub fn head(&self) -> &ToolSpec {
        self.body.head()
    }

    /// Whether the tool has been made: then all that can be asked about it costs nothing.
    #[doc(hidden)]
    pub fn is_made(&self) -> bool {
        self.body.made().is_some()
    }

    /// Makes the tool, if that has not been done.
    pub(super) fn make(&self) {
        self.body.whole();
    }

    /// Which entry of all it is. A tool that is registered again is another one.
    #[doc(hidden)]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Where the tool comes from.
    pub fn source(&self) -> Source {
        self.source
    }

    /// The id of this version of the tool, if it has one.
    pub fn id(&self) -> Option<ToolId> {
        self.id
    }

    /// The id by which its calls are counted: that of a tool of the store.
    #[doc(hidden)]
    pub fn stored_id(&self) -> Option<ToolId> {
        self.id.filter(|_| self.source == Source::Store)
    }

    /// The id of its bundle; none for the tools of a program.
    pub fn bundle_id(&self) -> Option<BundleId> {
        self.bundle_id
    }

    /// When it was last changed, where that is known.
    pub fn modified(&self) -> Option<Timestamp> {
        self.modified
    }

    /// The limits of its calls: the tool's own and the registry's, whichever is tighter.
    pub fn limits(&self) -> &Limits {
        &self.body.whole().limits
    }

    pub(crate) fn meter(&self) -> &Meter {
        &self.body.whole().meter
    }

    /// Which of two has a name that both want: the lesser one. It never changes, and is the same in every process.
    pub(super) fn rank(&self, other: &Entry) -> Ordering {
        let within_source = || match self.source {
            // These hold their names against each other by clashing. Of one slug, the newest is meant.
            Source::BuiltIn | Source::App => other.number.cmp(&self.number),
            // A file does not get a name by being touched.
            Source::Local | Source::User | Source::Global | Source::Upstream => {
                self.order.cmp(&other.order)
            }
            Source::Store => self.rank_in_store(other),
        };
        self.source
            .cmp(&other.source)
            .then_with(within_source)
            .then_with(|| self.number.cmp(&other.number))
    }

    /// Tools that are on come before those that are off, the user's own before imported ones, then the newest.
    fn rank_in_store(&self, other: &Entry) -> Ordering {
        let by_time = |entry: &Entry| {
            let off = entry.store.are_off();
            (off, entry.imported, Reverse(entry.modified))
        };
        let (own, others) = (self.head(), other.head());
        by_time(self)
            .cmp(&by_time(other))
            .then_with(|| own.slug.cmp(&others.slug))
            .then_with(|| own.bundle.cmp(&others.bundle))
            .then_with(|| own.version.cmp(&others.version))
            .then_with(|| self.bundle_id.cmp(&other.bundle_id))
    }

    /// Whether it can be called. What that takes to say is done: the tool is made.
    pub fn availability(&self) -> Availability {
        self.switches()
            .disabled()
            .unwrap_or_else(|| readiness(self.unavailable()))
    }

    /// Everything that keeps it from being called, the strongest first; [`availability`](Self::availability) is the first of these.
    pub fn obstacles(&self) -> Vec<Availability> {
        let missing = match readiness(self.unavailable()) {
            Availability::Ready => None,
            missing => Some(missing),
        };
        self.switches().reasons().chain(missing).collect()
    }

    /// Whether it can be called, by what is known without making the tool: for long lists. `Ready` may turn out to be too much said.
    pub fn availability_at_a_glance(&self) -> Availability {
        let made = self.body.made();
        let missing = self
            .unavailable
            .as_deref()
            .or_else(|| made?.unavailable.as_deref());
        self.switches()
            .disabled()
            .unwrap_or_else(|| readiness(missing))
    }

    /// Whether someone has switched it off, or it is not trusted. Costs next to nothing.
    pub fn is_off(&self) -> bool {
        self.switches().are_off()
    }

    /// Whether it is in lists and searches.
    #[doc(hidden)]
    pub fn is_listed(&self) -> bool {
        !self.unlisted
    }

    /// Whether its bundle came from elsewhere.
    #[doc(hidden)]
    pub fn is_imported(&self) -> bool {
        self.imported
    }

    /// Whether the store says it is off.
    #[doc(hidden)]
    pub fn is_off_in_store(&self) -> bool {
        self.store.are_off()
    }

    fn switches(&self) -> Switches<'_> {
        Switches {
            spec: self.body.head(),
            untrusted: self.untrusted.as_deref(),
            bits: self.off.load(Memory::Relaxed),
            store: &self.store,
        }
    }

    /// Anything that is missing for it to run, also if it is switched off.
    #[doc(hidden)]
    pub fn unavailable(&self) -> Option<&str> {
        self.unavailable
            .as_deref()
            .or_else(|| self.body.whole().unavailable.as_deref())
    }

    /// Lets one of those who may switch it off do so, or take that back.
    #[doc(hidden)]
    pub fn switch(&self, who: Switch, on: bool) {
        let bit = who as u8;
        let before = match on {
            true => self.off.fetch_and(!bit, Memory::Relaxed),
            false => self.off.fetch_or(bit, Memory::Relaxed),
        };
        if (before & bit != 0) == on {
            SWITCHES.fetch_add(1, Memory::Release);
        }
    }

    /// A digest of what the tool is, to which approvals are bound.
    pub fn digest(&self) -> &str {
        let whole = self.body.whole();
        whole.digest.get_or_init(|| {
            let spec = &whole.spec;
            let digest = Digester::default()
                .text(&spec.reference())
                .text(spec.name.as_str())
                .text(&spec.description)
                .json(spec.input_schema.as_value())
                .json(
                    spec.output_schema
                        .as_ref()
                        .map_or(&Value::Null, |schema| schema.as_value()),
                )
                .text(&spec.effects.tags().join(","));
            match &spec.content_digest {
                Some(content) => digest.text(content).finish(),
                None => digest.finish(),
            }
        })
    }
}

fn readiness(missing: Option<&str>) -> Availability {
    match missing {
        Some(reason) => Availability::Unavailable {
            reason: reason.to_owned(),
        },
        None => Availability::Ready,
    }
}
