//! `toolcrib bundle` through a server.

use std::process::ExitCode;

use serde_json::{Value, json};
use toolcrib::BundleId;
use toolcrib::model::text::visible;
use toolcrib_server::client::Ask;

use super::super::Done;
use super::super::bundle as here;
use super::super::confirm::{confirmed, declined};
use super::{first_line, flag, standing, text, texts};
use crate::args::{
    BundleCommand, BundleExportArgs, BundleImportArgs, BundleListArgs, BundleNewArgs, BundleRmArgs,
    Global,
};
use crate::failure::CliError;
use crate::output::Output;
use crate::remote::{self, Server};

/// The largest archive that is read.
const MAX_ARCHIVE: usize = 1024 * 1024 * 1024;

pub(super) fn bundle(
    command: &BundleCommand,
    server: impl FnOnce() -> Result<Server, CliError>,
    global: &Global,
    output: &Output,
) -> Done {
    match command {
        BundleCommand::List(args) => list(args, &server()?, output),
        BundleCommand::Show(args) => show(&args.bundle, &server()?, output),
        BundleCommand::New(args) => new(args, &server()?, output),
        BundleCommand::Enable(args) => enable(&args.bundles, args.yes, &server()?, global, output),
        BundleCommand::Disable(args) => switch(&args.bundles, false, &server()?, output),
        BundleCommand::Rm(args) => rm(args, &server()?, global, output),
        BundleCommand::Restore(args) => restore(&args.bundle, &server()?, output),
        BundleCommand::Export(args) => export(args, &server()?, output),
        BundleCommand::Import(args) => import(args, &server()?, global, output),
        BundleCommand::Add(_) => refuse("add", global),
        BundleCommand::Edit(_) => refuse("edit", global),
        BundleCommand::Diff(_) => refuse("diff", global),
    }
}

fn refuse(word: &str, global: &Global) -> Done {
    remote::refuse(global, &format!("`toolcrib bundle {word}`"))?;
    Ok(ExitCode::SUCCESS)
}

fn path_of(bundle: &str) -> String {
    format!("/tools/bundles/{}", Ask::encoded(bundle))
}

/// How a bundle stands, in one word.
fn state(row: &Value) -> &'static str {
    if row.get("softDeletedAt").is_some() {
        "bin"
    } else if standing(row).0 == "unavailable" {
        "damaged"
    } else if flag(row, "isEnabled") {
        "on"
    } else {
        "off"
    }
}

fn from(row: &Value) -> &'static str {
    match text(row, "kind") {
        "builtIn" | "built-in" => "built-in",
        "files" => "files",
        _ => "store",
    }
}

fn tools(row: &Value) -> u64 {
    row.get("tools").and_then(Value::as_u64).unwrap_or_default()
}

fn list(args: &BundleListArgs, server: &Server, output: &Output) -> Done {
    let all = server.rows(
        "/tools/bundles?includeDisabled=true&pageSize=500",
        "bundles",
    )?;
    let (shown, hidden): (Vec<_>, Vec<_>) =
        all.iter().partition(|row| args.all || state(row) == "on");
    if output.json() {
        output.document(&shown);
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<Vec<String>> = shown
        .iter()
        .map(|row| {
            let mark = if texts(row, "warnings").is_empty() {
                ""
            } else {
                " (!)"
            };
            let is_damaged = state(row) == "damaged";
            vec![
                format!("{}{mark}", text(row, "slug")),
                state(row).to_owned(),
                match is_damaged {
                    true => "-".to_owned(),
                    false => tools(row).to_string(),
                },
                from(row).to_owned(),
                first_line(text(
                    row,
                    if is_damaged { "problem" } else { "description" },
                )),
            ]
        })
        .collect();
    if !rows.is_empty() || output.plain() {
        output.table(&["SLUG", "STATE", "TOOLS", "FROM", "DESCRIPTION"], &rows);
    }
    let hidden = hidden.iter().filter(|row| state(row) != "damaged").count();
    if hidden > 0 {
        let more = here::counted(hidden, "more bundle");
        let are = if hidden == 1 { "is" } else { "are" };
        output.say(&output.dim(&format!(
            "{more} {are} off or in the bin: toolcrib bundle list --all"
        )));
    }
    Ok(ExitCode::SUCCESS)
}

fn contents(bundle: &Value, server: &Server) -> Result<Vec<Value>, CliError> {
    let id = Ask::encoded(text(bundle, "bundleID"));
    let path = format!("/tools?includeDisabled=true&recommendedPageSize=500&bundleIDs={id}");
    server.rows(&path, "tools")
}

fn show(bundle: &str, server: &Server, output: &Output) -> Done {
    let mut row = server.get(&path_of(bundle))?;
    let contents = contents(&row, server)?;
    if output.json() {
        row["contents"] = contents.into();
        output.document(&row);
        return Ok(ExitCode::SUCCESS);
    }
    let painted = match state(&row) {
        "on" => output.good("on"),
        word => output.doubtful(word),
    };
    let slug = output.heading(&visible(text(&row, "slug")));
    output.line(&format!("{slug}  {painted}"));
    if !text(&row, "description").is_empty() {
        output.line(&visible(text(&row, "description")));
    }
    output.line("");
    let field = |name: &str, value: &str| {
        if !value.is_empty() {
            output.line(&format!("{name:<10}{}", visible(value).replace('\n', " ")));
        }
    };
    field("problem", text(&row, "problem"));
    if text(&row, "displayName") != text(&row, "slug") {
        field("name", text(&row, "displayName"));
    }
    field("id", text(&row, "bundleID"));
    field("from", from(&row));
    field("tools", &tools(&row).to_string());
    if from(&row) == "store" {
        field("created", text(&row, "createdAt"));
        field("modified", text(&row, "modifiedAt"));
    }
    if let Some(imported) = row.get("importedAt").and_then(Value::as_str) {
        field(
            "imported",
            &format!("{imported}; every call of its tools asks"),
        );
    }
    if !text(&row, "softDeletedAt").is_empty() {
        field("bin", &format!("since {}", text(&row, "softDeletedAt")));
    }
    if contents.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    output.line("");
    let rows: Vec<Vec<String>> = contents
        .iter()
        .map(|tool| {
            vec![
                text(tool, "slug").to_owned(),
                text(tool, "version").to_owned(),
                text(tool, "name").to_owned(),
                super::tools::state(tool).to_owned(),
                first_line(text(tool, "description")),
            ]
        })
        .collect();
    output.table(&["TOOL", "VERSION", "NAME", "STATE", "DESCRIPTION"], &rows);
    Ok(ExitCode::SUCCESS)
}

fn new(args: &BundleNewArgs, server: &Server, output: &Output) -> Done {
    let id = args.id.unwrap_or_else(BundleId::generate).to_string();
    let found = server.runtime.block_on(server.client.get(&path_of(&id)));
    if found.is_ok() {
        return Err(CliError::usage(format!(
            "there is a bundle with the id {id} already"
        )));
    }
    let body = json!({
        "slug": args.slug,
        "displayName": args.name.as_ref().unwrap_or(&args.slug),
        "description": args.description.as_deref().unwrap_or_default(),
        "isEnabled": !args.disabled,
    });
    let made = server.wait(server.client.put(&path_of(&id), &body))?;
    if output.json() {
        output.document(&made);
    } else {
        output.line(&id);
        output.say(&format!("`{}` is there", visible(text(&made, "slug"))));
    }
    Ok(ExitCode::SUCCESS)
}

fn enable(names: &[String], yes: bool, server: &Server, global: &Global, output: &Output) -> Done {
    for name in names {
        let row = server.get(&path_of(name))?;
        let is_foreign = row.get("importedAt").is_some() && !flag(&row, "isEnabled");
        if !is_foreign || yes {
            continue;
        }
        for tool in contents(&row, server)? {
            let line = format!(
                "{}/{}@{}",
                text(&tool, "bundle"),
                text(&tool, "slug"),
                text(&tool, "version")
            );
            output.error_line(&format!(
                "{}  {}",
                visible(&line),
                visible(&first_line(text(&tool, "description")))
            ));
        }
        let question = format!(
            "`{}` was imported; `toolcrib show` shows what a tool runs. May its tools be offered from now on? [y/n] ",
            visible(text(&row, "slug"))
        );
        if !confirmed(&question, global, output)? {
            return Err(declined("nothing was switched on"));
        }
    }
    switch(names, true, server, output)
}

fn switch(names: &[String], enabled: bool, server: &Server, output: &Output) -> Done {
    // All or none, as far as that can be known.
    let mut found = Vec::new();
    for name in names {
        found.push(server.get(&path_of(name))?);
    }
    let mut switched = Vec::new();
    for row in &found {
        let body = json!({"isEnabled": enabled});
        let path = path_of(text(row, "bundleID"));
        switched.push(server.wait(server.client.patch(&path, &body))?);
    }
    if output.json() {
        output.document(&switched);
        return Ok(ExitCode::SUCCESS);
    }
    for row in &switched {
        let tools = here::counted(usize::try_from(tools(row)).unwrap_or_default(), "tool");
        let state = if enabled { "on" } else { "off" };
        output.say(&format!(
            "`{}` is {state}, with {tools}",
            visible(text(row, "slug"))
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn rm(args: &BundleRmArgs, server: &Server, global: &Global, output: &Output) -> Done {
    let row = server.get(&path_of(&args.bundle))?;
    let slug = visible(text(&row, "slug")).into_owned();
    let count = here::counted(usize::try_from(tools(&row)).unwrap_or_default(), "tool");
    let question = format!("put `{slug}` in the bin, with {count}? [y/n] ");
    if !args.yes && tools(&row) > 0 && !confirmed(&question, global, output)? {
        return Err(declined("nothing was removed"));
    }
    let path = path_of(text(&row, "bundleID"));
    server.wait(server.client.delete(&path))?;
    if output.json() {
        output.document(&server.get(&path)?);
    } else {
        output.say(&format!(
            "`{slug}` is in the bin: toolcrib bundle restore {slug}"
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn restore(bundle: &str, server: &Server, output: &Output) -> Done {
    let path = format!("/api/bundles/{}/restore", Ask::encoded(bundle));
    let ask = Ask::post_nothing(path);
    let row = server.wait(server.client.json(ask))?;
    if output.json() {
        output.document(&row);
    } else {
        output.say(&format!(
            "`{}` is out of the bin, and {}",
            visible(text(&row, "slug")),
            state(&row)
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn export(args: &BundleExportArgs, server: &Server, output: &Output) -> Done {
    here::export::refuse_stdout(args, output)?;
    let row = server.get(&path_of(&args.bundle))?;
    here::export::refuse_place(args, &row)?;
    let path = format!("/api/bundles/{}/export", Ask::encoded(&args.bundle));
    let ask = Ask::get(path).max_answer(MAX_ARCHIVE);
    let bytes = server.wait(server.client.bytes(ask))?;
    here::export::write_out(args, &row, &bytes, output)
}

fn import(args: &BundleImportArgs, server: &Server, global: &Global, output: &Output) -> Done {
    let bytes = std::fs::read(&args.file).map_err(|error| {
        CliError::usage(format!("cannot read `{}`: {error}", args.file.display()))
    })?;
    let path = |dry_run: bool| {
        let mut path = format!(
            "/api/bundles/import?dryRun={dry_run}&update={}",
            args.update
        );
        if let Some(slug) = &args.slug {
            path.push_str(&format!("&slug={}", Ask::encoded(slug)));
        }
        path
    };
    let send = |dry_run: bool| {
        let ask = Ask::post_zip(path(dry_run), bytes.clone());
        server.wait(server.client.json(ask))
    };
    let shown = send(true)?;
    if args.dry_run {
        output.document(&shown);
        return Ok(ExitCode::SUCCESS);
    }
    if !args.yes {
        output.error_line(&visible(&format!("{shown:#}")));
        if !confirmed("take it in? [y/n] ", global, output)? {
            return Err(declined("nothing was taken in"));
        }
    }
    let taken = send(false)?;
    if output.json() {
        output.document(&taken);
    } else {
        output.say("it is taken in, switched off: `toolcrib bundle enable` switches it on");
    }
    Ok(ExitCode::SUCCESS)
}
