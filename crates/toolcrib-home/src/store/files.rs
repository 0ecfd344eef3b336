//! What the files of the store are called and what is in them.

use sha2::{Digest as _, Sha256};

use super::StoreError;
use super::head::{self, Named};
use super::record::{StoredTool, ToolKey};
use crate::model::ids::BundleId;
use crate::model::names::{Slug, Version, hex};
use crate::model::text;
use crate::spec::manifest::{Bundle, MAX_UNKNOWN_FIELDS, ToolManifest, too_many_unknown_fields};

/// The directory in the home.
pub(super) const DIRECTORY: &str = "bundles";

/// The file of a bundle in its directory.
pub(super) const BUNDLE_FILE: &str = "bundle.json";

/// The largest file that is read.
pub(super) const MAX_BYTES: usize = ToolManifest::MAX_BYTES;

/// The problem of a file, and the record it holds, where that can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Flaw {
    pub(super) tool: Option<(Slug, Version)>,
    /// What a bundle is called.
    pub(super) slug: Option<Slug>,
    pub(super) reason: String,
}

impl Flaw {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Flaw {
            tool: None,
            slug: None,
            reason: reason.into(),
        }
    }
}

/// The name of a tool's file. A digest: a slug of 64 characters can be longer than a name may be, and a version can be `...` or `CON`.
pub(super) fn file_name(slug: &Slug, version: &Version) -> String {
    let digest = digest(&[slug.as_str(), version.as_str()]);
    let mut name = hex(&digest[..16]);
    name.push_str(".json");
    name
}

/// Whether a name of a bundle's directory is one that the store reads: other files are someone else's. Hidden files are those of editors.
pub(super) fn is_ours(name: &str) -> bool {
    name.ends_with(".json") && !name.starts_with('.')
}

/// The bundle whose directory has this name. Only the spelling that the store writes counts.
pub(super) fn bundle_of_directory(name: &str) -> Option<BundleId> {
    let is_lower = !name.bytes().any(|b| b.is_ascii_uppercase());
    BundleId::parse(name).ok().filter(|_| is_lower)
}

/// A file that the store writes: pretty JSON and a line feed.
pub(super) fn render(value: &impl serde::Serialize) -> Result<Vec<u8>, StoreError> {
    let mut bytes = serde_json::to_vec_pretty(value)
        .map_err(|e| StoreError::Invalid(format!("this cannot be written as JSON: {e}")))?;
    bytes.push(b'\n');
    refuse_too_large(bytes.len())?;
    Ok(bytes)
}

/// Refuses a file that could not be read again.
pub(super) fn refuse_too_large(bytes: usize) -> Result<(), StoreError> {
    match bytes > MAX_BYTES {
        true => Err(StoreError::Invalid(format!(
            "a record of {bytes} bytes is over the limit of 4 MB"
        ))),
        false => Ok(()),
    }
}

/// Reads a bundle's file, found in the directory of `id`.
pub(super) fn read_bundle(id: BundleId, bytes: &[u8]) -> Result<Bundle, Flaw> {
    let bundle: Bundle = serde_json::from_slice(bytes).map_err(|e| Flaw {
        tool: None,
        slug: said(&String::from_utf8_lossy(bytes), "slug").and_then(|slug| Slug::parse(slug).ok()),
        reason: in_words(&e),
    })?;
    if bundle.extra.len() > MAX_UNKNOWN_FIELDS {
        return Err(Flaw::new(too_many_unknown_fields()));
    }
    if bundle.bundle_id != id {
        return Err(Flaw::new(format!(
            "it is the file of another bundle, {}; it was copied or renamed",
            bundle.bundle_id
        )));
    }
    if let Some(name) = own(id, &bundle.slug) {
        return Err(Flaw::new(format!(
            "`{name}` is a bundle of Toolcrib's own, which has no files here"
        )));
    }
    Ok(bundle)
}

/// Reads a tool's file, found as `name` in the directory of `bundle`.
pub(super) fn read_tool(
    bundle: BundleId,
    name: &str,
    bytes: impl Into<std::sync::Arc<[u8]>> + AsRef<[u8]>,
) -> Result<StoredTool, Flaw> {
    let Named {
        bundle: said,
        slug,
        version,
        head,
    } = head::read(bytes.as_ref()).map_err(|e| Flaw {
        tool: likely_tool(name, bytes.as_ref()),
        slug: None,
        reason: in_words(&e),
    })?;
    let flaw = |reason: String| Flaw {
        tool: Some((slug.clone(), version.clone())),
        slug: None,
        reason,
    };
    if said != bundle {
        return Err(flaw(format!(
            "it says that it is in the bundle {said}; it was copied or moved here"
        )));
    }
    if name != file_name(&slug, &version) {
        return Err(flaw(format!(
            "its name is not that of `{slug}@{version}`; it was copied or renamed"
        )));
    }
    Ok(StoredTool {
        key: ToolKey {
            bundle,
            slug,
            version,
        },
        head,
        bytes: bytes.into(),
    })
}

/// Whose record a damaged file is, by what it still says; the file's name, which is a digest of it, has to agree.
fn likely_tool(name: &str, bytes: &[u8]) -> Option<(Slug, Version)> {
    let text = String::from_utf8_lossy(bytes);
    let slug = Slug::parse(said(&text, "slug")?).ok()?;
    let version = Version::parse(said(&text, "version")?).ok()?;
    (file_name(&slug, &version) == name).then_some((slug, version))
}

/// The text of a field, in what need not be JSON.
fn said<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let (_, after) = text.split_once(&format!("\"{key}\""))?;
    let value = after.trim_start().strip_prefix(':')?.trim_start();
    let (value, _) = value.strip_prefix('"')?.split_once('"')?;
    Some(value)
}

/// The name of the bundle of Toolcrib's own that has the id or the slug.
pub(super) fn own(id: BundleId, slug: &Slug) -> Option<&'static str> {
    BundleId::OWN
        .into_iter()
        .find(|(own, name)| *own == id || *name == slug.as_str())
        .map(|(_, name)| name)
}

/// Refuses an id of Toolcrib's own.
pub(super) fn refuse_own(id: BundleId) -> Result<(), StoreError> {
    match BundleId::OWN.into_iter().find(|(own, _)| *own == id) {
        Some((_, name)) => Err(StoreError::ReadOnly {
            name: name.to_owned(),
        }),
        None => Ok(()),
    }
}

/// What serde says, with the place first: `line 3, column 7: …`.
pub(super) fn in_words(error: &serde_json::Error) -> String {
    let said = error.to_string();
    let (line, column) = (error.line(), error.column());
    let what = said
        .strip_suffix(&format!(" at line {line} column {column}"))
        .unwrap_or(&said);
    let what = text::shorten(what, 300);
    if line == 0 {
        what
    } else {
        format!("line {line}, column {column}: {what}")
    }
}

fn digest(parts: &[&str]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            hasher.update([0]);
        }
        hasher.update(part.as_bytes());
    }
    hasher.finalize().into()
}
