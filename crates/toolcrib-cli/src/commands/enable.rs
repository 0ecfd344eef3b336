//! `toolcrib enable` and `toolcrib disable`: switching tools on and off, for good.
//!
//! `acme/greet` and `greet` mean the tool, with all of its versions; `acme/greet@v1` and an id mean one of them.

use std::process::ExitCode;

use serde_json::json;
use toolcrib::crib::{ToolList, ToolRow};
use toolcrib::model::text::visible;
use toolcrib::registry::Source;
use toolcrib_server::client::Ask;

use super::list::tools_at;
use super::names::Holders;
use super::{Done, availability_word, reason_of, reference, stored};
use crate::args::SwitchArgs;
use crate::failure::CliError;
use crate::output::Output;
use crate::remote::Backend;

/// What one word of the command line names.
struct Meant {
    /// The tool, if it is one of the store with several versions and none was named.
    tool: Option<String>,
    /// Each version.
    versions: Vec<ToolRow>,
}

pub(super) fn set_enabled(
    args: &SwitchArgs,
    enabled: bool,
    backend: &Backend,
    output: &Output,
) -> Done {
    // All are looked up first: a typing error should not leave half of it done.
    let meant: Vec<Meant> = args
        .tools
        .iter()
        .map(|word| meant(word, backend))
        .collect::<Result<_, _>>()?;
    let mut all: Vec<&ToolRow> = Vec::new();
    for version in meant.iter().flat_map(|meant| &meant.versions) {
        if !all.iter().any(|known| id(known) == id(version)) {
            all.push(version);
        }
    }
    let names = all.iter().map(|row| row.name.clone());
    let before = Holders::of(names, backend)?;
    switch(&all, enabled, backend)?;
    if output.json() {
        output.document(&rows(&all, backend)?);
        return Ok(ExitCode::SUCCESS);
    }
    for meant in &meant {
        let versions: Vec<&ToolRow> = meant.versions.iter().collect();
        let rows = rows(&versions, backend)?;
        say(meant.tool.as_deref(), &rows, enabled, output);
    }
    before.say_changes(&before.now(backend)?, output);
    Ok(ExitCode::SUCCESS)
}

/// Switches tools: here all at once, whatever their bundles are; in a server one after the other.
fn switch(tools: &[&ToolRow], enabled: bool, backend: &Backend) -> Result<(), CliError> {
    if let Some(crib) = backend.crib() {
        let ids: Vec<String> = tools.iter().map(|row| id(row)).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        return Ok(crib.set_enabled(&ids, enabled)?);
    }
    for row in tools {
        let switch = Ask::patch(stored::path_of(row), &json!({"isEnabled": enabled}));
        backend.wait(backend.client.json(switch))?;
    }
    Ok(())
}

/// What means this version and no other, however the switches stand: another one may have its name once it is off.
fn id(row: &ToolRow) -> String {
    let stored = row.tool_id.filter(|_| row.source == Source::Store);
    stored.map_or_else(|| reference(row), |id| id.to_string())
}

/// The rows of tools as they are now.
fn rows(tools: &[&ToolRow], backend: &Backend) -> Result<Vec<ToolRow>, CliError> {
    let ids: Vec<String> = tools.iter().map(|row| id(row)).collect();
    let list: ToolList = backend.get_as(&tools_at(&[("tools", &ids.join(","))]))?;
    Ok(list.tools.into_iter().map(|tool| tool.row).collect())
}

fn meant(word: &str, backend: &Backend) -> Result<Meant, CliError> {
    let row = stored::find(word, backend)?;
    if row.source != Source::Store || stored::names_version(word) {
        let (tool, versions) = (None, vec![row]);
        return Ok(Meant { tool, versions });
    }
    let versions = stored::versions_of(&row, backend)?;
    let tool = (versions.len() > 1).then(|| format!("{}/{}", row.bundle, row.slug));
    Ok(Meant { tool, versions })
}

/// Says how the versions of one tool stand now.
fn say(tool: Option<&str>, rows: &[ToolRow], enabled: bool, output: &Output) {
    let state = if enabled { "on" } else { "off" };
    if let Some(tool) = tool {
        let versions: Vec<&str> = rows.iter().map(|row| row.version.as_str()).collect();
        output.say(&format!(
            "`{}` is {state}, in {} versions: {}",
            visible(tool),
            versions.len(),
            visible(&versions.join(", "))
        ));
    }
    for row in rows {
        let name = match row.source {
            Source::Store => visible(&reference(row)).into_owned(),
            _ => row.name.clone(),
        };
        let place = match row.bundle.as_str() {
            "local" => " in this workspace",
            _ => "",
        };
        match (enabled, reason_of(&row.availability)) {
            (true, Some(why)) => {
                let (state, why) = (availability_word(&row.availability), visible(&why));
                output.say(&format!("`{name}` is on{place}, but {state}: {why}"));
            }
            // All of them were named above.
            _ if tool.is_some() => {}
            _ => output.say(&format!("`{name}` is {state}{place}")),
        }
    }
}
