//! Cleanup at the end of a call (`resources.cleanup`): it always runs, however the call ended.
//!
//! `final-command`s run first, in the order of the file, behind the same wall, and have [`TIME`] together; then the temporary
//! directory goes, through the descriptor it was made with, whatever its name leads to by then. What goes wrong is part of the
//! outcome.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::running::{How, Running};
use crate::definition::{Cleanup, Definition, Program};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::text;
use crate::process::CallTemp;
use crate::template::{Values, Variable};
use crate::workspace::Workspace;

/// How long all final commands of a call may take together.
const TIME: Duration = Duration::from_secs(10);

/// The temporary directory of a call.
pub(super) struct Temp {
    path: PathBuf,
    held: Mutex<Option<CallTemp>>,
}

impl Temp {
    /// Blocks.
    pub(super) fn new(workspace: &Workspace) -> Result<Self, ToolError> {
        let held = CallTemp::create(workspace)?;
        Ok(Temp {
            path: held.path().to_owned(),
            held: Mutex::new(Some(held)),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the directory that `{TEMP_DIR}` names. Blocks.
    pub(super) fn make_inner(&self, values: &Values) -> Result<(), ToolError> {
        let Some(directory) = values.variables.get(&Variable::TempDir) else {
            return Ok(());
        };
        std::fs::create_dir_all(directory).map_err(|error| {
            ToolError::failed("the `temp-directory` of the tool cannot be made").caused_by(error)
        })
    }

    fn take(&self) -> Option<CallTemp> {
        self.held
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

/// Leaves everything that is to be done at the end to the call. Nothing is left to tools without temporary files and
/// without a `cleanup`.
pub(super) fn leave(running: &Arc<Running>) {
    let has_commands = final_commands(&running.definition).next().is_some();
    if running.temp.is_none() && !has_commands {
        return;
    }
    let running = Arc::clone(running);
    running.cx.clone().afterwards(async move {
        let started = Instant::now();
        for program in final_commands(&running.definition) {
            let left = TIME.saturating_sub(started.elapsed());
            if let Some(problem) = run(&running, program, left).await {
                running.cx.note_cleanup(problem);
            }
        }
        let Some(temp) = running.temp.as_ref().and_then(Temp::take) else {
            return;
        };
        let keeps = keeps_temp(&running.definition);
        let removing = tokio::task::spawn_blocking(move || match keeps {
            true => temp.keep().map(Some),
            false => {
                drop(temp);
                Ok(None)
            }
        });
        match removing.await {
            Ok(Ok(Some(path))) => running.cx.note_cleanup(format!(
                "the temporary files were left in `{}` (`delete-temp-files: false`)",
                path.display()
            )),
            Ok(Ok(None)) | Err(_) => {}
            Ok(Err(error)) => running.cx.note_cleanup(error.message()),
        }
    });
}

fn final_commands(definition: &Definition) -> impl Iterator<Item = &Program> {
    definition
        .resources
        .cleanup
        .iter()
        .filter_map(|cleanup| match cleanup {
            Cleanup::FinalCommand(program) => Some(program),
            Cleanup::DeleteTempFiles(_) => None,
        })
}

/// Whether temporary files stay; the last word of the file counts.
fn keeps_temp(definition: &Definition) -> bool {
    let says = |cleanup: &Cleanup| match cleanup {
        Cleanup::DeleteTempFiles(delete) => Some(!delete),
        Cleanup::FinalCommand(_) => None,
    };
    let mut said = definition.resources.cleanup.iter().rev().filter_map(says);
    said.next().unwrap_or(false)
}

/// Runs one final command, and says what went wrong.
async fn run(running: &Running, program: &Program, left: Duration) -> Option<String> {
    let shown = text::shorten(program.source.trim(), 200);
    if left.is_zero() {
        let seconds = TIME.as_secs();
        return Some(format!(
            "`{shown}` was not run: others took the {seconds} seconds there are for cleaning up"
        ));
    }
    let how = How {
        timeout: Some(left),
        // It is not part of what the tool printed.
        sink: Some(Box::new(|_, _| {})),
        cleans_up: true,
        ..How::default()
    };
    match running.run(program, &running.values, how).await {
        Ok(finished) if finished.exit_code == 0 => None,
        Ok(finished) => {
            let said = finished.output.lines().last().unwrap_or_default();
            let code = finished.exit_code;
            let said = match said.trim() {
                "" => String::new(),
                said => format!(": {}", text::shorten(said, 200)),
            };
            Some(format!("`{shown}` ended with exit code {code}{said}"))
        }
        Err(error) if error.code() == ErrorCode::Timeout => Some(format!(
            "`{shown}` was ended: it took more than the {} seconds there are for cleaning up",
            TIME.as_secs()
        )),
        Err(error) => Some(format!("`{shown}` failed: {}", error.message())),
    }
}
