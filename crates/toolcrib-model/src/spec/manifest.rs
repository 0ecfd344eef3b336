//! The files on disk: [`Bundle`] and [`ToolManifest`], as S4's JSON.
//!
//! Reading is forward-compatible: fields this version does not know are kept and written back, and
//! so is the spelling of `type`. Whether a tool can run is never written here; it is computed.

use std::borrow::Cow;
use std::fmt;

use jiff::Timestamp;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::ToolSpec;
use crate::JsonObject;
use crate::effects::Effects;
use crate::error::{ErrorCode, ToolError};
use crate::ids::{BundleId, ToolId};
use crate::limits::LimitsPatch;
use crate::names::{Slug, Version, WireName};
use crate::schema::{Schema, SchemaPool};

/// The version of the on-disk format this build writes.
pub const SCHEMA_VERSION: &str = "1";

/// How many fields a definition may have beside those that every one has. Other versions have a few more, none has thousands: each costs
/// memory in every process that opens the store.
#[doc(hidden)]
pub const MAX_UNKNOWN_FIELDS: usize = 1000;

/// What to say of a definition that has more.
#[doc(hidden)]
pub fn too_many_unknown_fields() -> String {
    format!("it has more than {MAX_UNKNOWN_FIELDS} fields that no definition has")
}

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
    /// Its contents.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolManifest {
    /// The version of the format.
    pub schema_version: String,
    /// The bundle it is in.
    #[serde(rename = "bundleID")]
    pub bundle_id: BundleId,
    /// The id of this version; assigned when absent.
    #[serde(rename = "toolID")]
    pub tool_id: ToolId,
    /// The name for people and URLs.
    pub slug: Slug,
    /// The label of this version.
    pub version: Version,
    /// The name for models, when it is not derived from the slug.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<WireName>,
    /// The name for lists.
    pub display_name: String,
    /// What it does.
    pub description: String,
    /// How it is implemented.
    #[serde(rename = "type")]
    pub kind: ToolKind,
    /// The switch.
    pub is_enabled: bool,
    /// Whether it is compiled in and read-only.
    pub is_built_in: bool,
    /// What it takes.
    pub arg_schema: Value,
    /// What it returns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// The implementation block, in the form its `type` asks for.
    #[serde(rename = "impl")]
    pub implementation: Value,
    /// Categories and security tags.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The limits the tool sets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<ManifestLimits>,
    /// First insertion; never changes.
    pub created_at: Timestamp,
    /// Last structural change.
    pub modified_at: Timestamp,
    /// Fields of other versions, kept as they are.
    #[serde(flatten)]
    pub extra: JsonObject,
}

/// The limits in a manifest: those of calls, and those that only its kind of tool knows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ManifestLimits {
    /// The limits of calls.
    #[serde(flatten)]
    pub call: LimitsPatch,
    /// The others, kept as they are.
    #[serde(flatten)]
    pub extra: JsonObject,
}

/// Reads the fields of a manifest one by one. Not derived: serde's `flatten` would read everything
/// twice (a store of thousands of tools opens in half the time), and it would let a field that
/// is twice pass.
impl<'de> Deserialize<'de> for ToolManifest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ManifestVisitor)
    }
}

struct ManifestVisitor;

impl<'de> Visitor<'de> for ManifestVisitor {
    type Value = ToolManifest;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a tool definition: a JSON object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<ToolManifest, M::Error> {
        macro_rules! fields {
            ($extra:ident; $($local:ident $key:literal;)*) => {
                $(let mut $local = None;)*
                let mut $extra = JsonObject::new();
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        $($key if $local.is_some() => return Err(M::Error::duplicate_field($key)),
                          $key => $local = Some(map.next_value()?),)*
                        _ if $extra.contains_key(&key) => {
                            let key = crate::text::shorten(&key, 64);
                            return Err(M::Error::custom(format!("duplicate field `{key}`")));
                        }
                        _ if $extra.len() >= MAX_UNKNOWN_FIELDS => {
                            return Err(M::Error::custom(too_many_unknown_fields()));
                        }
                        _ => {
                            let value = map.next_value::<Box<RawValue>>()?;
                            let value = any_value(value.get()).map_err(M::Error::custom)?;
                            $extra.insert(key, value);
                        }
                    }
                }
            };
        }
        fields! {
            extra;
            schema_version "schemaVersion"; bundle_id "bundleID"; tool_id "toolID"; slug "slug";
            version "version"; name "name"; display_name "displayName"; description "description";
            kind "type"; is_enabled "isEnabled"; is_built_in "isBuiltIn"; arg_schema "argSchema";
            output_schema "outputSchema"; implementation "impl"; tags "tags"; limits "limits";
            created_at "createdAt"; modified_at "modifiedAt";
        }
        let missing = M::Error::missing_field;
        Ok(ToolManifest {
            schema_version: schema_version.unwrap_or_else(|| SCHEMA_VERSION.to_owned()),
            bundle_id: bundle_id.ok_or_else(|| missing("bundleID"))?,
            tool_id: tool_id.unwrap_or_else(ToolId::generate),
            slug: slug.ok_or_else(|| missing("slug"))?,
            version: version.ok_or_else(|| missing("version"))?,
            name,
            display_name: display_name.unwrap_or_default(),
            description: description.unwrap_or_default(),
            kind: kind.ok_or_else(|| missing("type"))?,
            is_enabled: is_enabled.unwrap_or(true),
            is_built_in: is_built_in.unwrap_or_default(),
            arg_schema: arg_schema.unwrap_or_else(|| json!({"type": "object", "properties": {}})),
            output_schema,
            implementation: implementation.unwrap_or_default(),
            tags: tags.unwrap_or_default(),
            limits,
            created_at: created_at.ok_or_else(|| missing("createdAt"))?,
            modified_at: modified_at.ok_or_else(|| missing("modifiedAt"))?,
            extra,
        })
    }
}

/// The fields of a JSON object as they are written.
#[doc(hidden)]
pub struct Fields<'a>(#[doc(hidden)] pub Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor;
        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = Fields<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Fields<'de>, M::Error> {
                let mut fields = Vec::new();
                while let Some(key) = map.next_key::<String>()? {
                    fields.push((Cow::Owned(key), map.next_value()?));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(FieldsVisitor)
    }
}

/// How deep a number may stand that is larger than any that is counted with.
const MAX_WIDE_DEPTH: usize = 8;

/// Reads the value of a field that this version does not know. A number that is too large to be one here is its text: it is no one's
/// business what another version counts.
#[doc(hidden)]
pub fn any_value(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(text).or_else(|error| wide(text, 0).ok_or(error))
}

fn wide(text: &str, depth: usize) -> Option<Value> {
    if depth > MAX_WIDE_DEPTH {
        return None;
    }
    match text.trim_start().bytes().next()? {
        b'{' => {
            let Fields(fields) = serde_json::from_str(text).ok()?;
            let fields = fields.into_iter();
            let values =
                fields.map(|(key, raw)| Some((key.into_owned(), wide(raw.get(), depth + 1)?)));
            Some(Value::Object(values.collect::<Option<JsonObject>>()?))
        }
        b'[' => {
            let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
            let items = items.into_iter().map(|raw| wide(raw.get(), depth + 1));
            Some(Value::Array(items.collect::<Option<Vec<Value>>>()?))
        }
        b'-' | b'0'..=b'9' => {
            // It is a number by its looks, which is checked.
            let raw: &RawValue = serde_json::from_str(text).ok()?;
            let value = serde_json::from_str(raw.get()).ok();
            value.or_else(|| Some(Value::String(raw.get().to_owned())))
        }
        _ => serde_json::from_str(text).ok(),
    }
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

    /// The published face of this tool, in a bundle whose slug the caller knows. Equal schemas
    /// of tools made with one pool are shared.
    pub fn into_spec(self, bundle: Slug, pool: &mut SchemaPool) -> Result<ToolSpec, ToolError> {
        let unusable = |error| {
            let message = format!("the tool's schema cannot be used: {error}");
            ToolError::new(ErrorCode::ToolUnavailable, message)
        };
        let input = Schema::stored(self.arg_schema).map_err(unusable)?;
        let output = self
            .output_schema
            .map(Schema::output)
            .transpose()
            .map_err(unusable)?;
        let name = self.name.unwrap_or_else(|| WireName::derive(&self.slug));
        let mut spec = ToolSpec::new(name, self.description, pool.share(input.into()));
        spec.slug = self.slug;
        spec.bundle = bundle;
        spec.version = self.version;
        spec.title = Some(self.display_name).filter(|title| !title.is_empty());
        spec.output_schema = output.map(|schema| pool.share(schema.into()));
        spec.effects = Effects::from_tags(self.tags.iter().map(String::as_str));
        spec.tags = self.tags;
        spec.limits = self.limits.map(|limits| limits.call).unwrap_or_default();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn weather() -> Value {
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
        let spec = manifest
            .into_spec(Slug::parse("acme").unwrap(), &mut SchemaPool::default())
            .unwrap();
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
    fn a_field_that_appears_twice_is_refused() {
        for twice in [r#""slug": "b""#, r#""fromTheFuture": 2"#] {
            let json = weather()
                .to_string()
                .replacen('{', &format!("{{{twice},"), 1);
            let error = ToolManifest::from_json(json.as_bytes()).unwrap_err();
            assert!(error.to_string().contains("duplicate field"), "{error}");
        }
    }

    #[test]
    fn a_thousand_unknown_fields_are_kept_and_one_more_is_refused() {
        for (count, is_read) in [(MAX_UNKNOWN_FIELDS, true), (MAX_UNKNOWN_FIELDS + 1, false)] {
            let mut json = weather();
            let fields = json.as_object_mut().unwrap();
            fields.remove("fromTheFuture");
            fields.extend((0..count).map(|number| (format!("x{number}"), json!(number))));
            let read = ToolManifest::from_json(json.to_string().as_bytes());
            assert_eq!(read.is_ok(), is_read);
            if let Err(error) = read {
                assert!(error.to_string().contains("more than 1000"), "{error}");
            }
        }
    }

    #[test]
    fn limits_of_other_kinds_of_tools_survive() {
        let mut json = weather();
        json["limits"] = json!({"maxCallsPerMinute": 5, "maxSentBytes": 10});
        let manifest = ToolManifest::from_json(json.to_string().as_bytes()).unwrap();
        assert_eq!(
            serde_json::to_value(&manifest).unwrap()["limits"],
            json["limits"]
        );
        let spec = manifest
            .into_spec(Slug::parse("a").unwrap(), &mut SchemaPool::default())
            .unwrap();
        assert_eq!(spec.limits.max_calls_per_minute, Some(5));
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
