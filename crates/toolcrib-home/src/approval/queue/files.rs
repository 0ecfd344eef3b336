//! The files of the queue: their names, what is in them, and what a directory of them amounts to.
//!
//! ```text
//! <id>.<key>.request.json   the question; the key is a part of its digest, to find identical calls by name
//! <id>.answer.json          the answer, or that the question was withdrawn; made once
//! <id>.claim.json           the approval was used; made once
//! <id>.<waiter>.wait        locked for as long as a process waits
//! ```
//!
//! Ids are UUIDs made here; no name comes from outside. Files are made, never changed, so that whatever a newer Toolcrib put
//! into them stays.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::model::digest::Digester;
use crate::storage::{DurableDir, StorageError};
use toolcrib_core::approval::Moment;
use toolcrib_core::approval::{ApprovalRequest, ApprovalResponse};

/// The largest file that is written or read.
pub(super) const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// How much of a digest is in a name.
const KEY: usize = 16;

/// The contents of a question's file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredRequest {
    pub(super) request: ApprovalRequest,
    /// When it was put.
    pub(super) created: Moment,
    /// When it lapses.
    pub(super) ends: Moment,
}

/// The contents of an answer's file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredAnswer {
    /// The answer; none if the question was withdrawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) response: Option<ApprovalResponse>,
    /// The files that changed since the question, if that is why there is no answer: another question takes its place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) changed: Vec<String>,
    /// When, for people.
    pub(super) at: Timestamp,
    /// When it was given.
    pub(super) given: Moment,
    /// Until when an approval can be used.
    pub(super) ends: Moment,
}

/// The contents of a claim's file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredClaim {
    /// When, for people.
    pub(super) at: Timestamp,
    /// By which process, for people.
    pub(super) pid: u32,
}

/// The files of one question, by name.
#[derive(Debug, Clone, Default)]
pub(super) struct Files {
    /// The question's own file; `None` when only others are left.
    pub(super) request: Option<String>,
    pub(super) key: String,
    pub(super) is_answered: bool,
    pub(super) is_claimed: bool,
    pub(super) waits: Vec<String>,
}

/// Every question of a directory, by id and so by age.
pub(super) type Index = BTreeMap<Uuid, Files>;

/// Reads the names of a directory, and nothing else.
pub(super) fn index(dir: &DurableDir) -> Result<Index, StorageError> {
    let mut index = Index::new();
    for name in dir.list()? {
        let Some((id, rest)) = name.split_once('.') else {
            continue;
        };
        let Ok(id) = Uuid::try_parse(id) else {
            continue;
        };
        match rest.split_once('.') {
            Some(("answer", "json")) => index.entry(id).or_default().is_answered = true,
            Some(("claim", "json")) => index.entry(id).or_default().is_claimed = true,
            Some((_, "wait")) => index.entry(id).or_default().waits.push(name),
            Some((key, "request.json")) if key.len() == KEY => {
                let files = index.entry(id).or_default();
                files.key = key.to_owned();
                files.request = Some(name);
            }
            _ => {}
        }
    }
    Ok(index)
}

/// The part of a call's digest that is in names. A digest of the digest: whatever text it is, this is 16 digits.
pub(super) fn key(call_digest: &str) -> String {
    Digester::default().text(call_digest).finish()[..KEY].to_owned()
}

pub(super) fn request_name(id: Uuid, key: &str) -> String {
    format!("{}.{key}.request.json", id.hyphenated())
}

pub(super) fn answer_name(id: Uuid) -> String {
    format!("{}.answer.json", id.hyphenated())
}

pub(super) fn claim_name(id: Uuid) -> String {
    format!("{}.claim.json", id.hyphenated())
}

pub(super) fn wait_name(id: Uuid) -> String {
    format!("{}.{}.wait", id.hyphenated(), Uuid::now_v7().simple())
}

/// Reads a file of ours. `None` when there is none; the error says what is wrong with it.
pub(super) fn load<T: DeserializeOwned>(
    dir: &DurableDir,
    name: &str,
) -> Result<Option<T>, LoadError> {
    let Some(bytes) = dir.read(name, MAX_BYTES)? else {
        return Ok(None);
    };
    serde_json::from_slice(&bytes)
        .map(Some)
        .map_err(|error| LoadError::Damaged(error.to_string()))
}

/// Why a file cannot be read.
#[derive(Debug)]
pub(super) enum LoadError {
    Damaged(String),
    Storage(StorageError),
}

impl From<StorageError> for LoadError {
    fn from(error: StorageError) -> Self {
        match error {
            // Not ours, whatever it is; the others are not concerned.
            StorageError::NotAFile { .. } | StorageError::TooLarge { .. } => {
                LoadError::Damaged(error.to_string())
            }
            other => LoadError::Storage(other),
        }
    }
}

impl std::fmt::Display for LoadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LoadError::Damaged(problem) => f.write_str(problem),
            LoadError::Storage(error) => error.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_our_own_making_are_known() {
        let home = tempfile::tempdir().unwrap();
        let dir = DurableDir::create(home.path()).unwrap();
        let lock = dir.lock().unwrap();
        let id = Uuid::now_v7();
        let key = key("whatever ../ text");
        for name in [
            request_name(id, &key),
            answer_name(id),
            claim_name(id),
            wait_name(id),
            String::from("notes.txt"),
            String::from("x.answer.json"),
            format!("{id}.answer.json.bak"),
            format!("{id}.short.request.json"),
        ] {
            dir.write(&lock, &name, b"").unwrap();
        }
        let index = index(&dir).unwrap();
        let [(found, files)] = &index.iter().collect::<Vec<_>>()[..] else {
            panic!("{index:?}");
        };
        assert_eq!(**found, id);
        assert_eq!(files.key, key);
        assert!(files.is_answered && files.is_claimed && files.request.is_some());
        assert_eq!(files.waits.len(), 1);
    }
}
