//! The files of tools, as the verbs that write and try them need them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toolcrib::definition::{Part, Problem, render_within};
use toolcrib::model::text;
use toolcrib::source::{FileDefinition, FileKind, ToolFile, Trust, write_file};
pub(super) use toolcrib::source::{Overwrite, Written};
use toolcrib::{Crib, ErrorCode, ToolError};

use crate::failure::CliError;
use crate::output::Output;

/// Where the tools of a workspace, or of a user, are.
const TOOLS: &str = ".toolcrib/tools";

/// The directory of this workspace's tools.
pub(super) fn local_directory(crib: &Crib) -> Result<PathBuf, CliError> {
    match crib.workspace_path() {
        Some(workspace) => Ok(workspace.join(TOOLS)),
        None => Err(CliError::usage("there is no workspace here to keep the tool in")
            .with_hint("change to a project, name one with `--workspace DIR`, or use `toolcrib new NAME --scope user`")),
    }
}

/// The directory of the user's tools.
pub(super) fn user_directory() -> Result<PathBuf, CliError> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let home = home.filter(|home| home.is_absolute());
    home.map(|home| home.join(TOOLS))
        .ok_or_else(|| CliError::usage("there is no home directory: set HOME"))
}

/// A path as its user would type it: from the workspace, or from the home directory.
pub(super) fn shown(path: &Path, crib: &Crib) -> String {
    let below = |root: Option<&Path>| path.strip_prefix(root?).ok().map(Path::to_owned);
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let shown = match (below(crib.workspace_path()), below(home.as_deref())) {
        (Some(local), _) => local.display().to_string(),
        (None, Some(user)) => format!("~/{}", user.display()),
        (None, None) => path.display().to_string(),
    };
    text::visible(&shown).into_owned()
}

/// The name of a file without its end.
pub(super) fn stem(file: &ToolFile) -> String {
    let stem = file.path.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// Which kind of file it is.
pub(super) fn kind(file: &ToolFile) -> FileKind {
    let name = file.path.file_name().and_then(|name| name.to_str());
    let kind = name.and_then(FileKind::of);
    kind.map_or(FileKind::Yaml, |(kind, _)| kind)
}

/// The text of a tool's file as it is now.
pub(super) fn read(file: &ToolFile) -> Result<String, CliError> {
    let failed = |why: String| {
        let message = format!("cannot read `{}`: {why}", file.shown);
        CliError::from(ToolError::new(ErrorCode::StorageError, message))
    };
    let bytes = fs::read(&file.path).map_err(|error| failed(error.to_string()))?;
    String::from_utf8(bytes).map_err(|_| failed("it is not UTF-8".to_owned()))
}

/// Whether the text of a file is still this one.
pub(super) fn still_says(file: &ToolFile, text: &str) -> bool {
    fs::read(&file.path).is_ok_and(|bytes| bytes == text.as_bytes())
}

/// Whether a file needs, and has, a pin: a change that its user asked for is pinned again.
pub(super) fn is_pinned(file: &ToolFile) -> bool {
    match file.trust {
        Trust::Pinned => true,
        Trust::ByPlace | Trust::New | Trust::Changed { .. } | Trust::Unsafe(_) => false,
    }
}

/// The file of a tool, by any of its names; of several the one that has the name.
pub(super) fn find<'f>(word: &str, files: &'f [ToolFile]) -> Option<&'f ToolFile> {
    let slug = word.strip_prefix('+').unwrap_or(word);
    let matches = |file: &&ToolFile| {
        let whole = file.reference();
        let is_version = |definition: &FileDefinition| {
            definition.slug().as_str() == slug
                || format!("{whole}@{}", definition.version()) == word
        };
        file.name == word || whole == word || file.definition.as_ref().is_some_and(is_version)
    };
    files.iter().find(matches)
}

/// A problem of a file, as a program reads it.
pub(super) fn problem_json(problem: &Problem) -> Value {
    json!({
        "code": problem.code,
        "line": problem.line,
        "column": problem.column,
        "message": problem.message,
        "help": problem.help,
    })
}

/// Why there is no tool of this name, in the words of the registry where those say more than that. Files that cannot be loaded have
/// names that only we know.
pub(super) fn not_found(error: ToolError, word: &str, files: &[ToolFile]) -> CliError {
    let is_bare = !word.contains(['/', '@', '+']);
    let says_more = error.message().contains("did you mean") || !is_bare;
    match error.code() == ErrorCode::ToolNotFound && !says_more {
        true => no_such("tool", word, files),
        false => error.into(),
    }
}

/// What a word of the command line should have been.
pub(super) fn no_such(kind: &str, word: &str, files: &[ToolFile]) -> CliError {
    let near = text::nearest(word, files.iter().map(|file| file.name.as_str()));
    let hint = match near.as_slice() {
        [] => String::new(),
        near => format!("; did you mean {}?", text::or_list(near)),
    };
    let word = text::shorten(word, 80);
    let message = format!("{kind} not found: `{word}`{hint}");
    ToolError::new(ErrorCode::ToolNotFound, message).into()
}

/// Writes a file whole, like [`write_file`].
pub(super) fn write(path: &Path, text: &str, overwrite: Overwrite) -> Result<Written, CliError> {
    Ok(write_file(path, text, overwrite)?)
}

/// Prints what is wrong or doubtful in a file, on stderr, with the lines it is in.
pub(super) fn print_problems(file: &str, text: &str, problems: &[Problem], output: &Output) {
    let paint = |part: Part, words: &str| match part {
        Part::Error => output.red(words),
        Part::Warning | Part::Message => output.bold(words),
        Part::Frame => output.dim(words),
        Part::Help => words.to_owned(),
    };
    for problem in problems {
        let columns = output.columns();
        output
            .error_line(render_within(problem, file, text.as_bytes(), columns, &paint).trim_end());
    }
}
