//! What is on disk: [`Bundle`] and [`ToolManifest`], as S4's JSON.
//!
//! Reading is forward-compatible: fields this version does not know are kept and written back, and
//! so is the spelling of `type`. Whether a tool can run is never written here; it is computed.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::JsonObject;
use super::effects::Effects;
use super::error::{ErrorCode, ToolError};
use super::limits::LimitsPatch;
use super::names::{BundleId, Slug, ToolId, Version, WireName};
use super::spec::ToolSpec;
use crate::schema::Schema;

/// The version of the on-disk format this build writes.
pub const SCHEMA_VERSION: &str = "1";

/// A named container of tools with one switch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Bundle {
    /// The version of the format.
    #[serde(default = "schema_version")]
    pub schema_version: String,
    /// The bundle's id.
    #[serde(rename = "bundleID")]
    pub bundle_id: BundleId,
    /// The name for people and URLs.
    pub slug: Slug,
    /// The name for lists.
    #[serde(default)]
    pub display_name: String,
    /// What is in it.
    #[serde(default)]
    pub description: String,
    /// The switch.
    #[serde(default = "yes")]
    pub is_enabled: bool,
    /// Whether it is compiled in and read-only.
    #[serde(default)]
    pub is_built_in: bool,
    /// First insertion; never changes.
    pub created_at: Timestamp,
    /// Last structural change.
    pub modified_at: Timestamp,
    /// When it was put in the bin, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soft_deleted_at: Option<Timestamp>,
    /// Fields of other versions, kept as they are.
    #[serde(flatten)]
    pub extra: JsonObject,
}

/// How a tool is implemented. The spelling that came in is the one that goes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolKind {
    /// A compiled-in function, in S4's word.
    Go,
    /// A compiled-in function.
    Rust,
    /// Outbound HTTP requests.
    Http,
    /// A local command.
    Command,
    /// A tool of an upstream MCP server.
    Mcp,
    /// Another tool with preset arguments.
    Alias,
}

/// One version of a tool, as stored.
///
/// ```
/// use toolcrib::ToolManifest;
/// let json = r#"{"bundleID": "018faf50-b7b6-7a01-9a05-a22a6e0af101", "slug": "weather", "version": "v2",
///                "description": "Fetch current weather", "type": "http", "impl": {"method": "GET"},
///                "argSchema": {"type": "object", "properties": {}}, "fromTheFuture": 1,
///                "createdAt": "2024-05-14T13:44:00Z", "modifiedAt": "2024-06-01T09:17:10Z"}"#;
/// let manifest = ToolManifest::from_json(json.as_bytes()).unwrap();
/// assert_eq!(manifest.extra["fromTheFuture"], 1);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolManifest {
    /// The version of the format.
    #[serde(default = "schema_version")]
    pub schema_version: String,
    /// The bundle it is in.
    #[serde(rename = "bundleID")]
    pub bundle_id: BundleId,
    /// The id of this version; assigned when absent.
    #[serde(rename = "toolID", default = "ToolId::generate")]
    pub tool_id: ToolId,
    /// The name for people and URLs.
    pub slug: Slug,
    /// The label of this version.
    pub version: Version,
    /// The name for models, when it is not derived from the slug.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<WireName>,
    /// The name for lists.
    #[serde(default)]
    pub display_name: String,
    /// What it does.
    #[serde(default)]
    pub description: String,
    /// How it is implemented.
    #[serde(rename = "type")]
    pub kind: ToolKind,
    /// The switch.
    #[serde(default = "yes")]
    pub is_enabled: bool,
    /// Whether it is compiled in and read-only.
    #[serde(default)]
    pub is_built_in: bool,
    /// What it takes.
    #[serde(default = "empty_object_schema")]
    pub arg_schema: serde_json::Value,
    /// What it returns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<serde_json::Value>,
    /// The implementation block, in the form its `type` asks for.
    #[serde(rename = "impl", default)]
    pub implementation: serde_json::Value,
    /// Categories and security tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The limits the tool sets.
    #[serde(default, skip_serializing_if = "is_default")]
    pub limits: LimitsPatch,
    /// First insertion; never changes.
    pub created_at: Timestamp,
    /// Last structural change.
    pub modified_at: Timestamp,
    /// Fields of other versions, kept as they are.
    #[serde(flatten)]
    pub extra: JsonObject,
}

impl ToolManifest {
    /// The largest manifest that is read.
    pub const MAX_BYTES: usize = 4 * 1024 * 1024;

    /// Reads a manifest; the error says where it is wrong.
    pub fn from_json(json: &[u8]) -> Result<Self, ManifestError> {
        if json.len() > Self::MAX_BYTES {
            return Err(ManifestError::TooLarge { bytes: json.len() });
        }
        Ok(serde_json::from_slice(json)?)
    }

    /// The published face of this tool, in a bundle whose slug the caller knows.
    pub fn spec(&self, bundle: Slug) -> Result<ToolSpec, ToolError> {
        let unusable = |error| {
            ToolError::new(
                ErrorCode::ToolUnavailable,
                format!("the tool's schema cannot be used: {error}"),
            )
        };
        let input = Schema::stored(self.arg_schema.clone()).map_err(unusable)?;
        let output = self
            .output_schema
            .clone()
            .map(Schema::output)
            .transpose()
            .map_err(unusable)?;
        let name = self
            .name
            .clone()
            .unwrap_or_else(|| WireName::derive(&self.slug));
        let mut spec = ToolSpec::new(name, &self.description, input);
        spec.slug = self.slug.clone();
        spec.bundle = bundle;
        spec.version = self.version.clone();
        spec.title = (!self.display_name.is_empty()).then(|| self.display_name.clone());
        spec.output_schema = output.map(Into::into);
        spec.effects = Effects::from_tags(self.tags.iter().map(String::as_str));
        spec.tags = self.tags.clone();
        spec.limits = self.limits;
        Ok(spec)
    }
}

/// Why a manifest cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// Over [`ToolManifest::MAX_BYTES`].
    #[error(
        "a tool definition of {bytes} bytes is over the limit of {} bytes",
        ToolManifest::MAX_BYTES
    )]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// Not JSON, or not a manifest.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

fn schema_version() -> String {
    SCHEMA_VERSION.to_owned()
}

fn yes() -> bool {
    true
}

fn is_default(limits: &LimitsPatch) -> bool {
    *limits == LimitsPatch::default()
}

fn empty_object_schema() -> serde_json::Value {
    serde_json::json!({"type": "object", "properties": {}})
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn weather() -> serde_json::Value {
        json!({
            "schemaVersion": "xyz",
            "bundleID": "018faf50-b7b6-7a01-9a05-a22a6e0af101",
            "toolID": "018faf50-b7b6-7a01-9a05-a22a6e0af102",
            "slug": "weather",
            "version": "v2",
            "displayName": "Weather report",
            "description": "Fetch current weather for a city",
            "type": "go",
            "isEnabled": true,
            "isBuiltIn": false,
            "argSchema": {"type": "object", "properties": {"city": {"type": "string", "description": "City"}}},
            "outputSchema": {"type": "string"},
            "impl": {"goFunc": "github.com/acme/agent/tools.Weather"},
            "createdAt": "2024-05-14T13:44:00Z",
            "modifiedAt": "2024-06-01T09:17:10Z",
            "fromTheFuture": {"b": 1, "a": [2]}
        })
    }

    #[test]
    fn a_manifest_is_written_back_as_it_was_read_unknown_fields_included() {
        let manifest = ToolManifest::from_json(weather().to_string().as_bytes()).unwrap();
        assert_eq!(serde_json::to_value(&manifest).unwrap(), weather());
    }

    #[test]
    fn a_spec_has_the_derived_name_and_the_effects_of_the_tags() {
        let mut json = weather();
        json["tags"] = json!(["forecast", "read"]);
        let manifest = ToolManifest::from_json(json.to_string().as_bytes()).unwrap();
        let spec = manifest.spec(Slug::parse("acme").unwrap()).unwrap();
        assert_eq!(spec.reference(), "acme/weather@v2");
        assert_eq!(spec.name.as_str(), "weather");
        assert!(spec.effects.is_read_only());
    }

    #[test]
    fn a_bad_manifest_says_where_and_why() {
        let mut json = weather();
        json["slug"] = json!("read_file");
        let error = ToolManifest::from_json(json.to_string().as_bytes()).unwrap_err();
        assert!(error.to_string().contains("U+005F"), "{error}");
        assert!(ToolManifest::from_json(b"{").is_err());
        assert!(ToolManifest::from_json(&vec![b' '; ToolManifest::MAX_BYTES + 1]).is_err());
    }

    #[test]
    fn a_bundle_keeps_unknown_fields_too() {
        let json = json!({
            "schemaVersion": "1", "bundleID": "018faf50-b7b6-7a01-9a05-a22a6e0af101", "slug": "acme",
            "displayName": "Acme", "description": "", "isEnabled": false, "isBuiltIn": false,
            "createdAt": "2024-05-14T13:44:00Z", "modifiedAt": "2024-06-01T09:17:10Z",
            "softDeletedAt": "2024-06-01T09:17:10Z", "later": true
        });
        let bundle: Bundle = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(serde_json::to_value(bundle).unwrap(), json);
    }
}
