//! What can be shown of a secret: [`SecretRow`], which never has its value.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::ids::BundleId;
use crate::model::names::Slug;
use crate::secret::SecretEntry;

/// A secret without its value.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretRow {
    /// Its name.
    pub name: String,
    /// The last four digits of the value's SHA-256: enough to tell two values apart, too little to find one.
    pub hash: String,
    /// The hosts that may receive it; none: any host of `allowedHosts`.
    pub hosts: Vec<String>,
    /// The bundles whose tools may use it; none: any.
    #[schemars(with = "Vec<String>")]
    pub bundles: Vec<Slug>,
    /// When there was first a secret of this name.
    #[schemars(with = "String")]
    pub created_at: Timestamp,
    /// When its value or binding was set.
    #[schemars(with = "String")]
    pub modified_at: Timestamp,
    /// The ids of those bundles that are in the store: these are meant, not later bundles with their slugs.
    #[serde(
        rename = "bundleIDs",
        default,
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    #[schemars(with = "Option<BTreeMap<String, String>>")]
    pub bundle_ids: BTreeMap<Slug, BundleId>,
}

impl From<&SecretEntry> for SecretRow {
    fn from(entry: &SecretEntry) -> Self {
        SecretRow {
            name: entry.name.as_str().to_owned(),
            hash: entry.fingerprint.clone(),
            hosts: entry.binding.hosts().to_vec(),
            bundles: entry.binding.bundles().to_vec(),
            created_at: entry.created_at,
            modified_at: entry.modified_at,
            bundle_ids: entry.binding.ids().clone(),
        }
    }
}
