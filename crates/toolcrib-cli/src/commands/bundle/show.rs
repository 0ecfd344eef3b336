//! `toolcrib bundle show`: one bundle and its tools.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::json;
use toolcrib::crib::{BundleKind, BundleView, ToolRow};
use toolcrib::model::text::visible;
use toolcrib::registry::Entry;

use super::{as_json, find, from, imported_at, state};
use crate::args::{BundleArgs, Global};
use crate::commands::list::{Behind, Listing};
use crate::commands::{Done, open, standing, warn_of_store};
use crate::output::Output;

pub(super) fn show(args: &BundleArgs, global: &Global, output: &Output) -> Done {
    let crib = open(global, output)?;
    warn_of_store(&crib, output);
    let view = find(&args.bundle, &crib)?;
    let entries = crib.bundle_tools(view.bundle.bundle_id);
    let listing = Listing::of(&crib);
    if output.json() {
        let rows: Vec<ToolRow> = entries.iter().map(|entry| listing.row(entry)).collect();
        let mut document = json!(as_json(&view));
        document["contents"] = json!(rows);
        output.document(&document);
        return Ok(ExitCode::SUCCESS);
    }
    head(&view, output);
    if entries.is_empty() {
        if view.kind == BundleKind::Store && state(&view) == "on" {
            let slug = crate::commands::word(view.bundle.slug.as_str());
            output.say(&format!(
                "  toolcrib bundle add {slug} FILE   put a tool in it"
            ));
        }
        return Ok(ExitCode::SUCCESS);
    }
    output.line("");
    let rows: Vec<Vec<String>> = entries
        .iter()
        .map(|entry| {
            let spec = entry.spec();
            vec![
                spec.slug.to_string(),
                spec.version.to_string(),
                spec.name.to_string(),
                listing.state(entry).to_owned(),
                spec.description
                    .lines()
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
            ]
        })
        .collect();
    output.table(&["TOOL", "VERSION", "NAME", "STATE", "DESCRIPTION"], &rows);
    // Each reason once: a bundle that is off has the same for all of its tools.
    let mut said = BTreeSet::new();
    for entry in &entries {
        let behind = || Some(Behind::of(entry, &crib)?.in_words(entry));
        if let Some(why) = standing(entry).1.or_else(behind)
            && said.insert(why.clone())
        {
            output.say(&output.dim(&visible(&reason(entry, &why))));
        }
        if listing.state(entry) == "shadowed"
            && let Some(by) = crib.registry().shadower(entry)
        {
            let (name, by) = (entry.spec().name.as_str(), by.spec().reference());
            let why = format!("`{name}` is `{by}`");
            output.say(&output.dim(&visible(&reason(entry, &why))));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn reason(entry: &Arc<Entry>, why: &str) -> String {
    format!("{}: {why}", entry.spec().reference())
}

fn head(view: &BundleView, output: &Output) {
    let bundle = &view.bundle;
    let painted = match state(view) {
        "on" => output.good("on"),
        word => output.doubtful(word),
    };
    let slug = output.heading(&visible(bundle.slug.as_str()));
    output.line(&format!("{slug}  {painted}"));
    if !bundle.description.is_empty() {
        output.line(&visible(&bundle.description));
    }
    output.line("");
    let field = |name: &str, value: &str| {
        output.line(&format!("{name:<10}{}", visible(value).replace('\n', " ")));
    };
    if let Some(problem) = &view.problem {
        field("problem", problem);
    }
    if bundle.slug.mixes_scripts() {
        field(
            "warning",
            "its slug mixes scripts, so that it may look like another",
        );
    }
    if !bundle.display_name.is_empty() && bundle.display_name != bundle.slug.as_str() {
        field("name", &bundle.display_name);
    }
    field("id", &bundle.bundle_id.to_string());
    field("from", from(view));
    field("tools", &view.tools.to_string());
    if view.kind == BundleKind::Store {
        field("created", &bundle.created_at.to_string());
        field("modified", &bundle.modified_at.to_string());
    }
    if let Some(imported) = imported_at(bundle) {
        field(
            "imported",
            &format!("{imported}; every call of its tools asks"),
        );
    }
    if let Some(deleted) = bundle.soft_deleted_at {
        field("bin", &format!("since {deleted}"));
    }
}
