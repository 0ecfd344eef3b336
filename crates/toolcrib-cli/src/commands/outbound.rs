//! What an HTTP tool needs before it can be called: hosts that the settings name, secrets that are kept.

use serde::Serialize;
use toolcrib::Crib;
use toolcrib::egress::Standing;
use toolcrib::manifest::HttpDefinition;
use toolcrib::source::authority;

/// A host that a tool sends requests to.
#[derive(Debug, Serialize)]
pub(super) struct HostNeeded {
    /// The entry of `allowedHosts` that names it.
    entry: String,
    /// Whether requests may go there.
    allowed: bool,
    /// Why not, and what to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// A secret that a tool tells.
#[derive(Debug, Serialize)]
pub(super) struct SecretNeeded {
    name: String,
    /// Whether it is kept here.
    kept: bool,
    /// The one host that it would be told; none where the tool has several.
    #[serde(skip)]
    host: Option<String>,
}

/// The hosts of a tool, and whether the settings name them.
pub(super) fn hosts(definition: &HttpDefinition, crib: &Crib) -> Vec<HostNeeded> {
    let targets = definition.targets().into_iter();
    targets
        .map(|target| {
            let entry = authority(target);
            let reason = match crib.egress().standing(target) {
                Standing::Listed => None,
                Standing::Unlisted => Some(format!(
                    "the setting `allowedHosts` does not name it: add it in config.toml (`allowedHosts = [\"{entry}\"]`)"
                )),
                Standing::Refused(refusal) => Some(refusal.message),
            };
            HostNeeded {
                allowed: reason.is_none(),
                entry,
                reason,
            }
        })
        .collect()
}

/// The secrets of a tool, and whether they are kept here.
pub(super) fn secrets(definition: &HttpDefinition, crib: &Crib) -> Vec<SecretNeeded> {
    let host = match definition.targets().as_slice() {
        [target] => Some(authority(target)),
        _ => None,
    };
    let names = definition.secrets().into_iter();
    names
        .map(|name| SecretNeeded {
            name: name.as_str().to_owned(),
            kept: crib.secrets().contains(name).unwrap_or(false),
            host: host.clone(),
        })
        .collect()
}

impl HostNeeded {
    pub(super) fn in_words(&self) -> String {
        match &self.reason {
            None => format!("{} is in `allowedHosts`", self.entry),
            Some(reason) => format!("{} cannot be reached: {reason}", self.entry),
        }
    }
}

impl SecretNeeded {
    pub(super) fn in_words(&self) -> String {
        let name = &self.name;
        match (self.kept, &self.host) {
            (true, _) => format!("{name} is kept here"),
            (false, Some(host)) => {
                format!("{name} is missing: `toolcrib secret set {name} --host {host}` asks for it")
            }
            (false, None) => format!("{name} is missing: `toolcrib secret set {name}` asks for it"),
        }
    }
}
