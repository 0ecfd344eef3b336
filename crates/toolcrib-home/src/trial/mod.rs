//! The `tests:` of tools: of YAML tools (S0) each in a throw-away workspace, through the one pipeline, behind the real sandbox; of HTTP
//! tools with answers in the place of the network (`http`).
//!
//! A test never touches the user's workspace, call log, grants or questions: its registry has none of them. Settings and rules
//! are the operator's, so that what is denied stays denied. Tools count as trusted here, and only here: the sandbox holds the
//! directory of the test and nothing else, and what would reach further needs [`Consent::Everything`].
//!
//! What a test's call printed is compared by [`judge`]; writing what came into the file is [`rewrite`].

mod consent;
mod files;
mod http;
mod judge;
mod record;
mod scratch;
mod setup;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::stream::{self, Stream, StreamExt as _};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

pub use consent::Consent;
pub use judge::{Mismatch, Observed, judge};
pub use record::{RecordError, expects_nothing, observed_expectation, rewrite};

use crate::call::request::CallRequest;
use crate::definition::{
    Body, Definition, FilePaths, Program, Resources, Security, TestCase, Validation,
};
use crate::model::JsonObject;
use crate::model::caller::Caller;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::names::{Slug, WireName};
use crate::model::outcome::Outcome;
use crate::sandbox::Level;
use crate::source::FileDefinition;
use crate::workspace::Workspace;
use consent::TestApprover;
use scratch::Scratch;
use setup::Materials;
use toolcrib_core::approval::Approver;

/// How long one command of `setup` or `cleanup` may take.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);

/// The name of the tool that runs such a command.
const COMMAND: &str = "toolcrib-test-command";

/// What a test came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TestStatus {
    /// Everything came as expected.
    Passed,
    /// Something did not.
    Failed,
    /// The tool cannot run on this system.
    Skipped,
    /// Someone ended it.
    Cancelled,
}

/// What came of one test.
#[derive(Debug, Clone)]
pub struct TestReport {
    /// The tool's wire name.
    pub tool: String,
    /// The test's name.
    pub test: String,
    /// Where the test is in its file: line and column, from 1.
    pub at: (usize, usize),
    /// What it came to.
    pub status: TestStatus,
    /// What was expected and did not come.
    pub mismatches: Vec<Mismatch>,
    /// Why it was skipped.
    pub skipped: Option<String>,
    /// What the call showed, if there was one.
    pub observed: Option<Observed>,
    /// The files it left in its workspace, before cleanup.
    pub files: Vec<String>,
    /// What went wrong while cleaning up. The directory is gone all the same, so the test does not fail by it.
    pub cleanup: Vec<String>,
    /// How long it took, cleanup included.
    pub duration: Duration,
}

/// One test of one tool.
#[derive(Debug, Clone)]
pub struct Trial {
    /// The tool.
    pub tool: FileDefinition,
    /// Which of its tests.
    pub index: usize,
}

impl TestReport {
    /// Adds what else was expected and did not come.
    fn fail_by(&mut self, mismatches: Vec<Mismatch>) {
        if !mismatches.is_empty() && self.status == TestStatus::Passed {
            self.status = TestStatus::Failed;
        }
        self.mismatches.extend(mismatches);
    }
}

impl Trial {
    /// All tests of a tool, in the order of the file.
    pub fn all(tool: &FileDefinition) -> Vec<Trial> {
        let trial = |index| Trial {
            tool: tool.clone(),
            index,
        };
        (0..tool.tests().len()).map(trial).collect()
    }

    /// The test.
    pub fn test(&self) -> &TestCase {
        self.tool.tests()[self.index]
    }
}

/// One test of a command tool.
struct CommandTrial {
    tool: Arc<Definition>,
    index: usize,
}

impl CommandTrial {
    fn test(&self) -> &TestCase {
        &self.tool.tests[self.index]
    }
}

/// A registry to be set up for one call.
struct Stage<'a> {
    /// The throw-away workspace.
    workspace: Workspace,
    /// The decider.
    approver: Arc<dyn Approver>,
    /// The tool to be called: it takes the place of whatever else has its name.
    tool: &'a Arc<Definition>,
}

/// Where tests run: the tools they can use, and what they may do.
pub struct Bench {
    materials: Materials,
    tools: Arc<BTreeMap<String, Arc<Definition>>>,
    open_builtins: Vec<&'static str>,
    consent: Consent,
}

impl Bench {
    fn new(materials: Materials, consent: Consent) -> Self {
        let mut tools = BTreeMap::new();
        for known in &materials.tools {
            tools
                .entry(known.definition.name.to_string())
                .or_insert_with(|| Arc::clone(&known.definition));
        }
        let sandbox = &materials.builtins.sandbox;
        let levels = [("shell", sandbox.shell), ("run_code", sandbox.code)];
        let open_builtins = levels
            .into_iter()
            .filter(|(_, level)| *level == Some(Level::None))
            .map(|(name, _)| name)
            .collect();
        Bench {
            materials,
            tools: Arc::new(tools),
            open_builtins,
            consent,
        }
    }

    /// Makes a tool known that has no file: one of the store that is tested, or that such a tool uses.
    pub fn add(&mut self, bundle: Slug, definition: &Arc<Definition>) {
        self.materials.tools.push(setup::TrialTool {
            bundle,
            directory: None,
            definition: Arc::clone(definition),
        });
        Arc::make_mut(&mut self.tools)
            .entry(definition.name.to_string())
            .or_insert_with(|| Arc::clone(definition));
    }

    /// Runs tests, `jobs` at once, each in its own workspace; reports come in the order of the tests. When `cancel` is
    /// cancelled, those that run are ended and cleaned up after, and the rest does not start.
    pub fn run_all<'a>(
        &'a self,
        trials: Vec<Trial>,
        jobs: usize,
        cancel: &'a CancellationToken,
    ) -> impl Stream<Item = TestReport> + 'a {
        let runs = trials
            .into_iter()
            .map(move |trial| async move { self.run(&trial, cancel).await });
        stream::iter(runs).buffered(jobs.max(1))
    }

    /// Runs one test.
    pub async fn run(&self, trial: &Trial, cancel: &CancellationToken) -> TestReport {
        let started = Instant::now();
        let test = trial.test();
        let mut report = TestReport {
            tool: trial.tool.name().to_string(),
            test: test.name.clone(),
            at: test.at,
            status: TestStatus::Cancelled,
            mismatches: Vec::new(),
            skipped: None,
            observed: None,
            files: Vec::new(),
            cleanup: Vec::new(),
            duration: Duration::ZERO,
        };
        if !cancel.is_cancelled() {
            match &trial.tool {
                FileDefinition::Http(tool) => {
                    let test = &tool.tests[trial.index];
                    self.run_http(tool, test, cancel, &mut report).await;
                }
                FileDefinition::Command(tool) => match elsewhere(tool) {
                    Some(why) => {
                        report.status = TestStatus::Skipped;
                        report.skipped = Some(why);
                    }
                    None => {
                        let trial = CommandTrial {
                            tool: Arc::clone(tool),
                            index: trial.index,
                        };
                        self.run_into(&trial, cancel, &mut report).await;
                    }
                },
            }
        }
        report.duration = started.elapsed();
        report
    }

    async fn run_into(
        &self,
        trial: &CommandTrial,
        cancel: &CancellationToken,
        report: &mut TestReport,
    ) {
        let test = trial.test();
        let scratch = match blocking(Scratch::new).await {
            Ok(Ok(scratch)) => scratch,
            Ok(Err(error)) => return cannot_start(report, &error.to_string()),
            Err(error) => return cannot_start(report, error.message()),
        };
        let args: JsonObject = test.parameters.iter().cloned().collect();
        if let Err(why) = self.set_up(&scratch, trial, &args).await {
            cannot_start(report, &why);
            self.remove(scratch, report).await;
            return;
        }
        let request = CallRequest::new(trial.tool.name.as_str())
            .args(args.clone())
            .cancel_with(cancel.clone());
        match self.call(&scratch, &trial.tool, request).await {
            Ok(outcome) => {
                report.files = scratch.files();
                self.compare(test, &outcome, &scratch, report);
            }
            Err(error) => cannot_start(report, error.message()),
        }
        for (index, command) in test.cleanup.iter().enumerate() {
            let failed = self.command(&scratch, trial, command, args.clone()).await;
            if let Err(error) = failed {
                report.cleanup.push(command_failed(command, index, &error));
            }
        }
        self.remove(scratch, report).await;
    }

    async fn remove(&self, scratch: Scratch, report: &mut TestReport) {
        match blocking(|| scratch.remove()).await {
            Ok(Ok(())) => {}
            Ok(Err(left)) => report.cleanup.push(left),
            Err(error) => report.cleanup.push(error.message().to_owned()),
        }
    }

    /// Puts the files of a test in its workspace, and runs its `setup`; the error says why the call would mean nothing.
    async fn set_up(
        &self,
        scratch: &Scratch,
        trial: &CommandTrial,
        args: &JsonObject,
    ) -> Result<(), String> {
        let test = trial.test();
        if let Some(from) = &test.files_from {
            let beside = self.materials.directory_of(&trial.tool);
            let beside =
                beside.ok_or("`files-from` is beside the tool's file, and the tool has none")?;
            let (from, to) = (beside.join(from), scratch.root().to_owned());
            let copied = blocking(move || files::copy(&beside, &from, &to)).await;
            copied.map_err(|error| error.message().to_owned())??;
        }
        let workspace = scratch.workspace().map_err(|error| error.to_string())?;
        for (path, text) in &test.files {
            files::write(&workspace, scratch.root(), path, text)?;
        }
        for (index, command) in test.setup.iter().enumerate() {
            let ran = self.command(scratch, trial, command, args.clone()).await;
            ran.map_err(|error| format!("setup: {}", command_failed(command, index, &error)))?;
        }
        Ok(())
    }

    fn compare(
        &self,
        test: &TestCase,
        outcome: &Outcome,
        scratch: &Scratch,
        report: &mut TestReport,
    ) {
        let seen = Observed::of(outcome);
        match scratch.workspace() {
            Ok(workspace) => report.mismatches = judge(&test.expected, &seen, &workspace),
            // A tool that takes its own workspace away.
            Err(error) => return cannot_start(report, &error.to_string()),
        }
        let was_cancelled = seen
            .error
            .as_ref()
            .is_some_and(|error| error.code() == ErrorCode::Cancelled);
        report.status = match (report.mismatches.is_empty(), was_cancelled) {
            (true, _) => TestStatus::Passed,
            (false, true) => TestStatus::Cancelled,
            (false, false) => TestStatus::Failed,
        };
        report.observed = Some(seen);
    }

    /// Calls a tool in a registry that exists for this one call: with it go the sandboxes that were kept for the next one, and
    /// what they had put in the workspace.
    async fn call(
        &self,
        scratch: &Scratch,
        tool: &Arc<Definition>,
        request: CallRequest,
    ) -> Result<Outcome, ToolError> {
        let open = || {
            let opened = scratch.workspace();
            opened.map_err(|error| ToolError::failed(error.to_string()))
        };
        let approver = TestApprover {
            consent: self.consent,
            workspace: open()?,
            tool: Arc::clone(tool),
            tools: Arc::clone(&self.tools),
            open_builtins: self.open_builtins.clone(),
        };
        let registry = self.materials.open(Stage {
            workspace: open()?,
            approver: Arc::new(approver),
            tool,
        })?;
        let outcome = registry.execute(request.caller(Caller::Cli)).await;
        blocking(move || drop(registry)).await?;
        Ok(outcome)
    }

    /// Runs a command of `setup` or `cleanup` as what it is: a command tool that takes the same arguments.
    async fn command(
        &self,
        scratch: &Scratch,
        trial: &CommandTrial,
        command: &Program,
        args: JsonObject,
    ) -> Result<(), ToolError> {
        let tool = Arc::new(command_tool(&trial.tool, command)?);
        // What an alias passes on to its base, the command cannot name.
        let is_own = |name: &String| tool.parameters.iter().any(|known| known.name == *name);
        let args = args.into_iter().filter(|(name, _)| is_own(name));
        let request = CallRequest::new(tool.name.as_str()).args(args.collect());
        let outcome = self.call(scratch, &tool, request).await?;
        outcome.into_result().map(drop)
    }
}

/// How two texts differ, line by line, for a person to read; empty if they are the same.
pub fn diff(name: &str, old: &str, new: &str) -> String {
    crate::builtin::unified_diff(name, old, new)
}

/// Does what blocks where it holds up no one.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ToolError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| ToolError::new(ErrorCode::Internal, error.to_string()))
}

fn cannot_start(report: &mut TestReport, why: &str) {
    report.status = TestStatus::Failed;
    report.mismatches.push(Mismatch {
        field: "call",
        expected: serde_json::Value::Null,
        actual: serde_json::Value::Null,
        message: format!("the test could not be run: {why}"),
        diff: None,
    });
}

/// Why the tests of a tool mean nothing on this system, if it is for others only.
fn elsewhere(tool: &Definition) -> Option<String> {
    use crate::definition::Platform;
    let here = |platform: &Platform| match platform {
        Platform::Windows => cfg!(windows),
        Platform::Linux => cfg!(target_os = "linux"),
        Platform::Macos => cfg!(target_os = "macos"),
        Platform::Unix => cfg!(unix),
    };
    let is_elsewhere = !tool.platforms.is_empty() && !tool.platforms.iter().any(here);
    is_elsewhere.then(|| "the tool is for other systems (`platforms`)".to_owned())
}

/// What went wrong with a command of `setup` or `cleanup`.
fn command_failed(command: &Program, index: usize, error: &ToolError) -> String {
    // The name of the tool that runs it says nothing to anybody.
    let name = format!("`{COMMAND}` ");
    let why = error.message().replace(&name, "");
    format!(
        "`{}` (number {}): {why}",
        command.source.trim_end(),
        index + 1
    )
}

/// A tool that runs one command of `setup` or `cleanup` of another's test: same parameters, nothing else of it. It takes what the tool itself
/// refused: what is to be cleaned up may have come about before.
fn command_tool(tool: &Definition, command: &Program) -> Result<Definition, ToolError> {
    let (name, slug) = (WireName::parse(COMMAND), Slug::parse(COMMAND));
    let (Ok(name), Ok(slug)) = (name, slug) else {
        return Err(ToolError::new(ErrorCode::Internal, "not a name"));
    };
    let mut parameters = tool.parameters.clone();
    for parameter in &mut parameters {
        parameter.required = false;
        parameter.validation = Validation::default();
    }
    Ok(Definition {
        name,
        slug,
        parameters,
        description: format!("A command of a test of {}", tool.name),
        body: Body::Command(command.clone()),
        security: Security::default(),
        paths: FilePaths::default(),
        resources: Resources::default(),
        interactive: None,
        tests: Vec::new(),
        changelog: Vec::new(),
        tags: vec!["write".to_owned(), "run".to_owned()],
        platforms: Vec::new(),
        timeout: Some(COMMAND_TIMEOUT),
        ignore_errors: false,
        input: None,
        ..tool.clone()
    })
}
