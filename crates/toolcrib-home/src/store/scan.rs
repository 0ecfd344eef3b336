//! Looks at the files of the store and finds out what has changed since they were last looked at.
//!
//! A look takes no lock and creates nothing. It reads only what its stamp does not prove to be known, and from some hundreds of files on
//! with two threads. Where one `Store` has written once since the last look, the files of a directory are distinguished by their inodes,
//! which a listing gives for nothing: each write makes a file again, and while the old one is there its number is taken. It either succeeds
//! as a whole or changes nothing of what is known: a process that has no descriptor left does not lose its tools.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::SystemTime;

use rustix::fs::FileType;

use super::catalogue::Catalogue;
use super::files::{self, BUNDLE_FILE, Flaw, MAX_BYTES};
use super::shelf::{Content, KnownFile, Shelf, StampTrust};
use super::{Look, StoreError};
use crate::model::ids::BundleId;
use crate::storage::{DurableDir, Entry, StorageError};

/// How many files a thread takes at once, and from how many on there is a second one.
const PORTION: usize = 64;
const WORTH_A_THREAD: usize = 4 * PORTION;

/// How to look.
#[derive(Clone, Copy)]
pub(super) struct How<'a> {
    pub(super) look: Look,
    /// There was one session of a writer since the last look, and no more.
    pub(super) is_one_session: bool,
    /// When it was last seen that no one had written since the last look.
    pub(super) quiet_at: Option<SystemTime>,
    /// More files than this are not looked at: someone waits.
    pub(super) at_most: usize,
    /// Gives up when this is set.
    pub(super) stop: Option<&'a AtomicBool>,
}

impl How<'_> {
    /// A look by someone who knows nothing of what was.
    pub(super) fn new(look: Look) -> Self {
        How {
            look,
            is_one_session: false,
            quiet_at: None,
            at_most: usize::MAX,
            stop: None,
        }
    }

    fn is_to_stop(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

/// What a look has found in one file.
pub(super) enum FileState {
    /// What was known.
    Same,
    /// The content that was known, with another stamp.
    Touched(StampTrust),
    /// Another content.
    New(KnownFile),
    /// Nothing.
    Gone,
}

/// What a look has found.
#[derive(Default)]
pub(super) struct Findings {
    directories: Vec<(BundleId, Result<StampTrust, Flaw>)>,
    files: Vec<(BundleId, Arc<str>, FileState)>,
    gone: Vec<BundleId>,
}

/// Some files of a directory that have to be looked at.
struct Portion {
    bundle: BundleId,
    files: Vec<(Arc<str>, FileType)>,
}

/// Looks at the whole store, unless that is given up. `dir` is the directory of the bundles, if there is one.
pub(super) fn look(
    catalogue: &Catalogue,
    dir: Option<&DurableDir>,
    how: &How<'_>,
) -> Result<Option<Findings>, StoreError> {
    let now = SystemTime::now();
    let mut findings = Findings::default();
    let mut portions = Vec::new();
    let mut present = HashSet::new();
    if let Some(dir) = dir {
        for (id, file_type) in bundles_in(dir)? {
            present.insert(id);
            if file_type != FileType::Directory {
                let flaw = not_a_directory(file_type);
                findings.empty(catalogue, id);
                findings.directories.push((id, Err(flaw)));
                continue;
            }
            if how.is_to_stop() {
                return Ok(None);
            }
            list(catalogue, dir, id, how, now, &mut findings, &mut portions)?;
        }
    }
    let known = catalogue.shelves().keys().copied();
    findings
        .gone
        .extend(known.filter(|id| !present.contains(id)));
    let files: usize = portions.iter().map(|portion| portion.files.len()).sum();
    if files > how.at_most {
        return Ok(None);
    }
    if let Some(dir) = dir {
        read_all(catalogue, dir, &portions, how, now, &mut findings)?;
    }
    Ok((!how.is_to_stop()).then_some(findings))
}

impl Findings {
    /// Notes in the catalogue what was found.
    pub(super) fn apply(self, catalogue: &mut Catalogue) {
        let mut touched: Vec<BundleId> = Vec::new();
        for id in self.gone {
            catalogue.remove_directory(id);
            touched.push(id);
        }
        for (id, name, found) in self.files {
            match found {
                FileState::Same => continue,
                FileState::Touched(stamp) => catalogue.touch(id, &name, stamp),
                FileState::New(file) => catalogue.set_file(id, &name, Some(file)),
                FileState::Gone => catalogue.set_file(id, &name, None),
            }
            if touched.last() != Some(&id) {
                touched.push(id);
            }
        }
        for (id, found) in self.directories {
            catalogue.set_directory(id, found);
            touched.push(id);
        }
        touched.sort_unstable();
        touched.dedup();
        catalogue.settle(touched);
    }

    /// The bundles whose directories were listed.
    #[cfg(test)]
    pub(super) fn listed(&self) -> Vec<BundleId> {
        self.directories.iter().map(|(id, _)| *id).collect()
    }

    /// All that was known of a bundle is gone.
    fn empty(&mut self, catalogue: &Catalogue, id: BundleId) {
        let known = catalogue.shelf(id).map(|shelf| shelf.files.keys());
        for name in known.into_iter().flatten() {
            self.files.push((id, Arc::clone(name), FileState::Gone));
        }
    }
}

/// The bundles' directories, or what is there in their place.
fn bundles_in(dir: &DurableDir) -> Result<Vec<(BundleId, FileType)>, StorageError> {
    let mut found = Vec::new();
    dir.visit_entries(|name, file_type| {
        let id = std::str::from_utf8(name).ok();
        if let Some(id) = id.and_then(files::bundle_of_directory) {
            found.push((id, file_type));
        }
    })?;
    for (id, file_type) in &mut found {
        // Some file systems do not say.
        if *file_type == FileType::Unknown
            && let Some(stamp) = dir.stamp_of(&id.to_string())?
        {
            *file_type = stamp.file_type();
        }
    }
    Ok(found)
}

/// Lists the directory of a bundle, unless its stamp proves that no `Store` has written in it.
fn list(
    catalogue: &Catalogue,
    dir: &DurableDir,
    id: BundleId,
    how: &How<'_>,
    now: SystemTime,
    findings: &mut Findings,
    portions: &mut Vec<Portion>,
) -> Result<(), StorageError> {
    let shelf = catalogue.shelf(id);
    if how.look == Look::Glance
        && let Some(shelf) = shelf
        && let Some(stamp) = dir.stamp_of(&id.to_string())?
        && shelf.stamp.proves_since(&stamp, how.quiet_at)
    {
        return Ok(());
    }
    let listing = match names_in(dir, id, shelf, how, now) {
        Ok(Some(found)) => found,
        Ok(None) => {
            findings.gone.push(id);
            return Ok(());
        }
        Err(error) if error.is_want() => return Err(error),
        Err(error) => {
            findings.empty(catalogue, id);
            let flaw = Flaw::new(error.why());
            findings.directories.push((id, Err(flaw)));
            return Ok(());
        }
    };
    if let Some(shelf) = shelf.filter(|shelf| shelf.files.len() > listing.known.len()) {
        let listed: HashSet<&str> = listing.known.into_iter().collect();
        for name in shelf.files.keys().filter(|name| !listed.contains(&***name)) {
            findings.files.push((id, Arc::clone(name), FileState::Gone));
        }
    }
    findings.directories.push((id, Ok(listing.stamp)));
    let mut found = listing.to_look_at.into_iter().peekable();
    while found.peek().is_some() {
        portions.push(Portion {
            bundle: id,
            files: found.by_ref().take(PORTION).collect(),
        });
    }
    Ok(())
}

/// The contents of a bundle's directory.
struct Listing<'a> {
    stamp: StampTrust,
    /// The files that are known.
    known: Vec<&'a str>,
    to_look_at: Vec<(Arc<str>, FileType)>,
}

/// Lists the files that the store reads in the directory of a bundle; none if there is no such directory.
fn names_in<'a>(
    dir: &DurableDir,
    id: BundleId,
    shelf: Option<&'a Shelf>,
    how: &How<'_>,
    now: SystemTime,
) -> Result<Option<Listing<'a>>, StorageError> {
    let Some(directory) = dir.subdir(&id.to_string())? else {
        return Ok(None);
    };
    let by_inode = how.look == Look::Glance && how.is_one_session;
    let mut listing = Listing {
        // Before listing: what comes meanwhile shows in the next stamp.
        stamp: StampTrust::at(directory.stamp()?, now),
        known: Vec::new(),
        to_look_at: Vec::new(),
    };
    directory.visit_inodes(|name, file_type, inode| {
        let Ok(name) = std::str::from_utf8(name) else {
            return;
        };
        let known = shelf.and_then(|shelf| shelf.files.get_key_value(name));
        if let Some((name, known)) = known {
            listing.known.push(name);
            let is_file = file_type == FileType::RegularFile;
            if !(by_inode && is_file && known.stamp.is_of_inode(inode)) {
                listing.to_look_at.push((Arc::clone(name), file_type));
            }
        } else if files::is_ours(name) {
            listing.to_look_at.push((name.into(), file_type));
        }
    })?;
    Ok(Some(listing))
}

/// Looks at all files that were listed.
fn read_all(
    catalogue: &Catalogue,
    dir: &DurableDir,
    portions: &[Portion],
    how: &How<'_>,
    now: SystemTime,
    findings: &mut Findings,
) -> Result<(), StorageError> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<(BundleId, Arc<str>, FileState)>, StorageError> {
        let mut found = Vec::new();
        while let Some(portion) = portions.get(next.fetch_add(1, Ordering::Relaxed)) {
            if how.is_to_stop() {
                break;
            }
            read_portion(catalogue, dir, portion, now, &mut found)?;
        }
        Ok(found)
    };
    let files: usize = portions.iter().map(|portion| portion.files.len()).sum();
    if files < WORTH_A_THREAD {
        findings.files.append(&mut work()?);
        return Ok(());
    }
    let (ours, theirs) = std::thread::scope(|scope| {
        // Without a second thread it takes longer, and that is all.
        let other = std::thread::Builder::new().spawn_scoped(scope, work);
        let ours = work();
        let theirs = other.map_or(Ok(Vec::new()), |other| {
            other
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        (ours, theirs)
    });
    findings.files.append(&mut ours?);
    findings.files.append(&mut theirs?);
    Ok(())
}

fn read_portion(
    catalogue: &Catalogue,
    dir: &DurableDir,
    portion: &Portion,
    now: SystemTime,
    found: &mut Vec<(BundleId, Arc<str>, FileState)>,
) -> Result<(), StorageError> {
    let id = portion.bundle;
    let shelf = catalogue.shelf(id);
    let directory = match dir.subdir(&id.to_string()) {
        Ok(directory) => directory,
        // Someone has just put something else there; the next look finds it.
        Err(error) if error.is_not_a_directory() => None,
        // It was listed a moment ago: nothing is known to be gone.
        Err(error) => return Err(error),
    };
    for (name, file_type) in &portion.files {
        let known = shelf.and_then(|shelf| shelf.files.get(name));
        let file = match &directory {
            Some(directory) => look_at(directory, id, name, *file_type, known, now)?,
            None if known.is_some() => FileState::Gone,
            None => FileState::Same,
        };
        if !matches!(file, FileState::Same) {
            found.push((id, Arc::clone(name), file));
        }
    }
    Ok(())
}

/// Looks at one file of a bundle's directory.
pub(super) fn look_at(
    directory: &DurableDir,
    id: BundleId,
    name: &str,
    mut file_type: FileType,
    known: Option<&KnownFile>,
    now: SystemTime,
) -> Result<FileState, StorageError> {
    let gone = || match known {
        Some(_) => FileState::Gone,
        None => FileState::Same,
    };
    if known.is_some() || file_type == FileType::Unknown {
        match directory.stamp_of(name) {
            Err(error) if error.is_want() => return Err(error),
            Err(error) => return Ok(flawed(known, StampTrust::No, error.why())),
            Ok(None) => return Ok(gone()),
            Ok(Some(stamp)) => {
                if known.is_some_and(|known| known.stamp.proves(&stamp)) {
                    return Ok(FileState::Same);
                }
                file_type = stamp.file_type();
            }
        }
    }
    let entry = match file_type {
        // Nothing else is ever opened: that alone can have consequences.
        FileType::RegularFile => match directory.read_entry(name, MAX_BYTES) {
            Ok(entry) => entry,
            Err(error) if error.is_want() => return Err(error),
            Err(error) => return Ok(flawed(known, StampTrust::No, error.why())),
        },
        other => Entry::Other(other),
    };
    Ok(match entry {
        Entry::Nothing => gone(),
        Entry::Other(file_type) => flawed(known, StampTrust::No, not_a_file(file_type).to_owned()),
        Entry::TooLarge(stamp) => flawed(
            known,
            StampTrust::at(stamp, now),
            "it is over 4 MB".to_owned(),
        ),
        Entry::File(stamp, bytes) => {
            let stamp = StampTrust::at(stamp, now);
            if let Some(KnownFile {
                content: Content::Tool(tool),
                ..
            }) = known
                && *tool.bytes == *bytes
            {
                return Ok(FileState::Touched(stamp));
            }
            match (content(id, name, bytes), known.map(|k| &k.content)) {
                (Content::Flawed(flaw), _) => {
                    return Ok(flawed_by(known, stamp, flaw));
                }
                (Content::Bundle(new), Some(Content::Bundle(old))) if new == *old => {
                    FileState::Touched(stamp)
                }
                (new, _) => FileState::New(KnownFile::new(stamp, new)),
            }
        }
    })
}

/// What the bytes of a file mean.
pub(super) fn content(id: BundleId, name: &str, bytes: Vec<u8>) -> Content {
    if name == BUNDLE_FILE {
        files::read_bundle(id, &bytes)
            .map_or_else(Content::Flawed, |bundle| Content::Bundle(Box::new(bundle)))
    } else {
        files::read_tool(id, name, bytes)
            .map_or_else(Content::Flawed, |tool| Content::Tool(Arc::new(tool)))
    }
}

fn flawed(known: Option<&KnownFile>, stamp: StampTrust, reason: String) -> FileState {
    flawed_by(known, stamp, Flaw::new(reason))
}

fn flawed_by(known: Option<&KnownFile>, stamp: StampTrust, flaw: Flaw) -> FileState {
    match known.map(|known| &known.content) {
        Some(Content::Flawed(old)) if *old == flaw => FileState::Touched(stamp),
        _ => FileState::New(KnownFile::new(stamp, Content::Flawed(flaw))),
    }
}

fn not_a_file(file_type: FileType) -> &'static str {
    match file_type {
        FileType::Symlink => "it is a link, and links are not followed here",
        FileType::Directory => "it is a directory",
        FileType::Fifo => "it is a pipe",
        FileType::Socket => "it is a socket",
        FileType::BlockDevice | FileType::CharacterDevice => "it is a device",
        FileType::RegularFile | FileType::Unknown => "it is not a regular file",
    }
}

fn not_a_directory(file_type: FileType) -> Flaw {
    Flaw::new(match file_type {
        FileType::RegularFile => "it is a file, not a directory",
        other => not_a_file(other),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// What a file system whose clock ticks slowly shows: a file is read, written again in the same tick, in place and with the same
    /// size, and its stamp is the same. Kernels with fine stamps never show it, so the stamp of the second text is taken for the first.
    #[test]
    fn a_file_that_was_fresh_when_it_was_read_is_read_again_although_its_stamp_is_the_same() {
        let place = tempfile::tempdir().unwrap();
        let dir = DurableDir::create(place.path()).unwrap();
        let id = BundleId::generate();
        let text = |name: &str| {
            let bundle = serde_json::json!({
                "schemaVersion": "1", "bundleID": id, "slug": name, "displayName": "", "description": "",
                "isEnabled": true, "isBuiltIn": false, "createdAt": "2026-01-01T00:00:00Z", "modifiedAt": "2026-01-01T00:00:00Z"
            });
            bundle.to_string().into_bytes()
        };
        std::fs::write(place.path().join(BUNDLE_FILE), text("b")).unwrap();
        let stamp = dir.stamp_of(BUNDLE_FILE).unwrap().unwrap();
        let written = std::fs::metadata(place.path().join(BUNDLE_FILE)).unwrap();
        let written = written.modified().unwrap();
        let look_again = |read_after: Duration| {
            let first = StampTrust::at(stamp, written + read_after);
            let known = KnownFile::new(first, content(id, BUNDLE_FILE, text("a")));
            let now = written + Duration::from_secs(60);
            look_at(
                &dir,
                id,
                BUNDLE_FILE,
                FileType::RegularFile,
                Some(&known),
                now,
            )
            .unwrap()
        };
        let slug = |found: FileState| match found {
            FileState::New(KnownFile {
                content: Content::Bundle(bundle),
                ..
            }) => Some(bundle.slug.to_string()),
            _ => None,
        };
        assert_eq!(slug(look_again(Duration::ZERO)).as_deref(), Some("b"));
        assert_eq!(
            slug(look_again(Duration::from_millis(4))).as_deref(),
            Some("b")
        );
        // One that had been as it was for long is not read at all: that is what stamps are for.
        assert!(matches!(
            look_again(Duration::from_secs(5)),
            FileState::Same
        ));
    }
}
