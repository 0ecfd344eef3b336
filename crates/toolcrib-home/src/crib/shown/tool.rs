//! A tool as lists show it ([`ToolRow`]), and whole ([`Crib::tool_document`]).

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::crib::Crib;
use crate::definition::Body;
use crate::model::JsonObject;
use crate::model::effects::Effects;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::ids::{BundleId, ToolId};
use crate::model::limits::Limits;
use crate::registry::{Availability, Entry, Source};
use crate::source::{FileDefinition, FileOutcome, Report, ToolFile, runs};
use crate::spec::manifest::{SCHEMA_VERSION, ToolKind};
use crate::store::StoredTool;

/// One tool in a list: one version of it, wherever it comes from.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolRow {
    /// The name for models.
    pub name: String,
    /// The name for people and URLs.
    pub slug: String,
    /// The slug of its bundle.
    pub bundle: String,
    /// The label of this version.
    pub version: String,
    /// The name for lists, where it has a title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does.
    pub description: String,
    /// What it does to the world; none if no one knows.
    #[schemars(with = "Vec<String>")]
    pub effects: Effects,
    /// Categories and security tags.
    pub tags: Vec<String>,
    /// Where it comes from.
    pub source: Source,
    /// Whether it can be called, and if not, why.
    pub availability: Availability,
    /// How often it was called.
    pub call_count: u64,
    /// When it was called last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub last_called_at: Option<Timestamp>,
    /// Its file, for a tool that has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Which tool has its name, if another one has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadowed_by: Option<String>,
    /// What a person should know before trusting its looks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Cow<'static, str>>,
    /// The id of its bundle; tools of a program that embeds Toolcrib have none.
    #[serde(rename = "bundleID", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub bundle_id: Option<BundleId>,
    /// The name for lists.
    pub display_name: String,
    /// How it is implemented.
    #[serde(rename = "type")]
    pub kind: ToolKind,
    /// Its own switch, whatever else keeps it off.
    pub is_enabled: bool,
    /// Whether it is compiled in and read-only.
    pub is_built_in: bool,
    /// The version of the format of definitions.
    pub schema_version: Cow<'static, str>,
    /// The id of this version; of a tool of the store or a built-in one.
    #[serde(rename = "toolID", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub tool_id: Option<ToolId>,
    /// First insertion; of a tool of the store. That of a built-in one is the beginning of 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub created_at: Option<Timestamp>,
    /// Last structural change, as `createdAt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub modified_at: Option<Timestamp>,
}

/// Limits in the units of the wire.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LimitsShown {
    /// How long a call may take.
    pub timeout_ms: u64,
    /// How large its arguments may be.
    pub max_input_bytes: u64,
    /// How large a text of its result may be.
    pub max_output_bytes: u64,
    /// How often it may be called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_calls_per_minute: Option<u32>,
    /// How many calls of it may run at once.
    pub max_concurrent: u32,
}

impl From<&Limits> for LimitsShown {
    fn from(limits: &Limits) -> Self {
        LimitsShown {
            timeout_ms: u64::try_from(limits.timeout.as_millis()).unwrap_or(u64::MAX),
            max_input_bytes: limits.max_input_bytes,
            max_output_bytes: limits.max_output_bytes,
            max_calls_per_minute: limits.max_calls_per_minute,
            max_concurrent: limits.max_concurrent,
        }
    }
}

impl Crib {
    /// A tool as lists show it. The tool is made, if it has not been: only that shows whether it can run.
    pub fn tool_row(&self, entry: &Arc<Entry>) -> ToolRow {
        self.tool_row_by(entry, &self.tool_files())
    }

    /// Like [`tool_row`](Self::tool_row), but for many tools, which share one report of the files.
    pub fn tool_row_by(&self, entry: &Arc<Entry>, files: &Report) -> ToolRow {
        // First: what is made knows more of its effects.
        let availability = entry.availability();
        let spec = entry.spec();
        let file = files.file_of(entry);
        let usage = self.usage(entry);
        let record = self.record_of(entry);
        let record = record.as_deref();
        let title = match record {
            Some(record) => Some(record.head.display_name.as_str()),
            None => spec.title.as_deref(),
        };
        let title = title.filter(|title| !title.is_empty());
        let is_built_in = entry.source() == Source::BuiltIn;
        // As its bundle has it.
        let epoch = is_built_in.then_some(Timestamp::UNIX_EPOCH);
        ToolRow {
            name: spec.name.to_string(),
            slug: spec.slug.to_string(),
            bundle: spec.bundle.to_string(),
            version: spec.version.to_string(),
            title: spec.title.clone(),
            description: spec.description.clone(),
            effects: spec.effects,
            tags: spec.tags.clone(),
            source: entry.source(),
            availability,
            call_count: usage.call_count,
            last_called_at: usage.last_called_at,
            file: file.map(|file| file.shown.clone()),
            shadowed_by: self.shadower_of(entry, file),
            warnings: spec.warnings().into_iter().map(Cow::Borrowed).collect(),
            bundle_id: entry.bundle_id(),
            display_name: title.unwrap_or(spec.slug.as_str()).to_owned(),
            kind: kind(file, record),
            is_enabled: match record {
                Some(record) => record.head.is_enabled,
                None => is_enabled(entry),
            },
            is_built_in,
            schema_version: SCHEMA_VERSION.into(),
            tool_id: record.map(|record| record.head.tool_id).or(entry.id()),
            created_at: record.map(|record| record.head.created_at).or(epoch),
            modified_at: record.map(|record| record.head.modified_at).or(epoch),
        }
    }

    /// All that can be said of a tool: of one of the store its record, of others what it publishes; and what is computed.
    pub fn tool_document(&self, entry: &Arc<Entry>) -> Result<JsonObject, ToolError> {
        match self.record_of(entry) {
            Some(record) => self.record_document(&record, entry),
            None => Ok(self.published_document(entry)),
        }
    }

    /// A record: S4's fields, and what is computed. A field of another version gives way to the latter.
    fn record_document(&self, record: &StoredTool, entry: &Entry) -> Result<JsonObject, ToolError> {
        // One that cannot be read any more was damaged since it was found.
        let manifest = record.manifest().map_err(|error| {
            let message = format!(
                "the record cannot be read: {error}; `toolcrib doctor` says what is damaged"
            );
            ToolError::new(ErrorCode::StorageError, message)
        })?;
        let mut fields = as_object(&manifest);
        let tags = fields.shift_remove("tags").unwrap_or_else(|| json!([]));
        let title = match manifest.display_name.is_empty() {
            true => manifest.slug.to_string(),
            false => manifest.display_name,
        };
        let availability = entry.availability();
        let spec = entry.spec();
        let usage = self.usage(entry);
        for (key, value) in [
            ("tags", tags),
            ("displayName", json!(title)),
            ("name", json!(spec.name)),
            ("bundle", json!(spec.bundle)),
            ("source", json!(entry.source())),
            ("effects", json!(spec.effects)),
            ("digest", json!(entry.digest())),
            ("availability", json!(availability)),
            ("aliases", json!(spec.aliases)),
            ("inputSchema", json!(spec.input_schema.as_value())),
            ("callCount", json!(usage.call_count)),
        ] {
            fields.insert(key.to_owned(), value);
        }
        let shadower = self.shadower_of(entry, None).map(Value::String);
        let warnings = spec.warnings();
        for (key, value) in [
            ("lastCalledAt", usage.last_called_at.map(|last| json!(last))),
            ("shadowedBy", shadower),
            ("warnings", (!warnings.is_empty()).then(|| json!(warnings))),
        ] {
            fields.shift_remove(key);
            if let Some(value) = value {
                fields.insert(key.to_owned(), value);
            }
        }
        Ok(fields)
    }

    /// A tool that is not a record.
    fn published_document(&self, entry: &Arc<Entry>) -> JsonObject {
        let files = self.tool_files();
        let mut fields = as_object(&self.tool_row_by(entry, &files));
        let spec = entry.spec();
        let schema = spec.input_schema.as_value();
        let output = spec.output_schema.as_ref().map(|schema| schema.as_value());
        for (key, value) in [
            ("aliases", Some(json!(spec.aliases))),
            ("argSchema", Some(schema.clone())),
            ("inputSchema", Some(schema.clone())),
            ("outputSchema", output.cloned()),
            ("asks", spec.asks.as_ref().map(|asks| json!(asks))),
            (
                "keywords",
                (!spec.keywords.is_empty()).then(|| json!(spec.keywords)),
            ),
            (
                "examples",
                (!spec.examples.is_empty()).then(|| json!(spec.examples)),
            ),
            ("limits", Some(json!(LimitsShown::from(entry.limits())))),
            ("digest", Some(json!(entry.digest()))),
        ] {
            if let Some(value) = value {
                fields.insert(key.to_owned(), value);
            }
        }
        if let Some(file) = files.file_of(entry) {
            fields.extend(of_file(file));
        }
        fields
    }

    /// Which tool has the name of this one, if another one has.
    fn shadower_of(&self, entry: &Entry, file: Option<&ToolFile>) -> Option<String> {
        let by_file = file.and_then(|file| match &file.standing {
            FileOutcome::Shadowed { by, .. } => Some(by.clone()),
            FileOutcome::Loaded
            | FileOutcome::Broken { .. }
            | FileOutcome::Refused { .. }
            | FileOutcome::Unavailable { .. } => None,
        });
        by_file.or_else(|| Some(self.registry().shadower(entry)?.spec().reference()))
    }
}

fn as_object(value: &impl Serialize) -> JsonObject {
    match serde_json::to_value(value) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) | Err(_) => JsonObject::new(),
    }
}

/// How a tool is made, also where no record says so.
fn kind(file: Option<&ToolFile>, record: Option<&StoredTool>) -> ToolKind {
    let definition = file.and_then(|file| file.definition.as_ref());
    match (record, definition) {
        (Some(record), _) => record.head.kind,
        (None, Some(FileDefinition::Http(_))) => ToolKind::Http,
        (None, Some(FileDefinition::Command(definition))) => match definition.body {
            Body::Alias { .. } => ToolKind::Alias,
            Body::Command(_) | Body::Commands { .. } | Body::Steps(_) => ToolKind::Command,
        },
        // A file that cannot be read.
        (None, None) if file.is_some() => ToolKind::Command,
        (None, None) => ToolKind::Rust,
    }
}

/// Whether a tool's own switch is on, whatever else keeps it off.
fn is_enabled(entry: &Entry) -> bool {
    let by_switch = |obstacle: &Availability| match obstacle {
        Availability::Disabled { reason, .. } => {
            reason == "the tool is switched off" || reason.contains("isEnabled")
        }
        Availability::Ready | Availability::Unavailable { .. } => false,
    };
    !entry.obstacles().iter().any(by_switch)
}

/// What only tools of files have.
fn of_file(file: &ToolFile) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert("fileDigest".to_owned(), json!(file.digest));
    let Some(definition) = &file.definition else {
        return fields;
    };
    let runs: Vec<Value> = runs(definition)
        .into_iter()
        .map(|(what, text)| json!({"what": what, "text": text}))
        .collect();
    fields.insert("runs".to_owned(), runs.into());
    let Some(definition) = definition.command() else {
        return fields;
    };
    let help: Map<String, Value> = definition
        .parameters
        .iter()
        .filter_map(|parameter| {
            let help = parameter.detailed_help.clone()?;
            Some((parameter.name.clone(), help.into()))
        })
        .collect();
    if !help.is_empty() {
        fields.insert("detailedHelp".to_owned(), help.into());
    }
    let changes: Vec<Value> = definition
        .changelog
        .iter()
        .map(|change| json!({"version": change.version, "changes": change.changes}))
        .collect();
    if !changes.is_empty() {
        fields.insert("changelog".to_owned(), changes.into());
    }
    let tests: Vec<Value> = definition
        .tests
        .iter()
        .map(|test| json!({"name": test.name, "description": test.description}))
        .collect();
    if !tests.is_empty() {
        fields.insert("tests".to_owned(), tests.into());
    }
    fields
}
