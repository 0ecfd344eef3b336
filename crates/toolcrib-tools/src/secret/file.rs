//! One secret as one file: how it is named, what it holds, and who may read it.
//!
//! The file's name is made from a digest of the secret's name: no name is too long, too odd or, in another case, the same.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::binding::Binding;
use super::error::SecretError;
use crate::model::JsonObject;
use crate::model::digest::Digester;
use crate::model::ids::BundleId;
use crate::model::mask::MIN_BYTES;
use crate::model::names::Slug;
use crate::model::secret::Secret;
use crate::model::secret::SecretName;

/// The longest value.
pub(super) const MAX_BYTES: usize = 64 * 1024;
/// The longest file: a value of which every byte is escaped, and what is around it.
pub(super) const MAX_FILE_BYTES: u64 = 8 * MAX_BYTES as u64;

/// A secret as it is kept.
#[derive(Debug, Clone)]
pub(super) struct Stored {
    pub(super) name: SecretName,
    pub(super) value: Secret,
    pub(super) binding: Binding,
    pub(super) created_at: Timestamp,
    pub(super) modified_at: Timestamp,
    /// What a later version of Toolcrib wrote besides.
    pub(super) unknown: JsonObject,
}

/// The file's content.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Content {
    name: String,
    value: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    hosts: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    bundles: Vec<String>,
    /// Of those that are of the store, by slug.
    #[serde(
        default,
        rename = "bundleIDs",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    bundle_ids: BTreeMap<Slug, BundleId>,
    created_at: Timestamp,
    modified_at: Timestamp,
    #[serde(flatten)]
    unknown: serde_json::Map<String, Value>,
}

/// The file of a secret.
pub(super) fn file_name(name: &SecretName) -> String {
    let digest = Digester::default().text(name.as_str()).finish();
    format!("{}.json", &digest[..32])
}

/// Whether a file may be one of ours by its name.
pub(super) fn is_file_name(file: &str) -> bool {
    file.strip_suffix(".json")
        .is_some_and(|stem| stem.len() == 32 && stem.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Reads a file; the error says what is wrong with it, without a word of its content.
pub(super) fn parse(file: &str, bytes: &[u8]) -> Result<Stored, String> {
    let content: Content = serde_json::from_slice(bytes).map_err(|error| {
        // The parser's own words may quote the value.
        format!(
            "it is damaged at line {}, column {}",
            error.line(),
            error.column()
        )
    })?;
    let value = Secret::new(content.value);
    let name = SecretName::parse(&content.name)?;
    if file_name(&name) != file {
        return Err(format!("it says to be `{name}` and is not named like it"));
    }
    check_value(&value).map_err(|error| error.to_string())?;
    let bundles = content.bundles.iter().map(|bundle| Slug::parse(bundle));
    let bundles: Vec<Slug> = bundles
        .collect::<Result<_, _>>()
        .map_err(|error| error.to_string())?;
    let binding = Binding::new(content.hosts.iter().map(String::as_str), bundles)
        .map_err(|error| error.to_string())?
        .with_ids(content.bundle_ids);
    Ok(Stored {
        name,
        value,
        binding,
        created_at: content.created_at,
        modified_at: content.modified_at,
        unknown: content.unknown,
    })
}

/// The bytes of a file.
pub(super) fn render(stored: &Stored) -> Result<Vec<u8>, SecretError> {
    let content = Content {
        name: stored.name.to_string(),
        value: stored.value.expose().to_owned(),
        hosts: stored.binding.hosts().to_vec(),
        bundles: stored
            .binding
            .bundles()
            .iter()
            .map(ToString::to_string)
            .collect(),
        bundle_ids: stored.binding.ids().clone(),
        created_at: stored.created_at,
        modified_at: stored.modified_at,
        unknown: stored.unknown.clone(),
    };
    let bytes = serde_json::to_vec_pretty(&content);
    // Shortens how long the copy sits in freed memory.
    drop(Secret::new(content.value));
    bytes.map_err(|error| SecretError::Invalid(error.to_string()))
}

/// Refuses what cannot be a value.
pub(super) fn check_value(value: &Secret) -> Result<(), SecretError> {
    let text = value.expose();
    let why = if text.contains('\0') {
        "it has a NUL in it, which no header, URL or program can take".to_owned()
    } else if text.trim().len() < MIN_BYTES {
        format!(
            "it has fewer than {MIN_BYTES} bytes; something that short is in every text, and could not be masked without masking everything"
        )
    } else if text.len() > MAX_BYTES {
        format!("it has {} bytes; the limit is {MAX_BYTES}", text.len())
    } else {
        return Ok(());
    };
    Err(SecretError::Invalid(format!(
        "the value cannot be kept: {why}"
    )))
}

/// Why a file or directory with this metadata holds no secret: it is another user's, or others have rights on it.
pub(super) fn exposure(metadata: &std::fs::Metadata) -> Option<String> {
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Some("it belongs to another user".to_owned());
    }
    let mode = metadata.mode() & 0o7777;
    (mode & 0o077 != 0).then(|| format!("others may use it (mode {mode:04o})"))
}
