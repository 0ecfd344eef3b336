//! Setting aside what cannot be read.

use std::path::PathBuf;

use super::files::{self, BUNDLE_FILE};
use super::record::Damage;
use super::writing::NoStore;
use super::{Look, Store, StoreError};
use crate::storage::DurableDir;

/// The directory in the home for what was set aside.
const DAMAGED: &str = "damaged";

impl Store {
    /// Moves a file that cannot be read out of the way, into `damaged/` of the home. Returns where it is now.
    ///
    /// It is looked at again first: what has been mended meanwhile stays.
    pub fn set_aside(&self, damage: &Damage) -> Result<PathBuf, StoreError> {
        let refused = |why: &str| StoreError::Invalid(format!("`{}` {why}", damage.file));
        let (directory, name) =
            split(damage).ok_or_else(|| refused("is not a file of the store"))?;
        self.write(damage.bundle, NoStore::Refuse, |session| {
            self.look_now(Some(&session.dir), Look::Thorough)?;
            let found = self.known().damage();
            if !found.iter().any(|found| found.file == damage.file) {
                // Its directory may be what cannot be read now.
                let above = |found: &Damage| damage.file.starts_with(&format!("{}/", found.file));
                return Err(match found.into_iter().find(above) {
                    Some(Damage { file, reason, .. }) => StoreError::Damaged { file, reason },
                    None => refused("is in order now"),
                });
            }
            let from = match directory {
                Some(directory) => session.dir.subdir(directory)?,
                None => Some(session.dir.clone()),
            };
            let from = from.ok_or_else(|| refused("is gone"))?;
            if from.stamp_of(name)?.is_none() {
                let id = damage.bundle;
                return Err(refused(&format!(
                    "is missing, so that there is nothing to set aside; make a bundle of the id {id}, or move its directory away"
                )));
            }
            let to = DurableDir::create(self.inner.home.join(DAMAGED))?;
            let time = (self.inner.options.clock)().strftime("%Y%m%dT%H%M%SZ");
            // Enough of the name to recognise it, and never more than a name may have.
            let short: String = name.chars().rev().take(40).collect();
            let short: String = short.chars().rev().collect();
            let moved = from.move_to(&session.lock, name, &to, &format!("{time}-{short}"))?;
            match directory {
                Some(_) => session.removed(damage.bundle, name),
                None => {
                    let mut known = self.known_mut();
                    known.remove_directory(damage.bundle);
                    known.settle([damage.bundle]);
                }
            }
            Ok(self.inner.home.join(DAMAGED).join(moved))
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
