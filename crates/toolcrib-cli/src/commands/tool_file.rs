//! The files of tools, as the verbs that write and try them need them.

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use toolcrib::{Crib, ErrorCode, ToolError};

use crate::failure::CliError;

/// Where the tools of a workspace, or of a user, are.
const TOOLS: &str = ".toolcrib/tools";

/// Whether a file that is there is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Overwrite {
    Yes,
    No,
}

/// What came of writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    New,
    /// Nothing was written.
    WasThere,
}

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
    toolcrib::model::text::visible(&shown).into_owned()
}

/// Writes a file whole: whoever reads meanwhile finds the old text or the new one.
pub(super) fn write(path: &Path, text: &str, overwrite: Overwrite) -> Result<Written, CliError> {
    let failed = |error: std::io::Error| {
        let message = format!("cannot write `{}`: {error}", path.display());
        CliError::from(ToolError::new(ErrorCode::StorageError, message))
    };
    let directory = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory).map_err(failed)?;
    // Others may read what is shared in a project; the mode that somebody chose stays.
    let mode = fs::symlink_metadata(path).map_or(0o666, |found| found.permissions().mode() & 0o777);
    let mut file = tempfile::Builder::new()
        .prefix(".toolcrib-")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(directory)
        .map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    match overwrite {
        Overwrite::Yes => file.persist(path).map_err(|error| failed(error.error))?,
        Overwrite::No => match file.persist_noclobber(path) {
            Ok(file) => file,
            Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => {
                return Ok(Written::WasThere);
            }
            Err(error) => return Err(failed(error.error)),
        },
    };
    fs::File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(failed)?;
    Ok(Written::New)
}
