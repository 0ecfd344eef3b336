//! The compiled-in tools, one file each: spec, arguments, body and tests together.

mod apply_patch;
mod delete_file;
mod edit_file;
mod format_code;
mod git;
mod glob_files;
mod install_package;
mod list_directory;
mod move_file;
mod programs;
mod project;
mod query_database;
mod read_file;
mod reference;
mod run_code;
mod run_tests;
mod search_code;
mod shell;
mod tree;
mod web_fetch;
mod web_search;
mod write_file;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use crate::process::{NetworkAccess, SandboxOptions};
pub use git::GitSettings;
#[doc(hidden)]
pub use install_package::PackageSources;
pub use list_directory::ListOptions;
pub use programs::SandboxSettings;
pub use query_database::{Database, DatabaseFault, DatabaseSettings, Encryption};
pub use read_file::ReadOptions;
pub use reference::reference;
pub use search_code::{EmbeddingKind, EmbeddingSettings};
pub use web_search::{SearchProvider, SearchSettings};

use crate::egress::{Egress, EgressOptions};
use crate::model::JsonObject;
pub use crate::model::diff::unified as unified_diff;
use crate::model::effects::Effects;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::names::{Slug, WireName};
use crate::model::outcome::ToolOutput;
use crate::process::Runner;
use crate::registry::{RegisterError, Registration, Registry, Source};
use crate::schema::{Fault, Schema, input_schema_of, output_schema_of};
use crate::secret::SecretStore;
use crate::spec::ToolSpec;
use crate::tool::Tool;
use apply_patch::ApplyPatch;
use delete_file::DeleteFile;
use edit_file::EditFile;
use glob_files::GlobFiles;
use list_directory::ListDirectory;
use move_file::MoveFile;
use read_file::ReadFile;
use run_code::RunCode;
#[cfg(feature = "testing")]
pub(crate) use search_code::searches_for;
use shell::Shell;
use web_fetch::WebFetch;
#[cfg(feature = "testing")]
pub(crate) use web_fetch::page_as_markdown;
use web_search::WebSearch;
use write_file::WriteFile;

/// Tools of one topic, each with why it cannot be used here, if it cannot.
type Family = Vec<(Arc<dyn Tool>, Option<String>)>;

/// What can be set about the built-in tools.
#[derive(Debug, Clone, Default)]
pub struct BuiltinOptions {
    /// For `read_file` and `search_code`.
    pub read: ReadOptions,
    /// For `list_directory`.
    pub list: ListOptions,
    /// For `shell` and `run_code`.
    pub sandbox: SandboxSettings,
    /// The way out, for `web_fetch` and `web_search`; one that lists no host if not said, so that a person is asked about every one.
    pub egress: Option<Egress>,
    /// Whom `web_search` asks; without it the tool cannot be called.
    pub search: Option<SearchSettings>,
    /// The endpoint that puts what `search_code` finds by meaning in order, if there is one.
    pub embeddings: Option<EmbeddingSettings>,
    /// Where the keys of a search provider and of an embedding endpoint are.
    pub secrets: Option<SecretStore>,
    /// For the tools of git.
    pub git: GitSettings,
    /// The databases that `query_database` knows by name.
    pub databases: DatabaseSettings,
    /// Why there is no workspace, which file tools need.
    pub no_workspace: Option<String>,
    /// Why there is no network, which `web_fetch` and `web_search` need, where there is none.
    pub no_network: Option<String>,
}

/// Adds the built-in tools to a [`Registry`].
pub trait RegisterBuiltins {
    /// Adds the built-in tools (S3: `RegisterBuiltinTools`).
    fn register_builtins(&self) -> Result<(), RegisterError> {
        self.register_builtins_with(BuiltinOptions::default())
    }

    /// Adds the built-in tools, some of them set up otherwise.
    fn register_builtins_with(&self, options: BuiltinOptions) -> Result<(), RegisterError>;
}

impl RegisterBuiltins for Registry {
    fn register_builtins_with(&self, options: BuiltinOptions) -> Result<(), RegisterError> {
        let no_workspace = match self.workspace() {
            Some(_) => None,
            None => Some(
                options
                    .no_workspace
                    .unwrap_or_else(|| "there is no workspace".to_owned()),
            ),
        };
        let runner = Arc::new(Runner::new(options.sandbox.options.clone()));
        let egress = options.egress.unwrap_or_else(|| {
            Egress::new(EgressOptions::default()).expect("nothing is set that could be wrong")
        });
        let embedder = options
            .embeddings
            .as_ref()
            .filter(|_| options.no_network.is_none())
            .map(|settings| {
                search_code::Embedder::new(settings, options.secrets.clone(), egress.clone())
            });
        let search_code = search_code::tools(&options.read, embedder);
        let on_files: [Arc<dyn Tool>; 10] = [
            Arc::new(ListDirectory::new(options.list)),
            Arc::new(GlobFiles::new()),
            Arc::new(EditFile::new(&options.read)),
            Arc::new(ApplyPatch::new(&options.read)),
            Arc::new(ReadFile::new(options.read)),
            Arc::new(WriteFile::new()),
            Arc::new(DeleteFile::new()),
            Arc::new(MoveFile::new()),
            Arc::new(Shell::new(&options.sandbox, Arc::clone(&runner))),
            Arc::new(RunCode::new(&options.sandbox, Arc::clone(&runner))),
        ];
        let mut tools: Family = on_files.map(|tool| (tool, no_workspace.clone())).into();
        let mut on_projects = git::tools(&options.git, options.secrets.as_ref(), &runner);
        on_projects.extend(search_code);
        on_projects.extend(run_tests::tools(&options.sandbox, &runner));
        on_projects.extend(format_code::tools(&options.sandbox, &runner));
        on_projects.extend(install_package::tools(&options.sandbox, &runner));
        tools.extend(
            on_projects
                .into_iter()
                .map(|(tool, unavailable)| (tool, no_workspace.clone().or(unavailable))),
        );
        // A database by name needs no workspace.
        tools.extend(query_database::tools(
            options.databases,
            options.secrets.as_ref(),
            &egress,
        ));
        let search = WebSearch::new(options.search.as_ref(), options.secrets, egress.clone());
        let no_provider = options.no_network.clone().or(search.unavailable());
        tools.push((Arc::new(WebFetch::new(egress)), options.no_network));
        tools.push((Arc::new(search), no_provider));
        let unavailable = |(tool, unavailable)| {
            (
                tool,
                Registration {
                    unavailable,
                    ..Registration::default()
                },
            )
        };
        self.insert_all(Source::BuiltIn, tools.into_iter().map(unavailable))
    }
}

/// The spec of a built-in: one of the bundle `core`, with schemas that are ours and therefore valid.
#[doc(hidden)]
pub fn core_spec(
    name: &str,
    title: &str,
    description: &str,
    effects: Effects,
    input: Value,
    output: Value,
) -> ToolSpec {
    let schema = |schema| Schema::stored(schema).expect("a valid schema");
    core(
        name,
        title,
        description,
        effects,
        [schema(input), schema(output)],
    )
}

/// The spec of a built-in whose arguments are the type `A` and whose result is the type `R`: the schemas are theirs, and the
/// comments on their fields are the descriptions that models read.
#[doc(hidden)]
pub fn typed_spec<A: JsonSchema, R: JsonSchema>(
    name: &str,
    title: &str,
    description: &str,
    effects: Effects,
) -> ToolSpec {
    let input = input_schema_of::<A>().expect("a valid schema");
    let output = output_schema_of::<R>().expect("a valid schema");
    let mut output = output.as_value().clone();
    left_out(&mut output);
    let output = Schema::stored(output).expect("a valid schema");
    core(name, title, description, effects, [input, output])
}

/// Fields of results that may be missing are left out, so they are never null.
fn left_out(schema: &mut Value) {
    let required = schema.get("required").cloned().unwrap_or_default();
    if let Some(fields) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        for (name, field) in fields {
            let is_required = required
                .as_array()
                .is_some_and(|names| names.contains(&json!(name)));
            if !is_required && let Some(Value::Array(kinds)) = field.get_mut("type") {
                kinds.retain(|kind| kind != "null");
                if let [kind] = kinds.as_slice() {
                    field["type"] = kind.clone();
                }
            }
            left_out(field);
        }
    }
    if let Some(items) = schema.get_mut("items") {
        left_out(items);
    }
}

fn core(
    name: &str,
    title: &str,
    description: &str,
    effects: Effects,
    [input, output]: [Schema; 2],
) -> ToolSpec {
    let name = WireName::parse(name).expect("a valid name");
    let mut spec = ToolSpec::new(name, description, input);
    spec.output_schema = Some(Arc::new(output));
    spec.bundle = Slug::parse("core").expect("a valid slug");
    spec.title = Some(title.to_owned());
    spec.effects = effects;
    spec
}

// How contents of files are given and returned. Without a comment for models: the parameters have one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
enum Encoding {
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    #[serde(rename = "base64")]
    Base64,
}

/// Words that people use for what a tool does and that neither its name nor its description has. They are for searches; models do not read them.
fn keywords(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The output of a built-in whose result is a type, with the text that people and models read.
#[doc(hidden)]
pub fn typed_output<R: Serialize>(result: &R, text: String) -> Result<ToolOutput, ToolError> {
    Ok(typed_value(result)?.with_text(text))
}

/// Such an output without a text.
fn typed_value<R: Serialize>(result: &R) -> Result<ToolOutput, ToolError> {
    let value = serde_json::to_value(result).map_err(|error| {
        let message = format!("the result cannot be written as JSON: {error}");
        ToolError::new(ErrorCode::InvalidOutput, message)
    })?;
    Ok(ToolOutput::value(value))
}

/// Reads the arguments of a built-in; its schema has let through only what its type takes.
#[doc(hidden)]
pub fn arguments<A: DeserializeOwned>(args: JsonObject) -> Result<A, ToolError> {
    serde_json::from_value(args.into())
        .map_err(|error| ToolError::new(ErrorCode::InvalidArguments, error.to_string()))
}

/// A fault the schema cannot express, told like those it can.
#[doc(hidden)]
pub fn invalid(tool: &str, pointer: &str, message: &str) -> ToolError {
    let text = format!("invalid arguments for `{tool}`: `{pointer}` {message}");
    let fault = Fault {
        pointer: pointer.to_owned(),
        message: message.to_owned(),
    };
    ToolError::new(ErrorCode::InvalidArguments, text).with_detail("faults", json!([fault]))
}
