//! Final removal: of empty bundles that were long enough in the bin, and of files that dead writers left.

use jiff::{SignedDuration, Timestamp};

use super::files::BUNDLE_FILE;
use super::writing::NoStore;
use super::{Store, StoreError};
use crate::model::ids::BundleId;
use crate::storage::DurableDir;

/// How long a bundle stays in the bin at least: S4's two days.
const IN_THE_BIN: SignedDuration = SignedDuration::from_hours(48);

impl Store {
    /// Removes bundles that were put in the bin two days ago and are empty, and what dead writers left. Returns the bundles.
    ///
    /// A bundle with any foreign file in its directory stays, and so does one that was put in the bin later
    /// than now: the clock has been set back.
    pub fn reap(&self) -> Result<Vec<BundleId>, StoreError> {
        if DurableDir::open(&self.inner.directory)?.is_none() {
            return Ok(Vec::new());
        }
        // No bundle in particular; any id that is not one of Toolcrib's own.
        self.write(BundleId::generate(), NoStore::Refuse, |session| {
            session.dir.sweep(&session.lock)?;
            session.dir.sweep_dirs(&session.lock)?;
            let all: Vec<BundleId> = self.known().shelves().keys().copied().collect();
            let now = (self.inner.options.clock)();
            let mut reaped = Vec::new();
            for id in all {
                let Some(shelf) = session.dir.subdir(&id.to_string()).ok().flatten() else {
                    continue;
                };
                // An unreadable one stays; the others are still removed.
                let (Ok(_), Ok(bundle)) = (
                    shelf.sweep(&session.lock),
                    session.bundle_on(Some(&shelf), id),
                ) else {
                    continue;
                };
                if !is_due(bundle.soft_deleted_at, now) {
                    continue;
                }
                if session
                    .dir
                    .remove_dir(&session.lock, &id.to_string(), &[BUNDLE_FILE])?
                {
                    let mut known = self.known_mut();
                    known.remove_directory(id);
                    known.settle([id]);
                    reaped.push(id);
                }
            }
            Ok(reaped)
        })
    }
}

fn is_due(deleted_at: Option<Timestamp>, now: Timestamp) -> bool {
    deleted_at.is_some_and(|deleted_at| now.duration_since(deleted_at) >= IN_THE_BIN)
}
