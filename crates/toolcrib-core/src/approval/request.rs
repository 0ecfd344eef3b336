//! A question to a person and the answer: [`ApprovalRequest`], [`ApprovalResponse`].

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::bound::BoundFile;
use super::grants::{GrantRequest, Offer};
use crate::model::JsonObject;
use crate::model::caller::Caller;
use crate::model::ids::CallId;

/// A question to a person (S2's `ApprovalRequest`, with what is needed to decide well).
///
/// Read by hand, because of questions of earlier versions: their `stepId` is the id of the call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", remote = "Self")]
pub struct ApprovalRequest {
    /// The id of the question.
    pub id: String,
    /// Where the call is: the names of the steps that lead to it, joined by `/`; the tool's wire name for a call that no other
    /// call made. A call that a tool makes outside a step has the wire name of the called tool in the place of the step's name.
    pub step_id: String,
    /// The call it is about.
    #[schemars(with = "String")]
    pub call_id: CallId,
    /// The tool's wire name.
    pub tool: String,
    /// The wire name of the tool that makes the call, if a tool does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called_by: Option<String>,
    /// The arguments as they would run, secrets masked; the digest is of the real ones.
    pub args: JsonObject,
    /// Why a person is asked.
    pub reason: String,
    /// What the call would do, in words.
    pub effect: String,
    /// What would change in a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The files of the workspace that the call runs: the answer counts for them as they are here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bound: Vec<BoundFile>,
    /// When the question lapses, for people: what counts is a clock that no one sets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub expires_at: Option<Timestamp>,
    /// Binds the answer to this tool, these arguments and the files that the call runs.
    pub args_digest: String,
    /// The tool's bundle.
    #[serde(default)]
    pub bundle: String,
    /// The tool's slug in its bundle: with the bundle and the version it names exactly this tool. Empty in questions of earlier versions.
    #[serde(default)]
    pub slug: String,
    /// The tool's version.
    #[serde(default)]
    pub version: String,
    /// Which exact tool it is, for grants.
    #[serde(default)]
    pub tool_digest: String,
    /// The caller.
    #[serde(default)]
    #[schemars(with = "String")]
    pub caller: Caller,
    /// The workspace the call works on. For the operator; tools never see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// When the question was put.
    #[serde(default)]
    #[schemars(with = "String")]
    pub created_at: Timestamp,
    /// Which calls count as the same: a digest of everything the question rests on, from the tool and the arguments to the
    /// caller, the workspace and what the tool found there.
    #[serde(default)]
    pub call_digest: String,
    /// What a person may allow for the future along with this call, from narrow to wide; empty where nothing may be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offers: Vec<Offer>,
    /// Why nothing may be allowed for the future, where that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_grant: Option<String>,
    /// How long the caller would wait, if less than others do.
    #[serde(skip)]
    pub wait: Option<Duration>,
    /// Receives the id under which the question is pending.
    #[serde(skip)]
    pub announce: Announce,
}

impl Serialize for ApprovalRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        ApprovalRequest::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for ApprovalRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = JsonObject::deserialize(deserializer)?;
        if !fields.contains_key("callId") {
            let tool = fields.get("tool").cloned().unwrap_or_default();
            let call = fields.insert("stepId".to_owned(), tool);
            fields.extend(call.map(|call| ("callId".to_owned(), call)));
        }
        ApprovalRequest::deserialize(Value::Object(fields)).map_err(D::Error::custom)
    }
}

impl ApprovalRequest {
    /// The steps that lead to the call, and the tool that makes it, for people; nothing for a call that no tool makes.
    pub fn origin(&self) -> Option<String> {
        let by = self.called_by.as_ref()?;
        Some(format!("`{by}`, at `{}`", self.step_id))
    }

    /// Informs the call under which id its question is pending: its own, or that of an identical question.
    pub fn announce(&self, id: &str) {
        if let Some(tell) = &self.announce.0 {
            tell(id);
        }
    }
}

/// An optional listener for the id of a question.
#[derive(Clone, Default)]
pub struct Announce(Option<Arc<Tell>>);

type Tell = dyn Fn(&str) + Send + Sync;

impl Announce {
    /// Calls a function.
    pub fn to(tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Announce(Some(Arc::new(tell)))
    }
}

impl fmt::Debug for Announce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Announce")
    }
}

/// The listener is not part of the question.
impl PartialEq for Announce {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

/// What a call keeps from an answer until it has claimed it or given up: which question was answered, and whatever its approver
/// wants to live as long.
#[derive(Clone, Default)]
pub struct Hold {
    id: Option<String>,
    _kept: Option<Arc<dyn Any + Send + Sync>>,
}

impl Hold {
    /// An answer to this question, which was an identical one with another id, perhaps; `kept` is dropped with it.
    pub fn of(id: impl Into<String>, kept: impl Any + Send + Sync) -> Self {
        Hold {
            id: Some(id.into()),
            _kept: Some(Arc::new(kept)),
        }
    }

    /// The question that was answered, if it is not the one that was put.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hold({:?})", self.id)
    }
}

/// Held files are not part of the answer.
impl PartialEq for Hold {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
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
    /// The source of the answer: `terminal`, `--yes`, a user's name.
    #[serde(default)]
    pub by: String,
    /// The grant for later calls that comes with the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<GrantRequest>,
    /// What the call keeps from the answer until it runs.
    #[serde(skip)]
    pub hold: Hold,
}

impl ApprovalResponse {
    /// Yes.
    pub fn approve(by: impl Into<String>) -> Self {
        ApprovalResponse {
            approved: true,
            modified_args: None,
            reason: None,
            by: by.into(),
            grant: None,
            hold: Hold::default(),
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

    /// Says why.
    #[must_use]
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// Allows something from now on, too.
    #[must_use]
    pub fn with_grant(mut self, grant: GrantRequest) -> Self {
        self.grant = Some(grant);
        self
    }
}
