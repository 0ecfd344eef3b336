//! The report that pytest writes with `--junitxml` (family xunit1, which has file and line). The program that writes it runs the tests,
//! so that a test could write it as well: it is bounded and read strictly, and its word is held against the exit code.

use super::results::{Failure, Results, Spot};
use super::xml::{Event, Xml};

/// How much text of a failure is looked at.
const MAX_TEXT: usize = 256 * 1024;

/// Reads a report. What was read before something is wrong with it is kept, with a remark.
pub(super) fn read(report: &str) -> Results {
    let mut results = Results::default();
    let mut reading = Reading::default();
    let mut xml = Xml::new(report);
    loop {
        match xml.next() {
            Ok(Some(event)) => reading.take(event, &mut results),
            Ok(None) => return results,
            Err(error) => {
                results.note(&format!("the report cannot be read to its end: {error}"));
                results.is_cut = true;
                return results;
            }
        }
    }
}

#[derive(Default)]
struct Reading {
    case: Option<Case>,
    /// What of the case is being read, if its text matters.
    ending: Option<Ending>,
}

#[derive(Default)]
struct Case {
    name: String,
    class: String,
    file: Option<String>,
    line: Option<u64>,
    ending: Option<Ending>,
}

#[derive(Clone, PartialEq, Eq)]
struct Ending {
    kind: EndingKind,
    message: String,
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EndingKind {
    Skipped,
    Failure,
    Error,
}

impl Reading {
    fn take(&mut self, event: Event<'_>, results: &mut Results) {
        match event {
            Event::Open { name, attributes } => {
                let get = |key: &str| {
                    let found = attributes.iter().find(|(name, _)| *name == key);
                    found.map(|(_, value)| value.clone().into_owned())
                };
                let kind = match name {
                    "testcase" => {
                        self.case = Some(Case {
                            name: get("name").unwrap_or_default(),
                            class: get("classname").unwrap_or_default(),
                            file: get("file"),
                            line: get("line").and_then(|line| line.parse().ok()),
                            ending: None,
                        });
                        return;
                    }
                    "skipped" => EndingKind::Skipped,
                    "failure" => EndingKind::Failure,
                    "error" => EndingKind::Error,
                    _ => return,
                };
                self.ending = Some(Ending {
                    kind,
                    message: get("message").unwrap_or_default(),
                    text: String::new(),
                });
            }
            Event::Text(text) => {
                if let Some(ending) = &mut self.ending {
                    let room = MAX_TEXT.saturating_sub(ending.text.len());
                    ending
                        .text
                        .push_str(&text[..text.floor_char_boundary(room)]);
                }
            }
            Event::Close("testcase") => {
                if let Some(case) = self.case.take() {
                    case.end(results);
                }
            }
            Event::Close("skipped" | "failure" | "error") => {
                let ending = self.ending.take();
                // The first one counts: a test that failed may fail again while it is cleaned up after.
                if let Some(case) = &mut self.case
                    && case.ending.is_none()
                {
                    case.ending = ending;
                }
            }
            Event::Close(_) => {}
        }
    }
}

impl Case {
    fn end(self, results: &mut Results) {
        match &self.ending {
            None => results.pass(),
            Some(ending) if ending.kind == EndingKind::Skipped => results.skip(&self.id()),
            Some(ending) if ending.message == "collection failure" => {
                results.problem(&why(&ending.text), last_spot(&ending.text, None));
            }
            Some(ending) => {
                let file = self.file.as_deref();
                let declared =
                    file.map(|file| Spot::new(file, self.line.map(|line| line.saturating_add(1))));
                let message = match ending.message.trim() {
                    "" => ending.text.trim(),
                    message => message,
                };
                results.fail(Failure {
                    name: self.id(),
                    suite: None,
                    at: last_spot(&ending.text, file).or(declared),
                    message: message.to_owned(),
                });
            }
        }
    }

    /// The name by which pytest runs the test: `tests/test_a.py::TestX::test_y[1]`.
    fn id(&self) -> String {
        let Some(file) = &self.file else {
            return match self.class.as_str() {
                "" => self.name.clone(),
                class => format!("{class}::{}", self.name),
            };
        };
        let module = file.trim_end_matches(".py").replace('/', ".");
        let classes = self.class.strip_prefix(&module).unwrap_or_default();
        format!("{file}{}::{}", classes.replace('.', "::"), self.name)
    }
}

/// The last place that a traceback names in a file, or in any: `tests/test_a.py:12: AssertionError`.
fn last_spot(text: &str, file: Option<&str>) -> Option<Spot> {
    text.lines().rev().find_map(|line| {
        let (place, _) = line.split_once(": ")?;
        let (named, number) = place.rsplit_once(':')?;
        let number: u64 = number.parse().ok()?;
        let fits = match file {
            Some(file) => named == file,
            None => !named.contains(char::is_whitespace) && named.ends_with(".py"),
        };
        fits.then(|| Spot::new(named, number))
    })
}

/// What pytest marks as the reason, or all of it.
fn why(text: &str) -> String {
    let marked: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("E  "))
        .map(str::trim)
        .collect();
    match marked.is_empty() {
        true => text.trim().to_owned(),
        false => marked.join("\n"),
    }
}
