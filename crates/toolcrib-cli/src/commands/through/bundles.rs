//! `toolcrib bundle` through a server.

use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};
use toolcrib::model::text::visible;
use toolcrib::store::archive::{Archive, MAX_ARCHIVE_BYTES};
use toolcrib::{BundleId, ErrorCode, Slug, ToolError, ToolManifest};
use toolcrib_server::client::{Ask, ClientError};

use super::super::Done;
use super::super::bundle as here;
use super::super::confirm::{confirmed, declined};
use super::{compared, first_line, flag, standing, text, texts};
use crate::args::{
    BundleAddArgs, BundleCommand, BundleDiffArgs, BundleExportArgs, BundleImportArgs,
    BundleListArgs, BundleNewArgs, BundleRmArgs, Global,
};
use crate::backend::Backend as Server;
use crate::commands::trust::labelled;
use crate::commands::word;
use crate::failure::CliError;
use crate::output::Output;
use crate::remote;

pub(in crate::commands) fn bundle(
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
        BundleCommand::Add(args) => add(args, &server()?, output),
        BundleCommand::Edit(_) => refuse("edit", global),
        BundleCommand::Diff(args) => diff(args, &server()?, output),
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
    let all = server.rows::<Value>(
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
    server.rows::<Value>(&path, "tools")
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
        let slug = text(&made, "slug");
        output.line(&format!("made the bundle {} ({id})", visible(slug)));
        let slug = word(slug);
        let (next, what) = match args.disabled {
            false => (format!("add {slug} FILE"), "put a tool in it"),
            true => (
                format!("enable {slug}"),
                "nothing can be put into it before",
            ),
        };
        output.say(&format!("  toolcrib bundle {next}   {}", output.dim(what)));
    }
    Ok(ExitCode::SUCCESS)
}

fn enable(names: &[String], yes: bool, server: &Server, global: &Global, output: &Output) -> Done {
    // All or none, as far as that can be known; each with what it was seen as, if somebody was asked.
    let mut wanted = Vec::new();
    for name in names {
        let row = server.get(&path_of(name))?;
        let is_foreign = row.get("importedAt").is_some() && !flag(&row, "isEnabled");
        let seen = match is_foreign && !yes && row.get("softDeletedAt").is_none() {
            true => Some(ask(&row, server, global, output)?),
            false => None,
        };
        wanted.push((row, seen));
    }
    switched(&wanted, true, server, output)
}

/// Shows what the tools of an imported bundle would do, and asks. What is switched on then is what was shown: by the digest that is returned.
fn ask(row: &Value, server: &Server, global: &Global, output: &Output) -> Result<String, CliError> {
    let id = Ask::encoded(text(row, "bundleID"));
    let review = server.get(&format!("/api/bundles/{id}/review"))?;
    let slug = output.bold(&visible(text(row, "slug")));
    let when = visible(text(row, "importedAt")).into_owned();
    let head = format!("tools of {slug}, imported {when}");
    print(&[head], output);
    print(&compared::page(&review, server, output)?, output);
    let question = match tools(row) {
        1 => "may this tool be offered from now on? [y/n] ".to_owned(),
        tools => format!("may these {tools} tools be offered from now on? [y/n] "),
    };
    if !confirmed(&question, global, output)? {
        return Err(declined("nothing was switched on"));
    }
    match text(&review, "digest") {
        "" => Err(CliError::from(ToolError::new(
            ErrorCode::NetworkError,
            "the server does not say what it has shown; nothing was switched on",
        ))),
        digest => Ok(digest.to_owned()),
    }
}

/// A page before a question. Data goes to stdout only where nobody reads it as JSON.
fn print(lines: &[String], output: &Output) {
    for line in lines {
        match output.json() {
            true => output.error_line(line),
            false => output.line(line),
        }
    }
}

fn switch(names: &[String], enabled: bool, server: &Server, output: &Output) -> Done {
    // All or none, as far as that can be known.
    let mut found = Vec::new();
    for name in names {
        found.push((server.get(&path_of(name))?, None));
    }
    switched(&found, enabled, server, output)
}

fn switched(
    bundles: &[(Value, Option<String>)],
    enabled: bool,
    server: &Server,
    output: &Output,
) -> Done {
    let mut switched = Vec::new();
    for (row, seen) in bundles {
        let path = path_of(text(row, "bundleID"));
        let mut ask = Ask::patch(path, &json!({"isEnabled": enabled}));
        if let Some(seen) = seen {
            let bound = ask.if_match(seen);
            ask = bound.map_err(|error| remote::failed(&error, server.client.address()))?;
        }
        switched.push(server.wait(server.client.json(ask))?);
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
    let ask = Ask::get(path).max_answer(MAX_ARCHIVE_BYTES);
    let bytes = server.wait(server.client.bytes(ask))?;
    here::export::write_out(args, &row, &bytes, output)
}

fn import(args: &BundleImportArgs, server: &Server, global: &Global, output: &Output) -> Done {
    let bytes = here::given::read_bytes(&args.file)?;
    let send = |dry_run: bool| {
        let mut path = format!(
            "/api/bundles/import?dryRun={dry_run}&update={}",
            args.update
        );
        if let Some(slug) = &args.slug {
            path.push_str(&format!("&slug={}", Ask::encoded(slug)));
        }
        let ask = Ask::post_zip(path, bytes.clone());
        let answer = server.wait_raw(server.client.json(ask));
        answer.map_err(|error| not_taken(error, server))
    };
    let shown = send(true)?;
    if args.dry_run && output.json() {
        output.document(&shown);
        return Ok(ExitCode::SUCCESS);
    }
    // Who is asked has to see what about.
    if !output.json() || !args.yes {
        let mut lines = compared::head(&shown, output);
        if let Some(old) = shown.get("against").filter(|old| old.is_object()) {
            let slug = text(old, "slug");
            let what = match args.update {
                true => labelled("replaces", &format!("`{slug}`, which is here already")),
                false => labelled("here", &format!("`{slug}`, which is left as it is")),
            };
            lines.extend(what);
            if args.update {
                let then = "it is off, until somebody has looked at it and switches it on; every call of its tools asks";
                lines.extend(labelled("from then", then));
            }
        }
        lines.extend(compared::page(&shown, server, output)?);
        print(&lines, output);
    }
    if args.dry_run {
        output.say("nothing was imported: that is what would be");
        return Ok(ExitCode::SUCCESS);
    }
    let question = match shown
        .get("against")
        .filter(|old| args.update && old.is_object())
    {
        Some(old) => format!(
            "replace the bundle `{}` by this one? [y/n] ",
            visible(text(old, "slug"))
        ),
        None => "import it? [y/n] ".to_owned(),
    };
    if !args.yes && !confirmed(&question, global, output)? {
        return Err(declined("nothing was imported"));
    }
    let taken = send(false)?;
    if output.json() {
        output.document(&taken);
        return Ok(ExitCode::SUCCESS);
    }
    let slug = taken
        .pointer("/bundle/slug")
        .and_then(Value::as_str)
        .unwrap_or_default();
    output.say(&format!(
        "`{}` is imported and switched off; every call of its tools asks",
        visible(slug)
    ));
    let what = output.dim("switch it on");
    output.say(&format!("  toolcrib bundle enable {}   {what}", word(slug)));
    Ok(ExitCode::SUCCESS)
}

/// Why an archive is not taken in, in the words of the command line: the server speaks of its own parameters.
fn not_taken(error: ClientError, server: &Server) -> CliError {
    let ClientError::Refused {
        status,
        error: refused,
    } = error
    else {
        return remote::failed(&error, server.client.address());
    };
    let message = refused.message();
    let (message, hint) = match message.split_once("; `?") {
        Some((message, rest)) if rest.starts_with("update=") => (
            message,
            "`--update` replaces it, `--slug NEW` imports a copy beside it",
        ),
        Some((message, _)) => (message, "`--slug NEW` imports it under another name"),
        None => {
            let error = ClientError::Refused {
                status,
                error: refused,
            };
            return remote::failed(&error, server.client.address());
        }
    };
    CliError::from(ToolError::new(refused.code(), message)).with_hint(hint)
}

fn diff(args: &BundleDiffArgs, server: &Server, output: &Output) -> Done {
    let is_archive = |word: &str| word == "-" || Slug::parse(word).is_err();
    let (bundle, archive) = match &args.second {
        Some(_) if is_archive(&args.first) => {
            return Err(CliError::usage("through a server, the first of two is a bundle of the server")
                .with_hint("`toolcrib bundle diff BUNDLE FILE.zip`; two archives are compared without --server"));
        }
        Some(second) if is_archive(second) => (
            Some(args.first.clone()),
            here::given::read_bytes(Path::new(second))?,
        ),
        Some(second) => {
            let path = format!("/api/bundles/{}/export", Ask::encoded(second));
            let ask = Ask::get(path).max_answer(MAX_ARCHIVE_BYTES);
            let bytes = server.wait(server.client.bytes(ask))?;
            (Some(args.first.clone()), bytes.to_vec())
        }
        None if is_archive(&args.first) => {
            let bytes = here::given::read_bytes(Path::new(&args.first))?;
            (counterpart(&bytes, server)?, bytes)
        }
        None => {
            return Err(CliError::usage("a bundle is compared with another one").with_hint(
                "name two bundles, or a bundle and an archive; a single archive is compared with the bundle there",
            ));
        }
    };
    let shown = match bundle {
        Some(bundle) => {
            let path = format!("/api/bundles/{}/diff", Ask::encoded(&bundle));
            server.wait(server.client.json(Ask::post_zip(path, archive)))?
        }
        // What taking it in would bring.
        None => {
            let ask = Ask::post_zip("/api/bundles/import?dryRun=true", archive);
            let answer = server.wait_raw(server.client.json(ask));
            answer.map_err(|error| not_taken(error, server))?
        }
    };
    if output.json() {
        output.document(&shown);
        return Ok(ExitCode::SUCCESS);
    }
    if shown.get("against").is_none_or(Value::is_null) {
        let slug = shown.pointer("/bundle/slug").and_then(Value::as_str);
        output.say(&format!(
            "no bundle there has the id or the slug of `{}`: all of it is new",
            visible(slug.unwrap_or_default())
        ));
    } else if flag(&shown, "same") {
        output.say("no differences");
        return Ok(ExitCode::SUCCESS);
    }
    let page = compared::page(&shown, server, output)?;
    let page = page.iter().skip_while(|line| line.is_empty());
    page.for_each(|line| output.line(line));
    Ok(ExitCode::SUCCESS)
}

/// The bundle of the server that an archive is one of: by its id, else by its slug.
fn counterpart(bytes: &[u8], server: &Server) -> Result<Option<String>, CliError> {
    let archive = Archive::read(bytes).map_err(ToolError::from)?;
    let bundle = &archive.contents.bundle;
    for word in [bundle.bundle_id.to_string(), bundle.slug.to_string()] {
        match server.wait_raw(server.client.get(&path_of(&word))) {
            Ok(row) => return Ok(Some(text(&row, "bundleID").to_owned())),
            Err(error) if error.status() == Some(404) => {}
            Err(error) => return Err(remote::failed(&error, server.client.address())),
        }
    }
    Ok(None)
}

fn add(args: &BundleAddArgs, server: &Server, output: &Output) -> Done {
    let row = server.get(&path_of(&args.bundle))?;
    let id = BundleId::parse(text(&row, "bundleID"))
        .map_err(|error| CliError::usage(format!("`{}`: {error}", visible(&args.bundle))))?;
    // Every file is read before the first is put.
    let tools = here::add::drafts(args, id, output)?;
    let path = |tool: &ToolManifest| {
        format!(
            "{}/tools/{}/version/{}",
            path_of(text(&row, "bundleID")),
            Ask::encoded(tool.slug.as_str()),
            Ask::encoded(tool.version.as_str())
        )
    };
    let mut put = Vec::new();
    for (shown, tool) in &tools {
        let mut body = json!(tool);
        // The server gives these.
        for key in ["toolID", "createdAt", "modifiedAt"] {
            if let Some(fields) = body.as_object_mut() {
                fields.shift_remove(key);
            }
        }
        let done = server.wait_raw(server.client.put(&path(tool), &body));
        put.push(done.map_err(|error| {
            let before = match put.len() {
                0 => "nothing was put".to_owned(),
                some => format!("before it, {} put", here::counted(some, "file")),
            };
            match error {
                ClientError::Refused { error, .. } => {
                    let message = format!("`{shown}`: {}; {before}", error.message());
                    CliError::from(ToolError::new(error.code(), message))
                }
                error => remote::failed(&error, server.client.address()),
            }
        })?);
    }
    if output.json() {
        output.document(&put);
        return Ok(ExitCode::SUCCESS);
    }
    let slug = text(&row, "slug");
    for (_, tool) in &tools {
        let reference = format!("{slug}/{}@{}", tool.slug, tool.version);
        output.line(&format!("put {}", visible(&reference)));
    }
    let what = output.dim("how they stand");
    output.say(&format!("  toolcrib bundle show {}   {what}", word(slug)));
    Ok(ExitCode::SUCCESS)
}
