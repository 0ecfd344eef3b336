//! What a record of the store says, by its kind: [`Implementation`].
//!
//! Reading needs nothing but the record: whether the tools, functions and programs that it names are there is found out when its tool
//! is made, and never written back.

use std::sync::Arc;

use serde_json::{Value, json};

use super::text::RecordText;
use crate::definition::problem::SpannedProblem;
use crate::definition::{self, Definition, Problem, RequiresApproval, Severity};
use crate::manifest::fields::HTTP_FIELDS;
use crate::manifest::{self, HttpDefinition};
use crate::model::digest::Digester;
use crate::model::names::WireName;
use crate::model::text::shorten;
use crate::schema::Schema;
use crate::source::FileDefinition;
use crate::spec::manifest::{ToolKind, ToolManifest};
use crate::template::{NamedParameter, Names, ParameterKind};

/// What a record's tool does.
#[derive(Clone)]
pub(super) enum Implementation {
    /// It sends requests.
    Http(Arc<HttpDefinition>),
    /// It runs commands, or another tool with presets.
    Command(Arc<Definition>),
    /// It is a function of this name that the program registers.
    Function(String),
    /// It is a tool of an upstream server.
    Upstream {
        /// The server.
        server: String,
        /// The tool there.
        tool: String,
    },
}

/// How closely a record is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// As far as it takes to make its tool.
    Load,
    /// Schemas are compiled, too, and what is doubtful is said.
    Check,
}

/// What came of reading a record.
pub(super) struct RecordReading {
    /// What its tool does, unless a problem is an error.
    pub(super) implementation: Option<Implementation>,
    /// Everything that is wrong or doubtful, in the order of the record.
    pub(super) problems: Vec<Problem>,
    /// The text that the places are in.
    pub(super) text: RecordText,
}

/// A digest of what a record's tool does. Switching it, or saving the same again, does not change it, so that grants and approvals
/// stay.
pub(super) fn content_digest(manifest: &ToolManifest) -> String {
    let mut content = serde_json::to_value(manifest).unwrap_or_default();
    if let Value::Object(fields) = &mut content {
        let created = fields.get("createdAt").cloned().unwrap_or_default();
        fields.insert("modifiedAt".to_owned(), created);
        fields.insert("isEnabled".to_owned(), Value::Bool(true));
    }
    Digester::default().json(&content).finish()
}

/// The name for models.
pub(super) fn wire_name(manifest: &ToolManifest) -> WireName {
    let own = manifest.name.clone();
    own.unwrap_or_else(|| WireName::derive(&manifest.slug))
}

/// Reads what a record says.
pub(super) fn read(manifest: &ToolManifest, how: How) -> RecordReading {
    let text = RecordText::of(manifest, |field| is_known(manifest.kind, field));
    let (implementation, mut problems) = match manifest.kind {
        ToolKind::Http => http(manifest, &text, how),
        ToolKind::Command | ToolKind::Alias => command(manifest, &text),
        ToolKind::Go | ToolKind::Rust => function(manifest, &text),
        ToolKind::Mcp => upstream(manifest, &text),
    };
    problems.extend(text.placed(general(manifest, &text, how)));
    problems.sort_by_key(|problem| (problem.line, problem.column));
    let is_refused = problems
        .iter()
        .any(|problem| problem.severity == Severity::Error);
    RecordReading {
        implementation: implementation.filter(|_| !is_refused),
        problems,
        text,
    }
}

/// The definition in a record of a kind that may have tests; none for other kinds, and for what cannot be read.
pub(crate) fn definition_of(manifest: &ToolManifest) -> Option<FileDefinition> {
    match read(manifest, How::Load).implementation? {
        Implementation::Command(definition) => Some(FileDefinition::Command(definition)),
        Implementation::Http(definition) => Some(FileDefinition::Http(definition)),
        Implementation::Function(_) | Implementation::Upstream { .. } => None,
    }
}

/// The commands that a record is made of; none for other kinds, and for what cannot be read.
pub(crate) fn command_of(manifest: &ToolManifest) -> Option<Arc<Definition>> {
    match read(manifest, How::Load).implementation? {
        Implementation::Command(definition) => Some(definition),
        Implementation::Http(_) | Implementation::Function(_) | Implementation::Upstream { .. } => {
            None
        }
    }
}

/// Whether a field that is none of every manifest's is known for this kind.
fn is_known(kind: ToolKind, field: &str) -> bool {
    match kind {
        ToolKind::Http => HTTP_FIELDS.iter().any(|known| known.path == field),
        _ => [
            "requiresApproval",
            "keywords",
            "lastCalledAt",
            "callCount",
            "$schema",
        ]
        .contains(&field),
    }
}

fn http(
    manifest: &ToolManifest,
    text: &RecordText,
    how: How,
) -> (Option<Implementation>, Vec<Problem>) {
    let bytes = text.0.as_bytes();
    let reading = match how {
        How::Load => manifest::load_record(bytes, manifest.slug.as_str()),
        How::Check => manifest::read_record(bytes, manifest.slug.as_str()),
    };
    let definition = reading.definition.map(|mut definition| {
        // A mere check has no grants to compare it with.
        if how == How::Load {
            definition.digest = content_digest(manifest);
        }
        Implementation::Http(Arc::new(definition))
    });
    (definition, reading.problems)
}

fn command(manifest: &ToolManifest, text: &RecordText) -> (Option<Implementation>, Vec<Problem>) {
    let Some(implementation) = manifest.implementation.as_object() else {
        return (None, text.placed(vec![no_implementation(text)]));
    };
    let is_alias = manifest.kind == ToolKind::Alias;
    let mut said = vec![
        ("name", "slug", json!(wire_name(manifest))),
        ("version", "version", json!(manifest.version)),
    ];
    if !(is_alias && manifest.description.trim().is_empty()) {
        said.push(("description", "description", json!(manifest.description)));
    }
    if !manifest.tags.is_empty() {
        said.push(("tags", "tags", json!(manifest.tags)));
    }
    if let Some(required) = said_approval(manifest) {
        said.push(("requires-approval", "requiresApproval", required.clone()));
    }
    if is_alias {
        said.push(("type", "type", json!("alias")));
    }
    let mut found = Vec::new();
    for (key, field, value) in &said {
        let own = implementation.get(*key);
        if own.is_some_and(|own| own != value) {
            found.push(
                SpannedProblem::error(
                    "said-twice",
                    text.field("impl"),
                    format!("`impl.{key}` is not what the record's `{field}` says"),
                )
                .help(format!("remove `{key}` from `impl`")),
            );
        }
    }
    for key in ["tags", "description"] {
        if implementation.contains_key(key) && !said.iter().any(|(known, _, _)| *known == key) {
            let message = format!("`{key}` is in `impl`, and the record itself has none");
            let help = format!("move `{key}` out of `impl`, beside `slug`");
            found.push(SpannedProblem::error("said-twice", text.field("impl"), message).help(help));
        }
    }
    let says_alias = implementation.contains_key("base-tool")
        || implementation
            .get("type")
            .is_some_and(|kind| kind == "alias");
    if says_alias && !is_alias {
        let message = "`impl` is that of an alias, and the record is of type `command`";
        let help = "write `\"type\": \"alias\"`";
        found.push(SpannedProblem::error("said-twice", text.field("type"), message).help(help));
    }
    if !found.is_empty() {
        return (None, text.placed(found));
    }
    said.retain(|(key, _, _)| !implementation.contains_key(*key));
    let command = text.command(&said);
    let reading = definition::read_record(command.text.as_bytes(), manifest.slug.as_str());
    let definition = reading.definition.map(|mut definition| {
        definition.slug = manifest.slug.clone();
        definition.digest = content_digest(manifest);
        command.uses(&mut definition.uses_at, text);
        command.places(&mut definition.places, text);
        Implementation::Command(Arc::new(definition))
    });
    (definition, command.problems(reading.problems, text))
}

fn function(manifest: &ToolManifest, text: &RecordText) -> (Option<Implementation>, Vec<Problem>) {
    let Some(implementation) = manifest.implementation.as_object() else {
        return (None, text.placed(vec![no_implementation(text)]));
    };
    let names: Vec<&Value> = ["goFunc", "function"]
        .into_iter()
        .filter_map(|key| implementation.get(key))
        .collect();
    let found = match names.as_slice() {
        [] => SpannedProblem::error(
            "missing-field",
            text.field("impl"),
            "`impl` names no function",
        )
        .help("add `\"goFunc\": \"github.com/acme/agent/tools.Weather\"`, or `\"function\": …`"),
        [one, rest @ ..] => match one.as_str().map(str::trim) {
            Some(name) if !name.is_empty() && rest.iter().all(|other| other == one) => {
                return (Some(Implementation::Function(name.to_owned())), Vec::new());
            }
            Some(name) if !name.is_empty() => SpannedProblem::error(
                "said-twice",
                text.field("impl"),
                "`impl.goFunc` and `impl.function` name two functions",
            )
            .help("remove one of them"),
            _ => SpannedProblem::error(
                "wrong-type",
                text.field("impl"),
                "the function in `impl` must be a name, which is a text",
            ),
        },
    };
    (None, text.placed(vec![found]))
}

/// The function that an `impl` names, if it names one.
pub(super) fn function_of(implementation: &Value) -> Option<&str> {
    let mut names = ["goFunc", "function"]
        .into_iter()
        .filter_map(|key| implementation.get(key));
    let name = names.next()?.as_str()?.trim();
    let is_one = names.all(|other| other.as_str().map(str::trim) == Some(name));
    (is_one && !name.is_empty()).then_some(name)
}

/// The server that an `impl` names, and the tool there.
pub(super) fn upstream_of(implementation: &Value) -> Option<(String, String)> {
    let name = |key: &str| {
        let name = implementation.get(key)?.as_str()?.trim();
        (!name.is_empty()).then(|| name.to_owned())
    };
    Some((name("server")?, name("tool")?))
}

/// Whether a record of a command says that it takes other arguments than those that it is made with. One that says nothing does not.
pub(super) fn says_other_arguments(manifest: &ToolManifest, made: &Value) -> bool {
    // What a manifest that has none is read with.
    let nothing = json!({"type": "object", "properties": {}});
    manifest.arg_schema != nothing && manifest.arg_schema != *made
}

fn upstream(manifest: &ToolManifest, text: &RecordText) -> (Option<Implementation>, Vec<Problem>) {
    match upstream_of(&manifest.implementation) {
        Some((server, tool)) => (Some(Implementation::Upstream { server, tool }), Vec::new()),
        None => {
            let message = "`impl` of a tool of type `mcp` names a `server` and a `tool` there";
            let found = SpannedProblem::error("missing-field", text.field("impl"), message)
                .help("write `\"impl\": {\"server\": \"files\", \"tool\": \"read\"}`");
            (None, text.placed(vec![found]))
        }
    }
}

fn no_implementation(text: &RecordText) -> SpannedProblem {
    let message = "`impl` must be a JSON object that says what the tool does";
    SpannedProblem::error("wrong-type", text.field("impl"), message)
}

/// `requiresApproval` as a record has it; `null` says nothing.
fn said_approval(manifest: &ToolManifest) -> Option<&Value> {
    let said = manifest.extra.get("requiresApproval")?;
    (!said.is_null()).then_some(said)
}

/// `requiresApproval` of a function or an upstream tool; the readers of the other kinds read it themselves.
pub(super) fn requires_approval(manifest: &ToolManifest) -> Result<RequiresApproval, String> {
    let text = match said_approval(manifest) {
        None => return Ok(RequiresApproval::Unsaid),
        Some(Value::Bool(always)) => always.to_string(),
        Some(Value::String(text)) => text.clone(),
        Some(_) => return Err("it must be true, false or an expression".to_owned()),
    };
    let properties = manifest.arg_schema.get("properties");
    let properties = properties.and_then(Value::as_object);
    let parameters = properties
        .into_iter()
        .flat_map(|properties| properties.keys());
    let names = Names {
        parameters: parameters
            .map(|name| NamedParameter {
                name: name.clone(),
                kind: ParameterKind::String,
                format: None,
                raw: false,
            })
            .collect(),
        ..Names::default()
    };
    RequiresApproval::parse(&text, &names).map_err(|problems| {
        let messages = problems.into_iter().map(|problem| problem.message);
        messages.collect::<Vec<_>>().join("; ")
    })
}

/// Problems of fields that every kind has. The reader of HTTP tools sees to them itself.
fn general(manifest: &ToolManifest, text: &RecordText, how: How) -> Vec<SpannedProblem> {
    let mut found = Vec::new();
    let is_http = manifest.kind == ToolKind::Http;
    let is_command = matches!(manifest.kind, ToolKind::Command | ToolKind::Alias);
    if !is_http && !is_command && manifest.description.trim().is_empty() {
        let message = "`description` is blank; it is what a model decides by";
        found.push(SpannedProblem::error(
            "missing-value",
            text.field("description"),
            message,
        ));
    }
    if !is_http
        && !is_command
        && let Err(why) = requires_approval(manifest)
    {
        let message = format!("`requiresApproval` cannot be used: {why}");
        let span = text.field("requiresApproval");
        found.push(SpannedProblem::error("template-expression", span, message));
    }
    if !is_http && let Some(limits) = &manifest.limits {
        for limit in limits.extra.keys() {
            let limit = shorten(limit, 60);
            let message = format!("`limits.{limit}` is not known for this type of tool");
            found.push(SpannedProblem::error(
                "unknown-key",
                text.field("limits"),
                message,
            ));
        }
    }
    if !is_http {
        found.extend(schemas(manifest, text, how));
    }
    if how == How::Check {
        for field in manifest.extra.keys() {
            if !is_known(manifest.kind, field) {
                let field = shorten(field, 60);
                let message = format!(
                    "the field `{field}` is not known to this version; it is kept, and does nothing"
                );
                found.push(SpannedProblem::warning("without-effect", 0..0, message));
            }
        }
    }
    found
}

fn schemas(manifest: &ToolManifest, text: &RecordText, how: How) -> Vec<SpannedProblem> {
    let input = Schema::stored(manifest.arg_schema.clone());
    let output = manifest.output_schema.clone().map(Schema::output);
    let all = [("argSchema", Some(input)), ("outputSchema", output)];
    let mut found = Vec::new();
    for (field, schema) in all {
        let checked = schema.map(|schema| {
            let schema = schema?;
            match how {
                // A tool that cannot be called is not offered; what only authors are held to is looked at when they ask.
                How::Load => schema.usable_at_a_glance(),
                How::Check => schema.compile(),
            }
        });
        if let Some(Err(error)) = checked {
            let message = format!("`{field}` cannot be used: {error}");
            found.push(SpannedProblem::error(
                "bad-schema",
                text.field(field),
                message,
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ids::{BundleId, ToolId};

    #[test]
    fn a_tool_stays_the_same_when_it_is_switched_or_saved_again() {
        let manifest: ToolManifest = serde_json::from_value(json!({
            "bundleID": BundleId::generate(), "toolID": ToolId::generate(), "slug": "a", "version": "v1",
            "displayName": "A", "description": "Does it", "type": "rust", "isEnabled": true,
            "argSchema": {"type": "object"}, "impl": {"func": "a"}, "custom": {"deep": [1, 2]},
            "createdAt": "2026-01-01T00:00:00Z", "modifiedAt": "2026-01-01T00:00:00Z",
        }))
        .unwrap();
        // As it always was: grants on disk are compared with it.
        let whole = serde_json::to_value(&manifest).unwrap();
        let digest = Digester::default().json(&whole).finish();
        assert_eq!(content_digest(&manifest), digest);
        let mut switched = manifest.clone();
        switched.is_enabled = false;
        switched.modified_at = jiff::Timestamp::now();
        assert_eq!(content_digest(&switched), digest);
        let mut other = manifest;
        other.description.push('!');
        assert_ne!(content_digest(&other), digest);
    }
}
