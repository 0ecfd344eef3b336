//! Bundles and the tools in them, for front ends: those of Toolcrib's own (`core`, `local`, `user`, `global`) and those of the store, as one list.
//!
//! Whatever is changed here is in the registry when the method returns.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::upkeep::not_a_lock;
use super::{Crib, reaping};
use crate::definition::{Definition, Problem};
use crate::exec::command::CommandTool;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::ids::BundleId;
use crate::model::limits::Limits;
use crate::model::names::{Slug, Version};
use crate::model::reference::{BundleRef, ToolRef};
use crate::model::text;
use crate::registry::{Entry, Source};
use crate::source::{
    Checked, FileDefinition, check_record, command_of_record, definition_of_record,
    refusal_of_record,
};
use crate::spec::manifest::{Bundle, SCHEMA_VERSION, ToolManifest};
use crate::store::{
    BundleDigest, BundleDraft, Put, Store, StoreError, StoredBundle, StoredTool, ToolKey,
};

/// What kind of bundle it is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum BundleKind {
    /// `core`: compiled in; only its switch can be changed.
    BuiltIn,
    /// `local`, `user`, `global`: files; only its switch can be changed here.
    Files,
    /// A bundle of the store.
    Store,
    /// The tools of an MCP server (`[upstreams.NAME]`); what is configured decides everything about it.
    Upstream,
}

/// A bundle as lists show it.
#[derive(Debug, Clone, PartialEq)]
pub struct BundleView {
    /// What it says about itself. Bundles of Toolcrib's own have times of the epoch.
    pub bundle: Bundle,
    /// What kind it is.
    pub kind: BundleKind,
    /// How many tools it has, each version counted.
    pub tools: usize,
    /// Its problem, if there is one.
    pub problem: Option<String>,
    /// Its own file cannot be used. It is called what that file still says, or else by its id; its tools are off.
    pub is_damaged: bool,
}

/// Which of several bundles with one slug is meant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Prefer {
    /// The one that is not in the bin.
    There,
    /// One that is.
    Binned,
}

impl Crib {
    /// The store of this home. Changes made through it reach the registry at the next look; the methods here are faster.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Problems of the store: unreadable files, files that are damaged, tools beyond the limit, bundles that could not be
    /// reaped. For `toolcrib doctor`.
    pub fn store_problems(&self) -> Vec<String> {
        let mut problems = self.sources.stored().problems();
        problems.extend(reaping::problem(&self.home));
        problems
    }

    /// Problems of the store as a whole, for everyone who lists its contents: it cannot be read, or not be written.
    pub fn store_warnings(&self) -> Vec<String> {
        let mut warnings = self.sources.stored().warnings();
        warnings.extend(not_a_lock(&self.home.join("bundles")).map(|what| {
            format!(
                "nothing can be put into the store: `bundles/.lock` is {what}; `toolcrib doctor --fix` sets it aside"
            )
        }));
        warnings
    }

    /// Every bundle: Toolcrib's own first, then MCP servers by name, then those of the store by slug, those that are off or in the bin
    /// too; at the end those whose own file cannot be read, which are called by their ids.
    pub fn bundles(&self) -> Vec<BundleView> {
        let own = BundleId::OWN
            .iter()
            .map(|(id, slug)| self.own_view(*id, slug, &self.registry.entries_of(*id)));
        let mut views: Vec<BundleView> = own.collect();
        views.extend(self.upstream_views());
        views.extend(self.stored_views());
        views
    }

    /// A bundle by slug or id; the error suggests near names.
    pub fn bundle(&self, reference: &str) -> Result<BundleView, ToolError> {
        self.resolve(reference, Prefer::There)
    }

    /// The entries of a bundle's tools, each version, those that are shadowed, off or cannot run too; by slug.
    pub fn bundle_tools(&self, id: BundleId) -> Vec<Arc<Entry>> {
        self.registry.entries_of(id)
    }

    /// Makes a bundle, or replaces what it says about itself.
    pub fn put_bundle(&self, id: BundleId, draft: BundleDraft) -> Result<Put, ToolError> {
        let put = self.store.put_bundle(id, draft)?;
        self.catch_up();
        Ok(put)
    }

    /// Like the method above, but keeps the switch of an existing bundle, even if it is switched at the same time.
    pub fn put_bundle_as_switched(
        &self,
        id: BundleId,
        draft: BundleDraft,
    ) -> Result<Put, ToolError> {
        let put = self.store.put_bundle_as_switched(id, draft)?;
        self.catch_up();
        Ok(put)
    }

    /// Switches a bundle on or off, for good. Toolcrib's own, too.
    pub fn set_bundle_enabled(
        &self,
        reference: &str,
        enabled: bool,
    ) -> Result<BundleView, ToolError> {
        let view = self.resolve(reference, Prefer::There)?;
        let id = view.bundle.bundle_id;
        match view.kind {
            BundleKind::BuiltIn | BundleKind::Files => {
                self.sources
                    .set_bundle_enabled(view.bundle.slug.as_str(), enabled)?;
                self.sources.reload(&self.registry);
            }
            BundleKind::Store => {
                self.store.set_bundle_enabled(id, enabled)?;
                self.catch_up();
            }
            BundleKind::Upstream => self.check_writable(&view)?,
        }
        self.resolve(&id.to_string(), Prefer::There)
    }

    /// Switches a bundle of the store on that is still what someone was shown: [`Store::whole`] gives both what to show and its digest.
    pub fn enable_as_shown(
        &self,
        id: BundleId,
        shown: BundleDigest,
    ) -> Result<BundleView, ToolError> {
        self.store.enable_as_shown(id, shown)?;
        self.catch_up();
        self.resolve(&id.to_string(), Prefer::There)
    }

    /// Puts a bundle in the bin.
    pub fn delete_bundle(&self, reference: &str) -> Result<Bundle, ToolError> {
        let view = self.resolve(reference, Prefer::There)?;
        self.check_writable(&view)?;
        let bundle = self.store.delete_bundle(view.bundle.bundle_id)?;
        self.catch_up();
        Ok(bundle)
    }

    /// Takes a bundle out of the bin.
    pub fn restore_bundle(&self, reference: &str) -> Result<Bundle, ToolError> {
        let view = self.resolve(reference, Prefer::Binned)?;
        self.check_writable(&view)?;
        self.refuse_several_binned(reference)?;
        let bundle = self.store.restore_bundle(view.bundle.bundle_id)?;
        self.catch_up();
        Ok(bundle)
    }

    /// Everything that is wrong or doubtful about a definition, as `toolcrib check` would say it. Places are those of the record as the
    /// store writes it.
    pub fn check_manifest(&self, manifest: &ToolManifest) -> Vec<Problem> {
        let checked = self.checked(manifest);
        let mut problems = checked.problems;
        if let Some(definition) = &checked.command {
            problems.extend(self.doubts(definition, checked.text.as_bytes()));
            problems.sort_by_key(|problem| (problem.line, problem.column));
        }
        problems
    }

    /// What every call of a command tool would be refused for on this machine, what does not exist yet, and which output would be cut;
    /// places are those of the text that it was read from.
    pub fn doubts(&self, definition: &Definition, text: &[u8]) -> Vec<Problem> {
        let operator = self.config.limits();
        let limits = Limits::default().overlaid(&operator).tightened(&operator);
        let workspace = self.registry.workspace().map(|workspace| &**workspace);
        let settings = self.sources.settings();
        let found = CommandTool::doubts(definition, settings, workspace, limits.max_output_bytes);
        let found = found.into_iter().map(|(severity, fault)| Problem {
            severity,
            ..fault.problem(text)
        });
        found.collect()
    }

    /// Adds one version of a tool to a bundle of the store, if its definition is valid.
    pub fn put_tool(&self, manifest: ToolManifest) -> Result<Arc<StoredTool>, ToolError> {
        let manifest = self.to_store(&manifest)?;
        let stored = self.store.put_tool(manifest)?;
        self.catch_up();
        Ok(stored)
    }

    /// Replaces a version that is as `digest` says, if its new definition is valid.
    pub fn replace_tool(
        &self,
        manifest: ToolManifest,
        digest: &str,
    ) -> Result<Arc<StoredTool>, ToolError> {
        let manifest = self.to_store(&manifest)?;
        let stored = self.store.replace_tool(manifest, digest)?;
        self.catch_up();
        Ok(stored)
    }

    /// Removes one version of a stored tool for good. `bundle/slug` without a version is refused where there are several.
    pub fn delete_tool(&self, reference: &str) -> Result<(), ToolError> {
        let (bundle, slug, version) = self.tool_parts(reference)?;
        self.check_writable(&bundle)?;
        let version = match version {
            Some(version) => version,
            None => self.only_version(&bundle, &slug, reference)?,
        };
        self.store.delete_tool(&ToolKey {
            bundle: bundle.bundle.bundle_id,
            slug,
            version,
        })?;
        self.catch_up();
        Ok(())
    }

    /// The record of a tool of the store; none for others.
    pub fn record_of(&self, entry: &Entry) -> Option<Arc<StoredTool>> {
        let key = key_of(entry)?;
        self.store.tool(&key).ok()
    }

    /// The commands of a stored tool with its tests, for [`bench`](Self::bench); none for a tool of another kind.
    pub fn command_of(&self, record: &StoredTool) -> Option<Arc<Definition>> {
        command_of_record(&record.manifest().ok()?)
    }

    /// The definition of a stored tool that may have tests; none for a tool of another kind.
    pub fn definition_of(&self, record: &StoredTool) -> Option<FileDefinition> {
        definition_of_record(&record.manifest().ok()?)
    }

    /// Registers what was just written. The store knows its own writes, so this does not search for them.
    pub(super) fn catch_up(&self) {
        self.sources.stored().register_known(&self.registry);
    }

    /// The definition as it is to be stored.
    fn to_store(&self, manifest: &ToolManifest) -> Result<ToolManifest, ToolError> {
        // Before anything is said about the definition.
        self.check_writable_id(manifest.bundle_id)?;
        let bundle = &self.store.bundle(manifest.bundle_id)?.bundle;
        let slug = || bundle.slug.clone();
        if bundle.soft_deleted_at.is_some() {
            return Err(StoreError::BundleDeleted { slug: slug() }.into());
        }
        if !bundle.is_enabled {
            return Err(StoreError::BundleOff { slug: slug() }.into());
        }
        self.refuse_secrets(manifest, &bundle.slug)?;
        let checked = self.checked(manifest);
        match refusal_of_record(manifest, &checked.problems) {
            Some(refusal) => Err(refusal),
            None => Ok(checked.manifest),
        }
    }

    /// Refuses a definition with the value of a secret in it: it would be in a file that everybody may read, show and pass on.
    fn refuse_secrets(&self, manifest: &ToolManifest, bundle: &Slug) -> Result<(), ToolError> {
        let masker = self.secrets.masker();
        if masker.is_empty() {
            return Ok(());
        }
        let value = serde_json::to_value(manifest).unwrap_or_default();
        let text = value.to_string();
        if !masker.finds_in(&value) && !masker.finds(&text) {
            return Ok(());
        }
        let names = self.secrets.names_in(&value, &text).unwrap_or_default();
        let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
        let (slug, version) = (&manifest.slug, &manifest.version);
        let message = match names.as_slice() {
            [] => format!(
                "`{bundle}/{slug}@{version}` cannot be saved: it contains a token that a server issued"
            ),
            [first, ..] => format!(
                "`{bundle}/{slug}@{version}` cannot be saved: it contains the value of the secret {}; write `${{{first}}}` in its place",
                text::or_list(&names)
            ),
        };
        let error = ToolError::new(ErrorCode::InvalidArguments, message);
        Err(error.with_detail("secrets", names))
    }

    fn checked(&self, manifest: &ToolManifest) -> Checked {
        let secrets = self.secrets.list().unwrap_or_default();
        let lookup = |reference: &str| {
            let entry = self.registry.find(reference).ok()?;
            Some(Arc::clone(entry.spec()))
        };
        let alike = self.registry.look_alike(&manifest.slug, manifest.bundle_id);
        let alike = alike.map(|entry| entry.spec().slug.clone());
        check_record(manifest, &secrets, &lookup, alike.as_ref())
    }

    /// A bundle of Toolcrib's own.
    fn own_view(&self, id: BundleId, slug: &str, entries: &[Arc<Entry>]) -> BundleView {
        let is_core = id == BundleId::CORE;
        let (display_name, description) = match slug {
            "core" => ("Core", "The tools that are compiled in"),
            "local" => ("Local", "The tools in the files of the workspace"),
            "user" => ("User", "The tools in the files of the user"),
            _ => ("Global", "The tools in the files of the machine"),
        };
        let is_enabled = self.sources.is_bundle_enabled(slug);
        let epoch = Timestamp::UNIX_EPOCH;
        BundleView {
            bundle: Bundle {
                schema_version: SCHEMA_VERSION.to_owned(),
                bundle_id: id,
                slug: Slug::parse(slug).expect("a valid slug"),
                display_name: display_name.to_owned(),
                description: description.to_owned(),
                is_enabled: is_enabled.unwrap_or(false),
                is_built_in: is_core,
                created_at: epoch,
                modified_at: epoch,
                soft_deleted_at: None,
                extra: Default::default(),
            },
            kind: match is_core {
                true => BundleKind::BuiltIn,
                false => BundleKind::Files,
            },
            tools: entries
                .iter()
                .filter(|entry| entry.bundle_id() == Some(id))
                .count(),
            problem: match is_enabled {
                Some(_) => None,
                None => Some(
                    "which bundles are switched off cannot be read: `toolcrib doctor --fix` puts it right".to_owned(),
                ),
            },
            is_damaged: false,
        }
    }

    /// The tools of MCP servers.
    fn upstream_views(&self) -> impl Iterator<Item = BundleView> {
        self.upstreams().into_iter().map(|server| {
            let row = server.row();
            let epoch = Timestamp::UNIX_EPOCH;
            BundleView {
                bundle: Bundle {
                    schema_version: SCHEMA_VERSION.to_owned(),
                    bundle_id: server.bundle_id(),
                    slug: server.name,
                    display_name: row.name,
                    description: format!("The tools of {}", text::visible_line(&row.reached_by)),
                    is_enabled: row.enabled,
                    is_built_in: false,
                    created_at: epoch,
                    modified_at: epoch,
                    soft_deleted_at: None,
                    extra: Default::default(),
                },
                kind: BundleKind::Upstream,
                tools: row.tools,
                problem: server.problem,
                is_damaged: false,
            }
        })
    }

    fn stored_views(&self) -> Vec<BundleView> {
        let damage = self.store.damage();
        let mut damaged: BTreeMap<BundleId, usize> = BTreeMap::new();
        for damage in &damage {
            *damaged.entry(damage.bundle).or_default() += 1;
        }
        let view = |stored: Arc<StoredBundle>| {
            let damaged = damaged.get(&stored.bundle.bundle_id).copied();
            let damaged = damaged.unwrap_or_default();
            BundleView {
                bundle: stored.bundle.clone(),
                kind: BundleKind::Store,
                tools: stored.tools,
                problem: match damaged {
                    0 => None,
                    1 => {
                        Some("one of its files is damaged: `toolcrib doctor` says which".to_owned())
                    }
                    more => Some(format!(
                        "{more} of its files are damaged: `toolcrib doctor` says which"
                    )),
                },
                is_damaged: false,
            }
        };
        let mut views: Vec<BundleView> = self.store.bundles().into_iter().map(view).collect();
        for damage in damage.iter().filter(|damage| damage.tool.is_none()) {
            if views
                .iter()
                .any(|view| view.bundle.bundle_id == damage.bundle)
            {
                continue;
            }
            if let Some(problem) = self.store.bundle_damage(damage.bundle) {
                // Unless another one has the slug by now.
                let is_free = |slug: &Slug| {
                    let is_own = BundleId::OWN.iter().any(|(_, own)| *own == slug.as_str());
                    !is_own && !views.iter().any(|view| view.bundle.slug == *slug)
                };
                let slug = damage.bundle_slug.clone().filter(is_free);
                views.push(self.damaged_view(damage.bundle, slug, problem));
            }
        }
        views
    }

    /// A bundle whose own file cannot be read: its id is all that is sure of it, and that there are tools.
    fn damaged_view(&self, id: BundleId, slug: Option<Slug>, problem: String) -> BundleView {
        let epoch = Timestamp::UNIX_EPOCH;
        BundleView {
            bundle: Bundle {
                schema_version: SCHEMA_VERSION.to_owned(),
                bundle_id: id,
                slug: slug.unwrap_or_else(|| Slug::standing_for(id)),
                display_name: String::new(),
                description: String::new(),
                is_enabled: false,
                is_built_in: false,
                created_at: epoch,
                modified_at: epoch,
                soft_deleted_at: None,
                extra: Default::default(),
            },
            kind: BundleKind::Store,
            tools: self.store.tools(id).len(),
            problem: Some(format!(
                "it is damaged ({problem}); `toolcrib doctor --fix` puts it right"
            )),
            is_damaged: true,
        }
    }

    fn resolve(&self, reference: &str, prefer: Prefer) -> Result<BundleView, ToolError> {
        self.registry.follow();
        let own = BundleId::OWN
            .iter()
            .find(|(id, slug)| *slug == reference || id.to_string() == reference);
        if let Some((id, slug)) = own {
            return Ok(self.own_view(*id, slug, &self.registry.entries_of(*id)));
        }
        let mut views = self.stored_views();
        views.extend(self.upstream_views());
        if let Ok(id) = BundleId::parse(reference) {
            let mut found = views.iter().filter(|view| view.bundle.bundle_id == id);
            return found
                .next()
                .cloned()
                .ok_or_else(|| StoreError::BundleNotFound { id }.into());
        }
        let named = views
            .iter()
            .filter(|view| view.bundle.slug.as_str() == reference);
        let found = named.max_by_key(|view| {
            let binned = view.bundle.soft_deleted_at;
            (binned.is_some() == (prefer == Prefer::Binned), binned)
        });
        found
            .cloned()
            .ok_or_else(|| bundle_not_found(reference, &views))
    }

    /// Several bundles in the bin may have one slug; no one knows which of them a slug means.
    fn refuse_several_binned(&self, reference: &str) -> Result<(), ToolError> {
        if BundleId::parse(reference).is_ok() {
            return Ok(());
        }
        let mut binned: Vec<(Timestamp, BundleView)> = Vec::new();
        for view in self.stored_views() {
            if let (true, Some(at)) = (
                view.bundle.slug.as_str() == reference,
                view.bundle.soft_deleted_at,
            ) {
                binned.push((at, view));
            }
        }
        if binned.len() < 2 {
            return Ok(());
        }
        binned.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        let one = |(at, view): &(Timestamp, BundleView)| {
            let tools = match view.tools {
                0 => "no tools".to_owned(),
                1 => "1 tool".to_owned(),
                more => format!("{more} tools"),
            };
            let when = at.strftime("%Y-%m-%d %H:%M:%S UTC");
            format!("`{}` ({tools}, there since {when})", view.bundle.bundle_id)
        };
        let all: Vec<String> = binned.iter().map(one).collect();
        let ids: Vec<String> = binned
            .iter()
            .map(|(_, view)| view.bundle.bundle_id.to_string())
            .collect();
        let message = format!(
            "{} bundles called `{}` are in the bin; name one by its id: {}",
            all.len(),
            text::shorten(reference, 80),
            all.join(", ")
        );
        Err(ToolError::new(ErrorCode::Conflict, message).with_detail("bundleIDs", ids))
    }

    fn check_writable(&self, view: &BundleView) -> Result<(), ToolError> {
        match view.kind {
            BundleKind::Store => Ok(()),
            BundleKind::BuiltIn | BundleKind::Files => {
                self.check_writable_id(view.bundle.bundle_id)
            }
            BundleKind::Upstream => {
                let slug = &view.bundle.slug;
                Err(ToolError::new(
                    ErrorCode::ReadOnly,
                    format!(
                        "`{slug}` has the tools of an MCP server; `enabled` in `[upstreams.{slug}]` of the settings switches it, \
                         `toolcrib upstream rm {slug}` removes it"
                    ),
                ))
            }
        }
    }

    /// Refuses what would change a bundle of Toolcrib's own.
    fn check_writable_id(&self, id: BundleId) -> Result<(), ToolError> {
        let own = BundleId::OWN.iter().find(|(own, _)| *own == id);
        match own {
            Some((_, slug)) => Err(StoreError::ReadOnly {
                name: (*slug).to_owned(),
            }
            .into()),
            None => Ok(()),
        }
    }

    /// The bundle, slug and version that a reference to a tool names.
    fn tool_parts(
        &self,
        reference: &str,
    ) -> Result<(BundleView, Slug, Option<Version>), ToolError> {
        if let Ok(ToolRef::InBundle {
            bundle,
            slug,
            version,
        }) = reference.parse()
        {
            let bundle = match bundle {
                BundleRef::Slug(slug) => self.resolve(slug.as_str(), Prefer::There)?,
                BundleRef::Id(id) => self.resolve(&id.to_string(), Prefer::There)?,
            };
            return Ok((bundle, slug, version));
        }
        let entry = self.registry.find(reference)?;
        let Some(id) = entry.bundle_id() else {
            let message = format!("`{}` is a tool of the program", entry.spec().name);
            return Err(ToolError::new(ErrorCode::ReadOnly, message));
        };
        let bundle = self.resolve(&id.to_string(), Prefer::There)?;
        let is_id = matches!(reference.parse(), Ok(ToolRef::Id(_)));
        let version = is_id.then(|| entry.spec().version.clone());
        Ok((bundle, entry.spec().slug.clone(), version))
    }

    /// The version of a tool that has only one.
    fn only_version(
        &self,
        bundle: &BundleView,
        slug: &Slug,
        reference: &str,
    ) -> Result<Version, ToolError> {
        let tools = self.store.tools(bundle.bundle.bundle_id);
        let mut versions = tools.iter().filter(|tool| tool.key.slug == *slug);
        let versions: Vec<&Version> = versions.by_ref().map(|tool| &tool.key.version).collect();
        match versions.as_slice() {
            [only] => Ok((*only).clone()),
            [] => {
                let slugs = tools.iter().map(|tool| tool.key.slug.as_str());
                let near = text::nearest(slug.as_str(), slugs);
                let hint = match near.as_slice() {
                    [] => String::new(),
                    near => format!("; did you mean {}?", text::or_list(near)),
                };
                let message = format!(
                    "tool not found: `{slug}` is not in the bundle `{}`{hint}",
                    bundle.bundle.slug
                );
                Err(ToolError::new(ErrorCode::ToolNotFound, message))
            }
            several => {
                let all: Vec<String> = several
                    .iter()
                    .map(|version| format!("{}/{slug}@{version}", bundle.bundle.slug))
                    .collect();
                let names: Vec<&str> = all.iter().map(String::as_str).collect();
                let message = format!(
                    "`{}` has {} versions; say which: {}",
                    text::shorten(reference, 80),
                    names.len(),
                    text::or_list(&names)
                );
                let versions: Vec<&str> = several.iter().map(|version| version.as_str()).collect();
                Err(ToolError::new(ErrorCode::InvalidArguments, message)
                    .with_detail("versions", versions))
            }
        }
    }
}

/// Which record an entry is of, if it is one of the store.
pub(super) fn key_of(entry: &Entry) -> Option<ToolKey> {
    let spec = entry.spec();
    match entry.source() {
        Source::Store => Some(ToolKey {
            bundle: entry.bundle_id()?,
            slug: spec.slug.clone(),
            version: spec.version.clone(),
        }),
        Source::BuiltIn
        | Source::App
        | Source::Local
        | Source::User
        | Source::Global
        | Source::Upstream => None,
    }
}

fn bundle_not_found(reference: &str, views: &[BundleView]) -> ToolError {
    let own = BundleId::OWN.iter().map(|(_, slug)| *slug);
    let stored = views.iter().map(|view| view.bundle.slug.as_str());
    let mut near = text::nearest(reference, own.chain(stored));
    near.dedup();
    let shown = text::shorten(reference, 80);
    let message = match near.as_slice() {
        [] => format!("bundle not found: `{shown}`"),
        near => format!(
            "bundle not found: `{shown}`; did you mean {}?",
            text::or_list(near)
        ),
    };
    // One that no one can name any more may be meant.
    let is_nameless = |view: &&BundleView| {
        view.is_damaged && view.bundle.slug.as_str() == view.bundle.bundle_id.to_string()
    };
    let message = match views.iter().filter(is_nameless).count() {
        0 => message,
        1 => format!("{message} (the file of one cannot be read: `toolcrib doctor`)"),
        more => format!("{message} (the files of {more} cannot be read: `toolcrib doctor`)"),
    };
    ToolError::new(ErrorCode::BundleNotFound, message).with_detail("near", near)
}
