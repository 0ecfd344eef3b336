//! `toolcrib enable` and `toolcrib disable`: switching tools on and off, for good.
//!
//! `acme/greet` and `greet` mean the tool, with all of its versions; `acme/greet@v1` and an id mean one of them.

use std::process::ExitCode;
use std::sync::Arc;

use toolcrib::Crib;
use toolcrib::model::text::visible;
use toolcrib::registry::{Entry, Source};

use super::list::Listing;
use super::{Done, open, standing, stored};
use crate::args::{Global, SwitchArgs};
use crate::failure::CliError;
use crate::output::Output;

/// What one word of the command line names.
struct Meant {
    /// The tool, if it is one of the store with several versions and none was named.
    tool: Option<String>,
    /// Each version, by what it is called however the switches stand.
    versions: Vec<String>,
}

pub(super) fn set_enabled(
    args: &SwitchArgs,
    enabled: bool,
    global: &Global,
    output: &Output,
) -> Done {
    let crib = open(global, output)?;
    let meant: Vec<Meant> = args
        .tools
        .iter()
        .map(|word| meant(word, &crib))
        .collect::<Result<_, _>>()?;
    let mut all: Vec<&str> = Vec::new();
    for version in meant.iter().flat_map(|meant| &meant.versions) {
        if !all.contains(&version.as_str()) {
            all.push(version);
        }
    }
    let names = stored::Names::of(&find(&all, &crib)?, &crib);
    crib.set_enabled(&all, enabled)?;
    if output.json() {
        let entries = find(&all, &crib)?;
        let listing = Listing::of(&crib);
        let rows: Vec<_> = entries.iter().map(|entry| listing.row(entry)).collect();
        output.document(&rows);
        return Ok(ExitCode::SUCCESS);
    }
    for meant in &meant {
        let entries = find(&meant.versions, &crib)?;
        say(meant.tool.as_deref(), &entries, enabled, output);
    }
    names.say_changes(&crib, output);
    Ok(ExitCode::SUCCESS)
}

/// What a word names. Versions go by their ids: another one has the name as soon as the first is off.
fn meant(word: &str, crib: &Crib) -> Result<Meant, CliError> {
    let entry = crib.registry().find(word)?;
    let Some(record) = stored::record(&entry, crib) else {
        return Ok(Meant {
            tool: None,
            versions: vec![word.to_owned()],
        });
    };
    let versions = match stored::names_version(word) {
        true => vec![record.head.tool_id.to_string()],
        false => stored::versions(&record, crib)
            .iter()
            .map(|record| record.head.tool_id.to_string())
            .collect(),
    };
    let tool = (versions.len() > 1).then(|| format!("{}/{}", entry.spec().bundle, record.key.slug));
    Ok(Meant { tool, versions })
}

fn find<W: AsRef<str>>(words: &[W], crib: &Crib) -> Result<Vec<Arc<Entry>>, CliError> {
    let entries = words.iter().map(|word| crib.registry().find(word.as_ref()));
    Ok(entries.collect::<Result<_, _>>()?)
}

/// Says how the versions of one tool stand now.
fn say(tool: Option<&str>, entries: &[Arc<Entry>], enabled: bool, output: &Output) {
    let state = if enabled { "on" } else { "off" };
    if let Some(tool) = tool {
        let versions: Vec<&str> = entries
            .iter()
            .map(|entry| entry.spec().version.as_str())
            .collect();
        output.say(&format!(
            "`{}` is {state}, in {} versions: {}",
            visible(tool),
            versions.len(),
            visible(&versions.join(", "))
        ));
    }
    for entry in entries {
        let spec = entry.spec();
        let name = match entry.source() {
            Source::Store => visible(&spec.reference()).into_owned(),
            _ => spec.name.to_string(),
        };
        let place = match spec.bundle.as_str() {
            "local" => " in this workspace",
            _ => "",
        };
        match (enabled, standing(entry)) {
            (true, (state, Some(why))) => {
                let why = visible(&why).into_owned();
                output.say(&format!("`{name}` is on{place}, but {state}: {why}"));
            }
            // All of them were named above.
            _ if tool.is_some() => {}
            _ => output.say(&format!("`{name}` is {state}{place}")),
        }
    }
}
