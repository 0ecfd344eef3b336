//! `toolcrib bundle show`: one bundle and its tools.

use std::collections::BTreeSet;
use std::process::ExitCode;

use serde_json::json;
use toolcrib::crib::{BundleKind, BundleRow, ListedTool, ToolList, ToolRow};
use toolcrib::model::text::visible;
use toolcrib_server::client::Ask;

use super::{find, from, imported_at, is_damaged, state};
use crate::args::BundleArgs;
use crate::commands::list::tools_at;
use crate::commands::{Done, reason_of, reference, warn_of_store};
use crate::local_time;
use crate::output::Output;
use crate::remote::Backend;

pub(super) fn show(args: &BundleArgs, backend: &Backend, output: &Output) -> Done {
    if let Some(crib) = backend.crib() {
        warn_of_store(crib, output);
    }
    let bundle = find(&args.bundle, backend)?;
    let id = bundle.bundle_id.to_string();
    if is_damaged(&bundle) {
        // There is nothing to show; the error says what is wrong with it.
        let path = format!("/api/bundles/{}/review", Ask::encoded(&id));
        backend.get(&path)?;
    }
    let list: ToolList = backend.get_as(&tools_at(&[("bundle", &id)]))?;
    if output.json() {
        let rows: Vec<&ToolRow> = list.tools.iter().map(|tool| &tool.row).collect();
        let mut document = json!(bundle);
        document["contents"] = json!(rows);
        output.document(&document);
        return Ok(ExitCode::SUCCESS);
    }
    head(&bundle, output);
    if list.tools.is_empty() {
        if bundle.kind == BundleKind::Store && state(&bundle) == "on" {
            let slug = crate::commands::word(bundle.slug.as_str());
            output.say(&format!(
                "  toolcrib bundle add {slug} FILE   put a tool in it"
            ));
        }
        return Ok(ExitCode::SUCCESS);
    }
    output.line("");
    let rows: Vec<Vec<String>> = list
        .tools
        .iter()
        .map(|ListedTool { row, state, .. }| {
            let first = row.description.lines().next().unwrap_or_default();
            vec![
                row.slug.clone(),
                row.version.clone(),
                row.name.clone(),
                state.to_string(),
                first.to_owned(),
            ]
        })
        .collect();
    output.table(&["TOOL", "VERSION", "NAME", "STATE", "DESCRIPTION"], &rows);
    say_reasons(&list.tools, output);
    Ok(ExitCode::SUCCESS)
}

/// Says why tools are not on offer. Each reason once: a bundle that is off has the same for all of its tools.
fn say_reasons(tools: &[ListedTool], output: &Output) {
    let say = |row: &ToolRow, why: &str| {
        let line = format!("{}: {why}", reference(row));
        output.say(&output.dim(&visible(&line)));
    };
    let mut said = BTreeSet::new();
    for tool in tools {
        let row = &tool.row;
        let why = reason_of(&row.availability).or_else(|| tool.behind.clone());
        if let Some(why) = why
            && said.insert(why.clone())
        {
            say(row, &why);
        }
        if let (true, Some(by)) = (tool.state == "shadowed", &row.shadowed_by) {
            say(row, &format!("`{}` is `{by}`", row.name));
        }
    }
}

fn head(bundle: &BundleRow, output: &Output) {
    let painted = match state(bundle) {
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
    if let Some(problem) = &bundle.problem {
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
    field("from", from(bundle));
    field("tools", &bundle.tools.to_string());
    if let (BundleKind::Store, Some(created), Some(modified)) =
        (bundle.kind, bundle.created_at, bundle.modified_at)
    {
        field("created", &local_time::second(created));
        field("modified", &local_time::second(modified));
    }
    if let Some(imported) = imported_at(&bundle.extra) {
        field(
            "imported",
            &format!("{imported}; every call of its tools asks"),
        );
    }
    if let Some(deleted) = bundle.soft_deleted_at {
        field("bin", &format!("since {}", local_time::second(deleted)));
    }
}
