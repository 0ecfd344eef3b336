//! `security` as a wall: what a tool's programs can reach, compiled from what the file asks for.
//!
//! A level that the file names is never lowered, and what cannot be enforced is refused with a reason. Hosts are reached through the
//! guarded way out ([`crate::egress::Proxy`]) and nothing else is; without a wall nothing is confined, and a person is asked.

use std::io;
use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};

use super::CommandSettings;
use super::hosts;
use super::surroundings::{TEMP_SHOWN, expand};
use crate::definition::{Definition, Permission, Privilege};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::text;
use crate::process::{Access, Reachable, Wall, no_egress, reaches_own_data};
use crate::sandbox::{Layer, Level, writable_refusal};
use crate::template::{Values, Variable};
use crate::workspace::Workspace;

/// What a call may reach beyond the workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CommandReach {
    pub(super) read: Vec<Beyond>,
    pub(super) write: Vec<Beyond>,
    pub(super) hosts: Vec<String>,
}

/// A place outside of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Beyond {
    /// As the tool or the caller wrote it.
    pub(super) said: String,
    /// Where that is, links followed.
    pub(super) real: PathBuf,
}

impl CommandReach {
    /// What the permissions come to in one call. Paths in the workspace, or in the call's temporary directory, need none.
    pub(super) fn of(
        definition: &Definition,
        values: &Values,
        workspace: Option<&Workspace>,
    ) -> Self {
        let mut reach = CommandReach::default();
        for permission in &definition.security.permissions {
            reach.add(permission, values, workspace);
        }
        reach
    }

    /// What one permission comes to.
    pub(super) fn of_one(
        permission: &Permission,
        values: &Values,
        workspace: Option<&Workspace>,
    ) -> Self {
        let mut reach = CommandReach::default();
        reach.add(permission, values, workspace);
        reach
    }

    fn add(&mut self, permission: &Permission, values: &Values, workspace: Option<&Workspace>) {
        let (said, places) = match permission {
            Permission::Network(host) => {
                let host = host.render(values);
                if !host.is_empty() && !self.hosts.contains(&host) {
                    self.hosts.push(host);
                }
                return;
            }
            Permission::Read(path) => (path.render(values), &mut self.read),
            Permission::Write(path) => (path.render(values), &mut self.write),
        };
        if let Some(beyond) = beyond(&said, values, workspace)
            && !places.contains(&beyond)
        {
            places.push(beyond);
        }
    }

    /// Whether nothing beyond the workspace can be reached.
    pub(super) fn is_empty(&self) -> bool {
        self.read.is_empty() && self.write.is_empty() && self.hosts.is_empty()
    }

    /// Whether a path outside of the workspace may be used.
    pub(super) fn covers(&self, path: &Path) -> bool {
        let mut places = self.read.iter().chain(&self.write);
        places.any(|beyond| path.starts_with(&beyond.real))
    }

    /// Places that hold Toolcrib's own data, which is left out of them; as the tool or the caller wrote them.
    pub(super) fn above_own_data(&self, workspace: Option<&Workspace>) -> Vec<&str> {
        let Some(own) = workspace.and_then(Workspace::home) else {
            return Vec::new();
        };
        let places = self.read.iter().chain(&self.write);
        places
            .filter(|beyond| own.lies_in(&beyond.real))
            .map(|beyond| beyond.said.as_str())
            .collect()
    }

    /// What an approval rests on: the places themselves, should a link change meanwhile.
    pub(super) fn basis(&self) -> Value {
        let paths = |places: &[Beyond]| -> Vec<String> {
            let text = |beyond: &Beyond| beyond.real.to_string_lossy().into_owned();
            places.iter().map(text).collect()
        };
        json!({"read": paths(&self.read), "write": paths(&self.write), "hosts": self.hosts})
    }

    /// In words: "read `~/.cache`", "write `/srv`", "reach `api.github.com`".
    pub(super) fn in_words(&self) -> Vec<String> {
        let place = |verb: &str, beyond: &Beyond| {
            let said = text::shorten(&beyond.said, 200);
            let real = beyond.real.to_string_lossy();
            match expand(&beyond.said) == beyond.real {
                true => format!("{verb} `{said}`"),
                false => format!("{verb} `{said}` (`{}`)", text::shorten(&real, 200)),
            }
        };
        let read = self.read.iter().map(|beyond| place("read", beyond));
        let write = self.write.iter().map(|beyond| place("write", beyond));
        let hosts = self
            .hosts
            .iter()
            .map(|host| format!("reach `{}`", text::shorten(host, 200)));
        read.chain(write).chain(hosts).collect()
    }
}

fn beyond(said: &str, values: &Values, workspace: Option<&Workspace>) -> Option<Beyond> {
    if said.is_empty() {
        return None;
    }
    let mut path = expand(said);
    let climbs = |path: &Path| path.components().any(|part| part == Component::ParentDir);
    match workspace {
        Some(workspace) => path = workspace.root().join(path),
        // Wherever the workspace will be, it is in there.
        None if path.is_relative() && !climbs(&path) => return None,
        None => {}
    }
    // What does not exist is nowhere yet; running will say so.
    let real = real(&path).unwrap_or(path);
    let beneath = |root: &Path| !climbs(&real) && real.starts_with(root);
    let temp = values.variables.get(&Variable::Temp).map(Path::new);
    let inside = workspace.map(Workspace::root).is_some_and(beneath)
        || temp.is_some_and(beneath)
        || beneath(Path::new(TEMP_SHOWN));
    (!inside).then(|| Beyond {
        said: said.to_owned(),
        real,
    })
}

/// Where a path leads, links followed as far as it exists; what does not exist yet must not climb.
pub(super) fn real(path: &Path) -> io::Result<PathBuf> {
    for above in path.ancestors() {
        let Ok(found) = above.canonicalize() else {
            continue;
        };
        let rest = path.strip_prefix(above).unwrap_or(Path::new(""));
        if rest.components().any(|part| part == Component::ParentDir) {
            break;
        }
        return Ok(match rest.as_os_str().is_empty() {
            true => found,
            false => found.join(rest),
        });
    }
    Err(io::ErrorKind::NotFound.into())
}

/// The level of a tool's wall: as the file says, else `process`; what runs as root has none unless the file names one, because
/// no program gains rights behind a wall.
pub(super) fn level(definition: &Definition) -> Level {
    let security = &definition.security;
    security.isolation.unwrap_or(match security.privilege {
        Privilege::Elevated => Level::None,
        Privilege::SameAsUser | Privilege::Reduced => Level::Process,
    })
}

/// The wall around a tool that can reach this, or why it is not available.
pub(super) fn wall(
    definition: &Definition,
    settings: &CommandSettings,
    reach: &CommandReach,
    workspace: &Workspace,
) -> Result<Wall, ToolError> {
    let level = level(definition);
    let refused = refusal(definition, settings, &reach.hosts)
        .or_else(|| own_data_refusal(definition, settings, reach, Some(workspace)))
        .or_else(|| unwritable_refusal(definition, reach))
        .or_else(|| hosts::refusal(definition, settings, &reach.hosts));
    if let Some(why) = refused {
        return Err(why);
    }
    let real = |places: &[Beyond]| -> Result<Vec<PathBuf>, ToolError> {
        places.iter().map(existing).collect()
    };
    Ok(Wall {
        network: Reachable::hosts(&reach.hosts),
        reduced: definition.security.privilege == Privilege::Reduced,
        read_only: definition.declared_effects().is_read_only(),
        read: real(&reach.read)?,
        write: real(&reach.write)?,
        memory: definition.resources.max_memory,
        ..Wall::of(level)
    })
}

pub(super) fn existing(beyond: &Beyond) -> Result<PathBuf, ToolError> {
    if beyond.real.exists() {
        return Ok(beyond.real.clone());
    }
    let said = text::shorten(&beyond.said, 200);
    Err(ToolError::new(
        ErrorCode::FileNotFound,
        format!("the tool needs `{said}`, which does not exist; make it first"),
    ))
}

/// Why the tool's read or write permissions are not possible, if so: nothing that a tool runs reads or changes Toolcrib's own data.
pub(super) fn own_data_refusal(
    definition: &Definition,
    settings: &CommandSettings,
    reach: &CommandReach,
    workspace: Option<&Workspace>,
) -> Option<ToolError> {
    let workspace = workspace?;
    let name = &definition.name;
    let reading = reach.read.iter().map(|beyond| (beyond, Access::Read));
    let writing = reach.write.iter().map(|beyond| (beyond, Access::Write));
    for (beyond, access) in reading.chain(writing) {
        let Some(why) = reaches_own_data(&beyond.real, access, workspace) else {
            continue;
        };
        let said = text::shorten(&beyond.said, 200);
        return Some(ToolError::new(
            ErrorCode::PermissionDenied,
            format!("`{name}` cannot run: `{said}` of its `required-permissions` {why}"),
        ));
    }
    let said = *reach.above_own_data(Some(workspace)).first()?;
    if level(definition) == Level::None {
        return None;
    }
    let support = settings.runner.support().ok()?;
    let missing = support.check(Layer::MountNamespace).err()?;
    Some(ToolError::new(
        ErrorCode::SandboxUnavailable,
        format!(
            "`{name}` may reach `{}`, which holds Toolcrib's own data, and that cannot be left out here: {missing}",
            text::shorten(said, 200)
        ),
    ))
}

/// Why a place that the tool may write cannot be writable behind its wall, if so.
pub(super) fn unwritable_refusal(
    definition: &Definition,
    reach: &CommandReach,
) -> Option<ToolError> {
    if level(definition) == Level::None {
        return None;
    }
    let mut refused = reach
        .write
        .iter()
        .filter_map(|beyond| Some((beyond, writable_refusal(&beyond.real)?)));
    let (beyond, why) = refused.next()?;
    let said = text::shorten(&beyond.said, 200);
    Some(ToolError::new(
        ErrorCode::SandboxUnavailable,
        format!(
            "`{}` cannot run: `{said}` of its `required-permissions` {why}",
            definition.name
        ),
    ))
}

/// Why the tool's permissions are not possible here, if so.
pub(super) fn refusal(
    definition: &Definition,
    settings: &CommandSettings,
    hosts: &[String],
) -> Option<ToolError> {
    let level = level(definition);
    let name = &definition.name;
    if definition.security.privilege == Privilege::Elevated {
        if level != Level::None {
            return Some(ToolError::new(
                ErrorCode::SandboxUnavailable,
                format!(
                    "`{name}` asks for root's rights (`execution-privilege: elevated`) behind a wall (`isolation: {level}`), and behind a wall no program gains rights; it can have one or the other"
                ),
            ));
        }
        if settings.sudo.is_none() {
            return Some(ToolError::new(
                ErrorCode::ToolUnavailable,
                format!(
                    "`{name}` asks for root's rights (`execution-privilege: elevated`), and no `sudo` is configured; name one in the setting `sandbox.sudo`"
                ),
            ));
        }
    }
    if hosts.is_empty() || level == Level::None {
        return None;
    }
    if settings.runner.egress().is_none() {
        return Some(no_egress());
    }
    let missing = settings
        .runner
        .support()
        .ok()?
        .check(Layer::ProxyOnly)
        .err()?;
    Some(ToolError::new(
        ErrorCode::SandboxUnavailable,
        format!(
            "`{name}` may reach some hosts and no others, and that cannot be enforced here: {missing}"
        ),
    ))
}
