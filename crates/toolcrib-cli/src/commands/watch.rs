//! `toolcrib watch`: tools are checked and tested whenever their files change.
//!
//! Files are looked at five times a second: it costs one `stat` each, works on every file system, and an editor that writes a
//! file in two steps is seen at the second one.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolcrib::definition::{Action, Body, Definition, Severity};
use toolcrib::model::text;
use toolcrib::trial::{TestReport, TestStatus, Trial};
use toolcrib::{ErrorCode, ToolError};

use super::test::{as_json, bench, cancel_on_interrupt, cores, find, in_one_line, no_such, run_tests, summary};
use super::tool_file::{self, Stamps, ToolFile};
use super::{Done, open, options};
use crate::args::{Global, WatchArgs};
use crate::failure::CliError;
use crate::output::Output;

/// How often the files are looked at.
const EVERY: Duration = Duration::from_millis(200);

pub(super) fn watch(args: &WatchArgs, global: &Global, output: &Output) -> Done {
    let crib = open(global, output)?;
    let files = tool_file::all(&crib);
    for word in &args.tools {
        if find(word, &files).is_none() {
            let near = text::nearest(word, files.iter().map(ToolFile::name));
            return Err(no_such("tool with a file", word, &near));
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| ToolError::new(ErrorCode::Internal, format!("cannot start: {error}")))?;
    let watch = Watch {
        args,
        global,
        output,
    };
    let stamps = tool_file::stamps(&crib);
    let done = runtime.block_on(watch.follow(stamps));
    runtime.shutdown_background();
    done
}

struct Watch<'a> {
    args: &'a WatchArgs,
    global: &'a Global,
    output: &'a Output,
}

impl Watch<'_> {
    async fn follow(&self, mut seen: Stamps) -> Done {
        let cancel = CancellationToken::new();
        let interrupted = tokio::spawn(cancel_on_interrupt(cancel.clone()));
        self.output
            .say(&self.output.dim("watching; Ctrl-C ends it"));
        let mut changed: BTreeSet<PathBuf> = seen.keys().cloned().collect();
        while !cancel.is_cancelled() && !self.output.has_failed() {
            if !changed.is_empty() {
                self.again(&changed, &cancel).await?;
            }
            if tokio::time::timeout(EVERY, cancel.cancelled()).await.is_ok() {
                break;
            }
            let now = tool_file::stamps_of(self.global)?;
            changed = now
                .iter()
                .filter(|(path, stamp)| seen.get(*path) != Some(*stamp))
                .map(|(path, _)| path.clone())
                .collect();
            for gone in seen.keys().filter(|path| !now.contains_key(*path)) {
                self.removed(gone);
            }
            seen = now;
        }
        interrupted.abort();
        Ok(ExitCode::from(ErrorCode::Cancelled.exit_code()))
    }

    /// Checks and tests the tools of these files, and those that use them.
    async fn again(
        &self,
        changed: &BTreeSet<PathBuf>,
        cancel: &CancellationToken,
    ) -> Result<(), CliError> {
        let crib = match options(self.global).open() {
            Ok(crib) => crib,
            // Somebody is in the middle of changing the settings.
            Err(error) => {
                self.output.say(&format!("{} {error}", self.output.red("error:")));
                return Ok(());
            }
        };
        let files = tool_file::all(&crib);
        let bench = bench(&crib, self.args.yes);
        let names: Vec<&str> = files
            .iter()
            .filter(|file| changed.contains(&file.path))
            .map(ToolFile::name)
            .collect();
        for file in &files {
            let is_meant = self.args.tools.is_empty()
                || self
                    .args
                    .tools
                    .iter()
                    .any(|word| find(word, &files).is_some_and(|found| std::ptr::eq(found, file)));
            let uses_one = file
                .definition
                .as_ref()
                .is_some_and(|definition| uses(definition, &names));
            if !is_meant || !(changed.contains(&file.path) || uses_one) {
                continue;
            }
            let started = Instant::now();
            let trials = file.definition.as_ref().map_or(Vec::new(), Trial::all);
            let reports =
                run_tests(&bench, trials, cores(), cancel, self.output, |_, _| {}).await;
            if cancel.is_cancelled() {
                break;
            }
            self.tell(file, &reports, started.elapsed());
        }
        Ok(())
    }

    fn tell(&self, file: &ToolFile, reports: &[TestReport], took: Duration) {
        let output = self.output;
        let failed = reports
            .iter()
            .filter(|report| report.status == TestStatus::Failed);
        let errors = file
            .problems
            .iter()
            .filter(|problem| problem.severity == Severity::Error)
            .count();
        if output.json() {
            let tests: Vec<Value> = reports.iter().map(|report| as_json(report, file)).collect();
            let problems: Vec<Value> = file.problems.iter().map(tool_file::problem_json).collect();
            output.ndjson(&json!({
                "time": Timestamp::now().to_string(),
                "event": "tested",
                "tool": file.name(),
                "file": file.path,
                "ok": errors == 0 && failed.count() == 0,
                "problems": problems,
                "tests": tests,
            }));
            return;
        }
        let name = text::visible(file.name());
        if errors > 0 {
            let words = match errors {
                1 => "1 problem".to_owned(),
                more => format!("{more} problems"),
            };
            self.line(&output.bad("bad "), &format!("{name}  {words}"));
        } else if reports.is_empty() {
            self.line(&output.good("ok  "), &format!("{name}  checks; it has no tests"));
        } else {
            let word = match failed.clone().count() {
                0 => output.good("ok  "),
                _ => output.bad("FAIL"),
            };
            self.line(&word, &format!("{name}  {}", summary(reports, 0, took)));
        }
        for problem in &file.problems {
            let place = format!("{}:{}:{}", file.shown, problem.line, problem.column);
            let message = text::shorten(&problem.message, 200);
            output.line(&format!("          {}: {message}", text::visible(&place)));
        }
        for report in failed {
            let why = in_one_line(report);
            let test = text::visible(&report.test);
            output.line(&format!("          {test} ({}:{})  {why}", file.shown, report.at.0));
        }
    }

    fn removed(&self, path: &std::path::Path) {
        if self.output.json() {
            self.output.ndjson(&json!({
                "time": Timestamp::now().to_string(),
                "event": "removed",
                "file": path,
            }));
        } else {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            self.line("gone", &text::visible(&name));
        }
    }

    fn line(&self, word: &str, words: &str) {
        let time = Timestamp::now().strftime("%H:%M:%SZ");
        self.output.line(&format!("{time} {word} {words}"));
    }
}

/// Whether a tool calls one of these.
fn uses(definition: &Arc<Definition>, names: &[&str]) -> bool {
    let is_one = |tool: &str| names.contains(&tool.trim_start_matches('+'));
    match &definition.body {
        Body::Command(_) | Body::Commands { .. } => false,
        Body::Alias { base, .. } => is_one(base),
        Body::Steps(steps) => steps.iter().any(|step| match &step.action {
            Action::Run(_) => false,
            Action::UseTool { tool, .. } => is_one(tool),
        }),
    }
}
