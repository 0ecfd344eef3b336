//! Questions that no call waits for: [`StandingQuestions`].

use super::{AnswerError, ApprovalQueue, Queued, Status};
use crate::model::error::{ErrorCode, ToolError};
use crate::storage::StorageError;
use toolcrib_core::approval::ApprovalResponse;

/// Questions that no call waits for, and that stay until a person decides. They have separate ids and do not expire; their owner acts on
/// the answer. No approver and no grant answers them.
pub trait StandingQuestions: Send + Sync {
    /// The questions that are open, oldest first.
    fn questions(&self) -> Result<Vec<Queued>, StorageError>;

    /// Does what the answer to one of them says.
    fn answered(&self, question: &Queued, response: &ApprovalResponse) -> Result<(), ToolError>;
}

impl ApprovalQueue {
    pub(super) fn standing_questions(&self) -> Result<Vec<Queued>, StorageError> {
        self.0
            .standing
            .as_ref()
            .map_or(Ok(Vec::new()), |standing| standing.questions())
    }

    /// The standing question of an id, or of a part that no other has; none if there is none.
    pub(super) fn standing_question(&self, id: &str) -> Result<Option<Queued>, AnswerError> {
        let mut questions = self.standing_questions()?;
        let ids: Vec<&str> = questions
            .iter()
            .map(|queued| queued.request.id.as_str())
            .collect();
        match super::one_named(id, ids) {
            Ok(at) => Ok(at.map(|at| questions.swap_remove(at))),
            Err(count) => Err(AnswerError::Ambiguous {
                id: id.to_owned(),
                count,
            }),
        }
    }

    /// Answers a standing question.
    pub(super) fn answer_standing(
        &self,
        mut question: Queued,
        digest: Option<&str>,
        response: &ApprovalResponse,
    ) -> Result<Queued, AnswerError> {
        if digest.is_some_and(|digest| digest != question.request.args_digest) {
            return Err(AnswerError::WrongDigest);
        }
        if response.modified_args.is_some() || response.grant.is_some() {
            let message = "this question is answered with yes or no; it takes neither other arguments nor a grant";
            let error = ToolError::new(ErrorCode::InvalidArguments, message);
            return Err(AnswerError::BadEdit(error));
        }
        if let Some(standing) = &self.0.standing {
            let answered = standing.answered(&question, response);
            answered.map_err(AnswerError::BadEdit)?;
        }
        self.0.changed.notify_waiters();
        question.status = match response.approved {
            true => Status::Used,
            false => Status::Denied,
        };
        Ok(question)
    }
}
