//! [`Grants`]: the grants of a home, one file each.
//!
//! ```text
//! <id>.json   a grant; one that came with an answer has the id of the question
//! <id>.over   that there was one: used up, ended or revoked, and never made again
//! ```
//!
//! Several identical calls share an answer, and each of them makes the grant that came with it. The slowest may come when
//! others have used the grant up and its file is gone; what is left then keeps it from coming back to life.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use toolcrib_core::approval::Clock;
use toolcrib_core::approval::grants::{
    Grant, GrantRefusal, GrantRequest, GrantStore, Subject, check, no_grant,
};

use super::queue::{Damaged, one_named};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::text;
use crate::storage::{DirLock, DurableDir, StorageError};

/// The largest file of a grant.
const MAX_BYTES: u64 = 1024 * 1024;
/// The most grants of a home: each is read for every call that would be asked about.
const MAX_GRANTS: usize = 1000;
/// How long it is known that a grant is over: longer than any answer can wait to be used.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(14 * 24);

/// The grants of a home. Cloning is cheap and shares everything; nothing is created before there is a grant.
#[derive(Debug, Clone)]
pub struct Grants(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    clock: Clock,
}

/// What [`Grants::list`] finds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GrantList {
    /// The grants that cover something, oldest first.
    pub grants: Vec<Grant>,
    /// Files that cannot be read. They cover nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<Damaged>,
}

/// Why a grant cannot be made or found.
#[derive(Debug, thiserror::Error)]
pub enum GrantError {
    /// No one can grant that.
    #[error(transparent)]
    Refused(#[from] GrantRefusal),
    /// There is no such grant.
    #[error(
        "there is no grant `{}`; `toolcrib grants list` shows them",
        text::shorten(id, 64)
    )]
    NotFound {
        /// What was looked for.
        id: String,
    },
    /// Several grants have such an id.
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
    /// The files could not be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl From<GrantError> for ToolError {
    fn from(error: GrantError) -> Self {
        match error {
            GrantError::Refused(refusal) => refusal.into(),
            GrantError::Storage(error) => error.into(),
            GrantError::NotFound { .. } | GrantError::Ambiguous { .. } => {
                ToolError::new(ErrorCode::Usage, error.to_string())
            }
        }
    }
}

impl Grants {
    /// The grants in a directory.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Grants::with_clock(path, Clock::default())
    }

    /// The grants in a directory, by this clock.
    pub fn with_clock(path: impl Into<PathBuf>, clock: Clock) -> Self {
        Grants(Arc::new(Inner {
            path: path.into(),
            clock,
        }))
    }

    /// Keeps a grant, and removes those that are over. An id serves once: not again when its grant is over.
    pub fn add(&self, grant: Grant) -> Result<Grant, GrantError> {
        let bytes = serde_json::to_vec_pretty(&grant).unwrap_or_default();
        if bytes.len() as u64 > MAX_BYTES {
            return Err(GrantRefusal::Unusable(format!(
                "the grant is longer than {MAX_BYTES} bytes; grant less"
            ))
            .into());
        }
        let dir = DurableDir::create(&self.0.path)?;
        let lock = dir.lock()?;
        self.sweep(&dir, &lock)?;
        let name = file_name(&grant.id)?;
        let names = dir.list()?;
        let over = over_name(&name);
        if names.contains(&over) {
            return Err(StorageError::Exists { name: over }.into());
        }
        if names.iter().filter(|name| !is_over_name(name)).count() >= MAX_GRANTS {
            return Err(GrantRefusal::Unusable(format!(
                "there are {MAX_GRANTS} grants already; revoke some"
            ))
            .into());
        }
        dir.create_new(&lock, &name, &bytes)?;
        Ok(grant)
    }

    /// The grants that cover something, oldest first.
    pub fn list(&self) -> Result<GrantList, StorageError> {
        let mut list = self.read_all()?;
        list.grants.retain(|grant| !self.is_over(grant));
        Ok(list)
    }

    /// All grants that are kept, oldest first: also those that are over, until the next grant is made.
    pub fn list_all(&self) -> Result<GrantList, StorageError> {
        self.read_all()
    }

    /// Takes a grant back, by its id or a part that no other has.
    pub fn revoke(&self, id: &str) -> Result<Grant, GrantError> {
        let not_found = || GrantError::NotFound { id: id.to_owned() };
        let dir = DurableDir::open(&self.0.path)?.ok_or_else(not_found)?;
        let lock = dir.lock()?;
        let found = self.find(id)?;
        bury(&dir, &lock, &file_name(&found.id)?)?;
        Ok(found)
    }

    /// A grant, by its id or a part that no other has. It may be over.
    pub fn find(&self, id: &str) -> Result<Grant, GrantError> {
        let mut grants = self.read_all()?.grants;
        match one_named(id, grants.iter().map(|grant| grant.id.as_str())) {
            Ok(Some(index)) => Ok(grants.swap_remove(index)),
            Ok(None) => Err(GrantError::NotFound { id: id.to_owned() }),
            Err(count) => Err(GrantError::Ambiguous {
                id: id.to_owned(),
                count,
            }),
        }
    }

    fn is_over(&self, grant: &Grant) -> bool {
        grant.is_over(&self.0.clock.now(), Timestamp::now())
    }

    fn read_all(&self) -> Result<GrantList, StorageError> {
        let mut list = GrantList {
            grants: Vec::new(),
            damaged: Vec::new(),
        };
        let Some(dir) = DurableDir::open(&self.0.path)? else {
            return Ok(list);
        };
        for name in dir.list()? {
            if is_over_name(&name) {
                continue;
            }
            let problem = match dir.read(&name, MAX_BYTES) {
                Ok(None) => continue,
                Ok(Some(bytes)) => match serde_json::from_slice::<Grant>(&bytes) {
                    Ok(grant) if file_name(&grant.id).is_ok_and(|own| own == name) => {
                        list.grants.push(grant);
                        continue;
                    }
                    Ok(_) => "it holds the grant of another file".to_owned(),
                    Err(error) => error.to_string(),
                },
                Err(error) => error.to_string(),
            };
            list.damaged.push(Damaged {
                file: name,
                problem,
            });
        }
        Ok(list)
    }

    /// Removes grants that are over, under the lock, and what is left of those whose answers are long forgotten.
    fn sweep(&self, dir: &DurableDir, lock: &DirLock) -> Result<(), StorageError> {
        dir.sweep(lock)?;
        for grant in self.read_all()?.grants {
            if self.is_over(&grant) {
                bury(dir, lock, &file_name(&grant.id)?)?;
            }
        }
        for name in dir.list()? {
            if is_over_name(&name) && is_forgotten(&name) {
                dir.remove(lock, &name)?;
            }
        }
        Ok(())
    }
}

impl GrantStore for Grants {
    fn make(
        &self,
        question: &str,
        request: &GrantRequest,
        subject: &Subject<'_>,
        by: &str,
    ) -> Result<Grant, ToolError> {
        check(request, subject)?;
        if !request.shape.covers(subject.args, subject.workspace) {
            return Err(GrantRefusal::NotThisCall.into());
        }
        let mut grant = Grant::draft(request, subject, by, &self.0.clock);
        if let Ok(question) = uuid::Uuid::try_parse(question) {
            grant.id = question.hyphenated().to_string();
        }
        let id = grant.id.clone();
        let made = match self.add(grant) {
            Err(GrantError::Storage(StorageError::Exists { .. })) => match self.find(&id) {
                Err(GrantError::NotFound { .. }) => Err(GrantRefusal::Unusable(
                    "the grant of this answer was made before and is over".to_owned(),
                )
                .into()),
                found => found,
            },
            made => made,
        };
        Ok(made?)
    }

    fn covering(&self, subject: &Subject<'_>) -> Result<Option<Grant>, ToolError> {
        if no_grant(subject).is_some() {
            return Ok(None);
        }
        let list = self.list()?;
        Ok(list.grants.into_iter().find(|grant| grant.covers(subject)))
    }

    fn keep(
        &self,
        request: &GrantRequest,
        subject: &Subject<'_>,
        by: &str,
    ) -> Result<Grant, ToolError> {
        check(request, subject)?;
        Ok(self.add(Grant::draft(request, subject, by, &self.0.clock))?)
    }

    fn spend(&self, id: &str) -> Result<bool, ToolError> {
        let Some(dir) = DurableDir::open(&self.0.path)? else {
            return Ok(false);
        };
        let lock = dir.lock()?;
        let name = file_name(id)?;
        let Some(bytes) = dir.read(&name, MAX_BYTES)? else {
            return Ok(false);
        };
        let Ok(mut grant) = serde_json::from_slice::<Grant>(&bytes) else {
            return Ok(false);
        };
        if self.is_over(&grant) {
            return Ok(false);
        }
        grant.uses += 1;
        let bytes = serde_json::to_vec_pretty(&grant).unwrap_or_default();
        dir.write(&lock, &name, &bytes)?;
        Ok(true)
    }
}

/// Removes the file of a grant, and leaves word that it was there: that first, so that dying between the two brings nothing back.
fn bury(dir: &DurableDir, lock: &DirLock, name: &str) -> Result<(), StorageError> {
    dir.write(lock, &over_name(name), b"")?;
    dir.remove(lock, name)?;
    Ok(())
}

/// The rest of the grant in this file.
fn over_name(name: &str) -> String {
    format!("{}.over", name.trim_end_matches(".json"))
}

fn is_over_name(name: &str) -> bool {
    name.strip_suffix(".over")
        .is_some_and(|id| uuid::Uuid::try_parse(id).is_ok())
}

/// Whether the id is so old that no answer with it can be used any more.
fn is_forgotten(name: &str) -> bool {
    let made = name
        .strip_suffix(".over")
        .and_then(|id| uuid::Uuid::try_parse(id).ok())
        .and_then(|id| id.get_timestamp())
        .and_then(|made| Timestamp::from_second(i64::try_from(made.to_unix().0).ok()?).ok());
    made.is_none_or(|made| Timestamp::now().duration_since(made) > REMEMBERED)
}

/// The file of a grant. Ids are ours; a text that is none names no file.
fn file_name(id: &str) -> Result<String, StorageError> {
    match uuid::Uuid::try_parse(id) {
        Ok(uuid) => Ok(format!("{}.json", uuid.hyphenated())),
        Err(_) => Err(StorageError::Name {
            name: id.to_owned(),
            why: "it is not the id of a grant",
        }),
    }
}
