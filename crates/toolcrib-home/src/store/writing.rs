//! Writing: [`Session`], the right to change the store and what is known of it.
//!
//! A session has the lock of all writers and has caught up with what others wrote before it. What it writes is noted in the catalogue
//! after it is on the disk, never before: an error of the disk leaves the old state in memory as well.

use std::cell::Cell;
use std::sync::{Arc, MutexGuard};
use std::time::SystemTime;

use rustix::fs::FileType;

use super::files::{self, BUNDLE_FILE};
use super::follow::Seen;
use super::record::{StoredTool, ToolKey};
use super::scan::{self, FileState, How};
use super::shelf::{Content, KnownFile, StampTrust};
use super::{Look, Store, StoreError, unpoisoned};
use crate::model::ids::BundleId;
use crate::spec::manifest::Bundle;
use crate::storage::{DirLock, DurableDir, Stamp};

/// What a writer does where there is no store yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoStore {
    Create,
    Refuse,
}

/// One writer among all processes.
pub(super) struct Session<'a> {
    pub(super) store: &'a Store,
    pub(super) dir: DurableDir,
    pub(super) lock: DirLock,
    /// How the directory of a bundle looked before this session wrote in it.
    before: Cell<Option<(BundleId, Stamp)>>,
    // After the lock: it is the last to go.
    _looking: MutexGuard<'a, ()>,
}

impl Store {
    /// Runs `change` as the only writer, knowing all that was written before. `id` is the bundle that it is about.
    pub(super) fn write<T>(
        &self,
        id: BundleId,
        no_store: NoStore,
        change: impl FnOnce(&Session<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        files::refuse_own(id)?;
        let dir = match no_store {
            NoStore::Create => DurableDir::create(&self.inner.directory)?,
            NoStore::Refuse => match DurableDir::open(&self.inner.directory)? {
                Some(dir) => dir,
                None => return Err(StoreError::BundleNotFound { id }),
            },
        };
        // First the lock, then our own: who waits for other processes keeps no one here from looking.
        let lock = dir.lock_counted()?;
        let looking = unpoisoned(self.inner.looking.lock());
        let seen = *unpoisoned(self.inner.seen.lock());
        // Until this has ended well: everybody looks.
        self.set_seen(None);
        let found = lock.found();
        if !seen.is_some_and(|seen| seen.is(found)) || !found.is_quiet() {
            let how = Seen::since(seen, found, How::new(Look::Glance));
            self.look_now(Some(&dir), &how)?;
        }
        let session = Session {
            store: self,
            dir,
            lock,
            before: Cell::new(None),
            _looking: looking,
        };
        let result = change(&session);
        match &result {
            // The state on disk may differ from what we expect.
            Err(StoreError::Storage(_)) => {}
            Ok(_) | Err(_) => self.set_seen(Some(Seen::after(session.lock.generation_after()))),
        }
        result
    }
}

impl Session<'_> {
    /// The directory of a bundle.
    pub(super) fn shelf(&self, id: BundleId) -> Result<DurableDir, StoreError> {
        match self.dir.subdir(&id.to_string()) {
            Ok(Some(shelf)) => {
                self.before.set(shelf.stamp().ok().map(|stamp| (id, stamp)));
                Ok(shelf)
            }
            Ok(None) => Err(StoreError::BundleNotFound { id }),
            Err(error) if error.is_want() => Err(error.into()),
            // A link, say: what is wrong with it is known.
            Err(error) => Err(self.store.known().bundle(id).err().unwrap_or(error.into())),
        }
    }

    /// A bundle as its file says now, whatever state it is in.
    pub(super) fn bundle(&self, id: BundleId) -> Result<Bundle, StoreError> {
        self.bundle_on(self.dir.subdir(&id.to_string()).ok().flatten().as_ref(), id)
    }

    /// Reads a bundle whose directory is open.
    pub(super) fn bundle_on(
        &self,
        shelf: Option<&DurableDir>,
        id: BundleId,
    ) -> Result<Bundle, StoreError> {
        if let Some(shelf) = shelf {
            self.refresh(shelf, id, BUNDLE_FILE)?;
        }
        let view = self.store.known().bundle(id)?;
        Ok(view.bundle.clone())
    }

    /// A bundle in which things may be changed: it is on and not in the bin.
    pub(super) fn bundle_to_change(
        &self,
        shelf: &DurableDir,
        id: BundleId,
    ) -> Result<Bundle, StoreError> {
        let bundle = self.bundle_on(Some(shelf), id)?;
        let slug = bundle.slug.clone();
        if bundle.soft_deleted_at.is_some() {
            Err(StoreError::BundleDeleted { slug })
        } else if !bundle.is_enabled {
            Err(StoreError::BundleOff { slug })
        } else {
            Ok(bundle)
        }
    }

    /// One version of a tool as its file says now.
    pub(super) fn tool(
        &self,
        bundle: &Bundle,
        shelf: &DurableDir,
        key: &ToolKey,
    ) -> Result<Arc<StoredTool>, StoreError> {
        self.refresh(
            shelf,
            key.bundle,
            &files::file_name(&key.slug, &key.version),
        )?;
        let known = self.store.known();
        if let Some(tool) = known.find(key) {
            return Ok(Arc::clone(tool));
        }
        Err(known
            .flaw_of(key)
            .unwrap_or_else(|| StoreError::ToolNotFound {
                bundle: bundle.slug.clone(),
                slug: key.slug.clone(),
                version: key.version.clone(),
            }))
    }

    /// Looks whether someone has edited a file by hand.
    pub(super) fn refresh(
        &self,
        shelf: &DurableDir,
        id: BundleId,
        name: &str,
    ) -> Result<(), StoreError> {
        let found = {
            let known = self.store.known();
            let known = known.shelf(id).and_then(|shelf| shelf.files.get(name));
            scan::look_at(shelf, id, name, FileType::Unknown, known, SystemTime::now())?
        };
        self.note(id, name, found);
        Ok(())
    }

    /// Notes what was written into a file.
    pub(super) fn wrote(&self, shelf: &DurableDir, id: BundleId, name: &str, content: Content) {
        let file = KnownFile::new(stamp_now(Some(shelf), name), content);
        self.note(id, name, FileState::New(file));
        self.wrote_in(shelf, id);
    }

    /// Notes how a directory looks after this session wrote in it, if it looked as it was known to before.
    fn wrote_in(&self, shelf: &DurableDir, id: BundleId) {
        let (Some((of, before)), Ok(after)) = (self.before.get(), shelf.stamp()) else {
            return;
        };
        let mut known = self.store.known_mut();
        let is_known = known.shelf(id).is_some_and(|shelf| shelf.stamp.is(&before));
        if of == id && is_known {
            known.set_stamp(id, StampTrust::at(after, SystemTime::now()));
            self.before.set(Some((id, after)));
        }
    }

    /// Notes that a bundle came as a whole, with these files.
    pub(super) fn wrote_all(&self, id: BundleId, files: impl Iterator<Item = (String, Content)>) {
        let shelf = self.dir.subdir(&id.to_string()).ok().flatten();
        let mut known = self.store.known_mut();
        known.remove_directory(id);
        for (name, content) in files {
            let file = KnownFile::new(stamp_now(shelf.as_ref(), &name), content);
            known.set_file(id, &name.into(), Some(file));
        }
        // No one else knew the directory until now.
        if let Some(Ok(stamp)) = shelf.as_ref().map(DurableDir::stamp) {
            known.set_stamp(id, StampTrust::at(stamp, SystemTime::now()));
        }
        known.settle([id]);
    }

    /// Notes that a file is gone.
    pub(super) fn removed(&self, shelf: &DurableDir, id: BundleId, name: &str) {
        self.note(id, name, FileState::Gone);
        self.wrote_in(shelf, id);
    }

    fn note(&self, id: BundleId, name: &str, found: FileState) {
        let mut known = self.store.known_mut();
        match found {
            FileState::Same => return,
            FileState::Touched(stamp) => {
                known.touch(id, name, stamp);
                return;
            }
            FileState::New(file) => known.set_file(id, &name.into(), Some(file)),
            FileState::Gone => known.set_file(id, &name.into(), None),
        }
        known.settle([id]);
    }
}

/// How a file looks that was just written. Without a stamp the next look reads it again.
fn stamp_now(shelf: Option<&DurableDir>, name: &str) -> StampTrust {
    // Before the stamp is taken: what someone changes right after that, in the same tick, must not be taken for settled.
    let now = SystemTime::now();
    match shelf.map(|shelf| shelf.stamp_of(name)) {
        Some(Ok(Some(stamp))) => StampTrust::at(stamp, now),
        Some(Ok(None) | Err(_)) | None => StampTrust::No,
    }
}
