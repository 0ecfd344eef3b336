//! A tool's file as what a store keeps of it: [`draft`].
//!
//! Ids and times are the store's; what a file says about them is not looked at, but for `toolID`, which the store keeps if it is free.

use serde_json::{Map, Value, json};

use super::definition::{FileDefinition, FileKind};
use crate::definition::problem::{self, SpannedProblem};
use crate::definition::{self, Body, OddNumbers, Problem, Severity};
use crate::manifest;
use crate::model::ids::BundleId;
use crate::model::names::{Slug, Version, WireName};
use crate::model::text as words;
use crate::spec::manifest::ToolManifest;

/// What came of reading a file for a store.
#[derive(Debug)]
pub struct Draft {
    /// What there is to put, unless a problem is an error.
    pub manifest: Option<ToolManifest>,
    /// Everything that is wrong or doubtful in the file, with its places.
    pub problems: Vec<Problem>,
}

/// Reads a file as a tool of a bundle. What can only be seen with the tools, functions and secrets that there are is not checked here.
///
/// ```
/// use toolcrib::model::ids::BundleId;
/// use toolcrib::source::{FileKind, draft};
/// let file = b"description: Says hello\ntags: [read]\nbash: echo hello {WHO}\nparameters:\n  WHO: {description: Whom}\n";
/// let tool = draft(FileKind::Yaml, file, "say_hello", BundleId::generate()).manifest.unwrap();
/// assert_eq!(tool.slug.as_str(), "say-hello");
/// assert_eq!(tool.implementation["bash"], "echo hello {WHO}");
/// ```
pub fn draft(kind: FileKind, bytes: &[u8], stem: &str, bundle: BundleId) -> Draft {
    drafted(
        match kind {
            FileKind::Yaml => of_yaml(bytes, stem),
            FileKind::Json => of_json(bytes, stem, manifest::read),
        },
        bundle,
    )
}

/// Reads a definition that a program sends as JSON, like [`draft`]. Hidden characters in its texts are a warning: it is stored
/// as it was sent, people see them escaped, and models do not get them.
pub fn draft_as_sent(bytes: &[u8], stem: &str, bundle: BundleId) -> Draft {
    drafted(of_json(bytes, stem, manifest::read_record), bundle)
}

fn drafted((fields, problems): (Option<Fields>, Vec<Problem>), bundle: BundleId) -> Draft {
    let Some(mut fields) = fields else {
        return Draft {
            manifest: None,
            problems,
        };
    };
    let now = json!(jiff::Timestamp::now());
    fields.insert("bundleID".to_owned(), json!(bundle));
    fields.insert("createdAt".to_owned(), now.clone());
    fields.insert("modifiedAt".to_owned(), now);
    match serde_json::from_value(Value::Object(fields)) {
        Ok(manifest) => Draft {
            manifest: Some(manifest),
            problems,
        },
        Err(error) => Draft {
            manifest: None,
            problems: vec![whole("wrong-type", error.to_string())],
        },
    }
}

type Fields = Map<String, Value>;

/// What front ends add to a record that they show, and no one writes.
const COMPUTED: [&str; 11] = [
    "aliases",
    "availability",
    "bundle",
    "callCount",
    "digest",
    "effects",
    "inputSchema",
    "lastCalledAt",
    "shadowedBy",
    "source",
    "warnings",
];

/// A definition as a front end printed it (`toolcrib show --json`), without what was computed for it; `None` for anything else. A printed
/// tool can be put into another bundle this way.
///
/// ```
/// use toolcrib::source::without_computed;
/// let shown = br#"{"slug": "a", "bundle": "acme", "availability": {"state": "ready"}, "callCount": 3}"#;
/// let kept = without_computed(shown).unwrap();
/// assert_eq!(String::from_utf8(kept).unwrap(), "{\n  \"slug\": \"a\"\n}\n");
/// assert!(without_computed(br#"{"slug": "a", "bundle": "acme"}"#).is_none());
/// ```
pub fn without_computed(bytes: &[u8]) -> Option<Vec<u8>> {
    let Ok(Value::Object(mut fields)) = manifest::as_json(bytes) else {
        return None;
    };
    // Whether a tool can run is in every one that was printed, and in no other.
    fields.get("availability")?.get("state")?;
    fields.retain(|key, _| !COMPUTED.contains(&key.as_str()));
    let slug = fields.get("slug").and_then(Value::as_str);
    let derived = slug.and_then(|slug| Slug::parse(slug).ok());
    let derived = derived.map(|slug| json!(WireName::derive(&slug)));
    if fields.get("name") == derived.as_ref() {
        fields.shift_remove("name");
    }
    let mut text = serde_json::to_vec_pretty(&fields).ok()?;
    text.push(b'\n');
    Some(text)
}

fn of_json(
    bytes: &[u8],
    stem: &str,
    read: fn(&[u8], &str) -> manifest::Reading,
) -> (Option<Fields>, Vec<Problem>) {
    let Ok(Value::Object(mut fields)) = manifest::as_json(bytes) else {
        // The reader of HTTP tools says it best.
        return (None, read(bytes, stem).problems);
    };
    let is_http = match fields.get("type") {
        Some(kind) => kind == "http",
        // What has an implementation of another kind lacks its type.
        None => true,
    };
    if let Some(problem) = unknown_kind(&fields, bytes) {
        return (None, vec![problem]);
    }
    let mut problems = Vec::new();
    if is_http {
        let reading = read(bytes, stem);
        problems = reading.problems;
        let Some(definition) = reading.definition else {
            return (None, problems);
        };
        fields.insert("type".to_owned(), json!("http"));
        fields.insert("slug".to_owned(), json!(definition.slug));
        name(&mut fields, &definition.name, &definition.slug);
    }
    if !fields.contains_key("slug") {
        let Ok(wire) = WireName::parse(stem) else {
            let message = "the tool has no `slug`, and the file's name is none".to_owned();
            return (None, vec![whole("missing-field", message)]);
        };
        fields.insert("slug".to_owned(), json!(Slug::from_wire(&wire)));
    }
    fields
        .entry("version")
        .or_insert_with(|| json!(Version::v1()));
    (Some(fields), problems)
}

/// A `type` that is none, with its place.
fn unknown_kind(fields: &Fields, bytes: &[u8]) -> Option<Problem> {
    const KINDS: [&str; 6] = ["http", "command", "alias", "go", "rust", "mcp"];
    let kind = fields.get("type")?;
    if kind.as_str().is_some_and(|kind| KINDS.contains(&kind)) {
        return None;
    }
    let text = std::str::from_utf8(bytes).ok()?;
    let at = text.find("\"type\"");
    let span = at.map_or(0..0, |at| at..at + "\"type\"".len());
    let message = format!(
        "`type` is {}, which is not a kind of tool",
        words::shorten(&kind.to_string(), 80)
    );
    let help = format!(
        "write one of {}",
        KINDS.map(|kind| format!("`{kind}`")).join(", ")
    );
    let found = SpannedProblem::error("unknown-value", span, message).help(help);
    problem::placed(vec![found], text, 0).into_iter().next()
}

fn of_yaml(bytes: &[u8], stem: &str) -> (Option<Fields>, Vec<Problem>) {
    let reading = FileKind::Yaml.read(bytes, stem);
    let problems = reading.problems;
    let Some(FileDefinition::Command(tool)) = reading.definition else {
        return (None, problems);
    };
    // Whether `1.50` is a text or a number depends on what it is for; the reader knows.
    let readings = [OddNumbers::Texts, OddNumbers::Numbers];
    let said = readings.into_iter().find_map(|odd| {
        let said = definition::as_json(bytes, odd)?;
        let text = serde_json::to_string_pretty(&said).ok()?;
        let again = FileKind::Yaml.read(text.as_bytes(), stem);
        again.definition.is_some().then_some(said)
    });
    let Some(Value::Object(mut implementation)) = said else {
        let message = "what the file says cannot be kept as JSON".to_owned();
        return (None, vec![whole("wrong-type", message)]);
    };
    // What the record says itself.
    for key in ["name", "version", "description", "tags", "type"] {
        implementation.shift_remove(key);
    }
    let kind = match &tool.body {
        Body::Alias { .. } => "alias",
        Body::Command(_) | Body::Commands { .. } | Body::Steps(_) => "command",
    };
    let mut fields = Fields::new();
    for (key, value) in [
        ("slug", json!(tool.slug)),
        ("version", json!(tool.version)),
        ("description", json!(tool.description)),
        ("type", json!(kind)),
        ("tags", json!(tool.tags)),
        ("impl", Value::Object(implementation)),
    ] {
        fields.insert(key.to_owned(), value);
    }
    name(&mut fields, &tool.name, &tool.slug);
    (Some(fields), problems)
}

/// A name for models that does not follow from the slug is said.
fn name(fields: &mut Fields, name: &WireName, slug: &Slug) {
    if *name != WireName::derive(slug) {
        fields.insert("name".to_owned(), json!(name));
    }
}

fn whole(code: &'static str, message: String) -> Problem {
    Problem {
        code,
        severity: Severity::Error,
        span: 0..0,
        line: 1,
        column: 1,
        message,
        help: None,
        fix: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drafted(kind: FileKind, text: &str, stem: &str) -> ToolManifest {
        let draft = draft(kind, text.as_bytes(), stem, BundleId::generate());
        draft
            .manifest
            .unwrap_or_else(|| panic!("{:?}", draft.problems))
    }

    #[test]
    fn a_yaml_tool_becomes_a_command_whose_values_stay_as_they_are_written() {
        let text = |default: &str| {
            format!(
                "name: greet_all\nversion: \"1.10\"\ndescription: Greets\ntags: [run]\nbash: echo {{WHO}}\nparameters:\n  WHO: {{description: Whom, {default}}}\n"
            )
        };
        let tool = drafted(FileKind::Yaml, &text("default: \"5\""), "x");
        assert_eq!(
            (tool.slug.as_str(), tool.version.as_str()),
            ("greet-all", "1.10")
        );
        assert_eq!(tool.tags, ["run"]);
        assert!(tool.implementation.get("version").is_none());
        let default = |text: &str| {
            let tool = drafted(FileKind::Yaml, text, "x");
            tool.implementation["parameters"]["WHO"]["default"].clone()
        };
        assert_eq!(default(&text("default: \"5\"")), json!("5"));
        assert_eq!(default(&text("default: 1.50")), json!("1.50"));
        assert_eq!(default(&text("type: number, default: 1.50")), json!(1.5));
    }

    #[test]
    fn comments_are_allowed_in_json_and_a_slug_may_be_the_name_of_the_file() {
        let text = "{ // S4\n \"type\": \"go\", \"description\": \"d\", \"impl\": {\"goFunc\": \"a.B\"}, }";
        let tool = drafted(FileKind::Json, text, "read_it");
        assert_eq!(tool.slug.as_str(), "read-it");
        assert_eq!(tool.version, Version::v1());
    }

    #[test]
    fn what_is_wrong_has_its_place() {
        let text = "{\n  \"description\": \"d\",\n  \"impl\": {\"urlTempalte\": \"https://example.com/\"}\n}";
        let draft = draft(
            FileKind::Json,
            text.as_bytes(),
            "weather",
            BundleId::generate(),
        );
        assert!(draft.manifest.is_none());
        assert!(draft.problems.iter().any(|problem| problem.line == 3));
        for text in ["[]", "{", "", "null"] {
            let bundle = BundleId::generate();
            let draft = super::draft(FileKind::Json, text.as_bytes(), "weather", bundle);
            assert!(
                draft.manifest.is_none() && !draft.problems.is_empty(),
                "{text}"
            );
        }
    }
}
