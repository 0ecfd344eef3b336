//! Files of tools as their users write them: [`write_file`].

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::model::error::{ErrorCode, ToolError};

/// Whether a file that is there is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overwrite {
    /// It is replaced.
    Yes,
    /// It stays as it is.
    No,
}

/// What came of writing a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// The file has the new text.
    New,
    /// There was one: nothing was written.
    WasThere,
}

/// Writes a file whole: a reader in the meantime finds the old text or the new one. Its directory is made where it is missing.
pub fn write_file(path: &Path, text: &str, overwrite: Overwrite) -> Result<Written, ToolError> {
    let failed = |error: std::io::Error| {
        let message = format!("cannot write `{}`: {error}", path.display());
        ToolError::new(ErrorCode::StorageError, message)
    };
    let directory = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory).map_err(failed)?;
    // Others may read what is shared in a project; the mode that someone chose stays.
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
