//! `toolcrib connect CLIENT --undo`: the entry goes, everything else in the file stays what it is now.
//!
//! A file that is still what was written goes back to what it was, byte for byte. An entry that someone changed since is theirs as much as
//! ours: then it is asked.

use std::path::Path;
use std::process::ExitCode;

use serde_json::json;
use toolcrib::Crib;

use super::super::Done;
use super::super::confirm::{confirmed, declined};
use super::records::{Record, Records};
use super::{damaged, document, file, refused, say_link, show};
use crate::args::{ConnectArgs, Global};
use crate::clients_of_others::{Document, OtherClient};
use crate::output::Output;

/// What the file becomes.
enum After {
    /// What it was before; `None`: it was not there.
    Before(Option<String>),
    /// What it is now, without the entry.
    Without(String),
}

pub(super) fn undo(
    client: OtherClient,
    args: &ConnectArgs,
    global: &Global,
    crib: &Crib,
    place: &Path,
    output: &Output,
) -> Done {
    let file = file(args, crib, place)?;
    let records = Records::of_home(crib.home());
    let now = document(client, &file);
    let servers = now.servers().map_err(|why| damaged(place, &why))?;
    let Some(entry) = servers.get(&args.name) else {
        records.forget(file.target(), &args.name)?;
        if output.json() {
            output.document(&json!({"client": client.word(), "file": place, "name": args.name, "changed": false}));
        }
        output.say(&format!(
            "there is nothing to remove: there is no `{}` in {}",
            args.name,
            place.display()
        ));
        return Ok(ExitCode::SUCCESS);
    };
    file.may_be_replaced().map_err(refused)?;
    let record = records.find(file.target(), &args.name);
    let ours = record.as_ref().filter(|record| record.entry == *entry);
    let after = match ours {
        Some(record) => after(record, &now),
        None => now.without(&args.name, false).map(After::Without),
    };
    let after = after.map_err(|why| damaged(place, &why))?;
    let text = match &after {
        After::Before(text) => text.as_deref().unwrap_or_default(),
        After::Without(text) => text,
    };
    say_link(place, &file, output);
    let diff = show(place, file.text(), text, output);
    if ours.is_none() && !args.yes {
        output.say(&format!(
            "`{}` is not what `toolcrib connect` wrote: it was changed, or it was written from another home",
            args.name
        ));
        if !confirmed("remove it? [y/n] ", global, output)? {
            return Err(declined("nothing was removed"));
        }
    }
    let backup = match &after {
        After::Before(_) => None,
        After::Without(_) => file.back_up().map_err(refused)?,
    };
    match &after {
        After::Before(None) => file.remove(),
        After::Before(Some(text)) | After::Without(text) => file.replace(text),
    }
    .map_err(refused)?;
    records.forget(file.target(), &args.name)?;
    if output.json() {
        output.document(&json!({
            "client": client.word(), "file": place, "name": args.name, "changed": true, "backup": backup, "diff": diff,
        }));
    }
    output.say(&match &after {
        After::Before(None) => format!("removed {}, which was not there before", place.display()),
        After::Before(Some(_)) => format!("{} is what it was before", place.display()),
        After::Without(_) => format!("took `{}` out of {}", args.name, place.display()),
    });
    if let Some(backup) = &backup {
        output.say(&format!("the file as it was is {}", backup.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// What comes after an entry that is still what was written.
fn after(record: &Record, now: &Document<'_>) -> Result<After, String> {
    let before = match (&record.backup, record.created) {
        (Some(backup), _) => std::fs::read_to_string(backup).ok(),
        (None, true) => Some(String::new()),
        (None, false) => None,
    };
    let entry = record.entry.as_object().cloned().unwrap_or_default();
    if let Some(before) = before {
        let then = Document {
            text: &before,
            ..now.clone()
        };
        if then
            .with(&record.name, &entry)
            .is_ok_and(|written| written == now.text)
        {
            return Ok(After::Before((!record.created).then_some(before)));
        }
    }
    let text = match record
        .previous
        .as_ref()
        .and_then(|previous| previous.as_object())
    {
        Some(previous) => now.with(&record.name, previous),
        None => now.without(&record.name, !record.had_table),
    };
    text.map(After::Without)
}
