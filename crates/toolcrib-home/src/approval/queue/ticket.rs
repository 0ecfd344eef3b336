//! How a question is put: a new one, or an identical one that is there already.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use super::ApprovalQueue;
use super::files::{
    Files, Index, LoadError, MAX_BYTES, StoredAnswer, StoredRequest, answer_name, index, key, load,
    request_name,
};
use super::wait::{Waiting, is_awaited};
use crate::model::caller::Caller;
use crate::model::text;
use crate::storage::{DirLock, DurableDir};
use toolcrib_core::approval::Moment;
use toolcrib_core::approval::NoAnswer;
use toolcrib_core::approval::{ApprovalRequest, ApprovalResponse};

/// The longest diff that is kept; no one reads more before deciding.
const MAX_DIFF: usize = 256 * 1024;
/// How many calls of one caller may be denied within [`DENIED_WITHIN`] before no one is asked about its next. The same call in other words
/// (`./a.txt`) is not the same to the memory of denials, but it is to the person who is asked.
const MAX_DENIED: usize = 10;
/// For how long a denial counts, unless denials are remembered for less.
const DENIED_WITHIN: Duration = Duration::from_secs(60);
/// How many answers are looked at for that, newest first, so that a long history costs nothing.
const LOOK_BACK: usize = 1000;

/// A question that was put. Dropping it withdraws the question, unless it was answered or others wait for it.
pub struct Ticket {
    queue: ApprovalQueue,
    id: Uuid,
    id_text: String,
    /// Whether the question was put for this one, and lapses when its time is over.
    is_own: bool,
    state: State,
}

enum State {
    /// Someone is asked.
    Waits { ends: Moment, waiting: Arc<Waiting> },
    /// Someone has said no to the same call just now.
    Remembered(Box<ApprovalResponse>),
}

/// What a look at a question shows.
#[derive(Debug, Clone, PartialEq)]
pub enum Look {
    /// It was answered.
    Answered(Box<ApprovalResponse>),
    /// No one has answered yet.
    Pending,
    /// It was not answered, because these files that the call runs changed since it was put.
    Changed(Vec<String>),
    /// It has lapsed or was withdrawn.
    Gone,
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ticket({})", self.id_text)
    }
}

/// Why a question could not be put.
pub(super) fn unkept(error: impl fmt::Display) -> NoAnswer {
    NoAnswer::Storage(format!("the question cannot be kept: {error}"))
}

impl From<LoadError> for NoAnswer {
    fn from(error: LoadError) -> Self {
        unkept(error)
    }
}

impl ApprovalQueue {
    /// Puts a question, or joins an identical one: pending, or approved for a call that died before it ran. A call that was
    /// denied just now gets that answer again. Blocks for as long as a write takes; `Approver::decide` is for async callers.
    pub fn put(&self, request: ApprovalRequest) -> Result<Ticket, NoAnswer> {
        let key = key(&request.call_digest);
        // Without the lock first: a thousand repetitions of what was denied create nothing and wait for no one.
        if let Some(dir) = DurableDir::open(&self.0.path).map_err(unkept)?
            && let Some(ticket) =
                self.remembered(&dir, &index(&dir).map_err(unkept)?, &key, &request)?
        {
            return Ok(ticket);
        }
        let dir = DurableDir::create(&self.0.path).map_err(unkept)?;
        let lock = dir.lock().map_err(unkept)?;
        self.sweep_now_and_then(&dir, &lock);
        let index = index(&dir).map_err(unkept)?;
        if let Some(ticket) = self.remembered(&dir, &index, &key, &request)? {
            return Ok(ticket);
        }
        let joined = self.identical(&dir, &index, &key, &request);
        let is_own = joined.is_none();
        let (id, stored) = match joined {
            Some(found) => found,
            None => self.new_question(&dir, &index, request)?,
        };
        // First that someone waits, then the question: no one who lists it takes its caller for dead.
        let (waiting, is_first) = self
            .0
            .waits
            .join(&self.0, &dir, &lock, id, &stored.ends)
            .map_err(unkept)?;
        let kept = if is_own {
            keep(&dir, &lock, &request_name(id, &key), &stored)
        } else {
            Ok(())
        };
        // Letting go of the wait, if it comes to that, takes the lock itself.
        drop(lock);
        kept?;
        let StoredRequest {
            request: shown,
            ends,
            ..
        } = stored;
        if is_first {
            self.tell(&shown);
        }
        Ok(Ticket {
            queue: self.clone(),
            id,
            id_text: id.hyphenated().to_string(),
            is_own,
            state: State::Waits { ends, waiting },
        })
    }

    /// Takes up the approval of an identical call that died before it ran, if there is one. No one is asked.
    pub fn take_up(&self, request: &ApprovalRequest) -> Result<Option<Ticket>, NoAnswer> {
        let Some(dir) = DurableDir::open(&self.0.path).map_err(unkept)? else {
            return Ok(None);
        };
        let key = key(&request.call_digest);
        // Without the lock first: mostly there is nothing.
        if !index(&dir)
            .map_err(unkept)?
            .values()
            .any(|files| files.key == key)
        {
            return Ok(None);
        }
        let lock = dir.lock().map_err(unkept)?;
        let index = index(&dir).map_err(unkept)?;
        let found = self.identical(&dir, &index, &key, request);
        let is_answered = |id: &Uuid| index.get(id).is_some_and(|files| files.is_answered);
        let Some((id, stored)) = found.filter(|(id, _)| is_answered(id)) else {
            return Ok(None);
        };
        let (waiting, _) = self
            .0
            .waits
            .join(&self.0, &dir, &lock, id, &stored.ends)
            .map_err(unkept)?;
        drop(lock);
        Ok(Some(Ticket {
            queue: self.clone(),
            id,
            id_text: id.hyphenated().to_string(),
            is_own: false,
            state: State::Waits {
                ends: stored.ends,
                waiting,
            },
        }))
    }

    /// A new question, not on the disk yet.
    fn new_question(
        &self,
        dir: &DurableDir,
        index: &Index,
        mut request: ApprovalRequest,
    ) -> Result<(Uuid, StoredRequest), NoAnswer> {
        let now = self.now();
        self.check_room(dir, index, &now, &request.caller)?;
        self.check_denials(dir, index, &now, &request.caller)?;
        let expires = self.0.options.expires;
        let wait = request.wait.map_or(expires, |wait| wait.min(expires));
        let id = Uuid::now_v7();
        request.id = id.hyphenated().to_string();
        request.created_at = Timestamp::now();
        request.expires_at = Some(
            request
                .created_at
                .saturating_add(SignedDuration::try_from(wait).unwrap_or_default())
                .unwrap_or(Timestamp::MAX),
        );
        if let Some(diff) = request.diff.as_mut().filter(|diff| diff.len() > MAX_DIFF) {
            let left_out = diff.len() - diff.floor_char_boundary(MAX_DIFF);
            diff.truncate(diff.floor_char_boundary(MAX_DIFF));
            diff.push_str(&format!("\n… ({left_out} bytes left out)\n"));
        }
        let stored = StoredRequest {
            request,
            ends: now.after(wait),
            created: now,
        };
        Ok((id, stored))
    }

    /// Refuses to put a question when too many wait: of all, or of one caller, its tools' included. Clients of a server have half of the room each,
    /// and leave some of it to the operator, so that no flood of theirs keeps others from asking.
    fn check_room(
        &self,
        dir: &DurableDir,
        index: &Index,
        now: &Moment,
        caller: &Caller,
    ) -> Result<(), NoAnswer> {
        let room = Room::of(self.0.options.max_pending, caller);
        let open = |files: &&Files| files.request.is_some() && !files.is_answered;
        if index.values().filter(open).count() < room.own.min(room.all) {
            return Ok(());
        }
        // By their names alone they may be too many; those that have lapsed do not count.
        let (mut all, mut own) = (0, 0);
        let stored = index
            .values()
            .filter(open)
            .filter_map(|files| load::<StoredRequest>(dir, files.request.as_deref()?).ok()?)
            .filter(|stored| stored.ends.remaining(now).is_some());
        for stored in stored {
            all += 1;
            own += usize::from(stored.request.caller.outermost() == caller.outermost());
        }
        if all >= room.all {
            Err(NoAnswer::TooMany { pending: all })
        } else if own >= room.own {
            Err(NoAnswer::TooManyOfOne { pending: own })
        } else {
            Ok(())
        }
    }

    /// Refuses to put a question of a caller whose calls were denied again and again just now.
    fn check_denials(
        &self,
        dir: &DurableDir,
        index: &Index,
        now: &Moment,
        caller: &Caller,
    ) -> Result<(), NoAnswer> {
        let counts = self.0.options.remember_denial.min(DENIED_WITHIN);
        // What was approved and used is not a denial.
        let answered = index
            .iter()
            .rev()
            .filter(|(_, files)| files.is_answered && !files.is_claimed);
        let (mut denied, mut wait) = (0, Duration::MAX);
        for (id, files) in answered.take(LOOK_BACK) {
            let Ok(Some(answer)) = load::<StoredAnswer>(dir, &answer_name(*id)) else {
                continue;
            };
            if answer.response.is_none_or(|response| response.approved) {
                continue;
            }
            let since = answer.given.elapsed(now);
            let Some(left) = since.and_then(|since| counts.checked_sub(since)) else {
                continue;
            };
            let Some(name) = files.request.as_deref() else {
                continue;
            };
            let Ok(Some(stored)) = load::<StoredRequest>(dir, name) else {
                continue;
            };
            if stored.request.caller.outermost() == caller.outermost() {
                denied += 1;
                wait = wait.min(left);
            }
        }
        if denied < MAX_DENIED {
            return Ok(());
        }
        Err(NoAnswer::DeniedTooOften { denied, wait })
    }

    /// The questions about the same call, newest first.
    fn same_call<'a>(
        &self,
        dir: &'a DurableDir,
        index: &'a Index,
        key: &'a str,
        request: &'a ApprovalRequest,
    ) -> impl Iterator<Item = (Uuid, &'a Files, StoredRequest)> + 'a {
        let found = index
            .iter()
            .rev()
            .filter(move |(_, files)| files.key == key);
        // A question that does not say what it rests on is like no other.
        let found = found.filter(|_| !request.call_digest.is_empty());
        found.filter_map(move |(id, files)| {
            // What cannot be read is no one's.
            let stored: StoredRequest = load(dir, files.request.as_deref()?).ok()??;
            (stored.request.call_digest == request.call_digest).then_some((*id, files, stored))
        })
    }

    /// The denial of the same call, while it is remembered.
    fn remembered(
        &self,
        dir: &DurableDir,
        index: &Index,
        key: &str,
        request: &ApprovalRequest,
    ) -> Result<Option<Ticket>, NoAnswer> {
        let now = self.now();
        for (id, files, _) in self.same_call(dir, index, key, request) {
            if !files.is_answered {
                continue;
            }
            let Ok(Some(answer)) = load::<StoredAnswer>(dir, &answer_name(id)) else {
                continue;
            };
            let Some(mut denial) = answer.response.filter(|response| !response.approved) else {
                continue;
            };
            let Some(since) = answer.given.elapsed(&now) else {
                continue;
            };
            let Some(left) = self.0.options.remember_denial.checked_sub(since) else {
                continue;
            };
            denial.reason = Some(again(denial.reason.as_deref(), since, left));
            return Ok(Some(Ticket {
                queue: self.clone(),
                id,
                id_text: id.hyphenated().to_string(),
                is_own: false,
                state: State::Remembered(Box::new(denial)),
            }));
        }
        Ok(None)
    }

    /// A question about the same call that can be joined: pending, or approved, unused and awaited by no one.
    fn identical(
        &self,
        dir: &DurableDir,
        index: &Index,
        key: &str,
        request: &ApprovalRequest,
    ) -> Option<(Uuid, StoredRequest)> {
        let now = self.now();
        let mut found = self.same_call(dir, index, key, request);
        found.find_map(|(id, files, stored)| {
            let joins = match (files.is_answered, files.is_claimed) {
                (_, true) => false,
                (false, false) => stored.ends.remaining(&now).is_some(),
                (true, false) => {
                    let answer = load::<StoredAnswer>(dir, &answer_name(id)).ok()??;
                    let approved = answer.response.is_some_and(|response| response.approved);
                    approved && answer.ends.remaining(&now).is_some() && !is_awaited(dir, files)
                }
            };
            joins.then_some((id, stored))
        })
    }
}

/// How many questions there may be when a caller puts one more.
#[derive(Debug, PartialEq, Eq)]
struct Room {
    /// Of everybody together.
    all: usize,
    /// Of the caller.
    own: usize,
}

impl Room {
    fn of(max: usize, caller: &Caller) -> Self {
        match caller.outermost() {
            Caller::Library | Caller::Cli | Caller::Operator => Room { all: max, own: max },
            Caller::Mcp | Caller::Client(_) | Caller::ToolFor(_) | Caller::Tool => {
                // With room for one question there is nothing to share out.
                let kept_back = (max / 10).max(1);
                Room {
                    all: max.saturating_sub(kept_back).max(1),
                    own: (max / 2).max(1),
                }
            }
        }
    }
}

/// Puts a question on the disk.
fn keep(
    dir: &DurableDir,
    lock: &DirLock,
    name: &str,
    stored: &StoredRequest,
) -> Result<(), NoAnswer> {
    let bytes = serde_json::to_vec_pretty(stored).map_err(unkept)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(unkept(format!(
            "it has {} bytes, and the limit is {MAX_BYTES}; call with less",
            bytes.len()
        )));
    }
    dir.create_new(lock, name, &bytes).map_err(unkept)
}

fn again(reason: Option<&str>, since: Duration, left: Duration) -> String {
    let said = reason.map_or(String::new(), |reason| {
        format!("{}; ", text::shorten(reason, 1000))
    });
    format!(
        "{said}the same call was denied {} s ago, and no one is asked again for another {} s",
        since.as_secs(),
        left.as_secs().max(1)
    )
}

impl Ticket {
    /// The id under which others find the question.
    pub fn id(&self) -> &str {
        &self.id_text
    }

    pub(super) fn is_own(&self) -> bool {
        self.is_own
    }

    /// Looks for an answer. Cheap; blocks only when the question has lapsed.
    pub fn look(&self) -> Result<Look, NoAnswer> {
        let (ends, dir) = match &self.state {
            State::Remembered(denial) => return Ok(Look::Answered(denial.clone())),
            State::Waits { ends, waiting } => (ends, waiting.dir()),
        };
        if let Some(look) = self.read(dir)? {
            return Ok(look);
        }
        if ends.remaining(&self.queue.now()).is_some() {
            return Ok(Look::Pending);
        }
        // An answering process holds the lock, and reads the clock under it: now there is an answer or there will be none.
        let _lock = dir.lock().map_err(unkept)?;
        Ok(self.read(dir)?.unwrap_or(Look::Gone))
    }

    fn read(&self, dir: &DurableDir) -> Result<Option<Look>, NoAnswer> {
        let answer: Option<StoredAnswer> = load(dir, &answer_name(self.id))?;
        Ok(answer.map(|answer| match answer.response {
            Some(response) => Look::Answered(Box::new(response)),
            None if !answer.changed.is_empty() => Look::Changed(answer.changed),
            None => Look::Gone,
        }))
    }
}
