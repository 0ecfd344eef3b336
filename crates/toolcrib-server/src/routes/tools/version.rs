//! One version of a tool: S4's `/tools/bundles/{bundleID}/tools/{toolSlug}/version/{v}`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use http::{Method, StatusCode};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};
use toolcrib::crib::BundleView;
use toolcrib::definition::{Problem, Severity};
use toolcrib::manifest;
use toolcrib::model::text;
use toolcrib::registry::{Availability, Entry, Source};
use toolcrib::source;
use toolcrib::spec::manifest::ToolKind;
use toolcrib::{BundleId, Crib, ErrorCode, NameError, Slug, ToolError, Version};

use crate::api::{Answer, ApiRequest, Refusal, Route, Who, located, no_content};
use crate::routes::work::{Switch, blocking, bundle_of, refuse_closed, refuse_own, refused, shown};

const ONE: &str = "/tools/bundles/{bundleID}/tools/{toolSlug}/version/{v}";

/// One version of a tool: of one of the store its record, of others what it publishes; and what is computed.
#[derive(JsonSchema)]
#[schemars(rename = "Tool", extend("additionalProperties" = true))]
#[expect(dead_code, reason = "the shape of a document that is open")]
pub(super) struct ToolShape {
    #[schemars(flatten)]
    tool: ToolFields,
    /// What a person should know before trusting its looks.
    warnings: Option<Vec<String>>,
}

/// One version of a tool that was just added, with what is doubtful about its definition.
#[derive(JsonSchema)]
#[schemars(rename = "AddedTool", extend("additionalProperties" = true))]
#[expect(dead_code, reason = "the shape of a document that is open")]
struct AddedTool {
    #[schemars(flatten)]
    tool: ToolFields,
    /// What `toolcrib check` warns of; if it warns of nothing, what a person should know before trusting its looks.
    warnings: Option<Vec<AddedWarning>>,
}

/// A warning about a tool that was just added.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "the shape of a value that is made by hand")]
enum AddedWarning {
    /// Of the definition.
    Definition(DefinitionWarning),
    /// Of its looks.
    Looks(String),
}

/// The warnings about a definition, as `toolcrib check` reports it.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "the shape of a value that is made by hand")]
struct DefinitionWarning {
    /// Which kind of problem.
    code: String,
    /// Always `warning`.
    severity: String,
    /// The warnings.
    message: String,
    /// Where, as a JSON pointer; left out if it is about the whole definition.
    pointer: Option<String>,
    /// What to do about it.
    help: Option<String>,
}

/// What every answer with a tool has.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "the shape of a document that is open")]
struct ToolFields {
    /// The name for models.
    name: String,
    /// The name for people and URLs.
    slug: String,
    /// The slug of its bundle.
    bundle: String,
    /// The id of its bundle.
    #[schemars(rename = "bundleID")]
    bundle_id: Option<String>,
    /// The label of this version.
    version: String,
    /// The id of this version; of a tool of the store.
    #[schemars(rename = "toolID")]
    tool_id: Option<String>,
    /// The name for lists.
    display_name: String,
    /// What it does.
    description: String,
    /// How it is implemented.
    #[schemars(rename = "type")]
    kind: ToolKind,
    /// Its own switch, whatever else keeps it off.
    is_enabled: bool,
    /// Whether it is compiled in and read-only.
    is_built_in: bool,
    /// What it takes (JSON Schema).
    arg_schema: Value,
    /// The schema of its arguments as it is published.
    input_schema: Value,
    /// What it returns (JSON Schema).
    output_schema: Option<Value>,
    /// The implementation, in the form its `type` asks for; of a tool of the store.
    #[schemars(rename = "impl")]
    implementation: Option<Value>,
    /// Categories and security tags.
    tags: Option<Vec<String>>,
    /// What it does to the world; none if no one knows.
    effects: Vec<String>,
    /// Where it comes from.
    source: Source,
    /// Whether it can be called, and if not, why.
    availability: Availability,
    /// A digest of what it is, to which approvals are bound.
    digest: String,
    /// Other names for models.
    aliases: Vec<String>,
    /// How often it was called.
    call_count: u64,
    /// When it was called last.
    last_called_at: Option<String>,
    /// First insertion; of a tool of the store.
    created_at: Option<String>,
    /// Last structural change; of a tool of the store.
    modified_at: Option<String>,
    /// Which tool has its name, if another one has.
    shadowed_by: Option<String>,
}

/// A JSON Schema (draft 2020-12) of arguments, without references to elsewhere.
#[derive(JsonSchema)]
#[schemars(rename = "ArgumentsSchema", extend("additionalProperties" = true))]
#[expect(dead_code, reason = "the shape of a document that is open")]
struct ArgumentsShape {
    /// `object`.
    #[schemars(rename = "type")]
    kind: Option<String>,
    /// The schema of each argument, by its name.
    properties: Option<BTreeMap<String, Value>>,
    /// The names of the arguments that must be there.
    required: Option<Vec<String>>,
}

/// The implementation of a tool: of an HTTP tool as its file has it.
struct ImplementationShape;

impl JsonSchema for ImplementationShape {
    fn schema_name() -> Cow<'static, str> {
        "Implementation".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let http = generator.subschema_for::<HttpShape>();
        json_schema!({
            "description": "`HttpImplementation` if the type is `http`.",
            "anyOf": [
                http,
                {"type": "object", "description": "of a tool of another type"},
            ],
        })
    }
}

/// `impl` of an HTTP tool.
struct HttpShape;

impl JsonSchema for HttpShape {
    fn schema_name() -> Cow<'static, str> {
        "HttpImplementation".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let request = generator.subschema_for::<RequestShape>();
        json_schema!({
            "description": "One request, or several that are sent one after the other.",
            "anyOf": [request, {"type": "array", "items": request, "minItems": 1}],
        })
    }
}

/// One request of an HTTP tool, from the schema that editors get.
struct RequestShape;

impl JsonSchema for RequestShape {
    fn schema_name() -> Cow<'static, str> {
        "HttpRequest".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut file = manifest::json_schema();
        let one = file["properties"]["impl"]["anyOf"][0].take();
        Schema::try_from(one).unwrap_or_default()
    }
}

/// What `PUT` takes: S4's `tool.json`. Fields that this version does not know are kept; ids of the path, times and what is computed may be
/// left out.
#[derive(JsonSchema)]
#[schemars(rename = "ToolBody", rename_all = "camelCase", extend("additionalProperties" = true))]
#[expect(dead_code, reason = "the shape of a document that is open")]
struct ToolBody {
    /// How it is implemented; `http` if it is left out.
    #[schemars(rename = "type")]
    kind: Option<ToolKind>,
    /// The name for lists.
    display_name: Option<String>,
    /// What it does.
    description: Option<String>,
    /// The switch; on if it is left out.
    is_enabled: Option<bool>,
    /// What it takes (JSON Schema).
    arg_schema: Option<ArgumentsShape>,
    /// What it returns (JSON Schema).
    output_schema: Option<Value>,
    /// The implementation, in the form its `type` asks for.
    #[schemars(rename = "impl")]
    implementation: Option<ImplementationShape>,
    /// Categories and security tags.
    tags: Option<Vec<String>>,
    /// The path's again, if it is there at all.
    #[schemars(rename = "bundleID")]
    bundle_id: Option<String>,
    /// The path's again, if it is there at all.
    slug: Option<String>,
    /// The path's again, if it is there at all.
    version: Option<String>,
}

fn example() -> Value {
    json!({
        "displayName": "Weather report", "description": "Fetch current weather for a city", "type": "http",
        "tags": ["read", "weather"],
        "argSchema": {
            "type": "object", "properties": {"city": {"type": "string", "description": "City to look up"}}, "required": ["city"],
        },
        "impl": {
            "method": "GET", "urlTemplate": "https://api.weatherapi.com/v1/current.json?q=${city}",
            "successCodes": [200], "responseEncoding": "json", "extractExpr": "$.current.condition.text",
        },
    })
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(Method::GET, ONE, Who::Caller, |api, asked| {
            blocking(api, asked, get)
        })
        .named("getTool", "tools", "Shows one version of a tool, wherever it comes from.")
        .answers::<ToolShape>(200, "The tool.")
        .refuses(404, "There is no such bundle, or no such version in it."),
        Route::new(Method::PUT, ONE, Who::Operator, |api, asked| {
            blocking(api, asked, put)
        })
        .named("putTool", "tools", "Adds one version of a tool to a bundle of the store.")
        .about(
            "It is checked as `toolcrib check` does; everything that is wrong is in `details.problems`, each with its JSON pointer and \
             with its place in the definition as the store writes it. What `GET` answered can be sent to another version. A version that is there is left as it is.",
        )
        .takes::<ToolBody>("The definition.", example)
        .answers::<AddedTool>(201, "It was added.")
        .refuses(403, "The bundle is one of Toolcrib's own.")
        .refuses(404, "There is no such bundle.")
        .refuses(409, "The version is there already, the bundle is off or in the bin, or the store is full."),
        Route::new(Method::PATCH, ONE, Who::Operator, |api, asked| {
            blocking(api, asked, patch)
        })
        .named("switchTool", "tools", "Switches one version of a tool on or off, built-in tools too.")
        .takes::<Switch>("The switch, and nothing else.", || json!({"isEnabled": false}))
        .answers::<ToolShape>(200, "The tool as it is now.")
        .refuses(403, "Something else of a tool that is not the store's was to be changed.")
        .refuses(404, "There is no such bundle, or no such version in it.")
        .refuses(409, "The bundle is off or in the bin."),
        Route::new(Method::DELETE, ONE, Who::Operator, |api, asked| {
            blocking(api, asked, delete)
        })
        .named("deleteTool", "tools", "Removes one version of a tool of the store, for good.")
        .answers_with(204, "It is gone.", "")
        .refuses(403, "The bundle is one of Toolcrib's own.")
        .refuses(404, "There is no such bundle, or no such version in it."),
    ]
}

/// The attributes of a tool that `PUT` sets.
const ATTRIBUTES: [&str; 10] = [
    "slug",
    "version",
    "bundleID",
    "displayName",
    "description",
    "type",
    "argSchema",
    "outputSchema",
    "impl",
    "tags",
];

/// Which version of which tool a path names.
struct Named {
    bundle: BundleId,
    slug: Slug,
    version: Version,
}

impl Named {
    fn of(view: &BundleView, asked: &ApiRequest) -> Result<Self, Refusal> {
        Ok(Named {
            bundle: view.bundle.bundle_id,
            slug: Slug::parse(asked.path.get("toolSlug")).map_err(bad_name)?,
            version: Version::parse(asked.path.get("v")).map_err(bad_name)?,
        })
    }

    /// The reference that means this version and no other.
    fn reference(&self) -> String {
        format!("{}/{}@{}", self.bundle, self.slug, self.version)
    }

    fn entry(&self, view: &BundleView, crib: &Crib) -> Result<Arc<Entry>, Refusal> {
        let found = crib.registry().find(&self.reference());
        Ok(found.map_err(|error| {
            let reason = error.details().and_then(|details| details.get("reason"));
            let why = reason.and_then(Value::as_str);
            let why = why.map_or(String::new(), |why| format!(": {why}"));
            let message = format!(
                "tool not found: `{}@{}` is not in the bundle `{}`{why}",
                self.slug, self.version, view.bundle.slug
            );
            ToolError::new(error.code(), message)
        })?)
    }
}

fn bad_name(error: NameError) -> Refusal {
    Refusal::usage(error.to_string())
}

fn get(crib: &Crib, asked: &ApiRequest) -> Answer {
    let view = bundle_of(crib, asked)?;
    let entry = Named::of(&view, asked)?.entry(&view, crib)?;
    Ok(shown(crib, StatusCode::OK, &crib.tool_document(&entry)?))
}

fn put(crib: &Crib, asked: &ApiRequest) -> Answer {
    let view = bundle_of(crib, asked)?;
    refuse_own(&view)?;
    let named = Named::of(&view, asked)?;
    refuse_closed(&view)?;
    let fields = definition(asked.object()?, &named)?;
    let text = serde_json::to_vec_pretty(&fields).unwrap_or_default();
    let text = source::without_computed(&text).unwrap_or(text);
    let draft = source::draft_as_sent(&text, named.slug.as_str(), named.bundle);
    let name = format!("{}/{}@{}", view.bundle.slug, named.slug, named.version);
    if let Some(refusal) = faulty(&name, &text, &draft.problems) {
        return Err(refused(crib, refusal));
    }
    let mut warnings = warnings(&text, &draft.problems);
    let Some(manifest) = draft.manifest else {
        let message = format!("`{name}` cannot be saved: it is not a tool definition");
        return Err(Refusal::new(ErrorCode::InvalidArguments, message));
    };
    // The reader of the text sees what was sent, the reader of the record what it means beside others.
    for problem in crib.check_manifest(&manifest) {
        let is_new = !warnings.iter().any(|known| known["code"] == problem.code);
        if problem.severity == Severity::Warning && is_new {
            warnings.push(warning("", &problem));
        }
    }
    crib.put_tool(manifest)
        .map_err(|error| refused(crib, error))?;
    let entry = named.entry(&view, crib)?;
    let mut document = crib.tool_document(&entry)?;
    if !warnings.is_empty() {
        document.insert("warnings".to_owned(), warnings.into());
    }
    let made = shown(crib, StatusCode::CREATED, &document);
    let path = format!(
        "/tools/bundles/{}/tools/{}/version/{}",
        named.bundle, named.slug, named.version
    );
    Ok(located(made, &path))
}

/// The warnings about a definition, as `toolcrib check` reports them, with places as JSON pointers.
fn warnings(text: &[u8], problems: &[Problem]) -> Vec<Value> {
    let doubts = problems
        .iter()
        .filter(|problem| problem.severity == Severity::Warning);
    doubts
        .map(|problem| warning(&pointer_at(text, problem.span.start), problem))
        .collect()
}

fn warning(pointer: &str, problem: &Problem) -> Value {
    let mut warning =
        json!({"code": problem.code, "severity": "warning", "message": problem.message});
    if !pointer.is_empty() {
        warning["pointer"] = pointer.into();
    }
    if let Some(help) = &problem.help {
        warning["help"] = help.as_str().into();
    }
    warning
}

/// The errors of a definition, with places as JSON pointers: the text that was read is not the one that was sent.
fn faulty(name: &str, text: &[u8], problems: &[Problem]) -> Option<ToolError> {
    let errors: Vec<(String, &Problem)> = problems
        .iter()
        .filter(|problem| problem.severity == Severity::Error)
        .map(|problem| (pointer_at(text, problem.span.start), problem))
        .collect();
    let (pointer, first) = errors.first()?;
    let at = match pointer.as_str() {
        "" => String::new(),
        pointer => format!("`{}`: ", text::shorten(pointer, 200)),
    };
    let help = first.help.as_ref();
    let help = help.map_or(String::new(), |help| format!("; {help}"));
    let more = match errors.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let message = format!(
        "`{name}` cannot be saved: {at}{}{help}{more}",
        text::shorten(&first.message, 400)
    );
    let shown = |(pointer, problem): &(String, &Problem)| {
        let mut shown = json!(problem);
        shown["pointer"] = text::shorten(pointer, 500).into();
        shown
    };
    let problems: Vec<Value> = errors.iter().map(shown).collect();
    Some(ToolError::new(ErrorCode::InvalidArguments, message).with_detail("problems", problems))
}

/// The JSON pointer of what is at a byte of a text that is known to be JSON.
fn pointer_at(text: &[u8], offset: usize) -> String {
    /// Where the reader is in an object or a list.
    enum Step {
        Field(String),
        Item(usize),
    }
    let mut steps: Vec<Step> = Vec::new();
    let mut at = 0;
    while at < text.len() && at <= offset {
        match text[at] {
            b'{' => steps.push(Step::Field(String::new())),
            b'[' => steps.push(Step::Item(0)),
            b'}' | b']' => drop(steps.pop()),
            b',' => {
                if let Some(Step::Item(number)) = steps.last_mut() {
                    *number += 1;
                }
            }
            b'"' => {
                let begin = at;
                at += 1;
                while at < text.len() && text[at] != b'"' {
                    at += if text[at] == b'\\' { 2 } else { 1 };
                }
                let end = (at + 1).min(text.len());
                let is_name =
                    text[end..].iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':');
                if let (true, Some(Step::Field(name))) = (is_name, steps.last_mut()) {
                    *name = serde_json::from_slice(&text[begin..end]).unwrap_or_default();
                }
            }
            _ => {}
        }
        at += 1;
    }
    let mut pointer = String::new();
    for step in steps {
        let step = match step {
            // Its beginning: the object itself.
            Step::Field(name) if name.is_empty() => continue,
            Step::Field(name) => name.replace('~', "~0").replace('/', "~1"),
            Step::Item(number) => number.to_string(),
        };
        pointer.push('/');
        pointer.push_str(&step);
    }
    pointer
}

/// The definition with what the path says of it; what the body says of that must be the same.
fn definition(
    mut fields: Map<String, Value>,
    named: &Named,
) -> Result<Map<String, Value>, Refusal> {
    let differs = |field: &str, path: &str| {
        Refusal::usage(format!(
            "the path says `{path}`, and `{field}` of the body something else; leave it out"
        ))
    };
    let text = |field: &str, value: &Value| match value {
        Value::String(text) => Ok(text.clone()),
        _ => Err(Refusal::usage(format!("`{field}` is not text"))),
    };
    if let Some(value) = fields.get("bundleID") {
        let said = BundleId::parse(&text("bundleID", value)?).map_err(bad_name)?;
        if said != named.bundle {
            return Err(differs("bundleID", &named.bundle.to_string()));
        }
    }
    if let Some(value) = fields.get("slug") {
        let said = Slug::parse(&text("slug", value)?).map_err(bad_name)?;
        if said != named.slug {
            return Err(differs("slug", named.slug.as_str()));
        }
    }
    if let Some(value) = fields.get("version") {
        let said = Version::parse(&text("version", value)?).map_err(bad_name)?;
        if said != named.version {
            return Err(differs("version", named.version.as_str()));
        }
    }
    fields.insert("slug".to_owned(), json!(named.slug));
    fields.insert("version".to_owned(), json!(named.version));
    // Times are the store's.
    fields.shift_remove("createdAt");
    fields.shift_remove("modifiedAt");
    Ok(fields)
}

fn patch(crib: &Crib, asked: &ApiRequest) -> Answer {
    let view = bundle_of(crib, asked)?;
    let named = Named::of(&view, asked)?;
    let is_enabled = Switch::of(asked, &view, &ATTRIBUTES)?;
    // That it is there at all comes first.
    named.entry(&view, crib)?;
    refuse_closed(&view)?;
    crib.set_enabled(&[&named.reference()], is_enabled)?;
    let entry = named.entry(&view, crib)?;
    Ok(shown(crib, StatusCode::OK, &crib.tool_document(&entry)?))
}

fn delete(crib: &Crib, asked: &ApiRequest) -> Answer {
    let view = bundle_of(crib, asked)?;
    refuse_own(&view)?;
    let named = Named::of(&view, asked)?;
    crib.delete_tool(&named.reference())?;
    Ok(no_content())
}
