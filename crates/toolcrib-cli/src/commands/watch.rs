//! `toolcrib watch`: tools are checked and tested whenever their files change.
//!
//! Files are looked at five times a second: it costs one `stat` each, works on every file system, and an editor that writes a
//! file in two steps is seen at the second one. Only the content counts: a file that is only touched is not news.
//! `trusting` deals with tools that are not trusted.

mod head;
mod trusting;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolcrib::definition::Severity;
use toolcrib::model::text;
use toolcrib::source::{ToolFile, Trust};
use toolcrib::trial::{TestReport, TestStatus, Trial};
use toolcrib::{Crib, ErrorCode, ToolError};

use super::test::{
    Origin, as_json, bench, cancel_on_interrupt, cores, in_one_line, print_diff, run_tests, summary,
};
use super::tool_file::{find, no_such, problem_json};
use super::{Done, open};
use crate::args::{Global, WatchArgs};
use crate::local_time;
use crate::output::Output;
use trusting::{Trusting, When};

/// How often the files are looked at.
const EVERY: Duration = Duration::from_millis(200);

pub(super) fn watch(args: &WatchArgs, global: &Global, output: &Output) -> Done {
    let crib = open(global, output)?;
    let report = crib.tool_files();
    for word in &args.tools {
        if find(word, &report.files).is_none() {
            return Err(no_such("tool with a file", word, &report.files));
        }
    }
    // A second thread, so that Ctrl-C is heard while a question waits.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| ToolError::new(ErrorCode::Internal, format!("cannot start: {error}")))?;
    let trusting = Trusting::new(&crib, args.trust, global, output)?;
    let untrusted = report.untrusted();
    if untrusted > 0 && !args.trust {
        output.say(&output.dim(&format!(
            "{untrusted} of the tools are not trusted and cannot be called: `toolcrib trust`"
        )));
    }
    let watch = Watch {
        args,
        crib: &crib,
        trusting,
        output,
    };
    let done = runtime.block_on(watch.follow());
    runtime.shutdown_background();
    done
}

struct Watch<'a> {
    args: &'a WatchArgs,
    crib: &'a Crib,
    trusting: Trusting<'a>,
    output: &'a Output,
}

/// The files of tools and what is in them, by digest; none for what cannot be read.
type Seen = BTreeMap<PathBuf, Option<String>>;

impl Watch<'_> {
    async fn follow(&self) -> Done {
        let cancel = CancellationToken::new();
        let interrupted = tokio::spawn(cancel_on_interrupt(cancel.clone()));
        self.output
            .say(&self.output.dim("watching; Ctrl-C ends it"));
        let mut seen = Seen::new();
        let mut when = When::BeforeTheStart;
        let mut is_new = true;
        while !cancel.is_cancelled() && !self.output.has_failed() {
            if is_new {
                seen = self.again(&seen, when, &cancel).await?;
                when = When::Now;
            }
            if tokio::time::timeout(EVERY, cancel.cancelled())
                .await
                .is_ok()
            {
                break;
            }
            is_new = self.crib.reload();
        }
        interrupted.abort();
        Ok(ExitCode::from(ErrorCode::Cancelled.exit_code()))
    }

    /// Checks and tests the tools whose files are others than they were, and those that use them.
    async fn again(
        &self,
        seen: &Seen,
        when: When,
        cancel: &CancellationToken,
    ) -> Result<Seen, ToolError> {
        let report = self.crib.tool_files();
        let files = &report.files;
        let now: Seen = files
            .iter()
            .map(|file| (file.path.clone(), file.digest.clone()))
            .collect();
        for gone in seen.keys().filter(|path| !now.contains_key(*path)) {
            self.removed(gone);
        }
        let has_changed = |file: &ToolFile| seen.get(&file.path) != Some(&file.digest);
        let changed: Vec<&str> = files
            .iter()
            .filter(|file| has_changed(file))
            .map(|file| file.name.as_str())
            .collect();
        let bench = bench(self.crib, self.args.yes);
        for file in files {
            let uses_one = || {
                let uses = file.definition.as_ref().map(|definition| definition.uses());
                let mut uses = uses.into_iter().flatten();
                uses.any(|used| changed.contains(&used.trim_start_matches('+')))
            };
            if !self.is_meant(file, files) || !(has_changed(file) || uses_one()) {
                continue;
            }
            let started = Instant::now();
            let trials = file.definition.as_ref().map_or(Vec::new(), Trial::all);
            let reports = run_tests(&bench, trials, cores(), cancel, self.output, |_, _| {}).await;
            if cancel.is_cancelled() {
                break;
            }
            self.tell(file, &reports, started.elapsed());
            if has_changed(file) {
                self.trusting.look(file, when, cancel).await?;
            }
        }
        Ok(now)
    }

    fn is_meant(&self, file: &ToolFile, files: &[ToolFile]) -> bool {
        let words = &self.args.tools;
        let names = |word: &String| find(word, files).is_some_and(|found| found.path == file.path);
        words.is_empty() || words.iter().any(names)
    }

    fn tell(&self, file: &ToolFile, reports: &[TestReport], took: Duration) {
        let output = self.output;
        if output.plain() {
            return self.row(file, reports);
        }
        let failed = reports
            .iter()
            .filter(|report| report.status == TestStatus::Failed);
        let errors = file
            .problems
            .iter()
            .filter(|problem| problem.severity == Severity::Error)
            .count();
        if output.json() {
            let tests: Vec<Value> = reports
                .iter()
                .map(|report| as_json(report, &Origin::of(file)))
                .collect();
            let problems: Vec<Value> = file.problems.iter().map(problem_json).collect();
            output.ndjson(&json!({
                "time": Timestamp::now().to_string(),
                "event": "tested",
                "tool": file.name,
                "file": file.path,
                "trusted": matches!(file.trust, Trust::Pinned | Trust::ByPlace),
                "ok": errors == 0 && failed.count() == 0,
                "problems": problems,
                "tests": tests,
            }));
            return;
        }
        let name = text::visible(&file.name);
        if errors > 0 {
            let words = match errors {
                1 => "1 problem".to_owned(),
                more => format!("{more} problems"),
            };
            self.line(&output.bad("bad "), &format!("{name}  {words}"));
        } else if reports.is_empty() {
            self.line(
                &output.good("ok  "),
                &format!("{name}  checks; it has no tests"),
            );
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
            output.line(&format!(
                "          {test} ({}:{})  {why}",
                file.shown, report.at.0
            ));
            for mismatch in &report.mismatches {
                print_diff(mismatch, "            | ", output);
            }
        }
    }

    /// Time, what came of it, the tool, its file and how many passed and failed, with tabs between them.
    fn row(&self, file: &ToolFile, reports: &[TestReport]) {
        let count = |status| {
            let matching = reports.iter().filter(|report| report.status == status);
            matching.count()
        };
        let (passed, failed) = (count(TestStatus::Passed), count(TestStatus::Failed));
        let word = match (file.definition.is_some(), failed) {
            (false, _) => "bad",
            (true, 0) => "ok",
            (true, _) => "failed",
        };
        let cells = [
            Timestamp::now().to_string(),
            word.to_owned(),
            file.name.clone(),
            file.shown.clone(),
            passed.to_string(),
            failed.to_string(),
        ];
        self.output.table(&[""; 6], &[cells.to_vec()]);
    }

    fn removed(&self, path: &Path) {
        if self.output.json() {
            self.output.ndjson(&json!({
                "time": Timestamp::now().to_string(),
                "event": "removed",
                "file": path,
            }));
            return;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if self.output.plain() {
            let cells = [
                Timestamp::now().to_string(),
                "gone".to_owned(),
                name.into_owned(),
            ];
            self.output.table(&[""; 3], &[cells.to_vec()]);
        } else {
            self.line("gone", &text::visible(&name));
        }
    }

    fn line(&self, word: &str, words: &str) {
        let time = local_time::clock(Timestamp::now());
        self.output.line(&format!("{time} {word} {words}"));
    }
}
