//! The JSON that vitest and jest write (one format), and mocha's. Lists are read one element at a time, so that a hostile report costs
//! no more memory than its largest element.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::results::{Failure, Results, Spot};

/// How many of one file's failures and left-out tests are kept until its name is known.
const MAX_OF_FILE: usize = 200;

/// Reads the report of vitest or jest.
pub(super) fn read_jest(report: &str) -> Results {
    let mut results = Results::default();
    let mut reader = serde_json::Deserializer::from_str(report);
    let read = Field("testResults", Suites(&mut results)).deserialize(&mut reader);
    finish(results, read.and_then(|()| reader.end()))
}

/// Reads the report of mocha.
pub(super) fn read_mocha(report: &str) -> Results {
    let mut results = Results::default();
    let mut reader = serde_json::Deserializer::from_str(report);
    let read = Field(
        "tests",
        Each(|test: MochaTest| test.end(&mut results), PhantomData),
    )
    .deserialize(&mut reader);
    finish(results, read.and_then(|()| reader.end()))
}

fn finish(mut results: Results, read: Result<(), serde_json::Error>) -> Results {
    if let Err(error) = read {
        results.note(&format!("the report cannot be read to its end: {error}"));
        results.is_cut = true;
    }
    results
}

/// One test of vitest or jest.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JestTest {
    #[serde(default)]
    full_name: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    failure_messages: Option<Vec<String>>,
    location: Option<JestLocation>,
}

#[derive(Deserialize)]
struct JestLocation {
    line: u64,
}

/// The tests of one file, until it is known which.
#[derive(Default)]
struct Suite {
    passed: u64,
    skipped: Vec<String>,
    more_skipped: u64,
    failed: Vec<JestTest>,
    more_failed: u64,
    file: Option<String>,
    status: String,
    message: String,
}

impl Suite {
    fn take(&mut self, test: JestTest) {
        match test.status.as_str() {
            "passed" => self.passed += 1,
            "failed" if self.failed.len() < MAX_OF_FILE => self.failed.push(test),
            "failed" => self.more_failed += 1,
            // pending, skipped, todo, disabled, focused …
            _ if self.skipped.len() < MAX_OF_FILE => self.skipped.push(test.full_name),
            _ => self.more_skipped += 1,
        }
    }

    fn end(self, results: &mut Results) {
        results.passed = results.passed.saturating_add(self.passed);
        self.skipped.iter().for_each(|name| results.skip(name));
        results.skipped = results.skipped.saturating_add(self.more_skipped);
        results.failed = results.failed.saturating_add(self.more_failed);
        results.is_cut |= self.more_failed + self.more_skipped > 0;
        let file = self.file.as_deref();
        // A file that could not be loaded has no test that failed, and says why itself.
        if self.status == "failed" && self.failed.is_empty() && !self.message.trim().is_empty() {
            let at = file.map(|file| spot_in(&self.message, file).unwrap_or(Spot::new(file, None)));
            results.problem(&self.message, at);
        }
        for test in self.failed {
            let message = test.failure_messages.unwrap_or_default().join("\n");
            let declared = test.location.map(|location| location.line);
            let at = file.map(|file| spot_in(&message, file).unwrap_or(Spot::new(file, declared)));
            results.fail(Failure {
                name: test.full_name.trim().to_owned(),
                suite: None,
                at,
                message: without_stack(&message),
            });
        }
    }
}

/// One test of mocha.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MochaTest {
    #[serde(default)]
    full_title: String,
    file: Option<String>,
    duration: Option<f64>,
    speed: Option<String>,
    #[serde(default)]
    err: MochaError,
}

#[derive(Deserialize, Default)]
struct MochaError {
    message: Option<String>,
    stack: Option<String>,
}

impl MochaTest {
    fn end(self, results: &mut Results) {
        let MochaError { message, stack } = self.err;
        if message.is_none() && stack.is_none() {
            // Pending ones have neither.
            return match self.duration.is_none() && self.speed.is_none() {
                true => results.skip(&self.full_title),
                false => results.pass(),
            };
        }
        let stack = stack.unwrap_or_default();
        let at = self
            .file
            .map(|file| spot_in(&stack, &file).unwrap_or(Spot::new(file, None)));
        results.fail(Failure {
            name: self.full_title,
            suite: None,
            at,
            message: message.unwrap_or_else(|| without_stack(&stack)),
        });
    }
}

/// The first place in a file that a stack names: `at Object.<anonymous> (/a/b.test.js:6:15)`, `❯ b.test.js:6:15`, `file:///a/b.js:6:15`.
pub(super) fn spot_in(stack: &str, file: &str) -> Option<Spot> {
    let name = file.rsplit('/').next().filter(|name| !name.is_empty())?;
    stack.lines().find_map(|line| {
        let found = line.find(&format!("{name}:"))?;
        let numbers = &line[found + name.len() + 1..];
        let end = numbers
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(numbers.len());
        Some(Spot::new(file, numbers[..end].parse::<u64>().ok()?))
    })
}

/// A message without the lines of the stack.
fn without_stack(message: &str) -> String {
    let lines: Vec<&str> = message
        .lines()
        .take_while(|line| !line.trim_start().starts_with("at "))
        .collect();
    lines.join("\n").trim().to_owned()
}

/// Gives one field of an object to a reader, and reads past the others.
struct Field<S>(&'static str, S);

impl<'de, S: DeserializeSeed<'de, Value = ()>> DeserializeSeed<'de> for Field<S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, S: DeserializeSeed<'de, Value = ()>> Visitor<'de> for Field<S> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with `{}`", self.0)
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        let mut seed = Some(self.1);
        while let Some(key) = map.next_key::<String>()? {
            match seed.take_if(|_| key == self.0) {
                Some(seed) => map.next_value_seed(seed)?,
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// Gives every element of a list to a function, one at a time.
struct Each<T, F>(F, PhantomData<T>);

impl<'de, T: Deserialize<'de>, F: FnMut(T)> DeserializeSeed<'de> for Each<T, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T: Deserialize<'de>, F: FnMut(T)> Visitor<'de> for Each<T, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of tests")
    }

    fn visit_seq<S: SeqAccess<'de>>(mut self, mut list: S) -> Result<(), S::Error> {
        while let Some(element) = list.next_element::<T>()? {
            (self.0)(element);
        }
        Ok(())
    }
}

/// The files of a report.
struct Suites<'a>(&'a mut Results);

impl<'de> DeserializeSeed<'de> for Suites<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Suites<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of files")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<(), S::Error> {
        while let Some(suite) = list.next_element_seed(OneSuite)? {
            suite.end(self.0);
        }
        Ok(())
    }
}

/// One file of a report.
struct OneSuite;

impl<'de> DeserializeSeed<'de> for OneSuite {
    type Value = Suite;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Suite, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for OneSuite {
    type Value = Suite;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the tests of a file")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Suite, M::Error> {
        let mut suite = Suite::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "name" => suite.file = map.next_value()?,
                "status" => suite.status = map.next_value::<Option<String>>()?.unwrap_or_default(),
                "message" => {
                    suite.message = map.next_value::<Option<String>>()?.unwrap_or_default();
                }
                "assertionResults" => {
                    map.next_value_seed(Each(|test| suite.take(test), PhantomData))?;
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(suite)
    }
}
