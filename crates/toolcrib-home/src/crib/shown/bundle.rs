//! A bundle as lists show it: [`BundleRow`].

use std::borrow::Cow;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::crib::{BundleKind, BundleView};
use crate::model::JsonObject;
use crate::model::ids::BundleId;
use crate::model::names::Slug;
use crate::registry::Availability;

/// A bundle: S4's fields, and what is computed. A field of another version that is called like one of the latter gives way.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BundleRow {
    /// The version of the format.
    pub schema_version: String,
    /// Its id, a UUIDv7.
    #[serde(rename = "bundleID")]
    #[schemars(with = "String")]
    pub bundle_id: BundleId,
    /// The name for people and URLs.
    #[serde(deserialize_with = "slug_or_id")]
    #[schemars(with = "String")]
    pub slug: Slug,
    /// The name for lists.
    pub display_name: String,
    /// Its contents.
    pub description: String,
    /// The switch.
    pub is_enabled: bool,
    /// Whether it is compiled in and read-only.
    pub is_built_in: bool,
    /// First insertion; not there if no one knows it any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub created_at: Option<Timestamp>,
    /// Last structural change; not there if no one knows it any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub modified_at: Option<Timestamp>,
    /// When it was put in the bin, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub soft_deleted_at: Option<Timestamp>,
    /// Fields of other versions, and `importedAt` if it came from elsewhere.
    #[serde(flatten)]
    pub extra: JsonObject,
    /// Where its tools come from.
    pub kind: BundleKind,
    /// How many tools it has, each version counted.
    pub tools: usize,
    /// Whether its tools are on offer, and if not, why.
    pub availability: Availability,
    /// Its problem, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// What a person should know before trusting its looks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Cow<'static, str>>,
}

/// Reads a slug, or the id that stands for the slug of a damaged bundle.
fn slug_or_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Slug, D::Error> {
    let text = String::deserialize(deserializer)?;
    match BundleId::parse(&text) {
        Ok(id) => Ok(Slug::standing_for(id)),
        Err(_) => Slug::parse(&text).map_err(D::Error::custom),
    }
}

/// The computed fields. A field of another version does not stand for it.
const COMPUTED: [&str; 5] = ["kind", "tools", "availability", "problem", "warnings"];

impl From<&BundleView> for BundleRow {
    fn from(view: &BundleView) -> Self {
        let bundle = &view.bundle;
        let known = (!view.is_damaged).then_some(bundle);
        let mut extra = bundle.extra.clone();
        for field in COMPUTED {
            extra.shift_remove(field);
        }
        BundleRow {
            schema_version: bundle.schema_version.clone(),
            bundle_id: bundle.bundle_id,
            slug: bundle.slug.clone(),
            display_name: bundle.display_name.clone(),
            description: bundle.description.clone(),
            is_enabled: bundle.is_enabled,
            is_built_in: bundle.is_built_in,
            created_at: known.map(|bundle| bundle.created_at),
            modified_at: known.map(|bundle| bundle.modified_at),
            soft_deleted_at: bundle.soft_deleted_at,
            extra,
            kind: view.kind,
            tools: view.tools,
            availability: view.availability(),
            problem: view.problem.clone(),
            warnings: match bundle.slug.mixes_scripts() {
                true => vec!["the slug mixes scripts and may pass for another".into()],
                false => Vec::new(),
            },
        }
    }
}

impl BundleView {
    /// Whether its tools are on offer: a bundle that is off, in the bin or damaged has none that is.
    pub fn availability(&self) -> Availability {
        let off = |reason: &str, help: String| Availability::Disabled {
            reason: reason.to_owned(),
            help: Some(help),
        };
        let slug = &self.bundle.slug;
        match &self.bundle {
            _ if self.is_damaged => Availability::Unavailable {
                reason: self.problem.clone().unwrap_or_default(),
            },
            bundle if bundle.soft_deleted_at.is_some() => off(
                "the bundle is in the bin",
                format!("`toolcrib bundle restore {slug}` takes it out"),
            ),
            bundle if bundle.is_enabled => Availability::Ready,
            _ => off(
                "the bundle is switched off",
                format!("`toolcrib bundle enable {slug}` switches it on"),
            ),
        }
    }
}
