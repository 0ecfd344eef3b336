//! Why a bundle cannot be packed, or an archive not be read: [`ArchiveError`].

use super::zip::ZipError;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::ids::{BundleId, ToolId};
use crate::model::names::{Slug, Version};
use crate::secret::{SecretError, SecretName};
use crate::store::StoreError;

/// Why a bundle cannot be packed, or an archive not be read. Texts of an archive are in it only where they are safe to show.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The archive itself.
    #[error("the archive is refused: {0}; have it exported again with `toolcrib bundle export`")]
    Zip(#[from] ZipError),
    /// There is no `bundle.json`.
    #[error(
        "the archive is refused: it has no `bundle.json`; have it made with `toolcrib bundle export`"
    )]
    NoBundle,
    /// An entry is not what it has to be.
    #[error("the archive is refused: `{entry}` cannot be read: {reason}")]
    Entry {
        /// The entry.
        entry: String,
        /// The problem.
        reason: String,
    },
    /// An entry has more values in it than any definition.
    #[error(
        "the archive is refused: `{entry}` holds more values than a definition has, or all together do"
    )]
    TooDense {
        /// The entry.
        entry: String,
    },
    /// A tool of another bundle.
    #[error(
        "the archive is refused: `{entry}` is a tool of the bundle {found}, and `bundle.json` is {expected}"
    )]
    OtherBundle {
        /// The entry.
        entry: String,
        /// Whose tool it is.
        found: BundleId,
        /// Whose it has to be.
        expected: BundleId,
    },
    /// One version of one tool, twice.
    #[error(
        "the archive is refused: `{slug}@{version}` is in it twice, as `{first}` and `{second}`"
    )]
    TwoVersions {
        /// The tool.
        slug: Slug,
        /// The version.
        version: Version,
        /// The first entry.
        first: String,
        /// The second entry.
        second: String,
    },
    /// One id, twice.
    #[error("the archive is refused: the tool id {id} is in it twice, in `{first}` and `{second}`")]
    TwoIds {
        /// The id.
        id: ToolId,
        /// The first entry.
        first: String,
        /// The second entry.
        second: String,
    },
    /// The bundle cannot be packed.
    #[error("the bundle `{slug}` cannot be exported: {reason}")]
    Unpackable {
        /// The bundle.
        slug: Slug,
        /// Why not.
        reason: ZipError,
    },
    /// A secret's value is in a definition.
    #[error("{}", leak(place, secrets))]
    Secret {
        /// The tool, `slug@version`; `bundle.json` for the bundle itself.
        place: String,
        /// Whose values stand there; none if it is a token that a server gave.
        secrets: Vec<SecretName>,
    },
    /// The secrets cannot be read, so that no one can say whether one is in a definition.
    #[error("the bundle cannot be searched for secrets: {0}")]
    Secrets(#[from] SecretError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn leak(place: &str, secrets: &[SecretName]) -> String {
    let names: Vec<String> = secrets.iter().map(|name| format!("`{name}`")).collect();
    let (value, placeholder) = match secrets {
        [] => (
            "a token that a server gave".to_owned(),
            "${NAME}".to_owned(),
        ),
        [first, ..] => (
            format!("the value of the secret {}", names.join(", ")),
            format!("${{{first}}}"),
        ),
    };
    format!(
        "nothing is exported: {value} is in `{place}`; write `{placeholder}` there (`toolcrib edit`) and export again"
    )
}

impl From<ArchiveError> for ToolError {
    fn from(error: ArchiveError) -> Self {
        let message = error.to_string();
        match error {
            ArchiveError::Store(error) => error.into(),
            ArchiveError::Secrets(_) => ToolError::new(ErrorCode::StorageError, message),
            ArchiveError::Secret { .. } | ArchiveError::Unpackable { .. } => {
                ToolError::new(ErrorCode::Conflict, message)
            }
            ArchiveError::Zip(_)
            | ArchiveError::NoBundle
            | ArchiveError::Entry { .. }
            | ArchiveError::TooDense { .. }
            | ArchiveError::OtherBundle { .. }
            | ArchiveError::TwoVersions { .. }
            | ArchiveError::TwoIds { .. } => ToolError::new(ErrorCode::InvalidArguments, message),
        }
    }
}
