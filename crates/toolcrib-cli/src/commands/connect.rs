//! `toolcrib connect`: other programs' files, so that they use the tools here.
//!
//! Their files are theirs: the change is shown before it is made, a copy is kept, and nothing but our entry is touched.

mod entry;
mod hooks;
mod installed;
mod records;
mod undo;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};
use toolcrib::model::text::visible;
use toolcrib::{Crib, ErrorCode, ToolError};

use super::confirm::{confirmed, declined};
use super::{Done, open};
use crate::args::{ConnectArgs, Global};
use crate::clients_of_others::{
    ClientFile, Directories, Document, FileProblem, OtherClient, Scope,
};
use crate::failure::CliError;
use crate::output::Output;
pub(super) use hooks::{HookedClient, hooked};
pub(super) use installed::{Connected, connected};
use records::{Record, Records};

pub(super) fn connect(args: &ConnectArgs, global: &Global, output: &Output) -> Done {
    let crib = open(global, output)?;
    let Some(client) = args.target else {
        return installed::list(&crib, output);
    };
    if args.hooks {
        return hooks::connect(client, args, &crib, global, output);
    }
    check_name(&args.name)?;
    let place = place(client, args, &crib)?;
    if args.print {
        return print(client, args, global, &crib, &place, output);
    }
    if args.undo {
        return undo::undo(client, args, global, &crib, &place, output);
    }
    let entry = entry::entry(client, args, global, &crib, output)?;
    let file = file(args, &crib, &place)?;
    let document = document(client, &file);
    let servers = document.servers().map_err(|why| damaged(&place, &why))?;
    let known = servers.get(&args.name);
    if known == Some(&Value::Object(entry.clone())) {
        if output.json() {
            output.document(&json!({"client": client.word(), "file": place, "name": args.name, "changed": false}));
        }
        output.say(&format!(
            "{} is connected already: `{}` is in {}",
            client.title(),
            args.name,
            place.display()
        ));
        return Ok(ExitCode::SUCCESS);
    }
    if !args.dry_run {
        file.may_be_replaced().map_err(refused)?;
    }
    let text = document
        .with(&args.name, &entry)
        .map_err(|why| damaged(&place, &why))?;
    say_link(&place, &file, output);
    let diff = show(&place, file.text(), &text, output);
    if args.dry_run {
        if output.json() {
            output.document(&json!({"client": client.word(), "file": place, "name": args.name, "changed": false, "diff": diff}));
        }
        output.say("nothing was written: --dry-run");
        return Ok(ExitCode::SUCCESS);
    }
    let question = match known {
        Some(_) => format!("replace `{}` in this file? [y/n] ", args.name),
        None => "write this? [y/n] ".to_owned(),
    };
    if !args.yes && !confirmed(&question, global, output)? {
        return Err(declined("nothing was written"));
    }
    let backup = file.back_up().map_err(refused)?;
    file.replace(&text).map_err(|problem| {
        // What it says is what there is: the copy would be of something else.
        if let Some(backup) = &backup {
            file.discard(backup);
        }
        refused(problem)
    })?;
    Records::of_home(crib.home()).note(Record {
        // Of a new one the links on the way are known only now.
        file: file
            .target()
            .canonicalize()
            .unwrap_or_else(|_| file.target().to_owned()),
        name: args.name.clone(),
        entry: Value::Object(entry),
        backup: backup.clone(),
        created: !file.exists(),
        previous: known.cloned(),
        had_table: document.has_table(),
    })?;
    if output.json() {
        output.document(&json!({
            "client": client.word(), "file": place, "name": args.name, "changed": true, "backup": backup, "diff": diff,
        }));
    }
    output.say(&format!("wrote {}", place.display()));
    if let Some(backup) = &backup {
        output.say(&format!("the file as it was is {}", backup.display()));
    }
    if args.http.is_some() {
        output.say("the client needs a token in the variable TOOLCRIB_TOKEN: `toolcrib clients add NAME` prints one");
    }
    // `doctor` looks where the clients have their files.
    let tried = match args.file {
        Some(_) => "",
        None => "`toolcrib doctor` tries it, ",
    };
    output.say(&format!(
        "{}; {tried}`toolcrib connect {}{}{} --undo` takes it out",
        client.next_step(),
        client.word(),
        if args.project { " --project" } else { "" },
        args.file.as_ref().map_or(String::new(), |file| {
            format!(
                " --file {}",
                super::run::quoted(&file.display().to_string())
            )
        }),
    ));
    Ok(ExitCode::SUCCESS)
}

/// Names that every client takes.
fn check_name(name: &str) -> Result<(), CliError> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !name.is_empty() && name.len() <= 64 && name.chars().all(is_word) {
        return Ok(());
    }
    Err(CliError::usage(format!(
        "`{}` cannot be the name of a server: write letters, digits, `-` and `_`, 64 at most",
        visible(name)
    )))
}

/// The file that is meant.
fn place(client: OtherClient, args: &ConnectArgs, crib: &Crib) -> Result<PathBuf, CliError> {
    let scope = match args.project {
        true => Scope::Project,
        false => Scope::User,
    };
    let project = match (scope, crib.workspace_path()) {
        (Scope::Project, None) => {
            return Err(CliError::usage("this is not a project")
                .with_hint("go to the project's directory, or name it with --workspace"));
        }
        (_, project) => project.map(PathBuf::from).unwrap_or_default(),
    };
    if let Some(file) = &args.file {
        return std::path::absolute(file)
            .map_err(|error| CliError::usage(format!("`{}`: {error}", file.display())));
    }
    if client == OtherClient::Generic {
        // A snippet to paste needs no file.
        return match args.print {
            true => Ok(PathBuf::from("the client's file")),
            false => Err(CliError::usage("`generic` needs the client's file")
                .with_hint("name it with --file FILE, or print what to paste with --print")),
        };
    }
    let path = client.path(scope, &project, &Directories::of_process());
    path.ok_or_else(|| match scope {
        Scope::Project => CliError::usage(format!("{} has no file for a project", client.title()))
            .with_hint("leave --project out"),
        Scope::User => CliError::usage("cannot find your home directory: HOME is not set"),
    })
}

/// The file as it is. A project may have brought links that lead out of it; the user's own are followed.
fn file(args: &ConnectArgs, crib: &Crib, place: &Path) -> Result<ClientFile, CliError> {
    let read = match (args.project, crib.workspace_path()) {
        (true, Some(project)) => ClientFile::read_in_project(project, place),
        _ => ClientFile::read(place),
    };
    read.map_err(refused)
}

fn document<'a>(client: OtherClient, file: &'a ClientFile) -> Document<'a> {
    Document {
        text: file.text(),
        format: client.format(),
        key: client.key(),
    }
}

fn print(
    client: OtherClient,
    args: &ConnectArgs,
    global: &Global,
    crib: &Crib,
    place: &Path,
    output: &Output,
) -> Done {
    let entry = entry::entry(client, args, global, crib, output)?;
    let empty = Document {
        text: "",
        format: client.format(),
        key: client.key(),
    };
    let snippet = empty
        .snippet(&args.name, &entry)
        .map_err(|why| damaged(place, &why))?;
    if output.json() {
        output.document(&json!({
            "client": client.word(), "file": place, "name": args.name, "entry": entry, "snippet": snippet,
        }));
        return Ok(ExitCode::SUCCESS);
    }
    output.text(&snippet);
    output.say(&output.dim(&format!("for {}", place.display())));
    Ok(ExitCode::SUCCESS)
}

/// The target of a link is written.
fn say_link(place: &Path, file: &ClientFile, output: &Output) {
    let is_link = place
        .symlink_metadata()
        .is_ok_and(|known| known.is_symlink());
    if is_link {
        output.say(&format!(
            "{} {} is a link to {}, which is what changes",
            output.bold("note:"),
            place.display(),
            file.target().display()
        ));
    }
}

/// Shows what would change; returns it.
fn show(place: &Path, old: &str, new: &str, output: &Output) -> String {
    let diff = toolcrib::trial::diff(&place.display().to_string(), old, new);
    for line in diff.lines() {
        let shown = visible(line.trim_end_matches('\r'));
        output.say(&match line.as_bytes().first() {
            Some(b'+') => output.added(&shown),
            Some(b'-') => output.removed(&shown),
            _ => shown.into_owned(),
        });
    }
    diff
}

fn refused(problem: FileProblem) -> CliError {
    let code = match problem.is_conflict {
        true => ErrorCode::Conflict,
        false => ErrorCode::StorageError,
    };
    let hint = match problem.is_conflict {
        true => "run it again to see the change as it would be now",
        false => "fix that, or paste what `--print` prints; nothing was written",
    };
    CliError::from(ToolError::new(code, problem.message)).with_hint(hint)
}

fn damaged(place: &Path, why: &str) -> CliError {
    let message = format!("cannot change `{}`: {why}", place.display());
    CliError::from(ToolError::new(ErrorCode::StorageError, message))
        .with_hint("fix the file first; nothing was written")
}
