//! The result of a run as a value and as a text.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::project::{Project, is_file, join, upwards};
use super::choose::TestRunner;
use super::results::{Failure, Results};
use crate::model::limits::as_millis;
use crate::model::outcome::ToolOutput;
use crate::model::text;
use crate::workspace::Workspace;

/// How much of the end of the output the text has, where nothing else says what went wrong.
const SHOWN_TAIL: usize = 3000;

/// How much of a command is shown: a script can be any text.
const MAX_COMMAND: usize = 1000;

/// What became of a suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// It ended well, and no test failed.
    Passed,
    /// Tests failed.
    Failed,
    /// It could not be built, started, or brought to its end.
    Error,
    /// There was no test to run.
    NoTests,
}

impl Status {
    pub(super) fn name(self) -> &'static str {
        match self {
            Status::Passed => "passed",
            Status::Failed => "failed",
            Status::Error => "error",
            Status::NoTests => "noTests",
        }
    }

    /// What the results and the exit code say together. A run that ends with another code than 0 has not passed, whatever was
    /// printed; and one whose tests failed has not, whatever its code.
    fn of(runner: TestRunner, results: &Results, exit_code: i32) -> Self {
        // pytest's own way to say so.
        let says_none = runner == TestRunner::Pytest && exit_code == 5;
        match (results.failed > 0, results.problems.is_empty(), exit_code) {
            (true, _, _) => Status::Failed,
            (false, false, _) => Status::Error,
            (false, true, _) if says_none => Status::NoTests,
            (false, true, 0) if results.total() > 0 || !counts(runner) => Status::Passed,
            (false, true, 0) => Status::NoTests,
            (false, true, _) => Status::Error,
        }
    }
}

/// Whether the runner always says how many tests there were.
fn counts(runner: TestRunner) -> bool {
    !matches!(runner, TestRunner::Npm | TestRunner::Make)
}

/// A run that is over.
pub(super) struct Over<'a> {
    pub(super) runner: TestRunner,
    pub(super) project: &'a Project,
    pub(super) projects: &'a [Project],
    pub(super) command: String,
    pub(super) exit_code: i32,
    pub(super) duration: Duration,
    pub(super) results: Results,
    pub(super) tail: String,
}

impl Over<'_> {
    /// The value and the text. Looks where files are, so it blocks.
    pub(super) fn into_output(self, workspace: &Workspace) -> ToolOutput {
        let status = Status::of(self.runner, &self.results, self.exit_code);
        let results = &self.results;
        let failures: Vec<ReportedFailure> = results
            .failures
            .iter()
            .map(|failure| self.told(failure, workspace))
            .collect();
        let errors: Vec<ReportedFailure> = results
            .problems
            .iter()
            .map(|problem| self.told(problem, workspace))
            .collect();
        let text = self.text(status, &failures, &errors);
        let mut value = json!({
            "status": status.name(),
            "runner": self.runner.name(),
            "project": self.project.root.as_str(),
            "command": text::shorten(&self.command, MAX_COMMAND),
            "passed": results.passed,
            "failed": results.failed,
            "skipped": results.skipped,
            "total": results.total(),
            "duration": as_millis(self.duration),
            "failures": failures.iter().map(ReportedFailure::value).collect::<Vec<_>>(),
            "exitCode": self.exit_code,
            "outputTail": text::visible(&self.tail),
            "truncated": results.is_cut,
        });
        let mut put = |key: &str, list: Vec<Value>| {
            if !list.is_empty() {
                value[key] = list.into();
            }
        };
        put(
            "errors",
            errors.iter().map(ReportedFailure::value).collect(),
        );
        put(
            "skippedTests",
            results
                .skipped_tests
                .iter()
                .map(|name| json!(name))
                .collect(),
        );
        put(
            "notes",
            results.notes.iter().map(|note| json!(note)).collect(),
        );
        put(
            "otherProjects",
            self.others()
                .map(|project| json!({"kind": project.kind.name(), "path": project.root.as_str(), "marker": project.marker}))
                .collect(),
        );
        ToolOutput::value(value).with_text(text)
    }

    fn others(&self) -> impl Iterator<Item = &Project> {
        self.projects
            .iter()
            .filter(|project| *project != self.project)
    }

    fn told(&self, failure: &Failure, workspace: &Workspace) -> ReportedFailure {
        let at = failure.at.as_ref();
        ReportedFailure {
            name: text::visible_line(&failure.name).into_owned(),
            suite: failure
                .suite
                .as_deref()
                .map(|suite| text::visible_line(suite).into_owned()),
            file: at.and_then(|at| locate(workspace, self.project.root.as_str(), &at.file)),
            line: at.and_then(|at| at.line),
            message: failure.message.clone(),
        }
    }

    fn text(
        &self,
        status: Status,
        failures: &[ReportedFailure],
        errors: &[ReportedFailure],
    ) -> String {
        let results = &self.results;
        let seconds = self.duration.as_secs_f64();
        let command = text::shorten(&self.command, MAX_COMMAND);
        let with = format!(
            "`{}` in `{}`, {seconds:.1} s",
            text::visible_line(&command),
            self.project.root
        );
        let counts_tests = counts(self.runner);
        let mut counts = format!(
            "{} passed, {} failed, {} skipped",
            results.passed, results.failed, results.skipped
        );
        if results.total() == 0 {
            "no results in the output".clone_into(&mut counts);
        }
        let mut text = match status {
            Status::Passed => format!("tests passed: {counts} ({with})\n"),
            Status::Failed => format!("tests failed: {counts} ({with})\n"),
            Status::NoTests => format!("there are no tests to run ({with})\n"),
            // Of what prints no results it is not known how far it came.
            Status::Error if !counts_tests && errors.is_empty() => {
                format!("the tests failed: exit code {} ({with})\n", self.exit_code)
            }
            Status::Error => format!(
                "the tests could not be built or run to their end: exit code {} ({with})\n",
                self.exit_code
            ),
        };
        for (told, mark) in errors
            .iter()
            .map(|told| (told, "ERROR"))
            .chain(failures.iter().map(|told| (told, "FAILED")))
        {
            told.write(&mut text, mark);
        }
        let untold = results.failed.saturating_sub(failures.len() as u64);
        if untold > 0 {
            let _ = writeln!(text, "\n… and {untold} more failures");
        }
        for note in &results.notes {
            let _ = writeln!(text, "\nnote: {}", text::visible(note));
        }
        if status != Status::Passed
            && errors.is_empty()
            && failures.is_empty()
            && !self.tail.is_empty()
        {
            let from = self
                .tail
                .ceil_char_boundary(self.tail.len().saturating_sub(SHOWN_TAIL));
            let _ = write!(
                text,
                "\n[end of the output]\n{}",
                text::visible(&self.tail[from..])
            );
        }
        text
    }
}

/// A failure as it is reported.
struct ReportedFailure {
    name: String,
    suite: Option<String>,
    file: Option<String>,
    line: Option<u64>,
    message: String,
}

impl ReportedFailure {
    fn value(&self) -> Value {
        let mut value = json!({"message": self.message});
        let mut put = |key: &str, part: Option<Value>| {
            if let Some(part) = part {
                value[key] = part;
            }
        };
        put("name", (!self.name.is_empty()).then(|| json!(self.name)));
        put("suite", self.suite.as_ref().map(|suite| json!(suite)));
        put("file", self.file.as_ref().map(|file| json!(file)));
        put(
            "line",
            self.line
                .filter(|_| self.file.is_some())
                .map(|line| json!(line)),
        );
        value
    }

    fn write(&self, text: &mut String, mark: &str) {
        let place = match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{file}:{line}"),
            (Some(file), None) => file.clone(),
            (None, _) => String::new(),
        };
        let head = match (self.name.as_str(), place.as_str()) {
            ("", place) => place.to_owned(),
            (name, "") => name.to_owned(),
            (name, place) => format!("{name} ({place})"),
        };
        let _ = writeln!(text, "\n{}", format!("{mark} {head}").trim_end());
        for line in self.message.lines() {
            let _ = writeln!(text, "    {line}");
        }
    }
}

/// Where a file is that a program named, relative to the workspace: it may have named it from the project, from a directory above it,
/// or from the root of the host. A path that does not exist is not reported.
fn locate(workspace: &Workspace, root: &str, file: &str) -> Option<String> {
    let file = file.strip_prefix("file://").unwrap_or(file);
    let file = file.strip_prefix("./").unwrap_or(file);
    if file.starts_with('/') {
        let path = workspace.path(file).ok()?;
        return is_file(workspace, path.as_str()).then(|| path.as_str().to_owned());
    }
    upwards(root)
        .map(|directory| join(directory, file))
        .find(|path| is_file(workspace, path))
}
