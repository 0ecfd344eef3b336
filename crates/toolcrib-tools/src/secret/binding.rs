//! The permitted recipients of a secret.

use std::collections::BTreeMap;

use super::error::SecretError;
use crate::egress::{AllowedHosts, Target};
use crate::model::ids::BundleId;
use crate::model::names::Slug;
use crate::model::secret::SecretName;

/// Whose tool wants a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asker {
    /// The slug of its bundle.
    pub bundle: Slug,
    /// The id of its bundle, if that is one of the store.
    pub id: Option<BundleId>,
    /// Whether that came from elsewhere.
    pub is_imported: bool,
}

/// A tool of a bundle that is not of the store: the program's own, or a file's.
impl From<&Slug> for Asker {
    fn from(bundle: &Slug) -> Self {
        Asker {
            bundle: bundle.clone(),
            id: None,
            is_imported: false,
        }
    }
}

impl From<&Asker> for Asker {
    fn from(asker: &Asker) -> Self {
        asker.clone()
    }
}

/// The permitted recipients of a secret. No hosts means any host that `allowedHosts` names, no bundles any bundle.
///
/// A bundle of the store is meant by its id, where that is known: another one that takes its slug later is another bundle. A slug without an id
/// stands for a bundle of the user's own, never for one that was imported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Binding {
    entries: Vec<String>,
    hosts: AllowedHosts,
    bundles: Vec<Slug>,
    ids: BTreeMap<Slug, BundleId>,
}

impl Binding {
    /// Binds to these hosts, written as in `allowedHosts`, and to the tools of these bundles.
    pub fn new<'a>(
        hosts: impl IntoIterator<Item = &'a str>,
        bundles: impl IntoIterator<Item = Slug>,
    ) -> Result<Self, SecretError> {
        let mut entries: Vec<String> = hosts.into_iter().map(str::to_owned).collect();
        let mut bundles: Vec<Slug> = bundles.into_iter().collect();
        entries.sort();
        entries.dedup();
        bundles.sort_by(|a, b| a.as_str().cmp(b.as_str()));
        bundles.dedup();
        let hosts = if entries.is_empty() {
            AllowedHosts::default()
        } else {
            AllowedHosts::parse(entries.iter().map(String::as_str)).map_err(SecretError::Invalid)?
        };
        Ok(Binding {
            entries,
            hosts,
            bundles,
            ids: BTreeMap::new(),
        })
    }

    /// Adds the ids of those of its bundles that are in the store.
    #[must_use]
    pub fn with_ids(mut self, ids: impl IntoIterator<Item = (Slug, BundleId)>) -> Self {
        let known = |(slug, _): &(Slug, BundleId)| self.bundles.contains(slug);
        self.ids = ids.into_iter().filter(known).collect();
        self
    }

    /// The ids of those of its bundles that are of the store, by the slugs they had when it was made.
    pub fn ids(&self) -> &BTreeMap<Slug, BundleId> {
        &self.ids
    }

    /// Whether it is for tools of this bundle.
    pub fn is_for(&self, asker: &Asker) -> bool {
        if self.bundles.is_empty() {
            return true;
        }
        let by_slug = self.bundles.contains(&asker.bundle);
        match asker.id {
            None => by_slug,
            Some(id) => {
                let is_unsaid = !self.ids.contains_key(&asker.bundle);
                let by_id = self.ids.values().any(|bound| *bound == id);
                by_id || (by_slug && is_unsaid && !asker.is_imported)
            }
        }
    }

    /// The hosts, as they were written; empty for any.
    pub fn hosts(&self) -> &[String] {
        &self.entries
    }

    /// The bundles; empty for any.
    pub fn bundles(&self) -> &[Slug] {
        &self.bundles
    }

    /// Refuses other recipients; the error says how to change the binding.
    pub(super) fn check(
        &self,
        name: &SecretName,
        asker: &Asker,
        target: &Target,
    ) -> Result<(), SecretError> {
        let rest = "with everything else it is for";
        if !self.is_for(asker) {
            let bundle = &asker.bundle;
            let bundles: Vec<&str> = self.bundles.iter().map(Slug::as_str).collect();
            let this = match self.bundles.contains(bundle) {
                true => " that is here now, which is another one",
                false => "",
            };
            return Err(SecretError::NotBound(format!(
                "the secret `{name}` is for tools of {}, not of `{bundle}`{this}; `toolcrib secret set {name} --bundle {bundle}`, {rest}, changes that",
                in_words(&bundles),
            )));
        }
        if !self.entries.is_empty() && !self.hosts.contains(target) {
            let hosts: Vec<&str> = self.entries.iter().map(String::as_str).collect();
            let host = target.entry();
            return Err(SecretError::NotBound(format!(
                "the secret `{name}` is for {}, not for `{host}`; `toolcrib secret set {name} --host {host}`, {rest}, changes that",
                in_words(&hosts),
            )));
        }
        Ok(())
    }
}

fn in_words(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}
