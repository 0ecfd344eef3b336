//! The known state of a file and of a directory: [`KnownFile`], [`Shelf`].

use std::collections::HashMap;
use std::sync::Arc;
use std::time::SystemTime;

use super::files::{BUNDLE_FILE, Flaw};
use super::record::{StoredBundle, StoredTool};
use crate::model::ids::BundleId;
use crate::model::names::Slug;
use crate::spec::manifest::Bundle;
use crate::storage::Stamp;

/// What was read from a file.
#[derive(Debug)]
pub(super) enum Content {
    Bundle(Box<Bundle>),
    Tool(Arc<StoredTool>),
    Flawed(Flaw),
}

/// A file and what was read from it.
#[derive(Debug)]
pub(super) struct KnownFile {
    pub(super) stamp: StampTrust,
    pub(super) content: Content,
    /// Another tool has the id, and is the older one.
    pub(super) twin: Option<BundleFile>,
}

impl KnownFile {
    pub(super) fn new(stamp: StampTrust, content: Content) -> Self {
        KnownFile {
            stamp,
            content,
            twin: None,
        }
    }

    /// The tool, unless another has its id.
    pub(super) fn tool(&self) -> Option<&Arc<StoredTool>> {
        match &self.content {
            Content::Tool(tool) if self.twin.is_none() => Some(tool),
            Content::Tool(_) | Content::Bundle(_) | Content::Flawed(_) => None,
        }
    }
}

/// How far a stamp can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StampTrust {
    /// A file with this stamp is the one that was read.
    Settled(Stamp),
    /// A file with this stamp may have been changed since.
    Fresh(Stamp),
    /// It has to be read again.
    No,
}

impl StampTrust {
    pub(super) fn at(stamp: Stamp, now: SystemTime) -> Self {
        if stamp.is_settled(now) {
            StampTrust::Settled(stamp)
        } else {
            StampTrust::Fresh(stamp)
        }
    }

    pub(super) fn proves(self, stamp: &Stamp) -> bool {
        matches!(self, StampTrust::Settled(known) if known == *stamp)
    }

    /// Whether the stamp is this one, whatever that proves.
    pub(super) fn is(self, stamp: &Stamp) -> bool {
        match self {
            StampTrust::Settled(known) | StampTrust::Fresh(known) => known == *stamp,
            StampTrust::No => false,
        }
    }

    /// Whether it proves that no `Store` has written, where none is known to have written until `quiet_at`: later writes look otherwise.
    pub(super) fn proves_since(self, stamp: &Stamp, quiet_at: Option<SystemTime>) -> bool {
        self.proves(stamp)
            || self.is(stamp) && quiet_at.is_some_and(|quiet_at| stamp.is_settled(quiet_at))
    }

    /// Whether it is of this inode.
    pub(super) fn is_of_inode(self, inode: u64) -> bool {
        match self {
            StampTrust::Settled(known) | StampTrust::Fresh(known) => known.inode() == inode,
            StampTrust::No => false,
        }
    }
}

/// A file of a bundle's directory.
pub(super) type BundleFile = (BundleId, Arc<str>);

/// The directory of a bundle.
#[derive(Debug)]
pub(super) struct Shelf {
    pub(super) stamp: StampTrust,
    pub(super) files: HashMap<Arc<str>, KnownFile>,
    /// The problem of the directory itself.
    pub(super) flaw: Option<Flaw>,
    /// An older bundle has the slug.
    pub(super) clash: Option<BundleId>,
    /// There are files, but not that of the bundle.
    pub(super) is_headless: bool,
    pub(super) tools: usize,
    pub(super) view: Option<Arc<StoredBundle>>,
}

impl Default for Shelf {
    fn default() -> Self {
        Shelf {
            stamp: StampTrust::No,
            files: HashMap::new(),
            flaw: None,
            clash: None,
            is_headless: false,
            tools: 0,
            view: None,
        }
    }
}

impl Shelf {
    /// Whether there is a directory that can be opened.
    pub(super) fn is_a_directory(&self) -> bool {
        self.flaw.is_none()
    }

    /// The bundle, whatever state it is in.
    pub(super) fn bundle(&self) -> Option<&Bundle> {
        match self.files.get(BUNDLE_FILE).map(|file| &file.content) {
            Some(Content::Bundle(bundle)) => Some(bundle),
            _ => None,
        }
    }

    /// What the bundle is called as far as its damaged file still says.
    pub(super) fn likely_slug(&self) -> Option<Slug> {
        match self.files.get(BUNDLE_FILE).map(|file| &file.content) {
            Some(Content::Flawed(flaw)) => flaw.slug.clone(),
            _ => None,
        }
    }

    /// The problem of the bundle, if there is one.
    pub(super) fn flaw_of_bundle(&self) -> Option<String> {
        if let Some(flaw) = &self.flaw {
            return Some(flaw.reason.clone());
        }
        match self.files.get(BUNDLE_FILE).map(|file| &file.content) {
            Some(Content::Flawed(flaw)) => return Some(flaw.reason.clone()),
            Some(Content::Bundle(bundle)) => {
                if let Some(other) = self.clash {
                    let slug = &bundle.slug;
                    return Some(format!(
                        "another bundle is named `{slug}`, too: {other}, which is older"
                    ));
                }
            }
            Some(Content::Tool(_)) | None => {}
        }
        self.is_headless
            .then(|| "it is missing, and what is in its directory belongs to no bundle".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::storage::DurableDir;

    #[test]
    fn what_was_just_written_may_have_been_written_again_in_the_same_tick() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("a"), "1").unwrap();
        let dir = DurableDir::create(place.path()).unwrap();
        let stamp = dir.stamp_of("a").unwrap().unwrap();
        let now = SystemTime::now();
        assert!(StampTrust::at(stamp, now + Duration::from_secs(5)).proves(&stamp));
        // Also when the clock was set back since.
        for now in [now, now - Duration::from_secs(86_400)] {
            assert!(!StampTrust::at(stamp, now - Duration::from_secs(1)).proves(&stamp));
        }
        std::fs::write(place.path().join("a"), "22").unwrap();
        let other = dir.stamp_of("a").unwrap().unwrap();
        assert!(!StampTrust::at(stamp, now + Duration::from_secs(5)).proves(&other));
    }
}
