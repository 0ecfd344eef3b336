//! `toolcrib explain <tool>`: the wall of a tool, line by line, and what backs each line on this machine.
//!
//! The plan is made by the code that sets up the wall of a call, so that it cannot promise what a call does not get.

use super::CommandSettings;
use super::command_reach::{self, CommandReach};
use super::hosts;
use super::surroundings::{judged_values, needs_temp};
use crate::definition::{Cleanup, Definition, Permission, Privilege};
use crate::model::JsonObject;
use crate::model::sandbox_plan::{PlanLine, SandboxPlan};
use crate::model::text;
use crate::process::{Wall, no_egress};
use crate::sandbox::{Layer, Level, Missing, Support};
use crate::template::Values;
use crate::workspace::Workspace;

/// The plan of a call with these arguments; without some, places that depend on them are as the file has them.
pub(super) fn plan(
    definition: &Definition,
    settings: &CommandSettings,
    args: &JsonObject,
    workspace: Option<&Workspace>,
) -> SandboxPlan {
    let values = judged_values(definition, args, workspace);
    let reach = CommandReach::of(definition, &values, workspace);
    let level = command_reach::level(definition);
    let support = match settings.runner.support() {
        Ok(support) => support,
        Err(error) => {
            return SandboxPlan {
                lines: Vec::new(),
                refused: Some(error.message().to_owned()),
            };
        }
    };
    let here = Here {
        support: &support,
        level,
    };
    let mut lines = vec![
        here.isolation(definition),
        here.privilege(definition, settings),
    ];
    lines.extend(here.files(definition, &values, &reach, workspace));
    lines.push(here.network(&reach, settings));
    lines.push(here.memory(definition, settings));
    lines.push(here.time(definition));
    lines.push(environment(definition));
    lines.extend(directories(definition));
    lines.extend(cleanup(definition));
    if let Some(interactive) = &definition.interactive {
        let after = interactive.timeout.as_millis();
        let promise = match &interactive.default_response {
            Some(answer) => {
                format!("on its own terminal; after {after} ms without output `{answer}` is typed")
            }
            None => format!("on its own terminal; {after} ms without output end it"),
        };
        lines.push(PlanLine::kept("interactive", promise, "a pseudo-terminal"));
    }
    let refused = command_reach::refusal(definition, settings, &reach.hosts)
        .or_else(|| command_reach::own_data_refusal(definition, settings, &reach, workspace))
        .or_else(|| hosts::refusal(definition, settings, &reach.hosts))
        .map(|error| error.message().to_owned())
        .or_else(|| here.refuses(definition));
    SandboxPlan { lines, refused }
}

/// What can be had at the level of the tool.
struct Here<'a> {
    support: &'a Support,
    level: Level,
}

impl Here<'_> {
    fn has(&self, layer: Layer) -> Result<(), Missing> {
        self.support.check(layer)
    }

    fn refuses(&self, definition: &Definition) -> Option<String> {
        let missing = self.support.level(self.level).err();
        let reduced = (definition.security.privilege == Privilege::Reduced)
            .then(|| self.has(Layer::OwnUser).err())
            .flatten();
        missing.or(reduced).map(|missing| missing.to_string())
    }

    fn isolation(&self, definition: &Definition) -> PlanLine {
        let said = match definition.security.isolation {
            Some(_) => "as the file says",
            None => "the file says nothing",
        };
        let promise = format!("{} ({said})", self.level);
        if self.level == Level::None {
            return PlanLine::open(
                "isolation",
                promise,
                "no wall at all; only time, output and the end of its processes are looked after",
            );
        }
        if let Err(missing) = self.support.level(self.level) {
            return PlanLine::open("isolation", promise, missing.to_string());
        }
        let mut layers: Vec<Layer> = Support::required(self.level).to_vec();
        let wanted = [
            Layer::PidNamespace,
            Layer::MountNamespace,
            Layer::PrivateProc,
        ];
        let mut lacking = Vec::new();
        for layer in wanted {
            match self.has(layer) {
                Ok(()) if !layers.contains(&layer) => layers.push(layer),
                Ok(()) => {}
                Err(missing) => lacking.push(missing.to_string()),
            }
        }
        let names: Vec<&str> = layers.iter().map(|layer| layer.name()).collect();
        let backed = format!(
            "{}, no-new-privileges, no-capabilities, resource-limits",
            names.join(", ")
        );
        match lacking.is_empty() {
            true => PlanLine::kept("isolation", promise, backed),
            false => PlanLine::open(
                "isolation",
                promise,
                format!("{backed}; without {}", lacking.join("; without ")),
            ),
        }
    }

    fn privilege(&self, definition: &Definition, settings: &CommandSettings) -> PlanLine {
        match definition.security.privilege {
            Privilege::SameAsUser => PlanLine::kept(
                "privilege",
                "the caller's, never more",
                match self.level {
                    Level::None => "the kernel's permissions",
                    Level::Process | Level::Container => "no-new-privileges, no-capabilities",
                },
            ),
            Privilege::Reduced => match self.has(Layer::OwnUser) {
                Ok(()) => PlanLine::kept("privilege", "a user that owns nothing", "own-user"),
                Err(missing) => {
                    PlanLine::open("privilege", "a user that owns nothing", missing.to_string())
                }
            },
            Privilege::Elevated => match &settings.sudo {
                Some(sudo) => PlanLine::kept(
                    "privilege",
                    "root's; a person is asked every time",
                    format!("`{} -n`", sudo.display()),
                ),
                None => PlanLine::open(
                    "privilege",
                    "root's; a person is asked every time",
                    "no `sudo` is configured (`sandbox.sudo`)",
                ),
            },
        }
    }

    fn files(
        &self,
        definition: &Definition,
        values: &Values,
        reach: &CommandReach,
        workspace: Option<&Workspace>,
    ) -> Vec<PlanLine> {
        let by = match self.level {
            Level::None => {
                return vec![PlanLine::open(
                    "files",
                    "whatever the caller can read and write",
                    "no wall",
                )];
            }
            Level::Process => "landlock",
            Level::Container => "landlock, own-root",
        };
        let mut lines = vec![match definition.declared_effects().is_read_only() {
            true => PlanLine::kept(
                "files",
                "reads the workspace (tagged only `read`), programs and libraries; writes only to its temporary directory",
                by,
            ),
            false => PlanLine::kept(
                "files",
                "reads and writes the workspace, reads programs and libraries, nothing else",
                by,
            ),
        }];
        for beyond in reach.in_words() {
            if !beyond.starts_with("reach ") {
                lines.push(PlanLine::kept(
                    "files",
                    format!("may {beyond}; a person is asked every time"),
                    by,
                ));
            }
        }
        lines.extend(permissions(definition, values, reach, by));
        for said in reach.above_own_data(workspace) {
            let promise = format!(
                "Toolcrib's own data is left out of `{}`",
                text::shorten(said, 200)
            );
            lines.push(match self.has(Layer::MountNamespace) {
                Ok(()) => PlanLine::kept("files", promise, "mount-namespace"),
                Err(missing) => PlanLine::open("files", promise, missing.to_string()),
            });
        }
        let protected =
            "`.git/hooks`, `.envrc` and other names that programs run later cannot be written";
        lines.push(match self.has(Layer::MountNamespace) {
            Ok(()) => PlanLine::kept("files", protected, "protected-names"),
            Err(missing) => PlanLine::open("files", protected, missing.to_string()),
        });
        lines
    }

    fn network(&self, reach: &CommandReach, settings: &CommandSettings) -> PlanLine {
        if self.level == Level::None {
            let backed = match reach.hosts.is_empty() {
                true => "no wall",
                false => "no wall: the hosts that the tool names bind it to nothing",
            };
            return PlanLine::open("network", "whatever the caller can reach", backed);
        }
        if reach.hosts.is_empty() {
            let by = match self.level {
                Level::Container => "no-sockets, network-namespace",
                Level::None | Level::Process => "no-sockets",
            };
            return PlanLine::kept("network", "none", by);
        }
        let hosts: Vec<String> = reach.hosts.iter().map(|host| format!("`{host}`")).collect();
        let promise = format!("{}; a person is asked every time", hosts.join(", "));
        if settings.runner.egress().is_none() {
            return PlanLine::open("network", promise, no_egress().message());
        }
        match self.has(Layer::ProxyOnly) {
            Ok(()) => PlanLine::kept(
                "network",
                promise,
                "a guarded proxy and no other way out (proxy-only, network-namespace)",
            ),
            Err(missing) => PlanLine::open("network", promise, missing.to_string()),
        }
    }

    fn memory(&self, definition: &Definition, settings: &CommandSettings) -> PlanLine {
        let wall = Wall {
            memory: definition.resources.max_memory,
            ..Wall::of(self.level)
        };
        let Some(bytes) = settings.runner.memory(&wall) else {
            return PlanLine::open("memory", "no limit", "the setting `sandbox.memoryMb`");
        };
        let promise = format!("{} of all its processes together", text::size(bytes));
        match self.has(Layer::MemoryLimit) {
            Ok(()) => PlanLine::kept("memory", promise, "a cgroup (memory-limit)"),
            Err(missing) => PlanLine::open(
                "memory",
                promise,
                format!(
                    "only of each process (memory-limit-per-process); {}",
                    missing.reason
                ),
            ),
        }
    }

    fn time(&self, definition: &Definition) -> PlanLine {
        let promise = match definition.timeout {
            Some(timeout) => format!("{} ms, then every process is ended", timeout.as_millis()),
            None => "the limit of calls, then every process is ended".to_owned(),
        };
        match (self.level, self.has(Layer::PidNamespace)) {
            (Level::None, _) => PlanLine::open(
                "time",
                promise,
                "its process tree, as far as it can be found",
            ),
            (_, Ok(())) => PlanLine::kept("time", promise, "tree-kill (pid-namespace)"),
            (_, Err(missing)) => PlanLine::open("time", promise, missing.to_string()),
        }
    }
}

/// What the file asks for and what no call, or not this one, takes beyond the workspace: with its values, or with placeholders where
/// those are not known.
fn permissions(
    definition: &Definition,
    values: &Values,
    reach: &CommandReach,
    by: &str,
) -> Vec<PlanLine> {
    let mut lines = Vec::new();
    for permission in &definition.security.permissions {
        let (verb, path, beyond) = match permission {
            Permission::Read(path) => ("read", path, &reach.read),
            Permission::Write(path) => ("write", path, &reach.write),
            Permission::Network(_) => continue,
        };
        let mut references = path.references().iter();
        let promise = match references.all(|named| values.get(named).is_some()) {
            true => {
                let path = path.render(values);
                if beyond.iter().any(|beyond| beyond.said == path) {
                    continue;
                }
                format!(
                    "may {verb} `{}`, which needs no approval",
                    text::shorten(&path, 200)
                )
            }
            false => format!(
                "may {verb} `{}`; a person is asked every time if that is beyond the workspace",
                text::shorten(&path.shown(), 200)
            ),
        };
        lines.push(PlanLine::kept("files", promise, by));
    }
    lines
}

fn environment(definition: &Definition) -> PlanLine {
    let passed = match definition.environment.inherit {
        true => {
            "the caller's variables without secrets and what makes programs load something else"
        }
        false => "PATH, HOME, LANG, LC_*, TZ, TERM and TMPDIR",
    };
    let own: Vec<&str> = definition
        .environment
        .variables
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    let promise = match own.is_empty() {
        true => passed.to_owned(),
        false => format!("{passed}, and {}", own.join(", ")),
    };
    PlanLine::kept("environment", promise, "environment")
}

fn directories(definition: &Definition) -> Vec<PlanLine> {
    let mut lines = Vec::new();
    if definition.paths.working_directory.is_some() {
        lines.push(PlanLine::kept(
            "directory",
            "starts where `working-directory` says: in the workspace, or where a `filesystem:` permission reaches",
            "a check before it starts",
        ));
    }
    if needs_temp(definition) {
        lines.push(PlanLine::kept(
            "temporary",
            "a directory of the call's own (`{TEMP}`)",
            "mode 0700, a name that cannot be guessed, removed at the end",
        ));
    }
    lines
}

fn cleanup(definition: &Definition) -> Vec<PlanLine> {
    definition
        .resources
        .cleanup
        .iter()
        .map(|cleanup| match cleanup {
            Cleanup::DeleteTempFiles(true) => PlanLine::kept(
                "cleanup",
                "temporary files are deleted, however the call ends",
                "the descriptor the directory was made with",
            ),
            Cleanup::DeleteTempFiles(false) => {
                PlanLine::kept("cleanup", "temporary files are left", "the file says so")
            }
            Cleanup::FinalCommand(program) => PlanLine::kept(
                "cleanup",
                format!(
                    "`{}` is run, however the call ends",
                    text::shorten(program.source.trim(), 200)
                ),
                "the same wall, 10 seconds at most",
            ),
        })
        .collect()
}
