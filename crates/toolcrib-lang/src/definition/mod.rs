//! YAML command tools (S0) as their files say: [`Definition`], typed, checked and with every template compiled.
//!
//! A definition is plain data. [`read`] makes one from a file's text, or says everything that is wrong with it at once; what
//! it takes to run one is in `exec::command`, where files come from is in `source`.

pub(crate) mod approval;
mod codes;
pub mod fields;
mod fix;
pub(crate) mod hidden;
pub(crate) mod meaning;
mod parameter;
#[doc(hidden)]
pub mod problem;
mod programs;
mod read;
mod render;
pub(crate) mod schema;
pub(crate) mod shape;
mod step;
pub(crate) mod values;
pub(crate) mod yaml;

use std::ops::Range;
use std::time::Duration;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

pub use approval::{Required, RequiresApproval};
pub use codes::{CODES, ProblemCode, code};
pub(crate) use fix::fix_by;
pub use fix::{Fixed, fix};
pub use meaning::Meaning;
pub use parameter::{Parameter, Validation};

pub use crate::template::{Format, ParameterKind};

pub use problem::{Fix, Problem, Severity};
pub use programs::programs;
pub(crate) use read::field_value::At;
pub use render::{Part, one_line, render, render_within};
pub use schema::json_schema;
pub use step::{Action, OutputMode, Retry, Step, StreamTo};
pub use yaml::MAX_FILE_BYTES;

use crate::model::effects::Effects;
use crate::model::names::{Slug, Version, WireName};
use crate::sandbox::Level;
use crate::template::{Code, Text};
use problem::{Findings, SpannedProblem};

/// A YAML command tool.
#[derive(Debug, Clone)]
pub struct Definition {
    /// The wire name: `name`, or the file's stem.
    pub name: WireName,
    /// The name for people and URLs.
    pub slug: Slug,
    /// The version; `v1` when the file does not say.
    pub version: Version,
    /// What it does.
    pub description: String,
    /// What it runs.
    pub body: Body,
    /// What it takes, in the order of the file.
    pub parameters: Vec<Parameter>,
    /// The variables its programs get.
    pub environment: Environment,
    /// How models see it.
    pub schema_generation: SchemaGeneration,
    /// The wall around it.
    pub security: Security,
    /// Where it runs and keeps temporary files.
    pub paths: FilePaths,
    /// How it is found.
    pub metadata: Metadata,
    /// What may be used, and what is done at the end.
    pub resources: Resources,
    /// How it talks to a person, if it does.
    pub interactive: Option<Interactive>,
    /// Its own tests.
    pub tests: Vec<TestCase>,
    /// What changed from version to version.
    pub changelog: Vec<ChangelogEntry>,
    /// Categories, and the security tags `read`, `write`, `run`.
    pub tags: Vec<String>,
    /// Whether a person must agree.
    pub requires_approval: RequiresApproval,
    /// Where it works; empty: everywhere.
    pub platforms: Vec<Platform>,
    /// The smallest of its timeouts.
    pub timeout: Option<Duration>,
    /// Whether a failure is a success with a note.
    pub ignore_errors: bool,
    /// What its command reads (`input`).
    pub input: Option<Text>,
    /// SHA-256 of the file's bytes, in hex.
    pub digest: String,
    /// What the file says, without comments, layout, quotes and order: what trust is pinned to.
    pub meaning: Meaning,
    /// Where the tools that it names are named, in the order of [`Definition::uses`].
    pub uses_at: Vec<UseAt>,
    /// Where the file says what depends on the machine it runs on.
    pub places: Places,
}

/// Where a file names places and sizes that a machine may not have, in bytes of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    /// The value of `working-directory`.
    pub working_directory: Range<usize>,
    /// The entries of `required-permissions`.
    pub permissions: Vec<Range<usize>>,
    /// The values of `buffer-limit` in steps that run programs, and what they come to.
    pub buffer_limits: Vec<(u64, Range<usize>)>,
}

impl Places {
    /// Puts every place where it is in another text.
    pub fn map(&mut self, place: impl Fn(&Range<usize>) -> Range<usize>) {
        let limits = self.buffer_limits.iter_mut().map(|(_, span)| span);
        let own = std::iter::once(&mut self.working_directory);
        for span in own.chain(&mut self.permissions).chain(limits) {
            *span = place(span);
        }
    }
}

/// Where a file names another tool, in bytes of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UseAt {
    /// The value of `use-tool` or `base-tool`.
    pub tool: Range<usize>,
    /// The key `with` or `default-parameters`; that of the tool if there is none.
    pub arguments: Range<usize>,
}

/// Something wrong with how a tool uses another one, which only shows beside the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkFault {
    /// The problem's code.
    pub code: &'static str,
    /// Where, in bytes of the file.
    pub span: Range<usize>,
    /// What, and why.
    pub message: String,
}

impl LinkFault {
    /// The fault as a problem of the file with these bytes.
    pub fn problem(&self, bytes: &[u8]) -> Problem {
        let end = self.span.start.min(bytes.len());
        let before = &bytes[..end];
        let line_start = before.iter().rposition(|byte| *byte == b'\n');
        let line_start = line_start.map_or(0, |newline| newline + 1);
        let in_line = String::from_utf8_lossy(&before[line_start..]);
        Problem {
            code: self.code,
            severity: Severity::Error,
            span: self.span.clone(),
            line: before.iter().filter(|byte| **byte == b'\n').count() + 1,
            column: in_line.chars().filter(|c| *c != '\u{feff}').count() + 1,
            message: self.message.clone(),
            help: None,
            fix: None,
        }
    }
}

/// What a tool runs.
#[derive(Debug, Clone)]
pub enum Body {
    /// One command.
    Command(Program),
    /// One command, chosen by platform (`commands`); the most specific first in force: exact system, `unix`, `default`.
    Commands {
        /// For any platform without a specific one.
        default: Option<Program>,
        /// By platform.
        platforms: Vec<(Platform, Program)>,
    },
    /// Several, as a graph.
    Steps(Vec<Step>),
    /// Another tool with preset arguments.
    Alias {
        /// The other tool.
        base: String,
        /// Preset arguments, `fixed-parameters` and `default-parameters`; every text in a value is a template.
        presets: Vec<(String, JsonTemplate)>,
        /// The names of those that a caller may give another value: `default-parameters`.
        defaults: Vec<String>,
    },
}

/// A program's text and who runs it.
#[derive(Debug, Clone)]
pub struct Program {
    /// The compiled text.
    pub code: Code,
    /// The text as the file has it.
    pub source: String,
}

/// JSON whose texts are templates. A text that is one placeholder and nothing else stands for the value itself, type and all.
#[derive(Debug, Clone)]
pub enum JsonTemplate {
    /// Null, a boolean or a number.
    Plain(Value),
    /// A text.
    Text(Text),
    /// A list.
    Array(Vec<JsonTemplate>),
    /// An object.
    Object(Vec<(String, JsonTemplate)>),
}

/// A system that tools are written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Platform {
    /// Windows.
    Windows,
    /// Linux.
    Linux,
    /// macOS.
    Macos,
    /// Linux or macOS.
    Unix,
}

impl Platform {
    /// The system this is.
    #[doc(hidden)]
    pub const HERE: Platform = if cfg!(target_os = "windows") {
        Platform::Windows
    } else if cfg!(target_os = "macos") {
        Platform::Macos
    } else {
        Platform::Linux
    };

    /// Whether this system is, or is one of, it.
    #[doc(hidden)]
    pub fn is_here(self) -> bool {
        self == Platform::HERE || (self == Platform::Unix && Platform::HERE != Platform::Windows)
    }

    /// Its name for people.
    #[doc(hidden)]
    pub fn name(self) -> &'static str {
        match self {
            Platform::Windows => "Windows",
            Platform::Linux => "Linux",
            Platform::Macos => "macOS",
            Platform::Unix => "Unix",
        }
    }
}

/// `environment`.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// Variables, in the order of the file.
    pub variables: Vec<(String, Text)>,
    /// Whether the parent's harmless variables are passed on.
    pub inherit: bool,
}

/// `function-calling.schema-generation`.
#[derive(Debug, Clone)]
pub struct SchemaGeneration {
    /// What JSON Schema type each parameter type is published as, where that differs.
    pub parameter_mapping: Vec<(ParameterKind, String)>,
    /// Whether descriptions are published.
    pub include_descriptions: bool,
    /// Whether defaults are published.
    pub include_defaults: bool,
    /// Whether an example call is made up from the parameters' examples.
    pub example_generation: bool,
}

impl Default for SchemaGeneration {
    fn default() -> Self {
        SchemaGeneration {
            parameter_mapping: Vec::new(),
            include_descriptions: true,
            include_defaults: true,
            example_generation: true,
        }
    }
}

/// `security`.
#[derive(Debug, Clone, Default)]
pub struct Security {
    /// Whose rights it has.
    pub privilege: Privilege,
    /// How strong the wall is; `None`: not said, which means `process`.
    pub isolation: Option<Level>,
    /// What it may reach beyond the workspace.
    pub permissions: Vec<Permission>,
    /// Why it needs that, shown when a person is asked.
    pub justification: Option<String>,
}

/// `security.execution-privilege`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Privilege {
    /// The caller's.
    #[default]
    SameAsUser,
    /// Fewer than the caller's.
    Reduced,
    /// Root's, by way of `sudo -n`.
    Elevated,
}

/// One entry of `security.required-permissions`.
#[derive(Debug, Clone)]
pub enum Permission {
    /// `filesystem:read:PATH`
    Read(Text),
    /// `filesystem:write:PATH`
    Write(Text),
    /// `network:external:HOST`
    Network(Text),
}

/// `file-paths`, and the top-level `working-directory`.
#[derive(Debug, Clone)]
pub struct FilePaths {
    /// Whether values of parameters that look like paths are put in this platform's form (`normalize`).
    pub normalize: bool,
    /// Where commands start.
    pub working_directory: Option<Text>,
    /// Where `{TEMP_DIR}` is; beneath `{TEMP}`.
    pub temp_directory: Option<Text>,
    /// `cross-platform.windows-separator`
    pub windows_separator: char,
    /// `cross-platform.unix-separator`
    pub unix_separator: char,
    /// `cross-platform.auto-convert`
    pub auto_convert: bool,
}

impl Default for FilePaths {
    fn default() -> Self {
        FilePaths {
            normalize: false,
            working_directory: None,
            temp_directory: None,
            windows_separator: '\\',
            unix_separator: '/',
            auto_convert: false,
        }
    }
}

/// `metadata`.
#[derive(Debug, Clone, Default)]
pub struct Metadata {
    /// The category.
    pub category: Option<String>,
    /// Its part.
    pub subcategory: Option<String>,
    /// More tags; they count for search only, never for risk.
    pub tags: Vec<String>,
    /// More words it is found by.
    pub search_keywords: Vec<String>,
}

/// `resources`.
#[derive(Debug, Clone, Default)]
pub struct Resources {
    /// Bytes of memory of all its processes.
    pub max_memory: Option<u64>,
    /// Cleanup steps, in the order of the file.
    pub cleanup: Vec<Cleanup>,
}

/// One entry of `resources.cleanup`.
#[derive(Debug, Clone)]
// A tool has one or two of them.
#[expect(clippy::large_enum_variant)]
pub enum Cleanup {
    /// `delete-temp-files`
    DeleteTempFiles(bool),
    /// `final-command`: bash.
    FinalCommand(Program),
}

/// `interactive: true` and `interactive-options`.
#[derive(Debug, Clone)]
pub struct Interactive {
    /// How long to wait for a person's input.
    pub timeout: Duration,
    /// The text that is sent when no one typed anything.
    pub default_response: Option<String>,
}

/// One entry of `tests`.
#[derive(Debug, Clone)]
pub struct TestCase {
    /// Its name.
    pub name: String,
    /// What it shows.
    pub description: Option<String>,
    /// The arguments of the call.
    pub parameters: Vec<(String, Value)>,
    /// Files that are there before the call: paths in the throw-away workspace, and their texts.
    pub files: Vec<(String, String)>,
    /// A directory beside the tool's file whose files are copied there.
    pub files_from: Option<String>,
    /// Bash commands that are run before the call.
    pub setup: Vec<Program>,
    /// What must come of it.
    pub expected: Expected,
    /// Bash commands that are run at the end, in the throw-away workspace.
    pub cleanup: Vec<Program>,
    /// Where it is in the file: line and column, from 1.
    pub at: (usize, usize),
}

/// `tests[].expected`.
#[derive(Debug, Clone, Default)]
pub struct Expected {
    /// The exit code.
    pub exit_code: Option<i64>,
    /// The whole output, but for a line end at its end.
    pub output: Option<String>,
    /// Texts that the output contains.
    pub output_contains: Vec<String>,
    /// A pattern that the output matches.
    pub output_matches: Vec<String>,
    /// Files that exist afterwards, relative to the workspace.
    pub file_exists: Vec<String>,
    /// Texts that files contain afterwards, by path relative to the workspace.
    pub file_contains: Vec<(String, Vec<String>)>,
    /// The code of the error that the call must fail with, or a part of its message.
    pub error: Option<String>,
    /// The value of the call, in whole or, for an object, the fields that are named.
    pub value: Option<Value>,
}

/// One entry of `changelog`.
#[derive(Debug, Clone)]
pub struct ChangelogEntry {
    /// The version.
    pub version: String,
    /// What changed.
    pub changes: String,
}

/// What came of reading a file.
#[derive(Debug)]
pub struct Reading {
    /// The tool, unless a problem is an error.
    pub definition: Option<Definition>,
    /// Everything that is wrong or doubtful, in the order of the file.
    pub problems: Vec<Problem>,
}

impl Definition {
    /// What its tags say that it does. Those of tools that it uses come on top.
    pub fn declared_effects(&self) -> Effects {
        Effects::from_tags(self.tags.iter().map(String::as_str))
    }

    /// The other tools that it names: `use-tool` of its steps, `base-tool` of an alias.
    pub fn uses(&self) -> Vec<&str> {
        match &self.body {
            Body::Alias { base, .. } => vec![base],
            Body::Steps(steps) => steps
                .iter()
                .filter_map(|step| match &step.action {
                    Action::UseTool { tool, .. } => Some(tool.as_str()),
                    Action::Run(_) => None,
                })
                .collect(),
            Body::Command(_) | Body::Commands { .. } => Vec::new(),
        }
    }
}

impl Reading {
    /// Whether a problem is an error, so there is no definition.
    pub fn is_refused(&self) -> bool {
        self.definition.is_none()
    }
}

/// Reads a file's bytes; `stem` is its name without `.yaml`, the tool's name when the file does not say one.
///
/// ```
/// use toolcrib::definition::read;
/// let reading = read(b"description: Says hello\ntags: [read]\nbahs: echo hello\n", "hello");
/// assert!(reading.definition.is_none());
/// assert_eq!(reading.problems[0].help.as_deref(), Some("did you mean `bash`?"));
/// ```
pub fn read(bytes: &[u8], stem: &str) -> Reading {
    look(bytes, stem, false)
}

/// Reads what a record of the store says, as a file: its texts may have hidden characters, which no one gets to read.
#[doc(hidden)]
pub fn read_record(bytes: &[u8], stem: &str) -> Reading {
    look(bytes, stem, true)
}

fn look(bytes: &[u8], stem: &str, is_record: bool) -> Reading {
    let decoded = match yaml::decode(bytes) {
        Ok(decoded) => decoded,
        Err(found) => {
            let readable = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
            return Reading {
                definition: None,
                problems: problem::placed(vec![*found], readable, 0),
            };
        }
    };
    let mut found = Findings::new(decoded.text);
    found.is_record = is_record;
    let mut definition = read_text(bytes, stem, &mut found, MAX_REPAIRS);
    for at in definition.iter_mut().flat_map(|read| &mut read.uses_at) {
        for span in [&mut at.tool, &mut at.arguments] {
            *span = span.start + decoded.skipped..span.end + decoded.skipped;
        }
    }
    if let Some(read) = &mut definition {
        let skipped = decoded.skipped;
        read.places
            .map(|span| span.start + skipped..span.end + skipped);
    }
    Reading {
        definition,
        problems: problem::placed(found.into_list(), decoded.text, decoded.skipped),
    }
}

/// What becomes of a number that JSON would write in another way, as `1.50`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub enum OddNumbers {
    /// A text.
    Texts,
    /// A number.
    Numbers,
}

/// What a YAML file says, as JSON; none if it cannot be read.
#[doc(hidden)]
pub fn as_json(bytes: &[u8], odd: OddNumbers) -> Option<Value> {
    let decoded = yaml::decode(bytes).ok()?;
    let mut found = Findings::new(decoded.text);
    let parsed = yaml::parse(&mut found);
    let root = parsed.root.filter(|_| parsed.whole)?;
    Some(match odd {
        OddNumbers::Texts => as_written(&root),
        OddNumbers::Numbers => values::json(&root),
    })
}

fn as_written(node: &yaml::Node<'_>) -> Value {
    match &node.content {
        yaml::Content::Scalar(scalar) => match values::json_scalar(scalar) {
            Value::Number(number) if number.to_string() != scalar.text => {
                Value::String(scalar.text.clone().into_owned())
            }
            value => value,
        },
        yaml::Content::List(items) => items.iter().map(as_written).collect(),
        yaml::Content::Map(entries) => entries
            .iter()
            .map(|entry| {
                (
                    entry.key.text.clone().into_owned(),
                    as_written(&entry.value),
                )
            })
            .collect(),
        yaml::Content::Refused => Value::Null,
    }
}

/// How many values without quotes are read as if they had them, to find what comes after.
const MAX_REPAIRS: usize = 8;

fn read_text(
    bytes: &[u8],
    stem: &str,
    found: &mut Findings<'_>,
    repairs: usize,
) -> Option<Definition> {
    yaml::odd_characters(found);
    let parsed = yaml::parse(found);
    if !parsed.whole
        && repairs > 0
        && let Some(repair) = found.repair()
    {
        let repaired = repair.applied(found.text);
        let mut beyond = Findings::new(&repaired);
        read_text(bytes, stem, &mut beyond, repairs - 1);
        for one in beyond.into_list() {
            found.push(one.before(&repair));
        }
        return None;
    }
    let root = parsed.root.filter(|root| !root.is_empty());
    let Some(root) = root else {
        if parsed.whole {
            found.push(
                SpannedProblem::error("empty-file", 0..0, "the file is empty").help(
                    "a tool needs a `description` and something to run, as in `bash: echo hello`",
                ),
            );
        }
        return None;
    };
    shape::check(&root, &fields::FORMAT, "", found);
    hidden::check(&root, found);
    if !parsed.whole || root.map().is_none() {
        return None;
    }
    let digest = crate::model::names::hex(&Sha256::digest(bytes));
    let mut definition = read::definition(&root, stem, digest, found)?;
    definition.meaning = Meaning::of(&root, &fields::FORMAT);
    Some(definition)
}
