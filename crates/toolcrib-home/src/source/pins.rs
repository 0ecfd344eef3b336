//! What the user has trusted: [`Pins`] of a workspace, one file of the home each, `trust/<digest of the path>.json`.
//!
//! A pin is the digest of a file's bytes, and of what they say: a file that changed only in comments and layout stays trusted. Pins of
//! older versions have the first alone, and hold as they did. The text is kept beside it to show what changed since, as long as there is room; a pin
//! without one is as good. Damage means that nothing is trusted, and is said.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::content::Content;
use super::definition::{FileDefinition, FileKind};
use crate::model::names::hex;
use crate::storage::{DirLock, DurableDir, Stamp, StorageError};

/// The largest file of pins.
const MAX_BYTES: u64 = 32 * 1024 * 1024;
/// How much text is kept of one file, and of all files of a workspace.
const MAX_TEXT: usize = 64 * 1024;
const MAX_TEXTS: usize = 8 * 1024 * 1024;
/// For how many workspaces pins are kept.
const MAX_WORKSPACES: usize = 1000;

/// The pins of one workspace.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Pins {
    /// The workspace.
    directory: String,
    /// When something was last trusted.
    #[serde(default)]
    trusted_at: String,
    /// By path in the workspace.
    pub(super) files: BTreeMap<String, Pin>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

/// One trusted file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pin {
    /// SHA-256 of its bytes, in hex.
    pub(super) digest: String,
    /// SHA-256 of what it says, in hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) meaning: Option<String>,
    /// Its text, to show what changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
}

impl Pin {
    /// The pin of a file with these bytes; the end of its path says which kind of file it is.
    pub(super) fn of(bytes: &[u8], path: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path);
        let text = (bytes.len() <= MAX_TEXT)
            .then(|| String::from_utf8(bytes.to_vec()).ok())
            .flatten();
        let definition =
            FileKind::of(name).and_then(|(kind, stem)| kind.load(bytes, stem).definition);
        Pin {
            digest: hex(&Sha256::digest(bytes)),
            meaning: definition.map(|definition| definition.meaning().digest.clone()),
            text,
        }
    }

    /// Whether the file's tool has this name: by its path, or by what is known of its text.
    fn names(&self, path: &str, tool: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let Some((kind, stem)) = FileKind::of(name) else {
            return false;
        };
        let read = |text: &str| kind.load(text.as_bytes(), stem).definition;
        // Reading costs more than looking.
        let text = self.text.as_deref().filter(|text| text.contains(tool));
        stem == tool
            || text
                .and_then(read)
                .is_some_and(|definition| definition.name().as_str() == tool)
    }

    /// Whether a file is the one that was trusted, comments and layout aside.
    pub(super) fn is_of(&self, content: &Content) -> bool {
        let meaning = content.definition().map(FileDefinition::meaning);
        content.digest() == Some(self.digest.as_str())
            || meaning.is_some_and(|meaning| {
                let pinned = self.meaning.as_deref();
                pinned == Some(&meaning.digest) || pinned == Some(&meaning.before)
            })
    }
}

/// The directory in the home.
const DIRECTORY: &str = "trust";

/// The directory of pins.
#[derive(Debug, Clone)]
pub(super) struct PinStore {
    home: PathBuf,
}

impl PinStore {
    pub(super) fn at(home: &Path) -> Self {
        PinStore {
            home: home.to_owned(),
        }
    }

    /// When the pins of a workspace were last written.
    pub(super) fn stamp(&self, workspace: &Path) -> Option<Stamp> {
        Stamp::at(&self.path(workspace))
    }

    /// Where the pins of a workspace are.
    pub(super) fn path(&self, workspace: &Path) -> PathBuf {
        self.home.join(DIRECTORY).join(file_name(workspace))
    }

    /// The pins of a workspace; the error is what is wrong with them.
    pub(super) fn read(&self, workspace: &Path) -> Result<Pins, String> {
        let found = DurableDir::open_in_home(&self.home, DIRECTORY)
            .and_then(|dir| dir.map_or(Ok(None), |dir| read_from(&dir, &file_name(workspace))))
            .map_err(|error| error.to_string())?;
        match found {
            None => Ok(Pins::default()),
            Some(Ok(pins)) if pins.directory == workspace.to_string_lossy() => Ok(pins),
            Some(Ok(_)) => Err("it is about another directory".to_owned()),
            Some(Err(error)) => Err(error.to_string()),
        }
    }

    /// Whether the user trusted a file in another workspace whose tool has this name.
    pub(super) fn is_trusted_elsewhere(&self, tool: &str, here: Option<&Path>) -> bool {
        let Ok(Some(dir)) = DurableDir::open_in_home(&self.home, DIRECTORY) else {
            return false;
        };
        let own = here.map(file_name);
        let names = dir.list().unwrap_or_default();
        let mut others = names.iter().filter(|name| Some(*name) != own.as_ref());
        others.any(|name| {
            let Ok(Some(Ok(pins))) = read_from(&dir, name) else {
                return false;
            };
            let mut files = pins.files.iter();
            files.any(|(path, pin)| pin.names(path, tool))
        })
    }

    /// Changes the pins of a workspace under the lock of the directory.
    pub(super) fn change(
        &self,
        workspace: &Path,
        change: impl FnOnce(&mut Pins),
    ) -> Result<(), StorageError> {
        let dir = DurableDir::create(self.home.join(DIRECTORY))?;
        let lock = dir.lock()?;
        let name = file_name(workspace);
        // A damaged file is written again: nothing in it was trusted any more.
        let mut pins = match read_from(&dir, &name) {
            Ok(Some(Ok(pins))) => pins,
            Ok(_) | Err(StorageError::TooLarge { .. }) => Pins::default(),
            Err(error) => return Err(error),
        };
        pins.directory = workspace.to_string_lossy().into_owned();
        change(&mut pins);
        pins.trusted_at = jiff::Timestamp::now().to_string();
        pins.make_room();
        let bytes = serde_json::to_vec_pretty(&pins)
            .map_err(|error| StorageError::io("write", &name, error))?;
        dir.write(&lock, &name, &bytes)?;
        forget_old(&dir, &lock, &name)
    }
}

impl Pins {
    /// Lets go of texts, the longest first, until the rest fits.
    fn make_room(&mut self) {
        let length = |pin: &Pin| pin.text.as_ref().map_or(0, String::len);
        let mut total: usize = self.files.values().map(length).sum();
        while total > MAX_TEXTS {
            let Some(longest) = self.files.values_mut().max_by_key(|pin| length(pin)) else {
                return;
            };
            total -= length(longest);
            longest.text = None;
        }
    }
}

/// Whether the user trusted a file in another workspace than this one whose tool has this name.
pub(crate) fn is_trusted_elsewhere(home: &Path, tool: &str, here: Option<&Path>) -> bool {
    PinStore::at(home).is_trusted_elsewhere(tool, here)
}

/// The file for a workspace: its path may be longer than a name can be.
fn file_name(workspace: &Path) -> String {
    let digest = Sha256::digest(workspace.as_os_str().as_encoded_bytes());
    format!("{}.json", hex(&digest[..16]))
}

type Parsed = Result<Pins, serde_json::Error>;

fn read_from(dir: &DurableDir, name: &str) -> Result<Option<Parsed>, StorageError> {
    let bytes = dir.read(name, MAX_BYTES)?;
    Ok(bytes.map(|bytes| serde_json::from_slice(&bytes)))
}

/// Beyond the bound, first the workspaces go that are gone themselves, then those that were trusted longest ago.
fn forget_old(dir: &DurableDir, lock: &DirLock, keep: &str) -> Result<(), StorageError> {
    let names = dir.list()?;
    if names.len() <= MAX_WORKSPACES {
        return Ok(());
    }
    let mut others: Vec<(bool, String, String)> = names
        .into_iter()
        .filter(|name| name != keep)
        .map(|name| match read_from(dir, &name) {
            Ok(Some(Ok(pins))) => (
                Path::new(&pins.directory).is_dir(),
                pins.trusted_at.clone(),
                name,
            ),
            _ => (false, String::new(), name),
        })
        .collect();
    others.sort();
    let surplus = others.len().saturating_sub(MAX_WORKSPACES - 1);
    for (_, _, name) in others.into_iter().take(surplus) {
        dir.remove(lock, &name)?;
    }
    Ok(())
}
