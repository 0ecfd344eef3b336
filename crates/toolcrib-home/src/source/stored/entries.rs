//! Which records are registered, and how: [`Entries`], what was found last and the entries made of it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::workshop::{self, Home, Workshop};
use crate::model::ids::BundleId;
use crate::model::names::{Below as _, Slug, Version};
use crate::model::text::shorten;
use crate::registry::{BundleState, Entry, Registration, Registry, Source, StoreSwitches, Switch};
use crate::schema::SchemaPool;
use crate::source::flags::Flags;
use crate::spec::ToolSpec;
use crate::spec::manifest::{Bundle, ToolKind};
use crate::store::archive::IMPORTED_AT;
use crate::store::{Changes, Damage, Store, StoredTool, ToolKey};

/// The registered entries of a store.
pub(super) struct Entries {
    tools: BTreeMap<ToolKey, RegisteredRecord>,
    bundles: HashMap<BundleId, KnownBundle>,
    /// Those that may build on other tools, and some that are gone: no one walks all tools because one has changed.
    linked: BTreeSet<ToolKey>,
    /// Records that are too many.
    left_out: BTreeSet<ToolKey>,
    /// Those whose records are damaged, and some that are so no more.
    damaged: BTreeSet<ToolKey>,
    pool: SchemaPool,
    /// The setting `disabledTools`.
    disabled: Vec<String>,
    /// The setting `limits.maxTools`.
    max_tools: usize,
    flags: Flagged,
    /// Why the store cannot be read, if it cannot.
    pub(super) trouble: Option<String>,
}

/// A record that is registered.
struct RegisteredRecord {
    /// None if it is damaged.
    record: Option<Arc<StoredTool>>,
    /// Its problem then.
    damage: Option<Damage>,
    entry: Arc<Entry>,
    /// Why its tool can never be made, as far as that shows at once.
    fault: Option<String>,
    /// What it builds on, if it may build on other tools.
    links: Option<Arc<Links>>,
}

/// A bundle as its tools are registered.
#[derive(Debug, Clone, PartialEq, Eq)]
struct KnownBundle {
    home: Home,
    /// As its file says.
    state: BundleState,
    /// The problem of its file.
    damage: Option<String>,
}

/// What a tool was made on, as each reference and the digest of the tool it meant.
#[derive(Default)]
struct Links(Mutex<Vec<(String, Option<String>)>>);

impl Links {
    fn found(&self) -> MutexGuard<'_, Vec<(String, Option<String>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn clear(&self) {
        self.found().clear();
    }

    fn note(&self, reference: &str, digest: Option<&str>) {
        let mut found = self.found();
        let digest = digest.map(str::to_owned);
        match found.iter_mut().find(|(known, _)| known == reference) {
            Some((_, known)) => *known = digest,
            None => found.push((reference.to_owned(), digest)),
        }
    }
}

/// What the user's flags say.
enum Flagged {
    Known {
        flags: Flags,
        workspace: Option<String>,
    },
    /// They cannot be read.
    Unknown,
}

impl Entries {
    pub(super) fn new(disabled: Vec<String>, max_tools: usize) -> Self {
        Entries {
            tools: BTreeMap::new(),
            bundles: HashMap::new(),
            linked: BTreeSet::new(),
            left_out: BTreeSet::new(),
            damaged: BTreeSet::new(),
            pool: SchemaPool::default(),
            disabled,
            max_tools,
            flags: Flagged::Known {
                flags: Flags::default(),
                workspace: None,
            },
            trouble: None,
        }
    }

    /// What a person should know of records that are not loaded.
    pub(super) fn too_many(&self) -> Option<String> {
        let more = self.left_out.len();
        let limit = self.max_tools;
        (more > 0).then(|| {
            format!(
                "{more} tools of the store are not loaded: there are more than {limit} (`limits.maxTools`)"
            )
        })
    }

    /// Registers what has changed, in one step.
    pub(super) fn apply(
        &mut self,
        registry: &Registry,
        store: &Store,
        workshop: &Arc<Workshop>,
        changes: Changes,
    ) {
        let touched = self.take_bundles(&changes, store);
        let renamed = touched.iter().filter(|(_, is_renamed)| *is_renamed);
        let mut swap = Swap {
            renamed: renamed.map(|(id, _)| *id).collect(),
            ..Swap::default()
        };
        let mut changed: BTreeSet<ToolKey> = BTreeSet::new();
        for (key, record) in changes.tools {
            changed.insert(key.clone());
            self.put(registry, workshop, key, record, &mut swap);
        }
        if changes.damage {
            self.take_damage(registry, &store.damage(), &mut swap, &mut changed);
        }
        if !touched.is_empty() {
            let touched = touched.into_iter().collect();
            self.again(registry, workshop, &touched, &changed, &mut swap);
        }
        self.fill_up(registry, store, workshop, &mut swap);
        registry.apply(&swap.gone, swap.come);
    }

    /// Notes what bundles are now. Returns those whose tools are to be registered another way, and whether as others than they were.
    fn take_bundles(&mut self, changes: &Changes, store: &Store) -> Vec<(BundleId, bool)> {
        let mut now: HashMap<BundleId, KnownBundle> = HashMap::new();
        let known = |bundles: &HashMap<BundleId, KnownBundle>, id: BundleId| {
            bundles.get(&id).cloned().unwrap_or_else(|| nameless(id))
        };
        for (id, bundle) in &changes.bundles {
            let next = match bundle {
                Some(bundle) => KnownBundle {
                    home: home_of(&bundle.bundle),
                    state: state_of(&bundle.bundle),
                    damage: None,
                },
                // It is gone, or only its file is: then its tools keep the name that they had.
                None => KnownBundle {
                    state: nameless(*id).state,
                    ..known(&self.bundles, *id)
                },
            };
            now.insert(*id, next);
        }
        if changes.damage {
            for id in self.bundles.keys() {
                now.entry(*id).or_insert_with(|| known(&self.bundles, *id));
            }
        }
        for (id, next) in &mut now {
            next.damage = store.bundle_damage(*id);
        }
        let mut touched = Vec::new();
        for (id, next) in now {
            let before = self.bundles.insert(id, next.clone());
            match before {
                Some(before) if before == next => {}
                Some(before) => touched.push((id, before.home != next.home)),
                None => touched.push((id, true)),
            }
        }
        touched
    }

    fn bundle(&self, id: BundleId) -> KnownBundle {
        let known = self.bundles.get(&id);
        known.cloned().unwrap_or_else(|| nameless(id))
    }

    /// Registers a record in the place of the one that was there.
    fn put(
        &mut self,
        registry: &Registry,
        workshop: &Arc<Workshop>,
        key: ToolKey,
        record: Option<Arc<StoredTool>>,
        swap: &mut Swap,
    ) {
        let before = self.tools.remove(&key);
        self.left_out.remove(&key);
        let Some(record) = record else {
            swap.gone.extend(before.map(|known| known.entry));
            return;
        };
        if self.tools.len() >= self.max_tools {
            swap.gone.extend(before.map(|known| known.entry));
            self.left_out.insert(key);
            return;
        }
        let is_kept = |before: &RegisteredRecord| {
            let old = before.record.as_ref();
            !swap.renamed.contains(&key.bundle) && old.is_some_and(|old| is_switch(old, &record))
        };
        let known = match before {
            // A switch, and nothing else: its tool stays as it is.
            Some(before) if is_kept(&before) => {
                swap.gone.push(Arc::clone(&before.entry));
                self.known_again(registry, before, record)
            }
            before => {
                swap.gone.extend(before.map(|known| known.entry));
                self.known(registry, workshop, record)
            }
        };
        self.settle(&known.entry);
        swap.come.push(Arc::clone(&known.entry));
        self.tools.insert(key, known);
    }

    fn registration(&self, record: &StoredTool) -> (Registration, StoreSwitches) {
        let bundle = self.bundle(record.key.bundle);
        let registration = Registration {
            id: Some(record.head.tool_id),
            bundle_id: Some(record.key.bundle),
            modified: Some(record.head.modified_at),
            imported: bundle.home.is_imported,
            ..Registration::default()
        };
        let switches = StoreSwitches {
            tool_is_off: !record.head.is_enabled,
            bundle: bundle.offered(),
        };
        (registration, switches)
    }

    /// A record as it is registered for the first time.
    fn known(
        &mut self,
        registry: &Registry,
        workshop: &Arc<Workshop>,
        record: Arc<StoredTool>,
    ) -> RegisteredRecord {
        let home = self.bundle(record.key.bundle).home;
        let (mut registration, switches) = self.registration(&record);
        let (spec, fault) = workshop.head_spec(&record, home.slug.clone(), &mut self.pool);
        registration.unavailable.clone_from(&fault);
        let links = may_link(&record).then(Arc::<Links>::default);
        if links.is_some() {
            self.linked.insert(record.key.clone());
        }
        let make = {
            let (workshop, record) = (Arc::clone(workshop), Arc::clone(&record));
            // The registry holds the entry, which must not hold the registry.
            let registry = registry.downgrade();
            let links = links.clone();
            move || {
                let registry = registry.upgrade();
                let links = links.as_deref();
                if let Some(links) = links {
                    links.clear();
                }
                let missing = RefCell::new(None);
                let lookup = |reference: &str| -> Option<Arc<ToolSpec>> {
                    // Noted before the look: who changes that tool meanwhile finds it here, and has this one made again.
                    if let Some(links) = links {
                        links.note(reference, None);
                    }
                    let entry = registry.as_ref()?.look_up(reference)?;
                    if let Some(links) = links {
                        links.note(reference, Some(entry.digest()));
                    }
                    if let Some(why) = entry.unavailable() {
                        let reference = shorten(reference, 80);
                        *missing.borrow_mut() = Some(format!("`{reference}` cannot run: {why}"));
                    }
                    Some(Arc::clone(entry.spec()))
                };
                let mut made = workshop.make(&record, &home, &lookup)?;
                // Other tools may do without one that they use.
                if record.head.kind == ToolKind::Alias {
                    made.unavailable = made.unavailable.or(missing.into_inner());
                }
                Ok(made)
            }
        };
        let entry =
            registry.entry_lazily(Arc::new(spec), Source::Store, registration, switches, make);
        RegisteredRecord {
            record: Some(record),
            damage: None,
            entry,
            fault,
            links,
        }
    }

    /// Registers a known tool by another record, which differs only in a switch: it stays made, and its calls are counted on.
    fn known_again(
        &self,
        registry: &Registry,
        known: RegisteredRecord,
        record: Arc<StoredTool>,
    ) -> RegisteredRecord {
        let (mut registration, switches) = self.registration(&record);
        registration.unavailable.clone_from(&known.fault);
        RegisteredRecord {
            entry: registry.entry_again(&known.entry, registration, switches),
            record: Some(record),
            ..known
        }
    }

    /// Keeps the names of damaged records, with why they cannot be called.
    fn take_damage(
        &mut self,
        registry: &Registry,
        damage: &[Damage],
        swap: &mut Swap,
        changed: &mut BTreeSet<ToolKey>,
    ) {
        let mut damaged: BTreeMap<ToolKey, &Damage> = BTreeMap::new();
        for one in damage {
            if let Some((slug, version)) = &one.tool {
                let key = ToolKey {
                    bundle: one.bundle,
                    slug: slug.clone(),
                    version: version.clone(),
                };
                damaged.entry(key).or_insert(one);
            }
        }
        for key in std::mem::take(&mut self.damaged) {
            // One that can be read now has taken the place.
            if self
                .tools
                .get(&key)
                .is_some_and(|known| known.record.is_none())
            {
                swap.gone
                    .extend(self.tools.remove(&key).map(|known| known.entry));
            }
        }
        for (key, damage) in damaged {
            // One that can be read has the name.
            if self.tools.contains_key(&key) || self.tools.len() >= self.max_tools {
                continue;
            }
            let known = self.broken(registry, &key, damage);
            self.settle(&known.entry);
            swap.come.push(Arc::clone(&known.entry));
            changed.insert(key.clone());
            self.damaged.insert(key.clone());
            self.tools.insert(key, known);
        }
    }

    fn broken(&self, registry: &Registry, key: &ToolKey, damage: &Damage) -> RegisteredRecord {
        let bundle = self.bundle(key.bundle);
        let spec = workshop::damaged_spec(&key.slug, &key.version, bundle.home.slug.clone());
        let why = format!(
            "its record `{}` is damaged: {}; `toolcrib doctor --fix` sets it aside",
            damage.file, damage.reason
        );
        let registration = Registration {
            bundle_id: Some(key.bundle),
            unavailable: Some(why.clone()),
            ..Registration::default()
        };
        let switches = StoreSwitches {
            tool_is_off: false,
            bundle: bundle.offered(),
        };
        let make = move || Err(why.clone());
        let spec = Arc::new(spec);
        RegisteredRecord {
            record: None,
            damage: Some(damage.clone()),
            entry: registry.entry_lazily(spec, Source::Store, registration, switches, make),
            fault: None,
            links: None,
        }
    }

    /// Registers the tools of some bundles another way, but for those that just were. With each bundle: whether as others than they were.
    fn again(
        &mut self,
        registry: &Registry,
        workshop: &Arc<Workshop>,
        touched: &HashMap<BundleId, bool>,
        changed: &BTreeSet<ToolKey>,
        swap: &mut Swap,
    ) {
        let of_bundles = touched.keys().flat_map(|id| self.keys_of(*id));
        let keys: Vec<ToolKey> = of_bundles
            .filter(|key| !changed.contains(*key))
            .cloned()
            .collect();
        for key in keys {
            let is_renamed = touched.get(&key.bundle).copied().unwrap_or_default();
            let Some(known) = self.tools.remove(&key) else {
                continue;
            };
            let before = Arc::clone(&known.entry);
            let next = match (&known.record, &known.damage) {
                (Some(record), _) if is_renamed => {
                    self.known(registry, workshop, Arc::clone(record))
                }
                (Some(record), _) => {
                    let record = Arc::clone(record);
                    self.known_again(registry, known, record)
                }
                (None, Some(damage)) => self.broken(registry, &key, damage),
                (None, None) => continue,
            };
            self.settle(&next.entry);
            swap.gone.push(before);
            swap.come.push(Arc::clone(&next.entry));
            self.tools.insert(key, next);
        }
    }

    /// The tools of one bundle. Costs by their number.
    fn keys_of(&self, bundle: BundleId) -> impl Iterator<Item = &ToolKey> {
        let from = ToolKey {
            bundle,
            slug: Slug::below_all(),
            version: Version::below_all(),
        };
        let rest = self.tools.range(from..).map(|(key, _)| key);
        rest.take_while(move |key| key.bundle == bundle)
    }

    /// Registers records that were too many, as far as there is room now.
    fn fill_up(
        &mut self,
        registry: &Registry,
        store: &Store,
        workshop: &Arc<Workshop>,
        swap: &mut Swap,
    ) {
        while self.tools.len() < self.max_tools {
            let Some(key) = self.left_out.pop_first() else {
                return;
            };
            if let Ok(record) = store.tool(&key) {
                self.put(registry, workshop, key, Some(record), swap);
            }
        }
    }

    /// Rebuilds tools that were built on other tools than exist now.
    pub(super) fn relink(&mut self, registry: &Registry, workshop: &Arc<Workshop>) {
        let is_stale = |links: &Links| {
            let found = links.found().clone();
            found.iter().any(|(reference, digest)| {
                let now = registry.look_up(reference);
                now.as_ref().map(|entry| entry.digest()) != digest.as_deref()
            })
        };
        let links = |key: &ToolKey| self.tools.get(key)?.links.as_deref();
        self.linked.retain(|key| links(key).is_some());
        let linked = self.linked.iter();
        let stale: Vec<ToolKey> = linked
            .filter(|key| links(key).is_some_and(is_stale))
            .cloned()
            .collect();
        let mut swap = Swap::default();
        for key in stale {
            let Some(known) = self.tools.remove(&key) else {
                continue;
            };
            let Some(record) = known.record else { continue };
            let next = self.known(registry, workshop, record);
            self.settle(&next.entry);
            swap.gone.push(known.entry);
            swap.come.push(Arc::clone(&next.entry));
            self.tools.insert(key, next);
        }
        if !swap.come.is_empty() {
            registry.apply(&swap.gone, swap.come);
        }
    }

    /// Switches tools as the user's flags say.
    pub(super) fn switch(&mut self, flags: Option<&Flags>, workspace: Option<&Path>) {
        self.flags = match flags {
            Some(flags) => Flagged::Known {
                flags: flags.clone(),
                workspace: workspace.map(|path| path.to_string_lossy().into_owned()),
            },
            None => Flagged::Unknown,
        };
        for known in self.tools.values() {
            self.settle(&known.entry);
        }
    }

    /// Switches an entry off as settings and flags say.
    fn settle(&self, entry: &Entry) {
        let spec = entry.spec();
        let (is_flagged, is_known) = match &self.flags {
            Flagged::Known { flags, workspace } => {
                let workspace = workspace.as_deref().map(Path::new);
                (flags.disables(spec, workspace), true)
            }
            Flagged::Unknown => (false, false),
        };
        entry.switch(Switch::Flag, !is_flagged);
        entry.switch(Switch::Unknown, is_known);
        let is_named = self.disabled.iter().any(|name| names(name, spec));
        entry.switch(Switch::Setting, !is_named);
    }
}

impl KnownBundle {
    /// Whether its tools are on offer.
    fn offered(&self) -> BundleState {
        match &self.damage {
            Some(why) => BundleState::Damaged(why.clone()),
            None => self.state.clone(),
        }
    }
}

/// Entries that go and come in one step.
#[derive(Default)]
struct Swap {
    /// The bundles whose tools are called otherwise than before.
    renamed: BTreeSet<BundleId>,
    gone: Vec<Arc<Entry>>,
    come: Vec<Arc<Entry>>,
}

/// A bundle of which nothing is known but its id.
fn nameless(id: BundleId) -> KnownBundle {
    let slug = Slug::standing_for(id);
    KnownBundle {
        home: Home {
            id,
            slug,
            is_imported: false,
        },
        state: BundleState::Damaged("it has no `bundle.json`".to_owned()),
        damage: None,
    }
}

fn home_of(bundle: &Bundle) -> Home {
    Home {
        id: bundle.bundle_id,
        slug: bundle.slug.clone(),
        is_imported: bundle.extra.contains_key(IMPORTED_AT),
    }
}

fn state_of(bundle: &Bundle) -> BundleState {
    match (bundle.soft_deleted_at, bundle.is_enabled) {
        (Some(_), _) => BundleState::InBin,
        (None, false) => BundleState::Off,
        (None, true) => BundleState::On,
    }
}

/// Whether two records of one tool differ by nothing but its switch.
fn is_switch(before: &StoredTool, now: &StoredTool) -> bool {
    let mut head = before.head.clone();
    head.is_enabled = now.head.is_enabled;
    if head != now.head {
        return false;
    }
    match (before.manifest(), now.manifest()) {
        (Ok(mut before), Ok(now)) => {
            before.is_enabled = now.is_enabled;
            before == now
        }
        _ => false,
    }
}

/// Whether a record may name other tools. Those that seem to and do not are looked at in vain.
fn may_link(record: &StoredTool) -> bool {
    const WORD: &[u8] = b"\"use-tool\"";
    match record.head.kind {
        ToolKind::Alias | ToolKind::Mcp => true,
        ToolKind::Command => record.bytes.windows(WORD.len()).any(|bytes| bytes == WORD),
        ToolKind::Go | ToolKind::Rust | ToolKind::Http => false,
    }
}

/// Whether a name of the setting `disabledTools` is a tool's, in any of its spellings.
fn names(name: &str, spec: &ToolSpec) -> bool {
    let bare = name.strip_prefix('+').unwrap_or(name);
    let Some((bundle, rest)) = bare.split_once('/') else {
        return bare == spec.name.as_str() || bare == spec.slug.as_str();
    };
    let (slug, version) = match rest.split_once('@') {
        Some((slug, version)) => (slug, Version::parse(version).ok()),
        None => (rest, None),
    };
    bundle == spec.bundle.as_str()
        && slug == spec.slug.as_str()
        && version.is_none_or(|version| version == spec.version)
}
