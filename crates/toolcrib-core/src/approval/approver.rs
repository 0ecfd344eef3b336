//! [`Approver`]: someone, or something, that decides.

use std::fmt;
use std::time::Duration;

use crate::poll::BoxFuture;

use super::request::{ApprovalRequest, ApprovalResponse};

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    /// No one can be asked.
    #[error("{0}")]
    Unavailable(String),
    /// The caller asked that no one is asked: who called knows better why.
    #[error("{0}")]
    NotAsked(String),
    /// No one answered in time.
    #[error("no one answered in time")]
    Expired,
    /// Too many questions wait already.
    #[error("{pending} questions wait for an answer already; answer some, then call again")]
    TooMany {
        /// How many wait.
        pending: usize,
    },
    /// Too many calls of one caller wait for a person already: others are to be able to ask, too.
    #[error(
        "{pending} calls of this caller wait for an answer already, and no more may; wait until some are answered, then call again"
    )]
    TooManyOfOne {
        /// How many of this caller's calls wait.
        pending: usize,
    },
    /// So many calls of one caller were denied just now that no one is asked about another for a while.
    #[error(
        "{denied} calls of this caller were denied within a short time, and no one is asked again for {} s; do something else, or ask the person what they want",
        wait.as_secs().max(1)
    )]
    DeniedTooOften {
        /// How many of its calls were denied.
        denied: usize,
        /// How long no one is asked.
        wait: Duration,
    },
    /// The approval was used by an identical call that was faster.
    #[error("an identical call used the approval")]
    Taken,
    /// A file that the call runs changed while the question waited: the call is asked about again.
    #[error(
        "{} changed while the question waited",
        crate::model::text::and_list(files)
    )]
    Changed {
        /// The paths of the files.
        files: Vec<String>,
    },
    /// The question or its answer could not be kept.
    #[error("{0}")]
    Storage(String),
}

/// Someone, or something, that decides.
pub trait Approver: Send + Sync + 'static {
    /// Decides one call. May wait as long as it likes; the call can be cancelled meanwhile.
    fn decide(&self, request: ApprovalRequest)
    -> BoxFuture<'_, Result<ApprovalResponse, NoAnswer>>;

    /// Uses up an approval, right before the call runs: after this no one may run by it again.
    ///
    /// `id` is that of the question, or the one the response named as its own. [`NoAnswer::Taken`] sends the call back to be decided again.
    /// The default counts nothing: who decides each call by itself has nothing to use up.
    fn claim(&self, id: &str) -> BoxFuture<'_, Result<(), NoAnswer>> {
        let _ = id;
        Box::pin(std::future::ready(Ok(())))
    }

    /// Whether `decide` itself says, by [`ApprovalRequest::announce`], under which id a question is pending. If not, the
    /// call says so before it asks.
    fn announces(&self) -> bool {
        false
    }
}

impl fmt::Debug for dyn Approver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Approver")
    }
}

/// Reaches nobody: every call that needs approval is refused. The default.
#[derive(Debug, Clone)]
pub struct DenyAll {
    why: String,
}

impl DenyAll {
    /// Refuses, saying why no one can be asked.
    pub fn because(why: impl Into<String>) -> Self {
        DenyAll { why: why.into() }
    }
}

impl Default for DenyAll {
    fn default() -> Self {
        DenyAll::because("no one can be asked here")
    }
}

impl Approver for DenyAll {
    fn decide(
        &self,
        _request: ApprovalRequest,
    ) -> BoxFuture<'_, Result<ApprovalResponse, NoAnswer>> {
        let answer = Err(NoAnswer::Unavailable(self.why.clone()));
        Box::pin(std::future::ready(answer))
    }
}

/// Approves everything a rule does not deny; `--yes` on the command line.
#[derive(Debug, Clone)]
pub struct AllowAll {
    by: String,
}

impl AllowAll {
    /// Approves in someone's name, which is recorded.
    pub fn by(by: impl Into<String>) -> Self {
        AllowAll { by: by.into() }
    }
}

impl Approver for AllowAll {
    fn decide(
        &self,
        _request: ApprovalRequest,
    ) -> BoxFuture<'_, Result<ApprovalResponse, NoAnswer>> {
        Box::pin(std::future::ready(Ok(ApprovalResponse::approve(&self.by))))
    }
}
