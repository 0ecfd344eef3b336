//! [`GrantStore`]: where grants are kept, and what no one can grant.

use super::grant::{Grant, GrantRequest, Scope, Subject};
use super::offer::no_grant;
use super::shape::ShapeError;
use crate::model::error::{ErrorCode, ToolError};

/// Keeps grants. Every method may block.
pub trait GrantStore: Send + Sync + 'static {
    /// The grant that covers a call, if there is one.
    fn covering(&self, subject: &Subject<'_>) -> Result<Option<Grant>, ToolError>;

    /// Makes the grant that came with the answer to a question, once for each question: identical calls share their question, and
    /// the second of them finds the grant made.
    fn make(
        &self,
        question: &str,
        request: &GrantRequest,
        subject: &Subject<'_>,
        by: &str,
    ) -> Result<Grant, ToolError>;

    /// Makes a grant that did not come with an answer.
    fn keep(
        &self,
        request: &GrantRequest,
        subject: &Subject<'_>,
        by: &str,
    ) -> Result<Grant, ToolError>;

    /// Counts one more use of a grant; false when it is gone, over or used up. To be called before the call runs.
    fn spend(&self, id: &str) -> Result<bool, ToolError>;
}

/// Why something cannot be granted.
#[derive(Debug, thiserror::Error)]
pub enum GrantRefusal {
    /// Calls like this are asked about every time.
    #[error("`{tool}` cannot be granted: {why}; its calls ask every time")]
    EveryTime {
        /// The tool.
        tool: String,
        /// Why.
        why: String,
    },
    /// The shape is not one for this tool.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The shape does not cover the call it was to be made for.
    #[error(
        "the grant would not cover this call itself; choose one of the shapes that were offered"
    )]
    NotThisCall,
    /// Something else about it.
    #[error("{0}")]
    Unusable(String),
}

impl From<GrantRefusal> for ToolError {
    fn from(refusal: GrantRefusal) -> Self {
        ToolError::new(ErrorCode::InvalidArguments, refusal.to_string())
    }
}

/// Refuses what no one can grant.
pub fn check(request: &GrantRequest, subject: &Subject<'_>) -> Result<(), GrantRefusal> {
    if let Some(why) = no_grant(subject) {
        return Err(GrantRefusal::EveryTime {
            tool: subject.spec.name.to_string(),
            why: why.to_owned(),
        });
    }
    request.shape.check(subject.spec)?;
    if request.max_uses == Some(0) || request.expires_in_ms == Some(0) {
        let why = "a grant lasts for one use and one millisecond at least";
        return Err(GrantRefusal::Unusable(why.to_owned()));
    }
    if request.scope != Scope::User && subject.workspace.is_none() {
        let why = "there is no workspace to bind the grant to; choose the scope `user`";
        return Err(GrantRefusal::Unusable(why.to_owned()));
    }
    Ok(())
}
