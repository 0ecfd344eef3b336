//! `toolcrib bundle list`: which bundles there are.

use std::process::ExitCode;

use super::{as_json, counted, from, state};
use crate::args::{BundleListArgs, Global};
use crate::commands::{Done, open};
use crate::output::Output;

pub(super) fn list(args: &BundleListArgs, global: &Global, output: &Output) -> Done {
    let crib = open(global, output)?;
    let all = crib.bundles();
    let (shown, hidden): (Vec<_>, Vec<_>) =
        all.iter().partition(|view| args.all || state(view) == "on");
    if output.json() {
        output.document(&shown.into_iter().map(as_json).collect::<Vec<_>>());
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<Vec<String>> = shown
        .into_iter()
        .map(|view| {
            let bundle = &view.bundle;
            let about = view.problem.as_ref().unwrap_or(&bundle.description);
            vec![
                bundle.slug.to_string(),
                state(view).to_owned(),
                view.tools.to_string(),
                from(view).to_owned(),
                about.lines().next().unwrap_or_default().to_owned(),
            ]
        })
        .collect();
    if !rows.is_empty() || output.plain() {
        output.table(&["SLUG", "STATE", "TOOLS", "FROM", "DESCRIPTION"], &rows);
    }
    // What is damaged is said to everybody: its tools are missing.
    for view in &hidden {
        if let Some(problem) = &view.problem {
            let slug = toolcrib::model::text::visible(view.bundle.slug.as_str());
            let problem = toolcrib::model::text::visible(problem);
            let warning = output.bold("warning:");
            output.say(&format!("{warning} `{slug}` is damaged: {problem}"));
        }
    }
    if !hidden.is_empty() {
        let more = counted(hidden.len(), "more bundle");
        let are = if hidden.len() == 1 { "is" } else { "are" };
        output.say(&output.dim(&format!(
            "{more} {are} off, in the bin or damaged: toolcrib bundle list --all"
        )));
    }
    Ok(ExitCode::SUCCESS)
}
