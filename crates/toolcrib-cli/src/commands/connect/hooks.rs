//! `toolcrib connect CLIENT --hooks`: the client's file of hooks, changed as its file of servers is: shown first, with a copy, and with
//! `--undo`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Map, Value, json};
use toolcrib::Crib;

use super::super::Done;
use super::super::confirm::{confirmed, declined};
use super::records::{Record, Records};
use super::{damaged, entry, file, refused, say_link, show};
use crate::args::{ConnectArgs, Global};
use crate::clients_of_others::{ClientFile, Directories, OtherClient, Scope};
use crate::failure::CliError;
use crate::hooks::{HookClient, HookEntry, HooksFile};
use crate::output::Output;

/// What the record of a file of hooks is called.
const NAME: &str = "hooks";

pub(super) fn connect(
    other: OtherClient,
    args: &ConnectArgs,
    crib: &Crib,
    global: &Global,
    output: &Output,
) -> Done {
    let Some(client) = HookClient::of(other) else {
        return Err(CliError::usage(format!(
            "{} has no hooks that Toolcrib can answer",
            other.title()
        ))
        .with_hint("claude-code, codex, cursor, gemini, copilot-cli and vscode have; docs/hooks.md has the format for others"));
    };
    let place = place(other, args, crib)?;
    if args.undo {
        return undo(client, args, crib, &place, global, output);
    }
    let words = entry::hook_words(client, args, crib, output)?;
    let entries = HooksFile::entries(client, &words, crib.config().hooks().wait);
    let about = |changed: bool| json!({"client": other.word(), "file": place, "hooks": true, "changed": changed});
    if args.print {
        let empty = HooksFile { client, text: "" };
        let snippet = empty.snippet(&entries);
        if output.json() {
            output.document(
                &json!({"client": other.word(), "file": place, "hooks": true, "snippet": snippet}),
            );
        } else {
            output.text(&snippet);
            output.say(&output.dim(&format!("for {}", place.display())));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let file = file(args, crib, &place)?;
    let hooks = HooksFile {
        client,
        text: file.text(),
    };
    if hooks.has(&entries).map_err(|why| damaged(&place, &why))? {
        if output.json() {
            output.document(&about(false));
        }
        output.say(&format!(
            "the hooks of {} are connected already: they are in {}",
            other.title(),
            place.display()
        ));
        return Ok(ExitCode::SUCCESS);
    }
    if !args.dry_run {
        file.may_be_replaced().map_err(refused)?;
    }
    let text = hooks.with(&entries).map_err(|why| damaged(&place, &why))?;
    say_link(&place, &file, output);
    let diff = show(&place, file.text(), &text, output);
    let with_diff = |changed: bool, backup: &Option<PathBuf>| {
        let mut document = about(changed);
        document["diff"] = diff.as_str().into();
        if let Some(backup) = backup {
            document["backup"] = json!(backup);
        }
        document
    };
    if args.dry_run {
        if output.json() {
            output.document(&with_diff(false, &None));
        }
        output.say("nothing was written: --dry-run");
        return Ok(ExitCode::SUCCESS);
    }
    if !args.yes && !confirmed("write this? [y/n] ", global, output)? {
        return Err(declined("nothing was written"));
    }
    let backup = file.back_up().map_err(refused)?;
    file.replace(&text).map_err(|problem| {
        if let Some(backup) = &backup {
            file.discard(backup);
        }
        refused(problem)
    })?;
    let target = file.target();
    Records::of_home(crib.home()).note(Record {
        file: target.canonicalize().unwrap_or_else(|_| target.to_owned()),
        name: NAME.to_owned(),
        entry: recorded(&entries),
        backup: backup.clone(),
        created: !file.exists(),
        previous: None,
        had_table: false,
    })?;
    if output.json() {
        output.document(&with_diff(true, &backup));
    }
    output.say(&format!("wrote {}", place.display()));
    if let Some(backup) = &backup {
        output.say(&format!("the file as it was is {}", backup.display()));
    }
    output.say(&format!(
        "{}; `toolcrib doctor` tries it, `toolcrib connect {} --hooks{} --undo` takes it out",
        other.next_step_for_hooks(),
        other.word(),
        if args.project { " --project" } else { "" },
    ));
    Ok(ExitCode::SUCCESS)
}

/// The file that is meant.
fn place(other: OtherClient, args: &ConnectArgs, crib: &Crib) -> Result<PathBuf, CliError> {
    if let Some(file) = &args.file {
        return std::path::absolute(file)
            .map_err(|error| CliError::usage(format!("`{}`: {error}", file.display())));
    }
    let (scope, project) = match (args.project, crib.workspace_path()) {
        (true, None) => {
            return Err(CliError::usage("this is not a project")
                .with_hint("go to the project's directory, or name it with --workspace"));
        }
        (true, Some(project)) => (Scope::Project, project),
        (false, project) => (Scope::User, project.unwrap_or(Path::new("/"))),
    };
    let path = other.hooks_path(scope, project, &Directories::of_process());
    path.ok_or_else(|| CliError::usage("cannot find your home directory: HOME is not set"))
}

/// What was written, for the record.
fn recorded(entries: &[HookEntry]) -> Value {
    let entries = entries.iter();
    let events: Map<String, Value> = entries
        .map(|entry| (entry.event.to_owned(), entry.group.clone()))
        .collect();
    Value::Object(events)
}

fn undo(
    client: HookClient,
    args: &ConnectArgs,
    crib: &Crib,
    place: &Path,
    global: &Global,
    output: &Output,
) -> Done {
    let file = file(args, crib, place)?;
    let records = Records::of_home(crib.home());
    let hooks = HooksFile {
        client,
        text: file.text(),
    };
    let ours = hooks.ours().map_err(|why| damaged(place, &why))?;
    let about = |changed: bool| json!({"client": client.word(), "file": place, "hooks": true, "changed": changed});
    if ours.is_empty() {
        records.forget(file.target(), NAME)?;
        if output.json() {
            output.document(&about(false));
        }
        output.say(&format!(
            "there is nothing to take out: no hook of Toolcrib is in {}",
            place.display()
        ));
        return Ok(ExitCode::SUCCESS);
    }
    file.may_be_replaced().map_err(refused)?;
    let found: Map<String, Value> = ours.into_iter().collect();
    let record = records.find(file.target(), NAME);
    let written = record.filter(|record| record.entry == Value::Object(found.clone()));
    let before = written
        .as_ref()
        .and_then(|record| before(record, &hooks, client));
    let text = match &before {
        Some(before) => before.clone().unwrap_or_default(),
        None => hooks.without().map_err(|why| damaged(place, &why))?,
    };
    say_link(place, &file, output);
    let diff = show(place, file.text(), &text, output);
    if written.is_none() && !args.yes {
        output.say("the hooks are not what `toolcrib connect` wrote: they were changed, or written from another home");
        if !confirmed("take them out? [y/n] ", global, output)? {
            return Err(declined("nothing was taken out"));
        }
    }
    let backup = match &before {
        Some(_) => None,
        None => file.back_up().map_err(refused)?,
    };
    match &before {
        Some(None) => file.remove(),
        Some(Some(_)) | None => file.replace(&text),
    }
    .map_err(refused)?;
    records.forget(file.target(), NAME)?;
    if output.json() {
        let mut document = about(true);
        document["diff"] = diff.into();
        document["backup"] = json!(backup);
        output.document(&document);
    }
    output.say(&match &before {
        Some(None) => format!("removed {}, which was not there before", place.display()),
        Some(Some(_)) => format!("{} is what it was before", place.display()),
        None => format!("took the hooks of Toolcrib out of {}", place.display()),
    });
    if let Some(backup) = &backup {
        output.say(&format!("the file as it was is {}", backup.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// The file as it was before, if it is still what was written then; `None` inside where there was none.
fn before(record: &Record, now: &HooksFile<'_>, client: HookClient) -> Option<Option<String>> {
    let before = match (&record.backup, record.created) {
        (Some(backup), _) => std::fs::read_to_string(backup).ok()?,
        (None, true) => String::new(),
        (None, false) => return None,
    };
    let groups = record.entry.as_object()?;
    let entries: Vec<HookEntry> = HooksFile::entries(client, &[], std::time::Duration::ZERO)
        .into_iter()
        .filter_map(|entry| {
            let group = groups.get(entry.event)?.clone();
            Some(HookEntry { group, ..entry })
        })
        .collect();
    let then = HooksFile {
        client,
        text: &before,
    };
    let is_same = then.with(&entries).is_ok_and(|written| written == now.text);
    is_same.then_some((!record.created).then_some(before))
}

/// A hook of Toolcrib in the file of a client.
pub(in super::super) struct HookedClient {
    pub(in super::super) other: OtherClient,
    pub(in super::super) client: HookClient,
    pub(in super::super) scope: Scope,
    pub(in super::super) file: PathBuf,
    /// The event and its hook, for each of them.
    pub(in super::super) ours: Vec<(String, Value)>,
    /// Whether they are what `connect` wrote.
    pub(in super::super) is_recorded: bool,
}

/// Every file that has hooks of Toolcrib, and what is wrong with files that cannot be read.
pub(in super::super) fn hooked(crib: &Crib) -> (Vec<HookedClient>, Vec<(OtherClient, String)>) {
    let directories = Directories::of_process();
    let records = Records::of_home(crib.home());
    let (mut all, mut problems) = (Vec::new(), Vec::new());
    for other in OtherClient::ALL {
        // Its hooks are those of Copilot CLI.
        if other == OtherClient::VsCode {
            continue;
        }
        let Some(client) = HookClient::of(other) else {
            continue;
        };
        for scope in [Scope::User, Scope::Project] {
            let project = match (scope, crib.workspace_path()) {
                (Scope::Project, None) => continue,
                (_, project) => project.unwrap_or(Path::new("/")),
            };
            let Some(path) = other.hooks_path(scope, project, &directories) else {
                continue;
            };
            let read = ClientFile::read(&path).map_err(|problem| problem.message);
            let ours = read.and_then(|file| {
                let text = file.text();
                HooksFile { client, text }.ours()
            });
            match ours {
                Ok(ours) if ours.is_empty() => {}
                Ok(ours) => all.push(HookedClient {
                    other,
                    client,
                    scope,
                    is_recorded: {
                        let found: Map<String, Value> = ours.iter().cloned().collect();
                        records.has(&path, NAME, &Value::Object(found))
                    },
                    file: path,
                    ours,
                }),
                Err(why) => problems.push((other, format!("`{}`: {why}", path.display()))),
            }
        }
    }
    (all, problems)
}
