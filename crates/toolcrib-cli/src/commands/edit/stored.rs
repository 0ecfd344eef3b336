//! `toolcrib edit` of a stored tool: its record as JSON, without what the store owns.
//!
//! It takes the place of the record that was opened and of no other: what someone else changed meanwhile stays, and so does the text.

use std::process::ExitCode;
use std::sync::Arc;

use serde_json::{Map, Value};
use toolcrib::crib::BundleRow;
use toolcrib::definition::{Problem, Severity};
use toolcrib::model::ids::ToolId;
use toolcrib::model::text::visible;
use toolcrib::registry::Entry;
use toolcrib::source::{FileKind, draft};
use toolcrib::spec::manifest::ToolKind;
use toolcrib::store::StoredTool;
use toolcrib::{Crib, ErrorCode, ToolError, ToolManifest, Version};

use super::{Copy, Desk, editor};
use crate::args::{EditArgs, Global};
use crate::commands::names::{Holders, name_of};
use crate::commands::show::Looked;
use crate::commands::{Done, stored, tool_file, word};
use crate::failure::CliError;
use crate::output::Output;
use crate::prompt::Terminal;

/// What the store says about a record, and no one else.
const OWNED: [&str; 6] = [
    "schemaVersion",
    "bundleID",
    "toolID",
    "isBuiltIn",
    "createdAt",
    "modifiedAt",
];

pub(super) fn edit(
    args: &EditArgs,
    entry: &Arc<Entry>,
    record: &StoredTool,
    crib: &Crib,
    global: &Global,
    output: &Output,
) -> Done {
    let task = Task::new(args, entry, record, crib)?;
    let Some(editor) = editor() else {
        let message = "there is no editor: neither VISUAL nor EDITOR is set";
        let hint = format!("`EDITOR=nano toolcrib edit {}`", word(&args.tool));
        return Err(CliError::usage(message).with_hint(hint));
    };
    let terminal = (!global.no_input)
        .then(|| Terminal::find(output.colours_terminal()))
        .flatten();
    let desk = Desk::new(editor, terminal)?;
    // The slug may be one that no file should be named after.
    let copy = Copy::of(&task.before, &format!("tool{}", FileKind::Json.end()))?;
    let manifest = loop {
        if let Err(error) = desk.run_editor(copy.path()) {
            copy.keep_if_changed(&task.before);
            return Err(error);
        }
        let saved = copy.read()?;
        if saved == task.before {
            return task.unchanged(entry, crib, output);
        }
        match task.read(&saved, crib, output) {
            Some(manifest) => break manifest,
            None if desk.edit_on() => {}
            None => {
                let message = format!(
                    "the saved text has errors; `{}` was not changed",
                    task.reference
                );
                return Err(kept(
                    copy,
                    ToolError::new(ErrorCode::InvalidArguments, message),
                ));
            }
        }
    };
    let names = [entry.spec().name.to_string(), name_of(&manifest)];
    let before = Holders::here(names.clone(), crib);
    let saved = match task.as_version {
        Some(_) => crib.put_tool(manifest),
        None => crib.replace_tool(manifest, &task.digest),
    };
    let saved = match saved {
        Ok(saved) => saved,
        Err(error) => return Err(kept(copy, error)),
    };
    let entry = crib.registry().find(&saved.head.tool_id.to_string())?;
    if output.json() {
        output.document(&crib.tool_document(&entry)?);
        return Ok(ExitCode::SUCCESS);
    }
    let reference = entry.spec().reference();
    output.line(&format!("saved {}", visible(&reference)));
    before.warn(&Holders::here(names, crib), output);
    if let Ok(tool) = Looked::here(&reference, crib) {
        stored::say_next(None, &tool, output);
    }
    Ok(ExitCode::SUCCESS)
}

/// The edited text, and how it is saved.
struct Task {
    reference: String,
    manifest: ToolManifest,
    /// Of the record that was opened.
    digest: String,
    as_version: Option<Version>,
    /// What the editor shows.
    before: String,
}

impl Task {
    fn new(
        args: &EditArgs,
        entry: &Entry,
        record: &StoredTool,
        crib: &Crib,
    ) -> Result<Self, CliError> {
        let as_version = args.as_version.as_deref().map(Version::parse).transpose();
        let as_version = as_version.map_err(|error| {
            let version = args.as_version.as_deref().unwrap_or_default();
            CliError::usage(format!("`{}` is not a version: {error}", visible(version)))
                .with_hint(stored::VERSION_HINT)
        })?;
        let manifest = stored::manifest(record)?;
        let bundle = crib.bundle(&record.key.bundle.to_string())?;
        // Said before someone has typed anything.
        stored::refuse_closed(&BundleRow::from(&bundle))?;
        if let Some(version) = &as_version {
            let taken = stored::versions(record, crib);
            if taken.iter().any(|other| other.key.version == *version) {
                let tool = format!("{}/{}@{version}", entry.spec().bundle, record.key.slug);
                let message = format!("`{tool}` exists already");
                let hint = format!("`toolcrib edit {}` changes it", word(&tool));
                return Err(
                    CliError::from(ToolError::new(ErrorCode::Conflict, message)).with_hint(hint)
                );
            }
        }
        Ok(Task {
            reference: entry.spec().reference(),
            digest: record.digest(),
            before: text(&manifest, as_version.as_ref()),
            manifest,
            as_version,
        })
    }

    /// The version that is to be saved.
    fn version(&self) -> &Version {
        self.as_version.as_ref().unwrap_or(&self.manifest.version)
    }

    /// The saved record, if it is valid; reports its problems.
    fn read(&self, saved: &str, crib: &Crib, output: &Output) -> Option<ToolManifest> {
        let old = &self.manifest;
        let (slug, version) = (old.slug.as_str(), self.version());
        let draft = draft(FileKind::Json, saved.as_bytes(), slug, old.bundle_id);
        let shown = visible(&self.reference).into_owned();
        tool_file::print_problems(&shown, saved, &draft.problems, output);
        let mut manifest = draft.manifest?;
        let mut fixed = Vec::new();
        if manifest.slug != old.slug {
            fixed.push((
                "slug",
                slug,
                "`toolcrib bundle add` puts a tool under another slug",
            ));
        }
        if manifest.version != *version {
            let hint = "`toolcrib edit TOOL --as-version V` saves it as another version";
            fixed.push(("version", version.as_str(), hint));
        }
        for (field, value, hint) in &fixed {
            let problem = is_fixed(saved, field, value, hint);
            tool_file::print_problems(&shown, saved, &[problem], output);
        }
        manifest.schema_version = old.schema_version.clone();
        manifest.is_built_in = old.is_built_in;
        manifest.tool_id = match self.as_version {
            Some(_) => ToolId::generate(),
            None => old.tool_id,
        };
        (manifest.created_at, manifest.modified_at) = (old.created_at, old.modified_at);
        let more = crib.further_problems(&manifest, &draft.problems);
        stored::print_problems(&shown, saved, &manifest, &more, output);
        let is_error = |problem: &Problem| problem.severity == Severity::Error;
        (fixed.is_empty() && !more.iter().any(is_error)).then_some(manifest)
    }

    fn unchanged(&self, entry: &Arc<Entry>, crib: &Crib, output: &Output) -> Done {
        if let Some(version) = &self.as_version {
            // The next steps rely on the version.
            let message = format!("nothing was changed, so there is no `{version}`");
            let error = CliError::from(ToolError::new(ErrorCode::Conflict, message));
            let hint = "change something before you save; `toolcrib bundle add --version` keeps the same tool twice";
            return Err(error.with_hint(hint));
        }
        if output.json() {
            output.document(&crib.tool_document(entry)?);
        } else {
            output.say("nothing was changed");
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A record as it is edited.
fn text(manifest: &ToolManifest, as_version: Option<&Version>) -> String {
    let mut manifest = manifest.clone();
    if let Some(version) = as_version {
        manifest.version = version.clone();
    }
    let mut fields = match serde_json::to_value(&manifest) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) | Err(_) => Map::new(),
    };
    fields.retain(|field, _| !OWNED.contains(&field.as_str()));
    // It is made from `parameters`.
    if matches!(manifest.kind, ToolKind::Command | ToolKind::Alias) {
        fields.shift_remove("argSchema");
    }
    serde_json::to_string_pretty(&fields).unwrap_or_default() + "\n"
}

/// A field that says which record it is.
fn is_fixed(text: &str, field: &str, value: &str, hint: &str) -> Problem {
    let line = text
        .lines()
        .position(|line| line.trim_start().starts_with(&format!("\"{field}\"")));
    let line = line.unwrap_or_default();
    let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let indent = text[start..].len() - text[start..].trim_start().len();
    Problem {
        code: "unknown-value",
        severity: Severity::Error,
        span: start + indent..start + indent + field.len() + 2,
        line: line + 1,
        column: indent + 1,
        message: format!(
            "`{field}` says which record it is, and stays `{}`",
            visible(value)
        ),
        help: Some(hint.to_owned()),
        fix: None,
    }
}

/// The error, after the text was put where it is not lost.
fn kept(copy: Copy, error: ToolError) -> CliError {
    let path = copy.keep().display().to_string();
    CliError::from(error.with_detail("copy", path.clone()))
        .with_hint(format!("your text is in {path}"))
}
