//! `toolcrib held`: what commands made that other programs would run. Written once, for this process and for a server.

use std::process::ExitCode;

use serde::de::DeserializeOwned;
use serde_json::Value;
use toolcrib::held::{HeldContent, HeldItem};
use toolcrib::model::text;
use toolcrib::{Crib, ErrorCode, ToolError};
use toolcrib_server::client::{Ask, ClientError};

use super::confirm::confirmed;
use super::{Done, open};
use crate::args::{Global, HeldCommand};
use crate::failure::CliError;
use crate::output::Output;
use crate::prompt::short;
use crate::remote::Server;

/// Where the items are.
pub(super) enum Holder {
    Here(Box<Crib>),
    There(Box<Server>),
}

pub(super) fn held_here(command: &HeldCommand, global: &Global, output: &Output) -> Done {
    let crib = open(global, output)?;
    held(command, &Holder::Here(Box::new(crib)), global, output)
}

pub(super) fn held(
    command: &HeldCommand,
    holder: &Holder,
    global: &Global,
    output: &Output,
) -> Done {
    match command {
        HeldCommand::List => print_list(&holder.list()?, output),
        HeldCommand::Show { id } => print_item(&holder.show(id)?, output),
        HeldCommand::Restore { ids } => {
            let mut done = Vec::new();
            for id in ids {
                let item = holder.restore(id)?;
                output.say(&format!("put back `{}`", text::visible_line(&item.path)));
                done.push(item);
            }
            print_done(&done, output);
        }
        HeldCommand::Drop { ids, yes } => {
            let mut done = Vec::new();
            for id in ids {
                let item = holder.show(id)?.item;
                let path = text::visible_line(&item.path).into_owned();
                if !yes && !confirmed(&format!("Delete `{path}`?"), global, output)? {
                    output.say(&format!("`{path}` is still held"));
                    continue;
                }
                holder.drop(&item.id)?;
                output.say(&format!("deleted `{path}`"));
                done.push(item);
            }
            print_done(&done, output);
        }
    }
    Ok(ExitCode::SUCCESS)
}

impl Holder {
    fn list(&self) -> Result<Vec<HeldItem>, CliError> {
        match self {
            Holder::Here(crib) => Ok(crib.held().list().map_err(ToolError::from)?),
            Holder::There(server) => {
                let rows = server.rows("/api/held?pageSize=500", "held")?;
                let read = |row| serde_json::from_value(row).ok();
                Ok(rows.into_iter().filter_map(read).collect())
            }
        }
    }

    fn show(&self, id: &str) -> Result<HeldContent, CliError> {
        match self {
            Holder::Here(crib) => Ok(crib.held().show(id).map_err(unknown)?),
            Holder::There(server) => {
                let path = format!("/api/held/{}", Ask::encoded(id));
                server.wait(server.client.get_as(&path))
            }
        }
    }

    fn restore(&self, id: &str) -> Result<HeldItem, CliError> {
        match self {
            Holder::Here(crib) => Ok(crib.held().restore(id).map_err(unknown)?),
            Holder::There(server) => {
                let path = format!("/api/held/{}/restore", Ask::encoded(id));
                server.wait(async {
                    read(server.client.json(Ask::post_nothing(path)).await?, server)
                })
            }
        }
    }

    fn drop(&self, id: &str) -> Result<(), CliError> {
        match self {
            Holder::Here(crib) => Ok(crib.held().drop(id).map(drop).map_err(unknown)?),
            Holder::There(server) => {
                let path = format!("/api/held/{}", Ask::encoded(id));
                server.wait(server.client.delete(&path)).map(drop)
            }
        }
    }
}

/// With the fix of an id that is none.
fn unknown(error: ToolError) -> CliError {
    let is_unknown = error.code() == ErrorCode::NotFound;
    let error = CliError::from(error);
    match is_unknown {
        true => error.with_hint("`toolcrib held list` shows what is held, with its ids"),
        false => error,
    }
}

fn read<T: DeserializeOwned>(value: Value, server: &Server) -> Result<T, ClientError> {
    serde_json::from_value(value).map_err(|error| ClientError::Strange {
        server: server.client.address().to_string(),
        why: error.to_string(),
    })
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
                item.at.strftime("%Y-%m-%d %H:%M").to_string(),
                text::visible_line(&item.why).into_owned(),
            ]
        })
        .collect();
    output.table(&["ID", "PATH", "MADE BY", "WHEN (UTC)", "WHY"], &rows);
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
