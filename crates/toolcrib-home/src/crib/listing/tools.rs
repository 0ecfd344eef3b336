//! Tools page by page: [`Crib::tool_page`], over an order of all entries that follows the registry.
//!
//! The order is made when someone first lists, since most programs never do, and from then on hears of each change. A page costs by what is on
//! it: rows before it are never looked at, and only tools that would be on it are made, to learn whether they can run.

use std::ops::Bound;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arc_swap::ArcSwap;
use rpds::RedBlackTreeMapSync;

use super::page_size;
use super::token::{RowFilter, Token};
use crate::crib::{Crib, finder};
use crate::model::error::ToolError;
use crate::model::ids::BundleId;
use crate::registry::{Availability, Entry, Registry};

/// How many tools are made for one page. Where so many cannot run, the page ends early: the next one goes on.
const MAX_MADE: usize = 1000;

/// Which tools to list.
#[derive(Debug, Clone, Default)]
pub struct ToolQuery {
    /// Those that have all of these tags, be they categories or effects.
    pub tags: Vec<String>,
    /// Those of these bundles, by id or slug; none: all.
    pub bundles: Vec<String>,
    /// Also those that are off or cannot run.
    pub include_disabled: bool,
    /// The most rows; 0: the default of 50. More than 500 count as 500.
    pub limit: usize,
    /// Where the last page ended.
    pub page_token: Option<String>,
}

/// Some tools, each version a row: by name, then by bundle and version.
#[derive(Default)]
pub struct ToolPage {
    /// The tools.
    pub tools: Vec<Arc<Entry>>,
    /// Where to go on; none if that was all.
    pub next_page_token: Option<String>,
}

impl Crib {
    /// Lists tools, also those whose name another one has. A page token that is none, or of another list, is `USAGE`.
    pub fn tool_page(&self, query: &ToolQuery) -> Result<ToolPage, ToolError> {
        let mut asked = RowFilter {
            tags: query.tags.clone(),
            bundles: query.bundles.clone(),
            include_disabled: query.include_disabled,
            size: query.limit,
        };
        let mut after = None;
        if let Some(token) = &query.page_token {
            let token = Token::read(token, "tools", &asked)?;
            after = Some(SortKey(token.after.0.into(), token.after.1.into()));
            asked = RowFilter {
                size: match query.limit {
                    0 => token.asked.size,
                    limit => limit,
                },
                ..token.asked
            };
        }
        self.registry.follow();
        let entries = self.order.entries(&self.registry);
        let begin = after.map_or(Bound::Unbounded, Bound::Excluded);
        let rest = entries.range::<SortKey, _>((begin, Bound::Unbounded));
        let bundles: Vec<Named<'_>> = asked.bundles.iter().map(|name| Named::of(name)).collect();
        let size = page_size(asked.size);
        let (mut page, mut last, mut made) = (ToolPage::default(), None, 0);
        let mut has_more = false;
        for (place, entry) in rest {
            if !entry.is_listed() || !of_bundles(entry, &bundles) || !has_tags(entry, &asked.tags) {
                continue;
            }
            if !asked.include_disabled {
                // Cheap questions come first.
                if entry.is_off() || entry.availability_at_a_glance() != Availability::Ready {
                    continue;
                }
                if !entry.is_made() {
                    if made == MAX_MADE {
                        has_more = true;
                        break;
                    }
                    made += 1;
                }
                if page.tools.len() < size && entry.availability() != Availability::Ready {
                    last = Some(place);
                    continue;
                }
            }
            if page.tools.len() == size {
                has_more = true;
                break;
            }
            last = Some(place);
            page.tools.push(Arc::clone(entry));
        }
        page.next_page_token = last.filter(|_| has_more).map(|SortKey(name, tie)| {
            let token = Token {
                list: "tools".to_owned(),
                asked,
                after: (name.to_string(), tie.to_string()),
            };
            token.to_text()
        });
        Ok(page)
    }
}

/// A bundle as someone named it.
enum Named<'a> {
    Id(BundleId),
    Slug(&'a str),
}

impl<'a> Named<'a> {
    fn of(name: &'a str) -> Self {
        BundleId::parse(name).map_or(Named::Slug(name), Named::Id)
    }
}

fn of_bundles(entry: &Entry, bundles: &[Named<'_>]) -> bool {
    let is_it = |named: &Named<'_>| match named {
        Named::Id(id) => entry.bundle_id() == Some(*id),
        Named::Slug(slug) => entry.head().bundle.as_str() == *slug,
    };
    bundles.is_empty() || bundles.iter().any(is_it)
}

/// Whether a tool has all of these tags, be they categories or effects.
pub(in crate::crib) fn has_tags(entry: &Entry, tags: &[String]) -> bool {
    if tags.is_empty() {
        return true;
    }
    let spec = entry.spec();
    let effects = spec.effects.tags();
    let has = |tag: &String| spec.tags.contains(tag) || effects.contains(&tag.as_str());
    tags.iter().all(has)
}

/// Where a tool is among all: its name, and what distinguishes it from others of that name in every process.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct SortKey(Box<str>, Box<str>);

impl SortKey {
    fn of(entry: &Entry) -> Self {
        let name = entry.head().name.as_str();
        SortKey(name.into(), finder::tie(entry).into())
    }
}

type Entries = RedBlackTreeMapSync<SortKey, Arc<Entry>>;

/// All entries in order, once someone has listed.
#[derive(Default)]
pub(in crate::crib) struct Order {
    entries: OnceLock<Arc<ArcSwap<Entries>>>,
    /// Held while the order is made.
    making: Mutex<()>,
}

impl Order {
    fn entries(&self, registry: &Registry) -> Arc<Entries> {
        if self.entries.get().is_none() {
            let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
            if self.entries.get().is_none() {
                let entries = Arc::new(ArcSwap::from_pointee(Entries::new_sync()));
                let told = Arc::clone(&entries);
                registry.watch(move |gone, come| change(&told, gone, come));
                let _ = self.entries.set(entries);
            }
        }
        let entries = self.entries.get();
        entries.map_or_else(
            || Arc::new(Entries::new_sync()),
            |entries| entries.load_full(),
        )
    }
}

/// Takes a change of the registry over, which is locked meanwhile: changes come one after the other.
fn change(entries: &ArcSwap<Entries>, gone: &[Arc<Entry>], come: &[Arc<Entry>]) {
    let mut next = Entries::clone(&entries.load());
    for entry in gone {
        let place = SortKey::of(entry);
        // Unless one that came since is there.
        if next
            .get(&place)
            .is_some_and(|there| there.number() == entry.number())
        {
            next.remove_mut(&place);
        }
    }
    for entry in come {
        next.insert_mut(SortKey::of(entry), Arc::clone(entry));
    }
    entries.store(Arc::new(next));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::Surroundings;
    use crate::crib::CribOptions;
    use crate::spec::manifest::ToolManifest;
    use crate::store::BundleDraft;

    /// A crib whose store has a bundle with these tools.
    fn crib(directory: &std::path::Path, slugs: &[&str]) -> Crib {
        let surroundings = Surroundings::new(directory, [("HOME", directory.to_str().unwrap())]);
        let options = CribOptions::default().surroundings(surroundings);
        let crib = options.home(directory.join("home")).open().unwrap();
        let id = BundleId::generate();
        let draft = BundleDraft {
            slug: crate::model::names::Slug::parse("acme").unwrap(),
            display_name: String::new(),
            description: String::new(),
            is_enabled: true,
        };
        crib.put_bundle(id, draft).unwrap();
        for slug in slugs {
            let manifest: ToolManifest = serde_json::from_value(json!({
                "bundleID": id, "slug": slug, "version": "v1", "description": "Says", "type": "http", "tags": ["read"],
                "impl": {"method": "GET", "urlTemplate": "https://api.example.com/"},
                "createdAt": "2024-05-14T13:44:00Z", "modifiedAt": "2024-05-14T13:44:00Z",
            }))
            .unwrap();
            crib.put_tool(manifest).unwrap();
        }
        crib
    }

    fn query(limit: usize) -> ToolQuery {
        ToolQuery {
            bundles: vec!["acme".to_owned()],
            limit,
            ..ToolQuery::default()
        }
    }

    #[test]
    fn only_the_tools_of_a_page_are_made() {
        let directory = tempfile::tempdir().unwrap();
        let crib = crib(directory.path(), &["a", "b", "c", "d", "e"]);
        let page = crib.tool_page(&query(2)).unwrap();
        let made = |slug: &str| {
            let id = crib.bundle("acme").unwrap().bundle.bundle_id;
            let entries = crib.bundle_tools(id);
            let is_it = |entry: &&Arc<Entry>| entry.head().slug.as_str() == slug;
            entries.iter().find(is_it).unwrap().is_made()
        };
        assert_eq!(page.tools.len(), 2);
        assert_eq!(
            ["a", "b", "c", "d", "e"].map(made),
            [true, true, false, false, false]
        );
        // Those that are off are listed without being made for it.
        let all = ToolQuery {
            include_disabled: true,
            ..query(0)
        };
        assert_eq!(crib.tool_page(&all).unwrap().tools.len(), 5);
        assert!(!made("e"));
    }

    #[test]
    fn a_page_goes_on_behind_a_tool_that_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        let crib = crib(directory.path(), &["a", "b", "c"]);
        let first = crib.tool_page(&query(2)).unwrap();
        crib.delete_tool("acme/b@v1").unwrap();
        let next = ToolQuery {
            page_token: first.next_page_token,
            ..ToolQuery::default()
        };
        let page = crib.tool_page(&next).unwrap();
        let slugs: Vec<&str> = page
            .tools
            .iter()
            .map(|tool| tool.head().slug.as_str())
            .collect();
        assert_eq!((slugs, page.next_page_token), (vec!["c"], None));
    }
}
