//! Bundles: made, replaced, switched, put in the bin and taken out again.

use super::archive::IMPORTED_AT;
use super::files::{self, BUNDLE_FILE};
use super::record::BundleDraft;
use super::rewrite;
use super::scan::How;
use super::shelf::Content;
use super::writing::{NoStore, Session};
use super::{BundleDigest, Look, Put, Store, StoreError};
use crate::model::ids::BundleId;
use crate::model::names::{MAX_RUNES, Slug};
use crate::spec::manifest::{Bundle, SCHEMA_VERSION};

/// What becomes of the switch of a bundle that is there.
#[derive(Debug, Clone, Copy)]
enum Flag {
    AsSaid,
    Stays,
}

impl Store {
    /// Makes a bundle, or replaces what it says about itself. Where there are tools of the id whose bundle's file is gone, it takes them in as
    /// [`recover_bundle`](Self::recover_bundle) does: off, and imported. An imported bundle that is off stays off.
    pub fn put_bundle(&self, id: BundleId, draft: BundleDraft) -> Result<Put, StoreError> {
        self.put(id, draft, Flag::AsSaid)
    }

    /// Like the method above, but keeps the switch of an existing bundle, even if it is switched at the same time.
    pub fn put_bundle_as_switched(
        &self,
        id: BundleId,
        draft: BundleDraft,
    ) -> Result<Put, StoreError> {
        self.put(id, draft, Flag::Stays)
    }

    fn put(&self, id: BundleId, draft: BundleDraft, flag: Flag) -> Result<Put, StoreError> {
        refuse_own_slug(&draft.slug)?;
        self.write(id, NoStore::Create, |session| {
            let old = match session.bundle(id) {
                Ok(old) => Some(old),
                Err(StoreError::BundleNotFound { .. }) => None,
                // What remained in its directory when its file was set aside.
                Err(StoreError::Damaged { .. }) if session.is_headless(id) => None,
                Err(error) => return Err(error),
            };
            if let Some(old) = &old
                && old.soft_deleted_at.is_some()
            {
                let slug = old.slug.clone();
                return Err(StoreError::BundleDeleted { slug });
            }
            session.refuse_taken(&draft.slug, id)?;
            let now = (self.inner.options.clock)();
            match old {
                Some(old) => {
                    let mut bundle = old.clone();
                    bundle.slug = draft.slug;
                    bundle.display_name = draft.display_name;
                    bundle.description = draft.description;
                    if bundle != old {
                        bundle.modified_at = now.max(old.created_at).max(old.modified_at);
                    }
                    // Switching is not a structural change. What came from elsewhere is switched on by switching, for which people are shown
                    // what is in it.
                    let may_be_on = old.is_enabled || !old.extra.contains_key(IMPORTED_AT);
                    bundle.is_enabled = match flag {
                        Flag::AsSaid => draft.is_enabled && may_be_on,
                        Flag::Stays => old.is_enabled,
                    };
                    session.replace_bundle(&bundle)?;
                    Ok(Put::Replaced(bundle))
                }
                None => {
                    let mut bundle = Bundle {
                        schema_version: SCHEMA_VERSION.to_owned(),
                        bundle_id: id,
                        slug: draft.slug,
                        display_name: draft.display_name,
                        description: draft.description,
                        is_enabled: draft.is_enabled,
                        is_built_in: false,
                        created_at: now,
                        modified_at: now,
                        soft_deleted_at: None,
                        extra: Default::default(),
                    };
                    // No one knows any more where its tools came from.
                    if session.has_files(id) {
                        bundle.is_enabled = false;
                        let now = now.to_string().into();
                        bundle.extra.insert(IMPORTED_AT.to_owned(), now);
                    }
                    session.create_bundle(&bundle)?;
                    Ok(Put::Created(bundle))
                }
            }
        })
    }

    /// Recreates the file of a bundle whose file was set aside, so that its tools are available again.
    ///
    /// It is off, and counts as imported: no one knows any more whether it was, and tools of such a bundle ask before every call.
    pub fn recover_bundle(&self, id: BundleId, slug: Slug) -> Result<Bundle, StoreError> {
        refuse_own_slug(&slug)?;
        self.write(id, NoStore::Refuse, |session| {
            match session.bundle(id) {
                Err(StoreError::Damaged { .. }) if session.is_headless(id) => {}
                Ok(bundle) => {
                    let slug = bundle.slug;
                    return Err(StoreError::BundleTaken { id, slug });
                }
                Err(error) => return Err(error),
            }
            session.refuse_taken(&slug, id)?;
            let now = (self.inner.options.clock)();
            let imported = (IMPORTED_AT.to_owned(), now.to_string().into());
            let bundle = Bundle {
                schema_version: SCHEMA_VERSION.to_owned(),
                bundle_id: id,
                display_name: slug.to_string(),
                slug,
                description: "recovered by `toolcrib doctor --fix`".to_owned(),
                is_enabled: false,
                is_built_in: false,
                created_at: now,
                modified_at: now,
                soft_deleted_at: None,
                extra: [imported].into_iter().collect(),
            };
            session.create_bundle(&bundle)?;
            Ok(bundle)
        })
    }

    /// Whether an older bundle has the slug of this one, which is all that is wrong with it.
    pub(crate) fn has_clash(&self, id: BundleId) -> bool {
        let known = self.known();
        known.shelf(id).is_some_and(|shelf| shelf.clash.is_some())
    }

    /// Gives a bundle whose slug an older one has another one, `acme-2`; nothing else of it changes.
    pub(crate) fn rename_apart(&self, id: BundleId) -> Result<Bundle, StoreError> {
        self.write(id, NoStore::Refuse, |session| {
            self.look_now(Some(&session.dir), &How::new(Look::Thorough))?;
            let clashing = {
                let known = self.known();
                let shelf = known.shelf(id).filter(|shelf| shelf.clash.is_some());
                shelf.and_then(|shelf| shelf.bundle().cloned())
            };
            let Some(mut bundle) = clashing else {
                let message = format!("no other bundle has the slug of {id} now");
                return Err(StoreError::Invalid(message));
            };
            let is_free = |slug: &Slug| session.refuse_taken(slug, id).is_ok();
            let mut names = (2_u32..).filter_map(|number| numbered(&bundle.slug, number));
            if let Some(slug) = names.find(is_free) {
                bundle.slug = slug;
            }
            let now = (self.inner.options.clock)();
            bundle.modified_at = now.max(bundle.modified_at);
            session.replace_bundle(&bundle)?;
            Ok(bundle)
        })
    }

    /// Switches a bundle on or off, which is not a structural change: `modifiedAt` stays.
    pub fn set_bundle_enabled(&self, id: BundleId, enabled: bool) -> Result<Bundle, StoreError> {
        self.write(id, NoStore::Refuse, |session| {
            session.switch_bundle(id, enabled, None)
        })
    }

    /// Switches a bundle on that is still what someone was shown ([`Store::whole`]): every record of it, to the byte.
    pub fn enable_as_shown(&self, id: BundleId, shown: BundleDigest) -> Result<Bundle, StoreError> {
        self.write(id, NoStore::Refuse, |session| {
            session.switch_bundle(id, true, Some(shown))
        })
    }

    /// Puts a bundle in the bin, with all that is in it. One that is there stays as it is, with the time it was put there.
    pub fn delete_bundle(&self, id: BundleId) -> Result<Bundle, StoreError> {
        self.write(id, NoStore::Refuse, |session| {
            let mut bundle = session.bundle(id)?;
            let now = (self.inner.options.clock)();
            bundle.soft_deleted_at = bundle.soft_deleted_at.or(Some(now));
            session.replace_bundle(&bundle)?;
            Ok(bundle)
        })
    }

    /// Takes a bundle out of the bin, switched as it was.
    pub fn restore_bundle(&self, id: BundleId) -> Result<Bundle, StoreError> {
        self.write(id, NoStore::Refuse, |session| {
            let mut bundle = session.bundle(id)?;
            if bundle.soft_deleted_at.take().is_none() {
                return Err(StoreError::NotDeleted { slug: bundle.slug });
            }
            session.refuse_taken(&bundle.slug, id)?;
            session.replace_bundle(&bundle)?;
            Ok(bundle)
        })
    }
}

/// A slug with a number behind it; of a long one the end gives way.
fn numbered(slug: &Slug, number: u32) -> Option<Slug> {
    let end = format!("-{number}");
    let room = MAX_RUNES.saturating_sub(end.len());
    let start: String = slug.as_str().chars().take(room).collect();
    Slug::parse(&format!("{start}{end}")).ok()
}

/// Refuses the slugs of Toolcrib's own bundles.
pub(super) fn refuse_own_slug(slug: &Slug) -> Result<(), StoreError> {
    match BundleId::OWN
        .into_iter()
        .find(|(_, own)| *own == slug.as_str())
    {
        Some((_, name)) => Err(StoreError::ReadOnly {
            name: name.to_owned(),
        }),
        None => Ok(()),
    }
}

impl Session<'_> {
    fn switch_bundle(
        &self,
        id: BundleId,
        enabled: bool,
        shown: Option<BundleDigest>,
    ) -> Result<Bundle, StoreError> {
        let mut bundle = self.bundle(id)?;
        if bundle.soft_deleted_at.is_some() {
            return Err(StoreError::BundleDeleted { slug: bundle.slug });
        }
        if let Some(shown) = shown {
            self.refuse_changed(id, shown)?;
        }
        bundle.is_enabled = enabled;
        self.replace_bundle(&bundle)?;
        Ok(bundle)
    }

    /// Refuses a slug that another bundle has.
    pub(super) fn refuse_taken(&self, slug: &Slug, id: BundleId) -> Result<(), StoreError> {
        match self.store.known().holder_of(slug).filter(|by| *by != id) {
            Some(by) => Err(StoreError::SlugTaken {
                slug: slug.clone(),
                by,
            }),
            None => Ok(()),
        }
    }

    /// Whether there is a directory of the bundle without its file.
    fn is_headless(&self, id: BundleId) -> bool {
        let known = self.store.known();
        let shelf = known.shelf(id);
        shelf.is_some_and(|shelf| !shelf.files.contains_key(BUNDLE_FILE) && shelf.is_a_directory())
    }

    /// Whether there is a directory of the bundle with something in it.
    fn has_files(&self, id: BundleId) -> bool {
        let known = self.store.known();
        known.shelf(id).is_some_and(|shelf| !shelf.files.is_empty())
    }

    /// Makes a bundle: its directory appears with its file in it, or not at all.
    fn create_bundle(&self, bundle: &Bundle) -> Result<(), StoreError> {
        let id = bundle.bundle_id;
        let bytes = files::render(bundle)?;
        let content = Content::Bundle(Box::new(bundle.clone()));
        match self.dir.subdir(&id.to_string())? {
            // Empty, or what remained when the bundle's file was set aside.
            Some(shelf) => {
                shelf.create_new(&self.lock, BUNDLE_FILE, &bytes)?;
                self.wrote(&shelf, id, BUNDLE_FILE, content);
            }
            None => {
                let new = self.dir.new_dir(&self.lock)?;
                new.add(BUNDLE_FILE, &bytes)?;
                new.place(&id.to_string())?;
                self.wrote_all(id, [(BUNDLE_FILE.to_owned(), content)].into_iter());
            }
        }
        Ok(())
    }

    /// Writes a bundle that is there.
    fn replace_bundle(&self, bundle: &Bundle) -> Result<(), StoreError> {
        let id = bundle.bundle_id;
        let shelf = self.shelf(id)?;
        let old = match bundle.extra.is_empty() {
            true => None,
            false => shelf.read(BUNDLE_FILE, files::MAX_BYTES as u64)?,
        };
        let bytes = match old {
            Some(old) => rewrite::render(bundle, &old, |field| bundle.extra.contains_key(field))?,
            None => files::render(bundle)?,
        };
        shelf.replace(&self.lock, BUNDLE_FILE, &bytes)?;
        let content = Content::Bundle(Box::new(bundle.clone()));
        self.wrote(&shelf, id, BUNDLE_FILE, content);
        Ok(())
    }
}
