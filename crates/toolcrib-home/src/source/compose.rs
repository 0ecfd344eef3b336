//! From files to registered tools: names, trust, links between them, and one swap of the registry.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::broken::BrokenTool;
use super::content::Content;
use super::definition::{FileDefinition, named_like_secrets};
use super::flags::Flags;
use super::link::{self, BrokenFile, Links, Node, Target, Whose};
use super::look_alike;
use super::pins::Pins;
use super::report::{FileOutcome, Report, ToolFile, Trust};
use super::scope::{FILE_SOURCES, Scope, ScopeDir};
use super::survey::{KnownDir, KnownFile};
use crate::definition::LinkFault;
use crate::exec::command::{CommandSettings, CommandTool};
use crate::exec::http::{self, HttpSettings};
use crate::model::digest::Digester;
use crate::model::error::ToolError;
use crate::model::ids::BundleId;
use crate::model::names::{Looks, Slug, WireName};
use crate::registry::{Entry, Lookup, Registration, Registry, Source, Switch};
use crate::secret::SecretEntry;
use crate::tool::Tool;

/// How many files may have one name; all but the first are shadowed.
const MAX_OF_ONE_NAME: usize = 100;

/// Which file: the number of its place, and its name there.
pub(super) type FileId = (usize, String);

/// A tool as it was registered last, to be kept while nothing about it changes.
pub(super) struct Made {
    key: String,
    entry: Arc<Entry>,
}

/// What tools are made from.
pub(super) struct Materials<'a> {
    pub(super) places: &'a [ScopeDir],
    pub(super) dirs: &'a [KnownDir],
    pub(super) pins: &'a Pins,
    /// None if no one can tell.
    pub(super) flags: Option<&'a Flags>,
    pub(super) workspace: Option<&'a std::path::Path>,
    /// The setting `disabledTools`.
    pub(super) disabled: &'a [String],
    pub(super) settings: &'a Arc<CommandSettings>,
    pub(super) http: &'a Arc<HttpSettings>,
    /// The secrets that are kept.
    pub(super) secrets: Vec<SecretEntry>,
    /// Warnings about pins and flags.
    pub(super) notes: Vec<String>,
}

/// A file on its way to become a tool.
struct Draft<'a> {
    id: FileId,
    place: &'a ScopeDir,
    shown: String,
    name: WireName,
    modified: Option<Timestamp>,
    trust: Trust,
    content: &'a Content,
    /// The definition's number among those that are linked.
    node: Option<usize>,
    refused: Option<String>,
    /// Which other tool it looks like, in words.
    look_alike: Option<String>,
}

/// Makes the tools of all files and puts them in the place of those that were there.
pub(super) fn compose(
    registry: &Registry,
    materials: Materials<'_>,
    kept: &mut HashMap<FileId, Made>,
) -> Report {
    let firm = registry.without(&FILE_SOURCES);
    let mut drafts = drafts(&materials, &firm);
    let nodes: Vec<Node<'_>> = drafts
        .iter_mut()
        .filter(|draft| draft.refused.is_none())
        .filter_map(|draft| Some((draft.content.definition()?, draft)))
        .enumerate()
        .map(|(index, (definition, draft))| {
            draft.node = Some(index);
            Node {
                scope: draft.place.scope,
                definition,
            }
        })
        .collect();
    let broken: Vec<BrokenFile<'_>> = drafts
        .iter()
        .filter(|draft| draft.refused.is_none() && !draft.content.is_whole())
        .map(|draft| BrokenFile {
            name: &draft.name,
            shown: &draft.shown,
        })
        .collect();
    let links = link::link(&nodes, &broken, &|reference, whose| {
        let entry = firm.find(reference)?;
        let is_stored = entry.source() == Source::Store;
        (is_stored == (whose == Whose::Stored)).then_some(entry)
    });
    let made = make(registry, &materials, &drafts, &nodes, &links, kept);
    let faults = link_faults(&drafts, &links, &made, &materials.secrets);
    switch_by_file(&drafts, &made);
    let entries = made.iter().flatten().map(|(made, _)| &made.entry);
    let entries: Vec<Arc<Entry>> = entries.cloned().collect();
    let mut notes = places_that_are_odd(&materials);
    notes.extend(materials.notes.iter().cloned());
    switch(&entries, &firm, &materials);
    let mut disables_nothing = Vec::new();
    registry.replace(&FILE_SOURCES, entries, |find| {
        for name in materials.disabled {
            match find(name) {
                Ok(entry) => entry.switch(Switch::Setting, false),
                Err(error) => disables_nothing.push(format!("`disabledTools`: {error}")),
            }
        }
    });
    let files = files(registry, drafts, made, faults, kept);
    Report::of(files, notes, disables_nothing)
}

/// The files in the order in which they have names.
fn drafts<'a>(materials: &Materials<'a>, firm: &Lookup) -> Vec<Draft<'a>> {
    let mut drafts = Vec::new();
    let mut of_one_name: HashMap<WireName, usize> = HashMap::new();
    for (number, (place, dir)) in materials.places.iter().zip(materials.dirs).enumerate() {
        for (file, known) in &dir.files {
            let content = known.content.as_ref();
            let shown = place.shown_file(file);
            let name = content.name(file);
            let refused = firm
                .built_in(name.as_str())
                // `READ-FILE` would pass for `read_file`.
                .or_else(|| firm.built_in(&name.as_str().to_ascii_lowercase().replace('-', "_")))
                .map(|holder| {
                    let holder = &holder.spec().name;
                    format!(
                        "`{shown}` is not loaded: `{name}` is the built-in tool `{holder}`; give it another name"
                    )
                });
            let same = of_one_name.entry(name.clone()).or_default();
            *same += 1;
            let too_many = || {
                format!(
                    "`{shown}` is not loaded: {MAX_OF_ONE_NAME} other files have its name `{name}`"
                )
            };
            let refused = refused.or_else(|| (*same > MAX_OF_ONE_NAME).then(too_many));
            drafts.push(Draft {
                id: (number, file.clone()),
                place,
                trust: trust_of(place, dir, known, &shown, materials.pins),
                name,
                modified: known.modified(),
                shown,
                content,
                node: None,
                refused,
                look_alike: None,
            });
        }
    }
    refuse_look_alikes(&mut drafts, firm);
    drafts
}

/// Refuses files whose slug only looks like that of another tool: one that is compiled in or the program's own, a stored one, or one of
/// a file. Of two files, that of the machine stays, then that of the user: a workspace may come from anywhere.
fn refuse_look_alikes(drafts: &mut [Draft<'_>], firm: &Lookup) {
    let mut looks = firm.looks(&[Source::BuiltIn, Source::App]);
    for scope in Scope::ALL.into_iter().rev() {
        let of_scope = drafts.iter_mut().filter(|draft| draft.place.scope == scope);
        for draft in of_scope.filter(|draft| draft.refused.is_none()) {
            let slug = match draft.content.definition() {
                Some(definition) => definition.slug().clone(),
                None => Slug::from_wire(&draft.name),
            };
            let look = Looks::of(&slug);
            let stored = firm.stored_look_alike(&slug, &look);
            let other = looks
                .entry(look)
                .or_insert_with(|| stored.unwrap_or(&slug).clone());
            if *other != slug {
                let alike = look_alike(&slug, other);
                draft.refused = Some(format!("`{}` is not loaded: {alike}", draft.shown));
                draft.look_alike = Some(alike);
            }
        }
    }
}

fn trust_of(
    place: &ScopeDir,
    dir: &KnownDir,
    known: &KnownFile,
    shown: &str,
    pins: &Pins,
) -> Trust {
    match place.scope {
        Scope::Local => match pins.files.get(shown) {
            Some(pin) if pin.is_of(&known.content) => Trust::Pinned,
            Some(pin) => Trust::Changed {
                before: pin.text.clone(),
            },
            None => Trust::New,
        },
        Scope::User | Scope::Global => {
            match dir.unsafe_place.as_ref().or(known.unsafe_file.as_ref()) {
                Some(why) => Trust::Unsafe(why.clone()),
                None => Trust::ByPlace,
            }
        }
    }
}

/// What to do about a file that is not trusted.
fn untrusted(trust: &Trust, shown: &str) -> Option<String> {
    match trust {
        Trust::ByPlace | Trust::Pinned => None,
        Trust::New => Some(format!(
            "`{shown}` is not trusted yet: `toolcrib trust` shows what it runs and asks"
        )),
        Trust::Changed { .. } => Some(format!(
            "`{shown}` has changed since it was trusted: `toolcrib trust` shows the difference and asks"
        )),
        Trust::Unsafe(why) => Some(why.clone()),
    }
}

/// The tool of each draft, those that others build on first, with why it cannot run; none for what is refused.
fn make(
    registry: &Registry,
    materials: &Materials<'_>,
    drafts: &[Draft<'_>],
    nodes: &[Node<'_>],
    links: &Links,
    kept: &mut HashMap<FileId, Made>,
) -> Vec<Option<(Made, Option<String>)>> {
    let mut made: Vec<Option<(Made, Option<String>)>> = drafts.iter().map(|_| None).collect();
    let mut draft_of = vec![0; nodes.len()];
    for (index, draft) in drafts.iter().enumerate() {
        match draft.node {
            Some(node) => draft_of[node] = index,
            None if draft.refused.is_none() => {
                let fault = draft.content.fault(&draft.shown);
                let broken = |fault| (broken(draft), fault);
                let new = keep_or_make(registry, draft, fault, None, &[], kept, broken);
                made[index] = Some(new);
            }
            None => {}
        }
    }
    for node in &links.order {
        let index = draft_of[*node];
        let draft = &drafts[index];
        let Some(definition) = draft.content.definition() else {
            continue;
        };
        let uses = &links.uses[*node];
        let used = |target: &Target| match target {
            Target::Firm(entry) => Some(Arc::clone(entry)),
            Target::Node(node) => {
                let made = made[draft_of[*node]].as_ref();
                made.map(|(made, _)| Arc::clone(&made.entry))
            }
            Target::Broken(_) | Target::Unknown(_) => None,
        };
        let bases: Vec<(String, Option<Arc<Entry>>)> = uses
            .iter()
            .map(|(reference, target)| (reference.clone(), used(target)))
            .collect();
        let fault = links.faults[*node]
            .as_ref()
            .map(|fault| fault.message.clone())
            .or_else(|| match definition {
                FileDefinition::Command(definition) => CommandTool::missing(definition),
                FileDefinition::Http(definition) => {
                    let faults = named_like_secrets(definition, &materials.secrets);
                    faults.into_iter().next().map(|fault| fault.message)
                }
            });
        let untrusted = untrusted(&draft.trust, &draft.shown);
        let new = keep_or_make(registry, draft, fault, untrusted, &bases, kept, |fault| {
            tool_of(definition, draft, &bases, materials, fault)
        });
        made[index] = Some(new);
    }
    made
}

/// Problems with how each draft uses other tools.
fn link_faults(
    drafts: &[Draft<'_>],
    links: &Links,
    made: &[Option<(Made, Option<String>)>],
    secrets: &[SecretEntry],
) -> Vec<Vec<LinkFault>> {
    let mut entries: HashMap<usize, &Arc<Entry>> = HashMap::new();
    for (draft, made) in drafts.iter().zip(made) {
        if let (Some(node), Some((made, _))) = (draft.node, made) {
            entries.insert(node, &made.entry);
        }
    }
    let of = |draft: &Draft<'_>| {
        if let Some(message) = &draft.look_alike {
            return Some(vec![LinkFault {
                code: "look-alike",
                span: 0..0,
                message: message.clone(),
            }]);
        }
        let (node, definition) = (draft.node?, draft.content.definition()?);
        if let Some(fault) = &links.faults[node] {
            return Some(vec![fault.clone()]);
        }
        let lookup = |reference: &str| {
            let mut uses = links.uses[node].iter();
            let (_, target) = uses.find(|(known, _)| known == reference)?;
            match target {
                Target::Firm(entry) => Some(Arc::clone(entry.spec())),
                Target::Node(used) => Some(Arc::clone(entries.get(used)?.spec())),
                Target::Broken(_) | Target::Unknown(_) => None,
            }
        };
        Some(match definition {
            FileDefinition::Command(definition) => CommandTool::link_faults(definition, &lookup),
            FileDefinition::Http(definition) => named_like_secrets(definition, secrets),
        })
    };
    let faults = drafts.iter().map(|draft| of(draft).unwrap_or_default());
    faults.collect()
}

/// Switches off what its own file says is off.
fn switch_by_file(drafts: &[Draft<'_>], made: &[Option<(Made, Option<String>)>]) {
    for (draft, made) in drafts.iter().zip(made) {
        let http = draft.content.definition().and_then(FileDefinition::http);
        if let (Some(http), Some((made, _))) = (http, made) {
            made.entry.switch(Switch::File, http.is_enabled);
        }
    }
}

/// The tool of a definition, or what keeps its name while it cannot be made.
fn tool_of(
    definition: &FileDefinition,
    draft: &Draft<'_>,
    bases: &[(String, Option<Arc<Entry>>)],
    materials: &Materials<'_>,
    fault: Option<String>,
) -> (Arc<dyn Tool>, Option<String>) {
    let bundle = draft.place.scope.bundle();
    let lookup = |reference: &str| {
        let (_, entry) = bases.iter().find(|(known, _)| known == reference)?;
        Some(Arc::clone(entry.as_ref()?.spec()))
    };
    let made: Result<Arc<dyn Tool>, ToolError> = match definition {
        FileDefinition::Command(definition) => {
            let settings = Arc::clone(materials.settings);
            CommandTool::linked(Arc::clone(definition), bundle, settings, &lookup)
                .map(|tool| Arc::new(tool) as _)
        }
        FileDefinition::Http(definition) => {
            http::tool(Arc::clone(definition), bundle, Arc::clone(materials.http))
        }
    };
    match made {
        Ok(tool) => (tool, fault),
        Err(error) => {
            let why = || format!("`{}`: {}", draft.shown, error.message());
            (broken(draft), Some(fault.unwrap_or_else(why)))
        }
    }
}

fn broken(draft: &Draft<'_>) -> Arc<dyn Tool> {
    let digest = draft.content.digest().map(str::to_owned);
    let bundle = draft.place.scope.bundle();
    Arc::new(BrokenTool::new(draft.name.clone(), bundle, digest))
}

/// The entry that was there, if nothing about it has changed, else a new one; with why it cannot run.
fn keep_or_make(
    registry: &Registry,
    draft: &Draft<'_>,
    fault: Option<String>,
    untrusted: Option<String>,
    bases: &[(String, Option<Arc<Entry>>)],
    kept: &mut HashMap<FileId, Made>,
    make: impl FnOnce(Option<String>) -> (Arc<dyn Tool>, Option<String>),
) -> (Made, Option<String>) {
    let optional = |digest: Digester, text: Option<&str>| match text {
        Some(text) => digest.text("+").text(text),
        None => digest.text("-"),
    };
    let mut digest = Digester::default().text(draft.name.as_str());
    digest = optional(digest, draft.content.digest());
    digest = optional(digest, fault.as_deref());
    digest = optional(digest, untrusted.as_deref());
    for (reference, entry) in bases {
        digest = digest.text(reference);
        digest = optional(digest, entry.as_ref().map(|entry| entry.digest()));
    }
    let key = digest.finish();
    if let Some(old) = kept.remove(&draft.id).filter(|old| old.key == key) {
        let fault = old.entry.unavailable().map(str::to_owned);
        return (old, fault);
    }
    let (tool, unavailable) = make(fault);
    let registration = Registration {
        unavailable: unavailable.clone(),
        untrusted,
        modified: draft.modified,
        ..Registration::default()
    };
    let order = (draft.id.0, draft.id.1.as_str());
    let entry = registry.entry_of_file(tool, draft.place.scope.source(), registration, order);
    (Made { key, entry }, unavailable)
}

/// Switches tools off and on as the user's flags say. What the settings say comes when names are known.
fn switch(entries: &[Arc<Entry>], firm: &Lookup, materials: &Materials<'_>) {
    for entry in entries.iter().chain(&firm.of_neither()) {
        let is_off = materials
            .flags
            .is_some_and(|flags| flags.disables(entry.spec(), materials.workspace));
        entry.switch(Switch::Flag, !is_off);
        let own = BundleId::OWN
            .iter()
            .find(|(id, _)| entry.bundle_id() == Some(*id))
            .map(|(_, slug)| *slug);
        let bundle = match entry.source() {
            Source::Upstream => Some(entry.head().bundle.as_str()),
            _ => own,
        };
        let is_bundle_off = materials
            .flags
            .zip(bundle)
            .is_some_and(|(flags, slug)| flags.disables_bundle(slug, materials.workspace));
        entry.switch(Switch::Bundle, !is_bundle_off);
        entry.switch(Switch::Unknown, materials.flags.is_some());
    }
}

fn places_that_are_odd(materials: &Materials<'_>) -> Vec<String> {
    let mut odd = Vec::new();
    for (place, dir) in materials.places.iter().zip(materials.dirs) {
        if let Some(why) = &dir.closed {
            odd.push(format!(
                "the tools in `{}` are not loaded: {why}",
                place.shown
            ));
        }
        odd.extend(dir.names.odd.iter().cloned());
    }
    odd
}

/// What became of each file; what was made is kept for the next time.
fn files(
    registry: &Registry,
    drafts: Vec<Draft<'_>>,
    made: Vec<Option<(Made, Option<String>)>>,
    faults: Vec<Vec<LinkFault>>,
    kept: &mut HashMap<FileId, Made>,
) -> Vec<ToolFile> {
    let mut file_of: HashMap<*const Entry, String> = HashMap::new();
    for (draft, made) in drafts.iter().zip(&made) {
        if let Some((made, _)) = made {
            file_of.insert(Arc::as_ptr(&made.entry), draft.shown.clone());
        }
    }
    let shadowed = |entry: &Entry| {
        let by = registry.shadower(entry)?;
        Some(FileOutcome::Shadowed {
            by: by.spec().reference(),
            by_file: file_of.get(&Arc::as_ptr(&by)).cloned(),
        })
    };
    kept.clear();
    let drafts = drafts.into_iter().zip(made).zip(faults);
    let files = drafts.map(|((draft, made), link_faults)| {
        let entry = made.as_ref().map(|(made, _)| Arc::clone(&made.entry));
        let shadower = entry.as_deref().and_then(shadowed);
        let unavailable = made.as_ref().and_then(|(_, why)| why.clone());
        let standing = match (draft.refused, shadower, unavailable) {
            (Some(reason), _, _) => FileOutcome::Refused { reason },
            (None, Some(shadowed), _) => shadowed,
            (None, None, Some(reason)) if draft.content.is_whole() => {
                FileOutcome::Unavailable { reason }
            }
            (None, None, Some(reason)) => FileOutcome::Broken { reason },
            (None, None, None) => FileOutcome::Loaded,
        };
        let file = ToolFile {
            scope: draft.place.scope,
            path: draft.place.path.join(&draft.id.1),
            shown: draft.shown,
            name: draft.name.to_string(),
            digest: draft.content.digest().map(str::to_owned),
            trust: draft.trust,
            standing,
            problems: draft.content.problems().to_vec(),
            link_faults,
            definition: draft.content.definition().cloned(),
            entry,
            bytes: draft.content.bytes().cloned(),
        };
        if let Some((made, _)) = made {
            kept.insert(draft.id, made);
        }
        file
    });
    files.collect()
}
