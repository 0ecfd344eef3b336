//! A bundle with all its tools at one moment, and what it is known by: [`WholeBundle`], [`BundleDigest`].
//!
//! A caller that shows a bundle to a person and then changes it passes the digest of the shown state to the store, which compares it under
//! its lock: the person agreed to exactly that state.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::files;
use super::record::{Damage, StoredBundle, StoredTool};
use super::writing::Session;
use super::{Store, StoreError};
use crate::model::ids::BundleId;

/// What a bundle and every record in it say, as a number: SHA-256 over all of it but the bundle's own switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BundleDigest([u8; 32]);

impl std::fmt::Display for BundleDigest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl BundleDigest {
    /// Reads one as it is written: 64 lower-case digits.
    pub fn parse(text: &str) -> Option<Self> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != 64 || !text.bytes().all(is_digit) {
            return None;
        }
        let mut digest = [0; 32];
        for (index, byte) in digest.iter_mut().enumerate() {
            *byte = u8::from_str_radix(text.get(2 * index..2 * index + 2)?, 16).ok()?;
        }
        Some(BundleDigest(digest))
    }
}

/// A bundle with all its tools, as they were at one moment.
#[derive(Debug, Clone)]
pub struct WholeBundle {
    /// The bundle.
    pub stored: Arc<StoredBundle>,
    /// Its tools, each version, by slug and version. Records that are damaged are not among them.
    pub tools: Vec<Arc<StoredTool>>,
}

impl WholeBundle {
    /// What it is known by. Any other byte of any record, one more or one fewer, makes it another one.
    pub fn digest(&self) -> BundleDigest {
        let mut bundle = self.stored.bundle.clone();
        bundle.is_enabled = false;
        let mut hash = Sha256::new();
        // What cannot be written cannot have been read.
        hash.update(Sha256::digest(files::render(&bundle).unwrap_or_default()));
        for tool in &self.tools {
            hash.update(files::file_name(&tool.key.slug, &tool.key.version));
            hash.update(Sha256::digest(&tool.bytes));
        }
        BundleDigest(hash.finalize().into())
    }
}

impl Store {
    /// A bundle with all its tools, as they are at one moment.
    pub fn whole(&self, id: BundleId) -> Result<WholeBundle, StoreError> {
        let known = self.looked()?;
        let stored = known.bundle(id)?;
        let mut tools: Vec<Arc<StoredTool>> = known.tools_of(id).cloned().collect();
        drop(known);
        tools.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(WholeBundle { stored, tools })
    }
}

impl Session<'_> {
    /// Refuses a bundle that is no longer what someone was shown. Its files are looked at, those that were edited by hand, too.
    pub(super) fn refuse_changed(
        &self,
        id: BundleId,
        shown: BundleDigest,
    ) -> Result<(), StoreError> {
        let shelf = self.shelf(id)?;
        self.refresh_all(&shelf, id)?;
        let whole = self.store.whole(id)?;
        if whole.digest() == shown {
            return Ok(());
        }
        let damage = self.store.known().damage();
        match damage.into_iter().find(|damage| damage.bundle == id) {
            Some(Damage { file, reason, .. }) => Err(StoreError::Damaged { file, reason }),
            None => Err(StoreError::BundleChanged {
                slug: whole.stored.bundle.slug.clone(),
            }),
        }
    }
}
