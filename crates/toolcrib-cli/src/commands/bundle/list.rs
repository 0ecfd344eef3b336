//! `toolcrib bundle list`: which bundles there are.

use std::process::ExitCode;

use toolcrib::crib::BundleRow;
use toolcrib::model::text::visible;

use super::{all, counted, from, is_damaged, state};
use crate::args::BundleListArgs;
use crate::commands::{Done, warn_of_store};
use crate::output::Output;
use crate::remote::Backend;

pub(super) fn list(args: &BundleListArgs, backend: &Backend, output: &Output) -> Done {
    if let Some(crib) = backend.crib() {
        warn_of_store(crib, output);
    }
    let all = all(backend)?;
    let (shown, hidden): (Vec<_>, Vec<_>) = all
        .iter()
        .partition(|bundle| args.all || state(bundle) == "on");
    if output.json() {
        output.document(&shown);
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<Vec<String>> = shown.iter().map(|bundle| row(bundle)).collect();
    if !rows.is_empty() || output.plain() {
        output.table(&["SLUG", "STATE", "TOOLS", "FROM", "DESCRIPTION"], &rows);
    }
    warn_of_problems(&all, output);
    let hidden = hidden.iter().filter(|bundle| !is_damaged(bundle)).count();
    if hidden > 0 {
        let more = counted(hidden, "more bundle");
        let are = if hidden == 1 { "is" } else { "are" };
        output.say(&output.dim(&format!(
            "{more} {are} off or in the bin: toolcrib bundle list --all"
        )));
    }
    Ok(ExitCode::SUCCESS)
}

/// Damage is always reported: tools are missing. Once, where it is the same for several.
fn warn_of_problems(all: &[BundleRow], output: &Output) {
    let mut problems: Vec<(&str, Vec<String>)> = Vec::new();
    for bundle in all {
        if let Some(why) = bundle.problem.as_deref() {
            let name = format!("`{}`", visible(bundle.slug.as_str()));
            match problems.iter_mut().find(|(known, _)| *known == why) {
                Some((_, names)) => names.push(name),
                None => problems.push((why, vec![name])),
            }
        }
    }
    for (why, names) in problems {
        let warning = output.bold("warning:");
        output.say(&format!("{warning} {}: {}", names.join(", "), visible(why)));
    }
}

fn row(bundle: &BundleRow) -> Vec<String> {
    let mark = if bundle.slug.mixes_scripts() {
        " (!)"
    } else {
        ""
    };
    vec![
        format!("{}{mark}", bundle.slug),
        state(bundle).to_owned(),
        match is_damaged(bundle) {
            true => "-".to_owned(),
            false => bundle.tools.to_string(),
        },
        from(bundle).to_owned(),
        first_line(match (&bundle.problem, is_damaged(bundle)) {
            (Some(problem), true) => problem,
            _ => &bundle.description,
        }),
    ]
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
