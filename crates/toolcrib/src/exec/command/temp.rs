//! The temporary directory of a call.

use std::path::{Path, PathBuf};

use crate::model::error::ToolError;
use crate::template::{Values, Variable};

/// A directory that goes with the call.
pub(super) struct Temp {
    path: PathBuf,
}

impl Temp {
    pub(super) fn new() -> Result<Self, ToolError> {
        use std::os::unix::fs::DirBuilderExt as _;
        let id = crate::model::ids::CallId::generate();
        let path = std::env::temp_dir().join(format!("toolcrib-call-{id}"));
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(failed)?;
        Ok(Temp { path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the directory that `{TEMP_DIR}` names.
    pub(super) fn make(&self, values: &Values) -> Result<(), ToolError> {
        match values.variables.get(&Variable::TempDir) {
            Some(directory) => std::fs::create_dir_all(directory).map_err(failed),
            None => Ok(()),
        }
    }

    pub(super) fn put_values(&self, _files: &[(String, Vec<u8>)]) -> Result<PathBuf, ToolError> {
        Err(ToolError::failed("not yet"))
    }

    pub(super) fn values_only(_files: &[(String, Vec<u8>)]) -> Result<PathBuf, ToolError> {
        Err(ToolError::failed("not yet"))
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

fn failed(error: std::io::Error) -> ToolError {
    ToolError::failed("the call's temporary directory cannot be made").caused_by(error)
}
