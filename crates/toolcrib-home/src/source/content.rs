//! What a file says: [`Content`], its bytes read and checked.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::definition::{FileDefinition, FileKind};
use super::files::{MAX_TOTAL, ToolsDir};
use super::scope::{Scope, ScopeDir};
use super::survey::ToRead;
use crate::definition::{Problem, Severity};
use crate::model::names::{WireName, hex};
use crate::model::text;

/// From how many files on they are read by several threads.
const MANY: usize = 64;

/// A file of a tool.
#[derive(Debug)]
pub(super) enum Content {
    /// It could not be read, and why.
    Unreadable(String),
    /// It was read.
    Read {
        /// SHA-256 of its bytes, in hex.
        digest: String,
        /// Its bytes, if someone has to trust them first.
        bytes: Option<Arc<[u8]>>,
        /// The tool, unless a problem is an error.
        definition: Option<FileDefinition>,
        /// Errors and warnings.
        problems: Vec<Problem>,
        /// The name it has, or would have if it were valid.
        name: WireName,
    },
}

impl Content {
    fn of(read: Result<Vec<u8>, String>, file: &str, scope: Scope) -> Self {
        let bytes = match read {
            Ok(bytes) => bytes,
            Err(why) => return Content::Unreadable(why),
        };
        let (kind, stem) = FileKind::of(file).unwrap_or((FileKind::Yaml, file));
        // One file that brings the reader down must not take the others with it.
        let Ok(reading) = std::panic::catch_unwind(|| kind.load(&bytes, stem)) else {
            return Content::Unreadable("reading it failed, by a bug in Toolcrib".to_owned());
        };
        let definition = reading.definition;
        Content::Read {
            digest: hex(&Sha256::digest(&bytes)),
            name: match &definition {
                Some(definition) => definition.name().clone(),
                None => likely_name(&bytes, stem, kind),
            },
            bytes: (scope == Scope::Local).then(|| bytes.into()),
            definition,
            problems: reading.problems,
        }
    }

    /// Whether it is a tool.
    pub(super) fn is_whole(&self) -> bool {
        self.definition().is_some()
    }

    pub(super) fn is_same(&self, other: &Content) -> bool {
        match (self, other) {
            (Content::Unreadable(why), Content::Unreadable(other)) => why == other,
            (Content::Read { digest, .. }, Content::Read { digest: other, .. }) => digest == other,
            (Content::Unreadable(_), Content::Read { .. })
            | (Content::Read { .. }, Content::Unreadable(_)) => false,
        }
    }

    pub(super) fn definition(&self) -> Option<&FileDefinition> {
        match self {
            Content::Unreadable(_) => None,
            Content::Read { definition, .. } => definition.as_ref(),
        }
    }

    pub(super) fn digest(&self) -> Option<&str> {
        match self {
            Content::Unreadable(_) => None,
            Content::Read { digest, .. } => Some(digest),
        }
    }

    pub(super) fn bytes(&self) -> Option<&Arc<[u8]>> {
        match self {
            Content::Unreadable(_) => None,
            Content::Read { bytes, .. } => bytes.as_ref(),
        }
    }

    pub(super) fn problems(&self) -> &[Problem] {
        match self {
            Content::Unreadable(_) => &[],
            Content::Read { problems, .. } => problems,
        }
    }

    /// The name it has, or would have.
    pub(super) fn name(&self, file: &str) -> WireName {
        match self {
            Content::Unreadable(_) => WireName::fit(stem(file)),
            Content::Read { name, .. } => name.clone(),
        }
    }

    /// Why it is not a tool.
    pub(super) fn fault(&self, shown: &str) -> Option<String> {
        match self {
            Content::Unreadable(why) => Some(format!("`{shown}` is not loaded: {why}")),
            Content::Read {
                definition: Some(_),
                ..
            } => None,
            Content::Read { problems, .. } => {
                let errors: Vec<&Problem> = problems
                    .iter()
                    .filter(|problem| problem.severity == Severity::Error)
                    .collect();
                let first = errors.first().map_or(String::new(), |problem| {
                    let message = text::shorten(&problem.message, 300);
                    format!(": {}:{}: {message}", problem.line, problem.column)
                });
                let more = match errors.len() {
                    0 | 1 => String::new(),
                    all => format!(" (and {} more)", all - 1),
                };
                Some(format!(
                    "`{shown}` cannot be loaded{first}{more}; `toolcrib check` says all"
                ))
            }
        }
    }
}

/// Reads and checks files, several at a time if they are many.
pub(super) fn read_all(dir: &ToolsDir, place: &ScopeDir, wanted: &[ToRead]) -> Vec<Content> {
    let read = |file: &ToRead| {
        if file.is_too_much {
            let limit = text::size(MAX_TOTAL);
            let why = format!("the files before it in its directory have {limit} together");
            return Content::Unreadable(why);
        }
        Content::of(dir.read(&file.name), &file.name, place.scope)
    };
    // First what is cheap to know: how many threads there could be takes twenty system calls.
    if wanted.len() < MANY {
        return wanted.iter().map(read).collect();
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    if threads < 2 {
        return wanted.iter().map(read).collect();
    }
    let chunk = wanted.len().div_ceil(threads);
    std::thread::scope(|scope| {
        let parts: Vec<_> = wanted
            .chunks(chunk)
            .map(|part| scope.spawn(move || part.iter().map(read).collect::<Vec<Content>>()))
            .collect();
        parts
            .into_iter()
            .flat_map(|part| match part.join() {
                Ok(contents) => contents,
                Err(panic) => std::panic::resume_unwind(panic),
            })
            .collect()
    })
}

/// A file's name without its end.
fn stem(file: &str) -> &str {
    FileKind::of(file).map_or(file, |(_, stem)| stem)
}

/// What a file that makes no sense would probably be called: what its line `name:` (or `"slug":`) says, else its stem.
fn likely_name(bytes: &[u8], stem: &str, kind: FileKind) -> WireName {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]);
    let said = match kind {
        FileKind::Yaml => text
            .lines()
            .find_map(|line| line.strip_prefix("name:"))
            .map(|name| name.trim().trim_matches(['"', '\''])),
        FileKind::Json => ["name", "slug"].into_iter().find_map(|key| {
            let rest = text.split_once(&format!("\"{key}\""))?.1.trim_start();
            rest.strip_prefix(':')?
                .trim_start()
                .strip_prefix('"')?
                .split('"')
                .next()
        }),
    };
    said.and_then(|name| WireName::parse(name).ok())
        .unwrap_or_else(|| WireName::fit(stem))
}
