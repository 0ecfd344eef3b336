//! Tools of upstream servers in a registry: made from settings and pins, and following both.
//!
//! No one is connected for it. What a server said last, where that is not what is pinned, is known from beside the pins: a tool that changed or is
//! new is there and not trusted, one that is gone cannot run. Names are the server's own unless something that goes before has them; the
//! tools of the store and of files come first, then the servers by name.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;

use crate::call::context::CallContext;
use crate::config::read_upstreams;
use crate::model::JsonObject;
use crate::model::digest::Digester;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::ids::{BundleId, ToolId};
use crate::model::names::{Looks, Slug, Version, WireName};
use crate::model::outcome::ToolOutput;
use crate::model::reference::{BundleRef, ToolRef};
use crate::model::text::{shorten, visible};
use crate::registry::{Entry, Registration, Registry, Source};
use crate::schema::Schema;
use crate::spec::ToolSpec;
use crate::storage::{Followed, Stamp, Stamps};
use crate::tool::Tool;
use crate::upstream::{
    self, Definition, PinChange, Pinned, Upstream, UpstreamTable, UpstreamTool, Upstreams,
    names::{self, Since},
};

/// How long no one looks again at what another process may have written.
const PAUSE: Duration = Duration::from_millis(100);

/// The tools of upstream servers in a registry.
pub(crate) struct UpstreamTools {
    upstreams: Arc<Upstreams>,
    home: PathBuf,
    state: Mutex<State>,
    begun: Instant,
    /// When to look again, in nanoseconds after `begun`.
    next_look: AtomicU64,
}

#[derive(Default)]
struct State {
    /// The settings, and what was accepted, as far as they were read.
    config: Followed<()>,
    pins: Followed<()>,
    swaps: u64,
    /// By server and the name of the tool there.
    made: HashMap<(Slug, String), Made>,
    problems: Vec<String>,
}

/// A tool as it was registered last.
struct Made {
    key: String,
    entry: Arc<Entry>,
}

/// A tool on its way into the registry.
struct Draft {
    id: (Slug, String),
    key: String,
    tool: Arc<dyn Tool>,
    registration: Registration,
}

impl UpstreamTools {
    pub(crate) fn new(upstreams: Arc<Upstreams>, home: PathBuf) -> Self {
        UpstreamTools {
            upstreams,
            home,
            state: Mutex::default(),
            begun: Instant::now(),
            next_look: AtomicU64::new(0),
        }
    }

    /// The servers.
    pub(crate) fn upstreams(&self) -> &Arc<Upstreams> {
        &self.upstreams
    }

    /// What a person should know: settings or pins that cannot be read.
    pub(crate) fn problems(&self) -> Vec<String> {
        self.state().problems.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the settings that were just read, and registers what there is.
    pub(crate) fn begin(&self, registry: &Registry, table: &UpstreamTable) {
        self.upstreams.set(table);
        let mut state = self.state();
        state.config.set(self.config_stamps(), ());
        self.load(registry, &mut state);
    }

    /// Brings a registry up to date, now; says whether something changed.
    pub(crate) fn refresh(&self, registry: &Registry) -> bool {
        let mut state = self.state();
        self.look(registry, &mut state)
    }

    /// Brings a registry up to date if it is time and no one else does; says whether something changed.
    pub(crate) fn follow(&self, registry: &Registry) -> bool {
        let now = u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let is_changed = self.upstreams.take_changed();
        if !is_changed && now < self.next_look.load(Ordering::Relaxed) {
            return false;
        }
        let pause = u64::try_from(PAUSE.as_nanos()).unwrap_or(u64::MAX);
        self.next_look
            .store(now.saturating_add(pause), Ordering::Relaxed);
        let mut state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        self.look(registry, &mut state)
    }

    fn config_stamps(&self) -> Stamps<1> {
        Stamps::new([Stamp::at(&self.home.join("config.toml"))])
    }

    fn pin_stamps(&self) -> Stamps<1> {
        Stamps::new([self.upstreams.pins().stamp()])
    }

    fn look(&self, registry: &Registry, state: &mut State) -> bool {
        let config = self.config_stamps();
        let is_configured = state.config.current(&config).is_none();
        if is_configured {
            state.config.set(config, ());
            match read_upstreams(&self.home) {
                Ok(table) => self.upstreams.set(&table),
                // What was configured stays until someone can say what else.
                Err(error) => state.problems = vec![error.to_string()],
            }
        }
        let is_current = !is_configured
            && state.pins.current(&self.pin_stamps()).is_some()
            // With no servers there are no names to lose.
            && (state.made.is_empty() || state.swaps == registry.swaps());
        if is_current {
            return false;
        }
        self.load(registry, state)
    }

    /// Registers what there is; says whether something changed.
    fn load(&self, registry: &Registry, state: &mut State) -> bool {
        state.pins.set(self.pin_stamps(), ());
        let all = self.upstreams.all();
        if all.is_empty() && state.made.is_empty() {
            state.swaps = registry.swaps();
            state.problems.clear();
            return false;
        }
        let firm = registry.without(&[Source::Upstream]);
        let mut problems = Vec::new();
        let mut entries = Vec::new();
        let mut made = HashMap::new();
        let mut is_changed = false;
        let mut read = Vec::new();
        for (number, upstream) in all.values().enumerate() {
            let pinned = self.upstreams.pins().read(upstream.name());
            let pinned = pinned.unwrap_or_else(|why| {
                let name = upstream.name();
                problems.push(format!(
                    "what was accepted of the MCP server `{name}` cannot be read ({why}): `toolcrib upstream accept {name}` asks again"
                ));
                None
            });
            read.extend(pinned.map(|pinned| (number, upstream, Offer::of(pinned))));
        }
        let offers = read.iter().map(|(_, upstream, offer)| (*upstream, offer));
        // A look-alike is given another name like one whose name is taken.
        let sources = [
            Source::BuiltIn,
            Source::App,
            Source::Local,
            Source::User,
            Source::Global,
            Source::Store,
        ];
        let looks = firm.looks(&sources);
        let mut named = named(offers, |name| {
            let slug = Slug::from_wire(name);
            let alike = looks.get(&Looks::of(&slug));
            firm.has_name(name.as_str()) || alike.is_some_and(|other| *other != slug)
        });
        let settings = self.home.join("config.toml");
        for (number, upstream, offer) in &read {
            let named = named.remove(upstream.name()).unwrap_or_default();
            for draft in drafts(upstream, offer, named, &settings) {
                let kept = state
                    .made
                    .remove(&draft.id)
                    .filter(|kept| kept.key == draft.key);
                let entry = match kept {
                    Some(kept) => kept.entry,
                    None => {
                        is_changed = true;
                        let slug = draft.tool.spec().slug.clone();
                        registry.entry_of_file(
                            draft.tool,
                            Source::Upstream,
                            draft.registration,
                            (*number, slug.as_str()),
                        )
                    }
                };
                entries.push(Arc::clone(&entry));
                made.insert(
                    draft.id,
                    Made {
                        key: draft.key,
                        entry,
                    },
                );
            }
        }
        is_changed |= !state.made.is_empty();
        state.made = made;
        state.problems = problems;
        if is_changed {
            registry.replace(&[Source::Upstream], entries, |_| {});
            // Flags and settings are yet to switch what is new.
            registry.note_change();
        }
        state.swaps = registry.swaps();
        is_changed
    }

    /// Says why a reference points at nothing, where it names an upstream server.
    pub(crate) fn why_absent(&self, reference: &ToolRef) -> Option<String> {
        let ToolRef::InBundle {
            bundle: BundleRef::Slug(bundle),
            slug,
            ..
        } = reference
        else {
            return None;
        };
        let upstream = self.upstreams.get(bundle.as_str())?;
        let name = upstream.name();
        Some(match self.upstreams.pins().read(name) {
            Ok(Some(pinned)) => {
                let slugs: Vec<String> = names::slugs(pinned.names())
                    .into_iter()
                    .map(|(_, slug)| slug.to_string())
                    .collect();
                let near =
                    crate::model::text::nearest(slug.as_str(), slugs.iter().map(String::as_str));
                match near.is_empty() {
                    true => format!(
                        "the MCP server `{name}` has no such tool; `toolcrib upstream show {name}` lists those it has"
                    ),
                    false => format!(
                        "the MCP server `{name}` has no such tool; did you mean {}?",
                        crate::model::text::or_list(&near)
                    ),
                }
            }
            Ok(None) => format!(
                "nothing has been accepted of the MCP server `{name}` yet: `toolcrib upstream accept {name}` shows its tools and asks"
            ),
            Err(why) => {
                format!("what was accepted of the MCP server `{name}` cannot be read: {why}")
            }
        })
    }
}

/// What a server offers: the tools that were accepted, then those that no one has accepted yet.
struct Offer {
    pinned: Pinned,
    /// By tool, what is not as it was accepted.
    changes: BTreeMap<String, PinChange>,
    tools: Vec<(Definition, Since)>,
}

impl Offer {
    fn of(pinned: Pinned) -> Self {
        let changes: BTreeMap<String, PinChange> = pinned
            .changes()
            .into_iter()
            .map(|change| (change.tool().to_owned(), change))
            .collect();
        let accepted = pinned
            .tools
            .iter()
            .map(|tool| (tool.definition.clone(), Since::Accepted(tool.since)));
        let new = changes.values().filter_map(|change| match change {
            PinChange::New(definition) => Some((definition.clone(), Since::New)),
            PinChange::Changed { .. } | PinChange::Removed(_) => None,
        });
        let tools = accepted.chain(new).collect();
        Offer {
            pinned,
            changes,
            tools,
        }
    }
}

/// What the tools of each server are called, in the order of its offer: the tool accepted first chooses first, whichever server it belongs to.
fn named<'a>(
    offers: impl Iterator<Item = (&'a Arc<Upstream>, &'a Offer)>,
    is_firm: impl Fn(&WireName) -> bool,
) -> HashMap<Slug, Vec<(WireName, Slug)>> {
    let mut named = HashMap::new();
    let mut queue = Vec::new();
    for (upstream, offer) in offers {
        let own = offer.tools.iter();
        let own = own.map(|(definition, since)| (definition.name.as_str(), *since));
        let own = names::slugs(own);
        for (place, (definition, since)) in offer.tools.iter().enumerate() {
            queue.push((*since, upstream.name(), definition.name.as_str(), place));
        }
        named.insert(upstream.name().clone(), own);
    }
    queue.sort();
    let mut taken = HashSet::new();
    for (_, upstream, _, place) in queue {
        let name = named
            .get_mut(upstream)
            .and_then(|names| names.get_mut(place));
        if let Some((wire, _)) = name {
            *wire = names::free(upstream, wire, |name| is_firm(name) || taken.contains(name));
            taken.insert(wire.clone());
        }
    }
    named
}

/// The tools of a server as they would be registered.
fn drafts(
    upstream: &Arc<Upstream>,
    offer: &Offer,
    named: Vec<(WireName, Slug)>,
    settings: &Path,
) -> Vec<Draft> {
    let (name, pinned, changes) = (upstream.name(), &offer.pinned, &offer.changes);
    let off = (!upstream.settings().enabled).then(|| {
        format!(
            "its MCP server is switched off: `upstreams.{name}.enabled` in {}",
            settings.display()
        )
    });
    let draft = |((definition, _), (wire, slug)): (&(Definition, Since), (WireName, Slug))| {
        let accept = format!("`toolcrib upstream accept {name}`");
        let (mut untrusted, mut unavailable) = (None, off.clone());
        match changes.get(&definition.name) {
            Some(PinChange::New(_)) => {
                untrusted = Some(format!(
                    "the MCP server `{name}` has added it, and it is not accepted yet: {accept} shows it and asks"
                ));
            }
            Some(PinChange::Changed { .. }) => {
                untrusted = Some(format!(
                    "its definition has changed since it was accepted: {accept} shows the difference and asks"
                ));
            }
            Some(PinChange::Removed(_)) => {
                unavailable.get_or_insert(format!("the MCP server `{name}` no longer has it"));
            }
            None => {
                let is_whole = pinned
                    .tool(&definition.name)
                    .is_some_and(upstream::PinnedTool::is_whole);
                if !is_whole {
                    untrusted = Some(format!(
                        "the record of its acceptance was changed: {accept} asks again"
                    ));
                }
            }
        }
        let is_new = matches!(changes.get(&definition.name), Some(PinChange::New(_)));
        let made = match is_new {
            true => Err(String::new()),
            false => upstream::spec(upstream, definition, wire.clone(), slug.clone()),
        };
        let tool: Arc<dyn Tool> = match made {
            Ok(spec) => Arc::new(UpstreamTool::new(spec, Arc::clone(upstream), definition)),
            Err(why) => {
                if !why.is_empty() {
                    unavailable.get_or_insert(why);
                }
                Arc::new(Placeholder::new(
                    wire.clone(),
                    slug.clone(),
                    name,
                    definition,
                ))
            }
        };
        let optional = |digest: Digester, text: Option<&str>| match text {
            Some(text) => digest.text("+").text(text),
            None => digest.text("-"),
        };
        let key = Digester::default()
            .text(wire.as_str())
            .text(slug.as_str())
            .text(&definition.digest());
        let key = optional(optional(key, untrusted.as_deref()), unavailable.as_deref());
        // Another server object is another server.
        let key = key.text(&format!("{:p}", Arc::as_ptr(upstream)));
        let bundle_id = BundleId::of_upstream(name);
        Draft {
            id: (name.clone(), definition.name.clone()),
            key: key.finish(),
            registration: Registration {
                id: Some(ToolId::derived(bundle_id, &slug, &Version::v1())),
                bundle_id: Some(bundle_id),
                modified: pinned.pinned_at.parse().ok(),
                untrusted,
                unavailable,
                ..Registration::default()
            },
            tool,
        }
    };
    offer.tools.iter().zip(named).map(draft).collect()
}

/// What stands for a tool that cannot be made, or that no one has accepted: nothing of what its server says about it is published.
struct Placeholder(Arc<ToolSpec>);

impl Placeholder {
    fn new(name: WireName, slug: Slug, upstream: &Slug, definition: &Definition) -> Self {
        let schema = Schema::object().build().expect("a valid schema");
        let shown = shorten(&visible(&definition.name), 80);
        let description =
            format!("The tool `{shown}` of the MCP server `{upstream}`, which cannot be used.");
        let mut spec = ToolSpec::new(name, description, schema);
        spec.slug = slug;
        spec.bundle = upstream.clone();
        spec.content_digest = Some(definition.digest());
        Placeholder(Arc::new(spec))
    }
}

impl Tool for Placeholder {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.0)
    }

    fn call(&self, _: JsonObject, _: CallContext) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        let message = format!("`{}` cannot be used", self.0.name);
        Box::pin(async move { Err(ToolError::new(ErrorCode::ToolUnavailable, message)) })
    }
}
