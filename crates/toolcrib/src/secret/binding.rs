//! Whom a secret may be told.

use super::error::SecretError;
use super::name::SecretName;
use crate::egress::{AllowedHosts, Target};
use crate::model::names::Slug;

/// Whom a secret may be told. No hosts means any host that `allowedHosts` names, no bundles any bundle.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Binding {
    entries: Vec<String>,
    hosts: AllowedHosts,
    bundles: Vec<Slug>,
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
        })
    }

    /// The hosts, as they were written; empty for any.
    pub fn hosts(&self) -> &[String] {
        &self.entries
    }

    /// The bundles; empty for any.
    pub fn bundles(&self) -> &[Slug] {
        &self.bundles
    }

    /// Refuses whom it is not for; the error says how to bind anew.
    pub(super) fn check(
        &self,
        name: &SecretName,
        bundle: &Slug,
        target: &Target,
    ) -> Result<(), SecretError> {
        let anew = "with everything else it is for";
        if !self.bundles.is_empty() && !self.bundles.contains(bundle) {
            let bundles: Vec<&str> = self.bundles.iter().map(Slug::as_str).collect();
            return Err(SecretError::NotBound(format!(
                "the secret `{name}` is for tools of {}, not of `{bundle}`; `toolcrib secret set {name} --bundle {bundle}`, {anew}, binds it anew",
                in_words(&bundles),
            )));
        }
        if !self.entries.is_empty() && !self.hosts.contains(target) {
            let hosts: Vec<&str> = self.entries.iter().map(String::as_str).collect();
            let host = target.entry();
            return Err(SecretError::NotBound(format!(
                "the secret `{name}` is for {}, not for `{host}`; `toolcrib secret set {name} --host {host}`, {anew}, binds it anew",
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
