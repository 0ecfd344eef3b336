//! What an HTTP tool needs before it can be called: hosts that the settings name, secrets that are kept.

use std::path::PathBuf;

use serde::Serialize;
use toolcrib::Crib;
use toolcrib::config::Origin;
use toolcrib::egress::HostVerdict;
use toolcrib::manifest::HttpDefinition;

/// What the setting `allowedHosts` has to be for a host to be in it.
pub(super) struct Missing {
    /// The whole list, so that what is there already is neither lost nor said twice.
    pub(super) hosts: Vec<String>,
    origin: Origin,
    file: PathBuf,
}

impl Missing {
    /// For an entry that is not there yet.
    pub(super) fn of(entry: &str, crib: &Crib) -> Missing {
        let mut entries = crib.config().entries();
        let found = entries.find(|(setting, _, _)| setting.key == "allowedHosts");
        let (hosts, origin) = match found {
            Some((_, value, origin)) => (value.as_array().cloned().unwrap_or_default(), origin),
            None => (Vec::new(), Origin::Default),
        };
        let listed = hosts.iter().filter_map(|host| host.as_str());
        Missing {
            hosts: listed.chain([entry]).map(str::to_owned).collect(),
            origin,
            file: crib.home().join("config.toml"),
        }
    }

    /// What to do, in words and with a command or a line to copy.
    pub(super) fn in_words(&self) -> String {
        let file = self.file.display();
        let host = self.hosts.last().map_or("", String::as_str);
        match self.origin {
            Origin::Environment => format!(
                "the environment says which are allowed; set `TOOLCRIB_ALLOWED_HOSTS={}`",
                self.hosts.join(",")
            ),
            Origin::Default | Origin::Home | Origin::Flag => {
                format!("`toolcrib config set --add allowedHosts {host}` adds it to {file}")
            }
            Origin::Project => format!(
                "the project's .toolcrib/config.toml leaves hosts out: `allowedHosts` there and in {file} must both have \"{host}\""
            ),
        }
    }
}

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

/// The hosts of a tool, and whether the settings name them.
pub(super) fn hosts(definition: &HttpDefinition, crib: &Crib) -> Vec<HostNeeded> {
    let targets = definition.targets().into_iter();
    targets
        .map(|target| {
            let entry = target.entry();
            let reason = match crib.egress().standing(target) {
                HostVerdict::Listed => None,
                HostVerdict::Unlisted => Some(format!(
                    "the setting `allowedHosts` does not name it: {}",
                    Missing::of(&entry, crib).in_words()
                )),
                HostVerdict::Refused(refusal) => Some(refusal.message),
            };
            HostNeeded {
                allowed: reason.is_none(),
                entry,
                reason,
            }
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
