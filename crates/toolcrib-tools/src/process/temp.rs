//! The private temporary directory of a call.

use std::path::{Path, PathBuf};

use crate::model::error::{ErrorCode, ToolError};
use crate::sandbox::TemporaryDirectory;
use crate::workspace::Workspace;

/// A directory on the host that only one call uses: mode 0700, a name that cannot be guessed, never in the workspace. It goes
/// with everything in it when this is dropped; what a killed process left behind goes when the next one makes one.
///
/// Commands see it at the same path when their [`Wall`](super::Wall) lists it under `write`. Each call then has its own
/// wall, which has to be made ready: only calls that need the directory should make one.
#[derive(Debug)]
pub(crate) struct CallTemp(TemporaryDirectory);

impl CallTemp {
    /// Makes a directory where the system keeps temporary files (`TMPDIR`), or in another usual place where that is in the
    /// workspace or in Toolcrib's own data. Blocks.
    pub(crate) fn create(workspace: &Workspace) -> Result<Self, ToolError> {
        let places = [
            std::env::temp_dir(),
            PathBuf::from("/tmp"),
            PathBuf::from("/var/tmp"),
        ];
        let own = |place: &Path| workspace.home().is_some_and(|own| own.holds(place));
        let mut cause = None;
        for place in places {
            let outside = place
                .canonicalize()
                .ok()
                .filter(|place| !place.starts_with(workspace.root()) && !own(place));
            match outside.map(|place| TemporaryDirectory::create_in(&place)) {
                Some(Ok(directory)) => return Ok(CallTemp(directory)),
                Some(Err(error)) => cause = Some(error),
                None => {}
            }
        }
        let error = ToolError::new(
            ErrorCode::ExecutionError,
            "there is no place for temporary files outside the workspace; set `TMPDIR` to a directory that can be written",
        );
        Err(match cause {
            Some(cause) => error.caused_by(cause),
            None => error,
        })
    }

    /// Where it is, on the host and inside sandboxes; no link leads through it.
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a new file in it, for no one else to read, and returns its path. Blocks.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, ToolError> {
        self.0.write(name, bytes).map_err(|error| {
            ToolError::failed("a temporary file of the call cannot be written").caused_by(error)
        })
    }

    /// Leaves it where it is when this goes, under another name so that no one clears it away. Blocks.
    pub(crate) fn keep(self) -> Result<PathBuf, ToolError> {
        self.0.keep().map_err(|error| {
            ToolError::failed("the temporary directory of the call cannot be kept").caused_by(error)
        })
    }
}
