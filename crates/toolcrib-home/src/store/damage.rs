//! Setting aside what cannot be read.

use std::path::PathBuf;

use super::files::{self, BUNDLE_FILE};
use super::record::Damage;
use super::scan::How;
use super::writing::NoStore;
use super::{Look, Store, StoreError};
use crate::model::ids::BundleId;
use crate::model::names::{Slug, Version};
use crate::storage::{self, DurableDir};

/// How many versions a damaged record may be of when no one says which.
const GUESSES: u32 = 20;

/// More files that are not the store's are not looked for.
const MAX_FOREIGN: usize = 1000;

impl Store {
    /// Moves a file that cannot be read out of the way, into `damaged/` of the home. Returns where it is now.
    ///
    /// It is looked at again first: what has been mended meanwhile stays.
    pub fn set_aside(&self, damage: &Damage) -> Result<PathBuf, StoreError> {
        let refused = |why: &str| StoreError::Invalid(format!("`{}` {why}", damage.file));
        let (directory, name) =
            split(damage).ok_or_else(|| refused("is not a file of the store"))?;
        self.write(damage.bundle, NoStore::Refuse, |session| {
            let from = match directory {
                Some(directory) => session.dir.subdir(directory)?,
                None => Some(session.dir.clone()),
            };
            let from = from.ok_or_else(|| refused("is gone"))?;
            if directory.is_some() {
                session.refresh(&from, damage.bundle, name)?;
            }
            if !self.known().is_flawed(damage.bundle, name) {
                // Unless another file is to blame.
                self.look_now(Some(&session.dir), &How::new(Look::Thorough))?;
                let found = self.known().damage();
                if !found.iter().any(|found| found.file == damage.file) {
                    // Its directory may be what cannot be read now.
                    let above =
                        |found: &Damage| damage.file.starts_with(&format!("{}/", found.file));
                    return Err(match found.into_iter().find(above) {
                        Some(Damage { file, reason, .. }) => StoreError::Damaged { file, reason },
                        None => refused("is fine now"),
                    });
                }
            }
            if from.stamp_of(name)?.is_none() {
                return Err(refused(
                    "is missing, so there is nothing to set aside; `toolcrib doctor --fix` creates it again",
                ));
            }
            let now = (self.inner.options.clock)();
            let moved = storage::set_aside(&self.inner.home, &from, &session.lock, name, now)?;
            match directory {
                Some(_) => session.removed(&from, damage.bundle, name),
                None => {
                    let mut known = self.known_mut();
                    known.remove_directory(damage.bundle);
                    known.settle([damage.bundle]);
                }
            }
            Ok(moved)
        })
    }
}

impl Store {
    /// Foreign entries in the directories of the store, relative to the home. No one reads or removes it.
    pub(crate) fn foreign_files(&self) -> Result<Vec<String>, StoreError> {
        let mut found = Vec::new();
        let Some(dir) = DurableDir::open(&self.inner.directory)? else {
            return Ok(found);
        };
        let mut shelves = Vec::new();
        let mut note = |place: &str, name: &[u8], is_known: &dyn Fn(&str) -> bool| {
            let name = String::from_utf8_lossy(name);
            if !is_known(&name) && !storage::is_leftover(&name) && found.len() < MAX_FOREIGN {
                found.push(format!("{place}/{name}"));
            }
        };
        dir.visit_entries(|name, _| {
            let id = std::str::from_utf8(name).ok();
            match id.and_then(files::bundle_of_directory) {
                Some(id) => shelves.push(id),
                None => note(files::DIRECTORY, name, &|name| name == ".lock"),
            }
        })?;
        for id in shelves {
            let place = format!("{}/{id}", files::DIRECTORY);
            if let Ok(Some(shelf)) = dir.subdir(&id.to_string()) {
                shelf.visit_entries(|name, _| note(&place, name, &files::is_ours))?;
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    /// The damaged record of a tool, as of the last look: by what can still be read of it, or by the name of its file. Without a version
    /// only `v1` and what follows it are known by name.
    pub(crate) fn damage_of(
        &self,
        bundle: Option<BundleId>,
        slug: &Slug,
        version: Option<&Version>,
    ) -> Option<Damage> {
        let damage = self.damage();
        if damage.is_empty() {
            return None;
        }
        let names: Vec<String> = match version {
            Some(version) => vec![files::file_name(slug, version)],
            None => (1..=GUESSES)
                .filter_map(|number| Version::parse(&format!("v{number}")).ok())
                .map(|version| files::file_name(slug, &version))
                .collect(),
        };
        damage.into_iter().find(|damage| {
            let is_told = damage.tool.as_ref().is_some_and(|(told, of)| {
                told == slug && version.is_none_or(|version| version == of)
            });
            let name = damage.file.rsplit('/').next().unwrap_or_default();
            bundle.is_none_or(|bundle| bundle == damage.bundle)
                && (is_told || names.iter().any(|known| known == name))
        })
    }
}

/// The directory in `bundles/` and the name of a damaged file; no directory, where the bundle's directory is meant itself.
fn split(damage: &Damage) -> Option<(Option<&str>, &str)> {
    let rest = damage
        .file
        .strip_prefix(files::DIRECTORY)?
        .strip_prefix('/')?;
    match rest.split_once('/') {
        None => (files::bundle_of_directory(rest)? == damage.bundle).then_some((None, rest)),
        Some((directory, name)) => {
            let is_plain = name == BUNDLE_FILE || files::is_ours(name);
            let is_there = files::bundle_of_directory(directory)? == damage.bundle;
            (is_plain && is_there && !name.contains('/')).then_some((Some(directory), name))
        }
    }
}
