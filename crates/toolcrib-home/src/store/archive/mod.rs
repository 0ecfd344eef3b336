//! Bundles as files to pass on: [`export`] packs one, [`Archive`] reads one that came from elsewhere, [`Comparison`] says what it would
//! change, run and reach.
//!
//! ```text
//! bundle.json             the bundle, as in the store
//! tools/<derived>.json    each version of each tool, as in the store
//! ```
//!
//! An archive is written by no one knows whom. It is read by a strict reader ([`zip`](self::ZipError)) into memory of bounded size and never
//! unpacked to disk; the names in it mean nothing. A bundle arrives switched off, and marked as imported, which makes every call of its tools ask.
//!
//! The invariant: an archive that is refused leaves nothing behind, and no value of a secret is ever in one that is written.

mod arrival;
mod compare;
mod error;
mod export;
mod tool_reach;
mod zip;

pub use arrival::{Archive, IMPORTED_AT};
pub use compare::{Comparison, FieldChange, ToolChange, ToolComparison, compare};
pub use error::ArchiveError;
pub use export::{contents, export};
pub use tool_reach::{SecretUse, ToolReach};
pub use zip::{
    MAX_ARCHIVE_BYTES, MAX_ENTRIES, MAX_ENTRY_BYTES, MAX_UNPACKED_BYTES, NameFault, ZipError,
};

use crate::spec::manifest::{Bundle, ToolManifest};

/// Fields that say what became of a thing in one home: they are neither taken along nor taken over.
const STATE: [&str; 3] = ["lastCalledAt", "callCount", "availability"];

/// A bundle with all that is in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Contents {
    /// The bundle.
    pub bundle: Bundle,
    /// Its tools, each version, by slug and version.
    pub tools: Vec<ToolManifest>,
}
