//! Runs a formatter: the survey of a directory, and one file through it.
//!
//! The new text of a file is written by the workspace, over that very file as it was read and whole; a formatter that fails, prints
//! nothing or is ended leaves it as it was.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use regex::Regex;

use super::choose::{self, Job};
use super::formatter::Formatter;
use super::survey::Reader;
use crate::builtin::unified_diff;
use crate::call::context::CallContext;
use crate::call::event::OutputStream;
use crate::model::error::ToolError;
use crate::model::text;
use crate::process::{Run, Runner, Wall};
use crate::sandbox::{Command, Stdin};
use crate::workspace::{Identity, MissingDirs, Old, Replaces, Workspace};

/// The longest output of a run that is read.
const MAX_OUTPUT: usize = 8 << 20;

/// The longest message about a file.
const MAX_MESSAGE: usize = 400;

/// What formatters run with.
pub(super) struct Shop {
    pub(super) runner: Arc<Runner>,
    pub(super) wall: Wall,
    pub(super) cx: CallContext,
    pub(super) workspace: Arc<Workspace>,
    /// Whether files are left as they are.
    pub(super) check: bool,
}

/// What became of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Formatted {
    Unchanged,
    Changed { diff: String },
    Failed(Complaint),
}

/// The problem of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Complaint {
    pub(super) line: Option<u64>,
    pub(super) message: String,
}

/// What a survey found.
#[derive(Debug)]
pub(super) enum Surveyed {
    Some {
        /// The files that it is worth looking at.
        suspects: Vec<String>,
        /// How many it looked at itself.
        considered: usize,
        /// What it says is wrong. Mostly that is about one of the suspects, which will say so itself.
        complaint: Option<Complaint>,
    },
    /// It could not tell: its own words.
    Nothing(Complaint),
}

/// What a run printed.
#[derive(Debug, Default)]
struct Printed {
    stdout: String,
    stderr: String,
    is_cut: bool,
}

impl Shop {
    /// Asks a formatter which files of a job it would change.
    pub(super) async fn survey(&self, job: &Job, directory: &str) -> Result<Surveyed, ToolError> {
        let command = job
            .formatter
            .survey(&job.program, directory)
            .directory(self.host(&job.root));
        let (exit_code, printed) = self.run(job.formatter, command).await?;
        let host = format!("{}/", self.workspace.root().display());
        let reader = Reader {
            host: &host,
            ran_in: &job.root,
            known: job.files.iter().map(String::as_str).collect::<HashSet<_>>(),
        };
        let mut suspects = reader.mentioned(&printed.stderr);
        let considered = match job.formatter {
            // It says which files it looked at, too, before those it would change.
            Formatter::Rustfmt => {
                let looked_at = |line: &&str| line.starts_with("Formatting ");
                let lines = printed.stdout.lines();
                let considered: HashSet<&str> = lines
                    .clone()
                    .filter(looked_at)
                    .filter_map(|line| reader.mentioned_in(line))
                    .collect();
                let others = lines.filter(|line| !looked_at(line));
                suspects.extend(others.filter_map(|line| reader.mentioned_in(line)));
                considered
                    .union(&suspects.iter().copied().collect())
                    .count()
            }
            _ => {
                suspects.extend(reader.mentioned(&printed.stdout));
                job.files.len()
            }
        };
        if printed.is_cut || (exit_code != 0 && suspects.is_empty()) {
            return Ok(Surveyed::Nothing(self.complaint(&printed.stderr)));
        }
        let is_error = |line: &str| {
            let line = line.trim_start_matches('[');
            line.starts_with("error") || line.starts_with("Error")
        };
        let complains = exit_code != 0 && printed.stderr.lines().any(is_error);
        Ok(Surveyed::Some {
            suspects: suspects.into_iter().map(str::to_owned).collect(),
            considered,
            complaint: complains.then(|| self.complaint(&printed.stderr)),
        })
    }

    /// Gives one file to a formatter, and the workspace what comes out.
    pub(super) async fn format(&self, job: &Job, file: &str) -> Result<Formatted, ToolError> {
        let Some((old, edition)) = self.read(job, file).await? else {
            return Ok(Formatted::Unchanged);
        };
        let directory = match job.formatter {
            // It looks for settings where it runs.
            Formatter::Rustfmt => file.rsplit_once('/').map_or(".", |(above, _)| above),
            _ => job.root.as_str(),
        };
        let Some(content) = old.content.clone() else {
            return Ok(failed(
                "it is larger than 1 MB, which is not formatted here",
            ));
        };
        let Ok(old_text) = String::from_utf8(content.clone()) else {
            return Ok(failed("it is not text in UTF-8"));
        };
        let name = self.workspace.root().join(file);
        let name = name.to_string_lossy();
        let command = job
            .formatter
            .filter(&job.program, &name, edition.as_deref())
            .directory(self.host(directory))
            .stdin(Stdin::Bytes(content));
        let (exit_code, printed) = self.run(job.formatter, command).await?;
        if exit_code != 0 {
            return Ok(Formatted::Failed(self.complaint(&printed.stderr)));
        }
        if printed.is_cut {
            return Ok(failed("its formatted text is longer than 8 MB"));
        }
        let new_text = printed.stdout;
        if new_text == old_text {
            return Ok(Formatted::Unchanged);
        }
        if new_text.trim().is_empty() && !old_text.trim().is_empty() {
            return Ok(failed(
                "the formatter printed nothing for it; it is left as it was",
            ));
        }
        let diff = unified_diff(file, &old_text, &new_text);
        if !self.check {
            self.write(file, new_text, old.identity).await?;
        }
        Ok(Formatted::Changed { diff })
    }

    async fn read(
        &self,
        job: &Job,
        file: &str,
    ) -> Result<Option<(Old, Option<String>)>, ToolError> {
        let (workspace, file) = (Arc::clone(&self.workspace), file.to_owned());
        let is_rust = job.formatter == Formatter::Rustfmt;
        self.cx
            .blocking(move || {
                let path = workspace.path(&file)?;
                let Some(old) = workspace.file_to_replace(&path, MissingDirs::Refuse)? else {
                    return Ok(None);
                };
                let directory = file.rsplit_once('/').map_or(".", |(above, _)| above);
                let edition = is_rust.then(|| choose::edition(&workspace, directory));
                Ok(Some((old, edition.flatten())))
            })
            .await
    }

    async fn write(&self, file: &str, new: String, old: Identity) -> Result<(), ToolError> {
        let (workspace, file) = (Arc::clone(&self.workspace), file.to_owned());
        self.cx
            .blocking(move || {
                let path = workspace.path(&file)?;
                workspace.write_file(
                    &path,
                    new.as_bytes(),
                    MissingDirs::Refuse,
                    &Replaces::Just(old),
                )
            })
            .await
    }

    /// Runs a formatter; what it prints is for us, not for who watches the call.
    async fn run(
        &self,
        formatter: Formatter,
        command: Command,
    ) -> Result<(i32, Printed), ToolError> {
        let printed = Arc::new(Mutex::new(Printed::default()));
        let kept = Arc::clone(&printed);
        let run = Run {
            sink: Some(Box::new(move |stream, text| {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                let Printed {
                    stdout,
                    stderr,
                    is_cut,
                } = &mut *kept;
                let to = match stream {
                    OutputStream::Stdout => stdout,
                    OutputStream::Stderr => stderr,
                };
                if to.len() + text.len() <= MAX_OUTPUT {
                    to.push_str(text);
                } else {
                    *is_cut = true;
                }
            })),
            ..Run::new(command)
        };
        let finished = self.runner.run(&self.cx, &self.wall, run).await?;
        let printed = std::mem::take(&mut *printed.lock().unwrap_or_else(PoisonError::into_inner));
        if Formatter::is_missing(finished.exit_code, &printed.stderr) {
            return Err(choose::missing(formatter));
        }
        Ok((finished.exit_code, printed))
    }

    fn host(&self, directory: &str) -> PathBuf {
        match directory {
            "." => self.workspace.root().to_owned(),
            directory => self.workspace.root().join(directory),
        }
    }

    fn complaint(&self, stderr: &str) -> Complaint {
        let host = format!("{}/", self.workspace.root().display());
        complaint(&stderr.replace(&host, ""))
    }
}

fn failed(message: &str) -> Formatted {
    Formatted::Failed(Complaint {
        line: None,
        message: message.to_owned(),
    })
}

/// What a formatter says is wrong, and the line: the first place of the form `:3:5` or `(3:5)` in it.
fn complaint(stderr: &str) -> Complaint {
    static PLACE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"[:(] ?(\d{1,9}):\d{1,9}").expect("a valid pattern"));
    let line = PLACE
        .captures(stderr)
        .and_then(|found| found[1].parse().ok());
    let said = stderr.lines().map(str::trim).find(|line| !line.is_empty());
    let said = said.unwrap_or("the formatter failed and did not say why");
    let said = said.strip_prefix("[error] ").unwrap_or(said);
    let said = said.strip_prefix("error: ").unwrap_or(said);
    Complaint {
        line,
        message: text::shorten(said, MAX_MESSAGE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_formatters_words_give_a_line_and_a_message() {
        for (stderr, line, message) in [
            (
                "error: this file contains an unclosed delimiter\n --> <stdin>:3:13\n  |\n",
                Some(3),
                "this file contains an unclosed delimiter",
            ),
            (
                "[error] ./js/b.ts: SyntaxError: Expression expected. (2:9)\n[error] > 1 | const\n",
                Some(2),
                "./js/b.ts: SyntaxError: Expression expected. (2:9)",
            ),
            (
                "error: Failed to parse ./sub/b.py:4:7: Expected a parameter\n",
                Some(4),
                "Failed to parse ./sub/b.py:4:7: Expected a parameter",
            ),
            (
                "error: cannot format b.py: Cannot parse for target version Python 3.13: 5:6: def f(:\n",
                Some(5),
                "cannot format b.py: Cannot parse for target version Python 3.13: 5:6: def f(:",
            ),
            (
                "<standard input>:6:2: expected declaration\n",
                Some(6),
                "<standard input>:6:2: expected declaration",
            ),
            ("", None, "the formatter failed and did not say why"),
        ] {
            let expected = Complaint {
                line,
                message: message.to_owned(),
            };
            assert_eq!(complaint(stderr), expected, "{stderr}");
        }
    }
}
