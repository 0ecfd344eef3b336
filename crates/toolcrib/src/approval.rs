//! Asking a person: [`Approver`], what it is asked and what it may answer.
//!
//! The default approver can reach nobody, so whatever needs approval is refused until a program
//! chooses otherwise.

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::model::JsonObject;
use crate::model::ids::CallId;

/// A question to a person (S2's `ApprovalRequest`, with what is needed to decide well).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRequest {
    /// The id of the question.
    pub id: String,
    /// The call it is about.
    pub step_id: CallId,
    /// The tool's wire name.
    pub tool: String,
    /// The arguments as they would run, secrets masked; the digest is of the real ones.
    pub args: JsonObject,
    /// Why a person is asked.
    pub reason: String,
    /// What the call would do, in words.
    pub effect: String,
    /// What would change in a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// When the question lapses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Binds the answer to this tool and these arguments.
    pub args_digest: String,
}

/// An answer (S2's `ApprovalResponse`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalResponse {
    /// Yes or no.
    pub approved: bool,
    /// Other arguments to run with; they are validated and judged like any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified_args: Option<JsonObject>,
    /// What the person said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who answered: `terminal`, `--yes`, a user's name.
    #[serde(default)]
    pub by: String,
}

impl ApprovalResponse {
    /// Yes.
    pub fn approve(by: impl Into<String>) -> Self {
        ApprovalResponse {
            approved: true,
            modified_args: None,
            reason: None,
            by: by.into(),
        }
    }

    /// Yes, with other arguments.
    pub fn approve_with(by: impl Into<String>, args: JsonObject) -> Self {
        ApprovalResponse {
            modified_args: Some(args),
            ..ApprovalResponse::approve(by)
        }
    }

    /// No.
    pub fn deny(by: impl Into<String>, reason: impl Into<String>) -> Self {
        ApprovalResponse {
            approved: false,
            reason: Some(reason.into()),
            ..ApprovalResponse::approve(by)
        }
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    /// Nobody can be asked.
    #[error("{0}")]
    Unavailable(String),
    /// Nobody answered in time.
    #[error("nobody answered in time")]
    Expired,
}

/// Somebody, or something, that decides.
pub trait Approver: Send + Sync + 'static {
    /// Decides one call. May wait as long as it likes; the call can be cancelled meanwhile.
    fn decide(&self, request: ApprovalRequest)
    -> BoxFuture<'_, Result<ApprovalResponse, NoAnswer>>;
}

/// Reaches nobody: every call that needs approval is refused. The default.
#[derive(Debug, Clone)]
pub struct DenyAll {
    why: String,
}

impl DenyAll {
    /// Refuses, saying why nobody can be asked.
    pub fn because(why: impl Into<String>) -> Self {
        DenyAll { why: why.into() }
    }
}

impl Default for DenyAll {
    fn default() -> Self {
        DenyAll::because("nobody can be asked here")
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
    /// Approves in somebody's name, which is recorded.
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
