//! The command that a client starts: this program, with everything that it would otherwise find in our environment.
//!
//! Windows are opened from anywhere, with few variables: home and workspace are named where they are not what every process would find.
//! A project's file is for everybody who works on it: it names no place of this machine where there is another way.

use std::path::Path;

use serde_json::{Map, Value};
use toolcrib::config::Surroundings;
use toolcrib::model::text::visible;
use toolcrib::{Crib, ErrorCode, ToolError};
use toolcrib_server::auth::Clients;
use toolcrib_server::running::Servers;

use super::super::mcp;
use crate::args::{ConnectArgs, Global};
use crate::clients_of_others::OtherClient;
use crate::failure::CliError;
use crate::hooks::HookClient;
use crate::output::Output;

/// Where `toolcrib serve` listens unless told otherwise.
const USUAL: &str = "http://127.0.0.1:7410";
/// Variables that have another place in an entry, or none.
const SEEN_TO: &[&str] = &[
    "TOOLCRIB_HOME",
    "TOOLCRIB_WORKSPACE",
    "TOOLCRIB_SERVER",
    "TOOLCRIB_SERVER_CA",
    "TOOLCRIB_TOKEN",
];

pub(super) fn entry(
    client: OtherClient,
    args: &ConnectArgs,
    global: &Global,
    crib: &Crib,
    output: &Output,
) -> Result<Map<String, Value>, CliError> {
    if let Some(url) = &args.http {
        let url = address(url.as_deref(), crib)?;
        return client.http(&url).map_err(|why| {
            CliError::usage(format!(
                "{} cannot be connected by HTTP: {why}",
                client.title()
            ))
            .with_hint("leave --http out: it starts the program then")
        });
    }
    mcp::bundles(&args.bundles, crib)?;
    mcp::caller(args.client.as_deref(), &Clients::of_home(crib.home()))?;
    let mut words = vec!["mcp".to_owned()];
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
    if usual_home().as_deref() != Some(crib.home()) {
        option("--home", text(crib.home())?);
    }
    match crib.workspace_path() {
        _ if args.project => {
            if let Some(variable) = client.project_variable() {
                option("--workspace", variable.to_owned());
            }
        }
        Some(workspace) if is_named(client, global) => {
            option("--workspace", text(&absolute(workspace)?)?);
        }
        Some(_) => {}
        None if is_named(client, global) => {
            return Err(CliError::usage(format!(
                "which directory may the tools touch? {} does not start them in a project",
                client.title()
            ))
            .with_hint("name it with --workspace DIR, or go there"));
        }
        None => {}
    }
    for bundle in &args.bundles {
        option("--bundle", bundle.clone());
    }
    if let Some(caller) = &args.client {
        option("--client", caller.clone());
    }
    say_variables(output);
    let command = program_word(args)?;
    if args.project {
        say_places(&command, &words, output);
    }
    Ok(client.program(&command, &words))
}

/// The words of the command that a client's hook starts.
pub(super) fn hook_words(
    client: HookClient,
    args: &ConnectArgs,
    crib: &Crib,
    output: &Output,
) -> Result<Vec<String>, CliError> {
    mcp::caller(args.client.as_deref(), &Clients::of_home(crib.home()))?;
    let mut words = Vec::new();
    if usual_home().as_deref() != Some(crib.home()) {
        words.extend(["--home".to_owned(), text(crib.home())?]);
    }
    let command = program_word(args)?;
    if args.project {
        say_places(&command, &words, output);
    }
    say_variables(output);
    words.insert(0, command);
    words.extend(["hook".to_owned(), client.word().to_owned()]);
    if let Some(caller) = &args.client {
        words.extend(["--client".to_owned(), caller.clone()]);
    }
    Ok(words)
}

/// This program, as the file names it.
fn program_word(args: &ConnectArgs) -> Result<String, CliError> {
    let program = program()?;
    match args.project && is_found_by_name(&program) {
        true => Ok("toolcrib".to_owned()),
        false => text(&program),
    }
}

/// Whether the entry of someone's own file says which workspace.
fn is_named(client: OtherClient, global: &Global) -> bool {
    let by_variable = std::env::var_os("TOOLCRIB_WORKSPACE").is_some_and(|path| !path.is_empty());
    !client.starts_in_the_project() || global.workspace.is_some() || by_variable
}

/// Whether a search for `toolcrib` in PATH finds this program.
fn is_found_by_name(program: &Path) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let first = std::env::split_paths(&path)
        .map(|directory| directory.join("toolcrib"))
        .find(|candidate| candidate.is_file());
    let real = |path: &Path| path.canonicalize().ok();
    first.is_some_and(|first| real(&first).is_some_and(|first| Some(first) == real(program)))
}

/// Says what of an entry that others share is a place of this machine.
fn say_places(command: &str, words: &[String], output: &Output) {
    let places = std::iter::once(command)
        .chain(words.iter().map(String::as_str))
        .filter(|word| word.starts_with('/'));
    let places: Vec<String> = places
        .map(|place| format!("`{}`", visible(place)))
        .collect();
    if !places.is_empty() {
        output.say(&format!(
            "{} others who use this file have no {}: it is named because `toolcrib` is not what PATH finds here, or Toolcrib's home directory is not the usual one",
            output.bold("note:"),
            places.join(" and ")
        ));
    }
}

/// The home that a process finds that knows nothing but `HOME`.
fn usual_home() -> Option<std::path::PathBuf> {
    let home = std::env::var("HOME").ok()?;
    let surroundings = Surroundings::new(Path::new("/"), [("HOME", home.as_str())]);
    surroundings.home().ok()
}

/// This program, by its full path.
fn program() -> Result<std::path::PathBuf, CliError> {
    let unknown = |why: String| {
        CliError::from(ToolError::new(
            ErrorCode::Internal,
            format!("cannot find the path of this program: {why}"),
        ))
    };
    let path = std::env::current_exe().map_err(|error| unknown(error.to_string()))?;
    // A program that was replaced while it runs has no path any more.
    if !path.is_file() {
        return Err(unknown(format!("`{}` is gone", path.display()))
            .with_hint("it was replaced in the meantime; run it again"));
    }
    Ok(path)
}

fn absolute(path: &Path) -> Result<std::path::PathBuf, CliError> {
    std::path::absolute(path)
        .map_err(|error| CliError::usage(format!("`{}`: {error}", path.display())))
}

fn text(path: &Path) -> Result<String, CliError> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        CliError::usage(format!(
            "`{}` is not text in UTF-8, which the client's file is",
            path.display()
        ))
    })
}

/// The address of MCP on a server: one that was named, that of this home, or the usual one.
fn address(named: Option<&str>, crib: &Crib) -> Result<String, CliError> {
    let running = || {
        let live = Servers::of_home(crib.home()).live();
        live.into_iter().find_map(|server| server.url)
    };
    let url = named
        .map(str::to_owned)
        .or_else(running)
        .unwrap_or_else(|| USUAL.to_owned());
    let rest = url
        .strip_prefix("http://")
        .or_else(|| url.strip_prefix("https://"))
        .filter(|rest| !rest.is_empty() && !rest.starts_with('/'));
    let Some(rest) =
        rest.filter(|rest| !rest.contains(|c: char| c.is_whitespace() || c.is_control()))
    else {
        return Err(CliError::usage(format!(
            "`{}` is not the address of a server: write http://… or https://…",
            visible(&url)
        ))
        .with_hint("the client's name comes before --http"));
    };
    if rest
        .split(['/', '?', '#'])
        .next()
        .unwrap_or_default()
        .contains('@')
    {
        return Err(CliError::usage("a password does not belong in an address")
            .with_hint("the token is taken from the variable TOOLCRIB_TOKEN"));
    }
    Ok(match rest.trim_end_matches('/').contains('/') {
        true => url,
        false => format!("{}/mcp", url.trim_end_matches('/')),
    })
}

/// Settings in variables are not there when someone else starts the program.
fn say_variables(output: &Output) {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let lost: Vec<String> = names
        .filter(|name| name.starts_with("TOOLCRIB_") && !SEEN_TO.contains(&name.as_str()))
        .collect();
    if !lost.is_empty() {
        output.say(&format!(
            "{} {} is set here but not for the client; `toolcrib config set` changes the file that holds for both",
            output.bold("note:"),
            lost.join(", ")
        ));
    }
}
