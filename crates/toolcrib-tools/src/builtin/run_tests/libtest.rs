//! What the test programs of Rust print (libtest), read from its end: the list of failures and the line that counts them come last,
//! after everything that a test could have printed where it is caught.
//!
//! What cannot be kept apart: a test may write to the output of its program past libtest. It can imitate a line that way, but not the
//! counts at the end, nor the exit code, unless it ends the program itself; the number of tests that was announced has to be accounted
//! for then, too.

use std::collections::HashMap;

use super::results::{Failure, MAX_FAILURES, MAX_MESSAGE, Results, Spot};

/// How many programs are remembered.
const MAX_PROGRAMS: usize = 10_000;
/// The longest name of a test that is kept whole.
const MAX_NAME: usize = 500;
/// How much of a failed test's output is looked at for what went wrong.
const MAX_DETAIL: usize = 4 * MAX_MESSAGE;

/// Reads the output of one test program after another.
#[derive(Debug, Default)]
pub(super) struct Libtest {
    results: Results,
    program: Option<Program>,
    /// What runs now.
    label: Option<Label>,
    /// The programs that were read to their end, and whether one of their tests failed.
    ended: Vec<(Option<Label>, bool)>,
}

/// A test program, as cargo calls it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Label {
    /// What no other program of the run is called.
    pub(super) id: String,
    /// What it is called in results.
    pub(super) shown: String,
}

/// A test program, from its `running N tests` on.
#[derive(Debug, Default)]
struct Program {
    label: Option<Label>,
    announced: u64,
    /// How many results there were line by line.
    done: u64,
    failed: Vec<String>,
    ignored: Vec<String>,
    /// The names after the last `failures:`, while nothing else has followed.
    list: Option<Vec<String>>,
    /// What failed tests printed, by name.
    details: HashMap<String, String>,
    /// Whose output is being read.
    current: Option<String>,
    counts: Option<Counts>,
    /// The failures that the counts came with.
    told: Vec<String>,
    /// Whether there were counts that do not account for the tests.
    is_contradicted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Counts {
    is_ok: bool,
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Libtest {
    /// Says what the next program is.
    pub(super) fn label(&mut self, label: Label) {
        self.label = Some(label);
    }

    /// How many tests are done, and of how many.
    pub(super) fn progress(&self) -> (u64, u64) {
        let (done, announced) = self.program.as_ref().map_or((0, 0), |program| {
            let done = if program.counts.is_some() {
                program.announced
            } else {
                program.done
            };
            (done, program.announced)
        });
        let before = self.results.total();
        (
            before.saturating_add(done),
            before.saturating_add(announced),
        )
    }

    /// Takes a line of standard output.
    pub(super) fn line(&mut self, line: &str) {
        if let Some(announced) = header(line)
            && self.may_begin()
        {
            self.close();
            self.program = Some(Program {
                label: self.label.clone(),
                announced,
                ..Program::default()
            });
        } else if let Some(program) = &mut self.program {
            program.line(line);
        }
    }

    /// A program can begin when there is none, when the one before has said its counts, or when cargo has said that another runs.
    fn may_begin(&self) -> bool {
        self.program
            .as_ref()
            .is_none_or(|program| program.counts.is_some() || program.label != self.label)
    }

    fn close(&mut self) {
        if let Some(program) = self.program.take() {
            let label = program.label.clone();
            let failed = self.results.failed;
            program.close(&mut self.results);
            if self.ended.len() < MAX_PROGRAMS {
                self.ended.push((label, self.results.failed > failed));
            }
        }
    }

    /// What there was.
    pub(super) fn results(mut self) -> (Results, Vec<(Option<Label>, bool)>) {
        self.close();
        (self.results, self.ended)
    }
}

impl Program {
    fn line(&mut self, line: &str) {
        if let Some(counts) = Counts::parse(line) {
            self.take_counts(counts);
            return;
        }
        if line == "failures:" {
            self.list = Some(Vec::new());
            self.detail(line);
            return;
        }
        if let Some(list) = &mut self.list {
            match line.strip_prefix("    ") {
                Some(name) if !name.starts_with(' ') => {
                    if list.len() < 2 * MAX_FAILURES {
                        list.push(short(name));
                    }
                    self.detail(line);
                    return;
                }
                _ if line.is_empty() => {
                    self.detail(line);
                    return;
                }
                _ => self.list = None,
            }
        }
        if let Some(name) = detail_header(line) {
            let name = short(name);
            let is_known = self.details.contains_key(&name);
            if !is_known && self.details.len() < 2 * MAX_FAILURES {
                self.details.insert(name.clone(), String::new());
                self.current = Some(name);
                return;
            }
        }
        if self.current.is_some() {
            self.detail(line);
        } else if let Some((name, verdict)) = result_line(line) {
            self.result(name, verdict);
        }
    }

    fn result(&mut self, name: &str, verdict: &str) {
        self.done = self.done.saturating_add(1).min(self.announced);
        let list = match verdict {
            "FAILED" => &mut self.failed,
            verdict if verdict.starts_with("ignored") => &mut self.ignored,
            _ => return,
        };
        if list.len() < 2 * MAX_FAILURES {
            list.push(short(name));
        }
    }

    fn detail(&mut self, line: &str) {
        let Some(current) = &self.current else { return };
        if let Some(text) = self.details.get_mut(current)
            && text.len() < MAX_DETAIL
        {
            text.push_str(&line[..line.floor_char_boundary(MAX_DETAIL)]);
            text.push('\n');
        }
    }

    /// Takes the counts at the end, if they can be: they account for every test, and come after the list of the failures.
    fn take_counts(&mut self, counts: Counts) {
        let list = self.list.take().unwrap_or_default();
        let accounts = counts.total() == Some(self.announced);
        let listed = if counts.is_ok {
            counts.failed == 0
        } else {
            list.len() as u64 == counts.failed.min(2 * MAX_FAILURES as u64)
        };
        if accounts && listed {
            self.counts = Some(counts);
            self.told = list;
            self.end_last_detail();
        } else if self.current.is_none() {
            self.is_contradicted = true;
        }
    }

    /// The list of failures follows what the last of them printed, and was taken for a part of that.
    fn end_last_detail(&mut self) {
        let Some(last) = self.current.take() else {
            return;
        };
        if let Some(text) = self.details.get_mut(&last)
            && let Some(end) = text.rfind("\nfailures:\n")
        {
            text.truncate(end);
        }
    }

    fn close(self, results: &mut Results) {
        let suite = self.suite();
        if self.is_contradicted {
            results.note("there are results that contradict each other: a test may print lines like those of its program");
        }
        let Some(counts) = self.counts else {
            return self.close_unfinished(results);
        };
        results.passed = results.passed.saturating_add(counts.passed);
        results.failed = results.failed.saturating_add(counts.failed);
        results.skipped = results.skipped.saturating_add(counts.ignored);
        for name in &self.told {
            let detail = self.details.get(name).map_or("", String::as_str);
            results.tell(failure(name, suite.clone(), detail));
        }
        results.is_cut |= (self.told.len() as u64) < counts.failed;
        let most = usize::try_from(counts.ignored).unwrap_or(usize::MAX);
        for name in self.ignored.iter().take(most) {
            results.tell_skipped(name);
        }
        results.is_cut |= (self.ignored.len() as u64) < counts.ignored;
    }

    /// A program that ended before it had told its counts: crashed, killed, or ended by a test.
    fn close_unfinished(self, results: &mut Results) {
        let announced = self.announced;
        let failed = self.failed.len() as u64;
        let ignored = self.ignored.len() as u64;
        let passed = self.done.saturating_sub(failed + ignored);
        results.passed = results.passed.saturating_add(passed);
        for name in &self.failed {
            results.fail(failure(name, self.suite(), ""));
        }
        for name in &self.ignored {
            results.skip(name);
        }
        let suite = self.suite();
        let message = format!(
            "the test program ended before it was done: {} of {announced} tests have a result, and it did not say its own",
            self.done
        );
        results.fail(Failure {
            name: suite.clone().unwrap_or_else(|| "test program".to_owned()),
            suite,
            message,
            at: None,
        });
    }

    fn suite(&self) -> Option<String> {
        self.label.as_ref().map(|label| label.shown.clone())
    }
}

impl Counts {
    /// `test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.01s`
    fn parse(line: &str) -> Option<Self> {
        let rest = line.strip_prefix("test result: ")?;
        let (verdict, rest) = rest.split_once(". ")?;
        let is_ok = match verdict {
            "ok" => true,
            "FAILED" => false,
            _ => return None,
        };
        let count = |word: &str| {
            let mut parts = rest.split(';');
            let number = parts.find_map(|part| part.trim().strip_suffix(word));
            number.and_then(|number| number.trim().parse::<u64>().ok())
        };
        let measured = count("measured").unwrap_or(0);
        Some(Counts {
            is_ok,
            passed: count("passed")?.checked_add(measured)?,
            failed: count("failed")?,
            ignored: count("ignored")?,
        })
    }

    fn total(self) -> Option<u64> {
        self.passed
            .checked_add(self.failed)?
            .checked_add(self.ignored)
    }
}

/// `running 3 tests`
fn header(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("running ")?;
    let number = rest
        .strip_suffix(" tests")
        .or_else(|| rest.strip_suffix(" test"))?;
    number.parse().ok()
}

/// `---- tests::adds stdout ----`
fn detail_header(line: &str) -> Option<&str> {
    let inner = line.strip_prefix("---- ")?.strip_suffix(" ----")?;
    inner
        .strip_suffix(" stdout")
        .or_else(|| inner.strip_suffix(" stderr"))
}

/// `test tests::adds ... ok`, `test tests::fails - should panic ... ok`
fn result_line(line: &str) -> Option<(&str, &str)> {
    let (name, verdict) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let known = verdict == "ok"
        || verdict == "FAILED"
        || verdict.starts_with("ignored")
        || verdict.starts_with("bench:");
    known.then(|| {
        (
            name.strip_suffix(" - should panic").unwrap_or(name),
            verdict,
        )
    })
}

fn short(name: &str) -> String {
    name[..name.floor_char_boundary(MAX_NAME)].to_owned()
}

/// What went wrong with a test, from what it printed.
fn failure(name: &str, suite: Option<String>, detail: &str) -> Failure {
    let panic = panic_in(detail);
    let (mut at, message) = match panic {
        Some((at, message)) => (at, message),
        None => (not_panicked_at(detail), detail.trim().to_owned()),
    };
    if let Some(spot) = doc_test(name) {
        at = Some(spot);
    }
    Failure {
        name: name
            .strip_suffix(" - should panic")
            .unwrap_or(name)
            .to_owned(),
        suite,
        at,
        message,
    }
}

/// `src/lib.rs - adds (line 3)`
fn doc_test(name: &str) -> Option<Spot> {
    let (file, rest) = name.split_once(" - ")?;
    let (_, line) = rest.rsplit_once("(line ")?;
    let (line, _) = line.split_once(')')?;
    Some(Spot::new(file, line.parse::<u64>().ok()?))
}

/// `note: test did not panic as expected at src/lib.rs:30:8`
fn not_panicked_at(detail: &str) -> Option<Spot> {
    let (_, rest) = detail.split_once("did not panic as expected at ")?;
    Spot::parse(rest.lines().next()?)
}

/// Where the first panic was and what it said: today's form, with the message on the lines that follow, and the one before Rust 1.73,
/// with the message in quotes before the place.
fn panic_in(detail: &str) -> Option<(Option<Spot>, String)> {
    let mut lines = detail.lines();
    let said = lines.find_map(|line| {
        let (_, said) = line.strip_prefix("thread '")?.split_once(" panicked at ")?;
        Some(said)
    })?;
    if let Some(quoted) = said.strip_prefix('\'') {
        // A message of several lines ends where the place is.
        let whole: Vec<&str> = std::iter::once(quoted).chain(lines).collect();
        let end = whole.iter().position(|line| line.contains("', "))?;
        let text = whole[..=end].join("\n");
        let (message, place) = text.rsplit_once("', ")?;
        return Some((Spot::parse(place), message.to_owned()));
    }
    let message: Vec<&str> = lines
        .take_while(|line| !line.starts_with("note: ") && *line != "stack backtrace:")
        .collect();
    Some((Spot::parse(said), message.join("\n").trim().to_owned()))
}
