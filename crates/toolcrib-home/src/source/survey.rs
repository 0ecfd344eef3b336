//! The present files, as far as it can be determined without reading them: [`survey`] compares with what was found before.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;

use super::content::Content;
use super::files::{self, Names, Opened, ToolsDir};
use super::glance::Glance;
use super::scope::{Scope, ScopeDir};
use crate::storage::Stamp;
use crate::workspace::Workspace;

/// How long a file that makes no sense is taken for one that is still being written.
const BEING_WRITTEN: Duration = Duration::from_millis(100);

/// The state of one place.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownDir {
    stamp: Option<Stamp>,
    is_settled: bool,
    /// Why it cannot be used.
    pub(super) closed: Option<String>,
    /// Why nothing in it is trusted by its place.
    pub(super) unsafe_place: Option<String>,
    /// The directories that decide about that.
    above: Vec<(PathBuf, Stamp)>,
    pub(super) names: Names,
    pub(super) files: BTreeMap<String, KnownFile>,
}

/// The state of one file.
#[derive(Debug, Clone)]
pub(super) struct KnownFile {
    stamp: Option<Stamp>,
    is_settled: bool,
    /// Why it is not trusted by its place.
    pub(super) unsafe_file: Option<String>,
    pub(super) content: Arc<Content>,
}

impl KnownFile {
    /// When it was last changed, as its file system says.
    pub(super) fn modified(&self) -> Option<Timestamp> {
        self.stamp.as_ref()?.modified()
    }
}

/// A file that has to be read, and what was known of it.
pub(super) struct ToRead {
    pub(super) name: String,
    /// Whether the files before it are as much as is read.
    pub(super) is_too_much: bool,
    stamp: Option<Stamp>,
    before: Option<KnownFile>,
}

/// One place as it is now, and what has to be read.
pub(super) struct Surveyed {
    dir: Option<ToolsDir>,
    known: KnownDir,
    pub(super) to_read: Vec<ToRead>,
    /// Whether anything is otherwise than it was, what has to be read aside.
    pub(super) differs: bool,
}

/// Looks at a place; reads its list of names only if that has changed, and no file.
pub(super) fn survey(
    place: &ScopeDir,
    workspace: Option<&Workspace>,
    old: &KnownDir,
    now: SystemTime,
) -> Surveyed {
    let dir = match files::open(place, workspace) {
        Opened::Dir(dir) => dir,
        Opened::Missing => return Surveyed::without_dir(KnownDir::default(), old),
        Opened::Closed(why) => {
            let known = KnownDir {
                closed: Some(why),
                ..KnownDir::default()
            };
            return Surveyed::without_dir(known, old);
        }
    };
    let mut above = Vec::new();
    let unsafe_place = dir.unsafe_place(place, &mut above);
    let is_same = old.is_settled && old.stamp == Some(dir.stamp) && old.closed.is_none();
    let (names, closed) = if is_same {
        (old.names.clone(), None)
    } else {
        match dir.names(place) {
            Ok(names) => (names, None),
            Err(why) => (Names::default(), Some(why)),
        }
    };
    let mut surveyed = Surveyed {
        differs: closed != old.closed || unsafe_place != old.unsafe_place || names != old.names,
        known: KnownDir {
            stamp: Some(dir.stamp),
            is_settled: dir.stamp.is_settled(now),
            closed,
            unsafe_place,
            above,
            names,
            files: BTreeMap::new(),
        },
        to_read: Vec::new(),
        dir: Some(dir),
    };
    surveyed.look_at_files(old);
    surveyed
}

impl KnownDir {
    /// Whether there was nothing.
    pub(super) fn is_missing(&self) -> bool {
        self.stamp.is_none() && self.closed.is_none()
    }

    /// The attributes that show that nothing has changed; none if that cannot be seen from outside.
    pub(super) fn watch(&self, place: &ScopeDir, glance: &mut Glance) -> Option<()> {
        if self.closed.is_some() {
            return None;
        }
        let is_settled = self.stamp.is_none() || self.is_settled;
        glance.expect(&place.path, self.stamp, is_settled)?;
        for (directory, stamp) in &self.above {
            glance.expect_rights(directory, *stamp)?;
        }
        for (name, file) in &self.files {
            let (stamp, path) = (Some(file.stamp?), place.path.join(name));
            glance.expect(&path, stamp, file.is_settled)?;
        }
        Some(())
    }
}

impl Surveyed {
    /// How many files were looked at.
    pub(super) fn len(&self) -> usize {
        self.known.names.tools.len()
    }

    fn without_dir(known: KnownDir, old: &KnownDir) -> Self {
        Surveyed {
            differs: known.closed != old.closed || !old.files.is_empty() || old.stamp.is_some(),
            dir: None,
            known,
            to_read: Vec::new(),
        }
    }

    fn look_at_files(&mut self, old: &KnownDir) {
        let Some(dir) = &self.dir else { return };
        let mut total = 0;
        for name in &self.known.names.tools {
            let stamp = dir.stamp_of(name);
            total += stamp.map_or(0, |stamp| stamp.size().min(files::MAX_READ));
            let is_too_much = total > files::MAX_TOTAL;
            let is_same = |known: &KnownFile| {
                known.is_settled && known.stamp == stamp && stamp.is_some() && !is_too_much
            };
            match old.files.get(name) {
                Some(known) if is_same(known) => {
                    self.known.files.insert(name.clone(), known.clone());
                }
                known => self.to_read.push(ToRead {
                    name: name.clone(),
                    is_too_much,
                    stamp,
                    before: known.cloned(),
                }),
            }
        }
    }

    /// Reads what has to be read; says what is known then, and whether it differs from before.
    pub(super) fn read(mut self, place: &ScopeDir, now: SystemTime) -> (KnownDir, bool) {
        let Some(dir) = &self.dir else {
            return (self.known, self.differs);
        };
        let read = super::content::read_all(dir, place, &self.to_read);
        for (file, content) in self.to_read.into_iter().zip(read) {
            let ToRead {
                name,
                stamp,
                before,
                is_too_much,
            } = file;
            let unsafe_file = match place.scope {
                Scope::Local => None,
                Scope::User | Scope::Global => {
                    stamp.and_then(|stamp| stamp.unsafe_owner(&place.shown_file(&name)))
                }
            };
            let age = stamp.and_then(|stamp| stamp.age(now));
            let is_young = age.is_some_and(|age| age < BEING_WRITTEN);
            let is_old = stamp.is_some_and(|stamp| stamp.is_settled(now));
            let mut is_settled = is_old && !is_too_much;
            let is_as_safe = before
                .as_ref()
                .is_some_and(|before| before.unsafe_file == unsafe_file);
            let content = match before.map(|before| before.content) {
                // An editor that empties a file before it writes it: the tool stays as it was until the file stops changing.
                Some(before) if is_young && before.is_whole() && !content.is_whole() => {
                    is_settled = false;
                    before
                }
                Some(before) if before.is_same(&content) => before,
                _ => {
                    self.differs = true;
                    Arc::new(content)
                }
            };
            self.differs |= !is_as_safe;
            self.known.files.insert(
                name,
                KnownFile {
                    stamp,
                    is_settled,
                    unsafe_file,
                    content,
                },
            );
        }
        (self.known, self.differs)
    }
}
