//! `toolcrib bundle list`: which bundles there are.

use std::process::ExitCode;

use toolcrib::crib::BundleView;
use toolcrib::model::text::visible;

use super::{as_json, counted, from, state};
use crate::args::{BundleListArgs, Global};
use crate::commands::{Done, open, warn_of_store};
use crate::output::Output;

pub(super) fn list(args: &BundleListArgs, global: &Global, output: &Output) -> Done {
    let crib = open(global, output)?;
    warn_of_store(&crib, output);
    let all = crib.bundles();
    let (shown, hidden): (Vec<_>, Vec<_>) =
        all.iter().partition(|view| args.all || state(view) == "on");
    if output.json() {
        let documents: Vec<_> = shown.into_iter().map(as_json).collect();
        output.document(&documents);
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<Vec<String>> = shown.iter().map(|view| row(view)).collect();
    if !rows.is_empty() || output.plain() {
        output.table(&["SLUG", "STATE", "TOOLS", "FROM", "DESCRIPTION"], &rows);
    }
    warn_of_problems(&all, output);
    let hidden = hidden.iter().filter(|view| !view.is_damaged).count();
    if hidden > 0 {
        let more = counted(hidden, "more bundle");
        let are = if hidden == 1 { "is" } else { "are" };
        output.say(&output.dim(&format!(
            "{more} {are} off or in the bin: toolcrib bundle list --all"
        )));
    }
    Ok(ExitCode::SUCCESS)
}

/// What is damaged is said to everybody: tools are missing. Once, where it is the same for several.
fn warn_of_problems(all: &[BundleView], output: &Output) {
    let mut problems: Vec<(&str, Vec<String>)> = Vec::new();
    for view in all {
        if let Some(why) = view.problem.as_deref() {
            let name = format!("`{}`", visible(view.bundle.slug.as_str()));
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

fn row(view: &BundleView) -> Vec<String> {
    let bundle = &view.bundle;
    let mark = if bundle.slug.mixes_scripts() {
        " (!)"
    } else {
        ""
    };
    vec![
        format!("{}{mark}", bundle.slug),
        state(view).to_owned(),
        match view.is_damaged {
            true => "-".to_owned(),
            false => view.tools.to_string(),
        },
        from(view).to_owned(),
        first_line(match (&view.problem, view.is_damaged) {
            (Some(problem), true) => problem,
            _ => &bundle.description,
        }),
    ]
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
