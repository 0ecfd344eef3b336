//! `toolcrib show`: one tool, in full.

use std::process::ExitCode;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use toolcrib::crib::{ParameterShown, ToolShown};
use toolcrib::model::JsonObject;
use toolcrib::model::text::visible;
use toolcrib::registry::{Availability, Source};
use toolcrib::{Crib, ToolError, ToolSpec};

use super::trust::labelled;
use super::{Done, concurrent_in_words, in_words, reason_of, word};
use crate::args::ShowArgs;
use crate::failure::CliError;
use crate::local_time;
use crate::output::Output;
use crate::remote;
use crate::remote::Backend;

/// A tool that was looked up, for people.
pub(super) struct Looked {
    /// The document for programs.
    document: JsonObject,
    /// Additional facts for people.
    shown: ToolShown,
}

impl Looked {
    pub(super) fn up(tool: &str, backend: &Backend) -> Result<Self, CliError> {
        #[derive(Deserialize)]
        struct Answer {
            shown: ToolShown,
            #[serde(flatten)]
            document: JsonObject,
        }
        let Answer {
            shown,
            mut document,
        } = backend.get_as(&remote::lookup_path(tool))?;
        // Only calls and grants need them.
        document.shift_remove("synonyms");
        document.shift_remove("roles");
        Ok(Looked { document, shown })
    }

    /// A tool of a crib of this process.
    pub(super) fn here(tool: &str, crib: &Crib) -> Result<Self, ToolError> {
        let entry = crib.registry().find(tool)?;
        Ok(Looked {
            document: crib.tool_document(&entry)?,
            shown: crib.tool_shown(&entry),
        })
    }

    fn text(&self, key: &str) -> &str {
        let text = self.document.get(key).and_then(Value::as_str);
        text.unwrap_or_default()
    }

    fn texts(&self, key: &str) -> Vec<&str> {
        let list = self.document.get(key).and_then(Value::as_array);
        let list = list.into_iter().flatten();
        list.filter_map(Value::as_str).collect()
    }

    /// `bundle/slug@version`.
    pub(super) fn reference(&self) -> String {
        format!(
            "{}/{}@{}",
            self.text("bundle"),
            self.text("slug"),
            self.text("version")
        )
    }

    fn is_stored(&self) -> bool {
        self.text("source") == Source::Store.as_str()
    }

    pub(super) fn availability(&self) -> Availability {
        let availability = self.document.get("availability");
        let read = availability.and_then(|said| Availability::deserialize(said).ok());
        read.unwrap_or(Availability::Ready)
    }

    /// How it is called: by its name, or by its reference where another tool has the name.
    pub(super) fn call_line(&self) -> String {
        let name = self.text("name");
        let line = match remote::spec_of(&Value::Object(self.document.clone())) {
            None => name.to_owned(),
            Some(mut spec) => {
                spec.examples.clone_from(&self.shown.examples);
                call_line(&spec)
            }
        };
        let typed = match (self.shown.has_name, self.text("slug").is_ascii()) {
            (true, true) => name.to_owned(),
            (true, false) => self.text("slug").to_owned(),
            (false, _) => self.reference(),
        };
        match line.strip_prefix(name) {
            Some(rest) => word(&format!("{typed}{rest}")),
            None => word(&line),
        }
    }
}

pub(super) fn show(args: &ShowArgs, backend: &Backend, output: &Output) -> Done {
    let tool = Looked::up(&args.tool, backend)?;
    match output.json() {
        true => output.document(&tool.document),
        false => print(&tool, output),
    }
    Ok(ExitCode::SUCCESS)
}

fn print(tool: &Looked, output: &Output) {
    let shown = &tool.shown;
    output.line(&output.heading(tool.text("name")));
    output.line(&visible(tool.text("description")));
    output.line("");
    let schema = tool.document.get("inputSchema").unwrap_or(&Value::Null);
    let rows = parameter_rows(schema);
    if rows.is_empty() {
        output.line("takes no parameters");
    } else {
        output.table(&["PARAMETER", "TYPE", "", "DESCRIPTION"], &rows);
    }
    output.line("");
    for warning in tool.texts("warnings") {
        output.line(&output.doubtful(&format!("warning   {}", visible(warning))));
    }
    let line = |name: &str, value: &str| {
        if !value.is_empty() {
            output.line(&format!("{name:<10}{}", visible(value)));
        }
    };
    line(
        "effects",
        &match tool.texts("effects").as_slice() {
            [] => "unknown: a call asks first".to_owned(),
            tags => tags.join(", "),
        },
    );
    line("asks", shown.asks.as_deref().unwrap_or_default());
    let state = &shown.state;
    let reason = reason_of(&tool.availability());
    line(
        "status",
        &reason.map_or(state.to_string(), |reason| format!("{state}: {reason}")),
    );
    line(
        "from",
        &format!("{} ({})", tool.reference(), tool.text("source")),
    );
    if tool.is_stored() {
        line("title", shown.title.as_deref().unwrap_or_default());
        line("version", tool.text("version"));
        line("id", tool.text("toolID"));
        line("created", &local_time::of_text(tool.text("createdAt")));
        line("modified", &local_time::of_text(tool.text("modifiedAt")));
    }
    if !tool.text("lastCalledAt").is_empty() {
        let times = match tool.document.get("callCount").and_then(Value::as_u64) {
            Some(1) => "once".to_owned(),
            count => format!("{} times", count.unwrap_or_default()),
        };
        let last = local_time::of_text(tool.text("lastCalledAt"));
        line("called", &format!("{times}, last {last}"));
    }
    line("also", &tool.texts("aliases").join(", "));
    let limits = &shown.limits;
    let timeout = Duration::from_millis(limits.timeout_ms);
    let words = in_words(timeout, limits.max_output_bytes);
    line(
        "limits",
        &format!("{words}, {}", concurrent_in_words(limits.max_concurrent)),
    );
    line("tags", &tool.texts("tags").join(", "));
    line("keywords", &shown.keywords.join(", "));
    line("file", tool.text("file"));
    for run in &shown.runs {
        for row in labelled(&run.what, &run.text) {
            output.line(&row);
        }
    }
    shown
        .parameters
        .iter()
        .for_each(|one| print_parameter(one, output));
    print_changes(shown, output);
    line("beside", &shown.beside.join(", "));
    output.line("");
    output.line(&format!("toolcrib run {}", visible(&tool.call_line())));
}

/// More about a parameter.
fn print_parameter(parameter: &ParameterShown, output: &Output) {
    output.line("");
    output.line(&output.bold(&visible(&parameter.name)));
    let help = parameter.help.as_deref().unwrap_or_default();
    for line in help.trim_end().lines() {
        output.line(&format!("  {}", visible(line)));
    }
    if !parameter.examples.is_empty() {
        let examples = parameter.examples.join(", ");
        output.line(&format!("  for example {}", visible(&examples)));
    }
}

/// What changed from version to version.
fn print_changes(shown: &ToolShown, output: &Output) {
    if !shown.changes.is_empty() {
        output.line("");
        output.line(&output.bold("changes"));
    }
    for change in &shown.changes {
        let mut lines = change.changes.trim_end().lines();
        let first = lines.next().unwrap_or_default();
        output.line(&format!(
            "  {}  {}",
            visible(&change.version),
            visible(first)
        ));
        lines.for_each(|line| output.line(&format!("    {}", visible(line))));
    }
}

/// A row for each parameter of a schema.
fn parameter_rows(schema: &Value) -> Vec<Vec<String>> {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| {
        let mut required = required.into_iter().flatten();
        required.any(|required| required.as_str() == Some(name))
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    let properties = properties.into_iter().flatten();
    properties
        .map(|(name, property)| row(is_required(name), name, property))
        .collect()
}

fn row(is_required: bool, name: &str, property: &Value) -> Vec<String> {
    let text = |key: &str| {
        property
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let kind = match property.get("enum").and_then(Value::as_array) {
        Some(values) => values
            .iter()
            .map(|value| value.as_str().map_or(value.to_string(), str::to_owned))
            .collect::<Vec<_>>()
            .join("|"),
        None => match property.get("type") {
            Some(Value::String(kind)) => kind.clone(),
            Some(other) => other.to_string(),
            None => "any".to_owned(),
        },
    };
    let need = match (is_required, property.get("default")) {
        (true, _) => "required".to_owned(),
        (false, Some(default)) => format!("default {default}"),
        (false, None) => String::new(),
    };
    vec![name.to_owned(), kind, need, text("description")]
}

/// A call of it as a line of words: an example, or what has to be filled in.
pub(super) fn call_line(spec: &ToolSpec) -> String {
    spec.example_line()
        .unwrap_or_else(|| format!("{}{}", spec.name, example(spec)))
}

/// The required parameters, ready to fill in.
fn example(spec: &ToolSpec) -> String {
    let schema = &spec.input_schema;
    let required = schema
        .properties()
        .filter(|(name, _)| schema.requires(name));
    required.map(|(name, _)| format!(" {name}=…")).collect()
}
