//! What a call would do, and the secrets that it would need: [`Planned`], the answer to a dry run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::request::CallRequest;
use crate::crib::Crib;
use crate::manifest::HttpDefinition;
use crate::model::JsonObject;
use crate::model::effects::Verdict;
use crate::model::error::ToolError;
use crate::model::names::Slug;

/// What a call would do.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Planned {
    /// The tool's name for models.
    pub tool: String,
    /// Which tool exactly: `bundle/slug@version`.
    pub reference: String,
    /// The arguments it would receive, with defaults and without secrets.
    pub parameters: JsonObject,
    /// What it may do to the world.
    pub effects: Vec<String>,
    /// What it would do, in words.
    pub effect: String,
    /// Whether it would run at once, ask first, or be refused.
    pub verdict: Verdict,
    /// The grant that lets it run without asking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant: Option<String>,
    /// Why it would ask or be refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What would change in a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// How long it may run, in milliseconds.
    pub timeout_ms: u64,
    /// How long each text of its output may be.
    pub max_output_bytes: u64,
    /// The secrets that it would send.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<SecretNeeded>,
}

/// A secret that a tool sends.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SecretNeeded {
    /// Its name.
    pub name: String,
    /// Whether it is kept here.
    pub kept: bool,
    /// Why a call cannot have it, in the words of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The one host that would receive it; none where the tool has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

impl SecretNeeded {
    /// As documents of the command line have it.
    #[must_use]
    pub fn without_host(self) -> Self {
        SecretNeeded { host: None, ..self }
    }

    /// Whether it can be used, and what to do if not.
    pub fn in_words(&self) -> String {
        let name = &self.name;
        match (&self.reason, &self.host) {
            (None, _) => format!("{name} is kept here"),
            (Some(reason), _) if self.kept => format!("{name} cannot be used: {reason}"),
            (Some(_), Some(host)) => {
                format!("{name} is missing: `toolcrib secret set {name} --host {host}` asks for it")
            }
            (Some(_), None) => {
                format!("{name} is missing: `toolcrib secret set {name}` asks for it")
            }
        }
    }
}

impl Crib {
    /// Says what a call would do, and does nothing.
    pub fn planned(&self, request: CallRequest) -> Result<Planned, ToolError> {
        let plan = self.registry().plan(request)?;
        let secrets = self.registry().find(&plan.tool).ok().and_then(|entry| {
            let files = self.tool_files();
            let http = files.file_of(&entry)?.definition.as_ref()?.http()?;
            Some(self.secrets_needed(http, &entry.spec().bundle))
        });
        Ok(Planned {
            tool: plan.tool,
            reference: plan.reference,
            parameters: plan.parameters,
            effects: plan.effects.tags().into_iter().map(str::to_owned).collect(),
            effect: plan.effect,
            verdict: plan.verdict,
            grant: plan.grant,
            reason: plan.reason,
            diff: plan.diff,
            timeout_ms: plan.timeout_ms,
            max_output_bytes: plan.max_output_bytes,
            secrets: secrets.unwrap_or_default(),
        })
    }

    /// The secrets of a tool, and whether its calls can have them: that they are saved here, and bound to the hosts that receive them.
    pub fn secrets_needed(&self, definition: &HttpDefinition, bundle: &Slug) -> Vec<SecretNeeded> {
        let told = definition.told();
        let host = match definition.targets().as_slice() {
            [target] => Some(target.entry()),
            _ => None,
        };
        let needed = |name| {
            let mut targets = told.iter().filter(|(told, _)| *told == name);
            let refused =
                targets.find_map(|(_, target)| self.secrets().reveal(name, bundle, target).err());
            SecretNeeded {
                name: name.as_str().to_owned(),
                kept: self.secrets().contains(name).unwrap_or(false),
                reason: refused.map(|error| error.to_string()),
                host: host.clone(),
            }
        };
        definition.secrets().into_iter().map(needed).collect()
    }
}
