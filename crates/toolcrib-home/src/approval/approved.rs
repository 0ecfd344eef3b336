//! [`ApprovedFiles`]: with which content files of workspaces were last approved to run, `state/approved.json` in the home.
//!
//! It answers one question, for a person who is asked: is this the file that was approved before? Nothing is allowed by it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use toolcrib_core::approval::{ApprovalMemory, BoundFile};

use crate::model::digest::Digester;
use crate::model::error::ToolError;
use crate::storage::DurableDir;

const FILE: &str = "approved.json";
/// The largest such file that is read; it is less than half of that when all places are taken.
const MAX_BYTES: u64 = 1024 * 1024;
/// How many files are remembered; those approved longest ago are forgotten first.
const MAX_FILES: usize = 2000;

/// Which files were approved. Cloning is cheap; nothing is created before there is one.
#[derive(Debug, Clone)]
pub struct ApprovedFiles {
    directory: PathBuf,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Remembered {
    /// By a digest of the workspace and the path.
    files: BTreeMap<String, One>,
}

#[derive(Debug, Serialize, Deserialize)]
struct One {
    digest: String,
    at: Timestamp,
}

impl ApprovedFiles {
    /// Those that are remembered in a directory.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        ApprovedFiles {
            directory: directory.into(),
        }
    }
}

impl ApprovalMemory for ApprovedFiles {
    fn mark(&self, workspace: &str, bound: &mut [BoundFile]) {
        let dir = DurableDir::open(&self.directory).ok().flatten();
        let Some(remembered) = dir.map(|dir| read(&dir)) else {
            return;
        };
        for file in bound {
            let last = remembered.files.get(&key(workspace, &file.path));
            file.changed = last.map(|last| last.digest != content(file));
        }
    }

    fn remember(&self, workspace: &str, bound: &[BoundFile]) -> Result<(), ToolError> {
        if bound.iter().all(|file| file.changed == Some(false)) {
            return Ok(());
        }
        let dir = DurableDir::create(&self.directory)?;
        let lock = dir.lock()?;
        let mut remembered = read(&dir);
        for file in bound {
            let one = One {
                digest: content(file),
                at: Timestamp::now(),
            };
            remembered.files.insert(key(workspace, &file.path), one);
        }
        while remembered.files.len() > MAX_FILES {
            let oldest = remembered.files.iter().min_by_key(|(_, one)| one.at);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else {
                break;
            };
            remembered.files.remove(&oldest);
        }
        let bytes = serde_json::to_vec_pretty(&remembered).unwrap_or_default();
        Ok(dir.write(&lock, FILE, &bytes)?)
    }
}

/// The remembered approvals. A file that cannot be read is as good as none: it is written again with the next approval.
fn read(dir: &DurableDir) -> Remembered {
    let bytes = dir.read(FILE, MAX_BYTES).ok().flatten();
    let read = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    read.unwrap_or_default()
}

fn key(workspace: &str, path: &str) -> String {
    let digest = Digester::default().text(workspace).text(path).finish();
    digest[..32].to_owned()
}

/// The compared parts: where links lead, and the content.
fn content(file: &BoundFile) -> String {
    let part = |part: &Option<String>| part.clone().unwrap_or_default();
    Digester::default()
        .text(&part(&file.leads_to))
        .text(&part(&file.digest))
        .finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, digest: &str) -> BoundFile {
        BoundFile {
            path: path.to_owned(),
            leads_to: None,
            digest: Some(digest.to_owned()),
            changed: None,
            pinned: true,
        }
    }

    #[test]
    fn a_file_is_compared_with_what_was_approved_at_its_path_in_its_workspace() {
        let home = tempfile::tempdir().unwrap();
        let approved = ApprovedFiles::at(home.path().join("state"));
        let marked = |workspace, path, digest| {
            let mut files = [file(path, digest)];
            approved.mark(workspace, &mut files);
            files[0].changed
        };
        assert_eq!(marked("/a", "x.sh", "1"), None);
        approved.remember("/a", &[file("x.sh", "1")]).unwrap();
        assert_eq!(marked("/a", "x.sh", "1"), Some(false));
        assert_eq!(marked("/a", "x.sh", "2"), Some(true));
        assert_eq!(marked("/a", "y.sh", "1"), None);
        assert_eq!(marked("/b", "x.sh", "1"), None);
    }

    #[test]
    fn what_was_approved_longest_ago_is_forgotten_first() {
        let home = tempfile::tempdir().unwrap();
        let approved = ApprovedFiles::at(home.path().join("state"));
        approved.remember("/a", &[file("first", "1")]).unwrap();
        let many: Vec<BoundFile> = (0..MAX_FILES)
            .map(|at| file(&at.to_string(), "1"))
            .collect();
        approved.remember("/a", &many).unwrap();
        let mut files = [file("first", "1"), file("0", "1")];
        approved.mark("/a", &mut files);
        assert_eq!((files[0].changed, files[1].changed), (None, Some(false)));
        let size = std::fs::metadata(home.path().join("state").join(FILE))
            .unwrap()
            .len();
        assert!(size * 2 < MAX_BYTES, "{size}");
    }

    #[test]
    fn a_damaged_file_counts_for_nothing_and_is_written_again() {
        let home = tempfile::tempdir().unwrap();
        let approved = ApprovedFiles::at(home.path());
        approved.remember("/a", &[file("x", "1")]).unwrap();
        std::fs::write(home.path().join(FILE), "{").unwrap();
        let mut files = [file("x", "1")];
        approved.mark("/a", &mut files);
        assert_eq!(files[0].changed, None);
        approved.remember("/a", &files).unwrap();
        approved.mark("/a", &mut files);
        assert_eq!(files[0].changed, Some(false));
    }
}
