//! `toolcrib bundle list`: which bundles there are.

use std::process::ExitCode;

use serde_json::{Map, Value, json};
use toolcrib::crib::{BundleKind, BundleView};
use toolcrib::model::text::visible;
use toolcrib::store::Damage;

use super::{as_json, counted, damaged, from, state};
use crate::args::{BundleListArgs, Global};
use crate::commands::{Done, open};
use crate::output::Output;

pub(super) fn list(args: &BundleListArgs, global: &Global, output: &Output) -> Done {
    let crib = open(global, output)?;
    let all = crib.bundles();
    let (shown, hidden): (Vec<_>, Vec<_>) =
        all.iter().partition(|view| args.all || state(view) == "on");
    let damaged = damaged(&crib);
    if output.json() {
        let mut documents: Vec<_> = shown.into_iter().map(as_json).collect();
        if args.all {
            documents.extend(damaged.iter().map(damaged_json));
        }
        output.document(&documents);
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows: Vec<Vec<String>> = shown.iter().map(|view| row(view)).collect();
    if args.all {
        rows.extend(damaged.iter().map(damaged_row));
    }
    if !rows.is_empty() || output.plain() {
        output.table(&["SLUG", "STATE", "TOOLS", "FROM", "DESCRIPTION"], &rows);
    }
    // What is damaged is said to everybody: tools are missing.
    let partly = all.iter().filter_map(|view| {
        let problem = view.problem.as_ref()?;
        Some((view.bundle.slug.to_string(), problem.clone()))
    });
    let wholly = damaged.iter().map(|damage| {
        let why = format!(
            "it is damaged ({}); `toolcrib doctor` says more",
            damage.reason
        );
        (damage.bundle.to_string(), why)
    });
    for (name, why) in partly.chain(wholly.filter(|_| !args.all)) {
        let (name, why) = (visible(&name), visible(&why));
        let warning = output.bold("warning:");
        output.say(&format!("{warning} `{name}`: {why}"));
    }
    if !hidden.is_empty() {
        let more = counted(hidden.len(), "more bundle");
        let are = if hidden.len() == 1 { "is" } else { "are" };
        output.say(&output.dim(&format!(
            "{more} {are} off or in the bin: toolcrib bundle list --all"
        )));
    }
    Ok(ExitCode::SUCCESS)
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
        view.tools.to_string(),
        from(view).to_owned(),
        first_line(&bundle.description),
    ]
}

/// Of a bundle that cannot be read there is its id, and the reason.
fn damaged_row(damage: &Damage) -> Vec<String> {
    vec![
        damage.bundle.to_string(),
        "damaged".to_owned(),
        "-".to_owned(),
        "store".to_owned(),
        first_line(&damage.reason),
    ]
}

fn damaged_json(damage: &Damage) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert("bundleID".to_owned(), json!(damage.bundle));
    fields.insert("kind".to_owned(), json!(BundleKind::Store));
    fields.insert("problem".to_owned(), json!(damage.reason));
    fields
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
