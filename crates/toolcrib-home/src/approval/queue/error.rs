//! Why a question cannot be shown or answered: [`AnswerError`].

use crate::model::error::{ErrorCode, ToolError};
use crate::model::text;
use crate::storage::StorageError;

/// Why a question cannot be shown or answered.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// There is no such question.
    #[error(
        "there is no approval request `{}`; `toolcrib approvals list` shows them",
        text::shorten(id, 64)
    )]
    NotFound {
        /// What was looked for.
        id: String,
    },
    /// Several questions have such an id.
    #[error(
        "`{}` is part of {count} ids; write more of the one that is meant",
        text::shorten(id, 64)
    )]
    Ambiguous {
        /// What was looked for.
        id: String,
        /// How many have it.
        count: usize,
    },
    /// Someone was faster.
    #[error(
        "{} {} this already{}",
        who(by),
        if *approved { "approved" } else { "denied" },
        said(reason.as_deref())
    )]
    Decided {
        /// Who.
        by: String,
        /// What they decided.
        approved: bool,
        /// What they said.
        reason: Option<String>,
    },
    /// The caller gave up.
    #[error("the call was cancelled before it was answered; there is nothing to decide any more")]
    Withdrawn,
    /// A file that the call runs changed since the question was put.
    #[error(
        "{} changed since this was asked, so the call was not approved; a new request takes the place of this one if its caller still waits",
        text::and_list(files)
    )]
    Changed {
        /// The paths of the files.
        files: Vec<String>,
    },
    /// No one answered in time.
    #[error("the request has expired; the call has to be made again")]
    Expired,
    /// The answer was meant for another question.
    #[error(
        "the answer is for other arguments than these: the digest differs; look at the request again"
    )]
    WrongDigest,
    /// The edited arguments, or the grant, cannot be used. The question stays open.
    #[error("{0}")]
    BadEdit(ToolError),
    /// The file of the question or its answer is damaged.
    #[error("the file of this request is damaged ({0}); deny the call and let it be made again")]
    Damaged(String),
    /// The files could not be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

fn who(by: &str) -> String {
    match by {
        "" => String::from("another person"),
        by => format!("`{}`", text::shorten(by, 64)),
    }
}

fn said(reason: Option<&str>) -> String {
    reason.map_or(String::new(), |reason| {
        format!(": {}", text::shorten(reason, 200))
    })
}

impl AnswerError {
    /// The status of an answer over HTTP that ends like this.
    pub fn http_status(&self) -> u16 {
        match self {
            AnswerError::NotFound { .. } => 404,
            AnswerError::Ambiguous { .. } => 400,
            AnswerError::Decided { .. }
            | AnswerError::Withdrawn
            | AnswerError::Changed { .. }
            | AnswerError::WrongDigest => 409,
            AnswerError::Expired => 410,
            AnswerError::BadEdit(_) => 422,
            AnswerError::Damaged(_) | AnswerError::Storage(_) => 500,
        }
    }
}

impl From<AnswerError> for ToolError {
    fn from(error: AnswerError) -> Self {
        let code = match error {
            AnswerError::NotFound { .. } | AnswerError::Ambiguous { .. } => ErrorCode::Usage,
            AnswerError::Decided { .. }
            | AnswerError::Withdrawn
            | AnswerError::Changed { .. }
            | AnswerError::WrongDigest => ErrorCode::Conflict,
            AnswerError::Expired => ErrorCode::ApprovalExpired,
            AnswerError::BadEdit(error) => return error,
            AnswerError::Damaged(_) => ErrorCode::StorageError,
            AnswerError::Storage(error) => return error.into(),
        };
        ToolError::new(code, error.to_string())
    }
}
