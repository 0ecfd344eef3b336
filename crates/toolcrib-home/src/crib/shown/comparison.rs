//! What differs between two bundles, and what the tools of the new one would run and reach: [`ComparisonShown`].

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::check::ProblemRow;
use crate::crib::Contest;
use crate::model::names::{Slug, Version};
use crate::spec::manifest::{Bundle, ToolKind};
use crate::store::archive::{Comparison, Contents, FieldChange, ToolChange, ToolComparison};

/// A comparison of two bundles.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonShown {
    /// The new bundle, as in the store.
    #[schemars(schema_with = "any_object")]
    pub bundle: Bundle,
    /// The old one; null if there is none.
    #[schemars(schema_with = "any_object_or_null")]
    pub against: Option<Bundle>,
    /// Whether nothing differs.
    pub same: bool,
    /// Fields of the bundle that differ.
    pub fields: Vec<ChangedField>,
    /// Every version of every tool of either.
    pub tools: Vec<ComparedTool>,
}

/// A field that differs.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ChangedField {
    /// Its name.
    pub field: String,
    /// What it was; null if it was not there.
    pub old: Option<Value>,
    /// What it is; null if it is not there.
    pub new: Option<Value>,
}

/// One version of a tool in two bundles.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ComparedTool {
    /// The tool.
    #[schemars(with = "String")]
    pub slug: Slug,
    /// The version.
    #[schemars(with = "String")]
    pub version: Version,
    /// How it is implemented.
    #[serde(rename = "type")]
    pub kind: ToolKind,
    /// What it does.
    pub description: String,
    /// Categories and security tags.
    pub tags: Vec<String>,
    /// What becomes of it: `added`, `removed`, `changed` or `same`.
    pub change: Cow<'static, str>,
    /// The fields that differ.
    pub fields: Vec<ChangedField>,
    /// The same as a unified diff of the JSON.
    pub diff: Option<String>,
    /// What it runs and sends.
    pub runs: Vec<Runs>,
    /// The hosts it reaches.
    pub hosts: Vec<String>,
    /// Whom it tells which secrets.
    pub tells: Vec<ToldSecret>,
    /// The tools it calls.
    pub calls: Vec<String>,
    /// What is wrong or doubtful about it; with an error it cannot be called.
    pub problems: Vec<ProblemRow>,
}

/// Something that a tool runs or sends.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Runs {
    /// What it is.
    pub what: String,
    /// Its text.
    pub text: String,
}

/// A secret that a host would be told.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ToldSecret {
    /// The secret's name.
    pub secret: String,
    /// The host.
    pub host: String,
}

/// A name that a tool which comes wants, and that another has.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct NameContest {
    /// The name.
    pub name: String,
    /// The one that comes.
    pub tool: String,
    /// The one that has the name now.
    pub holder: String,
    /// Whether the one that comes would have it once it is on.
    pub taken: bool,
}

impl From<&Contest> for NameContest {
    fn from(contest: &Contest) -> Self {
        NameContest {
            name: contest.name.to_string(),
            tool: contest.tool.clone(),
            holder: contest.holder.clone(),
            taken: contest.is_taken,
        }
    }
}

impl ComparisonShown {
    /// A comparison of `new` with `old`.
    pub fn of(comparison: &Comparison, old: Option<&Contents>, new: &Contents) -> Self {
        ComparisonShown {
            bundle: new.bundle.clone(),
            against: old.map(|old| old.bundle.clone()),
            same: comparison.is_same(),
            fields: comparison.fields.iter().map(ChangedField::from).collect(),
            tools: comparison.tools.iter().map(ComparedTool::from).collect(),
        }
    }
}

impl From<&FieldChange> for ChangedField {
    fn from(change: &FieldChange) -> Self {
        ChangedField {
            field: change.field.clone(),
            old: change.old.clone(),
            new: change.new.clone(),
        }
    }
}

impl From<&ToolComparison> for ComparedTool {
    fn from(compared: &ToolComparison) -> Self {
        let (change, fields, diff) = match &compared.change {
            ToolChange::Added => ("added", Vec::new(), None),
            ToolChange::Removed => ("removed", Vec::new(), None),
            ToolChange::Same => ("same", Vec::new(), None),
            ToolChange::Changed { fields, diff } => (
                "changed",
                fields.iter().map(ChangedField::from).collect(),
                Some(diff.clone()),
            ),
        };
        let reach = &compared.reach;
        let runs = reach.runs.iter().map(|(what, text)| Runs {
            what: what.clone(),
            text: text.clone(),
        });
        let tells = reach.tells.iter().map(|told| ToldSecret {
            secret: told.secret.clone(),
            host: told.host.clone(),
        });
        ComparedTool {
            slug: compared.slug.clone(),
            version: compared.version.clone(),
            kind: compared.tool.kind,
            description: compared.tool.description.clone(),
            tags: compared.tool.tags.clone(),
            change: Cow::Borrowed(change),
            fields,
            diff,
            runs: runs.collect(),
            hosts: reach.hosts.clone(),
            tells: tells.collect(),
            calls: reach.tools.clone(),
            problems: compared.problems.iter().map(ProblemRow::from).collect(),
        }
    }
}

fn any_object(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "object"})
}

fn any_object_or_null(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": ["object", "null"]})
}
