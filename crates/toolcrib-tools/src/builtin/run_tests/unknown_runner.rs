//! The output of a run that no one described: `make test`, an npm script. What libtest, pytest and TAP print is recognised; whatever it
//! is, the exit code decides.

use std::borrow::Cow;

use super::libtest::Libtest;
use super::results::{Failure, Results, Spot};
use super::tap::Tap;
use super::watch::{Ended, Reader};
use crate::call::event::OutputStream;

/// Reads whatever is printed.
#[derive(Debug, Default)]
pub(super) struct Loose {
    libtest: Libtest,
    tap: Tap,
    pytest: Pytest,
}

impl Reader for Loose {
    fn line<'a>(&mut self, stream: OutputStream, line: &'a str) -> Option<Cow<'a, str>> {
        if stream == OutputStream::Stdout {
            self.libtest.line(line);
            self.tap.line(line);
            self.pytest.line(line);
        }
        Some(line.into())
    }

    fn progress(&self) -> Option<(u64, Option<u64>)> {
        let done = self.libtest.progress().0 + self.tap.done();
        (done > 0).then_some((done, None))
    }

    fn results(self: Box<Self>, _ended: Ended) -> Results {
        let Loose {
            libtest,
            tap,
            pytest,
        } = *self;
        let mut all = Results::default();
        for part in [libtest.results().0, tap.results(), pytest.results] {
            all.passed = all.passed.saturating_add(part.passed);
            all.failed = all.failed.saturating_add(part.failed);
            all.skipped = all.skipped.saturating_add(part.skipped);
            all.is_cut |= part.is_cut;
            part.failures
                .into_iter()
                .for_each(|failure| all.tell(failure));
            part.skipped_tests
                .iter()
                .for_each(|name| all.tell_skipped(name));
            for problem in part.problems {
                all.problem(&problem.message, problem.at);
            }
        }
        all
    }
}

/// The summary at the end of pytest's output.
#[derive(Debug, Default)]
struct Pytest {
    results: Results,
}

impl Pytest {
    fn line(&mut self, line: &str) {
        if let Some((name, message)) = short_summary(line) {
            let file = name.split("::").next().unwrap_or(name);
            self.results.tell(Failure {
                name: name.to_owned(),
                suite: None,
                at: Some(Spot::new(file, None)),
                message: message.to_owned(),
            });
        } else if let Some((passed, failed, skipped)) = totals(line) {
            let results = &mut self.results;
            results.passed = results.passed.saturating_add(passed);
            results.failed = results.failed.saturating_add(failed);
            results.skipped = results.skipped.saturating_add(skipped);
        }
    }
}

/// `FAILED tests/test_a.py::test_x - AssertionError: …`
fn short_summary(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix("FAILED ")?;
    let (name, message) = rest.split_once(" - ").unwrap_or((rest, ""));
    name.contains(".py::").then_some((name, message))
}

/// `==== 1 failed, 2 passed, 1 skipped in 0.12s ====`, with `-q` without the bars.
fn totals(line: &str) -> Option<(u64, u64, u64)> {
    let inner = line.trim_matches('=').trim();
    let (counts, time) = inner.rsplit_once(" in ")?;
    if !time.starts_with(|c: char| c.is_ascii_digit()) || !time.contains('s') {
        return None;
    }
    let (mut passed, mut failed, mut skipped) = (0u64, 0u64, 0u64);
    for part in counts.split(", ") {
        let (number, word) = part.split_once(' ')?;
        let number: u64 = number.parse().ok()?;
        let count = match word {
            "passed" | "xpassed" => &mut passed,
            "failed" | "error" | "errors" => &mut failed,
            "skipped" | "xfailed" => &mut skipped,
            "warning" | "warnings" | "deselected" | "rerun" | "subtests passed" => continue,
            _ => return None,
        };
        *count = count.checked_add(number)?;
    }
    Some((passed, failed, skipped))
}
