//! Packing a bundle: [`export`].

use serde::Serialize;

use super::error::ArchiveError;
use super::zip::{EntryName, Packer};
use super::{Contents, IMPORTED_AT, STATE};
use crate::model::JsonObject;
use crate::model::ids::BundleId;
use crate::secret::SecretStore;
use crate::spec::manifest::{Bundle, ToolManifest};
use crate::store::{Store, StoreError, files};

/// A bundle of the store as a ZIP archive; the same content gives the same bytes. Refused if a secret's value is in it in any form that is
/// masked elsewhere, or if a record of it is damaged: nothing is left out without a word.
pub fn export(
    store: &Store,
    bundle: BundleId,
    secrets: &SecretStore,
) -> Result<Vec<u8>, ArchiveError> {
    let Contents { bundle, tools } = contents(store, bundle)?;
    // What cannot be read cannot be looked for.
    secrets.list()?;
    let unpackable = |reason| ArchiveError::Unpackable {
        slug: bundle.slug.clone(),
        reason,
    };
    let mut packer = Packer::default();
    let clean = without_state(bundle.clone());
    keep_secrets(&clean, "bundle.json", secrets)?;
    packer
        .add(&EntryName::bundle(), &json(&clean))
        .map_err(unpackable)?;
    let mut files: Vec<(EntryName, ToolManifest)> = tools
        .into_iter()
        .map(|tool| {
            (
                EntryName::tool(&files::file_name(&tool.slug, &tool.version)),
                tool,
            )
        })
        .collect();
    files.sort_by(|(one, _), (other, _)| one.as_str().cmp(other.as_str()));
    for (name, mut tool) in files {
        forget(&mut tool.extra);
        let place = format!("{}@{}", tool.slug, tool.version);
        keep_secrets(&tool, &place, secrets)?;
        packer.add(&name, &json(&tool)).map_err(unpackable)?;
    }
    packer.finish().map_err(unpackable)
}

/// A bundle of the store with all that is in it. Refused where a record is damaged.
pub fn contents(store: &Store, id: BundleId) -> Result<Contents, ArchiveError> {
    if let Some((_, slug)) = BundleId::OWN.iter().find(|(own, _)| *own == id) {
        let name = (*slug).to_owned();
        return Err(StoreError::ReadOnly { name }.into());
    }
    let stored = store.bundle(id)?;
    let damage = store.damage();
    if let Some(damaged) = damage.into_iter().find(|damage| damage.bundle == id) {
        let (file, reason) = (damaged.file, damaged.reason);
        return Err(StoreError::Damaged { file, reason }.into());
    }
    let mut tools = Vec::new();
    for tool in store.tools(id) {
        let manifest = tool.manifest().map_err(|error| ArchiveError::Entry {
            entry: format!("{}@{}", tool.key.slug, tool.key.version),
            reason: error.to_string(),
        })?;
        tools.push(manifest);
    }
    tools.sort_by(|one, other| (&one.slug, &one.version).cmp(&(&other.slug, &other.version)));
    Ok(Contents {
        bundle: stored.bundle.clone(),
        tools,
    })
}

fn without_state(mut bundle: Bundle) -> Bundle {
    bundle.soft_deleted_at = None;
    bundle.extra.remove(IMPORTED_AT);
    forget(&mut bundle.extra);
    bundle
}

fn forget(extra: &mut JsonObject) {
    for field in STATE {
        extra.remove(field);
    }
}

fn keep_secrets(
    content: &impl Serialize,
    place: &str,
    secrets: &SecretStore,
) -> Result<(), ArchiveError> {
    let masker = secrets.masker();
    if masker.is_empty() {
        return Ok(());
    }
    let value = serde_json::to_value(content).unwrap_or_default();
    // As values, and as the text that they are written as: a value may stand across two of them.
    let text = String::from_utf8_lossy(&json(content)).into_owned();
    if masker.finds_in(&value) || masker.finds(&text) {
        return Err(ArchiveError::Secret {
            place: place.to_owned(),
            secrets: secrets.names_in(&value, &text)?,
        });
    }
    Ok(())
}

/// JSON as the store writes it.
pub(super) fn json(content: &impl Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(content).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}
