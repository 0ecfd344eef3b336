//! Where questions stand and answers go: [`Questions`], the queue of a home or a server's.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use toolcrib::approval::grants::Shape;
use toolcrib::approval::{AnswerError, ApprovalRequest, ApprovalResponse, Queued, Status};
use toolcrib::model::JsonObject;
use toolcrib::{CallRequest, Crib, ToolError, ToolSpec};

/// Why an answer does not count.
pub(crate) enum Unanswered {
    /// Someone else was faster, or there is nothing to decide any more.
    Settled,
    /// The edited arguments, or the grant, cannot be used; the question stays open.
    BadEdit(ToolError),
    /// Something else, in words.
    Failed(String),
}

/// What a call would do with other arguments, as far as that is known.
pub(crate) struct Preview {
    pub(crate) effect: Option<String>,
    pub(crate) diff: Option<String>,
}

/// The questions that a dialogue is about. Everything but [`settled`](Self::settled) may take its time, on a thread that may wait.
pub(crate) trait Questions: Send + Sync {
    /// A question as it is; the error is in words.
    fn show(&self, id: &str) -> Result<Queued, String>;
    /// How many wait for an answer.
    fn pending(&self) -> usize;
    fn answer(
        &self,
        request: &ApprovalRequest,
        response: ApprovalResponse,
    ) -> Result<(), Unanswered>;
    /// What a grant would have allowed in the past, in words; `None` where that is unknown.
    fn simulate(&self, tool: &str, shape: &Shape) -> Result<Option<String>, String>;
    /// What the call would do with these arguments, by the same checks and rules as any call.
    fn preview(&self, request: &ApprovalRequest, args: &JsonObject) -> Result<Preview, ToolError>;
    fn spec(&self, tool: &str) -> Option<Arc<ToolSpec>>;
    /// Waits until a question is pending no more.
    fn settled<'a>(&'a self, id: &'a str) -> BoxFuture<'a, ()>;
}

impl Questions for Crib {
    fn show(&self, id: &str) -> Result<Queued, String> {
        self.approvals().show(id).map_err(|error| error.to_string())
    }

    fn pending(&self) -> usize {
        let listing = self.approvals().list(Some(Status::Pending));
        listing.map_or(0, |listing| listing.requests.len())
    }

    fn answer(
        &self,
        request: &ApprovalRequest,
        response: ApprovalResponse,
    ) -> Result<(), Unanswered> {
        let digest = Some(request.args_digest.as_str());
        match Crib::answer(self, &request.id, digest, response) {
            Ok(_) => Ok(()),
            Err(AnswerError::BadEdit(error)) => Err(Unanswered::BadEdit(error)),
            Err(
                AnswerError::Decided { .. }
                | AnswerError::Withdrawn
                | AnswerError::Changed { .. }
                | AnswerError::Expired
                | AnswerError::NotFound { .. },
            ) => Err(Unanswered::Settled),
            Err(
                error @ (AnswerError::Ambiguous { .. }
                | AnswerError::WrongDigest
                | AnswerError::Damaged(_)
                | AnswerError::Storage(_)),
            ) => Err(Unanswered::Failed(error.to_string())),
        }
    }

    fn simulate(&self, tool: &str, shape: &Shape) -> Result<Option<String>, String> {
        match Crib::simulate(self, tool, shape) {
            Ok(simulation) => Ok(Some(simulation.to_string())),
            Err(error) => Err(error.message().to_owned()),
        }
    }

    fn preview(&self, request: &ApprovalRequest, args: &JsonObject) -> Result<Preview, ToolError> {
        let call = CallRequest::new(&request.tool)
            .args(args.clone())
            .caller(request.caller.clone());
        let plan = self.registry().plan(call)?;
        Ok(Preview {
            effect: Some(plan.effect),
            diff: plan.diff,
        })
    }

    fn spec(&self, tool: &str) -> Option<Arc<ToolSpec>> {
        Some(Arc::clone(self.registry().find(tool).ok()?.spec()))
    }

    fn settled<'a>(&'a self, id: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            // An unreadable file does not end the dialogue.
            if self.approvals().settled(id).await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }
}
