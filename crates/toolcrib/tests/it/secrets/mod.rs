//! Secrets: kept, bound, masked.

mod calls;
mod masks;
mod questions;
mod store;

use tempfile::TempDir;
use toolcrib::Secret;
use toolcrib::secret::{Binding, SecretName, SecretStore};

pub(crate) const SENTINEL: &str = "SENTINEL-7f3a/\"é\"+x";

pub(crate) fn name(text: &str) -> SecretName {
    SecretName::parse(text).unwrap()
}

/// A store with the sentinel in it.
pub(crate) fn store(home: &TempDir) -> SecretStore {
    let store = SecretStore::at(home.path().join("secrets"));
    let value = Secret::new(SENTINEL);
    store
        .set(&name("KEY"), &value, &Binding::default())
        .unwrap();
    store
}
