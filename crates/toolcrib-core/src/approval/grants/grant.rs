//! [`Grant`]: an answer given ahead, and the request for one.

use std::path::Path;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::offer::Offer;
use super::shape::Shape;
use crate::approval::bound::BoundFile;
use crate::approval::clock::{Clock, Moment};
use crate::model::JsonObject;
use crate::model::caller::Caller;
use crate::model::ids::CallId;
use crate::spec::ToolSpec;

/// The longest a grant lasts.
pub const MAX_DURATION: Duration = Duration::from_secs(365 * 24 * 3600);
/// Up to here a grant ends by the boot clock, too.
const SHORT: Duration = Duration::from_secs(24 * 3600);

/// How far a grant reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "GrantScope")]
pub enum Scope {
    /// One call and the calls it makes.
    Call,
    /// One session: a program that keeps its registry, or whatever says it belongs to it.
    Session,
    /// One workspace.
    Project,
    /// Every workspace of this user.
    User,
}

impl Scope {
    /// How long a grant lasts when no one says.
    pub fn default_duration(self) -> Duration {
        const HOUR: u64 = 3600;
        Duration::from_secs(match self {
            Scope::Call => HOUR,
            Scope::Session => 12 * HOUR,
            Scope::Project | Scope::User => 30 * 24 * HOUR,
        })
    }
}

/// What a person wants not to be asked about again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GrantRequest {
    /// Which arguments.
    pub shape: Shape,
    /// How far.
    pub scope: Scope,
    /// How long, in milliseconds; the scope's own duration when no one says, a year at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_ms: Option<u64>,
    /// How many calls; any number when no one says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_uses: Option<u64>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The session it lasts as long as, if not the caller's. Never part of an answer: a question is of one session.
    #[serde(skip)]
    pub session: Option<String>,
}

impl GrantRequest {
    /// What was offered, this far.
    pub fn of(offer: &Offer, scope: Scope) -> Self {
        GrantRequest::new(offer.shape.clone(), scope)
    }

    /// A shape, this far.
    pub fn new(shape: Shape, scope: Scope) -> Self {
        GrantRequest {
            shape,
            scope,
            expires_in_ms: None,
            max_uses: None,
            reason: None,
            session: None,
        }
    }

    /// For this long.
    #[must_use]
    pub fn lasting(mut self, duration: Duration) -> Self {
        self.expires_in_ms = Some(crate::approval::millis(duration));
        self
    }

    /// For this many calls.
    #[must_use]
    pub fn uses(mut self, uses: u64) -> Self {
        self.max_uses = Some(uses);
        self
    }
}

/// Calls of one tool that no one is asked about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Grant {
    /// Its id.
    pub id: String,
    /// The tool: `bundle/slug@version`.
    pub tool: String,
    /// Which exact tool that was; when it changes, the grant covers nothing any more.
    pub tool_digest: String,
    /// Which arguments.
    pub shape: Shape,
    /// How far.
    pub scope: Scope,
    /// The workspace, for the scopes call, session and project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The session, for the scope session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The call, for the scope call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub call: Option<CallId>,
    /// The callers that may call.
    #[schemars(with = "String")]
    pub caller: Caller,
    /// The files of the workspace that its calls run. It covers no call that runs another one, or one that changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bound: Vec<BoundFile>,
    /// When it ends.
    #[schemars(with = "String")]
    pub expires_at: Timestamp,
    /// When it ends by a clock that no one sets, where that is within a day; it does not outlive the boot then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<Moment>,
    /// How many calls it covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_uses: Option<u64>,
    /// How many it has covered.
    #[serde(default)]
    pub uses: u64,
    /// When it was made.
    #[schemars(with = "String")]
    pub created_at: Timestamp,
    /// By whom.
    #[serde(default)]
    pub by: String,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What a newer Toolcrib wrote and this one does not know.
    #[serde(flatten)]
    pub other: JsonObject,
}

/// A call that a grant may cover.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The tool.
    pub spec: &'a ToolSpec,
    /// Which exact tool.
    pub tool_digest: &'a str,
    /// The arguments as they would run.
    pub args: &'a JsonObject,
    /// The caller.
    pub caller: &'a Caller,
    /// The workspace.
    pub workspace: Option<&'a Path>,
    /// The session.
    pub session: &'a str,
    /// The outermost call.
    pub call: &'a CallId,
    /// The files of the workspace that it runs.
    pub bound: &'a [BoundFile],
}

/// A directory as text: another text for every other directory, also where a name is not UTF-8.
pub fn place(path: &Path) -> String {
    path.to_str()
        .map_or_else(|| format!("{path:?}"), str::to_owned)
}

impl Grant {
    /// The grant that a request amounts to, not kept yet.
    pub fn draft(request: &GrantRequest, subject: &Subject<'_>, by: &str, clock: &Clock) -> Self {
        let usual = match subject.spec.pinned && request.shape.is_anything() {
            // It ends when the definition changes.
            true => MAX_DURATION,
            false => request.scope.default_duration(),
        };
        let duration = request
            .expires_in_ms
            .map_or(usual, Duration::from_millis)
            .min(MAX_DURATION);
        let wall = Timestamp::now();
        let later = SignedDuration::try_from(duration).unwrap_or_default();
        let is_bound = request.scope != Scope::User;
        Grant {
            id: uuid::Uuid::now_v7().to_string(),
            tool: subject.spec.reference(),
            tool_digest: subject.tool_digest.to_owned(),
            shape: request.shape.clone(),
            scope: request.scope,
            workspace: subject.workspace.filter(|_| is_bound).map(place),
            session: (request.scope == Scope::Session).then(|| {
                let session = request.session.as_deref();
                session.unwrap_or(subject.session).to_owned()
            }),
            call: (request.scope == Scope::Call).then(|| subject.call.clone()),
            caller: subject.caller.clone(),
            bound: subject.bound.to_vec(),
            expires_at: wall.saturating_add(later).unwrap_or(Timestamp::MAX),
            ends: (duration <= SHORT).then(|| clock.now().after(duration)),
            max_uses: request.max_uses,
            uses: 0,
            created_at: wall,
            by: by.to_owned(),
            reason: request.reason.clone(),
            other: Default::default(),
        }
    }

    /// Whether it is over: by time or by use.
    pub fn is_over(&self, now: &Moment, wall: Timestamp) -> bool {
        let used_up = self.max_uses.is_some_and(|max| self.uses >= max);
        let ended = match &self.ends {
            Some(ends) => ends.remaining(now).is_none(),
            None => wall >= self.expires_at,
        };
        used_up || ended
    }

    /// Whether it covers a call, its time and uses aside.
    pub fn covers(&self, subject: &Subject<'_>) -> bool {
        self.tool_digest == subject.tool_digest
            && self.tool == subject.spec.reference()
            && self.caller == *subject.caller
            && self.reaches(subject)
            && self.counts_for(subject.bound)
            && self.shape.covers(subject.args, subject.workspace)
    }

    /// Whether all of these are files that it was made for, and as they were then.
    fn counts_for(&self, files: &[BoundFile]) -> bool {
        let is_known = |file: &BoundFile| self.bound.iter().any(|bound| bound.is_same(file));
        files.iter().all(is_known)
    }

    fn reaches(&self, subject: &Subject<'_>) -> bool {
        let same_workspace = || self.workspace == subject.workspace.map(place);
        match self.scope {
            Scope::Call => self.call.as_ref() == Some(subject.call) && same_workspace(),
            Scope::Session => self.session.as_deref() == Some(subject.session) && same_workspace(),
            Scope::Project => same_workspace(),
            Scope::User => true,
        }
    }
}
