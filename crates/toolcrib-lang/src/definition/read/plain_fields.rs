//! Fields that stand for themselves: paths, resources, interaction, publication, metadata, changelog.

use std::time::Duration;

use super::field_value::At;
use super::templates::{Templates, VisibleSteps};
use crate::definition::problem::{Findings, SpannedProblem};
use crate::definition::{
    ChangelogEntry, Cleanup, FilePaths, Interactive, Metadata, ParameterKind, Resources,
    SchemaGeneration,
};
use crate::template::Form;

pub(super) fn paths(root: At<'_, '_>, templates: &mut Templates<'_, '_>) -> FilePaths {
    let mut paths = FilePaths::default();
    let own = root.get("working-directory");
    if let Some(at) = root.get("file-paths") {
        paths.normalize = at.boolean("normalize").unwrap_or(false);
        paths.temp_directory = at.get("temp-directory").and_then(|at| {
            let text = at.text()?;
            let beneath = text == "{TEMP}" || text.starts_with("{TEMP}/");
            let relative = !text.starts_with(['/', '~', '{']);
            if !(beneath || relative) || text.split('/').any(|part| part == "..") {
                let message = "`temp-directory` must be beneath `{TEMP}`, the private temporary directory of a call";
                templates.push(
                    SpannedProblem::error("outside-path", at.span(), message)
                        .help("write \"{TEMP}/NAME\""),
                );
                return None;
            }
            templates.text(at)
        });
        paths.working_directory = at
            .get("working-directory")
            .and_then(|at| templates.text(at));
        if own.is_some() && at.has("working-directory") {
            let message = "the file names two working directories; the one at the top counts";
            let span = at.key_span("working-directory");
            templates.push(
                SpannedProblem::warning("without-effect", span, message).help("remove one of them"),
            );
        }
        if let Some(at) = at.get("cross-platform") {
            paths.windows_separator = separator(at, "windows-separator", templates).unwrap_or('\\');
            paths.unix_separator = separator(at, "unix-separator", templates).unwrap_or('/');
            paths.auto_convert = at.boolean("auto-convert").unwrap_or(false);
        }
    }
    if let Some(at) = own {
        paths.working_directory = templates.text(at);
    }
    paths
}

fn separator(at: At<'_, '_>, field: &str, templates: &mut Templates<'_, '_>) -> Option<char> {
    let value = at.get(field)?;
    let mut chars = value.text()?.chars();
    match (chars.next(), chars.next()) {
        (Some(one @ ('/' | '\\')), None) => Some(one),
        _ => {
            let message = format!("`{field}` must be one of the characters `/` and `\\`");
            templates.push(
                SpannedProblem::error("unknown-value", value.span(), message)
                    .help(r#"write "/" or "\\" (in double quotes a backslash is written twice)"#),
            );
            None
        }
    }
}

pub(super) fn resources(root: At<'_, '_>, templates: &mut Templates<'_, '_>) -> Resources {
    let Some(at) = root.get("resources") else {
        return Resources::default();
    };
    let outside = templates.reach(VisibleSteps::Nothing(
        "it is run at the end whatever happened, and the step may not have run",
    ));
    let mut cleanup = Vec::new();
    for item in at.get("cleanup").map(At::nodes).unwrap_or_default() {
        if item.node.map().is_none() {
            continue;
        }
        if !item.has("delete-temp-files") && !item.has("final-command") {
            let message = "an entry of `cleanup` says nothing to do";
            templates.push(
                SpannedProblem::error("missing-field", item.span(), message)
                    .help("write `delete-temp-files: true` or `final-command: …`"),
            );
        }
        if let Some(delete) = item.boolean("delete-temp-files") {
            cleanup.push(Cleanup::DeleteTempFiles(delete));
        }
        if let Some(at) = item.get("final-command")
            && let Some(program) = templates.program(at, &Form::Bash)
        {
            cleanup.push(Cleanup::FinalCommand(program));
        }
    }
    templates.reach(outside);
    Resources {
        max_memory: at.size("max-memory"),
        cleanup,
    }
}

/// How long a person is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn interactive(root: At<'_, '_>, found: &mut Findings<'_>) -> Option<Interactive> {
    let options = root.get("interactive-options");
    if root.boolean("interactive") != Some(true) {
        if options.is_some() {
            let message = "`interactive-options` have no effect without `interactive: true`";
            let at = root.key_span("interactive-options");
            found.push(
                SpannedProblem::warning("without-effect", at, message)
                    .help("add `interactive: true`, or remove them"),
            );
        }
        return None;
    }
    Some(Interactive {
        timeout: options
            .and_then(|at| at.time("timeout"))
            .unwrap_or(PATIENCE),
        default_response: options
            .and_then(|at| at.text_of("default-response"))
            .map(str::to_owned),
    })
}

pub(super) fn schema_generation(root: At<'_, '_>) -> SchemaGeneration {
    let mut generation = SchemaGeneration::default();
    let at = root
        .get("function-calling")
        .and_then(|at| at.get("schema-generation"));
    let Some(at) = at else { return generation };
    if let Some(mapping) = at.get("parameter-mapping") {
        for (kind, name) in [
            (ParameterKind::String, "string"),
            (ParameterKind::Number, "number"),
            (ParameterKind::Integer, "integer"),
            (ParameterKind::Boolean, "boolean"),
            (ParameterKind::Array, "array"),
            (ParameterKind::Object, "object"),
        ] {
            if let Some(word) = mapping.choice(name) {
                generation.parameter_mapping.push((kind, word.to_owned()));
            }
        }
    }
    let said = |field: &str, default: bool| at.boolean(field).unwrap_or(default);
    generation.include_descriptions = said("include-descriptions", true);
    generation.include_defaults = said("include-defaults", true);
    generation.example_generation = said("example-generation", true);
    generation
}

pub(super) fn metadata(root: At<'_, '_>) -> Metadata {
    let Some(at) = root.get("metadata") else {
        return Metadata::default();
    };
    Metadata {
        category: at.text_of("category").map(str::to_owned),
        subcategory: at.text_of("subcategory").map(str::to_owned),
        tags: at.texts("tags"),
        search_keywords: at.texts("search-keywords"),
    }
}

pub(super) fn changelog(root: At<'_, '_>, found: &mut Findings<'_>) -> Vec<ChangelogEntry> {
    let entries = root.get("changelog").map(At::nodes).unwrap_or_default();
    for entry in &entries {
        for field in ["version", "changes"] {
            if entry.node.map().is_some() && !entry.has(field) {
                let message = format!("an entry of `changelog` has no `{field}`");
                found.push(SpannedProblem::error(
                    "missing-field",
                    entry.span(),
                    message,
                ));
            }
        }
    }
    entries
        .into_iter()
        .filter(|entry| entry.node.map().is_some())
        .map(|entry| ChangelogEntry {
            version: entry.text_of("version").unwrap_or_default().to_owned(),
            changes: entry
                .text_of("changes")
                .unwrap_or_default()
                .trim_end()
                .to_owned(),
        })
        .collect()
}
