//! Search over all tools of a crib: an index that follows the registry.
//!
//! Every entry is in it, even if it is shadowed or cannot run: each version of a tool is a row. It is made at the first search, since most
//! programs never search, and from then on it hears of each change of the registry.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arc_swap::ArcSwap;
use rpds::HashTrieMapSync;

use super::Crib;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::text;
use crate::registry::{Availability, Entry, Registry, Source};
use crate::search::intent::{self, QueryWords, ToolWords};
use crate::search::{Class, Document, Index, Position};

/// How many hits there are on a page when no one says.
const DEFAULT_LIMIT: usize = 50;
/// How many hits there are on a page at most.
const MAX_LIMIT: usize = 500;
/// How often a search is repeated because tools changed in the meantime; then its answer is good enough.
const MAX_TRIES: usize = 3;

/// What to look for.
#[derive(Debug, Clone, Default)]
pub struct SearchRequest {
    /// The words; none: everything, newest first.
    pub query: String,
    /// Also tools that are off or cannot run.
    pub include_disabled: bool,
    /// Only tools of these bundles, by slug or id; empty: of all.
    pub bundles: Vec<String>,
    /// The most hits; 0: the default of 50. More than 500 count as 500.
    pub limit: usize,
    /// Where the last page ended.
    pub page_token: Option<String>,
}

/// A tool that was found.
pub struct FoundTool {
    /// The tool.
    pub entry: Arc<Entry>,
    /// How well it matches.
    pub class: Class,
}

/// Some of what was found, best first.
#[derive(Default)]
pub struct SearchPage {
    /// The tools.
    pub results: Vec<FoundTool>,
    /// Where to go on; none if that was all.
    pub next_page_token: Option<String>,
}

impl Crib {
    /// Looks for tools by words. A page token that is none, or that was given for other words, is `INVALID_ARGUMENTS`.
    pub fn search(&self, request: &SearchRequest) -> Result<SearchPage, ToolError> {
        self.finder.search(&self.registry, request)
    }
}

/// What a model or a person is looking for, in their own words.
#[derive(Debug, Clone, Default)]
pub struct MeantRequest {
    /// The words.
    pub query: String,
    /// Only tools of these bundles, by slug or id; empty: of all.
    pub bundles: Vec<String>,
}

impl Crib {
    /// Finds the tools that some words may mean, the best first: any word counts, in any form. Tools that are off or cannot run are among
    /// them.
    pub fn meant(&self, request: &MeantRequest) -> Vec<Arc<Entry>> {
        self.finder.meant(&self.registry, request)
    }
}

impl Finder {
    /// Finds the tools that some words may mean. What only the exact search finds comes last, such as the beginning of a name without its dashes.
    pub(super) fn meant(&self, registry: &Registry, request: &MeantRequest) -> Vec<Arc<Entry>> {
        registry.follow();
        let followed = self.followed(registry);
        let mut readings = followed.readings(&request.bundles);
        // Of tools that fit equally well, one that a call by its name reaches comes before those behind it.
        readings.sort_by_cached_key(|(entry, _)| {
            let is_behind = registry.shadower(entry).is_some();
            (entry.head().name.clone(), is_behind)
        });
        let texts: Vec<&ToolWords> = readings.iter().map(|(_, reading)| &**reading).collect();
        let ranked = intent::rank(&QueryWords::of(&request.query), &texts);
        let mut found: Vec<Arc<Entry>> = ranked
            .into_iter()
            .map(|(index, _)| Arc::clone(&readings[index].0))
            .collect();
        let exact = SearchRequest {
            query: request.query.clone(),
            include_disabled: true,
            bundles: request.bundles.clone(),
            ..SearchRequest::default()
        };
        for hit in followed.search(&exact, None, MAX_LIMIT).results {
            if !found
                .iter()
                .any(|entry| entry.number() == hit.entry.number())
            {
                found.push(hit.entry);
            }
        }
        found
    }

    /// Looks for tools of a registry, always the same one.
    pub(super) fn search(
        &self,
        registry: &Registry,
        request: &SearchRequest,
    ) -> Result<SearchPage, ToolError> {
        let after = match &request.page_token {
            Some(token) => Some(position(token, &request.query)?),
            None => None,
        };
        let limit = match request.limit {
            0 => DEFAULT_LIMIT,
            limit => limit.min(MAX_LIMIT),
        };
        registry.follow();
        let followed = self.followed(registry);
        let mut found = SearchPage::default();
        for _ in 0..MAX_TRIES {
            let changes = followed.changes.load(Ordering::Acquire);
            found = followed.search(request, after.as_ref(), limit);
            // A tool that was replaced in between may be in neither of its forms.
            if changes.is_multiple_of(2) && followed.changes.load(Ordering::Acquire) == changes {
                break;
            }
        }
        Ok(found)
    }
}

/// Reads a page token.
fn position(token: &str, query: &str) -> Result<Position, ToolError> {
    let refused = |problem: &str| {
        let shown = text::shorten(token, 40);
        let message = format!(
            "page token `{shown}` {problem}; take the one that came with the last page, or leave it out for the first page"
        );
        ToolError::new(ErrorCode::InvalidArguments, message)
    };
    let position = Position::parse(token).ok_or_else(|| refused("is not one"))?;
    match position.is_of(query) {
        true => Ok(position),
        false => Err(refused("is of a search for other words")),
    }
}

/// How many tools one search makes at most to learn whether they can run. What it has not made then, it takes by what is known of it.
const MAX_MADE: usize = 200;

/// Whether a tool can run. Cheap questions come first: the last question may have to make the tool, of which `made` counts.
fn can_run(entry: &Entry, made: &Cell<usize>) -> bool {
    if entry.is_off() || entry.availability_at_a_glance() != Availability::Ready {
        return false;
    }
    if !entry.is_made() {
        if made.get() >= MAX_MADE {
            return true;
        }
        made.set(made.get() + 1);
    }
    entry.availability() == Availability::Ready
}

/// Whether a tool is of one of some bundles, if there are any.
fn is_of(entry: &Entry, bundles: &[String]) -> bool {
    if bundles.is_empty() {
        return true;
    }
    let bundle = entry.head().bundle.as_str();
    let id = entry.bundle_id().map(|id| id.to_string());
    bundles
        .iter()
        .any(|wanted| wanted == bundle || id.as_ref() == Some(wanted))
}

/// The index of a crib, once someone has searched.
#[derive(Default)]
pub(super) struct Finder {
    followed: OnceLock<Arc<Followed>>,
    /// Held while the index is made.
    making: Mutex<()>,
}

#[derive(Default)]
struct Followed {
    index: Index,
    /// The entries by their numbers, which are the ids of the index.
    entries: ArcSwap<HashTrieMapSync<u64, Arc<Entry>>>,
    /// Tools as `meant` reads them, by their numbers; read at the first such search.
    readings: Mutex<HashMap<u64, Arc<ToolWords>>>,
    /// Twice the number of changes, and one more during a change.
    changes: AtomicU64,
}

impl Finder {
    fn followed(&self, registry: &Registry) -> &Followed {
        if self.followed.get().is_none() {
            let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
            if self.followed.get().is_none() {
                let followed = Arc::new(Followed::default());
                let told = Arc::clone(&followed);
                registry.watch(move |gone, come| told.change(gone, come));
                let _ = self.followed.set(followed);
            }
        }
        self.followed
            .get()
            .expect("the holder of the lock has set it")
    }
}

impl Followed {
    /// The tools that may be found, in the order of their names, each as it is read for `meant`.
    fn readings(&self, bundles: &[String]) -> Vec<(Arc<Entry>, Arc<ToolWords>)> {
        let entries = self.entries.load_full();
        let mut known = self.readings.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|number, _| entries.contains_key(number));
        let listed = entries
            .values()
            .filter(|entry| entry.is_listed() && is_of(entry, bundles));
        let mut readings: Vec<(Arc<Entry>, Arc<ToolWords>)> = listed
            .map(|entry| {
                let reading = known
                    .entry(entry.number())
                    .or_insert_with(|| Arc::new(ToolWords::of(&document(entry))));
                (Arc::clone(entry), Arc::clone(reading))
            })
            .collect();
        readings.sort_by(|(a, _), (b, _)| {
            let key = |entry: &Arc<Entry>| (entry.head().name.clone(), tie(entry));
            key(a).cmp(&key(b))
        });
        readings
    }

    fn search(
        &self,
        request: &SearchRequest,
        after: Option<&Position>,
        limit: usize,
    ) -> SearchPage {
        let entries = self.entries.load_full();
        let made = Cell::new(0);
        let is_wanted = |id: u64| {
            let entry = entries.get(&id);
            entry.is_some_and(|entry| {
                entry.is_listed()
                    && is_of(entry, &request.bundles)
                    && (request.include_disabled || can_run(entry, &made))
            })
        };
        let page = self.index.search(&request.query, after, limit, is_wanted);
        let found = page.hits.iter().filter_map(|hit| {
            Some(FoundTool {
                entry: Arc::clone(entries.get(&hit.id)?),
                class: hit.class,
            })
        });
        SearchPage {
            results: found.collect(),
            next_page_token: page.next.map(|next| next.as_str().to_owned()),
        }
    }

    /// Takes a change of the registry over, which is locked meanwhile: changes come one after the other.
    fn change(&self, gone: &[Arc<Entry>], come: &[Arc<Entry>]) {
        let mut entries = HashTrieMapSync::clone(&self.entries.load());
        for entry in gone {
            entries.remove_mut(&entry.number());
        }
        for entry in come {
            entries.insert_mut(entry.number(), Arc::clone(entry));
        }
        let gone: Vec<u64> = gone.iter().map(|entry| entry.number()).collect();
        let come: Vec<Document> = come.iter().map(|entry| document(entry)).collect();
        self.changes.fetch_add(1, Ordering::Release);
        self.entries.store(Arc::new(entries));
        self.index.apply(&gone, come);
        self.changes.fetch_add(1, Ordering::Release);
    }
}

/// What an entry is found by.
fn document(entry: &Entry) -> Document {
    let spec = entry.spec();
    Document {
        id: entry.number(),
        slug: spec.slug.to_string(),
        name: spec.name.to_string(),
        aliases: spec.aliases.iter().map(ToString::to_string).collect(),
        title: spec.title.clone().unwrap_or_default(),
        description: spec.description.clone(),
        tags: spec.tags.clone(),
        keywords: spec.keywords.clone(),
        tie: tie(entry),
        modified: entry.modified(),
    }
}

/// Distinguishes an entry from others of its slug, in each process: its bundle and version, then where it comes from, and from which file.
pub(super) fn tie(entry: &Entry) -> String {
    let (spec, source) = (entry.spec(), entry.source());
    let mut tie = format!("{}@{}\0{}", spec.bundle, spec.version, source.as_str());
    match (source, entry.bundle_id()) {
        // One in the bin, or one of two that clash, may be called the same.
        (Source::Store, Some(id)) => tie.push_str(&format!("\0{id}")),
        _ => {
            let (directory, file) = entry.standing();
            tie.push_str(&format!("\0{directory}\0{file}"));
        }
    }
    tie
}
