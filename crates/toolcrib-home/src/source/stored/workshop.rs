//! Makes tools of records: [`Workshop`].
//!
//! A tool is made when it is first needed, by what is there then. A missing part (a function, a program, a tool that it uses) makes it
//! unavailable with that reason; the record stays as it is.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use super::reading::{self, How, Implementation};
use super::tool::{Names, StoredRun};
use crate::definition::{RequiresApproval, Severity};
use crate::exec::FunctionRef;
use crate::exec::command::{CommandSettings, CommandTool};
use crate::exec::http::{self, HttpSettings};
use crate::manifest::{effects_of, reads};
use crate::model::effects::Effects;
use crate::model::ids::BundleId;
use crate::model::limits::LimitsPatch;
use crate::model::names::{Slug, WireName};
use crate::model::text::shorten;
use crate::registry::MadeTool;
use crate::schema::{Schema, SchemaPool};
use crate::secret::{Asker, SecretStore};
use crate::spec::ToolSpec;
use crate::spec::manifest::{ManifestLimits, ToolKind, ToolManifest};
use crate::store::StoredTool;
use crate::tool::Tool;
use crate::upstream::Upstreams;

/// What tools of the store are made with.
pub(crate) struct Workshop {
    /// What all command tools share.
    pub(crate) settings: Arc<CommandSettings>,
    /// What all HTTP tools share.
    pub(crate) http: Arc<HttpSettings>,
    /// Where secrets are.
    pub(crate) secrets: SecretStore,
    /// The functions of the program, by the names that records call them.
    pub(crate) functions: HashMap<String, Arc<dyn Tool>>,
    /// The upstream servers, for tools that name one of theirs.
    pub(crate) upstreams: Arc<Upstreams>,
}

/// What a tool needs to know of its bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Home {
    pub(super) id: BundleId,
    pub(super) slug: Slug,
    /// Whether it came in an archive.
    pub(super) is_imported: bool,
}

/// What knows the tools that others build on.
pub(super) type Lookup<'a> = &'a dyn Fn(&str) -> Option<Arc<ToolSpec>>;

impl Workshop {
    /// The tool of a record, or why there is none.
    pub(super) fn make(
        &self,
        record: &StoredTool,
        home: &Home,
        lookup: Lookup<'_>,
    ) -> Result<MadeTool, String> {
        let manifest = record.manifest().map_err(|error| error.to_string())?;
        let reading = reading::read(&manifest, How::Load);
        let mut errors = reading
            .problems
            .iter()
            .filter(|problem| problem.severity == Severity::Error);
        let Some(implementation) = reading.implementation else {
            let first = errors.next().map_or_else(
                || "its definition makes no sense".to_owned(),
                |problem| {
                    format!(
                        "its definition is wrong: {}",
                        shorten(&problem.message, 300)
                    )
                },
            );
            let more = match errors.count() {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            };
            return Err(format!("{first}{more}"));
        };
        self.build(manifest, implementation, home, lookup)
    }

    fn build(
        &self,
        manifest: ToolManifest,
        implementation: Implementation,
        home: &Home,
        lookup: Lookup<'_>,
    ) -> Result<MadeTool, String> {
        let bundle = home.slug.clone();
        let mut unavailable = None;
        let mut names = None;
        let (tool, spec): (Arc<dyn Tool>, ToolSpec) = match implementation {
            Implementation::Http(definition) => {
                let own = Names::new(Arc::clone(&definition), self.secrets.clone());
                unavailable = own.clash();
                names = Some(own);
                let asker = Asker {
                    bundle,
                    id: Some(home.id),
                    is_imported: home.is_imported,
                };
                let tool = http::tool_of(definition, asker, Arc::clone(&self.http))
                    .map_err(|error| error.message().to_owned())?;
                let spec = ToolSpec::clone(&tool.spec());
                (tool, spec)
            }
            Implementation::Command(definition) => {
                let uses = definition.uses().into_iter();
                if let Some(unknown) = { uses }.find(|used| lookup(used).is_none()) {
                    let shown = shorten(unknown, 80);
                    return Err(format!(
                        "it uses `{shown}`, and there is no tool of that name"
                    ));
                }
                unavailable = CommandTool::missing(&definition);
                let settings = Arc::clone(&self.settings);
                let tool = CommandTool::linked(definition, bundle, settings, lookup)
                    .map_err(|error| error.message().to_owned())?;
                if reading::says_other_arguments(&manifest, tool.spec().input_schema.as_value()) {
                    let made_of = match manifest.kind {
                        ToolKind::Alias => "the tool behind it takes",
                        _ => "its `impl.parameters` say",
                    };
                    return Err(format!(
                        "its `argSchema` is not what {made_of}; `toolcrib edit {}/{}@{}` and leave `argSchema` out",
                        home.slug, manifest.slug, manifest.version
                    ));
                }
                let spec = of_command(ToolSpec::clone(&tool.spec()), &manifest)?;
                (Arc::new(tool), spec)
            }
            Implementation::Function(name) => {
                let Some(function) = self.functions.get(&name) else {
                    return Err(not_registered(&name));
                };
                let digest = reading::content_digest(&manifest);
                let requires_approval = requires_approval(&manifest)?;
                let keywords = keywords(manifest.extra.get("keywords"));
                let mut spec = manifest
                    .into_spec(bundle, &mut SchemaPool::default())
                    .map_err(|error| error.message().to_owned())?;
                spec.keywords = keywords;
                spec.content_digest = Some(digest);
                let tool = Arc::new(FunctionRef::new(
                    spec,
                    Arc::clone(function),
                    requires_approval,
                ));
                let spec = ToolSpec::clone(&tool.spec());
                (tool, spec)
            }
            Implementation::Upstream { server, tool } => {
                let behind = self.upstreams.accepted(&server, &tool);
                // Noted also where it is not there: when it comes, or is another one, this tool is made again.
                let slug = behind.as_ref().map_or_else(
                    |_| Slug::from_wire(&WireName::fit(&tool)),
                    |behind| behind.spec().slug.clone(),
                );
                lookup(&format!("{server}/{slug}"));
                let behind = behind.map_err(|why| no_upstream(&server, &tool, &why))?;
                let digest = reading::content_digest(&manifest);
                let requires_approval = requires_approval(&manifest)?;
                let keywords = keywords(manifest.extra.get("keywords"));
                let mut spec = manifest
                    .into_spec(bundle, &mut SchemaPool::default())
                    .map_err(|error| error.message().to_owned())?;
                spec.keywords = keywords;
                // A file knows no more of what it does than the server's hints do: nothing that counts.
                spec.effects = Effects::UNKNOWN;
                let own = behind.spec();
                let own = own.content_digest.as_deref().unwrap_or_default();
                spec.content_digest = Some(format!("{digest} {own}"));
                let tool = Arc::new(FunctionRef::new(spec, Arc::new(behind), requires_approval));
                let spec = ToolSpec::clone(&tool.spec());
                (tool, spec)
            }
        };
        let mut run = StoredRun::new(tool, spec, home.is_imported);
        run.names = names;
        Ok(MadeTool {
            tool: Arc::new(run),
            unavailable,
        })
    }
}

/// The `requiresApproval` of a record, which was read without a problem.
fn requires_approval(manifest: &ToolManifest) -> Result<RequiresApproval, String> {
    reading::requires_approval(manifest)
        .map_err(|why| format!("its `requiresApproval` cannot be used: {why}"))
}

/// What a record adds to what its command publishes.
fn of_command(mut spec: ToolSpec, manifest: &ToolManifest) -> Result<ToolSpec, String> {
    spec.title = Some(manifest.display_name.clone()).filter(|title| !title.is_empty());
    spec.keywords
        .extend(keywords(manifest.extra.get("keywords")));
    if let Some(output) = &manifest.output_schema {
        let schema = Schema::output(output.clone()).map_err(|error| error.to_string())?;
        spec.output_schema = Some(Arc::new(schema));
    }
    if let Some(limits) = &manifest.limits {
        spec.limits = tighter(spec.limits, limits.call);
    }
    Ok(spec)
}

/// What a command says and what its record says, whichever is tighter.
fn tighter(own: LimitsPatch, record: LimitsPatch) -> LimitsPatch {
    fn least<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
        match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (one, none) => one.or(none),
        }
    }
    LimitsPatch {
        timeout_ms: least(own.timeout_ms, record.timeout_ms),
        max_input_bytes: least(own.max_input_bytes, record.max_input_bytes),
        max_output_bytes: least(own.max_output_bytes, record.max_output_bytes),
        max_calls_per_minute: least(own.max_calls_per_minute, record.max_calls_per_minute),
        max_concurrent: least(own.max_concurrent, record.max_concurrent),
    }
}

fn keywords(said: Option<&Value>) -> Vec<String> {
    let words = said.and_then(Value::as_array).into_iter().flatten();
    words.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// What lists show of a record that its head does not have. The rest of it is passed over.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Face {
    arg_schema: Option<Value>,
    output_schema: Option<Value>,
    #[serde(default)]
    limits: Option<ManifestLimits>,
    #[serde(default)]
    keywords: Value,
    #[serde(rename = "impl", default)]
    implementation: Value,
}

impl Face {
    /// Whether an HTTP tool's methods change nothing. What cannot be read is refused later.
    fn only_reads(&self) -> bool {
        let requests = match &self.implementation {
            Value::Array(requests) => requests.as_slice(),
            one => std::slice::from_ref(one),
        };
        requests.iter().all(|request| {
            let method = request.get("method").and_then(Value::as_str);
            let method = method.map_or(Ok(::http::Method::GET), str::parse);
            method.is_ok_and(|method| reads(&method))
        })
    }
}

impl Workshop {
    /// What lists and search show of a record before its tool is made, with why it never can be, if so.
    pub(super) fn head_spec(
        &self,
        record: &StoredTool,
        bundle: Slug,
        pool: &mut SchemaPool,
    ) -> (ToolSpec, Option<String>) {
        let head = &record.head;
        let mut fault = self.cannot_run(record);
        let mut note = |why: String| {
            fault.get_or_insert(why);
        };
        let face: Option<Face> = serde_json::from_slice(&record.bytes)
            .map_err(|error| note(error.to_string()))
            .ok();
        let only_reads = face.as_ref().is_some_and(Face::only_reads);
        let (arguments, output, limits, words) = match face {
            Some(face) => (
                face.arg_schema,
                face.output_schema,
                face.limits,
                face.keywords,
            ),
            None => (None, None, None, Value::Null),
        };
        let arguments = arguments.unwrap_or_else(|| json!({"type": "object", "properties": {}}));
        let input = Schema::stored(arguments).unwrap_or_else(|error| {
            note(format!("its `argSchema` cannot be used: {error}"));
            Schema::object().build().expect("a valid schema")
        });
        let output = output.and_then(|output| {
            Schema::output(output)
                .map_err(|error| note(format!("its `outputSchema` cannot be used: {error}")))
                .ok()
        });
        let name = head.name.clone();
        let name = name.unwrap_or_else(|| WireName::derive(&record.key.slug));
        let mut spec = ToolSpec::new(name, head.description.clone(), pool.share(input.into()));
        spec.slug = record.key.slug.clone();
        spec.bundle = bundle;
        spec.version = record.key.version.clone();
        spec.title = Some(head.display_name.clone()).filter(|title| !title.is_empty());
        spec.output_schema = output.map(|schema| pool.share(schema.into()));
        spec.effects = Effects::from_tags(head.tags.iter().map(String::as_str));
        if head.kind == ToolKind::Http {
            spec.effects = effects_of(spec.effects, only_reads);
        }
        spec.tags.clone_from(&head.tags);
        spec.traits.open_world = (head.kind == ToolKind::Http).then_some(true);
        spec.limits = limits.map(|limits| limits.call).unwrap_or_default();
        spec.keywords = keywords(Some(&words));
        (spec, fault)
    }

    /// Why a record's tool cannot run, as far as that is known without making it: a look at its `impl`.
    fn cannot_run(&self, record: &StoredTool) -> Option<String> {
        #[derive(Deserialize)]
        struct Behind {
            #[serde(rename = "impl", default)]
            implementation: Value,
        }
        let of = |implementation: &Value| match record.head.kind {
            ToolKind::Mcp => {
                let (server, tool) = reading::upstream_of(implementation)?;
                let why = self.upstreams.accepted(&server, &tool).err()?;
                Some(no_upstream(&server, &tool, &why))
            }
            _ => {
                let name = reading::function_of(implementation)?;
                (!self.functions.contains_key(name)).then(|| not_registered(name))
            }
        };
        match record.head.kind {
            ToolKind::Go | ToolKind::Rust | ToolKind::Mcp => {
                let behind: Behind = serde_json::from_slice(&record.bytes).ok()?;
                of(&behind.implementation)
            }
            ToolKind::Http | ToolKind::Command | ToolKind::Alias => None,
        }
    }
}

fn not_registered(function: &str) -> String {
    let function = shorten(function, 120);
    format!("the function `{function}` is not in this program")
}

fn no_upstream(server: &str, tool: &str, why: &str) -> String {
    format!(
        "it is the tool `{}` of the MCP server `{}`, and {why}",
        shorten(tool, 80),
        shorten(server, 80)
    )
}

/// What stands for a record of which nothing but its name can be read.
pub(super) fn damaged_spec(
    slug: &Slug,
    version: &crate::model::names::Version,
    bundle: Slug,
) -> ToolSpec {
    let schema = Schema::object().build().expect("a valid schema");
    let name = WireName::derive(slug);
    let mut spec = ToolSpec::new(name, "Its record cannot be read.", schema);
    spec.slug = slug.clone();
    spec.version = version.clone();
    spec.bundle = bundle;
    spec
}
