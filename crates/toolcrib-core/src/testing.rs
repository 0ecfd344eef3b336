//! Doubles for testing tools and programs that embed Toolcrib (feature `testing`).
//!
//! ```
//! use toolcrib::approval::ApprovalResponse;
//! use toolcrib::testing::TestCrib;
//! use toolcrib::{CallRequest, FnTool};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let test = TestCrib::new().answers([ApprovalResponse::deny("test", "not today")]);
//! let tool = FnTool::new("launch", "Launches", |(), _cx| async { Ok("launched") }).unwrap();
//! test.registry().register(tool.always_ask()).unwrap();
//!
//! let outcome = test.registry().execute(CallRequest::new("launch")).await;
//! assert_eq!(outcome.error().unwrap().message(), "`launch` was not approved: not today");
//! assert_eq!(test.asked().len(), 1);
//! assert_eq!(test.records().len(), 1);
//! # });
//! ```

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::poll::BoxFuture;
use tempfile::TempDir;

use crate::approval::{ApprovalRequest, ApprovalResponse, Approver, NoAnswer};
use crate::record::{CallRecord, Recorder};
use crate::registry::{Registry, RegistryBuilder};
use crate::rules::Rules;
use crate::workspace::Workspace;

/// The steps and bytes that [budgets](crate::model::budget::Budget) of this thread have paid for since this was last asked.
pub fn work_taken() -> (u64, u64) {
    crate::model::budget::taken_on_this_thread()
}

/// Answers from a script, in order, and remembers the questions. When the script is over, no one
/// can be asked.
#[derive(Debug, Clone, Default)]
pub struct ScriptedApprover(Arc<Mutex<Script>>);

#[derive(Debug, Default)]
struct Script {
    answers: VecDeque<Result<ApprovalResponse, NoAnswer>>,
    asked: Vec<ApprovalRequest>,
}

impl ScriptedApprover {
    /// An approver with these answers.
    pub fn new(answers: impl IntoIterator<Item = ApprovalResponse>) -> Self {
        let script = ScriptedApprover::default();
        answers
            .into_iter()
            .for_each(|answer| script.then(Ok(answer)));
        script
    }

    /// Adds an answer, or the lack of one.
    pub fn then(&self, answer: Result<ApprovalResponse, NoAnswer>) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .answers
            .push_back(answer);
    }

    /// The questions so far.
    pub fn asked(&self) -> Vec<ApprovalRequest> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .asked
            .clone()
    }
}

impl Approver for ScriptedApprover {
    fn decide(
        &self,
        request: ApprovalRequest,
    ) -> BoxFuture<'_, Result<ApprovalResponse, NoAnswer>> {
        let mut script = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        script.asked.push(request);
        let over = || {
            Err(NoAnswer::Unavailable(
                "the script has no more answers".to_owned(),
            ))
        };
        Box::pin(std::future::ready(
            script.answers.pop_front().unwrap_or_else(over),
        ))
    }
}

/// Keeps records in memory.
#[derive(Debug, Clone, Default)]
pub struct MemoryRecorder(Arc<Mutex<Vec<CallRecord>>>);

impl MemoryRecorder {
    /// The records so far, oldest first.
    pub fn records(&self) -> Vec<CallRecord> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Recorder for MemoryRecorder {
    fn record(&self, record: CallRecord) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(record);
    }
}

/// A registry with a throw-away workspace, a scripted approver and records in memory.
pub struct TestCrib {
    workspace: TempDir,
    approver: ScriptedApprover,
    recorder: MemoryRecorder,
    builder: Mutex<Option<RegistryBuilder>>,
    registry: OnceLock<Registry>,
}

impl Default for TestCrib {
    fn default() -> Self {
        TestCrib::new()
    }
}

impl TestCrib {
    /// An empty workspace, no tools, no one to ask.
    ///
    /// # Panics
    ///
    /// When no temporary directory can be made.
    pub fn new() -> Self {
        let workspace = TempDir::new().expect("a temporary directory");
        let approver = ScriptedApprover::default();
        let recorder = MemoryRecorder::default();
        let builder = Registry::builder()
            .workspace(Workspace::open(workspace.path()).expect("a directory just made"))
            .approver(approver.clone())
            .recorder(Arc::new(recorder.clone()));
        TestCrib {
            workspace,
            approver,
            recorder,
            builder: Mutex::new(Some(builder)),
            registry: OnceLock::new(),
        }
    }

    /// Adds answers to the script.
    #[must_use]
    pub fn answers(self, answers: impl IntoIterator<Item = ApprovalResponse>) -> Self {
        answers
            .into_iter()
            .for_each(|answer| self.approver.then(Ok(answer)));
        self
    }

    /// Writes a file into the workspace, with its directories.
    ///
    /// # Panics
    ///
    /// When it cannot be written.
    #[must_use]
    pub fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.workspace.path().join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).expect("directories in a temporary directory");
        }
        std::fs::write(path, content).expect("a file in a temporary directory");
        self
    }

    /// Judges calls by these rules. Before the registry is first used.
    #[must_use]
    pub fn rules(self, rules: impl Rules) -> Self {
        self.with(|builder| builder.rules(rules))
    }

    /// Sets up the registry further. Before it is first used.
    #[must_use]
    pub fn with(self, change: impl FnOnce(RegistryBuilder) -> RegistryBuilder) -> Self {
        {
            let mut builder = self.builder.lock().unwrap_or_else(PoisonError::into_inner);
            *builder = builder.take().map(change);
        }
        self
    }

    /// The registry.
    pub fn registry(&self) -> &Registry {
        self.registry.get_or_init(|| {
            let builder = self
                .builder
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            builder.expect("taken once, here").build()
        })
    }

    /// The workspace directory.
    pub fn path(&self) -> &Path {
        self.workspace.path()
    }

    /// The questions asked so far.
    pub fn asked(&self) -> Vec<ApprovalRequest> {
        self.approver.asked()
    }

    /// The records made so far.
    pub fn records(&self) -> Vec<CallRecord> {
        self.recorder.records()
    }
}
