//! `toolcrib test --record`: what came, written into the files.

use std::process::ExitCode;

use serde_json::json;
use tokio_util::sync::CancellationToken;
use toolcrib::definition;
use toolcrib::model::text;
use toolcrib::source::{FileDefinition, ToolFile};
use toolcrib::trial::{Bench, Trial, diff, expects_nothing, observed_expectation, rewrite};
use toolcrib::{Crib, ErrorCode, ToolError};

use super::{Chosen, Origin, run_tests};
use crate::args::Global;
use crate::commands::Done;
use crate::commands::confirm::confirmed;
use crate::commands::tool_file::{self, Overwrite};
use crate::failure::CliError;
use crate::output::Output;

pub(super) struct Recording<'a> {
    pub(super) crib: &'a Crib,
    pub(super) bench: &'a Bench,
    pub(super) jobs: usize,
    pub(super) yes: bool,
    pub(super) global: &'a Global,
    pub(super) output: &'a Output,
}

/// A file with its new text.
struct Change<'f> {
    file: &'f ToolFile,
    old: String,
    text: String,
    tests: Vec<String>,
}

impl Recording<'_> {
    /// Runs the tests that are to be recorded twice each: what differs between the runs is not an expectation.
    pub(super) async fn record(&self, chosen: &Chosen<'_>, cancel: &CancellationToken) -> Done {
        let (mut changes, mut failed) = (Vec::new(), Vec::new());
        for tool in &chosen.tools {
            let FileDefinition::Command(definition) = &tool.definition else {
                // What a server answers is in the test already.
                let name = tool.definition.name();
                self.output.say(&format!(
                    "`{name}`: tests of HTTP tools are not recorded; write what they expect"
                ));
                continue;
            };
            let wanted: Vec<usize> = tool
                .tests
                .iter()
                .copied()
                .filter(|index| {
                    tool.named.contains(index)
                        || expects_nothing(&definition.tests[*index].expected)
                })
                .collect();
            if wanted.is_empty() {
                continue;
            }
            let Some(file) = tool.file else {
                return Err(not_a_file(&tool.origin));
            };
            let twice: Vec<Trial> = wanted
                .iter()
                .flat_map(|index| [*index, *index])
                .map(|index| Trial {
                    tool: tool.definition.clone(),
                    index,
                })
                .collect();
            let reports =
                run_tests(self.bench, twice, self.jobs, cancel, self.output, |_, _| {}).await;
            if cancel.is_cancelled() {
                return Ok(ExitCode::from(ErrorCode::Cancelled.exit_code()));
            }
            let (old, stem) = (tool_file::read(file)?, tool_file::stem(file));
            let read = definition::read(old.as_bytes(), &stem).definition;
            if read.is_none_or(|read| read.digest != definition.digest) {
                return Err(changed_meanwhile(file));
            }
            let mut change = Change {
                file,
                text: old.clone(),
                old,
                tests: Vec::new(),
            };
            for (index, runs) in wanted.iter().zip(reports.chunks(2)) {
                let test = &definition.tests[*index];
                let [first, second] = runs else { continue };
                let recorded = observed_expectation(test, [first, second])
                    .and_then(|expected| rewrite(&change.text, &stem, *index, &expected));
                let name = format!("{}:{}", definition.name, test.name);
                match recorded {
                    Ok(text) if text == change.text => {
                        self.output
                            .say(&format!("{name} comes as it expects already"));
                    }
                    Ok(text) => {
                        change.text = text;
                        change.tests.push(name);
                    }
                    Err(error) => failed.push((name, error.to_string())),
                }
            }
            if !change.tests.is_empty() {
                changes.push(change);
            }
        }
        for (name, why) in &failed {
            let line = format!("{} {name}: {why}", self.output.red("not recorded:"));
            self.output.error_line(&line);
        }
        let has_tests = chosen.tools.iter().any(|tool| !tool.tests.is_empty());
        if !has_tests && !self.output.json() {
            self.output.say(
                "nothing to record: there are no tests; write one under `tests` with a `name` and `parameters`",
            );
            return Ok(ExitCode::SUCCESS);
        }
        self.write(&changes, &failed)
    }

    fn write(&self, changes: &[Change<'_>], failed: &[(String, String)]) -> Done {
        let diffs: Vec<String> = changes
            .iter()
            .map(|change| diff(&change.file.shown, &change.old, &change.text))
            .collect();
        if !self.output.json() {
            for diff in &diffs {
                self.output.text(diff);
            }
        }
        if !changes.is_empty() && !self.yes {
            let question = match changes {
                [_] => "Write this to the file? (y/n) ",
                _ => "Write this to the files? (y/n) ",
            };
            if !confirmed(question, self.global, self.output)? {
                self.output.say("nothing was written");
                return Ok(ExitCode::from(ErrorCode::ApprovalDenied.exit_code()));
            }
        }
        for change in changes {
            if !tool_file::still_says(change.file, &change.old) {
                return Err(changed_meanwhile(change.file));
            }
            tool_file::write(&change.file.path, &change.text, Overwrite::Yes)?;
            if tool_file::is_pinned(change.file) {
                self.crib.pin(&change.file.path, change.text.as_bytes())?;
            }
        }
        let recorded: Vec<&String> = changes.iter().flat_map(|change| &change.tests).collect();
        if self.output.json() {
            let failed: Vec<_> = failed
                .iter()
                .map(|(test, reason)| json!({"test": test, "reason": reason}))
                .collect();
            self.output.document(&json!({"ok": true, "value": {
                "recorded": recorded,
                "failed": failed,
                "diff": diffs.concat(),
            }}));
        } else {
            self.output.say(&match recorded.len() {
                0 => {
                    "nothing to record: every test has its expected result; name one to record it again"
                        .to_owned()
                }
                1 => "recorded 1 test".to_owned(),
                more => format!("recorded {more} tests"),
            });
        }
        Ok(ExitCode::from(u8::from(!failed.is_empty())))
    }
}

/// What came is written into files, where the next one sees what it was.
fn not_a_file(origin: &Origin<'_>) -> CliError {
    let shown = text::visible(origin.shown()).into_owned();
    let message = format!("`{shown}` is kept in the store, and only tests in files are recorded");
    CliError::usage(message).with_hint(format!(
        "`toolcrib edit {shown}` changes its tests, in `impl.tests`"
    ))
}

fn changed_meanwhile(file: &ToolFile) -> CliError {
    let message = format!(
        "`{}` changed meanwhile; nothing was written to it",
        file.shown
    );
    CliError::from(ToolError::new(ErrorCode::Conflict, message)).with_hint("run it again")
}
