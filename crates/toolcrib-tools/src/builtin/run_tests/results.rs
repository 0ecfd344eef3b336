//! What a run of tests came to, within bounds: a suite can have any number of tests, and each can say any amount.

use crate::model::text;

/// How many failures are reported.
pub(super) const MAX_FAILURES: usize = 100;
/// How many reasons are reported why tests could not be built or started.
const MAX_PROBLEMS: usize = 50;
/// How many tests that were left out are named.
const MAX_SKIPPED: usize = 100;
/// The longest message of a failure, in bytes.
pub(super) const MAX_MESSAGE: usize = 2000;
/// The longest name of a test, in bytes.
const MAX_NAME: usize = 400;
/// How many remarks there are at most.
const MAX_NOTES: usize = 5;

/// The results of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Results {
    pub(super) passed: u64,
    pub(super) failed: u64,
    pub(super) skipped: u64,
    pub(super) failures: Vec<Failure>,
    /// The names of tests that were left out.
    pub(super) skipped_tests: Vec<String>,
    /// Why tests could not be built or started.
    pub(super) problems: Vec<Failure>,
    /// Further notes for the reader.
    pub(super) notes: Vec<String>,
    /// Whether there is more of something than fits.
    pub(super) is_cut: bool,
}

/// A test that failed, or what kept tests from running.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) name: String,
    /// Which of several programs or packages the test is in.
    pub(super) suite: Option<String>,
    pub(super) at: Option<Spot>,
    pub(super) message: String,
}

/// A line of a file, as a program named it: no one has looked whether it is there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) file: String,
    pub(super) line: Option<u64>,
}

impl Spot {
    pub(super) fn new(file: impl Into<String>, line: impl Into<Option<u64>>) -> Self {
        Spot {
            file: file.into(),
            line: line.into(),
        }
    }

    /// Reads `file:line`, `file:line:column`, or either with a colon or a bracket at the end.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_end_matches([':', ')', ',']);
        let (front, last) = text.rsplit_once(':')?;
        let last: u64 = last.parse().ok()?;
        let spot = match front.rsplit_once(':') {
            Some((file, line)) if line.parse::<u64>().is_ok() && !file.is_empty() => {
                Spot::new(file, line.parse().ok())
            }
            _ => Spot::new(front, last),
        };
        (!spot.file.is_empty() && spot.file.len() <= MAX_NAME).then_some(spot)
    }
}

impl Results {
    pub(super) fn total(&self) -> u64 {
        self.passed
            .saturating_add(self.failed)
            .saturating_add(self.skipped)
    }

    pub(super) fn pass(&mut self) {
        self.passed = self.passed.saturating_add(1);
    }

    pub(super) fn fail(&mut self, failure: Failure) {
        self.failed = self.failed.saturating_add(1);
        self.tell(failure);
    }

    /// Reports a failure that is counted already.
    pub(super) fn tell(&mut self, failure: Failure) {
        if self.failures.len() < MAX_FAILURES {
            let failure = self.within_bounds(failure);
            self.failures.push(failure);
        } else {
            self.is_cut = true;
        }
    }

    pub(super) fn skip(&mut self, name: &str) {
        self.skipped = self.skipped.saturating_add(1);
        self.tell_skipped(name);
    }

    /// Names a test that was left out and is counted already.
    pub(super) fn tell_skipped(&mut self, name: &str) {
        if self.skipped_tests.len() < MAX_SKIPPED {
            let name = clip(name, MAX_NAME, &mut self.is_cut);
            self.skipped_tests.push(name);
        } else {
            self.is_cut = true;
        }
    }

    /// Says why tests could not be built or started.
    pub(super) fn problem(&mut self, message: &str, at: Option<Spot>) {
        let problem = Failure {
            at,
            message: message.to_owned(),
            ..Failure::default()
        };
        let problem = self.within_bounds(problem);
        if self.problems.contains(&problem) {
            return;
        }
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(problem);
        } else {
            self.is_cut = true;
        }
    }

    pub(super) fn note(&mut self, note: &str) {
        if self.notes.len() < MAX_NOTES && self.notes.iter().all(|old| old != note) {
            self.notes.push(note.to_owned());
        }
    }

    fn within_bounds(&mut self, failure: Failure) -> Failure {
        let cut = &mut self.is_cut;
        Failure {
            name: clip(&failure.name, MAX_NAME, cut),
            suite: failure.suite.map(|suite| clip(&suite, MAX_NAME, cut)),
            message: clip(failure.message.trim(), MAX_MESSAGE, cut),
            at: failure.at,
        }
    }
}

/// A text without colours, fit to be shown, and its beginning if it is too long.
fn clip(text: &str, max: usize, is_cut: &mut bool) -> String {
    let plain = without_colours(text);
    *is_cut |= plain.len() > max;
    text::shorten(&plain, max)
}

/// A text without the escapes that make terminals show colours.
pub(super) fn without_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        let end = after.find(|c: char| !c.is_ascii_digit() && !matches!(c, ';' | ':' | '?'));
        rest = match end {
            Some(end) => {
                let width = after[end..].chars().next().map_or(0, char::len_utf8);
                &after[end + width..]
            }
            None => "",
        };
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_with_and_without_a_column() {
        for (text, file, line) in [
            ("src/lib.rs:10:5:", "src/lib.rs", 10),
            ("src/lib.rs:10:5", "src/lib.rs", 10),
            ("a b.py:3", "a b.py", 3),
            ("/x/y.js:6:15)", "/x/y.js", 6),
            ("C:7", "C", 7),
        ] {
            assert_eq!(Spot::parse(text), Some(Spot::new(file, line)), "{text}");
        }
        for text in ["", ":", ":3", "a:b", "a:99999999999999999999999", "a"] {
            assert_eq!(Spot::parse(text), None, "{text}");
        }
    }

    #[test]
    fn whatever_comes_stays_within_bounds() {
        let mut results = Results::default();
        for number in 0..10_000 {
            results.fail(Failure {
                name: "n".repeat(5000),
                message: format!("{number}{}", "m".repeat(5000)),
                ..Failure::default()
            });
            results.skip(&"s".repeat(5000));
            results.problem(&number.to_string(), None);
            results.note(&number.to_string());
        }
        assert_eq!((results.failed, results.skipped), (10_000, 10_000));
        assert_eq!(results.failures.len(), MAX_FAILURES);
        assert!(results.is_cut && results.notes.len() == MAX_NOTES);
        assert!(results.failures[0].message.len() < MAX_MESSAGE + 10);
    }

    #[test]
    fn colours_go_and_text_stays() {
        assert_eq!(without_colours("\u{1b}[31mred\u{1b}[0m é"), "red é");
        assert_eq!(without_colours("a\u{1b}[1;2"), "a");
        assert_eq!(without_colours("\u{1b}[éx"), "x");
        assert_eq!(without_colours("plain"), "plain");
    }
}
