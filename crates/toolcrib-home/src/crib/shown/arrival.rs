//! A bundle that came from elsewhere, before it is taken in: [`Arrival`].

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::comparison::{ComparisonShown, NameContest};
use crate::crib::{Candidate, Contest, Crib};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::names::Slug;
use crate::source::look_alike;
use crate::store::archive::{Archive, Comparison, Contents, compare, contents};
use crate::store::{BundleDigest, Install, StoreError, StoredBundle};

/// An archive beside the bundles that are here: what taking it in would change.
#[derive(Debug)]
pub struct Arrival {
    /// The archive, as it would be taken in.
    pub archive: Archive,
    /// The bundle here that has its id, in the bin or not.
    pub old: Option<Contents>,
    /// What differs from that one.
    pub comparison: Comparison,
    /// The names that tools here have and tools of it want.
    pub contests: Vec<Contest>,
    how: Install,
}

/// What came of taking an archive in, or would.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ImportShown {
    /// The bundle and its tools, compared with what was here.
    #[serde(flatten)]
    pub comparison: ComparisonShown,
    /// The names that tools here have and tools of it want.
    pub names: Vec<NameContest>,
    /// Warnings about the archive.
    pub notes: Vec<String>,
    /// Whether it was taken in.
    pub imported: bool,
}

impl Crib {
    /// Looks at an archive that is to be taken in: under another slug it is a copy that has nothing to do with what is here; `update` has it
    /// replace the bundle of its id.
    pub fn arrival(
        &self,
        archive: Archive,
        slug: Option<Slug>,
        update: bool,
    ) -> Result<Arrival, ToolError> {
        // Follows what others wrote.
        self.registry.follow();
        let (mut archive, mut old) = (archive, None);
        match slug {
            Some(slug) => archive = archive.renamed(slug),
            None => old = self.counterpart(&archive)?,
        }
        if let (true, Some((_, old))) = (update, &old) {
            archive = archive.with_switches_of(old);
        }
        let bundle = archive.contents.bundle.bundle_id;
        for tool in &archive.contents.tools {
            if let Some(other) = self.registry.look_alike(&tool.slug, bundle) {
                let alike = look_alike(&tool.slug, &other.spec().slug);
                let message = format!("the bundle is not taken in: {alike}");
                return Err(ToolError::new(ErrorCode::InvalidArguments, message));
            }
        }
        // Only the state compared here is replaced.
        let how = match (&old, update) {
            (Some((digest, _)), true) => Install::UpdateOf(*digest),
            (None, _) | (_, false) => Install::New,
        };
        let old = old.map(|(_, contents)| contents);
        let comparison = compare(old.as_ref(), &archive.contents, |tool| {
            self.check_manifest(tool)
        });
        let on = archive.contents.tools.iter().filter(|tool| tool.is_enabled);
        let candidates = on.map(|tool| Candidate {
            slug: tool.slug.clone(),
            version: tool.version.clone(),
            name: tool.name.clone(),
            modified: None,
        });
        let contests = self.contests(&archive.contents.bundle, candidates);
        Ok(Arrival {
            archive,
            old,
            comparison,
            contests,
            how,
        })
    }

    /// Takes an archive in, all of it or nothing: switched off, and marked as imported.
    pub fn take_in(&self, arrival: Arrival) -> Result<Arc<StoredBundle>, StoreError> {
        let stored = arrival.archive.install(&self.store, arrival.how)?;
        self.catch_up();
        Ok(stored)
    }

    fn counterpart(
        &self,
        archive: &Archive,
    ) -> Result<Option<(BundleDigest, Contents)>, ToolError> {
        let id = archive.contents.bundle.bundle_id;
        let mut bundles = self.store.bundles().into_iter();
        if bundles.all(|stored| stored.bundle.bundle_id != id) {
            return Ok(None);
        }
        // First what it is known by: what changes in between is found out.
        let digest = self.store.whole(id)?.digest();
        Ok(Some((digest, contents(&self.store, id)?)))
    }
}

impl Arrival {
    /// What taking it in would refuse now.
    pub fn check(&self, crib: &Crib) -> Result<(), StoreError> {
        self.archive.check(&crib.store, self.how)
    }

    /// Whether it would replace the bundle that is here.
    pub fn is_update(&self) -> bool {
        self.how != Install::New
    }

    /// The bundle here that it would replace, by what that is known by.
    pub fn replaces(&self) -> Option<BundleDigest> {
        match self.how {
            Install::UpdateOf(digest) => Some(digest),
            Install::New | Install::Update => None,
        }
    }

    /// What there is to see before it is taken in.
    pub fn shown(&self, crib: &Crib) -> ImportShown {
        let contents = &self.archive.contents;
        let comparison = crib.compared(&self.comparison, self.old.as_ref(), contents);
        ImportShown {
            comparison,
            names: self.contests.iter().map(NameContest::from).collect(),
            notes: self.archive.notes.clone(),
            imported: false,
        }
    }
}

impl ImportShown {
    /// The preview as the report of an import as this bundle.
    #[must_use]
    pub fn taken_in(mut self, stored: &StoredBundle) -> Self {
        self.comparison.bundle = stored.bundle.clone();
        self.imported = true;
        self
    }
}
