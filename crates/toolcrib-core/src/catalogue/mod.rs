//! What tools there are now.
//!
//! Tools live in a persistent map behind an atomic pointer: readers take a snapshot and never wait
//! for writers; a running call keeps the tool it started with. [`Registry`] is defined here and can be called in
//! [`registry`](crate::registry): the pipeline, which runs calls, lies between the two.

mod availability;
mod entry;
mod group;
mod lazy_tool;
mod lookup;
mod running;
mod snapshot;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use arc_swap::ArcSwap;

pub use availability::Availability;
pub use availability::{BundleState, StoreSwitches, Switch};
pub use entry::{Entry, Registration, Source};
pub use lazy_tool::MadeTool;
pub(crate) use running::{Counted, Running};
use snapshot::Snapshot;

use crate::model::error::{ErrorCode, ToolError};
use crate::model::ids::{BundleId, ToolId};
use crate::model::names::{Looks, Slug};
use crate::model::reference::ToolRef;
use crate::policy::Policy;
use crate::spec::ToolSpec;
use crate::tool::Tool;

/// The tools of a program, and the one way to call them. Cloning is cheap and shares everything.
///
/// ```
/// use toolcrib::{CallRequest, FnTool, Registry, schemars::JsonSchema, serde::Deserialize};
///
/// #[derive(Deserialize, JsonSchema)]
/// #[serde(crate = "toolcrib::serde")]
/// #[schemars(crate = "toolcrib::schemars")]
/// struct Args {
///     /// Who to greet.
///     name: String,
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let registry = Registry::new();
/// registry.register(FnTool::new("greet", "Greets a person", |args: Args, _cx| async move {
///     Ok(format!("Hello, {}!", args.name))
/// })?)?;
///
/// let outcome = registry.execute(CallRequest::new("greet").arg("name", "Ada")).await;
/// assert_eq!(outcome.value().unwrap(), "Hello, Ada!");
///
/// let outcome = registry.execute(CallRequest::new("greet")).await;
/// assert_eq!(outcome.error().unwrap().message(), "invalid arguments for `greet`: `/name` is required");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct Registry(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    tools: ArcSwap<Snapshot>,
    /// Held while tools change; the subscribers to every change.
    writer: Mutex<Watchers>,
    pub(crate) policy: Policy,
    pub(crate) running: Running,
    /// Keeps the tools in step with the files.
    follower: OnceLock<Box<dyn Follow>>,
    /// How often tools of the program came or went, and those of the store.
    changes: AtomicU64,
    store_changes: AtomicU64,
    /// How often tools of any kind came or went.
    swaps: AtomicU64,
    /// Whether what was made of files depends on the store.
    store_matters: AtomicBool,
    /// From when on a call looks at the files again, in microseconds since the registry was made.
    next_look: AtomicU64,
}

/// The subscribers to every change.
type Watchers = Vec<Box<dyn Fn(&[Arc<Entry>], &[Arc<Entry>]) + Send>>;

/// The tools of one moment without those of some sources.
#[doc(hidden)]
pub struct Lookup {
    tools: Snapshot,
    registry: Arc<Inner>,
}

impl Lookup {
    /// The entry a reference points at, its tool made. Anything derived from the answer must be derived again when the tools of the store
    /// change, if the answer is theirs or could become theirs.
    #[doc(hidden)]
    pub fn find(&self, reference: &str) -> Option<Arc<Entry>> {
        let found = self.tools.look_up(reference).ok().flatten().cloned();
        if let Some(entry) = &found {
            entry.make();
        }
        if found
            .as_ref()
            .is_none_or(|entry| entry.source() == Source::Store)
        {
            self.registry.store_matters.store(true, Ordering::Relaxed);
        }
        found
    }

    /// The built-in tool that has a name.
    #[doc(hidden)]
    pub fn built_in(&self, name: &str) -> Option<&Arc<Entry>> {
        let found = self.tools.look_up(name).ok().flatten();
        found.filter(|entry| entry.source() == Source::BuiltIn)
    }

    /// The tools that are neither files nor of the store: the program's own, and those of upstream servers.
    #[doc(hidden)]
    pub fn of_neither(&self) -> Vec<Arc<Entry>> {
        self.tools
            .of_sources(&[Source::BuiltIn, Source::App, Source::Upstream])
    }

    /// The slugs of the tools of some sources, by their looks.
    #[doc(hidden)]
    pub fn looks(&self, sources: &[Source]) -> HashMap<Looks, Slug> {
        let entries = self.tools.of_sources(sources).into_iter();
        let slugs = entries.map(|entry| entry.head().slug.clone());
        slugs.map(|slug| (Looks::of(&slug), slug)).collect()
    }

    /// The slug of a stored tool that a slug only looks like.
    #[doc(hidden)]
    pub fn stored_look_alike(&self, slug: &Slug, looks: &Looks) -> Option<&Slug> {
        self.registry.store_matters.store(true, Ordering::Relaxed);
        let mut slugs = self.tools.by_slug.iter();
        let found = slugs.find(|(other, group)| {
            *other != slug
                && looks.are_those_of(other)
                && group.iter().any(|entry| entry.source() == Source::Store)
        });
        found.map(|(other, _)| other)
    }

    /// Whether some tool has a name, as its own or as another that finds it.
    #[doc(hidden)]
    pub fn has_name(&self, name: &str) -> bool {
        self.tools.names.contains_key(name)
    }
}

/// Keeps the tools of a registry in step with where they come from.
#[doc(hidden)]
pub trait Follow: Send + Sync {
    /// Called before tools are looked for: brings the registry up to date if that is soon done.
    fn follow(&self, registry: &Registry);

    /// Says why a reference points at no tool, where that is known. `bundle_has_tools`: there are others of the bundle that it names.
    fn why_absent(&self, reference: &ToolRef, bundle_has_tools: bool) -> Option<String>;
}

/// Why a tool was not registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    /// The name, or one of its aliases, is taken.
    #[error("a tool named `{name}` is registered already")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// Another tool is exactly that version of that tool.
    #[error("a tool `{reference}` is registered already")]
    ReferenceTaken {
        /// The reference.
        reference: String,
    },
    /// Another tool has the id.
    #[error("a tool with the id {id} is registered already")]
    IdTaken {
        /// The id.
        id: ToolId,
    },
}

impl Inner {
    /// Brings the tools up to date with their files for a call, unless that was done a moment ago.
    pub(crate) fn follow_for_call(self: &Arc<Self>) {
        if !self.policy.look_every.is_zero() {
            let pause = u64::try_from(self.policy.look_every.as_micros()).unwrap_or(u64::MAX);
            let now = u64::try_from(self.policy.opened.elapsed().as_micros()).unwrap_or(u64::MAX);
            let next = self.next_look.load(Ordering::Relaxed);
            if now < next {
                return;
            }
            // Before the look: callers that come while it lasts need not look as well.
            self.next_look
                .store(now.saturating_add(pause), Ordering::Relaxed);
        }
        self.follow();
    }

    /// Brings the tools up to date with their files.
    pub(crate) fn follow(self: &Arc<Self>) {
        if let Some(follower) = self.follower.get() {
            follower.follow(&Registry(Arc::clone(self)));
        }
    }
}

/// A registry that may be gone.
#[doc(hidden)]
#[derive(Clone)]
pub struct WeakRegistry(Weak<Inner>);

impl WeakRegistry {
    /// The registry, if it is still there.
    pub fn upgrade(&self) -> Option<Registry> {
        self.0.upgrade().map(Registry)
    }
}

impl Registry {
    pub(crate) fn with_policy(policy: Policy) -> Self {
        Registry(Arc::new(Inner {
            tools: ArcSwap::default(),
            writer: Mutex::default(),
            policy,
            running: Running::default(),
            follower: OnceLock::new(),
            changes: AtomicU64::new(0),
            store_changes: AtomicU64::new(0),
            swaps: AtomicU64::new(0),
            store_matters: AtomicBool::new(false),
            next_look: AtomicU64::new(0),
        }))
    }

    /// Has someone keep the tools in step with their files; the first to come stays.
    #[doc(hidden)]
    pub fn follow_with(&self, follower: Box<dyn Follow>) {
        let _ = self.0.follower.set(follower);
    }

    /// A handle that does not keep the registry alive: for tools that are in it themselves.
    #[doc(hidden)]
    pub fn downgrade(&self) -> WeakRegistry {
        WeakRegistry(Arc::downgrade(&self.0))
    }

    /// The entry that a reference points at, whether or not it is on offer.
    #[doc(hidden)]
    pub fn look_up(&self, reference: &str) -> Option<Arc<Entry>> {
        self.0.look_up(reference)
    }

    /// Brings the tools up to date with their files.
    #[doc(hidden)]
    pub fn follow(&self) {
        Inner::follow(&self.0);
    }

    /// Adds a tool. A name that another tool of the program has is an error; a tool of a file gives its name up.
    pub fn register(&self, tool: impl Tool) -> Result<(), RegisterError> {
        self.register_with(Arc::new(tool), Registration::default())
    }

    /// Adds a tool, saying more about it.
    pub fn register_with(
        &self,
        tool: Arc<dyn Tool>,
        registration: Registration,
    ) -> Result<(), RegisterError> {
        self.register_all([(tool, registration)])
    }

    /// Adds many tools at once: all of them, or on the first taken name none.
    pub fn register_all(
        &self,
        tools: impl IntoIterator<Item = (Arc<dyn Tool>, Registration)>,
    ) -> Result<(), RegisterError> {
        self.insert_all(Source::App, tools)
    }

    #[doc(hidden)]
    pub fn insert_all(
        &self,
        source: Source,
        tools: impl IntoIterator<Item = (Arc<dyn Tool>, Registration)>,
    ) -> Result<(), RegisterError> {
        let watchers = self.writer();
        let mut next = Snapshot::clone(&self.0.tools.load());
        let mut come = Vec::new();
        for (tool, registration) in tools {
            let entry = self.entry(tool, source, registration);
            next.insert(Arc::clone(&entry))?;
            come.push(entry);
        }
        self.swap(&watchers, next, &[], &come);
        self.0.changes.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn writer(&self) -> MutexGuard<'_, Watchers> {
        self.0.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the tools, and notifies every subscriber.
    fn swap(&self, watchers: &Watchers, next: Snapshot, gone: &[Arc<Entry>], come: &[Arc<Entry>]) {
        self.0.tools.store(Arc::new(next));
        if !gone.is_empty() || !come.is_empty() {
            self.0.swaps.fetch_add(1, Ordering::Release);
            for watcher in watchers {
                watcher(gone, come);
            }
        }
    }

    /// Notifies a subscriber of all entries: at once of those that exist, and then, in sequence and without gaps, of every addition and
    /// removal. They are called while the registry is locked for writers: they must be quick, must not change
    /// anything here, and must not look for tools, since that may wait for a writer. An entry that is registered another way
    /// goes and comes as two different ones.
    pub fn watch(&self, watcher: impl Fn(&[Arc<Entry>], &[Arc<Entry>]) + Send + 'static) {
        let mut watchers = self.writer();
        let there: Vec<Arc<Entry>> = self.0.tools.load().all().cloned().collect();
        watcher(&[], &there);
        watchers.push(Box::new(watcher));
    }

    /// Takes entries out and puts others in, in one step. Only for tools that give way (all but those of the program), which
    /// never clash: what finds its names taken is shadowed. Costs by the number of entries that change, not of those there are.
    /// Names to remove that do not exist are ignored.
    #[doc(hidden)]
    pub fn apply(&self, gone: &[Arc<Entry>], come: Vec<Arc<Entry>>) {
        let watchers = self.writer();
        let mut next = Snapshot::clone(&self.0.tools.load());
        let gone = next.change(gone, &come);
        self.swap(&watchers, next, &gone, &come);
        self.0.store_changes.fetch_add(1, Ordering::Relaxed);
    }

    /// A number that is another one after tools came or went that matter to those of files: the program's, and the store's if
    /// one of the files uses such a tool, or might.
    #[doc(hidden)]
    pub fn changes(&self) -> u64 {
        let of_program = self.0.changes.load(Ordering::Relaxed);
        match self.0.store_matters.load(Ordering::Relaxed) {
            true => of_program.wrapping_add(self.0.store_changes.load(Ordering::Relaxed)),
            false => of_program,
        }
    }

    /// A number that changes whenever any tool is added or removed.
    #[doc(hidden)]
    pub fn swaps(&self) -> u64 {
        self.0.swaps.load(Ordering::Acquire)
    }

    /// Has those look again who go by [`changes`](Self::changes).
    #[doc(hidden)]
    pub fn note_change(&self) {
        self.0.changes.fetch_add(1, Ordering::Relaxed);
    }

    /// The tools that are there without those of some sources, which are files.
    #[doc(hidden)]
    pub fn without(&self, sources: &[Source]) -> Lookup {
        let mut tools = Snapshot::clone(&self.0.tools.load());
        tools.change(&tools.of_sources(sources), &[]);
        Lookup {
            tools,
            registry: Arc::clone(&self.0),
        }
    }

    /// A tool as it would be registered.
    pub(crate) fn entry(
        &self,
        tool: Arc<dyn Tool>,
        source: Source,
        registration: Registration,
    ) -> Arc<Entry> {
        let limits = &self.0.policy.limits;
        Arc::new(Entry::new(tool, source, registration, limits))
    }

    /// A file's tool as it would be registered: the number of the file's directory, and its name there, say which of several with
    /// one name comes first.
    #[doc(hidden)]
    pub fn entry_of_file(
        &self,
        tool: Arc<dyn Tool>,
        source: Source,
        registration: Registration,
        (directory, file): (usize, &str),
    ) -> Arc<Entry> {
        let limits = &self.0.policy.limits;
        Arc::new(Entry::new(tool, source, registration, limits).at(directory, file))
    }

    /// A tool that is made when it is first found, called or asked for its availability. `head` is what lists and searches see of it until
    /// then; its name, aliases, bundle, slug and version are also the made tool's. A tool that cannot be made is unavailable, for
    /// the reason that `make` gives. `make` may find other tools; one that needs itself that way is a fault, not an endless loop.
    #[doc(hidden)]
    pub fn entry_lazily(
        &self,
        head: Arc<ToolSpec>,
        source: Source,
        registration: Registration,
        store: StoreSwitches,
        make: impl Fn() -> Result<MadeTool, String> + Send + Sync + 'static,
    ) -> Arc<Entry> {
        let limits = &self.0.policy.limits;
        let entry = Entry::to_make(head, Box::new(make), source, registration, store, limits);
        Arc::new(entry)
    }

    /// Registers an entry's tool another way, for example when its switch or its bundle's was turned: it stays made, and its calls are
    /// counted on.
    #[doc(hidden)]
    pub fn entry_again(
        &self,
        entry: &Entry,
        registration: Registration,
        store: StoreSwitches,
    ) -> Arc<Entry> {
        Arc::new(entry.again(registration, store))
    }

    /// Puts these in the place of all tools of some sources, in one step: a reader sees all of the old or all of the new.
    /// `settle` may look things up among the new ones before anybody else can. Entries that stay are to be handed in again;
    /// they keep what they count. Only for tools that give way, which never clash.
    #[doc(hidden)]
    pub fn replace(
        &self,
        sources: &[Source],
        entries: Vec<Arc<Entry>>,
        settle: impl FnOnce(&dyn Fn(&str) -> Result<Arc<Entry>, ToolError>),
    ) {
        let watchers = self.writer();
        let mut next = Snapshot::clone(&self.0.tools.load());
        let before = next.of_sources(sources);
        let stays: HashSet<u64> = entries.iter().map(|entry| entry.number()).collect();
        let was: HashSet<u64> = before.iter().map(|entry| entry.number()).collect();
        let gone = before.into_iter();
        let gone: Vec<_> = gone
            .filter(|entry| !stays.contains(&entry.number()))
            .collect();
        let come = entries.into_iter();
        let come: Vec<_> = come
            .filter(|entry| !was.contains(&entry.number()))
            .collect();
        next.change(&gone, &come);
        settle(&|reference| next.find(reference));
        self.swap(&watchers, next, &gone, &come);
    }

    /// The tools whose name another one has, each with that other. Other versions of one stored tool do not count
    /// ([`other_versions`](Self::other_versions)), nor is a stored tool that is off.
    pub fn shadowed(&self) -> Vec<(Arc<Entry>, Arc<Entry>)> {
        self.shadowed_where(|entry, by| !entry.is_off_in_store() && !is_other_version(entry, by))
    }

    /// The versions of stored tools that stand behind the one that has their name, each with that one.
    pub fn other_versions(&self) -> Vec<(Arc<Entry>, Arc<Entry>)> {
        self.shadowed_where(is_other_version)
    }

    /// The tool that has the name of a shadowed tool; none if it is not shadowed.
    pub fn shadower(&self, entry: &Entry) -> Option<Arc<Entry>> {
        let tools = self.0.tools.load();
        tools
            .is_shadowed(entry)
            .then(|| tools.shadower(entry))
            .flatten()
    }

    /// The tool of another bundle that a slug of this bundle only looks like. A bundle may have look-alikes among its own tools,
    /// which are flagged, and a slug that it has already stays.
    #[doc(hidden)]
    pub fn look_alike(&self, slug: &Slug, bundle: BundleId) -> Option<Arc<Entry>> {
        let looks = Looks::of(slug);
        let tools = self.0.tools.load();
        let slugs = tools.by_slug.iter();
        let alike = slugs.filter(|(other, _)| looks.are_those_of(other));
        let mut found = None;
        for (other, group) in alike {
            for entry in group.iter() {
                if entry.bundle_id() == Some(bundle) {
                    return None;
                }
                if other != slug {
                    found = found.or_else(|| Some(Arc::clone(entry)));
                }
            }
        }
        found
    }

    /// The tool that has a name, as its own or as an alias. Makes nothing.
    #[doc(hidden)]
    pub fn holder(&self, name: &str) -> Option<Arc<Entry>> {
        self.0.tools.load().names.get(name).cloned()
    }

    fn shadowed_where(
        &self,
        is_wanted: impl Fn(&Entry, &Entry) -> bool,
    ) -> Vec<(Arc<Entry>, Arc<Entry>)> {
        let tools = self.0.tools.load();
        let pair = |entry: &Arc<Entry>| Some((Arc::clone(entry), tools.shadower(entry)?));
        let pairs = tools.shadowed.values().filter_map(pair);
        let mut pairs: Vec<_> = pairs.filter(|(entry, by)| is_wanted(entry, by)).collect();
        pairs.sort_by(|(a, _), (b, _)| a.rank(b));
        pairs
    }

    /// Removes a tool by its wire name and returns it. Calls that run already are not disturbed.
    pub fn unregister(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let watchers = self.writer();
        let mut next = Snapshot::clone(&self.0.tools.load());
        let entry = Arc::clone(next.named(name)?);
        next.change(&[Arc::clone(&entry)], &[]);
        self.swap(&watchers, next, &[Arc::clone(&entry)], &[]);
        self.0.changes.fetch_add(1, Ordering::Relaxed);
        Some(Arc::clone(entry.tool()))
    }

    /// The tool a reference points at, in any spelling.
    pub fn get(&self, reference: &str) -> Option<Arc<dyn Tool>> {
        self.find(reference)
            .ok()
            .map(|entry| Arc::clone(entry.tool()))
    }

    /// The entry a reference points at; the error suggests near names.
    pub fn find(&self, reference: &str) -> Result<Arc<Entry>, ToolError> {
        self.follow();
        self.0.find(reference)
    }

    /// Brings the tools up to date with their files, as for a call, and says which state they are in: a number that is another one after
    /// tools came, went or were switched. Something made from tools that were looked at later than this is of this state or a newer one.
    pub fn state(&self) -> u64 {
        Inner::follow_for_call(&self.0);
        let swaps = self.0.swaps.load(Ordering::Acquire);
        swaps.wrapping_add(entry::switches())
    }

    /// Every tool that can be offered, by name, as calls of it are judged: each is made, which costs once.
    pub fn list(&self) -> Vec<Arc<ToolSpec>> {
        let ready = |entry: &Arc<Entry>| entry.availability() == Availability::Ready;
        self.entries()
            .into_iter()
            .filter(ready)
            .map(|entry| Arc::clone(entry.spec()))
            .collect()
    }

    /// Every tool, also those that are switched off or cannot run, by name.
    pub fn entries(&self) -> Vec<Arc<Entry>> {
        self.follow();
        let tools = self.0.tools.load();
        let listed = tools.published().filter(|entry| entry.is_listed());
        let mut entries: Vec<Arc<Entry>> = listed.cloned().collect();
        entries.sort_by(|a, b| a.head().name.cmp(&b.head().name));
        entries
    }

    /// Every tool, also those whose name another one has: by name, and of one name in the order in which they would have it.
    pub fn all_entries(&self) -> Vec<Arc<Entry>> {
        self.follow();
        let tools = self.0.tools.load();
        let listed = tools.all().filter(|entry| entry.is_listed());
        let mut entries: Vec<Arc<Entry>> = listed.cloned().collect();
        entries.sort_by(|a, b| {
            let by_name = a.head().name.cmp(&b.head().name);
            by_name.then_with(|| a.rank(b))
        });
        entries
    }

    /// Every tool of a bundle, all versions, also those whose name another one has: by slug, and of one slug the one that
    /// `bundle/slug` means first. Costs by the size of the bundle.
    pub fn entries_of(&self, bundle: BundleId) -> Vec<Arc<Entry>> {
        self.follow();
        let mut entries = self.0.tools.load().of_bundle(bundle);
        entries.retain(|entry| entry.is_listed());
        entries.sort_by(|a, b| {
            let by_slug = a.head().slug.cmp(&b.head().slug);
            by_slug.then_with(|| a.rank(b))
        });
        entries
    }

    /// Switches a tool on or off, for as long as this registry lives; `Crib::set_enabled` does it
    /// for good. What the user or the settings switched off stays off.
    pub fn set_enabled(&self, reference: &str, enabled: bool) -> Result<(), ToolError> {
        self.find(reference)?.switch(Switch::Program, enabled);
        Ok(())
    }
}

/// Whether a tool is another version of a stored tool.
fn is_other_version(entry: &Entry, other: &Entry) -> bool {
    let (own, others) = (entry.head(), other.head());
    let is_stored = entry.source() == Source::Store && other.source() == Source::Store;
    is_stored
        && (entry.bundle_id(), &own.bundle, &own.slug)
            == (other.bundle_id(), &others.bundle, &others.slug)
        && own.version != others.version
}

/// The error for a reference that finds nothing.
pub(crate) fn not_found(message: String) -> ToolError {
    ToolError::new(ErrorCode::ToolNotFound, message)
}
