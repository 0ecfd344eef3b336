//! `toolcrib held`: what commands made that other programs would run.

use std::process::ExitCode;

use toolcrib::held::{HeldContent, HeldItem};
use toolcrib::model::text;
use toolcrib::{ErrorCode, ToolError};
use toolcrib_server::client::{Ask, ClientError};

use super::Done;
use super::confirm::confirmed;
use crate::args::{Global, HeldCommand};
use crate::failure::CliError;
use crate::ids::short;
use crate::local_time;
use crate::output::Output;
use crate::remote::{Backend, is_segment};

pub(super) fn held(
    command: &HeldCommand,
    backend: &Backend,
    global: &Global,
    output: &Output,
) -> Done {
    match command {
        HeldCommand::List => print_list(&backend.rows("/api/held?pageSize=500", "held")?, output),
        HeldCommand::Show { id } => print_item(&find(id, backend)?, output),
        HeldCommand::Restore { ids } => {
            let mut done = Vec::new();
            for id in ids {
                let ask = Ask::post_nothing(format!("{}/restore", path(id)?));
                let restored = backend.wait_raw(backend.client.json_as(ask));
                let item: HeldItem = restored.map_err(|error| unknown(&error, backend))?;
                output.say(&format!("put back `{}`", text::visible_line(&item.path)));
                done.push(item);
            }
            print_done(&done, output);
        }
        HeldCommand::Drop { ids, yes } => {
            let mut done = Vec::new();
            for id in ids {
                let item = find(id, backend)?.item;
                let shown = text::visible_line(&item.path).into_owned();
                if !yes && !confirmed(&format!("Delete `{shown}`?"), global, output)? {
                    output.say(&format!("`{shown}` is still held"));
                    continue;
                }
                backend.wait(backend.client.delete(&path(&item.id)?))?;
                output.say(&format!("deleted `{shown}`"));
                done.push(item);
            }
            print_done(&done, output);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The path of an item. What cannot be part of one is the id of none.
fn path(id: &str) -> Result<String, CliError> {
    if is_segment(id) {
        return Ok(format!("/api/held/{}", Ask::encoded(id)));
    }
    let message = format!("nothing is held under the id `{}`", text::shorten(id, 64));
    Err(CliError::from(ToolError::new(ErrorCode::NotFound, message)).with_hint(UNKNOWN))
}

/// What to do about an id that is none.
const UNKNOWN: &str = "`toolcrib held list` shows what is held, with its ids";

fn find(id: &str, backend: &Backend) -> Result<HeldContent, CliError> {
    let found = backend.wait_raw(backend.client.get_as(&path(id)?));
    found.map_err(|error| unknown(&error, backend))
}

/// With the fix of an id that is none.
fn unknown(error: &ClientError, backend: &Backend) -> CliError {
    let failed = backend.failed(error);
    match error.status() {
        Some(404) => failed.with_hint(UNKNOWN),
        _ => failed,
    }
}

fn print_done(items: &[HeldItem], output: &Output) {
    if output.json() {
        output.document(&items);
    }
}

fn print_list(items: &[HeldItem], output: &Output) {
    if output.json() {
        output.document(&items);
        return;
    }
    if items.is_empty() && !output.plain() {
        output.say("nothing is held");
        return;
    }
    let rows: Vec<Vec<String>> = items
        .iter()
        .map(|item| {
            let id = match output.plain() {
                true => item.id.as_str(),
                false => short(&item.id),
            };
            vec![
                id.to_owned(),
                text::visible_line(&item.path).into_owned(),
                item.tool.clone(),
                match output.plain() {
                    true => item.at.strftime("%Y-%m-%d %H:%M").to_string(),
                    false => local_time::minute(item.at),
                },
                text::visible_line(&item.why).into_owned(),
            ]
        })
        .collect();
    output.table(&["ID", "PATH", "MADE BY", "WHEN", "WHY"], &rows);
}

fn print_item(shown: &HeldContent, output: &Output) {
    if output.json() {
        output.document(shown);
        return;
    }
    let item = &shown.item;
    let line =
        |name: &str, value: &str| output.line(&format!("{name:<10} {}", text::visible_line(value)));
    line("id", &item.id);
    line("path", &item.path);
    line("workspace", &item.workspace);
    line("why", &item.why);
    line("made by", &format!("{} (call {})", item.tool, item.call));
    for file in &shown.files {
        let name = match file.path.as_str() {
            "" => &item.path,
            path => path,
        };
        output.line("");
        output.line(&format!(
            "{} ({}, {} bytes)",
            text::visible_line(name),
            file.kind,
            file.size
        ));
        for line in file.text.as_deref().unwrap_or("(not text)").lines() {
            output.line(&format!("  {}", text::visible_line(line)));
        }
        if file.omitted > 0 {
            output.say(&format!(
                "the last {} bytes of it are not shown",
                file.omitted
            ));
        }
    }
    if shown.truncated {
        output.say("there are more files");
    }
}
