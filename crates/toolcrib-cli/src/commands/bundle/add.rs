//! `toolcrib bundle add`: puts tools of files into a bundle.
//!
//! Every file is read and checked before the first is put, so that what is wrong with one of them leaves the bundle as it was.

use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};
use toolcrib::crib::{BundleRow, ToolList, ToolRow};
use toolcrib::definition::{Problem, Severity};
use toolcrib::model::text::{self, visible};
use toolcrib::source::{self, FileKind, draft};
use toolcrib::{ErrorCode, ToolError, ToolManifest, Version};
use toolcrib_server::client::{Ask, ClientError};

use super::{find, path_of_id};
use crate::args::BundleAddArgs;
use crate::commands::list::tools_at;
use crate::commands::names::{Holders, name_of};
use crate::commands::show::Looked;
use crate::commands::{Done, stored, tool_file, word};
use crate::failure::CliError;
use crate::output::Output;
use crate::remote::Backend;

pub(super) fn add(
    args: &BundleAddArgs,
    backend: impl FnOnce() -> Result<Backend, CliError>,
    output: &Output,
) -> Done {
    let version = version(args)?;
    let backend = &backend()?;
    let bundle = find(&args.bundle, backend)?;
    stored::refuse_own(&bundle)?;
    stored::refuse_closed(&bundle)?;
    let tools = read_all(args, version.as_ref(), &bundle, backend, output)?;
    refuse_taken(&tools, &bundle, backend)?;
    put(&tools, &bundle, backend, output)
}

/// The version that all of them get, if one was named.
fn version(args: &BundleAddArgs) -> Result<Option<Version>, CliError> {
    let version = args.version.as_deref().map(Version::parse).transpose();
    version.map_err(|error| {
        let version = args.version.as_deref().unwrap_or_default();
        CliError::usage(format!("`{}` is not a version: {error}", visible(version)))
            .with_hint(stored::VERSION_HINT)
    })
}

/// Reads and checks every file, here beside the tools that there are. A server has the last word on them.
fn read_all(
    args: &BundleAddArgs,
    version: Option<&Version>,
    bundle: &BundleRow,
    backend: &Backend,
    output: &Output,
) -> Result<Vec<(String, ToolManifest)>, CliError> {
    let mut tools = Vec::new();
    let mut wrong: Vec<Value> = Vec::new();
    for path in &args.files {
        let file = read(path)?;
        let mut draft = draft(file.kind, &file.bytes, &file.stem, bundle.bundle_id);
        if let (Some(manifest), Some(version)) = (&mut draft.manifest, version) {
            manifest.version = version.clone();
        }
        let text = String::from_utf8_lossy(&file.bytes);
        tool_file::print_problems(&file.shown, &text, &draft.problems, output);
        let mut problems = draft.problems;
        if let Some(manifest) = draft.manifest {
            if let Some(crib) = backend.crib() {
                let more = crib.further_problems(&manifest, &problems);
                stored::print_problems(&file.shown, &text, &manifest, &more, output);
                problems.extend(more);
            }
            tools.push((file.shown.clone(), manifest));
        }
        if problems.iter().any(is_error) {
            let problems: Vec<Value> = problems.iter().map(tool_file::problem_json).collect();
            wrong.push(json!({"file": file.shown, "problems": problems}));
        }
    }
    if !wrong.is_empty() {
        let message = match (wrong.len(), args.files.len()) {
            (1, 1) => "nothing was added: the file has errors".to_owned(),
            (1, all) => format!("nothing was added: 1 of {all} files has errors"),
            (some, all) => format!("nothing was added: {some} of {all} files have errors"),
        };
        let error = ToolError::new(ErrorCode::InvalidArguments, message);
        return Err(CliError::from(error.with_detail("files", wrong))
            .with_hint("`toolcrib explain CODE` says more about a problem"));
    }
    Ok(tools)
}

/// A file that is to be a stored tool.
struct File {
    shown: String,
    stem: String,
    kind: FileKind,
    bytes: Vec<u8>,
}

fn read(path: &Path) -> Result<File, CliError> {
    let shown = visible(&path.display().to_string()).into_owned();
    let bytes = source::read_file(path).map_err(|why| {
        let shown = text::shorten(&shown, 200);
        let why = why.trim_start_matches("it cannot be read: ");
        CliError::usage(format!("cannot read `{shown}`: {why}"))
            .with_hint("name `.json` or `.yaml` files of tools")
    })?;
    let name = path.file_name().and_then(|name| name.to_str());
    let known = name.and_then(|name| FileKind::of(name).or_else(|| FileKind::misnamed(name)));
    refuse_bundle(&bytes, &shown)?;
    // What `toolcrib show --json` printed.
    let bytes = source::without_computed(&bytes).unwrap_or(bytes);
    let (kind, stem) = match (known, name) {
        (Some((kind, stem)), _) => (kind, stem),
        // A pipe of the shell, as `<(…)`.
        (None, Some(name)) if bytes.trim_ascii_start().starts_with(b"{") => (FileKind::Json, name),
        (None, name) => (FileKind::Yaml, name.unwrap_or_default()),
    };
    Ok(File {
        stem: stem.to_owned(),
        shown,
        kind,
        bytes,
    })
}

/// The file in which a bundle says what it is looks like a tool without most of it.
fn refuse_bundle(bytes: &[u8], shown: &str) -> Result<(), CliError> {
    let fields = toolcrib::manifest::as_json(bytes).unwrap_or_default();
    let has = |key: &str| fields.get(key).is_some();
    if !has("slug") || !has("bundleID") || has("impl") || has("type") || has("argSchema") {
        return Ok(());
    }
    let message = format!("`{shown}` describes a bundle and is not a tool");
    Err(CliError::usage(message)
        .with_hint("name the tools; `toolcrib bundle export` and `import` take a whole bundle"))
}

fn is_error(problem: &Problem) -> bool {
    problem.severity == Severity::Error
}

/// Nothing is put where something would be refused. Another process may still be faster; then the store refuses.
fn refuse_taken(
    tools: &[(String, ToolManifest)],
    bundle: &BundleRow,
    backend: &Backend,
) -> Result<(), CliError> {
    let id = bundle.bundle_id.to_string();
    let there: ToolList = backend.get_as(&tools_at(&[("bundle", &id)]))?;
    for (index, (shown, tool)) in tools.iter().enumerate() {
        let same = |other: &ToolManifest| other.slug == tool.slug && other.version == tool.version;
        let reference = reference(bundle, tool);
        if let Some((first, _)) = tools[..index].iter().find(|(_, other)| same(other)) {
            return Err(CliError::usage(format!(
                "`{first}` and `{shown}` are both `{reference}`; nothing was added"
            ))
            .with_hint("write another `slug` or `version` in one of them"));
        }
        let is_it =
            |row: &ToolRow| row.slug == tool.slug.as_str() && row.version == tool.version.as_str();
        if there.tools.iter().any(|listed| is_it(&listed.row)) {
            let message = format!("`{reference}` exists already, and is left as it is");
            let hint = format!(
                "`--version V` adds it beside, `toolcrib edit {reference}` changes the existing one"
            );
            return Err(
                CliError::from(ToolError::new(ErrorCode::Conflict, message)).with_hint(hint)
            );
        }
    }
    Ok(())
}

fn reference(bundle: &BundleRow, tool: &ToolManifest) -> String {
    format!("{}/{}@{}", bundle.slug, tool.slug, tool.version)
}

fn put(
    tools: &[(String, ToolManifest)],
    bundle: &BundleRow,
    backend: &Backend,
    output: &Output,
) -> Done {
    let names = tools.iter().map(|(_, tool)| name_of(tool));
    let before = Holders::of(names, backend)?;
    let mut done: Vec<String> = Vec::new();
    let mut documents = Vec::new();
    for (shown, tool) in tools {
        let mut body = json!(tool);
        // Times are the store's.
        for key in ["createdAt", "modifiedAt"] {
            if let Some(fields) = body.as_object_mut() {
                fields.shift_remove(key);
            }
        }
        let path = format!(
            "{}/tools/{}/version/{}",
            path_of_id(bundle.bundle_id),
            Ask::encoded(tool.slug.as_str()),
            Ask::encoded(tool.version.as_str())
        );
        match backend.wait_raw(backend.client.put(&path, &body)) {
            Ok(document) => documents.push(document),
            Err(ClientError::Refused { error, .. }) => {
                let before = match done.is_empty() {
                    true => "nothing was added".to_owned(),
                    false => format!("before it, {} put", are(&done)),
                };
                let message = format!("`{shown}`: {}; {before}", error.message());
                return Err(ToolError::new(error.code(), message)
                    .with_detail("put", done)
                    .into());
            }
            Err(error) => return Err(backend.failed(&error)),
        }
        done.push(reference(bundle, tool));
    }
    if output.json() {
        output.document(&documents);
        return Ok(ExitCode::SUCCESS);
    }
    for reference in &done {
        output.line(&format!("put {}", visible(reference)));
    }
    before.warn(&before.now(backend)?, output);
    if let [reference] = done.as_slice() {
        stored::say_next(None, &Looked::up(reference, backend)?, output);
    } else {
        let slug = word(bundle.slug.as_str());
        let what = output.dim("shows them");
        output.say(&format!("  toolcrib bundle show {slug}   {what}"));
    }
    Ok(ExitCode::SUCCESS)
}

fn are(done: &[String]) -> String {
    let verb = if done.len() == 1 { "was" } else { "were" };
    format!("`{}` {verb}", done.join("`, `"))
}
