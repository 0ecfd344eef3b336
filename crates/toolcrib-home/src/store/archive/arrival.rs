//! Reading an archive, and taking in what it holds: [`Archive`].

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use super::zip::{BUNDLE, Zip};
use super::{ArchiveError, Contents, STATE};
use crate::model::JsonObject;
use crate::model::budget::Budget;
use crate::model::ids::{BundleId, ToolId};
use crate::model::names::Slug;
use crate::model::text;
use crate::schema::hidden;
use crate::spec::manifest::{Bundle, MAX_UNKNOWN_FIELDS, ToolManifest, too_many_unknown_fields};
use crate::store::install::keep_switches;
use crate::store::{Install, Store, StoreError, StoredBundle};

/// The field of a bundle that says when it came from elsewhere. Every call of its tools asks.
pub const IMPORTED_AT: &str = "importedAt";

/// What the values of an entry, and of all entries, may take in memory, estimated. A value takes up to a hundred bytes of memory and as few
/// as two of an archive, a list that has something in it four hundred; real definitions take some ten thousand.
const MAX_ENTRY_MEMORY: usize = 16 << 20;
const MAX_MEMORY: u64 = 128 << 20;
const VALUE: usize = 80;
const LIST: usize = 400;

/// How many notes are kept.
const MAX_NOTES: usize = 50;

/// A bundle that came from elsewhere, as it would be taken in: switched off, and nothing that a home says about its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Archive {
    /// Its contents, as they would be installed.
    pub contents: Contents,
    /// What it said and is not taken over, and what is odd about it; safe to show.
    pub notes: Vec<String>,
}

impl Archive {
    /// Reads an archive. All of it is looked at before anything is returned; the first thing that is wrong refuses it.
    pub fn read(bytes: &[u8]) -> Result<Archive, ArchiveError> {
        Self::read_at(bytes, Timestamp::now())
    }

    fn read_at(bytes: &[u8], now: Timestamp) -> Result<Archive, ArchiveError> {
        let zip = Zip::open(bytes)?;
        let mut reader = Reader {
            now,
            budget: Budget::new(u64::MAX, MAX_MEMORY),
            notes: Vec::new(),
        };
        let mut entries = zip.entries().iter();
        let bundle = entries.clone().find(|entry| entry.name.as_str() == BUNDLE);
        let bundle = bundle.ok_or(ArchiveError::NoBundle)?;
        let bundle = reader.bundle(&zip.unpack(bundle)?)?;
        let mut tools: Vec<(String, ToolManifest)> = Vec::new();
        let mut versions = HashMap::new();
        let mut ids = HashMap::new();
        for entry in entries
            .by_ref()
            .filter(|entry| entry.name.as_str() != BUNDLE)
        {
            let name = entry.name.as_str().to_owned();
            let tool = reader.tool(&name, &zip.unpack(entry)?, bundle.bundle_id)?;
            let first = |index: usize, tools: &[(String, ToolManifest)]| tools[index].0.clone();
            let key = (tool.slug.clone(), tool.version.clone());
            if let Some(index) = versions.insert(key, tools.len()) {
                return Err(ArchiveError::TwoVersions {
                    slug: tool.slug,
                    version: tool.version,
                    first: first(index, &tools),
                    second: name,
                });
            }
            if let Some(index) = ids.insert(tool.tool_id, tools.len()) {
                return Err(ArchiveError::TwoIds {
                    id: tool.tool_id,
                    first: first(index, &tools),
                    second: name,
                });
            }
            tools.push((name, tool));
        }
        let mut tools: Vec<ToolManifest> = tools.into_iter().map(|(_, tool)| tool).collect();
        tools.sort_by(|one, other| (&one.slug, &one.version).cmp(&(&other.slug, &other.version)));
        Ok(Archive {
            contents: Contents { bundle, tools },
            notes: bounded(reader.notes),
        })
    }

    /// A copy under another name, with its own ids: a second copy, which has nothing to do with the first.
    #[must_use]
    pub fn renamed(mut self, slug: Slug) -> Archive {
        let id = BundleId::generate();
        self.contents.bundle.slug = slug;
        self.contents.bundle.bundle_id = id;
        for tool in &mut self.contents.tools {
            tool.bundle_id = id;
            tool.tool_id = ToolId::generate();
        }
        self
    }

    /// This archive, with the switches of single tools as they are in `here`, which it is to replace. [`install`](Self::install) does this by
    /// itself; callers that show what it would change need it before.
    #[must_use]
    pub fn with_switches_of(mut self, here: &Contents) -> Archive {
        let here = here.tools.iter();
        keep_switches(
            &mut self.contents.tools,
            here.map(|tool| (&tool.slug, &tool.version, tool.is_enabled)),
        );
        self
    }

    /// What [`install`](Self::install) would refuse now.
    pub fn check(&self, store: &Store, how: Install) -> Result<(), StoreError> {
        let bundle = &self.contents.bundle;
        let own = BundleId::OWN.iter();
        let mut own =
            own.filter(|(id, slug)| *id == bundle.bundle_id || *slug == bundle.slug.as_str());
        if let Some((_, slug)) = own.next() {
            let name = (*slug).to_owned();
            return Err(StoreError::ReadOnly { name });
        }
        for other in store.bundles() {
            let other = &other.bundle;
            let is_it = other.bundle_id == bundle.bundle_id;
            if is_it && other.soft_deleted_at.is_some() {
                let slug = other.slug.clone();
                return Err(StoreError::BundleDeleted { slug });
            }
            if is_it && how == Install::New {
                return Err(StoreError::BundleTaken {
                    id: other.bundle_id,
                    slug: other.slug.clone(),
                });
            }
            if !is_it && other.slug == bundle.slug && other.soft_deleted_at.is_none() {
                return Err(StoreError::SlugTaken {
                    slug: other.slug.clone(),
                    by: other.bundle_id,
                });
            }
        }
        Ok(())
    }

    /// Takes the bundle in, in one step: all of it or nothing. Times are the store's; ids of tools are kept where no one else has them.
    pub fn install(self, store: &Store, how: Install) -> Result<Arc<StoredBundle>, StoreError> {
        self.check(store, how)?;
        store.install(self.contents.bundle, self.contents.tools, how)
    }
}

/// Whether a text of a tool that is read has hidden characters.
fn hides_something(tool: &ToolManifest) -> bool {
    let mut texts = [&tool.description, &tool.display_name].into_iter();
    let mut schemas = std::iter::once(&tool.arg_schema).chain(&tool.output_schema);
    texts.any(|text| text::hides_something(text)) || schemas.any(hidden::in_texts)
}

/// The first notes, and how many more there are.
fn bounded(mut notes: Vec<String>) -> Vec<String> {
    if let Some(more) = notes.len().checked_sub(MAX_NOTES).filter(|more| *more > 0) {
        notes.truncate(MAX_NOTES);
        notes.push(format!("and {more} more of the kind"));
    }
    notes
}

/// Which of the fields that may be left out are there.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Present {
    #[serde(rename = "bundleID")]
    bundle_id: Option<IgnoredAny>,
    created_at: Option<IgnoredAny>,
    modified_at: Option<IgnoredAny>,
}

struct Reader {
    now: Timestamp,
    budget: Budget,
    notes: Vec<String>,
}

impl Reader {
    fn bundle(&mut self, content: &[u8]) -> Result<Bundle, ArchiveError> {
        self.count(BUNDLE, content)?;
        let mut bundle: Bundle = self.parse(BUNDLE, content, None)?;
        if bundle.extra.len() >= MAX_UNKNOWN_FIELDS {
            return Err(ArchiveError::Entry {
                entry: BUNDLE.to_owned(),
                reason: too_many_unknown_fields(),
            });
        }
        if bundle.is_built_in {
            self.note("`bundle.json` says that it is built in: that is ignored");
        }
        if bundle.soft_deleted_at.take().is_some() {
            self.note("`bundle.json` says that it is in the bin: that is ignored");
        }
        bundle.is_built_in = false;
        bundle.is_enabled = false;
        if bundle.slug.mixes_scripts() {
            let slug = &bundle.slug;
            self.notes.push(format!(
                "the bundle's slug `{slug}` mixes scripts: it may look like another one"
            ));
        }
        self.forget(BUNDLE, &mut bundle.extra);
        bundle.extra.remove(IMPORTED_AT);
        self.unknown(BUNDLE, &bundle.extra);
        let now = Value::String(self.now.to_string());
        bundle.extra.insert(IMPORTED_AT.to_owned(), now);
        Ok(bundle)
    }

    fn tool(
        &mut self,
        entry: &str,
        content: &[u8],
        bundle: BundleId,
    ) -> Result<ToolManifest, ArchiveError> {
        self.count(entry, content)?;
        let mut tool: ToolManifest = self.parse(entry, content, Some(bundle))?;
        if tool.bundle_id != bundle {
            return Err(ArchiveError::OtherBundle {
                entry: entry.to_owned(),
                found: tool.bundle_id,
                expected: bundle,
            });
        }
        if tool.is_built_in {
            self.note(&format!(
                "`{entry}` says that it is built in: that is ignored"
            ));
            tool.is_built_in = false;
        }
        if tool.slug.mixes_scripts() {
            self.notes.push(format!(
                "the slug `{}` mixes scripts: it may look like another one",
                tool.slug
            ));
        }
        if hides_something(&tool) {
            self.note(&format!(
                "`{entry}` has hidden characters in its texts: people see them escaped, models do not get them"
            ));
        }
        // A bundle's business; here it would be a field that no one knows.
        tool.extra.remove("softDeletedAt");
        self.forget(entry, &mut tool.extra);
        Ok(tool)
    }

    /// Refuses what would take much more memory than it has bytes. Commas and brackets in texts count, too: it is a bound, not a number.
    fn count(&mut self, entry: &str, content: &[u8]) -> Result<(), ArchiveError> {
        let memory = content.iter().map(|byte| match byte {
            b',' => VALUE,
            b'[' | b'{' => LIST,
            _ => 0,
        });
        let memory: usize = memory.sum();
        if memory > MAX_ENTRY_MEMORY || self.budget.copy(memory).is_err() {
            let entry = entry.to_owned();
            return Err(ArchiveError::TooDense { entry });
        }
        Ok(())
    }

    /// Reads an entry. Times, and for a tool its bundle, may be left out by who writes one by hand.
    fn parse<T: DeserializeOwned>(
        &self,
        entry: &str,
        content: &[u8],
        bundle: Option<BundleId>,
    ) -> Result<T, ArchiveError> {
        let refused = |error: serde_json::Error| ArchiveError::Entry {
            entry: entry.to_owned(),
            reason: text::shorten(&error.to_string(), 300),
        };
        let present: Present = serde_json::from_slice(content).map_err(refused)?;
        let mut missing = Vec::new();
        if let (None, Some(bundle)) = (present.bundle_id, bundle) {
            missing.push(format!(r#""bundleID": "{bundle}""#));
        }
        for (is_there, field) in [
            (present.created_at.is_some(), "createdAt"),
            (present.modified_at.is_some(), "modifiedAt"),
        ] {
            if !is_there {
                missing.push(format!(r#""{field}": "{}""#, self.now));
            }
        }
        if missing.is_empty() {
            return serde_json::from_slice(content).map_err(refused);
        }
        // As text, so that a field that is twice is still refused, and lines keep their numbers.
        let text = std::str::from_utf8(content).unwrap_or_default();
        let opened = text.find('{').map_or(0, |brace| brace + 1);
        let (head, tail) = text.split_at(opened);
        let comma = match tail.trim_start().starts_with('}') {
            true => "",
            false => ", ",
        };
        let whole = format!("{head}{}{comma}{tail}", missing.join(", "));
        serde_json::from_str(&whole).map_err(refused)
    }

    /// Drops what another home says about itself.
    fn forget(&mut self, entry: &str, extra: &mut JsonObject) {
        for field in STATE {
            if extra.remove(field).is_some() {
                self.note(&format!("`{field}` of `{entry}` is ignored"));
            }
        }
    }

    fn unknown(&mut self, entry: &str, extra: &JsonObject) {
        if extra.is_empty() {
            return;
        }
        let names: Vec<String> = extra
            .keys()
            .take(5)
            .map(|name| format!("`{}`", text::shorten(name, 40)))
            .collect();
        let names = names.join(", ");
        self.note(&format!(
            "fields of `{entry}` that this version does not know are kept: {names}"
        ));
    }

    fn note(&mut self, note: &str) {
        self.notes.push(note.to_owned());
    }
}
