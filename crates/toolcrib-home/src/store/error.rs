//! Why a store refuses: [`StoreError`].

use crate::model::error::{ErrorCode, ToolError};
use crate::model::ids::{BundleId, ToolId};
use crate::model::names::{Slug, Version};
use crate::storage::StorageError;

/// Why something could not be read from the store or written to it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no such bundle.
    #[error("bundle not found: {id}; `toolcrib bundle list --all` lists those there are")]
    BundleNotFound {
        /// The id that was asked for.
        id: BundleId,
    },
    /// There is no such version of a tool.
    #[error("tool not found: `{slug}@{version}` is not in the bundle `{bundle}`")]
    ToolNotFound {
        /// The bundle's slug.
        bundle: Slug,
        /// The tool.
        slug: Slug,
        /// The version.
        version: Version,
    },
    /// Another bundle has the slug.
    #[error("another bundle is named `{slug}`: {by}")]
    SlugTaken {
        /// The slug.
        slug: Slug,
        /// Its owner.
        by: BundleId,
    },
    /// The version is there already.
    #[error(
        "`{bundle}/{slug}@{version}` exists already, and is left as it is; save it as another version"
    )]
    VersionTaken {
        /// The bundle's slug.
        bundle: Slug,
        /// The tool.
        slug: Slug,
        /// The version.
        version: Version,
    },
    /// Another tool has the id.
    #[error("another tool has the id {id}")]
    IdTaken {
        /// The id.
        id: ToolId,
    },
    /// A bundle of that id is there already.
    #[error("the bundle `{slug}` ({id}) is there already")]
    BundleTaken {
        /// Its id.
        id: BundleId,
        /// Its slug.
        slug: Slug,
    },
    /// The bundle is switched off, and nothing in it can be changed.
    #[error(
        "the bundle `{slug}` is off, and nothing in it can be changed: `toolcrib bundle enable {slug}` switches it on"
    )]
    BundleOff {
        /// The bundle's slug.
        slug: Slug,
    },
    /// The bundle is in the bin, and nothing in it can be changed.
    #[error("the bundle `{slug}` is in the bin: `toolcrib bundle restore {slug}` takes it out")]
    BundleDeleted {
        /// The bundle's slug.
        slug: Slug,
    },
    /// The bundle is not in the bin.
    #[error("the bundle `{slug}` is not in the bin")]
    NotDeleted {
        /// The bundle's slug.
        slug: Slug,
    },
    /// A bundle of the product's own has the id or the slug.
    #[error("`{name}` is a bundle of Toolcrib's own")]
    ReadOnly {
        /// Its name.
        name: String,
    },
    /// What was to be changed is not what it was.
    #[error("`{bundle}/{slug}@{version}` was changed meanwhile; look at it again")]
    Changed {
        /// The bundle's slug.
        bundle: Slug,
        /// The tool.
        slug: Slug,
        /// The version.
        version: Version,
    },
    /// A bundle is not what someone was shown.
    #[error("the bundle `{slug}` changed while you looked; look at it again")]
    BundleChanged {
        /// The bundle's slug.
        slug: Slug,
    },
    /// Changes are reported to the registry of the crib that the store is part of.
    #[error("only the registry of a crib receives changes in its store; ask the registry")]
    Followed,
    /// There are as many tools as there may be.
    #[error("there are {limit} tools already, as many as `limits.maxTools` allows")]
    Full {
        /// How many there may be.
        limit: usize,
    },
    /// The record is damaged.
    #[error("`{file}` is damaged ({reason}); `toolcrib doctor --fix` sets it aside")]
    Damaged {
        /// The file, relative to the home.
        file: String,
        /// The problem.
        reason: String,
    },
    /// What was given cannot be kept.
    #[error("{0}")]
    Invalid(String),
    /// The disk.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl From<StoreError> for ToolError {
    fn from(error: StoreError) -> Self {
        let error = match error {
            StoreError::Storage(error) => return error.into(),
            other => other,
        };
        let code = match &error {
            StoreError::BundleNotFound { .. } => ErrorCode::BundleNotFound,
            StoreError::ToolNotFound { .. } => ErrorCode::ToolNotFound,
            StoreError::SlugTaken { .. }
            | StoreError::VersionTaken { .. }
            | StoreError::IdTaken { .. }
            | StoreError::BundleTaken { .. }
            | StoreError::BundleOff { .. }
            | StoreError::BundleDeleted { .. }
            | StoreError::NotDeleted { .. }
            | StoreError::Changed { .. }
            | StoreError::BundleChanged { .. }
            | StoreError::Followed
            | StoreError::Full { .. } => ErrorCode::Conflict,
            StoreError::ReadOnly { .. } => ErrorCode::ReadOnly,
            StoreError::Invalid(_) => ErrorCode::InvalidArguments,
            StoreError::Damaged { .. } | StoreError::Storage(_) => ErrorCode::StorageError,
        };
        ToolError::new(code, error.to_string()).caused_by(error)
    }
}
