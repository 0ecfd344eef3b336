//! Clients that are connected: what their files say is started, exactly as they would, and asked for its tools.
//!
//! A project's file may have come with the project: of those only what `toolcrib connect` wrote is started.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toolcrib::crib::UpstreamCandidate;
use toolcrib::model::text::{shorten, visible};
use toolcrib::upstream::{self, Auth, ConfiguredValue, Probe, Transport, UpstreamSettings};
use toolcrib::{Crib, ToolError};

use super::super::connect::{Connected, connected};
use super::Finding;
use crate::clients_of_others::{ConnectBy, PROJECT_VARIABLE, Scope, expand};
use crate::remote;

/// How long a client's server may take to come up: clients are no more patient.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn look(crib: &Crib, findings: &mut Vec<Finding>) {
    let (all, problems) = connected(crib);
    for (client, why) in problems {
        let fix = "fix the file: the program cannot read it either";
        findings.push(Finding::warning(client.word(), why, fix));
    }
    let mut tried = Vec::new();
    for one in &all {
        match candidate(one, crib) {
            Ok(candidate) => tried.push((one, candidate)),
            Err(finding) => findings.push(finding),
        }
    }
    if tried.is_empty() {
        return;
    }
    let Ok(runtime) = remote::runtime() else {
        return;
    };
    let probes = tried.iter().map(|(_, candidate)| {
        // Whatever hangs is given up with the time it is given for connecting, and once more for the list.
        tokio::time::timeout(2 * PATIENCE, crib.probe_candidate(candidate))
    });
    let probes = runtime.block_on(async { futures_util::future::join_all(probes).await });
    runtime.shutdown_background();
    for ((one, _), probed) in tried.iter().zip(probes) {
        findings.push(match probed {
            Ok(Ok(probe)) => works(one, &probe),
            Ok(Err(error)) => {
                let stderr = error
                    .details()
                    .and_then(|details| details.get("stderr")?.as_str());
                let last = stderr.unwrap_or_default().trim();
                let said = match last.is_empty() {
                    true => String::new(),
                    false => format!("; it said: {}", shorten(&visible(last), 400)),
                };
                let why = format!("{}{said}", error.message());
                match is_stranger(&error) {
                    true => {
                        Finding::broken(one.client.word(), format!("{}: {why}", at(one)), NEW_TOKEN)
                    }
                    false => broken(one, &why),
                }
            }
            Err(_) => broken(one, "it did not list its tools in time"),
        });
    }
}

fn at(one: &Connected) -> String {
    format!("`{}` in {}", visible(&one.server.name), one.file.display())
}

fn works(one: &Connected, probe: &Probe) -> Finding {
    let message = format!(
        "{} works: {} tools in {} ms",
        at(one),
        probe.tools.len(),
        (probe.connected + probe.listed).as_millis()
    );
    Finding::ok(one.client.word(), message)
}

fn broken(one: &Connected, why: &str) -> Finding {
    Finding::broken(one.client.word(), format!("{}: {why}", at(one)), again(one))
}

/// Whether a server does not know who asks.
fn is_stranger(error: &ToolError) -> bool {
    let status = error.details().and_then(|details| details.get("status"));
    status.is_some_and(|status| *status == 401)
}

/// What helps where a token is missing or not known.
const NEW_TOKEN: &str =
    "`toolcrib clients add NAME` prints a token; set TOOLCRIB_TOKEN to it where the program starts";

/// What to type.
fn again(one: &Connected) -> String {
    let project = match one.scope {
        Scope::Project => " --project",
        Scope::User => "",
    };
    let name = match one.server.name.as_str() {
        "toolcrib" => String::new(),
        name => format!(" --name {}", visible(name)),
    };
    let word = one.client.word();
    let anew = |http: &str| {
        format!(
            "`toolcrib connect {word}{project}{name}{http}` writes it again; `--undo` removes it"
        )
    };
    match &one.server.way {
        ConnectBy::Http { url, .. } => {
            let base = url.strip_suffix("/mcp").unwrap_or(url);
            let is_here = ["http://127.0.0.1:", "http://localhost:", "http://[::1]:"]
                .iter()
                .any(|start| base.starts_with(start));
            match is_here {
                true => format!("start it with `toolcrib serve`; {}", anew(" --http")),
                // Only its operator can start it.
                false => anew(&format!(" --http {}", visible(base))),
            }
        }
        ConnectBy::Program { .. } | ConnectBy::Unknown(_) => anew(""),
    }
}

/// What to start, or what is wrong before anything is.
fn candidate(one: &Connected, crib: &Crib) -> Result<UpstreamCandidate, Finding> {
    let word = one.client.word();
    if !one.server.is_enabled {
        let message = format!("{} is switched off there", at(one));
        return Err(Finding::warning(
            word,
            message,
            "switch it on in the program's settings",
        ));
    }
    if one.scope == Scope::Project && !one.is_recorded {
        let message = format!("{} was not started: it came with the project", at(one));
        let fix = "look at it; `toolcrib connect` with --project writes your own";
        return Err(Finding::warning(word, message, fix));
    }
    let transport = match &one.server.way {
        ConnectBy::Program {
            command,
            args,
            env,
            cwd,
        } => {
            let args = in_project(args, crib);
            whole(command, &args).map_err(|why| broken(one, &why))?;
            let env = env
                .iter()
                .map(|(name, value)| (name.clone(), ConfiguredValue::Plain(value.clone())));
            Transport::Program {
                command: command.clone(),
                args,
                env: env.collect(),
                cwd: Some(start_directory(one, cwd.as_deref(), crib)),
            }
        }
        ConnectBy::Http {
            url,
            headers,
            token_variable,
        } => {
            let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
            let mut sent = std::collections::BTreeMap::new();
            for (header, value) in headers {
                let value =
                    expand(value, variable).map_err(|why| untried(one, &why.to_string()))?;
                sent.insert(header.clone(), ConfiguredValue::Plain(value));
            }
            if let Some(name) = token_variable {
                let token = variable(name).ok_or_else(|| {
                    untried(one, &format!("the variable `{name}` is not set here"))
                })?;
                sent.insert(
                    "Authorization".to_owned(),
                    ConfiguredValue::Plain(format!("Bearer {token}")),
                );
            }
            Transport::Http {
                url: url.clone(),
                headers: sent,
                auth: Auth::None,
            }
        }
        ConnectBy::Unknown(why) => return Err(broken(one, why)),
    };
    let mut settings = UpstreamSettings::new(transport);
    settings.connect_timeout = PATIENCE;
    let name = upstream::name(&one.server.name)
        .or_else(|_| upstream::name("toolcrib"))
        .map_err(|why| broken(one, &why))?;
    Ok(UpstreamCandidate { name, settings })
}

fn untried(one: &Connected, why: &str) -> Finding {
    let message = format!("{} was not tried: {why}", at(one));
    Finding::warning(one.client.word(), message, NEW_TOKEN)
}

/// Where the client would start it.
fn start_directory(one: &Connected, cwd: Option<&str>, crib: &Crib) -> PathBuf {
    let given = cwd.map(PathBuf::from).filter(|path| path.is_absolute());
    let project = || {
        let starts_there = one.client.starts_in_the_project();
        crib.workspace_path()
            .filter(|_| starts_there)
            .map(Path::to_owned)
    };
    given.or_else(project).unwrap_or_else(|| PathBuf::from("/"))
}

/// The arguments as the client gives them: with the project's directory in the place of its variable.
fn in_project(args: &[String], crib: &Crib) -> Vec<String> {
    let project = crib.workspace_path().and_then(Path::to_str);
    args.iter()
        .map(|word| match project {
            Some(project) => word.replace(PROJECT_VARIABLE, project),
            None => word.clone(),
        })
        .collect()
}

/// Finds what no program needs to be started for.
fn whole(command: &str, args: &[String]) -> Result<(), String> {
    let path = Path::new(command);
    if path.components().count() > 1 {
        let shown = visible(command);
        match path.metadata() {
            Err(error) => return Err(format!("the program `{shown}` is not there: {error}")),
            Ok(found) if !found.is_file() => return Err(format!("`{shown}` is not a program")),
            Ok(found) if found.permissions().mode() & 0o111 == 0 => {
                return Err(format!("`{shown}` may not be run: it is not executable"));
            }
            Ok(_) => {}
        }
        if !path.is_absolute() {
            return Err(format!(
                "`{shown}` is not an absolute path: it depends on where it is started"
            ));
        }
    }
    let mut words = args.iter().skip_while(|word| *word != "--workspace");
    match words.nth(1) {
        Some(named) if !Path::new(named).is_dir() => {
            Err(format!("its workspace `{}` is gone", visible(named)))
        }
        _ => Ok(()),
    }
}
