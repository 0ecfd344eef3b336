//! Where secrets are kept: one file each beneath the home, mode 0600, written like everything that must not be lost.

use std::path::PathBuf;

use super::mask::Masker;
use crate::egress::{AllowedHosts, Target};
use crate::model::names::Slug;
use crate::model::secret::Secret;

/// The name of a secret: `[A-Za-z_][A-Za-z0-9_]{0,63}`, and none of the built-in variables.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretName(String);

impl SecretName {
    /// Reads a name; the error says what a name may be.
    pub fn parse(_text: &str) -> Result<Self, String> {
        unimplemented!()
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whom a secret may be told. An empty list means any host that `allowedHosts` names, or any bundle.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Binding {
    /// The hosts.
    pub hosts: AllowedHosts,
    /// The bundles whose tools may use it.
    pub bundles: Vec<Slug>,
}

/// What can be shown of a secret.
#[derive(Debug, Clone)]
pub struct SecretEntry {
    /// Its name.
    pub name: SecretName,
    /// Whom it may be told.
    pub binding: Binding,
}

/// Why a secret cannot be had or kept.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// There is none of this name.
    #[error("there is no secret `{0}`; `toolcrib secret set {0}` asks for its value")]
    Missing(String),
    /// It may not be told this host, or used by this bundle.
    #[error("{0}")]
    NotBound(String),
    /// It cannot be kept as it is.
    #[error("{0}")]
    Invalid(String),
    /// The file cannot be read or written.
    #[error("{0}")]
    Storage(String),
}

/// The secrets of a home. Cheap to clone; looks at the files when asked.
#[derive(Debug, Clone)]
pub struct SecretStore {
    _directory: PathBuf,
}

impl SecretStore {
    /// The store in this directory; nothing is made until something is kept.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        SecretStore {
            _directory: directory.into(),
        }
    }

    /// Keeps a secret, in the place of one with the same name.
    pub fn set(
        &self,
        _name: &SecretName,
        _value: &Secret,
        _binding: &Binding,
    ) -> Result<(), SecretError> {
        unimplemented!()
    }

    /// What there is, by name.
    pub fn list(&self) -> Result<Vec<SecretEntry>, SecretError> {
        unimplemented!()
    }

    /// Removes a secret.
    pub fn remove(&self, _name: &SecretName) -> Result<(), SecretError> {
        unimplemented!()
    }

    /// The value, for a request of a tool of this bundle to this target.
    pub fn reveal(
        &self,
        _name: &SecretName,
        _bundle: &Slug,
        _target: &Target,
    ) -> Result<Secret, SecretError> {
        unimplemented!()
    }

    /// What takes all secrets of this store out of a text, as of now; kept until a file changes.
    pub fn masker(&self) -> Masker {
        unimplemented!()
    }
}
