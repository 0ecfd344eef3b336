//! What runs planted in a workspace, kept where nothing runs it: [`HeldStore`].
//!
//! A command may make an `.envrc` or a git hook, by intent or because a project's generator does. Nothing of that may run on the
//! host because a tool was called, and nothing of it may be lost. So the sandbox notices it ([`Keeper`](crate::sandbox::Keeper)), and it is moved here, byte
//! for byte with its mode and times, until a person puts it back or drops it.
//!
//! A repository that a run makes stays in the workspace. Its hooks are held, and of its configuration the original is held
//! while one without the settings that run programs takes its place.
//!
//! `run.rs` looks after one run, `run_file.rs` is the file that says so, `moving.rs` moves things without following a link, `copying.rs` copies them, `made.rs` knows which repositories runs made.
//! Every run is written down before it starts (`runs/`), so that the next process deals with one that was killed.
//!
//! Considered and left out: a separate file system view for each run (an overlay cannot be committed without the same
//! questions, and breaks programs that watch the workspace), and inotify (it reports too late, and not which process did it).

mod copying;
mod moving;
mod own_repositories;
mod run;
mod run_file;

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::model::caller::Caller;
use crate::model::digest;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::ids::CallId;
use crate::model::text;
use crate::storage::{DurableDir, StorageError};
use crate::workspace::Workspace;
use copying::Allowance;
use moving::{Copying, DirEntry, Moved, Replacement};
pub use run::HeldRun;
use run_file::IdleFiles;

/// The record of something held, beside its content.
const RECORD: &str = "record.json";
/// The thing itself: a file, a directory or a link.
const CONTENT: &str = "content";
/// Its copy while that is made.
const COPY: &str = "copy";
/// How long a record may be.
const MAX_BYTES: u64 = 256 << 10;
/// Added to why something is held if it shares its content with a name elsewhere.
const NOT_SEPARATE: &str = "; files that have another name (a hard link) were not all copied, and can still be changed by it";
/// Added to why something is held if it cannot be copied before a person looks.
const NOT_SEALED: &str =
    "; it is too large or too deep to be copied, so a command that still has it open can change it";
/// The shortest part of an id that is looked for.
const MIN_PART: usize = 4;

/// Things that runs planted, in the home. Cloning is cheap and shares everything; nothing is created before something is held.
#[derive(Debug, Clone)]
pub struct HeldStore(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    /// Files of runs that have ended, for the next ones.
    idle: IdleFiles,
}

/// Something that is held.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeldItem {
    /// Its id.
    pub id: String,
    /// Where it was, from the workspace.
    pub path: String,
    /// The program that would run it.
    pub why: String,
    /// Whether the path is empty now, or a harmless version is in its place.
    pub kind: HeldKind,
    /// The workspace.
    pub workspace: String,
    /// The workspace's path where it is not text, as hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_bytes: Option<String>,
    /// The tool whose run made it.
    pub tool: String,
    /// The call.
    #[schemars(with = "String")]
    pub call: CallId,
    /// The caller.
    #[schemars(with = "String")]
    pub caller: Caller,
    /// When it was taken.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// The question about it in the approvals queue, shared by all that one run planted.
    pub question: String,
    /// Whether a person has decided that it stays here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
    /// The path where it is not text, as hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_bytes: Option<String>,
    /// A digest of what took its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced_by: Option<String>,
    /// Whether no command can have it open any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sealed: bool,
}

/// What became of the place of something that is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HeldKind {
    /// Nothing is there.
    Taken,
    /// A version without what would run is there.
    Replaced,
}

impl HeldItem {
    /// Where it was, from the workspace.
    fn relative(&self) -> PathBuf {
        path_of(&self.path, self.path_bytes.as_deref())
    }

    /// The workspace.
    fn root(&self) -> PathBuf {
        path_of(&self.workspace, self.workspace_bytes.as_deref())
    }
}

/// A path from its text, or from its bytes where it is not text.
fn path_of(text: &str, bytes: Option<&str>) -> PathBuf {
    let bytes = bytes.and_then(from_digits);
    bytes.map_or_else(
        || PathBuf::from(text),
        |bytes| PathBuf::from(OsString::from_vec(bytes)),
    )
}

/// The contents of a held file, directory or link, for the person who decides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeldContent {
    /// The item.
    #[serde(flatten)]
    pub item: HeldItem,
    /// The files in it, from the item's own path; of a file that is not text, or is long, the beginning or a word.
    pub files: Vec<HeldFile>,
    /// Whether there are more files than are shown.
    pub truncated: bool,
}

/// One file of something that is held.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeldFile {
    /// Its path, from the item's.
    pub path: String,
    /// `file`, `link` or `other`.
    pub kind: String,
    /// Bytes of a file.
    pub size: u64,
    /// How many bytes at the end of a file are not in `text`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted: u64,
    /// The text, or where the link leads; none if it is not text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// How much of a file is shown, and how many files are.
const SHOWN_BYTES: usize = 16 << 10;
const SHOWN_FILES: usize = 50;

impl HeldStore {
    /// The store of a home.
    pub fn at(home: &Path) -> Self {
        HeldStore(Arc::new(Inner {
            path: home.join("held"),
            idle: IdleFiles::default(),
        }))
    }

    fn dir(&self) -> Result<Option<DurableDir>, StorageError> {
        DurableDir::open(&self.0.path)
    }

    /// Everything that is held, oldest first.
    pub fn list(&self) -> Result<Vec<HeldItem>, StorageError> {
        let Some(dir) = self.dir()? else {
            return Ok(Vec::new());
        };
        let mut items = Vec::new();
        for name in dir.subdirs()? {
            if Uuid::try_parse(&name).is_ok()
                && let Some(item) = self.read(&dir, &name)?
            {
                items.push(item);
            }
        }
        items.sort_by(|one, other| one.id.cmp(&other.id));
        Ok(items)
    }

    /// An item with its content in place. One without was being taken when its process died, and is where it was.
    fn read(&self, dir: &DurableDir, name: &str) -> Result<Option<HeldItem>, StorageError> {
        let Some(place) = dir.subdir(name)? else {
            return Ok(None);
        };
        let Some(bytes) = place.read(RECORD, MAX_BYTES)? else {
            return Ok(None);
        };
        let content = self.content(name).symlink_metadata();
        let item = serde_json::from_slice::<HeldItem>(&bytes).ok();
        Ok(item.filter(|_| content.is_ok()))
    }

    fn content(&self, id: &str) -> PathBuf {
        self.0.path.join(id).join(CONTENT)
    }

    /// The item of an id, or of a part of one that no other has.
    pub fn find(&self, id: &str) -> Result<HeldItem, ToolError> {
        let missing = || {
            let message = format!("nothing is held under the id `{}`", text::shorten(id, 64));
            ToolError::new(ErrorCode::NotFound, message)
        };
        if id.len() < MIN_PART {
            return Err(missing());
        }
        let mut items = self.list()?;
        items.retain(|item| item.id == id || item.id.contains(id));
        match items.len() {
            1 => items.pop().ok_or_else(missing),
            0 => Err(missing()),
            many => Err(ToolError::new(
                ErrorCode::Usage,
                format!("`{id}` is part of the ids of {many} held items; type more of it"),
            )),
        }
    }

    /// Puts a copy in the place of an item's content, once, before a person looks at it or gets it back. A command that still runs may have
    /// the original open: it could change what was shown, or what was put back.
    fn seal(&self, mut item: HeldItem) -> Result<HeldItem, ToolError> {
        if item.sealed {
            return Ok(item);
        }
        let directory = self.0.path.join(&item.id);
        // One that a killed process left.
        let sealed = moving::remove_all(&directory.join(COPY))
            .and_then(|()| DirEntry::in_home(&directory))
            .and_then(|content| content.replace_by_copy(COPY, &Allowance::of_a_run()));
        let _ = moving::remove_all(&directory.join(COPY));
        match sealed {
            Ok(()) => {
                item.sealed = true;
                self.rewrite(&item)?;
            }
            Err(_) => item.why.push_str(NOT_SEALED),
        }
        Ok(item)
    }

    /// The contents of an item.
    pub fn show(&self, id: &str) -> Result<HeldContent, ToolError> {
        let item = self.seal(self.find(id)?)?;
        let root = self.content(&item.id);
        let mut shown = HeldContent {
            item,
            files: Vec::new(),
            truncated: false,
        };
        let mut queue = vec![root.clone()];
        while let Some(path) = queue.pop() {
            let Ok(metadata) = path.symlink_metadata() else {
                continue;
            };
            if metadata.is_dir() {
                let entries = fs::read_dir(&path).into_iter().flatten().flatten();
                let mut entries: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
                entries.sort_by(|one, other| other.cmp(one));
                queue.extend(entries);
                continue;
            }
            if shown.files.len() == SHOWN_FILES {
                shown.truncated = true;
                break;
            }
            shown.files.push(shown_file(&root, &path, &metadata));
        }
        Ok(shown)
    }

    /// Puts an item back where it was. Nothing that is there now is replaced.
    pub fn restore(&self, id: &str) -> Result<HeldItem, ToolError> {
        let item = self.seal(self.find(id)?)?;
        let workspace = Workspace::open(&item.root()).map_err(|error| {
            let message = format!("the workspace of `{}` cannot be opened: {error}", item.path);
            ToolError::new(ErrorCode::FileNotFound, message)
        })?;
        let place = DirEntry::made(&workspace, &item.relative())
            .map_err(|error| self.not_back(&item, error))?;
        let from = DirEntry::in_home(&self.0.path.join(&item.id))
            .map_err(|error| self.not_back(&item, error))?;
        let moved = match item.kind {
            HeldKind::Taken => from.move_to(&place, Copying::Allowed(&Allowance::unbounded())),
            HeldKind::Replaced => {
                let now = place.digest();
                if now.is_some() && now != item.replaced_by {
                    return Err(self.in_the_way(&item, "was changed meanwhile"));
                }
                from.move_over(&place)
            }
        };
        match moved {
            Ok(Moved::Yes) => {}
            Ok(Moved::Occupied) => return Err(self.in_the_way(&item, "is there again")),
            Err(error) => return Err(self.not_back(&item, error)),
        }
        self.forget(&item)?;
        Ok(item)
    }

    fn in_the_way(&self, item: &HeldItem, what: &str) -> ToolError {
        let message = format!(
            "`{}` {what}; move it away, then run `toolcrib held restore {}` again",
            item.path, item.id
        );
        ToolError::new(ErrorCode::Conflict, message)
    }

    fn not_back(&self, item: &HeldItem, error: std::io::Error) -> ToolError {
        let message = format!("cannot put `{}` back: {error}; it is still held", item.path);
        ToolError::new(ErrorCode::StorageError, message)
    }

    /// Deletes an item.
    pub fn drop(&self, id: &str) -> Result<HeldItem, ToolError> {
        let item = self.find(id)?;
        let failed = |error: std::io::Error| {
            ToolError::new(
                ErrorCode::StorageError,
                format!("cannot delete `{}`: {error}", item.path),
            )
        };
        moving::remove_all(&self.content(&item.id)).map_err(failed)?;
        self.forget(&item)?;
        Ok(item)
    }

    fn forget(&self, item: &HeldItem) -> Result<(), StorageError> {
        let Some(dir) = self.dir()? else {
            return Ok(());
        };
        let lock = dir.lock()?;
        // What a process left that was killed while it copied.
        let _ = moving::remove_all(&self.0.path.join(&item.id).join(COPY));
        dir.remove_dir(&lock, &item.id, &[RECORD]).map(drop)
    }

    /// Notes that a person wants what is about this question to stay here.
    #[doc(hidden)]
    pub fn refuse(&self, question: &str) -> Result<(), StorageError> {
        for mut item in self.list()? {
            if item.question == question {
                item.refused = true;
                self.rewrite(&item)?;
            }
        }
        Ok(())
    }

    /// Takes something out of a workspace. On error it is where it was, or beside it under a name that nothing runs.
    fn take(
        &self,
        workspace: &Workspace,
        mut item: HeldItem,
        with: Taking<'_>,
        allowance: &Allowance,
    ) -> std::io::Result<HeldItem> {
        let from = match with {
            Taking::From(aside, _) => aside.to_owned(),
            Taking::Whole(_) | Taking::Replacing(_) => item.relative(),
        };
        let place = DirEntry::of(workspace, &from)?;
        let dir = DurableDir::create(&self.0.path).map_err(std::io::Error::other)?;
        if let Taking::Replacing(text) = with {
            item.kind = HeldKind::Replaced;
            item.replaced_by = Some(digest::of_bytes(text.content));
        }
        {
            let lock = dir.lock().map_err(std::io::Error::other)?;
            let new = dir.new_dir(&lock).map_err(std::io::Error::other)?;
            new.add(RECORD, &record_bytes(&item))
                .map_err(std::io::Error::other)?;
            new.place(&item.id).map_err(std::io::Error::other)?;
        }
        let home = DirEntry::in_home(&self.0.path.join(&item.id))?;
        let moved = match with {
            Taking::Whole(copying) | Taking::From(_, copying) => {
                place.move_to(&home, copying).map(drop)
            }
            Taking::Replacing(text) => place.exchange(text, &item.id, &home, allowance),
        };
        let is_separate = copying::separate(&self.content(&item.id), allowance);
        if let Err(error) = moved {
            if self.content(&item.id).symlink_metadata().is_err() {
                let _ = self.forget(&item);
            }
            return Err(error);
        }
        if !is_separate.unwrap_or(false) {
            item.why.push_str(NOT_SEPARATE);
            // Best effort: the run's own report says it as well.
            let _ = self.rewrite(&item);
        }
        Ok(item)
    }

    /// Writes the record of an item that is there.
    fn rewrite(&self, item: &HeldItem) -> Result<(), StorageError> {
        let Some(dir) = self.dir()? else {
            return Ok(());
        };
        let lock = dir.lock()?;
        match dir.subdir(&item.id)? {
            Some(place) => place.write(&lock, RECORD, &record_bytes(item)),
            None => Ok(()),
        }
    }
}

/// How something is taken.
#[derive(Clone, Copy)]
enum Taking<'a> {
    Whole(Copying<'a>),
    /// From where it was put before.
    From(&'a Path, Copying<'a>),
    /// This is put in its place.
    Replacing(&'a Replacement<'a>),
}

fn record_bytes(item: &HeldItem) -> Vec<u8> {
    serde_json::to_vec_pretty(item).unwrap_or_default()
}

fn shown_file(root: &Path, path: &Path, metadata: &fs::Metadata) -> HeldFile {
    let (kind, text) = if metadata.is_symlink() {
        let target = path.read_link().ok();
        (
            "link",
            target.map(|target| target.to_string_lossy().into_owned()),
        )
    } else if metadata.is_file() {
        ("file", moving::beginning(path, SHOWN_BYTES))
    } else {
        ("other", None)
    };
    HeldFile {
        path: path
            .strip_prefix(root)
            .unwrap_or(path)
            .to_string_lossy()
            .into_owned(),
        kind: kind.to_owned(),
        size: metadata.len(),
        omitted: match metadata.is_file() && text.is_some() {
            true => metadata.len().saturating_sub(SHOWN_BYTES as u64),
            false => 0,
        },
        text,
    }
}

/// A path that is not text, as digits.
fn digits_if_not_text(path: &Path) -> Option<String> {
    let bytes = path.as_os_str().as_bytes();
    std::str::from_utf8(bytes).is_err().then(|| digits(bytes))
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_digits(digits: &str) -> Option<Vec<u8>> {
    let pairs = (0..digits.len()).step_by(2);
    pairs
        .map(|at| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok())
        .collect()
}
