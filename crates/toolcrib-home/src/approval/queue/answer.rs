//! How a question is answered, once, and an approval used, once.

use jiff::Timestamp;
use uuid::Uuid;

use super::ApprovalQueue;
use super::error::AnswerError;
use super::files::{
    LoadError, MAX_BYTES, StoredAnswer, StoredClaim, answer_name, claim_name, load,
};
use super::list::Queued;
use super::ticket::unkept;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::text;
use crate::storage::{DurableDir, StorageError};
use toolcrib_core::approval::NoAnswer;
use toolcrib_core::approval::changed_since;
use toolcrib_core::approval::{ApprovalRequest, ApprovalResponse};

/// How long the words of an answer may be.
const MAX_WORDS: usize = 4096;

impl ApprovalQueue {
    /// Answers a question, by its id or a part that no other has.
    ///
    /// The digest, where it is given, must be that of the question: an answer to something else than what was shown does
    /// nothing. `check` is called for an approval that has edited arguments or a grant, with the question and the answer;
    /// its error is returned, and the question stays open. The first answer wins; every other one learns the decision and its source. An
    /// approval of a call that runs files which changed since the question is refused, and the call is asked about again.
    pub fn answer(
        &self,
        id: &str,
        digest: Option<&str>,
        mut response: ApprovalResponse,
        check: impl FnOnce(&ApprovalRequest, &ApprovalResponse) -> Result<(), ToolError>,
    ) -> Result<Queued, AnswerError> {
        if let Some(question) = self.standing_question(id)? {
            return self.answer_standing(question, digest, &response);
        }
        let (id, stored) = self.find(id)?;
        if digest.is_some_and(|digest| digest != stored.request.args_digest) {
            return Err(AnswerError::WrongDigest);
        }
        response.by = text::shorten(&response.by, MAX_WORDS);
        response.reason = response
            .reason
            .map(|reason| text::shorten(&reason, MAX_WORDS));
        if !response.approved {
            response.modified_args = None;
            response.grant = None;
        }
        let dir = self.dir(id)?;
        self.check_open(&dir, id, &stored.ends)?;
        // Outside the lock: it may take its time, and ask the queue itself.
        if response.modified_args.is_some() || response.grant.is_some() {
            check(&stored.request, &response).map_err(AnswerError::BadEdit)?;
        }
        let asked = &stored.request;
        let changed = match response.approved && !asked.bound.is_empty() {
            true => changed_since(&asked.bound, asked.workspace.as_deref()),
            false => Vec::new(),
        };
        let lock = dir.lock()?;
        self.check_open(&dir, id, &stored.ends)?;
        let now = self.now();
        let answer = StoredAnswer {
            response: Some(response).filter(|_| changed.is_empty()),
            changed: changed.clone(),
            at: Timestamp::now(),
            ends: now.after(self.0.options.expires),
            given: now,
        };
        let bytes = serde_json::to_vec_pretty(&answer)
            .map_err(|error| AnswerError::Damaged(error.to_string()))?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(AnswerError::BadEdit(ToolError::new(
                ErrorCode::InvalidArguments,
                format!(
                    "the answer has {} bytes, and the limit is {MAX_BYTES}",
                    bytes.len()
                ),
            )));
        }
        match dir.create_new(&lock, &answer_name(id), &bytes) {
            Ok(()) => {}
            Err(StorageError::Exists { .. }) => return Err(self.decided(&dir, id)),
            Err(error) => return Err(error.into()),
        }
        drop(lock);
        self.0.changed.notify_waiters();
        if !changed.is_empty() {
            return Err(AnswerError::Changed { files: changed });
        }
        self.show(&id.hyphenated().to_string())
    }

    /// Uses up an approval. The process that gets `Ok` may run the call, once; no other will by this approval.
    pub fn claim_now(&self, id: &str) -> Result<(), NoAnswer> {
        let id = Uuid::try_parse(id).map_err(|_| NoAnswer::Expired)?;
        let Some(dir) = DurableDir::open(&self.0.path).map_err(unkept)? else {
            return Err(NoAnswer::Expired);
        };
        let lock = dir.lock().map_err(unkept)?;
        let answer: Option<StoredAnswer> = load(&dir, &answer_name(id))?;
        let Some(answer) = answer.filter(|answer| {
            let response = answer.response.as_ref();
            response.is_some_and(|response| response.approved)
        }) else {
            return Err(NoAnswer::Expired);
        };
        if answer.ends.remaining(&self.now()).is_none() {
            return Err(NoAnswer::Expired);
        }
        let claim = StoredClaim {
            at: Timestamp::now(),
            pid: std::process::id(),
        };
        let bytes = serde_json::to_vec_pretty(&claim).unwrap_or_default();
        match dir.create_new(&lock, &claim_name(id), &bytes) {
            Ok(()) => Ok(()),
            Err(StorageError::Exists { .. }) => Err(NoAnswer::Taken),
            Err(error) => Err(unkept(error)),
        }
    }

    /// Refuses a question that is decided, withdrawn or expired.
    fn check_open(
        &self,
        dir: &DurableDir,
        id: Uuid,
        ends: &toolcrib_core::approval::Moment,
    ) -> Result<(), AnswerError> {
        match load::<StoredAnswer>(dir, &answer_name(id)) {
            Ok(None) => {}
            Ok(Some(_)) | Err(LoadError::Damaged(_)) => return Err(self.decided(dir, id)),
            Err(LoadError::Storage(error)) => return Err(error.into()),
        }
        if ends.remaining(&self.now()).is_none() {
            return Err(AnswerError::Expired);
        }
        Ok(())
    }

    /// The error that says who decided.
    fn decided(&self, dir: &DurableDir, id: Uuid) -> AnswerError {
        match load::<StoredAnswer>(dir, &answer_name(id)) {
            Ok(Some(StoredAnswer {
                response: Some(response),
                ..
            })) => AnswerError::Decided {
                by: response.by,
                approved: response.approved,
                reason: response.reason,
            },
            Ok(Some(answer)) if !answer.changed.is_empty() => AnswerError::Changed {
                files: answer.changed,
            },
            Ok(Some(_)) => AnswerError::Withdrawn,
            Ok(None) => AnswerError::Expired,
            Err(LoadError::Damaged(problem)) => AnswerError::Damaged(problem),
            Err(LoadError::Storage(error)) => error.into(),
        }
    }
}
