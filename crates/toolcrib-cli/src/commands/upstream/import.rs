//! `toolcrib upstream import`: the servers that another program has in its file, as upstream servers of ours.
//!
//! Nothing is started and nothing is accepted; what a file has in clear that looks like a key goes into the secrets.

mod translate;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;
use toolcrib::config::Replace;
use toolcrib::crib::UpstreamCandidate;
use toolcrib::model::text::visible;
use toolcrib::{Crib, ErrorCode, ToolError};

use super::super::Done;
use super::super::confirm::{confirmed, declined};
use crate::args::{Global, UpstreamImportArgs};
use crate::clients_of_others::{
    ClientFile, Directories, Document, Format, OtherClient, OtherServer, Scope,
};
use crate::failure::CliError;
use crate::output::Output;
use translate::{StoredSecret, Translated, translate};

/// A server that was left out.
struct Skipped {
    name: String,
    from: PathBuf,
    why: String,
}

/// The servers to add.
struct Wanted {
    candidate: UpstreamCandidate,
    from: PathBuf,
    kept: Vec<StoredSecret>,
}

pub(super) fn import(
    args: &UpstreamImportArgs,
    crib: &Crib,
    global: &Global,
    output: &Output,
) -> Done {
    let (mut wanted, mut skipped) = (Vec::<Wanted>::new(), Vec::new());
    let mut names = Vec::new();
    for (path, servers) in sources(args.from.as_deref(), crib, output)? {
        for server in servers {
            names.push(server.name.clone());
            if !args.only.is_empty() && !args.only.contains(&server.name) {
                continue;
            }
            let taken = |name: &str| {
                crib.upstream(name).is_ok()
                    || wanted
                        .iter()
                        .any(|other| other.candidate.name.as_str() == name)
            };
            match one(&server, taken, crib) {
                Ok(Translated { candidate, kept }) => wanted.push(Wanted {
                    candidate,
                    from: path.clone(),
                    kept,
                }),
                Err(why) => skipped.push(Skipped {
                    name: server.name.clone(),
                    from: path.clone(),
                    why,
                }),
            }
        }
    }
    if let Some(unknown) = args.only.iter().find(|name| !names.contains(name)) {
        let message = format!("there is no server `{}` to import", visible(unknown));
        let known = match names.is_empty() {
            true => "there is none at all".to_owned(),
            false => format!("there are {}", visible(&names.join(", "))),
        };
        return Err(CliError::from(ToolError::new(ErrorCode::NotFound, message)).with_hint(known));
    }
    for one in &skipped {
        output.say(&format!(
            "{} is left out: {}",
            output.bold(&format!("`{}`", visible(&one.name))),
            visible(&one.why)
        ));
    }
    for one in &wanted {
        say(one, output);
    }
    let mut failed = None;
    let mut added = Vec::new();
    if !wanted.is_empty() {
        let question = format!(
            "add {} to {}? [y/n] ",
            servers_word(wanted.len()),
            crib.home().join("config.toml").display()
        );
        if !args.yes && !confirmed(&question, global, output)? {
            return Err(declined("nothing was added"));
        }
        for one in wanted {
            match add(&one, crib) {
                Ok(()) => added.push(one),
                Err(error) => {
                    failed.get_or_insert(error.code().exit_code());
                    skipped.push(Skipped {
                        name: one.candidate.name.to_string(),
                        from: one.from,
                        why: error.message().to_owned(),
                    });
                    let why = skipped
                        .last()
                        .map(|one| visible(&one.why))
                        .unwrap_or_default();
                    output.error_line(&format!("{} {why}", output.red("error:")));
                }
            }
        }
    }
    report(&added, &skipped, output);
    Ok(failed.map_or(ExitCode::SUCCESS, ExitCode::from))
}

fn servers_word(count: usize) -> String {
    match count {
        1 => "this server".to_owned(),
        count => format!("these {count} servers"),
    }
}

/// The files that are meant, with the servers in them.
fn sources(
    from: Option<&str>,
    crib: &Crib,
    output: &Output,
) -> Result<Vec<(PathBuf, Vec<OtherServer>)>, CliError> {
    let directories = Directories::of_process();
    let project = crib.workspace_path().unwrap_or(Path::new(""));
    let user = |client: OtherClient| client.path(Scope::User, project, &directories);
    let Some(from) = from else {
        let mut all = Vec::new();
        for client in OtherClient::ALL {
            let Some(path) = user(client).filter(|path| path.symlink_metadata().is_ok()) else {
                continue;
            };
            match servers(&path, client.format(), &[client.key()]) {
                Ok(servers) => all.push((path, servers)),
                // The others are no worse for it.
                Err(why) => output.say(&format!("{} {}", output.bold("warning:"), visible(&why))),
            }
        }
        if all.is_empty() {
            output.say("no program here has a file with MCP servers");
        }
        return Ok(all);
    };
    let (path, format, keys) = match OtherClient::named(from) {
        Some(client) => {
            let path = user(client).ok_or_else(|| {
                CliError::usage("cannot find the file of that client: name the file instead")
            })?;
            (path, client.format(), vec![client.key()])
        }
        None if from.ends_with(".yaml") || from.ends_with(".yml") => {
            (PathBuf::from(from), Format::Yaml, vec!["extensions"])
        }
        None if from.ends_with(".toml") => (PathBuf::from(from), Format::Toml, vec!["mcp_servers"]),
        None => (
            PathBuf::from(from),
            Format::Json,
            vec!["mcpServers", "servers", "context_servers", "mcp"],
        ),
    };
    if path.symlink_metadata().is_err() {
        let message = format!(
            "there is no file `{}`",
            visible(&path.display().to_string())
        );
        return Err(
            CliError::from(ToolError::new(ErrorCode::FileNotFound, message))
                .with_hint("name a file, or a client that `toolcrib connect` lists"),
        );
    }
    let found = servers(&path, format, &keys).map_err(|why| {
        CliError::from(ToolError::new(ErrorCode::StorageError, why)).with_hint("fix the file first")
    })?;
    Ok(vec![(path, found)])
}

/// The servers of a file, ours left out.
fn servers(path: &Path, format: Format, keys: &[&str]) -> Result<Vec<OtherServer>, String> {
    let file = ClientFile::read(path).map_err(|problem| problem.message)?;
    let mut all = Vec::new();
    for key in keys {
        let document = Document {
            text: file.text(),
            format,
            key,
        };
        let found = document
            .servers()
            .map_err(|why| format!("`{}`: {why}", path.display()))?;
        let read = found
            .iter()
            .map(|(name, entry)| OtherServer::read(name, entry));
        all.extend(read.filter(|server| !server.is_toolcrib()));
    }
    Ok(all)
}

fn one(
    server: &OtherServer,
    taken: impl Fn(&str) -> bool,
    crib: &Crib,
) -> Result<Translated, String> {
    if !server.is_enabled {
        return Err("it is switched off there".to_owned());
    }
    let translated = translate(server, |name| {
        std::env::var(name).ok().filter(|value| !value.is_empty())
    })?;
    let name = translated.candidate.name.as_str();
    if taken(name) {
        return Err(format!("there is an upstream server `{name}` already"));
    }
    let known = crib.secrets().list().map_err(|error| error.to_string())?;
    for kept in &translated.kept {
        if known.iter().any(|entry| entry.name == kept.name) {
            return Err(format!(
                "its `{}` would be kept as the secret `{}`, which there is already; `toolcrib secret rm {}` removes that one",
                kept.of, kept.name, kept.name
            ));
        }
    }
    Ok(translated)
}

/// Says what would be added.
fn say(one: &Wanted, output: &Output) {
    let name = format!("`{}`", one.candidate.name);
    output.say(&format!(
        "{} of {}: {}",
        output.bold(&name),
        one.from.display(),
        visible(&one.candidate.settings.line())
    ));
    for kept in &one.kept {
        let line = format!(
            "  {} goes into the secrets as `{}`, for {name} only; `config.toml` in Toolcrib's home says `secret:{}`",
            visible(&kept.of),
            kept.name,
            kept.name
        );
        output.say(&output.with_paths(&line));
    }
}

/// Adds a server with its secrets, or neither.
fn add(one: &Wanted, crib: &Crib) -> Result<(), ToolError> {
    let secrets = crib.secrets();
    let mut stored = Vec::new();
    let mut work = || -> Result<(), ToolError> {
        for kept in &one.kept {
            secrets.set(&kept.name, &kept.value, &kept.binding)?;
            stored.push(&kept.name);
        }
        crib.add_upstream(&one.candidate, None, Replace::Never)
    };
    let done = work();
    if done.is_err() {
        for name in stored {
            let _ = secrets.remove(name);
        }
    }
    done
}

fn report(added: &[Wanted], skipped: &[Skipped], output: &Output) {
    if output.json() {
        let added: Vec<_> = added
            .iter()
            .map(|one| {
                let secrets: Vec<&str> = one.kept.iter().map(|kept| kept.name.as_str()).collect();
                json!({
                    "name": one.candidate.name, "from": one.from, "reachedBy": one.candidate.settings.line(), "secrets": secrets,
                })
            })
            .collect();
        let skipped: Vec<_> = skipped
            .iter()
            .map(|one| json!({"name": one.name, "from": one.from, "reason": one.why}))
            .collect();
        output.document(&json!({"imported": added, "skipped": skipped}));
        return;
    }
    for one in added {
        let name = &one.candidate.name;
        output.say(&format!(
            "added `{name}`; `toolcrib upstream accept {name}` connects to it and shows its tools"
        ));
    }
    if added.is_empty() {
        output.say("nothing was added");
    }
}
