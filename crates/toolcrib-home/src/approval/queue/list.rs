//! The contents of the queue: [`Listing`], [`Queued`].

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::ApprovalQueue;
use super::error::AnswerError;
use super::files::{
    Files, Index, LoadError, StoredAnswer, StoredRequest, answer_name, index, load,
};
use super::wait::is_awaited;
use crate::model::JsonObject;
use crate::storage::{DurableDir, StorageError};
use toolcrib_core::approval::ApprovalRequest;
use toolcrib_core::approval::millis;

/// The shortest part of an id that is looked for.
const MIN_PART: usize = 4;

/// Where a question is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ApprovalStatus")]
pub enum Status {
    /// It can be answered.
    Pending,
    /// It was approved, and the call has not run yet.
    Approved,
    /// It was denied.
    Denied,
    /// It was approved, and the approval used.
    Used,
    /// No one answered in time, or no one used the approval in time.
    Expired,
    /// The caller gave up before there was an answer.
    Withdrawn,
    /// A file that the call runs changed; the call was asked about again.
    Replaced,
}

impl Status {
    /// Every status.
    pub const ALL: [Status; 7] = [
        Status::Pending,
        Status::Approved,
        Status::Denied,
        Status::Used,
        Status::Expired,
        Status::Withdrawn,
        Status::Replaced,
    ];

    /// The word used in JSON and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::Approved => "approved",
            Status::Denied => "denied",
            Status::Used => "used",
            Status::Expired => "expired",
            Status::Withdrawn => "withdrawn",
            Status::Replaced => "replaced",
        }
    }
}

/// A question and where it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Approval")]
pub struct Queued {
    /// The question.
    #[serde(flatten)]
    pub request: ApprovalRequest,
    /// Where it is.
    pub status: Status,
    /// Whether someone waits for the answer. If not, the caller is gone, and the same call made again takes the answer up.
    pub waiting: bool,
    /// How long it can still be answered, or used, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining_ms: Option<u64>,
    /// The answer, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
}

/// The decision and its source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ApprovalAnswer")]
pub struct Answer {
    /// Yes or no.
    pub approved: bool,
    /// Who.
    pub by: String,
    /// What they said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The arguments they chose instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified_args: Option<JsonObject>,
    /// When.
    #[schemars(with = "String")]
    pub at: Timestamp,
}

/// What [`ApprovalQueue::list`] finds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Listing {
    /// The questions, oldest first.
    pub requests: Vec<Queued>,
    /// Files that cannot be read. The others are not concerned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<Damaged>,
}

/// A file that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "DamagedFile")]
pub struct Damaged {
    /// Its name.
    pub file: String,
    /// The problem.
    pub problem: String,
}

impl ApprovalQueue {
    /// The questions, oldest first: all of them, or those that stand here. Creates nothing and waits for no one.
    pub fn list(&self, only: Option<Status>) -> Result<Listing, StorageError> {
        let mut listing = Listing {
            requests: Vec::new(),
            damaged: Vec::new(),
        };
        if only.is_none_or(|only| only == Status::Pending) {
            listing.requests = self.standing_questions()?;
        }
        let Some(dir) = DurableDir::open(&self.0.path)? else {
            return Ok(listing);
        };
        // Made when it is needed, once for all.
        let mut later = None;
        for (id, files) in index(&dir)? {
            let Some(name) = &files.request else { continue };
            match self.look_twice(&dir, id, &files, &mut later) {
                Ok(Some(queued)) if only.is_none_or(|only| only == queued.status) => {
                    listing.requests.push(queued);
                }
                Ok(_) => {}
                // Also one that another user wrote, or that lies on a bad block.
                Err(error) => listing.damaged.push(Damaged {
                    file: name.clone(),
                    problem: error.to_string(),
                }),
            }
        }
        listing
            .requests
            .sort_by_key(|queued| queued.request.created_at);
        Ok(listing)
    }

    /// A question, by its id or a part that no other has.
    pub fn show(&self, id: &str) -> Result<Queued, AnswerError> {
        if let Some(question) = self.standing_question(id)? {
            return Ok(question);
        }
        let (id, dir, files) = self.locate(id)?;
        match self.look_twice(&dir, id, &files, &mut None) {
            Ok(Some(queued)) => Ok(queued),
            Ok(None) => Err(AnswerError::NotFound {
                id: id.hyphenated().to_string(),
            }),
            Err(LoadError::Damaged(problem)) => Err(AnswerError::Damaged(problem)),
            Err(LoadError::Storage(error)) => Err(error.into()),
        }
    }

    /// A question as it was put.
    pub(super) fn find(&self, id: &str) -> Result<(Uuid, StoredRequest), AnswerError> {
        let (id, dir, files) = self.locate(id)?;
        let stored = match files.request.as_deref().map(|name| load(&dir, name)) {
            Some(Ok(stored)) => stored,
            Some(Err(LoadError::Damaged(problem))) => return Err(AnswerError::Damaged(problem)),
            Some(Err(LoadError::Storage(error))) => return Err(error.into()),
            None => None,
        };
        let gone = || AnswerError::NotFound {
            id: id.hyphenated().to_string(),
        };
        Ok((id, stored.ok_or_else(gone)?))
    }

    /// The directory, which is there if a question is.
    pub(super) fn dir(&self, id: Uuid) -> Result<DurableDir, AnswerError> {
        DurableDir::open(&self.0.path)?.ok_or_else(|| AnswerError::NotFound {
            id: id.hyphenated().to_string(),
        })
    }

    fn locate(&self, id: &str) -> Result<(Uuid, DurableDir, Files), AnswerError> {
        let not_found = || AnswerError::NotFound { id: id.to_owned() };
        let dir = DurableDir::open(&self.0.path)?.ok_or_else(not_found)?;
        let mut index = index(&dir)?;
        index.retain(|_, files| files.request.is_some());
        let ids: Vec<String> = index.keys().map(|id| id.hyphenated().to_string()).collect();
        match one_named(id, ids.iter().map(String::as_str)) {
            Ok(Some(at)) => index
                .into_iter()
                .nth(at)
                .map(|(id, files)| (id, dir, files))
                .ok_or_else(not_found),
            Ok(None) => Err(not_found()),
            Err(count) => Err(AnswerError::Ambiguous {
                id: id.to_owned(),
                count,
            }),
        }
    }

    /// Where a question is now, and who waits for it. `None` when it was removed meanwhile.
    ///
    /// A listing of a directory shows no single moment: of two names that come while it is made it may have the second and not the first.
    /// The waiting process registers before the question is written, so a listing that was begun after the question was seen (`later`) does show it.
    fn look_twice(
        &self,
        dir: &DurableDir,
        id: Uuid,
        files: &Files,
        later: &mut Option<Index>,
    ) -> Result<Option<Queued>, LoadError> {
        let seen = self.look_at(dir, id, files)?;
        if !matches!(&seen, Some(queued) if queued.status == Status::Pending && !queued.waiting) {
            return Ok(seen);
        }
        let later = match later {
            Some(later) => later,
            None => later.insert(index(dir)?),
        };
        match later.get(&id) {
            Some(files) => self.look_at(dir, id, files),
            None => Ok(None),
        }
    }

    /// Where a question is now. `None` when it was removed meanwhile.
    fn look_at(
        &self,
        dir: &DurableDir,
        id: Uuid,
        files: &Files,
    ) -> Result<Option<Queued>, LoadError> {
        let Some(name) = &files.request else {
            return Ok(None);
        };
        let Some(stored) = load::<StoredRequest>(dir, name)? else {
            return Ok(None);
        };
        let answer: Option<StoredAnswer> = load(dir, &answer_name(id))?;
        let now = self.now();
        let left = |ends: &toolcrib_core::approval::Moment| ends.remaining(&now).map(millis);
        let (status, remaining_ms) = match &answer {
            None => match left(&stored.ends) {
                Some(left) => (Status::Pending, Some(left)),
                None => (Status::Expired, None),
            },
            Some(answer) => match &answer.response {
                None if !answer.changed.is_empty() => (Status::Replaced, None),
                None => (Status::Withdrawn, None),
                Some(response) if !response.approved => (Status::Denied, None),
                Some(_) if files.is_claimed => (Status::Used, None),
                Some(_) => match left(&answer.ends) {
                    Some(left) => (Status::Approved, Some(left)),
                    None => (Status::Expired, None),
                },
            },
        };
        let is_open = matches!(status, Status::Pending | Status::Approved);
        let mut request = stored.request;
        // The name is what others answer to.
        request.id = id.hyphenated().to_string();
        Ok(Some(Queued {
            request,
            status,
            waiting: is_open && is_awaited(dir, files),
            remaining_ms,
            answer: answer.and_then(|answer| {
                let response = answer.response?;
                Some(Answer {
                    approved: response.approved,
                    by: response.by,
                    reason: response.reason,
                    modified_args: response.modified_args,
                    at: answer.at,
                })
            }),
        }))
    }
}

/// Which of these ids is meant: the whole, or a beginning or end that only one has. The error is how many have it.
///
/// Ids begin with the time, so that those of one minute begin alike; their ends differ.
pub(in crate::approval) fn one_named<'a>(
    wanted: &str,
    ids: impl IntoIterator<Item = &'a str>,
) -> Result<Option<usize>, usize> {
    let wanted = wanted.trim().to_ascii_lowercase();
    let mut found = Vec::new();
    for (at, id) in ids.into_iter().enumerate() {
        if id == wanted {
            return Ok(Some(at));
        }
        if wanted.len() >= MIN_PART && (id.starts_with(&wanted) || id.ends_with(&wanted)) {
            found.push(at);
        }
    }
    match found.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(*one)),
        several => Err(several.len()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::approval::queue::QueueOptions;

    /// As a listing is that was begun before the question was put and came to the place of its name after that.
    #[test]
    fn who_waits_is_found_although_a_listing_has_the_question_alone() {
        let home = tempfile::tempdir().unwrap();
        let queue = ApprovalQueue::at(home.path().join("approvals"), QueueOptions::default());
        let request = json!({
            "id": "", "stepId": "1", "tool": "launch", "args": {}, "reason": "", "effect": "", "argsDigest": "", "callDigest": "x"
        });
        let ticket = queue.put(serde_json::from_value(request).unwrap()).unwrap();
        let (id, dir, mut files) = queue.locate(ticket.id()).unwrap();
        assert_eq!(files.waits.len(), 1);
        files.waits.clear();
        let seen = |queue: &ApprovalQueue| {
            let seen = queue.look_twice(&dir, id, &files, &mut None);
            seen.unwrap().map(|queued| (queued.status, queued.waiting))
        };
        assert_eq!(seen(&queue), Some((Status::Pending, true)));
        drop(ticket);
        assert_eq!(seen(&queue), Some((Status::Withdrawn, false)));
    }

    #[test]
    fn a_part_of_an_id_is_enough_when_no_other_has_it() {
        let ids = ["0199-aaaa-1111", "0199-aaaa-2222", "0200-bbbb-1111"];
        let named = |wanted| one_named(wanted, ids);
        assert_eq!(named("0199-aaaa-2222"), Ok(Some(1)));
        assert_eq!(named("0200"), Ok(Some(2)));
        assert_eq!(named("2222"), Ok(Some(1)));
        assert_eq!(named("0199"), Err(2));
        assert_eq!(named("1111"), Err(2));
        assert_eq!(named("222"), Ok(None));
        assert_eq!(named(""), Ok(None));
        assert_eq!(named("9999"), Ok(None));
    }
}
