//! `toolcrib enable` and `toolcrib disable`: switching tools on and off, for good.

use std::process::ExitCode;
use std::sync::Arc;

use toolcrib::model::text::visible;
use toolcrib::registry::{Entry, Source};

use super::list::{Listing, Row};
use super::{Done, open, standing, stored};
use crate::args::{Global, SwitchArgs};
use crate::output::Output;

pub(super) fn set_enabled(
    args: &SwitchArgs,
    enabled: bool,
    global: &Global,
    output: &Output,
) -> Done {
    let crib = open(global, output)?;
    let mut tools: Vec<String> = Vec::new();
    for tool in &args.tools {
        let entry = crib.registry().find(tool)?;
        // The version that is meant now: another one has its name as soon as it is off.
        tools.push(match stored::record(&entry, &crib) {
            Some(record) => record.head.tool_id.to_string(),
            None => tool.clone(),
        });
    }
    let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
    crib.set_enabled(&tools, enabled)?;
    let entries: Vec<Arc<Entry>> = tools
        .iter()
        .map(|tool| crib.registry().find(tool))
        .collect::<Result<_, _>>()?;
    if output.json() {
        let listing = Listing::of(&crib);
        let rows: Vec<Row<'_>> = entries.iter().map(|entry| listing.row(entry)).collect();
        output.document(&rows);
        return Ok(ExitCode::SUCCESS);
    }
    for entry in &entries {
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
            (false, _) => output.say(&format!("`{name}` is off{place}")),
            (true, (_, None)) => output.say(&format!("`{name}` is on{place}")),
            (true, (state, Some(why))) => {
                let why = visible(&why).into_owned();
                output.say(&format!("`{name}` is on{place}, but {state}: {why}"));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
