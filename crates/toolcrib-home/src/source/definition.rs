//! What a file of a tool says, by its kind: [`FileDefinition`].

use std::sync::Arc;

use crate::definition::{self, Definition, LinkFault, Meaning, Problem, TestCase, UseAt};
use crate::manifest::{self, HttpDefinition};
use crate::model::names::{Slug, Version, WireName};
use crate::secret::SecretEntry;

/// The kinds of files, by how their names end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// `x.yaml` or `x.yml`: a command.
    Yaml,
    /// `x.json`: HTTP requests.
    Json,
}

/// A tool as its file says.
#[derive(Debug, Clone)]
pub enum FileDefinition {
    /// A YAML tool, which runs commands.
    Command(Arc<Definition>),
    /// An HTTP tool, which sends requests.
    Http(Arc<HttpDefinition>),
}

/// What came of reading a file of either kind.
#[derive(Debug)]
pub struct FileReading {
    /// The tool, unless a problem is an error.
    pub definition: Option<FileDefinition>,
    /// Everything that is wrong or doubtful, in the order of the file.
    pub problems: Vec<Problem>,
}

impl FileKind {
    /// The kind of a file of this name, and the name without its end; none if it is not a tool's.
    pub fn of(name: &str) -> Option<(FileKind, &str)> {
        let yaml = [".yaml", ".yml"]
            .iter()
            .find_map(|end| name.strip_suffix(end))
            .map(|stem| (FileKind::Yaml, stem));
        yaml.or_else(|| {
            name.strip_suffix(".json")
                .map(|stem| (FileKind::Json, stem))
        })
    }

    /// The kind that a file would be of if its name ended in the right way (`x.YML`, `x.YAML`, `x.jsonc`), and the name
    /// without its end.
    pub fn misnamed(name: &str) -> Option<(FileKind, &str)> {
        let (stem, end) = name.rsplit_once('.')?;
        let kind = match end.to_ascii_lowercase().as_str() {
            "yaml" | "yml" => FileKind::Yaml,
            "json" | "jsonc" | "json5" => FileKind::Json,
            _ => return None,
        };
        (FileKind::of(name).is_none()).then_some((kind, stem))
    }

    /// How names of this kind end, with the dot.
    pub fn end(self) -> &'static str {
        match self {
            FileKind::Yaml => ".yaml",
            FileKind::Json => ".json",
        }
    }

    /// Reads a file of this kind, as thoroughly as `toolcrib check` does.
    pub fn read(self, bytes: &[u8], stem: &str) -> FileReading {
        match self {
            FileKind::Yaml => FileReading::from(definition::read(bytes, stem)),
            FileKind::Json => FileReading::from(manifest::read(bytes, stem)),
        }
    }

    /// Reads a file of this kind as far as it takes to load it.
    pub(super) fn load(self, bytes: &[u8], stem: &str) -> FileReading {
        match self {
            FileKind::Yaml => FileReading::from(definition::read(bytes, stem)),
            FileKind::Json => FileReading::from(manifest::load(bytes, stem)),
        }
    }

    /// Applies every safe fix to a file of this kind.
    pub fn fix(self, bytes: &[u8], stem: &str) -> definition::Fixed<FileReading> {
        fn converted<R: Into<FileReading>>(
            fixed: definition::Fixed<R>,
        ) -> definition::Fixed<FileReading> {
            definition::Fixed {
                bytes: fixed.bytes,
                done: fixed.done,
                reading: fixed.reading.into(),
            }
        }
        match self {
            FileKind::Yaml => converted(definition::fix(bytes, stem)),
            FileKind::Json => converted(manifest::fix(bytes, stem)),
        }
    }
}

impl From<definition::Reading> for FileReading {
    fn from(reading: definition::Reading) -> Self {
        let definition = reading.definition.map(Arc::new);
        FileReading {
            definition: definition.map(FileDefinition::Command),
            problems: reading.problems,
        }
    }
}

impl From<manifest::Reading> for FileReading {
    fn from(reading: manifest::Reading) -> Self {
        let definition = reading.definition.map(Arc::new);
        FileReading {
            definition: definition.map(FileDefinition::Http),
            problems: reading.problems,
        }
    }
}

impl FileDefinition {
    /// The YAML tool, if it is one.
    pub fn command(&self) -> Option<&Arc<Definition>> {
        match self {
            FileDefinition::Command(definition) => Some(definition),
            FileDefinition::Http(_) => None,
        }
    }

    /// The HTTP tool, if it is one.
    pub fn http(&self) -> Option<&Arc<HttpDefinition>> {
        match self {
            FileDefinition::Command(_) => None,
            FileDefinition::Http(definition) => Some(definition),
        }
    }

    /// The wire name.
    pub fn name(&self) -> &WireName {
        match self {
            FileDefinition::Command(definition) => &definition.name,
            FileDefinition::Http(definition) => &definition.name,
        }
    }

    /// The name for people and URLs.
    pub fn slug(&self) -> &Slug {
        match self {
            FileDefinition::Command(definition) => &definition.slug,
            FileDefinition::Http(definition) => &definition.slug,
        }
    }

    /// The version.
    pub fn version(&self) -> &Version {
        match self {
            FileDefinition::Command(definition) => &definition.version,
            FileDefinition::Http(definition) => &definition.version,
        }
    }

    /// What it does.
    pub fn description(&self) -> &str {
        match self {
            FileDefinition::Command(definition) => &definition.description,
            FileDefinition::Http(definition) => &definition.description,
        }
    }

    /// SHA-256 of the file's bytes, in hex.
    pub fn digest(&self) -> &str {
        match self {
            FileDefinition::Command(definition) => &definition.digest,
            FileDefinition::Http(definition) => &definition.digest,
        }
    }

    /// What the file says, without comments and layout.
    pub fn meaning(&self) -> &Meaning {
        match self {
            FileDefinition::Command(definition) => &definition.meaning,
            FileDefinition::Http(definition) => &definition.meaning,
        }
    }

    /// Its own tests, in the order of the file.
    pub fn tests(&self) -> Vec<&TestCase> {
        match self {
            FileDefinition::Command(definition) => definition.tests.iter().collect(),
            FileDefinition::Http(definition) => {
                let tests = definition.tests.iter();
                tests.map(|test| &test.case).collect()
            }
        }
    }

    /// The other tools that it names. HTTP tools name none.
    pub fn uses(&self) -> Vec<&str> {
        match self {
            FileDefinition::Command(definition) => definition.uses(),
            FileDefinition::Http(_) => Vec::new(),
        }
    }

    /// Where it names the tool of this number.
    pub(super) fn use_at(&self, number: usize) -> UseAt {
        let at = self
            .command()
            .and_then(|definition| definition.uses_at.get(number));
        at.cloned().unwrap_or_default()
    }
}

/// The arguments of a tool that have the name of a secret: the two are apart, so that an argument can never stand for a secret.
pub fn named_like_secrets(definition: &HttpDefinition, secrets: &[SecretEntry]) -> Vec<LinkFault> {
    let arguments = definition.arguments_at.iter();
    let is_secret = |name: &str| secrets.iter().any(|secret| secret.name.as_str() == name);
    let same = arguments.filter(|(argument, _)| is_secret(argument));
    same.map(|(argument, span)| LinkFault {
        code: "argument-is-secret",
        span: span.clone(),
        message: format!(
            "the argument `{argument}` has the name of a secret that is kept here, and an argument can never stand for a secret: rename the argument, or the secret"
        ),
    })
    .collect()
}
