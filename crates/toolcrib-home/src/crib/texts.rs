//! The files of tools for an editor that is not on this machine's terminal: [`Crib::tool_text`], [`Crib::save_tool`].
//!
//! A text with errors is not saved, a file that someone else changed meanwhile is not replaced, and what is saved is trusted: its author
//! asked for it.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::Crib;
use crate::definition::{Problem, Severity};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::names::WireName;
use crate::model::text;
use crate::registry::Source;
use crate::source::{FileKind, Overwrite, Scope, ToolFile, Trust, Written, read_file, write_file};

/// The longest text that is saved; longer files are not loaded.
const MAX_TEXT: usize = crate::definition::MAX_FILE_BYTES;

/// A file of a tool as its user edits it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolText {
    /// Whose it is: `local` is the workspace's, `user` the user's.
    pub scope: &'static str,
    /// Its name.
    pub file: String,
    /// Where it is, as people read it.
    pub shown: String,
    /// The name of its tool, for models.
    pub name: String,
    /// Its tool as `bundle/slug@version`, if it could be loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// SHA-256 of the text, in hex: send it back with a change.
    pub digest: String,
    /// Whether it may run as far as trust goes.
    pub is_trusted: bool,
    /// The text.
    pub content: String,
    /// Everything that is wrong or doubtful about it.
    pub problems: Vec<Problem>,
}

/// A file that was saved.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SavedTool {
    /// The file as it is now.
    #[serde(flatten)]
    pub text: ToolText,
    /// Whether there was none before.
    pub created: bool,
}

/// SHA-256 of a text, in hex.
fn digest(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn scope_named(word: &str) -> Result<Scope, ToolError> {
    let known = [Scope::Local, Scope::User];
    let found = known.into_iter().find(|scope| scope.as_str() == word);
    found.ok_or_else(|| {
        let message = format!(
            "`{}` is not a scope whose files can be edited here; choose `local` or `user`",
            text::shorten(&text::visible(word), 40)
        );
        ToolError::new(ErrorCode::NotFound, message)
    })
}

/// The kind of a file's name and what is before its end.
fn parts(file: &str) -> Result<(FileKind, &str), ToolError> {
    let wrong = || {
        let message = format!(
            "`{}` is not a name for a tool's file: letters, digits, `-` and `_`, then `.yaml` or `.json`",
            text::shorten(&text::visible(file), 80)
        );
        ToolError::new(ErrorCode::InvalidArguments, message)
    };
    let (kind, stem) = FileKind::of(file).ok_or_else(wrong)?;
    match WireName::parse(stem) {
        Ok(_) => Ok((kind, stem)),
        Err(_) => Err(wrong()),
    }
}

impl Crib {
    /// Every file of a tool that can be edited here, those that cannot be loaded too.
    pub fn tool_texts(&self) -> Vec<ToolText> {
        self.reload();
        let report = self.tool_files();
        let files = report.files.iter();
        files
            .filter(|file| file.scope != Scope::Global)
            .filter_map(|file| self.text_of(file).ok())
            .collect()
    }

    /// The text of a tool's file.
    pub fn tool_text(&self, scope: &str, file: &str) -> Result<ToolText, ToolError> {
        let scope = scope_named(scope)?;
        self.reload();
        let report = self.tool_files();
        match named(&report.files, scope, file) {
            Some(found) => self.text_of(found),
            None => Err(no_file(scope, file)),
        }
    }

    /// Saves a text as the file of a tool, and trusts it. `seen` is the digest of the text that is replaced; without it the file is
    /// a new one.
    pub fn save_tool(
        &self,
        scope: &str,
        file: &str,
        content: &str,
        seen: Option<&str>,
    ) -> Result<SavedTool, ToolError> {
        let scope = scope_named(scope)?;
        let (kind, stem) = parts(file)?;
        if content.len() > MAX_TEXT {
            let message = format!("the text is longer than {MAX_TEXT} bytes");
            return Err(ToolError::new(ErrorCode::InvalidArguments, message));
        }
        self.reload();
        let report = self.tool_files();
        let path = match named(&report.files, scope, file) {
            Some(found) => found.path.clone(),
            None => self.directory(scope)?.join(file),
        };
        let reading = kind.read(content.as_bytes(), stem);
        refuse_errors(file, &reading.problems)?;
        if let Some(definition) = &reading.definition {
            self.refuse_built_in(definition.name())?;
        }
        let is_new = self.write(&path, file, content, seen)?;
        self.pin(&path, content.as_bytes())?;
        Ok(SavedTool {
            text: self.tool_text(scope.as_str(), file)?,
            created: is_new,
        })
    }

    /// Deletes the file of a tool that still says what was seen.
    pub fn remove_tool_file(&self, scope: &str, file: &str, seen: &str) -> Result<(), ToolError> {
        let scope = scope_named(scope)?;
        self.reload();
        let report = self.tool_files();
        let found = named(&report.files, scope, file).ok_or_else(|| no_file(scope, file))?;
        refuse_changed(&found.path, file, seen)?;
        std::fs::remove_file(&found.path).map_err(|error| {
            let message = format!("cannot delete `{}`: {error}", found.shown);
            ToolError::new(ErrorCode::StorageError, message)
        })?;
        self.unpin(&found.path)
    }

    /// Writes the file; says whether there was none.
    fn write(
        &self,
        path: &Path,
        file: &str,
        content: &str,
        seen: Option<&str>,
    ) -> Result<bool, ToolError> {
        refuse_links(path)?;
        match seen {
            Some(seen) => {
                refuse_changed(path, file, seen)?;
                write_file(path, content, Overwrite::Yes)?;
                Ok(false)
            }
            None => match write_file(path, content, Overwrite::No)? {
                Written::New => Ok(true),
                Written::WasThere => {
                    let message = format!("`{file}` is there already; open it to change it");
                    Err(ToolError::new(ErrorCode::Conflict, message))
                }
            },
        }
    }

    /// Where new files of a scope go.
    fn directory(&self, scope: Scope) -> Result<PathBuf, ToolError> {
        let directory = self.sources.directory_of(scope);
        directory.map(Path::to_owned).ok_or_else(|| {
            let message = match scope {
                Scope::Local => "there is no workspace to keep the tool in; choose `user`",
                Scope::User | Scope::Global => {
                    "there is no home directory to keep the tool in; choose `local`"
                }
            };
            ToolError::new(ErrorCode::Usage, message)
        })
    }

    fn refuse_built_in(&self, name: &WireName) -> Result<(), ToolError> {
        let entry = self.registry().find(name.as_str()).ok();
        match entry.filter(|entry| entry.source() == Source::BuiltIn) {
            None => Ok(()),
            Some(_) => {
                let message = format!(
                    "`{name}` is a built-in tool, which no other can take the place of; choose another name"
                );
                Err(ToolError::new(ErrorCode::Conflict, message))
            }
        }
    }

    fn text_of(&self, file: &ToolFile) -> Result<ToolText, ToolError> {
        let bytes = read_file(&file.path).map_err(|why| {
            let message = format!("cannot read `{}`: {why}", file.shown);
            ToolError::new(ErrorCode::StorageError, message)
        })?;
        let digest = digest(&bytes);
        let content = String::from_utf8(bytes).map_err(|_| {
            let message = format!("`{}` is not UTF-8", file.shown);
            ToolError::new(ErrorCode::StorageError, message)
        })?;
        let name = file.path.file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        let reference = file.definition.as_ref().map(|definition| {
            let (scope, slug) = (file.scope.bundle(), definition.slug());
            format!("{scope}/{slug}@{}", definition.version())
        });
        Ok(ToolText {
            scope: file.scope.as_str(),
            problems: self.check_text(&name, content.as_bytes()).problems,
            file: name,
            shown: file.shown.clone(),
            name: file.name.clone(),
            reference,
            digest,
            is_trusted: matches!(file.trust, Trust::ByPlace | Trust::Pinned),
            content,
        })
    }
}

fn named<'f>(files: &'f [ToolFile], scope: Scope, name: &str) -> Option<&'f ToolFile> {
    let is_it = |file: &&ToolFile| {
        let own = file.path.file_name().and_then(|own| own.to_str());
        file.scope == scope && own == Some(name)
    };
    files.iter().find(is_it)
}

fn no_file(scope: Scope, file: &str) -> ToolError {
    let file = text::shorten(&text::visible(file), 80);
    let message = format!(
        "there is no file `{file}` among the tools of `{}`",
        scope.as_str()
    );
    ToolError::new(ErrorCode::NotFound, message)
}

fn refuse_errors(file: &str, problems: &[Problem]) -> Result<(), ToolError> {
    let errors: Vec<&Problem> = problems
        .iter()
        .filter(|problem| problem.severity == Severity::Error)
        .collect();
    let Some(first) = errors.first() else {
        return Ok(());
    };
    let message = format!(
        "`{file}` is not saved: line {}: {}",
        first.line,
        text::shorten(&first.message, 400)
    );
    Err(ToolError::new(ErrorCode::InvalidArguments, message).with_detail("problems", json!(errors)))
}

fn refuse_changed(path: &Path, file: &str, seen: &str) -> Result<(), ToolError> {
    let is_same = read_file(path).is_ok_and(|bytes| digest(&bytes) == seen);
    match is_same {
        true => Ok(()),
        false => {
            let message = format!("`{file}` was changed or removed meanwhile; open it again");
            Err(ToolError::new(ErrorCode::Conflict, message))
        }
    }
}

/// Refuses a place that a link leads to: a repository must not choose where its user writes.
fn refuse_links(path: &Path) -> Result<(), ToolError> {
    let around = path.ancestors().take(3);
    for place in around {
        let is_link = place
            .symlink_metadata()
            .is_ok_and(|found| found.file_type().is_symlink());
        if is_link {
            let message = format!("`{}` is a link; edit what it leads to", place.display());
            return Err(ToolError::new(ErrorCode::InvalidPath, message));
        }
    }
    Ok(())
}
