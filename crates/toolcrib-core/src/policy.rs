//! [`Policy`]: what every call of a registry is subject to.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::approval::grants::GrantStore;
use crate::approval::{ApprovalMemory, Approver};
use crate::limits::{Gate, RateStore};
use crate::model::limits::LimitsPatch;
use crate::model::mask::{Masker, Secrets};
use crate::record::replay::Replay;
use crate::record::{RecordHooks, Recorder};
use crate::rules::Rules;
use crate::workspace::Workspace;

/// What every call of a registry is subject to.
pub(crate) struct Policy {
    pub(crate) rules: Arc<dyn Rules>,
    pub(crate) approver: Arc<dyn Approver>,
    pub(crate) grants: Option<Arc<dyn GrantStore>>,
    /// Which files were approved to run.
    pub(crate) approved_files: Option<Arc<dyn ApprovalMemory>>,
    /// Which session calls belong to, for grants.
    pub(crate) session: String,
    pub(crate) recorder: Arc<dyn Recorder>,
    pub(crate) replay: Replay,
    pub(crate) workspace: Option<Arc<Workspace>>,
    /// What must not be in anything that leaves a call.
    pub(crate) secrets: Option<Arc<dyn Secrets>>,
    pub(crate) limits: LimitsPatch,
    pub(crate) gate: Gate,
    /// Counts calls per minute, where processes share that.
    pub(crate) rates: Option<Arc<dyn RateStore>>,
    pub(crate) max_depth: u8,
    /// How old what a call knows of tools' files may be.
    pub(crate) look_every: Duration,
    /// When the registry was made.
    pub(crate) opened: Instant,
    /// Those who see every record besides the recorder.
    pub(crate) record_hooks: RecordHooks,
}

impl Policy {
    /// What takes secrets out of texts, as of now.
    pub(crate) fn masker(&self) -> Masker {
        self.secrets
            .as_ref()
            .map_or_else(Masker::default, |secrets| secrets.masker())
    }

    /// Like [`masker`](Self::masker), but may go by a look at the secrets a moment ago.
    pub(crate) fn masker_of_late(&self) -> Masker {
        self.secrets
            .as_ref()
            .map_or_else(Masker::default, |secrets| secrets.recent_masker())
    }
}
