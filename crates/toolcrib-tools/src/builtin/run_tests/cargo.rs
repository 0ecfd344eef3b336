//! `cargo test --message-format=json`: what the compiler says comes as JSON until cargo says that the build is over, what the test
//! programs say as text after that. Nothing that a test prints is read as a message of the compiler.

use std::borrow::Cow;

use serde::Deserialize;

use super::libtest::{Label, Libtest};
use super::results::{Failure, Results, Spot};
use super::watch::{Ended, Reader};
use crate::call::event::OutputStream;

/// How many lines of cargo's own errors are kept, and how many programs that failed.
const MAX_LINES: usize = 40;

/// Reads the output of cargo.
#[derive(Debug, Default)]
pub(super) struct Cargo {
    build: Build,
    errors: Results,
    tests: Libtest,
    /// What cargo says is wrong before there is a build.
    complaint: Vec<String>,
    /// What cargo says about programs that did not end well.
    ended_badly: Vec<String>,
    labels: Vec<Label>,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Build {
    #[default]
    Runs,
    Failed,
    Done,
}

#[derive(Deserialize)]
struct Message {
    reason: String,
    success: Option<bool>,
    message: Option<Diagnostic>,
}

#[derive(Deserialize)]
struct Diagnostic {
    message: String,
    level: String,
    rendered: Option<String>,
    #[serde(default)]
    spans: Vec<Span>,
}

#[derive(Deserialize)]
struct Span {
    file_name: String,
    line_start: u64,
    is_primary: bool,
}

impl Reader for Cargo {
    fn line<'a>(&mut self, stream: OutputStream, line: &'a str) -> Option<Cow<'a, str>> {
        match stream {
            OutputStream::Stderr => {
                self.cargo_says(line);
                Some(line.into())
            }
            OutputStream::Stdout if self.build == Build::Runs && line.starts_with('{') => {
                let message = serde_json::from_str(line).ok()?;
                self.compiler_says(message).map(Cow::Owned)
            }
            OutputStream::Stdout => {
                if self.build == Build::Done {
                    self.tests.line(line);
                }
                Some(line.into())
            }
        }
    }

    fn progress(&self) -> Option<(u64, Option<u64>)> {
        let (done, announced) = self.tests.progress();
        (announced > 0).then_some((done, Some(announced)))
    }

    fn results(self: Box<Self>, ended: Ended) -> Results {
        let (mut results, programs) = self.tests.results();
        results.problems = self.errors.problems;
        results.is_cut |= self.errors.is_cut;
        let is_unexplained = self.build != Build::Done && results.problems.is_empty();
        if is_unexplained && ended.exit_code != 0 && !self.complaint.is_empty() {
            let complaint = self.complaint.join("\n");
            results.problem(&complaint, None);
            if complaint.contains("Permission denied") {
                results.note("nothing outside of the workspace can be read; if the project reaches further up, make that the workspace");
            }
        }
        for line in &self.ended_badly {
            let label = self.labels.iter().find(|label| is_about(line, label));
            let is_told =
                |(program, failed): &(Option<Label>, bool)| *failed && program.as_ref() == label;
            let how = how_it_ended(line);
            // rustdoc, whose tests have said so themselves.
            if label.is_none() && how == "exit status: 101" && results.failed > 0 {
                continue;
            }
            if let Some(told) = label.filter(|_| programs.iter().any(is_told)) {
                explain(&mut results, &told.shown, how);
            } else {
                let suite = label.map(|label| label.shown.clone());
                results.fail(Failure {
                    name: suite.clone().unwrap_or_else(|| "test program".to_owned()),
                    suite,
                    message: format!("the test program failed: {how}"),
                    at: None,
                });
            }
        }
        results
    }
}

impl Cargo {
    fn compiler_says(&mut self, message: Message) -> Option<String> {
        match (message.reason.as_str(), message.message) {
            ("build-finished", _) => {
                self.build = match message.success {
                    Some(true) => Build::Done,
                    _ => Build::Failed,
                };
                None
            }
            ("compiler-message", Some(diagnostic)) => {
                if diagnostic.level.starts_with("error") {
                    self.error(&diagnostic);
                }
                diagnostic.rendered
            }
            _ => None,
        }
    }

    fn error(&mut self, diagnostic: &Diagnostic) {
        let span = diagnostic.spans.iter().find(|span| span.is_primary);
        let at = span.map(|span| Spot::new(span.file_name.clone(), span.line_start));
        // "aborting due to 2 previous errors" says nothing new.
        if at.is_some() || self.errors.problems.is_empty() {
            self.errors.problem(&diagnostic.message, at);
        }
    }

    fn cargo_says(&mut self, line: &str) {
        let words = line.trim_start();
        let label = match words.strip_prefix("Running ") {
            Some(program) if self.build == Build::Done => Some(label_of(program)),
            _ => words.strip_prefix("Doc-tests ").map(|package| Label {
                id: words.to_owned(),
                shown: format!("{package} (doc tests)"),
            }),
        };
        if let Some(label) = label {
            if self.labels.len() < 1000 {
                self.labels.push(label.clone());
            }
            self.tests.label(label);
        } else if words.starts_with("process didn't exit successfully: ")
            && self.build == Build::Done
            && self.ended_badly.len() < MAX_LINES
        {
            self.ended_badly.push(words.to_owned());
        } else if self.build != Build::Done
            && (words.starts_with("error") || !self.complaint.is_empty())
            && self.complaint.len() < MAX_LINES
        {
            self.complaint.push(line.to_owned());
        }
    }
}

/// `unittests src/lib.rs (target/debug/deps/adder-0123456789abcdef)`; before cargo 1.56 the path alone.
fn label_of(program: &str) -> Label {
    let path = program
        .rsplit_once('(')
        .map(|(_, path)| path.trim_end_matches(')'));
    let file = path
        .unwrap_or(program)
        .rsplit('/')
        .next()
        .unwrap_or(program);
    let name = file.rsplit_once('-').map_or(file, |(name, _)| name);
    let target = path
        .and_then(|_| program.rsplit_once(" ("))
        .map(|(target, _)| target);
    Label {
        id: program.to_owned(),
        shown: match target {
            Some(target) => format!("{name} ({target})"),
            None => name.to_owned(),
        },
    }
}

/// Whether a line about a program is about this one: the file's name has a hash in it.
fn is_about(line: &str, label: &Label) -> bool {
    let path = label.id.rsplit('(').next().unwrap_or(&label.id);
    let file = path
        .trim_end_matches(')')
        .rsplit('/')
        .next()
        .unwrap_or(path);
    !file.is_empty() && line.contains(file)
}

/// `process didn't exit successfully: … (signal: 11, SIGSEGV: invalid memory reference)`
fn how_it_ended(line: &str) -> &str {
    line.rsplit_once(" (")
        .map_or(line, |(_, how)| how.trim_end_matches(')'))
}

/// Adds to the failure of a program that ended before it was done how it did.
fn explain(results: &mut Results, suite: &str, how: &str) {
    let program = results
        .failures
        .iter_mut()
        .find(|failure| failure.name == suite);
    if let Some(program) = program {
        program.message = format!("{} ({how})", program.message);
    }
}
