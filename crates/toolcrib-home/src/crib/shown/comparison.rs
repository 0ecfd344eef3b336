//! What differs between two bundles, and what the tools of the new one would run and reach: [`ComparisonShown`].

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::check::ProblemRow;
use crate::crib::{Contest, Crib};
use crate::definition::Severity;
use crate::model::names::{Slug, Version};
use crate::registry::Entry;
use crate::secret::Asker;
use crate::spec::manifest::{Bundle, ToolKind};
use crate::store::archive::{
    Comparison, Contents, FieldChange, IMPORTED_AT, ToolChange, ToolComparison,
};

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
    /// What all tools of the new one together reach, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reach: Option<ReachShown>,
}

/// What the tools of a bundle together reach.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ReachShown {
    /// The hosts.
    pub hosts: Vec<String>,
    /// The secrets that hosts would receive.
    pub secrets: Vec<SecretShown>,
}

/// A secret that hosts would receive.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SecretShown {
    /// Its name.
    pub secret: String,
    /// The hosts that would receive it.
    pub hosts: Vec<String>,
    /// Whether it is kept here, and whether tools of this bundle get it, in words.
    pub kept: String,
}

/// Additional facts about a compared tool, for people.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComparedShown {
    /// Its own switch.
    pub is_enabled: bool,
    /// How bad each of its `problems` is.
    pub severities: Vec<Severity>,
    /// What it reaches that it did not before, each in words.
    pub beyond: Vec<String>,
    /// What a person should know before trusting its looks; of a tool that is in the store.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
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
    /// The differences as a unified diff of the JSON.
    pub diff: Option<String>,
    /// What it runs and sends.
    pub runs: Vec<Runs>,
    /// The hosts it reaches.
    pub hosts: Vec<String>,
    /// The hosts that receive its secrets.
    pub tells: Vec<ToldSecret>,
    /// The tools it calls.
    pub calls: Vec<String>,
    /// Its errors and warnings; with an error it cannot be called.
    pub problems: Vec<ProblemRow>,
    /// Additional facts for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<ComparedShown>,
}

/// Something that a tool runs or sends.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Runs {
    /// What it is.
    pub what: String,
    /// Its text.
    pub text: String,
}

/// A secret that a host would receive.
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
            reach: None,
        }
    }

    /// Without the additional facts for people.
    #[must_use]
    pub fn for_programs(mut self) -> Self {
        self.reach = None;
        for tool in &mut self.tools {
            tool.shown = None;
        }
        self
    }
}

impl Crib {
    /// A comparison of `new` with `old`, with additional facts for people.
    pub fn compared(
        &self,
        comparison: &Comparison,
        old: Option<&Contents>,
        new: &Contents,
    ) -> ComparisonShown {
        let mut shown = ComparisonShown::of(comparison, old, new);
        let entries = self.bundle_tools(new.bundle.bundle_id);
        for (tool, compared) in shown.tools.iter_mut().zip(&comparison.tools) {
            let is_it = |entry: &&Arc<Entry>| {
                let spec = entry.spec();
                (&spec.slug, &spec.version) == (&compared.slug, &compared.version)
            };
            let entry = entries.iter().find(is_it);
            let warnings = entry.map(|entry| entry.spec().warnings());
            let problems = compared.problems.iter();
            tool.shown = Some(ComparedShown {
                is_enabled: compared.tool.is_enabled,
                severities: problems.map(|problem| problem.severity).collect(),
                beyond: beyond(compared),
                warnings: warnings.into_iter().flatten().map(str::to_owned).collect(),
            });
        }
        shown.reach = Some(self.reach_of(comparison, &new.bundle));
        shown
    }

    /// Where all tools of a bundle together would go, whom they would tell which secrets, and whether those are kept here.
    fn reach_of(&self, comparison: &Comparison, bundle: &Bundle) -> ReachShown {
        let stay = || {
            let tools = comparison.tools.iter();
            tools.filter(|tool| tool.change != ToolChange::Removed)
        };
        let hosts: BTreeSet<&String> = stay().flat_map(|tool| &tool.reach.hosts).collect();
        let mut told: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for one in stay().flat_map(|tool| &tool.reach.tells) {
            told.entry(&one.secret).or_default().insert(&one.host);
        }
        let asker = Asker {
            bundle: bundle.slug.clone(),
            id: Some(bundle.bundle_id),
            is_imported: bundle.extra.contains_key(IMPORTED_AT),
        };
        let secrets = told.into_iter().map(|(secret, hosts)| SecretShown {
            secret: secret.to_owned(),
            hosts: hosts.into_iter().map(str::to_owned).collect(),
            kept: self.kept(secret, &asker),
        });
        ReachShown {
            secrets: secrets.collect(),
            hosts: hosts.into_iter().cloned().collect(),
        }
    }

    /// Whether a secret is kept here, and whether tools of this bundle would get it.
    fn kept(&self, secret: &str, asker: &Asker) -> String {
        let secrets = self.secrets().list().unwrap_or_default();
        let Some(entry) = secrets.iter().find(|entry| entry.name.as_str() == secret) else {
            return "not kept here".to_owned();
        };
        let bundles = entry.binding.bundles();
        let names: Vec<&str> = bundles.iter().map(Slug::as_str).collect();
        match (bundles, entry.binding.is_for(asker)) {
            ([], _) => "kept here, for tools of any bundle".to_owned(),
            (_, true) => "kept here, for tools of this bundle".to_owned(),
            (bundles, false) if bundles.contains(&asker.bundle) => format!(
                "kept here, for another bundle that was named `{}`: this one does not get it",
                asker.bundle
            ),
            (_, false) => format!(
                "kept here, for tools of {}: this one does not get it",
                names.join(", ")
            ),
        }
    }
}

/// What a changed tool reaches that it did not before.
fn beyond(compared: &ToolComparison) -> Vec<String> {
    let Some(before) = &compared.before else {
        return Vec::new();
    };
    let now = &compared.reach;
    let hosts = now.hosts.iter().filter(|host| !before.hosts.contains(host));
    let hosts = hosts.map(|host| format!("{host} was not reached before"));
    let tells = now.tells.iter().filter(|told| !before.tells.contains(told));
    let tells = tells.map(|told| format!("{} did not receive {} before", told.host, told.secret));
    hosts.chain(tells).collect()
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
            shown: None,
        }
    }
}

fn any_object(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "object"})
}

fn any_object_or_null(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": ["object", "null"]})
}
