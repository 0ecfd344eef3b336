//! Tests of tools: `/api/tests`. They run as `toolcrib test` runs them: in a throw-away directory, recorded nowhere.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _};
use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolcrib::definition::{Definition, Severity};
use toolcrib::model::text;
use toolcrib::source::{FileDefinition, FileKind, Scope};
use toolcrib::trial::{
    Consent, TestReport, TestStatus, Trial, expects_nothing, observed_expectation, rewrite,
};
use toolcrib::{Crib, ErrorCode, ToolError};

use super::blocking;
use super::work::{refused, shown};
use crate::api::{Answer, Api, ApiRequest, Refusal, Route, Who};

/// How many tests of one request run at once.
const JOBS: usize = 2;

/// Which tests to run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RunTests {
    /// A tool of a file or of the store, by any reference.
    #[serde(default)]
    tool: Option<String>,
    /// Instead of a tool: the text of one, saved or not.
    #[serde(default)]
    content: Option<String>,
    /// What the text's file is called, as `greet.yaml`, or `weather.json` for an HTTP tool.
    #[serde(default)]
    file: Option<String>,
    /// Only the tests of these names.
    #[serde(default)]
    tests: Option<Vec<String>>,
    /// Runs each twice and writes what both showed into the text as what it expects; for `content` only. Without `tests`, only tests
    /// that expect nothing yet.
    #[serde(default)]
    record: bool,
    /// Agrees to what the sandbox does not hold: `elevated` rights, no isolation, the network.
    #[serde(default)]
    everything: bool,
}

/// What came of the tests.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Tested {
    /// Every test that ran, in the order of the file.
    tests: Vec<TestRow>,
    /// How many came as expected.
    passed: usize,
    /// How many did not.
    failed: usize,
    /// The text with what was recorded; nothing was saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    /// What could not be recorded, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    not_recorded: Vec<String>,
}

/// One test.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TestRow {
    /// Its name.
    test: String,
    /// `passed`, `failed`, `skipped` or `cancelled`.
    #[schemars(with = "String")]
    status: TestStatus,
    /// How long it took, with setup and cleanup.
    duration_ms: u64,
    /// The line of the file that it begins in.
    line: usize,
    /// What was expected and did not come.
    mismatches: Vec<MismatchRow>,
    /// Why it was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The exit code of its program.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i64>,
    /// What it printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    /// What went wrong while cleaning up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    cleanup: Vec<String>,
}

/// What was expected and did not come.
#[derive(Debug, Serialize, JsonSchema)]
struct MismatchRow {
    /// The field of `expected`; `call` when the call itself failed.
    field: &'static str,
    /// What was expected.
    expected: Value,
    /// What came.
    actual: Value,
    /// The difference in words.
    message: String,
    /// How two texts differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

impl From<&TestReport> for TestRow {
    fn from(report: &TestReport) -> Self {
        let seen = report.observed.as_ref();
        let mismatches = report.mismatches.iter().map(|one| MismatchRow {
            field: one.field,
            expected: one.expected.clone(),
            actual: one.actual.clone(),
            message: one.message.clone(),
            diff: one.diff.clone(),
        });
        TestRow {
            test: report.test.clone(),
            status: report.status,
            duration_ms: millis(report.duration),
            line: report.at.0,
            mismatches: mismatches.collect(),
            reason: report.skipped.clone(),
            exit_code: seen.and_then(|seen| seen.exit_code),
            output: seen.and_then(|seen| seen.output.clone()),
            cleanup: report.cleanup.clone(),
        }
    }
}

fn millis(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(Method::POST, "/api/tests", Who::Operator, run)
            .named("runTests", "files", "Runs the tests of a tool, also of a text that is not saved.")
            .about(
                "Each runs in its own empty directory, in the sandbox, without a question and without a record. The request ends with the \
                 last test; when its client goes, the tests end.",
            )
            .takes::<RunTests>("The tool, or its text.", || {
                json!({"file": "hello.yaml", "content": "description: Says hello\ntags: [read]\nbash: echo hello\ntests:\n  - name: greets\n    expected: {output-contains: hello}\n"})
            })
            .answers::<Tested>(200, "What came of them.")
            .refuses(404, "There is no such tool, or no such test."),
    ]
}

/// The tool or text under test.
struct Subject {
    definition: FileDefinition,
    bundle: toolcrib::Slug,
    /// Whether the bench does not know it by its file.
    is_new: bool,
    text: Option<(String, String)>,
}

fn run(api: Api, asked: ApiRequest) -> BoxFuture<'static, Answer> {
    async move {
        let wish: RunTests = asked.json()?;
        if wish.record && wish.content.is_none() {
            return Err(Refusal::usage("`record` needs the text as `content`"));
        }
        let crib = Arc::clone(api.crib());
        let (wish, subject) = blocking(move || {
            let subject = subject(&crib, &wish);
            subject.map(|subject| (wish, subject))
        })
        .await
        .map_err(|error| refused(api.crib(), error))?;
        let chosen = chosen(&subject.definition, &wish)?;
        let consent = match wish.everything {
            true => Consent::Everything,
            false => Consent::Sandboxed,
        };
        let crib = Arc::clone(api.crib());
        let (definition, bundle, is_new) = (
            subject.definition.clone(),
            subject.bundle.clone(),
            subject.is_new,
        );
        let bench = blocking(move || {
            let mut bench = crib.bench(consent);
            if let (true, FileDefinition::Command(definition)) = (is_new, &definition) {
                bench.add(bundle, definition);
            }
            bench
        })
        .await;
        let times = if wish.record { 2 } else { 1 };
        let trials = chosen
            .iter()
            .flat_map(|index| std::iter::repeat_n(*index, times))
            .map(|index| Trial {
                tool: subject.definition.clone(),
                index,
            });
        let cancel = api.stopping().child_token();
        // The caller may disconnect: the tests end then.
        let _ended = EndsWith(cancel.clone());
        let reports: Vec<TestReport> = bench
            .run_all(trials.collect(), JOBS, &cancel)
            .collect()
            .await;
        let mut tested = Tested {
            tests: reports.iter().step_by(times).map(TestRow::from).collect(),
            passed: 0,
            failed: 0,
            content: None,
            not_recorded: Vec::new(),
        };
        if let (true, Some((file, text)), FileDefinition::Command(definition)) =
            (wish.record, subject.text, &subject.definition)
        {
            let stem = stem(&file).to_owned();
            record(&mut tested, definition, &chosen, &reports, text, &stem);
        }
        let count = |wanted| {
            let tests = tested.tests.iter();
            tests.filter(|test| test.status == wanted).count()
        };
        (tested.passed, tested.failed) = (count(TestStatus::Passed), count(TestStatus::Failed));
        Ok(shown(api.crib(), StatusCode::OK, &tested))
    }
    .boxed()
}

/// Cancels when it is dropped.
struct EndsWith(CancellationToken);

impl Drop for EndsWith {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

fn stem(file: &str) -> &str {
    FileKind::of(file).map_or("tool", |(_, stem)| stem)
}

fn subject(crib: &Crib, wish: &RunTests) -> Result<Subject, ToolError> {
    match (&wish.tool, &wish.content) {
        (None, Some(content)) => of_text(wish.file.as_deref().unwrap_or("tool.yaml"), content),
        (Some(tool), None) => of_tool(crib, tool),
        _ => Err(ToolError::new(
            ErrorCode::Usage,
            "send `tool`, or `content` for a text",
        )),
    }
}

fn of_text(file: &str, content: &str) -> Result<Subject, ToolError> {
    let kind = FileKind::of(file).map_or(FileKind::Yaml, |(kind, _)| kind);
    let reading = kind.read(content.as_bytes(), stem(file));
    let mut problems = reading.problems.iter();
    if let Some(wrong) = problems.find(|problem| problem.severity == Severity::Error) {
        let message = format!(
            "the text has errors: line {}: {}",
            wrong.line, wrong.message
        );
        return Err(ToolError::new(ErrorCode::InvalidArguments, message));
    }
    match reading.definition {
        Some(definition) => Ok(Subject {
            definition,
            bundle: Scope::Local.bundle(),
            is_new: true,
            text: Some((file.to_owned(), content.to_owned())),
        }),
        None => Err(no_tests("the text")),
    }
}

fn of_tool(crib: &Crib, tool: &str) -> Result<Subject, ToolError> {
    let entry = crib.registry().find(tool)?;
    let bundle = entry.spec().bundle.clone();
    let files = crib.tool_files();
    if let Some(file) = files.file_of(&entry) {
        return match &file.definition {
            Some(definition) => Ok(Subject {
                definition: definition.clone(),
                bundle,
                is_new: false,
                text: None,
            }),
            None => Err(no_tests(&format!("`{}`", entry.spec().name))),
        };
    }
    let record = crib.record_of(&entry);
    let definition = record.and_then(|record| crib.definition_of(&record));
    match definition {
        Some(definition) => Ok(Subject {
            definition,
            bundle,
            is_new: true,
            text: None,
        }),
        None => Err(no_tests(&format!("`{}`", entry.spec().name))),
    }
}

fn no_tests(what: &str) -> ToolError {
    let message = format!("{what} runs no command and sends no request: such tools have no tests");
    ToolError::new(ErrorCode::InvalidArguments, message)
}

/// The places of the wanted tests.
fn chosen(definition: &FileDefinition, wish: &RunTests) -> Result<Vec<usize>, Refusal> {
    let tests = definition.tests();
    let Some(names) = &wish.tests else {
        let wanted = tests.iter().enumerate();
        let wanted = wanted.filter(|(_, test)| !wish.record || expects_nothing(&test.expected));
        return Ok(wanted.map(|(index, _)| index).collect());
    };
    let place = |name: &String| {
        let found = tests.iter().position(|test| test.name == *name);
        found.ok_or_else(|| {
            let name = text::shorten(&text::visible(name), 80);
            Refusal::new(ErrorCode::NotFound, format!("there is no test `{name}`"))
        })
    };
    names.iter().map(place).collect()
}

/// Writes what two runs of each test showed into the text.
fn record(
    tested: &mut Tested,
    definition: &Definition,
    chosen: &[usize],
    reports: &[TestReport],
    text: String,
    stem: &str,
) {
    let mut text = text;
    for (index, runs) in chosen.iter().zip(reports.chunks(2)) {
        let test = &definition.tests[*index];
        let [first, second] = runs else { continue };
        let recorded = observed_expectation(test, [first, second])
            .and_then(|expected| rewrite(&text, stem, *index, &expected));
        match recorded {
            Ok(new) => text = new,
            Err(error) => tested.not_recorded.push(format!("{}: {error}", test.name)),
        }
    }
    tested.content = Some(text);
}
