//! Setting up a [`Registry`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Registry;
use crate::approval::grants::GrantStore;
use crate::approval::{ApprovalMemory, Approver, DenyAll};
use crate::limits::{DEFAULT_MAX_CONCURRENT, Gate, RateStore};
use crate::model::ids::CallId;
use crate::model::limits::LimitsPatch;
use crate::model::mask::Secrets;
use crate::policy::Policy;
use crate::record::replay::Replay;
use crate::record::{NoRecord, RecordHooks, Recorder};
use crate::rules::{RuleSet, Rules};
use crate::workspace::Workspace;

/// How deep tools may call tools.
const DEFAULT_MAX_DEPTH: u8 = 8;

/// Sets up a [`Registry`]; every part has a default.
pub struct RegistryBuilder {
    rules: Arc<dyn Rules>,
    approver: Arc<dyn Approver>,
    grants: Option<Arc<dyn GrantStore>>,
    approved_files: Option<Arc<dyn ApprovalMemory>>,
    session: Option<String>,
    recorder: Arc<dyn Recorder>,
    replay: Replay,
    workspace: Option<Arc<Workspace>>,
    secrets: Option<Arc<dyn Secrets>>,
    limits: LimitsPatch,
    max_concurrent: usize,
    rates: Option<Arc<dyn RateStore>>,
    look_every: Duration,
}

impl Default for RegistryBuilder {
    fn default() -> Self {
        RegistryBuilder {
            rules: Arc::new(RuleSet::default()),
            approver: Arc::new(DenyAll::default()),
            grants: None,
            approved_files: None,
            session: None,
            recorder: Arc::new(NoRecord),
            replay: Replay::in_memory(),
            workspace: None,
            secrets: None,
            limits: LimitsPatch::default(),
            max_concurrent: DEFAULT_MAX_CONCURRENT,
            rates: None,
            look_every: Duration::ZERO,
        }
    }
}

impl RegistryBuilder {
    /// Judges calls by these rules; the default is the standard set, [`RuleSet::default`].
    #[must_use]
    pub fn rules(mut self, rules: impl Rules) -> Self {
        self.rules = Arc::new(rules);
        self
    }

    /// Asks this approver; the default reaches no one and so refuses.
    #[must_use]
    pub fn approver(self, approver: impl Approver) -> Self {
        self.shared_approver(Arc::new(approver))
    }

    /// Asks an approver that others hold too.
    #[must_use]
    pub fn shared_approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = approver;
        self
    }

    /// Asks no one about what these grants cover, and keeps new ones with them; the default keeps none.
    #[must_use]
    pub fn grants(mut self, grants: impl GrantStore) -> Self {
        self.grants = Some(Arc::new(grants));
        self
    }

    /// Remembers here which files were approved to run, so that questions can say whether one changed; the default remembers none.
    #[must_use]
    pub fn approved_files(mut self, files: impl ApprovalMemory) -> Self {
        self.approved_files = Some(Arc::new(files));
        self
    }

    /// Says which session the calls belong to, for grants that last as long; the default is a separate session.
    #[must_use]
    pub fn session(mut self, id: impl Into<String>) -> Self {
        self.session = Some(id.into());
        self
    }

    /// Records calls here; the default keeps nothing.
    #[must_use]
    pub fn recorder(mut self, recorder: Arc<dyn Recorder>) -> Self {
        self.recorder = recorder;
        self
    }

    /// Keeps the outcomes of calls with caller-given ids here; the default keeps them in memory.
    #[must_use]
    pub fn replay(mut self, replay: Replay) -> Self {
        self.replay = replay;
        self
    }

    /// Counts calls per minute here; the default counts those of this registry.
    #[must_use]
    pub fn rates(mut self, rates: impl RateStore) -> Self {
        self.rates = Some(Arc::new(rates));
        self
    }

    /// Gives file tools this workspace; without one they cannot be called.
    #[must_use]
    pub fn workspace(mut self, workspace: Workspace) -> Self {
        self.workspace = Some(Arc::new(workspace));
        self
    }

    /// Takes these secrets out of everything that calls give back, tell, ask or leave on record; without a store nothing is
    /// looked for.
    #[must_use]
    pub fn secrets(mut self, secrets: impl Secrets + 'static) -> Self {
        self.secrets = Some(Arc::new(secrets));
        self
    }

    /// Sets the limits of calls. A tool may set tighter limits, not wider ones.
    #[must_use]
    pub fn limits(mut self, patch: &LimitsPatch) -> Self {
        self.limits = *patch;
        self
    }

    /// Sets how many calls may run at once over all tools.
    #[must_use]
    pub fn max_concurrent(mut self, calls: usize) -> Self {
        self.max_concurrent = calls;
        self
    }

    /// Lets calls go by what is known of tools' files for so long; by default every call looks. Changes that this process makes itself
    /// are known at once either way, and so are names that nothing answered to.
    #[must_use]
    pub fn look_every(mut self, pause: Duration) -> Self {
        self.look_every = pause;
        self
    }

    /// Makes the registry.
    pub fn build(self) -> Registry {
        Registry::with_policy(Policy {
            rules: self.rules,
            approver: self.approver,
            grants: self.grants,
            approved_files: self.approved_files,
            session: self
                .session
                .unwrap_or_else(|| CallId::generate().to_string()),
            recorder: self.recorder,
            replay: self.replay,
            workspace: self.workspace,
            secrets: self.secrets,
            limits: self.limits,
            gate: Gate::new(self.max_concurrent),
            rates: self.rates,
            max_depth: DEFAULT_MAX_DEPTH,
            look_every: self.look_every,
            opened: Instant::now(),
            record_hooks: RecordHooks::default(),
        })
    }
}
