//! Tools as `toolcrib list` and `toolcrib show` print them: [`ToolList`], [`ToolShown`].
//!
//! What a row says to programs is [`ToolRow`]; beside it are additional facts for people.

use std::borrow::Cow;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::comparison::Runs;
use super::tool::{LimitsShown, ToolRow};
use crate::crib::listing::has_tags;
use crate::crib::{Crib, MeantRequest};
use crate::model::error::ToolError;
use crate::model::ids::BundleId;
use crate::model::names::{Slug, Version};
use crate::registry::{Availability, Entry, Source};
use crate::source::{FileOutcome, Report, ToolFile, runs};
use crate::store::archive::ToolReach;
use crate::store::{Damage, StoredTool};
use crate::wire::estimated_tokens;

/// Which tools to list. Those that are off or cannot run are among them.
#[derive(Debug, Clone, Default)]
pub struct ListQuery {
    /// Every tool of this bundle, by slug, also shadowed ones.
    pub bundle: Option<String>,
    /// These, by name or any other reference, in this order.
    pub tools: Vec<String>,
    /// Those that have these names. A name that no tool has is skipped.
    pub names: Vec<String>,
    /// Those that these words may mean, the best first, if there are any words.
    pub about: Option<String>,
    /// Only those with all of these tags or effects.
    pub tags: Vec<String>,
    /// Also those whose name another tool has, and those whose files are damaged.
    pub all: bool,
    /// Whether to estimate what each costs a model.
    pub tokens: bool,
}

/// Tools, by name; of one name, in the order in which they would have it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ToolList {
    /// The tools.
    pub tools: Vec<ListedTool>,
    /// Tools of the store whose files are damaged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<DamagedTool>,
}

/// A tool in a list for people.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ListedTool {
    #[serde(flatten)]
    #[schemars(flatten)]
    /// The tool.
    pub row: ToolRow,
    /// Its status: `ready`, `disabled`, `untrusted`, `unavailable`, `broken`, `shadowed` by another tool, or `behind` another version.
    pub state: Cow<'static, str>,
    /// Which tool has its name instead, as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<String>,
    /// What it costs a model, by an estimate, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// When it asks a person before it runs, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks: Option<String>,
}

/// A tool of the store whose file is damaged.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct DamagedTool {
    /// Its reference, or its file if nothing more is known.
    pub name: String,
    /// The slug of its bundle, or the id.
    pub bundle: String,
    /// The id of its bundle.
    #[serde(rename = "bundleID")]
    #[schemars(with = "String")]
    pub bundle_id: BundleId,
    /// Where it comes from: the store.
    pub source: Source,
    /// Why it cannot be called.
    pub availability: Availability,
    /// Its file.
    pub file: String,
    /// Its slug, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub slug: Option<Slug>,
    /// The label of its version, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub version: Option<Version>,
}

/// Facts about a tool for people, beside its document.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ToolShown {
    /// Its status, as in [`ListedTool`].
    pub state: Cow<'static, str>,
    /// Whether a call by its name reaches it.
    #[serde(rename = "hasName")]
    pub has_name: bool,
    /// The name for lists, as its record has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it asks about before it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks: Option<String>,
    /// Its limits.
    pub limits: LimitsShown,
    /// Arguments of calls, as examples.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Value>,
    /// Words it is found by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// What it runs and sends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<Runs>,
    /// More about its parameters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<ParameterShown>,
    /// What changed from version to version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangeShown>,
    /// Its other versions, the newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<String>,
}

/// More about a parameter.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ParameterShown {
    /// Its name.
    pub name: String,
    /// What more there is to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Values that it may have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
}

/// What changed in a version.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ChangeShown {
    /// The version.
    pub version: String,
    /// What changed.
    pub changes: String,
}

impl Crib {
    /// Lists tools for people. A bundle or a reference that is not there is an error.
    pub fn tool_list(&self, query: &ListQuery) -> Result<ToolList, ToolError> {
        let registry = self.registry();
        let mut entries = match &query.bundle {
            _ if !query.tools.is_empty() => {
                let found = query.tools.iter().map(|tool| registry.find(tool));
                found.collect::<Result<Vec<_>, _>>()?
            }
            _ if !query.names.is_empty() => {
                let found = query.names.iter().map(|name| registry.find(name));
                found.filter_map(Result::ok).collect()
            }
            Some(bundle) => self.bundle_tools(self.bundle(bundle)?.bundle.bundle_id),
            None if query.about.is_some() => self.meant(&MeantRequest {
                query: query.about.clone().unwrap_or_default(),
                ..MeantRequest::default()
            }),
            None if query.all => registry.all_entries(),
            None => registry.entries(),
        };
        entries.retain(|entry| has_tags(entry, &query.tags));
        let files = self.tool_files();
        let tools = entries.iter().map(|entry| ListedTool {
            row: self.tool_row_by(entry, &files),
            state: self.tool_state(entry, &files).into(),
            behind: self.behind(entry),
            tokens: query.tokens.then(|| estimated_tokens(entry.spec())),
            asks: entry.spec().asks.clone(),
        });
        Ok(ToolList {
            tools: tools.collect(),
            damaged: self.damaged_tools(query),
        })
    }

    /// The status of a tool, in one word: `behind` is a version of a tool of which another has the name.
    pub fn tool_state(&self, entry: &Arc<Entry>, files: &Report) -> &'static str {
        let standing = files.file_of(entry).map(|file| &file.standing);
        match (standing, entry.availability()) {
            (Some(FileOutcome::Shadowed { .. }), _) => "shadowed",
            (Some(FileOutcome::Broken { .. }), _) => "broken",
            (_, Availability::Disabled { reason, .. }) if reason == "untrusted" => "untrusted",
            (_, Availability::Disabled { .. }) => "disabled",
            (_, Availability::Unavailable { .. }) => "unavailable",
            (_, Availability::Ready) => match self.registry().shadower(entry) {
                None => "ready",
                Some(by) if is_version_of(entry, &by) => "behind",
                Some(_) => "shadowed",
            },
        }
    }

    /// Which tool has the name of another one, and how that one is called; none if it has its name.
    pub fn behind(&self, entry: &Entry) -> Option<String> {
        let by = self.registry().shadower(entry)?;
        let (spec, holder) = (entry.spec(), by.spec());
        let other = match is_version_of(entry, &by) {
            true => format!("is its version `{}`", holder.version),
            false => format!("is `{}`, which shadows it", holder.reference()),
        };
        // Two files of one name differ in nothing that could be typed.
        let call = match holder.reference() == spec.reference() {
            true => String::new(),
            false => format!("; this one is called as `{}`", spec.reference()),
        };
        Some(format!("`{}` {other}{call}", spec.name))
    }

    /// Tools whose files are damaged, where all are asked for. No one knows what their tags were.
    fn damaged_tools(&self, query: &ListQuery) -> Vec<DamagedTool> {
        if !query.all || !query.tags.is_empty() {
            return Vec::new();
        }
        let asked = query.bundle.as_ref().map(|bundle| self.bundle(bundle).ok());
        let is_there = |damage: &Damage| match &asked {
            None => true,
            Some(view) => view
                .as_ref()
                .is_some_and(|view| view.bundle.bundle_id == damage.bundle),
        };
        let damage = self.store().damage();
        damage
            .iter()
            .filter(|one| one.file.ends_with(".json") && !one.file.ends_with("/bundle.json"))
            .filter(|one| is_there(one))
            .map(|one| self.damaged_tool(one))
            .collect()
    }

    fn damaged_tool(&self, damage: &Damage) -> DamagedTool {
        let bundle = match self.bundle(&damage.bundle.to_string()) {
            Ok(view) => view.bundle.slug.to_string(),
            Err(_) => damage.bundle.to_string(),
        };
        let (slug, version) = damage.tool.clone().unzip();
        DamagedTool {
            name: match (&slug, &version) {
                (Some(slug), Some(version)) => format!("{bundle}/{slug}@{version}"),
                _ => damage.file.clone(),
            },
            bundle,
            bundle_id: damage.bundle,
            source: Source::Store,
            availability: Availability::Unavailable {
                reason: damage.reason.clone(),
            },
            file: damage.file.clone(),
            slug,
            version,
        }
    }

    /// Facts about a tool for people, beside [`tool_document`](Self::tool_document).
    pub fn tool_shown(&self, entry: &Arc<Entry>) -> ToolShown {
        let files = self.tool_files();
        let spec = entry.spec();
        let record = self.record_of(entry);
        let named = self.registry().find(spec.name.as_str());
        let mut shown = ToolShown {
            state: self.tool_state(entry, &files).into(),
            has_name: named.is_ok_and(|named| Arc::ptr_eq(&named, entry)),
            title: None,
            asks: spec.asks.clone(),
            limits: LimitsShown::from(entry.limits()),
            examples: spec.examples.clone(),
            keywords: spec.keywords.clone(),
            runs: Vec::new(),
            parameters: Vec::new(),
            changes: Vec::new(),
            beside: Vec::new(),
        };
        if let Some(file) = files.file_of(entry) {
            shown.add_file(file);
        }
        if let Some(record) = record {
            shown.add_record(&record, self);
        }
        shown
    }
}

impl ToolShown {
    fn add_file(&mut self, file: &ToolFile) {
        let Some(definition) = &file.definition else {
            return;
        };
        self.runs.extend(labelled(runs(definition)));
        let Some(definition) = definition.command() else {
            return;
        };
        let text = |value: &Value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let parameters = definition
            .parameters
            .iter()
            .map(|parameter| ParameterShown {
                name: parameter.name.clone(),
                help: parameter.detailed_help.clone(),
                examples: parameter.examples.iter().map(text).collect(),
            });
        let has_more = |one: &ParameterShown| one.help.is_some() || !one.examples.is_empty();
        self.parameters = parameters.filter(has_more).collect();
        let changes = definition.changelog.iter().map(|change| ChangeShown {
            version: change.version.clone(),
            changes: change.changes.clone(),
        });
        self.changes = changes.collect();
    }

    fn add_record(&mut self, record: &StoredTool, crib: &Crib) {
        let title = record.head.display_name.clone();
        self.title = Some(title).filter(|title| !title.is_empty());
        self.runs.extend(match record.manifest() {
            Ok(manifest) => labelled(ToolReach::of(&manifest).runs),
            Err(_) => labelled(vec![(
                "problem".to_owned(),
                "the record cannot be read".to_owned(),
            )]),
        });
        let versions = crib.store().tools(record.key.bundle).into_iter();
        let others = versions.filter(|other| {
            other.key.slug == record.key.slug && other.key.version != record.key.version
        });
        self.beside = others.map(|other| other.key.version.to_string()).collect();
    }
}

fn labelled(texts: Vec<(String, String)>) -> Vec<Runs> {
    let texts = texts.into_iter();
    texts.map(|(what, text)| Runs { what, text }).collect()
}

/// Whether one tool is another version of the one that has its name.
fn is_version_of(entry: &Entry, by: &Entry) -> bool {
    let (one, other) = (entry.spec(), by.spec());
    by.source() == entry.source()
        && (&one.bundle, &one.slug) == (&other.bundle, &other.slug)
        && one.version != other.version
}
